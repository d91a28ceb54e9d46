"""Accu, AccuSim, AccuFormat and PopAccu against arithmetic on paper."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, started, survey_of, value_rows
from veracity import Prior
from veracity.algorithms import Accu, AccuFormat, AccuSim, PopAccu
from veracity.algorithms.accu import Accuracies
from veracity.algorithms.rules import surprise
from veracity.values import covers, grains

# --- accu and accusim against arithmetic on paper -------------------------------------------------


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


def test_a_fixed_source_is_told_with_the_accuracy_it_was_fixed_at():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("a", "y", "3"), ("c", "y", "4")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    prior = veracity.Prior(of_source={"a": veracity.algorithms.Rate(tpr=0.05, fixed=True)})
    sources = veracity.discover(claims, veracity.algorithms.Accu(prior=prior)).sources
    assert sources["trust"][0] == pytest.approx(0.05)


# --- accuformat against arithmetic on paper, and how finely values are told -----------------------


@pytest.mark.parametrize(
    ("coarse", "fine", "does"),
    [
        ("8M", "7,528,396", True),
        ("8M", "7,499,999", False),
        ("7,528,396", "8M", False),
        ("7.5M", "7,528,396", True),
        ("8M", "8,000,000", True),
        ("3.1", "3.14", True),
        ("3.1", "3.10", True),
        ("3.1", "3.2", False),
        ("12%", "0.123", True),
        ("7500", "7528", False),
        ("007", "7.0", False),
        ("12:30", "12:30:15", True),
        ("12:30", "12:31:00", False),
        ("2012-03", "2012-03-31", True),
        ("2012-03", "2012-04-01", False),
        ("2012-03-05", "2012-03-05 12:30", True),
        ("2012-03-05 12:30", "2012-03-05 12:30:59", True),
        ("2012-02-31", "2012-02-28", False),
        ("noon", "12:00", False),
        ("1", "1", False),
        ("12", "12:30", False),
        ("9" * 400, "9" * 400 + ".5", False),
        ("9" * 308 + "B", "9" * 309, False),
    ],
)
def test_a_value_covers_what_it_is_a_rounding_of(coarse, fine, does):
    told = grains(pl.Series([coarse, fine]))
    assert covers(told, np.array([0]), np.array([1])).tolist() == [does]


def test_who_rounds_speaks_for_what_is_rounded_and_not_the_other_way():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["3.14", "3.1", "3.2"]}
    encoded = as_encoded(pl.DataFrame(rows))
    prior = Prior().rates(list("abc"))
    state = Accuracies(np.full(3, 0.8), 2.0, prior, encoded.names.labels)
    (block,) = encoded.blocks
    algorithm = AccuFormat(similarity=lambda one, other: 0.5, influence=0.5)
    # each value has ln(2 · 4) = ln 8, and a quarter of that from each other value; but 3.14 has a
    # half from 3.1: 1.5, 1.75 and 1.5 times ln 8, in the order of 3.1, 3.14 and 3.2
    share = 8.0 ** np.array([1.5, 1.75, 1.5])
    assert_allclose(algorithm.judge(block, state), share / share.sum())


# --- popaccu against arithmetic on paper ----------------------------------------------------------


def accuracies(*of_source):
    prior = Prior().rates(list("abcdefgh")[: len(of_source)])
    return Accuracies(np.array(of_source), 100.0, prior, labels=pl.Series())


def test_false_values_are_as_likely_as_they_are_popular():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "1", "2"]}
    # 1 is true: 0.8² · 0.2, the only other value being named for sure. 2 is true: 0.8 · 0.2².
    # None is: 0.2³ · (2/3)² · (1/3).
    likely = np.array([0.8**2 * 0.2, 0.8 * 0.2**2, 0.2**3 * 4 / 27])
    plausibility = PopAccu().judge(as_block(pl.DataFrame(rows)), accuracies(0.8, 0.8, 0.8))
    assert_allclose(plausibility, (likely / likely.sum())[:2])


def test_what_one_source_says_alone_is_as_plausible_as_it_is_accurate():
    block = as_block(pl.DataFrame({"source": ["a"], "entity": ["x"], "value": ["1"]}))
    assert_allclose(PopAccu().judge(block, accuracies(0.7)), [0.7])


def test_the_word_of_a_source_worse_than_the_crowd_is_ignored():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "2", "3"]}
    plausibility = PopAccu().judge(as_block(pl.DataFrame(rows)), accuracies(0.8, 0.8, 0.01))
    assert plausibility[2] == np.min(plausibility)
    # e^0 for what it says, as for what nobody does; 4 · 27/4 for the others
    assert_allclose(plausibility, np.array([27.0, 27.0, 1.0]) / 56.0)


def test_what_hardly_anybody_says_surprises_as_its_popularity_tells():
    rows = pl.DataFrame(
        {"source": list("stu"), "entity": ["x"] * 3, "value": ["1", "1", "2"],
         "weight": [1.0, 1.0, 1e-14]}
    )  # fmt: skip
    popular, rare = surprise(as_block(rows))
    assert rare == pytest.approx(1.0 - math.log(0.5e-14))
    assert popular == pytest.approx(0.0, abs=1e-12)
