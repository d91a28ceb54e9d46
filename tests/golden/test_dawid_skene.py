"""Dawid-Skene, OneCoin and DARE: by another library, on paper, by finite differences."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, states, value_rows
from veracity import Prior
from veracity.algorithms import DARE, DawidSkene, OneCoin
from veracity.algorithms.dare import Abilities
from veracity.synthetic import Synthetic

# --- golden/test_dawid_skene.py -------------------------------------------------------------------


def crowd(seed=2, n_items=150, n_sources=12, n_labels=3):
    """Labels of a crowd whose members confuse labels each in their own way."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_items)
    confusion = rng.dirichlet(np.ones(n_labels), (n_sources, n_labels)) * 0.5
    confusion += 0.5 * np.eye(n_labels)
    rows = [
        (f"s{s:02d}", f"e{i:03d}", str(rng.choice(n_labels, p=confusion[s, truth[i]])))
        for s in range(n_sources)
        for i in range(n_items)
        if rng.random() < 0.6
    ]
    known = pl.DataFrame(
        {"entity": [f"e{i:03d}" for i in range(n_items)], "value": truth.astype(str)}
    )
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"), known


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("DawidSkene", DawidSkene(smoothing=1e-9, max_rounds=500, tolerance=1e-7)),
        ("OneCoinDawidSkene", OneCoin(max_rounds=500, tolerance=1e-7)),
    ],
)
def test_crowd_kit_finds_the_same_probabilities(name, ours):
    aggregation = pytest.importorskip("crowdkit.aggregation")
    claims, _ = crowd()
    table = claims.to_pandas().set_axis(["worker", "task", "label"], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(aggregation, name)(n_iter=200, tol=1e-9).fit(table)
    found = veracity.discover(claims, ours)
    expected = (
        fitted.probas_.stack().rename("p").reset_index().set_axis(["entity", "value", "p"], axis=1)
    )
    joined = found.facts.join(pl.DataFrame(expected), on=["entity", "value"])
    assert len(joined) == len(found.facts)
    assert_allclose(joined["plausibility"], joined["p"], atol=2e-3)


def test_confusions_tell_what_a_single_rate_cannot():
    # Of four sources that see every bird as "b" half the time, all err the same way.
    rng = np.random.default_rng(0)
    truth = np.array(["a", "b"])[rng.integers(2, size=200)]
    rows = [
        (f"s{s}", f"e{i:03d}", "b" if truth[i] == "b" or rng.random() < 0.55 else "a")
        for s in range(4)
        for i in range(200)
    ]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    known = pl.DataFrame({"entity": [f"e{i:03d}" for i in range(200)], "value": truth})
    full, one_coin = (
        veracity.evaluate(veracity.discover(claims, name), known).accuracy
        for name in ("dawid-skene", "one-coin")
    )
    assert full > one_coin + 0.1


@settings(max_examples=25)
@given(rows=value_rows(), algorithm=st.sampled_from([DawidSkene(smoothing=1e-9), OneCoin()]))
def test_the_likelihood_never_falls(rows, algorithm):
    _, *reached = states(algorithm, as_encoded(rows), 11)
    likelihoods = [confusion.log_likelihood for confusion in reached]
    assert np.diff(likelihoods).min() > -1e-4  # cells held off zero and one may cost a little


def test_too_many_labels_are_refused_with_a_way_out():
    claims = pl.DataFrame({"source": range(101), "entity": [1] * 101, "value": range(101)})
    with pytest.raises(veracity.errors.ParameterError, match="use OneCoin"):
        veracity.discover(claims, DawidSkene())


def test_more_cells_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr("veracity.algorithms.labels.MOST_CELLS", 10)
    claims, _ = crowd(n_items=10)
    with pytest.raises(veracity.errors.ParameterError, match="use OneCoin"):
        veracity.discover(claims, DawidSkene())


def test_spelling_a_number_in_two_ways_changes_nothing():
    claims, _ = crowd(n_items=60)
    is_late = pl.col("entity") >= "e030"
    respelt = claims.with_columns(
        value=pl.when(is_late).then(pl.col("value") + ".0").otherwise("value")
    )
    for algorithm in (DawidSkene(), OneCoin(), veracity.algorithms.Accu()):
        one, other = (veracity.discover(c, algorithm) for c in (claims, respelt))
        assert_allclose(one.facts["plausibility"], other.facts["plausibility"])


# --- dare against arithmetic on paper, and its posterior against finite differences ---------------


def test_who_knows_is_right_and_others_guess():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "1", "2"]}
    block = as_block(pl.DataFrame(rows))
    # held at zero, difficulty plays no part: each knows with 0.8, else guesses one of two values,
    # so says what is true with 0.9, and what is false with 0.1
    state = Abilities(np.full(3, np.log(4.0)), Prior().rates(list("abc")))
    algorithm = DARE(difficulty_spread=1e-6)
    assert_allclose(algorithm.judge(block, state), [0.9, 0.1], atol=1e-9)
    assert_allclose(algorithm.trust(state), 0.8)


def log_posterior(block, ability, difficulty):
    """Of abilities and difficulties, whatever is true, summed up item by item."""
    total = -0.5 * ((ability - np.log(4.0)) ** 2).sum() - 0.5 * (difficulty**2).sum()
    for item in range(block.n_items):
        facts = range(*block.first_fact_of_item[item : item + 2])
        claims = [
            (fact, source)
            for fact in facts
            for source in block.source_of_support[
                slice(*block.first_support_of_fact[fact : fact + 2])
            ]
        ]
        n_values = max(len(facts), 2)
        log_joint = []
        for true in facts:
            log_likely = 0.0
            for said, source in claims:
                knows = 1.0 / (1.0 + np.exp(difficulty[item] - ability[source]))
                log_likely += np.log((1.0 - knows) / n_values + knows * (said == true))
            log_joint.append(log_likely)
        total += np.logaddexp.reduce(log_joint)
    return total


def slopes(block, ability, difficulty, step=1e-5):
    def slope(array, i):
        up, down = array.copy(), array.copy()
        up[i] += step
        down[i] -= step
        pairs = ((up, down), (difficulty, difficulty)) if array is ability else (
            (ability, ability), (up, down))  # fmt: skip
        high, low = (log_posterior(block, *at) for at in zip(*pairs, strict=True))
        return (high - low) / (2.0 * step)

    return [[slope(array, i) for i in range(len(array))] for array in (ability, difficulty)]


def test_it_ends_where_the_posterior_of_abilities_and_difficulties_is_level():
    drawn = Synthetic(sources=5, items=12, accuracy=0.7).draw(seed=3)
    encoded, algorithm = as_encoded(drawn.claims), DARE()
    (block,) = encoded.blocks
    start, *_, end = states(algorithm, encoded, 60)
    before = slopes(block, start.ability, algorithm.difficulty(block, start))
    after = slopes(block, end.ability, algorithm.difficulty(block, end))
    assert np.abs(before[0]).max() > 0.5
    assert_allclose(after[0], 0.0, atol=2e-2)
    assert_allclose(after[1], 0.0, atol=2e-2)
