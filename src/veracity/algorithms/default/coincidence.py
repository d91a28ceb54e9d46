"""How often false claims coincide: how many values they choose from, and how evenly.

A source that errs may name anything. Where false claims hardly ever coincide, two sources that say
the same are almost surely right, however few they are. Real claims mostly coincide when they are
false, for many reasons: old values, wrong units, copies. So only claims that clearly do not are
taken to have more false values than are claimed.

Which of an item's false values is the tempting one, its own claims tell, if they are many. Hundreds
who fall for it are then no more of a proof than one of them.
"""

from __future__ import annotations

import numpy as np

from veracity.algorithms.distributions import log_gamma
from veracity.encoding.block import Block, FloatArray

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
CONCENTRATIONS = tuple(2.0**n for n in range(9))

ENOUGH_CLAIMS = 20_000
"""Items with about so many claims are looked at."""

CLEARLY = 3.0
"""By how much less likely, in logs, smaller concentrations must make the claims."""

SELDOM = 16.0
"""Concentration from which coincidences are seldom: below, it is the claimed values that count."""

EVEN = 32.0
"""Pseudo-claims on each value of an item that say errors fall on all of them alike. Fewer voices
show hardly anything, so items with no more of them are left alone."""


def beyond_even_errors(
    block: Block, weight_of_support: FloatArray, n_values_of_item: FloatArray
) -> FloatArray:
    """What each support gains or loses because errors fall on some values more than on others.

    That an error falls on one of K values is worth log K to all who name another. But with which
    probabilities it falls on them is an item's own (Dirichlet, `EVEN` for each value): so n claims
    of N on one value are, were they false, as likely as the nth draws of an urn that gets another
    ball like each that is drawn (Pólya), and each of them is worth the mean of

        log (K EVEN + N - 1 - j) - log (EVEN + j), j = 0 .. n - 1.

    With few claims that is log K.
    """
    is_many = block.n_voices_of_item > EVEN
    gain = np.zeros(block.n_facts)
    weight = weight_of_support if len(weight_of_support) else np.ones(len(block.source_of_support))
    n = np.add.reduceat(weight, block.first_support_of_fact[:-1])
    n_all = np.add.reduceat(n, block.first_fact_of_item[:-1])
    facts = np.flatnonzero(np.repeat(is_many, block.n_facts_of_item))
    item = block.item_of_fact[facts]
    n, n_all, n_values = np.maximum(n[facts], 1e-3), n_all[item], n_values_of_item[item]
    n_all, even = np.maximum(n_all, n), EVEN * n_values
    surprise = log_gamma(even + n_all) - log_gamma(even + n_all - n)
    surprise -= log_gamma(EVEN + n) - log_gamma(np.array(EVEN))
    gain[facts] = surprise / n - np.log(n_values)
    return np.asarray(weight * np.repeat(gain, block.n_supports_of_fact))


def log_likelihoods(block: Block, n_claims: float) -> FloatArray:
    """How likely it is, in logs, that claims of an item fall into values as they do.

    [accuracy, concentration], added up. All sources are alike here: each names what is true with
    some probability, and otherwise something false. False claims coincide as in Ewens' sampling
    formula, so that any two do with a probability of 1 / (1 + concentration).
    """
    block, _ = _some_items(block, n_claims).strongest_claims()
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
    return block.select(is_some & block.sampled(ENOUGH_CLAIMS / max(n_claims, 1.0), least=0))


def n_false_values(log_likelihood: FloatArray) -> float:
    """How many false values an item has at least; zero if the claimed ones are all that count.

    >>> n_false_values(np.zeros((6, 9)))
    0.0
    """
    best = log_likelihood.max(axis=0)
    least = CONCENTRATIONS[int(np.argmax(best >= best.max() - CLEARLY))]
    return 1.0 + least if least >= SELDOM else 0.0
