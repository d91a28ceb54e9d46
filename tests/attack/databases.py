"""Strategies that draw databases as claims: odd cells, odd names of tables, damaged files."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from attack.case import Case
from attack.names import odd_texts

Draw = Callable[[st.SearchStrategy], Any]

cells = st.one_of(
    st.none(),
    st.sampled_from(("a", "b", "1", "2.5", "true")),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.binary(max_size=3),
    odd_texts.filter(lambda text: text.isascii() or text.isprintable()),
)
addresses = st.sampled_from(
    (
        "sqlite:///claims.db", "claims.db", "sqlite:///claims.db#", "sqlite:///claims.db#nobody",
        "sqlite:///claims.db#a#b", "sqlite:///none.db", "sqlite://", "sqlite:///.", "duckdb:///claims.db",
        "duckdb:///claims.csv", "postgresql:///", "nosql:///claims.db", "sqlite:///claims.db?mode=rw",
        "sqlite:///%00", "sqlite:///claims.db#%1b[31m",
    )
)  # fmt: skip
queries = st.sampled_from(
    (
        "select * from claims", "select 1", "select", "", ";", "drop table claims",
        "select * from claims; drop table claims", "select 1 as source, 2 as entity, 3 as value",
        "select source, source, value from claims", "pragma page_size", "\x1b[31m", "\x00",
        "select '\x1b[31m' as source, 'x' as entity, '<b>' as value", "vacuum", "begin",
    )
)  # fmt: skip


@st.composite
def databases(draw: Draw, damaged: Callable[[bytes], st.SearchStrategy[bytes]]) -> Case:
    """A file of SQLite through commands that read a database, and one that writes to it."""
    table = draw(st.one_of(st.just("claims"), odd_texts.filter(lambda text: text.strip("\0"))))
    rows = draw(st.lists(st.tuples(cells, cells, cells), max_size=8))
    content = _file(table.replace("\0", ""), rows)
    if draw(st.integers(0, 4)) == 0:
        content = draw(damaged(content))
    own = f"sqlite:///claims.db#{quote(table)}"
    address = draw(st.one_of(st.just(own), addresses))
    asked = f"sqlite:///claims.db#{draw(queries)}" if draw(st.integers(0, 3)) == 0 else address
    commands = (
        ("discover", asked, "--out", "run"),
        ("check", asked),
        ("profile", own, "--truth", address),
        ("discover", own, "--known", address, "--json"),
        ("discover", own, "--out", address, *draw(st.sampled_from(((), ("--force",))))),
        ("compare", address, "--algorithms", "majority-vote"),
    )
    return Case({"claims.db": content}, (draw(st.sampled_from(commands)),))


def _file(table: str, rows: list[tuple[Any, ...]]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        path = Path(folder, "claims.db")
        connection = sqlite3.connect(path)
        name = '"' + table.replace('"', '""') + '"'
        connection.execute(f"create table {name} (source, entity, value)")
        connection.executemany(f"insert into {name} values (?, ?, ?)", rows)
        connection.commit()
        connection.close()
        return path.read_bytes()
