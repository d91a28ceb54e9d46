"""Recognise the type of the values of an attribute: times, dates, numbers, or text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from veracity.reading.normalise.dates import read_dates
from veracity.reading.normalise.quantities import (
    DIGITS,
    WITH_ZEROS,
    can_convert,
    convert,
    has_check_digit,
    read_numbers,
)
from veracity.reading.normalise.spelling import plain, tidy

ValueKind = Literal["time", "date", "datetime", "number", "identifier", "text", "unchanged"]
"""Type of the values of an attribute; "unchanged" values are not normalised."""

VALUE_KINDS: tuple[ValueKind, ...] = get_args(ValueKind)

MOST = 0.8
"""The share of claims that must be numbers, or dates and times, to take all for such."""

CONSIDERABLE = 0.2
"""The share of these without a date (a time) from which on only times (dates) are compared."""

SOME = 0.01
"""The share of claims with leading zeros from which on digits are identifiers."""

SURELY = 0.95
"""The share of numbers of eight digits that must be dates, such as 20111201, to be read so."""

COMPACT = r"^(?:19|20)[0-9]{6}$"
"""A date without signs in it, of a year from 1900 to 2099."""

HALF_A_YEAR = 183


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Format of the values of one attribute.

    Attributes
    ----------
    kind
        Their type.
    day_first
        True if 01/02/2011 is in February.
    near
        A date without a year is the one nearest to this day; if None, it is too imprecise.
    has_year
        True if any date has a year.
    universal
        True if times are converted to universal time: all have offsets, and these differ.
    decimal_sign
        The decimal sign: "." if 1,234 is more than a thousand, "," if 1.234 is.
    unit, mixes_units
        The most frequent unit, and True if there are others.
    shows_unit
        True if a single unit stays with the values, because only one of several sources names it.
    width
        The number of digits of identifiers with leading zeros, to which shorter ones are padded.
    """

    kind: ValueKind
    day_first: bool = False
    near: date | None = None
    has_year: bool = True
    universal: bool = False
    decimal_sign: str = "."
    unit: str | None = None
    mixes_units: bool = False
    shows_unit: bool = False
    width: int | None = None


READING_SCHEMA: dict[str, Any] = {
    "kind": pl.String,
    "day_first": pl.Boolean,
    "near": pl.Date,
    "has_year": pl.Boolean,
    "universal": pl.Boolean,
    "decimal_sign": pl.String,
    "unit": pl.String,
    "mixes_units": pl.Boolean,
    "shows_unit": pl.Boolean,
    "width": pl.Int64,
}


def read_values(values: pl.Series) -> pl.DataFrame:
    """Return values, tidy and plain, and their readings as numbers and as dates."""
    tidied = tidy(values)
    texts = plain(tidied)
    numbers = read_numbers(texts).rename({"unit": "own_unit"})
    has_check = has_check_digit(texts)
    words = pl.DataFrame(
        {"before": values, "tidied": tidied, "plain": texts, "has_check": has_check}
    )
    return pl.concat([words, numbers, read_dates(texts)], how="horizontal")


def detect_readings(
    values: pl.DataFrame, formats: pl.DataFrame, kinds: Mapping[str, ValueKind]
) -> dict[str, Reading]:
    """Detect how to read each attribute, from its values and the counts of formats.

    The kinds of some attributes may be set.
    """
    told = values.group_by("attribute").agg(
        n=pl.col("claims").sum(),
        zones=pl.col("ahead").drop_nulls().n_unique(),
        **{name: _claims(is_so) for name, is_so in _signs().items()},
    )
    near, widths = _near(values), _widths(values)
    units = _units(values)
    shown = formats.group_by("attribute").agg(
        with_comma=pl.col("comma").sum(),
        with_point=pl.col("point").sum(),
        day_first=pl.col("day").sum(),
        month_first=pl.col("month").sum(),
        sources=pl.col("source").n_unique(),
        with_unit=pl.col("source").filter(pl.col("unit").is_not_null()).n_unique(),
    )
    told = told.join(shown, on="attribute", how="left").with_columns(
        pl.col(shown.columns[1:]).fill_null(0)
    )
    mostly = "," if told["with_comma"].sum() > told["with_point"].sum() else "."
    told = told.with_columns(decimal_sign=_decimal_sign(mostly))
    return {
        of["attribute"]: _reading(of, kinds, near.get(of["attribute"]), units, widths)
        for of in told.sort("attribute").iter_rows(named=True)
    }


def _decimal_sign(mostly: str) -> pl.Expr:
    """Return the decimal sign in the values of an attribute; if they show none, the usual one."""
    comma, point = pl.col("with_comma"), pl.col("with_point")
    shown = pl.when(comma > point).then(pl.lit(",")).otherwise(pl.lit("."))
    return pl.when(comma + point > 0).then(shown).otherwise(pl.lit(mostly))


def _claims(is_so: pl.Expr) -> pl.Expr:
    return pl.col("claims").filter(is_so).sum()


def _signs() -> dict[str, pl.Expr]:
    """Return the signs that are counted, by claims."""
    is_number = pl.col("point").is_not_null()
    eight = is_number & pl.col("plain").str.contains(r"^[0-9]{8}$")
    is_code = pl.col("plain").str.contains(DIGITS) & pl.col("day").is_null()
    has_clock, has_day = pl.col("clock").is_not_null(), pl.col("day").is_not_null()
    is_bare = ~pl.col("words").str.contains(r"[\p{L}\p{N}]")
    return {
        "number": is_number,
        "eight": eight,
        "compact": eight & pl.col("day").is_not_null() & pl.col("plain").str.contains(COMPACT),
        "digits": is_code,
        "checked": is_code & pl.col("has_check"),
        "zeros": is_code & pl.col("plain").str.contains(WITH_ZEROS),
        "clock_only": has_clock & ~has_day & ~pl.col("has_unclear_day"),
        "day_only": ~is_number & ~has_clock & has_day & is_bare,
        "both": has_clock & (has_day | pl.col("has_unclear_day")),
        "at_midnight": has_clock & has_day & (pl.col("clock") == "00:00"),
        "ahead": has_clock & pl.col("ahead").is_not_null(),
        "year": has_day & pl.col("year").is_not_null(),
    }


def _reading(
    told: dict[str, Any],
    kinds: Mapping[str, ValueKind],
    near: date | None,
    units: dict[str, list[str]],
    widths: dict[str, int],
) -> Reading:
    name = told["attribute"]
    kind = kinds.get(name) or _kind(told)
    if kind == "number":
        named = units.get(name, [])
        return Reading(
            kind=kind,
            decimal_sign=told["decimal_sign"],
            unit=named[0] if named else None,
            mixes_units=len(named) > 1,
            # a number of pieces is as plain without the word
            shows_unit=len(named) == 1
            and named != ["pcs"]
            and told["with_unit"] == 1 < told["sources"],
        )
    if kind == "identifier":
        return Reading(kind=kind, width=widths.get(name))
    if kind not in ("date", "datetime"):
        return Reading(kind=kind)
    return Reading(
        kind=kind,
        day_first=told["day_first"] > told["month_first"],
        near=near,
        has_year=told["year"] > 0,
        universal=told["zones"] > 1 and told["ahead"] == told["clock_only"] + told["both"],
    )


def _kind(told: dict[str, Any]) -> ValueKind:
    # of eight digits one in 1,200 is a date by chance, so that nearly all are is none
    compact = told["compact"] if told["compact"] >= SURELY * told["eight"] else 0
    dates = told["clock_only"] + told["day_only"] + compact + told["both"]
    n_codes = MOST * max(told["n"], 2)  # one may be valid by chance
    if told["digits"] >= MOST * told["n"] and (
        told["checked"] >= n_codes or told["zeros"] > SOME * told["n"]
    ):
        return "identifier"
    numbers = told["number"] - compact
    if numbers >= MOST * told["n"] and numbers:
        return "number"
    if dates < MOST * told["n"] or not dates:
        return "text"
    if told["clock_only"] >= max(CONSIDERABLE * dates, told["day_only"] + compact):
        return "time"
    if told["day_only"] + compact >= CONSIDERABLE * dates or told["both"] == told["at_midnight"]:
        return "date"
    return "datetime"


def _widths(values: pl.DataFrame) -> dict[str, int]:
    """Return the usual length of digits with leading zeros, by attribute."""
    zeros = values.filter(pl.col("plain").str.contains(WITH_ZEROS))
    lengths = zeros.group_by("attribute", width=pl.col("plain").str.len_chars().cast(pl.Int64))
    usual = lengths.agg(pl.col("claims").sum()).sort("attribute", "claims", "width")
    return dict(usual.select("attribute", "width").iter_rows())  # the last one counts


def _near(values: pl.DataFrame) -> dict[str, date]:
    """Return the middle of each attribute's dates, if nearly all are within half a year of it."""
    days = values.filter(pl.col("day").is_not_null() & pl.col("year").is_not_null())
    if days.is_empty():
        return {}
    days = days.select("attribute", "claims", on=_as_date()).drop_nulls()
    so_far = pl.col("claims").cum_sum().over("attribute")
    middle = days.sort("attribute", "on").filter(
        so_far * 2 >= pl.col("claims").sum().over("attribute")
    )
    near = middle.group_by("attribute").agg(near=pl.col("on").min())
    is_close = (pl.col("on") - pl.col("near")).dt.total_days().abs() <= HALF_A_YEAR
    close = (
        days.join(near, on="attribute")
        .group_by("attribute", "near")
        .agg(share=_claims(is_close) / pl.col("claims").sum())
    )
    return dict(close.filter(pl.col("share") >= 0.9).select("attribute", "near").iter_rows())


def in_unit_of_bare(readings: Mapping[str, Reading], values: pl.DataFrame) -> dict[str, Reading]:
    """Return the readings of numeric claims, in the unit of the numbers without one.

    Of the units of the same dimension as the most frequent one, it is the unit in which the other
    numbers are as large as these: the claims show whether 0.5 among grams is in kilograms.
    """
    found = dict(readings)
    for name, reading in readings.items():
        if reading.unit is None or not reading.mixes_units:
            continue
        amount = "comma" if reading.decimal_sign == "," else "point"
        is_number = (pl.col("attribute") == name) & pl.col(amount).is_not_null()
        numbers = values.filter(is_number).select("claims", "own_unit", amount=amount)
        bare = numbers.filter(pl.col("own_unit").is_null())
        if len(bare):
            unit = _nearest_unit(bare, numbers.drop_nulls("own_unit"), reading.unit)
            found[name] = replace(reading, unit=unit)
    return found


def _nearest_unit(bare: pl.DataFrame, others: pl.DataFrame, usual: str) -> str:
    """Return the unit in which the other numbers are about as large as those without one."""
    named = others.group_by("own_unit").agg(pl.col("claims").sum())
    named = named.sort("claims", "own_unit", descending=[True, False])
    units: list[str] = [unit for unit in named["own_unit"] if can_convert(unit, usual)]
    others = others.filter(pl.col("own_unit").is_in(units))
    size = _usual_size(bare["amount"], bare["claims"])

    def distance(unit: str) -> float:
        pairs = others.select("amount", "own_unit").iter_rows()
        converted = [convert(amount, own, unit) for amount, own in pairs]
        return abs(_usual_size(pl.Series(converted, dtype=pl.String), others["claims"]) - size)

    return min(units, key=distance)


def _usual_size(amounts: pl.Series, claims: pl.Series) -> float:
    """Return the median of the logs of amounts, weighted by their numbers of claims."""
    size = np.log(np.maximum(np.abs(amounts.cast(pl.Float64).to_numpy()), np.finfo(float).tiny))
    order = np.argsort(size)
    so_far = np.cumsum(claims.to_numpy()[order], dtype=np.float64)
    return float(size[order][np.searchsorted(so_far, so_far[-1] / 2.0)])


def _as_date() -> pl.Expr:
    parts = (pl.col(part).cast(pl.String).str.zfill(2) for part in ("year", "month", "day"))
    return pl.concat_str(parts, separator="-").str.to_date("%Y-%m-%d", strict=False)


def _units(values: pl.DataFrame) -> dict[str, list[str]]:
    """Return the units named in each attribute, the most usual first."""
    named = (
        values.drop_nulls("own_unit")
        .group_by("attribute", unit="own_unit")
        .agg(pl.col("claims").sum())
    )
    named = named.sort("attribute", "claims", "unit", descending=[False, True, False])
    units: dict[str, list[str]] = {}
    for attribute, unit in named.select("attribute", "unit").iter_rows():
        units.setdefault(attribute, []).append(unit)
    return units
