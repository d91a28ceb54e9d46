"""What an algorithm found in claims, as a `Result` with all that a user should know of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veracity.algorithms import Algorithm
from veracity.algorithms.item_features import with_kinds
from veracity.algorithms.state import to_arrays
from veracity.doubts import looking_ahead, with_doubts
from veracity.encoding.partitions import Encoded
from veracity.encoding.survey import Counted, Survey
from veracity.engines import Engine, threads_of
from veracity.errors import UnreadableFile
from veracity.fit.answering import answered
from veracity.fit.fitted import Fitted
from veracity.fit.judging import Judged
from veracity.fit.loop import Kept, Learned, survey_of
from veracity.fit.readings import decided
from veracity.io.memory import release_memory
from veracity.kernels.loading import FEW
from veracity.preparing import Clock, Prepared, form_for
from veracity.progress import Progress, no_progress
from veracity.result import Result
from veracity.result.readings import with_readings
from veracity.result.run import Input, Run, describe_parameters
from veracity.result.tables import tabulate
from veracity.result.warnings import notes_on_fit


def answer(
    prepared: Prepared,
    algorithm: Algorithm[Any],
    engine: Engine | None = None,
    tell: Progress = no_progress,
    min_plausibility: float | None = None,
    kept: Kept | None = None,
) -> Result:
    """Let one algorithm answer; with what was kept of earlier claims, go on from there."""
    prepared = with_kinds_of_items(prepared, algorithm)
    encoded = prepared.encoded
    algorithm = form_for(algorithm, encoded.kind, has_shares=encoded.has_shares)
    other = decided(encoded, algorithm) if kept is None else None
    if other is not None:
        name, algorithm = other
        prepared = prepared.noting(f"of two readings, known truths chose this one: {name}")
    clock, names = Clock(), encoded.names
    engine = engine or prepared.engine
    threads = threads_of(engine)
    with engine.hold(encoded.blocks) as held:
        survey = survey_of(held, encoded.kind, names, kept)
        own = survey if kept is None else survey_of(held, encoded.kind, names)
        is_normalised = bool(prepared.table.normalisation)
        looking = looking_ahead(
            encoded, own, algorithm, are_normalised=is_normalised, threads=threads
        )
        with looking as ahead:
            found = answered(held, encoded, survey, algorithm, tell, kept)
            learned, judged, readings, some = found
            if kept is not None:
                require_sound(judged, learned.state)
            clock.lap("learn")
            fitted = _fitted(prepared, algorithm, learned, survey)
            result = as_result(prepared, fitted, judged, learned, min_plausibility, clock)
            result.run = with_readings(
                Result(result.tables, result.run, encoded=some), readings
            ).run
            result = with_doubts(result, held, own, judged.plausibility, threads, ahead)
    if encoded.n_claims > FEW:
        release_memory()  # what learning took: the tables that are written next need room
    return result


def with_kinds_of_items(prepared: Prepared, algorithm: Algorithm[Any]) -> Prepared:
    """The claims with the kinds of their items, where the algorithm knows features of these."""
    if algorithm.item_features is None:
        return prepared
    encoded, notes = with_kinds(prepared.encoded, algorithm.item_features)
    said = (f"item features: {note}" for note in notes)
    return replace(prepared, encoded=encoded, notes=(*prepared.notes, *said))


def require_sound(judged: Judged, state: object) -> None:
    """Refuse answers that are no numbers: what was learned before may come from a forged file."""
    learned = [array for array in to_arrays(state).values() if array.dtype.kind == "f"]
    if not judged.is_sound or any(np.isnan(array).any() for array in learned):
        raise UnreadableFile(
            "what was learned gives no probabilities: the run it comes from is damaged or was "
            "edited; discover it again"
        )


def _fitted(
    prepared: Prepared, algorithm: Algorithm[Any], learned: Learned, survey: Survey
) -> Fitted:
    """What is kept of it."""
    encoded = prepared.encoded
    return Fitted(
        algorithm=algorithm,
        state=learned.state,
        names=encoded.names,
        kind=encoded.kind,
        counted=survey.counted,
        totals=learned.totals,
        rounds=len(learned.trace) + learned.kept_rounds,
        normalisation=prepared.table.normalisation,
        columns=dict(prepared.table.columns),
    )


def as_result(
    prepared: Prepared,
    fitted: Fitted,
    judged: Judged,
    learned: Learned,
    min_plausibility: float | None,
    clock: Clock,
) -> Result:
    """What was found, as tables, with all that a user should know of it."""
    table, encoded, algorithm = prepared.table, prepared.encoded, fitted.algorithm
    told = (algorithm, fitted.state)
    n_learned = float(Counted(*fitted.counted).supports_of_source.sum())
    tables = tabulate(
        encoded, judged, told, learned.prior, min_plausibility,
        n_learned=n_learned, changes=table.changes,
    )  # fmt: skip
    clock.lap("tabulate")
    run = _run_of(prepared, fitted, judged, learned)
    seconds = {**prepared.seconds, **clock.laps}
    run = replace(run, min_plausibility=min_plausibility, seconds=seconds)
    return Result(
        tables, run, table.frame_kind, fitted=fitted, encoded=encoded,
        plausibility=judged.plausibility if len(judged.plausibility) else None,
    )  # fmt: skip


def _run_of(prepared: Prepared, fitted: Fitted, judged: Judged, learned: Learned) -> Run:
    """On what, by what, and how it went."""
    table, encoded, algorithm = prepared.table, prepared.encoded, fitted.algorithm
    rates = None if judged.met is None else algorithm.rates(fitted.state, judged.met.counts)
    return Run(
        algorithm=algorithm.name,
        parameters=describe_parameters(algorithm),
        kind=table.kind,
        normalisation=table.normalisation,
        input=Input(
            origin=table.origin,
            columns=dict(table.columns),
            shape=dict(table.shape),
            types=dict(table.types),
            rows=table.rows_read,
            claims=encoded.n_claims,
            sources=_n_speaking(encoded),
            items=encoded.n_items,
            facts=encoded.n_facts,
            known=encoded.n_known,
        ),
        prevalence=None if rates is None else rates.prevalence,
        rounds=len(learned.trace),
        converged=learned.converged,
        trace=learned.trace,
        asked=list(prepared.asked),
        notes=[*prepared.notes, *notes_on_fit(fitted, learned, judged)],
    )


def _n_speaking(encoded: Encoded) -> int:
    """How many sources make a claim: a kept fit knows others, too."""
    return int(np.count_nonzero(encoded.items_of_source))
