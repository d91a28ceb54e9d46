"""The paper's figure 3: seconds against the number of claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from veracity.algorithms import algorithm_named
from veracity.errors import ParameterError
from veracity.study.base import Row, Study
from veracity.study.figures import runtime_figure
from veracity.study.measure import measure
from veracity.study.paper import paper_table
from veracity.study.synthetic import PAPER_ALGORITHMS, SyntheticStudy

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure

CLAIMS_PER_ITEM = 10

VOTE = "majority-vote"
"""Algorithm with which the others are compared."""

LEAST_TO_GROW = 1000
"""Smallest number of claims from which growth is measured. With fewer, fixed costs dominate."""


@dataclass(frozen=True, kw_only=True)
class RuntimeStudy(Study):
    """Runtime of each algorithm, from encoded claims to plausibilities, on one thread.

    Parameters
    ----------
    algorithms
        Names of the algorithms.
    least, most
        Approximate numbers of claims of the smallest and the largest dataset.
    steps
        Number of sizes, evenly spaced on a logarithmic scale.
    repeats
        Number of times that each is timed; the median counts.
    seed
        Seed of random numbers.
    """

    name: ClassVar[str] = "runtime"
    title: ClassVar[str] = "Run time against the number of claims"
    about: ClassVar[str] = (
        "Each algorithm runs from the same encoded claims to the plausibility of every fact, on "
        "one thread, after a first run that is not counted (compiled code is loaded then). Seconds "
        "are of the processor, and the median of the repeats counts. The paper measured in 2018 "
        "on a machine it does not name: compare slopes and order, not seconds."
    )
    measures_time: ClassVar[bool] = True

    algorithms: tuple[str, ...] = PAPER_ALGORITHMS
    least: int = 100
    most: int = 1_000_000
    steps: int = 9
    repeats: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("least", "steps", "repeats"):
            if getattr(self, name) < 1:
                raise ParameterError(f"study: {name} must be at least 1")
        if self.most < self.least:
            raise ParameterError(f"study: most must be at least {self.least:,}, which is least")

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """Return one task per size and algorithm."""
        sizes = np.unique(np.geomspace(self.least, self.most, self.steps).round().astype(int))
        return [f"{name} {size}" for size in sizes for name in self.algorithms]

    def do(self, task: str) -> list[Row]:
        """Time one algorithm on one dataset."""
        name, size = task.split()
        items = max(round(int(size) / CLAIMS_PER_ITEM), 1)
        fixed = {"sources": 20, "items": items, "frequency": 0.5, "values": 4, "accuracy": 0.7}
        sizes = SyntheticStudy(fixed=fixed | {"copying": 0.2}, seed=self.seed, claims=(1, 1 << 40))
        data = sizes.draw(0)
        algorithm = algorithm_named(name)
        measure(data.encoded, data.truth, algorithm)
        runs = [measure(data.encoded, data.truth, algorithm) for _ in range(self.repeats)]
        return [
            {
                "algorithm": name,
                "claims": data.encoded.n_claims,
                "seconds": median(run.seconds for run in runs),
                "fastest": min(run.seconds for run in runs),
                "slowest": max(run.seconds for run in runs),
                "rounds": runs[0].rounds,
                "accuracy": runs[0].accuracy,
            }
        ]

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return the seconds by algorithm and size, and their growth."""
        ours = rows.drop("task").sort("algorithm", "claims")
        theirs = paper_table("runtime_vs_claims").select(
            "algorithm",
            claims=(10.0 ** pl.col("log10_claims")).round().cast(pl.Int64),
            paper_seconds="seconds",
        )
        both = pl.concat([ours, theirs], how="diagonal_relaxed")
        return {"growth": _growth(ours, theirs), "runtime_vs_claims": both}

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, Figure]:
        """Return figure 3, ours and the paper's."""
        return {"runtime_vs_claims": runtime_figure(tables["runtime_vs_claims"])}

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Return the time of each algorithm for a million claims, and its growth."""
        return [_sentence(row) for row in tables["growth"].iter_rows(named=True)]


def _sentence(row: Row) -> str:
    """Return one algorithm's cost, and its growth if there are enough sizes."""
    cost = (
        f"{row['algorithm']}: {row['microseconds_per_claim']:.3g} microseconds per claim at "
        f"{row['claims']:,} claims"
    )
    if row["times_vote"] is not None and row["algorithm"] != VOTE:
        cost += f", {row['times_vote']:.3g} times the vote"
    if row["exponent"] is None:
        return cost
    paper = row["paper_exponent"]
    told = "" if paper is None else f" (the paper: {paper:.2f})"
    return f"{cost}; time grows as claims to the power of {row['exponent']:.2f}{told}"


def _growth(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Return the exponent of a power law through the larger sizes, and the cost at the largest."""
    largest = ours.sort("claims").group_by("algorithm", maintain_order=True).last()
    vote = largest.filter(pl.col("algorithm") == VOTE)["seconds"]
    per_vote = pl.col("seconds") / vote[0] if len(vote) else pl.lit(None, dtype=pl.Float64)
    table = largest.select(
        "algorithm",
        "claims",
        "seconds",
        microseconds_per_claim=pl.col("seconds") / pl.col("claims") * 1e6,
        times_vote=per_vote,
    )
    paper = theirs.rename({"paper_seconds": "seconds"})
    table = table.join(_exponents(ours).rename({"power": "exponent"}), on="algorithm", how="left")
    paper = _exponents(paper).rename({"power": "paper_exponent"})
    return table.join(paper, on="algorithm", how="left").sort("algorithm")


def _exponents(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the slope of log seconds over log claims; no row where there are not two sizes."""
    log = rows.filter(pl.col("claims") >= LEAST_TO_GROW).select(
        "algorithm", x=pl.col("claims").log(), y=pl.col("seconds").log()
    )
    several = log.filter(pl.col("x").n_unique().over("algorithm") > 1)
    return several.group_by("algorithm").agg(power=pl.cov("x", "y") / pl.col("x").var())
