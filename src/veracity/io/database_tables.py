"""Write tables to a database in one transaction: all of them, or none."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from veracity.errors import OutputError, ParameterError, UnreadableDatabase
from veracity.io.addresses import Address, address_of, database_file, is_address
from veracity.io.databases import NO_EXTENSIONS, driver, explained, quoted
from veracity.io.lazy import LazyTable
from veracity.naming import rendered

MARK = "written by veracity"
"""Begins the comment of a table that veracity wrote."""

ROWS_PER_INSERT = 1 << 18

LOGS = (".wal", "-journal", "-wal", "-shm")
"""Endings of the files of DuckDB and SQLite for changes that are not in the database yet."""

Tell = Callable[[str, int, int], None]


def check_tables(address: str, names: list[str], schema: str | None, *, force: bool) -> str:
    """Raise an error if tables cannot be written, or would replace tables that must not be lost.

    Return the address without its password.
    """
    target = _target(address, schema)
    with target.opened(), target.errors():
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
    outdated: Collection[str] = (),
    tell: Tell | None = None,
) -> str:
    """Write tables, replacing those that veracity wrote, and others only with `force`.

    Remove the `outdated` ones that veracity wrote before and does not write now. Return the address
    without its password.
    """
    target = _target(address, schema)
    n_written, n_rows = 0, sum(map(len, tables.values()))
    with target.opened():
        with target.errors():
            target.begin()
            target.check(list(tables), force=force)
            target.remove([name for name in outdated if name not in tables])
            for name, table in tables.items():
                target.replace(name, table.schema, f"{MARK}, run {run}")
                for chunk in table.chunks() if isinstance(table, LazyTable) else [table]:
                    for rows in chunk.iter_slices(ROWS_PER_INSERT):
                        if tell is not None:
                            tell("writing", n_written, n_rows)
                        target.insert(name, target.plain(rows))
                        n_written += len(rows)
        with target.errors(committing=run):
            target.commit()
    if tell is not None:
        tell("writing", n_rows, n_rows)
    return target.address.shown


def _target(address: str, schema: str | None) -> Target:
    found = address_of(address) if is_address(address) else database_file(address)
    if found is None:
        raise ParameterError(
            f"{address}: tables can be written to a database only; give an address such as "
            "postgresql://user@host/database or sqlite:///file.db"
        )
    if found.query is not None:
        raise ParameterError(f"{found.shown}: tables cannot be written to a query")
    if schema is not None and found.part is not None:
        raise ParameterError(f"{found.shown}: the schema is named twice")
    return TARGETS[found.system](found, schema or found.part)


class Target(ABC):
    """A database in a file, and its schema; the file is removed if it was made in vain."""

    types: ClassVar[dict[Any, str]] = {
        pl.Int64: "bigint", pl.Float64: "double precision", pl.String: "text",
        pl.Boolean: "boolean", pl.Date: "date", pl.Time: "time", pl.Datetime: "timestamp",
        pl.Binary: "blob", pl.Decimal: "decimal({0.precision}, {0.scale})",
    }  # fmt: skip
    """Types of columns in SQL, by their types in polars; all others become text."""

    is_server: ClassVar[bool] = False
    """True if it is unknown whether the tables were written when the connection breaks at the
    end."""

    def __init__(self, address: Address, schema: str | None) -> None:
        self.address, self.schema = address, schema
        self.connection: Any = None
        self.is_done = False

    def connect(self, driver: Any) -> Any:
        """Connect to the database."""
        return driver.connect(self.address.location)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Connect; roll back uncommitted work at the end."""
        file = None if self.is_server else Path(self.address.location)
        is_new = file is not None and not file.exists()
        if file is not None and not file.parent.is_dir():
            raise OutputError(f"{self.address.shown}: there is no folder {file.parent}")
        try:
            with self.errors():
                self.connection = self.connect(driver(self.address.system))
            yield
        finally:
            if self.connection is not None:
                self.connection.close()
            for ending in ("", *LOGS) if is_new and not self.is_done else ():
                Path(f"{file}{ending}").unlink(missing_ok=True)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement."""
        rows: list[tuple[Any, ...]] = self.connection.execute(sql).fetchall()
        return rows

    def begin(self) -> None:
        """Begin the transaction."""
        self.run("begin")

    def commit(self) -> None:
        """Make all that was written stay."""
        self.run("commit")
        self.is_done = True

    @abstractmethod
    def existing(self) -> Iterator[tuple[str, bool, str]]:
        """Yield each name in use, True if it is that of a table, and its comment."""

    @abstractmethod
    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""

    def name_of(self, name: str) -> str:
        """Return the name of a table in the database."""
        return name

    def full_name(self, name: str) -> str:
        """Return the name of a table in SQL."""
        return quoted(self.schema, name)

    def check(self, names: list[str], *, force: bool) -> None:
        """Raise an error instead of replacing tables that veracity did not write."""
        existing = {name: (is_table, mark) for name, is_table, mark in self.existing()}
        for name in map(self.name_of, names):
            is_table, mark = existing.get(name, (True, MARK))
            if not is_table:
                raise OutputError(
                    f"{self.address.shown}: '{name}' is a view and is not replaced; choose another "
                    f"schema, e.g. {self.address.shown}#veracity"
                )
            if MARK not in mark and not force:
                raise OutputError(
                    f"{self.address.shown}: veracity did not write the table '{name}'; choose "
                    f"another schema, e.g. {self.address.shown}#veracity, or replace it with "
                    "force=True, or --force"
                )

    def remove(self, names: list[str]) -> None:
        """Remove tables that veracity wrote."""
        ours = {name for name, is_table, mark in self.existing() if is_table and MARK in mark}
        for name in names:
            if self.name_of(name) in ours:
                self.run(f"drop table {self.full_name(name)}")

    def replace(self, name: str, schema: pl.Schema, mark: str) -> None:
        """Make an empty table; replace one that exists."""
        table = self.full_name(name)
        self.run(f"drop table if exists {table}")
        self.run(f"create table {table} ({self.columns(schema)})")
        self.run(f"comment on table {table} is '{mark}'")

    def columns(self, schema: pl.Schema) -> str:
        """Return the columns of a table in SQL."""
        types = self.plain(schema.to_frame()).schema
        return ", ".join(f"{quoted(name)} {self.type_of(dtype)}" for name, dtype in types.items())

    def type_of(self, dtype: pl.DataType) -> str:
        """Return the name of a type in SQL."""
        zone = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
        return self.types[type(dtype)].format(dtype) + (" with time zone" if zone else "")

    def plain(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Cast columns to the types that the database has."""
        casts = []
        for name, dtype in rows.schema.items():
            if dtype.is_integer():
                casts.append(pl.col(name).cast(pl.Int64))
            elif dtype.is_float():
                casts.append(pl.col(name).cast(pl.Float64))
            elif type(dtype) not in self.types:
                casts.append(rendered(pl.col(name), dtype))
            elif isinstance(dtype, pl.Datetime):
                casts.append(pl.col(name).cast(pl.Datetime("us", dtype.time_zone)))
        return rows.with_columns(casts)

    @contextlib.contextmanager
    def errors(self, committing: str | None = None) -> Iterator[None]:
        """Turn errors into one sentence; nothing was written, unless a server was committing."""
        try:
            yield
        except UnreadableDatabase as error:  # its driver is not there
            raise OutputError(str(error)) from error
        except (OSError, pl.exceptions.PolarsError, driver(self.address.system).Error) as error:
            reason, advice = explained(error, self.address.shown, self.address.secrets)
            if committing is not None and self.is_server:
                raise OutputError(
                    f"{reason}, while committing; check if the table notes has run {committing}, "
                    "and try again if not"
                ) from error
            raise OutputError(f"{reason}; nothing was written; {advice}") from error


class PostgresTarget(Target):
    """A schema of PostgreSQL; rows come by its binary COPY."""

    types: ClassVar[dict[Any, str]] = {**Target.types, pl.Decimal: "numeric", pl.Binary: "bytea"}
    is_server = True

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
            return rows

    def begin(self) -> None:
        """Make the schema; the driver has begun the transaction."""
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

    def existing(self) -> Iterator[tuple[str, bool, str]]:
        """Yield each name in use, True if it is that of a table, and its comment."""
        rows = self.run(
            "select nspname::text, relname::text, relkind in ('r', 'p'), "
            "coalesce(obj_description(c.oid, 'pg_class'), '') "
            "from pg_class c join pg_namespace n on n.oid = relnamespace"
        )
        yield from (row[1:] for row in rows if row[0] == self.schema)

    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, rows, mode="append", db_schema_name=self.schema)


class DuckDbTarget(Target):
    """A schema of DuckDB, which takes Arrow by itself."""

    def connect(self, driver: Any) -> Any:
        """Connect to the file."""
        return driver.connect(self.address.location, config=NO_EXTENSIONS)

    def begin(self) -> None:
        """Begin the transaction, and make the schema."""
        super().begin()
        self.schema = self.schema or self.run("select current_schema()")[0][0]
        self.run(f"create schema if not exists {quoted(self.schema)}")

    def existing(self) -> Iterator[tuple[str, bool, str]]:
        """Yield each name in use, True if it is that of a table, and its comment."""
        rows = self.run(
            "select schema_name, table_name, true, coalesce(comment, '') from duckdb_tables() "
            "where database_name = current_database() union all "
            "select schema_name, view_name, false, coalesce(comment, '') from duckdb_views() "
            "where database_name = current_database()"
        )
        yield from (row[1:] for row in rows if row[0] == self.schema)

    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        self.connection.register("veracity_rows", rows)
        self.run(f"insert into {self.full_name(name)} select * from veracity_rows")
        self.connection.unregister("veracity_rows")


class SqliteTarget(Target):
    """A SQLite file; its tables have a prefix, since there are no schemas."""

    types: ClassVar[dict[Any, str]] = {
        pl.Int64: "integer", pl.Float64: "real", pl.String: "text", pl.Boolean: "boolean",
        pl.Binary: "blob",
    }  # fmt: skip

    def connect(self, driver: Any) -> Any:
        """Connect to the file; transactions are begun by `begin`."""
        return driver.connect(self.address.location, isolation_level=None)

    def begin(self) -> None:
        """Begin the transaction, which locks out other writers."""
        self.run("begin immediate")

    def name_of(self, name: str) -> str:
        """Return the name of a table in the database."""
        return name if self.schema is None else f"{self.schema}_{name}"

    def full_name(self, name: str) -> str:
        """Return the name of a table in SQL."""
        return quoted(self.name_of(name))

    def existing(self) -> Iterator[tuple[str, bool, str]]:
        """Yield the names that are taken, True for tables, and the statements that made them."""
        rows = self.run("select name, type = 'table', coalesce(sql, '') from sqlite_master")
        yield from ((name, bool(is_table), sql) for name, is_table, sql in rows)

    def replace(self, name: str, schema: pl.Schema, mark: str) -> None:
        """Make an empty table; replace one that exists."""
        self.run(f"drop table if exists {self.full_name(name)}")
        # SQLite has no comments on tables, but keeps what stands in this statement.
        self.run(f"create table {self.full_name(name)} ( /* {mark} */ {self.columns(schema)})")

    def insert(self, name: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        places = ", ".join("?" * rows.width)
        insert = f"insert into {self.full_name(name)} values ({places})"
        self.connection.executemany(insert, rows.iter_rows())


TARGETS: dict[str, type[Target]] = {
    "PostgreSQL": PostgresTarget,
    "DuckDB": DuckDbTarget,
    "SQLite": SqliteTarget,
}
