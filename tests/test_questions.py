"""Questions are drawn, come back with answers, and tell how right the rest of the table is."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from scipy.stats import beta

import veracity
from veracity.cli import main
from veracity.errors import ParameterError
from veracity.inspect.estimating import interval_of
from veracity.inspect.questions import inclusions, systematic

KEYS = ["entity", "attribute"]
DRAWING = ["answer", "plausibility", "inclusion", "drawn", "asked_of"]


def table(rows, names=("source", "entity", "value")) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(names), orient="row")


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def result(flights):
    return veracity.discover(flights.claims)


@pytest.fixture(scope="module")
def answered(flights):
    """Three batches of ten questions, each with its answers, and the results after each."""
    known, results = None, [veracity.discover(flights.claims)]
    for _ in range(3):
        batch = results[-1].questions(10).join(flights.truth, on=KEYS)
        known = batch if known is None else pl.concat([known, batch])
        results.append(veracity.discover(flights.claims, known=known))
    return known, results


# --- the draw -------------------------------------------------------------------------------------


def test_the_first_batch_is_drawn_evenly(result):
    asked = result.questions(20)
    assert len(asked) == asked.select(KEYS).n_unique() == 20
    assert asked["inclusion"].to_list() == pytest.approx([20 / 400] * 20)
    assert asked["asked_of"].to_list() == [400] * 20
    assert asked["drawn"].all()
    assert asked["attribute"].value_counts()["count"].to_list() == [10, 10]  # as the items are


def test_the_same_run_draws_the_same_questions_and_another_seed_draws_others(result, flights):
    assert result.questions(10).equals(veracity.discover(flights.claims).questions(10))
    other = veracity.discover(flights.claims, seed=1)
    assert not result.questions(10).equals(other.questions(10))


def test_a_saved_run_draws_the_same_questions(flights, tmp_path):
    result = veracity.discover(flights.claims, seed=7)
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert loaded.run.seed == 7
    assert loaded.questions(10).equals(result.questions(10))


def test_later_batches_ask_for_nothing_that_is_known_and_draw_unevenly(answered):
    known, results = answered
    assert known.select(KEYS).n_unique() == 30
    later = results[1].questions(10)
    assert later["asked_of"].to_list() == [390] * 10
    assert later["inclusion"].min() < 10 / 390 < later["inclusion"].max()
    assert later["inclusion"].min() >= 0.2 * 10 / 390  # each item has its share of a fifth


def test_probabilities_add_up_to_the_number_of_questions():
    share = np.random.default_rng(0).dirichlet(np.full(50, 0.3))
    for n in (1, 5, 20, 49):
        found = inclusions(share, n)
        assert found.sum() == pytest.approx(n)
        assert found.max() <= 1.0
        drawn = systematic(found, np.arange(50), np.random.default_rng(n))
        assert len(set(drawn.tolist())) == n
        assert set(np.flatnonzero(found == 1.0)) <= set(drawn.tolist())


def test_items_are_drawn_as_often_as_their_probability_says():
    share = np.array([0.4, 0.3, 0.2, 0.1])
    found, rng = inclusions(share, 2), np.random.default_rng(3)
    times = np.zeros(4)
    for _ in range(20_000):
        times[systematic(found, np.arange(4), rng)] += 1
    assert_allclose(times / 20_000, [0.8, 0.6, 0.4, 0.2], atol=0.015)


def test_weighting_by_probabilities_gives_the_share_of_the_table_over_seeds():
    """Horvitz and Thompson: values over probabilities add up to those of the table, on average."""
    rows = [(s, f"e{i}", "w" if s == "c" and i % 3 else "v") for s in "abc" for i in range(12)]
    rows += [("d", f"e{i}", "u") for i in range(4)]
    claims, known = table(rows), pl.DataFrame({"entity": ["e0"], "value": ["v"]})
    disputed = {f"e{i}" for i in range(1, 12) if i % 3 or i < 4}
    estimates = []
    for seed in range(300):
        asked = veracity.discover(claims, "majority-vote", known=known, seed=seed).questions(4)
        assert asked["asked_of"].to_list() == [11] * 4
        is_meant = asked["entity"].is_in(disputed).cast(pl.Float64)
        estimates.append((is_meant / asked["inclusion"]).sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - len(disputed)) < 4 * error + 1e-9


def test_more_questions_than_items_ask_for_all_of_them():
    claims = table([("a", "x", "1"), ("b", "x", "2"), ("a", "y", "1")])
    asked = veracity.discover(claims).questions(10)
    assert sorted(asked["entity"]) == ["x", "y"]
    assert asked["inclusion"].to_list() == [1.0, 1.0]
    everything = veracity.discover(claims, known={"x": "1", "y": "1"})
    assert everything.questions(10).is_empty()


@pytest.mark.parametrize("kind", ["multiple", "binary"])
def test_facts_are_asked_for_too(kind):
    rows = [(s, e, v) for e in "xyz" for s, v in zip("abcd", "1112", strict=True)]
    claims = table(rows)
    if kind == "binary":
        claims = claims.select("source", fact="entity", claim=pl.col("value") == "1")
    result = veracity.discover(claims, kind=kind)
    asked = result.questions(3)
    assert len(asked) == 3
    (answer,) = set(asked["answer"])
    assert str(result.truths["value"][0]).lower() == answer
    assert (asked["plausibility"] >= 0.5).all()


def test_numbers_whose_claims_lie_far_apart_are_drawn_more_often():
    rng = np.random.default_rng(2)
    rows = [(s, f"e{i:02}", 10.0 + (i < 8) * rng.normal()) for i in range(40) for s in "abc"]
    known = pl.DataFrame({"entity": ["e00"], "value": [10.0]})
    result = veracity.discover(table(rows), kind="numeric", known=known)
    asked = result.questions(12)
    far = asked["entity"] < "e08"
    assert far.sum() >= 6
    assert asked.filter(far)["inclusion"].min() > asked.filter(~far)["inclusion"].max()
    assert asked["plausibility"].is_null().all()
    estimates = result.truths.select("entity", pl.col("value"))
    both = asked.join(estimates, on="entity")
    assert_allclose(both["answer"].cast(pl.Float64), both["value"])
    assert "times as far from the estimate as usual" in asked.filter(far)["why"][0]
    with pytest.raises(ParameterError, match="number is hardly ever exactly right"):
        result.estimate()


def test_a_budget_of_nothing_is_refused(result):
    with pytest.raises(ParameterError, match="budget must be at least 1, got 0"):
        result.questions(0)


def test_reasons_name_the_sources_that_oppose_an_answer_or_say_that_nobody_does():
    rows = [(s, "x", v) for s, v in zip("abcde", "11222", strict=True)]
    rows += [(s, "y", "1") for s in "abc"] + [("a", "z", "1")]
    asked = veracity.discover(table(rows), "majority-vote").questions(3)
    why = dict(asked.select("entity", "why").rows())
    assert why["x"] == "a and b claim otherwise; the answer is 60% plausible"
    assert why["y"] == "a check of an answer nobody disputes: all 3 sources agree"
    assert why["z"] == "a check of an answer that only a gives"


# --- there and back -------------------------------------------------------------------------------


def test_questions_come_back_with_answers_and_keep_how_they_were_drawn(answered):
    known, results = answered
    assert [len(result.run.asked) for result in results] == [0, 10, 20, 30]
    told = pl.DataFrame(results[-1].run.asked)
    names = told.select(pl.col("item").list.to_struct(fields=KEYS)).unnest("item")
    back = names.hstack(told.select(DRAWING)).sort(KEYS)
    assert back.equals(known.sort(KEYS).select(*KEYS, *DRAWING))


def test_a_run_keeps_the_questions_that_were_answered(answered, tmp_path):
    _, results = answered
    loaded = veracity.load(results[-1].save(tmp_path / "run"))
    assert loaded.run.asked == results[-1].run.asked
    assert loaded.questions(10).equals(results[-1].questions(10))
    assert loaded.estimate() == results[-1].estimate()


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "parquet"])
def test_files_of_questions_are_truths_once_they_are_answered(flights, tmp_path, ending):
    """Columns of the user's own are called like ours, and values look like formulas."""
    spelt = pl.col("value").str.replace("^", "=")
    claims = flights.claims.select("source", "attribute", drawn="entity", answer=spelt)
    truth = flights.truth.select("attribute", drawn="entity", true=spelt)
    columns = {"entity": "drawn", "value": "answer"}
    file, folder = tmp_path / f"questions.{ending}", tmp_path / "run"
    read = {"csv": pl.read_csv, "xlsx": pl.read_excel, "json": pl.read_json}
    first = veracity.discover(claims, columns=columns)
    first.save(folder)
    run("ask", folder, "--out", file)
    asked = read.get(ending, pl.read_parquet)(file)
    names = ["drawn", "attribute", "answer", "values", "answer_2", "plausibility", "claims", "why",
             "inclusion", "drawn_2", "asked_of"]  # fmt: skip
    assert asked.columns == names
    assert asked["answer"].null_count() == 10
    filled = asked.drop("answer").join(truth, on=["drawn", "attribute"]).rename({"true": "answer"})
    filled = filled.with_columns(pl.when(pl.int_range(10) < 7).then("answer")).select(names)
    write = {"csv": filled.write_csv, "xlsx": filled.write_excel, "json": filled.write_json}
    write.get(ending, filled.write_parquet)(file)
    again = veracity.discover(claims, columns=columns, known=file)
    assert again.run.input.known == len(again.run.asked) == 7  # rows without an answer are left out
    expected = first.questions(10).select("entity", "attribute", *DRAWING)
    for row in again.run.asked:
        entity, attribute = row["item"]
        (own,) = expected.filter(entity=entity, attribute=attribute).select(DRAWING).to_dicts()
        assert row["answer"].lstrip("'") == own.pop("answer")
        assert {name: row[name] for name in own} == pytest.approx(own)


def test_batches_may_be_a_list_of_files_beside_other_known_truths(answered, flights, tmp_path):
    known, results = answered
    files = [tmp_path / f"batch {n}.csv" for n in range(3)]
    for n, file in enumerate(files):
        batch = known[10 * n : 10 * n + 10]
        batch.with_columns(pl.col("values").list.join(" | ")).write_csv(file)
    found = veracity.discover(flights.claims, known=files)
    assert found.run.asked == results[-1].run.asked
    assert found.estimate() == results[-1].estimate()
    others = flights.truth.join(known, on=KEYS, how="anti").head(5)
    others.write_csv(tmp_path / "others.csv")
    more = veracity.discover(flights.claims, known=[*files, tmp_path / "others.csv"])
    assert more.run.asked == found.run.asked
    assert more.run.input.known == 35


def test_answers_are_not_taken_for_truths(result, flights):
    with pytest.raises(veracity.errors.InputError, match="no column 'value'"):
        veracity.discover(flights.claims, known=result.questions(5))


def test_known_truths_without_these_columns_are_just_known_truths(flights):
    result = veracity.discover(flights.claims, known=flights.truth.head(30))
    assert result.run.asked == []
    assert result.estimate().drawn == 0


# --- how right the rest is ------------------------------------------------------------------------


def test_below_twenty_drawn_answers_nothing_can_be_said(answered):
    _, results = answered
    early, late = results[1].estimate(), results[2].estimate()
    assert (early.drawn, early.right, early.is_enough) == (10, None, False)
    assert str(early).startswith("10 drawn questions are answered: too few to say how right")
    assert late.drawn == late.known == 20
    assert late.others == 380
    assert 0.0 <= late.low <= late.right <= late.high <= 1.0
    assert str(late).startswith("of the 380 items not looked up, ")


def test_close_calls_do_not_count_as_drawn(answered, flights):
    known, _ = answered
    chosen = known.with_columns(drawn=pl.int_range(pl.len()) < 19)
    estimate = veracity.discover(flights.claims, known=chosen).estimate()
    assert (estimate.known, estimate.drawn, estimate.right) == (30, 19, None)


def test_the_estimate_is_worked_out_by_hand():
    """A vote learns nothing, so what is known of a fold does not matter.

    Of thirty items drawn evenly, the vote is wrong on six.
    """
    rows, truth = [], []
    for i in range(100):
        rows += [(s, f"e{i:02}", "v" if s != "c" else "w") for s in "abc"]
        truth.append((f"e{i:02}", "w" if i % 5 == 0 else "v"))
    known = table(truth[:30], ("entity", "value")).with_columns(
        answer=pl.lit("v"), plausibility=2 / 3, inclusion=0.3, drawn=True, asked_of=100
    )
    estimate = veracity.discover(table(rows), "majority-vote", known=known).estimate(enough=0.6)
    assert (estimate.drawn, estimate.others, estimate.changes) == (30, 70, 0.0)
    assert estimate.right == pytest.approx(0.8)
    low, high = beta(24 + 0.5, 6 + 0.5).ppf([0.05, 0.95])  # Jeffreys
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-6)
    assert estimate.table == pytest.approx([(30 + 70 * r) / 100 for r in (0.8, low, high)])
    assert estimate.is_trusted  # four of the last twenty were wrong, and 6.7 were expected to be
    assert estimate.is_enough


def test_answers_that_were_drawn_seldom_stand_for_more_items():
    wrong, weight = np.array([1.0, 0.0, 0.0, 1.0]), np.array([3.0, 1.0, 1.0, 1.0])
    share, low, high = interval_of(wrong, weight)
    assert share == pytest.approx(4 / 6)
    # The variance is (9 (1/3)² + 2 (2/3)² + (1/3)²) / 36 = 2 / 36; (4/6)(2/6) / (2/36) = 4 answers.
    expected = beta(4 * share + 0.5, 4 * (1 - share) + 0.5).ppf([0.05, 0.95])
    assert (low, high) == pytest.approx(tuple(expected), abs=1e-6)


def test_drawn_items_in_more_doubt_than_any_that_is_left_do_not_count():
    """The ten close calls of a vote are known, and ten more like them that were drawn."""
    rows = [
        (s, f"e{i:02}", "v" if s < ("c" if i < 20 else "e") else "w")
        for i in range(100)
        for s in "abcde"
    ]
    known = pl.DataFrame({
        "entity": [f"e{i:02}" for i in range(50)],
        "value": ["v"] * 50,
        "answer": ["w"] * 20 + ["v"] * 30,
        "plausibility": 0.6,
        "inclusion": 0.4,
        "drawn": [False] * 10 + [True] * 40,
        "asked_of": 100,
    })  # fmt: skip
    all_drawn = known.with_columns(drawn=True)
    found, plain = (
        veracity.discover(table(rows), "majority-vote", known=own) for own in (known, all_drawn)
    )
    assert plain.estimate().right == pytest.approx(30 / 50)
    assert found.estimate().right == 1.0  # all fifty that are left are four against one


def test_the_interval_of_answers_that_were_all_right_is_jeffreys():
    share, low, high = interval_of(np.zeros(20), np.ones(20))
    assert (share, low) == (0.0, 0.0)
    assert high == pytest.approx(beta(0.5, 20.5).ppf(0.95), abs=1e-6)


def test_the_estimate_is_shown_where_questions_and_measures_are(answered, flights, tmp_path):
    _, results = answered
    result = results[-1]
    said = str(result.estimate())
    result.save(tmp_path / "run")
    assert run("estimate", tmp_path / "run").strip() == said
    assert json.loads(run("estimate", tmp_path / "run", "--json"))["known"] == 30
    assert said in " ".join(run("ask", tmp_path / "run").split())
    assert f"estimated from answered questions: {said}" in (
        veracity.evaluate(result, flights.truth).notes
    )
    assert said in result.estimate()._repr_html_()


def test_trust_and_half_of_close_calls_follow_drawn_answers_that_were_right(answered):
    _, results = answered
    assert not any(result.questions(10)["drawn"].all() is False for result in results[:2])
    trusted = results[-1]
    assert trusted.estimate().is_trusted
    asked = trusted.questions(10)
    assert asked["drawn"].sum() == 5
    close = asked.filter(~pl.col("drawn"))
    left = trusted.truths.join(asked.filter("drawn"), on=KEYS, how="anti")
    assert close["plausibility"].max() <= sorted(left["plausibility"])[5] + 1e-9


def test_the_command_asks(result, tmp_path):
    result.save(tmp_path / "run")
    told = json.loads(run("ask", tmp_path / "run", "--budget", 3, "--json"))["questions"]
    assert len(told) == 3
    assert list(told[0]) == [*KEYS, "values", "answer", "plausibility", "claims", "why",
                             "inclusion", "drawn", "asked_of"]  # fmt: skip
    shown = run("ask", tmp_path / "run", "--budget", 3)
    assert "items to look up next" in shown
    assert "inclusion" not in shown
    file = tmp_path / "questions.csv"
    run("ask", tmp_path / "run", "--out", file)
    refused = CliRunner().invoke(main, ["ask", str(tmp_path / "run"), "--out", str(file)])
    assert refused.exit_code == 1
