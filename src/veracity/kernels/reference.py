"""The kernels, written to be read: this module is the definition, `compiled` its fast twin.

A `block` holds items with their facts, the supports of each fact (positive claims) and the voices
of each item (every source that says anything about it). Negative claims are implied: a voice of
the item that does not support the fact opposes it. Each counts in full, or by its share where the
block has shares: what a source says is then an expectation over what it may say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels import BEND, Machine, Numbers, Pace

if TYPE_CHECKING:
    from veracity.claims.block import Block, FloatArray, IntArray

__all__ = [
    "best_two",
    "climb",
    "count_confusions",
    "count_false_pairs",
    "count_named",
    "count_once",
    "count_pairs",
    "count_shared",
    "count_votes",
    "find_links",
    "find_voices",
    "gibbs",
    "lay_out",
    "normalise_log",
    "number_names",
    "part_claims",
    "sum_by_source",
    "sum_claims",
    "sum_confusions",
    "sum_votes",
    "weigh_claims",
]

LOW = np.uint64(0xFFFFFFFF)


def sum_votes(block: Block, base_of_source: FloatArray, weight_of_source: FloatArray) -> FloatArray:
    """Score each fact: the bases of all voices of its item plus the weights of its supporters."""
    base = _counted(base_of_source[block.source_of_voice], block.share_of_voice)
    base_of_item = _sum_by(base, block.first_voice_of_item)
    own = sum_claims(block, weight_of_source[block.source_of_support])
    base_of_fact = np.repeat(base_of_item, np.diff(block.first_fact_of_item))
    return np.asarray(base_of_fact + own, dtype=np.float64)


def sum_claims(block: Block, weight_of_support: FloatArray) -> FloatArray:
    """Score each fact: the sum of what its supports weigh."""
    weight = _counted(weight_of_support, block.share_of_support)
    return _sum_by(weight, block.first_support_of_fact)


def _counted(number: FloatArray, share: FloatArray) -> FloatArray:
    """Numbers of supports or voices, as far as these count."""
    return number * share if len(share) else number


def weigh_claims(
    block: Block,
    log_odds: FloatArray,
    column_of_item: IntArray,
    n_values_of_item: FloatArray,
    weight_of_support: FloatArray,
    n_named_of_support: IntArray,
    shrink_of_item: FloatArray,
) -> FloatArray:
    """What each support adds to the score of its fact.

    ``log_odds[source, column of the item] + log((K - m + 1) / m)`` for one of m values that the
    source names of an item that has K; times the support's weight, over what the item's scores
    shrink by. The last three may be empty: all weigh one, all name one value, nothing shrinks.
    """
    n_supports = np.diff(block.first_support_of_fact[block.first_fact_of_item])
    column, n_values = (
        np.repeat(of_item, n_supports) for of_item in (column_of_item, n_values_of_item)
    )
    n_named = n_named_of_support if len(n_named_of_support) else 1
    words = log_odds[block.source_of_support, column] + np.log((n_values - n_named + 1) / n_named)
    if len(weight_of_support):
        words *= weight_of_support
    if len(shrink_of_item):
        words /= np.repeat(shrink_of_item, n_supports)
    return np.asarray(words)


def sum_by_source(
    block: Block,
    number_of_fact: FloatArray,
    column_of_item: IntArray,
    n_sources: int,
    n_columns: int,
) -> FloatArray:
    """Sum the numbers of the facts that each source supports, [source, column of the item]."""
    n_supports = np.diff(block.first_support_of_fact)
    column = np.repeat(column_of_item[block.item_of_fact], n_supports)
    cell = block.source_of_support.astype(np.int64) * n_columns + column
    number = _counted(np.repeat(number_of_fact, n_supports), block.share_of_support)
    sums = np.bincount(cell, number, n_sources * n_columns).astype(np.float64)
    return np.asarray(sums.reshape(n_sources, n_columns))


def normalise_log(
    score_of_fact: FloatArray, first_fact_of_item: IntArray, unclaimed_of_item: FloatArray
) -> FloatArray:
    """Turn scores into probabilities that add up to one within each item: the softmax.

    What nobody claims of an item has a score of its own: minus infinity if there is no such thing.
    """
    n_facts_of_item = np.diff(first_fact_of_item)
    highest = np.maximum(
        np.maximum.reduceat(score_of_fact, first_fact_of_item[:-1]), unclaimed_of_item
    )
    share = np.exp(score_of_fact - np.repeat(highest, n_facts_of_item))
    total = _sum_by(share, first_fact_of_item) + np.exp(unclaimed_of_item - highest)
    return np.asarray(share / np.repeat(total, n_facts_of_item))


def count_votes(block: Block, plausibility_of_fact: FloatArray, n_sources: int) -> FloatArray:
    """Count, for each source, how its word met the facts.

    Columns: supports of true facts, supports, true facts spoken on, facts spoken on; a fact is
    true as far as it is plausible.
    """
    plausibility_of_support = np.repeat(plausibility_of_fact, np.diff(block.first_support_of_fact))
    n_voices_of_item = np.diff(block.first_voice_of_item)
    true_of_voice = np.repeat(
        _sum_by(plausibility_of_fact, block.first_fact_of_item), n_voices_of_item
    )
    facts_of_voice = np.repeat(np.diff(block.first_fact_of_item), n_voices_of_item)
    support, voice = block.share_of_support, block.share_of_voice
    columns = [
        np.bincount(block.source_of_support, _counted(number, support), n_sources)
        for number in (plausibility_of_support, np.ones(len(plausibility_of_support)))
    ] + [
        np.bincount(block.source_of_voice, _counted(number, voice), n_sources)
        for number in (true_of_voice, facts_of_voice)
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def sum_confusions(
    block: Block, log_confusion: FloatArray, weight_of_support: FloatArray
) -> FloatArray:
    """Score each label of each item: the sum, over supports, of log P(what is said, given it).

    Every support counts as far as it weighs.
    """
    said = np.repeat(block.label_of_fact, np.diff(block.first_support_of_fact))
    weight = _counted(weight_of_support, block.share_of_support)
    words = weight[:, None] * log_confusion[block.source_of_support, :, said]
    return _sum_by(words, block.first_support_of_fact[block.first_fact_of_item])


def count_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_fact: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Count, for each pair of slots, the items both speak of, and the facts that both support.

    Sources without a slot (-1) are left out; facts count as much as they weigh.
    """
    n_slots = int(slot_of_source.max()) + 1
    is_meant = np.bincount(items, minlength=len(block.first_fact_of_item) - 1) > 0
    weight = weight_of_fact * is_meant[block.item_of_fact]
    voices, supports = block.source_of_voice, block.source_of_support
    return (
        _count_meetings(
            is_meant.astype(np.float64), block.first_voice_of_item, slot_of_source[voices], n_slots
        ),
        _count_meetings(weight, block.first_support_of_fact, slot_of_source[supports], n_slots),
    )


def count_false_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_slot: FloatArray
) -> FloatArray:
    """Count, for each pair of slots, the facts that both support, as far as these seem false.

    How far, is one less their share of the item's softmax, with each source weighing as its slot
    says (nothing without one), and both of the pair left out.
    """
    n_slots, first_fact = len(weight_of_slot), block.first_fact_of_item
    weight = np.append(weight_of_slot, 0.0)  # the last: who has no slot
    slot_of_support = slot_of_source[block.source_of_support]
    score = _sum_by(weight[slot_of_support], block.first_support_of_fact)
    is_meant = (np.bincount(items, minlength=len(first_fact) - 1) > 0) & (np.diff(first_fact) > 1)
    n_supports = np.diff(block.first_support_of_fact)
    is_counted = np.repeat(is_meant[block.item_of_fact], n_supports) & (slot_of_support >= 0)
    fact = np.repeat(np.arange(len(score)), n_supports)[is_counted]
    slot = slot_of_support[is_counted]
    one, other = _pairs_within(fact)
    own = score[fact[one]] - weight[slot[one]] - weight[slot[other]]
    seems_false = _sigmoid(_log_rest(score, first_fact)[fact[one]] - own)
    return _both_ways(slot[one], slot[other], seems_false, n_slots)


def _log_rest(score: FloatArray, first_fact_of_item: IntArray) -> FloatArray:
    """Of each fact, log Σ exp of the scores of all others of its item."""
    n_facts, first = np.diff(first_fact_of_item), first_fact_of_item[:-1]
    best = np.lexsort((-score, np.repeat(np.arange(len(n_facts)), n_facts)))[first]
    others = score.copy()
    others[best] = -np.inf
    second = np.maximum(np.maximum.reduceat(others, first), np.finfo(float).min)
    total = np.add.reduceat(np.exp(others - np.repeat(second, n_facts)), first)
    highest = np.repeat(score[best], n_facts)
    all_less_own = np.repeat(np.add.reduceat(np.exp(score - highest), first), n_facts)
    all_less_own -= np.exp(score - highest)
    with np.errstate(divide="ignore"):  # the best one's is replaced, and alone it has no rest
        rest = highest + np.log(all_less_own)
        rest[best] = second + np.log(total)
    return np.asarray(rest)


def _count_meetings(
    weight_of_row: FloatArray, first_of_row: IntArray, slots: IntArray, n_slots: int
) -> FloatArray:
    """For each two slots, the weight of the rows both stand in; -1 is no slot."""
    row = np.repeat(np.arange(len(weight_of_row)), np.diff(first_of_row))
    is_counted = (slots >= 0) & (weight_of_row[row] != 0.0)
    row, slots = row[is_counted], slots[is_counted]
    one, other = _pairs_within(row)
    return _both_ways(slots[one], slots[other], weight_of_row[row[one]], n_slots)


def _pairs_within(group: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of places in the same group, each once; those of a group stand side by side."""
    place, first = np.arange(len(group)), np.searchsorted(group, group)
    n_before = place - first
    one = np.repeat(place, n_before)
    other = np.arange(len(one)) - np.repeat(np.cumsum(n_before) - n_before - first, n_before)
    return one, other


def _both_ways(one: IntArray, other: IntArray, weight: FloatArray, n: int) -> FloatArray:
    """Sums of the weights of pairs, as a table that is the same both ways."""
    sums = np.bincount(one * n + other, weight, n * n).astype(np.float64).reshape(n, n)
    return np.asarray(sums + sums.T)


def count_shared(block: Block, slot_of_source: IntArray, most_supporters: int) -> IntArray:
    """Count, for each pair of slots, the facts both support, of those that few with slots support.

    The lower slot of a pair is the row, the higher one the column.
    """
    n_slots = int(slot_of_source.max()) + 1
    slot_of_support = slot_of_source[block.source_of_support]
    supports = np.flatnonzero(slot_of_support >= 0)
    fact, slot = block.fact_of_support[supports], slot_of_support[supports]
    is_few = np.bincount(fact, minlength=block.n_facts)[fact] <= most_supporters
    one, other = _pairs_within(fact[is_few])
    low, high = _low_and_high(slot[is_few], one, other)
    return np.bincount(low * n_slots + high, minlength=n_slots**2).reshape(n_slots, n_slots)


def find_links(
    block: Block, slot_of_source: IntArray, pair_of_slots: IntArray, n_pairs: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Find, for some pairs of slots, the supports in which both name the same value.

    ``pair_of_slots`` is the number of a pair, both ways, and -1 where two are none. Returns where
    the links of each pair begin, the supports of the lower slot and of the higher one, by fact, and
    how many values of the same items both name: where they name several, as many as the one that
    names fewer.
    """
    slot_of_support = slot_of_source[block.source_of_support]
    supports = np.flatnonzero(slot_of_support >= 0)
    slot, fact = slot_of_support[supports], block.fact_of_support[supports]
    one, other = _pairs_within(fact)
    pair = pair_of_slots[slot[one], slot[other]]
    links = np.flatnonzero(pair >= 0)
    links = links[np.lexsort((fact[one[links]], pair[links]))]
    is_later = slot[one[links]] > slot[other[links]]
    one, other = supports[one[links]], supports[other[links]]
    first_link = np.searchsorted(pair[links], np.arange(n_pairs + 1))
    item, slot, voice = _pairs_of(block.item_of_fact[fact], slot)
    n_named = np.bincount(voice)
    voices, others = _pairs_within(item)
    pair = pair_of_slots[slot[voices], slot[others]]
    both = np.minimum(n_named[voices], n_named[others])[pair >= 0]
    return (
        first_link,
        np.where(is_later, other, one).astype(np.int32),
        np.where(is_later, one, other).astype(np.int32),
        np.bincount(pair[pair >= 0], both, n_pairs).astype(np.int64),
    )


def _low_and_high(slot: IntArray, one: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
    return np.minimum(slot[one], slot[other]), np.maximum(slot[one], slot[other])


def count_once(block: Block, slot_of_source: IntArray, copied: FloatArray) -> FloatArray:
    """Weight of each support: one over how many, itself included, say it as copies of each other.

    1 / (1 + the sum of ``copied[own slot, other slot]`` over the fact's other supporters, each as
    far as it counts).
    """
    slot, n = slot_of_source[block.source_of_support], len(block.source_of_support)
    place = np.flatnonzero(slot >= 0)
    fact = np.repeat(np.arange(len(block.first_support_of_fact) - 1),
                     np.diff(block.first_support_of_fact))  # fmt: skip
    one, other = (place[of_pair] for of_pair in _pairs_within(fact[place]))
    share = _counted(np.ones(n), block.share_of_support)
    others = np.bincount(one, copied[slot[one], slot[other]] * share[other], n)
    others += np.bincount(other, copied[slot[other], slot[one]] * share[one], n)
    return np.asarray(1.0 / (1.0 + others))


def count_named(block: Block, n_sources: int) -> IntArray:
    """For each support, how many values of its item the source names."""
    item = np.repeat(block.item_of_fact, np.diff(block.first_support_of_fact))
    _, voice, n_named = np.unique(
        item * n_sources + block.source_of_support, return_inverse=True, return_counts=True
    )
    return np.asarray(n_named[voice], dtype=np.int32)


def count_confusions(block: Block, label: FloatArray, n_sources: int) -> FloatArray:
    """Count [source, true label, label said]; label k of item i is true to ``label[i, k]``."""
    n_labels, n_supports = label.shape[1], np.diff(block.first_support_of_fact)
    said, item = (
        np.repeat(block.label_of_fact, n_supports),
        np.repeat(block.item_of_fact, n_supports),
    )
    cells = np.ravel_multi_index(
        (block.source_of_support[:, None], np.arange(n_labels), said[:, None]),
        (n_sources, n_labels, n_labels),
    )
    true = _counted(label[item].T, block.share_of_support).T
    counts = np.bincount(cells.ravel(), true.ravel(), n_sources * n_labels**2)
    return np.asarray(counts.reshape(n_sources, n_labels, n_labels), dtype=np.float64)


def climb(
    block: Block, order: IntArray, machine: Machine, pace: Pace, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray, float]:
    """One pass of gradient ascent over mini-batches: what is claimed, less what the model expects.

    `order` is the order of the items; a batch closes when it has enough facts. What the model
    expects has a closed form; where there is randomness, it is sampled from the data in
    `gibbs_steps`: contrastive divergence.

    Returns the new visible biases, weights and global hidden bias.
    """
    a, w, b, is_fixed = machine
    for batch in _batches(block, order, pace.batch_size):
        da, dw, db = np.zeros_like(a), np.zeros_like(w), 0.0
        facts, true_facts = np.zeros_like(a), np.zeros_like(a)
        for item in batch:
            voices = _voices(block, item)
            supporters = _supporters_of_facts(block, item)
            base = b + (_softplus(a[voices]) - _softplus(a[voices] + w[voices])).sum()
            plausible = _judge_item(supporters, w, base, pace.single_truth)
            plausible = _hold_known(plausible, block, item)
            for sources, p in zip(supporters, plausible, strict=True):
                dw[sources] += p
                da[sources] += 1.0
            now = Machine(a, w, b, is_fixed)
            if rng is None or pace.gibbs_steps == 0:
                claims, true_claims, true = _expected(block, item, now, pace, plausible)
            else:
                claims, true_claims, true = _sampled(block, item, now, pace, plausible, rng)
            da[voices] -= claims
            dw[voices] -= true_claims
            db += float(plausible.sum()) - true
            facts[voices] += len(plausible)
            true_facts[voices] += true
        n_facts = sum(len(_supporters_of_facts(block, item)) for item in batch)
        pace_of_batch = pace._replace(rate=pace.rate * min(1.0, pace.facts_per_step / n_facts))
        now, gradient = Machine(a, w, b, is_fixed), (da, dw, db)
        if rng is None or pace.gibbs_steps == 0:
            a, w, b = _foreseen(now, gradient, (facts, true_facts, n_facts), pace_of_batch)
        else:
            a, w, b = _step(now, gradient, pace_of_batch)
    return a, w, b


def _expected(
    block: Block, item: int, machine: Machine, pace: Pace, plausible: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """E[v] and E[v h] of each voice, summed over the item's k facts, and E[h], in closed form.

    With one hidden unit, expect ``true = k * prevalence`` facts to be true (one, under a single
    truth; as many as are true, where that is known); then E[v h] = true * tpr and
    E[v] = true * tpr + (k - true) * fpr.
    """
    voices = _voices(block, item)
    a, w = machine.visible_bias[voices], machine.weight[voices]
    k = len(plausible)
    true = 1.0 if pace.single_truth else float(k * _sigmoid(machine.hidden_bias))
    if block.known_of_fact[block.first_fact_of_item[item]] >= 0:
        true = float(plausible.sum())
    true_claims = true * _sigmoid(a + w)
    return true_claims + (k - true) * _sigmoid(a), true_claims, true


def _sampled(
    block: Block,
    item: int,
    machine: Machine,
    pace: Pace,
    plausible: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, float]:
    """The same, sampled: truths are drawn from plausibilities, then claims from truths, k times."""
    voices = _voices(block, item)
    a, w = machine.visible_bias[voices], machine.weight[voices]
    base = machine.hidden_bias + (_softplus(a) - _softplus(a + w)).sum()
    imagined = plausible
    for _ in range(pace.gibbs_steps):
        is_true = rng.random(len(imagined)) < imagined
        draws = rng.random((len(imagined), len(voices)))
        claimed = draws < np.where(is_true[:, None], _sigmoid(a + w), _sigmoid(a))
        reconstructed = [voices[row] for row in claimed]
        imagined = _judge_item(reconstructed, machine.weight, base, pace.single_truth)
        imagined = _hold_known(imagined, block, item)
    return claimed.sum(axis=0), imagined @ claimed, float(imagined.sum())


def gibbs(
    block: Block,
    truth_of_fact: IntArray,
    counts: FloatArray,
    prior: FloatArray,
    log_prior_odds: float,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Draw the truth of every fact once, given the truth of all the others (collapsed Gibbs).

    ``counts[s, i, j]`` says how often source s claimed j of facts that are i, `prior` the
    same in beta-prior counts m. P(t_f = i | rest) ∝ β_i Π_s (n_sij + m_sij) / (n_si· + m_si·), n
    being counted without fact f. A truth of -1 is not drawn yet: the facts of such an item are
    drawn from the counts before the item, so that a chain starts from the prior.

    Returns the new truths, P(t_f = 1 | rest) as it was at each draw, and the new counts.
    """
    truth, counts = truth_of_fact.copy(), counts.copy()
    probability = np.empty(len(truth))
    draws = rng.random(len(truth))
    for item in range(len(block.first_fact_of_item) - 1):
        voices = _voices(block, item)
        first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
        claims = [
            (fact, np.isin(voices, sources).astype(np.int64))
            for fact, sources in zip(
                range(first, last), _supporters_of_facts(block, item), strict=True
            )
        ]
        is_new = truth[first] < 0
        before = counts.copy()
        for fact, claim in claims:
            if not is_new:
                counts[voices, truth[fact], claim] -= 1.0
            total = (before if is_new else counts) + prior
            share = np.log(total / total.sum(axis=2, keepdims=True))
            log_odds = log_prior_odds + (share[voices, 1, claim] - share[voices, 0, claim]).sum()
            known = block.known_of_fact[fact]
            probability[fact] = _sigmoid(log_odds) if known < 0 else known
            truth[fact] = int(draws[fact] < probability[fact])
            counts[voices, truth[fact], claim] += 1.0
    return truth, probability, counts


def _step(
    machine: Machine, gradient: tuple[FloatArray, FloatArray, float], pace: Pace
) -> tuple[FloatArray, FloatArray, float]:
    """Climb one step; what the sources' biases take up, the global bias gives up.

    The gradient is a sum over the batch's facts. Where these are very many, because the batch is
    large or one item has very many values, the step has shrunk, lest it throw all sources off.

    A helper RBM's hidden bias is b_G + Σ b_s with b_s = log(1 - tpr) - log(1 - fpr), so after the
    step b_G is the new hidden bias less the new b_s. Under a single truth b_G plays no part.
    """
    a, w, b, is_fixed = machine
    da, dw, db = gradient
    rate, free = pace.rate, is_fixed == 0
    new_a, new_w = _moved(machine, free * rate * da, free * rate * (da + dw), pace.limit)
    if pace.single_truth:
        return new_a, new_w, b
    beta, new_beta = (_softplus(x) - _softplus(x + y) for x, y in ((a, w), (new_a, new_w)))
    moved = b + rate * db - (new_beta - beta).sum()
    return new_a, new_w, float(np.clip(moved, -pace.limit, pace.limit))


def _foreseen(
    machine: Machine,
    gradient: tuple[FloatArray, FloatArray, float],
    expected: tuple[FloatArray, FloatArray, float],
    pace: Pace,
) -> tuple[FloatArray, FloatArray, float]:
    """Climb one step by the gradient at its end, not at its start, as far as a line foretells it.

    A sum over n facts climbs n times as steeply as one, and bends n times as much. A step along
    the gradient passes the top and comes down on the other side, further away than before, where
    the rate times that bend exceeds two. This one solves (1 - rate J) move = rate * gradient, J
    being how the gradient falls off as rates and prevalence move, all that is claimed held: it
    ends before the top at any rate, and for small rates it is the same.

    With t = W - m tpr and f = V - W - (n - m) fpr the gradients of log-odds a and c = a + w are
    t + f and 2 t + f; with x = rate m tpr', y = rate (n - m) fpr' a source's part of 1 - rate J is
    1 + [[y, x], [y, 2 x]], and all depend on b_G by a matrix of rank one (Sherman and Morrison).
    """
    a, w, b, is_fixed = machine
    da, dw, db = gradient
    facts, true, n_facts = expected
    rate = np.where(is_fixed == 0, pace.rate, 0.0)
    tpr, fpr = _sigmoid(a + w), _sigmoid(a)
    x, y = rate * true * tpr * (1.0 - tpr), rate * (facts - true) * fpr * (1.0 - fpr)

    def solved(of_true: FloatArray, of_false: FloatArray) -> tuple[FloatArray, FloatArray]:
        scale = 1.0 + y + 2.0 * x + x * y
        return (of_true + (1.0 + x) * of_false) / scale, ((2.0 + y) * of_true + of_false) / scale

    def taken(move_a: FloatArray, move_c: FloatArray) -> float:
        """How much Σ b_s grows as the log-odds move."""
        return float((fpr * move_a - tpr * move_c).sum())

    move_a, move_c = solved(rate * dw, rate * (da - dw))
    if pace.single_truth:
        bias_move = 0.0
    else:
        prevalence = float(_sigmoid(b))
        steep = pace.rate * prevalence * (1.0 - prevalence)
        push = np.where(is_fixed == 0, -steep * facts, 0.0)
        pull_a, pull_c = solved(push * tpr, -push * fpr)
        given = steep * n_facts + taken(pull_a, pull_c)
        bias_move = (pace.rate * db - taken(move_a, move_c)) / (1.0 + given)
        move_a, move_c = move_a + bias_move * pull_a, move_c + bias_move * pull_c
    move_a, move_c = np.clip(move_a, -BEND, BEND), np.clip(move_c, -BEND, BEND)
    new_a, new_w = _moved(machine, move_a, move_c, pace.limit)
    if pace.single_truth:
        return new_a, new_w, b
    beta, new_beta = (_softplus(p) - _softplus(p + q) for p, q in ((a, w), (new_a, new_w)))
    bend = taken(new_a - a, new_a + new_w - a - w) - float((new_beta - beta).sum())
    moved = b + float(np.clip(bias_move, -BEND, BEND)) + bend
    return new_a, new_w, float(np.clip(moved, -pace.limit, pace.limit))


def _moved(
    machine: Machine, move_a: FloatArray, move_c: FloatArray, limit: float
) -> tuple[FloatArray, FloatArray]:
    """Biases and weights after moves of both log-odds; those of fixed sources stay to the bit."""
    a, w, _, is_fixed = machine
    new_a = np.clip(a + move_a, -limit, limit)
    new_w = np.clip(a + w + move_c, -limit, limit) - new_a
    free = is_fixed == 0
    return np.where(free, new_a, a), np.where(free, new_w, w)


def _judge_item(
    supporters: list[IntArray], w: FloatArray, base: float, single_truth: bool
) -> FloatArray:
    """Plausibility of each fact of one item, from the helper RBM of its voices."""
    score = np.array([w[sources].sum() for sources in supporters])
    if single_truth:
        share = np.exp(score - score.max())
        return np.asarray(share / share.sum())
    return np.asarray(_sigmoid(base + score))


def _hold_known(plausible: FloatArray, block: Block, item: int) -> FloatArray:
    """The plausibilities of an item's facts, or what is known of them."""
    known = block.known_of_fact[block.first_fact_of_item[item] : block.first_fact_of_item[item + 1]]
    return known.astype(np.float64) if known[0] >= 0 else plausible


def _batches(block: Block, order: IntArray, batch_size: int) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    n_facts = 0
    for item in order:
        if n_facts >= batch_size:
            batches.append([])
            n_facts = 0
        batches[-1].append(int(item))
        n_facts += int(block.first_fact_of_item[item + 1] - block.first_fact_of_item[item])
    return batches


def _voices(block: Block, item: int) -> IntArray:
    return block.source_of_voice[
        block.first_voice_of_item[item] : block.first_voice_of_item[item + 1]
    ]


def _supporters_of_facts(block: Block, item: int) -> list[IntArray]:
    facts = range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1])
    first = block.first_support_of_fact
    return [block.source_of_support[first[fact] : first[fact + 1]] for fact in facts]


def _sum_by(values: FloatArray, first_of_group: IntArray) -> FloatArray:
    """Sum of each group of neighbouring values; an empty group sums to zero."""
    sums = np.zeros((len(first_of_group) - 1, *values.shape[1:]))
    is_filled = np.diff(first_of_group) > 0
    if len(values):
        sums[is_filled] = np.add.reduceat(values, first_of_group[:-1][is_filled])
    return sums


def _sigmoid(x: FloatArray | float) -> FloatArray:
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(x, dtype=np.float64))))


def _softplus(x: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, x)


def best_two(
    first_fact_of_item: IntArray, score_of_fact: FloatArray, supporters_of_fact: IntArray
) -> tuple[IntArray, IntArray]:
    """The facts with the highest score and the next of each item; where there is one, twice that.

    Of equal scores the one with more supporters comes first, then the first.
    """
    item_of_fact = np.repeat(np.arange(len(first_fact_of_item) - 1), np.diff(first_fact_of_item))
    rank = np.lexsort((-supporters_of_fact, -score_of_fact, item_of_fact))
    first, last = first_fact_of_item[:-1], first_fact_of_item[1:]
    return rank[first], rank[np.minimum(first + 1, last - 1)]


# --- encoding -------------------------------------------------------------------------------------


def number_names(
    slots: IntArray, n_names: int, first_hash: IntArray, second_hash: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Number names, known by two hashes, in the order they are first met.

    The slots remember the names that are numbered: a row holds the first hash, and the upper half
    of the second with the number, from 1, in its lower half; an empty row is zero. So names are
    told apart by 96 bits. A name stands at the first free row from the one its first hash names.
    Returns the slots, of which there are always more than names, the number of each row, and the
    rows that brought a new name.
    """
    known = slots[slots[:, 1] != 0]
    known = known[np.argsort(known[:, 1] & LOW)]
    first = np.append(known[:, 0], first_hash)
    mark = np.append(known[:, 1], second_hash) & ~LOW
    order = np.lexsort((mark, first))  # stable: of equal names the one that was met first is first
    is_other = np.append(True, np.diff(first[order]) != 0) | np.append(
        True, np.diff(mark[order]) != 0
    )
    row_of_name = np.sort(order[is_other])
    number_of_row = np.empty(len(order), np.int32)
    number_of_row[order] = np.searchsorted(row_of_name, order[is_other])[np.cumsum(is_other) - 1]
    number = np.arange(1, len(row_of_name) + 1, dtype=np.uint64)
    names = np.stack([first[row_of_name], mark[row_of_name] | number], axis=1)
    new_row = row_of_name[n_names:] - n_names
    return _in_slots(names, len(slots)), number_of_row[n_names:], new_row.astype(np.int32)


def _in_slots(names: IntArray, n_slots: int) -> IntArray:
    """Names in slots, one after the other, of which there are half as many more at least."""
    while 3 * len(names) > 2 * n_slots:
        n_slots *= 2
    is_taken, slot_of_name = bytearray(n_slots), []
    for slot in (names[:, 0] % np.uint64(n_slots)).tolist():
        while is_taken[slot]:
            slot = (slot + 1) % n_slots  # noqa: PLW2901 - the next one, until one is free
        is_taken[slot] = True
        slot_of_name.append(slot)
    slots = np.zeros((n_slots, 2), dtype=np.uint64)
    slots[np.array(slot_of_name, np.int64)] = names
    return slots


def part_claims(
    item: Numbers, spelling: Numbers, source: Numbers, items_per_part: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Put names in their places, and bring the claims of each part together, in their order.

    A part is `items_per_part` items. Returns where each part begins, the place of each claim's
    item, and its key: the place of its spelling in the upper half, of its source in the lower half.
    """
    item_of_claim, spelling_of_claim, source_of_claim = (
        names.place[names.number] for names in (item, spelling, source)
    )
    part = item_of_claim // items_per_part
    order = np.argsort(part, kind="stable")
    key = (spelling_of_claim.astype(np.uint64) << np.uint64(32)) | source_of_claim.astype(np.uint64)
    n_parts = (len(item.place) - 1) // items_per_part + 1
    first_of_part = np.append(0, np.cumsum(np.bincount(part, minlength=n_parts)))
    return first_of_part, item_of_claim[order], key[order]


def lay_out(
    item_of_claim: IntArray, key_of_claim: IntArray, value_of_spelling: IntArray, n_items: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Bring the claims of each fact together, the facts of each item, and leave out repetitions.

    Keys are those of `part_claims`. Every item has a claim; the spellings of one value are
    neighbours. Returns the first fact of each item, the first support of each fact, the source of
    each support, in ascending order within the fact, and the spelling that most claims of the
    fact use, of equally usual ones the first.
    """
    spelling = (key_of_claim >> np.uint64(32)).astype(np.int64)
    source = (key_of_claim & np.uint64(0xFFFFFFFF)).astype(np.int64)
    value = value_of_spelling[spelling]
    item_of_fact, _, fact_of_claim = _pairs_of(item_of_claim, value)
    fact_of_support, source_of_support, _ = _pairs_of(fact_of_claim, source)
    fact_of_spelt, spelt, place = _pairs_of(fact_of_claim, spelling)
    usual_first = np.lexsort((spelt, -np.bincount(place), fact_of_spelt))
    _, first = np.unique(fact_of_spelt[usual_first], return_index=True)
    return (
        np.searchsorted(item_of_fact, np.arange(n_items + 1)),
        np.searchsorted(fact_of_support, np.arange(len(item_of_fact) + 1)),
        source_of_support.astype(np.int32),
        spelt[usual_first][first].astype(np.int32),
    )


def find_voices(
    first_fact_of_item: IntArray,
    first_support_of_fact: IntArray,
    source_of_support: IntArray,
) -> tuple[IntArray, IntArray]:
    """The sources that speak of each item, each once, in ascending order."""
    n_items = len(first_fact_of_item) - 1
    n_supports_of_item = np.diff(first_support_of_fact[first_fact_of_item])
    item_of_support = np.repeat(np.arange(n_items), n_supports_of_item)
    item_of_voice, source_of_voice, _ = _pairs_of(item_of_support, source_of_support)
    first_voice_of_item = np.searchsorted(item_of_voice, np.arange(n_items + 1))
    return first_voice_of_item, source_of_voice.astype(np.int32)


def _pairs_of(one: IntArray, other: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The different pairs of two columns of numbers, sorted, and which of them each row has."""
    n = int(other.max(initial=0)) + 1
    pairs, pair_of_row = np.unique(one.astype(np.int64) * n + other, return_inverse=True)
    return pairs // n, pairs % n, pair_of_row
