"""Whether the types of an Arrow schema are read, before Polars is asked to read them.

Of others it panics: that is printed on standard error whatever becomes of it, and where it happens
in a thread of its own the rows are missing without a word. So the schema of an Arrow file, that
within a Parquet file, and that of a table of pyarrow are looked at beforehand, by a small reader of
their own. The tables and the numbers of their fields are those of Schema.fbs, Message.fbs and
File.fbs at https://github.com/apache/arrow/tree/main/format.
"""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

import polars as pl

from veracity.errors import InputError
from veracity.io.arrow_batches import message_in
from veracity.io.cells import MOST_DIGITS
from veracity.io.flat_tables import FlatTable
from veracity.printing import in_short

DECIMAL, TIMESTAMP = 7, 10
NOT_READ = {11: "an interval", 14: "a union", 22: "run-end encoded", 25: "a list view",
            26: "a large list view"}  # fmt: skip
"""Types by their number in the union `Type`."""

LAST_KNOWN = max(NOT_READ)
WIDEST_DECIMAL = 128
MANY_DIGITS = f"a decimal of more than {MOST_DIGITS} digits"


def check_schema(message: bytes, name: str) -> None:
    """The same of a schema as a Parquet file keeps it."""
    schema = message_in(message).table(2)
    if schema is not None:
        check_fields(schema, name)


def refuse_column(name: str, column: str, kind: str) -> NoReturn:
    """Say which column is of a type that is not read."""
    raise InputError(
        f"{name}: its column '{in_short(column)}' is {kind}, which is not read; write it as text, "
        "or leave it out"
    )


def check_fields(schema: FlatTable, name: str) -> None:
    """Look at each field and at those within it, each once: a damaged one may be within itself."""
    left = [(field, field.text(0)) for field in schema.tables(1)]
    for column, times in Counter(column for _, column in left).items():
        if times > 1:
            raise InputError(
                f"{name}: {times} of its columns are called '{in_short(column)}'; rename them, or "
                "leave them out"
            )
    met: set[int] = set()
    while left:
        field, column = left.pop()
        if field.at in met:
            continue
        met.add(field.at)
        if kind := _not_read(field):
            refuse_column(name, column, kind)
        left += [(within, column) for within in field.tables(5)]


def _not_read(field: FlatTable) -> str | None:
    """What the type of a field is, if it is none that is read."""
    number, kind = field.byte(2), field.table(3)
    if number == DECIMAL and kind is not None:
        return _not_read_decimal(kind)
    if number == TIMESTAMP and kind is not None and not _is_zone(kind.text(1)):
        return f"a time in the zone '{in_short(kind.text(1))}'"
    return "of an unknown type" if number > LAST_KNOWN else NOT_READ.get(number)


def _not_read_decimal(kind: FlatTable) -> str | None:
    n_digits, behind = kind.number(0, 0), kind.number(1, 0)
    if kind.number(2, WIDEST_DECIMAL) > WIDEST_DECIMAL or not 0 < n_digits <= MOST_DIGITS:
        return MANY_DIGITS
    is_usual = 0 <= behind <= n_digits
    return None if is_usual else f"a decimal of {n_digits} digits, {behind} behind the point"


def _is_zone(name: str) -> bool:
    try:
        pl.Series([0], dtype=pl.Datetime("us", name))
    except pl.exceptions.PolarsError:
        return False
    return True
