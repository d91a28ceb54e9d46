"""Tables that are read in batches: the protocol, the reader of lazy frames, and notes on files."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

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


class Reader(ABC):
    """Base of tables that are read in batches, as often as needed."""

    origin: str
    """Name of the table for messages, e.g. "prices.xlsx, sheet May"."""

    names: Sequence[str]
    """Names of its columns."""

    label: str = ""
    """Name of its file, sheet or database table, if that may name the source."""

    place: Place | None = None
    """Kind of place that the label is the name of."""

    path: Path | None = None
    """The file, if it is one."""

    levels: tuple[str, ...] = ()
    """Columns that are the index of a frame, if it has several levels."""

    @abstractmethod
    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns."""

    @abstractmethod
    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows, or slightly more."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns, in order: at least one batch."""


@dataclass(frozen=True)
class LazyReader(Reader):
    """A reader of a lazy frame: Parquet, Arrow, short texts, JSON, workbooks, the user's frames."""

    rows: pl.LazyFrame
    origin: str
    label: str = ""
    place: Place | None = None
    path: Path | None = None
    levels: tuple[str, ...] = ()

    @cached_property
    def _schema(self) -> pl.Schema:
        with read_errors(self):
            return self.rows.collect_schema()

    @cached_property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """The names of its columns."""
        return self._schema.names()

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
            if self.path is not None:
                yield from whole_batches(rows)
            elif len(whole := rows.collect()):
                yield from whole.iter_slices(ROWS_PER_BATCH)
            else:
                yield whole


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


@contextlib.contextmanager
def read_errors(of: Reader | Path | str) -> Iterator[None]:
    """Turn errors of other libraries into one sentence that names the data and says what to do."""
    path = of if isinstance(of, Path) else of.path if isinstance(of, Reader) else None
    try:
        yield
    except VeracityError:
        raise
    except OSError as error:
        if error.strerror is None and path is not None:  # Polars met the end too early
            raise damaged(path, error) from error
        raise UnreadableFile(
            f"{path or of}: cannot be read ({error.strerror or first_line(error)}); check the path "
            "and its permissions"
        ) from error
    except (
        ArithmeticError,
        AttributeError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        if path is not None:
            raise damaged(path, error) from error
        name = of.origin if isinstance(of, Reader) else of
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
