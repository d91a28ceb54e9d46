"""The studies of intervals and of numbers: what they count, by hand, and on small claims."""

from __future__ import annotations

import polars as pl
import pytest
from intervals import IntervalsStudy
from numeric import SHAPES, NumbersStudy, draw_numbers
from numpy.testing import assert_allclose

from veracity.errors import ParameterError
from veracity.study import carry_out, publish
from veracity.synthetic import Synthetic


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a data set of each kind."""
    monkeypatch.chdir(tmp_path)
    for name, (claims, truth) in {
        "values": Synthetic(sources=6, items=80).draw(seed=2)[:2],
        "numbers": draw_numbers(1, n_sources=5, n_items=40),
    }.items():
        (tmp_path / name).mkdir()
        claims.write_csv(tmp_path / name / "claims.csv")
        truth.write_csv(tmp_path / name / "truth.csv")
    return tmp_path


def test_intervals_are_counted_on_real_and_on_synthetic_claims(folder):
    study = IntervalsStudy(datasets=("values",), algorithms=("majority-vote",), synthetic=2)
    rows = carry_out(study, folder / "out", workers=1)
    tables = study.tables(rows)
    assert tables["synthetic"].columns == ["algorithm", "none copy", "a fifth copy"]
    assert tables["real"]["dataset"].to_list() == ["values", "mean"]
    assert tables["real"]["sources"][0] <= 6  # those with enough claims
    assert rows["held"].is_between(0.0, 1.0).all()
    assert publish(study, rows, folder / "out").exists()


def test_sources_count_alike_whatever_the_size_of_their_set():
    rows = pl.DataFrame(
        {"dataset": "none copy", "algorithm": "mle", "sources": [1, 3], "held": [1.0, 1 / 3]}
    )
    table = IntervalsStudy(synthetic=2).tables(rows)["synthetic"]
    assert_allclose(table["none copy"].to_list(), [0.5])  # 1 and 1 of 4


def test_errors_of_numbers_are_measured_beside_means_and_medians(folder):
    study = NumbersStudy(datasets=("numbers",), draws=1)
    rows = carry_out(study, folder / "out", workers=1)
    tables = study.tables(rows)
    assert tables["synthetic"]["dataset"].to_list() == list(SHAPES)
    (real,) = tables["real"].to_dicts()
    assert real["dataset"] == "numbers"
    assert real["ltd-rbm-n"] < real["mean"]  # sources differ by a factor of two
    assert 0.5 < real["ltd-rbm-n holds"] <= 1.0
    assert publish(study, rows, folder / "out").exists()


def test_each_attribute_is_taken_for_itself_without_what_is_no_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two").mkdir()
    claims = [
        (s, e, a, f"{e}" if (s, e) != ("a", 1) else "calm")
        for s in "abc"
        for e in range(1, 6)
        for a in ("wind", "rain")
    ]
    pl.DataFrame(claims, schema=["source", "entity", "attribute", "value"], orient="row").write_csv(
        tmp_path / "two" / "claims.csv"
    )
    truth = [(e, a, e + (a == "rain")) for e in range(1, 6) for a in ("wind", "rain")]
    pl.DataFrame(truth, schema=["entity", "attribute", "value"], orient="row").write_csv(
        tmp_path / "two" / "truth.csv"
    )
    study = NumbersStudy(datasets=("two",), draws=0, algorithms=("gtm",))
    table = study.tables(carry_out(study, workers=1))["real"]
    assert table["dataset"].to_list() == ["two: rain", "two: wind"]
    assert table["mean"].to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (IntervalsStudy, {"synthetic": 0}, "there must be datasets"),
        (NumbersStudy, {"draws": 0}, "there must be datasets"),
        (NumbersStudy, {"algorithms": ("mle",)}, "study numbers is on numeric ones"),
        (IntervalsStudy, {"algorithms": ("gtm",)}, "study intervals is on categorical ones"),
    ],
)
def test_studies_of_nothing_are_refused(kind, settings, message):
    with pytest.raises(ParameterError, match=message):
        kind(**settings)
