"""Where the system limits what a command may use, a process watches over the one that works.

Libraries below end the whole process where memory is short, or print what they think of it. So
where there is such a limit, the command works in a child, which nobody but Python writes to
standard error for. If it does not come to its end, its parent says so in a sentence, and removes
what the child could not.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import select
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

NOT_STOPPING = frozenset({
    *("SIGKILL", "SIGSTOP"),  # nobody hears of these
    *("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGSYS"),  # after these nothing can go on
    *("SIGCHLD", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH"),
})  # fmt: skip
"""Signals that do not ask a process to end."""


class Limit(NamedTuple):
    """What the system may limit, the option of ulimit for it, and its unit."""

    what: str
    option: str
    least: int
    enough: int
    unit: int = 1
    unit_name: str = ""


LIMITS = {
    "RLIMIT_AS": Limit("memory", "-v", 3 << 29, 1 << 50, 1 << 20, " MiB"),
    "RLIMIT_DATA": Limit("memory for data", "-d", 1 << 30, 1 << 50, 1 << 20, " MiB"),
    "RLIMIT_STACK": Limit("stack", "-s", 1 << 19, 1 << 20, 1 << 10, " KiB"),
    "RLIMIT_NPROC": Limit("processes and threads", "-u", 0, 1_000),
    "RLIMIT_NOFILE": Limit("open files", "-n", 64, 128),
}
"""With less than `least` libraries do not even get loaded, by what was tried on two processors;
with `enough` they never miss anything. In between the command is watched."""

PATIENCE = 10.0
"""Every so many seconds it is looked whether the child still does anything."""

IDLE_CALLS = {"x86_64": ("202", "232", "281"), "aarch64": ("98", "22")}
"""The numbers of the calls futex and epoll_wait, by which threads wait for each other."""


def limits() -> list[str]:
    """The limits under which libraries may end the process, as one would tell them."""
    return [_told(limit, most) for limit, most in _set_limits() if most < limit.enough]


def too_little() -> str | None:
    """The sentence that says what nothing can be done with; None where enough may be used."""
    for limit, most in _set_limits():
        if most < limit.least:
            least = f"{limit.least // limit.unit:,}{limit.unit_name}"
            return (
                f"error: too little may be used here: {_told(limit, most)}; veracity needs at "
                f"least {least}: raise the limit\n"
            )
    return None


def _told(limit: Limit, most: int) -> str:
    return f"{limit.what} {most // limit.unit:,}{limit.unit_name} (ulimit {limit.option})"


def _set_limits() -> Iterator[tuple[Limit, int]]:
    with contextlib.suppress(ImportError):  # Windows has no such limits
        resource = importlib.import_module("resource")
        for name, limit in LIMITS.items():
            number = getattr(resource, name, None)
            most = None if number is None else resource.getrlimit(number)[0]
            if most is not None and most not in (resource.RLIM_INFINITY, -1):
                yield limit, most


def stopping_signals() -> list[int]:
    """All signals that ask a process to end."""
    others = {getattr(signal, name, None) for name in NOT_STOPPING}
    return sorted(signal.valid_signals() - others)


_requests: list[int] = []
"""The signals that asked this command to end."""

_is_over: list[bool] = []
"""Whether it is ending already."""


def heed_the_end() -> None:
    """Take every request to end as Ctrl-C: temporary files are to be removed."""
    _requests.clear()
    _is_over.clear()

    def stop(number: int, frame: object) -> None:
        if _is_over:
            return
        _requests.append(number)
        raise KeyboardInterrupt

    for number in stopping_signals():
        with contextlib.suppress(ValueError, OSError):  # only the main thread may ask
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, stop)


def heed_no_more() -> None:
    """Take no further request: all is done, and nothing is left to be stopped."""
    _is_over.append(True)  # one step, which no other request can come into


def lose_no_request() -> None:
    """Let requests that come where nothing can be raised, as within a library, be made again."""
    sys.unraisablehook = _ask_again


def _ask_again(lost: Any) -> None:
    if not issubclass(lost.exc_type, KeyboardInterrupt) or not _requests:
        sys.__unraisablehook__(lost)
        return
    again = threading.Timer(0.02, os.kill, (os.getpid(), _requests[-1]))  # not here either
    again.daemon = True
    again.start()


def was_asked_to_end() -> bool:
    """Whether a signal came: libraries that it interrupts have errors of their own for that."""
    return bool(_requests)


def hold_standard_streams() -> None:
    """Open what is closed of the standard streams to nowhere.

    Else a file that is opened later gets the number of such a stream, and what libraries print
    would get into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def watched(work: Callable[[], None]) -> NoReturn:
    """Do the work in a child, and end as it ends; or say that a limit ended it."""
    told, telling = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping_signals())
    try:
        child = os.fork()
    except OSError:  # not even that: then it has to do without
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping_signals())
        work()
        sys.exit(0)
    if not child:
        _do(work, telling)
    os.close(telling)
    for number in stopping_signals():
        with contextlib.suppress(OSError, ValueError):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda _number, _frame: _send(child, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping_signals())
    said = _listened_to(child, told)
    os.waitpid(child, 0)
    sys.exit(_ended(said))


def _send(child: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(child, number)


def _listened_to(child: int, told: int) -> list[bytes]:
    """What the child told until it ended; one in which no thread works any more is ended."""
    content, threads_before = b"", None
    while True:
        if not select.select([told], [], [], PATIENCE)[0]:
            threads = _waiting_threads(child)
            if threads is not None and threads == threads_before:
                _send(child, signal.SIGKILL)
            threads_before = threads
            continue
        piece = os.read(told, 1 << 16)
        content += piece
        if not piece:
            return content.split(b"\0")[:-1]


def _waiting_threads(child: int) -> dict[str, str] | None:
    """What the threads have used of the processor, if all of them wait for each other.

    Where a thread cannot be started, or ends for lack of memory, others may wait for it for ever.
    Who waits for a file or a database waits in another call of the system.
    """
    idle = IDLE_CALLS.get(os.uname().machine, ())
    used = {}
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{child}/task").iterdir():
            if (thread / "syscall").read_text().split()[0] not in idle:
                return None
            used[thread.name] = " ".join((thread / "stat").read_text().split()[13:15])
    return used or None


def _do(work: Callable[[], None], telling: int) -> NoReturn:
    """Work, and tell which folders are to be removed by whom, and how it ended."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes it on, as another signal
    _die_with_parent()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping_signals())
    let_only_python_speak()
    owned: Any = importlib.import_module("veracity.io.owned")
    owned.witness = lambda folder: os.write(telling, os.fsencode(folder) + b"\0")
    code: Any = 0
    try:
        work()
    except SystemExit as end:
        code = end.code
    except BaseException:  # even to explain it was too much
        os._exit(1)
    os.write(telling, b"%d\0" % (code if isinstance(code, int) else int(code is not None)))
    sys.exit(code)


def _die_with_parent() -> None:
    """Where the system can: if the parent is killed, so is this process."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def let_only_python_speak() -> None:
    """What other libraries print on standard error goes nowhere.

    A panic of the frame library reaches Python as an error, and is explained in a sentence.
    """
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        own = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        encoding = sys.stderr.encoding
        sys.stderr = os.fdopen(own, "w", 1, encoding=encoding, errors="backslashreplace")


def _ended(said: list[bytes]) -> int:
    """The exit code that the child told; else what happened is told here."""
    if said and said[-1].isdigit():
        return int(said[-1])
    for folder in map(Path, map(os.fsdecode, said)):
        if not (folder / "old").exists():  # that is for the next who writes there to put back
            shutil.rmtree(folder, ignore_errors=True)
    told = ", ".join(limits()) or "unknown"
    sentence = (
        f"error: ended before it was done, most likely by a limit of the system: {told}; raise "
        "it, or leave out columns or rows; no half-written result is left\n"
    )
    with contextlib.suppress(OSError):
        os.write(2, sentence.encode())
    return 1
