"""How far off numbers are, and whether their intervals hold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
from command import typed

from veracity.api import discover
from veracity.errors import NotConverged, ParameterError
from veracity.reading.claims import read_claims, read_truths_beside
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import file_of, name_of

ENDLESS = 1e12
"""So many degrees of freedom are those of a normal distribution."""

NINETY = 1.645
"""Standard errors on either side of an estimate within which nine truths of ten should lie."""

SHAPES: Mapping[str, Mapping[str, Any]] = {
    "normal errors, ten sources": {},
    "and biases": {"bias": 0.7},
    "heavy tails": {"tails": 3.0},
    "few claims per item": {"n_sources": 20, "n_items": 200, "speaks": 0.15, "bias": 0.3},
    "60 sources, heavy tails, biases": {
        "n_sources": 60,
        "n_items": 200,
        "speaks": 0.3,
        "tails": 5.0,
        "bias": 0.3,
    },
}
"""What synthetic numbers are like; tails are degrees of freedom."""

PLAIN = {"mean": pl.col("value").mean(), "median": pl.col("value").median()}
"""What needs no algorithm."""


def draw_numbers(
    seed: int | Sequence[int],
    *,
    n_sources: int = 10,
    n_items: int = 300,
    speaks: float = 0.6,
    tails: float = ENDLESS,
    bias: float = 0.0,
    spread: float = 20.0,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbers of sources that differ in precision, and the truths they scatter around."""
    rng = np.random.default_rng(seed)
    error, off = np.exp(rng.normal(0.0, 0.6, n_sources)), bias * rng.normal(size=n_sources)
    truth, rows = rng.normal(50.0, spread, n_items), []
    for item in range(n_items):
        who = np.flatnonzero(rng.random(n_sources) < speaks)
        who = who if len(who) > 1 else rng.choice(n_sources, 2, replace=False)
        number = truth[item] + off[who] + error[who] * rng.standard_t(tails, len(who))
        rows += [(f"s{s}", f"e{item:03}", x) for s, x in zip(who, number, strict=True)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    entities = [f"e{item:03}" for item in range(n_items)]
    return claims, pl.DataFrame({"entity": entities, "value": truth})


@dataclass(frozen=True, kw_only=True)
class NumbersStudy(StudyOfDatasets):
    """Algorithms for numbers, a mean and a median: how far they are off, and how sure they are.

    Parameters
    ----------
    datasets
        Folders with claims and truth; of each attribute the claims that are plain numbers.
    algorithms
        Which algorithms, by name; they must give an uncertainty.
    draws
        How often synthetic numbers of each shape are drawn.
    seed
        Where the drawing starts.
    """

    name: ClassVar[str] = "numbers"
    title: ClassVar[str] = "How far off numbers are"
    about: ClassVar[str] = (
        "The mean absolute error of estimates, beside that of a plain mean and of a median, and "
        "the share of truths that lie within 1.645 standard errors of their estimate, which should "
        "be nine in ten. Of real claims, each attribute is taken for itself, without what is not a "
        "plain number."
    )
    kind: ClassVar[str] = "numeric"

    also_draws: ClassVar[bool] = True

    datasets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("ltd-rbm-n", "gtm")
    draws: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draws < 0 or not (self.draws or self.datasets):
            raise ParameterError("study: there must be datasets, or draws of synthetic ones")

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """One task per draw, and one per dataset."""
        drawn = [f"{shape}|{draw}" for shape in SHAPES for draw in range(self.draws)]
        return [*drawn, *self.datasets]

    def do(self, task: str) -> list[Row]:
        """Estimate numbers, and compare them with the truth."""
        shape, _, draw = task.rpartition("|")
        if shape:
            drawn = draw_numbers([self.seed, int(draw)], **SHAPES[shape])
            return self._rows(shape, *drawn)
        of_attribute = _numbers_in(task)
        several = len(of_attribute) > 1
        return [
            row
            for attribute, (claims, truth) in of_attribute.items()
            for row in self._rows(
                f"{name_of(task)}: {attribute}" if several else name_of(task), claims, truth
            )
        ]

    def _rows(self, name: str, claims: pl.DataFrame, truth: pl.DataFrame) -> list[Row]:
        by = {"dataset": name}
        plain = {
            how: claims.group_by("entity").agg(estimate, uncertainty=pl.lit(None, pl.Float64))
            for how, estimate in PLAIN.items()
        }
        rows = [
            {**by, "algorithm": how, **_error(told, truth), "seconds": 0.0}
            for how, told in plain.items()
        ]
        for algorithm in self.algorithms:
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)
                told = discover(claims, algorithm, kind="numeric").truths
            seconds = time.process_time() - began
            rows.append({**by, "algorithm": algorithm, **_error(told, truth), "seconds": seconds})
        return rows

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """One row per shape, or per attribute: errors, then how many intervals hold."""
        is_drawn = pl.col("dataset").is_in(list(SHAPES))
        return {
            "synthetic": _spread(rows.filter(is_drawn), self.algorithms),
            "real": _spread(rows.filter(~is_drawn), self.algorithms),
        }

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Who is nearest where."""
        names = [*self.algorithms, *PLAIN]
        return [
            f"{row['dataset']}: {min(names, key=lambda name: row[name])} is nearest"
            for table in tables.values()
            for row in table.iter_rows(named=True)
        ]


@lru_cache(maxsize=2)
def _numbers_in(folder: str) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """By attribute: the claims that are plain numbers, and the truths that are."""
    claims = read_claims(file_of(folder, "claims"))
    truths, _ = read_truths_beside(claims, file_of(folder, "truth"))
    rows, truth = (_plain_numbers(table) for table in (claims.rows, truths))
    found = {}
    for (attribute,), own in rows.partition_by("attribute", as_dict=True).items():
        known = truth.filter(attribute=attribute)
        if len(known):
            found[str(attribute)] = (own.drop("attribute"), known.drop("attribute"))
    return dict(sorted(found.items()))


def _plain_numbers(table: pl.DataFrame) -> pl.DataFrame:
    if "attribute" not in table.columns:
        table = table.with_columns(attribute=pl.lit("value"))
    number = pl.col("value").cast(pl.Float64, strict=False)
    return table.with_columns(number).filter(pl.col("value").is_finite())


def _error(told: pl.DataFrame, truth: pl.DataFrame) -> Row:
    """How far estimates are off, and the share that is no farther off than they say."""
    both = truth.rename({"value": "true"}).join(told, on="entity")
    off = (pl.col("value") - pl.col("true")).abs()
    row = both.select(error=off.mean(), held=(off <= NINETY * pl.col("uncertainty")).mean())
    return row.row(0, named=True)


def _spread(rows: pl.DataFrame, algorithms: Sequence[str]) -> pl.DataFrame:
    """One row per dataset: the errors of all, and the shares of intervals that hold."""
    means = rows.group_by("dataset", "algorithm", maintain_order=True).agg(
        pl.mean("error"), pl.mean("held")
    )
    if means.is_empty():
        return pl.DataFrame()
    errors = means.pivot("algorithm", index="dataset", values="error")
    held = means.pivot("algorithm", index="dataset", values="held")
    held = held.select("dataset", *(pl.col(name).alias(f"{name} holds") for name in algorithms))
    both = errors.join(held, on="dataset", maintain_order="left")
    return both.select("dataset", *algorithms, *PLAIN, *(f"{name} holds" for name in algorithms))


if __name__ == "__main__":
    typed(NumbersStudy)
