"""Draw the figures of the page on questions: ``python docs/asking_figures.py DRAWS.csv ...``.

The files are what ``python benchmarks/questions.py --part asked --out DRAWS.csv`` writes: one row
per draw of a family.
"""

import sys
from pathlib import Path

import altair as alt
import polars as pl

FOLDER = Path(__file__).parent / "asking"
FAMILIES = (
    "belief on a topic, strong", "five suppliers, one copies", "three copiers", "three labels",
    "no bias",
)  # fmt: skip
ANSWERS, ESTIMATED = (10, 20, 40, 80), (20, 40, 80)
BLUE, ORANGE, GREY = "#0072b2", "#e69f00", "#888888"


def means(draws: pl.DataFrame, measures: dict[str, str], answers: tuple[int, ...]) -> pl.DataFrame:
    """Return the means of some measures, a row per family and number of answers."""
    rows = []
    for family in FAMILIES:
        own = draws.filter(family=family)
        for n in answers if len(own) else ():
            found = {name: own[f"{n} {what}"].mean() for name, what in measures.items()}
            rows.append({"family": family, "answers": n, "draws": len(own), **found})
    return pl.DataFrame(rows)


def faceted(chart: alt.Chart | alt.LayerChart, title: str) -> alt.TopLevelMixin:
    """Return one field per family."""
    field = alt.Facet("family:N", title=None, sort=list(FAMILIES))
    return (
        chart.properties(width=190, height=140)
        .facet(field, columns=3)
        .resolve_scale(y="independent")
        .properties(title=alt.Title(title, anchor="middle"))
    )


def gain(draws: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw by how many points questions are ahead of random items, and two standard errors."""
    rows = []
    for family in FAMILIES:
        own = draws.filter(family=family)
        for n in ANSWERS if len(own) else ():
            ahead = own[f"{n} difference"].drop_nulls()
            error = 2.0 * ahead.std() / len(ahead) ** 0.5
            ends = {"low": ahead.mean() - error, "high": ahead.mean() + error}
            rows.append({"family": family, "answers": n, "ahead": ahead.mean(), **ends})
    base = alt.Chart(pl.DataFrame(rows)).encode(x=alt.X("answers:O", axis=alt.Axis(labelAngle=0)))
    interval = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        y=alt.Y("low:Q", title="points ahead"), y2="high:Q"
    )
    points = base.mark_point(color=BLUE, filled=True, size=50).encode(y="ahead:Q")
    zero = base.mark_line(color=GREY).encode(y=alt.datum(0.0))
    return faceted(
        zero + interval + points, "Points ahead of random items, with two standard errors"
    )


def estimate(draws: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the estimate with its interval, beside what is right."""
    measures = {"right": "right", "estimated": "estimated", "low": "low", "high": "high"}
    table = means(draws, measures, ESTIMATED)
    table = table.with_columns(pl.col("estimated", "low", "high") * 100.0)
    base = alt.Chart(table).encode(x=alt.X("answers:O", axis=alt.Axis(labelAngle=0)))
    title = "percent right, of the others"
    interval = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        y=alt.Y("low:Q", title=title, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    points = base.mark_point(color=BLUE, filled=True, size=50).encode(y="estimated:Q")
    truth = base.mark_tick(color=ORANGE, thickness=3, size=24).encode(y="right:Q")
    return faceted(
        interval + points + truth, "Estimate with its 90 % interval (blue), and the truth"
    )


def stop(draws: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw how right the others are, and in how many draws the estimate says to stop."""
    table = means(draws, {"right": "right", "enough": "enough"}, ESTIMATED)
    table = table.with_columns(told=pl.format("{}%", (100.0 * pl.col("enough")).round().cast(int)))
    base = alt.Chart(table).encode(
        x=alt.X("answers:Q", scale=alt.Scale(domain=[10, 90])),
        y=alt.Y("right:Q", title="percent right, of the others", scale=alt.Scale(zero=False)),
    )
    words = base.mark_text(dy=-12, color=GREY).encode(text="told:N")
    return faceted(
        base.mark_line(point=True, color=BLUE) + words, "Percent of draws that say: stop asking"
    )


if __name__ == "__main__":
    drawn = pl.concat([pl.read_csv(file) for file in sys.argv[1:]], how="diagonal_relaxed")
    FOLDER.mkdir(exist_ok=True)
    for draw in (gain, estimate, stop):
        draw(drawn).save(FOLDER / f"{draw.__name__}.svg")
