"""Base of studies: tasks that return rows, and tables and figures of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from veracity.algorithms import algorithm_named
from veracity.errors import ParameterError
from veracity.study.data import check_datasets, require_names

if TYPE_CHECKING:
    from veracity.show.figures.base import Figure

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """An experiment in three steps: `do` tasks for rows, sum rows up in `tables`, draw `figures`.

    A study is its settings and nothing else, so that two that are equal do the same.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    """Description of the measurement, in a few sentences."""

    kind: ClassVar[str] = "categorical"
    """The kind of claims that its algorithms must take."""

    measures_time: ClassVar[bool] = False
    """True if tasks must not run in parallel, because they would slow each other down."""

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
        """Return the names of all tasks known so far, given the rows of those that are done."""

    @abstractmethod
    def do(self, task: str) -> list[Row]:
        """Run one task; return at least one row, which depends only on the settings."""

    @abstractmethod
    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return summary tables of the rows, with the paper's figures where it has some."""

    def figures(self, tables: dict[str, pl.DataFrame]) -> dict[str, Figure]:
        """Return the tables as figures, by name."""
        return {}

    @abstractmethod
    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Return the findings of the tables, as sentences."""

    def check(self) -> None:  # noqa: B027 - most have nothing to look at
        """Raise an error for invalid settings, before any task is done."""


@dataclass(frozen=True, kw_only=True)
class StudyOfDatasets(Study):
    """A study of folders with claims and truth; its tables call each by the folder's name."""

    also_draws: ClassVar[bool] = False
    """True if claims are drawn at random as well, so that datasets may be missing."""

    datasets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.datasets or not self.also_draws:
            require_names(self.datasets)

    def check(self) -> None:
        """Raise an error unless every dataset exists."""
        check_datasets(self.datasets)
