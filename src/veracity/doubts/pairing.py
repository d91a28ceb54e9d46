"""Pairs of sources that share what few others say: the suspicious ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.algorithms.base import Turn
from veracity.claims.block import SAME, UNKNOWN, Block, FloatArray, IntArray
from veracity.claims.encoded import Encoded
from veracity.claims.schema import Kind
from veracity.dependence.pairs import (
    PAIR_RULE,
    Pairs,
    choose_pairs,
    count_shared,
    links_of,
    nameless_rank,
    signature_of_source,
)
from veracity.engines import Held, Local

USUAL_DIFFERENCES = 10.0
"""So many differences every pair is taken to have beside those seen: a few claims prove nothing."""

MOST_PAIRS = 1_000
"""How many pairs are told of, at most."""


def some_items(blocks: Sequence[Block], most_claims: int) -> list[Block]:
    """Items drawn at random, always the same ones, with about so many claims in all."""
    share = most_claims / sum(len(block.source_of_support) for block in blocks)
    return [block.select(block.drawn(share)) for block in blocks]


def pairs_table(
    encoded: Encoded, blocks: list[Block], *, has_truth: bool, threads: int | None = None
) -> pl.DataFrame:
    """Pairs of sources by how much they share of what few others say.

    Of a shared value, the share of the item's other sources that do not name it is unusual. The sum
    of it, over itself plus the number of differences (and `USUAL_DIFFERENCES`), is how suspicious a
    pair is.
    """
    with Local(threads=threads).hold(blocks) as held:
        pairs = _pairs_to_look_at(held, encoded.names.n_sources)
        totals = held.sweep(_look_at_pairs, (pairs, encoded.names.n_sources), Turn())
    n_shared, different, unusual, shared_false = totals
    columns: dict[str, Any] = {
        "source": encoded.names.sources.gather(pairs.source),
        "other": encoded.names.sources.gather(pairs.other),
        "suspicion": unusual / (unusual + different + USUAL_DIFFERENCES),
        "shared": n_shared,
        "unusual": unusual,
        "different": different.astype(np.int64),
    }
    if has_truth:
        columns["shared_false"] = shared_false.astype(np.int64)
    suspicion = pl.col("suspicion").round(SAME)
    ranked = pl.DataFrame(columns).sort(suspicion, descending=True, maintain_order=True)
    return ranked.head(MOST_PAIRS)


def _pairs_to_look_at(held: Held, n_sources: int) -> Pairs:
    """The pairs that share what few others say."""
    n_claims = held.sweep(_count_claims, n_sources, Turn())[0]
    is_able = n_claims >= PAIR_RULE.min_shared
    shared, signature = held.sweep(_count_shared, is_able, Turn())
    return choose_pairs(shared, nameless_rank(n_claims, signature), PAIR_RULE)


def _count_claims(block: Block, n_sources: int, turn: Turn) -> tuple[Any, Any]:
    counts = np.bincount(block.source_of_support, minlength=n_sources)
    return (counts.astype(np.float64),), turn.memory


def _count_shared(block: Block, is_able: Any, turn: Turn) -> tuple[Any, Any]:
    signature = signature_of_source(block, len(is_able))
    return (count_shared(block, is_able, PAIR_RULE), signature), turn.memory


def _look_at_pairs(block: Block, state: tuple[Pairs, int], turn: Turn) -> tuple[Any, Any]:
    """What pairs share: how much, how often they differ, how unusual and how false it is."""
    pairs, n_sources = state
    links = links_of(block, pairs, n_sources)
    supporters, voices = block.n_supports_of_fact, block.n_voices_of_fact
    unusual_of_fact = np.where(voices > 2, (voices - supporters) / np.maximum(voices - 2, 1), 0.0)
    fact_of_link = block.fact_of_support[links.support_of_source]
    n_pairs, pair = len(pairs.source), links.pair_of_link
    unusual = _sum(pair, unusual_of_fact[fact_of_link], n_pairs)
    false = _sum(pair, block.known_of_fact[fact_of_link] == 0, n_pairs)
    return (links.n_links, links.different, unusual, false), turn.memory


def _sum(group: IntArray, weight: NDArray[Any], n_groups: int) -> FloatArray:
    return np.bincount(group, weight, n_groups).astype(np.float64)


def as_named_values(block: Block, kind: Kind) -> Block:
    """The block, with what each source says most; binary facts as items whose values are two."""
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
    """Numbers as values, which are equal to what is known, or not."""
    known = np.repeat(block.known_number_of_item, block.n_facts_of_item)
    is_right = (block.number_of_fact == known).astype(np.int8)
    return block._replace(known_of_fact=np.where(np.isnan(known), UNKNOWN, is_right))
