"""Write arrays, and tuples of arrays, as bytes for other processes and for files.

A short header describes them. The arrays follow as they are in memory, each at a multiple of 64
bytes, so that they can be used in place, without a copy.
"""

from __future__ import annotations

import io
import mmap
import pickle
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

ALIGNED = 64
"""Alignment of arrays in bytes; compiled kernels treat other arrays as a different type."""

FEW_BYTES = 1 << 14
"""Entries that are smaller are read, which is quicker than to map them."""

Dumps = Callable[..., bytes]
"""A function such as `pickle.dumps`, which writes the head."""

Load = Callable[..., Any]
"""A function such as `pickle.load`, which reads the head."""


def packed(content: object, dumps: Dumps = pickle.dumps) -> bytes:
    """Pack arrays, or tuples of them; `dumps` decides how functions are written.

    >>> unpacked(packed((1, np.arange(3))))
    (1, array([0, 1, 2]))
    """
    return b"".join(_sections(content, dumps))


def unpacked(data: Any, load: Load = pickle.load) -> Any:
    """Return the packed content; its arrays lie in `data`, and can be written to if that can.

    `load` reads the head; for files of others, it has to be one that runs nothing.
    """
    whole = memoryview(data).cast("B")
    (n_bounds,) = struct.unpack_from("<q", whole)
    bounds = struct.unpack_from(f"<{n_bounds}q", whole, 8)
    pairs = zip(bounds[::2], bounds[1::2], strict=True)
    head, *arrays = (whole[first:last] for first, last in pairs)
    return load(io.BytesIO(head), buffers=arrays)


def write_arrays(path: Path, content: object) -> None:
    """Write arrays whole or not at all, since other processes may write the same file."""
    unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
    with unfinished.open("wb") as file:
        file.writelines(_sections(content, pickle.dumps))
    unfinished.replace(path)


def read_arrays(path: Path) -> Any:
    """Return the content of a file; its arrays stay on disk until they are used.

    Writing to such an array changes neither the file nor what others see.
    """
    return unpacked(np.memmap(path, dtype=np.uint8, mode="c"))


class Entry(NamedTuple):
    """Place of some arrays in an `ArrayFile`."""

    first: int
    n_bytes: int


class ArrayFile:
    """A file of arrays, or tuples of them, one entry after the other; entries are mapped when read.

    Several threads may append and read at a time. To write many small entries to one file takes a
    tenth of the time of a file for each.
    """

    def __init__(self, path: Path, load: Load = pickle.load) -> None:
        if not path.exists():
            path.touch()
        self.path, self.n_bytes, self._load = path, path.stat().st_size, load
        self._lock = threading.Lock()

    def append(self, content: object) -> Entry:
        """Append arrays to the file; return their position."""
        return self._append(list(_sections(content, pickle.dumps)))

    def append_packed(self, data: bytes) -> Entry:
        """Write arrays that were packed before."""
        return self._append([data])

    def _append(self, sections: Sequence[bytes | memoryview]) -> Entry:
        n_bytes = sum(memoryview(one).nbytes for one in sections)
        with self._lock:
            entry = Entry(self.n_bytes, n_bytes)
            self.n_bytes += -(-n_bytes // ALIGNED) * ALIGNED
        with self.path.open("r+b") as file:
            file.seek(entry.first)
            file.writelines(sections)
        return entry

    def read(self, entry: Entry) -> Any:
        """Return the arrays at a position: copied if they are small, else mapped.

        Writing to such an array changes neither the file nor what others see.
        """
        with self.path.open("rb", buffering=0) as file:
            if entry.n_bytes < FEW_BYTES:
                data = bytearray(entry.n_bytes)
                file.seek(entry.first)
                file.readinto(data)
                return unpacked(data, self._load)
            before = entry.first % mmap.ALLOCATIONGRANULARITY
            mapped = mmap.mmap(
                file.fileno(), before + entry.n_bytes,
                access=mmap.ACCESS_COPY, offset=entry.first - before,
            )  # fmt: skip
        return unpacked(memoryview(mapped)[before:], self._load)


def n_bytes_of(content: object) -> int:
    """Return about how many bytes some arrays, or tuples of them, take."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def _sections(content: object, dumps: Dumps) -> Iterator[bytes | memoryview]:
    buffers: list[pickle.PickleBuffer] = []
    head = dumps(content, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    begin = 8 + 16 * len(parts)
    bounds = []
    for part in parts:
        first = -(-begin // ALIGNED) * ALIGNED
        begin = first + part.nbytes
        bounds += [first, begin]
    yield struct.pack(f"<q{len(bounds)}q", len(bounds), *bounds)
    ends = [8 + 8 * len(bounds), *bounds[1::2]]
    for part, (end, _), first in zip(parts, pairwise([*ends, 0]), bounds[::2], strict=False):
        yield bytes(first - end)
        yield part
