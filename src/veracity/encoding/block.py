"""Claims as arrays: all that kernels and algorithms see of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.loading import kernels
from veracity.kernels.reference.layout import begins_of, in_groups, joined_begins

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

UNKNOWN = -1
"""What is known of a fact of which nothing is known."""

SAME = 9
"""Numbers that agree to this many decimals are the same: no order, tie or answer may hang on the
last bits of a sum, which other processors round otherwise."""

NO_NUMBERS: FloatArray = np.empty(0)
"""The numbers of facts that are none."""

NO_MARKS: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)

NO_KINDS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
"""The kinds of items of which nothing is known but their claims."""


class Block(NamedTuple):
    """Some items with all that is said of them: all that a kernel sees.

    A *support* is a positive claim: a source states that the fact is true. A *voice* is a source
    that says anything about an item; a voice that does not support a fact of its item opposes it.
    Where the truth of an item is known beforehand, all its facts are: true (1) or false (0). Where
    claims are numeric, facts are numbers, and a known truth is a number, too.

    Items and facts are numbered within the block; sources, labels and attributes across all blocks.
    """

    first_fact_of_item: IntArray
    first_support_of_fact: IntArray
    source_of_support: IntArray
    first_voice_of_item: IntArray
    source_of_voice: IntArray
    known_of_fact: IntArray
    label_of_fact: IntArray
    """The number of the value, the same in all items; zero for binary facts, which have none."""
    attribute_of_item: IntArray
    """Zero where there are no attributes."""
    number_of_fact: FloatArray = NO_NUMBERS
    known_number_of_item: FloatArray = NO_NUMBERS
    """For numeric claims: the known truth, NaN where it is not known."""
    mark_of_item: NDArray[np.uint32] = NO_MARKS
    """A number that follows from the item's name, and from nothing else: by it items are drawn."""
    share_of_support: FloatArray = NO_NUMBERS
    share_of_voice: FloatArray = NO_NUMBERS
    """How much each counts, up to one: the supports of a voice share what the voice has. Both are
    empty where each counts in full."""
    kind_of_item: IntArray = NO_KINDS
    """The kind that features of the item make it; empty where there are no features."""
    number: int = 0
    """The place of this block among all, in which their tallies are merged."""

    @property
    def n_items(self) -> int:
        """How many items are described."""
        return len(self.first_fact_of_item) - 1

    @property
    def n_facts(self) -> int:
        """How many facts are claimed."""
        return len(self.first_support_of_fact) - 1

    @property
    def n_facts_of_item(self) -> IntArray:
        """How many values are claimed of each item."""
        return np.diff(self.first_fact_of_item)

    @property
    def n_voices_of_item(self) -> IntArray:
        """How many sources speak of each item."""
        return np.diff(self.first_voice_of_item)

    @property
    def n_supports_of_fact(self) -> IntArray:
        """How many sources support each fact."""
        return np.diff(self.first_support_of_fact)

    @property
    def n_supports_of_item(self) -> IntArray:
        """How many claims name a value of each item."""
        return np.diff(self.first_support_of_fact[self.first_fact_of_item])

    @property
    def item_of_fact(self) -> IntArray:
        """Which item each fact is of."""
        return np.repeat(np.arange(self.n_items), self.n_facts_of_item)

    @property
    def fact_of_support(self) -> IntArray:
        """Which fact each claim supports."""
        return np.repeat(np.arange(self.n_facts), self.n_supports_of_fact)

    @property
    def item_of_voice(self) -> IntArray:
        """Which item each voice speaks of."""
        return np.repeat(np.arange(self.n_items), self.n_voices_of_item)

    @property
    def affirms(self) -> BoolArray:
        """Of binary facts, one per item: which voices support theirs; the others deny it."""
        n_sources = int(self.source_of_voice.max(initial=-1)) + 1
        spoken = self.item_of_voice * n_sources + self.source_of_voice
        return np.isin(spoken, self.fact_of_support * n_sources + self.source_of_support)

    @property
    def affirms_most(self) -> BoolArray:
        """Of binary facts, which voices support theirs with half of their word at least."""
        affirms = self.affirms
        if self.has_shares:
            affirms[affirms] = self.share_of_support >= 0.5 * self.share_of_voice[affirms]
        return affirms

    @property
    def n_affirming_of_item(self) -> IntArray:
        """Of binary facts, how many voices support each with half of their word at least."""
        if not self.has_shares:
            return self.n_supports_of_fact
        return np.bincount(self.item_of_voice[self.affirms_most], minlength=self.n_items)

    @property
    def n_voices_of_fact(self) -> IntArray:
        """How many sources speak on each fact's item."""
        return np.repeat(self.n_voices_of_item, self.n_facts_of_item)

    @property
    def has_shares(self) -> bool:
        """Whether claims count by their shares, and not each in full."""
        return len(self.share_of_voice) > 0

    @property
    def votes_of_fact(self) -> FloatArray:
        """How much supports each fact: its sources, each as far as its claim counts."""
        if not self.has_shares:
            return self.n_supports_of_fact.astype(np.float64)
        votes = np.bincount(self.fact_of_support, self.share_of_support, self.n_facts)
        return votes.astype(np.float64)

    def weighted(self, number_of_support: FloatArray) -> FloatArray:
        """Numbers of supports, each as far as its claim counts."""
        return number_of_support * self.share_of_support if self.has_shares else number_of_support

    @property
    def votes_of_item(self) -> FloatArray:
        """How much is said of each item: its sources, each as far as it counts."""
        if not self.has_shares:
            return self.n_voices_of_item.astype(np.float64)
        votes = np.bincount(self.item_of_voice, self.share_of_voice, self.n_items)
        return votes.astype(np.float64)

    @property
    def is_numeric(self) -> bool:
        """Whether facts are numbers."""
        return len(self.number_of_fact) > 0

    @property
    def is_known(self) -> BoolArray:
        """Of which items the truth is known."""
        if self.is_numeric:
            return ~np.isnan(self.known_number_of_item)
        return np.not_equal(self.known_of_fact[self.first_fact_of_item[:-1]], UNKNOWN)

    def part(self, first_item: int, last_item: int, number: int = 0) -> Block:
        """The items from `first_item` to before `last_item`, numbered from zero."""
        facts = self.first_fact_of_item[first_item : last_item + 1]
        supports = self.first_support_of_fact[facts[0] : facts[-1] + 1]
        voices = self.first_voice_of_item[first_item : last_item + 1]
        source_of_support = self.source_of_support[supports[0] : supports[-1]]
        source_of_voice = source_of_support
        if self.source_of_voice is not self.source_of_support:  # one array, if nobody names two
            source_of_voice = self.source_of_voice[voices[0] : voices[-1]]
        return Block(
            facts - facts[0],
            supports - supports[0],
            source_of_support,
            voices - voices[0],
            source_of_voice,
            self.known_of_fact[facts[0] : facts[-1]],
            self.label_of_fact[facts[0] : facts[-1]],
            self.attribute_of_item[first_item:last_item],
            self.number_of_fact[facts[0] : facts[-1]],
            self.known_number_of_item[first_item:last_item],
            self.mark_of_item[first_item:last_item],
            self.share_of_support[supports[0] : supports[-1]],
            self.share_of_voice[voices[0] : voices[-1]],
            self.kind_of_item[first_item:last_item],
            number,
        )

    def select(self, is_meant: BoolArray) -> Block:
        """The items that are meant, numbered from zero."""
        item = np.flatnonzero(is_meant)  # mostly a few: the claims of all others are not looked at
        fact, first_fact_of_item = in_groups(self.first_fact_of_item, item)
        support, first_support_of_fact = in_groups(self.first_support_of_fact, fact)
        voice, first_voice_of_item = in_groups(self.first_voice_of_item, item)
        return Block(
            first_fact_of_item,
            first_support_of_fact,
            self.source_of_support[support],
            first_voice_of_item,
            self.source_of_voice[voice],
            self.known_of_fact[fact],
            self.label_of_fact[fact],
            self.attribute_of_item[item],
            self.number_of_fact[fact] if self.is_numeric else NO_NUMBERS,
            self.known_number_of_item[item] if self.is_numeric else NO_NUMBERS,
            self.mark_of_item[item] if len(self.mark_of_item) else NO_MARKS,
            self.share_of_support[support] if self.has_shares else NO_NUMBERS,
            self.share_of_voice[voice] if self.has_shares else NO_NUMBERS,
            self.kind_of_item[item] if len(self.kind_of_item) else NO_KINDS,
            self.number,
        )

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """The items of all blocks, one block after the other."""
        if len(blocks) == 1:
            return blocks[0]
        columns: dict[str, Any] = {
            name: (joined_begins if name.startswith("first_") else np.concatenate)(
                [getattr(block, name) for block in blocks]
            )
            for name in cls._fields
            if name not in ("source_of_voice", "number")
        }
        columns["source_of_voice"] = columns["source_of_support"]
        if not all(block.source_of_voice is block.source_of_support for block in blocks):
            columns["source_of_voice"] = np.concatenate([own.source_of_voice for own in blocks])
        return cls(**columns)

    def without_shares(self) -> Block:
        """The same, with every claim counting in full."""
        return self._replace(share_of_support=NO_NUMBERS, share_of_voice=NO_NUMBERS)

    def strongest_claims(self) -> tuple[Block, BoolArray]:
        """What each voice says most of all, as if it said that alone; and which facts are left.

        Where it says two things as much, it says both. For facts of which one is true.
        """
        if not self.has_shares:
            return self, np.ones(self.n_facts, dtype=np.bool_)
        fact, share = self.fact_of_support, self.share_of_support
        n_sources = int(self.source_of_support.max()) + 1
        spoken = self.item_of_fact[fact] * n_sources + self.source_of_support
        _, voice = np.unique(spoken, return_inverse=True)
        most = np.zeros(len(self.source_of_voice))
        np.maximum.at(most, voice, share)
        is_most = np.round(share, SAME) >= np.round(most, SAME)[voice]
        n_supports = np.bincount(fact[is_most], minlength=self.n_facts)
        is_left = n_supports > 0
        n_facts_of_item = np.bincount(self.item_of_fact[is_left], minlength=self.n_items)
        left = self.without_shares()._replace(
            first_fact_of_item=begins_of(n_facts_of_item),
            first_support_of_fact=begins_of(n_supports[is_left]),
            source_of_support=self.source_of_support[is_most],
            known_of_fact=self.known_of_fact[is_left],
            label_of_fact=self.label_of_fact[is_left],
        )
        return left, is_left

    def sampled(self, share: float, *, least: int = 1) -> BoolArray:
        """Items drawn at random, about this share of them: always the same, wherever they lie.

        The first ones, if there would be fewer than `least`.
        """
        if share >= 1.0:
            return np.ones(self.n_items, dtype=np.bool_)
        is_drawn = self.mark_of_item < np.uint64(share * 2.0**32)
        if np.count_nonzero(is_drawn) < least:
            is_drawn[:least] = True
        return np.asarray(is_drawn)

    def renumbered(self, source: IntArray, label: IntArray | None, attribute: IntArray) -> Block:
        """The same, with other numbers (given by the old) for what is numbered across blocks.

        Open values, for which there is none, keep theirs.
        """
        source_of_support = source[self.source_of_support]
        is_one = self.source_of_voice is self.source_of_support
        return self._replace(
            source_of_support=source_of_support,
            source_of_voice=source_of_support if is_one else source[self.source_of_voice],
            label_of_fact=self.label_of_fact if label is None else label[self.label_of_fact],
            attribute_of_item=attribute[self.attribute_of_item],
        )


def voices_of(
    first_fact_of_item: IntArray,
    first_support_of_fact: IntArray,
    source_of_support: IntArray,
    n_sources: int,
) -> tuple[IntArray, IntArray]:
    """The first voice of each item, and the source of each voice, where nobody only denies a fact.

    Where nobody names two values of one item, either, a support is a voice: it is the same array.
    """
    supports = first_fact_of_item, first_support_of_fact, source_of_support
    first_voice_of_item, source_of_voice = kernels.find_voices(*supports, n_sources)
    is_one = len(source_of_voice) == len(source_of_support)
    return first_voice_of_item, source_of_support if is_one else source_of_voice
