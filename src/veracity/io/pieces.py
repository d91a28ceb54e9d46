"""Tables that are made piece by piece, when they are asked for: never all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from veracity.io.batched import lazy_rows
from veracity.io.memory import require_memory


class LazyTable:
    """A table in pieces. It can be scanned, written and, if there is room, collected.

    Parameters
    ----------
    name
        What the table is of, for messages.
    make
        Makes the piece of a number.
    n_pieces
        How many pieces there are.
    n_rows
        About how many rows they have in all.
    """

    frame: Any = None
    """The table as a frame of the engine that makes it, not yet made; None if it has none."""

    is_kept: bool = False
    """Whether what was collected stays: there is room for it, as for what it is made of."""

    def __init__(
        self,
        name: str,
        make: Callable[[int], pl.DataFrame],
        n_pieces: int,
        n_rows: int,
    ) -> None:
        self.name, self._make, self.n_pieces, self._n_rows = name, make, n_pieces, n_rows

    def __len__(self) -> int:
        """About how many rows there are."""
        return self._n_rows

    @cached_property
    def _first(self) -> tuple[pl.DataFrame, int]:
        """A row of the first piece, to know columns by, and how many bytes a row takes."""
        first = self._make(0)
        return first.head(1), int(first.estimated_size()) // max(len(first), 1) + 1

    @property
    def schema(self) -> pl.Schema:
        """The columns and their types."""
        return self._first[0].schema

    def pieces(self) -> Iterator[pl.DataFrame]:
        """The pieces, in order."""
        return map(self._make, range(self.n_pieces))

    def each(self, work: Callable[[pl.DataFrame], Any]) -> Iterator[Any]:
        """What some work makes of each piece, in order: done where the pieces are."""
        return map(work, self.pieces())

    def changed(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> LazyTable:
        """The table with each piece changed as it is made."""
        return LazyTable(
            self.name, lambda number: change(self._make(number)), self.n_pieces, self._n_rows
        )

    def collect(self) -> pl.DataFrame:
        """All rows, if there is room for them."""
        advice = f"write them, or take what is wanted from result.scan({self.name!r})"
        what = f"the {self.name}, about {self._n_rows:,} rows,"
        require_memory(self._first[1] * self._n_rows, what, advice)
        return pl.concat(list(self.pieces()))

    def fold(self, work: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        """What some work, such as taking the largest, makes of all rows: first of each piece's."""
        return work(pl.concat(list(self.each(work))))

    def scan(self) -> pl.LazyFrame:
        """The rows as a lazy frame: pieces are made as the query comes to them."""
        return lazy_rows(lambda columns: self.pieces(), self.schema)

    def write_parquet(
        self,
        path: Path,
        *,
        compression_level: int | None = None,
        statistics: bool = True,
        tell: Callable[[int], None] | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        """Write the rows to one file, piece by piece; it is told how many pieces are made."""
        ahead = [self._make(0)]  # to know the columns by; it is written, and not made again

        def make(number: int) -> pl.DataFrame:
            if tell is not None:
                tell(number)
            return ahead.pop() if number == 0 and ahead else self._make(number)

        table = LazyTable(self.name, make, self.n_pieces, self._n_rows)
        table._first = ahead[0].head(1), 0
        table.scan().sink_parquet(
            path, compression_level=compression_level, statistics=statistics, maintain_order=True,
            engine="streaming", metadata=metadata,
        )  # fmt: skip
