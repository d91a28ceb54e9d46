"""Which sources have their items from each other, whatever is true: what coverage shows.

A copy speaks of what its original speaks of. So two sources that speak of the same items beyond
chance may be copies, and if they are, they agree on what one has from the other, beyond what their
accuracies explain. That can be held against the claims: where sources overlap for other reasons, as
workers do who were handed the same items, they agree no better than others, and then coverage
proves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.dependence.pairs import first_of_joined
from veracity.encoding.block import BoolArray, FloatArray, IntArray

FEWEST = 10
"""How many claims a source must make, and how many items a pair must share, to be looked at."""

MOSTLY = 0.5
"""The share of what both speak of from which one is called a copy of the other."""

BORNE_OUT = 0.8
"""How much of what coverage says is copied agreement must say is copied, over all pairs. Where
there are copies it is all or more; on real claims whose items were handed out, 0 to 0.5."""

REFUTED = 2.0
"""Standard errors by which a pair agrees too little for what coverage says is copied."""

LEAST_VARIANCE = 0.01
"""Of one item's agreement: pairs that always agree may still differ on the next item."""

LEAST_CHANCE, MOST_CHANCE = 1e-6, 1.0 - 1e-3
"""How likely two speak of the same item by chance: neither never nor surely."""

MOST_SHARE = 1.0 - 1e-9
"""The largest share of its items that a source has in common with another, so that logs are
finite."""

HARDLY = 0.05
"""What is handed on along a chain of copies is not counted below this share."""


class Overlap(NamedTuple):
    """For each pair of slots, whether one has its items from the other."""

    likelier: FloatArray
    """How much likelier it is, in logs, that they speak of the same items because one copies."""
    excess: FloatArray
    """The largest share of what both speak of that one can have from the other."""
    tells: bool
    """Whether this can tell at all: not where all speak of nearly everything."""

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, tables that are not of the same slots."""
        if self.likelier.shape != self.excess.shape:
            raise ValueError("what was learned of pairs is not of the sources")


def overlap_of(both: FloatArray, spoken: FloatArray, popularity: float) -> Overlap:
    """How much more sources speak of the same items than by chance.

    By chance a source speaks of an item as likely as the item is popular: the items of the smaller
    of two, n of them, are then also spoken of by the larger with a probability p = m Σv² / (Σv)²,
    m being the items of the larger and v the voices of items (`popularity` is Σv² / (Σv)²). If more
    are, k of n, then that is likelier by n KL(k / n || p) in logs. Whether this can tell at all, is
    what it could be at the most: n log(1 / p), for most pairs.
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
    """Evidence, in logs, that a pair must have so that of all pairs none is suspect by chance."""
    return float(np.log(max(n_slots * (n_slots - 1) / 2.0, 2.0)))


def direct_copies(overlap: Overlap, both: FloatArray, same: FloatArray) -> BoolArray:
    """The pairs of which one may have most of its items from the other.

    What is copied is also agreed on: who agrees too little for a copy is none.
    """
    n = np.maximum(both, 1.0)
    agreement = same / n
    error = np.sqrt(np.maximum(agreement * (1.0 - agreement), LEAST_VARIANCE) / n)
    return _is_suspect(overlap, both) & (agreement >= overlap.excess - REFUTED * error)


def is_borne_out(overlap: Overlap, both: FloatArray, beyond: FloatArray) -> bool:
    """Whether those who overlap also agree beyond what their accuracies explain.

    `beyond` is the share of its claims that one of a pair seems to have from the other, by how well
    they agree. Where it is too little, they overlap for another reason, and so may all.
    """
    weight = both * _is_suspect(overlap, both)
    agreed, covered = (weight * beyond).sum(), (weight * overlap.excess).sum()
    return bool(covered > 0.0 and agreed >= BORNE_OUT * covered)


def _is_suspect(overlap: Overlap, both: FloatArray) -> BoolArray:
    is_suspect = (overlap.likelier > doubt(len(both))) & (overlap.excess >= MOSTLY)
    return np.asarray(is_suspect & (both >= FEWEST) & ~np.eye(len(both), dtype=np.bool_))


def families(is_direct: BoolArray) -> IntArray:
    """Of each slot, the first of those that direct copies link it with, over others or not.

    >>> families(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)).tolist()
    [0, 1, 0]
    """
    one, other = np.nonzero(is_direct)
    return first_of_joined(one, other, len(is_direct))


def taken_over(direct: FloatArray, both: FloatArray, same: FloatArray) -> FloatArray:
    """The share of what both speak of that pairs have from each other, over others or not.

    `direct` is that share for direct copies. Along a chain of copies shares multiply, and of all
    chains the best counts; but no more is copied than is agreed on.
    """
    taken = direct.copy()
    for between in range(len(taken)):
        taken = np.maximum(taken, np.outer(taken[:, between], taken[between]))
    np.fill_diagonal(taken, 0.0)
    taken = np.minimum(taken, same / np.maximum(both, 1.0))
    return np.where((both >= FEWEST) & (taken >= HARDLY), taken, 0.0)
