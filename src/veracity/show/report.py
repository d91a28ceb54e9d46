"""Write a result as one page that needs no other file, for readers who do not run veracity.

No browser runs names or values as code: `html` escapes all of them, and the page forbids all
scripts but its own.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import polars as pl

from veracity.checks.voting import vote
from veracity.errors import OutputError, ParameterError
from veracity.extras import how_to_get
from veracity.inspect.checking import check
from veracity.inspect.evaluation import evaluate, score_truths
from veracity.inspect.profiling import profile
from veracity.inspect.questions import questions_of
from veracity.io.atomic import atomic_file, check_file
from veracity.naming import as_text
from veracity.progress import Progress, no_progress, shows_progress
from veracity.reading.roles import keys_of
from veracity.result import Result
from veracity.show.figures.base import Figure
from veracity.show.figures.heatmaps import agreement_figure
from veracity.show.figures.measures import (
    accuracy_figure,
    calibration_figure,
    plausibility_figure,
)
from veracity.show.figures.sources import history_figure, sources_figure
from veracity.show.html import page
from veracity.show.report_sections import Findings, report_sections

ENDINGS = ("", ".html", ".htm")

MOST_ASKED = 20
"""Number of items to look up that are listed and explained."""


@shows_progress
def write_report(
    result: Result,
    path: str | os.PathLike[str],
    *,
    truth: object | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write what was found as one HTML file that works offline.

    Parameters
    ----------
    result
        Result of `discover` or `load`.
    path
        The file to write; one that exists is refused unless `force`.
    truth
        Known truths, in any form claims can have; the report then shows how right the answer is.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> import veracity
    >>> result = veracity.discover(veracity.synthetic.flights().claims)
    >>> result.write_report("report.html")  # doctest: +SKIP
    PosixPath('report.html')
    """
    target = check_page(path, force=force)
    found, missing = gather(result, truth, progress or no_progress)
    text = page(f"What is true in {_origin(result)}", report_sections(found), missing)
    with atomic_file(target) as unfinished:
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))
    return target


def check_page(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return the file to write a report to; refuse one that cannot be written, before any work."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:  # no other program would open it
        raise OutputError(f"{target}: a report is a page of HTML; let its name end in .html")
    check_file(target, force=force)
    return target


def _origin(result: Result) -> str:
    """Return the name of the file that was read; "the claims" if there was no file."""
    origin = str(result.run.input.origin)
    return "the claims" if origin.startswith("the ") else PurePath(origin).name or origin


def gather(
    result: Result, truth: object | None, tell: Progress = no_progress
) -> tuple[Findings, str]:
    """Compute the content of a report from a result, and the reason if there are no figures."""
    result, notes = result.local_sample()
    run = replace(result.run, notes=[*result.run.notes, *notes])
    result = Result(result.tables, run, fitted=result.fitted, encoded=result.encoded)
    evaluation = voted = scored = None
    if truth is not None:
        tell("evaluating", 0, 1)
        evaluation, (scored, _) = evaluate(result, truth), score_truths(result, truth)
        voted = None if result.kind == "numeric" else evaluate(_voted(result), truth, threshold=0.5)
    tell("checking", 0, 1)
    health = check(result)
    questions = questions_of(result, MOST_ASKED)
    keys = keys_of(questions)
    questions = questions.with_columns(as_text(questions[key]) for key in keys)
    explained = []
    for number, row in enumerate(questions.iter_rows(named=True)):
        tell("explaining", number, len(questions))
        explained.append(result.why(*(row[key] for key in keys)))
    drawn: dict[str, Any] = {
        "sources": lambda: sources_figure(result),
        "plausibility": lambda: plausibility_figure(result),
        "agreement": lambda: agreement_figure(result),
    }
    history = result.tables.history
    if history is not None and history["batch"].n_unique() > 1:
        drawn["history"] = lambda: history_figure(result)
    if evaluation is not None and scored is not None:
        drawn["calibration"] = lambda: calibration_figure(result, scored)
        drawn["accuracy"] = lambda: accuracy_figure(result, evaluation)
    figures, missing = dict[str, Figure](), ""
    if not all(importlib.util.find_spec(name) for name in ("altair", "vl_convert")):
        drawn, missing = {}, f"There are no figures, which need an extra: {how_to_get('plot')}."
    for number, (name, make) in enumerate(drawn.items()):
        tell("drawing", number, len(drawn))
        try:
            figure = make()
        except ParameterError:  # this figure is not for these data, such as agreement of one source
            continue
        if name != "agreement" or figure.table["same"].sum():  # where nobody agrees, it is empty
            figures[name] = figure
    estimate = result.estimate() if run.asked and result.kind != "numeric" else None
    found = Findings(
        result=result, profile=profile(result, truth), health=health, questions=questions,
        explained=explained, figures=figures, evaluation=evaluation, vote=voted, scored=scored,
        estimate=estimate,
    )  # fmt: skip
    return found, missing


def _voted(result: Result) -> Result:
    """Return the answer of a majority vote, with shares of votes in place of plausibilities."""
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
