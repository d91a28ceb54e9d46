"""What a user hands over, as parts with the columns of claims: files, frames and databases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from veracity.claims.checking import plain
from veracity.claims.how import HowToRead
from veracity.claims.schema import find_columns
from veracity.errors import BadValue
from veracity.io.databases import Selection, StreamedRows, is_address, selection_of
from veracity.io.files import (
    Part,
    as_polars,
    batches_of,
    has_null,
    name_of,
    open_file,
    paths_of,
    reading_file,
    reading_frame,
    reading_part,
)
from veracity.io.frames import FrameKind
from veracity.naming import rendered

__all__ = ["open_parts", "read_table"]


def read_table(data: object, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path, a database or a frame, with all its columns."""
    selection = _selected(data)
    if selection is not None:
        return pl.concat(list(StreamedRows.of(selection).batches()))
    if not isinstance(data, str | os.PathLike):
        with reading_frame(name_of(data)):
            return as_polars(data)[0].collect()
    parts = []
    for path in paths_of(os.fspath(data)):
        with reading_file(path):
            parts.append(Part(open_file(path, encoding), str(path), path))
    return pl.concat([rows for part in _alike(parts, []) for rows in batches_of(part)])


class Opened(NamedTuple):
    """What was handed over: its parts with the columns of claims, and what was noticed."""

    origin: str
    frame_kind: FrameKind
    parts: list[Part]
    notes: list[str]
    columns: dict[str, str]
    """The columns whose own names are other than the parts they play."""


def open_parts(data: object, wanted: Sequence[str], how: HowToRead) -> Opened:
    """Find the wanted columns in each part of what was handed over."""
    origin, frame_kind, whole = _whole(data, how)
    notes: list[str] = []
    columns: dict[str, str] = {}
    parts = []
    for part in whole:
        with reading_part(part):
            found = _chosen(part, wanted, how, notes)
            parts.append(found.part)
            columns = found.columns | columns
    return Opened(origin, frame_kind, _with_attributes(_alike(parts, notes)), notes, columns)


def _whole(data: object, how: HowToRead) -> tuple[str, FrameKind, Iterator[Part]]:
    """Where the data come from, their kind, and their parts with all columns, one by one."""
    selection = _selected(data)
    if selection is not None:
        rows = Part(StreamedRows.of(selection), selection.name)
        return selection.name, "polars", iter([rows])
    if not isinstance(data, str | os.PathLike):
        name = name_of(data)
        with reading_frame(name):
            frame, frame_kind = as_polars(data)
        return name, frame_kind, iter([Part(frame, name)])
    origin = os.fspath(data)
    return origin, "polars", (_file(path, how) for path in paths_of(origin))


def _file(path: Path, how: HowToRead) -> Part:
    with reading_file(path):
        return Part(open_file(path, how.encoding), str(path), path)


def _selected(data: object) -> Selection | None:
    """What is asked of a database, if it is one: an address names the table behind a ``#``."""
    if isinstance(data, Selection):
        return data
    return selection_of(data) if isinstance(data, str) and is_address(data) else None


class Chosen(NamedTuple):
    """A part with the wanted columns only, and those of them that have other names."""

    part: Part
    columns: dict[str, str]


def _chosen(part: Part, wanted: Sequence[str], how: HowToRead, notes: list[str]) -> Chosen:
    """Keep the wanted columns, under the names we give them."""
    found = part.rows.collect_schema()
    chosen = find_columns(
        found.names(), wanted, given=how.columns, likely=how.likely, origin=part.origin
    )
    for own, name in chosen.items():
        _check_plain(part.origin, own, name, found[name])
        if name not in (own, how.columns.get(own), how.likely.get(own)):
            notes.append(f"column '{name}' is taken as the {own}")
    kept = [plain(name, found[name]).alias(own) for own, name in chosen.items()]
    rows = part.rows.select(kept)
    if part.path is None and isinstance(rows, pl.LazyFrame):
        rows = rows.collect().lazy()  # a frame is at hand: what is wrong with it is told now
    columns = {own: name for own, name in chosen.items() if name != own}
    return Chosen(part._replace(rows=rows), columns)


def _check_plain(origin: str, part: str, name: str, dtype: pl.DataType) -> None:
    """Refuse columns that hold no plain values."""
    if dtype.is_nested() or dtype == pl.Object:
        raise BadValue(
            f"{origin}: column '{name}' ({part}) holds {dtype}, not plain values; "
            "turn it into text or numbers first"
        )


def _alike(parts: list[Part], notes: list[str]) -> list[Part]:
    """The parts with the same columns; one of text here and numbers there becomes text."""
    schemas = [part.rows.collect_schema() for part in parts]
    if all(schema == schemas[0] for schema in schemas):
        return parts
    frames = [schema.to_frame().drop("claim", strict=False) for schema in schemas]
    for name in dict.fromkeys(name for frame in frames for name in frame.columns):
        known = {frame[name].dtype for frame in frames if name in frame.columns} - {pl.Null()}
        if len(known) > 1 and not all(dtype.is_numeric() for dtype in known):
            frames.append(pl.DataFrame(schema={name: pl.String}))
            frames = [
                frame.with_columns(pl.Series(name, dtype=pl.String)) if name in frame else frame
                for frame in frames
            ]
            notes.append(f"the {name} is of different types in different files: taken as text")
    common = pl.concat(frames, how="diagonal_relaxed").schema

    def in_common(name: str, own: pl.Schema) -> pl.Expr:
        column = pl.col(name) if name in own else pl.lit(None).alias(name)
        if name in own and common.get(name) == pl.String:
            return rendered(column, own[name])
        return column.cast(common[name]) if name in common else column

    names = dict.fromkeys([*schemas[0], *common])
    return [
        part._replace(rows=part.rows.select(in_common(name, own) for name in names))
        for part, own in zip(parts, schemas, strict=True)
    ]


def _with_attributes(parts: list[Part]) -> list[Part]:
    """The parts with the empty attribute where one is missing; then all attributes are text."""
    dtype = parts[0].rows.collect_schema().get("attribute")
    if dtype is None:
        return parts
    if dtype != pl.String and not any(has_null(part, "attribute") for part in parts):
        return parts
    text = rendered(pl.col("attribute"), dtype).fill_null("")
    return [part._replace(rows=part.rows.with_columns(text)) for part in parts]
