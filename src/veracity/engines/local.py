"""The engine of one machine: blocks are spread over threads, results come back in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

from veracity.errors import ParameterError

__all__ = ["Engine", "Local"]

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


class Engine(Protocol):
    """Runs a function over blocks and gives the answers in the order of the blocks."""

    def map(
        self, work: Callable[[Argument], Answer], parts: Sequence[Argument]
    ) -> Iterator[Answer]:
        """Answer for every part, in order."""
        ...


@dataclass(frozen=True, kw_only=True)
class Local:
    """One machine. `threads` is how many blocks are worked on at once; None means all cores.

    Kernels release the interpreter lock, so threads run side by side. Answers are combined in the
    order of the blocks, which does not depend on the number of threads.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ParameterError(f"Local: threads must be at least 1, got {self.threads}")

    def map(
        self, work: Callable[[Argument], Answer], parts: Sequence[Argument]
    ) -> Iterator[Answer]:
        """Answer for every part, in order."""
        threads = min(self.threads or os.cpu_count() or 1, len(parts))
        if threads == 1:
            yield from map(work, parts)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, parts)
