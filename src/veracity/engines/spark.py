"""Engine of many machines: Spark's executors hold the parts, and return tallies.

Only states and tallies pass through the driver. A state is broadcast, `mapInArrow` passes parts to
our kernels, and tallies are merged in the order of the parts, so the answers equal those of one
machine. `spark_work` has the tasks that run on executors.
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
from veracity.encoding.partitions import Encoded, PartitionKey
from veracity.engines.spark_work import (
    FOUND,
    MADE,
    Made,
    Part,
    Parts,
    Sent,
    Task,
    making,
    merge_found,
    on_parts,
)
from veracity.errors import EngineError, ParameterError, VeracityError, first_line
from veracity.extras import how_to_get
from veracity.io.array_file import packed, unpacked
from veracity.io.frames import use_own_python
from veracity.progress import Progress
from veracity.trees import merged_all

if TYPE_CHECKING:
    from veracity.engines.local import Look, Prepare

MOST_COLLECTED = 64
"""Largest number of tallies sent to the driver; with more, those of neighbours are merged."""

OWN_SETTINGS = {
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # there are as many workers as cores
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session that is started here."""

HOW_TO_ASK = "its log tells more"

OTHER_PYTHON = (
    "the Python of its executors is not one with veracity: install veracity on all of them, or "
    "ship an environment with spark.archives; then set PYSPARK_PYTHON to that Python before the "
    "session is started"
)

MARKS_OF_OTHER_PYTHON = (
    "No module named 'veracity'",
    "No module named 'polars'",
    "No module named 'pyarrow'",
    "PYTHON_VERSION_MISMATCH",
    'Cannot run program "python',
)
"""Texts in errors of Spark whose workers run a Python that has no veracity, or another version."""

FEW_NAMES = 1 << 15
"""Largest size in bytes of a part's names that are sent to the driver with its report."""

MOST_AT_ONCE = 1 << 26
"""Number of bytes of names that are sent to the driver at a time."""

UNUSED: list[tuple[str, Any, Any]] = []
GONE: deque[str] = deque(maxlen=100)
"""Unused parts and their stores. The next work on executors removes them, since Spark must not be
called during garbage collection."""

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
        """Return the session; start one if needed."""
        session = start(self.master) if self.session is None else self.session
        if "connect" in type(session).__module__:
            raise ParameterError(
                "Spark: a Spark Connect session cannot store claims on its executors; pass a "
                "classic one, made with SparkSession.builder.master(...)"
            )
        return session

    def encode(self, table: Any, tell: Progress, key: PartitionKey = "item") -> Encoded:
        """Turn claims into blocks on the executors."""
        from veracity.engines.spark_claims import encode_on_spark  # noqa: PLC0415 - it looks here

        return encode_on_spark(self, table, tell, key)

    def hold(self, blocks: Iterable[Block]) -> SparkBlocks:
        """Use blocks on the executors; send blocks of this machine to the executors."""
        if isinstance(blocks, BlocksOnSpark):
            return SparkBlocks(blocks.made, blocks.steps)
        session = self.started()
        rows = [(bytearray(packed(one)),) for one in sorted(blocks, key=lambda one: one.number)]
        spread = session.sparkContext.parallelize(rows, max(len(rows), 1))
        frame = session.createDataFrame(spread, "block binary")
        return SparkBlocks(MadeParts(frame, _taken_in), are_from_here=True)


def _taken_in(batches: Iterable[Any]) -> Made | None:
    """Return the block in the only row of a partition."""
    for batch in batches:
        for data in batch.column(0).to_pylist():
            block = unpacked(bytearray(data))
            return Made(block.number, block)
    return None


class MadeParts:
    """Parts that executors made, and can make again.

    Each partition of `source` has the rows of one part; `make` turns them into the part.
    """

    def __init__(self, source: Frame, make: Callable[[Iterable[Any]], Made | None]) -> None:
        from pyspark import StorageLevel  # noqa: PLC0415 - an extra

        _clear()
        self.session = source.sparkSession
        self.store = uuid4().hex
        made = mapped(source, making(self.store, make, tuple(GONE)), MADE)
        self.whole = made.persist(StorageLevel.DISK_ONLY)
        self.filled = self.whole.filter(self.whole.names.isNotNull())
        # a task takes the parts of one executor in turn: starting one costs more than it may do
        at_once = self.session.sparkContext.defaultParallelism
        numbers = self.filled.select("part").coalesce(at_once)
        self.numbers = numbers.persist(StorageLevel.MEMORY_AND_DISK)
        weakref.finalize(self, UNUSED.append, (self.store, self.whole, self.numbers))
        few = f"if(length(names) < {FEW_NAMES}, names, null)"
        with explained():
            rows = self.whole.selectExpr("part", "report", "length(names) size", few).collect()
            self.numbers.count()  # where the parts are, so that tasks go there
        rows.sort(key=lambda row: int(row.part))
        self.reports = [unpacked(row.report) for row in rows]
        filled = [row for row in rows if row.size is not None]
        self.parts = [int(row.part) for row in filled]
        self._names = {int(row.part): (int(row.size), row[3]) for row in filled}

    def names(self) -> Iterator[Any]:
        """Yield the names of the parts, without loading all of them at once."""
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
    """Blocks on the executors, and the steps that have changed them."""

    made: MadeParts
    steps: tuple[tuple[str, Any], ...]


class AnswersOnSpark(NamedTuple):
    """Answers on the executors: the parts, and the function that finds the answer of a part."""

    parts: Parts
    answer: Callable[[Part], Any]


class SparkBlocks:
    """Parts on the executors, and the data stored with them.

    Answers to blocks of this machine are returned to it.
    """

    def __init__(
        self,
        made: MadeParts,
        steps: tuple[tuple[str, Any], ...] = (),
        *,
        are_from_here: bool = False,
    ) -> None:
        self._made, self._are_from_here = made, are_from_here
        self._parts = Parts(made.store, uuid4().hex, steps)
        self._journal: dict[int, list[Callable[[Part], Any]]] = {}

    def sweep(self, look: Look, state: Any, turn: Any) -> Any:
        """Look at every part, and merge the tallies in the order of the parts."""
        return merged_all(self._tallies(self._made.send((look, state, turn))))

    def _tallies(self, sent: Sent, which: int | None = None) -> list[Any]:
        merge = len(self._made.parts) > MOST_COLLECTED
        return self._found(_looking(sent, which), sent, merge=merge)

    def found(self, look: Look, state: Any, turn: Any) -> Iterator[Any]:
        """Yield the result of a function for each part, in the order of the parts."""
        sent = self._made.send((look, state, turn))
        yield from self._found(_looking(sent), sent)

    def answers(self, look: Look, state: Any, turn: Any) -> tuple[Any, Any]:
        """Return a function that finds the answers of a pass, and its merged tallies."""
        if self._are_from_here:
            answers, tallies = zip(*self.found(look, state, turn), strict=True)
            return answers, merged_all(tallies)
        total = merged_all(self._tallies(self._made.send((look, state, turn)), TALLY))
        sent = self._made.send((look, state, turn))
        return AnswersOnSpark(self._with_journal(), _looking(sent, ANSWER)), total

    def walk(
        self, go: Look, lanes: tuple[Any, ...], turn: Any, prepare: Prepare | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Run all lanes through the parts, one part after the other; each part is a Spark job.

        No part is prepared in advance.
        """

        def lead(block: Any, lanes: tuple[Any, ...], turn: Any) -> tuple[Any, Any]:
            before = turn.memory or [None] * len(lanes)
            pairs = [
                go(block, lane, turn._replace(memory=own))
                for lane, own in zip(lanes, before, strict=True)
            ]
            arrived, memories = zip(*pairs, strict=True)
            forgets = turn.memory is None and all(own is None for own in memories)
            return arrived, None if forgets else list(memories)

        for number in self._made.parts:
            sent = self._made.send((lead, lanes, turn))
            (lanes,) = self._found(_looking(sent), sent, only=number)
        return lanes

    def _found(
        self,
        work: Callable[[Part], Any],
        sent: Sent,
        *,
        only: int | None = None,
        merge: bool = False,
    ) -> list[Any]:
        """Return the result of a function for each part, in order; send it an argument."""
        made, parts = self._made, replace(self._parts, versions=self._versions)
        numbers = made.numbers if only is None else made.numbers.filter(f"part = {only}")
        found = mapped(numbers, on_parts(parts, work), FOUND)
        rows = collected(merged_there(found, len(made.parts)) if merge else found)
        missing = [int(row.part) for row in rows if row.found is None]
        if missing:
            some = made.whole.filter(made.whole.part.isin(missing)).select("part", "data")
            made_again = collected(mapped(some, on_parts(self._with_journal(), work), FOUND))
            rows = [row for row in rows if row.found is not None] + made_again
        if any(row.changed for row in rows):
            for part in made.parts if only is None else [only]:
                self._journal.setdefault(part, []).append(work)
        else:
            sent.broadcast.destroy()
        rows.sort(key=lambda row: int(row.part))
        return [unpacked(row.found) for row in rows]

    @property
    def _versions(self) -> dict[int, int]:
        return {part: len(works) for part, works in self._journal.items()}

    def _with_journal(self) -> Parts:
        """Return all data needed to make the memory of parts again."""
        journal = {part: tuple(works) for part, works in self._journal.items()}
        return replace(self._parts, versions=self._versions, journal=journal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Keep the parts, which are stored until they are no longer referenced."""


def _looking(sent: Sent, which: int | None = None) -> Callable[[Part], Any]:
    """Return the work of a look at a part, to find all that it finds, or one member of it."""

    def work(part: Part) -> Any:
        found = part.look(*sent.content)
        return found if which is None else found[which]

    return work


def merged_there(found: Frame, n_parts: int) -> Frame:
    """Merge the results of neighbouring parts on the executors."""
    n_groups = math.isqrt(n_parts)
    group = (found.part / (n_parts // n_groups + 1)).cast("long")
    return mapped(found.repartition(n_groups, group), merge_found, FOUND)


ANSWER, TALLY = range(2)
"""Numbers of the two results that a look of `Blocks.answers` finds in a block."""


def _clear() -> None:
    """Release the parts that are no longer used."""
    while UNUSED:
        store, *frames = UNUSED.pop()
        GONE.append(store)
        for frame in frames:
            with contextlib.suppress(Exception):  # the session may be gone, too
                frame.unpersist()


def mapped(frame: Frame, task: Task, schema: str | Schema) -> Frame:
    """Return the frame that a task makes of the record batches of each partition."""
    use_own_python(frame.sparkSession)
    with warnings.catch_warnings():  # pandas, which is not used here, may be newer than it knows
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(task, schema)


def collected(frame: Frame) -> list[Any]:
    """Return the rows of a frame."""
    with explained():
        rows: list[Any] = frame.collect()
        return rows


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn an error of Spark into one sentence; raise our own errors unchanged."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        advice = OTHER_PYTHON if any(mark in text for mark in MARKS_OF_OTHER_PYTHON) else HOW_TO_ASK
        raise _own_error(text) or EngineError(
            f"Spark gave up: {_reason(text)}; {advice}"
        ) from error


def _own_error(text: str) -> VeracityError | None:
    """Return the error raised on an executor, if it is an error of veracity."""
    for line in text.splitlines():
        name, _, message = line.strip().partition(": ")
        kind = getattr(errors, name.removeprefix("veracity.errors."), None)
        if name.startswith("veracity.errors.") and kind is not None:
            own: VeracityError = kind(message)
            return own
    return None


def _reason(text: str) -> str:
    """Return the most informative line: the last of a traceback, or the first of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Error: " in line or "Exception: " in line]
    return (told or lines or ["no reason is given"])[-1 if told else 0][:300]


def start(master: str) -> Any:
    """Return the running session, or a new one."""
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
