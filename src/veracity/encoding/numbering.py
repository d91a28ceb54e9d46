"""Names become numbers, batch by batch, by their hashes: each name is kept once, and sorted."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.schema import keys_of, numbers_in
from veracity.encoding.block import IntArray
from veracity.kernels.loading import kernels_for

PAIRS_PER_CLAIM = 2
"""Up to so many pairs of entity and attribute there could be for each claim, all are numbered."""


BATCHES_AT_WORK = 3
"""So many batches are numbered at a time: a column whose names are soon found need not wait for
the others."""


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


class NameTable:
    """Numbers the names of a column, batch by batch, in the order they are first met.

    Names are taken for the same where 96 bits of their two hashes agree. Among a hundred million
    names, the chance that any two others do is less than one in ten million million.
    """

    def __init__(self, n_claims: int) -> None:
        self.numbers: list[IntArray] = []
        self._n_claims = n_claims
        self._names: list[pl.Series] = []
        self._slots: IntArray = np.zeros((1 << 10, 2), dtype=np.uint64)
        self.n_names = 0

    def number(self, hashes: Hashes) -> IntArray:
        """Number a batch; return the rows that brought new names."""
        kernels = kernels_for(self._n_claims)
        self._slots, number, new_row = kernels.number_names(self._slots, self.n_names, *hashes)
        self.n_names += len(new_row)
        self.numbers.append(number)
        return np.asarray(new_row)

    def add(self, column: pl.Series) -> pl.Series:
        """Number a batch of names, and keep the new ones, which are given back."""
        new = column.gather(self.number(Hashes.of(column)))
        if len(new):
            self._names.append(new)
        return new

    @property
    def names(self) -> pl.Series:
        """The names in the order of their numbers."""
        return pl.concat(self._names, rechunk=True)

    def sorted(self) -> tuple[pl.Series, IntArray]:
        """The names in sorted order, and the place there of each number given so far."""
        names = self.names
        order = names.arg_sort()
        return names.gather(order), places(order.to_numpy())

    def spelt(self, are_numbers: bool | None) -> SortedNames:
        """The names as spellings of values, which are numbers if all of them are, unless told."""
        names, place = self.sorted()
        spelt = SortedNames.of(names, are_numbers)
        return spelt._replace(place=spelt.place[place])


class SortedNames(NamedTuple):
    """Spellings in sorted order, those of a value side by side, and the value that each means.

    `place` has the place there of every number that was given to a spelling.
    """

    spellings: pl.Series
    value_of_spelling: IntArray
    place: IntArray

    @classmethod
    def of(cls, spellings: pl.Series, are_numbers: bool | None) -> SortedNames:
        """Spellings that are sorted as text, numbered in that order."""
        value = _values_of(spellings, are_numbers)
        by_value = np.argsort(value, kind="stable")
        return cls(spellings.gather(by_value), value[by_value], places(by_value))


def _values_of(spellings: pl.Series, are_numbers: bool | None) -> IntArray:
    """Which value each spelling means: 1 and 1.0 are one value where all values are numbers."""
    numbers = None if are_numbers is False else numbers_in(spellings)
    if numbers is None:
        return np.arange(len(spellings), dtype=np.int32)
    return (numbers.rank("dense") - 1).cast(pl.Int32).to_numpy()


class PresetNames(NameTable):
    """Numbers of names that were numbered before, in all parts alike: rows bring these numbers."""

    def __init__(self, spelt: SortedNames) -> None:
        self.numbers, self._spelt = [], spelt

    def add(self, column: pl.Series) -> pl.Series:
        """Take the numbers of a batch; no name is new."""
        self.numbers.append(column.to_numpy())
        return column.clear()

    def sorted(self) -> tuple[pl.Series, IntArray]:
        """The names of all parts in sorted order, and the place there of each number."""
        return self._spelt.spellings, self._spelt.place

    def spelt(self, are_numbers: bool | None) -> SortedNames:
        """The names as spellings of values, as they were found to be."""
        return self._spelt


class Items(NamedTuple):
    """Items in sorted order, and their attributes.

    `number` has the number of the item of every row, batch by batch, and `place` the place in
    sorted order of every number; some numbers may be of no item.
    """

    items: pl.DataFrame
    number: list[IntArray]
    place: IntArray
    attributes: pl.Series
    attribute_of_item: IntArray


class ClaimNumbers:
    """The names of all columns, numbered; an item is a pair of entity and attribute, or a fact."""

    def __init__(self, n_claims: int, before: Mapping[str, SortedNames]) -> None:
        self._n_expected, self._before = n_claims, before
        self.sources, self.values = self._numbering("source"), self._numbering("value")
        self._keys: dict[str, NameTable] = {}
        self._at_work: deque[dict[str, Future[pl.Series]]] = deque()
        self.claims: list[pl.Series] = []
        self.weights: list[pl.Series] = []
        self.n_claims = 0

    def add(self, rows: pl.DataFrame, pool: ThreadPoolExecutor) -> None:
        """Number a batch of claims, each column for itself, while the next batches are read."""
        self.finish(all_but=BATCHES_AT_WORK - 1)
        self.n_claims += len(rows)
        for name in keys_of(rows):
            self._keys.setdefault(name, self._numbering(name))
        numbering = {**self._keys, "value": self.values, "source": self.sources}
        before = self._at_work[-1] if self._at_work else {}
        self._at_work.append({
            name: pool.submit(_add_after, before.get(name), names, rows[name])
            for name, names in numbering.items()
            if name in rows.columns
        })  # fmt: skip
        if "claim" in rows.columns:
            self.claims.append(rows["claim"])
        if "weight" in rows.columns:
            self.weights.append(rows["weight"])

    def _numbering(self, name: str) -> NameTable:
        spelt = self._before.get(name)
        return NameTable(self._n_expected) if spelt is None else PresetNames(spelt)

    def finish(self, all_but: int = 0) -> None:
        """Wait until all that was added is numbered, but for the last batches."""
        while len(self._at_work) > all_but:
            for done in self._at_work.popleft().values():
                done.result()

    def items_sorted(self, pool: ThreadPoolExecutor) -> Items:
        """The items by entity, then attribute; their numbers are not kept here."""
        first, *others = self._keys
        names, place = self._keys[first].sorted()
        number = self._keys.pop(first).numbers
        if not others:
            nothing = pl.Series("attribute", [], dtype=pl.String)
            no_attribute = np.zeros(len(names), dtype=np.int32)
            return Items(names.to_frame(first), number, place, nothing, no_attribute)
        attributes, place_of_attribute = self._keys[others[0]].sorted()
        of_attribute = self._keys.pop(others[0]).numbers
        pairs = _pairs(number, place, of_attribute, place_of_attribute, pool)
        entity, attribute = np.divmod(pairs.key, len(attributes))
        items = pl.DataFrame([names.gather(entity), attributes.gather(attribute)])
        return Items(items, pairs.number, pairs.place, attributes, attribute.astype(np.int32))


def _add_after(
    before: Future[pl.Series] | None, numbering: NameTable, column: pl.Series
) -> pl.Series:
    """Number the names of a batch as soon as those before are numbered."""
    if before is not None:
        before.result()
    return numbering.add(column)


class _Pairs(NamedTuple):
    """Pairs of names, numbered; and those that there are, by the places of both, in order."""

    number: list[IntArray]
    place: IntArray
    key: IntArray


def _pairs(
    number: list[IntArray],
    place: IntArray,
    other: list[IntArray],
    place_of_other: IntArray,
    pool: ThreadPoolExecutor,
) -> _Pairs:
    """Number the pairs of names that stand in the same row; the old numbers are not kept."""
    n_pairs = len(place) * len(place_of_other)
    most = min(PAIRS_PER_CLAIM * sum(map(len, number)), np.iinfo(np.int32).max)
    if n_pairs <= most:
        return _pairs_by_place(number, place, other, place_of_other, pool)
    return _pairs_by_hash(number, place, other, place_of_other)


def _pairs_by_place(
    number: list[IntArray],
    place: IntArray,
    other: list[IntArray],
    place_of_other: IntArray,
    pool: ThreadPoolExecutor,
) -> _Pairs:
    """With a number for every pair that there could be: nothing has to be looked up."""
    n_others = len(place_of_other)
    key_of_pair = (place[:, None].astype(np.int64) * n_others + place_of_other).reshape(-1)
    is_there = np.zeros(len(key_of_pair), dtype=np.bool_)

    def put(batch: int) -> None:
        """Put the numbers of pairs in the place of those of names."""
        number[batch] = number[batch] * np.int32(n_others)
        number[batch] += other[batch]
        is_there[number[batch]] = True

    list(pool.map(put, range(len(number))))
    other.clear()
    in_order = np.empty_like(is_there)
    in_order[key_of_pair] = is_there
    place_of_key = np.cumsum(in_order, dtype=np.int32)
    place_of_key -= 1
    return _Pairs(number, place_of_key[key_of_pair], np.flatnonzero(in_order))


def _pairs_by_hash(
    number: list[IntArray], place: IntArray, other: list[IntArray], place_of_other: IntArray
) -> _Pairs:
    """With a number for every pair that there is, where many more could be."""
    numbering, found = NameTable(sum(map(len, number))), []
    while number:
        key = place[number.pop(0)].astype(np.uint64) * np.uint64(len(place_of_other))
        key += place_of_other[other.pop(0)].astype(np.uint64)
        hashes = _read_only(_scattered(key))  # of no two keys the same, so one hash is enough
        found.append(key[numbering.number(Hashes(hashes, hashes))])
    key = np.concatenate(found)
    order = np.argsort(key)
    return _Pairs(numbering.numbers, places(order), key[order].astype(np.int64))


def first_hashes(names: list[pl.Series]) -> NDArray[np.uint64]:
    """The first hash of each item, from the columns that name it."""
    return _hashes_of_items(names, seed=1)


def _hashes_of_items(names: list[pl.Series], seed: int) -> NDArray[np.uint64]:
    hashes = [column.hash(seed).to_numpy() for column in names]
    return hashes[0] if len(hashes) == 1 else _mixed(*hashes)


def marks_of(items: pl.DataFrame) -> NDArray[np.uint32]:
    """A number for each item that follows from its names alone.

    >>> items = pl.DataFrame({"entity": ["x", "y"], "attribute": ["", ""]})
    >>> bool(marks_of(items)[1] == marks_of(items[1:])[0])
    True
    """
    hashes = _hashes_of_items(items.get_columns(), seed=2)
    return hashes.astype(np.uint32)  # not those by which rows are parted


def _mixed(one: IntArray, other: IntArray) -> NDArray[np.uint64]:
    return _read_only(_scattered(one ^ (other * np.uint64(0x9E3779B97F4A7C15))))


def _scattered(number: NDArray[Any]) -> NDArray[np.uint64]:
    """Other numbers, the bits of which all depend on all; no two become the same."""
    mixed = number ^ (number >> np.uint64(32))
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """All hashes are, as those from Polars: so the kernel is compiled for one kind only."""
    array.flags.writeable = False
    return array


def places(order: IntArray) -> IntArray:
    """At which place in the order each number stands."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place
