"""Which parameters fit these claims: `tune`, by cross-validation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.algorithms.checks import require_at_least
from veracity.algorithms.settings import settable
from veracity.arguments import checked
from veracity.claims.known import with_known
from veracity.claims.schema import ClaimsTable, Kind, keys_of
from veracity.claims.truths import read_truths_beside
from veracity.discovery import USUAL_ALGORITHM, chosen_algorithm
from veracity.engines import Engine
from veracity.errors import ParameterError
from veracity.inspect.comparison import answer_quietly
from veracity.inspect.evaluation import evaluate
from veracity.io.frames import FrameKind, hand_back
from veracity.preparing import Prepared, prepare
from veracity.printing import counted, html_by
from veracity.progress import Progress, say_nothing
from veracity.result import Result
from veracity.result.layout import claims_of_part

MEASURES: dict[Kind, str] = {
    "categorical": "accuracy", "binary": "accuracy", "multiple": "f1", "numeric": "mae",
}  # fmt: skip
"""What is compared against known truths; of errors (mae) the smallest is best."""

HIDDEN = "log_likelihood"
"""What is compared on hidden claims: the mean of log P(what the source says), in bits."""

LEAST_RATE = 1e-3
"""No hidden claim is thought less likely than this."""

LEAST_WEIGHT = 1e-9
"""What is left of a word when it is taken apart, and weighs less, is a rounding error."""


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
        What was compared: "accuracy", "f1" or "mae" against known truths, or "log_likelihood" of
        hidden claims.
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


@checked
def tune(
    claims: object,
    truth: object | None = None,
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
    """Try settings of an algorithm by cross-validation, and tell which one is best.

    With known truths, those of one fold at a time are kept back to measure on, and the others are
    given as known. Without, claims of one fold are hidden, and it is measured how likely they are
    by what the others tell; that says how well sources are predicted, not how right the answer is.

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
        In how many parts truths or claims are cut.
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
    tell = progress or say_nothing
    prepared = prepare(claims, columns=columns, kind=kind, tell=tell, engine=engine)
    own = prepared.table.kind
    asked_for = USUAL_ALGORITHM[own] if algorithm is None else algorithm
    chosen = chosen_algorithm(asked_for, seed, prepared.engine)
    settings = _settings(chosen, grid)
    rng = np.random.default_rng(seed or 0)
    if truth is None:
        measure, parts = HIDDEN, _hiding(prepared, folds, rng)
    else:
        truths, _ = read_truths_beside(prepared.table, truth)
        measure, parts = MEASURES[own], _knowing(prepared, truths, folds, rng)
    scores: list[list[_Score]] = [[] for _ in settings]
    for number, fold in enumerate(parts):
        for place, setting in enumerate(settings):
            tell("trying settings", number * len(settings) + place, folds * len(settings))
            result = answer_quietly(fold.prepared, setting.algorithm, engine)
            scores[place].append(fold.score(result))
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
    """How a setting fared in a fold, and on how many items or claims."""

    value: float
    weight: float


class _Fold(NamedTuple):
    """Claims without what was kept back, and that."""

    prepared: Prepared
    kept_back: pl.DataFrame
    is_hidden: bool

    def score(self, result: Result) -> _Score:
        """How well a result does on what it did not see."""
        if self.is_hidden:
            return _likelihood(result, self.kept_back)
        found = evaluate(result, self.kept_back)
        return _Score(float(getattr(found, MEASURES[result.kind])), float(found.judged))


def _folds(
    n: int, what: str, folds: int, rng: np.random.Generator
) -> Iterator[np.ndarray[Any, Any]]:
    """Which of n things are in each fold, drawn at random; all have about as many."""
    if n < folds:
        raise ParameterError(
            f"tune: {counted(n, what)} cannot be cut into {folds} folds; give fewer folds, or "
            f"more {what}s"
        )
    order = rng.permutation(n)
    for number in range(folds):
        is_in = np.zeros(n, dtype=np.bool_)
        is_in[order[number::folds]] = True
        yield is_in


# --- known truths ---------------------------------------------------------------------------------


def _knowing(
    prepared: Prepared, truths: pl.DataFrame, folds: int, rng: np.random.Generator
) -> Iterator[_Fold]:
    """Truths of some items are kept back, the others are known."""
    keys = keys_of(truths)
    items = truths.select(keys).unique().sort(keys)
    for is_in in _folds(len(items), "known truth", folds, rng):
        kept_back = truths.join(items.filter(is_in), on=keys, how="semi", nulls_equal=True)
        others = truths.join(items.filter(is_in), on=keys, how="anti", nulls_equal=True)
        encoded, _ = with_known(prepared.encoded, others)
        yield _Fold(replace(prepared, encoded=encoded), kept_back, is_hidden=False)


# --- hidden claims --------------------------------------------------------------------------------


def _hiding(prepared: Prepared, folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    """Some claims are hidden, of items of which others speak."""
    kind = prepared.table.kind
    if kind not in ("categorical", "binary"):
        raise ParameterError(f"tune: {kind} claims need known truths to be tuned on")
    encoded = prepared.encoded.here()[0]
    sources = encoded.names.sources
    claims = pl.concat([claims_of_part(part, sources, kind) for part in encoded.parts])
    rows = weighed_rows(claims)
    for is_in in _folds(len(rows), "claim", folds, rng):
        table = ClaimsTable(rows.filter(~is_in), kind, prepared.table.origin)
        yield _Fold(prepare(table), rows.filter(is_in), is_hidden=True)


def weighed_rows(claims: pl.DataFrame) -> pl.DataFrame:
    """Rows with weights, from claims with their shares; of binary ones, one row for each side.

    >>> told = {"fact": ["f"], "claim": [True], "share": [1.0], "affirmed": [0.75]}
    >>> weighed_rows(pl.DataFrame(told)).rows()
    [('f', True, 0.75), ('f', False, 0.25)]
    """
    if "affirmed" not in claims.columns:
        return claims.rename({"share": "weight"}, strict=False)
    sides = ((True, pl.col("affirmed")), (False, pl.col("share") - pl.col("affirmed")))
    said = [claims.with_columns(claim=pl.lit(side), share=weight) for side, weight in sides]
    rows = pl.concat(said).drop("affirmed").rename({"share": "weight"})
    return rows.filter(pl.col("weight") > LEAST_WEIGHT)


def _likelihood(result: Result, hidden: pl.DataFrame) -> _Score:
    """How likely hidden claims are, by the plausibilities of facts and the rates of sources.

    A source says what is true as often as it is right; it errs towards the item's other values
    alike. Of values and sources that nobody else names, nothing is expected. Each claim counts by
    its weight.
    """
    tables = result.tables
    rates = tables.sources.select("source", "tpr", "fpr", "accuracy")
    keys = keys_of(hidden)
    p, right = pl.col("plausibility"), pl.col("accuracy")
    if result.kind == "binary":
        told = hidden.join(tables.facts.select("fact", "plausibility"), on="fact")
        told = told.join(rates, on="source")
        said = p * pl.col("tpr").fill_null(0.5) + (1.0 - p) * pl.col("fpr").fill_null(0.5)
        likely = pl.when("claim").then(said).otherwise(1.0 - said)
    else:
        n_values = tables.truths.select(*keys, "values")
        told = hidden.join(n_values, on=keys, nulls_equal=True).join(rates, on="source")
        facts = tables.facts.select(*keys, "value", "plausibility")
        told = told.join(facts, on=[*keys, "value"], how="left", nulls_equal=True)
        told = told.with_columns(p.fill_null(0.0))
        others = pl.max_horizontal(pl.col("values").cast(pl.Float64), pl.lit(2.0)) - 1.0
        likely = p * right + (1.0 - p) * (1.0 - right) / others
    bits = told.select(likely.clip(LEAST_RATE, 1.0).log(2.0)).to_series()
    weight = told["weight"] if "weight" in told.columns else pl.ones(len(told), eager=True)
    total = float(weight.sum())
    return _Score(float((bits * weight).sum()) / total if total else float("nan"), total)


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
