"""Whether anything is left to decide by, once copies count once.

Where many copy one source and others confirm none of them, counting the copies once leaves as many
answers as there are voices, each alone. Whom to believe is then decided by what a source is worth
elsewhere, against what several have chosen to repeat: with real claims that is the worse bet.
"""

from __future__ import annotations

import numpy as np

from veracity.encoding.block import Block, FloatArray

AHEAD = 0.25
"""Of one independent voice: by so much a value must be ahead of all others, if it is to win."""

ENOUGH_CLAIMS = 100_000
"""Items with about so many claims are looked at."""


def disputed_items(block: Block, n_claims: float) -> Block:
    """The items on which there is a choice; some of them if they are many: always the same."""
    is_drawn = block.sampled(ENOUGH_CLAIMS / max(n_claims, 1.0), least=0)
    return block.select((block.n_facts_of_item > 1) & is_drawn)


def decided_by_copies(block: Block, weight_of_support: FloatArray) -> tuple[float, float]:
    """How many items copies decide, and how many of these nobody wins once copies count once.

    Copies decide an item if the value that most name has the votes of copies. On all items there is
    to be a choice.
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
