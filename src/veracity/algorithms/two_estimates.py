"""2-Estimates: truths and errors estimated from each other, both stretched to the whole of [0, 1].

Galland, Abiteboul, Marian, Senellart: Corroborating Information from Disagreeing Views (WSDM 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    BySource,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive, require_probability
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, ratio, scores
from veracity.encoding.block import SAME, UNKNOWN, Block, FloatArray
from veracity.encoding.survey import Largest, Survey
from veracity.kernels.loading import kernels


class Errors(NamedTuple):
    """How often each source errs; the range of the truths that follow; how many rounds were."""

    error: BySource
    lowest: float
    highest: float
    rounds: int
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class TwoEstimates(Algorithm[Errors]):
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
    state_type = Errors
    takes_shares = True

    initial_error: float = 0.2
    steps: int = 10
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_probability(self, initial_error=self.initial_error)
        require_at_least(self, 1, steps=self.steps)
        require_at_least(self, self.steps + 1, "steps + 1", max_rounds=self.max_rounds)

    @property
    def min_rounds(self) -> int:  # type: ignore[override]
        """Stretching moves the errors until it has faded out."""
        return self.steps + 1

    def start(self, survey: Survey, prior: PriorRates) -> Errors:
        """All sources err equally."""
        error = np.full(survey.n_sources, self.initial_error)
        return Errors(error, 0.0, 1.0, 0, survey.single_truth)

    def phases(self, state: Errors) -> tuple[Phase[Errors], ...]:
        """In every round, how far the truths reach, then the errors."""
        steps = Step(self.tally_range, self.learn_range), Step(self.tally, self.learn)
        return (Phase("rounds", steps, self.change),)

    def tally_range(self, block: Block, state: Errors, turn: Turn) -> Tally:
        """The lowest and the highest truth."""
        return range_of(self._truth(block, state))

    def learn_range(self, state: Errors, total: Tally) -> Errors:
        """How far the truths reach."""
        return state._replace(lowest=-float(total[0]), highest=float(total[1]))

    def tally(self, block: Block, state: Errors, turn: Turn) -> Tally:
        """Estimate the truths, stretched with the weight of this round, and sum up the errors."""
        truth = stretch(self._truth(block, state), self._weight(state), state.lowest, state.highest)
        counts = kernels.count_votes(block, clamp_known(truth, block), len(state.error))
        supports_of_true, supports, true, facts = counts.T
        wrong = (supports - supports_of_true) + (true - supports_of_true)
        return wrong, facts, np.count_nonzero(block.known_of_fact != UNKNOWN)

    def learn(self, state: Errors, total: Tally) -> Errors:
        """The new errors, stretched; all are turned around where claims err more often than not.

        Unless truths are known, which tell which way round is right.
        """
        wrong, facts, n_known = total
        error = ratio(wrong, facts)
        error = stretch(error, self._weight(state), float(error.min()), float(error.max()))
        mean = round(float(np.average(error, weights=facts)), SAME)  # just one half stays so
        is_flipped = n_known == 0 and mean > 0.5
        error = 1.0 - error if is_flipped else error
        return state._replace(error=np.asarray(error), rounds=state.rounds + 1)

    def change(self, before: Errors, after: Errors) -> float:
        """The largest move of any error."""
        return float(np.abs(after.error - before.error).max())

    def weigh(self, block: Block, state: Errors, memory: Memory = None) -> Weights:
        """For: one less the error; against: the error. The truth is the mean, and not stretched."""
        return Weights("share" if state.single_truth else "mean", 1.0 - state.error, state.error)

    def trust(self, state: Errors) -> FloatArray:
        """One less the error."""
        return 1.0 - state.error

    def _truth(self, block: Block, state: Errors) -> FloatArray:
        """The mean over a fact's claims of 1 - error, where they are positive, or error."""
        voices = np.repeat(block.votes_of_item, block.n_facts_of_item)
        return np.asarray(scores(block, self.weigh(block, state)) / voices)

    def _weight(self, state: Errors) -> float:
        """How much is stretched in this round."""
        return max(0.0, 1.0 - state.rounds / self.steps)


def range_of(values: FloatArray) -> tuple[Largest, Largest]:
    """The lowest value, negated, and the highest: as such they merge."""
    return Largest(-values.min()), Largest(values.max())


def stretch(values: FloatArray, weight: float, lowest: float, highest: float) -> FloatArray:
    """Values, with this weight stretched to reach from zero to one.

    Without it, truths and errors of one half are a fixed point.
    """
    if highest - lowest < 1e-12:
        return values
    stretched: FloatArray = (values - lowest) / (highest - lowest)
    return weight * stretched + (1.0 - weight) * values
