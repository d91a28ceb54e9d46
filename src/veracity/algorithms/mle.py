"""MLE: maximum likelihood by expectation maximisation, over all claims or in one pass.

Wang, Kaplan, Le, Abdelzaher: On Truth Discovery in Social Sensing: A Maximum Likelihood Estimation
Approach (IPSN 2012), with the change of the LTD-RBM paper: a claim may be positive, negative or
missing, and a missing one is ignored. In the original, a source that does not claim a fact denies
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from veracity import kernels
from veracity.algorithms.base import (
    SUREST,
    Algorithm,
    Description,
    Memory,
    Phase,
    Rates,
    Tally,
    Turn,
    Walk,
    clamp_known,
)
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Rule, Weights, logit, scores, sigmoid
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.survey import Survey
from veracity.trees import BySource, CountBySource

FIRST_ROUNDS = 20
"""Rounds of the first batch in one pass."""

Missing = Literal["unknown", "negative"]
"""Meanings of a missing claim: unknown, or a denial of all facts of the item."""


class TwoCoins(NamedTuple):
    """Rates of each source, the prevalence, and the log-likelihood at which they were learned.

    `known` has the number of facts known to be true, and of all known facts.
    """

    tpr: BySource
    fpr: BySource
    is_fixed: CountBySource
    prevalence: float
    log_likelihood: float
    single_truth: bool
    known: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class MLE(Algorithm[TwoCoins]):
    """Rates and prevalence under which the claims are most likely, by expectation maximisation.

    Parameters
    ----------
    prior
        Where the rates start; fixed sources stay. Where no prevalence is given it starts at one
        over the mean number of values an item has, or at one half if items may have several truths.
    learn_prevalence
        True if the prevalence is learned, as in the original.
    missing
        Meaning of a missing claim: none ("unknown"), or, as in the original, that its source
        denies the fact ("negative"). Then rates are of all facts, not of those spoken of, and start
        where a source claims as often as it does.
    max_rounds, tolerance
        It stops when a round moves no rate by `tolerance`.
    """

    name = "mle"
    takes_shares = True

    prior: Prior = NO_PRIOR
    learn_prevalence: bool = True
    missing: Missing = bounded("unknown", one_of=get_args(Missing))
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> TwoCoins:
        """Start from the prior."""
        prevalence = prior.prevalence or survey.usual_prevalence
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        if self.missing == "negative":
            tpr, fpr = _as_often_as_claimed(survey, prior, prevalence)
        return TwoCoins(tpr, fpr, prior.is_fixed, prevalence, -np.inf, survey.single_truth)

    def tally(self, block: Block, state: TwoCoins, turn: Turn) -> Tally:
        """Judge each fact separately, and count the sources' claims by truth (E-step)."""
        log_odds = scores(block, self.weigh(block, state))
        plausibility = clamp_known(sigmoid(log_odds), block)
        counts = kernels.count_votes(block, plausibility, len(state.tpr))
        known = np.array([np.sum(block.known_of_fact == 1), np.sum(block.known_of_fact != UNKNOWN)])
        # log P(claims) = log P(false, claims) + log(1 + odds); the first follows from the counts
        log_evidence = np.logaddexp(0.0, log_odds).sum()
        return counts, plausibility.sum(), len(plausibility), log_evidence, known

    def learn(self, state: TwoCoins, total: Tally) -> TwoCoins:
        """Learn the rates that are most likely given the counts (M-step)."""
        counts, true, facts, log_odds_of_any, known = total
        supports_of_true, supports, spoken_true, spoken = counts.T
        if self.missing == "negative":
            spoken_true, spoken = np.full_like(spoken, true), np.full_like(spoken, facts)
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
            known=(float(known[0]), float(known[1])),
        )

    def change(self, before: TwoCoins, after: TwoCoins) -> float:
        """Return the largest move of any rate or the prevalence."""
        moves = (after.tpr - before.tpr, after.fpr - before.fpr)
        prevalence = abs(after.prevalence - before.prevalence)
        return float(max(prevalence, *(np.abs(move).max() for move in moves)))

    def calibrate(self, state: TwoCoins, prior: PriorRates) -> TwoCoins:
        """Correct the rates by the known truths."""
        if self.missing == "negative":  # who is silent has spoken on all of them
            known = prior.known.copy()
            known[:, 2:] = state.known
            prior = prior._replace(known=known)
        tpr, fpr = prior.weigh_known(state.tpr, state.fpr)
        return state._replace(tpr=tpr, fpr=fpr)

    def weigh(self, block: Block, state: TwoCoins, memory: Memory = None) -> Weights:
        """Return the weights of support and opposition, and the prior log-odds.

        For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: logit(prevalence).
        """
        rule, support, oppose, prior = _weights(state)
        if self.missing == "negative":  # all who do not support a fact oppose it
            return Weights(rule, support - oppose, prior=prior + float(oppose.sum()))
        return Weights(rule, support, oppose, prior)

    def describe(self, state: TwoCoins, counts: FloatArray | None = None) -> Description:
        """Return the rates that were learned."""
        return Description(Rates(state.tpr, state.fpr, state.prevalence))


def _weights(state: TwoCoins | Recursion) -> tuple[Rule, FloatArray, FloatArray, float]:
    """Return the rule, the weights of support and opposition, and the prior log-odds."""
    oppose = np.log1p(-state.tpr) - np.log1p(-state.fpr)
    support = oppose + logit(state.tpr) - logit(state.fpr)
    rule: Rule = "softmax" if state.single_truth else "sigmoid"
    return rule, support, oppose, float(logit(np.array(state.prevalence)))


class Recursion(NamedTuple):
    """Rates and prevalence, and the information about each: the true, false and all facts so far.

    The Fisher information about a rate r from n facts is n / (r (1 - r)).
    """

    tpr: BySource
    fpr: BySource
    is_fixed: CountBySource
    true_facts: CountBySource
    false_facts: CountBySource
    prevalence: float
    facts: float
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class RecursiveEM(Algorithm[Recursion]):
    """Maximum likelihood in one pass: each batch of facts moves the rates by a Newton step.

    The step is the score of the new claims over the Fisher information accumulated so far. The
    first facts are learned from as by `MLE`, to have rates to start from.

    Wang, Kaplan, Abdelzaher, Aggarwal: Recursive Fact-Finding: A Streaming Approach to Truth
    Estimation in Crowdsourcing Applications (ICDCS 2013).

    Parameters
    ----------
    prior
        Where the rates start; fixed sources stay. Where no prevalence is given it starts at one
        over the mean number of values an item has, or at one half if items may have several truths.
    batch_size
        Facts that are judged before the rates move: all facts of an item stay together.
    first
        Number of facts in the first batch, of which several rounds are made.
    strength
        Weight of the prior, in facts of each source.
    """

    name = "recursive-em"
    takes_shares = True
    depends_on_blocks = True

    prior: Prior = NO_PRIOR
    batch_size: int = bounded(100, at_least=1)
    first: int = bounded(1000, at_least=1)
    strength: float = bounded(1.0, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Recursion:
        """Start from the prior."""
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        prevalence = prior.prevalence or survey.usual_prevalence
        none = np.zeros(survey.n_sources)
        return Recursion(tpr, fpr, prior.is_fixed, none, none, prevalence, 0.0, survey.single_truth)

    def phases(self, state: Recursion) -> tuple[Phase[Recursion], ...]:
        """Return one pass over the claims, in order: each batch is judged by those before it."""
        one_pass = Walk(lambda state: (state,), self.follow, lambda state, lanes: lanes[0])
        return (Phase("pass", (one_pass,)),)

    def follow(self, block: Block, lane: Recursion, turn: Turn) -> tuple[Recursion, None]:
        """Take one step per batch of the block."""
        begins, item = block.first_fact_of_item, 0
        while item < block.n_items:
            is_first = lane.facts == 0.0
            size = self.first if is_first else self.batch_size
            end = int(np.searchsorted(begins, begins[item] + size))
            end = min(max(end, item + 1), block.n_items)
            batch, rounds = block.part(item, end), FIRST_ROUNDS if is_first else 1
            before = lane
            for _ in range(rounds):
                lane = self._moved(batch, before, judged_by=lane)
            item = end
        return lane, None

    def _moved(self, batch: Block, state: Recursion, judged_by: Recursion) -> Recursion:
        """Return the state after a batch, the facts of which are judged by some rates."""
        plausibility = clamp_known(sigmoid(scores(batch, self.weigh(batch, judged_by))), batch)
        counts = kernels.count_votes(batch, plausibility, len(state.tpr))
        supports_of_true, supports, true, spoken = counts.T
        false = spoken - true
        true_facts, false_facts = state.true_facts + true, state.false_facts + false
        # score (W - n r) / (r (1 - r)) over information N / (r (1 - r))
        by_true = (supports_of_true - true * state.tpr) / (true_facts + self.strength)
        false_supports = supports - supports_of_true
        by_false = (false_supports - false * state.fpr) / (false_facts + self.strength)
        facts, is_free = state.facts + batch.n_facts, state.is_fixed == 0
        prevalence = state.prevalence + (plausibility.sum() - batch.n_facts * state.prevalence) / (
            facts + self.strength
        )
        tpr, fpr = (
            np.where(is_free, np.clip(rate + step, SUREST, 1.0 - SUREST), rate)
            for rate, step in ((state.tpr, by_true), (state.fpr, by_false))
        )
        return state._replace(
            tpr=tpr,
            fpr=fpr,
            true_facts=true_facts,
            false_facts=false_facts,
            prevalence=float(np.clip(prevalence, SUREST, 1.0 - SUREST)),
            facts=facts,
        )

    def forget(self, state: Recursion, share: float) -> Recursion:
        """Return the state with so much of the information: later claims move the rates further."""
        return state._replace(
            true_facts=state.true_facts * share,
            false_facts=state.false_facts * share,
            facts=max(state.facts * share, SUREST),
        )

    def calibrate(self, state: Recursion, prior: PriorRates) -> Recursion:
        """Correct the rates by the known truths."""
        tpr, fpr = prior.weigh_known(state.tpr, state.fpr)
        return state._replace(tpr=tpr, fpr=fpr)

    def weigh(self, block: Block, state: Recursion, memory: Memory = None) -> Weights:
        """Return the weights of `MLE`."""
        return Weights(*_weights(state))

    def describe(self, state: Recursion, counts: FloatArray | None = None) -> Description:
        """Return the rates that were learned."""
        return Description(Rates(state.tpr, state.fpr, state.prevalence))


def _as_often_as_claimed(
    survey: Survey, prior: PriorRates, prevalence: float
) -> tuple[FloatArray, FloatArray]:
    """Scale the prior's rates so that each source claims as many facts as it does."""
    usual = prevalence * prior.tpr + (1.0 - prevalence) * prior.fpr
    scale = survey.counted.supports_of_source / survey.counted.facts / usual
    scale = np.where(prior.is_fixed, 1.0, scale)
    tpr, fpr = (np.clip(rate * scale, SUREST, 1.0 - SUREST) for rate in (prior.tpr, prior.fpr))
    return tpr, fpr


def _share(part: FloatArray, whole: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return ``part / whole``, clear of zero and one; `otherwise` where `whole` is zero."""
    seen = whole > SUREST
    share = np.where(seen, part / np.where(seen, whole, 1.0), otherwise)
    return np.clip(share, SUREST, 1.0 - SUREST)
