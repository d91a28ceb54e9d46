"""Statements of the paper on small seeded studies; where one does not hold, what does instead.

The paper has 10,000 datasets, these studies have 100 with few items: what is said here is what was
found with seeds 0, 1 and 2 alike, not what one of them happens to show.
"""

from __future__ import annotations

import polars as pl
import pytest

from veracity.study import SensitivityStudy, SyntheticStudy, carry_out
from veracity.study.paper import paper_table
from veracity.study.synthetic import MACHINES, PAPER_ALGORITHMS
from veracity.synthetic import Ranges, Synthetic

pytestmark = pytest.mark.slow

DATASETS = 100


@pytest.fixture(scope="module")
def rows():
    ranges = Ranges(items=(40, 400))
    study = SyntheticStudy(datasets=DATASETS, ranges=ranges, claims=(100, 10_000))
    return carry_out(study, workers=1)


@pytest.fixture(scope="module")
def overall(rows):
    """Mean accuracy and its standard deviation, by algorithm."""
    summed = rows.group_by("algorithm").agg(
        mean=pl.col("accuracy").mean(), std=pl.col("accuracy").std(ddof=0)
    )
    return {row["algorithm"]: row for row in summed.iter_rows(named=True)}


def thirds(rows, characteristic, algorithm):
    """Mean accuracy in the third of the datasets with least of something, up to that with most."""
    ordered = rows.filter(pl.col("algorithm") == algorithm).sort(characteristic)
    size = len(ordered) // 3
    return [part["accuracy"].mean() for part in ordered.head(3 * size).iter_slices(size)]


@pytest.mark.parametrize("machine", MACHINES)
def test_ltd_rbm_is_above_voting_on_average(overall, machine):
    assert overall[machine]["mean"] > overall["majority-vote"]["mean"]


def test_the_two_ways_to_train_ltd_rbm_are_as_right_as_each_other(overall):
    exact, sampled = overall["ltd-rbm"], overall["ltd-rbm-cd"]
    assert exact["mean"] == pytest.approx(sampled["mean"], abs=0.01)
    assert exact["std"] == pytest.approx(sampled["std"], abs=0.01)


@pytest.mark.parametrize("other", ["mle", "two-estimates"])
def test_ltd_rbm_is_steadier_than_mle_and_two_estimates(overall, other):
    assert overall["ltd-rbm"]["std"] < overall[other]["std"]


def test_ltd_rbm_and_ltm_are_as_steady_as_each_other(overall):
    """The paper has LTD-RBM steadier by 0.001; here its sign changes with the seed."""
    assert overall["ltd-rbm"]["std"] == pytest.approx(overall["ltm"]["std"], abs=0.01)


@pytest.mark.parametrize("other", ["ltd-rbm", "mle", "ltm", "two-estimates"])
def test_voting_is_the_steadiest_as_in_the_paper(overall, other):
    assert overall["majority-vote"]["std"] < overall[other]["std"]


@pytest.mark.parametrize("characteristic", ["normalized_entropy", "copied_claim_frequency"])
@pytest.mark.parametrize("algorithm", PAPER_ALGORITHMS)
def test_accuracy_falls_with_entropy_and_with_copying(rows, algorithm, characteristic):
    least, _, most = thirds(rows, characteristic, algorithm)
    assert most < least


@pytest.mark.parametrize("algorithm", [*PAPER_ALGORITHMS, "oracle"])
def test_accuracy_rises_with_that_of_the_sources(rows, algorithm):
    least, middle, most = thirds(rows, "mean_source_accuracy", algorithm)
    assert least < middle < most


@pytest.mark.parametrize("algorithm", PAPER_ALGORITHMS)
def test_the_oracle_is_a_ceiling(rows, overall, algorithm):
    """On average by far; on single small datasets luck may lift an algorithm above it."""
    assert overall[algorithm]["mean"] < overall["oracle"]["mean"] - 0.05
    wide = rows.pivot(on="algorithm", index="dataset", values="accuracy")
    assert (wide[algorithm] > wide["oracle"]).mean() <= 0.1


def test_who_knows_the_copies_is_above_who_does_not(overall):
    assert overall["oracle of copies"]["mean"] > overall["oracle"]["mean"]


# --- the initial false positive rate -------------------------------------------------------------


@pytest.fixture(scope="module")
def by_fpr(tmp_path_factory):
    """By algorithm and dataset the accuracies, from low to high initial fpr; sources copy."""
    folders = [tmp_path_factory.mktemp("copied") for _ in range(6)]
    parameters = Synthetic(
        items=200, values=30, accuracy=0.6, accuracy_variability=4.0, copying=0.6,
        copy_frequency=0.9, copy_variability=30.0,
    )  # fmt: skip
    for seed, folder in enumerate(folders):
        drawn = parameters.draw(seed)
        drawn.claims.write_parquet(folder / "claims.parquet")
        drawn.truth.write_parquet(folder / "truth.parquet")
    study = SensitivityStudy(
        datasets=tuple(map(str, folders)), algorithms=("ltd-rbm", "mle", "ltm"), parameters=("fpr",)
    )
    rows = carry_out(study, workers=1).sort("setting")
    found = rows.group_by("algorithm", "dataset", maintain_order=True).agg("accuracy")
    return {
        name: found.filter(pl.col("algorithm") == name)["accuracy"].to_list()
        for name in study.algorithms
    }


def n_broken(curves):
    """On how many datasets some start ends with less than half of what the best one finds."""
    return sum(min(curve) < max(curve) / 2 for curve in curves)


def test_ltd_rbm_is_flat_in_the_initial_fpr(by_fpr):
    assert all(max(curve) - min(curve) < 0.1 for curve in by_fpr["ltd-rbm"])


def test_ltm_breaks_down_where_the_initial_fpr_is_high(by_fpr):
    assert n_broken(by_fpr["ltm"]) >= 4
    assert all(curve[-1] == min(curve) or curve[-2] == min(curve) for curve in by_fpr["ltm"])


def test_mle_hardly_ever_breaks_down(by_fpr):
    """The paper's does on flights, from low starts and from high ones; not on these claims."""
    assert n_broken(by_fpr["mle"]) <= 1
    n_flat = sum(max(curve) - min(curve) < 0.02 for curve in by_fpr["mle"])
    assert n_flat >= 5


# --- the paper's own numbers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "mean"),
    [("majority-vote", 0.707), ("ltd-rbm-cd", 0.714), ("mle", 0.716), ("ltm", 0.715),
     ("two-estimates", 0.682)],
)  # fmt: skip
def test_the_means_of_the_paper_follow_from_its_figure(algorithm, mean):
    study = SyntheticStudy(datasets=1, ranges=Ranges(items=(20, 40)), claims=(10, 1000))
    overall = study.tables(carry_out(study, workers=1))["overall"]
    assert overall.row(by_predicate=pl.col("algorithm") == algorithm, named=True)[
        "paper"
    ] == pytest.approx(mean, abs=5e-4)


def test_the_paper_draws_the_same_datasets_three_times():
    table = paper_table("accuracy_vs_characteristic")
    counts = table.group_by("characteristic", "algorithm").agg(pl.col("datasets").sum())
    assert counts["datasets"].is_between(9_990, 10_000).all()
