"""Encode claims as integer arrays, with tables of names to translate results back.

Batch by batch, names are numbered by their hashes in the order they come, and each name is stored
once. Then the names are sorted and renumbered. So sources, items and the values of an item are
numbered in sorted order, and the arrays do not depend on the order of the rows or on their
distribution over files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl

from veracity import kernels
from veracity.encoding.block import UNKNOWN, Block, FloatArray, IntArray, voices_of
from veracity.encoding.names import (
    ClaimNumbers,
    Names,
    Numbered,
    PartitionNames,
    Preset,
    SortedNames,
    marks_of,
)
from veracity.encoding.partitions import (
    Encoded,
    Partition,
    PartitionKey,
    PartitionsInMemory,
    columns_of_key,
    usual_size,
)
from veracity.encoding.shares import NO_WEIGHTS, WeightCounts, affirmed_voices, with_shares
from veracity.errors import NoClaims
from veracity.io.memory import release_memory
from veracity.kernels import MAX_CLAIMS_NUMPY, Numbers
from veracity.kernels.reference import begins_of, joined_begins
from veracity.printing import counted
from veracity.reading.claims import Claims
from veracity.reading.clean import Settled, settled_batches
from veracity.reading.roles import Kind
from veracity.workers import ordered_map

CLAIMS_PARTED = 1 << 19
"""Number of claims, or a batch with more, that are divided by item at a time."""

CLAIMS_LAID_OUT = 1 << 17
"""Number of claims that are laid out at a time: these stay in a processor's cache."""


class EncodingCounts(NamedTuple):
    """Counts of claims that were left out or merged; they add up over partitions."""

    repeats: Settled = Settled()
    weights: WeightCounts = NO_WEIGHTS
    n_self_contradicting: int = 0

    def __add__(self, other: EncodingCounts) -> EncodingCounts:  # type: ignore[override]
        """Add the counts of another partition."""
        return EncodingCounts(
            self.repeats + other.repeats,
            self.weights + other.weights,
            self.n_self_contradicting + other.n_self_contradicting,
        )

    def notes(self, names: PartitionNames) -> tuple[str, ...]:
        """Return notes on how claims were encoded; `names` are those of all partitions."""
        notes = [*self.repeats.notes, *self.weights.notes]
        n_merged = names["value"].n_merged if "value" in names else 0
        if self.n_self_contradicting:
            notes.append(
                f"{counted(self.n_self_contradicting, 'time')} a source calls one fact both true "
                "and false: both claims are left out"
            )
        elif n_merged:
            merged = counted(n_merged, "spelling is", "spellings are")
            notes.append(f"values are numbers and compared as such: {merged} merged with another")
        return tuple(notes)

    def check_some(self, parts: Sized, origin: str) -> None:
        """Refuse claims if none is left."""
        if parts:
            return
        if self.n_self_contradicting:
            raise NoClaims(f"{origin}: every source contradicts itself on every fact")
        raise NoClaims(f"{origin}: no claim is left")


def encode(
    table: Claims,
    tell: Callable[[str, int, int], None] | None = None,
    claims_per_block: int | None = None,
    threads: int | None = None,
    key: PartitionKey = "item",
) -> Encoded:
    """Encode claims as one partition that stays in memory; report progress to `tell`.

    >>> rows = pl.DataFrame({"source": ["b", "a"], "entity": ["x", "x"], "value": ["1", "2"]})
    >>> encoded = encode(Claims.of_rows(rows, "categorical", "a doctest"))
    >>> encoded.blocks[0].source_of_support.tolist(), encoded.facts["value"].to_list()
    ([1, 0], ['1', '2'])
    """
    found = encode_partition(
        _with_progress(table, tell), table.kind, table.n_rows, claims_per_block,
        origin=table.origin, are_all=True, threads=threads, key=key,
    )  # fmt: skip
    found.counts.check_some(found.parts, table.origin)
    if table.n_rows > MAX_CLAIMS_NUMPY:
        release_memory()
    names, notes = Names.of(found.names), found.counts.notes(found.names)
    until = max(table.until, found.counts.repeats.until)
    return Encoded(table.kind, names, PartitionsInMemory(found.parts), notes, until)


def _with_progress(
    table: Claims, tell: Callable[[str, int, int], None] | None
) -> Iterator[pl.DataFrame]:
    """Yield the batches of a table; report the number of rows yielded."""
    n_rows = 0
    for rows in table.batches():
        if tell is not None:
            tell("encoding", n_rows, table.n_rows)
        n_rows += len(rows)
        yield rows


# --- one partition --------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedPartition:
    """Complete blocks made of the rows of one partition, numbered by its names.

    There is no block if no claim is left. `names` lacks the names that were numbered before.
    """

    names: PartitionNames
    parts: tuple[Partition, ...]
    counts: EncodingCounts


def encode_partition(
    batches: Iterable[pl.DataFrame],
    kind: Kind,
    n_rows: int,
    claims_per_block: int | None = None,
    *,
    origin: str = "claims",
    are_all: bool = False,
    are_numbers: bool | None = None,
    preset: Preset = MappingProxyType({}),
    threads: int | None = None,
    key: PartitionKey = "item",
) -> EncodedPartition:
    """Encode rows by themselves: all claims about their items have to be among them.

    A pure function, for any engine to call wherever the rows are.

    Parameters
    ----------
    batches
        The checked and complete rows of a `Claims`.
    kind
        The kind of claims.
    n_rows
        About how many rows there are.
    claims_per_block
        About how many claims a block has; see `usual_size` if None.
    origin
        Name of the claims for messages.
    are_all
        True if there is no other partition: then one clear date decides the order of ambiguous
        ones.
    are_numbers
        True if all values are plain numbers, also those of other partitions: then spellings of one
        number are one value. Found out if None, which is right if there are no other partitions.
    preset
        Names that were numbered before, for all partitions: rows have these numbers.
    threads
        How many threads work; all cores unless given.
    key
        Scope of a block: whole items, or whole entities.
    """
    batches, repeats = settled_batches(batches, kind, origin, are_all=are_all)
    if n_rows <= MAX_CLAIMS_NUMPY:  # a batch costs the reference as much as all names before it
        whole = list(batches)
        batches = iter([pl.concat(whole)] if whole else [])
    with ThreadPoolExecutor(threads or pl.thread_pool_size()) as pool:
        claims = ClaimNumbers(n_rows, preset)
        for rows in batches:
            if len(rows):
                claims.add(rows, pool)
        claims.finish()
        if not claims.n_claims:
            return EncodedPartition({}, (), EncodingCounts(repeats))
        if kind == "binary":
            return _encode_binary(claims, pool, claims_per_block, EncodingCounts(repeats))
        names, laid, (items, part), weights = _encode_values(claims, kind, pool, are_numbers)
        size = claims_per_block or usual_size(claims.n_claims, len(names["source"].spellings))
        own = {column: found for column, found in names.items() if column not in preset}
        keys = items.select(columns_of_key(items.columns, key))
        begins = None if keys.width == items.width else begins_of_runs(keys)
        parts = _cut(laid, part, size, pool, begins)
        return EncodedPartition(own, parts, EncodingCounts(repeats, weights))


def begins_of_runs(keys: pl.DataFrame) -> IntArray:
    """Return the places where rows differ from the row before, and the number of rows.

    >>> begins_of_runs(pl.DataFrame({"entity": ["x", "x", "y"]})).tolist()
    [0, 2, 3]
    """
    runs = keys.select(pl.struct(keys.columns).rle_id()).to_series().to_numpy()
    return np.append(np.flatnonzero(np.diff(runs, prepend=-1)), len(keys))


def _encode_values(
    claims: ClaimNumbers, kind: Kind, pool: ThreadPoolExecutor, are_numbers: bool | None
) -> tuple[
    Mapping[str, SortedNames],
    list[Block],
    tuple[pl.DataFrame, Callable[[Block, slice], Partition]],
    WeightCounts,
]:
    """Lay out claims that name values.

    Return names, blocks, the items, the function that makes a partition of a block, and counts.
    """
    sorting = pool.submit(claims.values.sorted, are_numbers)
    sources, source_place = claims.sources.sorted()
    items = claims.items_sorted(pool)
    values, spelling_place = sorting.result()
    spellings, value_of_spelling = values
    rows = (
        items.rows,
        Numbered(claims.values.numbers, spelling_place),
        Numbered(claims.sources.numbers, source_place),
    )
    weighed: list[IntArray] = []
    if claims.weights:  # numbers are not kept while claims are laid out
        weighed = [place[np.concatenate(number)] for number, place in rows]
    marks = pool.submit(marks_of, items.items)
    laid, weights = _laid_out(rows, len(items.items), value_of_spelling, pool), NO_WEIGHTS
    if claims.weights:
        item, spelling, source = weighed
        weight = pl.concat(claims.weights).to_numpy()
        rows_of_block = item, value_of_spelling[spelling], source
        laid = [with_shares(Block.joined(laid), rows_of_block, weight)]
        weights = WeightCounts.of(laid[0], weight)
    mark_of_item = marks.result()

    def part(block: Block, own: slice) -> Partition:
        """Make a partition of some items, whose facts have spellings in place of labels."""
        texts = spellings.gather(block.label_of_fact)
        block = block._replace(
            label_of_fact=value_of_spelling[block.label_of_fact].astype(np.int32),
            attribute_of_item=items.attribute_of_item[own],
            mark_of_item=mark_of_item[own],
        )
        if kind == "numeric":
            numbers = texts.cast(pl.Float64).to_numpy(writable=True)
            unknown = np.full(block.n_items, np.nan)
            block = block._replace(number_of_fact=numbers, known_number_of_item=unknown)
        return Partition(block, items.items[own], texts)

    names = {"source": sources, "value": values}
    if items.attributes is not None:
        names["attribute"] = items.attributes
    return names, laid, (items.items, part), weights


def _cut(
    laid: Sequence[Block],
    part: Callable[[Block, slice], Partition],
    claims_per_block: int,
    pool: ThreadPoolExecutor,
    begins: IntArray | None = None,
) -> tuple[Partition, ...]:
    """Join blocks, in order, into larger blocks of whole items, with about `claims_per_block` each.

    If `begins` is given, blocks begin only at these items.
    """
    sizes = (own.first_voice_of_item + own.first_support_of_fact[own.first_fact_of_item]
             for own in laid)  # fmt: skip
    size, begin = joined_begins(sizes), begins_of(np.array([own.n_items for own in laid]))
    n_blocks = max(1, round(int(size[-1]) / (2 * claims_per_block)))
    cuts = np.searchsorted(size, np.linspace(0, size[-1], n_blocks + 1)[1:-1])
    if begins is not None:
        cuts = begins[np.searchsorted(begins, cuts)].astype(cuts.dtype)
    bounds = sorted({0, *(int(cut) for cut in cuts), int(begin[-1])})

    def of(number: int) -> Partition:
        first, last = bounds[number : number + 2]
        pieces = range(
            int(np.searchsorted(begin, first, "right")) - 1, int(np.searchsorted(begin, last))
        )
        block = Block.joined([
            laid[piece].part(*np.clip((first, last), *begin[piece : piece + 2]) - begin[piece])
            for piece in pieces
        ])  # fmt: skip
        return part(block._replace(number=number), slice(first, last))

    return tuple(pool.map(of, range(len(bounds) - 1)))


def _in_portions(columns: Sequence[list[IntArray]]) -> Iterator[tuple[IntArray, ...]]:
    """Yield the numbers of all rows, some rows at a time, and free them afterwards."""
    while columns[0]:
        n_batches = n_rows = 0
        while n_batches < len(columns[0]) and n_rows < CLAIMS_PARTED:
            n_rows += len(columns[0][n_batches])
            n_batches += 1
        portion = tuple(np.concatenate(column[:n_batches]) for column in columns)
        for column in columns:
            del column[:n_batches]
        yield portion


def _laid_out(
    rows: tuple[Numbered, ...], n_items: int, value_of_spelling: IntArray, pool: ThreadPoolExecutor
) -> list[Block]:
    """Lay claims out as small blocks, in the order of the items.

    Facts have their usual spelling instead of a label. `rows` are the numbers of items, spellings
    and sources, which are freed.
    """
    n_claims, n_sources = sum(map(len, rows[0].number)), len(rows[2].place)
    items_per_part = max(1, n_items * CLAIMS_LAID_OUT // n_claims)
    places = [column.place for column in rows]

    def parted(numbers: tuple[IntArray, ...]) -> tuple[IntArray, IntArray, IntArray]:
        first, item, key = kernels.part_claims(*map(Numbers, numbers, places), items_per_part)
        return first, item, key

    taken = _in_portions([column.number for column in rows])
    portions = list(ordered_map(parted, taken, pool, pl.thread_pool_size()))

    def lay_out(part: int) -> Block:
        own = [slice(first[part], first[part + 1]) for first, _, _ in portions]
        item = np.concatenate([of[rows] for rows, (_, of, _) in zip(own, portions, strict=True)])
        key = np.concatenate([of[rows] for rows, (_, _, of) in zip(own, portions, strict=True)])
        first_item = part * items_per_part
        n_own = min(items_per_part, n_items - first_item)
        first_fact, first_support, source, spelling_of_fact = kernels.lay_out(
            item - np.int32(first_item), key, value_of_spelling, n_own
        )
        voices = voices_of(first_fact, first_support, source, n_sources)
        known, _, attribute = _nothing_known(len(spelling_of_fact), n_own)
        return Block(first_fact, first_support, source, *voices, known, spelling_of_fact, attribute)

    return list(pool.map(lay_out, range(-(-n_items // items_per_part))))


def _encode_binary(
    claims: ClaimNumbers,
    pool: ThreadPoolExecutor,
    claims_per_block: int | None,
    counts: EncodingCounts,
) -> EncodedPartition:
    """Encode claims that call facts true or false."""
    sources, source_place = claims.sources.sorted()
    facts = claims.items_sorted(pool)
    rows = pl.DataFrame(
        {
            "fact": facts.rows.place[np.concatenate(facts.rows.number)],
            "source": source_place[np.concatenate(claims.sources.numbers)],
            "claim": pl.concat(claims.claims),
        }
    )
    weight: FloatArray | None = None
    if claims.weights:
        weights = pl.concat(claims.weights)
        weight, voices = weights.to_numpy(), affirmed_voices(rows.with_columns(weight=weights))
        voices = voices.with_columns(claim=pl.col("affirmed") > 0.0)
    else:
        rows = rows.unique()
        voices = rows.filter(pl.len().over("fact", "source") == 1).sort("fact", "source")
        counts = counts._replace(n_self_contradicting=(len(rows) - len(voices)) // 2)
    if voices.is_empty():
        return EncodedPartition({}, (), counts)
    kept_sources, source = np.unique(voices["source"].to_numpy(), return_inverse=True)
    kept_facts, fact = np.unique(voices["fact"].to_numpy(), return_inverse=True)
    is_support, items = voices["claim"].to_numpy(), facts.items[kept_facts]
    block = Block(
        np.arange(len(kept_facts) + 1, dtype=np.int64),
        begins_of(np.bincount(fact[is_support], minlength=len(kept_facts))),
        source[is_support].astype(np.int32),
        begins_of(np.bincount(fact, minlength=len(kept_facts))),
        source.astype(np.int32),
        *_nothing_known(len(kept_facts), len(kept_facts)),
        mark_of_item=marks_of(items),
    )
    if weight is not None:
        block = block._replace(
            share_of_support=voices["affirmed"].to_numpy()[is_support],
            share_of_voice=voices["share"].to_numpy(writable=True),
        )
        counts = counts._replace(weights=WeightCounts.of(block, weight))

    def part(block: Block, own: slice) -> Partition:
        return Partition(block, items[own], None)

    own_sources = sources.spellings.gather(kept_sources)
    names = {"source": SortedNames(own_sources, np.arange(len(own_sources), dtype=np.int32))}
    size = claims_per_block or usual_size(claims.n_claims, len(own_sources))
    return EncodedPartition(names, _cut([block], part, size, pool), counts)


def _nothing_known(n_facts: int, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the known truths, labels and attributes before any is set: unknown, 0 and 0."""
    known = np.full(n_facts, UNKNOWN, dtype=np.int8)
    return known, np.zeros(n_facts, dtype=np.int32), np.zeros(n_items, dtype=np.int32)
