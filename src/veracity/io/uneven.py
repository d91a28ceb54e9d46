"""Fields that are of one type in a row and of another in the next, as JSON has them: made one.

Polars refuses some of them (a number and a list), takes others for what they are not (true for 1),
and takes a list beside text for text. Here a value beside a list is a list of one, and whatever
else is mixed is text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from veracity.io.cells import texts_of

Path = tuple[str | None, ...]
"""The names of the fields that lead to a value; None for the members of a list."""

Types = dict[Path, set[str]]

NAMES_OF_TYPES = {"bool": "boolean", "dict": "object", "list": "array", "tuple": "array"}
ODD_TYPES = frozenset(NAMES_OF_TYPES.values())
"""Types that Polars does not mix with others; numbers and text it does."""


def in_even_lines(content: bytes) -> bytes | None:
    r"""The objects of a text, one in each line, with fields of one type each; None if it has none.

    >>> in_even_lines(b'{"v": ["a", "b"]}\n{"v": "c"}')
    b'{"v": ["a", "b"]}\n{"v": ["c"]}'
    """
    try:
        return "\n".join(map(json.dumps, even_rows(_objects(content)))).encode()
    except (ValueError, RecursionError):
        return None


def even_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with fields of one type each.

    >>> even_rows([{"v": True}, {"v": 1}, {"v": None}])
    [{'v': 'true'}, {'v': '1'}, {'v': None}]
    """
    types: Types = {}
    for row in rows:
        _gather(row, (), types)
    if not any(len(found) > 1 and found & ODD_TYPES for found in types.values()):
        return [dict(row) for row in rows]
    return [{name: _even(own, (name,), types) for name, own in row.items()} for row in rows]


def _objects(content: bytes) -> list[dict[str, Any]]:
    """The objects of an array, also if it is the only thing within one; or those of lines."""
    try:
        rows = _without_nan(content)
    except ValueError:
        rows = [_without_nan(line) for line in content.splitlines() if line.strip()]
    if isinstance(rows, dict):
        inner = list(rows.values())
        rows = inner[0] if len(inner) == 1 and isinstance(inner[0], list) else [rows]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("no objects")
    return rows


def _without_nan(text: bytes) -> Any:
    """What a text says; NaN, which Python writes though JSON has none, is missing."""
    return json.loads(text, parse_constant=lambda name: None if name == "NaN" else float(name))


def _gather(value: Any, path: Path, types: Types) -> None:
    """Note which types there are at the end of each path."""
    if value is None:
        return
    name = type(value).__name__
    types.setdefault(path, set()).add(NAMES_OF_TYPES.get(name, "plain"))
    if isinstance(value, Mapping):
        for field, own in value.items():
            _gather(own, (*path, field), types)
    if isinstance(value, list | tuple):
        for own in value:
            _gather(own, (*path, None), types)


def _even(value: Any, path: Path, types: Types) -> Any:
    """The value, of the one type that its field has."""
    if value is None:
        return None
    found, members = types[path], types.get((*path, None), set())
    if "array" in found and "object" not in found | members:
        types[*path, None] = members | (found - {"array"})
        inside = value if isinstance(value, list | tuple) else [value]
        return [_even(own, (*path, None), types) for own in inside]
    if len(found) > 1:
        is_odd = isinstance(value, bool | Mapping | list | tuple)
        text = json.dumps(value, ensure_ascii=False, default=str) if is_odd else None
        return text or texts_of([value])[0]
    if isinstance(value, Mapping):
        return {name: _even(own, (*path, name), types) for name, own in value.items()}
    return [_even(own, (*path, None), types) for own in value] if found == {"array"} else value
