"""``python -m attack``: the battery, for as long as one likes."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from attack.battery import Battery
from attack.findings import Findings
from attack.kills import kills
from attack.workshop import Workshop


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="for how long (5)")
    parser.add_argument("--seed", type=int, default=0, help="where randomness starts (0)")
    parser.add_argument("--cases", type=int, default=40, help="cases of a part at a time (40)")
    parser.add_argument("--part", action="append", help="only this part; may be given repeatedly")
    parser.add_argument("--out", type=Path, help="folder for findings (a new one)")
    return parser.parse_args()


def main() -> int:
    """Attack until the time is over; 1 if anything was found."""
    options = _arguments()
    out = options.out or Path(tempfile.mkdtemp(prefix="attack-findings-"))
    findings = Findings(out)
    started = time.monotonic()
    with Workshop() as workshop:
        battery = Battery(workshop, findings, started + 60.0 * options.minutes)
        try:
            _attack(battery, options)
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
        minutes = (time.monotonic() - started) / 60.0
        tried = ", ".join(f"{times} {what}" for what, times in sorted(battery.tried.items()))
        done = f"{battery.n_cases} cases ({tried or 'no signal'}), {workshop.n_commands} commands"
    n_found = len(findings.of_key)
    print(f"\n{done}, {minutes:.1f} minutes, seed {options.seed}: {n_found} distinct findings")
    if findings.of_key:
        print(f"{findings.summary()}\n\neach with its files and command.sh in {out}")
    return int(bool(findings.of_key))


def _attack(battery: Battery, options: argparse.Namespace) -> None:
    rng = random.Random(options.seed)
    known = [*battery.makers, *battery.parts, "kills"]
    wanted = options.part or known
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        sys.exit(f"no part {unknown[0]!r}; there are {', '.join(known)}")
    while True:
        for name in wanted:
            if time.monotonic() > battery.deadline:
                return
            if name == "kills":
                kills(battery, rng)
            elif name in battery.makers:
                battery.make(name, rng.randrange(2**32), options.cases)
            else:
                battery.collect(name, rng.randrange(2**32), options.cases)
            print(f"\r{battery.n_cases} cases, {len(battery.findings.of_key)} findings ", end="")
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
