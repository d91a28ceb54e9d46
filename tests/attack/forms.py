"""Odd names, and claims as files of every form that is read, some of them damaged."""

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

from attack.verdict import MARK

Row = Mapping[str, Any]
Written = tuple[str, dict[str, bytes], list[str]]
"""Where the claims are, the files, and the options that say how to read them."""

MARKUP = (
    f"<{MARK}>", f"<script>{MARK}()</script>", f'"><img src=x onerror={MARK}()>',
    f"</script><script>{MARK}()</script>", 'x role="', f"' onload='{MARK}()", "<!--", "]]>",
    f"javascript:{MARK}()", "&lt;b&gt;", "{{7*7}}", "${7*7}", "[bold red]x[/]", "[/]", "\\",
)  # fmt: skip
ESCAPES = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "a\rb", "a\x08b", "\x07",
    "\u202eabc", "\x7f", "\x00", "\ufffe", "\uffff", "a\u2028b", "a\u2029b", "\u200b", "\ufeff",
)  # fmt: skip
FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "\t=1")
NUMBERS = (
    "0", "-0", "1", "2.5", "1e6", "1e308", "-1e308", "1e155", "1e-300", "1e-320", "nan", "inf",
    "-inf", "NaN", "1,5", "1.000,5", "1 000", "9" * 25, "0x10", "1_000", "\u0661\u0662", "12:30",
    "7:05 PM", "24:00", "2024-01-01", "2024-02-30", "01/02/03", "9999-12-31", "0000-00-00",
    "10000-01-01T00:00:00Z", "true", "0.1",
)  # fmt: skip
OTHERS = (
    "", " ", "\t", "\n", "a\nb", "a\r\nb", "null", "None", "NULL", "NA", "\xa0", '"', "'", ",",
    "a", "source", "entity", "x" * 300, "\u00e9", "e\u0301", "\U0001f600", "../..", "~", "*",
)  # fmt: skip
ODD = (*MARKUP, *ESCAPES, *FORMULAS, *NUMBERS, *OTHERS)
AMOUNTS = ("0", "1", "-1", "0.5", "2", "1.5", "nan", "inf", "-inf", "1e308", "1e-320", "1e-9",
           "9223372036854775808", "1e400", "", "none", "x", "true", "1_0", "٣")  # fmt: skip


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return bytes of which some are cut off, changed, put in or left out."""
    for _ in range(rng.randint(1, 3)):
        at, more = rng.randint(0, len(content)), rng.randbytes(rng.randint(0, 8))
        match rng.choice(("cut", "change", "insert", "leave out", "repeat")):
            case "cut":
                content = content[:at]
            case "change":
                content = content[:at] + more + content[at + len(more) :]
            case "insert":
                content = content[:at] + more + content[at:]
            case "leave out":
                content = content[:at] + content[at + rng.randint(1, 50) :]
            case "repeat":
                content = content[:at] + content[:at]
    return content


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return rows as columns."""
    header = dict.fromkeys(name for row in rows for name in row)
    names = header or ("source", "entity", "value")
    return {name: [row.get(name) for row in rows] for name in names}


def text_of(rows: Sequence[Row], **dialect: Any) -> str:
    """Return rows as a text with separators."""
    text, columns = io.StringIO(), columns_of(rows)
    csv.writer(text, **dialect).writerows([columns, *zip(*columns.values(), strict=True)])
    return text.getvalue()


def plain(rows: Sequence[Row], name: str) -> bytes:
    """Return rows as a sound file, in the form that its name says."""
    if name.endswith(".jsonl"):
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    if name.endswith(".parquet"):
        target = io.BytesIO()
        pl.DataFrame(columns_of(rows)).write_parquet(target)
        return target.getvalue()
    return text_of(rows, delimiter="\t" if ".tsv" in name else ",").encode(errors="replace")


def written(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    """Return claims in one of all the forms that are read."""
    if rng.random() < 0.35:
        name = rng.choice(("claims.csv", "claims.parquet", "claims.jsonl"))
        return name, {name: plain(rows, name)}, []
    forms = (*(_csv,) * 5, *(_arrow,) * 5, *(_json,) * 2, _workbook, _sqlite, _duckdb, _folder)
    return rng.choice(forms)(rng, rows, kind)


# --- text -----------------------------------------------------------------------------------------


def _csv(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    mark = rng.choice(",,,,\t;|")
    ends = rng.choice(("\n", "\n", "\r\n", "\r"))
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    text = text_of(rows, delimiter=mark, lineterminator=ends, quoting=quoting)
    header, _, body = text.partition(ends)
    odd = (
        f"sep={mark}{ends}{text}",
        f"# made by hand{ends}{text}",
        f"{ends}{ends}{text}{ends}{ends}",
        text.replace(ends, f"{mark}{ends}"),
        text.replace(ends, f"{mark}{mark}{ends}", 1),
        text.rstrip(),
        *(text.replace(*turn) for turn in (
            ("e1", "e\0"), ("s1", 's"1'), ("s1", '"s1'), ("s1", '"s1""'), ("v1", "\ufeffv1"),
            ("v1", "v\u0085\u20281"), ("v0", "v" * 200_000), (mark, f"{mark} "))),
        text.replace(ends, rng.choice(("\n", "\r\n", "\r")), 3),
        text.replace("entity", "Entity ").replace("source", "'SOURCE'"),
        header + f"{mark}c" * 50_000 + ends + body,
        mark.join(("source", "source", "entity", "value")) + ends + body,
        mark.join(("", "\x1b[31m", "<b>", "\x00")) + ends + body,
        body,
        text + f"s9{mark}e9{ends}",
        text + mark.join(["s9", "e9", "v9", "x", "y", "z", "w"]) + ends,
        text + text,
    )  # fmt: skip
    text = rng.choice(odd) if rng.random() < 0.7 else text
    encodings = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift-jis")
    encoding = rng.choice(("utf-8",) * 9 + encodings)
    content = text.encode(encoding, errors="replace")
    if rng.random() < 0.05:
        content = content.replace(b"s1", "s\u00e9".encode("latin-1"))
    how = ["--encoding", encoding] if encoding != "utf-8" and rng.random() < 0.7 else []
    name = rng.choice(("claims.csv", "claims.txt")) if mark != "\t" else "claims.tsv"
    if rng.random() < 0.08:
        name, content = f"{name}.gz", gzip.compress(content, mtime=0)
    return name, {name: content}, how


ODD_JSON = (
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


def _json(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    def cell(value: Any) -> Any:
        number = _number(value) if rng.random() < 0.5 else None
        return value if number is None else number

    lines = [json.dumps({name: cell(value) for name, value in row.items()}) for row in rows]
    if rng.random() < 0.5:
        lines.insert(rng.randint(0, len(lines)), rng.choice(ODD_JSON))
    if rng.random() < 0.5:
        end = rng.choice(("]", "]", "]", ",]", "", "]]"))
        text = "[" + rng.choice((",", ",\n", " , ")).join(lines) + end
        text = '{"rows": ' + text + "}" if rng.random() < 0.1 else text
        name = "claims.json"
    else:
        text, name = rng.choice(("\n", "\n", "\r\n", "\n\n", " ")).join(lines), "claims.jsonl"
    encoding = rng.choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "latin-1"))
    content = text.encode(encoding, "replace")
    if rng.random() < 0.1:
        name, content = f"{name}.gz", gzip.compress(content, mtime=0)
    return name, {name: content}, []


def _number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


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
NOT_IN_EVERY_FORM = (pa.ArrowException, TypeError, ValueError, OverflowError, KeyError, OSError,
                     NotImplementedError)  # fmt: skip


def texts(cells: list[Any]) -> pa.Array:
    """Return a column of text."""
    return pa.array([None if cell is None else str(cell) for cell in cells])


def typed(rng: random.Random, cells: list[Any]) -> pa.Array:
    """Return a column of any type, of as many different values as it had."""
    dtype = rng.choice(list(TYPES))
    number_of = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
    values = [None if rng.random() < 0.05 else TYPES[dtype](number_of[cell]) for cell in cells]
    try:
        return pa.array(values, dtype)
    except NOT_IN_EVERY_FORM:
        return texts(cells)


def _arrow(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    columns = columns_of(rows)
    arrays = {name: texts(cells) for name, cells in columns.items()}
    if kind == "numeric":
        arrays["value"] = pa.array([_number(cell) for cell in columns["value"]], pa.float64())
    for name in rng.sample(sorted(arrays), rng.choice((0, 1, 1, 2, len(arrays)))):
        arrays[name] = typed(rng, columns[name])
    names = list(arrays)
    if rng.random() < 0.1:
        arrays["extra"] = typed(rng, columns["source"])
        names += [rng.choice(("extra", "source", "", "\x1b[31m", "x" * 70_000))]
    table = pa.Table.from_arrays([*arrays.values()], names=names)
    if rng.random() < 0.05:
        table = table.slice(0, 0)
    form = rng.choice(("parquet",) * 6 + ("arrow", "ipc", "feather", "stream"))
    name = f"claims.{'arrow' if form == 'stream' else form}"
    try:
        return name, {name: _packed(rng, table, form)}, []
    except NOT_IN_EVERY_FORM:
        return name, {name: str(table.schema).encode()}, []


def _packed(rng: random.Random, table: pa.Table, form: str) -> bytes:
    target, few = io.BytesIO(), rng.choice((1, 5, 1_000))
    if form == "parquet":
        pa.parquet.write_table(
            table,
            target,
            row_group_size=few,
            use_dictionary=rng.random() < 0.5,
            compression=rng.choice(("none", "snappy", "zstd", "gzip", "brotli", "lz4")),
            data_page_version=rng.choice(("1.0", "2.0")),
            write_statistics=rng.random() < 0.7,
            store_schema=rng.random() < 0.8,
            use_deprecated_int96_timestamps=rng.random() < 0.1,
        )
    elif form == "stream":
        with pa.ipc.new_stream(target, table.schema) as stream:
            stream.write_table(table, max_chunksize=few)
    else:
        options = pa.ipc.IpcWriteOptions(compression=rng.choice((None, "lz4", "zstd")))
        with pa.ipc.new_file(target, table.schema, options=options) as file:
            file.write_table(table, max_chunksize=few)
    return target.getvalue()


# --- workbooks, databases, folders ----------------------------------------------------------------


def _workbook(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    target = io.BytesIO()
    how = {"in_memory": True, "strings_to_urls": False, "nan_inf_to_errors": True,
           "date_1904": rng.random() < 0.2}  # fmt: skip
    sheets = [[], rows] if rng.random() < 0.2 else [rows]
    sheets += [rows[: rng.choice((0, 1, 50))]] if rng.random() < 0.3 else []
    with xlsxwriter.Workbook(target, how) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for some in sheets:
            sheet = book.add_worksheet()
            down, right = rng.choice(((0, 0),) * 6 + ((3, 0), (0, 2), (100, 5)))
            for at, (name, cells) in enumerate(columns_of(some).items(), right):
                sheet.write(down, at, name)
                for row, cell in enumerate(cells, down + 1):
                    _cell(rng, sheet, (row, at), cell, day)
            if rng.random() < 0.2 and len(some) > 3:
                sheet.merge_range(down + 1, right, down + 3, right, "merged")
    options = ["--source-from", "sheet"] if rng.random() < 0.3 else []
    return "claims.xlsx", {"claims.xlsx": target.getvalue()}, options


def _cell(rng: random.Random, sheet: Any, at: tuple[int, int], cell: Any, day: Any) -> None:
    odd = rng.random()
    if odd < 0.02:
        sheet.write_formula(*at, "=1/0", None, rng.choice(("#DIV/0!", 3, "", True)))
    elif odd < 0.04:
        sheet.write_number(*at, rng.choice((-5, 0, 60, 2_958_466, 1e12, 0.5)), day)
    elif odd < 0.05:
        sheet.write_boolean(*at, True)
    elif (number := _number(cell)) is not None and abs(number) < 1e300:
        sheet.write_number(*at, number)
    elif cell is not None:
        sheet.write_string(*at, str(cell)[:30_000])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


SQLITE_VIEWS = (
    "create view claimed as select * from claims",
    "create view claimed as select * from nobody",
    "create view claimed as with recursive n(i) as (select 1 union all select i + 1 from n) "
    "select i as source, i as entity, i as value from n limit 1000",
    "create table claimed as select *, randomblob(3) as note from claims",
    "create view claimed as select source, entity, value || char(0) as value from claims",
    "create view claimed as select source, entity, cast(x'ff' as text) as value from claims",
    "create view claimed as select source, entity, abs(-9223372036854775808) value from claims",
)
TABLES = ("claims", "claims", "claimed", "", "nobody", "a#b", "%1b[31m", "select 1",
          "drop table claims", "select * from claims; drop table claims",
          "select source, source, value from claims", "pragma page_size",
          "select '\x1b[31m' as source, 'x' as entity, '<b>' as value",
          "vacuum", "begin", "\x00")  # fmt: skip
"""Tables and queries after the # of an address."""


def _sqlite(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    columns = columns_of(rows)
    kinds = ("", "text", "integer", "real", "blob", "numeric", "date")
    told = ", ".join(f"{_quoted(name)} {rng.choice(kinds)}" for name in columns)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        path = Path(folder, "claims.db")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"pragma page_size={rng.choice((512, 4096, 65536))}")
            connection.execute(f"pragma encoding='{rng.choice(('utf-8', 'utf-16le'))}'")
            connection.execute(f"create table claims ({told})")
            marks = ", ".join("?" * len(columns))
            cells = zip(*columns.values(), strict=True)
            connection.executemany(f"insert into claims values ({marks})", cells)
            with contextlib.suppress(sqlite3.Error):
                connection.execute(rng.choice(SQLITE_VIEWS))
            connection.commit()
        content = path.read_bytes()
    address = f"sqlite:///claims.db#{rng.choice(TABLES)}"
    return rng.choice((address, address, "claims.db")), {"claims.db": content}, []


DUCKDB_TYPES = (
    "varchar", "integer", "hugeint", "uhugeint", "double", "decimal(38,10)", "date", "timestamp",
    "timestamp_ns", "timestamptz", "time", "timetz", "interval", "uuid", "blob", "bit", "json",
    "boolean", "integer[]", "integer[2]", "struct(a integer, b varchar)", "map(varchar, integer)",
    "union(a integer, b varchar)", "enum('v0', 'v1')", "bignum", "time_ns",
)  # fmt: skip
DUCKDB_VIEWS = (
    "create view claimed as select * from claims",
    "create view claimed as select * from read_csv('/etc/passwd')",
    "create view claimed as select * from 'nowhere.parquet'",
    'create view claimed as select * exclude (value), value as "val""or" from claims',
    "create view claimed as select source, entity, range as value from claims, range(3)",
    "create macro claimed(a) as a + 1",
)


def _duckdb(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    columns = columns_of(rows)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        path = Path(folder, "claims.duckdb")
        with duckdb.connect(path) as connection:
            given = pa.table({name: texts(cells) for name, cells in columns.items()})
            connection.register("given", given)
            connection.execute("create table claims as select * from given")
            of = _quoted(rng.choice(list(columns)))
            odd = f"try_cast({of} as {rng.choice(DUCKDB_TYPES)}) as {of}"
            with contextlib.suppress(duckdb.Error):  # not every view can be made of every claim
                connection.execute(f"create table typed as select * replace ({odd}) from claims")
                connection.execute(rng.choice(DUCKDB_VIEWS))
        content = path.read_bytes()
    table = rng.choice(("claims", "typed", "typed", "claimed"))
    return f"duckdb:///claims.duckdb#{table}", {"claims.duckdb": content}, []


def _folder(rng: random.Random, rows: Sequence[Row], kind: str) -> Written:
    """Return several files; what else is in the folder is no table."""
    half = len(rows) // 2
    files: dict[str, bytes] = {}
    for number, some in enumerate((rows[:half], rows[half:])):
        name = f"claims/{number}.{rng.choice(('csv', 'csv', 'jsonl', 'parquet', 'tsv'))}"
        files[name] = plain(some, name)
    if rng.random() < 0.5:
        odd = (".hidden.csv", "README", "empty.csv", "a b.csv", "x.json", "deep/er.csv")
        files[f"claims/{rng.choice(odd)}"] = rng.choice((b"", b"x", plain(rows, "x.csv")))
    how = ["--source-from", "filename"] if rng.random() < 0.2 else []
    return rng.choice(("claims", "claims/*", "claims/*.csv")), files, how
