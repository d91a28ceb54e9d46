"""A folder of temporary files for what memory does not hold, which is gone afterwards.

Every run that spills has a folder of its own, see `veracity.io.owned`. It is removed with the last
that uses it, at the latest when Python ends, or by the next run that spills to the same place.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from veracity.errors import OutputError, TooLarge
from veracity.io.owned import make_owned, remove_leftovers, remove_owned

PREFIX = "veracity-spill-"
PAGE = mmap.ALLOCATIONGRANULARITY
ALIGNED = 64
"""Arrays begin at multiples of so many bytes, as NumPy's own do where it matters."""

MOUNTS = Path("/proc/mounts")


class TempFolder:
    """A folder for one run, in the place that is given or where temporary files are."""

    def __init__(self, place: str | os.PathLike[str] | None = None) -> None:
        base = Path(place) if place is not None else _usual_place()
        with disk_errors(base):
            base.mkdir(parents=True, exist_ok=True)
            remove_leftovers(base, PREFIX)
            self.folder, lock = make_owned(base, PREFIX)
        self.place = base
        self._finalizer = weakref.finalize(self, _remove, self.folder, lock, os.getpid())

    def require_space(self, n_bytes: int, what: str) -> None:
        """Refuse what the disk surely cannot hold."""
        free = shutil.disk_usage(self.folder).free
        if n_bytes > free:
            self.remove()
            raise TooLarge(
                f"{what} need about {n_bytes / 1e9:,.1f} GB on disk, and {free / 1e9:,.1f} GB are "
                f"free in {self.place}; name a folder on a larger disk, e.g. --spill FOLDER"
            )

    def remove(self) -> None:
        """Remove the folder now."""
        self._finalizer()


def _usual_place() -> Path:
    """Where temporary files are, if that is on a disk and not in memory itself."""
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
    """The nearest of the mounts above a place; nothing if there is none, or another is nearer."""
    above = [place.resolve(), *place.resolve().parents]
    return next((str(p) for p in above if str(p) in mounts or p.is_mount()), "")


def _remove(folder: Path, lock: IO[bytes], owner: int) -> None:
    if os.getpid() == owner:  # a child that was forked leaves it to its parent
        remove_owned(folder, lock)
    else:
        lock.close()


@contextlib.contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """What goes wrong while temporary files are written is told as one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC or f"(os error {errno.ENOSPC})" in str(error):  # of Polars
            reason, advice = "the disk is full", "make room, or name a folder on a larger disk"
        else:
            reason, advice = error.strerror or str(error), "name another folder"
        raise OutputError(
            f"cannot write temporary files to {place}: {reason}; {advice}, e.g. --spill FOLDER; "
            "what was written is removed"
        ) from error


class _Entry(NamedTuple):
    """Where some arrays are in the file of a shelf: from where, how long, and what each one is."""

    start: int
    length: int
    arrays: tuple[tuple[int, str, tuple[int, ...]], ...]


def _padded(file: IO[bytes], multiple: int) -> int:
    """Go to the next multiple of so many bytes; where that is."""
    file.write(bytes(-file.tell() % multiple))
    return file.tell()


class ArrayFile(Sequence[tuple[NDArray[Any], ...]]):
    """A sequence of tuples of arrays on disk. What is taken from it is mapped, not read.

    Pages come in when they are touched, and go when the arrays do. Writing to such an array
    changes neither the file nor what others see.
    """

    def __init__(self, spill: TempFolder, name: str) -> None:
        self._spill = spill  # the folder lives as long as what is in it is used
        self._path = spill.folder / name
        self._entries: list[_Entry] = []

    def add(self, arrays: Sequence[NDArray[Any]]) -> None:
        """Put arrays at the end."""
        told = []
        with disk_errors(self._spill.place), self._path.open("ab") as file:
            start = _padded(file, PAGE)  # a mapping begins at a page
            for array in arrays:
                told.append((_padded(file, ALIGNED) - start, array.dtype.str, array.shape))
                if array.size:
                    file.write(np.ascontiguousarray(array).data)
            length = file.tell() - start
        self._entries.append(_Entry(start, length, tuple(told)))

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, number: int) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __getitem__(self, number: slice) -> list[tuple[NDArray[Any], ...]]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """The arrays at a place."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        return self._mapped(self._entries[number], mmap.ACCESS_COPY)

    def change(self, number: int, places: dict[int, NDArray[Any]]) -> None:
        """Write other arrays of the same kinds in the place of some of those at a place."""
        arrays = self._mapped(self._entries[number], mmap.ACCESS_WRITE)
        for place, array in places.items():
            arrays[place][...] = array

    def _mapped(self, entry: _Entry, access: int) -> tuple[NDArray[Any], ...]:
        if not entry.length:
            return tuple(np.empty(shape, dtype) for _, dtype, shape in entry.arrays)
        with self._path.open("rb" if access == mmap.ACCESS_COPY else "r+b") as file:
            content = mmap.mmap(file.fileno(), entry.length, access=access, offset=entry.start)
        return tuple(
            np.ndarray(shape, dtype, buffer=content, offset=offset)
            if np.prod(shape)
            else np.empty(shape, dtype)
            for offset, dtype, shape in entry.arrays
        )
