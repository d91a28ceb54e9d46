"""How similar two values are: 30 and 31, 12:30 and 12:35, Springfield and Sprngfield."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.errors import ParameterError
from veracity.naming import as_text

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]

Similarity = Callable[[Any, Any], float]
"""The similarity of two values, from 0 to 1, the same whichever comes first."""

MOST_VALUES = 50
"""Values of an item with more than these are not compared: pairs grow with their square."""

NUMBER = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?$"  # not 007: codes are text
CLOCKS = ("%H:%M", "%H:%M:%S")
DATETIMES = ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")

MINUTES_A_DAY = 24 * 60


class SimilarPairs(NamedTuple):
    """Pairs of facts of one item, each pair once, and how similar their values are."""

    fact: IntArray
    other: IntArray
    similarity: FloatArray


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """Similarity by the kind of the two values.

    Two numbers a, b: 1 - |a - b| / max(|a|, |b|), and 0 where their signs differ. Two clock times,
    two dates, or two dates with clock times: it halves with every so many minutes or
    days between them; midnight is next to 23:59. All else, as text: 1 - edits / letters of the
    longer.

    Parameters
    ----------
    minutes, days
        How far apart two clock times, with dates or without, or two dates, are half similar.

    >>> Likeness()("30", "31")
    0.967741935483871
    >>> Likeness()("23:45", "00:15")
    0.5
    """

    minutes: float = 30.0
    days: float = 7.0

    def __post_init__(self) -> None:
        for name, value in (("minutes", self.minutes), ("days", self.days)):
            if not 0.0 < value < float("inf"):
                raise ParameterError(f"Likeness: {name} must be above 0, got {value}")

    def __call__(self, one: Any, other: Any) -> float:
        """The similarity of two values."""
        values = pl.Series([one, other], strict=False)
        return float(self.of_pairs(values, np.array([0]), np.array([1]))[0])

    def of_pairs(self, values: pl.Series, one: IntArray, other: IntArray) -> FloatArray:
        """The similarity of the values at `one` to those at `other`."""
        similarity = np.full(len(one), np.nan)
        for kind, position in _positions(values).items():
            a, b = position[one], position[other]  # NaN where a value is not of this kind
            similarity = np.where(np.isnan(similarity), self._by_distance(kind, a, b), similarity)
        is_text = np.isnan(similarity)
        if is_text.any():
            text = as_text(values)
            similarity[is_text] = _of_texts(text.gather(one[is_text]), text.gather(other[is_text]))
        return similarity

    def _by_distance(self, kind: str, a: FloatArray, b: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            apart = np.abs(a - b)
        if kind == "number":
            largest = np.maximum(np.abs(a), np.abs(b))
            return np.maximum(1.0 - apart / np.where(largest == 0.0, 1.0, largest), 0.0)
        if kind == "clock":
            apart = np.minimum(apart, MINUTES_A_DAY - apart)
        return np.asarray(np.exp2(-apart / (self.days if kind == "date" else self.minutes)))


BY_KIND = Likeness()
"""Similarity by the kind of values, with the usual distances."""


def similar_pairs(
    values: pl.Series,
    first_fact_of_item: IntArray,
    similarity: Similarity,
    most_values: int = MOST_VALUES,
) -> SimilarPairs:
    """All pairs of values of one item, with their similarity.

    An item with more than `most_values` values gives no pairs, so there are never more than
    (most_values - 1) / 2 of them for each fact.

    >>> pairs = similar_pairs(pl.Series(["1", "2", "x", "y"]), np.array([0, 2, 4]), Likeness())
    >>> [array.tolist() for array in pairs]
    [[0, 2], [1, 3], [0.5, 0.0]]
    """
    fact, other = pairs_within(first_fact_of_item, most_values)
    if isinstance(similarity, Likeness):
        return SimilarPairs(fact, other, similarity.of_pairs(values, fact, other))
    return SimilarPairs(fact, other, _one_by_one(values.to_list(), fact, other, similarity))


def pairs_within(first_fact_of_item: IntArray, most_values: int) -> tuple[IntArray, IntArray]:
    """Each pair of facts of each item that is not too large, once, by the size of the item."""
    n_facts_of_item = np.diff(first_fact_of_item)
    facts, others = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for size in np.unique(n_facts_of_item):
        if 1 < size <= most_values:
            first = first_fact_of_item[:-1][n_facts_of_item == size]
            one, other = np.triu_indices(size, k=1)
            facts.append(np.add.outer(first, one).ravel())
            others.append(np.add.outer(first, other).ravel())
    return np.concatenate(facts), np.concatenate(others)


def as_numbers(values: pl.Series) -> FloatArray:
    """Each value as a number, NaN where it is none, or one too large to be told.

    >>> as_numbers(pl.Series(["30", "-1.5", "007", "n/a"]))
    array([30. , -1.5,  nan,  nan])
    """
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        text = as_text(values)
        values = text.set(~text.str.contains(NUMBER).fill_null(False), None)
    number = values.cast(pl.Float64)
    return number.set(~number.is_finite(), None).fill_null(np.nan).to_numpy()


def _positions(values: pl.Series) -> dict[str, FloatArray]:
    """Where each value lies as a number, in minutes of the day, in minutes, in days; else NaN."""
    number = as_numbers(values)
    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        return {"number": number}
    if values.dtype == pl.Duration:
        minutes = values.dt.total_microseconds(fractional=True) / 60e6
        return {"datetime": minutes.fill_null(np.nan).to_numpy()}
    values, text = as_text(values), pl.col("value")
    clock = pl.coalesce(text.str.to_time(form, strict=False) for form in CLOCKS)
    with_date = pl.coalesce(
        text.str.to_datetime(form, strict=False, time_unit="ms") for form in DATETIMES
    )
    positions = values.to_frame("value").select(
        clock=clock.cast(pl.Int64) / 60e9,
        datetime=with_date.cast(pl.Int64) / 60e3,
        date=text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Float64),
    )
    others = {name: positions[name].fill_null(np.nan).to_numpy() for name in positions.columns}
    return {"number": number, **others}


def _of_texts(ones: pl.Series, others: pl.Series) -> FloatArray:
    """1 - edits / letters of the longer text (Levenshtein)."""
    try:
        from rapidfuzz import distance, process  # noqa: PLC0415 - loaded where text is compared
    except ImportError as error:
        raise ParameterError(
            "similarity of text needs rapidfuzz: pip install rapidfuzz, or use similarity=None"
        ) from error
    scorer = distance.Levenshtein.normalized_similarity
    return np.asarray(
        process.cpdist(ones.to_list(), others.to_list(), scorer=scorer, dtype=np.float64)
    )


def _one_by_one(
    values: list[Any], fact: IntArray, other: IntArray, similarity: Similarity
) -> FloatArray:
    """The user's own similarity, asked of one pair after the other."""
    pairs = [(values[a], values[b]) for a, b in zip(fact, other, strict=True)]
    found = np.array([similarity(*pair) for pair in pairs], dtype=np.float64)
    bad = np.flatnonzero(~((found >= 0.0) & (found <= 1.0)))
    if len(bad):
        told = f"got {found[bad[0]]} for {pairs[bad[0]]}"
        raise ParameterError(f"similarity: must be from 0 to 1, {told}")
    return found
