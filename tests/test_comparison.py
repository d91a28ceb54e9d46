from __future__ import annotations

import subprocess
import sys

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
    assert (row["rounds"], row["converged"]) == (alone.run.rounds, alone.converged)


def test_differences_are_from_the_best_on_the_same_truths(flights):
    """Ten truths: the vote is right on nine, and on one of those another algorithm is wrong."""
    vote, other = (veracity.discover(flights.claims, name) for name in ("majority-vote", "mle"))
    keys = ["entity", "attribute"]
    both = vote.truths.join(other.truths, on=keys, suffix="_other").filter(~pl.col("tied"))
    same = both.filter(pl.col("value") == pl.col("value_other")).head(8)
    differing = both.filter(pl.col("value") != pl.col("value_other")).head(2)
    truth = pl.concat([same.select(*keys, "value"), differing.select(*keys, "value")])
    found = veracity.compare(flights.claims, truth, algorithms=["majority-vote", "mle"])
    behind = dict(zip(found.table["algorithm"], found.table["behind"], strict=True))
    assert behind == {"majority-vote": 0.0, "mle": pytest.approx(0.2)}
    errors = found.table["error"].to_list()
    mean = 2 / 12  # Agresti and Min (2005): two pairs that differ, two truths more, one of them not
    assert errors == [None, pytest.approx(((3 / 12 - mean**2) / 12) ** 0.5)]
    assert any(note.startswith("majority-vote is ahead of mle by no more") for note in found.notes)


def test_numbers_are_compared_by_their_distances():
    claims = pl.DataFrame({
        "source": list("abc") * 3, "entity": list("xxxyyyzzz"),
        "value": [1.0, 1.1, 9.0, 2.0, 2.1, 2.2, 3.0, 3.1, 3.2],
    })  # fmt: skip
    truth = pl.DataFrame({"entity": list("xyz"), "value": [1.0, 2.0, 3.0]})
    found = veracity.compare(claims, truth, kind="numeric", algorithms=["gtm", "crh", "catd"])
    best = found.table["mae"].min()
    assert found.table["behind"].to_list() == pytest.approx((found.table["mae"] - best).to_list())


COMPILING = """
import numpy as np, polars as pl
from numba.core.event import install_recorder
import veracity

rng = np.random.default_rng(0)
n_items, n_sources = 12_000, 10
claims = pl.DataFrame({
    "source": np.tile([f"s{n}" for n in range(n_sources)], n_items),
    "entity": np.repeat([f"e{n}" for n in range(n_items)], n_sources),
    "value": rng.choice(["1", "2"], n_items * n_sources, p=[0.7, 0.3]),
})
phases = []
with install_recorder("numba:compile") as recorder:
    def progress(name, done, total):
        phases.append((name, len(recorder.buffer)))
    veracity.compare(claims, algorithms=["ltd-rbm", "two-estimates"], progress=progress)
    phases.append(("end", len(recorder.buffer)))
names = [name for name, _ in phases]
print(phases[-1][1], phases[-1][1] - phases[names.index("ltd-rbm")][1])
"""


@pytest.mark.slow
def test_everything_is_compiled_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    told = subprocess.run(
        [sys.executable, "-c", COMPILING], capture_output=True, text=True, check=True
    )
    compiled, while_measured = map(int, told.stdout.split())
    assert compiled > 0
    assert while_measured == 0


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
    mine = {
        "careful": veracity.algorithms.LTDRBM(learning_rate=0.001),
        "bold": veracity.algorithms.LTDRBM(),
    }
    found = veracity.compare(two_against_one, algorithms=mine)
    assert found.table["algorithm"].to_list() == ["careful", "bold"]


def test_two_algorithms_of_one_name_are_both_shown(two_against_one):
    found = veracity.compare(
        two_against_one,
        algorithms=[veracity.algorithms.LTDRBM(), veracity.algorithms.LTDRBM(decay=1)],
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
    mine = {"all": veracity.algorithms.MajorityVote(), "same": veracity.algorithms.MajorityVote()}
    found = veracity.compare(claims, kind="multiple", algorithms=mine)
    assert found.agreement["agreement"].to_list() == [1.0]


def test_a_class_in_the_place_of_an_algorithm_is_told_to_be_called(two_against_one):
    with pytest.raises(veracity.errors.ParameterError, match=r"MLE is a class; call it: MLE\(\)"):
        veracity.compare(two_against_one, algorithms=[veracity.algorithms.MLE])
    with pytest.raises(veracity.errors.ParameterError, match=r"MLE is a class; call it: MLE\(\)"):
        veracity.discover(two_against_one, veracity.algorithms.MLE)


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

    mine = {
        "broken": veracity.algorithms.TruthFinder(similarity=broken),
        "vote": veracity.algorithms.MajorityVote(),
    }
    found = veracity.compare(two_against_one, algorithms=mine)
    assert dict(found.table.select("algorithm", "failed").iter_rows())["broken"] == "KeyError: '1'"
    assert list(found.results) == ["vote"]


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
