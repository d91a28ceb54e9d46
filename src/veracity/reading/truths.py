"""Known truths, which come beside claims and are written as these are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from veracity.printing import counted
from veracity.reading.claims import Claims
from veracity.reading.normalise import Normalisation
from veracity.reading.options import ReadOptions
from veracity.reading.spark import SparkClaims


def read_truth(
    data: object,
    options: ReadOptions,
    *,
    normalisation: Mapping[str, Any] | None = None,
    like: pl.DataFrame | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Read known truths: rows of entity, attribute and value, or of fact and claim.

    Where the claims were normalised, the truths are, too, and spelt `like` the facts.
    """
    options = replace(options, normalise=normalisation is not None)
    truths = Claims(data, options, what="truths")
    rows, notes = truths.collect(), list(truths.notes)
    if normalisation is not None and "value" in rows.columns:
        normalised = Normalisation.from_json(normalisation).apply(rows, like=like)
        rows = normalised.rows
        if normalised.n_left_out:
            left_out = counted(normalised.n_left_out, "truth is", "truths are")
            notes.append(f"{left_out} left out, naming no value or too little of one")
    return rows, notes


def read_truths_beside(
    claims: Claims | SparkClaims, data: object
) -> tuple[pl.DataFrame, list[str]]:
    """Read truths that come with claims, and are likely to be written as these are.

    They may have the names of the claims' columns, or the usual ones.
    """
    options = ReadOptions(likely=claims.columns, kind=claims.kind, encoding=claims.encoding)
    return read_truth(data, options, normalisation=claims.normalisation, like=claims.like)
