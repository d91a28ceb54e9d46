"""Measure a claim through `Stream.claim`, beside an empty method call with three arguments.

    python benchmarks/online.py [CLAIMS]

Every call is timed by itself; the median of the clock's own time is taken off for the second ratio.
Items get a claim of each of 20 sources, in random order, with four values.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings

import numpy as np
import polars as pl

import veracity

SOURCES, VALUES = 20, 4


class Empty:
    """Class with a method that does nothing."""

    def method(self, one: object, two: object, three: object) -> None:
        """Do nothing."""


def draw(first: int, items: int, *, labels: bool) -> list[tuple[str, str, str]]:
    """Draw claims of sources that are right in 60 to 95 % of them."""
    rng, rows = np.random.default_rng(first), []
    accuracy = np.linspace(0.6, 0.95, SOURCES)
    for item in range(first, first + items):
        for source in rng.permutation(SOURCES):
            wrong = int(rng.random() > accuracy[source]) * int(rng.integers(1, VALUES))
            value = (item + wrong) % VALUES
            rows.append((f"s{source}", f"i{item}", f"v{value}" if labels else f"{item}: {value}"))
    return rows


def measure(algorithm: str, n_claims: int, *, labels: bool) -> None:
    """Print the median of the times of all claims, and its ratio to an empty call."""
    names = ["source", "entity", "value"]
    learned = pl.DataFrame(draw(0, 500, labels=labels), schema=names, orient="row")
    fitted = veracity.discover(learned, algorithm).fitted
    assert fitted is not None
    stream, empty, clock = veracity.Stream(fitted, learn_every=10**9), Empty(), time.perf_counter_ns
    claims, calls, nothing = [], [], []
    for claim in draw(1_000, n_claims // SOURCES, labels=labels):
        times = [clock()]
        stream.claim(*claim)
        times.append(clock())
        empty.method(*claim)
        times += [clock(), clock()]
        for own, begin, end in zip((claims, calls, nothing), times[:-1], times[1:], strict=True):
            own.append(end - begin)
    own, call, timer = (statistics.median(one) for one in (claims, calls, nothing))
    print(
        f"{algorithm}, {'labels' if labels else 'open values'}: {own / 1e3:.2f} µs, "
        f"mean {statistics.mean(claims) / 1e3:.2f} µs; an empty call {call:.0f} ns: "
        f"{own / call:.0f} times, {(own - timer) / max(call - timer, 1):.0f} without the clock"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    n_claims = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    measure("veracity", n_claims, labels=False)
    measure("veracity", n_claims, labels=True)
    measure("ltd-rbm", n_claims, labels=False)
    measure("mle", n_claims // 20, labels=False)
