"""Options of every command two at a time, with values that make sense, on claims that are sound."""

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

from attack.case import Case
from veracity.algorithms import CATALOGUE
from veracity.cli import main
from veracity.cli.options import KIND_NAMES

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


def _written(frame: pl.DataFrame, form: str) -> bytes:
    target = io.BytesIO()
    getattr(frame, f"write_{form}")(target)
    return target.getvalue()


@functools.cache
def _scene() -> dict[str, bytes]:
    """Claims in many forms, and tables beside them."""
    frame = pl.read_csv(CLAIMS)
    files = {**TEXTS, "claims.parquet": _written(frame, "parquet")}
    files["claims.xlsx"] = _written(frame, "excel")
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        path = Path(folder, "claims.db")
        with sqlite3.connect(path) as lite:
            lite.execute(f"create table claims ({', '.join(map(repr, frame.columns))})")
            lite.executemany("insert into claims values (?, ?, ?, ?, ?, ?)", frame.rows())
            lite.execute("create table other as select * from claims where source = 'a'")
        lite.close()
        files["claims.db"] = path.read_bytes()
        path = Path(folder, "claims.duckdb")
        with duckdb.connect(path) as duck:
            duck.register("frame", frame.to_arrow())
            duck.execute("create table claims as select * from frame")
        files["claims.duckdb"] = path.read_bytes()
    return files


WHERE = (
    ("claims.csv",), ("claims.csv",), ("claims.csv",), ("claims.parquet",), ("claims.xlsx",),
    ("claims.db",), ("sqlite:///claims.db#claims",), ("claims.duckdb",),
    ("sqlite:///claims.db#select * from other",), ("folder",), ("wide.csv",),
    ("survey.csv",), ("facts.csv",), ("numbers.csv",), ("annotated.json",),
    ("claims.csv", "claims.parquet"), ("folder/a.csv", "folder/b.csv"), ("wide.csv", "survey.csv"),
    ("claims.csv", "claims.xlsx", "folder"), ("run",), ("run/facts.parquet",),
)  # fmt: skip
ENDINGS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet")
EXPORTED = ("truths", "facts", "sources", "claims", "attributes", "findings", "alternatives",
            "features", "records", "copies", "changes", "confusions", "probabilities",
            "difficulty")  # fmt: skip
SENSIBLE: dict[str, tuple[str, ...]] = {
    "--table": EXPORTED,
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
    "--theme": ("light", "dark"),
}  # fmt: skip
"""What one may well say, by option; some of it suits other claims only."""

FIGURES = ("sources", "agreement", "plausibility", "calibration", "accuracy", "decision",
           "confusions")  # fmt: skip
NOT_HERE = frozenset({"demo", "study"})


def pairs(runs: Mapping[str, Mapping[str, bytes]], rng: random.Random) -> Case:
    """A command with two options, or three, and what else it needs."""
    run = runs[rng.choice(sorted(runs))]
    files = {f"run/{name}": content for name, content in run.items() if not name.startswith("..")}
    name = rng.choice([*sorted(set(main.commands) - NOT_HERE), "discover", "discover"])
    options = [one for one in main.commands[name].params if isinstance(one, click.Option)]
    chosen = [one for one in options if one.required]
    others = [one for one in options if not one.required]
    chosen += rng.sample(others, min(len(others), rng.choice((1, 2, 2, 2, 3))))
    given = [word for option in chosen for word in _said(rng, option)]
    commands = [(name, *_arguments(rng, name), *given)]
    if name in ("discover", "judge", "update") and "new" in given[:-1] and "--out" in given:
        commands += rng.sample(
            (("ask", "new"), ("diff", "run", "new"), ("judge", "new", "wide.csv")), 2
        )
    return Case({**_scene(), **files}, tuple(commands))


def _said(rng: random.Random, option: click.Option) -> list[str]:
    if option.is_flag:
        return [option.opts[0]]
    said = rng.choice(SENSIBLE[option.opts[0]])
    return [f"--normalise={said}"] if option.name == "normalise" else [option.opts[0], said]


def _arguments(rng: random.Random, command: str) -> tuple[str, ...]:
    if command in ("discover", "check", "profile", "compare", "tune"):
        return rng.choice(WHERE)
    of_a_run: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(("judge", "update"), rng.choice(WHERE)),
        "evaluate": (rng.choice(SENSIBLE["--truth"]),),
        "diff": (rng.choice(("run", "folder")),),
        "explain": (rng.choice(("x", "a", "nobody")), *rng.choice(((), ("p",), ("q",)))),
        "export": (f"new.{rng.choice(ENDINGS)}",),
        "plot": (rng.choice(FIGURES),),
    }
    return () if command == "generate" else ("run", *of_a_run.get(command, ()))
