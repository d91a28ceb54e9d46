"""Describe the effect of features of sources and items, as a table and in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.base import Algorithm, Description
from veracity.algorithms.regression import Fit
from veracity.algorithms.rules import sigmoid
from veracity.algorithms.source_features import FeaturePart
from veracity.encoding.block import FloatArray
from veracity.fit.judging import SourceSums
from veracity.result.intervals import NORMAL_END

FEATURE_NUMBERS = ("weight", "weight_low", "weight_high")

SAYS = {
    "accuracy": "right",
    "honesty": "honest",
    "tpr": "names what is true",
    "fpr": "names what is false",
}
"""Words for what a source with a high rate is or does."""


def features_table(
    algorithm: Algorithm[Any],
    description: Description,
    met: SourceSums,
    n_learned: float,
) -> pl.DataFrame | None:
    """Return one row per rate and feature (or level of a feature); None if there are no features.

    `met` says how sure the facts are. `n_learned` is the number of claims from which the weights
    were learned: those at hand, and perhaps earlier ones.
    """
    rows: list[tuple[Any, ...]] = []
    times = n_learned / max(float(met.counts[:, 1].sum()), 1.0)
    known = {
        "source": (algorithm.source_features, description.source_effects),
        "item": (algorithm.item_features, description.item_effects),
    }
    for of, (features, worth) in known.items():
        if features is not None:
            for rate, learned in worth.items():
                unsure, total = _unsure(of, rate, learned, met)
                fit = learned.less_sure(times * unsure, times * total)
                against_mean = _against_mean(fit, features.parts, features.mean_row)
                rows += [(of, *row) for row in _rows(features.parts, rate, against_mean)]
    if all(features is None for features, _ in known.values()):
        return None
    schema = {
        "of": pl.String,
        "feature": pl.String,
        "level": pl.String,
        "rate": pl.String,
        **dict.fromkeys(FEATURE_NUMBERS, pl.Float64),
        "words": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _unsure(of: str, rate: str, fit: Fit, met: SourceSums) -> tuple[FloatArray, FloatArray]:
    """Return the variance of how often each row of features was right, and its number of claims.

    If a fact is true, a source that names it adds ``1 - tpr`` to what its tpr is learned from, and
    one that does not takes ``tpr`` away: the variances are the squares of these times p(1 - p).
    """
    if of == "item":
        return met.of_kind[:, 0], met.of_kind[:, 1] / max(len(met.claims), 1)
    if rate not in ("tpr", "fpr"):
        return met.unsure_supports, met.supports
    assert fit.rows is not None
    expected = sigmoid(fit.rows @ fit.weight)
    denied = met.unsure - met.unsure_supports
    unsure = (1.0 - expected) ** 2 * met.unsure_supports + expected**2 * denied
    return unsure, met.true if rate == "tpr" else met.facts - met.true


def _against_mean(fit: Fit, parts: list[FeaturePart], mean_row: FloatArray) -> Fit:
    """Return the weights of levels less the mean of their feature.

    Without this, each level's weight would be as unsure as the intercept.
    """
    change = np.eye(len(fit.weight))
    numbers = {part.feature for part in parts if part.level is None}
    for feature in {part.feature for part in parts} - numbers:
        own = [place for place, part in enumerate(parts, 1) if part.feature == feature]
        share = mean_row[own] / max(mean_row[own].sum(), 1e-9)
        change[np.ix_(own, own)] -= share
        change[0, own] += share
    return Fit(change @ fit.weight, change @ fit.covariance @ change.T)


def _rows(parts: list[FeaturePart], rate: str, fit: Fit) -> Iterator[tuple[Any, ...]]:
    errors = np.sqrt(np.maximum(np.diagonal(fit.covariance), 0.0))
    for part, weight, error in zip(parts, fit.weight[1:], errors[1:], strict=True):
        low, high = weight - NORMAL_END * error, weight + NORMAL_END * error
        more = float(sigmoid(fit.weight[0] + weight) - sigmoid(fit.weight[0]))
        words = _words(part, rate, more) if low > 0.0 or high < 0.0 else "no difference shown"
        yield part.feature, part.level, rate, float(weight), float(low), float(high), words


def _words(part: FeaturePart, rate: str, more: float) -> str:
    """Say how much a feature changes the rate of a source whose other features are average."""
    points = f"{abs(100.0 * more):.1f} points {'more' if more > 0.0 else 'less'} often"
    per = f"each {part.scale:.3g} more: "
    return f"{per if part.level is None else ''}{SAYS[rate]} {points}"
