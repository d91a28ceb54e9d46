"""Claims as parts where Spark's executors are: encoded there, and made into tables there.

The road is that of claims on one machine: rows are parted by item, each part is encoded by itself,
names are brought together, and parts are numbered by them. Only names come to the driver.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import polars as pl

from veracity.claims.block import Block, BoolArray, IntArray, Names, Places
from veracity.claims.checking import checked_rows, lacking_notes
from veracity.claims.encode import CLAIMS_PER_BLOCK, check_some, encode_part, notes_of
from veracity.claims.encoded import Draw, Encoded, Make, Part, PartsInMemory
from veracity.claims.normalise import Rewriting
from veracity.claims.one_word import Settled, settled
from veracity.claims.parting import AllNames, LocalNames, places_among
from veracity.claims.read import ClaimsStream
from veracity.claims.schema import ClaimsTable, Kind, numbers_in
from veracity.claims.spark_rows import SparkClaims
from veracity.engines.executors import FOUND, Fetching, Held, Made, Sent, Tabling, Telling
from veracity.engines.merging import merged
from veracity.engines.packing import unpacked
from veracity.engines.spark import (
    MOST_COLLECTED,
    AnswersOnSpark,
    BlocksOnSpark,
    MadeParts,
    Spark,
    explained,
    mapped,
    merged_there,
)
from veracity.errors import NoClaims, TooLarge
from veracity.io.frames import spark_table
from veracity.io.memory import BYTES_PER_CLAIM_HERE, SHARE_HERE, free_memory
from veracity.io.pieces import PieceTable
from veracity.progress import Progress

__all__ = ["EncodedOnSpark", "PartsOnSpark", "encode_on_spark"]

BYTES_PER_PART = 1 << 23
"""Bytes of a frame, as Spark guesses them, from which a part is made: about a million claims."""

MOST_PARTS = 10_000

MOST_BELIEVED = 1 << 34
"""Bytes up to which Spark's guess is believed: that of a join is a product. Beyond, rows are
counted."""

PART = "part of veracity"
"""The column that has the number of the part that a row belongs to."""


class Rest(NamedTuple):
    """What belongs to a part beside its block: names of items, spellings of values, all names."""

    items: pl.DataFrame
    values: pl.Series | None
    names: LocalNames


class Told(NamedTuple):
    """What the driver is told of a part."""

    n_rows: int
    n_lacking: Counter[str]
    said_again: Settled
    n_self_contradicting: int
    are_numbers: bool
    n_merged: int
    counts: Counts
    example: Part | None
    """One item, to know the columns of tables by."""


class Counts(NamedTuple):
    """How many there are of what in a part, and by which of its items one is drawn first."""

    items: int = 0
    facts: int = 0
    claims: int = 0
    lowest_mark: int = 0


# --- from rows to parts ---------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodingRows:
    """Makes a part of the rows of a partition, in which all that is said of their items is."""

    kind: Kind
    origin: str
    are_numbers: bool | None
    rewriting: Rewriting | None

    def __call__(self, batches: Iterable[Any]) -> Made | None:
        """Check and encode the rows."""
        frames = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows]
        if not frames:
            return None
        number, n_rows = int(frames[0][PART][0]), sum(map(len, frames))
        read_as = self.kind if self.rewriting is None else "categorical"
        rows, n_lacking = checked_rows(pl.concat(frames).drop(PART), read_as, self.origin)
        if self.rewriting is not None:
            rows = self.rewriting.of(rows)
        rows, said_again = settled(rows, self.kind, self.origin, are_all=False)
        found = encode_part(
            [rows], self.kind, len(rows), 1 << 60, are_numbers=self.are_numbers, threads=1
        )
        told = Told(
            n_rows,
            n_lacking,
            said_again,
            found.n_self_contradicting,
            numbers_in(found.names.spellings) is not None,
            found.names.n_merged,
            Counts(),
            None,
        )
        if not found.parts:
            return Made(number, None, None, told)
        (part,) = found.parts
        block = part.block
        n_claims = block.source_of_voice if self.kind == "binary" else block.source_of_support
        lowest = int(block.mark_of_item.min())
        counts = Counts(block.n_items, block.n_facts, len(n_claims), lowest)
        told = told._replace(counts=counts, example=_one_item(part))
        n_items = np.bincount(block.source_of_voice, minlength=len(found.names.sources))
        rest = Rest(part.items, part.values, found.names)
        return Made(number, block, rest, told, (found.names, n_items))


def _one_item(part: Part) -> Part:
    """The item of a part of which least is said."""
    is_meant = np.zeros(part.block.n_items, dtype=np.bool_)
    is_meant[np.argmin(part.block.n_voices_of_item + part.block.n_facts_of_item)] = True
    return part.select(is_meant)


@dataclass(frozen=True)
class Numbering:
    """A step that gives names of a part the numbers they have among all."""

    names: LocalNames
    is_open: bool

    def __call__(self, block: Block, rest: Rest) -> Block:
        """The block, with other numbers."""
        return block.renumbered(*places_among(rest.names, self.names, is_open=self.is_open))


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

    look: Callable[[Part], tuple[Block, Any]]

    def __call__(self, block: Block, rest: Rest) -> Block:
        """The block, with what is known."""
        return self.look(Part(block, rest.items, rest.values))[0]


@dataclass(frozen=True)
class CountingKnown:
    """How much is known of a part."""

    look: Callable[[Part], tuple[Block, Any]]

    def __call__(self, block: Block, rest: Rest, answer: None) -> Any:  # noqa: ANN401
        """What is counted when it is marked."""
        return self.look(Part(block, rest.items, rest.values))[1]


def encode_on_spark(engine: Spark, table: Any, tell: Progress) -> Encoded:  # noqa: ANN401
    """Encode claims where the executors are; those of this machine are handed over first."""
    claims = table if isinstance(table, SparkClaims) else _handed_over(engine, table)
    tell("encoding", 0, 1)
    made = _made(engine, claims, None)
    told: list[Told] = made.told
    numbers = {one.are_numbers for one in told if one.counts.claims}
    if len(numbers) > 1 and any(one.n_merged for one in told):  # numbers in some parts only
        made = _made(engine, claims, are_numbers=False)
        told = made.told
    names, spoken = AllNames(numbers == {True}), _ItemsOfSource()
    for own, n_items in made.names():
        names.add(own)
        spoken.add(own.sources, n_items)
    together, is_open = names.together(), names.n_open > 0
    n_self_contradicting = sum(one.n_self_contradicting for one in told)
    n_lacking = sum((one.n_lacking for one in told), Counter[str]())
    said_again = functools.reduce(operator.add, (one.said_again for one in told), Settled())
    claims.rows_read = sum(one.n_rows for one in told)
    if not made.parts and not n_self_contradicting:
        reason = "; ".join(lacking_notes(n_lacking)) or "it has no rows"
        raise NoClaims(f"{claims.origin}: no claims in it ({reason}); check the data and --columns")
    check_some(made.parts, n_self_contradicting, claims.origin)
    step = made.send(Numbering(together, is_open))
    counts = tuple(one.counts for one in told if one.counts.claims)
    return EncodedOnSpark(
        kind=claims.kind,
        names=together.names._replace(n_open=names.n_open),
        parts=PartsOnSpark(made, (("numbered", step),), claims.kind, counts),
        notes=(
            *lacking_notes(n_lacking),
            *said_again.notes,
            *notes_of(together, n_self_contradicting),
        ),
        has_numbers=numbers == {True},
        items_spoken=spoken.of(together.sources),
    )


class _ItemsOfSource:
    """Of how many items each source speaks: a part after the other."""

    def __init__(self) -> None:
        self._found: pl.DataFrame | None = None

    def add(self, sources: pl.Series, n_items: IntArray) -> None:
        """Take a part in."""
        own = pl.DataFrame({"source": sources, "items": n_items})
        if self._found is not None:
            own = pl.concat([self._found, own]).group_by("source").agg(pl.col("items").sum())
        self._found = own

    def of(self, sources: pl.Series) -> IntArray:
        """Those of these sources."""
        if self._found is None:
            return np.zeros(len(sources), dtype=np.int64)
        found = sources.to_frame("source").join(
            self._found, on="source", how="left", maintain_order="left"
        )
        return found["items"].fill_null(0).to_numpy()


def _made(engine: Spark, claims: SparkClaims, are_numbers: bool | None) -> MadeParts:
    """Rows parted by item, each part encoded by itself."""
    from pyspark.sql import functions  # noqa: PLC0415 - an extra

    frame = claims.frame
    keys = [name for name in ("entity", "attribute", "fact") if name in frame.columns]
    n_parts = engine.partitions or _n_parts(frame)
    part = functions.pmod(functions.hash(*keys), functions.lit(n_parts))
    parted = frame.withColumn(PART, part).repartitionById(n_parts, PART)
    make = EncodingRows(claims.kind, claims.origin, are_numbers, claims.rewriting)
    return MadeParts(parted, make)


def _n_parts(frame: Any) -> int:  # noqa: ANN401 - a Spark frame
    """As many parts as a frame is large, by Spark's own guess, and as many as work at once."""
    at_once = int(frame.sparkSession.sparkContext.defaultParallelism)
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    if size > MOST_BELIEVED:
        size = frame.count() * BYTES_PER_PART // CLAIMS_PER_BLOCK
    in_turn = math.ceil(size / BYTES_PER_PART / at_once)  # so that all are at work till the end
    return min(max(in_turn, 1) * at_once, MOST_PARTS)


def _handed_over(engine: Spark, table: ClaimsTable | ClaimsStream) -> SparkClaims:
    """Rows of this machine as a Spark frame."""
    rows = pl.concat(list(table.batches()))
    frame = engine.started().createDataFrame(spark_table(rows))
    return SparkClaims(frame, table.kind, table.origin, table.columns)


# --- parts ----------------------------------------------------------------------------------------

Choose = Callable[[Part], BoolArray]
"""Which items of a part are meant."""


@dataclass(frozen=True)
class PartsOnSpark:
    """Parts where the executors are."""

    made: MadeParts
    steps: tuple[tuple[str, Sent], ...]
    kind: Kind
    counts: tuple[Counts, ...]
    """Of each part, in order."""

    @property
    def blocks(self) -> Any:  # noqa: ANN401 - a `Sequence[Block]` that an engine knows
        """What Spark holds; taken one by one, they all come to this machine."""
        return _Blocks(self.made, self.steps, self)

    def __len__(self) -> int:
        return len(self.made.parts)

    def __iter__(self) -> Iterator[Part]:
        return iter(self._all)

    def __getitem__(self, number: int) -> Part:
        return self._all[number]

    @property
    def _held(self) -> Held:
        """As if nothing were kept beside blocks."""
        return Held(self.made.store, "", self.steps, {}, {})

    @cached_property
    def _all(self) -> PartsInMemory:
        """All parts, on this machine."""
        return self.here()[0]

    @property
    def example(self) -> Part:
        """A part of one item, to know types and columns by."""
        told: list[Told] = self.made.told
        return next(one.example for one in told if one.example is not None)

    def renumbered(self, places: Places) -> PartsOnSpark:
        """The same parts, with other numbers for what is numbered across blocks."""
        return self.with_step(NumberingAgain(places))

    def with_blocks(self, blocks: Iterable[Block]) -> PartsInMemory:
        """The same parts, on this machine, with blocks to which what is known was added."""
        return self._all.with_blocks(blocks)

    def with_step(self, step: Callable[[Block, Rest], Block]) -> PartsOnSpark:
        """The same parts, with blocks that a step has changed."""
        return replace(self, steps=(*self.steps, (uuid4().hex, self.made.send(step))))

    def tables(
        self,
        make: Make,
        answers: Any,  # noqa: ANN401 - `AnswersOnSpark`, or one answer for each part
        names: Mapping[str, int],
    ) -> list[PieceTable]:
        """The tables that are made of all parts, where these are, when they are asked for."""
        held, work, given = self._held, None, None
        if isinstance(answers, AnswersOnSpark):
            held, work = answers
        else:
            given = dict(zip(self.made.parts, answers, strict=True))
        tables: list[PieceTable] = []
        for place, (name, n_rows) in enumerate(names.items()):
            sent = self.made.send(_OneTable(make, place, given))
            schema = self._schema(make, place, has_answer=work is not None)
            tabling = Tabling(held, sent, work, schema)
            tables.append(TableOnSpark(name, self.made, tabling, n_rows, answers))
        return tables

    def _schema(self, make: Make, place: int, *, has_answer: bool) -> Any:  # noqa: ANN401
        """The columns of a table, as Spark has them: those of one item's."""
        part = self.example
        answer: Any = 0
        if has_answer and self.kind == "numeric":
            answer = (np.zeros(part.block.n_items), np.zeros(part.block.n_items))
        elif has_answer:
            answer = np.zeros(part.block.n_facts)
        return spark_table(make(part, answer)[place]).schema

    def here(
        self, choose: Choose | None = None, answers: AnswersOnSpark | None = None
    ) -> tuple[PartsInMemory, list[Any]]:
        """Items that are chosen, or all, on this machine, with the answers to them."""
        if choose is None:
            n_claims = sum(counts.claims for counts in self.counts)
            _require_room(n_claims, f"all {n_claims:,} claims")
        found = self.fetched(_Chosen(choose), answers)
        kept = [(Part(*part), answer) for part, answer in found if part is not None]
        return PartsInMemory(part for part, _ in kept), [answer for _, answer in kept]

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

    parts: PartsOnSpark

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: Any) -> Any:  # noqa: ANN401 - an int or a slice
        return [part.block for part in self.parts][number]

    def __iter__(self) -> Iterator[Block]:
        return iter([part.block for part in self.parts])


@dataclass(frozen=True)
class _OneTable:
    """Makes one of several tables, from a part and the answer to it."""

    make: Make
    place: int
    given: Mapping[int, Any] | None

    def __call__(self, number: int, block: Block, rest: Rest, found: Any) -> pl.DataFrame:  # noqa: ANN401
        answer = found if self.given is None else self.given[number]
        tables: tuple[pl.DataFrame, ...] = self.make(Part(block, rest.items, rest.values), answer)
        return tables[self.place]


@dataclass(frozen=True)
class _Chosen:
    """Some items of a part, with the answer to them."""

    choose: Choose | None

    def __call__(self, block: Block, rest: Rest, answer: Any) -> tuple[Any, Any]:  # noqa: ANN401
        part = Part(block, rest.items, rest.values)
        if self.choose is None:
            return (part.block, part.items, part.values), answer
        is_meant = self.choose(part)
        if not is_meant.any():
            return None, None
        some, answer = part.select_with(answer, is_meant)
        return (some.block, some.items, some.values), answer


class TableOnSpark(PieceTable):
    """A table that executors make, piece by piece: a piece has the rows of a part."""

    def __init__(
        self,
        name: str,
        made: MadeParts,
        tabling: Tabling,
        n_rows: int,
        answers: Any,  # noqa: ANN401
    ) -> None:
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

        super().__init__(name, self._piece, len(made.parts), n_rows)
        self._made, self._tabling, self.answers = made, tabling, answers
        self._columns = from_arrow_schema(tabling.schema)

    @property
    def frame(self) -> Any:  # noqa: ANN401 - a Spark frame
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

    def _piece(self, place: int) -> pl.DataFrame:
        part = self._parts().filter(self._made.whole.part == self._made.parts[place])
        with explained():
            table = mapped(part, self._tabling, self._columns).toArrow()
        return pl.DataFrame(pl.from_arrow(table))

    def _parts(self) -> Any:  # noqa: ANN401
        return self._made.filled.select("part", "data")


# --- claims ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedOnSpark(Encoded):
    """Claims as blocks where the executors are: what is counted was counted there."""

    parts: PartsOnSpark
    has_numbers: bool = False
    n_known_items: int = 0
    items_spoken: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def example(self) -> Part:
        """A part, to know types and columns by."""
        return self.parts.example

    @property
    def are_numbers(self) -> bool:
        """Whether all values are plain numbers, which are compared as such."""
        return self.has_numbers

    def knowing(self, look: Callable[[Part], Any]) -> tuple[Encoded, list[Any]]:
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
        spoken = np.zeros(grown.n_sources, dtype=np.int64)
        spoken[places[0][: len(self.items_spoken)]] = self.items_spoken
        parts = self.parts.renumbered(places)
        return replace(self, names=grown, parts=parts, items_spoken=spoken)

    @property
    def n_known(self) -> int:
        """Of how many items the truth is known."""
        return self.n_known_items

    @property
    def is_elsewhere(self) -> bool:
        """The parts are on executors."""
        return True

    def here(
        self, choose: Choose | None = None, answers: AnswersOnSpark | None = None
    ) -> tuple[Encoded, Any]:
        """The same on this machine, of all items or of those that are chosen, with the answers."""
        parts, found = self.parts.here(choose, answers)
        return Encoded(self.kind, self.names, parts, self.notes), found

    def summed(self, look: Callable[[Block, Any], Any], answers: Any) -> Any:  # noqa: ANN401
        """What a look finds in all blocks and the answers to them, added up where they are."""
        merge = len(self.parts) > MOST_COLLECTED
        return functools.reduce(merged, self.parts.fetched(_Summing(look), answers, merge=merge))

    @property
    def lowest_mark(self) -> int:
        """By which the item is known that is drawn before all others."""
        return min(counts.lowest_mark for counts in self.parts.counts)

    def _chosen(self, draw: Draw, answers: Any) -> tuple[Encoded, Any]:  # noqa: ANN401
        """The items that are drawn, on this machine, with the answers to their facts."""
        return self.here(draw, answers)


@dataclass(frozen=True)
class _Summing:
    """What a look finds in a block and the answer to it."""

    look: Callable[[Block, Any], Any]

    def __call__(self, block: Block, rest: Rest, answer: Any) -> Any:  # noqa: ANN401
        return self.look(block, answer)
