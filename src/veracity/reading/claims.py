"""Claims that were found in files, frames and databases, to be read when they are encoded."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.errors import NoClaims
from veracity.io.databases import selection_of
from veracity.io.frames import FIRST_ROWS, ROWS_PER_BATCH, FrameKind
from veracity.io.memory import bytes_per_claim, fits_in_memory
from veracity.io.reader import Reader
from veracity.printing import counted
from veracity.reading.clean import (
    as_claims,
    check_calendar,
    complete,
    lacking_notes,
    nothing_in,
    weighed,
    with_numbers,
)
from veracity.reading.normalise import (
    Find,
    Normalisation,
    Normalise,
    Rewriting,
    look,
    rewriting_of,
)
from veracity.reading.options import ReadOptions, SourceFrom, Wide
from veracity.reading.plan import ReadPlan
from veracity.reading.repeated import settled
from veracity.reading.schema import Kind
from veracity.reading.tables import plan_tables, stamp_of
from veracity.workers import Prefetched

Columns = Mapping[str, str | list[str]]

FEW_ROWS = 10_000
"""With so few rows, the length of their texts does not matter."""


class Text(NamedTuple):
    """Bytes of text in a row on average, and those that no row before it had."""

    all: float = 0.0
    new: float = 0.0

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Text:
        """Return the averages of some rows.

        >>> Text.of(pl.DataFrame({"source": ["a", "a"], "value": ["long", "longer"]}))
        Text(all=6.0, new=5.5)
        """
        texts = rows.select(pl.col(pl.String)).get_columns()
        new, n_rows = [text.unique() for text in texts], max(len(rows), 1)
        return cls(_n_bytes(texts) / n_rows, _n_bytes(new) / n_rows)


def _n_bytes(texts: list[pl.Series]) -> int:
    return sum(int(text.str.len_bytes().sum()) for text in texts)


class Claims:
    """Claims that were found, to be read a batch at a time, or all at once and kept.

    Rows without source, entity, fact or value are left out.

    Attributes
    ----------
    kind
        The kind of claims.
    origin
        What messages call them.
    columns
        The columns whose own names are other than the roles they play.
    shape
        What has to be said of the shape of the table, beside its columns, to read it again.
    types
        The types of columns whose values may have become text beside others, in their order.
    rows_read, rows_kept
        The number of rows, and of those that have all that a claim needs. They, `seconds` and the
        counts in `notes` are complete when all rows have been read.
    normalisation
        How values were normalised, as `Normalisation.to_json` has it; None if they were not.
    changes
        The values that normalising changed.
    """

    def __init__(self, data: object, options: ReadOptions, *, what: str = "claims") -> None:
        began = time.perf_counter()
        wanted = (*options.parts, *options.carrying) if what == "claims" else options.parts[1:]
        opened = plan_tables(data, wanted, options)
        self._begin_as(options.kind, opened.origin, opened.frame_kind)
        self.columns: Mapping[str, str] = opened.columns
        self.shape: Mapping[str, str] = options.told(opened.wide)
        self.types, self.encoding = opened.types, options.encoding
        self._what, self._are_samples = what, options.samples and what == "claims"
        self._are_numbers = options.kind == "numeric"
        self._is_text = self._are_numbers and options.normalise is not False  # no numbers yet
        self._notes: list[str] = opened.notes
        self._tables: list[tuple[Reader, ReadPlan]] = opened.tables
        self.seconds = time.perf_counter() - began

    def _begin_as(self, kind: Kind, origin: str, frame_kind: FrameKind) -> None:
        self.kind, self.origin, self.frame_kind = kind, origin, frame_kind
        self.rows_read = self.rows_kept = 0
        self.seconds = 0.0
        self.normalisation: Mapping[str, Any] | None = None
        self.changes: pl.DataFrame | None = None
        self._n_lacking, self._n_complete, self._n_nameless = Counter[str](), 0, 0
        self._notes_on_repeated: tuple[str, ...] = ()
        self._prefetched: Prefetched[pl.DataFrame] | None = None
        self._mapping: Rewriting | None = None
        self._kept: pl.DataFrame | None = None

    @classmethod
    def of_rows(cls, rows: pl.DataFrame, kind: Kind, origin: str) -> Claims:
        """Return claims that are rows under the names of ``CLAIM_COLUMNS``."""
        claims = cls.__new__(cls)
        claims._begin_as(kind, origin, "polars")
        claims.columns, claims.shape, claims.types, claims.encoding = {}, {}, {}, "utf-8"
        claims._notes, claims._tables = [], []
        claims._kept, claims.rows_read, claims.rows_kept = rows, len(rows), len(rows)
        return claims

    def with_rows(self, rows: pl.DataFrame) -> Claims:
        """Return the same with other rows, such as some of them."""
        other = copy.copy(self)
        other._kept, other.rows_kept = rows, len(rows)
        for name in ("n_rows", "text"):
            other.__dict__.pop(name, None)
        return other

    @property
    def rows(self) -> pl.DataFrame:
        """All claims, read once and kept; of a source's times, the newest."""
        if self._kept is None:
            rows, counts = settled(self.collect(), self.kind, self.origin)
            self._notes_on_repeated = counts.notes
            self._kept, self.rows_kept = rows, len(rows)
        return self._kept

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what was read, what was left out, and how values were normalised."""
        notes = [*dict.fromkeys(self._notes), *lacking_notes(self._n_lacking)]
        if 0 < self._n_nameless < self._n_complete:
            rows = counted(
                self._n_nameless,
                "row names no attribute, and is",
                "rows name no attribute, and are",
            )
            notes.append(f"{rows} taken as one without a name")
        of_values = () if self._mapping is None else self._mapping.notes
        return (*notes, *self._notes_on_repeated, *of_values)

    @property
    def like(self) -> pl.DataFrame | None:
        """Values as they are spelt here, if they are at hand: truths are spelt like them."""
        return self._kept if self._mapping is None else self._mapping.like

    @cached_property
    def n_rows(self) -> int:
        """The number of rows; Parquet files and databases have it without being read."""
        return sum(self._n_rows_of_table) if self._kept is None else len(self._kept)

    @cached_property
    def _n_rows_of_table(self) -> list[int]:
        return [plan.count(reader) for reader, plan in self._tables]

    @cached_property
    def text(self) -> Text:
        """The text of rows, as the first rows of the largest table show it."""
        if self._kept is not None:
            return Text.of(self._kept.head(FIRST_ROWS))
        if self.n_rows <= FEW_ROWS:
            return Text()
        largest = int(np.argmax(self._n_rows_of_table))
        if self._prefetched is not None and largest == 0:
            return Text.of(self._prefetched.first.head(FIRST_ROWS))
        reader, plan = self._tables[largest]
        return Text.of(plan.apply(reader.head(FIRST_ROWS)))

    def begin(self) -> None:
        """Begin to read, on other threads, while something else is done."""
        reader, plan = self._tables[0]
        self._prefetched = Prefetched(plan.batches(reader))

    def collect(self) -> pl.DataFrame:
        """Return all rows."""
        return pl.concat(list(self.batches()))

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows that have all that a claim needs, some at a time."""
        if self._kept is not None:
            yield from self._kept.iter_slices(ROWS_PER_BATCH)
            return
        self.rows_read = self.rows_kept = self._n_complete = self._n_nameless = 0
        self._n_lacking.clear()
        stamps = {reader.path: stamp_of(reader.path) for reader, _ in self._tables}
        prefetched, self._prefetched = self._prefetched, None
        for number, (reader, plan) in enumerate(self._tables):
            n_before = self.rows_read
            own = plan.batches(reader) if number or prefetched is None else iter(prefetched)
            for batch in self._timed(own):
                row = self.rows_read - n_before
                self.rows_read += len(batch)
                rows = self._cleaned(batch, reader.origin, row)
                self._n_complete += len(rows)
                if self._mapping is not None:
                    rows = self._mapping.of(rows)
                self.rows_kept += len(rows)
                yield rows
        self._notes += [
            f"{path} was changed while it was read, so rows may be missing: read it again"
            for path, before in stamps.items()
            if None not in (before, now := stamp_of(path)) and now != before
        ]
        if not self.rows_kept:
            reason = "; ".join(self.notes) if self.rows_read else "it has no rows"
            raise nothing_in(self.origin, self._what, reason)

    def _timed(self, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        while True:
            began = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - began
            if batch is None:
                return
            yield batch

    def _cleaned(self, rows: pl.DataFrame, origin: str, first_row: int) -> pl.DataFrame:
        """Return the rows that have all that a claim needs, with weights and numbers as such."""
        check_calendar(rows, origin, first_row)
        if "claim" in rows.columns:
            rows = rows.with_columns(claim=as_claims(rows["claim"], origin, first_row))
        rows, n_lacking = complete(rows)
        self._n_lacking += n_lacking
        if self._are_samples and "weight" not in rows.columns:
            rows = rows.with_columns(weight=pl.lit(1.0))  # a sample is one of several
        n_rows, rows = len(rows), weighed(rows, origin)
        if len(rows) < n_rows:
            self._n_lacking["weight"] += n_rows - len(rows)
        if "attribute" in rows.columns and rows["attribute"].dtype == pl.String:
            self._n_nameless += int((rows["attribute"] == "").sum())
        is_text = self._is_text and rows["value"].dtype == pl.String  # which is normalised first
        return with_numbers(rows, self.origin) if self._are_numbers and not is_text else rows

    def normalised(
        self,
        find: Find,
        like: pl.DataFrame | None = None,
        *,
        memory: int | None = None,
    ) -> Claims:
        """Return the claims with values that mean the same brought to one spelling.

        All values have to be seen first: the rows are kept if they fit into memory, else they are
        read twice. `find` makes of these values how they are read.
        """
        rows = None
        if fits_in_memory(self.n_rows, memory, bytes_per_claim(self.text.new)):
            rows = self.collect()
        mapping = rewriting_of(lambda: self.batches() if rows is None else [rows], find, like)
        self._mapping = mapping
        self.normalisation, self.changes = mapping.found.to_json(), mapping.changes
        if rows is not None:
            rows, counts = settled(self._mapping.of(rows), self.kind, self.origin)
            if rows.is_empty():
                raise NoClaims(f"{self.origin}: no claim names a value")
            self._notes_on_repeated = counts.notes
            return self.with_rows(rows)
        return self


def open_claims(data: object, options: ReadOptions, *, memory: int | None = None) -> Claims:
    """Find the claims in what `veracity.discover` takes, to be read when they are encoded."""
    claims = Claims(data, options)
    if options.normalise is False or options.kind == "binary":
        return claims
    find = partial(look, kinds=options.kinds_of_values, claims_kind=options.kind)
    return claims.normalised(find, memory=memory)


def open_claims_like(
    data: object,
    options: ReadOptions,
    *,
    normalisation: Mapping[str, Any] | None,
    like: pl.DataFrame | None,
    memory: int | None = None,
) -> Claims:
    """Find claims whose values are normalised as others were, and spelt `like` them."""
    if normalisation is None:
        return open_claims(data, options, memory=memory)
    known = Normalisation.from_json(normalisation)
    claims = Claims(data, replace(options, normalise=True))
    return claims.normalised(known.with_sources, like, memory=memory)


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
) -> Claims:
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
        attribute, or "sources" if there is a column for each source: these two are recognised where
        they are plain. "entities" if a row is all that a source says, with a column for each
        entity. "samples" if a source was asked several times, with a column for each of its answers
        to one question; or, for "multiple", a column for each of its values.
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
    claims = open_claims(data, options)
    _ = claims.rows  # what is wrong with them is an error here
    return claims


def read_database(
    database: object,
    query: str | None = None,
    *,
    table: str | None = None,
    columns: Columns | None = None,
    kind: Kind = "categorical",
    normalise: Normalise = False,
) -> Claims:
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
