"""How sure the sources' rates are: intervals that many telling claims make narrow.

A rate is a share of trials of which it is not quite known how they went: a source's claim was right
as far as it is plausible. Were truths certain, the rate's posterior would be a beta distribution of
the counts (Jeffreys' prior). As they are not, each trial tells less: by the formula of Louis (1982)
the information on a rate r from n trials with plausibilities p is that of n - Σ p(1 - p) / (r(1 -
r)) certain ones. A claim that is as uncertain as the source itself tells nothing; nor does one that
no other source can contradict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Rates
from veracity.claims.block import FloatArray
from veracity.claims.schema import Kind
from veracity.fit.judging import Met

__all__ = ["LEVEL", "Range", "Ranges", "beta_range", "ranges_of"]

LEVEL = 0.9
"""How probable it is that a rate is in its interval."""

OVERCONFIDENCE = 1.5
"""How many times more uncertain truths are than their plausibilities say.

These take the other sources' rates for certain. With this factor, intervals contain the true rate
as often as they should on synthetic claims; the tests watch it.
"""


class Range(NamedTuple):
    """The lower and the upper end of an interval, of each source."""

    low: FloatArray
    high: FloatArray


class Ranges(NamedTuple):
    """The intervals of the rates."""

    tpr: Range
    fpr: Range
    accuracy: Range


def ranges_of(
    met: Met, kind: Kind, rates: Rates, accuracy_of_source: FloatArray, is_fixed: FloatArray
) -> Ranges:
    """Intervals of tpr, fpr and accuracy; a fixed source's rates are what they are.

    A rate that the algorithm learned may lie outside what the claims tell, because a prior holds
    it say: then the interval reaches to it.
    """
    met = Met(*(np.maximum(part, 0.0) for part in met))
    single_truth = kind == "categorical"
    false_supports, false = met.supports - met.true_supports, met.facts - met.true
    tpr = _reach(_rate(met.true_supports, met.true, met, single_truth), rates.tpr)
    fpr = _reach(_rate(false_supports, false, met, single_truth), rates.fpr)
    if kind == "binary":
        right = 2.0 * met.true_supports + met.facts - met.supports - met.true
        accuracy = beta_range(right, met.facts, met.unsure)
    else:
        accuracy = beta_range(met.true_supports, met.supports, met.unsure_supports)
    return Ranges(
        _hold(tpr, rates.tpr, is_fixed),
        _hold(fpr, rates.fpr, is_fixed),
        _reach(accuracy, accuracy_of_source),
    )


def beta_range(
    successes: FloatArray, trials: FloatArray, unsure: FloatArray, level: float = LEVEL
) -> Range:
    """The interval of a rate: `unsure` is the variance of the successes, summed over the trials.

    >>> nothing = np.zeros(1)
    >>> low, high = beta_range(nothing, nothing, nothing)
    >>> (float(low[0]), float(high[0]))
    (0.0, 1.0)
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - takes its time to load

    rate = (successes + 0.5) / (trials + 1.0)
    lost = OVERCONFIDENCE * unsure / (rate * (1.0 - rate))
    told = np.maximum(trials - lost, 0.0)
    won, missed = told * rate, told * (1.0 - rate)
    tail = (1.0 - level) / 2.0
    low = betaincinv(won + 0.5, missed + 0.5, tail)
    high = betaincinv(won + 0.5, missed + 0.5, 1.0 - tail)
    return Range(np.where(won < 1.0, 0.0, low), np.where(missed < 1.0, 1.0, high))


def _rate(successes: FloatArray, trials: FloatArray, met: Met, single_truth: bool) -> Range:
    """The interval of a share of true facts, or of false ones: that they are so is unsure, too.

    With z for the truth of a fact, c for the claim and r for the rate, what is unsure of an item
    is Var Σ z(c - r). Under a single truth Σ z = 1, and it is that of the fact that is claimed.
    """
    unsure = met.unsure_supports
    if not single_truth:
        rate = np.clip((successes + 0.5) / (trials + 1.0), 0.0, 1.0)
        unsure = unsure * (1.0 - rate) ** 2 + (met.unsure - unsure) * rate**2
    return beta_range(np.clip(successes, 0.0, trials), trials, unsure)


def _reach(interval: Range, rate: FloatArray) -> Range:
    """The interval, with the rate in it, if there is one."""
    return Range(np.fmin(interval.low, rate), np.fmax(interval.high, rate))


def _hold(interval: Range, rate: FloatArray, is_fixed: FloatArray) -> Range:
    held = (is_fixed == 1) & np.isfinite(rate)
    return Range(np.where(held, rate, interval.low), np.where(held, rate, interval.high))
