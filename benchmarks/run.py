"""Print how long things take, as ratios measured in one run: `make bench`.

Machines are shared and noisy, so seconds mean little and ratios more; each is a median of repeats.
"""

from __future__ import annotations

import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

import veracity
from veracity.algorithms import ALGORITHMS
from veracity.discovery import answer, prepare, say_nothing
from veracity.engines import Local

REPEATS = 3


def median_seconds(work: Callable[[], object]) -> float:
    """The median over some repeats, after one that warms up."""
    work()
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def vote_in_sql(path: Path) -> Callable[[], object]:
    """A majority vote as a column database takes it."""
    query = f"""
        select entity, attribute, arg_max(value, n) as value from (
            select entity, attribute, value, count(distinct source) as n
            from '{path}' group by all
        ) group by all
    """
    return lambda: duckdb.sql(query).fetchnumpy()


def main() -> None:
    """Draw a million claims, and print one row a measure."""
    warnings.simplefilter("ignore", veracity.errors.NotConverged)
    drawn = veracity.synthetic.Synthetic(sources=50, items=40_000).draw(seed=1)
    print(
        f"{len(drawn.claims):,} claims, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print("\n| measure | seconds | against |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.parquet"
        drawn.claims.write_parquet(path)
        in_sql = median_seconds(vote_in_sql(path))
        print(f"| vote in DuckDB, Parquet to answer | {in_sql:.2f} | |")
        whole = median_seconds(lambda: veracity.discover(path))
        ratio = whole / in_sql
        print(f"| LTD-RBM, Parquet to answer | {whole:.2f} | {ratio:.1f} x the vote in DuckDB |")
    prepared = prepare(drawn.claims, tell=say_nothing)
    seconds = {
        name: median_seconds(lambda make=make: answer(prepared, make(), Local(), say_nothing))
        for name, make in ALGORITHMS.items()
        if "categorical" in make().kinds
    }
    vote = seconds["majority-vote"]
    for name, took in sorted(seconds.items(), key=lambda row: row[1]):
        print(f"| {name}, from encoded claims | {took:.2f} | {took / vote:.1f} x our vote |")


if __name__ == "__main__":
    main()
