"""What algorithms for numbers share: claims as numbers, weighted means, and how sure these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.encode import Block, FloatArray, IntArray

__all__ = ["Numbers", "is_numeric", "numbers_of", "weighted_estimate"]


class Numbers(NamedTuple):
    """Each support as a number: what it says, of which item, by which source; and items' scales.

    ``centre`` and ``scale`` are mean and standard deviation of an item's claims.
    """

    number: FloatArray
    item: IntArray
    source: IntArray
    centre: FloatArray
    scale: FloatArray

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
    def is_lone(self) -> NDArray[np.bool_]:
        """Which items have a single claim, which tells nothing of its own uncertainty."""
        return np.equal(np.bincount(self.item, minlength=len(self.centre)), 1)


def is_numeric(block: Block) -> bool:
    """Whether the facts of the block are numbers."""
    return len(block.number_of_fact) > 0


def numbers_of(block: Block) -> Numbers:
    """The supports of a block, as numbers."""
    n_items = len(block.first_fact_of_item) - 1
    n_supports_of_fact = np.diff(block.first_support_of_fact)
    number = np.repeat(block.number_of_fact, n_supports_of_fact)
    item = np.repeat(block.item_of_fact, n_supports_of_fact)
    centre = mean_by(number, item, n_items)
    scale = np.sqrt(mean_by((number - centre[item]) ** 2, item, n_items))
    # Rounding leaves a trace of spread where all agree.
    scale = np.where(scale > 1e-12 * mean_by(np.abs(number), item, n_items), scale, 0.0)
    return Numbers(number, item, block.source_of_support, centre, scale)


def mean_by(
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
    """The weighted mean of each item's claims, and its standard error.

    The error is that of a mean of as many claims as the weights are worth, (Σw)² / Σw², spread as
    the item's are; a lone claim tells nothing of its error: NaN.
    """
    n_items = len(numbers.centre)
    weight = _relative(weight_of_source[numbers.source], numbers.item, n_items)
    estimate = mean_by(numbers.number, numbers.item, n_items, weight)
    total = np.bincount(numbers.item, weight, n_items)
    worth = total**2 / np.bincount(numbers.item, weight**2, n_items)
    spread = mean_by((numbers.number - estimate[numbers.item]) ** 2, numbers.item, n_items, weight)
    is_several = worth > 1.0 + 1e-9
    variance = np.where(is_several, spread / np.where(is_several, worth - 1.0, 1.0), np.nan)
    return estimate, np.sqrt(variance)


def _relative(weight: FloatArray, item: IntArray, n_items: int) -> FloatArray:
    """Weights relative to the largest of their item, so that none is too small to be squared."""
    largest = np.zeros(n_items)
    np.maximum.at(largest, item, weight)
    is_some = largest > 0.0
    relative: FloatArray = weight / np.where(is_some, largest, 1.0)[item]
    return np.where(is_some[item], relative, 1.0)
