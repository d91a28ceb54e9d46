"""Claims on disk: rows are parted, each part is encoded by itself, and its blocks are mapped.

The road is that of claims in memory, which are one part. Rows are written to disk by part as they
are read; then one part after the other is taken back, encoded, and put on a `Shelf`. At no time is
more in memory than the rows of a part, its blocks, and the names of sources, values and attributes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, overload

import numpy as np
import polars as pl

from veracity.claims.block import Block, IntArray, Places
from veracity.claims.encode import (
    CLAIMS_PER_BLOCK,
    Encoded,
    Make,
    Part,
    PartOfRows,
    check_some,
    encode_part,
    notes_of,
)
from veracity.claims.parting import AllNames, Decided, part_of_row, places_among
from veracity.claims.read import ClaimsStream
from veracity.claims.schema import ClaimsTable
from veracity.io.pieces import PieceTable
from veracity.io.spill import Shelf, Spill, spilling

__all__ = ["SpilledBlocks", "SpilledParts", "encode_spilled"]

Tell = Callable[[str, int, int], None]

BYTES_PER_ROW = 250
"""What a part needs for each of its rows while it is encoded, its strings among them."""

SHARE_OF_PART = 0.25
SHARE_OF_ROWS = 0.1
"""What share of the memory a part may take, and the rows that wait to be written to theirs."""

BYTES_ON_DISK = 120
"""What a claim takes on disk: its row until its part is encoded, then its share of a block."""

FEWEST_ROWS = 1 << 8
MOST_ROWS = 1 << 23
"""How few and how many rows a part has, about, whatever the memory."""

MOST_PARTS = 1 << 12
"""Into how many parts rows are written at most: more would be slow, however little memory."""


def encode_spilled(
    table: ClaimsTable | ClaimsStream,
    spill: Spill,
    memory: int,
    tell: Tell,
    claims_per_block: int = CLAIMS_PER_BLOCK,
) -> Encoded:
    """Encode claims part by part, with so many bytes of memory."""
    n_rows = table.n_rows
    spill.require_room(BYTES_ON_DISK * n_rows, f"{table.origin}: {n_rows:,} claims")
    rows_per_part = min(max(int(memory * SHARE_OF_PART / BYTES_PER_ROW), FEWEST_ROWS), MOST_ROWS)
    rows = _Rows(spill, min(max(1, math.ceil(n_rows / rows_per_part)), MOST_PARTS))
    decided = rows.fill(table, int(memory * SHARE_OF_ROWS), tell)
    names, shelf = AllNames(decided.are_numbers), _PartsWriter(spill, memory)
    n_self_contradicting = 0
    for number in range(rows.n_parts):
        tell("encoding", number, rows.n_parts)
        found = encode_part(
            rows.take(number), table.kind, rows.n_rows[number], claims_per_block,
            are_numbers=decided.are_numbers,
        )  # fmt: skip
        names.add(found.names)
        n_self_contradicting += found.n_self_contradicting
        shelf.add(found)
    all_names, parts = names.together(), shelf.finish()
    check_some(parts, n_self_contradicting, table.origin)
    shelf.renumber(lambda own: places_among(own, all_names, is_open=names.n_open > 0))
    note = (
        f"the claims are kept on disk, in {len(parts):,} blocks: {memory / 1e9:,.1f} GB of memory "
        "are too few for all of them"
    )
    notes = (*notes_of(all_names, n_self_contradicting), note)
    return Encoded(
        table.kind, all_names.names._replace(n_open=names.n_open), parts, notes
    )


class _Rows:
    """The rows of all parts, on disk, until their part is encoded."""

    def __init__(self, spill: Spill, n_parts: int) -> None:
        self.n_parts = n_parts
        self.n_rows = [0] * n_parts
        self._spill = spill
        self._path = spill.folder / "rows"
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(n_parts)]

    def fill(self, table: ClaimsTable | ClaimsStream, most_bytes: int, tell: Tell) -> Decided:
        """Write all rows of a table to their parts; also say what is decided over all of them."""
        decided, waiting, n_bytes = Decided(), list[pl.DataFrame](), 0
        with spilling(self._spill.place), self._path.open("wb") as file:
            for batch in table.batches():
                tell("parting", decided.n_rows, table.n_rows)
                decided += Decided.of(batch, decided.are_numbers)
                waiting.append(batch)
                n_bytes += batch.estimated_size()
                if n_bytes > most_bytes:
                    self._write(pl.concat(waiting), file)
                    waiting, n_bytes = [], 0
            if waiting:
                self._write(pl.concat(waiting), file)
        return decided

    def _write(self, rows: pl.DataFrame, file: Any) -> None:  # noqa: ANN401 - a binary file
        part = part_of_row(rows, self.n_parts)
        order = np.argsort(part, kind="stable")
        bounds = np.searchsorted(part[order], np.arange(self.n_parts + 1))
        rows = rows[order]
        for number in range(self.n_parts):
            own = rows[int(bounds[number]) : int(bounds[number + 1])]
            if len(own):
                packed = io.BytesIO()
                own.write_ipc(packed, compression="lz4")
                self._places[number].append((file.tell(), packed.tell()))
                self.n_rows[number] += len(own)
                file.write(packed.getbuffer())

    def take(self, number: int) -> Iterator[pl.DataFrame]:
        """The rows of a part."""
        with self._path.open("rb") as file:
            for start, length in self._places[number]:
                file.seek(start)
                yield pl.read_ipc(file.read(length))


class _PartsWriter:
    """Puts encoded parts on disk; the numbers of names are those of each part until all are in."""

    def __init__(self, spill: Spill, memory: int) -> None:
        self._spill, self._memory = spill, memory
        self._blocks = Shelf(spill, "blocks")
        self._is_one: list[bool] = []
        self._names: list[Any] = []
        self._has_values = True

    def add(self, found: PartOfRows) -> None:
        for part in found.parts:
            number, block = len(self._blocks), part.block
            is_one = block.source_of_voice is block.source_of_support
            arrays = [np.asarray(array) for array in block[:-1]]
            if is_one:
                arrays[4] = arrays[4][:0]
            self._blocks.add(arrays)
            self._is_one.append(is_one)
            self._names.append(found.names)
            with spilling(self._spill.place):
                part.items.write_ipc(self._spill.folder / f"items-{number}")
                if part.values is not None:
                    part.values.to_frame("value").write_ipc(self._spill.folder / f"values-{number}")
            self._has_values = part.values is not None

    def finish(self) -> SpilledParts:
        blocks = SpilledBlocks(self._spill, self._memory, self._blocks.finish(), tuple(self._is_one))
        return SpilledParts(blocks, has_values=self._has_values)

    def renumber(self, places: Callable[[Any], tuple[IntArray, ...]]) -> None:
        """Give sources, values and attributes the numbers they have among all."""
        own, found = None, ()
        for number, names in enumerate(self._names):
            if names is not own:  # blocks of a part have names in common
                own, found = names, places(names)
            _, _, supports, _, voices, _, labels, attributes, *_ = self._blocks[number]
            source, label, attribute = found
            changed = {2: source[supports], 6: label[labels], 7: attribute[attributes]}
            if not self._is_one[number]:
                changed[4] = source[voices]
            self._blocks.change(number, changed)
        self._names.clear()


@dataclass(frozen=True)
class SpilledBlocks(Sequence[Block]):
    """Blocks on disk: each is mapped when it is asked for, and let go when it is no longer used.

    What is known beforehand, and other numbers for names, are laid over what is on disk.
    """

    spill: Spill
    memory: int
    """How many bytes of it may be used."""
    shelf: Shelf
    is_one: tuple[bool, ...]
    known: Shelf | None = None
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
            known_of_fact, known_number = self.known[number]
            block = block._replace(known_of_fact=known_of_fact, known_number_of_item=known_number)
        for places in self.places:
            block = block.renumbered(*places)
        return block


@dataclass(frozen=True)
class SpilledParts(Sequence[Part]):
    """Parts on disk: blocks with the names of their items and the spellings of their values."""

    blocks: SpilledBlocks
    has_values: bool

    def __len__(self) -> int:
        return len(self.blocks)

    @overload
    def __getitem__(self, number: int) -> Part: ...
    @overload
    def __getitem__(self, number: slice) -> list[Part]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """The part at a place."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        folder, block = self.blocks.spill.folder, self.blocks[number]
        items = pl.read_ipc(folder / f"items-{block.number}")
        if not self.has_values:
            return Part(block, items, None)
        return Part(block, items, pl.read_ipc(folder / f"values-{block.number}")["value"])

    def tables(
        self, make: Make, answers: Sequence[Any], names: Mapping[str, int]
    ) -> list[PieceTable]:
        """The tables that are made of all parts, each part's when it is asked for."""

        def piece(place: int, number: int) -> pl.DataFrame:
            return make(self[number], answers[number])[place]

        return [
            PieceTable(name, partial(piece, place), len(self), n_rows=n, memory=self.blocks.memory)
            for place, (name, n) in enumerate(names.items())
        ]

    def with_blocks(self, blocks: Iterable[Block]) -> SpilledParts:
        """The same parts, with what is known of their facts as these blocks say."""
        known = Shelf(self.blocks.spill, f"known-{id(blocks):x}")
        for block in blocks:
            known.add([block.known_of_fact, block.known_number_of_item])
        return replace(self, blocks=replace(self.blocks, known=known.finish()))

    def renumbered(self, places: Places) -> SpilledParts:
        """The same parts, with other numbers for what is numbered across blocks."""
        return replace(self, blocks=replace(self.blocks, places=(*self.blocks.places, places)))
