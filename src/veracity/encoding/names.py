"""Rows in parts, by their items: each part is encoded by itself, only names are brought together.

All that is said of an item is in one part, so a part becomes complete blocks without a look at any
other. What has to be the same in all parts is small, and merges: whether values are numbers
(`ValueScan`), and the names of sources, values and attributes: brought together part by part
(`NameUnion`), or numbered while rows are parted (`SharedNames`), where all of them pass by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from veracity.encoding.block import IntArray
from veracity.encoding.numbering import NameTable, SortedNames
from veracity.naming import as_text

MOST_LABELS = 1 << 22
"""So many different values are numbered for all parts; if there are more, each stays in its own."""

MOST_TEXT = 1 << 30
FEWEST_OPEN = 1 << 16
"""Nor do more than so many bytes of values come together, if these are at least so many values."""

NUMBER = "number of "
"""Before the name of a column that has numbers in place of names."""


Places = tuple[IntArray, IntArray | None, IntArray]
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
    """Where there are more different values than this, which is too many to be numbered for all,
    there are no labels, and values are numbered within their part. Else 0."""

    @property
    def n_sources(self) -> int:
        """How many sources there are."""
        return len(self.sources)

    def grown(self, others: Names) -> tuple[Names, Places]:
        """These names and the others that are new; and the number here of each of the others.

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


def _grown(names: pl.Series, others: pl.Series) -> tuple[pl.Series, IntArray]:
    """Names with those of the others that are not among them; the number of each of the others.

    Names of another type are compared as text, since files may tell what frames do not.
    """
    if names.dtype != others.dtype:
        names, others = _alike(names, others)
    own = pl.DataFrame({"name": names, "number": np.arange(len(names), dtype=np.int64)})
    number = others.to_frame("name").join(own, on="name", how="left", maintain_order="left")
    is_new = number["number"].is_null()
    n_new = int(is_new.sum())
    places = number["number"].fill_null(0).to_numpy(writable=True)
    places[is_new.to_numpy()] = len(names) + np.arange(n_new)
    if not len(others):
        places = np.zeros(1, dtype=np.int64)  # binary facts have label 0, though it has no name
    return pl.concat([names, others.filter(is_new)]) if n_new else names, places.astype(np.int32)


def _alike(names: pl.Series, others: pl.Series) -> tuple[pl.Series, pl.Series]:
    if not len(names) or not len(others):
        dtype = names.dtype if len(names) else others.dtype
        return names.cast(dtype), others.cast(dtype)
    return as_text(names), as_text(others)


class PartitionNames(NamedTuple):
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

    def with_names(self, spelt: Mapping[str, SortedNames]) -> PartitionNames:
        """The same, with the names of other columns."""
        names = self
        if "source" in spelt:
            names = names._replace(sources=spelt["source"].spellings)
        if "value" in spelt:
            names = names._replace(spellings=spelt["value"][0], value_of_spelling=spelt["value"][1])
        if "attribute" in spelt:
            names = names._replace(attributes=spelt["attribute"].spellings)
        return names

    @property
    def are_none(self) -> bool:
        """Whether there are no names at all."""
        return not (len(self.sources) or len(self.spellings) or len(self.attributes))

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


class NameUnion:
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

    def add(self, names: PartitionNames) -> None:
        """Take the names of a part in."""
        self._sources.add(names.sources)
        self._attributes.add(names.attributes)
        if not self._n_open:
            self._spellings.add(names.spellings)
            self._open_if_too_many()

    def _open_if_too_many(self) -> None:
        found = self._spellings
        n_unnumbered = _n_open(found.n_at_least, found.n_bytes, self._most, self._most_text)
        if n_unnumbered:
            self._n_open, self._spellings = n_unnumbered, _Union()

    def together(self) -> PartitionNames:
        """All names, sorted, as if all parts had been one."""
        self._spellings.sorted()  # now it is known how many there are
        self._open_if_too_many()
        spellings, value, _ = SortedNames.of(self._spellings.sorted(), self._are_numbers)
        return PartitionNames(self._sources.sorted(), spellings, value, self._attributes.sorted())

    @property
    def n_unnumbered(self) -> int:
        """Than how many there are more different values, once all are together; 0 if not open."""
        return self._n_open


def _n_open(n_names: int, n_bytes: int, most_labels: int, most_text: int) -> int:
    """Than how many there are more, if so many different values are too many; else 0."""
    is_long = n_names > FEWEST_OPEN and n_bytes > most_text
    return min(n_names - 1, most_labels) if is_long or n_names > most_labels else 0


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


class SharedNames:
    """Names of some columns, numbered as rows come, in all parts alike: rows have numbers instead.

    Where values turn out to be too many (`n_unnumbered`), rows that come later keep them, and those
    that came before get them back.
    """

    def __init__(
        self, n_rows: int, most_labels: int = MOST_LABELS, most_text: int = MOST_TEXT
    ) -> None:
        self.n_unnumbered = 0
        self._n_rows, self._most, self._most_text = n_rows, most_labels, most_text
        self._numbering: dict[str, NameTable] = {}
        self._open_names: pl.Series | None = None
        self._n_bytes = 0

    def numbered(
        self, rows: pl.DataFrame, columns: Iterable[str], pool: ThreadPoolExecutor
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Rows with numbers in these columns; also those that name all values that may be new."""
        wanted = [name for name in columns if name != "value" or not self.n_unnumbered]
        for name in wanted:
            self._numbering.setdefault(name, NameTable(self._n_rows))
        numbering = [self._numbering[name] for name in wanted]
        new = dict(zip(wanted, pool.map(NameTable.add, numbering, rows[wanted]), strict=True))
        numbers = [
            pl.Series(NUMBER + name, own.numbers.pop())
            for name, own in zip(wanted, numbering, strict=True)
        ]
        numbered = rows.drop(wanted).with_columns(numbers)
        if "value" not in new:
            return numbered, rows
        self._open_if_too_many(new["value"])
        return numbered, new["value"].to_frame()

    def _open_if_too_many(self, new: pl.Series) -> None:
        self._n_bytes += int(new.estimated_size())
        values = self._numbering["value"]
        self.n_unnumbered = _n_open(values.n_names, self._n_bytes, self._most, self._most_text)
        if self.n_unnumbered:
            self._open_names = self._numbering.pop("value").names

    def given_back(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows as they are to be encoded: numbers under the names of their columns, or values."""
        numbers = [name for name in rows.columns if name.startswith(NUMBER)]
        rows = rows.with_columns(pl.col(numbers).cast(pl.Int32))
        rows = rows.rename({name: name.removeprefix(NUMBER) for name in numbers})
        if self._open_names is not None and NUMBER + "value" in numbers:
            rows = rows.with_columns(value=self._open_names.gather(rows["value"]))
        return rows.select(sorted(rows.columns))  # whichever of them had numbers

    def spelt(self, are_numbers: bool) -> dict[str, SortedNames]:
        """The names of the columns that were numbered, sorted; and whether values are numbers."""
        return {
            name: numbering.spelt(are_numbers if name == "value" else False)
            for name, numbering in self._numbering.items()
        }


def narrowed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with numbers for names, these in as few bytes as they need."""
    numbers = (column for column in rows if column.name.startswith(NUMBER))
    return rows.with_columns(column.shrink_dtype() for column in numbers)


def places_among(
    own: PartitionNames, all_names: PartitionNames, *, is_open: bool
) -> tuple[IntArray, ...]:
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
    if not len(names):
        return np.zeros(0, dtype=np.int32)
    numbered = pl.DataFrame({"name": among, "place": np.arange(len(among), dtype=np.int32)})
    found = names.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    return found["place"].to_numpy()
