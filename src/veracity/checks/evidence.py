"""Evidence for checks: the claims, an answer to them, and what follows from both."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Description, Turn
from veracity.checks.pairing import named_pairs
from veracity.checks.voting import AgainstVote, compare_with_vote
from veracity.dependence import Copies
from veracity.dependence.pairs import first_of_joined, joined
from veracity.encoding.block import Block, IntArray
from veracity.encoding.partitions import Encoded, Partition
from veracity.encoding.survey import Survey
from veracity.engines import Blocks, Local
from veracity.kernels import MAX_CLAIMS_NUMPY
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.reading.normalise import Normalised, normalise
from veracity.result import Result
from veracity.result.tables import TablesOfPart

LITTLE_CONFLICT = 0.01
"""Share of disputed items among shared items below which there is almost nothing to decide."""

A_FEW_ITEMS = 1 << 14
"""Number of items that are searched first for links between all sources."""


class Budget(NamedTuple):
    """Approximate number of claims to compare and of spellings to check; number of threads."""

    claims: int
    facts: int
    threads: int | None = None
    """Number of threads; None for one per core."""


QUICK = Budget(claims=100_000, facts=1_000)
"""Budget of `discover`."""

THOROUGH = Budget(claims=sys.maxsize, facts=50_000)
"""Budget of `check`."""


class Overlap(NamedTuple):
    """Numbers of items by their number of sources, and the parts that share nothing."""

    one: int
    two: int
    several: int
    parts: pl.DataFrame
    """One row per part of sources and items, the largest first."""


@dataclass
class Evidence:
    """Claims in an engine, and an answer to them. Each costly part is computed once.

    The survey covers these claims only, not those of an earlier fit. `start` examines the claims
    before there is an answer; `about` adds the answer.
    """

    survey: Survey
    encoded: Encoded
    held: Blocks
    budget: Budget
    are_normalised: bool = False
    answer: Result | None = None
    plausibility: Sequence[Any] = ()

    def about(self, result: Result, plausibility: Sequence[Any]) -> Evidence:
        """Return the evidence with an answer: a result and the plausibilities of each block."""
        self.answer, self.plausibility = result, plausibility
        return self

    @contextlib.contextmanager
    def start(self) -> Iterator[None]:
        """Examine the claims on a second thread, if there are many and they are in memory.

        The results are stored in the evidence, for use after this block.
        """
        is_large = self.encoded.is_in_memory and self.encoded.n_claims > MAX_CLAIMS_NUMPY
        if self.budget.threads == 1 or not (is_large and self.is_compared):
            yield
            return
        held = self.held  # what the engine holds is at work
        with Local(threads=1).hold(self.encoded.blocks) as own, ThreadPoolExecutor(1) as pool:
            self.held = own

            def look() -> None:
                _ = self.overlap, self.normalised, self.named_pairs

            looking = pool.submit(look)
            yield
            looking.result()
        self.held = held

    @property
    def result(self) -> Result:
        """Return the answer, which exists when checks run."""
        assert self.answer is not None
        return self.answer

    @property
    def is_shared(self) -> bool:
        """Return True if any source shares items with another."""
        return bool(self.survey.counted.shared_of_source.any())

    @property
    def is_compared(self) -> bool:
        """Return True if sources share items on which they could differ."""
        return self.encoded.kind != "numeric" and self.is_shared

    # --- who speaks of what -----------------------------------------------------------------------

    @cached_property
    def overlap(self) -> Overlap:
        """Count the items by their number of sources, and find the parts that share items."""
        n_sources, names = self.survey.n_sources, as_text(self.survey.names.sources)
        links = self.held.sweep(_links, n_sources, Turn())
        part_of_source = joined(links.first, np.arange(n_sources), n_sources)
        tally = self.held.sweep(_count_parts, part_of_source, Turn())
        one, two, several, items, claims, known = tally
        sources = pl.DataFrame({"part": part_of_source, "source": names})
        such_as = pl.col("source").sort().head(3).map_elements(in_short, pl.String).str.join(", ")
        shares = self.survey.counted.shared_of_source > 0.0
        sources = sources.filter(shares).group_by("part").agg(sources=pl.len(), such_as=such_as)
        numbers = {"part": np.arange(len(items)), "items": items, "claims": claims, "known": known}
        parts = pl.DataFrame(numbers).cast({"part": sources["part"].dtype})
        parts = sources.join(parts, on="part").drop("part")
        parts = parts.sort("claims", "such_as", descending=[True, False])
        return Overlap(one, two, several, parts)

    # --- what they say ----------------------------------------------------------------------------

    @cached_property
    def sample(self) -> Encoded:
        """Return a fixed random sample of items."""
        if self.answer is not None:
            return self._judged_sample[0]
        return self.encoded.sampled_with(None, self.budget.claims)[0]

    @cached_property
    def _judged_sample(self) -> tuple[Encoded, Sequence[Any]]:
        return self.encoded.sampled_with(self.plausibility, self.budget.claims)

    @property
    def sample_plausibility(self) -> Sequence[Any]:
        """Return the plausibilities of each block of the sample."""
        return self._judged_sample[1]

    @cached_property
    def facts(self) -> pl.DataFrame:
        """Return the table of the facts of the sample, as the answer judges them."""
        make = TablesOfPart(self.encoded.kind)
        pairs = zip(self.sample.parts, self.sample_plausibility, strict=True)
        return pl.concat([make(part, own, "facts") for part, own in pairs])

    @cached_property
    def against_vote(self) -> AgainstVote | None:
        """Compare the answer with the vote; None if there is nothing to compare."""
        return compare_with_vote(self.sample, self.facts) if self.is_compared else None

    @property
    def contested(self) -> int:
        """Return the number of contested items of the sample."""
        return 0 if self.against_vote is None else self.against_vote.contested

    @cached_property
    def shared(self) -> int:
        """Return the number of items of the sample with several sources."""
        return sum(int((block.n_voices_of_item > 1).sum()) for block in self.sample.blocks)

    @property
    def is_disputed(self) -> bool:
        """Return True if there is anything to decide."""
        return self.contested >= LITTLE_CONFLICT * self.shared

    # --- what was learned -------------------------------------------------------------------------

    @cached_property
    def learned(self) -> Description:
        """Return what the algorithm learned."""
        fitted = self.result.fitted
        return Description() if fitted is None else fitted.description

    @cached_property
    def named_pairs(self) -> Copies:
        """Name pairs of sources that may have copied."""
        return named_pairs(self.sample, self.budget.threads)

    # --- how it is written ------------------------------------------------------------------------

    @cached_property
    def spelt(self) -> pl.DataFrame:
        """Return the facts of a regular sample of items, with spellings and numbers of claims."""
        step = -(-self.sample.n_facts // self.budget.facts)
        tables = [table for part in self.sample.parts if (table := _spelt(part, step)) is not None]
        return pl.concat(tables or [pl.DataFrame()])

    @cached_property
    def normalised(self) -> Normalised | None:
        """Normalise these facts; None if they are already normalised, or not text."""
        if self.are_normalised or self.spelt.schema.get("value") != pl.String:
            return None
        return normalise(self.spelt, claims_kind=self.encoded.kind)[1]


class _Links(NamedTuple):
    """First source that each source is linked to by shared items; links of blocks can be added.

    >>> (_Links(np.array([0, 0, 2, 3])) + _Links(np.array([0, 1, 1, 3]))).first.tolist()
    [0, 0, 0, 3]
    """

    first: IntArray

    def __add__(self, other: _Links) -> _Links:  # type: ignore[override]
        if len(self.first) >= len(other.first) and not self.first.any():
            return self  # all are joined already
        one = np.append(np.arange(len(self.first)), np.arange(len(other.first)))
        n_sources = max(len(self.first), len(other.first))
        return _Links(first_of_joined(one, np.append(self.first, other.first), n_sources))


def _links(block: Block, n_sources: int, turn: Turn) -> tuple[Any, Any]:
    """Find the sources that the items of a block link; mostly a few items link all."""
    for n_items in sorted({min(A_FEW_ITEMS, block.n_items), block.n_items}):
        voices = block.first_voice_of_item[: n_items + 1]
        speaks_with = np.repeat(block.source_of_voice[voices[:-1]], np.diff(voices))
        first = first_of_joined(speaks_with, block.source_of_voice[: voices[-1]], n_sources)
        if not first.any():
            break
    return _Links(first), turn.memory


def _count_parts(block: Block, part_of_source: IntArray, turn: Turn) -> tuple[Any, Any]:
    """Count items by their number of sources; and items, claims and known items of each part."""
    n_parts, voices = int(part_of_source.max()) + 1, block.n_voices_of_item
    counts = (int(np.count_nonzero(meant)) for meant in (voices == 1, voices == 2, voices > 1))
    part = part_of_source[block.source_of_voice[block.first_voice_of_item[:-1]]]
    items = np.bincount(part, minlength=n_parts)
    claims = np.bincount(part, voices, n_parts).astype(np.int64)
    known = np.bincount(part[block.is_known], minlength=n_parts)
    return (*counts, items, claims, known), turn.memory


def _spelt(part: Partition, step: int) -> pl.DataFrame | None:
    """Return the facts of a regular sample of the items of a partition."""
    if part.values is None:
        return None
    item = part.block.item_of_fact
    tried = np.flatnonzero(item % step == 0)
    values = part.values.gather(tried)
    claims = part.block.n_supports_of_fact[tried]
    return part.items[item[tried]].with_columns(value=values, before=values, claims=claims)
