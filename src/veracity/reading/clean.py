"""Clean rows of claims: read numbers, weights, times, true and false; leave out incomplete rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import polars as pl

from veracity.errors import BadValue, NoClaims
from veracity.naming import as_text, is_in_calendar
from veracity.printing import counted, in_short
from veracity.reading.normalise.dates import read_dates
from veracity.reading.plan import ASKED
from veracity.reading.roles import Kind, keys_of

LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100
"""Range of weights: lower ones count as zero, higher ones as the maximum, so sums are finite."""

PERCENTAGE = r"^(.+?)\s*%$"
"""Number with a percent sign."""

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")


def check_calendar(rows: pl.DataFrame, origin: str, first_row: int | None) -> None:
    """Raise an error for dates outside of the calendar, which can be neither shown nor written."""
    for column in rows:
        if not column.dtype.is_temporal():
            continue
        is_wrong = ~is_in_calendar(column)
        if is_wrong.any():
            row = is_wrong.arg_max() or 0
            which = "a row" if first_row is None else f"row {first_row + row + 1}"
            is_span = column.dtype == pl.Duration
            none = "too long a span of time" if is_span else "no date from the year 1 to 9999"
            raise BadValue(
                f"{origin}: {which}: the {column.name} is {none}; correct it, or turn the column "
                "into text or numbers"
            )


def complete(rows: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """Return the rows with all parts of a claim, and count the parts that other rows lack."""
    n_lacking = Counter[str]()
    for name in rows.columns:
        if name in ("attribute", ASKED):
            continue
        is_empty = _is_empty(rows[name])
        if rows[name].null_count() or is_empty.any():  # mostly there is nothing to be left out
            is_empty = is_empty.fill_null(value=True)
            n_lacking[name] = int(is_empty.sum())
            rows = rows.filter(~is_empty)
    return rows, n_lacking


def without(rows: pl.DataFrame, no_value: Sequence[str]) -> tuple[pl.DataFrame, Counter[str]]:
    """Remove the rows whose value is one of these texts, and count them.

    White space at the ends of a value does not count.

    >>> rows = pl.DataFrame({"value": ["k.A.", "1", " k.A."]})
    >>> without(rows, ["k.A."])[1]
    Counter({'k.A.': 2})
    """
    texts = as_text(rows["claim" if "claim" in rows.columns else "value"]).str.strip_chars()
    is_none = texts.is_in(no_value).fill_null(value=False)
    found = texts.filter(is_none)
    return rows.filter(~is_none) if len(found) else rows, Counter(found.to_list())


def no_value_note(n_of_text: Counter[str], no_value: Sequence[str], what: str) -> tuple[str, ...]:
    """Return a note on the claims that were left out because their text means no value."""
    noun = what.removesuffix("s")
    told = [f"{counted(n_of_text[text], noun)} '{in_short(text)}'"
            for text in no_value if n_of_text[text]]  # fmt: skip
    missed = [f"'{in_short(text)}'" for text in no_value if not n_of_text[text]]
    parts = [f"left out as no value: {', '.join(told)}"] if told else []
    if missed and noun == "claim":
        parts.append(f"no claim has the value {' or '.join(missed)}")
    return ("; ".join(parts),) if parts else ()


def _is_empty(column: pl.Series) -> pl.Series:
    """Return True for empty names, and True or null for missing ones."""
    if column.dtype == pl.String:
        return column == ""
    if column.dtype == pl.Binary:
        return column.bin.size() == 0
    return column.is_null()


def cleaned(
    rows: pl.DataFrame, origin: str, first_row: int | None = None
) -> tuple[pl.DataFrame, Counter[str]]:
    """Read words for true and false, and weights; leave out and count rows that lack a role."""
    if "claim" in rows.columns:
        rows = rows.with_columns(claim=as_claims(rows["claim"], origin, first_row))
    rows, n_lacking = complete(rows)
    kept = weighed(rows, origin)
    if len(kept) < len(rows):
        n_lacking["weight"] += len(rows) - len(kept)
    return kept, n_lacking


def nothing_in(origin: str, what: str, reason: str) -> NoClaims:
    """Return the error for a table of which no row is left."""
    return NoClaims(
        f"{origin}: no {what} in it ({reason}); check the data, and columns= or --columns"
    )


MAY_LACK = ("source", "entity", "fact", "value", "claim", "time", "weight")
"""Columns that a row may lack, in the order in which notes name them."""


def lacking_notes(n_lacking: Counter[str]) -> tuple[str, ...]:
    """Return notes on rows that were left out, in the same order however rows come in batches."""
    return tuple(_lacking(name, n_lacking[name]) for name in MAY_LACK if n_lacking[name])


def _lacking(name: str, count: int) -> str:
    lacking = f"without {'an' if name == 'entity' else 'a'} {name}"
    return counted(count, f"row {lacking} is left out", f"rows {lacking} are left out")


def with_numbers(rows: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Read the values of rows as numbers."""
    values = rows["value"]
    values = values if values.dtype.is_numeric() else as_text(values)
    numbers = values.cast(pl.Float64, strict=False)
    is_bad = numbers.is_null() | ~numbers.is_finite()
    if is_bad.any():
        bad = rows.row(is_bad.arg_max() or 0, named=True)
        raise BadValue(
            f"{origin}: the value '{in_short(bad['value'])}' of '{in_short(bad['entity'])}' is no "
            "number; with normalise=True, or --normalise, numbers with a unit or a decimal comma "
            "are read, and what is none, such as n/a, is left out; else use --kind categorical"
        )
    return rows.with_columns(value=numbers + 0.0)


def as_claims(column: pl.Series, origin: str, first_row: int | None = None) -> pl.Series:
    """Read the usual words and numbers for true and false."""
    if column.dtype == pl.Boolean:
        return column
    if column.dtype.is_numeric():
        is_true, is_false = column == 1, column == 0
    else:
        words = as_text(column).replace("", None).str.strip_chars().str.to_lowercase()
        is_true, is_false = words.is_in(TRUE_WORDS), words.is_in(FALSE_WORDS)
    is_bad = ~(is_true | is_false)
    if is_bad.any():
        row = is_bad.arg_true()[0]
        which = "a row" if first_row is None else f"row {first_row + row + 1}"
        raise BadValue(
            f"{origin}: {which} claims '{in_short(column[row])}', which is neither true nor false; "
            "use true/false, yes/no or 1/0, or --kind categorical if claims name values"
        )
    return is_true


def weighed(rows: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Read the weights of rows as numbers; leave out rows with a weight of zero."""
    if "weight" not in rows.columns:
        return rows
    weights = rows["weight"]
    texts = weights if weights.dtype.is_numeric() else as_text(weights).str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    if texts.dtype == pl.String:
        shares = texts.str.extract(PERCENTAGE).cast(pl.Float64, strict=False) / 100.0
        numbers = numbers.fill_null(shares)
    is_wrong = ~numbers.is_between(0.0, MOST_WEIGHT).fill_null(value=False)
    if is_wrong.any():
        wrong = rows.row(is_wrong.arg_max() or 0, named=True)
        of_what = in_short(wrong[keys_of(rows)[0]])
        raise BadValue(
            f"{origin}: the weight '{in_short(wrong['weight'])}' of '{of_what}' is no number from "
            "0 on, such as 0.5; correct such rows, or leave them out"
        )
    return rows.with_columns(weight=numbers).filter(pl.col("weight") >= LEAST_WEIGHT)


# --- what a source says more than once ------------------------------------------------------------

NO_TIME = float("-inf")
"""The newest time of claims without times."""


class Settled(NamedTuple):
    """Numbers of rows that were left out, or merged with others; they add up by ``+``."""

    n_older: int = 0
    n_averaged: int = 0
    n_weighed: int = 0
    """Number of numeric claims with a weight other than one."""
    until: float = NO_TIME
    """Newest time of a claim, in seconds, or as the number that it is."""

    def __add__(self, other: Settled) -> Settled:  # type: ignore[override]
        """Add up both."""
        counts = (one + two for one, two in zip(self[:-1], other[:-1], strict=True))
        return Settled(*map(int, counts))._replace(until=max(self.until, other.until))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes for the user."""
        notes = []
        if self.n_older:
            claims = counted(self.n_older, "claim is", "claims are")
            notes.append(f"{claims} left out: the same source has a newer claim on the item")
        if self.n_averaged:
            samples = counted(self.n_averaged, "more sample")
            notes.append(f"{samples} of a source on an item: their weighted mean counts")
        elif self.n_weighed:
            notes.append("the weights change nothing: no source gives two numbers of an item")
        return tuple(notes)


def settled_batches(
    batches: Iterable[pl.DataFrame], kind: Kind, origin: str, *, are_all: bool
) -> tuple[Iterator[pl.DataFrame], Settled]:
    """Settle the rows of complete items; join the batches only if that is needed.

    `are_all` is true if there are no other rows. Then a date that can be read in only one way
    decides how all dates are read. In a part of the rows this would make parts differ.
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
    """Return the newest claims, without their times, and the weighted means of numbers."""
    keys, told = ["source", *keys_of(rows)], Settled()
    if "time" in rows.columns:
        times = _comparable_times(rows["time"], origin, are_all=are_all)
        is_newest = pl.col("time") == pl.col("time").max().over(keys)
        kept = rows.with_columns(time=times).filter(is_newest).drop("time")
        is_date = times.dtype == pl.Date or isinstance(times.dtype, pl.Datetime)
        until = (times.dt.epoch("s") if is_date else times.to_physical()).max()
        rows, told = kept, Settled(len(rows) - len(kept), until=float(until))  # type: ignore[arg-type]
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
            f"{origin}: it is ambiguous which time '{in_short(wrong)}' is; write times as "
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
