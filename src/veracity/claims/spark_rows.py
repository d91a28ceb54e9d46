"""Claims in a Spark frame, or in files that Spark reads: found, and not yet looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from veracity.claims.schema import CLAIM_COLUMNS, KINDS, Kind, find_columns
from veracity.errors import BadValue, ParameterError, UnreadableFile
from veracity.io.files import TEXT_SUFFIXES, name_of
from veracity.io.frames import FrameKind, is_spark_frame

__all__ = ["SparkClaims", "open_on_spark"]

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
    rows_read: int = 0
    seconds: float = 0.0
    frame_kind: FrameKind = "spark"
    normalisation: Mapping[str, Any] | None = None
    changes: pl.DataFrame | None = field(default=None)


def open_on_spark(
    data: Any,  # noqa: ANN401 - a Spark frame, or a path
    session: Any = None,  # noqa: ANN401 - a SparkSession
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind = "categorical",
    encoding: str = "utf-8",
    what: str = "claims",
) -> SparkClaims:
    """Find the claims in a Spark frame, or in the files at a path that Spark can read."""
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if is_spark_frame(data):
        if ".connect." in type(data).__module__:
            raise ParameterError(
                "this is a frame of Spark Connect, which cannot hold claims where its executors "
                "are; give one of a classic session, or a path with engine=veracity.Spark(...)"
            )
        frame, origin = data, name_of(data)
    else:
        origin = os.fspath(data)
        frame = _read(session, origin, encoding)
    wanted = CLAIM_COLUMNS[kind] if what == "claims" else CLAIM_COLUMNS[kind][1:]
    found, notes = _chosen(frame, wanted, columns or {}, origin)
    return SparkClaims(found[0], kind, origin, found[1], tuple(notes), encoding)


def _chosen(
    frame: Frame, wanted: Sequence[str], given: Mapping[str, str], origin: str
) -> tuple[tuple[Frame, dict[str, str]], list[str]]:
    """The wanted columns, under the names we give them; and which ones they are."""
    types = {own.name: own.dataType for own in frame.schema.fields}
    chosen = find_columns(list(types), wanted, given=given, origin=origin)
    notes = []
    for part, name in chosen.items():
        if types[name].typeName() in NESTED:
            raise BadValue(
                f"{origin}: column '{name}' ({part}) holds {types[name].simpleString()}, not plain "
                "values; turn it into text or numbers first"
            )
        if name != part and part not in given:
            notes.append(f"column '{name}' is taken as the {part}")
    columns = [frame[_quoted(name)].alias(part) for part, name in chosen.items()]
    found = frame.select(*columns)
    if "attribute" in chosen:
        found = _with_attributes(found, types[chosen["attribute"]].typeName() == "string")
    return (found, {part: chosen[part] for part in chosen}), notes


def _with_attributes(frame: Frame, is_text: bool) -> Frame:
    """With the empty attribute where one is missing; then all attributes are text."""
    if not is_text and frame.filter(frame.attribute.isNull()).isEmpty():
        return frame
    return frame.withColumn("attribute", frame.attribute.cast("string")).na.fill({"attribute": ""})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _read(session: Any, path: str, encoding: str) -> Frame:  # noqa: ANN401
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
