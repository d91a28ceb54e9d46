"""``python -m attack``: try to break the program, for as long as one likes."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from attack.battery import Battery
from attack.case import Findings
from attack.kills import kills
from attack.workshop import Workshop


def main() -> int:
    """Attack until the time is over; the exit code is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="for how long (5)")
    parser.add_argument("--seed", type=int, default=0, help="where randomness starts (0)")
    parser.add_argument("--cases", type=int, default=40, help="cases of a part at a time (40)")
    parser.add_argument("--part", action="append", help="only this part; may be given repeatedly")
    parser.add_argument("--out", type=Path, help="folder for findings (a new one)")
    told = parser.parse_args()
    out = told.out or Path(tempfile.mkdtemp(prefix="attack-findings-"))
    findings, rng, started = Findings(out), random.Random(told.seed), time.monotonic()
    with Workshop() as workshop:
        battery = Battery(workshop, findings, started + 60.0 * told.minutes)
        known = [*battery.makers, "kills"]
        if unknown := sorted(set(told.part or ()) - set(known)):
            sys.exit(f"no part {unknown[0]!r}; there are {', '.join(known)}")
        try:
            while time.monotonic() < battery.deadline:
                for part in told.part or known:
                    if part == "kills":
                        kills(battery, rng)
                    else:
                        battery.make(part, rng.randrange(2**32), told.cases)
                    print(f"\r{battery.n_cases} cases, {len(findings.times)} findings ", end="")
                    sys.stdout.flush()
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
        signals = ", ".join(f"{times} {what}" for what, times in sorted(battery.tried.items()))
        done = f"{battery.n_cases} cases ({signals or 'no signal'}), {workshop.n_commands} commands"
    minutes = (time.monotonic() - started) / 60.0
    n_found = len(findings.times)
    print(f"\n{done}, {minutes:.1f} minutes, seed {told.seed}: {n_found} distinct findings")
    if n_found:
        print(f"{findings.summary()}\n\neach with its files and command.sh in {out}")
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main())
