"""LTD-RBM's pass of gradient ascent, compiled."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veracity.kernels import BEND, InOrder
from veracity.kernels.jit import kernel, sigmoid
from veracity.kernels.layout import longest
from veracity.kernels.room import STATE, room_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veracity.encoding.block import Block, FloatArray, IntArray
    from veracity.kernels import Machine, Pace

SMALL = 1.0 / 16.0
"""Moves of log-odds up to which a short series is exact."""


def climb(
    items: InOrder, machine: Machine, pace: Pace, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray, float]:
    """See the reference."""
    return climb_in(items, machine, pace, rng, room_for(len(machine.weight)))


@kernel
def climb_in(
    items: InOrder,
    machine: Machine,
    pace: Pace,
    rng: np.random.Generator | None,
    room: NDArray[np.uint8],
) -> tuple[FloatArray, FloatArray, float]:
    """Climb, in the room that is given for the state of sources: see `room_for`.

    Without randomness, what samples is not even compiled: that would be most of the time it takes.
    """
    state, n_items = room.view(STATE), len(items.first_fact_of_item) - 1
    b = machine.hidden_bias
    notes = _begin(machine, state, n_items)
    plausible = np.empty(longest(items.first_fact_of_item))
    # Not 0, which is a type of its own to the compiler: all would be compiled once more for it.
    item = n_items * 0
    while item < n_items:
        first = item
        item = _end_of_batch(items.first_fact_of_item, first, pace.batch_size)
        n_facts = items.first_fact_of_item[item] - items.first_fact_of_item[first]
        rate = pace.rate * min(1.0, pace.facts_per_step / n_facts)
        db, n_touched = _study(items, first, item, b, pace, plausible, notes, rng)
        if pace.gibbs_steps > 0:
            _follow(notes, n_touched, rate)
            bias_move = rate * db - _move(notes, n_touched, pace.limit)[1]
        else:
            batch = Batch(rate, b, db, float(n_facts), pace.single_truth)
            bias_move = _foresee(notes, n_touched, batch)
            foreseen, taken = _move(notes, n_touched, pace.limit)
            bias_move += foreseen - taken
        if not pace.single_truth:
            b = _clip(b + bias_move, pace.limit)
    return _ended(notes.state, b)


@kernel
def _end_of_batch(first_fact_of_item: IntArray, item: int, batch_size: int) -> int:
    """Before which item a batch ends that begins with this one: when it has enough facts."""
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
    plausible: FloatArray,
    notes: Notes,
    rng: np.random.Generator | None,
) -> tuple[float, int]:
    """Sum up a batch in the state; return the gradient of b, and how many sources are touched.

    Loops without calls for every item: these would cost more than the work itself.
    """
    first_fact_of_item, first_support_of_fact = (
        block.first_fact_of_item,
        block.first_support_of_fact,
    )
    source_of_support, source_of_voice = block.source_of_support, block.source_of_voice
    first_voice_of_item, known_of_fact = block.first_voice_of_item, block.known_of_fact
    state, touched, base_of_item = notes.state, notes.touched, notes.base
    prevalence, db, n_touched = sigmoid(b), 0.0, 0
    # First of all items, so that memory is asked for many sources at once.
    for item in range(first_item, last_item):
        base = b
        for voice in range(first_voice_of_item[item], first_voice_of_item[item + 1]):
            base += state[source_of_voice[voice]]["bias"]
        base_of_item[item - first_item] = base
    for item in range(first_item, last_item):
        first, last = first_fact_of_item[item], first_fact_of_item[item + 1]
        first_voice, last_voice = first_voice_of_item[item], first_voice_of_item[item + 1]
        for fact in range(first, last):
            score = 0.0
            for i in range(first_support_of_fact[fact], first_support_of_fact[fact + 1]):
                own = state[source_of_support[i]]
                score += own["high"] - own["a"]
            plausible[fact - first] = score
        _activate(plausible[: last - first], base_of_item[item - first_item], pace.single_truth)
        found = 0.0
        for fact in range(first, last):
            if known_of_fact[fact] >= 0:
                plausible[fact - first] = known_of_fact[fact]
            p = plausible[fact - first]
            found += p
            for i in range(first_support_of_fact[fact], first_support_of_fact[fact + 1]):
                own = state[source_of_support[i]]
                own["supports"] += 1
                own["plausible"] += p
        k = float(last - first)
        true = 1.0 if pace.single_truth else k * prevalence
        if known_of_fact[first] >= 0:
            true = found
        for voice in range(first_voice, last_voice):
            own = state[source_of_voice[voice]]
            if own["facts"] == 0:
                touched[n_touched] = source_of_voice[voice]
                n_touched += 1
            own["facts"] += last - first
            own["true"] += true
        # Asked alone, so that the compiler leaves out the rest where there is none.
        if rng is not None:  # noqa: SIM102
            if pace.gibbs_steps > 0:
                true = _sampled(block, item, b, pace, plausible, state, rng)
        db += found - true
    return db, n_touched


class Notes(NamedTuple):
    """What a pass keeps: the state of each source, and room for a batch.

    `move` and `rate` are room for a step, `touched` lists the sources of the batch, and `base` is
    of its items. `is_fixed` is empty where no source is fixed: it need not be asked for then.
    """

    state: NDArray[np.void]
    move: FloatArray
    rate: FloatArray
    touched: IntArray
    base: FloatArray
    is_fixed: FloatArray


@kernel
def _begin(machine: Machine, state: NDArray[np.void], n_items: int) -> Notes:
    a, n_sources = machine.visible_bias, len(machine.visible_bias)
    for source in range(n_sources):
        own = state[source]
        own["a"], own["high"] = a[source], a[source] + machine.weight[source]
        _set_rates(own)
        _clear(own)
    is_fixed = machine.is_fixed if machine.is_fixed.any() else machine.is_fixed[:0]
    move, rate = np.empty((2, n_sources)), np.empty((2, n_sources))
    return Notes(state, move, rate, np.empty(n_sources, np.int64), np.empty(n_items), is_fixed)


@kernel
def _ended(state: NDArray[np.void], b: float) -> tuple[FloatArray, FloatArray, float]:
    """Visible biases, weights and the global hidden bias, as the state has them."""
    a, w = np.empty(len(state)), np.empty(len(state))
    for source in range(len(state)):
        a[source] = state[source]["a"]
        w[source] = state[source]["high"] - state[source]["a"]
    return a, w, b


@kernel
def _set_rates(own: np.void) -> None:
    """Set tpr = sigmoid(a + w), fpr = sigmoid(a) and b_s = log(1 - tpr) - log(1 - fpr)."""
    if_false, if_true = 1.0 + exp(-own["a"]), 1.0 + exp(-own["high"])
    own["tpr"] = 1.0 / if_true
    own["fpr"] = 1.0 / if_false
    own["bias"] = own["a"] - own["high"] + log(if_false / if_true)


@kernel
def _clear(own: np.void) -> None:
    """Forget what was summed over a batch."""
    own["plausible"] = own["true"] = 0.0
    own["supports"] = own["facts"] = 0


@kernel
def reorder(block: Block, order: IntArray) -> InOrder:
    """See the reference: then going through the items is going through memory."""
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
    """Where each of some groups begins and ends."""
    bounds = np.empty((len(groups), 2), np.int64)
    for i in range(len(groups)):
        bounds[i, 0] = first[groups[i]]
        bounds[i, 1] = first[groups[i] + 1]
    return bounds


@kernel
def _ends(bounds: IntArray) -> IntArray:
    """Where the groups begin when they stand one behind the other, and where the last one ends."""
    first = np.zeros(len(bounds) + 1, np.int64)
    for i in range(len(bounds)):
        first[i + 1] = first[i] + bounds[i, 1] - bounds[i, 0]
    return first


@kernel
def _copied(values: IntArray, bounds: IntArray, first: IntArray) -> IntArray:
    """The values within bounds, one group behind the other: `first` says where."""
    copied = np.empty(first[-1], np.int32)
    for i in range(len(bounds)):
        shift = bounds[i, 0] - first[i]
        for at in range(first[i], first[i + 1]):
            copied[at] = values[at + shift]
    return copied


@kernel
def _hold_known(block: InOrder, item: int, plausible: FloatArray) -> None:
    """Put what is known of an item's facts in the place of what is thought of them."""
    first = block.first_fact_of_item[item]
    if block.known_of_fact[first] >= 0:
        for fact in range(first, block.first_fact_of_item[item + 1]):
            plausible[fact - first] = block.known_of_fact[fact]


@kernel
def _sampled(
    block: InOrder,
    item: int,
    b: float,
    pace: Pace,
    plausible: FloatArray,
    state: NDArray[np.void],
    rng: np.random.Generator,
) -> float:
    """Take off what is imagined in the place of the data; return how much of it is true."""
    first, last = block.first_voice_of_item[item], block.first_voice_of_item[item + 1]
    voices = block.source_of_voice[first:last]
    k = block.first_fact_of_item[item + 1] - block.first_fact_of_item[item]
    base = b
    for source in voices:
        base += state[source]["bias"]
    claimed = np.empty((k, len(voices)), np.bool_)
    for _ in range(pace.gibbs_steps):
        _imagine(voices, state, base, pace.single_truth, plausible, claimed, rng)
        _hold_known(block, item, plausible)
    true = 0.0
    for fact in range(k):
        true += plausible[fact]
        for i in range(len(voices)):
            if claimed[fact, i]:
                state[voices[i]]["supports"] -= 1
                state[voices[i]]["plausible"] -= plausible[fact]
    return true


@kernel
def _imagine(
    voices: IntArray,
    state: NDArray[np.void],
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
        for i in range(n_voices):
            own = state[voices[i]]
            claimed[fact, i] = rng.random() < (own["tpr"] if is_true[fact] else own["fpr"])
            if claimed[fact, i]:
                plausible[fact] += own["high"] - own["a"]
    _activate(plausible[:n_facts], base, single_truth)


@kernel
def _activate(score: FloatArray, base: float, single_truth: bool) -> None:
    """Turn the scores of one item into plausibilities, in place."""
    if not single_truth:
        for fact in range(len(score)):
            score[fact] = sigmoid(base + score[fact])
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


class Batch(NamedTuple):
    """A batch that was studied: its step size, where b_G is and how it climbs, and its facts."""

    rate: float
    b: float
    db: float
    n_facts: float
    single_truth: bool


@kernel
def _follow(notes: Notes, n_touched: int, rate: float) -> None:
    """Note moves straight along the gradient: contrastive divergence, as in the paper."""
    state, touched, is_fixed = notes.state, notes.touched, notes.is_fixed
    for i in range(n_touched):
        own = state[touched[i]]
        step = 0.0 if len(is_fixed) and is_fixed[touched[i]] else rate
        notes.move[0, i] = step * own["supports"]
        notes.move[1, i] = step * (own["supports"] + own["plausible"])


@kernel
def _foresee(notes: Notes, n_touched: int, batch: Batch) -> float:
    """Note moves of a linearly implicit step, and return that of b_G: see `_foreseen` there."""
    state, touched, is_fixed = notes.state, notes.touched, notes.is_fixed
    move, pull, prevalence = notes.move, notes.rate, sigmoid(batch.b)
    steep = 0.0 if batch.single_truth else batch.rate * prevalence * (1.0 - prevalence)
    taken, given = 0.0, 0.0
    for i in range(n_touched):
        own = state[touched[i]]
        rate = 0.0 if len(is_fixed) and is_fixed[touched[i]] else batch.rate
        tpr, fpr, plausible = own["tpr"], own["fpr"], own["plausible"]
        facts, true = float(own["facts"]), own["true"]
        of_true = rate * (plausible - true * tpr)
        of_false = rate * (own["supports"] - plausible - (facts - true) * fpr)
        x, y = rate * true * tpr * (1.0 - tpr), rate * (facts - true) * fpr * (1.0 - fpr)
        scale = 1.0 / (1.0 + y + 2.0 * x + x * y)
        move[0, i] = scale * (of_true + (1.0 + x) * of_false)
        move[1, i] = scale * ((2.0 + y) * of_true + of_false)
        taken += fpr * move[0, i] - tpr * move[1, i]
        scale *= 0.0 if rate == 0.0 else -steep * facts
        pull[0, i] = scale * (tpr - (1.0 + x) * fpr)
        pull[1, i] = scale * ((2.0 + y) * tpr - fpr)
        given += fpr * pull[0, i] - tpr * pull[1, i]
    bias_move = 0.0
    if not batch.single_truth:
        bias_move = (batch.rate * batch.db - taken) / (1.0 + steep * batch.n_facts + given)
    for i in range(n_touched):
        move[0, i] = _clip(move[0, i] + bias_move * pull[0, i], BEND)
        move[1, i] = _clip(move[1, i] + bias_move * pull[1, i], BEND)
    return _clip(bias_move, BEND)


@kernel
def _move(notes: Notes, n_touched: int, limit: float) -> tuple[float, float]:
    """Move the touched sources in place, and clear their sums.

    Return the change of Σ b_s: what a line foretells, and what it is.
    """
    state, touched = notes.state, notes.touched
    move_a, move_high = notes.move[0, :n_touched], notes.move[1, :n_touched]
    fpr, tpr = notes.rate[0, :n_touched], notes.rate[1, :n_touched]
    n_leaps, foreseen = 0, 0.0
    for i in range(n_touched):
        own = state[touched[i]]
        a, high = own["a"], own["high"]
        own["a"] = _clip(a + move_a[i], limit)
        own["high"] = _clip(high + move_high[i], limit)
        move_a[i], move_high[i] = own["a"] - a, own["high"] - high
        fpr[i], tpr[i] = own["fpr"], own["tpr"]
        foreseen += fpr[i] * move_a[i] - tpr[i] * move_high[i]
        n_leaps += abs(move_a[i]) > SMALL or abs(move_high[i]) > SMALL
        _clear(own)
    if n_leaps > 0:
        return foreseen, _leap(notes, n_touched)
    _move_rates(fpr, move_a)
    _move_rates(tpr, move_high)
    _subtract_logs(move_a, move_high)
    beta_change = 0.0
    for i in range(n_touched):
        own = state[touched[i]]
        own["tpr"], own["fpr"] = tpr[i], fpr[i]
        own["bias"] += move_a[i]
        beta_change += move_a[i]
    return foreseen, beta_change


@kernel
def _leap(notes: Notes, n_touched: int) -> float:
    """What follows from a move that is not small: all rates anew."""
    beta_change = 0.0
    for source in notes.touched[:n_touched]:
        own = notes.state[source]
        beta_change -= own["bias"]
        _set_rates(own)
        beta_change += own["bias"]
    return beta_change


@kernel
def _move_rates(rate: FloatArray, move: FloatArray) -> None:
    """Rates whose log-odds have moved a little; `move` becomes the factor 1 / (1 - rate) grew by.

    With m = exp(move) - 1, p becomes p (1 + m) / (1 + p m). The series of m, up to the eighth
    power, is exact to rounding for small moves. No branch, no call: the processor takes four
    sources at once, where exp and log would be most of the work of an epoch.
    """
    for i in range(len(rate)):
        x = move[i]
        m = x / 40320.0 + 1.0 / 5040.0
        m = x * m + 1.0 / 720.0
        m = x * m + 1.0 / 120.0
        m = x * m + 1.0 / 24.0
        m = x * m + 1.0 / 6.0
        m = x * (x * (x * m + 0.5) + 1.0)
        move[i] = 1.0 + rate[i] * m
        rate[i] *= (1.0 + m) / move[i]


@kernel
def _subtract_logs(one: FloatArray, other: FloatArray) -> None:
    """Write log(one / other) over the one, for ratios close to 1: 2 artanh z, as a series."""
    for i in range(len(one)):
        z = (one[i] - other[i]) / (one[i] + other[i])
        square = z * z
        series = square / 11.0 + 1.0 / 9.0
        series = square * series + 1.0 / 7.0
        series = square * series + 1.0 / 5.0
        series = square * series + 1.0 / 3.0
        one[i] = 2.0 * z * (square * series + 1.0)


@kernel
def _clip(x: float, limit: float) -> float:
    return min(max(x, -limit), limit)
