"""Pairs of sources that may have copied, whatever algorithm is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.base import Copies, Turn
from veracity.claims.block import UNKNOWN, Block
from veracity.claims.encoded import Encoded
from veracity.claims.schema import Kind
from veracity.dependence.naming import (
    Meetings,
    Mistakes,
    Naming,
    count_meetings,
    count_mistakes,
    with_pairs,
    with_suspects,
)
from veracity.engines import Local
from veracity.result.tables import copies_table


def pairs_table(encoded: Encoded, threads: int | None = None) -> pl.DataFrame:
    """Return the pairs of sources that may have copied, with the evidence, the clearest first."""
    return copies_table(encoded.names, pairs_of(encoded, threads))


def pairs_of(encoded: Encoded, threads: int | None = None) -> Copies:
    """Name the pairs of sources that may have copied, by what each claims most of all."""
    blocks = [as_named_values(block, encoded.kind) for block in encoded.blocks]
    n_labels = 2 if encoded.kind == "binary" else max(len(encoded.names.labels), 2)
    if encoded.names.n_open:
        n_labels = encoded.names.n_open
    with Local(threads=threads).hold(blocks) as held:
        n_claims, n_items = held.sweep(_count_claims, encoded.names.n_sources, Turn())
        naming = Naming.unseen(n_claims, n_items, n_labels)
        naming = with_suspects(naming, Meetings(*held.sweep(_count_meetings, naming, Turn())))
        if not naming.is_any:
            return Copies.none()
        return with_pairs(naming, Mistakes(*held.sweep(_count_mistakes, naming, Turn()))).pairs


def _count_claims(block: Block, n_sources: int, turn: Turn) -> tuple[Any, Any]:
    counts = [
        np.bincount(sources, minlength=n_sources).astype(np.float64)
        for sources in (block.source_of_support, block.source_of_voice)
    ]
    return tuple(counts), turn.memory


def _count_meetings(block: Block, naming: Naming, turn: Turn) -> tuple[Any, Any]:
    return count_meetings(block, naming), turn.memory


def _count_mistakes(block: Block, naming: Naming, turn: Turn) -> tuple[Any, Any]:
    return count_mistakes(block, naming), turn.memory


def as_named_values(block: Block, kind: Kind) -> Block:
    """Return what each source claims most of all; binary facts as items with two values."""
    if kind == "numeric":
        return _with_known_values(block)
    if kind != "binary":
        return block.said_most()[0]
    n_items, known = block.n_items, block.known_of_fact
    value_of_voice = 2 * block.item_of_voice + block.affirms_most
    order = np.argsort(value_of_voice, kind="stable")
    values, first_support = np.unique(value_of_voice[order], return_index=True)
    known_of_value = known[values // 2]
    is_right = known_of_value == values % 2
    return block.in_full()._replace(
        first_fact_of_item=np.searchsorted(values, 2 * np.arange(n_items + 1)),
        first_support_of_fact=np.append(first_support, len(order)),
        source_of_support=block.source_of_voice[order],
        known_of_fact=np.where(known_of_value == UNKNOWN, UNKNOWN, is_right.astype(np.int64)),
        label_of_fact=(values % 2).astype(np.int32),
    )


def _with_known_values(block: Block) -> Block:
    """Return numbers as values, which are equal to what is known, or not."""
    known = np.repeat(block.known_number_of_item, block.n_facts_of_item)
    is_right = (block.number_of_fact == known).astype(np.int8)
    return block._replace(known_of_fact=np.where(np.isnan(known), UNKNOWN, is_right))
