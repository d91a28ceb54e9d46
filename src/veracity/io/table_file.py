"""One table as one file, in the format of its ending: whole or not at all.

Such files are for people and for other programs. Texts that a spreadsheet would run as formulas are
escaped: see `guarded`.
"""

from __future__ import annotations

import glob
import importlib
import io
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from veracity.errors import OutputError
from veracity.extras import how_to_get
from veracity.io.atomic import atomic_file, check_file
from veracity.io.lazy import LazyTable
from veracity.naming import rendered

ENDINGS = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson", ".xlsx")
"""The formats that a table can be written in."""

OTHER_FILES = (".gz", ".zip", ".zst", ".xls", ".ods", ".txt", ".arrow", ".feather", ".ipc", ".orc",
               ".html", ".db", ".sqlite", ".duckdb", ".pkl", ".xml")  # fmt: skip
"""Endings of files that are not written, and that no folder is meant to have."""

FORMULA = r"^'*[=+\-@\t\r\x00\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""Beginning of a text that a spreadsheet may take for a formula, or of one that was guarded; the
last four are full-width signs, which Excel takes for the others."""

NO_FORMULA = (
    r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?%?$|^[+-]+$|^\+[0-9]{1,4}( [0-9]{1,8})+$"
)
"""Plain numbers, mere signs and telephone numbers (+41 44 706 79 26), which stay as they are."""

LIST_SEPARATOR = " | "
"""Separator of several values in one cell."""

FIRST_DAY = date(1900, 3, 1)
"""First day that Excel counts right: it wrongly takes 1900 for a leap year."""

MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 1_048_575, 16_384, 32_767
"""Limits of a sheet of Excel, without its header."""


def is_table_file(target: Path) -> bool:
    """Return True if a path names a file that a table can be written to, and no folder.

    >>> is_table_file(Path("truths.CSV")), is_table_file(Path("run"))
    (True, False)
    """
    ending = target.suffix.lower()
    if ending in OTHER_FILES:
        raise OutputError(
            f"{target}: tables are not written as {ending}; choose one of {', '.join(ENDINGS)}, or "
            "name a folder"
        )
    return ending in ENDINGS


def check_table_file(target: Path, *, force: bool, inputs: Iterable[object] = ()) -> None:
    """Raise an error if a file cannot be written, or would replace a file that must not be lost.

    With `force`, a file is replaced; a folder never is, nor are the files that are read.
    """
    if target.suffix.lower() not in ENDINGS:
        raise OutputError(f"{target}: its ending is none of {', '.join(ENDINGS)}")
    if any(_is_read(target, given) for given in inputs):
        raise OutputError(f"{target} is, or would be, one of the input files; choose another place")
    check_file(target, force=force)
    if target.suffix.lower() == ".xlsx":
        _excel()


def _is_read(target: Path, given: object) -> bool:
    """Return True if a file is read: by its own name, or as one of a folder or glob."""
    if not isinstance(given, str | Path):
        return False
    try:
        if Path(given).is_dir():
            return target.resolve().is_relative_to(Path(given).resolve())
        is_glob = glob.has_magic(str(given))
        files = glob.glob(str(given)) if is_glob else [given]  # noqa: PTH207 - may be absolute
        return target.exists() and any(target.samefile(file) for file in files)
    except (OSError, ValueError):  # an address of a database
        return False


def write_table(
    table: pl.DataFrame | LazyTable,
    target: Path,
    *,
    force: bool = False,
    change: Callable[[pl.DataFrame], pl.DataFrame] = lambda table: table,
) -> int:
    """Write a table; return the number of texts that were guarded against being run as formulas.

    A lazy table is written chunk by chunk if the format allows; `change` is applied to each chunk.
    """
    check_table_file(target, force=force)
    ending = target.suffix.lower()
    with atomic_file(target) as unfinished:
        if ending == ".parquet":
            _lazy(table, change).scan().sink_parquet(unfinished, maintain_order=True)
            return 0
        if ending in (".jsonl", ".ndjson"):
            plain = _lazy(table, lambda chunk: _plain(change(chunk)))
            plain.scan().sink_ndjson(unfinished, maintain_order=True)
            return 0
        if ending in (".csv", ".tsv"):
            return _write_text(table, unfinished, change, "," if ending == ".csv" else "\t")
        whole = change(table.collect() if isinstance(table, LazyTable) else table)
        if ending == ".xlsx":
            _write_excel(_plain(whole, keep_lists=False, keep_dates=True), unfinished, target)
        else:
            # Polars would not tell of what its own buffer could not write at the end.
            unfinished.write_bytes(_plain(whole).write_json().encode())
        return 0


def _lazy(
    table: pl.DataFrame | LazyTable, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> LazyTable:
    if isinstance(table, LazyTable):
        return table.changed(change)
    return LazyTable("table", lambda _: change(table), 1, len(table))


def _write_text(
    table: pl.DataFrame | LazyTable,
    unfinished: Path,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    separator: str,
) -> int:
    n_guarded = 0

    def safe(chunk: pl.DataFrame) -> pl.DataFrame:
        nonlocal n_guarded
        chunk = _plain(change(chunk), keep_lists=False)
        guard = guarded(chunk)
        n_guarded += sum(int((guard[name] != chunk[name]).sum()) for name in chunk.columns)
        names = guarded(pl.DataFrame({"name": chunk.columns}))["name"]
        return guard.rename(dict(zip(chunk.columns, names, strict=True)))

    chunks = _lazy(table, safe)
    with unfinished.open("wb") as file:
        for number, chunk in enumerate(chunks.chunks()):
            chunk.write_csv(file, separator=separator, include_header=number == 0)
    return n_guarded


# --- cells ----------------------------------------------------------------------------------------


def guarded(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before texts that a spreadsheet would run as a formula.

    >>> guarded(pl.DataFrame({"value": ["=1+1", "-5", "'@x", "a=b"]}))["value"].to_list()
    ["'=1+1", '-5', "''@x", 'a=b']
    """
    text = pl.col(pl.String)
    is_formula = text.str.contains(FORMULA) & ~text.str.contains(NO_FORMULA)
    return table.with_columns(pl.when(is_formula).then("'" + text).otherwise(text).name.keep())


def unguarded(table: pl.DataFrame) -> pl.DataFrame:
    """Return the texts as they were before `guarded`.

    >>> unguarded(pl.DataFrame({"value": ["'=1+1", "-5", "''@x", "'n"]}))["value"].to_list()
    ['=1+1', '-5', "'@x", "'n"]
    """
    text = pl.col(pl.String)
    is_guarded = text.str.starts_with("'") & text.str.contains(FORMULA)
    return table.with_columns(
        pl.when(is_guarded).then(text.str.slice(1)).otherwise(text).name.keep()
    )


def _plain(
    table: pl.DataFrame, *, keep_lists: bool = True, keep_dates: bool = False
) -> pl.DataFrame:
    """Turn all columns into text, except numbers and Booleans, and dates if `keep_dates`."""
    cells = []
    for name, dtype in table.schema.items():
        if isinstance(dtype, pl.List):
            text = _list_of_texts(name, dtype)
            cells.append(text if keep_lists else text.list.join(LIST_SEPARATOR))
        elif dtype.is_float():
            number = pl.col(name).fill_nan(None)
            as_text = table[name].is_infinite().any()  # neither JSON nor Excel has an infinity
            cells.append(rendered(number, dtype).alias(name) if as_text else number)
        elif keep_dates and dtype == pl.Date and (table[name] >= FIRST_DAY).all():
            continue
        elif not (dtype.is_integer() or dtype == pl.Boolean):
            cells.append(rendered(pl.col(name), dtype).alias(name))
    return table.with_columns(cells)


def without_lists(table: pl.DataFrame) -> pl.DataFrame:
    """Join the values of each list into one text."""
    return table.with_columns(
        _list_of_texts(name, dtype).list.join(LIST_SEPARATOR)
        for name, dtype in table.schema.items()
        if isinstance(dtype, pl.List)
    )


def _list_of_texts(name: str, dtype: pl.List) -> pl.Expr:
    return pl.col(name).list.eval(rendered(pl.element(), dtype.inner))  # type: ignore[arg-type]


# --- Excel ----------------------------------------------------------------------------------------


def _excel() -> Any:
    try:
        return importlib.import_module("xlsxwriter")
    except ImportError as error:
        raise OutputError(
            "Excel files are written by XlsxWriter, which is not installed: "
            f"{how_to_get('excel')}, or write .csv"
        ) from error


def _write_excel(table: pl.DataFrame, unfinished: Path, target: Path) -> None:
    """Write one sheet; texts stay texts, also if they look like formulas, addresses or numbers."""
    _check_sheet(table, target)
    never = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    # Files of its own would stay if it is stopped, and be tried again where the disk is full.
    options: dict[str, Any] = {**dict.fromkeys(never, False), "in_memory": True}
    options["default_date_format"] = "yyyy-mm-dd"
    packed = io.BytesIO()
    with _excel().Workbook(packed, options) as book:
        sheet, bold = book.add_worksheet(), book.add_format({"bold": True})
        sheet.write_row(0, 0, table.columns, bold)
        for number, column in enumerate(table):
            sheet.write_column(1, number, _exact(column).to_list())
        sheet.freeze_panes(1, 0)
        sheet.autofit()
    unfinished.write_bytes(packed.getbuffer())


def _exact(column: pl.Series) -> pl.Series:
    """Turn whole numbers that Excel would round into text: it has only floats."""
    is_long = column.dtype.is_integer() and bool((column.cast(pl.Float64).abs() >= 1e15).any())
    return column.cast(pl.String) if is_long else column


def _check_sheet(table: pl.DataFrame, target: Path) -> None:
    advice = "write .csv or .parquet"
    if len(table) > MOST_ROWS or table.width > MOST_COLUMNS:
        raise OutputError(
            f"{target}: {len(table):,} rows and {table.width:,} columns are more than a sheet of "
            f"Excel holds ({MOST_ROWS:,} and {MOST_COLUMNS:,}); {advice}"
        )
    for name, dtype in table.schema.items():
        longest = table[name].str.len_chars().max() if dtype == pl.String else 0
        if isinstance(longest, int) and longest > LONGEST_CELL:
            raise OutputError(
                f"{target}: a text in column '{name}' has {longest:,} characters, more than a cell "
                f"of Excel holds ({LONGEST_CELL:,}); {advice}"
            )
