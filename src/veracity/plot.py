"""From tables to figures. The numbers are in the tables; a figure shows them."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.errors import ParameterError
from veracity.write import finished_file

if TYPE_CHECKING:
    from altair import LayerChart, TopLevelMixin

    from veracity.comparison import Comparison

__all__ = ["altair", "plot_comparison", "save_figure"]

FORMATS = (".svg", ".png", ".pdf", ".html")
BLUE = "#0072b2"  # Okabe and Ito's palette: told apart by the colour-blind


def plot_comparison(comparison: Comparison) -> LayerChart:
    """How algorithms fare (where truths are known), or how far they agree (where none is)."""
    measure = next((m for m in ("accuracy", "mae") if m in comparison.rows.columns), None)
    if measure is None:
        return _plot_agreement(comparison)
    alt = altair()
    rows = comparison.rows.filter(pl.col(measure).is_not_null())
    order = "-x" if measure == "accuracy" else "x"
    bars = alt.Chart(rows).encode(
        x=alt.X(f"{measure}:Q", title=measure),
        y=alt.Y("algorithm:N", sort=order, title=None),
        tooltip=rows.columns,
    )
    label = bars.mark_text(align="left", dx=4).encode(text=alt.Text(f"{measure}:Q", format=".3f"))
    figure: LayerChart = bars.mark_bar(color=BLUE) + label
    return figure.properties(title="The algorithms on these claims", width=480)


def _plot_agreement(comparison: Comparison) -> LayerChart:
    alt = altair()
    pairs = comparison.pairs
    turned = pairs.select(algorithm="other", other="algorithm", agreement="agreement")
    cells = alt.Chart(pl.concat([pairs, turned])).encode(
        x=alt.X("algorithm:N", title=None), y=alt.Y("other:N", title=None)
    )
    shade = alt.Color("agreement:Q", scale=alt.Scale(scheme="blues"), title="same truth")
    lowest, highest = float(pairs["agreement"].min()), float(pairs["agreement"].max())  # type: ignore[arg-type]
    is_dark = f"datum.agreement > {(lowest + highest) / 2.0}"
    text = cells.mark_text().encode(
        text=alt.Text("agreement:Q", format=".2f"),
        color=alt.condition(is_dark, alt.value("white"), alt.value("black")),
    )
    figure: LayerChart = cells.mark_rect().encode(color=shade) + text
    return figure.properties(title="Items on which they settle on the same", width={"step": 44})


def save_figure(chart: TopLevelMixin, path: str | os.PathLike[str]) -> Path:
    """Write a figure as SVG, PNG, PDF or a page that needs no network; all of it, or nothing."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ParameterError(f"figure: '{target.name}' must end in one of {', '.join(FORMATS)}")
    with finished_file(target) as unfinished:
        chart.save(str(unfinished), inline=target.suffix.lower() == ".html")  # needs no network
    return target


def altair() -> Any:  # noqa: ANN401 - the module
    """The plotting library, which not everybody has installed."""
    try:
        return importlib.import_module("altair")
    except ImportError as error:
        raise ParameterError("figures need Altair: pip install 'veracity[plot]'") from error
