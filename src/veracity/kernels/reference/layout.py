"""Encoding: names become numbers, and numbered claims are laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veracity.encoding.block import IntArray

LOW = np.uint64(0xFFFFFFFF)


def number_names(
    slots: IntArray, n_names: int, first_hash: IntArray, second_hash: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Number names, known by two hashes, in the order they are first met.

    The slots remember the names that are numbered: a row holds the first hash, and the upper half
    of the second with the number, from 1, in its lower half; an empty row is zero. So names are
    told apart by 96 bits. A name stands at the first free row from the one its first hash names.
    Returns the slots, of which there are always more than names, the number of each row, and the
    rows that brought a new name.
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
    """Names in slots, one after the other, of which there are half as many more at least."""
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
    """Put names in their places, and bring the claims of each part together, in their order.

    A part is `items_per_part` items. Returns where each part begins, the place of each claim's
    item, and its key: the place of its spelling in the upper half, of its source in the lower half.
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
    """Bring the claims of each fact together, the facts of each item, and leave out repetitions.

    Keys are those of `part_claims`. Every item has a claim; the spellings of one value are
    neighbours. Returns the first fact of each item, the first support of each fact, the source of
    each support, in ascending order within the fact, and the spelling that most claims of the
    fact use, of equally usual ones the first.
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
    """The sources that speak of each item, each once, in the order in which they are first met."""
    n_items = len(first_fact_of_item) - 1
    n_supports_of_item = np.diff(first_support_of_fact[first_fact_of_item])
    item_of_support = np.repeat(np.arange(n_items), n_supports_of_item)
    _, first = np.unique(item_of_support * n_sources + source_of_support, return_index=True)
    support_of_voice = np.sort(first)
    first_voice_of_item = np.searchsorted(item_of_support[support_of_voice], np.arange(n_items + 1))
    return first_voice_of_item, source_of_support[support_of_voice]


def pairs_of(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The different pairs of two columns of numbers, sorted, and which of them each row has."""
    n = int(other.max(initial=0)) + 1
    pairs, pair_of_row = np.unique(one.astype(np.int64) * n + other, return_inverse=True)
    return pairs // n, pairs % n, pair_of_row


def begins_of(lengths: IntArray) -> IntArray:
    """Where groups of these lengths begin, and the length of all at the end."""
    first = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=first[1:])
    return first


def joined_begins(firsts: Iterable[IntArray]) -> IntArray:
    """Where groups begin, of arrays of groups that stand one behind the other; the length at last.

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
    """What is in some groups, one group behind the other; and where each of them begins then.

    >>> in_groups(np.array([0, 2, 3, 7]), np.array([2, 0]))
    (array([3, 4, 5, 6, 0, 1]), array([0, 4, 6]))
    """
    lengths = first[groups + 1] - first[groups]
    begins = begins_of(lengths)
    return np.arange(begins[-1]) + np.repeat(first[groups] - begins[:-1], lengths), begins
