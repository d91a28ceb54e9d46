"""Defects that were found once, and that no other test would notice if they came back."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pandas as pd  # noqa: TID251 - a user of it
import pyarrow as pa
import pytest
import xlsxwriter

import veracity

ROWS = {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "1", "2"]}


@pytest.mark.parametrize("algorithm", [None, "ltd-rbm", "dawid-skene"])
def test_a_result_can_be_pickled(algorithm):
    result = veracity.discover(ROWS, algorithm)
    again = pickle.loads(pickle.dumps(result))
    assert again.truths.equals(result.truths)
    assert again.fitted.judge(ROWS).facts.equals(result.fitted.judge(ROWS).facts)


def test_columns_of_pandas_that_are_views_of_text_are_read():
    views = pd.array(["1", "2"], dtype=pd.ArrowDtype(pa.string_view()))
    claims = pd.DataFrame({"source": ["a", "b"], "entity": ["x", "y"], "value": views})
    assert list(veracity.discover(claims, "majority-vote").truths["value"]) == ["1", "2"]


@pytest.mark.parametrize("cell", ["XFD4", "A1048576", "XFD1048576"])
def test_a_cell_far_from_the_table_of_a_workbook_does_not_end_the_process(cell, tmp_path):
    path = tmp_path / "claims.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate([ROWS, *zip(*ROWS.values(), strict=True)]):
            sheet.write_row(number, 0, list(row))
        sheet.write(cell, "stray")
    code = f"""if True:
        import veracity
        try:
            print("items:", len(veracity.discover({str(path)!r}).truths))
        except veracity.errors.TooLarge as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    is_far = cell == "XFD1048576"
    assert ("remove what stands far from the table" if is_far else "items: 1") in done.stdout
