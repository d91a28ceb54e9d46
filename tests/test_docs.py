"""README and docs are run as they stand.

The ``python`` blocks of a page run in order and share their names; what one prints is shown in the
``text`` block right below it, where a line ``...`` stands for any number of lines. Of ``console``
blocks every ``$ veracity ...`` must succeed, and the lines shown below it must be in its output, in
this order (lines may be left out). All of a page happens in one empty folder.
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
ALL_TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
PUBLIC = [getattr(veracity, name) for name in veracity.__all__]
PUBLIC_ALGORITHMS = [
    x for x in PUBLIC if isinstance(x, type) and issubclass(x, Algorithm) and x is not Algorithm
]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
PARAMETER_ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
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
        pattern = "".join(
            r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
            for line in block.shown.splitlines()
        )
        lines = "".join(f"{line}\n" for line in printed.getvalue().splitlines())
        assert re.fullmatch(pattern, lines), lines


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
    answers = (ROOT / "docs" / "faq.md").read_text("utf-8")
    assert re.search(rf"`veracity {command}\b", answers)


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


def page_of(algorithm: type[Algorithm]) -> str:
    """The page of the family that an algorithm belongs to; a table at its top names it."""
    row = re.compile(rf"^\| `{algorithm().name}`.* \| `{algorithm.__name__}\b.*` \| ", re.MULTILINE)
    pages = [page.read_text("utf-8") for page in (ROOT / "docs" / "algorithms").glob("*.md")]
    (page,) = (page for page in pages if row.search(page))
    return page


@pytest.mark.parametrize("algorithm", PUBLIC_ALGORITHMS, ids=lambda algorithm: algorithm().name)
def test_page_of_family_tells_the_parameters_of_an_algorithm_and_their_defaults(algorithm):
    page = page_of(algorithm).partition("| parameter | default |")[2]
    of_family = page.startswith(" of |")
    told = [
        (name, default)
        for name, default, of in PARAMETER_ROW.findall(page)
        if not of_family or of == "all" or algorithm.__name__ in of.split(", ")
    ]
    no_prior = veracity.Prior()
    assert sorted(told) == sorted(
        (field.name, "Prior()" if field.default == no_prior else repr(field.default))
        for field in fields(algorithm)
    )


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
    found = veracity.check(shared_data / data / "claims.parquet", kind=kind).findings
    for told, severity in ((serious, "serious"), (cautions, "caution")):
        names = [warning.name for warning in found if warning.severity == severity]
        assert re.findall(r"`([\w-]+)`", told) == names


def test_the_citation_names_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {veracity.__version__}\n" in citation


def test_pages_are_few_and_short():
    pages = [page.read_text("utf-8") for page in ROOT.glob("docs/**/*.md")]
    words = [word for page in pages for word in page.split() if re.search(r"\w", word)]
    assert len(pages) <= 35
    assert len(words) <= 50_000
    for name, most in (("README", 140), ("CONTRIBUTING", 120), ("CHANGELOG", 120)):
        assert len((ROOT / f"{name}.md").read_text("utf-8").splitlines()) <= most


def test_pages_show_the_tables_of_the_studies():
    renderer = runpy.run_path(str(ROOT / "docs" / "render.py"))
    for page in renderer["STUDIES_OF"]:
        assert renderer["render"](page) == (ROOT / "docs" / page).read_text(encoding="utf-8"), page
