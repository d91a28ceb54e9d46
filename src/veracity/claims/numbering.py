"""Names become numbers, batch by batch, by their hashes: each name is kept once, and sorted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.block import IntArray
from veracity.claims.schema import keys_of
from veracity.kernels import Numbers
from veracity.kernels.loading import kernels_for

__all__ = ["Hashes", "Items", "Numbered", "Numbering", "hashes_of_items", "marks_of", "places"]


class Hashes(NamedTuple):
    """Two hashes of each name, which together tell names apart."""

    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, column: pl.Series) -> Hashes:
        """The hashes of a column's names."""
        return cls(*(_read_only(column.hash(seed).to_numpy()) for seed in (1, 2)))

    def at(self, rows: IntArray) -> Hashes:
        """The hashes of some rows."""
        return Hashes(_read_only(self.first[rows]), _read_only(self.second[rows]))

    def mixed_with(self, other: Hashes) -> Hashes:
        """The hashes of pairs of names."""
        return Hashes(_mixed(self.first, other.first), _mixed(self.second, other.second))


class Numbering:
    """Numbers the names of a column, batch by batch, in the order they are first met.

    Names are taken for the same where 96 bits of their two hashes agree. Among a hundred million
    names, the chance that any two others do is less than one in ten million million.
    """

    def __init__(self, n_claims: int) -> None:
        self.numbers: list[IntArray] = []
        self._kernels = kernels_for(n_claims)
        self._names: list[pl.Series] = []
        self._slots: IntArray = np.zeros((1 << 10, 2), dtype=np.uint64)
        self._n_names = 0

    def number(self, hashes: Hashes) -> IntArray:
        """Number a batch; return the rows that brought new names."""
        self._slots, number, new_row = self._kernels.number_names(
            self._slots, self._n_names, *hashes
        )
        self._n_names += len(new_row)
        self.numbers.append(number)
        return np.asarray(new_row)

    def add(self, column: pl.Series, hashes: Hashes) -> None:
        """Number a batch of names, and keep the new ones."""
        new_row = self.number(hashes)
        if len(new_row):
            self._names.append(column.gather(new_row))

    def sorted(self) -> tuple[pl.Series, IntArray]:
        """The names in sorted order, and the place there of each number given so far."""
        names = pl.concat(self._names)
        order = names.arg_sort()
        return names.gather(order), places(order.to_numpy())

    def with_places(self, place_of_number: IntArray) -> Numbers:
        """The numbers given to all rows, which are not kept, and the places of the numbers."""
        number = np.concatenate(self.numbers)
        self.numbers.clear()
        return Numbers(number, place_of_number)

    def renumbered(self, place_of_number: IntArray) -> IntArray:
        """The number of every row, with the places for the numbers given so far."""
        renumbered = np.empty(sum(map(len, self.numbers)), dtype=np.int32)
        first = 0
        while self.numbers:  # the old ones go as the new ones come
            number = self.numbers.pop(0)
            np.take(place_of_number, number, out=renumbered[first : first + len(number)])
            first += len(number)
        return renumbered


class Items(NamedTuple):
    """Items in sorted order, the place there of each number given so far, and their attributes."""

    items: pl.DataFrame
    place: IntArray
    attributes: pl.Series
    attribute_of_item: IntArray


class Numbered:
    """The names of all columns, numbered; an item is a pair of entity and attribute, or a fact."""

    def __init__(self, n_claims: int) -> None:
        self.sources, self.items, self.values = (Numbering(n_claims) for _ in range(3))
        self.item_parts: dict[str, Numbering] = {}
        self._n_claims = n_claims
        self.claims: list[pl.Series] = []
        self.weights: list[pl.Series] = []
        self.n_claims = 0

    def add(self, rows: pl.DataFrame, pool: ThreadPoolExecutor) -> None:
        """Number a batch of claims, each column for itself."""
        self.n_claims += len(rows)
        work: list[Callable[[], None]] = [lambda: self._add_items(rows)]
        for name, names in (("source", self.sources), ("value", self.values)):
            if name in rows.columns:
                column = rows[name]
                work.append(lambda c=column, n=names: n.add(c, Hashes.of(c)))  # type: ignore[misc]
        if "claim" in rows.columns:
            self.claims.append(rows["claim"])
        if "weight" in rows.columns:
            self.weights.append(rows["weight"])
        for done in [pool.submit(task) for task in work]:
            done.result()

    def _add_items(self, rows: pl.DataFrame) -> None:
        columns = [rows[name] for name in keys_of(rows)]
        hashes = [Hashes.of(column) for column in columns]
        of_item = hashes_of_items(hashes)
        new_row = self.items.number(of_item)
        for column, own in zip(columns, hashes, strict=True):
            if len(new_row):
                names = self.item_parts.setdefault(column.name, Numbering(self._n_claims))
                names.add(column.gather(new_row), own.at(new_row))

    def items_sorted(self) -> Items:
        """The items by entity, then attribute."""
        key: NDArray[np.uint64] = np.zeros(1, dtype=np.uint64)
        parts = []
        for name, part in self.item_parts.items():
            names, place = part.sorted()
            number = part.renumbered(place)
            key = key * np.uint64(len(names)) + number.astype(np.uint64)
            parts.append((names.alias(name), number))
        order = np.argsort(key)
        items = pl.DataFrame([names.gather(number[order]) for names, number in parts])
        if len(parts) == 1:
            nothing = pl.Series("attribute", [], dtype=pl.String)
            return Items(items, places(order), nothing, np.zeros(len(items), dtype=np.int32))
        names, number = parts[1]
        return Items(items, places(order), names, number[order].astype(np.int32))


def hashes_of_items(hashes: list[Hashes]) -> Hashes:
    """The hashes of items, from those of the columns that name them."""
    return hashes[0] if len(hashes) == 1 else hashes[0].mixed_with(hashes[1])


def marks_of(items: pl.DataFrame) -> NDArray[np.uint32]:
    """A number for each item that follows from its names alone.

    >>> items = pl.DataFrame({"entity": ["x", "y"], "attribute": ["", ""]})
    >>> bool(marks_of(items)[1] == marks_of(items[1:])[0])
    True
    """
    hashes = hashes_of_items([Hashes.of(items[name]) for name in items.columns])
    return hashes.second.astype(np.uint32)  # not the half by which rows are parted


def _mixed(one: IntArray, other: IntArray) -> NDArray[np.uint64]:
    mixed = one ^ (other * np.uint64(0x9E3779B97F4A7C15))
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return _read_only(mixed ^ (mixed >> np.uint64(32)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """All hashes are, as those from Polars: so the kernel is compiled for one kind only."""
    array.flags.writeable = False
    return array


def places(order: IntArray) -> IntArray:
    """At which place in the order each number stands."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place
