"""Make the sections of a result, of explanations, and of questions."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from veracity.encoding.block import SAME
from veracity.explain import Why, without_keys
from veracity.naming import as_text
from veracity.printing import counted
from veracity.reading.roles import keys_of
from veracity.result import Result
from veracity.result.records import own_names
from veracity.result.tables import attributes_table
from veracity.show.sections import Section, Table, Tone, sections_of

MOST_SOURCES = 12
MOST_ATTRIBUTES = 6
MOST_CLAIMS = 1_000_000
"""Largest number of claims for which accuracies by attribute are always shown."""

NOBODY = "(one that nobody claims)"

HEADINGS = {
    "supporters": "sources for it",
    "opposers": "sources against it",
    "prior": "score before any claim",
}
"""Headings of the columns in the table of an item's values."""


@sections_of.register
def sections_of_result(result: Result) -> list[Section]:
    """Show a summary: the closest calls, and the sources with most claims."""
    run, short, sources = result.run, result.in_short, result.tables.sources
    given = run.input
    title = (
        f"{run.algorithm} on {counted(given.claims, 'claim')} of "
        f"{counted(given.sources, 'source')} about {counted(given.items, 'item')} "
        f"({counted(given.facts, 'fact')})"
    )
    how = (
        f"{'converged' if run.converged else 'NOT converged'} after {counted(run.rounds, 'round')}"
    )
    how = "judged by what was learned before" if run.judged else how
    contested = counted(short.n_contested, "item is", "items are")
    called = called_by_user(result, [*short.closest.columns, *sources.columns])
    closest = "truths, the closest calls first" if "margin" in short.closest.columns else "truths"
    most = sources.sort("claims", descending=True, maintain_order=True).head(MOST_SOURCES)
    tables = [
        Table(title=closest, rows=short.closest, n_rows=short.n_truths, headings=called),
        Table(
            title="sources, those with most claims first",
            rows=most.select(pl.exclude("^(tpr|fpr)_(low|high)$")),
            n_rows=len(sources),
            headings=called,
        ),
    ]
    if run.input.claims <= MOST_CLAIMS and not result.encoded.is_remote:
        tables += accuracy_by_attribute(result, most["source"], called)
    features, changes = result.tables.features, result.tables.changes
    if features is not None:
        by_weight = pl.col("weight").abs().round(SAME)
        weightiest = features.sort(by_weight, descending=True, maintain_order=True)
        title_of_features = "what features are worth, in log-odds"
        tables.append(
            Table(title=title_of_features, rows=weightiest.head(12), n_rows=len(features))
        )
    if changes is not None and len(changes):
        frequent = changes.sort("claims", descending=True, maintain_order=True)
        each = frequent.group_by("attribute", "change", maintain_order=True).head(2)
        each = each.sort("attribute", "change", maintain_order=True).head(24)
        title_of_changes = "values that normalising changed, for example"
        tables.append(Table(title=title_of_changes, rows=each, n_rows=len(changes)))
    notes = [f"note: {note}" for note in result.notes]
    found = result.run.findings
    return [
        Section(title=title, sentences=[f"{how}; {contested} contested", *notes]),
        Section(more=[section_of_row(finding) for finding in found]),
        Section(tables=tables),
    ]


def section_of_row(finding: Mapping[str, str]) -> Section:
    """Return a row of the table of findings: what was seen, what it means, what helps."""
    tone: Tone = "serious" if finding["severity"] == "serious" else "caution"
    return Section(
        title=f"{tone}: {finding['name']}: {finding['seen']}",
        tone=tone,
        sentences=[f"What it means: {finding['meaning']}", f"What helps: {finding['remedy']}"],
    )


def called_by_user(result: Result, names: list[str]) -> dict[str, str]:
    """Return the user's names for the columns of a result that differ from ours."""
    own = own_names(list(dict.fromkeys(names)), result.run.input.columns, result.kind)
    return {name: called for name, called in own.items() if called != name}


def accuracy_by_attribute(
    result: Result, sources: pl.Series, headings: dict[str, str]
) -> list[Table]:
    """Return a table with the accuracy of sources on each attribute, if there are several."""
    table = attributes_table(result)
    if table is None or table["attribute"].n_unique() < 2:
        return []
    table = table.with_columns(attribute=as_text(table["attribute"]))
    claims = table.group_by("attribute").agg(pl.col("claims").sum())
    claims = claims.sort("claims", "attribute", descending=[True, False])
    names = claims["attribute"].head(MOST_ATTRIBUTES).to_list()
    called, rows = {"source": headings.get("source", "source")}, sources.to_frame("source")
    for number, attribute in enumerate(names):
        part = table.filter(pl.col("attribute").eq_missing(pl.lit(attribute)))
        part = part.select("source", pl.col("accuracy").alias(f"of {number}"))
        rows = rows.join(part, on="source", how="left", maintain_order="left")
        called[f"of {number}"] = attribute or ""
    title = "accuracy by attribute"
    if len(names) < len(claims):
        title += f", the {len(names)} of {len(claims):,} attributes with most claims"
    return [Table(title=title, rows=rows, n_rows=len(result.tables.sources), headings=called)]


@sections_of.register
def sections_of_why(why: Why) -> list[Section]:
    """Give the reasons in words, the values, and the claims that weigh most."""
    values, rows = (without_keys(table) for table in why.tables)
    if "value" in values.columns and why.scale != "numbers":  # what nobody claims has no name
        values = values.with_columns(value=as_text(values["value"]).fill_null(NOBODY))
    title = f"claims, and what they weigh ({why.scale or 'no weights'})"
    tables = [
        Table(title="values", rows=values.head(20), n_rows=len(values), headings=HEADINGS),
        Table(title=title, rows=rows.head(40), n_rows=len(rows), bars="weight"),
    ]
    return [Section(sentences=why.words.splitlines(), tables=tables)]


def table_of_questions(questions: pl.DataFrame, result: Result) -> Table:
    """Return the items to look up next as a table; numbers have no plausibility."""
    columns = [*keys_of(questions), "values", "plausibility", "claims", "why"]
    if result.kind == "numeric":
        columns.remove("plausibility")
        numbers = pl.col("values").list.eval(pl.element().cast(pl.Float64, strict=False))
        questions = questions.with_columns(values=numbers)
    headings = called_by_user(result, keys_of(questions)) | {"values": "values to choose from"}
    return Table(title="items to look up next", rows=questions.select(columns), headings=headings)
