"""Files and frames as parts of a table: lazy rows, which know where they come from."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from veracity.errors import InputError, TooLarge, UnreadableFile, VeracityError, first_line
from veracity.io.csv_file import is_longer, read_csv, scan_csv
from veracity.io.databases import StreamedRows, column_names, database_file, selection_of
from veracity.io.frames import ROWS_PER_BATCH, FrameKind, is_spark_frame
from veracity.io.memory import free_memory, require_room
from veracity.io.parquet_file import DamagedParquet, check_parquet

__all__ = [
    "TEXT_SUFFIXES",
    "Part",
    "as_polars",
    "batches_of",
    "has_null",
    "n_rows_of",
    "name_of",
    "open_file",
    "paths_of",
    "reading_file",
    "reading_frame",
]

BYTES_PER_ROW = 200
"""About what a row takes that another engine hands over."""

PARQUET_SUFFIXES = (".parquet", ".pq")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")


COPIES_OF_TEXT = 4
"""How often the text of a file may be in memory while it is read at once: unpacked, in a buffer
that grows to twice its size, and as a table."""

LARGE_TEXT = 2_000_000_000
"""From so many bytes on, text is read in portions, where it is plain enough for that."""


class Part(NamedTuple):
    """The wanted columns of one file, frame or database, and where they come from."""

    rows: pl.LazyFrame | StreamedRows
    origin: str
    path: Path | None = None


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
            paths, hint = _tables_in(path), "no CSV or Parquet file is in this folder"
        elif glob.has_magic(origin):
            matches = map(Path, glob.glob(origin, recursive=True))  # noqa: PTH207 - Path's are weaker
            paths, hint = [match for match in matches if match.is_file()], "no file matches"
        else:
            paths, hint = [], "this is no file" if path.exists() else "there is no such file"
    if not paths:
        raise UnreadableFile(f"{path}: {hint}; check the path")
    return sorted(paths)


def _tables_in(folder: Path) -> list[Path]:
    """The tables in a folder and below; what begins with a dot or underline is not for readers."""
    return [
        path
        for path in folder.rglob("*")
        if path.name.lower().endswith(PARQUET_SUFFIXES + TEXT_SUFFIXES)
        and path.is_file()
        and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
    ]


def open_file(path: Path, encoding: str) -> pl.LazyFrame:
    """The rows of a file, lazily if it is Parquet."""
    with path.open("rb") as file:
        head = file.read(4)
    if not head:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if head == b"PAR1":
        check_parquet(path)
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        rows.collect_schema()  # raises here, where errors are explained, if the file is damaged
        return rows
    if database_file(path) is not None:
        column_names(selection_of(path))  # raises, and tells which tables there are
    if path.name.lower().endswith(PARQUET_SUFFIXES):
        raise UnreadableFile(f"{path}: not a Parquet file, whatever its name says; write it again")
    size = path.stat().st_size
    if size > min(LARGE_TEXT, (free_memory() or LARGE_TEXT) // 4):
        portions = scan_csv(path, encoding)
        if portions is not None:
            return portions
    free = free_memory()
    if free is not None and is_longer(path, free // COPIES_OF_TEXT):
        raise TooLarge(
            f"{path}: its rows need more than the {free / 1e9:,.1f} GB of memory that are free; "
            "write it as Parquet or plain UTF-8 text first"
        )
    return read_csv(path, encoding).lazy()


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
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"{name_of(data)} holds no claims that can be read; give a path, a frame, or an object "
            "with an Arrow stream"
        )
    library = type(data).__module__.split(".")[0]
    if library == "pandas":
        return _from_pandas(data).lazy(), "pandas"
    return pl.DataFrame(data).lazy(), "pyarrow" if library == "pyarrow" else "polars"


def _from_pandas(data: Any) -> pl.DataFrame:  # noqa: ANN401
    """A pandas frame; columns of mixed types are taken as text."""
    if not hasattr(data, "columns"):
        raise InputError(f"{name_of(data)} is a single column; give a frame")
    names = [str(name) for name in data.columns]
    if len(set(names)) < len(names):
        raise InputError(f"{name_of(data)} has several columns of one name; rename them")
    try:
        columns = [_from_pandas_column(column) for _, column in data.items()]
    except ImportError as error:
        raise InputError(
            "reading a pandas frame needs pyarrow: pip install 'veracity[pandas]'"
        ) from error
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def _from_pandas_column(column: Any) -> pl.Series:  # noqa: ANN401
    try:
        return pl.Series(column)
    except (ArithmeticError, TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        is_missing = column.isna()
        texts = [None if gone else str(cell) for cell, gone in zip(column, is_missing, strict=True)]
        return pl.Series(texts, dtype=pl.String)


def name_of(data: object) -> str:
    """What to call a frame in messages."""
    return f"the {type(data).__module__.split('.')[0]} {type(data).__name__}"


def batches_of(part: Part) -> Iterator[pl.DataFrame]:
    """The rows of a part, at least one batch of them; errors say where they come from."""
    if isinstance(part.rows, StreamedRows):
        yield from part.rows.batches()
        return
    with reading_frame(part.origin) if part.path is None else reading_file(part.path):
        if part.path is None:
            yield from part.rows.collect().iter_slices(ROWS_PER_BATCH)
            return
        n_batches = 0
        for batch in part.rows.collect_batches(maintain_order=True):
            n_batches += 1
            yield batch
        if not n_batches:
            yield part.rows.head(0).collect()


def n_rows_of(part: Part) -> int:
    """How many rows a part has; a Parquet file and a database tell without being read."""
    if isinstance(part.rows, StreamedRows):
        return part.rows.count()
    return int(_first_batch(part, part.rows.select(pl.len())).item())


def has_null(part: Part, name: str) -> bool:
    """Whether a column has rows with nothing in them."""
    if isinstance(part.rows, StreamedRows):
        return any(batch[name].null_count() for batch in part.rows.batches())
    return bool(_first_batch(part, part.rows.select(pl.col(name).null_count())).item())


def _first_batch(part: Part, rows: pl.LazyFrame) -> pl.DataFrame:
    """The first batch of what was made of the rows of a part."""
    return next(batches_of(part._replace(rows=rows)))


@contextlib.contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """What goes wrong while a file is read is told with its name, and what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or first_line(error)
        raise UnreadableFile(
            f"{path}: cannot be read ({reason}); check the path and its permissions"
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, DamagedParquet) as error:
        raise UnreadableFile(
            f"{path}: damaged or cut off ({first_line(error)}); copy or write it again"
        ) from error


@contextlib.contextmanager
def reading_frame(name: str) -> Iterator[None]:
    """What goes wrong while a frame is read is told with its name, and what to do."""
    try:
        yield
    except VeracityError:
        raise
    except (
        OSError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        raise InputError(
            f"{name} cannot be read ({first_line(error)}); check how it is made"
        ) from error
