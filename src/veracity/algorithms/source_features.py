"""Turn a table of features of sources into numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.feature_table import (
    MISSING,
    OTHER,
    columns_telling,
    levels_of,
    read_features,
    with_rows,
)
from veracity.encoding.block import FloatArray
from veracity.errors import BadValue
from veracity.io.reader import quoted_list
from veracity.naming import as_text
from veracity.printing import counted, in_short

MOST_COLUMNS = 300
"""Largest number of numeric features of a source; a matrix of this size is inverted every round."""


class FeaturePart(NamedTuple):
    """Numeric description of a source: a feature, or an indicator of one level."""

    feature: str
    level: str | None
    scale: float
    """Unit of a number: its standard deviation."""


@dataclass(frozen=True)
class FeatureColumn:
    """A rule that turns a column of features into numbers.

    Numbers are standardised; each level of a text is a column of zeros and ones. What is missing is
    a level of its own, and so are texts that no two sources share, taken together.
    """

    name: str
    levels: tuple[str, ...] | None = None
    """Levels of a column of text; None for numbers."""
    mean: float = 0.0
    scale: float = 1.0
    has_missing: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.scale) and self.scale > 0.0):
            raise ValueError(f"the feature '{self.name}' cannot be standardised")

    @classmethod
    def of(cls, column: pl.Series) -> FeatureColumn | None:
        """Choose the rule for a column; None if all sources have the same value."""
        has_missing = bool(column.null_count())
        told = column.drop_nulls()
        if column.dtype == pl.Float64:
            scale = float(told.std(ddof=0) or 0.0)  # type: ignore[arg-type]
            mean = float(told.mean() or 0.0)  # type: ignore[arg-type]
            is_same = scale <= 1e-12 * max(1.0, abs(mean))
            return None if is_same else cls(column.name, None, mean, scale, has_missing)
        found = cls(column.name, levels_of(column), has_missing=has_missing)
        return found if len(found.parts) > 1 else None

    @property
    def parts(self) -> list[FeaturePart]:
        """Return the numeric descriptions that the column becomes."""
        missing = [FeaturePart(self.name, MISSING, 1.0)] if self.has_missing else []
        if self.levels is None:
            return [FeaturePart(self.name, None, self.scale), *missing]
        return [*(FeaturePart(self.name, level, 1.0) for level in self.levels), *missing]

    def encoded(self, column: pl.Series) -> FloatArray:
        """Return [row, part]: the column as numbers; new levels count as average."""
        is_null = column.is_null()
        if self.levels is None:
            standard = (column.cast(pl.Float64) - self.mean) / self.scale
            numbers = [standard.fill_null(0.0)]
        else:
            text, levels = column.cast(pl.String), list(self.levels)
            numbers = [
                ~text.is_in(levels) | (text == OTHER) if level == OTHER else text == level
                for level in levels
            ]
            numbers = [one.fill_null(value=False) for one in numbers]
        if self.has_missing:
            numbers.append(is_null)
        return np.column_stack([one.cast(pl.Float64).to_numpy() for one in numbers])


@dataclass(frozen=True, eq=False)
class SourceFeatures:
    """Features of sources, by which those with few claims borrow from others like them.

    Parameters
    ----------
    columns
        How each column becomes numbers.
    table
        One row per source: its name, as text, and its features, as numbers or text.
    notes
        What was noticed when the table was read.

    Examples
    --------
    >>> features = SourceFeatures.read({"source": ["a", "b"], "age": [1, 3]})
    >>> features.rows(pl.Series(["b", "never met"])).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """

    columns: tuple[FeatureColumn, ...]
    table: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: object, likely: Mapping[str, str] | None = None) -> SourceFeatures:
        """Read a table with a column that names sources, and others that describe them.

        `likely` may tell what the claims call the column of their sources.
        """
        table, notes = read_features(data, ["source"], likely or {})
        found = {name: FeatureColumn.of(table[name]) for name in table.columns[1:]}
        columns, left_out = columns_telling(found, "source")
        _check_size(columns)
        table = table.select("source", *(column.name for column in columns))
        return cls(columns, table, (*notes, *left_out))

    @property
    def parts(self) -> list[FeaturePart]:
        """Return the numeric descriptions of a source, without the constant."""
        return [part for column in self.columns for part in column.parts]

    @property
    def mean_row(self) -> FloatArray:
        """The mean of all rows of the table."""
        return np.asarray(self.rows(self.table["source"]).mean(axis=0))

    def rows(self, sources: pl.Series) -> FloatArray:
        """[source, column]: ones, and the features; who is not in the table is like all others."""
        names = as_text(sources).alias("source").to_frame()
        known = self.table.with_columns(is_known=pl.lit(value=True))
        found = names.join(known, on="source", how="left", maintain_order="left")
        encoded = [column.encoded(found[column.name]) for column in self.columns]
        rows = np.column_stack([np.ones((len(names), 1)), *encoded])
        rows[~found["is_known"].fill_null(value=False).to_numpy(), 1:] = 0.0
        return rows

    def notes_on(self, sources: pl.Series) -> list[str]:
        """Return notes on sources that the table does not describe."""
        lacking = as_text(sources).to_frame("source").join(self.table, on="source", how="anti")
        if lacking.is_empty():
            return []
        who = counted(len(lacking), "source that makes claims has", "sources that make claims have")
        names = quoted_list(lacking["source"].head(3).to_list())
        return [f"{who} no row, and counts as average: {names}"]

    def with_more(self, data: object, likely: Mapping[str, str] | None = None) -> SourceFeatures:
        """Add the features of further sources; those known before stay as they are."""
        return replace(self, table=with_rows(self.table, data, ["source"], likely or {}))

    # --- as files ---------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """Return the rules in a form for JSON; the table is stored separately."""
        return {"columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> SourceFeatures:
        """Make the features of a saved run, without their table."""
        columns = tuple(
            FeatureColumn(**{**own, "levels": None if own["levels"] is None else (*own["levels"],)})
            for own in described["columns"]
        )
        types = {c.name: pl.Float64 if c.levels is None else pl.String for c in columns}
        return cls(columns, pl.DataFrame(schema={"source": pl.String, **types}))

    def with_table(self, table: pl.DataFrame) -> SourceFeatures:
        """Add the stored table; raise ValueError if it is a different table."""
        if list(table.schema.items()) != list(self.table.schema.items()):
            raise ValueError("source_features.parquet does not have the columns that were learned")
        if table["source"].null_count() or table["source"].n_unique() != len(table):
            raise ValueError("source_features.parquet has sources twice, or without a name")
        return replace(self, table=table)


def _check_size(columns: Sequence[FeatureColumn]) -> None:
    if sum(len(column.parts) for column in columns) > MOST_COLUMNS:
        most = max(columns, key=lambda column: len(column.parts))
        raise BadValue(
            f"source features: more than {MOST_COLUMNS} numbers and levels describe a source, "
            f"{len(most.parts):,} of them of '{in_short(most.name)}'; group its values, or leave "
            "it out"
        )
