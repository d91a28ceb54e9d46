"""LTD-RBM as a flow: what mini-batches follow, free of their order, their size and their seed."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, binary_rows, started, value_rows
from veracity import Local, Prior
from veracity.algorithms import LTDRBM, Rate
from veracity.algorithms.base import Turn
from veracity.errors import NotConverged
from veracity.synthetic import Synthetic

both_machines = pytest.mark.parametrize("single_truth", [False, True], ids=["plain", "single"])


def discover(claims, algorithm, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return veracity.discover(claims, algorithm, **options)


def flow(**parameters):
    return LTDRBM(learning="flow", **parameters)


def rates(result):
    """All that the machine knows, in one array."""
    found = result.fitted.state.rates
    return np.concatenate([found.tpr, found.fpr, [found.prevalence]])


@pytest.fixture(scope="module")
def drawn():
    return Synthetic(sources=10, items=600, accuracy=0.7).draw(seed=1)


def two_sided(seed=4, n_facts=400):
    """Binary claims of five sources, all of which speak on all facts."""
    rng = np.random.default_rng(seed)
    truth, accuracy = rng.random(n_facts) < 0.4, [0.9, 0.85, 0.8, 0.7, 0.6]
    rows = [
        (f"s{s}", f, bool(truth[f] ^ (rng.random() > accuracy[s])))
        for s in range(5)
        for f in range(n_facts)
    ]
    return pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")


# --- free of order, blocks and seed ---------------------------------------------------------------


@both_machines
def test_the_machine_is_the_same_whatever_the_cut_into_blocks(drawn, single_truth):
    algorithm = flow(single_truth=single_truth)
    whole = discover(drawn.claims, algorithm)
    for size in (1000, 150):
        cut = discover(drawn.claims, algorithm, engine=Local(threads=2, claims_per_block=size))
        assert len(cut.encoded.blocks) > 1
        assert_allclose(rates(cut), rates(whole), atol=1e-9)
        assert cut.run.rounds == whole.run.rounds


@both_machines
def test_the_machine_is_the_same_whatever_the_order_of_rows_or_the_seed(drawn, single_truth):
    algorithm = flow(single_truth=single_truth)
    shuffled = drawn.claims.sample(fraction=1.0, shuffle=True, seed=3)
    one = discover(drawn.claims, algorithm)
    other = discover(shuffled, algorithm, seed=99)
    assert (rates(one) == rates(other)).all()  # the same computation


@both_machines
def test_names_of_sources_change_nothing(drawn, single_truth):
    algorithm = flow(single_truth=single_truth)
    turned = drawn.claims.with_columns(pl.col("source").str.reverse())
    one, other = (discover(claims, algorithm) for claims in (drawn.claims, turned))
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], atol=1e-9)


# --- what it follows ------------------------------------------------------------------------------


@both_machines
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_limit_of_small_steps_of_mini_batches(seed, single_truth):
    claims = Synthetic(sources=10, items=600, accuracy=0.7).draw(seed=seed).claims
    # fifty rounds' worth of time at once, or ninety rounds at a thirtieth of the usual rate
    followed = discover(
        claims, flow(single_truth=single_truth, learning_rate=0.03 / 50, decay=0.0, max_rounds=50)
    )
    small = LTDRBM(
        single_truth=single_truth, learning_rate=0.01 / 30, decay=0.0, max_rounds=90, min_rounds=90
    )
    climbed = discover(claims, small)
    assert climbed.run.rounds == 90
    assert followed.converged
    assert_allclose(rates(followed), rates(climbed), atol=0.005)


def test_its_time_is_that_of_all_steps_together(drawn):
    # rate (1 + e^-d + e^-2d + ...), for fifty rounds; without decay, fifty times the rate
    for decay, time in ((0.5, 0.01 / (1 - np.exp(-0.5))), (0.0, 0.5)):
        algorithm = flow(decay=decay)
        encoded = as_encoded(drawn.claims)
        start = started(algorithm, encoded)
        learned = algorithm.learn(start, algorithm.tally(encoded.blocks[0], start, Turn()))
        assert learned.flow.end == pytest.approx(time, rel=1e-6)


def test_at_its_end_sources_are_expected_to_say_what_they_do():
    # Where the likelihood is highest, the model's moments are those of the data.
    claims = two_sided()
    found = discover(claims, flow(learning_rate=10.0), kind="binary").fitted.state.rates
    n_said = claims.group_by("source").agg(pl.col("claim").sum()).sort("source")["claim"]
    expected = 400 * (found.prevalence * found.tpr + (1 - found.prevalence) * found.fpr)
    assert_allclose(expected, n_said, atol=0.5)


@both_machines
def test_the_change_that_is_told_is_the_time_still_to_go(drawn, single_truth):
    trace = discover(drawn.claims, flow(single_truth=single_truth)).trace["change"].to_numpy()
    assert trace[-1] == 0.0
    assert (np.diff(trace) <= 0.0).all()
    assert (trace <= 1.0).all()


def test_too_few_sweeps_are_told(drawn):
    with pytest.warns(NotConverged, match="ltd-rbm did not converge in 2 rounds"):
        result = veracity.discover(drawn.claims, flow(max_rounds=2))
    assert not result.converged


# --- steady ---------------------------------------------------------------------------------------


@both_machines
def test_ten_times_the_rate_is_as_steady(drawn, single_truth):
    usual, fast, faster = (
        discover(drawn.claims, flow(single_truth=single_truth, learning_rate=rate))
        for rate in (0.01, 0.1, 1.0)
    )
    accuracy = [veracity.evaluate(r, drawn.truth).accuracy for r in (usual, fast, faster)]
    assert min(accuracy) > accuracy[0] - 0.04
    assert all(result.converged for result in (usual, fast, faster))
    # ten times as long, and as far as it goes: there is one place to arrive at
    assert_allclose(rates(faster), rates(fast), atol=0.15)


@both_machines
def test_without_decay_it_comes_to_its_end(drawn, single_truth):
    result = discover(drawn.claims, flow(single_truth=single_truth, decay=0.0))
    assert result.converged
    vote = discover(drawn.claims, "majority-vote")
    accuracy, of_vote = (veracity.evaluate(r, drawn.truth).accuracy for r in (result, vote))
    assert accuracy > of_vote - 0.02


@settings(max_examples=25)
@given(rows=st.one_of(value_rows(), binary_rows()), rate=st.sampled_from([1e-3, 0.01, 0.3, 10.0]))
def test_no_claims_and_no_rate_lead_it_astray(rows, rate):
    kind = "binary" if "fact" in rows.columns else "multiple"
    result = discover(rows, flow(learning_rate=rate), kind=kind)
    assert np.isfinite(rates(result)).all()
    assert ((rates(result) > 0.0) & (rates(result) < 1.0)).all()


@both_machines
def test_it_beats_the_vote_on_the_flights(flights, single_truth):
    found = discover(flights.claims, flow(single_truth=single_truth))
    vote = discover(flights.claims, "majority-vote")
    accuracy, of_vote = (veracity.evaluate(r, flights.truth).accuracy for r in (found, vote))
    assert accuracy > of_vote + 0.03


# --- what is known --------------------------------------------------------------------------------


@both_machines
def test_fixed_sources_do_not_move_while_others_do(drawn, single_truth):
    prior = Prior(of_source={"source3": Rate(tpr=0.33, fpr=0.11, fixed=True)})
    sources = discover(drawn.claims, flow(prior=prior, single_truth=single_truth)).sources
    (fixed,) = sources.filter(pl.col("source") == "source3").select("tpr", "fpr").rows()
    assert fixed == pytest.approx((0.33, 0.11))
    others = sources.filter(pl.col("source") != "source3")
    assert ((others["tpr"] - 0.8).abs() > 1e-6).all()


def test_nothing_is_followed_where_all_sources_are_fixed(drawn):
    fixed = {f"source{n}": Rate(tpr=0.7, fpr=0.1, fixed=True) for n in range(10)}
    prior = Prior(of_source=fixed, prevalence=0.3)
    result = discover(drawn.claims, flow(prior=prior))
    assert (result.run.rounds, result.converged) == (0, True)
    assert result.run.prevalence == pytest.approx(0.3)


@both_machines
def test_known_truths_are_held_and_teach(drawn, single_truth):
    known, rest = drawn.truth.head(200), drawn.truth.tail(-200)
    wrong = known.with_columns(value=pl.lit("v0"))  # as if v0 were true of all of them
    taught = discover(drawn.claims, flow(single_truth=single_truth), known=wrong)
    held = taught.facts.join(wrong.drop("value"), on=["entity", "attribute"])
    assert held["plausibility"].is_in([0.0, 1.0]).all()
    assert (held.filter(pl.col("value") == "v0")["plausibility"] == 1.0).all()
    usual = discover(drawn.claims, flow(single_truth=single_truth), known=known)
    assert veracity.evaluate(usual, rest).accuracy > veracity.evaluate(taught, rest).accuracy
    assert usual.sources["tpr"].mean() > taught.sources["tpr"].mean() + 0.1


# --- kept -----------------------------------------------------------------------------------------


@both_machines
def test_the_way_is_not_kept_but_the_place_is(drawn, single_truth):
    fitted = discover(drawn.claims, flow(single_truth=single_truth)).fitted
    assert fitted.state.flow is None
    assert not any(name.startswith("state.flow") for name in fitted.to_arrays())


@both_machines
def test_learning_in_two_parts_leads_close_to_learning_from_all(drawn, single_truth):
    is_first = pl.col("entity").rank("dense") <= 100
    first, second = drawn.claims.filter(is_first), drawn.claims.filter(~is_first)
    algorithm = flow(single_truth=single_truth)
    alone, together = discover(first, algorithm), discover(drawn.claims, algorithm)
    updated = alone.fitted.update(second)
    assert_allclose(rates(updated), rates(together), atol=0.05)
    to_go = np.abs(rates(alone) - rates(together)).mean()
    assert np.abs(rates(updated) - rates(together)).mean() < to_go / 3


# --- as good as mini-batches ----------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", ["crowd_bluebird", "crowd_rte", "crowd_web", "flight_raha"])
def test_on_real_claims_the_answers_are_as_good_as_those_of_mini_batches(name, shared_data):
    folder = shared_data / name
    by_flow, by_batches = (
        veracity.evaluate(
            discover(folder / "claims.parquet", algorithm), folder / "truth.parquet"
        ).accuracy
        for algorithm in (flow(), LTDRBM())
    )
    assert abs(by_flow - by_batches) < 0.005
