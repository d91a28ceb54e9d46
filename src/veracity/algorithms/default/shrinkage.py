"""Common parts of error models: shrinkage towards all sources, and doubt about shared errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Tally, clamp_known
from veracity.algorithms.distributions import log_likely_counts
from veracity.algorithms.prior import STRENGTHS, PriorRates, known_weight
from veracity.algorithms.regression import Beforehand, Counts, Regression
from veracity.algorithms.rules import logit, share_of_item, sigmoid
from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray

SUREST = 1e-3
"""Smallest distance of a rate from zero and one, since even the best source makes typing errors."""

CORRELATIONS = 2.0 ** np.arange(-6, 3)
"""Candidate correlations of errors on one item, as multiples of the usual; known truths choose."""

MOST_CORRELATED = 0.6

AS_IT_SEEMS = 1e6
"""Weight of a source's expected accuracy, in known items."""

CYCLES = 3
"""Rounds that are learned again after known truths have corrected the accuracies. Each ends with
another correction: without it, rounds drift back to the answer that the known truths contradict."""

CELLS = 10_000
"""Largest number of counts from which a strength is learned: those of sources with most claims."""

Derived = tuple[FloatArray, IntArray]
"""Weight of each support, with dependent sources counted once, and the number of values that its
source claims of the item. An array is empty if all its values are one."""


class ModelStep(NamedTuple):
    """Tally of an error model over a block, and the function that learns from the sum."""

    tally: Callable[[Any, Block, Derived], Tally]
    learn: Callable[[Any, Tally], Any]


class ModelPhase(NamedTuple):
    """Steps of an error model, run once, or until `change` is small."""

    name: str
    steps: tuple[ModelStep, ...]
    change: Callable[[Any, Any], float] | None = None


def derived(block: Block, weight_of_support: FloatArray, n_sources: int) -> Derived:
    """Return the data computed once for a block."""
    if block.has_shares or len(block.source_of_support) == len(block.source_of_voice):
        return weight_of_support, np.zeros(0, dtype=np.int32)
    return weight_of_support, np.asarray(kernels.count_named(block, n_sources))


def first_vote(block: Block, found: Derived, prior: PriorRates) -> FloatArray:
    """Return the shares of a vote, weighted by the prior, in which copies count once."""
    tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
    words = np.maximum(logit(tpr) - logit(fpr), 0.0)[block.source_of_support]
    words = words * found[0] if len(found[0]) else words
    return clamp_known(share_of_item(kernels.sum_claims(block, words), block), block)


def known_part(block: Block, found: Derived) -> tuple[Block, Derived]:
    """Return the items with known truth, with the data derived from their supports."""
    is_meant = np.repeat(block.is_known, block.n_supports_of_item)
    weight, n_named = found
    weight = weight[is_meant] if len(weight) else weight
    n_named = n_named[is_meant] if len(n_named) else n_named
    return block.select(block.is_known), (weight, n_named)


def shrunk_accuracy(
    counts: Counts, prior: PriorRates, strength: float, features: Regression | None, rate: int = 0
) -> tuple[FloatArray, Regression | None]:
    """Return accuracies, shrunk towards those expected of a source, and the regression, if any.

    Expected is the mean of all sources, or what the features of the source lead to expect. Fixed
    sources keep their accuracy.
    """
    right, total = counts
    usual = float(np.median(prior.tpr))
    mean = (right.sum() + strength * usual) / (total.sum() + strength)
    if features is None:
        accuracy = shrunk(right, total, expected_of(mean, prior.tpr), strength)
    else:
        known = Beforehand.of(mean, prior.tpr, prior, strength)
        accuracy, features = features.shrunk(rate, counts, known)
    return np.where(prior.is_fixed, prior.tpr, surely(accuracy)), features


def expected_of(mean: float, prior: FloatArray) -> FloatArray:
    """Return the mean of all sources, moved for each as its prior differs from the usual one."""
    usual, mean_of_all = np.median(prior), surely(np.array(mean))
    return sigmoid(logit(prior) - logit(np.array(usual)) + logit(mean_of_all))


def shrunk(
    part: FloatArray, whole: FloatArray, expected: FloatArray, strength: float
) -> FloatArray:
    """Return shares, shrunk to the expected ones by `strength` pseudo-claims, within (0, 1)."""
    return surely((part + strength * expected) / (whole + strength))


def surely(rate: FloatArray) -> FloatArray:
    """Return rates that are clear of zero and one."""
    return np.asarray(np.clip(rate, SUREST, 1.0 - SUREST))


def says_most(n_claims: FloatArray, n_cells: int) -> BoolArray:
    """Return the sources with most claims, as many as have `CELLS` cells; of equals all."""
    n_claims, n_most = np.round(n_claims, 6), max(CELLS // n_cells, 1)
    if n_claims.size <= n_most:
        return np.ones(n_claims.shape, dtype=np.bool_)
    return np.asarray(n_claims >= np.partition(n_claims, -n_most, axis=None)[-n_most])


def likeliest_strength(counts: FloatArray, plain: FloatArray, strengths: FloatArray) -> float:
    """Return the number of pseudo-claims under which the counts are most likely."""
    log_likelihood = log_likely_counts(counts, plain, strengths).sum(axis=0)
    return float(strengths[np.argmax(log_likelihood)])


def counted(block: Block, found: Derived) -> FloatArray:
    """Return the weight of each support; empty if all weights are one."""
    weight, share = found[0], block.share_of_support
    if len(weight) and len(share):
        return np.asarray(weight * share)
    return weight if len(weight) else share


def voices_of_item(block: Block, found: Derived) -> FloatArray:
    """Return the number of voices of each item, with dependent ones counted once.

    If one voice claims m values, each counts 1 / m.
    """
    weight, n_named = counted(block, found), found[1]
    if len(weight) == 0 and len(n_named) == 0:
        return block.n_supports_of_item.astype(np.float64)
    of_support = weight if len(weight) else np.ones(len(n_named))
    of_support = of_support / n_named if len(n_named) else of_support
    first_support = block.first_support_of_fact[block.first_fact_of_item[:-1]]
    return np.asarray(np.add.reduceat(of_support, first_support))


def design_effect(block: Block, found: Derived, correlation: FloatArray | float) -> FloatArray:
    """Return the divisor of the scores of an item whose voices err alike: 1 + (n - 1) r.

    n voices then carry the information of n / (1 + (n - 1) r) independent ones (Kish): some doubt
    is left, however many claim the same.
    """
    n_voices = voices_of_item(block, found)
    return np.asarray(1.0 + np.maximum(n_voices - 1.0, 0.0) * correlation)


def log_known(known: Block, judge: Callable[[float], FloatArray], usual: float) -> FloatArray:
    """Return the log-likelihood of the known truths for each correlation of errors."""
    is_true = known.known_of_fact == 1
    if not is_true.any():
        return np.zeros(len(CORRELATIONS))
    logs = [np.log(np.maximum(judge(x)[is_true], SUREST)).sum() for x in _correlations(usual)]
    return np.array(logs)


def correlation_of(log_known: FloatArray, usual: float) -> float:
    """Return the expected correlation of errors: the usual one if no truth is known.

    It is the geometric mean of the candidates by their posterior probability. Beforehand, twice or
    half the usual correlation is half as likely as the usual one.

    >>> round(correlation_of(np.zeros(9), 0.2), 6)
    0.2
    """
    if not log_known.any():
        return usual
    log_joint = log_known - np.abs(np.log(CORRELATIONS))
    probability = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    return float(np.exp(probability @ np.log(_correlations(usual))))


def _correlations(usual: float) -> FloatArray:
    return np.asarray(np.minimum(usual * CORRELATIONS, MOST_CORRELATED))


def weigh_known(
    accuracy: FloatArray, known: FloatArray, expected: FloatArray, prior: PriorRates
) -> FloatArray:
    """Return accuracies corrected by known truths, [..., right or wrong]; fixed sources stay.

    They move by the difference between observed and expected counts, see `known_weight`. The nearer
    an accuracy is to one, the less it can rise, unless there are many known truths.
    """
    n_known = known.sum(axis=-1)
    usual = surely(expected / np.maximum(n_known, SUREST))
    weight = known_weight(known, np.stack([usual, 1.0 - usual], axis=-1))
    beyond, told = weight * (known[..., 0] - expected), weight * n_known
    room = np.where(beyond > 0.0, np.minimum(1.0, 2.0 * (1.0 - accuracy) + told), 1.0)
    corrected = surely(accuracy + room * beyond)
    is_fixed = (prior.is_fixed == 1).reshape(-1, *[1] * (accuracy.ndim - 1))
    return np.where(is_fixed, accuracy, corrected)


def logs_beyond_expected(known: FloatArray, expected: FloatArray) -> float:
    """Return the log-likelihood ratio of counts: sources differ from the expected, or do not.

    Counts are [source, right or wrong]. What was expected may be worth some known items, for all
    sources alike, see `known_weight`, or any number of them.
    """
    is_known = known.sum(axis=1) > 0.0
    usual = np.stack([expected, 1.0 - expected], axis=1)[is_known]
    log_likely = log_likely_counts(known[is_known], usual, np.append(STRENGTHS, AS_IT_SEEMS))
    *differs, as_it_seems = log_likely.sum(axis=0)
    return float(max(differs) - as_it_seems)
