"""Small and odd data: on no family of these is the default worse than a vote without a warning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from test_explain import check_plausibilities
from veracity.algorithms.default.one_coin import (
    EVEN,
    beyond_even_errors,
    log_likelihoods,
    n_false_values,
)
from veracity.api import prepare

Rows = list[tuple[str, str, str, str]]
Truth = dict[tuple[str, str], str]


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def quiz(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """Sixteen questions put to many people; on hard ones most fall for the same wrong answer."""
    ability, difficulty = rng.normal(0.0, 1.2, 500), rng.normal(0.0, 1.0, 16)
    rows, truth = [], {}
    for q, hard in enumerate(difficulty):
        true = int(rng.integers(4))
        decoy = int((true + 1 + rng.integers(3)) % 4)
        truth[f"q{q}", ""] = str(true)
        for s, good in enumerate(ability):
            others = [decoy] * 3 + [value for value in range(4) if value != true]
            is_right = rng.random() < 0.15 + 0.85 * sigmoid(1.5 * (good - hard))
            rows.append((f"s{s}", f"q{q}", "", str(true if is_right else rng.choice(others))))
    return rows, truth


def crowded_quiz(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """As above with eight answers, all of which hundreds give: most are wrong on hard questions."""
    ability, difficulty = rng.normal(0.0, 1.2, 800), rng.normal(0.3, 1.2, 16)
    rows, truth = [], {}
    for q, hard in enumerate(difficulty):
        true = int(rng.integers(8))
        decoy = int((true + 1 + rng.integers(7)) % 8)
        truth[f"q{q}", ""] = str(true)
        others = [decoy] * 4 + [value for value in range(8) if value != true]
        is_right = rng.random(800) < 1 / 8 + 7 / 8 * sigmoid(1.5 * (ability - hard))
        said = np.where(is_right, true, rng.choice(others, 800))
        rows += [(f"s{s}", f"q{q}", "", str(value)) for s, value in enumerate(said)]
    return rows, truth


def even_crowd(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """Hundreds who mostly err, each by itself: what most of them say is true all the same."""
    rows, truth = [], {}
    for i in range(20):
        true = int(rng.integers(25))
        truth[f"e{i}", ""] = str(true)
        said = np.where(rng.random(300) < 0.15, true, rng.integers(0, 25, 300))
        rows += [(f"s{s}", f"e{i}", "", str(value)) for s, value in enumerate(said)]
    return rows, truth


def rare_label(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """Two labels of which one is rare, and often missed."""
    missed, false_alarm = 1.0 - rng.beta(6, 3, 20), 1.0 - rng.beta(18, 2, 20)
    rows, truth = [], {}
    for i in range(600):
        true = int(rng.random() < 0.03)
        truth[f"e{i}", ""] = str(true)
        for s in rng.choice(20, 6, replace=False):
            is_wrong = rng.random() < (missed[s] if true else false_alarm[s])
            rows.append((f"s{s}", f"e{i}", "", str(true ^ is_wrong)))
    return rows, truth


def one_claim_per_source(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """Nobody speaks twice, so nothing can be learned of anybody."""
    rows, truth = [], {}
    for i in range(400):
        true = int(rng.integers(4))
        truth[f"e{i}", ""] = str(true)
        for n in range(5):
            said = true if rng.random() < rng.beta(4, 3) else int(rng.integers(4))
            rows.append((f"s{i}-{n}", f"e{i}", "", str(said)))
    return rows, truth


def below_chance(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """On one attribute of four most sources make the same mistakes."""
    accuracy = rng.beta(8, 2, 12)
    rows, truth = [], {}
    for i in range(150):
        for a in range(4):
            true, decoy = rng.integers(1000, size=2)
            truth[f"e{i}", f"a{a}"] = str(true)
            for s in range(12):
                right = accuracy[s] if a < 3 else (0.9 if s < 4 else 0.3)
                false = decoy if rng.random() < 0.7 else rng.integers(1000)
                said = true if rng.random() < right else false
                if rng.random() < 0.6:
                    rows.append((f"s{s}", f"e{i}", f"a{a}", str(said)))
    return rows, truth


def giant_source(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """One source speaks of everything, and is worse than all others, who say little each."""
    rows, truth = set(), {}
    for i in range(800):
        true = int(rng.integers(50))
        truth[f"e{i}", ""] = str(true)
        names = [("giant", 0.6)] + [(f"s{s}", 0.8) for s in rng.choice(120, 2, replace=False)]
        for name, right in names:
            said = true if rng.random() < right else int(rng.integers(50))
            rows.add((name, f"e{i}", "", str(said)))
    return sorted(rows), truth


def single_claims(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """Of most items one source speaks alone."""
    accuracy = rng.beta(7, 3, 30)
    rows, truth = [], {}
    for i in range(800):
        true = int(rng.integers(40))
        truth[f"e{i}", ""] = str(true)
        for s in rng.choice(30, 1 if rng.random() < 0.8 else 3, replace=False):
            said = true if rng.random() < accuracy[s] else int(rng.integers(40))
            rows.append((f"s{s}", f"e{i}", "", str(said)))
    return rows, truth


def bad_majority(rng: np.random.Generator) -> tuple[Rows, Truth]:
    """Ten of fifteen sources are hardly better than chance."""
    rows, truth = [], {}
    for i in range(300):
        true = int(rng.integers(4))
        truth[f"e{i}", ""] = str(true)
        for s in range(15):
            said = true if rng.random() < (0.35 if s < 10 else 0.9) else int(rng.integers(4))
            rows.append((f"s{s}", f"e{i}", "", str(said)))
    return rows, truth


FAMILIES: list[Callable[[np.random.Generator], tuple[Rows, Truth]]] = [
    quiz,
    crowded_quiz,
    even_crowd,
    rare_label,
    one_claim_per_source,
    below_chance,
    giant_source,
    single_claims,
    bad_majority,
]


def frames(rows: Rows, truth: Truth) -> tuple[pl.DataFrame, pl.DataFrame]:
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    truths = [(entity, attribute, value) for (entity, attribute), value in truth.items()]
    known = pl.DataFrame(truths, schema=["entity", "attribute", "value"], orient="row")
    if (claims["attribute"] == "").all():
        return claims.drop("attribute"), known.drop("attribute")
    return claims, known


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_default_is_no_worse_than_a_vote_or_says_so(family):
    lost, warned = [], True
    for seed in range(3):
        claims, truth = frames(*family(np.random.default_rng(seed)))
        result = veracity.discover(claims)
        vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
        lost.append(vote - veracity.evaluate(result, truth).accuracy)
        warned &= bool({"two-answers", "assumption"} & set(result.findings["name"]))
    assert np.mean(lost) <= 0.01 or warned


@pytest.mark.parametrize("values", [30, 100])
def test_the_default_is_sure_where_sources_err_independently(values):
    few, many = (0.03, 0.9) if values < 100 else (0.06, 0.85)
    synthetic = veracity.synthetic.Synthetic(sources=15, items=1000, accuracy=0.6, values=values)
    drawn = synthetic.draw(seed=5)
    found = veracity.evaluate(veracity.discover(drawn.claims), drawn.truth)
    assert found.calibration_error < few
    assert found.accuracy > many


def test_errors_that_items_share_make_the_default_modest():
    """A third of the items is hard: there all fall for the same wrong label more often than not."""
    rng = np.random.default_rng(3)
    rows, truth = [], {}
    for i in range(400):
        true, is_hard = int(rng.integers(3)), rng.random() < 1 / 3
        decoy = int((true + 1 + rng.integers(2)) % 3)
        truth[f"e{i}", ""] = str(true)
        for s in range(12):
            false = decoy if is_hard else int(rng.integers(3))
            said = true if rng.random() < (0.45 if is_hard else 0.85) else false
            rows.append((f"s{s}", f"e{i}", "", str(said)))
    claims, known = frames(rows, truth)
    told = veracity.discover(claims)
    sure = veracity.discover(claims, veracity.algorithms.Veracity(temper=False))
    errors = [veracity.evaluate(result, known).calibration_error for result in (told, sure)]
    assert errors[0] < errors[1] - 0.02


@pytest.mark.parametrize(("n_sources", "n_items", "n_values"), [(80, 12, 6), (20, 200, 4)])
def test_where_sources_guess_the_default_knows_that_it_does_not_know(n_sources, n_items, n_values):
    rng = np.random.default_rng(1)
    said = rng.integers(n_values, size=(n_sources, n_items))
    rows = [(f"s{s}", f"e{i}", str(said[s, i])) for s, i in np.ndindex(said.shape)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    assert veracity.discover(claims).truths["plausibility"].mean() < 0.5


def test_what_tempts_many_proves_little():
    """The able are right on what most get wrong, and the claims of hundreds show who is able."""
    gained, errors = [], []
    for seed in range(6):
        claims, truth = frames(*crowded_quiz(np.random.default_rng(seed)))
        vote, found = (
            veracity.evaluate(veracity.discover(claims, name), truth)
            for name in ("majority-vote", "veracity")
        )
        gained.append(found.accuracy - vote.accuracy)
        errors.append(found.calibration_error)
    assert np.mean(gained) > 0.08
    assert np.mean(errors) < 0.12


def test_crowded_items_keep_the_promises_of_all_others():
    """Neither the order of rows nor names matter, nothing is NaN, and explanations add up."""
    claims, _ = frames(*crowded_quiz(np.random.default_rng(1)))
    claims = claims.filter(pl.col("source").str.ends_with("7"))
    result = veracity.discover(claims)
    check_plausibilities(result)
    other = claims.sample(fraction=1.0, shuffle=True, seed=2)
    other = other.with_columns(source=pl.lit("x") + pl.col("source").str.reverse())
    again = veracity.discover(other)
    keys = ["entity", "value"]
    one, two = (r.facts.sort(keys)["plausibility"].to_numpy() for r in (result, again))
    assert np.isfinite(one).all()
    assert_allclose(one, two, atol=1e-9)


def test_uneven_errors_are_an_urn_drawn_ball_by_ball():
    """Of 40 claims on three values, as the docstring has it; few claims are left alone."""
    said = ["a"] * 25 + ["b"] * 12 + ["c"] * 3
    rows = [(f"s{s}", "many", value) for s, value in enumerate(said)]
    rows += [(f"s{s}", "few", value) for s, value in enumerate("aab")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    (block,) = prepare(claims).encoded.blocks
    n_values = block.n_facts_of_item.astype(np.float64)
    gain = beyond_even_errors(block, np.zeros(0), n_values)
    assert_allclose(beyond_even_errors(block, np.full(43, 1.0), n_values), gain, atol=1e-12)
    n_of_support = np.repeat(block.n_supports_of_fact, block.n_supports_of_fact)
    for n in (25, 12, 3):
        j = np.arange(n)
        each = np.mean(np.log(3 * EVEN + 39 - j) - np.log(EVEN + j)) - np.log(3.0)
        assert_allclose(gain[n_of_support == n], each, atol=1e-9)
    few = np.repeat(n_values == 2, block.n_supports_of_item)
    assert few.sum() == 3
    assert not gain[few].any()


def test_false_claims_that_never_coincide_have_many_values():
    rng = np.random.default_rng(0)
    apart, alike = [], []
    for i in range(500):
        for s in range(6):
            is_right = rng.random() < 0.5
            apart.append((f"s{s}", f"e{i}", "true" if is_right else f"{rng.integers(10**6)}"))
            alike.append((f"s{s}", f"e{i}", "true" if is_right else f"{rng.integers(2)}"))
    found = []
    for rows in (apart, alike):
        claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
        blocks = prepare(claims).encoded.blocks
        found.append(n_false_values(sum(log_likelihoods(block, 3000.0) for block in blocks)))
    assert found[0] > 16.0
    assert found[1] == 0.0
