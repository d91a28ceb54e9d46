"""Which sources share how much: sums over all claims, for any number of sources.

Pairs are found by what they share of what few others say. What a pair shares is counted block by
block: `count_shared` finds the pairs, `choose_pairs` keeps the closest, `links_of` spells out what
these share. Where all pairs of the sources fit in a matrix, kernels do it; where sources are too
many for that, so are pairs that share nothing, and NumPy goes from source to source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray
from veracity.kernels.loading import kernels


class PairRule(NamedTuple):
    """Which pairs of sources are looked at.

    Those that name at least `min_shared` same values which at most `most_supporters` sources name;
    of each source, the `most_partners` it shares most such values with. So there are at most
    claims x most_supporters steps to find the pairs, and sources x most_partners pairs.
    """

    min_shared: int
    most_supporters: int
    most_partners: int


CELLS_PER_CLAIM, FEW_CELLS = 4, 1 << 20
"""Up to so many pairs of sources for each claim of a block, or so many in all, which take less time
than sorting what is shared by few claims, there is a matrix of them all."""


KEYS_AT_ONCE = 4_000_000
"""So many keys of pairs, or twice as many, are in memory at a time."""


class PairCounts(NamedTuple):
    """How often pairs of sources meet: only those that do, by a key of both their numbers."""

    key: IntArray
    n_shared: IntArray

    def __add__(self, other: PairCounts) -> PairCounts:  # type: ignore[override]
        """The counts of both."""
        other = PairCounts(*other)  # it may have been kept as a plain tuple
        return PairCounts.of(
            np.concatenate([self.key, other.key]), np.concatenate([self.n_shared, other.n_shared])
        )

    @classmethod
    def of(cls, key: IntArray, count: IntArray | None = None) -> PairCounts:
        """Counts of keys, each of which may occur often."""
        if count is None:
            return cls(*np.unique(key, return_counts=True))
        order = np.argsort(key, kind="stable")  # which is quick where sorted keys are merged
        key, count = key[order], count[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        return cls(key[first], np.add.reduceat(count, first))


class Pairs(NamedTuple):
    """Pairs of sources, the lower number first, sorted."""

    source: IntArray
    other: IntArray

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, pairs of sources that are not there."""
        both = np.stack([self.source, self.other]) if len(self.source) == len(self.other) else None
        if both is None or (both.size and (both.min() < 0 or both.max() >= n_sources)):
            raise ValueError("what was learned of pairs is not of the sources")


class Links(NamedTuple):
    """The claims of a block in which both of a pair name the same value.

    The links of a pair lie side by side. `different` is how often the two name different values of
    one item; where they name several, as often as the one that names fewer stands alone.
    """

    first_link_of_pair: IntArray
    support_of_source: IntArray
    support_of_other: IntArray
    different: FloatArray

    @property
    def n_links(self) -> IntArray:
        """How many links each pair has."""
        return np.diff(self.first_link_of_pair)

    @property
    def pair_of_link(self) -> IntArray:
        """Which pair each link is of."""
        return np.repeat(np.arange(len(self.n_links)), self.n_links)


class _BySource(NamedTuple):
    """The claims of each source, side by side; a voice is all that it says about one item."""

    first_support: IntArray
    support: IntArray
    fact: IntArray
    first_voice: IntArray
    item_of_voice: IntArray
    n_values_of_voice: IntArray


def count_shared(block: Block, is_able: BoolArray, rule: PairRule) -> PairCounts:
    """How many values both of a pair name, of those that few name; sources that are able only."""
    slots = _slots(is_able)
    if _is_matrix(block, slots):
        n_shared = kernels.count_shared(block, slots, rule.most_supporters)
        source_of_slot = np.flatnonzero(is_able)
        low, high = np.nonzero(n_shared)
        return PairCounts(source_of_slot[low] << 32 | source_of_slot[high], n_shared[low, high])
    nothing: IntArray = np.zeros(0, np.int64)
    found, waiting = PairCounts(nothing, nothing), [nothing]
    for keys in _keys_of_pairs(block, is_able, rule.most_supporters):
        waiting.append(keys)
        if sum(map(len, waiting)) >= KEYS_AT_ONCE:
            found = found + PairCounts.of(np.concatenate(waiting))
            waiting = [nothing]
    return found + PairCounts.of(np.concatenate(waiting))


def _keys_of_pairs(block: Block, is_able: BoolArray, most: int) -> Iterator[IntArray]:
    """The keys of all pairs that name a value which at most so many name, not too many at once."""
    kept = np.flatnonzero(is_able[block.source_of_support])
    source = block.source_of_support[kept].astype(np.int64)
    first = np.searchsorted(kept, block.first_support_of_fact)
    n_supporters = np.diff(first)
    for size in np.unique(n_supporters):
        if 1 < size <= most:
            one, other = np.triu_indices(size, k=1)
            supporters = source[first[:-1][n_supporters == size, None] + np.arange(size)]
            n_portions = len(supporters) * len(one) // KEYS_AT_ONCE + 1
            for rows in np.array_split(supporters, n_portions):
                low = np.minimum(rows[:, one], rows[:, other])
                high = np.maximum(rows[:, one], rows[:, other])
                yield ((low << 32) | high).ravel()


def choose_pairs(counts: PairCounts, rank: FloatArray, rule: PairRule) -> Pairs:
    """The pairs that the rule looks at; the rank decides between partners that share as much."""
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
    """A number that sources with the same claims share, and others hardly ever: it adds up.

    It uses what is claimed and by how many, and neither names of sources nor numbers of items.
    """
    said = _mixed(block.label_of_fact.astype(np.uint64), block.n_supports_of_fact)
    of_item = np.add.reduceat(said, block.first_fact_of_item[:-1])
    of_fact = _mixed(said, np.repeat(of_item, block.n_facts_of_item))
    total = np.zeros(n_sources, dtype=np.uint64)
    np.add.at(total, block.source_of_support, np.repeat(of_fact, block.n_supports_of_fact))
    return total


def nameless_rank(n_claims: FloatArray, signature: NDArray[np.uint64]) -> FloatArray:
    """Rank the sources by what they claim, so that an order of sources need not use their names."""
    rank = np.empty(len(n_claims))
    rank[np.lexsort((signature, n_claims))] = np.arange(len(n_claims))
    return rank


def links_of(block: Block, pairs: Pairs, n_sources: int) -> Links:
    """All that each of the pairs shares in a block."""
    is_paired = np.zeros(n_sources, dtype=np.bool_)
    is_paired[pairs.source] = is_paired[pairs.other] = True
    slots = _slots(is_paired)
    if _is_matrix(block, slots):
        return _links_by_slots(block, pairs, slots)
    claims = _by_source(block, n_sources)
    first_of_source = np.searchsorted(pairs.source, np.arange(n_sources + 1))
    support_of_fact = np.full(block.n_facts, -1, dtype=np.int64)
    n_values_of_item = np.zeros(block.n_items, dtype=np.int64)
    links: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
    for source in np.unique(pairs.source):
        others = pairs.other[first_of_source[source] : first_of_source[source + 1]]
        own = _part(claims.first_support, source)
        voices = _part(claims.first_voice, source)
        support_of_fact[claims.fact[own]] = claims.support[own]
        n_values_of_item[claims.item_of_voice[voices]] = claims.n_values_of_voice[voices]
        links.append(_links_with(claims, others, support_of_fact, n_values_of_item))
        support_of_fact[claims.fact[own]] = -1
        n_values_of_item[claims.item_of_voice[voices]] = 0
    return _put_together(links)


def _slots(is_meant: BoolArray) -> IntArray:
    """Numbers for the sources that are meant, in their order, and -1 for all others."""
    return np.where(is_meant, np.cumsum(is_meant) - 1, -1)


def _is_matrix(block: Block, slots: IntArray) -> bool:
    """Whether a matrix of all pairs of slots is no more than what is claimed, or small."""
    n_slots = int(slots.max(initial=-1)) + 1
    return 0 < n_slots**2 <= max(CELLS_PER_CLAIM * len(block.source_of_support), FEW_CELLS)


def _links_by_slots(block: Block, pairs: Pairs, slots: IntArray) -> Links:
    n_slots, n_pairs = int(slots.max()) + 1, len(pairs.source)
    pair_of_slots = np.full((n_slots, n_slots), -1, dtype=np.int32)
    one, other = slots[pairs.source], slots[pairs.other]
    pair_of_slots[one, other] = pair_of_slots[other, one] = np.arange(n_pairs)
    first, own, others, n_comparable = kernels.find_links(block, slots, pair_of_slots, n_pairs)
    return Links(first, own, others, (n_comparable - np.diff(first)).astype(np.float64))


def _by_source(block: Block, n_sources: int) -> _BySource:
    support = np.argsort(block.source_of_support, kind="stable")
    fact = block.fact_of_support[support]
    item = block.item_of_fact[fact]
    source = block.source_of_support[support]
    is_voice = np.append(True, (item[1:] != item[:-1]) | (source[1:] != source[:-1]))
    voice = np.flatnonzero(is_voice)
    sources = np.arange(n_sources + 1)
    return _BySource(
        np.searchsorted(source, sources),
        support,
        fact,
        np.searchsorted(source[voice], sources),
        item[voice],
        np.diff(np.append(voice, len(item))),
    )


def _links_with(
    claims: _BySource, others: IntArray, support_of_fact: IntArray, n_values_of_item: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """What one source, spread out over facts and items, shares with others.

    Supports of the source, supports of the others, links of each other, items told differently.
    """
    at = _ranges(claims.first_support[others], claims.first_support[others + 1])
    own = support_of_fact[claims.fact[at]]
    is_link = own >= 0
    n_links = _count(is_link, np.diff(claims.first_support)[others])
    voice = _ranges(claims.first_voice[others], claims.first_voice[others + 1])
    both = np.minimum(
        n_values_of_item[claims.item_of_voice[voice]], claims.n_values_of_voice[voice]
    )
    n_comparable = _count(both, np.diff(claims.first_voice)[others])
    return own[is_link], claims.support[at[is_link]], n_links, n_comparable - n_links


def _put_together(links: list[tuple[IntArray, IntArray, IntArray, IntArray]]) -> Links:
    nothing = np.empty(0, dtype=np.int64)
    columns = [np.concatenate([nothing, *(part[i] for part in links)]) for i in range(4)]
    own, others, n_links, different = columns
    first_link = np.append(0, np.cumsum(n_links))
    # 32 bits hold the number of a support and halve the memory, most of which is links
    return Links(
        first_link, own.astype(np.int32), others.astype(np.int32), different.astype(np.float64)
    )


def _part(first: IntArray, number: np.integer[Any]) -> slice:
    return slice(int(first[number]), int(first[number + 1]))


def _ranges(first: IntArray, last: IntArray) -> IntArray:
    """The numbers from each first to before its last, one range after the other."""
    length = last - first
    return np.repeat(first - np.append(0, np.cumsum(length)[:-1]), length) + np.arange(length.sum())


def _count(values: NDArray[Any], length: IntArray) -> IntArray:
    """The sum of each of neighbouring groups."""
    group = np.repeat(np.arange(len(length)), length)
    return np.bincount(group, values, len(length)).astype(np.int64)


def _mixed(one: NDArray[np.uint64], other: NDArray[Any]) -> NDArray[np.uint64]:
    """One number of two, such that other pairs give other numbers."""
    mixed = (one + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ other.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Number the groups that pairs join n things into, in the order of their first things.

    >>> joined(np.array([4, 0]), np.array([1, 2]), 5).tolist()
    [0, 1, 0, 2, 1]
    """
    first = first_of_joined(one, other, n)
    return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.int64)


def first_of_joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Of each of n things, the first one of the group that pairs join it into.

    >>> first_of_joined(np.array([4, 0]), np.array([1, 2]), 5).tolist()
    [0, 1, 0, 3, 1]
    """
    one, other = (of.astype(np.int32, copy=False) for of in (one, other))
    found: IntArray = kernels.find_joined(one, other, n)
    return found
