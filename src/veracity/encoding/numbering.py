"""Names become numbers, batch by batch, by their hashes: each name is kept once, and sorted."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encoding.block import IntArray
from veracity.kernels.loading import kernels_for
from veracity.reading.schema import keys_of, numbers_in

PAIRS_PER_CLAIM = 2
"""Most possible pairs of entity and attribute per claim for which all pairs are numbered."""

BATCHES_AT_WORK = 3
"""Number of batches that are numbered at a time, so that no column waits for a slower one."""


class Hashes(NamedTuple):
    """Two hashes of each name, which together tell names apart."""

    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, column: pl.Series) -> Hashes:
        """Return the hashes of a column's names."""
        return cls(*(_read_only(column.hash(seed).to_numpy()) for seed in (1, 2)))


class SortedNames(NamedTuple):
    """Names in sorted order; those that mean one value stand side by side and share its number."""

    spellings: pl.Series
    value_of_spelling: IntArray

    @property
    def n_merged(self) -> int:
        """Count the spellings of a value that has another one."""
        n_values = int(self.value_of_spelling[-1]) + 1 if len(self.spellings) else 0
        return len(self.spellings) - n_values

    @property
    def values(self) -> pl.Series:
        """Return each value by its first spelling."""
        if not self.n_merged:
            return self.spellings
        return self.spellings.filter(np.diff(self.value_of_spelling, prepend=-1) > 0)


def sorted_names(
    names: pl.Series, are_numbers: bool | None = False
) -> tuple[SortedNames, IntArray]:
    """Sort different names; also return the place of each of them.

    Numbers are compared as such: 1 and 1.0 are one value. Whether all names are numbers is found
    out if `are_numbers` is None.
    """
    order = names.arg_sort()
    names, place = names.gather(order), _places(order.to_numpy())
    numbers = None if are_numbers is False else numbers_in(names)
    if numbers is None:
        return SortedNames(names, np.arange(len(names), dtype=np.int32)), place
    value = (numbers.rank("dense") - 1).cast(pl.Int32).to_numpy()
    by_value = np.argsort(value, kind="stable")
    return SortedNames(names.gather(by_value), value[by_value]), _places(by_value)[place]


def _places(order: IntArray) -> IntArray:
    """Return the place at which each number stands in the order."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


class NameTable:
    """Numbers the names of a column, batch by batch, in the order they are first met.

    Names are taken for the same where 96 bits of their two hashes agree. Among a hundred million
    names, the chance that any two others do is less than one in ten million million.
    """

    def __init__(self, n_claims: int) -> None:
        self.numbers: list[IntArray] = []
        self.n_names = 0
        self._n_claims = n_claims
        self._names: list[pl.Series] = []
        self._slots: IntArray = np.zeros((1 << 10, 2), dtype=np.uint64)

    def number(self, hashes: Hashes) -> IntArray:
        """Give numbers to a batch; return the rows that brought new names."""
        kernels = kernels_for(self._n_claims)
        self._slots, number, new_row = kernels.number_names(self._slots, self.n_names, *hashes)
        self.n_names += len(new_row)
        self.numbers.append(number)
        return np.asarray(new_row)

    def add(self, column: pl.Series) -> pl.Series:
        """Give numbers to a batch of names; return the new ones."""
        new = column.gather(self.number(Hashes.of(column)))
        if len(new):
            self._names.append(new)
        return new

    @property
    def names(self) -> pl.Series:
        """Return the names in the order of their numbers."""
        return pl.concat(self._names, rechunk=True)

    def sorted(self, are_numbers: bool | None = False) -> tuple[SortedNames, IntArray]:
        """Return the names in sorted order, and the place there of each number given so far."""
        return sorted_names(self.names, are_numbers)


Preset = Mapping[str, tuple[SortedNames, IntArray]]
"""Names that all partitions have in common, and the place of each number, by column."""


class PresetNames(NameTable):
    """Names that were numbered before, alike in all partitions: rows bring these numbers."""

    def __init__(self, names: SortedNames, place: IntArray) -> None:
        self.numbers, self._sorted = [], (names, place)

    def add(self, column: pl.Series) -> pl.Series:
        """Take the numbers of a batch; no name is new."""
        self.numbers.append(column.to_numpy())
        return column.clear()

    def sorted(self, are_numbers: bool | None = False) -> tuple[SortedNames, IntArray]:
        """Return the names of all partitions, and the place there of each number."""
        return self._sorted


class Numbered(NamedTuple):
    """A number for each row, batch by batch, and the place in sorted order of every number."""

    number: list[IntArray]
    place: IntArray


class Items(NamedTuple):
    """Items in sorted order, the attribute of each, and the number of each row's item.

    Some numbers may be of no item.
    """

    items: pl.DataFrame
    rows: Numbered
    attributes: SortedNames | None
    attribute_of_item: IntArray


class ClaimNumbers:
    """The names of all columns, numbered; an item is a pair of entity and attribute, or a fact."""

    def __init__(self, n_claims: int, preset: Preset) -> None:
        self._n_expected, self._preset = n_claims, preset
        self.sources, self.values = self._table("source"), self._table("value")
        self._keys: dict[str, NameTable] = {}
        self._at_work: deque[dict[str, Future[pl.Series]]] = deque()
        self.claims: list[pl.Series] = []
        self.weights: list[pl.Series] = []
        self.n_claims = 0

    def add(self, rows: pl.DataFrame, pool: ThreadPoolExecutor) -> None:
        """Give numbers to a batch of claims, each column by itself, while the next is read."""
        self.finish(all_but=BATCHES_AT_WORK - 1)
        self.n_claims += len(rows)
        for name in keys_of(rows):
            self._keys.setdefault(name, self._table(name))
        tables = {**self._keys, "value": self.values, "source": self.sources}
        before = self._at_work[-1] if self._at_work else {}
        self._at_work.append({
            name: pool.submit(_add_after, before.get(name), table, rows[name])
            for name, table in tables.items()
            if name in rows.columns
        })  # fmt: skip
        if "claim" in rows.columns:
            self.claims.append(rows["claim"])
        if "weight" in rows.columns:
            self.weights.append(rows["weight"])

    def _table(self, name: str) -> NameTable:
        preset = self._preset.get(name)
        return NameTable(self._n_expected) if preset is None else PresetNames(*preset)

    def finish(self, all_but: int = 0) -> None:
        """Wait until all batches are numbered, except the last ones."""
        while len(self._at_work) > all_but:
            for done in self._at_work.popleft().values():
                done.result()

    def items_sorted(self, pool: ThreadPoolExecutor) -> Items:
        """Return the items by entity, then attribute; their numbers are not kept here."""
        (first, entity), *others = self._keys.items()
        self._keys = {}
        names, place = entity.sorted()
        rows = Numbered(entity.numbers, place)
        if not others:
            no_attribute = np.zeros(len(names.spellings), dtype=np.int32)
            return Items(names.spellings.to_frame(first), rows, None, no_attribute)
        attributes, place = others[0][1].sorted()
        rows, pairs = _paired(rows, Numbered(others[0][1].numbers, place), pool)
        of_entity, of_attribute = np.divmod(pairs, len(place))
        items = [names.spellings.gather(of_entity), attributes.spellings.gather(of_attribute)]
        return Items(pl.DataFrame(items), rows, attributes, of_attribute.astype(np.int32))


def _add_after(before: Future[pl.Series] | None, table: NameTable, column: pl.Series) -> pl.Series:
    """Add the names of a batch as soon as those of the batch before are numbered."""
    if before is not None:
        before.result()
    return table.add(column)


def _paired(
    one: Numbered, other: Numbered, pool: ThreadPoolExecutor
) -> tuple[Numbered, NDArray[np.int64]]:
    """Give numbers to pairs of names in the same row; the old numbers are not kept.

    Also return the pairs that there are, in order: the place of one, times the number of other
    names, plus the place of the other.
    """
    most = min(PAIRS_PER_CLAIM * sum(map(len, one.number)), np.iinfo(np.int32).max)
    if len(one.place) * len(other.place) <= most:
        return _paired_by_place(one, other, pool)
    return _paired_by_hash(one, other)


def _paired_by_place(
    one: Numbered, other: Numbered, pool: ThreadPoolExecutor
) -> tuple[Numbered, NDArray[np.int64]]:
    """Give a number to every possible pair: nothing has to be looked up."""
    n_others = len(other.place)
    key_of_pair = (one.place[:, None].astype(np.int64) * n_others + other.place).reshape(-1)
    is_there = np.zeros(len(key_of_pair), dtype=np.bool_)

    def put(batch: int) -> None:
        """Put the numbers of pairs in the place of those of names."""
        one.number[batch] = one.number[batch] * np.int32(n_others)
        one.number[batch] += other.number[batch]
        is_there[one.number[batch]] = True

    list(pool.map(put, range(len(one.number))))
    other.number.clear()
    in_order = np.empty_like(is_there)
    in_order[key_of_pair] = is_there
    place_of_key = np.cumsum(in_order, dtype=np.int32)
    place_of_key -= 1
    return Numbered(one.number, place_of_key[key_of_pair]), np.flatnonzero(in_order)


def _paired_by_hash(one: Numbered, other: Numbered) -> tuple[Numbered, NDArray[np.int64]]:
    """Give a number to every pair that there is, where many more are possible."""
    table, found = NameTable(sum(map(len, one.number))), []
    while one.number:
        key = one.place[one.number.pop(0)].astype(np.uint64) * np.uint64(len(other.place))
        key += other.place[other.number.pop(0)].astype(np.uint64)
        hashes = _read_only(_scattered(key))  # no two keys have the same, so one hash is enough
        found.append(key[table.number(Hashes(hashes, hashes))])
    key = np.concatenate(found)
    order = np.argsort(key)
    return Numbered(table.numbers, _places(order)), key[order].astype(np.int64)


def hashes_of_items(names: list[pl.Series], seed: int) -> NDArray[np.uint64]:
    """Return a hash of each item, from the columns that name it."""
    first, *others = [column.hash(seed).to_numpy() for column in names]
    if not others:
        return first
    return _read_only(_scattered(first ^ (others[0] * np.uint64(0x9E3779B97F4A7C15))))


def marks_of(items: pl.DataFrame) -> NDArray[np.uint32]:
    """Return a number for each item that follows from its names alone.

    >>> items = pl.DataFrame({"entity": ["x", "y"], "attribute": ["", ""]})
    >>> bool(marks_of(items)[1] == marks_of(items[1:])[0])
    True
    """
    # another seed than that of `partition_of_row`, so that each partition has all marks
    return hashes_of_items(items.get_columns(), seed=2).astype(np.uint32)


def _scattered(number: NDArray[Any]) -> NDArray[np.uint64]:
    """Mix the bits of each number, so that each depends on all; no two become the same."""
    mixed = number ^ (number >> np.uint64(32))
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make hashes read-only, as Polars' are: so the kernel is compiled for one kind only."""
    array.flags.writeable = False
    return array
