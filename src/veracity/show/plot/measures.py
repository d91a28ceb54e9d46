"""How right, how sure, how settled: one result against truths, and several beside each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from veracity.algorithms.parameters import require_at_least
from veracity.errors import ParameterError
from veracity.inspect.evaluation import calibration_bins, evaluate, score_truths
from veracity.naming import as_text
from veracity.printing import counted
from veracity.result import Result
from veracity.show.plot.figure import Look, altair, chart_of, drawable, finish, look_of

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from veracity.inspect.comparison import Comparison

N_BINS = 20
"""Bars of the histogram."""

MOST_ATTRIBUTES = 40
"""So many attributes are drawn; of more, those with most known truths."""

MOST_ROUNDS = 500
"""So many rounds are drawn; of more, some evenly spread, the last among them."""

ALL = "all items"
WIDTH = 420
SHORT = 260

Z_OF_90_PERCENT = 1.6448536269514722


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 90 % interval of a share of n: which shares could have led to the one seen.

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


# --- calibration ----------------------------------------------------------------------------------


def calibration_table(result: Result, truth: object) -> pl.DataFrame:
    """One row per tenth of plausibility: its mean, the share that is right, how many judged."""
    _need_plausibility(result, "calibration")
    scored, _ = score_truths(result, truth)
    return _with_interval(calibration_bins(scored), "right", "judged")


def _need_plausibility(result: Result, what: str) -> None:
    if result.kind == "numeric":
        raise ParameterError(
            f"plot: {what} is not for numeric claims, which have estimates in place of plausible "
            "values; 'sources', 'trace', 'agreement' and 'accuracy' are"
        )


def plot_calibration(result: Result, truth: object, theme: str = "light") -> TopLevelMixin:
    """Plausibility against the share that is right: a reliability diagram, with counts."""
    alt, look = altair(), look_of(theme)
    bins = calibration_table(result, truth)
    lowest = math.floor(10 * min([*bins["low"], *bins["right_low"]])) / 10
    scale = alt.Scale(domain=[lowest, 1.0])
    tenths = alt.Axis(format=".1f", tickMinStep=0.1)
    x = alt.X("plausibility:Q", title=None, scale=scale, axis=tenths)
    y = alt.Y("right:Q", title="share that is right", scale=scale, axis=tenths)
    ends = pl.DataFrame({"plausibility": [lowest, 1.0], "right": [lowest, 1.0]})
    ideal = chart_of(ends).mark_line(color=look.muted, strokeDash=[4, 4]).encode(x=x, y=y)
    points = chart_of(bins).encode(x=x, y=y, tooltip=_bin_tooltip(alt))
    bars = chart_of(bins).mark_rule(color=look.main, strokeWidth=1.5, opacity=0.6)
    bars = bars.encode(x=x, y=alt.Y("right_low:Q", title="share that is right"), y2="right_high")
    line = points.mark_line(color=look.main, strokeWidth=1.5)
    dots = points.mark_point(color=look.main, filled=True, size=60, opacity=1)
    above = alt.layer(ideal, bars, line, dots).properties(width=WIDTH, height=WIDTH)
    counts = chart_of(bins).encode(
        x=alt.X("low:Q", scale=scale, title="plausibility of what was chosen", axis=tenths),
        x2="high",
        y2=alt.datum(0),
        y=alt.Y("judged:Q", title="judged", axis=alt.Axis(tickCount=3)),
        tooltip=_bin_tooltip(alt),
    )
    middle = chart_of(bins.with_columns(middle=(pl.col("low") + pl.col("high")) / 2))
    words = middle.mark_text(dy=-7, fontSize=10, color=look.ink).encode(
        x=alt.X("middle:Q", scale=scale), y="judged:Q", text=alt.Text("judged:Q", format=",")
    )
    bar = counts.mark_rect(color=look.main, opacity=0.8, stroke=look.paper)
    below = (bar + words).properties(width=WIDTH, height=90)
    scored = int(bins["judged"].sum())
    note = (
        f"{counted(scored, 'known truth')} in tenths of plausibility, with 90 % intervals. On the "
        "dashed line plausibility is what it says; below it the answer is too sure."
    )
    figure: TopLevelMixin = finish(alt.vconcat(above, below), look, "Calibration", note)
    return figure


def _bin_tooltip(alt: Any) -> list[Any]:
    shares = ("plausibility", "right", "right_low", "right_high")
    return [
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in shares),
        alt.Tooltip("judged:Q", format=","),
    ]


# --- plausibility ---------------------------------------------------------------------------------


def plausibility_table(result: Result, n: int = N_BINS) -> pl.DataFrame:
    """How many items (facts, for "multiple" and "binary") have a plausibility in each n-th part.

    Of an item it is the plausibility of the value settled on. One row for those that are contested
    and one for the others.
    """
    _need_plausibility(result, "plausibility")
    if result.kind == "categorical":
        rows = result.tables.truths
    else:
        is_contested = (pl.col("supporters") > 0) & (pl.col("opposers") > 0)
        rows = result.tables.facts.with_columns(contested=is_contested)
    number = (pl.col("plausibility") * n).floor().clip(0, n - 1)
    counts = rows.group_by(number.alias("bin"), "contested").agg(count=pl.len())
    return counts.sort("bin", "contested", descending=[False, True]).select(
        pl.col("bin").truediv(n).round(9).alias("low"),
        (pl.col("bin") + 1).truediv(n).round(9).alias("high"),
        "contested",
        "count",
    )


def plot_plausibility(result: Result, theme: str = "light") -> TopLevelMixin:
    """How plausible the answers are: a histogram, contested and uncontested told apart."""
    alt, look = altair(), look_of(theme)
    table = plausibility_table(result)
    what = "items" if result.kind == "categorical" else "facts"
    kinds = ["contested", "all sources agree"]
    said = pl.when("contested").then(pl.lit(kinds[0])).otherwise(pl.lit(kinds[1]))
    rows = table.with_columns(claims=said, order=(~pl.col("contested")).cast(pl.Int64))
    x = alt.X(
        "low:Q",
        bin="binned",
        title=f"plausibility of the {'value settled on' if what == 'items' else 'fact'}",
        scale=alt.Scale(domain=[0.0, 1.0]),
        axis=alt.Axis(format=".1f", values=[n / 10 for n in range(11)]),
    )
    bars = chart_of(rows).mark_bar(stroke=look.paper, strokeWidth=0.5)
    bars = bars.encode(
        x=x,
        x2="high",
        y=alt.Y("count:Q", title=what, stack="zero"),
        color=alt.Color(
            "claims:N",
            scale=alt.Scale(domain=kinds, range=[look.main, look.muted]),
            title=None,
            legend=alt.Legend(orient="top"),
        ),
        order="order:Q",
        tooltip=["claims:N", "low:Q", "high:Q", alt.Tooltip("count:Q", format=",", title=what)],
    )
    sums = table.group_by("low", "high").agg(pl.col("count").sum())
    middle = chart_of(sums.with_columns(middle=(pl.col("low") + pl.col("high")) / 2.0))
    words = middle.mark_text(dy=-7, fontSize=9, color=look.ink).encode(
        x="middle:Q", y="count:Q", text=alt.Text("count:Q", format=",")
    )
    chart = alt.layer(bars, words).properties(width=2 * SHORT, height=SHORT)
    total, contested = table["count"].sum(), table.filter("contested")["count"].sum()
    note = f"{total:,} {what}, {contested:,} of them contested."
    figure: TopLevelMixin = finish(chart, look, "How sure the answer is", note)
    return figure


# --- the rounds -----------------------------------------------------------------------------------


def trace_table(result: Result, most: int = MOST_ROUNDS) -> pl.DataFrame:
    """How far each round moved the sources' rates; of many rounds some, and always the last.

    Rounds that moved nothing, or nothing one could measure, cannot be shown on a logarithmic scale
    and are left out.
    """
    require_at_least("trace_table", 1, most=most)
    schema = {"round": pl.Int64, "change": pl.Float64, "seconds": pl.Float64}
    rows = pl.DataFrame(result.run.trace, schema=schema).filter(pl.col("change") > 0.0)
    if len(rows) <= most:
        return rows
    return rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))]


def plot_trace(result: Result, theme: str = "light") -> TopLevelMixin:
    """How far each round moved the sources' rates, on a logarithmic scale."""
    alt, look = altair(), look_of(theme)
    rows, rounds = trace_table(result), result.run.rounds
    if rows.is_empty():
        raise ParameterError(
            f"plot: there is no trace to draw: {result.run.algorithm} moved nothing in "
            f"{counted(rounds, 'round')}"
        )
    x = alt.X("round:Q", title="round", axis=alt.Axis(format="d", tickMinStep=1))
    tolerance = result.run.parameters.get("tolerance")
    y = alt.Y("change:Q", title="change of the sources' rates", **_decades(alt, rows, tolerance))
    tooltip = ["round:Q", alt.Tooltip("change:Q", format=".3g"), "seconds:Q"]
    lines = chart_of(rows).encode(x=x, y=y, tooltip=tooltip)
    layers = [lines.mark_line(color=look.main, strokeWidth=1.5)]
    if len(rows) <= 100:
        layers.append(lines.mark_point(color=look.main, filled=True, opacity=1, size=24))
    if tolerance:
        limit = pl.DataFrame({"change": [float(tolerance)], "word": ["tolerance"]})
        at = chart_of(limit).encode(y=y)
        layers.append(at.mark_rule(color=look.against, strokeDash=[4, 4]))
        word = at.mark_text(align="left", dx=4, dy=-7, color=look.against)
        layers.append(word.encode(x=alt.value(0), text="word:N"))
    chart = alt.layer(*layers).properties(width=WIDTH, height=SHORT)
    how = "Converged" if result.converged else "NOT converged"
    note = f"{how} after {counted(rounds, 'round')}."
    if len(rows) < rounds:
        note += f" {len(rows):,} of them are drawn."
    title = f"How {result.run.algorithm} settled"
    figure: TopLevelMixin = finish(chart, look, title, note)
    return figure


def _decades(alt: Any, rows: pl.DataFrame, tolerance: float | None) -> dict[str, Any]:
    """A logarithmic scale from one power of ten to another."""
    changes = [*rows["change"], *([tolerance] if tolerance else [])]
    first, last = math.floor(math.log10(min(changes))), math.ceil(math.log10(max(changes)))
    marks = [10.0**power for power in range(first, max(last, first + 1) + 1)]
    return {
        "scale": alt.Scale(type="log", domain=[marks[0], marks[-1]], nice=False),
        "axis": alt.Axis(values=marks, format="~g"),
    }


# --- shares that are right ------------------------------------------------------------------------


def accuracy_table(result: Result, truth: object, most: int = MOST_ATTRIBUTES) -> pl.DataFrame:
    """Accuracy of each attribute and of all items, with Wilson's 90 % interval; the worst first.

    For numbers the share of estimates within the tolerance, since it has no unit.
    """
    plain = Result(result.tables, result.run, encoded=lambda: result.encoded)
    found = evaluate(plain, truth)
    measure = "within" if result.kind == "numeric" else "accuracy"
    whole = {"attribute": ALL, "judged": found.judged, measure: getattr(found, measure)}
    rows = pl.DataFrame([whole])
    if found.by_attribute is not None:
        each = found.by_attribute.select(
            as_text(found.by_attribute["attribute"]), "judged", measure
        )
        each = each.sort("judged", descending=True, maintain_order=True).head(most).sort(measure)
        rows = pl.concat([rows, each], how="vertical_relaxed")
    return _with_interval(rows, measure, "judged").rename(lambda n: n.replace("within", "accuracy"))


def plot_accuracy(result: Result, truth: object, theme: str = "light") -> TopLevelMixin:
    """How right the answer is for each attribute, and for all."""
    look = look_of(theme)
    rows = accuracy_table(result, truth)
    title = "accuracy" if result.kind != "numeric" else "share within the tolerance"
    chart = _shares(rows, "attribute", "accuracy", title, look)
    note = f"{counted(rows['judged'][0], 'known truth')}, with 90 % intervals."
    n_attributes = _n_attributes(result)
    if n_attributes > len(rows) - 1:
        note += f" {len(rows) - 1} of {n_attributes:,} attributes, those with most truths."
    figure: TopLevelMixin = finish(chart, look, "How right, by attribute", note)
    return figure


def _n_attributes(result: Result) -> int:
    """How many attributes there are."""
    facts = result.tables.facts
    return facts["attribute"].n_unique() if "attribute" in facts.columns else 0


def _shares(rows: pl.DataFrame, name: str, share: str, title: str, look: Look) -> Any:
    """One line a name: the share, its interval, and the number beside it."""
    alt, rows = altair(), drawable(rows)
    lowest = float(rows[f"{share}_low"].min())  # type: ignore[arg-type]
    start = max(math.floor(lowest * 10) / 10, 0.0)
    scale = alt.Scale(domain=[start, 1.0], nice=False)
    y = alt.Y(f"{name}:N", sort=rows[name].to_list(), title=None, axis=alt.Axis(grid=True))
    bounds = [f"{share}_low", f"{share}_high"]
    tooltip = [
        f"{name}:N",
        *(alt.Tooltip(f"{n}:Q", format=".4f") for n in (share, *bounds)),
        alt.Tooltip("judged:Q", format=","),
    ]
    base = chart_of(rows).encode(y=y, tooltip=tooltip)
    interval = base.mark_rule(color=look.main, strokeWidth=2, opacity=0.5).encode(
        x=alt.X(f"{bounds[0]}:Q", title=title, scale=scale), x2=bounds[1]
    )
    dots = base.mark_point(color=look.main, filled=True, size=70, opacity=1).encode(
        x=alt.X(f"{share}:Q", title=title, scale=scale)
    )
    words = base.mark_text(align="left", dx=6, color=look.ink, fontSize=11).encode(
        x=alt.value(WIDTH), text=alt.Text(f"{share}:Q", format=".3f")
    )
    return alt.layer(interval, dots, words).properties(width=WIDTH, height={"step": 22})


# --- algorithms -----------------------------------------------------------------------------------


def comparison_table(comparison: Comparison) -> pl.DataFrame:
    """The algorithms that did not fail, the best first; accuracy with Wilson's 90 % interval."""
    rows = comparison.rows
    measure = next((m for m in ("accuracy", "mae") if m in rows.columns), None)
    if measure is None:
        raise ParameterError("plot: without known truths there is no measure to compare by")
    rows = rows.drop_nulls(measure)
    if measure == "mae":
        return rows.sort("mae", maintain_order=True)
    ranked = rows.sort("accuracy", descending=True, maintain_order=True)
    return _with_interval(ranked, "accuracy", "judged")


def plot_comparison(comparison: Comparison, theme: str = "light") -> TopLevelMixin:
    """How algorithms fare (where truths are known), or how far they agree (where none is)."""
    look = look_of(theme)
    if not {"accuracy", "mae"} & set(comparison.rows.columns):
        return _plot_agreement(comparison, look)
    rows = comparison_table(comparison)
    if "mae" in rows.columns:
        chart, note = _distances(rows, look), "Further left is better."
    else:
        chart = _shares(rows, "algorithm", "accuracy", "accuracy", look)
        note = f"{counted(max(rows['judged']), 'known truth')}, with 90 % intervals."
    failed = len(comparison.rows) - len(rows)
    if failed:
        note += f" {failed} failed."
    figure: TopLevelMixin = finish(chart, look, "The algorithms on these claims", note)
    return figure


def _distances(rows: pl.DataFrame, look: Look) -> Any:
    alt = altair()
    bars = chart_of(rows).encode(
        x=alt.X("mae:Q", title="mae: mean absolute distance from the truths"),
        y=alt.Y("algorithm:N", sort=rows["algorithm"].to_list(), title=None),
        tooltip=["algorithm:N", *(alt.Tooltip(f"{n}:Q", format=".4~g") for n in ("mae", "rmse"))],
    )
    words = bars.mark_text(align="left", dx=4, color=look.ink)
    words = words.encode(text=alt.Text("mae:Q", format=".4~g"))
    return (bars.mark_bar(color=look.main) + words).properties(width=WIDTH, height={"step": 22})


def _plot_agreement(comparison: Comparison, look: Look) -> TopLevelMixin:
    alt = altair()
    pairs = comparison.pairs
    turned = pairs.select(algorithm="other", other="algorithm", agreement="agreement")
    both = pl.concat([pairs, turned])
    names = list(comparison.results)
    cells = chart_of(both).encode(
        x=alt.X("algorithm:N", sort=names, title=None, axis=alt.Axis(labelAngle=-45)),
        y=alt.Y("other:N", sort=names, title=None),
        tooltip=["algorithm:N", "other:N", alt.Tooltip("agreement:Q", format=".4f")],
    )
    lowest = float(pairs["agreement"].min() or 0.0)  # type: ignore[arg-type]
    lowest = min(lowest, 0.99)
    scale = alt.Scale(range=list(look.shades), domain=[lowest, 1.0], interpolate="lab")
    shade = alt.Color("agreement:Q", scale=scale, title="agreement")
    is_strong = f"datum.agreement > {lowest + 0.6 * (1.0 - lowest)}"
    text = cells.mark_text(fontSize=10).encode(
        text=alt.Text("agreement:Q", format=".2f"),
        color=alt.condition(is_strong, alt.value(look.paper), alt.value(look.ink)),
    )
    chart = (cells.mark_rect().encode(color=shade) + text).properties(
        width={"step": 34}, height={"step": 26}
    )
    title = "Items on which they settle on the same"
    figure: TopLevelMixin = finish(chart, look, title, "Agreement is no accuracy.")
    return figure
