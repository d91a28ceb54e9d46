"""Temporary files for what memory does not hold, which are gone afterwards.

Every run that needs them has a folder of its own, see `veracity.io.owned`. It is removed with the
last that uses it, at the latest when Python ends, or by the next run that works in the same place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from veracity.errors import OutputError, TooLarge
from veracity.io.array_file import read_arrays, write_arrays
from veracity.io.owned import make_owned, remove_leftovers, remove_owned

PREFIX = "veracity-spill-"

MOUNTS = Path("/proc/mounts")


class TempFolder:
    """A folder of temporary files for one run, in a given place or where temporary files are."""

    def __init__(self, place: str | os.PathLike[str] | None = None) -> None:
        self._place = Path(place) if place is not None else _usual_place()
        with self.errors():
            self._place.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self._place, PREFIX)
            self.path, lock = make_owned(self._place, PREFIX)
        self._finalizer = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def write(self, name: str, content: object) -> None:
        """Write arrays, or tuples of them, to a file."""
        with self.errors():
            write_arrays(self.path / name, content)

    def read(self, name: str) -> Any:
        """Return the content of a file; its arrays are mapped, and read when they are touched."""
        return read_arrays(self.path / name)

    def discard(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def require_space(self, n_bytes: int, what: str) -> None:
        """Refuse what the disk surely cannot hold."""
        free = shutil.disk_usage(self.path).free
        if n_bytes > free:
            self.remove()
            raise TooLarge(
                f"{what} need about {n_bytes / 1e9:,.1f} GB on disk, and {free / 1e9:,.1f} GB are "
                f"free in {self._place}; name a folder on a larger disk, e.g. --spill FOLDER"
            )

    def remove(self) -> None:
        """Remove the folder now."""
        self._finalizer()

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
    """Return the place of temporary files, unless it is in memory itself and another is not."""
    places = [Path(tempfile.gettempdir()), Path("/var/tmp")]
    in_memory = _mounted_in_memory()
    on_disk = [p for p in places if p.is_dir() and _mount_of(p, in_memory) not in in_memory]
    return (on_disk or places)[0]


def _mounted_in_memory() -> set[str]:
    with contextlib.suppress(OSError, ValueError):
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
        return {line.split()[1] for line in lines if line.split()[2] in ("tmpfs", "ramfs")}
    return set()


def _mount_of(place: Path, mounts: set[str]) -> str:
    """Return the nearest of the mounts above a place, or nothing if another is nearer."""
    above = [place.resolve(), *place.resolve().parents]
    return next((str(p) for p in above if str(p) in mounts or p.is_mount()), "")


def _remove(folder: Path, lock: IO[bytes], owner: int) -> None:
    if os.getpid() == owner:  # a child that was forked leaves it to its parent
        remove_owned(folder, lock)
    else:
        lock.close()
