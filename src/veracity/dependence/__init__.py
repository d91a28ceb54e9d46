"""Which sources depend on each other: the one place that counts pairs of sources."""

from __future__ import annotations

from typing import NamedTuple

from veracity.claims.block import FloatArray, IntArray


class Copies(NamedTuple):
    """Pairs of sources of which one copies the other, likelier than not; the clearest first.

    `probability` is that of copying in either direction, `source` the likelier copier, with a
    probability of `direction` if one copies: a half where it does not show. The counts are
    expectations: a shared value is true as far as it is plausible.
    """

    source: IntArray
    original: IntArray
    probability: FloatArray
    direction: FloatArray
    shared_true: FloatArray
    shared_false: FloatArray
    different: FloatArray
