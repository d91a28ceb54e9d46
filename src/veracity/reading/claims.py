"""Claims found in files, frames and databases, and the known truths that belong to them."""

from __future__ import annotations

import copy
import stat
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.errors import NoClaims, ParameterError
from veracity.io.databases import database_reader
from veracity.io.frames import FIRST_ROWS, ROWS_PER_BATCH, FrameKind
from veracity.io.memory import bytes_per_claim, fits_in_memory
from veracity.io.paths import open_tables
from veracity.io.reader import Notes, Reader, merged_notes, quoted_list, read_errors
from veracity.printing import counted, in_short
from veracity.reading.clean import (
    NO_TIME,
    check_calendar,
    cleaned,
    lacking_notes,
    no_value_note,
    nothing_in,
    settled,
    with_numbers,
    without,
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
from veracity.reading.plan import ReadPlan, align
from veracity.reading.roles import Kind, keys_of, parts_of_name, recognised
from veracity.reading.sniff import Spelling, describe_plans, sniff
from veracity.reading.spark import SparkClaims
from veracity.workers import Prefetched


def _note_sources(reader: Reader, plan: ReadPlan, notes: list[str]) -> None:
    """Note a column that names sources, though files do."""
    used = (*plan.named.values(), *plan.value_columns)
    names = [plan.aliases.get(name, name) for name in reader.names]
    left = [name for name in names if name not in used]
    for name in recognised(left, ["source"]).values():
        notes.append(f"column '{in_short(name)}' is not read: source_from names the source")


def _named_by_place(
    tables: list[tuple[Reader, ReadPlan]], source_from: SourceFrom, notes: list[str]
) -> list[tuple[Reader, ReadPlan]]:
    """Let the names of files, sheets or tables be the sources."""
    labels = [reader.label for reader, _ in tables]
    if not all(labels):
        what = "tables that are named" if source_from == "table" else "files"
        raise ParameterError(
            f"{tables[0][0].origin}: source_from={source_from!r} is for {what}, and this is none"
        )
    place = "file" if source_from == "filename" else source_from
    notes.append(f"each {place} is a source: {quoted_list(labels)}")
    return [
        (reader, replace(plan, source=reader.label, order=("source", *plan.order)))
        for reader, plan in tables
    ]


def read_table(data: Any, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Read any table, from a path, a database or a frame, with all its columns."""
    *_, readers = open_tables(data, encoding, None, [])
    tables = [(own, ReadPlan(columns={n: (n,) for n in own.names}, needed=tuple(own.names)))
              for own in readers]  # fmt: skip
    return pl.concat([rows for reader, plan in align(tables, []) for rows in plan.batches(reader)])


def stamp_of(path: Path | None) -> tuple[int, int] | None:
    """Return size and time of a file, by which a change shows; None if it has none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    is_file = found is not None and stat.S_ISREG(found.st_mode)
    return (found.st_size, found.st_mtime_ns) if found is not None and is_file else None


# --- claims ---------------------------------------------------------------------------------------


Columns = Mapping[str, str | list[str]]

FEW_ROWS = 10_000
"""Number of rows up to which the length of their texts does not matter."""


class Text(NamedTuple):
    """Average number of bytes of text in a row, and of bytes of texts that are new in it."""

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
    """Claims to be read a batch at a time, or all at once into memory.

    Rows without source, entity, fact or value are left out.

    Attributes
    ----------
    kind
        The kind of claims.
    origin
        The name of the claims in messages.
    columns
        Columns by role, if their names differ from the roles.
    shape
        Options, other than the columns, that are needed to read the table again.
    types
        The types of columns whose values may have become text in a mixture, in their order.
    rows_read, rows_kept
        The number of rows, and of rows with all parts of a claim. They, `seconds` and the counts in
        `notes` are complete when all rows have been read.
    normalisation
        The normalisation, in the form of `Normalisation.to_json`; None if there was none.
    changes
        The values that normalising changed.
    originals
        The claims whose values it changed, with their `original` spelling; None for claims that do
        not fit in memory.
    no_value
        Texts that mean "no value".
    until
        The newest time of a claim, if times were looked at while rows were read.
    """

    frame_kind: FrameKind = "polars"
    columns: Mapping[str, str] = MappingProxyType({})
    shape: Mapping[str, str] = MappingProxyType({})
    types: Mapping[str, str] = MappingProxyType({})
    encoding: str = "utf-8"
    no_value: Sequence[str] = ()
    rows_read = rows_kept = 0
    seconds = 0.0
    until = NO_TIME
    normalisation: Mapping[str, Any] | None = None
    changes: pl.DataFrame | None = None
    originals: pl.DataFrame | None = None

    _what = "claims"
    _are_samples = _is_text = False
    _n_complete = _n_nameless = 0
    _notes_on_repeated: tuple[str, ...] = ()
    _prefetched: Prefetched[pl.DataFrame] | None = None
    _mapping: Rewriting | None = None
    _kept: pl.DataFrame | None = None

    def __init__(self, kind: Kind, origin: str) -> None:
        self.kind, self.origin = kind, origin
        self._notes: list[str] = []
        self._tables: list[tuple[Reader, ReadPlan]] = []
        self._n_lacking, self._n_of_no_value = Counter[str](), Counter[str]()

    @classmethod
    def of(cls, data: object, options: ReadOptions, *, what: str = "claims") -> Claims:
        """Find the claims, or known truths, in each table of `data`."""
        began = time.perf_counter()
        wanted = (*options.parts, *options.carrying) if what == "claims" else options.parts[1:]
        inner = [role for role in wanted if role != "source" or options.source_from is None]
        found: Notes = []
        notes: list[str] = []
        origin, frame_kind, readers = open_tables(
            data, options.encoding, options.source_from, found
        )
        columns: dict[str, str] = {}
        wide, types = options.wide or options.likely_wide, dict[str, str]()
        tables: list[tuple[Reader, ReadPlan]] = []
        spelling = Spelling(options)
        for reader in readers:
            with read_errors(reader):
                aliases = spelling.aliases(reader.names)
                plan = sniff(reader, inner, options, notes, aliases, wide)
            if len(inner) < len(wanted):
                _note_sources(reader, plan, notes)
            tables.append((reader, plan))
            for name, dtype in plan.types_before.items():
                types[name] = dtype if types.get(name, dtype) == dtype else str(pl.String())
            named = plan.named.items()
            columns = {own: n for own, n in named if n != own or own in options.carrying} | columns
            said = options.said.get("value", "")
            pieces = tuple(dict.fromkeys(parts_of_name(said, plan.value_columns)))
            if pieces and pieces == plan.value_columns:
                columns |= {"value": said}
            wide = plan.wide  # what is not plain in a further file is as in this one
        notes += spelling.notes
        tables = align(tables, notes)
        if options.source_from is not None and "source" in wanted:
            tables = _named_by_place(tables, options.source_from, notes)
        claims = cls(options.kind, origin)
        claims.frame_kind, claims.columns, claims.types = frame_kind, columns, types
        claims.shape, claims.encoding = options.told(wide), options.encoding
        claims.no_value, claims._what = options.no_value, what
        claims._are_samples = options.samples and what == "claims"
        claims._is_text = options.kind == "numeric" and options.normalise is not False  # for now
        formats = describe_plans([plan for _, plan in tables], options.kind)
        claims._notes, claims._tables = [*merged_notes(found), *formats, *notes], tables
        claims.seconds = time.perf_counter() - began
        return claims

    @classmethod
    def of_rows(cls, rows: pl.DataFrame, kind: Kind, origin: str) -> Claims:
        """Return claims that are rows under the names of ``CLAIM_COLUMNS``."""
        claims = cls(kind, origin)
        claims._kept, claims.rows_read, claims.rows_kept = rows, len(rows), len(rows)
        return claims

    def with_rows(self, rows: pl.DataFrame) -> Claims:
        """Return a copy with other rows."""
        other = copy.copy(self)
        other._kept, other.rows_kept = rows, len(rows)
        for name in ("n_rows", "text"):
            other.__dict__.pop(name, None)
        return other

    @property
    def rows(self) -> pl.DataFrame:
        """Return all claims, read once and stored; of a source's claims with times, the newest."""
        if self._kept is None:
            rows, counts = settled(self.collect(), self.kind, self.origin)
            self._notes_on_repeated, self.until = counts.notes, counts.until
            self._kept, self.rows_kept = rows, len(rows)
        return self._kept

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what was read, what was left out, and how values were normalised."""
        notes = [*dict.fromkeys(self._notes), *lacking_notes(self._n_lacking)]
        notes += no_value_note(self._n_of_no_value, self.no_value, self._what)
        if 0 < self._n_nameless < self._n_complete:
            rows = counted(
                self._n_nameless,
                "row has no attribute; it counts",
                "rows have no attribute; they count",
            )
            notes.append(f"{rows} as an attribute without a name")
        of_values = () if self._mapping is None else self._mapping.notes
        return (*notes, *self._notes_on_repeated, *of_values)

    @property
    def plans(self) -> list[dict[str, Any]]:
        """Return the plans of the tables, as `ReadPlan.to_json` has them, without duplicates."""
        found: list[dict[str, Any]] = []
        for _, plan in self._tables:
            own = plan.to_json()
            found += [own] if own not in found else []
        return found

    @property
    def like(self) -> pl.DataFrame | None:
        """Spellings of the values, if they are in memory, for truths to follow."""
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
        """Yield the rows with all parts of a claim, some at a time."""
        if self._kept is not None:
            yield from self._kept.iter_slices(ROWS_PER_BATCH)
            return
        self.rows_read = self.rows_kept = self._n_complete = self._n_nameless = 0
        self._n_lacking.clear()
        self._n_of_no_value.clear()
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
        """Return the rows with all parts of a claim, with weights and numbers as numbers."""
        check_calendar(rows, origin, first_row)
        if self.no_value:
            rows, n_of_text = without(rows, self.no_value)
            self._n_of_no_value += n_of_text
        if self._are_samples and "weight" not in rows.columns:
            rows = rows.with_columns(weight=pl.lit(1.0))  # a sample is one of several
        rows, n_lacking = cleaned(rows, origin, first_row)
        self._n_lacking += n_lacking
        if "attribute" in rows.columns and rows["attribute"].dtype == pl.String:
            self._n_nameless += int((rows["attribute"] == "").sum())
        is_text = self._is_text and rows["value"].dtype == pl.String  # which is normalised first
        return with_numbers(rows, self.origin) if self.kind == "numeric" and not is_text else rows

    def normalised(
        self,
        find: Find,
        like: pl.DataFrame | None = None,
        *,
        memory: int | None = None,
    ) -> Claims:
        """Return the claims with one spelling for values of the same meaning.

        All values have to be read first: the rows stay in memory if they fit, else they are read
        twice. `find` decides from the values how they are normalised.
        """
        rows = None
        if fits_in_memory(self.n_rows, memory, bytes_per_claim(self.text.new)):
            rows = self.collect()
        mapping = rewriting_of(lambda: self.batches() if rows is None else [rows], find, like)
        self._mapping = mapping
        self.normalisation, self.changes = mapping.found.to_json(), mapping.changes
        if rows is not None:
            rewritten = mapping.of(rows.with_columns(original="value"))
            self.originals = _changed_spellings(rewritten)
            rows, counts = settled(rewritten.drop("original"), self.kind, self.origin)
            if rows.is_empty():
                raise NoClaims(f"{self.origin}: no claim has a value")
            self._notes_on_repeated, self.until = counts.notes, counts.until
            return self.with_rows(rows)
        return self


def _changed_spellings(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the claims whose value is not as the source wrote it, with both spellings."""
    value, original = pl.col("value"), pl.col("original")
    same_type = original.cast(rows["value"].dtype, strict=False)
    return rows.filter(same_type.ne_missing(value)).select(
        *keys_of(rows), "source", "value", original.cast(pl.String)
    )


def open_claims(data: object, options: ReadOptions, *, memory: int | None = None) -> Claims:
    """Find the claims in the input of `veracity.discover`; they are read when they are encoded."""
    claims = Claims.of(data, options)
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
    """Find claims whose values are normalised as earlier ones were, and spelt `like` them."""
    if normalisation is None:
        return open_claims(data, options, memory=memory)
    known = Normalisation.from_json(normalisation)
    claims = Claims.of(data, replace(options, normalise=True))
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
    no_value: Sequence[str] = (),
) -> Claims:
    """Read claims from a path, a frame or anything with an Arrow stream.

    Rows without source, entity, fact or value are left out and counted in the notes.

    Parameters
    ----------
    data
        Any input of `veracity.discover`.
    columns
        Column of each role, e.g. ``{"source": "website"}``. With the role "time", only the newest
        claim of a source about an item counts. The role "weight" is the weight of a claim: a
        confidence, or a count.
    kind
        The kind of claims.
    encoding
        The encoding of text files.
    normalise
        True to write values of the same meaning in one spelling; or the types of the values of some
        attributes, e.g. ``{"departure": "time"}``; the others are recognised.
    wide
        "attributes" if a row has a source and an entity, with a column for each attribute, or
        "sources" if there is a column for each source: these two are recognised where they are
        clear. "entities" if a row has a source, with a column for each entity. "samples" if a
        source was asked several times, with a column for each of its answers to one question; or,
        for "multiple", a column for each of its values.
    source_from
        "filename" if each file is a source, "sheet" if each sheet of a workbook is one, "table" if
        each of several tables of a database is.
    samples
        True if rows of one source about one item are samples: each value counts by its share.
    no_value
        Texts that stand for a missing value, e.g. ``["k.A.", "9999"]``: their rows are left out.
    """
    options = ReadOptions(
        columns=columns or {},
        kind=kind,
        encoding=encoding,
        normalise=normalise,
        wide=wide,
        source_from=source_from,
        samples=samples,
        no_value=no_value,
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
    no_value: Sequence[str] = (),
) -> Claims:
    """Find claims in a database, for `veracity.discover` and other functions that take claims.

    They are read in batches when they are needed, and only the columns that are needed.

    Parameters
    ----------
    database
        An address (``postgresql://user@host/database``, ``sqlite:///file.db``,
        ``duckdb:///file.duckdb``), a DB-API or ADBC connection, or an engine or connection of
        SQLAlchemy. A connection that is given stays open, and nothing is committed.
    query
        A query that returns the claims; one word is the name of a table.
    table
        The name of a table or view, with its schema before a point where that is needed.
    columns
        Column of each role, e.g. ``{"source": "website"}``.
    kind
        The kind of claims.
    normalise
        As `read_claims` takes it; then the claims are read at once.
    no_value
        As `read_claims` takes it.

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
    options = ReadOptions(columns=columns or {}, kind=kind, normalise=normalise, no_value=no_value)
    return open_claims(database_reader(database, query, table=table), options)


# --- known truths ---------------------------------------------------------------------------------


def read_truth(
    data: object,
    options: ReadOptions,
    *,
    normalisation: Mapping[str, Any] | None = None,
    like: pl.DataFrame | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Read known truths: rows of entity, attribute and value, or of fact and claim.

    Where the claims were normalised, the truths are, too, and spelt `like` the facts.
    """
    options = replace(options, normalise=normalisation is not None)
    truths = Claims.of(data, options, what="truths")
    rows, notes = truths.collect(), list(truths.notes)
    if normalisation is not None and "value" in rows.columns:
        normalised = Normalisation.from_json(normalisation).apply(rows, like=like)
        rows = normalised.rows
        if normalised.n_left_out:
            left_out = counted(normalised.n_left_out, "truth is", "truths are")
            notes.append(f"{left_out} left out: no value, or one that is too imprecise")
    return rows, notes


def read_truths_beside(
    claims: Claims | SparkClaims, data: object, columns: Columns | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Read truths for claims, which are probably written in the same way.

    They may have the names of the claims' columns, or the usual ones.
    """
    options = ReadOptions(
        columns=columns or {},
        columns_option="truth_columns",
        likely=claims.columns,
        kind=claims.kind,
        encoding=claims.encoding,
        no_value=claims.no_value,
    )
    return read_truth(data, options, normalisation=claims.normalisation, like=claims.like)
