"""What a call of discover promises, how a command is stopped, and the reference."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from dataclasses import fields
from inspect import Parameter, signature
from pathlib import Path

import polars as pl
import pytest

import veracity
from veracity.algorithms import LTDRBM
from veracity.errors import ParameterError
from veracity.fit.fitted import Fitted
from veracity.reading.options import ReadArguments, ReadOptions

# --- test_discovery.py ----------------------------------------------------------------------------


def test_discover_needs_no_more_than_claims(two_against_one):
    result = veracity.discover(two_against_one)
    assert result.run.algorithm == "veracity"
    assert result.truths["value"].to_list() == ["1"]


def test_converged_means_the_last_change_is_below_the_tolerance(flights):
    result = veracity.discover(flights.claims, "ltd-rbm")
    trace = result.trace
    assert result.converged
    assert trace["change"][-1] < 1e-3 <= trace["change"][-2]
    assert trace["round"].to_list() == list(range(1, len(trace) + 1))
    assert (trace["seconds"] >= 0).all()


def test_reaching_the_limit_is_not_converging(flights):
    told = "ltd-rbm did not converge in 2 rounds"
    with pytest.warns(veracity.errors.NotConverged, match=told) as warned:
        result = veracity.discover(flights.claims, LTDRBM(max_rounds=2))
    assert [one.filename for one in warned] == [__file__]
    names = {"discover": veracity.discover, "claims": flights.claims, "LTDRBM": LTDRBM}
    with pytest.warns(veracity.errors.NotConverged, match=told):  # a program without a name
        exec("discover(claims, LTDRBM(max_rounds=2))", names)
    assert not result.converged
    assert "NOT converged" in repr(result)
    [seen] = result.findings.filter(name="not-converged")["seen"]
    assert "did not converge in 2 rounds: the last change was " in seen


def test_a_seed_given_to_discover_takes_the_place_of_the_algorithms_own(flights):
    one = veracity.discover(flights.claims, LTDRBM(seed=3))
    other = veracity.discover(flights.claims, LTDRBM(seed=9), seed=3)
    assert one.facts.equals(other.facts)
    assert other.run.parameters["seed"] == 3


def test_progress_tells_of_every_phase_and_round(flights):
    told = []
    result = veracity.discover(flights.claims, progress=lambda *step: told.append(step))
    phases = list(dict.fromkeys(phase for phase, _, _ in told))
    assert phases == ["reading", "encoding", "learning", "judging"]
    assert [done for phase, done, _ in told if phase == "learning"] == list(
        range(len(result.trace))
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "x", "1"), ("a", "y", "1")], "1 of 1 sources (100%) shares no item"),
        (
            [("a", "x", "1"), ("b", "x", "2"), ("c", "y", "1")],
            "1 of 3 sources (33%) shares no item",
        ),
        ([("a", "x", "1"), ("b", "x", "1")], "sources differ on 0 of 1 shared items"),
    ],
)
def test_findings_say_what_the_claims_cannot_carry(rows, words):
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    assert any(words in seen for seen in veracity.discover(claims).findings["seen"])


def test_claims_in_good_order_get_no_notes(flights):
    assert veracity.discover(flights.claims).notes == []


def test_a_run_tells_how_many_truths_were_known_and_how_long_reading_took(two_against_one):
    known = pl.DataFrame({"entity": ["x"], "value": ["2"]})
    table = veracity.read_claims(two_against_one)
    run = veracity.discover(table, known=known).run
    assert run.input.known == 1
    assert run.seconds["read"] == round(table.seconds, 4)


def test_an_unknown_algorithm_is_refused_with_those_there_are(two_against_one):
    with pytest.raises(ParameterError, match="no algorithm 'best'; there are veracity"):
        veracity.discover(two_against_one, "best")


@pytest.mark.parametrize(
    "name", ["Dawid-Skene", "DawidSkene", "dawid_skene", "david-skene", "dawid"]
)
def test_an_algorithm_whose_name_is_nearly_right_is_asked_for(two_against_one, name):
    with pytest.raises(ParameterError, match=r"did you mean 'dawid-skene'\?$"):
        veracity.discover(two_against_one, name)


def test_an_algorithm_for_other_claims_is_refused_with_what_to_say(two_against_one):
    with pytest.raises(ParameterError, match="or set kind='numeric' or --kind"):
        veracity.discover(two_against_one, "gtm")


def test_a_minimum_plausibility_out_of_range_is_refused(two_against_one):
    with pytest.raises(ParameterError, match="must be between 0 and 1, got 2"):
        veracity.discover(two_against_one, min_plausibility=2)


def test_claims_already_read_keep_the_kind_they_were_read_with(two_against_one):
    table = veracity.read_claims(two_against_one, kind="multiple")
    assert veracity.discover(table).kind == "multiple"
    with pytest.raises(ParameterError, match="cannot be changed after the claims"):
        veracity.discover(table, kind="categorical")


def test_sources_that_are_mostly_wrong_raise_the_suspicion_of_a_flip():
    prior = veracity.Prior(tpr=0.2, fpr=0.8)
    claims = pl.DataFrame({"source": list("abc"), "fact": ["p"] * 3, "claim": [True, True, False]})
    result = veracity.discover(claims, LTDRBM(prior=prior), kind="binary")
    [seen] = result.findings.filter(name="flip-risk")["seen"]
    assert "sources support false facts more often than true ones" in seen


@pytest.mark.parametrize("wrong", [2, -0.1, float("nan"), "x", {}])
@pytest.mark.parametrize("how", ["judge", "update"])
def test_a_fit_takes_no_plausibility_that_is_none(two_against_one, how, wrong):
    fitted = veracity.discover(two_against_one).fitted
    with pytest.raises(ParameterError, match=f"{how}: min_plausibility must be"):
        getattr(fitted, how)(two_against_one, min_plausibility=wrong)


@pytest.mark.parametrize("how", ["judge", "update"])
def test_a_fit_of_numbers_takes_no_plausibility(how):
    claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": [1.0, 2.0]})
    fitted = veracity.discover(claims, kind="numeric").fitted
    with pytest.raises(ParameterError, match="min_plausibility is not for numeric claims"):
        getattr(fitted, how)(claims, min_plausibility=0.5)


def test_half_of_a_pair_of_characters_is_nobodys_name(two_against_one):
    with pytest.raises(ParameterError, match="no entity"):
        veracity.discover(two_against_one).why("\ud800")


# --- arguments of reading -------------------------------------------------------------------------


def test_every_function_that_reads_claims_takes_the_same_arguments():
    names = set(ReadArguments.__annotations__)
    private = {"likely", "likely_wide", "columns_option"}  # the library gives them
    assert {one.name for one in fields(ReadOptions)} - private == names
    for spelt_out in (veracity.discover, veracity.read_claims):
        assert names <= set(signature(spelt_out).parameters)
    others = (veracity.check, veracity.compare, veracity.profile, veracity.tune)
    for function in (*others, Fitted.judge, Fitted.update):
        options = signature(function).parameters["options"]
        assert options.kind is Parameter.VAR_KEYWORD
        assert options.annotation == "Unpack[ReadArguments]"


def test_an_argument_that_is_misspelt_is_told(two_against_one):
    for function in (veracity.profile, veracity.check, veracity.compare):
        with pytest.raises(TypeError, match=r"no argument 'colums'; did you mean 'columns'\?"):
            function(two_against_one, colums={})
    result = veracity.discover(two_against_one, "majority-vote")
    with pytest.raises(TypeError, match=r"no argument 'normalize'; did you mean 'normalise'\?"):
        veracity.profile(result, normalize=True)
    with pytest.raises(ParameterError, match="cannot be changed after the claims"):
        veracity.profile(result, normalise=True)


def test_what_a_fit_settles_cannot_be_said_again(two_against_one):
    fitted = veracity.discover(two_against_one, "mle").fitted
    with pytest.raises(ParameterError, match="kind is that of the fit"):
        fitted.judge(two_against_one, kind="multiple")


def test_a_name_that_moved_says_where_it_is():
    with pytest.raises(AttributeError, match=r"'MLE'; it is veracity\.algorithms\.MLE"):
        _ = veracity.MLE


# --- a command that is stopped: a sentence, an exit code, nothing left ----------------------------


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


# --- the reference says what the code says of itself ----------------------------------------------


MADE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "reference.py"))["pages"]()


@pytest.mark.parametrize("name", veracity.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert f"`veracity.{name}`" in MADE["python.md"]


def test_every_command_is_in_the_reference():
    from veracity.cli import main

    for name in main.commands:
        assert f"## `veracity {name}`\n" in MADE["cli.md"]
