"""JSON: an array of objects, by itself or as the only thing in an object, or objects in lines."""

from __future__ import annotations

import codecs
import json
import zlib
from pathlib import Path
from typing import Any

import polars as pl

from veracity.errors import UnreadableFile, first_line
from veracity.io.encodings import TextFile
from veracity.io.frames import frame_of_rows
from veracity.printing import in_short

JSON_SUFFIXES = (".json", ".json.gz")
LINES_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

LONG_JSON = 50_000_000
"""Bytes from which on objects in lines are read while they are encoded."""

JSON_FORMS = "give an array of objects, or an object in each line"
UNREADABLE = (EOFError, OSError, UnicodeError, RecursionError, ValueError, zlib.error,
              pl.exceptions.PolarsError)  # fmt: skip


def is_json(head: bytes) -> bool:
    """Return True if a file of any name begins with an object, or an array of them."""
    begin = b"".join(head.removeprefix(codecs.BOM_UTF8).split())
    return begin.startswith((b'[{"', b'{"'))


def open_json(path: Path) -> pl.LazyFrame:
    """Return the rows of a file; a field of several types is text."""
    try:
        text = TextFile.of(path)
        is_long = path.stat().st_size > LONG_JSON and not text.is_packed
        if is_long and path.name.lower().endswith(LINES_SUFFIXES):
            return pl.scan_ndjson(path, infer_schema_length=None)
        with text.opened() as file:
            content = file.read().removeprefix(codecs.BOM_UTF8)
        rows = _rows_within(path, _objects(path, content))
        return frame_of_rows(rows, str(path)).lazy()
    except UNREADABLE as error:
        raise UnreadableFile(
            f"{path}: no JSON that can be read ({first_line(error)}); {JSON_FORMS}"
        ) from error


def _objects(path: Path, content: bytes) -> list[Any]:
    """Return all that is in an array, or in lines; a single object is an array of one."""
    if content.lstrip()[:1] not in (b"[", b"{"):
        raise UnreadableFile(f"{path}: no JSON: {JSON_FORMS}")
    try:
        whole = _without_nan(content)
        return whole if isinstance(whole, list) else [whole]
    except ValueError as error:
        rows = []
        for number, line in enumerate(content.splitlines(), start=1):
            try:
                rows += [_without_nan(line)] if line.strip() else []
            except json.JSONDecodeError as wrong:
                if not rows:  # it is not in lines
                    raise error from None
                raise UnreadableFile(
                    f"{path}: line {number} is no JSON ({wrong.msg}, at column {wrong.colno}); "
                    "mend or remove the line"
                ) from None
        return rows


def _without_nan(text: bytes) -> Any:
    """Parse a text; NaN, which Python writes though JSON has none, is missing."""
    return json.loads(text, parse_constant=lambda name: None if name == "NaN" else float(name))


def _rows_within(path: Path, rows: list[Any]) -> list[Any]:
    """Return the rows, which may be the only thing within a single object."""
    if len(rows) != 1 or not isinstance(rows[0], dict) or len(rows[0]) != 1:
        return rows
    ((name, inner),) = rows[0].items()
    if not isinstance(inner, list):
        return rows
    if not inner or not isinstance(inner[0], dict):
        raise UnreadableFile(
            f"{path}: an object whose '{in_short(name)}' has no rows; {JSON_FORMS}"
        )
    return inner
