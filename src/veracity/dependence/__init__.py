"""Sources that depend on each other: the one place that counts pairs of sources."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Self

import numpy as np

from veracity.encoding.block import FloatArray, IntArray
from veracity.trees import Index

ByPair = Annotated[FloatArray, "pair"]
"""An array with one number per pair of sources."""

SourceOfPair = Annotated[IntArray, "pair", Index("source")]
"""First source of each pair."""


class Copies(NamedTuple):
    """Pairs of sources of which one may have copied the other, and the evidence; clearest first.

    Counts are items: those both speak of (`shared`), those on which both say the same, and those on
    which both make the same mistake; and how many of these are expected of independent sources.
    `source` is the likelier copier, with a probability of `direction` if one copies: a half where
    it does not show.
    """

    source: SourceOfPair
    original: SourceOfPair
    direction: ByPair
    shared: ByPair
    agreeing: ByPair
    expected_agreeing: ByPair
    mistakes: ByPair
    expected_mistakes: ByPair
    probability: FloatArray | None = None
    """Probability of copying, where the algorithm estimates it."""

    @classmethod
    def none(cls) -> Self:
        """Return no pairs."""
        nobody, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(nobody, nobody, *(nothing,) * 6)
