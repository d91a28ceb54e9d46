"""Clean rows of claims: leave out what lacks something, read numbers, weights, true and false."""

from __future__ import annotations

from collections import Counter

import polars as pl

from veracity.errors import BadValue, NoClaims
from veracity.naming import as_text, is_in_calendar
from veracity.printing import counted, in_short
from veracity.reading.asked import ASKED
from veracity.reading.plan import plain
from veracity.reading.schema import Kind, keys_of

LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100
"""What weighs less weighs nothing, and no claim weighs more: sums and shares stay numbers."""

PERCENTAGE = r"^(.+?)\s*%$"
"""A number before the sign that makes it a hundredth."""

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")


def check_calendar(rows: pl.DataFrame, origin: str, first_row: int | None) -> None:
    """Refuse dates that no calendar has: they could neither be shown nor written as text."""
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
                f"{origin}: {which}: the {column.name} is {none}; mend it, or turn the column into "
                "text or numbers"
            )


def complete(rows: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """Return the rows that have all that a claim needs, and count what others lack."""
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


def _is_empty(column: pl.Series) -> pl.Series:
    """Return which names are empty; null or true where one is missing."""
    if column.dtype == pl.String:
        return column == ""
    if column.dtype == pl.Binary:
        return column.bin.size() == 0
    return column.is_null()


def checked_rows(rows: pl.DataFrame, kind: Kind, origin: str) -> tuple[pl.DataFrame, Counter[str]]:
    """Clean rows that stand in no order, and count what is missing in others."""
    rows = rows.select(plain(name, dtype) for name, dtype in rows.schema.items())
    if "claim" in rows.columns:
        rows = rows.with_columns(claim=as_claims(rows["claim"], origin))
    rows, n_lacking = complete(rows)
    kept = weighed(rows, origin)
    if len(kept) < len(rows):
        n_lacking["weight"] += len(rows) - len(kept)
    return (with_numbers(kept, origin) if kind == "numeric" else kept), n_lacking


def nothing_in(origin: str, what: str, reason: str) -> NoClaims:
    """Return the error for a table of which no row is left."""
    return NoClaims(
        f"{origin}: no {what} in it ({reason}); check the data, and columns= or --columns"
    )


COLUMNS = ("source", "entity", "fact", "value", "claim", "time", "weight")
"""Columns that a row may lack, in the order in which notes name them."""


def lacking_notes(n_lacking: Counter[str]) -> tuple[str, ...]:
    """Return notes on rows that were left out, in the same order however rows come in batches."""
    return tuple(_lacking(name, n_lacking[name]) for name in COLUMNS if n_lacking[name])


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
    """Read the weights of rows as numbers; leave out rows that weigh nothing."""
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
