"""Files and folders of results appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from veracity.errors import OutputError, first_line

__all__ = ["check_target", "finished_file", "finished_folder", "writing"]

USUAL_FILES = frozenset(
    f"{name}.parquet"
    for name in (
        *("truths", "facts", "sources", "copies", "changes", "claims", "truth", "copied"),
        *("weights", "grounds", "bearings", "confusions"),
    )
)
"""What a folder may have whose marker does not tell its files: earlier versions did not."""

PAGE_MARK = b'<meta name="generator" content="veracity'
"""By this, near its beginning, veracity knows a page of its own."""


def check_target(target: Path, *, force: bool, marker: str) -> None:
    """Refuse to write where that will fail, or where something is that must not be lost.

    Even with `force`, only an empty folder is replaced, or one with nothing in it that veracity
    did not write. `marker` is the JSON file by which veracity knows its own folder, and which tells
    the names of the files in it.
    """
    with writing(target):
        os.fspath(target).encode()
        if target.exists() or target.is_symlink():
            _check_existing(target, force=force, marker=marker)
            return
        parent = next(folder for folder in target.absolute().parents if folder.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise OutputError(f"cannot write {target}: {parent} is no folder one may write to")


def _check_existing(target: Path, *, force: bool, marker: str) -> None:
    if not force:
        raise OutputError(f"{target} exists; choose another name, or --force to replace it")
    if not target.is_dir():
        raise OutputError(f"{target} exists and is no folder; choose another name")
    content = list(target.iterdir())
    if not content:
        return
    ours = _our_files(target / marker)
    if ours is None:
        raise OutputError(f"{target} was not written by veracity and stays; choose another name")
    strange = [path.name for path in content if path.name not in ours and not _is_our_page(path)]
    if strange:
        raise OutputError(
            f"{target} stays, since veracity did not write {min(strange)!r} in it; "
            "move that file, or choose another name"
        )


def _is_our_page(path: Path) -> bool:
    if path.suffix != ".html" or not path.is_file():
        return False
    with path.open("rb") as page:
        return PAGE_MARK in page.read(1000)


def _our_files(marker: Path) -> set[str] | None:
    """The names of the files that were written beside the marker; None if it is not ours."""
    try:
        told = json.loads(marker.read_text(encoding="utf-8"))
        if "veracity" not in told:
            return None
        files = told.get("files", USUAL_FILES)
        return {marker.name, *(name for name in files if isinstance(name, str))}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


@contextlib.contextmanager
def finished_file(target: Path) -> Iterator[Path]:
    """Give a file to write to, which takes its place only when all of it is written."""
    with writing(target), tempfile.TemporaryDirectory(dir=target.parent, prefix=".veracity-") as d:
        unfinished = Path(d) / target.name
        yield unfinished
        unfinished.replace(target)


@contextlib.contextmanager
def finished_folder(target: Path) -> Iterator[Path]:
    """Give a folder to write to, which takes its name only when all in it is written.

    A folder of that name is replaced if it is there from the beginning, but not if it appears
    while we write: it is somebody else's.
    """
    with writing(target), _new_parents(target):
        is_replaced = target.exists()
        beside = Path(tempfile.mkdtemp(prefix=".veracity-", dir=target.parent))
        try:
            (beside / "new").mkdir()
            yield beside / "new"
            with _set_aside(target, beside / "old") if is_replaced else contextlib.nullcontext():
                (beside / "new").rename(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


@contextlib.contextmanager
def _set_aside(target: Path, old: Path) -> Iterator[None]:
    """Make room for a new target, and put the old one back if none comes."""
    try:
        target.rename(old)
        yield
    finally:
        if old.exists() and not target.exists():
            old.rename(target)


@contextlib.contextmanager
def _new_parents(target: Path) -> Iterator[None]:
    """The folders above the target, which go again if nothing comes to stand in them."""
    missing = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """What goes wrong while writing is told as an `OutputError`."""
    try:
        yield
    except (OSError, UnicodeEncodeError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise OutputError(f"cannot write {str(target)!r}: {reason}; nothing was written") from error
