"""2-Estimates, 3-Estimates, Cosine: truths and errors estimated from each other.

Galland, Abiteboul, Marian, Senellart: Corroborating Information from Disagreeing Views (WSDM 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Algorithm, Memory, Phase, Step, Tally, Turn, clamp_known
from veracity.algorithms.parameters import bounded, require_at_least
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, plausibilities, ratio, scores, share_of_item
from veracity.encoding.block import SAME, UNKNOWN, Block, BoolArray, FloatArray
from veracity.encoding.survey import Largest, Survey
from veracity.trees import BySource

SHORTEST = 1e-12
"""Minimum length of a vector of truths that has a direction."""

# In 3-Estimates, values are divided by each other and rounded at one half, round after round: the
# last bit of a sum, which depends on the order of the sources, would decide. So sums are made of
# multiples of a power of two that are small enough for floats to add up exactly, in any order.

LEAST = 2.0**-10
"""Smallest error or difficulty that does not count as zero; its inverse is 1,024."""

SHARE_GRID, QUOTIENT_GRID = 2.0**-30, 2.0**-22
"""Units of shares, and of quotients by them: two million of these add up exactly."""


class Errors(NamedTuple):
    """Error of each source; the range of the truths that follow; the number of rounds so far."""

    error: BySource
    lowest: float
    highest: float
    rounds: int
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class TwoEstimates(Algorithm[Errors]):
    """Truth of a fact: the mean of its claims, discounted by their sources' errors.

    Parameters
    ----------
    initial_error
        Error rate of every source at the start.
    steps
        Number of rounds in which the stretching fades out: its weight falls linearly from one to
        zero.
    max_rounds, tolerance
        It stops when a round moves no error by `tolerance`, once the stretching has faded out.
    """

    name = "two-estimates"
    takes_shares = True

    initial_error: float = bounded(0.2, above=0, below=1)
    steps: int = bounded(10, at_least=1)
    max_rounds: int = 100
    tolerance: float = bounded(1e-4, above=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, self.steps + 1, "steps + 1", max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Errors:
        """Let all sources err equally."""
        error = np.full(survey.n_sources, self.initial_error)
        return Errors(error, 0.0, 1.0, 0, survey.single_truth)

    def phases(self, state: Errors) -> tuple[Phase[Errors], ...]:
        """Return rounds: the range of the truths first, then the errors.

        Stretching moves the errors until it has faded out, so there are more rounds than steps.
        """
        steps = Step(self.tally_range, self.learn_range), Step(self.tally, self.learn)
        return (Phase("rounds", steps, self.change, min_rounds=self.steps + 1),)

    def tally_range(self, block: Block, state: Errors, turn: Turn) -> Tally:
        """Find the lowest and the highest truth."""
        return range_of(self._truth(block, state))

    def learn_range(self, state: Errors, total: Tally) -> Errors:
        """Learn the range of the truths."""
        return state._replace(lowest=-float(total[0]), highest=float(total[1]))

    def tally(self, block: Block, state: Errors, turn: Turn) -> Tally:
        """Estimate the truths, stretched with the weight of this round, and sum up the errors."""
        truth = stretch(self._truth(block, state), self._weight(state), state.lowest, state.highest)
        counts = kernels.count_votes(block, clamp_known(truth, block), len(state.error))
        supports_of_true, supports, true, facts = counts.T
        wrong = (supports - supports_of_true) + (true - supports_of_true)
        return wrong, facts, np.count_nonzero(block.known_of_fact != UNKNOWN)

    def learn(self, state: Errors, total: Tally) -> Errors:
        """Learn the errors, stretched towards [0, 1]; flip all of them if most claims seem wrong.

        With known truths nothing is flipped, since they show the right direction.
        """
        wrong, facts, n_known = total
        error = ratio(wrong, facts)
        error = stretch(error, self._weight(state), float(error.min()), float(error.max()))
        mean = round(float(np.average(error, weights=facts)), SAME)  # just one half stays so
        is_flipped = n_known == 0 and mean > 0.5
        error = 1.0 - error if is_flipped else error
        return state._replace(error=np.asarray(error), rounds=state.rounds + 1)

    def weigh(self, block: Block, state: Errors, memory: Memory = None) -> Weights:
        """Weigh 1 - error for, the error against a fact: the truth is the mean, not stretched."""
        return Weights("share" if state.single_truth else "mean", 1.0 - state.error, state.error)

    def trust(self, state: Errors) -> FloatArray:
        """Return one less the error."""
        return 1.0 - state.error

    def _truth(self, block: Block, state: Errors) -> FloatArray:
        """Return the mean over the claims on a fact of 1 - error if positive, else of the error."""
        voices = np.repeat(block.votes_of_item, block.n_facts_of_item)
        return np.asarray(scores(block, self.weigh(block, state)) / voices)

    def _weight(self, state: Errors) -> float:
        """Return the weight of the stretching in this round."""
        return max(0.0, 1.0 - state.rounds / self.steps)


def range_of(values: FloatArray) -> tuple[Largest, Largest]:
    """Return the lowest value, negated, and the highest: in this form they merge."""
    return Largest(-values.min()), Largest(values.max())


def stretch(values: FloatArray, weight: float, lowest: float, highest: float) -> FloatArray:
    """Stretch values, with this weight, to reach from zero to one.

    Without it, truths and errors of one half are a fixed point.
    """
    if highest - lowest < 1e-12:
        return values
    stretched: FloatArray = (values - lowest) / (highest - lowest)
    return weight * stretched + (1.0 - weight) * values


class Difficulties(NamedTuple):
    """Error of each source, and the range of truths and difficulties in this round.

    The difficulty of each fact is stored with its block.
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

    initial_error: float = bounded(0.1, above=0, below=1)
    initial_difficulty: float = bounded(0.1, above=0, below=1)
    stretching: float = bounded(0.5, above=0, below=1)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Difficulties:
        """Let all sources err equally."""
        error = _on_grid(np.full(survey.n_sources, self.initial_error))
        return Difficulties(error, (0.0, 1.0), (0.0, 1.0), survey.single_truth)

    def phases(self, state: Difficulties) -> tuple[Phase[Difficulties], ...]:
        """Return rounds: the range of the truths, that of the difficulties, then the errors."""
        steps = (
            Step(self.tally_truths, self.learn_truths),
            Step(self.tally_difficulties, self.learn_difficulties),
            Step(self.tally, self.learn, remembers=True),
        )
        return (Phase("rounds", steps, self.change),)

    def tally_truths(self, block: Block, state: Difficulties, turn: Turn) -> Tally:
        """Find the lowest and the highest truth."""
        return range_of(_truth(block, state.error, self._difficulty(block, turn.memory)))

    def learn_truths(self, state: Difficulties, total: Tally) -> Difficulties:
        """Learn the range of the truths."""
        return state._replace(truths=(-float(total[0]), float(total[1])))

    def tally_difficulties(self, block: Block, state: Difficulties, turn: Turn) -> Tally:
        """Find the lowest and the highest difficulty."""
        return range_of(self._new_difficulty(block, state, turn.memory)[1])

    def learn_difficulties(self, state: Difficulties, total: Tally) -> Difficulties:
        """Learn the range of the difficulties."""
        return state._replace(difficulties=(-float(total[0]), float(total[1])))

    def tally(self, block: Block, state: Difficulties, turn: Turn) -> tuple[Tally, FloatArray]:
        """Sum up the errors; the difficulties, stretched, are stored with the block."""
        truth, raw = self._new_difficulty(block, state, turn.memory)
        difficulty = self._tidy(raw, *state.difficulties)
        return _errors(block, truth, difficulty, len(state.error)), difficulty

    def learn(self, state: Difficulties, total: Tally) -> Difficulties:
        """Learn the mean, over claims on hard facts, of (1 - truth) / difficulty, or truth / it."""
        wrong, n_hard = total
        error = np.where(n_hard > 0, _on_grid(wrong / np.maximum(n_hard, 1.0)), state.error)
        return state._replace(error=self._tidy(error, float(error.min()), float(error.max())))

    def judge(self, block: Block, state: Difficulties, memory: Memory = None) -> FloatArray:
        """Return the truths, not stretched; under a single truth, their shares of the item.

        Facts that are new are as difficult as all were at the start.
        """
        difficulty = self._difficulty(block, memory)
        truth = np.clip(_truth(block, state.error, difficulty), 0.0, 1.0)
        return share_of_item(truth, block) if state.single_truth else truth

    def trust(self, state: Difficulties) -> FloatArray:
        """Return one less the error."""
        return 1.0 - state.error

    def _difficulty(self, block: Block, memory: Memory) -> FloatArray:
        if memory is None:
            return _on_grid(np.full(block.n_facts, self.initial_difficulty))
        return np.asarray(memory)

    def _new_difficulty(
        self, block: Block, state: Difficulties, memory: Memory
    ) -> tuple[FloatArray, FloatArray]:
        """Return the truths, stretched, and the difficulties that follow, not yet stretched."""
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
    """Return the nearest multiples of `grid`: see `SHARE_GRID`."""
    return np.asarray(np.round(values / grid) * grid)


def _inverse(shares: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the inverse of each share (0 for a share of 0), and which shares are above 0."""
    is_some = shares > 0.0
    inverse = np.where(is_some, 1.0 / np.where(is_some, shares, 1.0), 0.0)
    return _on_grid(inverse, QUOTIENT_GRID), is_some


def _truth(block: Block, error: FloatArray, difficulty: FloatArray) -> FloatArray:
    """Return the mean over claims of 1 - error · difficulty if positive, else of the product."""
    erring: FloatArray = kernels.sum_votes(block, error, -2.0 * error)
    return _on_grid((block.n_supports_of_fact + difficulty * erring) / block.n_voices_of_fact)


def _difficulty(
    block: Block, error: FloatArray, truth: FloatArray, before: FloatArray
) -> FloatArray:
    """Return the mean over claims of sources that err of (1 - truth) / error, or truth / error."""
    inverse, errs = _inverse(error)
    of_voices = _sum_over_voices(block, inverse)
    of_supports = kernels.sum_votes(block, np.zeros_like(error), inverse)
    n_erring = _sum_over_voices(block, errs.astype(np.float64))
    total = (1.0 - truth) * of_supports + truth * (of_voices - of_supports)
    return np.where(n_erring > 0, _on_grid(total / np.maximum(n_erring, 1.0)), before)


def _errors(block: Block, truth: FloatArray, difficulty: FloatArray, n_sources: int) -> Tally:
    """Sum up (1 - truth) / difficulty, or truth / it, over the claims on facts with difficulty."""
    inverse, hard = _inverse(difficulty)
    if_true, if_false = (_on_grid(x * inverse, QUOTIENT_GRID) for x in (1.0 - truth, truth))
    false_supports = kernels.count_votes(block, if_true, n_sources)[:, 0]
    of_true = kernels.count_votes(block, if_false, n_sources)
    n_hard = kernels.count_votes(block, hard.astype(np.float64), n_sources)[:, 2]
    return false_supports + of_true[:, 2] - of_true[:, 0], n_hard


def _sum_over_voices(block: Block, number_of_source: FloatArray) -> FloatArray:
    """Return, for every fact, the sum over all voices of its item."""
    total: FloatArray = kernels.sum_votes(block, number_of_source, np.zeros_like(number_of_source))
    return total


class Directions(NamedTuple):
    """Trust in each source: one if all its claims are true, minus one if all are false."""

    trust: BySource
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class Cosine(Algorithm[Directions]):
    """Claims are 1 or -1, truths lie between: trust is the cosine of the angle between them.

    Parameters
    ----------
    damping
        Share of the old trust that remains in each round.
    power
        A vote is a trust to this power: with a higher power, the most trusted sources decide more.
    max_rounds, tolerance
        It stops when a round moves no trust by `tolerance`.
    """

    name = "cosine"
    takes_shares = True

    damping: float = bounded(0.8, at_least=0, at_most=1)
    power: float = bounded(3.0, above=0)
    max_rounds: int = bounded(200, at_least=1)
    tolerance: float = bounded(1e-3, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Directions:
        """Trust all sources fully."""
        return Directions(np.ones(survey.n_sources), survey.single_truth)

    def tally(self, block: Block, state: Directions, turn: Turn) -> Tally:
        """Sum the agreement of the claims of each source with the truths."""
        truth = self._truth(block, state)
        supported, _, spoken, n_facts = kernels.count_votes(block, truth, len(state.trust)).T
        squares = kernels.count_votes(block, truth * truth, len(state.trust))[:, 2]
        return 2.0 * supported - spoken, n_facts, squares

    def learn(self, state: Directions, total: Tally) -> Directions:
        """Learn the cosine, damped: (Σ truths claimed - Σ truths denied) / √(facts · Σ truth²)."""
        product, n_facts, squares = total
        length = np.sqrt(n_facts * squares)
        is_some = length > SHORTEST
        cosine = np.clip(product / np.where(is_some, length, 1.0), -1.0, 1.0)
        damped = self.damping * state.trust + (1.0 - self.damping) * cosine
        return state._replace(trust=np.where(is_some, damped, state.trust))

    def weigh(self, block: Block, state: Directions, memory: Memory = None) -> Weights:
        """Weigh votes by a power of the trust; sources with negative trust vote the other way.

        Under a single truth, plausibilities are shares of the item, as all its values exclude one
        another.
        """
        vote = self._vote(state)
        if state.single_truth:
            return Weights("share", np.maximum(vote, 0.0), np.maximum(-vote, 0.0))
        return Weights("balance", vote, -vote)

    def trust(self, state: Directions) -> FloatArray:
        """Return the cosine: from -1 to 1."""
        return state.trust

    def _vote(self, state: Directions) -> FloatArray:
        return np.asarray(np.sign(state.trust) * np.abs(state.trust) ** self.power)

    def _truth(self, block: Block, state: Directions) -> FloatArray:
        """Return (Σ votes for - Σ votes against) / Σ |votes|; 1 or -1 for known facts."""
        vote = self._vote(state)
        truth = 2.0 * plausibilities(block, Weights("balance", vote, -vote)) - 1.0
        known = block.known_of_fact
        return np.where(known == UNKNOWN, truth, 2.0 * known - 1.0)
