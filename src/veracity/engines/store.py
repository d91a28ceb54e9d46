"""Store arrays with blocks: in memory, and in files if memory does not suffice."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from veracity.io.array_file import ArrayFile, Entry, n_bytes_of, read_arrays, write_arrays
from veracity.io.temp_files import TempFolder

BYTES_OF_FILE = 1 << 26
"""Size of a file at which further entries of the same name go to a new file. A file is removed with
its last entry, so rewriting entries needs at most this much additional room."""

Key = tuple[str, int]
"""A name such as "block", "items", "memory", and the number of a block."""


class _Stored(NamedTuple):
    file: ArrayFile
    entry: Entry


class BlockStore:
    """Named arrays of each block: in memory up to `most_bytes`, then in files of a folder.

    Without a folder all of it is in memory. A file has the arrays of one name for many blocks.
    """

    def __init__(self, folder: TempFolder | None = None, most_bytes: int = 0) -> None:
        self.folder, self._room = folder, most_bytes
        self._in_memory: dict[Key, Any] = {}
        self._size: dict[Key, int] = {}
        self._on_disk: dict[Key, _Stored] = {}
        self._open: dict[str, ArrayFile] = {}
        self._n_entries: Counter[Path] = Counter()
        self._lock = threading.Lock()

    def put(self, name: str, block: int, content: Any) -> None:
        """Store content of a block under a name, in place of the earlier content."""
        key = name, block
        if self.folder is None or self._takes_room(key, content):
            self._in_memory[key] = content
            self._forget(key)
            return
        with self.folder.errors():
            file = self._file(name)
            stored = _Stored(file, file.append(content))
        self._forget(key)
        self._in_memory.pop(key, None)
        self._on_disk[key] = stored

    def get(self, name: str, block: int) -> Any:
        """Return the stored content, with arrays in files mapped; None if there is none."""
        stored = self._on_disk.get((name, block))
        if stored is None:
            return self._in_memory.get((name, block))
        return stored.file.read(stored.entry)

    def drop(self, name: str) -> None:
        """Remove the content stored under a name, of all blocks."""
        for key in [key for key in self._in_memory if key[0] == name]:
            del self._in_memory[key]
            self._room += self._size.pop(key, 0)
        for key in [key for key in self._on_disk if key[0] == name]:
            self._forget(key)
        with self._lock:
            if name in self._open:
                self._release(self._open.pop(name))

    def _takes_room(self, key: Key, content: Any) -> bool:
        if not self._room and not self._size:
            return False
        size = n_bytes_of(content)
        with self._lock:
            self._room += self._size.pop(key, 0)
            if size > self._room:
                return False
            self._room -= size
            self._size[key] = size
            return True

    def _file(self, name: str) -> ArrayFile:
        """Return the file to which entries of a name go now."""
        assert self.folder is not None
        with self._lock:
            file = self._open.get(name)
            if file is None or file.n_bytes >= BYTES_OF_FILE:
                if file is not None:
                    self._release(file)
                file = self._open[name] = ArrayFile(self.folder.path / uuid4().hex)
                self._n_entries[file.path] = 1  # since it is open for more
            self._n_entries[file.path] += 1
            return file

    def _forget(self, key: Key) -> None:
        """Remove an entry of a file; remove the file with its last entry."""
        stored = self._on_disk.pop(key, None)
        if stored is not None:
            with self._lock:
                self._release(stored.file)

    def _release(self, file: ArrayFile) -> None:
        self._n_entries[file.path] -= 1
        if not self._n_entries[file.path]:
            del self._n_entries[file.path]
            with contextlib.suppress(OSError):
                file.path.unlink()


class SharedStore:
    """Named arrays of each block in a folder of this machine that several processes use.

    Each entry is a file, which is written whole or not at all. Spark removes the folder with its
    executor.
    """

    def __init__(self, name: str) -> None:
        home = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
        self._folder = Path(home) / f"veracity-{name}"

    def put(self, name: str, block: int, content: Any) -> None:
        """Store something of a block."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_arrays(self._file(name, block), content)

    def get(self, name: str, block: int) -> Any:
        """Return the stored content, mapped; raise FileNotFoundError if there is none."""
        return read_arrays(self._file(name, block))

    def has(self, name: str, block: int) -> bool:
        """Return True if something is stored."""
        return self._file(name, block).exists()

    def discard(self, name: str, block: int) -> None:
        """Remove the content stored for a block."""
        with contextlib.suppress(OSError):
            self._file(name, block).unlink()

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, name: str, block: int) -> Path:
        return self._folder / f"{block}.{name}"
