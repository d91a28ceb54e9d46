"""Files and frames become a claims table, or a clear error."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from veracity.csv_file import read_csv
from veracity.errors import (
    BadValue,
    InputError,
    MissingColumn,
    NoClaims,
    ParameterError,
    UnreadableFile,
    VeracityError,
    first_line,
)
from veracity.normalise import Normalisation, Normalise
from veracity.normalise import normalise as normalise_values
from veracity.schema import CLAIM_COLUMNS, KINDS, ClaimsTable, FrameKind, Kind, find_columns

__all__ = ["TRUE_WORDS", "read_claims", "read_table", "read_truth", "read_truths_beside"]

PARQUET_SUFFIXES = (".parquet", ".pq")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")

Columns = Mapping[str, str]


class Gathered(NamedTuple):
    """The wanted columns of all files or of one frame, and what was noticed on the way."""

    rows: pl.DataFrame
    origin: str
    frame_kind: FrameKind
    notes: list[str]


def read_claims(
    data: object,
    *,
    columns: Columns | None = None,
    kind: Kind = "categorical",
    encoding: str = "utf-8",
    normalise: Normalise = False,
) -> ClaimsTable:
    """Read claims from a path, a frame or anything with an Arrow stream.

    Rows without source, entity, fact or value are left out; the notes say how many.

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
    normalise
        Whether values that mean the same are brought to one spelling; or what the values of some
        attributes are, e.g. ``{"departure": "time"}``, the others being found out.
    """
    began = time.perf_counter()
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    found = _gather(data, CLAIM_COLUMNS[kind], columns or {}, encoding)
    rows = _complete(found, "claims")
    normalisation, changes = None, None
    if normalise is not False:
        kinds = {} if normalise is True else normalise
        normalisation, normalised = normalise_values(rows, kinds, claims_kind=kind)
        rows, changes = normalised.rows, normalised.changes
        found.notes.extend(normalised.notes)
    if kind == "numeric":
        rows = _with_numbers(rows, found.origin)
    return ClaimsTable(
        rows=rows,
        kind=kind,
        origin=found.origin,
        frame_kind=found.frame_kind,
        rows_read=len(found.rows),
        notes=tuple(found.notes),
        columns=dict(columns or {}),
        encoding=encoding,
        seconds=time.perf_counter() - began,
        normalisation=None if normalisation is None else normalisation.to_json(),
        changes=changes,
    )


def read_truth(
    data: object,
    *,
    kind: Kind,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    normalisation: Mapping[str, Any] | None = None,
    like: pl.DataFrame | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Read known truths: rows of entity, attribute and value, or of fact and claim.

    Where the claims were normalised, the truths are, too, and spelt `like` the facts.
    """
    found = _gather(data, CLAIM_COLUMNS[kind][1:], columns or {}, encoding)
    rows = _complete(found, "truths")
    if normalisation is not None and rows.columns[-1] == "value":
        normalised = Normalisation.from_json(normalisation).apply(rows, like=like)
        rows = normalised.rows
        if normalised.n_left_out:
            found.notes.append(
                f"{normalised.n_left_out:,} truths name no value, or too little of one, and are "
                "left out"
            )
    return (_with_numbers(rows, found.origin) if kind == "numeric" else rows), found.notes


def read_truths_beside(claims: ClaimsTable, data: object) -> tuple[pl.DataFrame, list[str]]:
    """Read truths that come with claims, and are likely to be written as these are.

    They may have the names of the claims' columns, or the usual ones.
    """
    named = {part: name for part, name in claims.columns.items() if part != "source"}
    read = partial(
        read_truth,
        data,
        kind=claims.kind,
        encoding=claims.encoding,
        normalisation=claims.normalisation,
        like=claims.rows,
    )
    try:
        return read(columns=named)
    except MissingColumn:
        if not named:
            raise
        return read()


def read_table(data: object, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path or a frame, with all its columns."""
    if not isinstance(data, str | os.PathLike):
        with _reading_frame(_name(data)):
            return _as_polars(data)[0].collect()
    parts = []
    for path in _paths(os.fspath(data)):
        with _reading_file(path):
            parts.append(_read_file(path, encoding).collect())
    return _stack(parts, [])


def _gather(data: object, wanted: Sequence[str], given: Columns, encoding: str) -> Gathered:
    """Read all parts, choose the wanted columns of each, put them one below the other."""
    notes: list[str] = []
    if not isinstance(data, str | os.PathLike):
        with _reading_frame(_name(data)):
            frame, frame_kind = _as_polars(data)
            rows = _choose(frame, wanted, given, _name(data), notes)
        return Gathered(rows, _name(data), frame_kind, notes)
    parts = []
    for path in _paths(os.fspath(data)):
        with _reading_file(path):
            frame = _read_file(path, encoding)
            parts.append(_choose(frame, wanted, given, str(path), notes))
    rows = _stack(parts, notes)
    return Gathered(rows, os.fspath(data), "polars", list(dict.fromkeys(notes)))


def _choose(
    frame: pl.LazyFrame, wanted: Sequence[str], given: Columns, origin: str, notes: list[str]
) -> pl.DataFrame:
    """Keep the wanted columns, under the names we give them."""
    found = frame.collect_schema()
    chosen = find_columns(found.names(), wanted, given=given, origin=origin)
    for part, name in chosen.items():
        if found[name].is_nested() or found[name] == pl.Object:
            raise BadValue(
                f"{origin}: column '{name}' ({part}) holds {found[name]}, not plain values; "
                "turn it into text or numbers first"
            )
        if name != part and part not in given:
            notes.append(f"column '{name}' is taken as the {part}")
    plain = [_plain(name, found[name]).alias(part) for part, name in chosen.items()]
    rows = frame.select(plain).collect()
    if "claim" in chosen:
        rows = rows.with_columns(claim=_as_claims(rows["claim"], origin))
    return rows


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """Text for categories, null for NaN, and nothing else changed."""
    if dtype in (pl.Categorical, pl.Enum):
        return pl.col(name).cast(pl.String)
    return pl.col(name).fill_nan(None) if dtype.is_float() else pl.col(name)


def _stack(parts: list[pl.DataFrame], notes: list[str]) -> pl.DataFrame:
    """Put tables one below the other; a column of text here and numbers there becomes text."""
    dtypes_of_column: dict[str, set[pl.DataType]] = {}
    for part in parts:
        for name, dtype in part.schema.items():
            dtypes_of_column.setdefault(name, set()).add(dtype)
    mixed = []
    for name, dtypes in dtypes_of_column.items():
        known = {dtype for dtype in dtypes if dtype != pl.Null}
        if len(known) > 1 and not all(dtype.is_numeric() for dtype in known):
            mixed.append(name)
            notes.append(f"the {name} is of different types in different files: taken as text")
    as_text = pl.col(mixed).cast(pl.String)
    return pl.concat([part.with_columns(as_text) for part in parts], how="diagonal_relaxed")


def _complete(found: Gathered, what: str) -> pl.DataFrame:
    """The rows that have all that a claim needs; the notes say how many lack what."""
    rows = found.rows
    for name in rows.columns:
        if name == "attribute":
            rows = rows.with_columns(_without_null(rows[name]))
            continue
        is_empty = rows[name].is_null()
        if rows[name].dtype == pl.String:
            is_empty = is_empty | (rows[name] == "").fill_null(value=True)
        n_empty = int(is_empty.sum())
        if n_empty:
            lacking = f"without {'an' if name == 'entity' else 'a'} {name}"
            found.notes.append(
                f"1 row {lacking} is left out"
                if n_empty == 1
                else f"{n_empty:,} rows {lacking} are left out"
            )
            rows = rows.filter(~is_empty)
    if rows.is_empty():
        reason = "; ".join(found.notes) if len(found.rows) else "it has no rows"
        raise NoClaims(f"{found.origin}: no {what} in it ({reason}); check the data and --columns")
    return rows


def _with_numbers(rows: pl.DataFrame, origin: str) -> pl.DataFrame:
    """The rows with their values as numbers."""
    numbers = rows["value"].cast(pl.Float64, strict=False)
    is_bad = numbers.is_null() | ~numbers.is_finite()
    if is_bad.any():
        bad = rows.row(is_bad.arg_max() or 0, named=True)
        raise BadValue(
            f"{origin}: the value '{bad['value']}' of '{bad['entity']}' is no number; "
            "leave such rows out, or use --kind categorical"
        )
    return rows.with_columns(value=numbers)


def _without_null(attribute: pl.Series) -> pl.Series:
    """An attribute that is missing is the empty one."""
    return attribute.cast(pl.String).fill_null("") if attribute.null_count() else attribute


def _as_claims(column: pl.Series, origin: str) -> pl.Series:
    """True and false, from the usual words and numbers for them."""
    if column.dtype == pl.Boolean:
        return column
    if column.dtype.is_numeric():
        is_true, is_false = column == 1, column == 0
    else:
        words = column.cast(pl.String).replace("", None).str.strip_chars().str.to_lowercase()
        is_true, is_false = words.is_in(TRUE_WORDS), words.is_in(FALSE_WORDS)
    is_bad = ~(is_true | is_false)
    if is_bad.any():
        row = is_bad.arg_true()[0]
        raise BadValue(
            f"{origin}: row {row + 1} claims {str(column[row])!r}, which is neither true nor "
            "false; use true/false, yes/no or 1/0, or --kind categorical if claims name values"
        )
    return is_true


# --- frames --------------------------------------------------------------------------------------


def _name(data: object) -> str:
    return f"the {type(data).__module__.split('.')[0]} {type(data).__name__}"


def _as_polars(data: Any) -> tuple[pl.LazyFrame, FrameKind]:  # noqa: ANN401
    """Any frame as a lazy polars frame, and the kind to give back."""
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return data.lazy(), "polars"
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"{_name(data)} holds no claims that can be read; give a path, a frame, or an object "
            "with an Arrow stream"
        )
    library = type(data).__module__.split(".")[0]
    if library == "pandas":
        return _from_pandas(data).lazy(), "pandas"
    return pl.DataFrame(data).lazy(), "pyarrow" if library == "pyarrow" else "polars"


def _from_pandas(data: Any) -> pl.DataFrame:  # noqa: ANN401
    """A pandas frame; columns of mixed types are taken as text."""
    if not hasattr(data, "columns"):
        raise InputError(f"{_name(data)} is a single column; give a frame")
    names = [str(name) for name in data.columns]
    if len(set(names)) < len(names):
        raise InputError(f"{_name(data)} has several columns of one name; rename them")
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
    except (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        is_missing = column.isna()
        texts = [None if gone else str(cell) for cell, gone in zip(column, is_missing, strict=True)]
        return pl.Series(texts, dtype=pl.String)


# --- files ---------------------------------------------------------------------------------------


def _paths(origin: str) -> list[Path]:
    """The files that a path, a folder or a glob stands for, in sorted order."""
    try:
        origin.encode()
    except UnicodeEncodeError:
        raise UnreadableFile(f"{origin!r}: this name is no Unicode; rename the file") from None
    path = Path(origin or "''")  # an empty name is no folder, though Path takes it for this one
    with _reading_file(path):
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


def _read_file(path: Path, encoding: str) -> pl.LazyFrame:
    with path.open("rb") as file:
        head = file.read(4)
    if not head:
        raise UnreadableFile(f"{path}: the file is empty; give one with a header and claims")
    if head == b"PAR1":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    if path.name.lower().endswith(PARQUET_SUFFIXES):
        raise UnreadableFile(f"{path}: not a Parquet file, whatever its name says; write it again")
    return read_csv(path, encoding).lazy()


@contextlib.contextmanager
def _reading_file(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or first_line(error)
        raise UnreadableFile(
            f"{path}: cannot be read ({reason}); check the path and its permissions"
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise UnreadableFile(
            f"{path}: damaged or cut off ({first_line(error)}); copy or write it again"
        ) from error


@contextlib.contextmanager
def _reading_frame(name: str) -> Iterator[None]:
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
