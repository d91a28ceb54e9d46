"""Which sources mirror each other: those that agree more than their accuracies let them.

Of two sources that err independently, the share of items on which they agree is ``chance + u v``,
with a number for each of them that grows with its accuracy: a matrix of rank one. Copies only ever
add to it. So the numbers are fitted from below, pairs that agree too well counting ever less, and
what is left over is the share of its claims that one of the two has from the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Copies, kernels, share_of_item
from veracity.encode import Block, FloatArray, IntArray

__all__ = ["Mirrors", "find_mirrors"]

MOST_SLOTS = 200
"""Sources whose pairs are looked at: those with the most claims."""

FEWEST = 10
"""Claims a source, and items a pair must share, to be looked at."""

STEPS_PER_CLAIM = 50
"""Pairs to be counted for each claim; where there would be more, some items are passed over."""

CLEAR = 3.0
"""Standard errors by which a pair must agree too well."""

SLACK = 0.03
"""Standard deviation of agreements that is no copying: nothing is exactly of rank one."""

SUSPECT = 1.5
"""Standard errors beyond which a pair no longer tells of the accuracies."""

ROUNDS = 60

MOST_COPIES = 10_000
"""How many pairs are told of, at most."""


class Mirrors(NamedTuple):
    """The share of claims that pairs of sources have from each other, and what it rests on.

    Rows and columns are slots; ``slot_of_source`` is -1 for sources that are not looked at.
    """

    slot_of_source: IntArray
    copied: FloatArray
    both: FloatArray
    same: FloatArray
    same_true: FloatArray

    def copies(self) -> Copies:
        """The pairs of which at least half is copied, the clearest first.

        Who of the two copies does not show; told as the original is the one with more claims in
        pairs. `probability` is the share that is copied.
        """
        one, other = np.nonzero(np.triu(self.copied >= 0.5))
        top = np.lexsort((-self.both[one, other], -self.copied[one, other]))[:MOST_COPIES]
        one, other = one[top], other[top]
        spoken = self.both.sum(axis=1)
        is_later = spoken[one] > spoken[other]
        source, original = np.where(is_later, other, one), np.where(is_later, one, other)
        source_of_slot = np.flatnonzero(self.slot_of_source >= 0)
        same, true = self.same[one, other], self.same_true[one, other]
        return Copies(
            source_of_slot[source],
            source_of_slot[original],
            self.copied[one, other],
            true,
            same - true,
            np.maximum(self.both[one, other] - same, 0.0),
        )


def find_mirrors(
    block: Block, n_sources: int, n_labels: float | None, run: float
) -> tuple[Mirrors, FloatArray]:
    """Find the mirrors, and how much each support weighs when their word counts once.

    Likeness has other reasons than copying, too. So a support is discounted by the probability that
    a whole run of claims is copied: the share that is, to the power of `run`.
    """
    slot_of_source = _slots(block, n_sources)
    n_slots = int(slot_of_source.max()) + 1
    items = _items(block, contested=n_labels is None, slot_of_source=slot_of_source)
    both = same = copied = same_true = np.zeros((n_slots, n_slots))
    if n_slots > 2 and len(items):
        each = np.ones(len(block.first_support_of_fact) - 1)
        both, same = kernels.count_pairs(block, items, slot_of_source, each)
        n_labels = n_labels or 1.0 + np.diff(block.first_fact_of_item)[items].mean()
        copied = _excess(both, same, chance=1.0 / n_labels)
    weight = np.ones(len(block.source_of_support))
    if copied.any():
        weight = kernels.count_once(block, slot_of_source, copied**run)
        vote = np.add.reduceat(weight, block.first_support_of_fact[:-1])
        _, same_true = kernels.count_pairs(block, items, slot_of_source, share_of_item(vote, block))
    return Mirrors(slot_of_source, copied, both, same, same_true), weight


def _slots(block: Block, n_sources: int) -> IntArray:
    """Number the sources that are looked at; of those with equally many claims all, or none."""
    n_claims = np.bincount(block.source_of_support, minlength=n_sources)
    fewest = FEWEST
    if n_sources > MOST_SLOTS:
        fewest = max(FEWEST, int(np.partition(n_claims, -MOST_SLOTS - 1)[-MOST_SLOTS - 1]) + 1)
    is_looked_at = n_claims >= fewest
    slot = np.full(n_sources, -1, dtype=np.int64)
    slot[is_looked_at] = np.arange(np.count_nonzero(is_looked_at))
    return slot


def _items(block: Block, *, contested: bool, slot_of_source: IntArray) -> IntArray:
    """The items to look at: every one, or every n-th where pairs are too many."""
    n_voices = np.minimum(np.diff(block.first_voice_of_item), slot_of_source.max() + 1)
    is_open = n_voices > 1
    if contested:
        is_open &= np.diff(block.first_fact_of_item) > 1
    items = np.flatnonzero(is_open)
    n_pairs = float((n_voices[items].astype(np.float64) ** 2).sum())
    stride = int(np.ceil(n_pairs / (STEPS_PER_CLAIM * (len(block.source_of_support) + 1e4))))
    return items[:: max(stride, 1)]


def _excess(both: FloatArray, same: FloatArray, chance: float) -> FloatArray:
    """The share of a pair's claims that is copied, if that is clear: the c of A = c + (1 - c) P.

    P = chance + u v is how often two should agree that do not copy, A how often they do.
    """
    is_pair = both > 1.0
    agreement = np.where(is_pair, same / np.where(is_pair, both, 1.0), 0.0) - chance
    weight = np.where(is_pair, both / (1.0 + both * SLACK**2 / 0.2), 0.0)
    mean = max(float((weight * agreement).sum() / max(weight.sum(), 1.0)), 1e-3)
    usual, most = np.sqrt(mean), np.sqrt(1.0 - chance)
    u = np.full(len(both), usual)
    for _ in range(ROUNDS):
        suspicion = np.square(np.maximum(_errors(agreement, u, both, chance), 0.0) / SUSPECT)
        believed = weight / (1.0 + np.square(suspicion))
        pull = (believed * agreement) @ u + 2.0 * usual**3
        move = 0.5 * (pull / (believed @ u**2 + 2.0 * usual**2) - u)
        u = np.clip(u + move, -most, most)
        if np.abs(move).max() < 1e-3:
            break
    expected = np.outer(u, u) + chance
    excess = (agreement + chance - expected) / np.maximum(1.0 - expected, 0.02)
    is_clear = (_errors(agreement, u, both, chance) > CLEAR) & (both >= FEWEST)
    np.fill_diagonal(is_clear, val=False)
    return np.where(is_clear, np.clip(excess, 0.0, 1.0), 0.0)


def _errors(agreement: FloatArray, u: FloatArray, both: FloatArray, chance: float) -> FloatArray:
    """By how many standard errors pairs agree more than they should."""
    expected = np.outer(u, u)
    p = np.clip(expected + chance, 0.02, 0.98)
    deviation = np.sqrt(p * (1.0 - p) / np.maximum(both, 1.0) + SLACK**2)
    return np.asarray((agreement - expected) / deviation)
