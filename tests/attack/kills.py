"""End commands while they write: earlier files stay whole, and nothing is left over."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from attack.battery import Battery
from attack.case import Case, Outcome
from attack.verdict import is_whole, wrongs
from attack.workshop import files_in, names_in

N_ITEMS = 1_500
VOTE = ("--algorithm", "majority-vote")


def claims(rng: random.Random, n_items: int = N_ITEMS) -> bytes:
    """Return claims of four sources that disagree on many items."""
    rows = (f"s{s},e{i},{rng.randrange(3)}\n" for i in range(n_items) for s in range(4))
    return ("source,entity,value\n" + "".join(rows)).encode()


DISCOVER = ("discover", "claims.csv", *VOTE, "--out", "run")
WRITERS = (
    (*DISCOVER, "--force"),
    (*DISCOVER, "--force", "--memory", "50KB"),
    ("discover", "claims.csv", *VOTE, "--out", "truths.csv", "--force"),
    ("discover", "claims.csv", *VOTE, "--out", "truths.jsonl", "--force"),
    ("discover", "claims.csv", *VOTE, "--out", "sqlite:///made.db", "--force"),
    ("discover", "claims.csv", *VOTE, "--out", "duckdb:///made.duckdb", "--force"),
    ("judge", "run", "claims.csv", "--out", "run", "--force"),
    ("judge", "run", "claims.csv", "--out", "truths.parquet", "--force"),
    ("update", "run", "claims.csv", "--out", "run", "--force"),
    ("update", "run", "claims.csv", "--out", "sqlite:///made.db", "--force"),
    ("export", "run", "table.xlsx", "--table", "facts", "--force"),
    ("export", "run", "table.csv", "--table", "facts", "--force"),
    ("export", "run", "table.json", "--table", "records", "--force"),
    ("diff", "run", "run", "--out", "changes.csv", "--force"),
    ("report", "run", "--out", "page.html", "--force"),
    ("plot", "run", "plausibility", "--out", "figure.svg", "--force"),
    ("plot", "run", "agreement", "--out", "figure.png", "--force"),
    ("plot", "run", "sources", "--out", "figure.pdf", "--force"),
    ("plot", "run", "plausibility", "--out", "figure.html", "--force"),
    ("compare", "claims.csv", "--algorithms", "majority-vote,accu", "--figure", "figure.svg",
     "--force"),
    ("generate", "--set", "items=20000", "--out", "generated", "--force"),
    ("demo", "--out", "demo", "--force"),
    ("study", "synthetic", "--set", "datasets=2", "--set", "algorithms=majority-vote",
     "--workers", "1", "--out", "study"),
    ("study", "runtime", "--set", "most=100", "--set", "repeats=1",
     "--set", "algorithms=majority-vote", "--out", "study"),
)  # fmt: skip
SIGNALS = (*(signal.SIGKILL,) * 4, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
MOST_TIME = 600.0
"""Seconds that a command may take when it is not stopped."""


def kills(battery: Battery, rng: random.Random) -> None:
    """Send a signal to a command that writes, and look at what is left."""
    workshop, command, number = battery.workshop, rng.choice(WRITERS), rng.choice(SIGNALS)
    case = Case({**_made(battery)}, (command,))
    with workshop.folder_of(case) as folder:
        if rng.random() < 0.5:  # there is something that is to be replaced
            _ = workshop.hand_over(command, folder)
        before = names_in(folder)
        process = workshop.start(command, folder)
        if number != signal.SIGKILL:
            _wait_until_heeded(process, number)
        _wait_for_writing(folder, process.poll, rng)
        battery.tried[number.name] += process.poll() is None
        process.send_signal(number)
        code = process.wait(MOST_TIME)
        outcome = workshop.outcome(command, code, folder, before)
        found = [*_of_what_is_there(battery, outcome, folder, number)]
        _keep(battery, case, outcome, [f"after {number.name}: {wrong}" for wrong in found])


def _made(battery: Battery) -> dict[str, bytes]:
    """Return claims and the run of them, made once."""
    if "kills" not in battery.made:
        case = Case({"claims.csv": claims(random.Random(0))}, (DISCOVER,))
        with battery.workshop.folder_of(case) as folder:
            if battery.workshop.run_alone(DISCOVER, folder) != 0:
                raise RuntimeError("claims that nothing is wrong with were refused")
            battery.made["kills"] = files_in(folder)
    return battery.made["kills"]


def _of_what_is_there(
    battery: Battery, outcome: Outcome, folder: Path, number: int
) -> Iterator[str]:
    """Yield what is wrong after a signal, and after the same command once more."""
    command = outcome.command
    yield from _of_the_run(battery, folder)
    yield from _of_files_cut_short(folder, outcome)
    if number != signal.SIGKILL:
        yield from of_a_stop(outcome, folder)
    # Whoever is killed cannot clear up: the next command on the same target does.
    again = battery.workshop.hand_over(command, folder)
    once_more = battery.workshop.outcome(command, again, folder, outcome.before)
    if again != 0:
        told = once_more.stderr.decode(errors="replace").strip()
        yield f"the same command does not work any more: {command[0]}: {told}"
    yield from (f"once more: {wrong}" for wrong in wrongs(once_more, folder))


def _of_files_cut_short(folder: Path, outcome: Outcome) -> Iterator[str]:
    for name in sorted(outcome.after):
        path = folder / name
        if path.is_file() and ".veracity-" not in name and not is_whole(path):
            yield f"half-written: {outcome.command[0]} leaves {name!r}"


def of_a_stop(outcome: Outcome, folder: Path) -> Iterator[str]:
    """Yield what is wrong after a stop; it may come after the work, if that is whole."""
    new = {name for name in outcome.after - outcome.before if ".veracity-" not in name}
    yield from (w for w in wrongs(outcome, folder) if not new or not w.startswith("half-written"))
    if outcome.code and new:
        yield from wrongs(replace(outcome, code=0, stderr=b"", stdout=b""), folder)


def _wait_until_heeded(process: subprocess.Popen[bytes], number: int) -> None:
    """Wait until the command has set its handlers of signals."""
    while process.poll() is None:
        told = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        caught = int(told.partition("SigCgt:")[2].split()[0], 16)
        if caught & 1 << (number - 1) and caught & 1 << (signal.SIGTERM - 1):
            return
        time.sleep(0.005)


def _wait_for_writing(folder: Path, ended: Callable[[], int | None], rng: random.Random) -> None:
    """Wait until any moment, or until something is being written."""
    until, watches = time.monotonic() + rng.uniform(0.0, 4.0), rng.random() < 0.7
    there = set(os.listdir(folder))  # noqa: PTH208
    while ended() is None and (watches or time.monotonic() < until):
        if watches and set(os.listdir(folder)) - there:  # noqa: PTH208
            time.sleep(rng.expovariate(100.0))
            return
        time.sleep(0.0005)


def _of_the_run(battery: Battery, folder: Path) -> Iterator[str]:
    """Yield what is wrong with the earlier run."""
    if not (folder / "run" / "run.json").is_file():
        yield "the earlier run is gone"
        return
    yield from of_loading(battery, folder)


def of_loading(battery: Battery, folder: Path) -> Iterator[str]:
    """Yield why a sound run cannot be loaded."""
    command = ("ask", "run", "--budget", "1")
    before = names_in(folder)
    if battery.workshop.hand_over(command, folder) != 0:
        outcome = battery.workshop.outcome(command, 1, folder, before)
        yield f"the run cannot be loaded: {outcome.stderr.decode(errors='replace')}"


def _keep(battery: Battery, case: Case, outcome: Outcome, found: list[str]) -> None:
    battery.n_cases += 1
    for wrong in found:
        battery.findings.add(wrong, "kills", case, outcome)
