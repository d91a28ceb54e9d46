"""What a study is: tasks that give rows, and what is to be seen in the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from veracity.algorithms import algorithm_named
from veracity.errors import ParameterError
from veracity.study.data import check_datasets, require_names

if TYPE_CHECKING:
    from altair import TopLevelMixin

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """An experiment in three steps: `do` tasks for rows, sum rows up in `tables`, draw `figures`.

    A study is its settings and nothing else, so that two that are equal do the same.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    """What is measured and how, in a few sentences."""

    kind: ClassVar[str] = "categorical"
    """The kind of claims that its algorithms must take."""

    measure: ClassVar[str] = "accuracy"
    """The column of its rows that says how good an answer is."""

    measures_time: ClassVar[bool] = False
    """Whether tasks must not run beside each other, because they would slow each other down."""

    algorithms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.algorithms)) < len(self.algorithms):
            raise ParameterError(f"study: an algorithm is named twice in {list(self.algorithms)}")
        for name in self.algorithms:
            kinds = algorithm_named(name).kinds
            if self.kind not in kinds:
                raise ParameterError(
                    f"study: {name} is for {' or '.join(kinds)} claims, and study {self.name} is "
                    f"on {self.kind} ones; leave it out"
                )

    @abstractmethod
    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """The tasks known so far, by name; `rows` is what those that are done gave."""

    @abstractmethod
    def do(self, task: str) -> list[Row]:
        """Do one task: at least one row, which depends on nothing but the settings."""

    @abstractmethod
    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The rows summed up, beside the paper's figures where it has some."""

    @abstractmethod
    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, TopLevelMixin]:
        """The tables as figures, by name."""

    @abstractmethod
    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """What the tables say, in sentences."""

    def judges(self) -> tuple[str, ...]:
        """The algorithms whose answers the rows hang on, by name."""
        return self.algorithms

    def check(self) -> None:  # noqa: B027 - most have nothing to look at
        """Raise what can be seen to be wrong before any task is done."""

    def settings(self) -> dict[str, Any]:
        """The settings, as JSON can hold them."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class StudyOfDatasets(Study):
    """A study on folders with claims and truth, each of which its tables call by a name."""

    also_draws: ClassVar[bool] = False
    """Whether claims are drawn at random as well, so that no dataset need be named."""

    datasets: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.datasets or not self.also_draws:
            require_names(self.datasets)

    def check(self) -> None:
        """Every dataset must be there."""
        check_datasets(self.datasets)
