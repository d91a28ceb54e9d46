"""What a user hands over, as parts with the columns of claims: files, frames and databases."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from veracity.claims.checking import plain
from veracity.claims.how import HowToRead, Wide
from veracity.claims.schema import (
    BETWEEN,
    joined_names,
    lacking_parts,
    listed,
    parts_of_name,
    recognised,
)
from veracity.claims.shapes import SAMPLE, Seen, Shape
from veracity.claims.unpivoting import Unpivoted
from veracity.claims.wide import shape_of
from veracity.errors import BadValue, MissingColumn, ParameterError
from veracity.io.batched import BatchedRows
from veracity.io.databases import (
    Selection,
    StreamedRows,
    column_names,
    is_address,
    is_database,
    selection_of,
    tables_of,
)
from veracity.io.files import (
    OF_OTHERS,
    Part,
    as_polars,
    batches_of,
    has_null,
    index_of,
    name_of,
    open_files,
    reading_frame,
    reading_part,
)
from veracity.io.formats import STANDARD_INPUT
from veracity.io.frames import FrameKind
from veracity.io.noting import Notes, told_once
from veracity.naming import READ_AGAIN, rendered
from veracity.printing import in_short

__all__ = ["open_parts", "read_table", "require_plain"]


def read_table(data: object, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path, a database or a frame, with all its columns."""
    selection = _selected(data)
    if selection is not None:
        return pl.concat(list(StreamedRows.of(selection).batches()))
    if not _are_paths(data):
        with reading_frame(name_of(data)):
            return as_polars(data)[0].collect()
    parts = list(open_files(_origins(data), encoding, []))
    return pl.concat([rows for part in _alike(parts, []) for rows in batches_of(part)])


class Opened(NamedTuple):
    """What was handed over: its parts with the columns of claims, and what was noticed."""

    origin: str
    frame_kind: FrameKind
    parts: list[Part]
    notes: list[str]
    columns: dict[str, str]
    """The columns whose own names are other than the parts they play."""
    wide: Wide | None = None
    """By what the table is wide."""
    types: Mapping[str, str] = MappingProxyType({})
    """The types of columns whose values became text beside others."""


def open_parts(data: object, wanted: Sequence[str], how: HowToRead) -> Opened:
    """Find the wanted columns in each part of what was handed over."""
    noted: Notes = []
    notes: list[str] = []
    origin, frame_kind, whole = _whole(data, wanted, how, noted)
    columns: dict[str, str] = {}
    parts, wide, types = [], how.wide, Counter[tuple[str, str]]()
    inner = [part for part in wanted if part != "source" or how.source_from is None]
    for part in whole:
        with reading_part(part):
            found = _chosen(part, inner, how, notes, wide)
            if len(inner) < len(wanted):
                _note_sources(part, found.shape, notes)
        parts.append(found.part)
        types.update(found.types.items())
        named = found.shape.keys.items()
        columns = {own: n for own, n in named if n != own or own in how.carrying} | columns
        wide = found.shape.wide  # what cannot be told of a further file is as in this one
    parts = _with_attributes(_alike(parts, notes))
    if how.source_from is not None and "source" in wanted:
        parts = _named_by_place(parts, how, notes)
    of_all = {name: dtype for (name, dtype), count in types.items() if count == len(parts)}
    told = [*told_once(noted), *notes]
    return Opened(origin, frame_kind, parts, told, columns, wide, of_all)


def _note_sources(part: Part, shape: Shape, notes: list[str]) -> None:
    """Tell of a column that names sources, though files do."""
    used = (*shape.keys.values(), *shape.spread)
    left = [name for name in part.rows.collect_schema().names() if name not in used]
    for name in recognised(left, ["source"], given={}, origin=part.origin).values():
        notes.append(f"column '{in_short(name)}' is not read: source_from names the source")


def _named_by_place(parts: list[Part], how: HowToRead, notes: list[str]) -> list[Part]:
    """The parts with the names of their files, sheets or tables as the source."""
    if not all(part.name for part in parts):
        what = "tables that are named" if how.source_from == "table" else "files"
        raise ParameterError(
            f"{parts[0].origin}: source_from={how.source_from!r} is for {what}, and this is none"
        )
    place = "file" if how.source_from == "filename" else how.source_from
    notes.append(f"each {place} is a source: {listed([part.name for part in parts])}")
    found = []
    for part in parts:
        columns = map(pl.col, part.rows.collect_schema().names())
        source = pl.lit(part.name).alias("source")
        found.append(part._replace(rows=part.rows.select([source, *columns])))
    return found


def _whole(
    data: object, wanted: Sequence[str], how: HowToRead, notes: Notes
) -> tuple[str, FrameKind, Iterator[Part]]:
    """Where the data come from, their kind, and their parts with all columns, one by one."""
    selections = _all_selected(data, with_files=how.source_from == "table")
    if selections and how.source_from == "table":
        selections = [one for selection in selections for one in tables_of(selection)]
    if selections:
        parts = (_of_database(one, wanted, how) for one in selections)
        return _together([one.name for one in selections]), "polars", parts
    if how.source_from == "table":
        raise ParameterError(
            "source_from='table' is for tables of a database, and this is none; files have "
            "'filename', and workbooks 'sheet'"
        )
    if not _are_paths(data):
        name = name_of(data)
        with reading_frame(name):
            frame, frame_kind = as_polars(data)
        return name, frame_kind, iter([Part(frame, name, levels=index_of(data))])
    origins = _origins(data)
    names = ["standard input" if one == STANDARD_INPUT else one for one in origins]
    return _together(names), "polars", open_files(origins, how.encoding, notes, how.source_from)


def _together(origins: Sequence[str]) -> str:
    """What messages call all that was handed over."""
    return origins[0] + (f" and {len(origins) - 1} more" if len(origins) > 1 else "")


def _of_database(selection: Selection, wanted: Sequence[str], how: HowToRead) -> Part:
    """The rows of a table or query; only the columns that are wanted, where that can be told."""
    name = selection.name
    found = column_names(selection)
    if any(parts_of_name(one, found) for one in how.columns.values()):
        rows = StreamedRows.of(selection)
    else:
        chosen = recognised(found, wanted, given=how.columns, likely=how.likely, origin=name)
        is_long = how.wide is None and not lacking_parts(chosen, wanted)
        rows = StreamedRows.of(selection, chosen.values() if is_long else None)
    own = selection.table if how.source_from == "table" else None
    return Part(rows, name, name=own or "")


def _are_paths(data: object) -> bool:
    """Whether it is a path, or a list of them."""
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, str | os.PathLike) for one in data)
    return isinstance(data, str | os.PathLike)


def _origins(data: Any) -> list[str]:  # noqa: ANN401 - a path, or a list of them
    return list(map(os.fspath, data)) if isinstance(data, list | tuple) else [os.fspath(data)]


def _selected(data: object) -> Selection | None:
    """What is asked of a database, if it is one: an address names the table behind a ``#``."""
    if isinstance(data, Selection):
        return data
    return selection_of(data) if isinstance(data, str) and is_address(data) else None


def _is_file_of_database(data: object) -> bool:
    return isinstance(data, str | os.PathLike) and is_database(os.fspath(data))


def _all_selected(data: object, *, with_files: bool = False) -> list[Selection]:
    """What is asked of databases, of one or of each in a list; nothing if it is something else."""
    given = data if isinstance(data, list | tuple) else [data]
    if with_files:  # which may be databases, too
        given = [selection_of(one) if _is_file_of_database(one) else one for one in given]
    found = [selection for selection in map(_selected, given) if selection is not None]
    return found if len(found) == len(given) else []


def _chosen(
    part: Part, wanted: Sequence[str], how: HowToRead, notes: list[str], wide: Wide | None
) -> Chosen:
    """Keep the wanted columns, under the names we give them; a wide table becomes long.

    `wide` says what the table is if that cannot be told.
    """
    before = part.rows.collect_schema()
    part, how = _with_joined(part, wanted, how, notes)
    found = part.rows.collect_schema()
    joined = {name: before[name] for name in before.names() if name not in found}
    table = Seen(part.origin, found.names(), wanted, partial(_sample, part))
    try:
        shape = shape_of(table, how, notes)
    except MissingColumn:
        if wide is None:
            raise
        shape = shape_of(table, replace(how, wide=wide), notes)
    for own, name in (*shape.keys.items(), *((shape.of_cells, name) for name in shape.spread)):
        require_plain(part.origin, own, name, found[name])
    for own, name in shape.keys.items():
        if name not in (own, how.columns.get(own), how.likely.get(own)):
            notes.append(f"column '{name}' is taken as the {own}")
    if not shape.is_wide:
        kept = [plain(name, found[name]).alias(own) for own, name in shape.keys.items()]
        return Chosen(_at_hand(part, part.rows.select(kept)), shape, _types(joined))
    names = [*shape.keys.values(), *shape.spread]
    whole = _at_hand(part, part.rows.select(map(pl.col, names)))
    dtypes = pl.Schema({name: found[name] for name in names})
    in_order = [pl.col(own) for own in wanted if own in (*shape.keys, *shape[2:])]
    claims = Unpivoted(whole, shape, dtypes).select(in_order)
    spread = {name: found[name] for name in shape.spread if shape.of_names == "attribute"}
    return Chosen(part._replace(rows=claims), shape, _types({**joined, **spread}))


def _types(dtypes: Mapping[str, pl.DataType]) -> dict[str, str]:
    """The types of columns that are not text already, if text can be read as them again."""
    return {name: str(dtype) for name, dtype in dtypes.items() if str(dtype) in READ_AGAIN}


def _with_joined(
    part: Part, wanted: Sequence[str], how: HowToRead, notes: list[str]
) -> tuple[Part, HowToRead]:
    """The part with a column in the place of each that several make up together."""
    schema = part.rows.collect_schema()
    found = schema.names()
    if part.levels and "entity" in wanted and "entity" not in how.columns:
        told = recognised(found, wanted, given=how.columns, likely=how.likely, origin=part.origin)
        levels = [name for name in part.levels if name not in told.values()]
        if "entity" not in told and levels:
            notes.append(f"the index names the entity: {listed(levels)}")
            how = replace(how, likely={**how.likely, "entity": joined_names(levels)})
    for name in dict.fromkeys([*how.columns.values(), *how.likely.values()]):
        if pieces := parts_of_name(name, found):
            others = [pl.col(own) for own in found if own not in pieces]
            texts = [_escaped(rendered(pl.col(own), schema[own])) for own in pieces]
            together = pl.concat_str(texts, separator=BETWEEN).alias(name)
            part = part._replace(rows=part.rows.select([together, *others]))
            schema = part.rows.collect_schema()
            found = schema.names()
    return part, how


def _escaped(text: pl.Expr) -> pl.Expr:
    """Text in which no bar stands alone, so that different cells never look the same together."""
    return text.str.replace_all("|", "||", literal=True)


class Chosen(NamedTuple):
    """A part with the wanted columns only, and what they were found to be."""

    part: Part
    shape: Shape
    types: dict[str, str]
    """Those of columns whose values may become text beside others."""


def _sample(part: Part) -> pl.DataFrame:
    """The first rows."""
    if isinstance(part.rows, pl.LazyFrame):
        return part.rows.head(SAMPLE).collect()
    return next(part.rows.batches()).head(SAMPLE)


def _at_hand(part: Part, rows: pl.LazyFrame | BatchedRows) -> Part:
    """The part with these rows; those of a frame are taken now, to tell what is wrong with them."""
    if part.path is None and isinstance(rows, pl.LazyFrame):
        rows = rows.collect().lazy()
    return part._replace(rows=rows)


def require_plain(origin: str, part: str, name: str, dtype: pl.DataType) -> None:
    """Refuse columns that hold no plain values."""
    if dtype.is_nested() or dtype == pl.Object or isinstance(dtype, OF_OTHERS):
        mend = "turn it into text or numbers first"
        if isinstance(dtype, pl.List | pl.Array):
            mend = f"give each value a row of its own first, e.g. frame.explode('{in_short(name)}')"
        raise BadValue(
            f"{origin}: column '{in_short(name)}' ({part}) holds {dtype}, not plain values; {mend}"
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
