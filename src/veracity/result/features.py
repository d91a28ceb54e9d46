"""What features of sources are worth, as a table and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.regression import Worth
from veracity.algorithms.rules import sigmoid
from veracity.algorithms.source_features import FeaturePart, SourceFeatures

__all__ = ["FEATURE_NUMBERS", "FEATURE_TEXTS", "features_table"]

FEATURE_TEXTS = ("feature", "level", "rate", "words")
FEATURE_NUMBERS = ("weight", "weight_low", "weight_high")

NINETY = 1.6448536269514722
"""Standard errors to either side between which nine of ten draws of a normal distribution fall."""

SAYS = {"accuracy": "right", "tpr": "names what is true", "fpr": "names what is false"}
"""What a source does more often if the rate is higher."""


def features_table(features: SourceFeatures, worth: Mapping[str, Worth]) -> pl.DataFrame:
    """One row per rate and per feature, or level of one."""
    rows = [row for rate, own in worth.items() for row in _rows(features.parts, rate, own)]
    schema = {
        "feature": pl.String,
        "level": pl.String,
        "rate": pl.String,
        **dict.fromkeys(FEATURE_NUMBERS, pl.Float64),
        "words": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rows(parts: list[FeaturePart], rate: str, worth: Worth) -> Iterator[tuple[Any, ...]]:
    for part, weight, error in zip(parts, worth.weight[1:], worth.error[1:], strict=True):
        low, high = weight - NINETY * error, weight + NINETY * error
        more = float(sigmoid(worth.weight[0] + weight) - sigmoid(worth.weight[0]))
        words = _words(part, rate, more) if low > 0.0 or high < 0.0 else "no difference shown"
        yield part.feature, part.level, rate, float(weight), float(low), float(high), words


def _words(part: FeaturePart, rate: str, more: float) -> str:
    """By how much more often a source of average features would do what the rate tells."""
    points = f"{abs(100.0 * more):.1f} points {'more' if more > 0.0 else 'less'} often"
    per = f"each {np.format_float_positional(part.scale, 3, fractional=False, trim='-')} more: "
    return f"{per if part.level is None else ''}{SAYS[rate]} {points}"
