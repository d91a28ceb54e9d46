"""Compute intervals for the sources' rates, which narrow as claims become more and clearer.

A rate is the share of a source's trials that succeed. Outcomes are uncertain: a claim is right with
its plausibility p. The variance of a rate has five parts:

1. the variance of a share of n trials;
2. the variance of the outcomes, Σ p(1 - p) / n²;
3. all answers may be too sure, or not sure enough, which moves all trials of a source together;
4. another answer may be right, which moves them together, too;
5. the whole answer may favour some sources, which no number of claims can show.

Known truths about a source's items remove the last three.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Rates
from veracity.algorithms.distributions import beta_quantile
from veracity.algorithms.prior import UNLEARNED
from veracity.encoding.block import FloatArray
from veracity.fit.judging import SourceSums
from veracity.reading.roles import Kind

LEVEL = 0.9
"""Probability that a rate is in its interval."""

NORMAL_END = 1.6448536269514722
"""Distance of the ends of a 90 % interval from the mean of a normal distribution, in errors."""

SURER = 0.5
"""Standard error of the common factor by which the log-odds of all answers may be wrong."""

LEANING = 0.07
"""Standard error that a rate of one half has even with endless claims. It was measured on real data
sets with known truths: the errors of rates that the number of claims does not explain. It shrinks
towards rates of zero and one, as the standard deviation of a share does."""


class Range(NamedTuple):
    """Lower and upper ends of an interval, one per source."""

    low: FloatArray
    high: FloatArray


class Ranges(NamedTuple):
    """Intervals of the rates."""

    tpr: Range
    fpr: Range
    accuracy: Range


def ranges_of(
    met: SourceSums,
    kind: Kind,
    rates: Rates,
    accuracy_of_source: FloatArray,
    is_fixed: FloatArray,
    n_known: FloatArray,
) -> Ranges:
    """Return the intervals of tpr, fpr and accuracy; rates of fixed sources have no uncertainty.

    `n_known` is the number of facts with known truth on which each source makes a claim.

    A learned rate may lie outside the interval that the claims suggest, for example because of a
    prior. Then the interval is extended to include it.
    """
    met = SourceSums(
        *(
            part if name in ("swing", "doubt") else np.maximum(part, 0.0)
            for name, part in zip(SourceSums._fields, met, strict=True)
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
    """Return the interval of a rate, given the variances of the successes (see the module).

    It is the interval of a beta distribution (Jeffreys' prior) with this variance.

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
    told: tuple[SourceSums, FloatArray, FloatArray],
    single_truth: bool,
) -> Range:
    """Return the interval of a share of the true facts, or of the false facts.

    Which facts are true is uncertain, too. With z for the truth of a fact, c for the claim and r
    for the rate, the variance of an item is Var Σ z(c - r). Under a single truth Σ z = 1, and it
    is the variance of the claimed fact.
    """
    met, swing, lean = told
    unsure = met.unsure_supports
    if not single_truth:
        rate = np.clip((successes + 0.5) / (trials + 1.0), 0.0, 1.0)
        unsure = unsure * (1.0 - rate) ** 2 + (met.unsure - unsure) * rate**2
    return beta_range(np.clip(successes, 0.0, trials), trials, unsure, swing, lean)


def _reach(interval: Range, rate: FloatArray) -> Range:
    """Extend the interval to include the rate, if there is a rate."""
    return Range(np.fmin(interval.low, rate), np.fmax(interval.high, rate))


def _hold(interval: Range, rate: FloatArray, is_fixed: FloatArray) -> Range:
    held = (is_fixed == 1) & np.isfinite(rate)
    return Range(np.where(held, rate, interval.low), np.where(held, rate, interval.high))
