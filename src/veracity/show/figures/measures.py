"""Draw accuracy, plausibility and convergence of a result, and compare several results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from veracity.errors import ParameterError
from veracity.inspect.evaluation import Evaluation, calibration_bins
from veracity.naming import as_text
from veracity.printing import counted
from veracity.result import Result
from veracity.show.figures.base import (
    WIDTH,
    Colours,
    Figure,
    altair,
    chart_of,
    dots,
    drawable,
    heatmap,
    shades_of,
)

if TYPE_CHECKING:
    from veracity.inspect.comparison import Comparison

N_BINS = 20
"""Number of bars of the histogram."""

MOST_ATTRIBUTES = 40
"""Largest number of attributes; those with most known truths are taken."""

MOST_ROUNDS = 500
"""Largest number of rounds; of more, evenly spaced ones and the last are taken."""

ALL = "all items"
SHORT = 260

Z_OF_90_PERCENT = 1.6448536269514722


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 90 % interval of a share of n.

    >>> [round(bound, 3) for bound in share_interval(0.9, 100)]
    [0.84, 0.939]
    """
    square = Z_OF_90_PERCENT**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    spread = math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    half = Z_OF_90_PERCENT * spread / (1 + square / n)
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
            "values; 'sources', 'trace', 'agreement' and 'accuracy' are"
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


# --- how sure, and how it settled -----------------------------------------------------------------


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


def trace_figure(result: Result, theme: str = "light", most: int = MOST_ROUNDS) -> Figure:
    """Draw how much each round changed the sources' rates, on a logarithmic scale.

    Rounds without a measurable change do not fit on this scale and are left out.
    """
    schema = {"round": pl.Int64, "change": pl.Float64, "seconds": pl.Float64}
    rows = pl.DataFrame(result.run.trace, schema=schema).filter(pl.col("change") > 0.0)
    if rows.is_empty():
        raise ParameterError(
            f"plot: there is no trace to draw: {result.run.algorithm} moved nothing in "
            f"{counted(result.run.rounds, 'round')}"
        )
    if len(rows) > most:
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))]
    how = "Converged" if result.converged else "NOT converged"
    note = f"{how} after {counted(result.run.rounds, 'round')}."
    if len(rows) < result.run.rounds:
        note += f" {len(rows):,} of them are drawn."
    tolerance = result.run.parameters.get("tolerance")
    return Figure(
        title=f"How {result.run.algorithm} settled", note=note, table=rows, theme=theme,
        draw=lambda colours: _trace(rows, tolerance, colours),
    )  # fmt: skip


def _trace(rows: pl.DataFrame, tolerance: float | None, colours: Colours) -> Any:
    alt = altair()
    changes = [*rows["change"], *([tolerance] if tolerance else [])]
    first, last = math.floor(math.log10(min(changes))), math.ceil(math.log10(max(changes)))
    marks = [10.0**power for power in range(first, max(last, first + 1) + 1)]
    x = alt.X("round:Q", title="round", axis=alt.Axis(format="d", tickMinStep=1))
    y = alt.Y(
        "change:Q",
        title="change of the sources' rates",
        scale=alt.Scale(type="log", domain=[marks[0], marks[-1]], nice=False),
        axis=alt.Axis(values=marks, format="~g"),
    )
    tooltip = ["round:Q", alt.Tooltip("change:Q", format=".3g"), "seconds:Q"]
    lines = chart_of(rows).encode(x=x, y=y, tooltip=tooltip)
    layers = [lines.mark_line(color=colours.main, strokeWidth=1.5)]
    if len(rows) <= 100:
        layers.append(lines.mark_point(color=colours.main, filled=True, opacity=1, size=24))
    if tolerance:
        limit = pl.DataFrame({"change": [float(tolerance)], "word": ["tolerance"]})
        at = chart_of(limit).encode(y=y)
        layers.append(at.mark_rule(color=colours.against, strokeDash=[4, 4]))
        word = at.mark_text(align="left", dx=4, dy=-7, color=colours.against)
        layers.append(word.encode(x=alt.value(0), text="word:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=SHORT)


# --- algorithms -----------------------------------------------------------------------------------


def comparison_figure(comparison: Comparison, theme: str = "light") -> Figure:
    """Draw the accuracy of algorithms; without known truths, draw their agreement.

    The table has the algorithms that did not fail, the best first, with Wilson's 90 % intervals.
    """
    rows = comparison.ranked
    measure = next((m for m in ("accuracy", "mae") if m in rows.columns), None)
    if measure is None:
        return Figure(
            title="Items on which they settle on the same", note="Agreement is no accuracy.",
            table=comparison.pairs, theme=theme,
            draw=lambda colours: _agreement(comparison.pairs, list(comparison.results), colours),
        )  # fmt: skip
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


def _agreement(pairs: pl.DataFrame, names: list[str], colours: Colours) -> Any:
    alt = altair()
    turned = pairs.select(algorithm="other", other="algorithm", agreement="agreement")
    lowest = min(float(pairs["agreement"].min() or 0.0), 0.99)  # type: ignore[arg-type]
    return heatmap(
        pl.concat([pairs, turned]),
        alt.X("algorithm:N", sort=names, title=None, axis=alt.Axis(labelAngle=-45)),
        alt.Y("other:N", sort=names, title=None),
        shades_of(colours, "agreement", (lowest, (lowest + 1) / 2, 1.0), title="agreement"),
        light_from=lowest + 0.6 * (1.0 - lowest),
        colours=colours,
        tooltip=["algorithm:N", "other:N", alt.Tooltip("agreement:Q", format=".4f")],
    ).properties(width={"step": 34}, height={"step": 26})
