"""LTM, the Latent Truth Model, by collapsed Gibbs sampling.

Zhao, Rubinstein, Gemmell, Han: A Bayesian Approach to Discovering Truth from Conflicting Sources
for Data Integration (VLDB 2012). Each source has a tpr and an fpr with beta priors; integrating
them out leaves the truths of the facts, which are drawn in turn, each given all the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Algorithm, Description, Memory, Phase, Rates, Turn, Walk
from veracity.algorithms.parameters import bounded, require_at_least
from veracity.algorithms.prior import NO_PRIOR, UNLEARNED, Prior, PriorRates
from veracity.algorithms.rules import Rule, Weights, logit, plausibilities
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.survey import Survey
from veracity.trees import BySource, CountBySource

CERTAIN = 1e12
"""Weight of the prior of a fixed source, in claims: more than any source makes."""


MOST_CHAINS, MOST_ROUNDS = 1_000, 1_000_000
"""Maximum numbers of chains and rounds; more would take too much time and memory."""


class Chains(NamedTuple):
    """State of the chains.

    ``counts[s, c, i, j]``: number of claims j of source s on facts that are i, in chain c;
    ``kept_counts``, the same, added up over the rounds that count; ``prior`` the same in beta-prior
    counts; ``n_true[r, c]``: true facts in round r. The truths of the facts are stored with their
    blocks.
    """

    counts: CountBySource
    kept_counts: CountBySource
    prior: BySource
    log_prior_odds: float
    n_true: FloatArray
    rounds: int
    single_truth: bool


class Chain(NamedTuple):
    """State of one chain during a round."""

    number: int
    counts: FloatArray
    prior: FloatArray
    log_prior_odds: float
    n_true: int
    n_drawn: int


class Drawn(NamedTuple):
    """The truths of a block's facts in one chain, and the sum of the probabilities that count."""

    truth: IntArray
    kept: FloatArray


@dataclass(frozen=True, kw_only=True)
class LTM(Algorithm[Chains]):
    """Latent Truth Model, by collapsed Gibbs sampling.

    Parameters
    ----------
    prior
        Prior rates of the sources; they are the means of the beta priors.
    tpr_strength, fpr_strength
        Weight of each prior in claims. The defaults are the sums of the original's
        (50, 50) and (10, 1000). (The original's prior on the truth of a fact is one for each fact,
        so its strength plays no part; its mean is the prior's prevalence.)
    rounds, burn_in, thinning
        Number of draws of every fact, of draws dropped at the start, and of draws dropped between
        two that count.
    chains
        Number of independent chains that are averaged; they also show if sampling has converged.
    seed
        Where the randomness starts.
    """

    name = "ltm"

    prior: Prior = NO_PRIOR
    tpr_strength: float = bounded(100.0, above=0)
    fpr_strength: float = bounded(1010.0, above=0)
    rounds: int = bounded(50, at_most=MOST_ROUNDS)
    burn_in: int = bounded(10, at_least=0)
    thinning: int = bounded(0, at_least=0)
    chains: int = bounded(4, at_least=1, at_most=MOST_CHAINS)
    seed: int = bounded(0, at_least=0)
    tolerance: float = bounded(0.1, above=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, self.burn_in + 1, "burn_in + 1", rounds=self.rounds)

    @property
    def max_rounds(self) -> int:  # type: ignore[override]
        """Number of rounds: a sampler makes all of them."""
        return self.rounds

    def start(self, survey: Survey, prior: PriorRates) -> Chains:
        """Start from the prior, with all counts at zero."""
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        tpr_strength, fpr_strength = self._strengths(survey, prior)
        pseudo = np.empty((survey.n_sources, 2, 2))
        pseudo[:, 1, 1] = tpr_strength * tpr
        pseudo[:, 1, 0] = tpr_strength * (1.0 - tpr)
        pseudo[:, 0, 1] = fpr_strength * fpr
        pseudo[:, 0, 0] = fpr_strength * (1.0 - fpr)
        prevalence = 0.5 if prior.prevalence is None else prior.prevalence
        nothing = np.zeros((survey.n_sources, self.chains, 2, 2))
        odds = float(logit(np.array(prevalence)))
        n_true = np.zeros((self.rounds, self.chains))
        return Chains(nothing, nothing, pseudo, odds, n_true, 0, survey.single_truth)

    def phases(self, state: Chains) -> tuple[Phase[Chains], ...]:
        """Return rounds; in each round, every chain passes through all blocks."""
        walk = Walk(self.split, self.draw, self.join)
        return (Phase("rounds", (walk,), self.change, min_rounds=self.rounds),)

    def split(self, state: Chains) -> tuple[Chain, ...]:
        """Return the chains, which are independent."""
        return tuple(
            Chain(chain, state.counts[:, chain].copy(), state.prior, state.log_prior_odds, 0, 0)
            for chain in range(self.chains)
        )

    def draw(self, block: Block, lane: Chain, turn: Turn) -> tuple[Chain, Drawn]:
        """Draw every fact of the block once; no truth is drawn yet (-1) at the start.

        A fact takes one random number, so the place in the chain's stream is the number of facts
        drawn before: how claims are cut into blocks makes no difference.
        """
        before = turn.memory or Drawn(
            np.full(block.n_facts, -1, dtype=np.int8), np.zeros(block.n_facts)
        )
        stream = np.random.PCG64([turn.seed, turn.round_number, lane.number])
        rng = np.random.Generator(stream.advance(lane.n_drawn))
        truth, probability, counts = kernels.gibbs(
            block, before.truth, lane.counts, lane.prior, lane.log_prior_odds, rng
        )
        kept = before.kept + probability if self._keeps(turn.round_number) else before.kept
        onward = lane._replace(
            counts=counts,
            n_true=lane.n_true + int(truth.sum()),
            n_drawn=lane.n_drawn + block.n_facts,
        )
        return onward, Drawn(truth, kept)

    def join(self, state: Chains, lanes: tuple[Chain, ...]) -> Chains:
        """Return the state of the chains after the round."""
        counts = np.stack([lane.counts for lane in lanes], axis=1)
        n_true = state.n_true.copy()
        n_true[state.rounds] = [lane.n_true for lane in lanes]
        rounds = state.rounds + 1
        kept = state.kept_counts + counts if self._keeps(rounds) else state.kept_counts
        return state._replace(counts=counts, kept_counts=kept, n_true=n_true, rounds=rounds)

    def change(self, before: Chains, after: Chains) -> float:
        """Return split R-hat less one: how far the chains disagree on the number of true facts."""
        return split_r_hat(after.n_true[self.burn_in : after.rounds]) - 1.0

    def judge(self, block: Block, state: Chains, memory: Memory = None) -> FloatArray:
        """Return the mean of the probabilities facts were drawn with; or judge by weights."""
        if memory is None:
            return plausibilities(block, self.weigh(block, state))
        kept = np.sum([drawn.kept for drawn in memory], axis=0)
        plausibility = np.asarray(kept / (self._n_kept * self.chains))
        if not state.single_truth:
            return plausibility
        nobody = np.full(block.n_items, -np.inf)
        log_odds = logit(plausibility)
        return np.asarray(kernels.normalise_log(log_odds, block.first_fact_of_item, nobody))

    def weigh(self, block: Block, state: Chains, memory: Memory = None) -> Weights:
        """Weigh by the posterior means of the rates: on average, facts were drawn so."""
        expected = state.kept_counts.mean(axis=1) / self._n_kept + state.prior
        fpr, tpr = (expected[:, truth, 1] / expected[:, truth].sum(axis=1) for truth in (0, 1))
        support, oppose = np.log(tpr / fpr), np.log1p(-tpr) - np.log1p(-fpr)
        rule: Rule = "softmax" if state.single_truth else "sigmoid"
        return Weights(rule, support, oppose, state.log_prior_odds, account="average")

    def describe(self, state: Chains, counts: FloatArray | None = None) -> Description:
        """Return posterior means of the rates, with the expected counts for the counts."""
        if counts is None:
            return Description()
        supports_of_true, supports, true, facts = counts.T
        prior = state.prior
        tpr = (supports_of_true + prior[:, 1, 1]) / (true + prior[:, 1].sum(axis=1))
        fpr = (supports - supports_of_true + prior[:, 0, 1]) / (
            facts - true + prior[:, 0].sum(axis=1)
        )
        return Description(Rates(tpr, fpr, float(true.sum() / facts.sum())))

    def resume(self, state: Chains, survey: Survey, prior: PriorRates) -> Chains:
        """Go on with the chains, the old claims being part of the prior (incremental LTM)."""
        grown = self.grow(state, survey.names)
        learned = grown.kept_counts.mean(axis=1) / self._n_kept
        nothing, n_true = np.zeros_like(grown.counts), np.zeros_like(grown.n_true)
        return grown._replace(
            counts=nothing,
            kept_counts=nothing,
            prior=grown.prior + learned,
            n_true=n_true,
            rounds=0,
        )

    def _strengths(self, survey: Survey, prior: PriorRates) -> tuple[FloatArray, FloatArray]:
        """Return the weight of each source's prior, in claims.

        Known truths weigh against what is sampled as they do in `PriorRates.weigh_known`.
        """
        spoken, prevalence = survey.counted.facts_of_source, survey.usual_prevalence
        true, facts = prior.known[:, 2], prior.known[:, 3]
        of_true = self.tpr_strength + spoken * prevalence * true / UNLEARNED
        of_false = self.fpr_strength + spoken * (1.0 - prevalence) * (facts - true) / UNLEARNED
        is_fixed = prior.is_fixed == 1
        return np.where(is_fixed, CERTAIN, of_true), np.where(is_fixed, CERTAIN, of_false)

    def _keeps(self, round_number: int) -> bool:
        after_burn_in = round_number - self.burn_in - 1
        return after_burn_in >= 0 and after_burn_in % (self.thinning + 1) == 0

    @property
    def _n_kept(self) -> int:
        return sum(map(self._keeps, range(1, self.rounds + 1)))


def split_r_hat(draws: FloatArray) -> float:
    """Gelman and Rubin's R-hat of draws (rounds, chains), each chain cut into two halves.

    It is 1 if the chains agree, and infinite if there are too few draws.
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
