"""Draw the accuracy of sources, with intervals: one line per source, or over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.errors import ParameterError
from veracity.show.figures.base import Colours, Figure, altair, chart_of, dots

if TYPE_CHECKING:
    from veracity.result import Result

MOST_SOURCES = 40
"""Largest number of sources; those with most claims are taken."""

MOST_HISTORIES = 12
"""Largest number of sources whose history is drawn."""

RATES = {
    "accuracy": "accuracy",
    "tpr": "tpr: claims what is true",
    "fpr": "fpr: claims what is false",
}


def sources_figure(result: Result, theme: str = "light") -> Figure:
    """Draw the sources, the best on top: accuracy, tpr and fpr; for numbers, their deviation."""
    is_numeric = result.kind == "numeric"
    sources = result.tables.sources
    ranked = sources.sort("claims", descending=True, maintain_order=True).head(MOST_SOURCES)
    note = "Further left is better." if is_numeric else "The best source is on top."
    if len(sources) > len(ranked):
        note += f" The {len(ranked)} most active of {len(sources):,} sources."
    if is_numeric:
        table = ranked.select("source", "deviation", "claims").sort("deviation")
    else:
        wanted = [name for name in ranked.columns if name.startswith(tuple(RATES))]
        table = ranked.select("source", *wanted, "claims")
        table = table.sort("accuracy", descending=True, nulls_last=True, maintain_order=True)
        if "accuracy_low" in table.columns:
            note += " Lines: 90 % intervals."
        if (table["tpr"] <= table["fpr"]).any():
            note += " Orange: no better than guessing."

    def draw(colours: Colours) -> Any:
        return (_deviations if is_numeric else _rates)(table, colours)

    return Figure(title="The sources", note=note, table=table, draw=draw, theme=theme)


def history_figure(result: Result, theme: str = "light") -> Figure:
    """Draw the accuracy of sources in each batch; those that changed come first."""
    history = result.tables.history
    if history is None:
        why = "not for numeric claims" if result.kind == "numeric" else "nothing was learned"
        raise ParameterError(f"plot: there is no history of the sources to draw: {why}")
    order = history.group_by("source", maintain_order=True).agg(
        changes=pl.col("change").count(), claims=pl.col("claims").sum()
    )
    order = order.sort("changes", "claims", descending=True, maintain_order=True)
    chosen = order.head(MOST_HISTORIES).select("source")
    table = chosen.join(history, on="source", maintain_order="left_right")
    note = "Bands: 90 % intervals."
    if table["change"].count():
        note += " Orange: it changed."
    if len(order) > len(chosen):
        note += f" {len(chosen)} of {len(order):,} sources."

    def draw(colours: Colours) -> Any:
        alt = altair()
        axis = alt.Axis(format="d", tickMinStep=1)
        tooltip = ["source:N", "batch:Q", alt.Tooltip("accuracy:Q", format=".3f"), "claims:Q"]
        base = chart_of(table).encode(x=alt.X("batch:Q", axis=axis), tooltip=tooltip)
        scale = alt.Scale(domain=[0.0, 1.0])
        y = alt.Y("accuracy:Q", scale=scale)
        ends = {"y": alt.Y("accuracy_low:Q", title="accuracy", scale=scale), "y2": "accuracy_high"}
        band = base.mark_area(color=colours.main, opacity=0.2).encode(**ends)
        line = base.mark_line(color=colours.main, strokeWidth=1.5).encode(y=y)
        is_changed = "isValid(datum.change)"
        colour = alt.condition(is_changed, alt.value(colours.against), alt.value(colours.main))
        point = base.mark_point(filled=True, opacity=1, size=30).encode(y=y, color=colour)
        names = alt.Header(labelLimit=150, title=None)
        facet = alt.Facet("source:N", sort=chosen["source"].to_list(), header=names)
        return (band + line + point).properties(width=150, height=90).facet(facet, columns=3)

    return Figure(title="The sources over time", note=note, table=table, draw=draw, theme=theme)


def _rates(table: pl.DataFrame, colours: Colours) -> Any:
    """Return three fields side by side, one for each rate."""
    alt = altair()
    marked = table.with_columns(guesses=(pl.col("tpr") <= pl.col("fpr")).fill_null(value=False))
    colour = alt.Color(
        "guesses:N",
        legend=None,
        scale=alt.Scale(domain=[False, True], range=[colours.main, colours.against]),
    )
    rates = [alt.Tooltip(f"{name}:Q", format=".3f") for name in RATES]
    tooltip = ["source:N", *rates, alt.Tooltip("claims:Q", format=",")]
    fields = [
        dots(
            marked,
            "source",
            rate,
            title=title,
            colours=colours,
            ends=(f"{rate}_low", f"{rate}_high") if f"{rate}_low" in table.columns else None,
            scale=alt.Scale(domain=[0.0, 1.0]),
            colour=colour,
            names=rate == "accuracy",
            width=150,
            tooltip=tooltip,
        )
        for rate, title in RATES.items()
    ]
    return alt.hconcat(*fields, spacing=12)


def _deviations(table: pl.DataFrame, colours: Colours) -> Any:
    alt = altair()
    tooltip = [
        "source:N",
        alt.Tooltip("deviation:Q", format=".4~g"),
        alt.Tooltip("claims:Q", format=","),
    ]
    title = "deviation: root mean square distance from the estimates"
    scale = alt.Scale(zero=True)
    return dots(
        table, "source", "deviation", title=title, colours=colours, scale=scale, tooltip=tooltip
    )
