"""Files as offices and programs write them: formats, encodings, lines above the header."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import veracity
from veracity.cli import main
from veracity.errors import (
    InputError,
    ParameterError,
    RaggedRows,
    UnreadableFile,
    WrongEncoding,
)
from veracity.io import text_files
from veracity.io.text_files import DELIMITERS, CsvReader, open_csv

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


# --- CSV ------------------------------------------------------------------------------------------

HEADER = "source,entity,value\n"
PLAIN_ROWS = [("a", "x", "1"), ("b", "x", "2")]
PLAIN = HEADER + "a,x,1\nb,x,2\n"


def packed(content):
    """The same bytes at every time of day: they are names of tests, which processes compare."""
    return gzip.compress(content, mtime=0)


@pytest.fixture(params=["at once", "in batches", "in batches as if it were large"])
def read(request, tmp_path, monkeypatch):
    """Write a text or bytes to a file, and read it as CSV; in batches where that is possible."""

    def write_and_read(content, encoding="utf-8"):
        path = tmp_path / "claims.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if request.param != "at once":
            monkeypatch.setattr(text_files, "LONG_TEXT", -1)
        if request.param == "in batches as if it were large":
            monkeypatch.setattr(text_files, "LARGE_TEXT", -1)
        reader = open_csv(path, encoding, [])
        return pl.concat(list(reader.batches(reader.names)))

    return write_and_read


NOT_LARGE = ["at once", "in batches"]
"""How files are read that only Python can read: no large ones."""


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_delimiter_line_end_packing_and_mark_are_recognised(
    read, delimiter, line_end, is_packed, codec
):
    text = PLAIN.replace(",", delimiter).replace("\n", line_end).encode(codec)
    frame = read(packed(text) if is_packed else text)
    assert frame.columns == ["source", "entity", "value"]
    assert frame.rows() == PLAIN_ROWS


@pytest.mark.parametrize("read", NOT_LARGE, indirect=True)
@pytest.mark.parametrize(
    "text",
    [
        PLAIN.rstrip("\n"),
        "\n\n" + PLAIN,
        "\r\n" + PLAIN,
        PLAIN + "\n\n",
        PLAIN.replace("\na", "\n\n\na"),
        PLAIN.replace("\n", "\r\n").replace("\na", "\n\r\na"),
        PLAIN + ",,\n",
        '"source","entity","value"\n"a","x","1"\n"b","x","2"\n',
        '\ufeff"source","entity","value"\na,x,1\nb,x,2\n',
        " source , entity ,value\t\na,x,1\nb,x,2\n",
        HEADER + "a,x,1\rb,x,2\n",
    ],
)
def test_unusual_ways_to_write_the_same_rows_are_read_the_same(read, text):
    frame = read(text)
    assert frame.columns == ["source", "entity", "value"]
    assert frame.rows() == PLAIN_ROWS


def test_a_trailing_delimiter_in_every_line_is_a_column_without_a_name(read):
    frame = read("source,entity,value,\na,x,1,\n")
    assert frame.select("source", "entity", "value").rows() == [("a", "x", "1")]


@pytest.mark.parametrize("word", ["NA", "null", "None", "NaN", "-", "007", "1.0", " ", "\t"])
def test_words_are_words(read, word):
    assert read(HEADER + f"a,x,{word}\n")["value"].to_list() == [word]


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]), min_size=1)] * 3),
        min_size=1,
        max_size=4,
    )
)
@example(
    [("a,b", 'say "hi"', "two\nlines"), ("😀", "nul\0nul", "back\\slash"), (" ", "\r\n", "\r")]
)
def test_any_names_survive_a_round_through_csv(tmp_path_factory, rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("source", "entity", "value"), *rows])
    path = tmp_path_factory.mktemp("round") / "claims.csv"
    path.write_bytes(text.getvalue().encode())
    batches = open_csv(path, "utf-8", []).batches(("source", "entity", "value"))
    assert pl.concat(list(batches)).rows() == rows


def test_a_field_longer_than_python_reads_by_default_is_read(read):
    long = "x" * 200_000
    assert read(HEADER + f"a,{long},\nb,y,1\n")["entity"].to_list() == [long, "y"]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("a,x,1\nb,x,2,3\n", "line 3 has 4 fields, the header has 3"),
        ("a,x,1\nb,x\n", "line 3 has 2 fields, the header has 3"),
        ('a,"x\ny",1\n\nb,x\n', "line 5 has 2 fields, the header has 3"),
        ("a,x,1\r\nb\r\n", "line 3 has 1 fields, the header has 3"),
        ("a,x,1,\n", "line 2 has 4 fields, the header has 3"),
        ("a,x\nb,x,1,2\n", "line 2 has 2 fields, the header has 3"),
    ],
)
def test_a_row_too_long_or_too_short_is_named_by_its_line(read, rows, complaint):
    with pytest.raises(RaggedRows, match=complaint):
        read(HEADER + rows)


@pytest.mark.parametrize(
    "rows",
    [
        'a,x,"1\nb,x,2\n',
        'a,"x,1\nb,x,2\n',
        'a,x,"foo\nb,y,1\nc,z,"bar\n',
        'a,"x"y,1\n"b,x,2\n',
    ],
)
def test_a_quote_that_is_not_closed_is_named_by_the_line_it_opens_on(read, rows):
    with pytest.raises(UnreadableFile, match=r"begins on line 2 .* a quote may be missing"):
        read(HEADER + rows)


@pytest.mark.parametrize("content", ["", "\n\n", "  \n\t\n", b"\xef\xbb\xbf", packed(b"")])
def test_a_file_with_nothing_in_it_is_empty(read, content):
    with pytest.raises(UnreadableFile, match="the file is empty"):
        read(content)


@pytest.mark.parametrize(
    ("content", "encoding", "complaint"),
    [
        ((HEADER + "a,x,да\n").encode("cp1251"), "utf-8", "line 2: byte 0xe4 .*--encoding cp1250"),
        ("да,entity,value\n".encode("cp1251"), "utf-8", "line 1: byte 0xe4 .*--encoding cp1250"),
        ((HEADER + "a,x,é\n").encode(), "ascii", "line 2: byte 0xc3 .*--encoding utf-8"),
        (PLAIN.encode("utf-16")[:-1], "utf-8", "line 3: byte 0x0a is no utf-16 text"),
        (PLAIN.encode("utf-16-le"), "utf-8", "byte 0x00 .*--encoding utf-16-le"),
        (PLAIN.encode("utf-16-le"), "utf-16", "no utf-16 text .*BOM"),
        (b"a,\n" + bytes(1) + b"\x00\xdc" * 2, "utf-16", "line 1: byte 0x00 is no utf-16 text"),
        (packed((HEADER + "a,x,да\n").encode("cp1251")), "utf-8", "line 2: byte 0xe4"),
    ],
)
def test_a_wrong_encoding_is_named_by_line_byte_and_option(read, content, encoding, complaint):
    with pytest.raises(WrongEncoding, match=complaint):
        read(content, encoding)


@pytest.mark.parametrize("encoding", ["klingon", "", "base64", "rot13", "nul\0"])
def test_an_encoding_that_does_not_exist_is_refused(read, encoding):
    with pytest.raises(ParameterError, match="there is no encoding"):
        read(PLAIN, encoding)


def damaged_gzip():
    content = packed("".join(f"{i * 7919 % 10007},x,{i}\n" for i in range(9999)).encode())
    return {
        "cut in half": content[: len(content) // 2],
        "cut in the header": content[:5],
        "wrong checksum": content[:-8] + b"checksum",
    }


@pytest.mark.parametrize(("damage", "content"), damaged_gzip().items())
def test_a_damaged_gzip_file_is_called_so(read, damage, content):
    with pytest.raises(UnreadableFile, match="damaged or cut off"):
        read(content)


def test_long_text_is_read_while_it_is_encoded_and_gives_the_same(tmp_path, flights, monkeypatch):
    path = tmp_path / "claims.csv"
    flights.claims.with_columns(pl.col("value") + " é").write_csv(path)
    at_once = veracity.discover(path)
    monkeypatch.setattr(text_files, "LONG_TEXT", 0)
    reader = open_csv(path, "utf-8", [])
    assert isinstance(reader, CsvReader)
    assert len(reader.head(10)) == 10
    in_portions = veracity.discover(path)
    assert_frame_equal(in_portions.facts, at_once.facts)
    assert in_portions.run.input == at_once.run.input
    assert in_portions.notes == at_once.notes


@pytest.mark.parametrize("line", ["a,x", "a,x,1,2"])
def test_a_row_that_is_wrong_is_named_also_far_down_in_long_text(tmp_path, monkeypatch, line):
    path = tmp_path / "claims.csv"
    path.write_text(HEADER + "a,x,1\n" * 200_000 + f"{line}\n" + "b,x,2\n" * 99)
    monkeypatch.setattr(text_files, "LONG_TEXT", 0)
    with pytest.raises(RaggedRows, match="line 200002 has"):
        veracity.discover(path, "majority-vote")


@pytest.mark.parametrize(
    ("head", "name"),
    [(b"PK\x03\x04", "zip or Excel"), (b"BZh9", "bzip2"), (b"\x28\xb5\x2f\xfd", "zstd")],
)
def test_a_packed_file_is_to_be_unpacked_first(read, head, name):
    with pytest.raises(UnreadableFile, match=f"this is a {name} file; unpack it"):
        read(head + b"\0\0\0\0\0\0\0\0")
