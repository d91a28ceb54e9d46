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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: there nothing is known of who lives, and leftovers stay
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"
LOCKS = (LOCK, f"{LOCK}-new")


OWNERS = 0o700
"""What its owner may do with a folder: anything."""


MOST_TRIES = 10
"""How often to make another folder where the first was taken for one that somebody left, and to
remove one where that is interrupted."""


def make_owned(place: Path, prefix: str) -> tuple[Path, IO[bytes]]:
    """A new folder in a place, and the lock by which others see that its owner lives."""
    for _ in range(MOST_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        try:
            folder.chmod(OWNERS)  # whatever is the habit here: else not even we could remove it
            return folder, _locked(folder)
        except FileNotFoundError:  # it had no lock yet, and somebody has cleared up here
            continue
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    raise OSError(f"others remove what is written in {place}")


def _locked(folder: Path) -> IO[bytes]:
    """The lock of a new folder, which nobody ever sees unlocked by its own name."""
    new = folder / f"{LOCK}-new"
    lock = new.open("wb")
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody is about to remove it
        lock.close()
        raise FileNotFoundError from None
    except OSError:
        pass  # some shared disks know no locks
    try:
        new.rename(folder / LOCK)
    except BaseException:
        lock.close()
        raise
    return lock


def remove_owned(folder: Path, lock: IO[bytes]) -> None:
    """Remove a folder of one's own, also if Ctrl-C comes in the middle of it, again and again."""
    stopped: BaseException | None = None
    for _ in range(MOST_TRIES):
        try:
            _remove(folder)
            break
        except BaseException as error:
            stopped = error
    lock.close()
    if stopped is not None:
        raise stopped


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: if this is ended midway, the lock tells that it was left."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name == LOCK:
                continue
            if path.is_dir() and not path.is_symlink():
                path.chmod(OWNERS)
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


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
                    _remove(folder)


@contextlib.contextmanager
def _left(folder: Path) -> Iterator[bool]:
    """Whether the owner of a folder is gone; meanwhile nobody else takes care of it."""
    found = folder.lstat()
    is_ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if fcntl is None or not is_ours or folder.is_symlink() or not folder.is_dir():
        yield False
    elif lock := next((one for one in LOCKS if (folder / one).exists()), None):
        with (folder / lock).open("rb") as file:
            yield _can_lock(file)
    else:
        with contextlib.suppress(OSError):
            folder.rmdir()  # an owner that lives finds it gone, and makes another
        yield False  # what has content but no lock is not ours


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
