"""SSTF against the forces of its graph, solved as one system of equations."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, states, value_rows
from veracity.algorithms.sstf import SSTF


@settings(max_examples=5)
@given(rows=value_rows())
def test_it_comes_to_rest_where_all_forces_balance(rows):
    rows, algorithm = rows.unique(), SSTF()
    *_, rest = states(algorithm, as_encoded(rows), 150)
    facts = sorted(set(rows.select("entity", "value").iter_rows()))
    sources = sorted(set(rows["source"]))
    n = len(facts)
    forces, pulls = np.zeros((n + len(sources), n + len(sources))), np.zeros(n + len(sources))
    for source, entity, value in rows.iter_rows():  # what a source says is as true as the source
        fact, node = facts.index((entity, value)), n + sources.index(source)
        for one, other in ((fact, node), (node, fact)):
            forces[one, one] += 1.0
            forces[one, other] -= 1.0
    for fact, (entity, value) in enumerate(facts):
        said = rows.filter(pl.col("entity") == entity)["value"].to_list()
        own, others = said.count(value), [f for f, (e, _) in enumerate(facts) if e == entity]
        forces[fact, fact] += algorithm.pull * own
        pulls[fact] = algorithm.pull * own * (2.0 * own / len(said) - 1.0)
        for other in others:
            if other != fact:  # what excludes each other is opposite
                repulsion = algorithm.conflict * len(said) / len(others)
                forces[fact, fact] += repulsion
                forces[fact, other] += repulsion
    balanced = np.linalg.solve(forces, pulls)
    assert_allclose(rest.confidence, balanced[n:], atol=1e-3)


def test_what_is_known_of_one_item_decides_of_others():
    rows = [(s, f"item {i}", "1" if s in "abc" else "2") for i in range(6) for s in "abcde"]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    known = pl.DataFrame({"entity": [f"item {i}" for i in range(5)], "value": ["2"] * 5})
    truths = veracity.discover(claims, "sstf", known=known).truths
    assert truths.filter(pl.col("entity") == "item 5")["value"].item() == "2"
    assert veracity.discover(claims, "sstf").truths["value"].to_list() == ["1"] * 6
