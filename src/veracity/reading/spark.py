"""Claims in a Spark frame, or in files that Spark reads: found, and not yet looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from veracity.errors import ParameterError, UnreadableFile
from veracity.io.frames import FrameKind, is_spark_frame, name_of, spark_table
from veracity.io.memory import require_memory
from veracity.io.paths import TEXT_SUFFIXES
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
from veracity.reading.schema import Kind
from veracity.reading.sniff import describe_plans, sniff

Frame = Any
"""A Spark DataFrame."""


@dataclass
class SparkClaims:
    """Claims that Spark will read, under the names of ``CLAIM_COLUMNS``.

    `rows_read` is known when they have been encoded.
    """

    frame: Frame
    kind: Kind
    origin: str
    columns: Mapping[str, str]
    notes: tuple[str, ...] = ()
    encoding: str = "utf-8"
    shape: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    rows_read: int = 0
    seconds: float = 0.0
    frame_kind: FrameKind = "spark"
    normalisation: Mapping[str, Any] | None = None
    changes: pl.DataFrame | None = field(default=None)
    rewriting: Rewriting | None = None
    """What becomes of each value, if values are normalised."""

    @property
    def like(self) -> pl.DataFrame | None:
        """The values as they are written now, if they are normalised."""
        return None if self.rewriting is None else self.rewriting.like

    def normalised(self, normalise: Normalise) -> SparkClaims:
        """Return the same with values that mean the same brought to one spelling."""
        kinds = {} if normalise is True or normalise is False else normalise
        found, notes = look(self._seen(), self._formats(), kinds, claims_kind=self.kind)
        return self._rewritten(found, notes, None)

    def normalised_as(self, told: Mapping[str, Any], like: pl.DataFrame | None) -> SparkClaims:
        """Return the same with values normalised as others were, and spelt `like` them."""
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
        """Return the rows that have all that a claim needs."""
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
        seen = pl.DataFrame(pl.from_arrow(counted.toArrow()))
        return seen.select(*keys, claims=pl.col("count").cast(pl.UInt64)).sort(keys)

    def _formats(self) -> pl.DataFrame:
        """Return the counts of formats, by attribute, source and unit."""
        from pyspark.sql import functions  # noqa: PLC0415 - an extra

        counts = _made_of(self._complete(), count_formats_of).groupBy(*COUNT_KEYS)
        counts = counts.agg(*(functions.sum(name).alias(name) for name in COUNTS))
        found = pl.DataFrame(pl.from_arrow(counts.toArrow()))
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
                "this is a frame of Spark Connect, which cannot hold claims where its executors "
                "are; give one of a classic session, or a path with engine=veracity.Spark(...)"
            )
        frame, origin = data, name_of(data)
    else:
        origin = os.fspath(data)
        is_here = Path(origin).exists()  # Spark would look for it from where Java was started
        path = str(Path(origin).absolute()) if is_here else origin
        frame = _read(session, path, options.encoding)
    if options.source_from is not None:
        raise ParameterError(f"{origin}: source_from is not for Spark; add a column for the source")
    wanted = (*options.parts, *options.carrying) if what == "claims" else options.parts[1:]
    notes: list[str] = []
    reader = SparkReader(frame, origin)
    plan = sniff(reader, wanted, options, notes, {})
    notes[:0] = describe_plans([plan], options.kind)
    found = _applied(plan, reader)
    if options.samples and what == "claims" and "weight" not in found.columns:
        found = found.selectExpr("*", "1.0D as weight")
    named, types = plan.named.items(), plan.types_before
    columns = {role: n for role, n in named if n != role or role in options.carrying}
    said = options.told(plan.wide)
    return SparkClaims(
        found, options.kind, origin, columns, tuple(notes), options.encoding, said, types
    )


@dataclass(frozen=True)
class SparkReader:
    """A Spark frame, of which some rows are looked at here."""

    frame: Frame
    origin: str
    label: str = ""
    place: None = None
    path: None = None
    levels: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self.frame.columns)

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns, as they come to this machine."""
        return self._here(self._selected(columns).limit(0)).schema

    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""
        return self._here(self.frame.limit(n_rows))

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.frame.count())

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns, all rows at once."""
        yield self._here(self._selected(columns))

    def _selected(self, columns: Sequence[str]) -> Frame:
        return self.frame.select(*(self.frame[_quoted(name)] for name in columns))

    def _here(self, frame: Frame) -> pl.DataFrame:
        return pl.DataFrame(pl.from_arrow(frame.toArrow()))


@dataclass(frozen=True)
class Making:
    """Makes other rows of batches of claims, where the executors are."""

    make: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Turn batches of claims into batches of what is made of them."""
        for batch in batches:
            yield from spark_table(self.make(pl.DataFrame(pl.from_arrow(batch)))).to_batches()


def _made_of(frame: Frame, make: Callable[[pl.DataFrame], pl.DataFrame]) -> Frame:
    """Return the rows that a function makes of batches of a frame."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

    none = make(pl.DataFrame(pl.from_arrow(frame.limit(0).toArrow())))
    return frame.mapInArrow(Making(make), from_arrow_schema(spark_table(none).schema))


@dataclass(frozen=True)
class Applying:
    """Applies a plan to batches of rows, where the executors are."""

    plan: ReadPlan

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Turn batches of the table into batches of claims."""
        for batch in batches:
            rows = self.plan.apply(pl.DataFrame(pl.from_arrow(batch)))
            yield from spark_table(rows).to_batches()


def _applied(plan: ReadPlan, reader: SparkReader) -> Frame:
    """Return the claims of a frame, which executors find by the plan."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

    frame, schema = reader.frame, plan.schema(reader)
    attribute = schema.get("attribute")
    names = plan.columns.get("attribute", ())
    if attribute not in (None, pl.String) and len(names) == 1:
        is_missing = frame[_quoted(names[0])].isNull()
        if not frame.filter(is_missing).isEmpty():
            plan = replace(plan, types={"attribute": pl.String()})
    is_long = not plan.value_columns and not plan.nested
    if (
        is_long
        and all(map(len, plan.columns.values()))
        and not plan.types
        and all(
            len(own) == 1 and not dtype.is_nested()
            for own, dtype in zip(plan.columns.values(), schema.values(), strict=True)
        )
    ):
        renamed = (frame[_quoted(own)].alias(role) for role, (own,) in plan.columns.items())
        found = frame.select(*renamed).select(*plan.order)
        return found.na.fill({"attribute": ""}) if attribute == pl.String else found
    types = from_arrow_schema(spark_table(plan.schema(reader).to_frame()).schema)
    return reader._selected(plan.needed).mapInArrow(Applying(plan), types)


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
