"""Make the sections of what `diff`, `evaluate`, `tune`, `compare`, `profile`, `check` return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from veracity.checks import Finding
from veracity.inspect.checking import Health
from veracity.inspect.comparison import Comparison
from veracity.inspect.difference import Difference
from veracity.inspect.estimating import Estimate
from veracity.inspect.evaluation import Evaluation
from veracity.inspect.profiling import Profile
from veracity.inspect.tuning import Tuning
from veracity.naming import name_text
from veracity.printing import counted, some
from veracity.reading.roles import keys_of
from veracity.show.of_result import section_of_row
from veracity.show.sections import Section, Table, sections_of

MOST_ITEMS = 20
MOST_SOURCES = 12
MOST_EXAMPLES = 8
"""Largest number of rows shown as examples."""

NOT_ALL_IS_WELL = (
    "This does not show that the answer is right: only known truths show mistakes that all sources "
    "share."
)
"""Sentence for a check without warnings."""


def first_rows(title: str, frame: Any, most: int, **given: Any) -> list[Table]:
    """Return a table of the first rows of a frame of any kind; no table if it has no rows."""
    rows = pl.DataFrame() if frame is None else pl.DataFrame(frame)
    shown = Table(title=title, rows=rows.head(most), n_rows=len(rows), **given)
    return [shown] if len(rows) else []


def notes_of(notes: Iterable[str]) -> list[str]:
    """Return notes as sentences to show."""
    return [f"note: {note}" for note in notes]


@sections_of.register
def sections_of_difference(difference: Difference) -> list[Section]:
    """Say how many items changed; list them with the reasons, and the sources that moved."""
    items, sources = (pl.DataFrame(table) for table in (difference.items, difference.sources))
    n_of = dict(items["change"].value_counts().iter_rows())
    title = (
        f"{counted(n_of.get('changed', 0), 'item')} changed, {n_of.get('new', 0):,} new, "
        f"{n_of.get('gone', 0):,} gone; {counted(difference.same, 'item')} as before"
    )
    moved = counted(int(sources["beyond"].sum()), "source")
    changed = items.filter(pl.col("change") == "changed").drop("change")
    others = items.filter(pl.col("change") != "changed").drop("reason")
    called = {"headings": difference.headings}
    return [
        Section(
            title=title,
            sentences=[
                f"{moved} moved beyond the interval of before",
                *notes_of(difference.notes),
            ],
            tables=[
                *first_rows("items that changed", changed, MOST_ITEMS, **called),
                *first_rows("new and gone items", others, MOST_EXAMPLES, **called),
                *first_rows(
                    "sources, those that moved most first", sources, MOST_SOURCES, **called
                ),
            ],
        )
    ]


@sections_of.register
def sections_of_evaluation(evaluation: Evaluation) -> list[Section]:
    """List the measures for all items and for each attribute."""
    return [
        Section(
            sentences=notes_of(evaluation.notes),
            tables=[with_parts("against known truths", evaluation)],
        )
    ]


def with_parts(title: str, measured: Evaluation) -> Table:
    """Return measures as a table: all items in the first row, and a row for each attribute."""
    rows: list[dict[str, Any]] = [{"attribute": "all", **measured.measures()}]
    if measured.by_attribute is not None:
        parts = pl.DataFrame(measured.by_attribute).to_dicts()
        named = [{**part, "attribute": name_text(part["attribute"])} for part in parts]
        rows += named if len(named) > 1 else []
    table = pl.DataFrame(rows, infer_schema_length=None)
    table = table if len(rows) > 1 else table.drop("attribute")
    return Table(title=title, rows=table.head(MOST_ITEMS), n_rows=len(table))


@sections_of.register
def sections_of_tuning(tuning: Tuning) -> list[Section]:
    """List the settings, the best first."""
    title = f"settings of {tuning.algorithm.name}, the best first by {tuning.measure}"
    tables = first_rows(title, tuning.rows, 2 * MOST_ITEMS)
    return [Section(sentences=notes_of(tuning.notes), tables=tables)]


@sections_of.register
def sections_of_comparison(comparison: Comparison) -> list[Section]:
    """List the algorithms, the best first; without known truths, say which ones agree least."""
    rows = comparison.ranked
    sentences = list[str]()
    if "failed" in rows.columns:
        failed = rows.select("algorithm", "failed").drop_nulls().iter_rows()
        sentences = [f"{name} failed: {reason}" for name, reason in failed]
        rows = rows.drop("failed")
    tables = first_rows("algorithms", rows, len(rows))
    if comparison.measure is None:
        pairs = comparison.pairs.sort("agreement", maintain_order=True)
        if len(pairs) and pairs["agreement"][0] == 1.0:
            sentences.append("all of them settle on the same values")
        else:
            tables += first_rows("where they agree least", pairs, MOST_SOURCES)
    return [Section(sentences=[*sentences, *notes_of(comparison.notes)], tables=tables)]


@sections_of.register
def sections_of_profile(profile: Profile) -> list[Section]:
    """Describe the claims; list attributes, sources, and pairs that may have copied."""
    alpha = (
        "" if profile.alpha is None else f", alpha {profile.alpha:.3f}, kappa {profile.kappa:.3f}"
    )
    title = (
        f"{counted(profile.claims, 'claim')} of {counted(profile.sources, 'source')} about "
        f"{counted(profile.items, 'item')} ({counted(profile.facts, 'fact')})"
    )
    sentences = [
        f"values per item: {profile.values_per_item}",
        f"claims per item: {profile.claims_per_item}",
        f"claims per source: {profile.claims_per_source}",
        f"{profile.contested:.1%} of the items are contested, {profile.single:.1%} have a single "
        f"claim; entropy {profile.entropy:.3f}{alpha}",
    ]
    if profile.coverage is not None:
        right = "" if profile.accuracy is None else f"; average accuracy {profile.accuracy:.2%}"
        known = f"{counted(profile.known or 0, 'item')} ({profile.coverage:.2%})"
        sentences.append(f"the truth of {known} is known{right}")
        if profile.ceiling is not None:
            sentences.append(f"somebody claims the truth of {profile.ceiling:.1%} of these")
    return [
        Section(
            title=title,
            sentences=[*sentences, *notes_of(profile.notes)],
            tables=[
                *first_rows("attributes", profile.by_attribute, MOST_ITEMS),
                *first_rows(
                    "sources, those with most claims first", profile.by_source, MOST_SOURCES
                ),
                *first_rows("pairs of sources that may have copied", profile.pairs, MOST_SOURCES),
            ],
        )
    ]


@sections_of.register
def sections_of_estimate(estimate: Estimate) -> list[Section]:
    """Show the estimated accuracy on the items that were not looked up."""
    return [Section(sentences=[str(estimate)])]


@sections_of.register
def sections_of_health(health: Health) -> list[Section]:
    """List the findings, how far the answer differs from a vote, and what to look up next."""
    n = len(health.findings)
    given = (
        f"{counted(health.claims, 'claim')} of {counted(health.sources, 'source')} about "
        f"{counted(health.items, 'item')}"
    )
    sentences = [] if health.against_vote is None else [str(health.against_vote)]
    if health.alpha is not None:
        sentences.append(
            f"sources agree beyond chance: alpha {health.alpha:.3f} (1 is always, 0 as by chance)"
        )
    asked = pl.DataFrame(health.questions)
    if len(asked):
        names = [" ".join(map(str, row)) for row in asked.select(keys_of(asked)).rows()]
        sentences.append(f"to look up next: {some(names)}")
    title = f"{given}: {counted(n, 'warning') if n else 'no warning'}"
    return [
        Section(title=title, sentences=[] if n else [NOT_ALL_IS_WELL]),
        Section(more=[section_of_finding(one) for one in health.findings]),
        Section(sentences=[*sentences, *notes_of(health.notes)]),
    ]


def section_of_finding(finding: Finding) -> Section:
    """Return a finding: what was seen, what it means, what helps, and examples."""
    examples = first_rows("examples", finding.examples, MOST_EXAMPLES)
    return replace(section_of_row(finding.row()), tables=examples)
