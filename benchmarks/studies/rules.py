"""Measure what rules between facts bring: on synthetic statements, on flights, and their cost.

The statements follow CoBayes (Kasneci, Van Gael, Herbrich, Graepel: Bayesian Knowledge
Corroboration with Logical Rules and User Feedback, ECML PKDD 2010): each is true or false, rules
connect those of an entity, and assessors of unknown expertise say which are true.

    python benchmarks/studies/rules.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import polars as pl

import veracity

STATEMENTS = [f"s{n}" for n in range(1, 9)]

RULES = [
    {"when": {"s1": "true"}, "then": {"s2": "true"}},
    {"when": {"s2": "true"}, "then": {"s3": "true"}},
    {"when": {"s3": "true"}, "then": {"s4": "true"}},
    {"at_most": 1, "of": {"s4": "true", "s5": "true"}},
    {"at_most": 1, "of": {"s5": "true", "s6": "true"}},
    {"when": {"s6": "true"}, "then": {"s7": "true"}},
    {"at_most": 1, "of": {"s1": "true", "s6": "true", "s8": "true"}},
    {"when": {"s8": "true"}, "then": {"s5": "true"}},
    {"when": {"s1": "true", "s7": "true"}, "then": {"s4": "true"}},
]
WRONG = {"when": {"s7": "true"}, "then": {"s1": "true"}}
"""A tenth rule that is not among those by which truths are drawn."""

ASSIGNMENTS = np.array(list(itertools.product((0, 1), repeat=len(STATEMENTS))))


def n_broken(strength: float) -> np.ndarray:
    """Return the sum of the strengths of the rules that each assignment breaks."""
    column = {name: number for number, name in enumerate(STATEMENTS)}

    def all_of(names: dict) -> np.ndarray:
        return np.all([ASSIGNMENTS[:, column[name]] == 1 for name in names], axis=0)

    total = np.zeros(len(ASSIGNMENTS))
    for rule in RULES:
        if "at_most" in rule:
            true = np.sum([ASSIGNMENTS[:, column[name]] for name in rule["of"]], axis=0)
            total += strength * (true > rule["at_most"])
        else:
            total += strength * (all_of(rule["when"]) & ~all_of(rule["then"]))
    return total


def generate(
    seed: int, entities: int = 400, assessors: int = 20, share: float = 0.2, strength: float = 4.0,
    prevalence: float = 0.5,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """Return claims, truths, and the plausibility of "true" by the generating model itself."""
    rng = np.random.default_rng(seed)
    true = ASSIGNMENTS.sum(axis=1)
    log_prior = true * np.log(prevalence) + (len(STATEMENTS) - true) * np.log1p(-prevalence)
    log_prior = log_prior - n_broken(strength)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    truth = ASSIGNMENTS[rng.choice(len(ASSIGNMENTS), entities, p=prior)]
    expertise = rng.beta(4.0, 2.0, assessors)
    speaks = rng.random((entities, len(STATEMENTS), assessors)) < share
    is_right = rng.random(speaks.shape) < expertise
    says = np.where(is_right, truth[:, :, None], 1 - truth[:, :, None])
    weight = np.log(expertise) - np.log1p(-expertise)
    log_odds = (speaks * np.where(says == 1, weight, -weight)).sum(axis=2)
    log_joint = log_prior + log_odds @ ASSIGNMENTS.T
    joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    posterior = (joint / joint.sum(axis=1, keepdims=True)) @ ASSIGNMENTS
    e, s, a = np.nonzero(speaks)
    names = np.array(STATEMENTS)
    words = np.array(["false", "true"])
    claims = pl.DataFrame({
        "source": [f"a{n}" for n in a], "entity": [f"e{n:04}" for n in e], "attribute": names[s],
        "value": words[says[e, s, a]],
    })  # fmt: skip
    e, s = np.indices(truth.shape).reshape(2, -1)
    items = {"entity": [f"e{n:04}" for n in e], "attribute": names[s]}
    truths = pl.DataFrame({**items, "value": words[truth.ravel()]})
    return claims, truths, pl.DataFrame({**items, "p": posterior.ravel()})


def accuracy(result: veracity.Result, truths: pl.DataFrame) -> float:
    """Return the share of the claimed items with the true value."""
    keys = ["entity", "attribute"]
    found = result.truths.select(*keys, "value").join(truths.rename({"value": "truth"}), on=keys)
    return (found["value"] == found["truth"]).mean()


def way(
    seed: int, algorithm: str = "veracity", rules: list | None = None, **settings: float
) -> dict:
    """Return the accuracy without rules, with rules, and of the generating model."""
    claims, truths, exact = generate(seed, **settings)
    rules = RULES if rules is None else rules
    claimed = claims.select("entity", "attribute").unique()
    best = exact.join(claimed, on=["entity", "attribute"]).join(truths, on=["entity", "attribute"])
    is_right = (best["p"] > 0.5) == (best["value"] == "true")
    without = accuracy(veracity.discover(claims, algorithm), truths)
    result = veracity.discover(claims, algorithm, rules=rules)
    with_rules = accuracy(result, truths)
    exact = is_right.mean()
    return {
        "without": without, "with": with_rules, "exact": exact,
        "way": (with_rules - without) / (exact - without), "rules": result.rules,
    }  # fmt: skip


SETTINGS = {
    "as described": {},
    "a tenth of the statements judged": {"share": 0.1},
    "three tenths": {"share": 0.3},
    "rules of strength 2": {"strength": 2.0},
    "2,000 entities": {"entities": 2000},
}


def main() -> None:
    """Print the accuracies of the settings, and those on flights if their folder is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    for about, settings in SETTINGS.items():
        for name in ("veracity", "accu"):
            found = [way(seed, name, **settings) for seed in range(options.seeds)]
            means = [
                float(np.mean([one[k] for one in found])) for k in ("without", "with", "exact")
            ]
            share = (means[1] - means[0]) / (means[2] - means[0])
            print(f"| {about} | `{name}` |", *(f"{own:.3f} |" for own in means), f"{share:.2f} |")
    if options.data is not None:
        flights(options.data)


def flights(folder: Path) -> None:
    """Print the accuracies on flights, with and without the order of times and bounds on delays."""
    for name, (start, end, left, came) in {
        "flight_raha": ("sched_dep_time", "sched_arr_time", "act_dep_time", "act_arr_time"),
        "flight_raw": (
            "Scheduled departure", "Scheduled arrival", "Actual departure", "Actual arrival",
        ),
    }.items():  # fmt: skip
        order = [{"compare": f'"{a}" < "{b}"'} for a, b in ((start, end), (left, came))]
        delays = [
            {"compare": f'"{a}" <= "{b}" + {most}'}
            for one, other in ((start, left), (end, came))
            for a, b, most in ((one, other, 60), (other, one, 1440))
        ]
        truth = pl.read_parquet(folder / name / "truth.parquet")
        claims = str(folder / name / "claims.parquet")
        for about, rules in (("none", None), ("order", order), ("order, delays", order + delays)):
            begin = time.process_time()
            result = veracity.discover(claims, rules=rules, normalise=True)
            seconds = time.process_time() - begin
            accuracy = veracity.evaluate(result, truth).accuracy
            print(f"{name}, {about}: {accuracy:.4f}, {seconds:.1f} CPU-s", result.rules, sep="\n")


if __name__ == "__main__":
    main()
