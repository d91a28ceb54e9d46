from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from veracity.encoding.block import UNKNOWN
from veracity.encoding.encode import encode
from veracity.errors import ParameterError
from veracity.inspect.profiling import accuracy_of_source, entropy_of_item, profile
from veracity.reading.claims import read_claims


def table(rows, columns=("source", "entity", "value")):
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def encoded(rows, columns=("source", "entity", "value"), kind="categorical"):
    return encode(read_claims(table(rows, columns), kind=kind))


def with_truth(encoded, known):
    (block,) = encoded.blocks
    return encoded.with_known([block._replace(known_of_fact=np.array(known, dtype=np.int8))])


SMALL = [
    *[(s, "x", "1") for s in "abc"], ("d", "x", "2"),  # three against one
    ("a", "y", "1"), ("b", "y", "2"),                  # one against one
    ("a", "z", "1"),                                   # alone
    ("a", "w", "1"), ("d", "w", "1"),                  # agreed
]  # fmt: skip
SMALL_TRUTH = table([("x", "1"), ("y", "2"), ("z", "9")], ("entity", "value"))
THREE_TO_ONE = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))

ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz"), st.sampled_from("123")),
    min_size=1,
    max_size=40,
)


# --- worked out by hand ---------------------------------------------------------------------------


def test_two_sources_that_agree_have_no_entropy():
    assert entropy_of_item(encoded([("a", "x", "1"), ("b", "x", "1")])).tolist() == [0.0]


@pytest.mark.parametrize("n_values", [2, 3, 7])
def test_an_equal_split_has_entropy_one_however_many_values(n_values):
    rows = [(f"{n}-{v}", "x", str(v)) for v in range(n_values) for n in range(3)]
    assert_allclose(entropy_of_item(encoded(rows)), 1.0)


def test_characteristics_of_a_small_table():
    found = profile(table(SMALL), SMALL_TRUTH)
    assert (found.items, found.claims, found.sources, found.facts) == (4, 9, 4, 6)
    assert found.entropy == pytest.approx((THREE_TO_ONE + 1 + 0 + 0) / 4)
    assert (found.contested, found.single, found.self_contradicting) == (0.5, 0.25, 0)
    assert (found.known, found.coverage) == (3, 0.75)
    assert found.ceiling == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx((1 / 3 + 1 + 1 + 0) / 4)


def test_spreads_of_a_small_table():
    found = profile(table(SMALL))
    per_source = found.claims_per_source  # a 4, b 2, c 1, d 2
    assert (per_source.min, per_source.median, per_source.max) == (1, 2.0, 4)
    assert (per_source.lower_quartile, per_source.upper_quartile) == (1.75, 2.5)
    assert (found.values_per_item.mean, found.values_per_item.max) == (1.5, 2)
    assert (found.claims_per_item.mean, found.claims_per_item.max) == (2.25, 4)


def test_sources_of_a_small_table():
    rows = profile(table(SMALL), SMALL_TRUTH).by_source.rows_by_key("source", named=True)
    assert list(rows) == ["a", "b", "d", "c"]  # those with most claims first
    (a,), (b,), (d,) = rows["a"], rows["b"], rows["d"]
    assert (a["claims"], a["items"], a["share_of_items"]) == (4, 4, 1.0)
    assert a["agreement"] == pytest.approx((2 / 3 + 0 + 1) / 3)  # of z nobody else speaks
    assert a["majority"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert (a["known"], a["accuracy"]) == (3, pytest.approx(1 / 3))
    assert (b["known"], b["accuracy"]) == (2, 1.0)
    assert (d["agreement"], d["majority"], d["accuracy"]) == (0.5, 0.5, 0.0)


def test_attributes_add_up_to_the_whole():
    rows = [(s, e, "size" if e < "y" else "age", v) for s, e, v in SMALL]
    truth = SMALL_TRUTH.with_columns(attribute=pl.Series(["size", "age", "age"]))
    found = profile(table(rows, ("source", "entity", "attribute", "value")), truth)
    by = found.by_attribute
    assert by["attribute"].to_list() == ["age", "size"]
    assert (by["items"].sum(), by["claims"].sum()) == (found.items, found.claims)
    assert (by["entropy"] * by["items"]).sum() / 4 == pytest.approx(found.entropy)
    assert by["contested"].to_list() == [0.5, 0.5]
    assert by["values_per_item"].to_list() == [1.5, 1.5]
    assert by["coverage"].to_list() == [1.0, 0.5]
    assert by["ceiling"].to_list() == [0.5, 1.0]


def test_a_source_that_names_two_values_is_half_right_where_one_is_true():
    claims = encoded([("a", "x", "1"), ("a", "x", "2"), ("a", "y", "1")])
    assert accuracy_of_source(with_truth(claims, [1, 0, 1])).tolist() == [0.75]
    assert profile(table([("a", "x", "1"), ("a", "x", "2")])).self_contradicting == 1


def test_a_source_of_which_nothing_is_known_has_no_accuracy():
    claims = encoded([("a", "x", "1"), ("b", "y", "1")])
    assert_allclose(accuracy_of_source(with_truth(claims, [1, UNKNOWN])), [1.0, np.nan])
    truth = table([("x", "1")], ("entity", "value"))
    found = profile(table([("a", "x", "1"), ("b", "y", "1")]), truth)
    assert (found.accuracy, found.by_source["accuracy"].to_list()) == (1.0, [1.0, None])


# --- kinds of claims ------------------------------------------------------------------------------


BINARY = [
    ("a", "f", True),
    ("b", "f", True),
    ("c", "f", False),
    ("a", "g", False),
    ("b", "g", False),
]


def test_values_of_a_binary_fact_are_true_and_false():
    truth = table([("f", True), ("g", False)], ("fact", "claim"))
    found = profile(table(BINARY, ("source", "fact", "claim")), truth, kind="binary")
    third = -(math.log2(1 / 3) + 2 * math.log2(2 / 3)) / 3
    assert found.entropy == pytest.approx((third + 0) / 2)
    assert (found.items, found.claims, found.facts, found.contested) == (2, 5, 2, 0.5)
    assert found.by_source["accuracy"].to_list() == [1.0, 1.0, 0.0]
    assert found.by_source["agreement"].to_list() == [0.75, 0.75, 0.0]
    assert (found.ceiling, found.by_attribute) == (1.0, None)


def test_sources_that_name_the_same_list_agree_where_several_values_may_be_true():
    rows = [(s, "x", v) for s in "ab" for v in "12"]
    assert profile(table(rows), kind="multiple").entropy == 0.0
    assert profile(table(rows), kind="multiple").contested == 0.0
    assert profile(table(rows)).entropy == pytest.approx(1.0)  # one of the two must be false


def test_a_value_that_half_the_sources_leave_out_has_entropy_one():
    rows = [("a", "x", "1"), ("a", "x", "2"), ("b", "x", "1")]
    claims = encoded(rows, kind="multiple")
    # 0 for the value 1, 1 for the value 2
    assert entropy_of_item(claims).tolist() == pytest.approx([0.5])
    assert profile(table(rows), kind="multiple").contested == 1.0


def test_numbers_are_equal_or_not():
    rows = [("a", "x", "1.0"), ("b", "x", "1"), ("c", "x", "1.1"), ("d", "x", "7")]
    found = profile(table(rows), kind="numeric")
    assert found.values_per_item.max == 3
    assert found.entropy == pytest.approx(1.5 * math.log(2) / math.log(3))


@pytest.mark.parametrize("kind", ["categorical", "multiple", "numeric"])
def test_a_lone_claim_has_a_profile_without_gaps(kind):
    found = profile(table([("a", "x", "1")]), kind=kind)
    assert (found.entropy, found.contested, found.single) == (0.0, 0.0, 1.0)
    assert found.by_source.row(0) == ("a", 1, 1, 1.0, None, None)
    assert found.pairs.is_empty()
    assert not any(isinstance(x, float) and math.isnan(x) for x in found.to_dict().values())


def test_a_lone_binary_claim_has_a_profile():
    found = profile(table([("a", "f", False)], ("source", "fact", "claim")), kind="binary")
    assert (found.entropy, found.claims, found.values_per_item.max) == (0.0, 1, 1)


# --- what it is given and gives back --------------------------------------------------------------


def test_pandas_in_pandas_out():
    found = profile(table(SMALL).to_pandas())
    assert type(found.by_source) is type(found.pairs) is type(table(SMALL).to_pandas())


def test_measures_are_json_and_null_where_nothing_is_known():
    assert profile(table(SMALL)).to_dict()["accuracy"] is None
    measures = json.loads(json.dumps(profile(table(SMALL), SMALL_TRUTH).to_dict()))
    assert measures["claims_per_source"]["max"] == 4
    assert measures["coverage"] == 0.75


def test_the_text_says_what_matters():
    text = repr(profile(table(SMALL), SMALL_TRUTH))
    assert "9 claims of 4 sources about 4 items (6 facts)" in text
    assert "the truth of 3 items (75.00%) is known; average accuracy 58.33%" in text


def test_truths_about_other_items_are_noted():
    found = profile(table(SMALL), pl.DataFrame({"entity": ["q"], "value": ["1"]}))
    assert (found.known, found.accuracy, found.ceiling) == (0, None, None)
    assert "no known truth is about these items; are the names the same?" in found.notes


def test_columns_can_be_named():
    renamed = table(SMALL, ("who", "what", "says"))
    parts = {"source": "who", "entity": "what", "value": "says"}
    assert profile(renamed, columns=parts).claims == 9


def test_kind_is_settled_when_claims_are_read():
    with pytest.raises(ParameterError, match="cannot be changed"):
        profile(read_claims(table(SMALL)), kind="multiple")


def test_progress_is_told():
    phases = []
    profile(table(SMALL), progress=lambda phase, done, total: phases.append(phase))
    assert phases == ["reading", "encoding", "profiling"]


# --- invariants -----------------------------------------------------------------------------------


def numbers(found):
    return [
        value
        for measure in found.to_dict().values()
        for value in (measure.values() if isinstance(measure, dict) else [measure])
        if isinstance(value, int | float)
    ]


@given(ROWS, st.sampled_from(["categorical", "multiple", "numeric"]))
def test_entropy_and_shares_are_between_zero_and_one(rows, kind):
    claims = encoded(rows, kind=kind)
    entropy = entropy_of_item(claims)
    assert ((entropy >= 0.0) & (entropy <= 1.0)).all()
    found = profile(table(rows), kind=kind)
    measures = found.by_source.select("agreement", "majority", "share_of_items").to_numpy()
    assert np.nanmin(measures) >= 0.0
    assert np.nanmax(measures) <= 1.0


@given(ROWS, st.randoms())
def test_order_and_repetition_of_rows_change_nothing(rows, random):
    shuffled = [*rows, *rows]
    random.shuffle(shuffled)
    assert numbers(profile(table(shuffled), SMALL_TRUTH)) == numbers(
        profile(table(rows), SMALL_TRUTH)
    )


@given(ROWS, st.permutations("abcd"), st.permutations("123"))
def test_renaming_sources_and_values_changes_nothing(rows, sources, values):
    new_source, new_value = (
        dict(zip("abcd", sources, strict=True)),
        dict(zip("123", values, strict=True)),
    )
    renamed = [(new_source[s], e, new_value[v]) for s, e, v in rows]
    assert_allclose(numbers(profile(table(renamed))), numbers(profile(table(rows))))


# --- pairs ----------------------------------------------------------------------------------------


def drawn(seed=0):
    """Ten honest sources, right in 70 %, and a mirror that repeats the first, right or wrong."""
    rng = np.random.default_rng(seed)
    said = np.where(rng.random((10, 200)) < 0.7, 0, rng.integers(1, 6, (10, 200)))
    said = np.vstack([said, said[0]])
    rows = [(f"s{s:02}", f"e{e:03}", str(said[s, e])) for s in range(11) for e in range(200)]
    truth = pl.DataFrame({"entity": [f"e{e:03}" for e in range(200)], "value": ["0"] * 200})
    return table(rows), truth


def test_a_mirror_and_its_original_are_named_with_the_mistakes_they_share():
    claims, truth = drawn()
    (pair,) = profile(claims).pairs.to_dicts()
    assert {pair["source"], pair["original"]} == {"s00", "s10"}
    assert (pair["shared"], pair["agreeing"]) == (200, 200)
    said = claims.filter(source="s00").join(truth, on="entity", suffix="_true")
    n_wrong = (said["value"] != said["value_true"]).sum()
    assert n_wrong - 5 <= pair["mistakes"] <= n_wrong + 5  # as the others see them
    assert pair["expected_mistakes"] < n_wrong / 5


def test_agreement_on_what_is_true_is_no_evidence():
    rows = [(s, f"e{n}", "1") for s in "abcdef" for n in range(30)]
    assert profile(table(rows)).pairs.is_empty()


def test_pairs_are_named_in_claims_of_every_kind():
    rng = np.random.default_rng(4)
    said = np.where(rng.random((8, 300)) < 0.8, 0, rng.integers(1, 4, (8, 300)))
    said[7] = said[6]
    rows = [(f"s{s}", f"e{e}", f"v{said[s, e]}") for s in range(8) for e in range(300)]
    facts = [(source, entity, value == "v0") for source, entity, value in rows]
    lists = rows + [(source, entity, f"{value} too") for source, entity, value in rows]
    numbers = [(source, entity, float(value[1])) for source, entity, value in rows]
    for found in (
        profile(table(rows)),
        profile(table(facts, ("source", "fact", "claim")), kind="binary"),
        profile(table(lists), kind="multiple"),
        profile(table(numbers), kind="numeric"),
    ):
        assert found.pairs.select("source", "original").rows() in ([("s6", "s7")], [("s7", "s6")])


# --- the paper's table ----------------------------------------------------------------------------


@cache
def profiled(folder):
    return profile(folder / "claims.parquet", folder / "truth.parquet")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "items", "claims", "sources", "coverage"),
    [
        ("flight_raw", 207_908, 2_849_984, 38, "7.71%"),
        ("weather_raw", 30_317, 307_335, 16, "62.96%"),
    ],
)
def test_counts_and_coverage_are_those_of_the_paper(
    name, items, claims, sources, coverage, shared_data
):
    found = profiled(shared_data / name)
    assert (found.items, found.claims, found.sources) == (items, claims, sources)
    assert f"{found.coverage:.2%}" == coverage


@pytest.mark.data
def test_average_accuracy_on_weather_is_that_of_the_paper(shared_data):
    assert f"{profiled(shared_data / 'weather_raw').accuracy:.2%}" == "35.59%"


@pytest.mark.data
def test_preprocessed_weather_is_that_of_the_paper_without_what_is_no_value(shared_data):
    folder = shared_data / "weather_raw"
    no_values = ["Unlimited", "inches", "Barometer:N/A", "--Wd", "ConditionsMostly", "M1/4",
                 "N/AWind:Calm"]  # fmt: skip
    claims = pl.read_parquet(folder / "claims.parquet")
    kept = claims.filter(~pl.col("value").is_in(no_values))
    assert len(claims) - len(kept) == 90
    found = profile(kept, folder / "truth.parquet", normalise=True)
    assert (found.items, found.claims) == (30_181, 306_034)
    assert f"{found.accuracy:.2%} {found.coverage:.2%}" == "40.93% 63.25%"


@pytest.mark.data
def test_average_accuracy_on_flight_is_that_of_the_paper_if_no_source_writes_times_as_truths_do(
    shared_data,
):
    folder = shared_data / "flight_raw"
    is_gate = pl.col("attribute").str.ends_with("gate")
    truth = pl.read_parquet(folder / "truth.parquet").with_columns(
        value=pl.when(is_gate).then("value").otherwise(pl.lit("spelt otherwise"))
    )
    assert f"{profile(folder / 'claims.parquet', truth).accuracy:.2%}" == "6.15%"


@pytest.mark.data
def test_mirrors_among_the_flight_sites_are_on_top(shared_data):
    pairs = profiled(shared_data / "flight_raw").pairs.head(10)
    mirrors = [
        {"flightaware", "wunderground", "flightwise"},
        {"mytripandmore", "orbitz"},
        {"flights", "flylouisville", "businesstravellogue"},
        {"allegiantair", "flightview", "foxbusiness", "panynj"},
    ]
    for source, other in pairs.select("source", "original").iter_rows():
        assert any({source, other} <= group for group in mirrors)
