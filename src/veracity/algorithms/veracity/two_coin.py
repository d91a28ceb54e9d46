"""The two-coin error model: facts that are true or false each, two rates per source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import BySource, Tally, clamp_known
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, logit, plausibilities
from veracity.algorithms.veracity.shrinkage import expected_of, shrunk
from veracity.claims.block import Block, FloatArray
from veracity.kernels.loading import kernels

__all__ = ["TwoCoin"]


class TwoCoin(NamedTuple):
    """A tpr and an fpr of each source, and the prevalence.

    Both rates are shrunk towards the mean of all sources.
    """

    tpr: BySource
    fpr: BySource
    prior: PriorRates
    prevalence: float
    strength: float

    @property
    def accuracy(self) -> FloatArray:
        """How often the source's word on a fact is right."""
        share = self.prevalence
        return np.asarray(share * self.tpr + (1.0 - share) * (1.0 - self.fpr))

    def tally_vote(self, block: Block) -> Tally:
        """How the sources' words met the vote."""
        voices = np.repeat(block.votes_of_item, block.n_facts_of_item)
        return self._met(block, block.votes_of_fact / voices)

    def tally(self, block: Block) -> Tally:
        """How the sources' words met the facts."""
        return self._met(block, plausibilities(block, self.weights()))

    def _met(self, block: Block, plausibility: FloatArray) -> Tally:
        plausibility = clamp_known(plausibility, block)
        counts = kernels.count_votes(block, plausibility, len(self.tpr))
        return counts, plausibility.sum(), len(plausibility)

    def learn_vote(self, total: Tally) -> TwoCoin:
        """As from any other answer."""
        return self.learn(total)

    def learn(self, total: Tally) -> TwoCoin:
        """Shares of supports, shrunk."""
        counts, n_true, n_facts = total
        supports_of_true, supports, true, facts = counts.T
        is_fixed = self.prior.is_fixed == 1
        tpr = self._rate(supports_of_true, true, self.prior.tpr)
        fpr = self._rate(supports - supports_of_true, facts - true, self.prior.fpr)
        prevalence = (float(n_true) + 1.0) / (n_facts + 2.0)
        if self.prior.prevalence is not None:
            prevalence = self.prior.prevalence
        return self._replace(
            tpr=np.where(is_fixed, self.prior.tpr, tpr),
            fpr=np.where(is_fixed, self.prior.fpr, fpr),
            prevalence=prevalence,
        )

    def _rate(self, part: FloatArray, whole: FloatArray, prior: FloatArray) -> FloatArray:
        mean = float((part.sum() + np.median(prior)) / (whole.sum() + 1.0))
        return shrunk(part, whole, expected_of(mean, prior), self.strength)

    def calibrated(self) -> TwoCoin:
        """The rates as the known truths correct them."""
        tpr, fpr = self.prior.weigh_known(self.tpr, self.fpr)
        return self._replace(tpr=tpr, fpr=fpr)

    def change(self, after: TwoCoin) -> float:
        """By how much the rates, on average, or the prevalence moved."""
        moves = (after.tpr - self.tpr, after.fpr - self.fpr)
        largest = max(float(np.abs(move).mean()) for move in moves)
        return max(largest, abs(after.prevalence - self.prevalence))

    def weights(self) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: the prevalence."""
        return Weights(
            "sigmoid",
            np.log(self.tpr) - np.log(self.fpr),
            np.log1p(-self.tpr) - np.log1p(-self.fpr),
            float(logit(np.array(self.prevalence))),
        )
