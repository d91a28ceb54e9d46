"""Claims on Spark's executors, which encode them, mark known truths, select, and make tables.

The steps are those of claims on one machine: rows are divided by item, each part is encoded, names
are merged, and parts are renumbered. Only names are sent to the driver.
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

from veracity.encoding.block import Block, BoolArray, IntArray
from veracity.encoding.encode import EncodingCounts, encode_partition
from veracity.encoding.names import Names, NameUnion, PartitionNames, Places, places_among
from veracity.encoding.partitions import (
    Encoded,
    Make,
    MarkedItems,
    Partition,
    PartitionKey,
    PartitionsInMemory,
    Sampling,
    columns_of_key,
)
from veracity.engines.spark import (
    MOST_COLLECTED,
    AnswersOnSpark,
    BlocksOnSpark,
    MadeParts,
    Spark,
    collected,
    explained,
    mapped,
    merged_there,
)
from veracity.engines.spark_work import FOUND, Made, Part, Parts, Task, on_parts, tabling
from veracity.errors import TooLarge
from veracity.io.array_file import unpacked
from veracity.io.frames import spark_table
from veracity.io.lazy import LazyTable
from veracity.io.memory import BYTES_PER_CLAIM_HERE, SHARE_HERE, free_memory, require_memory
from veracity.progress import Progress
from veracity.reading.claims import Claims
from veracity.reading.clean import cleaned, lacking_notes, nothing_in, with_numbers
from veracity.reading.plan import plain
from veracity.reading.roles import Kind, numbers_in
from veracity.reading.spark import SparkClaims
from veracity.trees import merged

BYTES_PER_PART, CLAIMS_PER_PART = 1 << 23, 1 << 20
"""Size of the rows of a part: in bytes as Spark estimates them, and in approximate claims."""

MOST_PARTS = 10_000

MOST_BELIEVED = 1 << 34
"""Bytes up to which Spark's guess is believed: that of a join is a product. Beyond, rows are
counted."""

COPIES_HERE = 2
VIEWS = 64
"""Copies of this machine's rows in its memory before executors have them, and bytes per row in
addition to its text."""

PART = "part of veracity"
"""The column that has the number of the part that a row belongs to."""


class Rest(NamedTuple):
    """Data of a part in addition to its block: names of items, spellings of values, all names."""

    items: pl.DataFrame
    values: pl.Series | None
    names: PartitionNames


class Counts(NamedTuple):
    """Counts of a part, and the marks that decide which of its items are sampled first."""

    items: int = 0
    facts: int = 0
    claims: int = 0
    lowest_mark: int = 0


class Report(NamedTuple):
    """Summary of a part for the driver."""

    n_rows: int
    n_lacking: Counter[str]
    encoding: EncodingCounts
    are_numbers: bool
    n_merged: int
    counts: Counts
    example: Partition | None
    """One item, from which the columns of tables are known."""


def partition_of(part: Part) -> Partition:
    """Return a part, where it lies, as a partition."""
    rest = part.rest
    return Partition(part.block, rest.items, rest.values)


def encode_on_spark(
    engine: Spark, table: Any, tell: Progress, key: PartitionKey = "item"
) -> Encoded:
    """Encode claims on the executors; claims of this machine are sent there first."""
    claims = table if isinstance(table, SparkClaims) else _handed_over(engine, table)
    tell("encoding", 0, 1)
    made = _made(engine, claims, key, None)
    reports: list[Report] = made.reports
    numbers = {one.are_numbers for one in reports if one.counts.claims}
    if len(numbers) > 1 and any(one.n_merged for one in reports):  # numbers in some parts only
        made = _made(engine, claims, key, are_numbers=False)
        reports = made.reports
    union, covered = NameUnion(are_numbers=numbers == {True}), _ItemsOfSource()
    for own, n_items in made.names():
        union.add(own)
        covered.add(own["source"].spellings, n_items)
    names = union.sorted()
    n_lacking = sum((one.n_lacking for one in reports), Counter[str]())
    encoding = functools.reduce(operator.add, (one.encoding for one in reports), EncodingCounts())
    claims.rows_read = sum(one.n_rows for one in reports) + claims.n_without_value
    if not made.parts and not encoding.n_self_contradicting:
        reason = "; ".join(lacking_notes(n_lacking)) or "it has no rows"
        raise nothing_in(claims.origin, "claims", reason)
    encoding.check_some(made.parts, claims.origin)
    sent = made.send(names)
    counts = tuple(one.counts for one in reports if one.counts.claims)
    parts = PartitionsOnSpark(made, (), claims.kind, counts).with_step(
        lambda block, rest: block.renumbered(*places_among(rest.names, sent.content))
    )
    return EncodedOnSpark(
        kind=claims.kind,
        names=Names.of(names, union.n_unnumbered),
        parts=parts,
        notes=(*lacking_notes(n_lacking), *encoding.notes(names)),
        has_numbers=numbers == {True},
        items_covered=covered.of(names["source"].spellings),
    )


class _ItemsOfSource:
    """Number of items that each source covers: a part after the other."""

    def __init__(self) -> None:
        self._found: pl.DataFrame | None = None

    def add(self, sources: pl.Series, n_items: IntArray) -> None:
        """Add those of a part."""
        own = pl.DataFrame({"source": sources, "items": n_items})
        if self._found is not None:
            own = pl.concat([self._found, own]).group_by("source").agg(pl.col("items").sum())
        self._found = own

    def of(self, sources: pl.Series) -> IntArray:
        """Return those of these sources."""
        if self._found is None:
            return np.zeros(len(sources), dtype=np.int64)
        found = sources.to_frame("source").join(
            self._found, on="source", how="left", maintain_order="left"
        )
        return found["items"].fill_null(0).to_numpy()


def _made(
    engine: Spark, claims: SparkClaims, key: PartitionKey, are_numbers: bool | None
) -> MadeParts:
    """Part rows by item, or entity, and encode each part by itself."""
    from pyspark.sql import functions  # noqa: PLC0415 - an extra

    frame = claims.frame
    keys = columns_of_key(frame.columns, key)
    n_parts = engine.partitions or _n_parts(frame)
    part = functions.pmod(functions.hash(*keys), functions.lit(n_parts))
    parted = frame.withColumn(PART, part).repartitionById(n_parts, PART)
    kind, origin, rewriting = claims.kind, claims.origin, claims.rewriting

    def make(batches: Iterable[Any]) -> Made | None:
        frames = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows]
        if not frames:
            return None
        number, n_rows = int(frames[0][PART][0]), sum(map(len, frames))
        are_read = kind == "numeric" and rewriting is None
        rows = pl.concat(frames).drop(PART)
        rows = rows.select(plain(name, dtype) for name, dtype in rows.schema.items())
        rows, n_lacking = cleaned(rows, origin)
        rows = with_numbers(rows, origin) if are_read else rows
        if rewriting is not None:
            rows = rewriting.of(rows)
        found = encode_partition(
            [rows], kind, len(rows), 1 << 60, origin=origin, are_numbers=are_numbers, threads=1
        )
        values = found.names.get("value")
        is_numbers = values is not None and numbers_in(values.spellings) is not None
        n_merged = 0 if values is None else values.n_merged
        report = Report(n_rows, n_lacking, found.counts, is_numbers, n_merged, Counts(), None)
        if not found.parts:
            return Made(number, None, None, report)
        (part,) = found.parts
        block = part.block
        n_claims = len(block.source_of_voice if kind == "binary" else block.source_of_support)
        lowest = int(block.mark_of_item.min())
        counts = Counts(block.n_items, block.n_facts, n_claims, lowest)
        report = report._replace(counts=counts, example=_one_item(part))
        n_items = np.bincount(block.source_of_voice, minlength=len(found.names["source"].spellings))
        rest = Rest(part.items, part.values, found.names)
        return Made(number, block, rest, report, (found.names, n_items))

    return MadeParts(parted, make)


def _one_item(part: Partition) -> Partition:
    """Return the item of a part about which fewest claims are made."""
    is_meant = np.zeros(part.block.n_items, dtype=np.bool_)
    is_meant[np.argmin(part.block.n_voices_of_item + part.block.n_facts_of_item)] = True
    return part.select(is_meant)


def _n_parts(frame: Any) -> int:
    """Return a number of parts, by the size of a frame as Spark guesses it, and by its cores."""
    at_once = int(frame.sparkSession.sparkContext.defaultParallelism)
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    if size > MOST_BELIEVED:
        size = frame.count() * BYTES_PER_PART // CLAIMS_PER_PART
    in_turn = math.ceil(size / BYTES_PER_PART / at_once)  # so that all are at work till the end
    return min(max(in_turn, 1) * at_once, MOST_PARTS)


def _handed_over(engine: Spark, table: Claims) -> SparkClaims:
    """Return rows of this machine as a Spark frame, if it can hold them all at once."""
    what = f"{table.origin}: {table.n_rows:,} claims, which executors cannot read themselves,"
    advice = "write them to Parquet files that the executors can read"
    require_memory(int(COPIES_HERE * (VIEWS + table.text.all) * table.n_rows), what, advice)
    rows = pl.concat(list(table.batches()))
    frame = engine.started().createDataFrame(spark_table(rows))
    return SparkClaims(frame, table.kind, table.origin, table.columns)


# --- parts ----------------------------------------------------------------------------------------

Choose = Callable[[Partition], BoolArray]
"""Marks the items of a part that are meant."""


@dataclass(frozen=True)
class PartitionsOnSpark:
    """Parts where the executors are."""

    made: MadeParts
    steps: tuple[tuple[str, Any], ...]
    kind: Kind
    counts: tuple[Counts, ...]
    """Counts of each part, in order."""

    @property
    def blocks(self) -> Any:
        """Return the blocks on Spark; iterating over them brings them all to this machine."""
        return _Blocks(self.made, self.steps, self)

    def __len__(self) -> int:
        return len(self.made.parts)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._all)

    def __getitem__(self, number: int) -> Partition:
        return self._all[number]

    @cached_property
    def _all(self) -> PartitionsInMemory:
        """Return all parts, on this machine."""
        return self.fetch()[0]

    @property
    def example(self) -> Partition:
        """Part with one item, to learn types and columns."""
        reports: list[Report] = self.made.reports
        return next(one.example for one in reports if one.example is not None)

    def renumbered(self, places: Places) -> PartitionsOnSpark:
        """Replace the numbers that are shared across blocks."""
        sent = self.made.send(places)
        return self.with_step(lambda block, rest: block.renumbered(*sent.content))

    def with_any(self, items: MarkedItems) -> Iterable[Partition]:
        """Return the partitions that may have some of these items, on this machine."""
        return self._all.with_any(items)

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Return the parts, on this machine, with the known truths in their blocks."""
        return self._all.with_blocks(blocks)

    def with_step(self, step: Callable[[Block, Rest], Block]) -> PartitionsOnSpark:
        """Return the parts with blocks that a step changes."""
        return replace(self, steps=(*self.steps, (uuid4().hex, step)))

    def tables(self, make: Make, answers: Any, names: Mapping[str, int]) -> list[LazyTable]:
        """Return tables that are made of all parts, where these are, when they are asked for."""
        parts, answer = self._with(answers)
        example, zeros = self.example, np.zeros
        one: Any = 0
        if answer is not None and self.kind == "numeric":
            one = (zeros(example.block.n_items), zeros(example.block.n_items))
        elif answer is not None:
            one = zeros(example.block.n_facts)
        sent = self.made.send(
            (make, None if answer else dict(zip(self.made.parts, answers, strict=True)))
        )

        def table(name: str, n_rows: int) -> TableOnSpark:
            def rows(part: Part) -> pl.DataFrame:
                make, given = sent.content
                found = given[part.number] if answer is None else answer(part)
                made: pl.DataFrame = make(partition_of(part), found, name)
                return made

            schema = spark_table(make(example, one, name)).schema
            return TableOnSpark(name, self.made, (parts, rows, schema), n_rows, answers)

        return [table(*named) for named in names.items()]

    def _with(self, answers: Any) -> tuple[Parts, Callable[[Part], Any] | None]:
        """Return the parts, and the function that finds their answers if these are on executors."""
        if isinstance(answers, AnswersOnSpark):
            return answers
        return Parts(self.made.store, "", self.steps), None

    def fetch(
        self, choose: Choose | None = None, answers: AnswersOnSpark | None = None
    ) -> tuple[PartitionsInMemory, list[Any]]:
        """Return items that are chosen, or all, on this machine, with the answers to them."""
        if choose is None:
            n_claims = sum(counts.claims for counts in self.counts)
            _require_room(n_claims, f"all {n_claims:,} claims")

        def chosen(choose: Choose | None, part: Partition, answer: Any) -> tuple[Any, Any]:
            if choose is not None:
                is_meant = choose(part)
                if not is_meant.any():
                    return None, None
                part, answer = part.select_with(answer, is_meant)
            return (part.block, part.items, part.values), answer

        found = self.fetched(functools.partial(chosen, choose), answers)
        some = [(Partition(*part), answer) for part, answer in found if part is not None]
        return PartitionsInMemory(part for part, _ in some), [answer for _, answer in some]

    def fetched(
        self,
        choose: Callable[[Partition, Any], Any],
        answers: AnswersOnSpark | None = None,
        *,
        merge: bool = False,
    ) -> list[Any]:
        """Return the selection of each part and of its answer, in order or merged."""
        parts, answer = self._with(answers)
        sent = self.made.send(choose)

        def work(part: Part) -> Any:
            return sent.content(partition_of(part), None if answer is None else answer(part))

        found = mapped(self.made.filled.select("part", "data"), on_parts(parts, work), FOUND)
        rows = collected(merged_there(found, len(self)) if merge else found)
        sent.broadcast.destroy()
        rows.sort(key=lambda row: int(row.part))
        return [unpacked(bytearray(row.found)) for row in rows]


def _require_room(n_rows: int, what: str) -> None:
    """Raise an error if the parts do not fit in the memory of this machine."""
    free, n_bytes = free_memory(), n_rows * BYTES_PER_CLAIM_HERE
    if free is not None and n_bytes > SHARE_HERE * free:
        raise TooLarge(
            f"this needs {what} on one machine, about {n_bytes / 1e9:,.1f} GB, and "
            f"{free / 1e9:,.1f} GB are free here; take a sample of the items, or what is wanted "
            "from result.truths and result.facts, which are Spark frames"
        )


@dataclass(frozen=True)
class _Blocks(BlocksOnSpark, Sequence[Block]):
    """Blocks of parts on the executors."""

    parts: PartitionsOnSpark

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: Any) -> Any:
        return [part.block for part in self.parts][number]

    def __iter__(self) -> Iterator[Block]:
        return iter([part.block for part in self.parts])


class TableOnSpark(LazyTable):
    """Table that executors make, piece by piece: a piece has the rows of one part."""

    def __init__(
        self,
        name: str,
        made: MadeParts,
        making: tuple[Parts, Callable[[Part], pl.DataFrame], Any],
        n_rows: int,
        answers: Any,
    ) -> None:
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

        super().__init__(name, self._chunk, len(made.parts), n_rows)
        self._made, self.answers = made, answers
        self._parts, self._rows, schema = making
        self._task: Task = tabling(*making)
        self._columns = from_arrow_schema(schema)

    @property
    def frame(self) -> Any:
        """Return all rows, as a Spark frame that is not yet computed."""
        return mapped(self._filled, self._task, self._columns)

    def each(self, work: Callable[[pl.DataFrame], Any]) -> Iterator[Any]:
        """Yield the result of a function for each piece, in order; it runs on the executors."""
        sent, rows = self._made.send(work), self._rows

        def found(part: Part) -> Any:
            return sent.content(rows(part))

        pieces = collected(mapped(self._filled, on_parts(self._parts, found), FOUND))
        sent.broadcast.destroy()
        for row in sorted(pieces, key=lambda row: int(row.part)):
            yield unpacked(bytearray(row.found))

    def collect(self) -> pl.DataFrame:
        """Return all rows, if they fit in the memory of this machine."""
        _require_room(len(self), f"the {self.name}, about {len(self):,} rows,")
        tables: list[pl.DataFrame] = list(self.each(lambda rows: rows))
        return pl.concat(tables)

    def _chunk(self, place: int) -> pl.DataFrame:
        part = self._filled.filter(self._made.whole.part == self._made.parts[place])
        with explained():
            table = mapped(part, self._task, self._columns).toArrow()
        return pl.DataFrame(pl.from_arrow(table))

    @property
    def _filled(self) -> Any:
        return self._made.filled.select("part", "data")


# --- claims ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedOnSpark(Encoded):
    """Claims as blocks on the executors, which also count them."""

    parts: PartitionsOnSpark
    has_numbers: bool = False
    n_known_items: int = 0
    items_covered: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def example(self) -> Partition:
        """Return a part, to know types and columns by."""
        return self.parts.example

    @property
    def are_numbers(self) -> bool:
        """Return True if all values are plain numbers, which are compared by size."""
        return self.has_numbers

    def with_known_truths(self, look: Callable[[Partition], Any]) -> tuple[Encoded, list[Any]]:
        """Let `look` mark the known truths in each block, and return also its counts."""
        counts = self.parts.fetched(lambda part, answer: look(part)[1])
        sent = self.parts.made.send(look)
        parts = self.parts.with_step(
            lambda block, rest: sent.content(Partition(block, rest.items, rest.values))[0]
        )
        n_known = sum(count.items for count in counts)
        return replace(self, parts=parts, n_known_items=n_known), counts

    @property
    def n_items(self) -> int:
        """Count the items."""
        return sum(counts.items for counts in self.parts.counts)

    @property
    def n_facts(self) -> int:
        """Count the facts."""
        return sum(counts.facts for counts in self.parts.counts)

    @property
    def n_claims_of_block(self) -> list[int]:
        """Count the claims of each block, as a user would count them."""
        return [counts.claims for counts in self.parts.counts]

    @property
    def n_facts_of_block(self) -> list[int]:
        """Count the facts of each block."""
        return [counts.facts for counts in self.parts.counts]

    @property
    def items_of_source(self) -> IntArray:
        """Count the items that each source makes claims about."""
        return self.items_covered

    def numbered_as(self, names: Names) -> Encoded:
        """Renumber the names as elsewhere; names that are new there get the next numbers."""
        grown, places = names.grown(self.names)
        source, covered = places[0], np.zeros(grown.n_sources, dtype=np.int64)
        if source is not None:
            covered[source] = self.items_covered
        parts = self.parts.renumbered(places)
        return replace(self, names=grown, parts=parts, items_covered=covered)

    @property
    def n_known(self) -> int:
        """Count the items whose truth is known."""
        return self.n_known_items

    @property
    def is_remote(self) -> bool:
        """Return True: the parts are on executors."""
        return True

    def claims_of(self, items: pl.DataFrame) -> Encoded | None:
        """Return all claims about these items, on this machine; None if there are none."""
        marked = MarkedItems.of(items, self.example.items)
        found, _ = self.fetch(lambda part: part.marks(marked))
        return found if len(found.parts) else None

    def fetch(
        self, choose: Choose | None = None, answers: AnswersOnSpark | None = None
    ) -> tuple[Encoded, Any]:
        """Bring all or some items to this machine, with the answers."""
        parts, found = self.parts.fetch(choose, answers)
        return Encoded(self.kind, self.names, parts, self.notes), found

    def summed(self, look: Callable[[Block, Any], Any], answers: Any) -> Any:
        """Add up the results of a pass over all blocks and their answers, on the executors."""
        merge = len(self.parts) > MOST_COLLECTED
        found = self.parts.fetched(
            lambda part, answer: look(part.block, answer), answers, merge=merge
        )
        return functools.reduce(merged, found)

    @property
    def lowest_mark(self) -> int:
        """Return the mark of the item that is drawn before all others."""
        return min(counts.lowest_mark for counts in self.parts.counts)

    def _chosen(self, draw: Sampling, answers: Any) -> tuple[Encoded, Any]:
        """Return the items that are drawn, on this machine, with the answers to their facts."""
        return self.fetch(draw, answers)
