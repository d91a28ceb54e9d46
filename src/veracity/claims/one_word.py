"""What a source says of an item more than once, made one word: the newest, or the weightiest.

Where it cannot be told which of two counts, both do, as if nothing had been asked for. So the
answer does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from veracity.claims.how import HowToRead
from veracity.claims.normalise.dates import read_moments
from veracity.claims.schema import KEYS, ClaimsTable
from veracity.errors import BadValue
from veracity.naming import as_text
from veracity.printing import counted, in_short

__all__ = ["with_one_word"]

SAME = 1e-9
"""Weights that differ by less than this share are the same: sums have last bits."""


def with_one_word(table: ClaimsTable, how: HowToRead) -> ClaimsTable:
    """The claims that count, where times, weights or samples were asked for."""
    rows, notes = table.rows, []
    keys = ["source", *(name for name in KEYS if name in rows.columns)]
    if "time" in rows.columns:
        rows, note = _newest(rows, keys, table.origin)
        notes += note
    if how.samples or "weight" in rows.columns:
        rows, note = _weightiest(rows, keys, table)
        notes += note
    rows = rows.drop("time", "weight", strict=False)
    return replace(table, rows=rows, notes=(*table.notes, *notes))


def _newest(rows: pl.DataFrame, keys: Sequence[str], origin: str) -> tuple[pl.DataFrame, list[str]]:
    rows = rows.with_columns(time=_moments(rows["time"], origin))
    kept = rows.filter(pl.col("time") == pl.col("time").max().over(keys))
    n_left = len(rows) - len(kept)
    if not n_left:
        return kept, []
    claims = counted(n_left, "claim is", "claims are")
    return kept, [f"{claims} left out: the same source said something newer of the item"]


def _moments(times: pl.Series, origin: str) -> pl.Series:
    """Times that can be compared: as they are, or read from text."""
    if times.dtype.is_numeric() or times.dtype.is_temporal():
        return times
    texts = as_text(times).str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        return numbers
    moments = _moments_in(texts)
    if moments.null_count():
        wrong = texts.filter(moments.is_null())[0]
        raise BadValue(
            f"{origin}: it is not plain which time '{in_short(wrong)}' is; write times as "
            "2026-01-31 23:59, or as numbers"
        )
    return moments


def _moments_in(texts: pl.Series) -> pl.Series:
    """Days with or without a time of day, as people write them; null where that is not plain."""
    different = texts.unique()
    read = read_moments(different)
    plain = set(read["order"].drop_nulls()) - {"either"}
    is_either = pl.col("order") == "either"
    if len(plain) == 1:  # one that can be read in one way only tells how all are written
        is_day_first = is_either & pl.lit(plain == {"day"})
        month = pl.when(is_day_first).then("day").otherwise("month")
        day = pl.when(is_day_first).then("month").otherwise("day")
    else:
        month, day = pl.when(~is_either | pl.col("order").is_null()).then("month"), pl.col("day")
    seconds = (
        pl.col("clock").fill_null("00:00").str.split(":").list.eval(pl.element().cast(pl.Float64))
    )
    clock = pl.sum_horizontal(
        seconds.list.get(place, null_on_oob=True).fill_null(0.0) * length
        for place, length in enumerate((3600.0, 60.0, 1.0))
    )
    start = pl.date("year", month, day).cast(pl.Datetime("us")).dt.epoch("s")
    moments = read.select(start + clock - 60.0 * pl.col("ahead").fill_null(0)).to_series()
    return texts.replace_strict(different, moments, return_dtype=pl.Float64)


def _weightiest(
    rows: pl.DataFrame, keys: Sequence[str], table: ClaimsTable
) -> tuple[pl.DataFrame, list[str]]:
    """Of each source and item what it says with most weight; of numbers, their weighted mean."""
    said = "claim" if "claim" in rows.columns else "value"
    if "weight" not in rows.columns:
        rows = rows.with_columns(weight=pl.lit(1.0))
    rows = rows.with_columns(weight=_weights(rows["weight"], table.origin))
    rows = rows.filter(pl.col("weight") > 0.0)
    if table.kind == "numeric":
        mean = (pl.col(said) * pl.col("weight")).sum() / pl.col("weight").sum()
        kept = rows.sort([*keys, said]).group_by(keys, maintain_order=True).agg(mean.alias(said))
        n_more = len(rows) - len(kept)
        told = f"{n_more:,} more samples of a source on an item: their weighted mean counts"
        return kept, [told] if n_more else []
    summed = rows.sort("weight").group_by([*keys, said], maintain_order=True)
    words = summed.agg(pl.col("weight").sum())
    most = pl.col("weight").max().over(keys)
    kept = words.filter(pl.col("weight") >= most * (1.0 - SAME))
    n_left = len(words) - len(kept)
    n_tied = len(kept) - kept.select(keys).n_unique()
    notes = []
    if n_left:
        values = counted(n_left, "value is", "values are")
        notes.append(f"{values} left out: the same source named another with more weight")
    if n_tied:
        values = counted(n_tied, "value weighs", "values weigh")
        notes.append(f"{values} as much as another of the same source: each counts")
    return kept.select(name for name in rows.columns if name in kept.columns), notes


def _weights(weights: pl.Series, origin: str) -> pl.Series:
    numbers = weights.cast(pl.Float64, strict=False)
    is_wrong = numbers.is_null() | ~numbers.is_finite() | (numbers < 0.0)
    if is_wrong.any():
        wrong = weights.filter(is_wrong)[0]
        raise BadValue(f"{origin}: '{in_short(wrong)}' is no weight; weights are numbers from 0 on")
    return numbers
