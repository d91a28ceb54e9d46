"""The commands `study`, `profile`, `generate --random`, and normalising on the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.cli.study import study as study_command
from veracity.study.settings import GRID
from veracity.synthetic import Ranges

STUDIES = (
    "synthetic", "runtime", "robustness", "sensitivity", "league", "asking", "ablation",
    "statements", "intervals", "numbers",
)  # fmt: skip
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


def generate(out, seed=0):
    run("generate", "--sources", 6, "--items", 25, "--seed", seed, "--out", out)


def assert_refused(output, complaint):
    """One sentence, and nothing written."""
    (sentence,) = output.splitlines()
    assert sentence.startswith("error: ")
    assert re.search(complaint, sentence), sentence
    assert not Path("out").exists()


# --- study ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_help_shows_an_example_that_can_be_typed_and_explains_every_option(name):
    lines = run("study", name, "--help").splitlines()
    _, *words = lines[lines.index("  Example:") + 1].split()
    assert words[:2] == ["study", name]
    command = study_command.commands[name]
    command.make_context(name, words[2:])  # raises where it cannot be typed
    assert all(isinstance(option, click.Argument) or option.help for option in command.params)


def test_help_lists_every_study():
    listed = run("study", "--help").split("Commands:\n")[1]
    assert all(re.search(rf"^  {name} ", listed, re.MULTILINE) for name in STUDIES)


def test_a_study_of_synthetic_data_writes_all_there_is_to_see():
    command = ("study", "synthetic", "--datasets", 2, "--algorithms", "majority-vote,mle")
    output = run(*command, "--workers", 1, "--out", "out")
    assert re.search(r"│ majority-vote +│ +0\.\d{3} ", output)
    assert "written to out; open out/index.html" in output
    kinds = {path.suffix for path in Path("out").iterdir()}
    assert kinds == {".csv", ".html", ".json", ".parquet", ".png", ".svg"}
    rows = pl.read_parquet("out/rows.parquet")
    assert rows["dataset"].unique().sort().to_list() == [0, 1]
    before = Path("out/rows.parquet").stat().st_mtime_ns
    assert run(*command, "--workers", 1, "--out", "out") == output
    assert Path("out/rows.parquet").stat().st_mtime_ns == before
    refused = run(*command[:3], 3, "--workers", 1, "--out", "out", code=1)
    assert "holds a study with other settings" in refused


def test_a_study_of_run_time_is_shown():
    output = run("study", "runtime", "--most", 300, "--repeats", 1, "--out", "out",
                 "--algorithms", "majority-vote,mle")  # fmt: skip
    assert re.search(r"│ mle +│", output)


def test_a_study_of_robustness_takes_datasets_raw_and_normalised():
    generate("one")
    output = run("study", "robustness", "one/", "--normalise", "--algorithms", "mle",
                 "--workers", 1, "--out", "out")  # fmt: skip
    assert re.search(r"│ mle +│ one normalised +│", output)
    assert len(pl.read_csv("out/optimization_dependency.csv")) == 4
    page = Path("out/index.html").read_text()
    assert "veracity study robustness one one+normalised --algorithms mle --out study/" in page


def test_a_study_of_sensitivity_takes_parameters():
    generate("one")
    output = run("study", "sensitivity", "one", "--parameters", "tpr, decay", "--algorithms",
                 "mle,ltd-rbm", "--workers", 1, "--out", "out")  # fmt: skip
    assert re.search(r"│ one +│ decay +│ ltd-rbm +│", output)
    assert len(pl.read_csv("out/sensitivity.csv")) == 2 * len(GRID["tpr"]) + len(GRID["decay"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["synthetic"],
        ["synthetic", "--out", "out", "--datasets", "0"],
        ["synthetic", "--out", "out", "--workers", "0"],
        ["synthetic", "--out", "out", "--algorithms", "guess"],
        ["synthetic", "--out", "out", "--algorithms", "gtm"],
        ["synthetic", "--out", "out", "--algorithms", "mle,mle"],
        ["runtime", "--out", "out", "--most", "10"],
        ["robustness", "--out", "out"],
        ["robustness", "a/one", "b/one", "--out", "out"],
        ["sensitivity", "one", "--out", "out", "--parameters", "mood"],
        ["sensitivity", "one", "--out", "out", "--algorithms", "majority-vote"],
    ],
    ids=" ".join,
)
def test_bad_usage_exits_with_2_and_writes_nothing(folder, arguments):
    output = run("study", *arguments, code=2)
    assert "Traceback" not in output
    assert sorted(path.name for path in folder.iterdir()) == ["times.csv", "truth.csv"]


@pytest.mark.parametrize("name", ["robustness", "sensitivity"])
def test_a_dataset_that_is_not_there_gets_one_sentence(name):
    assert_refused(run("study", name, "nowhere", "--out", "out", code=1), "nowhere: .* no such")
    assert_refused(run("study", name, ".", "--out", "out", code=1), r"no file 'claims\.\*' in it")


def test_a_folder_of_somebody_else_is_refused(folder):
    sentence = run("study", "synthetic", "--out", folder, code=1)
    assert "is no folder of a study; choose another name" in sentence
    assert sorted(path.name for path in folder.iterdir()) == ["times.csv", "truth.csv"]


def test_missing_libraries_are_missed_before_the_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    output = run("study", "synthetic", "--datasets", 2, "--out", "out", code=2)
    assert_refused(output, "figures need Altair.*: pip install")


PROGRAM = """
import signal
from veracity.cli import main

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(["study", "synthetic", "--datasets", "500", "--workers", "2", "--out", "out"])
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


# --- profile -------------------------------------------------------------------------------------


def test_profile_counts_what_there_is():
    told = json.loads(run("profile", "times.csv", "--json"))
    assert (told["claims"], told["sources"], told["items"]) == (21, 3, 7)
    assert "3 sources" in run("profile", "times.csv")


def test_profile_tells_accuracies_where_truth_is_known():
    told = json.loads(run("profile", "times.csv", "--truth", "truth.csv", "--normalise", "--json"))
    accuracy = {row["source"]: row["accuracy"] for row in told["by_source"]}
    assert accuracy == {"a": 1.0, "b": 1.0, "c": 0.0}


# --- generate ------------------------------------------------------------------------------------


def test_generate_random_draws_what_is_not_given(folder):
    for seed in (1, 2):
        run("generate", "--random", "--items", 30, "--seed", seed, "--out", f"drawn{seed}")
    one, two = (json.loads(Path(f"drawn{n}/synthetic.json").read_text()) for n in (1, 2))
    assert one["items"] == two["items"] == 30
    for name in ("accuracy", "copying", "frequency"):
        assert one[name] != two[name]
        low, high = getattr(Ranges(), name)
        assert low <= one[name] <= high


def test_an_option_at_its_usual_value_is_given_all_the_same():
    run("generate", "--random", "--items", 30, "--accuracy", 0.7, "--out", "drawn")
    assert json.loads(Path("drawn/synthetic.json").read_text())["accuracy"] == 0.7


def test_without_random_everything_is_as_usual():
    run("generate", "--items", 30, "--out", "drawn")
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
    assert not any(discover("--value-kinds", "departure=time").truths["tied"])
    assert all(discover("--value-kinds", "departure=unchanged").truths["tied"])


@pytest.mark.parametrize("kinds", ["departure", "departure=mood", "departure=time,departure=date"])
def test_value_kinds_that_cannot_be_are_refused(kinds):
    output = run("discover", "times.csv", "--value-kinds", kinds, "--out", "run", code=2)
    assert "Traceback" not in output
    assert not Path("run").exists()


# --- what only some studies take -----------------------------------------------------------------


def test_slow_algorithms_judge_fewer_datasets_and_parameters_can_be_fixed():
    run(
        *(
            "study",
            "synthetic",
            "--datasets",
            3,
            "--algorithms",
            "majority-vote,mle",
            "--workers",
            1,
        ),
        *("--only-first", "mle=2", "--fix", "items=40", "--fix", "sources=20", "--out", "out"),
    )
    rows = pl.read_parquet("out/rows.parquet")
    assert dict(rows["algorithm"].value_counts().iter_rows())["mle"] == 2
    assert rows["parameter_items"].unique().to_list() == [40]
    page = Path("out/index.html").read_text()
    assert "--fix items=40 --fix sources=20 --only-first mle=2" in page


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--only-first", "mle"), "'mle' is no NAME=NUMBER"),
        (("--only-first", "mle=0"), "a number from 1"),
        (("--only-first", "ltm=5", "--algorithms", "mle"), "one of the algorithms"),
        (("--fix", "colour=3"), "no parameter 'colour' to fix"),
        (("--fix", "items=many"), "'items=many' is no NAME=NUMBER"),
    ],
)
def test_what_cannot_be_limited_or_fixed_is_refused(words, complaint):
    output = run("study", "synthetic", *words, "--out", "out", code=2)
    assert re.search(complaint, output), output
    assert not Path("out").exists()


def test_other_hyperparameters_may_stay_at_the_optima_of_a_robustness_study():
    generate("one")
    Path("optima.csv").write_text(
        'algorithm,dataset,accuracy,setting\nmle,one,1,"{""tpr"": 0.6}"\n'
    )
    run("study", "sensitivity", "one", "--algorithms", "mle", "--parameters", "fpr", "--coarse",
        "--optima", "optima.csv", "--workers", 1, "--out", "out")  # fmt: skip
    made = json.loads(Path("out/study.json").read_text())
    assert made["settings"]["optima"] == {"mle one": {"tpr": 0.6}}
    assert len(pl.read_csv("out/sensitivity.csv")) == 8


def test_a_file_without_optima_is_refused():
    generate("one")
    output = run("study", "sensitivity", "one", "--optima", "times.csv", "--out", "out", code=1)
    assert_refused(output, "times.csv: no table of optima")
