"""Which sources depend on each other: those that agree more than their accuracies let them.

Of two sources that err independently, the share of items on which they agree is ``chance + u v``,
with a number for each of them that grows with its accuracy: a matrix of rank one. Copies only ever
add to it. So the numbers are fitted from below, pairs that agree too well counting ever less, and
what is left over is the share of its claims that one of the two has from the other.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.claims.block import SAME, Block, FloatArray, IntArray
from veracity.kernels.loading import kernels

__all__ = [
    "Agreement",
    "Dependence",
    "agreements",
    "copied_share",
    "dependent_pairs",
    "pair_work",
    "slots_of",
]

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

USUAL_VARIANCE = 0.2
"""About the variance of an agreement of one item: p(1 - p), for most p."""

SUSPECT = 1.5
"""Standard errors beyond which a pair no longer tells of the accuracies."""

ROUNDS = 60

MOST_COPIES = 10_000
"""How many pairs are told of, at most."""


class Agreement(NamedTuple):
    """For each pair of slots, the items of which both speak, and those of which both say the same.

    Also how many items were looked at, and how many facts these have.
    """

    both: FloatArray
    same: FloatArray
    items: int
    facts: int


class Dependence(NamedTuple):
    """The share of claims that pairs of sources have from each other, and what it rests on.

    Rows and columns are slots; ``slot_of_source`` is -1 for sources that are not looked at.
    """

    slot_of_source: Annotated[FloatArray, "source", -1.0]
    stride: int
    copied: FloatArray
    both: FloatArray
    same: FloatArray
    same_true: FloatArray

    @classmethod
    def unseen(cls, slot_of_source: IntArray, work: tuple[float, int]) -> Dependence:
        """Before anything was counted; `work` is what `pair_work` adds up to, and the claims."""
        n_pairs, n_claims = work
        n_slots = int(slot_of_source.max()) + 1
        stride = max(int(np.ceil(n_pairs / (STEPS_PER_CLAIM * (n_claims + 1e4)))), 1)
        nothing = np.zeros((n_slots, n_slots))
        slots = slot_of_source.astype(np.float64)
        return cls(slots, stride, nothing, nothing, nothing, nothing)

    @property
    def slots(self) -> IntArray:
        """The slot of each source, as kernels want it."""
        return self.slot_of_source.astype(np.int64)

    @property
    def is_any(self) -> bool:
        """Whether anyone seems to copy."""
        return bool(self.copied.any())

    def weight_of_support(self, block: Block, run: float) -> FloatArray:
        """How much each support weighs when dependent ones count once; empty if none depends.

        Likeness has other reasons than copying, too. So a support is discounted by the probability
        that a whole run of claims is copied: the share that is, to the power of `run`.
        """
        if not self.is_any:
            return np.zeros(0)
        return np.asarray(kernels.count_once(block, self.slots, self.copied**run))


def slots_of(n_claims: FloatArray) -> IntArray:
    """Number the sources that are looked at; of those with equally many claims all, or none."""
    fewest = FEWEST
    if len(n_claims) > MOST_SLOTS:
        most = np.partition(n_claims, -MOST_SLOTS - 1)[-MOST_SLOTS - 1]
        fewest = max(FEWEST, int(most) + 1)
    is_looked_at = n_claims >= fewest
    slot = np.full(len(n_claims), -1, dtype=np.int64)
    slot[is_looked_at] = np.arange(np.count_nonzero(is_looked_at))
    return slot


def pair_work(block: Block, n_slots: int, *, contested: bool) -> float:
    """How many pairs there are to be counted in a block."""
    n_voices = np.minimum(block.n_voices_of_item, n_slots).astype(np.float64)
    return float((n_voices[_items(block, n_slots, contested=contested)] ** 2).sum())


def agreements(
    block: Block, dependence: Dependence, weight_of_fact: FloatArray | None, *, contested: bool
) -> Agreement:
    """Count who agrees with whom: on facts, or on what facts weigh."""
    n_slots = len(dependence.both)
    items = _items(block, n_slots, contested=contested)
    if dependence.stride > 1:
        items = items[_mark_of_item(block)[items] % np.uint64(dependence.stride) == 0]
    weight = np.ones(block.n_facts) if weight_of_fact is None else weight_of_fact
    both, same = kernels.count_pairs(block, items, dependence.slots, weight)
    return Agreement(both, same, len(items), int(block.n_facts_of_item[items].sum()))


def _items(block: Block, n_slots: int, *, contested: bool) -> IntArray:
    """The items on which sources may agree or not."""
    is_open = np.minimum(block.n_voices_of_item, n_slots) > 1
    if contested:
        is_open &= block.n_facts_of_item > 1
    return np.flatnonzero(is_open)


def _mark_of_item(block: Block) -> NDArray[np.uint64]:
    """A number of each item that follows from what is said of it, wherever it lies."""
    said = np.repeat(block.label_of_fact.astype(np.uint64), block.n_supports_of_fact)
    mark = (said << np.uint64(32)) + block.source_of_support.astype(np.uint64) + np.uint64(1)
    mark *= np.uint64(0x9E3779B97F4A7C15)
    mark ^= mark >> np.uint64(29)
    mark *= np.uint64(0xBF58476D1CE4E5B9)
    mark ^= mark >> np.uint64(32)
    first = block.first_support_of_fact[block.first_fact_of_item[:-1]]
    return np.asarray(np.add.reduceat(mark, first)) >> np.uint64(8)


def copied_share(both: FloatArray, same: FloatArray, chance: float) -> FloatArray:
    """The share of a pair's claims that is copied, if that is clear: the c of A = c + (1 - c) P.

    P = chance + u v is how often two should agree that do not copy, A how often they do.
    """
    is_pair = both > 1.0
    agreement = np.where(is_pair, same / np.where(is_pair, both, 1.0), 0.0) - chance
    weight = np.where(is_pair, both / (1.0 + both * SLACK**2 / USUAL_VARIANCE), 0.0)
    u = _fitted(agreement, weight, both, chance)
    expected = np.outer(u, u) + chance
    excess = (agreement + chance - expected) / np.maximum(1.0 - expected, 0.02)
    is_clear = (_errors(agreement, u, both, chance) > CLEAR) & (both >= FEWEST)
    np.fill_diagonal(is_clear, val=False)
    return np.where(is_clear, np.clip(excess, 0.0, 1.0), 0.0)


def _fitted(
    agreement: FloatArray, weight: FloatArray, both: FloatArray, chance: float
) -> FloatArray:
    """The number u of each source, from pairs that do not agree too well."""
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
    return u


def _errors(agreement: FloatArray, u: FloatArray, both: FloatArray, chance: float) -> FloatArray:
    """By how many standard errors pairs agree more than they should."""
    expected = np.outer(u, u)
    p = np.clip(expected + chance, 0.02, 0.98)
    deviation = np.sqrt(p * (1.0 - p) / np.maximum(both, 1.0) + SLACK**2)
    return np.asarray((agreement - expected) / deviation)


def dependent_pairs(
    found: Dependence,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The pairs of which at least half is copied, the clearest first.

    Source, original, the share that is copied, how many shared values are true, how many false, and
    how many differ. Who of the two copies does not show; told as the original is the one with more
    claims in pairs.
    """
    one, other = np.nonzero(np.triu(found.copied >= 0.5))
    clear = np.round(found.copied[one, other], SAME)
    top = np.lexsort((-found.both[one, other], -clear))[:MOST_COPIES]
    one, other = one[top], other[top]
    spoken = found.both.sum(axis=1)
    is_later = spoken[one] > spoken[other]
    source, original = np.where(is_later, other, one), np.where(is_later, one, other)
    source_of_slot = np.flatnonzero(found.slot_of_source >= 0)
    same, true = found.same[one, other], found.same_true[one, other]
    different = np.maximum(found.both[one, other] - same, 0.0)
    copied = found.copied[one, other]
    return source_of_slot[source], source_of_slot[original], copied, true, same - true, different
