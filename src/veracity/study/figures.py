"""Figures of studies: our curves solid, the paper's dashed, one colour an algorithm."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from veracity.show.figures.base import Figure, ThemeName, altair, chart_of, dots, heatmap

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
"""Okabe and Ito's palette, which colour-blind people can distinguish; the same in every figure."""

OTHER_COLOURS = ("#882255", "#44aa99", "#332288", "#999933")
"""Colours of algorithms that are not in the paper."""

OURS, PAPER = "veracity", "the paper"

WIDTH = 560


class StudyFigure(Figure):
    """Figure on white in both themes, since its colours stand for algorithms."""

    def svg(self, theme: ThemeName | None = None) -> str:
        """Return the figure as SVG."""
        return super().svg("light")


def _figure(title: str, table: pl.DataFrame, chart: Any) -> Figure:
    return StudyFigure(title=title, note="", table=table, draw=lambda colours: chart)


def by_whom(table: pl.DataFrame, *measures: str) -> pl.DataFrame:
    """Return our measures and the paper's in separate rows, marked in the column `by`.

    The paper's rows are limited to algorithms that were run.
    """
    keys = [n for n in table.columns if n not in measures and not n.startswith("paper_")]
    ours = table.select(*keys, *measures, by=pl.lit(OURS)).drop_nulls(measures[0])
    paper = table.select(*keys, **{n: f"paper_{n}" for n in measures}, by=pl.lit(PAPER))
    is_run = pl.col("algorithm").is_in(ours["algorithm"].unique().implode())
    paper = paper.filter(is_run).drop_nulls(measures[0])
    return pl.concat([ours, paper], how="vertical_relaxed")


def whose(alt: Any, rows: pl.DataFrame) -> dict[str, Any]:
    """Return the encoding of lines: a colour per algorithm, dashes for the paper's numbers."""
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
    """Return the encoding that draws our lines solid and the paper's dashed."""
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2)
    return alt.StrokeDash(
        "by:N",
        scale=alt.Scale(domain=[OURS, PAPER], range=[[1, 0], [4, 4]]),
        title=None,
        legend=legend if rows["by"].n_unique() > 1 else None,
    )


def decades(alt: Any, values: pl.Series) -> dict[str, Any]:
    """Return a logarithmic scale over the range of the values, marked at powers of ten."""
    lowest, highest = float(values.min()), float(values.max())  # type: ignore[arg-type]
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    marks = [10.0**power for power in range(first, last + 1)]
    return {
        "scale": alt.Scale(type="log", domain=[lowest, highest], nice=False),
        "axis": alt.Axis(values=marks, format=",~r"),
    }


def characteristic_figure(table: pl.DataFrame, title: str) -> Figure:
    """Return one column of figure 4: accuracy, standard deviation and number of datasets."""
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
    return _figure(f"Accuracy against {title}", table, alt.vconcat(mean, spread, datasets))


def _curves(alt: Any, rows: pl.DataFrame) -> Any:
    """Return lines, with points where we measured: a line across a gap is no measurement."""
    encoding = whose(alt, rows)
    points = chart_of(rows.filter(pl.col("by") == OURS)).mark_point(size=14, filled=True)
    lines = chart_of(rows).mark_line(strokeWidth=1.5).encode(**encoding)
    return lines + points.encode(color=encoding["color"], opacity=alt.value(1))


def _shares(table: pl.DataFrame) -> pl.DataFrame:
    """Return the share of the datasets in each group; zero for an empty group."""
    counts = table.group_by("x").agg(pl.col("datasets", "paper_datasets").max().fill_null(0))
    sides = [
        counts.select("x", share=pl.col(n) / pl.col(n).sum(), by=pl.lit(by))
        for n, by in (("datasets", OURS), ("paper_datasets", PAPER))
    ]
    return pl.concat(sides).sort("by", "x")


def runtime_figure(table: pl.DataFrame) -> Figure:
    """Draw figure 3: seconds against the number of claims, both on logarithmic scales."""
    alt = altair()
    rows = by_whom(table, "seconds")
    lines = _curves(alt, rows).encode(
        x=alt.X("claims:Q", title="claims", **decades(alt, rows["claims"])),
        y=alt.Y("seconds:Q", title="seconds", **decades(alt, rows["seconds"])),
    )
    chart = lines.properties(width=WIDTH, height=360)
    return _figure("Run time against the number of claims", table, chart)


def sensitivity_figure(table: pl.DataFrame, parameter: str, title: str) -> Figure:
    """Draw figure 5: accuracy against the start of one parameter."""
    alt = altair()
    rows = by_whom(table, "accuracy")
    is_wide = parameter in ("learning_rate", "batch_size")
    scale = decades(alt, rows["setting"]) if is_wide else {"scale": alt.Scale(zero=False)}
    lines = _curves(alt, rows).encode(
        x=alt.X("setting:Q", title=parameter.replace("_", " "), **scale),
        y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1])),
    )
    return _figure(title, table, lines.properties(width=WIDTH, height=300))


def table_figure(table: pl.DataFrame, title: str) -> Figure:
    """Draw table 3 as a matrix for each algorithm: the accuracy of each optimum on each dataset."""
    alt = altair()
    rows = by_whom(table, "accuracy")
    n_datasets = rows["dataset"].n_unique()
    field = heatmap(
        rows,
        alt.X("dataset:N", title=None, sort=None, axis=alt.Axis(labelAngle=-30)),
        alt.Y("optimized_for:N", title="optimised for", sort=None),
        alt.Color("accuracy:Q", scale=alt.Scale(scheme="blues", domain=[0, 1])),
        label=".3f",
        light_from=0.6,
    ).properties(width=64 * n_datasets, height=28 * n_datasets)
    chart = field.facet(
        row=alt.Row("algorithm:N", title=None, sort=list(dict.fromkeys(rows["algorithm"]))),
        column=alt.Column("by:N", title=None, sort=[OURS, PAPER]),
    )
    return _figure(title, table, chart)


def statements_figure(table: pl.DataFrame) -> Figure:
    """Draw the accuracy of each variant, in one field per dataset; lines span several draws."""
    alt = altair()
    # Where draws are of many datasets, the span would be that of the datasets.
    is_one = pl.when(pl.col("dataset") != "synthetic")
    ends = (is_one.then(name).alias(name) for name in ("lowest", "highest"))
    chart = dots(
        table.with_columns(*ends), "variant", "accuracy", title="accuracy",
        ends=("lowest", "highest"), scale=alt.Scale(domain=[0, 1]), width=220,
        colour=whose(alt, table.with_columns(by=pl.lit(OURS)))["color"],
    )  # fmt: skip
    chart = chart.properties(height=14 * table["variant"].n_unique())
    chart = chart.facet(alt.Facet("dataset:N", title=None, sort=None), columns=2)
    return _figure("LTD-RBM with one thing changed", table, chart)
