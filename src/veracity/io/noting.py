"""What is noticed of a file while it is read; the same of many files is told once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class FileNote(NamedTuple):
    """What was noticed of one file."""

    file: str
    what: str
    """The same words for every file of which it is true."""
    detail: str = ""
    """What is particular to this file."""


Notes = list[str | FileNote]


def told_once(notes: Iterable[str | FileNote]) -> list[str]:
    """Notes as sentences; what was noticed of several files names the first.

    >>> told_once([FileNote("a.csv", "is old", ": 1990"), "b", FileNote("c.csv", "is old")])
    ['a.csv and 1 more: is old: 1990', 'b']
    """
    files: dict[str, list[FileNote]] = {}
    for note in notes:
        if isinstance(note, FileNote):
            files.setdefault(note.what, []).append(note)
    told = []
    for note in notes:
        if isinstance(note, str):
            told.append(note)
            continue
        first, *others = files.pop(note.what, [None])
        if first is not None:
            more = f" and {len(others)} more" if others else ""
            told.append(f"{first.file}{more}: {note.what}{first.detail}")
    return told
