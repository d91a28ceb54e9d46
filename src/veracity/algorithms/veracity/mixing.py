"""Two readings in one answer: how sure it is where another reading says otherwise."""

from __future__ import annotations

import numpy as np

from veracity.algorithms.rules import (
    Weights,
    is_best_of_item,
    item_sums,
    label_scores,
    plausibilities,
    scores,
)
from veracity.claims.block import Block, FloatArray, IntArray

BELIEVED = 0.8
"""How far the algorithm's own reading is believed against the other one. On sets with two readings,
real and synthetic, it is right on about four of five items on which either of them is right."""

FARTHEST = 16.0
"""By how much the scores of an item are divided or multiplied at the most, so that its answer stays
its answer."""

SMALLEST = 1e-12
"""That none of the values claimed is true, or that one is, is at least as plausible."""

HALVINGS = 30


def moderated(block: Block, weights: Weights, other: FloatArray) -> Weights:
    """Weights under which an answer is as plausible as the two readings, mixed, make it.

    `other` are the plausibilities in the other reading. All that is said of an item is divided by
    one number. So no answer changes, and what claims add to its score still adds up. That none of
    the values claimed is true is as plausible as in both readings, too, where that can be.
    """
    own = plausibilities(block, weights)
    is_best = is_best_of_item(own, block)
    n_best = item_sums(is_best.astype(np.float64), block)
    wanted = _mixed(*(item_sums(p * is_best, block) / n_best for p in (own, other)))
    if weights.confusion is not None:
        label = label_scores(block, weights)
        first = np.arange(block.n_items) * label.shape[1]
        of_fact = label[block.item_of_fact, block.label_of_fact]
        divisor = _divisor(_behind(block, label.ravel(), first, of_fact), first, wanted)
        before = 1.0 if weights.shrink_of_item is None else weights.shrink_of_item
        return weights._replace(shrink_of_item=before * divisor)
    assert weights.of_claim is not None
    none = _mixed(*(1.0 - item_sums(p, block) for p in (own, other)))
    none = np.clip(none, SMALLEST, 1.0 - SMALLEST)
    score, first = scores(block, weights), block.first_fact_of_item[:-1]
    divisor = _divisor(_behind(block, score, first, score), first, wanted / (1.0 - none))
    claimed = np.logaddexp.reduceat(score / np.repeat(divisor, block.n_facts_of_item), first)
    return weights._replace(
        of_claim=weights.of_claim / np.repeat(divisor, block.n_supports_of_item),
        unclaimed=claimed + np.log(none / (1.0 - none)),
    )


def off_by(mixed: FloatArray, other: FloatArray) -> FloatArray:
    """By how much plausibilities that mix both readings are off, whichever is right.

    With w for how far the own reading o is believed, that is a standard error of √w(1 - w) (o - r),
    and of what is mixed and the other reading r the difference is w (o - r).
    """
    return np.asarray(np.sqrt((1.0 - BELIEVED) / BELIEVED) * (mixed - other))


def _mixed(own: FloatArray, other: FloatArray) -> FloatArray:
    return BELIEVED * own + (1.0 - BELIEVED) * other


def _behind(block: Block, score: FloatArray, first: IntArray, of_fact: FloatArray) -> FloatArray:
    """By how much what may be true of an item is behind the best of what is claimed.

    A label that nobody claims may be ahead; it counts as level, for its item is not sure anyway.
    """
    best = np.maximum.reduceat(of_fact, block.first_fact_of_item[:-1])
    return np.maximum(np.repeat(best, np.diff(np.append(first, len(score)))) - score, 0.0)


def _divisor(behind: FloatArray, first: IntArray, wanted: FloatArray) -> FloatArray:
    """By what scores must be divided, so that the best has the plausibility that is wanted.

    1 / Σ exp(-behind / divisor) falls as the divisor grows, so the interval of its logarithm is
    halved.
    """
    n_of_item = np.diff(np.append(first, len(behind)))
    least, most = (np.full(len(wanted), end) for end in (-np.log(FARTHEST), np.log(FARTHEST)))
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        shares = np.exp(-behind / np.repeat(np.exp(middle), n_of_item))
        is_too_sure = np.add.reduceat(shares, first) * wanted < 1.0
        least, most = np.where(is_too_sure, middle, least), np.where(is_too_sure, most, middle)
    divisor = np.exp(0.5 * (least + most))
    return np.where(np.maximum.reduceat(behind, first) > 0.0, divisor, 1.0)  # nothing to divide
