"""What is kept beside blocks: in memory, and on disk where that is too much."""

from __future__ import annotations

import pickle
import threading
from typing import Any
from uuid import uuid4

import numpy as np

from veracity.io.lazy import LazySequence
from veracity.io.temp_files import TempFolder

Key = tuple[int, int]
NO_LANE = -1


class Beside:
    """What looks leave beside each block for the next look; a walk does so for each of its lanes.

    Up to `room` bytes stay in memory, if there is a folder for the rest; all, if there is none.
    """

    def __init__(self, folder: TempFolder | None = None, room: int = 0) -> None:
        self._folder, self._room = folder, room
        self._in_memory: dict[Key, Any] = {}
        self._size: dict[Key, int] = {}
        self._on_disk: set[Key] = set()
        self._n_lanes = 0
        self._lock = threading.Lock()

    def of(self, block: int, lane: int = NO_LANE) -> Any:
        """Return what is kept beside a block; of all lanes, as a list, if a walk came by."""
        if lane == NO_LANE and self._n_lanes:
            return [self.of(block, own) for own in range(self._n_lanes)]
        key = (block, lane)
        if self._folder is not None and key in self._on_disk:
            return self._folder.read(self._name(key))
        return self._in_memory.get(key)

    def put(self, block: int, kept: Any, before: Any, lane: int = NO_LANE) -> None:
        """Keep something in the place of what was there before, unless it is the same."""
        if kept is before or (lane == NO_LANE and self._n_lanes):
            return
        key = (block, lane)
        if self._folder is None or self._takes_room(key, kept):
            self._in_memory[key] = kept
            self._on_disk.discard(key)
            return
        self._in_memory.pop(key, None)
        self._folder.write(self._name(key), kept)
        self._on_disk.add(key)

    def expect(self, n_lanes: int) -> None:
        """Expect a walk with so many lanes."""
        self._n_lanes = n_lanes

    def _takes_room(self, key: Key, kept: Any) -> bool:
        with self._lock:
            self._room += self._size.pop(key, 0)
            size = _size(kept)
            if size > self._room:
                return False
            self._room -= size
            self._size[key] = size
            return True

    def _name(self, key: Key) -> str:
        return f"beside-{id(self):x}-{key[0]}-{key[1]}"

    def clear(self) -> None:
        """Forget all of it."""
        for key in self._on_disk:
            assert self._folder is not None
            self._folder.discard(self._name(key))
        self._in_memory.clear()
        self._on_disk.clear()


def _size(kept: Any) -> int:
    """Return about how many bytes something takes."""
    if isinstance(kept, np.ndarray):
        return kept.nbytes
    if isinstance(kept, tuple | list):
        return sum(map(_size, kept))
    return len(pickle.dumps(kept, protocol=5))


class Answers(LazySequence[Any]):
    """An array, or a tuple of arrays, for each block: on disk."""

    def __init__(self, folder: TempFolder) -> None:
        self._folder, self._name, self._n_answers = folder, f"answer-{uuid4().hex}", 0

    def append(self, answer: Any) -> None:
        """Put the answer of the next block behind the others."""
        self._folder.write(f"{self._name}-{self._n_answers}", answer)
        self._n_answers += 1

    def __len__(self) -> int:
        return self._n_answers

    def at(self, number: int) -> Any:
        """Map the answer of a block."""
        return self._folder.read(f"{self._name}-{number}")
