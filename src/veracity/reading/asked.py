"""Questions that come back with answers, as known truths: how they were drawn is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from veracity.naming import as_text, rendered

ASKED = "asked"
"""The column of known truths that holds, in one, those of `COLUMNS`."""

COLUMNS: dict[str, pl.DataType] = {
    "answer": pl.String(), "plausibility": pl.Float64(), "inclusion": pl.Float64(),
    "drawn": pl.Boolean(), "asked_of": pl.Int64(),
}  # fmt: skip
"""The columns of a table of questions that say how each was drawn, and what was answered then."""

NUMBERS = ("plausibility", "inclusion", "asked_of")


def asked_columns(found: Sequence[str]) -> dict[str, str]:
    """Find these columns, if all are there; a number tells ours from one of the user's.

    >>> asked_columns(["id", "answer", "answer_2", *COLUMNS])["answer"]
    'answer_2'
    >>> asked_columns(["id", "answer"])
    {}
    """
    names = {name: f"{name}_2" if f"{name}_2" in found else name for name in COLUMNS}
    return names if set(names.values()) <= set(found) else {}


def asked_as_one(names: Mapping[str, str], found: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return these columns as one; it is null for known truths that nobody asked for."""
    texts = {name: rendered(pl.col(own), found[own]) for name, own in names.items()}
    typed: dict[str, Any] = {
        name: texts[name].cast(COLUMNS[name], strict=False) for name in NUMBERS
    }
    typed["drawn"] = texts["drawn"].str.to_lowercase().is_in(["true", "1"])
    typed["answer"] = texts["answer"].fill_null("")
    together = pl.struct(**typed)
    is_asked = (typed["inclusion"] > 0.0) & (typed["inclusion"] <= 1.0) & (typed["asked_of"] > 0)
    return pl.when(is_asked).then(together).alias(ASKED)


def asked_before(truths: pl.DataFrame, keys: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Return the questions among known truths, once each, with the names of their items as text."""
    if ASKED not in truths.columns or not set(keys) <= set(truths.columns):
        return ()
    truths = truths.drop_nulls(ASKED).unique(keys, keep="first", maintain_order=True)
    names = zip(*(as_text(truths[key]).to_list() for key in keys), strict=True)
    return tuple(
        {"item": list(item), **asked}
        for item, asked in zip(names, truths[ASKED].to_list(), strict=True)
    )
