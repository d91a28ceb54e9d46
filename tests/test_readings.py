"""Two readings of the claims, and what to ask."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import veracity
from test_explain import check_plausibilities
from veracity import Veracity
from veracity.algorithms.veracity import algorithm
from veracity.algorithms.veracity.mixing import off_by
from veracity.cli import main
from veracity.errors import ParameterError


@pytest.fixture(scope="module")
def divided():
    """Ten sources tell both labels apart; twenty more call most of the second the first, too."""
    rng = np.random.default_rng(7)
    rows, truth = [], []
    for item in range(200):
        true = int(rng.integers(2))
        truth.append((f"e{item}", str(true)))
        for source in range(30):
            right = 0.9 if true == 0 else (0.85 if source < 10 else 0.35)
            said = true if rng.random() < right else 1 - true
            rows.append((f"s{source}", f"e{item}", str(said)))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "value"], orient="row")


def tempting(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A label in five is 1. On some others two sources that speak much say 1, too, both of them."""
    rng = np.random.default_rng(seed)
    speakers = {  # how often they say 1: where it is true, elsewhere, and where it tempts
        "a": (0.85, 0.08, 0.9), "b": (0.83, 0.1, 0.9), "c": (0.8, 0.03, 0.1),
        "d": (0.2, 0.18, 0.2), "e": (0.2, 0.16, 0.18), "f": (0.75, 0.1, 0.3),
    }  # fmt: skip
    rows, truth = [], []
    is_one = rng.random(600) < 0.22
    tempts = ~is_one & (rng.random(600) < 0.2)
    for item, (one, tempted) in enumerate(zip(is_one, tempts, strict=True)):
        truth.append((f"q{item}", str(int(one))))
        for source, shares in speakers.items():
            if rng.random() < 0.85:
                said = rng.random() < shares[0 if one else 2 if tempted else 1]
                rows.append((source, f"q{item}", str(int(said))))
    return _tables(rows, truth)


def in_each_others_place(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of three labels one is frequent; all sources are as poor, and most errors of an item alike.

    So the items whose errors are alike look like items of another label.
    """
    rng = np.random.default_rng(seed)
    accuracy = rng.beta(16.5, 13.5, 60)
    rows, truth = [], []
    for item in range(114):
        true = int(rng.choice(3, p=[0.8, 0.15, 0.05]))
        decoy = (true + 1 + rng.integers(2)) % 3
        truth.append((f"q{item}", str(true)))
        for source in rng.choice(60, 8, replace=False):
            other = decoy if rng.random() < 0.7 else (true + 1 + rng.integers(2)) % 3
            said = true if rng.random() < accuracy[source] else other
            rows.append((f"s{source}", f"q{item}", str(said)))
    return _tables(rows, truth)


def _tables(rows, truth) -> tuple[pl.DataFrame, pl.DataFrame]:
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "value"], orient="row")


@pytest.mark.parametrize("seed", range(4))
def test_two_who_err_together_are_another_reading_and_twenty_answers_decide(seed):
    claims, truth = tempting(seed)
    result = veracity.discover(claims)
    assert any(note.startswith("two readings: ") for note in result.notes)
    plain = veracity.discover(claims, Veracity(confusions=False))
    better = max(veracity.evaluate(one, truth).accuracy for one in (result, plain))
    known = truth.clear()
    for _ in range(2):
        asked = result.questions(10).select("entity")
        known = pl.concat([known, truth.join(asked, on="entity", how="semi")])
        result = veracity.discover(claims, known=known)
    rest = truth.join(known, on="entity", how="anti")
    assert veracity.evaluate(result, rest).accuracy > better - 0.02


def test_known_items_may_be_harder_than_others():
    """What sources get wrong on them is compared with what was expected there, not elsewhere."""
    claims, truth = tempting(0)
    plain = Veracity(confusions=False)
    before = veracity.discover(claims, plain)
    hard = before.truths.sort("plausibility").head(40).select("entity")
    after = veracity.discover(claims, plain, known=truth.join(hard, on="entity", how="semi"))
    rest = truth.join(hard, on="entity", how="anti")
    one, other = (veracity.evaluate(result, rest).accuracy for result in (before, after))
    assert other > one - 0.01


def test_labels_learned_in_each_others_place_are_noticed():
    note = "of two readings, that in which more claims are true is told: if no source confuses"
    right = []
    for seed in range(8):
        claims, truth = in_each_others_place(seed)
        result, vote = veracity.discover(claims), veracity.discover(claims, "majority-vote")
        right.append([veracity.evaluate(one, truth).accuracy for one in (result, vote)])
        if not result.fitted.algorithm.confusions:
            assert any(told.startswith(note) for told in result.notes)
            assert right[-1][0] > right[-1][1] - 0.02
    one, other = np.mean(right, axis=0)
    assert one > other + 0.05  # 0.56 and 0.70 when it kept to its reading


def test_a_crowd_that_does_confuse_labels_keeps_its_reading():
    """Most call 1 mostly 0: fewer claims are true than by a vote, and rightly so."""
    rng = np.random.default_rng(1)
    rows, truth, confuses = [], [], rng.random(40) < 0.6
    for item in range(300):
        true = int(rng.integers(3))
        truth.append((f"q{item}", str(true)))
        for source in rng.choice(40, 10, replace=False):
            said = true if rng.random() < 0.88 else (true + 1 + rng.integers(2)) % 3
            said = 0 if confuses[source] and true == 1 and rng.random() < 0.7 else said
            rows.append((f"s{source}", f"q{item}", str(said)))
    claims, truth = _tables(rows, truth)
    result, vote = veracity.discover(claims), veracity.discover(claims, "majority-vote")
    one, other = (veracity.evaluate(told, truth).accuracy for told in (result, vote))
    assert one > max(0.95, other + 0.1)


@pytest.fixture(scope="module")
def result(divided):
    return veracity.discover(divided[0])


def test_plain_claims_have_one_reading(flights):
    result = veracity.discover(flights.claims)
    assert result.readings.is_empty()
    assert not any("two readings" in note for note in result.notes)


def test_two_readings_are_told_where_the_answer_is_given(result, tmp_path):
    assert any(note.startswith("two readings: ") for note in result.notes)
    row = result.readings.row(0, named=True)
    assert row["differs"] > 0.15
    assert row["believes_more"]
    assert row["believes_less"]
    assert all(", not " in example for example in row["examples"])
    assert veracity.check(result).warnings[0].name == "two-readings"
    saved = json.loads((result.save(tmp_path / "run") / "run.json").read_text())
    assert any("two readings" in note for note in saved["notes"])
    assert veracity.load(tmp_path / "run").readings.equals(result.readings)


def test_known_truths_decide_between_two_readings(divided, result):
    claims, truth = divided
    asked = result.questions(20).select("entity")
    known = truth.join(asked, on="entity", how="semi")
    rest = truth.join(asked, on="entity", how="anti")
    decided = veracity.discover(claims, known=known)
    vote = veracity.discover(claims, "majority-vote")
    right = [veracity.evaluate(one, rest).accuracy for one in (decided, result, vote)]
    assert right[0] >= max(right) - 0.01


def test_questions_are_of_items_on_which_sources_differ_and_each_once(flights):
    result = veracity.discover(flights.claims)
    questions = result.questions(15)
    assert len(questions) == questions.select("entity", "attribute").n_unique() == 15
    contested = result.truths.filter("contested")
    assert len(questions.join(contested, on=["entity", "attribute"], how="semi")) == 15
    assert questions["why"].str.contains("sources disagree about it").all()
    values = questions["values"].list.len()
    assert (values > 1).all()


def test_nothing_is_asked_that_is_known(flights):
    known = flights.truth.head(100)
    result = veracity.discover(flights.claims, known=known)
    questions = result.questions(50)
    assert questions.join(known, on=["entity", "attribute"], how="semi").is_empty()


def test_questions_of_a_batch_spread_over_attributes(flights):
    asked = veracity.discover(flights.claims).questions(20)
    assert set(asked["attribute"]) == {"departure", "gate"}


def test_where_sources_say_little_the_item_in_most_doubt_is_asked_for_first():
    """An answer teaches of sources, but it teaches nothing of use if they say nothing else."""
    rows = [(f"s{n}", "many voices", "a" if n < 8 else "b") for n in range(10)]
    rows += [("t0", "in doubt", "a"), ("t1", "in doubt", "b")]
    rows += [(f"u{n}", f"plain {n // 3}", "a") for n in range(60)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    asked = veracity.discover(claims).questions(2)
    assert asked["entity"].to_list() == ["in doubt", "many voices"]
    assert asked["gain"].is_sorted(descending=True)


@pytest.mark.parametrize("kind", ["multiple", "binary"])
def test_facts_are_asked_for_too(kind):
    rows = [(s, "x", v) for s, v in zip("abcd", "1122", strict=True)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    if kind == "binary":
        claims = claims.select("source", fact="entity", claim=pl.col("value") == "1")
    assert len(veracity.discover(claims, kind=kind).questions(3)) == 1


def test_a_budget_of_nothing_is_refused(result):
    with pytest.raises(ParameterError, match="budget must be at least 1, got 0"):
        result.questions(0)


def test_of_numbers_those_are_asked_whose_claims_lie_far_apart():
    rows = [("a", "x", 1.0), ("b", "x", 1.0), ("c", "x", 1.2), ("a", "y", 5.0), ("b", "y", 9.0),
            ("c", "y", 5.0), ("a", "z", 3.0), ("b", "z", 3.0)]  # fmt: skip
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    asked = veracity.discover(claims, kind="numeric").questions(5)
    assert asked["entity"].to_list() == ["y", "x"]
    assert asked["values"].to_list()[0] == ["5.0", "9.0"]
    assert asked["plausibility"].is_null().all()
    assert "far from the estimate" in asked["why"][0]
    known = pl.DataFrame({"entity": ["y"], "value": [5.0]})
    again = veracity.discover(claims, kind="numeric", known=known).questions(5)
    assert again["entity"].to_list() == ["x"]


def test_the_command_asks(result, tmp_path):
    result.save(tmp_path / "run")
    run = CliRunner().invoke(main, ["ask", str(tmp_path / "run"), "--budget", "3", "--json"])
    assert run.exit_code == 0, run.output
    told = json.loads(run.output)["questions"]
    assert len(told) == 3
    assert set(told[0]) == {"entity", "values", "plausibility", "claims", "gain", "why"}
    shown = CliRunner().invoke(main, ["ask", str(tmp_path / "run"), "--budget", "3"])
    assert "questions" in shown.output


def test_questions_in_a_file_are_truths_once_they_are_answered(flights, tmp_path):
    claims = flights.claims.rename({"entity": "flight", "value": "reading"})
    columns = {"entity": "flight", "value": "reading"}
    veracity.discover(claims, columns=columns).save(tmp_path / "run")
    file = tmp_path / "questions.xlsx"
    done = CliRunner().invoke(main, ["ask", str(tmp_path / "run"), "--out", str(file)])
    assert done.exit_code == 0, done.output
    asked = pl.read_excel(file)
    assert asked.columns[:3] == ["flight", "attribute", "reading"]
    assert asked["reading"].null_count() == len(asked) == 10
    first = asked["values"].str.split(" | ").list.first()
    answered = asked.with_columns(reading=pl.when(pl.int_range(pl.len()) < 4).then(first))
    answered.write_excel(file)
    known = veracity.discover(claims, columns=columns, known=file).run.input.known
    assert known == 4
    refused = CliRunner().invoke(main, ["ask", str(tmp_path / "run"), "--out", str(file)])
    assert refused.exit_code == 1


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


# --- two readings in one answer -------------------------------------------------------------------


@pytest.fixture(scope="module")
def believed(result):
    """The block of the claims, and what is believed in each of the two readings by itself."""
    state, algorithm = result.fitted.state, result.fitted.algorithm
    (block,) = result.encoded.blocks
    own, other = state._replace(rival=None), state.rival
    return block, algorithm.judge(block, own), algorithm.judge(block, other)


def best_of_items(block, plausibility):
    """The number of the most plausible fact of each item."""
    first = block.first_fact_of_item
    return np.array([a + np.argmax(plausibility[a:b]) for a, b in pairwise(first)])


def test_an_answer_is_as_plausible_as_both_readings_mixed_four_to_one(result, believed):
    block, own, other = believed
    (mixed,) = result.plausibility_by_block
    best = best_of_items(block, own)
    expected = (0.8 * own + 0.2 * other)[best]
    stays = expected > 0.51  # below, both readings together would give another answer
    assert stays.mean() > 0.9
    assert mixed[best][stays] == pytest.approx(expected[stays], abs=1e-3)
    differs = best != best_of_items(block, other)
    assert differs.mean() > 0.15
    assert (mixed[best] < own[best])[differs].all()


def test_no_answer_changes_because_of_another_reading(result, believed):
    block, own, _ = believed
    (mixed,) = result.plausibility_by_block
    assert (best_of_items(block, mixed) == best_of_items(block, own)).all()


def test_both_readings_are_off_whichever_is_right():
    own, other = np.array([1.0, 0.7, 0.2]), np.array([0.0, 0.7, 0.6])
    deviation = np.sqrt(0.8 * (own - other) ** 2 * 0.2)
    assert_allclose(np.abs(off_by(0.8 * own + 0.2 * other, other)), deviation, atol=1e-12)


def test_that_either_reading_may_be_right_makes_intervals_wider(divided, result, monkeypatch):
    monkeypatch.setattr(algorithm, "off_by", lambda mixed, other: np.zeros_like(mixed))
    narrower = veracity.discover(divided[0])
    now, then = (
        one.sources.sort("source").select(pl.col("accuracy_high") - pl.col("accuracy_low"))
        for one in (result, narrower)
    )
    assert (now > then).to_series().all()


def test_both_readings_are_kept_with_the_run_and_judge_new_claims(divided, result, tmp_path):
    claims, _ = divided
    loaded = veracity.load(result.save(tmp_path / "run"))
    again, expected = (one.fitted.judge(claims).facts for one in (loaded, result))
    assert again["plausibility"].to_list() == expected["plausibility"].to_list()
    told = result.facts["plausibility"]
    assert again["plausibility"].to_list() == pytest.approx(told.to_list())
    stranger = pl.DataFrame({"source": "new", "entity": ["e0", "e1"], "value": ["0", "1"]})
    assert len(loaded.fitted.judge(pl.concat([claims, stranger])).sources) == 31


def test_reasons_add_up_in_two_readings(result):
    check_plausibilities(result)


def test_what_nobody_claims_is_as_plausible_as_in_both_readings():
    """Ten sites copy another; who does not believe that has another value for many items."""
    rng = np.random.default_rng(4)
    rows = []
    for item in range(300):
        true, of_copies = f"v{item}", f"w{item}" if rng.random() < 0.6 else f"v{item}"
        for n in range(8):
            said = true if rng.random() < 0.7 else f"x{item}-{rng.integers(3)}"
            rows.append((f"s{n}", f"e{item}", said))
        if item % 2:
            rows += [(f"copy{n}", f"e{item}", of_copies) for n in range(10)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    result = veracity.discover(claims)
    state, algorithm = result.fitted.state, result.fitted.algorithm
    assert state.rival is not None
    (block,) = result.encoded.blocks
    own, other = (algorithm.judge(block, one) for one in (state._replace(rival=None), state.rival))
    none = 0.8 * left_of_items(block, own) + 0.2 * left_of_items(block, other)
    (mixed,) = result.plausibility_by_block
    assert left_of_items(block, mixed) == pytest.approx(none, abs=1e-6)
    check_plausibilities(result)


def left_of_items(block, plausibility):
    """How plausible it is that none of the values claimed is true."""
    return 1.0 - np.add.reduceat(plausibility, block.first_fact_of_item[:-1])
