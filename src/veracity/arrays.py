"""Claims as arrays: all that kernels and algorithms see of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_NUMBERS", "UNKNOWN", "Block", "FloatArray", "IntArray"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]

UNKNOWN = -1
"""What is known of a fact of which nothing is known."""

NO_NUMBERS: FloatArray = np.empty(0)
"""The numbers of facts that are none."""


class Block(NamedTuple):
    """Some items with all that is claimed of them: all that a kernel sees.

    A *support* is a positive claim: a source states that the fact is true. A *voice* is a source
    that says anything about an item; a voice that does not support a fact of its item opposes it.
    Where the truth of an item is known beforehand, all its facts are: true (1) or false (0). Where
    claims are numeric, facts are numbers.
    """

    first_fact_of_item: IntArray
    first_support_of_fact: IntArray
    source_of_support: IntArray
    first_voice_of_item: IntArray
    source_of_voice: IntArray
    known_of_fact: IntArray
    number_of_fact: FloatArray = NO_NUMBERS

    @property
    def item_of_fact(self) -> IntArray:
        """Which item each fact is of."""
        n_facts_of_item = np.diff(self.first_fact_of_item)
        return np.repeat(np.arange(len(n_facts_of_item)), n_facts_of_item)

    @property
    def n_voices_of_fact(self) -> IntArray:
        """How many sources speak on each fact's item."""
        return np.repeat(np.diff(self.first_voice_of_item), np.diff(self.first_fact_of_item))

    def part(self, first_item: int, last_item: int) -> Block:
        """The items from `first_item` to before `last_item`, numbered from zero."""
        facts = self.first_fact_of_item[first_item : last_item + 1]
        supports = self.first_support_of_fact[facts[0] : facts[-1] + 1]
        voices = self.first_voice_of_item[first_item : last_item + 1]
        return Block(
            facts - facts[0],
            supports - supports[0],
            self.source_of_support[supports[0] : supports[-1]],
            voices - voices[0],
            self.source_of_voice[voices[0] : voices[-1]],
            self.known_of_fact[facts[0] : facts[-1]],
            self.number_of_fact[facts[0] : facts[-1]],
        )
