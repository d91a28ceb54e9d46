"""Drive any algorithm through its phases: the only loop over rounds lives here."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from veracity import printing
from veracity.algorithms.base import Algorithm, Phase, Turn, Walk
from veracity.algorithms.prior import PriorRates
from veracity.encoding.block import Block
from veracity.encoding.names import Names
from veracity.encoding.survey import Counted, Survey, counted
from veracity.engines import Held, can_merge, merged
from veracity.errors import InputError, NotConverged
from veracity.naming import as_text
from veracity.progress import Progress, no_progress
from veracity.reading.schema import Kind

Totals = dict[str, tuple[Any, ...]]
"""The last total of every step, by phase: what is kept of the claims that were learned from."""


class Kept(NamedTuple):
    """What earlier claims left behind: the state they led to, what was counted, and the totals."""

    state: Any
    counted: Any
    totals: Totals
    rounds: int


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What was learned, and how it was reached."""

    survey: Survey
    prior: PriorRates
    state: Any
    totals: Totals = field(default_factory=dict)
    trace: list[dict[str, float | None]] = field(default_factory=list)
    converged: bool = True
    tolerance: float = 0.0
    """The change below which its last rounds would have been enough."""
    kept_rounds: int = 0


def survey_of(held: Held, kind: Kind, names: Names, kept: Kept | None = None) -> Survey:
    """One look at all claims, and at what was kept of earlier ones."""
    found = held.sweep(_count, names.n_sources, Turn())
    return Survey(kind, names, found if kept is None else merged(found, Counted(*kept.counted)))


def _count(block: Block, n_sources: int, turn: Turn) -> tuple[Counted, Any]:
    return counted(block, n_sources), turn.memory


def learn(
    held: Held,
    survey: Survey,
    algorithm: Algorithm[Any],
    tell: Progress = no_progress,
    kept: Kept | None = None,
) -> Learned:
    """Run an algorithm to its end; with what is kept of earlier claims, go on from there."""
    prior = prior_rates(algorithm, survey)
    if kept is None:
        state = algorithm.start(survey, prior)
    else:
        state = algorithm.resume(kept.state, survey, prior)
    run = _Run(held, algorithm, tell, kept)
    for phase in algorithm.phases(state):
        state = run.through(phase, state)
    learned = Learned(
        survey=survey,
        prior=prior,
        state=algorithm.calibrate(state, prior),
        totals=run.totals,
        trace=run.trace,
        converged=run.converged,
        tolerance=run.tolerance,
        kept_rounds=run.kept_rounds,
    )
    if not learned.converged:
        told = not_converged(algorithm, learned)
        warnings.warn(told, NotConverged, stacklevel=_calls_from_outside())
    return learned


def _is_ours(module: str | None) -> bool:
    """Whether a module is of this package; code that is run by ``exec`` may have no name."""
    return module is not None and module.startswith("veracity.")


def _calls_from_outside() -> int:
    """How many calls ago, as ``warnings`` counts them, somebody called this package."""
    n_calls, frame = 0, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        n_calls, frame = n_calls + 1, frame.f_back
    return n_calls + 1


def prior_rates(algorithm: Algorithm[Any], survey: Survey) -> PriorRates:
    """What an algorithm knows of the sources beforehand, with how they met known truths."""
    algorithm.prior.check(survey.kind)
    sources = as_text(survey.names.sources).to_list()
    return algorithm.prior.rates(sources, survey.counted.known_of_source)


class _Run:
    """An algorithm on its way through its phases."""

    def __init__(
        self, held: Held, algorithm: Algorithm[Any], tell: Progress, kept: Kept | None
    ) -> None:
        self.held, self.algorithm, self.tell = held, algorithm, tell
        self.kept_totals: Totals = {} if kept is None else kept.totals
        self.kept_rounds = 0 if kept is None else kept.rounds
        self.totals: Totals = {}
        self.trace: list[dict[str, float | None]] = []
        self.converged, self.tolerance = True, algorithm.tolerance

    def through(self, phase: Phase[Any], state: Any) -> Any:
        """Take the steps of a phase: once, or until little changes."""
        if phase.change is None:
            return self._steps(phase, state, Turn(1, self.algorithm.seed))
        if not self.converged:
            return state
        algorithm, first = self.algorithm, len(self.trace)
        self.converged, self.tolerance = False, max(algorithm.tolerance, phase.tolerance)
        while not self.converged and len(self.trace) < algorithm.max_rounds:
            self.tell("learning", len(self.trace), algorithm.max_rounds)
            began, before = time.perf_counter(), state
            number = len(self.trace) - first + 1
            state = self._steps(phase, state, Turn(number, algorithm.seed))
            change = phase.change(before, state)
            self._note(change, time.perf_counter() - began)
            self.converged = number >= phase.min_rounds and change < self.tolerance
        return state

    def _steps(self, phase: Phase[Any], state: Any, turn: Turn) -> Any:
        kept = self.kept_totals.get(phase.name) or ()
        totals: list[Any] = []
        for number, step in enumerate(phase.steps):
            if isinstance(step, Walk):
                lanes = self.held.walk(step.go, step.lanes(state), turn, step.prepare)
                state = step.join(state, lanes)
                totals.append(None)
                continue
            before = kept[number] if number < len(kept) else None
            total = _together(self.held.sweep(step.look, state, turn), before)
            totals.append(total)
            state = step.learn(state, total)
        self.totals[phase.name] = tuple(totals)
        return state

    def _note(self, change: float, seconds: float) -> None:
        told = change if np.isfinite(change) else None
        self.trace.append(
            {"round": len(self.trace) + 1, "change": told, "seconds": round(seconds, 6)}
        )


def _together(total: Any, kept: Any) -> Any:
    """A tally with what was kept of earlier claims, which may come from a file."""
    if can_merge(kept, total):
        return merged(total, kept)
    raise InputError(
        "what was kept of earlier claims does not fit the algorithm; discover them again"
    )


def not_converged(algorithm: Algorithm[Any], learned: Learned) -> str:
    """That the round limit came first, and how far off the last round was."""
    change = learned.trace[-1]["change"]
    last = "not finite" if change is None else f"{change:.2g}"
    rounds = printing.counted(len(learned.trace), "round")
    return (
        f"{algorithm.name} did not converge in {rounds}: the last change was {last}, "
        f"the tolerance is {learned.tolerance:.2g}"
    )
