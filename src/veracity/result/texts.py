"""A result with all its names as text: for pages and figures, which can show nothing else."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from veracity.encoding.names import Names
from veracity.encoding.partitions import Encoded, Partition, PartitionsInMemory
from veracity.naming import as_text
from veracity.result import Result
from veracity.result.tables import Tables

NAMES = ("source", "original", "entity", "attribute", "fact", "value", "runner_up")
"""The columns of tables that hold names or values."""


def in_text(result: Result) -> Result:
    """The same result, with names and values as text; its frames are polars.

    Values of numeric claims stay numbers, and whether a binary fact is true stays a Boolean.
    """
    tables, encoded = result.tables, result.encoded
    has_values = result.kind in ("categorical", "multiple")
    kept = () if has_values else ("value", "runner_up")
    told = Tables(
        truths=_in_text(tables.truths, kept),
        facts=_in_text(tables.facts, kept),
        sources=_in_text(tables.sources, kept),
        copies=None if tables.copies is None else _in_text(tables.copies, kept),
        changes=tables.changes,
        features=tables.features,
        source_features=tables.source_features,
        item_features=tables.item_features,
    )
    is_text = told.facts is tables.facts and told.sources is tables.sources
    if not is_text:
        encoded = _encoded_in_text(encoded, has_values=has_values)
    return Result(told, result.run, fitted=result.fitted, encoded=encoded)


def _in_text(table: pl.DataFrame, kept: tuple[str, ...]) -> pl.DataFrame:
    names = [name for name in NAMES if name in table.columns and name not in kept]
    others = [as_text(table[name]) for name in names if table[name].dtype != pl.String]
    return table.with_columns(others) if others else table


def _encoded_in_text(encoded: Encoded, *, has_values: bool) -> Encoded:
    labels = as_text(encoded.names.labels) if has_values else encoded.names.labels
    names = Names(as_text(encoded.names.sources), labels, as_text(encoded.names.attributes))
    parts = PartitionsInMemory(_part(part, has_values) for part in encoded.parts)
    return replace(
        encoded, names=names._replace(n_unnumbered=encoded.names.n_unnumbered), parts=parts
    )


def _part(part: Partition, has_values: bool) -> Partition:
    items = part.items.select(as_text(column) for column in part.items)
    values = as_text(part.values) if has_values and part.values is not None else part.values
    return replace(part, items=items, values=values)
