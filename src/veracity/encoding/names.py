"""Number names by their hashes, batch by batch; each name is stored once, and sorted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encoding.block import IntArray
from veracity.kernels import twin
from veracity.naming import as_text
from veracity.reading.roles import keys_of, numbers_in

PAIRS_PER_CLAIM = 2
"""Most possible pairs of entity and attribute per claim for which all pairs are numbered."""

BATCHES_AT_WORK = 3
"""Number of batches numbered at the same time, so that no column waits for a slower one."""


class Hashes(NamedTuple):
    """Two hashes of each name, which together identify it."""

    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, column: pl.Series) -> Hashes:
        """Return the hashes of a column's names."""
        return cls(*(_read_only(column.hash(seed).to_numpy()) for seed in (1, 2)))


class SortedNames(NamedTuple):
    """Names in sorted order; names of the same value are neighbours and share its number."""

    spellings: pl.Series
    value_of_spelling: IntArray

    @property
    def n_merged(self) -> int:
        """Return the number of spellings beyond the first one of each value."""
        n_values = int(self.value_of_spelling[-1]) + 1 if len(self.spellings) else 0
        return len(self.spellings) - n_values

    @property
    def values(self) -> pl.Series:
        """Return the first spelling of each value."""
        if not self.n_merged:
            return self.spellings
        return self.spellings.filter(np.diff(self.value_of_spelling, prepend=-1) > 0)


def sorted_names(
    names: pl.Series, are_numbers: bool | None = False
) -> tuple[SortedNames, IntArray]:
    """Sort different names; also return the position of each of them.

    Numbers are compared by size: 1 and 1.0 are one value. If `are_numbers` is None, the names are
    checked for being numbers.
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
    """Return the position of each number in the order."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


class NameTable:
    """Numbering of the names of a column, batch by batch, in the order of their first use.

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
        number_names = twin("number_names", self._n_claims)
        self._slots, number, new_row = number_names(self._slots, self.n_names, *hashes)
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
        """Return the items by entity, then attribute; their numbers are freed."""
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
    """Assign numbers to the pairs of names in the same row; free the old numbers.

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
    """Give a number to every possible pair, without a search."""
    n_others = len(other.place)
    key_of_pair = (one.place[:, None].astype(np.int64) * n_others + other.place).reshape(-1)
    is_there = np.zeros(len(key_of_pair), dtype=np.bool_)

    def put(batch: int) -> None:
        """Replace the numbers of names by the numbers of pairs."""
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
    """Assign a number to every pair that occurs, if many more pairs are possible."""
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
    """Mix the bits of each number, so that each depends on all; no two numbers become equal."""
    mixed = number ^ (number >> np.uint64(32))
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make hashes read-only, like those of Polars, so that the kernel is compiled only once."""
    array.flags.writeable = False
    return array


MOST_LABELS = 1 << 22
"""Most different values that are numbered across partitions; if there are more, they are open."""

MOST_TEXT = 1 << 30
FEWEST_OPEN = 1 << 16
"""Limits for unnumbered values: more bytes than the first, and at least as many as the second."""

NUMBER = "number of "
"""Prefix of a column that has numbers in place of names."""

PartitionNames = Mapping[str, SortedNames]
"""Names of one partition, or of all, by column: "source", "value", "attribute".

Numbers in its blocks are positions in these. Columns that are missing have no names.
"""

Places = tuple[IntArray | None, IntArray | None, IntArray | None]
"""Other numbers for sources, labels and attributes, by those they have; None if they keep them."""


class Names(NamedTuple):
    """Names whose numbers all blocks share, each at the position of its number.

    They only ever grow: new names come behind the old ones, which keep their numbers.
    """

    sources: pl.Series
    labels: pl.Series
    """The values that are claimed, each once; empty for binary facts."""
    attributes: pl.Series
    """Empty where there are none."""
    n_unnumbered: int = 0
    """Lower bound of the number of unnumbered values, where there are some; else 0. There are no
    labels then: the values are too many, so they are numbered within their partition.

    Open values are too many to be numbered for all: they are numbered within their partition.
    """

    @classmethod
    def of(cls, names: PartitionNames, n_unnumbered: int = 0) -> Names:
        """Return the names of all partitions, each value by its first spelling."""
        none = pl.Series([], dtype=pl.String)
        sources, labels, attributes = (
            names[column].values if column in names else none.alias(alias)
            for column, alias in (("source", ""), ("value", ""), ("attribute", "attribute"))
        )
        return cls(sources, labels, attributes, n_unnumbered)

    @property
    def n_sources(self) -> int:
        """Return the number of sources."""
        return len(self.sources)

    def grown(self, others: Names) -> tuple[Names, Places]:
        """Add the others that are new; also return the number here of each of the others.

        Where values are open on either side, they stay so.
        """
        sources, source = _grown(self.sources, others.sources)
        attributes, attribute = _grown(self.attributes, others.attributes)
        n_unnumbered = max(self.n_unnumbered, others.n_unnumbered)
        if n_unnumbered:
            nothing = self.labels.clear()
            return Names(sources, nothing, attributes, n_unnumbered), (source, None, attribute)
        labels, label = _grown(self.labels, others.labels)
        return Names(sources, labels, attributes), (source, label, attribute)


def _grown(names: pl.Series, others: pl.Series) -> tuple[pl.Series, IntArray | None]:
    """Add those of the others that are new; also return the number of each of the others.

    Names of another type are compared as text, since files may hold what frames do not.
    """
    if not len(others):
        return names, None  # binary facts have label 0, though it has no name
    if names.dtype != others.dtype:
        names, others = (
            (as_text(names), as_text(others)) if len(names) else (names.cast(others.dtype), others)
        )
    number = _number_among(others, names)
    is_new = number.is_null()
    numbers = number.fill_null(0).to_numpy(writable=True)
    numbers[is_new.to_numpy()] = len(names) + np.arange(int(is_new.sum()))
    return pl.concat([names, others.filter(is_new)]) if is_new.any() else names, numbers


def _number_among(names: pl.Series, others: pl.Series) -> pl.Series:
    """Return the position of each name among others; null if it is not among them."""
    numbered = pl.DataFrame({"name": others, "place": np.arange(len(others), dtype=np.int32)})
    found = names.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    return found["place"]


def places_among(own: PartitionNames, names: PartitionNames) -> Places:
    """Return the global numbers of a partition's sources, values and attributes.

    Open values, which are not among all names, keep the numbers they have in their partition.
    """
    found: dict[str, IntArray] = {}
    for column in own.keys() & names.keys():
        place = _number_among(own[column].values, names[column].spellings).to_numpy()
        found[column] = names[column].value_of_spelling[place]
    return found.get("source"), found.get("value"), found.get("attribute")


class NameUnion:
    """Names of all partitions: added one partition after the other, then sorted.

    Where there are more different values than `most_labels`, or very many that have more bytes than
    `most_text`, no name of a value is kept: nothing that learns from so many needs them, and values
    are compared within an item only.
    """

    def __init__(
        self, *, are_numbers: bool, most_labels: int = MOST_LABELS, most_text: int = MOST_TEXT
    ) -> None:
        self.n_unnumbered = 0
        self._are_numbers, self._most, self._most_text = are_numbers, most_labels, most_text
        self._unions: dict[str, _Union] = {}

    def add(self, names: PartitionNames) -> None:
        """Add the names of a partition."""
        for column, own in names.items():
            if column != "value" or not self.n_unnumbered:
                self._unions.setdefault(column, _Union()).add(own.spellings)
        self._drop_values_if_too_many()

    def _drop_values_if_too_many(self) -> None:
        values = self._unions.get("value")
        if values is not None:
            sizes = values.n_names, values.n_bytes
            self.n_unnumbered = _n_unnumbered(*sizes, self._most, self._most_text)
        if self.n_unnumbered:
            self._unions.pop("value", None)

    def sorted(self) -> PartitionNames:
        """Return all names, sorted, as if all partitions had been one."""
        for union in self._unions.values():
            union.compact()
        self._drop_values_if_too_many()  # now it is known how many there are
        return {
            column: sorted_names(union.names, self._are_numbers if column == "value" else False)[0]
            for column, union in self._unions.items()
        }


class _Union:
    """Different names, brought together whenever they have doubled; till then they are fewer."""

    def __init__(self) -> None:
        self._series: list[pl.Series] = []
        self.n_names = self.n_bytes = 0

    def add(self, names: pl.Series) -> None:
        self._series.append(names)
        if sum(map(len, self._series)) > 2 * self.n_names + 1000:
            self.compact()

    def compact(self) -> None:
        self._series = [pl.concat(self._series).unique()]
        self.n_names, self.n_bytes = len(self.names), int(self.names.estimated_size())

    @property
    def names(self) -> pl.Series:
        return self._series[0]


def _n_unnumbered(n_names: int, n_bytes: int, most_labels: int, most_text: int) -> int:
    """Return a number that these different values exceed, if they are too many; else 0."""
    is_long = n_names > FEWEST_OPEN and n_bytes > most_text
    return min(n_names - 1, most_labels) if is_long or n_names > most_labels else 0


class SharedNames:
    """Numbering of names as rows arrive, equal in all partitions; rows then hold numbers.

    If values turn out to be too many (`n_unnumbered`), later rows hold the values themselves, and
    earlier rows get them back.
    """

    def __init__(
        self, n_rows: int, most_labels: int = MOST_LABELS, most_text: int = MOST_TEXT
    ) -> None:
        self.n_unnumbered = 0
        self._n_rows, self._most, self._most_text = n_rows, most_labels, most_text
        self._tables: dict[str, NameTable] = {}
        self._open_names: pl.Series | None = None
        self._n_bytes = 0

    def numbered(
        self, rows: pl.DataFrame, columns: Iterable[str], pool: ThreadPoolExecutor
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Put numbers in these columns; also return rows with all values that may be new."""
        named = [name for name in columns if name != "value" or not self.n_unnumbered]
        tables = [self._tables.setdefault(name, NameTable(self._n_rows)) for name in named]
        new = dict(zip(named, pool.map(NameTable.add, tables, rows[named]), strict=True))
        pairs = zip(named, tables, strict=True)
        numbers = [pl.Series(NUMBER + name, table.numbers.pop()) for name, table in pairs]
        numbered = rows.drop(named).with_columns(numbers)
        if "value" not in new:
            return numbered, rows
        self._n_bytes += int(new["value"].estimated_size())
        n_names = self._tables["value"].n_names
        self.n_unnumbered = _n_unnumbered(n_names, self._n_bytes, self._most, self._most_text)
        if self.n_unnumbered:
            self._open_names = self._tables.pop("value").names
        return numbered, new["value"].to_frame()

    def restored(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows as they are to be encoded: columns by their names, with open values."""
        numbers = [name for name in rows.columns if name.startswith(NUMBER)]
        rows = rows.with_columns(pl.col(numbers).cast(pl.Int32))
        rows = rows.rename({name: name.removeprefix(NUMBER) for name in numbers})
        if self._open_names is not None and NUMBER + "value" in numbers:
            rows = rows.with_columns(value=self._open_names.gather(rows["value"]))
        return rows.select(sorted(rows.columns))  # whichever of them had numbers

    def sorted(self, *, are_numbers: bool) -> Preset:
        """Return the names of the columns that were numbered, sorted."""
        return {
            name: table.sorted(are_numbers if name == "value" else False)
            for name, table in self._tables.items()
        }


def narrowed(rows: pl.DataFrame) -> pl.DataFrame:
    """Store numbers in place of names in as few bytes as they need."""
    numbers = (column for column in rows if column.name.startswith(NUMBER))
    return rows.with_columns(column.shrink_dtype() for column in numbers)
