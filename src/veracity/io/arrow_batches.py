"""Whether the batches of an Arrow file can be as they were written, before Polars reads them.

Polars makes room for as many bytes as a packed column tells of, and where there is no such room the
whole process ends; of what contradicts itself it panics, and prints that. So what batches tell of
their columns is compared with the schema and with the size of the file. The tables and the numbers
of their fields are those of Message.fbs and File.fbs, the order of nodes and buffers that of
https://arrow.apache.org/docs/format/Columnar.html.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import IO, NamedTuple

from veracity.io.flat_tables import FlatTable, NotAsWritten
from veracity.io.memory import require_memory

MARK = b"\xff\xff\xff\xff"
DICTIONARY, RECORDS = 2, 3
"""Messages that have rows, by their number in the union `MessageHeader`."""

MOST_FIELDS = 100_000
"""A damaged schema may tell of fields within themselves."""

MOST_UNPACKED = 1 << 16
"""So many bytes, at most, a packed byte stands for."""

TOLD = 8
"""So many bytes before what is packed tell how long it is unpacked; -1 if it is not packed."""

NOT_THERE = "its batches tell of bytes that are not there"
EMPTY_VIEWS = "packed views that need no text beside them are not read: write it unpacked"
CONTRADICTION = "its batches tell of other columns than its schema"


class Block(NamedTuple):
    """Where a message is: its first byte, and how long its head and its body are."""

    first: int
    head: int
    body: int


class Layout(NamedTuple):
    """The buffers of a field in a batch: the first tells what is missing, the next has offsets."""

    n_buffers: int
    offset_width: int = 0
    has_more: bool = False
    """Whether each batch tells how many more there are."""


PLAIN = Layout(2)
LAYOUTS = {
    1: Layout(0),  # null
    **dict.fromkeys((13, 16), Layout(1)),  # structs, and lists of one length
    **dict.fromkeys((12, 17), Layout(2, 4)),  # lists and maps
    21: Layout(2, 8),
    **dict.fromkeys((4, 5), Layout(3, 4)),  # bytes and text
    **dict.fromkeys((19, 20), Layout(3, 8)),
    **dict.fromkeys((23, 24), Layout(2, has_more=True)),  # views of bytes and of text
}
"""By the number of a type in the union `Type`; all others have no offsets."""


def message_in(content: bytes) -> FlatTable:
    """A message behind its length, which may stand behind a mark."""
    return FlatTable.root(content, 8 if content.startswith(MARK) else 4)


def block_at(file: IO[bytes], first: int) -> Block:
    """The message that begins at a byte; its body is as long as it tells."""
    n_left = file.seek(0, 2) - first
    before, length = _lengths_at(file, first) if first >= 0 and n_left > 0 else (0, 0)
    if not 0 < length <= n_left - before:
        raise NotAsWritten("it tells of batches that are not there")
    body = FlatTable.root(file.read(length), 0).long(3)
    if not 0 <= body <= n_left - before - length:
        raise NotAsWritten(NOT_THERE)
    return Block(first, before + length, body)


def _lengths_at(file: IO[bytes], first: int) -> tuple[int, int]:
    """How much stands before a message, and how long it is; the file is where it begins then."""
    file.seek(first)
    head = file.read(4)
    before = 8 if head == MARK else 4
    length = int.from_bytes(file.read(4) if head == MARK else head, "little", signed=True)
    return before, length


def blocks_of_stream(file: IO[bytes]) -> Iterator[Block]:
    """The messages of a stream, one behind the other."""
    first = 0
    while _lengths_at(file, first)[1] > 0:
        block = block_at(file, first)
        yield block
        first += block.head + block.body


class Batches:
    """What the batches of a schema tell of their columns."""

    def __init__(self, schema: FlatTable, name: str) -> None:
        self._layouts, self._name = _Layouts(schema), name

    def check(self, file: IO[bytes], block: Block) -> int:
        """Refuse one that contradicts itself or the schema, or that memory cannot hold.

        Else it is told how many bytes its columns take, unpacked.
        """
        file.seek(block.first)
        message = message_in(file.read(block.head))
        kind, batch, own = message.byte(1), message.table(2), self._layouts.of_columns
        if kind == DICTIONARY and batch is not None:
            own, batch = self._layouts.of_dictionary.get(batch.long(0), []), batch.table(1)
        if batch is None or kind not in (DICTIONARY, RECORDS):
            raise NotAsWritten(NOT_THERE)
        sizes = list(_sizes(file, block, batch))
        _check_columns(batch, own, sizes)
        what = f"{self._name}: its rows, unpacked,"
        require_memory(sum(sizes), what, "write it in smaller batches")
        return sum(sizes)

    def places(self, head: bytes, columns: Collection[int]) -> Iterator[tuple[int, int]]:
        """Where some columns are in the body of a batch of rows: first bytes, and how many."""
        batch = message_in(head).table(2)
        if batch is None:
            raise NotAsWritten(NOT_THERE)
        places, more, at = batch.rows(2, "<qq"), iter(batch.rows(4, "<q")), 0
        for layout, column in zip(
            self._layouts.of_columns, self._layouts.column_of_field, strict=True
        ):
            (n_more,) = next(more, (0,)) if layout.has_more else (0,)
            end = at + layout.n_buffers + n_more
            if column in columns:
                yield from ((first, length) for first, length in places[at:end])
            at = end


def _sizes(file: IO[bytes], block: Block, batch: FlatTable) -> Iterator[int]:
    """How long each buffer is, unpacked."""
    is_packed = batch.table(3) is not None
    for first, length in batch.rows(2, "<qq"):
        if min(first, length) < 0 or first + length > block.body:
            raise NotAsWritten(NOT_THERE)
        size = length
        if is_packed and length:
            file.seek(block.first + block.head + first)
            size = int.from_bytes(file.read(TOLD), "little", signed=True)
            if length < TOLD or not -1 <= size <= MOST_UNPACKED * length:
                raise NotAsWritten(NOT_THERE)
        yield length - TOLD if size == -1 else size


def _check_columns(batch: FlatTable, layouts: list[Layout], sizes: list[int]) -> None:
    """Refuse columns without what tells where their values are, and which of them are missing."""
    is_packed = batch.table(3) is not None
    nodes, more = batch.rows(1, "<qq"), iter(batch.rows(4, "<q"))
    if len(nodes) < len(layouts) or batch.long(0) < 0:
        raise NotAsWritten(CONTRADICTION)
    at = 0
    for (length, n_missing), layout in zip(nodes, layouts, strict=False):
        own = sizes[at : at + layout.n_buffers]
        (n_more,) = next(more, (0,)) if layout.has_more else (0,)
        if len(own) < layout.n_buffers or min(length, n_more) < 0:
            raise NotAsWritten(CONTRADICTION)
        bits = length if n_missing > 0 else 0
        least = (-(-bits // 8), layout.offset_width * (length + 1) or int(is_packed))
        if length and any(size < needed for size, needed in zip(own, least, strict=False)):
            raise NotAsWritten(NOT_THERE)
        at += layout.n_buffers + n_more
        if is_packed and 0 in sizes[at - n_more : at]:
            raise NotAsWritten(EMPTY_VIEWS)


class _Layouts:
    """The layouts of columns, each before those within it; and of the values of dictionaries."""

    def __init__(self, schema: FlatTable) -> None:
        self._n_left = MOST_FIELDS
        self._dictionaries: dict[int, FlatTable] = {}
        of_column = [self._walk([field]) for field in schema.tables(1)]
        self.of_columns = [layout for own in of_column for layout in own]
        self.column_of_field = [column for column, own in enumerate(of_column) for _ in own]
        self.of_dictionary: dict[int, list[Layout]] = {}
        while self._dictionaries:
            number, field = self._dictionaries.popitem()
            self.of_dictionary[number] = self._walk([field], is_dictionary=True)

    def _walk(self, fields: list[FlatTable], *, is_dictionary: bool = False) -> list[Layout]:
        found: list[Layout] = []
        left = fields[::-1]
        while left:
            field = left.pop()
            self._n_left -= 1
            if self._n_left < 0:
                raise NotAsWritten("its schema tells of columns without end")
            numbered = None if is_dictionary and not found else field.table(4)
            if numbered is None:
                found.append(LAYOUTS.get(field.byte(2), PLAIN))
                left += list(field.tables(5))[::-1]
            else:
                found.append(PLAIN)
                self._dictionaries[numbered.long(0)] = field
        return found
