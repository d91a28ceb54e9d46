"""Which parameters fit these claims: `tune`, by cross-validation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.algorithms.parameters import require_at_least, settable
from veracity.discovery import USUAL_ALGORITHM, chosen_algorithm
from veracity.encoding.known import with_known
from veracity.engines import Engine
from veracity.errors import ParameterError
from veracity.inspect.comparison import answer_quietly
from veracity.inspect.evaluation import evaluate
from veracity.io.frames import FrameKind, hand_back
from veracity.preparing import Prepared, prepare
from veracity.printing import counted, html_by
from veracity.progress import Progress, no_progress
from veracity.reading.schema import Kind, keys_of
from veracity.reading.truths import read_truths_beside

MEASURES: dict[Kind, str] = {
    "categorical": "accuracy", "binary": "accuracy", "multiple": "f1", "numeric": "mae",
}  # fmt: skip
"""What is compared against known truths; of errors (mae) the smallest is best."""


@dataclass(frozen=True)
class Tuning:
    """How settings of an algorithm fare; the best of them is `algorithm`.

    Attributes
    ----------
    algorithm
        The algorithm with the best parameters, to be handed to `discover`.
    best
        Those parameters of it that were tried.
    measure
        What was compared: "accuracy", "f1" or "mae".
    notes
        What a user should know: whether the best is better than the default at all.
    """

    algorithm: Algorithm[Any]
    best: dict[str, Any]
    measure: str
    rows: pl.DataFrame
    notes: list[str]
    frame_kind: FrameKind = "polars"

    _repr_html_ = html_by("tuning_html")

    @property
    def table(self) -> Any:
        """One row per setting, the best first: its measure, the standard error, and the default."""
        return hand_back(self.rows, self.frame_kind)


def tune(
    claims: object,
    truth: object,
    *,
    grid: Mapping[str, Sequence[Any]],
    algorithm: Algorithm[Any] | str | None = None,
    folds: int = 5,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Try settings of an algorithm by cross-validation, and return them with the best one first.

    The known truths of one fold at a time are kept back to measure on; the others are given as
    known.

    Parameters
    ----------
    claims, columns, kind, engine
        As for `discover`; to normalise them, give what `read_claims` returned.
    truth
        Known truths, in any form claims can have.
    grid
        Values to try for each parameter, e.g. ``{"strength": [1.0, 8.0, 32.0]}``: all combinations.
    algorithm
        What is tuned: an algorithm or the name of one; the default unless said otherwise.
    folds
        In how many parts the truths are cut.
    seed
        How they are cut, and where the algorithm's randomness starts.
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
    prepared = prepare(claims, columns=columns, kind=kind, tell=tell, engine=engine)
    own = prepared.table.kind
    asked_for = USUAL_ALGORITHM[own] if algorithm is None else algorithm
    chosen = chosen_algorithm(asked_for, seed, prepared.engine)
    settings = _settings(chosen, grid)
    rng = np.random.default_rng(seed or 0)
    truths, _ = read_truths_beside(prepared.table, truth)
    measure = MEASURES[own]
    scores: list[list[_Score]] = [[] for _ in settings]
    for number, (some, kept_back) in enumerate(_folds(prepared, truths, folds, rng)):
        for place, setting in enumerate(settings):
            tell("trying settings", number * len(settings) + place, folds * len(settings))
            found = evaluate(answer_quietly(some, setting.algorithm, engine), kept_back)
            scores[place].append(_Score(float(getattr(found, measure)), float(found.judged)))
    return _told(settings, scores, measure, prepared.table.frame_kind)


class _Setting(NamedTuple):
    """Parameters that are tried."""

    values: dict[str, Any]
    algorithm: Algorithm[Any]
    is_default: bool


def _settings(algorithm: Algorithm[Any], grid: Mapping[str, Sequence[Any]]) -> list[_Setting]:
    """All combinations of the grid, and what the algorithm has anyway."""
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


class _Score(NamedTuple):
    """How a setting fared in a fold, and on how many items."""

    value: float
    weight: float


def _folds(
    prepared: Prepared, truths: pl.DataFrame, folds: int, rng: np.random.Generator
) -> Iterator[tuple[Prepared, pl.DataFrame]]:
    """Yield, for each fold, the claims with the other truths known, and its own truths."""
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


# --- what it comes to -----------------------------------------------------------------------------


def _told(
    settings: list[_Setting], scores: list[list[_Score]], measure: str, frame_kind: FrameKind
) -> Tuning:
    rows = []
    for setting, of_fold in zip(settings, scores, strict=True):
        values, weights = np.array(of_fold).T
        mean = float(np.average(values, weights=np.maximum(weights, 1e-9)))
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        rows.append(
            {**setting.values, measure: mean, "error": error, "default": setting.is_default}
        )
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
    return Tuning(chosen.algorithm, chosen.values, measure, table[places], notes, frame_kind)
