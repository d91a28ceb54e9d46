"""Vote, sums, TruthFinder and SSTF: by hand, by law, and by another library."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, binary_rows, started, states, value_rows
from veracity.algorithms import (
    SSTF,
    AverageLog,
    Investment,
    MajorityVote,
    PooledInvestment,
    Sums,
    TruthFinder,
)
from veracity.algorithms.base import Turn
from veracity.errors import NotConverged
from veracity.values import Likeness

# --- sums, average·log, investment and pooled investment: by hand, by law, and by another lib -----


KINDS = (Sums, AverageLog, Investment, PooledInvestment)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
THEIRS = json.loads(Path(__file__).with_name("truthdiscovery.json").read_text("utf-8"))["sets"]


def discover(claims, algorithm, kind="categorical", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return veracity.discover(claims, algorithm, kind=kind, **options)


def claims_of(rows):
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def trusts(result):
    return dict(result.sources.select("source", "trust").iter_rows())


def plausibilities(result):
    return {row[:2]: row[2] for row in result.facts.drop("supporters", "opposers").iter_rows()}


# --- by hand --------------------------------------------------------------------------------------

# Of x, sources a and b say 1, c says 2; of y, a alone says 1. So a makes two claims, b and c one.
SMALL = claims_of([("a", "x", "1"), ("a", "y", "1"), ("b", "x", "1"), ("c", "x", "2")])


def check(algorithm, trust, x1):
    result = discover(SMALL, algorithm)
    assert_allclose(list(trusts(result).values()), trust)
    assert plausibilities(result) == pytest.approx(
        {("x", "1"): x1, ("x", "2"): 1 - x1, ("y", "1"): 1.0}
    )


def test_sums_by_hand():
    # B = 1/2, so T = 1, 1/2, 1/2, and B(x=1) = 3/2, B(x=2) = 1/2.
    check(Sums(max_rounds=1), [1, 1 / 2, 1 / 2], 3 / 4)
    # Divided by 3/2: B = 1, 1/3, and 2/3 for y. T = 5/3, 1, 1/3; of the largest 1, 3/5, 1/5.
    # B(x=1) = 8/5, B(x=2) = 1/5.
    check(Sums(max_rounds=2), [1, 3 / 5, 1 / 5], 8 / 9)


def test_average_log_by_hand():
    # log 1 = 0, so b and c have no say.
    check(AverageLog(max_rounds=1), [1, 0, 0], 1)


def test_investment_by_hand():
    # B: 2/3 and 1/3 of the votes on x, all on y. All trust one: a invests 1/2 twice, b and c 1.
    # In x=1 are invested 3/2, in x=2 1, in y 1/2: a unit is paid 4/9, 1/3, 2.
    # T = (4/9 + 2)/2, 4/9, 1/3 = 11/9, 4/9, 3/9. In x=1 then 11/2 + 4 = 19/2 parts, in x=2 3.
    x1, x2 = 19**1.2, 6**1.2
    check(Investment(max_rounds=1), [1, 4 / 11, 3 / 11], x1 / (x1 + x2))


def test_pooled_investment_by_hand():
    # B: 1/2 each on x, 1 on y. A unit is paid (1/2)/(3/2) = 1/3, (1/2)/1, 1/(1/2) = 2.
    # T = (1/3 + 2)/2, 1/3, 1/2 = 7/6, 2/6, 3/6. In x=1 then 7/2 + 2 = 11/2 parts, in x=2 3.
    # B = I · I^1.4 / the same for both.
    x1, x2 = 11**2.4, 6**2.4
    check(PooledInvestment(max_rounds=1), [1, 2 / 7, 3 / 7], x1 / (x1 + x2))


def test_pooled_investment_sees_no_difference_between_one_lone_source_and_two_that_share():
    # B = 1/2 each. The two share their return: T = 1/4, 1/4, 1/2. Together they invest 1/2, as
    # much as the third alone; and so on. (The other library agrees: see "one claim each".)
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2")]
    result = discover(claims_of(rows), PooledInvestment())
    assert trusts(result) == pytest.approx({"a": 0.5, "b": 0.5, "c": 1.0})
    assert result.truths["tied"].to_list() == [True]


# --- by law ---------------------------------------------------------------------------------------


@every_kind
@settings(max_examples=25)
@given(rows=value_rows())
def test_the_scale_of_beliefs_and_trusts_matters_nothing(kind, rows):
    encoded, algorithm = as_encoded(rows), kind()
    (block,), standing = encoded.blocks, started(algorithm, encoded)
    (phase,) = algorithm.phases(standing)
    largest, trust = phase.steps

    def learned(state, scale=1.0):
        """One of the later rounds; where beliefs are divided by more, they are smaller."""
        state = largest.learn(state, largest.tally(block, state, Turn(2)))
        state = state._replace(largest=scale * state.largest)
        return trust.learn(state, trust.tally(block, state, Turn(2))).trust

    for _ in range(3):
        larger = learned(standing._replace(trust=3.0 * standing.trust), scale=7.0)
        standing = standing._replace(trust=learned(standing))
        assert_allclose(larger, standing.trust, rtol=1e-9, atol=1e-12)


@every_kind
@settings(max_examples=25)
@given(rows=binary_rows())
def test_a_denied_fact_is_a_fact_with_the_values_true_and_false(kind, rows):
    as_values = rows.select("source", entity="fact", value=pl.col("claim").cast(pl.String))
    one, other = discover(rows, kind(), "binary"), discover(as_values, kind())
    assert_allclose(list(trusts(one).values()), list(trusts(other).values()), atol=1e-9)
    said = plausibilities(other)
    for fact, plausibility in one.facts.select("fact", "plausibility").iter_rows():
        if {(fact, "true"), (fact, "false")} <= said.keys():
            assert said[fact, "true"] == pytest.approx(plausibility, abs=1e-9)


@every_kind
@settings(max_examples=25)
@given(rows=value_rows())
def test_where_several_values_may_be_true_more_supporters_never_make_one_less_plausible(kind, rows):
    wide = pl.concat([rows, rows.with_columns(value=pl.lit("all")).unique()])
    said = plausibilities(discover(wide, kind(), "multiple"))
    for (entity, _), plausibility in said.items():  # all voices of an item support "all"
        assert plausibility <= said[entity, "all"] + 1e-9


@every_kind
@settings(max_examples=25)
@given(rows=value_rows())
def test_known_truths_are_held_and_numbers_stay_numbers(kind, rows):
    known = rows.unique("entity", keep="first", maintain_order=True).head(2).drop("source")
    for of in ("categorical", "multiple"):
        result = discover(rows, kind(), of, known=known)
        said = plausibilities(result)
        assert all(said[row] == 1.0 for row in known.iter_rows())
        assert result.sources["trust"].is_finite().all()


def test_a_source_that_is_known_to_err_is_trusted_less():
    rows = [(source, item, "1") for source in "ab" for item in "uvwxyz"]
    rows += [("c", item, "2") for item in "uvwxyz"]
    known = pl.DataFrame({"entity": list("uvw"), "value": ["2"] * 3})
    for kind in (Sums, AverageLog):
        before = trusts(discover(claims_of(rows), kind()))
        after = trusts(discover(claims_of(rows), kind(), known=known))
        assert after["c"] / after["a"] > before["c"] / before["a"]


@every_kind
def test_many_rounds_of_growth_end_in_finite_numbers(kind, flights):
    result = discover(flights.claims, kind(max_rounds=300))
    assert result.sources["trust"].is_finite().all()
    assert result.facts["plausibility"].is_between(0.0, 1.0).all()


@every_kind
def test_all_rounds_are_made_and_converged_says_whether_the_last_one_still_moved(kind, flights):
    result = discover(flights.claims, kind(tolerance=1e-2))
    assert result.run.rounds == kind().max_rounds
    assert result.converged == (result.trace["change"][-1] < 1e-2)


# --- by another library: truthdiscovery 1.0.4, see make_truthdiscovery.py -------------------------


def shares(belief):
    """Its beliefs as shares of their item."""
    return {
        (item, value): of_value / sum(of_item.values())
        for item, of_item in belief.items()
        for value, of_value in of_item.items()
    }


@every_kind
@pytest.mark.parametrize("name", ["words", "few", "true or false", "numbers", "a hundred agree"])
def test_trusts_and_shares_of_belief_are_those_of_truthdiscovery(kind, name):
    theirs = THEIRS[name]["found"][kind.__name__]
    if kind is AverageLog and name == "a hundred agree":
        return  # beliefs of zero: see below
    ours = discover(claims_of(THEIRS[name]["claims"]), kind())
    assert trusts(ours) == pytest.approx(theirs["trust"], rel=1e-8, abs=1e-12)
    assert plausibilities(ours) == pytest.approx(shares(theirs["belief"]), rel=1e-8, abs=1e-12)


@every_kind
def test_binary_claims_are_judged_as_truthdiscovery_judges_true_and_false(kind):
    given_claims = claims_of(THEIRS["true or false"]["claims"])
    rows = given_claims.select("source", fact="entity", claim=pl.col("value") == "true")
    ours = discover(rows, kind(), "binary")
    theirs = THEIRS["true or false"]["found"][kind.__name__]
    assert trusts(ours) == pytest.approx(theirs["trust"], rel=1e-8)
    expected = shares(theirs["belief"])
    for fact, plausibility in ours.facts.select("fact", "plausibility").iter_rows():
        assert plausibility == pytest.approx(expected.get((fact, "true"), 0.0), rel=1e-8)


def test_truthdiscovery_gives_up_where_no_source_makes_two_claims_and_we_tie():
    # log 1 = 0: all trusts are 0, all beliefs are, and it divides 0 by 0.
    theirs = THEIRS["one claim each"]["found"]["AverageLog"]
    assert set(theirs["trust"].values()) == {None}
    ours = discover(claims_of(THEIRS["one claim each"]["claims"]), AverageLog())
    assert set(trusts(ours).values()) == {0.0}
    assert plausibilities(ours) == {("i", "x"): 0.5, ("i", "y"): 0.5}


@pytest.mark.parametrize("name", ["words", "few", "numbers"])
def test_its_vote_picks_the_same_truths_but_divides_by_the_votes_of_the_largest_fact(name):
    theirs = shares(THEIRS[name]["found"]["MajorityVoting"]["belief"])
    ours = discover(claims_of(THEIRS[name]["claims"]), MajorityVote())
    assert plausibilities(ours) == pytest.approx(theirs)
    raw = THEIRS[name]["found"]["MajorityVoting"]["belief"]
    assert any(sum(of_item.values()) != pytest.approx(1.0) for of_item in raw.values())


# --- truthfinder: by hand, by law, and by another library -----------------------------------------


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


# --- sstf against the forces of its graph, solved as one system of equations ----------------------


@settings(max_examples=5)
@given(rows=value_rows())
def test_it_comes_to_rest_where_all_forces_balance(rows):
    rows, algorithm = rows.unique(), SSTF()
    *_, rest = states(algorithm, as_encoded(rows), 150)
    facts = sorted(set(rows.select("entity", "value").iter_rows()))
    sources = sorted(set(rows["source"]))
    n = len(facts)
    forces, pulls = np.zeros((n + len(sources), n + len(sources))), np.zeros(n + len(sources))
    for source, entity, value in rows.iter_rows():  # what a source says is as true as the source
        fact, node = facts.index((entity, value)), n + sources.index(source)
        for one, other in ((fact, node), (node, fact)):
            forces[one, one] += 1.0
            forces[one, other] -= 1.0
    for fact, (entity, value) in enumerate(facts):
        said = rows.filter(pl.col("entity") == entity)["value"].to_list()
        own, others = said.count(value), [f for f, (e, _) in enumerate(facts) if e == entity]
        forces[fact, fact] += algorithm.pull * own
        pulls[fact] = algorithm.pull * own * (2.0 * own / len(said) - 1.0)
        for other in others:
            if other != fact:  # what excludes each other is opposite
                repulsion = algorithm.conflict * len(said) / len(others)
                forces[fact, fact] += repulsion
                forces[fact, other] += repulsion
    balanced = np.linalg.solve(forces, pulls)
    assert_allclose(rest.confidence, balanced[n:], atol=1e-3)


def test_what_is_known_of_one_item_decides_of_others():
    rows = [(s, f"item {i}", "1" if s in "abc" else "2") for i in range(6) for s in "abcde"]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    known = pl.DataFrame({"entity": [f"item {i}" for i in range(5)], "value": ["2"] * 5})
    truths = veracity.discover(claims, "sstf", known=known).truths
    assert truths.filter(pl.col("entity") == "item 5")["value"].item() == "2"
    assert veracity.discover(claims, "sstf").truths["value"].to_list() == ["1"] * 6


# --- majority vote, by hand -----------------------------------------------------------------------


ROWS = [("a", "x", "1"), ("a", "x", "2"), ("b", "x", "1")]
CLAIMS = pl.DataFrame(ROWS, schema=["source", "entity", "value"], orient="row")


@pytest.mark.parametrize(
    ("kind", "rule", "plausible"),
    [
        ("categorical", "share", [2 / 3, 1 / 3]),  # of three votes
        ("multiple", "mean", [1.0, 1 / 2]),  # of two sources
    ],
)
def test_votes_are_shared_where_one_value_is_true_else_sources_are(kind, rule, plausible):
    encoded, vote = as_encoded(CLAIMS, kind), MajorityVote()
    (block,), state = encoded.blocks, started(vote, encoded)
    assert vote.weigh(block, state).rule == rule
    assert_allclose(vote.judge(block, state), plausible)
    told = veracity.discover(CLAIMS, vote, kind=kind).facts.sort("value")["plausibility"]
    assert_allclose(told, plausible)


def test_all_sources_count_the_same():
    assert started(MajorityVote(), as_encoded(CLAIMS)).weight.tolist() == [1.0, 1.0]
