"""How popular each value of an item is: where those who do not know the truth follow the crowd."""

from __future__ import annotations

import numpy as np

from veracity.algorithms.rules import item_sums
from veracity.claims.block import Block, FloatArray

__all__ = ["popularity", "surprise"]


def popularity(block: Block) -> FloatArray:
    """Of each fact, its share of the claims of its item."""
    return np.asarray(block.votes_of_fact / _claims_of_item(block))


def surprise(block: Block) -> FloatArray:
    """Of each fact, what it gains by each of its claims if all who err name popular false values.

    If value v is true, each of the n - m claims for others falls on value c with probability
    m_c / (n - m), where m and m_c claims name v and c. Up to what all values of the item have in
    common, the logarithm of the probability that they fall as they do is then
    n ln n - m ln m - (n - m) ln(n - m), which is shared out here among the m claims.
    """
    own, n_claims = block.votes_of_fact, _claims_of_item(block)
    others = np.maximum(n_claims - own, 0.0)
    return (_x_log_x(n_claims) - _x_log_x(own) - _x_log_x(others)) / own


def _claims_of_item(block: Block) -> FloatArray:
    """Of each fact, how many claims its item has."""
    return np.repeat(item_sums(block.votes_of_fact, block), block.n_facts_of_item)


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(x * np.log(x, out=np.zeros_like(x), where=x > 0.0))
