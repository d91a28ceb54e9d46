"""What would the others say? Several algorithms on one encoding of the claims."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from reprlib import repr as short
from typing import Any

import polars as pl

from veracity.algorithms import Algorithm
from veracity.algorithms import algorithms as all_algorithms
from veracity.answers import answer
from veracity.discovery import chosen_algorithm
from veracity.engines import Engine
from veracity.errors import NotConverged, ParameterError, VeracityError
from veracity.inspect.evaluation import evaluate, usual_tolerance
from veracity.io.frames import FrameKind, hand_back
from veracity.preparing import Prepared, prepare
from veracity.printing import html_by
from veracity.progress import Progress, no_progress, shows_progress
from veracity.reading.normalise import Normalise
from veracity.reading.schema import Kind, keys_of
from veracity.reading.truths import read_truths_beside
from veracity.result import Result


@dataclass(frozen=True)
class Comparison:
    """How algorithms fare on the same claims, and how far they agree.

    `results` has the result of each algorithm that did not fail, by name.
    """

    results: dict[str, Result]
    rows: pl.DataFrame
    frame_kind: FrameKind
    notes: list[str]

    def __str__(self) -> str:
        """The table, the best first where truths are known, and the notes."""
        return "\n".join([str(self.ranked), *(f"note: {note}" for note in self.notes)])

    _repr_html_ = html_by("comparison_html")

    @property
    def table(self) -> Any:
        """One row per algorithm: its measures, rounds, seconds, and why it failed if it did."""
        return hand_back(self.rows, self.frame_kind)

    @property
    def agreement(self) -> Any:
        """One row per pair of algorithms: the share of items on which they settle on the same."""
        return hand_back(self.pairs, self.frame_kind)

    @property
    def measure(self) -> str | None:
        """By what algorithms are ranked; nothing where no truth is known."""
        known = (name for name in ("accuracy", "f1", "mae") if name in self.rows.columns)
        return next(known, None)

    @property
    def ranked(self) -> pl.DataFrame:
        """One row per algorithm, the best first where truths are known."""
        if self.measure is None:
            return self.rows
        is_error = self.measure == "mae"
        return self.rows.sort(
            self.measure, descending=not is_error, nulls_last=True, maintain_order=True
        )

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The agreement, as a polars frame."""
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
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    known: object | None = None,
    normalise: Normalise = False,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run several algorithms on the same claims.

    Parameters
    ----------
    claims
        What `discover` takes.
    truth
        Known truths to measure against; without them, only their agreement.
    algorithms
        Which ones, as names, algorithms, or algorithms under names of your own; all that are for
        this kind of claims, unless said otherwise.
    columns, kind, known, normalise, seed, engine
        As for `discover`.
    progress
        Called with the name of the algorithm at work, how many are done, and of how many.

    Examples
    --------
    >>> import veracity
    >>> flights = veracity.synthetic.flights()
    >>> found = compare(flights.claims, flights.truth, algorithms=["majority-vote", "ltd-rbm"])
    >>> found.table.select("algorithm", pl.col("accuracy").round(2)).rows()
    [('majority-vote', 0.91), ('ltd-rbm', 0.97)]
    """
    if _are_algorithms(truth):
        raise ParameterError(
            "compare: truth must be known truths, got algorithms; say algorithms=[...], a list of "
            "algorithms or of their names"
        )
    tell = progress or no_progress
    prepared = prepare(
        claims,
        columns=columns,
        kind=kind,
        known=known,
        normalise=normalise,
        tell=tell,
        engine=engine,
    )
    chosen = _chosen(algorithms, prepared, seed)
    truths: pl.DataFrame | None = None
    notes: list[str] = []
    if truth is not None:
        truths, notes = read_truths_beside(prepared.table, truth)
    if algorithms is None and prepared.encoded.has_shares:
        chosen = _taking_shares(chosen, notes)
    results: dict[str, Result] = {}
    rows: list[dict[str, Any]] = []
    for number, (name, algorithm) in enumerate(chosen.items()):
        tell(name, number, len(chosen))
        found = _answer_or_reason(prepared, algorithm, engine)
        if isinstance(found, str):
            rows.append({"algorithm": name, "failed": found})
            continue
        results[name] = found
        rows.append({"algorithm": name, **_measured(found, truths, notes)})
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Comparison(results, table, prepared.table.frame_kind, list(dict.fromkeys(notes)))


def _are_algorithms(truth: object) -> bool:
    """Whether what was given as the truth are algorithms, or names of them."""
    several = truth if isinstance(truth, list | tuple) else [truth]
    names = all_algorithms()
    return bool(several) and all(
        one in names if isinstance(one, str) else hasattr(one, "kinds") and hasattr(one, "judge")
        for one in several
    )


def _chosen(
    algorithms: Sequence[Algorithm[Any] | str] | Mapping[str, Algorithm[Any]] | None,
    prepared: Prepared,
    seed: int | None,
) -> dict[str, Algorithm[Any]]:
    """The algorithms to run, by name; of two with one name the second is called so "again"."""
    engine = prepared.engine
    if isinstance(algorithms, Mapping) and algorithms:
        return {name: chosen_algorithm(one, seed, engine) for name, one in algorithms.items()}
    if algorithms is None:
        every = {name: chosen_algorithm(name, seed, engine) for name in all_algorithms()}
        return {name: one for name, one in every.items() if prepared.table.kind in one.kinds}
    if not isinstance(algorithms, Sequence | Mapping) or isinstance(algorithms, str | bytes):
        raise ParameterError(
            "compare: algorithms must be a list of algorithms or of their names, or a mapping from "
            f"names to algorithms, got {short(algorithms)}"
        )
    if not algorithms:
        raise ParameterError("compare: no algorithm is named; leave algorithms out to take all")
    chosen: dict[str, Algorithm[Any]] = {}
    for one in algorithms:
        algorithm = chosen_algorithm(one, seed, engine)
        name = one if isinstance(one, str) else algorithm.name
        while name in chosen:
            name += " again"
        chosen[name] = algorithm
    return chosen


def _taking_shares(
    chosen: dict[str, Algorithm[Any]], notes: list[str]
) -> dict[str, Algorithm[Any]]:
    """Those that let claims count by their shares."""
    others = [name for name, one in chosen.items() if not one.by_sweeps().takes_shares]
    notes.append(f"left out, since they count every claim in full: {', '.join(others)}")
    return {name: one for name, one in chosen.items() if name not in others}


def _answer_or_reason(
    prepared: Prepared, algorithm: Algorithm[Any], engine: Engine | None
) -> Result | str:
    """The answer of one algorithm, or why it failed: that must not stop the others."""
    try:
        return answer_quietly(prepared, algorithm, engine)
    except Exception as error:
        is_ours = isinstance(error, VeracityError)  # whose message needs no more words
        return str(error) if is_ours else f"{type(error).__name__}: {error}"


def answer_quietly(prepared: Prepared, algorithm: Algorithm[Any], engine: Engine | None) -> Result:
    """Let one algorithm answer; that it did not converge is told elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return answer(prepared, algorithm, engine)


def _measured(result: Result, truths: pl.DataFrame | None, notes: list[str]) -> dict[str, Any]:
    measures: dict[str, Any] = {}
    if truths is not None:
        evaluation = evaluate(result, truths)
        measures = evaluation.measures()
        notes += evaluation.notes
    return {
        **measures,
        "rounds": result.run.rounds,
        "converged": result.converged,
        "seconds": result.run.seconds["learn"],
    }


def _agreement(one: Result, other: Result) -> float:
    """The share of items on which two results settle on the same value or values.

    Numbers are the same where they differ by less than a tenth of their standard deviation.
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
