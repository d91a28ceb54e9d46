"""Formulas: how similar two values are, and quantiles."""

from __future__ import annotations

import builtins
import subprocess
import sys
from datetime import date, datetime, time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from veracity.algorithms.distributions import PORTION, beta_quantile, chi2_quantile, log_gamma
from veracity.errors import ParameterError
from veracity.values import Likeness, similar_pairs

# --- test_similarity.py ---------------------------------------------------------------------------


likeness = Likeness()
some_values = st.one_of(
    st.text(max_size=6),
    st.integers(-100, 100).map(str),
    st.times().map(lambda t: t.strftime("%H:%M")),
    st.dates(date(1990, 1, 1), date(2030, 1, 1)).map(str),
)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("30", "31", 30 / 31),
        ("-2", "2", 0.0),
        ("0", "0.0", 1.0),
        ("0", "5", 0.0),
        (8.0, 10.0, 0.8),
        (True, False, 0.0),
        ("12:30", "13:00", 0.5),
        ("7:45", "08:45", 0.25),
        ("23:50", "00:20", 0.5),
        ("12:30:00", "12:30:30", 2 ** (-0.5 / 30)),
        (time(12, 30), time(13), 0.5),
        ("2024-05-01", "2024-05-08", 0.5),
        (date(2024, 2, 29), date(2024, 3, 7), 0.5),
        ("2024-05-01 23:45", "2024-05-02 00:15", 0.5),
        ("2024-05-01T12:00", "2024-05-01 12:30:00", 0.5),
        (datetime(2024, 5, 1, 12, 0), datetime(2024, 5, 1, 13, 0), 0.25),
        ("kitten", "sitting", 1 - 3 / 7),  # two letters changed, one added
        ("D30", "D31", 2 / 3),
        ("007", "7", 1 / 3),  # a code, not a number
        ("12:30", "1230", 0.8),  # a time and a number: text
        ("25:00", "24:00", 0.8),  # not times of a day
        ("", "abc", 0.0),
    ],
)
def test_similarity_by_hand(one, other, expected):
    assert likeness(one, other) == pytest.approx(expected)


@given(one=some_values, other=some_values)
def test_similarity_is_from_zero_to_one_the_same_both_ways_and_one_for_equals(one, other):
    assert 0.0 <= likeness(one, other) <= 1.0
    assert likeness(one, other) == likeness(other, one)
    assert likeness(one, one) == 1.0


def test_how_far_apart_is_half_similar_is_yours_to_say():
    assert Likeness(minutes=5)("12:30", "12:35") == pytest.approx(0.5)
    assert Likeness(days=365)("2023-01-01", "2024-01-01") == pytest.approx(0.5)
    with pytest.raises(ParameterError, match="Likeness: minutes must be above 0, got 0"):
        Likeness(minutes=0)


def test_numbers_that_are_not_finite_are_compared_as_text():
    assert likeness(float("inf"), 1.0) < 1.0
    assert likeness(float("inf"), float("inf")) == 1.0
    assert likeness("9" * 400, "9" * 399 + "1") == pytest.approx(399 / 400)


def test_numbers_of_any_size_are_compared():
    assert likeness(1e308, -1e308) == 0.0
    assert likeness("9" * 308, "-" + "9" * 308) == 0.0


def test_kinds_of_values_may_be_mixed_in_one_column():
    values = pl.Series(["D30", "D31", "12:30", "13:00", "8", "10"])
    pairs = similar_pairs(values, np.array([0, 2, 4, 6]), likeness)
    assert pairs.similarity.tolist() == pytest.approx([2 / 3, 0.5, 0.8])


@given(sizes=st.lists(st.integers(1, 7), max_size=6), most_values=st.integers(1, 7))
def test_every_pair_of_values_of_an_item_that_is_not_too_large_comes_once(sizes, most_values):
    first = np.cumsum([0, *sizes])
    values = pl.Series([str(n) for n in range(first[-1])], dtype=pl.String)
    pairs = similar_pairs(values, first, likeness, most_values)
    expected = {
        (a, b)
        for start, size in zip(first[:-1].tolist(), sizes, strict=True)
        for a in range(start, start + size)
        for b in range(a + 1, start + size)
        if size <= most_values
    }
    found = list(zip(pairs.fact.tolist(), pairs.other.tolist(), strict=True))
    assert len(found) == len(expected)
    assert set(found) == expected


def test_a_giant_item_costs_nothing():
    values = pl.Series([str(n) for n in range(1_000_000)])
    assert len(similar_pairs(values, np.array([0, len(values)]), likeness).fact) == 0


def test_a_function_of_your_own_is_asked_once_a_pair():
    asked = []

    def same_length(one, other):
        asked.append((one, other))
        return float(len(one) == len(other))

    pairs = similar_pairs(pl.Series(["a", "b", "cc"]), np.array([0, 3]), same_length)
    assert asked == [("a", "b"), ("a", "cc"), ("b", "cc")]
    assert pairs.similarity.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("answer", [1.5, -0.1, float("nan")])
def test_a_function_of_your_own_that_leaves_its_range_is_told(answer):
    with pytest.raises(ParameterError, match=r"from 0 to 1, got .* for \('a', 'b'\)"):
        similar_pairs(pl.Series(["a", "b"]), np.array([0, 2]), lambda one, other: answer)


def test_text_without_rapidfuzz_says_what_to_install_and_numbers_do_without(monkeypatch):
    real_import = builtins.__import__

    def without_rapidfuzz(name, *rest):
        if name.startswith("rapidfuzz"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_rapidfuzz)
    assert likeness("8", "10") == pytest.approx(0.8)
    with pytest.raises(ParameterError, match="pip install rapidfuzz"):
        likeness("kitten", "sitting")


# --- quantiles ------------------------------------------------------------------------------------


def test_log_gamma_counts_the_orders_of_things():
    n = np.arange(1.0, 150.0)
    np.testing.assert_allclose(log_gamma(n + 1.0), np.cumsum(np.log(n)), rtol=1e-12, atol=1e-12)


def test_beta_quantiles_are_those_of_closed_formulas():
    a = np.geomspace(1e-2, 1e6, 50)
    one = np.ones_like(a)
    for p in (0.05, 0.95):
        np.testing.assert_allclose(beta_quantile(a, one, p), p ** (1.0 / a), rtol=1e-9)
        above = -np.expm1(np.log1p(-p) / a)
        np.testing.assert_allclose(beta_quantile(one, a, p), above, rtol=1e-9)
        arcsine = np.sin(p * np.pi / 2.0) ** 2
        np.testing.assert_allclose(beta_quantile(one / 2.0, one / 2.0, p), arcsine, rtol=1e-9)


def test_many_quantiles_are_the_same_as_few():
    rng = np.random.default_rng(5)
    a, b = 0.5 + 100.0 * rng.random((2, PORTION + 100))
    few = np.append(beta_quantile(a[:99], b[:99], 0.05), beta_quantile(a[99:], b[99:], 0.05))
    np.testing.assert_array_equal(beta_quantile(a, b, 0.05), few)


def test_chi2_quantiles_are_those_of_the_slow_library():
    n = np.append(np.arange(1.0, 50.0), np.geomspace(50.0, 1e7, 50))
    for p in (0.005, 0.025, 0.2):
        np.testing.assert_allclose(chi2_quantile(n, p), chi2.ppf(p, n), rtol=1e-12)


def test_scipy_is_loaded_by_no_import_and_its_statistics_never():
    code = (
        "import sys, veracity, veracity.algorithms.base; print('scipy.special' in sys.modules);"
        "claims = veracity.synthetic.flights().claims;"
        "veracity.discover(claims, 'catd').sources; print('scipy.stats' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    assert printed.stdout.split() == ["False", "False"]
