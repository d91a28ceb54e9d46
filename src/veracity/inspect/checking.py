"""Check claims and an answer: list the reasons to doubt it before believing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, Unpack

import polars as pl

from veracity.algorithms import Algorithm
from veracity.api import (
    answer,
    chosen_algorithm,
    engine_for,
    open_claims,
    prepare,
    refuse_arguments,
    suited,
)
from veracity.checks import THOROUGH, AgainstVote, Evidence, Finding, run_checks
from veracity.engines import Engine, Local, threads_of
from veracity.fit.loop import survey_of
from veracity.inspect.agreement import alpha_of
from veracity.inspect.questions import questions_of
from veracity.io.frames import FrameKind, hand_back
from veracity.printing import Shown
from veracity.progress import Progress, no_progress, shows_progress
from veracity.reading.options import ReadArguments
from veracity.result import Result
from veracity.result.run import findings_table

__all__ = ["AgainstVote", "Finding", "Health", "check"]

MOST_ASKED = 10
"""Number of items named that should be looked up next."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Health(Shown):
    """Reasons to doubt an answer. Tables come in the user's own kind of frame.

    Attributes
    ----------
    findings
        Reasons to doubt, serious ones first. No finding does not show that the answer is right.
    against_vote
        How far the answer differs from the vote; None for numbers, or if no two sources overlap.
    questions
        The ten items to look up next, as `Result.questions` draws them.
    claims, sources, items
        Number of claims, sources and items.
    alpha
        Krippendorff's alpha: how far sources agree beyond chance.
    notes
        Notes on the check, for example that only a sample of items was checked.
    """

    findings: tuple[Finding, ...]
    against_vote: AgainstVote | None
    questions: Any
    claims: int
    sources: int
    items: int
    frame_kind: FrameKind = "polars"
    alpha: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Any:
        """Return one row per finding: name, severity, what was seen, what it means, what helps."""
        return hand_back(findings_table([one.row() for one in self.findings]), self.frame_kind)


Tabled = TypeVar("Tabled", Finding, AgainstVote)


@shows_progress
def check(
    claims: object,
    *,
    known: object | None = None,
    truth_columns: Mapping[str, str | list[str]] | None = None,
    algorithm: Algorithm[Any] | str | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadArguments],
) -> Health:
    """Check whether the claims can show which sources are right, and list the reasons to doubt it.

    If claims on disk or on Spark do not fit in memory, only a random sample of items is checked.

    Parameters
    ----------
    claims, known, truth_columns, engine, **options
        As for `discover`; or what `discover` returned, whose claims need not be read again.
    algorithm
        Algorithm that answers, if claims are given.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "y"], "value": ["1", "2"]})
    >>> [finding.name for finding in check(claims).findings]
    ['lone-sources']
    """
    tell = progress or no_progress
    if isinstance(claims, Result):
        refuse_arguments(options)
        result = claims
    else:
        engine = engine_for(claims, engine)
        opened = open_claims(claims, engine, **options)
        chosen = suited(chosen_algorithm(algorithm, opened.kind, engine=engine), opened)
        prepared = prepare(opened, known, truth_columns=truth_columns, engine=engine, progress=tell)
        result = answer(prepared, chosen, tell)
    tell("checking", 0, 1)
    near, notes = result.local_sample()
    health = _checked(near, result.frame_kind, threads_of(engine))
    given = result.run.input
    return replace(health, claims=given.claims, items=given.items, notes=notes)


def _checked(result: Result, frame_kind: FrameKind, threads: int | None) -> Health:
    """Check an answer and its claims, which are on this machine."""
    encoded = result.encoded
    answers = [] if encoded.kind == "numeric" else result.plausibility_by_block
    budget, is_normalised = THOROUGH._replace(threads=threads), bool(result.run.normalisation)
    with Local(threads=threads).hold(encoded.blocks) as held:
        survey = survey_of(held, encoded)
        evidence = Evidence(survey, encoded, held, budget, are_normalised=is_normalised)
        found = run_checks(evidence.about(result, answers))
        against = evidence.against_vote
    asked = questions_of(result, MOST_ASKED)
    return Health(
        findings=tuple(_handed(finding, frame_kind) for finding in found),
        against_vote=None if against is None else _handed(against, frame_kind),
        questions=hand_back(asked, frame_kind),
        claims=encoded.n_claims,
        sources=encoded.names.n_sources,
        items=encoded.n_items,
        frame_kind=frame_kind,
        alpha=alpha_of(encoded),
    )


def _handed(thing: Tabled, kind: FrameKind) -> Tabled:
    """Return the check with its tables in the user's kind of frame."""
    tables = {name: part for name, part in vars(thing).items() if isinstance(part, pl.DataFrame)}
    counts = pl.col(pl.UInt32).cast(pl.Int64)
    return replace(thing, **{k: hand_back(t.with_columns(counts), kind) for k, t in tables.items()})
