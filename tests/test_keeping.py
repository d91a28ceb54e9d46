"""A fit that is kept up to date: new claims, newer ones, withdrawn ones, and old ones that fade."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity import Local
from veracity.algorithms import LTDRBM, RecursiveEM, Veracity
from veracity.cli import main
from veracity.errors import InputError, NotConverged, ParameterError
from veracity.synthetic import Synthetic
from veracity.testing import some_claims


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return function(*arguments, **options)


def discover(claims, algorithm=None, **options):
    return quietly(veracity.discover, claims, algorithm, **options)


def learned(fitted):
    """What was learned of the sources, in the order of their names."""
    rates = getattr(fitted.state, "rates", None)
    if rates is not None:
        return np.concatenate([rates.tpr, rates.fpr])
    trust = fitted.algorithm.trust(fitted.state)
    return np.concatenate([fitted.state.tpr, fitted.state.fpr]) if trust is None else trust


def apart(one, other):
    return np.abs(learned(one) - learned(other)).max()


@pytest.fixture(scope="module")
def drawn():
    return Synthetic(sources=10, items=600, accuracy=0.7).draw(seed=1)


# --- as from all claims ---------------------------------------------------------------------------

FAMILIES = {
    "dare": "dare",
    "flow": LTDRBM(learning="flow"),
    "flow-c": LTDRBM(learning="flow", single_truth=True),
    "investment": "investment",
    "pooled-investment": "pooled-investment",
    "sums": "sums",
    "average-log": "average-log",
    "mle": "mle",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_few_new_items_move_sources_no_further_than_they_are_due(name, drawn):
    place = pl.col("entity").rank("dense")
    first = discover(drawn.claims.filter(place <= 590), FAMILIES[name]).fitted
    everything = discover(drawn.claims, FAMILIES[name]).fitted
    updated = quietly(first.update, drawn.claims.filter(place > 590)).fitted
    assert 0.0 < apart(first, updated) < 1.1 * apart(first, everything)
    assert apart(updated, everything) < apart(first, everything)


@pytest.mark.parametrize("name", FAMILIES)
def test_ten_small_updates_end_near_a_fit_of_all_claims(name, drawn):
    place = pl.col("entity").rank("dense")
    fitted = discover(drawn.claims.filter(place <= 500), FAMILIES[name]).fitted
    everything = discover(drawn.claims, FAMILIES[name]).fitted
    for first in range(500, 600, 10):
        new = drawn.claims.filter((place > first) & (place <= first + 10))
        fitted = quietly(fitted.update, new).fitted
    assert apart(fitted, everything) < 0.05


# --- items that come again ------------------------------------------------------------------------

KINDS = ("categorical", "multiple", "binary", "numeric")


def without(claims, others):
    """Claims of which the others have no word of the same source on the same item."""
    keys = [name for name in ("source", "entity", "attribute", "fact") if name in claims.columns]
    return claims.join(others, on=keys, how="anti")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", [Local(), Local(claims_per_block=40)], ids=["one", "blocks"])
def test_settled_claims_are_the_newest_ones_without_the_withdrawn(kind, engine, tmp_path):
    claims = some_claims(kind, 1, 300)
    n = len(claims) // 3
    first, second, third = claims[:n], claims[n : n + 20], claims[n + 20 :]
    withdrawn = first[:5]
    left = pl.concat([without(first, second), second])
    left = pl.concat([without(without(left, withdrawn), third), third])

    fitted = discover(first, kind=kind, engine=engine).fitted
    updated = quietly(fitted.update, second, engine=engine)
    updated = veracity.load(updated.save(tmp_path / "run"))
    updated = quietly(updated.fitted.update, third, withdrawn=withdrawn, engine=engine)
    settled, fresh = quietly(updated.fitted.settle), discover(left, kind=kind)
    counts = pl.exclude("plausibility", "estimate", "distance")
    one, other = (found.facts.sort(counts) for found in (settled, fresh))
    assert one.select(counts).equals(other.select(counts))
    if kind != "numeric":
        assert np.allclose(one["plausibility"], other["plausibility"], atol=1e-9)


def test_an_update_lists_the_items_of_new_claims_with_the_old_claims_on_them():
    old = {"a": {"x": "1", "y": "1"}, "b": {"x": "1", "y": "2"}, "c": {"x": "2", "y": "2"}}
    rows = [(source, item, value) for source, own in old.items() for item, value in own.items()]
    claims = pl.DataFrame(rows, ["source", "entity", "value"], orient="row")
    new = pl.DataFrame({"source": ["c", "d"], "entity": ["x", "x"], "value": ["3", "1"]})
    updated = quietly(discover(claims, "mle").fitted.update, new)
    found = dict(updated.facts.select("value", "supporters").iter_rows())
    assert found == {"1": 3, "3": 1}  # what c said before is gone
    assert updated.truths["entity"].to_list() == ["x"]
    assert "1 earlier claim is replaced" in updated.notes
    assert updated.fitted.counted.items == 2
    assert updated.fitted.counted.supports_of_source.tolist() == [2.0, 2.0, 2.0, 1.0]


def test_the_same_claims_again_change_hardly_anything(drawn):
    fitted = discover(drawn.claims, "mle").fitted
    again = quietly(fitted.update, drawn.claims.head(300)).fitted
    assert apart(fitted, again) < 1e-3
    assert again.counted.items == fitted.counted.items


def test_shares_of_samples_stay_with_their_claims():
    rows = [("m", "x", "1"), ("m", "x", "1"), ("m", "x", "2"), ("n", "x", "2"), ("n", "x", "3")]
    claims = pl.DataFrame(rows, ["source", "entity", "value"], orient="row")
    fitted = discover(claims, "mle", samples=True).fitted
    new = pl.DataFrame({"source": ["n"] * 2, "entity": ["x"] * 2, "value": ["1", "4"]})
    block = quietly(fitted.update, new, samples=True).fitted.claims.blocks[0]
    assert block.share_of_support.round(6).tolist() == [0.666667, 0.5, 0.333333, 0.5]
    assert block.share_of_voice.tolist() == [1.0, 1.0]


def test_known_truths_stay_when_an_item_comes_again():
    rows = [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "2"), ("a", "y", "1"), ("b", "y", "1")]
    claims = pl.DataFrame(rows, ["source", "entity", "value"], orient="row")
    fitted = discover(claims, "mle", known={"x": "1"}).fitted
    new = pl.DataFrame({"source": ["d", "e"], "entity": ["x", "x"], "value": ["2", "3"]})
    truths = quietly(fitted.update, new).truths
    assert truths.select("value", "plausibility").rows() == [("1", 1.0)]


def test_a_known_number_stays_when_its_item_comes_again():
    rows = [("a", "x", 1.0), ("b", "x", 2.0), ("a", "y", 3.0), ("b", "y", 3.5)]
    claims = pl.DataFrame(rows, ["source", "entity", "value"], orient="row")
    fitted = discover(claims, kind="numeric", known={"x": 1.5}).fitted
    new = pl.DataFrame({"source": ["c", "c"], "entity": ["x", "z"], "value": [9.0, 4.0]})
    block = quietly(fitted.update, new).fitted.claims.blocks[-1]
    assert block.n_items == 3
    assert block.known_number_of_item[block.is_known].tolist() == [1.5]


def test_items_come_again_where_copies_were_not_counted_once():
    drawn = Synthetic(
        sources=12, items=400, values=30, accuracy=0.6, copying=0.5, copy_frequency=0.95
    ).draw(seed=0)
    fitted = discover(drawn.claims, Veracity(most_undecided=0.0)).fitted
    dependence = fitted.state.dependence
    assert (dependence.is_any, dependence.once) == (True, False)
    assert apart(fitted, quietly(fitted.update, drawn.claims.head(200)).fitted) < 0.02


def test_without_claims_only_sums_count_and_a_note_says_so(drawn):
    fitted = replace(discover(drawn.claims, "mle").fitted, claims=None)
    updated = quietly(fitted.update, drawn.claims.head(50))
    assert any("only their sums count" in note for note in updated.notes)
    assert updated.fitted.claims is None
    for wrong in (lambda: fitted.update(drawn.claims, withdrawn=drawn.claims), fitted.settle):
        with pytest.raises(InputError, match="not at hand"):
            wrong()


def test_an_update_without_claims_is_saved_without(drawn, tmp_path):
    fitted = replace(discover(drawn.claims, "mle").fitted, claims=None)
    updated = quietly(fitted.update, drawn.claims.head(50))
    assert veracity.load(updated.save(tmp_path / "run")).fitted.claims is None


def test_the_command_updates_withdraws_forgets_and_settles(drawn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn.claims[:1500].write_csv("old.csv")
    drawn.claims[1500:].write_csv("new.csv")
    drawn.claims[:1].write_csv("gone.csv")
    discover("old.csv", "mle").save("run")
    command = ["update", "run", "new.csv", "--withdrawn", "gone.csv", "--half-life", "1000"]
    found = CliRunner().invoke(main, [*command, "--settle", "--out", "all", "--json"])
    assert found.exit_code == 0, found.output
    assert veracity.load("all").run.input.claims == len(drawn.claims) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_withdrawn_claims_that_nobody_made_are_counted_in_a_note(kind):
    claims = some_claims(kind, 1, 100).unique(maintain_order=True)
    columns = ("source", "fact") if kind == "binary" else ("source", "entity", "attribute")
    claims = claims.unique(columns, keep="first", maintain_order=True)
    fitted = discover(claims, kind=kind).fitted
    item = columns[1]
    unknown = [
        claims[:1].with_columns(source=pl.lit("nobody")),
        claims[1:3].with_columns(**{item: pl.lit("nothing ") + pl.col(item)}),
    ]
    updated = quietly(fitted.update, claims[:1], withdrawn=pl.concat([*unknown, claims[3:4]]))
    assert any(note.startswith("3 withdrawn claims were not among") for note in updated.notes)
    assert "nobody" not in updated.sources["source"].to_list()
    new = claims[:1].with_columns(pl.lit("elsewhere").alias(item))
    updated = quietly(fitted.update, new, withdrawn=unknown[0])
    assert any(note.startswith("1 withdrawn claim was not among") for note in updated.notes)


# --- forgetting -----------------------------------------------------------------------------------


def feed(hours, *, right, seed):
    """Claims of twelve sources, ten items an hour; the first source is right with its own rate."""
    rng = np.random.default_rng(seed)
    rows = []
    for hour in hours:
        for item in range(10):
            truth = rng.integers(4)
            for source in range(12):
                is_right = rng.random() < (right if source == 0 else 0.8)
                value = truth if is_right else (truth + rng.integers(1, 4)) % 4
                time = f"2026-01-{1 + hour // 24:02d} {hour % 24:02d}:00"
                rows.append((f"s{source}", f"{hour}-{item}", str(value), time))
    return pl.DataFrame(rows, ["source", "entity", "value", "time"], orient="row")


@pytest.mark.parametrize("half_life", [int, float, str, np.int64])
def test_half_of_what_was_learned_is_forgotten_after_a_half_life(half_life, drawn):
    fitted = discover(drawn.claims, "mle").fitted
    new = drawn.claims.with_columns(entity="again " + pl.col("entity"))
    updated = quietly(fitted.update, new, half_life=half_life(len(new))).fitted
    counts, before = updated.totals["rounds"][0][0], fitted.totals["rounds"][0][0]
    kept = quietly(fitted.update, new).fitted.totals["rounds"][0][0]
    assert np.allclose(kept[:, 1] - counts[:, 1], before[:, 1] / 2)


@pytest.mark.parametrize("half_life", ["1h", "60m", timedelta(hours=1)])
def test_a_half_life_may_be_a_time(half_life):
    columns = {"time": "time"}
    fitted = discover(feed([0], right=0.9, seed=1), "mle", columns=columns).fitted
    new = feed([2], right=0.9, seed=2)
    updated = quietly(fitted.update, new, half_life=half_life).fitted
    assert updated.counted.supports_of_source.tolist() == [12.5] * 12  # ten, and a quarter of ten
    assert updated.clock == 2.0


def test_items_that_come_again_are_taken_out_as_far_as_they_are_still_there(drawn):
    place = pl.col("entity").rank("dense")
    fitted = discover(drawn.claims, "mle").fitted
    for _ in range(4):  # everything is replaced, item by item
        for first in range(0, 600, 200):
            new = drawn.claims.filter((place > first) & (place <= first + 200))
            fitted = quietly(fitted.update, new, half_life=5000).fitted
    assert fitted.counted.supports_of_source.min() > 0.0
    assert fitted.totals["rounds"][0][0].min() > -1e-6


def test_a_feed_that_broke_is_trusted_no_more_with_a_half_life_of_a_day():
    columns = {"time": "time"}
    broken = kept = discover(feed(range(10 * 24), right=0.93, seed=1), columns=columns).fitted
    for day in range(10, 15):
        new = feed(range(day * 24, day * 24 + 24), right=0.15, seed=day)
        broken = quietly(broken.update, new, half_life=len(new)).fitted
        kept = quietly(kept.update, new).fitted
    assert kept.algorithm.trust(kept.state)[0] > 0.6
    assert broken.algorithm.trust(broken.state)[0] < 0.4


@pytest.mark.parametrize(
    ("half_life", "algorithm", "said"),
    [
        (0, "mle", "above 0"),
        (True, "mle", "above 0"),
        (float("nan"), "mle", "above 0"),
        ("soon", "mle", "half_life must be"),
        ("1d", "mle", "no times"),
        (100, "ltd-rbm", "no sums"),
    ],
)
def test_a_half_life_without_meaning_is_refused(half_life, algorithm, said, drawn):
    fitted = discover(drawn.claims, algorithm).fitted
    with pytest.raises(ParameterError, match=said):
        fitted.update(drawn.claims.head(100), half_life=half_life)


# --- recursive EM ---------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_rates_of_known_facts_are_running_means_whatever_the_batches(batch_size):
    rows = [("s", "f1", True), ("s", "f2", True), ("s", "f3", False), ("s", "f4", True)]
    claims = pl.DataFrame(rows, ["source", "fact", "claim"], orient="row")
    known = {"f1": True, "f2": True, "f3": True, "f4": False}
    algorithm = RecursiveEM(batch_size=batch_size, first=1)
    state = discover(claims, algorithm, kind="binary", known=known).fitted.state
    start = (2 + 10 * 0.8) / 13  # known truths weigh against ten facts
    mean = (start + 2) / 4  # the prior is worth one fact; the source supports two of three
    assert state.tpr[0] == pytest.approx((2 + 10 * mean) / 13)
    assert (state.true_facts[0], state.false_facts[0]) == (3.0, 1.0)


def test_one_pass_in_updates_comes_as_near_to_the_rates_as_rounds_over_all_claims():
    off = {"mle": [], "recursive-em": []}
    for seed in range(5):
        drawn = Synthetic(sources=15, items=600, values=2, accuracy=0.75).draw(seed=seed)
        place = pl.col("entity").rank("dense")
        fitted = discover(drawn.claims.filter(place <= 100), "recursive-em").fitted
        for first in range(100, 600, 100):
            new = drawn.claims.filter((place > first) & (place <= first + 100))
            fitted = quietly(fitted.update, new).fitted
        judged = {"recursive-em": fitted.judge(drawn.claims), "mle": discover(drawn.claims, "mle")}
        for name, result in judged.items():
            off[name].append(veracity.evaluate(result, drawn.truth).accuracy)
    assert abs(np.mean(off["mle"]) - np.mean(off["recursive-em"])) < 0.01


def test_recursive_em_forgets_information(drawn):
    fitted = discover(drawn.claims, "recursive-em").fitted
    before = fitted.state.true_facts + fitted.state.false_facts
    new = drawn.claims.head(100).with_columns(entity="again " + pl.col("entity"))
    after = quietly(fitted.update, new, half_life=50).fitted.state
    own = discover(new, "recursive-em").fitted.state
    own = dict(zip(new["source"].unique().sort(), own.true_facts + own.false_facts, strict=True))
    found = dict(zip(fitted.names.sources, after.true_facts + after.false_facts, strict=True))
    for source, was in zip(fitted.names.sources, before, strict=True):
        assert found[source] == pytest.approx(was / 4 + own.get(source, 0.0))


# --- real claims ----------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", ["veracity", "ltd-rbm", "mle", "one-coin", "dawid-skene"])
@pytest.mark.parametrize("data", ["crowd_bluebird", "crowd_rte", "crowd_web"])
def test_settled_batches_are_as_right_as_a_run_on_all_claims(data, name, shared_data):
    claims = pl.read_parquet(shared_data / data / "claims.parquet")
    claims = claims.sample(fraction=1.0, shuffle=True, seed=1)
    claims = claims.unique(pl.exclude("value"), keep="first", maintain_order=True)
    size = -(-len(claims) // 4)
    fitted = discover(claims[:size], name).fitted
    for first in range(size, len(claims), size):
        fitted = quietly(fitted.update, claims[first : first + size]).fitted
    right = [
        veracity.evaluate(result, shared_data / data / "truth.parquet").accuracy
        for result in (quietly(fitted.settle), discover(claims, name))
    ]
    assert right[0] == pytest.approx(right[1], abs=0.005)
