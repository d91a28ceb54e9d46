"""Kernels in NumPy, written to be read: the definition, of which `compiled` is the fast twin.

A `block` holds items with their facts, the supports of each fact (positive claims) and the voices
of each item (every source that claims anything about it). Negative claims are implied: a voice of
the item that does not support the fact opposes it. Each counts in full, or by its share where the
block has shares: a claim is then an expectation over what the source may claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veracity.encoding.block import Block, FloatArray, IntArray
    from veracity.kernels import Numbers

LOW = np.uint64(0xFFFFFFFF)


# --- sums over claims ---------------------------------------------------------------------------


def sum_votes(block: Block, base_of_source: FloatArray, weight_of_source: FloatArray) -> FloatArray:
    """Score each fact: the bases of all voices of its item plus the weights of its supporters."""
    base = counted(base_of_source[block.source_of_voice], block.share_of_voice)
    base_of_item = sum_by(base, block.first_voice_of_item)
    own = sum_claims(block, weight_of_source[block.source_of_support])
    base_of_fact = np.repeat(base_of_item, np.diff(block.first_fact_of_item))
    return np.asarray(base_of_fact + own, dtype=np.float64)


def sum_claims(block: Block, weight_of_support: FloatArray) -> FloatArray:
    """Return the score of each fact: the sum of the weights of its supports."""
    weight = counted(weight_of_support, block.share_of_support)
    return sum_by(weight, block.first_support_of_fact)


def counted(number: FloatArray, share: FloatArray) -> FloatArray:
    """Weighted numbers of supports or voices."""
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
    """Return the contribution of each support to the score of its fact.

    ``log_odds[source, column of the item] + log((K - m + 1) / m)`` for one of m values that the
    source names of an item that has K; times the support's weight, over what the item's scores
    shrink by. The last three may be empty: then all weigh one, all name one value, and scores do
    not shrink.
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

    The unclaimed values of an item have a score of their own: minus infinity if there are none.
    """
    n_facts_of_item = np.diff(first_fact_of_item)
    highest = np.maximum(
        np.maximum.reduceat(score_of_fact, first_fact_of_item[:-1]), unclaimed_of_item
    )
    share = np.exp(score_of_fact - np.repeat(highest, n_facts_of_item))
    total = sum_by(share, first_fact_of_item) + np.exp(unclaimed_of_item - highest)
    return np.asarray(share / np.repeat(total, n_facts_of_item))


def count_votes(block: Block, plausibility_of_fact: FloatArray, n_sources: int) -> FloatArray:
    """Count, for each source, its claims by the truth of the facts.

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
    """Sum several numbers of facts by source: over those it supports, and those it covers.

    ``number_of_fact[fact, k]`` has the numbers in columns, so that one pass over the claims is
    enough. The second sums follow the first, and are of the first `n_spoken` numbers only.
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
    """Score each label of each item: the sum, over supports, of log P(claimed label | label).

    Every support is multiplied by its weight.
    """
    said = np.repeat(block.label_of_fact, np.diff(block.first_support_of_fact))
    weight = counted(weight_of_support, block.share_of_support)
    words = weight[:, None] * log_confusion[block.source_of_support, :, said]
    return sum_by(words, block.first_support_of_fact[block.first_fact_of_item])


def count_named(block: Block, n_sources: int) -> IntArray:
    """Count, for each support, the values of its item that the source names."""
    item = np.repeat(block.item_of_fact, np.diff(block.first_support_of_fact))
    _, voice, n_named = np.unique(
        item * n_sources + block.source_of_support, return_inverse=True, return_counts=True
    )
    return np.asarray(n_named[voice], dtype=np.int32)


def count_confusions(block: Block, label: FloatArray, n_sources: int) -> FloatArray:
    """Count [source, true label, claimed label]; label k of item i is true to ``label[i, k]``."""
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
    """Return the two facts of each item with the highest scores; a single fact is returned twice.

    Of equal scores the one with more supporters comes first, then the first.
    """
    item_of_fact = np.repeat(np.arange(len(first_fact_of_item) - 1), np.diff(first_fact_of_item))
    rank = np.lexsort((-supporters_of_fact, -score_of_fact, item_of_fact))
    first, last = first_fact_of_item[:-1], first_fact_of_item[1:]
    return rank[first], rank[np.minimum(first + 1, last - 1)]


# --- encoding: names become numbers, claims are laid out ----------------------------------------


def number_names(
    slots: IntArray, n_names: int, first_hash: IntArray, second_hash: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Assign numbers to names, known by two hashes, in the order in which they first occur.

    The slots are the table of numbered names: a row holds the first hash, and the upper half of the
    second with the number, from 1, in its lower half; an empty row is zero. So 96 bits identify a
    name. A name stands in the first free row from the one its first hash points to. Return the
    slots, of which there are always more than names, the number of each row, and the rows that
    brought a new name.
    """
    known = slots[slots[:, 1] != 0]
    known = known[np.argsort(known[:, 1] & LOW)]
    first = np.append(known[:, 0], first_hash)
    mark = np.append(known[:, 1], second_hash) & ~LOW
    order = np.lexsort((mark, first))  # stable: of equal names the one that was met first is first
    changes = (np.diff(first[order]) != 0) | (np.diff(mark[order]) != 0)
    is_other = np.append(True, changes)[: len(order)]  # there may be no row at all
    row_of_name = np.sort(order[is_other])
    number_of_row = np.empty(len(order), np.int32)
    number_of_row[order] = np.searchsorted(row_of_name, order[is_other])[np.cumsum(is_other) - 1]
    number = np.arange(1, len(row_of_name) + 1, dtype=np.uint64)
    names = np.stack([first[row_of_name], mark[row_of_name] | number], axis=1)
    new_row = row_of_name[n_names:] - n_names
    return _in_slots(names, len(slots)), number_of_row[n_names:], new_row.astype(np.int32)


def _in_slots(names: IntArray, n_slots: int) -> IntArray:
    """Table of slots with names; it has at least 1.5 times as many slots as names."""
    while 3 * len(names) > 2 * n_slots:
        n_slots *= 2
    is_taken, slot_of_name = bytearray(n_slots), []
    for slot in (names[:, 0] % np.uint64(n_slots)).tolist():
        while is_taken[slot]:
            slot = (slot + 1) % n_slots  # noqa: PLW2901 - the next one, until one is free
        is_taken[slot] = True
        slot_of_name.append(slot)
    slots = np.zeros((n_slots, 2), dtype=np.uint64)
    slots[np.array(slot_of_name, np.int64)] = names
    return slots


def part_claims(
    item: Numbers, spelling: Numbers, source: Numbers, items_per_part: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Renumber names, and group the claims by part, in their order.

    A part has `items_per_part` items. Return the begin of each part, the item of each claim, and
    the key of each claim: the number of its spelling in the upper half, of its source in the lower.
    """
    item_of_claim, spelling_of_claim, source_of_claim = (
        names.place[names.number] for names in (item, spelling, source)
    )
    part = item_of_claim // items_per_part
    order = np.argsort(part, kind="stable")
    key = (spelling_of_claim.astype(np.uint64) << np.uint64(32)) | source_of_claim.astype(np.uint64)
    n_parts = (len(item.place) - 1) // items_per_part + 1
    first_of_part = np.append(0, np.cumsum(np.bincount(part, minlength=n_parts)))
    return first_of_part, item_of_claim[order], key[order]


def lay_out(
    item_of_claim: IntArray, key_of_claim: IntArray, value_of_spelling: IntArray, n_items: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Group the claims by fact and the facts by item, without repeated claims.

    Keys are those of `part_claims`. Every item has a claim; the spellings of one value are
    neighbours. Return the first fact of each item, the first support of each fact, the source of
    each support (ascending within the fact), and the most frequent spelling of each fact (the first
    one if several are equally frequent).
    """
    spelling = (key_of_claim >> np.uint64(32)).astype(np.int64)
    source = (key_of_claim & np.uint64(0xFFFFFFFF)).astype(np.int64)
    value = value_of_spelling[spelling]
    item_of_fact, _, fact_of_claim = pairs_of(item_of_claim, value)
    fact_of_support, source_of_support, _ = pairs_of(fact_of_claim, source)
    fact_of_spelt, spelt, place = pairs_of(fact_of_claim, spelling)
    usual_first = np.lexsort((spelt, -np.bincount(place), fact_of_spelt))
    _, first = np.unique(fact_of_spelt[usual_first], return_index=True)
    return (
        np.searchsorted(item_of_fact, np.arange(n_items + 1)),
        np.searchsorted(fact_of_support, np.arange(len(item_of_fact) + 1)),
        source_of_support.astype(np.int32),
        spelt[usual_first][first].astype(np.int32),
    )


def find_voices(
    first_fact_of_item: IntArray,
    first_support_of_fact: IntArray,
    source_of_support: IntArray,
    n_sources: int,
) -> tuple[IntArray, IntArray]:
    """Return the sources with claims on each item, each once, in the order of their claims."""
    n_items = len(first_fact_of_item) - 1
    n_supports_of_item = np.diff(first_support_of_fact[first_fact_of_item])
    item_of_support = np.repeat(np.arange(n_items), n_supports_of_item)
    _, first = np.unique(item_of_support * n_sources + source_of_support, return_index=True)
    support_of_voice = np.sort(first)
    first_voice_of_item = np.searchsorted(item_of_support[support_of_voice], np.arange(n_items + 1))
    return first_voice_of_item, source_of_support[support_of_voice]


def pairs_of(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the different pairs of two columns of numbers, sorted, and the pair of each row."""
    n = int(other.max(initial=0)) + 1
    pairs, pair_of_row = np.unique(one.astype(np.int64) * n + other, return_inverse=True)
    return pairs // n, pairs % n, pair_of_row


def begins_of(lengths: IntArray) -> IntArray:
    """Return the start of each group, given the lengths, and the total length at the end."""
    first = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=first[1:])
    return first


def joined_begins(firsts: Iterable[IntArray]) -> IntArray:
    """Return the starts of groups in concatenated arrays, and the total length at the end.

    >>> joined_begins([np.array([0, 2, 3]), np.array([0, 4])])
    array([0, 2, 3, 7])
    """
    joined: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    length = 0
    for first in firsts:
        joined.append(first[1:] + length)
        length += int(first[-1])
    return np.concatenate(joined)


def in_groups(first: IntArray, groups: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indices of the members of some groups, group by group, and the new starts.

    >>> in_groups(np.array([0, 2, 3, 7]), np.array([2, 0]))
    (array([3, 4, 5, 6, 0, 1]), array([0, 4, 6]))
    """
    lengths = first[groups + 1] - first[groups]
    begins = begins_of(lengths)
    return np.arange(begins[-1]) + np.repeat(first[groups] - begins[:-1], lengths), begins


# --- pairs of sources ---------------------------------------------------------------------------


def count_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_fact: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Count, for each pair of slots, the items both cover, and the facts that both support.

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
    """Count, for each pair of slots, the facts that both support, weighted by how false they seem.

    The weight is one less their share of the item's softmax. Each source has the weight of its slot
    (zero without one); the two sources of the pair are left out.
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
    """Return, for each fact, log Σ exp of the scores of all other facts of its item."""
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
    """Sum, for each pair of slots, the weights of the rows that have both; -1 means no slot."""
    row = np.repeat(np.arange(len(weight_of_row)), np.diff(first_of_row))
    is_counted = (slots >= 0) & (weight_of_row[row] != 0.0)
    row, slots = row[is_counted], slots[is_counted]
    one, other = _pairs_within(row)
    return _both_ways(slots[one], slots[other], weight_of_row[row[one]], n_slots)


def _pairs_within(group: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs of positions in the same group, each pair once; groups are contiguous."""
    place, first = np.arange(len(group)), np.searchsorted(group, group)
    n_before = place - first
    one = np.repeat(place, n_before)
    other = np.arange(len(one)) - np.repeat(np.cumsum(n_before) - n_before - first, n_before)
    return one, other


def _both_ways(one: IntArray, other: IntArray, weight: FloatArray, n: int) -> FloatArray:
    """Return the sums of the weights of pairs, as a symmetric table."""
    sums = np.bincount(one * n + other, weight, n * n).astype(np.float64).reshape(n, n)
    return np.asarray(sums + sums.T)


def count_shared(block: Block, slot_of_source: IntArray, most_supporters: int) -> IntArray:
    """Count, for each pair of slots, the facts that both support and few other slots do.

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
    """Find, for some pairs of slots, the supports in which both claim the same value.

    ``pair_of_slots[a, b]`` and ``[b, a]`` are the number of the pair, and -1 if a and b are no
    pair. Return four arrays: where the links of each pair begin; the support of the lower slot in
    each link, by fact; that of the higher slot; and for each pair the number of values on shared
    items. If both claim several values of an item, the smaller number counts.
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


def _low_and_high(slot: IntArray, one: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
    return np.minimum(slot[one], slot[other]), np.maximum(slot[one], slot[other])


def count_once(block: Block, slot_of_source: IntArray, copied: FloatArray) -> FloatArray:
    """Return the weight of each support: 1 / the number of its copies, itself included.

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
