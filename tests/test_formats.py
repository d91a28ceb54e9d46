"""Files as offices and programs write them: other formats, encodings, lines above the header."""

from __future__ import annotations

import contextlib
import gzip
import json
import math

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.errors import (
    InputError,
    UnreadableFile,
    WrongEncoding,
)

CLAIMS = pl.DataFrame(
    {"source": ["a", "b", "c"] * 2, "entity": ["x"] * 3 + ["y"] * 3, "value": [1, 2, 2, 5, 5, 7]}
)
ROWS = CLAIMS.to_dicts()


def vote(claims, **options):
    return veracity.discover(claims, "majority-vote", **options)


def same_answer(result):
    assert result.truths["value"].cast(pl.Int64).to_list() == [2, 5]
    assert result.run.input.claims == 6
    return result


def written(folder, name):
    """The claims in a file whose ending says what it is."""
    path = folder / name
    lines = "\n".join(map(json.dumps, ROWS))
    texts = {"claims.json": json.dumps(ROWS, indent=1), "claims.jsonl": lines, "claims.txt": lines}
    if name in texts:
        path.write_text(texts[name])
    elif name == "claims.ndjson.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif name == "stream.arrow":
        CLAIMS.write_ipc_stream(path)
    elif name == "claims.xlsx":
        CLAIMS.write_excel(path)
    else:
        CLAIMS.write_ipc(path)
    return path


@pytest.mark.parametrize(
    "name",
    ["claims.json", "claims.jsonl", "claims.txt", "claims.ndjson.gz", "claims.arrow",
     "claims.feather", "stream.arrow", "claims.xlsx"],
)  # fmt: skip
def test_the_same_claims_in_other_formats(tmp_path, name):
    result = same_answer(vote(written(tmp_path, name)))
    assert result.truths["value"].dtype == pl.Int64


def test_a_list_of_files(tmp_path):
    for number, part in enumerate(CLAIMS.iter_slices(3)):
        part.write_csv(tmp_path / f"{number}.csv")
    same_answer(vote([tmp_path / "0.csv", str(tmp_path / "1.csv")]))


@pytest.mark.parametrize("name", ["claims.json", "within.json", "claims.jsonl", "a list"])
@pytest.mark.parametrize(
    ("said", "values"),
    [
        ([1.5, math.nan], [1.5]),
        ([True, 1, 1], ["1", "true"]),
        ([1, ["a", 2]], ["1", "2", "a"]),
        ([["a", "b"], "a"], ["a", "b"]),
        (["[sic]", "b"], ["[sic]", "b"]),
    ],
)
def test_fields_of_several_types_are_read_alike(tmp_path, name, said, values):
    rows = [{"source": n, "entity": "x", "value": value} for n, value in enumerate(said)]
    lines = [json.dumps(row) for row in rows]
    array = f"[{','.join(lines)}]"
    forms = {"claims.json": array, "within.json": f'{{"rows": {array}}}'}
    (tmp_path / name).write_text(forms.get(name, "\n".join(lines)))
    given = rows if name == "a list" else tmp_path / name
    assert vote(given).facts["value"].to_list() == values


@pytest.mark.parametrize("name", ["claims.json", "claims.jsonl", "claims.json.gz", "within.json"])
def test_plain_values_beside_objects_become_text(tmp_path, name):
    rows = [*ROWS, {**ROWS[0], "entity": "z", "value": {"amount": 3, "unit": "kg"}}]
    content = json.dumps({"claims": rows} if name == "within.json" else rows)
    if name == "claims.jsonl":
        content = "\n".join(map(json.dumps, rows))
    pack = gzip.compress if name.endswith(".gz") else bytes
    (tmp_path / name).write_bytes(pack(content.encode()))
    said = vote(tmp_path / name).truths["value"].to_list()
    assert said[:2] == ["2", "5"]
    assert json.loads(said[2]) == {"amount": 3, "unit": "kg"}


@pytest.mark.parametrize(
    "content",
    [b'{"data": [', b'"claims"', b"[1, 2", gzip.compress(b'[{"source": "a"}]')[:20]],
    ids=["cut off", "text", "numbers", "cut off and packed"],
)
def test_what_is_no_json_is_told(tmp_path, content):
    (tmp_path / "claims.json").write_bytes(content)
    with pytest.raises(UnreadableFile, match="an array of objects, or an object in each line"):
        vote(tmp_path / "claims.json")


@pytest.mark.parametrize("indent", [None, 2])
def test_rows_within_an_object_are_read(tmp_path, indent):
    (tmp_path / "claims.json").write_text(json.dumps({"claims": ROWS}, indent=indent))
    same_answer(vote(tmp_path / "claims.json"))
    more = {"version": 2, "claims": ROWS, "errors": []}
    (tmp_path / "more.json").write_text(json.dumps(more, indent=indent))
    columns = {part: f"claims.{part}" for part in ROWS[0]}
    assert len(vote(tmp_path / "more.json", columns=columns).truths) > 1


@pytest.mark.parametrize(
    "content", ["{}", '{"claims": [1, 2]}', '{"claims": []}', '{"claims": {}}']
)
def test_an_object_without_rows_is_told(tmp_path, content):
    (tmp_path / "claims.json").write_text(content)
    with pytest.raises(InputError):
        vote(tmp_path / "claims.json")


def test_a_mark_before_json_lines_is_no_part_of_them(tmp_path):
    lines = "\ufeff" + "\n".join(map(json.dumps, ROWS))
    (tmp_path / "claims.jsonl").write_text(lines, encoding="utf-8")
    same_answer(vote(tmp_path / "claims.jsonl"))


# --- workbooks ------------------------------------------------------------------------------------


# --- text as offices write it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Claims, exported 2026-05-01\n\nsource;entity;value\n{}",
        "# made by a program\n# version 2\nsource;entity;value\n{}",
        "Report of May;;\n;;\nsource;entity;value\n{}",
    ],
)
def test_lines_before_the_header_are_passed_over_and_told(tmp_path, text):
    rows = "\n".join(f"{row['source']};{row['entity']};{row['value']}" for row in ROWS)
    (tmp_path / "claims.csv").write_text(text.format(rows))
    result = same_answer(vote(tmp_path / "claims.csv"))
    assert "2 lines above the header skipped" in result.notes[0]


def test_a_row_too_short_is_told_by_its_line_below_a_preamble(tmp_path):
    text = "Report\nsource,entity,value\na,x,1\nb,x\nc,x,2\nd,x,2\n"
    (tmp_path / "claims.csv").write_text(text)
    with pytest.raises(InputError, match="line 4 has 2 fields, the header has 3"):
        vote(tmp_path / "claims.csv")


def test_a_header_that_lacks_a_name_is_no_preamble(tmp_path):
    (tmp_path / "claims.csv").write_text("source,entity\na,x,red\nb,x,red\nc,x,blue\n")
    with pytest.raises(InputError, match="line 2 has 3 fields, the header has 2"):
        vote(tmp_path / "claims.csv")


@pytest.mark.parametrize(
    "content",
    [
        "source,entity,value\na,Москва,да\nb,Москва,нет\n".encode("cp1251"),
        "source,entity,value\na,Zürich,café\nb,Zürich,café\n".encode() + b"c,Z\xfcrich,1\n",
        b"source,entity,value\na,x,\x81\x8d\n",
    ],
    ids=["Cyrillic", "UTF-8 with one wrong byte", "no letters"],
)
def test_no_encoding_is_guessed_where_it_would_be_wrong(tmp_path, content):
    (tmp_path / "claims.csv").write_bytes(content)
    with pytest.raises(WrongEncoding, match="name the encoding"):
        vote(tmp_path / "claims.csv")


def test_standard_input_that_is_closed_is_told(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UnreadableFile, match="standard input: it is closed"):
        veracity.discover("-")


def test_a_result_is_no_claims(tmp_path):
    vote(CLAIMS).save(tmp_path / "run")
    with pytest.raises(UnreadableFile, match="a result that veracity wrote, and no claims"):
        vote(tmp_path / "run")
    CLAIMS.write_csv(tmp_path / "claims.csv")
    same_answer(vote(tmp_path))  # what lies beside the claims is not taken for some


def test_standard_input():
    arguments = ["discover", "-", "--algorithm", "majority-vote", "--json"]
    run = CliRunner().invoke(main, arguments, input=CLAIMS.write_csv())
    assert json.loads(run.stdout)["input"]["claims"] == 6
    assert json.loads(run.stdout)["input"]["origin"] == "standard input"
    run = CliRunner().invoke(main, arguments, input="source,entity,value\na,x\n")
    assert "standard input: line 2 has 2 fields" in run.output
    assert "standard input: it is empty" in CliRunner().invoke(main, arguments, input="").output


def test_a_file_of_which_no_batch_can_be_read_is_called_damaged(tmp_path, monkeypatch):
    """Some that are damaged are such."""
    path = tmp_path / "claims.arrow"
    pl.DataFrame({"source": ["a"], "entity": ["x"], "value": ["1"]}).write_ipc(path)
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", lambda *_, **__: iter(()))
    with pytest.raises(UnreadableFile, match="damaged or cut off"):
        veracity.profile(path)


# --- types of Arrow that are not read -------------------------------------------------------------

NOT_READ = [
    pa.array([1, 2], pa.decimal256(60, 3)),
    pa.array([[1], [2]], pa.list_(pa.decimal256(50, 2))),
    pa.array([None] * 2, pa.decimal128(3, 5)),
    pa.array([0, 1], pa.timestamp("ms", "Nowhere/At_all")),
    pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
    pa.array([None] * 2, pa.struct([("a", pa.month_day_nano_interval())])),
    pa.array([[1], [2]], pa.list_view(pa.int64())),
    pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"]),
    pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
]


def _handed_over(table, form, folder):
    """A table as it is, or in a file of this form; None if it has none."""
    path = folder / ("claims.parquet" if form == "parquet" else "claims.arrow")
    if form == "table":
        return table
    if form == "parquet":
        try:
            pq.write_table(table, path)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, OSError):
            return None
        return path
    make = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with make(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("form", ["table", "file", "stream", "parquet"])
@pytest.mark.parametrize("values", NOT_READ)
def test_a_column_of_a_type_that_is_not_read_is_an_error(values, form, tmp_path):
    columns = {"source": ["a", "b"], "entity": ["x", "x"]}
    given = _handed_over(pa.table({**columns, "value": values}), form, tmp_path)
    if given is None:
        pytest.skip("Parquet has no such type")
    with pytest.raises(InputError):
        veracity.discover(given)


@pytest.mark.parametrize("form", ["table", "file", "stream", "parquet"])
def test_columns_of_one_name_are_an_error(form, tmp_path):
    columns = [["a", "b"], ["x", "x"], ["1", "2"], ["1", "3"]]
    table = pa.Table.from_arrays([*map(pa.array, columns)], ["source", "entity", "value", "value"])
    with pytest.raises(InputError):
        veracity.discover(_handed_over(table, form, tmp_path))


@pytest.mark.parametrize("form", ["file", "stream", "parquet"])
def test_an_arrow_file_that_is_cut_off_is_refused_or_read_whole(form, tmp_path):
    table = pa.table({"source": ["a", "b"], "entity": ["x", "x"], "value": ["1", "2"]})
    path = _handed_over(table, form, tmp_path)
    content = path.read_bytes()
    for place in range(8, len(content), 7):
        path.write_bytes(content[:place])
        with contextlib.suppress(InputError):
            assert len(veracity.discover(path, "majority-vote").facts) == 2
