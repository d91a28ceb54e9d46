"""Compare an answer with a majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.rules import is_best_of_item, item_sums
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray
from veracity.encoding.partitions import Encoded
from veracity.printing import share_of
from veracity.reading.roles import Kind


@dataclass(frozen=True, kw_only=True)
class AgainstVote:
    """Difference between an answer and a vote.

    An item is `changed` if the answer takes a value that has fewer votes than another. Tables are
    `by_attribute` (None without attributes) and `examples`, those against most votes first.
    """

    contested: int
    changed: int
    by_attribute: Any
    examples: Any

    @property
    def share(self) -> float:
        """Return the share of contested items that are changed."""
        return self.changed / max(self.contested, 1)

    def contents(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {**vars(self), "share": self.share}

    def __str__(self) -> str:
        """Return the difference as one sentence."""
        changed = share_of(self.changed, self.contested, "contested items")
        most = ""
        if self.changed and self.by_attribute is not None and len(self.by_attribute) > 1:
            where = pl.DataFrame(self.by_attribute).row(0, named=True)
            most = f", most of all in {where['attribute']} ({where['share']:.0%})"
        return f"the answer differs from the vote on {changed}{most}"


def compare_with_vote(encoded: Encoded, facts: pl.DataFrame) -> AgainstVote:
    """Compare an answer with the vote; `facts` is its table."""
    found = []
    plausibility = encoded.by_block(facts["plausibility"].to_numpy())
    for block, own in zip(encoded.blocks, plausibility, strict=True):
        share = vote(block)
        by_vote, by_answer = (taken(block, x, encoded.kind) for x in (share, own))
        is_example = by_vote * by_answer < 0.0
        if encoded.kind == "categorical":  # what is taken says it all
            is_example &= by_answer > 0.0
        is_open = (share > 0.0) & (share < 1.0)
        is_contested = np.logical_or.reduceat(is_open, block.first_fact_of_item[:-1])
        found.append((is_example, is_contested, differs(block, by_vote, by_answer) & is_contested))
    is_example, is_contested, is_changed = map(np.concatenate, zip(*found, strict=True))
    items, table = encoded.items.with_columns(changed=is_changed).filter(is_contested), None
    if "attribute" in items.columns:
        changed = pl.col("changed")
        table = items.group_by("attribute").agg(
            contested=pl.len(), changed=changed.sum(), share=changed.mean()
        )
        table = table.sort("share", "attribute", descending=[True, False])
    against = (pl.col("opposers") - pl.col("supporters")).abs()
    examples = facts.filter(is_example).sort(against, descending=True, maintain_order=True)
    return AgainstVote(
        contested=len(items),
        changed=int(is_changed.sum()),
        by_attribute=table,
        examples=examples.head(10),
    )


def vote(block: Block) -> FloatArray:
    """Return the weighted share of an item's sources that support each fact."""
    return block.votes_of_fact / np.repeat(block.votes_of_item, block.n_facts_of_item)


def taken(block: Block, share: FloatArray, kind: Kind) -> FloatArray:
    """Return 1 for facts that are taken for true, -1 for those that are not, 0 for tied ones."""
    if kind != "categorical":
        return np.sign(np.round(share, SAME) - 0.5)
    is_first = is_best_of_item(share, block)
    n_first = np.repeat(item_sums(is_first.astype(np.float64), block), block.n_facts_of_item)
    return np.where(is_first, (n_first == 1).astype(np.float64), -1.0)


def differs(block: Block, one: FloatArray, other: FloatArray) -> BoolArray:
    """Return the items of which the two take different facts; a tie agrees with all its facts."""
    return np.logical_or.reduceat(one * other < 0.0, block.first_fact_of_item[:-1])
