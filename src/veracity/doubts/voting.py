"""How far an answer differs from a vote, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from veracity.doubts.conflicts import by_vote
from veracity.encoding.partitions import Encoded
from veracity.result.warnings import count, dicts


@dataclass(frozen=True, kw_only=True)
class AgainstVote:
    """How far an answer differs from a vote, and where.

    An item is `changed` where the answer takes a value that has fewer votes than another. Tables
    are `by_attribute`, None if there are no attributes, and `examples`: what the answer takes
    against most votes comes first.
    """

    contested: int
    changed: int
    by_attribute: Any
    examples: Any

    @property
    def share(self) -> float:
        """The share of contested items that are changed."""
        return self.changed / max(self.contested, 1)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: dicts(getattr(self, name)) for name in ("by_attribute", "examples")}
        return {**vars(self), "share": self.share, **tables}

    def __str__(self) -> str:
        """One sentence."""
        changed = count(self.changed, self.contested, "contested items")
        where = dicts(self.by_attribute)
        most = ""
        if self.changed and len(where) > 1:
            most = f", most of all in {where[0]['attribute']} ({where[0]['share']:.0%})"
        return f"the answer differs from the vote on {changed}{most}"


def against_vote(encoded: Encoded, facts: pl.DataFrame) -> AgainstVote:
    """How far an answer differs from a vote; `facts` is its table."""
    found = by_vote(encoded, facts["plausibility"].to_numpy())
    items = encoded.items.with_columns(changed=found.is_changed).filter(found.is_contested)
    table = None
    if "attribute" in items.columns:
        changed = pl.col("changed")
        table = items.group_by("attribute").agg(
            contested=pl.len(), changed=changed.sum(), share=changed.mean()
        )
        table = table.sort("share", "attribute", descending=[True, False])
    is_example = found.by_vote * found.by_answer < 0.0
    if encoded.kind == "categorical":  # what is taken says it all
        is_example &= found.by_answer > 0.0
    against = (pl.col("opposers") - pl.col("supporters")).abs()
    examples = facts.filter(is_example).sort(against, descending=True, maintain_order=True)
    return AgainstVote(
        contested=len(items),
        changed=int(found.is_changed.sum()),
        by_attribute=table,
        examples=examples.head(10),
    )
