"""Known truths are held, and weigh on what is thought of the sources."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import veracity
from claims import clock_times
from veracity.algorithms import CATALOGUE

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
    assert "known: 1 contradicting truths are left out" in notes
    assert "known: 1 truths are about items nobody speaks of" in notes


@pytest.mark.parametrize("name", FOR_VALUES)
def test_a_known_truth_nobody_claims_refutes_all_that_is_claimed(name, two_against_one):
    known = pl.DataFrame({"entity": ["x"], "value": ["9"]})
    result = discover(two_against_one, name, known=known)
    assert result.truths["value"].to_list() == [None]
    assert any("claimed by nobody" in note for note in result.notes)


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
