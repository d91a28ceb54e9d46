"""Profile claims: how many there are, how far sources differ, who may copy.

All characteristics are computed on arrays, in time and memory proportional to the number of claims.
Studies of many data sets call the functions on arrays directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.api import prepare, refuse_arguments
from veracity.checks.pairing import as_named_values, named_pairs
from veracity.encoding.block import UNKNOWN, Block, FloatArray, IntArray
from veracity.encoding.known import with_known
from veracity.encoding.partitions import Encoded, Partition
from veracity.engines import Engine, threads_of
from veracity.inspect.agreement import beyond_chance
from veracity.inspect.evaluation import truths_for
from veracity.io.frames import FrameKind, hand_back
from veracity.printing import Shown
from veracity.progress import Progress, no_progress
from veracity.reading.claims import read_truths_beside
from veracity.reading.options import ReadArguments
from veracity.reading.roles import Kind
from veracity.result import Result
from veracity.result.crowds import x_log_x
from veracity.result.tables import copies_table


@dataclass(frozen=True)
class Spread:
    """Spread of a count: its mean, quartiles and extremes."""

    mean: float
    min: int
    lower_quartile: float
    median: float
    upper_quartile: float
    max: int

    @classmethod
    def of(cls, counts: IntArray) -> Spread:
        """Return the spread of one or more counts.

        >>> Spread.of(np.array([1, 2, 3, 10])).median
        2.5
        """
        lower, median, upper = (float(q) for q in np.quantile(counts, [0.25, 0.5, 0.75]))
        return cls(float(counts.mean()), int(counts.min()), lower, median, upper, int(counts.max()))

    def __str__(self) -> str:
        """Return the extremes, the mean and the median as text."""
        return f"{self.min:,} to {self.max:,}, mean {self.mean:,.1f}, median {self.median:,.0f}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Profile(Shown):
    """Characteristics of a data set. Tables are frames of the same kind as the claims.

    Attributes
    ----------
    kind
        The kind of claims.
    items, claims, sources, facts
        Number of each; a repeated claim counts once.
    values_per_item, claims_per_item, claims_per_source
        Spreads of counts. Values of binary facts are true and false.
    entropy
        Mean of the items' normalised entropy: 0 where all agree, 1 where all values of an item are
        claimed equally often. See `entropy_of_item`.
    alpha
        Krippendorff's alpha: agreement beyond chance, 1 if all agree. None for numbers, if several
        values may be true, and if no two claims on one item could differ.
    kappa
        Fleiss' kappa, the same with each item counted once, however many claims it has.
    contested
        Share of items with more than one claimed value. If several values may be true, share of
        items for which a source leaves out a value that another names.
    single
        Share of items with a single claim.
    self_contradicting
        Number of claims whose source also claims another value of the same item.
    known, coverage
        Number and share of items with a known truth. None without truth.
    accuracy
        Mean accuracy of the sources with claims on known items. See `accuracy_of_source`.
    ceiling
        Share of known items for which some source claims a true value. No vote can exceed it.
    by_attribute
        One row per attribute, with the same characteristics; None if claims have no attribute.
    by_source
        One row per source, those with most claims first: its claims, and how far others agree.
    pairs
        One row per pair of sources that may have copied, with the evidence, the clearest first.
    notes
        Notes: columns recognised, claims and truths left out.
    """

    kind: Kind
    items: int
    claims: int
    sources: int
    facts: int
    values_per_item: Spread
    claims_per_item: Spread
    claims_per_source: Spread
    entropy: float
    alpha: float | None
    kappa: float | None
    contested: float
    single: float
    self_contradicting: int
    known: int | None
    coverage: float | None
    accuracy: float | None
    ceiling: float | None
    by_attribute: Any
    by_source: Any
    pairs: Any
    notes: list[str]


def profile(
    claims: object,
    truth: object | None = None,
    *,
    truth_columns: Mapping[str, str | list[str]] | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadArguments],
) -> Profile:
    """Compute the characteristics of a data set.

    If claims on disk or on Spark do not fit in memory, a random sample of items is used.

    Parameters
    ----------
    claims, truth_columns, engine, **options
        As for `discover`; or what `discover` returned, whose claims need not be read again.
    truth
        Known truths, in any form claims can have, to measure accuracies.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> claims = pl.DataFrame({
    ...     "source": ["a", "b", "a", "b"], "entity": ["x", "x", "y", "y"], "value": list("1112")})
    >>> found = profile(claims)
    >>> found.contested, found.entropy
    (0.5, 0.5)
    """
    tell = progress or no_progress
    given = _given(claims, truth, truth_columns, engine, tell, options)
    tell("profiling", 0, 1)
    encoded, has_truth, frame_kind = given.encoded, truth is not None, given.frame_kind
    named = [as_named_values(block, encoded.kind) for block in encoded.blocks]
    pairs = zip(encoded.parts, named, strict=True)
    items = pl.concat([_items_table(part, block, encoded.kind) for part, block in pairs])
    attributes = _attributes_table(items, has_truth=has_truth)
    sources = _sources_table(encoded, named, has_truth=has_truth)
    suspicious = copies_table(encoded.names, named_pairs(encoded, threads_of(engine)))
    return Profile(
        kind=encoded.kind,
        items=len(items),
        claims=encoded.n_claims,
        sources=len(sources),
        facts=encoded.n_facts,
        values_per_item=Spread.of(items["values"].to_numpy()),
        claims_per_item=Spread.of(items["claims"].to_numpy()),
        claims_per_source=Spread.of(sources["claims"].to_numpy()),
        **_shares(items, sources, has_truth=has_truth),
        **beyond_chance(encoded)._asdict(),
        self_contradicting=sum(
            len(block.source_of_support) - len(block.source_of_voice) for block in named
        ),
        by_attribute=None if attributes is None else hand_back(attributes, frame_kind),
        by_source=hand_back(sources, frame_kind),
        pairs=hand_back(suspicious, frame_kind),
        notes=given.notes,
    )


class _Given(NamedTuple):
    """Claims to profile, with the known truths."""

    encoded: Encoded
    frame_kind: FrameKind
    notes: list[str]


def _given(
    claims: object,
    truth: object | None,
    truth_columns: Mapping[str, str | list[str]] | None,
    engine: Engine | None,
    tell: Progress,
    options: ReadArguments,
) -> _Given:
    """Return the encoded claims of a result; read and encode all others."""
    notes: list[str] = []
    if isinstance(claims, Result):
        refuse_arguments(options)
        encoded, frame_kind = claims.encoded, claims.frame_kind
        if truth is not None:
            truths, notes = truths_for(claims, truth, truth_columns, "truth_columns")
    else:
        prepared = prepare(claims, engine=engine, progress=tell, **options)
        encoded, frame_kind = prepared.encoded, prepared.table.frame_kind
        if truth is not None:
            truths, notes = read_truths_beside(prepared.table, truth, truth_columns)
        notes = [*prepared.notes, *notes]
    if truth is not None:
        encoded, more_notes = with_known(encoded, truths)
        notes += more_notes
        if not encoded.n_known:
            notes.append("no known truth is about these items; are the names the same?")
    encoded, _, told = encoded.local_sample()
    return _Given(encoded, frame_kind, [*notes, *told])


# --- on arrays -----------------------------------------------------------------------------------


def entropy_of_item(encoded: Encoded) -> FloatArray:
    """Return how far the claims on each item are from agreement, from 0 to 1.

    H / log k: the entropy H of the shares of the claims that name each of the item's k values,
    normalised by its largest value; 0 for k = 1. Numbers are equal or different, like other values.
    The values of a binary fact are true and false. If several values may be true, each value is
    such a fact, which the item's other sources deny, and the entropy of an item is the mean of
    the entropies of its values.
    """
    named = (as_named_values(block, encoded.kind) for block in encoded.blocks)
    return np.concatenate([_entropy(block, encoded.kind) for block in named])


def accuracy_of_source(encoded: Encoded) -> FloatArray:
    """Return the accuracy of each source on known items; NaN if none of its items is known.

    All items have the same weight: if a source claims m values of an item and one is true, it is
    right by 1 / m.
    """
    named = [as_named_values(block, encoded.kind) for block in encoded.blocks]
    return _ratio(*_judged(named, encoded.names.n_sources))


def _entropy(block: Block, kind: Kind) -> FloatArray:
    if kind != "multiple":
        return _entropy_of_values(block)
    share = np.diff(block.first_support_of_fact) / block.n_voices_of_fact
    entropy_of_fact = -(x_log_x(share) + x_log_x(1.0 - share))
    total: FloatArray = np.add.reduceat(entropy_of_fact, block.first_fact_of_item[:-1])
    mean: FloatArray = total / np.diff(block.first_fact_of_item)
    return np.clip(mean, 0.0, 1.0)


def _entropy_of_values(block: Block) -> FloatArray:
    """Return H / log k, H = log n - Σ_v n_v log n_v / n for n claims, n_v of them of value v."""
    n_values = np.diff(block.first_fact_of_item)
    supporters = np.diff(block.first_support_of_fact).astype(np.float64)
    first = block.first_fact_of_item[:-1]
    n_claims = np.add.reduceat(supporters, first)
    entropy = np.log2(n_claims) - np.add.reduceat(x_log_x(supporters), first) / n_claims
    normalised = np.divide(
        entropy, np.log2(n_values), out=np.zeros(len(n_values)), where=n_values > 1
    )
    return np.clip(normalised, 0.0, 1.0)  # rounding may lead a little out


def _judged(blocks: list[Block], n_sources: int) -> tuple[FloatArray, FloatArray]:
    """Count the known items of each source, and those on which it is right."""
    sums = [_judged_in(block, n_sources) for block in blocks]
    right, known = (np.sum(part, axis=0) for part in zip(*sums, strict=True))
    return right, np.round(known)


def _judged_in(block: Block, n_sources: int) -> tuple[FloatArray, FloatArray]:
    fact = block.fact_of_support
    is_judged = block.known_of_fact[fact] != UNKNOWN
    fact, source = fact[is_judged], block.source_of_support[is_judged]
    key_of_voice = block.item_of_fact[fact] * n_sources + source
    _, voice, n_values = np.unique(key_of_voice, return_inverse=True, return_counts=True)
    weight = 1.0 / n_values[voice]
    is_true = block.known_of_fact[fact] == 1
    return _sum(source, weight * is_true, n_sources), _sum(source, weight, n_sources)


def _sum(group: IntArray, weight: NDArray[Any], n_groups: int) -> FloatArray:
    return np.bincount(group, weight, n_groups).astype(np.float64)


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole; NaN where the whole is 0."""
    ratio: FloatArray = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return ratio


# --- tables --------------------------------------------------------------------------------------


def _items_table(part: Partition, block: Block, kind: Kind) -> pl.DataFrame:
    """Return one row per item, without its entity."""
    first = block.first_fact_of_item
    supporters = np.diff(block.first_support_of_fact)
    n_values = np.diff(first)
    is_contested = n_values > 1
    if kind == "multiple":
        is_contested = np.logical_or.reduceat(supporters < block.n_voices_of_fact, first[:-1])
    known_of_item = np.maximum.reduceat(block.known_of_fact, first[:-1])
    names = part.items.select(name for name in part.items.columns if name == "attribute")
    columns = {
        "values": n_values,
        "claims": np.add.reduceat(supporters, first[:-1]),
        "entropy": _entropy(block, kind),
        "contested": is_contested,
        "known": known_of_item != UNKNOWN,
        "claimed": known_of_item == 1,
    }
    return pl.DataFrame([*names, *(pl.Series(name, column) for name, column in columns.items())])


def _shares(items: pl.DataFrame, sources: pl.DataFrame, *, has_truth: bool) -> dict[str, Any]:
    """Return the characteristics of the data set that are means and shares."""
    known = int(items["known"].sum())
    return {
        "entropy": items["entropy"].mean(),
        "contested": items["contested"].mean(),
        "single": (items["claims"] == 1).mean(),
        "known": known if has_truth else None,
        "coverage": known / len(items) if has_truth else None,
        "accuracy": sources["accuracy"].mean() if has_truth else None,
        "ceiling": items.filter("known")["claimed"].mean() if has_truth else None,
    }


def _attributes_table(items: pl.DataFrame, *, has_truth: bool) -> pl.DataFrame | None:
    if "attribute" not in items.columns:
        return None
    measures = {
        "items": pl.len().cast(pl.Int64),
        "claims": pl.col("claims").sum(),
        "values_per_item": pl.col("values").mean(),
        "entropy": pl.col("entropy").mean(),
        "contested": pl.col("contested").mean(),
    }
    if has_truth:
        measures["coverage"] = pl.col("known").mean()
        measures["ceiling"] = pl.col("claimed").filter("known").mean()
    return items.group_by("attribute").agg(**measures).sort("attribute")


def _sources_table(encoded: Encoded, blocks: list[Block], *, has_truth: bool) -> pl.DataFrame:
    n_sources = encoded.names.n_sources
    sums = [_sums_of_source(block, n_sources) for block in blocks]
    claims, items, n_shared, agreeing, leading = (
        np.sum(part, axis=0) for part in zip(*sums, strict=True)
    )
    columns: dict[str, Any] = {
        "source": encoded.names.sources,
        "claims": claims.astype(np.int64),
        "items": items.astype(np.int64),
        "share_of_items": items / encoded.n_items,
        "agreement": _column(_ratio(agreeing, n_shared)),
        "majority": _column(_ratio(leading, n_shared)),
    }
    if has_truth:
        right, known = _judged(blocks, n_sources)
        columns["known"] = known.astype(np.int64)
        columns["accuracy"] = _column(_ratio(right, known))
    return pl.DataFrame(columns).sort("claims", descending=True, maintain_order=True)


def _sums_of_source(block: Block, n_sources: int) -> tuple[FloatArray, ...]:
    """Count the claims and items of each source, and measure how far others agree on shared items.

    Return sums of the share of the item's other sources that claim the same value, and of claims
    with the most frequent value (1 / t if t values tie).
    """
    supporters, voices = block.n_supports_of_fact, block.n_voices_of_fact
    first, n_facts_of_item = block.first_fact_of_item[:-1], block.n_facts_of_item
    most = np.repeat(np.maximum.reduceat(supporters, first), n_facts_of_item)
    is_most = supporters == most
    n_tied = np.repeat(np.add.reduceat(is_most.astype(np.int64), first), n_facts_of_item)
    is_shared = voices > 1
    fact, source = block.fact_of_support, block.source_of_support
    agreeing = np.where(is_shared, (supporters - 1) / np.maximum(voices - 1, 1), 0.0)
    leading = np.where(is_shared, is_most / n_tied, 0.0)
    return (
        np.bincount(source, minlength=n_sources).astype(np.float64),
        np.bincount(block.source_of_voice, minlength=n_sources).astype(np.float64),
        _sum(source, is_shared[fact], n_sources),
        _sum(source, agreeing[fact], n_sources),
        _sum(source, leading[fact], n_sources),
    )


def _column(measure: FloatArray) -> pl.Series:
    return pl.Series(measure).fill_nan(None)
