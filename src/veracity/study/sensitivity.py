"""The paper's figure 5: accuracy against the start of one hyperparameter, the others fixed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from veracity.errors import ParameterError, UnreadableFile
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import read_dataset
from veracity.study.figures import sensitivity_figure
from veracity.study.measure import measure
from veracity.study.paper import paper_table
from veracity.study.settings import GRID, MACHINES_AND_RIVALS, parameters_of, with_settings

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure

FIGURE_5 = tuple(round(0.05 * n, 2) for n in range(1, 16))
"""The initial false positive rates of the paper's figure."""

PAPER_DATA = "flight_raw normalised"
"""Dataset of the paper's figure: its preprocessed flights."""


@dataclass(frozen=True, kw_only=True)
class SensitivityStudy(StudyOfDatasets):
    """Dependence of the accuracy on the start of an algorithm.

    Parameters
    ----------
    datasets
        Folders with claims and truth; ``+normalised`` behind one has its values normalised.
    algorithms
        Names of the algorithms.
    parameters
        Names of the hyperparameters; an algorithm without one skips it.
    coarse
        Try every second value only: faster.
    optima
        Values of the other hyperparameters, by algorithm and name of the dataset, such as ``"mle
        flights"``; by default, their usual values. `optima_in` reads the optima of a robustness
        study.
    seed
        Seed of the algorithms.
    """

    name: ClassVar[str] = "sensitivity"
    title: ClassVar[str] = "Accuracy against the choice of a hyperparameter"
    about: ClassVar[str] = (
        "One hyperparameter at a time takes other values; the others stay at their defaults, or at "
        "the optimum that a robustness study found for the dataset, as in the paper, which shows "
        "the initial false positive rate on its own preprocessed flights."
    )

    algorithms: tuple[str, ...] = MACHINES_AND_RIVALS
    parameters: tuple[str, ...] = ("fpr", "tpr", "learning_rate", "decay", "batch_size")
    coarse: bool = False
    optima: dict[str, dict[str, float]] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for parameter in self.parameters:
            if parameter not in GRID:
                raise ParameterError(f"study: no parameter {parameter!r}; there are {list(GRID)}")
        if not self.tasks(pl.DataFrame()):
            raise ParameterError(
                f"study: none of {list(self.algorithms)} has a parameter {list(self.parameters)}"
            )

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """Return one task per dataset, algorithm, hyperparameter and value."""
        return [
            f"{algorithm} {parameter} {value} {dataset}"
            for dataset in self.datasets
            for algorithm in self.algorithms
            for parameter in self.parameters
            if parameter in parameters_of(algorithm)
            for value in self._values(parameter)
        ]

    def _values(self, parameter: str) -> tuple[float, ...]:
        values = FIGURE_5 if parameter == "fpr" else GRID[parameter]
        return values[:: 2 if self.coarse else 1]

    def do(self, task: str) -> list[Row]:
        """Run one algorithm with one hyperparameter changed."""
        algorithm, parameter, value, folder = task.split(" ", maxsplit=3)
        data = read_dataset(folder)
        others = self.optima.get(f"{algorithm} {data.name}", {})
        chosen = with_settings(algorithm, {**others, parameter: float(value)}, self.seed)
        measured = measure(data.encoded, data.truth, chosen)
        setting = {"dataset": data.name, "algorithm": algorithm, "parameter": parameter}
        return [{**setting, "setting": float(value), **measured._asdict()}]

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return the accuracy by value, and its range."""
        ours = rows.drop("task", "seconds").sort("dataset", "parameter", "algorithm", "setting")
        theirs = paper_table("initial_fpr_sensitivity").select(
            "algorithm",
            dataset=pl.lit(PAPER_DATA),
            parameter=pl.lit("fpr"),
            setting=pl.col("initial_fpr").round(2),
            paper_accuracy="accuracy",
        )
        keys = ["dataset", "parameter", "algorithm", "setting"]
        both = ours.join(theirs, on=keys, how="left", maintain_order="left")
        spread = both.group_by("dataset", "parameter", "algorithm", maintain_order=True).agg(
            lowest=pl.col("accuracy").min(),
            highest=pl.col("accuracy").max(),
            paper_lowest=pl.col("paper_accuracy").min(),
            paper_highest=pl.col("paper_accuracy").max(),
        )
        return {"ranges": spread, "sensitivity": both}

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, Figure]:
        """Return one figure per dataset and hyperparameter."""
        parts = tables["sensitivity"].partition_by("dataset", "parameter", as_dict=True)
        return {
            f"{str(dataset).replace(' ', '_')}_{parameter}": sensitivity_figure(
                table, str(parameter), f"Accuracy on {dataset}"
            )
            for (dataset, parameter), table in parts.items()
        }

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Return the range of each algorithm's accuracy."""
        return [
            f"{row['dataset']}: {row['algorithm']} ranges from {row['lowest']:.3f} to "
            f"{row['highest']:.3f} with {row['parameter'].replace('_', ' ')}"
            + (
                ""
                if row["paper_lowest"] is None
                else f" (the paper: {row['paper_lowest']:.3f} to {row['paper_highest']:.3f})"
            )
            for row in tables["ranges"].iter_rows(named=True)
        ]


def optima_in(file: Path) -> dict[str, dict[str, float]]:
    """Return the settings in ``optima.csv`` of a robustness study, by algorithm and dataset."""
    try:
        table = pl.read_csv(file, glob=False).select("algorithm", "dataset", "setting")
        return {
            f"{algorithm} {dataset}": json.loads(setting)
            for algorithm, dataset, setting in table.iter_rows()
        }
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(
            f"{file}: no table of optima; it takes the file optima.csv of a robustness study"
        ) from error
