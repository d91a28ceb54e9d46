"""Tables in all the forms that are read, with options: the claims and notes that come of them.

The answers stand in ``reading_net.json``. ``python tests/test_reading_net.py`` writes them again:
read the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
import sqlite3
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pandas as pd  # noqa: TID251 - a user's frame
import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter

import veracity
from veracity.errors import VeracityError

ANSWERS = Path(__file__).with_name("reading_net.json")


class Table(NamedTuple):
    """A table as a user has it: made in a folder, and what is handed over then."""

    make: Callable[[Path], Any]
    options: dict[str, Any]


TABLES: dict[str, Table] = {}


def table(name: str, **options: Any) -> Callable[[Callable[[Path], Any]], None]:
    """Enter a table that a function makes."""

    def enter(make: Callable[[Path], Any]) -> None:
        TABLES[name] = Table(make, options)

    return enter


def files(name: str, contents: dict[str, str | bytes], given: str = "", **options: Any) -> None:
    """Enter files, of which one is given by name, or the folder of all."""

    def make(folder: Path) -> Any:
        for own, content in contents.items():
            path = folder / own
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / given

    TABLES[name] = Table(make, options)


def frame(name: str, data: Any, **options: Any) -> None:
    """Enter a frame, or rows of Python."""
    TABLES[name] = Table(lambda _: data, options)


# --- names of columns -----------------------------------------------------------------------------


def names(name: str, *columns: str, **options: Any) -> None:
    """Enter a table with these columns, whose cells are their names."""
    frame(name, {column: [column] for column in columns}, **options)


names("the very name", "SOURCE", "Source", "source", "website", "entity", "value")
names("another spelling", "website", " Source", "entity", "value")
names("the most telling of usual names", "source", "id", "object", "value")
names("a named column in one role", "entity", "id", "value", columns={"source": "entity"})
names("a missing column", "source", "entity", "the price")
names("a role taken away", "source", "entity", "value", "conf", columns={"weight": "value"})
names("a name of two lines", "source", "two\nlines")
names("many columns", *(f"c{number}" for number in range(100)))
names("nearly a name", "Website", "b", "c", columns={"source": "web site"})
names("no name", "a", columns={"source": "site"})
names("no role", "a", "b", "c", columns={"sauce": "a"})
names("no role but a column", "a", "b", "c", columns={"a": "source"})
names("a column in two roles", "a", "b", "c", columns={"source": "a", "entity": "a"})
names("no mapping", "a", "b", "c", columns="source=a")
names("numbers of pandas", "0", "1", "2", columns={"source": 0, "entity": 1, "value": 2})

# --- text -----------------------------------------------------------------------------------------

LONG = "source,entity,attribute,value\na,x,gate,C5\nb,x,gate,C6\nc,x,gate,C5\na,y,gate,D1\n"

files("csv", {"claims.csv": LONG}, "claims.csv")
files("semicolons and returns", {"c.csv": LONG.replace(",", ";").replace("\n", "\r\n")}, "c.csv")
files("tabs", {"claims.tsv": LONG.replace(",", "\t")}, "claims.tsv")
files("bars", {"claims.txt": LONG.replace(",", "|")}, "claims.txt")
files("lone returns", {"claims.csv": LONG.replace("\n", "\r")}, "claims.csv")
files("packed", {"claims.csv.gz": gzip.compress(LONG.encode(), mtime=0)}, "claims.csv.gz")
files("a mark and utf-16", {"claims.csv": LONG.encode("utf-16")}, "claims.csv")
files("a mark wins", {"claims.csv": LONG.encode("utf-8-sig")}, "claims.csv", encoding="latin-1")
files(
    "windows-1252",
    {"claims.csv": LONG.replace("C5", "Tür").encode("cp1252")},
    "claims.csv",
)
files("a named encoding", {"c.csv": LONG.replace("C5", "Łódź").encode("cp1250")}, "c.csv",
      encoding="cp1250")  # fmt: skip
files("cyrillic without a name", {"c.csv": LONG.replace("C5", "Вход").encode("cp1251")}, "c.csv")
files("a title", {"claims.csv": "Report of May\n\n" + LONG}, "claims.csv")
files("quotes", {"c.csv": 'source,entity,value\na,"x, y","1\n2"\nb,"x, y","say ""no"""\n'}, "c.csv")
files("quotes within", {"claims.csv": 'source,entity,value\na,x,5" pipe\nb,x,6" pipe\n'},
      "claims.csv")  # fmt: skip
files("a row too long", {"claims.csv": LONG + "b,y,gate,D1,D2\n"}, "claims.csv")
files("a row too short", {"claims.csv": LONG + "b,y,gate\n"}, "claims.csv")
files("an open quote", {"claims.csv": LONG + 'b,y,gate,"D1\nc,y,gate,D1\n'}, "claims.csv")
files("columns of one name", {"c.csv": "source,entity,value,value\na,x,1,2\nb,x,1,3\n"}, "c.csv",
      columns={"value": "value (2)"})  # fmt: skip
files("empty lines and cells", {"c.csv": "source,entity,value\n\na,x,1\nb,,1\n,x,1\nc,x,\n,,\n"},
      "c.csv")  # fmt: skip
files("nothing", {"claims.csv": ""}, "claims.csv")
files("a header alone", {"claims.csv": "source,entity,value\n"}, "claims.csv")
files("no such column", {"claims.csv": "who,what,how\na,b,c\n"}, "claims.csv")
files("named columns", {"claims.csv": "who,what,how\na,b,c\nd,b,e\n"}, "claims.csv",
      columns={"source": "who", "entity": "what", "value": "how"})  # fmt: skip
files("a name that is wrong", {"claims.csv": LONG}, "claims.csv", columns={"source": "sourec"})
files("usual names", {"c.csv": "Worker ID,HITId,Label,votes\na,x,1,3\nb,x,2,4\n"}, "c.csv")
files("a folder", {"one.csv": LONG, "in/two.csv": "entity,value,source\nx,C9,d\n", ".no.csv": "x"})
files("types of files that differ", {"a.csv": "Source,ENTITY,Value\na,x,1\n", "b.csv":
      "source,entity,value\nb,x,2\n"})  # fmt: skip
files("files are sources", {"a.csv": "flight,gate,seat\n1,C5,1a\n2,C6,2a\n3,C7,\n", "b.csv":
      "Flight,Gate,Seat\n1,C5,1a\n2,C8,2a\n3,C7,3a\n"}, source_from="filename")  # fmt: skip
files("files of one name", {"a/f.csv": "entity,value\nx,1\n", "b/f.csv": "entity,value\nx,2\n"},
      source_from="filename")  # fmt: skip
files("files beside a column", {"a.csv": LONG, "b.csv": LONG}, source_from="filename")
files("a second entity", {"c.csv": "agency,country,year,estimate\na,DE,2018,1\nb,DE,2018,2\n"
      "a,DE,2019,3\nb,DE,2019,3\n"}, "c.csv", columns={"source": "agency", "value": "estimate",
      "entity": ["country", "year"]})  # fmt: skip
files("a column tells rows apart", {"c.csv": "source,entity,run,value\n" + "".join(
      f"{s},{e},{r},{v}\n" for s in "ab" for e in "xyz" for r, v in ((1, 5), (2, 6)))},
      "c.csv")  # fmt: skip

# --- wide -----------------------------------------------------------------------------------------

BY_ATTRIBUTES = "site,flight,gate,departs\n" + "".join(
    f"{site},AA-{n},C{n + (site == 'c' and n == 2)},{n}:05\n" for n in range(5) for site in "abc"
)
BY_SOURCES = "flight,orbitz,tower,aa,Notes\n" + "".join(
    f"AA-{n},C{n % 3},C{n % 3},C{n % 3 + (n == 2)},{'late' if n == 3 else ''}\n" for n in range(6)
)
SURVEY = "worker,p0,p1,p2,p3,p4\nann,c,d,c,d,c\nbob,c,d,c,d,c\ncem,c,d,c,c,c\ndan,d,d,c,d,c\n"
ASKED = (
    "model,question,answer_1,answer_2,place\nm1,q1,a,b,z\nm2,q1,b,b,z\nm1,q2,c,,z\nm2,q2,c,d,z\n"
)

files("by attributes", {"wide.csv": BY_ATTRIBUTES}, "wide.csv")
files("by attributes, said", {"w.csv": BY_ATTRIBUTES.replace("site", "who")}, "w.csv",
      wide="attributes", columns={"source": "who", "entity": "flight"})  # fmt: skip
files("by attributes, some", {"w.csv": BY_ATTRIBUTES.replace("site,", "site,who,").replace(
      ",AA", ",z,AA")}, "w.csv",
      columns={"entity": "flight", "value": ["gate", "departs"]})  # fmt: skip
files("by attributes, one", {"w.csv": BY_ATTRIBUTES}, "w.csv",
      columns={"entity": "flight", "value": "gate"})  # fmt: skip
files("by sources", {"wide.csv": BY_SOURCES}, "wide.csv")
files("by sources, said", {"w.csv": "station,one,two\nx,1.0,1.5\ny,2,2.5\n"}, "w.csv",
      wide="sources", kind="numeric")  # fmt: skip
files("by sources, named", {"wide.csv": BY_SOURCES}, "wide.csv",
      wide="sources", columns={"value": "orbitz+tower"})  # fmt: skip
files("by sources, facts", {"w.csv": "fact,a,b,c\nx,yes,yes,no\ny,no,,no\n"}, "w.csv",
      kind="binary", wide="sources")  # fmt: skip
files("by entities", {"survey.csv": SURVEY}, "survey.csv", wide="entities")
files("by entities, facts", {"w.csv": "who,x,y\na,yes,no\nb,no,\n"}, "w.csv",
      kind="binary", wide="entities", columns={"source": "who"})  # fmt: skip
files("by samples", {"asked.csv": ASKED}, "asked.csv", wide="samples")
files("numbered attributes", {"asked.csv": ASKED}, "asked.csv")
files("several values", {"b.csv": "shop,product_id,author_1,author_2\na,1,Ann,Bob\nb,1,Ann,\n"},
      "b.csv", kind="multiple", wide="samples")  # fmt: skip
files("not plain", {"w.csv": "flight,planned,departs\n" + "".join(
      f"AA-{n},{n}:00,{n}:00\n" for n in range(6))}, "w.csv")  # fmt: skip
files("wide with times", {"w.csv": BY_ATTRIBUTES.replace("departs", "seat,updated_at").replace(
      ":", ",")}, "w.csv", columns={"entity": "flight", "time": "updated_at"})  # fmt: skip
frame("wide of several types", pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"],
      "size": [1.0, 2.5], "colour": ["red", "blue"], "sold": [None, True]}))  # fmt: skip
frame("a column called like a part", pl.DataFrame({"worker": ["a", "b"], "task": ["x", "x"],
      "source": ["s", "t"], "fact": ["f", "g"]}), wide="attributes",
      columns={"source": "worker", "entity": "task"})  # fmt: skip
frame("answers of a form", pl.DataFrame({"HITId": ["1", "1", "2", "2"], "WorkerId": list("abab"),
      "Reward": ["$1"] * 4, "Answer.mood": list("ggbb"), "Answer.rude": list("ynyy")}))  # fmt: skip

# --- JSON, workbooks, Arrow -----------------------------------------------------------------------

ROWS = [{"source": s, "entity": "x", "value": v} for s, v in (("a", 1), ("b", 2), ("c", 1))]

files("json", {"claims.json": json.dumps(ROWS)}, "claims.json")
files("json lines", {"c.jsonl": "\n".join(map(json.dumps, ROWS))}, "c.jsonl")
files("json within an object", {"c.json": json.dumps({"rows": ROWS}, indent=1)}, "c.json")
files("json of several types", {"c.json": json.dumps(
      [{**row, "value": v} for row, v in zip(ROWS, (True, 1, "1.0"), strict=True)])},
      "c.json")  # fmt: skip
files("json with lists", {"c.json": json.dumps(
      [{**row, "value": v} for row, v in zip(ROWS, (["p", "q"], "p", []), strict=True)])},
      "c.json", kind="multiple")  # fmt: skip
files("json that is wrong", {"c.jsonl": '{"source": "a"}\n{"source": b}\n'}, "c.jsonl")
files("json without rows", {"c.json": '{"a": [1, 2]}'}, "c.json")
TASKS = [
    {"id": n, "data": {"text": f"t{n}"}, "annotations": [
        {"by": {"email": who}, "result": [{"name": "mood", "value": {"choices": [mood]}}]}
        for who, mood in (("ann", "good"), ("bob", "bad" if n else "good"))
    ]} for n in range(3)
]  # fmt: skip
INNER = {"source": "annotations.by.email", "entity": "data.text",
         "attribute": "annotations.result.name",
         "value": "annotations.result.value.choices"}  # fmt: skip
files("nested", {"tasks.json": json.dumps(TASKS)}, "tasks.json", columns=INNER)
files("nested, not named", {"tasks.json": json.dumps(TASKS)}, "tasks.json")
frame("nested in a frame", pl.DataFrame(TASKS), columns=INNER)
frame("lists beside each other", [{"id": 1, "who": [{"n": "a"}], "what": [{"l": "x"}]}],
      columns={"source": "who.n", "value": "what.l"})  # fmt: skip
frame("lists of answers", pl.DataFrame({"model": ["m1", "m2"], "question_id": ["q", "q"],
      "answers": [["a", "a", "b"], ["b"]]}), samples=True)  # fmt: skip


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """Write a workbook."""
    with xlsxwriter.Workbook(path) as book:
        days = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                for place, cell in enumerate(row):
                    is_day = isinstance(cell, datetime.date)
                    sheet.write(at, place, cell, *([days] if is_day else []))
    return path


DAY = datetime.date(2024, 1, 1)
PRICES = [["Article no.", "Price", "Since"], [4001, 1.29, DAY], [4002, 4.5, DAY], [4003, 2.0, DAY]]
OTHERS = [[row[0], row[1], "unknown"] if row[0] == 4002 else row for row in PRICES]


@table("a workbook", wide="attributes", columns={"source": "Shop", "entity": "Article no."})
def _(folder: Path) -> Any:
    rows = [
        ["Shop", *PRICES[0]],
        *(["a", *r] for r in PRICES[1:]),
        *(["b", *r] for r in PRICES[1:]),
    ]
    return workbook(folder / "prices.xlsx", {"Cover": [["Prices", "2024"]], "List": rows})


@table("each sheet a source", source_from="sheet")
def _(folder: Path) -> Any:
    sheets = {"Info": [["Clerk: Smith"]], "North": [["Prices of May"], [], *PRICES]}
    return workbook(folder / "prices.xlsx", {**sheets, "South": OTHERS, "East": PRICES})


@table("a named sheet", columns={"source": "Since", "entity": "Article no.", "value": "Price"})
def _(folder: Path) -> Any:
    path = workbook(folder / "prices.xlsx", {"North": PRICES, "South": OTHERS})
    return f"{path}#South"


@table("no such sheet")
def _(folder: Path) -> Any:
    return f"{workbook(folder / 'prices.xlsx', {'North': PRICES})}#West"


@table("workbooks are sources", source_from="filename")
def _(folder: Path) -> Any:
    workbook(folder / "a.xlsx", {"List": PRICES})
    workbook(folder / "b.xlsx", {"List": [["ARTICLE NO.", "price", "since"], *OTHERS[1:]]})
    return folder


TYPED = pl.DataFrame(
    {"source": ["a", "b", "c"], "entity": [1, 1, 2], "attribute": [7, None, 7],
     "value": [1.0, 2.5, float("nan")]}
)  # fmt: skip


@table("parquet")
def _(folder: Path) -> Any:
    TYPED.write_parquet(folder / "claims.parquet")
    return folder / "claims.parquet"


@table("parquet and csv of other types")
def _(folder: Path) -> Any:
    TYPED.write_parquet(folder / "a.parquet")
    (folder / "b.csv").write_text("source,entity,value\nd,1,2.50\n")
    return [folder / "a.parquet", folder / "b.csv"]


@table("an arrow file")
def _(folder: Path) -> Any:
    TYPED.write_ipc(folder / "claims.arrow")
    return folder / "claims.arrow"


@table("an arrow stream")
def _(folder: Path) -> Any:
    TYPED.write_ipc_stream(folder / "claims.arrows")
    (folder / "claims.arrows").rename(folder / "claims.arrow")
    return folder / "claims.arrow"


files("text called parquet", {"claims.parquet": LONG}, "claims.parquet")
files("a damaged parquet file", {"claims.parquet": b"PAR1" + b"x" * 40}, "claims.parquet")
TABLES["no such file"] = Table(lambda folder: folder / "none.csv", {})
files("an empty folder", {"readme.md": "x"})

# --- frames and rows of Python --------------------------------------------------------------------

frame("typed columns", TYPED)
frame("a lazy frame", TYPED.lazy())
frame("categories", TYPED.with_columns(pl.col("source").cast(pl.Categorical)))
frame("days", pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": [DAY, None]}))
frame("a pandas frame", TYPED.to_pandas())
frame("a pandas index", pd.DataFrame({"source": ["a", "b"], "country": ["DE", "DE"],
      "year": [2020, 2020], "value": [1.5, 2.5]}).set_index(["country", "year"]))  # fmt: skip
frame("mixed cells of pandas", pd.DataFrame({"source": ["a", "b", "c"], "entity": ["x"] * 3,
      "value": [1, "1", 2.5]}))  # fmt: skip
frame("a pyarrow table", TYPED.to_arrow())
frame("decimals of arrow", pa.table({"source": ["a", "b"], "entity": ["x", "x"], "value": pa.array(
      [Decimal("1.50"), Decimal("2.5")], pa.decimal128(5, 2))}))  # fmt: skip
frame("dictionaries", ROWS)
frame("a dictionary of lists", {"source": ["a", "b"], "entity": ["x", "x"], "value": [1, "one"]})
frame("a list of numbers", [1, 2, 3])
frame("an empty list", [])
frame("a binary column", pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"],
      "value": [b"\x01", b""]}))  # fmt: skip
frame("a list is no source", pl.DataFrame({"source": [["a"]], "entity": ["x"], "value": [1]}))

# --- databases ------------------------------------------------------------------------------------


def sqlite(path: Path, *statements: str) -> str:
    """Make a database."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return f"sqlite:///{path}"


MIXED = (
    "create table said (source, entity, value, note)",
    "insert into said values ('a', 'x', 1, 'n'), ('b', 'x', 1.5, null), ('c', 'x', 'one', 'm')",
    "insert into said values ('a', 'y', 2, 'n'), ('b', 'y', 2.0, null), ('c', null, 3, 'm')",
)


@table("sqlite")
def _(folder: Path) -> Any:
    return sqlite(folder / "claims.db", *MIXED) + "#said"


@table("a database without a table")
def _(folder: Path) -> Any:
    return sqlite(folder / "claims.db", *MIXED)


@table("each table a source", source_from="table")
def _(folder: Path) -> Any:
    each = [f"create table {name} as select 1 film, {year} year, 'D{name}' director union all "
            f"select 2, 1999, 'E'" for name, year in (("imdb", 1990), ("tmdb", 1991))]  # fmt: skip
    return sqlite(folder / "films.db", *each, "create table version (number)")


@table("a wide table of a database")
def _(folder: Path) -> Any:
    rows = ", ".join(f"('{s}', 'f{n}', 'C{n}', {n})" for n in range(5) for s in "ab")
    return sqlite(folder / "w.db", "create table wide (site text, flight text, gate text, "
                  "stops integer)", f"insert into wide values {rows}") + "#wide"  # fmt: skip


@table("duckdb", columns={"value": "price"}, kind="numeric")
def _(folder: Path) -> Any:
    with duckdb.connect(folder / "claims.duckdb") as database:
        database.execute(
            "create table said as select * from (values ('a', 'x', 1.25, date '2024-01-01'), "
            "('b', 'x', 2.5, null)) t(source, entity, price, updated_at)"
        )
    return f"duckdb:///{folder / 'claims.duckdb'}#said"


# --- tables as people have them -------------------------------------------------------------------

SHEET = pl.DataFrame({"flight": [f"AA-{n}" for n in range(10)], "planned": [f"{n}:00" for n in
        range(10)], "departs": [f"{n}:00" for n in range(10)]})  # fmt: skip
PRICED = {
    "Amazon": [17 * n % 90 + 0.5 for n in range(20)],
    "eBay": [17 * n % 90 + 0.5 + (n % 4 == 0) for n in range(20)],
    "Walmart": [17 * n % 90 + 0.5 - (n % 5 == 0) for n in range(20)],
}

frame("attributes that agree in pairs", SHEET.with_columns(planned_end=pl.col("planned").reverse(),
      ends=pl.col("planned").reverse()))  # fmt: skip
frame("numbers that never agree", pl.DataFrame({"station": list("abcdef"), "one": [1.0, 2, 3, 4, 5,
      6], "two": [1.5, 2.5, 3.5, 4, 5, 6.5], "three": [1.1, 2.1, 3.1, 4.1, 5.1, 6.1]}),
      kind="numeric")  # fmt: skip
frame("a column that may be a weight", {"worker": ["a", "b"], "task": ["x", "x"], "guess": [1, 2],
      "score": [3, 4]})  # fmt: skip
files("by sources, with the truth", {"w.csv": BY_SOURCES.replace("Notes", "truth").replace("late",
      "C0")}, "w.csv")  # fmt: skip
frame("a category and a remark", pl.DataFrame({"Product": [f"p{n}" for n in range(20)], "Category":
      ["TV", "Phone"] * 10, **PRICED, "Notes": ["ask" if n == 3 else None for n in
      range(20)]}))  # fmt: skip
frame("a category, a remark and prices as text", pl.DataFrame({"Product": [f"p{n}" for n in
      range(20)], "Category": ["TV", "Phone"] * 10, **{shop: [f"${x:.2f}" for x in own] for shop,
      own in PRICED.items()}}))  # fmt: skip
frame("capitals and one remark", {"Country": list("vwxyz"), "CIA": ["Canberra", "Sucre", "Ottawa",
      "Ankara", "Almaty"], "Wiki": ["Canberra", "Sucre", "Ottawa", "Ankara", "Astana"], "Grandma":
      ["SYDNEY", "SUCRE", "OTTAWA", "ANKARA", "ASTANA"], "Notes": ["see p. 3"] * 5},
      wide="sources", normalise=True)  # fmt: skip
frame("the wording of a question", pl.DataFrame({"question_id": [f"q{n}" for n in range(6)],
      "prompt": [f"What is {n}?" for n in range(6)], "large": list("ABCDAB"), "small":
      list("ABCDAC"), "tiny": list("ABCAAB")}))  # fmt: skip
frame("answers to a form", pl.DataFrame({"Timestamp": [f"11/0{n}/2026 10:00:00" for n in
      range(1, 7)], "Email Address": [f"p{n}@example.org" for n in range(6)], "Q1. Which?":
      list("ccdcdc"), "Q2. Who?": list("xxyxxx")}), wide="entities")  # fmt: skip
frame("questions are no entities by themselves", pl.DataFrame({"worker": list("abcde"), "q1":
      list("xyxyx"), "q2": list("vwwvv"), "q3": list("mnomn")}))  # fmt: skip
frame("lists of objects", pl.DataFrame({"question_id": ["q1", "q2"], "responses": [[{"model": "m1",
      "answer": "a"}, {"model": "m2", "answer": "b"}]] * 2}))  # fmt: skip
frame("within lists of objects", pl.DataFrame({"question_id": ["q1", "q2"], "responses": [[{"model":
      "m1", "answer": "a"}, {"model": "m2", "answer": "b"}]] * 2}),
      columns={"source": "responses.model", "value": "responses.answer"})  # fmt: skip
frame("lists of which one begins as another", [{"id": 1, "who": [{"name": "a"}], "whole":
      [{"label": "x"}, {"label": "y"}]}], columns={"entity": "id", "source": "who.name", "value":
      "whole.label"})  # fmt: skip
for number, (source, entity, value) in enumerate((
    ("WorkerId", "HITId", "label"), ("rater", "doc_id", "Judgment"), ("vendorId", "key", "val"),
    ("Annotator ID", "imageId", "annotation"), ("Shop Name", "SKU", "prediction"),
)):  # fmt: skip
    frame(f"usual names {number}", pl.DataFrame({entity: ["t", "t"], source: ["a", "b"], value:
          ["x", "y"]}))  # fmt: skip
files("by samples, some columns", {"a.csv": ASKED.replace("place", "sure_1").replace("\n", ",z\n")
      .replace("sure_1,z", "sure_1,sure_2")}, "a.csv", wide="samples")  # fmt: skip
files("by samples, named", {"a.csv": ASKED}, "a.csv", wide="samples",
      columns={"value": "answer_1+answer_2"})  # fmt: skip
files("samples of several values", {"a.csv": ASKED}, "a.csv", kind="multiple", wide="samples",
      samples=True)  # fmt: skip
files("when a row was written", {"w.csv": BY_ATTRIBUTES.replace("departs", "departs,updated_at")
      .replace(":05", ":05,2026-05-01")}, "w.csv")  # fmt: skip
frame("lists in the first row", pl.DataFrame({"question_id": ["q"], "model": ["m"], "picks": [["a",
      "b"]], "confidence": [[1, 2]]}))  # fmt: skip
files("a folder of wide tables", {"a.csv": BY_ATTRIBUTES, "b.csv": BY_ATTRIBUTES.replace("gate",
      "seat")})  # fmt: skip
files("titles and letters of many files", {f"{site}.csv": f"Export of {site}\n\nflight,Tür,seat\n"
      f"1,C5,1a\n2,C6,2a\n3,{site},3a\n".encode("latin-1") for site in "abc"},
      source_from="filename")  # fmt: skip
files("files that spell headers differently", {"acme.csv":
      "SKU,Unit Price,Active\nK1,5,y\nK2,6,y\n",
      "buck.csv": "sku,unit_price,active\nK1,5,y\nK2,7,y\n", "dunn.csv":
      "S-K-U,unitprice,active\nK1,5,n\nK2,7,y\n"}, source_from="filename")  # fmt: skip
files("named columns that files spell differently", {"acme.csv": "SKU,Unit Price\nK1,5\n",
      "buck.csv": "sku,unit_price\nK1,6\n"}, source_from="filename",
      columns={"entity": "SKU", "value": "Unit Price"})  # fmt: skip
files("lists of each annotator", {f"{who}.jsonl": "\n".join(json.dumps({"id": n, "label": [label],
      "Comments": []}) for n, label in enumerate(own)) for who, own in (("ann", "gb"), ("bob",
      "gg"))}, source_from="filename")  # fmt: skip
files("a file of each annotator, not said", {"ann.jsonl": json.dumps({"id": 1, "label": ["g"]})})
HITS = pl.DataFrame([
    {"HITId": f"h{hit}", "WorkerId": who, "Reward": "$1", "WorkTimeInSeconds": 20 + hit,
     "Answer.mood": "bad" if who == "c" else "good", "Answer.comment": "why not", "Answer.why":
     f"this was easy {who} {hit}", "AssignmentStatus": "Rejected" if who == "c" else "Approved"}
    for hit in range(4) for who in "abc"
])  # fmt: skip
frame("rejected answers and remarks", HITS)
frame("remarks that are named", HITS, columns={"value": ["Answer.mood", "Answer.comment"]})
frame("values beside an attribute", HITS, columns={"attribute": "Reward", "value":
      ["Answer.mood", "Answer.comment"]})  # fmt: skip
frame("an entity that is a value", HITS, columns={"entity": "HITId", "value":
      "HITId+Answer.mood"})  # fmt: skip
frame("values of several objects are sources", [{"id": n, "text": f"{n}?", **{m: {"answer": "AB"[n %
      2], "sure": 0.9} for m in "pq"}} for n in range(4)], wide="sources",
      columns={"entity": "id", "value": ["p.answer", "q.answer"]})  # fmt: skip
frame("values are questions", {"Email": ["a", "b", "c"], "1?": list("xxy"), "2?": list("zzz"),
      "Comments?": list("---")}, wide="entities", columns={"source": "Email", "value":
      "1?+2?"})  # fmt: skip
frame("a column of values plays no other role", {"worker": list("aab"), "n": [1, 2, 1], "task":
      list("xyx"), "label": list("pqp")},
      columns={"entity": "n", "value": "task+label+task"})  # fmt: skip
ANNOTATED = json.dumps([
    {"id": n, "data": {"text": f"t{n}"}, "annotations": [
        {"completed_by": who, "was_cancelled": who == 3, "ground_truth": who == 9, "result":
         [{"from_name": "mood", "value": {"choices": ["bad" if who > 2 else "good"]}}]}
        for who in (1, 2, 3, *([9] if n == 0 else []))
    ]} for n in range(3)
])  # fmt: skip
files("cancelled and known annotations", {"export.json": ANNOTATED}, "export.json", columns={
      "source": "annotations.completed_by", "entity": "data.text", "attribute":
      "annotations.result.from_name", "value": "annotations.result.value.choices"})  # fmt: skip
SAMPLED = [
    {
        "question_id": q,
        "model": m,
        "sample": s,
        "answer": f"{(q + s) % 2}",
        "confidence": f"{90 - s}%",
        "ms": s,
    }
    for q in range(3)
    for m in ("gpt", "llama")
    for s in range(5)
]
frame("samples that are numbered", [{n: row[n] for n in list(row)[:4]} for row in SAMPLED])
frame("samples that are said", [{n: row[n] for n in list(row)[:4]} for row in SAMPLED],
      samples=True)  # fmt: skip
frame("runs and confidences", [{"run" if n == "sample" else "completion" if n == "answer" else n: v
      for n, v in row.items()} for row in SAMPLED])  # fmt: skip
frame("confidences in percent", SAMPLED, columns={"weight": "confidence"})
frame("a prompt belongs to the model", [{"model": m, "prompt": p, "question": f"q{n}", "answer":
      "y"} for m in ("m1", "m2") for p in ("short", "long") for n in range(4)])  # fmt: skip
for name, minutes in (("the time of a task", (0, 0, 0)), ("the time of a claim", (0, 1, 2))):
    TIMED = [{"worker": worker, "task": n, "mood": "good", "topic": "food", "created_at":
              f"2020-01-0{n + 1} 10:0{minute}"} for n in range(4)
             for worker, minute in zip("abc", minutes, strict=True)]  # fmt: skip
    frame(f"{name}, wide", TIMED)
    frame(name, [{"label" if n == "mood" else n: v for n, v in row.items() if n != "topic"}
                 for row in TIMED])  # fmt: skip
frame("cells with the sign between them", {"source": list("aabb"), "one": ["x | y", "x", "x",
      "x | y"], "two": ["z", "y | z", "y | z", "z"], "value": [1, 1, 1, 1]},
      columns={"entity": ["one", "two"]})  # fmt: skip
files("a name that no columns make up", {"c.csv": "agency,country,year,estimate\na,DE,2018,1\n"},
      "c.csv", columns={"entity": ["country", "month"]})  # fmt: skip
frame("columns of several levels", pd.DataFrame({"source": ["a"], "entity": ["x"], "k": ["g"],
      "value": [1]}).pivot(index="entity", columns=["source", "k"], values="value"))  # fmt: skip


@table("a cover", source_from="filename")
def _(folder: Path) -> Any:
    cover = [["Miller & Sons"], ["as of", "2 November 2026"], ["clerk", "Smith"]]
    articles = [["Article no.", "Price", "Stock"], *([n, 1.5 * n, 10 * n] for n in range(30))]
    workbook(folder / "a.xlsx", {"Cover": cover, "Articles": articles})
    workbook(folder / "b.xlsx", {"Articles": articles})
    return folder


@table("sheets of which one is something else", source_from="sheet")
def _(folder: Path) -> Any:
    info = [["Stocktaking 2026"], ["Clerk: Smith"], ["May"]]
    stores = {"A": PRICES, "B": OTHERS, "C": PRICES}
    return workbook(folder / "s.xlsx", {"Info": info, **stores, "Legend": info})


@table("each sheet may be a source")
def _(folder: Path) -> Any:
    return workbook(folder / "s.xlsx", {"A": PRICES, "B": OTHERS})


@table("units in the formats of cells", source_from="filename", columns={"entity": "Article"})
def _(folder: Path) -> Any:
    formats = ('0.0" kg"', '#,##0\\ "g"', "#,##0.00 [$€-407]")
    with xlsxwriter.Workbook(folder / "acme.xlsx") as book:
        sheet = book.add_worksheet("List")
        sheet.write_row(3, 2, ["Article", "Weight", "Price"])
        for row, shown in enumerate(formats[:2], start=4):
            sheet.write(row, 2, f"A{row}")
            sheet.write(row, 3, 1.25, book.add_format({"num_format": shown}))
            sheet.write(row, 4, 1.5, book.add_format({"num_format": formats[2]}))
    return folder


@table("a database file of which each table is a source", source_from="table")
def _(folder: Path) -> Any:
    each = [f"create table {name} as select 1 film, {year} year union all select 2, 1999"
            for name, year in (("imdb", 1990), ("tmdb", 1991))]  # fmt: skip
    sqlite(folder / "films.db", *each, "create table alembic_version (version_num text)")
    return folder / "films.db"


# --- kinds, times, weights, samples, values -------------------------------------------------------

files("facts", {"c.csv": "source,fact,claim\na,p,yes\nb,p,no\nc,p,1\na,q,\n"}, "c.csv",
      kind="binary")  # fmt: skip
files("facts of two columns", {"c.csv": "source,entity,attribute,claim\na,p,m,yes\nb,p,n,no\n"},
      "c.csv", kind="binary")  # fmt: skip
files("neither true nor false", {"c.csv": "source,fact,claim\na,p,yes\nb,p,maybe\n"}, "c.csv",
      kind="binary")  # fmt: skip
files("facts taken for values", {"c.csv": "source,fact,claim\na,p,yes\nb,p,no\n"}, "c.csv")
files("several are true", {"c.csv": LONG}, "c.csv", kind="multiple")
files("numbers", {"c.csv": "source,entity,value\na,x,1.5\nb,x,-0.0\nc,x,\n"}, "c.csv",
      kind="numeric")  # fmt: skip
files("no numbers", {"c.csv": "source,entity,value\na,x,1.5\nb,x,two\n"}, "c.csv", kind="numeric")
files("numbers with units", {"c.csv": "source,entity,value\na,x,1.5 kg\nb,x,\"1500 g\"\nc,x,n/a\n"},
      "c.csv", kind="numeric", normalise=True)  # fmt: skip
TIMES = "source,entity,value,seen_at\na,x,1,2024-01-01\na,x,2,2024-01-02\nb,x,1,2024-01-01\n"
files("times", {"c.csv": TIMES}, "c.csv", columns={"time": "seen_at"})
files("times that are not read", {"c.csv": TIMES}, "c.csv")
files("times that are not plain", {"c.csv": TIMES.replace("2024-01-02", "soon")}, "c.csv",
      columns={"time": "seen_at"})  # fmt: skip
WEIGHTS = "source,entity,value,votes\na,x,1,3\na,x,2,1\nb,x,2,0\nb,y,1,2\n"
files("weights", {"c.csv": WEIGHTS}, "c.csv", columns={"weight": "votes"})
files("weights of numbers", {"c.csv": WEIGHTS}, "c.csv", columns={"weight": "votes"},
      kind="numeric")  # fmt: skip
files("a weight that is none", {"c.csv": WEIGHTS.replace("3", "many")}, "c.csv",
      columns={"weight": "votes"})  # fmt: skip
files("samples", {"c.csv": WEIGHTS}, "c.csv", samples=True)
files("empty attributes", {"c.csv": "source,entity,attribute,value\na,x,,1\nb,x,k,1\n"}, "c.csv")
VALUES = (
    "source,entity,attribute,value\na,x,departs,7:05 PM\nb,x,departs,19:05\n"
    "a,x,day,31/01/2024\nb,x,day,2024-01-31\na,x,colour,Red \nb,x,colour,red\n"
    "a,x,weight,1 kg\nb,x,weight,1000 g\na,y,colour,n/a\nb,y,colour,blue\n"
)
files("values of several spellings", {"c.csv": VALUES}, "c.csv")
files("normalised", {"c.csv": VALUES}, "c.csv", normalise=True)
files("normalised by hand", {"c.csv": VALUES}, "c.csv", normalise={"departs": "text"})
files("nonsense", {"c.csv": LONG}, "c.csv", wide="rows")


def answer(made: Any, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the types and rows of the claims, and the notes, which a run has to show as well."""

    def words(text: object) -> str:
        return str(text).replace(str(folder), "DIR")

    try:
        claims = veracity.read_claims(made, **options)
    except VeracityError as error:
        return {"error": words(error)}
    rows = claims.rows
    cells = rows.select(pl.all().map_elements(repr, pl.String, skip_nulls=False)).rows()
    found = {
        "origin": words(claims.origin),
        "types": {name: str(dtype) for name, dtype in rows.schema.items()},
        "rows": sorted(" ".join(row) for row in cells),
        "notes": [words(note) for note in claims.notes],
        "columns": dict(claims.columns),
        "shape": dict(claims.shape),
        "types before": dict(claims.types),
    }
    algorithm = "gtm" if options.get("kind") == "numeric" else "majority-vote"
    run = veracity.discover(made, algorithm, **options)
    lost = [note for note in found["notes"] if note not in map(words, run.notes)]
    return {**found, "notes that a run lacks": lost} if lost else found


@pytest.mark.parametrize("name", TABLES)
def test_a_table_gives_these_claims_and_notes(name, tmp_path):
    made = TABLES[name].make(tmp_path)
    assert answer(made, TABLES[name].options, tmp_path) == json.loads(ANSWERS.read_text())[name]


def main() -> None:
    """Write the answers of all tables."""
    found = {}
    for name, (make, options) in TABLES.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = answer(make(Path(folder)), options, Path(folder))
    ANSWERS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
