"""Files, frames and databases become a claims table, or a clear error."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import polars as pl

from veracity.claims.normalise import Normalisation, Normalise, Rewriting, Seen, detect
from veracity.claims.normalise import normalise as normalise_values
from veracity.claims.schema import CLAIM_COLUMNS, KINDS, ClaimsTable, Kind, find_columns
from veracity.claims.spark_rows import SparkClaims
from veracity.errors import BadValue, MissingColumn, NoClaims, ParameterError
from veracity.io.databases import Selection, StreamedRows, column_names, is_address, selection_of
from veracity.io.files import (
    Part,
    as_polars,
    batches_of,
    has_null,
    n_rows_of,
    name_of,
    open_file,
    paths_of,
    reading_file,
    reading_frame,
)
from veracity.io.frames import FrameKind
from veracity.io.memory import fits
from veracity.naming import as_text, is_in_calendar, rendered
from veracity.printing import in_short

__all__ = [
    "TRUE_WORDS",
    "ClaimsStream",
    "checked_rows",
    "lacking_notes",
    "open_claims",
    "open_claims_like",
    "read_claims",
    "read_database",
    "read_table",
    "read_truth",
    "read_truths_beside",
]

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")

Columns = Mapping[str, str]


class ClaimsStream:
    """Claims that are read a batch at a time, so that they need not all be in memory at once.

    Rows without source, entity, fact or value are left out. `rows_read`, `seconds` and the counts
    in `notes` are complete when all batches have been read.
    """

    normalisation: Mapping[str, Any] | None = None
    changes: pl.DataFrame | None = None
    """See `NormalisedStream`."""

    def __init__(
        self, data: object, columns: Columns, kind: Kind, encoding: str, *, what: str = "claims"
    ) -> None:
        began = time.perf_counter()
        self.kind, self.columns, self.encoding = kind, dict[str, str](), encoding
        self._are_numbers = kind == "numeric"
        self.rows_read = 0
        self._what = what
        self._n_lacking: Counter[str] = Counter()
        wanted = CLAIM_COLUMNS[kind] if what == "claims" else CLAIM_COLUMNS[kind][1:]
        self.origin, self.frame_kind, parts, self._notes = _open(
            data, wanted, columns, encoding, self.columns
        )
        self._parts = _with_attributes(_alike(parts, self._notes))
        self.seconds = time.perf_counter() - began

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed on the way."""
        return (*dict.fromkeys(self._notes), *lacking_notes(self._n_lacking))

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are; Parquet files and databases tell without being read."""
        return sum(map(n_rows_of, self._parts))

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows that have all that a claim needs, some at a time."""
        n_kept = 0
        for part in self._parts:
            n_before = self.rows_read
            for batch in self._timed(batches_of(part)):
                row = self.rows_read - n_before
                self.rows_read += len(batch)
                rows = self._checked(batch, part.origin, row)
                n_kept += len(rows)
                yield rows
        if not n_kept:
            reason = "; ".join(self.notes) if self.rows_read else "it has no rows"
            raise NoClaims(
                f"{self.origin}: no {self._what} in it ({reason}); check the data and --columns"
            )

    def collect(self) -> pl.DataFrame:
        """All rows."""
        return pl.concat(list(self.batches()))

    def _checked(self, rows: pl.DataFrame, origin: str, first_row: int) -> pl.DataFrame:
        if "claim" in rows.columns:
            rows = rows.with_columns(claim=_as_claims(rows["claim"], origin, first_row))
        _check_calendar(rows, origin, first_row)
        rows, n_lacking = _complete(rows)
        self._n_lacking += n_lacking
        return _with_numbers(rows, self.origin) if self._are_numbers else rows

    def _timed(self, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        while True:
            began = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - began
            if batch is None:
                return
            yield batch


class NormalisedStream(ClaimsStream):
    """Claims that are read twice, a batch at a time: to see their values, and to rewrite these.

    `detect` says how to read the values that were seen.
    """

    def __init__(
        self,
        stream: ClaimsStream,
        kind: Kind,
        detect: Callable[[pl.DataFrame], Normalisation],
        like: pl.DataFrame | None = None,
    ) -> None:
        vars(self).update(vars(stream))
        seen = Seen()
        for rows in stream.batches():
            seen.add(rows)
        found = detect(seen.table)
        self._rewriting = Rewriting(found, seen.table, like)
        self.kind, self.normalisation = kind, found.to_json()
        self.changes, self.seconds = self._rewriting.changes, stream.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed on the way, and how values were read."""
        return (*super().notes, *self._rewriting.notes)

    @property
    def like(self) -> pl.DataFrame | None:
        """The values as they are written now."""
        return self._rewriting.like

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows that have all that a claim needs, with their values normalised."""
        self.rows_read = 0
        self._n_lacking.clear()
        for rows in super().batches():
            yield self._rewriting.of(rows)


def open_claims(
    data: object,
    *,
    columns: Columns | None = None,
    kind: Kind = "categorical",
    encoding: str = "utf-8",
    normalise: Normalise = False,
    memory: int | None = None,
) -> ClaimsTable | ClaimsStream:
    """Find the claims in what `veracity.discover` takes, to be read when they are encoded.

    To normalise, all values have to be seen first, so the claims are read at once; or twice, a
    batch at a time, where they need more than so many bytes of `memory`.
    """
    if normalise is False:
        return _stream(data, columns, kind, encoding, normalise)
    stream = _stream(data, columns, kind, encoding, normalise)
    if fits(stream.n_rows, memory):
        return read_claims(data, columns=columns, kind=kind, encoding=encoding, normalise=normalise)
    kinds = {} if normalise is True else normalise
    return NormalisedStream(stream, kind, partial(detect, kinds=kinds, claims_kind=kind))


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
    stream = _stream(data, columns, kind, encoding, normalise)
    rows = stream.collect()
    if normalise is False:
        return replace(_table(stream, kind, rows), seconds=time.perf_counter() - began)
    kinds = {} if normalise is True else normalise
    found, normalised = normalise_values(rows, kinds, claims_kind=kind)
    table = _table(stream, kind, normalised.rows)
    return replace(
        table,
        notes=(*table.notes, *normalised.notes),
        seconds=time.perf_counter() - began,
        normalisation=found.to_json(),
        changes=normalised.changes,
    )


def read_database(
    database: object,
    query: str | None = None,
    *,
    table: str | None = None,
    columns: Columns | None = None,
    kind: Kind = "categorical",
    normalise: Normalise = False,
) -> ClaimsTable | ClaimsStream:
    """Find claims in a database, for `veracity.discover` and whatever else takes claims.

    They are read in batches when they are wanted, and only the columns that are.

    Parameters
    ----------
    database
        An address (``postgresql://user@host/database``, ``sqlite:///file.db``,
        ``duckdb:///file.duckdb``), a DB-API or ADBC connection, or an engine or connection of
        SQLAlchemy. A connection that is given stays open, and nothing is committed.
    query
        A query that gives the claims; one word is the name of a table.
    table
        The name of a table or view, with its schema before a point where that is needed.
    columns
        Which column plays which part, e.g. ``{"source": "website"}``.
    kind
        The kind of claims.
    normalise
        As `read_claims` takes it; then the claims are read at once.

    Examples
    --------
    >>> import sqlite3
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("create table said (source, entity, value)")
    >>> _ = database.execute("insert into said values ('a', 'x', 1), ('b', 'x', 2), ('c', 'x', 2)")
    >>> read_database(database, "select * from said where source <> 'b'").collect()["value"].sum()
    3
    >>> database.close()
    """
    if table is None and query is not None and len(query.split()) == 1:
        table, query = query.strip(), None
    return open_claims(
        selection_of(database, query, table=table), columns=columns, kind=kind, normalise=normalise
    )


def open_claims_like(
    data: object,
    *,
    columns: Columns | None = None,
    kind: Kind,
    encoding: str = "utf-8",
    normalisation: Mapping[str, Any] | None,
    like: pl.DataFrame | None,
    memory: int | None = None,
) -> ClaimsTable | ClaimsStream:
    """Find claims whose values are normalised as others were, and spelt `like` them."""
    if normalisation is None:
        return open_claims(data, columns=columns, kind=kind, encoding=encoding)
    began = time.perf_counter()
    stream = _stream(data, columns, kind, encoding, normalise=True)
    known = Normalisation.from_json(normalisation)
    if not fits(stream.n_rows, memory):
        return NormalisedStream(stream, kind, lambda seen: known, like)
    rows = stream.collect()
    normalised = known.apply(rows, like=like)
    if normalised.rows.is_empty():
        raise NoClaims(f"{stream.origin}: no claim names a value")
    table = _table(stream, kind, normalised.rows)
    return replace(
        table,
        notes=(*table.notes, *normalised.notes),
        seconds=time.perf_counter() - began,
        normalisation=normalisation,
        changes=normalised.changes,
    )


def _table(stream: ClaimsStream, kind: Kind, rows: pl.DataFrame) -> ClaimsTable:
    return ClaimsTable(
        rows=rows,
        kind=kind,
        origin=stream.origin,
        frame_kind=stream.frame_kind,
        rows_read=stream.rows_read,
        notes=stream.notes,
        columns=stream.columns,
        encoding=stream.encoding,
    )


def _stream(
    data: object,
    columns: Columns | None,
    kind: Kind,
    encoding: str,
    normalise: Normalise,
    what: str = "claims",
) -> ClaimsStream:
    """What is to be read; text that normalising will turn into numbers is no number yet."""
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if columns is not None and not isinstance(columns, Mapping):
        raise ParameterError(f"columns must be a mapping from part to column, got {columns!r}")
    if not isinstance(normalise, bool | Mapping):
        raise ParameterError(
            "normalise must be True, False, or say what the values of attributes are, e.g. "
            f"{{'departure': 'time'}}; got {normalise!r}"
        )
    is_text = kind == "numeric" and normalise is not False
    read_as: Kind = "categorical" if is_text else kind
    return ClaimsStream(data, columns or {}, read_as, encoding, what=what)


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
    stream = _stream(data, columns, kind, encoding, normalisation is not None, what="truths")
    rows, notes = stream.collect(), list(stream.notes)
    if normalisation is not None and "value" in rows.columns:
        normalised = Normalisation.from_json(normalisation).apply(rows, like=like)
        rows = normalised.rows
        if normalised.n_left_out:
            notes.append(
                f"{normalised.n_left_out:,} truths name no value, or too little of one, and are "
                "left out"
            )
    return rows, notes


def read_truths_beside(
    claims: ClaimsTable | ClaimsStream | SparkClaims, data: object
) -> tuple[pl.DataFrame, list[str]]:
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
        like=_like(claims),
    )
    try:
        return read(columns=named)
    except MissingColumn:
        if not named:
            raise
        return read()


def _like(claims: ClaimsTable | ClaimsStream | SparkClaims) -> pl.DataFrame | None:
    """Values by which those of truths are spelt."""
    if isinstance(claims, ClaimsTable):
        return claims.rows
    return claims.like if isinstance(claims, NormalisedStream | SparkClaims) else None


def read_table(data: object, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path, a database or a frame, with all its columns."""
    selection = _selected(data)
    if selection is not None:
        return pl.concat(list(StreamedRows.of(selection).batches()))
    if not isinstance(data, str | os.PathLike):
        with reading_frame(name_of(data)):
            return as_polars(data)[0].collect()
    parts = []
    for path in paths_of(os.fspath(data)):
        with reading_file(path):
            parts.append(Part(open_file(path, encoding), str(path), path))
    return pl.concat([rows for part in _alike(parts, []) for rows in batches_of(part)])


def _open(
    data: object, wanted: Sequence[str], given: Columns, encoding: str, named: dict[str, str]
) -> tuple[str, FrameKind, list[Part], list[str]]:
    """Find the wanted columns in each part of the data; also the origin, the kind, and notes.

    `named` is told which ones they are, in the first part that has them.
    """
    notes: list[str] = []
    selection = _selected(data)
    if selection is not None:
        name = selection.name
        chosen = find_columns(column_names(selection), wanted, given=given, origin=name)
        streamed = StreamedRows.of(selection, chosen.values())
        return (
            name,
            "polars",
            [Part(_choose(streamed, wanted, given, name, (notes, named)), name)],
            notes,
        )
    if not isinstance(data, str | os.PathLike):
        name = name_of(data)
        with reading_frame(name):
            frame, frame_kind = as_polars(data)
            rows = _choose(frame, wanted, given, name, (notes, named)).collect()
            part = Part(rows.lazy(), name)
        return name, frame_kind, [part], notes
    parts = []
    for path in paths_of(os.fspath(data)):
        with reading_file(path):
            frame = open_file(path, encoding)
            lazy = _choose(frame, wanted, given, str(path), (notes, named))
            parts.append(Part(lazy, str(path), path))
    return os.fspath(data), "polars", parts, notes


def _selected(data: object) -> Selection | None:
    """What is asked of a database, if it is one: an address names the table behind a ``#``."""
    if isinstance(data, Selection):
        return data
    return selection_of(data) if isinstance(data, str) and is_address(data) else None


Rows = TypeVar("Rows", pl.LazyFrame, StreamedRows)


def _choose(
    frame: Rows,
    wanted: Sequence[str],
    given: Columns,
    origin: str,
    told: tuple[list[str], dict[str, str]],
) -> Rows:
    """Keep the wanted columns, under the names we give them; notes and names are told."""
    notes, named = told
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
    named |= {part: name for part, name in chosen.items() if part not in named}
    return frame.select(_plain(name, found[name]).alias(part) for part, name in chosen.items())


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """Text for categories, null for NaN, one zero for the two, and nothing else changed."""
    if dtype in (pl.Categorical, pl.Enum):
        return rendered(pl.col(name), dtype)
    return pl.col(name).fill_nan(None) + 0.0 if dtype.is_float() else pl.col(name)


def _alike(parts: list[Part], notes: list[str]) -> list[Part]:
    """The parts with the same columns; one of text here and numbers there becomes text."""
    schemas = [part.rows.collect_schema() for part in parts]
    if all(schema == schemas[0] for schema in schemas):
        return parts
    frames = [schema.to_frame().drop("claim", strict=False) for schema in schemas]
    for name in dict.fromkeys(name for frame in frames for name in frame.columns):
        known = {frame[name].dtype for frame in frames if name in frame.columns} - {pl.Null()}
        if len(known) > 1 and not all(dtype.is_numeric() for dtype in known):
            frames.append(pl.DataFrame(schema={name: pl.String}))
            frames = [
                frame.with_columns(pl.Series(name, dtype=pl.String)) if name in frame else frame
                for frame in frames
            ]
            notes.append(f"the {name} is of different types in different files: taken as text")
    common = pl.concat(frames, how="diagonal_relaxed").schema

    def in_common(name: str, own: pl.Schema) -> pl.Expr:
        column = pl.col(name) if name in own else pl.lit(None).alias(name)
        if name in own and common.get(name) == pl.String:
            return rendered(column, own[name])
        return column.cast(common[name]) if name in common else column

    names = dict.fromkeys([*schemas[0], *common])
    return [
        part._replace(rows=part.rows.select(in_common(name, own) for name in names))
        for part, own in zip(parts, schemas, strict=True)
    ]


def _with_attributes(parts: list[Part]) -> list[Part]:
    """The parts with the empty attribute where one is missing; then all attributes are text."""
    dtype = parts[0].rows.collect_schema().get("attribute")
    if dtype is None:
        return parts
    if dtype != pl.String and not any(has_null(part, "attribute") for part in parts):
        return parts
    text = rendered(pl.col("attribute"), dtype).fill_null("")
    return [part._replace(rows=part.rows.with_columns(text)) for part in parts]


def _check_calendar(rows: pl.DataFrame, origin: str, first_row: int | None) -> None:
    """Refuse dates that no calendar has: they could neither be shown nor written as text."""
    for column in rows:
        is_wrong = ~is_in_calendar(column)
        if is_wrong.any():
            row = is_wrong.arg_max() or 0
            which = "a row" if first_row is None else f"row {first_row + row + 1}"
            raise BadValue(
                f"{origin}: {which}: the {column.name} is no date from the year 1 to 9999; mend "
                "it, or turn the column into text or numbers"
            )


def _complete(rows: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The rows that have all that a claim needs, and how many lack what."""
    n_lacking = Counter[str]()
    for name in rows.columns:
        if name == "attribute":
            continue
        is_empty = rows[name].is_null()
        if rows[name].dtype == pl.String:
            is_empty = is_empty | (rows[name] == "").fill_null(value=True)
        elif rows[name].dtype == pl.Binary:
            is_empty = is_empty | (rows[name].bin.size() == 0).fill_null(value=True)
        n_empty = int(is_empty.sum())
        if n_empty:
            n_lacking[name] = n_empty
            rows = rows.filter(~is_empty)
    return rows, n_lacking


def checked_rows(rows: pl.DataFrame, kind: Kind, origin: str) -> tuple[pl.DataFrame, Counter[str]]:
    """Rows that stand in no order, as claims; and how many lack what."""
    rows = rows.select(_plain(name, dtype) for name, dtype in rows.schema.items())
    if "claim" in rows.columns:
        rows = rows.with_columns(claim=_as_claims(rows["claim"], origin))
    rows, n_lacking = _complete(rows)
    return (_with_numbers(rows, origin) if kind == "numeric" else rows), n_lacking


def lacking_notes(n_lacking: Counter[str]) -> tuple[str, ...]:
    """How many rows were left out, and why."""
    return tuple(itertools.starmap(_lacking, n_lacking.items()))


def _lacking(name: str, count: int) -> str:
    lacking = f"without {'an' if name == 'entity' else 'a'} {name}"
    return (
        f"1 row {lacking} is left out" if count == 1 else f"{count:,} rows {lacking} are left out"
    )


def _with_numbers(rows: pl.DataFrame, origin: str) -> pl.DataFrame:
    """The rows with their values as numbers."""
    values = rows["value"]
    values = values if values.dtype.is_numeric() else as_text(values)
    numbers = values.cast(pl.Float64, strict=False)
    is_bad = numbers.is_null() | ~numbers.is_finite()
    if is_bad.any():
        bad = rows.row(is_bad.arg_max() or 0, named=True)
        raise BadValue(
            f"{origin}: the value '{in_short(bad['value'])}' of '{in_short(bad['entity'])}' is no "
            "number; "
            "leave such rows out, or use --kind categorical"
        )
    return rows.with_columns(value=numbers + 0.0)


def _as_claims(column: pl.Series, origin: str, first_row: int | None = None) -> pl.Series:
    """True and false, from the usual words and numbers for them."""
    if column.dtype == pl.Boolean:
        return column
    if column.dtype.is_numeric():
        is_true, is_false = column == 1, column == 0
    else:
        words = as_text(column).replace("", None).str.strip_chars().str.to_lowercase()
        is_true, is_false = words.is_in(TRUE_WORDS), words.is_in(FALSE_WORDS)
    is_bad = ~(is_true | is_false)
    if is_bad.any():
        row = is_bad.arg_true()[0]
        which = "a row" if first_row is None else f"row {first_row + row + 1}"
        raise BadValue(
            f"{origin}: {which} claims '{in_short(column[row])}', which is neither true nor false; "
            "use true/false, yes/no or 1/0, or --kind categorical if claims name values"
        )
    return is_true
