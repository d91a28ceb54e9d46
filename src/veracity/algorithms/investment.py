"""Investment: sources invest their trust in their claims, and claims pay it back with interest.

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.base import Memory, Weights
from veracity.algorithms.checks import require_at_least
from veracity.algorithms.sums import (
    Sides,
    Standing,
    Sums,
    earned,
    share,
    votes,
    weights_of_stakes,
)
from veracity.encode import Block, Claims, FloatArray

__all__ = ["Investment", "invested_in"]

LEAST_INVESTED = 1e-250
"""Less counts as nothing: dividing by it could overflow."""


@dataclass(frozen=True, kw_only=True)
class Investment(Sums):
    """Trust of a source: what its claims pay it. Belief: what is invested, to a power.

    Parameters
    ----------
    growth
        The power, g in the paper: above one, what is widely believed gains on what is not.
    max_rounds, tolerance
        As for `Sums`.
    """

    name = "investment"

    growth: float = 1.2

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, 1.0, growth=self.growth)

    def weights(self, claims: Claims, memory: Memory, reliability: Standing) -> Weights:
        """What a source invests in each of its claims; belief grows with a power of their sum."""
        stake = reliability.trust / reliability.n_claims
        return weights_of_stakes(stake, reliability.has_denials, self._power())

    def _power(self) -> float:
        """Belief is what is invested to this power."""
        return self.growth

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """The paper's voted prior: the share of the votes."""
        return share(block, voters, has_denials)

    def trust_from(self, block: Block, belief: Sides, standing: Standing) -> FloatArray:
        """T(s) = Σ B(c) · i(s) / I(c) over its claims, i(s) = T(s) / |C_s| from before."""
        stake = standing.trust / standing.n_claims
        invested = votes(block, stake, standing.has_denials)
        pay = Sides(*map(_per_unit, belief, invested))
        return stake * earned(block, pay, len(stake))

    def belief_from(self, block: Block, standing: Standing) -> Sides:
        """B(c) = I(c)^g."""
        invested = invested_in(block, standing)
        return Sides(invested.fact**self.growth, invested.denial**self.growth)


def invested_in(block: Block, standing: Standing) -> Sides:
    """I(c) = Σ T(s) / |C_s| over the sources s of claim c."""
    return votes(block, standing.trust / standing.n_claims, standing.has_denials)


def _per_unit(belief: FloatArray, invested: FloatArray) -> FloatArray:
    """What a claim pays for each unit invested in it; nothing is paid where nothing was."""
    is_some = invested > LEAST_INVESTED
    return np.where(is_some, belief / np.where(is_some, invested, 1.0), 0.0)
