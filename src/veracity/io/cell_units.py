"""Units that stand in the formats of a workbook's cells only: 500 that is shown as "500 g".

Readers of workbooks give the numbers. Where one cell of a column is shown in grams and another in
kilograms, these cannot be compared.
"""

from __future__ import annotations

import functools
import importlib
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import polars as pl

from veracity.naming import rendered
from veracity.printing import in_short

UnitOfCell = dict[tuple[int, int], str]
"""The unit of each number that is shown with one, by row and column from the first that is filled.
"""

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
TOKEN = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].|([€$£¥₹])|(.)')
"""The parts of a format: what is shown as it stands, currencies, colours and conditions, room for a
sign; and anything else, such as the place of a digit."""

IN_THOUSANDS = re.compile(r"[0#?],+(?![0#?])")
LONGEST_UNIT = 12
CELL = re.compile(r"^([A-Z]{1,3})([0-9]{1,7})$")


class Sheet(NamedTuple):
    """The rows of a sheet; and for columns with units the unit of each row, or none."""

    rows: pl.DataFrame
    units: dict[str, list[str | None]]


def unit_of(code: str) -> str:
    """The unit that a format of cells shows behind or before a number; empty if there is none.

    >>> [unit_of(code) for code in ('0.00" kg"', '#,##0 [$€-407]', "0.00", 'dd"."mm', '0,"k"')]
    ['kg', '€', '', '', '']
    """
    code = code.split(";", maxsplit=1)[0]
    tokens = TOKEN.findall(code)
    shown = "".join("".join(token[:4]) for token in tokens).strip()
    has_digits = any(token[4] in "0#?" for token in tokens if token[4])
    has_other = any(token[4] in "%/eE@" for token in tokens if token[4])  # shares, powers, text
    is_unit = 0 < len(shown) <= LONGEST_UNIT and any(c.isalpha() or c in "€$£¥₹°" for c in shown)
    is_plain = has_digits and not has_other and not IN_THOUSANDS.search(code)
    return shown if is_unit and is_plain and not re.search(r"\d", shown) else ""


def units_in(path: Path, sheet: str) -> UnitOfCell:
    """The units of the cells of a sheet; none where they cannot be told."""
    broken = (
        zipfile.BadZipFile, zlib.error, OSError, EOFError, LookupError, NotImplementedError,
        RuntimeError, SyntaxError, ValueError,
    )  # fmt: skip
    try:
        with zipfile.ZipFile(path) as archive:
            unit_of_style = _unit_of_style(archive)
            if not any(unit_of_style):
                return {}
            with archive.open(_member(archive, sheet)) as text:
                return _from_first(list(_cells(text, unit_of_style)))
    except broken:  # the reader of the numbers says what is wrong with a workbook
        return {}


def _xml() -> Any:
    """Python's reader of XML, which only workbooks with units need."""
    return importlib.import_module("xml.etree.ElementTree")


def _unit_of_style(archive: zipfile.ZipFile) -> list[str]:
    """The unit of each style that cells may have, by its number."""
    styles = _xml().fromstring(archive.read("xl/styles.xml"))
    formats = styles.iter(f"{MAIN}numFmt")
    unit = {own.attrib["numFmtId"]: unit_of(own.attrib["formatCode"]) for own in formats}
    of_cells = styles.find(f"{MAIN}cellXfs")
    return [unit.get(own.get("numFmtId", ""), "") for own in of_cells or ()]


def _member(archive: zipfile.ZipFile, sheet: str) -> str:
    """The file within a workbook that has a sheet."""
    book = _xml().fromstring(archive.read("xl/workbook.xml"))
    named = {own.attrib["name"]: own.attrib[RELATION] for own in book.iter(f"{MAIN}sheet")}
    related = _xml().fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    target = {own.attrib["Id"]: own.attrib["Target"] for own in related}[named[sheet]]
    return str(PurePosixPath("/xl") / target).lstrip("/")


def _cells(text: object, unit_of_style: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Row, column and unit of each cell that is filled."""
    for _, own in _xml().iterparse(text):
        if own.tag == f"{MAIN}row":
            own.clear()
        if own.tag != f"{MAIN}c" or len(own) == 0:
            continue
        found = CELL.match(own.attrib["r"])
        if found is None:
            raise ValueError("a cell without a place")
        row, column = int(found[2]), number_of_column(found[1])
        is_number = own.get("t", "n") == "n"
        yield row, column, unit_of_style[int(own.get("s", 0))] if is_number else ""


def number_of_column(letters: str) -> int:
    """The number of a column that is named by letters.

    >>> number_of_column("A"), number_of_column("XFD")
    (1, 16384)
    """
    return functools.reduce(lambda number, letter: 26 * number + ord(letter) - 64, letters, 0)


def _from_first(cells: list[tuple[int, int, str]]) -> UnitOfCell:
    if not cells:
        return {}
    first_row, first_column = min(cell[0] for cell in cells), min(cell[1] for cell in cells)
    return {(row - first_row, column - first_column): unit for row, column, unit in cells if unit}


def with_units(sheets: Sequence[Sheet]) -> tuple[list[pl.DataFrame], list[str]]:
    """The rows of sheets, with units in columns that have several of them; and notes on these."""
    seen: dict[str, dict[str, None]] = {}
    for sheet in sheets:
        for name, units in sheet.units.items():
            seen.setdefault(name, {}).update(dict.fromkeys(filter(None, units)))
    mixed = {name: list(units) for name, units in seen.items() if len(units) > 1}
    notes = [
        f"column '{in_short(name)}' has several units in the format of its cells "
        f"({', '.join(map(in_short, units[:6]))}): they are read with the numbers; --normalise "
        "brings them to one"
        for name, units in mixed.items()
    ]
    return [_with_own(sheet, mixed) for sheet in sheets], notes


def _with_own(sheet: Sheet, mixed: dict[str, list[str]]) -> pl.DataFrame:
    rows = sheet.rows
    for name in mixed.keys() & sheet.units.keys():
        number = rows.select(rendered(pl.col(name), rows.schema[name])).to_series()
        unit = pl.Series(sheet.units[name], dtype=pl.String)
        rows = rows.with_columns((number + (" " + unit).fill_null("")).alias(name))
    return rows
