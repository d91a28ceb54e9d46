"""The engine of one machine: blocks are spread over threads, tallies are merged in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from veracity.encoding.block import Block
from veracity.encoding.encode import encode
from veracity.encoding.on_disk import BlocksOnDisk, Budget, bytes_needed, encode_on_disk
from veracity.encoding.partitions import Encoded
from veracity.engines.beside import Answers, Beside
from veracity.engines.merging import merged_all
from veracity.errors import ParameterError
from veracity.io.memory import as_bytes, free_memory
from veracity.io.temp_files import TempFolder
from veracity.kernels.loading import load_ahead
from veracity.progress import Progress
from veracity.reading.claims import Claims
from veracity.workers import ordered_map

SHARE_BESIDE = 0.2
"""What share of the memory is for what is kept beside blocks that are on disk."""

State = TypeVar("State")
Turn = TypeVar("Turn")
Answer = TypeVar("Answer")
Look = Callable[[Block, Any, Any], tuple[Any, Any]]
Prepare = Callable[[Block, Any], Any]


class Held(Protocol):
    """Blocks that an engine holds, with what is kept beside each of them.

    What it runs is handed the block, the state, and the turn with the block's memory in it; and
    answers with what it found, and the memory to keep.
    """

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:
        """Look at every block, and merge the tallies in the order of the blocks."""
        ...

    def walk(
        self, go: Look, lanes: tuple[Any, ...], turn: Any, prepare: Prepare | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Lead every lane through all blocks, one after the other; they may be prepared for it."""
        ...

    def collect(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:
        """What is found in each block, in the order of the blocks."""
        ...

    def keep(self, look: Look, state: Any, turn: Any) -> tuple[Sequence[Any], Any]:
        """Where a look finds an answer and a tally: the answers, and the tallies merged.

        The answers, an array or a tuple of them for each block, stay where the blocks are.
        """
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


class Engine(Protocol):
    """Where the work is done. It never asks what it runs."""

    def encode(self, table: Claims, tell: Progress) -> Encoded:
        """Turn claims into blocks, where this engine can hold them."""
        ...

    def hold(self, blocks: Iterable[Block]) -> Held:
        """Take blocks in, to be looked at as often as it takes."""
        ...


@dataclass(frozen=True, kw_only=True)
class Local:
    """One machine: in memory, or on disk where memory does not hold all claims.

    Parameters
    ----------
    threads
        How many blocks are worked on at once; all cores unless given. Kernels release the
        interpreter lock, so threads run side by side. The answers do not depend on it.
    claims_per_block
        About how many claims a block has; half a million unless given, and more in memory where
        sources are many: tallies of a block have a row for each of them.
    memory
        How much memory may be used, such as ``"8GB"`` or a number of bytes; what is free unless
        given. Claims that need more are kept on disk, and their tables made part by part.
    spill
        The folder for that; where temporary files are unless given. What is written there is gone
        afterwards.
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

    def encode(self, table: Claims, tell: Progress) -> Encoded:
        """Turn claims into blocks: in memory if they fit, else on disk."""
        load_ahead(table.n_rows)  # while the first rows are read
        memory = self.allowed
        if memory is None or bytes_needed(table) <= memory:
            return encode(table, tell, self.claims_per_block, self.threads)
        budget = Budget(TempFolder(self.spill), memory, self.threads or os.cpu_count() or 1)
        return encode_on_disk(table, budget, tell, self.claims_per_block)

    @property
    def allowed(self) -> int | None:
        """How many bytes of memory may be used; None where nobody tells."""
        return free_memory() if self.memory is None else as_bytes(self.memory)

    def hold(self, blocks: Iterable[Block]) -> HeldLocally:
        """Keep the blocks in memory, or look at them where they are on disk."""
        return HeldLocally(blocks, self.threads or os.cpu_count() or 1)


class HeldLocally:
    """Blocks in memory or on disk, and the threads that work on them."""

    def __init__(self, blocks: Iterable[Block], threads: int) -> None:
        self._blocks: Sequence[Block]
        self._folder: TempFolder | None = None
        self._beside = Beside()
        if isinstance(blocks, BlocksOnDisk):
            self._blocks, self._folder = blocks, blocks.folder
            self._beside = Beside(blocks.folder, int(SHARE_BESIDE * blocks.memory))
        else:
            self._blocks = sorted(blocks, key=lambda block: block.number)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._ahead: tuple[Any, Future[Any]] | None = None  # for what a block is prepared, and it

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:
        """Look at every block, and merge the tallies in the order of the blocks."""
        return merged_all(self.collect(look, state, turn))

    def collect(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:
        """What is found in each block, in the order of the blocks."""

        def at(number: int) -> Any:
            before = self._beside.of(number)
            found, kept = look(self._blocks[number], state, turn._replace(memory=before))
            self._beside.put(number, kept, before)
            return found

        return self._in_order(at, range(len(self._blocks)))

    def keep(self, look: Look, state: Any, turn: Any) -> tuple[Sequence[Any], Any]:
        """Where a look finds an answer and a tally: the answers, and the tallies merged."""
        answers: Any = [] if self._folder is None else Answers(self._folder)

        def tallies() -> Iterator[Any]:
            for answer, tally in self.collect(look, state, turn):
                answers.append(answer)
                yield tally

        total = merged_all(tallies())
        return tuple(answers) if self._folder is None else answers, total

    def walk(
        self, go: Look, lanes: tuple[Any, ...], turn: Any, prepare: Prepare | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Lead every lane through all blocks; lanes are independent, and go side by side.

        A single lane keeps one thread busy: another prepares the next block for it meanwhile.
        """
        is_alone = len(lanes) == 1 and self._pool is not None

        def lead(number: int) -> Any:
            lane = lanes[number]
            for place in range(len(self._blocks)):
                before = self._beside.of(place, number)
                if prepare is not None and is_alone:
                    block, ready = self._prepared(prepare, place, turn)
                else:
                    block, ready = self._blocks[place], None
                lane, kept = go(block, lane, turn._replace(memory=before, ready=ready))
                self._beside.put(place, kept, before, number)
            return lane

        self._beside.expect(len(lanes))
        return tuple(self._in_order(lead, range(len(lanes))))

    def _prepared(self, prepare: Prepare, place: int, turn: Any) -> tuple[Block, Any]:
        """A block and what is prepared of it; the next one, of the next round at the end, is begun.

        The last round prepares one block in vain: nobody knows beforehand that it is the last.
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
        self._beside.clear()


def threads_of(engine: Engine | None) -> int | None:
    """How many threads this machine may use, by what was said of the engine; None for all cores."""
    return engine.threads if isinstance(engine, Local) else None
