"""Average·Log: a source's mean belief, and the logarithm of how much it claims.

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.sums import Sides, Standing, Sums, earned
from veracity.encode import Block, FloatArray

__all__ = ["AverageLog"]


@dataclass(frozen=True, kw_only=True)
class AverageLog(Sums):
    """Trust of a source: the mean belief in its claims, times the logarithm of their number.

    Between the sum, which favours those who claim much, and the mean, which favours those who
    claim little. Parameters are those of `Sums`.
    """

    name = "average-log"

    def trust_from(self, block: Block, belief: Sides, standing: Standing) -> FloatArray:
        """T(s) = log|C_s| · Σ B(c) / |C_s|: none for a source with a single claim."""
        n_claims = standing.n_claims
        return earned(block, belief, len(n_claims)) * np.log(n_claims) / n_claims
