"""Measure what known truths and questions are worth, and how honest the estimate is.

``python benchmarks/questions.py [--part random|asked|findings] [--families NAME ...]
[--data FOLDER] [--draws 200] [--seconds 300] [--seed 2026] [--processes 1]``

Families are drawn anew in each draw; of real sets the known items are. Accuracy is in points, on
the items whose truth was not given.

``random``: 20 and 80 known truths at random, against none. ``asked``: `result.questions`, ten at a
time, against as many at random, on the items that neither gave; and in every third draw the
estimate from the answers, with its 90 % interval.
``findings``: attributes that are named as turned over, and by mistake.

A cell is worse if its interval lies below -.3 points: 95 %, by Holm's method over all cells of a
table. FOLDER holds the data sets of docs/data-sets.md.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of several processes would wait

import numpy as np
import polars as pl

import veracity
from veracity.checks.ranking import turned_over

KNOWN = (20, 80)
BATCH, BUDGETS, ESTIMATED = 10, (10, 20, 40, 80), (20, 40, 80)
LIMIT = -0.3
SETS = ("flight_raha", "weather_raw", "crowd_bluebird", "crowd_rte", "crowd_web", "llm_emotion")
MOST_ITEMS = 2_000
"""Items of a real set that take part, drawn once: those whose truth is known."""


class Drawn(NamedTuple):
    """Claims with the truth of all their items."""

    claims: pl.DataFrame
    truth: pl.DataFrame
    kind: str | None = None
    tolerance: float = 0.0
    """By how much an estimated number may differ from the truth."""


Family = Callable[[np.random.Generator], Drawn]


# --- families -------------------------------------------------------------------------------------


def claimed(value, rng, *, share=0.9, labels=False, attributes=True):
    """Return claims and truth of values [topic, item, source]; 0 is true, some are not claimed."""
    is_claimed = rng.random(value.shape) < share
    is_claimed[..., 0] |= ~is_claimed.any(axis=-1)
    topic, item, source = np.nonzero(is_claimed)
    shift = rng.integers(0, 3, value.shape[:2]) if labels else np.zeros(value.shape[:2], np.int64)
    n_labels = 3 if labels else 1_000

    def named(columns, topic, item, own):
        own = (own + shift[topic, item]) % n_labels
        text = pl.format("{}", "own") if labels else pl.format("{}-{}-{}", "topic", "item", "own")
        frame = pl.DataFrame({**columns, "topic": topic, "item": item, "own": own})
        keys = [pl.format("item {}", "item").alias("entity")]
        keys += [pl.format("topic {}", "topic").alias("attribute")] if attributes else []
        return frame.select(*columns, *keys, text.alias("value"))

    all_topics, all_items = (own.ravel() for own in np.indices(value.shape[:2]))
    claims = named({"source": source}, topic, item, value[topic, item, source])
    return claims, named({}, all_topics, all_items, np.zeros(len(all_items), np.int64))


def said(rng, accuracy, shape, n_false):
    """Return values of sources that are right so often, else wrong in one of so many ways."""
    right = rng.random((*shape, len(accuracy))) < accuracy
    return np.where(right, 0, rng.integers(1, n_false + 1, right.shape))


def topics(rng, *, believe=0.0, n_biased=5, labels=False, n_sources=8, n_topics=6, n_items=80):
    """Sources of one accuracy each; on the first topic some share a wrong belief on most items."""
    accuracy = rng.uniform(0.6, 0.9, n_sources)
    value = said(rng, accuracy, (n_topics, n_items), 2 if labels else 3)
    wrong = rng.random((n_items, n_biased)) < believe
    value[0, :, :n_biased][wrong] = 1
    return Drawn(*claimed(value, rng, labels=labels))


def suppliers(rng, *, n_honest=3, n_copiers=1, n_items=400):
    """Honest suppliers, one that is mostly wrong, and others that copy nearly all of its list."""
    accuracy = np.append(rng.uniform(0.55, 0.8, n_honest), rng.uniform(0.3, 0.45))
    value = said(rng, accuracy, (2, n_items // 2), 8)
    own = said(rng, np.full(n_copiers, 0.6), value.shape[:2], 8)
    copies = np.where(rng.random(own.shape) < 0.95, value[..., -1:], own)
    return Drawn(*claimed(np.concatenate([value, copies], axis=2), rng))


def careless_majority(rng):
    """Three careful sources among nine that are wrong more often than not, all in one way."""
    accuracy = np.append(rng.uniform(0.85, 0.95, 3), rng.uniform(0.3, 0.45, 6))
    return Drawn(*claimed(said(rng, accuracy, (2, 200), 1), rng))


def crowd(rng, *, n_items=500, n_workers=25, per_item=5, is_hard=0.0):
    """Workers who give one of three labels; on hard items they are hardly better than chance."""
    accuracy = rng.uniform(0.5, 0.9, n_workers)
    value = said(rng, accuracy, (1, n_items), 2)
    guess = said(rng, np.full(n_workers, 0.43), (1, n_items), 2)
    value = np.where((rng.random((1, n_items)) < is_hard)[..., None], guess, value)
    claims, truth = claimed(value, rng, share=1.0, labels=True, attributes=False)
    shuffled = claims.sample(fraction=1.0, shuffle=True, seed=int(rng.integers(1 << 31)))
    return Drawn(shuffled.group_by("entity", maintain_order=True).head(per_item), truth)


def hard_items(rng):
    """Ten sources; one item in three is hard for all, and one value tempts."""
    value = said(rng, rng.uniform(0.7, 0.95, 10), (2, 200), 4)
    hard = said(rng, rng.uniform(0.3, 0.5, 10), (2, 200), 1)
    return Drawn(*claimed(np.where((rng.random((2, 200)) < 1 / 3)[..., None], hard, value), rng))


def many_sources(rng):
    """Two hundred sources with about eight claims each."""
    value = said(rng, rng.uniform(0.4, 0.9, 200), (1, 400), 3)
    return Drawn(*claimed(value, rng, share=0.02, attributes=False))


def five_names(rng):
    """One feed of flights under five names."""
    flights = veracity.synthetic.flights(n_flights=150, seed=int(rng.integers(1 << 31)))
    worst = flights.claims.filter(source="hoppit")
    copies = [worst.with_columns(source=pl.lit(f"copy {n}")) for n in range(4)]
    return Drawn(pl.concat([flights.claims, *copies]), flights.truth)


def facts(rng):
    """Twelve sources call 400 facts true or false; some say yes too easily, others no."""
    truth = rng.random(400) < 0.4
    tpr, fpr = rng.uniform(0.5, 0.95, 12), rng.uniform(0.05, 0.5, 12)
    says = rng.random((400, 12)) < np.where(truth[:, None], tpr, fpr)
    fact, source = np.nonzero(rng.random(says.shape) < 0.6)
    name = pl.format("fact {}", "fact")
    claims = pl.DataFrame({"source": source, "fact": fact, "claim": says[fact, source]})
    true = pl.DataFrame({"fact": np.arange(400), "claim": truth}).join(claims, "fact", "semi")
    return Drawn(claims.with_columns(fact=name), true.with_columns(fact=name), "binary")


def several_truths(rng):
    """Ten sources list the members of 250 groups: some forget, some add."""
    truth = rng.random((250, 6)) < 0.45
    truth[:, 0] = True
    tpr, fpr = rng.uniform(0.4, 0.95, 10), rng.uniform(0.02, 0.3, 10)
    says = rng.random((250, 6, 10)) < np.where(truth[..., None], tpr, fpr)
    group, member, source = np.nonzero(says)
    names = pl.format("group {}", "group"), pl.format("{}-{}", "group", "member")
    claims, true = (
        pl.DataFrame({**columns, "group": g, "member": m})
        .select(*columns, entity=names[0], value=names[1])
        for columns, g, m in (({"source": source}, group, member), ({}, *np.nonzero(truth)))
    )  # fmt: skip
    return Drawn(claims, true.join(claims, on=["entity", "value"], how="semi"), "multiple")


def numbers(rng):
    """Ten meters; six of them share a bias, as after one wrong calibration."""
    truth = rng.normal(0.0, 10.0, 300)
    spread = rng.uniform(0.3, 2.0, 10)
    value = truth[:, None] + rng.normal(0.0, 1.0, (300, 10)) * spread
    value[:, :6] += rng.uniform(0.5, 1.5, 6)
    item, source = np.nonzero(rng.random(value.shape) < 0.8)
    claims = pl.DataFrame({"source": source, "entity": item, "value": value[item, source]})
    true = pl.DataFrame({"entity": np.arange(300), "value": truth})
    return Drawn(claims, true, "numeric", tolerance=0.5)


FAMILIES: dict[str, Family] = {
    "no bias": topics,
    "belief on a topic, strong": partial(topics, believe=0.8),
    "belief on a topic, weak": partial(topics, believe=0.4),
    "belief on a topic, labels": partial(topics, believe=0.8, labels=True),
    "five suppliers, one copies": suppliers,
    "three copiers": partial(suppliers, n_honest=5, n_copiers=3),
    "careless majority": careless_majority,
    "three labels": crowd,
    "three labels, hard items": partial(crowd, is_hard=1 / 3),
    "hard items": hard_items,
    "many sources, few claims": many_sources,
    "flights, five names": five_names,
}
OTHER_KINDS: dict[str, Family] = {
    "facts": facts, "several truths": several_truths, "numbers": numbers,
}  # fmt: skip
"""Questions were measured on values alone; known truths are on these, too."""

FINDINGS: dict[str, tuple[Family, frozenset[str]]] = {
    name: (FAMILIES[name], frozenset(("topic 0",) if "belief" in name else ()))
    for name in list(FAMILIES)[:4]
} | {
    name: (partial(topics, n_biased=0, **design), frozenset())
    for name, design in {
        "no bias, labels": {"labels": True},
        "no bias, 5 sources, 30 attributes": {"n_sources": 5, "n_topics": 30, "n_items": 40},
        "no bias, 20 sources, 20 attributes": {"n_sources": 20, "n_topics": 20, "n_items": 60},
        "no bias, 40 sources, 3 attributes": {"n_sources": 40, "n_topics": 3, "n_items": 200},
    }.items()
}


def read_set(folder: Path) -> Drawn | None:
    """Read the items of a real set whose truth is known and claimed; None if it is not there."""
    if not folder.is_dir():
        return None
    claims, truth = (pl.read_parquet(folder / f"{name}.parquet") for name in ("claims", "truth"))
    keys = ["entity", "attribute"]
    truth = truth.unique(keys, keep="none", maintain_order=True)
    truth = truth.join(claims, on=keys, how="semi", maintain_order="left")
    truth = truth.sample(min(MOST_ITEMS, len(truth)), seed=1)
    return Drawn(claims.join(truth, on=keys, how="semi", maintain_order="left"), truth)


# --- measuring ------------------------------------------------------------------------------------


def discovered(drawn: Drawn, known: pl.DataFrame | None = None, seed: int = 0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return veracity.discover(
            drawn.claims, kind=drawn.kind, known=known, seed=seed, engine=veracity.Local(threads=1)
        )


def items_of(drawn: Drawn) -> pl.DataFrame:
    names = [name for name in ("entity", "attribute", "fact") if name in drawn.truth.columns]
    return drawn.truth.select(names).unique(maintain_order=True)


def right_of_items(drawn: Drawn, result: Any) -> np.ndarray:
    """Return for each item how far the answer is right: of several facts, the share."""
    items = items_of(drawn)
    keys = items.columns
    if drawn.kind in ("multiple", "binary"):
        own = [*keys, "value"] if drawn.kind == "multiple" else keys
        true = drawn.truth.with_columns(true=pl.col("claim") if "claim" in drawn.truth else True)
        judged = result.facts.join(true, on=own, how="left").with_columns(
            right=(pl.col("plausibility") > 0.5) == pl.col("true").fill_null(False)
        )
        found = judged.group_by(keys).agg(pl.col("right").cast(pl.Float64).mean())
    else:
        both = drawn.truth.join(result.truths, on=keys, how="left", suffix="_found")
        right = pl.col("value") == pl.col("value_found")
        if drawn.kind == "numeric":
            right = (pl.col("value") - pl.col("value_found")).abs() <= drawn.tolerance
        found = both.select(*keys, right=right.fill_null(False).cast(pl.Float64))
    return items.join(found, on=keys, how="left", maintain_order="left")["right"].to_numpy()


def in_points(right: np.ndarray, before: np.ndarray, is_known: np.ndarray) -> float:
    return float(100.0 * (right[~is_known].mean() - before[~is_known].mean()))


def draw_random(drawn: Drawn, seed: Sequence[int]) -> dict[str, float]:
    """Give known truths at random; return the gain on the other items for each number of them."""
    items, before = items_of(drawn), right_of_items(drawn, discovered(drawn))
    order = np.random.default_rng([*seed, 1]).permutation(len(items))
    gains = {"without": float(100.0 * before.mean())}
    for n in KNOWN:
        if 2 * n > len(items):
            continue
        is_known = np.isin(np.arange(len(items)), order[:n])
        known = drawn.truth.join(items.filter(is_known), on=items.columns, how="semi")
        gains[f"{n} known"] = in_points(
            right_of_items(drawn, discovered(drawn, known)), before, is_known
        )
    return gains


def draw_asked(drawn: Drawn, seed: Sequence[int]) -> dict[str, float]:
    """Answer questions, ten at a time, and as many items at random; estimate from the former."""
    items = items_of(drawn).with_row_index("number")
    keys = items.columns[1:]
    first = discovered(drawn, seed=seed[-1])
    before, result, known, asked = right_of_items(drawn, first), first, [], []
    order = np.random.default_rng([*seed, 1]).permutation(len(items))
    told: dict[str, float] = {}
    while len(asked) < min(max(BUDGETS), len(items) // 2):
        batch = result.questions(BATCH).drop("values", "why")
        batch = batch.join(drawn.truth, on=keys, how="left", maintain_order="left")
        if batch.is_empty():
            break
        known.append(batch)
        asked += batch.join(items, on=keys, how="left")["number"].to_list()
        result = discovered(drawn, pl.concat(known), seed[-1])
        n = len(asked)
        if n not in BUDGETS:
            continue
        is_asked = np.isin(np.arange(len(items)), asked)
        right = right_of_items(drawn, result)
        is_known = np.isin(np.arange(len(items)), order[:n])
        at_random = drawn.truth.join(items.filter(is_known), on=keys, how="semi")
        plain = right_of_items(drawn, discovered(drawn, at_random, seed[-1]))
        told[f"{n} asked"] = in_points(right, before, is_asked)
        told[f"{n} at random"] = in_points(plain, before, is_known)
        told[f"{n} difference"] = in_points(right, plain, is_asked | is_known)
        told[f"{n} right"] = float(100.0 * right[~is_asked].mean())
        is_estimated = n in ESTIMATED and seed[-1] % 3 == 0
        if is_estimated and (estimate := result.estimate()).right is not None:
            true = right[~is_asked].mean()
            told[f"{n} covered"] = float(estimate.low <= true <= estimate.high)
            told[f"{n} width"] = estimate.high - estimate.low
            told[f"{n} low"], told[f"{n} high"] = estimate.low, estimate.high
            told[f"{n} estimated"], told[f"{n} enough"] = estimate.right, float(estimate.is_enough)
    return told


def draw_findings(drawn: Drawn, seed: Sequence[int]) -> dict[str, float]:
    """Count the topics that are named, rightly and wrongly."""
    result = discovered(drawn)
    named = set(turned_over(result.encoded, result.plausibility_by_block)["attribute"])
    return {"topic 0": float("topic 0" in named), "others": float(bool(named - {"topic 0"}))}


PARTS = {"random": draw_random, "asked": draw_asked, "findings": draw_findings}


def family_of(part: str, name: str) -> Family:
    return FINDINGS[name][0] if part == "findings" else {**FAMILIES, **OTHER_KINDS}[name]


def measured(
    part: str, name: str, folder: str, draws: int, seconds: float, seed: int
) -> tuple[str, list[dict[str, float]]]:
    """Return what is measured in each draw of a family, as far as there is time."""
    found, end = list[dict[str, float]](), time.process_time() + seconds
    real = read_set(Path(folder) / name) if name in SETS else None
    if real is None and name in SETS:
        return name, found
    for number in range(draws):
        own = [seed, number]
        drawn = real or family_of(part, name)(np.random.default_rng(own))
        found.append(PARTS[part](drawn, own))
        if time.process_time() > end:
            break
    return name, found


# --- telling --------------------------------------------------------------------------------------


class Cell(NamedTuple):
    mean: float
    error: float
    low: float
    high: float


def intervals(draws: dict[Any, list[float]], limit: float = LIMIT) -> dict[Any, Cell]:
    """Return the mean of each cell with its interval: 95 % for all, by Holm's step-down method.

    Cells are taken by how far they lie below the limit, in standard errors. The k-th of m has the
    level 1 - .05 / (m - k + 1), until one is not below; the others have the level of that one.
    """
    cells = {}
    for key, own in draws.items():
        error = float(np.std(own, ddof=1) / np.sqrt(len(own))) if len(own) > 1 else float("inf")
        cells[key] = (float(np.mean(own)), error)
    order = sorted(cells, key=lambda key: (cells[key][0] - limit) / max(cells[key][1], 1e-9))
    found, n_left = {}, len(order)
    for key in order:
        mean, error = cells[key]
        z = NormalDist().inv_cdf(1.0 - 0.05 / (2 * n_left))
        found[key] = Cell(mean, error, mean - z * error, mean + z * error)
        n_left -= found[key].high < limit and n_left > 1
    return found


def table(head: Sequence[str], rows: Iterator[Sequence[Any]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def told_gains(found: dict[str, list[dict[str, float]]], wanted: Sequence[str]) -> str:
    """Return a table of gains in points with corrected intervals, and the cells that are worse."""
    draws = {
        (name, what): [one[what] for one in own if what in one]
        for name, own in found.items()
        for what in wanted
        if any(what in one for one in own)
    }
    cells = intervals(draws)

    def shown(name: str, what: str) -> str:
        if (name, what) not in cells:
            return "-"
        cell = cells[name, what]
        return f"{cell.mean:+.1f} ({cell.low:+.1f} to {cell.high:+.1f})"

    rows = (
        [name, len(own), *(shown(name, what) for what in wanted)] for name, own in found.items()
    )
    pooled = [
        np.mean([cell.mean for (_, own), cell in cells.items() if own == what]) for what in wanted
    ]
    worse = [f"{name}, {what}" for (name, what), cell in cells.items() if cell.high < LIMIT]
    lines = table(["", "draws", *wanted], rows)
    lines += f"\n| mean | | {' | '.join(f'{one:+.2f}' for one in pooled)} |"
    return lines + f"\n\nworse by more than {-LIMIT} points: {'; '.join(worse) or 'none'}"


def told_means(found: dict[str, list[dict[str, float]]], wanted: Sequence[str], form: str) -> str:
    def mean(own: list[dict[str, float]], what: str) -> str:
        values = [one[what] for one in own if what in one]
        return format(np.mean(values), form) if values else "-"

    rows = ([name, len(own), *(mean(own, what) for what in wanted)] for name, own in found.items())
    return table(["", "draws", *wanted], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, default="random")
    parser.add_argument("--families", nargs="*", default=[])
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300.0, help="of the CPU, for a family")
    parser.add_argument("--seed", type=int, default=2_026)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", help="CSV file with a row per draw")
    given = parser.parse_args()
    names = list(FINDINGS) if given.part == "findings" else [*FAMILIES, *SETS]
    names += list(OTHER_KINDS) if given.part == "random" else []
    names = given.families or names
    with ProcessPoolExecutor(given.processes) as pool:
        work = [
            pool.submit(
                measured, given.part, name, given.data, given.draws, given.seconds, given.seed
            )
            for name in names
        ]
        found = {}
        for one in work:
            name, found[name] = one.result()
            if given.out:
                rows = [
                    {"family": own, "draw": n, **row}
                    for own in found
                    for n, row in enumerate(found[own])
                ]
                pl.DataFrame(rows, infer_schema_length=None).write_csv(given.out)
    print("".join(f"{name} is not there: skipped\n" for name, own in found.items() if not own))
    found = {name: own for name, own in found.items() if own}
    if given.part == "random":
        print(
            told_means(found, ["without"], ".1f"),
            told_gains(found, [f"{n} known" for n in KNOWN]),
            sep="\n\n",
        )
    elif given.part == "findings":
        print(told_means(found, ["topic 0", "others"], ".2f"))
    else:
        for what in ("difference", "asked", "at random"):
            print(f"{what}, points\n\n{told_gains(found, [f'{n} {what}' for n in BUDGETS])}\n")
        wanted = [f"{n} {what}" for what in ("covered", "width", "enough") for n in ESTIMATED]
        print(told_means(found, [f"{n} right" for n in BUDGETS], ".1f"))
        print(told_means(found, wanted, ".2f"), sep="\n")


if __name__ == "__main__":
    main()
