"""What every command promises of names and values, whatever the type of their columns."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from marks import slow_unless
from veracity.cli import main
from veracity.naming import as_text

DAY = datetime(2024, 1, 1)


def _binary(names: list[bytes]) -> pl.Series:
    return pl.Series(names, dtype=pl.Binary)


COLUMNS: dict[str, pl.Series] = {
    "text": pl.Series(["a", "b", "c"]),
    "integer": pl.Series([1, 2, 30]),
    "small": pl.Series([-1, 0, 127], dtype=pl.Int8),
    "large": pl.Series([2**63 + 1, 2**63 + 2, 7], dtype=pl.UInt64),
    "huge": pl.Series([2**100, 2**100 + 1, 7], dtype=pl.Int128),
    "float": pl.Series([1e-07, 1.0, 1e22]),
    "single": pl.Series([0.1, 1.0, 1e-07], dtype=pl.Float32),
    "boolean": pl.Series([True, False]),
    "date": pl.Series([date(2024, 1, 1), date(1899, 12, 31), date(2024, 1, 3)]),
    "datetime": pl.Series([DAY, DAY.replace(hour=5), DAY.replace(microsecond=500)]),
    "nanoseconds": pl.Series([1, 2, 10**18], dtype=pl.Datetime("ns")),
    "milliseconds": pl.Series([DAY, DAY.replace(hour=5)], dtype=pl.Datetime("ms")),
    "zoned": pl.Series([DAY.replace(tzinfo=UTC), DAY.replace(hour=5, tzinfo=UTC)]),
    "elsewhere": pl.Series([DAY, DAY.replace(hour=5)]).dt.replace_time_zone("Asia/Kolkata"),
    "time": pl.Series([time(1, 2, 3), time(23, 59), time(0, 0, 0, 5)]),
    "duration": pl.Series([timedelta(days=1, hours=2), timedelta(0), timedelta(microseconds=7)]),
    "decimal": pl.Series([Decimal("1.50"), Decimal("2.00"), Decimal("0.07")]),
    "bytes": _binary([b"a", "\u00e9".encode(), b"c"]),
    "hash": _binary([b"\x00\xff", b"\x80", b"plain"]),
    "categorical": pl.Series(["a", "b", "c"], dtype=pl.Categorical),
    "enum": pl.Series(["a", "b", "c"], dtype=pl.Enum(["c", "b", "a"])),
    "control": pl.Series(["\x1b[31mred", "line\nbreak", "\u202egnp.exe\ufffe\x00"]),
}
"""A few names of every type of column."""


def claims_of(names: pl.Series) -> pl.DataFrame:
    """Every source speaks of every item, and the last says otherwise than the first."""
    n = len(names)
    rows = [(s, e, a, (e + (s == n - 1)) % n)
            for s in range(n) for e in range(n) for a in range(n)]  # fmt: skip
    parts = zip(("source", "entity", "attribute", "value"), zip(*rows, strict=True), strict=True)
    return pl.DataFrame({part: names.gather(list(numbers)) for part, numbers in parts})


QUICK = ("text", "float", "hash", "control")
"""Types of names that are tried in ``make test``, too."""


@pytest.fixture(scope="module", params=slow_unless(QUICK.__contains__, COLUMNS))
def given(request, tmp_path_factory) -> Path:
    """A folder with claims as Parquet, truths as CSV and as Parquet, and a run."""
    folder = tmp_path_factory.mktemp("names")
    claims = claims_of(COLUMNS[request.param])
    truth = claims.filter(pl.col("source") == claims["source"][0]).drop("source")
    claims.write_parquet(folder / "claims.parquet")
    truth.write_parquet(folder / "truth.parquet")
    truth.select(as_text(column) for column in truth).write_csv(folder / "truth.csv")
    ran(folder, "discover", "claims.parquet", "--out", "run")
    return folder


def ran(folder: Path, *words: str) -> str:
    """What a command prints; it succeeds, and keeps the terminal's own letters to itself."""
    paths = {"claims.parquet", "truth.csv", "truth.parquet", "run"}
    is_path = [
        word in paths or before == "--out"
        for before, word in zip(("", *words), words, strict=False)
    ]
    arguments = [
        str(folder / word) if of else word for word, of in zip(words, is_path, strict=True)
    ]
    found = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    assert found.stderr == ""
    assert all(line.isprintable() for line in found.output.split("\n")), found.output
    return found.output


COMMANDS = {
    "discover with truths": ["discover", "claims.parquet", "--known", "truth.csv"],
    "discover by another": ["discover", "claims.parquet", "--algorithm", "accu-sim"],
    "normalise": ["discover", "claims.parquet", "--normalise"],
    "judge": ["judge", "run", "claims.parquet"],
    "update": ["update", "run", "claims.parquet"],
    "compare": ["compare", "claims.parquet", "--truth", "truth.csv", "--algorithms",
                "majority-vote,truth-finder"],
    "profile": ["profile", "claims.parquet", "--truth", "truth.csv"],
    "check": ["check", "claims.parquet", "--known", "truth.csv"],
    "check with all": ["check", "claims.parquet", "--json"],
    "ask": ["ask", "run"],
    "ask as JSON": ["ask", "run", "--json"],
    "explain": ["explain", "run", "--", "ENTITY", "ATTRIBUTE"],
    "report": ["report", "run", "--out", "report.html", "--truth", "truth.csv", "--force"],
    "figure": ["plot", "run", "agreement", "--out", "agreement.svg", "--force"],
    "decision": ["plot", "run", "decision", "--out", "d.png", "--force", "--entity", "ENTITY",
                 "--attribute", "ATTRIBUTE"],
}  # fmt: skip


SORTS = ("integer", "huge", "float", "boolean", "date", "nanoseconds", "elsewhere", "time",
         "duration", "decimal", "hash", "enum", "control")  # fmt: skip
"""One type of each sort of column: those that are not here are read and named as one of them."""

TURNS = [
    (sort, command)
    for place, command in enumerate(COMMANDS)
    for sort in SORTS[place % 3 :: 3]
]  # fmt: skip
"""Every command with every third sort, the next with the next: all of them share one rendering."""


@pytest.mark.parametrize(
    ("given", "command"), slow_unless(lambda turn: turn[0] in QUICK, TURNS), indirect=["given"]
)
def test_every_command_takes_every_sort_of_name(given, command):
    items = veracity.load(given / "run").truths.select("entity", "attribute")
    names = {key.upper(): as_text(items[key])[len(items) // 2] for key in items.columns}
    assert ran(given, *(names.get(word, word) for word in COMMANDS[command]))
    if command == "report":
        assert (given / "report.html").read_text().count("<img") >= 4


def test_truths_are_found_whatever_they_are_written_in(given, request):
    name = request.node.callspec.params["given"]
    file = "truth.parquet" if name in ("text", "small", "single", "bytes") else "truth.csv"
    n_items = len(veracity.load(given / "run").truths)
    told = json.loads(ran(given, "evaluate", "run", file, "--json"))
    assert told["judged"] == n_items
    assert told["notes"] == []
    known = json.loads(ran(given, "discover", "claims.parquet", "--known", file, "--json"))
    assert known["input"]["known"] == n_items


def test_an_item_is_explained_by_its_own_name(given):
    result = veracity.load(given / "run")
    for name in result.tables.truths["entity"].unique():
        if not result.tables.truths["entity"].dtype.is_temporal() or "ns" not in str(
            result.tables.truths["entity"].dtype
        ):
            assert len(result.why(name).values)
