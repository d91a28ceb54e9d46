"""How popular each value of an item is: where those who do not know the truth follow the crowd."""

from __future__ import annotations

import numpy as np

from veracity.algorithms.rules import item_sums
from veracity.encoding.block import Block, FloatArray


def popularity(block: Block) -> FloatArray:
    """Of each fact, its share of the claims of its item."""
    return np.asarray(block.votes_of_fact / _claims_of_item(block))


def surprise(block: Block) -> FloatArray:
    """Of each fact, what it gains by each of its claims if all who err name popular false values.

    If value v is true, each of the n - m claims for others falls on value c with probability
    m_c / (n - m), where m and m_c claims name v and c. Up to what all values of the item have in
    common, the logarithm of the probability that they fall as they do is then
    n ln n - m ln m - (n - m) ln(n - m), which is shared out here among the m claims: it is
    -ln p - (1 - p) / p ln(1 - p), p being m / n.
    """
    share = np.clip(popularity(block), np.finfo(np.float64).tiny, 1.0)
    is_disputed = share < 1.0
    log_others = np.log1p(-share, out=np.zeros_like(share), where=is_disputed)
    return np.asarray(-np.log(share) - (1.0 - share) / share * log_others)


def _claims_of_item(block: Block) -> FloatArray:
    """Of each fact, how many claims its item has."""
    return np.repeat(item_sums(block.votes_of_fact, block), block.n_facts_of_item)
