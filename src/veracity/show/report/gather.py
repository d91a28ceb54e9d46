"""All that a report tells, worked out from a result alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from veracity.doubts.conflicts import vote
from veracity.inspect.checking import Health, check
from veracity.inspect.estimating import Estimate
from veracity.inspect.evaluation import Evaluation, evaluate, score_truths
from veracity.inspect.profiling import Profile, profile
from veracity.progress import Progress, no_progress
from veracity.reading.schema import KEYS, keys_of
from veracity.result import Result
from veracity.result.texts import in_text
from veracity.show.plot import agreement_table
from veracity.show.report.asked import Asked, asked_of
from veracity.show.report.figures import Drawn, draw


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a report tells. Without known truths there is no evaluation."""

    result: Result
    profile: Profile
    health: Health
    asked: Asked
    drawn: Drawn
    agreement: pl.DataFrame | None
    evaluation: Evaluation | None = None
    vote: Evaluation | None = None
    scored: pl.DataFrame | None = None
    estimate: Estimate | None = None

    @property
    def called(self) -> dict[str, str]:
        """What the user calls the columns that name sources and items."""
        columns = self.result.run.input.columns
        return {part: columns[part] for part in ("source", *KEYS) if part in columns}


def gather(result: Result, truth: object | None, progress: Progress | None = None) -> Findings:
    """Work out what the report of a result tells."""
    tell = progress or no_progress
    result, notes = result.local_sample()
    plain = in_text(result)
    plain.run = replace(plain.run, notes=[*plain.run.notes, *notes])
    evaluation = vote = scored = None
    if truth is not None:
        tell("evaluating", 0, 1)
        evaluation, scored = evaluate(plain, truth), score_truths(plain, truth)[0]
        vote = None if plain.kind == "numeric" else evaluate(_voted(plain), truth, threshold=0.5)
    agreement = agreement_table(plain) if len(plain.tables.sources) > 1 else None
    tell("checking", 0, 1)
    return Findings(
        result=plain,
        profile=profile(plain, truth),
        health=check(plain),
        asked=asked_of(plain, tell),
        drawn=draw(plain, truth, agreement, tell),
        agreement=agreement,
        evaluation=evaluation,
        vote=vote,
        scored=scored,
        estimate=plain.estimate() if plain.run.asked and plain.kind != "numeric" else None,
    )


def _voted(result: Result) -> Result:
    """What a majority vote would have answered: shares of votes in place of plausibilities."""
    facts = result.tables.facts
    votes = pl.col("supporters")
    all_votes = votes + pl.col("opposers")
    if result.kind == "categorical":
        all_votes = votes.sum().over(keys_of(facts))
    voted = facts.with_columns(plausibility=votes / all_votes)
    if result.encoded.has_shares:
        shares = np.concatenate([vote(block) for block in result.encoded.blocks])
        voted = facts.with_columns(plausibility=shares)
    return Result(replace(result.tables, facts=voted), result.run, encoded=result.encoded)
