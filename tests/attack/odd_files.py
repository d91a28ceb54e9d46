"""Claims as files of every form that is read: as other programs write them, odd, or damaged."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import xlsxwriter

Row = Mapping[str, Any]
Written = tuple[str, dict[str, bytes], list[str]]
"""What is read, the files, and the options that say how to read it."""


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as columns."""
    header = dict.fromkeys(name for row in rows for name in row)
    return {
        name: [row.get(name) for row in rows] for name in header or ("source", "entity", "value")
    }


def text_of(rows: Sequence[Row], **dialect: Any) -> str:
    """Rows as a text with separators."""
    text = io.StringIO()
    columns = columns_of(rows)
    writer = csv.writer(text, **dialect)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def plain(rows: Sequence[Row], name: str) -> bytes:
    """Rows as a file that nothing is wrong with, in the form that its name tells."""
    if name.endswith(".jsonl"):
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    if name.endswith(".parquet"):
        target = io.BytesIO()
        pl.DataFrame(columns_of(rows)).write_parquet(target)
        return target.getvalue()
    return text_of(rows).encode(errors="replace")


def written(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    """Claims in one of all the forms that are read."""
    if rng.random() < 0.35:
        name = rng.choice(("claims.csv", "claims.parquet", "claims.jsonl"))
        return name, {name: plain(rows, name)}, []
    form = rng.choice(
        (*(_csv,) * 5, *(_arrow,) * 5, *(_json,) * 2, _workbook, _sqlite, _duckdb, _folder)
    )
    return form(rng, rows, kind)


# --- text -----------------------------------------------------------------------------------------


def _csv(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    delimiter = rng.choice(",,,,\t;|")
    ends = rng.choice(("\n", "\n", "\r\n", "\r"))
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    text = text_of(rows, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    changes: tuple[Callable[[], str], ...] = (
        *(lambda: text,) * 8,
        lambda: f"sep={delimiter}{ends}{text}",
        lambda: f"# made by hand{ends}{text}",
        lambda: f"{ends}{ends}{text}{ends}{ends}",
        lambda: text.replace(ends, f"{delimiter}{ends}"),
        lambda: text.replace(ends, f"{delimiter}{delimiter}{ends}", 1),
        text.rstrip,
        lambda: text.replace("e1", "e\0"),
        lambda: text.replace("s1", 's"1'),
        lambda: text.replace("s1", '"s1'),
        lambda: text.replace("s1", '"s1""'),
        lambda: text.replace("v1", "\ufeffv1"),
        lambda: text.replace("v1", "v\u0085\u20281"),
        lambda: text.replace(ends, rng.choice(("\n", "\r\n", "\r")), 3),
        lambda: text.replace("entity", "Entity ").replace("source", "'SOURCE'"),
        lambda: text.partition(ends)[0] + f"{delimiter}c" * 50_000 + ends + text.partition(ends)[2],
        lambda: text.replace("v0", "v" * 200_000),
        lambda: text + f"s9{delimiter}e9{ends}",
        lambda: text + delimiter.join(["s9", "e9", "v9", "x", "y", "z", "w"]) + ends,
        lambda: text + text,
        lambda: text.replace(delimiter, f"{delimiter} "),
    )
    encoding = rng.choice(
        ("utf-8",) * 9 + ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift-jis")
    )
    content = rng.choice(changes)().encode(encoding, errors="replace")
    if rng.random() < 0.05:
        content = content.replace(b"s1", "s\u00e9".encode("latin-1"))
    how = ["--encoding", encoding] if encoding != "utf-8" and rng.random() < 0.7 else []
    name = (
        "claims.tsv"
        if delimiter == "\t"
        else rng.choice(("claims.csv", "claims.csv", "claims.txt"))
    )
    if rng.random() < 0.08:
        name, content = f"{name}.gz", gzip.compress(content, mtime=0)
    return name, {name: content}, how


def _json(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    numbers = [{name: _as_number(rng, cell) for name, cell in row.items()} for row in rows]
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in numbers]
    odd = (
        '{"source": "a", "source": "b", "entity": "x", "value": NaN}',
        '{"source": "a", "entity": "x", "value": Infinity}',
        '{"source": "\\ud800", "entity": "x", "value": "1"}',
        '{"source": "a", "entity": "x", "value": 1' + "0" * 400 + "}",
        '{"source": "a", "entity": "x", "value": [1, [2]]}',
        '{"source": "a", "entity": "x", "value": {"a": {"b": null}}}',
        '{"source": "a", "entity": "x", "value": ' + "[" * 3_000 + "]" * 3_000 + "}",
        '{"source": "a", "entity": "x", "value": "\\u0000"}',
        '{"source": null, "entity": true, "value": 1.5e-7}',
        '{"source": "a", "entity": "x"}', "{}", "null", "[]", "1", '"a"', "", "// no", "{,}",
    )  # fmt: skip
    if rng.random() < 0.5 and lines:
        lines.insert(rng.randrange(len(lines)), rng.choice(odd))
    if rng.random() < 0.5:
        text = (
            "["
            + rng.choice((",", ",\n", " , ")).join(lines)
            + rng.choice(("]", "]", "]", ",]", "", "]]"))
        )
        if rng.random() < 0.1:
            text = '{"rows": ' + text + "}"
        name = "claims.json"
    else:
        text, name = rng.choice(("\n", "\n", "\r\n", "\n\n", " ")).join(lines), "claims.jsonl"
    content = text.encode(
        rng.choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "latin-1")), "replace"
    )
    if rng.random() < 0.1:
        name, content = f"{name}.gz", gzip.compress(content, mtime=0)
    return name, {name: content}, []


def _as_number(rng: random.Random, cell: Any) -> Any:
    try:
        return float(cell) if rng.random() < 0.5 else cell
    except (TypeError, ValueError):
        return cell


# --- Arrow and Parquet ----------------------------------------------------------------------------

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
TYPES: dict[pa.DataType, Callable[[int], Any]] = {
    pa.int8(): lambda n: n % 100,
    pa.uint64(): lambda n: 2**64 - 1 - n,
    pa.int64(): lambda n: n - 2**63,
    pa.float16(): float,
    pa.float32(): lambda n: n / 3,
    pa.float64(): lambda n: (n, -0.0, float("nan"), float("inf"), 1e-320)[n % 5],
    pa.bool_(): lambda n: n % 2 == 0,
    pa.date32(): lambda n: date(1 + n * 200 % 9_998, 1, 1),
    pa.date64(): lambda n: date(1600 + n, 2, 28),
    pa.time32("s"): lambda n: time(n % 24, 0, 1),
    pa.time64("ns"): lambda n: time(n % 24, 0, 0, n),
    pa.timestamp("ns"): lambda n: datetime(1700 + n, 1, 1),
    pa.timestamp("us", "Europe/Berlin"): lambda n: EPOCH + timedelta(hours=n),
    pa.timestamp("us", "+14:00"): lambda n: EPOCH + timedelta(hours=n),
    pa.timestamp("ms", "Nowhere/At_all"): lambda n: n,
    pa.timestamp("s"): lambda n: (n, 2**40, -(2**40), 2**62)[n % 4],
    pa.duration("us"): timedelta,
    pa.month_day_nano_interval(): lambda n: (n, n, n),
    pa.decimal128(38, 37): lambda n: Decimal(n % 9) / 7,
    pa.decimal128(5, -2): lambda n: Decimal(n * 100),
    pa.decimal256(60, 3): lambda n: Decimal(10) ** 50 + n,
    pa.binary(): lambda n: bytes([255, n % 256]),
    pa.binary(2): lambda n: bytes([0, n % 256]),
    pa.large_binary(): lambda n: b"\xff" * n,
    pa.large_string(): lambda n: f"n{n}",
    pa.string_view(): lambda n: f"a name that is too long for a view {n}",
    pa.binary_view(): lambda n: bytes([n % 256]) * 20,
    pa.dictionary(pa.int8(), pa.string()): lambda n: f"n{n}",
    pa.dictionary(pa.int32(), pa.int64()): lambda n: n,
    pa.dictionary(pa.int16(), pa.float64()): float,
    pa.list_(pa.string()): lambda n: [f"n{n}", None],
    pa.list_(pa.int8(), 2): lambda n: [n % 9, 0],
    pa.large_list(pa.list_(pa.int8())): lambda n: [[n % 9], []],
    pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]): lambda n: {"a": n, "b": ["x"]},
    pa.struct([]): lambda n: {},
    pa.map_(pa.string(), pa.int64()): lambda n: [("a", n)],
    pa.null(): lambda n: None,
    pa.run_end_encoded(pa.int32(), pa.string()): lambda n: f"n{n}",
    pa.json_(): lambda n: json.dumps({"a": n}),
    pa.uuid(): lambda n: n.to_bytes(16, "big"),
}


def typed(rng: random.Random, cells: list[Any]) -> pa.Array:
    """A column of any type, of as many different values as it had."""
    dtype = rng.choice(list(TYPES))
    number_of = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
    values = [None if rng.random() < 0.05 else TYPES[dtype](number_of[cell]) for cell in cells]
    try:
        return pa.array(values, dtype)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, KeyError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def _arrow(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    columns = columns_of(rows)
    arrays = {
        name: pa.array([None if c is None else str(c) for c in cells])
        for name, cells in columns.items()
    }
    if kind == "numeric":
        arrays["value"] = pa.array([_number(cell) for cell in columns["value"]], pa.float64())
    for name in rng.sample(sorted(arrays), rng.choice((0, 1, 1, 2, len(arrays)))):
        arrays[name] = typed(rng, columns[name])
    names = list(arrays)
    if rng.random() < 0.1:
        arrays["extra"] = typed(rng, columns["source"])
        names = [*names, rng.choice(("extra", "source", "", "\x1b[31m", "x" * 70_000))]
    table = pa.Table.from_arrays([*arrays.values()], names=names)
    if rng.random() < 0.05:
        table = table.slice(0, 0) if rng.random() < 0.5 else table.select([])
    return _as_file(rng, table)


def _number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _as_file(rng: random.Random, table: pa.Table) -> Written:
    target = io.BytesIO()
    form = rng.choice(("parquet",) * 6 + ("arrow", "ipc", "feather", "stream"))
    try:
        if form == "parquet":
            _write_parquet(rng, table, target)
        elif form == "stream":
            with pa.ipc.new_stream(target, table.schema) as stream:
                stream.write_table(table, max_chunksize=rng.choice((1, 5, 1_000)))
        else:
            compression = rng.choice((None, "lz4", "zstd"))
            options = pa.ipc.IpcWriteOptions(compression=compression)
            with pa.ipc.new_file(target, table.schema, options=options) as file:
                file.write_table(table, max_chunksize=rng.choice((1, 5, 1_000)))
    except (
        pa.ArrowException,
        NotImplementedError,
        ValueError,
        OSError,
    ):  # not every type in every form
        text = table.slice(0, 0).select([]) if not table.num_columns else table
        target = io.BytesIO(str(text.schema).encode())
    name = f"claims.{'arrow' if form == 'stream' else form}"
    return name, {name: target.getvalue()}, []


def _write_parquet(rng: random.Random, table: pa.Table, target: io.BytesIO) -> None:
    pa.parquet.write_table(
        table,
        target,
        row_group_size=rng.choice((1, 7, 1_000)),
        use_dictionary=rng.random() < 0.5,
        compression=rng.choice(("none", "snappy", "zstd", "gzip", "brotli", "lz4")),
        data_page_version=rng.choice(("1.0", "2.0")),
        version=rng.choice(("1.0", "2.6")),
        write_statistics=rng.random() < 0.7,
        store_schema=rng.random() < 0.8,
        use_deprecated_int96_timestamps=rng.random() < 0.1,
        write_page_checksum=rng.random() < 0.2,
        write_page_index=rng.random() < 0.2,
    )


# --- workbooks ------------------------------------------------------------------------------------


def _workbook(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    target = io.BytesIO()
    how = {"in_memory": True, "strings_to_urls": False, "nan_inf_to_errors": True,
           "date_1904": rng.random() < 0.2}  # fmt: skip
    with xlsxwriter.Workbook(target, how) as book:
        if rng.random() < 0.2:
            _sheet(rng, book, [])
        _sheet(rng, book, rows)
        if rng.random() < 0.3:
            _sheet(rng, book, rows[: rng.choice((0, 1, 50))])
    options: list[str] = []
    if rng.random() < 0.3:
        options = ["--source-from", "sheet"]
    return "claims.xlsx", {"claims.xlsx": target.getvalue()}, options


def _sheet(rng: random.Random, book: Any, rows: Sequence[Row]) -> None:
    sheet = book.add_worksheet()
    columns = columns_of(rows)
    down, right = rng.choice(((0, 0),) * 6 + ((3, 0), (0, 2), (100, 5)))
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for at, (name, cells) in enumerate(columns.items()):
        sheet.write(down, right + at, name)
        for number, cell in enumerate(cells, 1):
            _cell(rng, sheet, (down + number, right + at), cell, day)
    if rng.random() < 0.2 and len(rows) > 3:
        sheet.merge_range(down + 1, right, down + 3, right, "merged")
    if rng.random() < 0.1:
        sheet.hide() if len(book.worksheets()) > 1 else sheet.write_comment(0, 0, "x")


def _cell(rng: random.Random, sheet: Any, at: tuple[int, int], cell: Any, day: Any) -> None:
    odd = rng.random()
    if odd < 0.02:
        sheet.write_formula(*at, "=1/0", None, rng.choice(("#DIV/0!", 3, "", True)))
    elif odd < 0.04:
        sheet.write_number(*at, rng.choice((-5, 0, 60, 2_958_466, 1e12, 0.5)), day)
    elif odd < 0.05:
        sheet.write_boolean(*at, True)
    elif odd < 0.06:
        sheet.write_array_formula(*at, *at, "{=SUM(A1:A2)}", None, 4)
    elif (number := _number(cell)) is not None and abs(number) < 1e300:
        sheet.write_number(*at, number)
    elif cell is not None:
        sheet.write_string(*at, str(cell)[:30_000])


# --- databases and folders ------------------------------------------------------------------------


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def _sqlite(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    columns = columns_of(rows)
    types = [
        rng.choice(("", "text", "integer", "real", "blob", "numeric", "date")) for _ in columns
    ]
    told = ", ".join(f"{_quoted(n)} {t}" for n, t in zip(columns, types, strict=True))
    marks = ", ".join("?" * len(columns))
    views = (
        "create view claimed as select * from claims",
        "create view claimed as select * from nobody",
        "create view claimed as with recursive n(i) as (select 1 union all select i + 1 from n) "
        "select i as source, i as entity, i as value from n limit 1000",
        "create table claimed as select *, randomblob(3) as note from claims",
        "create view claimed as select source, entity, value || char(0) as value from claims",
        "create view claimed as select source, entity, cast(x'ff' as text) as value from claims",
        "create view claimed as select source, entity, abs(-9223372036854775808) value from claims",
    )
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        path = Path(folder, "claims.db")
        connection = sqlite3.connect(path)
        connection.execute(f"pragma page_size={rng.choice((512, 4096, 65536))}")
        connection.execute(f"pragma encoding='{rng.choice(('utf-8', 'utf-16le', 'utf-16be'))}'")
        if rng.random() < 0.1:
            connection.execute("pragma journal_mode=wal")
        connection.execute(f"create table claims ({told})")
        connection.executemany(
            f"insert into claims values ({marks})", zip(*columns.values(), strict=True)
        )
        with contextlib.suppress(sqlite3.Error):
            connection.execute(rng.choice(views))
        connection.commit()
        connection.close()
        content = path.read_bytes()
    table = rng.choice(("claims", "claims", "claimed"))
    return f"sqlite:///claims.db#{table}", {"claims.db": content}, []


DUCKDB_TYPES = (
    "varchar", "integer", "hugeint", "uhugeint", "double", "decimal(38,10)", "date", "timestamp",
    "timestamp_ns", "timestamptz", "time", "timetz", "interval", "uuid", "blob", "bit", "json",
    "boolean", "integer[]", "integer[2]", "struct(a integer, b varchar)", "map(varchar, integer)",
    "union(a integer, b varchar)", "enum('v0', 'v1')", "bignum", "time_ns",
)  # fmt: skip


def _duckdb(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    columns = columns_of(rows)
    views = (
        "create view claimed as select * from claims",
        "create view claimed as select * from read_csv('/etc/passwd')",
        "create view claimed as select * from 'nowhere.parquet'",
        'create view claimed as select * exclude (value), value as "val""or" from claims',
        "create view claimed as select source, entity, range as value from claims, range(3)",
        "create macro claimed(a) as a + 1",
    )
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        path = Path(folder, "claims.duckdb")
        with duckdb.connect(path) as connection:
            told = ", ".join(f"{_quoted(name)} varchar" for name in columns)
            connection.execute(f"create table claims ({told})")
            if rows:
                marks = ", ".join("?" * len(columns))
                cells = [
                    [None if c is None else str(c) for c in row]
                    for row in zip(*columns.values(), strict=True)
                ]
                connection.executemany(f"insert into claims values ({marks})", cells)
            of = _quoted(rng.choice(list(columns)))
            dtype = rng.choice(DUCKDB_TYPES)
            odd = f"try_cast({of} as {dtype}) as {of}"
            connection.execute(f"create table typed as select * replace ({odd}) from claims")
            with contextlib.suppress(duckdb.Error):  # not every view can be made of every claim
                connection.execute(rng.choice(views))
        content = path.read_bytes()
    table = rng.choice(("claims", "typed", "typed", "claimed"))
    return f"duckdb:///claims.duckdb#{table}", {"claims.duckdb": content}, []


def _folder(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    """Several files, one by each source or of some rows each; what else is there is no table."""
    files: dict[str, bytes] = {}
    half = len(rows) // 2
    for number, some in enumerate((rows[:half], rows[half:])):
        ending = rng.choice(("csv", "csv", "jsonl", "parquet", "tsv"))
        dialect = {"delimiter": "\t"} if ending == "tsv" else {}
        name = f"claims/{number}.{ending}"
        files[name] = (
            text_of(some, **dialect).encode(errors="replace")
            if "sv" in ending
            else plain(some, name)
        )
    odd = (
        ".hidden.csv",
        "README",
        "empty.csv",
        "a b.csv",
        "x.json",
        "\u202ename.csv",
        "deep/er.csv",
    )
    if rng.random() < 0.5:
        files[f"claims/{rng.choice(odd)}"] = rng.choice(
            (b"", b"x", text_of(rows).encode(errors="replace"))
        )
    how = ["--source-from", "filename"] if rng.random() < 0.2 else []
    return rng.choice(("claims", "claims/*", "claims/*.csv")), files, how
