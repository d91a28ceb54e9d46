"""Databases whose rows come as Arrow: PostgreSQL and others by ADBC, and DuckDB."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from veracity.io.databases.address import Address
from veracity.io.databases.base import (
    ROWS_PER_FETCH,
    Database,
    TableName,
    driver,
    quoted,
    require_file,
)
from veracity.io.frames import MOST_DIGITS

NO_EXTENSIONS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""No file may make DuckDB fetch code from the network, as one of another database would."""

BYTES_PER_BATCH = 1 << 24
"""About how much PostgreSQL's driver puts into a batch."""


class Adbc(Database):
    """Any database with an ADBC driver: batches come as Arrow."""

    def __init__(self, connection: Any, name: str, secrets: set[str] | None = None) -> None:
        super().__init__(connection, name, secrets)
        self.errors = (driver("adbc_driver_manager", "ADBC", "postgresql").Error,)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small answer."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def schema(self, query: str, names: Sequence[str] | None = None) -> pl.Schema:
        """The columns that a query gives, or some of them, with their types."""
        columns = ["*"] if names is None else [self.quoted(name) for name in names]
        with self.connection.cursor() as cursor:
            cursor.execute(f"{self.selecting(columns, query)} where 1 = 0")
            return pl.DataFrame(cursor.fetch_arrow_table()).schema

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Some columns of what a query gives, as rows of the database come."""
        sql = self.selecting([self.quoted(name) for name in schema], query)
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            yield from _from_arrow(cursor.fetch_record_batch())


class Postgres(Adbc):
    """PostgreSQL by ADBC, which reads by the server's binary COPY."""

    AS_TEXT = ("bpchar", "uuid", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "interval",
               "money", "timetz", "bit", "varbit", "oid", "citext")  # fmt: skip
    """Types for which there is no Arrow type, or none that claims could have."""

    @classmethod
    @contextlib.contextmanager
    def opened(cls, address: Address) -> Iterator[Postgres]:
        """The database at an address, as it is at one moment."""
        dbapi = driver("adbc_driver_postgresql.dbapi", "PostgreSQL", "postgresql")
        database = cls(None, address.shown, address.secrets)
        with database.reading():
            database.connection = dbapi.connect(address.location)
        try:
            with database.reading(), database.connection.cursor() as cursor:
                cursor.execute("set transaction isolation level repeatable read, read only")
            yield database
        finally:
            database.connection.close()

    def tables(self) -> list[TableName]:
        """All tables and views that can be read."""
        return [
            TableName(*row)
            for row in self.ask(
                "select nspname::text, relname::text, pg_table_is_visible(c.oid) from pg_class c "
                "join pg_namespace n on n.oid = relnamespace "
                "where relkind in ('r', 'v', 'm', 'f', 'p') and nspname !~ '^pg_' "
                "and nspname <> 'information_schema' order by 1, 2"
            )
        ]

    def schema(self, query: str, names: Sequence[str] | None = None) -> pl.Schema:
        """The columns that a query gives, or some of them, with their types."""
        with self.connection.cursor() as cursor:
            fields = {field.name: field for field in cursor.adbc_execute_schema(query)}
        chosen = {name: fields[name] for name in (fields if names is None else names)}
        scales = {} if names is None else self._scales(query, chosen)
        return pl.Schema(
            {
                name: pl.Decimal(38, scales.get(name, 0))
                if _pg_type(field) == "numeric"
                else pl.String()
                if self._is_text(field)
                else _polars_type(field)
                for name, field in chosen.items()
            }
        )

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Some columns of what a query gives, as rows of the database come."""
        columns = [
            f"{quoted(name)}::text as {quoted(name)}"
            if dtype.is_decimal() or dtype == pl.String
            else quoted(name)
            for name, dtype in schema.items()
        ]
        numbers = {name: dtype for name, dtype in schema.items() if dtype.is_decimal()}
        with self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(
                **{"adbc.postgresql.batch_size_hint_bytes": str(BYTES_PER_BATCH)}
            )
            cursor.execute(self.selecting(columns, query))
            for batch in _from_arrow(cursor.fetch_record_batch()):
                yield batch.with_columns(
                    self._numbers(batch[name], dtype) for name, dtype in numbers.items()
                )

    def _numbers(self, texts: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Numbers as PostgreSQL writes them; what is none is missing, as in other columns."""
        finite = texts.set(texts.is_in(["NaN", "Infinity", "-Infinity"]), None)
        numbers = finite.cast(dtype, strict=False)
        if numbers.null_count() > finite.null_count():
            self.refuse_digits(texts.name)
        return numbers

    def _scales(self, query: str, fields: dict[str, Any]) -> dict[str, int]:
        """How many digits stand behind the point, for numerics: by their type, or at most."""
        told = {n: int((f.metadata or {}).get(b"POSTGRESQL:typmod", -1)) for n, f in fields.items()}
        numerics = [name for name, field in fields.items() if _pg_type(field) == "numeric"]
        scales = {name: _scale(told[name]) for name in numerics if told[name] >= 4}
        free = [name for name in numerics if name not in scales]
        if free:
            largest = [f"coalesce(max(scale({quoted(name)})), 0)" for name in free]
            scales |= zip(free, self.ask(self.selecting(largest, query))[0], strict=True)
        for name, scale in scales.items():
            if scale > MOST_DIGITS:
                self.refuse_digits(name)
        return scales

    def _is_text(self, field: Any) -> bool:
        kind = _pg_type(field)
        return kind in self.AS_TEXT or str(field.type).startswith("extension<arrow.opaque")


class DuckDb(Database):
    """DuckDB, which gives Arrow by itself."""

    def __init__(self, connection: Any, name: str) -> None:
        super().__init__(connection, name)
        self.errors = (driver("duckdb", "DuckDB", "duckdb").Error,)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, address: Address) -> Iterator[DuckDb]:
        """The database in a file."""
        database = cls(None, address.shown)
        with database.reading():
            require_file(address)
            duckdb = importlib.import_module("duckdb")
            database.connection = duckdb.connect(
                address.location, read_only=True, config=NO_EXTENSIONS
            )
        with contextlib.closing(database.connection):
            yield database

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small answer."""
        rows: list[tuple[Any, ...]] = self.connection.sql(sql).fetchall()
        return rows

    def tables(self) -> list[TableName]:
        """All tables and views."""
        return [
            TableName(*row)
            for row in self.ask(
                "select table_schema, table_name, table_schema = current_schema() "
                "from information_schema.tables where table_catalog = current_database() "
                "order by 1, 2"
            )
        ]

    def schema(self, query: str, names: Sequence[str] | None = None) -> pl.Schema:
        """The columns that a query gives, or some of them, with their types."""
        columns = ["*"] if names is None else [quoted(name) for name in names]
        empty = self.connection.sql(f"{self.selecting(columns, query)} limit 0").to_arrow_table()
        return pl.Schema(
            {
                field.name: pl.String() if "interval" in str(field.type) else _polars_type(field)
                for field in empty.schema
            }
        )

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Some columns of what a query gives, as rows of the database come."""
        columns = [
            f"{quoted(name)}::varchar as {quoted(name)}" if dtype == pl.String else quoted(name)
            for name, dtype in schema.items()
        ]
        found = self.connection.sql(self.selecting(columns, query))
        yield from _from_arrow(found.to_arrow_reader(ROWS_PER_FETCH))


def _from_arrow(reader: Any) -> Iterator[pl.DataFrame]:
    for batch in reader:
        yield pl.DataFrame(batch)


def _pg_type(field: Any) -> str:
    told = (field.metadata or {}).get(b"POSTGRESQL:type", b"")
    return str(told, "utf-8")


def _scale(modifier: int) -> int:
    """How many digits a modifier of numeric leaves behind the point: eleven bits with a sign.

    >>> _scale(655366)
    2
    """
    return max((((modifier - 4) & 0x7FF) ^ 0x400) - 0x400, 0)


def _polars_type(field: Any) -> pl.DataType:
    """The type of a column; one that polars does not have is an object, and refused later."""
    pyarrow = importlib.import_module("pyarrow")
    try:
        return pl.DataFrame(pyarrow.schema([field]).empty_table()).dtypes[0]
    except (pl.exceptions.PolarsError, ValueError, NotImplementedError):
        return pl.Object()
