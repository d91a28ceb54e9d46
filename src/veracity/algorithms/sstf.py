"""SSTF: known truths and known errors spread over a graph of facts and sources.

Yin, Tan: Semi-Supervised Truth Discovery (WWW 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Algorithm, Memory, Tally, Turn
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import item_sums, popularity, ratio, share_of_item
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.survey import Survey
from veracity.trees import BySource


class Confidences(NamedTuple):
    """Confidence of each source: one if all its claims are true, minus one if none is."""

    confidence: BySource


@dataclass(frozen=True, kw_only=True)
class SSTF(Algorithm[Confidences]):
    """Facts of one source are alike, values of one item exclude each other; known facts decide.

    Parameters
    ----------
    conflict
        How much the values of an item repel each other, in proportion to what binds them to their
        sources.
    pull
        How much each fact is drawn to where a vote has it, in the same proportion: without any, and
        without known truths, all facts would be as true as false.
    max_rounds, tolerance
        It stops when a round moves no source's confidence by `tolerance`.
    """

    name = "sstf"
    kinds = ("categorical",)
    takes_shares = True

    conflict: float = bounded(1.0, at_least=0)
    pull: float = bounded(0.1, above=0)
    max_rounds: int = bounded(200, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Confidences:
        """Take all claims to be true."""
        return Confidences(np.ones(survey.n_sources))

    def tally(self, block: Block, state: Confidences, turn: Turn) -> Tally:
        """Add up the confidences of the facts of each source, and count these."""
        known = block.known_of_fact
        confidence = np.where(known == UNKNOWN, self._confidence(block, state), 2.0 * known - 1.0)
        supported, n_supported, _, _ = kernels.count_votes(
            block, confidence, len(state.confidence)
        ).T
        return supported, n_supported

    def learn(self, state: Confidences, total: Tally) -> Confidences:
        """Learn the mean confidence of the facts of each source."""
        supported, n_supported = total
        mean = ratio(supported, n_supported)
        return Confidences(np.where(n_supported > 0.0, mean, state.confidence))

    def calibrate(self, state: Confidences, prior: PriorRates) -> Confidences:
        """Correct the confidences by the known truths, of which there are few among all facts."""
        right = prior.weigh_known_accuracy((1.0 + state.confidence) / 2.0)
        return Confidences(2.0 * right - 1.0)

    def judge(self, block: Block, state: Confidences, memory: Memory = None) -> FloatArray:
        """Shares of how far the facts of an item are from being false for sure."""
        return share_of_item((1.0 + self._confidence(block, state)) / 2.0, block)

    def trust(self, state: Confidences) -> FloatArray:
        """Return the confidence: from -1 to 1."""
        return state.confidence

    def _confidence(self, block: Block, state: Confidences) -> FloatArray:
        """Return the equilibrium of each fact of an item, given the confidences of the sources.

        With m claims for a fact and t the confidences of their sources, v where the vote has it,
        w the repulsion and k the values of the item,

            m (1 + pull) c + w Σ (c + c' over the other values) = Σ t + m pull v

        which is diagonal but for w times the sum of all c, and so is solved at once.
        """
        own, n_values = block.votes_of_fact, block.n_facts_of_item
        strength = self.conflict * (item_sums(own, block) / n_values) * (n_values > 1)
        repulsion, others = (np.repeat(of_item, n_values) for of_item in (strength, n_values - 2.0))
        drawn = kernels.sum_votes(block, np.zeros_like(state.confidence), state.confidence)
        drawn = drawn + self.pull * own * (2.0 * popularity(block) - 1.0)
        held = own * (1.0 + self.pull) + repulsion * others
        total = item_sums(drawn / held, block) / (1.0 + strength * item_sums(1.0 / held, block))
        confidence = (drawn - repulsion * np.repeat(total, n_values)) / held
        return np.asarray(np.clip(confidence, -1.0, 1.0))
