"""`discover`: from claims to a `Result`. The only loop over rounds lives here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.algorithms import LTDRBM, Algorithm, PriorRates, Rates, algorithm_named
from veracity.algorithms.base import Memory, Turn, compiled
from veracity.encode import Claims, Encoded, FloatArray, encode
from veracity.engines import Engine, Local
from veracity.errors import NotConverged, ParameterError
from veracity.read import read_claims
from veracity.result import Result, describe_parameters, tabulate
from veracity.schema import ClaimsTable, Kind

__all__ = ["Fit", "Progress", "discover", "fit"]

Progress = Callable[[str, int, int], None]
"""Told of each step: the phase, how much of it is done, and of how much."""


@dataclass(frozen=True)
class Fit:
    """What an algorithm found: plausibilities, rates of the sources, and how it got there."""

    plausibility: FloatArray
    counts: FloatArray
    rates: Rates
    trace: list[dict[str, float | None]]
    converged: bool


def discover(
    claims: object,
    algorithm: Algorithm[Any] | str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    min_plausibility: float | None = None,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find which values are true, how sure that is, and how far each source can be trusted.

    Parameters
    ----------
    claims
        A path (CSV, TSV, Parquet; a folder or a glob of them), a polars or pandas frame, an Arrow
        table, anything else with an Arrow stream, or what `read_claims` returned.
    algorithm
        An algorithm or the name of one; `LTDRBM` unless said otherwise.
    columns
        Which column plays which part, e.g. ``{"source": "website"}``, where names do not tell.
    kind
        "categorical" (one value of an item is true, the default), "multiple" (several may be), or
        "binary" (rows say of a fact that it is true or false).
    min_plausibility
        Leave the value of an item empty where its plausibility stays below this. For "multiple",
        the threshold above which a value counts as true (0.5 unless given).
    seed
        Where randomness starts, in place of the algorithm's own.
    engine
        Where the work is done; this machine, on all cores, unless said otherwise.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> import polars as pl
    >>> claims = pl.DataFrame({
    ...     "source": ["a", "b", "c"], "entity": ["x"] * 3, "value": ["1", "1", "2"]})
    >>> discover(claims, "majority-vote").truths["value"].to_list()
    ['1']
    """
    tell = progress or (lambda phase, done, total: None)
    chosen = _chosen(algorithm, seed)
    _check_min_plausibility(min_plausibility)
    clock = _Clock()
    tell("reading", 0, 1)
    table = _as_table(claims, columns, kind)
    clock.lap("read")
    tell("encoding", 0, 1)
    encoded = encode(table)
    clock.lap("encode")
    prior = chosen.prior.rates(encoded.sources.to_list())
    found = fit(encoded.claims, chosen, prior, engine or Local(), tell)
    clock.lap("learn")
    tables = tabulate(encoded, found.plausibility, found.counts, found.rates, min_plausibility)
    clock.lap("tabulate")
    notes = (*table.notes, *encoded.notes, *_notes_on(encoded, chosen, found))
    run = {
        "algorithm": chosen.name,
        "parameters": describe_parameters(chosen),
        "kind": table.kind,
        "min_plausibility": min_plausibility,
        "input": {
            "origin": table.origin,
            "rows": table.rows_read,
            "claims": encoded.claims.n_claims,
            "sources": encoded.claims.n_sources,
            "items": encoded.claims.n_items,
            "facts": encoded.claims.n_facts,
        },
        "prevalence": found.rates.prevalence,
        "rounds": len(found.trace),
        "converged": found.converged,
        "trace": found.trace,
        "seconds": clock.laps,
        "notes": list(notes),
    }
    return Result(tables, run, table.frame_kind)


def fit(
    claims: Claims, algorithm: Algorithm[Any], prior: PriorRates, engine: Engine, tell: Progress
) -> Fit:
    """Run an algorithm to its end: the loop over rounds that all algorithms share."""
    memory, reliability = algorithm.start(claims, prior)
    memory = tuple(array.copy() for array in memory)
    trace: list[dict[str, float | None]] = []
    converged = algorithm.is_settled(reliability)
    for round_number in range(1, algorithm.max_rounds + 1):
        if converged:
            break
        tell("learning", round_number - 1, algorithm.max_rounds)
        began = time.perf_counter()
        before = reliability
        reliability = _one_round(claims, algorithm, memory, reliability, round_number, engine)
        change = algorithm.change(before, reliability)
        seconds = time.perf_counter() - began
        told = change if np.isfinite(change) else None
        trace.append({"round": round_number, "change": told, "seconds": round(seconds, 6)})
        converged = round_number >= algorithm.min_rounds and change < algorithm.tolerance
    if not converged:
        warnings.warn(_not_converged(algorithm, trace), NotConverged, stacklevel=3)
    tell("judging", 0, 1)
    plausibility, counts = _judge(claims, algorithm, memory, reliability, engine)
    return Fit(plausibility, counts, algorithm.rates(reliability, counts), trace, converged)


def _one_round(
    claims: Claims,
    algorithm: Algorithm[Any],
    memory: Memory,
    reliability: Any,  # noqa: ANN401 - each algorithm has its own
    round_number: int,
    engine: Engine,
) -> Any:  # noqa: ANN401
    """Study every block once; learn after each block, or once at the end."""
    numbers = range(len(claims.blocks))
    groups = [[n] for n in numbers] if algorithm.learns_from == "block" else [list(numbers)]
    for group in groups:
        held = reliability

        def study(number: int, held: Any = held) -> tuple[Memory, Any]:  # noqa: ANN401
            rng = np.random.default_rng([algorithm.seed, round_number, number])
            facts = claims.facts_of_block[number]
            part = tuple(array[facts] for array in memory)
            return algorithm.study(claims.blocks[number], part, held, Turn(round_number, rng))

        total: tuple[Any, ...] | None = None
        for number, (part, tally) in zip(group, engine.map(study, group), strict=True):
            for array, new in zip(memory, part, strict=True):
                array[claims.facts_of_block[number]] = new
            total = tally if total is None else tuple(map(np.add, total, tally))
        reliability = algorithm.learn(reliability, total or ())
    return reliability


def _judge(
    claims: Claims,
    algorithm: Algorithm[Any],
    memory: Memory,
    reliability: Any,  # noqa: ANN401
    engine: Engine,
) -> tuple[FloatArray, FloatArray]:
    """Plausibility of every fact, and how each source's word met them."""
    single_truth = claims.kind == "categorical"

    def judge(number: int) -> tuple[FloatArray, FloatArray]:
        block, facts = claims.blocks[number], claims.facts_of_block[number]
        part = tuple(array[facts] for array in memory)
        plausibility = algorithm.judge(block, part, reliability, single_truth)
        return plausibility, compiled().count_votes(block, plausibility, claims.n_sources)

    answers = list(engine.map(judge, range(len(claims.blocks))))
    return np.concatenate([p for p, _ in answers]), sum(
        (counts for _, counts in answers), start=np.zeros((claims.n_sources, 4))
    )


def _chosen(algorithm: Algorithm[Any] | str | None, seed: int | None) -> Algorithm[Any]:
    chosen = algorithm_named(algorithm) if isinstance(algorithm, str) else algorithm or LTDRBM()
    if seed is None or "seed" not in describe_parameters(chosen):
        return chosen
    return replace(chosen, seed=seed)  # type: ignore[type-var]


def _as_table(claims: object, columns: Mapping[str, str] | None, kind: Kind | None) -> ClaimsTable:
    if not isinstance(claims, ClaimsTable):
        return read_claims(claims, columns=columns, kind=kind or "categorical")
    if columns is not None or (kind is not None and kind != claims.kind):
        raise ParameterError("columns and kind were settled when the claims were read")
    return claims


def _check_min_plausibility(min_plausibility: float | None) -> None:
    if min_plausibility is not None and not 0.0 <= min_plausibility <= 1.0:
        raise ParameterError(
            f"discover: min_plausibility must be between 0 and 1, got {min_plausibility}"
        )


def _notes_on(encoded: Encoded, algorithm: Algorithm[Any], found: Fit) -> list[str]:
    """What a user should know before believing the answer."""
    claims = encoded.claims
    notes = []
    unknown = algorithm.prior.unknown(encoded.sources.to_list())
    if unknown:
        notes.append(f"the prior names sources that make no claim: {_some(unknown)}")
    if claims.n_sources == 1:
        notes.append("there is a single source: its word cannot be checked against another's")
    else:
        lone = encoded.sources.filter(~_overlaps(claims))
        if len(lone):
            notes.append(
                f"{len(lone):,} of {claims.n_sources:,} sources share no item with another, "
                f"so nothing can be learned of them: {_some(lone.to_list())}"
            )
    if claims.n_sources > 1 and bool((found.counts[:, 3] == found.counts[:, 1]).all()):
        notes.append("no source contradicts another: there is nothing to decide")
    tpr, fpr = found.rates.tpr, found.rates.fpr
    if np.nansum((tpr - fpr) * found.counts[:, 3]) < 0:
        notes.append(
            "on the whole the sources support false facts more than true ones: the answer may be "
            "flipped; known good sources in the prior would tell"
        )
    if not found.converged:
        notes.append(_not_converged(algorithm, found.trace))
    return notes


def _not_converged(algorithm: Algorithm[Any], trace: list[dict[str, float | None]]) -> str:
    change = trace[-1]["change"]
    last = "not finite" if change is None else f"{change:.2g}"
    return (
        f"{algorithm.name} did not converge in {len(trace)} rounds: the last change was "
        f"{last}, the tolerance is {algorithm.tolerance:.2g}"
    )


def _overlaps(claims: Claims) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which sources speak on an item that another source speaks on, too."""
    n_voices_of_item = np.diff(claims.all.first_voice_of_item)
    is_shared = np.repeat(n_voices_of_item > 1, n_voices_of_item)
    overlaps = np.zeros(claims.n_sources, dtype=np.bool_)
    overlaps[claims.all.source_of_voice[is_shared]] = True
    return overlaps


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(str(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"


class _Clock:
    """Seconds spent in each phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.laps[phase] = round(now - self._last, 4)
        self._last = now
