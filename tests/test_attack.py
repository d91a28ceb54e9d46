"""A part of the battery (`attack`), always the same; `make attack` runs all of it, and longer."""

from __future__ import annotations

import contextlib
import random
import time
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pandas as pd  # noqa: TID251 - a user of it
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veracity
from attack import odd_files
from attack.battery import CLAIMS, Battery
from attack.case import Case, Outcome
from attack.findings import Findings, key_of
from attack.verdict import wrongs
from attack.workshop import Workshop
from veracity.errors import NotConverged, VeracityError


@pytest.fixture(scope="module")
def battery():
    with Workshop() as workshop:
        yield Battery(workshop, Findings(), time.monotonic() + 3_600.0)


N_CASES = {"files": 40, "frames": 40, "runs": 25, "parameters": 40, "shapes": 5, "databases": 30,
           "forms": 20, "extras": 10}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", N_CASES)
def test_nothing_is_wrong_with_what_commands_do_to_hostile_cases(battery, part):
    battery.findings = Findings()
    battery.collect(part, seed=1, n_cases=N_CASES[part], small=False)
    assert not battery.findings.of_key, battery.findings.summary()


N_MADE = {"chains": 25, "settings": 25, "pairs": 60}


@pytest.mark.slow
@pytest.mark.parametrize("part", N_MADE)
def test_nothing_is_wrong_with_what_commands_do_to_cases_that_are_mostly_sound(battery, part):
    battery.findings = Findings()
    battery.make(part, seed=1, n_cases=N_MADE[part])
    assert not battery.findings.of_key, battery.findings.summary()


ODD_CELLS = (
    None, "a", "b", 1, 2.5, -0.0, True, b"\xff", float("nan"), float("inf"), 10**30, 1j, (1, 2),
    [1], {"a": 1}, date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), timedelta(1),
    Decimal("1.50"), pd.NA, pd.NaT, pd.Timestamp("1677-09-21 00:12:44"), pd.Period("2024-01"),
    object, "\x1b[31m",
)  # fmt: skip
DTYPES = ("object", "category", "string", "Int64", "float32", "boolean", "datetime64[s]", None)


@st.composite
def pandas_frames(draw):
    """Frames of mixed cells, odd types, labels and indexes."""
    size = draw(st.integers(0, 6))
    columns = []
    for _ in range(draw(st.integers(2, 4))):
        cells = draw(st.lists(st.sampled_from(ODD_CELLS), min_size=size, max_size=size))
        column = pd.Series(cells, dtype="object")
        with contextlib.suppress(Exception):  # not everything is of every type
            column = column.astype(draw(st.sampled_from(DTYPES)) or "object")
        columns.append(column)
    labels = draw(st.permutations(("source", "entity", "value", draw(st.sampled_from((0, None))))))
    frame = pd.concat(columns, axis=1)
    frame.columns = pd.Index(labels[: len(columns)])
    return frame.set_index(frame.columns[0]) if draw(st.integers(0, 5)) == 0 else frame


@settings(max_examples=60)
@given(frame=pandas_frames(), kind=st.sampled_from((None, "numeric", "multiple")))
def test_any_pandas_frame_is_read_or_refused(frame, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=NotConverged)
        try:
            result = veracity.discover(frame, "crh" if kind == "numeric" else "accu", kind=kind)
        except VeracityError as error:
            told = str(error)
        else:
            told = repr(result)
            assert isinstance(result.truths, pd.DataFrame)
    assert 0 < len(told) < 10_000


@pytest.mark.parametrize("kind", ["categorical", "numeric", "binary"])
@pytest.mark.parametrize("form", ["pyarrow", "polars", "dictionaries", "objects"])
def test_any_other_frame_is_read_or_refused(form, kind):
    rng = random.Random(f"{form} {kind}")
    for _ in range(40):
        frame = _odd_frame(rng, form)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=NotConverged)
            try:
                told = repr(veracity.discover(frame, kind=kind))
            except VeracityError as error:
                told = str(error)
        assert 0 < len(told) < 10_000


def _odd_frame(rng, form):
    """Few rows, of which some column is of an odd type, or some cell odd."""
    n_rows = rng.choice((0, 1, 5, 12))
    rows = [
        {name: f"{name[0]}{rng.randrange(3)}" for name in ("source", "entity", "value")}
        for _ in range(n_rows)
    ]
    for row in rows:
        if rng.random() < 0.2:
            row[rng.choice(("source", "entity", "value", "note"))] = rng.choice(ODD_CELLS)
    if form == "dictionaries":
        return rows
    columns = odd_files.columns_of(rows)
    if form == "objects":
        return pl.DataFrame({name: pl.Series(c, dtype=pl.Object) for name, c in columns.items()})
    texts = {name: [str(cell) for cell in cells] for name, cells in columns.items()}
    name = rng.choice(sorted(texts))
    table = pa.table({**texts, name: odd_files.typed(rng, texts[name])})
    with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
        return pl.DataFrame(table) if form == "polars" else table
    return table


def test_types_that_only_pandas_knows_are_read_as_text():
    frame = pd.DataFrame({"source": ["a", "b"], "entity": ["x", "x"]})
    frame["value"] = pd.interval_range(0, 2)
    found = veracity.discover(frame, "majority-vote").facts
    assert list(found["value"]) == ["(0, 1]", "(1, 2]"]
    with pytest.raises(VeracityError, match="is no number"):
        veracity.discover(frame, "crh", kind="numeric")


def outcome(code=0, stdout=b"", stderr=b"", command=("check", "claims.csv"), **files):
    return Outcome(command, code, stdout, stderr, **files)


@pytest.mark.parametrize(
    ("seen", "wrong"),
    [
        (
            outcome(1, stderr=b"error: this is a bug in veracity: KeyError: 'a'; please"),
            "this is a",
        ),
        (
            outcome(1, stderr=b"Traceback (most recent call last):\n  x\nKeyError: 1"),
            "traceback: K",
        ),
        (outcome(0, stderr=b"a.py:1: RuntimeWarning: overflow\n  x"), "warning: 1: RuntimeWarning"),
        (outcome(1, stderr=b"error: " + b"x" * 2_000), "message of more than"),
        (outcome(-6), "aborts"),
        (outcome(134), "aborts"),
        (outcome(None), "hangs"),
        (outcome(1), "fails without a word"),
        (outcome(0, stdout=b"\x1b[31m"), "raw control characters in the output"),
        (outcome(1, stderr=b"error: \xc2\x9b"), "raw control characters in an"),
        (outcome(0, stdout=b'{"a": NaN}', command=("check", "--json")), "NaN in JSON"),
        (outcome(0, after=frozenset({".veracity-abcdefgh"})), "leftover"),
        (outcome(0, temporary=frozenset({"spill"})), "leftover"),
        (outcome(1, stderr=b"error: x", after=frozenset({"run"})), "half-written"),
        (outcome(0, before=frozenset({"mine"})), "lost"),
    ],
)
def test_the_judge_sees_what_is_wrong(seen, wrong, tmp_path):
    found = list(wrongs(seen, tmp_path))
    assert len(found) == 1
    assert found[0].startswith(wrong)


def test_the_judge_lets_a_plain_refusal_pass(tmp_path):
    assert not list(wrongs(outcome(1, stderr=b"error: claims.csv: no rows\n"), tmp_path))


def test_the_judge_sees_markup_that_got_out_of_its_text(tmp_path):
    (tmp_path / "page.html").write_text('<p title="&quot;">&lt;xqz7&gt;</p><svg role=""/></html>')
    seen = outcome(0, after=frozenset({"page.html"}))
    assert not list(wrongs(seen, tmp_path))
    (tmp_path / "page.html").write_text('<p onclick="x">a</p><xqz7></html>')
    assert len(list(wrongs(seen, tmp_path))) == 2


def test_findings_with_one_cause_are_one_and_the_smallest_case_is_kept(tmp_path):
    findings = Findings(tmp_path)
    for text in (b"long long", b"short", b"longer"):
        case = Case({"claims.csv": text}, (("check", "claims.csv"),))
        findings.add(f"bug: no {text.decode()!r} at {len(text)}", "files", case, outcome(1))
    assert [f.times for f in findings.of_key.values()] == [3]
    assert len(list(tmp_path.iterdir())) == 1
    assert next(tmp_path.glob("*/claims.csv")).read_bytes() == b"short"
    assert next(tmp_path.glob("*/command.sh")).read_text() == "veracity check claims.csv\n"


def test_a_finding_is_called_the_same_whatever_its_names_and_numbers():
    assert key_of("no 'a' in row 3: /tmp/x") == key_of("no '\x00' in row 1.5e7: /tmp/y/z")


def test_runs_of_every_kind_are_tampered_with(battery):
    assert set(battery.runs) == set(CLAIMS)
