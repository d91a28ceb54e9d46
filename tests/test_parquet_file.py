"""Parquet files that ask for more than there is are refused before a reader believes them."""

from __future__ import annotations

import contextlib
import io
import re

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.claims.read import read_claims
from veracity.errors import TooLarge, UnreadableFile
from veracity.io.parquet_file import DamagedParquet, check_parquet

N_ROWS = 7_777


def varint(number: int) -> bytes:
    """A positive number as Thrift's compact protocol writes it."""
    coded, written = number << 1, b""
    while coded > 0x7F:
        written, coded = written + bytes([coded & 0x7F | 0x80]), coded >> 7
    return written + bytes([coded])


def parts_of(content: bytes) -> tuple[bytes, bytes]:
    """The pages of a file, and its footer."""
    length = int.from_bytes(content[-8:-4], "little")
    return content[: -8 - length], content[-8 - length : -8]


def joined(pages: bytes, footer: bytes) -> bytes:
    return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.fixture(scope="module")
def sound() -> bytes:
    names = pl.Series([f"n{i % 50}" for i in range(N_ROWS)])
    target = io.BytesIO()
    pl.DataFrame({"source": names, "entity": names, "value": names}).write_parquet(target)
    return target.getvalue()


def forged(content: bytes, number: int, times: int = -1) -> bytes:
    """The file with another number wherever its footer tells how many rows there are."""
    pages, footer = parts_of(content)
    assert footer.count(varint(N_ROWS)) == 5  # of the file, of its group, of three columns
    return joined(pages, footer.replace(varint(N_ROWS), varint(number), times))


def refusal(file, content: bytes) -> str:
    """Why claims cannot be read from a file with this content."""
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"damaged or cut off \(.*\); copy or write it again"):
        read_claims(file)
    with pytest.raises(DamagedParquet) as raised:
        check_parquet(file)
    return str(raised.value)


@pytest.mark.parametrize("number", [N_ROWS + 1, 2**31, 2**61])
def test_a_footer_that_counts_other_rows_than_there_are_is_refused(sound, number, tmp_path):
    everywhere = refusal(tmp_path / "claims.parquet", forged(sound, number))
    assert everywhere == "its pages count other values than its footer"
    once = refusal(tmp_path / "claims.parquet", forged(sound, number, times=1))
    assert once == "its footer counts other rows than there are"


@pytest.mark.parametrize("number", [N_ROWS - 1, N_ROWS + 1])
def test_a_page_that_counts_other_values_than_there_are_is_refused(sound, number, tmp_path):
    # The library would ask for 2 EB, and end the process.
    pages, footer = parts_of(sound)
    pages = pages.replace(varint(N_ROWS), varint(number), 1)
    assert "pages" in refusal(tmp_path / "claims.parquet", joined(pages, footer))


def test_groups_of_rows_that_memory_cannot_hold_are_refused(sound, tmp_path, monkeypatch):
    monkeypatch.setattr("veracity.io.memory.free_memory", lambda: 8 * N_ROWS - 1)
    (tmp_path / "claims.parquet").write_bytes(sound)
    with pytest.raises(TooLarge, match=r"groups of up to 7,777 rows need about"):
        check_parquet(tmp_path / "claims.parquet")


@pytest.mark.parametrize(
    ("encoding", "n_levels", "reason"),
    [
        (1, None, "it has pages in an encoding that is not known"),
        (50, None, "it has pages in an encoding that is not known"),
        (None, 60, "it has pages that count more values than they hold"),
    ],
)
def test_a_page_that_no_reader_can_read_is_refused_and_nothing_is_printed(
    tmp_path, capfd, encoding, n_levels, reason
):
    target, rows = io.BytesIO(), pa.table(dict.fromkeys(("source", "entity", "value"), ["x"] * 99))
    pq.write_table(rows, target, data_page_version="2.0", compression="none")
    pages, footer = parts_of(target.getvalue())
    step = b"\x15"  # to the next field, which is a number: values, missing ones, rows
    counts = step + varint(99) + step + varint(0) + step + varint(99)
    head = re.search(re.escape(counts) + step + b"(.)" + step + b"(.)", pages, re.DOTALL)
    new = bytearray(pages)
    if encoding is not None:
        new[head.start(1) : head.end(1)] = varint(encoding)
    if n_levels is not None:
        new[head.start(2)] = varint(n_levels)[0]
    told = refusal(tmp_path / "claims.parquet", joined(bytes(new), footer))
    assert (told, capfd.readouterr().err) == (reason, "")


def test_columns_beyond_the_end_of_the_file_are_refused(sound, tmp_path):
    pages, footer = parts_of(sound)
    told = refusal(tmp_path / "claims.parquet", joined(pages[: len(pages) // 2], footer))
    assert told == "its footer tells of bytes that are not there"


@given(data=st.data())
def test_any_damage_is_none_or_refused_with_a_reason(sound, tmp_path_factory, data):
    at = data.draw(st.integers(0, len(sound)))
    put, skipped = data.draw(st.binary(max_size=6)), data.draw(st.integers(0, 6))
    file = tmp_path_factory.getbasetemp() / "damaged.parquet"
    file.write_bytes(sound[:at] + put + sound[at + skipped :])
    with contextlib.suppress(DamagedParquet, TooLarge):
        check_parquet(file)


def write_nested(file):
    columns = {"a": [[1], [], None], "b": [{"x": 1, "y": [1, 2]}] * 3, "c": ["x", None, "z"]}
    pq.write_table(pa.table(columns), file, row_group_size=2, data_page_version="2.0")


WRITERS = {
    "polars, nothing": lambda file: pl.DataFrame().write_parquet(file),
    "polars, no rows": lambda file: pl.DataFrame({"a": []}).write_parquet(file),
    "pyarrow, nested": write_nested,
    "pyarrow, a page of many rows": lambda file: pq.write_table(
        pa.table({"a": pa.array(["x"]).take(pa.array([0] * 10**6))}), file, max_rows_per_page=10**9
    ),
    "duckdb": lambda file: duckdb.sql("from range(10000)").write_parquet(str(file)),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_libraries_write_is_sound(write, tmp_path):
    write(tmp_path / "table.parquet")
    check_parquet(tmp_path / "table.parquet")
