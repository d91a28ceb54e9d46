"""Run commands: in a worker, for speed, or each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from attack.case import Case, Command, Outcome

TIMEOUT = 60.0
"""CPU time in seconds after which a command on so little data counts as hanging."""

PATIENCE = 10.0
"""Factor for the clock, since others may be at work on the machine."""

TESTS = Path(__file__).parents[1]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a command in this folder."""
    paths = [str(TESTS), str(TESTS.parent / "src")]
    away = {"VERACITY_DEBUG", "PYTHONWARNINGS"}
    kept = {name: value for name, value in os.environ.items() if name not in away}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": f"{folder}.tmp"}


def names_in(folder: Path) -> frozenset[str]:
    """Return all files and folders, relative to the folder."""
    if not folder.is_dir():
        return frozenset()
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the content of all files, by their names relative to the folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _seconds_of(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        told = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
        return sum(map(int, told.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Workshop:
    """A place to run cases in; a context manager, since it starts a process."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="attack-"))
        self.n_commands = 0
        self._worker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        shutil.rmtree(self.root, ignore_errors=True)

    @contextlib.contextmanager
    def folder_of(self, case: Case) -> Iterator[Path]:
        """Yield a fresh folder with the files of a case."""
        folder = self.root / "work"
        temporary = self.root / "work.tmp"
        for path in (folder, temporary):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        case.lay_out(folder)
        yield folder

    def run(self, case: Case, *, alone: bool = False) -> Iterator[tuple[Outcome, Path]]:
        """Carry out the commands; each outcome comes while the folder is as it was left."""
        with self.folder_of(case) as folder:
            for command in case.commands:
                before = names_in(folder)
                can_be_typed = "\0" not in "".join(command)
                run = self.run_alone if alone and can_be_typed else self.hand_over
                code = run(command, folder)
                yield self.outcome(command, code, folder, before), folder

    def outcome(
        self, command: Command, code: int | None, folder: Path, before: frozenset[str]
    ) -> Outcome:
        """Return what is to be judged, of a command that ended with this code."""
        self.n_commands += 1
        stdout, stderr = (Path(path).read_bytes() for path in self._streams)
        now, temporary = names_in(folder), names_in(self.root / "work.tmp")
        return Outcome(command, code, stdout, stderr, before, now, temporary)

    @property
    def _streams(self) -> list[str]:
        return [str(self.root / "stdout"), str(self.root / "stderr")]

    def start(self, command: Command, folder: Path) -> subprocess.Popen[bytes]:
        """Start a command in a process of its own."""

        def begin() -> None:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)  # whoever runs this in the background

        out, err = self._streams
        with Path(out).open("wb") as to, Path(err).open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "veracity", *command],
                cwd=folder,
                env=environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=errors,
                preexec_fn=begin,  # noqa: PLW1509 - this process has no threads
            )

    def run_alone(self, command: Command, folder: Path) -> int | None:
        """Run a command in a process of its own to its end."""
        process = self.start(command, folder)
        try:
            return process.wait(PATIENCE * TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None

    def hand_over(self, command: tuple[str, ...], folder: Path) -> int | None:
        """Let the worker run it; one that dies tells by which signal, one that hangs is ended."""
        worker = self._worker or self._hire()
        assert worker.stdin is not None
        assert worker.stdout is not None
        job = {"command": command, "folder": str(folder), "streams": self._streams}
        worker.stdin.write(json.dumps(job).encode() + b"\n")
        worker.stdin.flush()
        begun, used = time.monotonic(), _seconds_of(worker)
        while not select.select([worker.stdout], [], [], 1.0)[0]:
            is_late = time.monotonic() - begun > PATIENCE * TIMEOUT
            if is_late or _seconds_of(worker) - used > TIMEOUT:
                self._stop()
                return None
        answer = worker.stdout.readline()
        if answer:
            return int(answer)
        return self._stop(has_ended=True)  # its last word is that there is none

    def _hire(self) -> subprocess.Popen[bytes]:
        self._worker = subprocess.Popen(
            [sys.executable, "-m", "attack.worker"],
            env=environment(self.root / "work"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self._worker

    def _stop(self, *, has_ended: bool = False) -> int | None:
        """End the worker, unless it has ended by itself; its exit code."""
        worker, self._worker = self._worker, None
        if worker is None:
            return None
        assert worker.stdin is not None
        assert worker.stdout is not None
        if not has_ended:
            worker.kill()
        code = worker.wait()
        worker.stdin.close()
        worker.stdout.close()
        return code
