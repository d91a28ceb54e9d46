"""Whether the types of an Arrow schema are read, before Polars is asked to read them.

Of others it panics: that is printed on standard error whatever becomes of it, and where it happens
in a thread of its own the rows are missing without a word. So the schema of an Arrow file, that
within a Parquet file, and that of a table of pyarrow are looked at beforehand, by a small reader of
their own. The tables and the numbers of their fields are those of Schema.fbs, Message.fbs and
File.fbs at https://github.com/apache/arrow/tree/main/format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import polars as pl

from veracity.errors import InputError
from veracity.printing import in_short

__all__ = ["MANY_DIGITS", "NotAsWritten", "check_arrow_file", "check_schema", "refuse_column"]

MAGIC = b"ARROW1"
MARK = b"\xff\xff\xff\xff"
TAIL = 4 + len(MAGIC)
"""What stands behind the footer of a file: how long it is."""

DECIMAL, TIMESTAMP = 7, 10
NOT_READ = {11: "an interval", 14: "a union", 22: "run-end encoded", 25: "a list view",
            26: "a large list view"}  # fmt: skip
"""Types by their number in the union `Type`."""

LAST_KNOWN = max(NOT_READ)
WIDEST_DECIMAL = 128
MANY_DIGITS = "a decimal of more than 38 digits"


class NotAsWritten(ValueError):
    """A schema that cannot be as it was written."""


def check_arrow_file(path: Path) -> None:
    """Refuse an Arrow file, or a stream in one, if a column is of a type that is not read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8)
        if not head.startswith(MAGIC):
            check_schema(head + file.read(_size(head[4:], size)), str(path))
            return
        file.seek(max(size - TAIL, 0))  # readers take the schema at the end
        length = _size(file.read(4), size - TAIL)
        file.seek(size - TAIL - length)
        _check_fields(_Table.root(file.read(length), 0).tables_in(1, 1), str(path))


def check_schema(message: bytes, name: str) -> None:
    """The same of a schema as it is sent, or as a Parquet file keeps it."""
    first = 8 if message.startswith(MARK) else 4
    _check_fields(_Table.root(message, first).tables_in(2, 1), name)


def refuse_column(name: str, column: str, kind: str) -> NoReturn:
    """Say which column is of a type that is not read."""
    raise InputError(
        f"{name}: its column '{in_short(column)}' is {kind}, which is not read; write it as text, "
        "or leave it out"
    )


def _size(told: bytes, most: int) -> int:
    size = int.from_bytes(told, "little", signed=True)
    if not 0 < size <= most:
        raise NotAsWritten("it tells of a schema that is not there")
    return size


def _check_fields(fields: Iterator[_Table], name: str) -> None:
    """Look at each field and at those within it, each once: a damaged one may be within itself."""
    left = [(field, field.text(0)) for field in fields]
    met: set[int] = set()
    while left:
        field, column = left.pop()
        if field.at in met:
            continue
        met.add(field.at)
        if kind := _not_read(field):
            refuse_column(name, column, kind)
        left += [(within, column) for within in field.tables(5)]


def _not_read(field: _Table) -> str | None:
    """What the type of a field is, if it is none that is read."""
    number, kind = field.byte(2), field.table(3)
    if number == DECIMAL and kind is not None and kind.number(2, WIDEST_DECIMAL) > WIDEST_DECIMAL:
        return MANY_DIGITS
    if number == TIMESTAMP and kind is not None and not _is_zone(kind.text(1)):
        return f"a time in the zone '{in_short(kind.text(1))}'"
    return "of an unknown type" if number > LAST_KNOWN else NOT_READ.get(number)


def _is_zone(name: str) -> bool:
    try:
        pl.Series([0], dtype=pl.Datetime("us", name))
    except pl.exceptions.PolarsError:
        return False
    return True


class _Table:
    """A table of FlatBuffers: nothing that it tells is taken to be there."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self.at = content, at

    @classmethod
    def root(cls, content: bytes, first: int) -> _Table:
        """The table that others are within."""
        return cls(content, first)._to(first)

    def text(self, slot: int) -> str:
        """A text; empty if there is none."""
        at = self._slot(slot)
        if at is None:
            return ""
        first = self._to(at).at
        length = self._read("<I", first)
        return self._content[first + 4 : first + 4 + length].decode(errors="replace")

    def byte(self, slot: int) -> int:
        """A number of one byte; zero if there is none."""
        at = self._slot(slot)
        return 0 if at is None else self._read("<B", at)

    def number(self, slot: int, default: int) -> int:
        """A number of four bytes."""
        at = self._slot(slot)
        return default if at is None else self._read("<i", at)

    def table(self, slot: int) -> _Table | None:
        """A table within this one."""
        at = self._slot(slot)
        return None if at is None else self._to(at)

    def tables(self, slot: int) -> Iterator[_Table]:
        """A list of tables."""
        at = self._slot(slot)
        if at is not None:
            first = self._to(at).at
            for number in range(self._read("<I", first)):  # one that is not there ends it
                yield self._to(first + 4 + 4 * number)

    def tables_in(self, slot: int, list_slot: int) -> Iterator[_Table]:
        """The list of tables of a table within this one."""
        within = self.table(slot)
        return iter(()) if within is None else within.tables(list_slot)

    def _slot(self, slot: int) -> int | None:
        """Where a field stands; None if it is left out."""
        fields = self.at - self._read("<i", self.at)
        place = 4 + 2 * slot
        if place >= self._read("<H", fields):
            return None
        away = self._read("<H", fields + place)
        return self.at + away if away else None

    def _to(self, at: int) -> _Table:
        return _Table(self._content, at + self._read("<I", at))

    def _read(self, form: str, at: int) -> int:
        if at < 0 or at + struct.calcsize(form) > len(self._content):
            raise NotAsWritten("its schema is cut off")
        return int(struct.unpack_from(form, self._content, at)[0])
