"""Accu: a source's vote weighs as much as its accuracy, a value is true with a probability.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009). `accu_sim` adds similar values to it, `accu_copy` sources that copy from one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    SUREST,
    Algorithm,
    BySource,
    Memory,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Weights, logit, ratio
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels


class Accuracies(NamedTuple):
    """How often each source names the true value; how many false values there are; the prior."""

    accuracy: BySource
    n_false_values: float
    prior: PriorRates

    @classmethod
    def at_start(cls, survey: Survey, prior: PriorRates, n_false_values: float) -> Accuracies:
        """The prior's: where one value is true, the tpr of a source is its accuracy.

        There are never more false values than the values that are claimed of any item, less one:
        who errs on a yes-or-no question has one way to do so.
        """
        start = cls(prior.tpr, max(1.0, min(n_false_values, survey.n_labels - 1.0)), prior)
        return start._replace(accuracy=start._clear(prior.weigh_known_accuracy(prior.tpr)))

    def learn(self, counts: FloatArray) -> Accuracies:
        """The mean plausibility of what a source says, from `count_votes`; fixed sources stay."""
        supports_of_true, supports = counts.T[:2]
        mean = np.where(supports > 0, ratio(supports_of_true, supports), self.accuracy)
        return self._replace(
            accuracy=np.where(self.prior.is_fixed, self.accuracy, self._clear(mean))
        )

    def calibrated(self) -> Accuracies:
        """As the known truths correct them."""
        return self._replace(accuracy=self._clear(self.prior.weigh_known_accuracy(self.accuracy)))

    def weights(self, block: Block) -> Weights:
        """What each source's word weighs, ln(n A / (1 - A)): zero for one that guesses.

        Of the n + 1 values of an item, n + 1 - |Ω| are claimed by nobody; each has a score of zero.
        """
        vote = logit(self.accuracy) + float(np.log(self.n_false_values))
        n_unclaimed = np.maximum(self.n_false_values + 1.0 - block.n_facts_of_item, 0.0)
        with np.errstate(divide="ignore"):
            return Weights("softmax", vote, unclaimed=np.log(n_unclaimed))

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
    state_type = Accuracies
    takes_shares = True

    prior: Prior = NO_PRIOR
    n_false_values: float = 100.0
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, n_false_values=self.n_false_values, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Accuracies:
        """Start from the prior."""
        return Accuracies.at_start(survey, prior, self.n_false_values)

    def is_settled(self, state: Accuracies) -> bool:
        """Where all sources are fixed there is nothing to learn."""
        return bool(state.prior.is_fixed.all())

    def tally(self, block: Block, state: Accuracies, turn: Turn) -> Tally:
        """Judge the facts and count how the sources' words met them."""
        plausibility = clamp_known(self.judge(block, state), block)
        return (kernels.count_votes(block, plausibility, len(state.accuracy)),)

    def learn(self, state: Accuracies, total: Tally) -> Accuracies:
        """A_s = mean plausibility of the values it names."""
        return state.learn(total[0])

    def change(self, before: Accuracies, after: Accuracies) -> float:
        """The largest move of any accuracy."""
        return before.change(after)

    def trust(self, state: Accuracies) -> FloatArray:
        """The accuracy."""
        return state.accuracy

    def calibrate(self, state: Accuracies, prior: PriorRates) -> Accuracies:
        """Correct the accuracies by the known truths."""
        return state.calibrated()

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """C(c) = Σ_s ln(n A_s / (1 - A_s)) over the sources of a value; P(c) from all C."""
        return state.weights(block)
