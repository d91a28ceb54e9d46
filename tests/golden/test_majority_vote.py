"""Majority vote, by hand."""

from __future__ import annotations

import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, started
from veracity.algorithms import MajorityVote

ROWS = [("a", "x", "1"), ("a", "x", "2"), ("b", "x", "1")]
CLAIMS = pl.DataFrame(ROWS, schema=["source", "entity", "value"], orient="row")


@pytest.mark.parametrize(
    ("kind", "rule", "plausible"),
    [
        ("categorical", "share", [2 / 3, 1 / 3]),  # of three votes
        ("multiple", "mean", [1.0, 1 / 2]),  # of two sources
    ],
)
def test_votes_are_shared_where_one_value_is_true_else_sources_are(kind, rule, plausible):
    encoded, vote = as_encoded(CLAIMS, kind), MajorityVote()
    (block,), state = encoded.blocks, started(vote, encoded)
    assert vote.weigh(block, state).rule == rule
    assert_allclose(vote.judge(block, state), plausible)
    told = veracity.discover(CLAIMS, vote, kind=kind).facts.sort("value")["plausibility"]
    assert_allclose(told, plausible)


def test_all_sources_count_the_same():
    assert started(MajorityVote(), as_encoded(CLAIMS)).weight.tolist() == [1.0, 1.0]
