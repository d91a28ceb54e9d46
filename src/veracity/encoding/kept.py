"""Claims that a fit keeps: found by item, and merged with newer claims on the same items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import UNKNOWN, Block, BoolArray, FloatArray, IntArray, voices_of
from veracity.encoding.names import Places, marks_of
from veracity.encoding.partitions import (
    CLAIMS_PER_BLOCK,
    Make,
    MarkedItems,
    Partition,
    Partitions,
    PartitionsInMemory,
    tables_in_chunks,
)
from veracity.io.lazy import LazySequence, LazyTable
from veracity.kernels.reference import begins_of
from veracity.reading.roles import numbers_in

NONE_GONE = np.empty(0, dtype=np.int64)


class Piece(NamedTuple):
    """Partition of kept claims, without the items that later pieces have anew."""

    parts: Partitions
    number: int
    gone: IntArray = NONE_GONE
    clock: float = 0.0
    """Half-lives that had passed when its claims were counted."""

    @property
    def block(self) -> Block:
        """Return its claims."""
        block = self.parts.blocks[self.number]
        return block.select(self._left(block)) if len(self.gone) else block

    @property
    def partition(self) -> Partition:
        """Return its claims with their names."""
        part = self.parts[self.number]
        return part.select(self._left(part.block)) if len(self.gone) else part

    def _left(self, block: Block) -> BoolArray:
        is_left = np.ones(block.n_items, dtype=np.bool_)
        is_left[self.gone] = False
        return is_left


class KeptBlocks(LazySequence[Block]):
    """Blocks of kept claims, numbered in their order."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces

    def __len__(self) -> int:
        return len(self._pieces)

    def at(self, number: int) -> Block:
        """Return the block at a place."""
        return self._pieces[number].block._replace(number=number)


class KeptParts(LazySequence[Partition]):
    """Partitions of kept claims: as they were first encoded, but for items that came again.

    Nothing old is copied in an update: the items that came again are left out of their partition
    when it is used, and stand with all their claims in the last piece.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(pieces)

    @classmethod
    def of(cls, parts: Partitions, clocks: Sequence[float] = ()) -> KeptParts:
        """Return partitions as they are."""
        if isinstance(parts, KeptParts):
            return parts
        of_part = clocks or [0.0] * len(parts)
        return cls([Piece(parts, n, clock=clock) for n, clock in enumerate(of_part)])

    @property
    def blocks(self) -> Sequence[Block]:
        """Return all claims, without names of items."""
        return KeptBlocks(self.pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def at(self, number: int) -> Partition:
        """Return the partition at a place."""
        part = self.pieces[number].partition
        return Partition(part.block._replace(number=number), part.items, part.values)

    def with_blocks(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Replace the blocks by those with the known truths."""
        return PartitionsInMemory(self).with_blocks(blocks)

    def with_merged(self, blocks: Iterable[Block]) -> PartitionsInMemory:
        """Replace the blocks by those in which values are merged."""
        return PartitionsInMemory(self).with_merged(blocks)

    def renumbered(self, places: Places) -> PartitionsInMemory:
        """Replace the numbers that are shared across blocks."""
        return PartitionsInMemory(self).renumbered(places)

    def with_any(self, items: MarkedItems) -> Iterator[Partition]:
        """Yield the partitions that may have some of these items."""
        for number, block in enumerate(self.blocks):
            if items.has(block.mark_of_item).any():
                yield self[number]

    def tables(
        self, make: Make, answers: Sequence[Any], names: Mapping[str, int]
    ) -> list[LazyTable]:
        """Return tables that are made of all partitions, part by part."""
        return tables_in_chunks(self, make, answers, names)

    def without(self, items: MarkedItems) -> tuple[KeptParts, list[tuple[Partition, float]]]:
        """Take items out; also return them with their claims, and the clock of each partition."""
        pieces, taken = [], []
        for piece in self.pieces:
            block = piece.parts.blocks[piece.number]
            if not items.has(block.mark_of_item).any():
                pieces.append(piece)
                continue  # no name is read
            part = piece.parts[piece.number]
            is_meant = part.marks(items)
            is_meant[piece.gone] = False
            if is_meant.any():
                taken.append((part.select(is_meant), piece.clock))
            gone = np.append(piece.gone, np.flatnonzero(is_meant))
            if len(gone) < block.n_items:
                pieces.append(piece._replace(gone=gone))
        return KeptParts(pieces), taken

    def with_parts(self, parts: Iterable[Partition], clock: float) -> KeptParts:
        """Add partitions; small ones of the same clock are joined."""
        pieces = list(self.pieces)
        for part in parts:
            own, last = part, pieces[-1] if pieces else None
            if last is not None and last.clock == clock and len(last.parts) == 1:
                n_claims = len(last.block.source_of_voice) + len(part.block.source_of_voice)
                if n_claims <= CLAIMS_PER_BLOCK:
                    own = Partition.joined([pieces.pop().partition, part])
            pieces.append(Piece(PartitionsInMemory([own]), 0, clock=clock))
        return KeptParts(pieces)


# --- newer claims on the same items ---------------------------------------------------------------


class Merged(NamedTuple):
    """Items with all their claims, and the numbers of old claims that were replaced and withdrawn.

    There is no partition if all claims were withdrawn. `n_found` counts the withdrawn claims that
    are among the old ones, replaced or not.
    """

    part: Partition | None
    n_replaced: int
    n_withdrawn: int
    n_found: int


def merged_claims(
    old: Partition, new: Partition | None, withdrawn: Partition | None, n_sources: int
) -> Merged:
    """Merge old and new claims on the same items.

    A new word of a source on an item replaces all that it said of this item, and a withdrawn one
    removes it. Sources and labels of all three have the same numbers. Known truths stay; but where
    no claim names the known one, a new value may, so the item counts as unknown.
    """
    given = [part for part in (old, new) if part is not None]
    keys = old.items.columns
    items = pl.concat([part.items for part in given]).unique().sort(keys)
    item_of = [_places(part.items, items) for part in given]
    facts, fact_of, texts = _facts(given, item_of)
    item_of_fact = facts["item"].to_numpy()

    # the pair of an item and a source is one number
    of_support = [
        item[part.block.item_of_fact][part.block.fact_of_support] * n_sources
        + part.block.source_of_support
        for part, item in zip(given, item_of, strict=True)
    ]
    of_voice = [
        item[part.block.item_of_voice] * n_sources + part.block.source_of_voice
        for part, item in zip(given, item_of, strict=True)
    ]
    taken_back = NONE_GONE
    if withdrawn is not None:
        item = _places(withdrawn.items, items)[withdrawn.block.item_of_voice]
        source = withdrawn.block.source_of_voice
        taken_back = (item * n_sources + source)[(item >= 0) & (source < n_sources)]
    is_replaced = np.isin(of_voice[0], np.concatenate([NONE_GONE, *of_voice[1:]]))
    is_withdrawn = np.isin(of_voice[0], taken_back) & ~is_replaced
    out = of_voice[0][is_replaced | is_withdrawn]

    def left(pairs: Sequence[IntArray], *others: Sequence[Any]) -> list[Any]:
        """Return the old rows that stay and the new ones, of each column."""
        stays = ~np.isin(np.concatenate(pairs), out)
        stays[len(pairs[0]) :] = True
        return [np.concatenate(column)[stays] for column in (pairs, *others)]

    has_shares = old.block.has_shares
    fact_of_support = [
        own[part.block.fact_of_support] for part, own in zip(given, fact_of, strict=True)
    ]
    shares = [
        _shares(part.block.share_of_support, own)
        for part, own in zip(given, of_support, strict=True)
    ]
    pair, fact, share = left(of_support, fact_of_support, shares)
    shares = [
        _shares(part.block.share_of_voice, own) for part, own in zip(given, of_voice, strict=True)
    ]
    spoken, voice_share = left(of_voice, shares)
    of_old = (is_replaced, is_withdrawn, np.isin(of_voice[0], taken_back))
    n_removed = [int(np.count_nonzero(own)) for own in of_old]
    if not len(spoken):
        return Merged(None, *n_removed)
    by_item = np.argsort(spoken)
    spoken, voice_share = spoken[by_item], voice_share[by_item]
    is_spoken = np.zeros(len(items), dtype=np.bool_)
    is_spoken[spoken // n_sources] = True
    is_binary = old.values is None
    is_fact = is_spoken[item_of_fact] if is_binary else np.bincount(fact, minlength=len(facts)) > 0
    item_place, fact_place = np.cumsum(is_spoken) - 1, np.cumsum(is_fact) - 1

    order = np.lexsort((pair % n_sources, fact))
    fact, source = fact_place[fact[order]], (pair[order] % n_sources).astype(np.int32)
    first_fact = begins_of(np.bincount(item_place[item_of_fact[is_fact]]))
    first_support = begins_of(np.bincount(fact, minlength=int(is_fact.sum())))
    if is_binary or has_shares:
        first_voice = begins_of(np.bincount(item_place[spoken // n_sources]))
        voices = first_voice, (spoken % n_sources).astype(np.int32)
    else:
        voices = voices_of(first_fact, first_support, source, n_sources)
    facts, items = facts.filter(is_fact), items.filter(is_spoken)
    block = Block(
        first_fact, first_support, source, *voices,
        known_of_fact=facts["known"].to_numpy(),
        label_of_fact=facts["label"].to_numpy(),
        attribute_of_item=_of_items("attribute_of_item", given, item_of, is_spoken),
        mark_of_item=marks_of(items),
        kind_of_item=_of_items("kind_of_item", given, item_of, is_spoken),
    )  # fmt: skip
    if has_shares:
        block = block._replace(share_of_support=share[order], share_of_voice=voice_share)
    if old.block.is_numeric:
        known = _of_items("known_number_of_item", given, item_of, is_spoken)
        block = block._replace(
            number_of_fact=facts["number"].to_numpy(), known_number_of_item=known
        )
    values = None if is_binary else texts.filter(is_fact)
    return Merged(Partition(block, items, values), *n_removed)


def _facts(
    given: Sequence[Partition], item_of: Sequence[IntArray]
) -> tuple[pl.DataFrame, list[IntArray], pl.Series]:
    """Return all facts, sorted by item and value, the number of each of a part's, and the values.

    Values that are numbers are compared as such.
    """
    values = [part.values for part in given if part.values is not None]
    texts = pl.concat(values) if values else pl.Series([], dtype=pl.String)
    numbers = numbers_in(texts) if len(texts) else None
    columns = [
        {
            "item": item[part.block.item_of_fact],
            "label": part.block.label_of_fact,
            "known": part.block.known_of_fact,
            "number": part.block.number_of_fact if part.block.is_numeric else np.nan,
            "is_new": number > 0,
        }
        for number, (part, item) in enumerate(zip(given, item_of, strict=True))
    ]
    rows = pl.concat([pl.DataFrame(own) for own in columns])
    rows = rows.with_columns(
        value=pl.lit("") if not len(texts) else (texts if numbers is None else numbers)
    )
    rows = rows.with_row_index("row")
    facts = (
        rows.group_by("item", "value").agg(pl.all().sort_by("row").first()).sort("item", "value")
    )
    is_known = (pl.col("known") != UNKNOWN).any().over("item")
    has_true, has_new = ((pl.col("known") == 1).any(), pl.col("is_new").any())
    is_open = ~is_known | (~has_true.over("item") & has_new.over("item"))
    known = pl.when(is_open).then(UNKNOWN).otherwise(pl.max_horizontal("known", 0))
    facts = facts.with_columns(known=known.cast(pl.Int8) if len(texts) else pl.col("known"))
    numbered = facts.select("item", "value", fact=pl.int_range(pl.len()))
    joined = rows.join(numbered, on=["item", "value"], maintain_order="left")
    bounds = np.cumsum([part.block.n_facts for part in given])[:-1]
    of_rows = np.split(joined["fact"].to_numpy(), bounds)
    return facts, of_rows, texts.gather(facts["row"]) if len(texts) else texts


def _places(items: pl.DataFrame, among: pl.DataFrame) -> IntArray:
    """Return the row of each item in another table, -1 where it is not there."""
    numbered = among.with_row_index("place")
    on = among.columns
    found = items.join(numbered, on=on, how="left", nulls_equal=True, maintain_order="left")
    return found["place"].cast(pl.Int64).fill_null(-1).to_numpy()


def _shares(shares: FloatArray, rows: IntArray) -> FloatArray:
    return shares if len(shares) else np.ones(len(rows))


def _of_items(
    name: str, given: Sequence[Partition], item_of: Sequence[IntArray], is_left: BoolArray
) -> Any:
    """Return an array over the items that are left, from whichever part has the item, old first."""
    if not len(getattr(given[0].block, name)):
        return getattr(given[0].block, name)
    found = np.zeros(len(is_left), dtype=getattr(given[0].block, name).dtype)
    for part, item in zip(reversed(given), reversed(item_of), strict=True):
        found[item] = getattr(part.block, name)
    return found[is_left]
