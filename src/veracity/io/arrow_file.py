"""The rows of an Arrow file, a portion at a time, without mapping it into memory.

Polars maps such a file. If another program cuts it short meanwhile, the system ends the process
without a word. So its messages are read as a stream, some at a time, and what is read is what was
checked. The schema is that of the footer: Polars writes none that is a message at the beginning,
though https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format asks for it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from veracity.io.arrow_batches import (
    MARK,
    BatchChecks,
    Block,
    block_at,
    blocks_of_stream,
    message_in,
)
from veracity.io.arrow_schema import check_fields
from veracity.io.batched import lazy_rows
from veracity.io.flat_tables import FlatTable, NotAsWritten

__all__ = ["check_arrow_file", "open_arrow_file"]

MAGIC = b"ARROW1"
PLACE = "<qi4xq"
"""As the footer tells where a batch is, how long its head is, and its body."""

TAIL = 4 + len(MAGIC)
"""What stands behind the footer: how long it is."""

END_OF_STREAM = MARK + bytes(4)

PORTION = 1 << 24
"""So many bytes are read at a time, or as many as dictionaries have, since these come with each
portion; or one batch."""

NO_SCHEMA = "it tells of a schema that is not there"
CUT = "it ends before its batches do"


class Contents(NamedTuple):
    """What the footer of a file tells: its schema, and where dictionaries and batches begin."""

    schema: FlatTable
    message: bytes
    """The schema as a message, with which a stream begins."""
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
        checks = BatchChecks(schema, str(path))
        for block in blocks:
            checks.check(file, block)


def open_arrow_file(path: Path) -> pl.LazyFrame:
    """The rows of an Arrow file, lazily."""
    check_arrow_file(path)
    with path.open("rb") as file:
        schema = pl.read_ipc_stream(_contents(file).message + END_OF_STREAM).schema
    return lazy_rows(partial(_rows, path, schema), schema)


def _rows(path: Path, schema: pl.Schema, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
    """Some columns of the rows, each portion read as a stream of its own."""
    wanted = None if columns is None else list(columns)
    with path.open("rb") as file:
        for stream in _streams(file, str(path)):
            rows = pl.read_ipc_stream(stream, columns=wanted)
            if any(schema.get(name) != dtype for name, dtype in rows.schema.items()):
                raise NotAsWritten("its columns are others than before")
            yield rows


def _streams(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The batches of a file as streams: the schema, all dictionaries, and some of the rows."""
    contents = _contents(file)
    checks = BatchChecks(contents.schema, name)
    head = [contents.message, *_checked(file, contents.dictionaries, checks)]
    enough = max(PORTION, sum(map(len, head)))
    portion: list[bytes] = []
    n_bytes = 0
    for message in _checked(file, contents.batches, checks):
        portion.append(message)
        n_bytes += len(message)
        if n_bytes >= enough:
            yield b"".join((*head, *portion, END_OF_STREAM))
            portion, n_bytes = [], 0
    if portion:
        yield b"".join((*head, *portion, END_OF_STREAM))


def _checked(file: IO[bytes], firsts: Iterable[int], checks: BatchChecks) -> Iterator[bytes]:
    """Messages, each checked as it was read: the file may be another than a moment ago."""
    for first in firsts:
        block = block_at(file, first)
        file.seek(block.first)
        content = file.read(block.head + block.body)
        own = io.BytesIO(content)
        checks.check(own, block_at(own, 0))
        yield content


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
    message = _as_message(content, schema, version=footer.byte(0))
    return Contents(schema, message, dictionaries, batches)


def _as_message(content: bytes, schema: FlatTable, *, version: int) -> bytes:
    """The schema within a footer as a message of its own: a table that leads to it, before all.

    All places in FlatBuffers are told from where they are told, so what is there stays as it is.
    """
    fields = (12, 24, 16, 18, 4, 8)  # as long are this list and the table; where the fields are
    own = struct.pack("<I6HiIqhB5x", 16, *fields, 12, 20 + schema.at, 0, version, 1)
    message = own + content + bytes(-len(content) % 8)
    return MARK + len(message).to_bytes(4, "little") + message
