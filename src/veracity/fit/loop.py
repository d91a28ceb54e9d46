"""Drive any algorithm through its phases: the only loop over rounds lives here."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity.algorithms.base import Algorithm, Phase, Step, Turn, Walk
from veracity.algorithms.prior import PriorRates
from veracity.encoding.block import Block
from veracity.encoding.partitions import Encoded
from veracity.encoding.survey import Counted, Survey, counted
from veracity.engines import Blocks
from veracity.errors import InputError, NotConverged
from veracity.fit.ruled import RuledStep, moved
from veracity.logic.factors import RuleSums, with_strengths
from veracity.logic.rules import Rules
from veracity.naming import as_text
from veracity.printing import counted as in_words
from veracity.progress import Progress, no_progress
from veracity.trees import merged, scaled, subtracted

if TYPE_CHECKING:
    from veracity.fit.fitted import Fitted

Totals = dict[str, tuple[Any, ...]]
"""The last total of every step, by phase; of a phase that `keeps_rounds`, those of each round. An
update needs no more of the earlier claims."""


@dataclass(kw_only=True)
class Learned:
    """The state that an algorithm learned, and the way to it."""

    algorithm: Algorithm[Any]
    survey: Survey
    prior: PriorRates
    state: Any
    totals: Totals = field(default_factory=dict)
    trace: list[dict[str, float | None]] = field(default_factory=list)
    converged: bool = True
    tolerance: float = 0.0
    """The change below which its last rounds would have been enough."""
    rules: Rules | None = None
    """Rules between facts, with the strengths learned so far."""
    rule_sums: RuleSums | None = None
    are_ruled: bool = False
    """True from the first phase of several rounds on: before it, rules have nothing to go by."""


def survey_of(held: Blocks, encoded: Encoded) -> Survey:
    """Count the claims of each source, and make the other inputs with which an algorithm starts."""
    found = held.sweep(_count, encoded.names.n_sources, Turn())
    has_hierarchy = encoded.alikeness is not None and bool(encoded.alikeness.ancestors)
    return Survey(encoded.kind, encoded.names, found, has_hierarchy)


def _count(block: Block, n_sources: int, turn: Turn) -> tuple[Counted, Any]:
    return counted(block, n_sources), turn.memory


def prior_rates(algorithm: Algorithm[Any], survey: Survey) -> PriorRates:
    """Return the rates that are assumed of each source, with its claims on known truths."""
    algorithm.prior.check(survey.kind)
    sources = as_text(survey.names.sources).to_list()
    return algorithm.prior.rates(sources, survey.counted.known_of_source)


def learn(
    held: Blocks,
    algorithm: Algorithm[Any],
    survey: Survey,
    before: Fitted | None = None,
    progress: Progress = no_progress,
    rules: Rules | None = None,
) -> Learned:
    """Run the phases of an algorithm, under rules if there are any.

    With an earlier fit, every step adds the totals of the earlier claims; the survey counts these,
    too.
    """
    prior = prior_rates(algorithm, survey)
    if before is None:
        state = algorithm.start(survey, prior)
    else:
        state = algorithm.resume(before.state, survey, prior)
    learned = Learned(algorithm=algorithm, survey=survey, prior=prior, state=state,
                      tolerance=algorithm.tolerance, rules=rules)  # fmt: skip
    for phase in algorithm.phases(state):
        learned.are_ruled |= rules is not None and phase.change is not None
        if phase.change is None:
            _one_round(held, phase, learned, Turn(1, algorithm.seed), before)
        elif learned.converged:  # no phase is repeated after one that reached the limit
            _until_it_rests(held, phase, learned, before, progress)
    learned.state = algorithm.calibrate(learned.state, prior)
    if not learned.converged:
        text = not_converged(algorithm.name, learned.trace, learned.tolerance)
        warnings.warn(text, NotConverged, stacklevel=_calls_from_outside())
    return learned


def _until_it_rests(
    held: Blocks, phase: Phase[Any], learned: Learned, before: Fitted | None, progress: Progress
) -> None:
    """Repeat a phase until a round changes less than the tolerance, or `max_rounds` are used up."""
    assert phase.change is not None
    algorithm, trace, number = learned.algorithm, learned.trace, 0
    learned.converged, learned.tolerance = False, max(algorithm.tolerance, phase.tolerance)
    while not learned.converged and len(trace) < algorithm.max_rounds:
        progress("learning", len(trace), algorithm.max_rounds)
        began, state, number = time.perf_counter(), learned.state, number + 1
        rules = learned.rules
        _one_round(held, phase, learned, Turn(number, algorithm.seed), before)
        change, seconds = phase.change(state, learned.state), time.perf_counter() - began
        trace.append({
            "round": len(trace) + 1,
            "change": change if np.isfinite(change) else None,
            "seconds": round(seconds, 6),
        })  # fmt: skip
        learned.converged = number >= phase.min_rounds and change < learned.tolerance
        if rules is not None and learned.rules is not None:
            learned.converged &= not moved(rules.strength, learned.rules.strength)


def _one_round(
    held: Blocks, phase: Phase[Any], learned: Learned, turn: Turn, before: Fitted | None
) -> None:
    """Take the steps of a phase once: sweep, add the earlier total, learn; or walk."""
    earlier = () if before is None else before.totals.get(phase.name, ())
    if phase.keeps_rounds:
        earlier = earlier[turn.round_number - 1] if turn.round_number <= len(earlier) else ()
    totals: list[Any] = []
    for number, step in enumerate(phase.steps):
        if isinstance(step, Walk):
            lanes = held.walk(step.go, step.lanes(learned.state), turn, step.prepare)
            learned.state = step.join(learned.state, lanes)
            totals.append(None)
            continue
        if learned.rules is None:
            total = held.sweep(step.look, learned.state, turn)
        else:
            total = _under_rules(held, step, learned, turn)
        if number < len(earlier):
            try:  # it may come from a file
                total = merged(total, earlier[number])
            except (AttributeError, TypeError, ValueError) as error:
                raise InputError(
                    "the sums of the earlier claims do not fit the algorithm; run discover on "
                    "these claims again"
                ) from error
        totals.append(total)
        learned.state = step.learn(learned.state, total)
    rounds = learned.totals.get(phase.name, ()) if phase.keeps_rounds else ()
    learned.totals[phase.name] = (*rounds, tuple(totals)) if phase.keeps_rounds else tuple(totals)


def without(before: Fitted, held: Blocks, share: float) -> Totals:
    """Return the totals of an earlier fit without some claims, counted as it judges them now.

    `share` is the share of them that was not forgotten. Of a phase that `keeps_rounds`, each round
    is taken again: its state follows from the totals of the rounds before.
    """
    algorithm, totals = before.algorithm, dict(before.totals)
    survey = Survey(before.kind, before.names, before.counted)
    prior = prior_rates(algorithm, survey)
    for phase in algorithm.phases(before.state):
        steps = [step for step in phase.steps if isinstance(step, Step)]
        if phase.name not in totals or len(steps) < len(phase.steps):
            continue
        state = algorithm.start(survey, prior) if phase.keeps_rounds else before.state
        rounds = totals[phase.name] if phase.keeps_rounds else [totals[phase.name]]
        found: list[tuple[Any, ...]] = []
        for number, earlier in enumerate(rounds, 1):
            left, turn = list[Any](), Turn(number, algorithm.seed)
            for step, total in zip(steps, earlier, strict=True):
                for _ in range(LOOKS if step.remembers else 1):
                    part = held.sweep(step.look, state, turn)
                left.append(subtracted(total, scaled(part, share)))
                if phase.keeps_rounds:  # the total may lack rows for new sources
                    state = step.learn(state, subtracted(total, scaled(part, 0.0)))
            found.append(tuple(left))
        totals[phase.name] = tuple(found) if phase.keeps_rounds else found[0]
    return totals


LOOKS = 10
"""Looks at claims after which what is remembered of a block hardly changes."""


def _under_rules(held: Blocks, step: Step[Any], learned: Learned, turn: Turn) -> Any:
    """Sweep under rules, learn their strengths, and return the total of the step."""
    assert learned.rules is not None
    look = RuledStep(learned.algorithm, step, learned.rules, learned.are_ruled)
    total, sums = held.sweep(look, learned.state, turn)
    if sums is not None:
        learned.rule_sums = RuleSums(*sums)
        learned.rules = with_strengths(learned.rules, learned.rule_sums)
    return total


def not_converged(algorithm: str, trace: Sequence[Mapping[str, Any]], tolerance: float) -> str:
    """Return the sentence that the round limit came first, and how far off the last round was."""
    change = trace[-1]["change"]
    last = "not finite" if change is None else f"{change:.2g}"
    return (
        f"{algorithm} did not converge in {in_words(len(trace), 'round')}: "
        f"the last change was {last}, the tolerance is {tolerance:.2g}"
    )


def _calls_from_outside() -> int:
    """Return how many calls ago, as ``warnings`` counts them, somebody called this package."""
    n_calls, frame = 0, sys._getframe(1)
    # Code that is run by ``exec`` may have no name.
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("veracity."):
        n_calls, frame = n_calls + 1, frame.f_back
    return n_calls + 1
