"""From arrays back to tables: the names are put on what was found, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Algorithm, Copies, Rates
from veracity.algorithms.numbers import difference
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import ratio
from veracity.encoding.block import SAME, Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.partitions import Encoded, Partition
from veracity.fit.judging import Judged, Met
from veracity.io.lazy import LazyTable
from veracity.kernels.loading import kernels
from veracity.reading.schema import Kind
from veracity.result.features import features_table
from veracity.result.intervals import ranges_of

SHOWN = 8
"""So many truths are shown of a result."""


class _Table:
    """A field of a table that may be made piece by piece: it is collected when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, tables: Any, owner: type) -> pl.DataFrame:
        if tables is None:
            raise AttributeError(self._name)  # so the field has no default
        table = vars(tables)[self._name]
        if not isinstance(table, LazyTable):
            return table  # type: ignore[no-any-return]
        collected = table.collect()
        if table.is_kept:
            vars(tables)[self._name] = collected
        return collected

    def __set__(self, tables: Any, table: pl.DataFrame | LazyTable) -> None:
        vars(tables)[self._name] = table


@dataclass(frozen=True)
class Tables:
    """The tables of a result, as polars frames.

    There are copies if the algorithm looks for them, and changes if values were normalised; what
    features are worth, and those of the sources, if there were any.
    """

    truths: _Table = _Table()
    facts: _Table = _Table()
    sources: _Table = _Table()
    copies: pl.DataFrame | None = None
    changes: pl.DataFrame | None = None
    features: pl.DataFrame | None = None
    source_features: pl.DataFrame | None = None
    item_features: pl.DataFrame | None = None


class Short(NamedTuple):
    """Truths in short: how many there are, how many are contested, and some to be shown."""

    n_truths: int
    n_contested: int
    closest: pl.DataFrame

    @classmethod
    def of(cls, truths: pl.DataFrame | LazyTable) -> Short:
        """One look at the truths, piece by piece."""
        if not isinstance(truths, LazyTable):
            return _in_short(truths)
        n_truths, n_contested, closest = zip(*truths.each(_in_short), strict=True)
        return cls(sum(n_truths), sum(n_contested), closest_first(pl.concat(closest), SHOWN))


def _in_short(truths: pl.DataFrame) -> Short:
    return Short(len(truths), int(truths["contested"].sum()), closest_first(truths, SHOWN))


def closest_first(truths: pl.DataFrame, most: int) -> pl.DataFrame:
    """So many truths, those least sure against others first; the first where that is not told."""
    if "margin" not in truths.columns:
        return truths.head(most)
    is_undisputed = (~pl.col("contested")).cast(pl.Float64)
    distance = pl.col("margin").round(SAME) + 2.0 * is_undisputed  # no margin is larger than 1
    near = truths.filter(distance <= distance.bottom_k(most).max())  # few are left to sort
    return near.sort(distance, maintain_order=True).head(most)


def tabulate(
    encoded: Encoded,
    judged: Judged,
    told: tuple[Algorithm[Any], Any],
    prior: PriorRates,
    min_plausibility: float | None,
    *,
    n_learned: float,
    changes: pl.DataFrame | None = None,
) -> Tables:
    """Put the names back on what an algorithm, with its state, says of the claims.

    It learned from `n_learned` claims: those at hand, or more.
    """
    algorithm, state = told
    trust = algorithm.trust(state)
    n_rows = {"truths": encoded.n_items, "facts": encoded.n_facts}
    make = TablesOfPart(encoded.kind, min_plausibility)
    if encoded.kind == "numeric":
        truths, facts = encoded.parts.tables(make, judged.estimate, n_rows)
        learned = {"trust": trust, "bias": algorithm.bias(state)}
        return Tables(truths, facts, _number_sources(encoded, judged, learned), None, changes)
    assert judged.met is not None  # claims that are no numbers have plausibilities
    truths, facts = encoded.parts.tables(make, judged.plausibility, n_rows)
    rates = algorithm.rates(state, judged.met.counts)
    sources = _sources_table(encoded, judged.met, rates)
    if trust is not None:
        sources = sources.with_columns(trust=trust)
    sources = _with_intervals(sources, judged.met, encoded.kind, (rates, prior))
    copies = algorithm.copies(state)
    told_copies = None if copies is None else copies_table(encoded.names, copies)
    of_sources, of_items = algorithm.source_features, algorithm.item_features
    return Tables(
        truths, facts, sources, told_copies, changes,
        features=features_table(algorithm, state, judged.met, n_learned),
        source_features=None if of_sources is None else of_sources.table,
        item_features=None if of_items is None else of_items.table,
    )  # fmt: skip


@dataclass(frozen=True)
class TablesOfPart:
    """Makes the truths or the facts of a part from the answer to it, wherever the part is.

    The answer has plausibilities of facts; or, for numbers, estimates of items and their errors.
    """

    kind: Kind
    min_plausibility: float | None = None

    def __call__(self, part: Partition, answer: Any, name: str) -> pl.DataFrame:
        """The truths of a part, or its facts."""
        if self.kind == "numeric":
            return (_number_facts if name == "facts" else _number_truths)(part, *answer)
        if name == "facts":
            return _facts_table(part, answer)
        if self.kind == "categorical":
            return _single_truths(part, answer, self.min_plausibility)
        if self.kind == "multiple":
            return _multiple_truths(part, _facts_table(part, answer), self.min_plausibility)
        return _binary_truths(_facts_table(part, answer), self.min_plausibility)


def _facts_table(part: Partition, plausibility: FloatArray) -> pl.DataFrame:
    supporters = part.block.n_supports_of_fact
    return part.facts.with_columns(
        plausibility=plausibility,
        supporters=supporters,
        opposers=part.block.n_voices_of_fact - supporters,
    )


def _single_truths(
    part: Partition, plausibility: FloatArray, min_plausibility: float | None
) -> pl.DataFrame:
    block, n_values, value = part.block, part.block.n_facts_of_item, part.values
    assert value is not None  # binary facts have none
    has_second = n_values > 1
    # A rule for ties that does not depend on the order of the claims: more supporters, then the
    # first in sorted order.
    best, second = kernels.best_two(
        block.first_fact_of_item, np.round(plausibility, SAME), block.n_supports_of_fact
    )
    margin = np.where(has_second, plausibility[best] - plausibility[second], plausibility[best])
    refuted = _refuted(block)
    truths = part.items.with_columns(
        value=value.gather(best),
        plausibility=plausibility[best],
        runner_up=value.gather(second),
        margin=np.maximum(margin, 0.0),
        values=n_values,
        claims=block.n_supports_of_item,
        contested=has_second,
        tied=has_second & (np.round(margin, SAME) <= 0.0),
    ).with_columns(
        value=pl.when(~refuted).then("value"),
        tied=pl.col("tied") & ~refuted,
        runner_up=pl.when("contested").then("runner_up"),
    )
    return _abstain(truths, pl.col("plausibility"), min_plausibility)


def _multiple_truths(
    part: Partition, facts: pl.DataFrame, min_plausibility: float | None
) -> pl.DataFrame:
    threshold = 0.5 if min_plausibility is None else min_plausibility
    columns = part.items.columns
    is_true = pl.col("plausibility") >= threshold
    n_true = is_true.sum().over(columns)
    is_best = pl.col("plausibility").arg_max().over(columns) == pl.int_range(pl.len()).over(columns)
    return (
        facts.with_columns(
            values=pl.len().over(columns).cast(pl.Int64),
            claims=pl.col("supporters").sum().over(columns),
            contested=pl.col("opposers") > 0,
        )
        .filter(is_true | ((n_true == 0) & is_best))
        .with_columns(value=pl.when(pl.col("plausibility") >= threshold).then("value"))
        .select(*columns, "value", "plausibility", "values", "claims", "contested")
    )


def _binary_truths(facts: pl.DataFrame, min_plausibility: float | None) -> pl.DataFrame:
    p = pl.col("plausibility")
    truths = facts.select(
        "fact",
        value=p > 0.5,
        plausibility=p,
        margin=(2.0 * p - 1.0).abs(),
        claims=pl.col("supporters") + pl.col("opposers"),
        contested=(pl.col("supporters") > 0) & (pl.col("opposers") > 0),
        tied=((2.0 * p - 1.0).abs().round(SAME) <= 0.0),
    )
    return _abstain(truths, pl.max_horizontal(p, 1.0 - p), min_plausibility)


def _abstain(
    truths: pl.DataFrame, sureness: pl.Expr, min_plausibility: float | None
) -> pl.DataFrame:
    """Leave the value empty where it is not sure enough."""
    if min_plausibility is None:
        return truths
    return truths.with_columns(value=pl.when(sureness >= min_plausibility).then("value"))


def _sources_table(encoded: Encoded, met: Met, rates: Rates) -> pl.DataFrame:
    supports_of_true, supports, true, facts = met.counts.T
    if encoded.kind == "binary":
        right, made = 2.0 * supports_of_true + facts - supports - true, facts
    else:
        right, made = supports_of_true, supports
    accuracy = np.where(made > 0, np.clip(ratio(right, made), 0.0, 1.0), np.nan)
    return pl.DataFrame(
        {
            "source": encoded.names.sources,
            "tpr": rates.tpr,
            "fpr": rates.fpr,
            "accuracy": accuracy,
            "claims": met.claims.astype(np.int64),
            "items": encoded.items_of_source,
        }
    ).with_columns(pl.col("tpr", "fpr", "accuracy").fill_nan(None))


def _with_intervals(
    sources: pl.DataFrame, met: Met, kind: Kind, told: tuple[Rates, PriorRates]
) -> pl.DataFrame:
    rates, prior = told
    accuracy = sources["accuracy"].fill_null(np.nan).to_numpy()
    ranges = ranges_of(met, kind, rates, accuracy, prior.is_fixed, prior.known[:, 1])
    ends = {
        f"{name}_{end}": number
        for name, interval in ranges._asdict().items()
        for end, number in interval._asdict().items()
    }
    return sources.with_columns(**ends)


def copies_table(names: Names, copies: Copies) -> pl.DataFrame:
    """Return one row per pair of sources that may have copied, with the evidence."""
    sources = {
        "source": names.sources.gather(copies.source),
        "original": names.sources.gather(copies.original),
    }
    columns = {k: v for k, v in copies._asdict().items() if v is not None}
    counts = pl.col("shared", "agreeing", "mistakes").round().cast(pl.Int64)
    return pl.DataFrame({**columns, **sources}).with_columns(counts)


def _refuted(block: Block) -> pl.Series:
    """Which items have no true value among those claimed, because another is known to be true."""
    known = np.maximum.reduceat(block.known_of_fact, block.first_fact_of_item[:-1])
    return pl.Series(known == 0)


# --- how often sources are right ------------------------------------------------------------------


class Rightness(NamedTuple):
    """[source, attribute]: how many claims are right, as far as plausible, and of how many.

    Where there are no attributes, there is one column.
    """

    right: FloatArray
    claims: FloatArray
    """As far as they count."""
    made: FloatArray
    """How many there are, whatever they count."""

    def __add__(self, other: Rightness) -> Rightness:  # type: ignore[override]
        """The counts of both."""
        return Rightness(*(one + two for one, two in zip(self, other, strict=True)))

    def of(self, sources: np.ndarray[Any, Any], attribute: int = 0) -> float:
        """How often what these sources say of this attribute is right, on the whole."""
        claims = float(self.claims[sources, attribute].sum())
        return float(self.right[sources, attribute].sum()) / claims if claims else 0.0


def rightness(encoded: Encoded, plausibility: Any) -> Rightness:
    """How often each source is right on each attribute, by the plausibilities of each block.

    These are a sequence of arrays, or what the engine keeps in its place.
    """
    shape = (encoded.names.n_sources, max(len(encoded.names.attributes), 1))
    found: Rightness = encoded.summed(RightnessOfBlock(encoded.kind, shape), plausibility)
    return found


@dataclass(frozen=True)
class RightnessOfBlock:
    """How often each source is right in a block, wherever the block is."""

    kind: Kind
    shape: tuple[int, int]

    def __call__(self, block: Block, plausibility: FloatArray) -> Rightness:
        """The counts, which add up."""
        right = kernels.sum_by_source(block, plausibility, block.attribute_of_item, *self.shape)
        if self.kind == "binary":  # who does not support a fact denies it
            denied = kernels.count_votes(block, 1.0 - plausibility, self.shape[0])
            right[:, 0] += denied[:, 2] - denied[:, 0]
        claims = self._claims(block)
        return Rightness(
            right, claims, self._claims(block.without_shares()) if block.has_shares else claims
        )

    def _claims(self, block: Block) -> FloatArray:
        """How much each source claims, [source, attribute]."""
        one = np.ones(block.n_facts)
        if self.kind == "binary":  # these have no attributes
            return np.asarray(kernels.count_votes(block, one, self.shape[0])[:, 2:3])
        return np.asarray(kernels.sum_by_source(block, one, block.attribute_of_item, *self.shape))


def sources_by_attribute(encoded: Encoded, found: Rightness) -> pl.DataFrame | None:
    """How often each source is right on each attribute; None where there are no attributes."""
    if len(encoded.names.attributes) == 0:
        return None
    source, attribute = np.nonzero(found.claims)
    claims = found.claims[source, attribute]
    table = pl.DataFrame(
        {
            "source": encoded.names.sources.gather(source),
            "attribute": encoded.names.attributes.gather(attribute),
            "accuracy": found.right[source, attribute] / claims,
            "claims": found.made[source, attribute].astype(np.int64),
        }
    )
    return table.sort("source", "attribute")


# --- numbers --------------------------------------------------------------------------------------


def _number_sources(
    encoded: Encoded, judged: Judged, learned: Mapping[str, FloatArray | None]
) -> pl.DataFrame:
    assert judged.distances is not None  # numbers have estimates
    n_claims = judged.distances.n_claims
    sources = pl.DataFrame(
        {
            "source": encoded.names.sources,
            "deviation": np.sqrt(judged.distances.square / np.maximum(n_claims, 1.0)),
            "claims": n_claims.astype(np.int64),
            "items": encoded.items_of_source,
        }
    )
    return sources.with_columns(
        pl.Series(name, own) for name, own in learned.items() if own is not None
    )


def _number_truths(part: Partition, value: FloatArray, uncertainty: FloatArray) -> pl.DataFrame:
    block = part.block
    return part.items.with_columns(
        value=value,
        uncertainty=uncertainty,
        values=block.n_facts_of_item,
        claims=block.n_supports_of_item,
        contested=block.n_facts_of_item > 1,
    ).with_columns(pl.col("uncertainty").fill_nan(None))


def _number_facts(part: Partition, value: FloatArray, uncertainty: FloatArray) -> pl.DataFrame:
    block = part.block
    return part.items[block.item_of_fact].with_columns(
        value=block.number_of_fact,
        supporters=block.n_supports_of_fact,
        distance=difference(block.number_of_fact, value[block.item_of_fact]),
    )
