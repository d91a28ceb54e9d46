"""Claims with known truth, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.errors import ParameterError

__all__ = ["Synthetic", "SyntheticData", "flights"]


class SyntheticData(NamedTuple):
    """What was drawn: claims as a user would have them, and what only the generator knows."""

    claims: pl.DataFrame
    truth: pl.DataFrame
    sources: pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Independent sources of differing accuracy and diligence.

    Each source has a claim frequency and an accuracy, drawn from beta distributions with the given
    mean, whose two parameters add up to the variability (the larger, the more alike the sources).
    It speaks of an item with its frequency, tells the truth with its accuracy, and else names one
    of the item's other values. Names tell nothing about truth.

    >>> Synthetic(sources=5, items=10).draw(seed=1).claims.columns
    ['source', 'entity', 'attribute', 'value']
    """

    sources: int = 20
    items: int = 1000
    values: int = 4
    frequency: float = 0.5
    frequency_variability: float = 10.0
    accuracy: float = 0.7
    accuracy_variability: float = 10.0

    def __post_init__(self) -> None:
        for name, least in (("sources", 1), ("items", 1), ("values", 2)):
            if getattr(self, name) < least:
                raise ParameterError(f"Synthetic: {name} must be at least {least}")
        for name in ("frequency", "accuracy"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ParameterError(f"Synthetic: {name} must be between 0 and 1")
            if not getattr(self, f"{name}_variability") > 0.0:
                raise ParameterError(f"Synthetic: {name}_variability must be above 0")

    def draw(self, seed: int = 0) -> SyntheticData:
        """Draw sources, truths and claims."""
        rng = np.random.default_rng(seed)
        frequency = _beta(rng, self.frequency, self.frequency_variability, self.sources)
        accuracy = _beta(rng, self.accuracy, self.accuracy_variability, self.sources)
        true_value = rng.integers(self.values, size=self.items)
        item = [np.flatnonzero(rng.random(self.items) < share) for share in frequency]
        item_of_claim = np.concatenate(item)
        source_of_claim = np.repeat(np.arange(self.sources), [len(own) for own in item])
        is_right = rng.random(len(item_of_claim)) < accuracy[source_of_claim]
        other = rng.integers(1, self.values, size=len(item_of_claim))
        value = (true_value[item_of_claim] + np.where(is_right, 0, other)) % self.values
        claims = pl.DataFrame(
            {
                "source": _named("source", self.sources).gather(source_of_claim),
                "entity": _named("entity", self.items).gather(item_of_claim),
                "attribute": pl.repeat("value", len(value), eager=True),
                "value": _named("v", self.values).gather(value),
            }
        )
        truth = pl.DataFrame(
            {
                "entity": _named("entity", self.items),
                "attribute": pl.repeat("value", self.items, eager=True),
                "value": _named("v", self.values).gather(true_value),
            }
        )
        models = pl.DataFrame(
            {"source": _named("source", self.sources), "frequency": frequency, "accuracy": accuracy}
        )
        return SyntheticData(claims, truth, models)


FLIGHT_SITES = {
    "airline": 0.96,
    "airport": 0.94,
    "radar": 0.92,
    "ticketbay": 0.62,
    "flyaway": 0.55,
    "gatewise": 0.52,
    "skyfare": 0.5,
    "trip24": 0.48,
    "hoppit": 0.45,
}
"""The sites of the demo, and how often each is right."""


def flights(n_flights: int = 200, seed: int = 7) -> SyntheticData:
    """Flights as nine sites describe them: the demo's data.

    Three sites look at the flight itself; the others often still show the plan. Where plan and
    truth differ, most sites agree on what is wrong, and a vote follows them.
    """
    rng = np.random.default_rng(seed)
    rows, truth = [], []
    accuracy = np.array(list(FLIGHT_SITES.values()))
    for number in range(n_flights):
        flight = f"VC-{100 + number}"
        for attribute, draw in (("departure", _clock_time), ("gate", _gate)):
            true, planned, stray = draw(rng), draw(rng), draw(rng)
            truth.append((flight, attribute, true))
            is_right = rng.random(len(accuracy)) < accuracy
            is_planned = rng.random(len(accuracy)) < 0.75
            for site, right, plan in zip(FLIGHT_SITES, is_right, is_planned, strict=True):
                if rng.random() < 0.9:
                    value = true if right else planned if plan else stray
                    rows.append((site, flight, attribute, value))
    columns = ["source", "entity", "attribute", "value"]
    models = pl.DataFrame({"source": list(FLIGHT_SITES), "accuracy": accuracy})
    return SyntheticData(
        pl.DataFrame(rows, schema=columns, orient="row"),
        pl.DataFrame(truth, schema=columns[1:], orient="row"),
        models,
    )


def _clock_time(rng: np.random.Generator) -> str:
    return f"{rng.integers(5, 23):02d}:{5 * rng.integers(12):02d}"


def _gate(rng: np.random.Generator) -> str:
    return f"{'ABCD'[rng.integers(4)]}{rng.integers(1, 40)}"


def _beta(
    rng: np.random.Generator, mean: float, variability: float, size: int
) -> NDArray[np.float64]:
    return rng.beta(mean * variability, (1.0 - mean) * variability, size)


def _named(word: str, count: int) -> pl.Series:
    width = len(str(count - 1))
    return pl.Series([f"{word}{i:0{width}d}" for i in range(count)])
