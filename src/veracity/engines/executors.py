"""What is done where Spark's tasks run: parts are made, kept in a local folder, and looked at.

A part is made from rows that Spark can make again at any time, and what is kept beside its block
from the looks that changed it, which the driver remembers. What was made lies in a folder of the
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

from veracity.engines.merging import merged
from veracity.engines.packing import packed, read_packed, unpacked, write_packed

__all__ = ["FOUND", "MADE", "Leading", "Looking", "Made", "Making", "Work", "merge_found"]

MADE = "part long, told binary"
"""One row per part that was made, with what is told of it."""

FOUND = "part long, found binary, changed boolean"
"""One row per part that was looked at: what was found, and whether what is kept beside it changed.
Nothing was found where it is not in the folder of the executor that looked."""

Batches = Iterable[Any]
"""Arrow record batches."""


class Made(NamedTuple):
    """A part, and what the driver is told of it."""

    part: Any
    told: Any = None


class Store:
    """The folder of an executor in which parts lie."""

    def __init__(self, name: str) -> None:
        home = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
        self._folder = Path(home) / f"veracity-{name}"

    def write(self, part: int, what: str, content: object) -> None:
        """Put something there."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_packed(self._folder / f"{part}.{what}", content)

    def read(self, part: int, what: str) -> Any:  # noqa: ANN401 - whatever was put there
        """Take it; a `FileNotFoundError` if it is not there."""
        return read_packed(self._folder / f"{part}.{what}")

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
        made = self.put(partition(), batches)
        if made is not None:
            yield _batch(part=[partition()], told=[packed(made.told)])

    def put(self, number: int, batches: Batches) -> Made | None:
        """Make the part, and put it into the store; None if there is nothing in it."""
        made = self.make(batches)
        if made is not None:
            Store(self.store).write(number, "part", made.part)
        return made


@dataclass(frozen=True)
class Work:
    """A function that looks at blocks, with its state and turn: `sent` is a broadcast of them."""

    sent: Any

    @cached_property
    def _told(self) -> Any:  # noqa: ANN401
        return unpacked(bytearray(self.sent.value))

    def __call__(self, block: Any, memory: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """What is found in a block, and what is to be kept beside it."""
        look, state, turn = self._told
        found, kept = look(block, state, turn._replace(memory=memory))
        return found, kept

    def __reduce__(self) -> tuple[Any, ...]:
        return Work, (self.sent,)


@dataclass(frozen=True)
class Looking:
    """The parts that come in, by number, are looked at."""

    store: str
    work: Work
    versions: Mapping[int, int]
    """How often what is kept beside the block of a part has changed."""

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Look at parts in the store; tell of those that are not there, too."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    yield self.at(number)
                except FileNotFoundError:
                    yield _batch(part=[number], found=[None], changed=[None])

    def at(self, number: int) -> Any:  # noqa: ANN401 - a record batch
        """Look at one part; a `FileNotFoundError` if something of it is not there."""
        store, version = Store(self.store), self.versions.get(number, 0)
        block = store.read(number, "part").block
        before = store.read(number, f"kept-{version}") if version else None
        found, kept = self.work(block, before)
        changed = kept is not before
        if changed:
            store.write(number, f"kept-{version + 1}", kept)
            store.drop(number, f"kept-{version - 1}")
        return _batch(part=[number], found=[packed(found)], changed=[changed])


@dataclass(frozen=True)
class MakingAgain:
    """As `Looking`, where what comes in are the rows of parts that are in no store."""

    making: Making
    looking: Looking
    journal: Mapping[int, Sequence[Work]]
    """For each part, the looks that changed what is kept beside its block, in order."""

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Make the part of this partition, all that is kept beside it, and look."""
        number = partition()
        if self.making.put(number, batches) is None:
            return
        for version, work in enumerate(self.journal.get(number, ())):
            replace(self.looking, work=work, versions={number: version}).at(number)
        yield self.looking.at(number)


@dataclass(frozen=True)
class Leading:
    """A look that leads all lanes through a block: each has a memory of its own there."""

    go: Callable[[Any, Any, Any], tuple[Any, Any]]

    def __call__(self, block: Any, lanes: tuple[Any, ...], turn: Any) -> tuple[Any, Any]:  # noqa: ANN401
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
    total, parts = None, []
    for row in rows:
        if row["found"] is None:
            yield _batch(part=[row["part"]], found=[None], changed=[None])
        else:
            total = merged(total, unpacked(bytearray(row["found"])))
            parts.append(row)
    if parts:
        changed = any(row["changed"] for row in parts)
        yield _batch(part=[parts[0]["part"]], found=[packed(total)], changed=[changed])


def partition() -> int:
    """The number of the partition that a task works on."""
    from pyspark import TaskContext  # noqa: PLC0415 - an extra, there where this runs

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _batch(**columns: list[Any]) -> Any:  # noqa: ANN401 - a record batch
    import pyarrow as pa  # noqa: PLC0415 - an extra, there where this runs

    types = {"part": pa.int64(), "told": pa.binary(), "found": pa.binary(), "changed": pa.bool_()}
    arrays = [pa.array(values, types[name]) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
