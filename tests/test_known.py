"""Known truths are held, and weigh on what is thought of the sources."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import betabinom

import veracity
from claims import clock_times
from veracity.algorithms import CATALOGUE
from veracity.algorithms.numbers import calibrated
from veracity.algorithms.prior import known_weight

FOR_VALUES = sorted(
    name for name, entry in CATALOGUE.items() if "categorical" in entry.make().kinds
)
PROBABILISTIC = ["ltd-rbm", "ltd-rbm-c", "mle", "ltm"]


def discover(claims, algorithm, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(claims, algorithm, **options)


@pytest.mark.parametrize("name", FOR_VALUES)
def test_every_algorithm_holds_what_is_known(name):
    drawn = veracity.synthetic.Synthetic(sources=9, items=200, accuracy=0.5).draw(seed=3)
    vote = veracity.discover(drawn.claims, "majority-vote")
    missed = vote.truths.join(drawn.truth, on=["entity", "attribute"], suffix="_true")
    wrong = missed.filter((pl.col("value") != pl.col("value_true")) & (pl.col("values") == 4)).head(
        5
    )
    known = wrong.select("entity", "attribute", value="value_true")
    result = discover(drawn.claims, name, known=known)
    assert veracity.evaluate(result, known).accuracy == 1.0
    held = result.facts.join(known, on=["entity", "attribute", "value"])
    assert (held["plausibility"] == 1.0).all()


@pytest.mark.parametrize("name", PROBABILISTIC)
def test_known_truths_teach_the_reliability_of_sources(name):
    # Three sources copy one bad one; only known truths can tell.
    drawn = veracity.synthetic.Synthetic(sources=4, items=400, accuracy=0.8, frequency=0.9).draw(1)
    bad = drawn.claims.filter(pl.col("source") == "source0").with_columns(
        value=pl.when(pl.int_range(pl.len()) % 10 < 3).then("value").otherwise(pl.lit("v9"))
    )
    mirrors = [bad.with_columns(source=pl.lit(f"mirror{i}")) for i in range(5)]
    claims = pl.concat([drawn.claims.filter(pl.col("source") != "source0"), *mirrors])
    known = drawn.truth.head(60)
    rest = drawn.truth.tail(340)
    alone = veracity.evaluate(discover(claims, name), rest).accuracy
    taught = veracity.evaluate(discover(claims, name, known=known), rest).accuracy
    assert taught > alone + 0.2


def test_contradicting_and_unknown_truths_are_told(two_against_one):
    known = pl.DataFrame({"entity": ["x", "x", "q"], "value": ["1", "2", "1"]})
    notes = veracity.discover(two_against_one, known=known).notes
    assert "known: 1 contradicting truth is left out" in notes
    assert "known: 1 truth is about items without any claim" in notes


@pytest.mark.parametrize("name", FOR_VALUES)
def test_a_known_truth_nobody_claims_refutes_all_that_is_claimed(name, two_against_one):
    known = pl.DataFrame({"entity": ["x"], "value": ["9"]})
    result = discover(two_against_one, name, known=known)
    assert result.truths["value"].to_list() == [None]
    assert any("claimed by no source" in note for note in result.notes)


def test_known_binary_facts_are_true_or_false():
    claims = pl.DataFrame(
        {"source": list("abab"), "fact": list("ppqq"), "claim": [True, False, True, False]}
    )
    known = pl.DataFrame({"fact": ["p", "q"], "claim": ["no", "yes"]})
    result = veracity.discover(claims, kind="binary", known=known)
    assert result.truths["value"].to_list() == [False, True]


def test_known_lists_of_several_truths_are_complete():
    claims = pl.DataFrame({"source": list("aab"), "entity": ["x"] * 3, "value": ["1", "2", "3"]})
    known = pl.DataFrame({"entity": ["x", "x"], "value": ["1", "3"]})
    result = veracity.discover(claims, kind="multiple", known=known)
    assert result.facts["plausibility"].to_list() == [1.0, 0.0, 1.0]


# --- numbers --------------------------------------------------------------------------------------

NUMERIC = ["gtm", "crh", "catd", "ltd-rbm-n"]
every_numeric = pytest.mark.parametrize("name", NUMERIC)


def measured(n_items=100):
    """One instrument is right; two others agree with each other on something else, nearly."""
    rng = np.random.default_rng(7)
    truth = rng.normal(50, 20, n_items)
    rows = [("right", i, truth[i] + rng.normal(0, 0.1)) for i in range(n_items)]
    for i in range(n_items):
        astray = truth[i] + rng.normal(0, 8)
        rows += [(name, i, astray + rng.normal(0, 0.5)) for name in ("one", "other")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame({"entity": range(n_items), "value": truth})


@every_numeric
def test_a_known_number_is_held_with_no_uncertainty(name):
    claims, _ = measured(20)
    known = pl.DataFrame({"entity": [3, 5], "value": [1000.0, -7.5]})
    truths = discover(claims, name, kind="numeric", known=known).truths
    held = truths.join(known, on="entity", suffix="_known")
    assert held["value"].equals(held["value_known"])
    assert held["uncertainty"].to_list() == [0.0, 0.0]
    others = truths.join(known, on="entity", how="anti")
    assert (others["uncertainty"] > 0.0).all()


@every_numeric
def test_a_source_that_is_right_on_known_items_gains_weight(name):
    claims, truth = measured()
    before, after = (
        discover(claims, name, kind="numeric", known=known) for known in (None, truth.head(40))
    )
    share = [
        result.sources.filter(pl.col("source") == "right")["trust"][0]
        / result.sources["trust"].sum()
        for result in (before, after)
    ]
    assert share[1] > 1.5 * share[0]
    rest = truth.tail(60)
    error = [veracity.evaluate(result, rest).mae for result in (before, after)]
    assert error[1] < 0.7 * error[0]


@every_numeric
def test_distances_of_the_sources_are_those_from_the_known_numbers(name):
    rows = [("a", "x", 0.0), ("b", "x", 4.0)]  # mean 2, standard deviation 2
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    known = pl.DataFrame({"entity": ["x"], "value": [4.0]})
    sources = discover(claims, name, kind="numeric", known=known).sources
    assert sources["deviation"].to_list() == pytest.approx([2.0, 0.0])


def test_what_is_known_corrects_a_variance_as_ten_items_would():
    # A mean square of 2 that was learned, and a sum of 3 over 5 known items: (3 + 10 * 2) / 15.
    known = np.array([3.0]), np.array([5.0])
    assert_allclose(calibrated(np.array([2.0]), known), [23 / 15])


@pytest.mark.parametrize("name", ["gtm", "crh", "catd"])  # whose scale is that of each item
def test_a_known_number_where_all_agree_tells_nothing_of_them(name):
    claims, _ = measured(20)
    agreed = pl.DataFrame({"source": ["right", "one", "other"], "entity": [99] * 3, "value": 5.0})
    claims = pl.concat([claims, agreed.select(claims.columns)])
    known = pl.DataFrame({"entity": [99], "value": [9.0]})
    one, other = (discover(claims, name, kind="numeric", known=k) for k in (None, known))
    assert_allclose(one.sources["trust"], other.sources["trust"])
    assert_allclose(one.sources["deviation"], other.sources["deviation"])
    assert other.truths.filter(pl.col("entity") == 99)["value"].to_list() == [9.0]


def test_a_known_number_is_counted_and_saved(tmp_path):
    claims, truth = measured(20)
    result = discover(claims, "gtm", kind="numeric", known=truth.head(7))
    assert result.run.input.known == 7
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert loaded.truths.equals(result.truths)
    (block,) = loaded.encoded.blocks
    assert block.is_known.sum() == 7


# --- real data ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", PROBABILISTIC)
def test_one_percent_of_the_weather_known_is_worth_ten_points(shared_data, name):
    folder = shared_data / "weather_raw"
    truth = pl.read_parquet(folder / "truth.parquet")
    accuracy = {}
    for share in (0.01, 0.1):
        known = truth.sample(fraction=share, seed=1)
        rest = truth.join(known, on=["entity", "attribute"], how="anti")
        result = discover(folder / "claims.parquet", name, known=known)
        accuracy[share] = veracity.evaluate(result, rest).accuracy
    assert accuracy[0.01] >= 0.80
    assert accuracy[0.1] >= 0.83


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["ltd-rbm", "mle"])
def test_one_percent_of_the_flights_known_tells_copies_from_good_sources(shared_data, name):
    claims, truth = (
        clock_times(pl.read_parquet(shared_data / "flight_raw" / f"{table}.parquet"))
        for table in ("claims", "truth")
    )
    known = truth.sample(fraction=0.01, seed=1)
    rest = truth.join(known, on=["entity", "attribute"], how="anti")
    alone = veracity.evaluate(discover(claims, name), rest).accuracy
    taught = veracity.evaluate(discover(claims, name, known=known), rest).accuracy
    assert taught >= max(alone, 0.93)


def test_known_truths_may_be_a_dictionary_of_items():
    rows = [
        (s, e, a, v) for e in "xy" for a in "pq" for s, v in (("a", "1"), ("b", "1"), ("c", "2"))
    ]
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    for known, claimed in (
        ({"x": "2"}, claims.filter(attribute="p").drop("attribute")),
        ({("x", "p"): "2"}, claims),
    ):
        truths = veracity.discover(claimed, known=known).truths
        assert truths.row(0, named=True)["value"] == "2"
        assert veracity.evaluate(veracity.discover(claimed), known).accuracy == 0.0
    with pytest.raises(veracity.errors.InputError, match="neither an entity nor a pair"):
        veracity.discover(claims, known={("x", "p", "r"): "2"})


def test_how_much_known_facts_weigh_is_the_mean_over_beta_binomials():
    # SciPy's beta-binomial as the judge; what was learned may count as 1.25, 2.5, ... 80 facts,
    # each as often as all rows show together: the posterior mode under Dirichlet(1.5).
    known = np.array([[3.0, 1.0], [0.0, 7.0], [5.0, 5.0], [1.0, 0.0]])
    usual = np.array([0.6, 0.9, 0.5, 0.01])
    strengths = 10.0 * 2.0 ** np.arange(-3, 4)
    right, total = known[:, :1], known.sum(axis=1, keepdims=True)
    share = usual[:, None]
    likely = betabinom.pmf(right, total, strengths * share, strengths * (1 - share))

    def loss(logs):
        frequency = np.exp(logs - np.logaddexp.reduce(logs))
        return -np.log(likely @ frequency).sum() - 0.5 * np.log(frequency).sum()

    logs = minimize(loss, np.zeros(7), tol=1e-10).x
    weights = likely * np.exp(logs - np.logaddexp.reduce(logs))
    expected = (weights / (total + strengths)).sum(axis=1) / weights.sum(axis=1)
    found = known_weight(known, np.stack([usual, 1 - usual], axis=1))
    assert_allclose(found, expected, rtol=1e-3)


def test_a_source_that_is_not_what_it_seems_is_corrected_sooner_than_one_that_is():
    seems = np.array([[0.5, 0.5], [0.5, 0.5]])
    as_it_seems, better = known_weight(np.array([[4.0, 4.0], [8.0, 0.0]]), seems)
    assert as_it_seems < 1 / (8 + 10) < better


def against_the_crowd(seed):
    """One careful source among nine that mostly name the same wrong value of an item."""
    rng, rows = np.random.default_rng(seed), []
    for item in range(300):
        for source in range(10):
            u = rng.random()
            share_true, share_shared = (0.95, 0.0) if source == 0 else (0.3, 0.4)
            value = (
                "t" if u < share_true else "f" if u < share_true + share_shared else f"o{source}"
            )
            rows.append((f"s{source}", f"e{item}", f"{item}{value}"))
    truth = pl.DataFrame({"entity": [f"e{i}" for i in range(300)],
                          "value": [f"{i}t" for i in range(300)]})  # fmt: skip
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"), truth


def test_ten_known_truths_find_the_one_source_that_is_right_against_a_crowd():
    right = []
    for seed in range(4):
        claims, truth = against_the_crowd(seed)
        result = veracity.discover(claims, known=truth.sample(10, seed=seed))
        right.append(veracity.evaluate(result, truth).accuracy)
    assert np.mean(right) > 0.8  # .58 without; .77 if what was learned counts as ten known items


def says_of_facts(rng, *, n_copies):
    """Claims of sources that support facts with rates of their own; one careless one is copied."""
    truth = rng.random(400) < 0.4
    tpr, fpr = (
        np.append(rng.uniform(*range_of_rate, 5 + 5 * (n_copies == 0)), careless)
        for range_of_rate, careless in (((0.6, 0.9), 0.55), ((0.1, 0.4), 0.5))
    )
    says = rng.random((400, len(tpr))) < np.where(truth[:, None], tpr, fpr)
    says = np.concatenate([says, *n_copies * [says[:, -1:]]], axis=1)
    fact, source = np.nonzero(rng.random(says.shape) < 0.8)
    claims = pl.DataFrame({"source": source, "fact": fact, "claim": says[fact, source]})
    return claims, pl.DataFrame({"fact": np.arange(400), "claim": truth})


def gained(n_copies, n_known, draws):
    """Return by how much known facts, drawn at random, raise the accuracy on the others."""
    gains = []
    for seed in range(draws):
        claims, truth = says_of_facts(np.random.default_rng(seed), n_copies=n_copies)
        known = truth.sample(n_known, seed=seed)
        others = truth.join(known, on="fact", how="anti")
        without, with_known = (
            veracity.evaluate(veracity.discover(claims, kind="binary", known=own), others).accuracy
            for own in (None, known)
        )
        gains.append(with_known - without)
    return np.mean(gains)


def test_twenty_known_facts_show_that_the_many_only_repeat_one_careless_source():
    assert gained(4, 20, draws=10) > 0.15  # .02 if known facts correct the rates only once


def test_known_facts_do_no_harm_where_the_answer_is_as_good_as_it_seems():
    assert gained(0, 80, draws=30) > -0.001  # -.002 if counted without what was expected


def labels_gained(*, n_sharing, n_known, draws):
    """Return by how much known labels raise the accuracy, if some workers share a belief."""
    gains = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, 480)
        said = (truth[:, None] + rng.integers(1, 3, (480, 8))) % 3
        said = np.where(rng.random((480, 8)) < rng.uniform(0.6, 0.9, 8), truth[:, None], said)
        believed = (rng.random((480, n_sharing)) < 0.8) & (np.arange(480)[:, None] < 80)
        said[:, :n_sharing] = np.where(
            believed, (truth[:, None] + 1) % 3, said[:, :n_sharing]
        )  # on one item in six
        item, source = np.indices(said.shape)
        rows = {"source": source.ravel(), "entity": item.ravel(), "value": said.ravel()}
        true = pl.DataFrame({"entity": np.arange(480), "value": truth})
        known = true.sample(n_known, seed=seed)
        others = true.join(known, on="entity", how="anti")
        without, with_known = (
            veracity.evaluate(veracity.discover(pl.DataFrame(rows), known=own), others).accuracy
            for own in (None, known)
        )
        gains.append(with_known - without)
    return np.mean(gains)


def test_known_labels_correct_workers_who_share_a_belief_and_leave_others_as_they_are():
    assert labels_gained(n_sharing=5, n_known=80, draws=8) > 0.03  # .012 without the correction
    assert labels_gained(n_sharing=0, n_known=80, draws=8) > -0.002


def test_attributes_that_only_claims_or_only_truths_have_are_told_of():
    said = pl.DataFrame({"source": list("abc"), "entity": ["x"] * 3, "value": list("112")})
    truth = pl.DataFrame({"entity": ["x"], "value": ["2"]})
    of_gate = pl.lit("gate").alias("attribute")
    result = veracity.discover(said, "majority-vote", known=truth.with_columns(of_gate))
    assert (
        "known: the claims have no attributes, so those of the truths are ignored" in result.notes
    )
    claims = said.with_columns(of_gate)
    result = veracity.discover(claims, "majority-vote", known=truth)
    assert "known: the truths have no attributes, and the claims do: add a column" in result.notes
    for known in (truth.with_columns(of_gate), {("x", "gate"): "2"}):
        assert not any("attributes" in n for n in veracity.discover(claims, known=known).notes)
