"""Investment: sources invest their trust in their claims, and claims pay it back with interest.

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.checks import require_at_least, require_at_most
from veracity.algorithms.sums import Sides, Standing, Sums, earned, share, votes
from veracity.encoding.block import Block, FloatArray

MOST_GROWTH = 20.0
"""Beyond this, the power of what a million sources invest could overflow."""

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
        require_at_most(self, MOST_GROWTH, growth=self.growth)

    def stake(self, state: Standing) -> FloatArray:
        """What a source invests in each of its claims: i(s) = T(s) / |C_s|."""
        return np.asarray(state.trust / np.maximum(state.n_claims, 1.0))

    def power(self) -> float:
        """Belief is what is invested to this power."""
        return self.growth

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """The paper's voted prior: the share of the votes."""
        return share(block, voters, has_denials)

    def belief_from(self, block: Block, state: Standing) -> Sides:
        """B(c) = I(c)^g."""
        invested = self.invested(block, state)
        return Sides(invested.fact**self.growth, invested.denial**self.growth)

    def invested(self, block: Block, state: Standing) -> Sides:
        """I(c) = Σ i(s) over the sources s of claim c."""
        return votes(block, self.stake(state), state.has_denials)

    def pay(self, block: Block, belief: Sides, state: Standing) -> FloatArray:
        """Σ B(c) / I(c) over its claims: what is paid for each unit invested."""
        per_unit = Sides(*map(_per_unit, belief, self.invested(block, state)))
        return earned(block, per_unit, len(state.trust))

    def trust_from(self, paid: FloatArray, state: Standing) -> FloatArray:
        """T(s) = i(s) · Σ B(c) / I(c), i(s) from before."""
        return self.stake(state) * paid


def _per_unit(belief: FloatArray, invested: FloatArray) -> FloatArray:
    """What a claim pays for each unit invested in it; nothing is paid where nothing was."""
    is_some = invested > LEAST_INVESTED
    return np.where(is_some, belief / np.where(is_some, invested, 1.0), 0.0)
