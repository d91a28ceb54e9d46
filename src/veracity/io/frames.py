"""Frames in the user's own kind."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from veracity.naming import as_text

FrameKind = Literal["polars", "pandas", "pyarrow", "spark"]
"""The kind of frame a user gave and gets back."""

ROWS_PER_BATCH = 1 << 20
"""How many rows of a table are taken at a time."""

FIRST_ROWS = 1 << 14
"""So many rows tell what the others are like."""


def is_spark_frame(data: object) -> bool:
    """Whether it is a frame of Spark; Spark is not loaded to find out."""
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def hand_back(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """The table in the user's own kind of frame."""
    if kind == "pandas":
        return frame.with_columns(
            as_text(column) for column in frame if _is_too_fine(column)
        ).to_pandas()
    if kind == "spark":
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        return SparkSession.active().createDataFrame(spark_table(frame))
    return frame.to_arrow() if kind == "pyarrow" else frame


def _is_too_fine(column: pl.Series) -> bool:
    """Whether times of day have parts that those of Python, which pandas uses, cannot hold."""
    return column.dtype == pl.Time and bool((column.cast(pl.Int64) % 1_000 != 0).any())


def spark_table(frame: pl.DataFrame) -> Any:
    """The table in the types that Spark has: it knows no unsigned numbers, and one kind of text."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    table = frame.to_arrow()
    fields = [pa.field(own.name, _spark_type(own.type)) for own in table.schema]
    return table.cast(pa.schema(fields))


def _spark_type(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_large_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    return pa.null() if pa.types.is_null(kind) else kind
