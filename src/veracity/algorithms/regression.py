"""Predict rates of sources from their features: partially pooled logistic regression.

The log-odds of a rate are the sum of the effects of the source's features and a deviation::

    logit(expected of source s) = offset_s + Σ_c row[s, c] weight[c]
    rate of s ~ Beta, around its expected value, with the weight of `strength` pseudo-claims

The fit needs only the number of claims of each source and the number of right ones. These counts
add up over blocks, so the regression is fitted in every round without the claims. Weights have a
normal prior of unknown spread. Several spreads are tried, and each counts in proportion to its
likelihood (empirical Bayes). If features explain nothing, weights are close to zero.

The number of right claims is not observed but estimated. The M-step of expectation maximisation
learns weights as if it were observed. The uncertainty of the weights is computed from the observed
information: the complete information less the missing part (Louis 1982, `Fit.less_sure`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import logit, sigmoid
from veracity.encoding.block import BoolArray, FloatArray
from veracity.trees import CountBySource

SPREADS = np.geomspace(0.02, 2.56, 15)
"""Standard deviations that weights may have, in log-odds: from nothing to all there can be."""

USUAL_SPREAD = 0.5
"""Median of the half-Cauchy prior of the spread."""

SPREAD_OF_MEAN = 1.0
"""Spread, in log-odds, of a source of average features around the mean of all claims."""

LEAST_MEAN = 1e-3
"""Smallest distance of the mean of all claims from zero and one."""

MOST_STEPS, STILL = 50, 1e-9
"""Largest number of steps of Newton's method (usually four to eight), and size of the last step."""

LONGEST_STEP = 3.0
"""Largest change of a source's expected log-odds in one step."""

MOST_MISSING = 0.9
"""The share of the information on a weight that can be missing: its error is at most 3.2 times as
large as if all facts were seen."""

STRONG = 64.0
"""First weight of the prediction for a source on a kind of items, in pseudo-claims."""


class Counts(NamedTuple):
    """Number of right claims of each source, and of all its claims."""

    right: FloatArray
    total: FloatArray


class Beforehand(NamedTuple):
    """Expected rate without features.

    Its mean over all claims; by how much that of each source is expected to differ, in log-odds;
    which sources learning may move; and of how many pseudo-claims what is expected is worth.
    """

    mean: float
    offset: FloatArray
    is_free: BoolArray
    strength: float

    @classmethod
    def of(cls, mean: float, rate: FloatArray, prior: PriorRates, strength: float) -> Beforehand:
        """Return the mean of all, and by how much the prior's rates differ from the usual one."""
        usual = logit(np.array(np.median(rate)))
        is_free = np.asarray(prior.is_fixed == 0)
        mean = min(max(mean, LEAST_MEAN), 1.0 - LEAST_MEAN)
        return cls(mean, np.asarray(logit(rate) - usual), is_free, strength)


class Fit(NamedTuple):
    """Weights of the columns of features, and their covariance."""

    weight: FloatArray
    covariance: FloatArray
    rows: FloatArray | None = None
    """[source or kind of items, column]: the features it was learned from."""
    strength: float = 0.0
    """Weight of the prediction, in pseudo-claims."""

    def less_sure(self, unsure: FloatArray, total: FloatArray) -> Fit:
        """Return the fit with the covariance widened, since facts were judged, not seen.

        Each row was right of `total` claims so often, with a variance of `unsure`. So much
        information is missing, and what is observed is the rest (Louis 1982)::

            observed = complete - Σ rows rowᵀ unsure share², the share of claims as they count
        """
        assert self.rows is not None
        rows = self.rows * _share(total, self.strength)[:, None]
        missing = (rows.T * np.maximum(unsure, 0.0)) @ rows
        variance, axes = np.linalg.eigh(self.covariance)
        root = axes * np.sqrt(np.maximum(variance, 0.0))
        share, directions = np.linalg.eigh(root.T @ missing @ root)
        seen = 1.0 - np.clip(share, 0.0, MOST_MISSING)
        turned = root @ directions
        return self._replace(covariance=(turned / seen) @ turned.T)


class Regression(NamedTuple):
    """Weights of features of sources, for each rate that is learned."""

    rows: CountBySource
    """[source, column]: its features; the first column is one for all."""
    weight: FloatArray
    """[rate, column]"""
    covariance: FloatArray
    """[rate, column, column]"""
    strength: float
    """Weight of the prediction for a source, in pseudo-claims."""

    @classmethod
    def at_start(cls, rows: FloatArray, n_rates: int) -> Regression:
        """Before anything was counted."""
        n = rows.shape[1]
        return cls(rows, np.zeros((n_rates, n)), np.zeros((n_rates, n, n)), 0.0)

    def expected(self, rate: int, offset: FloatArray | float = 0.0) -> FloatArray:
        """Return the rate of each source that its features predict."""
        return np.asarray(sigmoid(offset + self.rows @ self.weight[rate]))

    def learned(self, rate: int, counts: Counts, known: Beforehand) -> Regression:
        """Learn one rate from the counts of the sources."""
        tells = (counts.total > 0.0) & known.is_free
        rows, own = self.rows[tells], Counts(*(count[tells] for count in counts))
        mean = np.zeros(self.rows.shape[1])
        mean[0] = logit(np.array(known.mean))
        start = self.weight[rate] - mean if self.weight[rate].any() else np.zeros_like(mean)
        offset = known.offset[tells] + mean[0]
        fit = fitted(rows, _effective(own, known.strength), offset, start)
        return self._replace(
            weight=_with(self.weight, rate, fit.weight + mean),
            covariance=_with(self.covariance, rate, fit.covariance),
            strength=known.strength,
        )

    def shrunk(self, rate: int, counts: Counts, known: Beforehand) -> tuple[FloatArray, Regression]:
        """Return the rates of the sources, shrunk towards the predictions, and the fit.

        Rates are not kept clear of zero and one.
        """
        learned = self.learned(rate, counts, known)
        start = known.strength * learned.expected(rate, known.offset)
        return (counts.right + start) / (counts.total + known.strength), learned

    def effects(self, rate: int) -> Fit:
        """Return the effects of features on one rate."""
        return Fit(self.weight[rate], self.covariance[rate], self.rows, self.strength)


class Shifts(NamedTuple):
    """Moves of the accuracy of every source on items of each kind, by features of these."""

    rows: FloatArray
    """[kind, column]: its features; the first column is one for all."""
    weight: FloatArray
    covariance: FloatArray
    strength: float
    """Weight of the prediction for a source on a kind, in pseudo-claims."""

    @classmethod
    def at_start(cls, rows: FloatArray) -> Shifts:
        """Before anything was counted."""
        n_columns = rows.shape[1]
        return cls(rows, np.zeros(n_columns), np.zeros((n_columns, n_columns)), STRONG)

    def expected(self, accuracy: FloatArray) -> FloatArray:
        """Return the accuracy that is predicted for sources of this accuracy: [source, kind]."""
        return np.asarray(sigmoid(logit(accuracy)[:, None] + self.rows @ self.weight))

    def learned(self, counts: Counts, accuracy: FloatArray) -> Shifts:
        """Learn from counts, [source, kind], of sources with this accuracy over all kinds."""
        offset = np.broadcast_to(logit(accuracy)[:, None], counts.total.shape)
        told = _effective(counts, self.strength)
        fit = fitted(self.rows, told, offset, self.weight)
        return self._replace(weight=fit.weight, covariance=fit.covariance)

    def effects(self, accuracy: float) -> Fit:
        """Return the effects of features, for a source of this accuracy."""
        weight = self.weight.copy()
        weight[0] += logit(np.array(accuracy))
        return Fit(weight, self.covariance, self.rows, self.strength)


def fitted(
    rows: FloatArray,
    counts: Counts,
    offset: FloatArray,
    start: FloatArray,
    spreads: FloatArray = SPREADS,
) -> Fit:
    """Return the expected weights given the counts, by iteratively reweighted least squares.

    With a single spread it is the ridge estimate: the first column has `SPREAD_OF_MEAN`. Counts
    have a number for each row, or [source, row].
    """
    fit = Fit(start, np.zeros((len(start), len(start))))
    for _ in range(MOST_STEPS):
        told = rows @ fit.weight
        rate = sigmoid(offset + told)
        information = _of_rows(counts.total * rate * (1.0 - rate))
        beyond = _of_rows(counts.right - counts.total * rate)
        precision = (rows.T * information) @ rows
        pull = rows.T @ (information * told + beyond)
        new = _averaged(precision, pull, spreads)
        step = new.weight - fit.weight
        step = step * min(1.0, LONGEST_STEP / max(np.abs(rows @ step).max(initial=0.0), STILL))
        fit = Fit(fit.weight + step, new.covariance)
        if np.abs(step).max() < STILL:
            break
    return fit


def _of_rows(numbers: FloatArray) -> FloatArray:
    """Return the numbers of each row; of [source, row] the sum over the sources."""
    return np.asarray(numbers.sum(axis=0) if numbers.ndim > 1 else numbers)


def _averaged(precision: FloatArray, pull: FloatArray, spreads: FloatArray) -> Fit:
    """Average weights of log-likelihood ``pull w - w precision w / 2`` over all spreads."""
    of_weights = np.repeat(spreads[:, None] ** -2.0, len(pull), axis=1)
    of_weights[:, 0] = SPREAD_OF_MEAN**-2.0
    covariance = np.linalg.inv(precision + of_weights[:, :, None] * np.eye(len(pull)))
    weight = covariance @ pull
    log_determinants = np.linalg.slogdet(covariance)[1] + np.log(of_weights).sum(axis=1)
    log_prior = np.log(spreads) - np.log1p((spreads / USUAL_SPREAD) ** 2)
    log_evidence = 0.5 * (weight @ pull + log_determinants) + log_prior
    share = np.exp(log_evidence - np.logaddexp.reduce(log_evidence))
    mean = share @ weight
    off = weight - mean
    return Fit(mean, np.tensordot(share, covariance, 1) + (off.T * share) @ off)


def _effective(counts: Counts, strength: float) -> Counts:
    """Return the effective number of independent counts: at most strength + 1.

    Claims of one source share its own deviation: their variance is that of a beta-binomial.
    """
    share = _share(counts.total, strength)
    return Counts(counts.right * share, counts.total * share)


def _share(total: FloatArray, strength: float) -> FloatArray:
    """Return the weight of each claim, given their number."""
    return np.asarray((strength + 1.0) / (strength + total))


def _with(of_rates: FloatArray, rate: int, own: FloatArray) -> FloatArray:
    changed = of_rates.copy()
    changed[rate] = own
    return changed
