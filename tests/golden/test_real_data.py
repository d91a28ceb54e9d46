"""Answers on the real data sets, against the figures of the paper and of trials."""

from __future__ import annotations

import pytest

import veracity

pytestmark = pytest.mark.data


def accuracy(folder, algorithm):
    result = veracity.discover(folder / "claims.parquet", algorithm)
    return veracity.evaluate(result, folder / "truth.parquet").accuracy


@pytest.mark.parametrize("name", ["ltd-rbm", "ltd-rbm-c"])
def test_one_setting_of_ltd_rbm_serves_weather_and_flights(shared_data, name):
    assert accuracy(shared_data / "weather_raw", name) >= 0.68
    assert accuracy(shared_data / "flight_raha", name) >= 0.75


def test_voting_on_the_weather_is_where_the_paper_has_it(shared_data):
    assert 0.56 <= accuracy(shared_data / "weather_raw", "majority-vote") <= 0.58


@pytest.mark.parametrize(
    ("name", "claims", "items", "sources", "coverage"),
    [("weather_raw", 307_335, 30_317, 16, 0.6296), ("flight_raw", 2_849_984, 207_908, 38, 0.0771)],
)
def test_the_paper_counts_the_same_claims(shared_data, name, claims, items, sources, coverage):
    result = veracity.discover(shared_data / name / "claims.parquet", "majority-vote")
    given = vars(result.run.input)
    assert (given["claims"], given["items"], given["sources"]) == (claims, items, sources)
    judged = veracity.evaluate(result, shared_data / name / "truth.parquet").judged
    assert judged / items == pytest.approx(coverage, abs=5e-5)


def test_contradicting_truths_of_the_weather_are_dropped_as_in_the_paper(shared_data):
    folder = shared_data / "weather_raw"
    result = veracity.discover(folder / "claims.parquet", "majority-vote")
    conflicts = veracity.evaluate(result, folder / "truth_with_conflicts.parquet")
    clean = veracity.evaluate(result, folder / "truth.parquet")
    assert conflicts.accuracy == pytest.approx(clean.accuracy)
    assert any("contradicting truths" in note for note in conflicts.notes)


def test_authors_of_books_are_found_though_several_are_true(shared_data):
    folder = shared_data / "book_multi"
    result = veracity.discover(folder / "claims.parquet", kind="multiple")
    assert veracity.evaluate(result, folder / "truth.parquet").f1 >= 0.9


def test_an_independent_engine_counts_the_same_vote(shared_data):
    duckdb = pytest.importorskip("duckdb")
    path = shared_data / "weather_raw" / "claims.parquet"
    result = veracity.discover(path, "majority-vote")
    counted = duckdb.sql(
        f"select entity, attribute, value, count(distinct source) as n from '{path}' group by all"
    ).pl()
    joined = result.facts.join(counted, on=["entity", "attribute", "value"])
    assert len(joined) == len(result.facts)
    assert (joined["n"] == joined["supporters"]).all()
