"""Databases in and out: the same promises for PostgreSQL, SQLite and DuckDB, on real ones."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import os
import shlex
import sqlite3
import subprocess
import sys
from decimal import Decimal
from functools import partial
from pathlib import Path
from urllib.parse import quote

import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import duckdb
import polars as pl
import psycopg
import pytest
import sqlalchemy
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import veracity
from claims import files_of_at_most
from postgres import PASSWORD, folder_of_programs, running_server
from veracity.cli import main
from veracity.errors import (
    BadValue,
    InputError,
    NoClaims,
    OutputError,
    ParameterError,
    UnreadableDatabase,
)
from veracity.extras import how_to_get
from veracity.io.addresses import address_of
from veracity.io.databases import database_reader

ODD = 'Ödd "table"; drop table claims; --'
TABLES = ("truths", "facts", "sources")


class Database:
    """A database to test on: its address, and a way to it that is not ours."""

    def __init__(self, system: str, address: str, connect: object) -> None:
        self.system, self.address, self.connect = system, address, connect

    def run(self, *statements: str) -> list[tuple]:
        """Run statements, each for itself; the rows of the last."""
        with contextlib.closing(self.connect()) as connection:
            for statement in statements:
                found = connection.execute(statement)
            rows = found.fetchall() if found.description else []
            connection.commit()
            return rows

    def fill(self, rows: pl.DataFrame, table: str = "claims") -> str:
        """Make a table of texts; the address of it."""
        columns = ", ".join(f"{quoted(name)} text" for name in rows.columns)
        mark = "%s" if self.system == "postgresql" else "?"
        places = ", ".join([mark] * rows.width)
        with contextlib.closing(self.connect()) as connection:
            connection.execute(f"create table {quoted(table)} ({columns})")
            cursor = connection.cursor()
            cursor.executemany(f"insert into {quoted(table)} values ({places})", rows.rows())
            connection.commit()
        return f"{self.address}#{quote(table)}"

    def read(self, table: str, order: str = "1, 2, 3") -> pl.DataFrame:
        with contextlib.closing(self.connect()) as connection:
            found = connection.execute(f"select * from {table} order by {order}")
            names = [column[0] for column in found.description]
            return pl.DataFrame(found.fetchall(), schema=names, orient="row")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server; where none can be had the tests are skipped, but never in CI."""
    programs = folder_of_programs()
    if programs is None and "CI" not in os.environ:
        pytest.skip("no PostgreSQL: 'make postgres' installs Debian's postgresql")
    assert programs is not None
    with running_server(programs) as address:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"create role ana login password '{PASSWORD}'")
        yield address


@pytest.fixture
def postgres(server, tmp_path):
    """An empty database on the server."""
    name = f"test_{abs(hash(tmp_path))}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    address = server.removesuffix("/postgres") + f"/{name}"
    yield Database("postgresql", address, partial(psycopg.connect, address))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def sqlite_file(tmp_path):
    file = tmp_path / "claims.db"
    return Database("sqlite", f"sqlite:///{file}", partial(sqlite3.connect, file))


@pytest.fixture
def duckdb_file(tmp_path):
    file = tmp_path / "claims.duckdb"
    return Database("duckdb", f"duckdb:///{file}", partial(duckdb.connect, str(file)))


@pytest.fixture(params=["postgres", "sqlite_file", "duckdb_file"])
def database(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["postgres", "duckdb_file"])
def database_with_schemas(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def claims(flights):
    return flights.claims.head(400)


@pytest.fixture(scope="module")
def result(claims):
    return veracity.discover(claims)


def veracity_command(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


# --- reading -------------------------------------------------------------------------------------


def test_a_table_answers_as_its_rows_do(database, claims, result):
    found = veracity.discover(database.fill(claims))
    assert_frame_equal(found.truths, result.truths)
    assert_frame_equal(found.sources, result.sources)
    assert found.run.input.origin == f"{database.address}, table claims"


def test_a_query_answers_as_its_rows_do(database, claims):
    database.fill(claims)
    query = (
        "with heard as (select * from claims where source <> 'orbitz')\n"
        "select source as site, entity, attribute, value from heard -- all of them"
    )
    found = veracity.discover(veracity.read_database(database.address, query))
    some = claims.filter(pl.col("source") != "orbitz")
    assert_frame_equal(found.truths, veracity.discover(some).truths)
    assert "column 'site' is taken as the source" in found.notes


def test_names_may_be_odd(database, two_against_one):
    claims = two_against_one.rename({"source": 'Web "Site"', "value": "Wert; ü"})
    database.fill(claims, ODD)
    database.fill(two_against_one)
    columns = {"source": 'Web "Site"', "value": "Wert; ü"}
    stream = veracity.read_database(database.address, table=ODD, columns=columns)
    assert stream.collect().rows() == two_against_one.rows()
    assert database.run("select count(*) from claims") == [(3,)]


@pytest.mark.parametrize(
    "name", ["claims; drop table claims", 'claims" union select * from "claims', "claims'--", "\0"]
)
def test_the_name_of_a_table_is_never_run(database, two_against_one, name):
    database.fill(two_against_one)
    with pytest.raises(UnreadableDatabase, match="there is no table"):
        veracity.read_database(database.address, table=name)
    assert database.run("select count(*) from claims") == [(3,)]


def test_a_table_of_another_schema_is_read(database_with_schemas, two_against_one):
    database = database_with_schemas
    database.fill(two_against_one)
    database.run(
        'create schema "My schema"', 'create table "My schema".said as select * from claims'
    )
    assert veracity.read_database(database.address, table="My schema.said").n_rows == 3
    with pytest.raises(UnreadableDatabase, match=r"did you mean 'My schema\.said'"):
        veracity.read_database(database.address, table="said")


def test_a_column_of_nothing_at_first_is_read_all_the_same(database, two_against_one, monkeypatch):
    monkeypatch.setattr("veracity.io.databases.ROWS_PER_FETCH", 2)
    database.fill(two_against_one)
    database.run(
        "create table late as select source, entity, cast(null as text) as value from claims"
    )
    database.run("insert into late select * from claims")
    rows = two_against_one.rows()
    assert veracity.read_database(database.address, "late").collect().rows() == rows
    with contextlib.closing(database.connect()) as connection:
        assert veracity.read_database(connection, "late").collect().rows() == rows


def test_an_empty_table_has_no_claims(database):
    database.run("create table claims (source text, entity text, value text)")
    with pytest.raises(NoClaims, match=r"table claims: no claims in it \(it has no rows\)"):
        veracity.discover(f"{database.address}#claims")


VALUES = {
    "bigint": ("9007199254740993", 9007199254740993),
    "double precision": ("1.5", 1.5),
    "numeric(20, 2)": ("123456789012345678.25", Decimal("123456789012345678.25")),
    "boolean": ("true", True),
    "date": ("date '2024-05-01'", datetime.date(2024, 5, 1)),
    "time": ("time '12:30:00'", datetime.time(12, 30)),
    "timestamp": ("timestamp '2024-05-01 12:30:00'", datetime.datetime(2024, 5, 1, 12, 30)),
    "text": ("'it''s'", "it's"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_keep_their_types_on_the_way_in_and_out(database_with_schemas, kind):
    database, (literal, expected) = database_with_schemas, VALUES[kind]
    database.run(
        f"create table claims (source text, entity int, value {kind}, other int[])",
        f"insert into claims values ('a', 1, {literal}, null), ('b', 1, {literal}, null)",
    )
    found = veracity.discover(f"{database.address}#claims")
    assert found.truths["value"].to_list() == [expected]
    assert found.truths["entity"].dtype == pl.Int32
    found.write_database(database.address)
    assert database.run("select value from truths") == [(expected,)]


def test_numbers_with_any_number_of_digits_are_one_where_they_are_equal(postgres):
    postgres.run(
        "create table claims (source text, entity text, value numeric)",
        "insert into claims values ('a', 'x', 1.50), ('b', 'x', 1.5), ('c', 'x', 1.125), "
        "('d', 'x', 'NaN')",
    )
    found = veracity.discover(f"{postgres.address}#claims")
    assert found.facts["value"].to_list() == [Decimal("1.125"), Decimal("1.500")]


@pytest.mark.parametrize("number", ["1e300", "1e30 + 1e-10"])
def test_numbers_of_too_many_digits_are_refused_with_their_column(postgres, number):
    postgres.run(
        "create table claims (source text, entity text, value numeric)",
        f"insert into claims values ('a', 'x', 1.50), ('b', 'x', {number})",
    )
    with pytest.raises(UnreadableDatabase, match="cast the column to another type in a query"):
        veracity.discover(veracity.read_database(postgres.address, "claims"))
    cast = "select source, entity, value::double precision as value from claims"
    assert len(veracity.read_database(postgres.address, query=cast).collect()) == 2
    with contextlib.closing(postgres.connect()) as connection:  # its driver gives Python's own
        found = veracity.read_database(connection, "claims").collect()["value"]
    assert found.dtype == pl.String
    assert found[0] == "1.50"


def test_each_value_of_a_list_is_a_claim(database_with_schemas):
    database = database_with_schemas
    database.run(
        "create table claims (source text, entity text, value int[])",
        "insert into claims values ('a', 'x', array[1, 2]), ('b', 'x', array[2])",
    )
    found = veracity.read_database(f"{database.address}#claims", kind="multiple")
    assert sorted(found.collect()["value"]) == [1, 2, 2]
    assert "column 'value' holds lists: each value in one is a claim" in found.notes


def test_truths_and_priors_are_read_from_a_database(database, flights, claims, tmp_path):
    database.fill(claims)
    truths = database.fill(flights.truth, "truths")
    prior = database.fill(pl.DataFrame({"source": ["orbitz"], "tpr": ["0.5"], "fpr": ["0.5"]}), "p")
    run = veracity_command(
        "discover", f"{database.address}#claims", "--known", truths, "--prior", prior,
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    evaluated = veracity_command("evaluate", tmp_path / "run", truths, "--json")
    assert '"accuracy": 1.0' in evaluated.output


def test_other_commands_read_databases_too(database, claims, tmp_path):
    database.fill(claims)
    at = (f"{database.address}#select * from claims; ",)
    assert veracity_command("discover", *at, "--out", tmp_path / "run").exit_code == 0
    run = tmp_path / "run"
    for command in (
        ("profile", *at),
        ("check", *at),
        ("compare", *at, "--algorithms", "mle"),
        ("judge", run, *at),
        ("update", run, *at),
    ):
        told = veracity_command(*command)
        assert told.exit_code == 0, told.output


# --- connections ---------------------------------------------------------------------------------


@contextlib.contextmanager
def engine_at(address):
    engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    yield engine
    engine.dispose()


@contextlib.contextmanager
def connection_of_engine(address):
    with engine_at(address) as engine, engine.connect() as connection:
        yield connection


WAYS = {
    "adbc": adbc_driver_postgresql.dbapi.connect,
    "psycopg": lambda address: contextlib.closing(psycopg.connect(address)),
    "psycopg, autocommit": lambda a: contextlib.closing(psycopg.connect(a, autocommit=True)),
    "engine": engine_at,
    "connection of an engine": connection_of_engine,
}


QUERY = "select * from claims where value like '%' and '12:30'::text <> ':x'"


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_postgresql_is_taken(postgres, claims, result, way, monkeypatch):
    monkeypatch.setattr("veracity.io.databases.ROWS_PER_FETCH", 100)
    postgres.fill(claims)
    with WAYS[way](postgres.address) as connection:
        for asked in ("claims", "public.claims", QUERY):
            found = veracity.discover(veracity.read_database(connection, asked))
            assert_frame_equal(found.truths, result.truths)


@pytest.mark.parametrize("way", ["dbapi", "adbc", "engine", "duckdb"])
def test_connections_to_other_databases_are_taken_and_stay_open(sqlite_file, claims, result, way):
    sqlite_file.fill(claims)
    path = sqlite_file.address.removeprefix("sqlite:///")
    ways = {
        "dbapi": lambda: contextlib.closing(sqlite3.connect(path)),
        "adbc": lambda: adbc_driver_sqlite.dbapi.connect(path),
        "engine": lambda: engine_at(sqlite_file.address),
        "duckdb": duckdb.connect,
    }
    with ways[way]() as connection:
        if way == "duckdb":
            connection.register("claims", claims)
        for _ in range(2):
            asked = "select * from claims" if way == "duckdb" else "claims"
            found = veracity.discover(veracity.read_database(connection, asked))
            assert_frame_equal(found.truths, result.truths)


def test_a_file_that_is_open_here_is_told_with_what_to_do(duckdb_file, two_against_one):
    address = duckdb_file.fill(two_against_one)
    with (
        contextlib.closing(duckdb_file.connect()),
        pytest.raises(UnreadableDatabase, match="pass the open connection to"),
    ):
        veracity.discover(address)


def test_what_has_no_type_of_its_own_becomes_text(postgres):
    row = ("a", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "08:00:2b:01:02:03")
    postgres.run(
        "create table claims (source text, entity uuid, value macaddr)",
        f"insert into claims values {row}",
    )
    assert veracity.read_database(postgres.address, "claims").collect().rows() == [row]
    with psycopg.connect(postgres.address) as connection:
        assert veracity.read_database(connection, "claims").collect().rows() == [row]


def test_text_that_is_none_gets_one_sentence(sqlite_file):
    sqlite_file.run(
        "create table claims (source text, entity text, value text)",
        "insert into claims values ('a', 'x', cast(x'ff' as text))",
    )
    with pytest.raises(UnreadableDatabase, match="cast the column to another type in a query"):
        veracity.discover(f"{sqlite_file.address}#claims")


class OfAnotherDatabase:
    """A DB-API connection of a driver that nobody here has heard of."""

    def __init__(self, connection) -> None:
        self.connection, self.asked = connection, []

    def cursor(self):
        cursor, asked = self.connection.cursor(), self.asked

        class Cursor:
            description = property(lambda self: cursor.description)
            fetchmany, fetchall, close = cursor.fetchmany, cursor.fetchall, cursor.close

            def execute(self, sql: str) -> None:
                asked.append(sql)
                cursor.execute(sql)

        return Cursor()


def test_no_name_is_quoted_where_that_could_make_it_a_text(sqlite_file, claims, result):
    sqlite_file.fill(claims)
    with contextlib.closing(sqlite_file.connect()) as connection:
        other = OfAnotherDatabase(connection)
        query = "select value, 1 as one, entity, attribute, source from claims"
        found = veracity.discover(veracity.read_database(other, query))
    assert_frame_equal(found.truths, result.truths)
    assert not any('"' in sql for sql in other.asked)


def test_a_column_may_not_change_its_type_on_the_way(postgres, monkeypatch):
    monkeypatch.setattr("veracity.io.databases.ROWS_PER_FETCH", 1)
    postgres.run(
        "create table claims (source text, entity text, value numeric)",
        "insert into claims values ('a', 'x', 1.5), ('b', 'x', 1.25)",
    )
    with psycopg.connect(postgres.address) as connection:
        stream = veracity.read_database(connection, "claims")
        with pytest.raises(BadValue, match=r"column 'value' holds Decimal.*; cast it to one type"):
            stream.collect()


def test_what_is_no_database_is_refused():
    with pytest.raises(ParameterError, match="a dict is no database; give an address"):
        veracity.read_database({}, "claims")


def test_a_connection_alone_does_not_say_which_claims():
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(InputError, match=r"choose the claims with veracity.read_database"),
    ):
        veracity.discover(connection)


# --- what can go wrong while reading -------------------------------------------------------------


def test_a_table_that_is_not_there_is_told_with_those_that_are(database, two_against_one):
    database.fill(two_against_one)
    with pytest.raises(UnreadableDatabase, match="no table 'Claim'; did you mean 'claims'"):
        veracity.discover(f"{database.address}#Claim")
    with pytest.raises(UnreadableDatabase, match="no table 'weather'; there is 'claims'"):
        veracity.discover(f"{database.address}#weather")


@pytest.mark.parametrize("name", ["sqlite_file", "duckdb_file"])
def test_the_file_of_a_database_is_recognised(name, request, two_against_one, tmp_path):
    database = request.getfixturevalue(name)
    database.fill(two_against_one)
    file = Path(database.address.partition(":///")[2])
    file = file.rename(tmp_path / "claims.csv")  # whatever its name says
    with pytest.raises(
        InputError, match=r"this is a database; name a table, as in .*#TABLE, .* 'claims'$"
    ):
        veracity.discover(file)
    assert veracity_command("discover", f"{database.system}:///{file}#claims").exit_code == 0


def test_a_table_is_asked_of_databases_only(tmp_path, two_against_one):
    two_against_one.write_csv(tmp_path / "claims.csv")
    with pytest.raises(ParameterError, match="needs a database"):
        veracity.read_database(tmp_path / "claims.csv", table="claims")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select nobody from claims", "check the address and the query"),
        ("select * from nowhere", "check the address and the query"),
        ("select * form claims", "check the address and the query"),
    ],
)
def test_a_wrong_query_gets_one_sentence(database, two_against_one, query, words):
    database.fill(two_against_one)
    run = veracity_command("discover", f"{database.address}#{query}")
    assert run.exit_code == 1
    assert run.output.startswith(f"error: {database.address}: ")
    assert run.output.endswith(f"; {words}\n")
    assert run.output.count("\n") == 1


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_that_is_missing_or_no_database_gets_one_sentence(scheme, tmp_path):
    with pytest.raises(UnreadableDatabase, match="there is no such file; check the path"):
        veracity.discover(f"{scheme}:///{tmp_path}/none.db#claims")
    (tmp_path / "text.db").write_text("no database " * 1000)
    with pytest.raises(UnreadableDatabase, match="; check the file"):
        veracity.discover(f"{scheme}:///{tmp_path}/text.db#claims")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://ana:hidden@host/db", "mysql://...: addresses begin with postgresql://"),
        ("sqlite://claims.db", "this names no file; write sqlite:///claims.db"),
        ("sqlite:///", "this names no file"),
    ],
)
def test_an_address_that_cannot_be_opened_gets_one_sentence(address, words):
    run = veracity_command("discover", address)
    assert run.exit_code == 2
    assert words in run.output
    assert "hidden" not in run.output


def test_a_missing_driver_is_told_with_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "claims.duckdb").write_text("")
    for address in ("postgresql://host/db", f"duckdb:///{tmp_path}/claims.duckdb"):
        scheme = address.partition(":")[0]
        for arguments in (
            ("discover", f"{address}#claims"),
            ("discover", "no.csv", "--out", address),
        ):
            run = veracity_command(*arguments)
            assert run.exit_code == 1
            assert how_to_get(scheme) in run.output


def kill_others(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where pid <> pg_backend_pid() and datname = current_database()"
        )


def test_a_connection_that_breaks_while_reading_gets_one_sentence(postgres, monkeypatch):
    monkeypatch.setattr("veracity.io.databases.BYTES_PER_BATCH", 1 << 12)
    postgres.run(
        "create table claims as select 's' || i as source, 'e' || i % 99 as entity, i as value "
        "from generate_series(1, 200000) i"
    )
    batches = veracity.read_database(postgres.address, "claims").batches()
    next(batches)
    kill_others(postgres.address)
    with pytest.raises(UnreadableDatabase, match="the connection broke: try again") as error:
        list(batches)
    assert str(error.value).count("\n") == 0


# --- passwords -----------------------------------------------------------------------------------


def with_password(address: str, user: str = "ana", password: str = PASSWORD) -> str:
    return address.replace("owner@", f"{user}:{quote(password, safe='')}@")


def spellings(password: str) -> set[str]:
    return {password, quote(password, safe=""), quote(password)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"password": "wr0ng%secret"}, "check user and password; PGPASSWORD and ~/.pgpass"),
        ({"user": "nobody_here"}, 'role "nobody_here" does not exist'),
        ({"host": "no.such.host.invalid"}, "check host and port, and whether the server runs"),
        ({"port": "1"}, "check host and port, and whether the server runs"),
        ({"database": "no_such_db"}, 'database "no_such_db" does not exist'),
    ],
    ids=lambda change: next(iter(change)) if isinstance(change, dict) else "",
)
def test_a_server_out_of_reach_gets_one_sentence_without_the_password(postgres, change, words):
    password = change.get("password", PASSWORD)
    address = with_password(postgres.address, change.get("user", "ana"), password)
    head, _, name = address.rpartition("/")
    host, _, port = head.rpartition("@")[2].partition(":")
    head = f"{head.rpartition('@')[0]}@{change.get('host', host)}:{change.get('port', port)}"
    address = f"{head}/{change.get('database', name)}"
    reading, writing = (f"{address}#claims",), ("none.csv", "--out", address)
    for arguments in (("discover", *reading), ("discover", *writing)):
        run = veracity_command(*arguments)
        assert run.exit_code == 1
        assert words in run.output
        assert run.output.count("\n") == 1
        assert not any(spelling in run.output for spelling in spellings(password))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana:hidden%zz@host/db",
        "postgresql://ana:hidden",
        "postgresql://ana:hidden/db",
        "postgresql://host:x/db?password=hidden&sslpassword=hidden",
        "postgresql://host/db?password=hidden&nonsense=1",
        "postgres://ana:hid:den@h#idden@127.0.0.1:1/db",
        "postgresql+psycopg://ana:hidden@127.0.0.1:1/db",
    ],
)
def test_a_malformed_address_does_not_show_its_password(address):
    run = veracity_command("discover", f"{address}#claims")
    assert run.exit_code == 1
    assert "hid" not in run.output
    assert "den" not in run.output
    assert "hidden" not in repr(address_of(address)) + repr(database_reader(address, "select 1"))


def test_no_password_is_kept_with_a_run(postgres, claims, tmp_path):
    postgres.fill(claims)
    postgres.run("grant all on claims to ana", "create schema out authorization ana")
    address = with_password(postgres.address)
    run = veracity_command(
        "discover", f"{address}#claims", "--out", f"{address}#out", "--json",
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    run = veracity_command("discover", f"{address}#claims", "--out", tmp_path / "run", "--json")
    assert run.exit_code == 0, run.output
    veracity_command("report", tmp_path / "run", "--out", tmp_path / "report.html")
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    notes = repr(postgres.run("select * from out.notes"))
    for spelling in spellings(PASSWORD):
        assert spelling not in run.output + notes
        assert not any(spelling.encode() in content for content in written)
    assert f"postgresql://ana@{address.rpartition('@')[2]}, table claims" in notes


def test_the_password_may_come_from_the_environment(postgres, claims, monkeypatch, tmp_path):
    postgres.fill(claims)
    postgres.run("grant all on claims to ana")
    address = postgres.address.replace("owner@", "ana@") + "#claims"
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert veracity.discover(address).run.input.rows == len(claims)
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:ana:{PASSWORD}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert veracity.discover(address).run.input.rows == len(claims)


def test_each_table_may_be_a_source(database, tmp_path):
    for site, gate in (("orbitz", "C5"), ("tower", "D30"), ("radar", "D30")):
        rows = ", ".join(f"('AA-{number}', '{gate}', '7:0{number}')" for number in range(5))
        database.run(
            f"create table {site} (flight text, gate text, departs text)",
            f"insert into {site} values {rows}",
        )
    addresses = [f"{database.address}#{site}" for site in ("orbitz", "tower", "radar")]
    result = veracity.discover(addresses, source_from="table")
    assert result.sources["source"].to_list() == ["orbitz", "radar", "tower"]
    assert set(result.truths.filter(attribute="gate")["value"]) == {"D30"}
    assert "each table is a source: 'orbitz', 'tower', 'radar'" in result.notes
    told = CliRunner().invoke(main, ["discover", *addresses, "--source-from", "table"])
    assert told.exit_code == 0, told.output
    assert "30 claims of 3 sources about 10 items" in told.output
    query = database_reader(database.address, "select * from orbitz")
    with pytest.raises(ParameterError, match="is for tables that are named"):
        veracity.discover(query, source_from="table")
    (tmp_path / "a.csv").write_text("entity,value\nx,1\n")
    with pytest.raises(ParameterError, match="files have 'filename'"):
        veracity.discover(tmp_path / "a.csv", source_from="table")


# --- writing -------------------------------------------------------------------------------------


def test_tables_that_memory_does_not_hold_are_written_piece_by_piece(database, claims, monkeypatch):
    spilled = veracity.discover(claims, engine=veracity.Local(memory="1KB"))
    expected = {name: len(spilled.table(name, lazy=True).collect()) for name in TABLES}

    def collect(table):
        raise AssertionError(f"all of {table.name} at once")

    monkeypatch.setattr("veracity.io.lazy.LazyTable.collect", collect)
    spilled.write_database(database.address)
    for name, n_rows in expected.items():
        assert database.run(f"select count(*) from {name}") == [(n_rows,)]


def test_tables_come_back_as_they_were_written(database, result):
    assert result.write_database(database.address) == database.address
    for name in TABLES:
        expected = getattr(result, name)
        found = database.read(name, order=", ".join(map(str, range(1, expected.width + 1))))
        booleans = [name for name, dtype in expected.schema.items() if dtype == pl.Boolean]
        found = found.with_columns(pl.col(booleans).cast(pl.Boolean))  # SQLite has 0 and 1
        assert_frame_equal(found, expected.sort(expected.columns), check_dtypes=False)
    notes = dict(database.run("select about, note from notes"))
    assert notes["algorithm"] == "veracity"
    assert notes["claims"] == "400"


def test_records_stand_beside_the_other_tables(database, claims, tmp_path):
    claims = claims.rename({"entity": "flight"})
    result = veracity.discover(claims, columns={"entity": "flight"})
    result.write_database(database.address, records=True)
    expected = result.records()
    assert_frame_equal(database.read("records", order="1"), expected.sort("flight"))


def test_records_of_lists_and_of_names_that_differ_in_case_can_be_kept(database):
    rows = [(s, "x", name, value) for s in "abc" for name in ("Hue", "hue") for value in "12"]
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    result = veracity.discover(claims, "majority-vote", kind="multiple")
    result.write_database(database.address, records=True)
    assert database.run("select * from records") == [("x", "1 | 2", "1 | 2")]


def test_no_table_of_an_earlier_run_stays_beside_new_ones(database, result, two_against_one):
    result.write_database(database.address, records=True)
    result.write_database(f"{database.address}#other", records=True)
    other = f"{'other_' if database.system == 'sqlite' else 'other.'}records"
    database.run("drop table notes", "create table notes (mine text)")
    veracity.discover(two_against_one, "majority-vote").write_database(database.address, force=True)
    for name in ("records", "attributes"):
        with pytest.raises(UnreadableDatabase, match=f"no table '{name}'"):
            veracity.read_database(database.address, name)
    assert database.run("select count(*) from provenance") == [(3,)]
    assert database.run(f"select count(*) from {other}")[0][0] > 0
    database.run("create table records (mine text)")
    result.write_database(database.address)
    assert database.run("select count(*) from records") == [(0,)]


def test_tables_go_to_a_schema_or_have_a_prefix(database, result):
    name = 'My "results"'
    result.write_database(database.address, name)
    result.write_database(f"{database.address}#{quote(name)}")
    between = "_" if database.system == "sqlite" else '"."'
    table = quoted(name)[:-1] + between + 'truths"'
    assert database.run(f"select count(*) from {table}") == [(len(result.truths),)]


def test_tables_of_others_stay_unless_forced(database, result, two_against_one):
    database.fill(two_against_one, "sources")
    with pytest.raises(OutputError, match="veracity did not write the table 'sources'"):
        result.write_database(database.address)
    run = veracity_command("discover", "no.csv", "--out", database.address)
    assert "veracity did not write" in run.output  # before anything is read
    assert database.read("sources").rows() == two_against_one.rows()
    with pytest.raises(UnreadableDatabase, match="no table 'truths'"):
        veracity.read_database(database.address, "truths")
    result.write_database(database.address, force=True)
    assert database.run("select count(*) from sources") == [(len(result.sources),)]


def test_a_table_that_took_the_place_of_ours_is_not_ours(database, result):
    result.write_database(database.address)
    database.run("drop table truths", "create table truths (mine text)")
    with pytest.raises(OutputError, match="veracity did not write the table 'truths'"):
        result.write_database(database.address)


@pytest.mark.parametrize("system", ["sqlite", "duckdb"])
@pytest.mark.parametrize("most", [10, 5_000, 13_000, 20_000])
def test_a_database_that_does_not_fit_on_the_disk_is_whole_or_gone(tmp_path, result, system, most):
    address = f"{system}:///{tmp_path}/new.db"
    try:
        with files_of_at_most(most):
            result.write_database(address)
    except OutputError:
        assert list(tmp_path.iterdir()) == []
    else:  # DuckDB may have it in a second file that is small enough
        with duckdb.connect(tmp_path / "new.db") as found:
            assert found.sql("select count(*) from facts").fetchall() == [(len(result.facts),)]


def test_a_view_stays(database, result, two_against_one):
    database.fill(two_against_one)
    database.run("create view facts as select * from claims")
    with pytest.raises(
        OutputError, match="'facts' is a view and is not replaced; choose another schema"
    ):
        result.write_database(database.address, force=True)


def test_what_depends_on_a_table_keeps_it(postgres, result):
    result.write_database(postgres.address)
    postgres.run("create view sure as select * from truths where plausibility > 0.9")
    with pytest.raises(OutputError, match="nothing was written; drop what depends on it first"):
        result.write_database(postgres.address)
    assert postgres.run("select count(*) from notes") != [(0,)]


class Broken(Exception):
    """Something that goes wrong in the middle."""


def breaks_at(done: int, phase: str, n_written: int, n_rows: int) -> None:
    if n_written >= done:
        raise Broken


def test_what_breaks_in_the_middle_leaves_what_was_there(database, result, two_against_one):
    veracity.discover(two_against_one).write_database(database.address)
    before = {name: database.read(name, "1") for name in (*TABLES, "notes")}
    at_the_end = len(result.truths) + len(result.facts) + len(result.sources)
    for done in (1, at_the_end):
        with pytest.raises(Broken):
            result.write_database(database.address, progress=partial(breaks_at, done))
        for name, table in before.items():
            assert_frame_equal(database.read(name, "1"), table)


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_that_was_made_for_nothing_is_gone(scheme, result, tmp_path):
    with pytest.raises(Broken):
        result.write_database(f"{scheme}:///{tmp_path}/new.db", progress=partial(breaks_at, 1))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="there is no folder"):
        result.write_database(f"{scheme}:///{tmp_path}/none/new.db")


def test_a_connection_that_breaks_while_writing_leaves_nothing(postgres, result, monkeypatch):
    monkeypatch.setattr("veracity.io.database_tables.ROWS_PER_INSERT", 50)

    def kill(phase: str, n_written: int, n_rows: int) -> None:
        if n_written == 100:
            kill_others(postgres.address)

    with pytest.raises(OutputError, match="nothing was written; the connection broke: try again"):
        result.write_database(postgres.address, "fresh", progress=kill)
    assert postgres.run("select nspname from pg_namespace where nspname = 'fresh'") == []


def test_a_connection_that_breaks_at_the_very_end_says_where_to_look(postgres, result, monkeypatch):
    target = importlib.import_module("veracity.io.database_tables").PostgresTarget

    def commit(self) -> None:
        kill_others(postgres.address)
        self.connection.commit()

    monkeypatch.setattr(target, "commit", commit)
    with pytest.raises(OutputError, match=r"check if the table notes has run [0-9a-f]+"):
        result.write_database(postgres.address)


def test_a_target_that_is_no_database_is_refused(result, tmp_path):
    with pytest.raises(ParameterError, match="tables can be written to a database only"):
        result.write_database(str(tmp_path / "out"))


def test_who_may_not_write_is_told_before_anything_is_read(postgres, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = postgres.address.replace("owner@", "ana@")
    for to in (f"{address}#fresh", address):
        run = veracity_command("discover", "no.csv", "--out", to)
        assert run.exit_code == 1
        assert "permission denied" in run.output
        assert "ask the owner for the right to" in run.output


def test_the_commands_of_the_page_work(postgres, claims):
    page = (Path(__file__).parents[1] / "docs" / "databases.md").read_text(encoding="utf-8")
    commands = page.partition("```sh\n")[2].partition("```")[0]
    _, discover, look = commands.replace(
        "postgresql://ana@db.example/shop", postgres.address
    ).splitlines()
    postgres.fill(claims)
    run = veracity_command(*shlex.split(discover)[1:])
    assert run.exit_code == 0, run.output
    assert len(postgres.run(shlex.split(look)[-1])) == 10


def test_a_command_that_writes_to_duckdb_says_nothing_on_standard_error(tmp_path):
    claims, target = tmp_path / "claims.csv", tmp_path / "claims.duckdb"
    claims.write_text("source,entity,value\na,x,1\nb,x,1\nc,x,2\n", encoding="utf-8")
    command = [sys.executable, "-m", "veracity", "discover", claims, "--out", f"duckdb:///{target}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


TYPES_OF_NAMES = (
    pl.Datetime("us", "Europe/Berlin"), pl.Datetime("ns"), pl.Date(), pl.Time(), pl.Duration("ms"),
    pl.Decimal(20, 3), pl.Categorical(), pl.Enum(["1", "2"]), pl.Binary(), pl.UInt8(), pl.Float32(),
)  # fmt: skip


@pytest.mark.parametrize("address", ["sqlite:///made.db", "duckdb:///made.duckdb"])
def test_names_of_any_type_are_written(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for dtype in TYPES_OF_NAMES:
        numbers = pl.Series([1, 2])
        is_text = isinstance(dtype, pl.Categorical | pl.Enum | pl.Binary)
        names = (numbers.cast(pl.String) if is_text else numbers).cast(dtype)
        claims = pl.DataFrame({"source": ["a", "b"], "entity": names, "value": ["x", "y"]})
        veracity.discover(claims, "majority-vote").write_database(address, force=True)
        connect = sqlite3.connect if "sqlite" in address else duckdb.connect
        with contextlib.closing(connect(address.partition(":///")[2])) as connection:
            assert connection.execute("select count(*) from truths").fetchall() == [(2,)], dtype


def test_a_file_of_another_database_lets_duckdb_load_nothing_from_the_network(tmp_path):
    file = tmp_path / "claims.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("create table claims (source, entity, value)")
        connection.commit()
    with pytest.raises(UnreadableDatabase) as caught:
        veracity.discover(f"duckdb:///{file}#claims")
    assert "http" not in str(caught.value)
