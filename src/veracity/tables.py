"""From arrays back to tables: the names are put on what was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms import Rates
from veracity.algorithms.base import Copies, Weights
from veracity.algorithms.numbers import numbers_of
from veracity.encode import Claims, Encoded, FloatArray, IntArray
from veracity.evidence import evidence_of
from veracity.intervals import ranges_of
from veracity.kernels.loading import kernels
from veracity.schema import FrameKind

__all__ = ["SAME", "Fit", "Tables", "hand_back", "sources_by_attribute", "tabulate"]

SAME = 9
"""Plausibilities that agree to this many decimals are tied."""


@dataclass(frozen=True)
class Tables:
    """The tables of a result, as polars frames.

    There are copies if the algorithm looks for them, and changes if values were normalised. The
    last five are what `explain` needs, see `Evidence`; runs of older versions lack them.
    """

    truths: pl.DataFrame
    facts: pl.DataFrame
    sources: pl.DataFrame
    copies: pl.DataFrame | None = None
    changes: pl.DataFrame | None = None
    claims: pl.DataFrame | None = None
    weights: pl.DataFrame | None = None
    grounds: pl.DataFrame | None = None
    bearings: pl.DataFrame | None = None
    confusions: pl.DataFrame | None = None


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What an algorithm found, and how it got there.

    Plausibilities of facts, with how each source's word met them and the sources' rates; or, where
    claims are numbers, estimates of items with their standard errors.
    """

    trust: FloatArray | None
    trace: list[dict[str, float | None]]
    converged: bool
    plausibility: FloatArray | None = None
    counts: FloatArray | None = None
    rates: Rates | None = None
    estimate: tuple[FloatArray, FloatArray] | None = None
    copies: Copies | None = None
    weights: Weights | None = None
    is_fixed: IntArray | None = None


def tabulate(encoded: Encoded, found: Fit, min_plausibility: float | None) -> Tables:
    """Put the names back on what was found."""
    evidence = evidence_of(encoded.claims, found.weights)
    return replace(_findings(encoded, found, min_plausibility), **evidence._asdict())


def sources_by_attribute(tables: Tables) -> pl.DataFrame | None:
    """How often each source is right on each attribute; None where that cannot be told."""
    facts, claims = tables.facts, tables.claims
    if claims is None or not {"attribute", "plausibility"} <= set(facts.columns):
        return None
    said = facts.select("attribute", "plausibility")[claims["fact"]]
    said = said.insert_column(0, tables.sources["source"].gather(claims["source"]))
    by_attribute = said.group_by("source", "attribute").agg(
        accuracy=pl.col("plausibility").mean(), claims=pl.len().cast(pl.Int64)
    )
    return by_attribute.sort("source", "attribute")


def hand_back(frame: pl.DataFrame, kind: FrameKind) -> Any:  # noqa: ANN401
    """The table in the user's own kind of frame."""
    if kind == "pandas":
        return frame.to_pandas()
    return frame.to_arrow() if kind == "pyarrow" else frame


def _findings(encoded: Encoded, found: Fit, min_plausibility: float | None) -> Tables:
    if found.estimate is not None:
        return _number_tables(encoded, found.estimate, found.trust)
    if found.plausibility is None or found.counts is None or found.rates is None:
        raise TypeError("a fit has plausibilities or estimates")
    facts = _facts_table(encoded, found.plausibility)
    if encoded.claims.kind == "categorical":
        truths = _single_truths(encoded, facts, min_plausibility)
    elif encoded.claims.kind == "multiple":
        truths = _multiple_truths(encoded, facts, min_plausibility)
    else:
        truths = _binary_truths(facts, min_plausibility)
    sources = _sources_table(encoded, found.counts, found.rates)
    if found.trust is not None:
        sources = sources.with_columns(trust=found.trust)
    sources = _with_intervals(sources, encoded.claims, found)
    copies = None if found.copies is None else _copies_table(encoded, found.copies)
    return Tables(truths, facts, sources, copies)


def _facts_table(encoded: Encoded, plausibility: FloatArray) -> pl.DataFrame:
    block = encoded.claims.all
    supporters = np.diff(block.first_support_of_fact)
    return encoded.facts.with_columns(
        plausibility=plausibility,
        supporters=supporters,
        opposers=block.n_voices_of_fact - supporters,
    )


def _single_truths(
    encoded: Encoded, facts: pl.DataFrame, min_plausibility: float | None
) -> pl.DataFrame:
    first = encoded.claims.all.first_fact_of_item
    n_values = np.diff(first)
    has_second = n_values > 1
    plausibility = facts["plausibility"].to_numpy()
    # A rule for ties that does not depend on the order of the claims: more supporters, then the
    # first in sorted order.
    best, second = kernels.best_two(
        first, np.round(plausibility, SAME), facts["supporters"].to_numpy()
    )
    margin = np.where(has_second, plausibility[best] - plausibility[second], plausibility[best])
    chosen = facts["value"].gather(best)
    refuted = _refuted(encoded.claims)
    truths = encoded.items.with_columns(
        value=chosen,
        plausibility=plausibility[best],
        runner_up=facts["value"].gather(second),
        margin=np.maximum(margin, 0.0),
        values=n_values,
        claims=np.diff(encoded.claims.all.first_support_of_fact[first]),
        contested=has_second,
        tied=has_second & (np.round(margin, SAME) <= 0.0),
    ).with_columns(
        value=pl.when(~refuted).then("value"),
        tied=pl.col("tied") & ~refuted,
        runner_up=pl.when("contested").then("runner_up"),
    )
    return _abstain(truths, pl.col("plausibility"), min_plausibility)


def _multiple_truths(
    encoded: Encoded, facts: pl.DataFrame, min_plausibility: float | None
) -> pl.DataFrame:
    threshold = 0.5 if min_plausibility is None else min_plausibility
    columns = encoded.items.columns
    is_true = pl.col("plausibility") >= threshold
    n_true = is_true.sum().over(columns)
    is_best = pl.col("plausibility").arg_max().over(columns) == pl.int_range(pl.len()).over(columns)
    return (
        facts.with_columns(
            values=pl.len().over(columns).cast(pl.Int64),
            claims=pl.col("supporters").sum().over(columns),
            contested=pl.col("opposers") > 0,
        )
        .filter(is_true | ((n_true == 0) & is_best))
        .with_columns(value=pl.when(pl.col("plausibility") >= threshold).then("value"))
        .select(*columns, "value", "plausibility", "values", "claims", "contested")
    )


def _binary_truths(facts: pl.DataFrame, min_plausibility: float | None) -> pl.DataFrame:
    p = pl.col("plausibility")
    truths = facts.select(
        "fact",
        value=p > 0.5,
        plausibility=p,
        margin=(2.0 * p - 1.0).abs(),
        claims=pl.col("supporters") + pl.col("opposers"),
        contested=(pl.col("supporters") > 0) & (pl.col("opposers") > 0),
        tied=((2.0 * p - 1.0).abs().round(SAME) <= 0.0),
    )
    return _abstain(truths, pl.max_horizontal(p, 1.0 - p), min_plausibility)


def _abstain(
    truths: pl.DataFrame, sureness: pl.Expr, min_plausibility: float | None
) -> pl.DataFrame:
    """Leave the value empty where it is not sure enough."""
    if min_plausibility is None:
        return truths
    return truths.with_columns(value=pl.when(sureness >= min_plausibility).then("value"))


def _sources_table(encoded: Encoded, counts: FloatArray, rates: Rates) -> pl.DataFrame:
    supports_of_true, supports, true, facts = counts.T
    if encoded.claims.kind == "binary":
        right, made = 2.0 * supports_of_true + facts - supports - true, facts
    else:
        right, made = supports_of_true, supports
    items = np.bincount(encoded.claims.all.source_of_voice, minlength=encoded.claims.n_sources)
    return pl.DataFrame(
        {
            "source": encoded.sources,
            "tpr": rates.tpr,
            "fpr": rates.fpr,
            "accuracy": np.where(
                made > 0, np.clip(right / np.maximum(made, 1.0), 0.0, 1.0), np.nan
            ),
            "claims": made.astype(np.int64),
            "items": items,
        }
    ).with_columns(pl.col("tpr", "fpr", "accuracy").fill_nan(None))


def _with_intervals(sources: pl.DataFrame, claims: Claims, found: Fit) -> pl.DataFrame:
    assert found.plausibility is not None  # for `_findings`
    assert found.rates is not None
    accuracy = sources["accuracy"].fill_null(np.nan).to_numpy()
    ranges = ranges_of(claims, found.plausibility, found.rates, accuracy, found.is_fixed)
    ends = {
        f"{name}_{end}": number
        for name, interval in ranges._asdict().items()
        for end, number in interval._asdict().items()
    }
    return sources.with_columns(**ends)


def _copies_table(encoded: Encoded, copies: Copies) -> pl.DataFrame:
    names = {
        "source": encoded.sources.gather(copies.source),
        "original": encoded.sources.gather(copies.original),
    }
    return pl.DataFrame({**copies._asdict(), **names})


def _refuted(claims: Claims) -> pl.Series:
    """Which items have no true value among those claimed, because another is known to be true."""
    return pl.Series(
        np.maximum.reduceat(claims.all.known_of_fact, claims.all.first_fact_of_item[:-1]) == 0
    )


# --- numbers --------------------------------------------------------------------------------------


def _number_tables(
    encoded: Encoded, estimate: tuple[FloatArray, FloatArray], trust: FloatArray | None
) -> Tables:
    value, uncertainty = estimate
    block, n_sources = encoded.claims.all, encoded.claims.n_sources
    first, item_of_fact = block.first_fact_of_item, block.item_of_fact
    numbers = numbers_of(block)
    truths = encoded.items.with_columns(
        value=value,
        uncertainty=uncertainty,
        values=np.diff(first),
        claims=np.diff(block.first_support_of_fact[first]),
        contested=np.diff(first) > 1,
    ).with_columns(pl.col("uncertainty").fill_nan(None))
    facts = encoded.items[item_of_fact].with_columns(
        value=block.number_of_fact,
        supporters=np.diff(block.first_support_of_fact),
        distance=block.number_of_fact - value[item_of_fact],
    )
    n_claims = np.bincount(numbers.source, minlength=n_sources)
    square = np.bincount(numbers.source, numbers.distance(value) ** 2, n_sources)
    sources = pl.DataFrame(
        {
            "source": encoded.sources,
            "deviation": np.sqrt(square / np.maximum(n_claims, 1)),
            "claims": n_claims,
            "items": np.bincount(block.source_of_voice, minlength=n_sources),
        }
    )
    return Tables(truths, facts, sources if trust is None else sources.with_columns(trust=trust))
