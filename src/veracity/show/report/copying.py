"""Sources that seem to copy."""

from __future__ import annotations

import polars as pl

from veracity.doubts.overlap import FEW_SHARED
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Look, details, paragraph, table

MOST_PAIRS = 100
"""So many pairs are listed."""

SUSPICIOUS = 0.5
"""Pairs are suspected that make this share of their mistakes together."""


def copies(found: Findings) -> str:
    """What the algorithm found, who shares mistakes, and who shares what few others say."""
    words = (
        "Sources that make the same mistakes may copy from each other, or from a third. It is a "
        "suspicion, not a proof. Copies that win the vote do not look mistaken: see also the "
        "warnings above."
    )
    parts = [_by_algorithm(found), _by_mistakes(found), _by_claims(found)]
    return "".join([paragraph(words), *parts, found.drawn.show("agreement")])


def shared_mistakes(found: Findings) -> pl.DataFrame:
    """One row per pair of sources that make most mistakes together, as the answer has it."""
    columns = ["source", "other", "shared_mistakes", "mistakes", "share", "shared_items"]
    if found.agreement is None or found.result.kind == "numeric":
        return pl.DataFrame(schema=columns)
    pairs = found.agreement.filter(pl.col("source") < pl.col("other"))
    share = pl.col("same_mistakes") / pl.col("mistakes")
    suspected = pairs.filter(pl.col("same_mistakes") >= FEW_SHARED, share >= SUSPICIOUS)
    suspected = suspected.with_columns(share=share).rename(
        {"same_mistakes": "shared_mistakes", "shared": "shared_items"}
    )
    order = ["share", "shared_mistakes", "source", "other"]
    return suspected.select(columns).sort(order, descending=[True, True, False, False])


def _by_algorithm(found: Findings) -> str:
    """What an algorithm that looks for copies says."""
    pairs = found.result.tables.copies
    if pairs is None:
        return ""
    if pairs.is_empty():
        return paragraph(f"{found.result.run.algorithm} found no copier.")
    ranked = pairs.sort("probability", descending=True, maintain_order=True)
    counts = pl.col("shared_true", "shared_false", "different").round().cast(pl.Int64)
    look = Look(
        caption=f"Copiers, as {found.result.run.algorithm} sees them",
        of=len(pairs),
        sortable=True,
        headings={"source": "copier", "direction": "this way round"},
    )
    words = paragraph(
        "Which of the two copies shows where what one of them adds is right more often, or less, "
        "than what both say. Else it is this way round with a probability of one half."
    )
    return words + table(ranked.head(MOST_PAIRS).with_columns(counts), look)


def _by_mistakes(found: Findings) -> str:
    if found.result.kind == "numeric":
        return ""
    pairs = shared_mistakes(found)
    if pairs.is_empty():
        return paragraph(f"No two{_seen(found)} sources make half of their mistakes together.")
    look = Look(
        caption=f"Pairs{_seen(found) or ' of'} sources that make half of their mistakes together",
        of=len(pairs),
        sortable=True,
        searchable=len(pairs) > 10,
        headings={"mistakes": "items where either is mistaken", "share": "share of these"},
    )
    return table(pairs.head(MOST_PAIRS), look)


def _seen(found: Findings) -> str:
    """Which sources were looked at, if not all."""
    n_seen = 0 if found.agreement is None else found.agreement["source"].n_unique()
    return f" of the {n_seen} most active" if 0 < n_seen < len(found.result.tables.sources) else ""


def _by_claims(found: Findings) -> str:
    """Who shares what few others say, right or wrong."""
    pairs = found.profile.pairs.filter(pl.col("suspicion") >= SUSPICIOUS)
    if pairs.is_empty():
        return ""
    look = Look(
        caption="Pairs that share more of what few others say than they differ on",
        of=len(pairs),
        sortable=True,
    )
    words = paragraph("Good sources share what few others say, too: it is rare, and true.")
    shown = table(pairs.head(MOST_PAIRS).with_columns(pl.col("unusual").round().cast(int)), look)
    return details("Pairs that share what few others say, right or wrong", words + shown)
