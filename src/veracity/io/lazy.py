"""Sequences and tables that are made chunk by chunk when they are asked for, never all at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import polars as pl

from veracity.io.memory import require_memory
from veracity.io.reader import lazy_rows

Member = TypeVar("Member")


class LazySequence(Sequence[Member]):
    """A sequence whose members are made, or mapped, when they are asked for."""

    @abstractmethod
    def at(self, number: int) -> Member:
        """Return the member at a place, which is not negative."""

    @overload
    def __getitem__(self, number: int) -> Member: ...
    @overload
    def __getitem__(self, number: slice) -> list[Member]: ...
    def __getitem__(self, number: int | slice) -> Member | list[Member]:
        """Return the member at a place, or those of a slice."""
        place = range(len(self))[number]
        return self.at(place) if isinstance(place, int) else [self.at(own) for own in place]


class LazyTable:
    """A table in chunks. It can be scanned, written and, if there is memory for it, collected.

    Parameters
    ----------
    name
        The name of the table, for messages.
    make
        Makes the chunk of a number.
    n_chunks
        Number of chunks.
    n_rows
        About how many rows they have in all.
    """

    frame: Any = None
    """The table as a frame of the engine that makes it, not yet made; None if it has none."""

    is_kept: bool = False
    """True if the collected table stays in memory."""

    def __init__(
        self, name: str, make: Callable[[int], pl.DataFrame], n_chunks: int, n_rows: int
    ) -> None:
        self.name, self._make, self.n_chunks, self._n_rows = name, make, n_chunks, n_rows

    def __len__(self) -> int:
        """Return about how many rows there are."""
        return self._n_rows

    @cached_property
    def _first(self) -> tuple[pl.DataFrame, int]:
        """Return a row of the first chunk, to know columns by, and the bytes of a row."""
        first = self._make(0)
        return first.head(1), int(first.estimated_size()) // max(len(first), 1) + 1

    @property
    def schema(self) -> pl.Schema:
        """Return the columns and their types."""
        return self._first[0].schema

    def chunks(self) -> Iterator[pl.DataFrame]:
        """Yield the chunks, in order."""
        return map(self._make, range(self.n_chunks))

    def each(self, work: Callable[[pl.DataFrame], Any]) -> Iterator[Any]:
        """Yield the result of a function for each chunk, in order; it runs where the chunk is."""
        return map(work, self.chunks())

    def changed(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> LazyTable:
        """Return the table with each chunk changed as it is made."""
        return LazyTable(
            self.name, lambda number: change(self._make(number)), self.n_chunks, self._n_rows
        )

    def collect(self) -> pl.DataFrame:
        """Return all rows, if there is memory for them."""
        advice = f"write them, or take what is wanted from result.table({self.name!r}, lazy=True)"
        what = f"the {self.name}, about {self._n_rows:,} rows,"
        require_memory(self._first[1] * self._n_rows, what, advice)
        return pl.concat(list(self.chunks()))

    def reduce(self, work: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        """Apply a function, such as the maximum, to each chunk, and then to the results."""
        return work(pl.concat(list(self.each(work))))

    def scan(self) -> pl.LazyFrame:
        """Return the rows as a lazy frame; each chunk is made when a query needs it."""
        return lazy_rows(lambda columns: self.chunks(), self.schema)

    def write_parquet(
        self,
        path: Path,
        *,
        compression_level: int | None = None,
        statistics: bool = True,
        tell: Callable[[int], None] | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        """Write the rows to one file, chunk by chunk; report the number of each to `tell`."""
        ahead = [self._make(0)]  # to know the columns by; it is written, and not made again

        def make(number: int) -> pl.DataFrame:
            if tell is not None:
                tell(number)
            return ahead.pop() if number == 0 and ahead else self._make(number)

        table = LazyTable(self.name, make, self.n_chunks, self._n_rows)
        table._first = ahead[0].head(1), 0
        table.scan().sink_parquet(
            path, compression_level=compression_level, statistics=statistics, maintain_order=True,
            engine="streaming", metadata=metadata,
        )  # fmt: skip
