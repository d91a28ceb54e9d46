"""Strategies of hypothesis that draw cases: hostile files, frames, tampered runs, parameters."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping

import click
import polars as pl
from hypothesis import assume
from hypothesis import strategies as st
from polars.testing.parametric import series

from attack.case import Case
from attack.names import numbers, odd_texts, texts
from attack.tampering import tampered
from veracity.algorithms import CATALOGUE
from veracity.cli import main
from veracity.cli.options import KIND_NAMES

Draw = Callable[[st.SearchStrategy], object]

FIGURES = ("sources", "agreement", "plausibility", "calibration", "accuracy", "decision")
QUICK = tuple(name for name in CATALOGUE if name not in ("veracity", "ltm"))
Command = tuple[str, ...]


def _claims(kind: str) -> st.SearchStrategy[list[tuple[str, ...]]]:
    """Rows of few names each, so that there is something to disagree on."""
    values = numbers if kind == "numeric" else texts
    if kind == "binary":
        values = st.sampled_from(("true", "false", "1", "0", "yes", "x", ""))
    pools = [texts, texts, texts, values]
    drawn = st.tuples(*(st.lists(pool, min_size=1, max_size=4) for pool in pools))
    return drawn.flatmap(
        lambda pool: st.lists(st.tuples(*(st.sampled_from(p) for p in pool)), max_size=12)
    )


@st.composite
def _written(draw: Draw, rows: list[tuple[str, ...]], header: tuple[str, ...]) -> bytes:
    """Rows as a text file, in any of the ways that programs write them."""
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=draw(st.sampled_from(",,,,\t;|")),
        quoting=draw(st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))),
        lineterminator=draw(st.sampled_from(("\n", "\r\n", "\r"))),
    )
    if draw(st.integers(0, 9)):
        writer.writerow(header)
    for row in rows:
        ragged = draw(st.integers(0, 30)) == 0
        writer.writerow(row[: draw(st.integers(0, 4))] if ragged else row)
    encoding = draw(st.sampled_from(("utf-8",) * 5 + ("utf-8-sig", "utf-16", "latin-1", "cp1252")))
    return text.getvalue().encode(encoding, errors="replace")


@st.composite
def damaged(draw: Draw, content: bytes) -> bytes:
    """Bytes cut off, flipped, put in or left out."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        how = draw(st.sampled_from(("cut", "flip", "insert", "leave out", "repeat")))
        if how == "cut":
            content = content[:at]
        elif how == "flip" and at < len(content):
            content = content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]
        elif how == "insert":
            content = content[:at] + draw(st.binary(max_size=8)) + content[at:]
        elif how == "leave out":
            content = content[:at] + content[at + draw(st.integers(1, 50)) :]
        else:
            content = content[:at] + content[:at]
    return content


HEADERS = (
    *(("source", "entity", "attribute", "value"),) * 8,
    ("Source", " ENTITY", "attribute", "value"),
    ("source", "source", "entity", "value"),
    ("website", "item", "property", "price"),
    ("source", "fact", "claim", "value"),
    ("", "", "", ""),
    ("\x1b[31m", "<b>", "=1", "\x00"),
)


@st.composite
def text_files(draw: Draw) -> Case:
    """Claims in text files of all sorts, through the commands that read them."""
    kind = draw(st.sampled_from(KIND_NAMES))
    header = draw(st.sampled_from(HEADERS))
    if kind == "binary" and draw(st.booleans()):
        header = ("source", "fact", "attribute", "claim")
    content = draw(_written(draw(_claims(kind)), header))
    if draw(st.integers(0, 4)) == 0:
        content = draw(damaged(content))
    name = draw(
        st.sampled_from(("claims.csv",) * 6 + ("claims.tsv", "claims.txt", "claims.parquet"))
    )
    if draw(st.integers(0, 5)) == 0:
        content, name = gzip.compress(content, 1, mtime=0), f"{name}.gz"
        content = draw(st.one_of(st.just(content), damaged(content)))
    return draw(_cases_with(name, content, kind))


DTYPES = (
    pl.String, pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.Date, pl.Time,
    pl.Datetime("us"), pl.Datetime("ns"), pl.Datetime("us", "Europe/Berlin"), pl.Duration("us"),
    pl.Decimal(20, 3), pl.Binary, pl.Categorical, pl.Enum(["a", "b", "c"]), pl.Null,
    pl.List(pl.Int64), pl.Struct({"a": pl.Int64}), pl.Array(pl.Int8, 2),
)  # fmt: skip


@st.composite
def _columns(draw: Draw, size: int) -> pl.Series:
    """A column of any type, of few different values."""
    dtype = draw(st.sampled_from((pl.String, pl.String, *DTYPES)))
    few = draw(series(dtype=dtype, min_size=1, max_size=4, allow_null=draw(st.booleans())))
    which = draw(st.lists(st.integers(0, len(few) - 1), min_size=size, max_size=size))
    return few.gather(which)


@st.composite
def frames(draw: Draw) -> Case:
    """Frames of every type of column, as Parquet, through the commands that read them."""
    kind = draw(st.sampled_from(KIND_NAMES))
    size = draw(st.integers(0, 10))
    value = draw(st.sampled_from(("value", "claim") if kind == "binary" else ("value",)))
    item = "fact" if value == "claim" else "entity"
    names = ["source", item, value, *draw(st.sampled_from(([], ["attribute"], ["when"])))]
    content = parquet(pl.DataFrame({name: draw(_columns(size)) for name in names}))
    if draw(st.integers(0, 7)) == 0:
        content = draw(damaged(content))
    return draw(_cases_with("claims.parquet", content, kind))


def parquet(table: pl.DataFrame) -> bytes:
    """A table as the bytes of a file; cases that Parquet cannot hold are none of ours."""
    target = io.BytesIO()
    try:
        table.write_parquet(target)
    except Exception:
        assume(False)
    return target.getvalue()


@st.composite
def _cases_with(draw: Draw, name: str, content: bytes, kind: str) -> Case:
    """A file of claims through some of the commands that take one, and what they wrote onwards."""
    of_kind = ("--kind", kind)
    beside = draw(st.sampled_from(((), (), (), ("--normalise",), ("--encoding", "utf-16"))))
    several = draw(st.sets(st.sampled_from(QUICK), min_size=1, max_size=3))
    reads: list[Command] = [
        ("discover", name, "--out", "run", *of_kind, *beside, *draw(_algorithm(kind))),
        ("check", name, *of_kind, *beside),
        ("profile", name, *of_kind, *beside, *draw(st.sampled_from(((), ("--truth", name))))),
        ("compare", name, *of_kind, "--algorithms", ",".join(sorted(several))),
        ("discover", name, "--known", name, *of_kind, "--json"),
        ("discover", name, "--prior", name, *of_kind),
    ]  # fmt: skip
    first = draw(st.integers(0, len(reads) - 1))
    commands = [reads[first]]
    if first == 0:
        commands += draw(_of_a_run(name))
    if draw(st.integers(0, 3)) == 0:
        commands[0] = (*commands[0], "--json") if "--json" not in commands[0] else commands[0]
    return Case({name: content}, tuple(commands))


def _algorithm(kind: str) -> st.SearchStrategy[Command]:
    fit = ("gtm", "crh", "catd") if kind == "numeric" else tuple(CATALOGUE)
    named = st.sampled_from(fit).map(lambda name: ("--algorithm", name))
    return st.one_of(st.just(()), named)


@st.composite
def _of_a_run(draw: Draw, claims: str) -> list[Command]:
    """Commands that take a run, and claims for those which take some."""
    what = draw(st.sampled_from(FIGURES))
    of_it = {"decision": ("--entity", draw(odd_texts))}.get(what, ())
    truth = ("--truth", claims) if what in ("calibration", "accuracy") else ()
    suffix = draw(st.sampled_from(("svg", "svg", "png", "html")))
    commands: list[Command] = [
        ("ask", "run"),
        ("explain", "run", "--", draw(odd_texts)),
        ("explain", "run", "a"),
        ("evaluate", "run", claims),
        ("plot", "run", what, "--out", f"figure.{suffix}", *of_it, *truth),
        ("judge", "run", claims, "--out", "judged"),
        ("update", "run", claims, "--out", "updated", "--json"),
    ]
    chosen = draw(st.lists(st.sampled_from(commands), min_size=1, max_size=3, unique=True))
    if draw(st.integers(0, 9)) == 0:  # it takes the longest
        chosen.append(("report", "run", "--out", "page.html"))
    return chosen


def tampered_runs(runs: Mapping[str, Mapping[str, bytes]]) -> st.SearchStrategy[Case]:
    """Runs of which a file or a field was changed, through the commands that load them."""

    @st.composite
    def cases(draw: Draw) -> Case:
        name = draw(st.sampled_from(sorted(runs)))
        files = draw(tampered(runs[name], runs))
        claims = runs[name]["../claims.csv"]
        inside = {
            f"run/{file}": content for file, content in files.items() if not file.startswith("..")
        }
        commands = tuple(draw(_of_a_run("claims.csv")))
        return Case({**inside, "claims.csv": claims}, commands)

    return cases()


EXTREMES = (
    "0", "-1", "1", "2", "nan", "inf", "-inf", "1e308", "1e-320", "0.5", "1.5", "", " ", "x",
    "9223372036854775808", "-9223372036854775808", "\x1b[31m", "<b>", "a=b", "a=b\nc=d", "=",
    "\udcff",
)  # fmt: skip
NOT_HERE = frozenset({"demo", "study"})
"""Commands that take too long to be called often, or that take no input."""

ARGUMENTS: dict[str, Command] = {
    **dict.fromkeys(("discover", "check", "profile", "compare"), ("claims.csv",)),
    "tune": ("claims.csv", "--truth", "claims.csv"),
    **dict.fromkeys(("judge", "update", "evaluate"), ("run", "claims.csv")),
    **dict.fromkeys(("ask", "estimate", "report"), ("run",)),
    "diff": ("run", "run"),
    "explain": ("run", "a"),
    "export": ("run", "new.csv"),
    "plot": ("run", "decision"),
    "generate": (),
}


def parameters(runs: Mapping[str, Mapping[str, bytes]]) -> st.SearchStrategy[Case]:
    """Every option of every command, with values that nobody would give."""

    @st.composite
    def cases(draw: Draw) -> Case:
        run = runs[draw(st.sampled_from(sorted(runs)))]
        name = draw(st.sampled_from(sorted(set(main.commands) - NOT_HERE)))
        options = [p for p in main.commands[name].params if isinstance(p, click.Option)]
        given: list[str] = []
        for option in draw(st.lists(st.sampled_from(options), max_size=3, unique_by=id)):
            given.append(option.opts[0])
            if not option.is_flag:
                given.append(draw(_values(option)))
        arguments = list(ARGUMENTS[name])
        if arguments and draw(st.integers(0, 7)) == 0:
            arguments[-1] = draw(st.sampled_from((*EXTREMES, "run", ".", "claims.csv")))
        files = {
            f"run/{file}": content for file, content in run.items() if not file.startswith("..")
        }
        return Case(
            {**files, "claims.csv": run["../claims.csv"]}, ((name, *given, "--", *arguments),)
        )

    return cases()


def _values(option: click.Option) -> st.SearchStrategy[str]:
    if option.name == "out":
        return st.sampled_from(("new", "new.svg", "new.html", "run", ".", "", "claims.csv", "a/b"))
    known = ("claims.csv", "run", "entity=entity,value=value", "8GB", "utf-16", "veracity")
    return st.sampled_from((*EXTREMES, *known))


@st.composite
def shapes(draw: Draw) -> Case:
    """Claims that are very wide, very long in one place, or all alike."""
    n = draw(st.sampled_from((1, 2, 300, 3_000)))
    large = draw(st.sampled_from(("x", "\x1b[31m", '"', "9", "<b>", "\n"))) * 100_000
    header, row = "source,entity,value\n", "a,b,c\n"
    content = draw(
        st.sampled_from(
            (
                header + row * n,
                header + "".join(f"s{i},b,c\n" for i in range(n)),
                header + "".join(f"a,e{i},c\n" for i in range(n)),
                header + "".join(f"a,b,v{i}\n" for i in range(n)),
                header + "".join(f"s{i % 3},b,{10.0 ** (i % 300)}\n" for i in range(n)),
                ",".join(["source", "entity", "value", *(f"c{i}" for i in range(n))]) + "\n",
                f"source,{large},value\n{row}",
                f"{large}\n{row}",
                f"{header}a,b,{large}\nb,b,c\n",
                f"{header}{large},b,c\nb,b,c\n",
                f"{header}a,{large},c\nb,{large},d\n",
                large,
                "",
                "\n" * n,
                header,
            )
        )
    )
    kind = draw(st.sampled_from(("categorical", "multiple", "numeric")))
    return draw(_cases_with("claims.csv", content.encode(), kind))
