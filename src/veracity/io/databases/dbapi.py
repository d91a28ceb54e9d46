"""Databases whose rows come as Python's own values: SQLite, SQLAlchemy, any DB-API connection."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import polars as pl

from veracity.errors import BadValue, UnreadableDatabase, first_line
from veracity.io.databases.address import Address
from veracity.io.databases.base import (
    ROWS_PER_FETCH,
    Database,
    TableName,
    quoted,
    require_file,
)
from veracity.io.frames import column_of, texts_of


class DbApi(Database):
    """Any database with a DB-API connection: rows come as Python's own values."""

    def __init__(self, connection: Any, name: str) -> None:
        super().__init__(connection, name)
        self.library = type(connection).__module__.split(".")[0]
        # Elsewhere "source" may be a text, as in MySQL: there, columns are taken by their place.
        self.quotes_as_standard = self.library.startswith(("psycopg", "sqlite3", "sqlalchemy"))
        error: Any = getattr(importlib.import_module(self.library), "Error", Exception)
        self.errors = (error,)

    @contextlib.contextmanager
    def answer(self, sql: str, *, is_large: bool = False) -> Iterator[Any]:
        """A cursor with the answer; it is closed afterwards."""
        if is_large and self.library.startswith("psycopg"):  # else all rows would come at once
            cursor = self.connection.cursor("veracity", withhold=self.connection.autocommit)
        else:
            cursor = self.connection.cursor()
        with contextlib.closing(cursor):
            cursor.execute(sql)
            yield cursor

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small answer."""
        with self.answer(sql) as cursor:
            return [tuple(row) for row in cursor.fetchall()]

    def names(self, query: str) -> list[str]:
        """The names of the columns that a query gives."""
        with self.answer(f"{self.selecting(['*'], query)} where 1 = 0") as cursor:
            return [column[0] for column in cursor.description]

    def schema(self, query: str, names: Sequence[str] | None = None) -> pl.Schema:
        """The columns of a query, with the types of the first rows that have something in them."""
        names = self.names(query) if names is None else names
        schema = pl.Schema(dict.fromkeys(names, pl.Null()))
        for batch in self._fetched(query, names):
            known = [name for name, dtype in schema.items() if dtype != pl.Null]
            schema = pl.Schema({**batch.schema, **{name: schema[name] for name in known}})
            if pl.Null not in schema.dtypes():
                break
        return pl.Schema({n: pl.String() if t == pl.Null else t for n, t in schema.items()})

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Some columns of what a query gives, as rows of the database come."""
        for batch in self._fetched(query, schema.names()):
            yield batch.select(self._typed(batch[name], dtype) for name, dtype in schema.items())

    def _fetched(self, query: str, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        chosen = names if self.quotes_as_standard else self.names(query)
        columns = [self.quoted(name) for name in names] if self.quotes_as_standard else ["*"]
        places = [chosen.index(name) for name in names]
        with self.answer(self.selecting(columns, query), is_large=True) as cursor:
            while rows := cursor.fetchmany(ROWS_PER_FETCH):
                cells = list(zip(*rows, strict=True))
                yield pl.DataFrame(
                    [self._column(name, cells[at]) for name, at in zip(names, places, strict=True)]
                )

    def _column(self, name: str, cells: Sequence[Any]) -> pl.Series:
        """Return cells as a column; what polars has no type for becomes text."""
        column = column_of(cells, name)
        return column if column.dtype != pl.Object else pl.Series(name, texts_of(cells))

    def _typed(self, column: pl.Series, dtype: pl.DataType) -> pl.Series:
        """A column in the type of the rows before, if nothing is lost by it."""
        same = column.cast(dtype, strict=False)
        if column.dtype not in (dtype, pl.Null) and not same.cast(column.dtype).equals(column):
            raise BadValue(
                f"{self.name}: column '{column.name}' holds {column.dtype} after {dtype}; "
                "cast it to one type in the query"
            )
        return same


class Sqlite(DbApi):
    """SQLite, where each cell has a type of its own."""

    TYPES: ClassVar[dict[str, pl.DataType]] = {
        "integer": pl.Int64(),
        "real": pl.Float64(),
        "text": pl.String(),
        "blob": pl.Binary(),
    }

    @classmethod
    @contextlib.contextmanager
    def opened(cls, address: Address) -> Iterator[Sqlite]:
        """The database in a file."""
        require_file(address)
        place = quote(str(Path(address.location).absolute()))
        sqlite = importlib.import_module("sqlite3")
        try:
            connection = sqlite.connect(f"file:{place}?mode=ro", uri=True)
        except sqlite.Error as error:
            raise UnreadableDatabase(
                f"{address.shown}: {first_line(error)}; check the file and its permissions"
            ) from error
        with contextlib.closing(connection):
            yield cls(connection, address.shown)

    def tables(self) -> list[TableName]:
        """All tables and views."""
        found = self.ask(
            "select name from sqlite_master where type in ('table', 'view') order by 1"
        )
        return [TableName(None, name) for (name,) in found if not name.startswith("sqlite_")]

    def schema(self, query: str, names: Sequence[str] | None = None) -> pl.Schema:
        """The columns that a query gives, with a type that all their cells can have."""
        if names is None:
            return pl.Schema(dict.fromkeys(self.names(query), pl.String()))
        kinds = [f"group_concat(distinct typeof({quoted(name)}))" for name in names]
        found = self.ask(self.selecting(kinds, query))[0]
        return pl.Schema({n: self._type_of(kind) for n, kind in zip(names, found, strict=True)})

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Some columns of what a query gives, as rows of the database come."""
        columns = [f"{_cast(name, dtype)} as {quoted(name)}" for name, dtype in schema.items()]
        with self.answer(self.selecting(columns, query), is_large=True) as cursor:
            while rows := cursor.fetchmany(ROWS_PER_FETCH):
                yield pl.DataFrame(rows, schema=schema, orient="row")

    def _type_of(self, kinds: str | None) -> pl.DataType:
        found = set((kinds or "").split(",")) - {"null", ""}
        if found == {"integer", "real"}:
            return pl.Float64()
        return self.TYPES[found.pop()] if len(found) == 1 else pl.String()


def _cast(name: str, dtype: pl.DataType) -> str:
    """A column of SQLite, whose cells have types of their own, as one of this type.

    A number that is whole is written like one, as it is wherever else it stands beside text.
    """
    own = quoted(name)
    if dtype == pl.Float64:
        return f"cast({own} as real)"
    if dtype != pl.String:
        return own
    is_whole = f"typeof({own}) = 'real' and {own} = cast({own} as integer) and abs({own}) < 1e15"
    return f"cast(case when {is_whole} then cast({own} as integer) else {own} end as text)"


class SqlAlchemy(DbApi):
    """Whatever SQLAlchemy has a dialect for."""

    def __init__(self, connection: Any, name: str) -> None:
        super().__init__(connection, name)
        self.errors = (importlib.import_module("sqlalchemy.exc").SQLAlchemyError,)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, engine: Any, name: str) -> Iterator[SqlAlchemy]:
        """A connection of an engine, which is given back afterwards; or one that was given."""
        if hasattr(engine, "exec_driver_sql"):
            yield cls(engine, name)
            return
        with engine.connect() as connection:
            yield cls(connection, name)

    @contextlib.contextmanager
    def answer(self, sql: str, *, is_large: bool = False) -> Iterator[Any]:
        """A result with the answer; it is closed afterwards."""
        options = {"stream_results": is_large, "no_parameters": True}  # a % is just a %
        found = self.connection.exec_driver_sql(sql, execution_options=options)
        with contextlib.closing(found):
            yield found

    def names(self, query: str) -> list[str]:
        """The names of the columns that a query gives."""
        with self.answer(f"{self.selecting(['*'], query)} where 1 = 0") as found:
            return list(found.keys())

    def tables(self) -> list[TableName]:
        """All tables and views, of all schemas."""
        inspector = importlib.import_module("sqlalchemy").inspect(self.connection)
        usual = inspector.default_schema_name
        return [
            TableName(schema, name, schema == usual)
            for schema in inspector.get_schema_names()
            for name in (*inspector.get_table_names(schema), *inspector.get_view_names(schema))
            if schema != "information_schema"
        ]

    def quoted(self, *names: str | None) -> str:
        """An identifier as this database has it."""
        quote_name = self.connection.dialect.identifier_preparer.quote_identifier
        return ".".join(quote_name(name) for name in names if name is not None)
