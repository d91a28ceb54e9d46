"""A catalogue of five suppliers who write in their own ways comes out right."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

import polars as pl
import pytest

import veracity

GRAMS = {"g": Fraction(1), "kg": Fraction(1000), "mg": Fraction(1, 1000)}


@dataclass(frozen=True)
class Habits:
    """How a supplier writes, and how often it errs or has no value."""

    unit: str
    day: str = "%Y-%m-%d"
    has_comma: bool = False
    groups: bool = False
    placeholder: str = "n/a"
    loses_zeros: bool = False
    errs: float = 0.05
    lacks: float = 0.04


SUPPLIERS = {
    "alpha": Habits("kg", "%m/%d/%Y", placeholder="N/A"),
    "berlin": Habits("kg", "%d/%m/%Y", has_comma=True, placeholder="k.A."),
    "city": Habits("g", "%m/%d/%Y", groups=True, placeholder="#REF!", errs=0.1),
    "delta": Habits("kg", "%d/%m/%Y", loses_zeros=True, placeholder="-"),
    "euro": Habits("mg", "%Y-%m-%d", has_comma=True, groups=True, placeholder="unbekannt"),
}


def amount(number: Fraction, decimals: int, habits: Habits) -> str:
    """Write a number in the signs of a supplier, with a fixed number of decimals."""
    text = f"{float(number):{',' if habits.groups else ''}.{decimals}f}"
    return text.translate(str.maketrans(",.", ".,")) if habits.has_comma else text


def written(attribute: str, value, habits: Habits) -> str:
    """Write a true or false value as a supplier does."""
    if attribute == "weight":
        decimals = 3 if habits.unit == "kg" else 0
        return f"{amount(Fraction(value) / GRAMS[habits.unit], decimals, habits)} {habits.unit}"
    if attribute == "price":
        return amount(Fraction(value, 100), 2, habits)
    if attribute == "released":
        return value.strftime(habits.day)
    if attribute == "ean":
        return value.lstrip("0") if habits.loses_zeros else value
    return value


def ean(chance: random.Random) -> str:
    """Draw an EAN-13; one in four begins with zeros."""
    start = chance.choice(["0", "00", "40", "50", "84", "59", "76", "31"])
    digits = start + "".join(chance.choices("0123456789", k=12 - len(start)))
    odd, even = sum(map(int, digits[::2])), sum(map(int, digits[1::2]))
    return f"{digits}{-(odd + 3 * even) % 10}"


def draw(attribute: str, chance: random.Random):
    """Draw a value of an attribute."""
    if attribute == "weight":
        return chance.randrange(100, 9000)
    if attribute == "price":
        return chance.randrange(199, 250_000)
    if attribute == "released":
        return date(2019, 1, 1) + timedelta(days=chance.randrange(1400))
    if attribute == "ean":
        return ean(chance)
    return chance.choice(["red", "blue", "green", "black", "white"])


def catalogue(n_products: int = 200, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return claims of five suppliers and the truths of all their items."""
    chance = random.Random(seed)
    claims, truths = [], []
    plain = Habits("kg")
    for product in (f"p{n}" for n in range(n_products)):
        for attribute in ("weight", "price", "released", "ean", "colour"):
            true = draw(attribute, chance)
            truths.append((product, attribute, written(attribute, true, plain)))
            for supplier, habits in SUPPLIERS.items():
                said = draw(attribute, chance) if chance.random() < habits.errs else true
                text = written(attribute, said, habits)
                text = habits.placeholder if chance.random() < habits.lacks else text
                claims.append((supplier, product, attribute, text))
    return (
        pl.DataFrame(claims, schema=["source", "entity", "attribute", "value"], orient="row"),
        pl.DataFrame(truths, schema=["entity", "attribute", "value"], orient="row"),
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_catalogue_of_five_suppliers_is_right_and_no_placeholder_wins(seed):
    claims, truths = catalogue(seed=seed)
    result = veracity.discover(claims, normalise=True)
    evaluation = veracity.evaluate(result, truths)
    assert evaluation.accuracy >= 0.985
    assert evaluation.judged == len(truths)
    placeholders = {habits.placeholder for habits in SUPPLIERS.values()}
    assert not placeholders & set(result.truths["value"])
