"""Claims and truths in any form, and what is left out of them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sqlite3
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd  # noqa: TID251 - a user's frame
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import veracity
from veracity.errors import (
    BadValue,
    MissingColumn,
    NoClaims,
    ParameterError,
    UnreadableFile,
    VeracityError,
)
from veracity.reading.claims import open_claims, read_claims, read_table, read_truth
from veracity.reading.options import ReadOptions

SOURCES, ENTITIES = ["a", "b", "c"], ["x", "x", "x"]


def frame(**columns):
    return pl.DataFrame({"source": SOURCES, "entity": ENTITIES, **columns}, strict=False)


def vote(claims, **options):
    return veracity.discover(claims, "majority-vote", **options)


# --- the same claims, however they come ----------------------------------------------------------


def ways_to_give(claims, folder):
    """The same claims in every form, by its name."""
    text = claims.write_csv()
    claims.write_parquet(folder / "claims.parquet")
    (folder / "claims.csv").write_text(text)
    (folder / "claims.tsv").write_text(claims.write_csv(separator="\t"))
    (folder / "claims.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "claims-16.csv").write_bytes(text.encode("utf-16"))
    split = folder / "split"
    split.mkdir()
    for number, part in enumerate(claims.iter_slices(500)):
        part.write_parquet(split / f"part-{number}.parquet")
    (split / "README.md").write_text("this is no table")
    files = ["claims.parquet", "claims.csv", "claims.tsv", "claims.csv.gz", "claims-16.csv"]
    return {
        **{name: folder / name for name in files},
        "text path": str(folder / "claims.csv"),
        "folder": split,
        "glob": str(split / "part-*.parquet"),
        "polars": claims,
        "lazy": claims.lazy(),
        "scan": pl.scan_parquet(split / "*.parquet"),
        "pandas": claims.to_pandas(),
        "pandas categories": claims.to_pandas().astype("category"),
        "pyarrow": claims.to_arrow(),
        "pyarrow reader": claims.to_arrow().to_reader(),
        "duckdb": duckdb.from_arrow(claims.to_arrow()),
        "stream only": StreamOnly(claims),
    }


class StreamOnly:
    """An object that offers an Arrow stream and nothing else."""

    def __init__(self, claims):
        self.claims = claims

    def __arrow_c_stream__(self, requested_schema=None):
        return self.claims.__arrow_c_stream__(requested_schema)


def test_the_same_claims_give_the_same_result_in_whatever_form_they_come(tmp_path, flights):
    expected = vote(flights.claims)
    for name, claims in ways_to_give(flights.claims, tmp_path).items():
        result = vote(claims)
        assert result.tables.truths.equals(expected.truths), name
        assert result.tables.facts.equals(expected.facts), name
        assert result.tables.sources.equals(expected.sources), name
        assert result.run.input.rows == len(flights.claims), name
        assert result.notes == [], name


@pytest.mark.parametrize(
    ("convert", "library"),
    [
        (pl.DataFrame, "polars"),
        (pl.LazyFrame, "polars"),
        (pl.DataFrame.to_pandas, "pandas"),
        (pl.DataFrame.to_arrow, "pyarrow"),
        (StreamOnly, "polars"),
    ],
)
def test_tables_come_back_in_the_kind_of_frame_that_was_given(two_against_one, convert, library):
    result = vote(convert(two_against_one))
    for table in (result.truths, result.facts, result.sources, result.trace):
        assert type(table).__module__.split(".")[0] == library


def test_an_exact_repetition_counts_once(two_against_one):
    claims = pl.concat([two_against_one] + 5 * [two_against_one[-1:]])
    assert vote(claims).truths["value"].to_list() == ["1"]
    assert vote(claims).run.input.claims == 3


# --- columns -------------------------------------------------------------------------------------


def test_what_is_recognised_in_many_files_is_told_once(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("website,entity,value\na,x,1\n")
    assert read_claims(tmp_path).notes == ("column 'website' is taken as the source",)


def test_an_unknown_kind_is_refused(two_against_one):
    with pytest.raises(ParameterError, match="kind must be one of categorical, multiple, binary"):
        read_claims(two_against_one, kind="mood")


# --- what is left out ----------------------------------------------------------------------------


def test_rows_that_lack_something_are_left_out_and_counted():
    claims = pl.DataFrame(
        {
            "source": ["a", None, "", " ", "b"],
            "entity": ["x", "x", "x", "x", None],
            "value": ["", "1", "1", "1", "1"],
        }
    )
    table = read_claims(claims)
    assert table.rows.rows() == [(" ", "x", "1")]
    assert table.rows_read == 5
    assert table.notes == (
        "2 rows without a source are left out",
        "1 row without an entity is left out",
        "1 row without a value is left out",
    )


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_whatever_pandas_calls_missing_is_left_out(missing):
    values = pd.Series(["1", 2, missing], dtype=object)
    claims = pd.DataFrame({"source": SOURCES, "entity": ENTITIES, "value": values})
    assert read_claims(claims).rows["value"].to_list() == ["1", "2"]


@pytest.mark.parametrize(
    "attribute", [["", None, ""], [None, None, None], pl.Series([None] * 3, dtype=pl.Int64)]
)
def test_missing_attributes_are_one_empty_attribute(attribute):
    truths = vote(frame(attribute=attribute, value=["1", "1", "2"])).truths
    assert truths.select("attribute", "value").rows() == [("", "1")]


@pytest.mark.parametrize("attribute", [[7, 7, 8], [date(2024, 1, 1)] * 3])
def test_attributes_keep_their_type(attribute):
    claims = frame(attribute=attribute, value=["1", "1", "2"])
    assert vote(claims).truths.schema["attribute"] == claims.schema["attribute"]


# --- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [1, 1, 2],
        [1.5, 1.5, -0.5],
        [True, True, False],
        [date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 2)],
        [Decimal("1.50"), Decimal("1.5"), Decimal("2")],
        [b"\xff", b"\xff", b"a"],
        pl.Series([0.1, 0.1, 0.2], dtype=pl.Float32),
    ],
)
def test_typed_values_come_back_with_their_own_type(values):
    claims = frame(value=values)
    truths = vote(claims).truths
    assert truths.schema["value"] == claims.schema["value"]
    assert truths["value"].to_list() == claims["value"].to_list()[:1]


def test_sources_and_entities_come_back_with_their_own_type():
    claims = pl.DataFrame({"source": [1, 2, 3], "entity": [1.5] * 3, "value": ["1", "1", "2"]})
    result = vote(claims)
    assert result.sources["source"].to_list() == [1, 2, 3]
    assert result.truths["entity"].to_list() == [1.5]


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical(["u", "u", "v"]),
        pd.Series(["u", "u", "v"], dtype="string"),
        pd.Series(["u", "u", 7], dtype=object),
        pd.Categorical(["u", "u", 7]),
    ],
)
def test_unusual_columns_of_pandas_are_read_as_text(values):
    claims = pd.DataFrame({"source": SOURCES, "entity": ENTITIES, "value": values})
    assert vote(claims).truths["value"].to_list() == ["u"]


@pytest.mark.parametrize(
    "values", [pd.period_range("2024", periods=3, freq="M"), pd.interval_range(0, 3)]
)
def test_types_only_pandas_has_are_read(values):
    claims = pd.DataFrame({"source": SOURCES, "entity": ENTITIES, "value": values})
    assert len(vote(claims).truths) == 1


def test_columns_nobody_asked_for_may_hold_anything():
    claims = frame(value=["1", "1", "2"], note=pl.Series([[1], [2], []])).to_pandas()
    claims["thing"] = [object(), {1}, None]
    assert vote(claims).truths["value"].to_list() == ["1"]


@pytest.mark.parametrize("values", [[[[1]], [[2]], [[1]]], [{"a": 1}] * 3])
def test_a_column_of_objects_or_lists_of_lists_is_refused(values):
    with pytest.raises(BadValue, match=r"column 'value' \(value\) holds .*, not plain values"):
        read_claims(frame(value=values))


def test_columns_that_make_up_a_role_together_are_refused_alike():
    lists = frame(value=["1", "2", "1"], group=[["x"], ["y"], ["z"]])
    with pytest.raises(BadValue, match=r"column 'group' \(entity\) holds .*, not plain values"):
        read_claims(lists, columns={"entity": ["entity", "group"]})


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ([1], ["1"], ["1", "1"]),
        ([1], ["one"], ["1", "one"]),
        ([1], [2.5], [1.0, 2.5]),
        ([1], [None], [1]),
        ([1], [date(2024, 1, 1)], ["1", "2024-01-01"]),
        ([True], ["x"], ["true", "x"]),
        ([True], [date(2024, 1, 1)], ["true", "2024-01-01"]),
        ([date(2024, 1, 1)], pl.Series([1], dtype=pl.UInt64), ["2024-01-01", "1"]),
    ],
)
def test_files_of_one_folder_may_differ_in_their_types(tmp_path, one, other, together):
    for name, values in (("a", one), ("b", other)):
        claims = pl.DataFrame({"source": [name], "entity": ["x"], "value": values})
        claims.write_parquet(tmp_path / f"{name}.parquet")
    assert read_claims(tmp_path).rows["value"].to_list() == together


# --- binary claims -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["true", "TRUE", "False"],
        ["1", "1", "0"],
        ["yes", " Yes ", "no"],
        ["t", "y", "f"],
        ["1.0", "1", "0.0"],
        [1, 1, 0],
        [1.0, 1.0, 0.0],
        [Decimal("1.00"), Decimal("1.00"), Decimal("0.00")],
        [True, True, False],
        pl.Series(["yes", "yes", "no"], dtype=pl.Categorical),
    ],
)
def test_usual_words_for_true_and_false_are_understood(words):
    claims = pl.DataFrame({"source": SOURCES, "fact": ENTITIES, "claim": words})
    assert read_claims(claims, kind="binary").rows["claim"].to_list() == [True, True, False]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["yes", "maybe", "no"], "row 2 claims 'maybe', which is neither true nor false"),
        ([1, 0, 2], "row 3 claims '2', which"),
        ([1.0, 0.5, 0.0], "row 2 claims '0.5', which"),
        (["yes", " ", ""], "row 2 claims ' ', which"),
        ([date(2024, 1, 1)] * 3, "row 1 claims '2024-01-01', which"),
    ],
)
def test_a_claim_neither_true_nor_false_is_named_by_row_and_value(words, complaint):
    claims = pl.DataFrame({"source": SOURCES, "fact": ENTITIES, "claim": words})
    with pytest.raises(BadValue, match=complaint):
        read_claims(claims, kind="binary")


def test_a_bad_claim_is_named_by_the_file_it_is_in(tmp_path):
    (tmp_path / "a.csv").write_text("source,fact,claim\na,f,yes\n")
    (tmp_path / "b.csv").write_text("source,fact,claim\na,g,no\nb,g,perhaps\n")
    with pytest.raises(BadValue, match=r"b\.csv: row 2 claims 'perhaps'"):
        read_claims(tmp_path, kind="binary")


# --- unusual, but not bad ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "x", "1")],
        [("a", "x", "1"), ("a", "y", "2")],
        [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "1")],
        [("a", "x", "1"), ("b", "x", "1"), ("hermit", "y", "2")],
    ],
    ids=["one claim", "one source", "all agree", "no overlap"],
)
@pytest.mark.parametrize("algorithm", ["ltd-rbm", "majority-vote"])
def test_claims_that_leave_nothing_to_decide_are_believed(rows, algorithm):
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    result = veracity.discover(claims, algorithm)
    assert dict(result.truths.select("entity", "value").rows()) == {x: v for _, x, v in rows}
    assert len(result.findings)


def test_names_may_hold_anything(tmp_path):
    names = [
        "a,b",
        'say "hi"',
        "two\nlines",
        "😀",
        "nul\0nul",
        "[red]x[/red]",
        "\x1b[31m",
        "'",
        " ",
    ]
    claims = pl.DataFrame({"source": names, "entity": names, "value": names})
    claims.write_csv(tmp_path / "claims.csv")
    for given in (claims, claims.to_pandas(), tmp_path / "claims.csv"):
        result = vote(given)
        assert sorted(result.tables.truths["value"]) == sorted(names)
        assert sorted(result.tables.sources["source"]) == sorted(names)


# --- paths ---------------------------------------------------------------------------------------

ONE_CLAIM = "source,entity,value\na,x,1\n"


def test_a_folder_is_read_with_the_folders_in_it_but_without_what_is_hidden(tmp_path):
    for name in ("a.csv", "sub/b.CSV", ".hidden.csv", "_delta_log/c.csv", ".git/d.csv", "e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(ONE_CLAIM)
    assert read_claims(tmp_path).rows_read == 2


def test_a_folder_that_begins_with_a_dot_can_be_read_when_it_is_named(tmp_path):
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data" / "a.csv").write_text(ONE_CLAIM)
    assert read_claims(tmp_path / ".data").rows_read == 1


@pytest.mark.parametrize("name", ["claims[1].csv", "claims*.csv", "cl?ims.csv"])
def test_a_file_with_the_signs_of_a_glob_in_its_name_is_that_file(tmp_path, name):
    (tmp_path / name).write_text(ONE_CLAIM)
    (tmp_path / "claims1.csv").write_text(2 * ONE_CLAIM)
    assert read_claims(tmp_path / name).rows_read == 1
    pl.DataFrame({"source": ["a"], "entity": ["x"], "value": [1]}).write_parquet(tmp_path / name)
    assert read_claims(tmp_path / name).rows_read == 1


def test_a_glob_reaches_into_folders(tmp_path):
    (tmp_path / "one" / "two").mkdir(parents=True)
    for name in ("a.csv", "one/b.csv", "one/two/c.csv"):
        (tmp_path / name).write_text(ONE_CLAIM)
    assert read_claims(f"{tmp_path}/**/*.csv").rows_read == 3


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nothing.csv", "there is no such file; check the path"),
        ("*.parquet", "no file matches; check the path"),
        ("empty", "no table is in this folder"),
        ("x" * 5000, "File name too long"),
        ("nul\0nul", "there is no such file"),
        ("\udcff.csv", "this name is no Unicode; rename the file"),
        ("pipe", "this is no file"),
    ],
)
def test_a_path_that_leads_nowhere_is_said_to(tmp_path, name, complaint):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").write_text("no table")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match=complaint):
        read_claims(f"{tmp_path}/{name}")


def test_no_path_is_no_file():
    with pytest.raises(UnreadableFile, match="'': there is no such file"):
        read_claims("")


def test_a_failing_disk_is_no_traceback(tmp_path, monkeypatch):
    def fail(self, *args, **options):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "claims.csv").write_text(ONE_CLAIM)
    monkeypatch.setattr(type(tmp_path), "open", fail)
    with pytest.raises(UnreadableFile, match=r"claims\.csv: cannot be read \(Permission denied\)"):
        read_claims(tmp_path / "claims.csv")


# --- bad input -----------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path):
    """A Parquet file of some size, and its bytes."""
    path = tmp_path / "claims.parquet"
    names = [f"n{i}" for i in range(3000)]
    pl.DataFrame({"source": names, "entity": names, "value": names}).write_parquet(path)
    return path, path.read_bytes()


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_parquet_file_cut_off_is_called_so(parquet, share):
    path, content = parquet
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(UnreadableFile, match=r"damaged or cut off .*; copy or write it again"):
        read_claims(path)


def test_where_everything_is_left_out_the_error_says_why():
    with pytest.raises(NoClaims, match=r"\(3 rows without a value are left out\)"):
        read_claims(frame(value=[None, None, None]))


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        7,
        {"source": ["a"]},
        [("a", "x", "1")],
        b"claims.csv",
        pd.Series([1, 2]),
        pl.Series([1, 2]),
        pd.DataFrame(),
        pl.DataFrame(),
        pd.DataFrame([["a", "x", "1", "2"]], columns=["source", "entity", "value", "value"]),
        pa.table([["a"], ["x"], ["1"], ["2"]], names=["source", "entity", "value", "value"]),
        pd.DataFrame({"source": ["a", 1], "entity": "x", "value": ["1", "2"]}).replace(
            "a", "\udcff"
        ),
        pl.LazyFrame({"source": ["a"]}).select("no such column"),
        pl.LazyFrame({"source": ["a"], "entity": ["x"], "value": ["?"]}).with_columns(
            pl.col("value").cast(pl.Int64)
        ),
        pl.scan_parquet("no/such/file.parquet"),
    ],
    ids=lambda nonsense: type(nonsense).__name__,
)
def test_what_is_no_table_of_claims_is_refused_in_one_sentence(nonsense):
    with pytest.raises(VeracityError) as error:
        read_claims(nonsense)
    assert len(str(error.value).splitlines()) == 1


# --- truths and other tables ---------------------------------------------------------------------


def test_truths_without_a_value_column_are_refused_with_those_found():
    with pytest.raises(MissingColumn, match="no column 'value' among 'entity', 'price'"):
        read_truth(pl.DataFrame({"entity": ["x"], "price": [1]}), ReadOptions())


def test_no_truths_are_an_error():
    with pytest.raises(NoClaims, match="no truths in it"):
        read_truth(frame(value=[None, None, None]), ReadOptions())


def test_any_table_can_be_read_with_all_its_columns(tmp_path):
    table = pl.DataFrame({"source": ["a", "b"], "tpr": ["0.9", None]})
    table.write_csv(tmp_path / "prior.csv")
    for given in (table, table.lazy(), table.to_pandas(), table.to_arrow(), tmp_path / "prior.csv"):
        assert_frame_equal(read_table(given), table)


def test_a_damaged_row_group_names_its_file(tmp_path):
    path = tmp_path / "claims.parquet"
    n = 20_000
    names = pl.Series(range(n)).cast(pl.String)
    rows = pl.DataFrame({"source": names, "entity": names, "value": names})
    rows.write_parquet(path, row_group_size=1000)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 5000] = b"Z" * 5000
    path.write_bytes(content)
    for read in (veracity.read_claims, veracity.discover):
        with pytest.raises(UnreadableFile, match=r"claims\.parquet: damaged or cut off"):
            read(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_streamed_is_what_is_read(tmp_path, flights, suffix):
    path = tmp_path / f"claims.{suffix}"
    claims = pl.concat([flights.claims, flights.claims.head(5).with_columns(value=None)])
    getattr(claims, f"write_{suffix}")(path)
    streamed, read = veracity.discover(path), veracity.discover(veracity.read_claims(path))
    for name in ("truths", "facts", "sources", "notes"):
        one, other = getattr(streamed, name), getattr(read, name)
        assert one == other if name == "notes" else one.equals(other)
    assert streamed.run.input == read.run.input
    assert "5 rows without a value are left out" in streamed.notes


def test_an_attribute_of_numbers_stays_one_unless_some_are_missing(tmp_path):
    for number, last in enumerate((2, None)):
        path = tmp_path / f"{number}.parquet"
        rows = {
            "source": ["a", "b"],
            "entity": ["x"] * 2,
            "attribute": [1, last],
            "value": ["v"] * 2,
        }
        pl.DataFrame(rows).write_parquet(path)
    kept = veracity.read_claims(tmp_path / "0.parquet").rows["attribute"]
    text = veracity.read_claims(tmp_path / "*.parquet").rows["attribute"]
    assert kept.to_list() == [1, 2]
    assert text.to_list() == ["1", "2", "1", ""]


@pytest.mark.parametrize("dtype", [pa.decimal32(5, 2), pa.decimal64(5, 2), pa.decimal128(5, 2)])
@pytest.mark.parametrize("form", ["table", "batch", "reader"])
def test_decimals_of_arrow_are_the_same_in_every_form(dtype, form):
    values = pa.array([Decimal("1.25"), Decimal("2.50"), Decimal("1.25")], dtype)
    table = pa.table({"source": ["a", "b", "c"], "entity": ["x"] * 3, "value": values})
    forms = {"table": table, "batch": table.to_batches()[0], "reader": table.to_reader()}
    facts = veracity.discover(forms[form], "majority-vote").facts
    assert facts.column("value").to_pylist() == [Decimal("1.25"), Decimal("2.50")]


def test_truths_that_are_bytes_are_compared_as_text(two_against_one):
    known = pl.DataFrame({"entity": ["x"], "value": [b"1"]})
    claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]})
    assert veracity.discover(claims, known=known).truths["value"].to_list() == ["1"]
    claims = claims.with_columns(pl.col("value").cast(pl.Float64))
    assert veracity.discover(claims, known=known).truths["value"].to_list() == [1.0]


@pytest.mark.parametrize("names", [[["a"], ["b"]], [{"a": 1}, {"a": 2}]])
def test_features_of_what_has_no_plain_name_are_refused(names):
    claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]})
    features = pl.DataFrame({"source": names, "size": [1, 2]})
    with pytest.raises(BadValue, match="not plain values"):
        veracity.discover(claims, source_features=features)
    with pytest.raises(BadValue, match="not plain values"):
        veracity.discover(claims, item_features=features.rename({"source": "entity"}))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Decimal("1e30"), Decimal("1e-10")], ["1E+30", "1E-10"]),
        ([Decimal("1e300"), Decimal(1)], ["1", "1E+300"]),
        ([Decimal("0.1"), 10**37], ["0.1", "1" + "0" * 37]),
        ([2**200, 1], ["1", str(2**200)]),
        ([Decimal("NaN"), Decimal("0.5")], [Decimal("0.5")]),
        ([Decimal(10**35), Decimal("0.5")], [Decimal("0.5"), Decimal(10**35)]),
    ],
)
@pytest.mark.parametrize("form", ["rows", "columns", "pandas"])
def test_no_number_of_many_digits_is_lost(form, values, expected, capfd):
    columns = {"source": ["a", "b"], "entity": ["x", "y"], "value": values}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    given = {"rows": rows, "columns": columns, "pandas": pd.DataFrame(columns)}[form]
    found = list(veracity.discover(given, "majority-vote").facts["value"])
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["claims.csv", "claims.parquet"])
def test_a_file_that_is_changed_while_it_is_read_is_told(tmp_path, name):
    file = tmp_path / name
    rows = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]})
    write = rows.write_csv if name.endswith("csv") else rows.write_parquet
    write(file)
    quiet, changed = (open_claims(file, ReadOptions()) for _ in range(2))
    quiet.collect()
    assert not any("was changed" in note for note in quiet.notes)
    batches = changed.batches()
    next(batches)
    os.utime(file, ns=(0, 0))
    for _ in batches:
        pass
    expected = f"{file} was changed while it was read, so rows may be missing: read it again"
    assert expected in changed.notes


def test_a_file_whose_reader_panics_on_the_way_is_called_damaged_and_no_row_is_lost(tmp_path):
    """Batches of Polars end without a word then, as if there were no more rows."""
    file, n_rows = tmp_path / "claims.parquet", 40
    rows = pa.table({"source": ["a"] * n_rows, "entity": range(n_rows), "value": range(n_rows)})
    encodings = dict.fromkeys(("entity", "value"), "DELTA_BINARY_PACKED")
    pq.write_table(
        rows, file, row_group_size=10, compression="none",
        use_dictionary=False, column_encoding=encodings,
    )  # fmt: skip
    before, parted, behind = file.read_bytes().rpartition(b"\x80\x02\x04")
    assert parted  # blocks of 256 numbers, each in four parts; in none, in the last group
    file.write_bytes(before + b"\x80\x02\x00" + behind)
    with pytest.raises(UnreadableFile, match="damaged or cut off"):
        veracity.discover(file, "majority-vote")


def test_entity_and_attribute_together_name_a_binary_fact(tmp_path):
    rows = pl.DataFrame(
        {
            "source": list("abcdef"),
            "entity": ["cafe"] * 6,
            "attribute": ["open"] * 3 + ["vegan"] * 3,
            "value": [True] * 3 + [False] * 3,
        }
    )
    rows.write_csv(tmp_path / "claims.csv")
    with duckdb.connect(tmp_path / "claims.duckdb") as database:
        database.execute("create table claims as select * from rows")
    for data in (rows, tmp_path / "claims.csv", f"duckdb:///{tmp_path}/claims.duckdb#claims"):
        result = vote(data, kind="binary")
        assert result.facts["fact"].to_list() == ["cafe | open", "cafe | vegan"]
        assert result.facts["plausibility"].to_list() == [1.0, 0.0]
        assert "'entity' and 'attribute' together name the fact" in result.notes
        truths = rows.select("entity", "attribute", value=pl.col("attribute") == "open").unique()
        assert veracity.evaluate(result, truths).accuracy == 1.0
    said = {"fact": "entity"}
    assert vote(rows, kind="binary", columns=said).facts["fact"].to_list() == ["cafe"]


# --- rows of Python -------------------------------------------------------------------------------


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
