"""What all figures share: the plotting library, two themes, titles, and files."""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veracity.errors import ParameterError
from veracity.io.folders import finished_file

if TYPE_CHECKING:
    from altair import TopLevelMixin

__all__ = ["THEMES", "Look", "ThemeName", "altair", "finish", "look_of", "save_figure", "shorten"]

FORMATS = (".svg", ".png", ".pdf", ".html")

ThemeName = Literal["light", "dark"]

LONGEST_NAME = 28
"""Longer names are cut in the picture; the tooltip has all of it."""


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
    for name, look in THEMES.items():
        if name == theme:
            return look
    raise ParameterError(f"plot: theme must be 'light' or 'dark', got {theme!r}")


def finish(chart: Any, look: Look, title: str, note: str = "") -> Any:  # noqa: ANN401 - any chart
    """Put a title, a note below it, and the colours of the theme on a figure."""
    alt = altair()
    heading: dict[str, Any] = {"text": title, "anchor": "start", "offset": 12}
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
        padding=12,
        font="sans-serif",
        view=alt.ViewConfig(stroke=look.grid),
        axis=axis,
        legend=alt.LegendConfig(
            labelColor=look.ink, titleColor=look.ink, titleFontWeight="normal", labelLimit=240
        ),
        title=alt.TitleConfig(color=look.ink, subtitleColor=look.muted, fontSize=14),
        text=alt.MarkConfig(color=look.ink),
        rule=alt.MarkConfig(color=look.muted),
    )
    return chart.properties(title=alt.Title(**heading), config=config)


def _lines(note: str, width: int = 76) -> list[str]:
    """The note in lines that fit above a figure."""
    lines = [""]
    for word in note.split():
        fits = len(lines[-1]) + len(word) < width
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if fits else [*lines, word]
    return lines


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """A name that fits.

    >>> shorten("the very long name of some source", 12)
    'the very lo…'
    """
    return name if len(name) <= longest else name[: longest - 1] + "…"


def save_figure(chart: TopLevelMixin, path: str | os.PathLike[str]) -> Path:
    """Write a figure as SVG, PNG, PDF or a page that needs no network; all of it, or nothing."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError(f"figure: '{target.name}' must end in one of {', '.join(FORMATS)}")
    _need("vl_convert")
    with finished_file(target) as unfinished:
        if suffix == ".html":
            unfinished.write_text(_page(chart), encoding="utf-8")
        else:
            chart.save(str(unfinished), scale_factor=2 if suffix == ".png" else 1)
    return target


class _InScript(json.JSONEncoder):
    """JSON that may stand in a page's script: no name in it can end the script."""

    def encode(self, o: Any) -> str:  # noqa: ANN401 - json's own signature
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


def altair() -> Any:  # noqa: ANN401 - the module
    """The plotting library, which not everybody has installed."""
    return _need("altair")


def _need(module: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"figures need Altair and vl-convert ({module} is missing): "
            "pip install 'veracity[plot]'"
        ) from error
