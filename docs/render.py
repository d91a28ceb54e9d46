"""Put the figures of the studies into the pages that tell of them: ``python docs/render.py``.

Between ``<!-- table NAME -->`` and ``<!-- end -->`` stands the table ``NAME.csv``; between
``<!-- made NAME -->`` and ``<!-- end -->`` how the study in the folder NAME was made. A figure in
the middle of a sentence follows ``<!-- NAME | ROW | COLUMN -->``: the cell of ``NAME.csv`` in the
row that begins with ROW. Names are looked for in the page's folder of studies. A test compares the
pages with what this would write.
"""

import json
import re
import sys
from pathlib import Path

import polars as pl

DOCS = Path(__file__).parent
STUDIES_OF = {
    "paper.md": "paper",
    "asking.md": "studies",
    "algorithms/veracity.md": "studies",
    "choosing.md": "studies",
    "known-truths.md": "studies",
    "normalising.md": "studies",
    "../README.md": "studies",
}
"""The folder with the studies that a page tells of."""

PLACE = re.compile(r"<!-- (table|made) (\S+) -->\n.*?<!-- end -->", re.DOTALL)
FIGURE = re.compile(r"<!-- (\S+) \| ([^|]+) \| ([^|]+?) -->[0-9.-]+")


def render(page: str) -> str:
    """A page with its tables as they are in the files."""
    folder = DOCS / STUDIES_OF[page]
    text = (DOCS / page).read_text(encoding="utf-8")
    text = PLACE.sub(lambda place: _filled(folder, place[1], place[2]), text)
    return FIGURE.sub(lambda place: _figure(folder, place), text)


def _figure(folder: Path, place: re.Match[str]) -> str:
    name, row, column = place.groups()
    table = pl.read_csv(folder / f"{name}.csv")
    cell = table.filter(pl.nth(0) == row)[column].item()
    return f"<!-- {name} | {row} | {column} -->{_cell(cell)}"


def _filled(folder: Path, what: str, name: str) -> str:
    file = folder / f"{name}.csv"
    content = _made(folder, name) if what == "made" else _table(pl.read_csv(file))
    return f"<!-- {what} {name} -->\n{content}\n<!-- end -->"


def _made(folder: Path, name: str) -> str:
    made = json.loads((folder / name / "study.json").read_text(encoding="utf-8"))
    day = made["started"][:10]
    return f"Made on {day} by veracity {made['veracity']}, seed {made['settings']['seed']}, with"


def _table(table: pl.DataFrame) -> str:
    head = " | ".join(name.replace("_", " ") for name in table.columns)
    line = "|".join("---:" if dtype.is_numeric() else "---" for dtype in table.dtypes)
    rows = (" | ".join(_cell(cell) for cell in row) for row in table.iter_rows())
    return "\n".join([f"| {head} |", f"|{line}|", *(f"| {row} |" for row in rows)])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    for page in STUDIES_OF:
        (DOCS / page).write_text(render(page), encoding="utf-8")
    sys.exit(0)
