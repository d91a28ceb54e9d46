"""Pairs of sources: who shares what, and who says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels.reference.layout import pairs_of
from veracity.kernels.reference.sums import counted, sigmoid, sum_by

if TYPE_CHECKING:
    from veracity.encoding.block import Block, FloatArray, IntArray


def count_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_fact: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Count, for each pair of slots, the items both speak of, and the facts that both support.

    Sources without a slot (-1) are left out; facts count as much as they weigh.
    """
    n_slots = int(slot_of_source.max()) + 1
    is_meant = np.bincount(items, minlength=len(block.first_fact_of_item) - 1) > 0
    weight = weight_of_fact * is_meant[block.item_of_fact]
    voices, supports = block.source_of_voice, block.source_of_support
    return (
        _count_meetings(
            is_meant.astype(np.float64), block.first_voice_of_item, slot_of_source[voices], n_slots
        ),
        _count_meetings(weight, block.first_support_of_fact, slot_of_source[supports], n_slots),
    )


def count_false_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_slot: FloatArray
) -> FloatArray:
    """Count, for each pair of slots, the facts that both support, as far as these seem false.

    How far, is one less their share of the item's softmax, with each source weighing as its slot
    says (nothing without one), and both of the pair left out.
    """
    n_slots, first_fact = len(weight_of_slot), block.first_fact_of_item
    weight = np.append(weight_of_slot, 0.0)  # the last: who has no slot
    slot_of_support = slot_of_source[block.source_of_support]
    score = sum_by(weight[slot_of_support], block.first_support_of_fact)
    is_meant = (np.bincount(items, minlength=len(first_fact) - 1) > 0) & (np.diff(first_fact) > 1)
    n_supports = np.diff(block.first_support_of_fact)
    is_counted = np.repeat(is_meant[block.item_of_fact], n_supports) & (slot_of_support >= 0)
    fact = np.repeat(np.arange(len(score)), n_supports)[is_counted]
    slot = slot_of_support[is_counted]
    one, other = _pairs_within(fact)
    own = score[fact[one]] - weight[slot[one]] - weight[slot[other]]
    seems_false = sigmoid(_log_rest(score, first_fact)[fact[one]] - own)
    return _both_ways(slot[one], slot[other], seems_false, n_slots)


def _log_rest(score: FloatArray, first_fact_of_item: IntArray) -> FloatArray:
    """Of each fact, log Σ exp of the scores of all others of its item."""
    n_facts, first = np.diff(first_fact_of_item), first_fact_of_item[:-1]
    best = np.lexsort((-score, np.repeat(np.arange(len(n_facts)), n_facts)))[first]
    others = score.copy()
    others[best] = -np.inf
    second = np.maximum(np.maximum.reduceat(others, first), np.finfo(float).min)
    total = np.add.reduceat(np.exp(others - np.repeat(second, n_facts)), first)
    highest = np.repeat(score[best], n_facts)
    all_less_own = np.repeat(np.add.reduceat(np.exp(score - highest), first), n_facts)
    all_less_own -= np.exp(score - highest)
    with np.errstate(divide="ignore"):  # the best one's is replaced, and alone it has no rest
        rest = highest + np.log(all_less_own)
        rest[best] = second + np.log(total)
    return np.asarray(rest)


def _count_meetings(
    weight_of_row: FloatArray, first_of_row: IntArray, slots: IntArray, n_slots: int
) -> FloatArray:
    """For each two slots, the weight of the rows both stand in; -1 is no slot."""
    row = np.repeat(np.arange(len(weight_of_row)), np.diff(first_of_row))
    is_counted = (slots >= 0) & (weight_of_row[row] != 0.0)
    row, slots = row[is_counted], slots[is_counted]
    one, other = _pairs_within(row)
    return _both_ways(slots[one], slots[other], weight_of_row[row[one]], n_slots)


def _pairs_within(group: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of places in the same group, each once; those of a group stand side by side."""
    place, first = np.arange(len(group)), np.searchsorted(group, group)
    n_before = place - first
    one = np.repeat(place, n_before)
    other = np.arange(len(one)) - np.repeat(np.cumsum(n_before) - n_before - first, n_before)
    return one, other


def _both_ways(one: IntArray, other: IntArray, weight: FloatArray, n: int) -> FloatArray:
    """Sums of the weights of pairs, as a table that is the same both ways."""
    sums = np.bincount(one * n + other, weight, n * n).astype(np.float64).reshape(n, n)
    return np.asarray(sums + sums.T)


def count_shared(block: Block, slot_of_source: IntArray, most_supporters: int) -> IntArray:
    """Count, for each pair of slots, the facts both support, of those that few with slots support.

    The lower slot of a pair is the row, the higher one the column.
    """
    n_slots = int(slot_of_source.max()) + 1
    slot_of_support = slot_of_source[block.source_of_support]
    supports = np.flatnonzero(slot_of_support >= 0)
    fact, slot = block.fact_of_support[supports], slot_of_support[supports]
    is_few = np.bincount(fact, minlength=block.n_facts)[fact] <= most_supporters
    one, other = _pairs_within(fact[is_few])
    low, high = _low_and_high(slot[is_few], one, other)
    return np.bincount(low * n_slots + high, minlength=n_slots**2).reshape(n_slots, n_slots)


def find_links(
    block: Block, slot_of_source: IntArray, pair_of_slots: IntArray, n_pairs: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Find, for some pairs of slots, the supports in which both name the same value.

    ``pair_of_slots`` is the number of a pair, both ways, and -1 where two are none. Returns where
    the links of each pair begin, the supports of the lower slot and of the higher one, by fact, and
    how many values of the same items both name: where they name several, as many as the one that
    names fewer.
    """
    slot_of_support = slot_of_source[block.source_of_support]
    supports = np.flatnonzero(slot_of_support >= 0)
    slot, fact = slot_of_support[supports], block.fact_of_support[supports]
    one, other = _pairs_within(fact)
    pair = pair_of_slots[slot[one], slot[other]]
    links = np.flatnonzero(pair >= 0)
    links = links[np.lexsort((fact[one[links]], pair[links]))]
    is_later = slot[one[links]] > slot[other[links]]
    one, other = supports[one[links]], supports[other[links]]
    first_link = np.searchsorted(pair[links], np.arange(n_pairs + 1))
    item, slot, voice = pairs_of(block.item_of_fact[fact], slot)
    n_named = np.bincount(voice)
    voices, others = _pairs_within(item)
    pair = pair_of_slots[slot[voices], slot[others]]
    both = np.minimum(n_named[voices], n_named[others])[pair >= 0]
    return (
        first_link,
        np.where(is_later, other, one).astype(np.int32),
        np.where(is_later, one, other).astype(np.int32),
        np.bincount(pair[pair >= 0], both, n_pairs).astype(np.int64),
    )


def find_joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Of each of n things, find the first one of the group that pairs join it into."""
    head = np.arange(n)  # of each thing, one of its group that does not come after it
    while len(one):
        low, high = np.minimum(one, other), np.maximum(one, other)
        np.minimum.at(head, high, low)
        while not np.array_equal(head[head], head):
            head = head[head]
        one, other = head[one], head[other]
        one, other = one[one != other], other[one != other]
    return head


def _low_and_high(slot: IntArray, one: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
    return np.minimum(slot[one], slot[other]), np.maximum(slot[one], slot[other])


def count_once(block: Block, slot_of_source: IntArray, copied: FloatArray) -> FloatArray:
    """Weight of each support: one over how many, itself included, say it as copies of each other.

    1 / (1 + the sum of ``copied[own slot, other slot]`` over the fact's other supporters, each as
    far as it counts).
    """
    slot, n = slot_of_source[block.source_of_support], len(block.source_of_support)
    place = np.flatnonzero(slot >= 0)
    fact = np.repeat(np.arange(len(block.first_support_of_fact) - 1),
                     np.diff(block.first_support_of_fact))  # fmt: skip
    one, other = (place[of_pair] for of_pair in _pairs_within(fact[place]))
    share = counted(np.ones(n), block.share_of_support)
    others = np.bincount(one, copied[slot[one], slot[other]] * share[other], n)
    others += np.bincount(other, copied[slot[other], slot[one]] * share[one], n)
    return np.asarray(1.0 / (1.0 + others))
