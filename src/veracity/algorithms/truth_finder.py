"""TruthFinder: the evidence for a fact adds up over its sources, and over similar facts.

Yin, Han, Yu: Truth Discovery with Multiple Conflicting Information Providers on the Web (TKDE
2008).
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
    normalise_odds,
    sigmoid,
)
from veracity.algorithms.checks import require_at_least, require_positive, require_probability
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.sums import Sides, claims_of_sources, earned, hold, votes
from veracity.encode import Block, Claims, FloatArray
from veracity.similarity import BY_KIND, MOST_VALUES, Similarity, SimilarPairs, similar_pairs

__all__ = ["Doubts", "TruthFinder"]

LEAST_DOUBT = float(np.finfo(np.float64).epsneg)
"""No source is doubted less: a trust of one would outweigh any number of others."""


class Doubts(NamedTuple):
    """One less the trust of each source, and how the facts of an item bear on each other."""

    doubt: FloatArray  # not the trust itself: close to one that has no digits left
    n_claims: FloatArray
    has_denials: bool
    pairs: SimilarPairs


@dataclass(frozen=True, kw_only=True)
class TruthFinder(Algorithm[Doubts]):
    """Confidence in a fact: what is left of doubt when the doubts of its sources are multiplied.

    Parameters
    ----------
    similarity
        How similar two values of an item are, from 0 to 1: a similar value speaks for a fact, a
        different one against it. Without (None), values of an item know nothing of each other.
    base_similarity
        The similarity that speaks neither for nor against.
    influence
        How much similar facts weigh, rho in the paper.
    dampening
        How much evidence weighs, as sources may copy, gamma in the paper.
    initial_trust
        The trust of every source before the first round.
    most_values
        Values of an item with more than these are not compared: pairs grow with their square.
    max_rounds, tolerance
        It stops when 1 - cos(trust, trust before) is below `tolerance`.
    """

    name = "truth-finder"
    learns_from = "all"

    similarity: Similarity | None = BY_KIND
    base_similarity: float = 0.5
    influence: float = 0.5
    dampening: float = 0.3
    initial_trust: float = 0.9
    most_values: int = MOST_VALUES
    max_rounds: int = 100
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        require_at_least(self, 0.0, base_similarity=self.base_similarity, influence=self.influence)
        require_positive(self, dampening=self.dampening, tolerance=self.tolerance)
        require_probability(self, initial_trust=self.initial_trust)
        require_at_least(self, 1, most_values=self.most_values, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Doubts]:
        """All sources are trusted equally; the values of each item are compared, once."""
        n_claims, has_denials = claims_of_sources(claims)
        doubt = np.full(claims.n_sources, 1.0 - self.initial_trust)
        return (), Doubts(doubt, n_claims, has_denials, self._pairs(claims))

    def study(
        self, block: Block, memory: Memory, reliability: Doubts, turn: Turn
    ) -> tuple[Memory, Tally]:
        """The doubt of a source: the mean of the doubts in its claims.

        1 - t(s) = Σ (1 - s(c)) / |C_s|, where s(c) = 1 / (1 + exp(-gamma sigma*(c))).
        """
        evidence = self._evidence(block, reliability)
        fact, denial = (sigmoid(-self.dampening * side) for side in evidence)
        # To doubt a fact is to believe its denial, so they change places where truths are known.
        denial, fact = hold(block, Sides(denial, fact), has_denials=True)
        denial = denial if reliability.has_denials else np.zeros_like(denial)
        total = earned(block, Sides(fact, denial), len(reliability.doubt))
        return memory, (total / reliability.n_claims,)

    def learn(self, reliability: Doubts, tally: Tally) -> Doubts:
        """Take the new doubts."""
        return reliability._replace(doubt=np.maximum(tally[0], LEAST_DOUBT))

    def change(self, before: Doubts, after: Doubts) -> float:
        """One less the cosine of the trusts before and after."""
        one, other = _direction(1.0 - before.doubt), _direction(1.0 - after.doubt)
        return float(((one - other) ** 2).sum() / 2.0)  # 1 - one·other, without cancellation

    def judge(
        self, block: Block, memory: Memory, reliability: Doubts, single_truth: bool
    ) -> FloatArray:
        """The confidences s(c), made to add up to one over what excludes one another.

        That is an item's facts under a single truth, a fact and its denial elsewhere.
        """
        fact, denial = self._evidence(block, reliability)
        if single_truth:
            return normalise_odds(self.dampening * fact, block)
        return sigmoid(self.dampening * (fact - denial))

    def trust(self, reliability: Doubts) -> FloatArray:
        """The trustworthiness t(s)."""
        return 1.0 - reliability.doubt

    def weights(self, claims: Claims, memory: Memory, reliability: Doubts) -> Weights:
        """Gamma tau(s), of which similar facts have their share; or the same against a denial."""
        evidence = -self.dampening * np.log(reliability.doubt)
        if reliability.has_denials:
            evidence = (1.0 + self._against()) * evidence
            return Weights(evidence, -evidence, "sigmoid")
        one, other, similarity = reliability.pairs
        pairs = (one, other, self.influence * (similarity - self.base_similarity))
        return Weights(evidence, np.zeros_like(evidence), "softmax", pairs=pairs)

    def _against(self) -> float:
        """How far evidence for a fact speaks against its denial."""
        return self.influence * self.base_similarity * (self.similarity is not None)

    def _pairs(self, claims: Claims) -> SimilarPairs:
        """The pairs of values that are compared: none where several of an item may be true."""
        if self.similarity is None or claims.kind != "categorical" or claims.value_of_fact is None:
            return SimilarPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        first = claims.all.first_fact_of_item
        return similar_pairs(claims.value_of_fact, first, self.similarity, self.most_values)

    def _evidence(self, block: Block, doubts: Doubts) -> Sides:
        """sigma*(c) = sigma(c) + rho Σ sigma(c') imp(c' → c), sigma(c) = Σ -log(1 - t(s)).

        The second sum goes over the sources of c. The implication imp(c' → c) is the similarity of
        the two values less the base similarity; a fact and its denial have nothing in common.
        """
        fact, denial = votes(block, -np.log(doubts.doubt), doubts.has_denials)
        if doubts.has_denials:
            against = self._against()
            return Sides(fact - against * denial, denial - against * fact)
        one, other, similarity = doubts.pairs
        implication = self.influence * (similarity - self.base_similarity)
        to_one = np.bincount(one, fact[other] * implication, len(fact))
        to_other = np.bincount(other, fact[one] * implication, len(fact))
        return Sides(fact + to_one + to_other, denial)


def _direction(vector: FloatArray) -> FloatArray:
    """The vector, of length one."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else vector
