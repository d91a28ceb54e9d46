"""Frames, series, lists and dictionaries of Python as lazy rows."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from decimal import Decimal
from types import NoneType
from typing import Any

import polars as pl

from veracity.errors import InputError, NoClaims
from veracity.extras import how_to_get
from veracity.io.cells import MOST_DIGITS, cells_that_fit, even_cells, plain_cell, texts_of
from veracity.io.frames import FrameKind, is_spark_frame
from veracity.io.memory import require_memory
from veracity.io.uneven import even_rows
from veracity.printing import in_short

BYTES_PER_ROW = 200
"""About what a row takes that another engine hands over."""


def as_polars(data: Any) -> tuple[pl.LazyFrame, FrameKind]:
    """Any frame as a lazy polars frame, and the kind to give back."""
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return data.lazy(), "polars"
    if hasattr(data, "cursor") or hasattr(data, "dialect"):
        raise InputError(
            f"{name_of(data)} may have many tables; say which claims are meant with "
            "veracity.read_database(connection, query)"
        )
    if is_spark_frame(data):
        require_memory(BYTES_PER_ROW * data.count(), f"{name_of(data)}: its rows, on this machine,")
        return pl.DataFrame(pl.from_arrow(data.toArrow())).lazy(), "spark"
    if isinstance(data, list | tuple | Mapping):
        return _from_dicts(data).lazy(), "polars"
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"{name_of(data)} holds no claims that can be read; give a path, a frame, a list of "
            "dictionaries, or an object with an Arrow stream"
        )
    library = type(data).__module__.split(".")[0]
    if library == "pandas":
        return _from_pandas(data).lazy(), "pandas"
    if library == "pyarrow":  # of a batch or a reader, Polars takes small decimals for others
        data = importlib.import_module("pyarrow").table(data)
    rows = _with_decimals_that_fit(_with_text_that_is_text(pl.DataFrame(data)))
    return rows.lazy(), "pyarrow" if library == "pyarrow" else "polars"


def _with_text_that_is_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Refuse text that is none: Polars trusts Arrow streams, and other bytes end the process."""
    return rows.with_columns(pl.col(pl.String).cast(pl.Binary).cast(pl.String))


def _with_decimals_that_fit(rows: pl.DataFrame) -> pl.DataFrame:
    """Integers of 128 bits come as decimals of more digits than those can have: then as text."""
    names = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.Decimal)]
    ends = [(name, end) for name in names for end in (rows[name].min(), rows[name].max())]
    large = {name for name, end in ends if isinstance(end, Decimal) and abs(end) >= TOO_LARGE}
    return rows.with_columns(pl.col(sorted(large)).cast(pl.String)) if large else rows


NEVER_ODD = {str, int, NoneType}
"""Types of cells that need no second look, however they are mixed."""


def _from_dicts(data: Any) -> pl.DataFrame:
    """A list with a dictionary for each row, or a dictionary with a list for each column.

    Or a dictionary with a value for each item, or a list of them, as truths may be.
    """
    if not data:
        kind = "dictionary" if isinstance(data, Mapping) else "list"
        raise NoClaims(f"an empty {kind}: no rows in it")
    _refuse_tables_in(data)
    if isinstance(data, Mapping):
        if _has_items(data):
            return _from_dicts([_truth(item, value) for item, value in data.items()])
        columns = {name: _list_that_fits(column) for name, column in data.items()}
        return pl.DataFrame(columns, strict=False)
    other = next((place for place, row in enumerate(data) if not isinstance(row, Mapping)), None)
    if other is not None:
        raise InputError(
            f"{name_of(data)}: the row at {other} is of type {type(data[other]).__name__}; give a "
            "list of dictionaries, such as {'source': 'a', 'entity': 'x', 'value': 1}"
        )
    rows = [dict(row) for row in data]
    if not {type(cell) for row in rows for cell in row.values()} <= NEVER_ODD:
        rows = even_rows([{name: plain_cell(cell) for name, cell in row.items()} for row in rows])
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        fit = cells_that_fit(cells)
        if fit is not cells:
            rows = [{**row, name: cell} for row, cell in zip(rows, fit, strict=True)]
    return pl.from_dicts(rows, infer_schema_length=None, strict=False)


def _refuse_tables_in(data: Any) -> None:
    """Refuse several frames, and dictionaries by name: nobody says whether sources or entities."""
    inside = list(data.values()) if isinstance(data, Mapping) else list(data)
    if any(hasattr(one, "columns") and hasattr(one, "shape") for one in inside):
        raise InputError(
            f"{name_of(data)} holds several tables; put the frames together first, with a column "
            "that names the source, e.g. pandas.concat(frames, names=['source']).reset_index(0) "
            "where frames is a dictionary by source"
        )
    if isinstance(data, Mapping) and all(isinstance(one, Mapping) for one in inside):
        raise InputError(
            f"{name_of(data)} has dictionaries in a dictionary; give a list of one dictionary per "
            "claim, such as {'source': 'a', 'entity': 'x', 'value': 1}"
        )


def _has_items(data: Mapping[Any, Any]) -> bool:
    """Whether the keys are items, and not the names of columns, one of which is called a value.

    Columns have names, and are all of one length.
    """
    if {"value", "claim"} & set(data):
        return False
    lengths = {
        len(cell) if hasattr(cell, "__len__") and not isinstance(cell, str) else None
        for cell in data.values()
    }
    return len(lengths) > 1 or None in lengths or not all(isinstance(key, str) for key in data)


def _truth(item: object, value: object) -> dict[str, object]:
    """A row of the value of an item, which is an entity, or an entity and an attribute."""
    keys = item if isinstance(item, tuple) else (item,)
    if len(keys) > 2:
        raise InputError(
            f"a dictionary of values: the key {in_short(str(item))} is neither an entity nor a "
            "pair of an entity and an attribute"
        )
    return {**dict(zip(("entity", "attribute"), keys, strict=False)), "value": value}


def _list_that_fits(column: Any) -> Any:
    if not isinstance(column, list | tuple):
        return column
    return even_cells(cells_that_fit([plain_cell(cell) for cell in column]))


def index_of(data: Any) -> tuple[str, ...]:
    """The names of the levels of a pandas index, if there are several."""
    names = getattr(getattr(data, "index", None), "names", ())
    is_named = len(names) > 1 and not any(name is None for name in names)
    return tuple(map(str, names)) if is_named else ()


def _from_pandas(data: Any) -> pl.DataFrame:
    """A pandas frame; columns of mixed types are taken as text.

    An index that has a name is a column like others, as after ``set_index`` or ``pivot``.
    """
    if not hasattr(data, "columns"):
        data = _frame_of_series(data)
    if getattr(data.columns, "nlevels", 1) > 1:
        raise InputError(
            f"{name_of(data)} has {data.columns.nlevels} levels of columns; make it long first, "
            f"e.g. frame.stack(list(range({data.columns.nlevels}))).reset_index(name='value')"
        )
    names = [str(name) for name in data.columns]
    found = [column for _, column in data.items()]
    levels = [name for name in data.index.names if name is not None and str(name) not in names]
    names = [*map(str, levels), *names]
    found = [*(data.index.get_level_values(name).to_series() for name in levels), *found]
    if len(set(names)) < len(names):
        raise InputError(f"{name_of(data)} has several columns of one name; rename them")
    try:
        columns = [_from_pandas_column(column) for column in found]
    except ImportError as error:
        raise InputError(f"reading a pandas frame needs pyarrow: {how_to_get('pandas')}") from error
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def _frame_of_series(data: Any) -> Any:
    """A pandas series as a frame: its index names the items, unless it only counts the rows."""
    if index_of(data):
        return data.to_frame("value" if data.name is None else data.name)
    index = data.index
    is_range = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    if index.nlevels > 1 or (is_range and index.name is None):
        raise InputError(
            f"{name_of(data)} is a single column; give a frame, or, of known truths, a series with "
            "the entities as its index, which needs a name: series.rename_axis('entity')"
        )
    return data.rename_axis("entity").to_frame("value")


TOO_LARGE = Decimal(10) ** MOST_DIGITS
"""A decimal of Polars is below."""

OF_OTHERS: Any = getattr(pl, "BaseExtension", ())
"""Types that another library made up, such as intervals; earlier versions of Polars have none."""


def _holds(column: Any, what: str) -> bool:
    """Whether a pandas column without a type has such cells, by pandas' own name for them."""
    if str(column.dtype) != "object":
        return False
    return bool(importlib.import_module("pandas").api.types.infer_dtype(column) == what)


def _from_pandas_column(column: Any) -> pl.Series:
    if _holds(column, "decimal"):
        is_missing = column.isna()
        cells = [None if gone else cell for cell, gone in zip(column, is_missing, strict=True)]
        return pl.Series(cells_that_fit(cells))
    try:
        read = pl.Series(column)
        are_uuids = read.dtype == pl.Binary and _holds(column, "mixed")  # and no bytes
        if not isinstance(read.dtype, OF_OTHERS) and not are_uuids:
            return read
    except (ArithmeticError, TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        pass  # what is of no type is taken as text, as are types that only pandas knows
    is_missing = column.isna()
    found = [
        None if gone else plain_cell(cell) for cell, gone in zip(column, is_missing, strict=True)
    ]
    return pl.Series(texts_of(found), dtype=pl.String)


def name_of(data: object) -> str:
    """What to call a frame in messages."""
    library = type(data).__module__.split(".")[0]
    return f"the {'' if library == 'builtins' else f'{library} '}{type(data).__name__}"
