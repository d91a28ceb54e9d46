"""Accu and AccuSim against arithmetic on paper."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, started, states, survey_of, value_rows
from veracity.algorithms.accu import Accu, Accuracies, AccuSim
from veracity.algorithms.prior import Prior, Rate
from veracity.errors import ParameterError


def accuracies_of(block, accuracy, n_false_values=10.0):
    sources = np.unique(block.source_of_support).tolist()
    prior = Prior().rates(sources)
    return Accuracies(np.full(len(sources), accuracy), n_false_values, prior, labels=pl.Series())


def test_plausibilities_of_two_against_one_are_as_on_paper(two_against_one):
    block = as_block(two_against_one)
    # n A / (1 - A) = 10 * 0.8 / 0.2 = 40; "1" has 40 * 40, "2" has 40, and each of the
    # 10 + 1 - 2 = 9 values that nobody names has 1: 1600 + 40 + 9 = 1649
    judged = Accu().judge(block, accuracies_of(block, 0.8))
    assert_allclose(judged, [1600 / 1649, 40 / 1649])


def test_accuracy_is_the_mean_plausibility_but_never_less_than_a_guess(two_against_one):
    before = accuracies_of(as_block(two_against_one), 0.8)
    # the columns that matter: supports of true facts, supports
    counts = np.array([[1.7, 2.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    # 1.7 / 2; a guess among 11 values instead of 0; and no claim, so nothing new
    assert_allclose(before.learn(counts).accuracy, [0.85, 1 / 11, 0.8])


@given(accuracy=st.floats(0.1, 0.99), n_false_values=st.floats(1, 1000))
def test_the_word_of_a_lone_source_is_as_plausible_as_it_is_accurate(accuracy, n_false_values):
    block = as_block(pl.DataFrame({"source": ["a"], "entity": ["x"], "value": ["1"]}))
    # n A / (1 - A) against n unclaimed values: n A / (n A + n (1 - A)) = A
    judged = Accu().judge(block, accuracies_of(block, accuracy, n_false_values))
    assert_allclose(judged, [accuracy])


def test_there_are_never_less_than_no_unclaimed_values():
    rows = {"source": list("abcd"), "entity": ["x"] * 4, "value": list("1234")}
    block = as_block(pl.DataFrame(rows))
    # n = 1 false value, four claimed: 1 + 1 - 4 would take away two
    assert_allclose(Accu().judge(block, accuracies_of(block, 0.5, n_false_values=1.0)), 0.25)


def test_who_errs_on_a_question_of_yes_or_no_has_one_way_to_do_so():
    rows = {"source": list("aabb"), "entity": list("xyxy"), "value": ["yes", "no", "yes", "yes"]}
    start = started(Accu(n_false_values=100), as_encoded(pl.DataFrame(rows)))
    assert start.n_false_values == 1.0


def test_ten_known_errors_halve_what_is_thought_of_a_source():
    encoded = as_encoded(pl.DataFrame({"source": ["a"], "entity": ["x"], "value": ["1"]}))
    known = np.array([[0.0, 10.0, 10.0, 10.0]])  # ten supports, none of a true fact
    start = Accu().start(survey_of(encoded), Prior().rates(["a"], known))
    assert_allclose(start.accuracy, [0.5])  # (0 + 10 * 0.8) / (10 + 10) = 0.4, a guess is 0.5


def test_known_truths_turn_the_vote(two_against_one):
    more = pl.DataFrame(
        {"source": list("abc") * 9, "entity": list("stuvwyz12") * 3, "value": ["1"] * 27}
    ).with_columns(value=pl.when(pl.col("source") == "c").then(pl.lit("2")).otherwise("value"))
    known = pl.DataFrame({"entity": list("stuvwyz12"), "value": ["2"] * 9})
    claims = pl.concat([two_against_one, more])
    found = veracity.discover(claims, Accu(), known=known).truths
    assert found.filter(pl.col("entity") == "x")["value"].to_list() == ["2"]


def test_a_fixed_source_keeps_its_accuracy(flights):
    name = min(flights.sources["source"])
    prior = Prior(of_source={name: Rate(tpr=0.33, fixed=True)})
    _, after = states(Accu(prior=prior), as_encoded(flights.claims), 1)
    assert after.accuracy[0] == 0.33
    assert (after.accuracy[1:] != 0.8).all()


def test_accu_beats_the_vote_on_the_flights(flights):
    found, vote = (veracity.discover(flights.claims, a) for a in (Accu(), "majority-vote"))
    gain = veracity.evaluate(found, flights.truth).accuracy
    assert gain > veracity.evaluate(vote, flights.truth).accuracy + 0.03


# --- AccuSim --------------------------------------------------------------------------------------


def test_a_similar_value_gains_half_the_votes_of_its_like():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["10", "11", "90"]}
    encoded = as_encoded(pl.DataFrame(rows))
    (block,) = encoded.blocks

    def near(one, other):
        return float({one, other} == {"10", "11"})

    algorithm = AccuSim(similarity=near)
    start = started(algorithm, encoded)._replace(
        accuracy=np.full(len(encoded.names.sources), 0.8), n_false_values=10.0
    )
    # C = ln 40 for each; "10" and "11" have ln 40 + 0.5 ln 40, so 40^1.5; 11 - 3 unclaimed
    total = 2 * 40**1.5 + 40 + 8
    judged = algorithm.judge(block, start)
    assert_allclose(judged, [40**1.5 / total, 40**1.5 / total, 40 / total])


@given(rows=value_rows())
def test_without_influence_accu_sim_is_accu(rows):
    same = {"max_rounds": 3, "tolerance": 10.0}
    sim, accu = AccuSim(influence=0.0, **same), Accu(**same)
    one, other = veracity.discover(rows, sim), veracity.discover(rows, accu)
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Accu(n_false_values=0), "Accu: n_false_values must be at least 1, got 0"),
        (lambda: AccuSim(influence=-1), "AccuSim: influence must be at least 0, got -1"),
    ],
)
def test_a_parameter_out_of_range_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_fixed_source_is_told_with_the_accuracy_it_was_fixed_at():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("a", "y", "3"), ("c", "y", "4")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    prior = veracity.Prior(of_source={"a": veracity.algorithms.Rate(tpr=0.05, fixed=True)})
    sources = veracity.discover(claims, veracity.algorithms.Accu(prior=prior)).sources
    assert sources["trust"][0] == pytest.approx(0.05)
