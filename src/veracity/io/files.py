"""Files as parts of a table: lazy rows, which know where they come from."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from veracity.errors import (
    InputError,
    ParameterError,
    TooLarge,
    UnreadableFile,
    VeracityError,
    damaged,
    first_line,
)
from veracity.io.batched import BatchedRows, Incomplete, whole_batches
from veracity.io.cell_units import Sheet, with_units
from veracity.io.csv_file import plain_text, read_csv, scan_csv
from veracity.io.databases import column_names, database_file, selection_of
from veracity.io.formats import (
    JSON_SUFFIXES,
    OTHER_SUFFIXES,
    SPOOLED_NAME,
    STANDARD_INPUT,
    WORKBOOK_SUFFIXES,
    is_workbook,
    open_other,
    open_workbook,
    spooled,
)
from veracity.io.frames import FIRST_ROWS, ROWS_PER_BATCH
from veracity.io.memory import free_memory
from veracity.io.noting import Notes
from veracity.io.text_file import is_longer

PARQUET_SUFFIXES = (".parquet", ".pq")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
TABLE_SUFFIXES = (*PARQUET_SUFFIXES, *TEXT_SUFFIXES, *OTHER_SUFFIXES)
"""How the names of files end that are read in a folder."""

NAME_SUFFIXES = sorted((*TABLE_SUFFIXES, *JSON_SUFFIXES), key=len, reverse=True)

COPIES_OF_TEXT = 4
"""How often the text of a file may be in memory while it is read at once: unpacked, in a buffer
that grows to twice its size, and as a table."""

LONG_TEXT = 50_000_000
"""From so many bytes on, text in which nothing is quoted is read while it is encoded."""

LARGE_TEXT = 2_000_000_000
"""From so many bytes on, other text is read in portions, too, where that is possible at all."""


class Part(NamedTuple):
    """The wanted columns of one file, frame or database, and where they come from."""

    rows: pl.LazyFrame | BatchedRows
    origin: str
    path: Path | None = None
    name: str = ""
    """What it is called as a source, if its place names it."""
    place: Literal["filename", "sheet"] | None = None
    """Which place may name it."""
    levels: tuple[str, ...] = ()
    """The columns that are the index of a frame, if it has several levels."""


def paths_of(origin: str) -> list[Path]:
    """The files that a path, a folder or a glob stands for, in sorted order."""
    try:
        origin.encode()
    except UnicodeEncodeError:
        raise UnreadableFile(f"{origin!r}: this name is no Unicode; rename the file") from None
    path = Path(origin or "''")  # an empty name is no folder, though Path takes it for this one
    with reading_file(path):
        if path.is_file():
            return [path]
        if path.is_dir():
            _refuse_result(path)
            paths, hint = _tables_in(path), "no table is in this folder"
        elif glob.has_magic(origin):
            matches = map(Path, glob.glob(origin, recursive=True))  # noqa: PTH207 - Path's are weaker
            paths, hint = [match for match in matches if match.is_file()], "no file matches"
        else:
            paths, hint = [], "this is no file" if path.exists() else "there is no such file"
    if not paths:
        raise UnreadableFile(f"{path}: {hint}; check the path")
    return sorted(paths)


RESULT_FILES = ("run.json", "truths.parquet")
"""By these the folder of a result is known."""


def _is_result(folder: Path) -> bool:
    return all((folder / name).is_file() for name in RESULT_FILES)


def _refuse_result(folder: Path) -> None:
    if _is_result(folder):
        raise UnreadableFile(
            f"{folder}: this is a result that veracity wrote, and no claims; give the claims it "
            f"was made from, or look at it: veracity report {folder}"
        )


def _tables_in(folder: Path) -> list[Path]:
    """The tables in a folder and below; what begins with a dot or underline is not for readers."""
    return [
        path
        for path in folder.rglob("*")
        if path.name.lower().endswith(TABLE_SUFFIXES)
        and path.is_file()
        and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
        and not _is_result(path.parent)
    ]


def open_files(
    origins: Sequence[str], encoding: str, notes: Notes, source_from: str | None = None
) -> Iterator[Part]:
    """The files that paths, folders, globs and standard input stand for, one after the other.

    Each has the name of its place: that of the file, or of the sheet if `source_from` says so.
    """
    places = [place for origin in origins for place in _places(origin)]
    names = _names_of([path for path, _ in places])
    each = source_from == "sheet"
    books = dict[int, list[tuple[Part, Sheet]]]()  # all, since their columns may differ in units
    for number, ((path, sheet), name) in enumerate(zip(places, names, strict=True)):
        with reading_file(path), _from_standard_input(path):
            if path.is_file() and is_workbook(path):
                books[number] = list(_sheets(path, sheet, notes, name, each))
            elif each:
                raise ParameterError(f"{path}: source_from='sheet' is for workbooks; this is none")
    tables, on_units = with_units([sheet for book in books.values() for _, sheet in book])
    notes.extend(on_units)
    rows_of_sheet = iter(tables)
    for number, ((path, _), name) in enumerate(zip(places, names, strict=True)):
        for part, _ in books.get(number, ()):
            yield part._replace(rows=next(rows_of_sheet).lazy())
        if number not in books:
            with reading_file(path), _from_standard_input(path):
                yield Part(open_file(path, encoding, notes), str(path), path, name, "filename")


def _places(origin: str) -> list[tuple[Path, str | None]]:
    """The files that are meant, and the sheet that is named behind a ``#``."""
    if origin == STANDARD_INPUT:
        return [(spooled(), None)]
    book, _, sheet = origin.rpartition("#")
    if sheet and book.lower().endswith(WORKBOOK_SUFFIXES) and not Path(origin).exists():
        return [(path, sheet) for path in paths_of(book)]
    return [(path, None) for path in paths_of(origin)]


def _sheets(
    path: Path, sheet: str | None, notes: Notes, name: str, each: bool
) -> Iterator[tuple[Part, Sheet]]:
    """The sheets of a workbook: each of them, or the one that is meant."""
    tables, n_sheets = open_workbook(path, sheet, notes, each=each)
    place: Literal["filename", "sheet"] = "sheet" if n_sheets > 1 else "filename"
    for own, found in tables.items():
        origin = f"{path}, sheet {own}"
        yield Part(found.rows.lazy(), origin, path, own if each else name, place), found


@contextlib.contextmanager
def _from_standard_input(path: Path) -> Iterator[None]:
    """What is wrong with standard input is told of it, not of the file it was kept in."""
    try:
        yield
    except VeracityError as error:
        if path.name != SPOOLED_NAME:
            raise
        raise type(error)(str(error).replace(str(path), SPOOLED_NAME)) from error


def _names_of(paths: Sequence[Path]) -> list[str]:
    """What files are called, without endings; where two are called the same, with their folders."""
    names = [_without_endings(path.name) for path in paths]
    if len(set(names)) == len(names):
        return names
    folder = Path(os.path.commonpath([path.parent for path in paths]))
    found = [path.parent.relative_to(folder) / _without_endings(path.name) for path in paths]
    return [path.as_posix() for path in found]


def _without_endings(name: str) -> str:
    """The name of a file without those endings that say what it is.

    >>> _without_endings("orbitz.com.csv.gz")
    'orbitz.com'
    """
    ending = next((end for end in NAME_SUFFIXES if name.lower().endswith(end)), "")
    return name[: len(name) - len(ending)] or name


def open_file(path: Path, encoding: str, notes: Notes | None = None) -> pl.LazyFrame | BatchedRows:
    """The rows of a file, lazily where that is possible; what had to be found out is noted."""
    with path.open("rb") as file:
        head = file.read(4)
    if not head:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if head == b"PAR1":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    if database_file(path) is not None:
        column_names(selection_of(path))  # raises, and tells which tables there are
    other = open_other(path)
    if other is not None:
        return other
    if path.name.lower().endswith(PARQUET_SUFFIXES):
        raise UnreadableFile(f"{path}: not a Parquet file, whatever its name says; write it again")
    return _open_text(path, encoding, notes)


def _open_text(path: Path, encoding: str, notes: Notes | None) -> pl.LazyFrame | BatchedRows:
    """The rows of a CSV file: in portions if they are many, at once if that is the only way."""
    size = path.stat().st_size
    if size > LONG_TEXT and path.name != SPOOLED_NAME:
        plain = plain_text(path, encoding, notes)
        if plain is not None:
            return plain
    if size > min(LARGE_TEXT, (free_memory() or LARGE_TEXT) // 4):
        portions = scan_csv(path, encoding, notes)
        if portions is not None:
            return portions
    free = free_memory()
    if free is not None and is_longer(path, free // COPIES_OF_TEXT):
        raise TooLarge(
            f"{path}: its rows need more than the {free / 1e9:,.1f} GB of memory that are free; "
            "write it as Parquet or plain UTF-8 text first"
        )
    return read_csv(path, encoding, notes).lazy()


def batches_of(part: Part) -> Iterator[pl.DataFrame]:
    """The rows of a part, at least one batch of them; errors say where they come from."""
    if isinstance(part.rows, BatchedRows):
        yield from part.rows.batches()
        return
    with reading_part(part):
        if part.path is None:
            yield from part.rows.collect().iter_slices(ROWS_PER_BATCH)
            return
        n_batches = 0
        for batch in whole_batches(part.rows):
            n_batches += 1
            yield batch
        if not n_batches:
            yield part.rows.head(0).collect()


def n_rows_of(part: Part) -> int:
    """How many rows a part has; a Parquet file and a database tell without being read."""
    if isinstance(part.rows, BatchedRows):
        return part.rows.count()
    return int(_all_of(part, part.rows.select(pl.len())).item())


def first_rows_of(part: Part) -> pl.DataFrame:
    """Some of the first rows of a part."""
    if isinstance(part.rows, BatchedRows):
        return part.rows.first_rows(FIRST_ROWS)
    return _all_of(part, part.rows.head(FIRST_ROWS))


def has_null(part: Part, name: str) -> bool:
    """Whether a column has rows with nothing in them."""
    if isinstance(part.rows, BatchedRows):
        return any(batch[name].null_count() for batch in part.rows.batches())
    return bool(_all_of(part, part.rows.select(pl.col(name).null_count())).item())


def _all_of(part: Part, rows: pl.LazyFrame) -> pl.DataFrame:
    """What was made of the rows of a part, at once."""
    return pl.concat(batches_of(part._replace(rows=rows)))


def stamp_of(path: Path) -> tuple[int, int] | None:
    """By what it shows that a file was changed: its size and its time; None if it has none."""
    try:
        told = path.stat()
    except OSError:
        return None
    return (told.st_size, told.st_mtime_ns) if stat.S_ISREG(told.st_mode) else None


def reading_part(part: Part) -> AbstractContextManager[None]:
    """What goes wrong while a part is read is told with its name, and what to do."""
    return reading_frame(part.origin) if part.path is None else reading_file(part.path)


@contextlib.contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """What goes wrong while a file is read is told with its name, and what to do."""
    try:
        yield
    except OSError as error:
        if type(error) is OSError and error.errno is None:  # Polars met the end too early
            raise damaged(path, error) from error
        reason = error.strerror or first_line(error)
        raise UnreadableFile(
            f"{path}: cannot be read ({reason}); check the path and its permissions"
        ) from error
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        Incomplete,
    ) as error:
        raise damaged(path, error) from error


@contextlib.contextmanager
def reading_frame(name: str) -> Iterator[None]:
    """What goes wrong while a frame is read is told with its name, and what to do."""
    try:
        yield
    except VeracityError:
        raise
    except (
        ArithmeticError,
        AttributeError,  # of Polars, where some cells are members of an Enum
        OSError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        raise InputError(
            f"{name} cannot be read ({first_line(error)}); check how it is made"
        ) from error
