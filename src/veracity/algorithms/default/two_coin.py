"""The two-coin error model: each fact is true or false, and each source has two rates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Tally, clamp_known
from veracity.algorithms.default.shrinkage import (
    CYCLES,
    SUREST,
    Derived,
    ModelPhase,
    ModelStep,
    expected_of,
    known_part,
    shrunk,
    surely,
    weigh_known,
)
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.regression import Beforehand, Counts, Regression
from veracity.algorithms.rules import Weights, logit, plausibilities
from veracity.dependence.naming import Meetings
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.trees import BySource

OF_TPR, OF_FPR = range(2)
N_RATES = 2
"""Rates that features predict."""


class TwoCoin(NamedTuple):
    """A tpr and an fpr of each source, and the prevalence.

    Both rates are shrunk towards the mean of all sources.
    """

    tpr: BySource
    fpr: BySource
    prior: PriorRates
    prevalence: float
    strength: float
    features: Regression | None = None
    """Prediction of both rates from features of sources."""

    @classmethod
    def at_start(
        cls, prior: PriorRates, strength: float, rows: FloatArray | None = None
    ) -> TwoCoin:
        """Return the model before any claim; `rows` are features of the sources, if there are."""
        features = None if rows is None else Regression.at_start(rows, N_RATES)
        return cls(prior.tpr, prior.fpr, prior, 0.5, strength, features)

    @property
    def accuracy(self) -> FloatArray:
        """Return how often a source's word on a fact is right."""
        share = self.prevalence
        return np.asarray(share * self.tpr + (1.0 - share) * (1.0 - self.fpr))

    def derive(self, block: Block, weight: FloatArray, n_sources: int) -> Derived:
        """Return that all claims count in full."""
        return np.zeros(0), np.zeros(0, dtype=np.int32)

    def phases(self) -> tuple[ModelPhase, ...]:
        """Return the phases in order."""
        own = type(self)
        again = ModelStep(own.tally, own.learn)
        phases = [
            ModelPhase("vote", (ModelStep(own.tally_vote, own.learn),)),
            ModelPhase("accuracies", (again,), own.change),
        ]
        if self.prior.known.any():
            compare = ModelStep(own.tally_expected, own.learn_expected)
            phases.append(ModelPhase("known truths", (compare, *CYCLES * (again, compare))))
        return tuple(phases)

    def tally_vote(self, block: Block, found: Derived) -> Tally:
        """Count how often each source supports the facts that a vote finds true, and false."""
        voices = np.repeat(block.votes_of_item, block.n_facts_of_item)
        return self._count(block, block.votes_of_fact / voices)

    def tally(self, block: Block, found: Derived) -> Tally:
        """Judge the facts, and count the claims of each source by truth (E-step)."""
        return self._count(block, plausibilities(block, self.weights(block, found)))

    def _count(self, block: Block, plausibility: FloatArray) -> Tally:
        plausibility = clamp_known(plausibility, block)
        counts = kernels.count_votes(block, plausibility, len(self.tpr))
        return counts, plausibility.sum(), len(plausibility)

    def learn(self, total: Tally) -> TwoCoin:
        """Learn shares of supports, shrunk (M-step)."""
        counts, n_true, n_facts = total
        supports_of_true, supports, true, facts = counts.T
        is_fixed = self.prior.is_fixed == 1
        of_true = Counts(supports_of_true, true)
        of_false = Counts(supports - supports_of_true, facts - true)
        tpr, features = self._rate(OF_TPR, of_true, self.features)
        fpr, features = self._rate(OF_FPR, of_false, features)
        prevalence = (float(n_true) + 1.0) / (n_facts + 2.0)
        if self.prior.prevalence is not None:
            prevalence = self.prior.prevalence
        return self._replace(
            tpr=np.where(is_fixed, self.prior.tpr, tpr),
            fpr=np.where(is_fixed, self.prior.fpr, fpr),
            prevalence=prevalence,
            features=features,
        )

    def _rate(
        self, rate: int, counts: Counts, features: Regression | None
    ) -> tuple[FloatArray, Regression | None]:
        """Return the rates, shrunk to the mean of all sources or to predictions from features."""
        prior = self.prior.tpr if rate == OF_TPR else self.prior.fpr
        mean = float((counts.right.sum() + np.median(prior)) / (counts.total.sum() + 1.0))
        if features is None:
            return shrunk(*counts, expected_of(mean, prior), self.strength), None
        known = Beforehand.of(mean, prior, self.prior, self.strength)
        shares, features = features.shrunk(rate, counts, known)
        return surely(shares), features

    def borrowing(self, rows: FloatArray, n_met: int) -> TwoCoin:
        """Return the model with rates of new sources, predicted from their features.

        `rows` has the features of all sources.
        """
        assert self.features is not None
        features = self.features._replace(rows=rows)
        tpr, fpr = (
            np.append(own[:n_met], surely(features.expected(rate)[n_met:]))
            for rate, own in ((OF_TPR, self.tpr), (OF_FPR, self.fpr))
        )
        return self._replace(tpr=tpr, fpr=fpr, features=features)

    def tally_expected(self, block: Block, found: Derived) -> Tally:
        """Count the claims on known facts by truth, judged as if these facts were unknown."""
        if not block.is_known.any():
            return (None,)
        known, found = known_part(block, found)
        p = plausibilities(known, self.weights(known, found))
        return (kernels.count_votes(known, p, len(self.tpr)),)

    def learn_expected(self, total: Tally) -> TwoCoin:
        """Return the rates as the known truths correct them, see `weigh_known`."""
        if total[0] is None:
            return self
        expected = np.zeros_like(self.prior.known)
        expected[: len(total[0])] = total[0]
        known_true, known_false = _met(self.prior.known)
        seems_true, seems_false = _met(expected)
        return self._replace(
            tpr=self._corrected(self.tpr, known_true, seems_true),
            fpr=1.0 - self._corrected(1.0 - self.fpr, known_false, seems_false),
        )

    def _corrected(self, rate: FloatArray, known: FloatArray, expected: FloatArray) -> FloatArray:
        """Return a rate, corrected by counts [source, right or wrong] of known facts."""
        n_expected, n_known = expected.sum(axis=1), known.sum(axis=1)
        usual = np.where(n_expected > SUREST, expected[:, 0] / np.maximum(n_expected, SUREST), rate)
        return weigh_known(rate, known, n_known * usual, self.prior)

    def change(self, after: TwoCoin) -> float:
        """Return by how much the rates, on average, or the prevalence moved."""
        moves = (after.tpr - self.tpr, after.fpr - self.fpr)
        largest = max(float(np.abs(move).mean()) for move in moves)
        return max(largest, abs(after.prevalence - self.prevalence))

    def grown(self, names: Names) -> TwoCoin:
        """Return the model unchanged, since it has no labels or attributes."""
        return self

    def with_family(self, slots: FloatArray, met: Meetings, claims: FloatArray) -> TwoCoin:
        """Return the model unchanged, since it does not search for copies."""
        return self

    def described(self, claims: FloatArray) -> dict[str, Any]:
        """Return the effects of features on both rates."""
        features = self.features
        if features is None:
            return {}
        return {
            "source_effects": {"tpr": features.effects(OF_TPR), "fpr": features.effects(OF_FPR)}
        }

    def weights(
        self, block: Block, found: Derived, *, final: bool = False, temper: bool = True
    ) -> Weights:
        """Return log(tpr / fpr) for, log((1 - tpr) / (1 - fpr)) against, and the prevalence."""
        return Weights(
            "sigmoid",
            np.log(self.tpr) - np.log(self.fpr),
            np.log1p(-self.tpr) - np.log1p(-self.fpr),
            float(logit(np.array(self.prevalence))),
        )


def _met(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how often sources support and deny true facts, and deny and support false ones."""
    supports_of_true, supports, true, facts = counts.T
    false_supports = supports - supports_of_true
    of_true = np.stack([supports_of_true, np.maximum(true - supports_of_true, 0.0)], axis=1)
    denials = np.maximum(facts - true - false_supports, 0.0)
    return of_true, np.stack([denials, false_supports], axis=1)
