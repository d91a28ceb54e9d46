"""Whatever is handed to the public face: an answer, or an error of ours that says what to do."""

from __future__ import annotations

import datetime
import inspect
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID251 - what users hand over
import polars as pl
import pyarrow as pa
import pytest

import veracity
from veracity import study, synthetic, tables
from veracity.arguments import READING, TYPES
from veracity.errors import ParameterError, VeracityError
from veracity.show import plot

CLAIMS = pl.DataFrame({
    "source": ["a", "b", "c", "a", "b"],
    "entity": ["x", "x", "x", "y", "y"],
    "value": ["1", "2", "1", "3", "4"],
})  # fmt: skip
TRUTH = pl.DataFrame({"entity": ["x"], "value": ["1"]})
WIDE = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "p": ["1", "2"], "q": ["1", "2"]})
SOURCES = pl.DataFrame({"source": ["a", "b"], "years": [1, 2]})
ITEMS = pl.DataFrame({"entity": ["x", "y"], "size": [1, 2]})


WRONG = (
    None, 5, -1, 2.5, float("nan"), 10**30, True, "", "x", "no.csv", "\0", "\ud800", b"x",
    [], [5], [[]], ["x", 5], [{}], [{"a": 1}, 5], (), {}, {5: 5}, {"source": 5}, {"source": []},
    {"source": ["a", 5]}, {"a": [[1]]}, {"a": "x"}, {None: None}, set(), object(),
    int, veracity.Local, veracity.Veracity, Path("no"), np.array(5), np.zeros((2, 3)),
    np.datetime64("NaT"), range(3), pl.DataFrame(), pl.DataFrame({"a": [1]}), pl.LazyFrame(),
    pl.Series([1]), pl.col("x"), pd.DataFrame({"a": [1]}), pd.Series([1]), pd.NA,
    pa.table({"a": [1]}), datetime.date(2024, 1, 1), Decimal("NaN"), 1j, io.BytesIO(b"x"),
    memoryview(b"x"), Exception("x"),
)  # fmt: skip
"""Of each type that somebody may take for another one."""


@pytest.fixture(scope="module")
def result():
    return veracity.discover(CLAIMS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refusals(call, skip=(), **usual):
    """Call with something wrong for each argument in turn; the errors that are not ours."""
    for name, declared in inspect.signature(call).parameters.items():
        if name in skip or declared.kind in (declared.VAR_KEYWORD, declared.VAR_POSITIONAL):
            continue
        for number, wrong in enumerate(WRONG):
            if name == "progress" and callable(wrong):
                continue  # it is called, and what it raises is its own
            if name == "algorithms" and wrong is None:
                continue  # all of them take their time
            try:
                call(**{**usual, name: wrong})
            except VeracityError as error:
                if not 10 < len(str(error)) < 1_000:
                    yield f"{name}, {number}: told as {error}"
            except BaseException as error:
                yield f"{name}, {number}: {error!r}"


VOTE = {"claims": CLAIMS, "algorithm": "majority-vote"}
GRID = {"n_false_values": [10.0, 50.0]}
FUNCTIONS = {
    "agreement": {"claims": CLAIMS},
    "check": VOTE,
    "compare": {"claims": CLAIMS, "truth": TRUTH, "algorithms": ["majority-vote"]},
    "discover": VOTE,
    "load": {},
    "profile": {"claims": CLAIMS, "truth": TRUTH},
    "read_claims": {"data": CLAIMS},
    "read_database": {"database": "sqlite:///no.db"},
    "tune": {**VOTE, "truth": TRUTH, "grid": GRID, "algorithm": "accu"},
}
OF_RESULTS = {
    "diff": {"other": None},
    "evaluate": {"truth": TRUTH},
    "write_report": {"path": "no/such/folder.html", "skip": ("path",)},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_what_they_cannot_use(name):
    assert not list(refusals(getattr(veracity, name), **FUNCTIONS[name]))


@pytest.mark.parametrize("name", OF_RESULTS)
def test_functions_of_results_refuse_what_they_cannot_use(name, result):
    assert not list(refusals(getattr(veracity, name), result=result, **OF_RESULTS[name]))


def test_every_public_function_is_asked():
    functions = {name for name in veracity.__all__ if inspect.isfunction(getattr(veracity, name))}
    assert functions == FUNCTIONS.keys() | OF_RESULTS.keys()


def classes():
    for name in veracity.__all__:
        own = getattr(veracity, name)
        if inspect.isclass(own) and name != "Algorithm":
            needed = [p for p in inspect.signature(own).parameters.values() if p.default is p.empty]
            if not needed:
                yield name


@pytest.mark.parametrize("name", [*classes()])
def test_parameters_are_refused_at_birth(name):
    assert not list(refusals(getattr(veracity, name)))


def test_what_is_read_beside_claims_is_refused_if_it_cannot_be_used():
    assert not list(refusals(veracity.Prior.from_table, data=TRUTH))
    assert not list(refusals(veracity.SourceFeatures.read, data=SOURCES))
    assert not list(refusals(veracity.ItemFeatures.read, data=ITEMS))
    assert not list(refusals(veracity.ErrorSpread, error=1.0))


METHODS = {
    "why": {"entity": "x"},
    "questions": {},
    "records": {},
    "save": {"folder": "no/such/\0"},
    "scan": {"name": "truths"},
    "write": {"file": "table.csv", "force": True},
    "write_database": {"address": "sqlite:///no/such/folder.db"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_methods_of_results_refuse_what_they_cannot_use(name, result):
    assert not list(refusals(getattr(result, name), **METHODS[name]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["judge", "update"])
def test_fits_refuse_what_they_cannot_use(name, result):
    assert not list(refusals(getattr(result.fitted, name), claims=CLAIMS))


def test_what_was_learned_of_a_wrong_path_is_that_it_is_wrong(result):
    with pytest.raises(ParameterError, match=r"Result.save: folder must be a path, got 5"):
        result.save(5)
    with pytest.raises(ParameterError, match=r"load: folder must be a path, got None"):
        veracity.load(None)


@pytest.mark.filterwarnings("ignore")
def test_modules_refuse_what_they_cannot_use():
    for call, usual in (
        (tables.by_attribute, {"table": WIDE}),
        (tables.by_entity, {"table": WIDE}),
        (tables.by_source, {"table": WIDE}),
        (tables.by_file, {"paths": "no.csv"}),
        (synthetic.flights, {"n_flights": 3}),
        (synthetic.Synthetic, {}),
        (synthetic.Ranges, {}),
        (synthetic.Synthetic(items=5).draw, {}),
        (synthetic.Ranges().draw, {}),
        (study.carry_out, {"study": None}),
        (study.publish, {"study": None, "rows": CLAIMS, "folder": "no"}),
    ):
        assert not list(refusals(call, **usual)), call


def test_studies_refuse_what_they_cannot_use():
    for name in study.__all__:
        own = getattr(study, name)
        if inspect.isclass(own) and not inspect.isabstract(own):
            needs = inspect.signature(own).parameters.get("datasets")
            usual = {"datasets": ("no",)} if needs and needs.default is needs.empty else {}
            assert not list(refusals(own, **usual)), name


@pytest.mark.filterwarnings("ignore")
def test_figures_refuse_what_they_cannot_use(result):
    drawn = plot.Plots(result)
    assert not list(refusals(plot.Plots))
    assert not list(refusals(drawn.draw, what="trace"))
    assert not list(refusals(plot.save_figure, chart=drawn.trace(), path="no.figure"))
    assert not list(refusals(plot.comparison_table))
    for name in ("accuracy", "agreement", "calibration", "confusions", "plausibility", "trace"):
        table = getattr(plot, f"{name}_table")
        known = {"truth": TRUTH} if "truth" in inspect.signature(table).parameters else {}
        assert not list(refusals(table, result=result, **known)), name
        assert not list(refusals(getattr(drawn, name), **known)), name


@pytest.mark.parametrize(
    ("function", "name"),
    [("compare", "encoding"), ("compare", "samples"), ("check", "wide"), ("tune", "normalise")],
)
def test_what_is_said_of_reading_where_it_is_not_taken_leads_to_read_claims(function, name):
    with pytest.raises(TypeError, match=rf"{function} takes no '{name}'; .* read_claims\(claims, "):
        getattr(veracity, function)([], **{name: True})


def test_what_can_be_said_of_reading_is_what_read_claims_takes():
    assert {*READING, "data"} == {*inspect.signature(veracity.read_claims).parameters}


def test_what_functions_declare_is_looked_at():
    told = {"object", "object | None", "Normalise", "Kind", "Kind | None", "Wide | None", "Paths",
            "SourceFrom | None", "Engine | None", "Algorithm[Any] | str | None",
            "Sequence[Algorithm[Any] | str] | Mapping[str, Algorithm[Any]] | None"}  # fmt: skip
    for name in (*FUNCTIONS, *OF_RESULTS):
        for argument in inspect.signature(getattr(veracity, name)).parameters.values():
            assert argument.annotation in told | TYPES.keys(), (name, argument)


def test_arrow_text_that_is_no_text_is_refused():
    ends, letters = np.arange(6, dtype=np.int32), b"\xff\xfe\xfdab"
    broken = pa.Array.from_buffers(pa.string(), 5, [None, *map(pa.py_buffer, (ends, letters))])
    table = pa.table({"source": broken, "entity": ["x"] * 5, "value": ["1"] * 5})
    with pytest.raises(VeracityError, match="cannot be read"):
        veracity.discover(table)


FORKING = """
import multiprocessing, sys
import veracity

CLAIMS = [{"source": s, "entity": e, "value": s} for s in "abc" for e in "xyz"]

def work(_):
    try:
        return len(veracity.discover(CLAIMS).truths)
    except veracity.errors.EngineError as error:
        return str(error)

if __name__ == "__main__":
    if sys.argv[1] == "warm":
        work(0)
    with multiprocessing.get_context(sys.argv[2]).Pool(1) as pool:
        print(pool.map_async(work, [0]).get(120)[0])
"""


@pytest.mark.parametrize(
    ("before", "how", "expected"),
    [("warm", "fork", "start processes with multiprocessing.get_context('spawn')"),
     ("cold", "fork", "3"), ("warm", "spawn", "3")],
)  # fmt: skip
def test_a_process_that_was_forked_at_work_is_told_so_and_does_not_hang(
    before, how, expected, tmp_path
):
    (tmp_path / "forking.py").write_text(FORKING)
    ran = subprocess.run(
        [sys.executable, "forking.py", before, how],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert ran.stdout.strip().endswith(expected), ran.stderr
