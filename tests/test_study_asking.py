"""The study of what answers are worth."""

from __future__ import annotations

import polars as pl
import pytest
from asking import ASKED, MARGIN, RANDOM, AskingStudy

from veracity.errors import ParameterError
from veracity.study import carry_out
from veracity.synthetic import Synthetic


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Claims that are hard to judge, with all but a few of their truths."""
    folder = tmp_path_factory.mktemp("asking") / "hard"
    folder.mkdir()
    drawn = Synthetic(sources=12, items=90, values=4, accuracy=0.5).draw(seed=5)
    drawn.claims.write_parquet(folder / "claims.parquet")
    drawn.truth.head(80).write_parquet(folder / "truth.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def found(folder):
    study = AskingStudy(datasets=(folder,), budgets=(0, 10, 20, 100), draws=2)
    return study, study.tables(carry_out(study, workers=1))


def test_all_ways_to_choose_are_measured_after_the_same_numbers_of_answers(found):
    _, tables = found
    curves = tables["curves"]
    for how in (ASKED, MARGIN, RANDOM):
        own = curves.filter(pl.col("how") == how)
        assert own["budget"].to_list() == [0, 10, 20]  # of 80 items, 100 cannot be asked for
        assert own["answers"].to_list() == [0, 10, 20]
    assert curves.filter(pl.col("how") == RANDOM)["draws"].to_list() == [2, 2, 2]
    assert tables["asking"].columns == ["dataset", "how", "0", "10", "20"]


def test_what_is_answered_is_right_and_the_others_are_measured_beside(found):
    _, tables = found
    for row in tables["curves"].iter_rows(named=True):
        n_known, n = row["answers"], 80
        whole = (n_known + row["others"] * (n - n_known)) / n
        assert row["accuracy"] == pytest.approx(whole)
    start = tables["curves"].filter(pl.col("budget") == 0)
    assert start["accuracy"].n_unique() == 1
    assert start["others"].to_list() == start["others_before"].to_list()


def test_what_is_asked_for_and_what_is_random_both_help(found):
    study, tables = found
    for row in tables["asking"].iter_rows(named=True):
        assert row["20"] > row["0"]
    assert study.findings(tables)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"draws": 0}, "draws must be at least 1, got 0"),
        ({"budgets": (0, 15)}, r"multiples of 10, got \[0, 15\]"),
        ({"budgets": ()}, "multiples of 10"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, complaint):
    with pytest.raises(ParameterError, match=complaint):
        AskingStudy(datasets=("x",), **settings)
