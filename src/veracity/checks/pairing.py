"""Pairs of sources that may have copied, in claims of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from veracity.algorithms.base import Turn
from veracity.dependence import Copies
from veracity.dependence.naming import (
    Meetings,
    Mistakes,
    Naming,
    compared_claims,
    count_meetings,
    count_mistakes,
    with_pairs,
    with_suspects,
)
from veracity.encoding.block import UNKNOWN, Block, IntArray
from veracity.encoding.partitions import Encoded
from veracity.engines import Blocks, Local
from veracity.reading.roles import Kind


def named_pairs(encoded: Encoded, threads: int | None = None) -> Copies:
    """Name the pairs of sources that may have copied."""
    make = as_answers if encoded.kind == "multiple" else as_named_values
    blocks = [make(block, encoded.kind) for block in encoded.blocks]
    with Local(threads=threads).hold(blocks) as held:
        return _named(held, encoded)


def _named(held: Blocks, encoded: Encoded) -> Copies:
    supports, voices = held.sweep(_count_claims, encoded.names.n_sources, Turn())
    of_kind = {
        "binary": 2,
        "categorical": max(len(encoded.names.labels), encoded.names.n_unnumbered),
    }
    n_labels = max(of_kind.get(encoded.kind, encoded.n_facts), 2)
    naming = Naming.unseen(compared_claims(supports, voices), n_labels)
    naming = with_suspects(naming, Meetings(*held.sweep(_count_meetings, naming, Turn())))
    if naming.suspects is not None:
        naming = with_pairs(naming, Mistakes(*held.sweep(_count_mistakes, naming, Turn())))
    return naming.pairs


def _count_claims(block: Block, n_sources: int, turn: Turn) -> tuple[Any, Any]:
    counts = (
        np.bincount(of, minlength=n_sources)
        for of in (block.source_of_support, block.source_of_voice)
    )
    return tuple(count.astype(np.float64) for count in counts), turn.memory


def _count_meetings(block: Block, naming: Naming, turn: Turn) -> tuple[Any, Any]:
    return count_meetings(block, naming), turn.memory


def _count_mistakes(block: Block, naming: Naming, turn: Turn) -> tuple[Any, Any]:
    return count_mistakes(block, naming), turn.memory


def joined_values(block: Block) -> tuple[IntArray, IntArray, IntArray]:
    """Return source, item and a hash of all values of each source on each item, by item."""
    fact, source = block.fact_of_support, block.source_of_support.astype(np.int64)
    item = block.item_of_fact[fact]
    order = np.lexsort((fact, source, item))
    fact, item, source = fact[order], item[order], source[order]
    first = np.flatnonzero(np.append(True, (np.diff(item) != 0) | (np.diff(source) != 0)))
    mixed = (fact.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return source[first], item[first], np.add.reduceat(mixed, first)


def as_answers(block: Block, kind: Kind) -> Block:
    """Return the block with all values that a source claims of an item joined into one value."""
    source, item, answer = joined_values(block)
    order = np.lexsort((source, answer, item))
    answer, item, source = answer[order], item[order], source[order]
    is_new = np.append(True, (np.diff(item) != 0) | (answer[1:] != answer[:-1]))
    first = np.flatnonzero(is_new)
    return block.without_shares()._replace(
        first_fact_of_item=np.searchsorted(item[first], np.arange(block.n_items + 1)),
        first_support_of_fact=np.append(first, len(item)),
        source_of_support=source.astype(np.int32),
        known_of_fact=np.full(len(first), UNKNOWN, dtype=np.int8),
        label_of_fact=np.zeros(len(first), dtype=np.int32),
    )


def as_named_values(block: Block, kind: Kind) -> Block:
    """Return the block with the strongest claims; binary facts become items with two values."""
    if kind == "numeric":
        return _with_known_values(block)
    if kind != "binary":
        return block.strongest_claims()[0]
    n_items, known = block.n_items, block.known_of_fact
    value_of_voice = 2 * block.item_of_voice + block.affirms_most
    order = np.argsort(value_of_voice, kind="stable")
    values, first_support = np.unique(value_of_voice[order], return_index=True)
    known_of_value = known[values // 2]
    is_right = known_of_value == values % 2
    return block.without_shares()._replace(
        first_fact_of_item=np.searchsorted(values, 2 * np.arange(n_items + 1)),
        first_support_of_fact=np.append(first_support, len(order)),
        source_of_support=block.source_of_voice[order],
        known_of_fact=np.where(known_of_value == UNKNOWN, UNKNOWN, is_right.astype(np.int8)),
        label_of_fact=(values % 2).astype(np.int32),
    )


def _with_known_values(block: Block) -> Block:
    """Return numbers as two values: equal to the known number, or not."""
    known = np.repeat(block.known_number_of_item, block.n_facts_of_item)
    is_right = (block.number_of_fact == known).astype(np.int8)
    return block._replace(known_of_fact=np.where(np.isnan(known), UNKNOWN, is_right))
