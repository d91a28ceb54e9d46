"""Turn paths, frames and databases into tables that can be read."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from veracity.errors import ParameterError, UnreadableFile
from veracity.io.addresses import database_file, is_address, is_database_head
from veracity.io.databases import DatabaseReader, database_reader
from veracity.io.excel_file import (
    OLD_WORKBOOK,
    WORKBOOK_SUFFIXES,
    ZIP,
    is_workbook,
    open_workbook,
)
from veracity.io.frames import FrameKind, as_polars, index_of, name_of
from veracity.io.reader import (
    LazyReader,
    Notes,
    Reader,
    read_errors,
    sharing_columns,
)
from veracity.io.temp_files import TempFolder
from veracity.io.text_files import JSON_SUFFIXES, LINES_SUFFIXES, is_json, open_csv, open_json

PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
OTHER_SUFFIXES = (*LINES_SUFFIXES, *ARROW_SUFFIXES, *WORKBOOK_SUFFIXES)
TABLE_SUFFIXES = (*PARQUET_SUFFIXES, *TEXT_SUFFIXES, *OTHER_SUFFIXES)
"""Endings of files that are read in a folder; a JSON file there may be anything."""

NAME_SUFFIXES = sorted((*TABLE_SUFFIXES, *JSON_SUFFIXES), key=len, reverse=True)

RESULT_FILES = ("run.json", "truths.parquet")
"""Files by which the folder of a result is recognised."""

STANDARD_INPUT, STANDARD_INPUT_FILE = "-", "standard input"

_SPOOLED: list[TempFolder] = []
"""Copies of standard input, which cannot be read again; they exist until Python ends."""


def open_tables(
    data: Any, encoding: str, source_from: str | None, notes: Notes
) -> tuple[str, FrameKind, Iterator[Reader]]:
    """Return the name of the data in messages, their kind, and a reader for each table."""
    databases = _databases(data, with_files=source_from == "table")
    if databases:
        if source_from == "table":
            databases = [table for own in databases for table in _tables_alike(own, notes)]
        return _together([own.origin for own in databases]), "polars", iter(databases)
    if source_from == "table":
        raise ParameterError(
            "source_from='table' is for tables of a database, and this is none; files have "
            "'filename', and workbooks 'sheet'"
        )
    if not is_paths(data):
        name = name_of(data)
        with read_errors(name):
            rows, kind = as_polars(data)
        return name, kind, iter([LazyReader(rows, name, levels=index_of(data))])
    origins = list(map(os.fspath, data if isinstance(data, list | tuple) else [data]))
    names = [STANDARD_INPUT_FILE if one == STANDARD_INPUT else one for one in origins]
    return _together(names), "polars", _open_files(origins, encoding, source_from, notes)


def is_paths(data: object) -> bool:
    """Return True for a path, or a list of them."""
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, str | os.PathLike) for one in data)
    return isinstance(data, str | os.PathLike)


def _together(origins: Sequence[str]) -> str:
    return origins[0] + (f" and {len(origins) - 1} more" if len(origins) > 1 else "")


# --- databases ------------------------------------------------------------------------------------


def _databases(data: object, *, with_files: bool) -> list[DatabaseReader]:
    """Return readers of a database, or of each in a list; none for other data."""
    given = data if isinstance(data, list | tuple) else [data]
    found = []
    for one in given:
        is_file = with_files and isinstance(one, str | os.PathLike) and database_file(one)
        if is_file or (isinstance(one, str) and "://" in one and is_address(one)):
            found.append(database_reader(one))
        elif isinstance(one, DatabaseReader):
            found.append(one)
    return found if len(found) == len(given) else []


def _tables_alike(database: DatabaseReader, notes: Notes) -> list[DatabaseReader]:
    """Return the tables of a database, or the named one; each table's name is that of a source."""
    tables = {own.table or "": own for own in database.tables()}
    kept = sharing_columns({name: set(own.names) for name, own in tables.items()}, "tables", notes)
    return [replace(own, label=name) for name, own in tables.items() if name in kept]


# --- files ----------------------------------------------------------------------------------------


def _open_files(
    origins: Sequence[str], encoding: str, source_from: str | None, notes: Notes
) -> Iterator[Reader]:
    """Yield a reader for each file or sheet of the paths."""
    places = [place for origin in origins for place in _places(origin)]
    labels = _labels([path for path, _ in places])
    for (path, sheet), label in zip(places, labels, strict=True):
        with read_errors(path):
            with path.open("rb") as file:
                head = file.read(64)
            if head.startswith((ZIP, OLD_WORKBOOK)) and is_workbook(path, head):
                yield from _sheets(path, sheet, notes, label, each=source_from == "sheet")
            elif source_from == "sheet":
                raise ParameterError(f"{path}: source_from='sheet' is for workbooks; this is none")
            else:
                yield _open_file(path, head, encoding, notes, label)


def _places(origin: str) -> list[tuple[Path, str | None]]:
    """Return the files of a path, and the name of the sheet after a ``#``."""
    if origin == STANDARD_INPUT:
        return [(_spooled(), None)]
    book, _, sheet = origin.rpartition("#")
    if sheet and book.lower().endswith(WORKBOOK_SUFFIXES) and not Path(origin).exists():
        return [(path, sheet) for path in paths_of(book)]
    return [(path, None) for path in paths_of(origin)]


def paths_of(origin: str) -> list[Path]:
    """Return the files of a path, a folder or a glob, in sorted order."""
    try:
        origin.encode()
    except UnicodeEncodeError:
        raise UnreadableFile(f"{origin!r}: this name is no Unicode; rename the file") from None
    path = Path(origin or "''")  # an empty name is no folder, though Path takes it for this one
    with read_errors(path):
        if path.is_file():
            return [path]
        if path.is_dir():
            if _is_result(path):
                raise UnreadableFile(
                    f"{path}: this is a result that veracity wrote, and no claims; give the claims "
                    f"it was made from, or look at it: veracity report {path}"
                )
            paths, hint = _tables_in(path), "no table is in this folder"
        elif glob.has_magic(origin):
            matches = map(Path, glob.glob(origin, recursive=True))  # noqa: PTH207 - Path's are weaker
            paths, hint = [match for match in matches if match.is_file()], "no file matches"
        else:
            paths, hint = [], "this is no file" if path.exists() else "there is no such file"
    if not paths:
        raise UnreadableFile(f"{path}: {hint}; check the path")
    return sorted(paths)


def _is_result(folder: Path) -> bool:
    return all((folder / name).is_file() for name in RESULT_FILES)


def _tables_in(folder: Path) -> list[Path]:
    """Return the tables in a folder and below, but for names that begin with a dot or underline."""
    return [
        path
        for path in folder.rglob("*")
        if path.name.lower().endswith(TABLE_SUFFIXES)
        and path.is_file()
        and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
        and not _is_result(path.parent)
        and not _is_result(path.parent.parent)  # files of a run have a folder in it
    ]


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return the names of files without endings; where two are the same, with their folders."""
    names = [_without_endings(path.name) for path in paths]
    if len(set(names)) == len(names):
        return names
    folder = Path(os.path.commonpath([path.parent for path in paths]))
    found = [path.parent.relative_to(folder) / _without_endings(path.name) for path in paths]
    return [path.as_posix() for path in found]


def _without_endings(name: str) -> str:
    """Return the name of a file without the endings of its format.

    >>> _without_endings("orbitz.com.csv.gz")
    'orbitz.com'
    """
    ending = next((end for end in NAME_SUFFIXES if name.lower().endswith(end)), "")
    return name[: len(name) - len(ending)] or name


def _sheets(
    path: Path, sheet: str | None, notes: Notes, label: str, *, each: bool
) -> Iterator[Reader]:
    """Yield each sheet of a workbook, or the one that is meant."""
    tables, n_sheets = open_workbook(path, sheet, notes, each=each)
    place = "sheet" if n_sheets > 1 else "filename"
    for own, rows in tables.items():
        name = own if each else label
        yield LazyReader(rows.lazy(), f"{path}, sheet {own}", name, place, path)  # type: ignore[arg-type]


def _open_file(path: Path, head: bytes, encoding: str, notes: Notes, label: str) -> Reader:
    """Return a reader of a file that is no workbook, by its first bytes."""
    ending = path.name.lower()
    if not head:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if head.startswith(b"PAR1"):
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    elif head.startswith(b"ARROW1"):
        rows = pl.scan_ipc(path, glob=False, hive_partitioning=False)
    elif head.startswith(b"\xff\xff\xff\xff") and ending.endswith(ARROW_SUFFIXES):
        rows = pl.read_ipc_stream(path).lazy()
    elif head.startswith(b"FEA1"):
        raise UnreadableFile(f"{path}: Feather of version 1 is not read; write it again as Arrow")
    elif ending.endswith((*JSON_SUFFIXES, *LINES_SUFFIXES)) or (b"{" in head and is_json(head)):
        rows = open_json(path)
    elif ending.endswith(PARQUET_SUFFIXES):
        raise UnreadableFile(f"{path}: not a Parquet file, despite its name; write it again")
    else:
        if is_database_head(head):
            _ = database_reader(path).names  # raises, and lists the tables
        return open_csv(path, encoding, notes, label)
    return LazyReader(rows, str(path), label, "filename", path)


def _spooled() -> Path:
    """Return standard input as a file."""
    given = getattr(sys.stdin, "buffer", None)
    if given is None:
        raise UnreadableFile("standard input: it is closed; give a file, or pipe claims into it")
    folder = TempFolder()
    path = folder.path / STANDARD_INPUT_FILE
    with folder.errors(), path.open("wb") as file:
        shutil.copyfileobj(given, file)
    if not path.stat().st_size:
        raise UnreadableFile("standard input: it is empty; give claims with a header")
    _SPOOLED.append(folder)
    return path
