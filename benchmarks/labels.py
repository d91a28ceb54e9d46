"""The default on labels: real sets, synthetic regimes, and what each part is worth.

``python benchmarks/labels.py [--data FOLDER] [--draws 8] [--parts]`` prints accuracy (ties count in
shares) and calibration error (ten bins) of the default and the vote. ``--parts`` leaves out one
part after the other. FOLDER holds the data sets of docs/data-sets.md.
"""

from __future__ import annotations

import argparse
import math
import warnings
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

import veracity
from veracity.algorithms import Veracity
from veracity.algorithms.default import confusion

SETS = (
    *(f"llm_{name}" for name in ("judges", "tempowic", "emotion", "discourse", "conv_go_awry")),
    *(f"llm_{name}" for name in ("wiki_corpus", "ibc", "implicit_hate")),
    *(f"rules_{name}" for name in ("youtube", "yoruba")),
    *(f"crowd_{name}" for name in ("weather", "bluebird", "rte", "millionaire", "s_rel", "web")),
)

PARTS = {
    "the default": (Veracity(), {}),
    "labels as open values": (Veracity(labels=False), {}),
    "shares of labels as claimed": (Veracity(), {"SHARE_OF_JUDGED": 0.0}),
    "shares of labels as judged": (Veracity(), {"SHARE_OF_JUDGED": 2.0}),
    "always learns": (Veracity(), {"FEWEST_SHARED": -math.inf}),
    "families count in full": (Veracity(dependence=False), {}),
    "errors are independent": (Veracity(), {"CORRELATION": 0.0}),
    "without the vote": (Veracity(), {"SHARE_OF_VOTE": 0.0}),
    "half of the vote": (Veracity(), {"SHARE_OF_VOTE": 0.5}),
}


def items(rng, n_items=500, n_sources=25, per_item=5, n_labels=3, accuracy=(0.5, 0.9), share=None):
    """Draw who claims what: sources, items, true labels, accuracies, and a false label for each."""
    share = np.full(n_labels, 1 / n_labels) if share is None else np.array(share)
    truth = rng.choice(n_labels, n_items, p=share)
    own = rng.uniform(*accuracy, n_sources)
    source = np.argsort(rng.random((n_items, n_sources)), axis=1)[:, :per_item].ravel()
    item = np.repeat(np.arange(n_items), per_item)
    true = truth[item]
    wrong = (true + rng.integers(1, n_labels, len(true))) % n_labels
    return source, item, truth, own[source], wrong


def independent(rng, **how):
    source, item, truth, right, wrong = items(rng, **how)
    return source, item, np.where(rng.random(len(item)) < right, truth[item], wrong), truth


def hard(rng):
    source, item, truth, right, wrong = items(rng)
    is_hard = (rng.random(len(truth)) < 1 / 3)[item]
    right = np.where(is_hard, 0.43, np.minimum(right + 0.1, 0.98))
    return source, item, np.where(rng.random(len(item)) < right, truth[item], wrong), truth


def misleading(rng):
    source, item, truth, right, wrong = items(rng, accuracy=(0.7, 0.95))
    misleads = (rng.random(len(truth)) < 0.2)[item]
    tempting = ((truth + rng.integers(1, 3, len(truth))) % 3)[item]
    right = np.where(misleads, 0.35, right)
    wrong = np.where(misleads & (rng.random(len(item)) < 0.9), tempting, wrong)
    return source, item, np.where(rng.random(len(item)) < right, truth[item], wrong), truth


def one_sided(rng):
    source, item, truth, right, wrong = items(rng, accuracy=(0.5, 0.8))
    is_first = truth[item] == 0
    right = np.where(is_first, np.minimum(right + 0.2, 0.98), right - 0.1)
    wrong = np.where(is_first, wrong, 0)
    return source, item, np.where(rng.random(len(item)) < right, truth[item], wrong), truth


def confused_pairs(rng):
    source, item, truth, right, wrong = items(rng, n_labels=4, accuracy=(0.45, 0.8))
    wrong = np.where(rng.random(len(item)) < 0.85, truth[item] ^ 1, wrong)
    return source, item, np.where(rng.random(len(item)) < right, truth[item], wrong), truth


def copiers(rng, share):
    how = {"n_sources": 20, "per_item": 6, "accuracy": (0.6, 0.9)}
    source, item, said, truth = independent(rng, **how)
    is_right = rng.random(len(truth)) < 0.55
    original = np.where(is_right, truth, (truth + rng.integers(1, 3, len(truth))) % 3)
    is_copied = (source < round(share * 20)) & (rng.random(len(item)) < 0.95)
    return source, item, np.where(is_copied, original[item], said), truth


def labelling_functions(rng):
    truth = rng.integers(0, 2, 1500)
    parts = []
    for rule in range(12):
        covers, right = rng.uniform(0.05, 0.3), rng.uniform(0.6, 0.95)
        rate = 2.0 * covers * np.where(truth == rule % 2, right, 1.0 - right)
        fires = np.flatnonzero(rng.random(len(truth)) < rate)
        parts.append((np.full(len(fires), rule), fires, np.full(len(fires), rule % 2)))
    source, item, said = (np.concatenate(part) for part in zip(*parts, strict=True))
    return source, item, said, truth


REGIMES = {
    "independent, .6": lambda rng: independent(rng, accuracy=(0.6, 0.6)),
    "independent, .7": lambda rng: independent(rng, accuracy=(0.7, 0.7)),
    "independent, .8": lambda rng: independent(rng, accuracy=(0.8, 0.8)),
    "two labels": lambda rng: independent(rng, n_labels=2),
    "five labels": lambda rng: independent(rng, n_labels=5),
    "80:20": lambda rng: independent(rng, n_labels=2, share=(0.8, 0.2), accuracy=(0.6, 0.9)),
    "95:5": lambda rng: independent(rng, n_labels=2, share=(0.95, 0.05), accuracy=(0.6, 0.9)),
    "95:5, three claims": lambda rng: independent(
        rng, n_labels=2, share=(0.95, 0.05), accuracy=(0.6, 0.9), per_item=3
    ),
    "four skewed labels": lambda rng: independent(rng, n_labels=4, share=(0.6, 0.25, 0.1, 0.05)),
    "one-sided bias": one_sided,
    "confused pairs": confused_pairs,
    "copiers, a quarter": lambda rng: copiers(rng, 0.25),
    "copiers, 40 %": lambda rng: copiers(rng, 0.4),
    "copiers, half": lambda rng: copiers(rng, 0.5),
    "two claims an item": lambda rng: independent(rng, per_item=2),
    "five claims a source": lambda rng: independent(rng, n_sources=500),
    "hard items": hard,
    "misleading items": misleading,
    "labelling functions": labelling_functions,
}


def as_frames(drawn):
    source, item, said, truth = drawn
    text = [pl.Series(column).cast(pl.String) for column in (source, item, said)]
    claims = pl.DataFrame(dict(zip(("source", "entity", "value"), text, strict=True)))
    known = pl.DataFrame({"entity": np.arange(len(truth)), "value": truth}).cast(pl.String)
    return claims, known.join(claims, on="entity", how="semi")


def scored(claims, truth, algorithm):
    """Return accuracy and calibration error; labels that tie for the answer count in shares."""
    facts = veracity.discover(claims, algorithm).facts
    keys = [key for key in ("entity", "attribute") if key in facts.columns]
    p = pl.col("plausibility").round(9)
    best = facts.with_columns(p=p).filter(pl.col("p") == pl.col("p").max().over(keys))
    is_right = pl.col("true") == pl.col("value").cast(pl.String)
    found = truth.select(*keys, true=pl.col("value").cast(pl.String)).join(best, on=keys)
    items = found.group_by(keys).agg(right=is_right.mean(), p=pl.col("p").first())
    right, sure = items["right"].to_numpy(), items["p"].to_numpy()
    bins = np.minimum((sure * 10).astype(int), 9)
    off = [abs((sure - right)[bins == one].sum()) for one in range(10)]
    return right.mean(), sum(off) / len(right)


def table(title, data, algorithm):
    """Print one row per data set, and the means; return these."""
    rows = []
    for name, draws in data:
        found = [(*scored(*one, algorithm), *scored(*one, "majority-vote")) for one in draws]
        rows.append((name, *np.mean(found, axis=0)))
        print(f"{name:24}" + "".join(f"{number:8.3f}" for number in rows[-1][1:]), flush=True)
    numbers = np.array([row[1:] for row in rows])
    worst = (numbers[:, 0] - numbers[:, 2]).min()
    means = "".join(f"{number:8.4f}" for number in numbers.mean(axis=0))
    print(f"{title:24}{means}  worst against the vote {worst:+.3f}\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--parts", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = []
    if given.data is not None:
        data = [
            (name, [(given.data / name / "claims.parquet",
                     pl.read_parquet(given.data / name / "truth.parquet"))])
            for name in SETS
        ]  # fmt: skip
    seeds = [[draw, 7] for draw in range(given.draws)]
    drawn = [
        (name, [as_frames(make(np.random.default_rng(seed))) for seed in seeds])
        for name, make in REGIMES.items()
    ]
    print(" " * 24 + "     acc     ece    vote  its ece")
    for part, (algorithm, constants) in PARTS.items() if given.parts else [*PARTS.items()][:1]:
        with mock.patch.multiple(confusion, **constants) if constants else nullcontext():
            for title, sets in (("real sets", data), ("regimes", drawn)):
                if sets:
                    table(f"{part}: {title}"[:23] if not given.parts else title, sets, algorithm)
                    print(f"^ {part}\n")


if __name__ == "__main__":
    main()
