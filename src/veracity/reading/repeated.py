"""What a source says of an item more than once, where that is settled row by row.

Of times, the newest counts; of numbers, the weighted mean. Values that are no numbers count by
their shares, which blocks have: see `shares`. Where two rows are equally new, both count, so the
answer does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import polars as pl

from veracity.errors import BadValue
from veracity.naming import as_text
from veracity.printing import counted, in_short
from veracity.reading.normalise.dates import read_dates
from veracity.reading.schema import Kind, keys_of


class Settled(NamedTuple):
    """How many rows were left out, or became one with others; it merges by ``+``."""

    n_older: int = 0
    n_averaged: int = 0
    n_weighed: int = 0
    """How many numbers have a weight other than one."""

    def __add__(self, other: Settled) -> Settled:  # type: ignore[override]
        """Add up both."""
        return Settled(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of it."""
        notes = []
        if self.n_older:
            claims = counted(self.n_older, "claim is", "claims are")
            notes.append(f"{claims} left out: the same source said something newer of the item")
        if self.n_averaged:
            samples = counted(self.n_averaged, "more sample")
            notes.append(f"{samples} of a source on an item: their weighted mean counts")
        elif self.n_weighed:
            notes.append("the weights change nothing: no source gives two numbers of an item")
        return tuple(notes)


def settled_batches(
    batches: Iterable[pl.DataFrame], kind: Kind, origin: str, *, are_all: bool
) -> tuple[Iterator[pl.DataFrame], Settled]:
    """Settle the rows of complete items; bring them together only where they have to be.

    `are_all` if there are no other rows: then one date that can be read in one way only tells how
    the others are to be read. Of a part, it must not, since others would be read otherwise.
    """
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return iter(()), Settled()
    if not has_to_be_settled(first, kind):
        return chain([first], rest), Settled()
    rows, told = settled(pl.concat([first, *rest]), kind, origin, are_all=are_all)
    return iter([rows]), told


def has_to_be_settled(rows: pl.DataFrame, kind: Kind) -> bool:
    """Return True if some of these rows may be left out, or become one with others."""
    return "time" in rows.columns or (kind == "numeric" and "weight" in rows.columns)


def settled(
    rows: pl.DataFrame, kind: Kind, origin: str, *, are_all: bool = True
) -> tuple[pl.DataFrame, Settled]:
    """Return the rows that count, without their times; numbers without their weights."""
    keys, told = ["source", *keys_of(rows)], Settled()
    if "time" in rows.columns:
        times = _comparable_times(rows["time"], origin, are_all=are_all)
        is_newest = pl.col("time") == pl.col("time").max().over(keys)
        kept = rows.with_columns(time=times).filter(is_newest).drop("time")
        rows, told = kept, Settled(n_older=len(rows) - len(kept))
    if kind == "numeric" and "weight" in rows.columns:
        means, n_weighed = _weighted_means(rows, keys), int((rows["weight"] != 1.0).sum())
        told += Settled(n_averaged=len(rows) - len(means), n_weighed=n_weighed)
        rows = means
    return rows, told


def _weighted_means(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return a row per source and item; its mean lies among its numbers, however rounded."""
    value, weight = pl.col("value"), pl.col("weight") / pl.col("weight").max()
    mean = (value * (weight / weight.sum())).sum()
    mean = pl.min_horizontal(pl.max_horizontal(mean, value.min()), value.max())
    by_source = rows.sort([*keys, "value", "weight"]).group_by(keys, maintain_order=True)
    return by_source.agg(value=mean).select(name for name in rows.columns if name != "weight")


def _comparable_times(times: pl.Series, origin: str, *, are_all: bool) -> pl.Series:
    """Return times that can be compared: as they are, or read from text."""
    if times.dtype.is_numeric() or times.dtype.is_temporal():
        return times
    texts = as_text(times).str.strip_chars()
    for dtype in (pl.Int64, pl.Float64):  # long whole numbers are no floats
        numbers = texts.cast(dtype, strict=False)
        if numbers.is_finite().fill_null(value=False).all():
            return numbers
    read = _times_in(texts, are_all=are_all)
    if read.null_count():
        wrong = texts.filter(read.is_null())[0]
        raise BadValue(
            f"{origin}: it is not plain which time '{in_short(wrong)}' is; write times as "
            "2026-01-31 23:59, or as numbers"
        )
    return read


def _times_in(texts: pl.Series, *, are_all: bool) -> pl.Series:
    """Read days with or without a time of day; null where that is not plain."""
    different = texts.unique()
    read = read_dates(different)
    plain = set(read["order"].drop_nulls()) - {"either"}
    is_either = pl.col("order") == "either"
    if are_all and len(plain) == 1:  # one that can be read in one way only tells how all are
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
    found = read.select(start + clock - 60.0 * pl.col("ahead").fill_null(0)).to_series()
    return texts.replace_strict(different, found, return_dtype=pl.Float64)
