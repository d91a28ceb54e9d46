"""Engine of one machine: threads share the blocks, tallies are merged in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar
from uuid import uuid4

from veracity.encoding.block import Block
from veracity.encoding.encode import encode
from veracity.encoding.on_disk import BlocksOnDisk, Budget, Store, bytes_needed, encode_on_disk
from veracity.encoding.partitions import Encoded, PartitionKey
from veracity.engines.store import BlockStore
from veracity.errors import ParameterError
from veracity.io.lazy import LazySequence
from veracity.io.memory import as_bytes, free_memory
from veracity.io.temp_files import TempFolder
from veracity.kernels import load_ahead
from veracity.progress import Progress
from veracity.reading.claims import Claims
from veracity.trees import merged_all
from veracity.workers import ordered_map

SHARE_STORED = 0.2
"""Share of the memory for data stored with blocks that are on disk."""

MEMORY = "memory"
"""Name under which the memory of a block is stored between rounds; a walk has one per lane."""

State = TypeVar("State")
Turn = TypeVar("Turn")
Answer = TypeVar("Answer")
Look = Callable[[Block, Any, Any], tuple[Any, Any]]
Prepare = Callable[[Block, Any], Any]


class Blocks(Protocol):
    """Blocks that an engine holds, with the data stored with each of them.

    A function receives the block, the state, and the turn, which has the block's memory. It returns
    its result and the memory to store.
    """

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:
        """Look at every block, and merge the tallies in the order of the blocks."""
        ...

    def walk(
        self, go: Look, lanes: tuple[Any, ...], turn: Any, prepare: Prepare | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Run every lane through all blocks, one after the other; blocks may be prepared for it."""
        ...

    def answers(self, look: Look, state: Any, turn: Any) -> tuple[Sequence[Any], Any]:
        """Return the answers that a look finds, and the tallies that it finds, merged.

        The answers, an array or a tuple of them for each block, stay where the blocks are.
        """
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


class Engine(Protocol):
    """Place where functions of blocks run. An engine never asks which function it runs."""

    def encode(self, table: Claims, tell: Progress, key: PartitionKey = "item") -> Encoded:
        """Turn claims into blocks of whole items or entities that this engine can hold."""
        ...

    def hold(self, blocks: Iterable[Block]) -> Blocks:
        """Hold blocks, for any number of passes."""
        ...


@dataclass(frozen=True, kw_only=True)
class Local:
    """One machine: in memory, or on disk if the claims do not fit in memory.

    Parameters
    ----------
    threads
        Number of blocks processed at once; by default, the number of cores. Kernels release the
        interpreter lock, so threads run side by side. The answers do not depend on it.
    claims_per_block
        About the number of claims of a block; by default half a million, and more in memory where
        sources are many: tallies of a block have a row for each of them.
    memory
        Memory that may be used, such as ``"8GB"`` or a number of bytes; by default, the free
        memory. Claims that need more are processed on disk, and their tables are made part by part.
    spill
        Folder for that; by default, the one for temporary files. Its files are removed afterwards.
    """

    threads: int | None = None
    claims_per_block: int | None = None
    memory: str | int | None = None
    spill: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name, value in (("threads", self.threads), ("claims_per_block", self.claims_per_block)):
            if value is not None and value < 1:
                raise ParameterError(f"Local: {name} must be at least 1, got {value}")
        if self.memory is not None:
            as_bytes(self.memory)

    def encode(self, table: Claims, tell: Progress, key: PartitionKey = "item") -> Encoded:
        """Turn claims into blocks: in memory if they fit, else on disk."""
        load_ahead(table.n_rows)  # while the first rows are read
        memory = self.allowed
        if memory is None or bytes_needed(table) <= memory:
            return encode(table, tell, self.claims_per_block, self.threads, key)
        return encode_on_disk(table, self.budget(memory), tell, self.claims_per_block, key)

    def budget(self, memory: int) -> Budget:
        """Return a new folder on disk for claims that need more memory than this."""
        store = BlockStore(TempFolder(self.spill))
        return Budget(store, memory, self.threads or os.cpu_count() or 1)

    @property
    def allowed(self) -> int | None:
        """Return the number of bytes of memory that may be used; None if it is unknown."""
        return free_memory() if self.memory is None else as_bytes(self.memory)

    def hold(self, blocks: Iterable[Block]) -> LocalBlocks:
        """Hold the blocks in memory, or use them on disk."""
        return LocalBlocks(blocks, self.threads or os.cpu_count() or 1)


class LocalBlocks:
    """Blocks in memory or on disk, and the threads that work on them."""

    def __init__(self, blocks: Iterable[Block], threads: int) -> None:
        self._blocks: Sequence[Block]
        self._on_disk: Store | None = None
        if isinstance(blocks, BlocksOnDisk):
            self._blocks, self._on_disk = blocks, blocks.store
            self._store = BlockStore(blocks.store.folder, int(SHARE_STORED * blocks.memory))
        else:
            self._blocks = sorted(blocks, key=lambda block: block.number)
            self._store = BlockStore()
        self._n_lanes = 0
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._ahead: tuple[Any, Future[Any]] | None = None  # for what a block is prepared, and it

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:
        """Look at every block, and merge the tallies in the order of the blocks."""
        return merged_all(self.found(look, state, turn))

    def found(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:
        """Yield the result of a function for each block, in the order of the blocks."""

        def at(number: int) -> Any:
            before = self._memory(number)
            found, memory = look(self._blocks[number], state, turn._replace(memory=before))
            if memory is not before and not self._n_lanes:
                self._store.put(MEMORY, number, memory)
            return found

        return self._in_order(at, range(len(self._blocks)))

    def _memory(self, number: int) -> Any:
        """Return the memory stored with a block; after a walk, a list of those of all lanes."""
        if not self._n_lanes:
            return self._store.get(MEMORY, number)
        return [self._store.get(_of_lane(lane), number) for lane in range(self._n_lanes)]

    def answers(self, look: Look, state: Any, turn: Any) -> tuple[Sequence[Any], Any]:
        """Return the answers that a look finds, and the tallies that it finds, merged."""
        answers: Any = [] if self._on_disk is None else AnswersOnDisk(self._on_disk)

        def tallies() -> Iterator[Any]:
            for answer, tally in self.found(look, state, turn):
                answers.append(answer)
                yield tally

        total = merged_all(tallies())
        return tuple(answers) if self._on_disk is None else answers, total

    def walk(
        self, go: Look, lanes: tuple[Any, ...], turn: Any, prepare: Prepare | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Run every lane through all blocks; lanes are independent and run in parallel.

        A single lane uses one thread; a second thread prepares the next block meanwhile.
        """
        is_alone = len(lanes) == 1 and self._pool is not None

        def lead(number: int) -> Any:
            lane, name = lanes[number], _of_lane(number)
            for place in range(len(self._blocks)):
                before = self._store.get(name, place)
                if prepare is not None and is_alone:
                    block, ready = self._prepared(prepare, place, turn)
                else:
                    block, ready = self._blocks[place], None
                lane, memory = go(block, lane, turn._replace(memory=before, ready=ready))
                if memory is not before:
                    self._store.put(name, place, memory)
            return lane

        self._n_lanes = len(lanes)
        return tuple(self._in_order(lead, range(len(lanes))))

    def _prepared(self, prepare: Prepare, place: int, turn: Any) -> tuple[Block, Any]:
        """Return a block and its preparation, and start to prepare the next block.

        After the last block, the first block of the next round is prepared. In the last round this
        is unnecessary, but nobody knows beforehand that it is the last.
        """

        def made(place: int, turn: Any) -> tuple[Block, Any]:
            block = self._blocks[place]
            return block, prepare(block, turn)

        assert self._pool is not None  # else nothing is done ahead
        wanted, begun = (prepare, place, turn), self._ahead
        after = (place + 1, turn)
        if place + 1 == len(self._blocks):
            after = (0, turn._replace(round_number=turn.round_number + 1))
        self._ahead = (prepare, *after), self._pool.submit(made, *after)
        return begun[1].result() if begun is not None and begun[0] == wanted else made(place, turn)

    def _in_order(self, work: Callable[[int], Answer], numbers: range) -> Iterator[Answer]:
        """Answers in order; never many more are waiting than there are threads."""
        if self._pool is None or len(numbers) == 1:
            yield from map(work, numbers)
            return
        yield from ordered_map(work, numbers, self._pool, self._threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        for name in (MEMORY, *map(_of_lane, range(self._n_lanes))):
            self._store.drop(name)


def _of_lane(number: int) -> str:
    """Return the name of the memory of a lane, as it is stored with a block."""
    return f"{MEMORY} of lane {number}"


class AnswersOnDisk(LazySequence[Any]):
    """An array, or a tuple of arrays, for each block: on disk."""

    def __init__(self, store: Store) -> None:
        self._store, self._name, self._n_answers = store, f"answers {uuid4().hex}", 0

    def append(self, answer: Any) -> None:
        """Add the answer of the next block."""
        self._store.put(self._name, self._n_answers, answer)
        self._n_answers += 1

    def __len__(self) -> int:
        return self._n_answers

    def at(self, number: int) -> Any:
        """Map the answer of a block."""
        return self._store.get(self._name, number)


def threads_of(engine: Engine | None) -> int | None:
    """Return the number of threads that the engine may use here; None for all cores."""
    return engine.threads if isinstance(engine, Local) else None
