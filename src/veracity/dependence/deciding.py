"""Count the items that are left undecided once copies count once.

Where many sources copy one and none of the others confirms them, counting the copies once leaves
several values with one independent voice each. The answer then depends on the accuracy of the
sources on other items, against a value that several chose to repeat: on real claims that is the
worse bet.
"""

from __future__ import annotations

import numpy as np

from veracity.encoding.block import Block, FloatArray

AHEAD = 0.25
"""Smallest lead over all other values with which a value wins, in independent voices."""

ENOUGH_CLAIMS = 100_000
"""Number of claims in the sample of items."""


def disputed_items(block: Block, n_claims: float) -> Block:
    """Return the items with several values, or a fixed sample of them if they are many."""
    is_drawn = block.sampled(ENOUGH_CLAIMS / max(n_claims, 1.0), least=0)
    return block.select((block.n_facts_of_item > 1) & is_drawn)


def decided_by_copies(block: Block, weight_of_support: FloatArray) -> tuple[float, float]:
    """Count the items that copies decide, and those without a winner once copies count once.

    Copies decide an item if the value with most votes has votes of copies. All items must have
    several values.
    """
    all_votes, votes = (
        np.add.reduceat(weight, block.first_support_of_fact[:-1])
        for weight in (np.ones(len(weight_of_support)), weight_of_support)
    )
    first, item = block.first_fact_of_item[:-1], block.item_of_fact
    most = np.maximum.reduceat(all_votes, first)
    wins = all_votes == most[item]
    is_plain = np.add.reduceat(wins.astype(np.int64), first) == 1
    of_winner = np.maximum.reduceat(np.where(wins, votes, -np.inf), first)
    of_others = np.maximum.reduceat(np.where(wins, -np.inf, votes), first)
    by_copies = is_plain & (of_winner < most - 0.5)
    nobody_wins = by_copies & (np.abs(of_winner - of_others) <= AHEAD)
    return float(by_copies.sum()), float(nobody_wins.sum())
