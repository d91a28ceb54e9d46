"""README and docs are run as they stand.

The ``python`` blocks of a page run in order and share their names; what one prints is shown in the
``text`` block right below it. Of ``console`` blocks every ``$ veracity ...`` must succeed, and the
lines shown below it must be in its output, in this order (lines may be left out). All of a page
happens in one empty folder.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from click.testing import CliRunner

import spark
import veracity
from veracity.algorithms import Algorithm
from veracity.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BY_HAND = [page for page in PAGES if page.parent.name != "reference"]  # that has every name anyway
ALL_TEXT = "\n".join(page.read_text(encoding="utf-8") for page in BY_HAND)
PUBLIC = [getattr(veracity, name) for name in veracity.__all__]
PUBLIC_ALGORITHMS = [
    x for x in PUBLIC if isinstance(x, type) and issubclass(x, Algorithm) and x is not Algorithm
]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
PARAMETER_ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \|", re.MULTILINE)
ON_DATA = re.compile(  # such as: on `crowd_web` (177 sources, 5 labels) it has an accuracy of 0.827
    r"[Oo]n\s+`(\w+)`(?:\s*\([^)]*\))?,?(?:\s+(?:where|with|labels|read as cat)[^.;:,]*,)?\s+"
    r"(?:it|[A-Z][\w-]*(?: [a-z]\w*)?)\s+has\s+(?:an\s+accuracy\s+of\s+)?(0\.\d{3})"
)
SMALL_DATA = ("crowd_bluebird", "crowd_rte", "crowd_s_rel", "crowd_web", "flight_raha")
ACCURACY_ROW = re.compile(r"^\| `(\w+)` \|.*\| (0\.\d{3}) \| (0\.\d{3}) \|$", re.MULTILINE)

WARNINGS_ROW = re.compile(r"^\| `(\w+)` \| ([^|]*)\| ([^|]*)\|$", re.MULTILINE)
OTHER_KIND = {"book_multi": "multiple", "crowd_n_emotion": "numeric"}


class Block(NamedTuple):
    """A fenced block, the line it starts on, and the text block right below it, if there is one."""

    language: str
    code: str
    line: int
    shown: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for fence, after in pairwise([*FENCE.finditer(text), None]):
        is_shown = after and after[1] == "text" and not text[fence.end() : after.start()].strip()
        line = text.count("\n", 0, fence.start(2))
        blocks.append(Block(fence[1], fence[2], line, after[2] if is_shown else None))
    return blocks


def run_python(page: Path, block: Block, names: dict) -> None:
    code = "\n" * block.line + block.code  # so that a traceback names the page's own line
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, str(page), "exec", dont_inherit=True), names)
    if block.shown is not None:
        assert printed.getvalue().splitlines() == block.shown.splitlines()


def run_console(block: Block) -> None:
    for session in block.code.removeprefix("$ ").split("\n$ "):
        command, *shown = session.splitlines()
        program, *arguments = shlex.split(command)
        assert program == "veracity"
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        printed = (line.rstrip() for line in result.output.splitlines())
        missing = [line for line in shown if line != "..." and line.rstrip() not in printed]
        assert not missing, f"{command} does not print {missing[0]!r}, or not here"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_does_what_it_shows(page, tmp_path, monkeypatch):
    if page.name == "spark.md":
        spark.engine()  # the session that the page uses, or a skip
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    with pl.Config(restore_defaults=True):  # a page may set how its own tables are printed
        for block in blocks_of(page):
            if block.language == "python":
                run_python(page, block, names)
            elif block.language == "console":
                run_console(block)


def places_of(page: Path) -> set[str]:
    """What the headings of a page are linked by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_page_lead_to_files(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        name, _, place = link.partition("#")
        target = page.parent / name if name else page
        assert target.is_file(), link
        assert not place or place in places_of(target), link


@pytest.mark.parametrize("name", veracity.__all__)
def test_every_public_name_is_documented(name):
    assert re.search(rf"(?<!\w){name}(?!\w)", ALL_TEXT)


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_documented(command):
    assert f"$ veracity {command} " in ALL_TEXT


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "index.md"], ids=lambda page: page.name)
def test_the_first_page_opens_with_a_picture_five_lines_and_two_commands(page):
    python, shown, *commands = blocks_of(page)[:4]
    text = page.read_text(encoding="utf-8")
    assert text.index("![") < text.index("```")
    assert (python.language, shown.language) == ("python", "text")
    assert len(python.code.split("\n\n")[1].splitlines()) + 1 == 5
    made = "".join(block.code for block in commands)
    assert re.findall(r"^make (\w+)", made, re.MULTILINE) == ["demo", "test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_no_folder_that_outsiders_lack(page):
    assert "shared/" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("algorithm", PUBLIC_ALGORITHMS, ids=lambda algorithm: algorithm().name)
def test_page_of_algorithm_tells_its_parameters_and_their_defaults(algorithm):
    page = ROOT / "docs" / "algorithms" / f"{algorithm().name}.md"
    told = dict(PARAMETER_ROW.findall(page.read_text(encoding="utf-8")))
    no_prior = veracity.Prior()
    assert told == {
        field.name: "Prior()" if field.default == no_prior else repr(field.default)
        for field in fields(algorithm)
    }


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("data", "vote", "default"), ACCURACY_ROW.findall(README.read_text("utf-8"))
)
def test_readme_tells_the_accuracy_on_real_claims(data, vote, default, shared_data):
    folder = shared_data / data
    for told, algorithm in ((vote, "majority-vote"), (default, None)):
        result = veracity.discover(folder / "claims.parquet", algorithm)
        assert told == f"{veracity.evaluate(result, folder / 'truth.parquet').accuracy:.3f}"


def warnings_on_page() -> list[tuple[str, str, str]]:
    """What the page on checking says of real claims, except the largest set."""
    page = (ROOT / "docs" / "checking.md").read_text("utf-8")
    rows = WARNINGS_ROW.findall(page[page.index("## On real claims") :])
    assert len(rows) > 9
    return [row for row in rows if row[0] != "flight_raw"]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("data", "serious", "cautions"), warnings_on_page())
def test_page_tells_what_is_said_of_real_claims(data, serious, cautions, shared_data):
    kind = OTHER_KIND.get(data)
    found = veracity.check(shared_data / data / "claims.parquet", kind=kind).warnings
    for told, severity in ((serious, "serious"), (cautions, "caution")):
        names = [warning.name for warning in found if warning.severity == severity]
        assert re.findall(r"`([\w-]+)`", told) == names


def accuracies_on_pages() -> list[tuple[str, str, str]]:
    """What the pages of algorithms say that these have, with default parameters."""
    return [
        (page.stem, data, accuracy)
        for page in sorted((ROOT / "docs" / "algorithms").glob("*.md"))
        for data, accuracy in ON_DATA.findall(page.read_text("utf-8"))
        if data in SMALL_DATA and page.stem != "veracity"  # whose tables are compared elsewhere
    ]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize(("algorithm", "data", "told"), accuracies_on_pages())
def test_page_of_algorithm_tells_its_accuracy_on_real_claims(algorithm, data, told, shared_data):
    result = veracity.discover(shared_data / data / "claims.parquet", algorithm)
    found = veracity.evaluate(result, shared_data / data / "truth.parquet").accuracy
    assert told == f"{found:.3f}"


def test_pages_show_the_tables_of_the_studies():
    renderer = runpy.run_path(str(ROOT / "docs" / "render.py"))
    for page in renderer["STUDIES_OF"]:
        assert renderer["render"](page) == (ROOT / "docs" / page).read_text(encoding="utf-8"), page
