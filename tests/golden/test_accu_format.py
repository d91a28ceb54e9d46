"""AccuFormat against arithmetic on paper, and how finely values are told."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from claims import as_encoded
from veracity.algorithms.accu import AccuFormat, Accuracies
from veracity.algorithms.prior import Prior
from veracity.values import covers, grains


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
