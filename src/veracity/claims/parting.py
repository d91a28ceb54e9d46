"""Rows in parts, by their items: each part is encoded by itself, only names are brought together.

All that is said of an item is in one part, so a part becomes complete blocks without a look at any
other. What has to be the same in all parts is small, and merges: whether values are numbers
(`Decided`), and the names of sources, values and attributes (`AllNames`).
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.block import IntArray, Names
from veracity.claims.numbering import first_hashes
from veracity.claims.schema import keys_of, numbers_in

__all__ = [
    "MOST_LABELS",
    "MOST_TEXT",
    "AllNames",
    "Decided",
    "LocalNames",
    "part_of_row",
    "places_among",
    "values_of",
]

MOST_LABELS = 1 << 22
"""So many different values are numbered for all parts; if there are more, each stays in its own."""

MOST_TEXT = 1 << 30
FEWEST_OPEN = 1 << 16
"""Nor do more than so many bytes of values come together, if these are at least so many values."""

HALF = np.uint64(32)


def part_of_row(rows: pl.DataFrame, n_parts: int) -> NDArray[np.uint32]:
    """The part of each row, which follows from its item and nothing else.

    >>> rows = pl.DataFrame({"entity": ["x", "y", "x"], "value": ["1", "2", "3"]})
    >>> part = part_of_row(rows, 1000)
    >>> bool(part[0] == part[2])
    True
    """
    first = first_hashes([rows[name] for name in keys_of(rows)])
    # the upper half, since the lower one places names within a part
    return ((first >> HALF) % np.uint64(n_parts)).astype(np.uint32)


class Decided(NamedTuple):
    """What is decided over all rows before any part is encoded; it merges by ``+``."""

    n_rows: int = 0
    are_numbers: bool = True
    """Whether all values are plain numbers, so that spellings of one number are one value."""

    @classmethod
    def of(cls, rows: pl.DataFrame, so_far: bool = True) -> Decided:
        """What rows say to it; they need no look where others have decided."""
        if not so_far or "value" not in rows.columns:
            return cls(len(rows), are_numbers=False)
        return cls(len(rows), rows.is_empty() or numbers_in(rows["value"]) is not None)

    def __add__(self, other: Decided) -> Decided:  # type: ignore[override]
        """Both together."""
        return Decided(self.n_rows + other.n_rows, self.are_numbers and other.are_numbers)


class LocalNames(NamedTuple):
    """The names of one part, sorted: numbers in its blocks are places in these.

    Values come with all their spellings, those of a value side by side.
    """

    sources: pl.Series
    spellings: pl.Series
    value_of_spelling: IntArray
    attributes: pl.Series

    @classmethod
    def nothing(cls) -> Self:
        """No names at all."""
        none = pl.Series([], dtype=pl.String)
        return cls(none, none, np.zeros(0, dtype=np.int32), none.alias("attribute"))

    @property
    def n_values(self) -> int:
        """How many different values there are."""
        return int(self.value_of_spelling[-1]) + 1 if len(self.value_of_spelling) else 0

    @property
    def n_merged(self) -> int:
        """How many spellings are of a value that has another one."""
        return len(self.spellings) - self.n_values

    @property
    def names(self) -> Names:
        """The same, each value by its first spelling."""
        first = np.searchsorted(self.value_of_spelling, np.arange(self.n_values))
        return Names(self.sources, self.spellings.gather(first), self.attributes)


class AllNames:
    """The names of all parts: added part by part, then sorted; and the places of a part's own.

    Where there are more different values than `most_labels`, or very many that have more bytes than
    `most_text`, no name of a value is kept: nothing that learns from so many needs them, and values
    are compared within an item only.
    """

    def __init__(
        self, are_numbers: bool, most_labels: int = MOST_LABELS, most_text: int = MOST_TEXT
    ) -> None:
        self._are_numbers, self._most, self._most_text = are_numbers, most_labels, most_text
        self._sources, self._spellings, self._attributes = _Union(), _Union(), _Union()
        self._n_open = 0

    def add(self, names: LocalNames) -> None:
        """Take the names of a part in."""
        self._sources.add(names.sources)
        self._attributes.add(names.attributes)
        if not self._n_open:
            self._spellings.add(names.spellings)
            self._open_if_too_many()

    def _open_if_too_many(self) -> None:
        found = self._spellings
        is_long = found.n_at_least > FEWEST_OPEN and found.n_bytes > self._most_text
        if is_long or found.n_at_least > self._most:
            self._n_open = min(found.n_at_least - 1, self._most)
            self._spellings = _Union()

    def together(self) -> LocalNames:
        """All names, sorted, as if all parts had been one."""
        self._spellings.sorted()  # now it is known how many there are
        self._open_if_too_many()
        spellings = self._spellings.sorted()
        value = values_of(spellings, self._are_numbers)
        by_value = np.argsort(value, kind="stable")
        return LocalNames(
            self._sources.sorted(), spellings.gather(by_value), value[by_value],
            self._attributes.sorted(),
        )  # fmt: skip

    @property
    def n_open(self) -> int:
        """Than how many there are more different values, once all are together; 0 if not open."""
        return self._n_open


class _Union:
    """Different names, sorted when asked for; brought together whenever they have doubled."""

    def __init__(self) -> None:
        self._series: list[pl.Series] = []
        self._n_unique = 0
        self.n_bytes = 0

    def add(self, names: pl.Series) -> None:
        if len(names):
            self._series.append(names)
        if sum(map(len, self._series)) > 2 * self._n_unique + 1000:
            self._compact()

    @property
    def n_at_least(self) -> int:
        """How many different names there are at least."""
        return self._n_unique

    def sorted(self) -> pl.Series:
        if not self._series:
            return pl.Series([], dtype=pl.String)
        self._compact()
        return self._series[0].sort()

    def _compact(self) -> None:
        self._series = [pl.concat(self._series).unique()]
        self._n_unique = len(self._series[0])
        self.n_bytes = int(self._series[0].estimated_size())


def places_among(own: LocalNames, all_names: LocalNames, *, is_open: bool) -> tuple[IntArray, ...]:
    """The number among all names of each of a part's sources, values and attributes.

    Open values keep the numbers they have in their part.
    """
    if is_open or not len(own.spellings):
        label = np.arange(max(own.n_values, 1), dtype=np.int32)
    else:
        first = np.searchsorted(own.value_of_spelling, np.arange(own.n_values))
        place = _place(own.spellings.gather(first), all_names.spellings)
        label = all_names.value_of_spelling[place].astype(np.int32)
    source = _place(own.sources, all_names.sources)
    if not len(own.attributes):
        return source, label, np.zeros(1, dtype=np.int32)
    return source, label, _place(own.attributes, all_names.attributes)


def _place(names: pl.Series, among: pl.Series) -> IntArray:
    """Where each name stands among others."""
    numbered = pl.DataFrame({"name": among, "place": np.arange(len(among), dtype=np.int32)})
    found = names.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    return found["place"].to_numpy()


def values_of(spellings: pl.Series, are_numbers: bool | None = None) -> IntArray:
    """Which value each spelling means: 1 and 1.0 are one value where all values are numbers."""
    numbers = None if are_numbers is False else numbers_in(spellings)
    if numbers is None:
        return np.arange(len(spellings), dtype=np.int32)
    return (numbers.rank("dense") - 1).cast(pl.Int32).to_numpy()
