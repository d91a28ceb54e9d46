"""Sums: a source is as good as the facts it claims, a fact as its sources (hubs and authorities).

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010), after
Kleinberg (1999). The paper's other three algorithms are `Sums` with other formulas.

Of the claims that exclude one another at most one is true. Under a single truth these are the
facts of an item. Elsewhere they are a fact and its denial: whoever speaks on a fact without
supporting it claims the denial, which then is believed and pays its sources as a fact does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    BySource,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, share_of_item
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.survey import Largest, Survey
from veracity.kernels.loading import kernels


class Sides(NamedTuple):
    """A number for each fact, and one for its denial: zero where denials are no claims."""

    fact: FloatArray
    denial: FloatArray


class Standing(NamedTuple):
    """The trust of each source, the largest being one, and how many claims it makes.

    `largest` is the largest belief that these trusts give to any claim.
    """

    trust: BySource
    n_claims: BySource
    has_denials: bool
    largest: float = 1.0


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
    state_type = Standing
    takes_shares = True
    rounds_go_on = True

    max_rounds: int = 20
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_at_least(self, 1, max_rounds=self.max_rounds)
        require_positive(self, tolerance=self.tolerance)

    @property
    def min_rounds(self) -> int:  # type: ignore[override]
        """All rounds are made."""
        return self.max_rounds

    def start(self, survey: Survey, prior: PriorRates) -> Standing:
        """All sources are trusted equally."""
        return Standing(np.ones(survey.n_sources), survey.claims_of_source, survey.has_denials)

    def phases(self, state: Standing) -> tuple[Phase[Standing], ...]:
        """In every round trust follows from the beliefs; how large these are is seen before.

        Beliefs are divided by the largest, which changes no ratio: in all four algorithms b times
        the beliefs give b times the trusts, whatever the scale of the old trusts, and t times the
        trusts give t times the beliefs (Investment: t^g times).
        """
        steps = Step(self.tally_largest, self.learn_largest), Step(self.tally, self.learn)
        return (Phase("rounds", steps, self.change),)

    def tally_largest(self, block: Block, state: Standing, turn: Turn) -> Tally:
        """The largest belief; those of the first round are what they are."""
        if turn.round_number == 1:
            return (Largest(1.0),)
        belief = self.belief_from(block, state)
        return (Largest(max(belief.fact.max(), belief.denial.max())),)

    def learn_largest(self, state: Standing, total: Tally) -> Standing:
        """What beliefs are divided by: one if nobody is believed anything."""
        return state._replace(largest=float(total[0]) or 1.0)

    def tally(self, block: Block, state: Standing, turn: Turn) -> Tally:
        """What its claims pay each source, given what the trusts before make of them."""
        if turn.round_number == 1:
            voters = votes(block, np.ones_like(state.trust), state.has_denials)
            belief = self.first_belief(block, voters, state.has_denials)
        else:
            belief = self.belief_from(block, state)
        belief = Sides(belief.fact / state.largest, belief.denial / state.largest)
        return (self.pay(block, clamp_sides(block, belief, state.has_denials), state),)

    def learn(self, state: Standing, total: Tally) -> Standing:
        """The new trusts, the largest being one."""
        trust = self.trust_from(total[0], state)
        return state._replace(trust=trust / (trust.max() or 1.0))  # all may be zero: log 1

    def change(self, before: Standing, after: Standing) -> float:
        """The largest move of any trust."""
        return float(np.abs(after.trust - before.trust).max())

    def trust(self, state: Standing) -> FloatArray:
        """The trusts, the largest one."""
        return state.trust

    def weigh(self, block: Block, state: Standing, memory: Memory = None) -> Weights:
        """What a source has at stake, for its claims and against what they exclude.

        Belief is a power of the sum; plausibility, a share of the belief in all that exclude one
        another.
        """
        stake, power = self.stake(state), self.power()
        if state.has_denials:
            return Weights("balance", stake, -stake, power=power)
        return Weights("share", stake, power=power)

    def resume(self, state: Standing, survey: Survey, prior: PriorRates) -> Standing:
        """The trusts reached so far, with the claims of all."""
        return self.grow(state, survey.names)._replace(n_claims=survey.claims_of_source)

    def stake(self, state: Standing) -> FloatArray:
        """What a source has at stake in each of its claims: its trust."""
        return state.trust

    def power(self) -> float:
        """Belief is the sum of what is at stake to this power."""
        return 1.0

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """The paper's fixed prior: one half for every claim."""
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


def votes(block: Block, weight_of_source: FloatArray, has_denials: bool) -> Sides:
    """The weights of the sources of each fact, added up, and those of the sources of its denial."""
    nothing = np.zeros_like(weight_of_source)
    fact: FloatArray = kernels.sum_votes(block, nothing, weight_of_source)
    if not has_denials:
        return Sides(fact, np.zeros_like(fact))
    denial = kernels.sum_votes(block, weight_of_source, -weight_of_source)
    return Sides(fact, np.maximum(denial, 0.0))  # the voices less the supporters may round below 0


def earned(block: Block, pay: Sides, n_sources: int) -> FloatArray:
    """What its claims pay each source, added up."""
    of_facts: FloatArray = kernels.count_votes(block, pay.fact, n_sources)[:, 0]
    denied = kernels.count_votes(block, pay.denial, n_sources)
    of_denials: FloatArray = np.maximum(denied[:, 2] - denied[:, 0], 0.0)
    return of_facts + of_denials


def share(block: Block, sides: Sides, has_denials: bool) -> Sides:
    """Shares of the total of what excludes one another; equal ones where that is nothing."""
    if not has_denials:
        return Sides(share_of_item(sides.fact, block), np.zeros_like(sides.fact))
    total = sides.fact + sides.denial
    of_fact = np.where(total > 0.0, sides.fact / np.where(total > 0.0, total, 1.0), 0.5)
    return Sides(of_fact, 1.0 - of_fact)


def clamp_sides(block: Block, belief: Sides, has_denials: bool) -> Sides:
    """Beliefs in [0, 1], but one where a claim is known to be right, and zero where wrong."""
    known = block.known_of_fact
    flipped = block._replace(known_of_fact=np.where(known == UNKNOWN, UNKNOWN, 1 - known))
    denial = clamp_known(belief.denial, flipped) if has_denials else belief.denial
    return Sides(clamp_known(belief.fact, block), denial)
