"""Sources that may have copied."""

from __future__ import annotations

import polars as pl

from veracity.show.report.gather import Findings
from veracity.show.report.markup import Look, paragraph, table

MOST_PAIRS = 100
"""So many pairs are listed."""


def copies(found: Findings) -> str:
    """List the pairs that may have copied, with the evidence, and draw who says the same."""
    pairs, by_algorithm = found.profile.pairs, found.result.tables.copies
    parts = [_listed(pairs, "Pairs of sources that may have copied")]
    if by_algorithm is not None and "probability" in by_algorithm.columns:
        name = found.result.run.algorithm
        parts.append(_listed(by_algorithm, f"Pairs that {name} discounts as copies"))
    if not any(parts):
        parts = [paragraph("No pair of sources shares more mistakes than chance explains.")]
    return "".join([*parts, found.drawn.show("agreement")])


def _listed(pairs: pl.DataFrame, caption: str) -> str:
    """Return the table of pairs; nothing if there are none."""
    if pairs.is_empty():
        return ""
    words = (
        "Both share more mistakes than independent sources would: one may have copied from the "
        "other, or both from a third. It is a suspicion, not a proof. Who copied from whom shows "
        "where what one adds is right more often, or less, than what both say; otherwise it is "
        "this way round with a probability of one half."
    )
    look = Look(
        caption=caption, of=len(pairs), sortable=True, searchable=len(pairs) > 10,
        headings={
            "source": "copier", "direction": "this way round", "shared": "shared items",
            "expected_agreeing": "agreeing, expected", "mistakes": "shared mistakes",
            "expected_mistakes": "shared mistakes, expected",
        },
    )  # fmt: skip
    expected = pl.col("expected_agreeing", "expected_mistakes").round(1)
    return paragraph(words) + table(pairs.head(MOST_PAIRS).with_columns(expected), look)
