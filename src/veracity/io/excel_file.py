"""Workbooks of Excel: their sheets as tables."""

from __future__ import annotations

import contextlib
import logging
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from veracity.errors import InputError, UnreadableFile, first_line
from veracity.extras import how_to_get
from veracity.io.memory import require_memory
from veracity.io.reader import FileNote, Notes, sharing_columns
from veracity.io.text_files import distinct, header_at
from veracity.printing import counted, in_short

WORKBOOK_SUFFIXES = (".xlsx", ".xlsm", ".xls")
OLD_WORKBOOK, ZIP = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"

BYTES_PER_CELL = 32
"""Memory that the reader takes for each cell of a sheet, up to its last one, filled or not."""

LAST_CELL = re.compile(rb'<dimension ref="(?:[A-Z]+[0-9]+:)?([A-Z]+)([0-9]+)"')

COVER = 0.1
"""Smallest number of cells of a sheet with claims, as a share of the fullest sheet."""

AT_ANY_TIME = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
AT_MIDNIGHT = r"^(\d{4}-\d\d-\d\d) 00:00:00$"
"""Formats in which the reader of workbooks writes a time, and a day, in columns with text."""


def is_workbook(path: Path, head: bytes) -> bool:
    """Return True for a workbook of Excel, whatever it is called, by its first bytes."""
    if not head.startswith(ZIP):
        return head.startswith(OLD_WORKBOOK)
    broken = (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError)
    with contextlib.suppress(*broken), zipfile.ZipFile(path) as archive:
        return any(name.startswith("xl/") for name in archive.namelist())
    return path.name.lower().endswith(WORKBOOK_SUFFIXES)


def open_workbook(
    path: Path, sheet: str | None, notes: Notes, *, each: bool
) -> tuple[dict[str, pl.DataFrame], int]:
    """Return the sheet that is named, else the first table; or each sheet that has rows.

    Also return the number of sheets that could have been read.
    """
    _require_room(path)
    with _quiet():
        try:
            sheets: dict[str, pl.DataFrame] = pl.read_excel(
                path, sheet_id=0, has_header=False, infer_schema_length=0,
                raise_if_empty=False, drop_empty_rows=False,
            )  # fmt: skip
        except ModuleNotFoundError as error:
            raise InputError(
                f"{path}: reading workbooks needs fastexcel: {how_to_get('excel')}"
            ) from error
        except Exception as error:  # the reader has errors of its own, and no name for all
            raise UnreadableFile(
                f"{path}: this workbook cannot be read ({first_line(error)})"
            ) from error
        if sheet is not None and sheet not in sheets:
            there = ", ".join(f"'{name}'" for name in sheets)
            raise UnreadableFile(f"{path}: there is no sheet '{sheet}'; there are {there}")
        filled = {name: cells for name, cells in sheets.items() if len(cells) > 1}
        if sheet is not None:
            names = [sheet]
        elif not filled:
            raise UnreadableFile(f"{path}: no sheet of this workbook has a header and rows")
        elif each:
            columns = {name: set(_header(cells)[1]) - {""} for name, cells in filled.items()}
            names = sharing_columns(columns, f"{path.name}: sheets", notes)
        else:
            names = [_first_table(path, filled, notes)]
        for letters, units in sorted(units_of_columns(path).items()):
            what = (
                f"the format of cells shows numbers of column {letters} with a unit "
                f"({', '.join(map(in_short, units[:6]))}), which is not read; write units into "
                "the cells where they differ"
            )
            notes.append(FileNote(path.name, what))
        return {name: _sheet(path, name, sheets[name], notes) for name in names}, len(filled)


def _require_room(path: Path) -> None:
    """Raise `TooLarge` for a cell far from the table: the reader would end the process."""
    with contextlib.suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/sheet"):
                with archive.open(name) as sheet:
                    last = LAST_CELL.search(sheet.read(4096))
                if last is not None:
                    letters, row = last[1].decode(), int(last[2])
                    cells = f"{path}: the cells up to {letters}{row}, the last one,"
                    advice = "remove what stands far from the table"
                    n_columns = 0
                    for letter in letters:  # A is 1, Z is 26, AA is 27
                        n_columns = 26 * n_columns + ord(letter) - 64
                    require_memory(BYTES_PER_CELL * row * n_columns, cells, advice)


def _header(cells: pl.DataFrame) -> tuple[int, list[str], bool]:
    """Return the number of the header row of a sheet, the names, and True if rows are above it."""
    first = [[(cell or "").strip() for cell in row] for row in cells.head(40).rows()]
    filled = [place for place, row in enumerate(first) if any(row)]
    if not filled:
        return 0, first[0] if first else [], False
    header = filled[header_at([first[place] for place in filled])]
    return header, first[header], header > filled[0]


def _first_table(path: Path, sheets: dict[str, pl.DataFrame], notes: Notes) -> str:
    """Return the first sheet that is no cover; a cover has far fewer cells than the others."""
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


def _sheet(path: Path, name: str, cells: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Return a sheet with the types of its columns, from its header on."""
    header, names, has_lines_above = _header(cells)
    if has_lines_above:
        notes.append(FileNote(f"{path.name}, sheet {name}", "lines above the header skipped"))
    rows: pl.DataFrame = pl.read_excel(
        path, sheet_name=name, read_options={"header_row": header}, infer_schema_length=None,
        drop_empty_rows=True,
    )  # fmt: skip
    rows = _with_plain_days(rows)
    if len(names) == rows.width:
        rows.columns = distinct(names)
    return rows


def _with_plain_days(rows: pl.DataFrame) -> pl.DataFrame:
    """Write days in columns of text as they are written in columns of days alone.

    The reader writes midnight behind them, where no cell of the column has another time.
    """
    texts = pl.col(pl.String)
    has_clock = texts.str.contains(AT_ANY_TIME) & ~texts.str.contains(AT_MIDNIGHT)
    found = rows.select(has_clock.any())
    days = [name for name in found.columns if not found[name].item()]
    return rows.with_columns(pl.col(days).str.replace(AT_MIDNIGHT, "$1"))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide which types the reader of workbooks falls back to."""
    logger = logging.getLogger("fastexcel")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


# --- units in the format of cells -----------------------------------------------------------------

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[[^\]]*\]|[_*].|(.)')
"""Parts of a format: literal text, conditions and space for a sign, the rest."""


def unit_of(code: str) -> str:
    """Return the letters that a format of cells shows next to a number.

    >>> [unit_of(code) for code in ('0.00" kg"', "#,##0 [$€-407]", "0.00", 'dd"."mm', '0,"k"')]
    ['kg', '', '', '', '']
    """
    code = code.split(";", maxsplit=1)[0]
    parts = LITERAL.findall(code)
    shown = "".join(quoted + escaped for quoted, escaped, _ in parts).strip()
    own = "".join(other for *_, other in parts)
    is_number = any(digit in own for digit in "0#?") and not re.search(r"[%/eE@]|[0#?],+$", own)
    return shown if is_number and any(map(str.isalpha, shown)) else ""


def units_of_columns(path: Path) -> dict[str, list[str]]:
    """Return the units that formats show next to numbers, by the letters of their columns."""
    from xml.etree import ElementTree as Xml  # noqa: PLC0415 - for workbooks alone

    units: dict[str, dict[str, None]] = {}
    with contextlib.suppress(Exception), zipfile.ZipFile(path) as archive:
        # The reader of the numbers has read the workbook; whatever fails here is no unit.
        styles = Xml.fromstring(archive.read("xl/styles.xml"))
        codes = {
            own.attrib["numFmtId"]: own.attrib["formatCode"] for own in styles.iter(f"{MAIN}numFmt")
        }
        styled = styles.find(f"{MAIN}cellXfs")
        unit_of_style = [unit_of(codes.get(own.get("numFmtId", ""), "")) for own in styled or ()]
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
        for name in sheets if any(unit_of_style) else ():
            with archive.open(name) as text:
                for _, own in Xml.iterparse(text):
                    is_number = own.tag == f"{MAIN}c" and len(own) and own.get("t", "n") == "n"
                    if is_number and (unit := unit_of_style[int(own.get("s", 0))]):
                        letters = own.attrib["r"].rstrip("0123456789")
                        units.setdefault(letters, {})[unit] = None
                    elif own.tag == f"{MAIN}row":
                        own.clear()
    return {letters: list(found) for letters, found in units.items()}
