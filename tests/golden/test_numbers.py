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
from veracity.algorithms import CATD, CRH, GTM
from veracity.algorithms.base import Turn
from veracity.algorithms.numbers import Distances, Losses, Variances

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
    assert veracity.discover(claims, kind="numeric").run.algorithm == "gtm"


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


def test_gtm_runs_one_round_at_a_time_towards_a_fixed_point():
    reached = states(GTM(), as_encoded(measured(n_items=30)[0], "numeric"), 7)
    changes = [GTM().change(before, after) for before, after in pairwise(reached)]
    assert changes[-1] < changes[0] / 10


# --- both losses in one run, as Li et al. (2014) have it ------------------------------------------

BOTH = CRH(both_losses=True)


def mixed(rows):
    """Claims of several attributes."""
    columns = ["source", "entity", "attribute", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def reports(seed, n_cities=20):
    """Four stations tell what the sky is like and how warm it is; later ones are worse in both."""
    rng = np.random.default_rng(seed)
    rows = []
    for source, error in (("a", 0.1), ("b", 0.3), ("c", 0.5), ("d", 0.7), ("e", 0.8)):
        for city in map(str, range(n_cities)):
            sky = "sun" if rng.random() > error else str(rng.choice(["rain", "fog"]))
            rows.append((source, city, "sky", sky))
            rows.append((source, city, "degrees", f"{20 + 8 * error * rng.normal():.1f}"))
    return mixed(rows)


def after_one_round(rows, algorithm=BOTH):
    """The tally of the first round, and the names of the sources it is of."""
    encoded = as_encoded(mixed(rows))
    (block,) = encoded.blocks
    state = started(algorithm, encoded)
    attributes, rounds = algorithm.phases(state)
    state = attributes.steps[0].learn(state, attributes.steps[0].look(block, state, Turn())[0])
    return rounds.steps[0].look(block, state, Turn())[0]


def test_losses_of_values_and_of_numbers_add_up_worked_out_by_hand():
    # 10, 12 and 20 have the median 12 and a variance of (16 + 4 + 36) / 3 around 14; in deviations
    # they are 2, 0 and 8 over its root from 12. Of the sky, c loses 1 against the vote.
    rows = [("a", "x", "degrees", "10"), ("b", "x", "degrees", "12"), ("c", "x", "degrees", "20")]
    rows += [("a", "x", "sky", "sun"), ("b", "x", "sky", "sun"), ("c", "x", "sky", "rain")]
    found = after_one_round(rows)
    deviation = np.sqrt(56 / 3)
    assert_allclose(found.square, [2 / deviation, 0.0, 8 / deviation + 1.0])
    assert_allclose(found.n_claims, [2, 2, 2])


def test_two_numbers_in_the_middle_share_the_loss():
    # Of 1, 2, 4 and 5, both 2 and 4 are medians: a loses (1 + 3) / 2, b (0 + 2) / 2.
    rows = [(source, "x", "size", number) for source, number in zip("abcd", "1245", strict=True)]
    assert_allclose(after_one_round(rows).square * np.sqrt(2.5), [2.0, 1.0, 1.0, 2.0])


def test_what_is_no_number_is_as_far_from_numbers_as_values_are_from_each_other():
    rows = [("a", "x", "size", "3"), ("b", "x", "size", "3"), ("c", "x", "size", "n/a")]
    rows += [("a", "y", "size", "4"), ("b", "y", "size", "6")]
    found = after_one_round(rows)
    assert_allclose(found.square, [1.0, 1.0, 1.0])  # 4 and 6 are tied, each a deviation from 5


def test_an_attribute_with_few_numbers_is_one_of_values():
    rows = [("a", "x", "gate", "7"), ("b", "x", "gate", "7"), ("c", "x", "gate", "9")]
    rows += [("a", "y", "gate", "B2"), ("b", "y", "gate", "007"), ("c", "y", "gate", "B2")]
    assert_allclose(after_one_round(rows).square, [0.0, 1.0, 1.0])


def test_more_numbers_than_are_compared_are_values():
    rows = [(source, "x", "size", n) for source, n in zip("abcde", "11589", strict=True)]
    few = CRH(both_losses=True, most_values=3)
    assert_allclose(after_one_round(rows, few).square, [0.0, 0.0, 1.0, 1.0, 1.0])
    # The median is 5; both who say 1 count in the deviation, so it is that of 1, 1, 5, 8 and 9.
    losses = np.array([4.0, 4.0, 0.0, 3.0, 4.0]) / np.sqrt(11.36)
    assert_allclose(after_one_round(rows).square, losses, atol=1e-12)


def test_losses_of_numbers_are_those_from_a_known_truth():
    rows = [(source, "x", "size", n) for source, n in zip("abc", "125", strict=True)]
    rows += [(source, "y", "size", n) for source, n in zip("abc", "125", strict=True)]
    known = pl.DataFrame({"entity": ["x", "y"], "attribute": ["size"] * 2, "value": ["5", "9"]})
    result = veracity.discover(mixed(rows), BOTH, known=known)
    deviation = np.sqrt(26 / 9)
    # Nobody says 9, and how far it is from each is not kept: all lose one.
    loss = np.array([(4 / deviation + 1) / 2, (3 / deviation + 1) / 2, 1 / 2])
    weight = -np.log(loss / loss.sum())
    assert_allclose(result.sources["trust"], weight / weight.max())


def by_the_paper(claims, n_rounds):
    """CRH of both kinds, item by item: weighted votes, weighted medians, -log of shares of loss."""
    items = [rows for _, rows in claims.group_by("entity", "attribute", maintain_order=True)]
    weight = dict.fromkeys("abcde", 1.0)
    for _ in range(n_rounds):
        loss = dict.fromkeys(weight, 0.0)
        for item in items:
            said = dict(zip(item["source"], item["value"], strict=True))
            if item["attribute"][0] == "sky":
                votes = {v: sum(weight[s] for s in said if said[s] == v) for v in said.values()}
                best = max(votes.values())
                truths = [v for v in votes if votes[v] == pytest.approx(best, abs=1e-9)]
                losses = {s: np.mean([said[s] != v for v in truths]) for s in said}
            else:
                said = {s: float(v) for s, v in said.items()}
                far = {v: sum(w * abs(said[s] - v) for s, w in weight.items())
                       for v in said.values()}  # fmt: skip
                truths = [v for v in far if far[v] == pytest.approx(min(far.values()), abs=1e-9)]
                spread = np.std(list(said.values()))
                losses = {s: np.mean([abs(said[s] - v) for v in truths]) / spread for s in said}
            loss = {s: loss[s] + losses[s] for s in said}
        total = sum(loss.values())
        weight = {s: -np.log(loss[s] / total) for s in loss}
        weight = {s: w / max(weight.values()) for s, w in weight.items()}
    return list(weight.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_rounds", [1, 2, 5])
@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
def test_weights_of_both_losses_are_those_of_the_paper_round_by_round(seed, n_rounds):
    claims = reports(seed)
    algorithm = CRH(both_losses=True, max_rounds=n_rounds, tolerance=1e-99)
    trust = veracity.discover(claims, algorithm).sources["trust"]
    assert_allclose(trust, by_the_paper(claims, n_rounds), atol=1e-8)


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@settings(max_examples=30)
@given(rows=st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"),
                               st.integers(-20, 20)), min_size=1, max_size=25))  # fmt: skip
def test_the_truth_of_numbers_is_a_weighted_median(rows):
    claims = mixed([(s, e, "size", str(n)) for s, e, n in rows]).unique(maintain_order=True)
    result = veracity.discover(claims, BOTH)
    weight = dict(result.sources.select("source", "trust").iter_rows())
    for entity, truth in result.truths.select("entity", "value").iter_rows():
        said = claims.filter(pl.col("entity") == entity).select("source", "value").rows()
        votes = [(weight[source], int(value)) for source, value in said]
        far = {v: sum(w * abs(x - v) for w, x in votes) for _, v in votes}
        assert far[int(truth)] == pytest.approx(min(far.values()), abs=1e-6)


def test_one_weight_for_both_kinds_tells_who_is_good_and_counts_the_attributes():
    result = veracity.discover(reports(1, n_cities=60), BOTH)
    assert result.sources.sort("trust", descending=True)["source"].to_list() == list("abcde")
    assert "attributes that are judged as numbers, by distance: 1 of 2" in result.run.notes
    assert not any("by distance" in note for note in veracity.discover(reports(1), "crh").run.notes)


def test_units_of_numbers_among_values_do_not_matter():
    claims = reports(2)
    is_number = pl.col("attribute") == "degrees"
    in_other = (pl.col("value").cast(pl.Float64, strict=False) * 1e3 - 4.0).round(3)
    value = pl.when(is_number).then(in_other.cast(pl.String)).otherwise("value")
    other = claims.with_columns(value=value)
    one, two = (veracity.discover(rows, BOTH).sources["trust"] for rows in (claims, other))
    assert_allclose(one, two, rtol=1e-9)


def test_attributes_that_are_new_are_learned_from_when_learning_goes_on():
    claims = reports(3)
    is_number = pl.col("attribute") == "degrees"
    result = veracity.discover(claims.filter(~is_number), BOTH)
    judged = result.fitted.judge(claims.filter(is_number))
    assert judged.truths["value"].null_count() == 0
    state = result.fitted.update(claims.filter(is_number)).fitted.state
    assert state.numbers.is_number_of_attribute.tolist() == [False, True]
    assert veracity.discover(claims, CRH(both_losses=True)).run.converged


def test_numbers_alone_are_judged_as_ever_whatever_is_said_of_both_losses():
    claims, _ = measured(n_items=20)
    one, other = (veracity.discover(claims, chosen, kind="numeric") for chosen in ("crh", BOTH))
    assert one.truths.equals(other.truths)


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
