"""Values that a source falls back on, whatever it is asked: "0", "unknown", the first of a list.

Who names the same value on most items that it gets wrong agrees, on many of them, with others who
do so, too. That is no proof that they are right: a word that is often named falsely weighs little
where it is named, and what such a source says beside it weighs more. What most sources name often
is left alone: it may as well be true of many items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import BySource, CountBySource
from veracity.claims.block import Block, FloatArray, IntArray

OFTEN = 0.01
"""The share of all claims from which a value may be somebody's favourite: one that is named more
seldom hardly makes two sources agree."""

FAVOURITE = 1 / 3
"""The share of a source's errors from which a value is its favourite."""

FAR_MORE = 4.0
"""How many times as often as the median source one names its favourite, at least. A value that is
true of many items is named by all alike, as far as they are right."""

FEW_ERRORS = 8.0
"""Further errors that are none of a favourite, so that a few are no habit."""

MOST_FAVOURITE = 0.95
"""No source is thought to err towards its favourites more surely than this."""

MOST_CELLS = 2_000_000
"""Of so many sources and values together it is counted how often these name those."""


class Favourites(NamedTuple):
    """Which values are named often, and what share of each source's errors falls on each of them.

    [source, value]; zero unless it is a favourite. All other errors fall on the values of an item
    alike.
    """

    values: IntArray
    share: CountBySource

    @classmethod
    def among(cls, said: FloatArray, n_sources: int) -> Favourites | None:
        """Nobody has one yet; None if no value is named often. `said` is by value."""
        most = np.argsort(-said, kind="stable")[: MOST_CELLS // n_sources]
        values = np.sort(most[said[most] >= OFTEN * said.sum()])
        return cls(values, np.zeros((n_sources, len(values)))) if len(values) else None

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, what cannot have been learned."""
        if self.values.ndim != 1 or (np.diff(self.values, prepend=-1) <= 0).any():
            raise ValueError("what sources fall back on are no values")
        is_fit = self.share.shape == (n_sources, len(self.values)) and (self.share >= 0.0).all()
        if not is_fit or (self.share.sum(axis=1) > MOST_FAVOURITE + 1e-9).any():
            raise ValueError("what sources fall back on has no shares of their errors")

    @property
    def are_any(self) -> bool:
        """Whether anybody has a favourite."""
        return bool(self.share.any())

    def tally(self, block: Block, wrong_of_fact: FloatArray) -> FloatArray:
        """[source, value, 2]: how often each source names each value, and is wrong; in all."""
        column = self._column(block)
        supports = np.flatnonzero(column[block.fact_of_support] >= 0)
        fact, n_values = block.fact_of_support[supports], len(self.values)
        cell = block.source_of_support[supports].astype(np.int64) * n_values + column[fact]
        named = block.share_of_support[supports] if block.has_shares else np.ones(len(fact))
        counts = [
            np.bincount(cell, weight, self.share.size).reshape(self.share.shape)
            for weight in (named * wrong_of_fact[fact], named)
        ]
        return np.stack(counts, axis=2)

    def learn(self, total: FloatArray, errors: BySource, spoken: BySource) -> Favourites:
        """Take what was counted; how often each source is wrong in all, and how often it speaks."""
        wrong, named = total[:, :, 0], total[:, :, 1]
        rate = named / np.maximum(spoken, 1.0)[:, None]
        is_often = rate > FAR_MORE * _medians(rate, spoken)
        share = wrong / (errors[:, None] + FEW_ERRORS)
        share = np.where(is_often & (share >= FAVOURITE), share, 0.0)
        in_all = np.maximum(share.sum(axis=1, keepdims=True), MOST_FAVOURITE)
        return self._replace(share=share * MOST_FAVOURITE / in_all)

    def gain_of_support(self, block: Block, n_values_of_item: FloatArray) -> FloatArray:
        """What each support gains or loses because its source does not err evenly.

        That an error falls on one of K values evenly is worth log K to who names another. Of a
        source whose errors fall on its favourite with a share q, and on all values evenly
        otherwise, it is worth -log(q + (1 - q) / K) there, and -log((1 - q) / K) elsewhere.
        """
        column = self._column(block)[block.fact_of_support]
        source = block.source_of_support
        own = np.where(column >= 0, self.share[source, np.maximum(column, 0)], 0.0)
        n_values = n_values_of_item[block.item_of_fact[block.fact_of_support]]
        even = 1.0 - self.share.sum(axis=1)
        return np.asarray(-np.log(own * n_values + even[source]))

    def _column(self, block: Block) -> IntArray:
        """Of each fact the number of its value among these, -1 if it is none."""
        place = np.searchsorted(self.values, block.label_of_fact)
        place = np.minimum(place, len(self.values) - 1)
        return np.where(self.values[place] == block.label_of_fact, place, -1)


def _medians(numbers: FloatArray, weight: FloatArray) -> FloatArray:
    """The weighted median of each column: half of the weight is on rows with no more.

    >>> _medians(np.array([[1.0, 9.0], [2.0, 8.0], [3.0, 7.0]]), np.array([5.0, 2.0, 1.0]))
    array([1., 9.])
    """
    order = np.argsort(numbers, axis=0, kind="stable")
    at = np.argmax(np.cumsum(weight[order], axis=0) >= 0.5 * weight.sum(), axis=0)
    return np.asarray(np.take_along_axis(numbers, order, axis=0)[at, np.arange(len(at))])
