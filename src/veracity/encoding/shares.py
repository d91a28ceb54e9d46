"""Turn weights of rows into shares: all claims of a source on an item share one vote.

A source has one vote on an item, even if it was asked five times or gives confidences for several
values. Each of its values gets a share of the vote. Weights that add up to more than one are
counts, and are divided by their sum. Weights that add up to less are confidences, and do not
change: a source that is half sure counts half. So the shares of a source on an item add up to at
most one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.printing import counted

MOST_PAIRED = 2**62
"""Largest number in which several columns may be combined."""


class WeightCounts(NamedTuple):
    """Counts of rows with weights, and of their treatment; they add up by ``+``."""

    n_rows: int = 0
    n_voices: int = 0
    """Number of (source, item) pairs."""
    n_in_part: int = 0
    """Number of claims and votes that do not count in full."""
    most: float = 0.0
    """The largest weight."""

    @classmethod
    def of(cls, block: Block, weight_of_row: FloatArray) -> WeightCounts:
        """Count a block with shares, made of rows with these weights."""
        n_in_part = sum(
            int(np.count_nonzero(share != 1.0))
            for share in (block.share_of_support, block.share_of_voice)
        )
        n_voices = len(block.source_of_voice)
        return cls(len(weight_of_row), n_voices, n_in_part, float(weight_of_row.max()))

    def __add__(self, other: WeightCounts) -> WeightCounts:  # type: ignore[override]
        """Add two counts."""
        return WeightCounts(
            self.n_rows + other.n_rows,
            self.n_voices + other.n_voices,
            self.n_in_part + other.n_in_part,
            max(self.most, other.most),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on the treatment of the weights."""
        notes = []
        if self.most > 1.0 and not self.n_in_part:
            notes.append(
                "the weights change nothing: none is below 1, and no source names two values of an "
                "item; confidences are numbers from 0 to 1"
            )
        elif self.most > 1.0:
            notes.append(
                "weights above 1 are read as counts: all claims of a source on an item count as "
                "one claim; confidences are numbers from 0 to 1"
            )
        n_more = self.n_rows - self.n_voices
        if n_more and self.n_in_part:
            rows = counted(n_more, "row is a further claim", "rows are further claims")
            notes.append(f"{rows} of a source on the same item: its values count by their shares")
        return tuple(notes)


NO_WEIGHTS = WeightCounts()
"""Counts of claims without weights."""


def with_shares(
    block: Block, rows: tuple[IntArray, IntArray, IntArray], weight_of_row: FloatArray
) -> Block:
    """Give shares to a block that was laid out from rows of item, value and source."""
    weight = _sums_by(_paired(*rows), weight_of_row)  # in the order of the supports
    if block.source_of_voice is block.source_of_support:  # nobody names two values of one item
        share = np.minimum(weight, 1.0)
        return block._replace(share_of_support=share, share_of_voice=share)
    spoken = _paired(block.item_of_fact[block.fact_of_support], block.source_of_support)
    by_voice = np.argsort(spoken, kind="stable")
    first = _first_of_each(spoken[by_voice])
    weight_of_voice = np.add.reduceat(weight[by_voice], first)
    as_met = np.argsort(by_voice[first])  # the order in which blocks have voices
    divisor = np.empty(len(weight))
    n_values = np.diff(np.append(first, len(weight)))
    divisor[by_voice] = np.repeat(np.maximum(weight_of_voice, 1.0), n_values)
    return block._replace(
        share_of_support=weight / divisor, share_of_voice=np.minimum(weight_of_voice[as_met], 1.0)
    )


def _paired(first: IntArray, *others: IntArray) -> IntArray:
    """Combine columns of numbers into one column with the same order, which sorts faster."""
    paired = first.astype(np.int64)
    for other in others:
        n_others = int(other.max()) + 1
        if int(paired.max()) >= MOST_PAIRED // n_others:
            paired = np.unique(paired, return_inverse=True)[1]
        paired = paired * n_others + other
    return paired


def _sums_by(group: IntArray, weight: FloatArray) -> FloatArray:
    """Sum the weights of each group, in order; no bit depends on the order of rows."""
    order = np.argsort(group)
    group, weight = group[order], weight[order]
    first = _first_of_each(group)
    if (weight != weight[0]).any():
        n_of_group = np.diff(np.append(first, len(group)))
        is_one_of_several = np.repeat(n_of_group > 1, n_of_group)
        some = weight[is_one_of_several]
        weight[is_one_of_several] = some[np.lexsort((some, group[is_one_of_several]))]
    return np.add.reduceat(weight, first)


def _first_of_each(group: IntArray) -> IntArray:
    """Return where each group of neighbours begins."""
    return np.append(0, np.flatnonzero(np.diff(group)) + 1)


def affirmed_voices(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per fact and source, sorted, of rows that call facts true or false.

    `share` is the weight of the source, and `affirmed` the part of it that calls the fact true.
    """
    said = rows.sort("fact", "source", "claim", "weight")
    weight, most = pl.col("weight").sum(), pl.max_horizontal(pl.col("weight").sum(), 1.0)
    affirmed = pl.col("weight").filter("claim").sum()
    by_voice = said.group_by("fact", "source", maintain_order=True)
    return by_voice.agg(share=weight / most, affirmed=affirmed / most)
