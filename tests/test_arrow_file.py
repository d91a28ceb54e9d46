"""Arrow files are read in portions: what comes of them is what Polars makes of the whole."""

from __future__ import annotations

import datetime
import decimal
import itertools

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from marks import slow
from veracity.io import arrow_file, json_lines
from veracity.io.arrow_file import open_arrow_file
from veracity.io.json_lines import open_json_lines

DAY = datetime.datetime(2024, 2, 29, 12)
COLUMNS = {
    "text": pa.array(["a", None, "a text that is too long for a view", ""]),
    "view": pa.array(["a", None, "a text that is too long for a view", ""], pa.string_view()),
    "large": pa.array(["a", "b", None, "d"], pa.large_string()),
    "whole": pa.array([1, 2, None, 4], pa.int8()),
    "real": pa.array([1.5, None, 2.5, 3.5]),
    "flag": pa.array([True, False, None, True]),
    "nothing": pa.nulls(4),
    "day": pa.array([DAY] * 4, pa.date32()),
    "time": pa.array([DAY, None, DAY, DAY], pa.timestamp("us", "UTC")),
    "amount": pa.array([decimal.Decimal("1.50"), None] * 2, pa.decimal128(9, 2)),
    "list": pa.array([[1], None, [], [2, 3]]),
    "object": pa.array([{"a": "x", "b": [1]}, None, {"a": None, "b": []}, {"a": "y", "b": None}]),
    "fixed": pa.array([[1, 2], None, [3, 4], [5, 6]], pa.list_(pa.int32(), 2)),
    "bytes": pa.array([b"a", None, b"\xff", b""]),
    "label": pa.array(["p", "q", None, "p"]).dictionary_encode(),
    "labels": pa.array([["p"], ["q", "p"], None, []]).cast(
        pa.list_(pa.dictionary(pa.int32(), pa.string()))
    ),
}


def _written(path, table, **options):
    with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, max_chunksize=3)
    return path


@pytest.mark.parametrize("portion", [slow(1), 1 << 24])
@pytest.mark.parametrize(
    "options",
    [{}, {"compression": "zstd"}, {"compression": "lz4"}, {"use_legacy_format": True}],
    ids=["plain", "zstd", "lz4", "legacy"],
)
def test_any_columns_of_an_arrow_file_are_as_polars_reads_the_whole(
    tmp_path, monkeypatch, options, portion
):
    monkeypatch.setattr(arrow_file, "PORTION", portion)
    table = pa.concat_tables([pa.table(COLUMNS)] * 5).unify_dictionaries()
    path = _written(tmp_path / "claims.arrow", table, **options)
    whole, rows = pl.read_ipc(path.read_bytes()), open_arrow_file(path)
    assert rows.collect_schema() == whole.schema
    assert_frame_equal(rows.collect(), whole)
    for pair in itertools.permutations(COLUMNS, 2):
        assert_frame_equal(rows.select(pair).collect(), whole.select(pair))
    assert rows.select(pl.len()).collect().item() == 20
    assert_frame_equal(rows.head(7).collect(), whole.head(7))
    is_wanted = pl.col("whole") > 1
    assert_frame_equal(rows.filter(is_wanted).head(3).collect(), whole.filter(is_wanted).head(3))


def test_an_arrow_file_without_rows_has_its_columns(tmp_path):
    table = pa.table(COLUMNS)
    path = _written(tmp_path / "claims.arrow", table.slice(0, 0))
    assert open_arrow_file(path).collect().shape == (0, len(COLUMNS))


def test_lines_of_json_in_portions_are_as_polars_reads_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "PORTION", 20)
    lines = ['{"a": 1}', '{"a": 2.5, "b": null}', "", '{"b": ["x"]}', '{"a": null, "b": []}'] * 9
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(lines))
    whole, rows = pl.read_ndjson(path, infer_schema_length=None), open_json_lines(path)
    assert_frame_equal(rows.collect(), whole)
    for name in ("a", "b"):
        assert_frame_equal(rows.select(name).collect(), whole.select(name))
    assert_frame_equal(rows.head(7).collect(), whole.head(7))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert_frame_equal(rows.collect(), whole)
