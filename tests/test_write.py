from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from veracity.errors import OutputError
from veracity.io.atomic import atomic_file, atomic_folder, check_can_write, check_file, recover

MARKER = "run.json"


@pytest.fixture
def run(tmp_path):
    """A folder as veracity writes it."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / MARKER).write_text(json.dumps({"veracity": "1.0", "files": ["truths.parquet"]}))
    (folder / "truths.parquet").write_text("old")
    return folder


def check(target, *, force=True):
    check_can_write(target, force=force, marker=MARKER)


def content(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_new_name_may_be_written_to(tmp_path):
    check(tmp_path / "not" / "yet", force=False)
    assert content(tmp_path) == []


def test_ctrl_c_while_the_temporary_folder_is_removed_leaves_nothing(tmp_path, monkeypatch):
    remove, interrupts = shutil.rmtree, [KeyboardInterrupt]

    def interrupted(folder, **options):
        if interrupts:
            raise interrupts.pop()
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "truths.csv") as file:
        file.write_text("all of it")
    assert content(tmp_path) == ["truths.csv"]


def test_a_run_and_an_empty_folder_may_be_replaced_if_that_is_forced(run):
    (run.parent / "empty").mkdir()
    for folder in (run, run.parent / "empty"):
        check(folder)
        with pytest.raises(OutputError, match="exists; choose another name, or replace it with"):
            check(folder, force=False)


def marked(text):
    return lambda at: (at / "run" / MARKER).write_text(text, errors="surrogateescape")


NO_FOLDERS = [
    (lambda at: (at / "run" / MARKER).unlink(), "run", "not written by veracity"),
    *((marked(text), "run", "not written by veracity")
      for text in ("", "{", "[]", "7", '{"npm": 1}', '{"veracity": "1"}', "\udcff")),
    (marked('{"veracity": "1.0", "files": ["facts.parquet"]}'), "run", "'truths.parquet' in it"),
    (lambda at: (at / "run" / "notes.txt").touch(), "run", "did not write 'notes.txt' in it"),
    (lambda at: (at / "run" / "figures").mkdir(), "run", "did not write 'figures' in it"),
    (lambda at: (at / "run" / "a.parquet").mkdir(), "run", "did not write 'a.parquet' in it"),
    (lambda at: (at / "file").touch(), "file", "is no folder"),
    (lambda at: (at / "link").symlink_to("nowhere"), "link", "is no folder"),
    (lambda at: (at / "file").touch(), "file/run", "cannot write"),
    (lambda at: None, "x" * 5000, "cannot write"),
    (lambda at: None, "\udcff", "cannot write"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "words"), NO_FOLDERS)
def test_what_is_not_ours_or_no_folder_is_never_replaced(run, make, name, words):
    make(run.parent)
    before = content(run.parent)
    with pytest.raises(OutputError, match=words):
        check(run.parent / name)
    assert content(run.parent) == before


NO_FILES = [
    (lambda at: os.mkfifo(at / "pipe"), "pipe", "no plain file"),
    (lambda at: (os.mkfifo(at / "pipe"), (at / "link").symlink_to("pipe")), "link", "no plain"),
    (lambda at: (at / "link").symlink_to(at / "link"), "link", "leads nowhere"),
    (lambda at: (at / "link").symlink_to("nowhere/there"), "link", "there is no folder"),
    (lambda at: None, "nowhere/there", "there is no folder"),
    (lambda at: (at / "folder").mkdir(), "folder", "is a folder"),
]


@pytest.mark.parametrize(("make", "name", "words"), NO_FILES)
def test_what_is_no_file_is_never_replaced_by_one(tmp_path, make, name, words):
    make(tmp_path)
    before = content(tmp_path)
    with pytest.raises(OutputError, match=words):
        check_file(tmp_path / name, force=True)
    with pytest.raises(OutputError), atomic_file(tmp_path / name) as file:
        file.write_text("x")
    assert content(tmp_path) == before


def write(target, then=lambda: None):
    with atomic_folder(target, force=True, marker=MARKER) as folder:
        assert folder != target
        (folder / "a").write_text("new")
        then()


def stop_with(error):
    def stop():
        raise error

    return stop


def test_a_finished_folder_has_its_name_and_leaves_nothing_beside_it(tmp_path):
    write(tmp_path / "deep" / "run")
    assert content(tmp_path) == ["deep", "deep/run", "deep/run/a"]


def test_a_finished_folder_takes_the_place_of_the_old_one(run):
    write(run)
    assert content(run.parent) == ["run", "run/a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_work_that_is_stopped_leaves_nothing(tmp_path, error):
    with pytest.raises(error):
        write(tmp_path / "deep" / "run", then=stop_with(error))
    assert content(tmp_path) == []


def test_work_that_is_stopped_leaves_the_old_folder(run):
    with pytest.raises(KeyboardInterrupt):
        write(run, then=stop_with(KeyboardInterrupt))
    assert content(run.parent) == ["run", f"run/{MARKER}", "run/truths.parquet"]


def test_a_stop_between_the_two_renames_leaves_the_old_folder(run, monkeypatch):
    def rename(self, target):
        return stop_with(KeyboardInterrupt)() if self.name == "new" else original(self, target)

    original = type(run).rename
    monkeypatch.setattr(type(run), "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        write(run)
    assert content(run.parent) == ["run", f"run/{MARKER}", "run/truths.parquet"]


def test_a_failure_to_write_is_an_error_that_says_why(tmp_path):
    with pytest.raises(OutputError, match="No space left on device; nothing was written"):
        write(tmp_path / "run", then=lambda: Path("/dev/full").write_text("x"))
    assert content(tmp_path) == []


def test_a_folder_that_appears_while_we_write_is_not_ours_to_replace(tmp_path):
    def somebody_else_writes():
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "b").write_text("theirs")

    with pytest.raises(OutputError, match="not written by veracity"):
        write(tmp_path / "run", then=somebody_else_writes)
    assert content(tmp_path) == ["run", "run/b"]


def test_a_file_that_is_put_into_the_old_folder_while_we_write_is_not_lost(run):
    with pytest.raises(OutputError, match=r"did not write 'mine.txt'"):
        write(run, then=lambda: (run / "mine.txt").write_text("mine"))
    assert (run / "mine.txt").exists()


# --- those who were killed ------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from veracity.io import atomic
def kill(*_): os.kill(os.getpid(), signal.SIGKILL)
when, rename = sys.argv[2], Path.rename
def stop_before(self, target):
    return kill() if self.name == "new" else rename(self, target)
if when == "renames":
    Path.rename = stop_before
if when == "afterwards":
    atomic._restore = kill
with atomic.atomic_folder(Path(sys.argv[1]), force=True, marker="run.json") as folder:
    (folder / "a").write_text("new")
    if when == "writing":
        kill()
"""


def kill_a_writer(target, when):
    done = subprocess.run([sys.executable, "-c", KILLED, str(target), when], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(target.parent.glob(".veracity-*"))


@pytest.mark.parametrize("when", ["writing", "renames", "afterwards"])
def test_who_is_killed_hides_nothing_and_leaves_nothing_that_the_next_does_not_remove(run, when):
    kill_a_writer(run, when)
    recover(run.parent)
    new = when == "afterwards"
    assert content(run.parent) == ["run", *(["run/a"] if new else
                                            [f"run/{MARKER}", "run/truths.parquet"])]  # fmt: skip


def test_the_next_writer_recovers_what_was_hidden_before_it_checks(run):
    kill_a_writer(run, "renames")
    assert not run.exists()
    check(run)
    assert run.exists()


STOPPED = """
import os, signal, sys
import polars as pl
from veracity.cli import main
pl.DataFrame.write_parquet = lambda *_: os.kill(os.getpid(), getattr(signal, sys.argv[2]))
main(["generate", "--set", "items=5", "--out", sys.argv[1], "--force"])
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_who_is_asked_to_end_leaves_nothing(run, name):
    target = run.parent / "deep" / "synthetic"
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, str(target), name],
        check=False, capture_output=True, text=True,
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),  # nohup ignores it
    )  # fmt: skip
    sentence = "error: stopped before the end; no half-written result is left"
    assert done.stderr.strip() == sentence
    assert content(run.parent) == ["run", f"run/{MARKER}", "run/truths.parquet"]


def test_a_file_may_have_any_name(tmp_path):
    for name in ("name", "new", "owner"):
        with atomic_file(tmp_path / name) as file:
            file.write_text("x")
    assert content(tmp_path) == ["name", "new", "owner"]


def test_what_others_are_writing_and_what_is_not_known_stays(run):
    (run.parent / ".veracity-strange" / "old").mkdir(parents=True)

    def write_another():
        write(run.parent / "other")
        assert len(list(run.parent.glob(".veracity-*"))) == 2

    write(run, then=write_another)
    assert content(run.parent) == [
        ".veracity-strange", ".veracity-strange/old", "other", "other/a", "run", "run/a",
    ]  # fmt: skip


# --- what is refused before the work --------------------------------------------------------------


def test_a_link_to_a_run_stays_a_link(run):
    link = run.parent / "link"
    link.symlink_to(run)
    write(link)
    assert link.is_symlink()
    assert content(run) == ["a"]


def test_a_run_one_may_not_replace_is_refused_before_the_work(run, monkeypatch):
    closed = run.parent  # root may write anywhere, so it is played
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != closed)
    with pytest.raises(OutputError, match="no folder that can be written to"):
        check(run)


def test_a_link_to_a_file_stays_a_link_and_the_file_is_written(tmp_path):
    (tmp_path / "deeper").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to("deeper/there.csv")
    for text in ("new", "newer"):
        with atomic_file(link) as unfinished:
            unfinished.write_text(text)
        assert link.is_symlink()
        assert (tmp_path / "deeper" / "there.csv").read_text() == text
    assert content(tmp_path) == ["deeper", "deeper/there.csv", "link.csv"]


def test_a_file_is_written_by_the_name_that_was_given_whatever_it_leads_to(tmp_path):
    link = tmp_path / "figure.svg"
    link.symlink_to("nowhere")
    with atomic_file(link) as unfinished:
        assert unfinished.suffix == ".svg"
        unfinished.write_text("new")
    assert (tmp_path / "nowhere").read_text() == "new"
    assert link.is_symlink()
