"""Find sources that have changed since the claims before."""

from __future__ import annotations

import polars as pl

from veracity.checks.evidence import Evidence
from veracity.checks.registry import Seen, register
from veracity.printing import counted, in_short
from veracity.result.history import accuracy_before

MOST_NAMED = 5
"""Largest number of sources that are named."""


@register(
    "changed-source",
    meaning="In the latest batch of claims these sources are right more or less often than before, "
    "by the claims of the others. If claims are right or wrong independently, a source that has "
    "not changed is found in one of a hundred thousand of its claims at most.",
    remedy="See result.plot.history(), and ask who delivers the source. Update with a half_life to "
    "forget how it was before, or leave the source out.",
)
def changed(evidence: Evidence) -> Seen | None:
    """Return the sources that have changed in the latest batch."""
    history = evidence.result.tables.history
    if history is None:
        return None
    now = history.filter(pl.col("change").is_not_null(), pl.col("batch") == pl.col("batch").max())
    if now.is_empty():
        return None
    now = now.sort("claims", descending=True, maintain_order=True)
    named = [
        f"{in_short(one['source'])} {one['change']} from "
        f"{accuracy_before(history, one['source']):.0%} to {one['accuracy']:.0%}"
        for one in now.head(MOST_NAMED).iter_rows(named=True)
    ]
    more = f" and {len(now) - MOST_NAMED:,} more" if len(now) > MOST_NAMED else ""
    text = f"{counted(len(now), 'source has', 'sources have')} changed: {', '.join(named)}{more}"
    return Seen(text, serious=bool((now["change"] == "fell").any()), examples=now)
