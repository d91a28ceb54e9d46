"""What to ask next: the items whose true value would help most.

A known truth helps in three ways. It decides between two readings of the claims, where there are
two. It teaches of the sources that speak of the item, the more the more they say elsewhere and the
less sure their word is here. And it settles the item itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.prior import UNLEARNED
from veracity.claims.block import SAME, Block, FloatArray, IntArray
from veracity.claims.encode import Encoded
from veracity.errors import ParameterError
from veracity.fit.judging import Judged
from veracity.fit.readings import Reading, differing, find_readings
from veracity.kernels.loading import kernels
from veracity.naming import as_text
from veracity.result import Result

__all__ = ["questions_of"]

DECIDES = 10.0
"""How many times as much it helps to know an item on which readings differ."""

MOST_VALUES = 10
"""So many values of an item are named to choose from."""

COLUMNS: dict[str, Any] = {
    "values": pl.List(pl.String), "plausibility": pl.Float64, "claims": pl.Int64,
    "gain": pl.Float64, "why": pl.String,
}  # fmt: skip

LOOKED_AT = 50
"""Items from which each question is chosen, for each that is asked: those that help most alone."""


def questions_of(result: Result, budget: int) -> pl.DataFrame:
    """The items to ask for, those that help most first; the answer's own if nothing is known.

    Items of one batch are to tell of different sources: what an answer would teach of a source
    counts less once another item of the batch does.
    """
    encoded, fitted = result.encoded, result.fitted
    if budget < 1:
        raise ParameterError(f"questions: the budget must be at least 1, got {budget}")
    if encoded is None or fitted is None or result.kind == "numeric":
        raise ParameterError("questions: they need the claims of values or facts, and a kept fit")
    plausibility = tuple(encoded.by_block(result.tables.facts["plausibility"].to_numpy()))
    judged = Judged(plausibility=plausibility)
    readings = find_readings(encoded, fitted.algorithm, fitted.state, judged)
    of_block = _deciding(encoded, readings)
    share = _share_of_cells(encoded)
    triples = zip(encoded.blocks, plausibility, of_block, strict=True)
    helps = np.concatenate([_candidates(block, p, share, own) for block, p, own in triples])
    decides = np.concatenate(of_block)
    first = np.cumsum([0, *(block.n_items for block in encoded.blocks)])
    chosen = _diverse(encoded, plausibility, (helps, decides), share, budget)
    rows = [_row(result, item, first, readings, bool(decides[item]), helps) for item in chosen]
    names = [_names(encoded, item, first) for item in chosen]
    items = pl.concat([encoded.parts[0].items.head(0), *names])
    return items.hstack(pl.DataFrame(rows, schema=COLUMNS))


def _names(encoded: Encoded, item: int, first: IntArray) -> pl.DataFrame:
    """What the item is called, as a table of one row."""
    part = int(np.searchsorted(first, item, side="right")) - 1
    return encoded.parts[part].items.slice(item - int(first[part]), 1)


def _share_of_cells(encoded: Encoded) -> FloatArray:
    """[source, attribute]: its share of all that is claimed, less where much is known already."""
    shape = (encoded.names.n_sources, max(len(encoded.names.attributes), 1))
    claims, known = np.zeros(shape), np.zeros(shape)
    for block in encoded.blocks:
        one, attribute = np.ones(block.n_facts), block.attribute_of_item
        is_known = np.repeat(block.is_known, block.n_facts_of_item).astype(np.float64)
        claims += kernels.sum_by_source(block, one, attribute, *shape)
        known += kernels.sum_by_source(block, is_known, attribute, *shape)
    return np.asarray(claims / claims.sum() * UNLEARNED / (UNLEARNED + known))


def _deciding(encoded: Encoded, readings: list[Reading]) -> list[np.ndarray[Any, Any]]:
    """Which items the first of the other readings answers otherwise."""
    if not readings:
        return [np.zeros(block.n_items, dtype=np.bool_) for block in encoded.blocks]
    reading, found = readings[0], []
    for block, small, chosen, own, its in zip(
        encoded.blocks, reading.sample.blocks, reading.sample.chosen, reading.sample.answer,
        reading.other, strict=True,
    ):  # fmt: skip
        is_deciding = np.zeros(block.n_items, dtype=np.bool_)
        is_deciding[np.flatnonzero(chosen)[differing(small, own, its)]] = True
        found.append(is_deciding)
    return found


def _candidates(
    block: Block, plausibility: FloatArray, share: FloatArray, decides: np.ndarray[Any, Any]
) -> FloatArray:
    """How much it would help to know each item; nothing where it is known, or nobody differs."""
    unsure = np.repeat(plausibility * (1.0 - plausibility), block.n_supports_of_fact)
    first = block.first_support_of_fact[block.first_fact_of_item]
    attribute = np.repeat(block.attribute_of_item, block.n_supports_of_item)
    sums = np.append(0.0, np.cumsum(unsure * share[block.source_of_support, attribute]))
    teaches = sums[first[1:]] - sums[first[:-1]]
    best = np.maximum.reduceat(plausibility, block.first_fact_of_item[:-1])
    helps = (teaches + (1.0 - best) / max(block.n_items, 1)) * np.where(decides, DECIDES, 1.0)
    is_disputed = block.n_supports_of_item < block.n_facts_of_item * block.n_voices_of_item
    is_open = ~block.is_known & is_disputed
    return np.asarray(np.where(is_open, helps, 0.0))


def _diverse(
    encoded: Encoded,
    plausibility: tuple[FloatArray, ...],
    found: tuple[FloatArray, np.ndarray[Any, Any]],
    share: FloatArray,
    budget: int,
) -> list[int]:
    """One item after the other, each time that which helps most beside those chosen before."""
    helps, decides = found
    first = np.cumsum([0, *(block.n_items for block in encoded.blocks)])
    ranked = np.argsort(-np.round(helps / max(helps.max(), 1e-300), SAME), kind="stable")
    left = [int(item) for item in ranked[: LOOKED_AT * budget] if helps[item] > 0.0]
    taught = {item: _taught(encoded, plausibility, first, item) for item in left}
    share, chosen = share.copy(), list[int]()
    while left and len(chosen) < budget:
        gains = [
            float(share[taught[item][0]] @ taught[item][1]) * (DECIDES if decides[item] else 1.0)
            for item in left
        ]
        item = left.pop(int(np.argmax(np.round(gains, 12))))
        chosen.append(item)
        share[taught[item][0]] *= UNLEARNED / (UNLEARNED + 1.0)
    return chosen


def _taught(
    encoded: Encoded, plausibility: tuple[FloatArray, ...], first: IntArray, item: int
) -> tuple[Any, FloatArray]:
    """The cells (source and attribute) that speak of an item, and how unsure each word is."""
    part = int(np.searchsorted(first, item, side="right")) - 1
    block, own = encoded.blocks[part], item - int(first[part])
    facts = slice(int(block.first_fact_of_item[own]), int(block.first_fact_of_item[own + 1]))
    p = plausibility[part][facts]
    n_supports = block.n_supports_of_fact[facts]
    a = int(block.first_support_of_fact[facts.start])
    sources = block.source_of_support[a : a + int(n_supports.sum())]
    cells = (sources, np.full(len(sources), block.attribute_of_item[own]))
    return cells, np.repeat(p * (1.0 - p), n_supports)


def _row(
    result: Result,
    item: int,
    first: IntArray,
    readings: list[Reading],
    decides: bool,
    helps: FloatArray,
) -> dict[str, Any]:
    encoded = result.encoded
    assert encoded is not None
    part = int(np.searchsorted(first, item, side="right")) - 1
    own, block = item - int(first[part]), encoded.parts[part].block
    start = sum(b.n_facts for b in encoded.blocks[:part]) + int(block.first_fact_of_item[own])
    facts = result.tables.facts.slice(start, int(block.n_facts_of_item[own]))
    facts = facts.sort(pl.col("plausibility").round(SAME), descending=True, maintain_order=True)
    values = ["true", "false"]
    if "value" in facts.columns:
        values = as_text(facts["value"].head(MOST_VALUES)).to_list()
    n_voices = int(block.n_voices_of_item[own])
    reason = f"{n_voices} sources speak of it, and differ" if n_voices > 1 else "one source speaks"
    if decides:
        reason = f"it tells which of two readings is right ({readings[0].name}); {reason}"
    return {
        "values": values,
        "plausibility": float(facts["plausibility"][0]),
        "claims": n_voices,
        "gain": float(helps[item]),
        "why": reason,
    }
