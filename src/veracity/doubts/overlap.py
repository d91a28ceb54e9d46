"""Who speaks of what: whether sources overlap enough to be compared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Turn
from veracity.dependence.pairs import first_of_joined, joined
from veracity.encoding.block import Block, IntArray
from veracity.encoding.survey import Survey
from veracity.engines import Held
from veracity.naming import as_text
from veracity.printing import counted, in_short
from veracity.result.warnings import DataWarning, count, data_warning, lone_sources

FEW_SHARED = 5
"""A source that shares fewer items with others can hardly be judged."""

A_FEW_ITEMS = 1 << 14
"""In so many it is looked first whether all sources are joined."""


def overlap_warnings(held: Held, survey: Survey) -> list[DataWarning]:
    """What the overlap of the sources tells, whatever they say."""
    n_shared = survey.counted.shared_of_source
    found, is_lone = lone_sources(survey), n_shared == 0.0
    if is_lone.all():
        return found  # there is nothing else to say
    single, two, shared = held.sweep(_voices, None, Turn())
    parts = _parts(held, survey)
    found += _part_warnings(parts) + _too_few_sources(parts, two, shared)
    n_items = survey.counted.items
    if single >= n_items / 2:
        seen = f"{count(single, n_items, 'items', 'has', 'have')} a single source"
        found.append(data_warning("single-source-items", seen, serious=single >= n_items * 0.8))
    return found + _few_claims(n_shared[~is_lone].astype(np.int64)) + _dominance(survey)


def _voices(block: Block, state: None, turn: Turn) -> tuple[Any, Any]:
    """How many items a single source speaks of, how many two, and how many several."""
    voices = block.n_voices_of_item
    tally = tuple(int(np.count_nonzero(meant)) for meant in (voices == 1, voices == 2, voices > 1))
    return tally, turn.memory


def _few_claims(n_shared: IntArray) -> list[DataWarning]:
    """Given of how many items each source speaks that another speaks of, too."""
    if np.median(n_shared) >= FEW_SHARED:
        return []
    is_rare = n_shared < FEW_SHARED
    share = n_shared[is_rare].sum() / n_shared.sum()
    few = count(int(is_rare.sum()), len(n_shared), "sources", "shares", "share")
    seen = f"{few} fewer than {FEW_SHARED} "
    seen += f"items with others; they make {share:.0%} of the claims that can be compared"
    return [data_warning("few-claims", seen, serious=share >= 0.5)]


def _dominance(survey: Survey) -> list[DataWarning]:
    n_items = survey.counted.items_of_source
    share = n_items.max() / n_items.sum()
    if share <= 0.5 or len(n_items) < 3:
        return []
    most = as_text(survey.names.sources.gather([int(n_items.argmax())]))[0]
    seen = f"{in_short(most)} alone makes {share:.0%} of all claims"
    return [data_warning("dominant-source", seen, serious=share >= 0.8)]


def _parts(held: Held, survey: Survey) -> pl.DataFrame:
    """The parts that sources and items fall into, one row each, the largest first."""
    n_sources = survey.n_sources
    links = held.sweep(_links, n_sources, Turn())
    part_of_source = joined(links.first, np.arange(n_sources), n_sources)
    items, claims, known = held.sweep(_count_parts, part_of_source, Turn())
    sources = pl.DataFrame({"part": part_of_source, "source": as_text(survey.names.sources)})
    such_as = pl.col("source").sort().head(3).map_elements(in_short, pl.String).str.join(", ")
    shares = survey.counted.shared_of_source > 0.0
    sources = sources.filter(shares).group_by("part").agg(sources=pl.len(), such_as=such_as)
    counts = pl.DataFrame({"part": np.arange(len(items)), "items": items, "claims": claims})
    counts = counts.with_columns(known=pl.Series(known)).cast({"part": sources["part"].dtype})
    parts = sources.join(counts, on="part").drop("part")
    return parts.sort("claims", "such_as", descending=[True, False])


class _Links(NamedTuple):
    """Of each source, the first of those that shared items join it with; those of blocks merge.

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
    """Who is joined with whom by the items of a block: mostly a few join all."""
    for n_items in sorted({min(A_FEW_ITEMS, block.n_items), block.n_items}):
        voices = block.first_voice_of_item[: n_items + 1]
        speaks_with = np.repeat(block.source_of_voice[voices[:-1]], np.diff(voices))
        first = first_of_joined(speaks_with, block.source_of_voice[: voices[-1]], n_sources)
        if not first.any():
            break
    return _Links(first), turn.memory


def _count_parts(block: Block, part_of_source: IntArray, turn: Turn) -> tuple[Any, Any]:
    """Items, claims and known items of each part."""
    n_parts = int(part_of_source.max()) + 1
    part = part_of_source[block.source_of_voice[block.first_voice_of_item[:-1]]]
    items = np.bincount(part, minlength=n_parts)
    claims = np.bincount(part, block.n_voices_of_item, n_parts).astype(np.int64)
    return (items, claims, np.bincount(part[block.is_known], minlength=n_parts)), turn.memory


def _part_warnings(parts: pl.DataFrame) -> list[DataWarning]:
    """Parts that are not joined, unless known truths hold each of them."""
    if len(parts) < 2 or (parts["known"] > 0).all():
        return []
    rest = 1.0 - parts["claims"][0] / parts["claims"].sum()
    seen = f"sources and items fall into {len(parts):,} parts that share nothing; the largest has "
    seen += (
        f"{counted(parts['sources'][0], 'source')}, such as {parts['such_as'][0]}, the rest makes "
    )
    seen += f"{rest:.0%} of the claims"
    return [data_warning("separate-parts", seen, parts.head(10), serious=rest >= 1 / 3)]


def _too_few_sources(parts: pl.DataFrame, n_two: int, n_shared: int) -> list[DataWarning]:
    if not (parts["sources"] > 2).any():
        seen = f"nowhere do more than two sources meet, such as {parts['such_as'][0]}"
        return [data_warning("fewer-than-three", seen, serious=True)]
    if n_two <= n_shared * 2 / 3:
        return []
    seen = f"{count(n_two, n_shared, 'shared items', 'has', 'have')} only two sources"
    return [data_warning("fewer-than-three", seen)]
