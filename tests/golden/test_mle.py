from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, states, value_rows
from veracity import MLE, Prior

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
    assert result.run["prevalence"] == pytest.approx(0.3)


@pytest.mark.data
def test_the_weather_is_where_trials_had_it(shared_data):
    folder = shared_data / "weather_raw"
    result = veracity.discover(folder / "claims.parquet", "mle")
    assert veracity.evaluate(result, folder / "truth.parquet").accuracy == pytest.approx(
        0.682, abs=3e-3
    )
