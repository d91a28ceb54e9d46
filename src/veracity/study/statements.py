"""Tests of the paper's statements on training LTD-RBM: its start, silence, mini-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms import algorithm_named
from veracity.algorithms.ltd_rbm import LTDRBM
from veracity.algorithms.prior import Prior, Rate
from veracity.algorithms.rules import sigmoid
from veracity.encoding.block import Block
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.naming import as_text
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import name_of, read_dataset
from veracity.study.figures import statements_figure
from veracity.study.measure import measure
from veracity.study.synthetic import MACHINES, SyntheticStudy

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure

SYNTHETIC = "synthetic"

ALL = 1_000_000_000
"""Size of a batch that contains all facts."""


class Variant(NamedTuple):
    """Variant of a machine: with other parameters, another start, or another meaning of silence."""

    changes: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    start: Literal["prior", "near zero", "random"] = "prior"
    silence_denies: bool = False


AS_IT_IS = "as it is"

VARIANTS: dict[str, Variant] = {
    AS_IT_IS: Variant(),
    "weights start near zero": Variant(start="near zero"),
    "rates start at random": Variant(start="random"),
    "silence denies": Variant(silence_denies=True),
    **{f"batches of {n}": Variant({"batch_size": n}) for n in (1, 10, 1000, 10_000)},
    "one batch": Variant({"batch_size": ALL}),
    **{
        f"batches of {n}, steps not capped": Variant({"batch_size": n, "facts_per_step": None})
        for n in (1000, 10_000)
    },
    "one batch, steps not capped": Variant({"batch_size": ALL, "facts_per_step": None}),
}
"""Machine without changes, and its variants."""


@dataclass(frozen=True, kw_only=True)
class StatementsStudy(StudyOfDatasets):
    """LTD-RBM without the conditions that the paper names, on every dataset.

    Parameters
    ----------
    datasets
        Folders with claims and truth; ``+normalised`` behind one has its values normalised.
    algorithms
        Names of the machines.
    synthetic
        Number of datasets drawn at random in addition, as in the synthetic study.
    draws
        Number of random starts.
    claims
        Range of the number of claims of a dataset drawn at random.
    seed
        Seed of random numbers.
    """

    name: ClassVar[str] = "statements"
    title: ClassVar[str] = "LTD-RBM without what it is said to need"
    about: ClassVar[str] = (
        "The paper says that LTD-RBM gives random results where it is not initialised, poor ones "
        "where missing claims are taken for negative ones, and that mini-batches are what makes "
        "it robust. Each is tried: weights that start near zero (normal, 0.01, as usual for such "
        "machines) or rates that start at random (even between 0 and 1), over several draws; all "
        "sources that are silent on an item deny all its values; batches of one fact up to all. A "
        "step over more than 200 facts shrinks in proportion here, which is not in the paper: so "
        "large batches are also tried without that cap. Datasets drawn at random count as one, by "
        "their mean."
    )

    also_draws: ClassVar[bool] = True

    datasets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = MACHINES
    synthetic: int = 100
    draws: int = 10
    claims: tuple[int, int] = (200, 50_000)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("synthetic", "draws"):
            if getattr(self, name) < (name == "draws"):
                raise ParameterError(f"study: {name} is too small: {getattr(self, name)}")
        for name in self.algorithms:
            if not isinstance(algorithm_named(name), LTDRBM):
                raise ParameterError(f"study: {name} is no LTD-RBM, which the statements are of")
        if not (self.synthetic or self.datasets):
            raise ParameterError("study: there must be datasets, or synthetic ones")

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """Return one task per dataset, machine, variant and draw."""
        drawn = [f"{SYNTHETIC} {number}" for number in range(self.synthetic)]
        return [
            f"{algorithm}|{name}|{draw}|{dataset}"
            for dataset in (*self.datasets, *drawn)
            for algorithm in self.algorithms
            for name, variant in VARIANTS.items()
            # Datasets that are drawn at random have one start each: there are many of them.
            for draw in range(1 if variant.start == "prior" or dataset in drawn else self.draws)
        ]

    def do(self, task: str) -> list[Row]:
        """Let one variant judge one dataset."""
        algorithm, name, draw, dataset = task.split("|", maxsplit=3)
        if dataset in self.datasets:
            called, claims = name_of(dataset), read_dataset(dataset)
            encoded, truth = claims.encoded, claims.truth
        else:
            number = int(dataset.removeprefix(f"{SYNTHETIC} "))
            drawn = SyntheticStudy(claims=self.claims, seed=self.seed).draw(number)
            called, encoded, truth = SYNTHETIC, drawn.encoded, drawn.truth
        variant = VARIANTS[name]
        machine = replace(algorithm_named(algorithm), **variant.changes)  # type: ignore[type-var]
        if variant.start != "prior":
            rng = np.random.default_rng([self.seed, int(draw), len(dataset), *dataset.encode()])
            prior = _drawn_prior(encoded, variant.start, rng)
            machine = replace(machine, prior=prior)  # type: ignore[type-var]
        shown = _denied(encoded) if variant.silence_denies else encoded
        measured = measure(shown, truth, machine)
        told = {"algorithm": algorithm, "variant": name, "draw": int(draw), "dataset": called}
        return [{**told, **measured._asdict()}]

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return accuracies by machine, variant and dataset, and their differences from the usual.

        Differences are computed run by run, on the same claims; their standard error is given where
        there are several runs.
        """
        claims = pl.col("task").str.splitn("|", 4).struct.field("field_3")
        told = rows.with_columns(claims=claims)
        usual = told.filter(pl.col("variant") == AS_IT_IS)
        usual = usual.select("algorithm", "claims", usual="accuracy")
        told = told.join(usual, on=["algorithm", "claims"], maintain_order="left")
        difference = pl.col("accuracy") - pl.col("usual")
        change = told.group_by("dataset", "algorithm", "variant", maintain_order=True).agg(
            pl.col("accuracy").mean(),
            lowest=pl.col("accuracy").min(),
            highest=pl.col("accuracy").max(),
            runs=pl.len(),
            converged=pl.col("converged").mean(),
            change=difference.mean(),
            standard_error=difference.std() / pl.len().sqrt(),
        )
        wide = change.pivot(["algorithm", "dataset"], index="variant", values="accuracy")
        return {"accuracy": _plainly_named(wide), "statements": change}

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, Figure]:
        """Return the effect of each change on the accuracy, for every dataset."""
        return {"statements": statements_figure(tables["statements"])}

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Return one sentence per variant and machine: the mean change over the datasets."""
        changed = tables["statements"].filter(pl.col("variant") != AS_IT_IS)
        means = changed.group_by("algorithm", "variant", maintain_order=True).agg(
            pl.col("change").mean(), lowest=pl.col("lowest").min(), highest=pl.col("highest").max()
        )
        return [
            f"{row['algorithm']}, {row['variant']}: {row['change']:+.3f} accuracy on average, "
            f"from {row['lowest']:.3f} to {row['highest']:.3f}"
            for row in means.iter_rows(named=True)
        ]


def _drawn_prior(encoded: Encoded, start: str, rng: np.random.Generator) -> Prior:
    """Draw the rates of every source at random."""
    names = as_text(encoded.names.sources).to_list()
    if start == "random":
        fpr, tpr = rng.random((2, len(names)))
    else:
        bias, weight = rng.normal(0.0, 0.01, (2, len(names)))
        fpr, tpr = sigmoid(bias), sigmoid(bias + weight)
    rates = zip(names, tpr.tolist(), fpr.tolist(), strict=True)
    return Prior(of_source={name: Rate(tpr=t, fpr=f) for name, t, f in rates})


def _denied(encoded: Encoded) -> Encoded:
    """Return the claims as if each source denied all values of an item that it does not claim."""
    n_sources = encoded.names.n_sources
    everyone = np.arange(n_sources, dtype=np.int32)

    def full(block: Block) -> Block:
        return block._replace(
            first_voice_of_item=np.arange(block.n_items + 1) * n_sources,
            source_of_voice=np.tile(everyone, block.n_items),
        )

    parts = encoded.parts.with_blocks(full(block) for block in encoded.blocks)
    return replace(encoded, parts=parts)


def _plainly_named(wide: pl.DataFrame) -> pl.DataFrame:
    """Rename pivoted columns, such as ``{"ltd-rbm","weather"}``, to ``ltd-rbm weather``."""
    names = {name: name.strip("{}").replace('"', "").replace(",", " ") for name in wide.columns}
    return wide.rename(names)
