"""A claims table becomes integer arrays; the names stay behind, to be put back on the results.

Sources, items and the values of an item are numbered in sorted order, so the arrays do not depend
on the order of the rows or on how they were spread over files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.errors import NoClaims
from veracity.schema import ClaimsTable, Kind, numbers_in

__all__ = ["UNKNOWN", "Block", "Claims", "Encoded", "FloatArray", "IntArray", "encode"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]

UNKNOWN = -1
"""What is known of a fact of which nothing is known."""

NO_NUMBERS: FloatArray = np.empty(0)
"""The numbers of facts that are none."""

CLAIMS_PER_BLOCK = 1 << 20
"""Where to cut: large enough to keep a thread busy, and the same whatever the number of threads."""


class Block(NamedTuple):
    """Some items with all that is claimed of them: all that a kernel sees.

    A *support* is a positive claim: a source states that the fact is true. A *voice* is a source
    that says anything about an item; a voice that does not support a fact of its item opposes it.
    Where the truth of an item is known beforehand, all its facts are: true (1) or false (0). Where
    claims are numeric, facts are numbers.
    """

    first_fact_of_item: IntArray
    first_support_of_fact: IntArray
    source_of_support: IntArray
    first_voice_of_item: IntArray
    source_of_voice: IntArray
    known_of_fact: IntArray
    number_of_fact: FloatArray = NO_NUMBERS

    @property
    def item_of_fact(self) -> IntArray:
        """Which item each fact is of."""
        n_facts_of_item = np.diff(self.first_fact_of_item)
        return np.repeat(np.arange(len(n_facts_of_item)), n_facts_of_item)

    @property
    def n_voices_of_fact(self) -> IntArray:
        """How many sources speak on each fact's item."""
        return np.repeat(np.diff(self.first_voice_of_item), np.diff(self.first_fact_of_item))

    def part(self, first_item: int, last_item: int) -> Block:
        """The items from `first_item` to before `last_item`, numbered from zero."""
        facts = self.first_fact_of_item[first_item : last_item + 1]
        supports = self.first_support_of_fact[facts[0] : facts[-1] + 1]
        voices = self.first_voice_of_item[first_item : last_item + 1]
        return Block(
            facts - facts[0],
            supports - supports[0],
            self.source_of_support[supports[0] : supports[-1]],
            voices - voices[0],
            self.source_of_voice[voices[0] : voices[-1]],
            self.known_of_fact[facts[0] : facts[-1]],
            self.number_of_fact[facts[0] : facts[-1]],
        )


@dataclass(frozen=True)
class Claims:
    """All claims as arrays, cut into blocks of whole items."""

    all: Block
    kind: Kind
    n_sources: int
    value_of_fact: pl.Series | None = None
    """What each fact says of its item; None for binary facts, which are true or false."""
    label_of_fact: IntArray | None = None
    """The number of that value, the same in all items however it is spelt there."""

    @property
    def n_items(self) -> int:
        """How many items are described."""
        return len(self.all.first_fact_of_item) - 1

    @property
    def n_facts(self) -> int:
        """How many facts are claimed."""
        return len(self.all.first_support_of_fact) - 1

    @property
    def n_claims(self) -> int:
        """How many claims were made, as the user would count them."""
        in_rows = self.all.source_of_voice if self.kind == "binary" else self.all.source_of_support
        return len(in_rows)

    @property
    def n_known(self) -> int:
        """Of how many items the truth is known beforehand."""
        known_of_item = self.all.known_of_fact[self.all.first_fact_of_item[:-1]]
        return int(np.count_nonzero(known_of_item != UNKNOWN))

    @property
    def usual_prevalence(self) -> float:
        """The share of facts that is true, as far as the kind of claims tells."""
        return self.n_items / self.n_facts if self.kind == "categorical" else 0.5

    @cached_property
    def first_item_of_block(self) -> list[int]:
        """Where the blocks begin, and the number of items at the end."""
        size_before = (
            self.all.first_voice_of_item
            + self.all.first_support_of_fact[self.all.first_fact_of_item]
        )
        n_blocks = max(1, round(int(size_before[-1]) / (2 * CLAIMS_PER_BLOCK)))
        cuts = np.searchsorted(size_before, np.linspace(0, size_before[-1], n_blocks + 1)[1:-1])
        return sorted({0, *(int(cut) for cut in cuts), self.n_items})

    @cached_property
    def blocks(self) -> list[Block]:
        """The claims, cut into blocks by item."""
        return [self.all.part(*pair) for pair in pairwise(self.first_item_of_block)]

    def cut(self, *, whole: bool) -> list[tuple[Block, slice]]:
        """The blocks, or all claims as one, each with the facts that belong to it."""
        if whole:
            return [(self.all, slice(0, self.n_facts))]
        first = self.all.first_fact_of_item[self.first_item_of_block]
        facts = [slice(int(a), int(b)) for a, b in pairwise(first)]
        return list(zip(self.blocks, facts, strict=True))


@dataclass(frozen=True)
class Encoded:
    """Claims as arrays, with the names of sources and items beside them."""

    claims: Claims
    sources: pl.Series
    items: pl.DataFrame
    notes: tuple[str, ...] = field(default=())

    @property
    def facts(self) -> pl.DataFrame:
        """One row a fact, in the order of the arrays: its item, and its value if it has one."""
        facts = self.items[self.claims.all.item_of_fact]
        if self.claims.value_of_fact is None:
            return facts
        return facts.with_columns(value=self.claims.value_of_fact)


def encode(table: ClaimsTable) -> Encoded:
    """Number the sources, items and values of a claims table.

    >>> rows = pl.DataFrame({"source": ["b", "a"], "entity": ["x", "x"], "value": ["1", "2"]})
    >>> encoded = encode(ClaimsTable(rows, "categorical", "a doctest"))
    >>> encoded.claims.all.source_of_support.tolist(), encoded.claims.value_of_fact.to_list()
    ([1, 0], ['1', '2'])
    """
    if table.rows.is_empty():
        raise NoClaims(f"{table.origin}: no claim is left to discover anything from")
    return _encode_binary(table) if table.kind == "binary" else _encode_values(table)


def _encode_values(table: ClaimsTable) -> Encoded:
    item_columns = [name for name in ("entity", "attribute") if name in table.rows.columns]
    source, sources = _number(table.rows["source"])
    item, items = _number_items(table.rows.select(item_columns))
    spelling, spellings = _number(table.rows["value"])
    value_of_spelling = _values_of(spellings)
    rows = pl.DataFrame(
        {"item": item, "value": value_of_spelling.gather(spelling), "source": source}
    )
    block, value_of_fact = _block(rows, len(items))
    merged = len(spellings) - value_of_spelling.n_unique()
    if merged:
        chosen = _most_usual(rows.with_columns(spelling=spelling))
        notes: tuple[str, ...] = (
            f"values are numbers and compared as such: {merged:,} spellings are merged",
        )
    else:
        chosen = value_of_spelling.arg_sort().gather(value_of_fact)
        notes = ()
    values = spellings.gather(chosen)
    if table.kind == "numeric":
        block = block._replace(number_of_fact=values.cast(pl.Float64).to_numpy(writable=True))
    claims = Claims(block, table.kind, len(sources), values, value_of_fact.astype(np.int64))
    return Encoded(claims, sources, items, notes)


def _block(rows: pl.DataFrame, n_items: int) -> tuple[Block, NDArray[Any]]:
    """Lay out numbered claims; also give the value of each fact."""
    supports = rows.sort("item", "value", "source")
    item, value, source = (supports[name].to_numpy() for name in ("item", "value", "source"))
    starts_fact = _differs(item) | _differs(value)
    is_kept = starts_fact | _differs(source)  # an exact repetition of a claim counts once
    item, value, source, starts_fact = (x[is_kept] for x in (item, value, source, starts_fact))
    first_support_of_fact = np.append(np.flatnonzero(starts_fact), len(item))
    first_fact_of_item = _first_of_group(item[starts_fact], n_items)
    source_of_support: IntArray = source.astype(np.int32)
    voices = pl.DataFrame({"item": item, "source": source}).unique()
    if len(voices) == len(item):  # nobody names two values of one item: a support is a voice
        first_voice_of_item = first_support_of_fact[first_fact_of_item]
        source_of_voice = source_of_support
    else:
        voices = voices.sort("item", "source")
        first_voice_of_item = _first_of_group(voices["item"].to_numpy(), n_items)
        source_of_voice = _indices(voices["source"])
    block = Block(
        first_fact_of_item,
        first_support_of_fact,
        source_of_support,
        first_voice_of_item,
        source_of_voice,
        _nothing_known(len(first_support_of_fact) - 1),
    )
    return block, value[starts_fact]


def _encode_binary(table: ClaimsTable) -> Encoded:
    rows = table.rows.select("fact", "source", "claim").unique()
    spoken = rows.filter(pl.len().over("fact", "source") == 1)
    if spoken.is_empty():
        raise NoClaims(f"{table.origin}: every source contradicts itself on every fact")
    n_torn = (len(rows) - len(spoken)) // 2
    source, sources = _number(spoken["source"])
    fact, facts = _number(spoken["fact"])
    voices = pl.DataFrame({"fact": fact, "source": source, "claim": spoken["claim"]})
    voices = voices.sort("fact", "source")
    supports = voices.filter("claim")
    block = Block(
        np.arange(len(facts) + 1, dtype=np.int64),
        _first_of_group(supports["fact"].to_numpy(), len(facts)),
        _indices(supports["source"]),
        _first_of_group(voices["fact"].to_numpy(), len(facts)),
        _indices(voices["source"]),
        _nothing_known(len(facts)),
    )
    claims = Claims(block, "binary", len(sources))
    torn = f"{n_torn:,} times a source calls one fact both true and false: both claims left out"
    return Encoded(claims, sources, facts.to_frame("fact"), (torn,) if n_torn else ())


def _number(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Number the distinct values of a column in sorted order: the numbers, and the values."""
    names = column.unique().sort()
    numbered = names.to_frame("name").with_row_index("number")
    numbers = column.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    return numbers["number"], names


def _number_items(columns: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """Number the items in sorted order of entity, then attribute."""
    key = pl.Series([0], dtype=pl.UInt64)
    parts = []
    for name in columns.columns:
        number, names = _number(columns[name])
        key = key * len(names) + number.cast(pl.UInt64)
        parts.append(names.alias(name))
    item, keys = _number(key)
    named = []
    for names in reversed(parts):
        named.append(names.gather(keys % len(names)))
        keys = keys // len(names)
    return item, pl.DataFrame(named[::-1])


def _values_of(spellings: pl.Series) -> pl.Series:
    """Which value each spelling means: 1 and 1.0 are one value where all values are numbers."""
    numbers = numbers_in(spellings)
    if numbers is None:
        return pl.Series(np.arange(len(spellings), dtype=np.uint32))
    return numbers.rank("dense").cast(pl.UInt32) - 1


def _most_usual(rows: pl.DataFrame) -> pl.Series:
    """The spelling most claims of a fact use; of equally usual ones the first in sorted order."""
    usual = pl.col("spelling").mode().min()
    return rows.group_by("item", "value").agg(usual).sort("item", "value")["spelling"]


def _differs(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a sorted column differs from the row above."""
    return np.append(True, column[1:] != column[:-1])


def _first_of_group(group: NDArray[Any], n_groups: int) -> IntArray:
    """Where each group of neighbours begins, and the length at the end."""
    first = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=n_groups), out=first[1:])
    return first


def _nothing_known(n_facts: int) -> IntArray:
    return np.full(n_facts, UNKNOWN, dtype=np.int8)


def _indices(numbers: pl.Series) -> IntArray:
    return np.array(numbers.to_numpy(), dtype=np.int32)
