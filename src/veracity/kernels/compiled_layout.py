"""Compiled kernels of encoding: they number names, and lay out claims item by item.

Kernels call helpers of their own file only: see `compiled`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels import kernel

if TYPE_CHECKING:
    from veracity.encoding.block import IntArray
    from veracity.kernels import Numbers

LOW = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(0xFFFFFFFF00000000)
HALF = np.uint64(32)
ONE = np.uint64(1)

SHORT = 24
"""Number of keys up to which they are sorted by insertion; more are sorted by merging."""


@kernel
def number_names(
    slots: IntArray, n_names: int, first_hash: IntArray, second_hash: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """See the reference; the slots are written to."""
    number_of_row = np.empty(len(first_hash), np.int32)
    new_row = np.empty(len(first_hash), np.int32)
    n_new = 0
    for row in range(len(first_hash)):
        slot = _find(slots, first_hash[row], second_hash[row] & HIGH)
        if slots[slot, 1] == 0:
            n_names += 1
            slots[slot, 0] = first_hash[row]
            slots[slot, 1] = (second_hash[row] & HIGH) | np.uint64(n_names)
            new_row[n_new] = row
            n_new += 1
            number_of_row[row] = n_names - 1
            if 3 * n_names > 2 * len(slots):
                slots = _doubled(slots, n_names)
        else:
            number_of_row[row] = np.int64(slots[slot, 1] & LOW) - 1
    return slots, number_of_row, new_row[:n_new].copy()


@kernel
def _find(slots: IntArray, first_hash: int, mark: int) -> np.uint64:
    """Return the slot of a name, or the empty slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = first_hash & mask
    while slots[slot, 1] != 0 and (slots[slot, 0] != first_hash or slots[slot, 1] & HIGH != mark):
        slot = (slot + ONE) & mask
    return slot


@kernel
def _doubled(slots: IntArray, n_names: int) -> IntArray:
    """Return a table of twice as many slots, with the names inserted in their old order."""
    slot_of_name = np.empty(n_names, np.int64)
    for slot in range(len(slots)):
        if slots[slot, 1] != 0:
            slot_of_name[np.int64(slots[slot, 1] & LOW) - 1] = slot
    more = np.zeros((2 * len(slots), 2), np.uint64)
    for old in slot_of_name:
        new = _find(more, slots[old, 0], slots[old, 1] & HIGH)
        more[new, 0] = slots[old, 0]
        more[new, 1] = slots[old, 1]
    return more


@kernel
def _add_up(counts: IntArray) -> None:
    """Replace an array by its cumulative sums, in place."""
    for i in range(1, len(counts)):
        counts[i] += counts[i - 1]


@kernel
def part_claims(
    item: Numbers, spelling: Numbers, source: Numbers, items_per_part: int
) -> tuple[IntArray, IntArray, IntArray]:
    """See the reference."""
    n_claims, n_parts = len(item.number), (len(item.place) - 1) // items_per_part + 1
    place_of_item = np.empty(n_claims, np.int32)
    first_of_part = np.zeros(n_parts + 1, np.int64)
    for claim in range(n_claims):  # looked up at random, so only once
        place_of_item[claim] = item.place[item.number[claim]]
        first_of_part[place_of_item[claim] // items_per_part + 1] += 1
    _add_up(first_of_part)
    at = first_of_part.copy()
    item_of_claim = np.empty(n_claims, np.int32)
    key = np.empty(n_claims, np.uint64)
    for claim in range(n_claims):
        part = place_of_item[claim] // items_per_part
        place = at[part]
        at[part] = place + 1
        item_of_claim[place] = place_of_item[claim]
        spelt, said = spelling.number[claim], source.number[claim]
        key[place] = (np.uint64(spelling.place[spelt]) << HALF) | np.uint64(source.place[said])
    return first_of_part, item_of_claim, key


@kernel
def lay_out(
    item_of_claim: IntArray, key_of_claim: IntArray, value_of_spelling: IntArray, n_items: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """See the reference."""
    keys, first_of_item = _grouped(item_of_claim, key_of_claim, n_items)
    longest = 0
    for item in range(n_items):
        longest = max(longest, first_of_item[item + 1] - first_of_item[item])
    spare = np.empty(longest, np.uint64)
    first_fact_of_item = np.zeros(n_items + 1, np.int64)
    first_support_of_fact = np.empty(len(keys) + 1, np.int64)
    spelling_of_fact = np.empty(len(keys), np.int32)
    source_of_support = np.empty(len(keys), np.int32)
    n_facts, n_supports = 0, 0
    for item in range(n_items):
        at, last = first_of_item[item], first_of_item[item + 1]
        _sort(keys[at:last], spare)
        while at < last:
            end, usual = _fact_from(keys, at, last, value_of_spelling)
            first_support_of_fact[n_facts] = n_supports
            spelling_of_fact[n_facts] = usual
            n_facts += 1
            if keys[at] >> HALF != keys[end - 1] >> HALF:  # sources of several spellings
                for i in range(at, end):
                    keys[i] &= LOW
                _sort(keys[at:end], spare)
            for i in range(at, end):
                if i == at or keys[i] != keys[i - 1]:  # a repetition of a claim counts once
                    source_of_support[n_supports] = keys[i] & LOW
                    n_supports += 1
            at = end
        first_fact_of_item[item + 1] = n_facts
    first_support_of_fact[n_facts] = n_supports
    return (
        first_fact_of_item,
        first_support_of_fact[: n_facts + 1].copy(),
        source_of_support[:n_supports].copy(),
        spelling_of_fact[:n_facts].copy(),
    )


@kernel
def _grouped(
    item_of_claim: IntArray, key_of_claim: IntArray, n_items: int
) -> tuple[IntArray, IntArray]:
    """Return the keys of the claims, grouped by item, and the start of each group."""
    first_of_item = np.zeros(n_items + 1, np.int64)
    for item in item_of_claim:
        first_of_item[item + 1] += 1
    _add_up(first_of_item)
    at = first_of_item.copy()
    keys = np.empty(len(key_of_claim), np.uint64)
    for claim in range(len(key_of_claim)):
        item = item_of_claim[claim]
        keys[at[item]] = key_of_claim[claim]
        at[item] += 1
    return keys, first_of_item


@kernel
def _fact_from(
    keys: IntArray, first: int, last: int, value_of_spelling: IntArray
) -> tuple[int, np.int64]:
    """Return the end of the fact that begins at `first`, and its most frequent spelling."""
    value = value_of_spelling[keys[first] >> HALF]
    usual, longest = keys[first] >> HALF, 0
    at = first
    while at < last and value_of_spelling[keys[at] >> HALF] == value:
        spelling, begin = keys[at] >> HALF, at
        while at < last and keys[at] >> HALF == spelling:
            at += 1
        if at - begin > longest:
            usual, longest = spelling, at - begin
    return at, np.int64(usual)


@kernel
def find_voices(
    first_fact_of_item: IntArray,
    first_support_of_fact: IntArray,
    source_of_support: IntArray,
    n_sources: int,
) -> tuple[IntArray, IntArray]:
    """See the reference."""
    n_items = len(first_fact_of_item) - 1
    first_voice_of_item = np.zeros(n_items + 1, np.int64)
    source_of_voice = np.empty(len(source_of_support), np.int32)
    last_item_of_source = np.full(n_sources, -1, np.int32)
    n_voices = 0
    for item in range(n_items):
        first = first_support_of_fact[first_fact_of_item[item]]
        for support in range(first, first_support_of_fact[first_fact_of_item[item + 1]]):
            source = source_of_support[support]
            source_of_voice[n_voices] = source
            n_voices += last_item_of_source[source] != item  # else the next one takes its place
            last_item_of_source[source] = item
        first_voice_of_item[item + 1] = n_voices
    return first_voice_of_item, source_of_voice[:n_voices].copy()


@kernel
def _sort(keys: IntArray, spare: IntArray) -> None:
    """Sort in place: never quadratic, however many claims an item has and in whatever order."""
    n = len(keys)
    for begin in range(0, n, SHORT):
        for i in range(begin + 1, min(begin + SHORT, n)):
            key, j = keys[i], i
            while j > begin and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
    width = SHORT
    while width < n:
        for begin in range(0, n - width, 2 * width):
            _merge(keys[begin : begin + 2 * width], width, spare)
        width *= 2


@kernel
def _merge(keys: IntArray, middle: int, spare: IntArray) -> None:
    """Merge two adjacent sorted runs."""
    for i in range(middle):
        spare[i] = keys[i]
    left, right = 0, middle
    for at in range(len(keys)):
        if left == middle:
            break
        if right < len(keys) and keys[right] < spare[left]:
            keys[at] = keys[right]
            right += 1
        else:
            keys[at] = spare[left]
            left += 1
