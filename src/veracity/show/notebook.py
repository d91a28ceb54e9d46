"""What a notebook shows: results, reasons, checks and measures as HTML, and how far work is."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.explain import Why, without_keys
from veracity.inspect.agreement import Agreement
from veracity.inspect.checking import Health
from veracity.inspect.comparison import Comparison
from veracity.inspect.difference import Difference
from veracity.inspect.estimating import Estimate
from veracity.inspect.evaluation import Evaluation
from veracity.inspect.profiling import Profile
from veracity.inspect.tuning import Tuning
from veracity.printing import counted, in_short
from veracity.progress import Progress
from veracity.result.intervals import LEVEL
from veracity.result.tables import closest_first
from veracity.result.warnings import DataWarning

if TYPE_CHECKING:
    from veracity.result import Result

MOST_TRUTHS = 5
MOST_SOURCES = 8
MOST_ROWS = 40
"""Rows that are shown."""

PATIENCE = 1.0
"""Seconds of work before a bar is shown; what is done sooner needs none."""

PAUSE = 0.2
"""Seconds between two looks of the bar."""

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
    return _shown(*parts)


def why_html(why: Why) -> str:
    """The reasons in words, the values, and the claims that weigh most."""
    values, rows = (without_keys(table) for table in why.tables)
    words = "".join(f"<p>{_text(line)}</p>" for line in why.words.splitlines())
    scale = why.scale or "no weights"
    return _shown(
        words,
        _table(values.head(MOST_ROWS), "values", values),
        _table(rows.head(MOST_ROWS), f"claims, and what they weigh ({scale})", rows),
    )


def evaluation_html(evaluation: Evaluation) -> str:
    """The measures, on the whole and for each attribute, and what was left out."""
    rows: list[dict[str, Any]] = [{"attribute": "all", **evaluation.measures()}]
    if evaluation.by_attribute is not None:
        parts = pl.DataFrame(evaluation.by_attribute).to_dicts()  # Spark's frames tell no length
        rows += parts if len(parts) > 1 else []
    table = pl.DataFrame(rows, infer_schema_length=None)
    shown = table.head(MOST_ROWS)
    if len(rows) == 1:
        shown = shown.drop("attribute")
    return _shown(_table(shown, "against known truths", table), _notes(evaluation.notes))


def estimate_html(estimate: Estimate) -> str:
    """The estimate in a sentence."""
    return _shown(f"<p>{_text(str(estimate))}</p>")


def comparison_html(comparison: Comparison) -> str:
    """The algorithms, the best first where truths are known; else where they agree least."""
    rows = comparison.ranked
    parts = [_table(rows, "algorithms", rows)]
    if comparison.measure is None:
        pairs = comparison.pairs.sort("agreement", maintain_order=True)
        parts.append(_table(pairs.head(MOST_ROWS), "where they agree least", pairs))
    return _shown(*parts, _notes(comparison.notes))


def difference_html(difference: Difference) -> str:
    """What changed in a few words, the items with their reasons, and the sources that moved."""
    items, sources = (pl.DataFrame(table) for table in (difference.items, difference.sources))
    return _shown(
        _lines(difference),
        _table(items.head(MOST_ROWS), "items that changed", items),
        _table(sources.head(MOST_SOURCES), "sources, those that moved most first", sources),
    )


def profile_html(profile: Profile) -> str:
    """The characteristics in a few lines, by attribute and source, and pairs that say the same."""
    tables = {
        "by attribute": profile.by_attribute,
        "sources, those with most claims first": profile.by_source,
        "pairs of sources that may have copied": profile.pairs,
    }
    parts = []
    for title, given in tables.items():
        table = pl.DataFrame() if given is None else pl.DataFrame(given)
        if len(table):
            parts.append(_table(table.head(MOST_SOURCES), title, table))
    return _shown(_lines(profile), *parts)


def tuning_html(tuning: Tuning) -> str:
    """The settings, the best first."""
    caption = f"settings of {tuning.algorithm.name}, the best first by {tuning.measure}"
    shown = tuning.rows.head(MOST_ROWS)
    return _shown(_table(shown, caption.replace("_", " "), tuning.rows), _notes(tuning.notes))


def agreement_html(agreement: Agreement) -> str:
    """The measures, on the whole and for each attribute."""
    rows: list[dict[str, Any]] = [{"attribute": "all", **agreement.measures()}]
    if agreement.by_attribute is not None:
        rows += pl.DataFrame(agreement.by_attribute).to_dicts()
    table = pl.DataFrame(rows, infer_schema_length=None)
    shown = table.head(MOST_ROWS)
    shown = shown.drop("attribute") if len(rows) == 1 else shown
    return _shown(_lines(agreement), _table(shown, "agreement", table))


def _lines(told: object) -> str:
    """What sums itself up in a few lines, the first of them strong."""
    first, *others = repr(told).splitlines()
    return f"<p><strong>{_text(first)}</strong></p>" + _notes(others)


def health_html(health: Health) -> str:
    """The warnings, each with what it means, what would help, and its evidence."""
    n = len(health.warnings)
    parts = [f"<p><strong>{_text(health.given)}</strong></p>"]
    parts.append(f"<p>{counted(n, 'warning') if n else 'no warning'}</p>")
    for warning in health.warnings:
        name, seen = _text(f"{warning.severity}: {warning.name}"), _text(warning.seen)
        parts.append(
            f"<details><summary><strong>{name}</strong>: {seen}</summary>"
            f"<p>this means: {_text(warning.means)}</p><p>would help: {_text(warning.help)}</p>"
            f"{_evidence(warning)}</details>"
        )
    against = [] if health.against_vote is None else [str(health.against_vote)]
    against += health.notes
    questions = pl.DataFrame(health.questions)
    shown = questions.drop("inclusion", "drawn", "asked_of")
    return _shown(*parts, _notes(against), _table(shown, "to look up next", questions))


def _evidence(warning: DataWarning) -> str:
    if warning.evidence is None:
        return ""
    evidence = pl.DataFrame(warning.evidence)
    return "" if evidence.is_empty() else _table(evidence.head(MOST_TRUTHS), "evidence", evidence)


@contextlib.contextmanager
def bar() -> Iterator[Progress]:
    """A bar for work that takes its time; it is gone when the work is done."""
    display = importlib.import_module("IPython.display")
    started, shown = time.monotonic(), 0.0
    handle: Any = None

    def tell(phase: str, done: int, total: int) -> None:
        nonlocal shown, handle
        now = time.monotonic()
        if now - started < PATIENCE or now - shown < PAUSE:
            return
        shown = now
        look = display.HTML(_bar(phase, done, total))
        if handle is None:
            handle = display.display(look, display_id=True)
        else:
            handle.update(look)

    try:
        yield tell
    finally:
        if handle is not None:
            handle.update(display.HTML(""))


def _bar(phase: str, done: int, total: int) -> str:
    """How far it is; without an end in sight, that something is done."""
    far = f' value="{done}" max="{total}"' if total else ""
    return f"<p><progress{far}></progress> {_text(in_short(phase))}</p>"


def _closest(truths: pl.DataFrame) -> pl.DataFrame:
    wanted = ("entity", "attribute", "fact", "value", "plausibility", "uncertainty", "runner_up",
              "margin", "claims")  # fmt: skip
    shown = closest_first(truths, MOST_TRUTHS)
    return shown.select(name for name in wanted if name in truths.columns)


def _sure(sources: pl.DataFrame) -> pl.DataFrame:
    """The sources, each accuracy with its interval."""
    if "accuracy_low" not in sources.columns:
        return sources
    ends = sources.select("accuracy_low", "accuracy_high").iter_rows()
    interval = pl.Series([f"{low:.2f} to {high:.2f}" for low, high in ends], dtype=pl.String)
    name = f"accuracy, {LEVEL:.0%} interval"
    return sources.select("source", "tpr", "fpr", "accuracy", interval.alias(name), "claims")


def _shown(*parts: str) -> str:
    return f'<div class="veracity-result">{"".join(parts)}</div>'


def _notes(notes: Iterable[str]) -> str:
    return "".join(f"<p>{_text(note)}</p>" for note in notes)


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
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        value = " | ".join(map(str, value))
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(words: str) -> str:
    """Text as HTML shows it; nothing a source says is ever obeyed."""
    return escape(words, quote=True)
