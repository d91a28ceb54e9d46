"""GTM, the Gaussian Truth Model: numbers scatter around the truth, each source with its variance.

Zhao, Han: A Probabilistic Model for Estimating Real-valued Truth from Conflicting Sources (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, BySource, CountBySource, Memory, Turn
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.numbers import (
    Distances,
    Numbers,
    as_told,
    calibrated,
    distances,
    numbers_of,
)
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.survey import Survey
from veracity.reading.schema import Kind


class Variances(NamedTuple):
    """The variance of each source, and what the known truths tell of it."""

    variance: BySource
    known_square: CountBySource
    n_known: CountBySource


@dataclass(frozen=True, kw_only=True)
class GTM(Algorithm[Variances]):
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
    state_type = Variances

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

    def start(self, survey: Survey, prior: PriorRates) -> Variances:
        """Every source has the prior's variance."""
        variance = self.variance_scale / (self.variance_shape + 1.0)
        nothing = np.zeros(survey.n_sources)
        return Variances(np.full(survey.n_sources, variance), nothing, nothing)

    def tally(self, block: Block, state: Variances, turn: Turn) -> Distances:
        """How far the sources are from the truths their variances make (E-step)."""
        numbers = numbers_of(block)
        truth, _ = self._truths(numbers, state.variance)
        return distances(numbers, numbers.centre + numbers.scale * truth, len(state.variance))

    def learn(self, state: Variances, total: Distances) -> Variances:
        """The most likely variances: (2 scale + Σ distance²) / (2 shape + 2 + claims) (M-step)."""
        variance = (2.0 * self.variance_scale + total.square) / (
            2.0 * (self.variance_shape + 1.0) + total.n_claims
        )
        return Variances(variance, total.known_square, total.n_known)

    def change(self, before: Variances, after: Variances) -> float:
        """The largest move of any variance."""
        return float(np.abs(after.variance - before.variance).max())

    def calibrate(self, state: Variances, prior: PriorRates) -> Variances:
        """Correct the variances by the known truths."""
        return state._replace(variance=calibrated(state.variance, state[1:]))

    def estimate(self, block: Block, state: Variances) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and standard deviation of each item's truth, in its own units."""
        numbers = numbers_of(block)
        truth, variance = self._truths(numbers, state.variance)
        error = np.where(numbers.is_single, np.nan, numbers.scale * np.sqrt(variance))
        return as_told(numbers, numbers.centre + numbers.scale * truth, error)

    def weigh(self, block: Block, state: Variances, memory: Memory = None) -> Weights:
        """The precision of the source; that of the prior goes to the mean of the item's claims."""
        return Weights("estimate", 1.0 / state.variance, prior=1.0 / self.truth_variance)

    def trust(self, state: Variances) -> FloatArray:
        """The precision, one over the variance."""
        return 1.0 / state.variance

    def _truths(self, numbers: Numbers, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and variance of each truth, in the standard units of its item."""
        precision = 1.0 / variance[numbers.source]
        n_items = len(numbers.centre)
        total = 1.0 / self.truth_variance + np.bincount(numbers.item, precision, n_items)
        mean: FloatArray = np.bincount(numbers.item, precision * numbers.standard, n_items) / total
        return mean, np.asarray(1.0 / total)
