"""Keeps what was found: of each wrong, one case, the smallest that was seen."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from attack.case import Case, Outcome


@dataclass
class Finding:
    """A wrong, and a case in which it happens."""

    wrong: str
    part: str
    case: Case
    outcome: Outcome
    times: int = 1


def key_of(wrong: str) -> str:
    """The wrong without what differs between cases that have the same cause."""
    text = wrong[:400].partition("\n")[0]
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\S*/\S*", "'…'", text)
    text = re.sub(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)
    text = re.sub(r"[^\x20-\x7e…]+", "?", text)
    return text[:160]


class Findings:
    """Findings in a folder, each in a folder of its own that is ready to be tried."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.of_key: dict[str, Finding] = {}

    def add(self, wrong: str, part: str, case: Case, outcome: Outcome) -> str:
        """Keep a wrong; give its key."""
        key = key_of(wrong)
        there = self.of_key.get(key)
        if there is None:
            self.of_key[key] = Finding(wrong, part, case, outcome)
        else:
            there.times += 1
            if case.size >= there.case.size:
                return key
            there.wrong, there.case, there.outcome = wrong, case, outcome
        self._write(key)
        return key

    def _write(self, key: str) -> None:
        if self.folder is None:
            return
        finding = self.of_key[key]
        number = list(self.of_key).index(key) + 1
        slug = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:50].strip("-")
        folder = self.folder / f"{number:03}-{slug}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        finding.case.lay_out(folder)
        (folder / "command.sh").write_bytes(finding.case.script())
        said = finding.outcome.stderr[:20_000].decode(errors="replace")
        code = finding.outcome.code
        told = f"{finding.wrong[:2_000]}\n\npart: {finding.part}\nexit code: {code}\n\n{said}"
        (folder / "finding.txt").write_text(told, encoding="utf-8", errors="backslashreplace")

    def summary(self) -> str:
        """One line a finding."""
        return "\n".join(
            f"{number:03} {finding.times:5} x {finding.part:10} {key}"
            for number, (key, finding) in enumerate(self.of_key.items(), 1)
        )
