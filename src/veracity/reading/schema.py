"""The claims table: its columns, the names they usually go by, and the kinds of claims."""

from __future__ import annotations

from typing import Any, Literal, get_args

import polars as pl

from veracity.naming import as_text, text_like
from veracity.reading.roles import CARRYING

Kind = Literal["categorical", "multiple", "binary", "numeric"]
"""One value of an item is true, several may be, rows call facts true or false, or are numbers."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CLAIM_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "categorical": ("source", "entity", "attribute", "value"),
    "multiple": ("source", "entity", "attribute", "value"),
    "binary": ("source", "fact", "claim"),
    "numeric": ("source", "entity", "attribute", "value"),
}
"""The columns of a claims table, by kind."""

KEYS = ("entity", "attribute", "fact")
"""The columns that name an item, in any table that has them."""


def numbers_in(values: pl.Series) -> pl.Series | None:
    """Return texts as numbers, or None where one of them is no plain number.

    Codes such as ``007`` and numbers too long for a float are no plain numbers.

    >>> numbers_in(pl.Series(["1", "1.0", "-2.50"])).to_list()
    [1.0, 1.0, -2.5]
    >>> numbers_in(pl.Series(["007", "7"])) is None
    True
    """
    if values.dtype != pl.String or values.is_empty():
        return None
    plain = values.str.contains(r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$")
    exact = values.str.len_bytes() <= 15  # so many digits, and a float still tells two apart
    return values.cast(pl.Float64) if (plain & exact).all() else None


def comparable(
    claimed: pl.Series, true: pl.Series, *, are_numbers: bool | None = None
) -> tuple[pl.Series, pl.Series]:
    """Cast claimed and true values to one type, so that they can be compared.

    Whether all that is claimed are numbers is found out, unless it is known of more claims.

    >>> claimed, true = comparable(pl.Series(["1.0", "2"]), pl.Series([1, 3]))
    >>> claimed.to_list(), true.to_list()
    ([1.0, 2.0], [1.0, 3.0])
    """
    numbers = None if are_numbers is False else numbers_in(claimed)
    if numbers is not None:
        return numbers, _as_numbers(true, pl.Float64())
    if claimed.dtype == true.dtype:
        return claimed, true
    if claimed.dtype.is_float():
        return claimed, _as_numbers(true, claimed.dtype)
    if claimed.dtype == pl.String and true.dtype == pl.Boolean:
        return claimed, _as_spelt(true, claimed)
    return as_text(claimed), text_like(true, claimed.dtype)


def _as_spelt(true: pl.Series, claimed: pl.Series) -> pl.Series:
    """Write true and false as the claims spell them, such as True or FALSE, if all do so alike."""
    text = as_text(true)
    spelt: dict[str, str] = {}
    for truth in ("true", "false"):
        ways = claimed.filter(claimed.str.to_lowercase() == truth).unique()
        if len(ways) == 1:
            spelt[truth] = ways[0]
    return text.replace(spelt)


def _as_numbers(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return values as numbers; null where one is none."""
    are_numbers = values.dtype.is_numeric() or values.dtype == pl.Boolean
    return (values if are_numbers else as_text(values)).cast(dtype, strict=False)


def in_type_of(names: pl.Series, others: pl.Series) -> pl.Series:
    """Return for others the names that are written alike, in their type; null where none is.

    >>> in_type_of(pl.Series([7, 8]), pl.Series(["8", "x"])).to_list()
    [8, None]
    """
    if names.dtype == others.dtype:
        return others
    known = names.unique().drop_nulls().to_frame("name")
    known = known.with_columns(text=as_text(known["name"])).unique("text")
    text = text_like(others, names.dtype).to_frame("text")
    return text.join(known, on="text", how="left", maintain_order="left")["name"]


def carries_more(table: Any) -> bool:
    """Return True if claims have times or weights, or are samples."""
    return not table.columns.keys().isdisjoint(CARRYING) or "samples" in table.shape


def keys_of(table: pl.DataFrame) -> list[str]:
    """Return the columns of a table that name its items.

    >>> keys_of(pl.DataFrame({"entity": ["x"], "value": ["1"]}))
    ['entity']
    """
    return [name for name in KEYS if name in table.columns]
