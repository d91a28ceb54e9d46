"""Claims made ready for any algorithm: read, encoded, with what is known and to be told of them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from veracity.algorithms import Algorithm
from veracity.encoding.known import with_known
from veracity.encoding.partitions import Encoded
from veracity.engines import Engine
from veracity.errors import EngineError, ParameterError
from veracity.opening import AnyClaims, engine_for, opened
from veracity.printing import counted
from veracity.progress import Progress, no_progress
from veracity.reading.asked import asked_before
from veracity.reading.options import ReadOptions
from veracity.reading.schema import Kind, carries_more
from veracity.reading.spark import SparkClaims
from veracity.reading.truths import read_truths_beside


@dataclass(frozen=True)
class Prepared:
    """Claims ready for any algorithm: read, encoded, with what is known of them."""

    table: AnyClaims
    encoded: Encoded
    notes: tuple[str, ...]
    seconds: dict[str, float]
    engine: Engine
    """Where they are held."""
    asked: tuple[dict[str, Any], ...] = ()
    """The questions whose answers are among the known truths: see `Run.asked`."""

    def noting(self, note: str) -> Prepared:
        """The same, with something more to be said of them."""
        return replace(self, notes=(*self.notes, note))


def prepare(
    claims: object,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    known: object | None = None,
    tell: Progress = no_progress,
    engine: Engine | None = None,
    algorithm: Algorithm[Any] | None = None,
    **how: Any,
) -> Prepared:
    """Read and encode claims, once for any number of algorithms.

    If they are for one `algorithm`, which is not for such claims, that is told before the work.
    """
    _require_own_threads()
    clock, engine = Clock(), engine_for(claims, engine)
    tell("reading", 0, 1)
    table = _opened(claims, engine, columns=columns, kind=kind, **how)
    if algorithm is not None:
        has_shares = "weight" in table.columns or "samples" in table.shape
        form_for(algorithm, table.kind, has_shares=has_shares and table.kind != "numeric")
    read_before = table.seconds if table is claims else 0.0  # not by this clock
    encoded = engine.encode(table, tell)  # type: ignore[arg-type] # Spark's are for Spark alone
    known_notes: list[str] = []
    asked: tuple[dict[str, Any], ...] = ()
    if known is not None:
        truths, read_notes = read_truths_beside(table, known)
        encoded, match_notes = with_known(encoded, truths)
        asked = asked_before(truths, encoded.example.items.columns)
        known_notes = [f"known: {note}" for note in (*read_notes, *match_notes)]
    clock.lap("encode")
    clock.laps = {
        "read": round(table.seconds, 4),
        "encode": round(clock.laps["encode"] - table.seconds + read_before, 4),
    }
    notes = (*table.notes, *encoded.notes, *_said_again(table, encoded), *known_notes)
    return Prepared(table, encoded, notes, clock.laps, engine, asked)


_worked_in: list[int] = []
"""The process in which claims were prepared first."""


def _require_own_threads() -> None:
    """Refuse a process that was forked from one at work: Polars would wait for its threads."""
    if not _worked_in:
        _worked_in.append(os.getpid())
    elif _worked_in[0] != os.getpid():
        raise EngineError(
            "this process was forked from one in which veracity had worked already, so that Polars "
            "would wait for ever; start processes with multiprocessing.get_context('spawn')"
        )


def _said_again(table: AnyClaims, encoded: Encoded) -> list[str]:
    """What a source says more than once, of one item: the same, or something else."""
    if isinstance(table, SparkClaims) or encoded.kind == "binary" or carries_more(table):
        return []  # what was left out, or counts by its share, was told
    notes = []
    n_same = table.rows_kept - encoded.n_claims
    if n_same > 0:
        rows = counted(n_same, "row repeats", "rows repeat")
        notes.append(f"{rows} what the same source says in another row: it counts once")
    n_other = encoded.n_claims - sum(len(block.source_of_voice) for block in encoded.blocks)
    if n_other and encoded.kind != "multiple":
        more = counted(n_other, "claim contradicts another", "claims contradict others")
        notes.append(
            f"{more} of the same source about the same item: all of them count; samples=True or "
            "--samples counts each by its share, a column for the time, as in --columns time=NAME, "
            "the newest only"
        )
    return notes


def _opened(claims: object, engine: Engine, **how: Any) -> AnyClaims:
    given = {name: value for name, value in how.items() if value is not None}
    if not isinstance(claims, AnyClaims):
        return opened(claims, ReadOptions(**given), engine)
    if given.pop("kind", claims.kind) != claims.kind or any(given.values()):
        raise ParameterError("columns, kind and normalise were settled when the claims were read")
    return claims


def form_for(algorithm: Algorithm[Any], kind: Kind, *, has_shares: bool) -> Algorithm[Any]:
    """The algorithm, in a form that is for such claims, and lets them count by their shares."""
    if kind not in algorithm.kinds:
        raise ParameterError(
            f"{algorithm.name} is for {' or '.join(algorithm.kinds)} claims, not {kind} ones; "
            f"choose another algorithm, or say kind='{algorithm.kinds[0]}', or --kind "
            f"{algorithm.kinds[0]}, if they are such"
        )
    if not has_shares:
        return algorithm
    for form in (algorithm, algorithm.by_sweeps()):
        if form.takes_shares:
            return form
    raise ParameterError(
        f"{algorithm.name} counts every claim in full, so it takes no samples and no weights; "
        "choose another algorithm, such as veracity, or leave samples and weights out"
    )


class Clock:
    """Seconds spent in each phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """A phase is over."""
        now = time.perf_counter()
        self.laps[phase] = round(now - self._last, 4)
        self._last = now
