"""Print what Spark costs, as ratios measured in one run on two cores of one machine.

The yardstick is Spark's own majority vote on the same file in the same session, written to Parquet
as our truths are. Sweeps are compared with those of `Local`. Start, imports and compiling are left
out: a small run comes first. CPU-seconds are those of this process and all below it: on a machine
with other work they tell more than seconds do.

    python benchmarks/spark.py                       10^6 claims
    python benchmarks/spark.py --claims 10000000     10^7
    python benchmarks/spark.py --growth 1000000 10000000    how time and the driver's memory grow
"""

from __future__ import annotations

import argparse
import contextlib
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
from typing import Any, NamedTuple

from data import draw, write
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import veracity
from veracity.algorithms.base import Turn

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


class Took(NamedTuple):
    """What some work took: seconds, and CPU-seconds of all processes."""

    wall: float
    cpu: float
    found: Any


def ratios(folder: Path, n_claims: int, memory: str) -> None:
    path = write(folder, n_claims)
    session = session_of(memory)
    by_vote = timed(lambda: vote(session, path, folder / "vote"))
    ours = timed(lambda: default(session, path, folder / "default"))
    result, local = ours.found, veracity.discover(path)
    sweep, local_sweep = (
        statistics.median(row["seconds"] for row in one.run.trace) for one in (result, local)
    )
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{n_claims:,} claims, {os.cpu_count()} cores, load {load}")
    print(f"seconds by phase: {dict(result.run.seconds)}")
    print(f"rounds: {result.run.rounds}, parts: {len(result.encoded.parts)}")
    for what, one, other in (
        ("seconds", ours.wall, by_vote.wall),
        ("CPU-seconds", ours.cpu, by_vote.cpu),
    ):
        told = f"{one:.1f} / {other:.1f} {what}"
        print(f"| whole default / Spark's vote | {told} | {one / other:.2f} | at most 4 |")
    goal = 1.5 * local_sweep + 0.5
    print(f"| a sweep | {sweep:.2f} s; Local {local_sweep:.2f} s | at most {goal:.2f} s |")
    print(f"| CPU-seconds of ten sweeps | {ten_sweeps(result):.1f} | |")


def ten_sweeps(result: veracity.Result) -> float:
    """What ten of the rounds take that the default learns by, from parts that are held."""
    fitted, blocks = result.fitted, result.encoded.blocks
    step = next(
        phase.steps[0]
        for phase in fitted.algorithm.phases(fitted.state)
        if phase.name == "accuracies"
    )
    with veracity.Spark().hold(blocks) as held:
        held.sweep(step.look, fitted.state, Turn())  # derives what the others only read
        return timed(lambda: [held.sweep(step.look, fitted.state, Turn()) for _ in range(10)]).cpu


def one_size(folder: Path, n_claims: int, memory: str) -> None:
    """Seconds of the default, and the driver's memory before and after, in a process of its own."""
    path = write(folder, n_claims, "few labels")
    session = session_of(memory)
    before = peak()
    took = timed(lambda: default(session, path, folder / f"default-{n_claims}"))
    parts = len(took.found.encoded.parts)
    print(f"{n_claims} {took.wall:.2f} {took.cpu:.2f} {before:.0f} {peak():.0f} {parts}")


def growth(folder: Path, sizes: list[int], memory: str) -> None:
    found = []
    for size in sizes:
        drawing = [
            str(Path(__file__).with_name("data.py")),
            str(folder),
            str(size),
            "few labels",
            "-",
        ]
        subprocess.run([sys.executable, *drawing], check=True)  # not in the driver's memory
        command = [sys.executable, __file__, "--one", str(size), "--folder", str(folder)]
        told = subprocess.run(
            [*command, "--memory", memory], capture_output=True, text=True, check=True
        ).stdout.split()
        found.append([float(word) for word in told[-6:]])
        n, seconds, cpu, before, after, parts = found[-1]
        driver = f"driver {before:.0f} to {after:.0f} MB"
        took = f"{seconds:.1f} s, {cpu:.1f} CPU-s"
        print(f"| {n:,.0f} claims | {parts:.0f} parts | {took} | {driver} |", flush=True)
    (n_first, *first), (n_last, *last) = found[0][:3], found[-1][:3]
    for what, one, other in zip(("seconds", "CPU-seconds"), last, first, strict=True):
        exponent = math.log(one / other) / math.log(n_last / n_first)
        print(f"| growth of {what} | exponent {exponent:.2f} | at most 1.1 |")


def timed(work: Callable[[], Any]) -> Took:
    began, cpu = time.perf_counter(), cpu_seconds(os.getpid())
    found = work()
    return Took(time.perf_counter() - began, cpu_seconds(os.getpid()) - cpu, found)


def cpu_seconds(root: int) -> float:
    """Of a process and all below it, those that have ended among them."""
    own: dict[int, float] = {}
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            own[int(folder.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            below.setdefault(int(fields[1]), []).append(int(folder.name))
    total, waiting = 0.0, [root]
    while waiting:
        process = waiting.pop()
        total += own.get(process, 0.0)
        waiting += below.get(process, [])
    return total


def peak() -> float:
    """The most memory the driver's Python had at a time, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


if __name__ == "__main__":
    main()
