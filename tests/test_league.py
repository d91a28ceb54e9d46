from __future__ import annotations

import polars as pl
import pytest
from league import BEST_ELSEWHERE, LeagueStudy

import veracity
from veracity.encoding.known import with_known
from veracity.study.measure import calibration_error
from veracity.synthetic import Synthetic

NAMES = ("majority-vote", "veracity", "dawid-skene", "mle")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two datasets with labels, and one with too many for Dawid-Skene."""
    made = []
    for seed, values in ((1, 3), (2, 4), (3, 150)):
        folder = tmp_path_factory.mktemp("league") / f"data{seed}"
        folder.mkdir()
        drawn = Synthetic(sources=8, items=150, values=values).draw(seed=seed)
        drawn.claims.write_parquet(folder / "claims.parquet")
        drawn.truth.write_parquet(folder / "truth.parquet")
        made.append(str(folder))
    return tuple(made)


@pytest.fixture(scope="module")
def tables(folders):
    study = LeagueStudy(datasets=folders, algorithms=NAMES)
    rows = [row for task in study.tasks(pl.DataFrame()) for row in study.do(task)]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return study, study.tables(frame)


def row_of(table, name):
    return table.row(by_predicate=pl.col("algorithm") == name, named=True)


def test_every_algorithm_meets_every_dataset(tables):
    _, found = tables
    assert set(found["league"]["algorithm"]) == {*NAMES, BEST_ELSEWHERE}
    assert row_of(found["league"], "mle")["datasets"] == 3
    assert found["accuracy_by_dataset"].columns == ["algorithm", "data1", "data2", "data3"]


def test_who_cannot_take_a_dataset_is_last_on_it_and_it_is_left_out_of_the_mean(tables):
    _, found = tables
    refused = row_of(found["league"], "dawid-skene")
    assert refused["datasets"] == 2
    by_dataset = row_of(found["accuracy_by_dataset"], "dawid-skene")
    assert by_dataset["data3"] is None
    assert refused["accuracy"] == pytest.approx((by_dataset["data1"] + by_dataset["data2"]) / 2)


def test_voting_loses_nothing_to_itself(tables):
    _, found = tables
    assert row_of(found["league"], "majority-vote")["worst_loss"] == 0.0


def test_best_elsewhere_does_not_look_at_the_dataset_itself(tables):
    _, found = tables
    table = found["accuracy_by_dataset"].filter(
        pl.col("algorithm").is_in(["majority-vote", "veracity", "mle"])
    )
    others = table.with_columns(mean=(pl.col("data2") + pl.col("data3")) / 2)
    chosen = others.sort("mean", descending=True, maintain_order=True)["data1"][0]
    assert row_of(found["accuracy_by_dataset"], BEST_ELSEWHERE)["data1"] == chosen


def test_there_is_a_sentence_for_each_and_a_figure(tables):
    study, found = tables
    assert len(study.findings(found)) == len(found["league"])


def test_truths_that_are_told_do_not_count_and_a_vote_learns_nothing_from_them(folders):
    names = ("majority-vote", "veracity", "dawid-skene")
    study = LeagueStudy(datasets=folders[1:], algorithms=names, known=1000, draws=2)
    rows = [row for task in study.tasks(pl.DataFrame()) for row in study.do(task)]
    known = study.tables(pl.DataFrame(rows, infer_schema_length=None))["known"]
    named = ["data2", "data2 with known", "data3", "data3 with known"]
    assert known.columns == ["algorithm", *named]
    vote = row_of(known, "majority-vote")
    assert vote["data2"] == vote["data2 with known"] < 1.0
    assert row_of(known, "dawid-skene")["data3 with known"] is None


def test_calibration_is_what_evaluate_says():
    drawn = Synthetic(sources=6, items=200, accuracy=0.55).draw(seed=4)
    result = veracity.discover(drawn.claims)
    truth, _ = with_known(result.encoded, drawn.truth)
    found = calibration_error(truth, result.facts["plausibility"].to_numpy())
    assert found == pytest.approx(veracity.evaluate(result, drawn.truth).calibration_error)
