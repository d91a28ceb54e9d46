"""How many false values an item has to choose from, going by how seldom false claims coincide.

A source that errs may name anything. Where false claims hardly ever coincide, two sources that say
the same are almost surely right, however few they are. Real claims mostly coincide when they are
false, for many reasons: old values, wrong units, copies. So only claims that clearly do not are
taken to have more false values than are claimed.
"""

from __future__ import annotations

import numpy as np

from veracity.algorithms.distributions import log_gamma
from veracity.claims.block import Block, FloatArray

__all__ = ["log_likelihoods", "n_false_values"]

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
CONCENTRATIONS = tuple(2.0**n for n in range(9))

ENOUGH_CLAIMS = 20_000
"""Items with about so many claims are looked at."""

CLEARLY = 3.0
"""By how much less likely, in logs, smaller concentrations must make the claims."""

SELDOM = 16.0
"""Concentration from which coincidences are seldom: below, it is the claimed values that count."""


def log_likelihoods(block: Block, n_claims: float) -> FloatArray:
    """How likely it is, in logs, that claims of an item fall into values as they do.

    [accuracy, concentration], added up. All sources are alike here: each names what is true with
    some probability, and otherwise something false. False claims coincide as in Ewens' sampling
    formula, so that any two do with a probability of 1 / (1 + concentration).
    """
    block, _ = _some_items(block, n_claims).said_most()
    total = np.zeros((len(ACCURACIES), len(CONCENTRATIONS)))
    if block.n_items == 0:
        return total
    item, first, n_values = block.item_of_fact, block.first_fact_of_item[:-1], block.n_facts_of_item
    n = block.n_supports_of_fact.astype(np.float64)
    n_all = np.add.reduceat(n, first)
    ways = log_gamma(n)
    all_ways = np.add.reduceat(ways, first)
    for column, strength in enumerate(CONCENTRATIONS):
        rising = log_gamma(strength + np.arange(n_all.max() + 1)) - log_gamma(np.array(strength))
        others = (n_all[item] - n).astype(np.int64)
        apart = (n_values[item] - 1) * np.log(strength) + all_ways[item] - ways - rising[others]
        none = n_values * np.log(strength) + all_ways - rising[n_all.astype(np.int64)]
        for row, accuracy in enumerate(ACCURACIES):
            if_true = n * np.log(accuracy) + (n_all[item] - n) * np.log(1.0 - accuracy) + apart
            if_none = n_all * np.log(1.0 - accuracy) + none
            most = np.maximum(np.maximum.reduceat(if_true, first), if_none)
            shares = np.add.reduceat(np.exp(if_true - most[item]), first) + np.exp(if_none - most)
            total[row, column] = (most + np.log(shares)).sum()
    return total


def _some_items(block: Block, n_claims: float) -> Block:
    """Those of which several speak, some of them if they are many: always the same."""
    is_some = (block.n_voices_of_item > 1) & ~block.is_known
    return block.select(is_some & block.drawn(ENOUGH_CLAIMS / max(n_claims, 1.0), least=0))


def n_false_values(log_likelihood: FloatArray) -> float:
    """How many false values an item has at least; zero if the claimed ones are all that count.

    >>> n_false_values(np.zeros((6, 9)))
    0.0
    """
    best = log_likelihood.max(axis=0)
    least = CONCENTRATIONS[int(np.argmax(best >= best.max() - CLEARLY))]
    return 1.0 + least if least >= SELDOM else 0.0
