"""The engine of one machine: blocks are spread over threads, tallies are merged in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from veracity.claims.block import Block
from veracity.claims.encode import CLAIMS_PER_BLOCK
from veracity.engines.merging import merged
from veracity.errors import ParameterError

__all__ = ["Engine", "Held", "Local"]

State = TypeVar("State")
Turn = TypeVar("Turn")
Answer = TypeVar("Answer")
Look = Callable[[Block, Any, Any], tuple[Any, Any]]


class Held(Protocol):
    """Blocks that an engine holds, with what is kept beside each of them.

    What it runs is handed the block, the state, and the turn with the block's memory in it; and
    answers with what it found, and the memory to keep.
    """

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:  # noqa: ANN401 - never looked at
        """Look at every block, and merge the tallies in the order of the blocks."""
        ...

    def walk(self, go: Look, lanes: tuple[Any, ...], turn: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Lead every lane through all blocks, one after the other."""
        ...

    def collect(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:  # noqa: ANN401
        """What is found in each block, in the order of the blocks."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


class Engine(Protocol):
    """Where the work is done. It never asks what it runs."""

    @property
    def claims_per_block(self) -> int:
        """About how many claims a block should have."""
        ...

    def hold(self, blocks: Iterable[Block]) -> Held:
        """Take blocks in, to be looked at as often as it takes."""
        ...


@dataclass(frozen=True, kw_only=True)
class Local:
    """One machine, in memory.

    Parameters
    ----------
    threads
        How many blocks are worked on at once; all cores unless given. Kernels release the
        interpreter lock, so threads run side by side. The answers do not depend on it.
    claims_per_block
        About how many claims a block has.
    """

    threads: int | None = None
    claims_per_block: int = CLAIMS_PER_BLOCK

    def __post_init__(self) -> None:
        for name, value in (("threads", self.threads), ("claims_per_block", self.claims_per_block)):
            if value is not None and value < 1:
                raise ParameterError(f"Local: {name} must be at least 1, got {value}")

    def hold(self, blocks: Iterable[Block]) -> HeldLocally:
        """Keep the blocks in memory."""
        return HeldLocally(blocks, self.threads or os.cpu_count() or 1)


class HeldLocally:
    """Blocks in memory, and the threads that work on them."""

    def __init__(self, blocks: Iterable[Block], threads: int) -> None:
        self._blocks = sorted(blocks, key=lambda block: block.number)
        self._memory: list[Any] = [None] * len(self._blocks)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:  # noqa: ANN401
        """Look at every block, and merge the tallies in the order of the blocks."""
        total = None
        for tally in self.collect(look, state, turn):
            total = tally if total is None else merged(total, tally)
        return total

    def collect(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:  # noqa: ANN401
        """What is found in each block, in the order of the blocks."""

        def at(number: int) -> Any:  # noqa: ANN401
            own = turn._replace(memory=self._memory[number])
            found, self._memory[number] = look(self._blocks[number], state, own)
            return found

        return self._in_order(at, range(len(self._blocks)))

    def walk(self, go: Look, lanes: tuple[Any, ...], turn: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Lead every lane through all blocks; lanes are independent, and go side by side."""
        kept = [[None] * len(lanes) if memory is None else memory for memory in self._memory]

        def lead(number: int) -> Any:  # noqa: ANN401
            lane = lanes[number]
            for block, memory in zip(self._blocks, kept, strict=True):
                own = turn._replace(memory=memory[number])
                lane, memory[number] = go(block, lane, own)
            return lane

        arrived = tuple(self._in_order(lead, range(len(lanes))))
        self._memory = kept
        return arrived

    def _in_order(self, work: Callable[[int], Answer], numbers: range) -> Iterator[Answer]:
        """Answers in order; never many more are waiting than there are threads."""
        if self._pool is None or len(numbers) == 1:
            yield from map(work, numbers)
            return
        waiting: deque[Future[Answer]] = deque()
        for number in numbers:
            waiting.append(self._pool.submit(work, number))
            if len(waiting) > self._threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
