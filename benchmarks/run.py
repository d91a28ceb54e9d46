"""Print how long things take, as ratios measured in one run: `make bench`.

Machines are shared and noisy, so seconds mean little and ratios more. Every piece of work is a
process of its own; what counts is its CPU time, and where threads are compared its wall time.
Ratios are compared with those in `ratios.json`, and what got slower is said.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import polars as pl
from data import PART
from work import OVER_ALL, WARM, WARM_PAIRS

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))  # has the server of the tests
RATIOS = HERE / "ratios.json"
SLOWER = 1.3
"""A ratio that has grown by this factor is slower; less is noise."""

PACKAGES = ("veracity", "numpy", "numba", "polars", "duckdb", "crowd-kit",
            "adbc-driver-postgresql")  # fmt: skip
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
OTHER_PYTHON = os.environ.get("TRUTHDISCOVERY_PYTHON")


MEASURES = ("start_up", "first_run", "end_to_end", "smaller", "known", "databases", "threads",
            "growth", "shapes", "from_encoded", "crowd_kit", "truthdiscovery")  # fmt: skip


LARGE = ("huge", "spilled", "vast")
LARGE_HELP = (
    "huge (10^8 claims), spilled (10^8 claims in memory and on disk), vast (10^9 claims on disk)"
)


class Failed(Exception):
    """A process that ended with an error, which it has told itself."""


class Usage(NamedTuple):
    """What a process used: seconds, CPU-seconds, bytes at its peak, and what it found out."""

    wall: float
    cpu: float
    peak: float
    found: dict


class Row(NamedTuple):
    """One line of the table; `ratio` is None where there is nothing to compare with."""

    measure: str
    figure: str
    ratio: float | None
    goal: str
    is_met: bool | None


def main() -> None:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10^7 claims instead of 10^6")
    parser.add_argument(
        "--only",
        nargs="+",
        default=MEASURES,
        choices=[*MEASURES, *LARGE],
        metavar="MEASURE",
        help=f"some of {', '.join(MEASURES)}; or one that needs time and room: {LARGE_HELP}",
    )
    parser.add_argument(
        "--spilled-claims",
        type=int,
        default=100_000_000,
        metavar="N",
        help="of how many claims `spilled` is measured, with 40 bytes of memory for each",
    )
    parser.add_argument(
        "--folder", type=Path, help="where claims are drawn to, and kept for another time"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the table here")
    parser.add_argument("--update", action="store_true", help="make these the committed ratios")
    options = parser.parse_args()
    n_claims = 10_000_000 if options.full else 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, n_claims, options.repeats, options.spilled_claims)
        rows = bench.rows(options.only)
    machine = describe(n_claims, options.repeats)
    print(f"\n{machine}\n\n| measure | found | ratio | goal | met |\n|---|---|---|---|---|")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        met = {None: "", True: "yes", False: "NO"}[row.is_met]
        print(f"| {row.measure} | {row.figure} | {ratio} | {row.goal} | {met} |")
    if options.json:
        content = {"machine": machine, "rows": [row._asdict() for row in rows]}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    sys.exit(guard(rows, str(n_claims), update=options.update))


def describe(n_claims: int, repeats: int) -> str:
    """The machine, the versions, and how often each piece of work was repeated."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    return (
        f"{n_claims:,} claims; medians of {repeats}; {os.cpu_count()} cores ({platform.machine()}, "
        f"{platform.system()}), load {load}; Python {platform.python_version()}, {versions}"
    )


def guard(rows: list[Row], key: str, *, update: bool) -> int:
    """Say what got slower than the committed ratios; 1 if anything did."""
    committed = json.loads(RATIOS.read_text()) if RATIOS.exists() else {}
    now = {row.measure: round(row.ratio, 3) for row in rows if row.ratio is not None}
    before = committed.get(key, {})
    if update:
        RATIOS.write_text(json.dumps(committed | {key: before | now}, indent=2) + "\n")
        return 0
    slower = [name for name in now if name in before and now[name] > SLOWER * before[name]]
    for name in slower:
        print(f"slower: {name}: {before[name]:.2f} was committed, now {now[name]:.2f}")
    return 1 if slower else 0


class Bench:
    """The measures, on data that it draws."""

    def __init__(self, folder: Path, n_claims: int, repeats: int, spilled_claims: int) -> None:
        self.folder, self.n_claims, self.repeats = folder, n_claims, repeats
        self.spilled_claims = spilled_claims

    def rows(self, only: Sequence[str]) -> list[Row]:
        """The lines of the table that these measures give."""
        rows: list[Row] = []
        self.discover(self.data(WARM))  # compiles what is not compiled yet
        for name in only:
            try:
                rows += getattr(self, name)()
            except Failed as failed:
                rows.append(Row(name, f"failed: {failed}", None, "", False))
            print(f"  {name} measured", file=sys.stderr)
        return rows

    def start_up(self) -> list[Row]:
        """Import, help, and the demo's discover with caches that are cold and warm."""
        cache = {"NUMBA_CACHE_DIR": str(self.folder / "cache")}
        demo = self.folder / "demo.csv"
        python("-c", f"import veracity; veracity.synthetic.flights().claims.write_csv('{demo}')")
        cold = run([sys.executable, "-m", "veracity", "discover", str(demo)], cache)
        goals = [
            ("import veracity", ["-c", "import veracity"], 0.2),
            ("veracity --help", ["-m", "veracity", "--help"], 0.3),
            ("discover the demo, warm", ["-m", "veracity", "discover", str(demo)], 1.5),
        ]
        rows = [_seconds("discover the demo, cold", cold.cpu, 8.0)]
        for name, arguments, goal in goals:
            used = [run([sys.executable, *arguments], cache).cpu for _ in range(self.repeats)]
            rows.append(_seconds(name, statistics.median(used), goal))
        return rows

    def first_run(self) -> list[Row]:
        """What a run costs that needs no kernels, one that does, and the first after installing."""
        small, few = (self.data(n_claims) for n_claims in (3_000, 20_000))
        cache = {"NUMBA_CACHE_DIR": str(self.folder / "empty")}
        first = run(self.command(few), cache)
        later = self.median(lambda: run(self.command(few), cache))
        warm = self.median(lambda: self.usual(self.data(WARM)))
        told = f"{first.cpu:.2f} and {later.cpu:.2f} CPU-s"
        return [
            _seconds(
                "the default on 3,000 claims, warm", self.median(lambda: self.usual(small)).cpu, 0.7
            ),
            _ratio("first run on 20,000 claims / a later one", told, first.cpu / later.cpu, 3.0),
            _seconds(f"the default on {WARM:,} claims, compiled and warm", warm.cpu, 0.5),
        ]

    def end_to_end(self) -> list[Row]:
        """The whole command against a vote in DuckDB, written to Parquet, and its memory."""
        rows = self.against_vote(self.data(), "Parquet")
        rows += self.against_vote(self.sorted(), "Parquet, sorted")
        return rows + self.against_vote(self.data(csv=True), "CSV")

    def smaller(self) -> list[Row]:
        """The same on a tenth and a fifth of the claims: there starting weighs more."""
        rows = []
        for size in (self.n_claims // 10, self.n_claims // 5):
            goals = {1_000_000: (2.0, None), 2_000_000: (1.5, None)}.get(size, (None, None))
            rows += self.against_vote(self.data(size), f"Parquet, {size:,} claims", goals)
        return rows

    def against_vote(
        self, path: str, kind: str, goals: tuple[float | None, float | None] = (1.0, 1.5)
    ) -> list[Row]:
        """LTD-RBM and the default against DuckDB's vote: CPU time, wall time and memory."""
        vote = self.median(lambda: self.work("vote_in_sql", path, self.out("vote")))
        rows = []
        for name, measure, goal in (
            ("LTD-RBM", self.discover, goals[0]),
            ("the default", self.usual, goals[1]),
        ):
            whole = self.median(lambda m=measure: m(path))
            told = (
                f"{whole.cpu:.1f} CPU-s, {whole.wall:.1f} s; DuckDB {vote.cpu:.1f}, {vote.wall:.1f}"
            )
            what = f"{name}, {kind}, / DuckDB's vote"
            rows.append(_ratio(f"{what}, CPU", told, whole.cpu / vote.cpu, None))
            rows.append(_ratio(f"{what}, wall", told, whole.wall / vote.wall, goal))
            if kind == "Parquet":
                bare = run([sys.executable, "-c", ""]).peak
                each = (whole.peak - bare) / self.n_claims
                told = f"{whole.peak / 1e9:.2f} GB; DuckDB {vote.peak / 1e9:.2f}"
                is_met = each <= 80.0 if self.n_claims >= 10_000_000 else None  # libraries weigh
                rows.append(
                    Row(f"bytes a claim at the peak, {name}", told, each, "≤ 80 at 10^7", is_met)
                )
        return rows

    def known(self) -> list[Row]:
        """With the truth of every hundredth item known, against none."""
        path = self.data()
        some = str(self.folder / "known.parquet")
        truths = pl.read_parquet(Path(path).with_suffix(".truth"))
        truths.gather_every(100).write_parquet(some)
        without = self.median(lambda: self.usual(path)).cpu
        used = self.median(lambda: self.usual(path, "--known", some)).cpu
        told = f"{used:.2f} and {without:.2f} CPU-s"
        return [_ratio("the default, 1 % known / none", told, used / without, 1.2)]

    def databases(self) -> list[Row]:
        """The whole command from a database, against the same claims in Parquet, in wall time.

        The server works, too, so its CPU time would have to be added to that of the command.
        """
        from postgres import folder_of_programs, running_server

        programs = folder_of_programs()
        if programs is None:
            return [
                Row("from PostgreSQL / from Parquet", "no PostgreSQL here", None, "≤ 2.5", None)
            ]
        path, rows = self.data(), []
        with running_server(programs) as server:
            files = {n: f"{n.lower()}:///{self.folder}/claims.{n}" for n in ("DuckDB", "SQLite")}
            for name, address in {"PostgreSQL": server, **files}.items():
                self.work("fill_database", path, address)
                ours = self.median(lambda: self.discover(path))
                theirs = self.median(lambda a=address: self.discover(f"{a}#claims"))
                told = (
                    f"{theirs.wall:.1f} s, {theirs.cpu:.1f} CPU-s, {theirs.peak / 1e9:.2f} GB; "
                    f"Parquet {ours.wall:.1f}, {ours.cpu:.1f}, {ours.peak / 1e9:.2f}"
                )
                ratio, goal = theirs.wall / ours.wall, "≤ 2.5" if address is server else ""
                is_met = ratio <= 2.5 if address is server else None
                rows.append(Row(f"from {name} / from Parquet", told, ratio, goal, is_met))
        return rows

    def threads(self) -> list[Row]:
        """Two threads against one, in wall time, and whether the answers are the same.

        One thread works beside those that read and write, so it is also measured on a single core.
        """
        path, rows = self.data(), []
        for name, measure in (("LTD-RBM", self.discover), ("the default", self.usual)):
            core = self.median(lambda m=measure: m(path, "--threads", "1", out="one", n_cores=1))
            one = self.median(lambda m=measure: m(path, "--threads", "1", out="one"))
            two = self.median(lambda m=measure: m(path, "--threads", "2", out="two"))
            same = all(
                pl.read_parquet(f"{self.out('one')}/{table}.parquet").equals(
                    pl.read_parquet(f"{self.out('two')}/{table}.parquet")
                )
                for table in ("truths", "facts", "sources")
            )
            bits = f"the same bits: {'yes' if same else 'NO'}"
            for what, alone in ((f"one core, {name}", core), (f"one, {name}", one)):
                told = f"{alone.wall:.1f} s and {two.wall:.1f} s; {bits}"
                ratio = two.wall / alone.wall
                is_met = ratio <= 1 / 1.6 and same
                rows.append(Row(f"two threads / {what}", told, ratio, "≤ 0.625, same bits", is_met))
        return rows

    def growth(self) -> list[Row]:
        """How CPU time grows with claims, start-up left out: it would hide the growth."""
        least = self.median(lambda: self.discover(self.data(WARM))).cpu
        few = self.median(lambda: self.discover(self.data(100_000))).cpu
        many = self.median(lambda: self.discover(self.data())).cpu
        told = f"{few:.2f} and {many:.2f} CPU-s, of which {least:.2f} for starting"
        measure = "exponent of growth from 10^5"
        if few - least < 0.05:
            return [Row(measure, f"{told}: too noisy to tell", None, "≤ 1.05", None)]
        exponent = math.log((many - least) / (few - least)) / math.log(self.n_claims / 100_000)
        return [_ratio(measure, told, exponent, 1.05)]

    def shapes(self) -> list[Row]:
        """Data that are not regular, per claim."""
        regular = self.median(lambda: self.discover(self.data())).cpu
        rows = []
        for shape, goal in (("many sources", 2.5), ("giant item", 3.0), ("many facts", 3.0)):
            used = self.median(lambda s=shape: self.discover(self.data(shape=s))).cpu
            rows.append(_ratio(f"{shape} / regular", f"{used:.1f} CPU-s", used / regular, goal))
        return rows

    def from_encoded(self) -> list[Row]:
        """Answers from encoded claims, against our own vote; rounds, against LTD-RBM's."""
        path = self.data()
        self.data(WARM_PAIRS)
        found = self.work("algorithms", path).found
        vote, ltd = found["majority-vote"]["cpu"], found["ltd-rbm"]
        told = f"{ltd['cpu']:.2f} CPU-s, {ltd['rounds']} rounds; vote {vote:.2f}"
        rows = [_ratio("LTD-RBM / our vote, from encoded claims", told, ltd["cpu"] / vote, 5.0)]
        over_all = found.pop(OVER_ALL)
        a_round = (over_all["cpu"] - vote) / over_all["rounds"]
        for name, used in found.items():
            if used["rounds"] and name not in ("ltd-rbm", "majority-vote"):
                own = max(used["cpu"] - vote, 0.0) / used["rounds"]
                told = f"{used['cpu']:.2f} CPU-s, {used['rounds']} rounds"
                rows.append(_ratio(f"a round of {name} / of LTD-RBM", told, own / a_round, 10.0))
        return rows

    def crowd_kit(self) -> list[Row]:
        """From a frame in memory, against crowd-kit."""
        found = self.work("crowd_kit", self.data(shape="few labels")).found
        theirs, rows = found["theirs"], []
        for name, ours in found["ours"].items():
            told = (
                f"{ours['cpu']:.1f} and {theirs['cpu']:.1f} CPU-s; accuracy "
                f"{ours['accuracy']:.4f} and {theirs['accuracy']:.4f}"
            )
            ratio = ours["cpu"] / theirs["cpu"]
            is_met = ratio <= 1 / 30
            what = f"{name} / crowd-kit's OneCoinDawidSkene"
            rows.append(Row(what, told, ratio, "≤ 0.033", is_met))
        return rows

    def truthdiscovery(self) -> list[Row]:
        """From rows in memory, against truthdiscovery, which has a Python of its own."""
        n_claims = 1_000_000
        names = ("LTD-RBM", "TruthFinder", "the default")
        what = [f"{name} / truthdiscovery's TruthFinder, 10^6 claims" for name in names]
        if OTHER_PYTHON is None:
            told = "left out: set TRUTHDISCOVERY_PYTHON"
            return [Row(one, told, None, "≤ 0.02", None) for one in what]
        path = self.data(n_claims, csv=True)
        command = [OTHER_PYTHON, str(HERE / "work.py"), "truthdiscovery", path]
        theirs = run(command, {"PYTHONPATH": ""}).found["theirs"]
        ours = self.work("in_memory", path).found
        return [
            Row(one, f"{ours[name]:.1f} and {theirs:.1f} CPU-s", ours[name] / theirs, "≤ 0.02",
                ours[name] / theirs <= 0.02)
            for one, name in zip(what, names, strict=True)
        ]  # fmt: skip

    def huge(self) -> list[Row]:
        """A hundred million claims."""
        used = self.discover(self.data(100_000_000))
        told = f"{used.wall:.0f} s, {used.cpu:.0f} CPU-s, {used.peak / 1e9:.1f} GB"
        return [Row("discover in 10^8 claims", told, None, "finishes", True)]

    def spilled(self) -> list[Row]:
        """The default on claims that are kept on disk, against the same in memory."""
        path, memory = self.data(self.spilled_claims), 40 * self.spilled_claims
        on_disk, spilled = self.on_disk(path, str(memory))
        in_memory = self.usual(path)
        told = (
            f"{on_disk.wall:.0f} s and {on_disk.cpu:.0f} CPU-s on disk, with {spilled / 1e9:.1f} "
        )
        told += f"GB of temporary files; {in_memory.wall:.0f} s "
        told += f"and {in_memory.cpu:.0f} CPU-s in memory, with {in_memory.peak / 1e9:.1f} GB"
        name = f"{self.spilled_claims:,} claims, --memory {memory / 1e9:.1f}GB"
        share = on_disk.peak / memory
        peak = f"{on_disk.peak / 1e9:.2f} GB at the peak"
        return [
            _ratio(f"{name} / in memory, wall", told, on_disk.wall / in_memory.wall, 1.5),
            _ratio(f"{name}, peak / memory allowed", peak, share, 1.0),
        ]

    def vast(self) -> list[Row]:
        """A thousand million claims, kept on disk: it needs about 70 GB there."""
        used, spilled = self.on_disk(self.data(1_000_000_000), "6GB")
        told = f"{used.wall:.0f} s, {used.cpu:.0f} CPU-s, {used.peak / 1e9:.1f} GB of memory, "
        told += f"{spilled / 1e9:.0f} GB of temporary files"
        return [Row("discover in 10^9 claims", told, None, "≤ 12 GB", used.peak <= 12e9)]

    def on_disk(self, path: str, memory: str) -> tuple[Usage, int]:
        """The usual with so much memory; also how large the temporary files were at most."""
        spill, sizes, is_over = self.folder / "spill", [0], threading.Event()

        def watch() -> None:
            while not is_over.wait(1.0):
                sizes.append(size_of(spill))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            return self.usual(path, "--memory", memory, "--spill", str(spill)), max(sizes)
        finally:
            is_over.set()
            watching.join()

    def usual(
        self, path: str, *options: str, out: str = "run", n_cores: int | None = None
    ) -> Usage:
        """The whole command as most would give it: with the default algorithm."""
        return run([*self.command(path, out), *options], n_cores=n_cores)

    def command(self, path: str, out: str = "run") -> list[str]:
        """What is typed to discover truths in a file."""
        command = [sys.executable, "-m", "veracity", "discover", path, "--json", "--force"]
        return [*command, "--out", self.out(out)]

    def sorted(self) -> str:
        """The same claims, sorted by item."""
        path = self.folder / f"sorted-{self.n_claims}.parquet"
        if not path.exists():
            rows = pl.scan_parquet(self.data()).sort("entity", "attribute")
            rows.sink_parquet(path, row_group_size=1 << 20)
        return str(path)

    def data(
        self, n_claims: int | None = None, shape: str = "regular", *, csv: bool = False
    ) -> str:
        """A file of claims, drawn when first asked for, in a process of its own."""
        n_claims = n_claims or self.n_claims
        suffix = "csv" if csv else "parquet"
        path = self.folder / f"{shape.replace(' ', '-')}-{n_claims}.{suffix}"
        if not path.exists() or n_claims > PART:  # of these some may be there, and not all
            python(str(HERE / "data.py"), str(self.folder), str(n_claims), shape, suffix)
        return str(path)

    def out(self, name: str) -> str:
        """Where results go."""
        return str(self.folder / f"{name}.out")

    def discover(
        self, path: str, *options: str, out: str = "run", n_cores: int | None = None
    ) -> Usage:
        """The whole command, with LTD-RBM."""
        return self.usual(path, "--algorithm", "ltd-rbm", *options, out=out, n_cores=n_cores)

    def work(self, name: str, *arguments: str) -> Usage:
        """A piece of `work.py`."""
        return run([sys.executable, str(HERE / "work.py"), name, *arguments])

    def median(self, measure) -> Usage:
        """The median over some repeats."""
        used = [measure() for _ in range(self.repeats)]
        return Usage(*(statistics.median(u[i] for u in used) for i in range(3)), used[0].found)


def run(
    command: list[str], environment: dict[str, str] | None = None, n_cores: int | None = None
) -> Usage:
    """Run a process and measure it; like any that was installed, it has its bytecode kept.

    It has all cores, or as many as are told, where the system can say so.
    """
    told = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, env=told | (environment or {}))
        if n_cores is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, sorted(os.sched_getaffinity(0))[:n_cores])
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = status
        if status:
            raise Failed(" ".join(map(str, command)))
        out.seek(0)
        lines = out.read().decode().splitlines()
    found = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return Usage(wall, usage.ru_utime + usage.ru_stime, 1024.0 * usage.ru_maxrss, found)


def size_of(folder: Path) -> int:
    """How many bytes the files in a folder have, those that are being removed left out."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True)


def _seconds(measure: str, cpu: float, goal: float) -> Row:
    return Row(measure, f"{cpu:.2f} CPU-s", None, f"≤ {goal} s", cpu <= goal)


def _ratio(measure: str, told: str, ratio: float, goal: float | None) -> Row:
    if goal is None:
        return Row(measure, told, ratio, "", None)
    return Row(measure, told, ratio, f"≤ {goal}", ratio <= goal)


if __name__ == "__main__":
    main()
