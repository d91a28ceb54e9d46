"""The sources, with intervals: how far each can be trusted."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from veracity.result.intervals import LEVEL
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Cell, Look, beside, measure, paragraph, table

MOST_SOURCES = 1_000
"""So many sources are listed, those with most claims."""

RATES = ("accuracy", "tpr", "fpr")


def sources(found: Findings) -> str:
    """The figure and the table of the sources."""
    shown = _sources_table(found)
    hidden = tuple(f"{rate}_{end}" for rate in RATES for end in ("low", "high"))
    cells = {rate: _rate(rate) for rate in RATES if f"{rate}_low" in shown.columns}
    look = Look(
        caption="Sources, those with most claims first",
        of=len(found.result.tables.sources),
        sortable=True,
        searchable=True,
        headings=found.called
        | {
            "agreement": "agreement with others",
            "known": "claims on known truths",
            "right": "right on known truths",
        },
        cells=cells | ({"accuracy": _accuracy} if "accuracy_low" in shown.columns else {}),
        hidden=hidden,
    )
    shown_beside = beside(found.drawn.show("sources"), table(shown, look))
    return paragraph(_words(found)) + shown_beside + _features(found)


def _features(found: Findings) -> str:
    """What features of the sources are worth, if any were given."""
    features = found.result.tables.features
    if features is None:
        return ""
    words = (
        "What is known beside the claims was weighed, too: sources with few claims are expected "
        "to be like others with the same features, and to be better on some kinds of items than "
        "on others. Weights are log-odds, for numbers of sources per standard deviation, with "
        f"{LEVEL:.0%} intervals."
    )
    look = Look(caption="What features are worth", of=len(features), sortable=True)
    return paragraph(words) + table(features.head(MOST_SOURCES), look)


def _sources_table(found: Findings) -> pl.DataFrame:
    """The most active sources, with what the claims and the known truths tell of them."""
    wanted = ["source", "accuracy", "tpr", "fpr", "deviation", "bias", "trust", "claims", "items",
              *(f"{rate}_{end}" for rate in RATES for end in ("low", "high"))]  # fmt: skip
    ranked = found.result.tables.sources.sort("claims", descending=True, maintain_order=True)
    shown = ranked.select(name for name in wanted if name in ranked.columns).head(MOST_SOURCES)
    others = found.profile.by_source.rename({"accuracy": "right"}, strict=False)
    told = "source|known" if found.result.kind == "numeric" else "source|agreement|known|right"
    others = others.select(pl.col(f"^({told})$"))  # that two numbers are equal says nothing
    return shown.join(others, on="source", how="left", maintain_order="left")


def _words(found: Findings) -> str:
    if found.result.kind == "numeric":
        return (
            "The deviation is how far a source is from the estimates, in standard deviations of "
            "the numbers claimed; smaller is better. The bias, where one was learned, is by how "
            "much its numbers are too high."
        )
    return (
        "Accuracy is the share of a source's claims that is plausible. tpr is how often it claims "
        "a fact that is true, fpr how often one that is false. The lines are "
        f"{LEVEL:.0%} intervals: many telling claims make them short."
    )


def _accuracy(row: dict[str, Any]) -> str:
    """The accuracy, drawn in its interval."""
    if row["accuracy"] is None:
        return ""
    low, high = row["accuracy_low"], row["accuracy_high"]
    style = f"--a:{row['accuracy']:.3f};--l:{low:.3f};--h:{high:.3f}"
    return f'{_told("accuracy", row)}<span class="range" style="{style}" aria-hidden="true"></span>'


def _rate(rate: str) -> Cell:
    return lambda row: _told(rate, row)


def _told(rate: str, row: dict[str, Any]) -> str:
    """A rate and its interval in digits."""
    low, high = row[f"{rate}_low"], row[f"{rate}_high"]
    if row[rate] is None:
        return ""
    if low is None or math.isnan(low):
        return measure(row[rate])
    return f"{measure(row[rate])} <small>{low:.2f} to {high:.2f}</small>"
