"""Compare values: how similar they are, and if one is another, written less precisely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encoding.block import Block
from veracity.errors import ParameterError
from veracity.naming import as_text

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

Similarity = Callable[[Any, Any], float]
"""Similarity of two values, from 0 to 1, independent of their order."""

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
        """Return the similarity of two values."""
        values = pl.Series([one, other], strict=False)
        return float(self.of_pairs(values, np.array([0]), np.array([1]))[0])

    def of_pairs(self, values: pl.Series, one: IntArray, other: IntArray) -> FloatArray:
        """Return the similarity of the values at `one` to those at `other`."""
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
    """Return all pairs of values of one item, with their similarity.

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


def with_partials(pairs: SimilarPairs, block: Block) -> SimilarPairs:
    """Set the similarity of two values of which one says less to 1: what it says, it says alike."""
    if not block.has_partials:
        return pairs
    less, whole = block.fact_of_partial, block.whole_of_partial
    key = np.minimum(less, whole) * block.n_facts + np.maximum(less, whole)
    own = np.minimum(pairs.fact, pairs.other) * block.n_facts + np.maximum(pairs.fact, pairs.other)
    return pairs._replace(similarity=np.where(np.isin(own, key), 1.0, pairs.similarity))


def pairs_within(first_fact_of_item: IntArray, most_values: int) -> tuple[IntArray, IntArray]:
    """Return each pair of facts of items that are not too large, by the size of the item."""
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
    """Return each value as a number; NaN if it is not a number, or too large.

    >>> as_numbers(pl.Series(["30", "-1.5", "007", "n/a"]))
    array([30. , -1.5,  nan,  nan])
    """
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        text = as_text(values)
        values = text.set(~text.str.contains(NUMBER).fill_null(False), None)
    number = values.cast(pl.Float64)
    return number.set(~number.is_finite(), None).fill_null(np.nan).to_numpy()


def _positions(values: pl.Series) -> dict[str, FloatArray]:
    """Return each value as a number, in minutes of the day, in minutes, in days; else NaN."""
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


def amounts(values: pl.Series) -> FloatArray:
    """Return numbers as they are, and times and dates in minutes; NaN for other text.

    >>> amounts(pl.Series(["2.5", "07:05", "1970-01-02", "1970-01-02 00:01", "x"])).tolist()
    [2.5, 425.0, 1440.0, 1441.0, nan]
    """
    found = _positions(values)
    amount = found.pop("number")
    for kind, position in found.items():
        own = position * MINUTES_A_DAY if kind == "date" else position
        amount = np.where(np.isnan(amount), own, amount)
    return amount


def _of_texts(ones: pl.Series, others: pl.Series) -> FloatArray:
    """Return 1 - edits / letters of the longer text (Levenshtein)."""
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
    """Call the user's similarity function for each pair."""
    pairs = [(values[a], values[b]) for a, b in zip(fact, other, strict=True)]
    found = np.array([similarity(*pair) for pair in pairs], dtype=np.float64)
    bad = np.flatnonzero(~((found >= 0.0) & (found <= 1.0)))
    if len(bad):
        told = f"got {found[bad[0]]} for {pairs[bad[0]]}"
        raise ParameterError(f"similarity: must be from 0 to 1, {told}")
    return found


# --- precision ------------------------------------------------------------------------------------

ROUNDED = r"^([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?(%|[KkMmBb])?$"
LEADING_ZEROS = r"^[+-]?0\d"  # 007 is a code

TIMES = r"^(\d{1,2}):(\d{2})(?::(\d{2}))?$"
DAYS = r"^(\d{4}-\d{2})(?:-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2}))?)?)?$"  # 2012 is a number

SECONDS_A_DAY = 86_400.0
ALMOST = 1e-9
"""Rounding of binary fractions that is no difference."""


class Grains(NamedTuple):
    """Kind and position of each value, and its interval; NaN for text.

    `kind` tells numbers, times and days apart, which cover nothing of each other.
    """

    kind: IntArray
    position: FloatArray
    low: FloatArray
    high: FloatArray

    def part(self, begin: int, end: int) -> Grains:
        """Return those of neighbouring values."""
        kind, position, low, high = self
        return Grains(kind[begin:end], position[begin:end], low[begin:end], high[begin:end])


def grains(values: pl.Series) -> Grains:
    """Return the interval of each value, by the digits it is written with.

    A number is rounded at its last digit: 8M stands for 7.5 to 8.5 million, 3.1 for 3.05 to 3.15.
    Zeros before the point are digits like others. Times and dates are cut off: 12:30 lasts until
    12:31, 2012-03 until April. Other values have no precision.

    >>> told = grains(pl.Series(["8M", "7,528,396", "12:30", "noon"]))
    >>> told.low.tolist(), told.high.tolist()
    ([7500000.0, 7528395.5, 45000.0, nan], [8500000.0, 7528396.5, 45060.0, nan])
    """
    told = (
        as_text(values)
        .to_frame("text")
        .select(**_numbers(pl.col("text")), **_times(pl.col("text")), **_days(pl.col("text")))
    )
    kind = np.full(len(values), -1)
    position, low, high = (np.full(len(values), np.nan) for _ in range(3))
    for number, name in enumerate(("number", "time", "day")):
        own = [told[f"{name}_{what}"].cast(pl.Float64).fill_null(np.nan).to_numpy()
               for what in ("position", "low", "high")]  # fmt: skip
        is_such = ~np.isnan(own[0]) & (kind < 0)
        kind[is_such] = number
        for of, found in zip((position, low, high), own, strict=True):
            of[is_such] = found[is_such]
    return Grains(kind, position, low, high)


def covers(told: Grains, coarse: IntArray, fine: IntArray) -> BoolArray:
    """Return True if a value at `coarse` is the value at `fine`, written less precisely.

    >>> told = grains(pl.Series(["8M", "7,528,396", "9M", "7.5M"]))
    >>> covers(told, np.array([0, 2, 3, 1]), np.array([1, 1, 1, 0])).tolist()
    [True, False, True, False]
    """
    slack = ALMOST * np.maximum(np.abs(told.low[coarse]), np.abs(told.high[coarse]))
    is_within = (told.low[coarse] - slack <= told.position[fine]) & np.where(
        told.kind[coarse] == 0,
        told.position[fine] <= told.high[coarse] + slack,
        told.position[fine] < told.high[coarse],
    )
    length = told.high - told.low
    is_coarser = length[coarse] > length[fine] * (1.0 + ALMOST)
    return np.asarray(is_within & is_coarser & (told.kind[coarse] == told.kind[fine]))


def _numbers(text: pl.Expr) -> dict[str, pl.Expr]:
    written = pl.when(~text.str.contains(LEADING_ZEROS)).then(text).str.extract(ROUNDED, 1)
    written = written.str.replace_all(",", "")
    unit = text.str.extract(ROUNDED, 2).str.to_lowercase()
    scale = unit.replace_strict({"%": 0.01, "k": 1e3, "m": 1e6, "b": 1e9}, default=1.0)
    n_decimals = written.str.extract(r"\.(\d+)$", 1).str.len_chars().fill_null(0)
    half = 0.5 * scale * (pl.lit(10.0) ** -n_decimals.cast(pl.Float64))
    number = written.cast(pl.Float64, strict=False) * scale
    number = pl.when(number.is_finite()).then(number)  # others are text
    return _named("number", number, number - half, number + half)


def _times(text: pl.Expr) -> dict[str, pl.Expr]:
    hour, minute, second = (text.str.extract(TIMES, i).cast(pl.Float64) for i in (1, 2, 3))
    start = 3600.0 * hour + 60.0 * minute + second.fill_null(0.0)
    return _named("time", start, start, start + pl.when(second.is_null()).then(60.0).otherwise(1.0))


def _days(text: pl.Expr) -> dict[str, pl.Expr]:
    month, day, hour, minute, second = (text.str.extract(DAYS, i) for i in range(1, 6))
    first = pl.format("{}-{}", month, day.fill_null("01"))
    date = first.str.to_date("%Y-%m-%d", strict=False)  # no 31st of February
    end = date.dt.offset_by(pl.when(day.is_null()).then(pl.lit("1mo")).otherwise(pl.lit("1d")))
    hour, minute, second = (part.cast(pl.Float64) for part in (hour, minute, second))
    seconds = date.cast(pl.Int64) * SECONDS_A_DAY
    clock = 3600.0 * hour.fill_null(0.0) + 60.0 * minute.fill_null(0.0) + second.fill_null(0.0)
    start = seconds + clock
    length = (
        pl.when(second.is_not_null())
        .then(1.0)
        .when(minute.is_not_null())
        .then(60.0)
        .otherwise((end.cast(pl.Int64) - date.cast(pl.Int64)) * SECONDS_A_DAY)
    )
    return _named("day", start, start, start + length)


def _named(name: str, *what: pl.Expr) -> dict[str, pl.Expr]:
    return {
        f"{name}_{part}": of for part, of in zip(("position", "low", "high"), what, strict=True)
    }
