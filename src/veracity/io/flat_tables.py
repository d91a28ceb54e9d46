"""A small reader of FlatBuffers, in which Arrow files tell what they have."""

from __future__ import annotations

import struct
from collections.abc import Iterator

CUT_OFF = "what it tells of itself is cut off"


class NotAsWritten(ValueError):
    """A file that cannot be as it was written."""


class FlatTable:
    """A table of FlatBuffers: nothing that it tells is taken to be there."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self.at = content, at

    @classmethod
    def root(cls, content: bytes, first: int) -> FlatTable:
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

    def long(self, slot: int) -> int:
        """A number of eight bytes; zero if there is none."""
        at = self._slot(slot)
        return 0 if at is None else self._read("<q", at)

    def rows(self, slot: int, form: str) -> list[tuple[int, ...]]:
        """A list of numbers, or of structs of numbers."""
        at = self._slot(slot)
        if at is None:
            return []
        first = self._to(at).at
        length = struct.calcsize(form) * self._read("<I", first)
        if first + 4 + length > len(self._content):
            raise NotAsWritten(CUT_OFF)
        return list(struct.iter_unpack(form, self._content[first + 4 : first + 4 + length]))

    def table(self, slot: int) -> FlatTable | None:
        """A table within this one."""
        at = self._slot(slot)
        return None if at is None else self._to(at)

    def tables(self, slot: int) -> Iterator[FlatTable]:
        """A list of tables."""
        at = self._slot(slot)
        if at is not None:
            first = self._to(at).at
            for number in range(self._read("<I", first)):  # one that is not there ends it
                yield self._to(first + 4 + 4 * number)

    def _slot(self, slot: int) -> int | None:
        """Where a field stands; None if it is left out."""
        fields = self.at - self._read("<i", self.at)
        place = 4 + 2 * slot
        if place >= self._read("<H", fields):
            return None
        away = self._read("<H", fields + place)
        if away >= self._read("<H", fields + 2):  # the size of the table
            raise NotAsWritten(CUT_OFF)
        return self.at + away if away else None

    def _to(self, at: int) -> FlatTable:
        return FlatTable(self._content, at + self._read("<I", at))

    def _read(self, form: str, at: int) -> int:
        if at < 0 or at + struct.calcsize(form) > len(self._content):
            raise NotAsWritten(CUT_OFF)
        return int(struct.unpack_from(form, self._content, at)[0])
