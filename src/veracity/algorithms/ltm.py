"""LTM, the Latent Truth Model, by collapsed Gibbs sampling.

Zhao, Rubinstein, Gemmell, Han: A Bayesian Approach to Discovering Truth from Conflicting Sources
for Data Integration (VLDB 2012). Each source has a tpr and an fpr with beta priors; integrating
them out leaves the truths of the facts, which are drawn in turn, each given all the others.
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
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, UNLEARNED, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray

__all__ = ["LTM", "Chains"]


CERTAIN = 1e12
"""How many claims the prior of a fixed source is worth: more than anyone makes."""


class Chains(NamedTuple):
    """Where the chains stand.

    ``counts[c, s, i, j]``: how often, in chain c, source s claimed j of facts that are i;
    ``prior`` the same in beta-prior counts; ``n_true[r, c]``: true facts in round r, of
    ``n_drawn[r]`` that were drawn.
    """

    counts: FloatArray
    prior: FloatArray
    log_prior_odds: float
    n_true: FloatArray
    n_drawn: FloatArray


@dataclass(frozen=True, kw_only=True)
class LTM(Algorithm[Chains]):
    """Latent Truth Model, by collapsed Gibbs sampling.

    Parameters
    ----------
    prior
        Prior rates of the sources; they are the means of the beta priors.
    tpr_strength, fpr_strength
        How many claims each prior is worth. The defaults are the sums of the original's
        (50, 50) and (10, 1000). (The original's prior on the truth of a fact is one for each fact,
        so its strength plays no part; its mean is the prior's prevalence.)
    rounds, burn_in, thinning
        How many times every fact is drawn, how many of these are thrown away at the start, and
        how many between two that are kept.
    chains
        How many independent chains are averaged; they also tell whether sampling has converged.
    seed
        Where the randomness starts.
    """

    name = "ltm"
    learns_from = "block"

    prior: Prior = NO_PRIOR
    tpr_strength: float = 100.0
    fpr_strength: float = 1010.0
    rounds: int = 50
    burn_in: int = 10
    thinning: int = 0
    chains: int = 4
    seed: int = 0
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        require_positive(
            self,
            tpr_strength=self.tpr_strength,
            fpr_strength=self.fpr_strength,
            tolerance=self.tolerance,
        )
        require_at_least(self, 0, burn_in=self.burn_in, thinning=self.thinning, seed=self.seed)
        require_at_least(self, 1, chains=self.chains)
        require_at_least(self, self.burn_in + 1, rounds=self.rounds)

    @property
    def max_rounds(self) -> int:  # type: ignore[override]
        """A sampler runs as many rounds as it was told."""
        return self.rounds

    @property
    def min_rounds(self) -> int:  # type: ignore[override]
        """A sampler runs as many rounds as it was told."""
        return self.rounds

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Chains]:
        """No truth is drawn yet (-1), nothing is counted: the first round starts from the prior."""
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        tpr_strength, fpr_strength = self._strengths(claims, prior)
        pseudo = np.empty((claims.n_sources, 2, 2))
        pseudo[:, 1, 1] = tpr_strength * tpr
        pseudo[:, 1, 0] = tpr_strength * (1.0 - tpr)
        pseudo[:, 0, 1] = fpr_strength * fpr
        pseudo[:, 0, 0] = fpr_strength * (1.0 - fpr)
        prevalence = 0.5 if prior.prevalence is None else prior.prevalence
        truth = np.full((claims.n_facts, self.chains), -1, dtype=np.int8)
        memory = (truth, np.zeros(claims.n_facts))
        counts = np.zeros((self.chains, claims.n_sources, 2, 2))
        n_true, n_drawn = np.zeros((self.rounds, self.chains)), np.zeros(self.rounds)
        odds = float(logit(np.array(prevalence)))
        return memory, Chains(counts, pseudo, odds, n_true, n_drawn)

    def study(
        self, block: Block, memory: Memory, reliability: Chains, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Draw every fact of the block once in every chain; the tally is how the counts moved."""
        truth, kept = memory[0].copy(), memory[1].copy()
        counts = np.empty_like(reliability.counts)
        for chain in range(self.chains):
            truth[:, chain], probability, counts[chain] = kernels.gibbs(
                block,
                np.ascontiguousarray(truth[:, chain]),
                reliability.counts[chain],
                reliability.prior,
                reliability.log_prior_odds,
                turn.rng,
            )
            if self._keeps(turn.round_number):
                kept += probability
        n_true, n_drawn = np.zeros_like(reliability.n_true), np.zeros(self.rounds)
        n_true[turn.round_number - 1] = truth.sum(axis=0)
        n_drawn[turn.round_number - 1] = len(truth)
        return (truth, kept), (counts - reliability.counts, n_true, n_drawn)

    def learn(self, reliability: Chains, tally: Tally) -> Chains:
        """Move the counts."""
        counts, n_true, n_drawn = tally
        return reliability._replace(
            counts=reliability.counts + counts,
            n_true=reliability.n_true + n_true,
            n_drawn=reliability.n_drawn + n_drawn,
        )

    def change(self, before: Chains, after: Chains) -> float:
        """How far the chains disagree on the number of true facts: split R-hat less one."""
        n_rounds = int(np.count_nonzero(after.n_drawn))
        return split_r_hat(after.n_true[self.burn_in : n_rounds]) - 1.0

    def judge(
        self, block: Block, memory: Memory, reliability: Chains, single_truth: bool
    ) -> FloatArray:
        """The mean of the probabilities the facts were drawn with."""
        n_kept = sum(map(self._keeps, range(1, self.rounds + 1)))
        plausibility = memory[1] / (n_kept * self.chains)
        return normalise_odds(logit(plausibility), block) if single_truth else plausibility

    def weights(self, claims: Claims, memory: Memory, reliability: Chains) -> Weights:
        """The weights the posterior means of the rates would have: facts were drawn by others."""
        single_truth = claims.kind == "categorical"
        plausibility = hold_known(
            self.judge(claims.all, memory, reliability, single_truth), claims.all
        )
        counts = kernels.count_votes(claims.all, plausibility, claims.n_sources)
        tpr, fpr, _ = self.rates(reliability, counts)
        rule: Rule = "softmax" if single_truth else "sigmoid"
        support, oppose = np.log(tpr / fpr), np.log1p(-tpr) - np.log1p(-fpr)
        return Weights(support, oppose, rule, reliability.log_prior_odds, account="average")

    def rates(self, reliability: Chains, counts: FloatArray) -> Rates:
        """Posterior means of the rates, with the expected counts for the counts."""
        supports_of_true, supports, true, facts = counts.T
        prior = reliability.prior
        tpr = (supports_of_true + prior[:, 1, 1]) / (true + prior[:, 1].sum(axis=1))
        fpr = (supports - supports_of_true + prior[:, 0, 1]) / (
            facts - true + prior[:, 0].sum(axis=1)
        )
        return Rates(tpr, fpr, float(true.sum() / facts.sum()))

    def _strengths(self, claims: Claims, prior: PriorRates) -> tuple[FloatArray, FloatArray]:
        """How many claims each source's prior is worth.

        Known truths weigh against what is sampled as they do in `PriorRates.weigh_known`.
        """
        block = claims.all
        n_facts_of_voice = np.repeat(
            np.diff(block.first_fact_of_item), np.diff(block.first_voice_of_item)
        )
        spoken = np.bincount(block.source_of_voice, n_facts_of_voice, claims.n_sources)
        true, facts = prior.known[:, 2], prior.known[:, 3]
        of_true = self.tpr_strength + spoken * claims.usual_prevalence * true / UNLEARNED
        of_false = self.fpr_strength + spoken * (1.0 - claims.usual_prevalence) * (
            (facts - true) / UNLEARNED
        )
        is_fixed = prior.is_fixed == 1
        return np.where(is_fixed, CERTAIN, of_true), np.where(is_fixed, CERTAIN, of_false)

    def _keeps(self, round_number: int) -> bool:
        after_burn_in = round_number - self.burn_in - 1
        return after_burn_in >= 0 and after_burn_in % (self.thinning + 1) == 0


def split_r_hat(draws: FloatArray) -> float:
    """Gelman and Rubin's R-hat of draws (rounds, chains), each chain cut into two halves.

    One where the chains agree; infinity while there are too few draws to tell.
    """
    half = len(draws) // 2
    if half < 2:
        return float("inf")
    halves = np.concatenate([draws[:half], draws[-half:]], axis=1)
    within = halves.var(axis=0, ddof=1).mean()
    between = halves.mean(axis=0).var(ddof=1)
    if between == 0.0:
        return 1.0
    if within == 0.0:
        return float("inf")
    return float(np.sqrt((half - 1) / half + between / within))
