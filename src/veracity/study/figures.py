"""Figures of studies: our curves solid, the paper's dashed, one colour an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.plot import altair

if TYPE_CHECKING:
    from altair import TopLevelMixin

__all__ = [
    "characteristic_figure",
    "league_figure",
    "runtime_figure",
    "sensitivity_figure",
    "table_figure",
]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Okabe and Ito's palette: told apart by the colour-blind."""

WIDTH = 560


def by_whom(table: pl.DataFrame, *measures: str) -> pl.DataFrame:
    """One row a measure of ours and one of the paper's, told apart by the column `by`."""
    keys = [n for n in table.columns if n not in measures and not n.startswith("paper_")]
    ours = table.select(*keys, *measures, by=pl.lit("veracity"))
    paper = table.select(*keys, **{n: f"paper_{n}" for n in measures}, by=pl.lit("the paper"))
    return pl.concat([ours, paper], how="vertical_relaxed").drop_nulls(measures[0])


def whose(alt: Any) -> dict[str, Any]:  # noqa: ANN401 - the module
    """Colour for the algorithm, dashes for the paper."""
    return {
        "color": alt.Color("algorithm:N", scale=alt.Scale(range=list(COLOURS)), title=None),
        "strokeDash": alt.StrokeDash(
            "by:N",
            scale=alt.Scale(domain=["veracity", "the paper"], range=[[1, 0], [4, 4]]),
            title=None,
        ),
    }


def characteristic_figure(table: pl.DataFrame, title: str) -> TopLevelMixin:
    """One column of figure 4: accuracy, its standard deviation, and how many datasets there are."""
    alt = altair()
    x = alt.X("x:Q", title=title)
    measures = by_whom(table, "accuracy", "accuracy_std")
    lines = alt.Chart(measures).mark_line().encode(x=x, **whose(alt)).properties(width=WIDTH)
    zero = alt.Scale(zero=False)
    mean = lines.encode(y=alt.Y("accuracy:Q", scale=zero)).properties(height=260)
    spread = lines.encode(y=alt.Y("accuracy_std:Q", title="standard deviation")).properties(
        height=140
    )
    counts = by_whom(table.filter(pl.col("algorithm") == "majority-vote"), "datasets")
    share = pl.col("datasets") / pl.col("datasets").sum().over("by")
    bars = alt.Chart(counts.with_columns(share=share)).mark_line(interpolate="step", color="black")
    datasets = bars.encode(
        x=x, y=alt.Y("share:Q", title="share of datasets"), strokeDash=whose(alt)["strokeDash"]
    ).properties(width=WIDTH, height=100)
    figure: TopLevelMixin = alt.vconcat(mean, spread, datasets).properties(
        title=f"Accuracy against {title}"
    )
    return figure


def runtime_figure(table: pl.DataFrame) -> TopLevelMixin:
    """Figure 3: seconds against the number of claims, both on logarithmic scales."""
    alt = altair()
    lines = (
        alt.Chart(by_whom(table, "seconds"))
        .mark_line()
        .encode(
            x=alt.X("claims:Q", scale=alt.Scale(type="log"), title="claims"),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
            **whose(alt),
        )
    )
    figure: TopLevelMixin = lines.properties(
        width=WIDTH, height=360, title="Run time against the number of claims"
    )
    return figure


def sensitivity_figure(table: pl.DataFrame, parameter: str, title: str) -> TopLevelMixin:
    """Figure 5: accuracy against the start of one parameter."""
    alt = altair()
    kind = "log" if parameter in ("learning_rate", "batch_size") else "linear"
    lines = (
        alt.Chart(by_whom(table, "accuracy"))
        .mark_line(point=True)
        .encode(
            x=alt.X("setting:Q", scale=alt.Scale(type=kind), title=parameter.replace("_", " ")),
            y=alt.Y("accuracy:Q", scale=alt.Scale(domain=[0, 1])),
            **whose(alt),
        )
    )
    figure: TopLevelMixin = lines.properties(width=WIDTH, height=300, title=title)
    return figure


def table_figure(table: pl.DataFrame, title: str) -> TopLevelMixin:
    """Table 3 as cells: accuracy of each optimum on each dataset, one field an algorithm."""
    alt = altair()
    cells = alt.Chart(by_whom(table, "accuracy")).encode(
        x=alt.X("dataset:N", title=None, sort=None),
        y=alt.Y("optimized_for:N", title="optimised for", sort=None),
    )
    shade = alt.Color("accuracy:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]))
    text = cells.mark_text().encode(
        text=alt.Text("accuracy:Q", format=".3f"),
        color=alt.condition("datum.accuracy > 0.6", alt.value("white"), alt.value("black")),
    )
    field = (cells.mark_rect().encode(color=shade) + text).properties(width=240, height=120)
    figure: TopLevelMixin = field.facet(
        row=alt.Row("algorithm:N", title=None), column=alt.Column("by:N", title=None, sort=None)
    ).properties(title=title)
    return figure


def league_figure(table: pl.DataFrame, order: list[str]) -> TopLevelMixin:
    """A league as lines of dots: one an algorithm, a dot a dataset, a tick at their mean."""
    alt = altair()
    y = alt.Y("algorithm:N", sort=order, title=None)
    x = alt.X("accuracy:Q", scale=alt.Scale(domain=[0, 1]))
    dots = (
        alt.Chart(table)
        .mark_circle(opacity=0.6)
        .encode(
            x=x, y=y, color=alt.Color("dataset:N", title=None), tooltip=["dataset:N", "accuracy:Q"]
        )
    )
    means = table.group_by("algorithm", maintain_order=True).agg(pl.col("accuracy").mean())
    ticks = alt.Chart(means).mark_tick(thickness=3, color="black").encode(x=x, y=y)
    figure: TopLevelMixin = (dots + ticks).properties(
        width=WIDTH, title="Accuracy on every dataset, and its mean"
    )
    return figure
