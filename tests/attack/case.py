"""What is tried, what came of it, and the findings: of each wrong, the smallest case seen."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Command = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Files in an empty folder, and commands of veracity that are run there one after another."""

    files: Mapping[str, bytes]
    commands: tuple[Command, ...]

    @property
    def size(self) -> int:
        """Length of all that a reader looks through to find the cause."""
        words = sum(len(word) for command in self.commands for word in command)
        return words + sum(map(len, self.files.values()))

    def lay_out(self, folder: Path) -> None:
        """Write the files."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@dataclass(frozen=True)
class Outcome:
    """Exit code of a command (None: it hangs), what it printed, and the files around it."""

    command: Command
    code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    temporary: frozenset[str] = frozenset()


def key_of(wrong: str) -> str:
    """Return the wrong without what differs between cases that have the same cause."""
    text = wrong[:400].partition("\n")[0]
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\S*/\S*", "'…'", text)
    text = re.sub(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)
    return re.sub(r"[^\x20-\x7e…]+", "?", text)[:160]


class Findings:
    """Findings in a folder, each in a folder of its own that is ready to be tried."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.case_of_key: dict[str, Case] = {}
        self.times: dict[str, int] = {}

    def add(self, wrong: str, part: str, case: Case, outcome: Outcome) -> None:
        """Count a wrong; keep its case if it is the smallest."""
        key = key_of(wrong)
        self.times[key] = self.times.get(key, 0) + 1
        if key in self.case_of_key and case.size >= self.case_of_key[key].size:
            return
        self.case_of_key[key] = case
        if self.folder is None:
            return
        slug = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:50]
        folder = self.folder / f"{list(self.times).index(key) + 1:03}-{slug}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        case.lay_out(folder)
        lines = [shlex.join(("veracity", *command)) for command in case.commands]
        (folder / "command.sh").write_bytes(b"".join(os.fsencode(line) + b"\n" for line in lines))
        said = outcome.stderr[:20_000].decode(errors="replace")
        told = f"{wrong[:2_000]}\n\npart: {part}\nexit code: {outcome.code}\n\n{said}"
        (folder / "finding.txt").write_text(told, encoding="utf-8", errors="backslashreplace")

    def summary(self) -> str:
        """Return one line per finding."""
        rows = enumerate(self.times.items(), 1)
        return "\n".join(f"{number:03} {times:5} x {key}" for number, (key, times) in rows)
