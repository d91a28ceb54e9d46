"""Threads that work side by side, with answers in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Given = TypeVar("Given")
Answer = TypeVar("Answer")


def ordered_map(
    work: Callable[[Given], Answer],
    given: Iterable[Given],
    pool: ThreadPoolExecutor,
    threads: int,
) -> Iterator[Answer]:
    """Yield the result of a function for each member, in order, on several threads.

    No more answers wait than there are threads, and no more members are taken than they work on.
    """
    waiting: deque[Future[Answer]] = deque()
    for one in given:
        waiting.append(pool.submit(work, one))
        if len(waiting) > threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


class Prefetched(Generic[Given]):
    """An iterable whose first member is computed in the background."""

    def __init__(self, given: Iterator[Given]) -> None:
        pool = ThreadPoolExecutor(1)
        self._given, self._first = given, pool.submit(next, given)
        pool.shutdown(wait=False)

    @property
    def first(self) -> Given:
        """Wait for the first member; there has to be one."""
        return self._first.result()

    def __iter__(self) -> Iterator[Given]:
        yield self.first
        yield from self._given
