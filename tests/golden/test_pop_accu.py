"""PopAccu against arithmetic on paper."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from claims import as_block
from veracity.algorithms.accu import Accuracies, PopAccu
from veracity.algorithms.prior import Prior
from veracity.algorithms.rules import surprise


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
