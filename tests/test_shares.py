"""What a source says more than once: samples, confidences and counts; the newest, the mean."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import veracity
from claims import as_block, value_rows
from veracity.algorithms import CATALOGUE
from veracity.algorithms.catalogue import by_sweeps
from veracity.cli import main
from veracity.errors import BadValue, ParameterError

SHARED = [name for name in CATALOGUE if by_sweeps(CATALOGUE[name].make()).takes_shares]
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


@st.composite
def weighed_rows(draw, weights=(0.05, 0.3, 1.0, 2.0, 7.0)):
    """Rows of source, entity and value, each with a weight."""
    rows = draw(value_rows())
    weight = draw(st.lists(st.sampled_from(weights), min_size=len(rows), max_size=len(rows)))
    return rows.with_columns(weight=pl.Series(weight, dtype=pl.Float64))


counted_rows = weighed_rows(weights=(1.0, 2.0, 3.0))


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
    left, is_left = as_block(rows).strongest_claims()
    assert is_left.tolist() == [True, True, False]
    assert left.source_of_support.tolist() == [0, 1]
    assert not left.has_shares


@given(rows=weighed_rows(), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_no_bit_of_a_share(rows, seed):
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
    for one, other in zip(as_block(rows), as_block(shuffled), strict=True):
        assert_array_equal(one, other)


@given(rows=weighed_rows())
def test_shares_of_a_voice_add_up_to_what_it_has_and_to_one_at_most(rows):
    block = as_block(rows)
    assert_allclose(block.votes_of_item.sum(), block.votes_of_fact.sum())
    assert (block.share_of_voice <= 1.0).all()
    assert (block.share_of_support > 0.0).all()


@given(rows=counted_rows, times=st.sampled_from([2.0, 10.0, 1e6]))
def test_all_counts_together_may_be_any_number_of_times_as_large(rows, times):
    one, other = as_block(rows), as_block(rows.with_columns(pl.col("weight") * times))
    assert_allclose(one.share_of_support, other.share_of_support)
    assert_allclose(one.share_of_voice, other.share_of_voice)


@given(rows=counted_rows)
def test_a_count_is_so_many_samples(rows):
    places = [i for i, n in enumerate(rows["weight"]) for _ in range(int(n))]
    samples = rows[places].with_columns(weight=pl.lit(1.0))
    for one, other in zip(as_block(rows), as_block(samples), strict=True):
        assert_allclose(one, other)


@settings(max_examples=10)
@given(rows=weighed_rows())
def test_any_rows_are_the_same_on_disk_and_in_memory(rows):
    how = {"columns": {"weight": "weight"}}
    here = veracity.discover(rows, **how)
    spilled = veracity.discover(rows, **how, engine=veracity.Local(memory=1000))
    one, other = (by_name(result.facts, "entity", "value") for result in (here, spilled))
    assert_allclose(one["plausibility"], other["plausibility"], atol=1e-9)


# --- what follows ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize("name", SHARED)
def test_who_is_always_sure_counts_as_ever(name):
    rows = many(n_samples=1)
    form = by_sweeps(CATALOGUE[name].make())
    kind = {} if "categorical" in form.kinds else {"kind": form.kinds[0]}
    plain = veracity.discover(rows, form, **kind)
    sampled = veracity.discover(pl.concat([rows] * 3), form, samples=True, **kind)
    assert_allclose(sampled.facts["plausibility"], plain.facts["plausibility"], atol=1e-9)
    assert_allclose(sampled.sources["accuracy"], plain.sources["accuracy"], atol=1e-9)


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize("name", SHARED)
def test_what_weighs_next_to_nothing_spoils_nothing(name):
    form = by_sweeps(CATALOGUE[name].make())
    if "categorical" not in form.kinds:
        pytest.skip("not for values")
    rows = many(n_items=12)
    weight = np.resize([1e-320, 1.0, 1e-99, 0.5, 1e99, 1e-99], len(rows))
    result = veracity.discover(rows.with_columns(weight=weight), form, columns={"weight": "weight"})
    assert (result.claims["share"] > 0.0).all()
    assert result.facts["plausibility"].is_between(-1e-9, 1.0 + 1e-9).all()


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


def test_of_binary_facts_sources_agree_by_what_they_say_most():
    rows = pl.DataFrame(
        {"source": ["s"] * 3 + ["t"] * 3, "fact": ["f"] * 6,
         "claim": [True, True, False, False, False, True]}
    )  # fmt: skip
    result = veracity.discover(rows, "majority-vote", kind="binary", samples=True)
    assert result.difficulty["agreement"].to_list() == [0.0]
    same = pl.concat([rows.head(3), rows.head(3).with_columns(source=pl.lit("t"))])
    result = veracity.discover(same, "majority-vote", kind="binary", samples=True)
    assert result.difficulty["agreement"].to_list() == [1.0]


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
    assert any("processed on disk" in note for note in spilled.notes)
    one, other = (by_name(result.facts, "entity", "value") for result in (here, spilled))
    assert_allclose(one["plausibility"], other["plausibility"], atol=1e-9)


def test_who_counts_every_claim_in_full_refuses():
    with pytest.raises(ParameterError, match="ltm counts every claim in full"):
        veracity.discover(ASKED, "ltm", samples=True)
    result = veracity.discover(many(), "ltd-rbm", samples=True)
    assert result.run.parameters["learning"] == "flow"


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        ("ltm", {"samples": True}, "ltm counts every claim in full"),
        ("ltm", {"columns": {"weight": "weight"}}, "ltm counts every claim in full"),
        ("veracity", {"kind": "numeric"}, "veracity is for .* claims, not numeric ones"),
    ],
)
@pytest.mark.parametrize("read", [False, True])
def test_who_refuses_does_so_before_the_work(name, how, words, read):
    rows, told = ASKED.with_columns(weight=pl.lit(1.0), value=pl.lit(1.0)), []
    given = (veracity.read_claims(rows, **how), {}) if read else (rows, how)
    with pytest.raises(ParameterError, match=words):
        veracity.discover(given[0], name, **given[1], progress=lambda *step: told.append(step))
    assert "encoding" not in [phase for phase, *_ in told]


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


@pytest.mark.parametrize("engine", [None, veracity.Local(memory=1000)])
def test_that_weights_are_taken_as_counts_is_told(engine):
    rows = pl.DataFrame(
        {"source": list("abcd") * 4, "entity": ["x"] * 16, "value": list("1222") * 4,
         "percent": [90.0, 20.0, 0.5, 0.1] * 4}
    )  # fmt: skip
    how = {"columns": {"weight": "percent"}, "engine": engine}
    notes = veracity.discover(rows, "majority-vote", **how).notes
    assert any("weights above 1 are read as counts" in note for note in notes)
    rows = rows.with_columns(percent=pl.col("percent") / 100.0)
    notes = veracity.discover(rows, "majority-vote", **how).notes
    assert not any("read as counts" in note for note in notes)


def test_words_that_are_left_out_as_old_are_no_further_words():
    rows = pl.DataFrame(
        {"source": ["s"] * 4 + ["t"], "entity": ["x"] * 5, "value": ["1", "2", "1", "2", "1"],
         "weight": [0.5] * 5, "time": [1, 1, 2, 2, 1]}
    )  # fmt: skip
    how = {"columns": {"weight": "weight", "time": "time"}}
    notes = veracity.discover(rows, "majority-vote", **how).notes
    assert any(note.startswith("2 claims are left out") for note in notes)
    assert any(note.startswith("1 row is a further claim") for note in notes)


def test_the_page_names_who_refuses():
    page = (Path(__file__).parents[1] / "docs" / "tables.md").read_text()
    told = re.search(r"count every claim in full\..*?: (.*?)\n\n", page, re.DOTALL)
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


@pytest.mark.parametrize("options", [{"samples": True}, {}], ids=["samples", "several values"])
def test_few_models_that_are_asked_five_times_are_no_worse_than_a_vote(options):
    """Three models, three answers to choose from: what they say most is mostly true."""
    lost = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, truth = [], []
        for question in range(20):
            true = int(rng.integers(3))
            truth.append((f"q{question}", str(true)))
            for model in range(3):
                is_right = rng.random(5) < 0.7
                said = np.where(is_right, true, (true + rng.integers(1, 3, 5)) % 3)
                rows += [(f"model {model}", f"q{question}", str(answer)) for answer in said]
        claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
        known = pl.DataFrame(truth, schema=["entity", "value"], orient="row")
        vote, own = (
            veracity.evaluate(veracity.discover(claims, name, **options), known).accuracy
            for name in ("majority-vote", "veracity")
        )
        lost.append(vote - own)
    assert np.mean(lost) <= 0.03


# --- the newest, and the mean of numbers ----------------------------------------------------------

ROWS = pl.DataFrame(
    {
        "source": ["a", "a", "a", "b"],
        "entity": ["x"] * 4,
        "value": ["old", "new", "old", "new"],
        "weight": [0.2, 0.9, 0.3, 1.0],
        "time": [1, 3, 2, 1],
    }
)


def read(rows=ROWS, *parts, **options):
    """The claims that count, and the notes."""
    table = veracity.read_claims(rows, columns={part: part for part in parts}, **options)
    return sorted(table.rows.rows()), table.notes


def noted(notes, words):
    return [note for note in notes if words in note]


@pytest.mark.parametrize(
    "times",
    [
        [1, 3, 2, 1],
        ["1", "10", "9", "1"],
        [date(2026, 1, 1), date(2026, 1, 3), date(2026, 1, 2), date(2026, 1, 1)],
        ["2026-01-01", "2026-01-02 10:00:00", "2026-01-02T09:00:00Z", "2026-01-01"],
        ["01.02.2026", "31.03.2026", "02.03.2026 7:05 PM", "01.02.2026"],
        [
            "2026-01-01 12:00+00:00",
            "2026-01-01 12:00-02:00",
            "2026-01-01 13:30+00:00",
            "2026-01-01",
        ],
    ],
)
def test_the_newest_word_of_a_source_counts(times):
    rows, notes = read(ROWS.with_columns(time=pl.Series(times)), "time")
    assert rows == [("a", "x", "new"), ("b", "x", "new")]
    assert noted(notes, "2 claims are left out: the same source has a newer claim")


def test_at_the_same_time_both_count():
    rows, _ = read(ROWS.with_columns(time=pl.lit(1)), "time")
    assert len(rows) == 4


def test_long_numbers_in_text_are_told_apart():
    times = ["1767225600000000000", "1767225600000000002", "1767225600000000001", "1"]
    rows, _ = read(ROWS.with_columns(time=pl.Series(times)), "time")
    assert rows == [("a", "x", "new"), ("b", "x", "new")]


@pytest.mark.parametrize(
    "times", [["01/02/2026"] * 4, ["now", "1", "2", "3"], ["1", "nan", "2", "3"]]
)
def test_times_that_are_not_plain_are_refused(times):
    with pytest.raises(BadValue, match="it is ambiguous which time '"):
        read(ROWS.with_columns(time=pl.Series(times)), "time")


@pytest.mark.parametrize(
    "wrong", [-1.0, float("inf"), 1e200, "high", "50 percent", True, date(2026, 1, 1)]
)
def test_weights_are_numbers_from_zero_on(wrong):
    with pytest.raises(BadValue, match=r"the weight '.*' of 'x' is no number from 0 on"):
        read(ROWS.with_columns(weight=pl.lit(wrong)), "weight")


def test_rows_that_weigh_nothing_are_left_out():
    rows, notes = read(ROWS.with_columns(weight=pl.Series([0.0, 1.0, 0.5, 1.0])), "weight")
    assert len(rows) == 3
    assert noted(notes, "1 row without a weight is left out")


def test_weights_may_be_text_with_space_around_it():
    rows, _ = read(ROWS.with_columns(weight=pl.Series([" 1", "0.5 ", "1", "1"])), "weight")
    assert sorted(row[3] for row in rows) == [0.5, 1.0, 1.0, 1.0]


def test_of_numbers_the_weighted_mean_counts():
    rows = ROWS.with_columns(value=pl.Series([1.0, 4.0, 1.0, 2.0]), weight=pl.Series([1, 2, 1, 1]))
    found, notes = read(rows, "weight", kind="numeric")
    assert found == [("a", "x", 2.5), ("b", "x", 2.0)]
    assert noted(notes, "2 more samples of a source on an item: their weighted mean counts")


@pytest.mark.parametrize("weight", [1e-99, 0.1, 1e99])
def test_the_mean_of_one_number_is_that_number(weight):
    rows = ROWS.with_columns(value=pl.Series([5.7, 5.7, 5.7, 1e308]), weight=pl.lit(weight))
    found, _ = read(pl.concat([rows, rows]), "weight", kind="numeric")
    assert found == [("a", "x", 5.7), ("b", "x", 1e308)]


def test_weights_of_numbers_that_change_nothing_are_told():
    rows = ROWS.unique("source").with_columns(value=pl.lit(1.0))
    how = {"columns": {"weight": "weight"}, "kind": "numeric"}
    for engine in (None, veracity.Local(memory=1000)):
        many = pl.concat([rows.with_columns(entity=pl.lit(f"x{n}")) for n in range(20)])
        notes = veracity.discover(many, **how, engine=engine).notes
        assert noted(notes, "the weights change nothing: no source gives two numbers of an item")
    notes = veracity.discover(ROWS.with_columns(value=pl.lit(1.0)), **how).notes
    assert noted(notes, "2 more samples of a source on an item")
    assert not noted(notes, "what the same source says in another")
    assert not noted(notes, "change nothing")


def test_rows_of_wide_tables_have_a_time():
    wide = pl.DataFrame(
        {"site": ["a", "a", "b"], "flight": ["x"] * 3, "gate": ["1", "2", "2"],
         "departs": ["7", None, "8"], "seen": [1, 2, 1]}
    )  # fmt: skip
    table = veracity.read_claims(wide, columns={"entity": "flight", "time": "seen"})
    assert ("a", "x", "gate", "1") not in table.rows.rows()
    assert ("a", "x", "departs", "7") in table.rows.rows()
    assert noted(table.notes, "a wide table, with one row per 'site' and 'flight'")


def test_several_true_values_have_no_one_word():
    with pytest.raises(ParameterError, match="not for multiple claims"):
        read(samples=True, kind="multiple")


@pytest.mark.parametrize(
    ("kind", "part", "normalise"), [("categorical", "time", True), ("numeric", "weight", False)]
)
def test_what_memory_does_not_hold_is_settled_part_by_part(kind, part, normalise):
    rows = pl.concat(
        pl.DataFrame(
            {"source": [source] * 3, "entity": [f"x{n}"] * 3, "value": ["3", "1", "2"],
             "weight": [1, 2, 3], "time": [n, n + 1, 0]}
        )
        for n in range(300) for source in "ab"
    )  # fmt: skip
    name = "gtm" if kind == "numeric" else "majority-vote"
    how = {"kind": kind, "columns": {part: part}, "normalise": normalise}
    here = veracity.discover(rows, name, **how)
    spilled = veracity.discover(rows, name, **how, engine=veracity.Local(memory=100_000))
    assert noted(spilled.notes, "processed on disk")
    assert set(here.notes) < set(spilled.notes)
    assert noted(here.notes, "1,200 ")
    assert spilled.truths.sort("entity").equals(here.truths.sort("entity"))


@pytest.mark.parametrize(
    ("how", "is_on_disk"),
    [
        ({}, False),
        ({"samples": True}, True),
        ({"columns": {"time": "time"}}, True),
        ({"columns": {"weight": "weight"}}, True),
    ],
)
def test_claims_that_carry_more_need_more_memory(how, is_on_disk):
    rows = pl.concat([ROWS] * 4)
    engine = veracity.Local(memory=150 * len(rows))
    notes = veracity.discover(rows, "majority-vote", **how, engine=engine).notes
    assert bool(noted(notes, "processed on disk")) == is_on_disk


# --- never in silence -----------------------------------------------------------------------------


def test_columns_that_may_carry_weight_are_told():
    rows = ROWS.rename({"weight": "confidence", "time": "Created at"})
    notes = veracity.discover(rows, "majority-vote").notes
    assert noted(notes, "column 'confidence' is not read; with --columns weight=confidence")
    assert noted(notes, "column 'Created at' is not read; with --columns 'time=Created at'")


def test_what_a_source_says_twice_is_told():
    notes = veracity.discover(ROWS, "majority-vote").notes
    assert noted(notes, "1 duplicate row was ignored")
    assert noted(notes, "1 claim contradicts another claim of the same source on the same item")
    notes = veracity.discover(ROWS, "majority-vote", kind="multiple").notes
    assert not noted(notes, "contradict")


def test_empty_attributes_are_told(tmp_path):
    text = "source,entity,attribute,value\na,x,gate,1\na,x,,2\nb,x,gate,1\n"
    (tmp_path / "claims.csv").write_text(text)
    notes = veracity.discover(tmp_path / "claims.csv", "majority-vote").notes
    assert noted(notes, "1 row has no attribute")


def test_the_command_line_says_the_same(tmp_path):
    ROWS.write_csv(tmp_path / "claims.csv")
    arguments = ["discover", str(tmp_path / "claims.csv"), "--algorithm", "majority-vote", "--json"]
    run = CliRunner().invoke(main, [*arguments, "--columns", "time=time"])
    assert '"claims": 2' in run.stdout
    run = CliRunner().invoke(main, [*arguments, "--samples"])
    assert "its values count by their shares" in run.stdout
