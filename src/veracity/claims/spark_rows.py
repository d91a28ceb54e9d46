"""Claims in a Spark frame, or in files that Spark reads: found, and not yet looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from veracity.claims.how import HowToRead
from veracity.claims.normalise import (
    ADVICE,
    BYTES_PER_VALUE,
    Normalisation,
    Normalise,
    Rewriting,
    detect,
)
from veracity.claims.schema import Kind, parts_of_name, text_together
from veracity.claims.shapes import SAMPLE, Seen, Shape, told_shapes, with_whole_fact
from veracity.claims.wide import shape_of
from veracity.errors import BadValue, ParameterError, UnreadableFile
from veracity.io.files import TEXT_SUFFIXES
from veracity.io.frames import FrameKind, is_spark_frame
from veracity.io.memory import require_memory
from veracity.io.python_data import name_of
from veracity.naming import types_read_again

NESTED = ("array", "map", "struct", "variant")

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
        """The same, with values that mean the same brought to one spelling."""
        kinds = {} if normalise is True or normalise is False else normalise
        seen = self._seen()
        found = detect(seen, kinds=kinds, claims_kind=self.kind)
        return self._rewritten(found, Rewriting(found, seen, None))

    def normalised_as(self, told: Mapping[str, Any], like: pl.DataFrame | None) -> SparkClaims:
        """The same, with values normalised as others were, and spelt `like` them."""
        found = Normalisation.from_json(told)
        return self._rewritten(found, Rewriting(found, self._seen(), like))

    def _rewritten(self, found: Normalisation, rewriting: Rewriting) -> SparkClaims:
        return replace(
            self,
            rewriting=rewriting,
            normalisation=found.to_json(),
            changes=rewriting.changes,
            notes=(*self.notes, *rewriting.notes),
        )

    def _seen(self) -> pl.DataFrame:
        """The different values of each attribute, and how many claims name them, come here."""
        frame = self.frame.na.drop(subset=["source", "entity", "value"])
        for name, kind in self.frame.dtypes:
            if kind == "string" and name != "attribute":
                frame = frame.filter(frame[name] != "")
        keys = [name for name in ("attribute", "value") if name in frame.columns]
        counted = frame.groupBy(*keys).count()
        n_values = counted.count()
        what = f"{self.origin}: to normalise, {n_values:,} different values, on this machine,"
        require_memory(BYTES_PER_VALUE * n_values, what, ADVICE)
        seen = pl.DataFrame(pl.from_arrow(counted.toArrow()))
        return seen.select(*keys, claims=pl.col("count").cast(pl.UInt64)).sort(keys)


def open_on_spark(
    data: Any,
    session: Any = None,
    how: HowToRead | None = None,
    *,
    what: str = "claims",
) -> SparkClaims:
    """Find the claims in a Spark frame, or in the files at a path that Spark can read."""
    how = how or HowToRead()
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
        frame = _read(session, str(Path(origin).absolute()) if is_here else origin, how.encoding)
    wanted = (*how.parts, *how.carrying) if what == "claims" else how.parts[1:]
    notes: list[str] = []
    how = with_whole_fact(frame.columns, wanted, how, origin, notes)
    frame, types = _with_joined(frame, how)
    found, shape = _chosen(frame, wanted, how, origin, notes)
    if shape.is_wide and shape.of_names == "attribute":
        types |= types_read_again(_types(frame, shape.spread))
    if how.samples and what == "claims" and "weight" not in found.columns:
        found = found.selectExpr("*", "1.0D as weight")
    own = shape.keys.items()
    columns = {part: name for part, name in own if name != part or part in how.carrying}
    told = how.told(shape.wide)
    return SparkClaims(found, how.kind, origin, columns, tuple(notes), how.encoding, told, types)


def _with_joined(frame: Frame, how: HowToRead) -> tuple[Frame, dict[str, str]]:
    """The frame with a column in the place of each that several make up together; their types."""
    types: dict[str, str] = {}
    for name in how.said_of_keys:
        if pieces := parts_of_name(name, frame.columns):
            dtypes = _types(frame, pieces)
            types |= types_read_again(dtypes)
            frame = _joined(frame, name, dtypes)
    return frame, types


def _joined(frame: Frame, name: str, dtypes: Mapping[str, pl.DataType]) -> Frame:
    """The frame with one column in the place of some, their texts together."""
    from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415 - an extra

    others = [own for own in frame.schema.fields if own.name not in dtypes]

    def join(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = pl.DataFrame(pl.from_arrow(batch.select(list(dtypes))))
            text = rows.select(text_together(dtypes)).to_series().to_arrow().cast("string")
            kept = [batch.column(own.name) for own in others]
            yield type(batch).from_arrays([*kept, text], [*(own.name for own in others), name])

    return frame.mapInArrow(join, StructType([*others, StructField(name, StringType())]))


def _chosen(
    frame: Frame, wanted: Sequence[str], how: HowToRead, origin: str, notes: list[str]
) -> tuple[Frame, Shape]:
    """The wanted columns, under the names we give them; and what they were found to be."""
    if how.source_from is not None:
        raise ParameterError(f"{origin}: source_from is not for Spark; add a column for the source")
    types = {own.name: own.dataType for own in frame.schema.fields}
    table = Seen(origin, list(types), wanted, lambda: _sample(frame))
    shape = shape_of(table, how, notes)
    notes[:0] = told_shapes([shape], how.kind)
    for part, name in (*shape.keys.items(), *((shape.of_cells, name) for name in shape.spread)):
        if types[name].typeName() in NESTED:
            raise BadValue(
                f"{origin}: column '{name}' ({part}) holds {types[name].simpleString()}, not plain "
                "values; turn it into text or numbers first"
            )
    for part, name in shape.keys.items():
        if name not in (part, how.columns.get(part), how.likely.get(part)):
            notes.append(f"column '{name}' is taken as the {part}")
    found = _unpivoted(frame, shape) if shape.is_wide else _renamed(frame, shape.keys)
    found = found.select(*(part for part in wanted if part in found.columns))
    if "attribute" in shape.keys:
        found = _with_attributes(found, types[shape.keys["attribute"]].typeName() == "string")
    return found, shape


def _renamed(frame: Frame, columns: Mapping[str, str]) -> Frame:
    return frame.select(*(frame[_quoted(name)].alias(part) for part, name in columns.items()))


def _types(frame: Frame, names: Sequence[str]) -> pl.Schema:
    """What these columns hold, as it comes to this machine."""
    return _sample(_renamed(frame, {name: name for name in names})).schema


def _sample(frame: Frame) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(frame.limit(SAMPLE).toArrow()))


def _unpivoted(frame: Frame, shape: Shape) -> Frame:
    """The claims of a wide table; values of different types are taken as text."""
    kinds = dict(frame.dtypes)
    is_one = len({kinds[name] for name in shape.spread}) == 1
    cells = [frame[_quoted(name)] for name in shape.spread]
    keys = [frame[_quoted(name)].alias(part) for part, name in shape.keys.items()]
    numbered = {f"cell {place}": name for place, name in enumerate(shape.spread)}
    wide = frame.select(
        *keys,
        *(
            (cell if is_one else cell.cast("string")).alias(number)
            for cell, number in zip(cells, numbered, strict=True)
        ),
    )
    long = wide.unpivot(list(shape.keys), list(numbered), shape.of_names, shape.of_cells)
    return long.replace(numbered, subset=[shape.of_names]).na.drop(subset=[shape.of_cells])


def _with_attributes(frame: Frame, is_text: bool) -> Frame:
    """With the empty attribute where one is missing; then all attributes are text."""
    if not is_text and frame.filter(frame.attribute.isNull()).isEmpty():
        return frame
    return frame.withColumn("attribute", frame.attribute.cast("string")).na.fill({"attribute": ""})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _read(session: Any, path: str, encoding: str) -> Frame:
    """The rows at a path, as Spark reads them: Parquet, or text with a header."""
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
