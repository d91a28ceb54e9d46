"""What every algorithm is: *judge* the facts from the reliabilities, *learn* them from the facts.

The loop in `discovery` drives any algorithm through these questions::

    memory, reliability = start(claims, prior)
    each round:  memory, tally = study(block, memory, reliability, turn)     for every block
                 reliability   = learn(reliability, tally)                   tallies added up
                 change(before, after) < tolerance?                          then it has converged
    reliability  = settle(reliability, prior)                                known truths weigh in
    plausibility = judge(block, memory, reliability, single_truth)           for every block; or
    estimates    = estimate(block, memory, reliability)                      if claims are numbers
    rates        = rates(reliability, counts)                                what is told of sources
    weights      = weights(claims, memory, reliability)                      why it judged as it did

All are pure. `memory` is what is remembered of each fact from round to round (nothing, for most);
the tally is all that ever has to cross between blocks, threads or machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import UNKNOWN, Block, Claims, FloatArray, IntArray
from veracity.kernels.loading import kernels
from veracity.schema import Kind

__all__ = [
    "Algorithm",
    "Copies",
    "Memory",
    "Rates",
    "Rule",
    "Tally",
    "Turn",
    "Weights",
    "hold_known",
    "kernels",
    "logit",
    "normalise_odds",
    "share_of_item",
    "sigmoid",
]

Memory = tuple[NDArray[Any], ...]
"""Arrays with one row a fact."""

Tally = tuple[Any, ...]
"""Numbers and arrays that add up."""

Reliability = TypeVar("Reliability")


class Rates(NamedTuple):
    """What is told of the sources: NaN where nothing was seen that could tell."""

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float


class Copies(NamedTuple):
    """Pairs of sources of which one copies the other, likelier than not; the clearest first.

    `probability` is that of copying in either direction, `source` the likelier copier. The counts
    are expectations: a shared value is true as far as it is plausible.
    """

    source: IntArray
    original: IntArray
    probability: FloatArray
    shared_true: FloatArray
    shared_false: FloatArray
    different: FloatArray


Rule = Literal["softmax", "sigmoid", "share", "mean", "balance", "estimate"]
"""How plausibilities follow from scores; `explain` has them."""


class Weights(NamedTuple):
    """What claims add to the scores of facts, and by which rule plausibilities follow from scores.

    The score of a fact is its prior, plus `support` of every source that supports it, plus `oppose`
    of every other source that speaks on its item. Some algorithms weigh otherwise: by the claim,
    not the source (`of_claim`, in the order of `Tables.claims`, for `support`); by what is claimed
    and what is true (`confusion`, for both, times `of_claim` if there is one); or a claim also adds
    a share of its weight to the facts paired with its own (`pairs`: fact, other fact, share).
    """

    support: FloatArray
    oppose: FloatArray
    rule: Rule
    prior: float | FloatArray = 0.0
    """The score before any claim: one for all facts, or one a fact."""
    power: float = 1.0
    """For shares and balances: of the scores to this power."""
    of_claim: FloatArray | None = None
    pairs: tuple[IntArray, IntArray, FloatArray] | None = None
    confusion: FloatArray | None = None
    """[source, label that is true, label that is claimed]"""
    unclaimed: FloatArray | None = None
    """For a softmax, the score of what nobody claims of each item: log Σ exp over such values."""
    account: Literal["exact", "average"] = "exact"
    """Whether the plausibilities are those of these weights, or these a mean of those drawn by."""


class Turn(NamedTuple):
    """Which round it is, from 1, and the randomness of this round and block."""

    round_number: int
    rng: np.random.Generator


class Algorithm(ABC, Generic[Reliability]):
    """An algorithm's parameters, frozen, with the questions the loop asks of it.

    `learns_from` says when the loop calls `learn`: after every "block", for algorithms that climb
    or sample as they go; after every "sweep" over all blocks, for those that sum first; or from
    "all" claims as one block, for those that need all facts at once, to normalise them say. What
    is not overridden is right for an algorithm that learns nothing.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]] = ("categorical", "multiple", "binary")
    learns_from: ClassVar[Literal["block", "sweep", "all"]] = "sweep"

    prior: Prior = NO_PRIOR
    seed: int = 0
    max_rounds: int = 0
    min_rounds: int = 0
    tolerance: float = 0.0

    @abstractmethod
    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Reliability]:
        """Begin: the memory of all facts, and the reliability before the first round."""

    def is_settled(self, reliability: Reliability) -> bool:
        """Whether there is nothing to learn."""
        return self.max_rounds == 0

    def study(
        self, block: Block, memory: Memory, reliability: Reliability, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Look at one block: the new memory of its facts, and what it tells of the sources."""
        return memory, ()

    def learn(self, reliability: Reliability, tally: Tally) -> Reliability:
        """Take in what the blocks told."""
        return reliability

    def change(self, before: Reliability, after: Reliability) -> float:
        """How far a round moved what matters."""
        return 0.0

    def settle(self, reliability: Reliability, prior: PriorRates) -> Reliability:
        """Let known truths weigh on what was learned."""
        return reliability

    def trust(self, reliability: Reliability) -> FloatArray | None:
        """The algorithm's own score of each source, where it is neither a tpr nor an fpr."""
        return None

    def weights(self, claims: Claims, memory: Memory, reliability: Reliability) -> Weights | None:
        """What each claim weighs in `judge` or `estimate`; None if it does not judge by weights."""
        return None

    def copies(self, reliability: Reliability) -> Copies | None:
        """Pairs of sources of which one seems to copy the other, where the algorithm looks."""
        return None

    def judge(
        self, block: Block, memory: Memory, reliability: Reliability, single_truth: bool
    ) -> FloatArray:
        """Plausibility of each fact of the block; `single_truth`: one fact of each item is true."""
        raise NotImplementedError(f"{self.name} is for numbers")  # `kinds` says so beforehand

    def estimate(
        self, block: Block, memory: Memory, reliability: Reliability
    ) -> tuple[FloatArray, FloatArray]:
        """For numeric claims: the number each item is estimated at, and its standard error."""
        raise NotImplementedError(f"{self.name} is not for numbers")

    def rates(self, reliability: Reliability, counts: FloatArray) -> Rates:
        """What is told of the sources; `counts` is `count_votes` of the final plausibilities."""
        supports_of_true, supports, true, facts = counts.T
        return Rates(
            _share(supports_of_true, true),
            _share(supports - supports_of_true, facts - true),
            float(true.sum() / facts.sum()),
        )


def normalise_odds(log_odds: FloatArray, block: Block) -> FloatArray:
    """Plausibilities of facts of which one per item is true, from those of independent facts.

    p* = odds / Σ odds over the item's facts: the posterior given that exactly one is true. Keeps
    the order of the facts.
    """
    return np.asarray(kernels.normalise_log(log_odds, block.first_fact_of_item))


def share_of_item(score: FloatArray, block: Block) -> FloatArray:
    """Scores, none negative, as shares of their item's total: what a single truth makes of them."""
    first, n_facts_of_item = block.first_fact_of_item[:-1], np.diff(block.first_fact_of_item)
    total = np.repeat(np.add.reduceat(score, first), n_facts_of_item)
    share = score / np.where(total > 0.0, total, 1.0)
    return np.where(total > 0.0, share, 1.0 / np.repeat(n_facts_of_item, n_facts_of_item))


def hold_known(plausibility: FloatArray, block: Block) -> FloatArray:
    """Plausibilities, with what is known of facts in the place of what is thought of them."""
    is_known = block.known_of_fact != UNKNOWN
    return np.where(is_known, block.known_of_fact, plausibility) if is_known.any() else plausibility


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def logit(p: FloatArray) -> FloatArray:
    """log(p / (1 - p)), finite also where rounding has made p zero or one."""
    smallest = np.finfo(np.float64).tiny
    return np.log(np.maximum(p, smallest)) - np.log(np.maximum(1.0 - p, smallest))


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """``part / whole``, NaN where the whole is nothing."""
    is_some = whole > 1e-9
    return np.where(is_some, np.clip(part / np.where(is_some, whole, 1.0), 0.0, 1.0), np.nan)
