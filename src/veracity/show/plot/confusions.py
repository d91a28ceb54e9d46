"""Who confuses what with what: a confusion matrix per source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.errors import ParameterError
from veracity.result.crowds import confusions_of
from veracity.show.plot.figure import Look, altair, chart_of, drawable, finish, look_of

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from veracity.result import Result

MOST_SOURCES = 12
"""So many matrices fit in a figure; of more sources, those with most claims."""

MOST_LABELS = 30
"""So many labels can be told apart in a matrix."""


def confusions_table(result: Result, most: int = MOST_SOURCES) -> pl.DataFrame:
    """The confusions of the sources with most claims, these first."""
    table = confusions_of(result)
    claims = table.group_by("source").agg(total=pl.col("claims").sum().round(6))
    chosen = claims.sort("total", "source", descending=[True, False]).head(most)
    return chosen.with_row_index("place").join(table, on="source").sort("place", "true", "said")


def plot_confusions(result: Result, theme: str = "light") -> TopLevelMixin:
    """How likely each source is to say a label, given the true one."""
    alt, look = altair(), look_of(theme)
    table = confusions_table(result)
    if table.is_empty():
        raise ParameterError("plot: no true label is among the claims, so nothing is confused")
    if table["true"].n_unique() > MOST_LABELS:
        raise ParameterError(
            f"plot: {table['true'].n_unique()} labels are too many for a matrix one can read; "
            "result.confusions has them as a table"
        )
    table = drawable(table)  # so that the order names sources as they are drawn
    order = table["source"].unique(maintain_order=True).to_list()
    header = alt.Header(labelColor=look.ink, labelLimit=200, title=None)
    facet = alt.Facet("source:N", sort=order, header=header)
    facets = _matrix(table, look).facet(facet, columns=4)
    n_sources = len(result.tables.sources)
    note = "How likely a source is to say a label, given the true one: right is on the diagonal."
    if n_sources > len(order):
        note += f" The {len(order)} most active of {n_sources:,} sources."
    figure: TopLevelMixin = finish(facets, look, "Who confuses what", note)
    return figure


def _matrix(table: pl.DataFrame, look: Look) -> Any:
    """What is said of which label, as shades; as numbers, too, where there is room."""
    alt = altair()
    step = max(14, min(34, 240 // table["true"].n_unique()))
    axis = alt.Axis(ticks=False, grid=False, labelOverlap=False, labelLimit=120)
    cells = chart_of(table).encode(
        x=alt.X("said:N", title="label said", axis=axis),
        y=alt.Y("true:N", title="true label", axis=axis),
        tooltip=[
            "source:N", "true:N", "said:N", alt.Tooltip("probability:Q", format=".1%"),
            alt.Tooltip("claims:Q", format=",.1f"),
        ],
    )  # fmt: skip
    scale = alt.Scale(range=list(look.shades), domain=[0.0, 0.5, 1.0], interpolate="lab")
    shade = alt.Color("probability:Q", scale=scale, legend=alt.Legend(format=".0%"))
    layers = [cells.mark_rect().encode(color=shade)]
    if step > 24:
        layers.append(
            cells.mark_text(fontSize=10).encode(
                text=alt.Text("probability:Q", format=".2f"),
                color=alt.condition(
                    "datum.probability > 0.6", alt.value(look.paper), alt.value(look.ink)
                ),
            )
        )
    return alt.layer(*layers).properties(width=alt.Step(step), height=alt.Step(step))
