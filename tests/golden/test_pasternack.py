"""Sums, Average·Log, Investment and Pooled Investment: by hand, by law, and by another library."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, binary_rows, started, value_rows
from veracity.algorithms.base import Turn
from veracity.algorithms.majority_vote import MajorityVote
from veracity.algorithms.sums import AverageLog, Investment, PooledInvestment, Sums
from veracity.errors import NotConverged, ParameterError

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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sums(max_rounds=0), "Sums: max_rounds must be at least 1, got 0"),
        (lambda: AverageLog(tolerance=0), "AverageLog: tolerance must be above 0, got 0"),
        (lambda: Investment(growth=0.5), "Investment: growth must be at least 1.0, got 0.5"),
        (lambda: PooledInvestment(growth=0), "PooledInvestment: growth must be at least 1.0"),
    ],
)
def test_a_parameter_out_of_range_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


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
