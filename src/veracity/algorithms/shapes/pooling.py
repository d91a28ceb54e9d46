"""What the shapes share: sources are pooled, and voices on an item err alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms.base import logit, sigmoid
from veracity.algorithms.prior import PriorRates
from veracity.encode import Block, FloatArray, IntArray

__all__ = [
    "NOTHING_KNOWN",
    "SUREST",
    "USUAL_CORRELATION",
    "correlation_of",
    "design_effect",
    "expected_of",
    "likeliest_strength",
    "log_known",
    "of_voices",
    "pooled",
    "says_most",
    "shrunk",
]

SUREST = 1e-3
"""No rate comes closer to zero or one than this: typing errors happen to the best."""

CORRELATIONS = (0.0375, 0.075, 0.15, 0.3, 0.6)

PRIOR_OF_CORRELATIONS = (0.1, 0.2, 0.4, 0.2, 0.1)
"""How alike sources err on an item for reasons of its own, and how likely that is beforehand."""

USUAL_CORRELATION = 0.15

NOTHING_KNOWN = np.zeros(len(CORRELATIONS))

CELLS = 10_000
"""Cells of counts from which a strength is learned: of the sources that say most."""


def shrunk(right: FloatArray, total: FloatArray, prior: PriorRates, strength: float) -> FloatArray:
    """Accuracies, with what is expected of a source as `strength` claims more; fixed ones stay."""
    usual = float(np.median(prior.tpr))
    mean = (right.sum() + strength * usual) / (total.sum() + strength)
    return np.where(
        prior.is_fixed, prior.tpr, pooled(right, total, expected_of(mean, prior.tpr), strength)
    )


def expected_of(mean: float, prior: FloatArray) -> FloatArray:
    """The mean of all sources, moved for each as its prior differs from the usual one."""
    usual, mean_of_all = np.median(prior), np.clip(mean, SUREST, 1.0 - SUREST)
    return sigmoid(logit(prior) - logit(np.array(usual)) + logit(np.array(mean_of_all)))


def pooled(
    part: FloatArray, whole: FloatArray, expected: FloatArray, strength: float
) -> FloatArray:
    """Shares, with what is expected as `strength` more; clear of zero and one."""
    share = (part + strength * expected) / (whole + strength)
    return np.asarray(np.clip(share, SUREST, 1.0 - SUREST))


def says_most(n_claims: FloatArray, n_cells: int) -> NDArray[np.bool_]:
    """Who says most: as many as have `CELLS` cells together, of those that say as much all."""
    n_claims, n_most = np.round(n_claims, 6), max(CELLS // n_cells, 1)
    if len(n_claims) <= n_most:
        return np.ones(len(n_claims), dtype=np.bool_)
    return np.asarray(n_claims >= np.partition(n_claims, -n_most)[-n_most])


def likeliest_strength(counts: FloatArray, plain: FloatArray, strengths: Iterable[float]) -> float:
    """The strength of what is plain under which what is counted is most likely.

    Rows of counts, one for each outcome, are taken for Dirichlet-multinomial draws.
    """
    from scipy.special import gammaln  # noqa: PLC0415 - takes its time to load

    of_row = counts.sum(axis=1)

    def log_likelihood(strength: float) -> float:
        start = strength * plain
        of_cells = (gammaln(counts + start) - gammaln(start)).sum()
        return float(of_cells - (gammaln(of_row + strength) - gammaln(strength)).sum())

    return float(max(strengths, key=log_likelihood))


def of_voices(weight_of_support: FloatArray, n_named: IntArray | None) -> FloatArray:
    """What supports weigh as voices: one of m by the same voice, an m-th."""
    return weight_of_support if n_named is None else weight_of_support / n_named


def design_effect(block: Block, weight: FloatArray, correlation: float) -> FloatArray:
    """By how much the scores of an item shrink because its voices err alike: 1 + (n - 1) r.

    n voices then tell no more than n / (1 + (n - 1) r) would that err each by itself (Kish): a
    rest of doubt stays, however many speak.
    """
    first_support = block.first_support_of_fact[block.first_fact_of_item[:-1]]
    n_voices = np.add.reduceat(weight, first_support)
    return np.asarray(1.0 + np.maximum(n_voices - 1.0, 0.0) * correlation)


def log_known(block: Block, judge: Callable[[float], FloatArray]) -> FloatArray:
    """How likely the known truths are, in logs, if sources err as much alike as they may."""
    is_true = block.known_of_fact == 1
    if not is_true.any():
        return NOTHING_KNOWN
    return np.array([np.log(np.maximum(judge(x)[is_true], SUREST)).sum() for x in CORRELATIONS])


def correlation_of(log_known: FloatArray) -> float:
    """The correlation to expect, as a geometric mean: the usual one if no truth is known."""
    log_joint = log_known + np.log(PRIOR_OF_CORRELATIONS)
    probability = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    return float(np.exp(probability @ np.log(CORRELATIONS)))
