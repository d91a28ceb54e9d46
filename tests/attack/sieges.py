"""Commands that are disturbed at work: killed, short of room or memory, or not alone."""

from __future__ import annotations

import gzip
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from attack.battery import Battery
from attack.case import Case, Outcome
from attack.verdict import wrongs
from attack.workshop import names_in

N_ITEMS = 1_500
Siege = Callable[[Battery, random.Random], None]


def _claims(rng: random.Random, n_items: int = N_ITEMS) -> bytes:
    rows = (f"s{s},e{i},{rng.randrange(3)}\n" for i in range(n_items) for s in range(4))
    return ("source,entity,value\n" + "".join(rows)).encode()


DISCOVER = ("discover", "claims.csv", "--algorithm", "majority-vote", "--out", "run")
WRITERS = (
    (*DISCOVER, "--force"),
    ("judge", "run", "claims.csv", "--out", "run", "--force"),
    ("report", "run", "--out", "page.html", "--force"),
    ("plot", "run", "plausibility", "--out", "figure.svg"),
    ("generate", "--items", "20000", "--out", "generated"),
    ("update", "run", "claims.csv", "--out", "run", "--force"),
    ("export", "run", "table.xlsx", "--table", "facts", "--force"),
    ("discover", "claims.csv", "--algorithm", "majority-vote", "--to", "sqlite:///made.db"),
    (*DISCOVER[:-1], "truths.csv", "--records", "records.csv", "--force"),
    (*DISCOVER, "--csv", "--force", "--memory", "50KB"),
)
SIGNALS = (
    *(signal.SIGKILL, signal.SIGTERM, signal.SIGINT) * 4,
    *(
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGALRM,
        signal.SIGXCPU,
        signal.SIGABRT,
    ),
)


def kills(battery: Battery, rng: random.Random) -> None:
    """Signals at any time: what was there stays whole, and what comes next clears up."""
    workshop = battery.workshop
    command = rng.choice(WRITERS[:1] * 4 + WRITERS)
    case = Case({"claims.csv": _claims(rng)}, (DISCOVER, command))
    number = rng.choice(SIGNALS)
    with workshop.folder_of(case) as folder:
        if workshop.run_alone(DISCOVER, folder) != 0:
            raise RuntimeError("claims that nothing is wrong with were refused")
        before = names_in(folder)
        process = workshop.start(command, folder)
        if number != signal.SIGKILL:
            _wait_until_heeded(process, number)
        _wait_for_writing(folder, process.poll, rng)
        process.send_signal(number)
        code = process.wait(60)
        outcome = workshop.outcome(command, code, folder, before)
        if number == signal.SIGKILL:
            # Whoever is killed cannot clear up: the next command on the same target does.
            found = list(_of_the_run(battery, folder, "after SIGKILL"))
            before -= {"run"} if "run" not in names_in(folder) else set()
            again = workshop.run_alone((*command, *_once_more(command)), folder)
            outcome = workshop.outcome(command, again, folder, before)
            found += [f"after SIGKILL: {wrong}" for wrong in wrongs(outcome, folder)]
        else:
            found = [f"after {number.name}: {wrong}" for wrong in _of_a_stop(outcome, folder)]
            found += _of_the_run(battery, folder, f"after {number.name}")
        _keep(battery, "kills", case, outcome, found)


def _of_a_stop(outcome: Outcome, folder: Path) -> Iterator[str]:
    """As of any command; but it may be stopped after its work, if that is whole, but for a word."""
    new = {name for name in outcome.after - outcome.before if ".veracity-" not in name}
    yield from (w for w in wrongs(outcome, folder) if not new or not w.startswith("half-written"))
    if outcome.code and new:
        yield from wrongs(replace(outcome, code=0, stderr=b"", stdout=b""), folder)


def _once_more(command: tuple[str, ...]) -> tuple[str, ...]:
    is_able = command[0] not in ("plot", "export")
    return ("--force",) if is_able and "--force" not in command else ()


def _wait_until_heeded(process: subprocess.Popen[bytes], number: int) -> None:
    """Until Python has begun, and the command has said that it wants to hear of a signal."""
    while process.poll() is None:
        told = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        caught = int(told.partition("SigCgt:")[2].split()[0], 16)
        if caught & 1 << (number - 1) and caught & 1 << (signal.SIGTERM - 1):
            return
        time.sleep(0.005)


def _wait_for_writing(folder: Path, ended: Callable[[], int | None], rng: random.Random) -> None:
    """Until any moment, or until something is being written, which takes much less time."""
    until, watches = time.monotonic() + rng.uniform(0.0, 4.0), rng.random() < 0.7
    while ended() is None and (watches or time.monotonic() < until):
        if watches and any(".veracity-" in name for name in os.listdir(folder)):  # noqa: PTH208
            time.sleep(rng.expovariate(200.0))
            return
        time.sleep(0.0005)


def _of_the_run(battery: Battery, folder: Path, when: str) -> Iterator[str]:
    """What is wrong with the run that was there all the time."""
    if not (folder / "run" / "run.json").is_file():
        yield f"{when}: the earlier run is gone"
        return
    command = ("ask", "run", "--budget", "1")
    if battery.workshop.run_alone(command, folder) != 0:
        outcome = battery.workshop.outcome(command, 1, folder, names_in(folder))
        yield f"{when}: the run cannot be loaded: {outcome.stderr.decode(errors='replace')}"


def two_writers(battery: Battery, rng: random.Random) -> None:
    """Two commands that replace one run, and one that reads it."""
    workshop = battery.workshop
    command = (*DISCOVER, "--force")
    case = Case({"claims.csv": _claims(rng)}, (DISCOVER, command, command))
    with workshop.folder_of(case) as folder:
        workshop.run_alone(DISCOVER, folder)
        before = names_in(folder)
        first = workshop.start(command, folder)
        time.sleep(rng.uniform(0.0, 0.3))
        second = workshop.start(command, folder)
        codes = [process.wait(120) for process in (first, second)]
        outcome = workshop.outcome(command, max(codes), folder, before)
        found = [f"two writers: {wrong}" for wrong in wrongs(outcome, folder)]
        found += _of_the_run(battery, folder, "two writers")
        if 0 not in codes:
            found.append("two writers: neither wrote")
        _keep(battery, "writers", case, outcome, found)


def no_room(battery: Battery, rng: random.Random) -> None:
    """Files that may not grow beyond a size, as on a disk that is full."""
    most = rng.choice((500, 1_000, 5_000, 20_000))  # there has to be room for what is said of it
    command = rng.choice(WRITERS[:4])
    _limited(battery, rng, "disk full", command, resource.RLIMIT_FSIZE, most)


def no_memory(battery: Battery, rng: random.Random) -> None:
    """A small file that unpacks to a large one, where memory is short."""
    zeros = b"source,entity,value\na,b," + b"0" * 50_000_000
    packed = gzip.compress(zeros, 1) + gzip.compress(b"0" * 50_000_000, 1) * rng.choice((2, 20))
    case = Case({"claims.csv.gz": packed}, (("check", "claims.csv.gz"),))
    _under_limit(battery, "memory", case, resource.RLIMIT_AS, rng.choice((3, 4)) * 10**9)


def _limited(
    battery: Battery,
    rng: random.Random,
    part: str,
    command: tuple[str, ...],
    limit: int,
    most: int,
) -> None:
    case = Case({"claims.csv": _claims(rng, 200)}, (DISCOVER, command))
    _under_limit(battery, part, case, limit, most)


def _under_limit(battery: Battery, part: str, case: Case, limit: int, most: int) -> None:
    """The last command of a case under a limit of the system."""
    *preparing, command = case.commands
    with battery.workshop.folder_of(case) as folder:
        for earlier in preparing:
            battery.workshop.run_alone(earlier, folder)
        before = names_in(folder)
        code = _with_limit(battery, command, folder, limit, most)
        outcome = battery.workshop.outcome(command, code, folder, before)
        _keep(battery, part, case, outcome, [f"{part}: {w}" for w in wrongs(outcome, folder)])


def _with_limit(
    battery: Battery, command: tuple[str, ...], folder: Path, limit: int, most: int
) -> int | None:
    return battery.workshop.run_alone(
        command, folder, limits=lambda: resource.setrlimit(limit, (most, most))
    )


def read_only(battery: Battery, rng: random.Random) -> None:
    """Targets that one may not write to, and standard output that takes nothing."""
    command = rng.choice((WRITERS[0], WRITERS[2], WRITERS[3], WRITERS[4]))
    case = Case({"claims.csv": _claims(rng, 20), "closed/file": b""}, (DISCOVER, command))
    with battery.workshop.folder_of(case) as folder:
        battery.workshop.run_alone(DISCOVER, folder)
        is_full = rng.random() < 0.5
        if not is_full:
            closed = "closed" if os.geteuid() else "/proc"  # root may write to what is closed
            (folder / "closed").chmod(0o555)
            at = command.index("--out") + 1
            command = (*command[:at], f"{closed}/{command[at]}", *command[at + 1 :])
        before = names_in(folder)
        stdout = "/dev/full" if is_full else None
        code = battery.workshop.run_alone(command, folder, stdout=stdout)
        outcome = battery.workshop.outcome(command, code, folder, before)
        found = [wrong for wrong in wrongs(outcome, folder) if not is_full or "half" not in wrong]
        where = "standard output full" if is_full else "read-only"
        _keep(battery, "read-only", case, outcome, [f"{where}: {wrong}" for wrong in found])
        (folder / "closed").chmod(0o755)


SURROUNDINGS: tuple[dict[str, str | None], ...] = (
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp437"},
    {"PYTHONIOENCODING": "latin-1:strict"},
    {"COLUMNS": "1", "TERM": "dumb", "NO_COLOR": "1"},
    {"COLUMNS": "x", "LINES": "-1", "FORCE_COLOR": "1"},
    {"TZ": "nowhere/at all"},
    {"TZ": ":/etc/passwd", "LANG": "xx_YY.zz"},
    {"HOME": None, "XDG_CACHE_HOME": "/proc/none", "USER": None, "LOGNAME": None},
    {"HOME": "/proc/none", "TMPDIR": "/proc/none"},
    {"TMPDIR": ""},
    {"POLARS_MAX_THREADS": "1", "NUMBA_DISABLE_JIT": "1"},
    {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"},
    {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "x"},
    {"POLARS_FMT_MAX_ROWS": "-1", "POLARS_FMT_TABLE_FORMATTING": "ASCII_FULL"},
)
STREAMS = ("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-", ">/dev/full", "2>/dev/full", "| head -c 1")
ANY_COMMAND = (
    *(WRITERS[0], WRITERS[2], WRITERS[3], WRITERS[5], WRITERS[6], WRITERS[8]),
    *(("explain", "run", "e1"), ("ask", "run"), ("check", "claims.csv"), ("profile", "claims.csv")),
    *(
        ("--help",),
        ("discover", "--help"),
        ("evaluate", "run", "claims.csv"),
        ("diff", "run", "run"),
    ),
    *(("discover", "-"), ("discover", "pipe"), ("check", "/dev/null"), ("ask", "/dev/null")),
)


def surroundings(battery: Battery, rng: random.Random) -> None:
    """Odd variables, closed streams and full ones, pipes in the place of files."""
    workshop = battery.workshop
    names = (
        "source,entity,value\na,\u00e9\u4e2d,\u202e1\nb,\u00e9\u4e2d,2\na,e1,\U0001f600\nb,e1,x\n"
    )
    case = Case({"claims.csv": names.encode()}, (DISCOVER,))
    with workshop.folder_of(case) as folder:
        if workshop.run_alone(DISCOVER, folder) != 0:
            raise RuntimeError("claims that nothing is wrong with were refused")
        os.mkfifo(folder / "pipe")
        for command in rng.sample(ANY_COMMAND, 3):
            variables, streams = rng.choice(SURROUNDINGS), rng.choice(STREAMS)
            before = names_in(folder)
            code = workshop.run_in(command, folder, variables, streams)
            outcome = workshop.outcome(command, code, folder, before)
            found = [w for w in wrongs(outcome, folder) if not _is_due_to(streams, w)]
            told = Case(case.files, (DISCOVER, command, ("#", str(variables), streams)))
            _keep(battery, "surroundings", told, outcome, [f"surroundings: {w}" for w in found])


def _is_due_to(streams: str, wrong: str) -> bool:
    """What nobody can do anything about: no word where there is no stream, the work being done."""
    is_silent = wrong.startswith("fails without a word") and streams != ""
    return is_silent or (wrong.startswith("half-written") and streams != "")


def _keep(battery: Battery, part: str, case: Case, outcome: Outcome, found: list[str]) -> None:
    battery.n_cases += 1
    for wrong in found:
        battery.findings.add(wrong, part, case, outcome)


SIEGES: tuple[Siege, ...] = (
    *(kills, kills, kills, surroundings, surroundings),
    *(two_writers, no_room, no_memory, read_only),
)
