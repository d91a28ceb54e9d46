"""Cells of Python's own that no column of Polars can hold, or that it would write otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import polars as pl

from veracity.naming import as_text

MOST_DIGITS = 38
"""Of a decimal of Polars."""

BELOW = 2**127
"""Whole numbers of Polars are below."""

NAMES_OF_MISSING = frozenset({"NAType", "NaTType"})
"""Types of what pandas has in place of a missing cell."""

TAKEN_AS_THEY_ARE = (
    str, bytes, bool, int, float, Decimal, date, time, timedelta, Enum, Mapping, np.ndarray,
)  # fmt: skip


RENDERED = frozenset({bool, float, date, datetime})
"""Types that Python writes as text otherwise than columns of them are written."""

NUMBERS = frozenset({int, float, Decimal})

PLAIN = RENDERED | NUMBERS | {str}
"""Types that can stand in one column, as text if they are several."""


def plain_cell(cell: Any) -> Any:
    """A cell as Polars can hold it: missing ones are None, and what knows its own text is text.

    >>> [plain_cell(cell) for cell in (float("nan"), np.bool_(True), np.datetime64("2024-01-31"))]
    [None, True, datetime.date(2024, 1, 31)]
    """
    if cell is None or type(cell).__name__ in NAMES_OF_MISSING:
        return None
    if isinstance(cell, np.datetime64 | np.timedelta64):
        is_finer = np.datetime_data(cell.dtype)[0] in ("ns", "ps", "fs", "as")  # than Python knows
        cell = (cell.astype(cell.dtype.str[:2] + "8[us]") if is_finer else cell).item()
    elif isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and np.isnan(cell):
        return None
    if isinstance(cell, set | frozenset):
        cell = sorted(cell, key=str)
    if isinstance(cell, list | tuple):
        return [plain_cell(own) for own in cell]
    has_text = any("__str__" in vars(kind) for kind in type(cell).__mro__[:-1])
    return str(cell) if has_text and not isinstance(cell, TAKEN_AS_THEY_ARE) else cell


def texts_of(cells: Sequence[Any]) -> list[str | None]:
    """Cells of several types as text, each as a column of its own type alone would have it.

    >>> texts_of([7, 7.0, "7", 2.5, True, None, date(2024, 1, 31)])
    ['7', '7', '7', '2.5', 'true', None, '2024-01-31']
    """
    texts: list[str | None] = [None if cell is None else str(cell) for cell in cells]
    for kind in {type(cell) for cell in cells} & RENDERED:
        places = [place for place, cell in enumerate(cells) if type(cell) is kind]
        own = as_text(pl.Series([cells[place] for place in places]))
        for place, text in zip(places, own, strict=True):
            texts[place] = text
    return texts


def even_cells(cells: Sequence[Any]) -> Sequence[Any]:
    """The cells of a column as they are; as text, if plain ones of several types are among them.

    >>> even_cells([1, 1.0, "one"]), even_cells([1, 2.5, None])
    (['1', '1', 'one'], [1, 2.5, None])
    """
    types = {type(cell) for cell in cells if cell is not None}
    is_mixed = len(types) > 1 and types <= PLAIN and not types <= NUMBERS
    return texts_of(cells) if is_mixed else cells


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
