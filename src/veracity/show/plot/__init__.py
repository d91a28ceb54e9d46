"""From tables to figures. The numbers are in the tables; a figure shows them.

Each figure has a function that makes its table, small enough for a picture, and one that draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veracity.errors import ParameterError
from veracity.result.texts import in_text
from veracity.show.plot.agreement import agreement_table, plot_agreement
from veracity.show.plot.confusions import confusions_table, plot_confusions
from veracity.show.plot.decision import plot_decision, waterfall_table
from veracity.show.plot.figure import ThemeName, altair, save_figure
from veracity.show.plot.measures import (
    accuracy_table,
    calibration_table,
    comparison_table,
    plausibility_table,
    plot_accuracy,
    plot_calibration,
    plot_comparison,
    plot_plausibility,
    plot_trace,
    trace_table,
)
from veracity.show.plot.sources import deviation_points, plot_sources, source_cells, source_points

if TYPE_CHECKING:
    import polars as pl
    from altair import TopLevelMixin

    from veracity.result import Result

__all__ = [
    "FIGURES",
    "Plots",
    "ThemeName",
    "accuracy_table",
    "agreement_table",
    "altair",
    "calibration_table",
    "comparison_table",
    "confusions_table",
    "deviation_points",
    "plausibility_table",
    "plot_comparison",
    "save_figure",
    "source_cells",
    "source_points",
    "trace_table",
    "waterfall_table",
]

FIGURES = (
    "sources", "agreement", "confusions", "plausibility", "trace", "calibration", "accuracy",
    "decision",
)  # fmt: skip
"""What can be drawn of a result."""


class Plots:
    """The figures of a result: Altair charts, with tooltips in a notebook.

    `theme` is "light" or "dark". `save_figure` writes any of them to a file.
    """

    def __init__(self, result: Result) -> None:
        self._result = in_text(result)

    def sources(self, *, theme: ThemeName = "light") -> TopLevelMixin:
        """Sources by tpr and fpr, with intervals, as large as they have claims.

        More than 40 are shown as shades, with the most active as points. Sources of numbers are
        shown by how far they deviate from the estimates.
        """
        return plot_sources(self._result, theme)

    def agreement(
        self, *, theme: ThemeName = "light", table: pl.DataFrame | None = None
    ) -> TopLevelMixin:
        """How often sources say the same: near-copies stand side by side. At most 60 sources.

        `table` is what `agreement_table` made, if it is there already.
        """
        return plot_agreement(self._result, theme, table)

    def confusions(self, *, theme: ThemeName = "light") -> TopLevelMixin:
        """Which labels each source says, given the true one; the 12 with most claims."""
        return plot_confusions(self._result, theme)

    def plausibility(self, *, theme: ThemeName = "light") -> TopLevelMixin:
        """How plausible the answers are: a histogram."""
        return plot_plausibility(self._result, theme)

    def trace(self, *, theme: ThemeName = "light") -> TopLevelMixin:
        """How far each round moved the sources' rates."""
        return plot_trace(self._result, theme)

    def calibration(self, truth: object, *, theme: ThemeName = "light") -> TopLevelMixin:
        """Whether plausibilities are what they say, against known truths: a reliability diagram."""
        return plot_calibration(self._result, truth, theme)

    def accuracy(self, truth: object, *, theme: ThemeName = "light") -> TopLevelMixin:
        """How right the answer is for each attribute, against known truths."""
        return plot_accuracy(self._result, truth, theme)

    def decision(
        self, entity: object, attribute: object = None, *, theme: ThemeName = "light"
    ) -> TopLevelMixin:
        """Why the value of one item was settled on: `Result.why` as a waterfall."""
        return plot_decision(self._result, entity, attribute, theme)

    def draw(self, what: str, **arguments: Any) -> TopLevelMixin:
        """The figure of this name, one of `FIGURES`."""
        if what not in FIGURES:
            raise ParameterError(f"plot: no figure {what!r}; there are {', '.join(FIGURES)}")
        figure: TopLevelMixin = getattr(self, what)(**arguments)
        return figure
