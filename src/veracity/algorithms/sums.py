"""Sums, Average·Log, Investment, Pooled Investment: trust from beliefs, beliefs from trust.

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010); Sums is
Kleinberg's hubs and authorities (1999), and the other three are `Sums` with other formulas.

Of the claims that exclude one another at most one is true. Under a single truth these are the
facts of an item. Elsewhere they are a fact and its denial: a source that claims something of the
item without supporting the fact claims the denial, which is believed, and pays, as a fact does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Algorithm, Memory, Phase, Step, Tally, Turn, clamp_known
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, share_of_item
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.survey import Largest, Survey
from veracity.trees import BySource

MOST_GROWTH = 20.0
"""Maximum growth: with a larger one, the power of a million sources' investments could overflow."""

LEAST_INVESTED = 1e-250
"""Minimum investment: smaller ones count as zero, as dividing by them could overflow."""


class Sides(NamedTuple):
    """Numbers for each fact and for its denial; zero if denials are not claims."""

    fact: FloatArray
    denial: FloatArray


class Standing(NamedTuple):
    """Trust T of each source, the largest being one, and |C|, the number of its claims.

    `largest` is the largest belief that these trusts give to any claim; at first, beliefs do not
    follow from trusts.
    """

    trust: BySource
    n_claims: BySource
    has_denials: bool
    largest: float = 1.0
    is_first: bool = True


@dataclass(frozen=True, kw_only=True)
class Sums(Algorithm[Standing]):
    """Trust of a source: the sum of the beliefs in its claims. Belief: the sum of the trusts.

    Parameters
    ----------
    max_rounds
        How many rounds are made, neither more nor fewer: the paper names a number, no test.
    tolerance
        Converged if the last round moved no trust by this share of the largest.
    """

    name = "sums"
    takes_shares = True

    max_rounds: int = bounded(20, at_least=1)
    tolerance: float = bounded(1e-3, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Standing:
        """Trust all sources equally."""
        return Standing(np.ones(survey.n_sources), survey.claims_of_source, survey.has_denials)

    def phases(self, state: Standing) -> tuple[Phase[Standing], ...]:
        """Return rounds: the largest belief first, then the trust that follows from the beliefs.

        Beliefs are divided by the largest, which changes no ratio: in all four algorithms b times
        the beliefs give b times the trusts, whatever the scale of the old trusts, and t times the
        trusts give t times the beliefs (Investment: t^g times).
        """
        steps = Step(self.tally_largest, self.learn_largest), Step(self.tally, self.learn)
        return (Phase("rounds", steps, self.change, min_rounds=self.max_rounds, keeps_rounds=True),)

    def tally_largest(self, block: Block, state: Standing, turn: Turn) -> Tally:
        """Find the largest belief; those of the first round are not divided."""
        if state.is_first:
            return (Largest(1.0),)
        belief = self.belief_from(block, state)
        return (Largest(max(belief.fact.max(), belief.denial.max())),)

    def learn_largest(self, state: Standing, total: Tally) -> Standing:
        """Learn the divisor of beliefs: the largest belief, or one if all are zero."""
        return state._replace(largest=float(total[0]) or 1.0)

    def tally(self, block: Block, state: Standing, turn: Turn) -> Tally:
        """Sum the beliefs in each source's claims, given the trusts of the last round."""
        if state.is_first:
            voters = votes(block, np.ones_like(state.trust), state.has_denials)
            belief = self.first_belief(block, voters, state.has_denials)
        else:
            belief = self.belief_from(block, state)
        belief = Sides(belief.fact / state.largest, belief.denial / state.largest)
        paid = self.pay(block, clamp_sides(block, belief, state.has_denials), state)
        return (paid * state.largest,)  # undivided, so that tallies of earlier claims add up

    def learn(self, state: Standing, total: Tally) -> Standing:
        """Learn the trusts, the largest being one."""
        trust = self.trust_from(total[0], state)
        relative = trust / (trust.max() or 1.0)  # all may be zero: log 1
        return state._replace(trust=relative, is_first=False)

    def trust(self, state: Standing) -> FloatArray:
        """Return the trusts, the largest being one."""
        return state.trust

    def weigh(self, block: Block, state: Standing, memory: Memory = None) -> Weights:
        """Weigh the stakes of sources, for their claims and against the facts these exclude.

        Belief is a power of the sum; plausibility, a share of the belief in all that exclude one
        another.
        """
        stake, power = self.stake(state), self.power()
        if state.has_denials:
            return Weights("balance", stake, -stake, power=power)
        return Weights("share", stake, power=power)

    def resume(self, state: Standing, survey: Survey, prior: PriorRates) -> Standing:
        """Start again with the claims of all: every round adds what it paid for earlier claims."""
        return self.start(survey, prior)

    def stake(self, state: Standing) -> FloatArray:
        """Return the stake of a source in each of its claims: its trust."""
        return state.trust

    def power(self) -> float:
        """Return the exponent that turns the sum of stakes into belief."""
        return 1.0

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """Return the paper's fixed prior: one half for every claim."""
        half = np.full(len(voters.fact), 0.5)
        return Sides(half, half if has_denials else np.zeros_like(half))

    def belief_from(self, block: Block, state: Standing) -> Sides:
        """B(c) = Σ T(s) over the sources s of claim c."""
        return votes(block, state.trust, state.has_denials)

    def pay(self, block: Block, belief: Sides, state: Standing) -> FloatArray:
        """Σ B(c) over the claims c of each source."""
        return earned(block, belief, len(state.trust))

    def trust_from(self, paid: FloatArray, state: Standing) -> FloatArray:
        """T(s) = Σ B(c)."""
        return paid


@dataclass(frozen=True, kw_only=True)
class AverageLog(Sums):
    """Trust of a source: the mean belief in its claims, times the logarithm of their number.

    It lies between the sum, which favours sources with many claims, and the mean, which favours
    sources with few. Parameters are those of `Sums`.
    """

    name = "average-log"

    def trust_from(self, paid: FloatArray, state: Standing) -> FloatArray:
        """T(s) = log|C_s| · Σ B(c) / |C_s|: none for a source with a single claim."""
        n_claims = np.maximum(state.n_claims, 1.0)
        return np.asarray(paid * np.log(n_claims) / n_claims)


@dataclass(frozen=True, kw_only=True)
class Investment(Sums):
    """Trust of a source: the returns of its claims. Belief: the investments, to a power.

    Parameters
    ----------
    growth
        The power, g in the paper: above one, beliefs of many sources gain on others.
    max_rounds, tolerance
        As for `Sums`.
    """

    name = "investment"

    growth: float = bounded(1.2, at_least=1.0, at_most=MOST_GROWTH)

    def stake(self, state: Standing) -> FloatArray:
        """Return i(s) = T(s) / |C_s|, the investment of a source in each of its claims."""
        return np.asarray(state.trust / np.maximum(state.n_claims, 1.0))

    def power(self) -> float:
        """Return g, the exponent of the investments."""
        return self.growth

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """Return the paper's voted prior: the share of the votes."""
        return share(block, voters, has_denials)

    def belief_from(self, block: Block, state: Standing) -> Sides:
        """B(c) = I(c)^g."""
        invested = self.invested(block, state)
        return Sides(invested.fact**self.growth, invested.denial**self.growth)

    def invested(self, block: Block, state: Standing) -> Sides:
        """I(c) = Σ i(s) over the sources s of claim c."""
        return votes(block, self.stake(state), state.has_denials)

    def pay(self, block: Block, belief: Sides, state: Standing) -> FloatArray:
        """Return Σ B(c) / I(c) over the claims of a source: the return on each unit invested."""
        per_unit = Sides(*map(_per_unit, belief, self.invested(block, state)))
        return earned(block, per_unit, len(state.trust))

    def trust_from(self, paid: FloatArray, state: Standing) -> FloatArray:
        """T(s) = i(s) · Σ B(c) / I(c), i(s) from before."""
        return self.stake(state) * paid


@dataclass(frozen=True, kw_only=True)
class PooledInvestment(Investment):
    """Like `Investment`, but the investments in an item are shared out, not grown.

    So no source gains from an item with many claims. Parameters are those of `Investment`, with the
    paper's own defaults.
    """

    name = "pooled-investment"

    growth: float = bounded(1.4, at_least=1.0, at_most=MOST_GROWTH)
    max_rounds: int = bounded(10, at_least=1)

    def power(self) -> float:
        """Return 1 + g: the investments, times their share to the power g."""
        return 1.0 + self.growth

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """Return the paper's uniform prior: 1 / the number of claims that exclude each other."""
        is_claimed = Sides(np.sign(voters.fact), np.sign(voters.denial))
        return share(block, is_claimed, has_denials)

    def belief_from(self, block: Block, state: Standing) -> Sides:
        """B(c) = I(c) · I(c)^g / Σ I(d)^g over the claims d that exclude c, and c."""
        invested = self.invested(block, state)
        grown = share(block, invested, state.has_denials)  # shares first: no power underflows
        grown = Sides(grown.fact**self.growth, grown.denial**self.growth)
        grown = share(block, grown, state.has_denials)
        return Sides(invested.fact * grown.fact, invested.denial * grown.denial)


def votes(block: Block, weight_of_source: FloatArray, has_denials: bool) -> Sides:
    """Add up the weights of the sources of each fact, and those of the sources of its denial."""
    nothing = np.zeros_like(weight_of_source)
    fact: FloatArray = kernels.sum_votes(block, nothing, weight_of_source)
    if not has_denials:
        return Sides(fact, np.zeros_like(fact))
    denial = kernels.sum_votes(block, weight_of_source, -weight_of_source)
    return Sides(fact, np.maximum(denial, 0.0))  # the voices less the supporters may round below 0


def earned(block: Block, pay: Sides, n_sources: int) -> FloatArray:
    """Add up the beliefs in the claims of each source."""
    of_facts: FloatArray = kernels.count_votes(block, pay.fact, n_sources)[:, 0]
    denied = kernels.count_votes(block, pay.denial, n_sources)
    of_denials: FloatArray = np.maximum(denied[:, 2] - denied[:, 0], 0.0)
    return of_facts + of_denials


def share(block: Block, sides: Sides, has_denials: bool) -> Sides:
    """Return the shares of facts that exclude one another; equal shares where all are zero."""
    if not has_denials:
        return Sides(share_of_item(sides.fact, block), np.zeros_like(sides.fact))
    total = sides.fact + sides.denial
    of_fact = np.where(total > 0.0, sides.fact / np.where(total > 0.0, total, 1.0), 0.5)
    return Sides(of_fact, 1.0 - of_fact)


def clamp_sides(block: Block, belief: Sides, has_denials: bool) -> Sides:
    """Set beliefs to one where a claim is known to be right, to zero where it is wrong."""
    known = block.known_of_fact
    flipped = block._replace(known_of_fact=np.where(known == UNKNOWN, UNKNOWN, 1 - known))
    denial = clamp_known(belief.denial, flipped) if has_denials else belief.denial
    return Sides(clamp_known(belief.fact, block), denial)


def _per_unit(belief: FloatArray, invested: FloatArray) -> FloatArray:
    """Return the return of a claim on each unit invested in it; zero without investment."""
    is_some = invested > LEAST_INVESTED
    return np.where(is_some, belief / np.where(is_some, invested, 1.0), 0.0)
