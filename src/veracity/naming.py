"""Names as text: one rendering for every type of column.

Sources, entities, attributes and values keep the type they came in, so that tables can be joined
with the user's own. Wherever they are shown, searched for or compared with a file of text, they are
rendered here, and nowhere else:

========================  ===============================  ================================
type                      text                             why
========================  ===============================  ================================
whole numbers             ``7``
floats, decimals          ``7``, ``7.5``, ``1e-7``         7 is 7, with or without places
true and false            ``true``, ``false``
dates, times              ``2024-01-31``, ``23:59:00``     no places that are zero
both                      ``2024-01-31 23:59:00.5+01:00``
durations                 ``P1DT2H``                       as ISO 8601 writes them
bytes                     their text; else ``0x00ff``      many files call text bytes
========================  ===============================  ================================
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal

import polars as pl


def rendered(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a column of this type as text."""
    if dtype == pl.String:
        return column
    if dtype == pl.Binary:
        return column.map_batches(_text_of_bytes, return_dtype=pl.String, is_elementwise=True)
    if dtype.is_float():
        return column.cast(pl.String).str.replace(r"\.0$", "")
    if dtype == pl.Decimal:
        return _without_zeros(column.cast(pl.String))
    if dtype.is_temporal():
        return _dated(column, dtype)
    return column.cast(pl.String)


def _dated(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Dates and times; those that there are not as numbers, since Polars would panic."""
    first, last = _ends(dtype)
    number = column.to_physical()
    text = number.clip(first, last).cast(dtype).dt.to_string("iso")
    text = text if dtype == pl.Duration else _without_zeros(text)
    return pl.when(number.is_between(first, last)).then(text).otherwise(number.cast(pl.String))


def _without_zeros(text: pl.Expr) -> pl.Expr:
    """Decimals, and seconds, without places that are zero: 1.50 is 1.5, 12:30:00.00 is 12:30:00."""
    return text.str.replace(r"\.0*(\D|$)", "$1").str.replace(r"(\.\d*[1-9])0+(\D|$)", "$1$2")


def _text_of_bytes(column: pl.Series) -> pl.Series:
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:  # some of them are no text
        return pl.Series(column.name, map(_decoded, column), dtype=pl.String)


def _decoded(name: bytes | None) -> str | None:
    if name is None:
        return None
    try:
        return name.decode()
    except UnicodeDecodeError:
        return f"0x{name.hex()}"


def as_text(column: pl.Series) -> pl.Series:
    """Names of any type as text.

    >>> as_text(pl.Series([1.0, 2.5, 1e-7])).to_list()
    ['1', '2.5', '1e-7']
    """
    if column.dtype == pl.String:
        return column
    name = column.name
    frame = column.to_frame("name")
    return frame.select(rendered(pl.col("name"), column.dtype)).to_series().alias(name)


READ_AGAIN: Mapping[str, pl.DataType] = {
    str(dtype): dtype
    for dtype in (
        *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()),
        *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()),
        *(pl.Float32(), pl.Float64(), pl.Boolean(), pl.Date()),
    )
}
"""The types as which text can be read again, by name."""


def types_read_again(dtypes: Mapping[str, pl.DataType]) -> dict[str, str]:
    """Return the types of columns; those that cannot be read from text again become text."""
    names = {name: str(dtype) for name, dtype in dtypes.items() if dtype != pl.Null}
    return {name: own if own in READ_AGAIN else str(pl.String()) for name, own in names.items()}


def in_type(text: pl.Series, name: str) -> pl.Series:
    """Text as the type of this name that it was, if all of it can be read as that.

    >>> in_type(pl.Series(["1", "2.5"]), "Float64").to_list()
    [1.0, 2.5]
    >>> in_type(pl.Series(["1", "none"]), "Int64").to_list()
    ['1', 'none']
    """
    dtype = READ_AGAIN.get(name)
    if dtype is None or text.dtype != pl.String:
        return text
    if dtype == pl.Boolean:
        words = {"true": True, "false": False}
        found = text.replace_strict(words, default=None, return_dtype=pl.Boolean)
    elif dtype == pl.Date:
        found = text.str.to_date("%Y-%m-%d", strict=False)
    else:
        found = text.cast(dtype, strict=False)
    return text if found.null_count() > text.null_count() else found


def text_like(names: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return names as text, spelt as those of another type.

    So a file of text tells the same as one of dates, of numbers, or of true and false.

    >>> text_like(pl.Series(["2024-01-31T10:00:00Z"]), pl.Datetime("us", "UTC")).to_list()
    ['2024-01-31 10:00:00+00:00']
    >>> text_like(pl.Series(["1.0", "x"]), pl.Int64()).to_list()
    ['1', 'x']
    >>> text_like(pl.Series([1, 0, 2]), pl.Boolean()).to_list()
    ['true', 'false', '2']
    """
    if _has_zone(names.dtype) and _has_zone(dtype):
        names = names.dt.convert_time_zone(dtype.time_zone)  # type: ignore[attr-defined]
    if names.dtype == pl.Boolean and dtype.is_numeric():
        names = names.cast(pl.Int8)
    spelt, text = as_text(names).to_frame("name"), pl.col("name")
    if dtype == pl.Boolean:
        text = text.str.to_lowercase().replace({"1": "true", "0": "false"})
    elif dtype == pl.Date:
        text = text.str.replace(r"[T ]00:00:00(\.0+)?$", "")
    elif dtype == pl.Datetime:
        text = text.str.replace(r"^(\d+-\d\d-\d\d)$", "$1 00:00:00")
        text = text.str.replace(r"^(\d+-\d\d-\d\d)T", "$1 ").str.replace("Z$", "+00:00")
        text = _without_zeros(text)
    elif dtype in (pl.Time, pl.Decimal):
        text = _without_zeros(text)
    elif dtype.is_numeric():
        kinds = [dtype] if dtype.is_float() else [pl.Int128(), pl.Float64()]
        numbers = (rendered(text.cast(kind, strict=False), kind) for kind in kinds)
        text = pl.coalesce(*numbers, text)
    return spelt.select(text).to_series().alias(names.name)


def _has_zone(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None


FIRST_DAY, LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
"""The days that can be written as text; Polars panics when asked for others."""

LONGEST_SPAN = timedelta.max.days
"""Days of the longest span of time in Python."""

PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""Length of a day in each unit of time."""


def is_in_calendar(column: pl.Series) -> pl.Series:
    """Return True for each date, time or span of time that exists; other names always do."""
    if not column.dtype.is_temporal():
        return pl.repeat(value=True, n=len(column), eager=True)
    return column.to_physical().is_between(*_ends(column.dtype)).fill_null(value=True)


def _ends(dtype: pl.DataType) -> tuple[int, int]:
    """Return the first and the last number of a type of dates or times."""
    if dtype == pl.Time:
        return 0, PER_DAY["ns"] - 1
    if isinstance(dtype, pl.Duration):
        first, last, unit = -LONGEST_SPAN, LONGEST_SPAN, PER_DAY[dtype.time_unit]
    elif isinstance(dtype, pl.Datetime):
        margin = int(_has_zone(dtype))  # there it may be a day more, or less
        first, last, unit = FIRST_DAY + margin, LAST_DAY - margin, PER_DAY[dtype.time_unit]
    else:
        first, last, unit = FIRST_DAY, LAST_DAY, 1
    return max(first * unit, -(2**63)), min((last + 1) * unit, 2**63) - 1


def name_text(name: object) -> str:
    """Return one name as text, as `as_text` does.

    >>> name_text(True), name_text(1e-07), name_text("x")
    ('true', '1e-7', 'x')
    """
    if isinstance(name, str):
        return name.encode(errors="backslashreplace").decode()  # half of a pair is no text
    if isinstance(name, Decimal) and not name.is_finite():
        return str(name)  # Polars knows no such decimals, and would panic
    try:
        text = as_text(pl.Series([name]))[0]
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return str(name)
    return str(name) if text is None else str(text)
