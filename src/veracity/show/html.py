"""Sections as HTML, for notebooks and reports. Every text is escaped here, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from veracity._version import __version__
from veracity.printing import in_short, printable
from veracity.progress import Progress
from veracity.show.cells import Cell, Column, columns_of
from veracity.show.sections import Section, Table

SEARCHED = 8
"""Number of rows from which a table on a page has a search box."""

MOST_ROWS = 100
"""Largest number of rows of the table that a page shows with a figure."""

TALL = 15
"""Number of rows from which a table has its own scroll bar."""

PATIENCE = 1.0
"""Seconds of work before a bar is shown."""

PAUSE = 0.2
"""Seconds between two updates of the bar."""


def text(words: object) -> str:
    r"""Return anything as text in HTML; what cannot be printed is spelt out.

    >>> text("<script>"), text("a\x00b")
    ('&lt;script&gt;', 'a\\x00b')
    """
    return escape(printable(str(words), lines=True), quote=True)


def as_html(sections: Sequence[Section]) -> str:
    """Return sections as HTML for a notebook."""
    parts = (f"<div>{_heading(one.title, 4)}{content(one)}</div>" for one in sections)
    return f'<div class="veracity-result">{"".join(parts)}</div>'


def page(title: str, sections: Sequence[Section], missing: str = "") -> str:
    """Return sections as a page, which needs no network and runs only its own script."""
    style, script = (
        files("veracity.show").joinpath(name).read_text(encoding="utf-8").strip()
        for name in ("style.css", "script.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (  # show the page, and run this very script
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    links = "".join(f'<li><a href="#{s.anchor}">{text(s.title)}</a></li>' for s in sections)
    parts = "".join(
        f'<section id="{s.anchor}" aria-labelledby="{s.anchor}-title">'
        f'<h2 id="{s.anchor}-title">{text(s.title)}</h2>{content(s, level=2)}</section>'
        for s in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="veracity {text(__version__)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><title>{text(title)}</title>
<style>{style}</style></head><body>
<a class="skip" href="#{sections[0].anchor}">Skip to the summary</a>
<header><h1>{text(title)}</h1>{f'<p class="missing">{text(missing)}</p>' if missing else ""}
<nav aria-label="Parts of this page"><ul>{links}</ul></nav></header>
<main>{parts}</main>
<footer><p>Written by veracity {text(__version__)}. This page needs no network.</p></footer>
<script>{script}</script></body></html>
"""


def content(section: Section, level: int = 4) -> str:
    """Return the content of a section as HTML, without its title, which has this level."""
    words = "".join(f"<p>{text(one)}</p>" for one in section.sentences)
    if len(section.sentences) > 2:
        words = "".join(f"<li>{text(one)}</li>" for one in section.sentences)
        words = f"<ul>{words}</ul>"
    numbers = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(number)}</dd></div>"
        for name, number in section.numbers
    )
    code = f"<pre><code>{text(section.code)}</code></pre>" if section.code else ""
    return "".join(
        [
            f'<dl class="numbers">{numbers}</dl>' if numbers else "",
            words,
            code,
            _lookup(section),
            *_beside(
                _figure(section),
                "".join(table_html(one, is_searched=not section.folded) for one in section.tables),
                _parts(section.more, level + 1),
            ),
        ]
    )


def _beside(*parts: str) -> Iterator[str]:
    """Yield two parts side by side if there is room, and the others below."""
    there = [part for part in parts if part]
    if len(there) > 1:
        yield f'<div class="beside"><div>{there[0]}</div><div>{there[1]}</div></div>'
        there = there[2:]
    yield from there


def _parts(sections: Sequence[Section], level: int) -> str:
    """Return the parts of a section; warnings are side by side if there is room."""
    parts = "".join(_part(one, level) for one in sections)
    are_warnings = bool(sections) and all(one.tone != "plain" for one in sections)
    return f'<div class="warnings">{parts}</div>' if are_warnings else parts


def _part(section: Section, level: int) -> str:
    """Return a part of a section: open if it is a warning, else folded."""
    if section.tone != "plain":
        title = f"<p><strong>{text(section.title)}</strong></p>"
        return f'<div class="warning {section.tone}">{title}{content(section, level)}</div>'
    if not section.folded:
        return f"<div>{_heading(section.title, level)}{content(section, level)}</div>"
    anchor = f' id="{section.anchor}"' if section.anchor else ""
    return (
        f"<details{anchor}><summary>{text(section.title)}</summary>{content(section, level)}"
        "</details>"
    )


def _heading(words: str, level: int) -> str:
    return f"<h{level}>{text(words)}</h{level}>" if words else ""


def _figure(section: Section) -> str:
    """Return the figure of a section in both themes, with the numbers behind it."""
    figure = section.figure
    if figure is None:
        return ""
    light, dark = (
        f"data:image/svg+xml;base64,{base64.b64encode(figure.svg(theme).encode()).decode()}"
        for theme in ("light", "dark")
    )
    rows = figure.table.head(MOST_ROWS)
    behind = Table(title=figure.title, rows=rows, n_rows=len(figure.table))
    return (
        f'<figure tabindex="0"><picture><source srcset="{dark}" '
        'media="screen and (prefers-color-scheme: dark)">'
        f'<img src="{light}" alt="{text(figure.alt)}"></picture>'
        f"<details><summary>The numbers in this figure</summary>{table_html(behind)}</details>"
        "</figure>"
    )


def _lookup(section: Section) -> str:
    """Return a search box for items, with all items in compressed form."""
    found = section.lookup
    if found is None:
        return ""
    data = "".join(
        f'<script type="application/gzip" class="{kind}">{packed}</script>'
        for kind, packed in (
            ("lookup-sources", found.sources),
            *(("lookup-items", chunk) for chunk in found.chunks),
        )
    )
    return (
        f'<div id="looked-up" data-things="{text(found.things)}"'
        f' data-measure="{text(found.measure)}" data-count="{found.n_items:,}"></div>'
        f"<noscript><p>Looking items up needs JavaScript.</p></noscript>{data}"
    )


def table_html(table: Table, *, is_searched: bool = False) -> str:
    """Return a table with a caption; the first column names the row."""
    columns = columns_of(table)
    head = "".join(
        f'<th scope="col"{" class=n" * column.is_number}>{text(column.heading)}</th>'
        for column in columns
    )
    drawn = [_drawn_cells(table, column) for column in columns]
    if table.links and drawn:
        linked = zip(table.links, drawn[0], strict=True)
        drawn[0] = [f'<a href="#{anchor}">{cell}</a>' for anchor, cell in linked]
    body = "".join(_row(row, columns) for row in zip(*drawn, strict=True))
    n_rows = len(table.rows) if table.n_rows is None else table.n_rows
    count = f" <span>({len(table.rows):,} of {n_rows:,} are shown)</span>"
    count = count if n_rows > len(table.rows) else ""
    is_list = len(table.rows) > 2 and not table.shaded
    marks = " data-sortable" * is_list
    marks += " data-searchable" * (is_list and is_searched and len(table.rows) > SEARCHED)
    kind = "table tall" if len(table.rows) > TALL else "table"
    return (
        f'<div class="{kind}" role="region" tabindex="0" aria-label="{text(table.title)}">'
        f"<table{marks}><caption><div>{text(table.title)}{count}</div></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Iterable[str], columns: list[Column]) -> str:
    made = [
        f"<td{' class=n' * column.is_number}>{cell}</td>"
        for cell, column in zip(cells, columns, strict=True)
    ]
    made[0] = f'<th scope="row"{made[0][3:-5]}</th>'
    return f"<tr>{''.join(made)}</tr>"


def _drawn_cells(table: Table, column: Column) -> list[str]:
    """Return the cells of a column as HTML, with an interval, a bar or a shade if asked for."""
    rows, name = table.rows, column.name
    if any(cell.interval for cell in column.cells):
        numbers = rows.select(name, f"{name}_low", f"{name}_high").iter_rows()
        return [_ranged(cell, *row) for cell, row in zip(column.cells, numbers, strict=True)]
    texts = [text(cell.text) for cell in column.cells]
    if name == table.bars:
        weights = rows[name].fill_null(0.0).to_list()
        heaviest = max(map(abs, weights), default=0.0) or 1.0
        sides = ["against" if weight < 0.0 else "for" for weight in weights]
        return [
            f'<span class="bar {side}" style="--w:{abs(weight) / heaviest:.2f}" aria-hidden="true">'
            f"</span>{cell}" if cell else ""
            for side, weight, cell in zip(sides, weights, texts, strict=True)
        ]  # fmt: skip
    if table.shaded and column.is_number:
        return [
            f'<span class="shade" style="--s:{share or 0.0:.2f}">{cell}</span>'
            for share, cell in zip(rows[name].to_list(), texts, strict=True)
        ]
    return texts


def _ranged(cell: Cell, value: float | None, low: float | None, high: float | None) -> str:
    """Return a measure with its interval; the interval of a share is also drawn."""
    if not cell.interval or value is None or low is None or high is None:
        return text(cell.text)
    words = f"{text(cell.text)} <small>{text(cell.interval)}</small>"
    if not 0.0 <= low <= high <= 1.0:
        return words
    style = f"--a:{value:.3f};--l:{low:.3f};--h:{high:.3f}"
    return f'{words}<span class="range" style="{style}" aria-hidden="true"></span>'


@contextlib.contextmanager
def bar() -> Iterator[Progress]:
    """Show a progress bar in a notebook during long work, and remove it at the end."""
    display = importlib.import_module("IPython.display")
    started, shown = time.monotonic(), 0.0
    handle: Any = None

    def tell(phase: str, done: int, total: int) -> None:
        nonlocal shown, handle
        now = time.monotonic()
        if now - started < PATIENCE or now - shown < PAUSE:
            return
        shown = now
        far = f' value="{done}" max="{total}"' if total else ""
        look = display.HTML(f"<p><progress{far}></progress> {text(in_short(phase))}</p>")
        if handle is None:
            handle = display.display(look, display_id=True)
        else:
            handle.update(look)

    try:
        yield tell
    finally:
        if handle is not None:
            handle.update(display.HTML(""))
