"""Cells that hold lists and objects, as label tools write them: what is in them, as columns.

``annotations.result.value.choices`` names what stands in the choices, in the value of each result
of each annotation of a row. Every list on the way makes a row of each of its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from veracity.errors import ParameterError
from veracity.io.files import Part
from veracity.printing import in_short

WITHIN = "."
"""What stands between the name of a column and that of what is in it."""


def inner_names(schema: pl.Schema) -> list[str]:
    """The names of what is within the columns of a table, as far as it is plain.

    >>> inner_names(pl.Schema({"id": pl.Int64, "data": pl.List(pl.Struct({"text": pl.String}))}))
    ['data.text']
    """
    nested = [(name, dtype) for name, dtype in schema.items() if dtype.is_nested()]
    return [own for name, dtype in nested for own in _within(name, dtype) if own != name]


def is_list(dtype: pl.DataType) -> bool:
    """Whether cells are lists of plain values."""
    return isinstance(dtype, pl.List) and not dtype.inner.is_nested()


def with_inner(part: Part, named: Iterable[str]) -> Part:
    """The part with a column for each name of what is within another, in the place of that one."""
    rows, opened = part.rows, list[str]()
    schema = rows.collect_schema()
    paths = [name for name in named if name not in schema and name in inner_names(schema)]
    if not isinstance(rows, pl.LazyFrame):
        return part
    while outer := next((name for name in rows.collect_schema() if _is_on_way(name, paths)), None):
        dtype = rows.collect_schema()[outer]
        if isinstance(dtype, pl.Struct):
            inner = [field.name for field in dtype.fields]
            wanted = [f for f in inner if _is_on_way(_joined(outer, f), paths, to_end=True)]
            fields = [pl.col(outer).struct.field(f).alias(_joined(outer, f)) for f in wanted]
            rows = rows.with_columns(fields).drop(outer)
            continue
        beside = [name for name in opened if not f"{outer}{WITHIN}".startswith(name + WITHIN)]
        if beside:
            raise ParameterError(
                f"{part.origin}: '{in_short(beside[0])}' and '{in_short(outer)}' are lists beside "
                "each other, so it is not known what belongs together; name what is in one of them"
            )
        rows, opened = rows.explode(outer), [*opened, outer]
    return part._replace(rows=rows)


def _joined(outer: str, inner: str) -> str:
    return f"{outer}{WITHIN}{inner}"


def _is_on_way(name: str, paths: Iterable[str], *, to_end: bool = False) -> bool:
    """Whether what a path names is within this; or whether it is this, if that counts."""
    return any(path.startswith(name + WITHIN) or (to_end and path == name) for path in paths)


def _within(name: str, dtype: pl.DataType) -> Iterator[str]:
    """The plain values, and lists of them, within a column."""
    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _within(_joined(name, field.name), field.dtype)  # type: ignore[arg-type]
    elif isinstance(dtype, pl.List) and not is_list(dtype):
        yield from _within(name, dtype.inner)  # type: ignore[arg-type]
    elif is_list(dtype) or not dtype.is_nested():
        yield name
