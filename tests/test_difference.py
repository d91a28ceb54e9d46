"""What has changed from one run to another, and why."""

from __future__ import annotations

import json

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.errors import ParameterError

ROWS = [("a", "x", "1"), ("b", "x", "2"), ("a", "y", "1"), ("b", "y", "1"), ("a", "z", "3")]


def vote(rows, columns=("source", "entity", "value"), algorithm="majority-vote", **options):
    claims = pl.DataFrame(rows, schema=list(columns), orient="row")
    return veracity.discover(claims, algorithm, **options)


def told(before, after):
    items = veracity.diff(before, after).items
    key = items.columns[0]
    return {row[key]: (row["change"], row["before"], row["after"], row["reason"])
            for row in items.iter_rows(named=True)}  # fmt: skip


def test_a_run_of_binary_facts_is_as_it_is():
    rows = [("a", "p", "true"), ("b", "p", "false"), ("a", "q", "true")]
    run = vote(rows, ("source", "fact", "claim"), kind="binary")
    assert veracity.diff(run, run).items.is_empty()


def test_new_claims_new_items_and_gone_ones():
    later = [*ROWS[:4], ("c", "x", "2"), ("d", "x", "2"), ("e", "x", "2"), ("c", "w", "5")]
    found = veracity.diff(vote(ROWS), vote(later))
    assert told(vote(ROWS), vote(later)) == {
        "x": ("changed", "1", "2", "3 new claims: c says 2, d says 2, ..."),
        "w": ("new", None, "5", None),
        "z": ("gone", "3", None, None),
    }
    assert found.same == 1
    assert repr(found).startswith("1 item changed, 1 new, 1 gone; 1 item as before")


def test_a_claim_that_was_withdrawn_or_changed():
    later = [("a", "x", "2"), *ROWS[1:]]
    reason = "1 new claim: a says 2; 1 claim gone: a said 1"
    assert told(vote(ROWS), vote(later)) == {"x": ("changed", "1", "2", reason)}


def test_a_new_claim_for_a_third_value_is_no_reason_where_sources_moved():
    rows = [(source, f"k{n}", source) for n in range(10) for source in "abc"]
    rows += [("a", "n", "1"), ("b", "n", "2"), ("c", "n", "2")]
    known = pl.DataFrame({"entity": [f"k{n}" for n in range(10)], "value": ["a"] * 10})
    after = vote([*rows, ("d", "n", "3")], algorithm="one-coin", known=known)
    change, before, value, reason = told(vote(rows, algorithm="one-coin"), after)["n"]
    assert (change, before, value) == ("changed", "2", "1")
    assert "a rose from" in reason
    assert "d says 3" not in reason


def test_a_known_truth():
    known = pl.DataFrame({"entity": ["x"], "value": ["2"]})
    after = vote(ROWS, known=known)
    assert told(vote(ROWS), after) == {"x": ("changed", "1", "2", "its truth is known now")}
    assert told(after, vote(ROWS))["x"][3] == "its truth is no longer known"


def test_sources_that_rose_or_fell(flights):
    some = flights.claims.sample(fraction=0.98, seed=3, shuffle=True)
    on_same = flights.claims.filter(entity="VC-111")
    before = veracity.discover(pl.concat([some, on_same]).unique(), "majority-vote")
    after = veracity.discover(flights.claims)
    found = veracity.diff(before, after)
    (reason,) = found.items.filter(entity="VC-111", attribute="gate")["reason"]
    assert "airline rose from 0." in reason
    assert found.notes == ["the algorithm was majority-vote, and is veracity"]
    assert found.sources["source"][0] in ("airline", "airport", "radar")
    assert found.sources["beyond"][0]


def test_other_settings_are_told():
    one, two = (vote(ROWS, algorithm=veracity.algorithms.Veracity(strength=s)) for s in (1.0, 8.0))
    assert veracity.diff(one, two).notes == ["the parameter strength was 1.0, and is 8.0"]


def test_every_kind_of_claims():
    facts = [("a", "p", True), ("b", "p", True), ("a", "q", False)]
    names = ("source", "fact", "claim")
    more = [*facts, *((s, "p", False) for s in "cde")]
    after = vote(more, names, kind="binary")
    assert told(vote(facts, names, kind="binary"), after)["p"] == (
        "changed", "true", "false", "3 new claims: c says false, d says false, ...",
    )  # fmt: skip
    several = vote(ROWS, kind="multiple", min_plausibility=0.6)
    both = vote(ROWS, kind="multiple", min_plausibility=0.4)
    assert told(several, both)["x"][:3] == ("changed", "", "1 | 2")
    numbers = [("a", "x", 1.0), ("b", "x", 1.2), ("a", "y", 9.0), ("b", "y", 9.0)]
    more = [*numbers, ("c", "x", 7.0)]
    one, two = (vote(rows, algorithm="gtm", kind="numeric") for rows in (numbers, more))
    assert told(one, two)["x"][3] == "1 new claim: c says 7.0"
    with pytest.raises(ParameterError, match="one run is of numeric claims, one of binary ones"):
        veracity.diff(one, after)


def test_names_of_different_types_are_the_same_names():
    rows = [(s, int(e == "y"), v) for s, e, v in ROWS]
    as_text = [(s, str(e), v) for s, e, v in rows]
    assert len(veracity.diff(vote(rows), vote(as_text)).items) == 0


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = ("worker", "task", "label")
    vote(ROWS, columns).save("one")
    vote([*ROWS, ("c", "x", "2")], columns).save("two")
    answer = CliRunner().invoke(main, ["diff", "one", "two", "--out", "changed.csv"])
    assert answer.exit_code == 0, answer.output
    assert "1 new claim: c says 2" in answer.output
    assert "┃ task ┃ before ┃ after ┃" in answer.output
    assert "┃ worker ┃ before ┃" in answer.output
    assert pl.read_csv("changed.csv").columns[:3] == ["task", "change", "before"]
    answer = CliRunner().invoke(main, ["diff", "one", "two", "--json"])
    assert json.loads(answer.output)["items"][0]["after"] == "2"
    answer = CliRunner().invoke(main, ["diff", "one", "two", "--out", "changed.csv"])
    assert "force=True, or --force" in answer.output


def test_runs_about_different_items_are_told_of(flights):
    is_new = pl.col("entity") >= "VC-250"
    old = veracity.discover(flights.claims.filter(~is_new))
    updated = old.fitted.update(flights.claims.filter(is_new))
    (note,) = veracity.diff(old, updated).notes
    assert note.startswith("the runs have no item in common; a run that judge or update wrote")
    whole, judged = (
        veracity.discover(flights.claims),
        old.fitted.judge(flights.claims.filter(is_new)),
    )
    assert any("judge or update wrote has only" in n for n in veracity.diff(whole, judged).notes)
    assert not any("judge or update" in n for n in veracity.diff(whole, old).notes)
