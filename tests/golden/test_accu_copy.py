"""AccuCopy against arithmetic on paper, brute force, and copies that are known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded, started, states, survey_of, value_rows
from veracity import read_claims
from veracity.algorithms import Accu, AccuCopy, AccuSim, AccuSimCopy
from veracity.algorithms.accu_copy import log_dependence
from veracity.algorithms.rules import scores
from veracity.dependence.pairs import (
    PairRule,
    able_sources,
    choose_pairs,
    count_shared,
    links_of,
    nameless_rank,
    signature_of_source,
)
from veracity.encoding.encode import encode

MIRRORS = [
    {"flightview", "allegiantair", "foxbusiness", "panynj"},
    {"airtravelcenter", "flytecomm", "helloflight", "myrateplan"},
    {"businesstravellogue", "flights", "flylouisville"},
    {"flightaware", "wunderground"},
    {"flightstats", "quicktrip"},
]
"""Sites of the flight data that republish one another."""


def copies_in(claims, algorithm=None, rounds=10):
    """The copies found, as pairs of names and probabilities, the clearest first."""
    algorithm = algorithm or AccuCopy()
    encoded = encode(read_claims(claims))
    names = encoded.names.sources.to_list()
    *_, copying = states(algorithm, encoded, rounds)
    found = algorithm.describe(copying).copies
    pairs = zip(found.source, found.original, found.probability, strict=True)
    return {frozenset((names[a], names[b])): float(p) for a, b, p in pairs}


def drawn(accuracy_of_source, n_items=80, seed=0):
    """Claims of independent sources; who errs names one of twenty false values."""
    rng = np.random.default_rng(seed)
    rows = [
        (source, f"item {item:02}", "true" if rng.random() < accuracy else f"f{rng.integers(20)}")
        for source, accuracy in accuracy_of_source.items()
        for item in range(n_items)
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def mirrored(claims, source, names):
    copies = [
        claims.filter(pl.col("source") == source).with_columns(source=pl.lit(n)) for n in names
    ]
    return pl.concat([claims, *copies])


# --- the evidence ---------------------------------------------------------------------------------


def evidence(a, b, counts, coincidence=0.01):
    """The odds of copying forth and back against independence, with alpha = 0.2 and c = 0.8."""
    arrays = [np.array([float(x)]) for x in (a, b, *counts)]
    priors = np.array([0.2]), np.array([0.2])
    forth, back = log_dependence(tuple(arrays[:2]), tuple(arrays[2:]), priors, coincidence, 0.8)
    return float(np.exp(forth[0])), float(np.exp(back[0]))


@pytest.mark.parametrize(
    ("counts", "ratio"),
    [
        ((0, 0, 0), 1.0),
        ((1, 0, 0), 1.2),  # Pt = .64; (.8 * .8 + .64 * .2) / .64 = .768 / .64
        ((0, 1, 0), 400.2),  # Pf = .04 / 100; (.2 * .8 + .0004 * .2) / .0004 = .16008 / .0004
        ((0, 0, 1), 0.2),  # Pd (1 - c) / Pd
        ((2, 1, 1), 1.2**2 * 400.2 * 0.2),
    ],
)
def test_a_shared_mistake_says_more_than_many_shared_truths(counts, ratio):
    prior_odds = 0.2 / 0.6  # alpha each way, against 1 - 2 alpha
    assert_allclose(evidence(0.8, 0.8, counts), prior_odds * ratio)


def test_what_is_copied_is_as_accurate_as_the_source_it_is_copied_from():
    forth, back = evidence(0.9, 0.6, (1, 0, 0))
    # Pt = .54. Copied from the second: (.6 * .8 + .54 * .2) / .54; from the first: .9 * .8 ...
    assert_allclose([forth, back], [0.588 / 0.54 / 3, 0.828 / 0.54 / 3])


def test_two_good_sources_with_few_shared_mistakes_are_no_copies():
    # 100 items, of which both tell 90, share one mistake and differ on the rest
    forth, back = evidence(0.95, 0.95, (90, 1, 9))
    # ln: 90 * .0412 + 7.4 - 9 * 1.61 - ln 3 = -4.5
    assert forth + back < 0.05


def test_thousands_of_shared_values_neither_underflow_nor_overflow():
    arrays = [np.array([x]) for x in (1 - 1e-6, 1 / 101, 1e7, 1e7, 1e7)]
    priors = np.array([0.2]), np.array([0.2])
    found = log_dependence(tuple(arrays[:2]), tuple(arrays[2:]), priors, 0.01, 0.8)
    assert np.isfinite(found).all()


# --- what pairs share -----------------------------------------------------------------------------


def shared_in(encoded, rule):
    """The pairs that the rule chooses, and what they share."""
    (block,), n_sources = encoded.blocks, encoded.names.n_sources
    counts = count_shared(block, np.ones(n_sources, dtype=np.bool_), rule)
    n_claims = survey_of(encoded).counted.supports_of_source
    rank = nameless_rank(n_claims, signature_of_source(block, n_sources))
    pairs = choose_pairs(counts, rank, rule)
    return pairs, links_of(block, pairs, n_sources)


@given(rows=value_rows(), min_shared=st.integers(1, 4))
def test_shared_and_different_values_are_those_of_brute_force(rows, min_shared):
    pairs, links = shared_in(as_encoded(rows), PairRule(min_shared, 100, 100))
    names = sorted(rows["source"].unique())
    named = {s: set() for s in range(len(names))}
    for source, entity, value in rows.iter_rows():
        named[names.index(source)].add((entity, value))
    expected = {}
    for a, b in combinations(range(len(names)), 2):
        both = named[a] & named[b]
        items = {e for e, _ in named[a]} & {e for e, _ in named[b]}
        fewer = sum(min(sum(e == i for e, _ in named[s]) for s in (a, b)) for i in items)
        if len(both) >= min_shared:
            expected[a, b] = (len(both), fewer - len(both))
    found = zip(pairs.source, pairs.other, links.n_links, links.different, strict=True)
    assert {(a, b): (n, d) for a, b, n, d in found} == expected


@given(rows=value_rows())
def test_both_claims_of_a_link_name_the_same_fact(rows):
    (block,) = as_encoded(rows).blocks
    pairs, links = shared_in(as_encoded(rows), PairRule(1, 100, 100))
    fact, source = block.fact_of_support, block.source_of_support
    assert (fact[links.support_of_source] == fact[links.support_of_other]).all()
    assert (source[links.support_of_source] == pairs.source[links.pair_of_link]).all()
    assert (source[links.support_of_other] == pairs.other[links.pair_of_link]).all()


def test_values_that_too_many_name_find_no_pairs_but_count_once_a_pair_is_found():
    rows = drawn(dict.fromkeys("abcd", 1.0), n_items=5)  # all four name the same
    odd = pl.DataFrame(
        [(s, f"odd {i}", "odd") for s in "ab" for i in range(3)], schema=rows.schema, orient="row"
    )
    pairs, links = shared_in(as_encoded(pl.concat([rows, odd])), PairRule(3, 3, 10))
    assert list(zip(*pairs, strict=True)) == [(0, 1)]
    assert links.n_links.tolist() == [8]


def test_of_very_many_sources_those_with_most_claims_are_looked_at_and_ties_share_their_fate():
    n_claims = np.array([5.0, 9.0, 9.0, 7.0, 7.0, 20.0, 8.0])
    rule = PairRule(6, 100, 10)
    with pytest.MonkeyPatch.context() as patch:
        for most, expected in ((7, [1, 2, 3, 4, 5, 6]), (5, [1, 2, 5, 6]), (2, [5])):
            patch.setattr("veracity.dependence.pairs.MOST_SOURCES", most)
            assert np.flatnonzero(able_sources(n_claims, rule)).tolist() == expected


def test_of_each_source_only_the_closest_partners_are_looked_at():
    encoded = as_encoded(drawn(dict.fromkeys("abcdefgh", 0.9)))
    pairs, _ = shared_in(encoded, PairRule(1, 100, 2))
    assert len(pairs.source) <= 8 * 2
    assert np.bincount(np.concatenate(pairs)).min() >= 2


# --- what it finds --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_mirrors_of_a_bad_source_change_no_truth_though_they_do_for_accu(seed):
    alone = drawn({"a": 0.8, "b": 0.8, "c": 0.8, "bad": 0.4}, seed=seed)
    crowd = mirrored(alone, "bad", ["bad 2", "bad 3", "bad 4", "bad 5"])
    sure = veracity.discover(alone, AccuCopy()).truths["margin"] > 0.5
    for algorithm, changes in ((AccuCopy(), False), (Accu(), True)):
        before, after = (veracity.discover(c, algorithm).truths["value"] for c in (alone, crowd))
        assert (before != after).filter(sure).any() == changes


def test_mirrors_stand_at_the_top():
    claims = drawn({"a": 0.8, "b": 0.8, "c": 0.8, "d": 0.8, "e": 0.6})
    found = copies_in(mirrored(claims, "e", ["e 2", "e 3"]))
    assert {frozenset(p) for p in combinations(["e", "e 2", "e 3"], 2)} == set(found)
    assert min(found.values()) > 0.99


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_independent_equally_good_sources_are_no_copies(accuracy, seed):
    claims = drawn(dict.fromkeys("abcdefgh", accuracy), n_items=200, seed=seed)
    assert copies_in(claims) == {}


def test_swapped_names_swap_the_copies_and_nothing_else():
    claims = mirrored(drawn({"a": 0.8, "b": 0.7, "c": 0.75, "d": 0.6}), "d", ["e"])
    swap = {"a": "e", "b": "d", "c": "c", "d": "b", "e": "a"}
    swapped = claims.with_columns(pl.col("source").replace_strict(swap))
    one, other = (veracity.discover(c, AccuCopy()).facts for c in (claims, swapped))
    assert_allclose(one["plausibility"], other["plausibility"], atol=1e-9)
    renamed = {frozenset(swap[s] for s in pair): p for pair, p in copies_in(claims).items()}
    assert renamed == pytest.approx(copies_in(swapped))


@given(rows=value_rows())
def test_no_claims_make_a_dependence_of_nan(rows):
    found = copies_in(rows, AccuCopy(min_shared=1), rounds=3)
    assert all(0.5 <= probability <= 1.0 for probability in found.values())


@given(rows=value_rows())
def test_where_nobody_copies_votes_count_for_similar_values_as_in_accu_sim(rows):
    encoded = as_encoded(rows)
    both, sim = (
        algorithm.judge(encoded.blocks[0], started(algorithm, encoded))
        for algorithm in (AccuSimCopy(), AccuSim())
    )
    assert_allclose(both, sim, rtol=1e-12)


def test_a_copied_vote_lends_as_little_to_a_similar_value_as_it_counts_itself():
    claims = mirrored(drawn({"good": 0.9, "fair": 0.8, "bad": 0.5}), "bad", ["mirror"])
    encoded, algorithm = as_encoded(claims), AccuSimCopy(similarity=lambda one, other: 1.0)
    *_, state = states(algorithm, encoded, 5)
    (block,) = encoded.blocks
    own = scores(block, algorithm.weigh(block, state)._replace(pairs=None))
    total = np.repeat(np.add.reduceat(own, block.first_fact_of_item[:-1]), block.n_facts_of_item)
    assert_allclose(scores(block, algorithm.weigh(block, state)), own + 0.5 * (total - own))


# --- real data ------------------------------------------------------------------------------------


@pytest.mark.data
def test_sites_that_republish_one_another_stand_at_the_top(shared_data):
    found = list(copies_in(shared_data / "flight_raha" / "claims.parquet"))
    mirrors = {frozenset(pair) for group in MIRRORS for pair in combinations(group, 2)}
    assert mirrors <= set(found[:25])
