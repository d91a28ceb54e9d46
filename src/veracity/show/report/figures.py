"""Figures for the page: SVG, once for light and once for dark."""

from __future__ import annotations

import importlib.util
import io
from typing import Any, NamedTuple, get_args
from xml.dom import minidom

import polars as pl

from veracity.errors import ParameterError
from veracity.extras import how_to_get
from veracity.progress import Progress
from veracity.result import Result
from veracity.show.plot import Plots, ThemeName
from veracity.show.report.markup import text

TITLES = {
    "sources": "The sources by their rates",
    "plausibility": "How plausible the answers are",
    "agreement": "How often sources say the same",
    "trace": "How far each round moved the sources' rates",
    "calibration": "Whether plausibilities are what they say",
    "accuracy": "How right the answer is for each attribute",
}
"""What a reader who does not see a figure is told of it."""

NEED_TRUTH = ("calibration", "accuracy")


class Drawn(NamedTuple):
    """Figures as HTML, by name; and why there are none, if so."""

    figures: dict[str, str]
    missing: str = ""

    def show(self, name: str) -> str:
        """The figure, if it could be drawn."""
        return self.figures.get(name, "")


def draw(
    result: Result, truth: object | None, agreement: pl.DataFrame | None, tell: Progress
) -> Drawn:
    """All figures that can be drawn of a result; none if the plotting library is missing."""
    for module in ("altair", "vl_convert"):
        if importlib.util.find_spec(module) is None:
            return Drawn({}, f"There are no figures, which need an extra: {how_to_get('plot')}.")
    figures: dict[str, str] = {}
    for number, (name, title) in enumerate(TITLES.items()):
        tell("drawing", number, len(TITLES))
        given = {"truth": truth} if name in NEED_TRUTH else {}
        if name == "agreement":
            given = {"table": None if _never_agree(agreement) else agreement}
        if any(value is None for value in given.values()):
            continue
        try:
            figures[name] = _figure(Plots(result), name, title, given)
        except ParameterError:  # this figure is not for these data, such as agreement of one source
            continue
    return Drawn(figures)


def _never_agree(agreement: pl.DataFrame | None) -> bool:
    """Whether no two sources ever say the same, as with measured numbers: nothing is to be seen."""
    return agreement is None or int(agreement["same"].sum()) == 0


def _figure(plots: Plots, name: str, title: str, given: dict[str, Any]) -> str:
    themes: tuple[ThemeName, ...] = get_args(ThemeName)
    both = "".join(
        f'<div class="{theme}">{_svg(plots.draw(name, theme=theme, **given), f"{name}-{theme}-")}'
        "</div>"
        for theme in themes
    )
    return f'<figure role="img" aria-label="{text(title)}" tabindex="0">{both}</figure>'


def _svg(chart: Any, prefix: str) -> str:
    """The figure with names of its own, and without the words for each mark: it is one picture."""
    file = io.StringIO()
    chart.save(file, format="svg")
    document = minidom.parseString(file.getvalue().encode())
    for element in document.getElementsByTagName("*"):
        for name, value in list(element.attributes.items()):
            if name == "role" or name.startswith("aria-"):
                element.removeAttribute(name)
            elif name == "id":
                element.setAttribute(name, f"{prefix}{value}")
            elif name.endswith("href") and value.startswith("#"):
                element.setAttribute(name, f"#{prefix}{value[1:]}")
            elif "url(#" in value:
                element.setAttribute(name, value.replace("url(#", f"url(#{prefix}"))
    root = document.documentElement
    assert root is not None  # the library writes a whole document
    svg: str = root.toxml()
    return svg
