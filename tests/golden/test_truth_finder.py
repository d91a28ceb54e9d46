"""TruthFinder: by hand, by law, and by another library."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from test_pasternack import claims_of, discover, plausibilities, trusts

from claims import binary_rows, value_rows
from veracity.algorithms.truth_finder import TruthFinder
from veracity.errors import ParameterError
from veracity.values import Likeness

THEIRS = json.loads(Path(__file__).with_name("truthdiscovery.json").read_text("utf-8"))["sets"]


def says(*values):
    """One source after the other on one item."""
    return claims_of([(f"s{n}", "x", value) for n, value in enumerate(values)])


# --- by hand --------------------------------------------------------------------------------------


def test_one_round_by_hand():
    # Trust 0.9 is evidence -ln 0.1; two sources have twice that. Dampened by 0.3 the confidences
    # are 1 / (1 + 0.1^0.6) and 1 / (1 + 0.1^0.3).
    result = discover(says("1", "1", "2"), TruthFinder(similarity=None, max_rounds=1))
    both, one = 1 / (1 + 0.1**0.6), 1 / (1 + 0.1**0.3)
    assert_allclose(list(trusts(result).values()), [both, both, one])
    # Judged from these trusts: odds exp(0.3 · evidence), of which one is right.
    odds = [(1 - both) ** -0.6, (1 - one) ** -0.3]
    assert plausibilities(result)["x", "1"] == pytest.approx(odds[0] / sum(odds))


def test_one_round_with_similar_values_by_hand():
    # 9 and 10 are similar by 0.9, so each implies the other by 0.9 - 0.5, at half weight 0.2.
    # The evidence for 10 is that of 2 + 0.2 · 1 sources, for 9 that of 1 + 0.2 · 2.
    result = discover(says("10", "10", "9"), TruthFinder(max_rounds=1))
    ten, nine = 1 / (1 + 0.1**0.66), 1 / (1 + 0.1**0.42)
    assert_allclose(list(trusts(result).values()), [ten, ten, nine])


def test_a_similarity_at_the_base_implies_nothing():
    rows = says("1", "1", "2")  # similar by one half
    assert discover(rows, TruthFinder()).facts.equals(
        discover(rows, TruthFinder(similarity=None)).facts
    )


def test_values_that_agree_roughly_outweigh_two_that_agree_exactly():
    # Around 30: 1 + 0.5 · 4 · (0.94 - 0.5) - 0.5 · 2 · 0.2 > 1.6; 100: 2 - 0.5 · 5 · 0.2 = 1.5.
    rows = says("100", "100", "28", "29", "30", "31", "32")
    assert discover(rows, TruthFinder()).truths["value"].to_list() == ["30"]
    assert discover(rows, TruthFinder(similarity=None)).truths["value"].to_list() == ["100"]


def test_a_fact_and_its_denial_by_hand():
    # Two call it true, one false. The denial speaks against the fact by 0.5 at half weight:
    # 2 - 0.25 · 1 and 1 - 0.25 · 2 sources' worth.
    rows = pl.DataFrame({"source": list("abc"), "fact": ["f"] * 3, "claim": [True, True, False]})
    result = discover(rows, TruthFinder(max_rounds=1), "binary")
    true, false = 1 / (1 + 0.1 ** (0.3 * 1.75)), 1 / (1 + 0.1 ** (0.3 * 0.5))
    assert_allclose(list(trusts(result).values()), [true, true, false])


# --- by law ---------------------------------------------------------------------------------------


def test_items_with_too_many_values_are_not_compared():
    rows = says("100", "100", "28", "29", "30", "31", "32")
    few = discover(rows, TruthFinder(most_values=5))
    assert few.facts.equals(discover(rows, TruthFinder(similarity=None)).facts)


def test_a_function_of_your_own_tells_what_is_similar():
    # Each Hill: 1 + 0.5 · (4 · 0.5 - 2 · 0.5) = 1.5; Dale: 2 - 0.5 · 5 · 0.5 = 0.75.
    rows = says("Hill, J", "James Hill", "J Hill", "J. Hill", "Hill", "Peter Dale", "Peter Dale")
    by_name = TruthFinder(similarity=lambda a, b: float("Hill" in a and "Hill" in b))
    assert "Hill" in discover(rows, by_name).truths["value"][0]
    assert discover(rows, TruthFinder(similarity=None)).truths["value"].to_list() == ["Peter Dale"]


@settings(max_examples=25)
@given(rows=binary_rows())
def test_a_denied_fact_is_a_fact_with_two_values_that_have_nothing_in_common(rows):
    as_values = rows.select("source", entity="fact", value=pl.col("claim").cast(pl.String))
    one = discover(rows, TruthFinder(), "binary")
    other = discover(as_values, TruthFinder(similarity=lambda a, b: 0.0))
    assert_allclose(list(trusts(one).values()), list(trusts(other).values()), atol=1e-9)
    said = plausibilities(other)
    for fact, plausibility in one.facts.select("fact", "plausibility").iter_rows():
        if {(fact, "true"), (fact, "false")} <= said.keys():
            assert said[fact, "true"] == pytest.approx(plausibility, abs=1e-9)


@settings(max_examples=25)
@given(rows=value_rows())
def test_known_truths_are_held_and_their_sources_trusted(rows):
    known = rows.unique("entity", keep="first", maintain_order=True).drop("source")
    result = discover(rows, TruthFinder(), known=known)
    is_right = pl.col("value") == pl.col("entity").replace_strict(dict(known.iter_rows()))
    share_right = rows.unique().group_by("source").agg(is_right.mean())
    assert trusts(result) == pytest.approx(dict(share_right.iter_rows()))


def test_no_number_of_agreeing_sources_makes_evidence_infinite():
    rows = pl.DataFrame({"source": range(500), "entity": ["x"] * 500, "value": ["1"] * 500})
    result = discover(rows.vstack(rows.with_columns(entity=pl.lit("y"))), TruthFinder())
    assert result.converged
    assert result.sources["trust"].is_finite().all()
    assert (result.facts["plausibility"] == 1.0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TruthFinder(initial_trust=1.0), "TruthFinder: initial_trust must be between 0 an"),
        (lambda: TruthFinder(dampening=0), "TruthFinder: dampening must be above 0, got 0"),
        (lambda: TruthFinder(influence=-1), "TruthFinder: influence must be at least 0.0, got -1"),
        (lambda: TruthFinder(most_values=0), "TruthFinder: most_values must be at least 1, got 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


# --- by another library: truthdiscovery 1.0.4, see make_truthdiscovery.py -------------------------


@pytest.mark.parametrize(
    ("name", "mark", "similarity"),
    [
        ("words", "", None),
        ("few", "", None),
        ("true or false", "", None),
        ("numbers", "", None),
        ("numbers", ", similar", Likeness()),
        ("one claim each", "", None),
    ],
)
def test_trusts_and_confidences_are_those_of_truthdiscovery(name, mark, similarity):
    found = THEIRS[name]["found"]
    ours = discover(claims_of(THEIRS[name]["claims"]), TruthFinder(similarity=similarity))
    assert ours.run.rounds == found[f"TruthFinder{mark}"]["iterations"]
    assert trusts(ours) == pytest.approx(found[f"TruthFinder{mark}"]["trust"], rel=1e-8)
    # It tells the confidences its last trusts came from, we those that come from the last trusts:
    # its own of one round more. And ours are odds that one of them is right.
    for item, confidence in found[f"TruthFinder, one round more{mark}"]["belief"].items():
        odds = {value: s / (1 - s) for value, s in confidence.items()}
        for value, of_value in odds.items():
            expected = of_value / sum(odds.values())
            assert plausibilities(ours)[item, value] == pytest.approx(expected, rel=1e-7)


def test_truthdiscovery_stops_for_all_where_one_source_is_fully_trusted_and_we_go_on():
    # A hundred agree: evidence 230, dampened 69, and 1 / (1 + exp(-69)) is 1 in floating point.
    # Their evidence would be infinite, so it stops after one round, for everyone.
    theirs = THEIRS["a hundred agree"]["found"]["TruthFinder"]
    assert theirs["iterations"] == 1
    claims = claims_of(THEIRS["a hundred agree"]["claims"])
    one_round = discover(claims, TruthFinder(similarity=None, max_rounds=1))
    assert trusts(one_round) == pytest.approx(theirs["trust"])
    ours = discover(claims, TruthFinder(similarity=None))
    assert ours.run.rounds > 1
    assert ours.converged
    assert trusts(ours)["u"] < theirs["trust"]["u"] - 0.05


def test_truthdiscovery_as_it_comes_stops_a_hundred_times_sooner_than_the_paper_says():
    found = THEIRS["words"]["found"]
    assert found["TruthFinder, as it comes"]["iterations"] < found["TruthFinder"]["iterations"]
    loose = discover(
        claims_of(THEIRS["words"]["claims"]), TruthFinder(similarity=None, tolerance=1e-3)
    )
    assert trusts(loose) == pytest.approx(found["TruthFinder, as it comes"]["trust"], rel=1e-8)
