"""Claims become integer arrays; the names stay behind, to be put back on the results.

Batch by batch, names are numbered by their hashes in the order they come, and each name is kept
once; then the names are sorted and renumbered. So sources, items and the values of an item are
numbered in sorted order, and the arrays do not depend on the order of the rows or on how they
were spread over files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.block import UNKNOWN, Block, IntArray, Names
from veracity.claims.read import ClaimsStream
from veracity.claims.schema import ClaimsTable, Kind, numbers_in
from veracity.errors import NoClaims
from veracity.io.memory import BYTES_PER_CLAIM, require_room
from veracity.kernels import Numbers
from veracity.kernels.loading import FEW, kernels, kernels_for

__all__ = ["CLAIMS_PER_BLOCK", "Encoded", "Part", "encode"]

CLAIMS_PER_BLOCK = 1 << 20
"""Where to cut: large enough to keep a thread busy, and the same whatever the number of threads."""

CLAIMS_PER_PART = 1 << 17
"""Claims are laid out in parts of this size, which stay in a processor's cache."""


@dataclass(frozen=True)
class Part:
    """A block with the names that belong to it alone: those of its items, and what its facts say.

    `values` is None for binary facts, which are true or false. A value is spelt as most claims of
    its item spell it.
    """

    block: Block
    items: pl.DataFrame
    values: pl.Series | None

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact: its item, and its value if it has one."""
        facts = self.items[self.block.item_of_fact]
        return facts if self.values is None else facts.with_columns(value=self.values)


@dataclass(frozen=True)
class Encoded:
    """Claims as complete blocks, with the names beside them."""

    kind: Kind
    names: Names
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def blocks(self) -> list[Block]:
        """All that is claimed, without names of items."""
        return [part.block for part in self.parts]

    @property
    def n_items(self) -> int:
        """How many items are described."""
        return sum(part.block.n_items for part in self.parts)

    @property
    def n_facts(self) -> int:
        """How many facts are claimed."""
        return sum(part.block.n_facts for part in self.parts)

    @property
    def n_known(self) -> int:
        """Of how many items the truth is known."""
        return sum(int(np.count_nonzero(block.is_known)) for block in self.blocks)

    def by_block(self, number_of_fact: NDArray[Any]) -> list[NDArray[Any]]:
        """Numbers of all facts, as those of each block."""
        bounds = np.cumsum([block.n_facts for block in self.blocks])[:-1]
        return np.split(number_of_fact, bounds)

    @property
    def n_claims(self) -> int:
        """How many claims were made, as a user would count them."""
        if self.kind == "binary":
            return sum(len(block.source_of_voice) for block in self.blocks)
        return sum(len(block.source_of_support) for block in self.blocks)

    @property
    def items(self) -> pl.DataFrame:
        """One row per item: its entity and attribute, or its fact."""
        return _together([part.items for part in self.parts])

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact, in the order of the blocks."""
        return _together([part.facts for part in self.parts])

    def with_known(self, known: list[Block]) -> Encoded:
        """The same, with blocks to which what is known was added."""
        parts = [replace(part, block=own) for part, own in zip(self.parts, known, strict=True)]
        return replace(self, parts=tuple(parts))

    def with_known_facts(self, known_of_fact: IntArray) -> Encoded:
        """The same, with what is known of each of all facts."""
        pairs = zip(self.blocks, self.by_block(known_of_fact), strict=True)
        return self.with_known([block._replace(known_of_fact=own) for block, own in pairs])

    def numbered_as(self, names: Names) -> Encoded:
        """The same, numbered as elsewhere; names that are new there come behind."""
        grown, places = names.grown(self.names)
        parts = (replace(part, block=part.block.renumbered(*places)) for part in self.parts)
        return replace(self, names=grown, parts=tuple(parts))


def _together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def encode(
    table: ClaimsTable | ClaimsStream,
    tell: Callable[[str, int, int], None] | None = None,
    claims_per_block: int = CLAIMS_PER_BLOCK,
) -> Encoded:
    """Number the sources, items and values of claims; `tell` is told how far it is.

    >>> rows = pl.DataFrame({"source": ["b", "a"], "entity": ["x", "x"], "value": ["1", "2"]})
    >>> encoded = encode(ClaimsTable(rows, "categorical", "a doctest"))
    >>> encoded.blocks[0].source_of_support.tolist(), encoded.facts["value"].to_list()
    ([1, 0], ['1', '2'])
    """
    claims = f"{table.origin}: {table.n_rows:,} claims"
    require_room(BYTES_PER_CLAIM * table.n_rows, claims)
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        numbered = Numbered(table.n_rows)
        batches = table.batches()
        if table.n_rows <= FEW:  # a batch costs the reference as much as all names before it
            whole = list(batches)
            batches = iter([pl.concat(whole)] if whole else [])
        for rows in batches:
            if tell is not None:
                tell("encoding", numbered.n_claims, table.n_rows)
            if len(rows):
                numbered.add(rows, pool)
        if not numbered.n_claims:
            raise NoClaims(f"{table.origin}: no claim is left to discover anything from")
        if table.kind == "binary":
            return _encode_binary(numbered, table.origin, claims_per_block)
        return _encode_values(numbered, table.kind, pool, claims_per_block)


# --- names to numbers -----------------------------------------------------------------------------


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
        return names.gather(order), _places(order.to_numpy())

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


class _Items(NamedTuple):
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
        for done in [pool.submit(task) for task in work]:
            done.result()

    def _add_items(self, rows: pl.DataFrame) -> None:
        columns = [rows[name] for name in ("entity", "attribute", "fact") if name in rows.columns]
        hashes = [Hashes.of(column) for column in columns]
        of_item = hashes[0] if len(hashes) == 1 else hashes[0].mixed_with(hashes[1])
        new_row = self.items.number(of_item)
        for column, own in zip(columns, hashes, strict=True):
            if len(new_row):
                names = self.item_parts.setdefault(column.name, Numbering(self._n_claims))
                names.add(column.gather(new_row), own.at(new_row))

    def items_sorted(self) -> _Items:
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
            return _Items(items, _places(order), nothing, np.zeros(len(items), dtype=np.int32))
        names, number = parts[1]
        return _Items(items, _places(order), names, number[order].astype(np.int32))


def _mixed(one: IntArray, other: IntArray) -> NDArray[np.uint64]:
    mixed = one ^ (other * np.uint64(0x9E3779B97F4A7C15))
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return _read_only(mixed ^ (mixed >> np.uint64(32)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """All hashes are, as those from Polars: so the kernel is compiled for one kind only."""
    array.flags.writeable = False
    return array


def _places(order: IntArray) -> IntArray:
    """At which place in the order each number stands."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


# --- numbers to blocks ----------------------------------------------------------------------------


def _encode_values(
    numbered: Numbered, kind: Kind, pool: ThreadPoolExecutor, claims_per_block: int
) -> Encoded:
    sources, source_place = numbered.sources.sorted()
    items = numbered.items_sorted()
    spellings, spelling_place = numbered.values.sorted()
    value_of_spelling = _values_of(spellings)
    n_values = int(value_of_spelling.max()) + 1
    merged = len(spellings) - n_values
    by_value = np.argsort(value_of_spelling, kind="stable")  # spellings of a value side by side
    spellings, value_of_spelling = spellings.gather(by_value), value_of_spelling[by_value]
    spelling_place = _places(by_value)[spelling_place]
    block, spelling_of_fact = _block(
        numbered.items.with_places(items.place),
        numbered.values.with_places(spelling_place),
        numbered.sources.with_places(source_place),
        value_of_spelling,
        pool,
    )
    values = spellings.gather(spelling_of_fact)
    block = block._replace(
        label_of_fact=value_of_spelling[spelling_of_fact].astype(np.int32),
        attribute_of_item=items.attribute_of_item,
    )
    if kind == "numeric":
        numbers = values.cast(pl.Float64).to_numpy(writable=True)
        unknown = np.full(block.n_items, np.nan)
        block = block._replace(number_of_fact=numbers, known_number_of_item=unknown)
    first = np.searchsorted(value_of_spelling, np.arange(n_values))
    names = Names(sources, spellings.gather(first), items.attributes)
    note = f"values are numbers and compared as such: {merged:,} spellings are merged"
    parts = _cut(Part(block, items.items, values), claims_per_block)
    return Encoded(kind, names, parts, (note,) if merged else ())


def _cut(whole: Part, claims_per_block: int) -> tuple[Part, ...]:
    """Parts of whole items, with about so many claims each."""
    block = whole.block
    size = block.first_voice_of_item + block.first_support_of_fact[block.first_fact_of_item]
    n_blocks = max(1, round(int(size[-1]) / (2 * claims_per_block)))
    if n_blocks == 1:
        return (whole,)
    cuts = np.searchsorted(size, np.linspace(0, size[-1], n_blocks + 1)[1:-1])
    bounds = sorted({0, *(int(cut) for cut in cuts), block.n_items})
    parts = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        a, b = (int(block.first_fact_of_item[item]) for item in (first, last))
        values = None if whole.values is None else whole.values[a:b]
        own = block.part(first, last, number)
        parts.append(Part(own, whole.items[first:last], values))
    return tuple(parts)


def _block(
    item: Numbers,
    spelling: Numbers,
    source: Numbers,
    value_of_spelling: IntArray,
    pool: ThreadPoolExecutor,
) -> tuple[Block, IntArray]:
    """Lay out numbered claims, part by part; also give the usual spelling of each fact."""
    n_claims, n_items = len(item.number), len(item.place)
    items_per_part = max(1, n_items * CLAIMS_PER_PART // n_claims)
    first_of_part, item_of_claim, key = kernels.part_claims(item, spelling, source, items_per_part)

    def lay_out(part: int) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...]]:
        claims = slice(first_of_part[part], first_of_part[part + 1])
        first_item = part * items_per_part
        found = kernels.lay_out(
            item_of_claim[claims] - np.int32(first_item),
            key[claims],
            value_of_spelling,
            min(items_per_part, n_items - first_item),
        )
        return found, kernels.find_voices(*found[:3])

    laid, voices = zip(*pool.map(lay_out, range(len(first_of_part) - 1)), strict=True)
    first_fact, first_support, sources, spellings = zip(*laid, strict=True)
    first_fact_of_item = _joined(first_fact)
    first_support_of_fact = _joined(first_support)
    source_of_support = np.concatenate(sources)
    if sum(len(own) for _, own in voices) == len(source_of_support):
        # nobody names two values of one item: a support is a voice
        first_voice_of_item = first_support_of_fact[first_fact_of_item]
        source_of_voice = source_of_support
    else:
        first_voice_of_item = _joined([first for first, _ in voices])
        source_of_voice = np.concatenate([own for _, own in voices])
    block = Block(
        first_fact_of_item,
        first_support_of_fact,
        source_of_support,
        first_voice_of_item,
        source_of_voice,
        *_nothing_known(len(first_support_of_fact) - 1, n_items),
    )
    return block, np.concatenate(spellings)


def _joined(firsts: Iterable[IntArray]) -> IntArray:
    """Where groups begin, of parts that stand one behind the other; the length at the end."""
    joined: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    length = 0
    for first in firsts:
        joined.append(first[1:] + length)
        length += int(first[-1])
    return np.concatenate(joined)


def _encode_binary(numbered: Numbered, origin: str, claims_per_block: int) -> Encoded:
    sources, source_place = numbered.sources.sorted()
    facts = numbered.items_sorted()
    rows = pl.DataFrame(
        {
            "fact": numbered.items.renumbered(facts.place),
            "source": numbered.sources.renumbered(source_place),
            "claim": pl.concat(numbered.claims),
        }
    ).unique()
    spoken = rows.filter(pl.len().over("fact", "source") == 1)
    if spoken.is_empty():
        raise NoClaims(f"{origin}: every source contradicts itself on every fact")
    n_self_contradicting = (len(rows) - len(spoken)) // 2
    voices = spoken.sort("fact", "source")
    kept_sources, source = np.unique(voices["source"].to_numpy(), return_inverse=True)
    kept_facts, fact = np.unique(voices["fact"].to_numpy(), return_inverse=True)
    is_support = voices["claim"].to_numpy()
    block = Block(
        np.arange(len(kept_facts) + 1, dtype=np.int64),
        _first_of_group(fact[is_support], len(kept_facts)),
        source[is_support].astype(np.int32),
        _first_of_group(fact, len(kept_facts)),
        source.astype(np.int32),
        *_nothing_known(len(kept_facts), len(kept_facts)),
    )
    names = Names(sources.gather(kept_sources), pl.Series([], dtype=pl.String), facts.attributes)
    note = (
        f"{n_self_contradicting:,} times a source calls one fact both true and false: both claims "
        "left out"
    )
    parts = _cut(Part(block, facts.items[kept_facts], None), claims_per_block)
    return Encoded("binary", names, parts, (note,) if n_self_contradicting else ())


def _values_of(spellings: pl.Series) -> IntArray:
    """Which value each spelling means: 1 and 1.0 are one value where all values are numbers."""
    numbers = numbers_in(spellings)
    if numbers is None:
        return np.arange(len(spellings), dtype=np.int32)
    return (numbers.rank("dense") - 1).cast(pl.Int32).to_numpy()


def _first_of_group(group: NDArray[Any], n_groups: int) -> IntArray:
    """Where each group of neighbours begins, and the length at the end."""
    first = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=n_groups), out=first[1:])
    return first


def _nothing_known(n_facts: int, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
    """What is known of facts, their labels and the attributes of items before any is told."""
    known = np.full(n_facts, UNKNOWN, dtype=np.int8)
    return known, np.zeros(n_facts, dtype=np.int32), np.zeros(n_items, dtype=np.int32)
