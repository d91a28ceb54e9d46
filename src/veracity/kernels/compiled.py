"""The sums over claims and counts of pairs of `reference`, compiled.

Numba compiles a kernel again when its own file has changed, so a kernel calls helpers of its own
file only.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels import kernel

if TYPE_CHECKING:
    from veracity.encoding.block import Block, FloatArray, IntArray


@kernel
def sum_votes(block: Block, base_of_source: FloatArray, weight_of_source: FloatArray) -> FloatArray:
    """See the reference."""
    score = np.empty(len(block.first_support_of_fact) - 1)
    for item in range(len(block.first_fact_of_item) - 1):
        base = 0.0
        for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
            base += base_of_source[block.source_of_voice[voice]] * _at(block.share_of_voice, voice)
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            score[fact] = base + _support(block, fact, weight_of_source)
    return score


@kernel
def sum_claims(block: Block, weight_of_support: FloatArray) -> FloatArray:
    """See the reference."""
    score = np.empty(len(block.first_support_of_fact) - 1)
    for fact in range(len(score)):
        total = 0.0
        for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
            total += weight_of_support[i] * _at(block.share_of_support, i)
        score[fact] = total
    return score


@kernel
def _at(share: FloatArray, place: int) -> float:
    """Return the share with which a support or a voice counts."""
    return float(share[place]) if len(share) else 1.0


@kernel
def weigh_claims(
    block: Block,
    log_odds: FloatArray,
    column_of_item: IntArray,
    n_values_of_item: FloatArray,
    weight_of_support: FloatArray,
    n_named_of_support: IntArray,
    shrink_of_item: FloatArray,
) -> FloatArray:
    """See the reference."""
    words = np.empty(len(block.source_of_support))
    for item in range(len(block.first_fact_of_item) - 1):
        n_values, column = n_values_of_item[item], column_of_item[item]
        log_values = log(n_values)
        shrink = 1.0 / shrink_of_item[item] if len(shrink_of_item) else 1.0
        first = block.first_support_of_fact[block.first_fact_of_item[item]]
        last = block.first_support_of_fact[block.first_fact_of_item[item + 1]]
        for i in range(first, last):
            word = log_odds[block.source_of_support[i], column]
            if len(n_named_of_support) and n_named_of_support[i] > 1:
                n_named = n_named_of_support[i]
                word += log((n_values - n_named + 1) / n_named)
            else:
                word += log_values
            if len(weight_of_support):
                word *= weight_of_support[i]
            words[i] = word * shrink
    return words


@kernel
def sum_by_source(
    block: Block,
    number_of_fact: FloatArray,
    column_of_item: IntArray,
    n_sources: int,
    n_columns: int,
) -> FloatArray:
    """See the reference."""
    sums = np.zeros((n_sources, n_columns))
    for item in range(len(block.first_fact_of_item) - 1):
        column = column_of_item[item]
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            number = number_of_fact[fact]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                share = _at(block.share_of_support, i)
                sums[block.source_of_support[i], column] += number * share
    return sums


@kernel
def normalise_log(
    score_of_fact: FloatArray, first_fact_of_item: IntArray, unclaimed_of_item: FloatArray
) -> FloatArray:
    """See the reference."""
    plausibility = np.empty(len(score_of_fact))
    for item in range(len(first_fact_of_item) - 1):
        first, last = first_fact_of_item[item], first_fact_of_item[item + 1]
        highest = unclaimed_of_item[item]
        for fact in range(first, last):
            highest = max(highest, score_of_fact[fact])
        total = exp(unclaimed_of_item[item] - highest)
        for fact in range(first, last):
            plausibility[fact] = exp(score_of_fact[fact] - highest)
            total += plausibility[fact]
        for fact in range(first, last):
            plausibility[fact] /= total
    return plausibility


@kernel
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
                source, share = block.source_of_support[i], _at(block.share_of_support, i)
                counts[source, 0] += plausibility * share
                counts[source, 1] += share
        for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
            source, share = block.source_of_voice[voice], _at(block.share_of_voice, voice)
            counts[source, 2] += true * share
            counts[source, 3] += (last - first) * share
    return counts


@kernel
def sum_met(block: Block, number_of_fact: FloatArray, n_spoken: int, n_sources: int) -> FloatArray:
    """See the reference."""
    n_numbers = number_of_fact.shape[1]
    sums = np.zeros((n_sources, n_numbers + n_spoken))
    of_item = np.empty(n_spoken)
    for item in range(len(block.first_fact_of_item) - 1):
        of_item[:] = 0.0
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            for k in range(n_spoken):
                of_item[k] += number_of_fact[fact, k]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source, share = block.source_of_support[i], _at(block.share_of_support, i)
                for k in range(n_numbers):
                    sums[source, k] += number_of_fact[fact, k] * share
        for voice in range(block.first_voice_of_item[item], block.first_voice_of_item[item + 1]):
            source, share = block.source_of_voice[voice], _at(block.share_of_voice, voice)
            for k in range(n_spoken):
                sums[source, n_numbers + k] += of_item[k] * share
    return sums


@kernel
def best_two(
    first_fact_of_item: IntArray, score_of_fact: FloatArray, supporters_of_fact: IntArray
) -> tuple[IntArray, IntArray]:
    """See the reference."""
    n_items = len(first_fact_of_item) - 1
    bests, seconds = np.empty(n_items, np.int64), np.empty(n_items, np.int64)
    for item in range(n_items):
        best = second = first_fact_of_item[item]
        for fact in range(first_fact_of_item[item] + 1, first_fact_of_item[item + 1]):
            if _is_better(fact, best, score_of_fact, supporters_of_fact):
                best, second = fact, best
            elif second == best or _is_better(fact, second, score_of_fact, supporters_of_fact):
                second = fact
        bests[item], seconds[item] = best, second
    return bests, seconds


@kernel
def _is_better(one: int, other: int, score: FloatArray, supporters: IntArray) -> bool:
    if score[one] != score[other]:
        return bool(score[one] > score[other])
    return bool(supporters[one] > supporters[other])


@kernel
def sum_confusions(
    block: Block, log_confusion: FloatArray, weight_of_support: FloatArray
) -> FloatArray:
    """See the reference."""
    n_labels = log_confusion.shape[1]
    score = np.zeros((len(block.first_fact_of_item) - 1, n_labels))
    for item in range(len(score)):
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            said = block.label_of_fact[fact]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source = block.source_of_support[i]
                weight = weight_of_support[i] * _at(block.share_of_support, i)
                for true in range(n_labels):
                    score[item, true] += weight * log_confusion[source, true, said]
    return score


@kernel
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


@kernel
def count_false_pairs(
    block: Block, items: IntArray, slot_of_source: IntArray, weight_of_slot: FloatArray
) -> FloatArray:
    """See the reference."""
    n_slots = len(weight_of_slot)
    false = np.zeros((n_slots, n_slots))
    slots, supports = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    for item in items:
        first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
        if last - first < 2:
            continue
        score = np.zeros(last - first)
        for fact in range(first, last):
            for i in range(_with_slots(block, fact, slot_of_source, slots, supports)):
                score[fact - first] += weight_of_slot[slots[i]]
        for fact in range(first, last):
            n = _with_slots(block, fact, slot_of_source, slots, supports)
            if n < 2:
                continue
            rest = _log_rest(score, fact - first)
            for i in range(n):
                for j in range(i):
                    one, other = slots[i], slots[j]
                    own = score[fact - first] - weight_of_slot[one] - weight_of_slot[other]
                    share = 1.0 / (1.0 + exp(own - rest))
                    false[one, other] += share
                    false[other, one] += share
    return false


@kernel
def _log_rest(score: FloatArray, left_out: int) -> float:
    """Log Σ exp of all scores but one."""
    highest = -np.inf
    for fact in range(len(score)):
        if fact != left_out:
            highest = max(highest, score[fact])
    total = 0.0
    for fact in range(len(score)):
        if fact != left_out:
            total += exp(score[fact] - highest)
    return float(highest + log(total))


@kernel
def _add_pairs(
    counts: FloatArray, slots: IntArray, slot_of_source: IntArray, sources: IntArray,
    first: int, last: int, weight: float,
) -> None:  # fmt: skip
    """Add to all pairs among sources that have slots; only the lower half is filled."""
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


@kernel
def count_once(block: Block, slot_of_source: IntArray, copied: FloatArray) -> FloatArray:
    """See the reference."""
    weight = np.ones(len(block.source_of_support))
    slots, supports = np.empty(len(copied), np.int64), np.empty(len(copied), np.int64)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        for i in range(n):
            among = 1.0
            for j in range(n):
                if j != i:
                    share = _at(block.share_of_support, supports[j])
                    among += copied[slots[i], slots[j]] * share
            weight[supports[i]] = 1.0 / among
    return weight


@kernel
def count_named(block: Block, n_sources: int) -> IntArray:
    """See the reference."""
    n_named = np.empty(len(block.source_of_support), np.int32)
    of_source = np.zeros(n_sources, np.int32)
    for item in range(len(block.first_fact_of_item) - 1):
        first = block.first_support_of_fact[block.first_fact_of_item[item]]
        last = block.first_support_of_fact[block.first_fact_of_item[item + 1]]
        for i in range(first, last):
            of_source[block.source_of_support[i]] += 1
        for i in range(first, last):
            n_named[i] = of_source[block.source_of_support[i]]
        for i in range(first, last):
            of_source[block.source_of_support[i]] = 0
    return n_named


@kernel
def count_confusions(block: Block, label: FloatArray, n_sources: int) -> FloatArray:
    """See the reference."""
    n_labels = label.shape[1]
    counts = np.zeros((n_sources, n_labels, n_labels))
    for item in range(len(label)):
        for fact in range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1]):
            said = block.label_of_fact[fact]
            for i in range(
                block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]
            ):
                source, share = block.source_of_support[i], _at(block.share_of_support, i)
                for true in range(n_labels):
                    counts[source, true, said] += label[item, true] * share
    return counts


@kernel
def _support(block: Block, fact: int, weight_of_source: FloatArray) -> float:
    total = 0.0
    for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
        total += weight_of_source[block.source_of_support[i]] * _at(block.share_of_support, i)
    return total


# --- pairs of sources ---------------------------------------------------------------------------


@kernel
def count_shared(block: Block, slot_of_source: IntArray, most_supporters: int) -> IntArray:
    """See the reference."""
    n_slots = slot_of_source.max() + 1
    n_shared = np.zeros((n_slots, n_slots), np.int64)
    slots, supports = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        if n <= most_supporters:
            for i in range(n):
                for j in range(i):
                    n_shared[min(slots[i], slots[j]), max(slots[i], slots[j])] += 1
    return n_shared


@kernel
def find_links(
    block: Block, slot_of_source: IntArray, pair_of_slots: IntArray, n_pairs: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """See the reference."""
    n_slots = len(pair_of_slots)
    slots, supports = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    first_link = np.zeros(n_pairs + 1, np.int64)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        for i in range(n):
            for j in range(i):
                first_link[pair_of_slots[slots[i], slots[j]] + 1] += 1
    first_link[0] = 0  # there are counted those that are no pair
    for pair in range(n_pairs):
        first_link[pair + 1] += first_link[pair]
    at = first_link.copy()
    support_of_source = np.empty(first_link[n_pairs], np.int32)
    support_of_other = np.empty(first_link[n_pairs], np.int32)
    for fact in range(len(block.first_support_of_fact) - 1):
        n = _with_slots(block, fact, slot_of_source, slots, supports)
        for i in range(n):
            for j in range(i):
                pair = pair_of_slots[slots[i], slots[j]]
                if pair >= 0:
                    is_later = slots[j] > slots[i]
                    support_of_source[at[pair]] = supports[i if is_later else j]
                    support_of_other[at[pair]] = supports[j if is_later else i]
                    at[pair] += 1
    n_comparable = _count_comparable(block, slot_of_source, pair_of_slots, n_pairs)
    return first_link, support_of_source, support_of_other, n_comparable


@kernel
def _with_slots(
    block: Block, fact: int, slot_of_source: IntArray, slots: IntArray, supports: IntArray
) -> int:
    """Write down the supports of a fact whose sources have slots, and these; how many there are."""
    n = 0
    for i in range(block.first_support_of_fact[fact], block.first_support_of_fact[fact + 1]):
        slot = slot_of_source[block.source_of_support[i]]
        if slot >= 0:
            slots[n], supports[n] = slot, i
            n += 1
    return n


@kernel
def _count_comparable(
    block: Block, slot_of_source: IntArray, pair_of_slots: IntArray, n_pairs: int
) -> IntArray:
    """Sum, for each pair, over items the smaller of the numbers of values that the two name."""
    n_slots = len(pair_of_slots)
    n_comparable = np.zeros(n_pairs + 1, np.int64)  # the last: of those that are no pair
    n_named, slots = np.zeros(n_slots, np.int64), np.empty(n_slots, np.int64)
    for item in range(len(block.first_fact_of_item) - 1):
        first = block.first_support_of_fact[block.first_fact_of_item[item]]
        last = block.first_support_of_fact[block.first_fact_of_item[item + 1]]
        n = 0
        for i in range(first, last):
            slot = slot_of_source[block.source_of_support[i]]
            if slot >= 0:
                if n_named[slot] == 0:
                    slots[n] = slot
                    n += 1
                n_named[slot] += 1
        for i in range(n):
            for j in range(i):
                both = min(n_named[slots[i]], n_named[slots[j]])
                n_comparable[pair_of_slots[slots[i], slots[j]]] += both
        for i in range(n):
            n_named[slots[i]] = 0
    return n_comparable[:n_pairs].copy()
