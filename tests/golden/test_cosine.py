"""Cosine against arithmetic on paper, and against the paper's formulas on a whole matrix."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from numpy.testing import assert_allclose

from claims import as_block, as_encoded, binary_rows, states
from veracity.algorithms.estimates import Cosine, Directions


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
