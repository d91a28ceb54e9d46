"""What a notebook shows of a result: a compact summary as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import polars as pl

from veracity.claims.block import SAME
from veracity.result.intervals import LEVEL

if TYPE_CHECKING:
    from veracity.result import Result

__all__ = ["summary_html"]

MOST_TRUTHS = 5
MOST_SOURCES = 8
"""Rows that are shown."""

LONGEST = 60
"""Letters of a name or value that are shown."""


def summary_html(result: Result) -> str:
    """The lines of the summary, the closest calls, and the sources with most claims."""
    first, *others = result.lines()
    tables = result.tables
    parts = [
        f"<p><strong>{_text(first)}</strong></p>",
        *(f"<p>{_text(line)}</p>" for line in others),
    ]
    parts.append(_table(_closest(tables.truths), "truths, the closest calls first", tables.truths))
    most = tables.sources.sort("claims", descending=True, maintain_order=True).head(MOST_SOURCES)
    parts.append(_table(_sure(most), "sources, those with most claims first", tables.sources))
    return f'<div class="veracity-result">{"".join(parts)}</div>'


def _closest(truths: pl.DataFrame) -> pl.DataFrame:
    wanted = ("entity", "attribute", "fact", "value", "plausibility", "uncertainty", "runner_up",
              "margin", "claims")  # fmt: skip
    if "margin" in truths.columns:
        closeness = pl.col("margin").round(SAME)
        truths = truths.sort(~pl.col("contested"), closeness, maintain_order=True)
    return truths.head(MOST_TRUTHS).select(name for name in wanted if name in truths.columns)


def _sure(sources: pl.DataFrame) -> pl.DataFrame:
    """The sources, each accuracy with its interval."""
    if "accuracy_low" not in sources.columns:
        return sources
    ends = sources.select("accuracy_low", "accuracy_high").iter_rows()
    interval = pl.Series([f"{low:.2f} to {high:.2f}" for low, high in ends], dtype=pl.String)
    name = f"accuracy, {LEVEL:.0%} interval"
    return sources.select("source", "tpr", "fpr", "accuracy", interval.alias(name), "claims")


def _table(shown: pl.DataFrame, title: str, of: pl.DataFrame) -> str:
    count = "" if len(shown) == len(of) else f" ({len(shown)} of {len(of):,})"
    head = _row("th", (name.replace("_", " ") for name in shown.columns))
    body = "".join(_row("td", map(_cell, row)) for row in shown.iter_rows())
    caption = f"<caption>{_text(title + count)}</caption>"
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(words: str) -> str:
    """Text as HTML shows it; nothing a source says is ever obeyed."""
    return escape(words, quote=True)
