"""Text, numbers and tables as HTML. All that is shown passes through here, and is escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import polars as pl

from veracity.naming import name_text
from veracity.printing import in_short, printable

LONGEST = 120
"""Letters of a name or value that are shown."""

NAMES = frozenset(
    {"source", "other", "original", "claimed", "entity", "attribute", "value", "runner_up", "fact",
     "truth", "settled_on", "before", "after", "change", "kind", "measure", "setting",
     "package", "version", "label", "answer"}
)  # fmt: skip
"""Columns of names and values, which are shown as they are; the others hold counts and measures."""

CERTAIN = frozenset({"plausibility", "probability", "margin", "suspicion"})
"""Measures that are not rounded to certainty: 0.99998 is shown as > 0.999."""

Cell = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a table is shown.

    `cells` give the HTML of columns that are more than text, from the row; `hidden` columns are
    only for them. `of` is how many rows there would be, if not all are shown.
    """

    caption: str
    of: int | None = None
    sortable: bool = False
    searchable: bool = False
    headings: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, Cell] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def text(words: object) -> str:
    r"""Anything as text in HTML; what cannot be printed is spelt out.

    >>> text("<script>"), text("a\x00b")
    ('&lt;script&gt;', 'a\\x00b')
    """
    return escape(printable(str(words), lines=True), quote=True)


def name(value: object) -> str:
    """A name or value, cut if it is very long.

    >>> name("x" * 500)[-5:], name(0.1 + 0.2), name(1234567.0)
    ('xxxx…', '0.3', '1234567')
    """
    if value is None:
        return ""
    told = name_text(value)
    if isinstance(value, float):
        told = f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return text(in_short(told, LONGEST))


def measure(value: object, *, certain: bool = True) -> str:
    """A count or a measure; unless `certain`, one that is nearly 0 or 1 does not look like it.

    >>> measure(1234), measure(0.99999), measure(0.99999, certain=False), measure(None)
    ('1,234', '1.000', '&gt; 0.999', '')
    """
    if isinstance(value, bool) or value is None:
        return "yes" if value else ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else name(value)
    if not math.isfinite(value):
        return ""
    if not certain and 0.9995 <= value < 1.0:
        return "&gt; 0.999"
    if not certain and 0.0 < value < 0.0005:
        return "&lt; 0.001"
    return f"{value:.3f}" if abs(value) < 1e5 else f"{value:.6g}"


def share(part: float) -> str:
    """A share as a percentage that is never rounded to all or nothing.

    >>> share(0.25), share(0.9999), share(0.0001), share(1.0)
    ('25%', 'more than 99%', 'less than 1%', '100%')
    """
    if 0.995 < part < 1.0:
        return "more than 99%"
    return "less than 1%" if 0.0 < part < 0.005 else f"{part:.0%}"


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """A list of plain sentences."""
    return f"<ul>{''.join(f'<li>{text(sentence)}</li>' for sentence in sentences)}</ul>"


def beside(first: str, second: str) -> str:
    """Two parts, side by side where there is room, else one below the other."""
    if not first or not second:
        return first + second
    return f'<div class="beside"><div>{first}</div><div>{second}</div></div>'


def details(summary: str, content: str, anchor: str = "") -> str:
    """What opens when asked for; the summary is HTML."""
    mark = f' id="{anchor}"' if anchor else ""
    return f"<details{mark}><summary>{summary}</summary>{content}</details>"


def table(frame: pl.DataFrame, look: Look) -> str:
    """A table with a caption; the first column names the row."""
    hidden = {*look.hidden, *(["attribute"] if _has_no_attribute(frame) else [])}
    shown = [column for column in frame.columns if column not in hidden]
    numeric = {column: _is_numeric(frame, column) for column in shown}
    head = "".join(_heading(column, look, numeric=numeric[column]) for column in shown)
    body = "".join(
        f"<tr>{''.join(_cell(column, row, look, numeric[column]) for column in shown)}</tr>"
        .replace("<td", '<th scope="row"', 1).replace("</td>", "</th>", 1)
        for row in frame.iter_rows(named=True)
    )  # fmt: skip
    of = len(frame) if look.of is None else look.of
    count = f" <span>({len(frame):,} of {of:,} are shown)</span>" if of > len(frame) else ""
    marks = f"{' data-sortable' * look.sortable}{' data-searchable' * look.searchable}"
    kind = "table tall" if len(frame) > 15 else "table"
    return (
        f'<div class="{kind}" role="region" tabindex="0" aria-label="{text(look.caption)}">'
        f"<table{marks}><caption><div>{text(look.caption)}{count}</div></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _has_no_attribute(frame: pl.DataFrame) -> bool:
    """Whether there is a column of attributes, and none of them has a name."""
    if "attribute" not in frame.columns or frame.is_empty():
        return False
    return bool((frame["attribute"].cast(pl.String).fill_null("") == "").all())


def _heading(column: str, look: Look, *, numeric: bool) -> str:
    words = look.headings.get(column, column.replace("_", " "))
    return f'<th scope="col"{" class=n" * numeric}>{text(words)}</th>'


def _cell(column: str, row: dict[str, Any], look: Look, numeric: bool) -> str:
    if column in look.cells:
        content = look.cells[column](row)
    elif column in NAMES and not isinstance(row[column], bool):
        content = name(row[column])
    elif isinstance(row[column], bool) and column in NAMES:
        content = str(row[column]).lower()
    else:
        content = measure(row[column], certain=column not in CERTAIN)
    return f"<td{' class=n' * numeric}>{content}</td>"


def _is_numeric(frame: pl.DataFrame, column: str) -> bool:
    return frame.schema[column].is_numeric()
