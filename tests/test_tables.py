"""Tables of any shape, as offices write them."""

from __future__ import annotations

import shlex

import pandas as pd  # noqa: TID251 - a user's frame
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import veracity
from veracity.cli import main
from veracity.errors import MissingColumn, ParameterError
from veracity.show.reproduce import command as command_of

FLIGHTS = [f"AA-{number}" for number in range(8)]
SITES = ["orbitz", "tower", "travelocity"]


def long_claims():
    """Three sites on the gate and the departure of eight flights; one of them errs now and then."""
    rows = [
        (site, flight, attribute, f"{attribute[0]}{place}{'x' * (site == 'orbitz' and place == 3)}")
        for place, flight in enumerate(FLIGHTS)
        for attribute in ("gate", "departs")
        for site in SITES
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")


def by_attributes():
    wide = long_claims().pivot(on="attribute", index=["source", "entity"], values="value")
    return wide.rename({"source": "site", "entity": "flight"})


def by_sources():
    return long_claims().pivot(on="source", index=["entity", "attribute"], values="value")


def vote(claims, **options):
    return veracity.discover(claims, "majority-vote", **options)


def same_answer(result):
    expected = vote(long_claims()).truths
    assert_frame_equal(result.truths, expected)
    return result


def command(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def told(result, words):
    return [note for note in result.notes if words in note]


def write(table, path):
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)
    return path


# --- wide by attributes ---------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_per_attribute_is_recognised_and_told(tmp_path, ending):
    result = same_answer(vote(write(by_attributes(), tmp_path / f"export.{ending}")))
    (note,) = told(result, "a wide table")
    assert "one row per 'site' and 'flight' and one column per attribute: 'gate', 'departs'" in note
    assert "--columns value=NAME" in note
    assert result.run.input.columns == {"source": "site", "entity": "flight"}


def test_an_index_of_pandas_with_a_name_is_a_column():
    frame = by_attributes().to_pandas()
    expected = vote(frame, columns={"entity": "flight"})
    numbered = frame.set_axis(range(100, 100 + len(frame)))  # an index without a name is none
    for other in (frame.set_index("flight"), frame.set_index(["site", "flight"]), numbered):
        pd.testing.assert_frame_equal(
            vote(other, columns={"entity": "flight"}).truths, expected.truths
        )
    by_site = vote(frame.pivot(index="flight", columns="site", values="gate"))
    assert by_site.run.input.columns == {"entity": "flight"}
    assert by_site.sources["source"].to_list() == SITES


def test_truths_may_be_wide_too(tmp_path):
    result = vote(by_attributes())
    right = result.truths.pivot(on="attribute", index="entity", values="value")
    truths = write(right.rename({"entity": "flight"}), tmp_path / "truth.csv")
    assert veracity.evaluate(result, truths).judged == 16
    assert vote(by_attributes(), known=truths).run.input.known == 16


# --- wide by sources ------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", [None, "attribute"])
def test_a_column_per_source_is_recognised_and_told(tmp_path, attribute):
    table = by_sources()
    if attribute is None:
        table = table.filter(pl.col("attribute") == "gate").drop("attribute")
    result = vote(write(table.rename({"entity": "flight"}), tmp_path / "export.csv"))
    (note,) = told(result, "a wide table")
    assert "one column per source: 'orbitz', 'tower', 'travelocity'" in note
    assert "--wide attributes" in note
    assert result.sources["source"].to_list() == SITES
    expected = vote(long_claims()).truths
    expected = expected if attribute else expected.filter(pl.col("attribute") == "gate")
    assert result.truths["value"].to_list() == expected["value"].to_list()


# --- wide by samples ------------------------------------------------------------------------------


def asked_often():
    """Two models that were asked thrice, and one that was asked twice."""
    rows = [
        ("m1", "q1", "a", "a", "b"), ("m2", "q1", "b", "b", "b"), ("m3", "q1", "a", "a", None),
        ("m1", "q2", "c", "c", "c"), ("m2", "q2", "c", "d", "c"), ("m3", "q2", "c", None, "c"),
    ]  # fmt: skip
    names = ["model", "question", "answer_1", "answer_2", "answer_3"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_columns_of_samples_are_the_same_as_rows_of_samples():
    wide = asked_often()
    long = wide.unpivot(index=["model", "question"], variable_name="run", value_name="answer")
    expected = vote(long.drop_nulls().drop("run"), samples=True)
    found = vote(wide, wide="samples")
    assert found.facts.equals(expected.facts)
    assert found.run.input.shape == {"wide": "samples", "samples": "yes"}
    assert found.truths["value"].to_list() == ["a", "c"]
    assert found.facts["plausibility"].to_list() == pytest.approx([5 / 9, 4 / 9, 8 / 9, 1 / 9])


def test_columns_of_repeated_measurements_count_by_their_mean():
    table = pl.DataFrame(
        {"sensor": ["s1", "s2"], "site": ["x", "x"], "t 1": [1.0, 4.0], "t 2": [3.0, 4.0]}
    )
    columns = {"entity": "site"}
    found = veracity.discover(table, kind="numeric", wide="samples", columns=columns)
    long = pl.DataFrame({"sensor": ["s1", "s2"], "site": ["x", "x"], "value": [2.0, 4.0]})
    expected = veracity.discover(long, kind="numeric", columns=columns)
    assert found.truths["value"].to_list() == expected.truths["value"].to_list()


# --- wide by entities -----------------------------------------------------------------------------


# --- what columns are called ----------------------------------------------------------------------


def test_gold_labels_are_recognised_as_truths():
    rows = pl.DataFrame({"task": ["t"] * 3, "worker": ["a", "b", "c"], "label": ["x", "x", "y"]})
    gold = pl.DataFrame({"task": ["t"], "gold_label": ["x"]})
    assert veracity.evaluate(vote(rows), gold).accuracy == 1.0
    assert vote(rows, known=gold).run.input.known == 1


def test_new_claims_are_read_as_the_old_ones_with_their_times():
    table = by_attributes().with_columns(updated_at=pl.lit("2026-05-01"))
    named = {"entity": "flight", "time": "updated_at"}
    fitted = vote(table, columns=named).fitted
    newer = table.with_columns(gate=pl.lit("Z9"), updated_at=pl.lit("2026-06-01"))
    judged = fitted.judge(pl.concat([table, newer]))
    gates = judged.truths.filter(pl.col("attribute") == "gate")["value"]
    assert set(gates) == {"Z9"}
    assert fitted.judge(table.drop("updated_at")).run.input.claims == 48


# --- one file per source --------------------------------------------------------------------------


def per_file(folder):
    for (site,), rows in by_attributes().partition_by("site", as_dict=True).items():
        rows.drop("site").write_csv(folder / f"{site}.csv")


def test_the_command_line_says_the_same(tmp_path):
    per_file(tmp_path)
    run = command("discover", tmp_path, "--source-from", "filename", "--json")
    assert '"sources": 3' in run.stdout
    odd = write(by_attributes().rename({"site": "who"}), tmp_path / "odd.csv")
    run = command("profile", odd, "--wide", "attributes", "--columns", "source=who", "--json")
    assert '"items": 16' in run.stdout


def test_a_source_is_named_once(tmp_path):
    with pytest.raises(ParameterError, match="leave one out"):
        vote(tmp_path, source_from="filename", columns={"source": "site"})
    with pytest.raises(ParameterError, match="is for files"):
        vote(long_claims(), source_from="filename")


def test_large_wide_files_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("veracity.reading.plan.ROWS_PER_BATCH", 4)
    same_answer(vote(write(by_attributes(), tmp_path / "export.parquet")))


def test_a_run_knows_how_to_be_made_again(tmp_path):
    path = write(by_attributes().with_columns(time=1), tmp_path / "export.csv")
    result = vote(path, columns={"time": "time"}, samples=True)
    result.save(tmp_path / "run")
    kept = veracity.load(tmp_path / "run")
    assert kept.run.input.shape == {"wide": "attributes", "samples": "yes"}
    words = shlex.split(command_of(kept))
    assert words[words.index("--wide") + 1] == "attributes"
    assert "--samples" in words
    columns = words[words.index("--columns") + 1]
    assert set(columns.split(",")) == {"source=site", "entity=flight", "time=time"}


def test_the_plan_of_a_wide_table_is_kept_with_the_run_and_read_by_its_fit(tmp_path):
    flights = [f"f{number}" for number in range(8)]
    gates = [f"{number % 3}{number}" for number in range(8)]
    wide = pl.DataFrame(
        {"flight": flights, "orbitz": gates, "tower": gates, "radar": [*gates[:7], "x"]}
    )
    result = veracity.discover(wide, "majority-vote")
    plan = {
        "columns": {"entity": ["flight"]},
        "wide": "sources",
        "value_columns": ["orbitz", "tower", "radar"],
    }
    assert result.run.input.plans == [plan]
    result.save(tmp_path / "run")
    kept = veracity.load(tmp_path / "run")
    assert kept.run.input.plans == [plan]
    few = wide.head(2)  # of which nobody could tell that its columns are sources
    with pytest.raises(MissingColumn):
        veracity.discover(few, "majority-vote")
    for fitted in (result.fitted, kept.fitted):
        assert len(fitted.judge(few).truths) == 2
