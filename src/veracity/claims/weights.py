"""Weights of claims, as they are written, become numbers."""

from __future__ import annotations

import polars as pl

from veracity.claims.schema import keys_of
from veracity.errors import BadValue
from veracity.naming import as_text
from veracity.printing import in_short

LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100
"""What weighs less weighs nothing, and no claim weighs more: sums and shares stay numbers."""

PERCENTAGE = r"^(.+?)\s*%$"
"""A number before the sign that makes it a hundredth."""


def weighed(rows: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Rows with their weights as numbers; those that weigh nothing are left out."""
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
