"""Claims on disk: rows are divided into partitions, which are encoded separately and mapped.

The steps are those of claims in memory, which are one partition. Rows are written to disk by
partition as they are read. Then one partition after the other is read again, encoded, and written
as arrays.
Memory never holds more than the rows of a partition, its blocks, and the names of sources, values
and attributes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encoding.block import Block
from veracity.encoding.encode import EncodingCounts, encode_partition
from veracity.encoding.names import (
    MOST_TEXT,
    Names,
    NameUnion,
    PartitionNames,
    Places,
    SharedNames,
    hashes_of_items,
    narrowed,
    places_among,
)
from veracity.encoding.partitions import (
    CLAIMS_PER_BLOCK,
    Encoded,
    Make,
    MarkedItems,
    Partition,
    PartitionKey,
    columns_of_key,
    tables_in_chunks,
)
from veracity.io.lazy import LazySequence, LazyTable
from veracity.io.memory import COPIES_OF_TEXT, bytes_per_claim
from veracity.io.temp_files import TempFolder
from veracity.reading.claims import Claims
from veracity.reading.clean import has_to_be_settled
from veracity.reading.roles import Kind, carries_more, numbers_in
from veracity.workers import ordered_map

Tell = Callable[[str, int, int], None]

BYTES_PER_ROW = 250
"""Bytes of memory for each row of a partition while it is encoded, including its strings."""

USUAL_TEXT = 56
"""Bytes of text per row for which `BYTES_PER_ROW` is enough. Of longer text there are copies."""

SHARE_OF_PARTS = 0.3
SHARE_OF_ROWS = 0.06
"""Shares of the memory: one for partitions during encoding; one for rows before they are written,
which are several batches with their copies."""

ENOUGH_OF_ROWS = 1 << 20
"""About how many bytes of rows wait for each partition, if that is less: to touch fresh memory
takes longer than to write rows in more pieces."""

SHARE_OF_NAMES = 0.1
LEAST_TEXT = 1 << 26
"""Share of the memory for the values of all partitions, and bytes they may take in any case."""

TIMES_WITH_MORE = 2
"""Factor on the memory of claims that have times or weights, or are samples."""

BYTES_ON_DISK = 50
"""Usual disk space of a claim: its row until all are encoded, and its share of a block."""

FEWEST_ROWS = 1 << 8
MOST_ROWS = 1 << 23
"""Fewest and most rows of a partition, about, whatever the memory."""

MOST_PARTS = 1 << 12
"""Largest number of partitions, even if memory is small; with more, writing rows would be slow."""

NUMBERED = ("source", "attribute", "value")
"""Columns whose names may be numbered while rows are divided into partitions."""

PART = "part of rows"
OLDEST = pl.CompatLevel.oldest()
"""Text is written in the oldest layout of Arrow: smaller and quicker."""


class Store(Protocol):
    """Named arrays of each block, as `engines.store.BlockStore` has them."""

    folder: TempFolder | None

    def put(self, name: str, block: int, content: Any) -> None:
        """Store content of a block under a name, in place of the earlier content."""
        ...

    def get(self, name: str, block: int) -> Any:
        """Return the stored content, with arrays in files mapped; None if there is none."""
        ...

    def drop(self, name: str) -> None:
        """Remove the content stored under a name, of all blocks."""
        ...


class Budget(NamedTuple):
    """A store on disk, bytes of memory, and threads to work with."""

    store: Store
    memory: int
    threads: int

    def n_parts(self, n_rows: int, text_per_row: float = 0.0) -> int:
        """Return the number of partitions for `n_rows`, so that each thread can encode one."""
        each = BYTES_PER_ROW + COPIES_OF_TEXT * max(text_per_row - USUAL_TEXT, 0.0)
        fitting = int(self.memory * SHARE_OF_PARTS / each / self.threads)
        n_parts = math.ceil(n_rows / min(max(fitting, FEWEST_ROWS), MOST_ROWS))
        return min(max(n_parts, 1), MOST_PARTS)

    @property
    def most_text(self) -> int:
        """Return the most bytes of different values that are brought together from partitions."""
        return min(max(int(self.memory * SHARE_OF_NAMES), LEAST_TEXT), MOST_TEXT)


def bytes_needed(table: Claims) -> int:
    """Return the bytes that a run on these claims needs in memory."""
    times = TIMES_WITH_MORE if carries_more(table) else 1
    return int(times * bytes_per_claim(table.text.new) * table.n_rows)


def encode_on_disk(
    table: Claims,
    budget: Budget,
    tell: Tell,
    claims_per_block: int | None = None,
    key: PartitionKey = "item",
) -> Encoded:
    """Encode claims partition by partition, within the budget."""
    n_rows = table.n_rows
    if budget.store.folder is not None:
        what = f"{table.origin}: {n_rows:,} claims"
        budget.store.folder.require_space(BYTES_ON_DISK * n_rows, what)
    rows = _PartedRows(budget, table, key)
    are_numbers = rows.fill(tell)
    preset = rows.names.sorted(are_numbers=are_numbers)

    def encoded(number: int) -> Any:
        return encode_partition(
            rows.take(number), table.kind, rows.n_rows[number],
            claims_per_block or CLAIMS_PER_BLOCK, origin=table.origin, are_all=rows.n_parts == 1,
            are_numbers=are_numbers, preset=preset, threads=1, key=key,
        )  # fmt: skip

    union = NameUnion(are_numbers=are_numbers, most_text=budget.most_text)
    writer, counts = _Writer(budget), EncodingCounts()
    with ThreadPoolExecutor(budget.threads) as pool:
        partitions = ordered_map(encoded, range(rows.n_parts), pool, budget.threads - 1)
        for number, found in enumerate(partitions):
            tell("encoding", number, rows.n_parts)
            counts += found.counts
            are_open = rows.names.n_unnumbered or union.n_unnumbered
            own = {name: of for name, of in found.names.items() if name != "value" or not are_open}
            union.add(own)
            writer.add(found.parts, own)
    rows.drop()
    names = {**union.sorted(), **{column: found for column, (found, _) in preset.items()}}
    parts = writer.finish()
    counts.check_some(parts, table.origin)
    writer.renumber(names)
    notes = (*counts.notes(names), _note(table, budget.memory))
    n_unnumbered = rows.names.n_unnumbered or union.n_unnumbered
    until = max(table.until, counts.repeats.until)
    return Encoded(table.kind, Names.of(names, n_unnumbered), parts, notes, until)


def _note(table: Claims, memory: int) -> str:
    return (
        f"the claims are processed on disk: {table.n_rows:,} of them need about "
        f"{_amount(bytes_needed(table))} of memory, and {_amount(memory)} may be used"
    )


def _amount(n_bytes: int) -> str:
    """Write an amount of bytes.

    >>> _amount(4_000_000_000), _amount(120_000)
    ('4.0 GB', '0.1 MB')
    """
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 10**8 else f"{n_bytes / 1e6:,.1f} MB"


def partition_of_row(
    rows: pl.DataFrame, n_parts: int, key: PartitionKey = "item"
) -> NDArray[np.uint32]:
    """Return the partition of each row, which depends only on its item, or entity.

    >>> rows = pl.DataFrame({"entity": ["x", "y", "x"], "value": ["1", "2", "3"]})
    >>> part = partition_of_row(rows, 1000)
    >>> bool(part[0] == part[2])
    True
    """
    columns = columns_of_key(rows.columns, key)
    hashes = hashes_of_items([rows[name] for name in columns], seed=1)
    # the upper half, since the lower one places names within a partition
    return ((hashes >> np.uint64(32)) % np.uint64(n_parts)).astype(np.uint32)


class _PartedRows:
    """The rows of all partitions, on disk until their partition is encoded.

    Names that are numbered for all partitions are not written with each row, but their numbers.
    """

    def __init__(self, budget: Budget, table: Claims, key: PartitionKey) -> None:
        self._key: PartitionKey = key
        self.n_parts = budget.n_parts(table.n_rows, table.text.all)
        self.n_rows = [0] * self.n_parts
        self.names = SharedNames(table.n_rows, most_text=budget.most_text)
        self._budget, self._table = budget, table
        self._pieces: list[str] = []
        self._are_numbers = True
        is_long = table.text.all > USUAL_TEXT
        self._compression: Literal["lz4", "uncompressed"] = "lz4" if is_long else "uncompressed"

    def fill(self, tell: Tell) -> bool:
        """Write all rows of a table to their partitions; return True if all values are numbers.

        Reading, numbering and writing rows run at the same time.
        """
        threads, n_rows = self._budget.threads, 0
        with (
            ThreadPoolExecutor(threads) as pool,
            ThreadPoolExecutor(1) as numbering,
            ThreadPoolExecutor(1) as writing,
        ):

            def numbered() -> Iterator[pl.DataFrame]:
                nonlocal n_rows
                number = partial(self._number, pool=pool)
                for rows in ordered_map(number, self._table.batches(), numbering, 1):
                    n_rows += len(rows)
                    tell("parting", n_rows, self._table.n_rows)
                    yield rows

            allowed = int(self._budget.memory * SHARE_OF_ROWS)
            gathered = _gathered(numbered(), min(allowed, self.n_parts * ENOUGH_OF_ROWS))
            for _ in ordered_map(partial(self._write, pool=pool), gathered, writing, 1):
                pass
        return self._are_numbers

    def _number(self, rows: pl.DataFrame, pool: ThreadPoolExecutor) -> pl.DataFrame:
        """Put numbers in the place of names, and add the partition of each row."""
        part = pool.submit(partition_of_row, rows, self.n_parts, self._key)
        numbered, new = self.names.numbered(rows, _columns_to_number(rows, self._table.kind), pool)
        if self._are_numbers and len(new):
            self._are_numbers = "value" in new.columns and numbers_in(new["value"]) is not None
        return numbered.with_columns(pl.Series(PART, part.result(), pl.UInt16))

    def _write(self, rows: pl.DataFrame, pool: ThreadPoolExecutor) -> None:
        part = rows[PART].to_numpy()
        first_of_part = np.zeros(self.n_parts + 1, dtype=np.int64)
        np.cumsum(np.bincount(part, minlength=self.n_parts), out=first_of_part[1:])
        by_part = narrowed(rows.drop(PART))[np.argsort(part, kind="stable")]

        name = f"rows {len(self._pieces)}"
        self._pieces.append(name)

        def write(number: int) -> None:
            own = by_part[first_of_part[number] : first_of_part[number + 1]]
            if len(own):
                data = io.BytesIO()
                own.write_ipc_stream(data, compression=self._compression, compat_level=OLDEST)
                self._budget.store.put(name, number, np.frombuffer(data.getbuffer(), np.uint8))
                self.n_rows[number] += len(own)

        for _ in pool.map(write, range(self.n_parts)):
            pass

    def take(self, number: int) -> Iterator[pl.DataFrame]:
        """Read the rows of a partition."""
        for name in self._pieces:
            data = self._budget.store.get(name, number)
            if data is not None:
                yield self.names.restored(pl.read_ipc_stream(data.tobytes()))

    def drop(self) -> None:
        """Make room on the disk: all partitions are encoded."""
        for name in self._pieces:
            self._budget.store.drop(name)


def _columns_to_number(rows: pl.DataFrame, kind: Kind) -> list[str]:
    """Return the columns whose names do not change when a partition is encoded.

    Encoding leaves out a source that calls a binary fact both true and false. For other kinds, it
    may leave out or average values.
    """
    if kind == "binary":
        return []
    names = ("source", "attribute") if has_to_be_settled(rows, kind) else NUMBERED
    return [name for name in names if name in rows.columns]


def _gathered(batches: Iterator[pl.DataFrame], most_bytes: int) -> Iterator[pl.DataFrame]:
    """Join batches up to this size, so that rows of a partition are neighbours.

    Joined batches are rechunked, since rows of many chunks are sorted ten times as slowly.
    """
    waiting, n_bytes = list[pl.DataFrame](), 0
    for batch in batches:
        if waiting and waiting[0].columns != batch.columns:  # values are too many from here on
            yield pl.concat(waiting, rechunk=True)
            waiting, n_bytes = [], 0
        waiting.append(batch)
        n_bytes += int(batch.estimated_size())
        if n_bytes > most_bytes:
            yield pl.concat(waiting, rechunk=True)
            waiting, n_bytes = [], 0
    if waiting:
        yield pl.concat(waiting, rechunk=True)


class _Writer:
    """Writer of encoded partitions. They use their own numbers until the names of all are known."""

    def __init__(self, budget: Budget) -> None:
        self._store, self._memory = budget.store, budget.memory
        self._blocks_named: list[range] = []
        self._n_blocks = 0

    def add(self, parts: Sequence[Partition], names: PartitionNames) -> None:
        """Write the blocks of a partition, and the names that only it has."""
        for number, part in enumerate(parts, self._n_blocks):
            self._store.put("block", number, part.block._replace(number=number))
            self._store.put("items", number, part.items)
            self._store.put("values", number, part.values)
            self._store.put("marks", number, np.sort(part.block.mark_of_item))
        blocks = range(self._n_blocks, self._n_blocks + len(parts))
        if names and blocks:
            self._store.put("names", len(self._blocks_named), dict(names))
            self._blocks_named.append(blocks)
        self._n_blocks = blocks.stop

    def finish(self) -> PartitionsOnDisk:
        """Return the written content."""
        return PartitionsOnDisk(BlocksOnDisk(self._store, self._memory, self._n_blocks))

    def renumber(self, names: PartitionNames) -> None:
        """Give sources, values and attributes the numbers they have among all."""
        for number, blocks in enumerate(self._blocks_named):
            places = places_among(self._store.get("names", number), names)
            for block in blocks:
                if any(place is not None for place in places):
                    renumbered = self._store.get("block", block).renumbered(*places)
                    self._store.put("block", block, renumbered)
        self._store.drop("names")


MARKED = (
    "known_of_fact", "known_number_of_item", "kind_of_item", "entity_of_item", "code_of_fact",
    "amount_of_fact",
)  # fmt: skip
"""Arrays of a block that are marked after encoding."""


@dataclass(frozen=True)
class BlocksOnDisk(LazySequence[Block]):
    """Blocks on disk; each is mapped when it is used, and released afterwards.

    Known truths and new numbers of names are applied to the blocks when these are loaded.
    """

    store: Store
    memory: int
    """Bytes of it that may be used."""
    n_blocks: int
    name: str = "block"
    """Name under which the blocks are stored."""
    known: str | None = None
    """Name under which known truths are stored."""
    places: tuple[Places, ...] = field(default=())

    def __len__(self) -> int:
        return self.n_blocks

    def at(self, number: int) -> Block:
        """Map the block at a place."""
        block: Block = self.store.get(self.name, number)
        if self.known is not None:
            marked = self.store.get(self.known, number)
            block = block._replace(**dict(zip(MARKED, marked, strict=True)))
        for places in self.places:
            block = block.renumbered(*places)
        return block


@dataclass(frozen=True)
class PartitionsOnDisk(LazySequence[Partition]):
    """Partitions on disk: blocks with the names of their items and the spellings of values."""

    blocks: BlocksOnDisk

    def __len__(self) -> int:
        return len(self.blocks)

    def at(self, number: int) -> Partition:
        """Map the partition at a place."""
        store = self.blocks.store
        items, values = store.get("items", number), store.get("values", number)
        return Partition.of(self.blocks[number], items, values)

    def with_any(self, items: MarkedItems) -> Iterable[Partition]:
        """Yield the partitions that may have some of these items; no other is read."""
        for number in range(len(self)):
            if items.may_be_in(self.blocks.store.get("marks", number)):
                yield self[number]

    def tables(
        self, make: Make, answers: Sequence[Any], names: Mapping[str, int]
    ) -> list[LazyTable]:
        """Return tables made from all partitions; each chunk is made when it is used."""
        return tables_in_chunks(self, make, answers, names)

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsOnDisk:
        """Store the known truths of facts in these blocks with the blocks on disk."""
        name = f"known {uuid4().hex}"
        for number, block in enumerate(blocks):
            marked = tuple(getattr(block, own) for own in MARKED)
            self.blocks.store.put(name, number, marked)
        return replace(self, blocks=replace(self.blocks, known=name))

    def with_merged(self, blocks: Iterable[Block]) -> PartitionsOnDisk:
        """Store blocks in which values are merged."""
        name = f"merged {uuid4().hex}"
        for number, block in enumerate(blocks):
            self.blocks.store.put(name, number, block)
        return replace(self, blocks=replace(self.blocks, name=name, places=()))

    def renumbered(self, places: Places) -> PartitionsOnDisk:
        """Replace the numbers that are shared across blocks."""
        return replace(self, blocks=replace(self.blocks, places=(*self.blocks.places, places)))
