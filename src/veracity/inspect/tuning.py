"""Find the best parameters for these claims by cross-validation: `tune`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.algorithms.parameters import require_at_least, settable
from veracity.api import Prepared, chosen_algorithm, engine_for, open_claims, prepare, suited
from veracity.encoding.block import FloatArray
from veracity.encoding.known import with_known
from veracity.engines import Engine
from veracity.errors import ParameterError
from veracity.inspect.comparison import answer_quietly
from veracity.inspect.evaluation import evaluate
from veracity.io.frames import FrameKind, hand_back
from veracity.printing import Shown, counted
from veracity.progress import Progress, no_progress
from veracity.reading.claims import read_truths_beside
from veracity.reading.options import ReadArguments
from veracity.reading.roles import Kind, keys_of

MEASURES: dict[Kind, str] = {
    "categorical": "accuracy", "binary": "accuracy", "multiple": "f1", "numeric": "mae",
}  # fmt: skip
"""Measure by which settings are compared; the smallest is best for errors (mae)."""


@dataclass(frozen=True, repr=False)
class Tuning(Shown):
    """Comparison of settings of an algorithm; `algorithm` has the best of them.

    Attributes
    ----------
    algorithm
        The algorithm with the best parameters, to be handed to `discover`.
    best
        Best values of the parameters that were tried.
    measure
        Measure that was compared: "accuracy", "f1" or "mae".
    notes
        Notes, for example that the best setting is no better than the default.
    """

    algorithm: Algorithm[Any]
    best: dict[str, Any]
    measure: str
    rows: pl.DataFrame
    notes: list[str]
    frame_kind: FrameKind = "polars"

    def contents(self) -> dict[str, Any]:
        """Return the best setting, the measure, all settings and the notes, by name."""
        best = {"best": self.best, "measure": self.measure}
        return {**best, "settings": self.rows, "notes": self.notes}

    @property
    def table(self) -> Any:
        """Return one row per setting (default included), the best first, with standard errors."""
        return hand_back(self.rows, self.frame_kind)


def tune(
    claims: object,
    truth: object,
    *,
    grid: Mapping[str, Sequence[Any]],
    algorithm: Algorithm[Any] | str | None = None,
    folds: int = 5,
    truth_columns: Mapping[str, str | list[str]] | None = None,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadArguments],
) -> Tuning:
    """Try settings of an algorithm by cross-validation, and return them with the best one first.

    The truths are cut into folds. Each fold in turn is used to measure; the truths of the other
    folds are given to the algorithm as known.

    Parameters
    ----------
    claims, engine, **options
        As for `discover`; the options say how the claims are read.
    truth, truth_columns
        Known truths, in any form claims can have, and which column plays which part.
    grid
        Values to try for each parameter, e.g. ``{"strength": [1.0, 8.0, 32.0]}``: all combinations.
    algorithm
        Algorithm to tune, or its name.
    folds
        Number of parts into which the truths are cut.
    seed
        Seed of the random parts, and of the algorithm.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> import veracity
    >>> flights = veracity.synthetic.flights()
    >>> found = tune(flights.claims, flights.truth, grid={"strength": [2.0, 8.0]}, folds=2)
    >>> found.measure, len(found.table)
    ('accuracy', 2)
    """
    require_at_least("tune", 2, folds=folds)
    require_at_least("tune", 0, seed=seed or 0)
    tell = progress or no_progress
    engine = engine_for(claims, engine)
    opened = open_claims(claims, engine, **options)
    chosen = suited(chosen_algorithm(algorithm, opened.kind, seed, engine), opened)
    settings = _settings(chosen, grid)
    truths, _ = read_truths_beside(opened, truth, truth_columns)
    prepared = prepare(opened, engine=engine, progress=tell)
    rng, measure = np.random.default_rng(seed or 0), MEASURES[opened.kind]
    scores, judged = np.zeros((len(settings), folds)), np.zeros(folds)
    for fold, (some, kept_back) in enumerate(_folds(prepared, truths, folds, rng)):
        for place, setting in enumerate(settings):
            tell("trying settings", fold * len(settings) + place, folds * len(settings))
            found = evaluate(answer_quietly(some, setting.algorithm), kept_back)
            scores[place, fold], judged[fold] = getattr(found, measure), found.judged
    return _compared(settings, scores, judged, measure, prepared.table.frame_kind)


class _Setting(NamedTuple):
    """Setting that is tried."""

    values: dict[str, Any]
    algorithm: Algorithm[Any]
    is_default: bool


def _settings(algorithm: Algorithm[Any], grid: Mapping[str, Sequence[Any]]) -> list[_Setting]:
    """Return all combinations of the grid, and the algorithm's own setting."""
    known = settable(algorithm)
    for name, values in grid.items():
        if name not in known:
            raise ParameterError(
                f"tune: {algorithm.name} has no parameter '{name}'; it has {', '.join(known)}"
            )
        is_list = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
        if not is_list or not len(values):
            raise ParameterError(f"tune: the grid of {name} must be a list of values")
    if not grid:
        raise ParameterError(f"tune: the grid is empty; {algorithm.name} has {', '.join(known)}")
    default = {name: getattr(algorithm, name) for name in grid}
    tried = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    tried += [] if default in tried else [default]
    return [
        _Setting(values, replace(algorithm, **values), values == default)  # type: ignore[type-var]
        for values in tried
    ]


def _folds(
    prepared: Prepared, truths: pl.DataFrame, folds: int, rng: np.random.Generator
) -> Iterator[tuple[Prepared, pl.DataFrame]]:
    """Yield for each fold the claims with the other folds' truths as known, and its own truths."""
    keys = keys_of(truths)
    items = truths.select(keys).unique().sort(keys)
    if len(items) < folds:
        raise ParameterError(
            f"tune: {counted(len(items), 'known truth')} cannot be cut into {folds} folds; give "
            "fewer folds, or more known truths"
        )
    order = rng.permutation(len(items))
    for number in range(folds):
        is_in = np.zeros(len(items), dtype=np.bool_)
        is_in[order[number::folds]] = True
        kept_back = truths.join(items.filter(is_in), on=keys, how="semi", nulls_equal=True)
        others = truths.join(items.filter(is_in), on=keys, how="anti", nulls_equal=True)
        encoded, _ = with_known(prepared.encoded, others)
        yield replace(prepared, encoded=encoded), kept_back


def _compared(
    settings: list[_Setting], scores: FloatArray, judged: FloatArray, measure: str, kind: FrameKind
) -> Tuning:
    """Return the settings, the best first, by their scores [setting, fold]."""
    means = np.average(scores, axis=1, weights=judged)
    errors = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    rows: list[dict[str, Any]] = [
        {**setting.values, measure: mean, "error": error, "default": setting.is_default}
        for setting, mean, error in zip(settings, means.tolist(), errors.tolist(), strict=True)
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    sign = 1.0 if measure == "mae" else -1.0
    order = (sign * table[measure]).round(9).to_frame("rank").with_row_index("place")
    order = order.with_columns(is_other=~table["default"])  # of equals, the default
    places = order.sort("rank", "is_other", "place", nulls_last=True)["place"]
    best = int(places[0])
    default = next(row for row in rows if row["default"])
    gain = sign * (default[measure] - rows[best][measure])
    notes = []
    if settings[best].is_default:
        notes.append("the default is the best of these")
    elif gain <= max(rows[best]["error"], default["error"]):
        notes.append(
            "the best is no better than the default by more than the standard error: keep the "
            "default"
        )
    chosen = settings[best]
    return Tuning(chosen.algorithm, chosen.values, measure, table[places], notes, kind)
