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
    SUREST,
    Algorithm,
    BySource,
    CountBySource,
    Memory,
    Rates,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Weights, logit, scores, sigmoid
from veracity.claims.block import Block, FloatArray
from veracity.claims.survey import Survey
from veracity.kernels.loading import kernels

__all__ = ["MLE", "TwoCoins"]


class TwoCoins(NamedTuple):
    """Each source's tpr and fpr, the prevalence, and the log-likelihood they were learned at."""

    tpr: BySource
    fpr: BySource
    is_fixed: CountBySource
    prevalence: float
    log_likelihood: float
    single_truth: bool


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
    state_type = TwoCoins
    takes_shares = True

    prior: Prior = NO_PRIOR
    learn_prevalence: bool = True
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> TwoCoins:
        """Start from the prior."""
        prevalence = prior.prevalence or survey.usual_prevalence
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        return TwoCoins(tpr, fpr, prior.is_fixed, prevalence, -np.inf, survey.single_truth)

    def tally(self, block: Block, state: TwoCoins, turn: Turn) -> Tally:
        """Judge the facts, each for itself, and count how the sources' words met them (E-step)."""
        log_odds = scores(block, self.weigh(block, state))
        plausibility = clamp_known(sigmoid(log_odds), block)
        counts = kernels.count_votes(block, plausibility, len(state.tpr))
        # log P(claims) = log P(false, claims) + log(1 + odds); the first follows from the counts
        return counts, plausibility.sum(), len(plausibility), np.logaddexp(0.0, log_odds).sum()

    def learn(self, state: TwoCoins, total: Tally) -> TwoCoins:
        """The rates that are most likely given the counts (M-step)."""
        counts, true, facts, log_odds_of_any = total
        supports_of_true, supports, spoken_true, spoken = counts.T
        tpr = _share(supports_of_true, spoken_true, state.tpr)
        fpr = _share(supports - supports_of_true, spoken - spoken_true, state.fpr)
        is_free = state.is_fixed == 0
        prevalence = float(true / facts) if self.learn_prevalence else state.prevalence
        if_false = supports @ np.log(state.fpr) + (spoken - supports) @ np.log1p(-state.fpr)
        if_false -= facts * np.logaddexp(0.0, logit(np.array(state.prevalence)))  # log(1 - it)
        return state._replace(
            tpr=np.where(is_free, tpr, state.tpr),
            fpr=np.where(is_free, fpr, state.fpr),
            prevalence=min(max(prevalence, SUREST), 1.0 - SUREST),
            log_likelihood=float(if_false + log_odds_of_any),
        )

    def change(self, before: TwoCoins, after: TwoCoins) -> float:
        """The largest move of any rate or the prevalence."""
        moves = (after.tpr - before.tpr, after.fpr - before.fpr)
        prevalence = abs(after.prevalence - before.prevalence)
        return float(max(prevalence, *(np.abs(move).max() for move in moves)))

    def calibrate(self, state: TwoCoins, prior: PriorRates) -> TwoCoins:
        """Correct the rates by the known truths."""
        tpr, fpr = prior.weigh_known(state.tpr, state.fpr)
        return state._replace(tpr=tpr, fpr=fpr)

    def weigh(self, block: Block, state: TwoCoins, memory: Memory = None) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: logit(prevalence)."""
        oppose = np.log1p(-state.tpr) - np.log1p(-state.fpr)
        support = oppose + logit(state.tpr) - logit(state.fpr)
        prior = float(logit(np.array(state.prevalence)))
        return Weights("softmax" if state.single_truth else "sigmoid", support, oppose, prior)

    def rates(self, state: TwoCoins, counts: FloatArray) -> Rates:
        """The rates that were learned."""
        return Rates(state.tpr, state.fpr, state.prevalence)


def _share(part: FloatArray, whole: FloatArray, otherwise: FloatArray) -> FloatArray:
    """``part / whole``, clear of zero and one; what it was before where nothing was seen."""
    seen = whole > SUREST
    share = np.where(seen, part / np.where(seen, whole, 1.0), otherwise)
    return np.clip(share, SUREST, 1.0 - SUREST)
