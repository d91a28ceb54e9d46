from __future__ import annotations

import csv
import gzip
import io

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import veracity
from veracity.errors import ParameterError, RaggedRows, UnreadableFile, WrongEncoding
from veracity.io import text_files
from veracity.io.text_files import DELIMITERS, CsvReader, open_csv

HEADER = "source,entity,value\n"
ROWS = [("a", "x", "1"), ("b", "x", "2")]
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
    assert frame.rows() == ROWS


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
    assert frame.rows() == ROWS


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
