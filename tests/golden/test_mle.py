from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, started, states, value_rows
from veracity import Prior
from veracity.algorithms import MLE, Rate
from veracity.algorithms.mle import TwoCoins
from veracity.api import prepare

ROWS = [("a", "p", True), ("b", "p", True), ("a", "q", False), ("b", "q", True)]
CLAIMS = pl.DataFrame(ROWS, schema=["source", "fact", "claim"], orient="row")


def test_one_round_worked_out_by_hand():
    # From tpr .8, fpr .2, prevalence .5: P(p) = .8*.8 / (.8*.8 + .2*.2) = 16/17, P(q) = 1/2.
    # Then tpr of a = (16/17) / (16/17 + 1/2), fpr of a = (1/17) / (1/17 + 1/2), and b says yes to
    # both, so its rates are one, held just below.
    _, learned = states(MLE(), as_encoded(CLAIMS), 1)
    p, q = 16 / 17, 1 / 2
    assert_allclose(learned.tpr, [p / (p + q), 1 - 1e-6])
    assert_allclose(learned.fpr, [(1 - p) / (1 - p + 1 - q), 1 - 1e-6])
    assert learned.prevalence == pytest.approx((p + q) / 2)


def test_one_round_with_a_known_fact_worked_out_by_hand():
    # p is known to be false. So the fpr of a and b starts at (1 + 10 * .2) / (1 + 10) = 3/11, and
    # P(q) = .2 * .8 / (.2 * .8 + 8/11 * 3/11). Then p is false whatever is claimed of it.
    known = pl.DataFrame({"fact": ["p"], "claim": [False]})
    encoded = prepare(CLAIMS, kind="binary", known=known).encoded
    start, learned = states(MLE(), encoded, 1)
    assert_allclose(start.tpr, [0.8, 0.8])
    assert_allclose(start.fpr, [3 / 11, 3 / 11])
    q = 0.16 / (0.16 + 24 / 121)
    assert_allclose(learned.tpr, [1e-6, 1 - 1e-6])
    assert_allclose(learned.fpr, [1 / (2 - q), 1 - 1e-6])
    assert learned.prevalence == pytest.approx(q / 2)


def test_one_value_of_each_item_is_thought_true_at_the_start():
    rows = [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "3"), ("a", "y", "1"), ("b", "y", "1")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    assert started(MLE(), as_encoded(claims)).prevalence == 2 / 4  # two items with four values
    assert started(MLE(), as_encoded(claims, "multiple")).prevalence == 0.5
    assert started(MLE(), as_encoded(claims.head(3))).prevalence == pytest.approx(1 / 3)
    given = MLE(prior=Prior(prevalence=0.1))
    assert started(given, as_encoded(claims)).prevalence == 0.1


REACHED = TwoCoins(np.array([0.8, 0.6]), np.array([0.3, 0.1]), np.zeros(2), 0.5, -9.0, True)


def test_facts_are_judged_by_bayes_rule_worked_out_by_hand():
    # a says 1, b says 2. For 1 speak .8 / .3 and .4 / .9, for 2 .2 / .7 and .6 / .1.
    rows = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]})
    odds = np.array([0.8 / 0.3 * 0.4 / 0.9, 0.2 / 0.7 * 0.6 / 0.1])
    assert_allclose(MLE().judge(as_block(rows), REACHED), odds / odds.sum())
    several = REACHED._replace(single_truth=False)
    assert_allclose(MLE().judge(as_block(rows), several), odds / (1 + odds))


def test_neither_all_nor_nothing_is_ever_true():
    for truth, prevalence in ((False, 1e-6), (True, 1 - 1e-6)):
        known = pl.DataFrame({"fact": ["p", "q"], "claim": [truth, truth]})
        _, learned = states(MLE(), prepare(CLAIMS, kind="binary", known=known).encoded, 1)
        assert learned.prevalence == prevalence


def test_known_facts_correct_the_rates_that_were_reached():
    # The first source supports both known facts, of which one is true; the second denies them.
    known = np.array([[1.0, 2.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0]])
    reached = MLE().calibrate(REACHED, Prior().rates(["a", "b"], known))
    assert_allclose(reached.tpr, [(1 + 8) / 11, 6 / 11])
    assert_allclose(reached.fpr, [(1 + 3) / 11, 1 / 11])
    assert reached[3:] == REACHED[3:]


def test_a_round_moves_as_far_as_the_rate_that_moves_most():
    for part in ("tpr", "fpr"):
        moved = REACHED._replace(**{part: getattr(REACHED, part) + np.array([0.1, -0.3])})
        assert MLE().change(REACHED, moved) == pytest.approx(0.3)
    assert MLE().change(REACHED, REACHED._replace(prevalence=0.1)) == pytest.approx(0.4)


@settings(max_examples=30)
@given(rows=value_rows())
def test_the_likelihood_never_falls(rows):
    _, *reached = states(MLE(), as_encoded(rows), 14)
    likelihoods = [coins.log_likelihood for coins in reached]
    assert np.diff(likelihoods).min() > -1e-4  # rates held off zero and one may cost a little


def test_doubling_the_facts_changes_nothing(flights):
    twin = flights.claims.with_columns(pl.col("entity") + " again")
    once = veracity.discover(flights.claims, MLE())
    twice = veracity.discover(pl.concat([flights.claims, twin]), MLE())
    assert_allclose(once.sources["tpr"], twice.sources["tpr"], atol=1e-6)


def test_a_prevalence_that_is_not_learned_stays():
    prior = Prior(prevalence=0.3)
    result = veracity.discover(CLAIMS, MLE(prior=prior, learn_prevalence=False), kind="binary")
    assert result.run.prevalence == pytest.approx(0.3)


# --- the original, in which who is silent denies --------------------------------------------------


def test_where_missing_claims_are_negative_it_is_the_original():
    drawn = veracity.synthetic.Synthetic(sources=6, items=15, frequency=0.4).draw(seed=4)
    rows = drawn.claims.select("source", fact=pl.format("{} {}", "entity", "value"), claim=True)
    algorithm, encoded = MLE(missing="negative"), as_encoded(rows)
    said = (  # one row per source, one column per fact, all of them filled
        rows.pivot("fact", index="source", values="claim").sort("source").drop("source")
    )
    said = said.select(sorted(said.columns)).fill_null(False).to_numpy().astype(float)
    rate = said.mean(axis=1)
    tpr, fpr, d = (
        rate * 0.8 / 0.5,
        rate * 0.2 / 0.5,
        0.5,
    )  # who claims s: s r / d, s (1 - r) / (1 - d)
    for reached in states(algorithm, encoded, 6):
        assert_allclose(reached.tpr, tpr, rtol=1e-9)
        assert_allclose(reached.fpr, fpr, rtol=1e-9)
        assert reached.prevalence == pytest.approx(d)
        yes, no = (
            share * np.prod(np.where(said == 1, of[:, None], 1 - of[:, None]), axis=0)
            for share, of in ((d, tpr), (1 - d, fpr))
        )
        p = yes / (yes + no)
        assert_allclose(algorithm.judge(encoded.blocks[0], reached), p, rtol=1e-9)
        tpr, fpr, d = said @ p / p.sum(), said @ (1 - p) / (1 - p).sum(), p.mean()
        tpr, fpr = (np.clip(of, 1e-6, 1 - 1e-6) for of in (tpr, fpr))


def test_of_a_fixed_source_rates_are_not_scaled_to_its_claims():
    prior = Prior(of_source={"a": Rate(tpr=0.7, fpr=0.1, fixed=True)})
    start = started(MLE(missing="negative", prior=prior), as_encoded(CLAIMS))
    assert (start.tpr[0], start.fpr[0]) == pytest.approx((0.7, 0.1))
    assert start.tpr[1] == pytest.approx(1 - 1e-6)  # b claims all facts, twice what is usual


def test_known_facts_are_counted_for_sources_that_are_silent_on_them():
    known = pl.DataFrame({"fact": ["p", "q"], "claim": [True, False]})
    encoded = prepare(CLAIMS, kind="binary", known=known).encoded
    start, learned = states(MLE(missing="negative"), encoded, 1)
    assert start.known == (0.0, 0.0)
    assert learned.known == (1.0, 2.0)


def test_where_missing_claims_are_negative_they_are_so_on_known_facts():
    state = started(MLE(missing="negative"), as_encoded(CLAIMS))._replace(known=(3.0, 4.0))
    prior = Prior().rates(["a", "b"], known=np.array([[1.0, 1.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]]))
    # a supports one of three true facts, b none: (1 + 10 tpr) / 13, and 10 tpr / 13
    calibrated = MLE(missing="negative").calibrate(state, prior)
    assert_allclose(calibrated.tpr, (np.array([1.0, 0.0]) + 10.0 * state.tpr) / 13.0)
    assert_allclose(calibrated.fpr, 10.0 * state.fpr / 11.0)
