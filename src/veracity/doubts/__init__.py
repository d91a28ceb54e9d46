"""What speaks against believing an answer: found in its claims, and told with the answer itself.

`discover` notes what is serious, as far as it can be seen in little time; `check` looks longer, and
tells the rest, too. Both ask `find_doubts`, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from veracity.claims.encode import Encoded
from veracity.doubts.conflicts import flip_risk, near_copies
from veracity.doubts.overlap import overlap_warnings
from veracity.doubts.pairing import as_named_values, pairs_table, some_items
from veracity.doubts.spelling import spelling_warnings
from veracity.doubts.voting import AgainstVote, against_vote
from veracity.engines import Held, Local
from veracity.fit.loop import survey_of
from veracity.result import Result
from veracity.result.warnings import DataWarning, data_warning, few_conflicts, two_readings

__all__ = ["AgainstVote", "Doubts", "Effort", "find_doubts", "with_doubts"]

NOTED_OTHERWISE = ("two-readings", "lone-sources")
"""What every answer has a note of its own for."""


class Effort(NamedTuple):
    """In about how many facts spellings are compared, and in how many claims pairs of sources."""

    facts_spelt: int
    claims_paired: int


QUICK = Effort(facts_spelt=1_000, claims_paired=20_000)
"""What may be looked at before an answer is given."""


class Doubts(NamedTuple):
    """Warnings, serious ones first; and how far the answer differs from a vote, if it can."""

    warnings: list[DataWarning]
    against_vote: AgainstVote | None


def with_doubts(result: Result) -> Result:
    """The result, with a note on all that makes it untrustworthy."""
    assert result.encoded is not None
    effort = QUICK._replace(claims_paired=0) if _looked_for_copies(result) else QUICK
    found = find_doubts(result, result.encoded, effort).warnings
    notes = [
        f"{one.name}: {one.seen}"
        for one in found
        if one.severity == "serious" and one.name not in NOTED_OTHERWISE
    ]
    result.run = replace(result.run, notes=[*result.run.notes, *notes])
    return result


def _looked_for_copies(result: Result) -> bool:
    """Whether the algorithm counts copies once: then no opinion was counted several times."""
    fitted = result.fitted
    return fitted is not None and fitted.algorithm.copies(fitted.state) is not None


def find_doubts(result: Result, encoded: Encoded, effort: Effort) -> Doubts:
    """What is to be said against an answer and its claims."""
    against = None
    with Local().hold(encoded.blocks) as held:
        survey = survey_of(held, encoded.kind, encoded.names)
        found = [*two_readings(result.run.readings), *overlap_warnings(held, survey)]
        if encoded.kind != "numeric" and survey.counted.shared_of_source.any():
            against = against_vote(encoded, result)
            n_shared = sum(int((block.n_voices_of_item > 1).sum()) for block in encoded.blocks)
            found += few_conflicts(against.contested, n_shared) or _in_conflict(
                held, encoded, result, against, effort
            )
            if not result.run.normalisation:
                found += spelling_warnings(encoded, effort.facts_spelt)
    return Doubts(sorted(found, key=lambda warning: warning.severity != "serious"), against)


def _in_conflict(
    held: Held, encoded: Encoded, result: Result, against: AgainstVote, effort: Effort
) -> list[DataWarning]:
    """What is told by how sources differ."""
    found = flip_risk(held, encoded, result.tables.sources)
    if effort.claims_paired:
        blocks = some_items(encoded.blocks, effort.claims_paired)
        named = [as_named_values(block, encoded.kind) for block in blocks]
        pairs = pairs_table(encoded, named, has_truth=False)
        found += near_copies(held, encoded, pairs, against.contested)
    if against.share > 1 / 3:
        serious = against.share > 1 / 2
        found.append(data_warning("far-from-vote", str(against), against.examples, serious=serious))
    return found
