"""One decision as a waterfall: from the prior, claim by claim, to what was settled on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.errors import ParameterError
from veracity.plot.figure import Look, altair, finish, look_of, shorten

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from veracity.explain import Why
    from veracity.result import Result
    from veracity.schema import Kind

__all__ = ["plot_decision", "waterfall_table"]

MOST_STEPS = 24
"""So many claims have a bar of their own; the others are summed up, for and against."""

NOBODY = "what nobody claims"

WIDTH = 420


def waterfall_table(
    result: Result, entity: object, attribute: object = None, *, most: int = MOST_STEPS
) -> pl.DataFrame:
    """The steps that lead from the prior to the score of the most plausible value of an item.

    Where one value only is true, weights are those for it less those for the runner-up, so that
    the steps end at how far it is ahead. Each step has its `weight`, the `start` and the `end` of
    its bar, and how many `claims` it stands for; claims that weigh nothing are no step.
    """
    return _steps(_one_item(result, entity, attribute), result.kind, most)


def _one_item(result: Result, entity: object, attribute: object) -> Why:
    """Why one item has its value; refused if several were named, or nothing weighs."""
    why = result.why(entity, attribute)
    values = why.tables[0]
    if "attribute" in values.columns and values["attribute"].n_unique() > 1:
        there_are = ", ".join(f"'{name}'" for name in values["attribute"].unique().sort()[:8])
        raise ParameterError(f"plot: '{entity}' has several attributes; name one of {there_are}")
    if why.scale is None:
        raise ParameterError(
            f"plot: {result.run['algorithm']} does not judge by weights, so there is no waterfall; "
            "'veracity explain' tells who says what"
        )
    if not values["score"].is_finite().all():
        raise ParameterError("plot: the score is infinite, which no bar can show; see Result.why")
    return why


def _steps(why: Why, kind: Kind, most: int) -> pl.DataFrame:
    values, rows = why.tables
    best, second = _rivals(values, kind)
    ahead = _weights(rows, best)
    prior, score = best["prior"], best["score"]
    if second is not None:
        ahead = _less(ahead, _weights(rows, second))
        prior, score = prior - second["prior"], score - second["score"]
    steps = _most(ahead.filter(pl.col("weight") != 0.0), most)
    first = pl.DataFrame({"label": ["before any claim"], "weight": [prior], "part": ["prior"]})
    steps = pl.concat([first, steps], how="diagonal_relaxed")
    end = pl.col("weight").cum_sum()
    steps = steps.with_columns(start=end - pl.col("weight"), end=end)
    last = {"label": ["all in all"], "weight": [score], "start": [0.0], "end": [score]}
    return pl.concat([steps, pl.DataFrame(last | {"part": ["score"]})], how="diagonal_relaxed")


def _rivals(values: pl.DataFrame, kind: Kind) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The most plausible value, and where only one is true the runner-up."""
    has_rival = kind == "categorical" and len(values) > 1
    return values.row(0, named=True), values.row(1, named=True) if has_rival else None


def _weights(rows: pl.DataFrame, of: dict[str, Any]) -> pl.DataFrame:
    """The rows that bear on a value."""
    if "value" in rows.columns:
        rows = rows.filter(pl.col("value").eq_missing(pl.lit(of["value"], rows.schema["value"])))
    return rows.select("source", pl.col("claimed").cast(pl.String), "weight", "claims")


def _less(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """What each source weighs for one less what it weighs for the other.

    Where some claims are summed up, so is a source that is listed for one of them only.
    """
    both = one.join(
        other, on="source", how="full", coalesce=True, suffix="_other", nulls_equal=True
    )
    weight = pl.col("weight").fill_null(0.0) - pl.col("weight_other").fill_null(0.0)
    is_half = pl.col("weight").is_null() | pl.col("weight_other").is_null()
    is_cut = both["source"].null_count() > 0
    return both.select(
        source=pl.when(~(is_half & pl.lit(is_cut))).then("source"),
        claimed=pl.coalesce("claimed", "claimed_other"),
        weight=weight,
        claims=pl.coalesce("claims", "claims_other"),
    )


def _most(ahead: pl.DataFrame, most: int) -> pl.DataFrame:
    """The claims that weigh most, for and then against; after each what the others sum up to."""
    parts = []
    named = ahead.filter(pl.col("source").is_not_null())
    is_heavy = pl.col("weight").abs().rank("ordinal", descending=True) <= most
    heavy = named.filter(is_heavy)
    light = pl.concat([named.filter(~is_heavy), ahead.filter(pl.col("source").is_null())])
    for part, is_part in (("for", pl.col("weight") > 0.0), ("against", pl.col("weight") < 0.0)):
        own = heavy.filter(is_part).sort(pl.col("weight").abs(), descending=True)
        label = pl.format("{}: {}", "source", "claimed")
        others = light.filter(is_part).select(pl.col("weight", "claims").sum())
        others = others.filter(pl.col("claims") > 0).with_columns(
            label=pl.format("{} others " + part, "claims")
        )
        both = pl.concat([own.with_columns(label=label), others], how="diagonal_relaxed")
        parts.append(both.with_columns(part=pl.lit(part)))
    return pl.concat(parts, how="diagonal_relaxed")


def plot_decision(
    result: Result, entity: object, attribute: object = None, theme: str = "light"
) -> TopLevelMixin:
    """Why an item has its value: bars that add up; for numbers, the claims around the estimate."""
    look = look_of(theme)
    why = _one_item(result, entity, attribute)
    best, second = _rivals(why.tables[0], result.kind)
    item = " ".join(str(name) for name in (entity, attribute) if name is not None)
    if result.kind == "numeric":
        chart, title = _around(why, look), f"{item}: {best['value']:.6g}"
    else:
        value = "true" if "value" not in best else shorten(str(best["value"]))
        rival = "" if second is None else f" against {shorten(str(second['value'] or NOBODY))}"
        unit = f"{why.scale} of {value}{rival}"
        chart = _waterfall(_steps(why, result.kind, MOST_STEPS), look, unit)
        title = f"{item}: {value}, plausibility {best['plausibility']:.3f}"
    figure: TopLevelMixin = finish(chart, look, title, why.words)
    return figure


def _waterfall(steps: pl.DataFrame, look: Look, unit: str) -> Any:  # noqa: ANN401 - any chart
    alt = altair()
    steps = steps.with_columns(
        far=pl.max_horizontal("start", "end"), said=pl.format("{}", pl.col("weight").round(2))
    )
    domain = {"prior": look.muted, "for": look.main, "against": look.against, "score": look.ink}
    names = alt.Axis(labelLimit=260, ticks=False, grid=False)
    base = alt.Chart(steps).encode(
        y=alt.Y("label:N", sort=steps["label"].to_list(), title=None, axis=names),
        tooltip=["label:N", alt.Tooltip("weight:Q", format="+.4f"), "claims:Q"],
    )
    colour = alt.Color(
        "part:N", legend=None, scale=alt.Scale(domain=list(domain), range=list(domain.values()))
    )
    bars = base.mark_bar(height=14).encode(x=alt.X("start:Q", title=unit), x2="end", color=colour)
    words = base.mark_text(align="left", dx=4, fontSize=10, color=look.ink).encode(
        x="far:Q", text=alt.Text("weight:Q", format="+.2f")
    )
    nought = (
        alt.Chart(pl.DataFrame({"start": [0.0]})).mark_rule(color=look.muted).encode(x="start:Q")
    )
    return alt.layer(nought, bars, words).properties(width=WIDTH, height={"step": 20})


def _around(why: Why, look: Look) -> Any:  # noqa: ANN401
    """The numbers claimed, as large as they weigh, and the estimate with its standard error."""
    alt = altair()
    values, rows = why.tables
    rows = rows.drop_nulls("source").head(MOST_STEPS).sort("claimed")
    near = values.select(
        "value",
        low=pl.col("value") - pl.col("uncertainty").fill_null(0.0),
        high=pl.col("value") + pl.col("uncertainty").fill_null(0.0),
    )
    x = alt.X("claimed:Q", title="value claimed", scale=alt.Scale(zero=False))
    dots = (
        alt.Chart(rows)
        .mark_point(filled=True, opacity=0.9, color=look.main)
        .encode(
            x=x,
            y=alt.Y("source:N", sort=None, title=None, axis=alt.Axis(grid=True)),
            size=alt.Size("share:Q", title="share", scale=alt.Scale(zero=True, range=[10, 260])),
            tooltip=["source:N", "claimed:Q", alt.Tooltip("share:Q", format=".3f")],
        )
    )
    estimate = alt.Chart(near)
    band = estimate.mark_rect(color=look.against, opacity=0.15).encode(x="low:Q", x2="high")
    line = estimate.mark_rule(color=look.against, strokeWidth=2).encode(x="value:Q")
    return alt.layer(band, line, dots).properties(width=WIDTH, height={"step": 20})
