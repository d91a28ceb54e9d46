"""What a result rests on, as tables: who claims what, and what each claim weighs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Weights
from veracity.encode import UNKNOWN, Claims

__all__ = ["Evidence", "claims_table", "describe_weights", "evidence_of"]


class Evidence(NamedTuple):
    """Tables that go with a result; None where there is nothing to tell.

    `weights` has a row a source, `grounds` a row a fact: its score before any claim, its label, the
    score of what nobody claims of its item, and whether it is known to be true or false.
    """

    claims: pl.DataFrame
    weights: pl.DataFrame | None = None
    grounds: pl.DataFrame | None = None
    bearings: pl.DataFrame | None = None
    confusions: pl.DataFrame | None = None


def evidence_of(claims: Claims, weights: Weights | None) -> Evidence:
    """The claims, and what the algorithm says they weigh."""
    table = claims_table(claims)
    if weights is None:
        return Evidence(table, grounds=_grounds(claims, None))
    if weights.of_claim is not None:
        table = table.with_columns(weight=weights.of_claim)
    bearings = confusions = None
    if weights.pairs is not None:
        names = ("fact", "other", "share")
        bearings = pl.DataFrame(dict(zip(names, weights.pairs, strict=True)))
    if weights.confusion is not None:
        n_sources, n_labels, _ = weights.confusion.shape
        confusions = pl.DataFrame(
            weights.confusion.reshape(n_sources * n_labels, n_labels),
            schema=[f"claimed_{label}" for label in range(n_labels)],
        )
    of_source = pl.DataFrame({"weight_for": weights.support, "weight_against": weights.oppose})
    return Evidence(table, of_source, _grounds(claims, weights), bearings, confusions)


def claims_table(claims: Claims) -> pl.DataFrame:
    """One row a claim: the row of its fact in the facts, and of its source in the sources.

    Sorted by fact. Binary claims say whether the fact is called true.
    """
    block = claims.all
    if claims.kind != "binary":
        fact = _repeated(np.diff(block.first_support_of_fact))
        return pl.DataFrame({"fact": fact, "source": block.source_of_support.astype(np.uint32)})
    fact = _repeated(np.diff(block.first_voice_of_item))
    supported = _repeated(np.diff(block.first_support_of_fact))
    spoken = fact.astype(np.int64) * claims.n_sources + block.source_of_voice
    affirmed = supported.astype(np.int64) * claims.n_sources + block.source_of_support
    source = block.source_of_voice.astype(np.uint32)
    return pl.DataFrame({"fact": fact, "source": source, "claim": np.isin(spoken, affirmed)})


def describe_weights(weights: Weights | None) -> dict[str, Any] | None:
    """What a run tells of the weights beside their tables."""
    if weights is None:
        return None
    scales = {"softmax": "log-odds", "sigmoid": "log-odds", "estimate": "numbers"}
    return {
        "account": weights.account,
        "scale": scales.get(weights.rule, "votes"),
        "rule": weights.rule,
        "prior": weights.prior if isinstance(weights.prior, float) else None,
        "power": weights.power,
    }


def _repeated(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.repeat(np.arange(len(counts), dtype=np.uint32), counts)


def _grounds(claims: Claims, weights: Weights | None) -> pl.DataFrame | None:
    block = claims.all
    columns: dict[str, np.ndarray[Any, Any]] = {}
    if (block.known_of_fact != UNKNOWN).any():
        columns["known"] = np.asarray(block.known_of_fact, dtype=np.int8)
    if weights is not None:
        if not isinstance(weights.prior, float):
            columns["prior"] = weights.prior
        if weights.unclaimed is not None:
            columns["unclaimed"] = weights.unclaimed[block.item_of_fact]
        if weights.confusion is not None and claims.label_of_fact is not None:
            columns["label"] = claims.label_of_fact.astype(np.uint32)
    return pl.DataFrame(columns) if columns else None
