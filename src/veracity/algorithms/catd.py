"""CATD: CRH that knows how little a source with few claims has shown.

Li, Li, Gao, Su, Zhao, Demirbas, Fan, Han: A Confidence-Aware Approach for Truth Discovery on
Long-Tail Data (VLDB 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.checks import require_probability
from veracity.algorithms.crh import CRH, some_loss
from veracity.algorithms.distributions import chi2_quantile
from veracity.encoding.block import FloatArray


@dataclass(frozen=True, kw_only=True)
class CATD(CRH):
    """A source's weight is the lower end of a confidence interval of its precision.

    weight = χ²(significance / 2, number of claims) / loss, with χ² the lower quantile, so that few
    claims never weigh much, however right they look. Losses and truths are those of CRH.

    Parameters
    ----------
    significance
        One less the confidence of the interval.
    both_losses, most_values
        As for CRH: numbers among values are judged by distances.
    max_rounds, tolerance
        It stops when a round moves no weight by `tolerance`, the largest weight being one.
    """

    name = "catd"

    significance: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(self, significance=self.significance)

    def weights_from(self, mean_loss: FloatArray, n_claims: FloatArray) -> FloatArray:
        """The lower end of the interval, the largest weight being one."""
        if mean_loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(mean_loss)
        n_claims = np.maximum(n_claims, 1.0)
        smallest = np.finfo(np.float64).tiny  # in place of a quantile that is too small to tell
        quantile = np.maximum(chi2_quantile(n_claims, self.significance / 2.0), smallest)
        weight = quantile / some_loss(mean_loss * n_claims)
        return np.asarray(weight / weight.max())
