"""Sources that may have copied."""

from __future__ import annotations

import polars as pl

from veracity.show.report.gather import Findings
from veracity.show.report.markup import Look, paragraph, table

MOST_PAIRS = 100
"""Pairs that are listed at most."""


def copies(found: Findings) -> str:
    """Return the pairs that may have copied, with the evidence, and how often sources agree."""
    words = (
        "Sources that make the same mistakes may have copied from each other, or from a third. It "
        "is a suspicion, not a proof. Copies that win the vote do not look mistaken: see also the "
        "warnings above."
    )
    return "".join([paragraph(words), _pairs(found), found.drawn.show("agreement")])


def _pairs(found: Findings) -> str:
    pairs, by = found.result.tables.copies, f", as {found.result.run.algorithm} sees them"
    if pairs is None:
        pairs, by = pl.DataFrame(found.profile.pairs), ""
    if pairs.is_empty():
        return paragraph("No two sources share more mistakes than chance explains.")
    counts = pl.col("shared", "agreeing", "mistakes").round().cast(pl.Int64)
    look = Look(
        caption=f"Pairs that may have copied{by}",
        of=len(pairs),
        sortable=True,
        searchable=len(pairs) > 10,
        headings={
            "source": "copier", "direction": "this way round", "shared": "items of both",
            "expected_agreeing": "agreeing, if independent", "mistakes": "shared mistakes",
            "expected_mistakes": "shared mistakes, if independent",
        },
    )  # fmt: skip
    words = paragraph(
        "Which of the two copied shows where what one of them adds is right more often, or less, "
        "than what both claim. Else it is this way round with a probability of one half."
    )
    return words + table(pairs.head(MOST_PAIRS).with_columns(counts), look)
