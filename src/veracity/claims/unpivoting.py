"""A wide table becomes long: its claims, made of a batch of its rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from veracity.claims.checking import plain
from veracity.claims.nested import is_list
from veracity.claims.shapes import Shape
from veracity.io.batched import BatchedRows
from veracity.io.files import Part, batches_of, n_rows_of
from veracity.io.frames import ROWS_PER_BATCH
from veracity.naming import rendered


@dataclass(frozen=True)
class Unpivoted(BatchedRows):
    """The claims of a wide table, made of a batch of its rows at a time; empty cells are none."""

    part: Part
    shape: Shape
    dtypes: pl.Schema
    """Those of the wide table."""

    def count(self) -> int:
        """How many cells there are: no fewer than claims, unless cells are lists of them."""
        return n_rows_of(self.part) * len(self.shape.spread)

    def nothing(self) -> pl.DataFrame:
        """No claim."""
        return self._long(self.dtypes.to_frame())

    def as_they_come(self) -> Iterator[pl.DataFrame]:
        """The claims, at least one batch of them."""
        most_rows = max(1, ROWS_PER_BATCH // len(self.shape.spread))
        for batch in batches_of(self.part):
            yield from map(self._long, batch.iter_slices(most_rows) if len(batch) else [batch])

    def _long(self, batch: pl.DataFrame) -> pl.DataFrame:
        shape, are_alike = self.shape, self._are_alike()
        keys = [plain(name, self.dtypes[name]).alias(part) for part, name in shape.keys.items()]
        named = batch.select(keys)  # each look at all columns takes as long as there are many
        found = []
        for name in shape.spread:
            cells = pl.DataFrame([*named, batch[name].alias(shape.of_cells)])
            rows = cells.select(
                *named.columns, pl.lit(name).alias(shape.of_names), pl.col(shape.of_cells)
            )
            rows = rows.explode(shape.of_cells) if is_list(self.dtypes[name]) else rows
            own, value = self._kind(name), shape.of_cells
            found.append(
                rows.with_columns(plain(value, own) if are_alike else rendered(pl.col(value), own))
            )
        claims = pl.concat(found, how="vertical_relaxed")
        values = claims[shape.of_cells]
        is_empty = values.is_null()
        if values.dtype == pl.String:
            is_empty |= (values == "").fill_null(value=True)
        return claims.filter(~is_empty)

    def _are_alike(self) -> bool:
        """Whether all values are of a type that they have in common; else they are text."""
        kinds = {self._kind(own) for own in self.shape.spread} - {pl.Null()}
        return len(kinds) <= 1 or all(kind.is_numeric() for kind in kinds)

    def _kind(self, name: str) -> pl.DataType:
        """The type of the values of a column, also where its cells are lists of them."""
        dtype = self.dtypes[name]
        return dtype.inner if isinstance(dtype, pl.List) else dtype  # type: ignore[return-value]
