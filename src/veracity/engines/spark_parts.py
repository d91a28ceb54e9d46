"""Claims as parts where Spark's executors are: known, chosen and made into tables there."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import polars as pl

from veracity.encoding.block import Block, BoolArray, IntArray
from veracity.encoding.encode import EncodingCounts
from veracity.encoding.names import Names, PartitionNames, Places
from veracity.encoding.partitions import Encoded, Make, Partition, PartitionsInMemory, Sampling
from veracity.engines.executors import FOUND, Fetching, Held, Sent, Tabling, Telling
from veracity.engines.merging import merged
from veracity.engines.spark import (
    MOST_COLLECTED,
    AnswersOnSpark,
    BlocksOnSpark,
    MadeParts,
    explained,
    mapped,
    merged_there,
)
from veracity.errors import TooLarge
from veracity.io.array_file import unpacked
from veracity.io.frames import spark_table
from veracity.io.lazy import LazyTable
from veracity.io.memory import BYTES_PER_CLAIM_HERE, SHARE_HERE, free_memory
from veracity.reading.schema import Kind


class Rest(NamedTuple):
    """What belongs to a part beside its block: names of items, spellings of values, all names."""

    items: pl.DataFrame
    values: pl.Series | None
    names: PartitionNames


class Told(NamedTuple):
    """What the driver is told of a part."""

    n_rows: int
    n_lacking: Counter[str]
    encoding: EncodingCounts
    are_numbers: bool
    n_merged: int
    counts: Counts
    example: Partition | None
    """One item, to know the columns of tables by."""


class Counts(NamedTuple):
    """How many there are of what in a part, and by which of its items one is drawn first."""

    items: int = 0
    facts: int = 0
    claims: int = 0
    lowest_mark: int = 0


@dataclass(frozen=True)
class NumberingAgain:
    """A step that gives other numbers to what is numbered across blocks."""

    places: Places

    def __call__(self, block: Block, rest: Rest) -> Block:
        """The block, with other numbers."""
        return block.renumbered(*self.places)


@dataclass(frozen=True)
class Knowing:
    """A step that marks what is known; or what it counts when it does."""

    look: Callable[[Partition], tuple[Block, Any]]

    def __call__(self, block: Block, rest: Rest) -> Block:
        """The block, with what is known."""
        return self.look(Partition(block, rest.items, rest.values))[0]


@dataclass(frozen=True)
class CountingKnown:
    """How much is known of a part."""

    look: Callable[[Partition], tuple[Block, Any]]

    def __call__(self, block: Block, rest: Rest, answer: None) -> Any:
        """What is counted when it is marked."""
        return self.look(Partition(block, rest.items, rest.values))[1]


# --- parts ----------------------------------------------------------------------------------------

Choose = Callable[[Partition], BoolArray]
"""Which items of a part are meant."""


@dataclass(frozen=True)
class PartitionsOnSpark:
    """Parts where the executors are."""

    made: MadeParts
    steps: tuple[tuple[str, Sent], ...]
    kind: Kind
    counts: tuple[Counts, ...]
    """Of each part, in order."""

    @property
    def blocks(self) -> Any:
        """What Spark holds; taken one by one, they all come to this machine."""
        return _Blocks(self.made, self.steps, self)

    def __len__(self) -> int:
        return len(self.made.parts)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._all)

    def __getitem__(self, number: int) -> Partition:
        return self._all[number]

    @property
    def _held(self) -> Held:
        """As if nothing were kept beside blocks."""
        return Held(self.made.store, "", self.steps, {}, {})

    @cached_property
    def _all(self) -> PartitionsInMemory:
        """All parts, on this machine."""
        return self.fetch()[0]

    @property
    def example(self) -> Partition:
        """A part of one item, to know types and columns by."""
        told: list[Told] = self.made.told
        return next(one.example for one in told if one.example is not None)

    def renumbered(self, places: Places) -> PartitionsOnSpark:
        """The same parts, with other numbers for what is numbered across blocks."""
        return self.with_step(NumberingAgain(places))

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """The same parts, on this machine, with blocks to which what is known was added."""
        return self._all.with_blocks(blocks)

    def with_step(self, step: Callable[[Block, Rest], Block]) -> PartitionsOnSpark:
        """The same parts, with blocks that a step has changed."""
        return replace(self, steps=(*self.steps, (uuid4().hex, self.made.send(step))))

    def tables(
        self,
        make: Make,
        answers: Any,
        names: Mapping[str, int],
    ) -> list[LazyTable]:
        """The tables that are made of all parts, where these are, when they are asked for."""
        held, work, given = self._held, None, None
        if isinstance(answers, AnswersOnSpark):
            held, work = answers
        else:
            given = dict(zip(self.made.parts, answers, strict=True))
        tables: list[LazyTable] = []
        for name, n_rows in names.items():
            sent = self.made.send(_OneTable(make, name, given))
            schema = self._schema(make, name, has_answer=work is not None)
            tabling = Tabling(held, sent, work, schema)
            tables.append(TableOnSpark(name, self.made, tabling, n_rows, answers))
        return tables

    def _schema(self, make: Make, name: str, *, has_answer: bool) -> Any:
        """The columns of a table, as Spark has them: those of one item's."""
        part = self.example
        answer: Any = 0
        if has_answer and self.kind == "numeric":
            answer = (np.zeros(part.block.n_items), np.zeros(part.block.n_items))
        elif has_answer:
            answer = np.zeros(part.block.n_facts)
        return spark_table(make(part, answer, name)).schema

    def fetch(
        self, choose: Choose | None = None, answers: AnswersOnSpark | None = None
    ) -> tuple[PartitionsInMemory, list[Any]]:
        """Items that are chosen, or all, on this machine, with the answers to them."""
        if choose is None:
            n_claims = sum(counts.claims for counts in self.counts)
            _require_room(n_claims, f"all {n_claims:,} claims")
        found = self.fetched(_Chosen(choose), answers)
        kept = [(Partition(*part), answer) for part, answer in found if part is not None]
        return PartitionsInMemory(part for part, _ in kept), [answer for _, answer in kept]

    def fetched(
        self,
        choose: Callable[[Block, Rest, Any], Any],
        answers: AnswersOnSpark | None = None,
        *,
        merge: bool = False,
    ) -> list[Any]:
        """What is chosen from each part and the answer to it, in order; or merged of neighbours."""
        held, work = (self._held, None) if answers is None else answers
        sent = self.made.send(choose)
        found = mapped(self.made.filled.select("part", "data"), Fetching(held, sent, work), FOUND)
        if merge:
            found = merged_there(found, len(self))
        with explained():
            rows = found.collect()
        sent.broadcast.destroy()
        rows.sort(key=lambda row: int(row.part))
        return [unpacked(bytearray(row.found)) for row in rows]


def _require_room(n_rows: int, what: str) -> None:
    """Refuse what does not fit on this machine."""
    free, n_bytes = free_memory(), n_rows * BYTES_PER_CLAIM_HERE
    if free is not None and n_bytes > SHARE_HERE * free:
        raise TooLarge(
            f"this needs {what} on one machine, about {n_bytes / 1e9:,.1f} GB, and "
            f"{free / 1e9:,.1f} GB are free here; take a sample of the items, or what is wanted "
            "from result.truths and result.facts, which are Spark frames"
        )


def _as_it_is(table: pl.DataFrame) -> pl.DataFrame:
    return table


@dataclass(frozen=True)
class _Blocks(BlocksOnSpark, Sequence[Block]):
    """The blocks of parts where the executors are."""

    parts: PartitionsOnSpark

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: Any) -> Any:
        return [part.block for part in self.parts][number]

    def __iter__(self) -> Iterator[Block]:
        return iter([part.block for part in self.parts])


@dataclass(frozen=True)
class _OneTable:
    """Makes one of several tables, from a part and the answer to it."""

    make: Make
    name: str
    given: Mapping[int, Any] | None

    def __call__(self, number: int, block: Block, rest: Rest, found: Any) -> pl.DataFrame:
        answer = found if self.given is None else self.given[number]
        return self.make(Partition(block, rest.items, rest.values), answer, self.name)


@dataclass(frozen=True)
class _Chosen:
    """Some items of a part, with the answer to them."""

    choose: Choose | None

    def __call__(self, block: Block, rest: Rest, answer: Any) -> tuple[Any, Any]:
        part = Partition(block, rest.items, rest.values)
        if self.choose is None:
            return (part.block, part.items, part.values), answer
        is_meant = self.choose(part)
        if not is_meant.any():
            return None, None
        some, answer = part.select_with(answer, is_meant)
        return (some.block, some.items, some.values), answer


class TableOnSpark(LazyTable):
    """A table that executors make, piece by piece: a piece has the rows of a part."""

    def __init__(
        self,
        name: str,
        made: MadeParts,
        tabling: Tabling,
        n_rows: int,
        answers: Any,
    ) -> None:
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

        super().__init__(name, self._chunk, len(made.parts), n_rows)
        self._made, self._tabling, self.answers = made, tabling, answers
        self._columns = from_arrow_schema(tabling.schema)

    @property
    def frame(self) -> Any:
        """All rows, as a Spark frame that is not yet made."""
        return mapped(self._parts(), self._tabling, self._columns)

    def each(self, work: Callable[[pl.DataFrame], Any]) -> Iterator[Any]:
        """What some work makes of each piece, in order: done where the pieces are."""
        sent = self._made.send(work)
        with explained():
            rows = mapped(self._parts(), Telling(self._tabling, sent), FOUND).collect()
        sent.broadcast.destroy()
        for row in sorted(rows, key=lambda row: int(row.part)):
            yield unpacked(bytearray(row.found))

    def collect(self) -> pl.DataFrame:
        """All rows, if there is room for them here."""
        _require_room(len(self), f"the {self.name}, about {len(self):,} rows,")
        tables: list[pl.DataFrame] = list(self.each(_as_it_is))
        return pl.concat(tables)

    def _chunk(self, place: int) -> pl.DataFrame:
        part = self._parts().filter(self._made.whole.part == self._made.parts[place])
        with explained():
            table = mapped(part, self._tabling, self._columns).toArrow()
        return pl.DataFrame(pl.from_arrow(table))

    def _parts(self) -> Any:
        return self._made.filled.select("part", "data")


# --- claims ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedOnSpark(Encoded):
    """Claims as blocks where the executors are: what is counted was counted there."""

    parts: PartitionsOnSpark
    has_numbers: bool = False
    n_known_items: int = 0
    items_spoken: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def example(self) -> Partition:
        """A part, to know types and columns by."""
        return self.parts.example

    @property
    def are_numbers(self) -> bool:
        """Whether all values are plain numbers, which are compared as such."""
        return self.has_numbers

    def with_known_truths(self, look: Callable[[Partition], Any]) -> tuple[Encoded, list[Any]]:
        """The same, with blocks in which a look has marked what is known; and what it counted."""
        counts = self.parts.fetched(CountingKnown(look))
        parts = self.parts.with_step(Knowing(look))
        n_known = sum(count.items for count in counts)
        return replace(self, parts=parts, n_known_items=n_known), counts

    @property
    def n_items(self) -> int:
        """How many items are described."""
        return sum(counts.items for counts in self.parts.counts)

    @property
    def n_facts(self) -> int:
        """How many facts are claimed."""
        return sum(counts.facts for counts in self.parts.counts)

    @property
    def n_claims_of_block(self) -> list[int]:
        """How many claims each block has, as a user would count them."""
        return [counts.claims for counts in self.parts.counts]

    @property
    def n_facts_of_block(self) -> list[int]:
        """How many facts each block has."""
        return [counts.facts for counts in self.parts.counts]

    @property
    def items_of_source(self) -> IntArray:
        """Of how many items each source speaks."""
        return self.items_spoken

    def numbered_as(self, names: Names) -> Encoded:
        """The same, numbered as elsewhere; names that are new there come behind."""
        grown, places = names.grown(self.names)
        source, spoken = places[0], np.zeros(grown.n_sources, dtype=np.int64)
        if source is not None:
            spoken[source] = self.items_spoken
        parts = self.parts.renumbered(places)
        return replace(self, names=grown, parts=parts, items_spoken=spoken)

    @property
    def n_known(self) -> int:
        """Of how many items the truth is known."""
        return self.n_known_items

    @property
    def is_remote(self) -> bool:
        """The parts are on executors."""
        return True

    def fetch(
        self, choose: Choose | None = None, answers: AnswersOnSpark | None = None
    ) -> tuple[Encoded, Any]:
        """The same on this machine, of all items or of those that are chosen, with the answers."""
        parts, found = self.parts.fetch(choose, answers)
        return Encoded(self.kind, self.names, parts, self.notes), found

    def summed(self, look: Callable[[Block, Any], Any], answers: Any) -> Any:
        """What a look finds in all blocks and the answers to them, added up where they are."""
        merge = len(self.parts) > MOST_COLLECTED
        return functools.reduce(merged, self.parts.fetched(_Summing(look), answers, merge=merge))

    @property
    def lowest_mark(self) -> int:
        """By which the item is known that is drawn before all others."""
        return min(counts.lowest_mark for counts in self.parts.counts)

    def _chosen(self, draw: Sampling, answers: Any) -> tuple[Encoded, Any]:
        """The items that are drawn, on this machine, with the answers to their facts."""
        return self.fetch(draw, answers)


@dataclass(frozen=True)
class _Summing:
    """What a look finds in a block and the answer to it."""

    look: Callable[[Block, Any], Any]

    def __call__(self, block: Block, rest: Rest, answer: Any) -> Any:
        return self.look(block, answer)
