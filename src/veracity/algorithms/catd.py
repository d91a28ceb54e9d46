"""CATD: CRH that knows how little a source with few claims has shown.

Li, Li, Gao, Su, Zhao, Demirbas, Fan, Han: A Confidence-Aware Approach for Truth Discovery on
Long-Tail Data (VLDB 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veracity.algorithms.base import Algorithm, Memory, Tally, Turn
from veracity.algorithms.checks import require_at_least, require_positive, require_probability
from veracity.algorithms.crh import losses, weighted_vote
from veracity.algorithms.numbers import numbers_of, weighted_estimate
from veracity.algorithms.prior import PriorRates
from veracity.encode import Block, Claims, FloatArray
from veracity.schema import Kind

__all__ = ["CATD"]


@dataclass(frozen=True, kw_only=True)
class CATD(Algorithm[FloatArray]):
    """A source's weight is the lower end of a confidence interval of its precision.

    weight = χ²(significance / 2, number of claims) / loss, with χ² the lower quantile, so that few
    claims never weigh much, however right they look.

    Parameters
    ----------
    significance
        One less the confidence of the interval.
    max_rounds, tolerance
        It stops when a round moves no weight by `tolerance`, the largest weight being one.
    """

    name = "catd"
    kinds: ClassVar[tuple[Kind, ...]] = ("categorical", "numeric")
    learns_from = "all"

    significance: float = 0.05
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_probability(self, significance=self.significance)
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, FloatArray]:
        """All sources weigh the same."""
        return (), np.ones(claims.n_sources)

    def study(
        self, block: Block, memory: Memory, reliability: FloatArray, turn: Turn
    ) -> tuple[Memory, Tally]:
        """The loss of every source against the truths its weight makes."""
        return memory, losses(block, reliability)

    def learn(self, reliability: FloatArray, tally: Tally) -> FloatArray:
        """The lower end of the interval, the largest weight being one."""
        from scipy.stats import chi2  # noqa: PLC0415 - takes its time to load

        loss, n_claims = tally
        if loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(loss)
        # A source without loss would weigh infinitely much; it gets half the least loss there is.
        least = loss[loss > 0.0].min() / 2.0
        quantile = chi2.ppf(self.significance / 2.0, np.maximum(n_claims, 1))
        weight = quantile / np.maximum(loss, least)
        return np.asarray(weight / weight.max())

    def change(self, before: FloatArray, after: FloatArray) -> float:
        """The largest move of any weight."""
        return float(np.abs(after - before).max())

    def judge(
        self, block: Block, memory: Memory, reliability: FloatArray, single_truth: bool
    ) -> FloatArray:
        """The share of the weighted vote."""
        return weighted_vote(block, reliability)

    def estimate(
        self, block: Block, memory: Memory, reliability: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The weighted mean, and its standard error."""
        return weighted_estimate(numbers_of(block), reliability)

    def trust(self, reliability: FloatArray) -> FloatArray:
        """The weight."""
        return reliability
