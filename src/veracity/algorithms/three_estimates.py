"""3-Estimates: 2-Estimates with a difficulty for every fact.

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
from veracity.algorithms.rules import share_of_item
from veracity.algorithms.two_estimates import range_of, stretch
from veracity.encoding.block import Block, BoolArray, FloatArray
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels

# What follows is divided by itself and rounded at one half, round after round: the last bit of a
# sum, which hangs on the order of the sources, would decide. So sums are made of multiples of a
# power of two that are small enough for floats to add them up exactly, in whatever order.

LEAST = 2.0**-10
"""An error or a difficulty below this is none, and not divided by: one over it is at most 1,024."""

SHARE_GRID, QUOTIENT_GRID = 2.0**-30, 2.0**-22
"""What shares, and what quotients by them, are multiples of: two million add up exactly."""


class Difficulties(NamedTuple):
    """How often each source errs, and how far truths and difficulties reach in this round.

    The difficulty of each fact is kept beside its block.
    """

    error: BySource
    truths: tuple[float, float]
    difficulties: tuple[float, float]
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class ThreeEstimates(Algorithm[Difficulties]):
    """A source errs on a fact with probability error times difficulty.

    Parameters
    ----------
    initial_error, initial_difficulty
        How often every source is thought to err, and how difficult every fact to be, at the start.
    stretching
        After each step, values are replaced by a mean of themselves stretched to the whole of
        [0, 1], with this weight, and themselves rounded to zero or one. (Letting the stretching
        fade out, as in 2-Estimates, lets errors and difficulties drift apart: only their product
        is fixed by the claims.)
    max_rounds, tolerance
        It stops when a round moves no error by `tolerance`.
    """

    name = "three-estimates"
    state_type = Difficulties

    initial_error: float = 0.1
    initial_difficulty: float = 0.1
    stretching: float = 0.5
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_probability(
            self, initial_error=self.initial_error, initial_difficulty=self.initial_difficulty
        )
        require_probability(self, stretching=self.stretching)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Difficulties:
        """All sources err equally."""
        error = _on_grid(np.full(survey.n_sources, self.initial_error))
        return Difficulties(error, (0.0, 1.0), (0.0, 1.0), survey.single_truth)

    def phases(self, state: Difficulties) -> tuple[Phase[Difficulties], ...]:
        """In every round: how far the truths reach, how far the difficulties, then the errors."""
        steps = (
            Step(self.tally_truths, self.learn_truths),
            Step(self.tally_difficulties, self.learn_difficulties),
            Step(self.tally, self.learn, remembers=True),
        )
        return (Phase("rounds", steps, self.change),)

    def tally_truths(self, block: Block, state: Difficulties, turn: Turn) -> Tally:
        """The lowest and the highest truth."""
        return range_of(_truth(block, state.error, self._difficulty(block, turn.memory)))

    def learn_truths(self, state: Difficulties, total: Tally) -> Difficulties:
        """How far the truths reach."""
        return state._replace(truths=(-float(total[0]), float(total[1])))

    def tally_difficulties(self, block: Block, state: Difficulties, turn: Turn) -> Tally:
        """The lowest and the highest difficulty."""
        return range_of(self._new_difficulty(block, state, turn.memory)[1])

    def learn_difficulties(self, state: Difficulties, total: Tally) -> Difficulties:
        """How far the difficulties reach."""
        return state._replace(difficulties=(-float(total[0]), float(total[1])))

    def tally(self, block: Block, state: Difficulties, turn: Turn) -> tuple[Tally, FloatArray]:
        """What the claims say of the errors; the difficulties, stretched, are kept."""
        truth, raw = self._new_difficulty(block, state, turn.memory)
        difficulty = self._tidy(raw, *state.difficulties)
        return _errors(block, truth, difficulty, len(state.error)), difficulty

    def learn(self, state: Difficulties, total: Tally) -> Difficulties:
        """The mean, over claims on hard facts, of (1 - truth) / difficulty, or truth / it."""
        wrong, n_hard = total
        error = np.where(n_hard > 0, _on_grid(wrong / np.maximum(n_hard, 1.0)), state.error)
        return state._replace(error=self._tidy(error, float(error.min()), float(error.max())))

    def change(self, before: Difficulties, after: Difficulties) -> float:
        """The largest move of any error."""
        return float(np.abs(after.error - before.error).max())

    def judge(self, block: Block, state: Difficulties, memory: Memory = None) -> FloatArray:
        """The truths, not stretched; under a single truth, their shares of the item.

        Facts that are new are as difficult as all were at the start.
        """
        difficulty = self._difficulty(block, memory)
        truth = np.clip(_truth(block, state.error, difficulty), 0.0, 1.0)
        return share_of_item(truth, block) if state.single_truth else truth

    def trust(self, state: Difficulties) -> FloatArray:
        """One less the error."""
        return 1.0 - state.error

    def _difficulty(self, block: Block, memory: Memory) -> FloatArray:
        if memory is None:
            return _on_grid(np.full(block.n_facts, self.initial_difficulty))
        return np.asarray(memory)

    def _new_difficulty(
        self, block: Block, state: Difficulties, memory: Memory
    ) -> tuple[FloatArray, FloatArray]:
        """The truths, stretched, and the difficulties that follow, not yet stretched."""
        before = self._difficulty(block, memory)
        truth = self._tidy(_truth(block, state.error, before), *state.truths)
        truth = clamp_known(truth, block)
        return truth, _difficulty(block, state.error, truth, before)

    def _tidy(self, values: FloatArray, lowest: float, highest: float) -> FloatArray:
        rounded = np.round(np.clip(values, 0.0, 1.0))
        stretched = stretch(values, 1.0, lowest, highest)
        mixed = self.stretching * stretched + (1.0 - self.stretching) * rounded
        return _on_grid(np.where(mixed < LEAST, 0.0, mixed))


def _on_grid(values: FloatArray, grid: float = SHARE_GRID) -> FloatArray:
    """The nearest multiples of `grid`: see the top of this module."""
    return np.asarray(np.round(values / grid) * grid)


def _inverse(shares: FloatArray) -> tuple[FloatArray, BoolArray]:
    """One over each share, and which are any: nothing stands for one over none."""
    is_some = shares > 0.0
    inverse = np.where(is_some, 1.0 / np.where(is_some, shares, 1.0), 0.0)
    return _on_grid(inverse, QUOTIENT_GRID), is_some


def _truth(block: Block, error: FloatArray, difficulty: FloatArray) -> FloatArray:
    """Mean over claims of 1 - error * difficulty where positive, error * difficulty where not."""
    erring: FloatArray = kernels.sum_votes(block, error, -2.0 * error)
    return _on_grid((block.n_supports_of_fact + difficulty * erring) / block.n_voices_of_fact)


def _difficulty(
    block: Block, error: FloatArray, truth: FloatArray, before: FloatArray
) -> FloatArray:
    """Mean over claims of sources that err of (1 - truth) / error, or truth / error."""
    inverse, errs = _inverse(error)
    of_voices = _sum_over_voices(block, inverse)
    of_supports = kernels.sum_votes(block, np.zeros_like(error), inverse)
    n_erring = _sum_over_voices(block, errs.astype(np.float64))
    total = (1.0 - truth) * of_supports + truth * (of_voices - of_supports)
    return np.where(n_erring > 0, _on_grid(total / np.maximum(n_erring, 1.0)), before)


def _errors(block: Block, truth: FloatArray, difficulty: FloatArray, n_sources: int) -> Tally:
    """Sums over claims on facts with difficulty of (1 - truth) / difficulty, or truth / it."""
    inverse, hard = _inverse(difficulty)
    if_true, if_false = (_on_grid(x * inverse, QUOTIENT_GRID) for x in (1.0 - truth, truth))
    false_supports = kernels.count_votes(block, if_true, n_sources)[:, 0]
    of_true = kernels.count_votes(block, if_false, n_sources)
    n_hard = kernels.count_votes(block, hard.astype(np.float64), n_sources)[:, 2]
    return false_supports + of_true[:, 2] - of_true[:, 0], n_hard


def _sum_over_voices(block: Block, number_of_source: FloatArray) -> FloatArray:
    """For every fact, the sum over all voices of its item."""
    total: FloatArray = kernels.sum_votes(block, number_of_source, np.zeros_like(number_of_source))
    return total
