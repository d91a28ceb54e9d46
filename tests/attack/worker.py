"""Run commands one after another in one process, so that imports happen once.

It may be aborted by a command; whoever started it (`workshop`) sees that and starts another.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import traceback
import warnings

HIDDEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""Warnings that Python does not show to users."""


def serve() -> None:
    """Take a job a line, answer with its exit code, until there is no more."""
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in jobs:
        job = json.loads(line)
        answers.write(b"%d\n" % _run(job["command"], job["folder"], job["streams"]))
        answers.flush()


def _run(command: list[str], folder: str, streams: list[str]) -> int:
    os.chdir(folder)
    tempfile.tempdir = os.environ["TMPDIR"] = folder + ".tmp"
    out, err = streams
    with open(out, "wb") as printed:  # noqa: PTH123 - the current folder may be odd
        os.dup2(printed.fileno(), 1)
    # The descriptor stays ours: closing a wrapper must not close it.
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
    with open(err, "w", encoding="utf-8", errors="backslashreplace") as sys.stderr:  # noqa: PTH123
        try:
            return _call(command)
        finally:
            sys.stdout.flush()


def _call(command: list[str]) -> int:
    from veracity.cli import main

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for hidden in HIDDEN:
            warnings.simplefilter("ignore", hidden)
        try:
            main(command, prog_name="veracity")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            return 1
    return 0


if __name__ == "__main__":
    serve()
