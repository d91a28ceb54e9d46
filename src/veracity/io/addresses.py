"""Addresses of databases, and files that are databases. No message shows a password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from veracity.errors import ParameterError

SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9.-]+)(?P<driver>\+\w+)?://")

SYSTEMS = {
    "postgresql": "PostgreSQL",
    "postgres": "PostgreSQL",
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
}
"""Database systems, by the scheme of their addresses."""

QUERY = re.compile(r"#\s*(?=(?:select|with)\s)", re.IGNORECASE)
"""Begins a query in an address, in the place of a table."""

ILL_PLACED = re.compile(r"[@/:?#]")
"""Characters at which servers split a password unless they are escaped, such as @ as %40."""

FILE_MARKS = {"SQLite": (0, b"SQLite format 3\0"), "DuckDB": (8, b"DUCK")}
"""Position and content of the mark that identifies the files of a database."""


@dataclass(frozen=True)
class Address:
    """Place and kind of a database, and a table or schema in it."""

    system: str
    location: str = field(repr=False)
    """URI for the server's own programs, with the password; or the path of a file."""
    shown: str
    """The address without its password and options."""
    part: str | None = None
    """Part after the ``#``: a table, or the place for the tables of a result."""
    query: str | None = None
    """Query after the ``#``, in the place of a table."""

    @property
    def secrets(self) -> set[str]:
        """Return all spellings of passwords: none may appear in a message."""
        if self.system != "PostgreSQL":
            return set()
        body, _, options = self.location.partition("://")[2].partition("?")
        user_info, at, host = body.rpartition("@")
        told = {value for name, value in parse_qsl(options) if "password" in name.lower()}
        told |= {user_info.partition(":")[2] if at else _false_port(host)}
        parts = {part for word in told for part in ILL_PLACED.split(word)}
        return (parts | told | set(map(unquote, told))) - {""}


def is_address(text: str) -> bool:
    """Return True if a text is the address of a database, or of something else that is no file.

    >>> is_address("postgresql://ana@db.example/shop"), is_address("claims.csv")
    (True, False)
    """
    return SCHEME.match(text) is not None


def is_database(path: str) -> bool:
    """Return True if a path is the address of a database that can be read, or the file of one.

    >>> is_database("postgresql://ana@db.example/shop"), is_database("s3://shop/claims.parquet")
    (True, False)
    """
    found = SCHEME.match(path)
    return database_file(path) is not None if found is None else found["scheme"].lower() in SYSTEMS


def address_of(text: str) -> Address:
    """Return the parts of an address.

    >>> address = address_of("postgres://ana:secret@db.example/shop?sslmode=require#claims")
    >>> address.shown, address.part
    ('postgresql://ana@db.example/shop', 'claims')
    >>> address_of("sqlite:///shop.db#select * from claims where source <> '#1'").query
    "select * from claims where source <> '#1'"
    """
    text, *queries = QUERY.split(text, maxsplit=1)
    query = queries[0] if queries else None
    found = SCHEME.match(text)
    rest, part = _without_part(text[found.end() if found else 0 :])
    scheme = found["scheme"].lower() if found else ""
    system = SYSTEMS.get(scheme)
    if system is None:
        raise ParameterError(
            f"{scheme}://...: addresses begin with postgresql://, sqlite:/// or duckdb:///; for "
            "other databases, pass a connection to veracity.read_database"
        )
    if system == "PostgreSQL":
        return Address(system, f"postgresql://{rest}", f"postgresql://{_hidden(rest)}", part, query)
    if not rest.startswith("/") or not rest[1:] or rest[1:] == ":memory:":
        raise ParameterError(
            f"{scheme}://{rest}: this names no file; write {scheme}:///claims.db for a file in "
            f"this folder, {scheme}:////data/claims.db for another"
        )
    return Address(system, rest[1:], f"{scheme}://{rest}", part, query)


def database_file(path: str | os.PathLike[str]) -> Address | None:
    """Return the address of a file that is a database, whatever its name; None if it is none."""
    file = Path(path)
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        system = _system_of(opened.read(16))
    return None if system is None else Address(system, str(file), f"{system.lower()}:///{file}")


def is_database_head(head: bytes) -> bool:
    """Return True for the first bytes of the file of a database."""
    return _system_of(head) is not None


def _system_of(head: bytes) -> str | None:
    marks = FILE_MARKS.items()
    found = (system for system, (at, mark) in marks if head[at : at + len(mark)] == mark)
    return next(found, None)


def _without_part(rest: str) -> tuple[str, str | None]:
    """Split at the last ``#`` that is not in a password."""
    head, mark, part = rest.rpartition("#")
    if not mark or "@" in part:
        return rest, None
    return head, unquote(part) or None


def _hidden(rest: str) -> str:
    """Return user, host and database of an address: no password, and none of the options."""
    body = rest.partition("?")[0]
    user_info, at, host = body.rpartition("@")
    if at:
        return f"{user_info.partition(':')[0]}@{host}"
    return host.partition(":")[0] if _false_port(host) else host


def _false_port(host: str) -> str:
    """Return a port that is not a number: it is probably a password, and the host is missing."""
    for each in host.partition("/")[0].split(","):
        port = each.rpartition("]")[2].partition(":")[2]
        if port and not port.isdigit():
            return port
    return ""
