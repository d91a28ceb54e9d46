"""Claims and truths that are made in Python: rows, dictionaries, series, and what is in them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from datetime import date, datetime, timedelta
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import pandas as pd  # noqa: TID251 - a user's data
import polars as pl
import pytest

import veracity


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
@pytest.mark.parametrize("value", ["cat", date(2024, 1, 1), 7, 0.5, True])
def test_what_is_missing_from_rows_of_python_is_no_value(missing, value):
    rows = [
        {"source": source, "entity": "x", "value": said}
        for source, said in (("a", missing), ("b", value), ("c", missing))
    ]
    for claims in (rows, {name: [row[name] for row in rows] for name in rows[0]}):
        found = veracity.discover(claims).truths
        assert found["value"].to_list() == [value]
        assert found["claims"].to_list() == [1]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (np.bool_(True), True),
        (np.int8(3), 3),
        (np.datetime64("2024-01-01T10:00:00", "ns"), datetime(2024, 1, 1, 10)),
        (np.datetime64("2024-01-01"), date(2024, 1, 1)),
        (np.timedelta64(5, "ns"), timedelta(0)),
        (UUID(int=7), str(UUID(int=7))),
        (PurePosixPath("a/b"), "a/b"),
        (pd.Period("2024-01"), "2024-01"),
    ],
)
def test_cells_of_rows_of_python_are_what_they_are_in_a_frame(cell, value):
    rows = [{"source": source, "entity": cell, "value": cell} for source in "ab"]
    for claims in (rows, {name: [row[name] for row in rows] for name in rows[0]}):
        result = veracity.discover(claims, known={cell: cell})
        assert result.truths.select("entity", "value").rows() == [(value, value)]
        assert result.truths["plausibility"][0] == 1.0


def test_cells_without_a_text_of_their_own_are_refused():
    rows = [{"source": source, "entity": "x", "value": object()} for source in "ab"]
    with pytest.raises(veracity.errors.VeracityError, match="turn it into text or numbers"):
        veracity.discover(rows)


@pytest.mark.parametrize(
    ("claims", "what_to_do"),
    [
        ([], "an empty list: no rows in it"),
        ({}, "an empty dictionary: no rows in it"),
        ([pd.DataFrame({"entity": [1]})], "row at 0 is of type DataFrame; give a list of dict"),
        ({"a": pd.DataFrame({"entity": [1]}), "b": pl.DataFrame({"x": [1]})}, "put them together"),
        ({"a": {"x": 1}, "b": {"x": 2, "y": 3}}, "put them together"),
        ((row for row in [{"source": "a"}]), "list of dictionaries"),
        (np.array([["a", "x", "1"]]), "list of dictionaries"),
        (pd.DataFrame(), "no columns; "),
        (pl.DataFrame(), "no columns; "),
    ],
)
def test_python_objects_that_are_no_claims_are_told_what_to_be(claims, what_to_do):
    with pytest.raises(veracity.errors.VeracityError, match=what_to_do):
        veracity.discover(claims)


@pytest.fixture
def most_say_no():
    """Two raters say of three tasks that it is not so, and one that it is."""
    rows = [(s, e, v) for e in range(3) for s, v in (("a", False), ("b", False), ("c", True))]
    return pd.DataFrame(rows, columns=["rater", "task", "label"])


def test_known_truths_may_be_a_series_with_the_entities_as_its_index(most_say_no):
    truth = pd.Series({0: True, 2: True}, name="gold")
    for known in (truth, truth.rename_axis("task"), truth.rename_axis("whatever").rename(None)):
        truths = veracity.discover(most_say_no, known=known).truths
        assert truths.loc[[0, 2], ["value", "plausibility"]].to_numpy().tolist() == [[True, 1]] * 2
        assert veracity.evaluate(veracity.discover(most_say_no), known).judged == 2
    with pytest.raises(veracity.errors.InputError, match="the entities as its index"):
        veracity.discover(most_say_no, known=pd.Series([True, False]))


def test_known_truths_of_an_item_may_be_a_list():
    rows = [(s, e, v) for e in "xy" for s, v in (("a", "p"), ("b", "q"), ("c", "r"))]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    for known in ({"x": ["p", "q"], "y": ["r"]}, {"x": {"p", "q"}, "y": "r"}, {("x",): ["p", "q"]}):
        facts = veracity.discover(claims, kind="multiple", known=known).facts
        assert facts.filter(entity="x")["plausibility"].to_list() == [1.0, 1.0, 0.0]


AS_NUMBERS, AS_WORDS = (True, 1, 1.0, "1", np.bool_(True)), ("true", "True", "TRUE")


@pytest.mark.parametrize(
    ("said", "truth"),
    [
        *((said, truth) for said in (int, float, "Int64") for truth in AS_NUMBERS),
        *((said, truth) for said in (bool, "boolean") for truth in (*AS_NUMBERS, *AS_WORDS)),
    ],
)
def test_true_is_one_whatever_claims_and_truths_write(most_say_no, said, truth):
    claims = most_say_no.assign(label=most_say_no["label"].astype(said))
    result = veracity.discover(claims, known={0: truth})
    assert result.truths["plausibility"][0] == 1.0
    assert result.truths["value"][0] == True  # noqa: E712 - or 1, or 1.0
    assert veracity.evaluate(veracity.discover(claims), {0: truth}).notes == []


@pytest.mark.parametrize("spelling", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_true_is_the_text_that_claims_have_for_it(most_say_no, spelling):
    texts = most_say_no["label"].map(dict(zip((True, False), spelling, strict=True)))
    result = veracity.discover(most_say_no.assign(label=texts), known={0: True, 1: False})
    assert result.truths["value"].tolist()[:2] == list(spelling)
    assert result.truths["plausibility"].tolist()[:2] == [1.0, 1.0]


MIXED = [("a", 1), ("b", 1.0), ("c", "1"), ("d", 2.5), ("e", True), ("f", "true"), ("g", "n/a")]


def mixed_in(container, folder):
    """The same values of one item, one of several types for each source."""
    rows = [{"source": source, "entity": "x", "value": value} for source, value in MIXED]
    if container == "rows":
        return rows
    if container == "columns":
        return {name: [row[name] for row in rows] for name in rows[0]}
    if container == "pandas":
        return pd.DataFrame(rows)
    if container == "sqlite":
        with contextlib.closing(sqlite3.connect(folder / "claims.db")) as database, database:
            database.execute("create table claims (source, entity, value)")
            told = [(row["source"], "x", row["value"]) for row in rows if row["value"] is not True]
            database.executemany("insert into claims values (?, ?, ?)", [*told, ("e", "x", "true")])
        return f"sqlite:///{folder}/claims.db#claims"
    path = folder / f"claims.{container}"
    lines = [json.dumps(row) for row in rows]
    path.write_text(f"[{', '.join(lines)}]" if container == "json" else "\n".join(lines))
    return path


@pytest.mark.parametrize("container", ["rows", "columns", "pandas", "json", "jsonl", "sqlite"])
def test_values_of_several_types_are_written_the_same_wherever_they_come_from(container, tmp_path):
    facts = veracity.discover(mixed_in(container, tmp_path), "majority-vote").facts
    facts = pl.DataFrame(facts).select("value", "supporters").sort("value")
    assert facts.rows() == [("1", 3), ("2.5", 1), ("n/a", 1), ("true", 2)]


def test_entities_meet_after_frames_of_other_types_were_put_together():
    frames = [
        pd.DataFrame({"source": "a", "entity": [1, 2], "value": ["x", "y"]}),
        pd.DataFrame({"source": "b", "entity": [1.0, np.nan], "value": ["x", "y"]}),
        pd.DataFrame({"source": "c", "entity": ["1", "2"], "value": ["x", "y"]}),
    ]
    claims = pd.concat(frames)
    assert list(veracity.discover(claims.astype({"entity": object})).truths["entity"]) == ["1", "2"]


def test_uuids_of_a_pandas_frame_are_text():
    name = UUID(int=7)
    claims = pd.DataFrame({"source": ["a", "b"], "entity": [name, name], "value": ["x", "x"]})
    result = veracity.discover(claims)
    assert list(result.truths["entity"]) == [str(name)]
    assert "x" in str(result.why(str(name)))
    claims["entity"] = [name.bytes, name.bytes]  # bytes stay what they are
    assert list(veracity.discover(claims).truths["entity"]) == [name.bytes]
