"""Name pairs of sources that may have copied, on evidence that chance hardly ever gives.

Two looks at the claims add up over blocks. The first counts, for each pair, on how many items both
speak and on how many they agree. Independent sources agree on a share ``c + u v`` of their items,
with a number u for each source and one chance c: hard items, skewed labels and popular errors
change c and u, not the form. Copies agree more. A family of copies would distort the fit, so the
families that explain the counts best are left out of it (`suspects_of`).

Agreement on what is true is no evidence, so the second look counts shared mistakes, in a vote in
which each suspected family has one voice. A pair is named if both counts are beyond what
independent sources show (`named_pairs`). The thresholds were set by `benchmarks/false_alarms.py`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from veracity.claims.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.dependence import Copies
from veracity.dependence.pairs import first_of_joined
from veracity.kernels.loading import kernels
from veracity.kernels.reference.sums import sigmoid

MOST_SLOTS = 200
"""Sources whose pairs are looked at: those with the most claims."""

MOST_CLAIMS = 500_000
"""Claims of these sources that are looked at: those of items drawn at random."""

FEWEST_SOURCES = 4
"""Sources below which nobody is named: three can be told from each other in several ways."""

FEWEST_SHARED = 20
"""Items that both of a pair must speak of."""

FEWEST_MISTAKES = 5
"""Mistakes that a pair must share."""

LEAST_COPIED = 0.3
"""Share of its claims that one of a pair must seem to have from the other."""

FALSE_ALARMS = 0.01
"""Bound on the probability that chance agreement makes any pair a suspect."""

MISTAKES_BY_CHANCE = 0.05
"""Bound on the probability that any suspected pair shares its mistakes by chance."""

ALLOWANCE = 1.3
"""Factor by which expected mistakes are raised: a vote is sometimes wrong, and then all are who
say otherwise."""

MOST_COPIES = 10_000
"""Pairs that are named at most."""

MOST_LABELS = 20
"""Different values up to which mistakes are compared within each label."""

CHANCE_ERROR = 0.15
"""Standard deviation of c around half of its maximum, before anything is counted."""

MOST_CHANCE = 0.5
"""Largest c: that of two labels, or of items on which all who err say the same."""

MOST_TRIED, MOST_FAMILIES = 12, 5
"""Groups for which the fit is tried at a time, and families that are found, one after the other."""

LEAST_ERRORS = 2.0
"""Standard errors by which a group must agree too well to be tried."""

PER_MEMBER, PER_PAIR = 0.5, 2.0
"""Log-likelihood that a family must gain per member, and per pair and log of its copied share."""

USUAL_CLAIMS = 8.0
"""Pseudo-claims by which a source is taken to mistake labels as all sources do."""

USUAL_ITEMS = 10.0
"""Items for which the number u of a source is taken to be like that of all."""

LEAST_RATE = 0.02
"""Expected agreement is at least so far from 0 and 1."""

USUAL_VARIANCE = 0.2
"""About the variance of an agreement on one item, p (1 - p), for most p."""

ROUNDS, AT_REST, DAMPED, MOST_STEP = 30, 1e-3, 0.7, 0.1
"""Rounds of a fit at most, the move below which it ends, how far each goes, and at most."""


class Meetings(NamedTuple):
    """[slot, slot]: items both speak of, and those of which both say the same."""

    both: FloatArray
    same: FloatArray


class Suspects(NamedTuple):
    """Pairs that agree too well, and what is expected of independent sources."""

    met: Meetings
    expected: FloatArray
    """[slot, slot]: the share of items on which independent sources would agree."""
    is_suspect: BoolArray
    """[slot, slot]: pairs that agree more than chance allows."""

    @property
    def family(self) -> IntArray:
        """The number of the family of each slot; -1 for those that agree with nobody too well."""
        one, other = np.nonzero(self.is_suspect)
        first = first_of_joined(one, other, len(self.is_suspect))
        return np.where(self.is_suspect.any(axis=1), first, -1)


class Mistakes(NamedTuple):
    """Counts on items that a vote decides in which each suspected family has one voice.

    Classes are the labels that win, or one for all where values are open.
    """

    both: FloatArray
    """[class, slot, slot]: items that both speak of."""
    right: FloatArray
    """[slot, slot]: items of which both name the winner."""
    wrong: FloatArray
    """[slot, slot]: items of which both name the same other value."""
    said: FloatArray
    """[slot, class, label]: what a slot says; of open values, 1 for all that lose."""
    losing: float
    """Pairs of voices that lose on the same item."""
    alike: float
    """Pairs of voices that lose with the same value."""


class Naming(NamedTuple):
    """The sources that are looked at, in which items, and the pairs that are named."""

    slot_of_source: Annotated[FloatArray, "source", -1.0]
    share: float
    """The share of items that is looked at."""
    n_labels: int
    """Different values that are claimed; more than `MOST_LABELS` if they are open."""
    pairs: Copies
    suspects: Suspects | None = None
    """Those found by the first look, until the second."""

    @classmethod
    def unseen(cls, n_claims: FloatArray, n_labels: int) -> Naming:
        """Choose the sources with most claims; of those with equally many all, or none."""
        fewest = FEWEST_SHARED
        if len(n_claims) > MOST_SLOTS:
            most = np.partition(n_claims, -MOST_SLOTS - 1)[-MOST_SLOTS - 1]
            fewest = max(fewest, int(most) + 1)
        is_seen = n_claims >= fewest
        slot = np.where(is_seen, np.cumsum(is_seen) - 1.0, -1.0)
        share = min(MOST_CLAIMS / max(float(n_claims[is_seen].sum()), 1.0), 1.0)
        return cls(slot, share, min(n_labels, MOST_LABELS + 1), Copies.none())

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, pairs of sources that are not there."""
        named = np.concatenate(self.pairs[:2])
        is_sound = all(of is None or of.shape == self.pairs.source.shape for of in self.pairs)
        is_sound &= self.suspects is None and bool((self.slot_of_source >= -1.0).all())
        if (
            not is_sound
            or self.n_slots > n_sources
            or not ((named >= 0) & (named < n_sources)).all()
        ):
            raise ValueError("what was learned of pairs is not of the sources")

    @property
    def slots(self) -> IntArray:
        """The slot of each source, -1 for those that are not looked at."""
        return self.slot_of_source.astype(np.int64)

    @property
    def n_slots(self) -> int:
        """The number of sources that are looked at."""
        return int(self.slot_of_source.max(initial=-1.0)) + 1


def count_meetings(block: Block, naming: Naming) -> Meetings:
    """Count on how many items each two sources speak and agree, by what each says most of all."""
    block = _drawn(block, naming)
    items = np.arange(block.n_items)
    return Meetings(*kernels.count_pairs(block, items, naming.slots, np.ones(block.n_facts)))


def count_mistakes(block: Block, naming: Naming) -> Mistakes:
    """Count shared mistakes in a vote in which each suspected family has one voice on an item.

    A vote decides an item if one value has more than all others, and two voices or more.
    """
    block, slots = _drawn(block, naming), naming.slots
    n_slots, is_open = naming.n_slots, naming.n_labels > MOST_LABELS
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
    """Return the items that are looked at, on which two sources speak or more."""
    is_met = block.n_voices_of_item > 1
    drawn = block.select(is_met & block.drawn(naming.share, least=0))
    return drawn.said_most()[0] if drawn.n_items else drawn


# --- who agrees too well --------------------------------------------------------------------------


class _Fit(NamedTuple):
    """Agreement as ``c + u v``: of all pairs but those that are left out."""

    u: FloatArray
    chance: float
    loss: float


def with_suspects(naming: Naming, met: Meetings) -> Naming:
    """Find the families of sources that agree beyond chance, and the pairs that do so clearly.

    Of n items on which a share p is expected to agree, and a share a does, chance gives that with a
    probability of exp(-n KL(a || p)) at most. With errors of p itself, and with pairs that differ
    for other reasons (as those show that agree too little), n items tell no more than
    1 / (1 / n + dispersion + variance / (p (1 - p))) would.
    """
    both = np.where(np.eye(len(met.both)) > 0.0, 0.0, met.both)
    n_pairs = np.count_nonzero(np.triu(both >= FEWEST_SHARED))
    if not n_pairs or len(both) < FEWEST_SOURCES:
        return naming._replace(pairs=Copies.none(), suspects=None)
    agreement = np.minimum(met.same / np.maximum(both, 1.0), 1.0) * (both > 0.0)
    found, left = _families(both, agreement)
    p, variance = _expected(found.u, found.chance), _variance(both * left, found)
    dispersion = _dispersion(both, agreement, p, left)
    n = 1.0 / (1.0 / np.maximum(both, 1.0) + dispersion + variance / (p * (1.0 - p)))
    evidence = n * _divergence(np.maximum(agreement, p), p)
    is_suspect = ~left & (both >= FEWEST_SHARED) & (evidence > np.log(n_pairs / FALSE_ALARMS))
    is_suspect &= agreement - p >= LEAST_COPIED * (1.0 - p)
    suspects = Suspects(met, p, is_suspect) if is_suspect.any() else None
    return naming._replace(pairs=Copies.none(), suspects=suspects)


def _families(both: FloatArray, agreement: FloatArray) -> tuple[_Fit, BoolArray]:
    """Leave out one family after the other, as long as the rest then fits so much better.

    Return the fit, and the pairs that are left in it. Families are looked for among the groups of
    an average linkage; those are tried that agree too well by how they agree with others, and these
    among themselves (`_beyond_others`).
    """
    left = ~np.eye(len(both), dtype=np.bool_)
    found, price = _fitted(both, agreement, left), 0.0
    usual = float((both * agreement).sum() / max(both.sum(), 1.0))
    for _ in range(MOST_FAMILIES):
        seen = both / (both + USUAL_ITEMS)
        p = _expected(found.u, found.chance)
        beyond = (agreement - p) / (1.0 - p)
        alike = (agreement - usual) * seen
        groups = {tuple(g) for s in (alike, beyond * seen) for g in _linked(s)}
        tried = sorted(
            ((_beyond_others(np.array(group), both * left, agreement, found.chance), group)
             for group in groups if left[np.ix_(group, group)].any()),
            reverse=True,
        )[:MOST_TRIED]  # fmt: skip
        options = []
        for errors, group in tried:
            if errors < LEAST_ERRORS:
                break
            without = left.copy()
            without[np.ix_(group, group)] = False
            fit = _fitted(both, agreement, without)
            p = _expected(fit.u, fit.chance)
            copied = (agreement - p) / (1.0 - p)
            logs = np.log(np.clip(copied[np.ix_(group, group)], LEAST_RATE, 1.0))
            cost = PER_MEMBER * len(group) - PER_PAIR * np.triu(logs, k=1).sum()
            options.append((fit.loss + cost, cost, group, without, fit))
        if not options or min(options)[0] >= found.loss:
            break
        _, cost, group, left, found = min(options, key=lambda option: option[0])
        price += cost
    return found._replace(loss=found.loss + price), left


def _fitted(both: FloatArray, agreement: FloatArray, left: BoolArray) -> _Fit:
    """Fit c and the number u of each source by least squares (Gauss-Newton), from the pairs left.

    Each u is held to the mean by `USUAL_ITEMS` items.
    """
    n = np.where(left, both, 0.0)
    mean = max(float((n * agreement).sum() / max(n.sum(), 1.0)), LEAST_RATE)
    c = min(mean / 2.0, MOST_CHANCE / 2.0)
    u = np.full(len(both), np.sqrt(mean - c))
    for _ in range(ROUNDS):
        weight, normal = _normal(n, u, c)
        residual = weight * (agreement - _expected(u, c))
        slope = residual @ u + USUAL_ITEMS * u.mean() ** 2 / USUAL_VARIANCE * (u.mean() - u)
        prior = 1.0 / CHANCE_ERROR**2
        pulls = np.stack([slope, weight @ u], axis=1)
        own, by_chance = np.linalg.solve(normal, pulls).T
        slope_of_c = residual.sum() / 2.0 + prior * (MOST_CHANCE / 2.0 - c) - pulls[:, 1] @ own
        held = weight.sum() / 2.0 + prior - pulls[:, 1] @ by_chance
        before, step = c, float(np.clip(DAMPED * slope_of_c / held, -MOST_STEP, MOST_STEP))
        c = min(max(c + step, 0.0), MOST_CHANCE)
        move = np.clip(DAMPED * own - by_chance * (c - before), -MOST_STEP, MOST_STEP)
        u = np.clip(u + move, LEAST_RATE, np.sqrt(1.0 - c))
        if max(np.abs(move).max(), abs(c - before)) < AT_REST:
            break
    p = _expected(u, c)
    loss = 0.25 * float((n / (p * (1.0 - p)) * np.square(agreement - p)).sum())
    return _Fit(u, c, loss)


def _normal(n: FloatArray, u: FloatArray, c: float) -> tuple[FloatArray, FloatArray]:
    """Return the weight of each pair, and the normal matrix of the numbers u."""
    p = _expected(u, c)
    weight = n / (p * (1.0 - p))
    normal = weight * np.outer(u, u)
    held = USUAL_ITEMS * u.mean() ** 2 / USUAL_VARIANCE
    normal[np.arange(len(u)), np.arange(len(u))] = weight @ u**2 + held
    return weight, normal


def _variance(n: FloatArray, fit: _Fit) -> FloatArray:
    """Return the variance of what is expected of each pair, as u was fitted to few items."""
    _, normal = _normal(n, fit.u, fit.chance)
    error = np.linalg.inv(normal)
    variance = np.outer(np.diag(error), fit.u**2) + np.outer(fit.u, fit.u) * error
    return np.asarray(np.maximum(variance + variance.T, 0.0))


def _expected(u: FloatArray, c: float) -> FloatArray:
    """Return how often independent sources agree, neither nearly never nor nearly always."""
    return np.asarray(np.clip(np.outer(u, u) + c, LEAST_RATE, 1.0 - LEAST_RATE))


def _linked(likeness: FloatArray) -> list[tuple[int, ...]]:
    """List the groups of average linkage, the closest first, but those that leave two or fewer."""
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
    group: IntArray, both: FloatArray, agreement: FloatArray, chance: float
) -> float:
    """Return by how many standard errors a group agrees too well, 0 if it copies too little.

    Where agreement is ``c + u v``, that within a group is c + (x - c)^2 / (o - c): x is how often
    the group agrees with others, and o how often these agree among themselves.
    """
    is_in = np.zeros(len(both))
    is_in[group] = 1.0
    totals = []
    for table in (both, both * agreement):
        of_all = table @ is_in
        within = float(is_in @ of_all)
        across = float(of_all.sum()) - within
        totals.append((within, across, float(table.sum()) - 2.0 * across - within))
    (n_within, n_across, n_others), same = totals
    if min(totals[0]) <= 0.0:
        return 0.0
    across = max(same[1] / n_across - chance, 0.0)
    others = max(same[2] / n_others - chance, 1e-3)
    p = min(max(chance + across**2 / others, LEAST_RATE), 1.0 - LEAST_RATE)
    beyond = same[0] / n_within - p
    if beyond < LEAST_COPIED * (1.0 - p):
        return 0.0
    return float(beyond / np.sqrt(p * (1.0 - p) / (n_within / 2.0)))


def _dispersion(both: FloatArray, agreement: FloatArray, p: FloatArray, left: BoolArray) -> float:
    """Estimate how far pairs that agree too little differ beyond chance, as they can by no copies.

    A share of the variance p (1 - p); the estimate is on the safe side where pairs are few.
    """
    is_seen = np.triu(left & (both >= FEWEST_SHARED), k=1)
    is_less = is_seen & (agreement < p)
    if not is_less.any():
        return 0.05
    n, square = both[is_less], np.square(agreement - p)[is_less] / (p * (1.0 - p))[is_less]
    free = max(len(n) * (1.0 - min(len(both) / is_seen.sum(), 0.9)), 1.0)
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

    Sources that err independently share the mistakes that follow from which labels each takes for
    which: the sum over items of Σ c_s[k, l] c_t[k, l], times what it takes to explain those that
    all other pairs share. Of so many, λ, there are w or more with a probability of at most
    exp(w - λ - w log (w / λ)).
    """
    suspects = naming.suspects
    if suspects is None or found is None:
        return naming._replace(suspects=None)
    both, _, wrong, said, losing, alike = found
    n_classes, n_labels = said.shape[1:]
    usual = said.sum(axis=0)
    usual = (usual + 1.0 / n_labels) / (usual.sum(axis=1) + 1.0)[:, None]
    mistaken = (said + USUAL_CLAIMS * usual) / (said.sum(axis=2) + USUAL_CLAIMS)[:, :, None]
    mistaken[:, np.arange(n_classes), np.arange(n_classes)] = 0.0
    expected = sum(both[k] * (mistaken[:, k] @ mistaken[:, k].T) for k in range(n_classes))
    is_other = np.triu(~suspects.is_suspect, k=1)
    usually = 1.0 if n_classes > 1 else (alike + 1.0) / (losing + 1.0)
    expected *= max((wrong[is_other].sum() + 1.0) / (expected[is_other].sum() + 1.0), usually)
    one, other = np.nonzero(np.triu(suspects.is_suspect & (wrong >= FEWEST_MISTAKES)))
    w, by_chance = wrong[one, other], ALLOWANCE * np.maximum(expected[one, other], LEAST_RATE)
    evidence = w * np.log(w / by_chance) - w + by_chance
    n_suspects = np.count_nonzero(np.triu(suspects.is_suspect))
    is_named = (w > by_chance) & (evidence > np.log(n_suspects / MISTAKES_BY_CHANCE))
    one, other = one[is_named], other[is_named]
    order = np.lexsort((-wrong[one, other], -np.round(evidence[is_named], SAME)))[:MOST_COPIES]
    one, other = one[order], other[order]
    met, source_of_slot = suspects.met, np.flatnonzero(naming.slot_of_source >= 0)
    forth = _who_copies(found, one, other)
    in_pairs = met.both.sum(axis=1)
    is_back = np.where(forth == 0.0, in_pairs[one] > in_pairs[other], forth < 0.0)
    source, original = np.where(is_back, other, one), np.where(is_back, one, other)
    pairs = Copies(
        source_of_slot[source], source_of_slot[original], sigmoid(np.abs(forth)),
        met.both[one, other], np.minimum(met.same, met.both)[one, other],
        (met.both * suspects.expected)[one, other], wrong[one, other], expected[one, other],
    )  # fmt: skip
    return naming._replace(pairs=pairs, suspects=None)


def _who_copies(found: Mistakes, one: IntArray, other: IntArray) -> FloatArray:
    """Return how much likelier, in logs, `one` copies the `other` than the other way round.

    An original is as accurate on what is copied from it as on all else. A copier has the accuracy
    of its original on what it copies, and its own on what it adds.
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
    """Return that of so many right claims at the accuracy they show, with half a claim of each."""
    wrong = np.maximum(spoken - right, 0.0)
    log_right, log_wrong = (np.log((n + 0.5) / (spoken + 1.0)) for n in (right, wrong))
    return np.asarray(right * log_right + wrong * log_wrong)
