"""How often the interval of a source's accuracy contains what the source is worth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from command import typed

from veracity.algorithms import algorithm_named
from veracity.api import Prepared, answer, prepare
from veracity.encoding.block import UNKNOWN
from veracity.errors import NotConverged, ParameterError
from veracity.reading.claims import read_claims
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import Judged, read_dataset
from veracity.synthetic import Ranges

FEWEST_KNOWN = 30
"""So many claims of a source must have a known truth: from fewer its accuracy is not known."""

DRAWN = Ranges(sources=(5, 40), items=(30, 500), accuracy=(0.55, 0.92))
COPYING = {"none copy": 0.0, "a fifth copy": 0.2}
"""What synthetic sets are drawn from, and how many of their sources copy."""


@dataclass(frozen=True, kw_only=True)
class IntervalsStudy(StudyOfDatasets):
    """How often 90 % intervals hold, on real and on synthetic claims.

    Parameters
    ----------
    datasets
        Folders with claims and truth, on which the default is measured; ``+normalised`` behind one
        has its values normalised.
    algorithms
        Which ones are measured on synthetic claims.
    synthetic
        How many synthetic sets there are, each without and with copies.
    seed
        Where the drawing starts.
    """

    name: ClassVar[str] = "intervals"
    title: ClassVar[str] = "How often intervals hold"
    about: ClassVar[str] = (
        "The share of sources whose accuracy lies in the 90 % interval that is told of it. On real "
        f"claims, the accuracy is the share of right claims, for sources with {FEWEST_KNOWN} "
        "claims or more whose truth is known; on synthetic claims, it is what they were drawn with."
    )

    also_draws: ClassVar[bool] = True

    datasets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = (
        "veracity",
        "ltd-rbm",
        "mle",
        "ltm",
        "accu-copy",
        "dawid-skene",
        "catd",
        "crh",
        "majority-vote",
    )
    synthetic: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.synthetic < 0 or not (self.synthetic or self.datasets):
            raise ParameterError("study: there must be datasets, or synthetic ones")

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """One task per dataset, and per synthetic set with and without copies."""
        drawn = [f"{how}|{number}" for how in COPYING for number in range(self.synthetic)]
        return [*drawn, *self.datasets]

    def do(self, task: str) -> list[Row]:
        """Let algorithms tell intervals, and count those that hold."""
        how, _, number = task.partition("|")
        if not number:
            data = read_dataset(task)
            return [{"dataset": data.name, **_held(data.prepared, "veracity", _measured(data))}]
        drawn = DRAWN.draw(seed=[self.seed, int(number)], copying=COPYING[how])
        data_drawn = drawn.draw(seed=[self.seed, int(number)])
        prepared = prepare(read_claims(data_drawn.claims))
        true = data_drawn.sources.select("source", true="accuracy")
        return [{"dataset": how, **_held(prepared, name, true)} for name in self.algorithms]

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """One row per algorithm, or per dataset: the share of intervals that hold."""
        is_drawn = pl.col("dataset").is_in(list(COPYING))
        share = pl.col("held") * pl.col("sources") / pl.col("sources").sum()
        by_algorithm = rows.filter(is_drawn).group_by("algorithm", "dataset", maintain_order=True)
        held = by_algorithm.agg(held=share.sum())
        real = rows.filter(~is_drawn).select("dataset", "sources", "held")
        mean = real.select(pl.lit("mean").alias("dataset"), pl.sum("sources"), pl.mean("held"))
        return {
            "synthetic": held.pivot("dataset", index="algorithm", values="held"),
            "real": pl.concat([real, mean], how="vertical_relaxed") if len(real) else real,
        }

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """How often they hold on each dataset."""
        return [
            f"{row['dataset']}: {row['held']:.2f} of {row['sources']} intervals of the default hold"
            for row in tables["real"].iter_rows(named=True)
        ]


def _measured(data: Judged) -> pl.DataFrame:
    """Of each source with enough claims whose truth is known: the share of them that is right."""
    n_sources = len(data.encoded.names.sources)
    right, known = np.zeros(n_sources), np.zeros(n_sources)
    for block in data.truth.blocks:
        truth_of_support = block.known_of_fact[block.fact_of_support]
        is_known = truth_of_support != UNKNOWN
        known += np.bincount(block.source_of_support, is_known, n_sources)
        right += np.bincount(block.source_of_support, truth_of_support == 1, n_sources)
    told = pl.DataFrame({"source": data.encoded.names.sources, "right": right, "known": known})
    told = told.filter(pl.col("known") >= FEWEST_KNOWN)
    return told.select("source", true=pl.col("right") / pl.col("known"))


def _held(prepared: Prepared, name: str, true: pl.DataFrame) -> Row:
    """In how many intervals of an algorithm the true accuracy lies."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        sources: Any = answer(prepared, algorithm_named(name)).sources
    both = true.join(sources, on="source")
    holds = both.select(pl.col("true").is_between("accuracy_low", "accuracy_high")).to_series()
    seconds = time.process_time() - began
    return {"algorithm": name, "sources": len(both), "held": holds.mean(), "seconds": seconds}


if __name__ == "__main__":
    typed(IntervalsStudy)
