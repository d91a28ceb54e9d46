"""How sure the sources' rates are: intervals that many telling claims make narrow.

A rate is a share of trials of which it is not quite known how they went: a source's claim was right
as far as it is plausible. So its variance has five parts: that of a share of n trials; that of the
trials' own outcomes, Σ p(1 - p) / n²; that all answers may be surer, or less sure, than they should
be, which moves all of a source's trials alike; that another reading of the claims may be right,
which does, too; and that the whole answer may lean towards some sources, which no number of claims
can show. Known truths that a source met take away the last three.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Rates
from veracity.algorithms.distributions import beta_quantile
from veracity.algorithms.prior import UNLEARNED
from veracity.encoding.block import FloatArray
from veracity.fit.judging import Met
from veracity.reading.schema import Kind

LEVEL = 0.9
"""How probable it is that a rate is in its interval."""

SURER = 0.5
"""By which factor, about, the log-odds of all answers may be wrong together (a standard error)."""

LEANING = 0.07
"""The standard error of a rate about one half that stays however much a source claims: what sources
of real data sets with known truths are off by, beyond all that their claims explain. It shrinks
towards zero and one as the deviation of a share does."""


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
    met: Met,
    kind: Kind,
    rates: Rates,
    accuracy_of_source: FloatArray,
    is_fixed: FloatArray,
    n_known: FloatArray,
) -> Ranges:
    """Intervals of tpr, fpr and accuracy; a fixed source's rates are what they are.

    `n_known` is how many facts with known truth each source has met.

    A rate that the algorithm learned may lie outside what the claims tell, because a prior holds
    it say: then the interval reaches to it.
    """
    met = Met(
        *(
            part if name in ("swing", "doubt") else np.maximum(part, 0.0)
            for name, part in zip(Met._fields, met, strict=True)
        )
    )
    single_truth = kind == "categorical"
    false_supports, false = met.supports - met.true_supports, met.facts - met.true
    lean = LEANING * np.sqrt(UNLEARNED / (UNLEARNED + n_known))
    swing = np.hypot(SURER * met.swing, met.doubt)
    swing = swing * np.sqrt(UNLEARNED / (UNLEARNED + n_known))
    tpr = _reach(_rate(met.true_supports, met.true, (met, swing, lean), single_truth), rates.tpr)
    fpr = _reach(_rate(false_supports, false, (met, swing, lean), single_truth), rates.fpr)
    if kind == "binary":
        right = 2.0 * met.true_supports + met.facts - met.supports - met.true
        accuracy = beta_range(right, met.facts, met.unsure, swing, lean)
    else:
        accuracy = beta_range(met.true_supports, met.supports, met.unsure_supports, swing, lean)
    return Ranges(
        _hold(tpr, rates.tpr, is_fixed),
        _hold(fpr, rates.fpr, is_fixed),
        _reach(accuracy, accuracy_of_source),
    )


def beta_range(
    successes: FloatArray,
    trials: FloatArray,
    unsure: FloatArray,
    swing: FloatArray | float = 0.0,
    lean: FloatArray | float = LEANING,
) -> Range:
    """The interval of a rate, with the variances of the successes: see the top of this file.

    It is that of a beta distribution (Jeffreys' prior) of as many trials as have that variance.

    >>> nothing = np.zeros(1)
    >>> low, high = beta_range(nothing, nothing, nothing)
    >>> (float(low[0]), float(high[0]))
    (0.0, 1.0)
    """
    rate, n = (successes + 0.5) / (trials + 1.0), np.maximum(trials, 1.0)
    of_share = rate * (1.0 - rate)
    variance = of_share / n + unsure / n**2 + (swing / n) ** 2 + 4.0 * of_share * np.square(lean)
    told = np.where(trials > 0.0, np.clip(of_share / variance - 1.0, 0.0, trials), 0.0)
    won, missed = told * rate, told * (1.0 - rate)
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.zeros_like(won), np.ones_like(won)
    for end, is_inside, below in ((low, ~(won < 0.5), tail), (high, ~(missed < 0.5), 1.0 - tail)):
        end[is_inside] = beta_quantile(won[is_inside] + 0.5, missed[is_inside] + 0.5, below)
    return Range(low, high)


def _rate(
    successes: FloatArray,
    trials: FloatArray,
    told: tuple[Met, FloatArray, FloatArray],
    single_truth: bool,
) -> Range:
    """The interval of a share of true facts, or of false ones: that they are so is unsure, too.

    With z for the truth of a fact, c for the claim and r for the rate, what is unsure of an item
    is Var Σ z(c - r). Under a single truth Σ z = 1, and it is that of the fact that is claimed.
    """
    met, swing, lean = told
    unsure = met.unsure_supports
    if not single_truth:
        rate = np.clip((successes + 0.5) / (trials + 1.0), 0.0, 1.0)
        unsure = unsure * (1.0 - rate) ** 2 + (met.unsure - unsure) * rate**2
    return beta_range(np.clip(successes, 0.0, trials), trials, unsure, swing, lean)


def _reach(interval: Range, rate: FloatArray) -> Range:
    """The interval, with the rate in it, if there is one."""
    return Range(np.fmin(interval.low, rate), np.fmax(interval.high, rate))


def _hold(interval: Range, rate: FloatArray, is_fixed: FloatArray) -> Range:
    held = (is_fixed == 1) & np.isfinite(rate)
    return Range(np.where(held, rate, interval.low), np.where(held, rate, interval.high))
