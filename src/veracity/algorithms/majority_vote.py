"""Majority voting: every source counts the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.base import Algorithm, Memory, Weights
from veracity.algorithms.prior import PriorRates
from veracity.encode import Block, Claims, FloatArray

__all__ = ["MajorityVote"]


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Algorithm[None]):
    """The share of an item's sources that support the fact.

    There is nothing to learn, so it takes no rounds; the sources' rates are counted afterwards,
    against the vote itself. Where sources name several values of an item, their shares may add up
    to more than one.
    """

    name = "majority-vote"

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, None]:
        """Nothing is needed."""
        return (), None

    def judge(
        self, block: Block, memory: Memory, reliability: None, single_truth: bool
    ) -> FloatArray:
        """Supporters over voices."""
        return np.asarray(np.diff(block.first_support_of_fact) / block.n_voices_of_fact)

    def weights(self, claims: Claims, memory: Memory, reliability: None) -> Weights:
        """Every supporter adds one; the voices are what these are a share of."""
        one = np.ones(claims.n_sources)
        return Weights(one, np.zeros_like(one), "mean")
