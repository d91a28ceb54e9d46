"""Draw figures of results. A figure shows numbers that are also in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veracity.inspect.evaluation import evaluate, score_truths
from veracity.show.figures.base import Figure
from veracity.show.figures.decision import decision_figure
from veracity.show.figures.heatmaps import agreement_figure, confusions_figure
from veracity.show.figures.measures import (
    accuracy_figure,
    calibration_figure,
    plausibility_figure,
)
from veracity.show.figures.sources import history_figure, sources_figure

if TYPE_CHECKING:
    from veracity.result import Result


class Plots:
    """Figures of a result. `theme` is "light" or "dark"; `Figure.save` writes a file."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def sources(self, *, theme: str = "light") -> Figure:
        """Draw the 40 sources with most claims, the best on top: accuracy, tpr and fpr.

        Sources of numbers are shown by how far they deviate from the estimates.
        """
        return sources_figure(self._result, theme)

    def agreement(self, *, theme: str = "light") -> Figure:
        """Draw how often the 60 most active sources agree; near-copies are side by side."""
        return agreement_figure(self._result, theme)

    def confusions(self, *, theme: str = "light") -> Figure:
        """Draw the labels that each of the 12 sources with most claims gives, by true label."""
        return confusions_figure(self._result, theme)

    def plausibility(self, *, theme: str = "light") -> Figure:
        """Draw how plausible the answers are: a histogram."""
        return plausibility_figure(self._result, theme)

    def calibration(self, truth: object, *, theme: str = "light") -> Figure:
        """Draw plausibilities against the share that is right, by known truths."""
        return calibration_figure(self._result, score_truths(self._result, truth)[0], theme)

    def accuracy(self, truth: object, *, theme: str = "light") -> Figure:
        """Draw the accuracy of the answer on each attribute, by known truths."""
        return accuracy_figure(self._result, evaluate(self._result, truth), theme)

    def decision(self, entity: object, attribute: object = None, *, theme: str = "light") -> Figure:
        """Draw why an item has its value: `Result.why` as a waterfall."""
        return decision_figure(self._result, entity, attribute, theme)

    def history(self, *, theme: str = "light") -> Figure:
        """Draw the accuracy of at most 12 sources in each batch; those that changed come first."""
        return history_figure(self._result, theme)
