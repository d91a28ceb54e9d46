"""Sources that depend on each other: the one place that counts pairs of sources."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from veracity.encoding.block import FloatArray, IntArray


class Copies(NamedTuple):
    """Pairs of sources of which one may have copied the other, and the evidence; clearest first.

    Counts are items: those both speak of (`shared`), those on which both say the same, and those on
    which both make the same mistake; and how many of these are expected of independent sources.
    `source` is the likelier copier, with a probability of `direction` if one copies: a half where
    it does not show.
    """

    source: IntArray
    original: IntArray
    direction: FloatArray
    shared: FloatArray
    agreeing: FloatArray
    expected_agreeing: FloatArray
    mistakes: FloatArray
    expected_mistakes: FloatArray
    probability: FloatArray | None = None
    """That of copying, where the algorithm estimates it."""

    @classmethod
    def none(cls) -> Self:
        """Name nobody."""
        nobody, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(nobody, nobody, *(nothing,) * 6)
