"""2-Estimates, 3-Estimates and Cosine against arithmetic on paper."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, binary_rows, started, states
from veracity.algorithms import Cosine, ThreeEstimates, TwoEstimates
from veracity.algorithms.base import Turn
from veracity.algorithms.estimates import Directions, stretch

# --- 2-estimates and 3-estimates ------------------------------------------------------------------


ROWS = [("a", "p", True), ("b", "p", True), ("c", "p", False), ("a", "q", False), ("c", "q", True)]
CLAIMS = pl.DataFrame(ROWS, schema=["source", "fact", "claim"], orient="row")


def one_round(algorithm, state):
    """What the steps of one round make of a state, and what they keep beside the block."""
    (block,), memory = as_encoded(CLAIMS).blocks, None
    (phase,) = algorithm.phases(state)
    for step in phase.steps:
        tally, memory = step.look(block, state, Turn(1, memory=memory))
        state = step.learn(state, tally)
    return state, memory


def test_two_estimates_without_stretching_worked_out_by_hand():
    # Error .2 everywhere. Truth of p = (.8 + .8 + .2) / 3 = .6, of q = (.2 + .8) / 2 = .5.
    # a says p, not q: error = ((1 - .6) + .5) / 2; b says p: 1 - .6; c not p, q: (.6 + .5) / 2.
    algorithm = TwoEstimates()
    start = started(algorithm, as_encoded(CLAIMS))._replace(rounds=algorithm.steps)
    learned, _ = one_round(algorithm, start)
    assert_allclose(learned.error, [0.45, 0.4, 0.55])


def test_two_estimates_trust_whoever_does_not_err_and_values_share_an_item():
    # a and b name 1, c names 2; errors .1, .4 and .3: for 1 speak .9, .6 and .3, for 2 .1, .4, .7
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    (block,), algorithm = as_encoded(claims).blocks, TwoEstimates()
    start = started(algorithm, as_encoded(claims))
    state = start._replace(error=np.array([0.1, 0.4, 0.3]))
    assert_allclose(algorithm.trust(state), [0.9, 0.6, 0.7])
    assert_allclose(algorithm.judge(block, state), [0.6, 0.4])
    assert algorithm.weigh(block, state).rule == "share"
    several = state._replace(single_truth=False)
    assert_allclose(algorithm.judge(block, several), [1.8 / 3, 1.2 / 3])
    assert start[1:] == (0.0, 1.0, 0, True)


@pytest.mark.parametrize(
    ("wrong", "is_turned"), [([0.2, 0.8], False), ([0.2, 0.8 + 1e-11], False), ([0.3, 0.8], True)]
)
def test_two_estimates_are_turned_around_only_where_claims_err_more_often_than_not(
    wrong, is_turned
):
    algorithm = TwoEstimates()
    state = started(algorithm, as_encoded(CLAIMS))._replace(rounds=algorithm.steps)
    error = np.array(wrong)
    for n_known, turned in ((0, is_turned), (1, False)):
        found = algorithm.learn(state, (10 * error, np.full(2, 10.0), n_known)).error
        assert_allclose(found, 1 - error if turned else error)


def test_stretching_is_over_before_rounds_are():
    with pytest.raises(veracity.errors.ParameterError, match=r"at least 8 \(steps \+ 1\), got 7"):
        TwoEstimates(steps=7, max_rounds=7)


def claims_of(**words):
    """Facts with who affirms and who denies them: ``p="a+ b-"``."""
    rows = [(*word, fact) for fact, said in words.items() for word in said.split()]
    said = pl.DataFrame(rows, schema=["source", "claim", "fact"], orient="row")
    return said.with_columns(pl.col("claim") == "+")


def test_two_estimates_with_stretching_worked_out_by_hand_for_two_rounds():
    # Round 1, error .2, weight 1. Truths .6, .5, .65; stretched 2/3, 0, 1. Errors of a = 1/3 / 3,
    # b = 1/3 / 2, c = (2/3 + 1 + 1) / 3, d = 0; stretched by 9/8: 1/8, 3/16, 1, 0.
    # Round 2, weight .9. Truths (7/8 + 13/16 + 1) / 3 = 43/48, (1/8 + 0) / 2 = 1/16 and
    # (7/8 + 13/16 + 1 + 1) / 4 = 59/64, which stretched are 32/33, 0 and 1.
    claims = claims_of(p="a+ b+ c-", q="a- c+", r="a+ b+ c- d+")
    _, first, second = states(TwoEstimates(), as_encoded(claims), 2)
    assert_allclose(first.error, [1 / 8, 3 / 16, 1, 0], atol=1e-12)
    tenth = Fraction(1, 10)
    p = 9 * tenth * Fraction(32, 33) + tenth * Fraction(43, 48)
    q = tenth / 16
    r = 9 * tenth + tenth * Fraction(59, 64)
    errors = [(1 - p + q + 1 - r) / 3, (1 - p + 1 - r) / 2, (p + 1 - q + r) / 3, 1 - r]
    low, high = min(errors), max(errors)
    stretched = [9 * tenth * (error - low) / (high - low) + tenth * error for error in errors]
    assert_allclose(second.error, np.array(stretched, dtype=float))
    assert (second.lowest, second.highest) == pytest.approx((1 / 16, 59 / 64))


def test_two_estimates_turns_errors_around_where_claims_err_more_often_than_not():
    # As above but for r: truths .6, .5, .65, stretched 2/3, 0, 1. Errors of a = 1/3 / 3,
    # b = (1/3 + 1) / 2, c = (2/3 + 1 + 0) / 3, d = 0; stretched by 3/2: 1/6, 1, 5/6, 0. Over the
    # claims their mean is (3 * 1/6 + 2 * 1 + 3 * 5/6 + 0) / 9 = 5/9, above one half.
    claims = claims_of(p="a+ b+ c-", q="a- c+", r="a+ b- c+ d+")
    _, learned = states(TwoEstimates(), as_encoded(claims), 1)
    assert_allclose(learned.error, [5 / 6, 0, 1 / 6, 1], atol=1e-12)


def test_three_estimates_worked_out_by_hand():
    # Error = difficulty = .1, product .01. Truth of p = (.99 + .99 + .01) / 3 = 1.99 / 3 = .6633,
    # of q = (.01 + .99) / 2 = .5; stretched: 1 and 0; rounded: 1 and 0 (half to even); mean: 1, 0.
    # Difficulty of p = (0 + 0 + 1) / .1 / 3 = 3.33, of q = (0 + 1) / .1 / 2 = 5; stretched: 0, 1;
    # rounded after clipping: 1, 1; mean: .5, 1.
    # Error of a = (0 / .5 + 0 / 1) / 2 = 0, of b = 0, of c = (1 / .5 + 1 / 1) / 2 = 1.5;
    # stretched: 0, 0, 1; rounded after clipping: 0, 0, 1.
    algorithm = ThreeEstimates()
    learned, difficulty = one_round(algorithm, started(algorithm, as_encoded(CLAIMS)))
    assert_allclose(difficulty, [0.5, 1.0])
    assert_allclose(learned.error, [0.0, 0.0, 1.0])


def test_stretching_reaches_from_zero_to_one_and_leaves_equal_values_alone():
    assert_allclose(stretch(np.array([0.2, 0.3, 0.4]), 1.0, 0.2, 0.4), [0.0, 0.5, 1.0], atol=1e-12)
    assert_allclose(stretch(np.array([0.2, 0.4]), 0.5, 0.2, 0.4), [0.1, 0.7])
    assert stretch(np.array([0.5, 0.5]), 1.0, 0.5, 0.5).tolist() == [0.5, 0.5]


def test_known_truths_keep_two_estimates_from_turning_around():
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.5
    right = [0.95, 0.9, 0.2, 0.2, 0.2, 0.2]
    rows = [
        (f"s{s}", f"f{i:03d}", bool(truth[i] ^ (rng.random() > right[s])))
        for s in range(6)
        for i in range(300)
    ]
    claims = pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")
    facts = pl.DataFrame({"fact": [f"f{i:03d}" for i in range(300)], "claim": truth})
    result = veracity.discover(claims, "two-estimates", kind="binary", known=facts.head(150))
    assert veracity.evaluate(result, facts.tail(150)).accuracy > 0.5


# --- cosine against arithmetic on paper, and against the paper's formulas on a whole matrix -------


def test_truths_are_as_on_paper_also_where_a_source_is_distrusted():
    rows = [("a", "p", True), ("b", "p", False), ("c", "p", True)]
    block = as_block(pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row"))
    # votes 1, 1/8 and -1/8: (1 - 1/8 - 1/8) / (1 + 1/8 + 1/8) = 3/5, and halfway to one: 4/5
    state = Directions(np.array([1.0, 0.5, -0.5]), single_truth=False)
    assert_allclose(Cosine().judge(block, state), [0.8])


def test_values_share_what_is_for_them():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "2", "3"]}
    state = Directions(np.array([1.0, 0.5, -0.5]), single_truth=True)
    # c, who is distrusted, speaks for what it does not say: 1 + 1/8, 1/8 + 1/8 and 0
    assert_allclose(Cosine().judge(as_block(pl.DataFrame(rows)), state), [9 / 11, 2 / 11, 0.0])


@settings(max_examples=25)
@given(rows=binary_rows())
def test_rounds_are_those_of_the_paper(rows):
    encoded = as_encoded(rows)
    sources, facts = encoded.names.sources.to_list(), rows["fact"].unique().sort().to_list()
    said = np.zeros((len(sources), len(facts)))
    for source, fact, claim in rows.iter_rows():
        said[sources.index(source), facts.index(fact)] = 1.0 if claim else -1.0
    trust = np.ones(len(sources))
    for state in states(Cosine(), encoded, 6):
        assert_allclose(state.trust, trust, atol=1e-12)
        weight = np.abs(said).T @ np.abs(trust**3)
        truth = np.where(weight > 0, said.T @ trust**3 / np.where(weight > 0, weight, 1), 0.0)
        length = np.sqrt((said != 0).sum(axis=1) * ((said != 0) @ truth**2))
        has_any = length > 1e-12
        cosine = said @ truth / np.where(has_any, length, 1.0)
        trust = np.where(has_any, 0.8 * trust + 0.2 * cosine, trust)
