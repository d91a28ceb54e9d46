"""Average·Log: a source's mean belief, and the logarithm of how much it claims.

Pasternack, Roth: Knowing What to Believe (when you already know something) (COLING 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.sums import Standing, Sums
from veracity.encoding.block import FloatArray


@dataclass(frozen=True, kw_only=True)
class AverageLog(Sums):
    """Trust of a source: the mean belief in its claims, times the logarithm of their number.

    Between the sum, which favours those who claim much, and the mean, which favours those who
    claim little. Parameters are those of `Sums`.
    """

    name = "average-log"

    def trust_from(self, paid: FloatArray, state: Standing) -> FloatArray:
        """T(s) = log|C_s| · Σ B(c) / |C_s|: none for a source with a single claim."""
        n_claims = np.maximum(state.n_claims, 1.0)
        return np.asarray(paid * np.log(n_claims) / n_claims)
