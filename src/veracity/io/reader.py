"""Tables that are read in batches: the protocol, the reader of lazy frames, and notes on files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import polars as pl

from veracity.errors import InputError, UnreadableFile, VeracityError, damaged, first_line
from veracity.io.frames import ROWS_PER_BATCH
from veracity.printing import in_short


class FileNote(NamedTuple):
    """Note on a file: `what` is equal for all files to which the note applies."""

    file: str
    what: str
    detail: str = ""


Notes = list[str | FileNote]


def merged_notes(notes: Iterable[str | FileNote]) -> list[str]:
    """Return notes as sentences; a note on several files names the first.

    >>> merged_notes([FileNote("a.csv", "is old", ": 1990"), "b", FileNote("c.csv", "is old")])
    ['a.csv and 1 more: is old: 1990', 'b']
    """
    notes = list(notes)
    files: dict[str, list[FileNote]] = {}
    for note in notes:
        if isinstance(note, FileNote):
            files.setdefault(note.what, []).append(note)
    found = []
    for note in notes:
        if isinstance(note, str):
            found.append(note)
        elif note.what in files:
            first, *others = files.pop(note.what)
            more = f" and {len(others)} more" if others else ""
            found.append(f"{first.file}{more}: {note.what}{first.detail}")
    return found


def quoted_list(names: Sequence[str]) -> str:
    """Return names for a sentence, the first dozen of them."""
    shown = ", ".join(f"'{in_short(name)}'" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") if names else "none"


def sharing_columns(columns: Mapping[str, set[str]], what: str, notes: Notes) -> list[str]:
    """Return the largest group of tables that share columns; note the others."""
    groups: list[set[str]] = []
    for name, own in columns.items():
        joined = [group for group in groups if any(own & columns[other] for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append({name}.union(*joined))
    *others, largest = sorted(groups, key=len)
    left_out = [name for name in columns if name not in largest]
    if left_out and len(largest) > max(map(len, others)):
        notes.append(
            f"{what} that share no column with others are left out: {quoted_list(left_out)}"
        )
        return [name for name in columns if name in largest]
    return list(columns)


Place = Literal["filename", "sheet", "table"]
"""Part of a table's address that may name its source."""

STANDARD_INPUT_FILE = "standard input"
"""Name of the file that stores the data from standard input."""


class Reader(Protocol):
    """Table that is read in batches, several times if needed."""

    @property
    def origin(self) -> str:
        """Return the name of the table for messages, e.g. "prices.xlsx, sheet May"."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""

    @property
    def label(self) -> str:
        """The name of its file, sheet or database table, if that may name the source."""

    @property
    def place(self) -> Place | None:
        """Return the kind of place that the label is the name of."""

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""

    @property
    def levels(self) -> tuple[str, ...]:
        """The columns that are the index of a frame, if it has several levels."""

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns."""

    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""

    def count(self) -> int:
        """Return the number of rows, or slightly more."""

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns, in order: at least one batch."""


@dataclass(frozen=True)
class LazyReader:
    """A reader of a lazy frame: Parquet, Arrow, short texts, JSON, workbooks, the user's frames."""

    rows: pl.LazyFrame
    origin: str
    label: str = ""
    place: Place | None = None
    path: Path | None = None
    levels: tuple[str, ...] = ()

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of its columns."""
        return self._schema.names()

    @cached_property
    def _schema(self) -> pl.Schema:
        with read_errors(self):
            return self.rows.collect_schema()

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns."""
        return pl.Schema({name: self._schema[name] for name in columns})

    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""
        with read_errors(self):
            return self.rows.head(n_rows).collect()

    def count(self) -> int:
        """Return the number of rows; a Parquet file has it without being read."""
        with read_errors(self):
            return int(self.rows.select(pl.len()).collect().item())

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns; raise `UnreadableFile` if rows are missing."""
        rows = self.rows.select(columns)
        with read_errors(self):
            if self.path is None:
                yield from _slices(rows.collect())
            else:
                yield from whole_batches(rows)


def _slices(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    return rows.iter_slices(ROWS_PER_BATCH) if len(rows) else iter([rows])


class Incomplete(ValueError):
    """Error: the rows ended before the last one."""


def whole_batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows in batches; raise `Incomplete` if some are missing.

    When one of its threads panics, Polars ends the batches without an error. So a row is added; if
    it does not come out last, rows are missing.
    """
    schema = rows.collect_schema()
    mark = max(schema, key=len, default="") + "?"  # a name that no column has
    end = pl.DataFrame(schema=schema).clear(1).lazy().with_columns(pl.lit(True).alias(mark))
    marked = pl.concat([rows.with_columns(pl.lit(False).alias(mark)), end])
    is_whole, n_batches = False, 0
    for batch in marked.collect_batches(maintain_order=True):
        if not len(batch):
            continue
        is_whole = batch[mark][-1]
        own = batch.head(len(batch) - is_whole).drop(mark)
        if len(own) or not n_batches:
            n_batches += 1
            yield own
    if not is_whole:
        raise Incomplete("its reader stopped before the end")


def read_errors(of: Reader | Path) -> contextlib.AbstractContextManager[None]:
    """Turn errors of other libraries into one sentence that names the data and says what to do."""
    path = of if isinstance(of, Path) else of.path
    return frame_errors(of.origin) if path is None else _file_errors(path)  # type: ignore[union-attr]


@contextlib.contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except VeracityError as error:
        if path.name != STANDARD_INPUT_FILE:
            raise
        raise type(error)(str(error).replace(str(path), STANDARD_INPUT_FILE)) from error
    except OSError as error:
        if error.errno is None:  # Polars met the end too early
            raise damaged(path, error) from error
        raise UnreadableFile(
            f"{path}: cannot be read ({error.strerror or first_line(error)}); check the path and "
            "its permissions"
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, Incomplete) as error:
        raise damaged(path, error) from error


@contextlib.contextmanager
def frame_errors(name: str) -> Iterator[None]:
    """Turn errors of a frame into one sentence."""
    try:
        yield
    except VeracityError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        OSError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        raise InputError(
            f"{name} cannot be read ({first_line(error)}); check how it is made"
        ) from error


def lazy_rows(
    read: Callable[[Sequence[str] | None], Iterator[pl.DataFrame]], schema: pl.Schema
) -> pl.LazyFrame:
    """Return rows as a lazy frame, whose columns are read a batch at a time."""
    from polars.io.plugins import register_io_source  # noqa: PLC0415 - seldom needed

    def batches(
        columns: list[str] | None, condition: pl.Expr | None, n_rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        n_left = n_rows
        for batch in read(columns):
            rows = batch if columns is None else batch.select(columns)
            if n_left is not None:
                rows = rows.head(n_left)
                n_left -= len(rows)
            yield rows if condition is None else rows.filter(condition)
            if n_left == 0:
                return

    return register_io_source(batches, schema=schema, is_pure=True)
