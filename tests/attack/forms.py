"""Strategies that draw the forms of claims, and the tables beside them: JSON, workbooks, extras."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import polars as pl
from hypothesis import assume
from hypothesis import strategies as st

from attack.case import Case
from attack.names import numbers, odd_texts

Draw = Callable[[st.SearchStrategy], Any]
Command = tuple[str, ...]

names = st.one_of(st.sampled_from(("a", "b", "c", "x", "1", "2.5")), odd_texts)
anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), odd_texts,
        st.sampled_from((0, 1, -1, 10**400, 1e308, "veracity", "numeric", "binary", "")),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
amounts = st.one_of(
    st.sampled_from(("1", "2", "0.5", "0", "-1", "nan", "inf", "", "x", "1e308", "1e-320")), numbers
)


def _csv(header: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue().encode(errors="replace")


def _rows(*cells: st.SearchStrategy, most: int = 8) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.tuples(*cells).map(list), max_size=most)


EXTRAS = {
    "--known": ("entity", "attribute", "value", "fact", "claim", "source"),
    "--prior": ("source", "kind", "tpr", "fpr", "fixed"),
    "--source-features": ("source", "age", "country", "entity"),
    "--item-features": ("entity", "attribute", "size", "source"),
}
PARTS = ("time", "weight")


@st.composite
def extras(draw: Draw) -> Case:
    """Sound claims with odd columns of times and weights, and odd tables beside them."""
    few = st.sampled_from(("a", "b", "c"))
    claims = draw(_rows(few, st.sampled_from(("x", "y", "a")), names, amounts, most=10))
    files = {"claims.csv": _csv(["source", "entity", "value", "when"], claims)}
    given: list[str] = []
    if draw(st.booleans()):
        part = draw(st.sampled_from(PARTS))
        given += ["--columns", f"{part}=when"]
    if draw(st.integers(0, 3)) == 0:
        given.append("--samples")
    for option in draw(st.lists(st.sampled_from(sorted(EXTRAS)), max_size=2, unique=True)):
        header = draw(st.lists(st.sampled_from(EXTRAS[option]), min_size=1, max_size=4))
        cell = st.one_of(few, amounts, names, st.sampled_from(("accuracy", "true", "x", "tpr")))
        name = f"{option[2:]}.csv"
        files[name] = _csv(header, draw(_rows(*[cell] * len(header))))
        given += [option, name]
    kind = draw(st.sampled_from(("categorical", "categorical", "multiple", "numeric", "binary")))
    commands: list[Command] = [
        ("discover", "claims.csv", "--kind", kind, "--out", "run", *given),
        *draw(_onwards(["claims.csv", *files])),
    ]
    return Case(files, tuple(commands))


@st.composite
def _onwards(draw: Draw, tables: list[str]) -> list[Command]:
    """What is done with a run; the table may be of any kind."""
    table = draw(st.sampled_from(tables))
    suffix = draw(st.sampled_from(("csv", "tsv", "xlsx", "json", "jsonl", "parquet")))
    what = draw(st.sampled_from(("truths", "facts", "sources", "records")))
    commands: list[Command] = [
        ("update", "run", table, "--out", "updated"),
        ("judge", "run", table, "--out", f"judged.{suffix}"),
        ("export", "run", f"table.{suffix}", "--table", what),
        ("evaluate", "run", table, "--json"),
        ("diff", "run", "run"),
        ("diff", "run", "updated", "--json"),
        ("ask", "run", "--json"),
        ("explain", "run", "--json", "--", draw(names)),
        ("discover", "run", "--out", "again"),
        ("plot", "run", draw(st.sampled_from(("confusions", "agreement"))), "--out", "f.svg"),
    ]
    return draw(st.lists(st.sampled_from(commands), max_size=3, unique=True))


@st.composite
def forms(draw: Draw) -> Case:
    """Claims in forms other than text and Parquet, sound, odd or damaged."""
    name, content = draw(st.one_of(_json_files(), _tables_of_polars(), _wide_tables()))
    if draw(st.integers(0, 3)) == 0:
        # A workbook has the time it was made at, so how long it is depends on more than the draws.
        at = draw(st.integers(0, 999)) * len(content) // 1_000
        content = content[:at] + draw(st.binary(max_size=3)) + content[at + 1 :]
    wide = draw(
        st.sampled_from(
            ((), (), ("--wide", "attributes"), ("--wide", "sources"), ("--wide", "samples"))
        )
    )
    place = draw(
        st.sampled_from(((), (), ("--source-from", "filename"), ("--source-from", "sheet")))
    )
    normalise = draw(st.sampled_from(((), (), ("--normalise",))))
    kind = ("--kind", draw(st.sampled_from(("categorical", "multiple", "numeric", "binary"))))
    how = (*wide, *place, *normalise, *kind)
    commands = (
        (("discover", name, *how, "--out", "run"), *draw(_onwards([name]))),
        (("check", name, *how),),
        (("profile", name, *how, "--json"),),
        (("compare", name, *kind, "--algorithms", "majority-vote,accu"),),
        (("tune", name, *kind, "--truth", name, "--algorithm", "accu"),),
        (("discover", "claims.csv", "--known", name),),
    )
    sound = b"source,entity,value\na,x,1\nb,x,2\nc,x,1\n"
    return Case({name: content, "claims.csv": sound}, draw(st.sampled_from(commands)))


@st.composite
def _json_files(draw: Draw) -> tuple[str, bytes]:
    cell = st.one_of(names, st.none(), st.booleans(), st.integers(), st.floats(), anything)
    keys = st.sampled_from(("source", "entity", "value", "attribute", "", "\x1b[31m"))
    rows = draw(
        st.lists(
            st.one_of(
                st.fixed_dictionaries({"source": cell, "entity": cell, "value": cell}),
                st.dictionaries(keys, cell, max_size=4),
                anything,
            ),
            max_size=6,
        )
    )
    if draw(st.booleans()):
        return "claims.json", json.dumps(rows).encode()
    return "claims.jsonl", b"\n".join(json.dumps(row).encode() for row in rows)


@st.composite
def _tables_of_polars(draw: Draw) -> tuple[str, bytes]:
    size = draw(st.integers(0, 6))
    odd = (
        st.lists(names, min_size=size, max_size=size),
        st.lists(
            st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=size, max_size=size
        ),
        st.lists(st.one_of(st.none(), st.floats()), min_size=size, max_size=size),
        st.lists(st.one_of(st.none(), st.datetimes()), min_size=size, max_size=size),
        st.lists(st.one_of(st.none(), st.dates()), min_size=size, max_size=size),
        st.lists(st.one_of(st.none(), st.booleans()), min_size=size, max_size=size),
        st.lists(st.lists(st.integers(0, 9), max_size=2), min_size=size, max_size=size),
    )
    columns = draw(st.permutations(("source", "entity", "value", "attribute")))
    cells = {name: draw(st.one_of(*odd)) for name in columns[: draw(st.integers(0, 4))]}
    suffix = draw(st.sampled_from(("xlsx", "arrow", "ipc", "feather", "parquet")))
    try:
        content = _written(pl.DataFrame(cells), suffix)
    except Exception:  # not every cell can be of every form
        assume(False)
    return f"claims.{suffix}", content


def _written(table: pl.DataFrame, suffix: str) -> bytes:
    target = io.BytesIO()
    if suffix == "xlsx":
        table.write_excel(target)
    elif suffix == "parquet":
        table.write_parquet(target)
    else:
        table.write_ipc(target)
    return target.getvalue()


@st.composite
def _wide_tables(draw: Draw) -> tuple[str, bytes]:
    header = draw(st.lists(names, min_size=1, max_size=6))
    header = ["source", "entity", *header][draw(st.integers(0, 2)) :]
    cells = st.one_of(names, st.sampled_from(("1", "2", "")))
    return "claims.csv", _csv(header, draw(_rows(*[cells] * len(header))))
