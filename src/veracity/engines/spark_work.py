"""Tasks of Spark: parts are made, stored in a local folder, and worked on.

Spark can compute the rows of a part again at any time, and the driver records the calls that
changed the memory of its block. Parts are cached in a folder of the executor, which Spark removes
with it. So a task that runs twice, or an executor that is lost, changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from veracity.encoding.block import Block
from veracity.engines.store import SharedStore
from veracity.errors import EngineError
from veracity.io.array_file import packed, unpacked
from veracity.trees import merged

MADE = "part long, report binary, names binary, data binary"
"""Columns of one row per part: a report for the driver, its names, and all of its data."""

FOUND = "part long, found binary, changed boolean"
"""Columns of one row per processed part: the result, and a flag if the part's memory
changed. The result is missing if the executor does not have the part."""

MOST_BYTES = (1 << 31) - 1
"""No cell of a frame may be larger."""

ROWS_PER_BATCH = 100_000
"""Number of rows of a table that are handed over at a time."""

Batches = Iterable[Any]
"""Arrow record batches."""

Task = Callable[[Batches], Iterator[Any]]
"""Function of the record batches of a partition of a Spark frame."""


class Made(NamedTuple):
    """Block with the rest of its part, and a summary of both for the driver."""

    part: int
    """Number of the part, stored with its rows: a task may make several parts in any order."""
    block: Block | None
    """The block; None if the part is empty."""
    rest: Any = None
    report: Any = None
    names: Any = None


@dataclass(frozen=True)
class Sent:
    """Something that was sent to all executors: a broadcast, which is unpacked when needed."""

    broadcast: Any

    @cached_property
    def content(self) -> Any:
        """Return the content that was sent."""
        return unpacked(bytearray(self.broadcast.value))

    def __reduce__(self) -> tuple[Any, ...]:
        return Sent, (self.broadcast,)


Change = Callable[[Block, Any], Block]
"""A function of a block and the rest of its part that returns another block."""


@dataclass(frozen=True)
class Parts:
    """Parts in a store of executors, the steps that change their blocks, and their memories."""

    store: str
    name: str
    """Owner of the memory."""
    steps: tuple[tuple[str, Change], ...] = ()
    """Steps that change a block, each with the name under which its result is stored."""
    versions: Mapping[int, int] = field(default_factory=dict)
    """Number of changes to the memory of each part."""
    journal: Mapping[int, Sequence[Callable[[Part], Any]]] = field(default_factory=dict)
    """Calls that changed each part, to repeat them if the part has to be made again."""

    def memory_of(self, version: int) -> str:
        """Return the name of the memory of a block."""
        return f"memory-{self.name}-{version}"

    def take_in(self, number: int, data: bytes) -> None:
        """Store a part, and the memory of its block, if the store does not have it."""
        store = SharedStore(self.store)
        if not (store.has("block", number) and store.has("rest", number)):
            block, rest = unpacked(data)
            store.put("rest", number, rest)
            store.put("block", number, block)
        version = self.versions.get(number, 0)
        if version and not store.has(self.memory_of(version), number):
            for earlier, look in enumerate(self.journal[number]):
                look(Part(replace(self, versions={number: earlier}), number))


class Part:
    """A part where it lies."""

    def __init__(self, parts: Parts, number: int) -> None:
        self.number, self.has_changed = number, False
        self._parts, self._store = parts, SharedStore(parts.store)

    @property
    def block(self) -> Block:
        """Return the block of the part after all changes."""
        return self._block_after(len(self._parts.steps))

    def _block_after(self, n_steps: int) -> Block:
        block: Block
        if n_steps == 0:
            block = self._store.get("block", self.number)
            return block
        name, step = self._parts.steps[n_steps - 1]
        if self._store.has(f"block-{name}", self.number):
            block = self._store.get(f"block-{name}", self.number)
            return block
        block = step(self._block_after(n_steps - 1), self.rest)
        self._store.put(f"block-{name}", self.number, block)
        return block

    @property
    def rest(self) -> Any:
        """Return the rest of the part: names and spellings."""
        return self._store.get("rest", self.number)

    def look(self, look: Any, state: Any, turn: Any) -> Any:
        """Return the result of a function for the block; store its memory if that has changed."""
        parts = self._parts
        version = parts.versions.get(self.number, 0)
        before = self._store.get(parts.memory_of(version), self.number) if version else None
        found, memory = look(self.block, state, turn._replace(memory=before))
        if memory is not before:
            self.has_changed = True
            self._store.put(parts.memory_of(version + 1), self.number, memory)
            if version > 1:
                self._store.discard(parts.memory_of(version - 1), self.number)
        return found


# --- tasks ----------------------------------------------------------------------------------------


def making(store: str, make: Callable[[Batches], Made | None], unused: Sequence[str]) -> Task:
    """Return a task that makes a part of the rows of a partition, and removes unused stores."""

    def task(batches: Batches) -> Iterator[Any]:
        for name in unused:
            SharedStore(name).remove()
        made = make(batches)
        if made is None:
            return
        number, report = made.part, packed(made.report)
        if made.block is None:
            yield _batch_of(part=[number], report=[report], names=[None], data=[None])
            return
        block = made.block._replace(number=number)
        SharedStore(store).put("rest", number, made.rest)
        SharedStore(store).put("block", number, block)
        data = packed((block, made.rest))
        if len(data) > MOST_BYTES:
            raise EngineError(
                f"a part of {len(block.source_of_voice):,} claims is too large for Spark to hand "
                "over; use more partitions, as in veracity.Spark(session, partitions=1000)"
            )
        yield _batch_of(part=[number], report=[report], names=[packed(made.names)], data=[data])

    return task


def on_parts(parts: Parts, work: Callable[[Part], Any]) -> Task:
    """Return a task that applies a function to parts; its rows have the columns `FOUND`.

    Parts arrive as numbers, or with their content. There is no result for a part that arrives as a
    number and is not in the store.
    """

    def task(batches: Batches) -> Iterator[Any]:
        for number, *data in _rows(batches):
            part = Part(parts, number)
            if data:
                parts.take_in(number, data[0])
            try:
                found = packed(work(part))
            except FileNotFoundError:
                yield _batch_of(part=[number], found=[None], changed=[None])
            else:
                yield _batch_of(part=[number], found=[found], changed=[part.has_changed])

    return task


def tabling(parts: Parts, make: Callable[[Part], Any], schema: Any) -> Task:
    """Return a task that makes rows of a table of the parts that come in, with all in them."""

    def task(batches: Batches) -> Iterator[Any]:
        for number, data in _rows(batches):
            parts.take_in(number, data)
            rows = make(Part(parts, number)).to_arrow().cast(schema)
            yield from rows.to_batches(max_chunksize=ROWS_PER_BATCH)

    return task


def merge_found(batches: Batches) -> Iterator[Any]:
    """Merge the results of neighbouring parts, in their order."""
    rows = sorted(
        (row for batch in batches for row in batch.to_pylist()), key=lambda row: int(row["part"])
    )
    total, seen = None, []
    for row in rows:
        if row["found"] is None:
            yield _batch_of(part=[row["part"]], found=[None], changed=[None])
        else:
            total = merged(total, unpacked(bytearray(row["found"])))
            seen.append(row)
    if seen:
        changed = any(row["changed"] for row in seen)
        yield _batch_of(part=[seen[0]["part"]], found=[packed(total)], changed=[changed])


def _rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of record batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _batch_of(**columns: list[Any]) -> Any:
    """Return a record batch."""
    import pyarrow as pa  # noqa: PLC0415 - an extra, there where this runs

    types = {"part": pa.int64(), "changed": pa.bool_()}
    arrays = [pa.array(values, types.get(name, pa.binary())) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
