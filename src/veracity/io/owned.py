"""Temporary folders that belong to a process, which is known by a lock on a file in them.

The folder is removed when its work is done, also after an error or Ctrl-C. A process that is killed
cannot remove anything; but its lock goes with it, and by that the next one that comes to the same
place knows what was left behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: there nothing is known of who lives, and leftovers stay
    fcntl = None  # type: ignore[assignment]

__all__ = ["LOCK", "locked_place", "make_owned", "remove_leftovers", "remove_owned"]

LOCK = "lock"


def _nobody(folder: Path) -> None:
    """Who is told of folders where nobody watches."""


witness: Callable[[Path], object] = _nobody
"""Told of every folder that is made: the process that removes it if this one is ended, if any."""

YOUNG = 60.0
"""A folder without a lock is left alone for so many seconds: its owner may be about to lock it."""


def make_owned(place: Path, prefix: str) -> tuple[Path, IO[bytes]]:
    """A new folder in a place, and the lock by which others see that its owner lives."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    witness(folder.absolute())
    try:
        lock = (folder / f"{LOCK}-new").open("wb")
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some shared disks know no locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / f"{LOCK}-new").rename(folder / LOCK)  # nobody ever sees it unlocked
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder, lock


def remove_owned(folder: Path, lock: IO[bytes]) -> None:
    """Remove a folder of one's own; the lock goes last, so that nobody else removes it, too."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except BaseException:  # Ctrl-C in the middle of it: it is still to be removed
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.close()


def remove_leftovers(
    place: Path, prefix: str, rescue: Callable[[Path], bool] = lambda folder: True
) -> None:
    """Remove what processes that were killed have left in a place; those that live hold a lock.

    `rescue` takes out what must not be lost, and says whether the rest may go.
    """
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{prefix}*"):
            with contextlib.suppress(OSError), _left(folder) as is_left:
                if is_left and rescue(folder):
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _left(folder: Path) -> Iterator[bool]:
    """Whether the owner of a folder is gone; meanwhile nobody else takes care of it."""
    found = folder.lstat()
    is_ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if fcntl is None or not is_ours or folder.is_symlink() or not folder.is_dir():
        yield False
    elif not (folder / LOCK).exists():
        yield time.time() - found.st_mtime > YOUNG
    else:
        with (folder / LOCK).open("rb") as file:
            yield _can_lock(file)


def _can_lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def locked_place(place: Path) -> Iterator[None]:
    """Wait until nobody else changes which folders are in a place; it needs no file for that."""
    try:
        place_file = os.open(place, os.O_RDONLY)
    except OSError:  # it may be written to but not read, or folders cannot be opened at all
        yield
        return
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(place_file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place_file)
