"""How right an answer is: a `Result` against known truths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.numbers import BELOW_ONE, LARGEST
from veracity.algorithms.parameters import require_at_least, require_share
from veracity.encoding.block import SAME, BoolArray, FloatArray
from veracity.encoding.known import Matched, in_names_of_claims, match_truths, note_count
from veracity.encoding.partitions import Partition
from veracity.errors import NoClaims
from veracity.io.frames import hand_back
from veracity.printing import counted, html_by
from veracity.reading.options import ReadOptions
from veracity.reading.schema import keys_of
from veracity.reading.truths import read_truth
from veracity.result import Result

LEAST = 1e-6
"""The least plausibility the log-loss sees: a truth nobody claimed costs 13.8, not infinity."""

N_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Measures of one result against known truths.

    Attributes
    ----------
    judged
        How many items (facts, for "multiple" and "binary") had a known truth.
    accuracy
        Share that is right; a tie that contains the truth counts one over its size.
    log_loss, brier
        The price of misplaced certainty: -log of the true value's plausibility, and the squared
        distance between plausibilities and truth, both averaged.
    calibration_error
        How far, on average, the plausibility of what was chosen is from the share that is right,
        in ten bins of equal width.
    precision, recall, f1
        For "multiple", at the threshold.
    mae, rmse, within
        For "numeric", in place of all the above: mean absolute and root mean square distance of
        the estimates from the truths, and the share of them within the tolerance.
    by_attribute
        The same measures for each attribute.
    notes
        What was left out, and why.
    """

    judged: int
    accuracy: float | None = None
    log_loss: float | None = None
    brier: float | None = None
    calibration_error: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    mae: float | None = None
    rmse: float | None = None
    within: float | None = None
    by_attribute: Any = None
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """The measures in a line, and the notes."""
        measures = self.measures()
        told = [f"{name.replace('_', ' ')} {value:.3f}" for name, value in measures.items()
                if name != "judged"]  # fmt: skip
        first = f"{self.judged:,} judged: {', '.join(told)}"
        return "\n".join([first, *(f"note: {note}" for note in self.notes)])

    _repr_html_ = html_by("evaluation_html")

    def measures(self) -> dict[str, float]:
        """The measures that apply, by name."""
        all_of_them = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v for k, v in all_of_them.items() if isinstance(v, int | float)}


def evaluate(
    result: Result,
    truth: object,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    threshold: float | None = None,
    tolerance: float | None = None,
    encoding: str = "utf-8",
) -> Evaluation:
    """Compare a result with known truths.

    An item counts as answered by its most plausible fact, as in the paper; one whose truth nobody
    claims counts as wrong. Truths that contradict each other are left out, and so are truths of
    items nobody speaks of; `Evaluation.notes` says how many. Where the claims were normalised, the
    truths are, in the same way.

    Parameters
    ----------
    result
        What `discover` returned.
    truth
        Known truths, in any form claims can have: ``entity, attribute, value``, or ``fact, claim``.
    columns
        Which column plays which part, where names do not tell.
    threshold
        For "multiple": above which plausibility a value counts as true; the run's own by default.
    tolerance
        For "numeric": how far an estimate may be from the truth to count as within; a tenth of the
        truths' standard deviation by default.
    encoding
        The encoding of text files.

    Examples
    --------
    >>> import polars as pl, veracity
    >>> claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]})
    >>> truth = pl.DataFrame({"entity": ["x"], "value": ["2"]})
    >>> evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    0.5
    """
    scored, notes = score_truths(
        result,
        truth,
        columns=columns,
        threshold=threshold,
        tolerance=tolerance,
        encoding=encoding,
    )
    table = None
    if "attribute" in scored.columns:
        parts = scored.partition_by("attribute", as_dict=True, maintain_order=True)
        rows = [{"attribute": name, **_measures(part)} for (name,), part in parts.items()]
        table = hand_back(pl.DataFrame(rows).sort("attribute"), result.frame_kind)
    if result.run.asked and result.kind != "numeric" and result.estimate().right is not None:
        notes.append(f"estimated from answered questions: {result.estimate()}")
    return Evaluation(**_measures(scored), by_attribute=table, notes=notes)


def score_truths(
    result: Result,
    truth: object,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    threshold: float | None = None,
    tolerance: float | None = None,
    encoding: str = "utf-8",
) -> tuple[pl.DataFrame, list[str]]:
    """One row per item or fact whose truth is known, and notes: what `evaluate` sums up.

    The plausibility of what was chosen is `sure`, and `right` is how far that is true; numbers have
    their `distance` from the truth instead.
    """
    if threshold is not None:
        require_share("evaluate", threshold=threshold)
    if tolerance is not None:
        require_at_least("evaluate", 0, tolerance=tolerance)
    normalisation = result.run.normalisation
    truths, notes = read_truth(
        truth,
        ReadOptions(
            columns=columns or {},
            likely=result.run.input.columns,
            kind=result.kind,
            encoding=encoding,
        ),
        normalisation=normalisation,
        like=None if normalisation is None else result.tables.facts,
    )
    if result.fitted is not None:
        truths, renamed = in_names_of_claims(truths, result.fitted.names.attributes)
        notes = [*notes, *renamed]
    result = result.fetch(
        ItemsAmong(truths),
        "no known truth can be compared with the result: there are no claims about these items; "
        "are the names the same?",
    )
    matched = match_truths(result.tables.facts, truths, result.kind)
    scored = _scored(result, matched, threshold, tolerance)
    if scored.is_empty():
        raise NoClaims(
            "no known truth can be compared with the result; are the names the same? "
            f"({'; '.join([*notes, *matched.notes]) or 'there is none'})"
        )
    return scored, [*notes, *matched.notes, *_known_notes(result, scored, matched.keys)]


def _scored(
    result: Result, matched: Matched, threshold: float | None, tolerance: float | None
) -> pl.DataFrame:
    """What `score_truths` gives, by the kind of the claims."""
    match result.kind:
        case "numeric":
            return _score_numbers(matched, result.tables.truths, tolerance)
        case "binary":
            return _score_binary(matched)
        case "categorical":
            return _score_single(matched)
        case "multiple":
            least = threshold if threshold is not None else result.run.min_plausibility
            return _score_multiple(matched, 0.5 if least is None else least)


def _known_notes(result: Result, scored: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """That some of what is judged was known to the run, which then cannot but be right."""
    if not result.run.input.known:
        return []
    parts = (part.items.filter(part.block.is_known) for part in result.encoded.parts)
    judged = scored.select(keys).unique()
    n_known = len(judged.join(pl.concat(parts), on=keys, how="semi", nulls_equal=True))
    if not n_known:
        return []
    were = "was" if n_known == 1 else "were"
    return [
        f"{n_known:,} of the {counted(len(judged), 'item')} judged {were} known to the run, and "
        "kept the values they were given: measure on other truths"
    ]


@dataclass(frozen=True)
class ItemsAmong:
    """Which items of a part a table names."""

    table: pl.DataFrame

    def __call__(self, part: Partition) -> BoolArray:
        """One truth value per item."""
        keys = [key for key in keys_of(part.items) if key in self.table.columns]
        own = (pl.col(key).cast(part.items[key].dtype, strict=False) for key in keys)
        named = self.table.select(*own).unique()
        items = part.items.select(keys).with_row_index("place")
        is_meant = np.zeros(len(items), dtype=np.bool_)
        is_meant[items.join(named, on=keys)["place"].to_numpy()] = True
        return is_meant


def _score_single(matched: Matched) -> pl.DataFrame:
    facts, known, keys, notes = matched
    highest = pl.col("plausibility").max()
    items = facts.group_by(keys).agg(
        sure=highest,
        n_tied=(highest - pl.col("plausibility")).round(SAME).eq(0.0).sum(),
        squares=(pl.col("plausibility") ** 2).sum(),
    )
    own = facts.select(*keys, "value", p="plausibility")
    judged = known.join(items, on=keys).join(own, on=[*keys, "value"], how="left")
    n_unclaimed = judged["p"].null_count()
    note_count(notes, n_unclaimed, "truth is", "truths are", "claimed by nobody: judged as wrong")
    is_claimed = pl.col("p").is_not_null()
    judged = judged.with_columns(pl.col("p").fill_null(0.0), is_claimed=is_claimed)
    is_right = pl.col("is_claimed") & ((pl.col("sure") - pl.col("p")).round(SAME) == 0.0)
    return judged.with_columns(
        right=pl.when(is_right).then(1.0 / pl.col("n_tied")).otherwise(0.0),
        log_loss=-pl.col("p").clip(LEAST, 1.0).log(),
        brier=pl.col("squares") - 2.0 * pl.col("p") + 1.0,
    )


def _score_multiple(matched: Matched, least: float) -> pl.DataFrame:
    facts, known, keys, notes = matched
    spoken = facts.join(known.select(keys).unique(), on=keys, how="semi")
    truths = known.with_columns(is_true=pl.lit(value=True))
    judged = spoken.join(truths, on=[*keys, "value"], how="full", coalesce=True)
    n_unclaimed = judged["plausibility"].null_count()
    note_count(notes, n_unclaimed, "truth is", "truths are", "claimed by nobody: missed")
    p = pl.col("plausibility").fill_null(0.0)
    judged = judged.with_columns(pl.col("is_true").fill_null(value=False), p=p)
    return _score_facts(judged, pl.col("p") >= least).with_columns(is_listed=pl.lit(value=True))


def _score_binary(matched: Matched) -> pl.DataFrame:
    judged = matched.facts.join(matched.known, on="fact").rename({"value": "is_true"})
    judged = judged.with_columns(p="plausibility")
    is_tied = (pl.col("p") - 0.5).abs().round(SAME) == 0.0
    scored = _score_facts(judged, pl.col("p") > 0.5)
    return scored.with_columns(right=pl.when(is_tied).then(0.5).otherwise("right"))


def _score_numbers(
    matched: Matched, estimates: pl.DataFrame, tolerance: float | None
) -> pl.DataFrame:
    judged = matched.known.join(estimates.rename({"value": "estimate"}), on=matched.keys)
    distance = (pl.col("estimate") - pl.col("value")).abs().clip(0.0, LARGEST)
    allowed = usual_tolerance(matched.keys) if tolerance is None else pl.lit(tolerance)
    return judged.with_columns(distance=distance).with_columns(
        is_within=pl.col("distance") <= allowed
    )


def usual_tolerance(keys: Sequence[str]) -> pl.Expr:
    """How far apart numbers may be and count as the same: a tenth of their standard deviation."""
    largest = pl.col("value").abs().max()  # relative to it, no square is beyond all numbers
    relative = pl.when(largest > 0.0).then(pl.col("value") / largest).otherwise(0.0)
    spread = relative.std(ddof=0) / 10.0 * largest
    return spread.over("attribute") if "attribute" in keys else spread


def _score_facts(judged: pl.DataFrame, taken: pl.Expr) -> pl.DataFrame:
    """Score facts one by one, given their plausibility p, and which are taken for true."""
    p, is_true = pl.col("p"), pl.col("is_true")
    return judged.with_columns(taken=taken).with_columns(
        right=(pl.col("taken") == is_true).cast(pl.Float64),
        sure=pl.when("taken").then(p).otherwise(1.0 - p),
        log_loss=-pl.when(is_true).then(p).otherwise(1.0 - p).clip(LEAST, 1.0).log(),
        brier=(p - is_true.cast(pl.Float64)) ** 2,
    )


def _measures(scored: pl.DataFrame) -> dict[str, Any]:
    if "distance" in scored.columns:
        mae, rmse = _mean_distances(scored["distance"].to_numpy())
        within = scored["is_within"].mean()
        return {"judged": len(scored), "mae": mae, "rmse": rmse, "within": within}
    measures: dict[str, Any] = {
        "judged": len(scored),
        "accuracy": scored["right"].mean(),
        "log_loss": scored["log_loss"].mean(),
        "brier": scored["brier"].mean(),
        "calibration_error": _calibration_error(scored),
    }
    if "is_listed" in scored.columns:  # truths come as lists: what is missing counts, too
        hits = float((scored["taken"] & scored["is_true"]).sum())
        measures["precision"] = hits / max(float(scored["taken"].sum()), 1.0)
        measures["recall"] = hits / max(float(scored["is_true"].sum()), 1.0)
        both = float(scored["taken"].sum()) + float(scored["is_true"].sum())
        measures["f1"] = 2.0 * hits / max(both, 1.0)
    return measures


def _mean_distances(distance: FloatArray) -> tuple[float, float]:
    """Their mean and root mean square, in units near the largest: no square is beyond numbers."""
    exponent = int(np.frexp(distance.max())[1])
    scaled = np.ldexp(distance, -exponent)
    means = np.array([scaled.mean(), np.sqrt((scaled**2).mean())])
    mae, rmse = np.ldexp(np.minimum(means, BELOW_ONE), exponent)
    return float(mae), float(rmse)


def _calibration_error(scored: pl.DataFrame) -> float:
    """Σ over bins of (share of items in it) times |share right - mean plausibility|."""
    bins = calibration_bins(scored)
    gap = (bins["right"] - bins["plausibility"]).abs()
    return float((gap * bins["judged"]).sum() / len(scored))


def calibration_bins(scored: pl.DataFrame) -> pl.DataFrame:
    """One row per bin of plausibilities that has any: their mean, the share right, how many judged.

    >>> calibration_bins(pl.DataFrame({"sure": [0.5, 0.95, 1.0], "right": [0.0, 1.0, 0.5]})).rows()
    [(0.5, 0.6, 0.5, 0.0, 1), (0.9, 1.0, 0.975, 0.75, 2)]
    """
    number = (pl.col("sure") * N_BINS).floor().clip(0, N_BINS - 1)
    bins = scored.group_by(number.alias("bin")).agg(
        plausibility=pl.col("sure").mean(), right=pl.col("right").mean(), judged=pl.len()
    )
    return bins.sort("bin").select(
        pl.col("bin").truediv(N_BINS).round(9).alias("low"),
        (pl.col("bin") + 1).truediv(N_BINS).round(9).alias("high"),
        "plausibility",
        "right",
        "judged",
    )
