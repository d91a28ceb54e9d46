"""The kernels of `reference`, compiled: same names, same arguments, same answers."""

from __future__ import annotations

from math import exp, log, log1p
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from veracity.kernels import STEADY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veracity.encode import Block, FloatArray, IntArray
    from veracity.kernels import Machine, Pace

__all__ = [
    "climb",
    "count_confusions",
    "count_once",
    "count_pairs",
    "count_votes",
    "gibbs",
    "normalise_log",
    "sum_confusions",
    "sum_votes",
    "weigh_confusions",
]


@njit(cache=True, nogil=True)
def sum_votes(block: Block, base_of_source: FloatArray, weight_of_source: FloatArray) -> FloatArray:
    """See the reference."""
    score = np.empty(len(block.first_support_of_fact) - 1)
    for item in range(len(block.first_fact_of_item) - 1):
        base = 0.0
        for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
            base += base_of_source[block.source_of_voice[voice]]
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            score[fact] = base + _support(block, fact, weight_of_source)
    return score


@njit(cache=True, nogil=True)
def normalise_log(score_of_fact: FloatArray, first_fact_of_item: IntArray) -> FloatArray:
    """See the reference."""
    plausibility = np.empty(len(score_of_fact))
    for item in range(len(first_fact_of_item) - 1):
        first, last = first_fact_of_item[item], first_fact_of_item[item + 1]
        highest = score_of_fact[first]
        for fact in range(first, last):
            highest = max(highest, score_of_fact[fact])
        total = 0.0
        for fact in range(first, last):
            plausibility[fact] = exp(score_of_fact[fact] - highest)
            total += plausibility[fact]
        for fact in range(first, last):
            plausibility[fact] /= total
    return plausibility


@njit(cache=True, nogil=True)
def count_votes(block: Block, plausibility_of_fact: FloatArray, n_sources: int) -> FloatArray:
    """See the reference."""
    counts = np.zeros((n_sources, 4))
    for item in range(len(block.first_fact_of_item) - 1):
        first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
        true = 0.0
        for fact in range(first, last):
            plausibility = plausibility_of_fact[fact]
            true += plausibility
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source = block.source_of_support[i]
                counts[source, 0] += plausibility
                counts[source, 1] += 1.0
        for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
            source = block.source_of_voice[voice]
            counts[source, 2] += true
            counts[source, 3] += last - first
    return counts


@njit(cache=True, nogil=True)
def sum_confusions(block: Block, label_of_fact: IntArray, log_confusion: FloatArray) -> FloatArray:
    """See the reference."""
    n_labels = log_confusion.shape[1]
    score = np.zeros((len(block.first_fact_of_item) - 1, n_labels))
    for item in range(len(score)):
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            said = label_of_fact[fact]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source = block.source_of_support[i]
                for true in range(n_labels):
                    score[item, true] += log_confusion[source, true, said]
    return score


@njit(cache=True, nogil=True)
def weigh_confusions(
    block: Block, label_of_fact: IntArray, log_confusion: FloatArray, weight_of_support: FloatArray
) -> FloatArray:
    """See the reference."""
    n_labels = log_confusion.shape[1]
    score = np.zeros((len(block.first_fact_of_item) - 1, n_labels))
    for item in range(len(score)):
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            said = label_of_fact[fact]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source = block.source_of_support[i]
                for true in range(n_labels):
                    score[item, true] += weight_of_support[i] * log_confusion[source, true, said]
    return score


@njit(cache=True, nogil=True)
def count_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_fact: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """See the reference."""
    n_slots = slot_of_source.max() + 1
    both, same = np.zeros((n_slots, n_slots)), np.zeros((n_slots, n_slots))
    slots = np.empty(n_slots, dtype=np.int64)
    for item in items:
        _add_pairs(
            both, slots, slot_of_source, block.source_of_voice,
            block.first_voice_of_item[item], block.first_voice_of_item[item + 1], 1.0,
        )  # fmt: skip
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            _add_pairs(
                same, slots, slot_of_source, block.source_of_support,
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1],
                weight_of_fact[fact],
            )  # fmt: skip
    for one in range(n_slots):
        for other in range(one):
            both[other, one], same[other, one] = both[one, other], same[one, other]
    return both, same


@njit(cache=True, nogil=True)
def _add_pairs(
    counts: FloatArray, slots: IntArray, slot_of_source: IntArray, sources: IntArray,
    first: int, last: int, weight: float,
) -> None:  # fmt: skip
    """Add to all pairs among some sources that have slots; only the lower half is kept."""
    n = 0
    for i in range(first, last):
        slot = slot_of_source[sources[i]]
        if slot >= 0:
            slots[n] = slot
            n += 1
    for i in range(n):
        for j in range(i):
            one, other = slots[i], slots[j]
            if one > other:
                counts[one, other] += weight
            else:
                counts[other, one] += weight


@njit(cache=True, nogil=True)
def count_once(block: Block, slot_of_source: IntArray, copied: FloatArray) -> FloatArray:
    """See the reference."""
    weight = np.ones(len(block.source_of_support))
    slots = np.empty(len(copied), dtype=np.int64)
    for fact in range(len(block.first_support_of_fact) - 1):
        first, last = block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
        n = 0
        for i in range(first, last):
            slot = slot_of_source[block.source_of_support[i]]
            if slot >= 0:
                slots[n] = slot
                n += 1
        if n < 2:
            continue
        for i in range(first, last):
            own = slot_of_source[block.source_of_support[i]]
            if own >= 0:
                among = 1.0
                for j in range(n):
                    if slots[j] != own:
                        among += copied[own, slots[j]]
                weight[i] = 1.0 / among
    return weight


@njit(cache=True, nogil=True)
def count_confusions(
    block: Block, label_of_fact: IntArray, label: FloatArray, n_sources: int
) -> FloatArray:
    """See the reference."""
    n_labels = label.shape[1]
    counts = np.zeros((n_sources, n_labels, n_labels))
    for item in range(len(label)):
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            said = label_of_fact[fact]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source = block.source_of_support[i]
                for true in range(n_labels):
                    counts[source, true, said] += label[item, true]
    return counts


@njit(cache=True, nogil=True)
def climb(
    block: Block, order: IntArray, machine: Machine, pace: Pace, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """See the reference."""
    a, w, b = machine.visible_bias.copy(), machine.weight.copy(), machine.hidden_bias
    notes = _begin(a, w)
    plausible = np.empty(_most_facts(block))
    n_touched, n_facts, db = 0, 0, 0.0
    for turn in range(len(order)):
        item = order[turn]
        k = _judge_item(block, item, w, notes.rates, b, pace.single_truth, plausible)
        found = _positive_phase(block, item, plausible, notes.gradient)
        if pace.gibbs_steps == 0:
            db += found - _expected(block, item, b, pace, found, notes)
        else:
            db += found - _sampled(block, item, w, b, pace, plausible, notes, rng)
        n_touched = _touch(block, item, notes, n_touched)
        n_facts += k
        if n_facts >= pace.batch_size or turn == len(order) - 1:
            rate = pace.rate * min(1.0, STEADY / n_facts)
            b = _step(a, w, b, db, machine.is_fixed, notes, n_touched, rate, pace)
            n_touched, n_facts, db = 0, 0, 0.0
    return a, w, b


@njit(cache=True, nogil=True)
def gibbs(
    block: Block,
    truth_of_fact: IntArray,
    counts: FloatArray,
    prior: FloatArray,
    log_prior_odds: float,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """See the reference; here the voices' log-odds are kept and mended only when a truth flips.

    All facts of an item that are now false see the same sum over opposing voices, and so do all
    that are now true, so a draw costs its own supporters only, not the item's voices.
    """
    truth, counts = truth_of_fact.copy(), counts.copy()
    probability = np.empty(len(truth))
    odds = np.empty((len(counts), 3, 2))
    for source in range(len(counts)):
        _mend_odds(odds, counts, prior, source)
    for item in range(len(block.first_fact_of_item) - 1):
        first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
        is_new = truth[first] < 0
        base = _base_odds(block, item, odds)
        for fact in range(first, last):
            now = 2 if is_new else truth[fact]
            log_odds = log_prior_odds + base[now]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source = block.source_of_support[i]
                log_odds += odds[source, now, 1] - odds[source, now, 0]
            known = block.known_of_fact[fact]
            probability[fact] = _sigmoid(log_odds) if known < 0 else known
            drawn = 1 if rng.random() < probability[fact] else 0
            if is_new:
                truth[fact] = drawn
            elif drawn != truth[fact]:
                _recount(block, item, fact, counts, truth[fact], -1.0)
                _recount(block, item, fact, counts, drawn, 1.0)
                truth[fact] = drawn
                base = _mend_item(block, item, odds, counts, prior)
        if is_new:
            _count_item(block, item, truth, counts)
            _mend_item(block, item, odds, counts, prior)
    return truth, probability, counts


@njit(cache=True, nogil=True)
def _count_item(block: Block, item: int, truth: IntArray, counts: FloatArray) -> None:
    """Add a newly drawn item to the counts, in one go over its voices and supports."""
    first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
    n_true = 0
    for fact in range(first, last):
        n_true += truth[fact]
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        source = block.source_of_voice[voice]
        counts[source, 1, 0] += n_true
        counts[source, 0, 0] += last - first - n_true
    for fact in range(first, last):
        for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
            source = block.source_of_support[i]
            counts[source, truth[fact], 0] -= 1.0
            counts[source, truth[fact], 1] += 1.0


@njit(cache=True, nogil=True)
def _recount(
    block: Block, item: int, fact: int, counts: FloatArray, truth: int, amount: float
) -> None:
    """Add `amount` to what every voice of the item is counted for on this fact."""
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        counts[block.source_of_voice[voice], truth, 0] += amount
    for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
        counts[block.source_of_support[i], truth, 0] -= amount
        counts[block.source_of_support[i], truth, 1] += amount


@njit(cache=True, nogil=True)
def _mend_item(
    block: Block, item: int, odds: FloatArray, counts: FloatArray, prior: FloatArray
) -> FloatArray:
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        _mend_odds(odds, counts, prior, block.source_of_voice[voice])
    return _base_odds(block, item, odds)


@njit(cache=True, nogil=True)
def _mend_odds(odds: FloatArray, counts: FloatArray, prior: FloatArray, source: int) -> None:
    """What one claim of the source adds to a fact's log-odds: odds[source, fact is now, claim].

    The fact itself is taken out of the counts; "now" 2 stands for a fact that is not in them.
    """
    false_0 = counts[source, 0, 0] + prior[source, 0, 0]
    false_1 = counts[source, 0, 1] + prior[source, 0, 1]
    true_0 = counts[source, 1, 0] + prior[source, 1, 0]
    true_1 = counts[source, 1, 1] + prior[source, 1, 1]
    for now in range(3):
        less_true = 1.0 if now == 1 else 0.0
        less_false = 1.0 if now == 0 else 0.0
        all_true, all_false = true_0 + true_1 - less_true, false_0 + false_1 - less_false
        odds[source, now, 0] = _log_odds(
            true_0 - less_true, all_true, false_0 - less_false, all_false
        )
        odds[source, now, 1] = _log_odds(
            true_1 - less_true, all_true, false_1 - less_false, all_false
        )


@njit(cache=True, nogil=True)
def _log_odds(true: float, all_true: float, false: float, all_false: float) -> float:
    # Not positive: the source makes no such claim on any fact of this truth, so whatever stands
    # here is added for a voice and taken off again for its support.
    if true <= 0.0 or false <= 0.0 or all_true <= 0.0 or all_false <= 0.0:
        return 0.0
    return log(true / all_true * (all_false / false))


@njit(cache=True, nogil=True)
def _base_odds(block: Block, item: int, odds: FloatArray) -> FloatArray:
    base = np.zeros(3)
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        for now in range(3):
            base[now] += odds[block.source_of_voice[voice], now, 0]
    return base


class Notes(NamedTuple):
    """What a pass keeps of each source: (tpr, fpr, b_s), the gradient of (a, w), who is touched."""

    rates: FloatArray
    gradient: FloatArray
    touched: IntArray
    is_touched: NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _begin(a: FloatArray, w: FloatArray) -> Notes:
    n_sources = len(a)
    rates = np.empty((n_sources, 3))
    for source in range(n_sources):
        _mend_rates(rates, a, w, source)
    touched, is_touched = np.empty(n_sources, np.int64), np.zeros(n_sources, np.bool_)
    return Notes(rates, np.zeros((n_sources, 2)), touched, is_touched)


@njit(cache=True, nogil=True)
def _touch(block: Block, item: int, notes: Notes, n_touched: int) -> int:
    """Put the item's voices on the list of touched sources; return its length."""
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        source = block.source_of_voice[voice]
        if not notes.is_touched[source]:
            notes.is_touched[source] = True
            notes.touched[n_touched] = source
            n_touched += 1
    return n_touched


@njit(cache=True, nogil=True)
def _mend_rates(rates: FloatArray, a: FloatArray, w: FloatArray, source: int) -> None:
    rates[source, 0] = _sigmoid(a[source] + w[source])
    rates[source, 1] = _sigmoid(a[source])
    rates[source, 2] = _softplus(a[source]) - _softplus(a[source] + w[source])


@njit(cache=True, nogil=True)
def _positive_phase(block: Block, item: int, plausible: FloatArray, gradient: FloatArray) -> float:
    """Add what the data say, v and p v; return the sum of the item's plausibilities."""
    first = block.first_fact_of_item[item]
    total = 0.0
    for fact in range(first, block.first_fact_of_item[item + 1]):
        p = plausible[fact - first]
        total += p
        for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
            source = block.source_of_support[i]
            gradient[source, 0] += 1.0
            gradient[source, 1] += p
    return total


@njit(cache=True, nogil=True)
def _judge_item(
    block: Block,
    item: int,
    w: FloatArray,
    rates: FloatArray,
    b: float,
    single_truth: bool,
    plausible: FloatArray,
) -> int:
    """Write the plausibilities of the item's facts; return how many there are."""
    first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
    base = b
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        base += rates[block.source_of_voice[voice], 2]
    for fact in range(first, last):
        plausible[fact - first] = _support(block, fact, w)
    _activate(plausible[: last - first], base, single_truth)
    _hold_known(block, item, plausible)
    return int(last - first)


@njit(cache=True, nogil=True)
def _hold_known(block: Block, item: int, plausible: FloatArray) -> None:
    """Put what is known of an item's facts in the place of what is thought of them."""
    first = block.first_fact_of_item[item]
    if block.known_of_fact[first] >= 0:
        for fact in range(first, block.first_fact_of_item[item + 1]):
            plausible[fact - first] = block.known_of_fact[fact]


@njit(cache=True, nogil=True)
def _expected(block: Block, item: int, b: float, pace: Pace, found: float, notes: Notes) -> float:
    """Take off what the model expects, in closed form; return how many facts it expects true."""
    first = block.first_fact_of_item[item]
    k = block.first_fact_of_item[item + 1] - first
    true = 1.0 if pace.single_truth else k * _sigmoid(b)
    if block.known_of_fact[first] >= 0:
        true = found
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        source = block.source_of_voice[voice]
        met = true * notes.rates[source, 0]
        notes.gradient[source, 0] -= met + (k - true) * notes.rates[source, 1]
        notes.gradient[source, 1] -= met
    return true


@njit(cache=True, nogil=True)
def _sampled(
    block: Block,
    item: int,
    w: FloatArray,
    b: float,
    pace: Pace,
    plausible: FloatArray,
    notes: Notes,
    rng: np.random.Generator,
) -> float:
    """Take off what is imagined in the place of the data; return how much of it is true."""
    first, last = block.first_voice_of_item[item], block.first_voice_of_item[item + 1]
    voices = block.source_of_voice[first:last]
    k = block.first_fact_of_item[item + 1] - block.first_fact_of_item[item]
    base = b
    for source in voices:
        base += notes.rates[source, 2]
    claimed = np.empty((k, len(voices)), np.bool_)
    for _ in range(pace.gibbs_steps):
        _imagine(voices, w, notes.rates, base, pace.single_truth, plausible, claimed, rng)
        _hold_known(block, item, plausible)
    true = 0.0
    for fact in range(k):
        true += plausible[fact]
        for i in range(len(voices)):
            if claimed[fact, i]:
                notes.gradient[voices[i], 0] -= 1.0
                notes.gradient[voices[i], 1] -= plausible[fact]
    return true


@njit(cache=True, nogil=True)
def _imagine(
    voices: IntArray,
    w: FloatArray,
    rates: FloatArray,
    base: float,
    single_truth: bool,
    plausible: FloatArray,
    claimed: NDArray[np.bool_],
    rng: np.random.Generator,
) -> None:
    """One Gibbs step: draw truths, then claims; `plausible` becomes what the claims make of it."""
    n_facts, n_voices = claimed.shape
    is_true = np.empty(n_facts, np.bool_)
    for fact in range(n_facts):
        is_true[fact] = rng.random() < plausible[fact]
    for fact in range(n_facts):
        plausible[fact] = 0.0
        column = 0 if is_true[fact] else 1
        for i in range(n_voices):
            claimed[fact, i] = rng.random() < rates[voices[i], column]
            if claimed[fact, i]:
                plausible[fact] += w[voices[i]]
    _activate(plausible[:n_facts], base, single_truth)


@njit(cache=True, nogil=True)
def _activate(score: FloatArray, base: float, single_truth: bool) -> None:
    """Turn the scores of one item into plausibilities, in place."""
    if not single_truth:
        for fact in range(len(score)):
            score[fact] = _sigmoid(base + score[fact])
        return
    highest = score.max()
    total = 0.0
    for fact in range(len(score)):
        score[fact] = exp(score[fact] - highest)
        total += score[fact]
    for fact in range(len(score)):
        score[fact] /= total


@njit(cache=True, nogil=True)
def _step(
    a: FloatArray,
    w: FloatArray,
    b: float,
    db: float,
    is_fixed: IntArray,
    notes: Notes,
    n_touched: int,
    rate: float,
    pace: Pace,
) -> float:
    """Move the touched sources in place, clear their gradient, return the new global bias."""
    beta_change = 0.0
    for source in notes.touched[:n_touched]:
        notes.is_touched[source] = False
        if not is_fixed[source]:
            da, dw = notes.gradient[source, 0], notes.gradient[source, 1]
            high = _clip(a[source] + w[source] + rate * (da + dw), pace.limit)
            a[source] = _clip(a[source] + rate * da, pace.limit)
            w[source] = high - a[source]
            beta = notes.rates[source, 2]
            _mend_rates(notes.rates, a, w, source)
            beta_change += notes.rates[source, 2] - beta
        notes.gradient[source, 0] = 0.0
        notes.gradient[source, 1] = 0.0
    return b if pace.single_truth else _clip(b + rate * db - beta_change, pace.limit)


@njit(cache=True, nogil=True)
def _support(block: Block, fact: int, weight_of_source: FloatArray) -> float:
    total = 0.0
    for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
        total += weight_of_source[block.source_of_support[i]]
    return total


@njit(cache=True, nogil=True)
def _most_facts(block: Block) -> int:
    return int(np.diff(block.first_fact_of_item).max())


@njit(cache=True, nogil=True)
def _clip(x: float, limit: float) -> float:
    return min(max(x, -limit), limit)


@njit(cache=True, nogil=True)
def _sigmoid(x: float) -> float:
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    share = exp(x)
    return share / (1.0 + share)


@njit(cache=True, nogil=True)
def _softplus(x: float) -> float:
    return max(x, 0.0) + log1p(exp(-abs(x)))
