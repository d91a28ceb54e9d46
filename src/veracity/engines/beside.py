"""What is kept beside blocks: in memory, and on disk where that is too much."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from veracity.io.spill import ArrayFile, TempFolder, disk_errors

Key = tuple[int, int]
NO_LANE = -1


class Beside:
    """What looks leave beside each block for the next look; a walk does so for each of its lanes.

    Up to `room` bytes stay in memory, if there is a place to spill to; all of it, if there is none.
    """

    def __init__(self, spill: TempFolder | None = None, room: int = 0) -> None:
        self._spill, self._room = spill, room
        self._in_memory: dict[Key, Any] = {}
        self._size: dict[Key, int] = {}
        self._on_disk: set[Key] = set()
        self._n_lanes = 0
        self._lock = threading.Lock()

    def of(self, block: int, lane: int = NO_LANE) -> Any:
        """What is kept beside a block; of all lanes, as a list, if a walk came by."""
        if lane == NO_LANE and self._n_lanes:
            return [self.of(block, own) for own in range(self._n_lanes)]
        key = (block, lane)
        if key in self._on_disk:
            with self._path(key).open("rb") as file:
                return pickle.load(file)
        return self._in_memory.get(key)

    def put(self, block: int, kept: Any, before: Any, lane: int = NO_LANE) -> None:
        """Keep something in the place of what was there before, unless it is the same."""
        if kept is before or (lane == NO_LANE and self._n_lanes):
            return
        key = (block, lane)
        if self._spill is None or self._takes_room(key, kept):
            self._in_memory[key] = kept
            self._on_disk.discard(key)
            return
        self._in_memory.pop(key, None)
        with disk_errors(self._spill.place), self._path(key).open("wb") as file:
            pickle.dump(kept, file, protocol=5)
        self._on_disk.add(key)

    def expect(self, n_lanes: int) -> None:
        """A walk with so many lanes is to come."""
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

    def _path(self, key: Key) -> Any:
        assert self._spill is not None  # what is on disk was spilled
        return self._spill.folder / f"beside-{id(self):x}-{key[0]}-{key[1]}"

    def clear(self) -> None:
        """Forget all of it."""
        for key in self._on_disk:
            self._path(key).unlink(missing_ok=True)
        self._in_memory.clear()
        self._on_disk.clear()


def _size(kept: Any) -> int:
    """About how many bytes something takes."""
    if isinstance(kept, np.ndarray):
        return kept.nbytes
    if isinstance(kept, tuple | list):
        return sum(map(_size, kept))
    return len(pickle.dumps(kept, protocol=5))


class Answers(Sequence[Any]):
    """An array, or a tuple of arrays, for each block: on disk."""

    def __init__(self, spill: TempFolder) -> None:
        self._shelf = ArrayFile(spill, f"answers-{id(self):x}")
        self._is_tuple = False

    def append(self, answer: Any) -> None:
        """Put the answer of the next block behind the others."""
        self._is_tuple = isinstance(answer, tuple)
        self._shelf.add(answer if self._is_tuple else (answer,))

    def __len__(self) -> int:
        return len(self._shelf)

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> list[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """The answer of a block."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        arrays = self._shelf[number]
        return arrays if self._is_tuple else arrays[0]
