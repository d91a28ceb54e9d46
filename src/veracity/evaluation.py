"""How right an answer is: a `Result` against known truths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import polars as pl

from veracity.errors import NoClaims, ParameterError
from veracity.read import read_truth
from veracity.result import SAME, Result, hand_back
from veracity.schema import comparable

__all__ = ["Evaluation", "evaluate"]

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
    by_attribute
        The same measures for each attribute.
    notes
        What was left out, and why.
    """

    judged: int
    accuracy: float
    log_loss: float
    brier: float
    calibration_error: float
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    by_attribute: Any = None
    notes: list[str] = field(default_factory=list)

    def measures(self) -> dict[str, float]:
        """The measures that apply, by name."""
        all_of_them = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v for k, v in all_of_them.items() if isinstance(v, int | float)}


def evaluate(
    result: Result,
    truth: object,
    *,
    columns: Mapping[str, str] | None = None,
    threshold: float | None = None,
    encoding: str = "utf-8",
) -> Evaluation:
    """Compare a result with known truths.

    An item counts as answered by its most plausible fact, as in the paper; one whose truth nobody
    claims counts as wrong. Truths that contradict each other are left out, and so are truths of
    items nobody speaks of; `Evaluation.notes` says how many.

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
    if threshold is not None and not 0.0 <= threshold <= 1.0:
        raise ParameterError(f"evaluate: threshold must be between 0 and 1, got {threshold}")
    known, notes = read_truth(truth, kind=result.kind, columns=columns, encoding=encoding)
    facts = result.tables.facts
    if result.kind == "binary":
        scored = _score_binary(facts, known, notes)
    elif result.kind == "categorical":
        scored = _score_single(facts, *_aligned(facts, known), notes)
    else:
        least = threshold if threshold is not None else result.run["min_plausibility"] or 0.5
        scored = _score_multiple(facts, *_aligned(facts, known), notes, least)
    if scored.is_empty():
        raise NoClaims("no known truth is about an item that the result knows; are names the same?")
    table = None
    if "attribute" in scored.columns:
        parts = scored.partition_by("attribute", as_dict=True, maintain_order=True)
        rows = [{"attribute": name, **_measures(part)} for (name,), part in parts.items()]
        table = hand_back(pl.DataFrame(rows).sort("attribute"), result.frame_kind)
    return Evaluation(**_measures(scored), by_attribute=table, notes=notes)


def _aligned(facts: pl.DataFrame, known: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Known truths with columns that compare with those of the facts, and the names of an item's.

    Where the claims have no attribute, neither do the truths; where only the truths lack one, it
    is taken as empty.
    """
    keys: list[str] = [name for name in ("entity", "attribute") if name in facts.columns]
    if "attribute" in keys and "attribute" not in known.columns:
        known = known.with_columns(attribute=pl.lit("", dtype=facts["attribute"].dtype))
    for name in keys:
        known = known.with_columns(known[name].cast(facts[name].dtype, strict=False))
    return known.select(*keys, "value").unique(), keys


def _score_single(
    facts: pl.DataFrame, known: pl.DataFrame, keys: list[str], notes: list[str]
) -> pl.DataFrame:
    claimed, true = comparable(facts["value"], known["value"])
    known = known.with_columns(value=true).unique()
    is_sole = pl.len().over(keys) == 1
    sole = known.filter(is_sole)
    _note(notes, known.select(keys).n_unique() - len(sole), "contradicting truths are left out")
    facts = facts.with_columns(value=claimed)
    items = facts.group_by(keys).agg(
        sure=pl.col("plausibility").max(),
        n_tied=(pl.col("plausibility").max() - pl.col("plausibility")).round(SAME).eq(0.0).sum(),
        squares=(pl.col("plausibility") ** 2).sum(),
    )
    spoken = sole.join(items, on=keys)
    _note(notes, len(sole) - len(spoken), "truths are about items nobody speaks of")
    own = facts.select(*keys, "value", p="plausibility")
    judged = spoken.join(own, on=[*keys, "value"], how="left")
    _note(notes, judged["p"].null_count(), "truths are claimed by nobody and count as wrong")
    judged = judged.with_columns(pl.col("p").fill_null(0.0))
    return judged.with_columns(
        right=pl.when((pl.col("sure") - pl.col("p")).round(SAME) == 0.0)
        .then(1.0 / pl.col("n_tied"))
        .otherwise(0.0),
        log_loss=-pl.col("p").clip(LEAST, 1.0).log(),
        brier=pl.col("squares") - 2.0 * pl.col("p") + 1.0,
    )


def _score_multiple(
    facts: pl.DataFrame, known: pl.DataFrame, keys: list[str], notes: list[str], least: float
) -> pl.DataFrame:
    claimed, true = comparable(facts["value"], known["value"])
    known = known.with_columns(value=true, is_true=pl.lit(True)).unique()
    facts = facts.with_columns(value=claimed)
    spoken = facts.join(known.select(keys).unique(), on=keys, how="semi")
    of_spoken = known.join(spoken.select(keys).unique(), on=keys, how="semi")
    _note(notes, len(known) - len(of_spoken), "truths are about items nobody speaks of")
    judged = spoken.join(of_spoken, on=[*keys, "value"], how="full", coalesce=True)
    _note(notes, judged["plausibility"].null_count(), "truths are claimed by nobody: missed")
    p = pl.col("plausibility").fill_null(0.0)
    judged = judged.with_columns(pl.col("is_true").fill_null(value=False), p=p)
    return _score_facts(judged, pl.col("p") >= least)


def _score_binary(facts: pl.DataFrame, known: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    known = known.with_columns(known["fact"].cast(facts["fact"].dtype, strict=False)).unique()
    sole = known.filter(pl.len().over("fact") == 1)
    _note(notes, known["fact"].n_unique() - len(sole), "contradicting truths are left out")
    judged = facts.join(sole, on="fact").with_columns(is_true="claim", p="plausibility")
    _note(notes, len(sole) - len(judged), "truths are about facts nobody speaks of")
    is_tied = (pl.col("p") - 0.5).abs().round(SAME) == 0.0
    scored = _score_facts(judged, pl.col("p") > 0.5)
    return scored.with_columns(right=pl.when(is_tied).then(0.5).otherwise("right"))


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
    measures: dict[str, Any] = {
        "judged": len(scored),
        "accuracy": scored["right"].mean(),
        "log_loss": scored["log_loss"].mean(),
        "brier": scored["brier"].mean(),
        "calibration_error": _calibration_error(scored),
    }
    if "taken" in scored.columns and "claim" not in scored.columns:
        hits = float((scored["taken"] & scored["is_true"]).sum())
        measures["precision"] = hits / max(float(scored["taken"].sum()), 1.0)
        measures["recall"] = hits / max(float(scored["is_true"].sum()), 1.0)
        both = float(scored["taken"].sum()) + float(scored["is_true"].sum())
        measures["f1"] = 2.0 * hits / max(both, 1.0)
    return measures


def _calibration_error(scored: pl.DataFrame) -> float:
    """Σ over bins of (share of items in it) times |share right - mean plausibility|."""
    bin_of_item = (pl.col("sure") * N_BINS).floor().clip(0, N_BINS - 1)
    bins = scored.group_by(bin_of_item.alias("bin")).agg(
        gap=(pl.col("right").mean() - pl.col("sure").mean()).abs(), n=pl.len()
    )
    return float((bins["gap"] * bins["n"]).sum() / len(scored))


def _note(notes: list[str], count: int, what: str) -> None:
    if count:
        notes.append(f"{count:,} {what}")
