"""Where items share a few labels: how often each is claimed and true, and who mistakes which."""

from __future__ import annotations

import polars as pl

from veracity.claims.schema import keys_of
from veracity.printing import counted
from veracity.result import Result
from veracity.result.layout import claims_of_block
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Cell, Look, details, name, paragraph, share, table

__all__ = ["confusions", "has_labels", "label_shares", "labels"]

MOST_LABELS = 20
LEAST_ITEMS_OF_LABEL = 5
"""More labels, or fewer items of each, are values of any kind."""

MOST_SOURCES = 12
"""For so many sources their own confusions are shown, those with most claims."""


def has_labels(result: Result) -> bool:
    """Whether items share a few labels, as they do where a crowd sorts things into classes."""
    if result.kind != "categorical":
        return False
    n_labels = result.tables.facts["value"].n_unique()
    n_items = result.run.input.items
    return 1 < n_labels <= MOST_LABELS and n_items >= LEAST_ITEMS_OF_LABEL * n_labels


def labels(found: Findings) -> str:
    """The shares of the labels, the confusions of all sources, and those of some."""
    result = found.result
    look = Look(
        caption="Labels",
        headings={"claimed": "share of the claims", "true": "share of the truths"},
        cells={part: _share_of(part) for part in ("claimed", "true")},
    )
    words = (
        "Each row below is a label that is true, each column one that is claimed: the share of the "
        "claims, weighted by how plausible it is that the row is the truth (a confusion matrix). "
        "What is off the diagonal is what sources take for something else."
    )
    parts = [table(label_shares(result), look), paragraph(words)]
    parts.append(_matrix(confusions(result), "What all sources say of what is true"))
    return "".join([*parts, _of_sources(result)])


def label_shares(result: Result) -> pl.DataFrame:
    """One row per label: its share of the claims, and of the values settled on."""
    facts = result.tables.facts.group_by(label="value").agg(claims=pl.col("supporters").sum())
    truths = result.tables.truths.drop_nulls("value").group_by(label="value").agg(items=pl.len())
    shares = facts.join(truths, on="label", how="left").with_columns(pl.col("items").fill_null(0))
    return shares.sort("label").select(
        "label",
        "claims",
        claimed=pl.col("claims") / pl.col("claims").sum(),
        true=pl.col("items") / pl.col("items").sum(),
    )


def confusions(result: Result) -> pl.DataFrame:
    """One row per label that is true and label that is claimed: the share of the claims."""
    facts = result.tables.facts
    said = facts.select(*keys_of(facts), claimed="value", count="supporters")
    return _counted_against(result, said)


def _counted_against(result: Result, said: pl.DataFrame) -> pl.DataFrame:
    """What was said of items, against the plausibilities of what is true of them."""
    facts = result.tables.facts
    keys = keys_of(facts)
    true = facts.select(*keys, "plausibility", true="value")
    weighed = (
        true.join(said, on=keys, nulls_equal=True)
        .group_by("true", "claimed")
        .agg(claims=(pl.col("plausibility") * pl.col("count")).sum())
    )
    share = pl.col("claims") / pl.col("claims").sum().over("true")
    return weighed.select("true", "claimed", share=share).sort("true", "claimed")


def _of_sources(result: Result) -> str:
    """The confusions of the sources that say most, each behind its name."""
    if result.encoded is None:
        return ""
    ranked = result.tables.sources.with_row_index("number").sort(
        "claims", descending=True, maintain_order=True
    )
    most = ranked.head(MOST_SOURCES)
    first, parts = 0, []
    for block in result.encoded.blocks:
        claims = claims_of_block(block, first, "categorical")
        parts.append(claims.filter(pl.col("source").is_in(most["number"].to_list())))
        first += block.n_facts
    facts = result.tables.facts.with_row_index("fact").cast({"fact": pl.UInt32})
    said = pl.concat(parts).join(facts, on="fact").with_columns(count=pl.lit(1))
    shown = []
    for number, source, n_claims in most.select("number", "source", "claims").iter_rows():
        own = said.filter(source=number)
        own = own.select(*keys_of(facts), "count", claimed="value")
        matrix = _matrix(_counted_against(result, own), f"What {source} says of what is true")
        shown.append(details(f"<b>{name(source)}</b>: {counted(n_claims, 'claim')}", matrix))
    return f"<h3>Those who say most</h3>{''.join(shown)}"


def _matrix(shares: pl.DataFrame, caption: str) -> str:
    """A row for each label that is true, a column for each that is claimed."""
    found = {(true, claimed): value for true, claimed, value in shares.iter_rows()}
    said = shares["claimed"].unique().sort().to_list()
    rows = [
        {"label": true, **{f"{i}": found.get((true, one), 0.0) for i, one in enumerate(said)}}
        for true in shares["true"].unique().sort()
    ]
    headings = {"label": "true", **{f"{i}": str(one) for i, one in enumerate(said)}}
    cells = {f"{i}": _shaded(f"{i}") for i in range(len(said))}
    return table(pl.DataFrame(rows), Look(caption=caption, headings=headings, cells=cells))


def _shaded(column: str) -> Cell:
    """A share on a ground that is the darker the larger it is."""
    return lambda row: f'<span class="shade" style="--s:{row[column]:.2f}">{row[column]:.2f}</span>'


def _share_of(column: str) -> Cell:
    return lambda row: share(row[column])
