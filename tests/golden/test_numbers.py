"""GTM, CRH and CATD: numbers by hand, and on data."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import chi2

import veracity
from claims import as_block, as_encoded, started, states
from veracity import CATD, CRH, GTM
from veracity.algorithms.base import Turn
from veracity.algorithms.crh import Losses
from veracity.algorithms.gtm import Variances
from veracity.algorithms.numbers import Distances

WITHOUT_BIASES = ["gtm", "crh", "catd"]
NUMERIC = [*WITHOUT_BIASES, "ltd-rbm-n"]


def claims_of(rows):
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def distances(square, n_claims):
    """What a sweep tells where no number is known."""
    square, n_claims = np.array(square), np.array(n_claims)
    return Distances(square, n_claims, np.zeros_like(square), np.zeros_like(square))


def weights(algorithm, loss, n_claims):
    """What sources weigh after such losses in so many claims."""
    return algorithm.learn(Losses(*np.ones((5, len(loss)))), distances(loss, n_claims)).weight


def measured(seed=1, n_items=300):
    """Five instruments of differing precision measure the same things."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(50, 20, n_items)
    noise = [0.5, 1.0, 4.0, 8.0, 12.0]
    rows = [
        (f"s{s}", f"e{i:03d}", truth[i] + rng.normal(0, noise[s]))
        for s in range(5)
        for i in range(n_items)
    ]
    known = pl.DataFrame({"entity": [f"e{i:03d}" for i in range(n_items)], "value": truth})
    return claims_of(rows), known


@pytest.mark.parametrize("name", NUMERIC)
def test_precise_sources_are_found_and_followed(name):
    claims, known = measured()
    result = veracity.discover(claims, name, kind="numeric")
    mean = claims.group_by("entity").agg(pl.col("value").mean()).join(known, on="entity")
    error_of_mean = (mean["value"] - mean["value_right"]).abs().mean()
    assert veracity.evaluate(result, known).mae < error_of_mean / 2
    assert result.sources["trust"].to_numpy().argsort()[::-1].tolist() == [0, 1, 2, 3, 4]
    assert (np.diff(result.sources["deviation"].to_numpy()) > 0).all()


def test_gtm_is_the_usual_answer_to_numbers():
    claims, _ = measured(n_items=20)
    assert veracity.discover(claims, kind="numeric").run["algorithm"] == "gtm"


def test_gtm_estimates_worked_out_by_hand():
    # One item, claims 0 and 4: mean 2, standard deviation 2, so -1 and 1 in standard units. With
    # variances 1 and 1/3: precision 1 + 1 + 3, truth (-1 + 3) / 5 = .4; so 2 + 2 * .4 = 2.8, with
    # a standard deviation of 2 / sqrt(5).
    block = as_block(claims_of([("a", "x", 0.0), ("b", "x", 4.0)]), "numeric")
    state = Variances(np.array([1.0, 1 / 3]), np.zeros(2), np.zeros(2))
    value, uncertainty = GTM().estimate(block, state)
    assert_allclose(value, [2.8])
    assert_allclose(uncertainty, [2 / np.sqrt(5)])


def test_gtm_learns_variances_as_the_paper_says():
    # Σ distance² = 3 over 4 claims, shape = scale = 10: (2 * 10 + 3) / (2 * 11 + 4).
    learned = GTM().learn(Variances(*np.ones((3, 1))), distances([3.0], [4.0]))
    assert_allclose(learned.variance, [23 / 26])


def test_crh_weights_worked_out_by_hand():
    # Losses of 1 and 4 in 10 claims each, so .1 and .4 of .5: weights -log(.2) and -log(.8),
    # scaled by the larger.
    weight = weights(CRH(), [1.0, 4.0], [10.0, 10.0])
    assert_allclose(weight, [1.0, np.log(0.8) / np.log(0.2)])


def test_catd_takes_the_lower_quantile_so_few_claims_weigh_little():
    # Equal loss per claim: 2 claims with loss 1 against 200 claims with loss 100.
    weight = weights(CATD(), [1.0, 100.0], [2.0, 200.0])
    assert weight[0] / weight[1] == pytest.approx(
        (chi2.ppf(0.025, 2) / 1.0) / (chi2.ppf(0.025, 200) / 100.0)
    )
    assert weight[0] < weight[1]


def test_losses_of_values_are_claims_that_the_vote_refutes():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("a", "y", "1"), ("c", "y", "2")]
    encoded = as_encoded(claims_of(rows))
    found = CRH().tally(encoded.blocks[0], started(CRH(), encoded), Turn())
    assert_allclose(found.square, [0.5, 0.0, 1.5])  # y is tied: each loses half
    assert_allclose(found.n_claims, [2, 1, 2])


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
rows_of_numbers = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"), numbers), min_size=1
)


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize("name", WITHOUT_BIASES)
@settings(max_examples=30)
@given(rows=rows_of_numbers)
def test_estimates_lie_within_what_is_claimed_and_are_never_nan(name, rows):
    result = veracity.discover(claims_of(rows), name, kind="numeric")
    span = claims_of(rows).group_by("entity").agg(low=pl.min("value"), high=pl.max("value"))
    joined = result.truths.join(span, on="entity")
    slack = 1e-6 * (1.0 + joined["high"].abs())
    assert (joined["value"] >= joined["low"] - slack).all()
    assert (joined["value"] <= joined["high"] + slack).all()
    assert not result.truths["uncertainty"].is_nan().any()
    assert result.sources["trust"].is_finite().all()


@pytest.mark.parametrize("name", NUMERIC)
def test_units_do_not_matter(name):
    claims, _ = measured(n_items=50)
    scaled = claims.with_columns(pl.col("value") * 1000 + 7)
    one, other = (veracity.discover(c, name, kind="numeric") for c in (claims, scaled))
    assert_allclose(one.truths["value"] * 1000 + 7, other.truths["value"], rtol=1e-9)


def test_a_lone_claim_is_its_own_estimate_of_unknown_uncertainty():
    truths = veracity.discover(claims_of([("a", "x", 3.5)]), "crh", kind="numeric").truths
    assert truths.select("value", "uncertainty").rows() == [(3.5, None)]


def test_numbers_are_evaluated_by_distance():
    result = veracity.discover(claims_of([("a", "x", 1.0), ("a", "y", 2.0)]), "crh", kind="numeric")
    known = pl.DataFrame({"entity": ["x", "y"], "value": ["1.5", "4"]})
    found = veracity.evaluate(result, known, tolerance=1.0)
    assert (found.mae, found.within) == (pytest.approx(1.25), 0.5)
    assert found.rmse == pytest.approx(np.sqrt((0.25 + 4) / 2))
    assert found.accuracy is None


def test_a_value_that_is_no_number_is_a_clear_error():
    claims = claims_of([("a", "x", "3"), ("b", "x", "n/a")])
    with pytest.raises(veracity.errors.BadValue, match="the value 'n/a' of 'x' is no number"):
        veracity.discover(claims, kind="numeric")


def test_a_result_of_numbers_is_saved_and_loaded(tmp_path):
    claims, known = measured(n_items=20)
    result = veracity.discover(claims, kind="numeric")
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert loaded.truths.equals(result.truths)
    assert veracity.evaluate(loaded, known).mae == veracity.evaluate(result, known).mae


def test_gtm_runs_one_round_at_a_time_towards_a_fixed_point():
    reached = states(GTM(), as_encoded(measured(n_items=30)[0], "numeric"), 7)
    changes = [GTM().change(before, after) for before, after in pairwise(reached)]
    assert changes[-1] < changes[0] / 10


@pytest.mark.data
@pytest.mark.parametrize("name", WITHOUT_BIASES)
def test_emotions_are_closer_to_the_truth_than_their_mean(shared_data, name):
    folder = shared_data / "crowd_n_emotion"
    result = veracity.discover(folder / "claims.parquet", name, kind="numeric")
    assert veracity.evaluate(result, folder / "truth.parquet").mae < 12.0


# --- by another library: truthdiscovery 1.0.4, see make_truthdiscovery.py -------------------------

THEIRS = json.loads(Path(__file__).with_name("truthdiscovery.json").read_text("utf-8"))["sets"]


@pytest.mark.parametrize("name", ["words", "few", "numbers", "one claim each", "a hundred agree"])
def test_crh_settles_on_the_truths_of_truthdiscovery(name):
    # Its loss is the squared distance of belief vectors, summed over a source's claims; ours is 0
    # or 1, averaged, as the paper has it for values. Weights differ, truths seldom.
    claims = claims_of(THEIRS[name]["claims"])
    belief = THEIRS[name]["found"]["CRH"]["belief"]
    for entity, value in veracity.discover(claims, "crh").truths.select("entity", "value").rows():
        assert belief[entity][value] == pytest.approx(max(belief[entity].values()))


def test_crh_of_truthdiscovery_blames_those_who_say_much():
    # Two sources are right 4 times in 5, but one makes ten times the claims: its summed loss is
    # ten times as large, and it weighs less; averaged, both weigh the same.
    few = weights(CRH(), [1.0, 10.0], [5.0, 50.0])
    assert_allclose(few, [1.0, 1.0])
    summed = np.array([1.0, 10.0])
    theirs = -np.log(summed / summed.sum())
    assert theirs[1] < theirs[0] / 10


def test_numbers_that_differ_by_rounding_alone_are_the_same():
    rng = np.random.default_rng(0)
    item, source = (grid.ravel() for grid in np.meshgrid(np.arange(30), np.arange(4)))
    value = np.round(item + rng.choice([0.0, 0.25, 1.5], len(item)), 2) + 0.1
    rows = pl.DataFrame({"source": source, "entity": item, "value": value})
    rows = rows.with_columns(pl.col("source", "entity").cast(pl.String))
    is_odd = pl.col("source").is_in(["1", "3"])
    rounded = rows.with_columns(
        value=pl.when(is_odd).then(pl.col("value") * (1.0 + 2.0**-52)).otherwise(pl.col("value"))
    )
    one, other = (
        veracity.discover(claims, "ltd-rbm-n", kind="numeric") for claims in (rows, rounded)
    )
    assert_allclose(one.truths["value"], other.truths["value"], rtol=1e-6)
    assert_allclose(one.sources["deviation"], other.sources["deviation"], rtol=1e-6)
