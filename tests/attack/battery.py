"""Draws cases, runs them and keeps what is wrong, each wrong made small by hypothesis."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from attack import cases, deep
from attack.case import Case
from attack.databases import databases
from attack.findings import Findings
from attack.forms import extras, forms
from attack.pairs import pairs
from attack.verdict import wrongs
from attack.workshop import Workshop

SHRINKS = 40
"""Cases that are tried to make new findings smaller; then others are looked for."""

CLAIMS = {
    "categorical": b"source,entity,attribute,value\na,x,p,1\nb,x,p,2\nc,x,p,1\na,a,p,3\nb,a,q,4\n",
    "multiple": b"source,entity,value\na,x,1\nb,x,2\nc,x,1\na,a,3\nb,a,4\na,a,4\n",
    "binary": b"source,fact,claim\na,x,true\nb,x,false\nc,x,true\na,a,false\nb,a,true\n",
    "numeric": b"source,entity,value\na,x,1.5\nb,x,2\nc,x,1\na,a,3\nb,a,4\nc,a,1e6\n",
}
"""Small claims of each kind: of these are the runs that are tampered with."""


class Enough(BaseException):
    """The time is over, or a finding is small enough; no Exception, so that hypothesis ends."""


class Battery:
    """Cases of all parts through all commands, until a time."""

    def __init__(self, workshop: Workshop, findings: Findings, deadline: float) -> None:
        self.workshop, self.findings, self.deadline = workshop, findings, deadline
        self.n_cases = 0
        self.tried: Counter[str] = Counter()
        self.made: dict[str, dict[str, bytes]] = {}
        self.runs = dict(self._sound_runs())
        self.parts: Mapping[str, st.SearchStrategy[Case]] = {
            "files": cases.text_files(),
            "frames": cases.frames(),
            "runs": cases.tampered_runs(self.runs),
            "parameters": cases.parameters(self.runs),
            "shapes": cases.shapes(),
            "databases": databases(cases.damaged),
            "forms": forms(),
            "extras": extras(),
        }
        self.makers: Mapping[str, Callable[[random.Random], Case]] = {
            "chains": deep.chains,
            "settings": deep.settings,
            "pairs": partial(pairs, self.runs),
        }

    def _sound_runs(self) -> Iterator[tuple[str, dict[str, bytes]]]:
        for kind, claims in CLAIMS.items():
            command = ("discover", "claims.csv", "--kind", kind, "--out", "run")
            for outcome, folder in self.workshop.run(Case({"claims.csv": claims}, (command,))):
                assert outcome.code == 0, outcome.stderr
                files = {
                    path.relative_to(folder / "run").as_posix(): path.read_bytes()
                    for path in (folder / "run").rglob("*")
                    if path.is_file()
                }
                yield kind, {**files, "../claims.csv": claims}

    def attempt(self, part: str, case: Case, *, alone: bool = False) -> list[str]:
        """Run a case; the keys of what is wrong with it."""
        self.n_cases += 1
        keys = []
        is_sound = part not in ("runs", "parameters", "settings", "pairs")
        for outcome, folder in self.workshop.run(case, alone=alone):
            found = list(wrongs(outcome, folder))
            is_report = outcome.command[0] == "report" and "--truth" not in outcome.command
            if is_sound and outcome.code == 1 and is_report and not found:
                found.append(f"no report of a sound run: {outcome.stderr.decode(errors='replace')}")
            keys += [self.findings.add(wrong, part, case, outcome) for wrong in found]
            if outcome.code and outcome.command[0] == "discover":
                break  # there is no run for the commands that follow
        return keys

    def make(self, part: str, seed: int, n_cases: int) -> None:
        """Try cases of a part whose cases are made from numbers."""
        for number in range(n_cases):
            if time.monotonic() > self.deadline:
                return
            self.attempt(part, self.makers[part](random.Random(f"{seed} {number}")))

    def collect(self, part: str, seed: int, n_cases: int, *, small: bool = True) -> None:
        """Try cases of a part; with `small`, what is new is looked for in smaller ones, too."""
        settled = set(self.findings.of_key)
        kinds: dict[str, type[Exception]] = {}
        tries = 0

        def one(case: Case) -> None:
            nonlocal tries
            tries += bool(kinds)
            if time.monotonic() > self.deadline or tries > SHRINKS:
                raise Enough
            keys = self.attempt(part, case, alone=seed % 50 == 0)
            new = [key for key in keys if key not in settled]
            if new and small:  # hypothesis tells bugs apart by the types of errors
                raise kinds.setdefault(new[0], type("Found", (Exception,), {}))

        try:
            self._driven(one, part, seed, n_cases)
        except (Enough, *kinds.values()):
            return  # what was found is in the findings
        except (hypothesis.errors.Flaky, BaseExceptionGroup) as error:
            if "Found" not in repr(error):
                raise

    def _driven(self, one: Callable[[Case], None], part: str, seed: int, n_cases: int) -> None:
        drive = settings(
            max_examples=n_cases,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        hypothesis.seed(seed)(drive(given(self.parts[part])(one)))()
