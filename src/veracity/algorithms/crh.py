"""CRH: truths and weights that minimise the weighted distance between truths and claims.

Li, Li, Gao, Zhao, Fan, Han: Resolving Conflicts in Heterogeneous Data by Truth Discovery and Source
Reliability Estimation (SIGMOD 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Memory,
    Rule,
    Tally,
    Turn,
    Weights,
    hold_known,
    kernels,
    share_of_item,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.numbers import is_numeric, numbers_of, weighted_estimate
from veracity.algorithms.prior import PriorRates
from veracity.encode import Block, Claims, FloatArray
from veracity.schema import Kind

__all__ = ["CRH", "losses", "some_loss", "weighted_vote"]


@dataclass(frozen=True, kw_only=True)
class CRH(Algorithm[FloatArray]):
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

    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
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
        """The weights that minimise the weighted loss, given Σ exp(-weight) = 1."""
        loss, n_claims = tally
        if loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(loss)
        loss = some_loss(loss / np.maximum(n_claims, 1.0))
        weight = -np.log(loss / loss.sum())
        return np.asarray(weight / max(weight.max(), 1e-12))

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

    def weights(self, claims: Claims, memory: Memory, reliability: FloatArray) -> Weights:
        """The weight of the source."""
        rule: Rule = "estimate" if claims.kind == "numeric" else "share"
        return Weights(reliability, np.zeros_like(reliability), rule)

    def trust(self, reliability: FloatArray) -> FloatArray:
        """The weight."""
        return reliability


def some_loss(loss: FloatArray) -> FloatArray:
    """Losses, none of them zero: half the least stands for none, or weights were infinite."""
    return np.asarray(np.maximum(loss, loss[loss > 0.0].min() / 2.0))


def weighted_vote(block: Block, weight: FloatArray) -> FloatArray:
    """Each fact's share of the weights of its item's claims."""
    return share_of_item(kernels.sum_votes(block, np.zeros_like(weight), weight), block)


def losses(block: Block, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The summed loss of each source against the truths these weights make, and its claims."""
    if is_numeric(block):
        numbers = numbers_of(block)
        truth, _ = weighted_estimate(numbers, weight)
        distance = numbers.distance(truth) ** 2
        n_claims = np.bincount(numbers.source, minlength=len(weight)).astype(np.float64)
        loss: FloatArray = np.bincount(numbers.source, distance, len(weight)).astype(np.float64)
        return loss, n_claims
    counts = kernels.count_votes(block, _winners(block, weight), len(weight))
    return counts[:, 1] - counts[:, 0], counts[:, 1]


def _winners(block: Block, weight: FloatArray) -> FloatArray:
    """One for the fact an item's weights favour, nothing for the others; ties share the one."""
    vote = weighted_vote(block, weight)
    first, n_facts_of_item = block.first_fact_of_item[:-1], np.diff(block.first_fact_of_item)
    best = np.repeat(np.maximum.reduceat(vote, first), n_facts_of_item)
    wins = share_of_item((vote >= best - 1e-12).astype(np.float64), block)
    return hold_known(wins, block)
