"""Facts that are true or false each: two rates a source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Tally, Weights, hold_known, kernels, logit, sigmoid
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.shapes.pooling import expected_of, pooled
from veracity.encode import Block, FloatArray, IntArray

__all__ = ["Facts"]


class Facts(NamedTuple):
    """A tpr and an fpr a source, and the prevalence: for facts that are true or false each.

    Both rates have the mean of all sources as a few facts more.
    """

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float
    prior: PriorRates
    strength: float

    @property
    def accuracy(self) -> FloatArray:
        """How often the source's word on a fact is right."""
        share = self.prevalence
        return np.asarray(share * self.tpr + (1.0 - share) * (1.0 - self.fpr))

    def study(self, block: Block, label_of_fact: IntArray) -> Tally:
        """How the sources' words met the facts."""
        plausibility = hold_known(self.judge(block, label_of_fact, temper=False), block)
        counts = kernels.count_votes(block, plausibility, len(self.tpr))
        return counts, plausibility.sum(), len(plausibility)

    def learn(self, tally: Tally) -> Facts:
        """Shares of supports, with the mean of all as a few facts more."""
        supports_of_true, supports, true, facts = tally[0].T
        is_fixed = self.prior.is_fixed == 1
        tpr = self._rate(supports_of_true, true, self.prior.tpr)
        fpr = self._rate(supports - supports_of_true, facts - true, self.prior.fpr)
        prevalence = (float(tally[1]) + 1.0) / (tally[2] + 2.0)
        if self.prior.prevalence is not None:
            prevalence = self.prior.prevalence
        return self._replace(
            tpr=np.where(is_fixed, self.prior.tpr, tpr),
            fpr=np.where(is_fixed, self.prior.fpr, fpr),
            prevalence=prevalence,
        )

    def _rate(self, part: FloatArray, whole: FloatArray, prior: FloatArray) -> FloatArray:
        mean = float((part.sum() + np.median(prior)) / (whole.sum() + 1.0))
        return pooled(part, whole, expected_of(mean, prior), self.strength)

    def settle(self, prior: PriorRates) -> Facts:
        """Correct the rates by the known truths."""
        tpr, fpr = prior.weigh_known(self.tpr, self.fpr)
        return self._replace(tpr=tpr, fpr=fpr)

    def change(self, after: Facts) -> float:
        """By how much the rates, on average, or the prevalence moved."""
        moves = (after.tpr - self.tpr, after.fpr - self.fpr)
        largest = max(float(np.abs(move).mean()) for move in moves)
        return max(largest, abs(after.prevalence - self.prevalence))

    def judge(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> FloatArray:
        """Bayes' rule, fact by fact."""
        support, oppose, _, prior, *_ = self.weights(block, label_of_fact, temper=temper)
        return sigmoid(kernels.sum_votes(block, oppose, support - oppose) + prior)

    def weights(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: the prevalence."""
        return Weights(
            np.log(self.tpr) - np.log(self.fpr),
            np.log1p(-self.tpr) - np.log1p(-self.fpr),
            "sigmoid",
            float(logit(np.array(self.prevalence))),
        )
