from __future__ import annotations

import json
from pathlib import Path

import pytest

from veracity.errors import OutputError
from veracity.io.folders import check_target, finished_folder

MARKER = "run.json"


@pytest.fixture
def run(tmp_path):
    """A folder as veracity writes it."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / MARKER).write_text(json.dumps({"veracity": "1.0"}))
    (folder / "truths.parquet").write_text("old")
    return folder


def check(target, *, force=True):
    check_target(target, force=force, marker=MARKER)


def content(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_new_name_may_be_written_to(tmp_path):
    check(tmp_path / "not" / "yet", force=False)
    assert content(tmp_path) == []


def test_a_folder_that_exists_is_refused_unless_forced(run):
    with pytest.raises(OutputError, match="exists; choose another name, or --force to replace it"):
        check(run, force=False)
    check(run)


def test_an_empty_folder_may_be_replaced(tmp_path):
    check(tmp_path)


@pytest.mark.parametrize("marker", [None, "", "{", "[]", "7", '{"npm": 1}', "\udcff"])
def test_a_folder_without_our_marker_is_never_replaced(tmp_path, marker):
    (tmp_path / "thesis.parquet").write_text("years of work")
    if marker is not None:
        (tmp_path / MARKER).write_text(marker, errors="surrogateescape")
    with pytest.raises(OutputError, match="not written by veracity"):
        check(tmp_path)


@pytest.mark.parametrize("strange", ["notes.txt", "figures/", "a.parquet/"])
def test_a_run_in_which_somebody_keeps_something_else_is_never_replaced(run, strange):
    path = run / strange
    path.mkdir() if strange.endswith("/") else path.write_text("mine")
    with pytest.raises(OutputError, match=f"veracity did not write '{strange.strip('/')}' in it"):
        check(run)


def test_a_file_is_never_replaced(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(OutputError, match="is no folder"):
        check(tmp_path / "run")


def test_a_link_to_nowhere_is_never_replaced(tmp_path):
    (tmp_path / "run").symlink_to("nowhere")
    with pytest.raises(OutputError, match="is no folder"):
        check(tmp_path / "run")


@pytest.mark.parametrize("name", ["file/run", "x" * 5000, "\udcff"])
def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(tmp_path, name):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="cannot write"):
        check(tmp_path / name)


def write(target, then=lambda: None):
    with finished_folder(target) as folder:
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

    with pytest.raises(OutputError, match="not empty"):
        write(tmp_path / "run", then=somebody_else_writes)
    assert content(tmp_path) == ["run", "run/b"]
