"""Draw a decision as a waterfall: from the prior, claim by claim, to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.encoding.block import SAME
from veracity.errors import ParameterError
from veracity.explain import A_RULE, THE_VOTE
from veracity.naming import as_text, name_text
from veracity.printing import in_short
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
    from veracity.explain import Why
    from veracity.reading.roles import Kind
    from veracity.result import Result

MOST_STEPS = 24
"""Largest number of claims with their own bar; the others are summed, for and against."""

LONGEST_NAME = 28
"""Largest number of characters of a name in a title."""

NOBODY = "what nobody claims"


def _one_item(result: Result, entity: object, attribute: object) -> Why:
    """Explain one item; raise an error for several items, or if no claim has weight."""
    why = result.why(entity, attribute)
    values = why.tables[0]
    if "attribute" in values.columns and values["attribute"].n_unique() > 1:
        names = as_text(values["attribute"].unique().sort().head(8))
        there_are = ", ".join(f"'{in_short(name)}'" for name in names)
        told = in_short(name_text(entity))
        raise ParameterError(f"plot: '{told}' has several attributes; name one of {there_are}")
    if why.scale is None:
        raise ParameterError(
            f"plot: {result.run.algorithm} does not judge by weights, so there is no waterfall; "
            "'veracity explain' tells who says what"
        )
    if not values["score"].is_finite().all():
        raise ParameterError("plot: the score is infinite, which no bar can show; see Result.why")
    return why


def _steps(why: Why, kind: Kind, most: int) -> pl.DataFrame:
    """Return the steps from the prior to the score, one per claim with much weight."""
    best, second = _rivals(why, kind)
    rows = why.tables[1]
    ahead, prior, score = _claims_for(rows, best), best["prior"], best["score"]
    if second is not None:
        prior, score = prior - second["prior"], score - second["score"]
        other = _claims_for(rows, second).rename({"weight": "rival"})
        ahead = ahead.join(other, on="source", how="full", coalesce=True, nulls_equal=True)
        ahead = ahead.with_columns(
            pl.coalesce("claimed", "claimed_right"),
            weight=pl.col("weight").fill_null(0.0) - pl.col("rival").fill_null(0.0),
            claims=pl.max_horizontal("claims", "claims_right"),
        )
    steps = _most(ahead.filter(pl.col("weight") != 0.0), most)
    first = pl.DataFrame({"label": ["before any claim"], "weight": [prior], "part": ["prior"]})
    parts, of_rules = [first, steps], 0.0
    by_rule = rows.filter(pl.col("claimed").cast(pl.String).str.starts_with(A_RULE))
    for (name,), own in by_rule.group_by("claimed", maintain_order=True):
        signs = {best["value"]: 1.0}
        if second is not None and second["value"] is not None:
            signs[second["value"]] = -1.0
        sides = own["value"].replace_strict(signs, default=0.0, return_dtype=pl.Float64)
        lead = float((own["weight"] * sides).sum())
        of_rules += lead
        part = "for" if lead > 0.0 else "against"
        step = {"label": [str(name).strip("()")], "weight": [lead], "part": [part]}
        parts += [pl.DataFrame(step)] if lead else []
    if THE_VOTE in rows["claimed"].to_list():
        vote = score - prior - float(ahead["weight"].sum()) - of_rules
        part = "for" if vote > 0.0 else "against"
        parts.append(pl.DataFrame({"label": ["the vote"], "weight": [vote], "part": [part]}))
    steps = pl.concat(parts, how="diagonal_relaxed")
    end = pl.col("weight").cum_sum()
    steps = steps.with_columns(start=end - pl.col("weight"), end=end)
    last = {"label": ["all in all"], "weight": [score], "start": [0.0], "end": [score]}
    return pl.concat([steps, pl.DataFrame(last | {"part": ["score"]})], how="diagonal_relaxed")


def _rivals(why: Why, kind: Kind) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the most plausible value and, if only one value is true, the runner-up."""
    values = why.tables[0]
    has_rival = kind == "categorical" and len(values) > 1
    return values.row(0, named=True), values.row(1, named=True) if has_rival else None


def _claims_for(rows: pl.DataFrame, value: dict[str, Any]) -> pl.DataFrame:
    """Return the claims that affect a value; without a source, the sum of those left out."""
    if "value" in rows.columns:
        rows = rows.filter(pl.col("value").eq_missing(pl.lit(value["value"])))
    claims = rows.filter(pl.col("claims") > 0)  # which leaves out the vote
    return claims.select("source", pl.col("claimed").cast(pl.String), "weight", "claims")


def _most(ahead: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the sources with the largest weights, supporters first, and the sum of the others."""
    size, has_name = pl.col("weight").abs(), pl.col("source").is_not_null()
    is_for = pl.col("weight") > 0.0
    ahead = ahead.with_columns(
        part=pl.when(is_for).then(pl.lit("for")).otherwise(pl.lit("against")),
    ).sort(~has_name, -(size / size.max()).round(SAME), maintain_order=True)
    own = ahead.head(min(most, ahead.select(has_name.sum()).item()))
    own = own.with_columns(source=as_text(own["source"]))
    own = own.with_columns(label=pl.format("{}: {}", "source", "claimed"))
    others = ahead.slice(len(own)).group_by("part").agg(pl.col("weight", "claims").sum())
    other = pl.when(pl.col("claims") == 1).then(pl.lit("other")).otherwise(pl.lit("others"))
    others = others.with_columns(label=pl.format("{} {} {}", "claims", other, "part"))
    steps = pl.concat([own, others], how="diagonal_relaxed")
    order = [pl.col("part") == "against", pl.col("source").is_null()]
    return steps.sort(order, maintain_order=True)


def decision_figure(
    result: Result,
    entity: object,
    attribute: object = None,
    theme: str = "light",
    most: int = MOST_STEPS,
) -> Figure:
    """Draw why an item has its value: bars that add up, or numbers around their estimate.

    If only one value is true, a weight is that for the value less that for the runner-up, so that
    the steps end at the lead of the value. The table has for each step its `weight`, the `start`
    and the `end` of its bar, and the number of its `claims`. Claims without weight have no step.
    """
    why = _one_item(result, entity, attribute)
    best, second = _rivals(why, result.kind)
    item = " ".join(
        in_short(name_text(name), LONGEST_NAME)
        for name in (entity, attribute)
        if name not in (None, "")
    )
    if result.kind == "numeric":
        table = why.tables[1].drop_nulls("source").head(most).sort("claimed")
        title = f"{item}: {best['value']:.6g}"
        return Figure(
            title=title, note=why.words, table=table, theme=theme,
            draw=lambda colours: _around(table, why.tables[0], colours),
        )  # fmt: skip
    is_binary = "value" not in best
    value = "true" if is_binary else in_short(name_text(best["value"]), LONGEST_NAME)
    other = None if second is None else second["value"]
    rival = f" against {NOBODY if other is None else in_short(name_text(other), LONGEST_NAME)}"
    unit = f"{why.scale} of {value}{'' if second is None else rival}"
    plausibility = "plausibility" if is_binary else f"{value}, plausibility"
    steps = _steps(why, result.kind, most)
    return Figure(
        title=f"{item}: {plausibility} {best['plausibility']:.3f}", note=why.words, table=steps,
        draw=lambda colours: _waterfall(steps, colours, unit), theme=theme,
    )  # fmt: skip


def _waterfall(steps: pl.DataFrame, colours: Colours, unit: str) -> Any:
    alt = altair()
    steps = drawable(steps).with_columns(far=pl.max_horizontal("start", "end"))
    colour_of = {
        "prior": colours.muted,
        "for": colours.main,
        "against": colours.against,
        "score": colours.ink,
    }
    names = alt.Axis(labelLimit=260, ticks=False, grid=False)
    base = chart_of(steps).encode(
        y=alt.Y("label:N", sort=steps["label"].to_list(), title=None, axis=names),
        # Left to itself, Vega-Lite makes a program of the title of x, and a name would be run.
        description=alt.Description("label:N"),
        tooltip=["label:N", alt.Tooltip("weight:Q", format="+.4f"), "claims:Q"],
    )
    colour = alt.Color(
        "part:N",
        legend=None,
        scale=alt.Scale(domain=list(colour_of), range=list(colour_of.values())),
    )
    bars = base.mark_bar(height=14).encode(x=alt.X("start:Q", title=unit), x2="end", color=colour)
    words = base.mark_text(align="left", dx=4, fontSize=10, color=colours.ink).encode(
        x="far:Q", text=alt.Text("weight:Q", format="+,.2f")
    )
    nought = (
        chart_of(pl.DataFrame({"start": [0.0]})).mark_rule(color=colours.muted).encode(x="start:Q")
    )
    return alt.layer(nought, bars, words).properties(width=WIDTH, height={"step": 20})


def _around(rows: pl.DataFrame, values: pl.DataFrame, colours: Colours) -> Any:
    """Draw the claimed numbers as dots sized by weight, and the estimate with its error."""
    alt = altair()
    near = values.select(
        "value",
        low=pl.col("value") - pl.col("uncertainty").fill_null(0.0),
        high=pl.col("value") + pl.col("uncertainty").fill_null(0.0),
    )
    size = alt.Size("share:Q", title="share", scale=alt.Scale(zero=True, range=[10, 260]))
    tooltip = ["source:N", "claimed:Q", alt.Tooltip("share:Q", format=".3f")]
    points = dots(
        rows, "source", "claimed", title="value claimed", colours=colours, size=size,
        tooltip=tooltip,
    )  # fmt: skip
    estimate = chart_of(near)
    band = estimate.mark_rect(color=colours.against, opacity=0.15).encode(x="low:Q", x2="high")
    line = estimate.mark_rule(color=colours.against, strokeWidth=2).encode(x="value:Q")
    return alt.layer(band, line, points).properties(width=WIDTH, height={"step": 20})
