"""Claims on disk: rows are parted, each part is encoded by itself, and its blocks are mapped.

The road is that of claims in memory, which are one part. Rows are written to disk by part as they
are read. Then one part after the other is read again, encoded, and put in an `ArrayFile`. Memory
never holds more than the rows of a part, its blocks, and the names of sources, values and
attributes.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import polars as pl

from veracity.claims.read import ClaimsStream
from veracity.claims.repeated import Settled, has_to_be_settled, settled_batches
from veracity.claims.schema import ClaimsTable, Kind, carries_more
from veracity.encoding.block import Block, IntArray
from veracity.encoding.encode import EncodedPartition, check_some, encode_partition, notes_of
from veracity.encoding.names import (
    MOST_TEXT,
    NameUnion,
    PartitionNames,
    Places,
    SharedNames,
    narrowed,
    places_among,
)
from veracity.encoding.numbering import SortedNames
from veracity.encoding.partitions import (
    CLAIMS_PER_BLOCK,
    Encoded,
    Make,
    Partition,
    ValueScan,
    partition_of_row,
)
from veracity.encoding.shares import NO_WEIGHTS
from veracity.io.memory import COPIES_OF_TEXT, bytes_per_claim
from veracity.io.pieces import LazyTable
from veracity.io.spill import ArrayFile, TempFolder, disk_errors
from veracity.workers import ordered_map

Tell = Callable[[str, int, int], None]

BYTES_PER_ROW = 250
"""What a part needs for each of its rows while it is encoded, its strings among them."""

USUAL_TEXT = 56
"""So many bytes of text a row has for which that is enough; longer ones are there several times."""

SHARE_OF_PARTS = 0.3
SHARE_OF_ROWS = 0.06
"""What share of the memory parts may take while they are encoded, and rows that are gathered to be
written to theirs: of these there are several at a time, and copies of them."""

ENOUGH_OF_ROWS = 1 << 20
"""So many bytes of rows are gathered for each part, about, if that is less: to touch fresh memory
takes longer than to write a part's rows in more pieces."""

SHARE_OF_NAMES = 0.1
LEAST_TEXT = 1 << 26
"""What share of it the values of all parts may take, and how many bytes they may in any case."""

TIMES_WITH_MORE = 2
"""So many times as much memory claims need that have times or weights, or are samples."""

BYTES_ON_DISK = 50
"""What a claim takes on disk, usually: its row until all are encoded, and its share of a block."""

FEWEST_ROWS = 1 << 8
MOST_ROWS = 1 << 23
"""How few and how many rows a part has, about, whatever the memory."""

MOST_PARTS = 1 << 12
"""Into how many parts rows are written at most: more would be slow, however little memory."""

NUMBERED = ("source", "attribute", "value")
"""Columns of which the names may be numbered while rows are parted."""

PART = "part of rows"
NO_NAMES = SortedNames(*PartitionNames.nothing()[1:3], np.zeros(0, dtype=np.int32))
OLDEST = pl.CompatLevel.oldest()
"""Text is written as Arrow had it at first, one after the other: smaller and quicker."""


class Budget(NamedTuple):
    """What there is to work with: a place on disk, bytes of memory, and threads."""

    spill: TempFolder
    memory: int
    threads: int

    def n_parts(self, n_rows: int, text_per_row: float = 0.0) -> int:
        """Into how many parts so many rows have to go, so that each thread can encode one."""
        each = BYTES_PER_ROW + COPIES_OF_TEXT * max(text_per_row - USUAL_TEXT, 0.0)
        fitting = int(self.memory * SHARE_OF_PARTS / each / self.threads)
        n_parts = math.ceil(n_rows / min(max(fitting, FEWEST_ROWS), MOST_ROWS))
        return min(max(n_parts, 1), MOST_PARTS)

    @property
    def most_text(self) -> int:
        """How many bytes of different values are brought together, from all parts."""
        return min(max(int(self.memory * SHARE_OF_NAMES), LEAST_TEXT), MOST_TEXT)


def bytes_needed(table: ClaimsTable | ClaimsStream) -> int:
    """What a run on these claims needs in memory."""
    times = TIMES_WITH_MORE if carries_more(table) else 1
    return int(times * bytes_per_claim(table.text.new) * table.n_rows)


def encode_on_disk(
    table: ClaimsTable | ClaimsStream,
    room: Budget,
    tell: Tell,
    claims_per_block: int | None = None,
) -> Encoded:
    """Encode claims part by part, with the room there is."""
    n_rows = table.n_rows
    room.spill.require_space(BYTES_ON_DISK * n_rows, f"{table.origin}: {n_rows:,} claims")
    rows = _Rows(room, table)
    decided = rows.fill(tell)
    before = rows.names.spelt(decided.are_numbers)

    def encoded(number: int) -> tuple[EncodedPartition, Settled]:
        own, settled = settled_batches(
            rows.take(number), table.kind, table.origin, are_all=rows.n_parts == 1
        )
        found = encode_partition(
            own, table.kind, rows.n_rows[number], claims_per_block or CLAIMS_PER_BLOCK,
            are_numbers=decided.are_numbers, before=before, threads=1,
        )  # fmt: skip
        rows.remove(number)
        return replace(found, names=found.names.with_names(not_own)), settled

    names = NameUnion(decided.are_numbers, most_text=room.most_text)
    # those that are numbered for all; and open values, which stay in their part
    not_own = dict.fromkeys([*before, "value"] if rows.names.n_unnumbered else before, NO_NAMES)
    writer, n_self_contradicting = _PartsWriter(room), 0
    said_again, weighed = Settled(), NO_WEIGHTS
    with ThreadPoolExecutor(room.threads) as pool:
        parts_found = ordered_map(encoded, range(rows.n_parts), pool, room.threads - 1)
        for number, (found, settled) in enumerate(parts_found):
            tell("encoding", number, rows.n_parts)
            said_again += settled
            weighed += found.weighed
            names.add(found.names)
            n_self_contradicting += found.n_self_contradicting
            writer.add(found)
    all_names, parts = names.together().with_names(before), writer.finish()
    n_unnumbered = rows.names.n_unnumbered or names.n_unnumbered
    check_some(parts, n_self_contradicting, table.origin)
    writer.renumber(lambda own: places_among(own, all_names, is_open=n_unnumbered > 0))
    told = notes_of(all_names, n_self_contradicting)
    notes = (*said_again.notes, *weighed.notes, *told, _note(table, room.memory))
    return Encoded(table.kind, all_names.names._replace(n_unnumbered=n_unnumbered), parts, notes)


def _note(table: ClaimsTable | ClaimsStream, memory: int) -> str:
    return (
        f"the claims are kept on disk: {table.n_rows:,} of them need about "
        f"{_amount(bytes_needed(table))} of memory, and {_amount(memory)} may be used"
    )


def _amount(n_bytes: int) -> str:
    """Bytes in words.

    >>> _amount(4_000_000_000), _amount(120_000)
    ('4.0 GB', '0.1 MB')
    """
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 10**8 else f"{n_bytes / 1e6:,.1f} MB"


def store_partitions(parts: Iterable[Partition], room: Budget) -> PartitionsOnDisk:
    """Parts that come one after the other, numbered as they are to be, put on disk."""
    writer = _PartsWriter(room)
    for part in parts:
        writer.add(EncodedPartition(PartitionNames.nothing(), (part,)))
    return writer.finish()


class _Rows:
    """The rows of all parts, on disk, until their part is encoded.

    Names that are numbered for all parts are not written with each row, but their numbers.
    """

    def __init__(self, room: Budget, table: ClaimsTable | ClaimsStream) -> None:
        self.n_parts = room.n_parts(table.n_rows, table.text.all)
        self.n_rows = [0] * self.n_parts
        self.names = SharedNames(table.n_rows, most_text=room.most_text)
        self._room, self._table = room, table
        self._lengths: list[list[int]] = [[] for _ in range(self.n_parts)]
        self._may_be_numbers = True
        is_long = table.text.all > USUAL_TEXT
        self._compression: Literal["lz4", "uncompressed"] = "lz4" if is_long else "uncompressed"

    def fill(self, tell: Tell) -> ValueScan:
        """Write all rows of a table to their parts; also say what is decided over all of them.

        While some rows are written and others are numbered, the next are read.
        """
        threads, decided = self._room.threads, ValueScan()
        with (
            disk_errors(self._room.spill.place),
            ThreadPoolExecutor(threads) as pool,
            ThreadPoolExecutor(1) as numbering,
            ThreadPoolExecutor(1) as writing,
        ):

            def numbered() -> Iterator[pl.DataFrame]:
                nonlocal decided
                number = partial(self._number, pool=pool)
                for rows, found in ordered_map(number, self._table.batches(), numbering, 1):
                    decided += found
                    self._may_be_numbers = decided.are_numbers
                    tell("parting", decided.n_rows, self._table.n_rows)
                    yield rows

            allowed = int(self._room.memory * SHARE_OF_ROWS)
            gathered = _gathered(numbered(), min(allowed, self.n_parts * ENOUGH_OF_ROWS))
            for _ in ordered_map(partial(self._write, pool=pool), gathered, writing, 1):
                pass
        return decided

    def _number(
        self, rows: pl.DataFrame, pool: ThreadPoolExecutor
    ) -> tuple[pl.DataFrame, ValueScan]:
        """Rows with numbers for names and with their parts; and what they decide."""
        part = pool.submit(partition_of_row, rows, self.n_parts)
        columns = _numbered_for_all(rows, self._table.kind)
        numbered, values = self.names.numbered(rows, columns, pool)
        found = ValueScan.of(values, so_far=self._may_be_numbers)._replace(n_rows=len(rows))
        return numbered.with_columns(pl.Series(PART, part.result(), pl.UInt16)), found

    def _write(self, rows: pl.DataFrame, pool: ThreadPoolExecutor) -> None:
        part = rows[PART].to_numpy()
        first_of_part = np.zeros(self.n_parts + 1, dtype=np.int64)
        np.cumsum(np.bincount(part, minlength=self.n_parts), out=first_of_part[1:])
        by_part = narrowed(rows.drop(PART))[np.argsort(part, kind="stable")]

        def write(number: int) -> None:
            own = by_part[first_of_part[number] : first_of_part[number + 1]]
            if len(own):
                with self._file(number).open("ab") as file:
                    start = file.tell()
                    own.write_ipc_stream(file, compression=self._compression, compat_level=OLDEST)
                    self._lengths[number].append(file.tell() - start)
                self.n_rows[number] += len(own)

        for _ in pool.map(write, range(self.n_parts)):
            pass

    def take(self, number: int) -> Iterator[pl.DataFrame]:
        """The rows of a part."""
        if self.n_rows[number]:
            with self._file(number).open("rb") as file:
                for length in self._lengths[number]:
                    yield self.names.given_back(pl.read_ipc_stream(file.read(length)))

    def remove(self, number: int) -> None:
        """Make room on the disk: a part is encoded."""
        self._file(number).unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self._room.spill.folder / f"rows-{number}"


def _numbered_for_all(rows: pl.DataFrame, kind: Kind) -> list[str]:
    """The columns of which no name is lost and none is new once a part is encoded.

    Of binary facts, what a source says of both is left out, and so may the source be.
    """
    if kind == "binary":
        return []
    names = ("source", "attribute") if has_to_be_settled(rows, kind) else NUMBERED
    return [name for name in names if name in rows.columns]


def _gathered(batches: Iterator[pl.DataFrame], most_bytes: int) -> Iterator[pl.DataFrame]:
    """Batches brought together until they have so many bytes: so rows of a part lie together."""
    waiting, n_bytes = list[pl.DataFrame](), 0
    for batch in batches:
        if waiting and waiting[0].columns != batch.columns:  # values are too many from here on
            yield _as_one(waiting)
            waiting, n_bytes = [], 0
        waiting.append(batch)
        n_bytes += int(batch.estimated_size())
        if n_bytes > most_bytes:
            yield _as_one(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield _as_one(waiting)


def _as_one(batches: list[pl.DataFrame]) -> pl.DataFrame:
    """All rows; in one chunk, since rows of many are brought into order ten times as slowly."""
    return pl.concat(batches, rechunk=True)


class _PartsWriter:
    """Puts encoded parts on disk; the numbers of names are those of each part until all are in."""

    def __init__(self, room: Budget) -> None:
        self._spill, self._memory = room.spill, room.memory
        self._blocks = ArrayFile(room.spill, "blocks")
        self._is_one: list[bool] = []
        self._part_of_block: list[int] = []
        self._n_parts = 0
        self._have_names: set[int] = set()
        self._has_values = True

    def add(self, found: EncodedPartition) -> None:
        if not found.names.are_none:
            with disk_errors(self._spill.place), self._names_file(self._n_parts).open("wb") as file:
                pickle.dump(found.names, file)  # there may be as many as there are facts
            self._have_names.add(self._n_parts)
        self._n_parts += 1
        for part in found.parts:
            number, block = len(self._blocks), part.block
            is_one = block.source_of_voice is block.source_of_support
            arrays = [np.asarray(array) for array in block[:-1]]
            if is_one:
                arrays[4] = arrays[4][:0]
            self._blocks.add(arrays)
            self._is_one.append(is_one)
            self._part_of_block.append(self._n_parts - 1)
            with disk_errors(self._spill.place):
                part.items.write_ipc(self._spill.folder / f"items-{number}")
                if part.values is not None:
                    part.values.to_frame("value").write_ipc(self._spill.folder / f"values-{number}")
            self._has_values = part.values is not None

    def finish(self) -> PartitionsOnDisk:
        blocks = BlocksOnDisk(self._spill, self._memory, self._blocks, tuple(self._is_one))
        return PartitionsOnDisk(blocks, has_values=self._has_values)

    def renumber(self, places: Callable[[PartitionNames], tuple[IntArray, ...]]) -> None:
        """Give sources, values and attributes the numbers they have among all.

        Those of which a part has no names of its own have these numbers already.
        """
        part = -1
        for number, own in enumerate(self._part_of_block):
            if own not in self._have_names:
                continue
            if own != part:  # blocks of a part have names in common
                part, names = own, self._names_of(own)
                source, label, attribute = places(names)
            _, _, supports, _, voices, _, labels, attributes, *_ = self._blocks[number]
            changed = {}
            if len(names.sources):
                changed[2] = source[supports]
            if len(names.sources) and not self._is_one[number]:
                changed[4] = source[voices]
            if len(names.spellings):
                changed[6] = label[labels]
            if len(names.attributes):
                changed[7] = attribute[attributes]
            self._blocks.change(number, changed)

    def _names_of(self, part: int) -> PartitionNames:
        file = self._names_file(part)
        names: PartitionNames = pickle.loads(file.read_bytes())
        file.unlink()
        return names

    def _names_file(self, part: int) -> Path:
        return self._spill.folder / f"names-{part}"


@dataclass(frozen=True)
class BlocksOnDisk(Sequence[Block]):
    """Blocks on disk: each is mapped when it is asked for, and let go when it is no longer used.

    What is known beforehand, and other numbers for names, are laid over what is on disk.
    """

    spill: TempFolder
    memory: int
    """How many bytes of it may be used."""
    shelf: ArrayFile
    is_one: tuple[bool, ...]
    known: ArrayFile | None = None
    places: tuple[Places, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.shelf)

    @overload
    def __getitem__(self, number: int) -> Block: ...
    @overload
    def __getitem__(self, number: slice) -> list[Block]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """The block at a place."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        arrays = list(self.shelf[number])
        if self.is_one[number]:
            arrays[4] = arrays[2]
        block = Block(*arrays, number=number % len(self))  # type: ignore[arg-type,misc]
        if self.known is not None:
            known_of_fact, known_number, kind = self.known[number]
            block = block._replace(
                known_of_fact=known_of_fact, known_number_of_item=known_number, kind_of_item=kind
            )
        for places in self.places:
            block = block.renumbered(*places)
        return block


@dataclass(frozen=True)
class PartitionsOnDisk(Sequence[Partition]):
    """Parts on disk: blocks with the names of their items and the spellings of their values."""

    blocks: BlocksOnDisk
    has_values: bool

    def __len__(self) -> int:
        return len(self.blocks)

    @overload
    def __getitem__(self, number: int) -> Partition: ...
    @overload
    def __getitem__(self, number: slice) -> list[Partition]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """The part at a place."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        folder, block = self.blocks.spill.folder, self.blocks[number]
        items = pl.read_ipc(folder / f"items-{block.number}")
        if not self.has_values:
            return Partition(block, items, None)
        return Partition(block, items, pl.read_ipc(folder / f"values-{block.number}")["value"])

    def tables(
        self, make: Make, answers: Sequence[Any], names: Mapping[str, int]
    ) -> list[LazyTable]:
        """The tables that are made of all parts, each part's when it is asked for."""

        def piece(name: str, number: int) -> pl.DataFrame:
            return make(self[number], answers[number], name)

        return [LazyTable(name, partial(piece, name), len(self), n) for name, n in names.items()]

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsOnDisk:
        """The same parts, with what is known of their facts as these blocks say."""
        known = ArrayFile(self.blocks.spill, f"known-{id(blocks):x}")
        for block in blocks:
            known.add([block.known_of_fact, block.known_number_of_item, block.kind_of_item])
        return replace(self, blocks=replace(self.blocks, known=known))

    def renumbered(self, places: Places) -> PartitionsOnDisk:
        """The same parts, with other numbers for what is numbered across blocks."""
        return replace(self, blocks=replace(self.blocks, places=(*self.blocks.places, places)))
