"""Sections: the content of a result, a check or a comparison, before it is drawn.

`sections_of` decides the content and its order. The renderers `terminal` and `html` only draw. They
receive plain text and frames; each escapes names in the one place where it draws text.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure
    from veracity.show.lookup import Lookup

Tone = Literal["plain", "caution", "serious"]


HIDDEN = ("frame_kind", "headings")
"""Fields that say how an object is shown, and are not part of its content."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows to show. `n_rows` is the number of all rows, if some are left out.

    A column ``x`` with ``x_low`` and ``x_high`` is shown with its interval, in one column.
    """

    title: str
    rows: pl.DataFrame
    n_rows: int | None = None
    headings: Mapping[str, str] = field(default_factory=dict)
    """Headings of columns that differ from the column's name."""
    bars: str = ""
    """Column that a page draws as bars."""
    shaded: bool = False
    """True for a matrix of shares, whose numbers a page shades."""
    links: Sequence[str] = ()
    """Anchors on the page that the first cells of the rows lead to."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """Section to show: sentences, numbers, tables, perhaps a figure.

    `more` are its parts; a page hides the `folded` ones until they are opened. On a page, `anchor`
    is the address of the section, and `lookup` a search box for items.
    """

    title: str = ""
    anchor: str = ""
    sentences: Sequence[str] = ()
    numbers: Sequence[tuple[str, str]] = ()
    tables: Sequence[Table] = ()
    figure: Figure | None = None
    code: str = ""
    lookup: Lookup | None = None
    tone: Tone = "plain"
    more: Sequence[Section] = ()
    folded: bool = False


@singledispatch
def sections_of(thing: object) -> list[Section]:
    """Return the sections of a result, a check, a profile or another object."""
    before, home = sections_of.dispatch(type(thing)), type(thing).__module__
    is_inspected = home.startswith("veracity.inspect.")  # a command loads what it shows alone
    importlib.import_module(f"veracity.show.of_{'inspection' if is_inspected else 'result'}")
    if sections_of.dispatch(type(thing)) is before:
        raise TypeError(f"{type(thing).__name__} has no sections")
    return sections_of(thing)


def as_dict(thing: object) -> dict[str, Any]:
    """Return the fields of an object as values that JSON can hold; tables are lists of rows."""
    if hasattr(thing, "contents"):  # it names its parts itself
        parts = thing.contents()
    else:
        parts = {one.name: getattr(thing, one.name) for one in dataclasses.fields(thing)}  # type: ignore[arg-type]
    return plain({k: v for k, v in parts.items() if k not in HIDDEN})  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """Return a value that JSON can hold; NaN and infinity become null."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(value.to_dict()) if hasattr(value, "to_dict") else as_dict(value)
    is_frame = hasattr(value, "columns")  # of polars, pandas, Arrow or Spark
    return plain(pl.DataFrame(value).to_dicts()) if is_frame else value
