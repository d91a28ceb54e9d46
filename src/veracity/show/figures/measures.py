"""Draw the accuracy and the plausibility of a result, and compare several results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.errors import ParameterError
from veracity.inspect.evaluation import Evaluation, calibration_bins
from veracity.naming import as_text
from veracity.printing import counted
from veracity.result import Result
from veracity.result.intervals import NORMAL_END
from veracity.show.figures.base import (
    WIDTH,
    Colours,
    Figure,
    altair,
    chart_of,
    dots,
    drawable,
)

if TYPE_CHECKING:
    from veracity.inspect.comparison import Comparison

N_BINS = 20
"""Number of bars of the histogram."""

MOST_ATTRIBUTES = 40
"""Largest number of attributes; those with most known truths are taken."""

ALL = "all items"
SHORT = 260


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 90 % interval of a share of n.

    >>> [round(bound, 3) for bound in share_interval(0.9, 100)]
    [0.84, 0.939]
    """
    square = NORMAL_END**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    spread = math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    half = NORMAL_END * spread / (1 + square / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _with_interval(rows: pl.DataFrame, share: str, n: str) -> pl.DataFrame:
    bounds = [share_interval(*pair) for pair in rows.select(share, n).iter_rows()]
    schema = {f"{share}_low": pl.Float64, f"{share}_high": pl.Float64}
    return rows.hstack(pl.DataFrame(bounds, schema, orient="row"))


# --- against known truths -------------------------------------------------------------------------


def _need_plausibility(result: Result, what: str) -> None:
    if result.kind == "numeric":
        raise ParameterError(
            f"plot: {what} is not for numeric claims, which have estimates in place of plausible "
            "values; 'sources', 'agreement' and 'accuracy' are"
        )


def calibration_figure(result: Result, scored: pl.DataFrame, theme: str = "light") -> Figure:
    """Draw plausibility against the share that is right: a reliability diagram, with counts.

    `scored` is what `score_truths` returns. The table has one row per tenth of plausibility.
    """
    _need_plausibility(result, "calibration")
    bins = _with_interval(calibration_bins(scored), "right", "judged")
    note = (
        f"{counted(int(bins['judged'].sum()), 'known truth')} in tenths of plausibility, with 90 % "
        "intervals. On the dashed line plausibility is what it says; below it the answer is too "
        "sure."
    )
    return Figure(
        title="Calibration", note=note, table=bins, theme=theme,
        draw=lambda colours: _calibration(bins, colours),
    )  # fmt: skip


def _calibration(bins: pl.DataFrame, colours: Colours) -> Any:
    alt = altair()
    lowest = math.floor(10 * min([*bins["low"], *bins["right_low"]])) / 10
    scale = alt.Scale(domain=[lowest, 1.0])
    tenths = alt.Axis(format=".1f", tickMinStep=0.1)
    shares = ("plausibility", "right", "right_low", "right_high")
    tooltip = [
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in shares),
        alt.Tooltip("judged:Q", format=","),
    ]
    x = alt.X("plausibility:Q", title=None, scale=scale, axis=tenths)
    y = alt.Y("right:Q", title="share that is right", scale=scale, axis=tenths)
    ends = pl.DataFrame({"plausibility": [lowest, 1.0], "right": [lowest, 1.0]})
    ideal = chart_of(ends).mark_line(color=colours.muted, strokeDash=[4, 4]).encode(x=x, y=y)
    points = chart_of(bins).encode(x=x, y=y, tooltip=tooltip)
    bars = chart_of(bins).mark_rule(color=colours.main, strokeWidth=1.5, opacity=0.6)
    bars = bars.encode(x=x, y=alt.Y("right_low:Q", title="share that is right"), y2="right_high")
    line = points.mark_line(color=colours.main, strokeWidth=1.5)
    marks = points.mark_point(color=colours.main, filled=True, size=60, opacity=1)
    above = alt.layer(ideal, bars, line, marks).properties(width=WIDTH, height=WIDTH)
    counts = chart_of(bins).encode(
        x=alt.X("low:Q", scale=scale, title="plausibility of what was chosen", axis=tenths),
        x2="high",
        y2=alt.datum(0),
        y=alt.Y("judged:Q", title="judged", axis=alt.Axis(tickCount=3)),
        tooltip=tooltip,
    )
    middle = chart_of(bins.with_columns(middle=(pl.col("low") + pl.col("high")) / 2))
    words = middle.mark_text(dy=-7, fontSize=10, color=colours.ink).encode(
        x=alt.X("middle:Q", scale=scale), y="judged:Q", text=alt.Text("judged:Q", format=",")
    )
    bar = counts.mark_rect(color=colours.main, opacity=0.8, stroke=colours.paper)
    return alt.vconcat(above, (bar + words).properties(width=WIDTH, height=90))


def accuracy_figure(result: Result, found: Evaluation, theme: str = "light") -> Figure:
    """Draw the accuracy of the answer on each attribute and on all items, the worst first.

    For numbers, the accuracy is the share of estimates within the tolerance.
    """
    measure = "within" if result.kind == "numeric" else "accuracy"
    whole = {"attribute": ALL, "judged": found.judged, measure: getattr(found, measure)}
    rows, note = pl.DataFrame([whole]), f"{counted(found.judged, 'known truth')}, with 90 % "
    note += "intervals."
    if found.by_attribute is not None:
        parts = pl.DataFrame(found.by_attribute)
        each = parts.select(as_text(parts["attribute"]), "judged", measure)
        each = each.sort("judged", descending=True, maintain_order=True).head(MOST_ATTRIBUTES)
        if len(parts) > len(each):
            note += f" {len(each)} of {len(parts):,} attributes, those with most truths."
        rows = pl.concat([rows, each.sort(measure)], how="vertical_relaxed")
    rows = _with_interval(rows, measure, "judged")
    rows = rows.rename(lambda name: name.replace("within", "accuracy"))
    title = "accuracy" if measure == "accuracy" else "share within the tolerance"
    return Figure(
        title="How right, by attribute", note=note, table=rows, theme=theme,
        draw=lambda colours: _shares(rows, "attribute", title, colours),
    )  # fmt: skip


def _shares(rows: pl.DataFrame, name: str, title: str, colours: Colours) -> Any:
    """Return one line per name: the accuracy, its interval, and the number next to it."""
    alt = altair()
    lowest = float(rows["accuracy_low"].min())  # type: ignore[arg-type]
    start = max(math.floor(lowest * 10) / 10, 0.0)
    measures = ("accuracy", "accuracy_low", "accuracy_high")
    order = drawable(rows)[name].to_list()
    chart = dots(
        rows, name, "accuracy", title=title, colours=colours,
        ends=("accuracy_low", "accuracy_high"), scale=alt.Scale(domain=[start, 1.0], nice=False),
        tooltip=[f"{name}:N", *(alt.Tooltip(f"{n}:Q", format=".4f") for n in measures),
                 alt.Tooltip("judged:Q", format=",")],
    )  # fmt: skip
    words = chart_of(rows).mark_text(align="left", dx=6, color=colours.ink, fontSize=11)
    return chart + words.encode(
        x=alt.value(WIDTH), y=alt.Y(f"{name}:N", sort=order),
        text=alt.Text("accuracy:Q", format=".3f"),
    )  # fmt: skip


# --- how sure -------------------------------------------------------------------------------------


def plausibility_figure(result: Result, theme: str = "light", n: int = N_BINS) -> Figure:
    """Draw how plausible the answers are: a histogram of contested and uncontested ones.

    The table counts items (facts, for "multiple" and "binary") in each bin of plausibility.
    """
    _need_plausibility(result, "plausibility")
    is_single = result.kind == "categorical"
    rows = result.tables.truths if is_single else result.tables.facts
    if not is_single:
        is_contested = (pl.col("supporters") > 0) & (pl.col("opposers") > 0)
        rows = rows.with_columns(contested=is_contested)
    number = (pl.col("plausibility") * n).floor().clip(0, n - 1)
    counts = rows.group_by(number.alias("bin"), "contested").agg(count=pl.len())
    table = counts.sort("bin", "contested", descending=[False, True]).select(
        pl.col("bin").truediv(n).round(9).alias("low"),
        (pl.col("bin") + 1).truediv(n).round(9).alias("high"),
        "contested",
        "count",
    )
    things = "items" if is_single else "facts"
    n_contested = table.filter("contested")["count"].sum()
    note = f"{table['count'].sum():,} {things}, {n_contested:,} of them contested."
    return Figure(
        title="How sure the answer is", note=note, table=table, theme=theme,
        draw=lambda colours: _histogram(table, things, colours),
    )  # fmt: skip


def _histogram(table: pl.DataFrame, things: str, colours: Colours) -> Any:
    alt = altair()
    kinds = ["contested", "all sources agree"]
    said = pl.when("contested").then(pl.lit(kinds[0])).otherwise(pl.lit(kinds[1]))
    rows = table.with_columns(claims=said, order=(~pl.col("contested")).cast(pl.Int64))
    bars = chart_of(rows).mark_bar(stroke=colours.paper, strokeWidth=0.5)
    bars = bars.encode(
        x=alt.X(
            "low:Q",
            bin="binned",
            title=f"plausibility of the {'value settled on' if things == 'items' else 'fact'}",
            scale=alt.Scale(domain=[0.0, 1.0]),
            axis=alt.Axis(format=".1f", values=[n / 10 for n in range(11)]),
        ),
        x2="high",
        y=alt.Y("count:Q", title=things, stack="zero"),
        color=alt.Color(
            "claims:N",
            scale=alt.Scale(domain=kinds, range=[colours.main, colours.muted]),
            title=None,
            legend=alt.Legend(orient="top"),
        ),
        order="order:Q",
        tooltip=["claims:N", "low:Q", "high:Q", alt.Tooltip("count:Q", format=",", title=things)],
    )
    sums = table.group_by("low", "high").agg(pl.col("count").sum())
    middle = chart_of(sums.with_columns(middle=(pl.col("low") + pl.col("high")) / 2.0))
    words = middle.mark_text(dy=-7, fontSize=9, color=colours.ink).encode(
        x="middle:Q", y="count:Q", text=alt.Text("count:Q", format=",")
    )
    return alt.layer(bars, words).properties(width=2 * SHORT, height=SHORT)


# --- algorithms -----------------------------------------------------------------------------------


def comparison_figure(comparison: Comparison, theme: str = "light") -> Figure:
    """Draw the accuracy of algorithms against known truths; for numbers, their error.

    The table has the algorithms that did not fail, the best first, with Wilson's 90 % intervals.
    """
    rows = comparison.ranked
    measure = next((m for m in ("accuracy", "mae") if m in rows.columns), None)
    if measure is None:
        raise ParameterError(
            "plot: there is no accuracy to draw without known truths; give compare a truth"
        )
    table = rows.drop_nulls(measure)
    note = "Further left is better."
    if measure == "accuracy":
        table = table.sort("accuracy", descending=True, maintain_order=True)
        table = _with_interval(table, "accuracy", "judged")
        note = f"{counted(max(table['judged']), 'known truth')}, with 90 % intervals."
    if len(rows) > len(table):
        note += f" {len(rows) - len(table)} failed."

    def draw(colours: Colours) -> Any:
        if measure == "accuracy":
            return _shares(table, "algorithm", "accuracy", colours)
        title = "mae: mean absolute distance from the truths"
        scale = altair().Scale(zero=True)
        return dots(table, "algorithm", "mae", title=title, colours=colours, scale=scale)

    title = "The algorithms on these claims"
    return Figure(title=title, note=note, table=table, draw=draw, theme=theme)
