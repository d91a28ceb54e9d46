"""What was learned, as arrays: it grows with the sources, and comes back from a file as it was."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import veracity
from veracity.algorithms import CATALOGUE
from veracity.algorithms.prior import Prior, PriorRates
from veracity.dependence.agreement import Dependence
from veracity.testing import some_claims
from veracity.trees import BySource, CountBySource, from_arrays, grown, to_arrays

ALGORITHMS = {
    **{name: entry.make() for name, entry in CATALOGUE.items()},
    "ltd-rbm, flow": veracity.algorithms.LTDRBM(learning="flow"),
}
PAIRS = [(name, kind) for name, algorithm in ALGORITHMS.items() for kind in algorithm.kinds]
every_pair = pytest.mark.parametrize(("name", "kind"), PAIRS)


class Inner(NamedTuple):
    rate: BySource
    limit: float


class State(NamedTuple):
    trust: BySource
    counts: CountBySource
    inner: Inner
    share: np.ndarray
    rounds: int
    maybe: Inner | None = None


def a_state():
    return State(
        trust=np.array([0.25, 0.75]),
        counts=np.array([[1.0, 2.0], [3.0, 4.0]]),
        inner=Inner(np.array([0.5, 0.7]), 3.0),
        share=np.array([0.4, 0.6]),
        rounds=7,
    )


def fitted(name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(some_claims(kind, 3, 200), ALGORITHMS[name], kind=kind).fitted


def assert_same(one, other):
    """The same types, the same numbers, all the way down."""
    if isinstance(one, tuple):
        assert type(one) is type(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, pl.Series):
        assert one.equals(other)
    elif one is None:
        assert other is None
    else:
        assert_array_equal(one, other)


# --- growing --------------------------------------------------------------------------------------


def test_a_source_never_met_gets_the_mean_and_of_counts_nothing():
    state = grown(a_state(), 4)
    assert state.trust.tolist() == [0.25, 0.75, 0.5, 0.5]
    assert state.counts.tolist() == [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    assert state.inner.rate == pytest.approx([0.5, 0.7, 0.6, 0.6])


def test_what_is_not_of_sources_stays_as_it_is():
    state = grown(a_state(), 4)
    assert (state.inner.limit, state.rounds, state.maybe) == (3.0, 7, None)
    assert state.share.tolist() == [0.4, 0.6]


def test_a_source_never_met_has_no_slot_among_those_that_are_looked_at_for_copies():
    dependence = Dependence.unseen(np.array([0, -1, 1]), (0.0, 1))
    assert grown(dependence, 5).slots.tolist() == [0, -1, 1, -1, -1]
    assert grown(dependence, 5).both.shape == (2, 2)


def test_a_source_never_met_is_not_fixed():
    prior = Prior(of_source={"a": veracity.algorithms.Rate(tpr=0.9, fpr=0.1, fixed=True)}).rates(
        ["a"]
    )
    assert grown(prior, 2).is_fixed.tolist() == [1.0, 0.0]
    assert grown(prior, 2).known.tolist() == [[0.0] * 4] * 2


def test_with_no_more_sources_nothing_grows():
    assert_same(grown(a_state(), 2), a_state())
    assert_same(grown(a_state(), 1), a_state())


@every_pair
def test_the_sources_that_were_met_keep_their_rows(name, kind):
    fit = fitted(name, kind)
    sources = pl.concat([fit.names.sources, pl.Series(["x", "y", "z"])])
    state = fit.algorithm.grow(fit.state, fit.names._replace(sources=sources))
    before, after = to_arrays(fit.state), to_arrays(state)
    assert before.keys() == after.keys()
    for part, array in after.items():
        assert_array_equal(array[: len(before[part])] if array.ndim else array, before[part])
    n_more = fit.names.n_sources + 3
    assert any(len(array) == n_more for array in after.values() if array.ndim) or not after


# --- as arrays ------------------------------------------------------------------------------------


def test_a_state_is_what_its_arrays_say():
    assert_same(from_arrays(State, to_arrays(a_state())), a_state())
    with_more = a_state()._replace(maybe=Inner(np.ones(2), 1.0))
    assert_same(from_arrays(State, to_arrays(with_more)), with_more)


@every_pair
def test_the_state_of_every_algorithm_comes_back_as_it_was(name, kind):
    fit = fitted(name, kind)
    arrays = to_arrays(fit.state)
    assert all(array.dtype.kind in "fiubU" for array in arrays.values())  # no pickles
    back = from_arrays(fit.algorithm.state_type, arrays, labels=fit.names.labels)
    assert_same(back, fit.state)


def test_a_prior_keeps_that_nothing_was_said_of_the_prevalence():
    prior = Prior().rates(["a", "b"])
    assert from_arrays(PriorRates, to_arrays(prior)).prevalence is None
    prior = Prior(prevalence=0.25).rates(["a", "b"])
    assert from_arrays(PriorRates, to_arrays(prior)).prevalence == 0.25


# --- damaged --------------------------------------------------------------------------------------


def test_an_array_where_a_number_should_be_is_refused():
    arrays = {**to_arrays(a_state()), "rounds": np.ones(3)}
    with pytest.raises(ValueError, match="'rounds' of the model is no number"):
        from_arrays(State, arrays)
