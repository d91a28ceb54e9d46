"""Write into README and docs what their code prints now: ``python tools/pages.py [PAGE ...]``.

Read the change before you commit it (``git diff``): a page must still say what its text says.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import polars as pl
from click.testing import CliRunner

from veracity.cli import main as command_line

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def refreshed(page: Path) -> str:
    """Return the text of a page with the output that its blocks have now."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    parts, end, printed = [], 0, None
    for fence in FENCE.finditer(text):
        between = text[end : fence.start()]
        parts.append(between)
        language, code = fence[1], fence[2]
        if language == "text" and printed is not None and not between.strip():
            code = "".join(f"{line}\n" for line in _like(code.splitlines(), printed.splitlines()))
        printed = None
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, str(page), "exec", dont_inherit=True), names)
            printed = out.getvalue()
        elif language == "console":
            code = _console(code)
        parts.append(f"```{language}\n{code}```")
        end = fence.end()
    return "".join([*parts, text[end:]])


def _like(shown: list[str], printed: list[str]) -> list[str]:
    """Return all printed lines; if `...` elides some, the lines most like the shown ones."""
    if "..." not in shown:
        return printed
    at, kept = 0, []
    for line in shown:
        if line == "..." or line.rstrip() in printed[at:]:
            at = at if line == "..." else printed.index(line.rstrip(), at) + 1
            kept.append(line)
            continue
        near = difflib.get_close_matches(line, printed[at:], n=1, cutoff=0.3)
        if near:
            at = printed.index(near[0], at) + 1
            kept.append(near[0])
    return kept


def _console(code: str) -> str:
    """Return a session with each shown line replaced by the line of the output most like it."""
    sessions = []
    for session in code.removeprefix("$ ").split("\n$ "):
        command, *shown = session.splitlines()
        result = CliRunner().invoke(command_line, shlex.split(command)[1:])
        lines = [line.rstrip() for line in result.output.splitlines()]
        sessions.append("\n".join([command, *_like(["...", *shown], lines)[1:]]))
    return "$ " + "\n$ ".join(sessions) + "\n"


def main(pages: list[str]) -> None:
    """Refresh the pages, each in an empty folder."""
    paths = [ROOT / page for page in pages] or sorted(
        [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    )
    for page in paths:
        with tempfile.TemporaryDirectory() as folder, pl.Config(restore_defaults=True):
            os.chdir(folder)
            try:
                text = refreshed(page)
            except Exception as error:
                print(f"{page.relative_to(ROOT)}: {type(error).__name__}: {error}")
                continue
            finally:
                os.chdir(ROOT)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: written")


if __name__ == "__main__":
    main(sys.argv[1:])
