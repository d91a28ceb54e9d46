"""Make cases, run them, and keep what is wrong."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attack import chains, options
from attack.case import Case, Findings
from attack.verdict import wrongs
from attack.workshop import Workshop, files_in

CLAIMS = {
    "categorical": b"source,entity,attribute,value\na,x,p,1\nb,x,p,2\nc,x,p,1\na,a,p,3\nb,a,q,4\n",
    "multiple": b"source,entity,value\na,x,1\nb,x,2\nc,x,1\na,a,3\nb,a,4\na,a,4\n",
    "binary": b"source,fact,claim\na,x,true\nb,x,false\nc,x,true\na,a,false\nb,a,true\n",
    "numeric": b"source,entity,value\na,x,1.5\nb,x,2\nc,x,1\na,a,3\nb,a,4\nc,a,1e6\n",
}
"""Small claims of each kind, whose runs are tampered with."""

MAY_REFUSE = ("runs", "parameters", "settings", "pairs")
"""Parts whose runs need not be sound: the report may refuse them."""


class Battery:
    """Cases of all parts through all commands, until a time."""

    def __init__(self, workshop: Workshop, findings: Findings, deadline: float) -> None:
        self.workshop, self.findings, self.deadline = workshop, findings, deadline
        self.n_cases = 0
        self.tried: Counter[str] = Counter()
        self.made: dict[str, dict[str, bytes]] = {}
        self.runs = dict(self._sound_runs())
        self.makers: Mapping[str, Callable[[random.Random], Case]] = {
            "chains": chains.chains,
            "hostile": chains.hostile,
            "settings": chains.settings,
            "shapes": chains.shapes,
            "pairs": partial(options.pairs, self.runs),
            "parameters": partial(options.parameters, self.runs),
            "runs": partial(options.tampered, self.runs),
        }

    def _sound_runs(self) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Yield the files of a run of each kind, with its claims."""
        for kind, claims in CLAIMS.items():
            command = ("discover", "claims.csv", "--kind", kind, "--out", "run")
            for outcome, folder in self.workshop.run(Case({"claims.csv": claims}, (command,))):
                assert outcome.code == 0, outcome.stderr
                yield kind, files_in(folder)

    def make(self, part: str, seed: int, n_cases: int) -> None:
        """Try cases of a part."""
        for number in range(n_cases):
            if time.monotonic() > self.deadline:
                return
            case = self.makers[part](random.Random(f"{part} {seed} {number}"))
            self.n_cases += 1
            for outcome, folder in self.workshop.run(case, alone=number % 50 == 49):
                found = list(wrongs(outcome, folder))
                is_report = outcome.command[0] == "report" and "--truth" not in outcome.command
                if part not in MAY_REFUSE and outcome.code == 1 and is_report and not found:
                    said = outcome.stderr.decode(errors="replace")
                    found = [f"no report of a sound run: {said}"]
                for wrong in found:
                    self.findings.add(wrong, part, case, outcome)
                if outcome.code and outcome.command[0] == "discover":
                    break  # there is no run for the commands that follow
