"""What algorithms for numbers share: claims as numbers, weighted means, and how sure these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.prior import UNLEARNED
from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray

LARGEST = float(np.finfo(np.float64).max)

BELOW_ONE = float(np.nextafter(1.0, 0.0))
"""The largest number below one: times any power of two that numbers have, it is one of them."""

ALL = slice(None)

FARTHEST = 1e100
"""How far a known truth counts as being from the claims, at most: farther could not be squared."""

SAME_SPREAD = 2.0**-48
"""Claims that spread by no more than this share of their size agree: the rest is rounding."""


class Units(NamedTuple):
    """Each item's own units: numbers are told from `zero`, in powers of two that come near them.

    So sums and squares neither overflow nor vanish, however large or small numbers are, and none
    loses a digit by the change.
    """

    exponent: IntArray
    zero: FloatArray
    """The lowest claim, scaled."""
    span: FloatArray
    """From the lowest claim to the highest, scaled."""

    def away(self, number: FloatArray, item: IntArray | slice = ALL) -> FloatArray:
        """Numbers in the units of their items; those of strangers may be far."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(number, -self.exponent[item]) - self.zero[item]
        return np.clip(scaled, -FARTHEST, FARTHEST)

    def back(self, number: FloatArray) -> FloatArray:
        """One number for each item, among its claims, as it was told."""
        inside = np.clip(number, 0.0, self.span) + self.zero
        return np.asarray(np.ldexp(np.clip(inside, -BELOW_ONE, BELOW_ONE), self.exponent))

    def length(self, number: FloatArray) -> FloatArray:
        """A length of each item as one of numbers as they were told."""
        with np.errstate(over="ignore"):  # the largest number stands for what is beyond it
            length = np.ldexp(number, self.exponent)
        return np.where(np.isnan(number), np.nan, np.minimum(length, LARGEST))


class Numbers(NamedTuple):
    """Each support as a number: what it says, of which item, by which source; and items' scales.

    All are in the `units` of their items. ``centre`` and ``scale`` are mean and standard deviation
    of an item's claims.
    """

    number: FloatArray
    item: IntArray
    source: IntArray
    centre: FloatArray
    scale: FloatArray
    known: FloatArray
    """The known truth of each item, NaN where it is not known."""
    units: Units
    told: FloatArray
    """The known truth of each item, as it was told."""

    @property
    def standard(self) -> FloatArray:
        """The numbers in standard deviations from their item's mean."""
        return self.distance(self.centre)

    def distance(self, truth_of_item: FloatArray) -> FloatArray:
        """How far the numbers are from these truths, in standard deviations of their item's."""
        scale = np.where(self.scale > 0.0, self.scale, 1.0)  # where all agree, nobody is far
        distance: FloatArray = (self.number - truth_of_item[self.item]) / scale[self.item]
        return distance

    @property
    def is_single(self) -> BoolArray:
        """Which items have a single claim, which tells nothing of its own uncertainty."""
        return np.equal(np.bincount(self.item, minlength=len(self.centre)), 1)


def numbers_of(block: Block) -> Numbers:
    """The supports of a block, as numbers."""
    n_items = len(block.first_fact_of_item) - 1
    n_supports_of_fact = np.diff(block.first_support_of_fact)
    item = np.repeat(block.item_of_fact, n_supports_of_fact)
    units = _units_of(block)
    number = units.away(np.repeat(block.number_of_fact, n_supports_of_fact), item)
    centre = _mean_by(number, item, n_items)
    scale = np.sqrt(_mean_by((number - centre[item]) ** 2, item, n_items))
    scale = np.where(scale > SAME_SPREAD, scale, 0.0)
    told = block.known_number_of_item
    known = units.away(told)
    return Numbers(number, item, block.source_of_support, centre, scale, known, units, told)


def difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """``one - other``; the largest number stands for what is beyond it."""
    with np.errstate(over="ignore"):
        return np.clip(one - other, -LARGEST, LARGEST)


def _units_of(block: Block) -> Units:
    first = block.first_fact_of_item[:-1]
    lowest, highest = (
        extreme.reduceat(block.number_of_fact, first) for extreme in (np.minimum, np.maximum)
    )
    exponent = np.frexp(np.maximum(np.abs(lowest), np.abs(highest)))[1]
    zero = np.ldexp(lowest, -exponent)
    return Units(exponent, zero, np.ldexp(highest, -exponent) - zero)


class Distances(NamedTuple):
    """Summed squared distances of each source from the truths, and its claims; of all, of known."""

    square: FloatArray
    n_claims: FloatArray
    known_square: FloatArray
    n_known: FloatArray


def distances(numbers: Numbers, truth_of_item: FloatArray, n_sources: int) -> Distances:
    """How far the sources are from these truths, and from those that are known.

    Truths are in the units of their items, as `Numbers` are.

    Where all sources agree there is no scale, so a known truth tells nothing of how far they are.
    """
    is_told = numbers.scale > 0.0
    is_known = ~np.isnan(numbers.known) & is_told
    truth = np.where(is_known, numbers.known, np.where(is_told, truth_of_item, numbers.centre))
    square = numbers.distance(truth) ** 2
    of_known = is_known[numbers.item]
    return Distances(
        *(
            np.bincount(numbers.source, weight, n_sources).astype(np.float64)
            for weight in (square, np.ones_like(square), square * of_known, of_known)
        )
    )


def calibrated(mean_square: FloatArray, known: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Mean squared distances, as those from the known truths correct them.

    What was learned without them counts as much as `UNLEARNED` known items.
    """
    square, n_known = known
    return np.asarray((square + UNLEARNED * mean_square) / (n_known + UNLEARNED))


def _mean_by(
    number: FloatArray, group: IntArray, n_groups: int, weight: FloatArray | None = None
) -> FloatArray:
    """The mean of each group, weighted if weights are given; every group has a member."""
    if weight is None:
        weight = np.ones_like(number)
    total = np.bincount(group, weight, n_groups)
    mean: FloatArray = np.bincount(group, weight * number, n_groups) / total
    return mean


def weighted_estimate(
    numbers: Numbers, weight_of_source: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The weighted mean of each item's claims, and its standard error, in units of the item.

    The error is that of a mean of as many claims as the weights are worth, (Σw)² / Σw², spread as
    the item's are; a lone claim tells nothing of its error: NaN.
    """
    n_items = len(numbers.centre)
    weight = _relative(weight_of_source[numbers.source], numbers.item, n_items)
    estimate = _mean_by(numbers.number, numbers.item, n_items, weight)
    total = np.bincount(numbers.item, weight, n_items)
    worth = total**2 / np.bincount(numbers.item, weight**2, n_items)
    spread = _mean_by((numbers.number - estimate[numbers.item]) ** 2, numbers.item, n_items, weight)
    is_several = worth > 1.0 + 1e-9
    variance = np.where(is_several, spread / np.where(is_several, worth - 1.0, 1.0), np.nan)
    return estimate, np.sqrt(variance)


def as_told(
    numbers: Numbers, estimate: FloatArray, error: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Estimates and their errors, as numbers were told; what is known is in their place."""
    is_known = ~np.isnan(numbers.told)
    estimate, error = numbers.units.back(estimate), numbers.units.length(error)
    return np.where(is_known, numbers.told, estimate), np.where(is_known, 0.0, error)


def _relative(weight: FloatArray, item: IntArray, n_items: int) -> FloatArray:
    """Weights relative to the largest of their item, so that none is too small to be squared."""
    largest = np.zeros(n_items)
    np.maximum.at(largest, item, weight)
    is_some = largest > 0.0
    relative: FloatArray = weight / np.where(is_some, largest, 1.0)[item]
    return np.where(is_some[item], relative, 1.0)
