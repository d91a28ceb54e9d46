"""Rows at the end of a table that sum up those above: these are no claims."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.io.noting import FileNote
from veracity.printing import in_short

MOST_TOTALS = 5
"""So many rows of totals are looked for at the end of a table."""

LONGEST_TOTAL = 1_000
"""So many characters of a cell are looked at: cells of a gigabyte are not copied for it."""

TOTALS = frozenset({
    "total", "totals", "grand total", "subtotal", "sum", "sums", "summe", "gesamt", "gesamtsumme",
    "zwischensumme", "totale", "suma", "somma", "totaal",
})  # fmt: skip
"""What a row at the end is called that sums up those above it."""


def n_totals(rows: Sequence[Sequence[str | None]]) -> int:
    """How many rows at the end sum up those above.

    They begin by saying so, have numbers in some of the other cells, and nothing in the rest.

    >>> n_totals([["pen", "1", "yes"], ["ink", "2", "no"], ["Total:", "3", None]])
    1
    >>> n_totals([["Shell", "1", "yes"], ["Total", "2", "no"]])
    0
    """
    count = 0
    for row in reversed(rows):
        cells = [cell.strip().rstrip(":").lower() for cell in row if cell and cell.strip()]
        if not cells:
            continue
        are_numbers = all(any(map(str.isdecimal, cell)) for cell in cells[1:])
        if len(cells) == len(row) or cells[0] not in TOTALS or not are_numbers:
            break
        count += 1
    return count


def totals_note(file: str, rows: Sequence[Sequence[str | None]]) -> FileNote:
    """That rows at the end were left out, as the last one begins."""
    first = next(cell for cell in rows[-1] if cell and cell.strip())
    what = "a row of totals at the end is left out (if it is none, fill its empty cells)"
    return FileNote(file, what, f": '{in_short(first.strip())}'")
