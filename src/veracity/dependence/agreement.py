"""Find copies among sources of open values, by their agreement, their items and their mistakes.

Two independent sources agree on a share ``chance + u v`` of their items. The numbers u and v, one
per source, grow with accuracy, so shares of agreement form a matrix of rank one. Copies can only
add to it. So the numbers are fitted from below: pairs that agree too well get less and less weight.
The excess of agreement is the share of claims that one of the two may have copied from the other.

Agreement alone proves nothing, since accurate sources agree, too. Copies also cover the same items
(`veracity.dependence.coverage`). If all sources cover nearly every item, copies share mistakes.
These pairs count once; `veracity.dependence.naming` decides which pairs are named.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from veracity import kernels
from veracity.dependence.coverage import (
    FEWEST,
    BySlots,
    Overlap,
    direct_copies,
    doubt,
    families,
    is_borne_out,
    overlap_of,
    taken_over,
)
from veracity.dependence.pairs import most_active
from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray
from veracity.trees import Index

MOST_SLOTS = 200
"""Largest number of sources whose pairs are compared: those with the most claims."""

STEPS_PER_CLAIM = 50
"""Largest mean number of pairs counted per claim; if there are more, some items are skipped."""

CLAIMS_AT_LEAST = 1e4
"""Constant added to the number of claims, so that no item is skipped if claims are few."""

CLEAR = 3.0
"""Standard errors by which the agreement of a pair must exceed the expected agreement."""

SLACK = 0.03
"""Standard deviation of agreement without copying: no matrix is exactly of rank one."""

USUAL_VARIANCE = 0.2
"""About the variance of an agreement of one item: p(1 - p), for most p."""

ENOUGH = 0.8
"""Minimum share of the copies suggested by agreement that coverage must explain. Both are counts
of few items, with errors of their own."""

SUSPECT = 1.5
"""Standard errors beyond which a pair no longer counts in the fit of the accuracies."""

RUN_BY_COVERAGE = 2.0
"""Number of consecutive claims that must be copied."""

LEAST_RATE = 0.02
"""Smallest distance of accuracies and shares of agreement from 0 and 1."""

LEAST_SHARE = 0.05
"""Smallest share of copied claims that is tested, and the distance of the largest from one."""

USUAL_ITEMS = 2.0
"""Weight of the mean of all sources, in items, when the agreement of one source is fitted."""

LEAST_MEAN = 1e-3
"""Least mean agreement beyond chance: its root is where the fit starts."""

STEP, AT_REST, ROUNDS = 0.5, 1e-3, 60
"""Settings of the fit: step size, smallest move of a round, and largest number of rounds."""

NOTHING = 1e-9
"""Smallest divisor."""


class Agreement(NamedTuple):
    """Counts of disputed items for each pair of slots: claimed by both, and with the same value.

    Also the items of each slot, and of all that were looked at: the number of items, facts and
    voices, and the sum of the squares of the items' voices.
    """

    both: FloatArray
    same: FloatArray
    spoken: FloatArray
    items: int
    facts: int
    voices: float
    squares: float


class Dependence(NamedTuple):
    """Share of claims that pairs of sources may have copied from each other, with the evidence.

    Rows and columns are slots; ``slot_of_source`` is -1 for sources that are not looked at.
    """

    slot_of_source: Annotated[FloatArray, "source", -1.0, Index("slot", least=-1)]
    stride: int
    copied: BySlots
    both: BySlots
    same: BySlots
    accuracy: Annotated[FloatArray, "slot"]
    """Accuracy of each slot, by agreement alone."""
    overlap: Overlap
    """Overlap of each pair."""
    taken: BySlots
    """Share of claims that pairs copied from each other, if coverage proves it; else zero."""
    n_values: float
    """Number of values that an item may have."""
    once: bool = True
    """True if copies count once; False if too few claims would be left to decide."""

    @classmethod
    def unseen(cls, slot_of_source: IntArray, work: tuple[float, int]) -> Dependence:
        """Start without counts; `work` is the sum of `pair_work`, and the claims."""
        n_pairs, n_claims = work
        n_slots = int(slot_of_source.max()) + 1
        stride = max(int(np.ceil(n_pairs / (STEPS_PER_CLAIM * (n_claims + CLAIMS_AT_LEAST)))), 1)
        nothing = np.zeros((n_slots, n_slots))
        slots, chance = slot_of_source.astype(np.float64), np.full(n_slots, 0.5)
        overlap = Overlap(nothing, nothing, tells=False)
        counts = (nothing, nothing, nothing)
        return cls(slots, stride, *counts, chance, overlap, taken=nothing, n_values=2.0)

    @property
    def slots(self) -> IntArray:
        """Return the slot of each source, in the form that kernels need."""
        return self.slot_of_source.astype(np.int64)

    @property
    def is_any(self) -> bool:
        """Return True if anyone seems to copy."""
        return bool(self.copied.any())

    def weight_of_support(self, block: Block) -> FloatArray:
        """Return the weight of each support when dependent ones count once; empty if all do fully.

        Two that claim the same, of which one copies a share c and which would agree on a share P
        anyway, have it from each other with a probability of c / (c + (1 - c) P). Likeness has
        other reasons than copying, too, so it is that of a run of claims that counts.
        """
        if not self.is_any or not self.once:
            return np.zeros(0)
        return np.asarray(kernels.count_once(block, self.slots, self.share_of_run))

    @property
    def share_of_run(self) -> FloatArray:
        """Return by how much two that claim the same count as one: see `weight_of_support`."""
        agreement = np.where(self.both > 0.0, self.same / np.maximum(self.both, 1.0), 1.0)
        is_copied = np.clip(self.copied / np.maximum(agreement, NOTHING), 0.0, 1.0)
        return np.asarray(is_copied**RUN_BY_COVERAGE)


def slots_of(n_claims: FloatArray) -> IntArray:
    """Assign slots to the most active sources; of equally active ones, to all or none."""
    is_looked_at = most_active(n_claims, FEWEST, MOST_SLOTS)
    return np.where(is_looked_at, np.cumsum(is_looked_at) - 1, -1)


def pair_work(block: Block, n_slots: int) -> float:
    """Return the number of pairs that are to be counted in a block."""
    block, _ = block.strongest_claims()
    n_voices = np.minimum(block.n_voices_of_item, n_slots).astype(np.float64)
    return float((n_voices[_disputed(block, n_slots)] ** 2).sum())


def agreements(block: Block, dependence: Dependence) -> Agreement:
    """Count the agreement of sources on disputed items, by the strongest claims of each."""
    n_slots = len(dependence.both)
    block, _ = block.strongest_claims()
    items = _looked_at(block, dependence)
    both, same = kernels.count_pairs(block, items, dependence.slots, np.ones(block.n_facts))
    voices = block.n_voices_of_item[items].astype(np.float64)
    is_looked_at = np.zeros(block.n_items, dtype=np.bool_)
    is_looked_at[items] = True
    slot = dependence.slots[block.source_of_voice[np.repeat(is_looked_at, block.n_voices_of_item)]]
    spoken = np.bincount(slot[slot >= 0], minlength=n_slots).astype(np.float64)
    n_facts = int(block.n_facts_of_item[items].sum())
    return Agreement(
        both, same, spoken, len(items), n_facts, float(voices.sum()), float((voices**2).sum())
    )


def mistakes(block: Block, dependence: Dependence) -> FloatArray:
    """Count the facts that pairs share and that the weighted votes of other sources contradict."""
    block, _ = block.strongest_claims()
    odds = dependence.accuracy / (1.0 - dependence.accuracy)
    weight = np.maximum(np.log(odds * (dependence.n_values - 1.0)), 0.0)
    items = _looked_at(block, dependence)
    return np.asarray(kernels.count_false_pairs(block, items, dependence.slots, weight))


def _looked_at(block: Block, dependence: Dependence) -> IntArray:
    """Return the disputed items on which pairs are compared."""
    items = _disputed(block, len(dependence.both))
    return np.asarray(items[block.sampled(1.0 / dependence.stride, least=0)[items]])


def _disputed(block: Block, n_slots: int) -> IntArray:
    is_shared = np.minimum(block.n_voices_of_item, n_slots) > 1
    return np.flatnonzero(is_shared & (block.n_facts_of_item > 1))


def with_excess(dependence: Dependence, total: Agreement, n_values: float) -> Dependence:
    """Find pairs that agree too well, and the evidence of their coverage.

    Families of copies agree among themselves whatever is true. So the accuracy of their members is
    fitted to their agreement with sources outside of the family.
    """
    both, same, chance = total.both, total.same, 1.0 / n_values
    overlap = overlap_of(both, total.spoken, total.squares / max(total.voices, 1.0) ** 2)
    is_direct = direct_copies(overlap, both, same)
    found = _beyond(both, same, chance, families(is_direct))
    if is_direct.any() and not is_borne_out(overlap, both, found.share):
        is_direct = np.zeros_like(is_direct)
        found = _beyond(both, same, chance, np.arange(len(both)))
    copied = np.where(found.is_clear, np.maximum(found.share, 0.0), 0.0)
    agreed = np.minimum(overlap.excess, same / np.maximum(both, 1.0))
    taken = taken_over(np.where(is_direct, np.maximum(copied, agreed), 0.0), both, same)
    return dependence._replace(
        both=both, same=same, copied=np.maximum(copied, taken), overlap=overlap, taken=taken,
        accuracy=_rate(chance + found.u * np.sqrt(1.0 - chance)), n_values=n_values,
    )  # fmt: skip


def confirmed(dependence: Dependence, false: FloatArray) -> Dependence:
    """Keep, of the pairs that agree too well, those that copy by coverage or by their mistakes.

    Where coverage is informative, the copied share must not exceed the overlap of items. Where all
    sources claim nearly every item, shared mistakes decide: agreement on true values is no
    evidence.
    """
    overlap, enough = dependence.overlap, doubt(len(dependence.both))
    if overlap.tells:
        is_copy = (overlap.likelier > enough) & (overlap.excess >= ENOUGH * dependence.copied)
    else:
        is_copy = _by_mistakes(dependence, false) > enough
    is_copy |= dependence.taken > 0.0
    return dependence._replace(copied=np.where(is_copy, dependence.copied, 0.0))


def _by_mistakes(dependence: Dependence, false: FloatArray) -> FloatArray:
    """Return the log-likelihood ratio of a pair's claims: one copies its share, or none does.

    Dong et al. (2009): with kt, kf and kd shared true, shared false and different values, sources
    of accuracies A1 and A2 that do not copy meet with probabilities Pt = A1 A2,
    Pf = (1 - A1)(1 - A2) / (values - 1), and differ otherwise. One that copies a share c takes the
    other's claim, right or wrong as it is: A2 c + Pt (1 - c), (1 - A2) c + Pf (1 - c), Pd (1 - c).
    """
    c = np.clip(dependence.copied, LEAST_SHARE, 1.0 - LEAST_SHARE)
    accuracy = dependence.accuracy
    both_true = np.outer(accuracy, accuracy)
    both_false = np.outer(1.0 - accuracy, 1.0 - accuracy) / max(dependence.n_values - 1.0, 1.0)
    other = np.broadcast_to(accuracy, both_true.shape)
    true, different = dependence.same - false, np.maximum(dependence.both - dependence.same, 0.0)
    evidence = true * np.log(other * c / both_true + 1.0 - c)
    evidence += false * np.log((1.0 - other) * c / both_false + 1.0 - c)
    evidence += different * np.log1p(-c)
    return np.asarray(np.maximum(evidence, evidence.T))


COPIED, SHARED = 0.8, 20.0
"""Share of its claims that one source of a family of labels has from another, at least, and the
items that both claim, at least, if the family is to count once."""


def largest_family(
    slot_of_source: FloatArray,
    counts: tuple[FloatArray, FloatArray],
    chance: float,
    n_claims: FloatArray,
    may_copy: BoolArray,
    least: float,
) -> FloatArray:
    """Return one for the members of the largest family of near-copies, by claims, else zero.

    `counts` are the items that both of two slots claim, and those on which they agree. There is no
    member if the family has a smaller share of all claims than `least`. `may_copy` leaves out
    sources for which agreement is no evidence, such as those that claim one label only.
    """
    chosen = np.flatnonzero(slot_of_source >= 0.0)
    pairs = may_copy[chosen][:, None] & may_copy[chosen] & ~np.eye(len(chosen), dtype=np.bool_)
    both, same = (table * pairs for table in counts)
    found = _beyond(both, same, chance, np.arange(len(both)))
    group = families(found.is_clear & (found.share >= COPIED) & (both >= SHARED))
    size = np.bincount(group, n_claims[chosen], len(group))
    size[np.bincount(group, minlength=len(group)) < 2] = 0.0
    member = np.zeros(len(n_claims))
    if size.max(initial=0.0) >= max(least * n_claims.sum(), 1.0):
        member[chosen] = group == size.argmax()
    return member


class _Beyond(NamedTuple):
    """Agreement of pairs beyond the level that their accuracies explain."""

    share: FloatArray
    """The share of a pair's claims that would be copied: the c of A = c + (1 - c) P."""
    is_clear: BoolArray
    u: FloatArray


def _beyond(both: FloatArray, same: FloatArray, chance: float, family: IntArray) -> _Beyond:
    """Compare how often pairs agree, A, with how often two should that do not copy, chance + u v.

    The u of each source is fitted to how it agrees with sources of other families.
    """
    is_pair, is_other = both > 1.0, ~np.eye(len(both), dtype=np.bool_)
    agreement = np.where(is_pair, same / np.where(is_pair, both, 1.0), 0.0) - chance
    weight = np.where(is_pair, both / (1.0 + both * SLACK**2 / USUAL_VARIANCE), 0.0)
    is_apart, is_seen = family[:, None] != family, (both >= FEWEST) & is_other
    for doubts in (True, False):  # where most pairs would copy, none is known that does not
        u = _fitted(agreement, weight, (both, chance), doubts=doubts)
        if (is_other & ~is_apart).any():
            among_others = np.where(is_apart, weight, 0.0)
            u = _fitted(agreement, among_others, (both, chance), doubts=doubts, usual=u)
        is_clear = is_seen & (_errors(agreement, u, both, chance) > CLEAR)
        if (is_clear & is_apart).sum() <= (is_seen & is_apart).sum() / 2:
            break
    expected = np.outer(u, u) + chance
    share = (agreement + chance - expected) / np.maximum(1.0 - expected, LEAST_RATE)
    return _Beyond(np.clip(share, -1.0, 1.0), is_clear, u)


def _fitted(
    agreement: FloatArray,
    weight: FloatArray,
    seen: tuple[FloatArray, float],
    *,
    doubts: bool,
    usual: FloatArray | None = None,
) -> FloatArray:
    """Fit the number u of each source; with `doubts`, from pairs that do not agree too well.

    Each u is drawn to `usual` with the weight of two items, so a source without shared items gets
    it; unless given, it is the mean of all pairs.
    """
    both, chance = seen
    if usual is None:
        mean = max(float((weight * agreement).sum() / max(weight.sum(), 1.0)), LEAST_MEAN)
        usual = np.full(len(both), np.sqrt(mean))
    u, most = usual, np.sqrt(1.0 - chance)
    for _ in range(ROUNDS):
        believed = weight
        if doubts:
            suspicion = np.square(np.maximum(_errors(agreement, u, both, chance), 0.0) / SUSPECT)
            believed = weight / (1.0 + np.square(suspicion))
        pull = (believed * agreement) @ u + USUAL_ITEMS * usual**3
        held = np.maximum(believed @ u**2 + USUAL_ITEMS * usual**2, NOTHING)
        move = STEP * (pull / held - u)
        u = np.clip(u + move, -most, most)
        if np.abs(move).max(initial=0.0) < AT_REST:
            break
    return u


def _errors(agreement: FloatArray, u: FloatArray, both: FloatArray, chance: float) -> FloatArray:
    """Return by how many standard errors pairs agree more than they should."""
    expected = np.outer(u, u)
    p = _rate(expected + chance)
    deviation = np.sqrt(p * (1.0 - p) / np.maximum(both, 1.0) + SLACK**2)
    return np.asarray((agreement - expected) / deviation)


def _rate(rate: FloatArray) -> FloatArray:
    """Return the rate, neither nearly 0 nor nearly 1."""
    return np.clip(rate, LEAST_RATE, 1.0 - LEAST_RATE)
