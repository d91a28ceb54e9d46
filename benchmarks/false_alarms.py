"""Measure how often honest sources are named as copiers, and how often copiers are found.

Each cell is a design: sources, items, claims an item, labels (0: values local to an item), and what
makes independent sources agree. `null` cells have no copier: a draw in which any pair is named is a
false alarm. In `planted` cells a block of sources takes a share of its claims from one hidden
source; only draws in which its pairs share 20 mistakes or more (the median) count, and the block is
found if one of its pairs is named. A pair with an outsider is a false accusation.

The thresholds of `veracity.dependence.naming` were set with seeds below 1,000 on designs like
these. The figures of the pages are of seed 2,026.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

import veracity
from veracity.api import prepare
from veracity.checks.pairing import named_pairs

SEED = 2_026

PORTION = 10
"""Draws that are begun together."""

MISTAKES = 20
"""Shared mistakes of the median pair of a block from which it should be found."""


@dataclass(frozen=True)
class Cell:
    """A design of which claims are drawn."""

    sources: int
    items: int
    claims: int
    labels: int
    accuracy: tuple[float, float] = (0.6, 0.95)
    skew: float = 1.0
    """Each label is so many times as frequent as the next; errors are as frequent."""
    hard: float = 0.0
    """Share of items on which accuracies fall half the way to chance."""
    lures: float = 0.0
    """Share of items on which all who err name the same value, and most err."""
    biased: bool = False
    """Each source prefers a label: it is better on it, and names it when it errs."""
    confused: bool = False
    """Each label is mistaken for one other, four times in five."""
    batches: bool = False
    """Items are handed out twenty at a time, and whole batches are hard."""
    diligence: float = 0.0
    """The k-th most diligent source makes claims as 1 / k to this power."""
    falses: int = 20
    """False values of an item, where values are open."""
    popular: float = 0.0
    """The k-th false value is as popular as 1 / k to this power."""
    block: float = 0.0
    """Share of the sources that copy."""
    copied: float = 1.0
    """Share of its claims that each of them copies."""
    block_accuracy: float | None = None


def cells() -> dict[str, Cell]:
    """List the designs, by name."""
    found: dict[str, Cell] = {"null: the issue": Cell(25, 500, 4, 3, (0.9, 0.9))}
    sizes = [(5, 50, 5), (5, 500, 4), (5, 5000, 5), (8, 200, 4), (12, 1000, 12), (25, 500, 2),
             (25, 5000, 3), (25, 5000, 5), (40, 50, 12), (100, 1000, 12),
             (200, 5000, 12)]  # fmt: skip
    for n, items, claims in sizes:
        for labels in (2, 3, 0):
            found[f"null: {n} x {items} x {claims}, {_of(labels)}"] = Cell(n, items, claims, labels)
    for labels in (2, 3, 5, 10):
        for accuracy in ((0.5, 0.6), (0.9, 0.98)):
            cell = Cell(25, 500, 5, labels, accuracy)
            found[f"null: 25 x 500 x 5, {_of(labels)}, accuracy {accuracy[0]} to {accuracy[1]}"] = (
                cell
            )
    for n, items, claims in ((5, 5000, 5), (12, 1000, 12), (25, 2000, 5)):
        start = f"null: {n} x {items} x {claims}"
        two, some, free = (Cell(n, items, claims, labels, (0.5, 0.95)) for labels in (2, 4, 0))
        found |= {
            f"{start}, 2 labels 95:5": replace(two, skew=19.0),
            f"{start}, 4 skewed labels": replace(some, skew=3.0),
            f"{start}, 2 labels, hard items": replace(two, hard=0.3),
            f"{start}, 10 labels, hard items": replace(some, labels=10, hard=0.3),
            f"{start}, 4 labels, lures": replace(some, lures=0.15),
            f"{start}, 2 labels, biased": replace(two, biased=True),
            f"{start}, 4 labels, biased": replace(some, biased=True),
            f"{start}, 4 labels, confused": replace(some, confused=True),
            f"{start}, 3 labels, hard batches": replace(some, labels=3, batches=True, hard=0.3,
                                                        claims=min(claims, n // 2 + 1)),
            f"{start}, 3 labels, uneven diligence": replace(some, labels=3, diligence=1.0,
                                                            claims=min(claims, n // 2)),
            f"{start}, open, 2 false values": replace(free, falses=2),
            f"{start}, open, 1000 false values": replace(free, falses=1000),
            f"{start}, open, popular false values": replace(free, popular=1.5),
            f"{start}, open, hard items": replace(free, hard=0.3),
            f"{start}, open, lures": replace(free, lures=0.15),
            f"{start}, open, good sources": replace(free, accuracy=(0.95, 0.98)),
        }  # fmt: skip
    for labels in (2, 3, 0):
        for block in (0.25, 0.35, 0.5):
            cell, start = Cell(12, 600, 6, labels, (0.6, 0.9), block=block), f"planted {block:.0%}"
            found |= {
                f"{start}: 12 x 600 x 6, {_of(labels)}": cell,
                f"{start}: 12 x 600 x 6, {_of(labels)}, 90 % copied": replace(cell, copied=0.9),
                f"{start}: 30 x 2500 x 8, {_of(labels)}, 90 % copied":
                    replace(cell, sources=30, items=2500, claims=8, copied=0.9),
                f"{start}: 30 x 2500 x 8, {_of(labels)}, 70 % copied":
                    replace(cell, sources=30, items=2500, claims=8, copied=0.7),
                f"{start}: 12 x 1000 x 12, {_of(labels)}, bad":
                    replace(cell, items=1000, claims=12, block_accuracy=0.45),
                f"{start}: 12 x 5000 x 4, {_of(labels)}, good":
                    replace(cell, items=5000, claims=4, accuracy=(0.92, 0.98)),
                f"{start}: 12 x 1000 x 6, {_of(labels)}, hard items":
                    replace(cell, items=1000, hard=0.3),
                f"{start}: 100 x 5000 x 12, {_of(labels)}":
                    replace(cell, sources=100, items=5000, claims=12),
            }  # fmt: skip
    return found


def _of(labels: int) -> str:
    return f"{labels} labels" if labels else "open"


def draw(cell: Cell, seed: tuple[int, ...]) -> tuple[pl.DataFrame, np.ndarray, float]:
    """Draw claims; return them, who is in the block, and its pairs' median of shared mistakes."""
    rng = np.random.default_rng(seed)
    n, n_items, k = cell.sources, cell.items, min(cell.claims, cell.sources)
    n_values = cell.labels or cell.falses + 1
    chance = 1.0 / cell.labels if cell.labels else 0.2
    activity = rng.permutation(-cell.diligence * np.log(np.arange(1.0, n + 1.0)))
    batch = np.arange(n_items) // (20 if cell.batches else 1)
    keys = (activity + rng.gumbel(size=(batch[-1] + 1, n)))[batch]
    source = np.argpartition(-keys, k - 1, axis=1)[:, :k]
    item = np.repeat(np.arange(n_items)[:, None], k, axis=1)
    accuracy = rng.uniform(*cell.accuracy, n)
    is_copier = np.zeros(n, dtype=bool)
    if cell.block:
        is_copier[rng.permutation(n)[: max(round(cell.block * n), 2)]] = True
        hidden_accuracy = cell.block_accuracy or float(accuracy[is_copier][0])
        accuracy[is_copier] = cell.block_accuracy or accuracy[is_copier]
    share = cell.skew ** -np.arange(float(n_values)) if cell.labels else np.ones(n_values)
    share /= share.sum()
    true = rng.choice(n_values, n_items, p=share) if cell.labels else np.zeros(n_items, dtype=int)
    popularity = np.arange(1.0, n_values) ** -cell.popular
    popularity /= popularity.sum()
    hard = (rng.random(batch[-1] + 1) < cell.hard)[batch]
    lured = rng.random(n_items) < cell.lures
    lure = (true + rng.integers(1, n_values, n_items)) % n_values
    favourite = rng.integers(n_values, size=n)

    def says(right: np.ndarray, item: np.ndarray, liked: np.ndarray) -> np.ndarray:
        truth = true[item]
        if cell.biased:
            right = np.where(liked == truth, right + np.minimum(1.0 - right, 0.2), right - 0.15)
        right = np.where(hard[item], (right + chance) / 2.0, right)
        right = np.where(lured[item], 1.0 - right, right)
        other = (truth + rng.integers(1, n_values, truth.shape)) % n_values
        wrong = other
        if not cell.labels:
            wrong = 1 + rng.choice(n_values - 1, truth.shape, p=popularity)
        elif cell.biased:
            wrong = np.where(liked == truth, other, liked)
        elif cell.confused:
            wrong = np.where(rng.random(truth.shape) < 0.8, truth ^ 1, other)
        elif cell.skew > 1.0:
            drawn = rng.choice(n_values, truth.shape, p=share)
            wrong = np.where(drawn == truth, other, drawn)
        wrong = np.where(lured[item], lure[item], wrong)
        return np.where(rng.random(truth.shape) < right, truth, wrong)

    value, shared = says(accuracy[source], item, favourite[source]), 0.0
    if cell.block:
        everything = np.arange(n_items)
        hidden = says(np.full(n_items, hidden_accuracy), everything, np.full(n_items, favourite[0]))
        is_copied = is_copier[source] & (rng.random(source.shape) < cell.copied)
        value = np.where(is_copied, hidden[item], value)
        said = np.full((n_items, n), -1)
        said[item, source] = np.where(value == true[item], -1, value)
        copiers = np.flatnonzero(is_copier)
        pairs = [(said[:, a] == said[:, b]) & (said[:, a] >= 0)
                 for a in copiers for b in copiers if a < b]  # fmt: skip
        shared = float(np.median(np.sum(pairs, axis=1)))
    named = value.ravel() if cell.labels else value.ravel() + item.ravel() * n_values
    claims = pl.DataFrame({"source": source.ravel(), "entity": item.ravel(), "value": named})
    return claims.with_columns(pl.col("value").cast(pl.String)), is_copier, shared


def look(
    cell: Cell, algorithm: str, through_all: int, seed: tuple[int, ...]
) -> tuple[float, ...] | None:
    """Name pairs in one draw: return whether the block is found, and pairs with outsiders.

    Of the default's first draws everything that names pairs is asked, and must name the same.
    """
    claims, is_copier, shared = draw(cell, seed)
    if cell.block and shared < MISTAKES:
        return None
    if algorithm != "veracity":
        named = veracity.discover(claims, algorithm, kind="categorical").copies
        one, other = (named[of].cast(pl.Int64).to_numpy() for of in ("source", "original"))
    else:
        encoded = prepare(claims, kind="categorical").encoded
        pairs = named_pairs(encoded, threads=1)
        number = encoded.names.sources.cast(pl.Int64).to_numpy()
        one, other = number[pairs.source], number[pairs.original]
    if algorithm == "veracity" and seed[-1] < through_all:
        result = veracity.discover(claims, kind="categorical")
        told = result.copies.select("source", "original").cast(pl.Int64).rows()
        assert told == list(zip(one.tolist(), other.tolist(), strict=True))
        assert veracity.profile(claims, kind="categorical").pairs.equals(result.copies)
        assert ("near-copies" in result.findings["name"]) == bool(told)
        vote = veracity.check(veracity.discover(claims, "majority-vote", kind="categorical"))
        assert told or not any(one.name == "near-copies" for one in vote.findings)
    is_within = is_copier[one] & is_copier[other]
    members = np.unique(np.append(one[is_within], other[is_within]))
    return (float(is_within.any()), len(members) / max(is_copier.sum(), 1),
            float(len(one) > is_within.sum()), shared)  # fmt: skip


def main() -> None:
    """Print a row per cell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--cells", default="", help="only cells whose name has this")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--algorithm", default="veracity", help="or accu-copy, which names pairs")
    through = "draws of each cell that go through discover, profile and check"
    parser.add_argument("--through-all", type=int, default=2, help=through)
    parser.add_argument("--processes", type=int, default=2)
    at_most = "seconds after which a cell begins no further draws"
    parser.add_argument("--seconds", type=float, default=float("inf"), help=at_most)
    asked = parser.parse_args()
    print("| design | draws | anybody falsely named | block found | of its members |")
    print("|---|---:|---:|---:|---:|", flush=True)
    with ProcessPoolExecutor(asked.processes) as pool:
        for number, (name, cell) in enumerate(cells().items()):
            if asked.cells not in name:
                continue
            seeds = [(asked.seed, number, draw) for draw in range(asked.draws)]
            end, told = time.monotonic() + asked.seconds, list[tuple[float, ...] | None]()
            for first in range(0, len(seeds), PORTION):
                if time.monotonic() < end:
                    portion = seeds[first : first + PORTION]
                    told += pool.map(
                        partial(look, cell, asked.algorithm, asked.through_all), portion
                    )
            rows = np.array([row for row in told if row is not None]).reshape(-1, 4)
            found = (
                f"{rows[:, 0].mean():.3f} | {rows[:, 1].mean():.2f}"
                if cell.block and len(rows)
                else " | "
            )
            false = f"{rows[:, 2].mean():.4f}" if len(rows) else ""
            print(f"| {name} | {len(rows)} | {false} | {found} |", flush=True)


if __name__ == "__main__":
    main()
