"""What speaks against believing an answer: found in its claims, and told with the answer itself.

`discover` notes what is serious, and values that are none, as far as it can be seen in little time;
`check` looks longer, and tells the rest, too. Both ask `find_doubts`, so they cannot disagree.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from veracity.algorithms.base import Algorithm
from veracity.dependence import Copies
from veracity.doubts.conflicts import flip_risk, near_copies
from veracity.doubts.overlap import overlap_warnings
from veracity.doubts.pairing import named_pairs
from veracity.doubts.ranking import turned_over_warnings
from veracity.doubts.spelling import name_warnings, value_warnings
from veracity.doubts.voting import AgainstVote, against_vote
from veracity.encoding.partitions import Encoded
from veracity.encoding.survey import Survey
from veracity.engines import Held, Local
from veracity.kernels.loading import FEW
from veracity.result import Result
from veracity.result.tables import TablesOfPart
from veracity.result.warnings import DataWarning, data_warning, few_conflicts, two_readings

__all__ = [
    "AgainstVote",
    "Doubts",
    "Effort",
    "InClaims",
    "find_doubts",
    "looking_ahead",
    "with_doubts",
]

NOTED_OTHERWISE = ("two-readings", "lone-sources")
"""What every answer has a note of its own for."""

ALWAYS_NOTED = ("placeholders", "number-spellings", "close-numbers", "turned-over")
"""What is noted also where it is no more than a caution: an
answer may be no value at all, one number may stand against itself, or be nearly right; and what
sources say of one attribute may be wrong together."""


TOLD_WITH_HELP = (*ALWAYS_NOTED, "spellings", "entity-spellings")
"""Notes that say what helps, too, since it is simple."""


class Effort(NamedTuple):
    """How long to look: in about how many claims, or facts, and on how many threads.

    `claims_compared` is for what sources say, `facts_spelt` for how it is written, and `pairs` says
    if copies are looked for. All cores work unless `threads` is given.
    """

    claims_compared: int
    facts_spelt: int
    pairs: bool = True
    threads: int | None = None


QUICK = Effort(claims_compared=100_000, facts_spelt=1_000)
"""What may be looked at before an answer is given."""


class Doubts(NamedTuple):
    """Warnings, serious ones first; and how far the answer differs from a vote, if it can."""

    warnings: list[DataWarning]
    against_vote: AgainstVote | None


class InClaims(NamedTuple):
    """What claims show, whatever the answer: found, or waited for, when it is asked for."""

    overlap: Callable[[], list[DataWarning]]
    """What the overlap of sources tells."""
    spelt: Callable[[], list[DataWarning]]
    """What is to be said of values by how they are written."""
    paired: Callable[[], Copies]
    """Pairs of sources that may have copied."""

    @classmethod
    def of(
        cls, held: Held, survey: Survey, some: Encoded, effort: Effort, *, are_normalised: bool
    ) -> InClaims:
        """What these show, and some of them; nothing is looked at before it is asked for."""
        spelt = partial(value_warnings, some, effort.facts_spelt, are_normalised=are_normalised)
        overlap = partial(overlap_warnings, held, survey)
        return cls(overlap, spelt, partial(named_pairs, some, effort.threads))


@contextlib.contextmanager
def looking_ahead(
    encoded: Encoded,
    survey: Survey,
    algorithm: Algorithm[Any],
    *,
    are_normalised: bool,
    threads: int | None,
) -> Iterator[InClaims | None]:
    """Look at the claims while something else is done, as far as that asks for no answer.

    None where it would not save time, or where the claims are not in memory.
    """
    is_worth_it = threads != 1 and encoded.n_claims > FEW
    if not (is_worth_it and encoded.is_in_memory and _is_compared(encoded, survey)):
        yield None
        return
    effort = QUICK._replace(threads=threads)
    # What the engine holds is at work: this only looks.
    with Local(threads=1).hold(encoded.blocks) as held, ThreadPoolExecutor(1) as pool:

        def shown() -> InClaims:
            some, _ = encoded.sampled_with(None, effort.claims_compared)
            return InClaims.of(held, survey, some, effort, are_normalised=are_normalised)

        looked = pool.submit(shown)
        overlap = pool.submit(lambda: looked.result().overlap())
        spelt = pool.submit(lambda: looked.result().spelt())

        def paired() -> Copies:
            return looked.result().paired()

        # An algorithm that looks for copies may have looked at pairs itself.
        pairs = paired if algorithm.looks_for_copies else pool.submit(paired).result
        yield InClaims(overlap.result, spelt.result, pairs)


def with_doubts(
    result: Result,
    held: Held,
    survey: Survey,
    answers: Sequence[Any],
    threads: int | None = None,
    ahead: InClaims | None = None,
) -> Result:
    """The result, with a note on all that makes it untrustworthy."""
    effort = QUICK._replace(threads=threads)
    if _looked_for_copies(result):
        effort = effort._replace(pairs=False)
    found = find_doubts(result, held, survey, answers, effort, ahead).warnings
    noted = [one for one in found if one.severity == "serious" or one.name in ALWAYS_NOTED]
    notes = [
        f"{one.name}: {one.seen}" + (f"; {one.help}" if one.name in TOLD_WITH_HELP else "")
        for one in noted
        if one.name not in NOTED_OTHERWISE
    ]
    result.run = replace(result.run, notes=[*result.run.notes, *notes])
    return result


def _looked_for_copies(result: Result) -> bool:
    """Whether the algorithm counts copies once: then no opinion was counted several times."""
    fitted = result.fitted
    return fitted is not None and fitted.algorithm.copies(fitted.state) is not None


def _is_compared(encoded: Encoded, survey: Survey) -> bool:
    """Whether there is anything that sources could say differently."""
    return encoded.kind != "numeric" and bool(survey.counted.shared_of_source.any())


def find_doubts(
    result: Result,
    held: Held,
    survey: Survey,
    answers: Sequence[Any],
    effort: Effort,
    ahead: InClaims | None = None,
) -> Doubts:
    """What is to be said against an answer and its claims, which an engine holds.

    The survey is of these claims alone, not of those that were kept from before. `ahead` is what
    is being looked at already.
    """
    encoded, against = result.encoded, None
    some, most = encoded, effort.claims_compared
    is_whole = encoded.n_claims <= most
    is_compared = _is_compared(encoded, survey)
    if is_compared:
        some, plausibility = encoded.sampled_with(answers, most)
    elif is_whole:
        some = encoded.sampled(most)
    are_normalised = bool(result.run.normalisation)
    shown = ahead or InClaims.of(held, survey, some, effort, are_normalised=are_normalised)
    found = [*two_readings(result.run.readings), *_learned(result), *shown.overlap()]
    if is_whole:  # of some items, few would have both names
        found += name_warnings(some)
    if is_compared:
        make = TablesOfPart(encoded.kind)
        pairs = zip(some.parts, plausibility, strict=True)
        facts = pl.concat([make(part, own, "facts") for part, own in pairs])
        against = against_vote(some, facts)
        told = _in_conflict(some, result, against, effort, shown) + shown.spelt()
        told += turned_over_warnings(some, plausibility)
        if some.n_items < encoded.n_items:
            seen_in = f" (as {some.n_items:,} of {encoded.n_items:,} items show)"
            told = [replace(one, seen=one.seen + seen_in) for one in told]
        found += told
    return Doubts(sorted(found, key=lambda warning: warning.severity != "serious"), against)


def _learned(result: Result) -> list[DataWarning]:
    """Return the reasons for doubt that show in what the algorithm learned."""
    if result.fitted is None:
        return []
    found = result.fitted.algorithm.findings(result.fitted.state)
    return [data_warning(name, seen, serious=True) for name, seen in found.items()]


def _in_conflict(
    encoded: Encoded, result: Result, against: AgainstVote, effort: Effort, shown: InClaims
) -> list[DataWarning]:
    """What is told by how sources differ, or that they hardly do."""
    n_shared = sum(int((block.n_voices_of_item > 1).sum()) for block in encoded.blocks)
    found = few_conflicts(against.contested, n_shared)
    if found:
        return found
    with Local(threads=effort.threads).hold(encoded.blocks) as held:
        found = flip_risk(held, encoded, result.tables.sources)
        if effort.pairs:
            found += near_copies(held, encoded, shown.paired(), against.contested)
    if against.share > 1 / 3:
        serious = against.share > 1 / 2
        found.append(data_warning("far-from-vote", str(against), against.examples, serious=serious))
    return found
