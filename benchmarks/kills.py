"""Kill a stream at random moments, and compare its end with that of a stream that was left alone.

    python benchmarks/kills.py [KILLS] [FOLDER]

A child process judges claims and writes a snapshot after every few hundred of them. It reports the
number of each snapshot. After a random time it is killed (SIGKILL), and another child goes on with
the snapshot. At the end, nothing may be lost or counted twice: a snapshot never has fewer claims
than were reported, and the last fit must be equal, bit for bit, to that of a stream without kills.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import veracity
from veracity.fit.fitted import Fitted

SOURCES, VALUES, LEARN_EVERY, SAVE_EVERY = 12, 3, 4_000, 300

Claim = tuple[str, str, str]


def claim(number: int) -> Claim:
    """Return the claim with this number, the same in every process."""
    rng = random.Random(number)
    item, source = rng.randrange(number, number + 60) // 12, rng.randrange(SOURCES)
    is_right = rng.random() < 0.95 - 0.04 * source
    return (
        f"s{source}",
        f"i{item}",
        f"v{(item + (not is_right) * rng.randrange(1, VALUES)) % VALUES}",
    )


def fitted() -> Fitted:
    """Learn from the first claims."""
    rows = [claim(number) for number in range(5_000)]
    table = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    found = veracity.discover(table.unique(["source", "entity"], keep="last")).fitted
    assert found is not None
    return found


def go_on(folder: Path, end: int) -> None:
    """Stream claims up to this number, from the snapshot if there is one."""
    try:
        stream = veracity.Stream.load(folder)
    except veracity.errors.UnreadableFile:
        stream = veracity.Stream(fitted(), learn_every=LEARN_EVERY)
    print("restored", stream.number, flush=True)
    while stream.number < end:
        stream.claim(*claim(10_000 + stream.number))
        if stream.number % SAVE_EVERY == 0 or stream.number == end:
            stream.save(folder)
            print("saved", stream.number, flush=True)


def main(kills: int, place: Path) -> None:
    """Kill as often as asked, let the last child end, and compare."""
    rng, folder, end = random.Random(1), place / "killed", 1_000 * kills
    saved = n_kills = 0
    while True:
        child = subprocess.Popen(
            [sys.executable, __file__, "child", str(folder), str(end)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        restored = int(child.stdout.readline().split()[1])
        assert restored >= saved, f"claim {saved} was saved, and {restored} restored"
        if n_kills < kills:
            time.sleep(rng.expovariate(1 / 0.15))
            child.send_signal(signal.SIGKILL)
        said = child.stdout.read()
        saved = max(
            [restored, *(int(line.split()[1]) for line in said.splitlines() if line[:5] == "saved")]
        )
        if child.wait() == 0:
            break
        n_kills += 1
    go_on(place / "alone", end)
    one, other = (veracity.Stream.load(place / name) for name in ("killed", "alone"))
    arrays, alone = one.fitted.to_arrays(), other.fitted.to_arrays()
    assert one.number == other.number == end
    assert arrays.keys() == alone.keys()
    assert all(np.array_equal(own, alone[name]) for name, own in arrays.items())
    left = [path for folder in place.glob(".*") for path in folder.rglob("*.parquet")]
    assert not left, f"left behind: {left}"
    print(f"{n_kills} kills, {end:,} claims: nothing was lost, and nothing counted twice")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        go_on(Path(sys.argv[2]), int(sys.argv[3]))
    elif len(sys.argv) > 2:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, Path(folder))
