"""Arrays, and tuples of them, as bytes: what crosses between processes, and what lies on disk.

A short head says what there is. The arrays follow as they lie in memory, each at a multiple of 64
bytes, so that they can be used where they are, without being copied.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

ALIGNED = 64
"""Arrays begin at multiples of this many bytes: compiled kernels take others for another type."""

Dumps = Callable[..., bytes]
"""A function such as `pickle.dumps`, which writes the head."""


def packed(content: object, dumps: Dumps = pickle.dumps) -> bytes:
    """Pack arrays, or tuples of them; `dumps` decides how functions are written.

    >>> unpacked(packed((1, np.arange(3))))
    (1, array([0, 1, 2]))
    """
    return b"".join(_sections(content, dumps))


def unpacked(data: Any) -> Any:
    """Return what was packed; its arrays lie in `data`, and can be written to if that can."""
    whole = memoryview(data).cast("B")
    (n_bounds,) = struct.unpack_from("<q", whole)
    bounds = struct.unpack_from(f"<{n_bounds}q", whole, 8)
    pairs = zip(bounds[::2], bounds[1::2], strict=True)
    head, *arrays = (whole[first:last] for first, last in pairs)
    return pickle.loads(head, buffers=arrays)


def write_arrays(path: Path, content: object) -> None:
    """Write arrays whole or not at all: others may write the same at the same time."""
    unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
    with unfinished.open("wb") as file:
        file.writelines(_sections(content, pickle.dumps))
    unfinished.replace(path)


def read_arrays(path: Path) -> Any:
    """Return what a file holds; its arrays stay on disk until they are touched.

    Writing to such an array changes neither the file nor what others see.
    """
    return unpacked(np.memmap(path, dtype=np.uint8, mode="c"))


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
