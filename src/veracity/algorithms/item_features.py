"""Features of items, which sort the items into kinds.

Expertise may depend on what is asked (Yan, Rosales, Fung, Dy: Active Learning from Crowds, ICML
2011): who is right on birds may err on cars. Items with the same features are of one kind, and a
source may be better on one kind than on another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

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
from veracity.algorithms.source_features import FeaturePart
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.known import KnownCount
from veracity.encoding.partitions import Encoded, Partition
from veracity.errors import BadValue
from veracity.naming import as_text
from veracity.printing import counted, in_short
from veracity.reading.roles import KEYS

ITEM_KEYS = ("entity", "attribute")

MOST_KINDS = 1_000
"""Largest number of kinds of items; each source has an accuracy for every kind."""

SHARES = (1 / 3, 2 / 3)
"""Number of levels of a number: low, middle and high thirds."""


@dataclass(frozen=True)
class ItemColumn:
    """A rule that turns a column of features into levels: texts, or ranges of numbers."""

    name: str
    levels: tuple[str, ...]
    cuts: tuple[float, ...] | None = None
    """For numbers: the lower limits of the second and of each further level."""

    @classmethod
    def of(cls, column: pl.Series) -> ItemColumn | None:
        """Choose the rule for a column; None if all items have the same value."""
        missing = (MISSING,) if column.null_count() else ()
        told = column.drop_nulls()
        if column.dtype == pl.Float64:
            numbers = told.to_numpy()
            if not len(numbers):
                return None
            quantiles = np.quantile(numbers, SHARES, method="higher")
            cuts = sorted({float(cut) for cut in quantiles if cut > numbers.min()})
            found = cls(column.name, (*_ranges(cuts), *missing), tuple(cuts))
        else:
            found = cls(column.name, (*levels_of(column), *missing))
        return found if len(found.levels) > 1 else None

    def numbered(self, column: pl.Series) -> IntArray:
        """Return the number of the level of each row; one more than the last if it has no level."""
        nowhere = len(self.levels)
        missing = self.levels.index(MISSING) if MISSING in self.levels else nowhere
        if self.cuts is not None:
            numbers = column.cast(pl.Float64).fill_null(0.0).to_numpy()
            level = np.searchsorted(np.array(self.cuts), numbers, side="right")
        else:
            other = self.levels.index(OTHER) if OTHER in self.levels else nowhere
            place = {name: number for number, name in enumerate(self.levels)}
            text = column.cast(pl.String).fill_null("")
            level = text.replace_strict(place, default=other, return_dtype=pl.Int64).to_numpy()
        return np.where(column.is_null().to_numpy(), missing, level)


def _ranges(cuts: list[float]) -> list[str]:
    """Names of the intervals between the cuts."""
    ends = [f"{cut:.6g}" for cut in cuts]
    if not ends:
        return ["all"]
    between = [f"{low} to below {high}" for low, high in pairwise(ends)]
    return [f"below {ends[0]}", *between, f"{ends[-1]} and more"]


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """Features of items: sources may be better on some kinds of items than on others.

    Parameters
    ----------
    columns
        How each column becomes levels.
    table
        One row per item: the entity, and the attribute if there is one, as text, and features, as
        numbers or text. An attribute that is named may be a feature, too.
    notes
        What was noticed when the table was read.

    Examples
    --------
    >>> features = ItemFeatures.read({"entity": list("abcd"), "topic": ["x", "x", "y", "y"]})
    >>> features.n_kinds, features.kind_of_row.tolist()
    (3, [1, 1, 2, 2])
    """

    columns: tuple[ItemColumn, ...]
    table: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: object, likely: Mapping[str, str] | None = None) -> ItemFeatures:
        """Read a table with columns that name items, and others that describe them.

        `likely` may tell what the claims call the columns of their items.
        """
        table, notes = read_features(data, ITEM_KEYS, likely or {})
        keys = [name for name in table.columns if name in KEYS]
        described = [name for name in table.columns if name != "entity"]
        found = {name: ItemColumn.of(table[name]) for name in described}
        columns, left_out = columns_telling(found, "item", keys)
        _check_size(columns)
        names = dict.fromkeys([*keys, *(column.name for column in columns)])
        return cls(columns, table.select(list(names)), (*notes, *left_out))

    @property
    def n_kinds(self) -> int:
        """Number of kinds; the first is for items that are not described."""
        return 1 + int(np.prod([len(column.levels) for column in self.columns]))

    @property
    def parts(self) -> list[FeaturePart]:
        """The levels of the features."""
        return [
            FeaturePart(column.name, level, 1.0)
            for column in self.columns
            for level in column.levels
        ]

    @cached_property
    def rows(self) -> FloatArray:
        """[kind, column]: ones, and which levels items of the kind have."""
        sizes = [len(column.levels) for column in self.columns]
        level = np.unravel_index(np.arange(self.n_kinds - 1), sizes) if sizes else ()
        levels = [np.eye(size)[own] for size, own in zip(sizes, level, strict=True)]
        described = np.column_stack(levels) if levels else np.zeros((self.n_kinds - 1, 0))
        first = np.zeros((1, described.shape[1]))
        return np.column_stack([np.ones(self.n_kinds), np.concatenate([first, described])])

    @property
    def mean_row(self) -> FloatArray:
        """Return the mean features of the items in the table."""
        return np.asarray(self.rows[self.kind_of_row].mean(axis=0))

    @cached_property
    def kind_of_row(self) -> IntArray:
        """The kind of each item of the table."""
        kind = np.zeros(len(self.table), dtype=np.int64)
        is_told = np.ones(len(self.table), dtype=np.bool_)
        for column in self.columns:
            level = column.numbered(self.table[column.name])
            is_told &= level < len(column.levels)
            kind = kind * len(column.levels) + level
        return np.where(is_told, kind + 1, 0).astype(np.int32)

    def with_more(self, data: object, likely: Mapping[str, str] | None = None) -> ItemFeatures:
        """Add the features of further items; those known before stay as they are."""
        return replace(self, table=with_rows(self.table, data, ITEM_KEYS, likely or {}))

    # --- as files ---------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """Return the rules in a form for JSON; the table is stored separately."""
        return {"columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> ItemFeatures:
        """Make the features of a saved run, without their table."""
        columns = tuple(
            ItemColumn(
                own["name"], tuple(own["levels"]), None if own["cuts"] is None else (*own["cuts"],)
            )
            for own in described["columns"]
        )
        _check_size(columns)
        return cls(columns, pl.DataFrame())

    def with_table(self, table: pl.DataFrame) -> ItemFeatures:
        """Add the stored table; raise ValueError if it is a different table."""
        keys = [name for name in KEYS if name in table.columns]
        wanted = {
            **dict.fromkeys(keys, pl.String()),
            **{c.name: pl.String() if c.cuts is None else pl.Float64() for c in self.columns},
        }
        if "entity" not in keys or dict(table.schema) != wanted:
            raise ValueError("item_features.parquet does not have the columns that were learned")
        names = table.select(keys)
        if sum(names.null_count().row(0)) or names.is_duplicated().any():
            raise ValueError("item_features.parquet has items twice, or without a name")
        return replace(self, table=table)


def _check_size(columns: tuple[ItemColumn, ...]) -> None:
    n_kinds = int(np.prod([float(len(column.levels)) for column in columns]))
    if n_kinds > MOST_KINDS:
        most = max(columns, key=lambda column: len(column.levels))
        raise BadValue(
            f"item features: they make {n_kinds:,} kinds of items, and {MOST_KINDS:,} at most can "
            f"be learned of; '{in_short(most.name)}' has {len(most.levels):,} levels: group its "
            "values, or leave it out"
        )


# --- in blocks ------------------------------------------------------------------------------------


def with_kinds(encoded: Encoded, features: ItemFeatures) -> tuple[Encoded, list[str]]:
    """Add the kind of each item to the claims, part by part; return notes on it."""
    keys = [name for name in features.table.columns if name in KEYS]
    table = features.table.select(keys).with_columns(kind=features.kind_of_row)
    laid, counts = encoded.with_known_truths(KindsInPart(table))
    n_lacking = sum(count.unclaimed for count in counts)
    if not n_lacking:
        return laid, []
    items = counted(n_lacking, "item has", "items have")
    return laid, [f"{items} no row: of no kind, sources are as good there as elsewhere"]


@dataclass(frozen=True)
class KindsInPart:
    """Marks the kinds of items in a part, wherever the part is."""

    table: pl.DataFrame

    def __call__(self, part: Partition) -> tuple[Block, KnownCount]:
        """Add the kind of each item to a block; count the items with a kind and without."""
        is_fact = "fact" in part.items.columns  # claims that are true or false are of these
        table = self.table.rename({"entity": "fact"}) if is_fact else self.table
        keys = [name for name in table.columns if name in part.items.columns]
        if len(keys) + 1 < len(table.columns):  # claims have no attributes
            table = table.unique(keys, keep="first", maintain_order=True)
        names = part.items.select(as_text(part.items[key]) for key in keys)
        found = names.join(table, on=keys, how="left", maintain_order="left")["kind"]
        kind = found.fill_null(0).to_numpy().astype(np.int32)
        n_known = int(np.count_nonzero(part.block.is_known))
        lacking = KnownCount(0, found.null_count(), n_known)
        return part.block._replace(kind_of_item=kind), lacking
