"""The names of one partition, and of all: brought together, or numbered as rows come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import IntArray
from veracity.encoding.numbering import NameTable, Preset, SortedNames, sorted_names
from veracity.naming import as_text

MOST_LABELS = 1 << 22
"""Most different values that are numbered across partitions; if there are more, they are open."""

MOST_TEXT = 1 << 30
FEWEST_OPEN = 1 << 16
"""Values are also open if they have more bytes than this, and are at least so many."""

NUMBER = "number of "
"""Prefix of a column that has numbers in place of names."""

PartitionNames = Mapping[str, SortedNames]
"""The names of one partition, or of all, by column: "source", "value", "attribute".

Numbers in its blocks are places in these. Columns that are missing have no names.
"""

Places = tuple[IntArray | None, IntArray | None, IntArray | None]
"""Other numbers for sources, labels and attributes, by those they have; None if they keep them."""


class Names(NamedTuple):
    """The names of what is numbered across blocks, each at the place of its number.

    They only ever grow: new names come behind the old ones, which keep their numbers.
    """

    sources: pl.Series
    labels: pl.Series
    """The values that are claimed, each once; empty for binary facts."""
    attributes: pl.Series
    """Empty where there are none."""
    n_unnumbered: int = 0
    """Where values are open, a number that they exceed, and there are no labels; else 0.

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
    """Return the place of each name among others; null where it is none of them."""
    numbered = pl.DataFrame({"name": others, "place": np.arange(len(others), dtype=np.int32)})
    found = names.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    return found["place"]


def places_among(own: PartitionNames, names: PartitionNames) -> Places:
    """Return the number among all names of each of a partition's sources, values and attributes.

    Open values, which are not among all names, keep the numbers they have in their partition.
    """
    found: dict[str, IntArray] = {}
    for column in own.keys() & names.keys():
        place = _number_among(own[column].values, names[column].spellings).to_numpy()
        found[column] = names[column].value_of_spelling[place]
    return found.get("source"), found.get("value"), found.get("attribute")


class NameUnion:
    """The names of all partitions: added one partition after the other, then sorted.

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
        """Take the names of a partition in."""
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
    """Numbers names as rows come, alike in all partitions: rows have numbers instead.

    Where values turn out to be too many (`n_unnumbered`), rows that come later keep them, and those
    that came before get them back.
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
