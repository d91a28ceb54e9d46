"""The tables in what a user hands over, each with the plan by which it is read."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from veracity.errors import ParameterError
from veracity.io.frames import FrameKind
from veracity.io.notes import Notes, merged_notes, quoted_list
from veracity.io.paths import open_tables
from veracity.io.reader import Reader, read_errors
from veracity.printing import in_short
from veracity.reading.options import ReadOptions, Wide
from veracity.reading.plan import ReadPlan, align
from veracity.reading.roles import parts_of_name, recognised
from veracity.reading.sniff import Spelling, describe_plans, sniff


class Opened(NamedTuple):
    """The tables that were handed over, with their plans, and what was found out."""

    origin: str
    frame_kind: FrameKind
    tables: list[tuple[Reader, ReadPlan]]
    notes: list[str]
    columns: dict[str, str]
    """The columns whose own names are other than the roles they play."""
    wide: Wide | None = None
    """By what the tables are wide."""
    types: Mapping[str, str] = MappingProxyType({})
    """The types of columns whose values may have become text beside others, in their order."""


def plan_tables(data: object, wanted: Sequence[str], options: ReadOptions) -> Opened:
    """Find the wanted columns in each table of what was handed over."""
    found: Notes = []
    notes: list[str] = []
    origin, frame_kind, readers = open_tables(data, options.encoding, options.source_from, found)
    columns: dict[str, str] = {}
    wide, types = options.wide, dict[str, str]()
    tables: list[tuple[Reader, ReadPlan]] = []
    inner = [role for role in wanted if role != "source" or options.source_from is None]
    spelling = Spelling(options)
    for reader in readers:
        with read_errors(reader):
            aliases = spelling.aliases(reader.names)
            plan = sniff(reader, inner, options, notes, aliases, wide)
        if len(inner) < len(wanted):
            _note_sources(reader, plan, notes)
        tables.append((reader, plan))
        for name, dtype in plan.types_before.items():
            types[name] = dtype if types.get(name, dtype) == dtype else str(pl.String())
        named = plan.named.items()
        columns = {own: n for own, n in named if n != own or own in options.carrying} | columns
        columns |= _said_together(plan, options)
        wide = plan.wide  # what is not plain in a further file is as in this one
    notes += spelling.notes
    tables = align(tables, notes)
    if options.source_from is not None and "source" in wanted:
        tables = _named_by_place(tables, options, notes)
    told = [
        *merged_notes(found),
        *describe_plans([plan for _, plan in tables], options.kind),
        *notes,
    ]
    return Opened(origin, frame_kind, tables, told, columns, wide, types)


def _said_together(plan: ReadPlan, options: ReadOptions) -> dict[str, str]:
    """Return the columns that hold the values of a wide table, if they were named."""
    said = options.said.get("value", "")
    pieces = dict.fromkeys(parts_of_name(said, plan.value_columns))
    is_said = bool(pieces) and tuple(pieces) == plan.value_columns
    return {"value": said} if is_said else {}


def _note_sources(reader: Reader, plan: ReadPlan, notes: list[str]) -> None:
    """Note a column that names sources, though files do."""
    used = (*plan.named.values(), *plan.value_columns)
    names = [plan.aliases.get(name, name) for name in reader.names]
    left = [name for name in names if name not in used]
    for name in recognised(left, ["source"], given={}, origin=reader.origin).values():
        notes.append(f"column '{in_short(name)}' is not read: source_from names the source")


def _named_by_place(
    tables: list[tuple[Reader, ReadPlan]], options: ReadOptions, notes: list[str]
) -> list[tuple[Reader, ReadPlan]]:
    """Let the names of files, sheets or tables be the sources."""
    labels = [reader.label for reader, _ in tables]
    if not all(labels):
        what = "tables that are named" if options.source_from == "table" else "files"
        raise ParameterError(
            f"{tables[0][0].origin}: source_from={options.source_from!r} is for {what}, and this "
            "is none"
        )
    place = "file" if options.source_from == "filename" else options.source_from
    notes.append(f"each {place} is a source: {quoted_list(labels)}")
    return [
        (reader, replace(plan, source=reader.label, order=("source", *plan.order)))
        for reader, plan in tables
    ]


def read_table(data: Any, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path, a database or a frame, with all its columns."""
    *_, readers = open_tables(data, encoding, None, [])
    tables = [(own, ReadPlan(columns={n: (n,) for n in own.names}, needed=tuple(own.names)))
              for own in readers]  # fmt: skip
    return pl.concat([rows for reader, plan in align(tables, []) for rows in plan.batches(reader)])


def stamp_of(path: Path | None) -> tuple[int, int] | None:
    """Return size and time of a file, by which a change shows; None if it has none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    is_file = found is not None and stat.S_ISREG(found.st_mode)
    return (found.st_size, found.st_mtime_ns) if found is not None and is_file else None
