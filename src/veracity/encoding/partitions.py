"""Claims that are encoded: partitions of whole items with their names, wherever they are held.

After this there are only arrays: algorithms see the blocks, and no names.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encoding.block import Block, BoolArray, IntArray
from veracity.encoding.names import Names, Places, marks_of
from veracity.io.lazy import LazySequence, LazyTable
from veracity.io.memory import claims_that_fit
from veracity.kernels.reference import in_groups
from veracity.reading.clean import NO_TIME
from veracity.reading.roles import Kind, numbers_in

if TYPE_CHECKING:
    from veracity.alike import Alikeness

CLAIMS_PER_BLOCK = 1 << 19
"""Usual size of a block: large enough for a thread, small enough that a million claims make two
blocks; it does not depend on the number of threads."""

CLAIMS_PER_SOURCE = 2
"""Fewest claims of a block for each source of all: its tallies have a row for each source."""

FEWEST_BLOCKS = 8
"""Blocks are not made larger for that if fewer would be left for threads to share."""

PLACE = "place of an item"

Count = TypeVar("Count")

PartitionKey = Literal["item", "entity"]
"""Scope of a block: all claims about an item, or about an entity with all its items."""


def columns_of_key(columns: Iterable[str], key: PartitionKey) -> list[str]:
    """Return the columns that name the units that are never split between blocks.

    >>> columns_of_key(["source", "entity", "attribute", "value"], "entity")
    ['entity']
    """
    names = ("entity", "fact") if key == "entity" else ("entity", "attribute", "fact")
    return [name for name in names if name in columns]


def usual_size(n_claims: int, n_sources: int) -> int:
    """Return about how many claims a block in memory has, unless the user decides.

    >>> usual_size(10_000_000, n_sources=1_000), usual_size(10**8, n_sources=10**6)
    (524288, 2000000)
    """
    for_tallies = min(CLAIMS_PER_SOURCE * n_sources, n_claims // FEWEST_BLOCKS)
    return max(CLAIMS_PER_BLOCK, for_tallies)


@dataclass(frozen=True)
class Partition:
    """Block with its own names: those of its items and their values.

    `values` is None for binary facts, which are true or false. A value has the spelling of most of
    its claims.
    """

    block: Block
    items: pl.DataFrame
    values: pl.Series | None

    @staticmethod
    def of(block: Block, items: pl.DataFrame, values: pl.Series | None) -> Partition:
        """Return a block with the names stored for it: of merged spellings, those that are told."""
        if values is not None and len(block.told_of_fact):
            values = values.gather(block.told_of_fact)
        return Partition(block, items, values)

    @property
    def facts(self) -> pl.DataFrame:
        """Return one row per fact: its item, and its value if it has one."""
        facts = self.items[self.block.item_of_fact]
        return facts if self.values is None else facts.with_columns(value=self.values)

    @staticmethod
    def joined(parts: Sequence[Partition]) -> Partition:
        """Join the items of all partitions, one partition after the other."""
        values = [part.values for part in parts if part.values is not None]
        return Partition(
            Block.joined([part.block for part in parts]),
            _joined([part.items for part in parts]),
            pl.concat(values) if values else None,
        )

    def select(self, is_meant: BoolArray) -> Partition:
        """Return the items that are meant, numbered from zero."""
        return self.select_with(None, is_meant)[0]

    def marks(self, items: MarkedItems) -> BoolArray:
        """Mark those of the items that are among these."""
        is_meant = np.zeros(self.block.n_items, dtype=np.bool_)
        likely = np.flatnonzero(items.has(self.block.mark_of_item))
        named = self.items[likely].with_columns(pl.Series(PLACE, likely))
        found = named.join(items.names, on=items.names.columns, how="semi", nulls_equal=True)
        is_meant[found[PLACE].to_numpy()] = True
        return is_meant

    def voices_in(self, others: Iterable[Partition], n_sources: int) -> BoolArray:
        """Mark the voices of sources that make a claim on the same item in other partitions."""
        numbered = self.items.with_columns(pl.int_range(pl.len()).alias(PLACE))
        pairs: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        for other in others:
            items, on = other.items.cast(self.items.schema), self.items.columns
            found = items.join(numbered, on=on, how="left", nulls_equal=True, maintain_order="left")
            place = found[PLACE].fill_null(-1).to_numpy()[other.block.item_of_voice]
            pairs.append((place * n_sources + other.block.source_of_voice)[place >= 0])
        own = self.block.item_of_voice * np.int64(n_sources) + self.block.source_of_voice
        return np.isin(own, np.concatenate(pairs))

    def select_with(self, answer: Any, is_meant: BoolArray) -> tuple[Partition, Any]:
        """Return the items that are meant, and their answer: of facts, or numbers of items."""
        item = np.flatnonzero(is_meant)  # mostly a few: no mask of all facts is made
        fact, _ = in_groups(self.block.first_fact_of_item, item)
        values = None if self.values is None else self.values.gather(fact)
        some = Partition(self.block.select(is_meant), self.items[item], values)
        if isinstance(answer, tuple):
            return some, tuple(of_item[item] for of_item in answer)
        return some, None if answer is None else answer[fact]


@dataclass(frozen=True)
class MarkedItems:
    """Names of some items, and their sorted marks, to find them quickly."""

    names: pl.DataFrame
    marks: NDArray[np.uint32]

    @staticmethod
    def of(items: pl.DataFrame, like: pl.DataFrame) -> MarkedItems:
        """Take the columns that name items in another table, with their types."""
        names = items.select(like.columns).cast(like.schema).unique()
        return MarkedItems(names, np.sort(marks_of(names)))

    def has(self, marks: NDArray[np.uint32]) -> BoolArray:
        """Return True for marks that equal the mark of one of these items."""
        begins = np.zeros(1 << 16, dtype=np.bool_)  # most marks begin otherwise: a quick no
        begins[self.marks >> np.uint32(16)] = True
        found = begins[marks >> np.uint32(16)]
        found[found] = _are_among(marks[found], self.marks)
        return np.asarray(found)

    def may_be_in(self, marks_in_order: NDArray[np.uint32]) -> bool:
        """Return True if any of these items has one of the marks."""
        return bool(_are_among(self.marks, marks_in_order).any())


def _are_among(marks: NDArray[np.uint32], others: NDArray[np.uint32]) -> BoolArray:
    """Return True for marks that are among the others, which are sorted and not empty."""
    place = np.searchsorted(others, marks)
    place[place == len(others)] = 0
    return np.asarray(others[place] == marks)


@dataclass(frozen=True)
class Sampling:
    """Function that marks a fixed random sample of items: a share of all, and of the known ones."""

    share: float
    share_known: float = 0.0

    def __call__(self, part: Partition) -> BoolArray:
        """Mark the items of a partition that are drawn."""
        block = part.block
        is_drawn = block.sampled(self.share, least=0)
        if self.share_known > self.share:
            is_drawn |= block.is_known & block.sampled(self.share_known, least=0)
        return is_drawn


Make = Callable[[Partition, Any, str], pl.DataFrame]
"""Function that makes a table from a partition and the result for it."""


class Partitions(Protocol):
    """Partitions in memory, on disk or on executors. Iteration loads one at a time."""

    @property
    def blocks(self) -> Sequence[Block]:
        """Return all claims, without names of items."""
        ...

    def with_blocks(self, blocks: Iterable[Block]) -> Partitions:
        """Replace the blocks by those with the known truths."""
        ...

    def with_merged(self, blocks: Iterable[Block]) -> Partitions:
        """Replace the blocks by those in which values are merged."""
        ...

    def renumbered(self, places: Places) -> Partitions:
        """Replace the numbers that are shared across blocks."""
        ...

    def with_any(self, items: MarkedItems) -> Iterable[Partition]:
        """Return the partitions that may have some of these items."""
        ...

    def tables(self, make: Make, answers: Sequence[Any], names: Mapping[str, int]) -> list[Any]:
        """Return tables that are made of all partitions; `names` has their numbers of rows."""
        ...

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Partition]: ...
    def __getitem__(self, number: int) -> Partition: ...


class PartitionsInMemory(tuple[Partition, ...]):
    """Partitions in memory."""

    __slots__ = ()

    @property
    def blocks(self) -> list[Block]:
        """Return all claims, without names of items."""
        return [part.block for part in self]

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Replace the blocks by those with the known truths."""
        pairs = zip(self, blocks, strict=True)
        return PartitionsInMemory(replace(part, block=block) for part, block in pairs)

    def with_merged(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Replace the blocks by those in which values are merged."""
        pairs = zip(self, blocks, strict=True)
        return PartitionsInMemory(Partition.of(b, part.items, part.values) for part, b in pairs)

    def renumbered(self, places: Places) -> PartitionsInMemory:
        """Replace the numbers that are shared across blocks."""
        return self.with_blocks(block.renumbered(*places) for block in self.blocks)

    def with_any(self, items: MarkedItems) -> Iterable[Partition]:
        """Return the partitions that may have some of these items."""
        return (part for part in self if items.has(part.block.mark_of_item).any())

    def tables(self, make: Make, answers: Sequence[Any], names: Mapping[str, int]) -> list[Any]:
        """Return tables that are made when they are asked for; of one partition, at once."""
        if len(self) == 1:
            return [make(self[0], answers[0], name) for name in names]
        return tables_in_chunks(self, make, answers, names)


class LazyPartitions(LazySequence[Partition]):
    """Partitions that are made or mapped when they are asked for; changed ones are in memory."""

    blocks: Sequence[Block]

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Replace the blocks by those with the known truths."""
        return PartitionsInMemory(self).with_blocks(blocks)

    def with_merged(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Replace the blocks by those in which values are merged."""
        return PartitionsInMemory(self).with_merged(blocks)

    def renumbered(self, places: Places) -> PartitionsInMemory:
        """Replace the numbers that are shared across blocks."""
        return PartitionsInMemory(self).renumbered(places)

    def with_any(self, items: MarkedItems) -> Iterable[Partition]:
        """Yield the partitions that may have some of these items; no other is read."""
        for number, block in enumerate(self.blocks):
            if items.has(block.mark_of_item).any():
                yield self[number]

    def tables(
        self, make: Make, answers: Sequence[Any], names: Mapping[str, int]
    ) -> list[LazyTable]:
        """Return tables made from all partitions; each chunk is made when it is used."""
        return tables_in_chunks(self, make, answers, names)


def tables_in_chunks(
    parts: Sequence[Partition], make: Make, answers: Sequence[Any], names: Mapping[str, int]
) -> list[LazyTable]:
    """Return tables with a chunk for each partition, which is made when it is used."""
    return [PartitionTable(name, make, parts, answers, n) for name, n in names.items()]


class PartitionTable(LazyTable):
    """Table of partitions: of those in memory, chunks are made side by side, and stored."""

    def __init__(
        self, name: str, make: Make, parts: Sequence[Partition], answers: Sequence[Any], n_rows: int
    ) -> None:
        super().__init__(name, self._chunk, len(parts), n_rows)
        self._table, self._parts, self._answers = make, parts, answers
        self.is_kept = isinstance(parts, PartitionsInMemory)

    def _chunk(self, number: int) -> pl.DataFrame:
        return self._table(self._parts[number], self._answers[number], self.name)

    def each(self, work: Callable[[pl.DataFrame], Any]) -> Iterator[Any]:
        """Yield the result of a function for each chunk, in order."""
        if not self.is_kept:
            yield from super().each(work)
            return
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            yield from pool.map(lambda number: work(self._chunk(number)), range(self.n_chunks))

    def collect(self) -> pl.DataFrame:
        """Return all rows."""
        if not self.is_kept:
            return super().collect()
        chunks: list[pl.DataFrame] = list(self.each(lambda chunk: chunk))
        return pl.concat(chunks)


@dataclass(frozen=True)
class Encoded:
    """Claims as complete blocks, with their names.

    The partitions are in memory, or wherever else an engine has put them.
    """

    kind: Kind
    names: Names
    parts: Partitions
    notes: tuple[str, ...] = field(default=())
    until: float = NO_TIME
    """Newest time of a claim."""
    alikeness: Alikeness | None = None
    """The kinds of alikeness by which values were merged, if they were."""
    changes: pl.DataFrame | None = None
    """The values that normalising changed, and those that were merged with others."""
    originals: pl.DataFrame | None = None
    """The claims whose values changed, with both spellings, if they fit in memory."""

    @property
    def blocks(self) -> Sequence[Block]:
        """Return all claims, without names of items; blocks are taken one at a time."""
        return self.parts.blocks

    @property
    def has_shares(self) -> bool:
        """Return True if claims count by their shares: they are samples, or have weights."""
        return self.example.block.has_shares

    @property
    def n_items(self) -> int:
        """Count the items."""
        return sum(block.n_items for block in self.blocks)

    @property
    def n_facts(self) -> int:
        """Count the facts."""
        return sum(block.n_facts for block in self.blocks)

    @property
    def n_known(self) -> int:
        """Count the items whose truth is known."""
        return sum(int(np.count_nonzero(block.is_known)) for block in self.blocks)

    @property
    def n_facts_of_block(self) -> list[int]:
        """Count the facts of each block."""
        return [block.n_facts for block in self.blocks]

    @functools.cached_property
    def items_of_source(self) -> IntArray:
        """Count the items that each source makes claims about."""
        n = self.names.n_sources
        counts = [np.bincount(block.source_of_voice, minlength=n) for block in self.blocks]
        return np.asarray(np.sum(counts, axis=0))

    def by_block(self, number_of_fact: NDArray[Any]) -> list[NDArray[Any]]:
        """Split an array over all facts into one array per block."""
        bounds = np.cumsum(self.n_facts_of_block)[:-1]
        return np.split(number_of_fact, bounds)

    @property
    def n_claims_of_block(self) -> list[int]:
        """Count the claims of each block, as a user would count them."""
        if self.kind == "binary":
            return [len(block.source_of_voice) for block in self.blocks]
        return [len(block.source_of_support) for block in self.blocks]

    @property
    def n_claims(self) -> int:
        """Count the claims, as a user would count them."""
        return sum(self.n_claims_of_block)

    @property
    def items(self) -> pl.DataFrame:
        """Return one row per item: its entity and attribute, or its fact."""
        return _joined([part.items for part in self.parts])

    @property
    def facts(self) -> pl.DataFrame:
        """Return one row per fact, in the order of the blocks."""
        return _joined([part.facts for part in self.parts])

    @property
    def is_remote(self) -> bool:
        """Return True if this machine cannot read the partitions one by one."""
        return False

    @property
    def is_in_memory(self) -> bool:
        """Return True if all partitions are in the memory of this process."""
        return isinstance(self.parts, PartitionsInMemory)

    def fetch(
        self,
        choose: Callable[[Partition], BoolArray] | None = None,
        answers: Any = None,
    ) -> tuple[Encoded, Any]:
        """Bring all or some items to this machine, with the answers."""
        return self, answers

    def summed(self, look: Callable[[Block, Any], Any], answers: Iterable[Any]) -> Any:
        """Add up the results of a function for all blocks and the answers to them."""
        found = (look(*pair) for pair in zip(self.blocks, answers, strict=True))
        return functools.reduce(operator.add, found)

    def sampled(self, most_claims: int) -> Encoded:
        """Draw items with about `most_claims` claims, and as many again with known truths."""
        claims_known = self.n_known * self.n_claims / max(self.n_items, 1)
        share_known = most_claims / max(claims_known, 1.0)
        return self._chosen(Sampling(self._share_with(most_claims), share_known), None)[0]

    def sampled_with(self, answers: Any, most_claims: int) -> tuple[Encoded, Any]:
        """Draw items with about `most_claims` claims, with the answers to their facts."""
        return self._chosen(Sampling(self._share_with(most_claims)), answers)

    def local_sample(self, answers: Any = None) -> tuple[Encoded, Any, tuple[str, ...]]:
        """Bring the claims to this machine, with their answers and notes.

        If claims on disk or on executors do not fit in memory, a fixed random sample of items is
        used.
        """
        most = claims_that_fit()
        if self.is_in_memory or self.n_claims <= most:
            return *self.fetch(None, answers), ()
        if answers is None:
            some, found = self.sampled(most // 2), None
        else:
            some, found = self.sampled_with(answers, most)
        note = (
            f"looked at {some.n_items:,} of {self.n_items:,} items, drawn at random: there is room "
            f"for about {most:,} of {self.n_claims:,} claims on this machine"
        )
        return some, found, (note,)

    def _share_with(self, most_claims: int) -> float:
        """Return the share of the items that has `most_claims` claims; at least one item."""
        share = most_claims / max(self.n_claims, 1)
        return share if share >= 1.0 else max(share, (self.lowest_mark + 1) / 2**32)

    @property
    def lowest_mark(self) -> int:
        """Return the mark of the item that is drawn before all others."""
        return min(int(block.mark_of_item.min()) for block in self.blocks)

    def _chosen(self, draw: Sampling, answers: Any) -> tuple[Encoded, Any]:
        """Return the items that are drawn, on this machine, with the answers to their facts."""
        if draw.share >= 1.0:
            return self, answers
        found = [
            part.select_with(answer, is_drawn)
            for part, answer in zip(self.parts, answers or [None] * len(self.parts), strict=True)
            if (is_drawn := draw(part)).any()
        ]
        return self._in_memory(found)

    def claims_of(self, items: pl.DataFrame) -> Encoded | None:
        """Return all claims about these items, in memory; None if there are none.

        `items` has the columns that name items: "entity" and, if claims have one, "attribute"; or
        "fact". Of claims on disk, no more than the blocks that have one of the items are read.
        """
        if not len(items):
            return None
        marked = MarkedItems.of(items, self.example.items)
        found = [
            (part.select(is_meant), None)
            for part in self.parts.with_any(marked)
            if (is_meant := part.marks(marked)).any()
        ]
        return self._in_memory(found)[0] if found else None

    def _in_memory(self, found: Sequence[tuple[Partition, Any]]) -> tuple[Encoded, Any]:
        """Return these partitions, joined if they are small, as the claims, and their answers."""
        parts, found_answers = zip(*found, strict=True)
        if sum(len(part.block.source_of_voice) for part in parts) <= CLAIMS_PER_BLOCK:
            parts, found_answers = (Partition.joined(parts),), (_joined_answers(found_answers),)
        return replace(self, parts=PartitionsInMemory(parts)), list(found_answers)

    @property
    def example(self) -> Partition:
        """Return a partition, to know types and columns by."""
        return self.parts[0]

    @property
    def are_numbers(self) -> bool:
        """Return True if all values are plain numbers, which are compared by size."""
        if self.kind == "binary":
            return False
        if len(self.names.labels):
            return numbers_in(self.names.labels) is not None
        return all(numbers_in(part.facts["value"]) is not None for part in self.parts)

    def with_known_truths(
        self, look: Callable[[Partition], tuple[Block, Count]]
    ) -> tuple[Encoded, list[Count]]:
        """Let `look` mark the known truths in each block, and return also its counts."""
        counts: list[Count] = []
        return self.with_known(self._blocks(look, counts)), counts

    def with_alike(
        self, look: Callable[[Partition], tuple[Block, Count]]
    ) -> tuple[Encoded, list[Count]]:
        """Let `look` merge the values of each block that are alike; also return its counts."""
        counts: list[Count] = []
        return replace(self, parts=self.parts.with_merged(self._blocks(look, counts))), counts

    def _blocks(
        self, look: Callable[[Partition], tuple[Block, Count]], counts: list[Count]
    ) -> Iterator[Block]:
        """Yield the block that `look` makes of each partition, and collect its counts."""
        for part in self.parts:
            block, count = look(part)
            counts.append(count)
            yield block

    def with_known(self, known: Iterable[Block]) -> Encoded:
        """Replace the blocks by those with the known truths."""
        return replace(self, parts=self.parts.with_blocks(known))

    def with_known_facts(self, known_of_fact: IntArray) -> Encoded:
        """Set the known truth of every fact."""
        pairs = zip(self.blocks, self.by_block(known_of_fact), strict=True)
        return self.with_known(block._replace(known_of_fact=own) for block, own in pairs)

    def numbered_as(self, names: Names) -> Encoded:
        """Renumber the names as elsewhere; names that are new there get the next numbers."""
        grown, places = names.grown(self.names)
        return replace(self, names=grown, parts=self.parts.renumbered(places))


def _joined_answers(answers: Sequence[Any]) -> Any:
    """Join the answers to several partitions into one answer."""
    if answers[0] is None:
        return None
    if isinstance(answers[0], tuple):
        return tuple(np.concatenate(own) for own in zip(*answers, strict=True))
    return np.concatenate(answers)


def _joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return frames[0] if len(frames) == 1 else pl.concat(frames)
