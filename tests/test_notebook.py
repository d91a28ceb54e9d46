"""What a notebook shows, and that it needs no network for it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import polars as pl
import pytest

import veracity
from veracity.progress import in_notebook
from veracity.show import html

EVIL = "<script>alert(1)</script>"


class Shown:
    """A stand-in for what IPython displays: every look of one place."""

    def __init__(self) -> None:
        self.looks: list[str] = []

    def display(self, look, display_id):
        self.looks.append(look)
        return SimpleNamespace(update=self.looks.append)


@pytest.fixture
def shown(monkeypatch):
    """A kernel that displays, and a bar without patience."""
    shown, shell = Shown(), SimpleNamespace(kernel="python3")
    display = SimpleNamespace(HTML=str, display=shown.display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(html, "PATIENCE", 0.0)
    monkeypatch.setattr(html, "PAUSE", 0.0)
    return shown


@pytest.fixture(scope="module")
def result(flights):
    return veracity.discover(flights.claims)


def mirrored(flights):
    hoppit = flights.claims.filter(source="hoppit")
    mirrors = [hoppit.with_columns(source=pl.lit(f"mirror {n}")) for n in range(3)]
    return pl.concat([flights.claims, *mirrors])


def test_results_of_all_sorts_show_themselves_as_tables(result, flights):
    names = ["majority-vote", "mle"]
    views = {
        "against known truths": veracity.evaluate(result, flights.truth),
        "algorithms": veracity.compare(flights.claims, flights.truth, algorithms=names),
        "where they agree least": veracity.compare(flights.claims, algorithms=names),
        "claims, and what they weigh": result.why("VC-176", "gate"),
        "examples": veracity.check(mirrored(flights)),
        "items that changed": veracity.diff(
            veracity.discover(flights.claims, "majority-vote"), result
        ),
        "attributes": veracity.profile(flights.claims),
        "settings of mle": veracity.tune(
            flights.claims, flights.truth, algorithm="mle", grid={"max_rounds": [1, 20]}
        ),
    }
    for caption, view in views.items():
        assert f"<caption><div>{caption}" in view._repr_html_()
        assert caption in repr(view)


def test_no_name_becomes_markup(two_against_one):
    claims = two_against_one.with_columns(source=EVIL + two_against_one["source"])
    result = veracity.discover(claims)
    entity = claims["entity"][0]
    views = (
        result.why(entity),
        veracity.check(result),
        veracity.profile(claims),
        veracity.diff(veracity.discover(claims.head(1)), result),
    )
    for view in views:
        assert "<script" not in view._repr_html_()
    assert "&lt;script&gt;" in result.why(entity)._repr_html_()


def test_a_figure_is_a_picture_that_needs_no_network(result):
    figure = result.plot.sources()
    bundle = figure._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert "<script" not in bundle["image/svg+xml"]
    assert bundle["text/plain"].startswith("The sources. The best source is on top.")
    assert figure.chart.properties(background="red").to_dict()["background"] == "red"


def test_work_shows_a_bar_that_goes_away(shown, flights):
    assert in_notebook()
    veracity.discover(flights.claims)
    assert any("<progress" in look for look in shown.looks)
    assert shown.looks[-1] == ""


def test_who_gives_progress_gets_no_bar(shown, flights):
    told = []
    veracity.discover(flights.claims, progress=lambda *step: told.append(step))
    assert told
    assert not shown.looks


def test_outside_of_a_notebook_nothing_is_shown():
    assert not in_notebook()
