"""What a source says more than once: the newest, the mean of its numbers; and what is told of it.

Values that count by their shares are in `test_shares`.
"""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.errors import BadValue, ParameterError

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


def told(notes, words):
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
    assert told(notes, "2 claims are left out: the same source has a newer claim")


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
    assert told(notes, "1 row without a weight is left out")


def test_weights_may_be_text_with_space_around_it():
    rows, _ = read(ROWS.with_columns(weight=pl.Series([" 1", "0.5 ", "1", "1"])), "weight")
    assert sorted(row[3] for row in rows) == [0.5, 1.0, 1.0, 1.0]


def test_of_numbers_the_weighted_mean_counts():
    rows = ROWS.with_columns(value=pl.Series([1.0, 4.0, 1.0, 2.0]), weight=pl.Series([1, 2, 1, 1]))
    found, notes = read(rows, "weight", kind="numeric")
    assert found == [("a", "x", 2.5), ("b", "x", 2.0)]
    assert told(notes, "2 more samples of a source on an item: their weighted mean counts")


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
        assert told(notes, "the weights change nothing: no source gives two numbers of an item")
    notes = veracity.discover(ROWS.with_columns(value=pl.lit(1.0)), **how).notes
    assert told(notes, "2 more samples of a source on an item")
    assert not told(notes, "what the same source says in another")
    assert not told(notes, "change nothing")


def test_rows_of_wide_tables_have_a_time():
    wide = pl.DataFrame(
        {"site": ["a", "a", "b"], "flight": ["x"] * 3, "gate": ["1", "2", "2"],
         "departs": ["7", None, "8"], "seen": [1, 2, 1]}
    )  # fmt: skip
    table = veracity.read_claims(wide, columns={"entity": "flight", "time": "seen"})
    assert ("a", "x", "gate", "1") not in table.rows.rows()
    assert ("a", "x", "departs", "7") in table.rows.rows()
    assert told(table.notes, "a wide table, with one row per 'site' and 'flight'")


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
    assert told(spilled.notes, "processed on disk")
    assert set(here.notes) < set(spilled.notes)
    assert told(here.notes, "1,200 ")
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
    assert bool(told(notes, "processed on disk")) == is_on_disk


# --- never in silence -----------------------------------------------------------------------------


def test_columns_that_may_carry_weight_are_told():
    rows = ROWS.rename({"weight": "confidence", "time": "Created at"})
    notes = veracity.discover(rows, "majority-vote").notes
    assert told(notes, "column 'confidence' is not read; with --columns weight=confidence")
    assert told(notes, "column 'Created at' is not read; with --columns 'time=Created at'")


def test_what_a_source_says_twice_is_told():
    notes = veracity.discover(ROWS, "majority-vote").notes
    assert told(notes, "1 duplicate row was ignored")
    assert told(notes, "1 claim contradicts another claim of the same source on the same item")
    notes = veracity.discover(ROWS, "majority-vote", kind="multiple").notes
    assert not told(notes, "contradict")


def test_empty_attributes_are_told(tmp_path):
    text = "source,entity,attribute,value\na,x,gate,1\na,x,,2\nb,x,gate,1\n"
    (tmp_path / "claims.csv").write_text(text)
    notes = veracity.discover(tmp_path / "claims.csv", "majority-vote").notes
    assert told(notes, "1 row has no attribute")


def test_the_command_line_says_the_same(tmp_path):
    ROWS.write_csv(tmp_path / "claims.csv")
    arguments = ["discover", str(tmp_path / "claims.csv"), "--algorithm", "majority-vote", "--json"]
    run = CliRunner().invoke(main, [*arguments, "--columns", "time=time"])
    assert '"claims": 2' in run.stdout
    run = CliRunner().invoke(main, [*arguments, "--samples"])
    assert "its values count by their shares" in run.stdout
