"""Files and frames as parts of a table: lazy rows, which know where they come from."""

from __future__ import annotations

import contextlib
import glob
import importlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple

import polars as pl

from veracity.errors import (
    InputError,
    NoClaims,
    ParameterError,
    TooLarge,
    UnreadableFile,
    VeracityError,
    damaged,
    first_line,
)
from veracity.extras import how_to_get
from veracity.io.arrow_schema import check_schema
from veracity.io.batched import BatchedRows, whole_batches
from veracity.io.cell_units import Sheet, with_units
from veracity.io.cells import MOST_DIGITS, cells_that_fit, plain_cell
from veracity.io.csv_file import is_longer, plain_text, read_csv, scan_csv
from veracity.io.databases import column_names, database_file, selection_of
from veracity.io.flat_tables import NotAsWritten
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
from veracity.io.frames import FIRST_ROWS, ROWS_PER_BATCH, FrameKind, is_spark_frame
from veracity.io.memory import free_memory, require_room
from veracity.io.noting import Notes
from veracity.io.parquet_file import DamagedParquet, check_parquet, open_parquet
from veracity.io.uneven import even_rows
from veracity.printing import in_short

__all__ = [
    "OF_OTHERS",
    "TABLE_SUFFIXES",
    "TEXT_SUFFIXES",
    "Part",
    "as_polars",
    "batches_of",
    "first_rows_of",
    "has_null",
    "index_of",
    "n_rows_of",
    "name_of",
    "open_files",
    "reading_file",
    "reading_frame",
    "reading_part",
    "stamp_of",
]

BYTES_PER_ROW = 200
"""About what a row takes that another engine hands over."""

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
        check_parquet(path)
        return open_parquet(path)
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


def as_polars(data: Any) -> tuple[pl.LazyFrame, FrameKind]:  # noqa: ANN401
    """Any frame as a lazy polars frame, and the kind to give back."""
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return data.lazy(), "polars"
    if hasattr(data, "cursor") or hasattr(data, "dialect"):
        raise InputError(
            f"{name_of(data)} may have many tables; say which claims are meant with "
            "veracity.read_database(connection, query)"
        )
    if is_spark_frame(data):
        require_room(BYTES_PER_ROW * data.count(), f"{name_of(data)}: its rows, on this machine,")
        return pl.DataFrame(pl.from_arrow(data.toArrow())).lazy(), "spark"
    if isinstance(data, list | tuple | Mapping):
        return _from_dicts(data).lazy(), "polars"
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"{name_of(data)} holds no claims that can be read; give a path, a frame, a list of "
            "dictionaries, or an object with an Arrow stream"
        )
    library = type(data).__module__.split(".")[0]
    if library == "pandas":
        return _from_pandas(data).lazy(), "pandas"
    if library == "pyarrow":  # of a batch or a reader, Polars takes small decimals for others
        data = importlib.import_module("pyarrow").table(data)
        check_schema(data.schema.serialize().to_pybytes(), name_of(data))
    rows = _with_decimals_that_fit(_with_text_that_is_text(pl.DataFrame(data)))
    return rows.lazy(), "pyarrow" if library == "pyarrow" else "polars"


def _with_text_that_is_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Refuse text that is none: Polars trusts Arrow streams, and other bytes end the process."""
    return rows.with_columns(pl.col(pl.String).cast(pl.Binary).cast(pl.String))


def _with_decimals_that_fit(rows: pl.DataFrame) -> pl.DataFrame:
    """Integers of 128 bits come as decimals of more digits than those can have: then as text."""
    names = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.Decimal)]
    ends = [(name, end) for name in names for end in (rows[name].min(), rows[name].max())]
    large = {name for name, end in ends if isinstance(end, Decimal) and abs(end) >= TOO_LARGE}
    return rows.with_columns(pl.col(sorted(large)).cast(pl.String)) if large else rows


NEVER_ODD = {str, int, NoneType}
"""Types of cells that need no second look, however they are mixed."""


def _from_dicts(data: Any) -> pl.DataFrame:  # noqa: ANN401 - a list or a mapping
    """A list with a dictionary for each row, or a dictionary with a list for each column.

    Or a dictionary with a value for each item, or a list of them, as truths may be.
    """
    if not data:
        kind = "dictionary" if isinstance(data, Mapping) else "list"
        raise NoClaims(f"an empty {kind}: no rows in it")
    _refuse_tables_in(data)
    if isinstance(data, Mapping):
        if _has_items(data):
            return _from_dicts([_truth(item, value) for item, value in data.items()])
        columns = {name: _list_that_fits(column) for name, column in data.items()}
        return pl.DataFrame(columns, strict=False)
    other = next((place for place, row in enumerate(data) if not isinstance(row, Mapping)), None)
    if other is not None:
        raise InputError(
            f"{name_of(data)}: the row at {other} is of type {type(data[other]).__name__}; give a "
            "list of dictionaries, such as {'source': 'a', 'entity': 'x', 'value': 1}"
        )
    rows = [dict(row) for row in data]
    if not {type(cell) for row in rows for cell in row.values()} <= NEVER_ODD:
        rows = even_rows([{name: plain_cell(cell) for name, cell in row.items()} for row in rows])
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        fit = cells_that_fit(cells)
        if fit is not cells:
            rows = [{**row, name: cell} for row, cell in zip(rows, fit, strict=True)]
    return pl.from_dicts(rows, infer_schema_length=None, strict=False)


def _refuse_tables_in(data: Any) -> None:  # noqa: ANN401 - a list or a mapping
    """Refuse several frames, and dictionaries by name: nobody says whether sources or entities."""
    inside = list(data.values()) if isinstance(data, Mapping) else list(data)
    if any(hasattr(one, "columns") and hasattr(one, "shape") for one in inside):
        raise InputError(
            f"{name_of(data)} holds several tables; put the frames together first, with a column "
            "that names the source, e.g. pandas.concat(frames, names=['source']).reset_index(0) "
            "where frames is a dictionary by source"
        )
    if isinstance(data, Mapping) and all(isinstance(one, Mapping) for one in inside):
        raise InputError(
            f"{name_of(data)} has dictionaries in a dictionary; give a list of one dictionary per "
            "claim, such as {'source': 'a', 'entity': 'x', 'value': 1}"
        )


def _has_items(data: Mapping[Any, Any]) -> bool:
    """Whether the keys are items, and not the names of columns, one of which is called a value.

    Columns have names, and are all of one length.
    """
    if {"value", "claim"} & set(data):
        return False
    lengths = {
        len(cell) if hasattr(cell, "__len__") and not isinstance(cell, str) else None
        for cell in data.values()
    }
    return len(lengths) > 1 or None in lengths or not all(isinstance(key, str) for key in data)


def _truth(item: object, value: object) -> dict[str, object]:
    """A row of the value of an item, which is an entity, or an entity and an attribute."""
    keys = item if isinstance(item, tuple) else (item,)
    if len(keys) > 2:
        raise InputError(
            f"a dictionary of values: the key {in_short(str(item))} is neither an entity nor a "
            "pair of an entity and an attribute"
        )
    return {**dict(zip(("entity", "attribute"), keys, strict=False)), "value": value}


def _list_that_fits(column: Any) -> Any:  # noqa: ANN401 - whatever is given as a column
    if not isinstance(column, list | tuple):
        return column
    return cells_that_fit([plain_cell(cell) for cell in column])


def index_of(data: Any) -> tuple[str, ...]:  # noqa: ANN401
    """The names of the levels of a pandas index, if there are several."""
    names = getattr(getattr(data, "index", None), "names", ())
    is_named = len(names) > 1 and not any(name is None for name in names)
    return tuple(map(str, names)) if is_named else ()


def _from_pandas(data: Any) -> pl.DataFrame:  # noqa: ANN401
    """A pandas frame; columns of mixed types are taken as text.

    An index that has a name is a column like others, as after ``set_index`` or ``pivot``.
    """
    if not hasattr(data, "columns"):
        data = _frame_of_series(data)
    if getattr(data.columns, "nlevels", 1) > 1:
        raise InputError(
            f"{name_of(data)} has {data.columns.nlevels} levels of columns; make it long first, "
            f"e.g. frame.stack(list(range({data.columns.nlevels}))).reset_index(name='value')"
        )
    names = [str(name) for name in data.columns]
    found = [column for _, column in data.items()]
    levels = [name for name in data.index.names if name is not None and str(name) not in names]
    names = [*map(str, levels), *names]
    found = [*(data.index.get_level_values(name).to_series() for name in levels), *found]
    if len(set(names)) < len(names):
        raise InputError(f"{name_of(data)} has several columns of one name; rename them")
    try:
        columns = [_from_pandas_column(column) for column in found]
    except ImportError as error:
        raise InputError(f"reading a pandas frame needs pyarrow: {how_to_get('pandas')}") from error
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def _frame_of_series(data: Any) -> Any:  # noqa: ANN401
    """A pandas series as a frame: its index names the items, unless it only counts the rows."""
    if index_of(data):
        return data.to_frame("value" if data.name is None else data.name)
    index = data.index
    is_range = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    if index.nlevels > 1 or (is_range and index.name is None):
        raise InputError(
            f"{name_of(data)} is a single column; give a frame, or, of known truths, a series with "
            "the entities as its index, which needs a name: series.rename_axis('entity')"
        )
    return data.rename_axis("entity").to_frame("value")


TOO_LARGE = Decimal(10) ** MOST_DIGITS
"""A decimal of Polars is below."""

OF_OTHERS: Any = getattr(pl, "BaseExtension", ())
"""Types that another library made up, such as intervals; earlier versions of Polars have none."""


def _holds_decimals(column: Any) -> bool:  # noqa: ANN401
    """Whether a pandas column has Python's own decimals."""
    if str(column.dtype) != "object":
        return False
    return bool(importlib.import_module("pandas").api.types.infer_dtype(column) == "decimal")


def _from_pandas_column(column: Any) -> pl.Series:  # noqa: ANN401
    if _holds_decimals(column):
        is_missing = column.isna()
        cells = [None if gone else cell for cell, gone in zip(column, is_missing, strict=True)]
        return pl.Series(cells_that_fit(cells))
    try:
        read = pl.Series(column)
        if not isinstance(read.dtype, OF_OTHERS):
            return read
    except (ArithmeticError, TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        pass  # what is of no type is taken as text, as are types that only pandas knows
    is_missing = column.isna()
    texts = [None if gone else str(cell) for cell, gone in zip(column, is_missing, strict=True)]
    return pl.Series(texts, dtype=pl.String)


def name_of(data: object) -> str:
    """What to call a frame in messages."""
    library = type(data).__module__.split(".")[0]
    return f"the {'' if library == 'builtins' else f'{library} '}{type(data).__name__}"


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
        DamagedParquet,
        NotAsWritten,
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
