"""How finely a value is told: 8M and 7,528,396, 12:30 and 12:30:15, 2012-03 and 2012-03-05."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.naming import as_text

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

NUMBER = r"^([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?(%|[KkMmBb])?$"
LEADING_ZEROS = r"^[+-]?0\d"  # 007 is a code

TIMES = r"^(\d{1,2}):(\d{2})(?::(\d{2}))?$"
DAYS = r"^(\d{4}-\d{2})(?:-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2}))?)?)?$"  # 2012 is a number

SECONDS_A_DAY = 86_400.0
ALMOST = 1e-9
"""Rounding of binary fractions that is no difference."""


class Grains(NamedTuple):
    """What each value says, and from where to where it would say the same; NaN where it is text.

    `kind` tells numbers, times and days apart, which cover nothing of each other.
    """

    kind: IntArray
    position: FloatArray
    low: FloatArray
    high: FloatArray


def grains(values: pl.Series) -> Grains:
    """How finely values are told, by how they are written.

    A number is rounded at its last digit: 8M stands for 7.5 to 8.5 million, 3.1 for 3.05 to 3.15.
    Zeros before the point are digits like others. Times and dates are cut off: 12:30 lasts until
    12:31, 2012-03 until April. Other values are not told more or less finely.

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
    """Whether the values at `coarse` are those at `fine`, told less finely.

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
    written = pl.when(~text.str.contains(LEADING_ZEROS)).then(text).str.extract(NUMBER, 1)
    written = written.str.replace_all(",", "")
    unit = text.str.extract(NUMBER, 2).str.to_lowercase()
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
