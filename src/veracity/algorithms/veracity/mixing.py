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
    unclaimed_scores,
)
from veracity.claims.block import Block, BoolArray, FloatArray, IntArray

__all__ = ["moderated"]

BELIEVED = 0.8
"""How far the algorithm's own reading is believed against the other one. On sets with two readings,
real and synthetic, it is right on about four of five items on which either of them is right."""

FARTHEST = 16.0
"""By how much the scores of an item are divided or multiplied at the most, so that its answer stays
its answer."""

HARDLY = 1e-4
"""Plausibilities that differ by less are left as they are."""

HALVINGS = 30


def moderated(block: Block, weights: Weights, other: FloatArray) -> Weights:
    """Weights under which an answer is as plausible as the two readings, mixed, make it.

    `other` are the plausibilities in the other reading. All that is said of an item is divided by
    one number. So no answer changes, and what claims add to its score still adds up.
    """
    own = plausibilities(block, weights)
    is_best = is_best_of_item(own, block)
    n_best = item_sums(is_best.astype(np.float64), block)
    of_own, of_other = (item_sums(p * is_best, block) / n_best for p in (own, other))
    wanted = BELIEVED * of_own + (1.0 - BELIEVED) * of_other
    divisor = np.ones(block.n_items)
    is_off = np.abs(wanted - of_own) > HARDLY
    if is_off.any():
        divisor[is_off] = _divisor(*_behind(block, weights, is_off), wanted[is_off])
    if weights.confusion is not None:
        before = 1.0 if weights.shrink_of_item is None else weights.shrink_of_item
        return weights._replace(shrink_of_item=before * divisor)
    assert weights.of_claim is not None
    of_claim = weights.of_claim / np.repeat(divisor, block.n_supports_of_item)
    return weights._replace(of_claim=of_claim)


def _behind(block: Block, weights: Weights, meant: BoolArray) -> tuple[FloatArray, IntArray]:
    """By how much what may be true of the items that are meant is behind what is claimed and best.

    One number for each possibility, and where those of an item begin. What nobody claims may be
    ahead, which counts as level: its item is then not sure in any case.
    """
    if weights.confusion is not None:
        of_label = label_scores(block, weights)
        n_labels = of_label.shape[1]
        score, first = of_label.ravel(), np.arange(block.n_items + 1) * n_labels
        of_fact = of_label[block.item_of_fact, block.label_of_fact]
    else:
        of_fact = scores(block, weights)
        score = np.insert(of_fact, block.first_fact_of_item[1:], unclaimed_scores(block, weights))
        first = block.first_fact_of_item + np.arange(block.n_items + 1)
    best = np.maximum.reduceat(of_fact, block.first_fact_of_item[:-1])
    n_of_item = np.diff(first)
    behind = np.maximum(np.repeat(best, n_of_item) - score, 0.0)
    chosen = n_of_item[meant]
    return behind[np.repeat(meant, n_of_item)], np.cumsum(chosen) - chosen


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
    return np.asarray(np.exp(0.5 * (least + most)))
