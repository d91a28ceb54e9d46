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
from veracity.show.figures.base import Figure, altair
from veracity.study import RuntimeStudy, Study, SyntheticStudy, carry_out, publish, work
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
        table = tables["squares"]
        chart = altair().Chart(table).mark_line().encode(x="root:Q", y="square:Q")
        return {"a_curve": Figure(title="A curve", note="", table=table, draw=lambda _: chart)}

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


def test_rows_are_stored_in_one_file_which_a_complete_study_leaves_alone(squares, tmp_path):
    out = tmp_path / "out"
    rows = carry_out(squares, out, workers=1)
    assert rows["square"].to_list() == [0, 1, 4, 9, 16, 25]
    assert sorted(path.name for path in out.iterdir()) == ["rows.parquet", "study.json"]
    written = (out / "rows.parquet").stat().st_mtime_ns
    assert_frame_equal(carry_out(squares, out, workers=1), rows)
    assert_frame_equal(pl.read_parquet(out / "rows.parquet"), rows)
    assert len(done(squares)) == 6
    assert (out / "rows.parquet").stat().st_mtime_ns == written


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(carry_out(Squares(), workers=1)) == 6
    assert not list(tmp_path.iterdir())


def test_a_stopped_study_goes_on_where_it_was_stopped(squares, tmp_path):
    out, told = tmp_path / "out", []
    for number in (2, 5):
        with pytest.raises(KeyboardInterrupt):
            carry_out(squares, out, workers=1, progress=stop_at(number))
        assert len(pl.read_parquet(out / "rows.parquet")) == number
    rows = carry_out(squares, out, workers=1, progress=lambda *step: told.append(step))
    assert done(squares) == ["0", "1", "2", "3", "4", "5"]
    assert_frame_equal(rows, carry_out(Squares(), workers=1))
    assert told == [("study squares", 5, 6), ("study squares", 6, 6)]


def test_a_task_that_fails_loses_none_that_is_done(squares, tmp_path):
    Path(squares.trap).touch()
    with pytest.raises(ZeroDivisionError):
        carry_out(squares, tmp_path / "out", workers=1)
    Path(squares.trap).unlink()
    assert len(carry_out(squares, tmp_path / "out", workers=1)) == 6
    assert done(squares) == ["0", "1", "2", "3", "4", "5"]


def test_rows_are_written_while_the_study_goes_on(squares, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "SECONDS_BETWEEN_WRITES", 0.0)
    file, rows = tmp_path / "out" / "rows.parquet", []

    def count(phase, done, total):
        rows.append(len(pl.read_parquet(file)) if file.exists() else 0)

    carry_out(squares, tmp_path / "out", workers=1, progress=count)
    assert rows == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("before", "after"),
    [('"n": 6', '"n": 7'), (f'"veracity": "{veracity.__version__}"', '"veracity": "0.0.7"')],
)
def test_a_folder_with_other_settings_or_of_another_version_is_refused(tmp_path, before, after):
    carry_out(Squares(), tmp_path / "out", workers=1)
    marker = tmp_path / "out" / "study.json"
    marker.write_text(marker.read_text().replace(before, after))
    with pytest.raises(OutputError, match="or with other settings; choose another"):
        carry_out(Squares(), tmp_path / "out", workers=1)


@pytest.mark.parametrize("marker", [None, "", "[]", '{"study": "squares"}'])
def test_a_folder_that_is_not_a_study_s_is_refused_and_stays(tmp_path, marker):
    (tmp_path / "thesis.txt").write_text("mine")
    if marker is not None:
        (tmp_path / "study.json").write_text(marker)
    for out in (tmp_path, tmp_path / "thesis.txt", tmp_path / "thesis.txt" / "out"):
        with pytest.raises(OutputError):
            carry_out(Squares(), out, workers=1)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    assert not (tmp_path / "rows.parquet").exists()


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
    n_kept = rows_in(tmp_path / "out")
    Path(squares.trap).unlink()
    Path(squares.log).unlink(missing_ok=True)
    assert len(carry_out(squares, tmp_path / "out", workers=1)) == 6
    assert len(done(squares)) == 6 - n_kept


def rows_in(folder):
    file = folder / "rows.parquet"
    return len(pl.read_parquet(file)) if file.exists() else 0


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
    n_kept = rows_in(tmp_path / "out")
    assert n_kept == 6 if stop == signal.SIGINT else n_kept <= 6  # some, on a slow machine


# --- publish -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    study = SyntheticStudy(
        datasets=3, ranges=SMALL, claims=(10, 1000), algorithms=("majority-vote", "sums")
    )
    publish(study, carry_out(study, out, workers=1), out)
    return out


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
    assert "https://" not in page
    assert page.count("<img") == 3
    assert "sums: accuracy 0." in page
    assert f"Made by veracity {veracity.__version__}" in page
    assert json.loads((published / "study.json").read_text())["settings"]["datasets"] == 3
    for path in published.glob("*.csv"):
        assert not re.search(r"\b(nan|NaN|None|null|inf)\b", path.read_text()), path


def test_what_is_no_html_is_escaped_and_what_is_no_number_is_left_out(tmp_path):
    publish(Squares(), carry_out(Squares(), workers=1), tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<h1>Squares &amp; &lt;roots&gt;</h1>" in page
    assert "<p>squares grow &amp; grow</p>" in page
    row = '<th scope="row" class=n>5</th><td class=n>25</td><td>yes</td><td class=n></td>'
    assert f"{row}<td>&lt;b&gt;</td>" in page


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
