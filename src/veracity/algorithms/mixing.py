"""Mix two answers that the claims allow into one that is less sure."""

from __future__ import annotations

import numpy as np

from veracity.algorithms.rules import (
    Weights,
    is_best_of_item,
    item_sums,
    plausibilities,
    scores,
)
from veracity.encoding.block import Block, FloatArray

BELIEVED = 0.8
"""Weight of the algorithm's own answer against the other one. On sets with two answers, real and
synthetic, it is right on about four of five items on which either of them is right."""

FARTHEST = 16.0
"""Largest factor by which the scores of an item are changed, to preserve its answer."""

SMALLEST = 1e-12
"""Smallest plausibility that none of the claimed values is true, or that one is."""

HALVINGS = 30


def mixed(block: Block, weights: Weights, other: FloatArray) -> Weights:
    """Return weights under which an answer is as plausible as the two answers, mixed, make it.

    `other` are the plausibilities of the other answer. All weights of an item are divided by one
    number, so no answer changes, and what claims add to its score still adds up. The plausibility
    that none of the claimed values is true is mixed, too, where that can be.
    """
    assert weights.of_claim is not None
    own = plausibilities(block, weights)
    is_best = is_best_of_item(own, block)
    n_best = item_sums(is_best.astype(np.float64), block)
    wanted = _mean(*(item_sums(p * is_best, block) / n_best for p in (own, other)))
    none = _mean(*(1.0 - item_sums(p, block) for p in (own, other)))
    none = np.clip(none, SMALLEST, 1.0 - SMALLEST)
    score, first = scores(block, weights), block.first_fact_of_item[:-1]
    divisor = _divisor(block, score, wanted / (1.0 - none))
    partly = weights.partly
    if partly is not None:
        support, fact, weight = partly
        partly = support, fact, weight / divisor[block.item_of_fact[fact]]
    claimed = np.logaddexp.reduceat(score / np.repeat(divisor, block.n_facts_of_item), first)
    return weights._replace(
        of_claim=weights.of_claim / np.repeat(divisor, block.n_supports_of_item),
        partly=partly,
        unclaimed=claimed + np.log(none / (1.0 - none)),
    )


def error_of_mixture(mixed: FloatArray, other: FloatArray) -> FloatArray:
    """Return the error of plausibilities that mix two answers, whichever answer is right.

    With w for the weight of the own answer o, that is a standard error of √w(1 - w) (o - r), and
    the difference between what is mixed and the other answer r is w (o - r).
    """
    return np.asarray(np.sqrt((1.0 - BELIEVED) / BELIEVED) * (mixed - other))


def _mean(own: FloatArray, other: FloatArray) -> FloatArray:
    return BELIEVED * own + (1.0 - BELIEVED) * other


def _divisor(block: Block, score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the divisor of the scores that gives the best value the wanted plausibility.

    1 / Σ exp(-behind / divisor) falls as the divisor grows, so the interval of its logarithm is
    halved.
    """
    first, n_of_item = block.first_fact_of_item[:-1], block.n_facts_of_item
    behind = np.repeat(np.maximum.reduceat(score, first), n_of_item) - score
    least, most = (np.full(len(wanted), end) for end in (-np.log(FARTHEST), np.log(FARTHEST)))
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        shares = np.exp(-behind / np.repeat(np.exp(middle), n_of_item))
        is_too_sure = np.add.reduceat(shares, first) * wanted < 1.0
        least, most = np.where(is_too_sure, middle, least), np.where(is_too_sure, most, middle)
    divisor = np.exp(0.5 * (least + most))
    return np.where(np.maximum.reduceat(behind, first) > 0.0, divisor, 1.0)  # nothing to divide
