"""Infer truths and weights of claims from Gaussian units with heavy tails (E-step of LTD-RBM-N).

The claims of an item are measured from its median, in units of their attribute's scale, so that
nothing here depends on the unit or the zero of the numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms.distributions import log_gamma
from veracity.algorithms.numbers import LARGEST, Numbers, difference, numbers_of
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.trees import BySource

FARTHEST = 1e100
"""Largest distance of a number from the median of its item."""

STEPS = 10
"""Number of steps that fit truths and weights of claims to each other. Each doubles the digits that
rounding has left wrong where two claims are far apart, so there are not more."""

MORE_STEPS = 2
"""Number of steps that go on from those of the round before."""

NORMAL = 1.9
"""Ratio of a normal distribution's standard deviation to the geometric mean of its distances."""

LEAST = 0.01
"""Minimum of a scale, as a share of the usual distance of claims that differ. Where most claims
agree to the last digit, the scale would otherwise shrink to zero."""

LAST_BIT = 2.0**-52
"""Least difference of numbers of an item, in its units, that is more than rounding."""

ROUNDING = 8 * LAST_BIT
"""Largest difference, in the units of the item, at which numbers are equal. Means of the same
samples in another order differ by less."""

FAR = -64
"""Power of two that scales numbers down, so that the sum of many does not overflow."""

USUAL_FREEDOM = 4.0
"""Degrees of freedom before any claim: a usual choice (Lange, Little, Taylor 1989)."""

STRIDE = float(np.log(1.5))
"""Largest move of degrees of freedom in a round, in logs."""

MOST_BLUNT = 4.0
"""Largest ratio of the variance of a truth to the variance implied by its claims' weights."""


class Machine(NamedTuple):
    """The units: variances, biases and truths are in units of the scale of their attribute."""

    variance: BySource
    bias: BySource
    """[source, attribute]."""
    doubt: BySource
    """[source, attribute]: the variance of the bias, given the claims."""
    level_doubt: FloatArray
    """[attribute]: the variance of the part that all biases share."""
    scale: FloatArray
    """[attribute], in the unit of the input; zero if it is not known."""
    centre: FloatArray
    """[attribute]: μ, the mean of all truths, in the unit of the input."""
    truth_precision: FloatArray
    """[attribute]: τ, the precision of truths around their mean."""
    tails: float
    """Degrees of freedom of the errors of claims."""
    evenness: float
    """Degrees of freedom of the spreads of items: the more, the more alike items are."""
    bluntness: float
    """Variance of a truth, over the variance that the weights of its claims give."""

    def column(self, claims: Measured) -> IntArray:
        """Return the column of the bias of each claim: that of its attribute, if it has one."""
        attribute = claims.of_claim(claims.attribute)
        return attribute if self.bias.shape[1] == len(self.scale) else np.zeros_like(attribute)


class Measured(NamedTuple):
    """Claims in units of their attribute's scale, from the median of their item's."""

    numbers: Numbers
    number: FloatArray
    attribute: IntArray
    """Attribute of each item."""
    first: IntArray
    """The first claim of each item, whose claims are neighbours, the lowest first."""
    n_claims: FloatArray
    """Number of claims of each item."""
    novelty: FloatArray
    """Inverse of the number of claims that agree with each claim, except for rounding."""
    known: FloatArray
    """The known truth of each item, NaN where it is not known."""
    offset: FloatArray
    """Distance of the median of each item from the centre of its attribute."""
    median: FloatArray
    """The median of each item, in its own units."""
    unit: FloatArray
    """Length of the scale, in the item's own units."""
    has_scale: FloatArray
    """1 if the scale is that of the attribute, 0 if the item's own is used because it has none."""

    def sums(self, number: FloatArray) -> FloatArray:
        """Return the sum over the claims of each item."""
        return np.asarray(np.add.reduceat(number, self.first))

    def of_claim(self, of_item: NDArray[Any]) -> NDArray[Any]:
        """Return the number of the item of each claim."""
        return np.asarray(of_item[self.numbers.item])

    @property
    def half(self) -> FloatArray:
        """Half the length of the shortest interval that holds more than half an item's claims."""
        n = self.n_claims.astype(np.int64)
        last = np.repeat(self.first + n - 1, n)
        end = np.arange(len(self.number)) + np.repeat(n // 2, n)
        width = self.number[np.minimum(end, last)] - self.number
        width = np.where(end <= last, width, np.inf)
        return np.asarray(np.minimum.reduceat(width, self.first) / 2.0)

    def weighted_median(self, number: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the mean of the numbers with at most half the item's weight on either side.

        Claims are in the order of the claimed numbers, which is nearly that of `number`.
        """
        n = self.n_claims.astype(np.int64)
        upto = np.cumsum(weight / np.repeat(self.sums(weight), n))
        half = np.arange(len(n)) + 0.5  # each item has a weight of one
        last = self.first + n - 1
        low, high = (
            np.clip(np.searchsorted(upto, half + way), self.first, last) for way in (-1e-6, 1e-6)
        )
        return np.asarray((number[low] + number[high]) / 2.0)


def measured(block: Block, machine: Machine) -> Measured:
    """Measure the claims of a block in the units of the machine."""
    scale, centre = machine.scale, machine.centre
    numbers = numbers_of(block)
    first, n = _claims_of_items(block)
    median = _medians(numbers, first, n)
    attribute = block.attribute_of_item
    own = np.add.reduceat(np.abs(numbers.number - np.repeat(median, n)), first) / n
    has_scale = scale[attribute] > 0.0
    with np.errstate(over="ignore"):
        of_attribute = np.ldexp(scale[attribute], -numbers.units.exponent)
    unit = np.where(has_scale, of_attribute, np.where(own > 0.0, own, 1.0))
    unit = np.clip(unit, 1e-150, 1e150)
    relative = np.clip(median + numbers.units.zero, -1.0, 1.0)
    half_median = np.ldexp(relative, numbers.units.exponent - 1)
    length = np.where(has_scale, scale[attribute], 1.0)
    with np.errstate(over="ignore"):
        away = difference(half_median, centre[attribute] / 2.0) / length * 2.0
        offset = np.where(has_scale, away, 0.0)
    return Measured(
        numbers=numbers,
        number=_bounded((numbers.number - np.repeat(median, n)) / np.repeat(unit, n)),
        attribute=attribute,
        first=first,
        n_claims=n.astype(np.float64),
        novelty=_novelty(numbers, first),
        known=_bounded((numbers.known - median) / unit),
        offset=_bounded(offset),
        median=median,
        unit=unit,
        has_scale=has_scale.astype(np.float64),
    )


def _novelty(numbers: Numbers, first: IntArray) -> FloatArray:
    """Return 1 / the number of claims that agree with each; claims must be sorted by number."""
    is_other = np.diff(numbers.number, prepend=-np.inf) > ROUNDING
    is_other[first] = True
    group = np.cumsum(is_other) - 1
    return np.asarray(1.0 / np.bincount(group)[group])


def _claims_of_items(block: Block) -> tuple[IntArray, IntArray]:
    """Return the first claim of each item, and its number of claims."""
    n = block.n_supports_of_item
    return np.cumsum(n) - n, n


def _medians(numbers: Numbers, first: IntArray, n: IntArray) -> FloatArray:
    """Return the median of each item; its lowest claim comes first."""
    return np.asarray((numbers.number[first + (n - 1) // 2] + numbers.number[first + n // 2]) / 2.0)


def _bounded(number: FloatArray) -> FloatArray:
    return np.asarray(np.clip(number, -FARTHEST, FARTHEST))


class Inferred(NamedTuple):
    """Truth t and variance v of each item, and the weights of claims."""

    truth: FloatArray
    variance: FloatArray
    """Zero where the truth is known."""
    weight: FloatArray
    """λ w u of each claim: its precision."""
    away: FloatArray
    """x - b - t of each claim."""
    pull: FloatArray
    """x - t of each claim."""
    item_weight: FloatArray
    """w of each item: above one where its claims are closer together than usual."""
    total: FloatArray
    """1 / v of each truth: the precision of its claims, and that of all truths, τ."""


class Reached(NamedTuple):
    """Truths and weights after a round, with which the next round starts."""

    truth: FloatArray
    """Estimated truth of each item, in its own units, from its median."""
    item_weight: FloatArray


def infer(claims: Measured, machine: Machine, before: Reached | None = None) -> Inferred:
    """Find truths and weights that fit each other, by coordinate ascent from a median.

    Given the truth t with variance v, f being the degrees of freedom of claims, g those of items::

        u = (f + 1) / (f + λ w ((x - b - t)² + v))    w = (g + n - 1) / (g + Σ λ u (x - b - t)²)
        1 / v = τ + Σ λ w u                           t = v (τ μ + Σ λ w u (x - b))
    """
    source, of_claim = claims.numbers.source, claims.of_claim
    precision = 1.0 / machine.variance[source]
    number = claims.number - machine.bias[source, machine.column(claims)]
    near = machine.truth_precision[claims.attribute] * claims.has_scale
    is_known = ~np.isnan(claims.known)
    free = claims.n_claims - ~is_known  # degrees of freedom, the truth taken off
    tails, even = machine.tails, machine.evenness
    if before is None:
        item_weight = (even + free) / (even + free * (1.5 * claims.half) ** 2)
        truth = _median(claims, number, (precision, of_claim(item_weight) * precision / tails))
    else:
        item_weight, truth = before.item_weight, before.truth / claims.unit
    truth = np.where(is_known, claims.known, truth)
    variance = np.where(is_known, 0.0, 1.0 / (near + item_weight * claims.sums(precision)))
    weight, total = precision, near
    for _ in range(STEPS if before is None else MORE_STEPS):
        square = (number - of_claim(truth)) ** 2
        far = of_claim(item_weight) * precision * (square + of_claim(variance))
        own = precision * (tails + 1.0) / (tails + far)
        item_weight = (even + free) / (even + claims.sums(own * square))
        weight = of_claim(item_weight) * own
        total = near + claims.sums(weight)
        mean = (claims.sums(weight * number) - near * claims.offset) / total
        truth = np.where(is_known, claims.known, mean)
        variance = np.where(is_known, 0.0, 1.0 / total)
    away, pull = number - of_claim(truth), claims.number - of_claim(truth)
    return Inferred(truth, variance, weight, away, pull, item_weight, total)


def _median(
    claims: Measured, number: FloatArray, weights: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Return the median by claims or by precision of each item, the one that fits better.

    A precise source that errs grossly outweighs all others; a rough one must not outvote it.
    """
    precision, sharp = weights
    medians = [claims.weighted_median(number, one) for one in (np.ones_like(number), precision)]
    plain, weighted = (
        claims.sums(np.log1p(sharp * (number - claims.of_claim(median)) ** 2)) for median in medians
    )
    return np.where(weighted <= plain, medians[1], medians[0])


# --- estimates and their errors -------------------------------------------------------------------


def errors_of(claims: Measured, found: Inferred, machine: Machine) -> FloatArray:
    """Return the error of each truth: 1.64 of it on either side hold the truth in 90 % of cases.

    It is larger than the square root of the variance: what claims weigh, how far items spread, and
    how high sources are is not known for certain either.
    """
    share = found.weight / claims.of_claim(found.total)
    doubt = machine.doubt[claims.numbers.source, machine.column(claims)]
    level = machine.level_doubt[claims.attribute] * claims.has_scale
    error = np.sqrt(machine.bluntness * found.variance + claims.sums(share**2 * doubt) + level)
    return error * interval_factor(machine.evenness + claims.n_claims - 1.0)


def truths_in_input_units(
    claims: Measured, found: Inferred, error: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return truths and errors in the unit of the input; known truths replace them.

    Where no claims of an attribute differ, the error of a lone claim is unknown.
    """
    numbers, units = claims.numbers, claims.numbers.units
    is_agreed = (claims.has_scale == 0.0) & (numbers.scale == 0.0)
    error = np.where(is_agreed, np.where(numbers.is_single, np.nan, 0.0), error * claims.unit)
    with np.errstate(over="ignore"):
        value = np.ldexp(claims.median + found.truth * claims.unit + units.zero, units.exponent)
    is_known = ~np.isnan(numbers.known_input)
    value = np.where(is_known, numbers.known_input, np.clip(value, -LARGEST, LARGEST))
    return value, np.where(is_known, 0.0, units.length(error))


def interval_factor(freedom: FloatArray) -> FloatArray:
    """Return the length of a 90 % interval, relative to that of a normal distribution.

    The expansion of Cornish and Fisher.
    """
    z, f = 1.6448536269514722, np.maximum(freedom, 1.5)
    first = (z**2 + 1.0) / 4.0
    second = (5.0 * z**4 + 16.0 * z**2 + 3.0) / 96.0
    third = (3.0 * z**6 + 19.0 * z**4 + 17.0 * z**2 - 15.0) / 384.0
    return np.asarray(1.0 + first / f + second / f**2 + third / f**3)


# --- scales ---------------------------------------------------------------------------------------


class Widths(NamedTuple):
    """Sums over the numbers of each attribute that differ from the median of their item."""

    n_different: FloatArray
    log_distance: FloatArray
    """The sum of the logs of their distances from it."""
    n_items: FloatArray
    median: FloatArray
    """The sum of all medians, made smaller by `FAR`."""


def widths_of(block: Block, n_attributes: int) -> Widths:
    """Sum up how far claims are from the median of their item, in logs."""
    numbers = numbers_of(block)
    first, n = _claims_of_items(block)
    median = _medians(numbers, first, n)
    away = np.abs(numbers.number - np.repeat(median, n))
    differs = (away > LAST_BIT) & (numbers.scale > 0.0)[numbers.item]
    attribute = np.repeat(block.attribute_of_item, n)[differs]
    exponent = np.repeat(numbers.units.exponent, n)[differs]
    logs = np.log(away[differs]) + np.log(2.0) * exponent
    smaller = np.ldexp(median + numbers.units.zero, numbers.units.exponent + FAR)
    of_claims = (np.ones_like(logs), logs)
    of_items = (np.ones_like(smaller), smaller)
    return Widths(
        *(np.bincount(attribute, one, n_attributes).astype(np.float64) for one in of_claims),
        *(
            np.bincount(block.attribute_of_item, one, n_attributes).astype(np.float64)
            for one in of_items
        ),
    )


def scales_from(total: Widths) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the scale and the centre of each attribute, and the least scale that it may get.

    The scale follows from the geometric mean of the distances, which few huge ones hardly move.
    """
    is_some = total.n_different > 0.0
    log_usual = total.log_distance / np.where(is_some, total.n_different, 1.0)
    with np.errstate(over="ignore"):
        usual = np.where(is_some, np.exp(log_usual), 0.0)
        scale = np.minimum(NORMAL * usual, LARGEST)
    centre = np.ldexp(total.median / np.maximum(total.n_items, 1.0), -FAR)
    return scale, centre, LEAST * usual


# --- tails of errors ------------------------------------------------------------------------------


def three_around(freedom: float) -> FloatArray:
    """Return the degrees of freedom that are compared: fewer, these, and more."""
    return freedom * np.exp(STRIDE * np.arange(-1.0, 2.0))


class Errors(NamedTuple):
    """Squared errors in usual units, and novelty, of the claims from which tails are learned."""

    square: FloatArray
    novelty: FloatArray


def studentised(claims: Measured, found: Inferred, machine: Machine) -> Errors:
    """Return errors of claims, corrected for truths that are fitted to their claims."""
    share = found.weight / claims.of_claim(found.total)
    counts = claims.of_claim((claims.n_claims > 1.0) & (claims.has_scale > 0.0)) & (share < 0.99)
    precision = claims.of_claim(found.item_weight) / machine.variance[claims.numbers.source]
    square = (precision * found.away**2)[counts] / (1.0 - share[counts])
    return Errors(square, claims.novelty[counts])


def fit_of_tails(errors: Errors, machine: Machine) -> FloatArray:
    """Return the log-likelihoods of the errors with fewer, equal and more degrees of freedom."""
    square, new = errors
    fits = [_log_likelihood(f, square, np.ones(1)) for f in three_around(machine.tails)]
    return np.array([float((new * fit).sum()) for fit in fits])


def pulls_of(errors: Errors, machine: Machine) -> FloatArray:
    """Return sums over claims: of weights u, of squared pulls u² e², and of slopes of u e."""
    square, new = errors
    tails = machine.tails
    weight = (tails + 1.0) / (tails + square)
    slope = weight * (tails - square) / (tails + square)
    sums = (new * weight, new * weight**2 * square, new * slope)
    return np.array([float(one.sum()) for one in sums])


def bluntness(pulls: FloatArray) -> float:
    """Return the ratio of the variance of a weighted mean to that implied by its weights (Huber).

    Σ (u e)² Σ u / (Σ slope)². For errors as the machine has them it is (f + 3) / (f + 1).
    """
    weight, square, slope = pulls
    if slope <= 0.0:
        return MOST_BLUNT
    return float(np.clip(square * weight / slope**2, 1.0, MOST_BLUNT))


def fit_of_items(claims: Measured, found: Inferred, machine: Machine) -> FloatArray:
    """Return the same log-likelihoods for the spreads of items."""
    n_different = np.rint(claims.sums(claims.novelty))
    counts = (n_different > 1.0) & (claims.has_scale > 0.0)
    own = found.weight / claims.of_claim(found.item_weight)
    square = claims.sums(claims.novelty * own * found.away**2)[counts]
    free = n_different[counts] - np.isnan(claims.known[counts])
    return np.array(
        [float(_log_likelihood(f, square, free).sum()) for f in three_around(machine.evenness)]
    )


def _log_likelihood(freedom: float, square: FloatArray, n: FloatArray) -> FloatArray:
    """Return the log-likelihood of sums of n squares, given the degrees of freedom of precision."""
    half = np.asarray(freedom / 2.0)
    fit = log_gamma(half + n / 2.0) - log_gamma(half) - 0.5 * n * np.log(freedom)
    return np.asarray(fit - (half + n / 2.0) * np.log1p(square / freedom))


def best_of_three(freedom: float, fits: FloatArray) -> float:
    """Return degrees of freedom that fit better: the top of a parabola through the logs."""
    few, same, many = fits - 0.5 * np.log(three_around(freedom) / USUAL_FREEDOM) ** 2
    bend = few - 2.0 * same + many
    if bend < 0.0:
        step = float(np.clip(0.5 * (few - many) / bend, -1.0, 1.0))
    else:
        step = 1.0 if many > few else -1.0
    return float(np.clip(freedom * np.exp(STRIDE * step), 1.0, 100.0))
