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
    Memory,
    Tally,
    Turn,
    Weights,
    hold_known,
    kernels,
    share_of_item,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import PriorRates
from veracity.encode import UNKNOWN, Block, Claims, FloatArray

__all__ = [
    "Sides",
    "Standing",
    "Sums",
    "claims_of_sources",
    "earned",
    "hold",
    "share",
    "votes",
    "weights_of_stakes",
]


class Sides(NamedTuple):
    """A number for each fact, and one for its denial: zero where denials are no claims."""

    fact: FloatArray
    denial: FloatArray


class Standing(NamedTuple):
    """The trust of each source, the largest being one, and how many claims it makes."""

    trust: FloatArray
    n_claims: FloatArray
    has_denials: bool


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
    learns_from = "all"

    max_rounds: int = 20
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_at_least(self, 1, max_rounds=self.max_rounds)
        require_positive(self, tolerance=self.tolerance)

    @property
    def min_rounds(self) -> int:  # type: ignore[override]
        """All rounds are made."""
        return self.max_rounds

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Standing]:
        """The beliefs before the first round; all sources are trusted equally."""
        standing = Standing(np.ones(claims.n_sources), *claims_of_sources(claims))
        voters = votes(claims.all, standing.trust, standing.has_denials)
        belief = self.first_belief(claims.all, voters, standing.has_denials)
        return hold(claims.all, belief, standing.has_denials), standing

    def study(
        self, block: Block, memory: Memory, reliability: Standing, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Trust from the beliefs, then belief from the trusts.

        Both are divided by the largest, which changes no ratio: in all four algorithms b times the
        beliefs give b times the trusts, whatever the scale of the old trusts, and t times the
        trusts give t times the beliefs (Investment: t^g times).
        """
        trust = self.trust_from(block, Sides(*memory), reliability)
        trust = trust / (trust.max() or 1.0)  # all are zero if no source makes two claims (log 1)
        belief = self.belief_from(block, reliability._replace(trust=trust))
        largest = max(belief.fact.max(), belief.denial.max()) or 1.0
        belief = Sides(belief.fact / largest, belief.denial / largest)
        return hold(block, belief, reliability.has_denials), (trust,)

    def learn(self, reliability: Standing, tally: Tally) -> Standing:
        """Take the new trusts."""
        return reliability._replace(trust=tally[0])

    def change(self, before: Standing, after: Standing) -> float:
        """The largest move of any trust."""
        return float(np.abs(after.trust - before.trust).max())

    def judge(
        self, block: Block, memory: Memory, reliability: Standing, single_truth: bool
    ) -> FloatArray:
        """Belief in the fact, as a share of the belief in all that exclude one another."""
        return share(block, Sides(*memory), reliability.has_denials).fact

    def trust(self, reliability: Standing) -> FloatArray:
        """The trusts, the largest one."""
        return reliability.trust

    def weights(self, claims: Claims, memory: Memory, reliability: Standing) -> Weights:
        """A source's trust, for its claims and against what they exclude."""
        return weights_of_stakes(reliability.trust, reliability.has_denials, power=1.0)

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """The paper's fixed prior: one half for every claim."""
        half = np.full(len(voters.fact), 0.5)
        return Sides(half, half if has_denials else np.zeros_like(half))

    def trust_from(self, block: Block, belief: Sides, standing: Standing) -> FloatArray:
        """T(s) = Σ B(c) over the claims c of source s."""
        return earned(block, belief, len(standing.trust))

    def belief_from(self, block: Block, standing: Standing) -> Sides:
        """B(c) = Σ T(s) over the sources s of claim c."""
        return votes(block, standing.trust, standing.has_denials)


def claims_of_sources(claims: Claims) -> tuple[FloatArray, bool]:
    """How many claims each source makes, and whether denials are among them."""
    counts = kernels.count_votes(claims.all, np.zeros(claims.n_facts), claims.n_sources)
    has_denials = claims.kind != "categorical"
    return counts[:, 3] if has_denials else counts[:, 1], has_denials


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


def hold(block: Block, belief: Sides, has_denials: bool) -> Sides:
    """Beliefs in [0, 1], but one where a claim is known to be right, and zero where wrong."""
    known = block.known_of_fact
    flipped = block._replace(known_of_fact=np.where(known == UNKNOWN, UNKNOWN, 1 - known))
    denial = hold_known(belief.denial, flipped) if has_denials else belief.denial
    return Sides(hold_known(belief.fact, block), denial)


def weights_of_stakes(stake: FloatArray, has_denials: bool, power: float) -> Weights:
    """Weights where beliefs are sums of what sources have at stake, to a power."""
    if has_denials:
        return Weights(stake, -stake, "balance", power=power)
    return Weights(stake, np.zeros_like(stake), "share", power=power)
