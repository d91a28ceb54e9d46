"""Name pairs of sources that may have copied, on evidence that chance hardly ever gives.

Two looks at the claims add up over blocks. The first counts, for each pair, the items that both
cover, and those on which they agree. Independent sources agree on a share ``b + c + u v`` of their
items. Of labels, b is how often two agree that guess, each with its own frequencies of labels. The
number u of a source grows with its accuracy, and c is one for all: hard items and popular errors
change c and u, not the form. Copies agree more. A family of copies would distort the fit, so the
families that explain the counts best are left out of it (`suspects_of`).

Agreement on what is true is no evidence, so the second look counts shared mistakes, in a vote in
which each suspected family has one voice. A pair is named if both counts are beyond what
independent sources show (`named_pairs`). The thresholds were set by `benchmarks/false_alarms.py`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from veracity import kernels
from veracity.dependence import Copies
from veracity.dependence.pairs import first_of_joined, most_active
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.kernels.reference import sigmoid
from veracity.trees import Index

MOST_SLOTS = 200
"""Largest number of sources whose pairs are compared: those with the most claims."""

MOST_CLAIMS = 500_000
"""Number of claims of these sources that are compared, from items drawn at random."""

MOST_VALUES = 1.5
"""Largest mean number of values per item of a compared source. A source with more usually claims
several, such as samples of a model; then shared values are no sign of a copy."""

FEWEST_SOURCES = 4
"""Minimum number of sources: with three, counts have several explanations."""

FEWEST_OUTSIDE = 3
"""Minimum number of sources outside of all families, which show the expected agreement."""

FEWEST_SHARED = 20
"""Minimum number of items that both sources of a pair cover."""

FEWEST_MISTAKES = 5
"""Mistakes that a pair must share."""

LEAST_COPIED = 0.3
"""Smallest share of its claims that one source of a pair seems to have copied from the other."""

FALSE_ALARMS = 0.01
"""Largest probability that agreement by chance makes any pair a suspect."""

MISTAKES_BY_CHANCE = 0.05
"""Largest probability that any suspected pair shares its mistakes by chance."""

ALLOWANCE = 1.3
"""Factor by which expected mistakes are raised, since a wrong vote makes all sources that
contradict it seem wrong."""

MOST_COPIES = 10_000
"""Pairs that are named at most."""

MOST_LABELS = 20
"""Different values up to which mistakes are compared within each label."""

CHANCE_ERROR = 0.15
"""Standard deviation of c around half of its maximum, before anything is counted."""

MOST_CHANCE = 0.5
"""Largest value of c: that of two labels, or of items on which all errors have the same value."""

MOST_TRIED, MOST_FAMILIES = 12, 10
"""Largest number of groups tried in a step, and largest number of families found."""

LEAST_ERRORS = 2.0
"""Standard errors by which the agreement of a group must exceed expectation to be tried."""

PER_MEMBER, PER_PAIR = 0.25, 1.0
"""Log-likelihood that a family must gain per member, and per pair and log of its copied share."""

USUAL_VALUES = 4.0
"""Assumed number of wrong values per item, before claims are counted: two errors on open values are
the same value once in this many cases."""

USUAL_CLAIMS = 8.0
"""Weight, in pseudo-claims, of the mean confusions of all sources."""

USUAL_ITEMS = 10.0
"""Weight, in items, of the mean u of all sources."""

LEAST_RATE = 0.02
"""Smallest distance of an expected agreement from 0 and 1."""

USUAL_VARIANCE = 0.2
"""Approximate variance of the agreement on one item: p (1 - p), for usual shares p of agreement."""

ROUNDS, AT_REST, MOST_STEP = 60, 1e-3, 0.1
"""Most rounds of a fit, the move below which it ends, and the largest move of a round."""


class Meetings(NamedTuple):
    """Counts of the first pass over the claims."""

    both: FloatArray
    """[slot, slot]: items that both cover."""
    same: FloatArray
    """[slot, slot]: items on which both claim the same value."""
    said: FloatArray
    """[slot, label]: claims of a slot by label; without columns where values are open."""


class Suspects(NamedTuple):
    """Pairs that agree too well, and the counts expected of independent sources."""

    met: Meetings
    expected: FloatArray
    """[slot, slot]: the share of items on which independent sources would agree."""
    is_suspect: BoolArray
    """[slot, slot]: pairs that agree more than chance allows."""

    @property
    def family(self) -> IntArray:
        """Number of the family of each slot; -1 for slots that agree with none too well."""
        one, other = np.nonzero(self.is_suspect)
        first = first_of_joined(one, other, len(self.is_suspect))
        return np.where(self.is_suspect.any(axis=1), first, -1)


class Mistakes(NamedTuple):
    """Counts on items that a vote decides in which each suspected family has one voice.

    Classes are the labels that win, or one for all where values are open.
    """

    both: FloatArray
    """[class, slot, slot]: items that both cover."""
    right: FloatArray
    """[slot, slot]: items of which both name the winner."""
    wrong: FloatArray
    """[slot, slot]: items on which both claim the same other value."""
    said: FloatArray
    """[slot, class, label]: claims of a slot; of open values, 1 for all losing values."""
    losing: float
    """Number of pairs of sources that both lose the vote on an item, over all items."""
    alike: float
    """Number of these pairs in which both voices have the same value."""


class Naming(NamedTuple):
    """Compared sources and items, and the pairs that are named."""

    slot_of_source: Annotated[FloatArray, "source", -1.0, Index("source", least=-1)]
    share: float
    """Share of items that is compared."""
    n_labels: int
    """Different values that are claimed; more than `MOST_LABELS` if they are open."""
    pairs: Copies
    suspects: Suspects | None = None
    """Suspects of the first pass, until the second."""
    searched: float = 0.0
    """Number of claims when pairs were searched for."""

    @classmethod
    def unseen(cls, n_claims: FloatArray, n_labels: int) -> Naming:
        """Choose the sources with most claims; of those with equally many all, or none."""
        is_seen = most_active(n_claims, FEWEST_SHARED, MOST_SLOTS)
        slot = np.where(is_seen, np.cumsum(is_seen) - 1.0, -1.0)
        share = min(MOST_CLAIMS / max(float(n_claims[is_seen].sum()), 1.0), 1.0)
        return cls(slot, share, min(n_labels, MOST_LABELS + 1), Copies.none())

    def grown(self, n_labels: int) -> Naming:
        """Return the same with room for new labels."""
        return self._replace(n_labels=max(self.n_labels, min(n_labels, MOST_LABELS + 1)))

    @property
    def slots(self) -> IntArray:
        """Slot of each source; -1 for those that are not compared."""
        return self.slot_of_source.astype(np.int64)

    @property
    def is_open(self) -> bool:
        """Return True if values are too many to be compared one by one."""
        return self.n_labels > MOST_LABELS

    @property
    def n_slots(self) -> int:
        """Return the number of compared sources."""
        return int(self.slot_of_source.max(initial=-1.0)) + 1


def compared_claims(n_claims: FloatArray, n_items: FloatArray) -> FloatArray:
    """Return the claims of each source, none for those that mostly claim several values."""
    return np.where(n_claims <= MOST_VALUES * n_items, n_claims, 0.0)


def count_meetings(block: Block, naming: Naming) -> Meetings:
    """Count the items that each two sources cover, and those on which their main claims agree."""
    block, n_labels = _drawn(block, naming), 0 if naming.is_open else naming.n_labels
    items, slot = np.arange(block.n_items), naming.slots[block.source_of_support]
    cell = slot * n_labels + block.label_of_fact[block.fact_of_support]
    said = np.bincount(
        cell[slot >= 0] if n_labels else cell[:0], minlength=naming.n_slots * n_labels
    )
    both, same = kernels.count_pairs(block, items, naming.slots, np.ones(block.n_facts))
    return Meetings(both, same, said.reshape(naming.n_slots, n_labels).astype(np.float64))


def count_mistakes(block: Block, naming: Naming) -> Mistakes:
    """Count shared mistakes in a vote in which each suspected family has one voice on an item.

    A vote decides an item if one value has more than all others, and two voices or more.
    """
    block, slots = _drawn(block, naming), naming.slots
    n_slots, is_open = naming.n_slots, naming.is_open
    assert naming.suspects is not None
    item, slot = block.item_of_fact, slots[block.source_of_support]
    family = np.where(slot >= 0, naming.suspects.family[slot], -1)
    fact_of_support = block.fact_of_support
    key = item[fact_of_support] * (n_slots + 1) + family
    _, group, n_members = np.unique(key, return_inverse=True, return_counts=True)
    voice = np.where(family >= 0, 1.0 / n_members[group], 1.0)
    votes = np.bincount(fact_of_support, voice, block.n_facts)
    first = block.first_fact_of_item[:-1]
    most = np.maximum.reduceat(votes, first) if len(first) else np.zeros(0)
    wins = np.round(votes - most[item], SAME) >= 0.0
    is_decided = (np.bincount(item[wins], minlength=block.n_items) == 1) & (most > 2.0 - 1e-9)
    wins, loses = wins & is_decided[item], ~wins & is_decided[item]
    label = loses.astype(np.int64) if is_open else block.label_of_fact
    n_labels = 2 if is_open else naming.n_labels
    of_item = np.zeros(block.n_items, dtype=np.int64)
    of_item[item[wins]] = label[wins]
    n_classes = 1 if is_open else n_labels
    both, wrong = np.zeros((n_classes, n_slots, n_slots)), np.zeros((n_slots, n_slots))
    for one in range(n_classes):
        items = np.flatnonzero(is_decided & (of_item == one))
        both[one], same = kernels.count_pairs(block, items, slots, loses.astype(np.float64))
        wrong += same
    _, right = kernels.count_pairs(block, np.flatnonzero(is_decided), slots, wins.astype(float))
    is_counted = (slot >= 0) & is_decided[item[fact_of_support]]
    fact = fact_of_support[is_counted]
    cell = (slot[is_counted] * n_classes + of_item[item[fact]]) * n_labels + label[fact]
    said = np.bincount(cell, minlength=n_slots * n_classes * n_labels).astype(np.float64)
    votes_lost = np.where(loses, votes, 0.0)
    of_all = np.bincount(item, votes_lost, block.n_items)
    losing, alike = (float((v * np.maximum(v - 1.0, 0.0)).sum()) for v in (of_all, votes_lost))
    return Mistakes(both, right, wrong, said.reshape(n_slots, n_classes, n_labels), losing, alike)


def _drawn(block: Block, naming: Naming) -> Block:
    """Return the sampled items with claims of two sources or more."""
    is_met = block.n_voices_of_item > 1
    drawn = block.select(is_met & block.sampled(naming.share, least=0))
    return drawn.strongest_claims()[0] if drawn.n_items else drawn


# --- who agrees too well --------------------------------------------------------------------------


class _Seen(NamedTuple):
    """Tables [slot, slot]: shared items, share of agreement, and expected share if both guess."""

    both: FloatArray
    agreement: FloatArray
    guessed: FloatArray

    @classmethod
    def of(cls, met: Meetings) -> _Seen:
        """Return the counts of pairs, without pairs of a source with itself."""
        both = np.where(np.eye(len(met.both)) > 0.0, 0.0, met.both)
        agreement = np.minimum(met.same / np.maximum(both, 1.0), 1.0) * (both > 0.0)
        share = met.said / np.maximum(met.said.sum(axis=1), 1.0)[:, None]
        return cls(both, agreement, share @ share.T)


class _Fit(NamedTuple):
    """Agreement of independent sources, fitted to all pairs but those that are left out."""

    u: FloatArray
    c: float
    expected: FloatArray
    """[slot, slot]: ``b + c + u v``, neither nearly 0 nor nearly 1."""
    loss: float


def with_suspects(naming: Naming, met: Meetings) -> Naming:
    """Find the families of sources that agree beyond chance, and the pairs that do so clearly.

    If a share p of n items is expected to agree, and a share a does, the probability of that is at
    most exp(-n KL(a || p)). As p has errors, and pairs differ for other reasons (pairs that agree
    too little show that), the effective number of items is 1 / (1 / n + dispersion + variance / (p
    (1 - p))).
    """
    seen = _Seen.of(met)
    n_pairs = np.count_nonzero(np.triu(seen.both >= FEWEST_SHARED))
    if not n_pairs or naming.n_slots < FEWEST_SOURCES:
        return naming._replace(pairs=Copies.none(), suspects=None)
    found, left = _families(seen)
    a, p = seen.agreement, found.expected
    scatter = _dispersion(seen, p, left) + _variance(seen.both * left, found) / (p * (1.0 - p))
    n = 1.0 / (1.0 / np.maximum(seen.both, 1.0) + scatter)
    evidence = n * _divergence(np.maximum(a, p), p)
    is_suspect = ~left & (seen.both >= FEWEST_SHARED) & (a - p >= LEAST_COPIED * (1.0 - p))
    is_suspect &= evidence > np.log(n_pairs / FALSE_ALARMS)
    is_suspect = _with_outsiders(is_suspect, evidence)
    suspects = Suspects(met, p, is_suspect) if is_suspect.any() else None
    return naming._replace(pairs=Copies.none(), suspects=suspects)


def _with_outsiders(is_suspect: BoolArray, evidence: FloatArray) -> BoolArray:
    """Keep the clearest families, as long as enough sources are outside of them.

    Where there are few honest sources and a large family of copies, the honest ones also agree with
    each other far more often than with the copies.
    """
    one, other = np.nonzero(is_suspect)
    if not len(one):
        return is_suspect
    family = first_of_joined(one, other, len(is_suspect))
    kept, n_left = np.zeros_like(is_suspect), len(is_suspect)
    clearest = np.argsort(-np.round(evidence[one, other], SAME), kind="stable")
    for first in dict.fromkeys(family[one[clearest]].tolist()):
        is_member = family == first
        n_members = int(is_member.sum())
        if n_left - n_members >= FEWEST_OUTSIDE:
            n_left -= n_members
            kept |= is_suspect & is_member[:, None]
    return kept


def _families(seen: _Seen) -> tuple[_Fit, BoolArray]:
    """Leave out one family after the other, as long as the fit to the rest becomes clearly better.

    Return the fit, and the pairs that are left in it. Families are looked for among the groups of
    an average linkage; those are tried that agree too well by how they agree with others, and these
    among themselves (`_beyond_others`).
    """
    left, trust = ~np.eye(len(seen.both), dtype=np.bool_), seen.both / (seen.both + USUAL_ITEMS)
    found = _fitted(seen, left)
    usual = float((seen.both * seen.agreement).sum() / max(seen.both.sum(), 1.0))
    for _ in range(MOST_FAMILIES):
        beyond = (seen.agreement - found.expected) / (1.0 - found.expected)
        alike = seen.agreement - usual
        groups = sorted({g for likeness in (alike, beyond) for g in _linked(likeness * trust)})
        errors = _beyond_others(groups, seen, left, found.c)
        clearest = np.argsort(-np.round(errors, SAME), kind="stable")[:MOST_TRIED]
        tried = [groups[i] for i in clearest if errors[i] >= LEAST_ERRORS]
        best = None
        for group in tried:
            without = left.copy()
            without[np.ix_(group, group)] = False
            fit = _fitted(seen, without)
            copied = (seen.agreement - fit.expected) / (1.0 - fit.expected)
            logs = np.log(np.clip(copied[np.ix_(group, group)], LEAST_RATE, 1.0))
            cost = PER_MEMBER * len(group) - PER_PAIR * np.triu(logs, k=1).sum()
            if fit.loss + cost < (found.loss if best is None else best[0]):
                best = fit.loss + cost, without, fit
        if best is None:
            break
        _, left, found = best
    return found, left


def _fitted(seen: _Seen, left: BoolArray) -> _Fit:
    """Fit c and the number u of each source by least squares, from the pairs left.

    Each u is held to the mean by `USUAL_ITEMS` items. A round takes a Newton step for c and, for
    each u, half of a Newton step by itself: together, full ones would overshoot.
    """
    n, beyond = np.where(left, seen.both, 0.0), seen.agreement - seen.guessed
    total = max(float(n.sum()), 1.0)
    most = max(MOST_CHANCE - float((n * seen.guessed).sum()) / total, MOST_CHANCE / 5.0)
    mean, prior = float((n * beyond).sum()) / total, 1.0 / CHANCE_ERROR**2
    c = max(min(mean, most) / 2.0, 0.0)
    u = np.full(len(n), np.sqrt(max(mean - c, LEAST_RATE)))
    for _ in range(ROUNDS):
        p = _expected(seen, u, c)
        weight, to_mean = n / (p * (1.0 - p)), USUAL_ITEMS * u.mean() ** 2 / USUAL_VARIANCE
        residual = weight * (seen.agreement - p)
        diagonal = 2.0 * (weight @ u**2) + to_mean
        own, pull = (residual @ u + to_mean * (u.mean() - u)) / diagonal, weight @ u
        by_chance = pull / diagonal
        slope_of_c = residual.sum() / 2.0 + prior * (most / 2.0 - c) - pull @ own
        held = weight.sum() / 2.0 + prior - pull @ by_chance
        before, step = c, float(np.clip(slope_of_c / held, -MOST_STEP, MOST_STEP))
        c = min(max(c + step, 0.0), most)
        move = np.clip(own - by_chance * (c - before), -MOST_STEP, MOST_STEP)
        u = np.clip(u + move, LEAST_RATE, np.sqrt(1.0 - c))
        if max(np.abs(move).max(), abs(c - before)) < AT_REST:
            break
    p = _expected(seen, u, c)
    loss = 0.25 * float((n / (p * (1.0 - p)) * np.square(seen.agreement - p)).sum())
    return _Fit(u, c, p, loss)


def _expected(seen: _Seen, u: FloatArray, c: float) -> FloatArray:
    p = seen.guessed + c + np.outer(u, u)
    return np.asarray(np.clip(p, LEAST_RATE, 1.0 - LEAST_RATE))


def _variance(n: FloatArray, fit: _Fit) -> FloatArray:
    """Return the variance of the expected agreement of each pair, as u was fitted to few items."""
    weight, u = n / (fit.expected * (1.0 - fit.expected)), fit.u
    to_mean = USUAL_ITEMS * u.mean() ** 2 / USUAL_VARIANCE
    error = np.linalg.inv(weight * np.outer(u, u) + np.diag(weight @ u**2 + to_mean))
    variance = np.outer(np.diag(error), u**2) + np.outer(u, u) * error
    return np.asarray(np.maximum(variance + variance.T, 0.0))


def _linked(likeness: FloatArray) -> list[tuple[int, ...]]:
    """List the groups of average linkage, the closest first.

    Groups that leave two sources or fewer outside are left out.
    """
    n = len(likeness)
    likeness = np.where(np.eye(n) > 0.0, -np.inf, likeness)
    members: dict[int, tuple[int, ...]] = {i: (i,) for i in range(n)}
    groups = []
    for _ in range(n - 3):
        one, other = divmod(int(likeness.argmax()), n)
        sizes = len(members[one]), len(members[other])
        mean = (sizes[0] * likeness[one] + sizes[1] * likeness[other]) / sum(sizes)
        likeness[one] = likeness[:, one] = mean
        likeness[other] = likeness[:, other] = likeness[one, one] = -np.inf
        members[one] = tuple(sorted(members[one] + members.pop(other)))
        if len(members[one]) <= n - 3:
            groups.append(members[one])
    return groups


def _beyond_others(
    groups: list[tuple[int, ...]], seen: _Seen, left: BoolArray, c: float
) -> FloatArray:
    """Return by how many standard errors each group agrees too well; 0 if it copies too little.

    Beyond guesses, agreement within a group is c + (x - c)^2 / (o - c): x is how often the group
    agrees with others, and o how often these agree among themselves.
    """
    both, is_in = seen.both * left, np.zeros((len(left), len(groups)))
    for number, group in enumerate(groups):
        is_in[list(group), number] = 1.0

    def sums(counts: FloatArray) -> FloatArray:
        """Return sums of pairs within each group, across its border, and outside of it."""
        of_member = counts @ is_in
        within = (of_member * is_in).sum(axis=0)
        across = of_member.sum(axis=0) - within
        return np.stack([within, across, counts.sum() - 2.0 * across - within])

    n, guessed = sums(both), sums(both * seen.guessed)[0]
    is_told, n = (n > 0.0).all(axis=0), np.maximum(n, 1.0)
    within, across, others = sums(both * (seen.agreement - seen.guessed)) / n
    guessed = guessed / n[0]
    p = guessed + c + np.maximum(across - c, 0.0) ** 2 / np.maximum(others - c, 1e-3)
    p, a = np.clip(p, LEAST_RATE, 1.0 - LEAST_RATE), within + guessed
    errors = (a - p) / np.sqrt(p * (1.0 - p) / (n[0] / 2.0))
    return np.asarray(np.where(is_told & (a - p >= LEAST_COPIED * (1.0 - p)), errors, 0.0))


def _dispersion(seen: _Seen, p: FloatArray, left: BoolArray) -> float:
    """Estimate the variance of agreement beyond chance, from pairs that agree less than expected.

    A share of the variance p (1 - p); the estimate is on the safe side where pairs are few.
    """
    is_seen = np.triu(left & (seen.both >= FEWEST_SHARED), k=1)
    is_less = is_seen & (seen.agreement < p)
    if not is_less.any():
        return 0.05
    n, square = seen.both[is_less], (np.square(seen.agreement - p) / (p * (1.0 - p)))[is_less]
    free = max(len(n) * (1.0 - min(len(p) / is_seen.sum(), 0.9)), 1.0)
    # the lower fifth of chi-squared (Wilson and Hilferty 1931)
    least = free * max(1.0 - 2.0 / (9.0 * free) - 0.84 * np.sqrt(2.0 / (9.0 * free)), 0.1) ** 3
    low, high = 0.0, 0.5
    if (square * n).sum() <= least:
        return 0.0
    for _ in range(30):
        middle = (low + high) / 2.0
        is_more = (square / (1.0 / n + middle)).sum() > least
        low, high = (middle, high) if is_more else (low, middle)
    return high


def _divergence(a: FloatArray, p: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of two rates, a log (a / p) + ..."""
    a = np.clip(a, 1e-12, 1.0 - 1e-12)
    return np.asarray(a * np.log(a / p) + (1.0 - a) * np.log((1.0 - a) / (1.0 - p)))


# --- who is named ---------------------------------------------------------------------------------


def with_pairs(naming: Naming, found: Mistakes | None) -> Naming:
    """Name the suspected pairs that share more mistakes than chance explains, the clearest first.

    The expected number λ of mistakes that independent sources share follows from their confusions
    of labels: the sum over items of Σ c_s[k, l] c_t[k, l], times the factor that explains the
    mistakes shared by all other pairs. The probability of w or more is at most exp(w - λ - w log (w
    / λ)).
    """
    suspects = naming.suspects
    if suspects is None or found is None:
        return naming._replace(suspects=None)
    spoken, _, wrong, said, losing, alike = found
    n_classes, n_labels = said.shape[1:]
    usual = said.sum(axis=0)
    usual = (usual + 1.0 / n_labels) / (usual.sum(axis=1) + 1.0)[:, None]
    mistaken = (said + USUAL_CLAIMS * usual) / (said.sum(axis=2) + USUAL_CLAIMS)[:, :, None]
    mistaken[:, np.arange(n_classes), np.arange(n_classes)] = 0.0
    expected = sum(spoken[k] * (mistaken[:, k] @ mistaken[:, k].T) for k in range(n_classes))
    is_other = np.triu(~suspects.is_suspect, k=1)
    usually = 1.0 if n_classes > 1 else (alike + 1.0) / (losing + USUAL_VALUES)
    expected *= max((wrong[is_other].sum() + 1.0) / (expected[is_other].sum() + 1.0), usually)
    one, other = np.nonzero(np.triu(suspects.is_suspect & (wrong >= FEWEST_MISTAKES)))
    w, by_chance = wrong[one, other], ALLOWANCE * np.maximum(expected[one, other], LEAST_RATE)
    evidence = w * np.log(w / by_chance) - w + by_chance
    n_suspects = np.count_nonzero(np.triu(suspects.is_suspect))
    is_named = (w > by_chance) & (evidence > np.log(n_suspects / MISTAKES_BY_CHANCE))
    one, other = one[is_named], other[is_named]
    order = np.lexsort((-wrong[one, other], -np.round(evidence[is_named], SAME)))[:MOST_COPIES]
    one, other = one[order], other[order]
    (both, same, _), source_of_slot = suspects.met, np.flatnonzero(naming.slot_of_source >= 0)
    forth, in_pairs = _who_copies(found, one, other), both.sum(axis=1)
    is_back = np.where(forth == 0.0, in_pairs[one] > in_pairs[other], forth < 0.0)
    source, original = np.where(is_back, other, one), np.where(is_back, one, other)
    pairs = Copies(
        source_of_slot[source], source_of_slot[original], sigmoid(np.abs(forth)),
        both[one, other], np.minimum(same, both)[one, other],
        (both * suspects.expected)[one, other], wrong[one, other], expected[one, other],
    )  # fmt: skip
    return naming._replace(pairs=pairs, suspects=None)


def _who_copies(found: Mistakes, one: IntArray, other: IntArray) -> FloatArray:
    """Return the log-likelihood ratio of `one` copying the `other` and the other way round.

    An original has the same accuracy on copied items as on all others. A copier has the accuracy of
    its original on copied items, and its own on the others.
    """
    spoken = found.said.sum(axis=(1, 2))
    n_classes = found.said.shape[1]
    right = found.said[:, np.arange(n_classes), np.arange(n_classes)].sum(axis=1)
    true = found.right[one, other]
    same = true + found.wrong[one, other]

    def whole(slot: IntArray) -> FloatArray:
        return _log_likelihood(right[slot], spoken[slot])

    def added(slot: IntArray) -> FloatArray:
        return _log_likelihood(right[slot] - true, spoken[slot] - same)

    return np.round(whole(other) + added(one) - whole(one) - added(other), SAME)


def _log_likelihood(right: FloatArray, spoken: FloatArray) -> FloatArray:
    """Return the log-likelihood of right claims at their accuracy, with half a claim added."""
    wrong = np.maximum(spoken - right, 0.0)
    log_right, log_wrong = (np.log((n + 0.5) / (spoken + 1.0)) for n in (right, wrong))
    return np.asarray(right * log_right + wrong * log_wrong)
