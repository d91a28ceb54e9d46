"""Temporary folders, which are gone afterwards.

A folder belongs to a process, and is removed by it when its work is done, also after an error or
Ctrl-C. A process that is killed cannot do so, but its lock on the folder goes with it: so the next
one that works in the same place knows what was left behind, and removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from veracity.errors import OutputError, TooLarge

try:
    import fcntl
except ImportError:  # Windows: there nobody knows who lives, and leftovers stay
    fcntl = None  # type: ignore[assignment]

PREFIX = "veracity-spill-"

MARKER = "owner"
"""An empty file in each folder of ours, which is written once the folder is locked."""


class OwnedFolder:
    """New temporary folder, locked until it is removed, at the latest at exit."""

    def __init__(self, place: Path, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        lock = lock_folder(self.path)
        self.remove = weakref.finalize(self, _remove_owned, self.path, lock, os.getpid())
        (self.path / MARKER).touch()


def lock_folder(folder: Path, *, wait: bool = False) -> int | None:
    """Lock a folder; return None if another process has locked it, or the disk knows no locks."""
    with contextlib.suppress(OSError):
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (OSError, AttributeError):
            os.close(lock)
        else:
            return lock
    return None


def _remove_owned(folder: Path, lock: int | None, owner: int) -> None:
    try:
        if os.getpid() == owner:  # a child that was forked leaves it to its parent
            _remove(folder)
    finally:
        if os.getpid() == owner:
            _remove(folder)  # if Ctrl-C came in the middle of it
        if lock is not None:
            os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its marker last, so that an interrupted removal is recognised later."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MARKER:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(
    place: Path, prefix: str, rescue: Callable[[Path], bool] = lambda folder: True
) -> None:
    """Remove folders of processes that were killed; those of living ones are locked.

    `rescue` saves files that must not be lost, and returns True if the rest may be removed.
    """
    for folder in place.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            is_ours = (folder / MARKER).exists() and not folder.is_symlink()
            lock = lock_folder(folder) if is_ours else None
            if lock is not None:
                try:
                    if rescue(folder):
                        _remove(folder)
                finally:
                    os.close(lock)


class TempFolder:
    """A folder of temporary files for one run, in a given place or where temporary files are."""

    def __init__(self, place: str | os.PathLike[str] | None = None) -> None:
        self._place = Path(place) if place is not None else _usual_place()
        with self.errors():
            self._place.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self._place, PREFIX)
            self._folder = OwnedFolder(self._place, PREFIX)
        self.path = self._folder.path

    def require_space(self, n_bytes: int, what: str) -> None:
        """Raise an error if the disk certainly has too little space."""
        free = shutil.disk_usage(self.path).free
        if n_bytes > free:
            self.remove()
            raise TooLarge(
                f"{what} need about {n_bytes / 1e9:,.1f} GB on disk, and {free / 1e9:,.1f} GB are "
                f"free in {self._place}; name a folder on a larger disk, e.g. --spill FOLDER"
            )

    def remove(self) -> None:
        """Remove the folder now."""
        self._folder.remove()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors while temporary files are written into one sentence."""
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC or f"(os error {errno.ENOSPC})" in str(error):  # Polars
                reason, advice = "the disk is full", "make room, or name a folder on a larger disk"
            else:
                reason, advice = error.strerror or str(error), "name another folder"
            raise OutputError(
                f"cannot write temporary files to {self._place}: {reason}; {advice}, e.g. "
                "--spill FOLDER; what was written is removed"
            ) from error


def _usual_place() -> Path:
    """Return the folder for temporary files; without TMPDIR, one that is never in memory."""
    on_disk = Path("/var/tmp")
    return (
        on_disk if "TMPDIR" not in os.environ and on_disk.is_dir() else Path(tempfile.gettempdir())
    )
