"""Claims become integer arrays; the names stay behind, to be put back on the results.

Batch by batch, names are numbered by their hashes in the order they come, and each name is kept
once; then the names are sorted and renumbered. So sources, items and the values of an item are
numbered in sorted order, and the arrays do not depend on the order of the rows or on how they
were spread over files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.read import ClaimsStream
from veracity.claims.repeated import settled_batches
from veracity.claims.schema import ClaimsTable, Kind
from veracity.encoding.block import UNKNOWN, Block, IntArray, voices_of
from veracity.encoding.names import PartitionNames
from veracity.encoding.numbering import ClaimNumbers, SortedNames, marks_of
from veracity.encoding.partitions import (
    CLAIMS_PER_BLOCK,
    Encoded,
    Partition,
    PartitionsInMemory,
    usual_size,
)
from veracity.encoding.shares import NO_WEIGHTS, WeightCounts, affirmed_voices, with_shares
from veracity.errors import NoClaims
from veracity.io.memory import release_memory
from veracity.kernels import Numbers
from veracity.kernels.loading import FEW, kernels
from veracity.kernels.reference.layout import begins_of, joined_begins
from veracity.printing import counted
from veracity.workers import ordered_map

__all__ = [
    "CLAIMS_PER_BLOCK",
    "EncodedPartition",
    "check_some",
    "encode",
    "encode_partition",
    "notes_of",
]

CLAIMS_PARTED = 1 << 19
"""So many claims, or a batch with more, are brought to the parts in which they are laid out."""

CLAIMS_LAID_OUT = 1 << 17
"""So many claims are laid out at a time, which stay in a processor's cache."""


def encode(
    table: ClaimsTable | ClaimsStream,
    tell: Callable[[str, int, int], None] | None = None,
    claims_per_block: int | None = None,
    threads: int | None = None,
) -> Encoded:
    """Number the sources, items and values of claims, all as one part that stays in memory.

    `tell` is told how far it is.

    >>> rows = pl.DataFrame({"source": ["b", "a"], "entity": ["x", "x"], "value": ["1", "2"]})
    >>> encoded = encode(ClaimsTable(rows, "categorical", "a doctest"))
    >>> encoded.blocks[0].source_of_support.tolist(), encoded.facts["value"].to_list()
    ([1, 0], ['1', '2'])
    """
    rows, settled = settled_batches(_told(table, tell), table.kind, table.origin, are_all=True)
    found = encode_partition(rows, table.kind, table.n_rows, claims_per_block, threads=threads)
    told = notes_of(found.names, found.n_self_contradicting)
    notes = (*settled.notes, *found.weighed.notes, *told)
    check_some(found.parts, found.n_self_contradicting, table.origin)
    if table.n_rows > FEW:
        release_memory()
    return Encoded(table.kind, found.names.names, PartitionsInMemory(found.parts), notes)


def _told(
    table: ClaimsTable | ClaimsStream, tell: Callable[[str, int, int], None] | None
) -> Iterator[pl.DataFrame]:
    """The batches of a table; it is told how many rows have been taken."""
    n_rows = 0
    for rows in table.batches():
        if tell is not None:
            tell("encoding", n_rows, table.n_rows)
        n_rows += len(rows)
        yield rows


def check_some(parts: Sized, n_self_contradicting: int, origin: str) -> None:
    """Refuse claims of which none is left."""
    if parts:
        return
    if n_self_contradicting:
        raise NoClaims(f"{origin}: every source contradicts itself on every fact")
    raise NoClaims(f"{origin}: no claim is left to discover anything from")


def notes_of(names: PartitionNames, n_self_contradicting: int) -> tuple[str, ...]:
    """What a user should know of how claims were encoded."""
    if n_self_contradicting:
        return (
            f"{counted(n_self_contradicting, 'time')} a source calls one fact both true and false: "
            "both claims are left out",
        )
    if names.n_merged:
        merged = counted(names.n_merged, "spelling is", "spellings are")
        return (f"values are numbers and compared as such: {merged} merged with another",)
    return ()


# --- one part -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedPartition:
    """What the rows of one part become: complete blocks, numbered by names of their own.

    There is no block where no claim is left.
    """

    names: PartitionNames
    parts: tuple[Partition, ...] = ()
    n_self_contradicting: int = 0
    weighed: WeightCounts = NO_WEIGHTS


def encode_partition(
    batches: Iterable[pl.DataFrame],
    kind: Kind,
    n_rows: int,
    claims_per_block: int | None = None,
    *,
    are_numbers: bool | None = None,
    before: Mapping[str, SortedNames] = MappingProxyType({}),
    threads: int | None = None,
) -> EncodedPartition:
    """Encode rows by themselves: all that is said of their items has to be among them.

    A pure function, for any engine to call wherever the rows are.

    Parameters
    ----------
    batches
        The rows, checked and complete, as a `ClaimsStream` gives them.
    kind
        The kind of claims.
    n_rows
        About how many rows there are.
    claims_per_block
        About how many claims a block has; see `usual_size` if None.
    are_numbers
        Whether all values are plain numbers, those of other parts among them: then spellings of
        one number are one value. Found out if None, which is right if there are no other parts.
    before
        Columns of names that were numbered before, for all parts, by name: rows have these numbers,
        and the names of the part are those of all.
    threads
        How many threads work; all cores unless given.
    """
    if n_rows <= FEW:  # a batch costs the reference as much as all names before it
        whole = list(batches)
        batches = [pl.concat(whole)] if whole else []
    with ThreadPoolExecutor(threads or pl.thread_pool_size()) as pool:
        numbered = ClaimNumbers(n_rows, before)
        for rows in batches:
            if len(rows):
                numbered.add(rows, pool)
        numbered.finish()
        if not numbered.n_claims:
            return EncodedPartition(PartitionNames.nothing())
        if kind == "binary":
            return _encode_binary(numbered, pool, claims_per_block)
        return _encode_values(numbered, kind, pool, claims_per_block, are_numbers)


def _encode_values(
    numbered: ClaimNumbers,
    kind: Kind,
    pool: ThreadPoolExecutor,
    claims_per_block: int | None,
    are_numbers: bool | None,
) -> EncodedPartition:
    spelt = pool.submit(numbered.values.spelt, are_numbers)
    sources, source_place = numbered.sources.sorted()
    items = numbered.items_sorted(pool)
    spellings, value_of_spelling, spelling_place = spelt.result()
    claims = items.number, numbered.values.numbers, numbered.sources.numbers
    place = items.place, spelling_place, source_place
    placed = zip(place, claims, strict=True) if numbered.weights else ()
    rows = [own[np.concatenate(numbers)] for own, numbers in placed]  # claims are not kept
    marks = pool.submit(marks_of, items.items)
    laid = _laid_out(claims, place, len(items.items), value_of_spelling, pool)
    weighed = NO_WEIGHTS
    if numbered.weights:
        item, spelling, source = rows
        weight = pl.concat(numbered.weights).to_numpy()
        laid = [
            with_shares(Block.joined(laid), (item, value_of_spelling[spelling], source), weight)
        ]
        weighed = WeightCounts.of(laid[0], weight)
    mark_of_item = marks.result()

    def part(block: Block, own: slice) -> Partition:
        """The part of some items, of whose facts the block has the spellings in place of labels."""
        values = spellings.gather(block.label_of_fact)
        block = block._replace(
            label_of_fact=value_of_spelling[block.label_of_fact].astype(np.int32),
            attribute_of_item=items.attribute_of_item[own],
            mark_of_item=mark_of_item[own],
        )
        if kind == "numeric":
            numbers = values.cast(pl.Float64).to_numpy(writable=True)
            unknown = np.full(block.n_items, np.nan)
            block = block._replace(number_of_fact=numbers, known_number_of_item=unknown)
        return Partition(block, items.items[own], values)

    names = PartitionNames(sources, spellings, value_of_spelling, items.attributes)
    size = claims_per_block or usual_size(numbered.n_claims, len(sources))
    return EncodedPartition(names, _cut(laid, part, size, pool), weighed=weighed)


def _cut(
    laid: Sequence[Block],
    part: Callable[[Block, slice], Partition],
    claims_per_block: int,
    pool: ThreadPoolExecutor,
) -> tuple[Partition, ...]:
    """The parts of whole items, with about so many claims each, of what was laid out in order."""
    sizes = (own.first_voice_of_item + own.first_support_of_fact[own.first_fact_of_item]
             for own in laid)  # fmt: skip
    size, begin = joined_begins(sizes), begins_of(np.array([own.n_items for own in laid]))
    n_blocks = max(1, round(int(size[-1]) / (2 * claims_per_block)))
    cuts = np.searchsorted(size, np.linspace(0, size[-1], n_blocks + 1)[1:-1])
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


def _in_portions(numbers: tuple[list[IntArray], ...]) -> Iterator[tuple[IntArray, ...]]:
    """The numbers of all rows, some rows at a time; those that were taken are not kept."""
    while numbers[0]:
        n_batches = n_rows = 0
        while n_batches < len(numbers[0]) and n_rows < CLAIMS_PARTED:
            n_rows += len(numbers[0][n_batches])
            n_batches += 1
        portion = tuple(np.concatenate(of_column[:n_batches]) for of_column in numbers)
        for of_column in numbers:
            del of_column[:n_batches]
        yield portion


def _laid_out(
    claims: tuple[list[IntArray], ...],
    place: tuple[IntArray, ...],
    n_items: int,
    value_of_spelling: IntArray,
    pool: ThreadPoolExecutor,
) -> list[Block]:
    """ClaimNumbers claims laid out, some items at a time: small blocks, in the order of the items.

    In the place of its label, a fact has its usual spelling. Claims are the numbers of items,
    spellings and sources, batch by batch, and are not kept; `place` has the place of every such
    number.
    """
    n_claims, n_sources = sum(map(len, claims[0])), len(place[2])
    items_per_part = max(1, n_items * CLAIMS_LAID_OUT // n_claims)

    def parted(numbers: tuple[IntArray, ...]) -> tuple[IntArray, IntArray, IntArray]:
        first, item, key = kernels.part_claims(*map(Numbers, numbers, place), items_per_part)
        return first, item, key

    portions = list(ordered_map(parted, _in_portions(claims), pool, pl.thread_pool_size()))

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
    numbered: ClaimNumbers, pool: ThreadPoolExecutor, claims_per_block: int | None
) -> EncodedPartition:
    sources, source_place = numbered.sources.sorted()
    facts = numbered.items_sorted(pool)
    rows = pl.DataFrame(
        {
            "fact": facts.place[np.concatenate(facts.number)],
            "source": source_place[np.concatenate(numbered.sources.numbers)],
            "claim": pl.concat(numbered.claims),
        }
    )
    if numbered.weights:
        voices = affirmed_voices(rows.with_columns(weight=pl.concat(numbered.weights)))
        voices, n_self_contradicting = voices.with_columns(claim=pl.col("affirmed") > 0.0), 0
    else:
        rows = rows.unique()
        voices = rows.filter(pl.len().over("fact", "source") == 1).sort("fact", "source")
        n_self_contradicting = (len(rows) - len(voices)) // 2
    if voices.is_empty():
        return EncodedPartition(PartitionNames.nothing(), (), n_self_contradicting)
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
    weighed = NO_WEIGHTS
    if numbered.weights:
        affirmed = voices["affirmed"].to_numpy()
        share = voices["share"].to_numpy(writable=True)
        block = block._replace(share_of_support=affirmed[is_support], share_of_voice=share)
        weighed = WeightCounts.of(block, pl.concat(numbered.weights).to_numpy())
    names, items = PartitionNames.nothing(), facts.items[kept_facts]
    names = names._replace(sources=sources.gather(kept_sources))
    block = block._replace(mark_of_item=marks_of(items))

    def part(block: Block, own: slice) -> Partition:
        return Partition(block, items[own], None)

    size = claims_per_block or usual_size(numbered.n_claims, len(kept_sources))
    parts = _cut([block], part, size, pool)
    return EncodedPartition(names, parts, n_self_contradicting, weighed)


def _first_of_group(group: NDArray[Any], n_groups: int) -> IntArray:
    """Where each group of neighbours begins, and the length at the end."""
    first = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=n_groups), out=first[1:])
    return first


def _nothing_known(n_facts: int, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
    """What is known of facts, their labels and the attributes of items before any is told."""
    known = np.full(n_facts, UNKNOWN, dtype=np.int8)
    return known, np.zeros(n_facts, dtype=np.int32), np.zeros(n_items, dtype=np.int32)
