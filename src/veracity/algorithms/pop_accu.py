"""PopAccu: Accu, in which false values are as likely as they are popular.

Dong, Saha, Srivastava: Less is More: Selecting Sources Wisely for Integration (VLDB 2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.accu import Accu, Accuracies
from veracity.algorithms.base import Memory
from veracity.algorithms.popularity import surprise
from veracity.algorithms.rules import Weights, logit
from veracity.encoding.block import Block


@dataclass(frozen=True, kw_only=True)
class PopAccu(Accu):
    """Accu, but who errs names a false value as often as others do.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        No accuracy falls below one in so many and one. It plays no other part here.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "pop-accu"

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """C(c) = Σ_s ln(A_s / (1 - A_s)) + n ln n - m ln m - (n - m) ln(n - m).

        Here m of the n claims on the item name c. What nobody claims has a score of zero: all err.
        A word that would count against what it says is ignored, as in Accu.
        """
        vote = logit(state.accuracy)
        of_claim = vote[block.source_of_support] + surprise(block)[block.fact_of_support]
        return Weights("softmax", vote, of_claim=np.maximum(of_claim, 0.0), unclaimed=0.0)
