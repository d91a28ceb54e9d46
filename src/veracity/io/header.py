"""Where a table begins in what was written above it, and how its columns are told apart."""

from __future__ import annotations

import contextlib
import csv
from collections import Counter
from collections.abc import Sequence

DELIMITERS = (",", "\t", ";", "|")


def find_header(lines: Sequence[str], first: str) -> tuple[str, int]:
    """The delimiter, and how many lines stand before the header."""
    outside_quotes = "".join(first.split('"')[::2])
    usual = max(DELIMITERS, key=outside_quotes.count)
    found = {}
    for delimiter in (usual, *DELIMITERS):
        rows = _first_rows(lines, delimiter)
        place = header_at([row for row, _ in rows])
        if place:
            found[delimiter] = len(rows[place][0]), rows[place][1]
        elif delimiter == usual and rows and len(rows[0][0]) == _usual_width(rows) > 1:
            return usual, 0
    best = max(found, key=lambda delimiter: found[delimiter][0], default=usual)
    return best, found[best][1] if best in found else 0


def _first_rows(lines: Sequence[str], delimiter: str) -> list[tuple[list[str], int]]:
    """The first rows that are not blank, and how many lines stand before each."""
    reader, rows, before = csv.reader(lines, delimiter=delimiter), [], 0
    with contextlib.suppress(csv.Error):
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((row, before))
            before = reader.line_num
    return rows


def _usual_width(rows: Sequence[tuple[list[str], int]]) -> int:
    return Counter(len(row) for row, _ in rows).most_common(1)[0][0]


def header_at(rows: Sequence[Sequence[str]]) -> int:
    """Which row is the header: the first, unless titles and remarks stand above a table.

    Rows above it have few cells that are filled; the header has all of them filled, no two alike
    and none a number.

    >>> header_at([["Report of May", ""], ["source", "value"], ["a", "1"], ["b", "2"]])
    1
    >>> header_at([["source", "value"], ["a", "1"], ["b", "2"]])
    0
    """
    if len(rows) < 3:
        return 0
    width = Counter(map(len, rows)).most_common(1)[0][0]
    for place, row in enumerate(rows):
        cells = [cell.strip() for cell in row if cell.strip()]
        if len(cells) == len(row) == width and len(set(cells)) == width:
            is_header = width > 1 and not any(map(_is_number, cells))
            return place if is_header and len(rows) > place + 1 else 0
        if len(cells) > max(1, (width - 1) // 2):
            return 0
    return 0


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def distinct(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once.

    >>> distinct(["value", "note", "value"])
    ['value (1)', 'note', 'value (2)']
    """
    times, seen = Counter(names), Counter[str]()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name} ({seen[name]})" if times[name] > 1 else name)
    return distinct
