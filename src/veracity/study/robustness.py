"""The paper's table 3: hyperparameters that are best for one dataset, applied to the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import Judged, name_of, read_dataset
from veracity.study.figures import table_figure
from veracity.study.measure import measure
from veracity.study.paper import paper_table
from veracity.study.settings import GRID, MACHINES_AND_RIVALS, parameters_of, with_settings

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure

SEARCH, APPLY = "search", "apply"

NOT_OPTIMISED = frozenset({"batch_size"})
"""Hyperparameters that the paper does not optimise."""

PAPER_NAME = {
    "flight_raw": "flight_raw",
    "flight_prep": "flight_raw normalised",
    "weather_raw": "weather_raw",
    "weather_prep": "weather_raw normalised",
}


@dataclass(frozen=True, kw_only=True)
class RobustnessStudy(StudyOfDatasets):
    """Optimise hyperparameters for each dataset, then apply every optimum to every dataset.

    Parameters
    ----------
    datasets
        Folders with claims and truth; ``+normalised`` behind one has its values normalised.
    algorithms
        Names of the algorithms.
    coarse
        Try every second value of the grid only: faster, but an optimum may be missed.
    seed
        Where the randomness of the algorithms starts.
    """

    name: ClassVar[str] = "robustness"
    title: ClassVar[str] = "How far an optimum on one dataset serves another"
    about: ClassVar[str] = (
        "For each algorithm and dataset, one hyperparameter at a time is set to its best value "
        "while the others stay, until none changes any more (the alternating scheme of the paper); "
        "the known truth tells what is best. Every optimum is then applied to every dataset. This "
        "is a measure of robustness, not a way to choose parameters: where truth is known there "
        "is nothing to discover."
    )

    algorithms: tuple[str, ...] = MACHINES_AND_RIVALS
    coarse: bool = False
    seed: int = 0

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """Return the searches first, then the application of each optimum to every dataset."""
        # The optima are part of the tasks' names: a search that finds others makes other tasks.
        pairs = [(a, d) for d in self.datasets for a in self.algorithms]
        searches = [f"{SEARCH} {algorithm} {dataset}" for algorithm, dataset in pairs]
        if rows.is_empty() or not set(searches) <= set(rows["task"]):
            return searches
        found = rows.filter("is_optimum")
        setting = dict(zip(found["task"], found["setting"], strict=True))
        return searches + [
            json.dumps([APPLY, algorithm, name_of(origin), json.loads(setting[search]), target])
            for target in self.datasets
            for search, (algorithm, origin) in zip(searches, pairs, strict=True)
        ]

    def do(self, task: str) -> list[Row]:
        """Search the optimum on one dataset, or apply one to another dataset."""
        if not task.startswith(SEARCH):
            _, algorithm, origin, setting, folder = json.loads(task)
            data = read_dataset(folder)
            measured = measure(
                data.encoded, data.truth, with_settings(algorithm, setting, self.seed)
            )
            applied = {"algorithm": algorithm, "optimized_for": origin, "dataset": data.name}
            return [{**applied, "setting": json.dumps(setting), **measured._asdict()}]
        _, algorithm, folder = task.split(" ", maxsplit=2)
        data = read_dataset(folder)
        best, tried = optimise(data, algorithm, self.seed, coarse=self.coarse)
        return [
            {
                "algorithm": algorithm,
                "dataset": data.name,
                "setting": setting,
                "accuracy": right,
                "is_optimum": setting == best,
            }
            for setting, right in tried.items()
        ]

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return table 3 in long form, its mean, standard deviation and maximum, and the optima."""
        applied = rows.drop_nulls("optimized_for").select(
            "algorithm", "optimized_for", "dataset", "accuracy"
        )
        keys = ["algorithm", "optimized_for", "dataset"]
        both = applied.join(_paper_rows(), on=keys, how="left", maintain_order="left")
        summed = both.group_by("algorithm", "dataset", maintain_order=True).agg(
            *_summed("accuracy", ""), *_summed("paper_accuracy", "paper_")
        )
        optima = rows.filter("is_optimum").select("algorithm", "dataset", "accuracy", "setting")
        tried = rows.drop_nulls("is_optimum").group_by("algorithm", "dataset").agg(tried=pl.len())
        optima = optima.join(tried, on=["algorithm", "dataset"], maintain_order="left")
        return {"robustness": summed, "optimization_dependency": both, "optima": optima}

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, Figure]:
        """Return table 3 as a figure."""
        title = "Accuracy with the hyperparameters that are best for another dataset"
        return {"optimization_dependency": table_figure(tables["optimization_dependency"], title)}

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Return the mean, standard deviation and maximum of each algorithm on each dataset."""
        return [
            f"{row['dataset']}: {row['algorithm']} has mean {row['mean']:.3f}, standard deviation "
            f"{row['std']:.3f}, maximum {row['max']:.3f}"
            + (
                ""
                if row["paper_mean"] is None
                else f" (the paper: {row['paper_mean']:.3f}, {row['paper_std']:.3f}, "
                f"{row['paper_max']:.3f})"
            )
            for row in tables["robustness"]
            .sort("dataset", maintain_order=True)
            .iter_rows(named=True)
        ]


def optimise(
    data: Judged, name: str, seed: int = 0, *, coarse: bool = False
) -> tuple[str, dict[str, float]]:
    """Return the best setting found by the alternating scheme, and all accuracies.

    Settings are JSON texts, so that they can be compared and stored. A coarse search tries every
    second value of the grid.
    """
    parameters = [p for p in parameters_of(name) if p not in NOT_OPTIMISED]
    every = 2 if coarse else 1
    tried: dict[str, float] = {}

    def right(setting: dict[str, float]) -> float:
        key = json.dumps(setting, sort_keys=True)
        if key not in tried:
            tried[key] = measure(
                data.encoded, data.truth, with_settings(name, setting, seed)
            ).accuracy
        return tried[key]

    best: dict[str, float] = {}
    right(best)  # the defaults: all there is to try where an algorithm has no hyperparameters
    while True:
        before = best
        for parameter in parameters:
            options = [best, *({**best, parameter: value} for value in GRID[parameter][::every])]
            best = max(options, key=right)  # the first of equals: what need not change stays
        if best == before:
            return json.dumps(best, sort_keys=True), tried


def _paper_rows() -> pl.DataFrame:
    """Return the paper's table 3 in long form, as shares."""
    table = paper_table("optimization_dependency").with_columns(
        pl.col("optimized_for").replace_strict(PAPER_NAME)
    )
    long = table.unpivot(
        index=["algorithm", "optimized_for"], variable_name="dataset", value_name="percent"
    )
    return long.select(
        "algorithm",
        "optimized_for",
        pl.col("dataset").replace_strict(PAPER_NAME),
        paper_accuracy=pl.col("percent") / 100.0,
    )


def _summed(column: str, prefix: str) -> list[Any]:
    of = pl.col(column)
    return [
        of.mean().alias(f"{prefix}mean"),
        of.std(ddof=0).alias(f"{prefix}std"),
        of.max().alias(f"{prefix}max"),
    ]
