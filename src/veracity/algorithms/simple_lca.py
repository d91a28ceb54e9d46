"""SimpleLCA: each source is honest with a probability, and else names any other value.

Pasternack, Roth: Latent Credibility Analysis (WWW 2013).
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
    logit,
    normalise_odds,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray

__all__ = ["Honesty", "SimpleLCA"]


class Honesty(NamedTuple):
    """How often each source names the true value, and what was known of it beforehand."""

    honesty: FloatArray
    prior: PriorRates


@dataclass(frozen=True, kw_only=True)
class SimpleLCA(Algorithm[Honesty]):
    """Honesties under which claims are most probable, by expectation maximisation.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    strength
        How many claims the prior is worth: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "simple-lca"
    kinds = ("categorical",)

    prior: Prior = NO_PRIOR
    strength: float = 5.0
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, strength=self.strength, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Honesty]:
        """Start from the mode of the prior."""
        nothing_told = np.zeros((claims.n_sources, 4))
        return (), self.learn(Honesty(prior.tpr, prior), (nothing_told,))

    def is_settled(self, reliability: Honesty) -> bool:
        """Where all sources are fixed there is nothing to learn."""
        return bool(reliability.prior.is_fixed.all())

    def study(
        self, block: Block, memory: Memory, reliability: Honesty, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts and count how the sources' words met them (E step)."""
        plausibility = hold_known(self.judge(block, memory, reliability, True), block)
        return memory, (kernels.count_votes(block, plausibility, len(reliability.honesty)),)

    def learn(self, reliability: Honesty, tally: Tally) -> Honesty:
        """H_s = (true claims + strength·tpr) / (claims + strength): the most probable (M step)."""
        prior = reliability.prior
        supports_of_true, supports = tally[0].T[:2]
        honesty = (supports_of_true + self.strength * prior.tpr) / (supports + self.strength)
        return reliability._replace(honesty=np.where(prior.is_fixed, prior.tpr, honesty))

    def change(self, before: Honesty, after: Honesty) -> float:
        """The largest move of any honesty."""
        return float(np.abs(after.honesty - before.honesty).max())

    def settle(self, reliability: Honesty, prior: PriorRates) -> Honesty:
        """Correct the honesties by the known truths."""
        return reliability._replace(honesty=prior.weigh_known_accuracy(reliability.honesty))

    def judge(
        self, block: Block, memory: Memory, reliability: Honesty, single_truth: bool
    ) -> FloatArray:
        """Bayes' rule; before any claim all values of an item are equally likely.

        log P(c | claims) = Σ ln(H_s / ((1 - H_s) / (|Ω| - 1))) over the sources that name c, up to
        a constant of the item: what each would add by naming another value.
        """
        log_odds = logit(reliability.honesty)
        score: FloatArray = kernels.sum_votes(block, np.zeros_like(log_odds), log_odds)
        score = score + np.diff(block.first_support_of_fact) * _log_others(block)
        return normalise_odds(score, block)

    def weights(self, claims: Claims, memory: Memory, reliability: Honesty) -> Weights:
        """ln(H_s / (1 - H_s)), and ln(|Ω| - 1) of the item with each claim."""
        log_odds = logit(reliability.honesty)
        n_supports = np.diff(claims.all.first_support_of_fact)
        of_claim = log_odds[claims.all.source_of_support] + np.repeat(
            _log_others(claims.all), n_supports
        )
        return Weights(log_odds, np.zeros_like(log_odds), "softmax", of_claim=of_claim)

    def trust(self, reliability: Honesty) -> FloatArray:
        """The honesty."""
        return reliability.honesty


def _log_others(block: Block) -> FloatArray:
    """For each fact the logarithm of the number of other facts of its item, zero if none."""
    n_facts_of_item = np.diff(block.first_fact_of_item)
    return np.repeat(np.log(np.maximum(n_facts_of_item - 1.0, 1.0)), n_facts_of_item)
