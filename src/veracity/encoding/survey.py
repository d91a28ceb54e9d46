"""Counts of all claims before anything is learned: by source, and against known truths."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from veracity import kernels
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.names import Names
from veracity.errors import TooLarge
from veracity.reading.roles import Kind
from veracity.trees import CountBySource


class Largest(float):
    """A number of a tally that merges by taking the larger of two."""

    stays = True
    """Nothing can be taken out of it."""

    def __add__(self, other: float) -> Self:
        """Return the larger of the two."""
        return type(self)(max(float(self), float(other)))


class Counted(NamedTuple):
    """Counts of one or all blocks. Columns of `known_of_source` are those of `count_votes`."""

    items: int
    facts: int
    known_items: int
    undisputed: int
    """Items on which all sources agree."""
    supports_of_source: CountBySource
    items_of_source: CountBySource
    facts_of_source: CountBySource
    """Facts of the items that a source makes claims about."""
    shared_of_source: CountBySource
    """Number of items on which a source and at least one other make claims."""
    known_of_source: CountBySource
    largest_item: Largest
    """Largest number of pairs of source and value of an item."""
    divided: int
    """Number of values that a source claims together with others, or with a share below one."""


def counted(block: Block, n_sources: int) -> Counted:
    """Count the content of a block; counts add up over blocks."""
    n_voices, n_facts = block.n_voices_of_item, block.n_facts_of_item
    votes = kernels.count_votes(block, np.zeros(block.n_facts), n_sources)
    items = np.bincount(block.source_of_voice, minlength=n_sources).astype(np.float64)
    only_voice = block.first_voice_of_item[:-1][n_voices == 1]
    alone = np.bincount(block.source_of_voice[only_voice], minlength=n_sources)
    return Counted(
        items=block.n_items,
        facts=block.n_facts,
        known_items=int(np.count_nonzero(block.is_known)),
        undisputed=int(np.count_nonzero(block.n_supports_of_item == n_voices * n_facts)),
        supports_of_source=votes[:, 1],
        items_of_source=items,
        facts_of_source=votes[:, 3],
        shared_of_source=items - alone,
        known_of_source=_known(block, n_sources),
        largest_item=Largest((n_facts * n_voices).max()),
        divided=_divided(block),
    )


def _divided(block: Block) -> int:
    """Count the values that a source claims together with others, or with a share below one."""
    if block.has_shares:
        return int(np.count_nonzero(block.share_of_support != 1.0))
    return max(len(block.source_of_support) - len(block.source_of_voice), 0)  # some may deny


def _known(block: Block, n_sources: int) -> FloatArray:
    """Count how the sources' claims meet known truths."""
    if block.is_numeric or (block.known_of_fact == UNKNOWN).all():
        return np.zeros((n_sources, 4))
    block = block.select(block.is_known)  # mostly a few
    is_true = (block.known_of_fact == 1).astype(np.float64)
    is_known = (block.known_of_fact != UNKNOWN).astype(np.float64)
    of_true = kernels.count_votes(block, is_true, n_sources)
    of_known = kernels.count_votes(block, is_known, n_sources)
    return np.stack([of_true[:, 0], of_known[:, 0], of_true[:, 2], of_known[:, 2]], axis=1)


class Survey(NamedTuple):
    """The start of an algorithm: the kind of claims, all names, and the counts."""

    kind: Kind
    names: Names
    counted: Counted
    share_new: float = 1.0
    """Share of the claims that an update looks at; the others were learned from before."""

    @property
    def n_sources(self) -> int:
        """Return the number of sources."""
        return len(self.names.sources)

    @property
    def n_labels(self) -> int:
        """Return the number of different values; at least two, since errors name another."""
        return max(len(self.names.labels), self.names.n_unnumbered, 2)

    def require_labels(self, algorithm: str) -> None:
        """Raise an error if an algorithm compares values across items and the values are open."""
        if self.names.n_unnumbered:
            raise TooLarge(
                f"{algorithm} needs a number for each value, and there are more than "
                f"{self.names.n_unnumbered:,} different ones, too many for one machine's memory; "
                "use another algorithm, such as veracity or accu, or normalise the values"
            )

    @property
    def n_attributes(self) -> int:
        """Return the number of attributes, at least one."""
        return max(len(self.names.attributes), 1)

    @property
    def single_truth(self) -> bool:
        """Return True if one value of each item is true."""
        return self.kind == "categorical"

    @property
    def has_denials(self) -> bool:
        """Return True if a voice denies the facts of its item that it does not support."""
        return not self.single_truth

    @property
    def claims_of_source(self) -> FloatArray:
        """Count the claims of each source, denials among them if there are any."""
        counts = self.counted
        return counts.facts_of_source if self.has_denials else counts.supports_of_source

    @property
    def usual_prevalence(self) -> float:
        """Return the share of true facts, if the kind of claims determines it."""
        return self.counted.items / self.counted.facts if self.single_truth else 0.5
