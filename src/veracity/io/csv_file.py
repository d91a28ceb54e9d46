"""A CSV file becomes a frame of text columns, or a clear error.

Polars reads it. Python's own reader, which is slower, steps in to say which line is wrong, and to
read what Polars does not: lines that end in a lone carriage return, quotes inside plain fields.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import itertools
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from veracity.errors import RaggedRows, UnreadableFile, WrongEncoding, damaged
from veracity.io.batched import BatchedRows, Incomplete, whole_batches
from veracity.io.header import distinct, find_header
from veracity.io.noting import FileNote, Notes
from veracity.io.text_file import codec_of, is_packed, may_have, opened_text, western
from veracity.io.totals import LONGEST_TOTAL, MOST_TOTALS, n_totals, totals_note
from veracity.printing import in_short

LONGEST_FIELD = 1 << 30

LINES_LOOKED_AT = 40
"""So many lines are looked at to find the header."""


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, with what has to be known to read it."""

    path: Path
    codec: str
    delimiter: str
    line_end: str
    preamble: tuple[str, ...] = ()
    """The lines before the header."""


def read_csv(path: Path, encoding: str = "utf-8", notes: Notes | None = None) -> pl.DataFrame:
    """All columns of a CSV file, as the text they are written in; rows with no text are left out.

    Of columns with the same name, each gets its number: ``value (1)`` and ``value (2)``. What had
    to be found out is noted: another encoding than UTF-8, lines before the header.
    """
    notes = [] if notes is None else notes
    codec = codec_of(path, encoding)
    try:
        return _read(_recognise(path, codec), notes)
    except WrongEncoding:
        other = western(path) if codec.startswith("utf-8") else None
        if other is None:
            raise
        frame = _read(_recognise(path, other), notes)
    what = (
        "not UTF-8 text, read as Windows-1252 (Latin-1); if letters are wrong, say which encoding "
        "it is, e.g. encoding='cp1250' or --encoding cp1250"
    )
    notes.append(FileNote(path.name, what))
    return frame


def _read(file: CsvFile, notes: Notes) -> pl.DataFrame:
    path = file.path
    if file.preamble:
        notes.append(_preamble_note(file))
    names = _header(file)
    frame = None if file.line_end == "\r" else _read_fast(file)
    if frame is None or frame.width != len(names) or _has_lone_return(frame, path):
        frame = _read_slowly(file)
    elif _is_doubtful(frame, path):
        _check_rows(file)
    frame.columns = distinct(names)
    frame = _with_text(frame)
    last = frame.tail(MOST_TOTALS).with_columns(pl.col(pl.String).str.head(LONGEST_TOTAL)).rows()
    if n_left_out := n_totals(last):
        notes.append(totals_note(path.name, last))
        frame = frame.head(-n_left_out)
    return frame


def _with_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that are not empty."""
    if all(column.null_count() for column in frame):  # else no row is without text
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return frame


def _preamble_note(file: CsvFile) -> FileNote:
    n_lines, first = len(file.preamble), next(line for line in file.preamble if line.strip())
    lines = "1 line" if n_lines == 1 else f"{n_lines} lines"
    shown = f": '{in_short(first.strip())}'"
    return FileNote(file.path.name, f"{lines} above the header skipped", shown)


def scan_csv(
    path: Path, encoding: str = "utf-8", notes: Notes | None = None
) -> pl.LazyFrame | None:
    """The same as `read_csv`, to be read in portions; None if this file has to be read at once.

    Rows that are cut short are not told apart from those that lack values.
    """
    file = _recognise(path, codec_of(path, encoding))
    if is_packed(path) or file.line_end == "\r" or not file.codec.startswith("utf-8"):
        return None
    names = distinct(_header(file))
    if file.preamble and notes is not None:
        notes.append(_preamble_note(file))
    frame = _scanned(file)
    found = frame.collect_schema().names()
    if len(found) != len(names):
        return None
    frame = frame.select(pl.col(old).alias(new) for old, new in zip(found, names, strict=True))
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _header(file: CsvFile) -> list[str]:
    """The names of the columns, as they are written."""
    with contextlib.closing(_rows(file)) as rows:
        return [name.strip() for name in next(rows)]


def _scanned(file: CsvFile) -> pl.LazyFrame:
    return pl.scan_csv(
        file.path, separator=file.delimiter, infer_schema=False, glob=False,
        skip_lines=len(file.preamble), schema=_columns(file),
    )  # fmt: skip


def _columns(file: CsvFile) -> dict[str, type[pl.String]]:
    """The columns that Polars finds in the header.

    It would map the file to look for them. If another program cuts it short meanwhile, the system
    ends the process without a word.
    """
    with opened_text(file.path, file.codec) as text:
        lines = "".join(itertools.islice(text, len(file.preamble) + LINES_LOOKED_AT))
    found = pl.read_csv(
        lines.encode(), separator=file.delimiter, infer_schema=False, n_rows=0,
        skip_lines=len(file.preamble),
    )  # fmt: skip
    return dict.fromkeys(found.columns, pl.String)


@dataclass(frozen=True)
class PlainText(BatchedRows):
    """A file in which nothing is quoted, read in portions: each line is a row.

    What is wrong with a row is told when it is met, as by `read_csv`.
    """

    file: CsvFile
    names: tuple[str, ...]

    def as_they_come(self) -> Iterator[pl.DataFrame]:
        """The rows that have any text."""
        is_checked, n_batches = False, 0
        try:
            for batch in whole_batches(_scanned(self.file)):
                if not is_checked and batch[:, -1].null_count():  # rows may have been cut short
                    _check_rows(self.file)
                    is_checked = True
                n_batches += 1
                yield self._named(batch)
        except (pl.exceptions.PolarsError, OSError, Incomplete) as error:
            _check_rows(self.file)
            raise damaged(self.file.path, error) from error
        if not n_batches:
            yield self.nothing()

    def _named(self, batch: pl.DataFrame) -> pl.DataFrame:
        batch.columns = list(self.names)
        return _with_text(batch)

    def nothing(self) -> pl.DataFrame:
        """No row."""
        return pl.DataFrame(schema=dict.fromkeys(self.names, pl.String))

    def count(self) -> int:
        """How many lines there are."""
        return int(_scanned(self.file).select(pl.len()).collect().item())

    def first_rows(self, n_rows: int) -> pl.DataFrame:
        """The first rows, without reading further."""
        return self._shaped(self._named(_scanned(self.file).head(n_rows).collect()))


def plain_text(path: Path, encoding: str, notes: Notes | None = None) -> PlainText | None:
    """The same as `read_csv`, read in portions; None if the file has to be read at once.

    That is so if anything is quoted, if lines end otherwise than in UNIX, or if it is not UTF-8.
    """
    codec = codec_of(path, encoding)
    if not codec.startswith("utf-8") or not _is_plain(path):
        return None
    file = _recognise(path, codec)
    names = distinct(_header(file))
    if len(_scanned(file).collect_schema()) != len(names):
        return None
    if file.preamble and notes is not None:
        notes.append(_preamble_note(file))
    return PlainText(file, tuple(names))


def _is_plain(path: Path) -> bool:
    """Whether a file is UTF-8 with neither quotes nor carriage returns."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_whole = True  # no letter is cut in two
    with path.open("rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            if b'"' in piece or b"\r" in piece:
                return False
            if is_whole and piece.isascii():
                continue
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                return False
            is_whole = not decoder.getstate()[0]
    return is_whole


def _recognise(path: Path, codec: str) -> CsvFile:
    """Find the delimiter and the line end of a file in its header."""
    with opened_text(path, codec) as file:
        lines = list(itertools.islice(file, LINES_LOOKED_AT))
        header = next((line for line in itertools.chain(lines, file) if line.strip()), "")
    if not header:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if "\0" in header:
        raise WrongEncoding(
            f"{path}: byte 0x00 in the header: this is no {codec} text; if it is another "
            "encoding, name it, e.g. encoding='utf-16-le' or --encoding utf-16-le"
        )
    delimiter, n_before = find_header(lines, header)
    line_end = "\r" if header.endswith("\r") else "\n"
    return CsvFile(path, codec, delimiter, line_end, tuple(lines[:n_before]))


def _read_fast(file: CsvFile) -> pl.DataFrame | None:
    """What Polars reads, or None where it stumbles."""
    source: Path | bytes = file.path
    if not file.codec.startswith("utf-8"):
        with opened_text(file.path, file.codec) as text:
            source = text.read().encode()
    try:
        return pl.read_csv(
            source, separator=file.delimiter, infer_schema=False, glob=False,
            skip_lines=len(file.preamble), schema=_columns(file),
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
    except OSError as error:
        raise damaged(file.path, error) from error


def _is_doubtful(frame: pl.DataFrame, path: Path) -> bool:
    """Whether rows may have been cut short, or swallowed by a quote that is never closed."""
    if frame[:, -1].null_count() > 0:
        return True
    return may_have(path, b'"') and _is_in_a_field(frame, "\n")


def _has_lone_return(frame: pl.DataFrame, path: Path) -> bool:
    """Whether Polars took a carriage return for a part of a value that may have ended a line."""
    return may_have(path, b"\r") and _is_in_a_field(frame, "\r")


def _is_in_a_field(frame: pl.DataFrame, text: str) -> bool:
    is_there = pl.any_horizontal(pl.all().str.contains(text, literal=True).any())
    return bool(frame.select(is_there).item())


def _read_slowly(file: CsvFile) -> pl.DataFrame:
    names, *rows = _rows(file)
    cells = [[cell or None for cell in row] for row in rows]
    schema = [(f"{number}", pl.String) for number in range(len(names))]
    return pl.DataFrame(cells, schema=schema, orient="row")


def _check_rows(file: CsvFile) -> None:
    """Raise where a row is too long or too short, or cannot be read at all."""
    for _ in _rows(file):
        pass


def _rows(file: CsvFile) -> Generator[list[str]]:
    """The rows that are not blank, the header first; one that is too long or short is an error."""
    csv.field_size_limit(LONGEST_FIELD)  # the limit is there for untrusted input, not for claims
    n_before = len(file.preamble)
    with opened_text(file.path, file.codec) as text:
        for _ in range(n_before):
            next(text)
        reader = csv.reader(text, delimiter=file.delimiter, strict=True)
        n_fields, line = 0, n_before + 1
        try:
            for row in reader:
                n_fields = n_fields or len(row)
                if row and len(row) != n_fields:
                    raise RaggedRows(
                        f"{file.path}: line {line} has {len(row)} fields, the header has "
                        f"{n_fields}; mend the line, or quote values that contain "
                        f"{file.delimiter!r}"
                    )
                if row:
                    yield row
                line = n_before + reader.line_num + 1
        except csv.Error as error:
            raise UnreadableFile(
                f"{file.path}: the row that begins on line {line} cannot be read ({error}); "
                "a quote may be missing or too many"
            ) from error
