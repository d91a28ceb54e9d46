"""SimpleLCA against arithmetic on paper and the promise of expectation maximisation."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from numpy.testing import assert_allclose

from claims import as_block, as_encoded, states, value_rows
from veracity.algorithms.lca import Honesty, SimpleLCA
from veracity.algorithms.prior import Prior, Rate


def test_plausibilities_of_two_against_one_against_one_are_as_on_paper():
    rows = {"source": list("abcd"), "entity": ["x"] * 4, "value": ["1", "1", "2", "3"]}
    block = as_block(pl.DataFrame(rows))
    honesty = Honesty(np.full(4, 0.8), Prior().rates(list("abcd")))
    # H / ((1 - H) / (3 - 1)) = 0.8 / 0.1 = 8 a vote: 64, 8 and 8
    assert_allclose(SimpleLCA().judge(block, honesty), [0.8, 0.1, 0.1])


def test_honesty_is_the_share_of_true_claims_drawn_to_the_prior():
    prior = Prior(of_source={"c": Rate(tpr=0.6, fixed=True)}).rates(["a", "b", "c"])
    counts = np.array([[9.0, 10.0, 0, 0], [0.0, 0.0, 0, 0], [9.0, 10.0, 0, 0]])
    learned = SimpleLCA(strength=5.0).learn(Honesty(prior.tpr, prior), (counts,)).honesty
    # (9 + 5 * 0.8) / (10 + 5); nothing but the prior; fixed
    assert_allclose(learned, [13 / 15, 0.8, 0.6])


def log_posterior(block, honesty, algorithm):
    """Of the honesties: the claims' likelihood, summed over truths, times the beta priors."""
    h, tpr = honesty.honesty, honesty.prior.tpr
    prior = algorithm.strength * (tpr * np.log(h) + (1 - tpr) * np.log1p(-h))
    total = prior.sum()
    for item in range(block.n_items):
        facts = range(*block.first_fact_of_item[item : item + 2])
        named = [
            (fact, source)
            for fact in facts
            for source in block.source_of_support[
                slice(*block.first_support_of_fact[fact : fact + 2])
            ]
        ]
        others = max(len(facts) - 1, 1)
        log_joint = [
            sum(np.log(h[s] if fact == truth else (1 - h[s]) / others) for fact, s in named)
            for truth in facts
        ]
        total += np.logaddexp.reduce(log_joint) - np.log(len(facts))
    return total


@given(rows=value_rows())
def test_the_posterior_of_the_honesties_never_falls(rows):
    encoded, algorithm = as_encoded(rows), SimpleLCA()
    (block,) = encoded.blocks
    reached = [
        log_posterior(block, honesty, algorithm) for honesty in states(algorithm, encoded, 5)
    ]
    assert np.diff(reached).min() > -1e-9
