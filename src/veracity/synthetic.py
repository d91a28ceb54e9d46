"""Claims with known truth, drawn as the paper draws them.

Dataset parameters (`Synthetic`) give source models, and these give claims. `Ranges` draws the
dataset parameters themselves, for studies over many datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.algorithms.parameters import bounded, check_parameters
from veracity.errors import ParameterError
from veracity.io.memory import require_memory
from veracity.printing import counted

__all__ = ["Ranges", "SourceModels", "Synthetic", "SyntheticArrays", "SyntheticData", "flights"]

NOBODY = -1
"""Number that means "no source", for sources that do not copy."""

BYTES_PER_SOURCE = 500
BYTES_PER_CLAIM = 50
BYTES_PER_NAME = 90
BYTES_PER_NAMED_CLAIM = 120
"""Bytes needed for drawing, at least, as measured, and in addition for names."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class SourceModels(NamedTuple):
    """Behaviour of each source.

    A source makes claims on a share `frequency` of the items. A share `copy_frequency` of its
    claims is copied from the source `original`; of the others, a share `accuracy` is true.
    """

    frequency: FloatArray
    accuracy: FloatArray
    original: IntArray
    copy_frequency: FloatArray


class SyntheticArrays(NamedTuple):
    """Synthetic claims as numbers: sources, items and values count from zero."""

    source_of_claim: IntArray
    item_of_claim: IntArray
    value_of_claim: IntArray
    original_of_claim: IntArray
    """Source from which the claim was copied, or `NOBODY`."""
    true_value_of_item: IntArray
    models: SourceModels


class SyntheticData(NamedTuple):
    """Synthetic claims as tables, and the truth and the parameters behind them."""

    claims: pl.DataFrame
    truth: pl.DataFrame
    sources: pl.DataFrame
    copied: pl.DataFrame
    """Claims that were copied, and their original sources."""


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Model of sources of differing accuracy and diligence, some of which copy others.

    Each source has a claim frequency and an accuracy, drawn from beta distributions with the given
    mean, whose two parameters add up to the variability (the larger, the more alike the sources).
    It speaks of an item with its frequency, tells the truth with its accuracy, and else names one
    of the item's other values. With probability `copying` it takes a share of its claims from
    another source instead, right or wrong; who is copied may copy, too, but never in a circle. That
    share is drawn in the same way, with mean `copy_frequency`; all shares are equally likely unless
    said otherwise. Names and order tell nothing about truth.

    >>> drawn = Synthetic(sources=5, items=10, copying=0.5).draw(seed=1)
    >>> drawn.claims.columns, drawn.copied.columns
    (['source', 'entity', 'attribute', 'value'], ['source', 'original', 'entity', 'attribute'])
    """

    sources: int = bounded(20, at_least=1)
    items: int = bounded(1000, at_least=1)
    values: int = bounded(4, at_least=2)
    frequency: float = bounded(0.5, above=0, below=1)
    frequency_variability: float = bounded(10.0, above=0)
    accuracy: float = bounded(0.7, above=0, below=1)
    accuracy_variability: float = bounded(10.0, above=0)
    copying: float = bounded(0.0, at_least=0, at_most=1)
    copy_frequency: float = bounded(0.5, above=0, below=1)
    copy_variability: float = bounded(2.0, above=0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def draw(
        self, seed: int | Sequence[int] = 0, models: SourceModels | None = None
    ) -> SyntheticData:
        """Draw sources, truths and claims; or truths and claims of sources that are given."""
        self._require_room(models, BYTES_PER_NAMED_CLAIM, BYTES_PER_NAME)
        return _name(self, self.draw_arrays(seed, models))

    def draw_arrays(
        self, seed: int | Sequence[int] = 0, models: SourceModels | None = None
    ) -> SyntheticArrays:
        """Return the claims as numbers, for studies that need no names."""
        self._require_room(models, BYTES_PER_CLAIM)
        rng = np.random.default_rng(seed)
        models = self._draw_models(rng) if models is None else _checked(models, self.sources)
        true_value = rng.integers(self.values, size=self.items)
        claims_of: dict[int, _SourceClaims] = {NOBODY: NO_CLAIMS}
        for source in _originals_first(models.original):
            offered = claims_of[models.original[source]]
            claims_of[source] = self._draw_claims(rng, source, models, true_value, offered)
        parts = [claims_of[source] for source in range(self.sources)]
        item, value, original = (np.concatenate(column) for column in zip(*parts, strict=True))
        source_of_claim = np.repeat(np.arange(self.sources), [len(part.item) for part in parts])
        return SyntheticArrays(source_of_claim, item, value, original, true_value, models)

    def _require_room(self, models: SourceModels | None, claim: int, name: int = 0) -> None:
        """Raise an error if the claims will not fit in memory, before hours of drawing."""
        said = self.sources * self.frequency if models is None else float(np.sum(models.frequency))
        n_bytes = BYTES_PER_SOURCE * self.sources + name * (self.items + self.values)
        require_memory(
            n_bytes + int(claim * self.items * said),
            f"Synthetic: {counted(self.sources, 'source')} and about "
            f"{self.items * said:,.0f} claims",
            "draw fewer sources, items or values",
        )

    def _draw_models(self, rng: np.random.Generator) -> SourceModels:
        n = self.sources
        frequency = _beta(rng, self.frequency, self.frequency_variability, n)
        accuracy = _beta(rng, self.accuracy, self.accuracy_variability, n)
        wanted = _beta(rng, self.copy_frequency, self.copy_variability, n)
        is_copier = rng.random(n) < self.copying
        place = rng.permutation(n)  # who stands further ahead may be copied: no circles
        before = np.argsort(place)
        original = before[(rng.random(n) * place).astype(np.int64)]
        original = np.where(is_copier & (place > 0), original, NOBODY)
        offered = frequency[original] / frequency  # nobody can copy more than there is
        copy_frequency = np.where(original == NOBODY, 0.0, np.minimum(wanted, offered))
        return SourceModels(frequency, accuracy, original, copy_frequency)

    def _draw_claims(
        self,
        rng: np.random.Generator,
        source: int,
        models: SourceModels,
        true_value: IntArray,
        offered: _SourceClaims,
    ) -> _SourceClaims:
        """Draw some of the claims `offered` by the original, and own claims on other items."""
        original, frequency = int(models.original[source]), float(models.frequency[source])
        copied_share = frequency * float(models.copy_frequency[source])
        copied = offered.some(rng, copied_share / models.frequency[original], original)
        own_share = (frequency - copied_share) / (1.0 - copied_share)
        own = np.setdiff1d(_chosen(rng, self.items, own_share), copied.item, assume_unique=True)
        is_right = rng.random(len(own)) < models.accuracy[source]
        other = rng.integers(1, self.values, size=len(own))
        value = (true_value[own] + np.where(is_right, 0, other)) % self.values
        item = np.concatenate([copied.item, own])
        order = np.argsort(item)
        return _SourceClaims(
            item[order],
            np.concatenate([copied.value, value])[order],
            np.concatenate([copied.original, np.full(len(own), NOBODY)])[order],
        )


class _SourceClaims(NamedTuple):
    """The claims of one source, in the order of their items."""

    item: IntArray
    value: IntArray
    original: IntArray

    def some(self, rng: np.random.Generator, share: float, original: int) -> _SourceClaims:
        """Return a random share of these claims, as copied from their source."""
        is_taken = rng.random(len(self.item)) < share
        n_taken = int(is_taken.sum())
        return _SourceClaims(self.item[is_taken], self.value[is_taken], np.full(n_taken, original))


NO_CLAIMS = _SourceClaims(*np.empty((3, 0), dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Ranges of the parameters of random datasets, as in the study of the paper.

    The paper names the parameters but not their ranges; these were chosen so that entropy, share of
    copied claims and accuracy of the sources are spread over the datasets as the paper's are
    (``veracity study synthetic`` shows both). Counts and variabilities are drawn evenly on a
    logarithmic scale, all else evenly.

    >>> Ranges().draw(seed=1, accuracy=0.9).accuracy
    0.9
    """

    sources: tuple[int, int] = (5, 27)
    items: tuple[int, int] = (40, 30_000)
    values: tuple[int, int] = (2, 5)
    frequency: tuple[float, float] = (0.25, 0.65)
    frequency_variability: tuple[float, float] = (20.0, 100.0)
    accuracy: tuple[float, float] = (0.42, 0.86)
    accuracy_variability: tuple[float, float] = (1.5, 8.0)
    copying: tuple[float, float] = (0.0, 1.0)
    copy_frequency: tuple[float, float] = (0.88, 0.99)
    copy_variability: tuple[float, float] = (30.0, 30.0)

    def __post_init__(self) -> None:
        for field in fields(self):
            low, high = getattr(self, field.name)
            if not low <= high or low < 0 or (low == 0 and field.name != "copying"):
                raise ParameterError(
                    f"Ranges: {field.name} must be two numbers above 0, the smaller one first, got "
                    f"{low} and {high}"
                )

    def draw(self, seed: int | Sequence[int] = 0, **fixed: float) -> Synthetic:
        """Draw the parameters of one dataset; those that are `fixed` stay as they are."""
        rng = np.random.default_rng(seed)
        drawn: dict[str, Any] = {}
        for field in fields(self):
            low, high = getattr(self, field.name)
            if low == high:
                drawn[field.name] = low
            elif field.name in ("sources", "items") or field.name.endswith("variability"):
                drawn[field.name] = float(np.exp(rng.uniform(np.log(low), np.log(high))))
            else:
                drawn[field.name] = float(rng.uniform(low, high))
        drawn["values"] = int(rng.integers(self.values[0], self.values[1] + 1))
        drawn |= {name: round(drawn[name]) for name in ("sources", "items")}
        return Synthetic(**(drawn | fixed))


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


def flights(n_flights: int = 200, seed: int | Sequence[int] = 7) -> SyntheticData:
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
        pl.DataFrame(schema=["source", "original", "entity", "attribute"]),
    )


def _clock_time(rng: np.random.Generator) -> str:
    return f"{rng.integers(5, 23):02d}:{5 * rng.integers(12):02d}"


def _gate(rng: np.random.Generator) -> str:
    return f"{'ABCD'[rng.integers(4)]}{rng.integers(1, 40)}"


def _beta(rng: np.random.Generator, mean: float, variability: float, size: int) -> FloatArray:
    """Shares from a beta distribution whose two parameters add up to the variability."""
    shares = rng.beta(mean * variability, (1.0 - mean) * variability, size)
    return _inside(shares)  # a wide distribution rounds to 0 and 1


def _inside(shares: FloatArray) -> FloatArray:
    """Shares that can be divided by, and their complements, too."""
    return np.clip(shares, 1e-12, 1.0 - 1e-12)


def _chosen(rng: np.random.Generator, n: int, share: float) -> IntArray:
    """Return a sample of n numbers, each with the same probability; O(chosen), not O(n)."""
    if share <= 0.0:
        return np.empty(0, dtype=np.int64)
    expected = n * share
    chosen = np.empty(0, dtype=np.int64)
    last = -1
    while last < n:
        gaps = rng.geometric(share, size=int(expected + 6.0 * np.sqrt(expected) + 6.0))
        gaps = np.minimum(gaps, n + 1)  # rare things are far apart: their sum must not overflow
        further = last + np.cumsum(gaps)
        chosen, last = np.concatenate([chosen, further]), int(further[-1])
    return chosen[chosen < n]


def _originals_first(original: IntArray) -> list[int]:
    """Return the sources, each after the one it copies."""
    n_ahead = np.zeros(len(original), dtype=np.int64)
    copied = original
    for _ in range(len(original)):
        is_copier = copied != NOBODY
        if not is_copier.any():
            break
        n_ahead += is_copier
        copied = np.where(is_copier, original[copied], NOBODY)
    else:
        raise ParameterError("Synthetic: sources must not copy each other in a circle")
    return np.argsort(n_ahead, kind="stable").tolist()  # type: ignore[no-any-return]


def _checked(models: SourceModels, n_sources: int) -> SourceModels:
    """Return the user's source models; raise an error if they are impossible."""
    if any(len(part) != n_sources for part in models):
        raise ParameterError(f"Synthetic: models must describe {n_sources} sources")
    original = np.asarray(models.original)
    shares = {
        name: np.asarray(getattr(models, name), dtype=np.float64)
        for name in ("frequency", "accuracy", "copy_frequency")
    }
    for name, share in shares.items():
        if not ((share >= 0.0) & (share <= 1.0)).all():
            raise ParameterError(f"Synthetic: models: {name} must be from 0 to 1")
    frequency, accuracy, copy_frequency = shares.values()
    if not ((original >= NOBODY) & (original < n_sources)).all():
        raise ParameterError(f"Synthetic: models: original must be below {n_sources}, or -1")
    is_copier = original != NOBODY
    if (copy_frequency * frequency > frequency[original] + 1e-12)[is_copier].any():
        raise ParameterError(
            "Synthetic: models: a source cannot copy more than its original claims"
        )
    return SourceModels(
        _inside(frequency),
        _inside(accuracy),
        original.astype(np.int64),
        np.where(is_copier, copy_frequency, 0.0),
    )


def _name(parameters: Synthetic, drawn: SyntheticArrays) -> SyntheticData:
    """Names for numbers."""
    sources, entities = _names("source", parameters.sources), _names("entity", parameters.items)
    values = _names("v", parameters.values)
    claims = pl.DataFrame(
        {
            "source": sources.gather(drawn.source_of_claim),
            "entity": entities.gather(drawn.item_of_claim),
            "attribute": pl.repeat("value", len(drawn.item_of_claim), eager=True),
            "value": values.gather(drawn.value_of_claim),
        }
    )
    truth = pl.DataFrame(
        {
            "entity": entities,
            "attribute": pl.repeat("value", parameters.items, eager=True),
            "value": values.gather(drawn.true_value_of_item),
        }
    )
    models = pl.DataFrame(drawn.models._asdict()).with_columns(
        original=_names_of(sources, drawn.models.original)
    )
    original = _names_of(sources, drawn.original_of_claim)
    copied = claims.drop("value").with_columns(original=original).drop_nulls("original")
    return SyntheticData(
        claims,
        truth,
        models.insert_column(0, sources.alias("source")),
        copied.select("source", "original", "entity", "attribute"),
    )


def _names(word: str, count: int) -> pl.Series:
    width = len(str(count - 1))
    return pl.Series([f"{word}{i:0{width}d}" for i in range(count)])


def _names_of(names: pl.Series, numbers: IntArray) -> pl.Series:
    """Return the names of numbers, null for `NOBODY`."""
    return names.gather(pl.Series(numbers).replace(NOBODY, None))
