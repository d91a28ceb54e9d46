"""Convert frames, series, lists and dictionaries to polars frames, and back to the user's kind."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import numpy as np
import polars as pl

from veracity.errors import InputError, NoClaims
from veracity.extras import how_to_get
from veracity.io.memory import require_memory
from veracity.naming import as_text
from veracity.printing import in_short

FrameKind = Literal["polars", "pandas", "pyarrow", "spark"]
"""The kind of frame a user gave and gets back."""

ROWS_PER_BATCH = 1 << 20
"""Number of rows of a table that are read at a time."""

FIRST_ROWS = 1 << 14
"""Number of rows that show how long the texts of a table are."""

BYTES_PER_ROW = 200
"""About the size of a row that another engine hands over."""

OF_OTHERS: Any = getattr(pl, "BaseExtension", ())
"""Extension types of other libraries, such as intervals; old versions of Polars have none."""


def is_spark_frame(data: object) -> bool:
    """Return True for a frame of Spark; Spark is not loaded to find out."""
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def name_of(data: object) -> str:
    """Return the name of a frame in messages."""
    library = type(data).__module__.split(".")[0]
    return f"the {'' if library == 'builtins' else f'{library} '}{type(data).__name__}"


def as_polars(data: Any) -> tuple[pl.LazyFrame, FrameKind]:
    """Return any frame as a lazy polars frame, and the kind to give back."""
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return data.lazy(), "polars"
    if hasattr(data, "cursor") or hasattr(data, "dialect"):
        raise InputError(
            f"{name_of(data)} may have many tables; choose the claims with "
            "veracity.read_database(connection, query)"
        )
    if is_spark_frame(data):
        require_memory(BYTES_PER_ROW * data.count(), f"{name_of(data)}: its rows, on this machine,")
        return pl.DataFrame(pl.from_arrow(data.toArrow())).lazy(), "spark"
    if isinstance(data, list | tuple | Mapping):
        return _from_rows(data).lazy(), "polars"
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
    return pl.DataFrame(data).lazy(), "pyarrow" if library == "pyarrow" else "polars"


# --- rows of Python -------------------------------------------------------------------------------


def _from_rows(data: Any) -> pl.DataFrame:
    """Return a list with a dictionary for each row, or a dictionary with a list for each column.

    It may also be a dictionary with a value for each item, or a list of them, as truths are.
    """
    if not data:
        kind = "dictionary" if isinstance(data, Mapping) else "list"
        raise NoClaims(f"an empty {kind}: no rows in it")
    inside = list(data.values()) if isinstance(data, Mapping) else []
    if any(hasattr(one, "columns") or isinstance(one, Mapping) for one in inside):
        raise InputError(
            f"{name_of(data)} holds tables; put them together first, with a column that names the "
            "source: as one frame, or as a list of dictionaries, one for each claim"
        )
    if not isinstance(data, Mapping):
        return frame_of_rows(data, name_of(data))
    if _has_items(data):
        return frame_of_rows([_truth(item, value) for item, value in data.items()], "")
    return pl.DataFrame(
        {
            name: column_of(cells) if isinstance(cells, list | tuple) else cells
            for name, cells in data.items()
        },
        strict=False,
    )


def frame_of_rows(rows: Sequence[Any], name: str) -> pl.DataFrame:
    """Return a frame of dictionaries; a field that a row lacks is missing."""
    other = next((place for place, row in enumerate(rows) if not isinstance(row, Mapping)), None)
    if other is not None:
        raise InputError(
            f"{name}: the row at {other} is of type {type(rows[other]).__name__}; give a "
            "list of dictionaries, such as {'source': 'a', 'entity': 'x', 'value': 1}"
        )
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({name: column_of([row.get(name) for row in rows]) for name in names})


def _has_items(data: Mapping[Any, Any]) -> bool:
    """Return True if the keys are items, not names of columns, which are all of one length."""
    if {"value", "claim"} & set(data):
        return False
    lengths = {
        len(cell) if hasattr(cell, "__len__") and not isinstance(cell, str) else None
        for cell in data.values()
    }
    return len(lengths) > 1 or None in lengths or not all(isinstance(key, str) for key in data)


def _truth(item: object, value: object) -> dict[str, object]:
    """Return a row with an item (an entity, or an entity and an attribute) and its true value."""
    keys = item if isinstance(item, tuple) else (item,)
    if len(keys) > 2:
        raise InputError(
            f"a dictionary of values: the key {in_short(str(item))} is neither an entity nor a "
            "pair of an entity and an attribute"
        )
    return {**dict(zip(("entity", "attribute"), keys, strict=False)), "value": value}


# --- cells of Python ------------------------------------------------------------------------------

NAMES_OF_MISSING = frozenset({"NAType", "NaTType"})
"""Types that pandas has in place of a missing cell."""

TAKEN_AS_THEY_ARE = (
    str, bytes, bool, int, float, Decimal, date, time, timedelta, Enum, Mapping, np.ndarray,
)  # fmt: skip

RENDERED = frozenset({bool, float, date, datetime})
"""Types that Python writes as text otherwise than columns of them are written."""

NUMBERS = frozenset({int, float, Decimal})
PLAIN = RENDERED | NUMBERS | {str}
"""Types that a column may mix; several types become text."""

NEVER_ODD = frozenset({str, int, type(None)})
"""Types of cells that never need a conversion."""


def column_of(cells: Sequence[Any], name: str = "") -> pl.Series:
    """Return Python values as a column; text if no other type can hold all of them.

    >>> column_of([1, 1.0, "one"]).to_list(), column_of([["p"], "q"]).to_list()
    (['1', '1', 'one'], [['p'], ['q']])
    """
    types = set(map(type, cells))
    if not types <= NEVER_ODD:
        cells = [plain_cell(cell) for cell in cells]
        types = set(map(type, cells))
    cells = even(cells)
    if types & {dict, list} or any(issubclass(one, Mapping) for one in types):
        rows = [{name: cell} for cell in cells]
        with contextlib.suppress(pl.exceptions.PolarsError):
            return pl.from_dicts(rows, infer_schema_length=None, strict=False).to_series()
        return pl.Series(name, texts_of(cells))
    column = pl.Series(name, cells, strict=False)
    are_numbers = bool(types & NUMBERS)
    is_lossy = are_numbers and (
        column.dtype == pl.Object or column.null_count() > cells.count(None)
    )
    return pl.Series(name, texts_of(cells)) if is_lossy else column  # numbers of too many digits


def plain_cell(cell: Any) -> Any:
    """Return a cell as Polars can hold it: None if it is missing, its text if it has one.

    >>> [plain_cell(cell) for cell in (float("nan"), np.bool_(True), np.datetime64("2024-01-31"))]
    [None, True, datetime.date(2024, 1, 31)]
    """
    if cell is None or type(cell).__name__ in NAMES_OF_MISSING:
        return None
    if isinstance(cell, np.datetime64 | np.timedelta64):
        is_finer = np.datetime_data(cell.dtype)[0] in ("ns", "ps", "fs", "as")  # than Python knows
        cell = (cell.astype(cell.dtype.str[:2] + "8[us]") if is_finer else cell).item()
    elif isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and np.isnan(cell):
        return None
    if isinstance(cell, Decimal) and not cell.is_finite():
        return None
    if isinstance(cell, set | frozenset):
        cell = sorted(cell, key=str)
    if isinstance(cell, list | tuple):
        return [plain_cell(own) for own in cell]
    has_text = any("__str__" in vars(kind) for kind in type(cell).__mro__[:-1])
    return str(cell) if has_text and not isinstance(cell, TAKEN_AS_THEY_ARE) else cell


def even(cells: Sequence[Any]) -> list[Any]:
    """Return cells of one type: a value among lists becomes a list, other mixtures become text.

    >>> even([{"v": True}, {"v": 1}, None]), even([2.5, None, 7])
    ([{'v': 'true'}, {'v': '1'}, None], [2.5, None, 7])
    """
    types = {type(cell) for cell in cells if cell is not None}
    has_lists, has_objects = list in types, any(issubclass(one, Mapping) for one in types)
    if has_lists and not has_objects:
        lists = [own if own is None or isinstance(own, list) else [own] for own in cells]
        inside = iter(even([cell for own in lists for cell in own or ()]))
        return [None if own is None else [next(inside) for _ in own] for own in lists]
    if has_objects and all(issubclass(one, Mapping) for one in types):
        names = dict.fromkeys(name for own in cells for name in own or ())
        fields = {name: even([own and own.get(name) for own in cells]) for name in names}
        return [
            own and {name: fields[name][place] for name in own} for place, own in enumerate(cells)
        ]
    is_mixed = len(types) > 1 and types <= PLAIN and not types <= NUMBERS
    is_text = has_lists or has_objects or is_mixed
    return texts_of(cells) if is_text else [*cells]


def texts_of(cells: Sequence[Any]) -> list[str | None]:
    """Return cells of several types as text, each as a column of its own type would have it.

    >>> texts_of([7, 7.0, "7", 2.5, True, None, date(2024, 1, 31), [1]])
    ['7', '7', '7', '2.5', 'true', None, '2024-01-31', '[1]']
    """
    texts = [
        json.dumps(cell, ensure_ascii=False, default=str)
        if isinstance(cell, Mapping | list)
        else None if cell is None else str(cell)
        for cell in cells
    ]  # fmt: skip
    for kind in {type(cell) for cell in cells} & RENDERED:
        places = [place for place, cell in enumerate(cells) if type(cell) is kind]
        own = as_text(pl.Series([cells[place] for place in places]))
        for place, text in zip(places, own, strict=True):
            texts[place] = text
    return texts


# --- pandas ---------------------------------------------------------------------------------------


def index_of(data: Any) -> tuple[str, ...]:
    """Return the names of the levels of a pandas index, if there are several."""
    names = getattr(getattr(data, "index", None), "names", ())
    is_named = len(names) > 1 and not any(name is None for name in names)
    return tuple(map(str, names)) if is_named else ()


def _from_pandas(data: Any) -> pl.DataFrame:
    """Return a pandas frame; columns of mixed types are text.

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
    """Return a pandas series as a frame: its index names the items, unless it counts the rows."""
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


def _from_pandas_column(column: Any) -> pl.Series:
    infer = importlib.import_module("pandas").api.types.infer_dtype
    if str(column.dtype) != "object" or infer(column) == "string":
        try:
            read = pl.Series(column)
            if not isinstance(read.dtype, OF_OTHERS):
                return read
        except (ArithmeticError, RuntimeError, TypeError, ValueError, pl.exceptions.PolarsError):
            pass  # types that only pandas knows
    is_missing = column.isna()
    return column_of([None if gone else own for own, gone in zip(column, is_missing, strict=True)])


# --- back to the user -----------------------------------------------------------------------------


def hand_back(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Return the table in the user's own kind of frame."""
    if kind == "pandas":
        return frame.to_pandas()
    if kind == "spark":
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        return SparkSession.active().createDataFrame(spark_table(frame))
    return frame.to_arrow() if kind == "pyarrow" else frame


def use_own_python(session: Any) -> None:
    """Let workers of Spark on this machine run the Python that runs here, unless the user decides.

    Spark itself takes the first ``python3`` of the path, which has no veracity where the virtual
    environment is not activated.
    """
    context = session.sparkContext
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def spark_table(frame: pl.DataFrame) -> Any:
    """Return the table in the types of Spark: no unsigned numbers, and one kind of text."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    table = frame.to_arrow()
    fields = [pa.field(own.name, _spark_type(own.type)) for own in table.schema]
    return table.cast(pa.schema(fields))


def _spark_type(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_large_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    return pa.null() if pa.types.is_null(kind) else kind
