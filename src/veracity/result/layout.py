"""The claims of a result as tables, and the tables as claims again: nothing is encoded twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from veracity.encoding.block import Block, IntArray, voices_of
from veracity.encoding.names import Names
from veracity.encoding.numbering import marks_of
from veracity.encoding.partitions import Encoded, Partition
from veracity.reading.schema import Kind, keys_of


def saved_tables(encoded: Encoded) -> tuple[Any, Any]:
    """The claims as they are saved: those of `claims_of_block`, and those of `_layout_of_block`."""
    first = np.cumsum([0, *encoded.n_facts_of_block])
    n_rows = {"claims": encoded.n_claims, "layout": int(first[-1])}
    claims, layout = encoded.parts.tables(SavedOfPart(encoded.kind), first[:-1].tolist(), n_rows)
    return claims, layout


@dataclass(frozen=True)
class SavedOfPart:
    """Makes the claims or the layout of a part, of which it is told the row of the first fact."""

    kind: Kind

    def __call__(self, part: Partition, first_fact: int, name: str) -> pl.DataFrame:
        """The claims of a part, or its layout."""
        if name == "layout":
            return _layout_of_block(part.block)
        return claims_of_block(part.block, first_fact, self.kind)


def claims_of_block(block: Block, first_fact: int, kind: Kind) -> pl.DataFrame:
    """One row per claim: the row of its fact in the facts, and of its source in the sources.

    Sorted by fact. Binary claims say whether the fact is called true. Where claims count by their
    shares, these are told; of a binary claim also how much of it calls the fact true.
    """
    if kind != "binary":
        fact = _repeated(block.n_supports_of_fact, first_fact)
        claims = pl.DataFrame({"fact": fact, "source": block.source_of_support.astype(np.uint32)})
        return claims.with_columns(share=block.share_of_support) if block.has_shares else claims
    fact = _repeated(block.n_voices_of_item, first_fact)
    source = block.source_of_voice.astype(np.uint32)
    claims = pl.DataFrame({"fact": fact, "source": source, "claim": block.affirms})
    if not block.has_shares:
        return claims
    affirmed = np.zeros(len(claims))
    affirmed[block.affirms] = block.share_of_support
    return claims.with_columns(share=block.share_of_voice, affirmed=affirmed)


def claims_of_part(part: Partition, sources: pl.Series, kind: Kind) -> pl.DataFrame:
    """One row per claim, with names: the item, what is claimed of it, and the source."""
    claims = claims_of_block(part.block, 0, kind)
    named = part.facts[claims["fact"]].with_columns(source=sources.gather(claims["source"]))
    return named.hstack(claims.drop("fact", "source"))


def _repeated(counts: np.ndarray[Any, Any], first: int) -> np.ndarray[Any, Any]:
    return np.repeat(np.arange(first, first + len(counts), dtype=np.uint32), counts)


def _layout_of_block(block: Block) -> pl.DataFrame:
    """One row per fact: the number of its value, and what is known of it, or of its item."""
    known_number = np.full(block.n_facts, np.nan)
    if block.is_numeric:
        known_number = block.known_number_of_item[block.item_of_fact]
    return pl.DataFrame(
        {
            "label": block.label_of_fact.astype(np.int32),
            "known": block.known_of_fact.astype(np.int8),
            "known_number": known_number,
        }
    )


def blocks_table(encoded: Encoded) -> pl.DataFrame:
    """One row per block: how many facts and claims it has, which stand together in their tables."""
    sizes = {"facts": encoded.n_facts_of_block, "claims": encoded.n_claims_of_block}
    return pl.DataFrame(sizes, schema={"facts": pl.Int64, "claims": pl.Int64})


def part_from(
    facts: pl.DataFrame, saved: tuple[pl.DataFrame, pl.DataFrame], names: Names, kind: Kind
) -> Partition:
    """The claims that were saved, as one block; see `soundness` for whether they can be.

    The names may be more than those of these claims: what was learned speaks of others, too.
    """
    claims, layout = saved
    keys = facts.select(keys_of(facts))
    item_of_fact = keys.select(pl.struct(keys.columns).rle_id()).to_series().to_numpy()
    first_fact = np.append(
        np.flatnonzero(np.append(True, np.diff(item_of_fact) > 0)), len(facts)
    ).astype(np.int64)
    items = keys[first_fact[:-1]]
    attribute_of_item: IntArray = np.zeros(len(items), dtype=np.int32)
    if "attribute" in items.columns:
        attribute_of_item = _places(items["attribute"], names.attributes)
    block = _block(first_fact, claims, kind)._replace(
        known_of_fact=layout["known"].to_numpy(),
        label_of_fact=layout["label"].to_numpy(),
        attribute_of_item=attribute_of_item,
        mark_of_item=marks_of(items),
    )
    if kind == "numeric":
        block = block._replace(
            number_of_fact=facts["value"].cast(pl.Float64).to_numpy(),
            known_number_of_item=layout["known_number"].to_numpy()[first_fact[:-1]],
        )
    values = facts["value"] if "value" in facts.columns else None
    return Partition(block, items, values)


def _block(first_fact: np.ndarray[Any, Any], claims: pl.DataFrame, kind: Kind) -> Block:
    """The claims, laid out: supports by fact, and the voices of each item."""
    n_facts = int(first_fact[-1])
    fact, source = claims["fact"].to_numpy(), claims["source"].to_numpy().astype(np.int32)
    is_support = claims["claim"].to_numpy() if kind == "binary" else np.ones(len(fact), np.bool_)
    first_support = np.searchsorted(fact[is_support], np.arange(n_facts + 1))
    source_of_support, n_sources = source[is_support], int(source.max()) + 1
    if kind == "binary":  # a claim is a voice, and a fact an item
        voices: tuple[IntArray, IntArray] = np.searchsorted(fact, np.arange(n_facts + 1)), source
    else:
        voices = voices_of(first_fact, first_support, source_of_support, n_sources)
    nothing = np.zeros(0, dtype=np.int32)
    block = Block(first_fact, first_support, source_of_support, *voices, nothing, nothing, nothing)
    if "share" not in claims.columns:
        return block
    share = claims["share"].to_numpy(writable=True)
    if kind == "binary":
        affirmed = claims["affirmed"].to_numpy()[is_support]
        return block._replace(share_of_support=affirmed, share_of_voice=share)
    if block.source_of_voice is source_of_support:
        return block._replace(share_of_support=share, share_of_voice=share)
    spoken = block.item_of_fact[fact] * n_sources + source
    _, first, voice = np.unique(spoken, return_index=True, return_inverse=True)
    of_voice = np.bincount(voice, share)[np.argsort(first)]
    return block._replace(share_of_support=share, share_of_voice=np.minimum(of_voice, 1.0))


def _places(attributes: pl.Series, names: pl.Series) -> IntArray:
    """The number of each attribute among the names."""
    numbered = names.to_frame("name").with_row_index("number")
    places = attributes.to_frame("name").join(
        numbered, on="name", how="left", maintain_order="left"
    )
    if places["number"].null_count():
        raise ValueError("attributes.parquet does not go with the facts")
    return places["number"].to_numpy().astype(np.int32)
