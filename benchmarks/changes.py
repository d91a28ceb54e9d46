"""Measure how soon a change of a source is noticed, and how often one is reported wrongly.

    python benchmarks/changes.py [DRAWS]

Every draw learns from 1,000 items with all claims of 20 sources that are right in 60 to 95 % of
their claims, and then updates with batches of items. In the first table one source changes with the
first update. In the second none does, in a thousand claims of each source.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import veracity

SOURCES, VALUES, LEARNED = 20, 5, 1_000

Accuracies = list[float]


def draw(rng: np.random.Generator, accuracy: Accuracies, first: int, items: int) -> pl.DataFrame:
    """Draw a claim of every source on each item; an error is any of the other values."""
    shape = (items, len(accuracy))
    wrong = (rng.random(shape) > accuracy) * rng.integers(1, VALUES, shape)
    value = (rng.integers(VALUES, size=(items, 1)) + wrong) % VALUES
    item = np.repeat(np.arange(first, first + items), len(accuracy))
    return pl.DataFrame({
        "source": np.tile([f"s{n}" for n in range(len(accuracy))], items),
        "entity": [f"item {n}" for n in item],
        "value": [f"{n} {v}" for n, v in zip(item, value.ravel(), strict=True)],
    })  # fmt: skip


def followed(
    rng: np.random.Generator, before: float, after: float, size: int, claims: int
) -> pl.DataFrame:
    """Return the history of a draw in which the first source changes with the first update."""
    others = rng.uniform(0.6, 0.95, SOURCES - 1).tolist()
    fitted = veracity.discover(draw(rng, [before, *others], 0, LEARNED)).fitted
    assert fitted is not None
    for first in range(LEARNED, LEARNED + claims, size):
        fitted = fitted.update(draw(rng, [after, *others], first, size)).fitted
        assert fitted is not None
    assert fitted.history is not None
    return fitted.history.filter(pl.col("change").is_not_null())


def main(draws: int) -> None:
    """Print both tables."""
    print("before after batch within   found  wrongly (of the other sources)")
    for before, after, size, claims in (
        (0.9, 0.3, 10, 50), (0.9, 0.3, 25, 50), (0.85, 0.7, 10, 300), (0.85, 0.7, 50, 300),
        (0.7, 0.85, 50, 300),
    ):  # fmt: skip
        found = [
            followed(np.random.default_rng([1, n, size]), before, after, size, claims)
            for n in range(draws)
        ]
        own = np.mean([(one["source"] == "s0").any() for one in found])
        wrongly = sum(int((one["source"] != "s0").sum()) for one in found)
        others = draws * (SOURCES - 1) * claims
        print(
            f"{before:6} {after:5} {size:5} {claims:6} {own:7.1%}  {wrongly} in {others:,} claims"
        )
    for size in (10, 50, 200):
        n = draws if size > 10 else draws // 4
        alarms = sum(
            len(followed(np.random.default_rng([2, k, size]), 0.8, 0.8, size, 1_000))
            for k in range(n)
        )
        rate = alarms / (n * SOURCES)
        print(f"no change, batches of {size}: {alarms} alarms in {n * SOURCES:,} sources with "
              f"1,000 claims each ({rate:.2%})")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
