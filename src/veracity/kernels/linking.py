"""The kernels of pairs of sources, compiled: what they share, fact by fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels.jit import kernel

if TYPE_CHECKING:
    from veracity.encoding.block import Block, IntArray


@kernel
def count_shared(block: Block, slot_of_source: IntArray, most_supporters: int) -> IntArray:
    """See the reference."""
    n_slots = slot_of_source.max() + 1
    n_shared = np.zeros((n_slots, n_slots), np.int64)
    slots, supports = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        if n <= most_supporters:
            for i in range(n):
                for j in range(i):
                    n_shared[min(slots[i], slots[j]), max(slots[i], slots[j])] += 1
    return n_shared


@kernel
def find_links(
    block: Block, slot_of_source: IntArray, pair_of_slots: IntArray, n_pairs: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """See the reference."""
    n_slots = len(pair_of_slots)
    slots, supports = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    first_link = np.zeros(n_pairs + 1, np.int64)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        for i in range(n):
            for j in range(i):
                first_link[pair_of_slots[slots[i], slots[j]] + 1] += 1
    first_link[0] = 0  # there are counted those that are no pair
    for pair in range(n_pairs):
        first_link[pair + 1] += first_link[pair]
    at = first_link.copy()
    support_of_source = np.empty(first_link[n_pairs], np.int32)
    support_of_other = np.empty(first_link[n_pairs], np.int32)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        for i in range(n):
            for j in range(i):
                pair = pair_of_slots[slots[i], slots[j]]
                if pair >= 0:
                    is_later = slots[j] > slots[i]
                    support_of_source[at[pair]] = supports[i if is_later else j]
                    support_of_other[at[pair]] = supports[j if is_later else i]
                    at[pair] += 1
    n_comparable = _count_comparable(block, slot_of_source, pair_of_slots, n_pairs)
    return first_link, support_of_source, support_of_other, n_comparable


@kernel
def find_joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """See the reference."""
    head, n_groups = np.arange(n), n
    for pair in range(len(one)):
        low, high = _head(head, one[pair]), _head(head, other[pair])
        if low != high:
            head[max(low, high)] = min(low, high)
            n_groups -= 1
            if n_groups == 1:
                break  # no other pair can join anything
    for thing in range(n):  # heads come first, so theirs is found by then
        head[thing] = head[head[thing]]
    return head


@kernel
def _head(head: IntArray, thing: int) -> int:
    """The first of the group so far; on the way to it, ways become half as long."""
    while head[thing] != thing:
        head[thing] = head[head[thing]]
        thing = head[thing]
    return thing


@kernel
def _with_slots(
    block: Block, fact: int, slot_of_source: IntArray, slots: IntArray, supports: IntArray
) -> int:
    """Write down the supports of a fact whose sources have slots, and these; how many there are."""
    n = 0
    for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
        slot = slot_of_source[block.source_of_support[i]]
        if slot >= 0:
            slots[n], supports[n] = slot, i
            n += 1
    return n


@kernel
def _count_comparable(
    block: Block, slot_of_source: IntArray, pair_of_slots: IntArray, n_pairs: int
) -> IntArray:
    """Of each pair, the sum over items of how many values the one names that names fewer."""
    n_slots = len(pair_of_slots)
    n_comparable = np.zeros(n_pairs + 1, np.int64)  # the last: of those that are no pair
    n_named, slots = np.zeros(n_slots, np.int64), np.empty(n_slots, np.int64)
    for item in range(len(block.first_fact_of_item) - 1):
        first = block.first_support_of_fact[block.first_fact_of_item[item]]
        last = block.first_support_of_fact[block.first_fact_of_item[item + 1]]
        n = 0
        for i in range(first, last):
            slot = slot_of_source[block.source_of_support[i]]
            if slot >= 0:
                if n_named[slot] == 0:
                    slots[n] = slot
                    n += 1
                n_named[slot] += 1
        for i in range(n):
            for j in range(i):
                both = min(n_named[slots[i]], n_named[slots[j]])
                n_comparable[pair_of_slots[slots[i], slots[j]]] += both
        for i in range(n):
            n_named[slots[i]] = 0
    return n_comparable[:n_pairs].copy()
