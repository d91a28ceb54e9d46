"""LTM's round of Gibbs sampling, compiled."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels.jit import kernel, sigmoid

if TYPE_CHECKING:
    from veracity.encoding.block import Block, FloatArray, IntArray


@kernel
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
            probability[fact] = sigmoid(log_odds) if known < 0 else known
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


@kernel
def _recount(
    block: Block, item: int, fact: int, counts: FloatArray, truth: int, amount: float
) -> None:
    """Add `amount` to what every voice of the item is counted for on this fact."""
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
