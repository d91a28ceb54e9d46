"""A fit that is kept up to date: new claims, newer ones, withdrawn ones, and old ones that fade."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import veracity
from veracity.algorithms import LTDRBM
from veracity.errors import NotConverged
from veracity.synthetic import Synthetic


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return function(*arguments, **options)


def discover(claims, algorithm=None, **options):
    return quietly(veracity.discover, claims, algorithm, **options)


def learned(fitted):
    """What was learned of the sources, in the order of their names."""
    rates = getattr(fitted.state, "rates", None)
    if rates is not None:
        return np.concatenate([rates.tpr, rates.fpr])
    trust = fitted.algorithm.trust(fitted.state)
    return np.concatenate([fitted.state.tpr, fitted.state.fpr]) if trust is None else trust


def apart(one, other):
    return np.abs(learned(one) - learned(other)).max()


@pytest.fixture(scope="module")
def drawn():
    return Synthetic(sources=10, items=600, accuracy=0.7).draw(seed=1)


# --- as from all claims ---------------------------------------------------------------------------

FAMILIES = {
    "dare": "dare",
    "flow": LTDRBM(learning="flow"),
    "flow-c": LTDRBM(learning="flow", single_truth=True),
    "investment": "investment",
    "pooled-investment": "pooled-investment",
    "sums": "sums",
    "average-log": "average-log",
    "mle": "mle",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_few_new_items_move_sources_no_further_than_they_are_due(name, drawn):
    place = pl.col("entity").rank("dense")
    first = discover(drawn.claims.filter(place <= 590), FAMILIES[name]).fitted
    everything = discover(drawn.claims, FAMILIES[name]).fitted
    updated = quietly(first.update, drawn.claims.filter(place > 590)).fitted
    assert 0.0 < apart(first, updated) < 1.1 * apart(first, everything)
    assert apart(updated, everything) < apart(first, everything)


@pytest.mark.parametrize("name", FAMILIES)
def test_ten_small_updates_end_near_a_fit_of_all_claims(name, drawn):
    place = pl.col("entity").rank("dense")
    fitted = discover(drawn.claims.filter(place <= 500), FAMILIES[name]).fitted
    everything = discover(drawn.claims, FAMILIES[name]).fitted
    for first in range(500, 600, 10):
        new = drawn.claims.filter((place > first) & (place <= first + 10))
        fitted = quietly(fitted.update, new).fitted
    assert apart(fitted, everything) < 0.05
