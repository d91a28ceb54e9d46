"""Majority voting: every source counts the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, Memory
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights
from veracity.encoding.block import Block
from veracity.encoding.survey import Survey
from veracity.trees import BySource


class Equals(NamedTuple):
    """Weight of each source, one; and a flag that one value of each item is true."""

    weight: BySource
    single_truth: bool


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Algorithm[Equals]):
    """The share of an item's votes, where one value is true; else of its sources.

    There is nothing to learn, so it takes no rounds; the sources' rates are counted afterwards,
    against the vote itself. Both shares are the same unless a source names several values of an
    item: where several can be true, their shares then add up to more than one.
    """

    name = "majority-vote"
    takes_shares = True

    def start(self, survey: Survey, prior: PriorRates) -> Equals:
        """Give all sources the same weight."""
        return Equals(np.ones(survey.n_sources), survey.single_truth)

    def weigh(self, block: Block, state: Equals, memory: Memory = None) -> Weights:
        """Return a weight of one per source; plausibilities are shares of votes or of voices."""
        return Weights("share" if state.single_truth else "mean", state.weight)
