"""Changes to the files of a run: any byte, any field, any column, any file."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl
from hypothesis import strategies as st

from attack.names import odd_texts

Draw = Callable[[st.SearchStrategy], Any]

anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), odd_texts,
        st.sampled_from((0, 1, -1, 10**400, 1e308, "veracity", "numeric", "binary", "")),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


@st.composite
def tampered(
    draw: Draw, run: Mapping[str, bytes], others: Mapping[str, Mapping[str, bytes]]
) -> dict[str, bytes]:
    """The files of a run with one thing changed."""
    files = dict(run)
    tables = sorted(name for name in files if name.endswith(".parquet"))
    inside = sorted(name for name in files if "/" not in name)
    how = draw(st.sampled_from(("field", "field", "column", "column", "bytes", "away", "swap")))
    if how == "field":
        files["run.json"] = draw(_changed_field(files["run.json"]))
    elif how == "column":
        name = draw(st.sampled_from(tables))
        files[name] = draw(_changed_column(files[name]))
    else:
        name = draw(st.sampled_from(inside))
        if how == "bytes":
            files[name] = draw(_changed_bytes(files[name]))
        elif how == "away":
            del files[name]
        else:
            other = others[draw(st.sampled_from(sorted(others)))]
            files[name] = other.get(name, b"")
    return files


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every field, however deep."""
    inner: Any = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        inner = value.items()
    for name, there in inner:
        yield (*path, name)
        yield from _paths(there, (*path, name))


@st.composite
def _changed_field(draw: Draw, content: bytes) -> bytes:
    told = json.loads(content)
    *way, last = draw(st.sampled_from(list(_paths(told))))
    inner = told
    for name in way:
        inner = inner[name]
    if draw(st.integers(0, 3)) == 0:
        del inner[last]
    else:
        inner[last] = draw(anything)
    return json.dumps(told).encode()


@st.composite
def _changed_bytes(draw: Draw, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    put = draw(st.binary(max_size=4))
    skipped = draw(st.sampled_from((len(put), 0, 10, len(content))))
    return content[:at] + put + content[at + skipped :]


@st.composite
def _changed_column(draw: Draw, content: bytes) -> bytes:
    table = pl.read_parquet(io.BytesIO(content))
    if not table.columns:
        return content
    column = pl.col(draw(st.sampled_from(table.columns)))
    changes = (
        column.cast(pl.String, strict=False),
        column.cast(pl.Float32, strict=False),
        pl.lit(None).alias(column.meta.output_name()),
        column.reverse(),
        column.shift(1),
        pl.lit(-1).alias(column.meta.output_name()),
        pl.lit(2**31).alias(column.meta.output_name()),
        pl.lit(float("nan")).alias(column.meta.output_name()),
        pl.lit("\x1b[31m<b>").alias(column.meta.output_name()),
    )
    how = draw(st.integers(-3, len(changes) - 1))
    try:
        changed = (
            table.with_columns(changes[how]) if how >= 0
            else table.drop(column.meta.output_name()) if how == -1
            else table.head(len(table) // 2) if how == -2
            else pl.concat([table, table])
        )  # fmt: skip
    except pl.exceptions.PolarsError:  # not every type can be cast
        return content
    target = io.BytesIO()
    changed.write_parquet(target)
    return target.getvalue()
