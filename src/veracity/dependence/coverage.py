"""Find sources that copy the choice of their items from each other, by their coverage.

A copy covers the items of its original. So two sources that cover the same items beyond chance may
be copies. If they are, they agree on the copied items beyond the level that their accuracies
explain. Claims can refute this: where sources overlap for other reasons, such as workers who were
given the same items, they agree no better than others, and then coverage proves nothing.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from veracity.dependence.pairs import first_of_joined
from veracity.encoding.block import BoolArray, FloatArray, IntArray

FEWEST = 10
"""Minimum number of claims of a source, and of shared items of a pair."""

MOSTLY = 0.5
"""Minimum share of their common items from which one source counts as a copy of the other."""

BORNE_OUT = 0.8
"""Minimum ratio of the copying shown by agreement to that shown by coverage, over all pairs. It
is 1 or more where there are copies; on real claims whose items were handed out, 0 to 0.5."""

REFUTED = 2.0
"""Standard errors by which agreement must fall short to refute that a pair copies."""

LEAST_VARIANCE = 0.01
"""Minimum variance of one item's agreement: pairs that always agree may still differ on the
next."""

LEAST_CHANCE, MOST_CHANCE = 1e-6, 1.0 - 1e-3
"""Bounds of the probability that two sources cover the same item by chance."""

MOST_SHARE = 1.0 - 1e-9
"""The largest share of its items that a source has in common with another, so that logs are
finite."""

HARDLY = 0.05
"""Minimum share of copied items along a chain of copies."""


BySlots = Annotated[FloatArray, "slot", "slot"]
"""Table of pairs of the compared sources, [slot, slot]."""


class Overlap(NamedTuple):
    """Evidence, for each pair of slots, that one source copied its items from the other."""

    likelier: BySlots
    """Log-likelihood ratio of the overlap: one copies, or both cover their items by chance."""
    excess: BySlots
    """Largest share of the common items that one of them can have from the other."""
    tells: bool
    """True if coverage is informative: not where all sources cover nearly every item."""


def overlap_of(both: FloatArray, spoken: FloatArray, popularity: float) -> Overlap:
    """Return the overlap of the items of each pair of sources beyond chance.

    By chance, a source covers popular items more often. So the larger source of a pair covers each
    of the n items of the smaller with probability p = m Σv² / (Σv)², m being the items of the
    larger and v the voices of items (`popularity` is Σv² / (Σv)²). If it covers k of them, more
    than expected, the log-likelihood ratio is n KL(k / n || p). It is at most n log(1 / p):
    coverage is informative if that is large for most pairs.
    """
    smaller, larger = np.minimum(spoken[:, None], spoken), np.maximum(spoken[:, None], spoken)
    by_chance = np.clip(larger * popularity, LEAST_CHANCE, MOST_CHANCE)
    share = np.clip(both / np.maximum(smaller, 1.0), by_chance, MOST_SHARE)
    likelier = share * np.log(share / by_chance)
    likelier += (1.0 - share) * np.log((1.0 - share) / (1.0 - by_chance))
    most = -smaller * np.log(by_chance)
    is_pair = ~np.eye(len(spoken), dtype=np.bool_) & (smaller >= FEWEST)
    tells = bool(is_pair.any() and np.median(most[is_pair]) > doubt(len(spoken)))
    excess = (share - by_chance) / (1.0 - by_chance)
    return Overlap(smaller * likelier, excess / share, tells)


def doubt(n_slots: int) -> float:
    """Return the log evidence that a pair needs, so that chance makes none of all pairs suspect."""
    return float(np.log(max(n_slots * (n_slots - 1) / 2.0, 2.0)))


def direct_copies(overlap: Overlap, both: FloatArray, same: FloatArray) -> BoolArray:
    """Return the pairs in which one source may have copied most of its items from the other.

    Copies agree on the copied items, so pairs that agree too little are left out.
    """
    n = np.maximum(both, 1.0)
    agreement = same / n
    error = np.sqrt(np.maximum(agreement * (1.0 - agreement), LEAST_VARIANCE) / n)
    return _is_suspect(overlap, both) & (agreement >= overlap.excess - REFUTED * error)


def is_borne_out(overlap: Overlap, both: FloatArray, beyond: FloatArray) -> bool:
    """Return True if sources that overlap also agree beyond the level their accuracies explain.

    `beyond` is the share of its claims that one of a pair seems to have from the other, judged by
    their agreement. If it is too small, these sources overlap for another reason, and so may all.
    """
    weight = both * _is_suspect(overlap, both)
    agreed, covered = (weight * beyond).sum(), (weight * overlap.excess).sum()
    return bool(covered > 0.0 and agreed >= BORNE_OUT * covered)


def _is_suspect(overlap: Overlap, both: FloatArray) -> BoolArray:
    is_suspect = (overlap.likelier > doubt(len(both))) & (overlap.excess >= MOSTLY)
    return np.asarray(is_suspect & (both >= FEWEST) & ~np.eye(len(both), dtype=np.bool_))


def families(is_direct: BoolArray) -> IntArray:
    """Return, for each slot, the first slot that a chain of direct copies links it with.

    >>> families(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)).tolist()
    [0, 1, 0]
    """
    one, other = np.nonzero(is_direct)
    return first_of_joined(one, other, len(is_direct))


def taken_over(direct: FloatArray, both: FloatArray, same: FloatArray) -> FloatArray:
    """Return the share of their common items that pairs have from each other, also indirectly.

    `direct` is that share for direct copies. Along a chain of copies shares multiply, and the best
    chain counts; but the share is at most that of the items on which both agree.
    """
    taken = direct.copy()
    for between in range(len(taken)):
        taken = np.maximum(taken, np.outer(taken[:, between], taken[between]))
    np.fill_diagonal(taken, 0.0)
    taken = np.minimum(taken, same / np.maximum(both, 1.0))
    return np.where((both >= FEWEST) & (taken >= HARDLY), taken, 0.0)
