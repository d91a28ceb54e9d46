"""What each ingredient of the default is worth, and whether its constants suit other datasets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import polars as pl

from veracity.algorithms.default import Veracity
from veracity.errors import ParameterError
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.constants import CONSTANTS, turned
from veracity.study.data import read_dataset
from veracity.study.figures import ablation_figure
from veracity.study.measure import Measured, measure
from veracity.study.synthetic import SyntheticStudy

if TYPE_CHECKING:
    from altair import TopLevelMixin

WHOLE = "veracity"

SYNTHETIC = "synthetic"


class Variant(NamedTuple):
    """The default with something changed: its parameters, or constants that are none."""

    algorithm: Veracity = Veracity()
    constants: dict[str, float] = {}  # noqa: RUF012 - nobody changes it


INGREDIENTS: dict[str, Variant] = {
    WHOLE: Variant(),
    "without copies": Variant(Veracity(dependence=False)),
    "copies always count once": Variant(Veracity(most_undecided=1.0)),
    "labels as open values": Variant(Veracity(labels=False)),
    "shares of labels as claimed": Variant(constants={"SHARE_OF_JUDGED": 0.0}),
    "always learns from labels": Variant(constants={"FEWEST_SHARED": -math.inf}),
    "families of labels count in full": Variant(constants={"FAMILY": math.inf}),
    "errors on labels are independent": Variant(constants={"CORRELATION": 0.0}),
    "without the vote": Variant(constants={"SHARE_OF_VOTE": 0.0}),
    "without attributes": Variant(Veracity(attributes=False)),
    "without shrinkage": Variant(Veracity(strength=0.01)),
    "without tempering": Variant(Veracity(temper=False)),
    "without the other answer": Variant(constants={"BELIEVED": 1.0}),
    "only claimed values are false": Variant(constants={"SELDOM": math.inf}),
    "errors are even": Variant(constants={"EVEN": math.inf}),
    "no source dominates": Variant(constants={"DOMINANT": math.inf}),
}
"""The default, with one ingredient after the other left out."""


@dataclass(frozen=True, kw_only=True)
class AblationStudy(StudyOfDatasets):
    """The default with one ingredient left out, or one constant changed, on every dataset.

    Parameters
    ----------
    datasets
        Folders with claims and truth; ``+normalised`` behind one has its values normalised.
    synthetic
        How many datasets are drawn at random beside them, as in the synthetic study.
    constants
        Which constants are turned; all that are left by default.
    claims
        How few and how many claims a dataset drawn at random may have.
    seed
        Seed of what is drawn at random.
    """

    name: ClassVar[str] = "ablation"
    title: ClassVar[str] = "The default with one part left out"
    about: ClassVar[str] = (
        "Each ingredient of the default is left out in turn, on every dataset: what is lost is "
        "what it is worth. Those drawn at random count as one dataset, by their mean. Then every "
        "constant is chosen anew for each dataset, by all the others: the value under which these "
        "have the largest mean of accuracy less calibration error. What it gives on the one left "
        "out tells whether the constant suits data it was not chosen by."
    )

    synthetic: int = 40
    constants: tuple[str, ...] = field(default=tuple(CONSTANTS))
    claims: tuple[int, int] = (200, 50_000)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.synthetic < 0:
            raise ParameterError(f"study: synthetic must be at least 0, got {self.synthetic}")
        for name in self.constants:
            if name not in CONSTANTS:
                raise ParameterError(f"study: no constant {name!r}; there are {list(CONSTANTS)}")

    def judges(self) -> tuple[str, ...]:
        """The default alone."""
        return ("veracity",)

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """One task per dataset and variant."""
        drawn = [f"{SYNTHETIC} {number}" for number in range(self.synthetic)]
        turns = [f"{name}={value}" for name in self.constants for value in CONSTANTS[name].others]
        return [
            f"{variant}|{dataset}"
            for dataset in (*self.datasets, *drawn)
            for variant in (*INGREDIENTS, *turns)
        ]

    def do(self, task: str) -> list[Row]:
        """Let one variant judge one dataset."""
        name, dataset = task.split("|", maxsplit=1)
        if name in INGREDIENTS:
            row: Row = {"ingredient": name}
            variant = INGREDIENTS[name]
        else:
            constant, value = name.split("=")
            row = {"constant": constant, "value": float(value)}
            variant = Variant(constants={constant: float(value)})
        with turned(variant.constants):
            called, measured = self._measured(dataset, variant.algorithm)
        return [{"dataset": called, **row, **measured._asdict()}]

    def _measured(self, dataset: str, algorithm: Veracity) -> tuple[str, Measured]:
        if dataset not in self.datasets:
            number = int(dataset.removeprefix(f"{SYNTHETIC} "))
            drawn = SyntheticStudy(claims=self.claims, seed=self.seed).draw(number)
            return SYNTHETIC, measure(drawn.encoded, drawn.truth, algorithm)
        data = read_dataset(dataset)
        return data.name, measure(data.encoded, data.truth, algorithm)

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Accuracy and calibration by ingredient and dataset; and what constants give left out."""
        left_out = _left_out(rows)
        return {
            "accuracy": _spread(rows, "accuracy"),
            "calibration_error": _spread(rows, "calibration_error"),
            "constants": _summed(left_out),
            "left_out": left_out,
        }

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, TopLevelMixin]:
        """What each ingredient adds to the accuracy, on every dataset."""
        return {"ablation": ablation_figure(_losses(tables["accuracy"]))}

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """One sentence an ingredient, and one a constant."""
        whole, *others = tables["accuracy"].select("ingredient", "mean").rows()
        said = [f"{name}: {mean - whole[1]:+.3f} accuracy on average" for name, mean in others]
        return said + [
            f"{row['constant']}: chosen by the other datasets {row['accuracy']:.3f} "
            f"(calibration error {row['calibration_error']:.3f}), at its own {row['own_value']:g} "
            f"{row['own_accuracy']:.3f} ({row['own_calibration_error']:.3f})"
            for row in tables["constants"].iter_rows(named=True)
        ]


def _means(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """One row per dataset and variant; those drawn at random are one dataset."""
    measures = pl.col("accuracy", "calibration_error").mean()
    return rows.drop_nulls(keys).group_by("dataset", *keys, maintain_order=True).agg(measures)


def _spread(rows: pl.DataFrame, measure: str) -> pl.DataFrame:
    """One row per ingredient, one column per dataset, and their mean."""
    table = _means(rows, "ingredient").pivot("dataset", index="ingredient", values=measure)
    return table.with_columns(mean=pl.mean_horizontal(pl.exclude("ingredient")))


def _losses(accuracy: pl.DataFrame) -> pl.DataFrame:
    """By how much accuracies differ from the default's, in long form."""
    long = accuracy.unpivot(index="ingredient", variable_name="dataset", value_name="accuracy")
    whole = long.filter(pl.col("ingredient") == WHOLE).select("dataset", whole="accuracy")
    differs = pl.col("accuracy") - pl.col("whole")
    joined = long.filter(pl.col("ingredient") != WHOLE).join(
        whole, on="dataset", maintain_order="left"
    )
    return joined.select("ingredient", "dataset", difference=differs)


LEFT_OUT: dict[str, Any] = {
    "constant": pl.String, "dataset": pl.String, "own_value": pl.Float64, "value": pl.Float64,
    "accuracy": pl.Float64, "own_accuracy": pl.Float64, "calibration_error": pl.Float64,
    "own_calibration_error": pl.Float64,
}  # fmt: skip


def _left_out(rows: pl.DataFrame) -> pl.DataFrame:
    """Each constant on each dataset: with the value that all others choose, and with its own."""
    if "constant" not in rows.columns:
        return pl.DataFrame(schema=LEFT_OUT)
    found = []
    whole = rows.filter(pl.col("ingredient") == WHOLE).drop("constant", "value")
    for name in rows["constant"].drop_nulls().unique(maintain_order=True):
        usual = CONSTANTS[name].value(name)
        at_its_own = whole.with_columns(constant=pl.lit(name), value=pl.lit(usual))
        turns = pl.concat(
            [rows.filter(pl.col("constant") == name), at_its_own], how="diagonal_relaxed"
        )
        means = _means(turns, "constant", "value")
        found += _left_out_of(name, usual, means)
    return pl.DataFrame(found, schema=LEFT_OUT)


def _left_out_of(name: str, usual: float, means: pl.DataFrame) -> list[Row]:
    """One constant: each dataset with the value that the others choose."""
    found: list[Row] = []
    for dataset in means["dataset"].unique(maintain_order=True):
        own, others = (means.filter(is_it) for is_it in _apart(dataset))
        if others.is_empty():
            return []
        chosen = _chosen(others, usual)
        told = {row["value"]: row for row in own.iter_rows(named=True)}
        found.append({
            "constant": name, "dataset": dataset, "own_value": usual, "value": chosen,
            **{m: told[chosen][m] for m in ("accuracy", "calibration_error")},
            **{f"own_{m}": told[usual][m] for m in ("accuracy", "calibration_error")},
        })  # fmt: skip
    return found


def _apart(dataset: str) -> tuple[pl.Expr, pl.Expr]:
    is_it = pl.col("dataset") == dataset
    return is_it, ~is_it


def _chosen(means: pl.DataFrame, usual: float) -> float:
    """The value with the best mean of accuracy less calibration error; its own if it is as good."""
    score = (pl.col("accuracy") - pl.col("calibration_error")).mean().round(9)
    scores = means.group_by("value").agg(score=score)
    is_own = pl.col("value") == usual
    return float(scores.sort("score", is_own, -pl.col("value"), descending=True)["value"][0])


def _summed(left_out: pl.DataFrame) -> pl.DataFrame:
    """One row per constant: which values were chosen, and what they give on average."""
    values = pl.col("value").unique().sort().cast(pl.String).str.join(", ")
    return left_out.group_by("constant", maintain_order=True).agg(
        pl.col("own_value").first(),
        chosen=values,
        **{
            name: pl.col(name).mean()
            for name in LEFT_OUT
            if name.endswith(("accuracy", "calibration_error"))
        },
    )
