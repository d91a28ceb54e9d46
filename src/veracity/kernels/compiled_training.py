"""Compiled training: LTD-RBM's pass of mini-batches, and LTM's round of Gibbs sampling.

Kernels call helpers of their own file only: see `compiled`.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veracity.kernels import InOrder, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veracity.encoding.block import Block, FloatArray, IntArray
    from veracity.kernels import Machine, Pace

WEIGHT, BIAS, FPR, TPR, PLAUSIBLE, TRUE, SUPPORTS, FACTS = range(8)
"""Columns of the state of sources, side by side since each claim needs several of them.

First the weight w, the source's part b_s of the hidden bias, fpr and tpr. Then sums over the batch:
the plausibility of the facts it supports, the expected number of true facts among those it votes
on, the number of facts it supports, and the number it votes on.
"""

CACHE_LINE = 64
"""Number of bytes that a processor loads at once: eight numbers, the state of one source."""


class Workspace(NamedTuple):
    """State of sources, their visible biases, and arrays for one batch.

    `move` and `pull` have a row per touched source of the batch, `base` has one per item of the
    batch, `plausible` has one per fact of an item.
    """

    state: FloatArray
    visible_bias: FloatArray
    touched: IntArray
    move: FloatArray
    pull: FloatArray
    base: FloatArray
    plausible: FloatArray


def ascend(
    items: InOrder, machine: Machine, pace: Pace, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray, float]:
    """See the reference."""
    w, b, visible_bias = machine.weight, machine.hidden_bias, machine.visible_bias.copy()
    if_false, if_true = 1.0 + np.exp(-visible_bias), 1.0 + np.exp(-visible_bias - w)
    # In large pages, for which NumPy asks and Numba does not, and each source on one line of the
    # cache: a pass over 10^6 sources takes a third less by it.
    room = np.zeros(len(w) * 8 + 8)
    first = -room.ctypes.data % CACHE_LINE // room.itemsize
    state = room[first : first + len(w) * 8].reshape(-1, 8)
    state[:, WEIGHT], state[:, BIAS] = w, np.log(if_false / if_true) - w
    state[:, FPR], state[:, TPR] = 1.0 / if_false, 1.0 / if_true
    state[:, FACTS] = machine.is_fixed  # above zero, so that batches never list a fixed source
    b = ascend_in(state, visible_bias, items, b, pace, rng)
    return visible_bias, state[:, WEIGHT].copy(), b


@kernel
def ascend_in(
    state: FloatArray,
    visible_bias: FloatArray,
    items: InOrder,
    b: float,
    pace: Pace,
    rng: np.random.Generator | None,
) -> float:
    """Move the sources in place; return b_G. Without `rng`, the sampling code is not compiled."""
    n_sources, n_items, longest = len(state), len(items.first_fact_of_item) - 1, 0
    for item in range(n_items):
        longest = max(longest, items.first_fact_of_item[item + 1] - items.first_fact_of_item[item])
    work = Workspace(
        state,
        visible_bias,
        np.empty(n_sources, np.int64),
        np.empty((n_sources, 2)),
        np.empty((n_sources, 2)),
        np.empty(n_items),
        np.empty(longest),
    )
    # Not 0, which is a type of its own to the compiler: all would be compiled once more for it.
    item = n_items * 0
    while item < n_items:
        first = item
        item = _end_of_batch(items.first_fact_of_item, first, pace.batch_size)
        n_facts = items.first_fact_of_item[item] - items.first_fact_of_item[first]
        rate = pace.rate * min(1.0, pace.facts_per_step / n_facts)
        db, n_touched = _study(items, first, item, b, pace, work, rng)
        if pace.gibbs_steps > 0:
            _follow(work, n_touched, rate)
            bias_move = rate * db - _move(work, n_touched, pace.limit)[1]
        else:
            bias_move = _foresee(work, n_touched, rate, b, db, n_facts, pace)
            foreseen, taken = _move(work, n_touched, pace.limit)
            bias_move += foreseen - taken
        if not pace.single_truth:
            b = _clip(b + bias_move, pace.limit)
    return b


@kernel
def _end_of_batch(first_fact_of_item: IntArray, item: int, batch_size: int) -> int:
    """Return the end of the batch that begins with this item: at least `batch_size` facts."""
    first, item = first_fact_of_item[item], item + 1
    while item < len(first_fact_of_item) - 1 and first_fact_of_item[item] - first < batch_size:
        item += 1
    return item


@kernel
def _study(
    block: InOrder,
    first_item: int,
    last_item: int,
    b: float,
    pace: Pace,
    work: Workspace,
    rng: np.random.Generator | None,
) -> tuple[float, int]:
    """Add the sums of a batch to the state; return the gradient of b, and the number of sources."""
    first_fact_of_item, first_support_of_fact = (
        block.first_fact_of_item,
        block.first_support_of_fact,
    )
    source_of_support, source_of_voice = block.source_of_support, block.source_of_voice
    first_voice_of_item, known_of_fact = block.first_voice_of_item, block.known_of_fact
    state, touched, plausible = work.state, work.touched, work.plausible
    prevalence, db, n_touched = _sigmoid(b), 0.0, 0
    # First of all items, so that memory is asked for many sources at once.
    for item in range(first_item, last_item):
        base = b
        for voice in range(first_voice_of_item[item], first_voice_of_item[item + 1]):
            base += state[source_of_voice[voice], BIAS]
        work.base[item - first_item] = base
    for item in range(first_item, last_item):
        first, last = first_fact_of_item[item], first_fact_of_item[item + 1]
        for fact in range(first, last):
            score = 0.0
            for i in range(first_support_of_fact[fact], first_support_of_fact[fact + 1]):
                score += state[source_of_support[i], WEIGHT]
            plausible[fact - first] = score
        _activate(plausible[: last - first], work.base[item - first_item], pace.single_truth)
        found = 0.0
        for fact in range(first, last):
            if known_of_fact[fact] >= 0:
                plausible[fact - first] = known_of_fact[fact]
            p = plausible[fact - first]
            found += p
            for i in range(first_support_of_fact[fact], first_support_of_fact[fact + 1]):
                source = source_of_support[i]
                state[source, SUPPORTS] += 1.0
                state[source, PLAUSIBLE] += p
        k = float(last - first)
        true = 1.0 if pace.single_truth else k * prevalence
        if known_of_fact[first] >= 0:
            true = found
        for voice in range(first_voice_of_item[item], first_voice_of_item[item + 1]):
            source = source_of_voice[voice]
            if state[source, FACTS] == 0.0:
                touched[n_touched] = source
                n_touched += 1
            state[source, FACTS] += k
            state[source, TRUE] += true
        # Asked alone, so that the compiler leaves out the rest where there is none.
        if rng is not None:  # noqa: SIM102
            if pace.gibbs_steps > 0:
                true = _sampled(block, item, work.base[item - first_item], pace, work, rng)
        db += found - true
    return db, n_touched


@kernel
def _sampled(
    block: InOrder,
    item: int,
    base: float,
    pace: Pace,
    work: Workspace,
    rng: np.random.Generator,
) -> float:
    """Subtract the sums of a sample of the model; return how many facts are true in the sample."""
    state, plausible = work.state, work.plausible
    first, last = block.first_voice_of_item[item], block.first_voice_of_item[item + 1]
    voices = block.source_of_voice[first:last]
    first_fact = block.first_fact_of_item[item]
    n_facts = block.first_fact_of_item[item + 1] - first_fact
    claimed = np.empty((n_facts, len(voices)), np.bool_)
    for _ in range(pace.gibbs_steps):
        _imagine(voices, work, base, pace.single_truth, claimed, rng)
        if block.known_of_fact[first_fact] >= 0:
            for fact in range(n_facts):
                plausible[fact] = block.known_of_fact[first_fact + fact]
    true = 0.0
    for fact in range(n_facts):
        true += plausible[fact]
        for i in range(len(voices)):
            if claimed[fact, i]:
                state[voices[i], SUPPORTS] -= 1.0
                state[voices[i], PLAUSIBLE] -= plausible[fact]
    return true


@kernel
def _imagine(
    voices: IntArray,
    work: Workspace,
    base: float,
    single_truth: bool,
    claimed: NDArray[np.bool_],
    rng: np.random.Generator,
) -> None:
    """Draw truths, then claims; set `work.plausible` to the plausibilities given these claims."""
    n_facts, n_voices = claimed.shape
    is_true = np.empty(n_facts, np.bool_)
    for fact in range(n_facts):
        is_true[fact] = rng.random() < work.plausible[fact]
    for fact in range(n_facts):
        work.plausible[fact] = 0.0
        for i in range(n_voices):
            claimed[fact, i] = rng.random() < work.state[voices[i], TPR if is_true[fact] else FPR]
            if claimed[fact, i]:
                work.plausible[fact] += work.state[voices[i], WEIGHT]
    _activate(work.plausible[:n_facts], base, single_truth)


@kernel
def _activate(score: FloatArray, base: float, single_truth: bool) -> None:
    """Turn the scores of one item into plausibilities, in place."""
    if not single_truth:
        for fact in range(len(score)):
            score[fact] = _sigmoid(base + score[fact])
        return
    highest = score[0]
    for fact in range(1, len(score)):
        highest = max(highest, score[fact])
    total = 0.0
    for fact in range(len(score)):
        score[fact] = exp(score[fact] - highest)
        total += score[fact]
    for fact in range(len(score)):
        score[fact] /= total


@kernel
def _follow(work: Workspace, n_touched: int, rate: float) -> None:
    """Set the moves along the gradient: contrastive divergence, as in the paper."""
    for i in range(n_touched):
        own = work.state[work.touched[i]]
        work.move[i, 0] = rate * own[SUPPORTS]
        work.move[i, 1] = rate * (own[SUPPORTS] + own[PLAUSIBLE])


@kernel
def _foresee(
    work: Workspace, n_touched: int, rate: float, b: float, db: float, n_facts: int, pace: Pace
) -> float:
    """Set the moves of an `implicit_step`, and return the move of b_G: see the reference."""
    move, pull, prevalence = work.move, work.pull, _sigmoid(b)
    b_slope = 0.0 if pace.single_truth else rate * prevalence * (1.0 - prevalence)
    taken, given = 0.0, 0.0
    for i in range(n_touched):
        own = work.state[work.touched[i]]
        fpr, tpr, facts, true = own[FPR], own[TPR], own[FACTS], own[TRUE]
        of_true = rate * (own[PLAUSIBLE] - true * tpr)
        of_false = rate * (own[SUPPORTS] - own[PLAUSIBLE] - (facts - true) * fpr)
        x, y = rate * true * tpr * (1.0 - tpr), rate * (facts - true) * fpr * (1.0 - fpr)
        scale = 1.0 / (1.0 + y + 2.0 * x + x * y)
        move[i, 0] = scale * (of_true + (1.0 + x) * of_false)
        move[i, 1] = scale * ((2.0 + y) * of_true + of_false)
        taken += fpr * move[i, 0] - tpr * move[i, 1]
        scale *= -b_slope * facts
        pull[i, 0] = scale * (tpr - (1.0 + x) * fpr)
        pull[i, 1] = scale * ((2.0 + y) * tpr - fpr)
        given += fpr * pull[i, 0] - tpr * pull[i, 1]
    bias_move = 0.0
    if not pace.single_truth:
        bias_move = (rate * db - taken) / max(1.0 + b_slope * n_facts + given, 1.0)
    for i in range(n_touched):
        for k in range(2):
            move[i, k] = _clip(move[i, k] + bias_move * pull[i, k], pace.longest_move)
    return _clip(bias_move, pace.longest_move)


@kernel
def _move(work: Workspace, n_touched: int, limit: float) -> tuple[float, float]:
    """Move the touched sources, and clear their sums.

    Return the change of Σ b_s: its linear prediction, and the actual change.
    """
    foreseen, change, odds = 0.0, 0.0, work.move[:n_touched]
    for i in range(n_touched):
        source = work.touched[i]
        own, a = work.state[source], work.visible_bias[source]
        c = a + own[WEIGHT]
        odds[i, 0], odds[i, 1] = _clip(a + odds[i, 0], limit), _clip(c + odds[i, 1], limit)
        work.visible_bias[source], own[WEIGHT] = odds[i, 0], odds[i, 1] - odds[i, 0]
        foreseen += own[FPR] * (odds[i, 0] - a) - own[TPR] * (odds[i, 1] - c)
        own[PLAUSIBLE] = own[TRUE] = own[SUPPORTS] = own[FACTS] = 0.0
    _exponentiate(odds)
    for i in range(n_touched):
        own, if_false, if_true = work.state[work.touched[i]], 1.0 + odds[i, 0], 1.0 + odds[i, 1]
        own[FPR], own[TPR] = odds[i, 0] / if_false, odds[i, 1] / if_true
        bias = log(if_false / if_true)
        change += bias - own[BIAS]
        own[BIAS] = bias
    return foreseen, change


@kernel
def _exponentiate(odds: FloatArray) -> None:
    """Replace each x by exp(x), for x from -40 to 40: the series of x / 256, squared eight times.

    This is plain arithmetic, of which the processor does four at once, unlike calls of exp.
    """
    numbers = odds.reshape(-1)
    for i in range(len(numbers)):
        x, more = numbers[i] / 256.0, 1.0
        for n in range(9, 1, -1):
            more = 1.0 + more * x / n
        more *= x  # exp(x / 256) - 1, so that nothing is lost to the one
        for _ in range(8):
            more *= 2.0 + more
        numbers[i] = 1.0 + more


@kernel
def _clip(x: float, limit: float) -> float:
    return min(max(x, -limit), limit)


@kernel
def _sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    share = exp(x)
    return share / (1.0 + share)


# --- items in the order of a pass -----------------------------------------------------------------


@kernel
def reorder(block: Block, order: IntArray) -> InOrder:
    """See the reference. Afterwards, items that follow each other are neighbours in memory."""
    facts = _bounds(block.first_fact_of_item, order)
    supports = np.empty((len(order), 2), np.int64)
    for turn in range(len(order)):
        supports[turn, 0] = block.first_support_of_fact[facts[turn, 0]]
        supports[turn, 1] = block.first_support_of_fact[facts[turn, 1]]
    first_fact, first_of_item = _ends(facts), _ends(supports)
    first_support = np.empty(first_fact[-1] + 1, np.int64)
    known_of_fact = np.empty(first_fact[-1], np.int8)
    at = 0
    for turn in range(len(order)):
        shift = first_of_item[turn] - supports[turn, 0]
        for fact in range(facts[turn, 0], facts[turn, 1]):
            first_support[at] = block.first_support_of_fact[fact] + shift
            known_of_fact[at] = block.known_of_fact[fact]
            at += 1
    first_support[at] = first_of_item[-1]
    source_of_support = _copied(block.source_of_support, supports, first_of_item)
    first_voice, source_of_voice = first_of_item, source_of_support
    if len(block.source_of_voice) != len(block.source_of_support):  # else a support is a voice
        voices = _bounds(block.first_voice_of_item, order)
        first_voice = _ends(voices)
        source_of_voice = _copied(block.source_of_voice, voices, first_voice)
    return InOrder(
        first_fact,
        first_support,
        source_of_support,
        first_voice,
        source_of_voice,
        known_of_fact,
    )


@kernel
def _bounds(first: IntArray, groups: IntArray) -> IntArray:
    """Return the begin and the end of some groups."""
    bounds = np.empty((len(groups), 2), np.int64)
    for i in range(len(groups)):
        bounds[i, 0] = first[groups[i]]
        bounds[i, 1] = first[groups[i] + 1]
    return bounds


@kernel
def _ends(bounds: IntArray) -> IntArray:
    """Return the begin of each group once the groups are joined, and the end of the last one."""
    first = np.zeros(len(bounds) + 1, np.int64)
    for i in range(len(bounds)):
        first[i + 1] = first[i] + bounds[i, 1] - bounds[i, 0]
    return first


@kernel
def _copied(values: IntArray, bounds: IntArray, first: IntArray) -> IntArray:
    """Copy the values within bounds, one group after the other; `first` has their positions."""
    copied = np.empty(first[-1], np.int32)
    for i in range(len(bounds)):
        shift = bounds[i, 0] - first[i]
        for at in range(first[i], first[i + 1]):
            copied[at] = values[at + shift]
    return copied


# --- LTM ------------------------------------------------------------------------------------------


@kernel
def gibbs(
    block: Block,
    truth_of_fact: IntArray,
    counts: FloatArray,
    prior: FloatArray,
    log_prior_odds: float,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """See the reference; here the voices' log-odds are stored, and updated only when a truth flips.

    The sum over opposing voices is the same for all false facts of an item, and the same for all
    true ones. So a draw needs time for the supporters of its fact only, not for all voices.
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


@kernel
def _count_item(block: Block, item: int, truth: IntArray, counts: FloatArray) -> None:
    """Add a newly drawn item to the counts, in one pass over its voices and supports."""
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


@kernel
def _recount(
    block: Block, item: int, fact: int, counts: FloatArray, truth: int, amount: float
) -> None:
    """Add `amount` to the count of every voice of the item for its claim on this fact."""
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        counts[block.source_of_voice[voice], truth, 0] += amount
    for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
        counts[block.source_of_support[i], truth, 0] -= amount
        counts[block.source_of_support[i], truth, 1] += amount


@kernel
def _mend_item(
    block: Block, item: int, odds: FloatArray, counts: FloatArray, prior: FloatArray
) -> FloatArray:
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        _mend_odds(odds, counts, prior, block.source_of_voice[voice])
    return _base_odds(block, item, odds)


@kernel
def _mend_odds(odds: FloatArray, counts: FloatArray, prior: FloatArray, source: int) -> None:
    """Update what one claim of the source adds to a fact's log-odds: odds[source, now, claim].

    `now` is the current truth of the fact, which is taken out of the counts; 2 stands for a fact
    that is not in the counts.
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


@kernel
def _log_odds(true: float, all_true: float, false: float, all_false: float) -> float:
    # Not positive: the source makes no such claim on any fact of this truth, so whatever stands
    # here is added for a voice and taken off again for its support.
    if true <= 0.0 or false <= 0.0 or all_true <= 0.0 or all_false <= 0.0:
        return 0.0
    return log(true / all_true * (all_false / false))


@kernel
def _base_odds(block: Block, item: int, odds: FloatArray) -> FloatArray:
    base = np.zeros(3)
    for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
        for now in range(3):
            base[now] += odds[block.source_of_voice[voice], now, 0]
    return base
