"""Which sources depend on each other: by how they agree, and by what else copies share.

Of two sources that err independently, the share of items on which they agree is ``chance + u v``,
with a number for each of them that grows with its accuracy: a matrix of rank one. Copies only ever
add to it. So the numbers are fitted from below, pairs that agree too well counting ever less, and
what is left over is the share of its claims that one of the two may have from the other.

Agreement alone proves nothing: accurate sources agree, too. Sites that copy speak of the same items
as well, whatever is true (`veracity.dependence.coverage`); and where items are handed out, or all
speak of everything, copies share mistakes.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from veracity.claims.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.dependence.coverage import (
    FEWEST,
    Overlap,
    direct_copies,
    doubt,
    families,
    is_borne_out,
    overlap_of,
    taken_over,
)
from veracity.kernels.loading import kernels

MOST_SLOTS = 200
"""Sources whose pairs are looked at: those with the most claims."""

STEPS_PER_CLAIM = 50
"""Pairs to be counted for each claim; where there would be more, some items are passed over."""

CLAIMS_AT_LEAST = 1e4
"""So many claims more are reckoned with, so that of few claims no item is passed over."""

CLEAR = 3.0
"""Standard errors by which a pair must agree too well."""

SLACK = 0.03
"""Standard deviation of agreements that is no copying: nothing is exactly of rank one."""

USUAL_VARIANCE = 0.2
"""About the variance of an agreement of one item: p(1 - p), for most p."""

ENOUGH = 0.8
"""How much of what agreement says is copied coverage must be able to explain: both are counts of
few items, with errors of their own."""

NEARLY = 0.85
"""The share from which one copies nearly everything, by the mistakes that both share. Workers who
find the same items hard share fewer: of independent and of real ones hardly a pair has as many."""

SUSPECT = 1.5
"""Standard errors beyond which a pair no longer tells of the accuracies."""

RUN_BY_COVERAGE, RUN_OF_LABELS = 2.0, 8.0
"""Claims in a row that must be copied, where a site's choice of items shows it, or labels alone:
shared labels are shared for many reasons, a choice of items hardly for any other."""

LEAST_RATE = 0.02
"""Accuracies, and how often pairs agree, are taken to be so far from 0 and 1 at least: of so few
items as pairs share, nobody knows better."""

LEAST_SHARE = 0.05
"""The smallest share of its claims of which it is asked whether a source copies it, the steps by
which larger ones are tried, and what is left of the largest."""

USUAL_ITEMS = 2.0
"""So many items does it weigh what sources are usually like, when one of them is fitted."""

LEAST_MEAN = 1e-3
"""How far pairs agree beyond chance on average, at least: its root is where the fit starts."""

STEP = 0.5
"""How far a round of the fit moves to what it found; all the way, it might swing."""

AT_REST = 1e-3
"""Moves below this end the fit."""

ROUNDS = 60
"""Rounds of the fit at most."""

NOTHING = 1e-9
"""What is divided by is no less."""


class Agreement(NamedTuple):
    """For each pair of slots, the items of which both speak, and those of which both say the same.

    Also how many items each slot speaks of, how many items were looked at, how many facts these
    have, how many voices, and the squares of these.
    """

    both: FloatArray
    same: FloatArray
    spoken: FloatArray
    items: int
    facts: int
    voices: float
    squares: float


class Shared(NamedTuple):
    """[slot, slot]: what pairs share, and what of it is true; [slot]: the same of all it says.

    It may be that of some items only.
    """

    same: FloatArray
    true: FloatArray
    spoken: FloatArray
    right: FloatArray

    @classmethod
    def nothing(cls, n_slots: int) -> Shared:
        """Before anything was counted."""
        of_pairs, of_slots = np.zeros((n_slots, n_slots)), np.zeros(n_slots)
        return cls(of_pairs, of_pairs, of_slots, of_slots)

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, counts that are not of the same slots."""
        n_slots = len(self.right)
        is_sound = self.true.shape == self.same.shape == (n_slots, n_slots)
        if not is_sound or self.spoken.shape != self.right.shape:
            raise ValueError("what was learned of pairs is not of the sources")


class Dependence(NamedTuple):
    """The share of claims that pairs of sources have from each other, and what it rests on.

    Rows and columns are slots; ``slot_of_source`` is -1 for sources that are not looked at.
    """

    slot_of_source: Annotated[FloatArray, "source", -1.0]
    stride: int
    copied: FloatArray
    both: FloatArray
    same: FloatArray
    shared: Shared
    accuracy: FloatArray
    """How often each slot is right, as far as agreement alone tells."""
    overlap: Overlap
    """Whether pairs speak of the same items because one copies."""
    taken: FloatArray
    """The share of claims that pairs have from each other, where coverage proves it; else zero."""
    n_values: float
    """How many values an item may have."""
    once: bool = True
    """Whether copies count once: not where that leaves hardly anything to decide by."""

    @classmethod
    def unseen(cls, slot_of_source: IntArray, work: tuple[float, int]) -> Dependence:
        """Before anything was counted; `work` is what `pair_work` adds up to, and the claims."""
        n_pairs, n_claims = work
        n_slots = int(slot_of_source.max()) + 1
        stride = max(int(np.ceil(n_pairs / (STEPS_PER_CLAIM * (n_claims + CLAIMS_AT_LEAST)))), 1)
        nothing = np.zeros((n_slots, n_slots))
        slots, chance = slot_of_source.astype(np.float64), np.full(n_slots, 0.5)
        overlap = Overlap(nothing, nothing, tells=False)
        counts = (nothing, nothing, nothing, Shared.nothing(n_slots))
        return cls(slots, stride, *counts, chance, overlap, taken=nothing, n_values=2.0)

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, slots that are not those of the tables."""
        n_slots = len(self.accuracy)
        of_overlap, of_shared = self.overlap[:2], self.shared.true
        tables = (self.copied, self.both, self.same, self.taken, *of_overlap, of_shared)
        is_sound = self.stride >= 1 and int(self.slot_of_source.max(initial=-1)) < n_slots
        is_sound &= bool((self.slot_of_source >= -1.0).all())
        if not is_sound or any(table.shape != (n_slots, n_slots) for table in tables):
            raise ValueError("what was learned of pairs is not of the sources")

    @property
    def slots(self) -> IntArray:
        """The slot of each source, as kernels want it."""
        return self.slot_of_source.astype(np.int64)

    @property
    def is_any(self) -> bool:
        """Whether anyone seems to copy."""
        return bool(self.copied.any())

    @property
    def shows_mistakes(self) -> bool:
        """Whether shared mistakes alone can show copies: of two labels all who err say the same."""
        return self.n_values > 2.0

    @property
    def weight_of_slot(self) -> FloatArray:
        """What a source's word weighs in log-odds, by its accuracy."""
        odds = self.accuracy / (1.0 - self.accuracy)
        return np.maximum(np.log(odds * (self.n_values - 1.0)), 0.0)

    def weight_of_support(self, block: Block, *, sites: bool) -> FloatArray:
        """How much each support weighs when dependent ones count once; empty if all count in full.

        Two that say the same, of which one copies a share c and which would agree on a share P
        anyway, have it from each other with a probability of c / (c + (1 - c) P). Likeness has
        other reasons than copying, too, so it is that of a whole run of claims that counts.
        """
        if not self.is_any or not self.once:
            return np.zeros(0)
        agreement = np.where(self.both > 0.0, self.same / np.maximum(self.both, 1.0), 1.0)
        is_copied = np.clip(self.copied / np.maximum(agreement, NOTHING), 0.0, 1.0)
        is_plain = (self.taken > 0.0) | (self.copied >= NEARLY) | sites
        run = np.where(is_plain, RUN_BY_COVERAGE, RUN_OF_LABELS)
        return np.asarray(kernels.count_once(block, self.slots, is_copied**run))

    def pairs_within(self, block: Block) -> tuple[IntArray, IntArray]:
        """Supports of the same item, two by two, of sources that depend on each other.

        Where sources name many values of an item, not all of them are found.
        """
        slot = self.slots[block.source_of_support]
        looked_at = np.flatnonzero(slot >= 0)
        slot, item = slot[looked_at], block.item_of_fact[block.fact_of_support[looked_at]]
        depends, found = self.copied > 0.0, [np.zeros((2, 0), dtype=np.int64)]
        for apart in range(1, 2 * MOST_SLOTS if self.is_any else 1):
            is_same = item[apart:] == item[:-apart]
            if not is_same.any():
                break
            one = np.flatnonzero(is_same & depends[slot[apart:], slot[:-apart]])
            found.append(np.stack([looked_at[one], looked_at[one + apart]]))
        one, other = np.concatenate(found, axis=1)
        return one, other


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
    block, _ = block.said_most()
    n_voices = np.minimum(block.n_voices_of_item, n_slots).astype(np.float64)
    return float((n_voices[_items(block, n_slots, contested=contested)] ** 2).sum())


def agreements(
    block: Block, dependence: Dependence, weight_of_fact: FloatArray | None, *, contested: bool
) -> Agreement:
    """Count who agrees with whom: on facts, or on what facts weigh.

    Sources agree if they say the same most of all.
    """
    n_slots = len(dependence.both)
    block, is_left = block.said_most()
    items = _looked_at(block, dependence, contested=contested)
    weight = np.ones(block.n_facts) if weight_of_fact is None else weight_of_fact[is_left]
    both, same = kernels.count_pairs(block, items, dependence.slots, weight)
    voices = block.n_voices_of_item[items].astype(np.float64)
    is_looked_at = np.zeros(block.n_items, dtype=np.bool_)
    is_looked_at[items] = True
    slot = dependence.slots[block.source_of_voice[np.repeat(is_looked_at, block.n_voices_of_item)]]
    spoken = np.bincount(slot[slot >= 0], minlength=n_slots).astype(np.float64)
    n_facts = int(block.n_facts_of_item[items].sum())
    return Agreement(
        both, same, spoken, len(items), n_facts, float(voices.sum()), float((voices**2).sum())
    )


def mistakes(block: Block, dependence: Dependence, *, contested: bool) -> FloatArray:
    """Of what pairs share, how much seems false to all others, as far as these are trusted."""
    block, _ = block.said_most()
    items = _looked_at(block, dependence, contested=contested)
    weight = dependence.weight_of_slot
    return np.asarray(kernels.count_false_pairs(block, items, dependence.slots, weight))


def looked_at(block: Block, dependence: Dependence, *, contested: bool) -> Block:
    """The items of a block on which pairs are compared."""
    is_meant = np.zeros(block.n_items, dtype=np.bool_)
    is_meant[_looked_at(block, dependence, contested=contested)] = True
    return block.select(is_meant)


def _looked_at(block: Block, dependence: Dependence, *, contested: bool) -> IntArray:
    items = _items(block, len(dependence.both), contested=contested)
    return np.asarray(items[block.drawn(1.0 / dependence.stride, least=0)[items]])


def _items(block: Block, n_slots: int, *, contested: bool) -> IntArray:
    """The items on which sources may agree or not."""
    is_open = np.minimum(block.n_voices_of_item, n_slots) > 1
    if contested:
        is_open &= block.n_facts_of_item > 1
    return np.flatnonzero(is_open)


def with_excess(dependence: Dependence, total: Agreement, n_values: float) -> Dependence:
    """Pairs that agree too well, and what their coverage says to it.

    Families of copies that coverage shows agree among themselves whatever is true, so what sources
    are like is seen in how they agree with others than their family.
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


def confirmed(dependence: Dependence, false: FloatArray, *, sites: bool) -> Dependence:
    """Of pairs that agree too well those that copy: by what they speak of, or by their mistakes.

    Where coverage proves it, they copy. Where sources choose what they speak of (`sites`), copies
    show in coverage in any case: no more of what both speak of can be copied than one has from the
    other. Elsewhere, as where items are handed out or all speak of everything, in shared mistakes:
    agreement on what is true is no evidence.
    """
    overlap, enough = dependence.overlap, doubt(len(dependence.both))
    if sites and overlap.tells:
        is_copy = (overlap.likelier > enough) & (overlap.excess >= ENOUGH * dependence.copied)
    else:
        is_copy = _by_mistakes(dependence, dependence.copied, false) > enough
    is_copy |= dependence.taken > 0.0
    copied = np.where(is_copy, dependence.copied, 0.0)
    if not sites and dependence.shows_mistakes:
        copied = np.maximum(copied, _near_copies(dependence, false))
    return dependence._replace(copied=copied)


def _near_copies(dependence: Dependence, false: FloatArray) -> FloatArray:
    """The share that one has from the other, of pairs that share nearly all of their mistakes.

    Where most sources belong to few families, agreement shows nothing: a family looks like accurate
    sources that agree. But who agrees with others on what is false by all the rest, as nobody does
    by chance, has it from them.
    """
    shares = np.arange(LEAST_SHARE, 1.0, LEAST_SHARE)
    evidence = np.stack([_by_mistakes(dependence, share, false) for share in shares])
    likeliest = np.round(shares[evidence.argmax(axis=0)], SAME)
    is_near = (likeliest >= NEARLY) & (evidence.max(axis=0) > doubt(len(dependence.both)))
    is_near &= (dependence.both >= FEWEST) & ~np.eye(len(is_near), dtype=np.bool_)
    return np.where(is_near, likeliest, 0.0)


def _by_mistakes(
    dependence: Dependence, copied: FloatArray | float, false: FloatArray
) -> FloatArray:
    """How much likelier, in logs, pairs say what they say if one copies such a share.

    Dong et al. (2009): with kt, kf and kd shared true, shared false and different values, sources
    of accuracies A1 and A2 that do not copy meet with probabilities Pt = A1 A2,
    Pf = (1 - A1)(1 - A2) / (values - 1), and differ otherwise. One that copies a share c takes the
    other's word, right or wrong as it is: A2 c + Pt (1 - c), (1 - A2) c + Pf (1 - c), Pd (1 - c).
    """
    c = np.clip(copied, LEAST_SHARE, 1.0 - LEAST_SHARE)
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
"""Share of its claims that one source of a family has from another, at least, by how often they
agree beyond what their accuracies explain; and the items that both claim, at least."""


def largest_family(
    dependence: Dependence, n_claims: FloatArray, may_copy: BoolArray, least: float
) -> FloatArray:
    """Return one for the members of the largest family of near-copies, by claims, else zero.

    Nobody is a member if the family has a smaller share of all claims than `least`. `may_copy`
    leaves out sources of which agreement says nothing, such as those that claim one label only.
    """
    chosen = np.flatnonzero(dependence.slot_of_source >= 0.0)
    pairs = may_copy[chosen][:, None] & may_copy[chosen]
    both, same = dependence.both * pairs, dependence.same * pairs
    found = _beyond(both, same, 1.0 / dependence.n_values, np.arange(len(both)))
    is_linked = found.is_clear & (found.share >= COPIED) & (both >= SHARED)
    group = families(is_linked & ~np.eye(len(both), dtype=np.bool_))
    size = np.bincount(group, n_claims[chosen], len(group))
    size[np.bincount(group, minlength=len(group)) < 2] = 0.0
    member = np.zeros(len(n_claims))
    if size.max(initial=0.0) >= max(least * n_claims.sum(), 1.0):
        member[chosen] = group == size.argmax()
    return member


class _Beyond(NamedTuple):
    """By how much pairs agree beyond what their accuracies explain."""

    share: FloatArray
    """The share of a pair's claims that would be copied: the c of A = c + (1 - c) P."""
    is_clear: BoolArray
    u: FloatArray


def _beyond(both: FloatArray, same: FloatArray, chance: float, family: IntArray) -> _Beyond:
    """How often pairs agree, A, against how often two should that do not copy, P = chance + u v.

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
    """The number u of each source: from pairs that do not agree too well, if there are doubts.

    What is `usual` holds for who meets nobody, as much as two items do; unless told, it is what all
    pairs together say.
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
        if np.abs(move).max() < AT_REST:
            break
    return u


def _errors(agreement: FloatArray, u: FloatArray, both: FloatArray, chance: float) -> FloatArray:
    """By how many standard errors pairs agree more than they should."""
    expected = np.outer(u, u)
    p = _rate(expected + chance)
    deviation = np.sqrt(p * (1.0 - p) / np.maximum(both, 1.0) + SLACK**2)
    return np.asarray((agreement - expected) / deviation)


def _rate(rate: FloatArray) -> FloatArray:
    """The rate, neither nearly 0 nor nearly 1."""
    return np.clip(rate, LEAST_RATE, 1.0 - LEAST_RATE)
