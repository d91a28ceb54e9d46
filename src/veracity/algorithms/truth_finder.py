"""TruthFinder: the evidence for a fact adds up over its sources, and over similar facts.

Yin, Han, Yu: Truth Discovery with Multiple Conflicting Information Providers on the Web (TKDE
2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, Labels, Memory, Phase, Step, Tally, Turn
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, ratio, scores, sigmoid
from veracity.algorithms.sums import Sides, clamp_sides, earned
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.trees import BySource
from veracity.values import (
    BY_KIND,
    MOST_VALUES,
    Similarity,
    SimilarPairs,
    similar_pairs,
    with_partials,
)

LEAST_DOUBT = float(np.finfo(np.float64).epsneg)
"""Smallest doubt in a source, since a trust of one would outweigh any number of others."""


class Doubts(NamedTuple):
    """Doubts (one less the trust) of each source, its number of claims, and the compared values."""

    doubt: BySource  # not the trust itself: close to one that has no digits left
    n_claims: BySource
    has_denials: bool
    labels: Labels


@dataclass(frozen=True, kw_only=True)
class TruthFinder(Algorithm[Doubts]):
    """Confidence in a fact: one less the product of the doubts of its sources.

    Parameters
    ----------
    similarity
        Similarity of two values of an item, from 0 to 1: a similar value supports a fact, a
        different one opposes it. If None, values of an item do not affect each other.
    base_similarity
        The similarity that neither supports nor opposes.
    influence
        Weight of similar facts, rho in the paper.
    dampening
        Weight of evidence, as sources may copy, gamma in the paper.
    initial_trust
        The trust of every source before the first round.
    most_values
        Values of an item with more than these are not compared: pairs grow with their square.
    max_rounds, tolerance
        It stops when 1 - cos(trust, trust before) is below `tolerance`.
    """

    name = "truth-finder"
    takes_rules = True
    takes_shares = True

    similarity: Similarity | None = BY_KIND
    base_similarity: float = bounded(0.5, at_least=0, at_most=1)
    influence: float = bounded(0.5, at_least=0.0)
    dampening: float = bounded(0.3, above=0)
    initial_trust: float = bounded(0.9, above=0, below=1)
    most_values: int = bounded(MOST_VALUES, at_least=1)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-5, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Doubts:
        """Trust all sources equally."""
        survey.require_labels(self.name)
        doubt = np.full(survey.n_sources, 1.0 - self.initial_trust)
        return Doubts(doubt, survey.claims_of_source, survey.has_denials, survey.names.labels)

    def phases(self, state: Doubts) -> tuple[Phase[Doubts], ...]:
        """Return rounds; the values of each item are compared once."""
        return (Phase("rounds", (Step(self.tally, self.learn, self.pairs),), self.change),)

    def tally(self, block: Block, state: Doubts, turn: Turn) -> Tally:
        """Add up the doubts in the claims of each source.

        1 - t(s) = Σ (1 - s(c)) / |C_s|, where s(c) = 1 / (1 + exp(-gamma sigma*(c))).
        """
        evidence = self._evidence(block, state, turn.memory)
        fact, denial = (sigmoid(-side) for side in evidence)
        # To doubt a fact is to believe its denial, so they change places where truths are known.
        denial, fact = clamp_sides(block, Sides(denial, fact), has_denials=True)
        denial = denial if state.has_denials else np.zeros_like(denial)
        return (earned(block, Sides(fact, denial), len(state.doubt)),)

    def learn(self, state: Doubts, total: Tally) -> Doubts:
        """Learn the doubt of a source: the mean of the doubts in its claims."""
        mean = ratio(total[0], state.n_claims)
        return state._replace(doubt=np.maximum(mean, LEAST_DOUBT))

    def change(self, before: Doubts, after: Doubts) -> float:
        """Return one less the cosine of the trusts before and after."""
        one, other = _direction(1.0 - before.doubt), _direction(1.0 - after.doubt)
        return float(((one - other) ** 2).sum() / 2.0)  # 1 - one·other, without cancellation

    def trust(self, state: Doubts) -> FloatArray:
        """Return the trustworthiness t(s)."""
        return 1.0 - state.doubt

    def pairs(self, block: Block, state: Doubts) -> SimilarPairs:
        """Compare the values of each item, unless several may be true."""
        if self.similarity is None or state.has_denials:
            return SimilarPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        values = state.labels.gather(block.label_of_fact)
        found = similar_pairs(values, block.first_fact_of_item, self.similarity, self.most_values)
        return with_partials(found, block)

    def weigh(self, block: Block, state: Doubts, memory: Memory = None) -> Weights:
        """Return gamma tau(s), which similar facts share, or its negative for a denial.

        The confidences are made to add up to one over what excludes one another: an item's facts
        under a single truth, a fact and its denial elsewhere.
        """
        evidence = -self.dampening * np.log(state.doubt)
        if state.has_denials:
            evidence = (1.0 + self._against()) * evidence
            return Weights("sigmoid", evidence, -evidence)
        one, other, similarity = memory or self.pairs(block, state)
        pairs = (one, other, self.influence * (similarity - self.base_similarity))
        return Weights("softmax", evidence, pairs=pairs)

    def _evidence(self, block: Block, state: Doubts, memory: Memory) -> Sides:
        """Return gamma sigma*(c) of each fact, and of its denial.

        sigma*(c) = sigma(c) + rho Σ sigma(c') imp(c' → c), sigma(c) = Σ -log(1 - t(s)) over the
        sources of c. The implication imp(c' → c) is the similarity of the two values less the base
        similarity; a fact and its denial have nothing in common.
        """
        weights = self.weigh(block, state, memory)
        if not state.has_denials:
            fact = scores(block, weights)
            return Sides(fact, np.zeros_like(fact))
        evidence, against = -self.dampening * np.log(state.doubt), self._against()
        fact = scores(block, Weights("sigmoid", evidence, -against * evidence))
        return Sides(fact, scores(block, Weights("sigmoid", -against * evidence, evidence)))

    def _against(self) -> float:
        """Return how much evidence for a fact counts against its denial."""
        return self.influence * self.base_similarity * (self.similarity is not None)

    def grow(self, state: Doubts, names: Names) -> Doubts:
        """Add new sources as usual; new values are compared like others."""
        return super().grow(state, names)._replace(labels=names.labels)

    def resume(self, state: Doubts, survey: Survey, prior: PriorRates) -> Doubts:
        """Go on from the doubts reached so far, with the claims of all."""
        return self.grow(state, survey.names)._replace(n_claims=survey.claims_of_source)


def _direction(vector: FloatArray) -> FloatArray:
    """Return the vector, of length one."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else vector
