"""Cases about options: two of every command at a time, odd values of each, and damaged runs."""

from __future__ import annotations

import functools
import io
import json
import random
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click
import duckdb
import polars as pl

from attack.case import Case, Command
from veracity.algorithms import CATALOGUE
from veracity.cli import main
from veracity.cli.options import KIND_NAMES

Runs = Mapping[str, Mapping[str, bytes]]

CLAIMS = b"""source,entity,attribute,value,when,sure
a,x,p,1,2024-01-01,1
b,x,p,2,2024-01-02,0.5
c,x,p,1,2024-01-03,2
a,y,p,3,2024-01-01,1
b,y,p,3.0,2024-01-05,1
b,y,p,4,2024-01-02,1
c,y,q,19:05,2024-01-01,3
a,y,q,7:05 PM,2024-01-01,1
c,z,q,8:00,2024-01-01,1
"""
ANNOTATED = [
    {"id": 1, "data": {"text": "x"}, "annotations": [
        {"completed_by": {"email": "a"}, "result": [{"value": {"choices": ["p", "q"]}}]},
        {"completed_by": {"email": "b"}, "result": [{"value": {"choices": ["p"]}}]}]},
    {"id": 2, "data": {"text": "y"}, "annotations": [
        {"completed_by": {"email": "a"}, "result": [{"value": {"choices": ["q"]}}]}]},
]  # fmt: skip
TEXTS = {
    "claims.csv": CLAIMS,
    "folder/a.csv": b"entity,p,q\nx,1,2\ny,3,4\n",
    "folder/b.csv": b"entity,p,q\nx,1,3\ny,3,\n",
    "wide.csv": b"source,entity,p,q\na,x,1,2\nb,x,1,3\nc,x,2,3\na,y,4,5\nb,y,4,\n",
    "survey.csv": b"entity,a,b,c\nx,1,2,1\ny,3,3,\nz,,4,5\n",
    "facts.csv": b"source,fact,claim\na,x,true\nb,x,false\nc,x,true\na,y,false\nb,y,true\n",
    "numbers.csv": b"source,entity,value\na,x,1.5\nb,x,2\nc,x,1\na,y,3\nb,y,4\nc,y,100\n",
    "annotated.json": json.dumps(ANNOTATED).encode(),
    "truth.csv": b"entity,attribute,value\nx,p,1\ny,q,19:05\nnobody,p,1\n",
    "plain.csv": b"entity,value\nx,1\ny,4\n",
    "prior.csv": b"source,kind,tpr,fpr,fixed\na,press,0.9,0.1,true\nb,,0.6,,\n",
    "sources.csv": b"source,age,land\na,1,de\nb,2,fr\nc,,de\n",
    "items.csv": b"entity,size,sort\nx,1,u\ny,2,v\nz,3,u\n",
}


@functools.cache
def scene() -> dict[str, bytes]:
    """Return claims in many forms, and tables beside them."""
    frame, files = pl.read_csv(CLAIMS), dict(TEXTS)
    for name, form in (("claims.parquet", "parquet"), ("claims.xlsx", "excel")):
        target = io.BytesIO()
        getattr(frame, f"write_{form}")(target)
        files[name] = target.getvalue()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        with sqlite3.connect(Path(folder, "claims.db")) as lite:
            lite.execute(f"create table claims ({', '.join(map(repr, frame.columns))})")
            lite.executemany("insert into claims values (?, ?, ?, ?, ?, ?)", frame.rows())
            lite.execute("create table other as select * from claims where source = 'a'")
        lite.close()
        with duckdb.connect(Path(folder, "claims.duckdb")) as duck:
            duck.register("frame", frame.to_arrow())
            duck.execute("create table claims as select * from frame")
        files |= {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    return files


WHERE: tuple[Command, ...] = (
    *(("claims.csv",),) * 3, ("claims.parquet",), ("claims.xlsx",),
    ("claims.db",), ("sqlite:///claims.db#claims",), ("claims.duckdb",),
    ("sqlite:///claims.db#select * from other",), ("folder",), ("wide.csv",),
    ("survey.csv",), ("facts.csv",), ("numbers.csv",), ("annotated.json",),
    ("claims.csv", "claims.parquet"), ("folder/a.csv", "folder/b.csv"), ("wide.csv", "survey.csv"),
    ("claims.csv", "claims.xlsx", "folder"), ("run",), ("run/facts.parquet",),
)  # fmt: skip
ENDINGS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet")
TABLES = ("truths", "facts", "sources", "claims", "attributes", "findings", "alternatives",
          "features", "records", "copies", "changes", "confusions", "probabilities",
          "difficulty")  # fmt: skip
FIGURES = ("sources", "agreement", "confusions", "plausibility", "decision",
           "calibration", "accuracy")  # fmt: skip
SENSIBLE: dict[str, Command] = {
    "--table": TABLES,
    "--out": ("new", "run", "claims.csv", "folder", *(f"new.{e}" for e in (*ENDINGS, "svg")),
              "sqlite:///claims.db", "sqlite:///made.db", "duckdb:///made.duckdb", "made.db",
              "duckdb:///claims.duckdb", "duckdb:///made.duckdb#s"),
    "--algorithm": tuple(CATALOGUE),
    "--algorithms": ("majority-vote,mle", "gtm,crh", "veracity", "dawid-skene,one-coin,sums"),
    "--set": ("strength=2", "tolerance=1e-3", "max_rounds=1", "prior=0.5", "seed=7", "items=30",
              "accuracy=0.999", "copying=1", "frequency=0.001", "copy_variability=1e9"),
    "--grid": ("strength=2,8", "max_rounds=1,2", "tolerance=1e-3"),
    "--kind": KIND_NAMES,
    "--columns": (
        "time=when", "weight=sure", "time=when,weight=sure", "weight=value", "source=a",
        "entity=entity+attribute", "source=entity,entity=source", "attribute=source",
        "value=p+q", "value=when+value", "value=claim,entity=fact",
        "entity=id,source=annotations.completed_by.email,"
        "value=annotations.result.value.choices",
    ),
    "--wide": ("attributes", "sources", "entities", "samples"),
    "--source-from": ("filename", "sheet", "table"),
    "--encoding": ("utf-8", "latin-1", "utf-16", "ascii", "cp1252", "utf-8-sig"),
    "--known": ("truth.csv", "plain.csv", "claims.csv", "run", "facts.csv", "claims.db", "folder"),
    "--truth": ("truth.csv", "plain.csv", "claims.csv", "run", "facts.csv", "numbers.csv"),
    "--normalise": ("yes", "yes", "p=number", "q=time,p=text", "value=date", "nobody=time"),
    "--no-value": ("1", "n/a", "", "p"),
    "--truth-columns": ("value=value", "entity=entity,value=when", "value=nothing"),
    "--enough": ("0.5", "0.999"),
    "--prior": ("prior.csv", "claims.csv", "sources.csv"),
    "--source-features": ("sources.csv", "claims.csv", "run/sources.parquet"),
    "--item-features": ("items.csv", "truth.csv", "run/truths.parquet"),
    "--min-plausibility": ("0", "1", "0.7"),
    "--seed": ("0", "7"),
    "--threads": ("1", "3"),
    "--memory": ("1KB", "8GB", "1000B"),
    "--spill": ("new", "folder"),
    "--engine": ("local",),
    "--master": ("local[1]",),
    "--folds": ("2", "3"),
    "--budget": ("1", "100"),
    "--figure": ("figure.svg", "figure.html", "figure.png"),
    "--threshold": ("0", "0.5", "1"),
    "--tolerance": ("0", "1", "1e9"),
    "--entity": ("x", "y", "nobody"),
    "--attribute": ("p", "q", "nobody"),
}  # fmt: skip
"""Values that make sense, by option; some of them suit other claims only."""

EXTREMES = (
    "0", "-1", "1", "2", "nan", "inf", "-inf", "1e308", "1e-320", "0.5", "1.5", "", " ", "x",
    "9223372036854775808", "-9223372036854775808", "\x1b[31m", "<b>", "a=b", "a=b\nc=d", "=",
    "\udcff", "claims.csv", "run", "entity=entity,value=value", "8GB", "utf-16", "veracity",
)  # fmt: skip
"""Values that nobody would give."""

COMMANDS = sorted(set(main.commands) - {"demo", "study"})
"""Commands but for those that take long, and take no input."""


def options_of(command: str) -> list[click.Option]:
    """Return the options of a command."""
    return [one for one in main.commands[command].params if isinstance(one, click.Option)]


def run_of(rng: random.Random, runs: Runs) -> dict[str, bytes]:
    """Return the files of one of the runs, with its claims."""
    return dict(runs[rng.choice(sorted(runs))])


def arguments(rng: random.Random, command: str) -> Command:
    """Return arguments that suit a command."""
    if command in ("discover", "check", "profile", "compare", "tune"):
        return rng.choice(WHERE)
    of_a_run: dict[str, Command] = {
        **dict.fromkeys(("judge", "update"), rng.choice(WHERE)),
        "evaluate": (rng.choice(SENSIBLE["--truth"]),),
        "diff": (rng.choice(("run", "folder")),),
        "explain": (rng.choice(("x", "a", "nobody")), *rng.choice(((), ("p",), ("q",)))),
        "export": (f"new.{rng.choice(ENDINGS)}",),
        "plot": (rng.choice(FIGURES),),
    }
    return () if command == "generate" else ("run", *of_a_run.get(command, ()))


def pairs(runs: Runs, rng: random.Random) -> Case:
    """Return a command with two options, or three, and what else it needs."""
    name = rng.choice([*COMMANDS, "discover", "discover"])
    chosen = [one for one in options_of(name) if one.required]
    others = [one for one in options_of(name) if not one.required]
    chosen += rng.sample(others, min(len(others), rng.choice((1, 2, 2, 2, 3))))
    given: list[str] = []
    for option in chosen:
        said = rng.choice(SENSIBLE.get(option.opts[0], EXTREMES))
        if option.is_flag:
            given.append(option.opts[0])
        elif option.name == "normalise":
            given.append(f"--normalise={said}")
        else:
            given += [option.opts[0], said]
    commands: list[Command] = [(name, *arguments(rng, name), *given)]
    if name in ("discover", "judge", "update") and "new" in given[:-1] and "--out" in given:
        onwards: list[Command] = [
            ("ask", "new"),
            ("diff", "run", "new"),
            ("judge", "new", "wide.csv"),
        ]
        commands += rng.sample(onwards, 2)
    return Case(run_of(rng, runs) | scene(), tuple(commands))


def parameters(runs: Runs, rng: random.Random) -> Case:
    """Return a command whose options have odd values."""
    name = rng.choice(COMMANDS)
    some = options_of(name)
    given = [word for one in some if one.required for word in (one.opts[0], "new")]
    for option in rng.sample(some, min(len(some), rng.choice((1, 1, 2, 3)))):
        given.append(option.opts[0])
        if not option.is_flag:
            paths = ("new", "new.svg", "new.html", "run", ".", "", "claims.csv", "a/b")
            given.append(rng.choice(paths if option.name == "out" else EXTREMES))
    fit = arguments(rng, name)
    if fit and rng.random() < 0.1:
        fit = (*fit[:-1], rng.choice((*EXTREMES, ".")))
    return Case(scene() | run_of(rng, runs), ((name, *given, "--", *fit),))


def tampered(runs: Runs, rng: random.Random) -> Case:
    """Return a run with one file damaged, gone, or that of another run, and commands on it."""
    files, other = run_of(rng, runs), run_of(rng, runs)
    name = rng.choice(sorted(one for one in files if one.startswith("run/")))
    match rng.choice(("damage", "damage", "away", "swap")):
        case "damage":
            at = rng.randrange(max(len(files[name]), 1))
            put = rng.randbytes(rng.randint(1, 4))  # of the same length: sizes are looked at first
            files[name] = files[name][:at] + put + files[name][at + len(put) :]
        case "away":
            del files[name]
        case "swap":
            files[name] = other.get(name, b"")
    figure = rng.choice(FIGURES)
    truth = ("--truth", "claims.csv") if figure in ("calibration", "accuracy") else ()
    of_it = ("--entity", "a") if figure == "decision" else ()
    commands: list[Command] = [
        ("ask", "run"),
        ("explain", "run", "a"),
        ("evaluate", "run", "claims.csv"),
        ("plot", "run", figure, "--out", "figure.svg", *of_it, *truth),
        ("judge", "run", "claims.csv", "--out", "judged"),
        ("update", "run", "claims.csv", "--out", "updated", "--json"),
        ("export", "run", "table.csv", "--table", rng.choice(TABLES)),
        ("report", "run", "--out", "page.html"),
    ]
    weights = (2, 2, 2, 2, 2, 2, 2, 1)
    return Case(files, tuple(dict.fromkeys(rng.choices(commands, weights, k=3))))
