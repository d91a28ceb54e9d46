"""Who of two has it from the other, as far as it shows.

An original is as accurate on what is copied from it as on all else. A copier has the accuracy of
its original on what it copies, and its own on what it adds. So if what both say and what only one
of them says are not equally often right, that one is the copier. Where all is copied, or both are
equally good, nothing shows.
"""

from __future__ import annotations

import numpy as np

from veracity.claims.block import SAME, Block, FloatArray, IntArray
from veracity.dependence import Copies
from veracity.dependence.agreement import Dependence, Shared, agreements
from veracity.dependence.coverage import MOSTLY
from veracity.kernels.reference.sums import sigmoid

MOST_COPIES = 10_000
"""How many pairs are told of, at most."""


def shared_with_others(
    block: Block, dependence: Dependence, plausibility: FloatArray, *, contested: bool
) -> Shared:
    """What pairs share that is true, as far as it is plausible, of items that are looked at."""
    n_slots = len(dependence.both)
    if block.n_items == 0:
        return Shared.nothing(n_slots)
    same = agreements(block, dependence, None, contested=contested)
    true = agreements(block, dependence, plausibility, contested=contested)
    left, is_left = block.said_most()
    slot = dependence.slots[left.source_of_support]
    p = np.repeat(plausibility[is_left], left.n_supports_of_fact)
    right = np.bincount(slot[slot >= 0], p[slot >= 0], n_slots).astype(np.float64)
    return Shared(same.same, true.same, same.spoken, right)


def copying_pairs(found: Dependence) -> Copies:
    """The pairs of which at least half is copied, the clearest first.

    Where it does not show who copies, the one with more claims in pairs is told as the original.
    """
    one, other = np.nonzero(np.triu(found.copied >= MOSTLY))
    clear = np.round(found.copied[one, other], SAME)
    top = np.lexsort((-found.both[one, other], -clear))[:MOST_COPIES]
    one, other = one[top], other[top]
    forth, in_pairs = _log_odds(found, one, other), found.both.sum(axis=1)
    is_back = np.where(forth == 0.0, in_pairs[one] > in_pairs[other], forth < 0.0)
    source, original = np.where(is_back, other, one), np.where(is_back, one, other)
    source_of_slot = np.flatnonzero(found.slot_of_source >= 0)
    same = found.same[one, other]
    true = same * _share_true(found.shared, one, other)
    return Copies(
        source_of_slot[source], source_of_slot[original], found.copied[one, other],
        sigmoid(np.abs(forth)), true, same - true,
        np.maximum(found.both[one, other] - same, 0.0),
    )  # fmt: skip


def _share_true(shared: Shared, one: IntArray, other: IntArray) -> FloatArray:
    """What share of what pairs have in common is true; if none was met, as of all that is said."""
    same, true = shared.same[one, other], shared.true[one, other]
    usual = shared.right.sum() / max(float(shared.spoken.sum()), 1.0)
    return np.asarray(np.where(same > 0.0, true / np.maximum(same, 1.0), usual))


def _log_odds(found: Dependence, one: IntArray, other: IntArray) -> FloatArray:
    """How much likelier, in logs, `one` of a pair copies the `other` than the other way round.

    Whoever copies, the original has one accuracy, and what the copier adds another.
    """
    shared = found.shared
    same, true = shared.same[one, other], shared.true[one, other]

    def whole(slot: IntArray) -> FloatArray:
        return _log_likelihood(shared.right[slot], shared.spoken[slot])

    def added(slot: IntArray) -> FloatArray:
        return _log_likelihood(shared.right[slot] - true, shared.spoken[slot] - same)

    odds = whole(other) + added(one) - whole(one) - added(other)
    return np.round(odds, SAME)


def _log_likelihood(right: FloatArray, spoken: FloatArray) -> FloatArray:
    """Of so many claims that are right, at the accuracy that they show, with half a one of each."""
    spoken = np.maximum(spoken, 0.0)
    right = np.clip(right, 0.0, spoken)
    wrong = spoken - right
    log_right, log_wrong = (np.log((n + 0.5) / (spoken + 1.0)) for n in (right, wrong))
    return np.asarray(right * log_right + wrong * log_wrong)
