"""What is asked of a database, and its rows, which are read when they are wanted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from veracity.errors import ParameterError, UnreadableDatabase
from veracity.io.databases.address import Address, address_of, database_file, is_address
from veracity.io.databases.arrow import Adbc, DuckDb, Postgres
from veracity.io.databases.base import Database, TableName
from veracity.io.databases.dbapi import DbApi, SqlAlchemy, Sqlite
from veracity.printing import did_you_mean

OPENED = {"PostgreSQL": Postgres.opened, "SQLite": Sqlite.opened, "DuckDB": DuckDb.opened}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A table, or what a query gives, of a database that is named by an address or connected to."""

    database: Any = field(repr=False)
    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.table is not None and self.query is not None:
            raise ParameterError(f"{self.place}: name a table or give a query, not both")

    @property
    def place(self) -> str:
        """What messages call the database."""
        if isinstance(self.database, Address):
            return self.database.shown
        return f"the {type(self.database).__module__.split('.')[0].lstrip('_')} connection"

    @property
    def name(self) -> str:
        """What messages call the rows."""
        return f"{self.place}, " + ("the query" if self.table is None else f"table {self.table}")

    @contextlib.contextmanager
    def opened(self) -> Iterator[Database]:
        """The database; a connection that was made here is closed here."""
        with self._database() as database, database.reading():
            yield database

    def _database(self) -> AbstractContextManager[Database]:
        given = self.database
        if isinstance(given, Address):
            return OPENED[given.system](given)
        if hasattr(given, "exec_driver_sql") or hasattr(given, "dialect"):
            return SqlAlchemy.opened(given, self.place)
        return contextlib.nullcontext(_connected(given, self.place))

    def sql(self, database: Database) -> str:
        """The query, or one for the table; the database is asked which tables it has."""
        if self.query is not None:
            return self.query
        tables = database.tables()
        if self.table is None:
            raise UnreadableDatabase(
                f"{self.place}: this is a database; name a table with --table, or as "
                f"{self.place}#TABLE, or give a --query; there {_told(tables)}"
            )
        if tables is None:
            return f"select * from {database.quoted(*self.table.split('.'))}"
        found = next(
            (t for t in tables if (t.is_visible and t.name == self.table)),
            next((t for t in tables if f"{t.schema}.{t.name}" == self.table), None),
        )
        if found is None:
            raise UnreadableDatabase(
                f"{self.place}: there is no table '{self.table}'; {_near(self.table, tables)}"
            )
        return f"select * from {database.quoted(found.schema, found.name)}"


def tables_of(selection: Selection) -> list[Selection]:
    """All tables of a database, where none is named; else what is named."""
    if selection.table is not None or selection.query is not None:
        return [selection]
    with selection.opened() as database:
        tables = database.tables()
    if not tables:
        raise UnreadableDatabase(f"{selection.place}: it has no tables to be read")
    return [replace(selection, table=table.shown) for table in tables]


def _connected(given: Any, name: str) -> Database:
    """The way to talk to a database by a connection that was given."""
    if hasattr(given, "adbc_get_info"):
        is_postgres = given.adbc_get_info().get("vendor_name") == "PostgreSQL"
        return Postgres(given, name) if is_postgres else Adbc(given, name)
    if type(given).__module__.lstrip("_").startswith("duckdb"):
        return DuckDb(given, name)
    if type(given).__module__.startswith("sqlite3"):
        return Sqlite(given, name)
    return DbApi(given, name)


def selection_of(
    database: object, query: str | None = None, *, table: str | None = None
) -> Selection:
    """What is asked of a database: an address, the path of its file, or a connection."""
    if isinstance(database, str | os.PathLike):
        text = os.fspath(database)
        address = address_of(text) if is_address(text) else database_file(text)
        if address is None and not Path(text).exists():
            raise UnreadableDatabase(f"{text}: there is no such file; check the path")
        if address is None:
            raise ParameterError(
                f"{text}: a table or a query can be asked of a database only, and this is none"
            )
        if address.part is not None and table is not None:
            raise ParameterError(f"{address.shown}: the table is named twice")
        named = table if query is not None or table is not None else address.part
        return Selection(database=replace(address, part=None), table=named, query=query)
    if not hasattr(database, "cursor") and not hasattr(database, "dialect"):
        raise ParameterError(
            f"a {type(database).__name__} is no database; give an address such as "
            "postgresql://user@host/database, a connection, or an engine of SQLAlchemy"
        )
    return Selection(database=database, table=table, query=query)


def _told(tables: list[TableName] | None) -> str:
    names = [table.shown for table in tables or ()]
    if not names:
        return "is none" if tables is not None else "may be some"
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    quoted = ", ".join(f"'{name}'" for name in names[:12])
    return ("is " if len(names) == 1 else "are ") + quoted + more


def _near(wanted: str, tables: list[TableName]) -> str:
    """The names that may have been meant, or all."""
    return did_you_mean(wanted, [table.shown for table in tables]) or f"there {_told(tables)}"


@dataclass
class DatabaseReader:
    """Rows of a database, read in batches.

    A connection is made for each question and ends with it, so nothing is left open.
    """

    selection: Selection
    label: str = ""
    place: Literal["table"] = "table"
    path: None = None
    levels: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """What messages call the rows."""
        return self.selection.name

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns."""
        return column_names(self.selection)

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns; some databases look at all their cells for that."""
        if self._types is None or self._types[0] != tuple(columns):
            with self.selection.opened() as database:
                sql = self.selection.sql(database)
                self._types = (tuple(columns), database.schema(sql, list(columns)))
        return self._types[1]

    _types: tuple[tuple[str, ...], pl.Schema] | None = None

    def count(self) -> int:
        """Return the number of rows."""
        with self.selection.opened() as database:
            return database.count(self.selection.sql(database))

    def head(self, n_rows: int) -> pl.DataFrame:
        """Return the first rows with all columns."""
        found: list[pl.DataFrame] = []
        for batch in self.batches(self.names):
            found.append(batch)
            if sum(map(len, found)) >= n_rows:
                break
        return pl.concat(found).head(n_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the given columns: at least one batch."""
        types, n_batches = self.types(columns), 0
        with self.selection.opened() as database:
            for batch in database.batches(self.selection.sql(database), types):
                n_batches += 1
                yield batch
        if not n_batches:
            yield types.to_frame()


def column_names(selection: Selection) -> list[str]:
    """Return the names of all columns of a selection."""
    with selection.opened() as database:
        return database.names(selection.sql(database))
