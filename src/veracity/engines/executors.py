"""What is done where Spark's tasks run: parts are made, kept in a local folder, and looked at.

A part comes from rows that Spark can make again at any time, and what is kept beside its block from
the looks that changed it, which the driver remembers. What was made lies in a folder of the
executor, which Spark removes with it: a shortcut, and nothing else. So a task that runs twice, or
an executor that is lost, changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from veracity.encoding.block import Block
from veracity.engines.merging import merged
from veracity.errors import EngineError
from veracity.io.array_file import packed, read_arrays, unpacked, write_arrays

MADE = "part long, told binary, names binary, data binary"
"""One row per part: what is told of it, its names, and all of it."""

FOUND = "part long, found binary, changed boolean"
"""One row per part that was looked at: what was found, and whether what is kept beside it changed.
Nothing was found where the executor that looked does not have it."""

MOST_BYTES = (1 << 31) - 1
"""No cell of a frame may be larger."""

ROWS_PER_BATCH = 100_000
"""So many rows of a table are handed over at a time."""

Batches = Iterable[Any]
"""Arrow record batches."""


class Made(NamedTuple):
    """A block, what else belongs to its part, and what the driver is told of both."""

    part: int
    """Its number, which comes with its rows: a task may make several parts, in any order."""
    block: Block | None
    """None if there is nothing in it."""
    rest: Any = None
    told: Any = None
    names: Any = None


@dataclass(frozen=True)
class Sent:
    """Something that was sent to all executors: a broadcast, which is unpacked when needed."""

    broadcast: Any

    @cached_property
    def content(self) -> Any:
        """What was sent."""
        return unpacked(bytearray(self.broadcast.value))

    def __reduce__(self) -> tuple[Any, ...]:
        return Sent, (self.broadcast,)


class Store:
    """The folder of an executor in which parts lie."""

    def __init__(self, name: str) -> None:
        home = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
        self._folder = Path(home) / f"veracity-{name}"

    def write(self, part: int, what: str, content: object) -> None:
        """Put something there."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_arrays(self._folder / f"{part}.{what}", content)

    def read(self, part: int, what: str) -> Any:
        """Take it; a `FileNotFoundError` if it is not there."""
        return read_arrays(self._folder / f"{part}.{what}")

    def has(self, part: int, what: str) -> bool:
        """Whether it is there."""
        return (self._folder / f"{part}.{what}").exists()

    def drop(self, part: int, what: str) -> None:
        """Remove something, if it is there."""
        with contextlib.suppress(OSError):
            (self._folder / f"{part}.{what}").unlink()

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True)
class Making:
    """The rows of a partition become a part, which is put into the store."""

    store: str
    make: Callable[[Batches], Made | None]
    gone: tuple[str, ...] = ()
    """Stores that nobody needs any more."""

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Make the part of this partition, and tell of it."""
        for name in self.gone:
            Store(name).remove()
        made = self.make(batches)
        if made is None:
            return
        number = made.part
        if made.block is None:
            yield _batch_of(part=[number], told=[packed(made.told)], names=[None], data=[None])
            return
        block, store = made.block._replace(number=number), Store(self.store)
        store.write(number, "rest", made.rest)
        store.write(number, "block", block)
        told, names = packed(made.told), packed(made.names)
        data = packed((block, made.rest))
        if len(data) > MOST_BYTES:
            raise EngineError(
                f"a part of {len(block.source_of_voice):,} claims is too large for Spark to hand "
                "over; use more partitions, as in veracity.Spark(session, partitions=1000)"
            )
        yield _batch_of(part=[number], told=[told], names=[names], data=[data])


@dataclass(frozen=True)
class Held:
    """Parts in a store, with what was done to their blocks, and what is kept beside them."""

    store: str
    name: str
    """Whose memory it is."""
    steps: tuple[tuple[str, Sent], ...] = ()
    """Functions that change blocks, such as giving other numbers to sources, each with a name."""
    versions: Mapping[int, int] | None = None
    """How often what is kept beside the block of a part has changed."""
    journal: Mapping[int, Sequence[Sent]] | None = None
    """For each part, the looks that changed it; known where it may have to be made again."""

    def take_in(self, number: int, data: bytes) -> None:
        """Put a part into the store, with what is kept beside it, if it is not there."""
        store = Store(self.store)
        if not (store.has(number, "block") and store.has(number, "rest")):
            block, rest = unpacked(data)
            store.write(number, "rest", rest)
            store.write(number, "block", block)
        assert self.versions is not None
        assert self.journal is not None
        if self.versions.get(number, 0) and not store.has(number, self._kept(number)):
            for version, work in enumerate(self.journal[number]):
                replace(self, versions={number: version}).look(number, work)

    def block(self, number: int, n_steps: int | None = None) -> Block:
        """The block of a part, after all steps."""
        store, n_steps = Store(self.store), len(self.steps) if n_steps is None else n_steps
        block: Block
        if n_steps == 0:
            block = store.read(number, "block")
            return block
        name, step = self.steps[n_steps - 1]
        if store.has(number, f"block-{name}"):
            block = store.read(number, f"block-{name}")
            return block
        block = step.content(self.block(number, n_steps - 1), store.read(number, "rest"))
        store.write(number, f"block-{name}", block)
        return block

    def rest(self, number: int) -> Any:
        """What else belongs to a part."""
        return Store(self.store).read(number, "rest")

    def look(self, number: int, work: Sent) -> tuple[Any, bool]:
        """What is found in a part, and whether what is kept beside it changed."""
        look, state, turn = work.content
        store = Store(self.store)
        version = (self.versions or {}).get(number, 0)
        before = store.read(number, self._kept(number)) if version else None
        found, kept = look(self.block(number), state, turn._replace(memory=before))
        if kept is before:
            return found, False
        store.write(number, replace(self, versions={number: version + 1})._kept(number), kept)
        if version > 1:
            store.drop(number, replace(self, versions={number: version - 1})._kept(number))
        return found, True

    def _kept(self, number: int) -> str:
        return f"kept-{self.name}-{(self.versions or {}).get(number, 0)}"


@dataclass(frozen=True)
class Looking:
    """The parts that come in are looked at: by their numbers, or with all that is in them."""

    held: Held
    work: Sent

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """What is found; nothing where a part came as a number, and is not in the store."""
        for number, *data in _rows(batches):
            if data:
                self.held.take_in(number, data[0])
            try:
                found, changed = self.held.look(number, self.work)
            except FileNotFoundError:
                yield _batch_of(part=[number], found=[None], changed=[None])
            else:
                yield _batch_of(part=[number], found=[packed(found)], changed=[changed])


@dataclass(frozen=True)
class Tabling:
    """The parts that come in, with all that is in them, become rows of a table."""

    held: Held
    make: Sent
    """Makes the table from a part's number, block and rest, and from what the work finds in it."""
    work: Sent | None
    schema: Any
    """That of the table, as Arrow has it."""

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """The rows."""
        for _, table in self.tables(batches):
            rows = table.to_arrow().cast(self.schema)
            yield from rows.to_batches(max_chunksize=ROWS_PER_BATCH)

    def tables(self, batches: Batches) -> Iterator[tuple[int, Any]]:
        """The rows of each part, as polars has them."""
        for number, data in _rows(batches):
            self.held.take_in(number, data)
            found = None if self.work is None else self.held.look(number, self.work)[0]
            yield (
                number,
                self.make.content(number, self.held.block(number), self.held.rest(number), found),
            )


@dataclass(frozen=True)
class Telling:
    """Something is told of the rows of each part."""

    tabling: Tabling
    work: Sent

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """What is told, by part."""
        for number, table in self.tabling.tables(batches):
            told = packed(self.work.content(table))
            yield _batch_of(part=[number], found=[told], changed=[False])


@dataclass(frozen=True)
class Fetching:
    """What is chosen of the parts that come in, with all that is in them, goes to the driver."""

    held: Held
    choose: Sent
    """Chooses from a block, the rest of its part, and what the work finds in it."""
    work: Sent | None

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """What was chosen, by part."""
        for number, data in _rows(batches):
            self.held.take_in(number, data)
            found = None if self.work is None else self.held.look(number, self.work)[0]
            chosen = self.choose.content(self.held.block(number), self.held.rest(number), found)
            yield _batch_of(part=[number], found=[packed(chosen)], changed=[False])


@dataclass(frozen=True)
class Leading:
    """A look that leads all lanes through a block: each has a memory of its own there."""

    go: Callable[[Any, Any, Any], tuple[Any, Any]]

    def __call__(self, block: Any, lanes: tuple[Any, ...], turn: Any) -> tuple[Any, Any]:
        """Where the lanes are behind the block, and what they keep there."""
        before = turn.memory or [None] * len(lanes)
        pairs = [
            self.go(block, lane, turn._replace(memory=own))
            for lane, own in zip(lanes, before, strict=True)
        ]
        arrived, kept = zip(*pairs, strict=True)
        forgets = turn.memory is None and all(own is None for own in kept)
        return arrived, None if forgets else list(kept)


def merge_found(batches: Batches) -> Iterator[Any]:
    """What was found in neighbouring parts as one, merged in their order."""
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
    """The rows of record batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _batch_of(**columns: list[Any]) -> Any:
    """A record batch."""
    import pyarrow as pa  # noqa: PLC0415 - an extra, there where this runs

    types = {"part": pa.int64(), "changed": pa.bool_()}
    arrays = [pa.array(values, types.get(name, pa.binary())) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
