"""Print what Spark costs, as ratios measured in one run on two cores of one machine.

The yardstick is Spark's own majority vote on the same file in the same session, written to Parquet
as our truths are. Sweeps are compared with those of `Local`. Start, imports and compiling are left
out: a small run comes first.

    python benchmarks/spark.py                       10^6 claims
    python benchmarks/spark.py --claims 10000000     10^7
    python benchmarks/spark.py --growth 1000000 10000000    how time and the driver's memory grow
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data import draw, write
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import veracity

WARM = 100_000
"""Claims of the small run that comes first: enough for compiled kernels."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=1_000_000)
    parser.add_argument("--growth", type=int, nargs="+", help="sizes, of claims with five labels")
    parser.add_argument("--folder", type=Path, help="where claims are, or are drawn to")
    parser.add_argument("--memory", default="4g", help="of the one Java process")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if options.one:
            one_size(folder, options.one, options.memory)
        elif options.growth:
            growth(folder, options.growth, options.memory)
        else:
            ratios(folder, options.claims, options.memory)


def session_of(memory: str) -> SparkSession:
    from veracity.engines.spark import OWN_SETTINGS

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    own = {"spark.driver.memory": memory, "spark.driver.host": "localhost"}
    builder = SparkSession.builder.master("local[2]").config(map=OWN_SETTINGS | own)
    session = builder.getOrCreate()
    claims, _ = draw(WARM)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "warm.parquet"
        claims.write_parquet(path)
        vote(session, path, Path(folder) / "vote")
        default(session, path, Path(folder) / "default")
    return session


def vote(session: SparkSession, path: Path, out: Path) -> None:
    """The value that most sources name, of every item, as Spark users would write it."""
    claims = session.read.parquet(str(path))
    item = ("entity", "attribute")
    counted = claims.groupBy(*item, "value").agg(f.count_distinct("source").alias("n"))
    best = f.max_by("value", "n").alias("value"), f.max("n").alias("n")
    counted.groupBy(*item).agg(*best).write.mode("overwrite").parquet(str(out))


def default(session: SparkSession, path: Path, out: Path) -> veracity.Result:
    result = veracity.discover(session.read.parquet(str(path)))
    result.truths.write.mode("overwrite").parquet(str(out))
    return result


def ratios(folder: Path, n_claims: int, memory: str) -> None:
    path = write(folder, n_claims)
    session = session_of(memory)
    by_vote, _ = timed(lambda: vote(session, path, folder / "vote"))
    ours, result = timed(lambda: default(session, path, folder / "default"))
    local = veracity.discover(path)
    sweep, local_sweep = (
        statistics.median(row["seconds"] for row in one.run.trace) for one in (result, local)
    )
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{n_claims:,} claims, {os.cpu_count()} cores, load {load}")
    print(f"seconds by phase: {dict(result.run.seconds)}")
    goal = 1.5 * local_sweep + 0.5
    for measure, one, other, most in (
        ("whole default / Spark's vote", ours, by_vote, "4 times"),
        ("a sweep / a sweep of Local", sweep, local_sweep, f"{goal:.2f} s"),
    ):
        print(f"| {measure} | {one:.2f} s / {other:.2f} s | {one / other:.2f} | at most {most} |")


def one_size(folder: Path, n_claims: int, memory: str) -> None:
    """Seconds of the default, and the driver's memory before and after, in a process of its own."""
    path = write(folder, n_claims, "few labels")
    session = session_of(memory)
    before = peak()
    seconds, result = timed(lambda: default(session, path, folder / f"default-{n_claims}"))
    parts = len(result.encoded.parts)
    print(f"{n_claims} {seconds:.2f} {before:.0f} {peak():.0f} {parts}")


def growth(folder: Path, sizes: list[int], memory: str) -> None:
    found = []
    for size in sizes:
        command = [sys.executable, __file__, "--one", str(size), "--folder", str(folder)]
        told = subprocess.run(
            [*command, "--memory", memory], capture_output=True, text=True, check=True
        ).stdout.split()
        found.append([float(word) for word in told[-5:]])
        n, seconds, before, after, parts = found[-1]
        driver = f"driver {before:.0f} to {after:.0f} MB"
        print(f"| {n:,.0f} claims | {parts:.0f} parts | {seconds:.1f} s | {driver} |")
    (n_first, first, *_), (n_last, last, *_) = found[0], found[-1]
    exponent = math.log(last / first) / math.log(n_last / n_first)
    print(f"| growth | exponent {exponent:.2f} | at most 1.1 |")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def peak() -> float:
    """The most memory the driver's Python had at a time, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


if __name__ == "__main__":
    main()
