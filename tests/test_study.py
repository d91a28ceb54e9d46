"""Studies are carried out, stopped, resumed and shown."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import veracity
from veracity.algorithms import CATALOGUE
from veracity.errors import OutputError, ParameterError, StudyError
from veracity.show.figures.base import altair
from veracity.study import RuntimeStudy, Study, SyntheticStudy, carry_out, publish, work
from veracity.study.page import _apart
from veracity.synthetic import Ranges

SMALL = Ranges(items=(20, 40))


@dataclass(frozen=True, kw_only=True)
class Squares(Study):
    """The squares of the first numbers, told to a log; where there is a trap, one task fails."""

    name = "squares"
    title = "Squares & <roots>"
    about = "n times n"

    n: int = 6
    log: str = ""
    trap: str = ""
    """A file which, while it is there, says how task 3 ends."""
    slow_from: int = 1000
    """From which task on each takes a minute."""

    def tasks(self, rows):
        return [str(n) for n in range(self.n)]

    def do(self, task):
        time.sleep(60 if int(task) >= self.slow_from else 0)
        if task == "3" and self.trap and Path(self.trap).exists():
            os._exit(1) if Path(self.trap).read_text() == "die" else self._fail()
        if self.log:
            with Path(self.log).open("a") as log:
                log.write(f"{task}\n")
        return [{"root": int(task), "square": int(task) ** 2}]

    def _fail(self):
        raise ZeroDivisionError(self.name)

    def tables(self, rows):
        odd = rows.with_columns(odd=pl.col("root") % 2 == 1, share=float("nan"), text=pl.lit("<b>"))
        return {"squares": odd.drop("task")}

    def figures(self, tables):
        alt = altair()
        return {
            "a_curve": alt.Chart(tables["squares"]).mark_line().encode(x="root:Q", y="square:Q")
        }

    def findings(self, tables):
        return ["squares grow & grow"]


@pytest.fixture
def squares(tmp_path):
    return Squares(log=str(tmp_path / "log"), trap=str(tmp_path / "trap"))


def done(study):
    """The tasks that were really done, in order."""
    return Path(study.log).read_text().split() if Path(study.log).exists() else []


def stop_at(number):
    """A user who stops a study after some tasks."""

    def progress(phase, done, total):
        if done == number:
            raise KeyboardInterrupt

    return progress


# --- carry out -----------------------------------------------------------------------------------


def test_rows_are_kept_in_one_file_and_no_parts_are_left(squares, tmp_path):
    rows = carry_out(squares, tmp_path / "out", workers=1)
    assert rows["square"].to_list() == [0, 1, 4, 9, 16, 25]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "rows.parquet", "study.json",
    ]  # fmt: skip
    assert_frame_equal(pl.read_parquet(tmp_path / "out" / "rows.parquet"), rows)


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(carry_out(Squares(), workers=1)) == 6
    assert not list(tmp_path.iterdir())


def test_a_stopped_study_goes_on_where_it_was_stopped(squares, tmp_path):
    out, told = tmp_path / "out", []
    with pytest.raises(KeyboardInterrupt):
        carry_out(squares, out, workers=1, progress=stop_at(2))
    assert [path.name for path in (out / "parts").iterdir()] == ["00000.parquet"]
    with pytest.raises(KeyboardInterrupt):
        carry_out(squares, out, workers=1, progress=stop_at(5))
    rows = carry_out(squares, out, workers=1, progress=lambda *step: told.append(step))
    assert done(squares) == ["0", "1", "2", "3", "4", "5"]
    assert_frame_equal(rows, carry_out(Squares(), workers=1))
    assert told == [("study squares", 5, 6), ("study squares", 6, 6)]
    assert not (out / "parts").exists()


def test_a_study_that_is_complete_does_nothing_more(squares, tmp_path):
    rows = carry_out(squares, tmp_path / "out", workers=1)
    written = (tmp_path / "out" / "rows.parquet").stat().st_mtime_ns
    assert_frame_equal(carry_out(squares, tmp_path / "out", workers=1), rows)
    assert len(done(squares)) == 6
    assert (tmp_path / "out" / "rows.parquet").stat().st_mtime_ns == written


def test_a_task_that_fails_loses_none_that_is_done(squares, tmp_path):
    Path(squares.trap).touch()
    with pytest.raises(ZeroDivisionError):
        carry_out(squares, tmp_path / "out", workers=1)
    Path(squares.trap).unlink()
    assert len(carry_out(squares, tmp_path / "out", workers=1)) == 6
    assert done(squares) == ["0", "1", "2", "3", "4", "5"]


def test_a_task_twice_on_disk_counts_once(squares, tmp_path):
    """A stop may come after the rows are in one file and before the parts are gone."""
    rows = carry_out(squares, tmp_path / "out", workers=1)
    (tmp_path / "out" / "parts").mkdir()
    rows.head(4).write_parquet(tmp_path / "out" / "parts" / "00000.parquet")
    assert_frame_equal(carry_out(squares, tmp_path / "out", workers=1), rows)
    assert not (tmp_path / "out" / "parts").exists()


def test_a_damaged_part_is_named_and_can_be_deleted_without_losing_another(squares, tmp_path):
    out = tmp_path / "out"
    for number in (2, 4):
        with pytest.raises(KeyboardInterrupt):
            carry_out(squares, out, workers=1, progress=stop_at(number))
    part = out / "parts" / "00000.parquet"
    part.write_bytes(part.read_bytes()[:20])
    with pytest.raises(StudyError, match=rf"{part}: damaged; delete it to have its tasks done"):
        carry_out(squares, out, workers=1)
    part.unlink()
    with pytest.raises(KeyboardInterrupt):
        carry_out(squares, out, workers=1, progress=stop_at(3))
    assert len(carry_out(squares, out, workers=1)) == 6
    assert done(squares) == ["0", "1", "2", "3", "0", "1", "4", "5"]


def test_what_a_kill_left_behind_is_cleared_away(squares, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        carry_out(squares, tmp_path / "out", workers=1, progress=stop_at(2))
    (tmp_path / "out" / "parts" / ".veracity-half").mkdir()
    (tmp_path / "out" / "parts" / ".veracity-half" / "00001.parquet").write_bytes(b"PAR1")
    assert len(carry_out(squares, tmp_path / "out", workers=1)) == 6
    assert not (tmp_path / "out" / "parts").exists()


def test_rows_are_written_while_the_study_goes_on(squares, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "SECONDS_BETWEEN_PARTS", 0.0)
    parts = []

    def count(phase, done, total):
        parts.append(len(list((tmp_path / "out").glob("parts/*.parquet"))))

    carry_out(squares, tmp_path / "out", workers=1, progress=count)
    assert parts == [0, 1, 2, 3, 4, 5, 6]


def test_a_folder_with_other_settings_is_refused(tmp_path):
    carry_out(Squares(n=2), tmp_path / "out", workers=1)
    with pytest.raises(OutputError, match="holds a study with other settings; choose another"):
        carry_out(Squares(n=3), tmp_path / "out", workers=1)


def test_a_study_begun_by_another_version_is_shown_but_not_continued(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        carry_out(Squares(), out, workers=1, progress=stop_at(2))
    marker = out / "study.json"
    marker.write_text(marker.read_text().replace(veracity.__version__, "0.0.7"))
    with pytest.raises(StudyError, match=r"begun by veracity 0\.0\.7, and this is"):
        carry_out(Squares(), out, workers=1)
    marker.write_text(marker.read_text().replace("0.0.7", veracity.__version__))
    carry_out(Squares(), out, workers=1)
    marker.write_text(marker.read_text().replace(veracity.__version__, "0.0.7"))
    page = publish(Squares(), carry_out(Squares(), out, workers=1), out)
    assert "Made by veracity 0.0.7" in page.read_text()


@pytest.mark.parametrize("marker", [None, "", "[]", '{"study": "squares"}'])
def test_a_folder_that_is_not_a_study_s_is_refused_and_stays(tmp_path, marker):
    (tmp_path / "thesis.txt").write_text("mine")
    if marker is not None:
        (tmp_path / "study.json").write_text(marker)
    with pytest.raises(OutputError, match="choose another"):
        carry_out(Squares(), tmp_path, workers=1)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    assert not (tmp_path / "rows.parquet").exists()


@pytest.mark.parametrize("out", ["file", "file/out"])
def test_a_folder_that_cannot_be_is_refused(tmp_path, out):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        carry_out(Squares(), tmp_path / out, workers=1)


def test_workers_that_are_none_are_refused():
    with pytest.raises(ParameterError, match="workers must be at least 1"):
        carry_out(Squares(), workers=0)


# --- workers -------------------------------------------------------------------------------------


def test_two_workers_find_the_same_rows_in_the_same_order():
    study = SyntheticStudy(datasets=6, ranges=SMALL, claims=(10, 1000), algorithms=("mle", "ltm"))
    one, two = (carry_out(study, workers=n).drop("seconds") for n in (1, 2))
    assert_frame_equal(one, two)


@pytest.mark.slow
def test_a_worker_that_dies_stops_the_study_and_loses_none_that_is_done(squares, tmp_path):
    Path(squares.trap).write_text("die")
    with pytest.raises(StudyError, match="a worker died"):
        carry_out(squares, tmp_path / "out", workers=2)
    kept = [pl.read_parquet(part) for part in (tmp_path / "out").glob("parts/*.parquet")]
    n_kept = sum(map(len, kept))
    Path(squares.trap).unlink()
    Path(squares.log).unlink(missing_ok=True)
    assert len(carry_out(squares, tmp_path / "out", workers=1)) == 6
    assert len(done(squares)) == 6 - n_kept


SCRIPT = """
import signal
from test_study import Squares
from veracity.study import carry_out

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    carry_out(Squares(n=100, log="log", slow_from=6), "out", workers=2)
"""


def alive(group):
    """The processes of a group that still run (a zombie does not)."""
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        states += [fields[0]] if fields[2] == str(group) and fields[0] != "Z" else []
    return states


def wait_until(is_so, seconds=60.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_study_that_is_stopped_leaves_no_process_and_no_half_written_file(tmp_path, stop):
    (tmp_path / "script.py").write_text(SCRIPT)
    places = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parent)]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    with subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, env=path, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as script:  # fmt: skip
        wait_until(lambda: len(done(Squares(log=str(tmp_path / "log")))) == 6)
        time.sleep(0.5)  # so that the parent has heard of it
        if stop == signal.SIGINT:
            os.killpg(script.pid, stop)  # as a terminal does: to parent and workers alike
        else:
            script.send_signal(stop)
        try:
            stderr = script.communicate(timeout=20)[1]
            wait_until(lambda: not alive(script.pid), seconds=10.0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(script.pid, signal.SIGKILL)  # if the test fails
    assert len(re.findall("^Traceback", stderr, re.MULTILINE)) == (stop == signal.SIGINT)
    assert not list((tmp_path / "out").rglob(".veracity-*"))
    kept = [pl.read_parquet(part) for part in (tmp_path / "out").glob("parts/*.parquet")]
    n_kept = sum(map(len, kept))
    assert n_kept == 6 if stop == signal.SIGINT else n_kept <= 6  # some, on a slow machine


# --- publish -------------------------------------------------------------------------------------


@pytest.fixture
def published(tmp_path):
    study = SyntheticStudy(
        datasets=3, ranges=SMALL, claims=(10, 1000), algorithms=("majority-vote", "sums")
    )
    publish(study, carry_out(study, tmp_path / "out", workers=1), tmp_path / "out")
    return tmp_path / "out"


def test_tables_are_csv_and_figures_svg_and_png(published):
    table = pl.read_csv(published / "overall.csv")
    assert table["algorithm"].to_list()[:2] == ["majority-vote", "sums"]
    figures = sorted(published.glob("*.svg"))
    assert len(figures) == 3
    for figure in figures:
        drawn = figure.read_text()
        assert drawn.startswith("<svg")
        assert {"accuracy", "standard deviation", "sums", "the paper"} <= set(
            re.findall(r">([^<>]+)</text>", drawn)
        )
        assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_page_needs_no_network_and_says_what_was_found_and_how(published):
    page = (published / "index.html").read_text()
    links = set(re.findall(r"""https?://[^"'\s<>)]+""", page))
    assert links <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"<(script|link|img|iframe)\b", page)
    assert page.count("<svg") == 3
    assert "sums: accuracy 0." in page
    assert f"Made by veracity {veracity.__version__}" in page
    assert "veracity study synthetic --" not in page  # these ranges are no options of the command
    assert "datasets=3" in page
    assert json.loads((published / "study.json").read_text())["settings"]["datasets"] == 3


def test_nothing_that_looks_like_nan_is_shown(published):
    for path in published.glob("*.[chs]*"):
        assert not re.search(r"\b(nan|NaN|None|null|inf)\b", path.read_text()), path


def test_what_is_no_html_is_escaped_and_what_is_no_number_is_left_out(tmp_path):
    publish(Squares(), carry_out(Squares(), workers=1), tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<h1>Squares &amp; &lt;roots&gt;</h1>" in page
    assert "<li>squares grow &amp; grow</li>" in page
    assert "<td>5</td><td>25</td><td>yes</td><td></td><td>&lt;b&gt;</td>" in page


def test_the_page_names_the_command_that_made_it(tmp_path):
    study = RuntimeStudy(most=1000, algorithms=("mle", "sums"))
    rows = pl.DataFrame(
        {"task": "mle 100", "algorithm": "mle", "claims": 100, "seconds": 0.5, "accuracy": 0.9}
    )
    page = publish(study, rows, tmp_path / "out").read_text()
    command = "veracity study runtime --set algorithms=mle,sums --set most=1000 --out study/"
    assert f"<code>{command}</code>" in page


def test_a_page_replaces_the_one_before_only_when_it_is_whole(published, monkeypatch):
    before = (published / "index.html").read_text()
    study = SyntheticStudy(
        datasets=3, ranges=SMALL, claims=(10, 1000), algorithms=("majority-vote", "sums")
    )
    monkeypatch.setattr(Path, "replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OutputError, match="full"):
        publish(study, carry_out(study, published, workers=1), published)
    monkeypatch.undo()
    assert (published / "index.html").read_text() == before
    assert not list(published.glob(".veracity-*"))


def test_the_figures_of_a_page_do_not_share_names():
    two = [_apart('<g id="a" fill="url(#a)"/>', n) for n in (0, 1)]
    assert two[0] == '<g id="figure0-a" fill="url(#figure0-a)"/>'
    assert two[1] == '<g id="figure1-a" fill="url(#figure1-a)"/>'


# --- which algorithms ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_algorithm_for_categorical_claims_can_be_studied_and_no_other(name):
    if "categorical" not in CATALOGUE[name].make().kinds:
        with pytest.raises(ParameterError, match=f"{name} is for numeric claims"):
            SyntheticStudy(algorithms=(name,))
        return
    study = SyntheticStudy(datasets=1, ranges=SMALL, claims=(10, 1000), algorithms=(name,))
    rows = carry_out(study, workers=1)
    assert rows["accuracy"].is_between(0.0, 1.0).all()


def test_an_algorithm_named_twice_or_unknown_is_refused():
    with pytest.raises(ParameterError, match="named twice"):
        SyntheticStudy(algorithms=("mle", "mle"))
    with pytest.raises(ParameterError, match="no algorithm 'guess'"):
        RuntimeStudy(algorithms=("guess",))
