"""3-Estimates: 2-Estimates with a difficulty for every fact.

Galland, Abiteboul, Marian, Senellart: Corroborating Information from Disagreeing Views (WSDM 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Memory,
    Tally,
    Turn,
    hold_known,
    kernels,
    share_of_item,
)
from veracity.algorithms.checks import require_at_least, require_positive, require_probability
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.two_estimates import stretch
from veracity.encode import Block, Claims, FloatArray

__all__ = ["ThreeEstimates"]


@dataclass(frozen=True, kw_only=True)
class ThreeEstimates(Algorithm[FloatArray]):
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
    learns_from = "all"

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

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, FloatArray]:
        """All sources err equally, all facts are equally difficult."""
        difficulty = np.full(claims.n_facts, self.initial_difficulty)
        return (difficulty,), np.full(claims.n_sources, self.initial_error)

    def study(
        self, block: Block, memory: Memory, reliability: FloatArray, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Estimate truths, then difficulties, then errors, each stretched and kept in [0, 1]."""
        truth = hold_known(self._tidy(_truth(block, reliability, memory[0])), block)
        difficulty = self._tidy(_difficulty(block, reliability, truth, memory[0]))
        error = self._tidy(_error(block, reliability, truth, difficulty))
        return (difficulty,), (error,)

    def learn(self, reliability: FloatArray, tally: Tally) -> FloatArray:
        """Take the new errors."""
        error: FloatArray = tally[0]
        return error

    def change(self, before: FloatArray, after: FloatArray) -> float:
        """The largest move of any error."""
        return float(np.abs(after - before).max())

    def judge(
        self, block: Block, memory: Memory, reliability: FloatArray, single_truth: bool
    ) -> FloatArray:
        """The truths, not stretched; under a single truth, their shares of the item."""
        truth = np.clip(_truth(block, reliability, memory[0]), 0.0, 1.0)
        return share_of_item(truth, block) if single_truth else truth

    def trust(self, reliability: FloatArray) -> FloatArray:
        """One less the error."""
        return 1.0 - reliability

    def _tidy(self, values: FloatArray) -> FloatArray:
        rounded = np.round(np.clip(values, 0.0, 1.0))
        return self.stretching * stretch(values, 1.0) + (1.0 - self.stretching) * rounded


def _truth(block: Block, error: FloatArray, difficulty: FloatArray) -> FloatArray:
    """Mean over claims of 1 - error * difficulty where positive, error * difficulty where not."""
    n_supports = np.diff(block.first_support_of_fact)
    erring: FloatArray = kernels.sum_votes(block, error, -2.0 * error)
    truth: FloatArray = (n_supports + difficulty * erring) / block.n_voices_of_fact
    return truth


def _difficulty(
    block: Block, error: FloatArray, truth: FloatArray, before: FloatArray
) -> FloatArray:
    """Mean over claims of sources that err of (1 - truth) / error, or truth / error."""
    errs = error > 0.0
    inverse = np.where(errs, 1.0 / np.where(errs, error, 1.0), 0.0)
    of_voices = _sum_over_voices(block, inverse)
    of_supports = kernels.sum_votes(block, np.zeros_like(error), inverse)
    n_erring = _sum_over_voices(block, errs.astype(np.float64))
    total = (1.0 - truth) * of_supports + truth * (of_voices - of_supports)
    difficulty: FloatArray = np.where(n_erring > 0, total / np.maximum(n_erring, 1.0), before)
    return difficulty


def _error(
    block: Block, before: FloatArray, truth: FloatArray, difficulty: FloatArray
) -> FloatArray:
    """Mean over claims on facts with difficulty of (1 - truth) / difficulty, or truth / it."""
    hard = difficulty > 0.0
    inverse = np.where(hard, 1.0 / np.where(hard, difficulty, 1.0), 0.0)
    n_sources = len(before)
    false_supports = kernels.count_votes(block, (1.0 - truth) * inverse, n_sources)[:, 0]
    of_true = kernels.count_votes(block, truth * inverse, n_sources)
    n_hard = kernels.count_votes(block, hard.astype(np.float64), n_sources)[:, 2]
    total = false_supports + of_true[:, 2] - of_true[:, 0]
    error: FloatArray = np.where(n_hard > 0, total / np.maximum(n_hard, 1.0), before)
    return error


def _sum_over_voices(block: Block, number_of_source: FloatArray) -> FloatArray:
    """For every fact, the sum over all voices of its item."""
    total: FloatArray = kernels.sum_votes(block, number_of_source, np.zeros_like(number_of_source))
    return total
