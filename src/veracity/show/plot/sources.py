"""Sources by how far they can be trusted: few with their names, many as shades."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from veracity.errors import ParameterError
from veracity.naming import as_text
from veracity.printing import counted
from veracity.show.plot.figure import Look, altair, chart_of, finish, look_of, shorten

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from veracity.result import Result

MOST_POINTS = 40
"""So many sources are drawn one by one."""

POINTS_IN_CROWD = 20
"""Of more, so many are, the most active; all of them are shades."""

N_CELLS = 30
"""So many cells lie along each axis where there are more sources than points."""

SIDE = 420
"""The figure's width and height in pixels."""

BOUNDS = ("tpr_low", "tpr_high", "fpr_low", "fpr_high")


class Window(NamedTuple):
    """Which rates are in the picture."""

    fpr: tuple[float, float]
    tpr: tuple[float, float]


def source_points(result: Result, most: int = MOST_POINTS) -> pl.DataFrame:
    """The most active sources: names, rates, intervals if there are any, accuracy and claims.

    Sources of which no rate is known are left out.
    """
    sources = result.tables.sources.drop_nulls(["tpr", "fpr"])
    wanted = ["source", "tpr", "fpr", *BOUNDS, "accuracy", "claims", "items"]
    there = [name for name in wanted if name in sources.columns]
    ranked = sources.select(there).sort("claims", descending=True, maintain_order=True)
    return ranked.head(most)


def source_cells(sources: pl.DataFrame, window: Window, n: int = N_CELLS) -> pl.DataFrame:
    """How many sources lie in each cell of an n by n grid over the window; no empty cells."""
    columns: dict[str, pl.Expr] = {}
    for name, (low, high) in zip(("fpr", "tpr"), window, strict=True):
        step = (high - low) / n
        cell = ((pl.col(name) - low) / step + 1e-9).floor().clip(0, n - 1)
        columns |= {name: low + cell * step, f"{name}_end": low + (cell + 1) * step}
    cells = sources.drop_nulls(["tpr", "fpr"]).select(**columns)
    return cells.group_by(list(columns)).agg(sources=pl.len()).sort("fpr", "tpr")


def deviation_points(result: Result, most: int = MOST_POINTS) -> pl.DataFrame:
    """The most active sources of numbers, the nearest to the estimates first."""
    if result.kind != "numeric":
        raise ParameterError(f"deviation_points: sources of {result.kind} claims have rates")
    ranked = result.tables.sources.sort("claims", descending=True, maintain_order=True)
    return ranked.select("source", "deviation", "claims", "items").head(most).sort("deviation")


def plot_sources(result: Result, theme: str = "light") -> TopLevelMixin:
    """Sources by tpr and fpr, with intervals; for numbers, by how far they deviate."""
    look = look_of(theme)
    return _deviations(result, look) if result.kind == "numeric" else _rates(result, look)


def _rates(result: Result, look: Look) -> TopLevelMixin:
    alt = altair()
    sources = result.tables.sources.drop_nulls(["tpr", "fpr"])
    is_crowd = len(sources) > MOST_POINTS
    points = source_points(result, POINTS_IN_CROWD if is_crowd else MOST_POINTS)
    window = _window(sources if is_crowd else points)
    x, y = _axis(alt, "fpr", window.fpr), _axis(alt, "tpr", window.tpr)
    layers = [_diagonal(alt, look, window)]
    if is_crowd:
        layers.append(_cells(alt, look, source_cells(sources, window)))
    layers += _bars(alt, look, points, x, y)
    layers.append(_dots(alt, look, points, x, y))
    layers.append(_names(alt, look, points, window))
    chart = alt.layer(*layers).resolve_scale(color="independent", opacity="independent")
    chart = chart.properties(width=SIDE, height=SIDE)
    figure: TopLevelMixin = finish(chart, look, "The sources", _note(result, sources, points))
    return figure


def _note(result: Result, sources: pl.DataFrame, points: pl.DataFrame) -> str:
    """What the picture leaves out, and what its marks mean."""
    parts = ["Up and to the left is better; on the dashed line a source's word says nothing."]
    if len(sources) > len(points):
        parts.append(
            f"Shades: all {len(sources):,} sources. Points: the {len(points)} most active."
        )
    if set(BOUNDS) <= set(points.columns):
        parts.append("Lines: intervals.")
    if (points["tpr"] <= points["fpr"]).any():
        parts.append("Orange: no better than guessing.")
    unknown = len(result.tables.sources) - len(sources)
    if unknown:
        left_out = counted(unknown, "source", "sources")
        parts.append(f"Left out: {left_out} of unknown rates.")
    return " ".join(parts)


def _window(points: pl.DataFrame) -> Window:
    """The rates from the best corner to the worst source, in tenths.

    It holds the intervals of the more active half of the sources; the others' may be cut off.
    """
    if points.is_empty():
        return Window((0.0, 1.0), (0.0, 1.0))
    ranked = points.sort("claims", descending=True, maintain_order=True)
    sure = ranked.head((len(points) + 1) // 2)
    fpr, tpr = ranked["fpr"].to_list(), ranked["tpr"].to_list()
    if set(BOUNDS) <= set(points.columns):
        fpr += sure["fpr_high"].drop_nulls().to_list()
        tpr += sure["tpr_low"].drop_nulls().to_list()
    highest, lowest = math.ceil(max(fpr) * 10 + 0.2) / 10, math.floor(min(tpr) * 10 - 0.2) / 10
    return Window((0.0, min(highest, 1.0)), (max(lowest, 0.0), 1.0))


def _axis(alt: Any, name: str, domain: Sequence[float]) -> Any:
    """The axis of a rate, titled in the words of the design."""
    given = {"tpr": "true", "fpr": "false"}[name]
    make = alt.Y if name == "tpr" else alt.X
    scale = alt.Scale(domain=list(domain), nice=False)
    title = f"{name}: P(claims true given fact {given})"
    axis = alt.Axis(tickCount=6, format=".2~f")
    return make(f"{name}:Q", title=title, scale=scale, axis=axis)


def _diagonal(alt: Any, look: Look, window: Window) -> Any:
    """Where a source's word says nothing: it claims false facts as readily as true ones."""
    low, high = max(window.fpr[0], window.tpr[0]), min(window.fpr[1], window.tpr[1])
    spots = [low, high] if low < high else []
    ends = pl.DataFrame({"fpr": spots, "tpr": spots}, {"fpr": pl.Float64, "tpr": pl.Float64})
    x, y = _axis(alt, "fpr", window.fpr), _axis(alt, "tpr", window.tpr)
    return chart_of(ends).mark_line(color=look.muted, strokeDash=[4, 4]).encode(x=x, y=y)


def _cells(alt: Any, look: Look, cells: pl.DataFrame) -> Any:
    shade = alt.Scale(type="log", range=list(look.shades[:2]), domainMin=1)
    return (
        chart_of(cells)
        .mark_rect()
        .encode(
            x="fpr:Q",
            x2="fpr_end",
            y="tpr:Q",
            y2="tpr_end",
            color=alt.Color("sources:Q", scale=shade, title="sources"),
            tooltip=["sources:Q", *(alt.Tooltip(f"{n}:Q", format=".3f") for n in ("fpr", "tpr"))],
        )
    )


def _bars(alt: Any, look: Look, points: pl.DataFrame, x: Any, y: Any) -> list[Any]:
    """The intervals of both rates, where they are told."""
    if not set(BOUNDS) <= set(points.columns):
        return []
    bars = chart_of(points).mark_rule(opacity=0.3, color=look.ink, clip=True)
    flat = bars.encode(x=alt.X("fpr_low:Q", title=x["title"]), x2="fpr_high", y=y)
    upright = bars.encode(y=alt.Y("tpr_low:Q", title=y["title"]), y2="tpr_high", x=x)
    return [flat, upright]


def _dots(alt: Any, look: Look, points: pl.DataFrame, x: Any, y: Any) -> Any:
    """One point a source, as large as it has claims, another colour below the diagonal."""
    rates = [n for n in ("tpr", *BOUNDS[:2], "fpr", *BOUNDS[2:], "accuracy") if n in points.columns]
    marked = points.with_columns(worse=pl.col("tpr") <= pl.col("fpr"))
    dots = chart_of(marked).mark_point(
        filled=True, opacity=0.85, color=look.main, stroke=look.paper
    )
    largest = float(points["claims"].max() or 1)  # type: ignore[arg-type]
    return dots.encode(
        x=x,
        y=y,
        size=alt.Size(
            "claims:Q",
            scale=alt.Scale(domain=[0, largest], range=[20, 260]),
            title="claims",
            legend=alt.Legend(symbolFillColor=look.main, tickCount=4),
        ),
        color=alt.Color(
            "worse:N",
            legend=None,
            scale=alt.Scale(domain=[False, True], range=[look.main, look.against]),
        ),
        tooltip=[
            "source:N",
            *(alt.Tooltip(f"{name}:Q", format=".3f") for name in rates),
            alt.Tooltip("claims:Q", format=","),
        ],
    )


def _names(alt: Any, look: Look, points: pl.DataFrame, window: Window) -> Any:
    """Names beside the points, as many as there is room for."""
    wide, high = window.fpr[1] - window.fpr[0], window.tpr[1] - window.tpr[0]
    across = (points["fpr"].to_numpy() - window.fpr[0]) / wide * SIDE
    down = (window.tpr[1] - points["tpr"].to_numpy()) / high * SIDE
    places = place_names([shorten(name, 20) for name in as_text(points["source"])], across, down)
    rows = pl.DataFrame(
        [
            (n, window.fpr[0] + x / SIDE * wide, window.tpr[1] - y / SIDE * high)
            for n, x, y in places
        ],
        {"name": pl.String, "fpr": pl.Float64, "tpr": pl.Float64},
        orient="row",
    )
    words = chart_of(rows).encode(
        x=_axis(alt, "fpr", window.fpr), y=_axis(alt, "tpr", window.tpr), text="name:N"
    )
    letters = {"align": "left", "baseline": "middle", "fontSize": 10}
    halo = words.mark_text(**letters, stroke=look.paper, strokeWidth=3, opacity=0.8)
    return halo + words.mark_text(**letters, color=look.ink)


def place_names(
    names: Sequence[str], across: Iterable[float], down: Iterable[float]
) -> list[tuple[str, float, float]]:
    """Where names begin beside their points, in pixels; none lies on another or on a point.

    Earlier names have the first choice: right, left, above or below. One without room is left out.

    >>> place_names(["a", "b"], [50, 50], [50, 50])
    [('a', 59.0, 50.0), ('b', 35.0, 50.0)]
    """
    spots = list(zip(across, down, strict=True))
    taken = [_Box(x - 5.0, y - 5.0, x + 5.0, y + 5.0) for x, y in spots]
    placed = []
    for name, (x, y) in zip(names, spots, strict=True):
        width = 6.0 * len(name)
        for left, middle in (
            (x + 9.0, y),
            (x - 9.0 - width, y),
            (x - width / 2.0, y - 13.0),
            (x - width / 2.0, y + 13.0),
        ):
            box = _Box(left, middle - 6.0, left + width, middle + 6.0)
            is_inside = left >= 0.0 and box.right <= SIDE and box.top >= 0.0 and box.bottom <= SIDE
            if is_inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                placed.append((name, float(left), float(middle)))
                break
    return placed


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def _deviations(result: Result, look: Look) -> TopLevelMixin:
    """Sources of numbers, those nearest to the estimates on top."""
    alt = altair()
    points = deviation_points(result)
    n_sources = len(result.tables.sources)
    note = "Further left is better."
    if n_sources > len(points):
        note += f" The {len(points)} most active of {n_sources:,} sources."
    dots = (
        chart_of(points)
        .mark_point(filled=True, opacity=0.9, color=look.main)
        .encode(
            x=alt.X("deviation:Q", title="deviation: root mean square distance from the estimates"),
            y=alt.Y("source:N", sort=None, title=None, axis=alt.Axis(grid=True)),
            size=alt.Size("claims:Q", scale=alt.Scale(range=[20, 260]), title="claims"),
            tooltip=[
                "source:N",
                alt.Tooltip("deviation:Q", format=".4~g"),
                alt.Tooltip("claims:Q", format=","),
            ],
        )
        .properties(width=SIDE)
    )
    figure: TopLevelMixin = finish(dots, look, "The sources", note)
    return figure
