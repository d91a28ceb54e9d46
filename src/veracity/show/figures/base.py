"""Figures: tables of numbers, drawn in one of two themes, for notebooks and files."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import Any, Literal

import polars as pl

from veracity.errors import ParameterError
from veracity.extras import how_to_get
from veracity.io.atomic import atomic_file, check_file
from veracity.naming import as_text
from veracity.printing import in_short, printable

FORMATS = (".svg", ".png", ".pdf", ".html")

ThemeName = Literal["light", "dark"]

WIDTH = 420
"""Width of a figure in pixels."""

ALWAYS_NAMES = ("source", "other", "attribute", "true", "said")
"""Columns that hold names even where all of them are numbers."""

LONGEST_LABEL = 200
"""Largest number of characters of a name in a tooltip."""

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts of equal width, so that text measured here fits elsewhere, too."""

PADDING = {"left": 36, "right": 36, "top": 12, "bottom": 28}
"""Space around a figure in pixels, since names may be wider in a browser than computed here."""


@dataclass(frozen=True)
class Colours:
    """Colours of a theme: Okabe and Ito's, which colour-blind readers can distinguish."""

    paper: str
    ink: str
    muted: str
    grid: str
    main: str
    against: str
    shades: tuple[str, str, str]
    """Colours from small to large numbers."""


THEMES: dict[ThemeName, Colours] = {
    "light": Colours(
        paper="#ffffff",
        ink="#1f2328",
        muted="#6b7280",
        grid="#e5e7eb",
        main="#0072b2",
        against="#d55e00",
        shades=("#eef4f9", "#56b4e9", "#00446b"),
    ),
    "dark": Colours(
        paper="#15191e",
        ink="#e6e8eb",
        muted="#9aa4af",
        grid="#2b323a",
        main="#56b4e9",
        against="#e69f00",
        shades=("#22303b", "#0072b2", "#d4edfc"),
    ),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Figure:
    """Figure: the numbers it shows (`table`), and its chart.

    A notebook shows it as a picture that needs no network. `chart` is the Altair chart, which you
    can change.
    """

    title: str
    note: str
    table: pl.DataFrame
    draw: Callable[[Colours], Any]
    theme: str = "light"

    def __post_init__(self) -> None:
        if not isinstance(self.theme, str) or self.theme not in THEMES:
            raise ParameterError(f"plot: theme must be 'light' or 'dark', got {short(self.theme)}")
        altair()

    @property
    def alt(self) -> str:
        """Return a description for readers who cannot see the figure."""
        return f"{self.title}. {self.note}".strip()

    @property
    def chart(self) -> Any:
        """Return the Altair chart in the colours of the theme."""
        return self._themed(self.theme)

    def svg(self, theme: ThemeName | None = None) -> str:
        """Return the figure as SVG, without a description for each mark."""
        file = io.StringIO()
        chart = self._themed(theme or self.theme)
        chart.config.aria = False
        chart.save(file, format="svg")
        return file.getvalue()

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the figure as SVG, PNG, PDF or a page that needs no network, whole or not at all.

        An existing file is replaced only with `force`.
        """
        target = check_figure(path, force=force)
        suffix = target.suffix.lower()
        with atomic_file(target) as unfinished:
            if suffix == ".html":
                unfinished.write_text(_page(self.chart), encoding="utf-8")
            else:
                self.chart.save(str(unfinished), scale_factor=2 if suffix == ".png" else 1)
        return target

    def __repr__(self) -> str:
        """Return the title and the note."""
        return printable(self.alt)

    def _repr_mimebundle_(self, *_: object, **__: object) -> Any:
        if importlib.util.find_spec("vl_convert") is None:
            return self.chart._repr_mimebundle_()
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}

    def _themed(self, theme: str) -> Any:
        """Return the chart with the title, the note below it, and the colours of a theme."""
        alt, colours = altair(), THEMES[theme]  # type: ignore[index]
        heading: dict[str, Any] = {"text": printable(self.title), "anchor": "start", "offset": 12}
        if self.note:
            heading["subtitle"] = textwrap.wrap(printable(self.note, lines=True), 76)
        axis = alt.AxisConfig(
            labelColor=colours.ink,
            titleColor=colours.ink,
            gridColor=colours.grid,
            domainColor=colours.muted,
            tickColor=colours.muted,
            titleFontWeight="normal",
            labelLimit=200,
            labelFlush=False,
        )
        config = alt.Config(
            background=colours.paper,
            padding=PADDING,
            font=FONT,
            view=alt.ViewConfig(stroke=colours.grid),
            axis=axis,
            legend=alt.LegendConfig(
                labelColor=colours.ink,
                titleColor=colours.ink,
                titleFontWeight="normal",
                labelLimit=240,
            ),
            title=alt.TitleConfig(color=colours.ink, subtitleColor=colours.muted, fontSize=14),
            header=alt.HeaderConfig(labelColor=colours.ink, titleColor=colours.ink),
            text=alt.MarkConfig(color=colours.ink),
            rule=alt.MarkConfig(color=colours.muted),
        )
        return self.draw(colours).properties(title=alt.Title(**heading), config=config)


# --- helpers that figures share -------------------------------------------------------------------


def heatmap(
    rows: pl.DataFrame,
    x: Any,
    y: Any,
    shade: Any,
    *,
    label: str = ".2f",
    light_from: float | None = None,
    colours: Colours = THEMES["light"],
    tooltip: Sequence[Any] = (),
) -> Any:
    """Return a matrix of cells; the larger the number, the darker the cell.

    `shade` is the colour by the number. Numbers are written in the cells unless `label` is empty;
    those larger than `light_from` have the colour of the paper.
    """
    alt = altair()
    cells = chart_of(rows).encode(x=x, y=y, tooltip=list(tooltip))
    drawn = cells.mark_rect().encode(color=shade)
    if not label:
        return drawn
    number = shade["shorthand"].split(":")[0]
    colour: Any = alt.value(colours.ink)
    if light_from is not None:
        is_dark = f"datum.{number} > {light_from}"
        colour = alt.condition(is_dark, alt.value(colours.paper), colour)
    text = cells.transform_filter(f"isValid(datum.{number})").mark_text(fontSize=10)
    return drawn + text.encode(text=alt.Text(f"{number}:Q", format=label), color=colour)


def dots(  # noqa: PLR0913 - each says how one thing is drawn
    rows: pl.DataFrame,
    name: str,
    number: str,
    *,
    title: str,
    colours: Colours = THEMES["light"],
    ends: tuple[str, str] | None = None,
    scale: Any = None,
    colour: Any = None,
    size: Any = None,
    names: bool = True,
    width: int = WIDTH,
    tooltip: Sequence[Any] = (),
) -> Any:
    """Return one line per name, in this order, with a dot at the number and its interval if any."""
    alt = altair()
    rows = drawable(rows)
    axis = alt.Axis(grid=True, labels=names, ticks=names)
    order = rows[name].unique(maintain_order=True).to_list()
    base = chart_of(rows).encode(
        y=alt.Y(f"{name}:N", sort=order, title=None, axis=axis), tooltip=list(tooltip)
    )
    scale = alt.Scale(zero=False) if scale is None else scale
    point = base.mark_point(filled=True, opacity=1, color=colours.main, size=60)
    point = point.encode(x=alt.X(f"{number}:Q", title=title, scale=scale))
    if colour is not None:
        point = point.encode(color=colour)
    if size is not None:
        point = point.encode(size=size)
    if ends is None:
        return point.properties(width=width, height={"step": 18})
    low, high = ends
    bar = base.mark_rule(color=colours.main, strokeWidth=2, opacity=0.5, clip=True)
    bar = bar.encode(x=alt.X(f"{low}:Q", title=title, scale=scale), x2=high)
    if colour is not None:
        bar = bar.encode(color=colour)
    return (bar + point).properties(width=width, height={"step": 18})


def shades_of(colours: Colours, number: str, domain: Sequence[float], **given: Any) -> Any:
    """Return the colour of a number in a domain, from the smallest to the largest."""
    alt = altair()
    scale = alt.Scale(range=list(colours.shades), domain=list(domain), interpolate="lab")
    return alt.Color(f"{number}:Q", scale=scale, **given)


def chart_of(table: pl.DataFrame) -> Any:
    """Return a chart of a table. All figures use it, so that all text passes through `drawable`."""
    return altair().Chart(drawable(table))


def drawable(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with names that can be drawn: printable, short and still distinct.

    The library that turns figures into files ends the whole process where it is given a control
    character or half of a surrogate pair.
    """
    is_number = pl.selectors.float() | pl.selectors.integer() | pl.selectors.boolean()
    names = [name for name in table.columns if name in ALWAYS_NAMES]
    names += [name for name in table.select(~is_number).columns if name not in names]
    return table.with_columns(_labels(as_text(table[name])) for name in names)


def _labels(names: pl.Series) -> pl.Series:
    """Return a label for each name; different names get different labels."""
    taken: set[str] = set()
    label_of_name: dict[str, str] = {}
    for name in names.unique().drop_nulls().sort():
        label = in_short(name, LONGEST_LABEL) if len(name) > LONGEST_LABEL + 20 else printable(name)
        number = 2
        first = label
        while label in taken:
            label, number = f"{first} ({number})", number + 1
        taken.add(label)
        label_of_name[name] = label
    return names.replace(label_of_name)


# --- files ----------------------------------------------------------------------------------------


def check_figure(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Return the file for a figure; before any work, raise an error if it cannot be written."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ParameterError(f"figure: '{target.name}' must end in one of {', '.join(FORMATS)}")
    check_file(target, force=force)
    _need("vl_convert")
    return target


class _InScript(json.JSONEncoder):
    """Encoder of JSON for a page's script; no name in the JSON can end the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def _page(chart: Any) -> str:
    """Return a page with a chart and the scripts it needs."""
    menu = {"export": True, "source": False, "compiled": False, "editor": False}
    options = {"actions": menu}
    page: str = chart.to_html(inline=True, embed_options=options, json_kwds={"cls": _InScript})
    config = chart.to_dict().get("config", {})
    colour = config.get("background", THEMES["light"].paper)
    head = f"<head>\n<title>veracity</title>\n<style>body {{ background: {colour} }}</style>"
    return page.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1)


def altair() -> Any:
    """Return the plotting library; raise an error if it is not installed."""
    return _need("altair")


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"figures need Altair and vl-convert ({module} is missing): {how_to_get('plot')}"
        ) from error
