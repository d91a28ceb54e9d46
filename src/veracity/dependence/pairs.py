"""Find pairs of sources that share rare values, and count the values they share, over all claims.

Pairs are found by shared values that few other sources claim. The rest is counted block by block:
`count_shared` finds the pairs, `choose_pairs` selects the closest, `links_of` lists the values
these share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity import kernels
from veracity.dependence import SourceOfPair
from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray


class PairRule(NamedTuple):
    """Rule that selects pairs of sources.

    A pair shares at least `min_shared` values that at most `most_supporters` sources name. Of each
    source, the `most_partners` with most shared values of this kind are selected. So there are at
    most claims x most_supporters steps to find the pairs, and sources x most_partners pairs.
    """

    min_shared: int
    most_supporters: int
    most_partners: int


MOST_SOURCES = 2048
"""Largest number of sources that are compared in pairs: those with the most claims."""


class PairCounts(NamedTuple):
    """Number of shared values of each pair of sources that shares any; the key encodes both."""

    key: IntArray
    n_shared: IntArray

    def __neg__(self) -> PairCounts:
        """Return counts that take these out of others."""
        return self._replace(n_shared=-self.n_shared)

    def __add__(self, other: PairCounts) -> PairCounts:  # type: ignore[override]
        """Return the sum of both counts."""
        other = PairCounts(*other)  # it may have been kept as a plain tuple
        return PairCounts.of(
            np.concatenate([self.key, other.key]), np.concatenate([self.n_shared, other.n_shared])
        )

    @classmethod
    def of(cls, key: IntArray, count: IntArray | None = None) -> PairCounts:
        """Return the counts of keys, which may occur several times."""
        if count is None:
            return cls(*np.unique(key, return_counts=True))
        order = np.argsort(key, kind="stable")  # which is quick where sorted keys are merged
        key, count = key[order], count[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        return cls(key[first], np.add.reduceat(count, first))


class Pairs(NamedTuple):
    """Pairs of sources, the lower number first, sorted."""

    source: SourceOfPair
    other: SourceOfPair


class Links(NamedTuple):
    """Claims of a block in which both sources of a pair claim the same value.

    The links of a pair are neighbours. `different` counts different values of the two on an item.
    If they claim several, it counts the unshared values of the source that claims fewer.
    """

    first_link_of_pair: IntArray
    support_of_source: IntArray
    support_of_other: IntArray
    different: FloatArray

    @property
    def n_links(self) -> IntArray:
        """Return the number of links of each pair."""
        return np.diff(self.first_link_of_pair)

    @property
    def pair_of_link(self) -> IntArray:
        """Return the pair of each link."""
        return np.repeat(np.arange(len(self.n_links)), self.n_links)


def most_active(n_claims: FloatArray, fewest: float, most: int) -> BoolArray:
    """Return the sources with most claims; of those with equally many claims all, or none."""
    if len(n_claims) > most:
        fewest = max(fewest, int(np.partition(n_claims, -most - 1)[-most - 1]) + 1)
    return n_claims >= fewest


def able_sources(n_claims: FloatArray, rule: PairRule) -> BoolArray:
    """Return the sources that can be in a pair."""
    return most_active(n_claims, rule.min_shared, MOST_SOURCES)


def count_shared(block: Block, is_able: BoolArray, rule: PairRule) -> PairCounts:
    """Count the values that both sources of a pair claim and few others do."""
    n_shared = kernels.count_shared(block, _slots(is_able), rule.most_supporters)
    source_of_slot = np.flatnonzero(is_able)
    low, high = np.nonzero(n_shared)
    return PairCounts(source_of_slot[low] << 32 | source_of_slot[high], n_shared[low, high])


def choose_pairs(counts: PairCounts, rank: FloatArray, rule: PairRule) -> Pairs:
    """Return the pairs that the rule selects; `rank` decides between equally close partners."""
    is_enough = counts.n_shared >= rule.min_shared
    low, high = counts.key[is_enough] >> 32, counts.key[is_enough] & 0xFFFFFFFF
    source, other = np.append(low, high), np.append(high, low)
    n_shared = np.tile(counts.n_shared[is_enough], 2)
    order = np.lexsort((rank[other], -n_shared, source))
    source, other = source[order], other[order]
    place = np.arange(len(source)) - np.searchsorted(source, source)
    is_close = place < rule.most_partners
    low, high = (bound(source, other)[is_close] for bound in (np.minimum, np.maximum))
    pairs = np.unique(np.stack([low, high], axis=1), axis=0)
    return Pairs(pairs[:, 0], pairs[:, 1])


def signature_of_source(block: Block, n_sources: int) -> NDArray[np.uint64]:
    """Return a number per source that is equal for equal claims, and hardly ever otherwise.

    It depends on the claimed values and the numbers of their supporters, not on names of sources or
    numbers of items.
    """
    said = _mixed(block.label_of_fact.astype(np.uint64), block.n_supports_of_fact)
    of_item = np.add.reduceat(said, block.first_fact_of_item[:-1])
    of_fact = _mixed(said, np.repeat(of_item, block.n_facts_of_item))
    total = np.zeros(n_sources, dtype=np.uint64)
    np.add.at(total, block.source_of_support, np.repeat(of_fact, block.n_supports_of_fact))
    return total


def nameless_rank(n_claims: FloatArray, signature: NDArray[np.uint64]) -> FloatArray:
    """Rank the sources by their claims, so that their order does not depend on their names."""
    rank = np.empty(len(n_claims))
    rank[np.lexsort((signature, n_claims))] = np.arange(len(n_claims))
    return rank


def links_of(block: Block, pairs: Pairs, n_sources: int) -> Links:
    """Return all that each of the pairs shares in a block."""
    is_paired = np.zeros(n_sources, dtype=np.bool_)
    is_paired[pairs.source] = is_paired[pairs.other] = True
    slots, n_pairs = _slots(is_paired), len(pairs.source)
    n_slots = int(slots.max(initial=-1)) + 1
    pair_of_slots = np.full((n_slots, n_slots), -1, dtype=np.int32)
    one, other = slots[pairs.source], slots[pairs.other]
    pair_of_slots[one, other] = pair_of_slots[other, one] = np.arange(n_pairs)
    first, own, others, n_comparable = kernels.find_links(block, slots, pair_of_slots, n_pairs)
    return Links(first, own, others, (n_comparable - np.diff(first)).astype(np.float64))


def _slots(is_meant: BoolArray) -> IntArray:
    """Assign slots to the selected sources in their order; all others get -1."""
    return np.where(is_meant, np.cumsum(is_meant) - 1, -1)


def _mixed(one: NDArray[np.uint64], other: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one number for each pair of numbers, different for different pairs."""
    mixed = (one + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ other.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Return the group of each of n things that pairs join, in the order of their first things.

    >>> joined(np.array([4, 0]), np.array([1, 2]), 5).tolist()
    [0, 1, 0, 2, 1]
    """
    first = first_of_joined(one, other, n)
    return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.int64)


def first_of_joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Find, for each of n things, the first one of the group that pairs join it into.

    >>> first_of_joined(np.array([4, 0]), np.array([1, 2]), 5).tolist()
    [0, 1, 0, 3, 1]
    """
    head = np.arange(n)  # of each thing, one of its group that does not come after it
    while len(one):
        low, high = np.minimum(one, other), np.maximum(one, other)
        np.minimum.at(head, high, low)
        while not np.array_equal(head[head], head):
            head = head[head]
        one, other = head[one], head[other]
        one, other = one[one != other], other[one != other]
    return head
