"""A CSV file becomes a frame of text columns, or a clear error.

Polars reads it. Python's own reader, which is slower, steps in to say which line is wrong, and to
read what Polars does not: lines that end in a lone carriage return, quotes inside plain fields.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl

from veracity.errors import (
    ParameterError,
    RaggedRows,
    UnreadableFile,
    WrongEncoding,
    damaged,
)
from veracity.io.batched import BatchedRows, whole_batches
from veracity.io.flat_tables import NotAsWritten
from veracity.io.noting import FileNote, Notes
from veracity.io.totals import LONGEST_TOTAL, MOST_TOTALS, n_totals, totals_note
from veracity.printing import in_short

__all__ = [
    "distinct",
    "header_at",
    "is_longer",
    "plain_text",
    "read_csv",
    "scan_csv",
]

DELIMITERS = (",", "\t", ";", "|")

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
"""The byte order marks, and the codec that each one calls for."""

OTHER_CODECS = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""What text may be in that lacks the mark which these codecs ask for."""

PACKED = {
    b"PK\x03\x04": "zip or Excel",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
"""How files begin that are no text before they are unpacked."""

GZIP = b"\x1f\x8b"
"""How a file begins that is packed with gzip."""

HIGHEST_RATIO = 1032
"""So many bytes can one byte of gzip become, and no more."""

LONGEST_FIELD = 1 << 30

LINES_LOOKED_AT = 40
"""So many lines are looked at to find the header."""

MOST_SIDE_BY_SIDE = 0.3
"""In western text few letters beyond ASCII stand side by side; in other scripts most do."""


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
    codec = _codec(path, encoding)
    try:
        return _read(_recognise(path, codec), notes)
    except WrongEncoding:
        other = _western(path) if codec.startswith("utf-8") else None
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
    file = _recognise(path, _codec(path, encoding))
    with path.open("rb") as start:
        is_packed = start.read(2) == GZIP
    if is_packed or file.line_end == "\r" or not file.codec.startswith("utf-8"):
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
    with _opened(file.path, file.codec) as text:
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
        except (pl.exceptions.PolarsError, OSError, NotAsWritten) as error:
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
    codec = _codec(path, encoding)
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


def is_longer(path: Path, most: int) -> bool:
    """Whether a file has more bytes of text; one that is packed is read on as far as it takes."""
    size = path.stat().st_size
    with path.open("rb") as start:
        if start.read(2) != GZIP or size > most or size * HIGHEST_RATIO <= most:
            return size > most
    with _explained(path, "gzip"), _unpacked(path) as file:
        size = 0
        while size <= most and (piece := file.read(1 << 20)):
            size += len(piece)
    return size > most


def _recognise(path: Path, codec: str) -> CsvFile:
    """Find the delimiter and the line end of a file in its header."""
    with _opened(path, codec) as file:
        lines = list(itertools.islice(file, LINES_LOOKED_AT))
        header = next((line for line in itertools.chain(lines, file) if line.strip()), "")
    if not header:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if "\0" in header:
        raise WrongEncoding(
            f"{path}: byte 0x00 in the header: this is no {codec} text; if it is another "
            "encoding, name it, e.g. encoding='utf-16-le' or --encoding utf-16-le"
        )
    delimiter, n_before = _find_header(lines, header)
    line_end = "\r" if header.endswith("\r") else "\n"
    return CsvFile(path, codec, delimiter, line_end, tuple(lines[:n_before]))


def _find_header(lines: Sequence[str], first: str) -> tuple[str, int]:
    """The delimiter, and how many lines stand before the header."""
    outside_quotes = "".join(first.split('"')[::2])
    usual = max(DELIMITERS, key=outside_quotes.count)
    found = {}
    for delimiter in (usual, *DELIMITERS):
        rows = _first_rows(lines, delimiter)
        place = header_at([row for row, _ in rows])
        if place:
            found[delimiter] = len(rows[place][0]), rows[place][1]
        elif delimiter == usual and rows and len(rows[0][0]) == _usual_width(rows) > 1:
            return usual, 0
    best = max(found, key=lambda delimiter: found[delimiter][0], default=usual)
    return best, found[best][1] if best in found else 0


def _first_rows(lines: Sequence[str], delimiter: str) -> list[tuple[list[str], int]]:
    """The first rows that are not blank, and how many lines stand before each."""
    reader, rows, before = csv.reader(lines, delimiter=delimiter), [], 0
    with contextlib.suppress(csv.Error):
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((row, before))
            before = reader.line_num
    return rows


def _usual_width(rows: Sequence[tuple[list[str], int]]) -> int:
    return Counter(len(row) for row, _ in rows).most_common(1)[0][0]


def header_at(rows: Sequence[Sequence[str]]) -> int:
    """Which row is the header: the first, unless titles and remarks stand above a table.

    Rows above it have few cells that are filled; the header has all of them filled, no two alike
    and none a number.

    >>> header_at([["Report of May", ""], ["source", "value"], ["a", "1"], ["b", "2"]])
    1
    >>> header_at([["source", "value"], ["a", "1"], ["b", "2"]])
    0
    """
    if len(rows) < 3:
        return 0
    width = Counter(map(len, rows)).most_common(1)[0][0]
    for place, row in enumerate(rows):
        cells = [cell.strip() for cell in row if cell.strip()]
        if len(cells) == len(row) == width and len(set(cells)) == width:
            is_header = width > 1 and not any(map(_is_number, cells))
            return place if is_header and len(rows) > place + 1 else 0
        if len(cells) > max(1, (width - 1) // 2):
            return 0
    return 0


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_fast(file: CsvFile) -> pl.DataFrame | None:
    """What Polars reads, or None where it stumbles."""
    source: Path | bytes = file.path
    if not file.codec.startswith("utf-8"):
        with _opened(file.path, file.codec) as text:
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
    return _may_have(path, b'"') and _is_in_a_field(frame, "\n")


def _has_lone_return(frame: pl.DataFrame, path: Path) -> bool:
    """Whether Polars took a carriage return for a part of a value that may have ended a line."""
    return _may_have(path, b"\r") and _is_in_a_field(frame, "\r")


def _is_in_a_field(frame: pl.DataFrame, text: str) -> bool:
    is_there = pl.any_horizontal(pl.all().str.contains(text, literal=True).any())
    return bool(frame.select(is_there).item())


def _may_have(path: Path, byte: bytes) -> bool:
    """Whether a byte is in a file; a packed one does not tell."""
    with path.open("rb", buffering=0) as file:
        if file.read(2) == GZIP:
            return True
        file.seek(0)
        return any(byte in piece for piece in iter(lambda: file.read(1 << 20), b""))


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
    with _opened(file.path, file.codec) as text:
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


def distinct(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once.

    >>> distinct(["value", "note", "value"])
    ['value (1)', 'note', 'value (2)']
    """
    times, seen = Counter(names), Counter[str]()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name} ({seen[name]})" if times[name] > 1 else name)
    return distinct


# --- bytes and text ------------------------------------------------------------------------------


def _codec(path: Path, encoding: str) -> str:
    """The codec to read a file with: the one that was named, but a byte order mark wins."""
    try:
        "a".encode(encoding)  # also refuses codecs that are not about text, such as base64
    except (LookupError, ValueError):
        raise ParameterError(
            f"encoding: there is no encoding {encoding!r}; utf-8, latin-1 and utf-16 are usual"
        ) from None
    with _explained(path, encoding), _unpacked(path) as file:
        head = file.read(8)
    packed = next((name for begin, name in PACKED.items() if head.startswith(begin)), None)
    if packed is not None:
        raise UnreadableFile(f"{path}: this is a {packed} file; unpack it to CSV or Parquet first")
    named = codecs.lookup(encoding).name
    return next((codec for mark, codec in MARKS.items() if head.startswith(mark)), named)


def _western(path: Path) -> str | None:
    """Windows-1252, with Latin-1 as its part, if text that is no UTF-8 looks like it.

    It does not if there are bytes that it has no letter for, if most of the text beyond ASCII would
    be UTF-8, or if such letters stand side by side, as in Cyrillic or Japanese.
    """
    n_high = n_beside = n_utf8 = 0
    with _explained(path, "cp1252"), _unpacked(path) as file:
        for line in file:
            if line.isascii():
                continue
            try:
                text = line.decode("cp1252")
            except UnicodeDecodeError:
                return None
            high = [not letter.isascii() for letter in text]
            n_high += sum(high)
            n_beside += sum(one and other for one, other in itertools.pairwise(high))
            with contextlib.suppress(UnicodeDecodeError):
                line.decode("utf-8")
                n_utf8 += sum(high)
    is_western = n_beside <= MOST_SIDE_BY_SIDE * n_high and n_utf8 <= n_high / 2
    return "cp1252" if is_western else None


@contextlib.contextmanager
def _opened(path: Path, codec: str) -> Iterator[IO[str]]:
    """The text of a file, packed with gzip or not."""
    with (
        _explained(path, codec),
        _unpacked(path) as file,
        io.TextIOWrapper(file, encoding=codec, newline="") as text,
    ):
        yield text


def _unpacked(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_gzip = file.read(2) == GZIP
    return gzip.open(path) if is_gzip else path.open("rb")  # type: ignore[return-value]


@contextlib.contextmanager
def _explained(path: Path, codec: str) -> Iterator[None]:
    """Turn failures of reading text into errors that say what to do."""
    try:
        yield
    except UnicodeError as error:
        raise _wrong_encoding(path, codec, error) from error
    except (EOFError, OSError, zlib.error) as error:
        raise damaged(path, error) from error


def _wrong_encoding(path: Path, codec: str, error: UnicodeError) -> WrongEncoding:
    """Name the first byte that is no text, and where it stands."""
    other = OTHER_CODECS.get(codec, "cp1250" if codec.startswith("utf-8") else "utf-8")
    advice = f"say which encoding it is, e.g. encoding='{other}' or --encoding {other}"
    if not isinstance(error, UnicodeDecodeError):
        return WrongEncoding(f"{path}: no {codec} text ({error}); {advice}")
    line, found = _line_of_wrong_byte(path, codec), error.object[error.start]
    return WrongEncoding(f"{path}: line {line}: byte 0x{found:02x} is no {codec} text; {advice}")


def _line_of_wrong_byte(path: Path, codec: str) -> int:
    decoder = codecs.getincrementaldecoder(codec)()
    line = 1
    failures = (UnicodeError, EOFError, OSError, zlib.error)  # it may be damaged, too
    with contextlib.suppress(*failures), _unpacked(path) as file:
        for raw in file:
            line += decoder.decode(raw).count("\n")
    return line
