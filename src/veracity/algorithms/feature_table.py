"""Tables of features: the source or item of each row, and columns of numbers or text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeVar

import polars as pl

from veracity.errors import BadValue, MissingColumn
from veracity.io.addresses import is_address
from veracity.io.reader import quoted_list
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.reading.claims import read_table
from veracity.reading.clean import check_calendar
from veracity.reading.roles import lacking_parts, recognised
from veracity.reading.sniff import require_plain

Column = TypeVar("Column")
"""Types of columns of features."""

MISSING, OTHER = "(missing)", "(other)"
"""Levels for missing values, and for values that occur only once."""

MOST_FEATURES = 10_000
"""Largest number of features. Each is examined before learning, which takes time."""

LARGEST = 1e100
"""Largest allowed number; the square of a larger one could overflow."""

CODE = r"^[+-]?0[0-9]"
"""Texts such as ``007``, which are names, not numbers."""


def read_features(
    data: object,
    keys: Sequence[str],
    likely: Mapping[str, str],
    held: Mapping[str, pl.DataType] | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Read a table: keys first, as text, then features, as numbers or text; and notes.

    Keys are found by what the claims call them, which `likely` tells, by their own names, or by
    usual ones. `held` are the types of an earlier table's columns.
    """
    origin, table = _origin(data, keys[0]), read_table(data)
    if not len(table):
        raise BadValue(f"{origin}: it has no rows; give one for each {keys[0]}, or leave it out")
    likely = {key: likely[key] for key in keys if key in likely}
    found = _key_columns(table.columns, keys, likely, origin)
    others = _feature_columns(table.columns, found, keys, origin)
    for key, name in found.items():
        require_plain(origin, key, name, table.schema[name])
    names = [as_text(table[name]).alias(key) for key, name in found.items()]
    names = [name.fill_null("") if name.name == "attribute" else name for name in names]
    _check_keys(pl.DataFrame(names), found, origin)
    expected = {*keys, *likely.values()}
    notes = [
        f"column '{name}' names the {key}" for key, name in found.items() if name not in expected
    ]
    types = held or {}
    features = [_plain(table[name], origin, types.get(name)) for name in others]
    return pl.DataFrame([*names, *features]), notes


def _key_columns(
    columns: Sequence[str], keys: Sequence[str], likely: Mapping[str, str], origin: str
) -> dict[str, str]:
    """Return the column of each key."""
    found = recognised(columns, keys, likely=likely)
    lacking = lacking_parts(found, keys)
    if lacking:
        called = likely.get(lacking[0], lacking[0])
        raise MissingColumn(
            f"{origin}: no column names the {lacking[0]} among {quoted_list(columns)}; call it "
            f"'{called}'"
        )
    return found


def _feature_columns(
    columns: Sequence[str], found: Mapping[str, str], keys: Sequence[str], origin: str
) -> list[str]:
    """Return the columns that are no keys."""
    others = [name for name in columns if name not in found.values()]
    if not others:
        raise MissingColumn(
            f"{origin}: no column beside {quoted_list([*found.values()])}; add features"
        )
    if len(others) > MOST_FEATURES:
        raise BadValue(
            f"{origin}: {len(others):,} columns beside {quoted_list([*found.values()])} are more "
            f"than the {MOST_FEATURES:,} features that can be learned from; leave some out"
        )
    clash = [name for name in others if name in keys]
    if clash:
        raise BadValue(
            f"{origin}: '{found[clash[0]]}' is taken as the {clash[0]}, and there is a column "
            f"'{clash[0]}', too; call one of them otherwise"
        )
    return others


def columns_telling(
    found: Mapping[str, Column | None], what: str, keys: Sequence[str] = ()
) -> tuple[tuple[Column, ...], list[str]]:
    """Choose the columns that identify sources or items, and note others that look like keys."""
    same = [name for name, column in found.items() if column is None and name not in keys]
    columns = tuple(column for column in found.values() if column is not None)
    if not columns:
        raise BadValue(
            f"{what} features: {quoted_list(same)} tell no {what}s apart, or no two of them "
            "together; leave them out, or group values"
        )
    left_out = f"left out, as all {what}s share a value, or none do: {quoted_list(same)}"
    return columns, [left_out] if same else []


def with_rows(
    table: pl.DataFrame, data: object, keys: Sequence[str], likely: Mapping[str, str]
) -> pl.DataFrame:
    """Add the rows of another table; rows that exist already stay unchanged."""
    new, _ = read_features(data, keys, likely, table.schema)
    lacking = [name for name in table.columns if name not in new.columns]
    if lacking:
        what = _what(keys[0])
        raise MissingColumn(
            f"{what} features: no column {quoted_list(lacking)} among {quoted_list(new.columns)}; "
            f"{what}s have to be described as those were that were learned from"
        )
    own = [key for key in keys if key in table.columns]
    return pl.concat([table, new.select(table.columns).join(table, on=own, how="anti")])


def _origin(data: object, key: str) -> str:
    """Return the name of the table in messages; an address may have a password."""
    if isinstance(data, str | os.PathLike) and not is_address(str(data)):
        return str(data)
    return f"{_what(key)} features"


def _what(key: str) -> str:
    """Return the words for what rows with this key describe."""
    return "source" if key == "source" else "item"


def _check_keys(names: pl.DataFrame, found: Mapping[str, str], origin: str) -> None:
    """Raise an error for rows without a name, or with the name of another row."""
    for key, name in found.items():
        empty = names[key].is_null().arg_true()
        if len(empty):
            raise BadValue(
                f"{origin}: row {empty[0] + 1} has no {key} in column '{name}'; fill it in"
            )
    twice = names.is_duplicated()
    if twice.any():
        first = names.filter(twice).row(0)
        one, other = [number for number, row in enumerate(names.iter_rows()) if row == first][:2]
        called = " ".join(map(in_short, first))
        raise BadValue(
            f"{origin}: rows {one + 1} and {other + 1} both describe '{called}', by "
            f"{quoted_list([*found.values()])}; keep one of them"
        )


def _plain(column: pl.Series, origin: str, held: pl.DataType | None) -> pl.Series:
    """Return a column of features as numbers or text; empty cells are missing.

    It is read as what it `held` before, if there was such a column.
    """
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise BadValue(
            f"{origin}: column '{column.name}' holds {column.dtype}, not plain values; turn it "
            "into text or numbers first, or leave it out"
        )
    check_calendar(column.to_frame(), origin, 0)
    text = as_text(column).str.strip_chars()
    text = text.set(text == "", None)
    if column.dtype.is_temporal():
        numbers = _of_time(column)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64).fill_nan(None)
        text = text.set(numbers.is_null(), None)
    else:
        numbers = text.cast(pl.Float64, strict=False)
    if held is None:
        held = pl.Float64() if _are_numbers(column.dtype, text, numbers) else pl.String()
    else:
        _check_read(numbers, text, origin, held)
    if held == pl.String:
        return text
    _check_size(numbers, origin)
    return numbers


def _are_numbers(dtype: pl.DataType, text: pl.Series, numbers: pl.Series) -> bool:
    """Return True if a column has numbers: no codes, and no mark that some have and others lack."""
    if not (dtype.is_temporal() or dtype.is_numeric()):
        told = text.is_not_null()
        is_number = numbers.is_finite().fill_null(value=False) & ~text.str.contains(CODE)
        if not told.any() or not is_number.filter(told).all():
            return False
    return not numbers.null_count() or numbers.drop_nulls().n_unique() != 1


def _check_read(numbers: pl.Series, text: pl.Series, origin: str, held: pl.DataType) -> None:
    """Raise an error if a column that had numbers before now has text."""
    unread = (numbers.is_null() & text.is_not_null()).arg_true()
    if held == pl.Float64 and len(unread):
        raise BadValue(
            f"{origin}: row {unread[0] + 1} has '{in_short(text[unread[0]])}' in column "
            f"'{text.name}', which held numbers before; correct it, or leave the cell empty"
        )


def _of_time(column: pl.Series) -> pl.Series:
    """Dates as years, times of day as hours, durations as days."""
    if column.dtype == pl.Duration:
        return column.dt.total_seconds() / 86_400.0
    if column.dtype == pl.Time:
        return column.cast(pl.Int64) / 3.6e12
    return column.dt.year() + column.dt.ordinal_day() / 366.0


def _check_size(numbers: pl.Series, origin: str) -> None:
    too_large = (numbers.abs() > LARGEST).arg_true()
    if len(too_large):
        raise BadValue(
            f"{origin}: row {too_large[0] + 1} has a number beyond 1e100 in column "
            f"'{numbers.name}'; correct it, or leave the cell empty"
        )


def levels_of(text: pl.Series) -> tuple[str, ...]:
    """Return the levels of a category: texts that two rows share, and all others together."""
    counts = text.drop_nulls().value_counts().sort(text.name)
    names = [name for name in counts[text.name].to_list() if name != OTHER]
    shared = set(counts.filter(pl.col("count") > 1)[text.name].to_list())
    lone = [name for name in names if name not in shared]
    if len(lone) == 1 and OTHER not in counts[text.name]:
        return tuple(names)  # it needs no other name
    others = (OTHER,) if lone or OTHER in counts[text.name] else ()
    return (*(name for name in names if name in shared), *others)
