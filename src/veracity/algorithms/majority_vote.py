"""Majority voting: every source counts the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, BySource, Memory
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights
from veracity.claims.block import Block
from veracity.claims.survey import Survey

__all__ = ["Equals", "MajorityVote"]


class Equals(NamedTuple):
    """What each source counts: one."""

    weight: BySource


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Algorithm[Equals]):
    """The share of an item's sources that support the fact.

    There is nothing to learn, so it takes no rounds; the sources' rates are counted afterwards,
    against the vote itself. Where sources name several values of an item, their shares may add up
    to more than one.
    """

    name = "majority-vote"
    state_type = Equals

    def start(self, survey: Survey, prior: PriorRates) -> Equals:
        """All sources are equal."""
        return Equals(np.ones(survey.n_sources))

    def weigh(self, block: Block, state: Equals, memory: Memory = None) -> Weights:
        """Every supporter adds one; the voices are what these are a share of."""
        return Weights("mean", state.weight)
