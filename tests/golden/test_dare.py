"""DARE against arithmetic on paper, and its posterior against finite differences."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.testing import assert_allclose

from claims import as_block, as_encoded, states
from veracity.algorithms.dare import DARE, Abilities
from veracity.algorithms.prior import Prior
from veracity.synthetic import Synthetic


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
