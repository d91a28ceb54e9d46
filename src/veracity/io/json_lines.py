"""A long file with a JSON object in each line, read a portion at a time.

Polars maps such a file into memory. If another program cuts it short meanwhile, the system ends
the process without a word.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from veracity.io.batched import lazy_rows

PORTION = 1 << 24
"""So many bytes are read at a time, and on to the end of a line."""

LONGEST_LINE = 1 << 30
"""What is longer is one object, which is no reason to read in portions."""


def open_json_lines(path: Path) -> pl.LazyFrame:
    """The rows of a file, lazily; it is read once to find the types of its fields."""
    found = pl.DataFrame()
    for lines in _portions(path):
        own = pl.scan_ndjson(lines, infer_schema_length=None).collect_schema()
        if own != found.schema:
            found = pl.concat([found, pl.DataFrame(schema=own)], how="diagonal_relaxed")
    return lazy_rows(partial(_rows, path, found.schema), found.schema)


def _rows(path: Path, schema: pl.Schema, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
    wanted = schema if columns is None else {name: schema[name] for name in columns}
    return (pl.read_ndjson(lines, schema=wanted) for lines in _portions(path))


def _portions(path: Path) -> Iterator[bytes]:
    """The lines of a file, some at a time, but for those that are blank throughout."""
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        while portion := file.read(PORTION):
            lines = portion + file.readline(LONGEST_LINE)
            if len(lines) >= LONGEST_LINE:
                raise pl.exceptions.ComputeError("a line is too long")
            if lines.strip():
                yield lines
