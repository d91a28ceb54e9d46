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
import mmap
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
    first_line,
)

__all__ = ["is_longer", "read_csv", "scan_csv"]

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


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, with what has to be known to read it."""

    path: Path
    codec: str
    delimiter: str
    line_end: str


def read_csv(path: Path, encoding: str = "utf-8") -> pl.DataFrame:
    """All columns of a CSV file, as the text they are written in; rows with no text are left out.

    Of columns with the same name, each gets its number: ``value (1)`` and ``value (2)``.
    """
    file = _recognise(path, _codec(path, encoding))
    with contextlib.closing(_rows(file)) as rows:
        names = [name.strip() for name in next(rows)]
    frame = None if file.line_end == "\r" else _read_fast(file)
    if frame is None or frame.width != len(names) or _has_lone_return(frame, path):
        frame = _read_slowly(file)
    elif _is_doubtful(frame, path):
        for _ in _rows(file):  # raises where a row is wrong
            pass
    frame.columns = _distinct(names)
    if all(column.null_count() for column in frame):  # else no row is without text
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return frame


def scan_csv(path: Path, encoding: str = "utf-8") -> pl.LazyFrame | None:
    """The same as `read_csv`, to be read in portions; None if this file has to be read at once.

    Rows that are cut short are not told apart from those that lack values.
    """
    file = _recognise(path, _codec(path, encoding))
    with path.open("rb") as start:
        is_packed = start.read(2) == GZIP
    if is_packed or file.line_end == "\r" or not file.codec.startswith("utf-8"):
        return None
    with contextlib.closing(_rows(file)) as rows:
        names = _distinct([name.strip() for name in next(rows)])
    frame = pl.scan_csv(path, separator=file.delimiter, infer_schema=False, glob=False)
    found = frame.collect_schema().names()
    if len(found) != len(names):
        return None
    frame = frame.select(pl.col(old).alias(new) for old, new in zip(found, names, strict=True))
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


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
        header = next((line for line in file if line.strip()), "")
    if not header:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if "\0" in header:
        raise WrongEncoding(
            f"{path}: byte 0x00 in the header: this is no {codec} text; if it is another "
            "encoding, name it, e.g. encoding='utf-16-le' or --encoding utf-16-le"
        )
    outside_quotes = "".join(header.split('"')[::2])
    delimiter = max(DELIMITERS, key=outside_quotes.count)
    return CsvFile(path, codec, delimiter, "\r" if header.endswith("\r") else "\n")


def _read_fast(file: CsvFile) -> pl.DataFrame | None:
    """What Polars reads, or None where it stumbles."""
    source: Path | bytes = file.path
    if not file.codec.startswith("utf-8"):
        with _opened(file.path, file.codec) as text:
            source = text.read().encode()
    try:
        return pl.read_csv(source, separator=file.delimiter, infer_schema=False, glob=False)
    except pl.exceptions.PolarsError:
        return None
    except OSError as error:
        raise _damaged(file.path, error) from error


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
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content[:2] == GZIP or content.find(byte) >= 0


def _read_slowly(file: CsvFile) -> pl.DataFrame:
    names, *rows = _rows(file)
    cells = [[cell or None for cell in row] for row in rows]
    schema = [(f"{number}", pl.String) for number in range(len(names))]
    return pl.DataFrame(cells, schema=schema, orient="row")


def _rows(file: CsvFile) -> Generator[list[str]]:
    """The rows that are not blank, the header first; one that is too long or short is an error."""
    csv.field_size_limit(LONGEST_FIELD)  # the limit is there for untrusted input, not for claims
    with _opened(file.path, file.codec) as text:
        reader = csv.reader(text, delimiter=file.delimiter, strict=True)
        n_fields, line = 0, 1
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
                line = reader.line_num + 1
        except csv.Error as error:
            raise UnreadableFile(
                f"{file.path}: the row that begins on line {line} cannot be read ({error}); "
                "a quote may be missing or too many"
            ) from error


def _distinct(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once.

    >>> _distinct(["value", "note", "value"])
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
        raise _damaged(path, error) from error


def _wrong_encoding(path: Path, codec: str, error: UnicodeError) -> WrongEncoding:
    """Name the first byte that is no text, and where it stands."""
    other = OTHER_CODECS.get(codec, "latin-1" if codec.startswith("utf-8") else "utf-8")
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


def _damaged(path: Path, error: BaseException) -> UnreadableFile:
    return UnreadableFile(
        f"{path}: damaged or cut off ({first_line(error)}); copy or write it again"
    )
