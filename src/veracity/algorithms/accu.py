"""Accu: a source's vote weighs as much as its accuracy, a value is true with a probability.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009). `accu_sim` adds similar values to it, `accu_copy` sources that copy from one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Memory,
    Tally,
    Turn,
    Weights,
    hold_known,
    kernels,
    logit,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray

__all__ = ["Accu", "Accuracies", "share_with_unclaimed"]

SUREST = 1e-6
"""No source is thought to err more seldom than this."""


class Accuracies(NamedTuple):
    """How often each source names the true value; how many false values there are; the prior."""

    accuracy: FloatArray
    n_false_values: float
    prior: PriorRates

    @classmethod
    def at_start(cls, claims: Claims, prior: PriorRates, n_false_values: float) -> Accuracies:
        """The prior's: where one value is true, the tpr of a source is its accuracy.

        There are never more false values than the values that are claimed of any item, less one:
        who errs on a yes-or-no question has one way to do so.
        """
        n_values = 2 if claims.label_of_fact is None else len(np.unique(claims.label_of_fact))
        start = cls(prior.tpr, max(1.0, min(n_false_values, n_values - 1.0)), prior)
        return start._replace(accuracy=start._clear(prior.weigh_known_accuracy(prior.tpr)))

    def learn(self, counts: FloatArray) -> Accuracies:
        """The mean plausibility of what a source says, from `count_votes`; fixed sources stay."""
        supports_of_true, supports = counts.T[:2]
        mean = np.where(supports > 0, supports_of_true / np.maximum(supports, 1.0), self.accuracy)
        return self._replace(
            accuracy=np.where(self.prior.is_fixed, self.accuracy, self._clear(mean))
        )

    def settled(self) -> Accuracies:
        """As the known truths correct them."""
        return self._replace(accuracy=self._clear(self.prior.weigh_known_accuracy(self.accuracy)))

    def votes(self) -> FloatArray:
        """What each source's word weighs, ln(n A / (1 - A)): zero for one that guesses."""
        return logit(self.accuracy) + float(np.log(self.n_false_values))

    def weights(self, claims: Claims) -> Weights:
        """The votes, with each of the values that nobody claims at a score of zero."""
        vote = self.votes()
        n_unclaimed = _n_unclaimed(claims.all, self.n_false_values)
        with np.errstate(divide="ignore"):
            return Weights(vote, np.zeros_like(vote), "softmax", unclaimed=np.log(n_unclaimed))

    def change(self, after: Accuracies) -> float:
        """The largest move of any accuracy."""
        return float(np.abs(after.accuracy - self.accuracy).max())

    def _clear(self, accuracy: FloatArray) -> FloatArray:
        """Accuracies clear of one, not below a guess, 1 / (n + 1); but fixed ones as they are.

        A source worse than a guess is ignored. Were its word counted against what it says, then on
        items where nobody agrees with anybody the value with the most supporters would come last.
        """
        clear = np.clip(accuracy, 1.0 / (self.n_false_values + 1.0), 1.0 - SUREST)
        return np.where(self.prior.is_fixed, accuracy, clear)


@dataclass(frozen=True, kw_only=True)
class Accu(Algorithm[Accuracies]):
    """P(value) from the votes of its sources, weighed by their accuracies; and these from P.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        How many false values an item has, all equally likely to be named by a source that errs.
        Fewer where fewer values are claimed in all.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu"
    kinds = ("categorical",)

    prior: Prior = NO_PRIOR
    n_false_values: float = 100.0
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, n_false_values=self.n_false_values, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Accuracies]:
        """Start from the prior."""
        return (), Accuracies.at_start(claims, prior, self.n_false_values)

    def is_settled(self, reliability: Accuracies) -> bool:
        """Where all sources are fixed there is nothing to learn."""
        return bool(reliability.prior.is_fixed.all())

    def study(
        self, block: Block, memory: Memory, reliability: Accuracies, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts and count how the sources' words met them."""
        plausibility = hold_known(self.judge(block, memory, reliability, True), block)
        return memory, (kernels.count_votes(block, plausibility, len(reliability.accuracy)),)

    def learn(self, reliability: Accuracies, tally: Tally) -> Accuracies:
        """A_s = mean plausibility of the values it names."""
        return reliability.learn(tally[0])

    def change(self, before: Accuracies, after: Accuracies) -> float:
        """The largest move of any accuracy."""
        return before.change(after)

    def trust(self, reliability: Accuracies) -> FloatArray:
        """The accuracy."""
        return reliability.accuracy

    def settle(self, reliability: Accuracies, prior: PriorRates) -> Accuracies:
        """Correct the accuracies by the known truths."""
        return reliability.settled()

    def judge(
        self, block: Block, memory: Memory, reliability: Accuracies, single_truth: bool
    ) -> FloatArray:
        """C(c) = Σ_s ln(n A_s / (1 - A_s)) over the sources of a value; P(c) from all C."""
        vote = reliability.votes()
        score: FloatArray = kernels.sum_votes(block, np.zeros_like(vote), vote)
        return share_with_unclaimed(score, block, reliability.n_false_values)

    def weights(self, claims: Claims, memory: Memory, reliability: Accuracies) -> Weights:
        """A source's vote."""
        return reliability.weights(claims)


def share_with_unclaimed(score: FloatArray, block: Block, n_false_values: float) -> FloatArray:
    """P(c) = e^C(c) / (Σ e^C over the claimed values + 1 for each value that nobody claims).

    Of the n + 1 values of an item, n + 1 - |Ω| are claimed by nobody, never less than none.
    """
    first, n_facts_of_item = block.first_fact_of_item[:-1], np.diff(block.first_fact_of_item)
    highest = np.maximum(np.maximum.reduceat(score, first), 0.0)  # e^0 is an unclaimed value's
    share = np.exp(score - np.repeat(highest, n_facts_of_item))
    n_unclaimed = _n_unclaimed(block, n_false_values)
    total = np.add.reduceat(share, first) + n_unclaimed * np.exp(-highest)
    plausibility: FloatArray = share / np.repeat(total, n_facts_of_item)
    return plausibility


def _n_unclaimed(block: Block, n_false_values: float) -> FloatArray:
    """How many of the n + 1 values of each item nobody claims."""
    return np.maximum(n_false_values + 1.0 - np.diff(block.first_fact_of_item), 0.0)
