"""Cosine: a source is trusted as far as its claims point where the truths point.

Galland, Abiteboul, Marian, Senellart: Corroborating Information from Disagreeing Views (WSDM 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, BySource, Memory, Tally, Turn
from veracity.algorithms.checks import require_at_least, require_positive, require_share
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, plausibilities
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels

SHORTEST = 1e-12
"""Truths that are all but nothing have no direction."""


class Directions(NamedTuple):
    """The trust in each source: one if all it says is true, minus one if all is false."""

    trust: BySource
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class Cosine(Algorithm[Directions]):
    """Claims are 1 or -1, truths lie between: trust is the cosine of the angle between them.

    Parameters
    ----------
    damping
        How much of the old trust is kept in each round.
    power
        A vote is a trust to this power: the more, the more those decide who are trusted most.
    max_rounds, tolerance
        It stops when a round moves no trust by `tolerance`.
    """

    name = "cosine"
    state_type = Directions
    takes_shares = True

    damping: float = 0.8
    power: float = 3.0
    max_rounds: int = 200
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_share(self, damping=self.damping)
        require_positive(self, power=self.power, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Directions:
        """All sources are trusted fully."""
        return Directions(np.ones(survey.n_sources), survey.single_truth)

    def tally(self, block: Block, state: Directions, turn: Turn) -> Tally:
        """How far each source's claims and the truths point the same way."""
        truth = self._truth(block, state)
        supported, _, spoken, n_facts = kernels.count_votes(block, truth, len(state.trust)).T
        squares = kernels.count_votes(block, truth * truth, len(state.trust))[:, 2]
        return 2.0 * supported - spoken, n_facts, squares

    def learn(self, state: Directions, total: Tally) -> Directions:
        """The cosine, damped: (Σ truths claimed - Σ truths denied) / √(facts · Σ truth²)."""
        product, n_facts, squares = total
        length = np.sqrt(n_facts * squares)
        is_some = length > SHORTEST
        cosine = np.clip(product / np.where(is_some, length, 1.0), -1.0, 1.0)
        damped = self.damping * state.trust + (1.0 - self.damping) * cosine
        return state._replace(trust=np.where(is_some, damped, state.trust))

    def change(self, before: Directions, after: Directions) -> float:
        """The largest move of any trust."""
        return float(np.abs(after.trust - before.trust).max())

    def weigh(self, block: Block, state: Directions, memory: Memory = None) -> Weights:
        """A source votes with a power of its trust; one that is distrusted, the other way round.

        Under a single truth, plausibilities are shares of the item, as all its values exclude one
        another.
        """
        vote = self._vote(state)
        if state.single_truth:
            return Weights("share", np.maximum(vote, 0.0), np.maximum(-vote, 0.0))
        return Weights("balance", vote, -vote)

    def trust(self, state: Directions) -> FloatArray:
        """The cosine: from -1 to 1."""
        return state.trust

    def _vote(self, state: Directions) -> FloatArray:
        return np.asarray(np.sign(state.trust) * np.abs(state.trust) ** self.power)

    def _truth(self, block: Block, state: Directions) -> FloatArray:
        """(Σ votes for - Σ votes against) / Σ |votes|, and 1 or -1 where it is known."""
        vote = self._vote(state)
        truth = 2.0 * plausibilities(block, Weights("balance", vote, -vote)) - 1.0
        known = block.known_of_fact
        return np.where(known == UNKNOWN, truth, 2.0 * known - 1.0)
