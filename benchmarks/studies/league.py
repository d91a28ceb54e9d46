"""All algorithms on all datasets: who is best where nobody tuned anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from command import typed

from veracity.algorithms import CATALOGUE, Algorithm, algorithm_named
from veracity.errors import ParameterError
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import Judged, read_dataset
from veracity.study.measure import answered, measure, right_and_sure

VOTE = "majority-vote"

BEST_ELSEWHERE = "best elsewhere"
"""Who chooses, for each dataset, the algorithm that is best on the mean of all others."""

ALL_WITHOUT_NUMBERS = tuple(
    name for name, entry in CATALOGUE.items() if "categorical" in entry.make().kinds
)


@dataclass(frozen=True, kw_only=True)
class LeagueStudy(StudyOfDatasets):
    """Every algorithm, with its default parameters, on every dataset.

    Parameters
    ----------
    datasets
        Folders with claims and truth; ``+normalised`` behind one has its values normalised.
    algorithms
        Which algorithms, by name; majority voting takes part in any case.
    known, draws
        Also tell each algorithm so many truths, drawn at random so many times. Nobody is told more
        than half of what can be known.
    seed
        Where the drawing starts; the default parameters hold the seeds of the algorithms.
    """

    name: ClassVar[str] = "league"
    title: ClassVar[str] = "All algorithms on all datasets"
    about: ClassVar[str] = (
        "Every algorithm judges every dataset with its default parameters. Ranks count from 1, "
        "those who are equal share theirs; who cannot take a dataset is last on it, and it is left "
        "out of that one's means. The worst loss is the largest by which majority voting is more "
        "accurate on one dataset. 'Best elsewhere' is who takes, on each dataset, the algorithm "
        "that is best on the others: what a choice by data would give. Where truths are told, "
        "'known' has the accuracies on all other items, without and with them."
    )
    measures_time: ClassVar[bool] = True

    algorithms: tuple[str, ...] = ALL_WITHOUT_NUMBERS
    known: int = 0
    draws: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.known < 0 or self.draws < 1:
            raise ParameterError("study: known must be at least 0, and draws at least 1")

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """One task per dataset."""
        return list(self.datasets)

    def do(self, task: str) -> list[Row]:
        """Let every algorithm judge one dataset."""
        named = {name: algorithm_named(name) for name in dict.fromkeys((VOTE, *self.algorithms))}
        return [self._row(task, name, algorithm) for name, algorithm in named.items()]

    def _row(self, folder: str, name: str, algorithm: Algorithm[Any]) -> Row:
        """One algorithm on one dataset; without measures where it cannot take it."""
        data = read_dataset(folder)
        row: Row = {"dataset": data.name, "algorithm": name}
        try:
            row |= measure(data.encoded, data.truth, algorithm)._asdict()
            return row | (self._told(data, algorithm) if self.known else {})
        except ParameterError:
            return {**row, "accuracy": None, "calibration_error": None, "seconds": None}

    def _told(self, data: Judged, algorithm: Algorithm[Any]) -> Row:
        """How right it is on what it is not told, without and with some truths: means of draws."""
        can_know = data.can_know
        n_told = min(self.known, int(can_know.sum()) // 2)
        without = right_and_sure(data.truth, answered(data.encoded, algorithm)[1])[0]
        before, after = [], []
        for draw in range(self.draws):
            is_told = np.zeros_like(can_know)
            rng = np.random.default_rng([self.seed, draw])
            is_told[rng.permutation(np.flatnonzero(can_know))[:n_told]] = True
            others = ~is_told[can_know]
            found = right_and_sure(
                data.truth, answered(data.with_known_truths(is_told), algorithm)[1]
            )[0]
            before.append(float(without[others].mean()))
            after.append(float(found[others].mean()))
        return {"others_before": float(np.mean(before)), "others": float(np.mean(after))}

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The league, and the accuracy of each on each dataset."""
        vote = rows.filter(pl.col("algorithm") == VOTE).select("dataset", vote="accuracy")
        league = pl.concat([rows, _best_elsewhere(rows)], how="diagonal")
        tables = {
            "league": _summed(league, vote).sort("accuracy", descending=True),
            "accuracy_by_dataset": _spread(league, "accuracy"),
        }
        return tables | ({"known": _without_and_with(rows)} if self.known else {})

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """One sentence per algorithm, the best first."""
        return [
            f"{row['algorithm']}: accuracy {row['accuracy']:.3f} on average, mean rank "
            f"{row['rank']:.1f}, {_against_voting(row['worst_loss'])}"
            for row in tables["league"].iter_rows(named=True)
        ]


def _against_voting(worst_loss: float | None) -> str:
    """How much less accurate than voting it is where it is worst.

    >>> _against_voting(0.0123), _against_voting(-0.003)
    ('up to 0.012 less accurate than voting', 'nowhere less accurate than voting')
    """
    if worst_loss is None or worst_loss < 0.0005:
        return "nowhere less accurate than voting"
    return f"up to {worst_loss:.3f} less accurate than voting"


def _summed(rows: pl.DataFrame, vote: pl.DataFrame) -> pl.DataFrame:
    """One row per algorithm: means over the datasets, rank, and the worst loss against voting."""
    right = pl.col("accuracy").fill_null(-1.0).round(9)
    rows = rows.join(vote, on="dataset", how="left", maintain_order="left").with_columns(
        rank=right.rank("average", descending=True).over("dataset"),
        loss=pl.col("vote") - pl.col("accuracy"),
    )
    return rows.group_by("algorithm", maintain_order=True).agg(
        datasets=pl.col("accuracy").count(),
        accuracy=pl.col("accuracy").mean(),
        rank=pl.col("rank").mean(),
        worst_loss=pl.col("loss").max(),
        calibration_error=pl.col("calibration_error").mean(),
        seconds=pl.col("seconds").sum(),
    )


def _best_elsewhere(rows: pl.DataFrame) -> pl.DataFrame:
    """For each dataset, the row of the algorithm with the best mean on all others."""
    full = pl.col("accuracy").count().over("algorithm") == pl.col("dataset").n_unique()
    able = rows.filter(full)
    n_others = pl.col("accuracy").count().over("algorithm") - 1
    elsewhere = (pl.col("accuracy").sum().over("algorithm") - pl.col("accuracy")) / n_others
    able = able.with_columns(elsewhere=elsewhere).filter(n_others > 0)
    best = able.sort("elsewhere", descending=True, maintain_order=True)
    best = best.unique("dataset", keep="first", maintain_order=True)
    return best.drop("elsewhere").with_columns(algorithm=pl.lit(BEST_ELSEWHERE))


def _spread(rows: pl.DataFrame, measure: str) -> pl.DataFrame:
    return rows.pivot("dataset", index="algorithm", values=measure)


def _without_and_with(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per algorithm; of each dataset the accuracy on the others, without and with truths.

    An algorithm that can take none of the datasets has no row.
    """
    before, after = (_spread(rows, measure) for measure in ("others_before", "others"))
    names = before.columns[1:]
    both = before.join(after, on="algorithm", suffix=" with known", maintain_order="left")
    both = both.select("algorithm", *(own for n in names for own in (n, f"{n} with known")))
    return both.filter(pl.any_horizontal(pl.all().exclude("algorithm").is_not_null()))


if __name__ == "__main__":
    typed(LeagueStudy)
