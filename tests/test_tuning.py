"""Parameters from text, and which of them fit the claims."""

from __future__ import annotations

import json

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.algorithms import CATALOGUE
from veracity.algorithms.parameters import parsed, settable, with_parameters
from veracity.cli import main
from veracity.errors import ParameterError


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def some_flights(flights):
    return flights.claims.filter(pl.col("entity") < "VC-130"), flights.truth


@pytest.fixture
def files(some_flights, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some_flights[0].write_csv("claims.csv")
    some_flights[1].write_csv("truth.csv")


# --- from text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_plain_parameter_can_be_said_as_it_is_shown(name):
    algorithm = CATALOGUE[name].make()
    told = {key: str(getattr(algorithm, key)) for key in settable(algorithm)}
    assert with_parameters(algorithm, told) == algorithm


def test_parameters_have_the_types_they_are_declared_with():
    algorithm = veracity.algorithms.LTDRBM()
    assert parsed(algorithm, "max_rounds", "7") == 7
    assert parsed(algorithm, "single_truth", "yes") is True
    assert parsed(algorithm, "learning", "flow") == "flow"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("power=2", "veracity has no parameter 'power'; it has strength, labels, attributes"),
        ("strength=much", "strength must be a number, got 'much'"),
        ("max_rounds=2.5", "max_rounds must be a whole number, got '2.5'"),
        ("temper=maybe", "temper must be true or false, got 'maybe'"),
        ("strength=-1", "strength must be above 0, got -1.0"),
        ("prior=x", "veracity has no parameter 'prior'"),
        ("strength", "is not of the form strength=2"),
    ],
)
def test_a_parameter_that_cannot_be_is_told_with_those_there_are(files, text, complaint):
    assert complaint in run("discover", "claims.csv", "--set", text, code=2)


def test_the_run_says_what_was_set(files):
    told = json.loads(run("discover", "claims.csv", "--set", "strength=2", "--json"))
    assert told["parameters"]["strength"] == 2.0
    twice = ["--set", "strength=2", "--set", "strength=3"]
    assert "--set names strength twice" in run("discover", "claims.csv", *twice, code=2)


# --- which fit ------------------------------------------------------------------------------------


def test_the_best_setting_by_known_truths_is_told_and_can_be_used(some_flights):
    claims, truth = some_flights
    grid = {"max_rounds": [1, 50]}
    found = veracity.tune(claims, truth, grid=grid, algorithm="mle", folds=3)
    assert found.measure == "accuracy"
    assert found.rows["accuracy"].is_sorted(descending=True)
    assert set(found.rows["max_rounds"]) == {1, 50, veracity.algorithms.MLE().max_rounds}
    assert found.algorithm.max_rounds == found.best["max_rounds"]
    assert veracity.discover(claims, found.algorithm).run.algorithm == "mle"
    again = veracity.tune(claims, truth, grid=grid, algorithm="mle", folds=3)
    assert again.rows.equals(found.rows)


def test_truths_of_the_fold_that_is_measured_are_not_known(some_flights):
    claims, truth = some_flights
    grid = {"tolerance": [1e-3]}
    liars = truth.with_columns(value=pl.lit("nobody says this"))
    found = veracity.tune(claims, liars, grid=grid, algorithm="mle", folds=2)
    assert found.rows["accuracy"].to_list() == pytest.approx([0.0] * len(found.rows))


def test_what_cannot_be_tuned_is_told(some_flights):
    claims, truth = some_flights
    for grid, complaint in (
        ({}, "the grid is empty; veracity has strength"),
        ({"size": [1]}, "veracity has no parameter 'size'"),
        ({"strength": []}, "must be a list of values"),
    ):
        with pytest.raises(ParameterError, match=complaint):
            veracity.tune(claims, truth, grid=grid)
    with pytest.raises(ParameterError, match="truths cannot be cut into 1000000000 folds"):
        veracity.tune(claims, truth, grid={"strength": [2.0]}, folds=10**9)
    with pytest.raises(ParameterError, match="2 known truths cannot be cut into 5 folds"):
        veracity.tune(claims, truth.head(2), grid={"strength": [1.0]})


def test_the_command_tunes(files):
    output = run("tune", "claims.csv", "--truth", "truth.csv", "--grid", "strength=2,8",
                 "--grid", "temper=yes,no", "--folds", "2")  # fmt: skip
    assert "settings of veracity, the best first by accuracy" in output
    assert "best: --set strength=" in output
    how = ("tune", "claims.csv", "--truth", "truth.csv", "--folds", "2")
    assert json.loads(run(*how, "--grid", "strength=8", "--json"))["best"] == {"strength": 8.0}
    assert "strength must be a number" in run(*how, "--grid", "strength=a", code=2)
