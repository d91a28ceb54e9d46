"""Which sources share how much: the evidence that one copies from another.

NumPy alone, a few array operations a source: fast enough without a compiled twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veracity.arrays import Block, FloatArray, IntArray

__all__ = ["PairRule", "Shared", "find_shared", "nameless_rank"]


class PairRule(NamedTuple):
    """Which pairs of sources are looked at.

    Those that name at least `min_shared` same values which at most `most_supporters` sources name;
    of each source, the `most_partners` it shares most such values with. So there are at most
    claims x most_supporters steps to find the pairs, and sources x most_partners pairs.
    """

    min_shared: int
    most_supporters: int
    most_partners: int


class Shared(NamedTuple):
    """Pairs of sources, and their links: the claims in which both name the same value.

    The links of a pair lie side by side. `different` is how often the two name different values of
    one item; where they name several, as often as the one that names fewer stands alone.
    """

    source: IntArray
    other: IntArray
    first_link_of_pair: IntArray
    support_of_source: IntArray
    support_of_other: IntArray
    different: FloatArray


class _BySource(NamedTuple):
    """The claims of each source, side by side; a voice is all that it says about one item."""

    first_support: IntArray
    support: IntArray
    fact: IntArray
    first_voice: IntArray
    item_of_voice: IntArray
    n_values_of_voice: IntArray


def find_shared(block: Block, n_sources: int, rule: PairRule) -> Shared:
    """Find the pairs that the rule looks at, and all that each of them shares."""
    claims = _by_source(block, n_sources)
    pairs = _find_pairs(block, claims, nameless_rank(block, n_sources), rule)
    first_of_source = np.searchsorted(pairs[:, 0], np.arange(n_sources + 1))
    support_of_fact = np.full(len(block.first_support_of_fact) - 1, -1, dtype=np.int64)
    n_values_of_item = np.zeros(len(block.first_fact_of_item) - 1, dtype=np.int64)
    links: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
    for source in np.unique(pairs[:, 0]):
        others = pairs[first_of_source[source] : first_of_source[source + 1], 1]
        own = _part(claims.first_support, source)
        voices = _part(claims.first_voice, source)
        support_of_fact[claims.fact[own]] = claims.support[own]
        n_values_of_item[claims.item_of_voice[voices]] = claims.n_values_of_voice[voices]
        links.append(_links_of(claims, others, support_of_fact, n_values_of_item))
        support_of_fact[claims.fact[own]] = -1
        n_values_of_item[claims.item_of_voice[voices]] = 0
    return _put_together(pairs, links)


def nameless_rank(block: Block, n_sources: int) -> IntArray:
    """Rank the sources by what they claim, so that an order of sources need not use their names.

    By the number of claims, then by a number that only sources with the same claims share.
    """
    n_facts = len(block.first_support_of_fact) - 1
    number_of_fact = np.random.default_rng(0).random(n_facts)
    number_of_support = np.repeat(number_of_fact, np.diff(block.first_support_of_fact))
    number = np.bincount(block.source_of_support, number_of_support, n_sources)
    order = np.lexsort((number, np.bincount(block.source_of_support, minlength=n_sources)))
    rank = np.empty(n_sources, dtype=np.int64)
    rank[order] = np.arange(n_sources)
    return rank


def _by_source(block: Block, n_sources: int) -> _BySource:
    support = np.argsort(block.source_of_support, kind="stable")
    n_facts = len(block.first_support_of_fact) - 1
    fact = np.repeat(np.arange(n_facts), np.diff(block.first_support_of_fact))[support]
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


def _find_pairs(block: Block, claims: _BySource, rank: IntArray, rule: PairRule) -> IntArray:
    """The pairs the rule looks at, as rows of two sources, the lower number first, sorted."""
    n_claims = np.diff(claims.first_support)
    is_able = n_claims >= rule.min_shared  # all others share too little with anybody
    kept = np.flatnonzero(is_able[block.source_of_support])
    source_of_kept = block.source_of_support[kept]
    first_kept_of_fact = np.searchsorted(kept, block.first_support_of_fact)
    is_rare = np.diff(first_kept_of_fact) <= rule.most_supporters
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for source in np.flatnonzero(is_able):
        facts = claims.fact[_part(claims.first_support, source)]
        facts = facts[is_rare[facts]]
        at = _ranges(first_kept_of_fact[facts], first_kept_of_fact[facts + 1])
        others, n_shared = np.unique(source_of_kept[at], return_counts=True)
        is_partner = (n_shared >= rule.min_shared) & (others != source)
        others, n_shared = others[is_partner], n_shared[is_partner]
        closest = others[np.lexsort((rank[others], -n_shared))][: rule.most_partners]
        pair = np.sort(np.stack([np.full(len(closest), source), closest], axis=1), axis=1)
        pairs.append(pair.astype(np.int64))
    return np.unique(np.concatenate(pairs), axis=0)


def _links_of(
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


def _put_together(
    pairs: IntArray, links: list[tuple[IntArray, IntArray, IntArray, IntArray]]
) -> Shared:
    nothing = np.empty(0, dtype=np.int64)
    columns = [np.concatenate([nothing, *(part[i] for part in links)]) for i in range(4)]
    own, others, n_links, different = columns
    first_link = np.append(0, np.cumsum(n_links))
    # 32 bits hold the number of a support and halve the memory, most of which is links
    return Shared(
        pairs[:, 0],
        pairs[:, 1],
        first_link,
        own.astype(np.int32),
        others.astype(np.int32),
        different.astype(np.float64),
    )


def _part(first: IntArray, number: np.integer[Any]) -> slice:
    return slice(int(first[number]), int(first[number + 1]))


def _ranges(first: IntArray, last: IntArray) -> IntArray:
    """The numbers from each first to before its last, one range after the other."""
    length = last - first
    return np.repeat(first - np.append(0, np.cumsum(length)[:-1]), length) + np.arange(length.sum())


def _count(values: NDArray[Any], length: IntArray) -> IntArray:
    """The sum of each of neighbouring groups, none of them empty."""
    group = np.repeat(np.arange(len(length)), length)
    return np.bincount(group, values, len(length)).astype(np.int64)
