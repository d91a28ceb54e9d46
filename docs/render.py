"""Put the figures of the studies into the pages that tell of them: ``python docs/render.py``.

``python docs/render.py --data FOLDER [STUDY ...]`` first carries out the studies in `MADE_BY`, or
those that are named, on the data sets in FOLDER, and keeps the tables that pages show.

Between ``<!-- table NAME -->`` and ``<!-- end -->`` stands the table ``NAME.csv``, or those of its
rows that have one of some words in a cell, ``<!-- table NAME : WORD WORD -->``; between
``<!-- made NAME -->`` and ``<!-- end -->`` how the study in the folder NAME was made. A figure in
a sentence or a table follows ``<!-- NAME : ROW : COLUMN -->``: the cell of ``NAME.csv`` in the row
that begins with ROW. Names are looked for in the page's folder of studies. A test compares the
pages with what this would write.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

DOCS = Path(__file__).parent
STUDIES_OF = {
    "paper.md": "paper",
    **{f"algorithms/{page.name}": "studies" for page in sorted(DOCS.glob("algorithms/*.md"))},
    "choosing.md": "studies",
    "explaining.md": "studies",
    "known-truths.md": "studies",
    "normalising.md": "studies",
}
"""The folder with the studies that a page tells of."""

CROWDS = "crowd_bluebird crowd_rte crowd_web crowd_s_rel crowd_millionaire"
MADE_BY = {
    "league": f"league.py {CROWDS} flight_raha weather_raw",
    "known": "league.py flight_raha weather_raw crowd_web crowd_bluebird --set known=20",
    "normalised": "league.py flight_raw flight_raw+normalised flight_raha flight_raha+normalised "
    "book_raw book_raw+normalised weather_raw weather_raw+normalised "
    "--set algorithms=majority-vote,veracity,ltd-rbm,ltd-rbm-c,mle,ltm,two-estimates",
    "intervals": f"intervals.py {CROWDS} flight_raha weather_raw --set synthetic=100",
    "numbers": "numeric.py weather_raw crowd_n_emotion --set draws=200",
}
"""Script in benchmarks/studies, data sets and settings that make a folder in ``docs/studies``."""

SOME_TASKS = 4
"""Number of tasks in ``sample.csv``, which a test repeats."""

MOST_SECONDS = 5.0
"""Maximum seconds of these tasks, if others take less."""

PLACE = re.compile(r"<!-- (table|made) (\S+)(?: : ([^>]+?))? -->\n.*?<!-- end -->", re.DOTALL)
FIGURE = re.compile(r"<!-- (\S+) : (.+?) : (.+?) -->-?[0-9]+(?:\.[0-9]+)?")


def render(page: str) -> str:
    """A page with its tables as they are in the files."""
    folder = DOCS / STUDIES_OF[page]
    text = (DOCS / page).read_text(encoding="utf-8")
    text = PLACE.sub(lambda place: _filled(folder, *place.groups()), text)
    return FIGURE.sub(lambda place: _figure(folder, place), text)


def _figure(folder: Path, place: re.Match[str]) -> str:
    name, row, column = place.groups()
    table = pl.read_csv(folder / f"{name}.csv")
    cell = table.filter(pl.nth(0) == row)[column].item()
    return f"<!-- {name} : {row} : {column} -->{_cell(cell)}"


def _filled(folder: Path, what: str, name: str, rows: str | None) -> str:
    if what == "made":
        content = _made(folder, name)
    else:
        table = pl.read_csv(folder / f"{name}.csv")
        if rows:
            table = table.filter(pl.any_horizontal(pl.col(pl.String).is_in(rows.split())))
        content = _table(table)
    selection = f" : {rows}" if rows else ""
    return f"<!-- {what} {name}{selection} -->\n{content}\n<!-- end -->"


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


def make(name: str, data: Path) -> None:
    """Carry out a study, and keep what pages show of it, and tests compare."""
    folder = DOCS / "studies" / name
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / name
        script, *words = shlex.split(MADE_BY[name])
        command = [sys.executable, DOCS.parent / "benchmarks" / "studies" / script, *words]
        subprocess.run([*command, "--out", str(made)], cwd=data, check=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in ("study.json", *sorted(_shown(name))):
            shutil.copy(made / file, folder / file)
        rows = pl.read_parquet(made / "rows.parquet")
        if "seconds" in rows.columns:
            sample(rows).write_csv(folder / "sample.csv", float_precision=6)


def sample(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a few tasks: neither the smallest nor those that take long."""
    seconds = rows.group_by("task", maintain_order=True).agg(pl.col("seconds").sum())
    timed = seconds.filter(pl.col("seconds") > 0.0).sort("seconds", maintain_order=True)
    short = timed.filter(pl.col("seconds") <= MOST_SECONDS)
    timed = short if len(short) else timed
    some = timed.slice(len(timed) // 4, SOME_TASKS)["task"]
    chosen = rows.filter(pl.col("task").is_in(some.implode()))
    measure = next(name for name in ("error", "held", "accuracy") if name in rows.columns)
    return chosen.select(pl.col("^(task|algorithm|variant)$"), measure)


def _shown(name: str) -> Iterable[str]:
    """The tables of a study that pages show."""
    for page, studies in STUDIES_OF.items():
        if studies == "studies":
            text = (DOCS / page).read_text(encoding="utf-8")
            yield from (f"{table}.csv" for table in re.findall(rf"<!-- .*?\b{name}/(\w+)", text))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="carry out studies first, on data sets in here")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(MADE_BY)}")
    given = parser.parse_args()
    for study in (given.studies or MADE_BY) if given.data else ():
        make(study, given.data)
    for page in STUDIES_OF:
        (DOCS / page).write_text(render(page), encoding="utf-8")
