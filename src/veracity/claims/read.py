"""Files, frames and databases become a claims table, or a stream of claims."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from veracity.claims.checking import (
    as_claims,
    check_calendar,
    complete,
    lacking_notes,
    nothing_in,
    with_numbers,
)
from veracity.claims.normalise import Normalisation, Normalise, Rewriting, Seen, look
from veracity.claims.normalise import normalise as normalise_values
from veracity.claims.repeated import settled
from veracity.claims.schema import ClaimsTable, Kind, Text
from veracity.claims.weights import weighed
from veracity.errors import NoClaims
from veracity.io.databases import selection_of
from veracity.io.frames import FIRST_ROWS
from veracity.io.memory import bytes_per_claim, fits_in_memory
from veracity.printing import counted
from veracity.reading.options import ReadOptions, SourceFrom, Wide
from veracity.reading.tables import plan_tables, stamp_of
from veracity.workers import Prefetched

Columns = Mapping[str, str | list[str]]

FEW_ROWS = 10_000
"""So few rows need no look at how long their texts are."""


class ClaimsStream:
    """Claims that are read a batch at a time, so that they need not all be in memory at once.

    Rows without source, entity, fact or value are left out. `rows_read`, `seconds` and the counts
    in `notes` are complete when all batches have been read.
    """

    normalisation: Mapping[str, Any] | None = None
    changes: pl.DataFrame | None = None
    """See `NormalisedStream`."""

    def __init__(self, data: object, options: ReadOptions, *, what: str = "claims") -> None:
        began = time.perf_counter()
        is_text = options.kind == "numeric" and options.normalise is not False  # no numbers yet
        self.kind: Kind = "categorical" if is_text else options.kind
        self.encoding = options.encoding
        self.rows_read = 0
        self._what, self._are_samples = what, options.samples and what == "claims"
        self._n_lacking: Counter[str] = Counter()
        self._n_nameless = 0
        self.rows_kept = 0
        wanted = (*options.parts, *options.carrying) if what == "claims" else options.parts[1:]
        opened = plan_tables(data, wanted, options)
        self.origin, self.frame_kind, self.columns = (
            opened.origin,
            opened.frame_kind,
            opened.columns,
        )
        self.shape, self.types = options.told(opened.wide), opened.types
        self._are_numbers, self._is_text = options.kind == "numeric", is_text
        self._notes, self._tables = opened.notes, opened.tables
        self._files = {own.path: stamp_of(own.path) for own, _ in self._tables if own.path}
        self._begun: Prefetched[pl.DataFrame] | None = None
        self.seconds = time.perf_counter() - began

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed on the way."""
        notes = (*dict.fromkeys(self._notes), *lacking_notes(self._n_lacking))
        if 0 < self._n_nameless < self.rows_kept:
            rows = counted(
                self._n_nameless,
                "row names no attribute, and is",
                "rows name no attribute, and are",
            )
            notes = (*notes, f"{rows} taken as one without a name")
        return notes

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are; Parquet files and databases tell without being read."""
        return sum(self._n_rows_of_table)

    @cached_property
    def _n_rows_of_table(self) -> list[int]:
        return [plan.count(reader) for reader, plan in self._tables]

    @cached_property
    def text(self) -> Text:
        """How much text rows have, as the first of the largest file tell."""
        if self.n_rows <= FEW_ROWS:
            return Text()
        largest = int(np.argmax(self._n_rows_of_table))
        if self._begun is not None and largest == 0:
            return Text.of(self._begun.first.head(FIRST_ROWS))
        reader, plan = self._tables[largest]
        return Text.of(plan.apply(reader.head(FIRST_ROWS)))

    def begin(self) -> None:
        """Begin to read, on other threads, while something else is done."""
        reader, plan = self._tables[0]
        self._begun = Prefetched(plan.batches(reader))

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows that have all that a claim needs, some at a time."""
        self.rows_kept = self._n_nameless = 0
        begun, self._begun = self._begun, None
        for number, (reader, plan) in enumerate(self._tables):
            n_before = self.rows_read
            own = plan.batches(reader) if number or begun is None else iter(begun)
            for batch in self._timed(own):
                row = self.rows_read - n_before
                self.rows_read += len(batch)
                rows = self._checked(batch, reader.origin, row)
                self.rows_kept += len(rows)
                yield rows
        self._notes += [
            f"{path} was changed while it was read, so rows may be missing: read it again"
            for path, before in self._files.items()
            if None not in (before, now := stamp_of(path)) and now != before
        ]
        if not self.rows_kept:
            reason = "; ".join(self.notes) if self.rows_read else "it has no rows"
            raise nothing_in(self.origin, self._what, reason)

    def collect(self) -> pl.DataFrame:
        """All rows."""
        return pl.concat(list(self.batches()))

    def _checked(self, rows: pl.DataFrame, origin: str, first_row: int) -> pl.DataFrame:
        check_calendar(rows, origin, first_row)
        if "claim" in rows.columns:
            rows = rows.with_columns(claim=as_claims(rows["claim"], origin, first_row))
        rows, n_lacking = complete(rows)
        self._n_lacking += n_lacking
        rows = self._weighed(rows, origin)
        if "attribute" in rows.columns and rows["attribute"].dtype == pl.String:
            self._n_nameless += int((rows["attribute"] == "").sum())
        is_text = self._is_text and rows["value"].dtype == pl.String  # which is normalised first
        return with_numbers(rows, self.origin) if self._are_numbers and not is_text else rows

    def _weighed(self, rows: pl.DataFrame, origin: str) -> pl.DataFrame:
        """With weights as numbers; a sample is one of several where nothing else is told."""
        if self._are_samples and "weight" not in rows.columns:
            return rows.with_columns(weight=pl.lit(1.0))
        kept = weighed(rows, origin)
        if len(kept) < len(rows):
            self._n_lacking["weight"] += len(rows) - len(kept)
        return kept

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

    `look` says how to read the values that were seen, with notes on their sources. If some sources
    write otherwise than others, the claims are read once more, to count their values by form.
    """

    def __init__(
        self,
        stream: ClaimsStream,
        kind: Kind,
        look: Callable[[pl.DataFrame, pl.DataFrame], tuple[Normalisation, tuple[str, ...]]],
        like: pl.DataFrame | None = None,
    ) -> None:
        vars(self).update(vars(stream))
        seen = Seen()
        for rows in stream.batches():
            seen.add(rows)
        found, notes = look(seen.table, seen.formats)
        if found.forms:
            seen = Seen(found)
            for rows in self._again():
                seen.add(rows)
        self._rewriting = Rewriting(found, seen.table, like, notes)
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
        for rows in self._again():
            rewritten = self._rewriting.of(rows)
            self.rows_kept -= len(rows) - len(rewritten)
            yield rewritten

    def _again(self) -> Iterator[pl.DataFrame]:
        """Read the rows once more, and count them anew."""
        self.rows_read = 0
        self._n_lacking.clear()
        return super().batches()


def open_claims(
    data: object, options: ReadOptions, *, memory: int | None = None
) -> ClaimsTable | ClaimsStream:
    """Find the claims in what `veracity.discover` takes, to be read when they are encoded.

    To normalise, all values have to be seen first, so the claims are read at once; or twice, a
    batch at a time, where they need more than so many bytes of `memory`.
    """
    began = time.perf_counter()
    stream = ClaimsStream(data, options)
    if options.normalise is False:
        return stream
    if fits_in_memory(stream.n_rows, memory, bytes_per_claim(stream.text.new)):
        return _read(stream, options, began)
    if options.kind == "binary":  # there are no values to look at
        return stream
    own = partial(look, kinds=options.kinds_of_values, claims_kind=options.kind)
    return NormalisedStream(stream, options.kind, own)


def read_claims(
    data: object,
    *,
    columns: Columns | None = None,
    kind: Kind = "categorical",
    encoding: str = "utf-8",
    normalise: Normalise = False,
    wide: Wide | None = None,
    source_from: SourceFrom | None = None,
    samples: bool = False,
) -> ClaimsTable:
    """Read claims from a path, a frame or anything with an Arrow stream.

    Rows without source, entity, fact or value are left out; the notes say how many.

    Parameters
    ----------
    data
        What `veracity.discover` takes.
    columns
        Which column plays which part, e.g. ``{"source": "website"}``. The part "time" lets only the
        newest claim of a source about an item count; "weight" is how much a claim counts: a
        confidence, or a count.
    kind
        The kind of claims.
    encoding
        The encoding of text files.
    normalise
        Whether values that mean the same are brought to one spelling; or what the values of some
        attributes are, e.g. ``{"departure": "time"}``, the others being found out.
    wide
        "attributes" if a row is all that a source says about an entity, with a column for each
        attribute; "sources" if there is a column for each source; "entities" if a row is all that
        a source says, with a column for each entity. Recognised where it is plain. "samples" if a
        source was asked several times, with a column for each of its answers to one question; or,
        for "multiple", a column for each of its values.
    source_from
        "filename" if each file is a source, "sheet" if each sheet of a workbook is one, "table" if
        each of several tables of a database is.
    samples
        Whether rows of one source about one item are samples: each value counts by its share.
    """
    options = ReadOptions(
        columns=columns or {},
        kind=kind,
        encoding=encoding,
        normalise=normalise,
        wide=wide,
        source_from=source_from,
        samples=samples,
    )
    began = time.perf_counter()
    return _read(ClaimsStream(data, options), options, began)


def _read(stream: ClaimsStream, options: ReadOptions, began: float) -> ClaimsTable:
    """All claims of a stream, normalised if they are to be."""
    rows = stream.collect()
    if options.normalise is False:
        table = _settled(_table(stream, options.kind, rows))
        return replace(table, seconds=time.perf_counter() - began)
    found, normalised = normalise_values(rows, options.kinds_of_values, claims_kind=options.kind)
    table = _settled(_table(stream, options.kind, normalised.rows))
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
    options = ReadOptions(columns=columns or {}, kind=kind, normalise=normalise)
    return open_claims(selection_of(database, query, table=table), options)


def open_claims_like(
    data: object,
    options: ReadOptions,
    *,
    normalisation: Mapping[str, Any] | None,
    like: pl.DataFrame | None,
    memory: int | None = None,
) -> ClaimsTable | ClaimsStream:
    """Find claims whose values are normalised as others were, and spelt `like` them."""
    if normalisation is None:
        return open_claims(data, options, memory=memory)
    began, kind = time.perf_counter(), options.kind
    stream = ClaimsStream(data, replace(options, normalise=True))
    known = Normalisation.from_json(normalisation)
    if not fits_in_memory(stream.n_rows, memory, bytes_per_claim(stream.text.new)):
        return NormalisedStream(stream, kind, lambda _, formats: known.with_sources(formats), like)
    rows = stream.collect()
    normalised = known.apply(rows, like=like)
    if normalised.rows.is_empty():
        raise NoClaims(f"{stream.origin}: no claim names a value")
    table = _settled(_table(stream, kind, normalised.rows))
    return replace(
        table,
        notes=(*table.notes, *normalised.notes),
        seconds=time.perf_counter() - began,
        normalisation=normalisation,
        changes=normalised.changes,
    )


def _settled(table: ClaimsTable) -> ClaimsTable:
    """With the newest claims of each source, and the mean of its numbers, where asked for.

    The weights of other values stay: they are counted when all names are known.
    """
    rows, told = settled(table.rows, table.kind, table.origin)
    return replace(table, rows=rows, notes=(*table.notes, *told.notes))


def _table(stream: ClaimsStream, kind: Kind, rows: pl.DataFrame) -> ClaimsTable:
    return ClaimsTable(
        rows=rows,
        kind=kind,
        origin=stream.origin,
        frame_kind=stream.frame_kind,
        rows_read=stream.rows_read,
        notes=stream.notes,
        columns=stream.columns,
        shape=stream.shape,
        types=stream.types,
        encoding=stream.encoding,
    )
