from __future__ import annotations

import math

import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity


def vote(rows, columns=("source", "entity", "value"), **options):
    claims = pl.DataFrame(rows, schema=list(columns), orient="row")
    return veracity.discover(claims, "majority-vote", **options)


def truth(rows, columns=("entity", "value")):
    return pl.DataFrame(rows, schema=list(columns), orient="row")


CLAIMS = [
    *[(s, "x", "1") for s in "abc"], ("d", "x", "2"),  # 3/4 for 1
    ("a", "y", "1"), ("b", "y", "2"),                  # tied
    ("a", "z", "1"),                                   # alone
]  # fmt: skip


def test_measures_worked_out_by_hand():
    found = veracity.evaluate(vote(CLAIMS), truth([("x", "1"), ("y", "2"), ("z", "9")]))
    assert found.judged == 3
    assert found.accuracy == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.log_loss == pytest.approx((-math.log(0.75) - math.log(0.5) - math.log(1e-6)) / 3)
    assert found.brier == pytest.approx((2 * 0.25**2 + 2 * 0.5**2 + (1 + 1)) / 3)
    assert found.calibration_error == pytest.approx((0.25 + 0.0 + 1.0) / 3)
    assert found.notes == ["1 truth is claimed by nobody: judged as wrong"]


def test_contradicting_truths_are_left_out_and_told():
    known = truth([("x", "1"), ("x", "1"), ("z", "1"), ("z", "2")])
    found = veracity.evaluate(vote(CLAIMS), known)
    assert (found.judged, found.accuracy) == (1, 1.0)
    assert found.notes == ["1 contradicting truth is left out"]


def test_truths_about_items_nobody_speaks_of_are_told():
    found = veracity.evaluate(vote(CLAIMS), truth([("x", "1"), ("q", "1")]))
    assert found.notes == ["1 truth is about items without any claim"]


def test_truths_none_of_which_is_about_a_known_item_are_an_error():
    with pytest.raises(veracity.errors.NoClaims, match="are the names the same"):
        veracity.evaluate(vote(CLAIMS), truth([("q", "1")]))


def test_numbers_compare_as_numbers_whatever_their_type():
    claims = [("a", "x", "1.50"), ("b", "x", "1.5"), ("c", "x", "2")]
    assert veracity.evaluate(vote(claims), truth([("x", 1.5)])).accuracy == 1.0
    assert veracity.evaluate(vote(claims), truth([("x", "1.500")])).accuracy == 1.0


def test_ids_compare_whatever_their_type():
    claims = [("a", "7", "u"), ("b", "7", "u")]
    assert veracity.evaluate(vote(claims), truth([(7, "u")])).accuracy == 1.0


def test_attributes_are_measured_apart():
    columns = ("source", "entity", "attribute", "value")
    claims = [("a", "x", "p", "1"), ("a", "x", "q", "2")]
    known = truth([("x", "p", "1"), ("x", "q", "9")], columns[1:])
    found = veracity.evaluate(vote(claims, columns), known)
    assert found.by_attribute["attribute"].to_list() == ["p", "q"]
    assert found.by_attribute["accuracy"].to_list() == [1.0, 0.0]


def test_several_truths_are_measured_by_precision_and_recall():
    rows = [(s, "x", v) for s in "abc" for v in "12"] + [("d", "x", "3")]
    result = vote(rows, kind="multiple")
    found = veracity.evaluate(result, truth([("x", "1"), ("x", "3"), ("x", "4")]))
    assert (found.precision, found.recall) == (pytest.approx(1 / 2), pytest.approx(1 / 3))
    assert found.f1 == pytest.approx(2 * 1 / (2 + 3))
    lower = veracity.evaluate(result, truth([("x", "1"), ("x", "3"), ("x", "4")]), threshold=0.2)
    assert (lower.precision, lower.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_binary_truths_are_true_or_false():
    rows = [
        ("a", "p", True),
        ("b", "p", True),
        ("c", "p", False),
        ("a", "q", True),
        ("b", "q", False),
    ]
    result = vote(rows, ("source", "fact", "claim"), kind="binary")
    found = veracity.evaluate(result, truth([("p", "yes"), ("q", "no")], ("fact", "claim")))
    assert found.accuracy == pytest.approx((1 + 0.5) / 2)
    assert found.brier == pytest.approx(((1 / 3) ** 2 + 0.5**2) / 2)
    assert found.f1 is None


def test_calibration_error_is_zero_where_nine_in_ten_of_ninety_percent_are_right():
    rows = [(f"s{i}", f"e{e}", "1" if i else "2") for e in range(10) for i in range(10)]
    known = [(f"e{e}", "2" if e == 0 else "1") for e in range(10)]
    assert_allclose(veracity.evaluate(vote(rows), truth(known)).calibration_error, 0.0, atol=1e-12)


def test_a_threshold_out_of_range_is_refused():
    with pytest.raises(veracity.errors.ParameterError, match="threshold must be between 0 and 1"):
        veracity.evaluate(vote(CLAIMS), truth([("x", "1")]), threshold=2)


def test_a_truth_nobody_claims_is_wrong_even_where_all_claims_are_known_to_be():
    claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x"] * 2, "value": ["1", "2"]})
    known = truth([("x", "3")])
    result = veracity.discover(claims, known=known)
    assert veracity.evaluate(result, known).accuracy == 0.0
    assert result.truths["tied"].to_list() == [False]


def test_the_tolerance_for_numbers_is_that_of_their_attribute():
    columns = ("source", "entity", "attribute", "value")
    rows = [("a", f"e{i}", "pressure", 1e5 + 1000.0 * i) for i in range(5)]
    rows += [("a", f"e{i}", "temperature", 20.0 + i) for i in range(5)]
    claims = pl.DataFrame(rows, schema=list(columns), orient="row")
    known = claims.drop("source").with_columns(
        value=pl.when(pl.col("attribute") == "temperature")
        .then(pl.col("value") + 5)
        .otherwise("value")
    )
    found = veracity.evaluate(veracity.discover(claims, kind="numeric"), known)
    assert dict(found.by_attribute.select("attribute", "within").iter_rows()) == {
        "pressure": 1.0,
        "temperature": 0.0,
    }


def test_truths_that_the_run_knew_are_told():
    found = vote(CLAIMS, known=truth([("x", "2")]))
    assert veracity.evaluate(found, truth([("y", "1")])).notes == []
    (note,) = veracity.evaluate(found, truth([("x", "2"), ("y", "1")])).notes
    assert note.startswith("1 of the 2 items judged was known to the run")


def test_measures_are_printed_as_a_table(flights):
    found = veracity.evaluate(veracity.discover(flights.claims), flights.truth)
    assert f"│ all       │    400 │    {found.accuracy:.3f} │" in str(found)
    compared = veracity.compare(flights.claims, flights.truth, algorithms=["majority-vote"])
    assert "majority-vote" in str(compared)
    assert "Result" not in str(compared)
