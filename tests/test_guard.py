"""Limits of the system, signals and standard streams: a sentence, an exit code, nothing left."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow
import pyarrow.parquet
import pytest

import veracity
from veracity.errors import Exhausted, UnreadableFile, exhausted
from veracity.guard import limits, stopping_signals
from veracity.io.files import reading_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX")

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "VERACITY_DEBUG"},
    "PYTHONPATH": str(Path(veracity.__file__).parents[1]),
}


def python(*arguments, cwd, before=None):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False, preexec_fn=before,
    )  # fmt: skip


def limited(name, most):
    import resource

    number = getattr(resource, name)
    return lambda: resource.setrlimit(number, (most, most))


@pytest.mark.parametrize(
    ("name", "most"), [("RLIMIT_AS", 3 * 10**8), ("RLIMIT_DATA", 10**8), ("RLIMIT_NOFILE", 20)]
)
def test_where_next_to_nothing_may_be_used_one_sentence_says_so(name, most, tmp_path):
    done = python("-m", "veracity", "--help", cwd=tmp_path, before=limited(name, most))
    assert done.returncode == 1
    assert done.stderr.startswith("error: too little may be used here: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_what_fits_under_a_limit_is_done_as_ever(tmp_path):
    (tmp_path / "claims.csv").write_text("source,entity,value\na,x,1\nb,x,2\nc,x,1\n")
    command = ("-m", "veracity", "check", "claims.csv")
    free = python(*command, cwd=tmp_path)
    done = python(*command, cwd=tmp_path, before=limited("RLIMIT_AS", 40 * 10**9))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == free.stdout
    refused = python("-m", "veracity", "check", "no.csv", cwd=tmp_path, before=None)
    again = python(
        "-m", "veracity", "check", "no.csv", cwd=tmp_path, before=limited("RLIMIT_AS", 40 * 10**9)
    )
    assert (again.returncode, again.stderr) == (refused.returncode, refused.stderr)


WATCHED = """
import os, pathlib, sys, time
from veracity import guard
from veracity.io import owned

def work():
    folder, lock = owned.make_owned(pathlib.Path("."), ".veracity-")
    (folder / "half").write_text("x")
    os.write(2, b"what a library prints as it dies")
    {ending}

guard.PATIENCE = .2
guard.limits = lambda: ["memory 1 MiB (ulimit -v)"]
guard.watched(work)
"""
ENDED = (
    "error: ended before it was done, most likely by a limit of the system: memory 1 MiB "
    "(ulimit -v); raise it, or leave out columns or rows; no half-written result is left\n"
)


@pytest.mark.parametrize(
    "ending",
    [
        "os.abort()",
        "os._exit(1)",
        "raise MemoryError",
        "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    ],
)
def test_a_command_that_a_library_ends_says_so_and_leaves_nothing(ending, tmp_path):
    done = python("-c", WATCHED.format(ending=ending), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, ENDED)
    assert not list(tmp_path.iterdir())


def test_who_watches_ends_as_the_command_and_shows_what_python_says(tmp_path):
    ending = "owned.remove_owned(folder, lock); sys.stderr.write('a word'); sys.exit(2)"
    done = python("-c", WATCHED.format(ending=ending), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "a word")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_who_watches_passes_requests_to_end_on(number, tmp_path):
    ending = (
        f"guard.heed_the_end()\n    try: os.kill(os.getppid(), {int(number)}); time.sleep(60)\n"
        "    except KeyboardInterrupt: owned.remove_owned(folder, lock); sys.exit(1)"
    )
    done = python("-c", WATCHED.format(ending=ending), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert not list(tmp_path.iterdir())


def test_a_request_that_comes_where_nothing_can_be_raised_is_heeded_after_it(tmp_path):
    done = python("-c", DEAF, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


DEAF = """
import os, signal, time
from veracity.guard import heed_the_end, lose_no_request
heed_the_end()
lose_no_request()
class Deaf:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
try:
    Deaf()
    time.sleep(5)
except KeyboardInterrupt:
    print("stopped")
"""


STOPPED_SENTENCE = "error: stopped before the end; no half-written result is left"
STOPPED = """
import os, signal, sys
signal.signal(int(sys.argv[1]), signal.SIG_DFL)  # shells let background jobs ignore some
from veracity.cli import main
import polars as pl
pl.DataFrame.write_parquet = lambda *_: os.kill(os.getpid(), int(sys.argv[1]))
main(["generate", "--items", "5", "--out", "new"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["SIGQUIT", "SIGUSR1", "SIGALRM", "SIGXCPU", "SIGABRT", "SIGPWR", "SIGRTMIN"]
)
def test_every_signal_that_asks_to_end_is_heeded(name, tmp_path):
    number = getattr(signal, name)
    assert number in stopping_signals()
    done = python("-c", STOPPED, str(int(number)), cwd=tmp_path)
    assert done.stderr.strip() == STOPPED_SENTENCE
    assert done.returncode == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_request_to_end_while_the_command_is_loaded_is_no_abort(name, tmp_path):
    (tmp_path / "click.py").write_text(f"import os, signal\nos.kill(os.getpid(), signal.{name})\n")
    done = python("-m", "veracity", "--help", cwd=tmp_path)  # its folder comes first
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == STOPPED_SENTENCE


def test_a_request_to_end_within_an_exec_is_told_like_any_other(tmp_path):
    """Python itself ends by a signal then, though the exception was caught: exit code 130."""
    program = (
        "import sys\nimport veracity.cli.commands as commands\nfrom veracity.__main__ import main\n"
        "commands.generate.callback = lambda **_: exec('raise KeyboardInterrupt')\n"
        "sys.argv[1:] = ['generate', '--out', 'new']\nmain()"
    )
    done = python("-c", program, cwd=tmp_path)
    assert done.stderr.strip() == STOPPED_SENTENCE
    assert done.returncode == 1


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_nothing_that_is_printed_gets_into_files_where_a_stream_is_closed(closed, tmp_path):
    program = (
        "import os, sys\nfrom veracity.guard import hold_standard_streams\n"
        "hold_standard_streams()\nopened = open('file', 'wb')\n"
        "[os.write(n, b'word') for n in (1, 2)]\nsys.exit(opened.fileno() < 3)"
    )
    done = python("-c", program, cwd=tmp_path, before=lambda: os.close(closed))
    assert done.returncode == 0
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "out of memory"),
        (OSError(errno.ENOMEM, "x"), "out of memory"),
        (OSError(errno.EMFILE, "x"), "too many files"),
        (OSError("Too many open files (os error 24): claims.csv"), "too many files"),
        (RuntimeError("can't start new thread"), "no further thread"),
        (pl.exceptions.PanicException("Cannot allocate memory to hold CompactString"), "out of"),
        (SystemError("error return without exception set"), "out of memory"),
    ],
)
def test_what_the_system_does_not_give_is_called_so(error, words):
    found = exhausted(error)
    assert found is not None
    assert words in str(found)


def test_what_is_damaged_is_not_confused_with_a_lack_of_memory():
    assert exhausted(pl.exceptions.ComputeError("no such column")) is None
    with pytest.raises(UnreadableFile, match="damaged or cut off"), reading_file(Path("c.csv")):
        raise pl.exceptions.ComputeError("no such column")
    with pytest.raises(Exhausted, match="out of memory"), reading_file(Path("claims.csv")):
        raise pl.exceptions.PanicException("Cannot allocate memory to hold CompactString")


def test_here_no_limit_is_set_that_would_need_watching():
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        assert not [one for one in limits() if one.startswith("memory ")]


def test_what_libraries_print_beside_python_is_not_shown(tmp_path):
    """A zone of time that does not exist makes the frame library panic, and print that it does."""
    when = pyarrow.array([0, 1], pyarrow.timestamp("ms", "Nowhere/At_all"))
    claims = pyarrow.table({"source": ["a", "b"], "entity": ["x", "x"], "value": when})
    pyarrow.parquet.write_table(claims, tmp_path / "claims.parquet")
    done = subprocess.run(
        [sys.executable, "-m", "veracity", "discover", tmp_path / "claims.parquet"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "panicked" not in done.stderr
    assert "bug" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


LOADING = """
import sys
from veracity import __main__ as command
class Stops:
    def find_spec(self, name, *_):
        if name == "veracity.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stops())
command.main()
"""


@pytest.mark.parametrize("limited", [False, True])
def test_ctrl_c_while_the_command_is_being_loaded_gets_one_sentence(limited):
    most = (1 << 34, 1 << 34)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, {most})" if limited else ""
    done = subprocess.run(
        [sys.executable, "-c", f"{limit}\n{LOADING}"], check=False, capture_output=True, text=True
    )
    assert done.stderr == "error: stopped before the end; no half-written result is left\n"
    assert done.returncode == 1
