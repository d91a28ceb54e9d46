"""Measure how right an answer is: a `Result` against known truths."""

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
from veracity.printing import Shown, counted
from veracity.reading.claims import read_truth
from veracity.reading.options import ReadOptions
from veracity.reading.roles import keys_of
from veracity.result import Result

LEAST = 1e-6
"""Smallest plausibility in the log-loss: a truth that nobody claimed costs 13.8, not infinity."""

N_BINS = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(Shown):
    """Measures of one result against known truths.

    Attributes
    ----------
    judged
        Number of items (facts, for "multiple" and "binary") with a known truth.
    accuracy
        Share that is right; a tie of n values that contains the truth counts 1 / n.
    log_loss, brier
        Means of -log of the true value's plausibility, and of the squared distance between
        plausibilities and truth. Both are large if an answer is sure and wrong.
    calibration_error
        Mean difference between the plausibility of the chosen value and the share that is right,
        over ten bins of equal width.
    precision, recall, f1
        For "multiple", at the threshold.
    mae, rmse, within
        For "numeric", instead of all the above: mean absolute and root mean square distance
        between estimates and truths, and the share of estimates within the tolerance.
    by_attribute
        The same measures for each attribute.
    notes
        Notes on truths that were left out, and why.
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

    def measures(self) -> dict[str, float]:
        """Return the measures that apply, by name."""
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

    The answer to an item is its most plausible fact, as in the paper. An item whose truth nobody
    claims counts as wrong. Truths that contradict each other and truths of items without claims
    are left out; `Evaluation.notes` says how many. If the claims were normalised, the truths are
    normalised in the same way.

    Parameters
    ----------
    result
        Result of `discover`.
    truth
        Known truths, in any form claims can have: ``entity, attribute, value``, or ``fact, claim``.
    columns
        Role of each column, if its name does not show it.
    threshold
        For "multiple": the plausibility above which a value counts as true; by default, that of
        the run.
    tolerance
        For "numeric": the largest distance between estimate and truth that counts as right; by
        default, a tenth of the truths' standard deviation.
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
        rows = [{"attribute": name, **measures_of(part)} for (name,), part in parts.items()]
        table = hand_back(pl.DataFrame(rows).sort("attribute"), result.frame_kind)
    if result.run.asked and result.kind != "numeric" and result.estimate().right is not None:
        notes.append(f"estimated from answered questions: {result.estimate()}")
    return Evaluation(**measures_of(scored), by_attribute=table, notes=notes)


def score_truths(
    result: Result,
    truth: object,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    threshold: float | None = None,
    tolerance: float | None = None,
    encoding: str = "utf-8",
) -> tuple[pl.DataFrame, list[str]]:
    """Return one row per item or fact with a known truth, and notes; `evaluate` summarises these.

    `sure` is the plausibility of the chosen value; `right` is 1 if it is true, less if it is
    part of a tie. Numbers have their `distance` from the truth instead.
    """
    if threshold is not None:
        require_share("evaluate", threshold=threshold)
    if tolerance is not None:
        require_at_least("evaluate", 0, tolerance=tolerance)
    truths, notes = truths_for(result, truth, columns, encoding=encoding)
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


def truths_for(
    result: Result,
    truth: object,
    columns: Mapping[str, str | list[str]] | None,
    columns_option: str = "columns",
    encoding: str = "utf-8",
) -> tuple[pl.DataFrame, list[str]]:
    """Read truths, which are probably written like the claims of a result; also return notes."""
    normalisation, was = result.run.normalisation, result.run.input
    options = ReadOptions(
        columns=columns or {}, columns_option=columns_option, likely=was.columns,
        kind=result.kind, encoding=encoding, no_value=was.no_value,
    )  # fmt: skip
    like = None if normalisation is None else result.tables.facts
    return read_truth(truth, options, normalisation=normalisation, like=like)


def _scored(
    result: Result, matched: Matched, threshold: float | None, tolerance: float | None
) -> pl.DataFrame:
    """Return the rows of `score_truths` for this kind of claims."""
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
    """Return a note if the run knew some of the truths, which are then always right."""
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
    """Function that marks the items of a part that a table names."""

    table: pl.DataFrame

    def __call__(self, part: Partition) -> BoolArray:
        """Return True for the items that the table names."""
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
    """Return the largest difference at which numbers count as equal: 0.1 standard deviations."""
    largest = pl.col("value").abs().max()  # relative to it, no square is beyond all numbers
    relative = pl.when(largest > 0.0).then(pl.col("value") / largest).otherwise(0.0)
    spread = relative.std(ddof=0) / 10.0 * largest
    return spread.over("attribute") if "attribute" in keys else spread


def _score_facts(judged: pl.DataFrame, taken: pl.Expr) -> pl.DataFrame:
    """Score each fact, given its plausibility p and whether it is taken for true."""
    p, is_true = pl.col("p"), pl.col("is_true")
    return judged.with_columns(taken=taken).with_columns(
        right=(pl.col("taken") == is_true).cast(pl.Float64),
        sure=pl.when("taken").then(p).otherwise(1.0 - p),
        log_loss=-pl.when(is_true).then(p).otherwise(1.0 - p).clip(LEAST, 1.0).log(),
        brier=(p - is_true.cast(pl.Float64)) ** 2,
    )


def measures_of(scored: pl.DataFrame) -> dict[str, Any]:
    """Return the measures of scored items or facts."""
    if "distance" in scored.columns:
        mae, rmse = _mean_distances(scored["distance"].to_numpy())
        within = scored["is_within"].mean()
        return {"judged": len(scored), "mae": mae, "rmse": rmse, "within": within}
    measures: dict[str, Any] = {
        "judged": len(scored),
        "accuracy": scored["right"].mean(),
        "log_loss": scored["log_loss"].mean(),
        "brier": scored["brier"].mean(),
        "calibration_error": calibration_error(scored),
    }
    if "is_listed" in scored.columns:  # truths come as lists: what is missing counts, too
        hits = float((scored["taken"] & scored["is_true"]).sum())
        measures["precision"] = hits / max(float(scored["taken"].sum()), 1.0)
        measures["recall"] = hits / max(float(scored["is_true"].sum()), 1.0)
        both = float(scored["taken"].sum()) + float(scored["is_true"].sum())
        measures["f1"] = 2.0 * hits / max(both, 1.0)
    return measures


def _mean_distances(distance: FloatArray) -> tuple[float, float]:
    """Return the mean and the root mean square of distances, scaled so that no square overflows."""
    exponent = int(np.frexp(distance.max())[1])
    scaled = np.ldexp(distance, -exponent)
    means = np.array([scaled.mean(), np.sqrt((scaled**2).mean())])
    mae, rmse = np.ldexp(np.minimum(means, BELOW_ONE), exponent)
    return float(mae), float(rmse)


def calibration_error(scored: pl.DataFrame) -> float:
    """Return Σ over bins of (share of items in it) times |share right - mean plausibility|."""
    bins = calibration_bins(scored)
    gap = (bins["right"] - bins["plausibility"]).abs()
    return float((gap * bins["judged"]).sum() / len(scored))


def calibration_bins(scored: pl.DataFrame) -> pl.DataFrame:
    """Return one row per non-empty bin of plausibilities: their mean, the share right, the number.

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
