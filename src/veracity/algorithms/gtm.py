"""GTM, the Gaussian Truth Model: numbers scatter around the truth, each source with its variance.

Zhao, Han: A Probabilistic Model for Estimating Real-valued Truth from Conflicting Sources (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veracity.algorithms.base import Algorithm, Memory, Tally, Turn, Weights
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.numbers import Numbers, numbers_of
from veracity.algorithms.prior import PriorRates
from veracity.encode import Block, Claims, FloatArray
from veracity.schema import Kind

__all__ = ["GTM"]


@dataclass(frozen=True, kw_only=True)
class GTM(Algorithm[FloatArray]):
    """Truths and variances that are most likely a posteriori, by expectation maximisation.

    Claims are taken in standard deviations from the mean of their item's.

    Parameters
    ----------
    truth_variance
        Prior variance of a truth, whose prior mean is that of the item's claims.
    variance_shape, variance_scale
        Inverse gamma prior of a source's variance.
    max_rounds, tolerance
        It stops when a round moves no variance by `tolerance`.
    """

    name = "gtm"
    kinds: ClassVar[tuple[Kind, ...]] = ("numeric",)

    truth_variance: float = 1.0
    variance_shape: float = 10.0
    variance_scale: float = 10.0
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(
            self,
            truth_variance=self.truth_variance,
            variance_shape=self.variance_shape,
            variance_scale=self.variance_scale,
            tolerance=self.tolerance,
        )
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, FloatArray]:
        """Every source has the prior's variance."""
        variance = self.variance_scale / (self.variance_shape + 1.0)
        return (), np.full(claims.n_sources, variance)

    def study(
        self, block: Block, memory: Memory, reliability: FloatArray, turn: Turn
    ) -> tuple[Memory, Tally]:
        """How far the sources are from the truths their variances make (E step)."""
        numbers = numbers_of(block)
        truth, _ = self._truths(numbers, reliability)
        distance = (numbers.standard - truth[numbers.item]) ** 2
        n_sources = len(reliability)
        n_claims = np.bincount(numbers.source, minlength=n_sources).astype(np.float64)
        return memory, (np.bincount(numbers.source, distance, n_sources), n_claims)

    def learn(self, reliability: FloatArray, tally: Tally) -> FloatArray:
        """The most likely variances: (2 scale + Σ distance²) / (2 shape + 2 + claims) (M step)."""
        distance, n_claims = tally
        return np.asarray(
            (2.0 * self.variance_scale + distance) / (2.0 * (self.variance_shape + 1.0) + n_claims)
        )

    def change(self, before: FloatArray, after: FloatArray) -> float:
        """The largest move of any variance."""
        return float(np.abs(after - before).max())

    def estimate(
        self, block: Block, memory: Memory, reliability: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and standard deviation of each item's truth, in its own units."""
        numbers = numbers_of(block)
        truth, variance = self._truths(numbers, reliability)
        uncertainty = np.where(numbers.is_lone, np.nan, numbers.scale * np.sqrt(variance))
        return numbers.centre + numbers.scale * truth, uncertainty

    def weights(self, claims: Claims, memory: Memory, reliability: FloatArray) -> Weights:
        """The precision of the source; that of the prior goes to the mean of the item's claims."""
        precision, nothing = 1.0 / reliability, np.zeros_like(reliability)
        return Weights(precision, nothing, "estimate", 1.0 / self.truth_variance)

    def trust(self, reliability: FloatArray) -> FloatArray:
        """The precision, one over the variance."""
        return 1.0 / reliability

    def _truths(self, numbers: Numbers, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and variance of each truth, in the standard units of its item."""
        precision = 1.0 / variance[numbers.source]
        n_items = len(numbers.centre)
        total = 1.0 / self.truth_variance + np.bincount(numbers.item, precision, n_items)
        mean: FloatArray = np.bincount(numbers.item, precision * numbers.standard, n_items) / total
        return mean, np.asarray(1.0 / total)
