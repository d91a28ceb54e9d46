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
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

from veracity import errors
from veracity.encoding.block import Block
from veracity.encoding.partitions import Encoded
from veracity.engines.executors import (
    FOUND,
    MADE,
    Held,
    Leading,
    Looking,
    Made,
    Making,
    Sent,
    merge_found,
)
from veracity.engines.merging import merged_all
from veracity.errors import EngineError, ParameterError, VeracityError, first_line
from veracity.extras import how_to_get
from veracity.io.array_file import packed, unpacked
from veracity.progress import Progress

if TYPE_CHECKING:
    from veracity.engines.local import Look, Prepare

MOST_COLLECTED = 64
"""Parts whose tallies come to the driver each by itself; of more, neighbours are merged before."""

OWN_SETTINGS = {
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # there are as many workers as cores
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""How a session is set up that is started here."""

FEW_NAMES = 1 << 15
"""Names of a part that take fewer bytes come to the driver with what is told of it."""

MOST_AT_ONCE = 1 << 26
"""Bytes of names that come to the driver at a time."""

UNUSED: list[tuple[str, Any, Any]] = []
GONE: deque[str] = deque(maxlen=100)
"""Parts that nobody knows any more, and the stores they lay in: these are removed by the next work
on executors, since nothing may be asked of Spark while Python tidies up."""

Frame = Any
"""A Spark DataFrame."""

Schema = Any
"""The columns of one."""


@dataclass(frozen=True)
class Spark:
    """Apache Spark: this machine, or a cluster.

    Needs the extra ``spark`` and Java 17 where the session is started, and veracity
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

    def started(self) -> Any:
        """The session, which is started if it has to be."""
        session = start(self.master) if self.session is None else self.session
        if "connect" in type(session).__module__:
            raise ParameterError(
                "Spark: a Spark Connect session cannot hold claims where its executors are; give a "
                "classic one, as SparkSession.builder.master(...) makes it"
            )
        return session

    def encode(self, table: Any, tell: Progress) -> Encoded:
        """Turn claims into blocks where the executors are."""
        from veracity.engines.spark_encoding import encode_on_spark  # noqa: PLC0415 - it looks here

        return encode_on_spark(self, table, tell)

    def hold(self, blocks: Iterable[Block]) -> HeldOnSpark:
        """Look at blocks where they are; those of this machine are handed to the executors."""
        if isinstance(blocks, BlocksOnSpark):
            return HeldOnSpark(blocks.made, blocks.steps)
        session = self.started()
        rows = [(bytearray(packed(one)),) for one in sorted(blocks, key=lambda one: one.number)]
        spread = session.sparkContext.parallelize(rows, max(len(rows), 1))
        frame = session.createDataFrame(spread, "block binary")
        return HeldOnSpark(MadeParts(frame, _taken_in), are_from_here=True)


def _taken_in(batches: Iterable[Any]) -> Made | None:
    """The block that the only row of a partition holds."""
    for batch in batches:
        for data in batch.column(0).to_pylist():
            block = unpacked(bytearray(data))
            return Made(block.number, block)
    return None


class MadeParts:
    """Parts that were made where the executors are, and can be made again.

    `source` has all rows of a part, and of no other, in one partition; `make` makes the part of
    them.
    """

    def __init__(self, source: Frame, make: Callable[[Iterable[Any]], Made | None]) -> None:
        from pyspark import StorageLevel  # noqa: PLC0415 - an extra

        _clear()
        self.session = source.sparkSession
        making = Making(uuid4().hex, make, tuple(GONE))
        self.store = making.store
        self.whole = mapped(source, making, MADE).persist(StorageLevel.DISK_ONLY)
        self.filled = self.whole.filter(self.whole.names.isNotNull())
        # a task takes the parts of one executor in turn: starting one costs more than it may do
        at_once = self.session.sparkContext.defaultParallelism
        numbers = self.filled.select("part").coalesce(at_once)
        self.numbers = numbers.persist(StorageLevel.MEMORY_AND_DISK)
        weakref.finalize(self, UNUSED.append, (self.store, self.whole, self.numbers))
        few = f"if(length(names) < {FEW_NAMES}, names, null)"
        with explained():
            rows = self.whole.selectExpr("part", "told", "length(names) size", few).collect()
            self.numbers.count()  # where the parts are, so that tasks go there
        rows.sort(key=lambda row: int(row.part))
        self.told = [unpacked(row.told) for row in rows]
        filled = [row for row in rows if row.size is not None]
        self.parts = [int(row.part) for row in filled]
        self._names = {int(row.part): (int(row.size), row[3]) for row in filled}

    def names(self) -> Iterator[Any]:
        """The names of the parts; not all of them are here at once."""
        few = [names for _, names in self._names.values() if names is not None]
        yield from map(unpacked, few)
        many = {part: size for part, (size, names) in self._names.items() if names is None}
        for group in _groups(many):
            some = self.whole.filter(self.whole.part.isin(group)).select("names")
            with explained():
                rows = some.collect()
            yield from (unpacked(row.names) for row in rows)

    def send(self, content: object) -> Sent:
        """Send something to all executors."""
        from pyspark import cloudpickle  # noqa: PLC0415 - an extra

        return Sent(self.session.sparkContext.broadcast(packed(content, cloudpickle.dumps)))


def _groups(sizes: dict[int, int]) -> Iterator[list[int]]:
    """Neighbouring parts that are together no larger than may be here at once."""
    group: list[int] = []
    room = MOST_AT_ONCE
    for part, size in sizes.items():
        if group and size > room:
            yield group
            group, room = [], MOST_AT_ONCE
        group.append(part)
        room -= size
    if group:
        yield group


@dataclass(frozen=True)
class BlocksOnSpark:
    """Blocks where the executors are, after some steps that changed them."""

    made: MadeParts
    steps: tuple[tuple[str, Sent], ...]


class AnswersOnSpark(NamedTuple):
    """Answers that are where the blocks are: what finds them."""

    held: Held
    work: Sent


class HeldOnSpark:
    """Parts that lie where the executors are, and what is kept beside them.

    Answers to blocks that are from here come back here.
    """

    def __init__(
        self,
        made: MadeParts,
        steps: tuple[tuple[str, Sent], ...] = (),
        *,
        are_from_here: bool = False,
    ) -> None:
        self._made, self._are_from_here = made, are_from_here
        self._held = Held(made.store, uuid4().hex, steps)
        self._journal: dict[int, list[Sent]] = {}

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:
        """Look at every part, and merge the tallies in the order of the parts."""
        merge = len(self._made.parts) > MOST_COLLECTED
        return merged_all(self._found(look, state, turn, merge=merge))

    def collect(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:
        """What is found in each part, in the order of the parts."""
        yield from self._found(look, state, turn)

    def keep(self, look: Look, state: Any, turn: Any) -> tuple[Any, Any]:
        """Where a look finds an answer and a tally: what finds the answers, the tallies merged."""
        if self._are_from_here:
            answers, tallies = zip(*self._found(look, state, turn), strict=True)
            return answers, merged_all(tallies)
        total = self.sweep(_Alone(look, TALLY), state, turn)
        answer = self._made.send((_Alone(look, ANSWER), state, turn))
        return AnswersOnSpark(self._with_journal(), answer), total

    def walk(
        self, go: Look, lanes: tuple[Any, ...], turn: Any, prepare: Prepare | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Lead all lanes through one part after the other: each part is a job of its own.

        Nothing is prepared ahead.
        """
        for part in self._made.parts:
            (lanes,) = self._found(Leading(go), lanes, turn, only=part)
        return lanes

    def _found(
        self,
        look: Look,
        state: Any,
        turn: Any,
        *,
        only: int | None = None,
        merge: bool = False,
    ) -> list[Any]:
        """What is found in the parts, in their order."""
        work = self._made.send((look, state, turn))
        rows = self._rows(work, only, merge=merge)
        missing = [int(row.part) for row in rows if row.found is None]
        if missing:
            whole = self._made.whole
            again = Looking(self._with_journal(), work)
            some = whole.filter(whole.part.isin(missing)).select("part", "data")
            with explained():
                made_again = mapped(some, again, FOUND).collect()
            rows = [row for row in rows if row.found is not None] + made_again
        if any(row.changed for row in rows):
            for part in self._made.parts if only is None else [only]:
                self._journal.setdefault(part, []).append(work)
        else:
            work.broadcast.destroy()
        rows.sort(key=lambda row: int(row.part))
        return [unpacked(row.found) for row in rows]

    def _rows(self, work: Sent, only: int | None, *, merge: bool) -> list[Any]:
        """What is found in the stores of executors."""
        versions = {part: len(works) for part, works in self._journal.items()}
        looking = Looking(replace(self._held, versions=versions), work)
        parts, n_parts = self._made.numbers, len(self._made.parts)
        if only is not None:
            parts = parts.filter(parts.part == only)
        found = mapped(parts, looking, FOUND)
        if merge:
            found = merged_there(found, n_parts)
        with explained():
            rows: list[Any] = found.collect()
        return rows

    def _with_journal(self) -> Held:
        """All that it takes to make again what is kept beside parts."""
        versions = {part: len(works) for part, works in self._journal.items()}
        journal = {part: tuple(works) for part, works in self._journal.items()}
        return replace(self._held, versions=versions, journal=journal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Parts stay as long as someone knows them."""


def merged_there(found: Frame, n_parts: int) -> Frame:
    """What was found, with that of neighbouring parts merged where they are."""
    n_groups = math.isqrt(n_parts)
    group = (found.part / (n_parts // n_groups + 1)).cast("long")
    return mapped(found.repartition(n_groups, group), merge_found, FOUND)


ANSWER, TALLY = range(2)
"""What `Held.keep` finds in a block, in this order."""


@dataclass(frozen=True)
class _Alone:
    """A look that finds an answer and a tally, for one of them alone."""

    look: Look
    which: int

    def __call__(self, block: Block, state: Any, turn: Any) -> tuple[Any, Any]:
        found, memory = self.look(block, state, turn)
        return found[self.which], memory


def _clear() -> None:
    """Let go of parts that nobody knows any more."""
    while UNUSED:
        store, *frames = UNUSED.pop()
        GONE.append(store)
        for frame in frames:
            with contextlib.suppress(Exception):  # the session may be gone, too
                frame.unpersist()


def mapped(
    frame: Frame, work: Callable[[Iterable[Any]], Iterator[Any]], schema: str | Schema
) -> Frame:
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


def start(master: str) -> Any:
    """The session that runs, or a new one."""
    try:
        from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - an extra
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise EngineError(f"Spark is not installed: {how_to_get('spark')}") from error
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
