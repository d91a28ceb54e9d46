"""What a user hands over, as parts with the columns of claims: files, frames and databases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from veracity.claims.asked import asked_as_one, asked_columns
from veracity.claims.checking import plain
from veracity.claims.headers import Spelling
from veracity.claims.how import HowToRead, Wide
from veracity.claims.nested import inner_names, is_list, with_inner
from veracity.claims.schema import (
    BETWEEN,
    JOINED,
    NAMES_OF_LISTS,
    joined_names,
    lacking_parts,
    listed,
    parts_of_name,
    recognised,
    simple_name,
    text_together,
)
from veracity.claims.shapes import (
    SAMPLE,
    Seen,
    Shape,
    column_like,
    like_note,
    told_shapes,
    with_whole_fact,
)
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
    Part,
    batches_of,
    has_null,
    open_files,
    reading_frame,
    reading_part,
)
from veracity.io.formats import STANDARD_INPUT
from veracity.io.frames import FrameKind
from veracity.io.noting import Notes, told_once
from veracity.io.python_data import OF_OTHERS, as_polars, index_of, name_of
from veracity.naming import rendered, types_read_again
from veracity.printing import in_short


def read_table(data: object, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path, a database or a frame, with all its columns."""
    selection = _selected(data)
    if selection is not None:
        return pl.concat(list(StreamedRows.of(selection).batches()))
    if not _are_paths(data):
        with reading_frame(name_of(data)):
            return as_polars(data)[0].collect()
    parts = list(open_files(_origins(data), encoding, []))
    for part in parts:
        with reading_part(part):
            part.rows.collect_schema()
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
    """The columns whose values may have become text beside others, in their order, with types."""


def open_parts(data: object, wanted: Sequence[str], how: HowToRead) -> Opened:
    """Find the wanted columns in each part of what was handed over."""
    noted: Notes = []
    notes: list[str] = []
    origin, frame_kind, whole = _whole(data, wanted, how, noted)
    columns: dict[str, str] = {}
    parts, wide, types = [], how.wide, dict[str, str]()
    shapes: list[Shape] = []
    inner = [part for part in wanted if part != "source" or how.source_from is None]
    spelling = Spelling(how)
    for own in whole:
        with reading_part(own):
            part = spelling.made_alike(own)
            found = _chosen(part, inner, how, notes, wide)
            if len(inner) < len(wanted):
                _note_sources(part, found.shape, notes)
        parts.append(found.part)
        for name, dtype in found.types.items():
            types[name] = dtype if types.get(name, dtype) == dtype else str(pl.String())
        named = found.shape.keys.items()
        columns = {own: n for own, n in named if n != own or own in how.carrying} | columns
        columns |= _said_together(found.shape, how)
        shapes.append(found.shape)
        wide = found.shape.wide  # what cannot be told of a further file is as in this one
    notes += spelling.notes
    parts = _with_attributes(_alike(parts, notes))
    if how.source_from is not None and "source" in wanted:
        parts = _named_by_place(parts, how, notes)
    told = [*told_once(noted), *told_shapes(shapes, how.kind), *notes]
    return Opened(origin, frame_kind, parts, told, columns, wide, types)


def _said_together(shape: Shape, how: HowToRead) -> dict[str, str]:
    """The columns that hold the values of a wide table, if they were named."""
    said = how.said.get("value", "")
    pieces = dict.fromkeys(parts_of_name(said, shape.spread))
    is_said = shape.is_wide and tuple(pieces) == shape.spread
    return {"value": said} if is_said else {}


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
        selections = [one for all_of in selections for one in _tables_alike(all_of, notes)]
    if selections:
        parts = (_of_database(one, wanted, how, notes) for one in selections)
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


def _tables_alike(selection: Selection, notes: Notes) -> list[Selection]:
    """The tables of a database, or the one that is named; without those that tell of it.

    These share no column with any other table, while at least two others do.
    """
    tables = tables_of(selection)
    columns = {table.name: set(column_names(table)) for table in tables} if len(tables) > 2 else {}
    shares = {
        name: any(own & other for n, other in columns.items() if n != name)
        for name, own in columns.items()
    }
    left_out = [table.table or "" for table in tables if not shares.get(table.name, True)]
    if not left_out or not any(shares.values()):
        return tables
    notes.append(f"tables that share no column with others are left out: {listed(left_out)}")
    return [table for table in tables if shares[table.name]]


def _together(origins: Sequence[str]) -> str:
    """What messages call all that was handed over."""
    return origins[0] + (f" and {len(origins) - 1} more" if len(origins) > 1 else "")


def _of_database(selection: Selection, wanted: Sequence[str], how: HowToRead, notes: Notes) -> Part:
    """The rows of a table or query; only the columns that are wanted, where that can be told."""
    name = selection.name
    found = column_names(selection)
    how = with_whole_fact(found, wanted, how, name, [])  # which is told when rows are read
    if any(parts_of_name(one, found) for one in how.said.values()):
        rows = StreamedRows.of(selection)
    else:
        chosen = recognised(found, wanted, given=how.columns, likely=how.likely, origin=name)
        is_long = how.wide is None and not lacking_parts(chosen, wanted)
        rows = StreamedRows.of(selection, chosen.values() if is_long else None)
        left = [one for one in found if is_long and one not in chosen.values()]
        notes += [like_note(one, part) for one in left if (part := column_like(one))]
    own = selection.table if how.source_from == "table" else None
    return Part(rows, name, name=own or "")


def _are_paths(data: object) -> bool:
    """Whether it is a path, or a list of them."""
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, str | os.PathLike) for one in data)
    return isinstance(data, str | os.PathLike)


def _origins(data: Any) -> list[str]:
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
    part, inside = _opened_out(part, wanted, how)
    before = part.rows.collect_schema()
    part, how = _with_joined(part, wanted, how, notes)
    found = part.rows.collect_schema()
    how = _with_lists(found, wanted, how, part.origin)
    joined = {name: before[name] for name in before.names() if name not in found}
    asked = asked_columns(found.names()) if "source" not in wanted else {}
    names = [name for name in found.names() if name not in asked.values()]
    table = Seen(part.origin, names, wanted, partial(_sample, part), inside, _place(part))
    try:
        shape = shape_of(table, how, notes)
    except MissingColumn:
        if wide is None:
            raise
        shape = shape_of(table, replace(how, wide=wide), notes)
    for own, name in (*shape.keys.items(), *((shape.of_cells, name) for name in shape.spread)):
        can_be_apart = own == "value" and (shape.is_wide or isinstance(part.rows, pl.LazyFrame))
        if not can_be_apart or not is_list(found[name]):
            require_plain(part.origin, own, name, found[name])
    for own, name in shape.keys.items():
        if name not in (own, how.columns.get(own), how.likely.get(own)):
            notes.append(f"column '{name}' is taken as the {own}")
    if not shape.is_wide:
        part, found = _listed_apart(part, shape.keys.get("value"), notes)
        kept = [plain(name, found[name]).alias(own) for own, name in shape.keys.items()]
        kept += [asked_as_one(asked, found)] if asked else []
        return Chosen(_at_hand(part, part.rows.select(kept)), shape, types_read_again(joined))
    names = [*shape.keys.values(), *shape.spread]
    whole = _at_hand(part, part.rows.select(map(pl.col, names)))
    dtypes = pl.Schema({name: found[name] for name in names})
    in_order = [
        pl.col(own) for own in wanted if own in (*shape.keys, shape.of_names, shape.of_cells)
    ]
    claims = Unpivoted(whole, shape, dtypes).select(in_order)
    spread = {name: found[name] for name in shape.spread if shape.of_names == "attribute"}
    return Chosen(part._replace(rows=claims), shape, types_read_again({**joined, **spread}))


def _place(part: Part) -> str | None:
    """What of a part may name its source."""
    if isinstance(part.rows, StreamedRows):
        return "table"
    return part.place


def _opened_out(part: Part, wanted: Sequence[str], how: HowToRead) -> tuple[Part, list[str]]:
    """The part with columns for what is named within others, and the names of what is within.

    Columns that hold objects are left out, unless they play a part by their names.
    """
    schema = part.rows.collect_schema()
    inside = inner_names(schema)
    said = [piece for name in how.columns.values() for piece in (name, *name.split(JOINED))]
    part = with_inner(part, said)
    schema = part.rows.collect_schema()
    nested = [n for n, dtype in schema.items() if dtype.is_nested() and not is_list(dtype)]
    told = recognised(nested, wanted, given={}, likely=how.likely, origin=part.origin)
    kept = {*said, *told.values()}
    left = [name for name in schema if name not in nested or name in kept]
    if len(left) == len(schema):
        return part, inside
    return part._replace(rows=part.rows.select(map(pl.col, left))), inside


def _with_lists(found: pl.Schema, wanted: Sequence[str], how: HowToRead, origin: str) -> HowToRead:
    """A column of lists that is called as several values are is the value, if no other is."""
    names = found.names()
    lists = [n for n in names if is_list(found[n]) and simple_name(n) in NAMES_OF_LISTS]
    if "value" not in wanted or "value" in how.said or how.wide is not None or len(lists) != 1:
        return how
    is_told = "value" in recognised(names, ["value"], given={}, origin=origin)
    return how if is_told else replace(how, likely={**how.likely, "value": lists[0]})


def _listed_apart(part: Part, name: str | None, notes: list[str]) -> tuple[Part, pl.Schema]:
    """The part with a row for each value of a list, and its schema then."""
    schema = part.rows.collect_schema()
    if name is None or not is_list(schema[name]) or not isinstance(part.rows, pl.LazyFrame):
        return part, schema
    notes.append(f"column '{in_short(name)}' holds lists: each value in one is a claim")
    part = part._replace(rows=part.rows.explode(name))
    return part, part.rows.collect_schema()


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
    how = with_whole_fact(found, wanted, how, part.origin, notes)
    for name in how.said_of_keys:
        if pieces := parts_of_name(name, found):
            others = [pl.col(own) for own in found if own not in pieces]
            together = text_together({own: schema[own] for own in pieces}).alias(name)
            part = part._replace(rows=part.rows.select([together, *others]))
            schema = part.rows.collect_schema()
            found = schema.names()
    return part, how


class Chosen(NamedTuple):
    """A part with the wanted columns only, and what they were found to be."""

    part: Part
    shape: Shape
    types: dict[str, str]
    """Of the columns whose values may become text beside others."""


def _sample(part: Part) -> pl.DataFrame:
    """The first rows, with lists as text, and nothing of what holds more than that."""
    if not isinstance(part.rows, pl.LazyFrame):
        return next(part.rows.batches()).head(SAMPLE)
    rows = part.rows.head(SAMPLE).collect()
    lists = [name for name, dtype in rows.schema.items() if is_list(dtype)]
    others = [n for n, dtype in rows.schema.items() if dtype.is_nested() and n not in lists]
    texts = pl.col(lists).cast(pl.List(pl.String)).list.join(BETWEEN)
    return rows.with_columns(texts, *(pl.lit(None).alias(name) for name in others))


def _at_hand(part: Part, rows: pl.LazyFrame | BatchedRows) -> Part:
    """The part with these rows; those of a frame are taken now, to tell what is wrong with them."""
    if part.path is None and isinstance(rows, pl.LazyFrame):
        rows = rows.collect().lazy()
    return part._replace(rows=rows)


def require_plain(origin: str, part: str, name: str, dtype: pl.DataType) -> None:
    """Refuse columns that hold no plain values."""
    if dtype.is_nested() or dtype == pl.Object or isinstance(dtype, OF_OTHERS):
        mend = "turn it into text or numbers first"
        inner = inner_names(pl.Schema({name: dtype}))
        if inner:
            mend = f"name what is in it: {listed(inner)}"
        elif isinstance(dtype, pl.List | pl.Array):
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
