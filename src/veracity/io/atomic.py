"""Write files and folders of results whole or not at all.

They are written in a temporary folder next to their place, and then renamed. An old folder is set
aside in between; if the process is killed just then, `recover` puts it back.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from veracity.errors import OutputError, first_line
from veracity.io.temp_files import MARKER, OwnedFolder, lock_folder, remove_leftovers

PAGE_MARK = b'<meta name="generator" content="veracity'
"""Mark near the beginning of every page that veracity writes."""

PREFIX = ".veracity-"
"""Prefix of the names of temporary folders."""

HOW_TO_REPLACE = "choose another name, or replace it with force=True, or --force"

NEW, OLD, NAME = "new", "old", "name"
"""Entries of a temporary folder: the new content, the old content, and the final name of both."""


# --- before the work ------------------------------------------------------------------------------


def check_can_write(target: Path, *, force: bool, marker: str) -> None:
    """Raise an error if a folder cannot be written, or would replace files that must not be lost.

    Even with `force`, only an empty folder is replaced, or one with nothing in it that veracity
    did not write. `marker` is the JSON file by which veracity knows its own folder, and which lists
    the names of the files in it.
    """
    real = _real(target)
    with write_errors(target):
        os.fspath(target).encode()
        if real.parent.is_dir():
            recover(real.parent)
        with _alone_in(real.parent):
            _check_folder(target, real, force=force, marker=marker)


def _check_folder(target: Path, real: Path, *, force: bool, marker: str) -> None:
    if real.exists() or target.is_symlink():
        if not force:
            raise OutputError(f"{target} exists; {HOW_TO_REPLACE}")
        if not target.is_dir():
            raise OutputError(f"{target} exists and is no folder; choose another name")
        _check_content(target, marker)
    parent = next(folder for folder in real.parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {target}: {parent} is no folder that can be written to")


@contextlib.contextmanager
def _alone_in(place: Path) -> Iterator[None]:
    """Wait until no other run of veracity checks or replaces folders in a place."""
    is_ours = (place / MARKER).exists()  # a temporary folder, which its owner has locked already
    lock = None if is_ours else lock_folder(place, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def check_file(target: Path, *, force: bool) -> None:
    """Raise an error if a file cannot be written, or would replace a file that must not be lost.

    Even with `force`, only a plain file is replaced: no folder, and neither a device nor a pipe,
    which would be gone for all others who use it.
    """
    with write_errors(target):
        real = _real(target)
        if target.is_dir():
            raise OutputError(f"{target} is a folder; name a file in it, or another one")
        _check_plain(target, real)
        if real.exists() and not force:
            raise OutputError(f"{target} exists; {HOW_TO_REPLACE}")
        above = real.parent if target.is_symlink() else target.parent
        if not above.is_dir():
            raise OutputError(f"cannot write {target}: there is no folder {above}; make it")


def _check_plain(target: Path, real: Path) -> None:
    if real.is_symlink():
        raise OutputError(f"cannot write {target}: it is a link that leads nowhere; remove it")
    if real.exists() and not real.is_file():
        raise OutputError(f"{target} is no plain file and is not replaced; choose another name")


def _real(target: Path) -> Path:
    """Return the file or folder itself, if the target is a link, or has a name such as ``.``."""
    return Path(os.path.realpath(target))


def _check_content(target: Path, marker: str) -> None:
    """Refuse to replace a folder with files that veracity did not write."""
    if not any(target.iterdir()):
        return
    try:
        kept = json.loads((target / marker).read_text(encoding="utf-8"))
        ours = {marker, *kept["files"], *kept.get("csv", ())} if "veracity" in kept else set()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        ours = set()
    if not ours:
        raise OutputError(
            f"{target} was not written by veracity and is not replaced; choose another name"
        )
    folders = {parent for name in ours for parent in map(str, Path(name).parents)}
    for path in target.rglob("*"):
        name = path.relative_to(target).as_posix()
        is_ours = name in folders if path.is_dir() else name in ours or _is_page(path)
        if not is_ours or path.is_symlink():
            raise OutputError(
                f"{target} is not replaced: veracity did not write {name!r} in it; "
                "move that file, or choose another name"
            )


def _is_page(path: Path) -> bool:
    """Return True for a report."""
    if path.suffix != ".html" or not path.is_file():
        return False
    with path.open("rb") as page:
        return PAGE_MARK in page.read(1000)


# --- while writing --------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Give a temporary file to write to; it replaces the target when it is complete.

    A link stays, and its target is replaced.
    """
    real = _real(target)
    with write_errors(target):
        _check_plain(target, real)
        with _beside(real) as beside:
            unfinished = beside / NEW / target.name  # its ending may decide how it is written
            yield unfinished
            unfinished.replace(real)


@contextlib.contextmanager
def atomic_folder(target: Path, *, force: bool, marker: str) -> Iterator[Path]:
    """Give a temporary folder to write to; it replaces the target when it is complete.

    `check_can_write` is called before, and again when all is written.
    """
    check_can_write(target, force=force, marker=marker)
    real = _real(target)
    with write_errors(target), _new_parents(real), _beside(real) as beside:
        yield beside / NEW
        with _alone_in(real.parent):
            _check_folder(target, real, force=force, marker=marker)
            try:
                if real.exists():
                    real.rename(beside / OLD)
                (beside / NEW).rename(real)
            finally:
                _restore(real, beside)


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give a temporary folder on the same disk, which is removed afterwards."""
    recover(target.parent)
    folder = OwnedFolder(target.parent, PREFIX)
    try:
        (folder.path / NAME).write_bytes(os.fsencode(target.name))
        (folder.path / NEW).mkdir()
        yield folder.path
    finally:
        folder.remove()


@contextlib.contextmanager
def _new_parents(target: Path) -> Iterator[None]:
    """Make the folders above the target; remove them again after an error."""
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
def write_errors(target: Path) -> Iterator[None]:
    """Turn errors while writing into an `OutputError`."""
    try:
        yield
    except (OSError, UnicodeEncodeError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise OutputError(f"cannot write {str(target)!r}: {reason}; nothing was written") from error


# --- after a writer was killed --------------------------------------------------------------------


def recover(place: Path) -> None:
    """Restore the folders that killed writers had set aside, and remove their temporary folders."""
    remove_leftovers(place, PREFIX, _rescued)


def _rescued(left: Path) -> bool:
    """Restore the old folder; return True if the rest may be removed."""
    if not (left / OLD).exists() or not (left / NAME).exists():  # its removal had begun
        return True
    real = left.parent / os.fsdecode((left / NAME).read_bytes())
    if real.parent == left.parent:
        _restore(real, left)
    return real.exists()


def _restore(real: Path, beside: Path) -> None:
    """Restore the old content, if there is no new content in its place."""
    if (beside / OLD).exists() and not real.exists():
        (beside / OLD).rename(real)
