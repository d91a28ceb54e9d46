"""Runs that were changed by somebody who knows how they are sealed: the digests are right again."""

from __future__ import annotations

import hashlib
import io
import json
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from attack.case import Case
from attack.deep import FIGURES
from attack.names import ODD
from veracity.result.saved import sealed

ANY = (None, True, 0, 1, -1, 0.5, 2, 1e308, 10**30, "", "x", "nan", [], {}, [1], {"a": 1}, [[]])
Runs = Mapping[str, Mapping[str, bytes]]


def forged(runs: Runs, rng: random.Random) -> Case:
    """A run with one field, column or array changed, through commands that load it."""
    kind = rng.choice(sorted(runs))
    files = {name: content for name, content in runs[kind].items() if "/" not in name}
    for _ in range(rng.choice((1, 1, 2))):
        _change(rng, files)
    files["run.json"] = _sealed_anew(files)
    inside = {f"run/{name}": content for name, content in files.items()}
    claims = runs[kind]["../claims.csv"]
    figure = rng.choice(FIGURES)
    of_it = ("--entity", "x") if figure == "decision" else ()
    commands = (
        ("ask", "run"),
        ("explain", "run", "x"),
        ("explain", "run", "x", "--json"),
        ("evaluate", "run", "claims.csv"),
        ("judge", "run", "claims.csv", "--out", "judged"),
        ("update", "run", "claims.csv", "--out", "updated"),
        ("plot", "run", figure, "--out", "figure.svg", *of_it),
        (
            "export",
            "run",
            "table.csv",
            "--table",
            rng.choice(("truths", "facts", "records", "copies")),
        ),
        ("diff", "run", "run"),
    )
    chosen = rng.sample(commands, rng.choice((1, 2, 3)))
    if rng.random() < 0.05:
        chosen.append(("report", "run", "--out", "page.html"))
    return Case({**inside, "claims.csv": claims}, tuple(chosen))


def _sealed_anew(files: Mapping[str, bytes]) -> bytes:
    told = json.loads(files["run.json"])
    if not isinstance(told, dict):
        return files["run.json"]
    told["digests"] = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in files.items()
        if name != "run.json"
    }
    try:
        return json.dumps(sealed(told)).encode()
    except (TypeError, ValueError):
        return json.dumps(told).encode()


def _change(rng: random.Random, files: dict[str, bytes]) -> None:
    tables = sorted(name for name in files if name.endswith(".parquet"))
    how = rng.random()
    if how < 0.45:
        files["run.json"] = _with_a_field(rng, files["run.json"])
    elif how < 0.85:
        name = rng.choice(tables)
        files[name] = _with_a_column(rng, files[name])
    elif "fitted.npz" in files:
        files["fitted.npz"] = _with_an_array(rng, files["fitted.npz"])


def _with_a_field(rng: random.Random, content: bytes) -> bytes:
    told = json.loads(content)
    inner: Any = told
    while True:
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key = rng.choice(keys)
        deeper = isinstance(inner[key], dict | list) and len(inner[key]) and rng.random() < 0.75
        if not deeper:
            break
        inner = inner[key]
    if rng.random() < 0.15:
        del inner[key]
    elif isinstance(inner[key], int | float) and rng.random() < 0.5:
        inner[key] = rng.choice(
            (-inner[key], inner[key] + 1, inner[key] * 10**6, inner[key] / 3, 2**63)
        )
    else:
        inner[key] = rng.choice((*ANY, rng.choice(ODD)))
    return json.dumps(told).encode()


def _with_a_column(rng: random.Random, content: bytes) -> bytes:
    table = pl.read_parquet(io.BytesIO(content))
    marks = pl.read_parquet_metadata(io.BytesIO(content))
    if not table.columns:
        return content
    name = rng.choice(table.columns)
    column = table[name]
    changed = table
    try:
        changed = table.with_columns(_other(rng, column).alias(name))
    except (pl.exceptions.PolarsError, TypeError, OverflowError, ValueError, IndexError):
        changed = rng.choice((table.drop(name), table.rename({name: "x"}), table.reverse()))
    if rng.random() < 0.1:
        changed = rng.choice(
            (table.head(0), table.head(1), pl.concat([table, table]), table.select([]))
        )
    target = io.BytesIO()
    own = {key: value for key, value in marks.items() if not key.startswith("ARROW")}
    changed.write_parquet(target, metadata=own)
    return target.getvalue()


def _other(rng: random.Random, column: pl.Series) -> pl.Series:
    """Another column of the same length: of another type, in another order, or of odd cells."""
    size = len(column)
    odd = rng.choice(
        (-1, 0, 2**31, 2**62, 0.5, float("nan"), float("inf"), 1e308, None, "x", rng.choice(ODD))
    )
    if rng.random() < 0.4 and size:  # one cell only, in the column's own type
        at = rng.randrange(size)
        return column.scatter(at, pl.Series([odd]).cast(column.dtype)[0])
    return rng.choice(
        (
            column.reverse,
            lambda: column.shuffle(seed=rng.randrange(99)),
            lambda: column.cast(
                rng.choice((pl.String, pl.Int8, pl.Float32, pl.UInt64, pl.Boolean))
            ),
            lambda: column.cast(pl.Categorical),
            lambda: pl.Series([odd] * size),
            lambda: pl.Series([[1]] * size),
            lambda: pl.Series([column[0]] * size, dtype=column.dtype),
        )
    )()


def _with_an_array(rng: random.Random, content: bytes) -> bytes:
    arrays = dict(np.load(io.BytesIO(content), allow_pickle=False))
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    changes = (
        lambda: array[:0],
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: array.astype(str),
        lambda: array.reshape(-1, 1),
        lambda: -array - 1,
        lambda: np.full_like(array, rng.choice((0, 1, 7))),
        lambda: np.full(array.shape, rng.choice((np.nan, np.inf, -1.0, 1e308))),
        lambda: np.zeros((3, 3)),
    )
    try:
        arrays[name] = rng.choice(changes)()
    except (TypeError, ValueError, IndexError):
        del arrays[name]
    target = io.BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()
