"""Hard items are not items of another label, and rare labels are not hard items."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import betabinom, binom

import veracity
from veracity import Veracity
from veracity.algorithms.veracity.hard_items import (
    MOST_VOICES,
    _log_draws,
    items_are_hard,
    said_of_items,
)
from veracity.claims.encode import encode
from veracity.claims.schema import ClaimsTable


def drawn(seed, *, n_voices=20, rare=0.01, accuracy=(0.85, 0.85), hardness=0.0):
    """Two labels, of which "b" is rare; sources are right on each as told, less on hard items."""
    rng = np.random.default_rng(seed)
    rows, truth = [], []
    for item in range(500):
        true = int(rng.random() < rare)
        chance = 1.0 / (1.0 + np.exp(-np.log(accuracy[true] / (1.0 - accuracy[true]))
                                     + hardness * rng.normal()))  # fmt: skip
        truth.append((f"q{item}", "ab"[true]))
        for source in rng.choice(40, n_voices, replace=False):
            said = true if rng.random() < chance else 1 - true
            rows.append((f"s{source}", f"q{item}", "ab"[said]))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "value"], orient="row")


def accuracies(claims, truth, *algorithms):
    results = (veracity.discover(claims, algorithm) for algorithm in algorithms)
    return [veracity.evaluate(result, truth).accuracy for result in results]


@pytest.mark.parametrize("seed", range(3))
def test_hard_items_of_a_frequent_label_keep_it(seed):
    claims, truth = drawn(seed, hardness=1.0)
    own, blind, vote = accuracies(
        claims, truth, Veracity(), Veracity(hard_items=False), "majority-vote"
    )
    assert own >= vote - 0.01
    assert own > blind + 0.1  # which makes the hard items those of the rare label


@pytest.mark.parametrize("seed", range(3))
def test_a_label_that_most_miss_is_found(seed):
    claims, truth = drawn(seed, rare=0.3, accuracy=(0.95, 0.4))
    own, plain, vote = accuracies(
        claims, truth, Veracity(), Veracity(confusions=False), "majority-vote"
    )
    assert own > 0.95
    assert own > max(plain, vote) + 0.1


def test_the_other_reading_is_told():
    claims, _ = drawn(0, hardness=1.0)
    readings = veracity.discover(claims).readings
    assert readings["reading"].to_list() == ["if sources confuse labels, and no item is hard"]


def test_where_values_are_not_two_labels_it_changes_nothing():
    """Also where another reading shows for another reason, here that five sources copy a sixth."""
    rng = np.random.default_rng(3)
    truth, rows = rng.integers(0, 1000, 400), []
    for source in range(14):
        if source < 9:  # the others repeat the ninth
            is_right = rng.random(400) < (0.75 if source < 8 else 0.4)
            said = np.where(is_right, truth, 10 * truth + rng.integers(1000, 1004, 400))
        spoken = rng.random(400) < (0.9 if source < 9 else 1.0)
        rows += [(f"s{source}", f"q{item}", f"v{said[item]}") for item in np.flatnonzero(spoken)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    one, other = (veracity.discover(claims, Veracity(hard_items=is_on)) for is_on in (True, False))
    assert one.readings["reading"].to_list() == ["if no source copies another"]
    assert one.fitted.state.model.alike < 1.0  # else there would be nothing to lose
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"])


def test_confusions_are_still_counted_for_those_who_want_them():
    claims, _ = drawn(0, hardness=1.0)
    assert set(veracity.discover(claims).confusions["said"]) == {"a", "b"}


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5])
def test_numbers_of_voices_are_binomial_or_scatter_further(correlation):
    """As SciPy has it, but for the number of ways to choose who says what."""
    n, right, wrong = 12, 0.7, 0.4
    said = np.column_stack([np.arange(n + 1), n - np.arange(n + 1)])
    rate = np.array([[right, 1.0 - right], [wrong, 1.0 - wrong]])
    found = _log_draws(said, rate, correlation)
    ways = -binom.logpmf(said[:, 0], n, 0.5) - n * np.log(2.0)
    for column, chance in enumerate((right, wrong)):
        if correlation == 0.0:
            expected = binom.logpmf(said[:, 0], n, chance)
        else:
            strength = 1.0 / correlation - 1.0
            urn = chance * strength, (1.0 - chance) * strength
            expected = betabinom.logpmf(said[:, 0], n, *urn)
        assert_allclose(found[:, column], expected + ways, atol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40), st.booleans())
def test_which_label_is_called_the_first_changes_nothing(voices, is_twice):
    n_items = np.zeros((MOST_VOICES + 1, MOST_VOICES + 1))
    for one, other in voices:
        n_items[one, other] += (one + other > 0) * (1 + is_twice)
    assert items_are_hard(n_items) == items_are_hard(n_items.T)


def test_voices_are_counted_by_label():
    rows = [("s", "x", "a"), ("t", "x", "b"), ("u", "x", "b"), ("s", "y", "a"), ("t", "y", "a")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    counted = said_of_items(encode(ClaimsTable(claims, "categorical", "a test")).blocks[0])
    assert np.argwhere(counted).tolist() == [[1, 2], [2, 0]]
    assert counted.sum() == 2.0


def test_items_of_which_too_many_speak_are_not_looked_at():
    rows = [(f"s{n}", "x", "ab"[n % 2]) for n in range(MOST_VOICES + 1)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    counted = said_of_items(encode(ClaimsTable(claims, "categorical", "a test")).blocks[0])
    assert counted.sum() == 0.0
    assert not items_are_hard(counted)
