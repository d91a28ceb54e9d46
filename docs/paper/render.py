"""Put the tables of the studies into ``docs/paper.md``: ``python docs/paper/render.py``.

Between ``<!-- table NAME -->`` and ``<!-- end -->`` stands the table ``NAME.csv``; between
``<!-- made NAME -->`` and ``<!-- end -->`` how the study in the folder NAME was made. A test
compares the page with what this would write.
"""

import json
import re
import sys
from pathlib import Path

import polars as pl

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "paper.md"
PLACE = re.compile(r"<!-- (table|made) (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def render(text: str) -> str:
    """The page with its tables as they are in the files."""
    return PLACE.sub(lambda place: _filled(place[1], place[2]), text)


def _filled(what: str, name: str) -> str:
    content = _made(name) if what == "made" else _table(pl.read_csv(FOLDER / f"{name}.csv"))
    return f"<!-- {what} {name} -->\n{content}\n<!-- end -->"


def _made(name: str) -> str:
    made = json.loads((FOLDER / name / "study.json").read_text(encoding="utf-8"))
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
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
