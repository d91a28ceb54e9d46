"""Where items share a few labels: how often each is claimed and true, and who mistakes which."""

from __future__ import annotations

import polars as pl

from veracity.printing import counted
from veracity.result import Result
from veracity.result.crowds import confusions_of
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Cell, Look, details, name, paragraph, share, table

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
    shares = table(_label_shares(result), look)
    confusions = confusions_of(result)
    return "".join([shares, paragraph(words), _of_all(confusions), _of_sources(result, confusions)])


def _label_shares(result: Result) -> pl.DataFrame:
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


def _of_all(confusions: pl.DataFrame) -> str:
    """What all sources say together: their claims, as far as labels are plausible."""
    claims = confusions.group_by("true", "said").agg(pl.col("claims").sum())
    share = pl.col("claims") / pl.col("claims").sum().over("true")
    shares = claims.with_columns(probability=share)
    return _matrix(shares, "What all sources say of what is true")


def _of_sources(result: Result, confusions: pl.DataFrame) -> str:
    """The confusions of the sources that say most, each behind its name."""
    most = result.tables.sources.sort("claims", descending=True, maintain_order=True)
    shown = []
    for source, n_claims in most.head(MOST_SOURCES).select("source", "claims").iter_rows():
        own = confusions.filter(pl.col("source") == source)
        matrix = _matrix(own, f"What {source} says of what is true")
        shown.append(details(f"<b>{name(source)}</b>: {counted(n_claims, 'claim')}", matrix))
    return f"<h3>Those who say most</h3>{''.join(shown)}"


def _matrix(shares: pl.DataFrame, caption: str) -> str:
    """A row for each label that is true, a column for each that is claimed."""
    cells_of = shares.select("true", "said", "probability").iter_rows()
    found = {(true, said): value or 0.0 for true, said, value in cells_of}
    said = shares["said"].unique().sort().to_list()
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
