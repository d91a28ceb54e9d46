"""Tables are written to a database in one transaction: all of them, or nothing."""

from __future__ import annotations

import contextlib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from veracity.errors import OutputError, ParameterError, UnreadableDatabase
from veracity.io.databases.address import Address, address_of, database_file, is_address
from veracity.io.databases.arrow import NO_EXTENSIONS
from veracity.io.databases.base import driver, quoted
from veracity.io.databases.sentences import advice_on, reason_of
from veracity.io.pieces import LazyTable
from veracity.naming import rendered

MARK = "written by veracity"
"""By this, in what the database keeps with a table, veracity knows its own."""

ROWS_PER_INSERT = 1 << 18

Tell = Callable[[str, int, int], None]


def check_tables(address: str, names: list[str], schema: str | None, *, force: bool) -> str:
    """Refuse to write where that will fail, or where tables are that must not be lost.

    Returns the address as it may be shown.
    """
    target = _target(address, schema)
    with target.opened(), target.write_errors():
        target.begin()  # and never committed
        target.check(names, force=force)
    return target.address.shown


def write_tables(
    address: str,
    tables: Mapping[str, pl.DataFrame | LazyTable],
    schema: str | None,
    *,
    run: str,
    force: bool,
    tell: Tell | None = None,
) -> str:
    """Write tables, replacing those that veracity wrote, and others only with `force`.

    Returns the address as it may be shown.
    """
    target = _target(address, schema)
    n_written, n_rows = 0, sum(map(len, tables.values()))
    with target.opened():
        with target.write_errors():
            target.begin()
            target.check(list(tables), force=force)
            for name, table in tables.items():
                target.replace(name, table.schema, f"{MARK}, run {run}")
                for rows in _in_slices(table):
                    if tell is not None:
                        tell("writing", n_written, n_rows)
                    target.insert(name, rows)
                    n_written += len(rows)
        with target.committing(run):
            target.commit()
    if tell is not None:
        tell("writing", n_rows, n_rows)
    return target.address.shown


def _in_slices(table: pl.DataFrame | LazyTable) -> Iterator[pl.DataFrame]:
    """Some rows at a time; no more than a piece is ever made of those in pieces."""
    for piece in table.pieces() if isinstance(table, LazyTable) else [table]:
        yield from piece.iter_slices(ROWS_PER_INSERT)


def _target(address: str, schema: str | None) -> Target:
    """Where an address says that tables go."""
    found = address_of(address) if is_address(address) else database_file(address)
    if found is None:
        raise ParameterError(
            f"{address}: tables can be written to a database only; give an address such as "
            "postgresql://user@host/database or sqlite:///file.db"
        )
    if schema is not None and found.part is not None:
        raise ParameterError(f"{found.shown}: the schema is named twice")
    return TARGETS[found.system](found, schema or found.part)


class Target(ABC):
    """A place in a database for tables: a schema, or a prefix where there are none."""

    types: ClassVar[dict[Any, str]]
    """What columns are called in SQL, by the type of their polars column."""

    def __init__(self, address: Address, schema: str | None) -> None:
        self.address, self.schema = address, schema
        self.connection: Any = None

    @abstractmethod
    def opened(self) -> contextlib.AbstractContextManager[None]:
        """Connected, until it is left; what was not committed then is undone."""

    @abstractmethod
    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement."""

    @abstractmethod
    def existing(self) -> dict[str, tuple[bool, str]]:
        """The names that are taken: whether by a table, and what the database keeps with it."""

    @abstractmethod
    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""

    def begin(self) -> None:
        """Begin the transaction."""
        self.run("begin")

    def commit(self) -> None:
        """Make all that was written stay."""
        self.run("commit")

    def name_of(self, name: str) -> str:
        """What a table is called."""
        return name

    def full_name(self, name: str) -> str:
        """A table, as SQL has it."""
        return quoted(self.schema, self.name_of(name))

    def check(self, names: list[str], *, force: bool) -> None:
        """Refuse to replace what others wrote."""
        existing = self.existing()
        for name in map(self.name_of, names):
            is_table, mark = existing.get(name, (True, MARK))
            if not is_table:
                raise OutputError(
                    f"{self.address.shown}: '{name}' is a view and stays; choose another schema, "
                    f"e.g. {self.address.shown}#veracity"
                )
            if MARK not in mark and not force:
                raise OutputError(
                    f"{self.address.shown}: veracity did not write the table '{name}' that is "
                    f"there; choose another schema, e.g. {self.address.shown}#veracity, or replace "
                    "it with force=True, or --force"
                )

    def replace(self, name: str, schema: pl.Schema, mark: str) -> None:
        """An empty table in the place of one that may be there."""
        self.run(f"drop table if exists {self.full_name(name)}")
        self.run(f"create table {self.full_name(name)} ({self.columns(schema)})")
        self.run(f"comment on table {self.full_name(name)} is '{mark}'")

    def columns(self, schema: pl.Schema) -> str:
        """The columns of a table, as SQL has them."""
        return ", ".join(f"{quoted(name)} {self.type_of(t)}" for name, t in schema.items())

    def type_of(self, dtype: pl.DataType) -> str:
        """What a type is called in SQL."""
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            return self.types.get("with time zone", self.types[pl.String])
        kind = pl.Int64 if dtype.is_integer() else pl.Float64 if dtype.is_float() else type(dtype)
        return self.types[kind if kind in self.types else pl.String]

    def plain(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the types that `type_of` has names for."""
        casts = []
        for name, dtype in rows.schema.items():
            if dtype.is_integer():
                casts.append(pl.col(name).cast(pl.Int64))
            elif dtype.is_float():
                casts.append(pl.col(name).cast(pl.Float64))
            elif isinstance(dtype, pl.Datetime) and pl.Datetime in self.types:
                casts.append(pl.col(name).cast(pl.Datetime("us", dtype.time_zone)))
            elif type(dtype) not in self.types:
                casts.append(rendered(pl.col(name), dtype))
        return rows.with_columns(casts)

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """What the driver raises."""
        return (OSError, pl.exceptions.PolarsError)

    @contextlib.contextmanager
    def write_errors(self) -> Iterator[None]:
        """What goes wrong is told in one sentence, and nothing was written."""
        try:
            yield
        except UnreadableDatabase as error:  # out of reach
            raise OutputError(str(error)) from error
        except self.errors as error:
            raise OutputError(
                f"{self.address.shown}: {reason_of(error, self.address.secrets)}; nothing was "
                f"written; {advice_on(error, 'check the address')}"
            ) from error

    @contextlib.contextmanager
    def committing(self, run: str) -> Iterator[None]:
        """Only the server knows, if the connection breaks while it commits."""
        try:
            yield
        except self.errors as error:
            raise OutputError(
                f"{self.address.shown}: {reason_of(error, self.address.secrets)}, at the very end; "
                f"look whether the table notes tells of run {run}, and try again if not"
            ) from error


class PostgresTarget(Target):
    """A schema of PostgreSQL; rows come by its binary COPY."""

    types: ClassVar[dict[Any, str]] = {
        pl.Int64: "bigint", pl.Float64: "double precision", pl.String: "text",
        pl.Boolean: "boolean", pl.Date: "date", pl.Time: "time", pl.Datetime: "timestamp",
        pl.Decimal: "numeric", pl.Binary: "bytea", "with time zone": "timestamp with time zone",
    }  # fmt: skip

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Connected, until it is left; what was not committed then is undone."""
        with self.write_errors():
            dbapi = driver("adbc_driver_postgresql.dbapi", "PostgreSQL", "postgresql")
            self.connection = dbapi.connect(self.address.location)
        try:
            yield
        finally:
            self.connection.close()

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """What the driver raises."""
        return (*super().errors, importlib.import_module("adbc_driver_manager").Error)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
            return rows

    def begin(self) -> None:
        """The driver has begun the transaction; here the schema comes to be."""
        if self.schema is None:
            self.schema = self.run("select current_schema()::text")[0][0] or "public"
        found = dict(
            self.run("select nspname::text, has_schema_privilege(oid, 'create') from pg_namespace")
        )
        if self.schema not in found:
            self.run(f"create schema {quoted(self.schema)}")
        elif not found[self.schema]:
            raise OutputError(
                f"{self.address.shown}: permission denied for schema {self.schema}; ask the owner "
                f"for the right to create tables, or choose another schema"
            )

    def commit(self) -> None:
        """Make all that was written stay."""
        self.connection.commit()

    def existing(self) -> dict[str, tuple[bool, str]]:
        """The names that are taken: whether by a table, and what the database keeps with it."""
        rows = self.run(
            "select nspname::text, relname::text, relkind in ('r', 'p'), "
            "coalesce(obj_description(c.oid, 'pg_class'), '') "
            "from pg_class c join pg_namespace n on n.oid = relnamespace"
        )
        return {
            name: (is_table, mark) for schema, name, is_table, mark in rows if schema == self.schema
        }

    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, self.plain(rows), mode="append", db_schema_name=self.schema)


LOGS = (".wal", "-journal", "-wal", "-shm")
"""How the names of files end in which DuckDB and SQLite note what is not in the database yet."""


class FileTarget(Target):
    """A database in a file, which is gone again if it was made for what could not be written."""

    is_done = False

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Connected, until it is left; what was not committed then is undone."""
        file = Path(self.address.location)
        is_new = not file.exists()
        if not file.parent.is_dir():
            raise OutputError(f"{self.address.shown}: there is no folder {file.parent}")
        try:
            with self.write_errors():
                self.connection = self.connect()
            yield
        finally:
            if self.connection is not None:
                self.connection.close()
            if is_new and not self.is_done:
                for beside in ("", *LOGS):
                    Path(f"{file}{beside}").unlink(missing_ok=True)

    @abstractmethod
    def connect(self) -> Any:
        """A connection to the file."""

    def commit(self) -> None:
        """Make all that was written stay."""
        super().commit()
        self.is_done = True

    @contextlib.contextmanager
    def committing(self, run: str) -> Iterator[None]:
        """There is no server that knows more: what could not be committed was not written."""
        with self.write_errors():
            yield

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement."""
        rows: list[tuple[Any, ...]] = self.connection.execute(sql).fetchall()
        return rows


class DuckDbTarget(FileTarget):
    """A schema of DuckDB, which takes Arrow by itself."""

    types: ClassVar[dict[Any, str]] = {
        pl.Int64: "bigint", pl.Float64: "double", pl.String: "varchar", pl.Boolean: "boolean",
        pl.Date: "date", pl.Time: "time", pl.Datetime: "timestamp", pl.Binary: "blob",
        "with time zone": "timestamp with time zone",
    }  # fmt: skip

    def connect(self) -> Any:
        """A connection to the file."""
        duckdb = driver("duckdb", "DuckDB", "duckdb")
        return duckdb.connect(self.address.location, config=NO_EXTENSIONS)

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """What the driver raises."""
        return (*super().errors, importlib.import_module("duckdb").Error)

    def begin(self) -> None:
        """Begin the transaction."""
        super().begin()
        self.schema = self.schema or self.run("select current_schema()")[0][0]
        self.run(f"create schema if not exists {quoted(self.schema)}")

    def type_of(self, dtype: pl.DataType) -> str:
        """What a type is called in SQL."""
        if isinstance(dtype, pl.Decimal):
            return f"decimal({dtype.precision}, {dtype.scale})"
        return super().type_of(dtype)

    def existing(self) -> dict[str, tuple[bool, str]]:
        """The names that are taken: whether by a table, and what the database keeps with it."""
        rows = self.run(
            "select schema_name, table_name, true, comment from duckdb_tables() "
            "where database_name = current_database() union all "
            "select schema_name, view_name, false, comment from duckdb_views() "
            "where database_name = current_database()"
        )
        return {
            name: (is_table, mark or "")
            for schema, name, is_table, mark in rows
            if schema == self.schema
        }

    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        self.connection.register("veracity_rows", self.plain(rows))
        self.run(f"insert into {self.full_name(name)} select * from veracity_rows")
        self.connection.unregister("veracity_rows")

    def plain(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the types that `type_of` has names for."""
        decimals = [name for name, dtype in rows.schema.items() if dtype.is_decimal()]
        return super().plain(rows).with_columns(rows[name] for name in decimals)


class SqliteTarget(FileTarget):
    """A SQLite file; its tables have a prefix, since there are no schemas."""

    types: ClassVar[dict[Any, str]] = {
        pl.Int64: "integer", pl.Float64: "real", pl.String: "text", pl.Boolean: "boolean",
        pl.Binary: "blob",
    }  # fmt: skip

    def connect(self) -> Any:
        """A connection to the file."""
        connect = importlib.import_module("sqlite3").connect
        return connect(self.address.location, isolation_level=None)

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """What the driver raises."""
        return (*super().errors, importlib.import_module("sqlite3").Error)

    def begin(self) -> None:
        """Begin the transaction, in which nobody else writes."""
        self.run("begin immediate")

    def name_of(self, name: str) -> str:
        """What a table is called."""
        return name if self.schema is None else f"{self.schema}_{name}"

    def full_name(self, name: str) -> str:
        """A table, as SQL has it."""
        return quoted(self.name_of(name))

    def existing(self) -> dict[str, tuple[bool, str]]:
        """The names that are taken: whether by a table, and what the database keeps with it."""
        rows = self.run("select name, type = 'table', coalesce(sql, '') from sqlite_master")
        return {name: (bool(is_table), sql) for name, is_table, sql in rows}

    def replace(self, name: str, schema: pl.Schema, mark: str) -> None:
        """An empty table in the place of one that may be there."""
        self.run(f"drop table if exists {self.full_name(name)}")
        # SQLite has no comments on tables, but keeps what stands in this statement.
        self.run(f"create table {self.full_name(name)} ( /* {mark} */ {self.columns(schema)})")

    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        places = ", ".join("?" * rows.width)
        self.connection.executemany(
            f"insert into {self.full_name(name)} values ({places})", self.plain(rows).iter_rows()
        )


TARGETS: dict[str, type[Target]] = {
    "PostgreSQL": PostgresTarget,
    "DuckDB": DuckDbTarget,
    "SQLite": SqliteTarget,
}
