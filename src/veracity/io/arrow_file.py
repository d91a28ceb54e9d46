"""The rows of an Arrow file, a portion at a time, without mapping it into memory.

Polars maps such a file. If another program cuts it short meanwhile, the system ends the process
without a word. So some of its batches at a time are read, and handed over as a small file of their
own: https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from veracity.io.arrow_batches import (
    Batches,
    Block,
    block_at,
    blocks_of_stream,
    message_in,
)
from veracity.io.arrow_schema import check_fields
from veracity.io.batched import lazy_rows
from veracity.io.flat_tables import FlatTable, NotAsWritten

MAGIC = b"ARROW1"
PLACE = "<qi4xq"
"""As the footer tells where a batch is, how long its head is, and its body."""

TAIL = 4 + len(MAGIC)
"""What stands behind the footer: how long it is."""

PORTION = 1 << 24
"""So many bytes, unpacked, are read at a time, or one batch; or as many as dictionaries have, since
these come with each portion."""

NO_SCHEMA = "it tells of a schema that is not there"
CUT = "it ends before its batches do"


class Contents(NamedTuple):
    """What the footer of a file tells: its schema, and where dictionaries and batches begin."""

    footer: bytes
    schema: FlatTable
    version: int
    dictionaries: list[int]
    batches: list[int]


def check_arrow_file(path: Path) -> None:
    """Refuse an Arrow file, or a stream in one, that is damaged or has types that are not read."""
    with path.open("rb") as file:
        is_stream = file.read(len(MAGIC)) != MAGIC
        schema, blocks = _of_stream(file) if is_stream else _of_file(file)
        if schema is None:
            raise NotAsWritten(NO_SCHEMA)
        check_fields(schema, str(path))
        batches = Batches(schema, str(path))
        for block in blocks:
            batches.check(file, block)


def open_arrow_file(path: Path) -> pl.LazyFrame:
    """The rows of an Arrow file, lazily."""
    check_arrow_file(path)
    with path.open("rb") as file:
        schema = pl.scan_ipc(_Portion(_contents(file)).taken()).collect_schema()
    return lazy_rows(partial(_rows, path, schema), schema)


def _rows(path: Path, schema: pl.Schema, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
    """Some columns of the rows."""
    wanted = schema.names() if columns is None else list(columns)
    with path.open("rb") as file:
        for portion in _portions(file, str(path), wanted):
            rows = pl.scan_ipc(portion).select(wanted).collect()
            if any(schema[name] != dtype for name, dtype in rows.schema.items()):
                raise NotAsWritten("its columns are others than before")
            yield rows


def _portions(file: IO[bytes], name: str, wanted: Sequence[str]) -> Iterator[bytes]:
    """The batches of a file, some at a time."""
    contents = _contents(file)
    names = [field.text(0) for field in contents.schema.tables(1)]
    columns = [number for number, name in enumerate(names) if name in wanted]
    batches = Batches(contents.schema, name)
    head = _Portion(contents)
    for first in contents.dictionaries:
        block = block_at(file, first)
        head.n_unpacked += batches.check(file, block)
        head.add(block, [_read(file, block.first, block.head + block.body)], is_dictionary=True)
    enough = max(PORTION, 2 * head.n_unpacked)
    portion = head.copy()
    for first in contents.batches:
        block = block_at(file, first)
        portion.n_unpacked += batches.check(file, block)
        portion.add(block, _columns(file, block, batches, columns))
        if portion.n_unpacked >= enough:
            yield portion.taken()
            portion = head.copy()
    if portion.batches:
        yield portion.taken()


class _Portion:
    """A file that is made of some of the messages of another."""

    def __init__(self, contents: Contents) -> None:
        self._contents, self._pieces = contents, [MAGIC.ljust(8, b"\0")]
        self._size, self.n_unpacked = 8, 0
        self._dictionaries: list[bytes] = []
        self.batches: list[bytes] = []

    def copy(self) -> _Portion:
        """Another that begins as this one."""
        own = _Portion(self._contents)
        own._pieces, own._dictionaries = [*self._pieces], [*self._dictionaries]
        own._size, own.n_unpacked = self._size, self.n_unpacked
        return own

    def add(self, block: Block, pieces: Iterable[bytes], *, is_dictionary: bool = False) -> None:
        """Add a message."""
        places = self._dictionaries if is_dictionary else self.batches
        places.append(struct.pack(PLACE, self._size, block.head, block.body))
        n_bytes = block.head + block.body
        self._pieces += [*pieces, bytes(-n_bytes % 8)]
        self._size += n_bytes + -n_bytes % 8

    def taken(self) -> bytes:
        """The file; nothing else of it is kept, since a batch may be large."""
        footer = self._footer()
        pieces, self._pieces = self._pieces, []
        return b"".join((*pieces, footer, len(footer).to_bytes(4, "little"), MAGIC))

    def _footer(self) -> bytes:
        """A footer before that of the other file, in which its schema stays where it is.

        All places in FlatBuffers are told from where they are told. What comes first is where the
        table begins, a list of where its fields are in it, and these, the version last.
        """
        dictionaries, batches = b"".join(self._dictionaries), b"".join(self.batches)
        other = 56 + len(dictionaries) + len(batches)
        fields = (other - 20 + self._contents.schema.at, 44 - 24, 52 - 28 + len(dictionaries))
        own = struct.pack(
            "<I6HiIIIh10x", 16, 12, 20, 16, 4, 8, 12, 12, *fields, self._contents.version
        )
        n_dictionaries, n_batches = (
            struct.pack("<I", len(places)) for places in (self._dictionaries, self.batches)
        )
        lists = (n_dictionaries, dictionaries, bytes(4), n_batches, batches)
        return b"".join((own, *lists, self._contents.footer))


def _columns(
    file: IO[bytes], block: Block, batches: Batches, columns: Sequence[int]
) -> Iterator[bytes]:
    """A batch with some of its columns; in the place of others, which are not read, are zeros."""
    head = _read(file, block.first, block.head)
    yield head
    at = 0
    for first, length in sorted(batches.places(head, columns)):
        if first > at:
            yield bytes(first - at)
        if first + length > at:
            at = max(at, first)
            yield _read(file, block.first + block.head + at, first + length - at)
            at = first + length
    yield bytes(block.body - at)


def _read(file: IO[bytes], first: int, n_bytes: int) -> bytes:
    file.seek(first)
    content = file.read(n_bytes)
    if len(content) < n_bytes:
        raise NotAsWritten(CUT)
    return content


def _of_stream(file: IO[bytes]) -> tuple[FlatTable | None, Iterator[Block]]:
    """The schema that comes first, and the messages that follow."""
    blocks = blocks_of_stream(file)
    first = next(blocks, None)
    if first is None:
        return None, blocks
    file.seek(0)
    return message_in(file.read(first.head)).table(2), blocks


def _of_file(file: IO[bytes]) -> tuple[FlatTable, Iterator[Block]]:
    """The schema, and the messages that have rows, or dictionaries for these."""
    contents = _contents(file)
    firsts = (*contents.dictionaries, *contents.batches)
    return contents.schema, (block_at(file, first) for first in firsts)


def _contents(file: IO[bytes]) -> Contents:
    size = file.seek(0, 2)
    file.seek(max(size - TAIL, 0))
    length = int.from_bytes(file.read(4), "little", signed=True)
    if not 0 < length <= size - TAIL:
        raise NotAsWritten(NO_SCHEMA)
    file.seek(size - TAIL - length)
    content = file.read(length)
    footer = FlatTable.root(content, 0)
    schema = footer.table(1)
    if schema is None:
        raise NotAsWritten(NO_SCHEMA)
    dictionaries, batches = ([first for first, *_ in footer.rows(n, PLACE)] for n in (2, 3))
    return Contents(content, schema, footer.byte(0), dictionaries, batches)
