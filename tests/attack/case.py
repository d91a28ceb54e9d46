"""What is tried: files, commands, and what came of each command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """Files in an empty folder, and commands of veracity that are run there one after another."""

    files: Mapping[str, bytes]
    commands: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """How much there is to read for whoever looks for the cause."""
        words = sum(len(word) for command in self.commands for word in command)
        return words + sum(map(len, self.files.values()))

    def lay_out(self, folder: Path) -> None:
        """Write the files."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def script(self) -> bytes:
        """The commands, for a shell in the folder of the files."""
        lines = [shlex.join(("veracity", *command)) for command in self.commands]
        return b"".join(os.fsencode(line) + b"\n" for line in lines)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: its exit code, what it printed, and the files around it."""

    command: tuple[str, ...]
    code: int | None  # None: it was still at work when the time was over
    stdout: bytes
    stderr: bytes
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    temporary: frozenset[str] = field(default=frozenset())
