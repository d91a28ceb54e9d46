"""Pooled Investment: claims that exclude one another share what was invested in them.

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.investment import Investment
from veracity.algorithms.sums import Sides, Standing, share
from veracity.encoding.block import Block


@dataclass(frozen=True, kw_only=True)
class PooledInvestment(Investment):
    """Like `Investment`, but what is invested in an item is shared out, not grown.

    So an item on which many speak makes nobody rich. Parameters are those of `Investment`, with
    the paper's own defaults.
    """

    name = "pooled-investment"

    growth: float = 1.4
    max_rounds: int = 10

    def power(self) -> float:
        """What is invested, times its share to a power."""
        return 1.0 + self.growth

    def first_belief(self, block: Block, voters: Sides, has_denials: bool) -> Sides:
        """The paper's uniform prior: one over the number of claims that exclude one another."""
        is_claimed = Sides(np.sign(voters.fact), np.sign(voters.denial))
        return share(block, is_claimed, has_denials)

    def belief_from(self, block: Block, state: Standing) -> Sides:
        """B(c) = I(c) · I(c)^g / Σ I(d)^g over the claims d that exclude c, and c."""
        invested = self.invested(block, state)
        grown = share(block, invested, state.has_denials)  # shares first: no power underflows
        grown = Sides(grown.fact**self.growth, grown.denial**self.growth)
        grown = share(block, grown, state.has_denials)
        return Sides(invested.fact * grown.fact, invested.denial * grown.denial)
