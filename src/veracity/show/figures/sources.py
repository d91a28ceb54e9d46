"""Draw the accuracy of sources: one line per source, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.show.figures.base import Colours, Figure, altair, dots

if TYPE_CHECKING:
    from veracity.result import Result

MOST_SOURCES = 40
"""Largest number of sources; those with most claims are taken."""

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
