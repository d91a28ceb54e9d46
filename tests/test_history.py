"""The accuracy of each source is kept batch by batch, and a source that has changed is noticed."""

from __future__ import annotations

import itertools
import json
import logging

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.fit.watch import CLAIMS_PER_ALARM, Counts, Watch
from veracity.testing import some_claims

OTHERS = tuple(np.linspace(0.6, 0.9, 8).tolist())
LEARNED = 600


def draw(rng, accuracy, first, items, *, kind="categorical", labels=False):
    """One claim of every source on each item, or of binary facts; s0 is the first source."""
    rows = []
    for item in range(first, first + items):
        truth = int(rng.integers(2 if kind == "binary" else 5))
        for source, own in enumerate(accuracy):
            is_right = rng.random() < own
            if kind == "binary":
                rows.append((f"s{source}", f"i{item}", is_right == (truth == 1)))
                continue
            value = truth if is_right else (truth + int(rng.integers(1, 5))) % 5
            rows.append((f"s{source}", f"i{item}", f"v{value}" if labels else f"{item}: {value}"))
    columns = ["source", "fact", "claim"] if kind == "binary" else ["source", "entity", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def updates(seed, before, after, sizes, algorithm=None, **options):
    """Learn with s0 as it was before, and yield the updates with claims as it is after."""
    rng = np.random.default_rng(seed)
    old = draw(rng, (before, *OTHERS), 0, LEARNED, **options)
    fitted = veracity.discover(old, algorithm, kind=options.get("kind")).fitted
    first = LEARNED
    for size in sizes:
        result = fitted.update(draw(rng, (after, *OTHERS), first, size, **options))
        fitted, first = result.fitted, first + size
        yield result


def changes(result):
    """The sources that the finding names, with how they changed."""
    now = result.history.filter(pl.col("batch") == pl.col("batch").max()).drop_nulls("change")
    names = result.findings["name"].to_list()
    assert ("changed-source" in names) == (len(now) > 0)
    return dict(now.select("source", "change").iter_rows())


# --- the finding ----------------------------------------------------------------------------------

KINDS = [("veracity", {}), ("veracity", {"labels": True}), ("ltd-rbm", {}), ("mle", {}),
         ("veracity", {"kind": "binary"}), ("majority-vote", {})]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "options"), KINDS)
def test_a_feed_that_broke_is_found_at_the_first_update(algorithm, options):
    first, *later = updates(1, 0.93, 0.15, [24] * 3, algorithm, **options)
    assert changes(first) == {"s0": "fell"}
    (finding,) = [one for one in first.run.findings if one["name"] == "changed-source"]
    assert finding["severity"] == "serious"
    assert "s0 fell from" in finding["seen"]
    assert [changes(one) for one in later] == [{}, {}]  # that is how it is now


@pytest.mark.parametrize(
    ("before", "after", "size", "within"),
    [(0.9, 0.3, 10, 50), (0.85, 0.6, 50, 300), (0.6, 0.9, 50, 300)],
)
def test_drift_is_found_in_time(before, after, size, within):
    for seed in range(3):
        found = [changes(one) for one in updates(seed, before, after, [size] * (within // size))]
        of_first = [one["s0"] for one in found if "s0" in one]
        assert of_first[:1] == ["fell" if after < before else "rose"]
        assert not any(set(one) - {"s0"} for one in found)  # the others are as they were


def test_sources_that_stay_as_they_are_raise_no_alarm():
    for result in updates(5, 0.8, 0.8, [50] * 10):
        assert changes(result) == {}


def test_evidence_is_the_ratio_of_likelihoods():
    """All of 10 claims wrong, after 10,000 of which half were right: pencil and paper."""
    half = Counts(np.array([5_000.0]), np.array([10_000.0]))
    watch, _ = Watch.unseen(1).after(half)
    watch, change = watch.after(Counts(np.array([0.0]), np.array([10.0])))
    p = 0.5 - 0.9945 * 0.005  # the lower end of its 68 % interval
    for column, shift in ((0, 3.0), (1, 1.0)):
        odds = p / (1.0 - p) * np.exp(-shift)
        expected = 10.0 * ((1.0 / (1.0 + odds)) / (1.0 - p)) ** 10
        assert watch.evidence[0, column] == pytest.approx(expected, rel=1e-3)
    assert change.tolist() == [0.0]  # a mean of some thousands
    watch, change = watch.after(Counts(np.array([0.0]), np.array([10.0])))
    assert change.tolist() == [-1.0]
    assert watch.seen.claims.tolist() == [20.0]  # what was seen since the change


def test_false_alarms_are_as_rare_as_promised():
    """Of independent claims; the guarantee is one per cent in a thousand claims."""
    rng, n_sources, alarms = np.random.default_rng(1), 2_000, 0
    for p in (0.6, 0.85):
        learned = Counts(rng.binomial(1_000, p, n_sources) * 1.0, np.full(n_sources, 1_000.0))
        watch, _ = Watch.unseen(n_sources).after(learned)
        for _ in range(40):
            batch = Counts(rng.binomial(25, p, n_sources) * 1.0, np.full(n_sources, 25.0))
            watch, change = watch.after(batch)
            alarms += np.count_nonzero(change)
    assert alarms <= 2 * n_sources * 1_000 / CLAIMS_PER_ALARM


def test_a_source_does_not_vouch_for_itself():
    first, *_ = updates(2, 0.97, 0.1, [40])
    own = first.history.filter(source="s0")["accuracy"].to_list()
    assert own[0] > 0.9
    assert own[1] < 0.4


# --- the history ----------------------------------------------------------------------------------


def test_the_history_has_the_sources_of_every_batch(tmp_path):
    results = list(updates(3, 0.8, 0.8, [20, 30]))
    history = results[-1].history
    assert history["batch"].unique().to_list() == [1, 2, 3]
    last = history.filter(batch=3).drop("batch", "change")
    assert last.equals(results[-1].sources.select(last.columns))
    loaded = veracity.load(results[-1].save(tmp_path / "run"))
    assert loaded.history.equals(history)
    again, kept = (
        one.fitted.update(draw(np.random.default_rng(7), (0.1, *OTHERS), 900, 30)).history
        for one in (loaded, results[-1])
    )
    assert again.equals(kept)


def test_earlier_claims_on_the_same_items_are_no_part_of_a_batch():
    rng = np.random.default_rng(4)
    old, new = draw(rng, OTHERS, 0, LEARNED), draw(rng, (0.9,), 0, 40)
    new = new.with_columns(source=pl.lit("a new one"))
    before = veracity.discover(old).fitted
    after = before.update(new).fitted
    assert after.history.filter(batch=2)["source"].to_list() == ["a new one"]
    assert after.watch.seen.claims[:-1].tolist() == before.watch.seen.claims.tolist()
    assert after.watch.seen.claims[-1] == 40


def test_settling_is_no_batch():
    *_, result = updates(1, 0.93, 0.15, [24])
    settled = result.fitted.settle()
    assert settled.history.equals(result.history)
    assert settled.fitted.history.equals(result.history)
    assert changes(settled) == {"s0": "fell"}


def test_sources_without_claims_in_a_batch_are_not_in_it():
    (result,) = updates(3, 0.8, 0.8, [20])
    one = draw(np.random.default_rng(1), (0.8,) * 3, 2_000, 10)
    history = result.fitted.update(one).history
    assert history.filter(batch=3)["source"].to_list() == ["s0", "s1", "s2"]


def test_numbers_and_judgements_have_no_history():
    numbers = veracity.discover(some_claims("numeric", 1), kind="numeric")
    judged = numbers.fitted.update(some_claims("numeric", 2))
    assert (numbers.history, judged.history) == (None, None)
    fitted = veracity.discover(some_claims("categorical", 1)).fitted
    assert fitted.judge(some_claims("categorical", 2)).history is None


def test_runs_from_before_there_was_a_history_are_read(tmp_path):
    """Format 1 as it was first: no history, and no counts to watch by."""
    rng = np.random.default_rng(1)
    run = veracity.discover(draw(rng, OTHERS, 0, 50)).save(tmp_path / "run")
    described = json.loads((run / "run.json").read_text())
    with np.load(run / "internal/fitted.npz") as file:
        arrays = {name: array for name, array in file.items() if not name.startswith("watch")}
    np.savez(run / "internal/fitted.npz", **arrays)
    (run / "internal/history.parquet").unlink()
    del described["files"]["internal/history.parquet"]
    from veracity.result.saving import checksum

    path = run / "internal/fitted.npz"
    own = {"bytes": path.stat().st_size, "crc32": checksum(path)}
    described["files"]["internal/fitted.npz"] = own
    (run / "run.json").write_text(json.dumps(described))
    loaded = veracity.load(run)
    assert loaded.history is None
    assert loaded.fitted.update(draw(rng, OTHERS, 60, 20)).history["batch"].unique().to_list() == [
        1
    ]


def test_the_history_is_drawn_and_stands_in_the_report(tmp_path):
    (result,) = updates(1, 0.93, 0.15, [24])
    figure = result.plot.history()
    assert figure.table["source"][0] == "s0"
    assert "Orange" in figure.note
    page = result.write_report(tmp_path / "report.html").read_text()
    assert "In every batch of claims" in page
    alone = veracity.discover(draw(np.random.default_rng(1), OTHERS, 0, 50))
    assert "In every batch" not in alone.write_report(tmp_path / "alone.html").read_text()


# --- production -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("feed"), np.random.default_rng(1)
    for name, accuracy, first, items in (
        ("old", 0.93, 0, LEARNED), ("good", 0.93, 1_000, 24), ("broken", 0.15, 2_000, 24),
    ):  # fmt: skip
        draw(rng, (accuracy, *OTHERS), first, items).write_csv(folder / f"{name}.csv")
    veracity.discover(folder / "old.csv").save(folder / "run")
    return folder


@pytest.mark.parametrize(
    ("claims", "fail_on", "code"),
    [
        ("broken", ["serious"], 3), ("broken", ["changed-source"], 3), ("broken", [], 0),
        ("broken", ["two-answers", "not-converged"], 0), ("good", ["serious", "changed-source"], 0),
        ("good", ["changed-sauce"], 2),
    ],
)  # fmt: skip
def test_a_command_fails_on_the_findings_that_are_named(place, claims, fail_on, code, tmp_path):
    options = list(itertools.chain.from_iterable(("--fail-on", one) for one in fail_on))
    command = ["update", str(place / "run"), str(place / f"{claims}.csv"), *options]
    done = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "updated")])
    assert done.exit_code == code, done.output
    if code == 3:
        assert "--fail-on: found changed-source" in done.output
    assert (tmp_path / "updated" / "run.json").exists() == (code != 2)  # written all the same


def test_discover_and_check_fail_on_findings_too(tmp_path):
    rows = [(s, f"x{i}", f"{s}{i}") for s in ("a", "b") for i in range(30)]
    file = tmp_path / "claims.csv"
    pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row").write_csv(file)
    for command in ("discover", "check"):
        found = json.loads(CliRunner().invoke(main, [command, str(file), "--json"]).stdout)
        name = found["findings"][0]["name"]
        for fail_on, code in ((name, 3), ("changed-source", 0)):
            done = CliRunner().invoke(main, [command, str(file), "--fail-on", fail_on])
            assert done.exit_code == code


def test_the_logger_tells_of_each_run_and_finding(caplog):
    with caplog.at_level(logging.INFO, logger="veracity"):
        list(updates(1, 0.93, 0.15, [24]))
    assert {record.name for record in caplog.records} == {"veracity"}
    warned = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert any(text.startswith("changed-source: 1 source has changed: s0 fell") for text in warned)
    told = [one.getMessage() for one in caplog.records if one.levelname == "INFO"]
    assert any(text.startswith("update: 216 claims of 9 sources about 24 items") for text in told)
