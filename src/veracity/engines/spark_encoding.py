"""Rows become parts where Spark's executors are.

The road is that of claims on one machine: rows are parted by item, each part is encoded by itself,
names are brought together, and parts are numbered by them. Only names come to the driver.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from veracity.encoding.block import Block, IntArray
from veracity.encoding.encode import EncodingCounts, encode_partition
from veracity.encoding.names import Names, NameUnion, PartitionNames, places_among
from veracity.encoding.partitions import Encoded, Partition
from veracity.engines.executors import Made
from veracity.engines.spark import MadeParts, Spark
from veracity.engines.spark_parts import Counts, EncodedOnSpark, PartitionsOnSpark, Rest, Told
from veracity.io.frames import spark_table
from veracity.io.memory import require_memory
from veracity.progress import Progress
from veracity.reading.claims import Claims
from veracity.reading.clean import checked_rows, lacking_notes, nothing_in
from veracity.reading.normalise import Rewriting
from veracity.reading.schema import Kind, numbers_in
from veracity.reading.spark import SparkClaims

BYTES_PER_PART, CLAIMS_PER_PART = 1 << 23, 1 << 20
"""Bytes of a frame, as Spark guesses them, from which a part is made, and about how many claims."""

MOST_PARTS = 10_000

MOST_BELIEVED = 1 << 34
"""Bytes up to which Spark's guess is believed: that of a join is a product. Beyond, rows are
counted."""

COPIES_HERE = 2
VIEWS = 64
"""How often rows of this machine are in its memory before executors have them, and what a row takes
beside its text."""

PART = "part of veracity"
"""The column that has the number of the part that a row belongs to."""


def encode_on_spark(engine: Spark, table: Any, tell: Progress) -> Encoded:
    """Encode claims where the executors are; those of this machine are handed over first."""
    claims = table if isinstance(table, SparkClaims) else _handed_over(engine, table)
    tell("encoding", 0, 1)
    made = _made(engine, claims, None)
    told: list[Told] = made.told
    numbers = {one.are_numbers for one in told if one.counts.claims}
    if len(numbers) > 1 and any(one.n_merged for one in told):  # numbers in some parts only
        made = _made(engine, claims, are_numbers=False)
        told = made.told
    union, spoken = NameUnion(are_numbers=numbers == {True}), _ItemsOfSource()
    for own, n_items in made.names():
        union.add(own)
        spoken.add(own["source"].spellings, n_items)
    names = union.sorted()
    n_lacking = sum((one.n_lacking for one in told), Counter[str]())
    encoding = functools.reduce(operator.add, (one.encoding for one in told), EncodingCounts())
    claims.rows_read = sum(one.n_rows for one in told)
    if not made.parts and not encoding.n_self_contradicting:
        reason = "; ".join(lacking_notes(n_lacking)) or "it has no rows"
        raise nothing_in(claims.origin, "claims", reason)
    encoding.check_some(made.parts, claims.origin)
    step = made.send(Renumbering(names))
    counts = tuple(one.counts for one in told if one.counts.claims)
    return EncodedOnSpark(
        kind=claims.kind,
        names=Names.of(names, union.n_unnumbered),
        parts=PartitionsOnSpark(made, (("numbered", step),), claims.kind, counts),
        notes=(*lacking_notes(n_lacking), *encoding.notes(names)),
        has_numbers=numbers == {True},
        items_spoken=spoken.of(names["source"].spellings),
    )


class _ItemsOfSource:
    """Of how many items each source speaks: a part after the other."""

    def __init__(self) -> None:
        self._found: pl.DataFrame | None = None

    def add(self, sources: pl.Series, n_items: IntArray) -> None:
        """Take a part in."""
        own = pl.DataFrame({"source": sources, "items": n_items})
        if self._found is not None:
            own = pl.concat([self._found, own]).group_by("source").agg(pl.col("items").sum())
        self._found = own

    def of(self, sources: pl.Series) -> IntArray:
        """Those of these sources."""
        if self._found is None:
            return np.zeros(len(sources), dtype=np.int64)
        found = sources.to_frame("source").join(
            self._found, on="source", how="left", maintain_order="left"
        )
        return found["items"].fill_null(0).to_numpy()


def _made(engine: Spark, claims: SparkClaims, are_numbers: bool | None) -> MadeParts:
    """Rows parted by item, each part encoded by itself."""
    from pyspark.sql import functions  # noqa: PLC0415 - an extra

    frame = claims.frame
    keys = [name for name in ("entity", "attribute", "fact") if name in frame.columns]
    n_parts = engine.partitions or _n_parts(frame)
    part = functions.pmod(functions.hash(*keys), functions.lit(n_parts))
    parted = frame.withColumn(PART, part).repartitionById(n_parts, PART)
    make = EncodingRows(claims.kind, claims.origin, are_numbers, claims.rewriting)
    return MadeParts(parted, make)


def _n_parts(frame: Any) -> int:
    """As many parts as a frame is large, by Spark's own guess, and as many as work at once."""
    at_once = int(frame.sparkSession.sparkContext.defaultParallelism)
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    if size > MOST_BELIEVED:
        size = frame.count() * BYTES_PER_PART // CLAIMS_PER_PART
    in_turn = math.ceil(size / BYTES_PER_PART / at_once)  # so that all are at work till the end
    return min(max(in_turn, 1) * at_once, MOST_PARTS)


def _handed_over(engine: Spark, table: Claims) -> SparkClaims:
    """Rows of this machine as a Spark frame, if it can hold them all at once."""
    what = f"{table.origin}: {table.n_rows:,} claims, which executors cannot read themselves,"
    advice = "write them to Parquet files that the executors can read"
    require_memory(int(COPIES_HERE * (VIEWS + table.text.all) * table.n_rows), what, advice)
    rows = pl.concat(list(table.batches()))
    frame = engine.started().createDataFrame(spark_table(rows))
    return SparkClaims(frame, table.kind, table.origin, table.columns)


@dataclass(frozen=True)
class EncodingRows:
    """Makes a part of the rows of a partition, in which all that is said of their items is."""

    kind: Kind
    origin: str
    are_numbers: bool | None
    rewriting: Rewriting | None

    def __call__(self, batches: Iterable[Any]) -> Made | None:
        """Check and encode the rows."""
        frames = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows]
        if not frames:
            return None
        number, n_rows = int(frames[0][PART][0]), sum(map(len, frames))
        read_as = self.kind if self.rewriting is None else "categorical"
        rows, n_lacking = checked_rows(pl.concat(frames).drop(PART), read_as, self.origin)
        if self.rewriting is not None:
            rows = self.rewriting.of(rows)
        found = encode_partition(
            [rows], self.kind, len(rows), 1 << 60,
            origin=self.origin, are_numbers=self.are_numbers, threads=1,
        )  # fmt: skip
        values = found.names.get("value")
        are_numbers = values is not None and numbers_in(values.spellings) is not None
        n_merged = 0 if values is None else values.n_merged
        told = Told(n_rows, n_lacking, found.counts, are_numbers, n_merged, Counts(), None)
        if not found.parts:
            return Made(number, None, None, told)
        (part,) = found.parts
        block = part.block
        n_claims = block.source_of_voice if self.kind == "binary" else block.source_of_support
        lowest = int(block.mark_of_item.min())
        counts = Counts(block.n_items, block.n_facts, len(n_claims), lowest)
        told = told._replace(counts=counts, example=_one_item(part))
        n_items = np.bincount(block.source_of_voice, minlength=len(found.names["source"].spellings))
        rest = Rest(part.items, part.values, found.names)
        return Made(number, block, rest, told, (found.names, n_items))


def _one_item(part: Partition) -> Partition:
    """The item of a part of which least is said."""
    is_meant = np.zeros(part.block.n_items, dtype=np.bool_)
    is_meant[np.argmin(part.block.n_voices_of_item + part.block.n_facts_of_item)] = True
    return part.select(is_meant)


@dataclass(frozen=True)
class Renumbering:
    """A step that gives names of a part the numbers they have among all."""

    names: PartitionNames

    def __call__(self, block: Block, rest: Rest) -> Block:
        """Renumber a block."""
        return block.renumbered(*places_among(rest.names, self.names))
