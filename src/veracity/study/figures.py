"""Figures of studies: our curves solid, the paper's dashed, one colour an algorithm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.show.plot import altair
from veracity.show.plot.figure import chart_of

if TYPE_CHECKING:
    from altair import TopLevelMixin

COLOUR_OF = {
    "majority-vote": "#000000",
    "ltd-rbm-cd": "#e69f00",
    "ltd-rbm-c-cd": "#f0e442",
    "ltd-rbm": "#0072b2",
    "ltd-rbm-c": "#56b4e9",
    "mle": "#d55e00",
    "ltm": "#009e73",
    "two-estimates": "#cc79a7",
    "oracle": "#888888",
    "oracle of copies": "#c4c4c4",
}
"""Okabe and Ito's palette, told apart by the colour-blind; the same in every figure."""

OTHER_COLOURS = ("#882255", "#44aa99", "#332288", "#999933")
"""For algorithms that are not in the paper."""

OURS, PAPER = "veracity", "the paper"

WIDTH = 560


def by_whom(table: pl.DataFrame, *measures: str) -> pl.DataFrame:
    """One row per measure of ours and one of the paper's, told apart by the column `by`.

    Of the paper's, only those of algorithms that were run.
    """
    keys = [n for n in table.columns if n not in measures and not n.startswith("paper_")]
    ours = table.select(*keys, *measures, by=pl.lit(OURS)).drop_nulls(measures[0])
    paper = table.select(*keys, **{n: f"paper_{n}" for n in measures}, by=pl.lit(PAPER))
    is_run = pl.col("algorithm").is_in(ours["algorithm"].unique().implode())
    paper = paper.filter(is_run).drop_nulls(measures[0])
    return pl.concat([ours, paper], how="vertical_relaxed")


def whose(alt: Any, rows: pl.DataFrame) -> dict[str, Any]:
    """Colour for the algorithm, dashes for the paper."""
    there = set(rows["algorithm"])
    known = [name for name in COLOUR_OF if name in there]
    others = sorted(there - set(known))
    colours = [COLOUR_OF[name] for name in known]
    colours += [OTHER_COLOURS[n % len(OTHER_COLOURS)] for n in range(len(others))]
    return {
        "color": alt.Color(
            "algorithm:N",
            scale=alt.Scale(domain=known + others, range=colours),
            title=None,
            legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=2),
        ),
        "strokeDash": dashes(alt, rows),
    }


def dashes(alt: Any, rows: pl.DataFrame) -> Any:
    """Ours solid, the paper's dashed; a legend only where there are both."""
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2)
    return alt.StrokeDash(
        "by:N",
        scale=alt.Scale(domain=[OURS, PAPER], range=[[1, 0], [4, 4]]),
        title=None,
        legend=legend if rows["by"].n_unique() > 1 else None,
    )


def decades(alt: Any, values: pl.Series) -> dict[str, Any]:
    """A logarithmic scale as long as its values need, marked at powers of ten."""
    lowest, highest = float(values.min()), float(values.max())  # type: ignore[arg-type]
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    marks = [10.0**power for power in range(first, last + 1)]
    return {
        "scale": alt.Scale(type="log", domain=[lowest, highest], nice=False),
        "axis": alt.Axis(values=marks, format=",~r"),
    }


def characteristic_figure(table: pl.DataFrame, title: str) -> TopLevelMixin:
    """One column of figure 4: accuracy, its standard deviation, and how many datasets there are."""
    alt = altair()
    x = alt.X("x:Q", title=title, axis=alt.Axis(tickCount=10))
    measures = by_whom(table, "accuracy", "accuracy_std", "datasets")
    accuracy = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False))
    mean = _curves(alt, measures).encode(x=x, y=accuracy).properties(width=WIDTH, height=260)
    several = measures.filter(pl.col("datasets") > 1)  # one alone has no spread
    deviation = alt.Y("accuracy_std:Q", title="standard deviation")
    spread = _curves(alt, several).encode(x=x, y=deviation).properties(width=WIDTH, height=140)
    shares = _shares(table)
    steps = chart_of(shares).mark_line(interpolate="step", color="black")
    datasets = steps.encode(
        x=x, y=alt.Y("share:Q", title="share of datasets"), strokeDash=dashes(alt, shares)
    ).properties(width=WIDTH, height=100)
    figure: TopLevelMixin = alt.vconcat(mean, spread, datasets).properties(
        title=alt.Title(f"Accuracy against {title}", anchor="middle")
    )
    return figure


def _curves(alt: Any, rows: pl.DataFrame) -> Any:
    """Lines, with points where we measured, so that a gap is not taken for a measurement."""
    encoding = whose(alt, rows)
    points = chart_of(rows.filter(pl.col("by") == OURS)).mark_point(size=14, filled=True)
    lines = chart_of(rows).mark_line(strokeWidth=1.5).encode(**encoding)
    return lines + points.encode(color=encoding["color"], opacity=alt.value(1))


def _shares(table: pl.DataFrame) -> pl.DataFrame:
    """Which share of the datasets each group has; a group without any has none."""
    counts = table.group_by("x").agg(pl.col("datasets", "paper_datasets").max().fill_null(0))
    sides = [
        counts.select("x", share=pl.col(n) / pl.col(n).sum(), by=pl.lit(by))
        for n, by in (("datasets", OURS), ("paper_datasets", PAPER))
    ]
    return pl.concat(sides).sort("by", "x")


def runtime_figure(table: pl.DataFrame) -> TopLevelMixin:
    """Figure 3: seconds against the number of claims, both on logarithmic scales."""
    alt = altair()
    rows = by_whom(table, "seconds")
    lines = _curves(alt, rows).encode(
        x=alt.X("claims:Q", title="claims", **decades(alt, rows["claims"])),
        y=alt.Y("seconds:Q", title="seconds", **decades(alt, rows["seconds"])),
    )
    figure: TopLevelMixin = lines.properties(
        width=WIDTH, height=360, title="Run time against the number of claims"
    )
    return figure


def sensitivity_figure(table: pl.DataFrame, parameter: str, title: str) -> TopLevelMixin:
    """Figure 5: accuracy against the start of one parameter."""
    alt = altair()
    rows = by_whom(table, "accuracy")
    is_wide = parameter in ("learning_rate", "batch_size")
    scale = decades(alt, rows["setting"]) if is_wide else {"scale": alt.Scale(zero=False)}
    lines = _curves(alt, rows).encode(
        x=alt.X("setting:Q", title=parameter.replace("_", " "), **scale),
        y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1])),
    )
    figure: TopLevelMixin = lines.properties(width=WIDTH, height=300, title=title)
    return figure


def table_figure(table: pl.DataFrame, title: str) -> TopLevelMixin:
    """Table 3 as cells: accuracy of each optimum on each dataset, one field an algorithm."""
    alt = altair()
    rows = by_whom(table, "accuracy")
    cells = chart_of(rows).encode(
        x=alt.X("dataset:N", title=None, sort=None, axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("optimized_for:N", title="optimised for", sort=None),
    )
    shade = alt.Color("accuracy:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]))
    text = cells.mark_text().encode(
        text=alt.Text("accuracy:Q", format=".3f"),
        color=alt.condition("datum.accuracy > 0.6", alt.value("white"), alt.value("black")),
    )
    n_datasets = rows["dataset"].n_unique()
    field = (cells.mark_rect().encode(color=shade) + text).properties(
        width=64 * n_datasets, height=28 * n_datasets
    )
    figure: TopLevelMixin = field.facet(
        row=alt.Row("algorithm:N", title=None, sort=list(dict.fromkeys(rows["algorithm"]))),
        column=alt.Column("by:N", title=None, sort=[OURS, PAPER]),
    ).properties(title=alt.Title(title, anchor="middle"))
    return figure


def league_figure(table: pl.DataFrame, order: list[str]) -> TopLevelMixin:
    """A league as lines of dots: one an algorithm, a dot a dataset, a tick at their mean."""
    alt = altair()
    y = alt.Y("algorithm:N", sort=order, title=None)
    x = alt.X("accuracy:Q", scale=alt.Scale(domain=[0, 1]))
    dots = (
        chart_of(table)
        .mark_circle(opacity=0.6)
        .encode(
            x=x, y=y, color=alt.Color("dataset:N", title=None), tooltip=["dataset:N", "accuracy:Q"]
        )
    )
    means = table.group_by("algorithm", maintain_order=True).agg(pl.col("accuracy").mean())
    ticks = chart_of(means).mark_tick(thickness=3, color="black").encode(x=x, y=y)
    figure: TopLevelMixin = (dots + ticks).properties(
        width=WIDTH, title="Accuracy on every dataset, and its mean"
    )
    return figure


def intervals_figure(table: pl.DataFrame) -> TopLevelMixin:
    """The share of intervals that hold: one line per algorithm, a dot per kind of claims."""
    return _held_figure(table, line="algorithm", dot="dataset")


def numbers_figure(table: pl.DataFrame) -> TopLevelMixin:
    """The share of intervals that hold: one line per data set, a dot per algorithm."""
    return _held_figure(table, line="dataset", dot="algorithm")


def _held_figure(table: pl.DataFrame, *, line: str, dot: str) -> TopLevelMixin:
    """Shares of intervals that hold, beside the nine in ten that are promised."""
    alt = altair()
    x = alt.X("held:Q", title="intervals that hold", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y(f"{line}:N", sort=list(dict.fromkeys(table[line])), title=None)
    dots = chart_of(table).mark_circle(size=70).encode(x=x, y=y, color=alt.Color(f"{dot}:N"))
    promised = chart_of(pl.DataFrame({"held": [0.9]})).mark_rule(strokeDash=[4, 4]).encode(x=x)
    figure: TopLevelMixin = (dots + promised).properties(
        width=WIDTH, title="Share of 90 % intervals that hold"
    )
    return figure


def asking_figure(table: pl.DataFrame) -> TopLevelMixin:
    """Accuracy against the number of answers, one field per dataset, one line per way to choose."""
    alt = altair()
    ways = list(dict.fromkeys(table["how"]))
    lines = (
        chart_of(table)
        .mark_line(point=True)
        .encode(
            x=alt.X("budget:Q", title="answers"),
            y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "how:N",
                title=None,
                scale=alt.Scale(domain=ways, range=["#0072b2", "#e69f00", "#888888"]),
            ),
            tooltip=["dataset:N", "how:N", "budget:Q", "accuracy:Q"],
        )
    )
    order = list(dict.fromkeys(table["dataset"]))
    figure: TopLevelMixin = (
        lines.properties(width=220, height=150)
        .facet(alt.Facet("dataset:N", title=None, sort=order), columns=3)
        .resolve_scale(y="independent")
        .properties(title=alt.Title("Accuracy on all items against answers", anchor="middle"))
    )
    return figure


def ablation_figure(table: pl.DataFrame) -> TopLevelMixin:
    """What is lost or won without an ingredient, as cells: red is lost, blue is won."""
    alt = altair()
    cells = chart_of(table).encode(
        x=alt.X("dataset:N", title=None, sort=None, axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("ingredient:N", title=None, sort=None),
    )
    scale = alt.Scale(scheme="redblue", domain=[-0.1, 0.1], clamp=True)
    shade = alt.Color("difference:Q", scale=scale, title="points of accuracy")
    text = cells.mark_text(fontSize=9).encode(text=alt.Text("difference:Q", format="+.3f"))
    figure: TopLevelMixin = (cells.mark_rect().encode(color=shade) + text).properties(
        width=56 * table["dataset"].n_unique(),
        height=26 * table["ingredient"].n_unique(),
        title="Accuracy without one ingredient, against the default",
    )
    return figure


def statements_figure(table: pl.DataFrame) -> TopLevelMixin:
    """Accuracy of each variant, a field a dataset; a line from the least to the most over draws."""
    alt = altair()
    y = alt.Y("variant:N", title=None, sort=list(dict.fromkeys(table["variant"])))
    colour = whose(alt, table.with_columns(by=pl.lit(OURS)))["color"]
    base = chart_of(table).encode(y=y, color=colour)
    scale = alt.Scale(domain=[0, 1])
    spans = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=alt.X("lowest:Q", title="accuracy", scale=scale), x2="highest:Q"
    )
    dots = base.mark_point(filled=True, size=50).encode(x=alt.X("accuracy:Q", scale=scale))
    # Where draws are of many datasets, the span would be that of the datasets.
    alone = spans.transform_filter("datum.dataset != 'synthetic'")
    figure: TopLevelMixin = (
        (alone + dots)
        .properties(width=220, height=14 * table["variant"].n_unique())
        .facet(alt.Facet("dataset:N", title=None, sort=None), columns=2)
        .properties(title=alt.Title("LTD-RBM with one thing changed", anchor="middle"))
    )
    return figure
