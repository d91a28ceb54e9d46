"""Files and folders of results appear whole or not at all.

They are written beside their place and then take it in one step, see `_exchange`. What was there
before is never out of reach; where the system has no such step, and the process is killed between
two, the next one that comes to the place restores it, see `recover`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from veracity.errors import OutputError, first_line
from veracity.io.owned import locked_place, make_owned, remove_leftovers, remove_owned

PAGE_MARK = b'<meta name="generator" content="veracity'
"""By this, near its beginning, veracity knows a page of its own."""

PREFIX = ".veracity-"
"""How the names of temporary folders begin."""

HOW_TO_REPLACE = "choose another name, or replace it with force=True, or --force"

MOST_LOOKS = 10
"""How often to look again at a folder that others replace meanwhile."""

NEW, OLD, NAME = "new", "old", "name"
"""In a temporary folder: what is written, what it replaces, and the name both are to have."""


# --- before the work ------------------------------------------------------------------------------


def check_can_write(target: Path, *, force: bool, marker: str) -> None:
    """Refuse to write where that will fail, or where something is that must not be lost.

    Even with `force`, only an empty folder is replaced, or one with nothing in it that veracity
    did not write. `marker` is the JSON file by which veracity knows its own folder, and which tells
    the names of the files in it.
    """
    with write_errors(target):
        os.fspath(target).encode()
        real = _real(target)
        if real.parent.is_dir():
            recover(real.parent)
        if real.exists() or target.is_symlink():
            _check_existing(target, force=force, marker=marker)
            _check_movable(target, real)
            return
        parent = next(folder for folder in real.parents if folder.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise OutputError(f"cannot write {target}: {parent} is no folder one may write to")


def check_file(target: Path, *, force: bool) -> None:
    """Refuse to write a file where that will fail, or where something is that must not be lost.

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
        raise OutputError(f"{target} is no plain file and stays; choose another name")


def _real(target: Path) -> Path:
    """The file or folder itself, where the target is a link, or has a name such as ``.``."""
    return Path(os.path.realpath(target))


def _check_existing(target: Path, *, force: bool, marker: str) -> None:
    if not force:
        raise OutputError(f"{target} exists; {HOW_TO_REPLACE}")
    if not target.is_dir():
        raise OutputError(f"{target} exists and is no folder; choose another name")
    for _ in range(MOST_LOOKS):
        seen = target.stat().st_ino
        try:
            _check_content(target, marker)
        except (OutputError, FileNotFoundError):
            if target.stat().st_ino == seen:  # else another run has taken its place meanwhile
                raise
        else:
            return
    _check_content(target, marker)


def _check_content(target: Path, marker: str) -> None:
    content = list(target.iterdir())
    if not content:
        return
    ours = _our_files(target / marker)
    if ours is None:
        raise OutputError(f"{target} was not written by veracity and stays; choose another name")
    strange = [path.name for path in content if not _is_ours(path, ours)]
    if strange:
        raise OutputError(
            f"{target} stays, since veracity did not write {min(strange)!r} in it; "
            "move that file, or choose another name"
        )


def _is_ours(path: Path, ours: set[str]) -> bool:
    is_file = path.is_file() and not path.is_symlink()
    return is_file and (path.name in ours or _is_our_page(path))


def _is_our_page(path: Path) -> bool:
    if path.suffix != ".html":
        return False
    with path.open("rb") as page:
        return PAGE_MARK in page.read(1000)


def _our_files(marker: Path) -> set[str] | None:
    """The names of the files that were written beside the marker; None if it is not ours."""
    try:
        told = json.loads(marker.read_text(encoding="utf-8"))
        if not isinstance(told, dict) or not isinstance(told.get("veracity"), str):
            return None
        names = [*told["files"], *told.get("csv", ())]
        return {marker.name, *(name for name in names if isinstance(name, str))}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _check_movable(target: Path, real: Path) -> None:
    """Refuse a folder whose place nothing else can take."""
    above = real.parent
    reason = None
    if _real(Path.cwd()).is_relative_to(real):
        reason = "it is the folder you are in, or above it"
    elif real.is_mount():
        reason = "another disk is mounted there; name a folder in it"
    elif not os.access(above, os.W_OK | os.X_OK):
        reason = f"{above} is no folder one may write to"
    elif not os.access(real, os.W_OK | os.X_OK) or _is_sticky(above, real):
        reason = "you may not replace it"
    if reason is not None:
        raise OutputError(f"cannot write {target}: {reason}; choose another name")


def _is_sticky(above: Path, real: Path) -> bool:
    """Whether only its owner may move a folder, and that is somebody else."""
    if not hasattr(os, "getuid") or not above.stat().st_mode & stat.S_ISVTX:
        return False
    return os.getuid() not in (0, above.stat().st_uid, real.stat().st_uid)


# --- while writing --------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Give a file to write to, which takes its place only when all of it is written.

    A link stays: what it leads to is written.
    """
    real = _real(target)
    with write_errors(target):
        _check_plain(target, real)
        with _beside(real) as beside:
            (beside / NEW).mkdir()
            unfinished = beside / NEW / target.name  # its ending may tell how to write it
            yield unfinished
            unfinished.replace(real)


@contextlib.contextmanager
def atomic_folder(target: Path, *, force: bool, marker: str) -> Iterator[Path]:
    """Give a folder to write to, which takes its name only when all in it is written.

    Whether it may is checked as `check_can_write` does: before, and again when it is written.
    """
    check_can_write(target, force=force, marker=marker)
    real = _real(target)
    with write_errors(target), _new_parents(real), _beside(real) as beside:
        (beside / NEW).mkdir()
        yield beside / NEW
        with locked_place(real.parent):  # of two that write at once, one comes after the other
            check_can_write(target, force=force, marker=marker)
            if real.exists():
                _replace(real, beside)
            else:
                (beside / NEW).rename(real)


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A temporary folder on the same disk, which is gone afterwards."""
    recover(target.parent)
    folder, lock = make_owned(target.parent, PREFIX)
    try:
        (folder / NAME).write_bytes(os.fsencode(target.name))
        yield folder
    finally:
        remove_owned(folder, lock)


def _replace(real: Path, beside: Path) -> None:
    """Let what is new take the place of a folder."""
    if _exchange(beside / NEW, real):
        return
    try:
        real.rename(beside / OLD)
        (beside / NEW).rename(real)
    finally:
        _restore(real, beside)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system has no such step."""
    swap = _system_exchange()
    if swap is None:
        return False
    here = -100  # AT_FDCWD: names are as seen from the current folder
    if swap(here, os.fsencode(one), here, os.fsencode(other), 2) == 0:  # 2 is RENAME_EXCHANGE
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM):
        return False  # the kernel, or what the disk is formatted as, does not know it
    raise OSError(number, os.strerror(number), os.fspath(other))


@cache
def _system_exchange() -> Any:
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    path, number = ctypes.c_char_p, ctypes.c_int
    swap.argtypes = (number, path, number, path, ctypes.c_uint)
    return swap


def _restore(real: Path, beside: Path) -> None:
    """Put back what was set aside, if nothing came in its place."""
    if (beside / OLD).exists() and not real.exists():
        (beside / OLD).rename(real)


# --- after somebody was killed --------------------------------------------------------------------


def recover(place: Path) -> None:
    """Put back what those who were killed had set aside in a place, and remove what they left."""
    remove_leftovers(place, PREFIX, _rescued)


def _rescued(left: Path) -> bool:
    """Put back what was set aside; whether nothing is left that anybody may miss."""
    if not (left / OLD).exists():
        return True
    real = left.parent / os.fsdecode((left / NAME).read_bytes())
    if real.parent == left.parent:
        _restore(real, left)
    return real.exists()


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
def write_errors(target: Path) -> Iterator[None]:
    """What goes wrong while writing is told as an `OutputError`."""
    try:
        yield
    except (OSError, UnicodeEncodeError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise OutputError(f"cannot write {str(target)!r}: {reason}; nothing was written") from error
