"""Numbers as people write them: 1,234.50 USD, 1.234,5, 2 1/2, 93%, 5 km.

Nothing is rounded: numbers are exact decimals, so different ones never become equal.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl

PLAIN = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"
"""Pattern of plain numbers, except for `OPEN`. It excludes 007, as codes are no numbers."""

OPEN = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$"
"""Numbers that are decimal if the point is the decimal sign, and thousands if the comma is."""

BEFORE = r"(?:US)?[$€£¥] ?|[A-Z]{3} ?"
"""A currency before its amount: $5, € 5, US$ 5, CHF 5."""

QUANTITY = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>{BEFORE})?(?P<minus>-?)"
    r"(?P<digits>[.,]?[0-9](?:[0-9.,' /]*[0-9])?)"
    r"(?P<power>[eE][+-]?[0-9]{1,2})?(?P<after> ?[^0-9 ].*)?"
)
FRACTION = re.compile(r"(?:([0-9]+) )?([0-9]+)/([1-9][0-9]*)")

AMOUNT = {
    decimal_sign: (
        r"(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}"
        rf"(?:(?:{re.escape(group)}[0-9]{{3}})+|(?: [0-9]{{3}})+|(?:'[0-9]{{3}})+))?"
        rf"(?:{re.escape(decimal_sign)}[0-9]+)?"
    )
    for decimal_sign, group in ((".", ","), (",", "."))
}
"""Pattern of digits, or groups of three with a sign between them, and decimals, by decimal sign."""

LONGEST_UNIT = 16
"""Largest number of letters of a unit."""

SCHEMA = {"point": pl.String, "comma": pl.String, "sign": pl.String, "unit": pl.String}

UNITS: dict[str, dict[str, str]] = {
    "length": {
        "mm": "0.001", "cm": "0.01", "m": "1", "km": "1000", "in inch inches": "0.0254",
        "ft foot feet": "0.3048", "yd yard yards": "0.9144", "mi mile miles": "1609.344",
        "nmi": "1852",
    },
    "mass": {
        "mg": "0.001", "g gram grams": "1", "kg kilogram kilograms": "1000",
        "oz ounce ounces": "28.349523125", "lb lbs pound pounds": "453.59237",
    },
    "volume": {
        "ml": "0.001", "l liter liters litre litres": "1", "gal gallon gallons": "3.785411784",
    },
    "duration": {
        "ms": "0.001", "s sec secs second seconds": "1", "min mins minute minutes": "60",
        "h hr hrs hour hours": "3600", "d day days": "86400",
    },
    "speed": {"m/s": "1", "km/h kph kmh": "5/18", "mph": "0.44704", "kn kt kts knots": "463/900"},
    "pressure": {
        "Pa": "1", "hPa mb mbar millibar millibars": "100", "kPa": "1000", "bar": "100000",
        "mmHg": "133.322387415", "inHg": "3386.389",
    },
    "temperature": {"°C C celsius": "1", "°F F fahrenheit": "5/9"},
    "%": {"% percent pct": "1"},
    "number": {"pcs pc piece pieces Stk Stck Stück": "1"},
    "USD": {"USD $ US$": "1"}, "EUR": {"EUR €": "1"}, "GBP": {"GBP £": "1"}, "JPY": {"JPY ¥": "1"},
    **{code: {code: "1"} for code in ("AUD", "CAD", "CHF", "CNY", "INR")},
}  # fmt: skip
"""Dimensions, their units, and the size of each unit; the first unit is the usual name."""

ZERO_AT = {"°F": Fraction(-160, 9)}
"""Zero points of units, in the unit they are converted to."""


class Unit(NamedTuple):
    """A unit: its name, its dimension, and its size."""

    name: str
    measures: str
    size: Fraction


UNIT_OF_WORD = {
    word: Unit(words.split()[0], measures, Fraction(size))
    for measures, sizes in UNITS.items()
    for words, size in sizes.items()
    for word in words.split()
}
UNIT_OF_LONG_WORD = {word.lower(): unit for word, unit in UNIT_OF_WORD.items() if len(word) > 2}


def read_numbers(texts: pl.Series) -> pl.DataFrame:
    """Read plain texts as numbers: with a decimal point, with a decimal comma, and their unit.

    `sign` is the decimal sign where a text shows it. Texts that are no numbers are null.

    >>> texts = pl.Series(["10.00", "1,234", "12,5", "2 1/2", "1,234.50 USD", "007"])
    >>> read_numbers(texts).rows()[:3]
    [('10', '10', '.', None), ('1234', '1.234', None, None), ('12.5', '12.5', ',', None)]
    >>> read_numbers(texts).rows()[3:]
    [('2.5', '2.5', None, None), ('1234.5', '1234.5', '.', 'USD'), (None, None, None, None)]
    """
    shortest = texts.str.replace(r"(\.[0-9]*?)0+$", "$1").str.strip_suffix(".")
    shortest = shortest.replace("-0", "0")
    is_plain = texts.str.contains(PLAIN) & ~texts.str.contains(OPEN)
    rows = pl.DataFrame({"text": texts, "number": shortest, "is_plain": is_plain})
    told = pl.when(pl.col("text").str.contains(".", literal=True)).then(pl.lit("."))
    easy = pl.struct(point="number", comma="number", sign=told, unit=pl.lit(None, pl.String))
    is_likely = texts.str.contains(rf"^[+-]?(?:{BEFORE})?-?[.,]?[0-9][^:]*$")
    others = texts.filter(is_likely & ~is_plain).unique()
    hard = pl.DataFrame([_read(text) for text in others], schema=SCHEMA, orient="row")
    read = rows.join(
        pl.DataFrame({"text": others, "read": hard.to_struct()}),
        on="text",
        how="left",
        maintain_order="left",
    )
    both = read.select(read=pl.when("is_plain").then(easy).otherwise("read"))
    return both.unnest("read")


def _read(text: str) -> tuple[str | None, str | None, str | None, str | None]:
    """Read one text as `read_numbers` has it."""
    nothing = (None, None, None, None)
    match = QUANTITY.fullmatch(text)
    if match is None or (match["sign"] and match["minus"]):
        return nothing
    words = [word for word in (match["before"], match["after"]) if word]
    units = [_unit_named(word) for word in words]
    if len(units) > 1 or None in units:
        return nothing
    factor = Fraction(f"1{match['power'] or ''}") * (
        -1 if "-" in match["sign"] + match["minus"] else 1
    )
    amounts = _amounts(match["digits"])
    if not amounts:
        return nothing
    point, comma = (amounts.get(sign, next(iter(amounts.values()))) * factor for sign in ".,")
    told = next(iter(amounts)) if len(amounts) == 1 else None
    return as_text(point), as_text(comma), told, units[0].name if units and units[0] else None


def _amounts(digits: str) -> dict[str, Fraction]:
    """Return the amount for each possible decimal sign; both if the digits allow both."""
    fraction = FRACTION.fullmatch(digits)
    if fraction:
        whole, over, under = fraction.groups(default="0")
        return dict.fromkeys(".,", int(whole) + Fraction(int(over), int(under)))
    return {
        sign: Fraction(re.sub(rf"[^0-9{sign}]", "", digits).replace(",", "."))
        for sign, amount in AMOUNT.items()
        if re.fullmatch(amount, digits)
    }


def quantities_in(texts: pl.Series) -> pl.DataFrame:
    """Find the decimal sign and the unit that plain texts show, without reading the numbers.

    >>> quantities_in(pl.Series(["0,4 kg", "2,652", "12.5"])).rows()[:2]
    [('kg', True, False, False, False), (None, False, False, True, True)]
    """
    groups = texts.str.extract_groups(f"^{QUANTITY.pattern}$").struct.unnest()
    words = groups.select(word=pl.concat_str("before", "after", ignore_nulls=True)).to_series()
    different = words.unique()
    units = [
        _unit_named(word) if word and len(word) <= LONGEST_UNIT else None for word in different
    ]
    unit = words.replace_strict(
        different, [None if unit is None else unit.name for unit in units], return_dtype=pl.String
    )
    with_point, with_comma = (
        groups["digits"].str.contains(f"^{AMOUNT[sign]}$").fill_null(value=False) for sign in ".,"
    )
    is_number = (with_point | with_comma) & (unit.is_not_null() | (words.fill_null("") == ""))
    has_sign = groups["digits"].str.contains("[.,]")
    return pl.DataFrame(
        {
            "unit": pl.select(pl.when(is_number).then(unit)).to_series(),
            "comma": is_number & with_comma & ~with_point,
            "point": is_number & with_point & ~with_comma,
            "open_number": is_number & with_point & with_comma & has_sign,
            "bare": is_number & unit.is_null(),
        }
    )


def _unit_named(word: str) -> Unit | None:
    """Return the unit of a word; a single letter needs a space before it: 12c may be a house."""
    name = word.strip(" .")
    if len(name) == 1 and name.isalpha() and not word.startswith(" "):
        return None
    return UNIT_OF_WORD.get(name) or UNIT_OF_LONG_WORD.get(name.lower())


def can_convert(unit: str, other: str) -> bool:
    """Return True if both units measure the same quantity.

    >>> can_convert("km", "mi"), can_convert("USD", "EUR")
    (True, False)
    """
    return UNIT_OF_WORD[unit].measures == UNIT_OF_WORD[other].measures


def convert(number: str, unit: str, other: str) -> str:
    """Convert a number of one unit to another.

    >>> convert("3", "mi", "km"), convert("50", "°F", "°C")
    ('4.828032', '10')
    """
    if unit == other:
        return number
    size, other_size = UNIT_OF_WORD[unit].size, UNIT_OF_WORD[other].size
    amount = Fraction(number) * size + ZERO_AT.get(unit, 0)
    return as_text((amount - ZERO_AT.get(other, 0)) / other_size)


def as_text(amount: Fraction) -> str:
    """Write an amount as a decimal: exact where it ends, else with 15 digits.

    >>> as_text(Fraction("10.50")), as_text(Fraction(1, 3))
    ('10.5', '0.333333333333333')
    """
    power = 0
    under = amount.denominator
    for prime in (2, 5):
        times = 0
        while under % prime == 0:
            under, times = under // prime, times + 1
        power = max(power, times)
    if under > 1:
        return f"{float(amount):.15g}"
    digits = str(abs(amount.numerator) * 10**power // amount.denominator).zfill(power + 1)
    whole, decimals = digits[: len(digits) - power], digits[len(digits) - power :]
    return ("-" if amount < 0 else "") + whole + (f".{decimals}" if decimals else "")


# --- identifiers ---------------------------------------------------------------------------------


EAN = r"^(?:[0-9]{8}|[0-9]{11,14})$"
"""EAN-8, UPC, EAN-13 and GTIN; a spreadsheet takes leading zeros off, and the check still holds."""

ISBN = r"^[0-9]{8,9}[0-9X]$"

DIGITS = r"^[0-9]{1,20}X?$"

WITH_ZEROS = r"^0[0-9]{5,19}$"


def has_check_digit(texts: pl.Series) -> pl.Series:
    """Return True for texts that end with a valid check digit of an EAN or an ISBN.

    >>> codes = ["4006381333931", "4006381333932", "080442957X", "012345678905", "12345678905"]
    >>> has_check_digit(pl.Series(codes)).to_list()
    [True, False, True, True, True]
    """
    valid = np.zeros(len(texts), dtype=np.bool_)
    for pattern, width, weights, modulus in (
        (EAN, 14, np.tile([3, 1], 7), 10),
        (ISBN, 10, np.arange(10, 0, -1), 11),
    ):
        where = texts.str.contains(pattern).fill_null(value=False).arg_true()
        if not len(where):
            continue
        letters = "".join(texts.gather(where).str.zfill(width)).encode()
        signs = np.frombuffer(letters, dtype=np.uint8).reshape(-1, width).astype(np.int64)
        digits = np.where(signs == ord("X"), 10, signs - ord("0"))
        valid[where.to_numpy()] |= digits @ weights % modulus == 0
    return pl.Series(valid)
