"""Databases: tables and queries are read in batches, by one class for each driver."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

import polars as pl

from veracity.errors import BadValue, ParameterError, UnreadableDatabase, VeracityError
from veracity.extras import how_to_get
from veracity.io.addresses import Address, address_of, database_file, is_address
from veracity.io.frames import column_of, texts_of
from veracity.io.reader import Place, Reader, quoted_list
from veracity.printing import did_you_mean

ROWS_PER_FETCH = 1 << 16
"""Number of rows fetched at a time as Python values."""

MOST_DIGITS = 38
"""Number of digits that a decimal of Polars can have."""

BYTES_PER_BATCH = 1 << 24
"""About the size of the batches of PostgreSQL's driver."""

NO_EXTENSIONS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Settings that stop DuckDB from fetching code from the network, which some files would cause."""

DRIVERS = {
    "PostgreSQL": "adbc_driver_postgresql.dbapi",
    "DuckDB": "duckdb",
    "SQLite": "sqlite3",
}
"""The module by which each database is opened."""

ALSO_RAISED: tuple[type[Exception], ...] = (OSError, ValueError, pl.exceptions.PolarsError)
"""Errors other than a driver's own: of Arrow's batches, and of column types."""

PREFIX = re.compile(
    r"^(?:[A-Z_]{2,}: +|\[libpq\] |Failed to [a-z ]+: |Execution error \[\w+\]: |\([\w.]+\) )+"
)
"""Prefixes of drivers' messages that carry no information."""

ADVICE = (
    (r"password|authenticat|pg_hba",
     "check user and password; PGPASSWORD and ~/.pgpass are looked at, too"),
    (r"translate host name|refused|time(d )?out|unreachable|No such file or directory",
     "check host and port, and whether the server runs"),
    (r"terminating connection|closed the connection|connection .*(lost|closed|reset)"
     r"|no connection to the server|EOF detected", "the connection broke: try again"),
    (r"conversion from|decode", "cast the column to another type in a query"),
    (r"different configuration", "pass the open connection to veracity.read_database"),
    (r"permission denied|must be owner|attempt to write a readonly",
     "ask the owner for the right to do so"),
    (r"depend on it", "drop what depends on it first, or choose another schema"),
    (r"lock", "another program has it open: let it end, and try again"),
    (r"not a database|not a valid DuckDB|malformed|unable to open|disk I/O",
     "check the file and its permissions"),
)  # fmt: skip
"""Advice for errors whose message gives none; the first that matches is used."""


def driver(system: str) -> Any:
    """Return the driver of a database, or raise an error that explains how to install it."""
    try:
        importlib.import_module("pyarrow")
        return importlib.import_module(DRIVERS[system])
    except ImportError as error:
        raise UnreadableDatabase(
            f"{system} needs a driver that is not installed: {how_to_get(system.lower())}"
        ) from error


def explained(error: BaseException, name: str, secrets: set[str]) -> tuple[str, str]:
    r"""Return one line of a driver's message, without secrets, and advice.

    >>> explained(OSError('IO: [libpq] Failed to connect: FATAL:  no "p%w"\n\thint'), "db", {"p%w"})
    ('db: no "***"', 'check the address and the query')
    """
    said = str(error)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    reason = PREFIX.sub("", lines[0]) if lines else type(error).__name__
    if reason.endswith("failed:") and len(lines) > 1:
        reason = f"{reason} {PREFIX.sub('', lines[1])}"
    for secret in sorted(secrets, key=len, reverse=True):
        reason = reason.replace(secret, "***")
    advice = (do for words, do in ADVICE if re.search(words, said, re.IGNORECASE))
    return f"{name}: {reason.rstrip('.;: ')}", next(advice, "check the address and the query")


def quoted(*names: str | None) -> str:
    """Return a name as SQL has it, whatever is in it.

    >>> print(quoted("my schema", 'odd "name" of it'))
    "my schema"."odd ""name"" of it"
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name is not None)


def selecting(columns: Sequence[str], query: str) -> str:
    """Return a query for some columns of another; that may end in a semicolon or a comment."""
    return f"select {', '.join(columns)} from ({query.rstrip().rstrip(';')}\n) claims"


class TableName(NamedTuple):
    """A table or view: its schema, if there are schemas, and True if its name alone will do."""

    schema: str | None
    name: str
    is_visible: bool = True

    @property
    def shown(self) -> str:
        """The name to ask for it by."""
        return self.name if self.is_visible or self.schema is None else f"{self.schema}.{self.name}"


class Database:
    """Any DB-API connection: rows come as Python values, columns are identified by position.

    They are not named in queries: where a database takes "source" for a text, as MySQL does, a
    quoted name would read that text in every row.
    """

    list_tables: ClassVar[str] = ""
    """Query for schemas and names of all tables and views, and True for visible ones; empty if the
    database has no such query."""

    def __init__(self, connection: Any, name: str, secrets: set[str] | None = None) -> None:
        self.connection, self.name, self.secrets = connection, name, secrets or set()
        library = importlib.import_module(type(connection).__module__.split(".")[0].lstrip("_"))
        self.errors = (getattr(library, "Error", Exception), *ALSO_RAISED)

    @staticmethod
    def connect(location: str) -> Any:
        """Connect to the database at the location that an address names."""
        raise NotImplementedError

    def begin(self) -> None:
        """Prepare a connection that was made here."""

    @contextlib.contextmanager
    def answer(self, sql: str) -> Iterator[Any]:
        """Run a query; its answer is closed afterwards."""
        with contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(sql)
            yield cursor

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a small answer."""
        with self.answer(sql) as found:
            return [tuple(row) for row in found.fetchall()]

    def tables(self) -> list[TableName] | None:
        """Return all tables and views that can be read; None where that cannot be asked."""
        return [TableName(*row) for row in self.ask(self.list_tables)] if self.list_tables else None

    def names(self, query: str) -> list[str]:
        """Return the names of the columns that a query gives."""
        with self.answer(f"{selecting(['*'], query)} where 1 = 0") as found:
            return [column[0] for column in found.description]

    def schema(self, query: str, names: Sequence[str]) -> pl.Schema:
        """Return the types of some columns; here those of the first rows that have a value."""
        schema = pl.Schema(dict.fromkeys(names, pl.Null()))
        for batch in self._fetched(query, names):
            known = [name for name, dtype in schema.items() if dtype != pl.Null]
            schema = pl.Schema({**batch.schema, **{name: schema[name] for name in known}})
            if pl.Null not in schema.dtypes():
                break
        return pl.Schema({n: pl.String() if t == pl.Null else t for n, t in schema.items()})

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Yield some columns of the rows of a query, in batches."""
        for batch in self._fetched(query, schema.names()):
            yield batch.select(self._typed(batch[name], dtype) for name, dtype in schema.items())

    def _fetched(self, query: str, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        with self.answer(selecting(["*"], query)) as found:
            chosen = [column[0] for column in found.description]
            places = [chosen.index(name) for name in names]
            while rows := found.fetchmany(ROWS_PER_FETCH):
                cells = list(zip(*rows, strict=True))
                yield pl.DataFrame(
                    [_column(name, cells[at]) for name, at in zip(names, places, strict=True)]
                )

    def _typed(self, column: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Return a column in the type of the rows before, if no information is lost."""
        same = column.cast(dtype, strict=False)
        if column.dtype not in (dtype, pl.Null) and not same.cast(column.dtype).equals(column):
            raise BadValue(
                f"{self.name}: column '{column.name}' holds {column.dtype} after {dtype}; "
                "cast it to one type in the query"
            )
        return same

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors while a database is read into one sentence."""
        with reading(self.name, self.errors, self.secrets):
            yield


def _column(name: str, cells: Sequence[Any]) -> pl.Series:
    """Return cells as a column; where Polars has no type for them, they become text."""
    column = column_of(cells, name)
    return column if column.dtype != pl.Object else pl.Series(name, texts_of(cells))


@contextlib.contextmanager
def reading(name: str, errors: tuple[type[Exception], ...], secrets: set[str]) -> Iterator[None]:
    """Turn errors of a database into one sentence."""
    try:
        yield
    except VeracityError:
        raise
    except errors as error:
        raise UnreadableDatabase("; ".join(explained(error, name, secrets))) from error


class Postgres(Database):
    """PostgreSQL by ADBC, which reads by the server's binary COPY."""

    AS_TEXT = ("bpchar", "uuid", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "interval",
               "money", "timetz", "bit", "varbit", "oid", "citext")  # fmt: skip
    """Types for which there is no Arrow type, or none that claims could have."""

    list_tables = (
        "select nspname::text, relname::text, pg_table_is_visible(c.oid) from pg_class c "
        "join pg_namespace n on n.oid = relnamespace "
        "where relkind in ('r', 'v', 'm', 'f', 'p') and nspname !~ '^pg_' "
        "and nspname <> 'information_schema' order by 1, 2"
    )

    @staticmethod
    def connect(location: str) -> Any:
        """Connect to the server."""
        return driver("PostgreSQL").connect(location)

    def begin(self) -> None:
        """Read all tables in the state of a single moment."""
        with self.connection.cursor() as cursor:
            cursor.execute("set transaction isolation level repeatable read, read only")

    def schema(self, query: str, names: Sequence[str]) -> pl.Schema:
        """Return the types of some columns; a numeric has as many decimals as its longest value."""
        with self.connection.cursor() as cursor:
            found = {field.name: field for field in cursor.adbc_execute_schema(query)}
        kinds = {n: (found[n].metadata or {}).get(b"POSTGRESQL:type", b"").decode() for n in names}
        numerics = [name for name, kind in kinds.items() if kind == "numeric"]
        digits = [f"coalesce(max(scale({quoted(name)})), 0)" for name in numerics]
        scales = self.ask(selecting(digits, query))[0] if digits else ()
        scale_of = dict(zip(numerics, scales, strict=True))
        if any(scale > MOST_DIGITS for scale in scales):
            raise ValueError(f"conversion from numeric: more than {MOST_DIGITS} digits")
        return pl.Schema(
            {
                name: pl.Decimal(MOST_DIGITS, scale_of[name])
                if name in scale_of
                else pl.String()
                if kind in self.AS_TEXT
                or str(found[name].type).startswith("extension<arrow.opaque")
                else _polars_type(found[name])
                for name, kind in kinds.items()
            }
        )

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Yield some columns of the rows of a query, in batches."""
        numbers = {name: dtype for name, dtype in schema.items() if dtype.is_decimal()}
        texts = [*numbers, *(name for name, dtype in schema.items() if dtype == pl.String)]
        columns = _as_text(schema, texts, "text")
        no_numbers = ["NaN", "Infinity", "-Infinity"]
        with self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(
                **{"adbc.postgresql.batch_size_hint_bytes": str(BYTES_PER_BATCH)}
            )
            cursor.execute(selecting(columns, query))
            for batch in map(pl.DataFrame, cursor.fetch_record_batch()):
                yield batch.with_columns(
                    batch[name].set(batch[name].is_in(no_numbers), None).cast(dtype)
                    for name, dtype in numbers.items()
                )


class DuckDb(Database):
    """DuckDB, whose driver returns Arrow tables."""

    list_tables = (
        "select table_schema, table_name, table_schema = current_schema() "
        "from information_schema.tables where table_catalog = current_database() order by 1, 2"
    )

    @staticmethod
    def connect(location: str) -> Any:
        """Open a file."""
        return driver("DuckDB").connect(location, read_only=True, config=NO_EXTENSIONS)

    @contextlib.contextmanager
    def answer(self, sql: str) -> Iterator[Any]:
        """Run a query without changing the user's other cursors on the same connection."""
        yield self.connection.sql(sql)

    def schema(self, query: str, names: Sequence[str]) -> pl.Schema:
        """Return the types of some columns."""
        with self.answer(f"{selecting([quoted(name) for name in names], query)} limit 0") as found:
            return pl.Schema(
                {
                    field.name: pl.String()
                    if "interval" in str(field.type)
                    else _polars_type(field)
                    for field in found.to_arrow_table().schema
                }
            )

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Yield some columns of the rows of a query, in batches."""
        texts = [name for name, dtype in schema.items() if dtype == pl.String]
        with self.answer(selecting(_as_text(schema, texts, "varchar"), query)) as found:
            yield from map(pl.DataFrame, found.to_arrow_reader(ROWS_PER_FETCH))


def _as_text(names: Sequence[str] | pl.Schema, texts: Sequence[str], kind: str) -> list[str]:
    """Return columns in SQL, some of them as text."""
    return [quoted(n) + (f"::{kind} as {quoted(n)}" if n in texts else "") for n in names]


def _polars_type(column: Any) -> pl.DataType:
    """Return the type of a column; one that Polars does not have is an object, refused later."""
    pyarrow = importlib.import_module("pyarrow")
    try:
        return pl.DataFrame(pyarrow.schema([column]).empty_table()).dtypes[0]
    except (pl.exceptions.PolarsError, ValueError, NotImplementedError):
        return pl.Object()


class Sqlite(Database):
    """SQLite, where each cell has a type of its own."""

    TYPES: ClassVar[dict[str, pl.DataType]] = {
        "integer": pl.Int64(),
        "real": pl.Float64(),
        "text": pl.String(),
        "blob": pl.Binary(),
    }

    list_tables = (
        "select null, name from sqlite_master where type in ('table', 'view') "
        "and name not like 'sqlite!_%' escape '!' order by 2"
    )

    @staticmethod
    def connect(location: str) -> Any:
        """Open a file."""
        place = quote(str(Path(location).absolute()))
        return driver("SQLite").connect(f"file:{place}?mode=ro", uri=True)

    def schema(self, query: str, names: Sequence[str]) -> pl.Schema:
        """Return types that all cells of the columns can have."""
        kinds = [f"group_concat(distinct typeof({quoted(name)}))" for name in names]
        found = self.ask(selecting(kinds, query))[0]
        return pl.Schema({n: self._type_of(kind) for n, kind in zip(names, found, strict=True)})

    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Yield some columns of the rows of a query, in batches."""
        columns = [f"{_cast(name, dtype)} as {quoted(name)}" for name, dtype in schema.items()]
        with self.answer(selecting(columns, query)) as found:
            while rows := found.fetchmany(ROWS_PER_FETCH):
                yield pl.DataFrame(rows, schema=schema, orient="row")

    def _type_of(self, kinds: str | None) -> pl.DataType:
        found = set((kinds or "").split(",")) - {"null", ""}
        if found == {"integer", "real"}:
            return pl.Float64()
        return self.TYPES[found.pop()] if len(found) == 1 else pl.String()


def _cast(name: str, dtype: pl.DataType) -> str:
    """Return a column of SQLite in one type; a whole number among texts is written as one."""
    own = quoted(name)
    if dtype == pl.Float64:
        return f"cast({own} as real)"
    if dtype != pl.String:
        return own
    is_whole = f"typeof({own}) = 'real' and {own} = cast({own} as integer) and abs({own}) < 1e15"
    return f"cast(case when {is_whole} then cast({own} as integer) else {own} end as text)"


SYSTEMS: dict[str, type[Database]] = {"PostgreSQL": Postgres, "DuckDB": DuckDb, "SQLite": Sqlite}


@contextlib.contextmanager
def _at(address: Address) -> Iterator[Database]:
    """Open the database at an address."""
    system, module = SYSTEMS[address.system], driver(address.system)
    if system is not Postgres and not Path(address.location).is_file():
        raise UnreadableDatabase(f"{address.shown}: there is no such file; check the path")
    with reading(address.shown, (module.Error, *ALSO_RAISED), address.secrets):
        connection = system.connect(address.location)
    with contextlib.closing(connection):
        database = system(connection, address.shown, address.secrets)
        with database.reading():
            database.begin()
        yield database


@contextlib.contextmanager
def _connected(given: Any, name: str) -> Iterator[Database]:
    """Use a connection that was given; of SQLAlchemy, the one of its driver."""
    if hasattr(given, "raw_connection"):  # an engine
        with reading(name, (Exception,), set()):
            given = given.raw_connection()
        with contextlib.closing(given), _connected(given.driver_connection, name) as database:
            yield database
        return
    if hasattr(given, "exec_driver_sql"):
        given = given.connection.driver_connection
    library = type(given).__module__.lstrip("_")
    if hasattr(given, "adbc_get_info"):
        is_postgres = given.adbc_get_info().get("vendor_name") == "PostgreSQL"
        yield (Postgres if is_postgres else Database)(given, name)
    elif library.startswith("duckdb"):
        yield DuckDb(given, name)
    else:
        yield (Sqlite if library.startswith("sqlite3") else Database)(given, name)


@dataclass
class DatabaseReader(Reader):
    """A table of a database, or the answer to a query, read in batches.

    The database is an address or a connection. For an address, a connection is made for each
    question and ends with it, so nothing is left open.
    """

    database: Any = field(repr=False)
    table: str | None = None
    query: str | None = None
    label: str = ""
    place: Place = "table"
    _types: tuple[tuple[str, ...], pl.Schema] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.database, Address):
            self.shown = self.database.shown
        else:
            library = type(self.database).__module__.split(".")[0].lstrip("_")
            self.shown = f"the {library} connection"
        if self.table is not None and self.query is not None:
            raise ParameterError(f"{self.shown}: name a table or give a query, not both")
        what = "the query" if self.table is None else f"table {self.table}"
        self.origin = f"{self.shown}, {what}"

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Database]:
        """Open the database; a connection that was made here is closed."""
        is_address = isinstance(self.database, Address)
        opened = _at(self.database) if is_address else _connected(self.database, self.shown)
        with opened as database, database.reading():
            yield database

    def _sql(self, database: Database) -> str:
        """Return the query, or one for the table; the database is asked which tables it has."""
        if self.query is not None:
            return self.query
        tables = database.tables()
        names = [table.shown for table in tables or ()]
        told = f"there {'is' if len(names) == 1 else 'are'} {quoted_list(names)}"
        if self.table is None:
            raise UnreadableDatabase(
                f"{self.shown}: this is a database; name a table, as in {self.shown}#TABLE, or "
                f"give a query, as in '{self.shown}#select ...'; {told}"
            )
        if tables is None:
            return f"select * from {quoted(*self.table.split('.'))}"
        for table in sorted(tables, key=lambda table: not table.is_visible):
            if self.table in (table.shown, f"{table.schema}.{table.name}"):
                return f"select * from {quoted(table.schema, table.name)}"
        near = did_you_mean(self.table, names) or told
        raise UnreadableDatabase(f"{self.shown}: there is no table '{self.table}'; {near}")

    def tables(self) -> list[DatabaseReader]:
        """Return a reader of each table of the database, where none is named."""
        if self.table is not None or self.query is not None:
            return [self]
        with self._opened() as database:
            tables = database.tables()
        if not tables:
            raise UnreadableDatabase(f"{self.shown}: it has no tables to be read")
        return [replace(self, table=table.shown) for table in tables]

    @cached_property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """The names of its columns."""
        with self._opened() as database:
            return database.names(self._sql(database))

    def types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns; some databases look at all their cells for that."""
        if self._types is None or self._types[0] != tuple(columns):
            with self._opened() as database:
                self._types = (tuple(columns), database.schema(self._sql(database), columns))
        return self._types[1]

    def count(self) -> int:
        """Return the number of rows."""
        with self._opened() as database:
            query = selecting(["count(*)"], self._sql(database))
            return int(database.ask(query)[0][0])

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
        with self._opened() as database:
            for batch in database.batches(self._sql(database), types):
                n_batches += 1
                yield batch
        if not n_batches:
            yield types.to_frame()


def database_reader(
    database: object, query: str | None = None, *, table: str | None = None
) -> DatabaseReader:
    """Return a reader of a database: an address, the path of its file, or a connection."""
    if isinstance(database, str | os.PathLike):
        text = os.fspath(database)
        address = address_of(text) if is_address(text) else database_file(text)
        if address is None and not Path(text).exists():
            raise UnreadableDatabase(f"{text}: there is no such file; check the path")
        if address is None:
            raise ParameterError(f"{text}: a table or a query needs a database, and this is none")
        if None not in (address.part or address.query, table or query):
            raise ParameterError(
                f"{address.shown}: a table or query stands in the address and beside it; give one"
            )
        own = replace(address, part=None, query=None)
        return DatabaseReader(own, table or address.part, query or address.query)
    if not hasattr(database, "cursor") and not hasattr(database, "dialect"):
        raise ParameterError(
            f"a {type(database).__name__} is no database; give an address such as "
            "postgresql://user@host/database, a connection, or an engine of SQLAlchemy"
        )
    return DatabaseReader(database, table, query)
