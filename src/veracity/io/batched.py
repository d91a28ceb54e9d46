"""Rows that come in batches, as lazy as a `LazyFrame`: what is done with them is done to each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import polars as pl


class Incomplete(ValueError):
    """Rows that end before the last."""


def whole_batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows in batches to their end, none of them empty.

    Where a thread of Polars panics, as over a damaged page, its batches end as if there were no
    more rows. So a row is put behind the last; if it does not come, others are missing, too.
    """
    schema = rows.collect_schema()
    mark = max(schema, key=len, default="") + "?"  # a name that no column has
    end = pl.DataFrame(schema=schema).clear(1).lazy().with_columns(pl.lit(True).alias(mark))
    marked = pl.concat([rows.with_columns(pl.lit(False).alias(mark)), end])
    is_whole = False
    for batch in marked.collect_batches(maintain_order=True):
        is_whole = len(batch) > 0 and batch[mark][-1]
        own = batch.head(len(batch) - is_whole).drop(mark)
        if len(own):
            yield own
    if not is_whole:
        raise Incomplete("its reader stopped before the end")


def lazy_rows(
    read: Callable[[Sequence[str] | None], Iterator[pl.DataFrame]], schema: pl.Schema
) -> pl.LazyFrame:
    """Rows as Polars has them lazily, whose wanted columns are read a batch at a time."""
    from polars.io.plugins import register_io_source  # noqa: PLC0415 - seldom needed

    def batches(
        columns: list[str] | None, condition: pl.Expr | None, n_rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        n_left = n_rows
        for batch in read(columns):
            rows = batch if columns is None else batch.select(columns)
            if n_left is not None:
                rows = rows.head(n_left)
                n_left -= len(rows)
            yield rows if condition is None else rows.filter(condition)
            if n_left == 0:
                return

    return register_io_source(batches, schema=schema, is_pure=True)


@dataclass(frozen=True)
class BatchedRows(ABC):
    """Rows that are read a batch at a time, whenever they are wanted."""

    steps: tuple[tuple[str, tuple[pl.Expr, ...]], ...] = field(default=(), kw_only=True)
    """What is done with each batch."""

    @abstractmethod
    def as_they_come(self) -> Iterator[pl.DataFrame]:
        """The rows before anything is done with them, at least one batch of them."""

    @abstractmethod
    def nothing(self) -> pl.DataFrame:
        """No row, with the columns that are there before anything is done."""

    @abstractmethod
    def count(self) -> int:
        """How many rows there are; no fewer than that."""

    def first_rows(self, n_rows: int) -> pl.DataFrame:
        """The first rows: about so many, if there are."""
        found: list[pl.DataFrame] = []
        for batch in self.batches():
            found.append(batch)
            if sum(map(len, found)) >= n_rows:
                break
        return pl.concat(found)

    def select(self, expressions: Iterable[pl.Expr]) -> Self:
        """As `LazyFrame.select` does, for expressions that look at one row."""
        return replace(self, steps=(*self.steps, ("select", tuple(expressions))))

    def with_columns(self, *expressions: pl.Expr) -> Self:
        """As `LazyFrame.with_columns` does, for expressions that look at one row."""
        return replace(self, steps=(*self.steps, ("with_columns", expressions)))

    def collect_schema(self) -> pl.Schema:
        """The names and types of the columns."""
        return self._shaped(self.nothing()).schema

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows, at least one batch of them."""
        return map(self._shaped, self.as_they_come())

    def _shaped(self, batch: pl.DataFrame) -> pl.DataFrame:
        for step, expressions in self.steps:
            batch = getattr(batch, step)(expressions)
        return batch
