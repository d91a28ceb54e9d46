"""What data are these? `profile`: how much is claimed, how far sources differ, who may copy.

All characteristics come from arrays, in time and memory proportional to the claims; studies over
many data sets call the functions on arrays themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.doubts.pairing import as_named_values, named_pairs
from veracity.encoding.block import UNKNOWN, Block, FloatArray, IntArray
from veracity.encoding.known import with_known
from veracity.encoding.partitions import Encoded, Partition
from veracity.engines import Engine, threads_of
from veracity.inspect.agreement import alpha_of
from veracity.io.frames import FrameKind, hand_back
from veracity.preparing import prepare
from veracity.printing import counted, html_by, printable
from veracity.progress import Progress, no_progress
from veracity.reading.normalise import Normalise
from veracity.reading.options import ReadOptions
from veracity.reading.schema import Kind
from veracity.reading.truths import read_truth, read_truths_beside
from veracity.result import Result
from veracity.result.tables import copies_table


@dataclass(frozen=True)
class Spread:
    """How a count is spread: its mean, quartiles and extremes."""

    mean: float
    min: int
    lower_quartile: float
    median: float
    upper_quartile: float
    max: int

    @classmethod
    def of(cls, counts: IntArray) -> Spread:
        """The spread of some counts, at least one.

        >>> Spread.of(np.array([1, 2, 3, 10])).median
        2.5
        """
        lower, median, upper = (float(q) for q in np.quantile(counts, [0.25, 0.5, 0.75]))
        return cls(float(counts.mean()), int(counts.min()), lower, median, upper, int(counts.max()))

    def __str__(self) -> str:
        """The extremes, the mean and the median."""
        return f"{self.min:,} to {self.max:,}, mean {self.mean:,.1f}, median {self.median:,.0f}"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The characteristics of a data set. Tables come in the kind of frame the claims came in.

    Attributes
    ----------
    kind
        The kind of claims.
    items, claims, sources, facts
        How many there are; a claim that is repeated counts once.
    values_per_item, claims_per_item, claims_per_source
        Spreads of counts. Values of binary facts are true and false.
    entropy
        Mean of the items' normalised entropy: 0 where all agree, 1 where all values of an item are
        claimed equally often. See `entropy_of_item`.
    alpha
        Krippendorff's alpha: how far sources agree beyond chance. See `agreement`. None for numbers
        and where several values may be true.
    contested
        Share of items of which more than one value is claimed; where several may be true, of which
        somebody leaves out a value that another names.
    single
        Share of items with a single claim.
    self_contradicting
        How many claims name a further value of an item of which their source has named one.
    known, coverage
        Of how many items the truth is known, and the share of items these are. None without truth.
    accuracy
        Mean accuracy of the sources that speak of known items. See `accuracy_of_source`.
    ceiling
        Share of known items of which anyone claims a true value: no vote can be right more often.
    by_attribute
        One row per attribute, with the same characteristics; None if claims have no attribute.
    by_source
        One row per source, those with most claims first: what it claims, and who else does.
    pairs
        One row per pair of sources that may have copied, with the evidence, the clearest first.
    notes
        What a user should know: columns recognised, claims and truths left out.
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

    def measures(self) -> dict[str, Any]:
        """The characteristics that apply, by name, as JSON can hold them."""
        told = {k: v for k, v in vars(self).items() if isinstance(v, int | float | str | Spread)}
        return {k: asdict(v) if isinstance(v, Spread) else v for k, v in told.items()}

    _repr_html_ = html_by("profile_html")

    def __repr__(self) -> str:
        """Sum up in a few lines."""
        alpha = "" if self.alpha is None else f", alpha {self.alpha:.3f}"
        lines = [
            f"{counted(self.claims, 'claim')} of {counted(self.sources, 'source')} about "
            f"{counted(self.items, 'item')} ({counted(self.facts, 'fact')})",
            f"values per item: {self.values_per_item}",
            f"claims per item: {self.claims_per_item}",
            f"claims per source: {self.claims_per_source}",
            f"{self.contested:.1%} of the items are contested, {self.single:.1%} have a single "
            f"claim; entropy {self.entropy:.3f}{alpha}",
        ]
        if self.coverage is not None:
            right = "" if self.accuracy is None else f"; average accuracy {self.accuracy:.2%}"
            known = f"{counted(self.known or 0, 'item')} ({self.coverage:.2%})"
            lines.append(f"the truth of {known} is known{right}")
        return printable("\n".join([*lines, *(f"note: {note}" for note in self.notes)]), lines=True)


def profile(
    claims: object,
    truth: object | None = None,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    normalise: Normalise = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Profile:
    """Tell the characteristics of a data set.

    Where there is no room for all claims that are on disk or on Spark, of items drawn at random.

    Parameters
    ----------
    claims, columns, kind, normalise, engine
        As for `discover`; or what `discover` returned, whose claims need not be read again.
    truth
        Known truths, in any form claims can have; with them, accuracies are told, too.
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
    how = {"columns": columns, "kind": kind, "normalise": normalise, "engine": engine}
    given = _given(claims, truth, tell, **how)
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
        alpha=alpha_of(encoded),
        self_contradicting=sum(
            len(block.source_of_support) - len(block.source_of_voice) for block in named
        ),
        by_attribute=None if attributes is None else hand_back(attributes, frame_kind),
        by_source=hand_back(sources, frame_kind),
        pairs=hand_back(suspicious, frame_kind),
        notes=given.notes,
    )


class _Given(NamedTuple):
    """Claims to be profiled, with what is known of them."""

    encoded: Encoded
    frame_kind: FrameKind
    notes: list[str]


def _given(
    claims: object,
    truth: object | None,
    tell: Progress,
    **how: Any,
) -> _Given:
    """The claims of a result are encoded already; all others are read."""
    notes: list[str] = []
    if isinstance(claims, Result):
        encoded, frame_kind = claims.encoded, claims.frame_kind
        if truth is not None:
            facts, normalisation = claims.tables.facts, claims.run.normalisation
            as_claims = ReadOptions(likely=claims.run.input.columns, kind=claims.kind)
            truths, notes = read_truth(truth, as_claims, normalisation=normalisation, like=facts)
    else:
        prepared = prepare(claims, tell=tell, **how)
        encoded, frame_kind = prepared.encoded, prepared.table.frame_kind
        if truth is not None:
            truths, notes = read_truths_beside(prepared.table, truth)
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
    """How far the claims about each item are from agreement, from 0 to 1.

    H / log k: the entropy H of the shares of the claims that name each of the item's k values,
    normalised by its largest value; 0 for k = 1. Numbers are values like others, equal or not. The
    values of a binary fact are true and false. Where several values may be true, each value is such
    a fact, which the item's other sources deny, and the entropy of an item is the mean of theirs.
    """
    named = (as_named_values(block, encoded.kind) for block in encoded.blocks)
    return np.concatenate([_entropy(block, encoded.kind) for block in named])


def accuracy_of_source(encoded: Encoded) -> FloatArray:
    """The share of what each source says that is true: NaN where nothing it speaks of is known.

    All items count alike: of a source that names m values of an item, one of them true, 1 / m is
    right.
    """
    named = [as_named_values(block, encoded.kind) for block in encoded.blocks]
    return _ratio(*_judged(named, encoded.names.n_sources))


def _entropy(block: Block, kind: Kind) -> FloatArray:
    if kind != "multiple":
        return _entropy_of_values(block)
    share = np.diff(block.first_support_of_fact) / block.n_voices_of_fact
    entropy_of_fact = -(_x_log_x(share) + _x_log_x(1.0 - share)) / np.log(2.0)
    total: FloatArray = np.add.reduceat(entropy_of_fact, block.first_fact_of_item[:-1])
    mean: FloatArray = total / np.diff(block.first_fact_of_item)
    return np.clip(mean, 0.0, 1.0)


def _entropy_of_values(block: Block) -> FloatArray:
    """H / log k, with H = log n - Σ_v n_v log n_v / n for n claims, n_v of them of the value v."""
    n_values = np.diff(block.first_fact_of_item)
    supporters = np.diff(block.first_support_of_fact).astype(np.float64)
    first = block.first_fact_of_item[:-1]
    n_claims = np.add.reduceat(supporters, first)
    entropy = np.log(n_claims) - np.add.reduceat(_x_log_x(supporters), first) / n_claims
    normalised = np.divide(
        entropy, np.log(n_values), out=np.zeros(len(n_values)), where=n_values > 1
    )
    return np.clip(normalised, 0.0, 1.0)  # rounding may lead a little out


def _x_log_x(x: FloatArray) -> FloatArray:
    return x * np.log(x, out=np.zeros(len(x)), where=x > 0)


def _judged(blocks: list[Block], n_sources: int) -> tuple[FloatArray, FloatArray]:
    """How many items each source is right about, and how many it speaks of that are known."""
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
    """Partition of whole, NaN where there is no whole."""
    ratio: FloatArray = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return ratio


# --- tables --------------------------------------------------------------------------------------


def _items_table(part: Partition, block: Block, kind: Kind) -> pl.DataFrame:
    """One row per item, without its entity."""
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
    """The characteristics of all items and sources that are means and shares."""
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
    """Claims and items of each source; and how far others say what it says, of shared items.

    Sums of the share of the item's other sources that name the same value; and of claims that name
    the value most sources name, of t such values one over t.
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
