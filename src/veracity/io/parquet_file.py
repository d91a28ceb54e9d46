"""Whether a Parquet file can have what it tells of, before anybody reads it.

Readers reserve memory for as many rows, values and bytes as a file tells of. One that was damaged
tells of more than any machine has, or contradicts itself, and a reader that is refused exabytes
ends the whole process. So the footer and the heads of the pages are compared with each other and
with the size of the file, by a small reader of their own. The fields and their numbers are those
of https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import io
from pathlib import Path
from typing import IO, Any

import polars as pl

from veracity.io.arrow_schema import MANY_DIGITS, check_schema, refuse_column
from veracity.io.cells import MOST_DIGITS
from veracity.io.flat_tables import NotAsWritten
from veracity.io.memory import require_memory

MAGIC = b"PAR1"
TAIL = 4 + len(MAGIC)
"""What stands behind the footer: how long it is."""

USUAL_HEAD = 1 << 12
"""So many bytes the head of a page seldom exceeds."""

NONSENSE = "what it tells of itself makes no sense"
FIRST_PAGE, DICTIONARY_PAGE, SECOND_PAGE = 0, 2, 3
"""Pages of values, of the first version of the format and of the second, and of dictionaries."""

HEAD_OF_PAGE = {FIRST_PAGE: 5, DICTIONARY_PAGE: 7, SECOND_PAGE: 8}
"""Where the head of a page of each type stands; other pages hold no values."""

ENCODINGS_IN_HEAD = {FIRST_PAGE: (2, 3, 4), DICTIONARY_PAGE: (2,), SECOND_PAGE: (4,)}
"""Where a head tells how values and their levels are written."""

ENCODINGS = frozenset({0, *range(2, 10)})
"""The ways in which they may be written, by their numbers."""

BYTES_PER_CELL = 8
"""The least that a value takes that was read, or the place where its text is."""

DEEPEST = 32
"""Structures within structures; the format needs seven."""


class DamagedParquet(ValueError):
    """Why a Parquet file cannot be as it was written."""


def open_parquet(path: Path) -> pl.LazyFrame:
    """The rows of a Parquet file that was checked, lazily.

    Polars would map it to look at its footer. If another program cuts it short meanwhile, the
    system ends the process without a word.
    """
    with path.open("rb") as file:
        footer = MAGIC + _footer(file)
    schema = pl.scan_parquet(io.BytesIO(footer)).collect_schema()
    return pl.scan_parquet(path, schema=schema, glob=False, hive_partitioning=False)


def check_parquet(path: Path) -> None:
    """Refuse a Parquet file that tells of more than it, or memory, can have."""
    with path.open("rb") as file:
        try:
            largest_group, largest_page = _check(file, str(path))
        except (IndexError, KeyError, TypeError, AttributeError) as error:
            raise DamagedParquet(NONSENSE) from error
    require_memory(
        max(BYTES_PER_CELL * largest_group, largest_page),
        f"{path}: its groups of up to {largest_group:,} rows",
        "write it with smaller groups",
    )


def _footer(file: IO[bytes]) -> bytes:
    """The footer of a file, with its length and the mark behind it."""
    size = file.seek(0, 2)
    if size < 12:
        raise DamagedParquet("it ends before its footer")
    file.seek(size - TAIL)
    tail = file.read(TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC:
        raise DamagedParquet("it has no footer")
    if size - TAIL - length < len(MAGIC):
        raise DamagedParquet("its footer would be larger than the file")
    file.seek(size - TAIL - length)
    return file.read(length) + tail


def _check(file: IO[bytes], name: str) -> tuple[int, int]:
    """Refuse what contradicts itself; the rows of the largest group, the bytes of the largest page.

    A page takes as many bytes as are told here when it is unpacked.
    """
    content = _footer(file)
    pages = _Pages(file, file.seek(0, 2) - len(content))
    footer = _Compact(content[:-TAIL]).struct()
    _check_types(footer, name)
    n_columns = sum(1 for element in footer[2][1:] if element.get(5) is None)
    largest_page = 0
    for group in footer[4]:
        if len(group[1]) != n_columns:
            raise DamagedParquet("its footer tells of other columns than there are")
        for chunk in group[1]:
            largest_page = max(largest_page, _check_chunk(chunk[3], group[3], pages))
    rows = [group[3] for group in footer[4]]
    if sum(rows) != footer[3]:
        raise DamagedParquet("its footer counts other rows than there are")
    return max(rows, default=0), largest_page


def _check_types(footer: dict[int, Any], name: str) -> None:
    """Refuse columns of types that are not read, by what the file tells of them."""
    for told in footer.get(5, ()):
        if told[1] == b"ARROW:schema":
            with contextlib.suppress(binascii.Error, NotAsWritten):  # readers do without it
                check_schema(base64.b64decode(told[2]), name)
    for element in footer[2]:
        if element.get(8, 0) > MOST_DIGITS:
            refuse_column(name, element[4].decode(errors="replace"), MANY_DIGITS)


def _check_chunk(chunk: dict[int, Any], n_rows: int, pages: _Pages) -> int:
    """Refuse a column of a group that is not where it should be; the bytes of its largest page."""
    n_values, n_bytes = chunk[5], chunk[7]
    first = min(chunk[9], chunk.get(11) or chunk[9])  # a dictionary stands before the data
    if min(n_rows, n_bytes, first) < 0 or first + n_bytes > pages.end:
        raise DamagedParquet("its footer tells of bytes that are not there")
    if n_values < 0 or (len(chunk[3]) == 1 and n_values != n_rows):
        raise DamagedParquet("its footer counts other values than rows")
    counted, largest, end = 0, 0, first + n_bytes
    while counted < n_values and first < end:
        page, first = pages.head_at(first)
        n_unpacked, n_packed = page[2], page[3]
        first += n_packed
        if min(n_unpacked, n_packed) < 0 or first > pages.end:
            raise DamagedParquet("it has pages that go beyond its end")
        n_here = _n_values(page) if page[1] in HEAD_OF_PAGE else 0
        counted += n_here if page[1] != DICTIONARY_PAGE else 0
        largest = max(largest, n_unpacked)
    if counted != n_values:
        raise DamagedParquet("its pages count other values than its footer")
    return largest


def _n_values(page: dict[int, Any]) -> int:
    """How many values a page has; it is refused if it has no room for what it tells of."""
    kind, head = page[1], page[HEAD_OF_PAGE[page[1]]]
    if any(head[field] not in ENCODINGS for field in ENCODINGS_IN_HEAD[kind]):
        raise DamagedParquet("it has pages in an encoding that is not known")
    n_bytes = [head[1]] if kind == DICTIONARY_PAGE else []
    if kind == SECOND_PAGE:  # its levels, which tell what is missing, are never packed
        n_bytes = [head[5], head[6], page[3] - head[5] - head[6]]
    if min([head[1], *n_bytes]) < 0 or sum(n_bytes) > max(page[2], page[3]):
        raise DamagedParquet("it has pages that count more values than they hold")
    return int(head[1])


class _Pages:
    """The pages of a file, up to where its footer begins."""

    def __init__(self, file: IO[bytes], end: int) -> None:
        self._file, self.end = file, end

    def head_at(self, first: int) -> tuple[dict[int, Any], int]:
        """The head of the page that begins at a byte, and where it ends."""
        n_bytes = USUAL_HEAD
        while True:
            self._file.seek(first)
            content = _Compact(self._file.read(min(n_bytes, self.end - first)))
            try:
                return content.struct(), first + content.at
            except DamagedParquet:  # or it is longer
                if first + n_bytes >= self.end:
                    raise
                n_bytes *= 16


class _Compact:
    """Reads what Thrift's compact protocol has written, without trusting any size in it."""

    def __init__(self, content: bytes) -> None:
        self._content, self.at, self._end = content, 0, len(content)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Fields by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 0x0F
            number = number + step if step else self._integer()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise DamagedParquet(NONSENSE)
        if 3 < kind < 7:
            return self._integer()
        if kind == 8:
            return self._bytes(self._varint())
        if kind == 12:
            return self.struct(depth + 1)
        if kind in (9, 10):
            return self._list(depth)
        if kind in (1, 2, 3):  # a boolean in a list, or a byte
            return self._byte()
        if kind == 7:
            return self._bytes(8)
        raise DamagedParquet(NONSENSE)

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 0x0F
        if length == 15:
            length = self._varint()
        if length > self._end - self.at:
            raise DamagedParquet(NONSENSE)
        return [self._value(kind, depth + 1) for _ in range(length)]

    def _bytes(self, length: int) -> bytes:
        first, self.at = self.at, self.at + length
        if self.at > self._end:
            raise DamagedParquet(NONSENSE)
        return self._content[first : self.at]

    def _byte(self) -> int:
        if self.at >= self._end:
            raise DamagedParquet(NONSENSE)
        self.at += 1
        return self._content[self.at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while shift < 64:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
        raise DamagedParquet(NONSENSE)

    def _integer(self) -> int:
        """A number with a sign, which stands in its lowest bit."""
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)
