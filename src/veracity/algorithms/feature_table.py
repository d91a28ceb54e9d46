"""Tables of features: whom or what each row describes, and columns as numbers or text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import polars as pl

from veracity.claims.columns import read_table
from veracity.claims.schema import lacking_parts, listed, recognised
from veracity.errors import BadValue, MissingColumn
from veracity.io.databases import is_address
from veracity.naming import as_text
from veracity.printing import in_short

__all__ = ["MISSING", "OTHER", "levels_of", "read_features"]

MISSING, OTHER = "(missing)", "(other)"
"""The levels of those that lack a value, and of those that share theirs with nobody."""

LARGEST = 1e100
"""Numbers beyond this mean nothing, and their squares are none."""

CODE = r"^[+-]?0[0-9]"
"""Texts such as ``007``, which are names, not numbers."""


def read_features(
    data: object, keys: Sequence[str], likely: Mapping[str, str]
) -> tuple[pl.DataFrame, list[str]]:
    """A table with its keys first, as text, then features, as numbers or text; and notes.

    Keys are found by what the claims call them, which `likely` tells, by their own names, or by
    usual ones.
    """
    origin, table = _origin(data, keys[0]), read_table(data)
    if not len(table):
        raise BadValue(f"{origin}: it has no rows; give one for each {keys[0]}, or leave it out")
    likely = {key: likely[key] for key in keys if key in likely}
    found = recognised(table.columns, keys, given={}, likely=likely, origin=origin)
    lacking = lacking_parts(found, keys)
    if lacking:
        called = likely.get(lacking[0], lacking[0])
        raise MissingColumn(
            f"{origin}: no column names the {lacking[0]} among {listed(table.columns)}; call it "
            f"'{called}'"
        )
    others = [name for name in table.columns if name not in found.values()]
    if not others:
        raise MissingColumn(f"{origin}: no column beside {listed([*found.values()])}; add features")
    clash = [name for name in others if name in keys]
    if clash:
        raise BadValue(
            f"{origin}: '{found[clash[0]]}' is taken as the {clash[0]}, and there is a column "
            f"'{clash[0]}', too; call one of them otherwise"
        )
    names = [as_text(table[name]).alias(key) for key, name in found.items()]
    names = [name.fill_null("") if name.name == "attribute" else name for name in names]
    _check_keys(pl.DataFrame(names), found, origin)
    expected = {*keys, *likely.values()}
    notes = [
        f"column '{name}' names the {key}" for key, name in found.items() if name not in expected
    ]
    return pl.DataFrame([*names, *(_plain(table[name], origin) for name in others)]), notes


def _origin(data: object, key: str) -> str:
    """What messages call the table; an address may have a password."""
    if isinstance(data, str | os.PathLike) and not is_address(str(data)):
        return str(data)
    return f"{'source' if key == 'source' else 'item'} features"


def _check_keys(names: pl.DataFrame, found: Mapping[str, str], origin: str) -> None:
    """Refuse rows that describe nobody, or what another row describes."""
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
            f"{listed([*found.values()])}; keep one of them"
        )


def _plain(column: pl.Series, origin: str) -> pl.Series:
    """A column of features, as numbers or text; what is empty is missing."""
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
        raise BadValue(
            f"{origin}: column '{column.name}' holds {dtype}, not plain values; turn it into text "
            "or numbers first, or leave it out"
        )
    text = as_text(column).str.strip_chars()
    text = text.set(text == "", None)
    if dtype.is_temporal():
        numbers = _of_time(column)
    elif dtype.is_numeric():
        numbers = column.cast(pl.Float64).fill_nan(None)
    else:
        numbers = text.cast(pl.Float64, strict=False)
        told = text.is_not_null()
        is_number = numbers.is_finite().fill_null(value=False) & ~text.str.contains(CODE)
        if not told.any() or not is_number.filter(told).all():
            return text
    _check_size(numbers, origin)
    is_flag = numbers.null_count() and numbers.drop_nulls().n_unique() == 1
    return text if is_flag else numbers


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
    """The levels of a category: texts that two rows share, and all others together."""
    counts = text.drop_nulls().value_counts().sort(text.name)
    names = [name for name in counts[text.name].to_list() if name != OTHER]
    shared = set(counts.filter(pl.col("count") > 1)[text.name].to_list())
    lone = [name for name in names if name not in shared]
    if len(lone) == 1 and OTHER not in counts[text.name]:
        return tuple(names)  # it needs no other name
    others = (OTHER,) if lone or OTHER in counts[text.name] else ()
    return (*(name for name in names if name in shared), *others)
