"""Compare several algorithms on one encoding of the claims."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from reprlib import repr as short
from typing import Any, Unpack

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.algorithms import algorithms as all_algorithms
from veracity.algorithms.catalogue import by_sweeps
from veracity.api import (
    Prepared,
    answer,
    chosen_algorithm,
    engine_for,
    has_shares,
    open_claims,
    prepare,
    suited,
)
from veracity.engines import Engine
from veracity.errors import NotConverged, ParameterError, VeracityError
from veracity.inspect.evaluation import measures_of, score_truths, usual_tolerance
from veracity.io.frames import FrameKind, hand_back
from veracity.kernels import kernels_for_claims
from veracity.printing import Shown, some
from veracity.progress import Progress, no_progress, shows_progress
from veracity.reading.claims import read_truths_beside
from veracity.reading.options import ReadArguments
from veracity.reading.roles import Kind, keys_of
from veracity.result import Result

WARMING_CLAIMS = 500
"""Number of claims that algorithms answer once before their time is measured."""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Comparison of algorithms on the same claims, with their agreement.

    `results` has the result of each algorithm that did not fail, by name.
    """

    results: dict[str, Result]
    rows: pl.DataFrame
    frame_kind: FrameKind
    notes: list[str]

    def contents(self) -> dict[str, Any]:
        """Return the algorithms, the agreement of each pair, and the notes, by name."""
        return {"algorithms": self.rows, "agreement": self.pairs, "notes": self.notes}

    def plot(self, *, theme: str = "light") -> Any:
        """Draw the accuracy of the algorithms; this needs known truths."""
        figures = importlib.import_module("veracity.show.figures.measures")
        return figures.comparison_figure(self, theme)

    @property
    def table(self) -> Any:
        """Return one row per algorithm: its measures, rounds, seconds, and the reason if it failed.

        With known truths, `behind` is the difference to the best algorithm on the same truths, and
        `error` the standard error of this difference.
        """
        return hand_back(self.rows, self.frame_kind)

    @property
    def agreement(self) -> Any:
        """Return one row per pair of algorithms: the share of items on which they agree."""
        return hand_back(self.pairs, self.frame_kind)

    @property
    def measure(self) -> str | None:
        """Return the measure by which algorithms are ranked; empty without known truths."""
        known = (name for name in ("accuracy", "f1", "mae") if name in self.rows.columns)
        return next(known, None)

    @property
    def ranked(self) -> pl.DataFrame:
        """Return one row per algorithm; with known truths, the best comes first."""
        if self.measure is None:
            return self.rows
        is_error = self.measure == "mae"
        return self.rows.sort(
            self.measure, descending=not is_error, nulls_last=True, maintain_order=True
        )

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Return the agreement as a polars frame."""
        pairs = [
            {"algorithm": one, "other": other, "agreement": _agreement(first, second)}
            for (one, first), (other, second) in combinations(self.results.items(), 2)
        ]
        schema = {"algorithm": pl.String, "other": pl.String, "agreement": pl.Float64}
        return pl.DataFrame(pairs, schema=schema)


@shows_progress
def compare(
    claims: object,
    truth: object | None = None,
    *,
    algorithms: Sequence[Algorithm[Any] | str] | Mapping[str, Algorithm[Any]] | None = None,
    known: object | None = None,
    truth_columns: Mapping[str, str | list[str]] | None = None,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadArguments],
) -> Comparison:
    """Run several algorithms on the same claims.

    Parameters
    ----------
    claims
        Claims in any form that `discover` accepts.
    truth
        Known truths to measure against; without them, only agreement is measured.
    algorithms
        Names, algorithms, or a mapping of your own names to algorithms; by default, all algorithms
        for this kind of claims.
    known, truth_columns, seed, engine, **options
        As for `discover`; the options say how the claims are read.
    progress
        Called with the name of the running algorithm, the number done, and the total number.

    Examples
    --------
    >>> import veracity
    >>> flights = veracity.synthetic.flights()
    >>> found = compare(flights.claims, flights.truth, algorithms=["majority-vote", "ltd-rbm"])
    >>> found.table.select("algorithm", pl.col("accuracy").round(2)).rows()
    [('majority-vote', 0.91), ('ltd-rbm', 0.97)]
    """
    tell = progress or no_progress
    engine = engine_for(claims, engine)
    opened = open_claims(claims, engine, **options)
    chosen = _chosen(algorithms, opened.kind, seed, engine)
    truths: pl.DataFrame | None = None
    notes: list[str] = []
    if truth is not None:
        truths, notes = read_truths_beside(opened, truth, truth_columns)
    if algorithms is None and has_shares(opened):
        chosen = _taking_shares(chosen, notes)
    prepared = prepare(opened, known, truth_columns=truth_columns, engine=engine, progress=tell)
    results: dict[str, Result] = {}
    rows: list[dict[str, Any]] = []
    scores: dict[str, pl.DataFrame] = {}
    _warm_up(prepared, chosen, tell)
    for number, (name, algorithm) in enumerate(chosen.items()):
        tell(name, number, len(chosen))
        found = _answer_or_reason(prepared, algorithm)
        if isinstance(found, str):
            rows.append({"algorithm": name, "failed": found})
            continue
        results[name] = found
        measures: dict[str, Any] = {}
        if truths is not None:
            scores[name], own_notes = score_truths(found, truths)
            measures = {**measures_of(scores[name]), "behind": 0.0, "error": None}
            notes += own_notes
        rows.append({
            "algorithm": name, **measures, "rounds": found.run.rounds,
            "converged": found.converged, "seconds": found.run.seconds["learn"],
        })  # fmt: skip
    table = pl.DataFrame(rows, infer_schema_length=None)
    if scores:
        behind = _behind_best(scores)
        table = (
            table.drop("behind", "error")
            .join(behind, on="algorithm", how="left", maintain_order="left")
            .select(table.columns)
        )
        notes += _note_on_few(behind)
    return Comparison(results, table, prepared.table.frame_kind, list(dict.fromkeys(notes)))


def _warm_up(prepared: Prepared, chosen: Mapping[str, Algorithm[Any]], tell: Progress) -> None:
    """Run each algorithm on a few claims first, so that compiling does not count in its time.

    Claims on Spark are measured without this, because each worker compiles for itself.
    """
    if prepared.encoded.is_remote:
        return
    few = replace(prepared, encoded=prepared.encoded.sampled(WARMING_CLAIMS))
    with kernels_for_claims(prepared.encoded.n_claims):
        for number, (name, algorithm) in enumerate(chosen.items()):
            tell(f"warming up {name}", number, len(chosen))
            _answer_or_reason(few, algorithm)


def _behind_best(scores: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return by how much each algorithm is worse than the best, with standard errors.

    Shares get half a pseudo-truth for each of the four ways in which two algorithms can be right or
    wrong, as Agresti and Min (2005) advise for few pairs.
    """
    columns = next(iter(scores.values())).columns
    is_number = "distance" in columns
    by = ("entity", "attribute", "fact", *(("value",) if "is_listed" in columns else ()))
    keys = [name for name in by if name in columns]
    score = np.column_stack([
        -one.sort(keys)["distance"] if is_number else one.sort(keys)["right"]
        for one in scores.values()
    ])  # fmt: skip
    n, best = len(score), int(score.mean(axis=0).argmax())
    behind = score[:, [best]] - score
    if is_number:
        error = behind.std(axis=0) / np.sqrt(max(n - 1, 1))
    else:
        square, mean = ((behind**2).sum(axis=0) + 1.0) / (n + 2), behind.sum(axis=0) / (n + 2)
        error = np.sqrt((square - mean**2) / (n + 2))
    error[best] = np.nan
    table = {"algorithm": list(scores), "behind": behind.mean(axis=0), "error": error}
    return pl.DataFrame(table, nan_to_null=True)


def _note_on_few(behind: pl.DataFrame) -> list[str]:
    """Name the algorithms that so few truths cannot distinguish from the best."""
    best = behind.filter(pl.col("error").is_null())["algorithm"][0]
    near = behind.filter(pl.col("behind") <= 2.0 * pl.col("error"))["algorithm"].to_list()
    if not near:
        return []
    return [
        f"{best} is ahead of {some(near)} by no more than two standard errors: more known truths "
        "would tell them apart"
    ]


def _chosen(
    algorithms: Sequence[Algorithm[Any] | str] | Mapping[str, Algorithm[Any]] | None,
    kind: Kind,
    seed: int | None,
    engine: Engine,
) -> dict[str, Algorithm[Any]]:
    """Return the algorithms to run by name; the second with the same name gets "again" added."""
    if isinstance(algorithms, Mapping) and algorithms:
        return {name: chosen_algorithm(one, kind, seed, engine) for name, one in algorithms.items()}
    if algorithms is None:
        every = {name: chosen_algorithm(name, kind, seed, engine) for name in all_algorithms()}
        return {name: one for name, one in every.items() if kind in one.kinds}
    if not isinstance(algorithms, Sequence | Mapping) or isinstance(algorithms, str | bytes):
        raise ParameterError(
            "compare: algorithms must be a list of algorithms or of their names, or a mapping from "
            f"names to algorithms, got {short(algorithms)}"
        )
    if not algorithms:
        raise ParameterError("compare: no algorithm is named; leave algorithms out to take all")
    chosen: dict[str, Algorithm[Any]] = {}
    for one in algorithms:
        algorithm = chosen_algorithm(one, kind, seed, engine)
        name = one if isinstance(one, str) else algorithm.name
        while name in chosen:
            name += " again"
        chosen[name] = algorithm
    return chosen


def _taking_shares(
    chosen: dict[str, Algorithm[Any]], notes: list[str]
) -> dict[str, Algorithm[Any]]:
    """Return the algorithms that can weight claims by their shares."""
    others = [name for name, one in chosen.items() if not by_sweeps(one).takes_shares]
    notes.append(f"left out, since they count every claim in full: {', '.join(others)}")
    return {name: one for name, one in chosen.items() if name not in others}


def _answer_or_reason(prepared: Prepared, algorithm: Algorithm[Any]) -> Result | str:
    """Return the answer of an algorithm, or why it failed; a failure does not stop the others."""
    try:
        return answer_quietly(prepared, suited(algorithm, prepared.table))
    except Exception as error:
        is_ours = isinstance(error, VeracityError)  # whose message needs no more words
        return str(error) if is_ours else f"{type(error).__name__}: {error}"


def answer_quietly(prepared: Prepared, algorithm: Algorithm[Any]) -> Result:
    """Run an algorithm without the warning on convergence, which is shown elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return answer(prepared, algorithm)


def _agreement(one: Result, other: Result) -> float:
    """Return the share of items on which two results have the same value or values.

    Numbers are the same if they differ by less than a tenth of their standard deviation.
    """
    first, second = one.tables.truths, other.tables.truths
    keys = keys_of(first)
    if one.kind == "numeric":
        both = first.with_columns(other=second["value"], allowed=usual_tolerance(keys))
        is_same = (pl.col("value") - pl.col("other")).abs() <= pl.col("allowed")
        return both.select(is_same.sum()).item() / len(first)  # type: ignore[no-any-return]
    settled = [table.group_by(keys).agg(pl.col("value").sort()) for table in (first, second)]
    same = settled[0].join(settled[1], on=keys, suffix="_other")
    return int((same["value"] == same["value_other"]).sum()) / max(len(same), 1)
