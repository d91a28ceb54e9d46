from __future__ import annotations

import polars as pl
import pytest

import veracity
from veracity.algorithms import CATALOGUE


def test_all_algorithms_are_compared_unless_some_are_named(flights):
    found = veracity.compare(flights.claims, flights.truth)
    for_values = [name for name, entry in CATALOGUE.items() if "categorical" in entry.make().kinds]
    assert found.table["algorithm"].to_list() == for_values
    right = dict(found.table.select("algorithm", "accuracy").iter_rows())
    assert right["ltd-rbm"] > right["majority-vote"]


def test_each_row_is_what_discover_and_evaluate_say(flights):
    table = veracity.compare(flights.claims, flights.truth, algorithms=["mle"]).table
    alone = veracity.discover(flights.claims, "mle")
    row = table.row(0, named=True)
    assert row["accuracy"] == veracity.evaluate(alone, flights.truth).accuracy
    assert (row["rounds"], row["converged"]) == (alone.run["rounds"], alone.converged)


def test_agreement_needs_no_truth(two_against_one):
    found = veracity.compare(two_against_one, algorithms=["majority-vote", "mle", "ltd-rbm"])
    assert found.agreement["agreement"].to_list() == [1.0, 1.0, 1.0]
    assert "accuracy" not in found.table.columns


def test_one_failing_algorithm_does_not_stop_the_others(flights):
    found = veracity.compare(flights.claims, algorithms=["dawid-skene", "majority-vote"])
    failed = dict(found.table.select("algorithm", "failed").iter_rows())
    assert "distinct values" in failed["dawid-skene"]
    assert "ParameterError" not in failed["dawid-skene"]  # its message says enough
    assert failed["majority-vote"] is None
    assert list(found.results) == ["majority-vote"]


def test_algorithms_of_ones_own_making_go_under_names_of_ones_own(two_against_one):
    mine = {"careful": veracity.LTDRBM(learning_rate=0.001), "bold": veracity.LTDRBM()}
    found = veracity.compare(two_against_one, algorithms=mine)
    assert found.table["algorithm"].to_list() == ["careful", "bold"]


def test_two_algorithms_of_one_name_are_both_shown(two_against_one):
    found = veracity.compare(
        two_against_one, algorithms=[veracity.LTDRBM(), veracity.LTDRBM(decay=1)]
    )
    assert found.table["algorithm"].to_list() == ["ltd-rbm", "ltd-rbm again"]


def test_only_algorithms_for_the_kind_of_claims_are_compared():
    claims = pl.DataFrame({"source": ["a", "b"], "fact": ["p", "p"], "claim": [True, False]})
    names = veracity.compare(claims, kind="binary").table["algorithm"].to_list()
    assert "mle" in names
    assert not {"dawid-skene", "ltd-rbm-c", "gtm"} & set(names)


def test_agreement_on_several_truths_is_on_all_of_them():
    rows = [(s, "x", v) for s in "abc" for v in "12"] + [("d", "x", "3"), ("d", "y", "1")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    mine = {"all": veracity.MajorityVote(), "same": veracity.MajorityVote()}
    found = veracity.compare(claims, kind="multiple", algorithms=mine)
    assert found.agreement["agreement"].to_list() == [1.0]


def test_a_truth_that_cannot_be_read_is_an_error_at_once(two_against_one):
    with pytest.raises(veracity.errors.UnreadableFile):
        veracity.compare(two_against_one, "no such file.csv")


@pytest.mark.parametrize(
    "given", [["majority-vote", "mle"], "mle", veracity.MLE(), [veracity.MLE()], [veracity.MLE]]
)
def test_algorithms_in_the_place_of_the_truth_are_told_so(two_against_one, given):
    with pytest.raises(veracity.errors.ParameterError, match=r"algorithms=.*names"):
        veracity.compare(two_against_one, given)


def test_a_class_in_the_place_of_an_algorithm_is_told_to_be_called(two_against_one):
    with pytest.raises(veracity.errors.ParameterError, match=r"MLE is a class; call it: MLE\(\)"):
        veracity.compare(two_against_one, algorithms=[veracity.MLE])
    with pytest.raises(veracity.errors.ParameterError, match=r"MLE is a class; call it: MLE\(\)"):
        veracity.discover(two_against_one, veracity.MLE)


def test_an_unknown_name_is_an_error_not_a_failed_row(two_against_one):
    with pytest.raises(veracity.errors.ParameterError, match="no algorithm 'best'"):
        veracity.compare(two_against_one, algorithms=["best"])


def test_an_algorithm_refuses_a_kind_of_claims_it_is_not_for():
    claims = pl.DataFrame({"source": ["a"], "entity": ["x"], "value": ["1"]})
    with pytest.raises(
        veracity.errors.ParameterError, match="dawid-skene is for categorical claims"
    ):
        veracity.discover(claims, "dawid-skene", kind="multiple")


def test_an_algorithm_that_breaks_in_any_way_does_not_stop_the_others(two_against_one):
    def broken(one, other):
        raise KeyError(one)

    mine = {"broken": veracity.TruthFinder(similarity=broken), "vote": veracity.MajorityVote()}
    found = veracity.compare(two_against_one, algorithms=mine)
    assert dict(found.table.select("algorithm", "failed").iter_rows())["broken"] == "KeyError: '1'"
    assert list(found.results) == ["vote"]


def test_truths_of_nothing_that_is_claimed_are_an_error(two_against_one):
    with pytest.raises(veracity.errors.NoClaims, match="are the names the same"):
        veracity.compare(two_against_one, pl.DataFrame({"entity": ["q"], "value": ["1"]}))


def test_known_truths_are_held_by_all_that_are_compared(two_against_one):
    known = pl.DataFrame({"entity": ["x"], "value": ["2"]})
    found = veracity.compare(two_against_one, known=known, algorithms=["mle", "ltd-rbm"])
    values = [result.truths["value"].to_list() for result in found.results.values()]
    assert values == [["2"], ["2"]]


@pytest.mark.parametrize("nothing", [[], {}, ()])
def test_to_compare_no_algorithm_is_refused(nothing, two_against_one):
    with pytest.raises(
        veracity.errors.ParameterError, match="no algorithm is named; leave algorithms out to"
    ):
        veracity.compare(two_against_one, algorithms=nothing)
