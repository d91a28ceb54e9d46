"""A command that is stopped: a sentence, an exit code, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import veracity

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(veracity.__file__).parents[1])}
STOPPED_SENTENCE = "error: stopped before the end; no half-written result is left"


def python(*arguments, cwd):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip


STOPPED = """
import os, signal, sys
from veracity.cli import main
import polars as pl
pl.DataFrame.write_parquet = lambda *_: os.kill(os.getpid(), int(sys.argv[1]))
main(["generate", "--set", "items=5", "--out", "new"])
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_request_to_end_leaves_no_file_half_written(name, tmp_path):
    done = python("-c", STOPPED, str(int(getattr(signal, name))), cwd=tmp_path)
    assert done.stderr.strip() == STOPPED_SENTENCE
    assert done.returncode == 1
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_the_command_is_loaded_gets_one_sentence(tmp_path):
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = python("-m", "veracity", "--help", cwd=tmp_path)  # its folder comes first
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == STOPPED_SENTENCE
