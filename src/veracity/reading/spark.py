"""Claims in a Spark frame, or in files that Spark reads, before any row is read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from veracity.errors import ParameterError, UnreadableFile
from veracity.io.frames import FrameKind, is_spark_frame, name_of, spark_table, use_own_python
from veracity.io.memory import require_memory
from veracity.io.paths import TEXT_SUFFIXES
from veracity.io.reader import Reader
from veracity.reading.clean import no_value_note, without
from veracity.reading.normalise import (
    ADVICE,
    BYTES_PER_VALUE,
    Normalisation,
    Normalise,
    Rewriting,
    count_formats_of,
    look,
)
from veracity.reading.normalise.formats import COUNT_KEYS, COUNTS
from veracity.reading.options import ReadOptions
from veracity.reading.plan import ReadPlan
from veracity.reading.roles import Kind
from veracity.reading.sniff import describe_plans, sniff

Frame = Any
"""A Spark DataFrame."""


@dataclass
class SparkClaims:
    """Claims that Spark will read, under the names of ``CLAIM_COLUMNS``.

    `rows_read` is known when they have been encoded. `n_without_value` counts rows that say one of
    `no_value`.
    """

    frame: Frame
    kind: Kind
    origin: str
    columns: Mapping[str, str]
    notes: tuple[str, ...] = ()
    encoding: str = "utf-8"
    shape: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    plans: Sequence[Mapping[str, Any]] = ()
    rows_read: int = 0
    seconds: float = 0.0
    frame_kind: FrameKind = "spark"
    normalisation: Mapping[str, Any] | None = None
    changes: pl.DataFrame | None = field(default=None)
    originals: None = None
    no_value: Sequence[str] = ()
    n_without_value: int = 0
    rewriting: Rewriting | None = None
    """Mapping of values, if values are normalised."""

    @property
    def like(self) -> pl.DataFrame | None:
        """The values as they are written now, if they are normalised."""
        return None if self.rewriting is None else self.rewriting.like

    def normalised(self, normalise: Normalise) -> SparkClaims:
        """Return the claims with normalised values."""
        kinds = {} if normalise is True or normalise is False else normalise
        found, notes = look(self._seen(), self._formats(), kinds, claims_kind=self.kind)
        return self._rewritten(found, notes, None)

    def normalised_as(self, told: Mapping[str, Any], like: pl.DataFrame | None) -> SparkClaims:
        """Return the claims with values normalised as earlier ones were, and spelt `like` them."""
        known = Normalisation.from_json(told)
        found, notes = known.with_sources(pl.DataFrame(), self._formats())
        return self._rewritten(found, notes, like)

    def _rewritten(
        self, found: Normalisation, notes: tuple[str, ...], like: pl.DataFrame | None
    ) -> SparkClaims:
        rewriting = Rewriting(found, self._seen(found), like, notes)
        return replace(
            self,
            rewriting=rewriting,
            normalisation=found.to_json(),
            changes=rewriting.changes,
            notes=(*self.notes, *rewriting.notes),
        )

    def _complete(self) -> Frame:
        """Return the rows with all parts of a claim."""
        frame = self.frame.na.drop(subset=["source", "entity", "value"])
        for name, kind in self.frame.dtypes:
            if kind == "string" and name != "attribute":
                frame = frame.filter(frame[name] != "")
        return frame

    def _seen(self, found: Normalisation | None = None) -> pl.DataFrame:
        """Return the different values of each attribute, and how many claims name them.

        Where `found` has forms of sources, values are counted by form.
        """
        frame = self._complete()
        keys = [name for name in ("attribute", "value") if name in frame.columns]
        if found is not None and found.forms:
            frame = _made_of(frame, found.with_forms)
            keys.append("form")
        counted = frame.groupBy(*keys).count()
        n_values = counted.count()
        what = f"{self.origin}: to normalise, {n_values:,} different values, on this machine,"
        require_memory(BYTES_PER_VALUE * n_values, what, ADVICE)
        seen = _here(counted)
        return seen.select(*keys, claims=pl.col("count").cast(pl.UInt64)).sort(keys)

    def _formats(self) -> pl.DataFrame:
        """Return the counts of formats, by attribute, source and unit."""
        from pyspark.sql import functions  # noqa: PLC0415 - an extra

        counts = _made_of(self._complete(), count_formats_of).groupBy(*COUNT_KEYS)
        counts = counts.agg(*(functions.sum(name).alias(name) for name in COUNTS))
        found = _here(counts)
        return found.select(*COUNT_KEYS, pl.col(COUNTS).cast(pl.Int64)).sort(COUNT_KEYS)


def open_on_spark(
    data: Any,
    session: Any = None,
    options: ReadOptions | None = None,
    *,
    what: str = "claims",
) -> SparkClaims:
    """Find the claims in a Spark frame, or in the files at a path that Spark can read."""
    options = options or ReadOptions()
    if is_spark_frame(data):
        if ".connect." in type(data).__module__:
            raise ParameterError(
                "this is a frame of Spark Connect, which cannot store claims on its "
                "executors; pass one of a classic session, or a path with "
                "engine=veracity.Spark(...)"
            )
        frame, origin = data, name_of(data)
    else:
        origin = os.fspath(data)
        is_here = Path(origin).exists()  # Spark would look for it from where Java was started
        path = str(Path(origin).absolute()) if is_here else origin
        frame = _read(session, path, options.encoding)
    use_own_python(frame.sparkSession)
    if options.source_from is not None:
        raise ParameterError(f"{origin}: source_from is not for Spark; add a column for the source")
    wanted = (*options.parts, *options.carrying) if what == "claims" else options.parts[1:]
    notes: list[str] = []
    reader = SparkReader(frame, origin)
    plan = sniff(reader, wanted, options, notes, {}, options.likely_wide)
    notes[:0] = describe_plans([plan], options.kind)
    found = _applied(plan, reader)
    if options.samples and what == "claims" and "weight" not in found.columns:
        found = found.selectExpr("*", "1.0D as weight")
    n_of_text = Counter[str]()
    if options.no_value:
        found, n_of_text = _without(found, options.no_value)
        notes += no_value_note(n_of_text, options.no_value, what)
    named, types = plan.named.items(), plan.types_before
    columns = {role: n for role, n in named if n != role or role in options.carrying}
    said = options.told(plan.wide)
    return SparkClaims(
        found, options.kind, origin, columns, tuple(notes), options.encoding, said, types,
        plans=[plan.to_json()], no_value=options.no_value, n_without_value=n_of_text.total(),
    )  # fmt: skip


@dataclass(frozen=True)
class SparkReader(Reader):
    """Spark frame, of which a sample of rows is examined on this machine."""

    frame: Frame
    origin: str

    @cached_property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """The names of its columns."""
        return list(self.frame.columns)

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns, as they come to this machine."""
        return _here(self._selected(columns).limit(0)).schema

    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""
        return _here(self.frame.limit(n_rows))

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.frame.count())

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns, all rows at once."""
        yield _here(self._selected(columns))

    def _selected(self, columns: Sequence[str]) -> Frame:
        return self.frame.select(*(self.frame[_quoted(name)] for name in columns))


def _here(frame: Frame) -> pl.DataFrame:
    """Return the rows of a frame on this machine."""
    return pl.DataFrame(pl.from_arrow(frame.toArrow()))


@dataclass(frozen=True)
class Making:
    """Makes other rows of batches, where the executors are."""

    make: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Convert each batch with the function, and yield the results."""
        for batch in batches:
            yield from spark_table(self.make(pl.DataFrame(pl.from_arrow(batch)))).to_batches()


def _made_of(frame: Frame, make: Callable[[pl.DataFrame], pl.DataFrame]) -> Frame:
    """Return the rows that a function makes of batches of a frame."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

    none = make(_here(frame.limit(0)))
    return frame.mapInArrow(Making(make), from_arrow_schema(spark_table(none).schema))


def _applied(plan: ReadPlan, reader: SparkReader) -> Frame:
    """Return the claims of a frame, which executors find by the plan."""
    frame, schema = reader.frame, plan.schema(reader)
    attribute, names = schema.get("attribute"), plan.columns.get("attribute", ())
    if attribute not in (None, pl.String) and len(names) == 1:
        is_missing = frame[_quoted(names[0])].isNull()
        if not frame.filter(is_missing).isEmpty():
            plan = replace(plan, types={"attribute": pl.String()})
    is_wide = plan.value_columns or plan.nested or plan.only or plan.without
    is_joined = any(len(names) != 1 for names in plan.columns.values())
    if is_wide or is_joined or plan.types or any(own.is_nested() for own in schema.dtypes()):
        return _made_of(reader._selected(plan.needed), plan.apply)
    renamed = (frame[_quoted(own)].alias(role) for role, (own,) in plan.columns.items())
    found = frame.select(*renamed).select(*plan.order)
    return found.na.fill({"attribute": ""}) if attribute == pl.String else found


def _without(frame: Frame, no_value: Sequence[str]) -> tuple[Frame, Counter[str]]:
    """Return the rows without placeholders, and the number of rows of each placeholder."""
    said = _made_of(frame, partial(_count_no_values, no_value=no_value)).groupBy("text").count()
    n_of_text = Counter({row["text"]: row["count"] for row in said.collect()})
    return _made_of(frame, partial(_with_values, no_value=no_value)), n_of_text


def _with_values(rows: pl.DataFrame, no_value: Sequence[str]) -> pl.DataFrame:
    return without(rows, no_value)[0]


def _count_no_values(rows: pl.DataFrame, no_value: Sequence[str]) -> pl.DataFrame:
    found = without(rows, no_value)[1]
    return pl.DataFrame({"text": list(found.elements())}, schema={"text": pl.String})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _read(session: Any, path: str, encoding: str) -> Frame:
    """Read the rows at a path by Spark: Parquet, or text with a header."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        if path.lower().endswith(TEXT_SUFFIXES):
            tabs = path.lower().removesuffix(".gz").endswith((".tsv", ".txt"))
            return session.read.csv(
                path, header=True, sep="\t" if tabs else ",", quote='"', escape='"',
                encoding=encoding, multiLine=True, mode="FAILFAST", enforceSchema=False,
            )  # fmt: skip
        return session.read.option("recursiveFileLookup", "true").parquet(path)
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise UnreadableFile(
            f"{path}: Spark cannot read it ({reason}); check the path, as executors see it"
        ) from error
