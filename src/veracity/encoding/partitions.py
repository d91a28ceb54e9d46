"""Claims that are encoded: parts of whole items with their names, wherever they are held.

After this there are only arrays: algorithms see the blocks, and no names.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.schema import Kind, keys_of, numbers_in
from veracity.encoding.block import Block, BoolArray, IntArray
from veracity.encoding.names import Names, Places
from veracity.encoding.numbering import first_hashes
from veracity.io.memory import claims_that_fit
from veracity.io.pieces import LazyTable
from veracity.kernels.reference.layout import in_groups

CLAIMS_PER_BLOCK = 1 << 19
"""Where to cut: large enough to keep a thread busy, small enough that a million claims keep two;
and the same whatever the number of threads."""

CLAIMS_PER_SOURCE = 2
"""A block has at least so many claims for each source of all: its tallies have a row for each."""

FEWEST_BLOCKS = 8
"""Where there would be fewer blocks for that, these are left for threads to share."""

Counted = TypeVar("Counted")


HALF = np.uint64(32)


def usual_size(n_claims: int, n_sources: int) -> int:
    """About how many claims a block in memory has, unless something else is said.

    >>> usual_size(10_000_000, n_sources=1_000), usual_size(10**8, n_sources=10**6)
    (524288, 2000000)
    """
    for_tallies = min(CLAIMS_PER_SOURCE * n_sources, n_claims // FEWEST_BLOCKS)
    return max(CLAIMS_PER_BLOCK, for_tallies)


def partition_of_row(rows: pl.DataFrame, n_parts: int) -> NDArray[np.uint32]:
    """The part of each row, which follows from its item and nothing else.

    >>> rows = pl.DataFrame({"entity": ["x", "y", "x"], "value": ["1", "2", "3"]})
    >>> part = partition_of_row(rows, 1000)
    >>> bool(part[0] == part[2])
    True
    """
    first = first_hashes([rows[name] for name in keys_of(rows)])
    # the upper half, since the lower one places names within a part
    return ((first >> HALF) % np.uint64(n_parts)).astype(np.uint32)


class ValueScan(NamedTuple):
    """What is decided over all rows before any part is encoded; it merges by ``+``."""

    n_rows: int = 0
    are_numbers: bool = True
    """Whether all values are plain numbers, so that spellings of one number are one value."""

    @classmethod
    def of(cls, rows: pl.DataFrame, so_far: bool = True) -> ValueScan:
        """What rows say to it; they need no look where others have decided."""
        if not so_far or "value" not in rows.columns:
            return cls(len(rows), are_numbers=False)
        return cls(len(rows), rows.is_empty() or numbers_in(rows["value"]) is not None)

    def __add__(self, other: ValueScan) -> ValueScan:  # type: ignore[override]
        """Both together."""
        return ValueScan(self.n_rows + other.n_rows, self.are_numbers and other.are_numbers)


@dataclass(frozen=True)
class Partition:
    """A block with the names that belong to it alone: those of its items, and what its facts say.

    `values` is None for binary facts, which are true or false. A value is spelt as most claims of
    its item spell it.
    """

    block: Block
    items: pl.DataFrame
    values: pl.Series | None

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact: its item, and its value if it has one."""
        facts = self.items[self.block.item_of_fact]
        return facts if self.values is None else facts.with_columns(value=self.values)

    @staticmethod
    def joined(parts: Sequence[Partition]) -> Partition:
        """The items of all parts, one part after the other."""
        values = [part.values for part in parts if part.values is not None]
        return Partition(
            Block.joined([part.block for part in parts]),
            _together([part.items for part in parts]),
            pl.concat(values) if values else None,
        )

    def select(self, is_meant: BoolArray) -> Partition:
        """The items that are meant, numbered from zero."""
        return self.select_with(None, is_meant)[0]

    def select_with(self, answer: Any, is_meant: BoolArray) -> tuple[Partition, Any]:
        """The items that are meant, and the answer to them: of facts, or numbers of items."""
        item = np.flatnonzero(is_meant)  # mostly a few: no mask of all facts is made
        fact, _ = in_groups(self.block.first_fact_of_item, item)
        values = None if self.values is None else self.values.gather(fact)
        some = Partition(self.block.select(is_meant), self.items[item], values)
        if isinstance(answer, tuple):
            return some, tuple(of_item[item] for of_item in answer)
        return some, None if answer is None else answer[fact]


@dataclass(frozen=True)
class Sampling:
    """Items drawn at random, always the same ones: a share of all, and of those that are known."""

    share: float
    share_known: float = 0.0

    def __call__(self, part: Partition) -> BoolArray:
        """Which items of a part are drawn."""
        block = part.block
        is_drawn = block.sampled(self.share, least=0)
        if self.share_known > self.share:
            is_drawn |= block.is_known & block.sampled(self.share_known, least=0)
        return is_drawn


Make = Callable[[Partition, Any, str], pl.DataFrame]
"""Makes the table of a name from a part and what was found in it."""


class Partitions(Protocol):
    """Parts wherever they are. Iterating takes them one at a time."""

    @property
    def blocks(self) -> Sequence[Block]:
        """All that is claimed, without names of items."""
        ...

    def with_blocks(self, blocks: Iterable[Block]) -> Partitions:
        """The same parts, with blocks to which what is known was added."""
        ...

    def renumbered(self, places: Places) -> Partitions:
        """The same parts, with other numbers for what is numbered across blocks."""
        ...

    def tables(self, make: Make, answers: Sequence[Any], names: Mapping[str, int]) -> list[Any]:
        """The tables that are made of all parts; `names` says how many rows each has, about."""
        ...

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Partition]: ...
    def __getitem__(self, number: int) -> Partition: ...


class PartitionsInMemory(tuple[Partition, ...]):
    """Parts in memory."""

    __slots__ = ()

    @property
    def blocks(self) -> list[Block]:
        """All that is claimed, without names of items."""
        return [part.block for part in self]

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """The same parts, with blocks to which what is known was added."""
        pairs = zip(self, blocks, strict=True)
        return PartitionsInMemory(replace(part, block=block) for part, block in pairs)

    def renumbered(self, places: Places) -> PartitionsInMemory:
        """The same parts, with other numbers for what is numbered across blocks."""
        return self.with_blocks(block.renumbered(*places) for block in self.blocks)

    def tables(self, make: Make, answers: Sequence[Any], names: Mapping[str, int]) -> list[Any]:
        """The tables that are made of all parts, when they are asked for; of one part, at once."""
        if len(self) == 1:
            return [make(self[0], answers[0], name) for name in names]
        return [TableInMemory(name, make, self, answers, n) for name, n in names.items()]


class TableInMemory(LazyTable):
    """A table of parts in memory: written piece by piece, and kept once it was asked for as one."""

    is_kept = True

    def __init__(
        self, name: str, make: Make, parts: PartitionsInMemory, answers: Sequence[Any], n_rows: int
    ) -> None:
        super().__init__(name, self._piece, len(parts), n_rows)
        self._table, self._parts, self._answers = make, parts, answers

    def _piece(self, number: int) -> pl.DataFrame:
        return self._table(self._parts[number], self._answers[number], self.name)

    def each(self, work: Callable[[pl.DataFrame], Any]) -> Iterator[Any]:
        """What some work makes of each piece, in order: made side by side."""
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            yield from pool.map(lambda number: work(self._piece(number)), range(self.n_pieces))

    def collect(self) -> pl.DataFrame:
        """All rows, the pieces made side by side."""
        pieces: list[pl.DataFrame] = list(self.each(lambda piece: piece))
        return pl.concat(pieces)


@dataclass(frozen=True)
class Encoded:
    """Claims as complete blocks, with the names beside them.

    The parts are in memory, or wherever else an engine has put them.
    """

    kind: Kind
    names: Names
    parts: Partitions
    notes: tuple[str, ...] = field(default=())

    @property
    def blocks(self) -> Sequence[Block]:
        """All that is claimed, without names of items; they are taken one at a time."""
        return self.parts.blocks

    @property
    def has_shares(self) -> bool:
        """Whether claims count by their shares: they are samples, or have weights."""
        return self.example.block.has_shares

    @property
    def n_items(self) -> int:
        """How many items are described."""
        return sum(block.n_items for block in self.blocks)

    @property
    def n_facts(self) -> int:
        """How many facts are claimed."""
        return sum(block.n_facts for block in self.blocks)

    @property
    def n_known(self) -> int:
        """Of how many items the truth is known."""
        return sum(int(np.count_nonzero(block.is_known)) for block in self.blocks)

    @property
    def n_facts_of_block(self) -> list[int]:
        """How many facts each block has."""
        return [block.n_facts for block in self.blocks]

    @functools.cached_property
    def items_of_source(self) -> IntArray:
        """Of how many items each source speaks."""
        n = self.names.n_sources
        counts = [np.bincount(block.source_of_voice, minlength=n) for block in self.blocks]
        return np.asarray(np.sum(counts, axis=0))

    def by_block(self, number_of_fact: NDArray[Any]) -> list[NDArray[Any]]:
        """Numbers of all facts, as those of each block."""
        bounds = np.cumsum(self.n_facts_of_block)[:-1]
        return np.split(number_of_fact, bounds)

    @property
    def n_claims_of_block(self) -> list[int]:
        """How many claims each block has, as a user would count them."""
        if self.kind == "binary":
            return [len(block.source_of_voice) for block in self.blocks]
        return [len(block.source_of_support) for block in self.blocks]

    @property
    def n_claims(self) -> int:
        """How many claims were made, as a user would count them."""
        return sum(self.n_claims_of_block)

    @property
    def items(self) -> pl.DataFrame:
        """One row per item: its entity and attribute, or its fact."""
        return _together([part.items for part in self.parts])

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact, in the order of the blocks."""
        return _together([part.facts for part in self.parts])

    @property
    def is_remote(self) -> bool:
        """Whether the parts are where this machine cannot reach them one by one."""
        return False

    @property
    def is_in_memory(self) -> bool:
        """Whether all parts are in the memory of this process."""
        return isinstance(self.parts, PartitionsInMemory)

    def fetch(
        self,
        choose: Callable[[Partition], BoolArray] | None = None,
        answers: Any = None,
    ) -> tuple[Encoded, Any]:
        """The same on this machine, of all items or of those that are chosen, with the answers."""
        return self, answers

    def summed(self, look: Callable[[Block, Any], Any], answers: Iterable[Any]) -> Any:
        """What a look finds in all blocks and the answers to them, added up."""
        found = (look(*pair) for pair in zip(self.blocks, answers, strict=True))
        return functools.reduce(operator.add, found)

    def sampled(self, most_claims: int) -> Encoded:
        """Items with about so many claims at most, and with known truth about as many again."""
        claims_known = self.n_known * self.n_claims / max(self.n_items, 1)
        share_known = most_claims / max(claims_known, 1.0)
        return self._chosen(Sampling(self._share_with(most_claims), share_known), None)[0]

    def sampled_with(self, answers: Any, most_claims: int) -> tuple[Encoded, Any]:
        """Items with about so many claims at most, and the answers to their facts."""
        return self._chosen(Sampling(self._share_with(most_claims)), answers)

    def local_sample(self, answers: Any = None) -> tuple[Encoded, Any, tuple[str, ...]]:
        """The same on this machine with its answers, and what is to be known of it.

        Where there is no room for all that is on disk or on executors, it is about items drawn at
        random, always the same ones.
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
        """The share of the items that has so many claims; that of one item, if it has more."""
        share = most_claims / max(self.n_claims, 1)
        return share if share >= 1.0 else max(share, (self.lowest_mark + 1) / 2**32)

    @property
    def lowest_mark(self) -> int:
        """By which the item is known that is drawn before all others."""
        return min(int(block.mark_of_item.min()) for block in self.blocks)

    def _chosen(self, draw: Sampling, answers: Any) -> tuple[Encoded, Any]:
        """The items that are drawn, on this machine, with the answers to their facts."""
        if draw.share >= 1.0:
            return self, answers
        found = [
            part.select_with(answer, is_drawn)
            for part, answer in zip(self.parts, answers or [None] * len(self.parts), strict=True)
            if (is_drawn := draw(part)).any()
        ]
        parts, found_answers = zip(*found, strict=True)
        if sum(len(part.block.source_of_voice) for part in parts) <= CLAIMS_PER_BLOCK:
            parts, found_answers = (Partition.joined(parts),), (_joined_answers(found_answers),)
        return replace(self, parts=PartitionsInMemory(parts)), list(found_answers)

    @property
    def example(self) -> Partition:
        """A part, to know types and columns by."""
        return self.parts[0]

    @property
    def are_numbers(self) -> bool:
        """Whether all values are plain numbers, which are compared as such."""
        if self.kind == "binary":
            return False
        if len(self.names.labels):
            return numbers_in(self.names.labels) is not None
        return all(numbers_in(part.facts["value"]) is not None for part in self.parts)

    def with_known_truths(
        self, look: Callable[[Partition], tuple[Block, Counted]]
    ) -> tuple[Encoded, list[Counted]]:
        """The same, with blocks in which a look has marked what is known; and what it counted."""
        counts: list[Counted] = []

        def blocks() -> Iterator[Block]:
            for part in self.parts:
                block, count = look(part)
                counts.append(count)
                yield block

        return self.with_known(blocks()), counts

    def with_known(self, known: Iterable[Block]) -> Encoded:
        """The same, with blocks to which what is known was added."""
        return replace(self, parts=self.parts.with_blocks(known))

    def with_known_facts(self, known_of_fact: IntArray) -> Encoded:
        """The same, with what is known of each of all facts."""
        pairs = zip(self.blocks, self.by_block(known_of_fact), strict=True)
        return self.with_known(block._replace(known_of_fact=own) for block, own in pairs)

    def numbered_as(self, names: Names) -> Encoded:
        """The same, numbered as elsewhere; names that are new there come behind."""
        grown, places = names.grown(self.names)
        return replace(self, names=grown, parts=self.parts.renumbered(places))


def _joined_answers(answers: Sequence[Any]) -> Any:
    """The answers to several parts as those to one."""
    if answers[0] is None:
        return None
    if isinstance(answers[0], tuple):
        return tuple(np.concatenate(own) for own in zip(*answers, strict=True))
    return np.concatenate(answers)


def _together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return frames[0] if len(frames) == 1 else pl.concat(frames)
