"""Answers as files for people and other programs, in the names of the claims' own columns."""

from __future__ import annotations

import math
import sys
import tempfile
import zipfile

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import veracity
from claims import files_of_at_most
from veracity.cli import main
from veracity.errors import OutputError
from veracity.io.table_file import ENDINGS, guarded, unguarded, write_table
from veracity.result import TABLES

LABELS = """task,worker,label
t1,ann,=1+1
t1,bob,=1+1
t1,cat,-5
t2,ann,-5
t2,bob,-5
t2,cat,@x
"""
FLIGHTS = """site,flight,field,value
tower,AA-1,gate,D3
orbit,AA-1,gate,D3
tower,AA-1,flight,7:05
tower,AA-2,gate,C1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text(LABELS)
    (tmp_path / "flights.csv").write_text(FLIGHTS)
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def flights(**options):
    columns = {"source": "site", "entity": "flight", "attribute": "field"}
    return veracity.discover("flights.csv", "majority-vote", columns=columns, **options)


READERS = {
    "csv": lambda file: unguarded(pl.read_csv(file, infer_schema_length=0)),
    "tsv": lambda file: unguarded(pl.read_csv(file, separator="\t", infer_schema_length=0)),
    "json": pl.read_json,
    "jsonl": pl.read_ndjson,
    "parquet": pl.read_parquet,
    "xlsx": pl.read_excel,
}


@pytest.mark.parametrize("ending", READERS)
def test_out_writes_the_truths_as_its_ending_says_in_the_users_own_columns(ending):
    file = f"truths.{ending}"
    output = run("discover", "labels.csv", "--out", file)
    assert f"written to {file}: the truths" in output
    assert "┃ task ┃ label ┃ plausibility" in output
    assert "┃ worker ┃" in output
    table = READERS[ending](file)
    assert table.columns[:3] == ["task", "label", "plausibility"]
    assert table.select("task", "label").rows() == [("t1", "=1+1"), ("t2", "-5")]


def test_what_a_spreadsheet_would_run_is_text_and_that_is_told(folder):
    output = run("discover", "labels.csv", "--out", "truths.csv")
    assert "2 texts that begin like a formula got an apostrophe in front" in output
    assert (folder / "truths.csv").read_text().splitlines()[1].startswith("t1,'=1+1,")
    run("discover", "labels.csv", "--out", "truths.xlsx")
    with zipfile.ZipFile("truths.xlsx") as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")


def test_guarding_leaves_numbers_alone_and_can_be_undone():
    texts = ["=A1", "+1", "-5", "-5.2e3", "-", "@x", "\tx", "\rx", "'=x", "''=x", "'x", "-a", None]
    table = pl.DataFrame({"text": texts})
    changed = [text for text, was in zip(guarded(table)["text"], texts, strict=True) if text != was]
    assert changed == ["'=A1", "'@x", "'\tx", "'\rx", "''=x", "'''=x", "'-a"]
    assert_frame_equal(unguarded(guarded(table)), table)


def test_existing_files_stay_unless_forced_and_what_is_read_always_stays(folder):
    (folder / "mine.csv").write_text("mine")
    assert "force=True, or --force" in run("discover", "labels.csv", "--out", "mine.csv", code=1)
    assert (folder / "mine.csv").read_text() == "mine"
    run("discover", "labels.csv", "--out", "mine.csv", "--force")
    assert (folder / "mine.csv").read_text().startswith("task,label")
    output = run("discover", "labels.csv", "--out", "labels.csv", "--force", code=1)
    assert "one of the input files; choose another place" in output
    for read in (".", "*.csv"):
        arguments = ["--out", "labels.csv", "--force"]
        assert "one of the input files" in run("discover", read, *arguments, code=1)
    assert (folder / "labels.csv").read_text() == LABELS


@pytest.mark.parametrize(
    ("arguments", "complaint", "code"),
    [
        (["--out", "truths.csv.gz"], "not written as .gz; choose one of .csv", 1),
        (["--out", "nowhere/truths.csv"], "there is no folder nowhere", 1),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(arguments, complaint, code):
    assert complaint in run("discover", "absent.csv", *arguments, code=code)


def test_a_table_is_never_said_to_go_into_a_folder_where_only_a_file_can_be(folder):
    told = run("export", "absent", "truths.xls", code=1)
    assert "its ending is none of .csv" in told
    assert "folder" not in told


def test_without_xlsxwriter_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    assert "[excel]" in run("discover", "labels.csv", "--out", "truths.xlsx", code=1)


def test_excel_files_lose_nothing():
    claims = pl.DataFrame({"source": ["a"], "entity": [2**60 + 1], "value": ["x" * 40_000]})
    with pytest.raises(OutputError, match="more than a cell of Excel holds"):
        veracity.discover(claims).write("truths.xlsx")
    veracity.discover(claims.with_columns(value=pl.lit("1"))).write("truths.xlsx")
    assert pl.read_excel("truths.xlsx")["entity"].to_list() == [str(2**60 + 1)]


# --- records --------------------------------------------------------------------------------------


def test_records_have_one_row_per_entity_and_one_column_per_attribute():
    records = flights().records(plausibility=True)
    assert records.rows(named=True) == [
        {"flight": "AA-1", "flight_2": "7:05", "flight_plausibility": 1.0, "gate": "D3",
         "gate_plausibility": 1.0},
        {"flight": "AA-2", "flight_2": None, "flight_plausibility": None, "gate": "C1",
         "gate_plausibility": 1.0},
    ]  # fmt: skip


def test_attributes_may_have_any_name():
    rows = [("s", "x", name, "1") for name in ("entity", "value", "number", "flight", "")]
    claims = pl.DataFrame(rows, schema=["source", "flight", "attribute", "value"], orient="row")
    records = veracity.discover(claims, columns={"entity": "flight"}).records()
    assert records.columns == ["flight", "value", "entity_2", "flight_2", "number", "value_2"]
    assert records.rows() == [("x", *"11111")]


def test_records_of_claims_without_attributes_can_be_joined_with_the_users_own_table():
    labels = pl.read_csv("labels.csv").to_pandas()
    records = veracity.discover(labels).records()
    assert list(records.columns) == ["task", "label"]
    assert len(labels.merge(records, on="task", suffixes=("", "_true"))) == 6


def test_records_of_facts_of_several_truths_and_of_numbers():
    facts = {"worker": ["a", "b"], "statement": ["f"] * 2, "vote": [True, True]}
    result = veracity.discover(pl.DataFrame(facts), kind="binary")
    assert result.records().rows(named=True) == [{"statement": "f", "vote": True}]
    books = {"source": ["a", "b", "a", "b"], "book": ["x"] * 4, "value": ["k", "k", "g", "g"]}
    several = veracity.discover(pl.DataFrame(books), kind="multiple", columns={"entity": "book"})
    assert several.records().rows() == [("x", ["g", "k"])]
    several.write("books.csv", "records")
    assert pl.read_csv("books.csv").rows() == [("x", "g | k")]
    numbers = pl.DataFrame({"source": ["a", "b"], "entity": ["x"] * 2, "value": [1.0, 3.0]})
    told = veracity.discover(numbers, kind="numeric").records(plausibility=True)
    assert told.columns == ["entity", "value", "uncertainty"]


def test_a_column_of_ours_gives_way_to_one_of_the_users():
    claims = pl.DataFrame({"source": ["a"], "claims": ["x"], "values": ["1"]})
    result = veracity.discover(claims, columns={"entity": "claims", "value": "values"})
    result.write("truths.csv")
    columns = pl.read_csv("truths.csv").columns
    assert columns[:2] == ["claims", "values"]
    assert {"values_2", "claims_2"} < set(columns)


def test_claims_on_disk_give_the_same_files(tmp_path):
    here = flights()
    there = flights(engine=veracity.Local(memory="1KB", spill=tmp_path))
    assert_frame_equal(here.records(), there.records())
    for ending in ("csv", "jsonl", "parquet", "json"):
        there.write(f"truths.{ending}")
    here.write("here.csv")
    keys = ["flight", "field"]
    assert_frame_equal(pl.read_csv("here.csv").sort(keys), pl.read_csv("truths.csv").sort(keys))
    assert len(pl.read_parquet("truths.parquet")) == len(pl.read_json("truths.json")) == 3


def test_tables_of_a_crowd_are_exported_in_its_own_names(folder):
    rows = [(f"t{n}", worker, label) for n, said in enumerate(["aab", "bba", "aaa", "bbb"])
            for worker, label in zip(["ann", "bob", "cem"], said, strict=True)]  # fmt: skip
    labels = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    veracity.discover(labels).save("run")
    columns = {
        "confusions": ["worker", "true", "said", "probability", "claims"],
        "probabilities": ["task", "a", "b"],
        "difficulty": ["task", "entropy", "agreement", "claims"],
    }
    for table, expected in columns.items():
        run("export", "run", f"{table}.csv", "--table", table)
        assert pl.read_csv(f"{table}.csv").columns == expected
    message = run("export", "run", "changes.csv", "--table", "changes", code=2)
    assert "this run has no changes: values were not normalised" in message


def test_telephone_numbers_stay_as_they_are(folder):
    rows = {"source": ["a", "b"], "entity": ["x", "y"], "value": ["+41 44 706 79 26", "+1-2"]}
    veracity.discover(pl.DataFrame(rows), "majority-vote").write("truths.csv")
    assert pl.read_csv("truths.csv")["value"].to_list() == ["+41 44 706 79 26", "'+1-2"]


def test_a_saved_run_can_be_exported(folder):
    told = run("export", "--help")
    assert all(name in told for name in TABLES)
    flights().save("run")
    assert "written to r.csv: records" in run("export", "run", "r.csv", "--table", "records")
    assert (folder / "r.csv").read_text() == "flight,flight_2,gate\nAA-1,7:05,D3\nAA-2,,C1\n"
    assert "force=True, or --force" in run("export", "run", "r.csv", code=1)


def test_new_claims_may_have_other_column_names_than_the_old_ones():
    fitted = veracity.discover("labels.csv").fitted
    new = pl.DataFrame({"source": ["ann"], "entity": ["t9"], "value": ["-5"]})
    assert fitted.judge(new).records().columns == ["entity", "value"]


def test_nothing_is_written_elsewhere_on_the_way_to_an_excel_file(tmp_path, monkeypatch):
    place, nowhere = tmp_path / "place", tmp_path / "nowhere"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(nowhere))
    write_table(pl.DataFrame({"a": ["x", "y"]}), place / "table.xlsx")
    assert not nowhere.exists()
    assert [path.name for path in place.iterdir()] == ["table.xlsx"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("n_rows", [20, 300])
def test_a_table_that_does_not_fit_on_the_disk_is_not_written_at_all(tmp_path, ending, n_rows):
    table = pl.DataFrame({"entity": [f"e{number * 7919 % 1000}" for number in range(n_rows)]})
    whole, cut = tmp_path / f"whole{ending}", tmp_path / f"cut{ending}"
    write_table(table, whole)
    size = whole.stat().st_size
    less = 64 if ending == ".xlsx" else 1  # a workbook tells when it was made: some bytes vary
    for most in (size - less, size // 2, 10):
        with (
            files_of_at_most(most),
            pytest.raises(OutputError, match="File too large"),
        ):
            write_table(table, cut)
        assert not cut.exists()


@pytest.mark.parametrize("ending", ["xlsx", "json", "jsonl", "csv"])
def test_a_value_that_is_infinite_is_written_as_text(ending, tmp_path):
    claims = {"source": ["a", "b"], "entity": ["x", "y"], "value": [math.inf, 2.5]}
    found = veracity.discover(claims, "majority-vote", kind="categorical")
    found.write(tmp_path / f"truths.{ending}")
    back = veracity.evaluate(found, tmp_path / f"truths.{ending}")
    assert (back.judged, back.accuracy) == (2, 1.0)


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_what_got_an_apostrophe_in_a_file_is_known_by_its_name_again(ending, tmp_path):
    said = {"source": ["a", "b", "c"] * 2, "entity": ["@ana"] * 3 + ["'=x"] * 3,
            "attribute": ["=role"] * 6, "value": ["-a", "-a", "b", "+c", "d", "d"]}  # fmt: skip
    found = veracity.discover(said, "majority-vote")
    found.write(tmp_path / f"truths.{ending}")
    again = veracity.discover(said, known=tmp_path / f"truths.{ending}")
    assert not any("without any claim" in note for note in again.run.notes)
    assert again.truths["value"].to_list() == found.truths["value"].to_list()
    assert veracity.evaluate(found, tmp_path / f"truths.{ending}").judged == 2
