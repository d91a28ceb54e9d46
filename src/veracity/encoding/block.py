"""Claims as arrays: all that kernels and algorithms see of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity import kernels
from veracity.kernels.reference import begins_of, in_groups, joined_begins

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

UNKNOWN = -1
"""Marks facts of items whose truth is not known."""

SAME = 9
"""Decimals to which numbers are compared: no order, tie or answer may depend on the last bits of a
sum, which other processors round differently."""

NO_NUMBERS: FloatArray = np.empty(0)
"""Empty array, for blocks whose facts are not numbers."""

NO_MARKS: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)

NO_CODES: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)

NO_KINDS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
"""The kinds of items without features."""

NO_PARTIALS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
NO_DIVISIBLE: BoolArray = np.empty(0, dtype=np.bool_)


class Block(NamedTuple):
    """Some items with all claims about them, as arrays: all that a kernel sees.

    A *support* is a positive claim: a source states that the fact is true. A *voice* is a source
    that claims anything about an item; a voice that does not support a fact of its item opposes it.
    Where the truth of an item is known beforehand, all its facts are true (1) or false (0). Where
    claims are numeric, facts are numbers, and known truths are numbers, too.

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
    """Known truth of each item, for numeric claims; NaN where it is not known."""
    mark_of_item: NDArray[np.uint32] = NO_MARKS
    """Number computed from the item's name alone, to sample items."""
    share_of_support: FloatArray = NO_NUMBERS
    share_of_voice: FloatArray = NO_NUMBERS
    """Weight of each support, up to one: the supports of a voice add up to its share. Both arrays
    are empty if all claims count in full."""
    kind_of_item: IntArray = NO_KINDS
    """The kind of each item, found from its features; empty where there are no features."""
    first_partial_of_fact: IntArray = NO_PARTIALS
    rank_of_partial: IntArray = NO_PARTIALS
    """The facts of the item that say less than each fact, as places in the item. Both arrays are
    empty unless values are alike."""
    is_divisible_of_fact: BoolArray = NO_DIVISIBLE
    """True for values that a source could tell in part."""
    told_of_fact: IntArray = NO_PARTIALS
    """The row of each fact in the spellings that were stored before values were merged."""
    entity_of_item: NDArray[np.uint64] = NO_CODES
    code_of_fact: NDArray[np.uint64] = NO_CODES
    amount_of_fact: FloatArray = NO_NUMBERS
    """Where there are rules between facts: a hash of the item's entity, which neighbours share, and
    a hash and the number of each value, in minutes if it is a time; else empty."""
    field_of_fact: FloatArray = NO_NUMBERS
    """The score that rules add to each fact, while an algorithm looks at the block; else empty."""
    number: int = 0
    """The place of this block among all: tallies are merged in this order."""

    @property
    def n_items(self) -> int:
        """Count the items."""
        return len(self.first_fact_of_item) - 1

    @property
    def n_facts(self) -> int:
        """Count the facts."""
        return len(self.first_support_of_fact) - 1

    @property
    def n_facts_of_item(self) -> IntArray:
        """Count the facts of each item."""
        return np.diff(self.first_fact_of_item)

    @property
    def has_partials(self) -> bool:
        """Return True if a fact says less than another of its item."""
        return len(self.rank_of_partial) > 0

    @property
    def whole_of_partial(self) -> IntArray:
        """Return the fact that says all, of each pair of facts of which one says less."""
        return np.repeat(np.arange(self.n_facts), np.diff(self.first_partial_of_fact))

    @property
    def fact_of_partial(self) -> IntArray:
        """Return the fact that says less, of each such pair."""
        first = self.first_fact_of_item[self.item_of_fact[self.whole_of_partial]]
        return np.asarray(first + self.rank_of_partial)

    def as_far_as_told(self, plausibility: FloatArray) -> FloatArray:
        """Return how plausible each fact is as far as it goes, or one that says more."""
        if not self.has_partials:
            return plausibility
        more = plausibility[self.whole_of_partial]
        added = np.bincount(self.fact_of_partial, more, self.n_facts)
        return np.asarray(np.minimum(plausibility + added, 1.0))

    @property
    def n_voices_of_item(self) -> IntArray:
        """Count the voices of each item."""
        return np.diff(self.first_voice_of_item)

    @property
    def n_supports_of_fact(self) -> IntArray:
        """Count the supports of each fact."""
        return np.diff(self.first_support_of_fact)

    @property
    def n_supports_of_item(self) -> IntArray:
        """Count the supports of all facts of each item."""
        return np.diff(self.first_support_of_fact[self.first_fact_of_item])

    @property
    def item_of_fact(self) -> IntArray:
        """Return the item of each fact."""
        return np.repeat(np.arange(self.n_items), self.n_facts_of_item)

    @property
    def fact_of_support(self) -> IntArray:
        """Return the fact of each support."""
        return np.repeat(np.arange(self.n_facts), self.n_supports_of_fact)

    @property
    def item_of_voice(self) -> IntArray:
        """Return the item of each voice."""
        return np.repeat(np.arange(self.n_items), self.n_voices_of_item)

    @property
    def affirms(self) -> BoolArray:
        """Mark the voices that support their fact, of binary facts; the others deny it."""
        n_sources = int(self.source_of_voice.max(initial=-1)) + 1
        spoken = self.item_of_voice * n_sources + self.source_of_voice
        return np.isin(spoken, self.fact_of_support * n_sources + self.source_of_support)

    @property
    def affirms_most(self) -> BoolArray:
        """Mark the voices that support their binary fact with at least half of their share."""
        affirms = self.affirms
        if self.has_shares:
            affirms[affirms] = self.share_of_support >= 0.5 * self.share_of_voice[affirms]
        return affirms

    @property
    def n_affirming_of_item(self) -> IntArray:
        """Count the voices that support each binary fact with at least half of their share."""
        if not self.has_shares:
            return self.n_supports_of_fact
        return np.bincount(self.item_of_voice[self.affirms_most], minlength=self.n_items)

    @property
    def n_voices_of_fact(self) -> IntArray:
        """Count the voices of each fact's item."""
        return np.repeat(self.n_voices_of_item, self.n_facts_of_item)

    @property
    def has_shares(self) -> bool:
        """Return True if claims have shares, and do not count in full."""
        return len(self.share_of_voice) > 0

    @property
    def votes_of_fact(self) -> FloatArray:
        """Sum the shares of each fact's supports."""
        if not self.has_shares:
            return self.n_supports_of_fact.astype(np.float64)
        votes = np.bincount(self.fact_of_support, self.share_of_support, self.n_facts)
        return votes.astype(np.float64)

    def weighted(self, number_of_support: FloatArray) -> FloatArray:
        """Multiply numbers of supports by the shares of these."""
        return number_of_support * self.share_of_support if self.has_shares else number_of_support

    @property
    def votes_of_item(self) -> FloatArray:
        """Sum the shares of each item's voices."""
        if not self.has_shares:
            return self.n_voices_of_item.astype(np.float64)
        votes = np.bincount(self.item_of_voice, self.share_of_voice, self.n_items)
        return votes.astype(np.float64)

    @property
    def is_numeric(self) -> bool:
        """Return True if facts are numbers."""
        return len(self.number_of_fact) > 0

    @property
    def is_known(self) -> BoolArray:
        """Mark the items whose truth is known."""
        if self.is_numeric:
            return ~np.isnan(self.known_number_of_item)
        return np.not_equal(self.known_of_fact[self.first_fact_of_item[:-1]], UNKNOWN)

    def part(self, first_item: int, last_item: int, number: int = 0) -> Block:
        """Return the items from `first_item` to before `last_item`, numbered from zero."""
        facts = self.first_fact_of_item[first_item : last_item + 1]
        supports = self.first_support_of_fact[facts[0] : facts[-1] + 1]
        voices = self.first_voice_of_item[first_item : last_item + 1]
        rows = {
            "item": slice(first_item, last_item),
            "fact": slice(facts[0], facts[-1]),
            "support": slice(supports[0], supports[-1]),
            "voice": slice(voices[0], voices[-1]),
        }
        begins = facts - facts[0], supports - supports[0], voices - voices[0]
        partials = self.first_partial_of_fact[facts[0] : facts[-1] + 1]
        if len(partials):
            rows["partial"] = slice(partials[0], partials[-1])
            partials = partials - partials[0]
        part = self._taken(rows, *begins)._replace(number=number, first_partial_of_fact=partials)
        if self.source_of_voice is self.source_of_support:  # one array, if nobody names two
            part = part._replace(source_of_voice=part.source_of_support)
        return part

    def select(self, is_meant: BoolArray) -> Block:
        """Return the items that are meant, numbered from zero."""
        item = np.flatnonzero(is_meant)  # mostly a few: the claims of all others are not looked at
        fact, first_fact_of_item = in_groups(self.first_fact_of_item, item)
        support, first_support_of_fact = in_groups(self.first_support_of_fact, fact)
        voice, first_voice_of_item = in_groups(self.first_voice_of_item, item)
        rows = {"item": item, "fact": fact, "support": support, "voice": voice}
        partials = self.first_partial_of_fact
        if len(partials):
            rows["partial"], partials = in_groups(partials, fact)
        taken = self._taken(rows, first_fact_of_item, first_support_of_fact, first_voice_of_item)
        return taken._replace(first_partial_of_fact=partials)

    def _taken(
        self,
        rows: Mapping[str, IntArray | slice],
        first_fact_of_item: IntArray,
        first_support_of_fact: IntArray,
        first_voice_of_item: IntArray,
    ) -> Block:
        """Select rows of all arrays by the index that ends their names; empty arrays stay empty."""
        taken: dict[str, Any] = {
            name: getattr(self, name)[rows[name.rsplit("_of_")[-1]]]
            for name in self._fields[:-1]
            if len(getattr(self, name)) and not name.startswith("first_")
        }
        return self._replace(
            first_fact_of_item=first_fact_of_item,
            first_support_of_fact=first_support_of_fact,
            first_voice_of_item=first_voice_of_item,
            **taken,
        )

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """Join the items of all blocks, one block after the other."""
        if len(blocks) == 1:
            return blocks[0]
        columns: dict[str, Any] = {
            name: (joined_begins if name.startswith("first_") else np.concatenate)(
                [getattr(block, name) for block in blocks]
            )
            for name in cls._fields
            if name not in ("source_of_voice", "number") and len(getattr(blocks[0], name))
        }
        columns["source_of_voice"] = columns["source_of_support"]
        if not all(block.source_of_voice is block.source_of_support for block in blocks):
            columns["source_of_voice"] = np.concatenate([own.source_of_voice for own in blocks])
        return cls(**columns)

    def without_shares(self) -> Block:
        """Let every claim count in full."""
        return self._replace(share_of_support=NO_NUMBERS, share_of_voice=NO_NUMBERS)

    def strongest_claims(self) -> tuple[Block, BoolArray]:
        """Select the values that each voice claims most strongly, with share one; mark facts left.

        If several values are equally strong, all are selected. Each item must have one true value.
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
            code_of_fact=NO_CODES,
            amount_of_fact=NO_NUMBERS,
            field_of_fact=NO_NUMBERS,
            first_fact_of_item=begins_of(n_facts_of_item),
            first_support_of_fact=begins_of(n_supports[is_left]),
            source_of_support=self.source_of_support[is_most],
            known_of_fact=self.known_of_fact[is_left],
            label_of_fact=self.label_of_fact[is_left],
            first_partial_of_fact=NO_PARTIALS,
            rank_of_partial=NO_PARTIALS,
            is_divisible_of_fact=NO_DIVISIBLE,
        )
        return left, is_left

    def sampled(self, share: float, *, least: int = 1) -> BoolArray:
        """Mark about this share of the items, drawn at random: always the same, in any block.

        The first ones are marked if there would be fewer than `least`.
        """
        if share >= 1.0:
            return np.ones(self.n_items, dtype=np.bool_)
        is_drawn = self.mark_of_item < np.uint64(share * 2.0**32)
        if np.count_nonzero(is_drawn) < least:
            is_drawn[:least] = True
        return np.asarray(is_drawn)

    def renumbered(
        self, source: IntArray | None, label: IntArray | None, attribute: IntArray | None
    ) -> Block:
        """Replace the numbers that all blocks share, by a map from old to new.

        Without a map, numbers are unchanged.
        """
        block = self
        if source is not None:
            of_support = source[block.source_of_support]
            is_one = block.source_of_voice is block.source_of_support
            of_voice = of_support if is_one else source[block.source_of_voice]
            block = block._replace(source_of_support=of_support, source_of_voice=of_voice)
        if label is not None:
            block = block._replace(label_of_fact=label[block.label_of_fact])
        if attribute is not None:
            block = block._replace(attribute_of_item=attribute[block.attribute_of_item])
        return block


def voices_of(
    first_fact_of_item: IntArray,
    first_support_of_fact: IntArray,
    source_of_support: IntArray,
    n_sources: int,
) -> tuple[IntArray, IntArray]:
    """Return the first voice of each item and the source of each voice, if all voices support.

    If no source claims two values of one item, supports are voices: they are the same array.
    """
    supports = first_fact_of_item, first_support_of_fact, source_of_support
    first_voice_of_item, source_of_voice = kernels.find_voices(*supports, n_sources)
    is_one = len(source_of_voice) == len(source_of_support)
    return first_voice_of_item, source_of_support if is_one else source_of_voice
