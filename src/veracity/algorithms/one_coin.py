"""One-coin Dawid-Skene: each source has a single accuracy, and errs towards all values alike.

Zhang, Chen, Zhou, Jordan: Spectral Methods Meet EM (JMLR 2016) has the model under this name.
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
    hold_known,
    kernels,
    share_of_item,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.dawid_skene import label_of_facts
from veracity.algorithms.prior import PriorRates
from veracity.encode import Block, Claims, FloatArray

__all__ = ["Coins", "OneCoin"]

SUREST = 1e-6
"""No accuracy comes closer to zero or one than this."""


class Coins(NamedTuple):
    """Accuracy of each source, ``share[k]``: P(label k is true), and how likely."""

    accuracy: FloatArray
    share: FloatArray
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class OneCoin(Algorithm[Coins]):
    """Accuracies under which the claims are most likely, by expectation maximisation.

    Any number of distinct values will do: those that nobody claims of an item are counted together.

    Parameters
    ----------
    max_rounds, tolerance
        It stops when a round moves no accuracy and no share of a value by `tolerance`.
    """

    name = "one-coin"
    kinds = ("categorical",)

    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Coins]:
        """Measure the sources against the vote."""
        label_of_fact, n_labels = label_of_facts(claims)
        block = claims.all
        supports = np.diff(block.first_support_of_fact).astype(np.float64)
        vote = hold_known(share_of_item(supports, block), block)
        counts = kernels.count_votes(block, vote, claims.n_sources)
        total = np.bincount(label_of_fact, vote, n_labels)
        empty = Coins(np.empty(0), np.empty(n_labels), -np.inf)
        return (label_of_fact,), self.learn(empty, (counts, total, -np.inf))

    def study(
        self, block: Block, memory: Memory, reliability: Coins, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts, and count how the sources' words met them (E step)."""
        label_of_fact, share = memory[0], reliability.share
        plausibility, log_evidence = _judge(block, label_of_fact, reliability)
        counts = kernels.count_votes(block, plausibility, len(reliability.accuracy))
        # A label nobody claims of item i keeps its share / evidence of i; as if for all items,
        # less those where it is claimed.
        unclaimed = np.exp(-log_evidence)
        claimed = plausibility - share[label_of_fact] * unclaimed[block.item_of_fact]
        total = np.bincount(label_of_fact, claimed, len(share)) + share * unclaimed.sum()
        if_all_wrong = np.log1p(-reliability.accuracy) - np.log(max(len(share) - 1, 1))
        return memory, (counts, total, log_evidence.sum() + counts[:, 1] @ if_all_wrong)

    def learn(self, reliability: Coins, tally: Tally) -> Coins:
        """The accuracies that are most likely given the counts (M step)."""
        counts, total, log_likelihood = tally
        accuracy = counts[:, 0] / np.maximum(counts[:, 1], 1.0)
        total = np.maximum(total, SUREST)
        return reliability._replace(
            accuracy=np.clip(accuracy, SUREST, 1.0 - SUREST),
            share=total / total.sum(),
            log_likelihood=float(log_likelihood),
        )

    def change(self, before: Coins, after: Coins) -> float:
        """The largest move of any accuracy or share."""
        move = np.abs(after.accuracy - before.accuracy).max()
        return float(max(move, np.abs(after.share - before.share).max()))

    def settle(self, reliability: Coins, prior: PriorRates) -> Coins:
        """Correct the accuracies by the known truths."""
        return reliability._replace(accuracy=prior.weigh_known_accuracy(reliability.accuracy))

    def judge(
        self, block: Block, memory: Memory, reliability: Coins, single_truth: bool
    ) -> FloatArray:
        """The probability of the value; what it gives to values nobody claims is left out."""
        return _judge(block, memory[0], reliability)[0]

    def weights(self, claims: Claims, memory: Memory, reliability: Coins) -> Weights:
        """A source's odds; before any claim, the share of the label among all."""
        odds, label_of_fact = _log_odds(reliability), memory[0]
        return Weights(
            odds,
            np.zeros_like(odds),
            "softmax",
            prior=np.log(reliability.share[label_of_fact]),
            unclaimed=_log_rest(claims.all, label_of_fact, reliability),
        )

    def trust(self, reliability: Coins) -> FloatArray:
        """The accuracy."""
        return reliability.accuracy


def _judge(block: Block, label_of_fact: FloatArray, coins: Coins) -> tuple[FloatArray, FloatArray]:
    """Plausibility of each fact, and each item's log-evidence relative to all claims being wrong.

    A label's odds against one that nobody claims: its share times, for every source that names it,
    accuracy (K - 1) / (1 - accuracy).
    """
    odds = _log_odds(coins)
    score = kernels.sum_votes(block, np.zeros_like(odds), odds) + np.log(coins.share[label_of_fact])
    first = block.first_fact_of_item[:-1]
    log_rest = _log_rest(block, label_of_fact, coins)
    log_evidence = np.logaddexp(np.logaddexp.reduceat(score, first), log_rest)
    evidence_of_fact = np.repeat(log_evidence, np.diff(block.first_fact_of_item))
    return hold_known(np.exp(score - evidence_of_fact), block), log_evidence


def _log_odds(coins: Coins) -> FloatArray:
    """What a source's word weighs: log(accuracy (K - 1) / (1 - accuracy))."""
    n_others = max(len(coins.share) - 1, 1)
    return np.asarray(np.log(coins.accuracy) - np.log1p(-coins.accuracy) + np.log(n_others))


def _log_rest(block: Block, label_of_fact: FloatArray, coins: Coins) -> FloatArray:
    """For each item, the logarithm of the share of all labels that nobody claims of it."""
    claimed = np.add.reduceat(coins.share[label_of_fact], block.first_fact_of_item[:-1])
    return np.log(np.maximum(1.0 - claimed, np.finfo(np.float64).tiny))
