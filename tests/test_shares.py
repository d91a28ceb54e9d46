"""Claims that count by their shares: samples of one source, confidences and counts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from claims import as_block
from veracity.algorithms import CATALOGUE
from veracity.errors import ParameterError
from veracity.result.soundness import check_claims

SHARED = [name for name in CATALOGUE if CATALOGUE[name].make().by_sweeps().takes_shares]
"""The algorithms that let claims count by their shares."""

ASKED = pl.DataFrame(
    {
        "source": ["model"] * 5 + ["other"],
        "entity": ["x"] * 6,
        "value": ["a", "a", "a", "b", "c", "b"],
    }
)


def many(n_items=40, n_samples=5, seed=0):
    """Six models of different accuracy, each asked several times, and the truth."""
    rng = np.random.default_rng(seed)
    source, item, _ = np.meshgrid(np.arange(6), np.arange(n_items), np.arange(n_samples))
    knows = rng.random((n_items, 6, 1)) < np.linspace(0.3, 0.9, 6)[:, None]
    sure = np.where(knows, 0.9, 0.3)
    is_right = rng.random(source.shape) < sure
    value = np.where(is_right, item % 7, rng.integers(0, 7, source.shape))
    columns = {"source": source, "entity": item, "value": value}
    rows = pl.DataFrame({name: column.ravel() for name, column in columns.items()})
    return rows.with_columns(pl.all().cast(pl.String))


def by_name(table, *keys):
    return table.sort(keys or table.columns[:2])


# --- what they are --------------------------------------------------------------------------------


def test_samples_are_shares_of_one_claim():
    facts = veracity.discover(ASKED, "majority-vote", samples=True).facts
    votes = dict(facts.select("value", 2 * pl.col("plausibility")).iter_rows())
    assert votes == pytest.approx({"a": 0.6, "b": 1.2, "c": 0.2})


@pytest.mark.parametrize(
    ("weights", "share_of_support", "share_of_voice"),
    [
        ([3, 1, 1], [0.75, 1.0, 0.25], [1.0, 1.0]),  # counts: in all, one word
        ([0.3, 0.5, 0.2], [0.3, 0.5, 0.2], [0.5, 0.5]),  # confidences: less than one
        ([0.9, 1.0, 0.6], [0.6, 1.0, 0.4], [1.0, 1.0]),  # never more than one
    ],
)
def test_weights_are_confidences_up_to_one_and_counts_beyond(
    weights, share_of_support, share_of_voice
):
    rows = pl.DataFrame(
        {"source": ["s", "t", "s"], "entity": ["x"] * 3, "value": ["1", "1", "2"],
         "weight": np.array(weights, dtype=float)}
    )  # fmt: skip
    block = as_block(rows)
    assert_allclose(block.share_of_support, share_of_support)
    assert_allclose(block.share_of_voice, share_of_voice)
    assert_allclose(block.votes_of_item, [sum(share_of_voice)])


def test_spellings_of_one_number_share_together_and_rows_stand_in_any_order():
    rows = pl.DataFrame(
        {"source": ["s"] * 4 + ["t"], "entity": ["x"] * 5, "value": ["1", "1.0", "2", "1.00", "2"],
         "weight": [0.1, 0.2, 0.3, 0.4, 0.7]}
    )  # fmt: skip
    block = as_block(rows)
    assert_allclose(block.share_of_support, [0.7, 0.3, 0.7])
    for one, other in zip(block, as_block(rows.sample(fraction=1.0, shuffle=True, seed=1)),
                          strict=True):  # fmt: skip
        assert np.array_equal(one, other)


def test_what_is_said_most_is_what_is_left():
    rows = ASKED.with_columns(weight=pl.lit(1.0))
    left, is_left = as_block(rows).said_most()
    assert is_left.tolist() == [True, True, False]
    assert left.source_of_support.tolist() == [0, 1]
    assert not left.has_shares


# --- what follows ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize("name", SHARED)
def test_who_is_always_sure_counts_as_ever(name):
    rows = many(n_samples=1)
    form = CATALOGUE[name].make().by_sweeps()
    kind = {} if "categorical" in form.kinds else {"kind": form.kinds[0]}
    plain = veracity.discover(rows, form, **kind)
    sampled = veracity.discover(pl.concat([rows] * 3), form, samples=True, **kind)
    assert_allclose(sampled.facts["plausibility"], plain.facts["plausibility"], atol=1e-9)
    assert_allclose(sampled.sources["accuracy"], plain.sources["accuracy"], atol=1e-9)


@pytest.mark.parametrize("name", ["veracity", "dawid-skene", "mle"])
def test_explanations_add_up(name):
    result = veracity.discover(many(), name, samples=True)
    for entity in ("0", "7"):
        why = result.why(entity)
        told = why.rows.group_by("value").agg(pl.col("weight").sum())
        values = why.values.drop_nulls("value").join(told, on="value")
        assert_allclose(values["prior"] + values["weight"], values["score"], atol=1e-9)
    assert " %)" in why.rows["claimed"][0]


def test_binary_facts_are_called_true_in_part():
    rows = pl.DataFrame(
        {"source": ["s", "s", "s", "t", "t", "u"], "fact": ["f"] * 6,
         "claim": [True, True, False, False, False, True]}
    )  # fmt: skip
    result = veracity.discover(rows, "majority-vote", kind="binary", samples=True)
    assert result.facts["plausibility"].to_list() == pytest.approx([(2 / 3 + 1) / 3])
    assert result.sources["claims"].to_list() == [1, 1, 1]
    why = result.why("f")
    assert why.rows["weight"].sum() == pytest.approx(5 / 3)


@pytest.mark.parametrize("kind", ["categorical", "binary"])
def test_what_was_saved_is_what_was_found(kind, tmp_path):
    rows = many()
    if kind == "binary":
        rows = rows.select("source", fact="entity", claim=pl.col("value") == "3")
    result = veracity.discover(rows, kind=kind, samples=True)
    saved = veracity.load(result.save(tmp_path / "run"))
    assert saved.facts.equals(result.facts)
    for one, other in zip(saved.encoded.blocks[0], result.encoded.blocks[0], strict=True):
        assert_allclose(one, other)
    again = saved.fitted.judge(veracity.read_claims(rows, kind=kind, samples=True))
    assert_allclose(again.facts["plausibility"], result.facts["plausibility"], atol=1e-9)


def test_on_disk_and_in_memory_it_is_the_same():
    rows = many(n_items=400)
    here = veracity.discover(rows, samples=True)
    spilled = veracity.discover(rows, samples=True, engine=veracity.Local(memory=1_000_000))
    assert any("kept on disk" in note for note in spilled.notes)
    one, other = (by_name(result.facts, "entity", "value") for result in (here, spilled))
    assert_allclose(one["plausibility"], other["plausibility"], atol=1e-9)


def test_who_counts_every_claim_in_full_refuses():
    with pytest.raises(ParameterError, match="ltm counts every claim in full"):
        veracity.discover(ASKED, "ltm", samples=True)
    result = veracity.discover(many(), "ltd-rbm", samples=True)
    assert result.run.parameters["learning"] == "flow"


def test_confidences_are_believed_more_than_doubts():
    rows = pl.DataFrame(
        {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "2", "2"],
         "confidence": [0.9, 0.2, 0.3]}
    )  # fmt: skip
    result = veracity.discover(rows, columns={"weight": "confidence"})
    assert result.truths["value"].to_list() == ["1"]


def test_weights_that_change_nothing_are_told():
    rows = pl.DataFrame(
        {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "2", "2"], "votes": [90, 2, 3]}
    )
    notes = veracity.discover(rows, "majority-vote", columns={"weight": "votes"}).notes
    assert any("the weights change nothing" in note for note in notes)


def test_the_page_names_who_refuses():
    page = (Path(__file__).parents[1] / "docs" / "tables.md").read_text()
    told = re.search(r"count every claim in full.*?them out: (.*?)\n\n", page, re.DOTALL)
    refusing = [
        name for name, entry in CATALOGUE.items()
        if name not in SHARED and "categorical" in entry.make().kinds
    ]  # fmt: skip
    assert sorted(re.findall("`([^`]+)`", told[1])) == sorted(refusing)


def test_who_cannot_take_shares_is_not_compared():
    found = veracity.compare(veracity.read_claims(many(), samples=True))
    assert "ltm" not in found.rows["algorithm"]
    assert any("ltm" in note for note in found.notes)
    assert "failed" not in found.rows.columns


@pytest.mark.parametrize("kind", ["categorical", "binary"])
@pytest.mark.parametrize("wrong", [None, -0.5, 0.0, 7.0, float("nan")])
def test_shares_that_cannot_be_are_refused(kind, wrong):
    rows = many(n_items=9)
    if kind == "binary":
        rows = rows.select("source", fact="entity", claim=pl.col("value") == "3")
    result = veracity.discover(rows, "majority-vote", kind=kind, samples=True)
    tables = result.frames()
    names = result.encoded.names
    check_claims(tables["facts"], tables["claims"], tables["layout"], names, kind)
    damaged = tables["claims"].with_columns(share=pl.lit(wrong, pl.Float64))
    with pytest.raises(ValueError, match="'share' cannot be"):
        check_claims(tables["facts"], damaged, tables["layout"], names, kind)
