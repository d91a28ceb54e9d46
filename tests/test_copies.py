"""Copies show in shared coverage and shared mistakes, never in agreement alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import veracity
from veracity.dependence.agreement import Agreement, Dependence, confirmed, slots_of, with_excess

ITEMS = 300
VALUES = 6


def sites(seed, *, copiers, share=1.0, labels=0, dense=False, honest=14, accuracy=0.6, bad=0.35):
    """Independent sites, and one whose values others take, each with a probability of `share`."""
    rng = np.random.default_rng(seed)
    rows = []

    def speaks(often=0.5):
        return dense or rng.random() < often

    def says(item, right):
        number = 0 if rng.random() < right else int(rng.integers(1, labels or VALUES))
        return value(item, number)

    def value(item, number):
        return f"v{(7 * item + number) % labels}" if labels else f"{item} v{number}"

    for source in range(honest):
        rows += [(f"site {source}", i, says(i, accuracy)) for i in range(ITEMS) if speaks()]
    original = {i: says(i, bad) for i in range(ITEMS) if speaks()}
    rows += [("original", i, value) for i, value in original.items()]
    for copier in range(copiers):
        for i in range(ITEMS):
            if i in original and rng.random() < share:
                rows.append((f"copier {copier}", i, original[i]))
            elif speaks(0.5 * (1.0 - share)):
                rows.append((f"copier {copier}", i, says(i, bad)))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    truth = {"entity": range(ITEMS), "value": [value(i, 0) for i in range(ITEMS)]}
    return claims, pl.DataFrame(truth)


def accuracy_of(claims, truth, **parameters):
    return veracity.evaluate(
        veracity.discover(claims, veracity.Veracity(**parameters)), truth
    ).accuracy


@pytest.mark.parametrize("share", [1.0, 0.9])
@pytest.mark.parametrize("dense", [False, True], ids=["some items", "all items"])
@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
def test_many_copies_of_a_bad_site_do_not_outvote_the_others(share, dense, labels):
    claims, truth = sites(1, copiers=9, share=share, dense=dense, labels=labels)
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    found = accuracy_of(claims, truth)
    assert found > vote + 0.1
    assert found > 0.85


@pytest.mark.parametrize("share", [0.7, 0.5])
@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
def test_looking_for_half_hearted_copies_does_no_harm(share, labels):
    claims, truth = sites(1, copiers=9, share=share, labels=labels)
    assert accuracy_of(claims, truth) >= accuracy_of(claims, truth, mirrors=False) - 0.005


@pytest.mark.parametrize("dense", [False, True], ids=["some items", "all items"])
@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
@pytest.mark.parametrize("seed", [1, 2])
def test_accurate_sources_that_agree_on_easy_items_are_no_copies(dense, labels, seed):
    claims, truth = sites(seed, copiers=0, honest=10, accuracy=0.95, dense=dense, labels=labels)
    result = veracity.discover(claims)
    assert result.copies.is_empty()
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    assert veracity.evaluate(result, truth).accuracy >= vote - 0.005


@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
def test_copies_of_a_good_site_do_no_harm(labels):
    claims, truth = sites(3, copiers=9, bad=0.9, labels=labels)
    assert accuracy_of(claims, truth) >= accuracy_of(claims, truth, mirrors=False) - 0.005


def test_a_chain_of_copies_counts_once():
    claims, truth = sites(4, copiers=1)
    links = [claims.filter(pl.col("source") == "copier 0")]
    for number in range(8):
        again = links[-1].sample(fraction=0.95, seed=number)
        links.append(again.with_columns(source=pl.lit(f"link {number}")))
    claims = pl.concat([claims, *links[1:]])
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    assert accuracy_of(claims, truth) > vote + 0.1


# --- on paper -------------------------------------------------------------------------------------


def two_pairs(both, spoken):
    """Three sources of 100 items with twenty voices each, the first two of which always agree."""
    both = np.array(both, dtype=float)
    same = both.copy()
    same[:2, 2] = same[2, :2] = both[:2, 2] / 2
    total = Agreement(both, same, np.array(spoken, dtype=float), 100, 300, 200.0, 440.0)
    unseen = Dependence.unseen(slots_of(np.full(3, 100.0)), (0.0, 300))
    return with_excess(unseen, total, 4.0)


def test_overlap_beyond_chance_is_evidence_by_its_kullback_leibler_divergence():
    # each speaks of 50 of 100 items: by chance of 50 * 440 / 200^2 = 0.55 of the other's
    found = two_pairs([[0, 50, 25], [50, 0, 25], [25, 25, 0]], [50, 50, 50])
    assert found.coverage[0, 1] == pytest.approx(50 * np.log(1 / 0.55), rel=1e-6)
    assert found.coverage[0, 2] == 0.0  # fewer than by chance


def test_who_speaks_of_nearly_everything_cannot_be_told_by_coverage():
    found = two_pairs([[0, 100, 99], [100, 0, 99], [99, 99, 0]], [100, 100, 99])
    assert not found.tells


def test_what_is_shared_and_true_is_hardly_evidence_what_is_false_is():
    found = two_pairs([[0, 100, 99], [100, 0, 99], [99, 99, 0]], [100, 100, 99])
    found = found._replace(copied=np.where(np.eye(3) == 0, 0.8, 0.0), accuracy=np.full(3, 0.9))
    true, false = np.zeros((3, 3)), np.full((3, 3), 50.0)
    assert not confirmed(found, true, sites=False).copied[0, 2]
    assert confirmed(found, false, sites=False).copied[0, 1] == 0.8
