"""`discover`: from claims to a `Result`. The only loop over rounds lives here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from veracity.algorithms import Algorithm, PriorRates, algorithm_named
from veracity.algorithms.base import Memory, Turn, hold_known, kernels
from veracity.encode import UNKNOWN, Block, Claims, Encoded, FloatArray, encode
from veracity.engines import Engine, Local
from veracity.errors import NotConverged, ParameterError
from veracity.evidence import describe_weights
from veracity.normalise import Normalise
from veracity.notes import not_converged, notes_on
from veracity.read import ClaimsStream, open_claims, read_truths_beside
from veracity.result import Result, describe_parameters
from veracity.schema import ClaimsTable, Kind
from veracity.tables import Fit, tabulate
from veracity.truths import known_of_fact

__all__ = [
    "Prepared",
    "Progress",
    "answer",
    "chosen_algorithm",
    "discover",
    "fit",
    "prepare",
    "say_nothing",
]

Progress = Callable[[str, int, int], None]
"""Told of each step: the phase, how much of it is done, and of how much."""


USUAL_ALGORITHM: dict[Kind, str] = {
    "categorical": "veracity",
    "multiple": "veracity",
    "binary": "veracity",
    "numeric": "gtm",
}
"""What answers where no algorithm is named."""


def discover(
    claims: object,
    algorithm: Algorithm[Any] | str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    known: object | None = None,
    normalise: Normalise = False,
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
        An algorithm or the name of one; `Veracity` unless said otherwise, or `GTM` for numbers.
    columns
        Which column plays which part, e.g. ``{"source": "website"}``, where names do not tell.
    kind
        "categorical" (one value of an item is true, the default), "multiple" (several may be),
        "binary" (rows say of a fact that it is true or false), or "numeric" (values are numbers,
        and so is the truth, which nobody need have claimed).
    known
        Truths that are known, in any form claims can have: these are held, and they weigh on what
        is thought of the sources.
    normalise
        Whether values that mean the same, such as ``7:05 PM`` and ``19:05``, are brought to one
        spelling; or what the values of some attributes are, e.g. ``{"departure": "time"}``, the
        others being found out. `Result.changes` tells what was changed.
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
    chosen = None if algorithm is None else chosen_algorithm(algorithm, seed)
    _check_min_plausibility(min_plausibility)
    tell = progress or say_nothing
    prepared = prepare(
        claims, columns=columns, kind=kind, known=known, normalise=normalise, tell=tell
    )
    chosen = chosen or chosen_algorithm(USUAL_ALGORITHM[prepared.table.kind], seed)
    if prepared.table.kind == "numeric" and min_plausibility is not None:
        raise ParameterError("discover: min_plausibility is not for numeric claims")
    return answer(prepared, chosen, engine or Local(), tell, min_plausibility)


@dataclass(frozen=True)
class Prepared:
    """Claims ready for any algorithm: read, encoded, with what is known of them."""

    table: ClaimsTable | ClaimsStream
    encoded: Encoded
    notes: tuple[str, ...]
    seconds: dict[str, float]


def prepare(
    claims: object,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    known: object | None = None,
    normalise: Normalise = False,
    tell: Progress,
) -> Prepared:
    """Read and encode claims, once for any number of algorithms."""
    clock = _Clock()
    tell("reading", 0, 1)
    table = _as_table(claims, columns, kind, normalise)
    read_before = table.seconds if isinstance(table, ClaimsTable) else 0.0
    encoded, known_notes = _with_known(table, encode(table, tell), known)
    clock.lap("encode")
    clock.laps = {
        "read": round(table.seconds, 4),
        "encode": round(clock.laps["encode"] - table.seconds + read_before, 4),
    }
    return Prepared(table, encoded, (*table.notes, *encoded.notes, *known_notes), clock.laps)


def answer(
    prepared: Prepared,
    algorithm: Algorithm[Any],
    engine: Engine,
    tell: Progress,
    min_plausibility: float | None = None,
) -> Result:
    """Let one algorithm answer."""
    table, encoded, claims = prepared.table, prepared.encoded, prepared.encoded.claims
    if claims.kind not in algorithm.kinds:
        raise ParameterError(
            f"{algorithm.name} is for {' or '.join(algorithm.kinds)} claims, not {claims.kind} ones"
        )
    clock = _Clock()
    prior = algorithm.prior.rates(encoded.sources.to_list(), _met_by_known(claims))
    found = fit(claims, algorithm, prior, engine, tell)
    clock.lap("learn")
    tables = replace(tabulate(encoded, found, min_plausibility), changes=table.changes)
    clock.lap("tabulate")
    run = {
        "algorithm": algorithm.name,
        "parameters": describe_parameters(algorithm),
        "kind": table.kind,
        "min_plausibility": min_plausibility,
        "normalisation": table.normalisation,
        "input": {
            "origin": table.origin,
            "columns": dict(table.columns),
            "rows": table.rows_read,
            "claims": claims.n_claims,
            "sources": claims.n_sources,
            "items": claims.n_items,
            "facts": claims.n_facts,
            "known": claims.n_known,
        },
        "prevalence": None if found.rates is None else found.rates.prevalence,
        "weights": describe_weights(found.weights),
        "rounds": len(found.trace),
        "converged": found.converged,
        "trace": found.trace,
        "seconds": prepared.seconds | clock.laps,
        "notes": [*prepared.notes, *notes_on(encoded, algorithm, found)],
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
        warnings.warn(not_converged(algorithm, trace), NotConverged, stacklevel=3)
    tell("judging", 0, 1)
    reliability = algorithm.settle(reliability, prior)
    trust = algorithm.trust(reliability)
    weights = algorithm.weights(claims, memory, reliability)
    if claims.kind == "numeric":
        estimate = _estimate(claims, algorithm, memory, reliability)
        return Fit(
            trust=trust, trace=trace, converged=converged, estimate=estimate, weights=weights
        )
    plausibility, counts = _judge(claims, algorithm, memory, reliability, engine)
    rates = algorithm.rates(reliability, counts)
    return Fit(
        trust=trust,
        trace=trace,
        converged=converged,
        plausibility=plausibility,
        counts=counts,
        rates=rates,
        copies=algorithm.copies(reliability),
        weights=weights,
        is_fixed=prior.is_fixed,
    )


def _one_round(
    claims: Claims,
    algorithm: Algorithm[Any],
    memory: Memory,
    reliability: Any,  # noqa: ANN401 - each algorithm has its own
    round_number: int,
    engine: Engine,
) -> Any:  # noqa: ANN401
    """Study every block once; learn after each block, or once at the end."""
    parts = claims.cut(whole=algorithm.learns_from == "all")
    numbers = range(len(parts))
    groups = [[n] for n in numbers] if algorithm.learns_from == "block" else [list(numbers)]
    for group in groups:
        held = reliability

        def study(number: int, held: Any = held) -> tuple[Memory, Any]:  # noqa: ANN401
            block, facts = parts[number]
            rng = np.random.default_rng([algorithm.seed, round_number, number])
            part = tuple(array[facts] for array in memory)
            return algorithm.study(block, part, held, Turn(round_number, rng))

        total: tuple[Any, ...] | None = None
        for number, (part, tally) in zip(group, engine.map(study, group), strict=True):
            for array, new in zip(memory, part, strict=True):
                array[parts[number][1]] = new
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

    def judge(part: tuple[Block, slice]) -> tuple[FloatArray, FloatArray]:
        block, facts = part
        own = tuple(array[facts] for array in memory)
        plausibility = algorithm.judge(block, own, reliability, single_truth)
        plausibility = hold_known(plausibility, block)
        return plausibility, kernels.count_votes(block, plausibility, claims.n_sources)

    answers = list(engine.map(judge, claims.cut(whole=algorithm.learns_from == "all")))
    return np.concatenate([p for p, _ in answers]), sum(
        (counts for _, counts in answers), start=np.zeros((claims.n_sources, 4))
    )


def _estimate(
    claims: Claims,
    algorithm: Algorithm[Any],
    memory: Memory,
    reliability: Any,  # noqa: ANN401
) -> tuple[FloatArray, FloatArray]:
    """The number each item is estimated at, and its standard error."""
    parts = claims.cut(whole=algorithm.learns_from == "all")
    answers = [
        algorithm.estimate(block, tuple(array[facts] for array in memory), reliability)
        for block, facts in parts
    ]
    return np.concatenate([a for a, _ in answers]), np.concatenate([b for _, b in answers])


def _with_known(
    table: ClaimsTable | ClaimsStream, encoded: Encoded, known: object | None
) -> tuple[Encoded, list[str]]:
    """The claims with what is known of their facts beforehand."""
    if known is None:
        return encoded, []
    claims = encoded.claims
    if claims.kind == "numeric":
        raise ParameterError("known truths are held for values and facts, not for numbers")
    truths, read_notes = read_truths_beside(table, known)
    known_facts, notes = known_of_fact(encoded, truths)
    claims = replace(claims, all=claims.all._replace(known_of_fact=known_facts))
    return replace(encoded, claims=claims), [f"known: {note}" for note in (*read_notes, *notes)]


def _met_by_known(claims: Claims) -> FloatArray | None:
    """`count_votes` of the items whose truth is known."""
    known = claims.all.known_of_fact
    if (known == UNKNOWN).all():
        return None
    is_true, is_known = (known == 1).astype(np.float64), (known != UNKNOWN).astype(np.float64)
    of_true = kernels.count_votes(claims.all, is_true, claims.n_sources)
    of_known = kernels.count_votes(claims.all, is_known, claims.n_sources)
    return np.stack([of_true[:, 0], of_known[:, 0], of_true[:, 2], of_known[:, 2]], axis=1)


def chosen_algorithm(algorithm: Algorithm[Any] | str, seed: int | None = None) -> Algorithm[Any]:
    """The algorithm that was asked for, with the seed if it takes one."""
    chosen = algorithm_named(algorithm) if isinstance(algorithm, str) else algorithm
    if seed is None or "seed" not in (field.name for field in fields(chosen)):  # type: ignore[arg-type]
        return chosen
    return replace(chosen, seed=seed)  # type: ignore[type-var]


def _as_table(
    claims: object, columns: Mapping[str, str] | None, kind: Kind | None, normalise: Normalise
) -> ClaimsTable | ClaimsStream:
    if not isinstance(claims, ClaimsTable | ClaimsStream):
        usual: Kind = "categorical"
        return open_claims(claims, columns=columns, kind=kind or usual, normalise=normalise)
    if columns is not None or (kind is not None and kind != claims.kind) or normalise is not False:
        raise ParameterError("columns, kind and normalise were settled when the claims were read")
    return claims


def _check_min_plausibility(min_plausibility: float | None) -> None:
    if min_plausibility is not None and not 0.0 <= min_plausibility <= 1.0:
        raise ParameterError(
            f"discover: min_plausibility must be between 0 and 1, got {min_plausibility}"
        )


def say_nothing(phase: str, done: int, total: int) -> None:
    """Progress nobody asked for."""


class _Clock:
    """Seconds spent in each phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str, took: float | None = None) -> None:
        now = time.perf_counter()
        self.laps[phase] = round(now - self._last if took is None else took, 4)
        self._last = now
