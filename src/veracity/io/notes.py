"""Notes on files while they are read; the same of several files is one note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from veracity.printing import in_short


class FileNote(NamedTuple):
    """A note on one file: `what` is the same for all files of which it is true."""

    file: str
    what: str
    detail: str = ""


Notes = list[str | FileNote]


def merged_notes(notes: Iterable[str | FileNote]) -> list[str]:
    """Return notes as sentences; a note on several files names the first.

    >>> merged_notes([FileNote("a.csv", "is old", ": 1990"), "b", FileNote("c.csv", "is old")])
    ['a.csv and 1 more: is old: 1990', 'b']
    """
    notes = list(notes)
    files: dict[str, list[FileNote]] = {}
    for note in notes:
        if isinstance(note, FileNote):
            files.setdefault(note.what, []).append(note)
    found = []
    for note in notes:
        if isinstance(note, str):
            found.append(note)
        elif note.what in files:
            first, *others = files.pop(note.what)
            more = f" and {len(others)} more" if others else ""
            found.append(f"{first.file}{more}: {note.what}{first.detail}")
    return found


def quoted_list(names: Sequence[str]) -> str:
    """Return names for a sentence, the first dozen of them."""
    shown = ", ".join(f"'{in_short(name)}'" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") if names else "none"


def sharing_columns(columns: Mapping[str, set[str]], what: str, notes: Notes) -> list[str]:
    """Return the largest group of tables that hang together by columns; note the others."""
    groups: list[set[str]] = []
    for name, own in columns.items():
        joined = [group for group in groups if any(own & columns[other] for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append({name}.union(*joined))
    *others, largest = sorted(groups, key=len)
    left_out = [name for name in columns if name not in largest]
    if left_out and len(largest) > max(map(len, others)):
        notes.append(
            f"{what} that share no column with others are left out: {quoted_list(left_out)}"
        )
        return [name for name in columns if name in largest]
    return list(columns)
