"""Sums over claims: scores of facts, and counts of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from veracity.encoding.block import Block, FloatArray, IntArray


def sum_votes(block: Block, base_of_source: FloatArray, weight_of_source: FloatArray) -> FloatArray:
    """Score each fact: the bases of all voices of its item plus the weights of its supporters."""
    base = counted(base_of_source[block.source_of_voice], block.share_of_voice)
    base_of_item = sum_by(base, block.first_voice_of_item)
    own = sum_claims(block, weight_of_source[block.source_of_support])
    base_of_fact = np.repeat(base_of_item, np.diff(block.first_fact_of_item))
    return np.asarray(base_of_fact + own, dtype=np.float64)


def sum_claims(block: Block, weight_of_support: FloatArray) -> FloatArray:
    """Score each fact: the sum of what its supports weigh."""
    weight = counted(weight_of_support, block.share_of_support)
    return sum_by(weight, block.first_support_of_fact)


def counted(number: FloatArray, share: FloatArray) -> FloatArray:
    """Numbers of supports or voices, as far as these count."""
    return number * share if len(share) else number


def weigh_claims(
    block: Block,
    log_odds: FloatArray,
    column_of_item: IntArray,
    n_values_of_item: FloatArray,
    weight_of_support: FloatArray,
    n_named_of_support: IntArray,
    shrink_of_item: FloatArray,
) -> FloatArray:
    """What each support adds to the score of its fact.

    ``log_odds[source, column of the item] + log((K - m + 1) / m)`` for one of m values that the
    source names of an item that has K; times the support's weight, over what the item's scores
    shrink by. The last three may be empty: all weigh one, all name one value, nothing shrinks.
    """
    n_supports = np.diff(block.first_support_of_fact[block.first_fact_of_item])
    column, n_values = (
        np.repeat(of_item, n_supports) for of_item in (column_of_item, n_values_of_item)
    )
    n_named = n_named_of_support if len(n_named_of_support) else 1
    words = log_odds[block.source_of_support, column] + np.log((n_values - n_named + 1) / n_named)
    if len(weight_of_support):
        words *= weight_of_support
    if len(shrink_of_item):
        words /= np.repeat(shrink_of_item, n_supports)
    return np.asarray(words)


def sum_by_source(
    block: Block,
    number_of_fact: FloatArray,
    column_of_item: IntArray,
    n_sources: int,
    n_columns: int,
) -> FloatArray:
    """Sum the numbers of the facts that each source supports, [source, column of the item]."""
    n_supports = np.diff(block.first_support_of_fact)
    column = np.repeat(column_of_item[block.item_of_fact], n_supports)
    cell = block.source_of_support.astype(np.int64) * n_columns + column
    number = counted(np.repeat(number_of_fact, n_supports), block.share_of_support)
    sums = np.bincount(cell, number, n_sources * n_columns).astype(np.float64)
    return np.asarray(sums.reshape(n_sources, n_columns))


def normalise_log(
    score_of_fact: FloatArray, first_fact_of_item: IntArray, unclaimed_of_item: FloatArray
) -> FloatArray:
    """Turn scores into probabilities that add up to one within each item: the softmax.

    What nobody claims of an item has a score of its own: minus infinity if there is no such thing.
    """
    n_facts_of_item = np.diff(first_fact_of_item)
    highest = np.maximum(
        np.maximum.reduceat(score_of_fact, first_fact_of_item[:-1]), unclaimed_of_item
    )
    share = np.exp(score_of_fact - np.repeat(highest, n_facts_of_item))
    total = sum_by(share, first_fact_of_item) + np.exp(unclaimed_of_item - highest)
    return np.asarray(share / np.repeat(total, n_facts_of_item))


def count_votes(block: Block, plausibility_of_fact: FloatArray, n_sources: int) -> FloatArray:
    """Count, for each source, how its word met the facts.

    Columns: supports of true facts, supports, true facts spoken on, facts spoken on; a fact is
    true as far as it is plausible.
    """
    plausibility_of_support = np.repeat(plausibility_of_fact, np.diff(block.first_support_of_fact))
    n_voices_of_item = np.diff(block.first_voice_of_item)
    true_of_voice = np.repeat(
        sum_by(plausibility_of_fact, block.first_fact_of_item), n_voices_of_item
    )
    facts_of_voice = np.repeat(np.diff(block.first_fact_of_item), n_voices_of_item)
    support, voice = block.share_of_support, block.share_of_voice
    columns = [
        np.bincount(block.source_of_support, counted(number, support), n_sources)
        for number in (plausibility_of_support, np.ones(len(plausibility_of_support)))
    ] + [
        np.bincount(block.source_of_voice, counted(number, voice), n_sources)
        for number in (true_of_voice, facts_of_voice)
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def sum_met(block: Block, number_of_fact: FloatArray, n_spoken: int, n_sources: int) -> FloatArray:
    """Sum several numbers of facts by source: over those it supports, and those it speaks on.

    ``number_of_fact[fact, k]`` has them side by side, so that claims are gone through once. The
    second sums, which stand behind the first, are of the first `n_spoken` numbers only.
    """
    n_supports, n_voices = np.diff(block.first_support_of_fact), np.diff(block.first_voice_of_item)
    supported = (np.repeat(number, n_supports) for number in number_of_fact.T)
    spoken = (
        np.repeat(sum_by(number, block.first_fact_of_item), n_voices)
        for number in number_of_fact.T[:n_spoken]
    )
    columns = [
        np.bincount(block.source_of_support, counted(number, block.share_of_support), n_sources)
        for number in supported
    ] + [
        np.bincount(block.source_of_voice, counted(number, block.share_of_voice), n_sources)
        for number in spoken
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def sum_confusions(
    block: Block, log_confusion: FloatArray, weight_of_support: FloatArray
) -> FloatArray:
    """Score each label of each item: the sum, over supports, of log P(what is said, given it).

    Every support counts as far as it weighs.
    """
    said = np.repeat(block.label_of_fact, np.diff(block.first_support_of_fact))
    weight = counted(weight_of_support, block.share_of_support)
    words = weight[:, None] * log_confusion[block.source_of_support, :, said]
    return sum_by(words, block.first_support_of_fact[block.first_fact_of_item])


def count_named(block: Block, n_sources: int) -> IntArray:
    """For each support, how many values of its item the source names."""
    item = np.repeat(block.item_of_fact, np.diff(block.first_support_of_fact))
    _, voice, n_named = np.unique(
        item * n_sources + block.source_of_support, return_inverse=True, return_counts=True
    )
    return np.asarray(n_named[voice], dtype=np.int32)


def count_confusions(block: Block, label: FloatArray, n_sources: int) -> FloatArray:
    """Count [source, true label, label said]; label k of item i is true to ``label[i, k]``."""
    n_labels, n_supports = label.shape[1], np.diff(block.first_support_of_fact)
    said, item = (
        np.repeat(block.label_of_fact, n_supports),
        np.repeat(block.item_of_fact, n_supports),
    )
    cells = np.ravel_multi_index(
        (block.source_of_support[:, None], np.arange(n_labels), said[:, None]),
        (n_sources, n_labels, n_labels),
    )
    true = counted(label[item].T, block.share_of_support).T
    counts = np.bincount(cells.ravel(), true.ravel(), n_sources * n_labels**2)
    return np.asarray(counts.reshape(n_sources, n_labels, n_labels), dtype=np.float64)


def sum_by(values: FloatArray, first_of_group: IntArray) -> FloatArray:
    """Sum of each group of neighbouring values; an empty group sums to zero."""
    sums = np.zeros((len(first_of_group) - 1, *values.shape[1:]))
    is_filled = np.diff(first_of_group) > 0
    if len(values):
        sums[is_filled] = np.add.reduceat(values, first_of_group[:-1][is_filled])
    return sums


def sigmoid(x: FloatArray | float) -> FloatArray:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(x, dtype=np.float64))))


def best_two(
    first_fact_of_item: IntArray, score_of_fact: FloatArray, supporters_of_fact: IntArray
) -> tuple[IntArray, IntArray]:
    """The facts with the highest score and the next of each item; where there is one, twice that.

    Of equal scores the one with more supporters comes first, then the first.
    """
    item_of_fact = np.repeat(np.arange(len(first_fact_of_item) - 1), np.diff(first_fact_of_item))
    rank = np.lexsort((-supporters_of_fact, -score_of_fact, item_of_fact))
    first, last = first_fact_of_item[:-1], first_fact_of_item[1:]
    return rank[first], rank[np.minimum(first + 1, last - 1)]
