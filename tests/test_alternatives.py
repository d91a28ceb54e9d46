"""Two answers of the claims."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from test_explain import check_plausibilities
from veracity.algorithms.mixing import error_of_mixture
from veracity.fit import judging


@pytest.fixture(scope="module")
def divided():
    """Ten sites copy another on half of the items; without copies, many items get other values."""
    rng = np.random.default_rng(4)
    rows, truth = [], []
    for item in range(300):
        true, of_copies = f"v{item}", f"w{item}" if rng.random() < 0.6 else f"v{item}"
        truth.append((f"e{item}", true))
        for n in range(8):
            said = true if rng.random() < 0.7 else f"x{item}-{rng.integers(3)}"
            rows.append((f"s{n}", f"e{item}", said))
        if item % 2:
            rows += [(f"copy{n}", f"e{item}", of_copies) for n in range(10)]
    return _tables(rows, truth)


def _tables(rows, truth) -> tuple[pl.DataFrame, pl.DataFrame]:
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "value"], orient="row")


@pytest.fixture(scope="module")
def result(divided):
    return veracity.discover(divided[0])


def test_plain_claims_have_one_answer(flights):
    result = veracity.discover(flights.claims)
    assert result.alternatives.is_empty()
    assert "two-answers" not in result.findings["name"]


def test_two_answers_are_told_where_the_answer_is_given(result, tmp_path):
    assert result.findings["name"][0] == "two-answers"
    assert " would be right more often, " in result.findings["seen"][0]
    row = result.alternatives.row(0, named=True)
    assert row["differs"] > 0.15
    assert row["believes_more"]
    assert row["believes_less"]
    assert all(", not " in example for example in row["examples"])
    assert veracity.check(result).findings[0].name == "two-answers"
    saved = json.loads((result.save(tmp_path / "run") / "run.json").read_text())
    assert saved["findings"][0]["name"] == "two-answers"
    assert veracity.load(tmp_path / "run").alternatives.equals(result.alternatives)


def test_known_truths_decide_between_two_answers(divided, result):
    claims, truth = divided
    asked = result.questions(20).select("entity")
    known = truth.join(asked, on="entity", how="semi")
    rest = truth.join(asked, on="entity", how="anti")
    decided = veracity.discover(claims, known=known)
    vote = veracity.discover(claims, "majority-vote")
    right = [veracity.evaluate(one, rest).accuracy for one in (decided, result, vote)]
    assert right[0] >= max(right) - 0.02


@pytest.mark.slow
@pytest.mark.data
def test_twenty_answers_on_the_weather_help_much(shared_data):
    folder = shared_data / "weather_raw"
    truth = pl.read_parquet(folder / "truth.parquet")
    keys = ["entity", "attribute"]
    claims = pl.read_parquet(folder / "claims.parquet").join(truth, on=keys, how="semi")
    known = truth.head(0)
    for _ in range(2):
        found = veracity.discover(claims, known=known if len(known) else None)
        asked = found.questions(10).select(keys)
        known = pl.concat([known, truth.join(asked, on=keys, how="semi")])
    rest = truth.join(known, on=keys, how="anti")
    assert veracity.evaluate(veracity.discover(claims, known=known), rest).accuracy > 0.807


# --- two answers in one answer -------------------------------------------------------------------


@pytest.fixture(scope="module")
def believed(result):
    """The block of the claims, and what is believed in each of the two answers by itself."""
    state, algorithm = result.fitted.state, result.fitted.algorithm
    (block,) = result.encoded.blocks
    own, other = state._replace(other=None), state.other
    return block, algorithm.judge(block, own), algorithm.judge(block, other)


def best_of_items(block, plausibility):
    """The number of the most plausible fact of each item."""
    first = block.first_fact_of_item
    return np.array([a + np.argmax(plausibility[a:b]) for a, b in pairwise(first)])


def test_an_answer_is_as_plausible_as_both_answers_mixed_four_to_one(result, believed):
    block, own, other = believed
    (mixed,) = result.plausibility_by_block
    best = best_of_items(block, own)
    expected = (0.8 * own + 0.2 * other)[best]
    stays = expected > 0.51  # below, both answers together would give another answer
    assert stays.mean() > 0.7
    assert mixed[best][stays] == pytest.approx(expected[stays], abs=1e-3)
    differs = best != best_of_items(block, other)
    assert differs.mean() > 0.15
    assert (mixed[best] < own[best])[differs].all()


def test_no_answer_changes_because_of_another_answer(result, believed):
    block, own, _ = believed
    (mixed,) = result.plausibility_by_block
    assert (best_of_items(block, mixed) == best_of_items(block, own)).all()


def test_both_answers_are_off_whichever_is_right():
    own, other = np.array([1.0, 0.7, 0.2]), np.array([0.0, 0.7, 0.6])
    deviation = np.sqrt(0.8 * (own - other) ** 2 * 0.2)
    assert_allclose(np.abs(error_of_mixture(0.8 * own + 0.2 * other, other)), deviation, atol=1e-12)


def test_that_either_answer_may_be_right_makes_intervals_wider(divided, result, monkeypatch):
    monkeypatch.setattr(judging, "error_of_mixture", lambda mixed, other: np.zeros_like(mixed))
    narrower = veracity.discover(divided[0])
    now, then = (
        one.sources.sort("source").select(pl.col("accuracy_high") - pl.col("accuracy_low"))
        for one in (result, narrower)
    )
    assert (now > then).to_series().all()


def test_both_answers_are_kept_with_the_run_and_judge_new_claims(divided, result, tmp_path):
    claims, _ = divided
    loaded = veracity.load(result.save(tmp_path / "run"))
    again, expected = (one.fitted.judge(claims).facts for one in (loaded, result))
    assert again["plausibility"].to_list() == expected["plausibility"].to_list()
    told = result.facts["plausibility"]
    assert again["plausibility"].to_list() == pytest.approx(told.to_list())
    stranger = pl.DataFrame({"source": "new", "entity": ["e0", "e1"], "value": ["v0", "w1"]})
    assert len(loaded.fitted.judge(pl.concat([claims, stranger])).sources) == 19


def test_reasons_add_up_in_two_answers(result):
    check_plausibilities(result)


def test_what_nobody_claims_is_as_plausible_as_in_both_answers(result, believed):
    block, own, other = believed
    none = 0.8 * left_of_items(block, own) + 0.2 * left_of_items(block, other)
    (mixed,) = result.plausibility_by_block
    assert left_of_items(block, mixed) == pytest.approx(none, abs=1e-6)


def left_of_items(block, plausibility):
    """How plausible it is that none of the values claimed is true."""
    return 1.0 - np.add.reduceat(plausibility, block.first_fact_of_item[:-1])
