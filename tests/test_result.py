from __future__ import annotations

import json
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

import veracity
from claims import value_rows
from veracity.io.lazy import LazyTable
from veracity.reading.claims import open_claims
from veracity.reading.options import ReadOptions
from veracity.result.tables import closest_first


def vote(rows, columns=("source", "entity", "value"), **options):
    claims = pl.DataFrame(rows, schema=list(columns), orient="row")
    return veracity.discover(claims, "majority-vote", **options)


def test_truths_show_value_runner_up_and_margin():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "1"), ("d", "x", "2"), ("a", "y", "7")]
    truths = vote(rows).truths.to_dicts()
    assert truths[0] == {
        "entity": "x", "value": "1", "plausibility": 0.75, "runner_up": "2", "margin": 0.5,
        "values": 2, "claims": 4, "contested": True, "tied": False,
    }  # fmt: skip
    assert (truths[1]["runner_up"], truths[1]["margin"], truths[1]["contested"]) == (
        None,
        1.0,
        False,
    )


def test_a_tie_is_told_and_goes_to_the_first_value_in_sorted_order():
    (truth,) = vote([("b", "x", "2"), ("a", "x", "1")]).truths.to_dicts()
    assert (truth["value"], truth["runner_up"], truth["tied"], truth["margin"]) == (
        "1",
        "2",
        True,
        0,
    )


def test_equally_plausible_values_are_decided_by_supporters_first():
    rows = [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "2"), ("d", "x", "1"), ("e", "x", "2")]
    from veracity import Prior
    from veracity.algorithms import LTDRBM, Rate

    useless = {s: Rate(tpr=0.5, fpr=0.5, fixed=True) for s in "abcde"}
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    (truth,) = veracity.discover(claims, LTDRBM(prior=Prior(of_source=useless))).truths.to_dicts()
    assert (truth["value"], truth["tied"]) == ("2", True)


def test_facts_count_supporters_and_opposers():
    rows = [("a", "x", "1"), ("a", "x", "2"), ("b", "x", "2"), ("c", "x", "3")]
    facts = vote(rows).facts
    assert facts["supporters"].to_list() == [1, 2, 1]
    assert facts["opposers"].to_list() == [2, 1, 2]


def test_sources_are_measured_against_the_plausibilities():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "1"), ("d", "x", "2")]
    sources = vote(rows).sources
    assert_allclose(sources["accuracy"], [0.75, 0.75, 0.75, 0.25])
    assert_allclose(sources["tpr"], [0.75, 0.75, 0.75, 0.25])
    assert_allclose(sources["fpr"], [0.25, 0.25, 0.25, 0.75])


def test_rates_nothing_could_tell_are_left_empty():
    sources = vote([("a", "x", "1")]).sources
    assert sources["fpr"].to_list() == [None]


def test_abstaining_keeps_the_item_and_leaves_its_value_empty():
    rows = [("a", "x", "1"), ("b", "x", "2"), ("a", "y", "1")]
    result = vote(rows, min_plausibility=0.6)
    assert result.truths["entity"].to_list() == ["x", "y"]
    assert result.truths["value"].to_list() == [None, "1"]
    assert result.facts["value"].null_count() == 0


def test_several_values_may_be_true():
    rows = [(s, "x", v) for s in "abc" for v in ("knuth", "graham")] + [("d", "x", "doe")]
    result = vote(rows, kind="multiple")
    assert result.truths["value"].to_list() == ["graham", "knuth"]
    assert result.truths["claims"].to_list() == [7, 7]


def test_an_item_none_of_whose_values_passes_the_threshold_is_kept_without_a_value():
    rows = [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "3")]
    truths = vote(rows, kind="multiple").truths
    assert truths.select("entity", "value").rows() == [("x", None)]


def test_binary_facts_are_true_or_false():
    rows = [
        ("a", "p", True),
        ("b", "p", True),
        ("a", "q", False),
        ("b", "r", True),
        ("a", "r", False),
    ]
    truths = vote(rows, ("source", "fact", "claim"), kind="binary").truths
    assert truths["value"].to_list() == [True, False, False]
    assert truths["tied"].to_list() == [False, False, True]
    assert truths["contested"].to_list() == [False, False, True]


def test_binary_sources_are_right_when_they_deny_what_is_false():
    rows = [("a", "p", False), ("b", "p", False), ("c", "p", True)]
    sources = vote(rows, ("source", "fact", "claim"), kind="binary").sources
    assert_allclose(sources["accuracy"], [2 / 3, 2 / 3, 1 / 3])


@given(rows=value_rows())
def test_the_truth_of_an_item_is_a_most_plausible_fact_and_one_of_its_values(rows):
    result = veracity.discover(rows)
    best = result.facts.group_by("entity").agg(pl.col("plausibility").max()).sort("entity")
    assert_allclose(result.truths["plausibility"], best["plausibility"], atol=1e-9)
    chosen = result.truths.join(result.facts, on=["entity", "value"])
    assert len(chosen) == len(result.truths)


# --- saving and loading ---------------------------------------------------------------------------


def test_a_saved_run_says_how_it_was_made(tmp_path, flights):
    veracity.discover(flights.claims, veracity.algorithms.LTDRBM(seed=5)).save(tmp_path / "run")
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["veracity"] == veracity.__version__
    assert run["parameters"]["seed"] == 5
    assert run["parameters"]["prior"]["tpr"] == 0.8
    assert run["input"]["claims"] == len(flights.claims)
    assert set(run["seconds"]) == {"read", "encode", "learn", "tabulate"}


def test_what_was_read_before_takes_no_time_from_the_rest(tmp_path, flights):
    flights.claims.write_csv(tmp_path / "claims.csv")
    stream = open_claims(tmp_path / "claims.csv", ReadOptions())
    stream.seconds = 100.0  # opened long before, and slowly
    assert veracity.discover(stream).run.seconds["encode"] >= 0.0


def test_run_json_is_strict_json(tmp_path):
    claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x"] * 2, "value": ["1", "2"]})
    veracity.discover(claims, "ltm").save(tmp_path / "run")

    def refuse(constant):
        raise AssertionError(constant)

    json.loads((tmp_path / "run" / "run.json").read_text(), parse_constant=refuse)


def test_loading_what_is_no_run_is_a_clear_error(tmp_path):
    with pytest.raises(veracity.errors.UnreadableFile, match=r"no run\.json.*result\.save"):
        veracity.load(tmp_path)
    with pytest.raises(veracity.errors.UnreadableFile, match="no such folder"):
        veracity.load(tmp_path / "nowhere")


def test_a_result_sums_itself_up(two_against_one):
    text = repr(veracity.discover(two_against_one))
    assert "veracity on 3 claims of 3 sources about 1 item (2 facts)" in text


def test_a_numpy_source_name_in_a_prior_does_not_keep_a_run_from_being_saved(tmp_path):
    prior = veracity.Prior(of_source={np.int64(1): veracity.algorithms.Rate(tpr=0.9)})
    claims = pl.DataFrame({"source": [1, 2], "entity": ["x", "x"], "value": ["a", "b"]})
    result = veracity.discover(claims, veracity.algorithms.LTDRBM(prior=prior))
    assert veracity.load(result.save(tmp_path / "run")).truths["value"].to_list() == ["a"]


def test_a_parameter_that_cannot_be_copied_does_not_keep_a_run_from_being_told(two_against_one):
    import threading

    class Similar:
        lock = threading.Lock()

        def __init__(self):
            self.own = threading.Lock()

        def __call__(self, one, other):
            return 0.0

    result = veracity.discover(
        two_against_one, veracity.algorithms.TruthFinder(similarity=Similar())
    )
    assert "Similar" in result.run.parameters["similarity"]


def test_saving_tells_how_far_it_is(tmp_path, two_against_one):
    told = []
    result = veracity.discover(two_against_one)
    result.save(tmp_path / "run", progress=lambda *step: told.append(step))
    files = json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    rows = [file["rows"] for file in files.values() if "rows" in file]
    assert [phase for phase, _, _ in told] == ["writing"] * (len(rows) + 1)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert {told[-1][1], *(total for _, _, total in told)} == {sum(rows)}


def test_attributes_list_how_often_a_source_is_right_on_each(tmp_path):
    rows = [
        ("a", "x", "gate", "1"), ("b", "x", "gate", "1"), ("c", "x", "gate", "2"),
        ("a", "x", "time", "3"), ("b", "x", "time", "3"), ("c", "y", "gate", "1"),
    ]  # fmt: skip
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    result = veracity.discover(claims, "majority-vote")
    expected = [
        ("a", "gate", 2 / 3, 1), ("a", "time", 1.0, 1), ("b", "gate", 2 / 3, 1),
        ("b", "time", 1.0, 1), ("c", "gate", (1 / 3 + 1.0) / 2, 2),
    ]  # fmt: skip
    for table in (result, veracity.load(result.save(tmp_path / "run"))):
        for row, told in zip(table.attributes.rows(), expected, strict=True):
            assert row == (*told[:2], pytest.approx(told[2]), told[3])


@pytest.mark.parametrize("kind", ["binary", "numeric", "categorical"])
def test_without_attributes_there_is_no_table_of_them(kind):
    claims = {"source": ["a", "b"], "fact": ["f", "f"], "claim": [True, False]}
    if kind != "binary":
        claims = {"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]}
    assert veracity.discover(pl.DataFrame(claims), kind=kind).attributes is None


def test_tables_of_several_blocks_are_made_when_asked_for_and_then_kept(flights, tmp_path):
    whole = veracity.discover(flights.claims)
    result = veracity.discover(flights.claims, engine=veracity.Local(claims_per_block=300))
    assert len(result.encoded.blocks) > 1
    before = pickle.loads(pickle.dumps(result.tables))
    result.save(tmp_path / "before")
    assert all(isinstance(vars(result.tables)[name], LazyTable) for name in ("truths", "facts"))
    assert result.tables.facts is result.tables.facts
    assert_frame_equal(result.records(), whole.records())
    assert_frame_equal(before.facts, result.tables.facts)
    assert_frame_equal(result.tables.truths, whole.tables.truths)
    assert_frame_equal(result.tables.facts, whole.tables.facts)
    result.save(tmp_path / "after")
    for name in ("truths", "facts", "sources"):
        once, again = (
            pl.read_parquet(tmp_path / at / f"{name}.parquet") for at in ("before", "after")
        )
        assert_frame_equal(once, again)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.25 + 1e-12, 1.0]), st.booleans())),
    st.integers(1, 5),
)
def test_closest_calls_come_first_and_of_the_same_the_first(rows, most):
    margin, contested = zip(*rows, strict=True) if rows else ((), ())
    types = {"margin": pl.Float64, "contested": pl.Boolean}
    truths = pl.DataFrame({"margin": margin, "contested": contested}, types).with_row_index("item")
    order = sorted(range(len(rows)), key=lambda i: (not contested[i], round(margin[i], 9), i))
    assert closest_first(truths, most)["item"].to_list() == order[:most]
