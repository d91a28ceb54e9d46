"""Files that are neither Parquet nor CSV: JSON, Arrow IPC, workbooks; and standard input."""

from __future__ import annotations

import codecs
import contextlib
import json
import logging
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl

from veracity.errors import InputError, TooLarge, UnreadableFile, first_line
from veracity.extras import how_to_get
from veracity.io.cell_units import Sheet, number_of_column, units_in
from veracity.io.header import distinct, header_at
from veracity.io.json_lines import open_json_lines
from veracity.io.memory import free_memory, require_memory
from veracity.io.noting import FileNote, Notes
from veracity.io.spill import TempFolder, disk_errors
from veracity.io.text_file import is_longer, is_packed, unpacked
from veracity.io.totals import MOST_TOTALS, n_totals, totals_note
from veracity.io.uneven import in_even_lines
from veracity.printing import counted, in_short

JSON_SUFFIXES = (".json", ".json.gz")
LINES_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
WORKBOOK_SUFFIXES = (".xlsx", ".xlsm", ".xls")
OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
OTHER_SUFFIXES = (*LINES_SUFFIXES, *ARROW_SUFFIXES, *WORKBOOK_SUFFIXES)
"""How such files end that are read in a folder; a JSON file there may be anything."""

STANDARD_INPUT = "-"
SPOOLED_NAME = "standard input"

JSON_FORMS = "give an array of objects, or an object in each line"
LONG_JSON = 50_000_000
"""From so many bytes on, objects in lines are read while they are encoded."""

TRUE_OR_FALSE = re.compile(rb"[:\[,]\s*(?:true|false)\b")

JSON_GROWS = 4
"""So many bytes of memory a byte of JSON takes, about."""

DEEPEST = 100
"""So many levels of lists and objects are read; for ten times as many, its reader takes minutes."""

DEEP_ENDS = re.compile(rb"(?:[\]}]\s*){%d}" % DEEPEST)

BROKEN_ARCHIVE = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError,
    UnicodeDecodeError,
)  # fmt: skip
"""What Python raises of an archive that is damaged, or packed in a way that it does not know."""

BYTES_PER_CELL = 32
"""What a cell takes in the reader of workbooks, also one that is empty."""

COVER = 0.1
"""A sheet that has less than this share of the cells of the fullest one is no table of claims."""

CELL_NAME = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]+)([0-9]+)["']""")
AT_ANY_TIME = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
AT_MIDNIGHT = r"^(\d{4}-\d\d-\d\d) 00:00:00$"
"""How the reader of workbooks writes a time, and a day, beside cells of text."""

LAST_COLUMN, LAST_ROW = 16_384, 1_048_576
"""A sheet of Excel has no more."""

LONGEST_TAG = 1 << 16
"""So far back a tag is looked for that was not read to its end."""

_SPOOLED: list[TempFolder] = []
"""What came from standard input is kept until Python ends: it cannot be read again."""


def open_other(path: Path) -> pl.LazyFrame | None:
    """The rows of a JSON or Arrow file, lazily where that is possible; None if it is neither."""
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"ARROW1"):
        return pl.scan_ipc(path, glob=False, hive_partitioning=False)
    if head.startswith(b"\xff\xff\xff\xff") and path.name.lower().endswith(ARROW_SUFFIXES):
        return pl.read_ipc_stream(path).lazy()
    if head.startswith(b"FEA1"):
        raise UnreadableFile(f"{path}: Feather of version 1 is not read; write it again as Arrow")
    if path.name.lower().endswith((*JSON_SUFFIXES, *LINES_SUFFIXES)) or _is_json(head):
        return _open_json(path)
    return None


def _is_json(head: bytes) -> bool:
    """Whether a file of another ending begins as JSON does, with an object or an array of them."""
    begin = b"".join(head.removeprefix(b"\xef\xbb\xbf").split())
    return begin.startswith((b'[{"', b'{"'))


def _open_json(path: Path) -> pl.LazyFrame:
    """An array of objects, or an object in each line."""
    try:
        packed = is_packed(path)
        with unpacked(path) as text:
            head = text.read(1 << 20).removeprefix(codecs.BOM_UTF8)
        if DEEP_ENDS.search(head):
            raise UnreadableFile(
                f"{path}: more than {DEEPEST} levels within each other are not read"
            )
        begin = head.lstrip()[:1]
        if begin not in (b"[", b"{"):
            raise UnreadableFile(f"{path}: no JSON: {JSON_FORMS}")
        is_long = not packed and is_longer(path, LONG_JSON)
        if begin == b"{" and is_long:
            with contextlib.suppress(pl.exceptions.ComputeError):  # one object over many lines
                return _rows_within(path, open_json_lines(path))
        return _rows_within(path, _read_json(path).lazy())
    except (pl.exceptions.PolarsError, EOFError, OSError, RecursionError, zlib.error) as error:
        wrong = _wrong_line(path)
        if wrong is not None:
            raise UnreadableFile(f"{path}: {wrong}; mend or remove the line") from error
        raise UnreadableFile(
            f"{path}: no JSON that can be read ({first_line(error)}); {JSON_FORMS}"
        ) from error


def _wrong_line(path: Path) -> str | None:
    """Which line is no JSON, of a file that begins with an object in its first line."""
    unreadable = (EOFError, OSError, UnicodeError, RecursionError, zlib.error)
    with contextlib.suppress(*unreadable), unpacked(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                json.loads(line.removeprefix(codecs.BOM_UTF8).strip() or b"0")
            except json.JSONDecodeError as error:
                told = f"line {number} is no JSON ({error.msg}, at column {error.colno})"
                return told if number > 1 else None
    return None


def _read_json(path: Path) -> pl.DataFrame:
    """The rows of a file at once; fields of several types are made one."""
    free = free_memory()
    if free is not None and is_longer(path, free // JSON_GROWS):
        raise TooLarge(
            f"{path}: its rows need more than the {free / 1e9:,.1f} GB of memory that are free; "
            "write it as Parquet, or as an object in each line that is not packed"
        )
    with unpacked(path) as file:
        content = file.read().removeprefix(codecs.BOM_UTF8)
    rows = _read_if_even(content)
    if rows is None:
        even = in_even_lines(content)
        rows = _table_of_json(content if even is None else even)  # raises, if it is no JSON
    return rows


def _read_if_even(content: bytes) -> pl.DataFrame | None:
    """The rows, unless a field may be of several types.

    Then Polars fails, takes lists for text, or takes true in an array for the number 1.
    """
    try:
        rows = _table_of_json(content)
    except pl.exceptions.PolarsError:
        return None
    are_within = rows.width == 1 and isinstance(rows.dtypes[0], pl.List)
    if (are_within or content.lstrip()[:1] == b"[") and TRUE_OR_FALSE.search(content):
        return None
    texts = rows.select(pl.col(pl.String).str.contains(r"^[\[{]").any())
    return None if texts.width and any(texts.row(0)) else rows


def _table_of_json(content: bytes) -> pl.DataFrame:
    """An object in each line, an array of objects, or a single object."""
    if content.lstrip()[:1] == b"{":
        with contextlib.suppress(pl.exceptions.ComputeError):  # one object over many lines
            return pl.read_ndjson(content, infer_schema_length=None)
    return pl.read_json(content, infer_schema_length=None)


def _rows_within(path: Path, rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows, which may be the only thing within an object; of two arrays, both are columns."""
    schema = rows.collect_schema()
    name, dtype = next(iter(schema.items()), ("", None))
    if len(schema) != 1 or not isinstance(dtype, pl.List):
        return rows
    if isinstance(dtype.inner, pl.Struct):
        return rows.explode(name).unnest(name)
    raise UnreadableFile(f"{path}: an object whose '{in_short(name)}' has no rows; {JSON_FORMS}")


# --- workbooks ------------------------------------------------------------------------------------


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook of Excel, whatever it is called."""
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(OLD_WORKBOOK):
        return True
    if not head.startswith(b"PK\x03\x04"):
        return False
    with contextlib.suppress(*BROKEN_ARCHIVE), zipfile.ZipFile(path) as archive:
        return any(name.startswith("xl/") for name in archive.namelist())
    return path.name.lower().endswith(WORKBOOK_SUFFIXES)


def open_workbook(
    path: Path, sheet: str | None, notes: Notes, *, each: bool
) -> tuple[dict[str, Sheet], int]:
    """The sheet of a workbook that is named, else the first table; or each sheet that has rows.

    Besides, how many sheets there are that could have been read.
    """
    _check_size(path)
    with _quiet():
        try:
            sheets: dict[str, Any] = pl.read_excel(
                path, sheet_id=0, has_header=False, infer_schema_length=0,
                raise_if_empty=False, drop_empty_rows=False,
            )  # fmt: skip
        except ModuleNotFoundError as error:
            raise InputError(
                f"{path}: reading workbooks needs fastexcel: {how_to_get('excel')}"
            ) from error
        except Exception as error:  # the reader has errors of its own, and no name for all
            raise _unreadable(path, error) from error
        if sheet is not None and sheet not in sheets:
            there = ", ".join(f"'{name}'" for name in sheets)
            raise UnreadableFile(f"{path}: there is no sheet '{sheet}'; there are {there}")
        filled = [name for name, cells in sheets.items() if len(cells) > 1]
        names = [sheet] if sheet is not None else filled
        if not names:
            raise UnreadableFile(f"{path}: no sheet of this workbook has a header and rows")
        if each and sheet is None:
            names = _alike(path, {name: sheets[name] for name in names}, notes)
        elif not each:
            names = [_first_table(path, {name: sheets[name] for name in names}, notes)]
        return {name: _sheet(path, name, sheets[name], notes) for name in names}, len(filled)


def _alike(path: Path, sheets: dict[str, pl.DataFrame], notes: Notes) -> list[str]:
    """The sheets but those that tell of the workbook: small ones without a column of the fullest.

    That one has to share columns with another: else nothing tells what a table is.
    """
    n_cells = {name: sum(cells.count().row(0)) for name, cells in sheets.items()}
    fullest = max(n_cells, key=lambda name: n_cells[name])
    columns = {name: set(_header(cells)[1]) - {""} for name, cells in sheets.items()}
    others = [name for name in sheets if columns[name].isdisjoint(columns[fullest])]
    left_out = [name for name in others if 2 * n_cells[name] < n_cells[fullest]]
    if not left_out or len(sheets) - len(others) < 2:
        return list(sheets)
    is_one = len(left_out) == 1
    named = ", ".join(f"'{in_short(name)}'" for name in left_out[:12])
    notes.append(
        f"{path.name}: {'sheet' if is_one else 'sheets'} {named} "
        f"{'is left out: it has' if is_one else 'are left out: they have'} none of the columns of "
        f"'{in_short(fullest)}'"
    )
    return [name for name in sheets if name not in left_out]


def _header(cells: pl.DataFrame) -> tuple[int, list[str], bool]:
    """Which row of a sheet names its columns, these names, and whether others stand above it."""
    first = [[(cell or "").strip() for cell in row] for row in cells.head(40).rows()]
    filled = [place for place, row in enumerate(first) if any(row)]
    if not filled:
        return 0, first[0] if first else [], False
    header = filled[header_at([first[place] for place in filled])]
    return header, first[header], header > filled[0]


def _unreadable(path: Path, error: Exception) -> UnreadableFile:
    return UnreadableFile(f"{path}: this workbook cannot be read ({first_line(error)})")


def _first_table(path: Path, sheets: dict[str, pl.DataFrame], notes: Notes) -> str:
    """The first sheet that is no cover: one with hardly any cells beside those of another."""
    n_cells = {name: sum(cells.count().row(0)) for name, cells in sheets.items()}
    fewest = COVER * max(n_cells.values())
    first = next(name for name in sheets if n_cells[name] >= fewest)
    others = [name for name in sheets if name != first]
    if others:
        more = counted(len(others), "more is", "more are")
        notes.append(
            f"{path.name}: sheet '{in_short(first)}' is read, and {more} not; say "
            f"{path.name}#{in_short(others[0])} for another, or --source-from sheet if each is a "
            "source"
        )
    return first


def _check_size(path: Path) -> None:
    """Refuse a workbook that memory cannot hold, before its reader makes room for it.

    That makes room for all cells between the first of a sheet and the last.
    """
    with path.open("rb") as file:
        if file.read(4) == OLD_WORKBOOK:  # it is no archive
            return
    try:
        _check_archive(path)
    except BROKEN_ARCHIVE as error:
        # its reader may find other parts of it, and make room for anything
        raise _unreadable(path, error) from error


def _check_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            require_memory(member.file_size, f"{path}: its sheets, unpacked,", "write it as CSV")
            if member.filename.startswith("xl/worksheets/"):
                with archive.open(member) as sheet:
                    column, row = _last_cell(path, sheet)
                room = BYTES_PER_CELL * row * number_of_column(column)
                far = f"{path}: there is a cell at {column}{row}, and the cells up to it"
                require_memory(room, far, "remove what stands far from the table")


def _last_cell(path: Path, sheet: IO[bytes]) -> tuple[str, int]:
    """The last column and the last row of a sheet that have anything."""
    columns, last_row, rest = {b"A"}, b"1", b""
    while piece := sheet.read(1 << 20):
        text = rest + piece
        for letters, digits in CELL_NAME.findall(text):
            columns.add(letters.upper())
            last_row = max(last_row, digits.lstrip(b"0"), key=_by_size)
        rest = text[max(text.rfind(b"<"), len(text) - LONGEST_TAG) :]
    column = max(columns, key=_by_size).decode()
    if len(last_row) > 7 or int(last_row) > LAST_ROW or _is_beyond(column):
        place = in_short(f"{column}{last_row.decode()}")
        raise UnreadableFile(f"{path}: a cell is called {place}, and no sheet has such a cell")
    return column, int(last_row)


def _by_size(name: bytes) -> tuple[int, bytes]:
    """By which of two columns, or of two rows, is further away."""
    return len(name), name


def _is_beyond(column: str) -> bool:
    return len(column) > 3 or number_of_column(column) > LAST_COLUMN


def _sheet(path: Path, name: str, cells: pl.DataFrame, notes: Notes) -> Sheet:
    """A sheet with the types of its columns, from its header on, and the units of its cells."""
    header, names, has_lines_above = _header(cells)
    if has_lines_above:
        notes.append(FileNote(f"{path.name}, sheet {name}", "lines above the header skipped"))
    last = cells.slice(header + 1).tail(MOST_TOTALS).rows()
    n_left_out = n_totals(last)
    how_many = {}
    if n_left_out:
        filled_last = [row for row in last if any(row)]
        notes.append(totals_note(f"{path.name}, sheet {name}", filled_last))
        first_total = filled_last[-n_left_out]
        how_many["n_rows"] = len(cells) - header - 1 - (len(last) - last.index(first_total))
    rows: pl.DataFrame = pl.read_excel(
        path, sheet_name=name, read_options={"header_row": header, **how_many},
        infer_schema_length=None, drop_empty_rows=True,
    )  # fmt: skip
    rows = _with_plain_days(rows)
    if len(names) == rows.width:
        rows.columns = distinct(names)
    last_row = header + 1 + how_many.get("n_rows", len(cells))
    is_filled = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    kept = [row for row in is_filled.arg_true() if header < row < last_row]
    unit = units_in(path, name) if len(kept) == len(rows) else {}
    with_unit = sorted({column for row, column in unit if row > header and column < rows.width})
    units = {rows.columns[n]: [unit.get((row, n)) for row in kept] for n in with_unit}
    return Sheet(rows, units)


def _with_plain_days(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, with days in columns of text written as they are in columns of days alone.

    The reader writes midnight behind them, where no cell of the column has another time.
    """
    texts = pl.col(pl.String)
    has_clock = texts.str.contains(AT_ANY_TIME) & ~texts.str.contains(AT_MIDNIGHT)
    found = rows.select(has_clock.any())
    days = [name for name in found.columns if not found[name].item()]
    return rows.with_columns(pl.col(days).str.replace(AT_MIDNIGHT, "$1"))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The reader of workbooks tells which types it falls back to; that is for nobody."""
    logger = logging.getLogger("fastexcel")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


# --- standard input -------------------------------------------------------------------------------


def spooled() -> Path:
    """What comes from standard input, as a file."""
    given = getattr(sys.stdin, "buffer", None)
    if given is None:
        raise UnreadableFile("standard input: it is closed; give a file, or pipe claims into it")
    spill = TempFolder()
    path = spill.folder / SPOOLED_NAME
    with disk_errors(spill.place), path.open("wb") as file:
        shutil.copyfileobj(given, file)
    if not path.stat().st_size:
        raise UnreadableFile("standard input: it is empty; give claims with a header")
    _SPOOLED.append(spill)
    return path
