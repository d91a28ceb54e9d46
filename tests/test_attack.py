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

import veracity
from attack import forms
from attack.battery import Battery
from attack.case import Case, Findings, Outcome
from attack.verdict import wrongs
from attack.workshop import Workshop
from veracity.errors import NotConverged, VeracityError


@pytest.fixture(scope="module")
def battery():
    with Workshop() as workshop:
        yield Battery(workshop, Findings(), time.monotonic() + 3_600.0)


N_CASES = {"chains": 25, "hostile": 60, "settings": 25, "shapes": 8, "pairs": 60,
           "parameters": 60, "runs": 30}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", N_CASES)
def test_nothing_is_wrong_with_what_commands_do(battery, part):
    battery.findings = Findings()
    battery.make(part, seed=1, n_cases=N_CASES[part])
    assert not battery.findings.times, battery.findings.summary()


ODD_CELLS = (
    None, "a", "b", 1, 2.5, -0.0, True, b"\xff", float("nan"), float("inf"), 10**30, 1j, (1, 2),
    [1], {"a": 1}, date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), timedelta(1),
    Decimal("1.50"), pd.NA, pd.NaT, pd.Timestamp("1677-09-21 00:12:44"), pd.Period("2024-01"),
    object, "\x1b[31m",
)  # fmt: skip
DTYPES = ("object", "category", "string", "Int64", "float32", "boolean", "datetime64[s]")


@pytest.mark.parametrize("kind", ["categorical", "numeric", "binary"])
@pytest.mark.parametrize("form", ["pandas", "pyarrow", "polars", "dictionaries", "objects"])
def test_any_frame_is_read_or_refused(form, kind):
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
    """Return few rows, of which some column is of an odd type, or some cell odd."""
    names, n_rows = ("source", "entity", "value"), rng.choice((0, 1, 5, 12))
    rows = [{name: f"{name[0]}{rng.randrange(3)}" for name in names} for _ in range(n_rows)]
    for row in rows:
        if rng.random() < 0.2:
            row[rng.choice((*names, "note"))] = rng.choice(ODD_CELLS)
    columns = forms.columns_of(rows)
    if form == "dictionaries":
        return rows
    if form == "objects":
        return pl.DataFrame({name: pl.Series(c, dtype=pl.Object) for name, c in columns.items()})
    if form == "pandas":
        columns["value"] = [rng.choice(ODD_CELLS) for _ in columns["value"]]
        frame = pd.DataFrame({name: pd.Series(c, dtype="object") for name, c in columns.items()})
        with contextlib.suppress(Exception):  # not everything is of every type
            name = rng.choice(names)
            frame[name] = frame[name].astype(rng.choice(DTYPES))
        frame = frame.rename(columns={rng.choice(names): rng.choice((0, None, "value", "source"))})
        return frame.set_index(frame.columns[0]) if rng.random() < 0.2 else frame
    texts = {name: [str(cell) for cell in cells] for name, cells in columns.items()}
    name = rng.choice(sorted(texts))
    table = pa.table({**texts, name: forms.typed(rng, texts[name])})
    with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
        return pl.DataFrame(table) if form == "polars" else table
    return table


def outcome(code=0, stdout=b"", stderr=b"", command=("check", "claims.csv"), **files):
    return Outcome(command, code, stdout, stderr, **files)


TRACEBACK = b"Traceback (most recent call last):\n  x\nKeyError: 1"


@pytest.mark.parametrize(
    ("seen", "wrong"),
    [
        (outcome(1, stderr=b"error: this is a bug in veracity: KeyError: 'a'; please"), "this is"),
        (outcome(1, stderr=TRACEBACK), "traceback: K"),
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
    (found,) = wrongs(seen, tmp_path)
    assert found.startswith(wrong)


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
        findings.add(f"bug: no {text.decode()!r} at {len(text)}", "hostile", case, outcome(1))
    assert list(findings.times.values()) == [3]
    (folder,) = tmp_path.iterdir()
    assert (folder / "claims.csv").read_bytes() == b"short"
    assert (folder / "command.sh").read_text() == "veracity check claims.csv\n"
