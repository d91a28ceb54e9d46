"""CRH: truths and weights that minimise the weighted distance between truths and claims.

Li, Li, Gao, Zhao, Fan, Han: Resolving Conflicts in Heterogeneous Data by Truth Discovery and Source
Reliability Estimation (SIGMOD 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    BySource,
    CountBySource,
    Memory,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.numbers import (
    Distances,
    as_told,
    calibrated,
    distances,
    numbers_of,
    weighted_estimate,
)
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Rule, Weights, is_best_of_item, ratio, share_of_item
from veracity.claims.block import Block, FloatArray
from veracity.claims.schema import Kind
from veracity.claims.survey import Survey
from veracity.kernels.loading import kernels

__all__ = ["CRH", "Losses", "some_loss"]


class Losses(NamedTuple):
    """What each source weighs, its mean loss and its claims, and what known numbers tell of it."""

    weight: BySource
    mean_loss: BySource
    n_claims: CountBySource
    known_loss: CountBySource
    n_known: CountBySource


@dataclass(frozen=True, kw_only=True)
class CRH(Algorithm[Losses]):
    """A source's weight is -log of its share of all loss; truth is the weighted vote or mean.

    The loss of a value is 0 or 1; that of a number is its squared distance from the truth, in
    standard deviations of the item's claims. A source's loss is the mean over its claims.

    Parameters
    ----------
    max_rounds, tolerance
        It stops when a round moves no weight by `tolerance`, the largest weight being one.
    """

    name = "crh"
    kinds: ClassVar[tuple[Kind, ...]] = ("categorical", "numeric")
    state_type = Losses
    takes_shares = True

    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Losses:
        """All sources weigh the same."""
        nothing = np.zeros(survey.n_sources)
        return Losses(np.ones(survey.n_sources), nothing, nothing, nothing, nothing)

    def tally(self, block: Block, state: Losses, turn: Turn) -> Distances:
        """The loss of every source against the truths its weight makes."""
        n_sources = len(state.weight)
        if block.is_numeric:
            numbers = numbers_of(block)
            return distances(numbers, weighted_estimate(numbers, state.weight)[0], n_sources)
        counts = kernels.count_votes(block, self._winners(block, state), n_sources)
        nothing = np.zeros(n_sources)
        return Distances(counts[:, 1] - counts[:, 0], counts[:, 1], nothing, nothing)

    def learn(self, state: Losses, total: Distances) -> Losses:
        """The weights that minimise the weighted loss."""
        mean_loss = ratio(total.square, total.n_claims)
        known = (total.known_square, total.n_known)
        weight = self.weights_from(mean_loss, total.n_claims)
        return Losses(weight, mean_loss, total.n_claims, *known)

    def weights_from(self, mean_loss: FloatArray, n_claims: FloatArray) -> FloatArray:
        """-log of the share of all loss, given Σ exp(-weight) = 1; the largest weight is one."""
        if mean_loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(mean_loss)
        loss = some_loss(mean_loss)
        weight = -np.log(loss / loss.sum())
        return np.asarray(weight / max(weight.max(), 1e-12))

    def change(self, before: Losses, after: Losses) -> float:
        """The largest move of any weight."""
        return float(np.abs(after.weight - before.weight).max())

    def calibrate(self, state: Losses, prior: PriorRates) -> Losses:
        """Correct the losses by known numbers; known values are clamped, and that is all."""
        if not state.n_known.any():
            return state
        loss = calibrated(state.mean_loss, (state.known_loss, state.n_known))
        return state._replace(mean_loss=loss, weight=self.weights_from(loss, state.n_claims))

    def estimate(self, block: Block, state: Losses) -> tuple[FloatArray, FloatArray]:
        """The weighted mean, and its standard error."""
        numbers = numbers_of(block)
        return as_told(numbers, *weighted_estimate(numbers, state.weight))

    def weigh(self, block: Block, state: Losses, memory: Memory = None) -> Weights:
        """The weight of the source: values have their share of the weighted vote."""
        rule: Rule = "estimate" if block.is_numeric else "share"
        return Weights(rule, state.weight)

    def trust(self, state: Losses) -> FloatArray:
        """The weight."""
        return state.weight

    def _winners(self, block: Block, state: Losses) -> FloatArray:
        """One for the fact an item's weights favour, nothing for the others; ties share the one."""
        is_best = is_best_of_item(self.judge(block, state), block)
        return clamp_known(share_of_item(is_best.astype(np.float64), block), block)


def some_loss(loss: FloatArray) -> FloatArray:
    """Losses, none of them zero: half the least stands for none, or weights were infinite."""
    return np.asarray(np.maximum(loss, loss[loss > 0.0].min() / 2.0))
