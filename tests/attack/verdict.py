"""Say what is wrong with the outcome of a command: each wrong is a sentence."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import polars as pl

from attack.case import Outcome

LONGEST_MESSAGE = 2_000
MOST_TEXT = 100_000
"""Characters on standard output, where nobody asked for JSON."""

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
WARNINGS = ("Warning: ", "panicked at", "Exception ignored in")
MARK = "xqz7"
"""A name that payloads use: where it is a tag, an attribute or a script, it got out of its text."""


def wrongs(outcome: Outcome, folder: Path) -> Iterator[str]:
    """Yield all that is wrong with a command's exit, words and files."""
    yield from _of_the_exit(outcome)
    yield from _of_the_words(outcome)
    yield from _of_what_stays(outcome)
    if outcome.code == 0:
        yield from _of_the_output(outcome, folder)


def _of_the_exit(outcome: Outcome) -> Iterator[str]:
    if outcome.code is None:
        yield f"hangs: {outcome.command[0]}"
    elif outcome.code not in (0, 1, 2):
        yield f"aborts: {outcome.command[0]} ends with exit code {outcome.code}"
    elif outcome.code and not outcome.stderr.strip():
        yield f"fails without a word: {outcome.command[0]}"


def _of_the_words(outcome: Outcome) -> Iterator[str]:
    said, printed = (text.decode(errors="replace") for text in (outcome.stderr, outcome.stdout))
    name = outcome.command[0] if outcome.command else ""
    if "this is a bug in veracity" in said:
        yield said[said.index("this is a bug") :].split("; please report")[0]
    if "Traceback (most recent call last)" in said:
        last = [line for line in said.splitlines() if line.strip()][-1]
        yield f"traceback: {last}"
    if warned := [line for line in said.splitlines() if any(w in line for w in WARNINGS)]:
        yield f"warning: {warned[0][:300].rpartition('.py:')[2]}"
    elif outcome.code == 0 and said.strip():
        yield f"words on standard error: {said.strip()}"
    if len(said) > LONGEST_MESSAGE:
        yield f"message of more than {LONGEST_MESSAGE} characters: {name}: {said[:150]}"
    is_json = "--json" in outcome.command
    if len(printed) > MOST_TEXT and not is_json:
        yield f"more than {MOST_TEXT} characters on standard output: {name}"
    if RAW.search(said) or RAW.search(printed):
        where = "an error" if RAW.search(said) else "the output"
        yield f"raw control characters in {where}: {name}"
    if is_json and outcome.code == 0:
        yield from _of_json(printed, name)


def _of_json(printed: str, name: str) -> Iterator[str]:
    constants: list[str] = []
    try:
        json.loads(printed, parse_constant=constants.append)
    except ValueError:
        yield f"no JSON: {name}"
    if constants:
        yield f"{constants[0]} in JSON: {name}"


def _of_what_stays(outcome: Outcome) -> Iterator[str]:
    name = outcome.command[0] if outcome.command else ""
    new = outcome.after - outcome.before
    left = {path for path in new if ".veracity-" in path} | outcome.temporary
    if left:
        kind = re.sub(r"[-_.][a-z0-9_]{8}\b", "-*", min(left))
        yield f"leftover of {name}: {kind}"
    new -= {path for path in new if path.endswith(("-wal", "-shm"))}  # SQLite's own, which stay
    if outcome.code and name != "study" and new - left:
        yield f"half-written: {name} fails and leaves {min(new - left, key=len)!r}"
    if outcome.before - outcome.after:
        yield f"lost: {name} removes {min(outcome.before - outcome.after)!r}"


def _of_the_output(outcome: Outcome, folder: Path) -> Iterator[str]:
    for name in sorted(outcome.after - outcome.before):
        path = folder / name
        if not path.is_file():  # a run may be called page.html
            continue
        if ".veracity-" not in name and not is_whole(path):
            yield f"half-written: {name!r} is cut short"
            continue
        if path.suffix == ".parquet":
            yield from _of_a_table(path)
        elif path.suffix == ".svg" and outcome.command[0] == "plot":
            yield from _of_a_figure(path)
        elif path.suffix == ".html":
            yield from _of_a_page(path)
        elif path.name == "run.json":
            yield from _of_a_run(path)


def is_whole(path: Path) -> bool:
    """Return True if a file ends as files of its kind do."""
    content = path.read_bytes()
    suffix = path.suffix
    if content.startswith(b"SQLite format 3") or content[8:12] == b"DUCK":
        suffix = ".duckdb" if content[8:12] == b"DUCK" else ".db"  # whatever it is called
    ends = {".html": b"</html>", ".svg": b"</svg>", ".pdf": b"%%EOF", ".csv": b"\n", ".tsv": b"\n"}
    if suffix in ends:
        return content.rstrip(b" \r\n" if suffix in (".html", ".svg", ".pdf") else b"").endswith(
            ends[suffix]
        )
    try:
        return _can_be_read(path, suffix, content)
    except (ValueError, OSError, zipfile.BadZipFile, sqlite3.Error, pl.exceptions.PolarsError):
        return False


def _can_be_read(path: Path, suffix: str, content: bytes) -> bool:
    match suffix:
        case ".png":
            return content[-8:-4] == b"IEND"
        case ".json":
            json.loads(content)
        case ".jsonl":
            return content[-1:] in (b"", b"\n") and all(map(json.loads, content.splitlines()))
        case ".parquet":
            pl.read_parquet(path, glob=False)
        case ".xlsx" | ".npz":
            return zipfile.ZipFile(path).testzip() is None
        case ".db":
            with contextlib.closing(sqlite3.connect(path)) as database:
                return database.execute("pragma integrity_check").fetchall() == [("ok",)]
    return True


NAMES = ("source", "original", "entity", "attribute", "fact")
"""Columns that name something, as the claims do: somebody may be called NaN."""

VALUES = ("value", "runner_up", "label")
"""What claims say; if they are no numbers to be averaged, infinity is a value like others."""

INTERNAL = ("blocks.parquet", "source_features.parquet", "item_features.parquet")
"""What users do not read: there NaN may stand for what is not known."""


def _of_a_table(path: Path) -> Iterator[str]:
    if path.name in INTERNAL:
        return
    table = pl.read_parquet(path, glob=False)
    beside = path.with_name("run.json")
    is_numeric = beside.is_file() and json.loads(beside.read_bytes())["kind"] == "numeric"
    for column in table.iter_columns():
        if column.name in NAMES or (column.name in VALUES and not is_numeric):
            continue
        if column.dtype.is_float() and not column.drop_nulls().is_finite().all():
            yield f"NaN or infinity in {path.name}: {column.name}"


def _of_a_run(path: Path) -> Iterator[str]:
    constants: list[str] = []
    told = json.loads(path.read_text(encoding="utf-8"), parse_constant=constants.append)
    if constants:
        yield f"{constants[0]} in run.json"
    missing = [name for name in told["files"] if not (path.parent / name).is_file()]
    if missing:
        yield f"half-written: a run without {missing[0]}"


def _of_a_figure(path: Path) -> Iterator[str]:
    try:
        ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        yield f"a figure that is no XML: {error}"


class _Page(HTMLParser):
    """Collects what a page has of tags, handlers and scripts that payloads brought in."""

    def __init__(self) -> None:
        super().__init__()
        self.injected: list[str] = []
        self._is_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_script = tag == "script"
        if MARK in tag:
            self.injected.append("tag")
        for name, value in attrs:
            if name.startswith("on") or MARK in name:
                self.injected.append(f"attribute of {tag}")
            if name in ("href", "src") and (value or "").strip().lower().startswith("javascript:"):
                self.injected.append(f"address of {tag}")

    def handle_data(self, data: str) -> None:
        if self._is_script and data.strip().startswith(MARK):
            self.injected.append("script")

    def handle_endtag(self, tag: str) -> None:
        self._is_script = False


def _of_a_page(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    for kind in sorted(set(page.injected)):
        yield f"markup got into {path.suffix[1:]}: {kind}"
    for drawing in re.findall(r"<svg\b.*?</svg>", text, re.DOTALL):
        try:
            ElementTree.fromstring(drawing)
        except ElementTree.ParseError:
            yield "a page with a drawing that is no XML"
            return
