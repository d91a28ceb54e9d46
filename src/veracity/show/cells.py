"""Format cells: names, counts, measures, shares and intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

from veracity.naming import as_text, name_text
from veracity.printing import in_short
from veracity.result.intervals import LEVEL
from veracity.show.sections import Table

LONGEST = 200
"""Largest number of characters of a name or value in a cell."""

NAMES = frozenset(
    {"source", "other", "original", "claimed", "entity", "attribute", "value", "runner_up", "fact",
     "algorithm", "truth", "settled_on", "label", "answer", "setting"}
)  # fmt: skip
"""Columns of names and values, which are shown as they are; the others hold counts and measures."""

CERTAIN = frozenset({"plausibility", "probability", "margin", "plausibility_after"})
"""Measures that are never rounded to certainty: 0.99998 is shown as > 0.999."""


class Cell(NamedTuple):
    """Text of a cell, and of its interval, if it has one."""

    text: str
    interval: str = ""


class Column(NamedTuple):
    """Column of a table as it is shown."""

    name: str
    heading: str
    is_number: bool
    cells: list[Cell]


def columns_of(table: Table) -> list[Column]:
    """Return the columns of a table with the texts of all cells; intervals join their measures."""
    rows, columns = table.rows, list[Column]()
    names = [name for name in rows.columns if not _is_empty_attribute(table, name)]
    ends = {f"{name}_{end}" for name in names for end in ("low", "high")} & set(names)
    for name in (name for name in names if name not in ends):
        cells = [Cell(cell_text(name, value)) for value in _values(rows[name])]
        heading = table.headings.get(name, name.replace("_", " "))
        if f"{name}_low" in ends:
            bounds = rows.select(f"{name}_low", f"{name}_high").iter_rows()
            cells = [
                Cell(one.text, "" if not one.text else interval_text(low, high))
                for one, (low, high) in zip(cells, bounds, strict=True)
            ]
            heading += f" ({LEVEL:.0%} interval)"
        dtype = rows.schema[name]
        columns.append(Column(name, in_short(heading), dtype.is_numeric(), cells))
    return columns


def _values(column: pl.Series) -> list[object]:
    """Return the values of a column; dates and other names that Python cannot hold are text."""
    dtype = column.dtype
    is_plain = dtype.is_float() or dtype.is_integer() or dtype in (pl.String, pl.Boolean, pl.List)
    return (column if is_plain else as_text(column)).to_list()


def _is_empty_attribute(table: Table, name: str) -> bool:
    """Return True for a column of attributes in which none has a name."""
    if name != "attribute" or table.rows.is_empty():
        return False
    return bool((as_text(table.rows[name]).fill_null("") == "").all())


def cell_text(column: str, value: object) -> str:
    """Return the text of a cell on one line, with control characters escaped.

    >>> cell_text("claims", 12345), cell_text("tpr", 0.5), cell_text("entity", 1007)
    ('12,345', '0.500', '1007')
    >>> cell_text("contested", True), cell_text("value", True), cell_text("tied", False)
    ('yes', 'true', '')
    """
    if value is None:
        return ""
    if isinstance(value, list):
        return in_short(" | ".join(cell_text("value", one) for one in value), LONGEST)
    if column not in NAMES and isinstance(value, bool):
        return "yes" if value else ""
    if column not in NAMES and isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number_text(value, column)
    return in_short(name_text(value), LONGEST)


def number_text(value: float, column: str = "") -> str:
    """Return a number in few digits; a plausibility near 0 or 1 does not look certain.

    >>> number_text(0.99999), number_text(0.99999, "plausibility"), number_text(2.0, "value")
    ('1.000', '> 0.999', '2')
    """
    if not math.isfinite(value):
        return ""
    if column in NAMES:
        is_whole = value.is_integer() and abs(value) < 1e15
        return f"{value:.0f}" if is_whole else f"{value:.{7 if abs(value) >= 1.0 else 6}g}"
    if column in CERTAIN and 0.9995 <= value < 1.0:
        return "> 0.999"
    if column in CERTAIN and 0.0 < value < 0.0005:
        return "< 0.001"
    is_small = 0.0 < abs(value) < 0.0005
    return f"{value:.2g}" if is_small else f"{value:.3f}" if abs(value) < 1e5 else f"{value:.6g}"


def interval_text(low: float | None, high: float | None) -> str:
    """Return an interval in digits; an empty text if there is none.

    >>> interval_text(0.741, 0.973), interval_text(None, 1.0)
    ('0.74-0.97', '')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"{low:.2f}-{high:.2f}"


def share_text(part: float) -> str:
    """Return a share as a percentage that is never rounded to all or nothing.

    >>> share_text(0.25), share_text(0.9999), share_text(0.0001), share_text(1.0)
    ('25%', 'more than 99%', 'less than 1%', '100%')
    """
    if 0.995 < part < 1.0:
        return "more than 99%"
    return "less than 1%" if 0.0 < part < 0.005 else f"{part:.0%}"


def sentence(words: str) -> str:
    """Return words that begin with a capital letter and end with a full stop.

    >>> sentence("the prior is another one"), sentence("")
    ('The prior is another one.', '')
    """
    end = "" if words.endswith((".", "!", "?", ":")) else "."
    return f"{words[0].upper()}{words[1:]}{end}" if words else ""
