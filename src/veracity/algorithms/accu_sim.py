"""AccuSim: Accu, in which a value gains from the votes for values that are similar to it.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009), after an idea of TruthFinder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.accu import Accuracies, share_with_unclaimed
from veracity.algorithms.base import Algorithm, Memory, Tally, Turn, Weights, hold_known, kernels
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray
from veracity.similarity import BY_KIND, MOST_VALUES, Similarity, SimilarPairs, similar_pairs

__all__ = ["AccuSim", "Likened"]


class Likened(NamedTuple):
    """The accuracies, and how similar the values of an item are."""

    accuracies: Accuracies
    pairs: SimilarPairs


@dataclass(frozen=True, kw_only=True)
class AccuSim(Algorithm[Likened]):
    """Accu with C*(c) = C(c) + influence · Σ similarity(c, c') C(c') in the place of C(c).

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        How many false values an item has, all equally likely to be named by a source that errs.
        Fewer where fewer values are claimed in all.
    similarity
        How similar two values of an item are, from 0 to 1.
    influence
        How much of the votes for a similar value counts, rho in the paper.
    most_values
        Values of an item with more than these are not compared: pairs grow with their square.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-sim"
    kinds = ("categorical",)
    learns_from = "all"

    prior: Prior = NO_PRIOR
    n_false_values: float = 100.0
    similarity: Similarity = BY_KIND
    influence: float = 0.5
    most_values: int = MOST_VALUES
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 0, influence=self.influence)
        require_at_least(self, 1, n_false_values=self.n_false_values, max_rounds=self.max_rounds)
        require_at_least(self, 1, most_values=self.most_values)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Likened]:
        """Start from the prior; the values of each item are compared, once."""
        assert claims.value_of_fact is not None  # categorical claims have values
        first = claims.all.first_fact_of_item
        pairs = similar_pairs(claims.value_of_fact, first, self.similarity, self.most_values)
        return (), Likened(Accuracies.at_start(claims, prior, self.n_false_values), pairs)

    def is_settled(self, reliability: Likened) -> bool:
        """Where all sources are fixed there is nothing to learn."""
        return bool(reliability.accuracies.prior.is_fixed.all())

    def study(
        self, block: Block, memory: Memory, reliability: Likened, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts and count how the sources' words met them."""
        plausibility = hold_known(self.judge(block, memory, reliability, True), block)
        n_sources = len(reliability.accuracies.accuracy)
        return memory, (kernels.count_votes(block, plausibility, n_sources),)

    def learn(self, reliability: Likened, tally: Tally) -> Likened:
        """A_s = mean plausibility of the values it names."""
        return reliability._replace(accuracies=reliability.accuracies.learn(tally[0]))

    def change(self, before: Likened, after: Likened) -> float:
        """The largest move of any accuracy."""
        return before.accuracies.change(after.accuracies)

    def trust(self, reliability: Likened) -> FloatArray:
        """The accuracy."""
        return reliability.accuracies.accuracy

    def settle(self, reliability: Likened, prior: PriorRates) -> Likened:
        """Correct the accuracies by the known truths."""
        return reliability._replace(accuracies=reliability.accuracies.settled())

    def judge(
        self, block: Block, memory: Memory, reliability: Likened, single_truth: bool
    ) -> FloatArray:
        """C*(c) = C(c) + influence · Σ similarity(c, c') C(c') over the item's other values."""
        vote = reliability.accuracies.votes()
        score: FloatArray = kernels.sum_votes(block, np.zeros_like(vote), vote)
        one, other, similarity = reliability.pairs
        weight = self.influence * similarity
        to_one = np.bincount(one, score[other] * weight, len(score))
        to_other = np.bincount(other, score[one] * weight, len(score))
        n_false_values = reliability.accuracies.n_false_values
        return share_with_unclaimed(score + to_one + to_other, block, n_false_values)

    def weights(self, claims: Claims, memory: Memory, reliability: Likened) -> Weights:
        """A source's vote, of which similar values have their share."""
        one, other, similarity = reliability.pairs
        weights = reliability.accuracies.weights(claims)
        return weights._replace(pairs=(one, other, self.influence * similarity))
