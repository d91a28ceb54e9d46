"""What an algorithm answers to claims: learned, judged, and doubted where they read otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from veracity.algorithms.base import Algorithm
from veracity.encoding.partitions import Encoded
from veracity.encoding.survey import Survey
from veracity.engines import Held
from veracity.fit.judging import Judged, judge_all
from veracity.fit.loop import Kept, Learned, learn
from veracity.fit.readings import MOST_CLAIMS, Reading, find_readings
from veracity.progress import Progress, no_progress


class Answered(NamedTuple):
    """What was learned, the answer, and other readings, with the claims in which they show."""

    learned: Learned
    judged: Judged
    readings: list[Reading]
    some: Encoded


def answered(
    held: Held,
    encoded: Encoded,
    survey: Survey,
    algorithm: Algorithm[Any],
    tell: Progress = no_progress,
    kept: Kept | None = None,
) -> Answered:
    """Let an algorithm answer to claims that an engine holds.

    Where the claims allow two answers, it is less sure of the one it found.
    """
    learned = learn(held, survey, algorithm, tell, kept)
    n_sources = encoded.names.n_sources
    tell("judging", 0, 1)
    judged = judge_all(held, algorithm, learned.state, encoded.kind, n_sources)
    if not algorithm.rivals(learned.state) or not judged.plausibility:
        return Answered(learned, judged, [], encoded)
    tell("looking for another reading", 0, 1)
    some, answers = encoded.sampled_with(judged.plausibility, MOST_CLAIMS)
    found = replace(judged, plausibility=answers)
    readings = find_readings(some, algorithm, learned.state, found)
    if readings:
        rival, other = readings[0].rival, readings[0].state
        learned = replace(learned, state=algorithm.doubted(learned.state, rival, other))
        judged = judge_all(held, algorithm, learned.state, encoded.kind, n_sources)
    return Answered(learned, judged, readings, some)
