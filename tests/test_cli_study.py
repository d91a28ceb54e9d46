"""The commands `study` and `generate`, and normalising on the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.cli.data import STUDIES
from veracity.cli.data import study as study_command
from veracity.study.settings import GRID
from veracity.synthetic import Synthetic

TIMES = "source,entity,attribute,value\n" + "".join(
    f"{source},f{n},departure,{spelt}\n"
    for n in range(1, 8)
    for source, spelt in (("a", f"{n}:05 PM"), ("b", f"{n + 12}:05"), ("c", f"{n}:30 PM"))
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with times as people write them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # for the programs we start: no time to compile
    (tmp_path / "times.csv").write_text(TIMES)
    (tmp_path / "truth.csv").write_text(
        "entity,attribute,value\n" + "".join(f"f{n},departure,{n}:05pm\n" for n in range(1, 8))
    )
    return tmp_path


def run(*arguments, code=0):
    """What a command prints, on stdout and stderr together."""
    # Numba, loaded and told within one process that it is not to compile, does so by halves.
    here = CliRunner(env={"NUMBA_DISABLE_JIT": None})
    result = here.invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


GENERATE = ("generate", "--set")


def generate(out, seed=0):
    run(*GENERATE, "items=25", "--set", "sources=6", "--set", f"seed={seed}", "--out", out)


def assert_refused(output, complaint):
    """One sentence, and nothing written."""
    (sentence,) = output.splitlines()
    assert sentence.startswith("error: ")
    assert re.search(complaint, sentence), sentence
    assert not Path("out").exists()


# --- study ---------------------------------------------------------------------------------------


def test_help_names_every_study_and_explains_every_option():
    shown = run("study", "--help")
    assert all(re.search(rf"^ +{name} ", shown, re.MULTILINE) for name in STUDIES)
    _, *words = shown.splitlines()[-1].split()
    study_command.make_context("study", words[1:])  # raises where the example cannot be typed
    assert all(isinstance(one, click.Argument) or one.help for one in study_command.params)


def test_a_study_of_synthetic_data_writes_all_there_is_to_see():
    chosen = ("--set", "algorithms=majority-vote,mle", "--workers", 1, "--out", "out")
    command = ("study", "synthetic", *chosen, "--set")
    output = run(*command, "datasets=2")
    assert re.search(r"│ majority-vote +│ +0\.\d{3} ", output)
    assert "written to out; open out/index.html" in output
    kinds = {path.suffix for path in Path("out").iterdir()}
    assert kinds == {".csv", ".html", ".json", ".parquet", ".png", ".svg"}
    rows = pl.read_parquet("out/rows.parquet")
    assert rows["dataset"].unique().sort().to_list() == [0, 1]
    before = Path("out/rows.parquet").stat().st_mtime_ns
    assert run(*command, "datasets=2") == output
    assert Path("out/rows.parquet").stat().st_mtime_ns == before
    refused = run(*command, "datasets=3", code=1)
    assert "or with other settings" in refused


def test_a_study_of_robustness_takes_datasets_raw_and_normalised():
    generate("one")
    output = run("study", "robustness", "one/", "one+normalised", "--set", "algorithms=mle",
                 "--workers", 1, "--out", "out")  # fmt: skip
    assert re.search(r"│ mle +│ one normalised +│", output)
    assert len(pl.read_csv("out/optimization_dependency.csv")) == 4
    settings = json.loads(Path("out/study.json").read_text())["settings"]
    assert settings["datasets"] == ["one", "one+normalised"]


def test_a_study_of_sensitivity_takes_parameters():
    generate("one")
    output = run("study", "sensitivity", "one", "--set", "parameters=tpr, decay", "--set",
                 "algorithms=mle,ltd-rbm", "--workers", 1, "--out", "out")  # fmt: skip
    assert re.search(r"│ one +│ decay +│ ltd-rbm +│", output)
    assert len(pl.read_csv("out/sensitivity.csv")) == 2 * len(GRID["tpr"]) + len(GRID["decay"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["synthetic"],
        ["synthetic", "flight/", "--out", "out"],
        ["synthetic", "--out", "out", "--set", "ranges=3"],
        ["league", "--out", "out"],
        ["synthetic", "--out", "out", "--workers", "0"],
        ["synthetic", "--out", "out", "--set", "algorithms=guess"],
        ["robustness", "--out", "out"],
    ],
    ids=" ".join,
)
def test_bad_usage_exits_with_2_and_writes_nothing(folder, arguments):
    output = run("study", *arguments, code=2)
    assert "Traceback" not in output
    assert sorted(path.name for path in folder.iterdir()) == ["times.csv", "truth.csv"]


def test_a_dataset_that_is_not_there_gets_one_sentence():
    output = run("study", "robustness", "nowhere", "--out", "out", code=1)
    assert_refused(output, "nowhere: .* no such")


def test_missing_libraries_are_missed_before_the_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    output = run("study", "synthetic", "--set", "datasets=2", "--out", "out", code=2)
    assert_refused(output, "figures need Altair.*: pip install")


PROGRAM = """
import signal
from veracity.cli import main

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(["study", "synthetic", "--set", "datasets=500", "--workers", "2", "--out", "out"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_ctrl_c_gets_one_sentence_even_while_workers_start(folder, seconds):
    (folder / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, "program.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as program:  # fmt: skip
        while not Path("out/study.json").exists():
            time.sleep(0.01)
            assert program.poll() is None
        time.sleep(seconds)
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does: to parent and workers alike
        stdout, stderr = program.communicate()
    assert program.returncode == 1
    assert stdout == ""
    assert stderr == (
        "error: stopped before the end; the rows so far are in out, and the same command goes on "
        "from there\n"
    )
    assert not list(Path("out").rglob(".veracity-*"))


# --- generate ------------------------------------------------------------------------------------


def test_settings_of_generate_are_those_of_python_and_are_refused_where_they_cannot_be():
    shown = run("generate", "--help").split("Settings, with their defaults:")[1]
    usual = dict(re.findall(r"^ +(\w+)=(\S+) ", shown, re.MULTILINE))
    assert usual.pop("seed") == "0"
    assert {name: float(text) for name, text in usual.items()} == asdict(Synthetic())
    for setting, complaint in {
        "acuracy=0.7": "'acuracy=0.7' is no setting; there are NAME=VALUE for sources, items",
        "items=2.5": "'items=2.5': the value must be like 1000",
        "seed=-1": "--set seed must be a whole number, at least 0, got '-1'",
    }.items():
        assert complaint in run(*GENERATE, setting, "--out", "drawn", code=2)


def test_without_random_everything_is_as_usual():
    run(*GENERATE, "items=30", "--out", "drawn")
    made = json.loads(Path("drawn/synthetic.json").read_text())
    assert (made["sources"], made["accuracy"], made["copying"]) == (20, 0.7, 0.0)


# --- normalising ---------------------------------------------------------------------------------


def discover(*options):
    run(
        "discover", "times.csv", "--algorithm", "majority-vote", "--out", "run", "--force", *options
    )
    return veracity.load("run")


def test_normalise_brings_spellings_together():
    assert all(discover().truths["tied"])
    normalised = discover("--normalise")
    assert not any(normalised.truths["tied"])
    assert set(normalised.changes["attribute"]) == {"departure"}
    assert json.loads(run("evaluate", "run", "truth.csv", "--json"))["accuracy"] == 1.0


def test_value_kinds_say_how_an_attribute_is_read():
    assert not any(discover("--normalise=departure=time").truths["tied"])
    assert all(discover("--normalise=departure=unchanged").truths["tied"])


@pytest.mark.parametrize("kinds", ["departure", "departure=mood", "departure=time,departure=date"])
def test_value_kinds_that_cannot_be_are_refused(kinds):
    output = run("discover", "times.csv", f"--normalise={kinds}", "--out", "run", code=2)
    assert "Traceback" not in output
    assert not Path("run").exists()


# --- what only some studies take -----------------------------------------------------------------


def test_slow_algorithms_judge_fewer_datasets_and_parameters_can_be_fixed():
    settings = ("datasets=3", "algorithms=majority-vote,mle", "only_first.mle=2",
                "fixed.items=40", "fixed.sources=20")  # fmt: skip
    words = [word for one in settings for word in ("--set", one)]
    run("study", "synthetic", *words, "--workers", 1, "--out", "out")
    rows = pl.read_parquet("out/rows.parquet")
    assert dict(rows["algorithm"].value_counts().iter_rows())["mle"] == 2
    assert rows["parameter_items"].unique().to_list() == [40]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["only_first.mle"], "'only_first.mle' is no setting;"),
        (["only_first.mle=0"], "a number from 1"),
        (["only_first.ltm=5", "algorithms=mle"], "one of the algorithms"),
        (["fixed.colour=3"], "no parameter 'colour' to fix"),
        (["fixed.items=many"], "'fixed.items=many': the value must be like"),
        (["colour=3"], "there are NAME=VALUE for algorithms, datasets, ranges"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, complaint):
    words = [word for one in settings for word in ("--set", one)]
    output = run("study", "synthetic", *words, "--out", "out", code=2)
    assert re.search(complaint, output), output
    assert not Path("out").exists()


def test_other_hyperparameters_may_stay_at_the_optima_of_a_robustness_study():
    generate("one")
    Path("optima.csv").write_text(
        'algorithm,dataset,accuracy,setting\nmle,one,1,"{""tpr"": 0.6}"\n'
    )
    settings = ("algorithms=mle", "parameters=fpr", "coarse=yes", "optima=optima.csv")
    words = [word for one in settings for word in ("--set", one)]
    run("study", "sensitivity", "one", *words, "--workers", 1, "--out", "out")
    made = json.loads(Path("out/study.json").read_text())
    assert made["settings"]["optima"] == {"mle one": {"tpr": 0.6}}
    assert len(pl.read_csv("out/sensitivity.csv")) == 8


def test_a_file_without_optima_is_refused():
    generate("one")
    output = run("study", "sensitivity", "one", "--set", "optima=times.csv", "--out", "out", code=1)
    assert_refused(output, "times.csv: no table of optima")
