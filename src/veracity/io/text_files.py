"""Text files: their encoding, CSV and JSON.

Polars reads CSV as columns of text. Python's own reader, which is slower, names the line that is
wrong, and reads what Polars does not: files whose lines end in a lone carriage return, quotes
inside plain fields.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import json
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import polars as pl

from veracity.errors import (
    ParameterError,
    RaggedRows,
    UnreadableFile,
    WrongEncoding,
    damaged,
    first_line,
)
from veracity.io.frames import frame_of_rows
from veracity.io.memory import free_memory
from veracity.io.reader import (
    FileNote,
    LazyReader,
    Notes,
    Place,
    Reader,
    whole_batches,
)
from veracity.printing import in_short

# --- encoding -------------------------------------------------------------------------------------


MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
"""Byte order marks, and the codec of each."""

OTHER_CODECS = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Codecs of text that lacks the mark which these codecs need."""

PACKED = {
    b"PK\x03\x04": "zip or Excel",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
"""First bytes of files that have to be unpacked first."""

GZIP = b"\x1f\x8b"
"""First bytes of a file that is packed with gzip."""

SHORT_TEXT = 1 << 24
"""Size in bytes up to which a file is read into memory once."""

MOST_SIDE_BY_SIDE = 0.3
"""Largest share of non-ASCII letters next to another one in western text; other text has more."""


@dataclass(frozen=True)
class TextFile:
    """A text file, packed with gzip or not; a short one has its content in memory."""

    path: Path
    content: bytes | None = None

    @classmethod
    def of(cls, path: Path) -> TextFile:
        """Return the file, with its content if it is short."""
        is_short = path.stat().st_size <= SHORT_TEXT
        return cls(path, path.read_bytes() if is_short else None)

    @cached_property
    def is_packed(self) -> bool:
        """True for a file that is packed with gzip."""
        with self._raw() as file:
            return file.read(2) == GZIP

    def _raw(self) -> IO[bytes]:
        return self.path.open("rb") if self.content is None else io.BytesIO(self.content)

    def opened(self) -> IO[bytes]:
        """Open the file, unpacked."""
        return gzip.open(self._raw()) if self.is_packed else self._raw()  # type: ignore[return-value]

    @contextlib.contextmanager
    def text(self, codec: str) -> Iterator[IO[str]]:
        """Open the text of the file."""
        with (
            self._explained(codec),
            self.opened() as file,
            io.TextIOWrapper(file, encoding=codec, newline="") as text,
        ):
            yield text

    def codec(self, encoding: str) -> str:
        """Return the codec to read the file with: the named one, but a byte order mark wins."""
        try:
            "a".encode(encoding)  # also refuses codecs that are not about text, such as base64
        except (LookupError, ValueError):
            raise ParameterError(
                f"encoding: there is no encoding {encoding!r}; utf-8, latin-1 and utf-16 are usual"
            ) from None
        with self._explained(encoding), self.opened() as file:
            head = file.read(8)
        packed = next((name for begin, name in PACKED.items() if head.startswith(begin)), None)
        if packed is not None:
            raise UnreadableFile(
                f"{self.path}: this is a {packed} file; unpack it to CSV or Parquet first"
            )
        named = codecs.lookup(encoding).name
        return next((codec for mark, codec in MARKS.items() if head.startswith(mark)), named)

    def western(self) -> str | None:
        """Return Windows-1252, which includes Latin-1, if text that is not UTF-8 looks like it.

        It does not if there are bytes without a letter in it, if most of the text beyond ASCII
        would be UTF-8, or if such letters stand side by side, as in Cyrillic or Japanese.
        """
        n_high = n_beside = n_utf8 = 0
        with self._explained("cp1252"), self.opened() as file:
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
    def _explained(self, codec: str) -> Iterator[None]:
        """Turn failures of reading text into errors with advice."""
        try:
            yield
        except UnicodeError as error:
            raise self._wrong_encoding(codec, error) from error
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(self.path, error) from error

    def _wrong_encoding(self, codec: str, error: UnicodeError) -> WrongEncoding:
        """Return an error that names the first byte that is no text, and its line."""
        path, other = self.path, OTHER_CODECS.get(codec, "utf-8")
        other = "cp1250" if codec.startswith("utf-8") else other
        advice = f"name the encoding, e.g. encoding='{other}' or --encoding {other}"
        if not isinstance(error, UnicodeDecodeError):
            return WrongEncoding(f"{path}: no {codec} text ({error}); {advice}")
        byte = error.object[error.start]
        decoder = codecs.getincrementaldecoder(codec)()
        line = 1
        failures = (UnicodeError, EOFError, OSError, zlib.error)  # it may be damaged, too
        with contextlib.suppress(*failures), self.opened() as file:
            for raw in file:
                line += decoder.decode(raw).count("\n")
        return WrongEncoding(f"{path}: line {line}: byte 0x{byte:02x} is no {codec} text; {advice}")


# --- CSV ------------------------------------------------------------------------------------------


DELIMITERS = (",", "\t", ";", "|")

LONGEST_FIELD = 1 << 30

LINES_SAMPLED = 40
"""Number of lines that show where the header is."""

LONG_TEXT = 50_000_000
"""Size in bytes from which text without quotes is read while it is encoded."""

LARGE_TEXT = 2_000_000_000
"""Size in bytes from which text with quotes is read in batches, too, where that is possible."""


@dataclass(frozen=True)
class Dialect:
    """Parameters of a CSV file that are needed to read it."""

    file: TextFile
    codec: str
    delimiter: str
    line_end: str
    preamble: tuple[str, ...] = ()
    """The lines before the header."""

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.file.path

    def scan(self) -> pl.LazyFrame:
        """Return all columns as text, under the names that Polars gives them."""
        return pl.scan_csv(
            self.path, separator=self.delimiter, infer_schema=False, glob=False,
            skip_lines=len(self.preamble), schema=self._columns(),
        )  # fmt: skip

    def read(self) -> pl.DataFrame | None:
        """Return all columns as text; None if Polars cannot read the file."""
        source: Path | bytes = self.file.content or self.path
        if not self.codec.startswith("utf-8"):
            with self.file.text(self.codec) as text:
                source = text.read().encode()
        try:
            return pl.read_csv(
                source, separator=self.delimiter, infer_schema=False, glob=False,
                skip_lines=len(self.preamble), schema=self._columns(),
            )  # fmt: skip
        except pl.exceptions.PolarsError:
            return None
        except OSError as error:
            raise damaged(self.path, error) from error

    def _columns(self) -> dict[str, type[pl.String]]:
        with self.file.text(self.codec) as text:
            lines = "".join(itertools.islice(text, len(self.preamble) + LINES_SAMPLED))
        found = pl.read_csv(
            lines.encode(), separator=self.delimiter, infer_schema=False, n_rows=0,
            skip_lines=len(self.preamble),
        )  # fmt: skip
        return dict.fromkeys(found.columns, pl.String)

    def header(self) -> list[str]:
        """Return the names of the columns; those of one name are numbered."""
        with contextlib.closing(self.rows()) as rows:
            return distinct([name.strip() for name in next(rows)])

    def check(self) -> None:
        """Raise an error if a row is too long, too short or unreadable."""
        for _ in self.rows():
            pass

    def rows(self) -> Generator[list[str]]:
        """Yield the rows that are not blank, the header first, as Python reads them."""
        csv.field_size_limit(LONGEST_FIELD)  # the limit is there for untrusted input
        n_before = len(self.preamble)
        with self.file.text(self.codec) as text:
            for _ in range(n_before):
                next(text)
            reader = csv.reader(text, delimiter=self.delimiter, strict=True)
            n_fields, line = 0, n_before + 1
            try:
                for row in reader:
                    n_fields = n_fields or len(row)
                    if row and len(row) != n_fields:
                        raise RaggedRows(
                            f"{self.path}: line {line} has {len(row)} fields, the header has "
                            f"{n_fields}; correct the line, or quote values that contain "
                            f"{self.delimiter!r}"
                        )
                    if row:
                        yield row
                    line = n_before + reader.line_num + 1
            except csv.Error as error:
                raise UnreadableFile(
                    f"{self.path}: the row that begins on line {line} cannot be read ({error}); "
                    "a quote may be missing or superfluous"
                ) from error


def open_csv(path: Path, encoding: str, notes: Notes, label: str = "") -> Reader:
    """Return a reader of a CSV file, with notes on guessed settings."""
    file, size = TextFile.of(path), path.stat().st_size
    if size > LONG_TEXT:
        is_plain = _is_plain(path)
        if is_plain or size > min(LARGE_TEXT, (free_memory() or LARGE_TEXT) // 4):
            dialect = recognise(file, file.codec(encoding))
            names = dialect.header()
            is_utf8 = dialect.codec.startswith("utf-8") and dialect.line_end == "\n"
            can_scan = is_utf8 and not file.is_packed
            if can_scan and len(dialect.scan().collect_schema()) == len(names):
                _note_preamble(dialect, notes)
                return CsvReader(dialect, tuple(names), is_plain, str(path), path, label)
    rows = _read_at_once(file, encoding, notes)
    return LazyReader(rows.lazy(), str(path), label, "filename", path)


def _read_at_once(file: TextFile, encoding: str, notes: Notes) -> pl.DataFrame:
    """Return all columns of a CSV file as text; rows without any text are left out."""
    codec = file.codec(encoding)
    try:
        return _read(recognise(file, codec), notes)
    except WrongEncoding:
        other = file.western() if codec.startswith("utf-8") else None
        if other is None:
            raise
        rows = _read(recognise(file, other), notes)
    what = (
        "not UTF-8 text, read as Windows-1252 (Latin-1); if letters are wrong, say which encoding "
        "it is, e.g. encoding='cp1250' or --encoding cp1250"
    )
    notes.append(FileNote(file.path.name, what))
    return rows


def _read(dialect: Dialect, notes: Notes) -> pl.DataFrame:
    _note_preamble(dialect, notes)
    names = dialect.header()
    rows = None if dialect.line_end == "\r" else dialect.read()
    if rows is None or rows.width != len(names):
        _, *cells = dialect.rows()
        schema = [(f"{number}", pl.String) for number in range(len(names))]
        texts = [[cell or None for cell in row] for row in cells]
        rows = pl.DataFrame(texts, schema=schema, orient="row")
    elif _is_doubtful(rows, rows.columns[-1]):
        dialect.check()
    rows.columns = names
    return _with_text(rows)


def _is_doubtful(rows: pl.DataFrame, last: str, *, has_quotes: bool = True) -> bool:
    """Return True if rows may be cut short, or swallowed by a quote that is never closed."""
    has_line_ends = pl.any_horizontal(pl.all().str.contains("\n", literal=True).any())
    return rows[last].null_count() > 0 or (has_quotes and bool(rows.select(has_line_ends).item()))


def _with_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that are not empty."""
    if all(column.null_count() for column in rows):  # else no row is without text
        return rows.filter(~pl.all_horizontal(pl.all().is_null()))
    return rows


@dataclass(frozen=True)
class CsvReader(Reader):
    """A long CSV file, read in batches; an error in a row is raised when the row is read."""

    dialect: Dialect
    names: tuple[str, ...]
    is_plain: bool
    """True if there are no quotes: then unneeded columns are not read."""

    origin: str
    path: Path
    label: str = ""
    place: Place = "filename"

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns: all are text."""
        return pl.Schema(dict.fromkeys(columns, pl.String()))

    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""
        with self._explained():
            return _with_text(self._scan().head(n_rows).collect())

    def count(self) -> int:
        """Return the number of lines."""
        with self._explained():
            return int(self.dialect.scan().select(pl.len()).collect().item())

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns; also read the last, in which rows that are cut short show."""
        needed = dict.fromkeys([*columns, self.names[-1]]) if self.is_plain else self.names
        is_checked = False
        with self._explained():
            for batch in whole_batches(self._scan().select([*needed])):
                last, has_quotes = self.names[-1], not self.is_plain
                if not is_checked and _is_doubtful(batch, last, has_quotes=has_quotes):
                    self.dialect.check()
                    is_checked = True
                yield _with_text(batch).select(columns)

    def _scan(self) -> pl.LazyFrame:
        rows = self.dialect.scan()
        found = rows.collect_schema().names()
        return rows.select(pl.col(old).alias(n) for old, n in zip(found, self.names, strict=True))

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            self.dialect.check()
            raise damaged(self.path, error) from error


def _is_plain(path: Path) -> bool:
    """Return True if a file is UTF-8 with neither quotes nor carriage returns."""
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


# --- the header -----------------------------------------------------------------------------------


def recognise(file: TextFile, codec: str) -> Dialect:
    """Find the delimiter, the line end and the header of a file."""
    path = file.path
    with file.text(codec) as text:
        lines = list(itertools.islice(text, LINES_SAMPLED))
        header = next((line for line in itertools.chain(lines, text) if line.strip()), "")
    if not header:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if "\0" in header:
        raise WrongEncoding(
            f"{path}: byte 0x00 in the header: this is no {codec} text; if it is another "
            "encoding, name it, e.g. encoding='utf-16-le' or --encoding utf-16-le"
        )
    delimiter, n_before = find_header(lines, header)
    line_end = "\r" if header.endswith("\r") else "\n"
    return Dialect(file, codec, delimiter, line_end, tuple(lines[:n_before]))


def _note_preamble(dialect: Dialect, notes: Notes) -> None:
    if not dialect.preamble:
        return
    n_lines = len(dialect.preamble)
    first = next(line for line in dialect.preamble if line.strip())
    lines = "1 line" if n_lines == 1 else f"{n_lines} lines"
    shown = f": '{in_short(first.strip())}'"
    notes.append(FileNote(dialect.path.name, f"{lines} above the header skipped", shown))


def find_header(lines: Sequence[str], first: str) -> tuple[str, int]:
    """Return the delimiter, and the number of lines before the header."""
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
    """Return the first rows that are not blank, and the number of lines before each."""
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
    """Return the number of the header row: the first, unless there are titles or remarks above it.

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


def distinct(names: Sequence[str]) -> list[str]:
    """Make names unique: add a number to those that occur more than once.

    >>> distinct(["value", "note", "value"])
    ['value (1)', 'note', 'value (2)']
    """
    times, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if times[name] > 1 else name)
    return found


# --- JSON -----------------------------------------------------------------------------------------


JSON_SUFFIXES = (".json", ".json.gz")
LINES_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

LONG_JSON = 50_000_000
"""Bytes from which on objects in lines are read while they are encoded."""

JSON_FORMS = "give an array of objects, or an object in each line"
UNREADABLE = (EOFError, OSError, UnicodeError, RecursionError, ValueError, zlib.error,
              pl.exceptions.PolarsError)  # fmt: skip


def is_json(head: bytes) -> bool:
    """Return True if a file of any name begins with an object, or an array of them."""
    begin = b"".join(head.removeprefix(codecs.BOM_UTF8).split())
    return begin.startswith((b'[{"', b'{"'))


def open_json(path: Path) -> pl.LazyFrame:
    """Return the rows of a file; a field of several types is text."""
    try:
        text = TextFile.of(path)
        is_long = path.stat().st_size > LONG_JSON and not text.is_packed
        if is_long and path.name.lower().endswith(LINES_SUFFIXES):
            return pl.scan_ndjson(path, infer_schema_length=None)
        with text.opened() as file:
            content = file.read().removeprefix(codecs.BOM_UTF8)
        rows = _rows_within(path, _objects(path, content))
        return frame_of_rows(rows, str(path)).lazy()
    except UNREADABLE as error:
        raise UnreadableFile(
            f"{path}: no JSON that can be read ({first_line(error)}); {JSON_FORMS}"
        ) from error


def _objects(path: Path, content: bytes) -> list[Any]:
    """Return the objects of an array, or of lines; a single object is an array of one."""
    if content.lstrip()[:1] not in (b"[", b"{"):
        raise UnreadableFile(f"{path}: no JSON: {JSON_FORMS}")
    try:
        whole = _without_nan(content)
        return whole if isinstance(whole, list) else [whole]
    except ValueError as error:
        rows = []
        for number, line in enumerate(content.splitlines(), start=1):
            try:
                rows += [_without_nan(line)] if line.strip() else []
            except json.JSONDecodeError as wrong:
                if not rows:  # it is not in lines
                    raise error from None
                raise UnreadableFile(
                    f"{path}: line {number} is no JSON ({wrong.msg}, at column {wrong.colno}); "
                    "correct or remove the line"
                ) from None
        return rows


def _without_nan(text: bytes) -> Any:
    """Parse a text; NaN, which Python writes though JSON has none, is missing."""
    return json.loads(text, parse_constant=lambda name: None if name == "NaN" else float(name))


def _rows_within(path: Path, rows: list[Any]) -> list[Any]:
    """Return the rows; take them out of a single object that holds nothing else."""
    if len(rows) != 1 or not isinstance(rows[0], dict) or len(rows[0]) != 1:
        return rows
    ((name, inner),) = rows[0].items()
    if not isinstance(inner, list):
        return rows
    if not inner or not isinstance(inner[0], dict):
        raise UnreadableFile(
            f"{path}: an object whose '{in_short(name)}' has no rows; {JSON_FORMS}"
        )
    return inner
