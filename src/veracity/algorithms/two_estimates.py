"""2-Estimates: truths and errors estimated from each other, both stretched to the whole of [0, 1].

Galland, Abiteboul, Marian, Senellart: Corroborating Information from Disagreeing Views (WSDM 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

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
from veracity.algorithms.checks import require_at_least, require_positive, require_probability
from veracity.algorithms.prior import PriorRates
from veracity.encode import UNKNOWN, Block, Claims, FloatArray

__all__ = ["TwoEstimates", "stretch"]


@dataclass(frozen=True, kw_only=True)
class TwoEstimates(Algorithm[FloatArray]):
    """Truth of a fact: the mean of what its claims say, discounted by their sources' errors.

    Parameters
    ----------
    initial_error
        How often every source is thought to err at the start.
    steps
        In how many rounds the stretching fades out: its weight falls linearly from one to zero.
    max_rounds, tolerance
        It stops when a round moves no error by `tolerance`, once the stretching has faded out.
    """

    name = "two-estimates"
    learns_from = "all"

    initial_error: float = 0.2
    steps: int = 10
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_probability(self, initial_error=self.initial_error)
        require_at_least(self, 1, steps=self.steps)
        require_at_least(self, self.steps + 1, max_rounds=self.max_rounds)

    @property
    def min_rounds(self) -> int:  # type: ignore[override]
        """Stretching moves the errors until it has faded out."""
        return self.steps + 1

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, FloatArray]:
        """All sources err equally."""
        return (), np.full(claims.n_sources, self.initial_error)

    def study(
        self, block: Block, memory: Memory, reliability: FloatArray, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Estimate the truths, then the errors, both stretched with the weight of this round."""
        weight = max(0.0, 1.0 - (turn.round_number - 1) / self.steps)
        truth = hold_known(stretch(_truth(block, reliability), weight), block)
        counts = kernels.count_votes(block, truth, len(reliability))
        supports_of_true, supports, true, facts = counts.T
        wrong = (supports - supports_of_true) + (true - supports_of_true)
        n_known = np.count_nonzero(block.known_of_fact != UNKNOWN)
        return memory, (stretch(wrong / np.maximum(facts, 1.0), weight), facts, n_known)

    def learn(self, reliability: FloatArray, tally: Tally) -> FloatArray:
        """Take the new errors; all are turned around where claims err more often than not.

        Unless truths are known, which tell which way round is right.
        """
        error, facts, n_known = tally
        is_flipped = n_known == 0 and np.average(error, weights=facts) > 0.5
        return np.asarray(1.0 - error if is_flipped else error)

    def change(self, before: FloatArray, after: FloatArray) -> float:
        """The largest move of any error."""
        return float(np.abs(after - before).max())

    def judge(
        self, block: Block, memory: Memory, reliability: FloatArray, single_truth: bool
    ) -> FloatArray:
        """The truths, not stretched; under a single truth, their shares of the item."""
        truth = _truth(block, reliability)
        return share_of_item(truth, block) if single_truth else truth

    def weights(self, claims: Claims, memory: Memory, reliability: FloatArray) -> Weights:
        """For: one less the error; against: the error."""
        rule: Rule = "share" if claims.kind == "categorical" else "mean"
        return Weights(1.0 - reliability, reliability, rule)

    def trust(self, reliability: FloatArray) -> FloatArray:
        """One less the error."""
        return 1.0 - reliability


def _truth(block: Block, error: FloatArray) -> FloatArray:
    """The mean over a fact's claims of 1 - error, where they are positive, or error."""
    votes: FloatArray = kernels.sum_votes(block, error, 1.0 - 2.0 * error)
    truth: FloatArray = votes / block.n_voices_of_fact
    return truth


def stretch(values: FloatArray, weight: float) -> FloatArray:
    """Values, with this weight stretched to reach from zero to one.

    Without it, truths and errors of one half are a fixed point.
    """
    lowest, highest = values.min(), values.max()
    if highest - lowest < 1e-12:
        return values
    stretched: FloatArray = (values - lowest) / (highest - lowest)
    return weight * stretched + (1.0 - weight) * values
