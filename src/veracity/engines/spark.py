"""The engine of many machines: parts lie where Spark's executors are, and tallies come back.

Nothing but states and tallies goes over the driver. A state is broadcast, `mapInArrow` hands parts
to our kernels, and tallies are merged in the order of the parts, so the answers are those of one
machine. `executors` has what is done where the parts lie.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

from veracity import errors
from veracity.claims.block import Block
from veracity.claims.encode import CLAIMS_PER_BLOCK
from veracity.engines.executors import (
    FOUND,
    MADE,
    Leading,
    Looking,
    Made,
    Making,
    MakingAgain,
    Work,
    merge_found,
)
from veracity.engines.merging import merged
from veracity.engines.packing import packed, unpacked
from veracity.errors import EngineError, ParameterError, VeracityError, first_line

if TYPE_CHECKING:
    from veracity.engines.local import Look

__all__ = ["HeldOnSpark", "Spark", "explained", "mapped"]

MOST_COLLECTED = 64
"""Parts whose tallies come to the driver each by itself; of more, neighbours are merged before."""

OWN_SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""How a session is set up that is started here."""

GONE: list[str] = []
"""Stores on executors that nobody needs any more; they are removed with the next work there."""

Frame = Any
"""A Spark DataFrame."""


@dataclass(frozen=True)
class Spark:
    """Apache Spark: this machine, or a cluster.

    Needs ``pip install 'veracity[spark]'`` and Java 17 where the session is started, and veracity
    wherever its executors are.

    Parameters
    ----------
    session
        The session to work in. Without one, that which runs is used, or one is started.
    master
        Where a session is started: ``local[*]`` is this machine, with all its cores.
    partitions
        Into how many parts claims are cut; some hundred thousand claims each unless given. The
        answers do not depend on it, with the exception of mini-batches.
    """

    session: Any = None
    master: str = "local[*]"
    partitions: int | None = None

    def __post_init__(self) -> None:
        if self.partitions is not None and self.partitions < 1:
            raise ParameterError(f"Spark: partitions must be at least 1, got {self.partitions}")

    @property
    def claims_per_block(self) -> int:
        """About how many claims a block has that is cut on this machine."""
        return CLAIMS_PER_BLOCK

    def started(self) -> Any:  # noqa: ANN401 - a SparkSession
        """The session, which is started if it has to be."""
        session = start(self.master) if self.session is None else self.session
        if "connect" in type(session).__module__:
            raise ParameterError(
                "Spark: a Spark Connect session cannot hold claims where its executors are; give a "
                "classic one, as SparkSession.builder.master(...) makes it"
            )
        return session

    def hold(self, blocks: Iterable[Block]) -> HeldOnSpark:
        """Hand blocks that were cut on this machine to the executors."""
        session = self.started()
        rows = [(bytearray(packed(one)),) for one in sorted(blocks, key=lambda one: one.number)]
        spread = session.sparkContext.parallelize(rows, max(len(rows), 1))
        return HeldOnSpark(session.createDataFrame(spread, "block binary"), _taken_in)


class _OnlyBlock(NamedTuple):
    """A part without names."""

    block: Block


def _taken_in(batches: Iterable[Any]) -> Made | None:
    """The block that the only row of a partition holds."""
    for batch in batches:
        for data in batch.column(0).to_pylist():
            return Made(_OnlyBlock(unpacked(bytearray(data))))
    return None


class HeldOnSpark:
    """Parts that lie where the executors are.

    `source` has all rows of a part in one partition; `make` makes the part of them.
    """

    def __init__(self, source: Frame, make: Callable[[Iterable[Any]], Made | None]) -> None:
        from pyspark import StorageLevel  # noqa: PLC0415 - an extra

        self._source, self._making = source, Making(uuid4().hex, make, tuple(GONE))
        self._journal: dict[int, list[Work]] = {}
        self.frame = mapped(source, self._making, MADE).persist(StorageLevel.MEMORY_AND_DISK)
        weakref.finalize(self, GONE.append, self._making.store)
        with explained():
            rows = self.frame.select("part").collect()
        self.parts = sorted(int(row.part) for row in rows)

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:  # noqa: ANN401
        """Look at every part, and merge the tallies in the order of the parts."""
        total = None
        for tally in self._found(look, state, turn, merge=len(self.parts) > MOST_COLLECTED):
            total = merged(total, tally)
        return total

    def collect(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:  # noqa: ANN401
        """What is found in each part, in the order of the parts."""
        yield from self._found(look, state, turn)

    def walk(self, go: Look, lanes: tuple[Any, ...], turn: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Lead all lanes through one part after the other: each part is a job of its own."""
        for part in self.parts:
            (lanes,) = self._found(Leading(go), lanes, turn, only=part)
        return lanes

    def _found(
        self,
        look: Look,
        state: Any,  # noqa: ANN401
        turn: Any,  # noqa: ANN401
        *,
        only: int | None = None,
        merge: bool = False,
    ) -> list[Any]:
        """What is found in the parts, in their order."""
        work = self._sent((look, state, turn))
        versions = {part: len(works) for part, works in self._journal.items()}
        looking = Looking(self._making.store, work, versions)
        rows = self._rows(looking, only, merge=merge)
        missing = [int(row.part) for row in rows if row.found is None]
        if missing:
            rows = [row for row in rows if row.found is not None]
            rows += self._rows_made_again(looking, missing)
        if any(row.changed for row in rows):
            for part in self.parts if only is None else [only]:
                self._journal.setdefault(part, []).append(work)
        else:
            work.sent.unpersist()
        rows.sort(key=lambda row: int(row.part))
        return [unpacked(row.found) for row in rows]

    def _rows(self, looking: Looking, only: int | None, *, merge: bool) -> list[Any]:
        parts = self.frame.select("part")
        if only is not None:
            parts = parts.filter(parts.part == only)
        found = mapped(parts, looking, FOUND)
        if merge:
            n_groups = math.isqrt(len(self.parts))
            group = (found.part / (len(self.parts) // n_groups + 1)).cast("long")
            found = mapped(found.repartition(n_groups, group), merge_found, FOUND)
        with explained():
            rows: list[Any] = found.collect()
        return rows

    def _rows_made_again(self, looking: Looking, missing: list[int]) -> list[Any]:
        """Parts that are not where they were looked for are made again from their rows."""
        from pyspark.sql.functions import spark_partition_id  # noqa: PLC0415 - an extra

        journal = {part: self._journal.get(part, []) for part in missing}
        again = MakingAgain(self._making, looking, journal)
        source = self._source.filter(spark_partition_id().isin(missing))
        with explained():
            rows: list[Any] = mapped(source, again, FOUND).collect()
        return rows

    def _sent(self, content: object) -> Work:
        from pyspark import cloudpickle  # noqa: PLC0415 - an extra

        data = packed(content, cloudpickle.dumps)
        return Work(self._source.sparkSession.sparkContext.broadcast(data))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.frame.unpersist()


def mapped(frame: Frame, work: Callable[[Iterable[Any]], Iterator[Any]], schema: str) -> Frame:
    """The frame that work makes of the record batches of each partition."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        yield from work(batches)

    with warnings.catch_warnings():  # pandas, which is not used here, may be newer than it knows
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(run, schema)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """What goes wrong on Spark is told in one sentence; our own errors are told as they are."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _own_error(str(error)) or EngineError(
            f"Spark gave up: {_reason(str(error))}; its log tells more"
        ) from error


def _own_error(text: str) -> VeracityError | None:
    """The error that was raised on an executor, if it is one of ours."""
    for line in text.splitlines():
        name, _, message = line.strip().partition(": ")
        kind = getattr(errors, name.removeprefix("veracity.errors."), None)
        if name.startswith("veracity.errors.") and kind is not None:
            own: VeracityError = kind(message)
            return own
    return None


def _reason(text: str) -> str:
    """The line that tells most: the last of a traceback, or the first of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Error: " in line or "Exception: " in line]
    return (told or lines or ["no reason is told"])[-1 if told else 0][:300]


def start(master: str) -> Any:  # noqa: ANN401 - a SparkSession
    """The session that runs, or a new one."""
    try:
        from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - an extra
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise EngineError("Spark is not installed: pip install 'veracity[spark]'") from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need what is installed here
    builder = SparkSession.builder.appName("veracity").master(master)
    for name, value in OWN_SETTINGS.items():
        builder = builder.config(name, value)
    if master.startswith("local"):
        builder = builder.config("spark.driver.host", "localhost")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return SparkSession.getActiveSession() or builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise EngineError(
            f"Spark cannot be started ({first_line(error)}); it needs Java 17 or newer, e.g. "
            "apt install default-jre-headless"
        ) from error
    except Exception as error:
        raise EngineError(f"Spark cannot be started on {master}: {_reason(str(error))}") from error
