"""Files and frames become a claims table, or a clear error."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from veracity.errors import (
    BadValue,
    InputError,
    ParameterError,
    RaggedRows,
    UnreadableFile,
    WrongEncoding,
)
from veracity.schema import CLAIM_COLUMNS, KINDS, ClaimsTable, FrameKind, Kind, find_columns

__all__ = ["TRUE_WORDS", "read_claims", "read_table", "read_truth"]

SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
DELIMITERS = (",", "\t", ";", "|")
TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")

Columns = Mapping[str, str]


class Part(NamedTuple):
    """One file or frame, with the columns that were asked for, and what was noticed."""

    rows: pl.DataFrame
    notes: list[str]


def read_claims(
    data: object,
    *,
    columns: Columns | None = None,
    kind: Kind = "categorical",
    encoding: str = "utf-8",
) -> ClaimsTable:
    """Read claims from a path, a frame or anything with an Arrow stream.

    Claims without source, entity, fact or value are left out; the notes say how many.

    Parameters
    ----------
    data
        What `veracity.discover` takes.
    columns
        Which column plays which part, e.g. ``{"source": "website"}``.
    kind
        The kind of claims.
    encoding
        The encoding of text files.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    wanted = CLAIM_COLUMNS[kind]
    rows, origin, frame_kind, notes = _gather(data, wanted, columns or {}, encoding)
    n_read = len(rows)
    if kind == "binary":
        rows = rows.with_columns(claim=_as_claims(rows["claim"], origin))
    rows = _drop_empty(rows, notes)
    return ClaimsTable(rows, kind, origin, frame_kind, n_read, tuple(notes))


def read_truth(
    data: object, *, kind: Kind, columns: Columns | None = None, encoding: str = "utf-8"
) -> tuple[pl.DataFrame, list[str]]:
    """Read known truths: rows of entity, attribute and value, or of fact and claim."""
    wanted = CLAIM_COLUMNS[kind][1:]
    rows, origin, _, notes = _gather(data, wanted, columns or {}, encoding)
    if kind == "binary":
        rows = rows.with_columns(claim=_as_claims(rows["claim"], origin))
    return _drop_empty(rows, notes, what="truths"), notes


def read_table(data: object, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path or a frame, with all its columns."""
    if not isinstance(data, str | os.PathLike):
        return _collect(_as_polars(data)[0], "the table")
    tables = [_collect(_read_file(path, encoding), str(path)) for path in _paths(os.fspath(data))]
    return pl.concat(tables, how="vertical_relaxed")


def _gather(
    data: object, wanted: tuple[str, ...], given: Columns, encoding: str
) -> tuple[pl.DataFrame, str, FrameKind, list[str]]:
    """Read all parts, choose the wanted columns of each, put them one below the other."""
    if isinstance(data, str | os.PathLike):
        origin, frame_kind = os.fspath(data), "polars"
        paths = _paths(origin)
        parts = [_choose(_read_file(path, encoding), wanted, given, str(path)) for path in paths]
    else:
        frame, frame_kind = _as_polars(data)
        origin = f"the {type(data).__module__.split('.')[0]} {type(data).__name__}"
        parts = [_choose(frame, wanted, given, origin)]
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    try:
        rows = pl.concat([part.rows for part in parts], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{origin}: the files do not have the same columns ({error})") from error
    return rows, origin, frame_kind, notes  # type: ignore[return-value]


def _choose(frame: pl.LazyFrame, wanted: tuple[str, ...], given: Columns, origin: str) -> Part:
    """Keep the wanted columns, under the names we give them."""
    found = frame.collect_schema()
    chosen = find_columns(found.names(), wanted, given=given, origin=origin)
    for part, name in chosen.items():
        if found[name].is_nested() or found[name] == pl.Object:
            raise BadValue(
                f"{origin}: column '{name}' ({part}) holds {found[name]}, not plain values"
            )
    notes = [
        f"column '{name}' is taken as the {part}"
        for part, name in chosen.items()
        if name != part and part not in given
    ]
    rows = frame.select(_plain(name, found[name]).alias(part) for part, name in chosen.items())
    return Part(_collect(rows, origin), notes)


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """Text for categories, null for NaN, and nothing else changed."""
    if dtype in (pl.Categorical, pl.Enum):
        return pl.col(name).cast(pl.String)
    return pl.col(name).fill_nan(None) if dtype.is_float() else pl.col(name)


def _collect(frame: pl.LazyFrame, origin: str) -> pl.DataFrame:
    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnreadableFile(f"{origin}: cannot be read ({_first_line(error)})") from error


def _drop_empty(rows: pl.DataFrame, notes: list[str], what: str = "claims") -> pl.DataFrame:
    """Leave out rows that lack what a claim needs, and say how many lack what."""
    for name in rows.columns:
        if name == "attribute":
            rows = rows.with_columns(
                pl.col(name).fill_null("") if rows[name].dtype == pl.String else name
            )
            continue
        is_empty = pl.col(name).is_null()
        if rows[name].dtype == pl.String:
            is_empty = is_empty | (pl.col(name) == "")
        kept = rows.filter(~is_empty)
        if len(kept) < len(rows):
            notes.append(f"{len(rows) - len(kept):,} {what} without a {name} are left out")
        rows = kept
    return rows


def _as_claims(column: pl.Series, origin: str) -> pl.Series:
    """True and false, from the usual words for them."""
    if column.dtype == pl.Boolean:
        return column
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    words = words.set(words == "", None)
    claims = words.is_in(TRUE_WORDS)
    is_bad = ~claims & ~words.is_in(FALSE_WORDS)
    if is_bad.any():
        row = is_bad.arg_true()[0]
        raise BadValue(
            f"{origin}: row {row + 1} claims '{column[row]}', which is neither true nor false; "
            "use true/false, yes/no or 1/0, or --kind categorical if claims name values"
        )
    return claims


def _as_polars(data: Any) -> tuple[pl.LazyFrame, FrameKind]:  # noqa: ANN401
    """Any frame as a lazy polars frame, and the kind to give back."""
    library = type(data).__module__.split(".")[0]
    frame_kind: FrameKind = library if library in ("pandas", "pyarrow") else "polars"  # type: ignore[assignment]
    if isinstance(data, pl.LazyFrame):
        return data, "polars"
    if isinstance(data, pl.DataFrame):
        return data.lazy(), "polars"
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"cannot read claims from {library}.{type(data).__name__}; give a path, a frame, "
            "or an object with an Arrow stream"
        )
    try:
        return pl.DataFrame(data).lazy(), frame_kind
    except ImportError as error:
        raise InputError(
            f"reading a {library} frame needs pyarrow: pip install 'veracity[pandas]'"
        ) from error
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        if library == "pandas":
            return _from_mixed_pandas(data).lazy(), "pandas"
        raise InputError(f"cannot read the {library} frame ({_first_line(error)})") from error


def _from_mixed_pandas(data: Any) -> pl.DataFrame:  # noqa: ANN401
    """A pandas frame with columns of mixed types: these are compared as text."""
    columns = {}
    for name in data.columns:
        column = data[name]
        if column.dtype == object:
            column = [None if x is None or x != x else str(x) for x in column]  # noqa: PLR0124 - NaN
        columns[str(name)] = pl.Series(str(name), column)
    return pl.DataFrame(columns)


# --- files ---------------------------------------------------------------------------------------


def _paths(origin: str) -> list[Path]:
    """The files that a path, a folder or a glob stands for, in sorted order."""
    path = Path(origin)
    if path.is_file():
        return [path]
    if path.is_dir():
        paths = [p for p in path.rglob("*") if p.is_file() and p.name.endswith(SUFFIXES)]
        paths = [p for p in paths if not p.name.startswith((".", "_"))]
        if not paths:
            raise UnreadableFile(f"{origin}: no CSV or Parquet file in this folder")
        return sorted(paths)
    paths = [Path(p) for p in sorted(glob.glob(origin, recursive=True)) if Path(p).is_file()]  # noqa: PTH207
    if not paths:
        hint = "no file matches" if glob.has_magic(origin) else "there is no such file"
        raise UnreadableFile(f"{origin}: {hint}; check the path")
    return paths


def _read_file(path: Path, encoding: str) -> pl.LazyFrame:
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read ({error.strerror})") from error
    if not head:
        raise UnreadableFile(f"{path}: the file is empty")
    if head == b"PAR1":
        return _scan_parquet(path)
    if path.suffix in (".parquet", ".pq"):
        raise UnreadableFile(f"{path}: not a Parquet file, whatever its name says")
    return _read_csv(path, encoding).lazy()


def _scan_parquet(path: Path) -> pl.LazyFrame:
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnreadableFile(
            f"{path}: damaged or cut off ({_first_line(error)}); copy or write it again"
        ) from error
    return frame


def _read_csv(path: Path, encoding: str) -> pl.DataFrame:
    """All columns of a CSV file, as the text they are written in."""
    header = _header(path, encoding)
    delimiter = _delimiter(header)
    text = _recoded(path, encoding)
    try:
        frame = pl.read_csv(
            path if text is None else text,
            separator=delimiter,
            infer_schema=False,
            glob=False,
        )
    except pl.exceptions.PolarsError as error:
        raise _explain_csv(path, encoding, delimiter, error) from error
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read ({_first_line(error)})") from error
    is_blank = pl.all_horizontal(pl.all().is_null())
    frame = frame.filter(~is_blank)
    if frame[:, -1].null_count():  # a row that is cut short ends in nulls
        _check_rows(path, encoding, delimiter)
    return frame


def _header(path: Path, encoding: str) -> str:
    with _opened(path, encoding) as file, _explained(path, encoding):
        return next((line for line in file if line.strip()), "")


def _delimiter(header: str) -> str:
    """The delimiter that occurs most in the header, outside quotes."""
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _recoded(path: Path, encoding: str) -> bytes | None:
    """The text in UTF-8, or None where the file is in UTF-8 already."""
    if _codec(path, encoding).startswith("utf-8"):
        return None
    with _opened(path, encoding) as file, _explained(path, encoding):
        return file.read().encode()


def _check_rows(path: Path, encoding: str, delimiter: str) -> None:
    """Find the first row that has more or fewer fields than the header."""
    csv.field_size_limit(1 << 30)
    with _opened(path, encoding) as file, _explained(path, encoding):
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        n_fields = 0
        try:
            for row in reader:
                n_fields = n_fields or len(row)
                if row and len(row) != n_fields:
                    raise RaggedRows(
                        f"{path}: line {reader.line_num} has {len(row)} fields, the header has "
                        f"{n_fields}; mend the line, or quote values that contain '{delimiter}'"
                    )
        except csv.Error as error:
            raise UnreadableFile(
                f"{path}: line {reader.line_num}: {error}; a quote may be missing"
            ) from error


def _explain_csv(path: Path, encoding: str, delimiter: str, error: Exception) -> InputError:
    """What really is wrong with a CSV file that could not be read."""
    if isinstance(error, pl.exceptions.NoDataError):
        return UnreadableFile(f"{path}: the file is empty")
    try:
        _check_rows(path, encoding, delimiter)  # also meets bytes that are no text
    except InputError as found:
        return found
    return UnreadableFile(f"{path}: cannot be read as CSV ({_first_line(error)})")


class _explained:  # noqa: N801 - used like a function
    """Turns failures of reading text into errors that say what to do."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnicodeDecodeError):
            raise _wrong_byte(self.path, self.encoding) from error
        if isinstance(error, EOFError | gzip.BadGzipFile | zlib.error):
            raise UnreadableFile(f"{self.path}: damaged or cut off gzip file ({error})") from error


def _wrong_byte(path: Path, encoding: str) -> WrongEncoding:
    """Name the first byte that is no text, and where it stands."""
    line = 1
    for raw in _raw_lines(path):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError as error:
            option = (
                "latin-1" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else "utf-8"
            )
            return WrongEncoding(
                f"{path}: line {line}: byte 0x{raw[error.start]:02x} is no {encoding} text; "
                f"say which encoding it is, e.g. --encoding {option}"
            )
        line += 1
    return WrongEncoding(f"{path}: no {encoding} text; say which encoding it is with --encoding")


def _raw_lines(path: Path) -> Iterator[bytes]:
    with _binary(path) as file:
        yield from file


def _opened(path: Path, encoding: str) -> IO[str]:
    return io.TextIOWrapper(_binary(path), encoding=_codec(path, encoding), newline="")


def _binary(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if is_gzip else path.open("rb")  # type: ignore[return-value]


def _codec(path: Path, encoding: str) -> str:
    """The codec to read a file with: the one that was named, but a byte order mark wins."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise ParameterError(f"encoding: there is no encoding '{encoding}'") from None
    with _binary(path) as file, _explained(path, encoding):
        head = file.read(3)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if head == codecs.BOM_UTF8 else name


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
