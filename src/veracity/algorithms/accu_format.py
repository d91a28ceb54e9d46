"""AccuFormat: AccuSim, in which who names a value coarsely also speaks for what is told finely.

Li, Dong, Lyons, Meng, Srivastava: Truth Finding on the Deep Web: Is the Problem Solved? (VLDB 2013)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.accu_sim import AccuSim, Likened
from veracity.algorithms.base import Memory
from veracity.algorithms.rules import Weights
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.granularity import covers, grains


class Lent(NamedTuple):
    """Of pairs of facts of one item: how much of the votes for the one counts for the other."""

    fact: IntArray
    lender: IntArray
    share: FloatArray


@dataclass(frozen=True, kw_only=True)
class AccuFormat(AccuSim):
    """AccuSim, but what is a rounding of a value is as good as the value itself.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        How many false values an item has, all equally likely to be named by a source that errs.
        Fewer where fewer values are claimed in all.
    similarity
        How similar two values of an item are, from 0 to 1. Values of which one is the other, told
        less finely, count as the same for the finer one.
    influence
        How much of the votes for a similar value counts.
    most_values
        Values of an item with more than these are not compared: pairs grow with their square.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-format"

    def pairs(self, block: Block, state: Likened) -> Lent:  # type: ignore[override]
        """How similar the values of each item are, both ways, and which are roundings of others."""
        one, other, similarity = super().pairs(block, state)
        fact, lender = np.append(one, other), np.append(other, one)
        told = grains(state.labels.gather(block.label_of_fact))
        is_rounding = covers(told, lender, fact)
        return Lent(fact, lender, np.where(is_rounding, 1.0, np.append(similarity, similarity)))

    def weigh(self, block: Block, state: Likened, memory: Memory = None) -> Weights:
        """C*(c) = C(c) + influence · Σ s(c' → c) C(c') over the item's other values.

        s(c' → c) is 1 if c' is c, told less finely, and else the similarity of the two.
        """
        fact, lender, share = memory or self.pairs(block, state)
        pairs = (fact, lender, self.influence * share)
        return state.accuracies.weights(block)._replace(pairs=pairs, pairs_are_one_way=True)
