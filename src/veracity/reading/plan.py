"""Plan that turns one table into rows of claims, applied to one batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from veracity.errors import ParameterError
from veracity.io.frames import ROWS_PER_BATCH
from veracity.io.reader import Reader, quoted_list, read_errors
from veracity.naming import as_text, rendered
from veracity.printing import in_short
from veracity.reading.options import Wide
from veracity.reading.roles import BETWEEN, CARRYING, JOINED

WITHIN = "."
"""Separator of the name of a column and that of a field within it."""


@dataclass(frozen=True, kw_only=True)
class ReadPlan:
    """Plan that turns one table into rows of claims.

    `sniff` makes a plan, `align` brings those of several tables to the same types, and `apply`
    carries it out, one batch at a time.

    Attributes
    ----------
    columns
        The columns that play each role; several columns of one role are joined into one text.
    needed
        The columns of the table that are read, by the names that the table has for them.
    wide, value_columns
        Format of a wide table, and its columns of values.
    cells
        The role of values: "claim" where facts are called true or false.
    names_are
        The role of the names of value columns; None for samples.
    nested
        Names of values inside lists and objects. Every list on the way gives a row per member.
    aliases
        Columns that an earlier table spells differently, with its spelling.
    asked
        The columns of known truths that record how questions were drawn.
    only, without
        Columns with a text: only rows that have it are read, or only those that do not.
    is_found
        True if the format was recognised, not given: then a note reports it.
    types_before
        The types of columns whose values may become text in a mixture.
    source
        The source of all rows, if the file, sheet or table names it.
    order
        The columns of claims, in order.
    types
        The types of these columns. A column that is not here keeps its own.
    """

    columns: Mapping[str, tuple[str, ...]]
    needed: tuple[str, ...] = ()
    wide: Wide | None = None
    value_columns: tuple[str, ...] = ()
    cells: str = "value"
    names_are: str | None = None
    nested: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    only: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    is_found: bool = False
    types_before: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    order: tuple[str, ...] = ()
    types: Mapping[str, pl.DataType] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, str]:
        """The columns of each role as one name."""
        return {role: JOINED.join(names) for role, names in self.columns.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the description that is saved with a run and a fit: the columns of each role."""
        kept = {
            "columns": {role: list(names) for role, names in self.columns.items()},
            "wide": self.wide,
            "value_columns": list(self.value_columns),
            "nested": list(self.nested),
            "aliases": dict(self.aliases),
        }
        return {name: own for name, own in kept.items() if own}

    def describe(self) -> str:
        """Return a note on the recognised format of a wide table, and how to change it."""
        keys = " and ".join(
            f"'{in_short(name)}'" for role, name in self.named.items() if role not in CARRYING
        )
        otherwise = {
            "attributes": "if only some of them have values, name these: --columns "
            "value=NAME+OTHER",
            "sources": "if they are attributes, use wide='attributes' or --wide attributes",
        }[self.wide or "attributes"]
        return (
            f"a wide table, with one row per {keys} and one column per {self.names_are}: "
            f"{quoted_list(self.value_columns)}; {otherwise}"
        )

    def batches(self, reader: Reader) -> Iterator[pl.DataFrame]:
        """Yield the claims of a table: at least one batch, which may have no rows."""
        most_rows = max(1, ROWS_PER_BATCH // max(1, len(self.value_columns)))
        for batch in reader.batches(self.needed):
            for own in batch.iter_slices(most_rows) if len(batch) > most_rows else (batch,):
                yield self.apply(own)

    def schema(self, reader: Reader) -> pl.Schema:
        """Return the types of the claims of a table."""
        with read_errors(reader):
            return self.apply(reader.types(self.needed).to_frame()).schema

    def count(self, reader: Reader) -> int:
        """Return the number of claims or more, unless cells are lists of them."""
        return reader.count() * max(1, len(self.value_columns))

    def apply(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Turn a batch of the table into rows of claims. A batch without rows gives their types."""
        rows = open_nested(rows.rename(dict(self.aliases), strict=False), self.nested)
        for is_kept, conditions in ((True, self.only), (False, self.without)):
            for name, text in conditions:
                has_it = rendered(pl.col(name), rows.schema[name]).str.to_lowercase() == text
                rows = rows.filter(has_it.fill_null(value=False) == is_kept)
        found = rows.schema  # each look at it takes as long as there are columns
        asked = [asked_as_one(self.asked, found)] if self.asked else []
        claims = rows.select(
            *(as_role(found, names).alias(role) for role, names in self.columns.items()),
            *asked,
        )
        if self.value_columns:
            claims = _unpivoted(claims, rows.select(self.value_columns), self.names_are, self.cells)
        elif is_list(claims.schema.get(self.cells, pl.Null())):
            claims = claims.explode(self.cells)
        if self.source is not None:
            claims = claims.with_columns(source=pl.lit(self.source))
        schema = claims.schema
        return claims.select(self._typed(name, schema) for name in self.order or schema)

    def _typed(self, name: str, schema: pl.Schema) -> pl.Expr:
        """Return a column in its type for all tables; empty attributes have no name."""
        dtype = self.types.get(name)
        if name not in schema:
            column = pl.lit(None, dtype=dtype).alias(name)
        elif dtype == pl.String:
            column = rendered(pl.col(name), schema[name])
        else:
            column = pl.col(name) if dtype is None else pl.col(name).cast(dtype)
        is_text = (dtype or schema.get(name)) == pl.String
        return column.fill_null("") if name == "attribute" and is_text else column


def as_role(schema: Mapping[str, pl.DataType], names: Sequence[str]) -> pl.Expr:
    """Return the column of a role, or several columns as one text.

    A bar of their own is written twice, so that different cells never look the same together.
    """
    if len(names) == 1:
        return plain(names[0], schema[names[0]])
    texts = [
        rendered(pl.col(name), schema[name]).str.replace_all("|", "||", literal=True)
        for name in names
    ]
    return pl.concat_str(texts, separator=BETWEEN)


def plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return text for categories, null for NaN, one zero for the two, else the column itself."""
    if dtype in (pl.Categorical, pl.Enum):
        return rendered(pl.col(name), dtype)
    return pl.col(name).fill_nan(None) + 0.0 if dtype.is_float() else pl.col(name)


def _unpivoted(
    keys: pl.DataFrame, cells: pl.DataFrame, names_are: str | None, cells_are: str
) -> pl.DataFrame:
    """Return the claims of a wide table; empty cells are not claims."""
    kinds = {name: _inner(dtype) for name, dtype in cells.schema.items()}
    known = set(kinds.values()) - {pl.Null()}
    are_alike = len(known) <= 1 or all(kind.is_numeric() for kind in known)
    found = []
    for column in cells:
        name, kind = column.name, kinds[column.name]
        rows = pl.DataFrame([*keys, column.alias(cells_are)])
        rows = rows.explode(cells_are) if is_list(column.dtype) else rows
        value = plain(cells_are, kind) if are_alike else rendered(pl.col(cells_are), kind)
        names = [] if names_are is None else [pl.lit(name).alias(names_are)]
        found.append(rows.select(*keys.columns, *names, value))
    claims = pl.concat(found, how="vertical_relaxed")
    values = claims[cells_are]
    is_empty = values.is_null()
    if values.dtype == pl.String:
        is_empty |= (values == "").fill_null(value=True)
    return claims.filter(~is_empty)


def _inner(dtype: pl.DataType) -> pl.DataType:
    """Return the type of values, also where cells are lists of them."""
    return dtype.inner if isinstance(dtype, pl.List) else dtype  # type: ignore[return-value]


# --- lists and objects in cells -------------------------------------------------------------------


def is_list(dtype: pl.DataType) -> bool:
    """Return True if cells are lists of plain values."""
    return isinstance(dtype, pl.List) and not dtype.inner.is_nested()


def inner_names(schema: Mapping[str, pl.DataType]) -> list[str]:
    """Return the names of values inside lists and objects.

    >>> inner_names(pl.Schema({"id": pl.Int64, "data": pl.List(pl.Struct({"text": pl.String}))}))
    ['data.text']
    """
    nested = [(name, dtype) for name, dtype in schema.items() if dtype.is_nested()]
    return [own for name, dtype in nested for own in _within(name, dtype) if own != name]


def _within(name: str, dtype: pl.DataType) -> Iterator[str]:
    if isinstance(dtype, pl.Struct):
        for own in dtype.fields:
            yield from _within(f"{name}{WITHIN}{own.name}", own.dtype)  # type: ignore[arg-type]
    elif isinstance(dtype, pl.List) and not is_list(dtype):
        yield from _within(name, dtype.inner)  # type: ignore[arg-type]
    elif is_list(dtype) or not dtype.is_nested():
        yield name


def open_nested(rows: pl.DataFrame, paths: Sequence[str]) -> pl.DataFrame:
    """Return the rows with a column for each path, in the place of the column it leads into."""
    opened = list[str]()
    while outer := next((name for name in rows.columns if _is_on_way(name, paths)), None):
        dtype = rows.schema[outer]
        if isinstance(dtype, pl.Struct):
            inner = [f"{outer}{WITHIN}{own.name}" for own in dtype.fields]
            wanted = [name for name in inner if name in paths or _is_on_way(name, paths)]
            field_of = pl.col(outer).struct.field
            fields = [field_of(name[len(outer) + 1 :]).alias(name) for name in wanted]
            rows = rows.with_columns(fields).drop(outer)
            continue
        beside = [name for name in opened if not f"{outer}{WITHIN}".startswith(name + WITHIN)]
        if beside:
            raise ParameterError(
                f"'{in_short(beside[0])}' and '{in_short(outer)}' are separate lists, so their "
                "entries cannot be matched; name columns inside one of them only"
            )
        rows, opened = rows.explode(outer), [*opened, outer]
    return rows


def _is_on_way(name: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(name + WITHIN) for path in paths)


# --- several tables -------------------------------------------------------------------------------


def align(
    tables: Sequence[tuple[Reader, ReadPlan]], notes: list[str]
) -> list[tuple[Reader, ReadPlan]]:
    """Return the plans with equal columns and types; a mixture of text and numbers becomes text."""
    schemas = [plan.schema(reader) for reader, plan in tables]
    order, types = tuple(schemas[0]), dict[str, pl.DataType]()
    if any(schema != schemas[0] for schema in schemas):
        order, types = _common(schemas, notes)
    attribute = types.get("attribute", schemas[0].get("attribute"))
    if attribute not in (None, pl.String) and any(map(_lacks_attributes, tables, schemas)):
        types["attribute"] = pl.String()
    return [(reader, replace(plan, order=order, types=types)) for reader, plan in tables]


def _common(
    schemas: Sequence[pl.Schema], notes: list[str]
) -> tuple[tuple[str, ...], dict[str, pl.DataType]]:
    frames = [schema.to_frame().drop("claim", strict=False) for schema in schemas]
    for name in dict.fromkeys(name for frame in frames for name in frame.columns):
        known = {frame[name].dtype for frame in frames if name in frame.columns} - {pl.Null()}
        if len(known) > 1 and not all(dtype.is_numeric() for dtype in known):
            text = pl.Series(name, dtype=pl.String)
            frames = [f.with_columns(text) if name in f.columns else f for f in frames]
            frames.append(text.to_frame())
            notes.append(f"the {name} is of different types in different files: read as text")
    common = pl.concat(frames, how="diagonal_relaxed").schema
    return tuple(dict.fromkeys([*schemas[0], *common])), dict(common)


def _lacks_attributes(table: tuple[Reader, ReadPlan], schema: pl.Schema) -> bool:
    """Return True if some row of a table names no attribute."""
    if "attribute" not in schema:
        return True
    reader, plan = table
    return any(batch["attribute"].null_count() for batch in plan.batches(reader))


# --- questions that come back with answers --------------------------------------------------------


ASKED = "asked"
"""The column of known truths that holds, in one, those of `ASKED_COLUMNS`."""

ASKED_COLUMNS: dict[str, pl.DataType] = {
    "answer": pl.String(), "plausibility": pl.Float64(), "inclusion": pl.Float64(),
    "drawn": pl.Boolean(), "asked_of": pl.Int64(),
}  # fmt: skip
"""Columns of a table of questions that record how each was drawn, and the answer then."""

ASKED_NUMBERS = ("plausibility", "inclusion", "asked_of")


def asked_columns(found: Sequence[str]) -> dict[str, str]:
    """Find these columns, if all are there; a number in their name marks ours if the user has one.

    >>> asked_columns(["id", "answer", "answer_2", *ASKED_COLUMNS])["answer"]
    'answer_2'
    >>> asked_columns(["id", "answer"])
    {}
    """
    names = {name: f"{name}_2" if f"{name}_2" in found else name for name in ASKED_COLUMNS}
    return names if set(names.values()) <= set(found) else {}


def asked_as_one(names: Mapping[str, str], found: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return these columns as one; null for known truths that are not answers to questions."""
    texts = {name: rendered(pl.col(own), found[own]) for name, own in names.items()}
    typed: dict[str, Any] = {
        name: texts[name].cast(ASKED_COLUMNS[name], strict=False) for name in ASKED_NUMBERS
    }
    typed["drawn"] = texts["drawn"].str.to_lowercase().is_in(["true", "1"])
    typed["answer"] = texts["answer"].fill_null("")
    together = pl.struct(**typed)
    is_asked = (typed["inclusion"] > 0.0) & (typed["inclusion"] <= 1.0) & (typed["asked_of"] > 0)
    return pl.when(is_asked).then(together).alias(ASKED)


def asked_before(truths: pl.DataFrame, keys: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Return the questions among known truths, once each, with the names of their items as text."""
    if ASKED not in truths.columns or not set(keys) <= set(truths.columns):
        return ()
    truths = truths.drop_nulls(ASKED).unique(keys, keep="first", maintain_order=True)
    names = zip(*(as_text(truths[key]).to_list() for key in keys), strict=True)
    return tuple(
        {"item": list(item), **asked}
        for item, asked in zip(names, truths[ASKED].to_list(), strict=True)
    )
