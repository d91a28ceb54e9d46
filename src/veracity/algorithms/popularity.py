"""How popular each value of an item is: where those who do not know the truth follow the crowd."""

from __future__ import annotations

import numpy as np

from veracity.claims.block import Block, FloatArray

__all__ = ["popularity", "surprise"]


def popularity(block: Block) -> FloatArray:
    """Of each fact, its share of the claims of its item."""
    n_claims = np.repeat(block.n_supports_of_item, block.n_facts_of_item)
    return np.asarray(block.n_supports_of_fact / n_claims)


def surprise(block: Block) -> FloatArray:
    """Of each fact, what it gains by each of its claims if all who err name popular false values.

    If value v is true, each of the n - m claims for others falls on value c with probability
    m_c / (n - m), where m and m_c claims name v and c. Up to what all values of the item have in
    common, the logarithm of the probability that they fall as they do is then
    n ln n - m ln m - (n - m) ln(n - m), which is shared out here among the m claims.
    """
    n_claims = np.repeat(block.n_supports_of_item, block.n_facts_of_item).astype(np.float64)
    own = block.n_supports_of_fact.astype(np.float64)
    others = n_claims - own
    log_others = np.log(np.maximum(others, 1.0))  # none, or one: either way nothing is added
    return np.asarray((n_claims * np.log(n_claims) - own * np.log(own) - others * log_others) / own)
