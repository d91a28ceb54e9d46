"""MLE: maximum likelihood by expectation maximisation.

Wang, Kaplan, Le, Abdelzaher: On Truth Discovery in Social Sensing: A Maximum Likelihood Estimation
Approach (IPSN 2012), with the change of the LTD-RBM paper: a claim may be positive, negative or
missing, and a missing one tells nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Memory,
    Rates,
    Rule,
    Tally,
    Turn,
    Weights,
    hold_known,
    kernels,
    logit,
    normalise_odds,
    sigmoid,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray, IntArray

__all__ = ["MLE", "TwoCoins"]

SUREST = 1e-6
"""No rate comes closer to zero or one than this."""


class TwoCoins(NamedTuple):
    """Each source's tpr and fpr, the prevalence, and the log-likelihood they were learned at."""

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float
    is_fixed: IntArray
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class MLE(Algorithm[TwoCoins]):
    """Rates and prevalence under which the claims are most likely, by expectation maximisation.

    Parameters
    ----------
    prior
        Where the rates start; fixed sources stay. Where no prevalence is given it starts at one
        over the mean number of values an item has, or at one half if items may have several truths.
    learn_prevalence
        Whether the prevalence is learned, as in the original.
    max_rounds, tolerance
        It stops when a round moves no rate by `tolerance`.
    """

    name = "mle"

    prior: Prior = NO_PRIOR
    learn_prevalence: bool = True
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, TwoCoins]:
        """Start from the prior."""
        prevalence = prior.prevalence or claims.usual_prevalence
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        return (), TwoCoins(tpr, fpr, prevalence, prior.is_fixed, -np.inf)

    def study(
        self, block: Block, memory: Memory, reliability: TwoCoins, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts, each for itself, and count how the sources' words met them (E step)."""
        if_true, if_false = _log_joints(block, reliability)
        plausibility = hold_known(sigmoid(if_true - if_false), block)
        counts = kernels.count_votes(block, plausibility, len(reliability.tpr))
        likelihood = np.logaddexp(if_true, if_false).sum()
        return memory, (counts, plausibility.sum(), len(plausibility), likelihood)

    def learn(self, reliability: TwoCoins, tally: Tally) -> TwoCoins:
        """The rates that are most likely given the counts (M step)."""
        counts, true, facts, likelihood = tally
        supports_of_true, supports, spoken_true, spoken = counts.T
        tpr = _share(supports_of_true, spoken_true, reliability.tpr)
        fpr = _share(supports - supports_of_true, spoken - spoken_true, reliability.fpr)
        free = reliability.is_fixed == 0
        prevalence = float(true / facts) if self.learn_prevalence else reliability.prevalence
        return reliability._replace(
            tpr=np.where(free, tpr, reliability.tpr),
            fpr=np.where(free, fpr, reliability.fpr),
            prevalence=min(max(prevalence, SUREST), 1.0 - SUREST),
            log_likelihood=float(likelihood),
        )

    def change(self, before: TwoCoins, after: TwoCoins) -> float:
        """The largest move of any rate or the prevalence."""
        moves = (after.tpr - before.tpr, after.fpr - before.fpr)
        prevalence = abs(after.prevalence - before.prevalence)
        return float(max(prevalence, *(np.abs(move).max() for move in moves)))

    def settle(self, reliability: TwoCoins, prior: PriorRates) -> TwoCoins:
        """Correct the rates by the known truths."""
        tpr, fpr = prior.weigh_known(reliability.tpr, reliability.fpr)
        return reliability._replace(tpr=tpr, fpr=fpr)

    def judge(
        self, block: Block, memory: Memory, reliability: TwoCoins, single_truth: bool
    ) -> FloatArray:
        """Bayes' rule."""
        if_true, if_false = _log_joints(block, reliability)
        log_odds = if_true - if_false
        return normalise_odds(log_odds, block) if single_truth else sigmoid(log_odds)

    def weights(self, claims: Claims, memory: Memory, reliability: TwoCoins) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: logit(prevalence)."""
        tpr, fpr, prevalence = reliability[:3]
        oppose = np.log1p(-tpr) - np.log1p(-fpr)
        rule: Rule = "softmax" if claims.kind == "categorical" else "sigmoid"
        prior = float(logit(np.array(prevalence)))
        return Weights(oppose + logit(tpr) - logit(fpr), oppose, rule, prior)

    def rates(self, reliability: TwoCoins, counts: FloatArray) -> Rates:
        """The rates that were learned."""
        return Rates(reliability.tpr, reliability.fpr, reliability.prevalence)


def _log_joints(block: Block, coins: TwoCoins) -> tuple[FloatArray, FloatArray]:
    """For every fact: log P(true, its claims) and log P(false, its claims)."""
    prior = logit(np.array(coins.prevalence))
    log_true, log_false = -np.logaddexp(0.0, -prior), -np.logaddexp(0.0, prior)
    if_true = kernels.sum_votes(block, np.log1p(-coins.tpr), logit(coins.tpr))
    if_false = kernels.sum_votes(block, np.log1p(-coins.fpr), logit(coins.fpr))
    return log_true + if_true, log_false + if_false


def _share(part: FloatArray, whole: FloatArray, otherwise: FloatArray) -> FloatArray:
    """``part / whole``, clear of zero and one; what it was before where nothing was seen."""
    seen = whole > SUREST
    share = np.where(seen, part / np.where(seen, whole, 1.0), otherwise)
    return np.clip(share, SUREST, 1.0 - SUREST)
