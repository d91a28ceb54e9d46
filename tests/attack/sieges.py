"""Commands that are disturbed at work: short of room or memory, not alone, or in odd places."""

from __future__ import annotations

import gzip
import os
import random
import resource
import time
from collections.abc import Callable

from attack.battery import Battery
from attack.case import Case, Outcome
from attack.kills import DISCOVER, WRITERS, claims, kills, of_a_stop, of_loading
from attack.verdict import wrongs
from attack.workshop import names_in

Siege = Callable[[Battery, random.Random], None]

SMALL = 200
"""Items, where a command need not take long."""


def two_writers(battery: Battery, rng: random.Random) -> None:
    """Two commands that replace one run, and one that reads it."""
    workshop = battery.workshop
    command = (*DISCOVER, "--force")
    case = Case({"claims.csv": claims(rng)}, (DISCOVER, command, command))
    with workshop.folder_of(case) as folder:
        workshop.run_alone(DISCOVER, folder)
        before = names_in(folder)
        first = workshop.start(command, folder)
        time.sleep(rng.uniform(0.0, 0.3))
        second = workshop.start(command, folder)
        codes = [process.wait(120) for process in (first, second)]
        outcome = workshop.outcome(command, max(codes), folder, before)
        found = [f"two writers: {wrong}" for wrong in wrongs(outcome, folder)]
        found += [f"two writers: {wrong}" for wrong in of_loading(battery, folder)]
        if 0 not in codes:
            found.append("two writers: neither wrote")
        _keep(battery, "writers", case, outcome, found)


def no_room(battery: Battery, rng: random.Random) -> None:
    """Files that may not grow beyond a size, as on a disk that is full."""
    most = rng.choice((500, 1_000, 5_000, 20_000))  # there has to be room for what is said of it
    case = Case({"claims.csv": claims(rng, SMALL)}, (DISCOVER, rng.choice(WRITERS)))
    _under_limit(battery, "disk full", case, resource.RLIMIT_FSIZE, most)


def no_memory(battery: Battery, rng: random.Random) -> None:
    """A small file that unpacks to a large one, where memory is short."""
    zeros = b"source,entity,value\na,b," + b"0" * 50_000_000
    packed = gzip.compress(zeros, 1) + gzip.compress(b"0" * 50_000_000, 1) * rng.choice((2, 20))
    case = Case({"claims.csv.gz": packed}, (("check", "claims.csv.gz"),))
    _under_limit(battery, "memory", case, resource.RLIMIT_AS, rng.choice((3, 4)) * 10**9)


def _under_limit(battery: Battery, part: str, case: Case, limit: int, most: int) -> None:
    """The last command of a case under a limit of the system."""
    *preparing, command = case.commands
    with battery.workshop.folder_of(case) as folder:
        for earlier in preparing:
            battery.workshop.run_alone(earlier, folder)
        before = names_in(folder)
        code = battery.workshop.run_alone(
            command, folder, limits=lambda: resource.setrlimit(limit, (most, most))
        )
        outcome = battery.workshop.outcome(command, code, folder, before)
        # What it prints goes to a file, which is limited, too: it may end after its work.
        _keep(battery, part, case, outcome, [f"{part}: {w}" for w in of_a_stop(outcome, folder)])


def read_only(battery: Battery, rng: random.Random) -> None:
    """Targets that one may not write to, and standard output that takes nothing."""
    command = rng.choice([command for command in WRITERS if "--out" in command])
    case = Case({"claims.csv": claims(rng, 20), "closed/file": b""}, (DISCOVER, command))
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
        found = of_a_stop(outcome, folder) if is_full else wrongs(outcome, folder)
        where = "standard output full" if is_full else "read-only"
        _keep(battery, "read-only", case, outcome, [f"{where}: {wrong}" for wrong in found])
        (folder / "closed").chmod(0o755)


SURROUNDINGS: tuple[dict[str, str | None], ...] = (
    {},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp437"},
    {"PYTHONIOENCODING": "latin-1:strict"},
    {"PYTHONIOENCODING": "utf-16"},
    {"PYTHONIOENCODING": "utf-32-le:surrogatepass"},
    {"COLUMNS": "1", "TERM": "dumb", "NO_COLOR": "1"},
    {"COLUMNS": "x", "LINES": "-1", "FORCE_COLOR": "1"},
    {"COLUMNS": "100000", "LINES": "0", "CLICOLOR_FORCE": "1"},
    {"TZ": "nowhere/at all"},
    {"TZ": ":/etc/passwd", "LANG": "xx_YY.zz"},
    {"HOME": None, "XDG_CACHE_HOME": "/proc/none", "USER": None, "LOGNAME": None},
    {"HOME": "/proc/none", "TMPDIR": "/proc/none"},
    {"HOME": "", "XDG_CACHE_HOME": "relative"},
    {"TMPDIR": ""},
    {"TMPDIR": "claims.csv"},
    {"PATH": None},
    {"POLARS_MAX_THREADS": "1", "NUMBA_DISABLE_JIT": "1"},
    {"NUMBA_CACHE_DIR": "/proc/none", "NUMBA_NUM_THREADS": "1"},
    {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"},
    {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "x"},
    {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1"},
    {"POLARS_FMT_MAX_ROWS": "-1", "POLARS_FMT_TABLE_FORMATTING": "ASCII_FULL"},
)
STREAMS = ("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-", ">/dev/full", "2>/dev/full", "| head -c 1")
MUTE = ("2>&-", "0<&- 1>&- 2>&-", "2>/dev/full", "| head -c 1")
"""Where nobody can be told anything; who reads only the beginning need not be."""

PLACES = (
    *("",) * 6,
    "umask 777;",
    "umask 000;",
    "mkdir -p gone; cd gone; rmdir ../gone;",
    "chmod 555 .;",
    "ulimit -n 100;",
    "ulimit -s 600;",
    "rm -rf figure.svg page.html; ln -s nowhere figure.svg; ln -s deeper/page page.html;",
    "rm -rf figure.svg page.html; mkfifo figure.svg page.html;",
    "rm -rf figure.svg table.xlsx; mkdir figure.svg; ln -s table.xlsx table.xlsx;",
    "rm -rf run2; mv run run2; ln -s run2 run;",
    "chmod 000 run;",
    "chmod 000 run/run.json claims.csv;",
)
OF_WRITERS = (*WRITERS[:3], WRITERS[8], WRITERS[10], *WRITERS[14:17], WRITERS[19])
ANY_COMMAND = (
    *OF_WRITERS,
    *(("explain", "run", "e1"), ("ask", "run"), ("check", "claims.csv"), ("profile", "claims.csv")),
    *(("--help",), ("discover", "--help"), ("diff", "run", "run"), ("compare", "claims.csv")),
    *(("discover", "-"), ("discover", "pipe"), ("check", "/dev/null"), ("ask", "/dev/null")),
    ("evaluate", "run", "claims.csv"),
)  # fmt: skip


def surroundings(battery: Battery, rng: random.Random) -> None:
    """Odd variables, closed streams and full ones, odd places, pipes in the place of files."""
    workshop = battery.workshop
    names = (
        "source,entity,value\na,\u00e9\u4e2d,\u202e1\nb,\u00e9\u4e2d,2\na,e1,\U0001f600\nb,e1,x\n"
    )
    case = Case({"claims.csv": names.encode()}, (DISCOVER,))
    with workshop.folder_of(case) as folder:
        if workshop.hand_over(DISCOVER, folder) != 0:
            raise RuntimeError("claims that nothing is wrong with were refused")
        os.mkfifo(folder / "pipe")
        command = rng.choice(ANY_COMMAND)
        variables, streams, place = (
            rng.choice(SURROUNDINGS),
            rng.choice(STREAMS),
            rng.choice(PLACES),
        )
        before = names_in(folder)
        code = workshop.run_in(command, folder, variables, streams, place)
        workshop.allow_all(folder)
        outcome = workshop.outcome(command, code, folder, before, _encoding(variables))
        found = [
            wrong
            for wrong in of_a_stop(outcome, folder)
            if not _is_due_to(streams, place, wrong) and not _is_colour(variables, wrong)
        ]
        told = Case(case.files, (DISCOVER, command, ("#", str(variables), streams, place)))
        _keep(battery, "surroundings", told, outcome, [f"surroundings: {w}" for w in found])


def _encoding(variables: dict[str, str | None]) -> str:
    return (variables.get("PYTHONIOENCODING") or "utf-8").partition(":")[0]


def _is_due_to(streams: str, place: str, wrong: str) -> bool:
    """What nobody can do anything about: no word where there is no stream, what the place made."""
    is_silent = wrong.startswith("fails without a word") and streams in MUTE
    return is_silent or (wrong.startswith("lost") and ("rm -rf" in place or "mv " in place))


def _is_colour(variables: dict[str, str | None], wrong: str) -> bool:
    """Whether somebody asked for control characters."""
    wants = "FORCE_COLOR" in variables or "CLICOLOR_FORCE" in variables
    return wants and "raw control characters in the output" in wrong


def _keep(battery: Battery, part: str, case: Case, outcome: Outcome, found: list[str]) -> None:
    battery.n_cases += 1
    battery.tried[part] += 1
    for wrong in found:
        battery.findings.add(wrong, part, case, outcome)


SIEGES: tuple[Siege, ...] = (
    *(kills, kills, kills, surroundings, surroundings),
    *(two_writers, no_room, no_memory, read_only),
)
