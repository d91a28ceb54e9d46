"""What all figures share: the plotting library, two themes, titles, and files."""

from __future__ import annotations

import importlib.util
import io
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from veracity.errors import ParameterError
from veracity.extras import how_to_get
from veracity.io.atomic import atomic_file, check_file
from veracity.naming import as_text
from veracity.printing import in_short, printable

if TYPE_CHECKING:
    from altair import TopLevelMixin

FORMATS = (".svg", ".png", ".pdf", ".html")

ThemeName = Literal["light", "dark"]

LONGEST_NAME = 28
"""Longer names are cut in the picture; the tooltip has more of it."""

LONGEST_LABEL = 200
"""Longer names are cut in the tooltip, too."""


FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""All of these are equally wide, so that what was measured here fits elsewhere, too."""


@dataclass(frozen=True)
class Look:
    """The colours of a theme: Okabe and Ito's, which the colour-blind can tell apart."""

    paper: str
    ink: str
    muted: str
    grid: str
    main: str
    against: str
    shades: tuple[str, str, str]
    """From few to many."""


THEMES: dict[ThemeName, Look] = {
    "light": Look(
        paper="#ffffff",
        ink="#1f2328",
        muted="#6b7280",
        grid="#e5e7eb",
        main="#0072b2",
        against="#d55e00",
        shades=("#eef4f9", "#56b4e9", "#00446b"),
    ),
    "dark": Look(
        paper="#15191e",
        ink="#e6e8eb",
        muted="#9aa4af",
        grid="#2b323a",
        main="#56b4e9",
        against="#e69f00",
        shades=("#22303b", "#0072b2", "#d4edfc"),
    ),
}


def look_of(theme: str) -> Look:
    """The colours of a theme.

    >>> look_of("dark").main
    '#56b4e9'
    """
    if not isinstance(theme, str) or theme not in THEMES:
        raise ParameterError(f"plot: theme must be 'light' or 'dark', got {short(theme)}")
    return THEMES[theme]


PADDING = {"left": 36, "right": 36, "top": 12, "bottom": 28}
"""Space around a figure, in pixels: in a browser, long names may be wider than was reckoned."""


def finish(chart: Any, look: Look, title: str, note: str = "") -> Any:
    """Put a title, a note below it, and the colours of the theme on a figure."""
    alt = altair()
    heading: dict[str, Any] = {"text": printable(title), "anchor": "start", "offset": 12}
    if note:
        heading["subtitle"] = _lines(note)
    axis = alt.AxisConfig(
        labelColor=look.ink,
        titleColor=look.ink,
        gridColor=look.grid,
        domainColor=look.muted,
        tickColor=look.muted,
        titleFontWeight="normal",
        labelLimit=200,
        labelFlush=False,
    )
    config = alt.Config(
        background=look.paper,
        padding=PADDING,
        font=FONT,
        view=alt.ViewConfig(stroke=look.grid),
        axis=axis,
        legend=alt.LegendConfig(
            labelColor=look.ink, titleColor=look.ink, titleFontWeight="normal", labelLimit=240
        ),
        title=alt.TitleConfig(color=look.ink, subtitleColor=look.muted, fontSize=14),
        text=alt.MarkConfig(color=look.ink),
        rule=alt.MarkConfig(color=look.muted),
    )
    return _offline(chart.properties(title=alt.Title(**heading), config=config))


def _offline(chart: Any) -> Any:
    """The chart, which a notebook shows as SVG; as Altair shows it, it needs the network."""
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _drawn_here(kind))  # its own takes it for a parameter
    return chart


@cache
def _drawn_here(kind: Any) -> Any:
    """The kind of chart, with a picture of itself for notebooks."""

    def picture(self: Any, *args: Any, **kwargs: Any) -> Any:
        if importlib.util.find_spec("vl_convert") is None:
            return kind._repr_mimebundle_(self, *args, **kwargs)
        file = io.StringIO()
        self.save(file, format="svg")
        return {"image/svg+xml": file.getvalue(), "text/plain": f"a figure: {kind.__name__}"}

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": picture})


def _lines(note: str, width: int = 76) -> list[str]:
    """The note in lines that fit above a figure."""
    lines = [""]
    for word in printable(note, lines=True).split():
        fits = len(lines[-1]) + len(word) < width
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if fits else [*lines, word]
    return lines


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """A name that fits.

    >>> shorten("the very long name of some source", 12)
    'the very lo…'
    """
    return in_short(name, longest)


def chart_of(table: pl.DataFrame) -> Any:
    """A chart of a table. Every figure begins here, so that no text gets past `drawable`."""
    return altair().Chart(drawable(table))


def drawable(table: pl.DataFrame) -> pl.DataFrame:
    """The table with names that can be drawn: as text, printable, not endless, and still distinct.

    The library that turns figures into files ends the whole process where it is given a control
    character or half of a surrogate pair.
    """
    is_name = [not (dtype.is_numeric() or dtype == pl.Boolean) for dtype in table.dtypes]
    names = [column for column, of in zip(table, is_name, strict=True) if of]
    return table.with_columns(_labels(as_text(column)) for column in names)


def _labels(names: pl.Series) -> pl.Series:
    """A label for each name, another one for another name."""
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


def save_figure(chart: TopLevelMixin, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a figure as SVG, PNG, PDF or a page that needs no network; all of it, or nothing.

    A file that exists is refused unless `force`.
    """
    target = check_figure(path, force=force)
    suffix = target.suffix.lower()
    with atomic_file(target) as unfinished:
        if suffix == ".html":
            unfinished.write_text(_page(chart), encoding="utf-8")
        else:
            chart.save(str(unfinished), scale_factor=2 if suffix == ".png" else 1)
    return target


def check_figure(path: str | os.PathLike[str], *, force: bool) -> Path:
    """The file that a figure is to be drawn in; refused if that will fail, before any work."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ParameterError(f"figure: '{target.name}' must end in one of {', '.join(FORMATS)}")
    check_file(target, force=force)
    _need("vl_convert")
    return target


class _InScript(json.JSONEncoder):
    """JSON that may stand in a page's script: no name in it can end the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def _page(chart: TopLevelMixin) -> str:
    """A page with the figure and all it needs."""
    menu = {"export": True, "source": False, "compiled": False, "editor": False}
    options = {"actions": menu}
    page: str = chart.to_html(inline=True, embed_options=options, json_kwds={"cls": _InScript})
    config = chart.to_dict().get("config", {})
    colour = config.get("background", THEMES["light"].paper)
    head = f"<head>\n<title>veracity</title>\n<style>body {{ background: {colour} }}</style>"
    return page.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1)


def altair() -> Any:
    """The plotting library, which not everybody has installed."""
    return _need("altair")


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"figures need Altair and vl-convert ({module} is missing): {how_to_get('plot')}"
        ) from error
