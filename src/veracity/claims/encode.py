"""Claims become integer arrays; the names stay behind, to be put back on the results.

Batch by batch, names are numbered by their hashes in the order they come, and each name is kept
once; then the names are sorted and renumbered. So sources, items and the values of an item are
numbered in sorted order, and the arrays do not depend on the order of the rows or on how they
were spread over files.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.claims.block import UNKNOWN, Block, BoolArray, IntArray, Names, Places
from veracity.claims.numbering import Numbered, marks_of, places
from veracity.claims.one_word import settled_batches
from veracity.claims.parting import LocalNames, values_of
from veracity.claims.read import ClaimsStream
from veracity.claims.schema import ClaimsTable, Kind, numbers_in
from veracity.claims.shares import affirmed_voices, with_shares
from veracity.errors import NoClaims
from veracity.io.memory import claims_within_reach
from veracity.kernels import Numbers
from veracity.kernels.loading import FEW, kernels, kernels_for
from veracity.printing import counted
from veracity.workers import in_order

__all__ = [
    "CLAIMS_PER_BLOCK",
    "Draw",
    "Encoded",
    "Make",
    "Part",
    "PartOfRows",
    "Parts",
    "PartsInMemory",
    "check_some",
    "encode",
    "encode_part",
    "notes_of",
]

Counted = TypeVar("Counted")

CLAIMS_PER_BLOCK = 1 << 20
"""Where to cut: large enough to keep a thread busy, and the same whatever the number of threads."""

CLAIMS_PARTED = 1 << 19
"""So many claims, or a batch with more, are brought to the parts in which they are laid out."""

CLAIMS_LAID_OUT = 1 << 17
"""So many claims are laid out at a time, which stay in a processor's cache."""


@dataclass(frozen=True)
class Part:
    """A block with the names that belong to it alone: those of its items, and what its facts say.

    `values` is None for binary facts, which are true or false. A value is spelt as most claims of
    its item spell it.
    """

    block: Block
    items: pl.DataFrame
    values: pl.Series | None

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact: its item, and its value if it has one."""
        facts = self.items[self.block.item_of_fact]
        return facts if self.values is None else facts.with_columns(value=self.values)

    def select(self, is_meant: BoolArray) -> Part:
        """The items that are meant, numbered from zero."""
        of_fact = np.repeat(is_meant, self.block.n_facts_of_item)
        values = None if self.values is None else self.values.filter(of_fact)
        return Part(self.block.select(is_meant), self.items.filter(is_meant), values)

    def select_with(self, answer: Any, is_meant: BoolArray) -> tuple[Part, Any]:  # noqa: ANN401
        """The items that are meant, and the answer to them: of facts, or numbers of items."""
        some = self.select(is_meant)
        if isinstance(answer, tuple):
            return some, tuple(of_item[is_meant] for of_item in answer)
        if answer is None:
            return some, None
        return some, answer[np.repeat(is_meant, self.block.n_facts_of_item)]


@dataclass(frozen=True)
class Draw:
    """Items drawn at random, always the same ones: a share of all, and of those that are known."""

    share: float
    share_known: float = 0.0

    def __call__(self, part: Part) -> BoolArray:
        """Which items of a part are drawn."""
        block = part.block
        is_drawn = block.drawn(self.share, least=0)
        if self.share_known > self.share:
            is_drawn |= block.is_known & block.drawn(self.share_known, least=0)
        return is_drawn


Make = Callable[[Part, Any], tuple[pl.DataFrame, ...]]
"""Makes tables from a part and what was found in it."""


class Parts(Protocol):
    """Parts wherever they are. Iterating takes them one at a time."""

    @property
    def blocks(self) -> Sequence[Block]:
        """All that is claimed, without names of items."""
        ...

    def with_blocks(self, blocks: Iterable[Block]) -> Parts:
        """The same parts, with blocks to which what is known was added."""
        ...

    def renumbered(self, places: Places) -> Parts:
        """The same parts, with other numbers for what is numbered across blocks."""
        ...

    def tables(self, make: Make, answers: Sequence[Any], names: Mapping[str, int]) -> list[Any]:
        """The tables that are made of all parts; `names` says how many rows each has, about."""
        ...

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Part]: ...
    def __getitem__(self, number: int) -> Part: ...


class PartsInMemory(tuple[Part, ...]):
    """Parts in memory."""

    __slots__ = ()

    @property
    def blocks(self) -> list[Block]:
        """All that is claimed, without names of items."""
        return [part.block for part in self]

    def with_blocks(self, blocks: Iterable[Block]) -> PartsInMemory:
        """The same parts, with blocks to which what is known was added."""
        pairs = zip(self, blocks, strict=True)
        return PartsInMemory(replace(part, block=block) for part, block in pairs)

    def renumbered(self, places: Places) -> PartsInMemory:
        """The same parts, with other numbers for what is numbered across blocks."""
        return self.with_blocks(block.renumbered(*places) for block in self.blocks)

    def tables(
        self, make: Make, answers: Sequence[Any], names: Mapping[str, int]
    ) -> list[pl.DataFrame]:
        """The tables that are made of all parts."""
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            made = list(pool.map(make, self, answers))
        return [pl.concat([tables[place] for tables in made]) for place in range(len(names))]


@dataclass(frozen=True)
class Encoded:
    """Claims as complete blocks, with the names beside them.

    The parts are in memory, or wherever else an engine has put them.
    """

    kind: Kind
    names: Names
    parts: Parts
    notes: tuple[str, ...] = field(default=())

    @property
    def blocks(self) -> Sequence[Block]:
        """All that is claimed, without names of items; they are taken one at a time."""
        return self.parts.blocks

    @property
    def has_shares(self) -> bool:
        """Whether claims count by their shares: they are samples, or have weights."""
        return self.example.block.has_shares

    @property
    def n_items(self) -> int:
        """How many items are described."""
        return sum(block.n_items for block in self.blocks)

    @property
    def n_facts(self) -> int:
        """How many facts are claimed."""
        return sum(block.n_facts for block in self.blocks)

    @property
    def n_known(self) -> int:
        """Of how many items the truth is known."""
        return sum(int(np.count_nonzero(block.is_known)) for block in self.blocks)

    @property
    def n_facts_of_block(self) -> list[int]:
        """How many facts each block has."""
        return [block.n_facts for block in self.blocks]

    @functools.cached_property
    def items_of_source(self) -> IntArray:
        """Of how many items each source speaks."""
        n = self.names.n_sources
        counts = [np.bincount(block.source_of_voice, minlength=n) for block in self.blocks]
        return np.asarray(np.sum(counts, axis=0))

    def by_block(self, number_of_fact: NDArray[Any]) -> list[NDArray[Any]]:
        """Numbers of all facts, as those of each block."""
        bounds = np.cumsum(self.n_facts_of_block)[:-1]
        return np.split(number_of_fact, bounds)

    @property
    def n_claims_of_block(self) -> list[int]:
        """How many claims each block has, as a user would count them."""
        if self.kind == "binary":
            return [len(block.source_of_voice) for block in self.blocks]
        return [len(block.source_of_support) for block in self.blocks]

    @property
    def n_claims(self) -> int:
        """How many claims were made, as a user would count them."""
        return sum(self.n_claims_of_block)

    @property
    def items(self) -> pl.DataFrame:
        """One row per item: its entity and attribute, or its fact."""
        return _together([part.items for part in self.parts])

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact, in the order of the blocks."""
        return _together([part.facts for part in self.parts])

    @property
    def is_elsewhere(self) -> bool:
        """Whether the parts are where this machine cannot reach them one by one."""
        return False

    def here(
        self,
        choose: Callable[[Part], BoolArray] | None = None,
        answers: Any = None,  # noqa: ANN401 - as the engine keeps them
    ) -> tuple[Encoded, Any]:
        """The same on this machine, of all items or of those that are chosen, with the answers."""
        return self, answers

    def summed(self, look: Callable[[Block, Any], Any], answers: Iterable[Any]) -> Any:  # noqa: ANN401
        """What a look finds in all blocks and the answers to them, added up."""
        found = (look(*pair) for pair in zip(self.blocks, answers, strict=True))
        return functools.reduce(operator.add, found)

    def drawn(self, most_claims: int) -> Encoded:
        """Items with about so many claims at most, and with known truth about as many again."""
        claims_known = self.n_known * self.n_claims / max(self.n_items, 1)
        share_known = most_claims / max(claims_known, 1.0)
        return self._chosen(Draw(self._share_with(most_claims), share_known), None)[0]

    def drawn_with(self, answers: Any, most_claims: int) -> tuple[Encoded, Any]:  # noqa: ANN401
        """Items with about so many claims at most, and the answers to their facts."""
        return self._chosen(Draw(self._share_with(most_claims)), answers)

    def within_reach(self, answers: Any = None) -> tuple[Encoded, Any, tuple[str, ...]]:  # noqa: ANN401
        """The same on this machine with its answers, and what is to be known of it.

        Where there is no room for all that is on disk or on executors, it is about items drawn at
        random, always the same ones.
        """
        most = claims_within_reach()
        if isinstance(self.parts, PartsInMemory) or self.n_claims <= most:
            return *self.here(None, answers), ()
        if answers is None:
            some, found = self.drawn(most // 2), None
        else:
            some, found = self.drawn_with(answers, most)
        note = (
            f"looked at {some.n_items:,} of {self.n_items:,} items, drawn at random: there is room "
            f"for about {most:,} of {self.n_claims:,} claims on this machine"
        )
        return some, found, (note,)

    def _share_with(self, most_claims: int) -> float:
        """The share of the items that has so many claims; that of one item, if it has more."""
        share = most_claims / max(self.n_claims, 1)
        return share if share >= 1.0 else max(share, (self.lowest_mark + 1) / 2**32)

    @property
    def lowest_mark(self) -> int:
        """By which the item is known that is drawn before all others."""
        return min(int(block.mark_of_item.min()) for block in self.blocks)

    def _chosen(self, draw: Draw, answers: Any) -> tuple[Encoded, Any]:  # noqa: ANN401
        """The items that are drawn, on this machine, with the answers to their facts."""
        if draw.share >= 1.0:
            return self, answers
        found = [
            part.select_with(answer, is_drawn)
            for part, answer in zip(self.parts, answers or [None] * len(self.parts), strict=True)
            if (is_drawn := draw(part)).any()
        ]
        parts = PartsInMemory(part for part, _ in found)
        return replace(self, parts=parts), [answer for _, answer in found]

    @property
    def example(self) -> Part:
        """A part, to know types and columns by."""
        return self.parts[0]

    @property
    def are_numbers(self) -> bool:
        """Whether all values are plain numbers, which are compared as such."""
        if self.kind == "binary":
            return False
        if len(self.names.labels):
            return numbers_in(self.names.labels) is not None
        return all(numbers_in(part.facts["value"]) is not None for part in self.parts)

    def knowing(
        self, look: Callable[[Part], tuple[Block, Counted]]
    ) -> tuple[Encoded, list[Counted]]:
        """The same, with blocks in which a look has marked what is known; and what it counted."""
        counts: list[Counted] = []

        def blocks() -> Iterator[Block]:
            for part in self.parts:
                block, count = look(part)
                counts.append(count)
                yield block

        return self.with_known(blocks()), counts

    def with_known(self, known: Iterable[Block]) -> Encoded:
        """The same, with blocks to which what is known was added."""
        return replace(self, parts=self.parts.with_blocks(known))

    def with_known_facts(self, known_of_fact: IntArray) -> Encoded:
        """The same, with what is known of each of all facts."""
        pairs = zip(self.blocks, self.by_block(known_of_fact), strict=True)
        return self.with_known(block._replace(known_of_fact=own) for block, own in pairs)

    def numbered_as(self, names: Names) -> Encoded:
        """The same, numbered as elsewhere; names that are new there come behind."""
        grown, places = names.grown(self.names)
        return replace(self, names=grown, parts=self.parts.renumbered(places))


def _together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def encode(
    table: ClaimsTable | ClaimsStream,
    tell: Callable[[str, int, int], None] | None = None,
    claims_per_block: int = CLAIMS_PER_BLOCK,
    threads: int | None = None,
) -> Encoded:
    """Number the sources, items and values of claims, all as one part that stays in memory.

    `tell` is told how far it is.

    >>> rows = pl.DataFrame({"source": ["b", "a"], "entity": ["x", "x"], "value": ["1", "2"]})
    >>> encoded = encode(ClaimsTable(rows, "categorical", "a doctest"))
    >>> encoded.blocks[0].source_of_support.tolist(), encoded.facts["value"].to_list()
    ([1, 0], ['1', '2'])
    """
    rows, settled = settled_batches(_told(table, tell), table.kind, table.origin, are_all=True)
    found = encode_part(rows, table.kind, table.n_rows, claims_per_block, threads=threads)
    notes = (*settled.notes, *notes_of(found.names, found.n_self_contradicting))
    check_some(found.parts, found.n_self_contradicting, table.origin)
    return Encoded(table.kind, found.names.names, PartsInMemory(found.parts), notes)


def _told(
    table: ClaimsTable | ClaimsStream, tell: Callable[[str, int, int], None] | None
) -> Iterator[pl.DataFrame]:
    """The batches of a table; it is told how many rows have been taken."""
    n_rows = 0
    for rows in table.batches():
        if tell is not None:
            tell("encoding", n_rows, table.n_rows)
        n_rows += len(rows)
        yield rows


def check_some(parts: Sized, n_self_contradicting: int, origin: str) -> None:
    """Refuse claims of which none is left."""
    if parts:
        return
    if n_self_contradicting:
        raise NoClaims(f"{origin}: every source contradicts itself on every fact")
    raise NoClaims(f"{origin}: no claim is left to discover anything from")


def notes_of(names: LocalNames, n_self_contradicting: int) -> tuple[str, ...]:
    """What a user should know of how claims were encoded."""
    if n_self_contradicting:
        return (
            f"{counted(n_self_contradicting, 'time')} a source calls one fact both true and false: "
            "both claims are left out",
        )
    if names.n_merged:
        merged = counted(names.n_merged, "spelling is", "spellings are")
        return (f"values are numbers and compared as such: {merged} merged with another",)
    return ()


# --- one part -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartOfRows:
    """What the rows of one part become: complete blocks, numbered by names of their own.

    There is no block where no claim is left.
    """

    names: LocalNames
    parts: tuple[Part, ...] = ()
    n_self_contradicting: int = 0


def encode_part(
    batches: Iterable[pl.DataFrame],
    kind: Kind,
    n_rows: int,
    claims_per_block: int = CLAIMS_PER_BLOCK,
    *,
    are_numbers: bool | None = None,
    threads: int | None = None,
) -> PartOfRows:
    """Encode rows by themselves: all that is said of their items has to be among them.

    A pure function, for any engine to call wherever the rows are.

    Parameters
    ----------
    batches
        The rows, checked and complete, as a `ClaimsStream` gives them.
    kind
        The kind of claims.
    n_rows
        About how many rows there are.
    claims_per_block
        About how many claims a block has.
    are_numbers
        Whether all values are plain numbers, those of other parts among them: then spellings of
        one number are one value. Found out if None, which is right if there are no other parts.
    threads
        How many threads work; all cores unless given.
    """
    if n_rows <= FEW:  # a batch costs the reference as much as all names before it
        whole = list(batches)
        batches = [pl.concat(whole)] if whole else []
    with ThreadPoolExecutor(threads or pl.thread_pool_size()) as pool:
        pool.submit(kernels_for, n_rows)  # they are loaded while the first rows are read
        numbered = Numbered(n_rows)
        for rows in batches:
            if len(rows):
                numbered.add(rows, pool)
        numbered.finish()
        if not numbered.n_claims:
            return PartOfRows(LocalNames.nothing())
        if kind == "binary":
            return _encode_binary(numbered, claims_per_block)
        return _encode_values(numbered, kind, pool, claims_per_block, are_numbers)


def _encode_values(
    numbered: Numbered,
    kind: Kind,
    pool: ThreadPoolExecutor,
    claims_per_block: int,
    are_numbers: bool | None,
) -> PartOfRows:
    sources, source_place = numbered.sources.sorted()
    items = numbered.items_sorted()
    spellings, spelling_place = numbered.values.sorted()
    value_of_spelling = values_of(spellings, are_numbers)
    by_value = np.argsort(value_of_spelling, kind="stable")  # spellings of a value side by side
    spellings, value_of_spelling = spellings.gather(by_value), value_of_spelling[by_value]
    spelling_place = places(by_value)[spelling_place]
    claims = items.number, numbered.values.numbers, numbered.sources.numbers
    place = items.place, spelling_place, source_place
    placed = zip(place, claims, strict=True) if numbered.weights else ()
    rows = [own[np.concatenate(numbers)] for own, numbers in placed]  # claims are not kept
    block, spelling_of_fact = _block(claims, place, len(items.items), value_of_spelling, pool)
    values = spellings.gather(spelling_of_fact)
    block = block._replace(
        label_of_fact=value_of_spelling[spelling_of_fact].astype(np.int32),
        attribute_of_item=items.attribute_of_item,
        mark_of_item=marks_of(items.items),
    )
    if numbered.weights:
        item, spelling, source = rows
        weight = pl.concat(numbered.weights).to_numpy()
        block = with_shares(block, (item, value_of_spelling[spelling], source), weight)
    if kind == "numeric":
        numbers = values.cast(pl.Float64).to_numpy(writable=True)
        unknown = np.full(block.n_items, np.nan)
        block = block._replace(number_of_fact=numbers, known_number_of_item=unknown)
    names = LocalNames(sources, spellings, value_of_spelling, items.attributes)
    return PartOfRows(names, _cut(Part(block, items.items, values), claims_per_block))


def _cut(whole: Part, claims_per_block: int) -> tuple[Part, ...]:
    """Parts of whole items, with about so many claims each."""
    block = whole.block
    size = block.first_voice_of_item + block.first_support_of_fact[block.first_fact_of_item]
    n_blocks = max(1, round(int(size[-1]) / (2 * claims_per_block)))
    if n_blocks == 1:
        return (whole,)
    cuts = np.searchsorted(size, np.linspace(0, size[-1], n_blocks + 1)[1:-1])
    bounds = sorted({0, *(int(cut) for cut in cuts), block.n_items})
    parts = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        a, b = (int(block.first_fact_of_item[item]) for item in (first, last))
        values = None if whole.values is None else whole.values[a:b]
        own = block.part(first, last, number)
        parts.append(Part(own, whole.items[first:last], values))
    return tuple(parts)


def _in_portions(numbers: tuple[list[IntArray], ...]) -> Iterator[tuple[IntArray, ...]]:
    """The numbers of all rows, some rows at a time; those that were taken are not kept."""
    while numbers[0]:
        n_batches = n_rows = 0
        while n_batches < len(numbers[0]) and n_rows < CLAIMS_PARTED:
            n_rows += len(numbers[0][n_batches])
            n_batches += 1
        portion = tuple(np.concatenate(of_column[:n_batches]) for of_column in numbers)
        for of_column in numbers:
            del of_column[:n_batches]
        yield portion


def _block(
    claims: tuple[list[IntArray], ...],
    place: tuple[IntArray, ...],
    n_items: int,
    value_of_spelling: IntArray,
    pool: ThreadPoolExecutor,
) -> tuple[Block, IntArray]:
    """Lay out numbered claims, part by part; also give the usual spelling of each fact.

    Claims are the numbers of items, spellings and sources, batch by batch, and are not kept;
    `place` has the place of every such number.
    """
    n_claims = sum(map(len, claims[0]))
    items_per_part = max(1, n_items * CLAIMS_LAID_OUT // n_claims)

    def parted(numbers: tuple[IntArray, ...]) -> tuple[IntArray, IntArray, IntArray]:
        first, item, key = kernels.part_claims(*map(Numbers, numbers, place), items_per_part)
        return first, item, key

    portions = list(in_order(parted, _in_portions(claims), pool, pl.thread_pool_size()))

    def lay_out(part: int) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...]]:
        own = [slice(first[part], first[part + 1]) for first, _, _ in portions]
        item = np.concatenate([of[rows] for rows, (_, of, _) in zip(own, portions, strict=True)])
        key = np.concatenate([of[rows] for rows, (_, _, of) in zip(own, portions, strict=True)])
        first_item = part * items_per_part
        n_own = min(items_per_part, n_items - first_item)
        found = kernels.lay_out(item - np.int32(first_item), key, value_of_spelling, n_own)
        return found, kernels.find_voices(*found[:3])

    n_parts = -(-n_items // items_per_part)
    laid, voices = zip(*pool.map(lay_out, range(n_parts)), strict=True)
    first_fact, first_support, sources, spellings = zip(*laid, strict=True)
    first_fact_of_item = _joined(first_fact)
    first_support_of_fact = _joined(first_support)
    source_of_support = np.concatenate(sources)
    if sum(len(own) for _, own in voices) == len(source_of_support):
        # nobody names two values of one item: a support is a voice
        first_voice_of_item = first_support_of_fact[first_fact_of_item]
        source_of_voice = source_of_support
    else:
        first_voice_of_item = _joined([first for first, _ in voices])
        source_of_voice = np.concatenate([own for _, own in voices])
    block = Block(
        first_fact_of_item,
        first_support_of_fact,
        source_of_support,
        first_voice_of_item,
        source_of_voice,
        *_nothing_known(len(first_support_of_fact) - 1, n_items),
    )
    return block, np.concatenate(spellings)


def _joined(firsts: Iterable[IntArray]) -> IntArray:
    """Where groups begin, of parts that stand one behind the other; the length at the end."""
    joined: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    length = 0
    for first in firsts:
        joined.append(first[1:] + length)
        length += int(first[-1])
    return np.concatenate(joined)


def _encode_binary(numbered: Numbered, claims_per_block: int) -> PartOfRows:
    sources, source_place = numbered.sources.sorted()
    facts = numbered.items_sorted()
    rows = pl.DataFrame(
        {
            "fact": facts.place[np.concatenate(facts.number)],
            "source": source_place[np.concatenate(numbered.sources.numbers)],
            "claim": pl.concat(numbered.claims),
        }
    )
    if numbered.weights:
        voices = affirmed_voices(rows.with_columns(weight=pl.concat(numbered.weights)))
        voices, n_self_contradicting = voices.with_columns(claim=pl.col("affirmed") > 0.0), 0
    else:
        rows = rows.unique()
        voices = rows.filter(pl.len().over("fact", "source") == 1).sort("fact", "source")
        n_self_contradicting = (len(rows) - len(voices)) // 2
    if voices.is_empty():
        return PartOfRows(LocalNames.nothing(), (), n_self_contradicting)
    kept_sources, source = np.unique(voices["source"].to_numpy(), return_inverse=True)
    kept_facts, fact = np.unique(voices["fact"].to_numpy(), return_inverse=True)
    is_support = voices["claim"].to_numpy()
    block = Block(
        np.arange(len(kept_facts) + 1, dtype=np.int64),
        _first_of_group(fact[is_support], len(kept_facts)),
        source[is_support].astype(np.int32),
        _first_of_group(fact, len(kept_facts)),
        source.astype(np.int32),
        *_nothing_known(len(kept_facts), len(kept_facts)),
    )
    if numbered.weights:
        affirmed = voices["affirmed"].to_numpy()
        share = voices["share"].to_numpy(writable=True)
        block = block._replace(share_of_support=affirmed[is_support], share_of_voice=share)
    names, items = LocalNames.nothing(), facts.items[kept_facts]
    names = names._replace(sources=sources.gather(kept_sources))
    block = block._replace(mark_of_item=marks_of(items))
    parts = _cut(Part(block, items, None), claims_per_block)
    return PartOfRows(names, parts, n_self_contradicting)


def _first_of_group(group: NDArray[Any], n_groups: int) -> IntArray:
    """Where each group of neighbours begins, and the length at the end."""
    first = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=n_groups), out=first[1:])
    return first


def _nothing_known(n_facts: int, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
    """What is known of facts, their labels and the attributes of items before any is told."""
    known = np.full(n_facts, UNKNOWN, dtype=np.int8)
    return known, np.zeros(n_facts, dtype=np.int32), np.zeros(n_items, dtype=np.int32)
