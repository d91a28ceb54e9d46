"""Numbers of Python's own that no column of Polars can hold: it loses them, or panics."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

__all__ = ["MOST_DIGITS", "cells_that_fit", "finite_cells", "too_many_digits"]

MOST_DIGITS = 38
"""Of a decimal of Polars."""

BELOW = 2**127
"""Whole numbers of Polars are below."""


def cells_that_fit(cells: Sequence[Any]) -> Sequence[Any]:
    """The cells of a column as they are; or as text, if there are numbers of too many digits.

    >>> cells_that_fit([Decimal("1e30"), Decimal("1e-10"), Decimal("NaN"), None])
    ['1E+30', '1E-10', None, None]
    """
    cells = finite_cells(cells)
    if not too_many_digits(cells):
        return cells
    return [None if cell is None else str(cell) for cell in cells]


def finite_cells(cells: Sequence[Any]) -> Sequence[Any]:
    """The cells, without decimals that are no number."""
    if Decimal not in set(map(type, cells)):
        return cells
    return [None if isinstance(cell, Decimal) and not cell.is_finite() else cell for cell in cells]


def too_many_digits(cells: Sequence[Any]) -> bool:
    """Whether a column of one type cannot hold all numbers among its cells, which are finite."""
    types = set(map(type, cells))
    if types.isdisjoint((int, Decimal)):
        return False
    numbers = [cell for cell in cells if isinstance(cell, int | Decimal)]
    if Decimal not in types:
        return not (min(numbers) >= -BELOW and max(numbers) < BELOW)
    exact = [Decimal(number) for number in numbers]
    before = max(number.adjusted() + 1 for number in exact)
    behind = max(-int(number.as_tuple().exponent) for number in exact)
    return max(before, 0) + max(behind, 0) > MOST_DIGITS
