"""Can these data fix the reliabilities at all? `check`: what to know before believing an answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import polars as pl

from veracity.algorithms import Algorithm
from veracity.answers import answer
from veracity.discovery import USUAL_ALGORITHM, chosen_algorithm
from veracity.doubts import AgainstVote, Effort, find_doubts
from veracity.encoding.partitions import Encoded
from veracity.engines import Engine, Local, threads_of
from veracity.errors import ParameterError
from veracity.fit.loop import survey_of
from veracity.inspect.agreement import alpha_of
from veracity.inspect.questions import questions_of
from veracity.io.frames import FrameKind, hand_back
from veracity.preparing import Prepared, prepare
from veracity.printing import counted, html_by, printable
from veracity.progress import Progress, no_progress, shows_progress
from veracity.reading.normalise import Normalise
from veracity.reading.schema import Kind, keys_of
from veracity.result import Result
from veracity.result.warnings import DataWarning, some

__all__ = ["AgainstVote", "DataWarning", "Health", "check"]

THOROUGH = Effort(claims_compared=sys.maxsize, facts_spelt=50_000)
"""How long it looks."""

MOST_ASKED = 10
"""So many items are named that should be looked up next."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """What speaks against believing an answer. Tables come in the user's own kind of frame.

    Attributes
    ----------
    warnings
        What was found, serious ones first; none if the data are healthy.
    against_vote
        How far the answer differs from the vote; None for numbers, or if no two sources overlap.
    questions
        The ten items to look up next, as `Result.questions` draws them.
    claims, sources, items
        How many there are.
    alpha
        Krippendorff's alpha: how far sources agree beyond chance. See `agreement`.
    notes
        What is to be known of the check: that it looked at some items only.
    """

    warnings: tuple[DataWarning, ...]
    against_vote: AgainstVote | None
    questions: Any
    claims: int
    sources: int
    items: int
    frame_kind: FrameKind = "polars"
    alpha: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether there is no warning."""
        return not self.warnings

    @property
    def table(self) -> Any:
        """One row per warning: its name and severity, what was seen, what it means, what helps."""
        names = ("name", "severity", "seen", "means", "help")
        rows = [{name: getattr(one, name) for name in names} for one in self.warnings]
        return hand_back(pl.DataFrame(rows, dict.fromkeys(names, pl.String)), self.frame_kind)

    @property
    def given(self) -> str:
        """What was looked at, in a few words."""
        return (
            f"{counted(self.claims, 'claim')} of {counted(self.sources, 'source')} about "
            f"{counted(self.items, 'item')}"
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """The warnings with their evidence, as JSON can hold them."""
        return [one.to_dict() for one in self.warnings]

    def __repr__(self) -> str:
        """A short report."""
        n = len(self.warnings)
        lines = [f"{self.given}: {counted(n, 'warning') if n else 'no warning'}"]
        for one in self.warnings:
            lines += ["", f"{one.severity}: {one.name}: {one.seen}"]
            lines += [f"  this means: {one.means}", f"  would help: {one.help}"]
        if self.against_vote is not None:
            lines += [""] * bool(n) + [str(self.against_vote)]
        asked = pl.DataFrame(self.questions)  # a frame of Spark tells no length
        if len(asked):
            names = [" ".join(map(str, row)) for row in asked.select(keys_of(asked)).rows()]
            lines.append(f"to look up next: {some(names)}")
        lines += [f"note: {note}" for note in self.notes]
        return printable("\n".join(lines), lines=True)

    _repr_html_ = html_by("health_html")


Told = TypeVar("Told", DataWarning, AgainstVote)


@shows_progress
def check(
    claims: object,
    result: Result | None = None,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    normalise: Normalise = False,
    known: object | None = None,
    algorithm: Algorithm[Any] | str | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Health:
    """Tell whether claims can fix the reliabilities of their sources, and what stands against it.

    Where there is no room for all claims that are on disk or on Spark, it looks at items drawn at
    random.

    Parameters
    ----------
    claims, columns, kind, normalise, known, engine
        As for `discover`; or what `discover` returned, whose claims need not be read again.
    result
        What `discover` found in these claims; without it, it is discovered now.
    algorithm
        What discovers, if no result is given.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "y"], "value": ["1", "2"]})
    >>> [warning.name for warning in check(claims).warnings]
    ['lone-sources']
    """
    if result is not None and algorithm is not None:
        raise ParameterError("check: give a result or an algorithm, not both")
    tell = progress or no_progress
    prepared = None
    if isinstance(claims, Result):
        result = claims
    else:
        prepared = prepare(
            claims, columns=columns, kind=kind, known=known, normalise=normalise, tell=tell,
            engine=engine,
        )  # fmt: skip
        if result is None:
            result = _answered(prepared, algorithm, tell)
        else:
            _require_same(prepared.encoded, result)
    tell("checking", 0, 1)
    frame_kind = result.frame_kind if prepared is None else prepared.table.frame_kind
    whole = result.encoded if prepared is None else prepared.encoded
    near, notes = result.local_sample()
    encoded = whole if near is result else near.encoded
    health = _checked(near, encoded, frame_kind, threads_of(engine))
    return replace(health, claims=whole.n_claims, items=whole.n_items, notes=notes)


def _checked(
    result: Result, encoded: Encoded, frame_kind: FrameKind, threads: int | None
) -> Health:
    """All that is to be said of an answer and its claims, which are within reach."""
    same = Result(result.tables, result.run, fitted=result.fitted, encoded=encoded)
    answers = [] if encoded.kind == "numeric" else result.plausibility_by_block
    effort = THOROUGH._replace(threads=threads)
    with Local(threads=threads).hold(encoded.blocks) as held:
        survey = survey_of(held, encoded.kind, encoded.names)
        found, against = find_doubts(same, held, survey, answers, effort)
    asked = questions_of(result, MOST_ASKED)
    return Health(
        warnings=tuple(_handed(warning, frame_kind) for warning in found),
        against_vote=None if against is None else _handed(against, frame_kind),
        questions=hand_back(asked, frame_kind),
        claims=encoded.n_claims,
        sources=encoded.names.n_sources,
        items=encoded.n_items,
        frame_kind=frame_kind,
        alpha=alpha_of(encoded),
    )


def _answered(prepared: Prepared, algorithm: Algorithm[Any] | str | None, tell: Progress) -> Result:
    wanted = USUAL_ALGORITHM[prepared.table.kind] if algorithm is None else algorithm
    chosen = chosen_algorithm(wanted, engine=prepared.engine)
    return answer(prepared, chosen, tell=tell)


def _require_same(encoded: Encoded, result: Result) -> None:
    """Refuse a result that is not of these claims."""
    facts, told = encoded.facts, result.tables.facts
    if not set(facts.columns) <= set(told.columns) or not told.select(facts.columns).equals(facts):
        raise ParameterError(
            "check: the result is not of these claims; give the columns, kind and normalise it was "
            "discovered with, or leave it out"
        )


def _handed(told: Told, kind: FrameKind) -> Told:
    """The same with its tables in the user's own kind of frame."""
    tables = {name: part for name, part in vars(told).items() if isinstance(part, pl.DataFrame)}
    counts = pl.col(pl.UInt32).cast(pl.Int64)
    return replace(told, **{k: hand_back(t.with_columns(counts), kind) for k, t in tables.items()})
