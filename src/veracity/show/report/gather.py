"""All that a report tells, worked out from a result alone."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from veracity.inspect.profiling import Profile, profile
from veracity.discovery import Progress, say_nothing
from veracity.inspect.evaluation import Evaluation, evaluate, score_truths
from veracity.inspect.checking import MOST_CLAIMS_PAIRED, Health, check
from veracity.show.plot import agreement_table
from veracity.show.report.figures import Drawn, draw
from veracity.show.report.worth import Worth, worth_checking
from veracity.result import Result
from veracity.claims.schema import CLAIM_COLUMNS, ClaimsTable

__all__ = ["Findings", "claims_of", "gather"]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a report tells.

    Runs of older versions were saved without their claims; they have no profile, no health and no
    explanations. Without known truths there is no evaluation.
    """

    result: Result
    profile: Profile | None
    health: Health | None
    worth: Worth
    drawn: Drawn
    agreement: pl.DataFrame | None
    evaluation: Evaluation | None = None
    scored: pl.DataFrame | None = None


def gather(result: Result, truth: object | None, progress: Progress | None = None) -> Findings:
    """Work out what the report of a result tells."""
    tell = progress or say_nothing
    plain = Result(result.tables, result.run)  # whose frames are polars
    evaluation = scored = None
    if truth is not None:
        tell("evaluating", 0, 1)
        evaluation, scored = evaluate(plain, truth), score_truths(plain, truth)[0]
    claims = claims_of(plain)
    agreement = None
    if claims is not None and len(plain.tables.sources) > 1:
        agreement = agreement_table(plain)
    tell("checking", 0, 1)
    return Findings(
        result=plain,
        profile=None if claims is None else profile(claims, truth, most_paired=MOST_CLAIMS_PAIRED),
        health=None if claims is None else check(claims, plain, known=_known(plain)),
        worth=worth_checking(plain, tell),
        drawn=draw(plain, truth, agreement, tell),
        agreement=agreement,
        evaluation=evaluation,
        scored=scored,
    )


def claims_of(result: Result) -> ClaimsTable | None:
    """The claims of a result as rows, as they were judged; None if it was saved without them."""
    tables = result.tables
    if tables.claims is None:
        return None
    wanted = CLAIM_COLUMNS[result.kind]
    rows = tables.facts.select(name for name in wanted if name in tables.facts.columns)
    rows = rows[tables.claims["fact"]].with_columns(
        source=tables.sources["source"].gather(tables.claims["source"])
    )
    if result.kind == "binary":
        rows = rows.with_columns(tables.claims["claim"])
    return ClaimsTable(
        rows.select(name for name in wanted if name in rows.columns),
        result.kind,
        str(result.run["input"]["origin"]),
        rows_read=len(rows),
        normalisation=result.run.get("normalisation"),
    )


def _known(result: Result) -> pl.DataFrame | None:
    """The truths that were known beforehand, of those that are claimed."""
    grounds, facts = result.tables.grounds, result.tables.facts
    if grounds is None or "known" not in grounds.columns:
        return None
    known = grounds["known"]
    if result.kind == "binary":
        rows = facts.select("fact", claim=known == 1).filter(known >= 0)
    else:
        rows = facts.select(pl.col("^(entity|attribute|value)$")).filter(known == 1)
    return None if rows.is_empty() else rows
