"""Files that another program cuts short while they are read: a sentence or a note, no signal.

Who maps a file into memory is ended by the system, without a word, if it reads what is no longer
there. So the reader here is a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import polars as pl
import pytest

pytestmark = pytest.mark.slow

FORMS = ("claims.arrow", "claims.parquet", "claims.csv", "claims.csv.gz", "claims.jsonl")

BEGIN = """
import os, sys, time
from pathlib import Path
from veracity.errors import VeracityError
from veracity.io import files, formats
from veracity.claims.how import HowToRead
from veracity.claims.read import open_claims

formats.LONG_JSON = files.LONG_TEXT = 1_000  # so that small files are read as long ones are
file = Path(sys.argv[1])
"""

CUT_ONCE = """
claims = open_claims(file, HowToRead())
try:
    for number, _ in enumerate(claims.batches()):
        if number == 0:
            os.truncate(file, file.stat().st_size // int(sys.argv[2]))
    print(*claims.notes, sep="\\n")
except VeracityError as error:
    print(error)
"""

READ_ON = """
print("begun", flush=True)
end, n_read = time.monotonic() + 1.5, 0
while time.monotonic() < end:
    try:
        open_claims(file, HowToRead()).collect()
        n_read += 1
    except VeracityError:
        pass
print(n_read)
"""


def _written(file, n_rows):
    rows = pl.select(
        source=pl.format("s{}", pl.int_range(n_rows) % 20),
        entity=pl.format("e{}", pl.int_range(n_rows) // 20),
        value=(pl.int_range(n_rows) * 7919 % 13).cast(pl.String),
    )
    if file.suffix == ".arrow":
        rows.write_ipc(file, record_batch_size=1_000)
    elif file.suffix == ".parquet":
        rows.write_parquet(file, row_group_size=1_000)
    elif file.suffix == ".jsonl":
        rows.write_ndjson(file)
    else:
        rows.write_csv(file, compression="gzip" if file.suffix == ".gz" else "uncompressed")
    return file


def _reader(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + program, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("divisor", [1_000_000_000, 50])
@pytest.mark.parametrize("name", [form for form in FORMS if form != "claims.csv.gz"])
def test_a_file_that_is_cut_while_it_is_read_is_told(tmp_path, name, divisor):
    file = _written(tmp_path / name, 1_000_000)
    with _reader(CUT_ONCE, file, divisor) as process:
        printed, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert "was changed while it was read" in printed or "cut off" in printed


@pytest.mark.parametrize("name", FORMS)
def test_a_file_that_is_cut_again_and_again_never_ends_who_reads_it(tmp_path, name):
    file = _written(tmp_path / name, 20_000)
    content = file.read_bytes()
    with _reader(READ_ON, file) as process, file.open("r+b") as writing:
        assert process.stdout.readline() == "begun\n"
        while process.poll() is None:
            os.truncate(file, 4)
            time.sleep(0.0005)
            writing.seek(0)
            writing.write(content)
            writing.flush()
            time.sleep(0.005)
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "")
