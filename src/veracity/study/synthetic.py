"""Make the paper's figure 4: accuracy on synthetic datasets against causes of difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms import algorithm_named
from veracity.encoding.block import FloatArray
from veracity.encoding.encode import encode
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.inspect.profiling import accuracy_of_source, entropy_of_item
from veracity.reading.claims import Claims
from veracity.study.base import Row, Study
from veracity.study.figures import characteristic_figure
from veracity.study.measure import accuracy, measure
from veracity.study.paper import paper_table
from veracity.synthetic import NOBODY, Ranges, Synthetic, SyntheticArrays

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure

PAPER_ALGORITHMS = ("majority-vote", "ltd-rbm-cd", "ltd-rbm", "mle", "ltm", "two-estimates")
"""Algorithms of the paper, with its own LTD-RBM, trained by contrastive divergence, and ours."""

MACHINES = ("ltd-rbm-cd", "ltd-rbm")
"""Algorithms that are compared with all others."""

ORACLE = "oracle"
COPY_ORACLE = "oracle of copies"

MOST_ATTEMPTS = 1000

CHARACTERISTICS = {
    "normalized_entropy": "normalised entropy",
    "copied_claim_frequency": "share of copied claims",
    "mean_source_accuracy": "average source accuracy",
}
"""Characteristics that make a dataset hard: the paper's names and ours."""


class Dataset(NamedTuple):
    """Encoded synthetic dataset, with facts that only the generator knows."""

    parameters: Synthetic
    drawn: SyntheticArrays
    encoded: Encoded
    truth: Encoded


@dataclass(frozen=True, kw_only=True)
class SyntheticStudy(Study):
    """Many random datasets, and the accuracy of every algorithm on each.

    Parameters
    ----------
    datasets
        Number of datasets.
    algorithms
        Names of the algorithms.
    ranges
        Ranges of the parameters of the datasets.
    fixed
        Parameters that are the same in all of them.
    only_first
        Algorithms that judge only so many of the datasets, the first ones: for slow ones.
    claims
        How few and how many claims a dataset may have, in the paper's study by default; one with
        fewer or more is drawn again.
    seed
        The seed of random numbers; dataset n is the same for any number of datasets.
    """

    name: ClassVar[str] = "synthetic"
    title: ClassVar[str] = "Accuracy on synthetic data"
    about: ClassVar[str] = (
        "Each dataset is drawn at random: its parameters, from these its sources, from these its "
        "claims. Datasets are grouped by normalised entropy, share of copied claims and average "
        "source accuracy, in the paper's own groups. The oracle knows how accurate each source "
        "is, copied claims and all; the oracle of copies also knows which claims are copied, and "
        "counts only the others. Differences are taken dataset by dataset, on those that both "
        "algorithms judged; z is a difference over its standard error. LTD-RBM is trained by "
        "contrastive divergence (ltd-rbm-cd), as in the paper, and exactly (ltd-rbm)."
    )

    datasets: int = 1000
    algorithms: tuple[str, ...] = PAPER_ALGORITHMS
    ranges: Ranges = field(default_factory=Ranges)
    fixed: dict[str, Any] = field(default_factory=dict)
    only_first: dict[str, int] = field(default_factory=dict)
    claims: tuple[int, int] = (200, 500_000)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.datasets < 1:
            raise ParameterError(f"study: datasets must be at least 1, got {self.datasets}")
        unknown = sorted(self.fixed.keys() - {one.name for one in fields(Synthetic)})
        if unknown:
            known = ", ".join(one.name for one in fields(Synthetic))
            raise ParameterError(f"study: no parameter '{unknown[0]}' to fix; there are {known}")
        for name, most in self.only_first.items():
            if name not in self.algorithms or most < 1:
                raise ParameterError(
                    f"study: only the first {most} datasets for {name!r}? It takes one of the "
                    f"algorithms {list(self.algorithms)}, and a number from 1"
                )

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """Return one task per dataset."""
        return [str(number) for number in range(self.datasets)]

    def do(self, task: str) -> list[Row]:
        """Draw a dataset and let every algorithm judge it."""
        data = self.draw(int(task))
        described = _describe(data)
        rows = []
        for name in self.algorithms:
            if int(task) >= self.only_first.get(name, self.datasets):
                continue
            measured = measure(data.encoded, data.truth, algorithm_named(name))
            rows.append({"dataset": int(task), "algorithm": name, **measured._asdict()})
        for name, right in _oracles(data).items():
            rows.append({"dataset": int(task), "algorithm": name, "accuracy": right})
        return [{**row, **described} for row in rows]

    def draw(self, number: int) -> Dataset:
        """Draw the dataset with this number, anew until it has the right size."""
        for attempt in range(MOST_ATTEMPTS):
            seed = [self.seed, number, attempt]
            parameters = self.ranges.draw(seed, **self.fixed)
            drawn = parameters.draw_arrays([*seed, 1])
            if self.claims[0] <= len(drawn.item_of_claim) <= self.claims[1]:
                return _encode(parameters, drawn)
        raise ParameterError(
            f"study: no dataset of {self.claims[0]:,} to {self.claims[1]:,} claims can be drawn "
            "with these parameters"
        )

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return means over all datasets, differences, and means by group."""
        by_characteristic = pl.concat([_grouped(rows, name) for name in CHARACTERISTICS])
        return {
            "overall": _overall(rows),
            "differences": _differences(rows),
            "accuracy_vs_characteristic": by_characteristic,
        }

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, Figure]:
        """Return the three columns of figure 4, ours and the paper's."""
        table = tables["accuracy_vs_characteristic"]
        return {
            f"accuracy_vs_{name}": characteristic_figure(
                table.filter(pl.col("characteristic") == name), title
            )
            for name, title in CHARACTERISTICS.items()
        }

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Return the paper's statements, with the outcome of their test."""
        overall = tables["overall"]
        sentences = [
            f"{row['algorithm']}: accuracy {row['accuracy']:.3f} on average, standard deviation "
            f"{row['accuracy_std']:.3f}"
            + ("" if row["paper"] is None else f" (the paper: {row['paper']:.3f})")
            for row in overall.iter_rows(named=True)
        ]
        told = [
            f"{row['algorithm']} less {row['other']}: accuracy {row['difference']:+.4f} "
            f"(standard error {row['standard_error']:.4f}), standard deviation "
            f"{row['std_difference']:+.4f} ({row['std_standard_error']:.4f})"
            for row in tables["differences"].drop_nulls().iter_rows(named=True)
        ]
        return [*sentences, *told, *_likeness(tables["accuracy_vs_characteristic"])]


def _encode(parameters: Synthetic, drawn: SyntheticArrays) -> Dataset:
    columns = {
        "source": drawn.source_of_claim,
        "entity": drawn.item_of_claim,
        "value": drawn.value_of_claim,
    }
    encoded = encode(Claims.of_rows(pl.DataFrame(columns), "categorical", "a synthetic dataset"))
    facts = encoded.facts
    true_value = drawn.true_value_of_item[facts["entity"].to_numpy()]
    known = (facts["value"].to_numpy() == true_value).astype(np.int8)
    return Dataset(parameters, drawn, encoded, encoded.with_known_facts(known))


def _describe(data: Dataset) -> Row:
    """Return the characteristics that make the dataset hard, and its parameters."""
    accuracies = accuracy_of_source(data.truth)
    return {
        "normalized_entropy": float(entropy_of_item(data.encoded).mean()),
        "copied_claim_frequency": float((data.drawn.original_of_claim != NOBODY).mean()),
        "mean_source_accuracy": float(np.nanmean(accuracies)),
        "claims": data.encoded.n_claims,
        **{f"parameter_{name}": value for name, value in asdict(data.parameters).items()},
    }


def _oracles(data: Dataset) -> dict[str, float]:
    """Return the accuracy of oracles that know the sources' accuracies, or the copies as well."""
    drawn, n_sources = data.drawn, data.parameters.sources
    is_right = drawn.value_of_claim == drawn.true_value_of_item[drawn.item_of_claim]
    everyone = np.ones(len(is_right), dtype=np.bool_)
    found = {}
    for name, counts in ((ORACLE, everyone), (COPY_ORACLE, drawn.original_of_claim == NOBODY)):
        n_right = np.bincount(drawn.source_of_claim[counts & is_right], minlength=n_sources)
        n_claims = np.bincount(drawn.source_of_claim[counts], minlength=n_sources)
        weight = _weight((n_right + 0.5) / (n_claims + 1.0), data.parameters.values)
        found[name] = _weighted_vote(data, np.where(counts, weight[drawn.source_of_claim], 0.0))
    return found


def _weight(share_right: FloatArray, n_values: int) -> FloatArray:
    """Return the weight of a claim in log-odds: log (n - 1) a / (1 - a) of Bayes' rule."""
    return np.log((n_values - 1) * share_right / (1.0 - share_right))


def _weighted_vote(data: Dataset, weight_of_claim: FloatArray) -> float:
    """Return the accuracy of a vote in which every claim has the given weight."""
    drawn, n_values = data.drawn, data.parameters.values
    place = drawn.item_of_claim * n_values + drawn.value_of_claim
    score = np.bincount(place, weight_of_claim, minlength=data.parameters.items * n_values)
    facts = data.encoded.facts
    score_of_fact = score[facts["entity"].to_numpy() * n_values + facts["value"].to_numpy()]
    return accuracy(data.truth, score_of_fact)


def _overall(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per algorithm, with the paper's mean over the same groups."""
    paper = paper_table("accuracy_vs_characteristic").filter(
        pl.col("characteristic") == "normalized_entropy"
    )
    weight = pl.col("datasets") / pl.col("datasets").sum()
    paper = paper.group_by("algorithm").agg(paper=(pl.col("accuracy") * weight).sum())
    ours = rows.group_by("algorithm", maintain_order=True).agg(
        pl.col("accuracy").mean(),
        accuracy_std=pl.col("accuracy").std(ddof=0),
        seconds=pl.col("seconds").mean(),
        datasets=pl.len(),
    )
    return ours.join(paper, on="algorithm", how="left", maintain_order="left")


DIFFERENCES: dict[str, Any] = {
    "algorithm": pl.String, "other": pl.String, "datasets": pl.Int64, "difference": pl.Float64,
    "standard_error": pl.Float64, "z": pl.Float64, "std_difference": pl.Float64,
    "std_standard_error": pl.Float64, "std_z": pl.Float64,
}  # fmt: skip


def _differences(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the differences of LTD-RBM from each other algorithm, in accuracy and in spread."""
    wide = rows.pivot("algorithm", index="dataset", values="accuracy")
    others = [name for name in wide.columns[1:] if name not in (ORACLE, COPY_ORACLE)]
    pairs = [(one, two) for one in MACHINES if one in others for two in others if two != one]
    found = [_difference(one, two, wide.select(one, two).drop_nulls()) for one, two in pairs]
    return pl.DataFrame(found, schema=DIFFERENCES)


def _difference(one: str, other: str, both: pl.DataFrame) -> Row:
    """Return the differences of mean and standard deviation of two algorithms on the same datasets.

    A standard deviation s moves by ((x - mean)² - s²) / 2s where x gets slightly more weight. The
    spread of this over the datasets is the error of s, and for two algorithms on the same datasets,
    of their difference.
    """
    accuracies = both.to_numpy().T
    mean, std = accuracies.mean(axis=1, keepdims=True), accuracies.std(axis=1, keepdims=True)
    influence = ((accuracies - mean) ** 2 - std**2) / (2.0 * np.maximum(std, 1e-12))
    told: Row = {"algorithm": one, "other": other, "datasets": len(both)}
    for prefix, moves, apart in (
        ("", accuracies, float(mean[0, 0] - mean[1, 0])),
        ("std_", influence, float(std[0, 0] - std[1, 0])),
    ):
        error = float((moves[0] - moves[1]).std() / np.sqrt(len(both)))
        told[f"{prefix}difference"] = apart
        told[f"{prefix}standard_error"] = error
        told[f"{prefix}z"] = apart / error if error > 0.0 else None
    return told


def _grouped(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the mean accuracy and its standard deviation in the paper's groups of datasets."""
    theirs = paper_table("accuracy_vs_characteristic").filter(pl.col("characteristic") == name)
    centres = theirs["x"].unique().sort()
    half = (centres[1] - centres[0]) / 2.0
    middles = (centres + half)[:-1].to_numpy()
    group = np.searchsorted(middles, rows[name].to_numpy(), side="right")
    ours = (
        rows.with_columns(x=centres.gather(group))
        .group_by("algorithm", "x", maintain_order=True)
        .agg(
            pl.col("accuracy").mean(),
            accuracy_std=pl.when(pl.len() > 1).then(pl.col("accuracy").std(ddof=0)),
            datasets=pl.len(),
        )
    )
    theirs = theirs.rename({n: f"paper_{n}" for n in ("accuracy", "accuracy_std", "datasets")})
    both = ours.join(
        theirs.drop("characteristic"), on=["algorithm", "x"], how="full", coalesce=True
    )
    named = both.with_columns(characteristic=pl.lit(name)).sort("algorithm", "x")
    return named.select("characteristic", *both.columns)


def _likeness(table: pl.DataFrame) -> list[str]:
    """Return sentences on the similarity of the spread of our datasets and the paper's."""
    sentences = []
    for name, title in CHARACTERISTICS.items():
        spread = table.filter(
            (pl.col("characteristic") == name) & (pl.col("algorithm") == "majority-vote")
        )
        ours, theirs = (spread[n].fill_null(0) for n in ("datasets", "paper_datasets"))
        if not ours.sum():
            continue
        apart = float((ours / ours.sum() - theirs / theirs.sum()).abs().sum()) / 2.0
        sentences.append(
            f"{1.0 - apart:.0%} of the datasets lie in the same groups of {title} as the paper's"
        )
    return sentences
