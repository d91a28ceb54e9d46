"""Turn arrays back into tables with names, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl

from veracity import kernels
from veracity.algorithms.base import Description, Rates
from veracity.algorithms.numbers import difference
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import ratio
from veracity.dependence import Copies
from veracity.encoding.block import SAME, Block, FloatArray, IntArray
from veracity.encoding.names import Names
from veracity.encoding.partitions import Encoded, Partition
from veracity.fit.judging import Judged, SourceSums
from veracity.fit.loop import Learned
from veracity.io.lazy import LazyTable
from veracity.reading.roles import Kind
from veracity.result.alternatives import alternatives_table
from veracity.result.crowds import confusions_of, difficulty_of, probabilities_of
from veracity.result.features import features_table
from veracity.result.intervals import ranges_of
from veracity.result.records import records_of
from veracity.result.run import findings_table

if TYPE_CHECKING:
    from veracity.result import Result

SHOWN = 8
"""Number of truths shown of a result."""


Stored = TypeVar("Stored", pl.DataFrame, pl.DataFrame | None)


class _Stored(Generic[Stored]):
    """Field for a table that may be made on first use; None if the result does not have it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, tables: Any, owner: type) -> Stored:
        table = None if tables is None else vars(tables)[self._name]  # None is the default
        if isinstance(table, LazyTable):
            lazy, table = table, table.collect()
            if lazy.is_kept:
                vars(tables)[self._name] = table
        return table  # type: ignore[return-value]

    def __set__(self, tables: Any, table: pl.DataFrame | LazyTable | None) -> None:
        vars(tables)[self._name] = table


@dataclass(frozen=True, repr=False)
class Tables:
    """Tables of a result, as polars frames, which are stored with it.

    `copies` exist if the algorithm looks for them, `changes` and `originals` if values were
    normalised, `features` if the algorithm learned from features.
    """

    truths: _Stored[pl.DataFrame] = _Stored()
    facts: _Stored[pl.DataFrame] = _Stored()
    sources: _Stored[pl.DataFrame] = _Stored()
    copies: _Stored[pl.DataFrame | None] = _Stored()
    changes: _Stored[pl.DataFrame | None] = _Stored()
    features: _Stored[pl.DataFrame | None] = _Stored()
    source_features: _Stored[pl.DataFrame | None] = _Stored()
    item_features: _Stored[pl.DataFrame | None] = _Stored()
    originals: _Stored[pl.DataFrame | None] = _Stored()
    """Original spellings that normalising changed, one row per claim."""
    history: _Stored[pl.DataFrame | None] = _Stored()


class Short(NamedTuple):
    """Summary of the truths: how many there are, how many are contested, and some examples."""

    n_truths: int
    n_contested: int
    closest: pl.DataFrame

    @classmethod
    def of(cls, truths: pl.DataFrame | LazyTable) -> Short:
        """Summarise the truths in one pass, piece by piece."""
        if not isinstance(truths, LazyTable):
            return _in_short(truths)
        n_truths, n_contested, closest = zip(*truths.each(_in_short), strict=True)
        return cls(sum(n_truths), sum(n_contested), closest_first(pl.concat(closest), SHOWN))


def _in_short(truths: pl.DataFrame) -> Short:
    return Short(len(truths), int(truths["contested"].sum()), closest_first(truths, SHOWN))


def closest_first(truths: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the closest calls among the truths; the first truths if no margin is known."""
    if "margin" not in truths.columns:
        return truths.head(most)
    is_undisputed = (~pl.col("contested")).cast(pl.Float64)
    distance = pl.col("margin").round(SAME) + 2.0 * is_undisputed  # no margin is larger than 1
    near = truths.filter(distance <= distance.bottom_k(most).max())  # few are left to sort
    return near.sort(distance, maintain_order=True).head(most)


def tabulate(
    encoded: Encoded,
    judged: Judged,
    learned: Learned,
    description: Description,
    min_plausibility: float | None,
    *,
    n_learned: float,
    changes: pl.DataFrame | None = None,
    originals: pl.DataFrame | None = None,
) -> Tables:
    """Return the answer and what was learned about the sources as tables with names.

    `n_learned` is the number of claims the algorithm learned from: those at hand, and perhaps
    earlier ones.
    """
    algorithm, state = learned.algorithm, learned.state
    trust = algorithm.trust(state)
    n_rows = {"truths": encoded.n_items, "facts": encoded.n_facts}
    make = TablesOfPart(encoded.kind, min_plausibility)
    if encoded.kind == "numeric":
        truths, facts = encoded.parts.tables(make, judged.estimate, n_rows)
        columns = {"trust": trust, "bias": description.bias}
        sources = _number_sources(encoded, judged, columns)
        return Tables(truths, facts, sources, changes=changes, originals=originals)
    rates, copies = description.rates, description.copies
    assert judged.met is not None  # claims that are no numbers have plausibilities
    assert rates is not None
    truths, facts = encoded.parts.tables(make, judged.plausibility, n_rows)
    sources = _sources_table(encoded, judged.met, rates)
    if trust is not None:
        sources = sources.with_columns(trust=trust)
    if description.habit is not None:
        sources = sources.with_columns(in_part=description.habit)
    sources = _with_intervals(sources, judged.met, encoded.kind, (rates, learned.prior))
    told_copies = None if copies is None else copies_table(encoded.names, copies)
    of_sources, of_items = algorithm.source_features, algorithm.item_features
    return Tables(
        truths, facts, sources, told_copies, changes,
        features=features_table(algorithm, description, judged.met, n_learned),
        source_features=None if of_sources is None else of_sources.table,
        item_features=None if of_items is None else of_items.table,
        originals=originals,
    )  # fmt: skip


@dataclass(frozen=True)
class TablesOfPart:
    """Function that makes the table of truths or of facts of a part, on any machine.

    The answer has plausibilities of facts; or, for numbers, estimates of items and their errors.
    """

    kind: Kind
    min_plausibility: float | None = None

    def __call__(self, part: Partition, answer: Any, name: str) -> pl.DataFrame:
        """Return the truths of a part, or its facts."""
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
    if min_plausibility is not None and len(block.first_partial_of_fact):
        truths = _in_part(truths, block, value, (plausibility, best), min_plausibility)
    return _abstain(truths, pl.col("plausibility"), min_plausibility)


def _in_part(
    truths: pl.DataFrame,
    block: Block,
    value: pl.Series,
    judged: tuple[FloatArray, IntArray],
    min_plausibility: float,
) -> pl.DataFrame:
    """Tell a value in part where the whole is not plausible enough: `in_part` marks these."""
    plausibility, best = judged
    less, whole = block.fact_of_partial, block.whole_of_partial
    told = block.as_far_as_told(plausibility)
    is_short = plausibility[best] < min_plausibility
    item = block.item_of_fact[whole]
    fits = (whole == best[item]) & is_short[item] & (told[less] >= min_plausibility)
    less, item = less[fits], item[fits]
    order = np.lexsort((np.round(told[less], SAME), item))  # what says most is least plausible
    item, first = np.unique(item[order], return_index=True)
    less = less[order][first]
    fact, is_part = best.copy(), np.zeros(block.n_items, dtype=np.bool_)
    fact[item], is_part[item] = less, True
    return truths.with_columns(
        value=pl.when(pl.Series(is_part)).then(value.gather(fact)).otherwise("value"),
        plausibility=np.where(is_part, told[fact], plausibility[best]),
        in_part=is_part,
    )


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
    """Clear the values that are less plausible than the user asked for."""
    if min_plausibility is None:
        return truths
    return truths.with_columns(value=pl.when(sureness >= min_plausibility).then("value"))


def _sources_table(encoded: Encoded, met: SourceSums, rates: Rates) -> pl.DataFrame:
    supports_of_true, supports, true, facts = met.counts.T
    if encoded.kind == "binary":
        right, made = 2.0 * supports_of_true + facts - supports - true, facts
    else:
        right, made = supports_of_true, supports
    accuracy = np.where(made > 0, np.clip(ratio(right, made), 0.0, 1.0), np.nan)
    return pl.DataFrame(
        {
            "source": encoded.names.sources,
            "accuracy": accuracy,
            "claims": met.claims.astype(np.int64),
            "items": encoded.items_of_source,
            "tpr": rates.tpr,
            "fpr": rates.fpr,
        }
    ).with_columns(pl.col("tpr", "fpr", "accuracy").fill_nan(None))


def _with_intervals(
    sources: pl.DataFrame, met: SourceSums, kind: Kind, told: tuple[Rates, PriorRates]
) -> pl.DataFrame:
    rates, prior = told
    accuracy = sources["accuracy"].fill_null(np.nan).to_numpy()
    ranges = ranges_of(met, kind, rates, accuracy, prior.is_fixed, prior.known[:, 1])
    ends = {
        f"{name}_{end}": number
        for name, interval in ranges._asdict().items()
        for end, number in interval._asdict().items()
    }
    with_ends = sources.with_columns(**ends)
    first = ["source", "accuracy", "accuracy_low", "accuracy_high", "claims", "items"]
    return with_ends.select(*first, pl.exclude(first))


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
    """Return the items whose known true value was claimed by nobody."""
    known = np.maximum.reduceat(block.known_of_fact, block.first_fact_of_item[:-1])
    return pl.Series(known == 0)


# --- how often sources are right ------------------------------------------------------------------


class Rightness(NamedTuple):
    """Arrays [source, attribute] of the expected number of right claims, and of all claims.

    Without attributes, there is one column.
    """

    right: FloatArray
    claims: FloatArray
    """Number of claims, each weighted by its share."""
    made: FloatArray
    """Number of claims, unweighted."""

    def __add__(self, other: Rightness) -> Rightness:  # type: ignore[override]
        """Return the sums of the counts."""
        return Rightness(*(one + two for one, two in zip(self, other, strict=True)))

    def of(self, sources: np.ndarray[Any, Any], attribute: int = 0) -> float:
        """Return how often these sources are right on this attribute, taken together."""
        claims = float(self.claims[sources, attribute].sum())
        return float(self.right[sources, attribute].sum()) / claims if claims else 0.0


def rightness(encoded: Encoded, plausibility: Any) -> Rightness:
    """Count how often each source is right on each attribute, by the plausibilities of each block.

    Plausibilities are a sequence of arrays, or the engine's own form of it.
    """
    shape = (encoded.names.n_sources, max(len(encoded.names.attributes), 1))
    found: Rightness = encoded.summed(RightnessOfBlock(encoded.kind, shape), plausibility)
    return found


@dataclass(frozen=True)
class RightnessOfBlock:
    """Function that counts how often each source is right in a block, on any machine."""

    kind: Kind
    shape: tuple[int, int]

    def __call__(self, block: Block, plausibility: FloatArray) -> Rightness:
        """Return the counts; those of several blocks can be added."""
        right = kernels.sum_by_source(block, plausibility, block.attribute_of_item, *self.shape)
        if self.kind == "binary":  # who does not support a fact denies it
            denied = kernels.count_votes(block, 1.0 - plausibility, self.shape[0])
            right[:, 0] += denied[:, 2] - denied[:, 0]
        claims = self._claims(block)
        return Rightness(
            right, claims, self._claims(block.without_shares()) if block.has_shares else claims
        )

    def _claims(self, block: Block) -> FloatArray:
        """Count the claims of each source, [source, attribute]."""
        one = np.ones(block.n_facts)
        if self.kind == "binary":  # these have no attributes
            return np.asarray(kernels.count_votes(block, one, self.shape[0])[:, 2:3])
        return np.asarray(kernels.sum_by_source(block, one, block.attribute_of_item, *self.shape))


def attributes_table(result: Result) -> pl.DataFrame | None:
    """Return one row per source and attribute; None if there are no attributes."""
    encoded, found = result.encoded, result.rightness
    if found is None or len(encoded.names.attributes) == 0:
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


# --- claims ---------------------------------------------------------------------------------------


def claims_of_block(block: Block, first_fact: int, kind: Kind) -> pl.DataFrame:
    """Return one row per claim: its row in the table of facts, and its row in the table of sources.

    Rows are sorted by fact. Binary claims have a Boolean `claim`; weighted claims have a `share`.
    """
    is_binary = kind == "binary"
    counts = block.n_voices_of_item if is_binary else block.n_supports_of_fact
    source = block.source_of_voice if is_binary else block.source_of_support
    fact = np.repeat(np.arange(first_fact, first_fact + len(counts), dtype=np.uint32), counts)
    claims = pl.DataFrame({"fact": fact, "source": source.astype(np.uint32)})
    if is_binary:
        claims = claims.with_columns(claim=block.affirms)
    if not block.has_shares:
        return claims
    return claims.with_columns(share=block.share_of_voice if is_binary else block.share_of_support)


def claims_of_part(part: Partition, sources: pl.Series, kind: Kind) -> pl.DataFrame:
    """Return one row per claim, with the names of the item, the claimed value and the source."""
    claims = claims_of_block(part.block, 0, kind)
    named = part.facts[claims["fact"]].with_columns(source=sources.gather(claims["source"]))
    return named.hstack(claims.drop("fact", "source"))


@dataclass(frozen=True)
class ClaimsOfPart:
    """Function that makes the table of claims of a part, on any machine."""

    kind: Kind
    sources: pl.Series
    min_plausibility: float | None = None

    def __call__(self, part: Partition, answer: Any, name: str) -> pl.DataFrame:
        """Return one row per claim: item, source, value, and how it compares with the answer."""
        block = part.block
        counts = block.n_voices_of_item if self.kind == "binary" else block.n_supports_of_fact
        fact = np.repeat(np.arange(block.n_facts), counts)
        claims = claims_of_part(part, self.sources, self.kind).rename(
            {"claim": "value"}, strict=False
        )
        if self.kind == "numeric":
            number = block.number_of_fact[fact]
            distance = difference(number, answer[0][block.item_of_fact[fact]])
            claims = claims.with_columns(value=number, distance=distance)
        elif self.kind == "multiple":
            least = 0.5 if self.min_plausibility is None else self.min_plausibility
            claims = claims.with_columns(agrees=answer[fact] >= least)
        else:
            truths = TablesOfPart(self.kind, self.min_plausibility)(part, answer, "truths")
            claims = claims.with_columns(
                agrees=claims["value"] == truths["value"].gather(block.item_of_fact[fact])
            )
        first = [*part.items.columns, "source", "value"]
        return claims.select(*first, pl.exclude(first))


def claims_table(result: Result) -> pl.DataFrame | LazyTable:
    """Return one row per claim, with its original spelling if normalising changed any."""
    encoded, kind, stored = result.encoded, result.kind, vars(result.tables)
    answers: Any = None
    if encoded.is_remote:
        answers = stored["facts"].answers
    elif kind == "numeric":
        truths = stored["truths"]
        rows = truths.scan() if isinstance(truths, LazyTable) else truths.lazy()
        value = rows.select("value").collect()["value"].to_numpy()
        ends = np.cumsum([block.n_items for block in encoded.blocks])[:-1]
        answers = [(own,) for own in np.split(value, ends)]
    else:
        answers = result.plausibility_by_block
    make = ClaimsOfPart(kind, encoded.names.sources, result.run.min_plausibility)
    (table,) = encoded.parts.tables(make, answers, {"claims": encoded.n_claims})
    originals = result.tables.originals
    if originals is None:
        return table  # type: ignore[no-any-return]
    with_originals = WithOriginals(originals)
    return table.changed(with_originals) if isinstance(table, LazyTable) else with_originals(table)


class WithOriginals:
    """Function that adds original spellings to claims; several by one source are joined."""

    def __init__(self, originals: pl.DataFrame) -> None:
        self._keys = [name for name in originals.columns if name != "original"]
        texts = pl.col("original").unique().sort().str.join(" | ")
        self._originals = originals.group_by(self._keys).agg(texts)

    def __call__(self, claims: pl.DataFrame) -> pl.DataFrame:
        """Return the claims with a column `original` after their value."""
        found = claims.join(
            self._originals, on=self._keys, how="left", maintain_order="left", nulls_equal=True
        )
        original = pl.col("original").fill_null(pl.col("value").cast(pl.String))
        first = [*claims.columns[: claims.columns.index("value") + 1], "original"]
        return found.with_columns(original).select(*first, pl.exclude(first))


# --- which tables there are -----------------------------------------------------------------------


@dataclass(frozen=True)
class TableSpec:
    """Table that a result can have."""

    about: str
    make: Callable[[Result], Any]
    missing: str = ""
    """Reason why a result may not have it."""
    in_database: bool = True
    database_name: str = ""
    """Name of the table in a database, if it differs."""
    make_for_user: Callable[[Result], pl.DataFrame] | None = None
    """Function that makes it with the user's column names, if renaming columns is not enough."""


def _stored(name: str) -> Callable[[Result], Any]:
    return lambda result: vars(result.tables)[name]


TABLES: dict[str, TableSpec] = {
    "truths": TableSpec(
        "one row per item: the chosen value, its plausibility, runner-up and margin",
        _stored("truths"),
    ),
    "facts": TableSpec(
        "one row per item and value: its plausibility, and the numbers of sources that support and "
        "oppose it",
        _stored("facts"),
    ),
    "sources": TableSpec(
        "one row per source: accuracy, tpr and fpr, each with a 90 % interval, and its numbers of "
        "claims and items",
        _stored("sources"),
    ),
    "claims": TableSpec(
        "one row per claim: item, source, value, and whether it `agrees` with the chosen value "
        "(empty where none was chosen); for numbers, its `distance`. `original` is the spelling of "
        "the source, if values were normalised and the claims fit in memory",
        claims_table,
        database_name="provenance",  # the claims that were read are often called claims
    ),
    "attributes": TableSpec(
        "one row per source and attribute: the share of its claims there that are right, by their "
        "plausibilities, and their number",
        attributes_table,
        "its claims have no attributes, or are numbers",
    ),
    "copies": TableSpec(
        "one row per pair of sources that may have copied: `source` is the likelier copier, with a "
        "probability of `direction` if one copies; `shared`, `agreeing` and `mistakes` count items "
        "that both claim, agree on, and are wrong about",
        _stored("copies"),
        "the algorithm does not look for copies",
    ),
    "confusions": TableSpec(
        "one row per source, true label and label said: its probability and number of claims; as "
        "learned if the algorithm learns confusions, else by plausibilities",
        confusions_of,
        in_database=False,
    ),
    "probabilities": TableSpec(
        "one row per item, one column per label: its plausibility, zero if nobody claims it",
        probabilities_of,
        in_database=False,
        make_for_user=lambda result: probabilities_of(result, result.run.input.columns),
    ),
    "difficulty": TableSpec(
        "one row per item, the hardest first: the `entropy` of its plausibilities in bits, and the "
        "share of pairs of claims with `agreement`; and `difficulty` where the algorithm learns it",
        difficulty_of,
        in_database=False,
    ),
    "alternatives": TableSpec(
        "one row per other answer that the claims allow: its `assumption`, the share of the items "
        "on which it `differs`, the sources it believes more and less, and examples",
        lambda result: alternatives_table(result.run.alternatives),
    ),
    "findings": TableSpec(
        "one row per reason to doubt the answer: its `severity` and `name`, what was seen, what it "
        "means and what helps",
        lambda result: findings_table(result.run.findings),
    ),
    "changes": TableSpec(
        "one row per value that normalising changed: before and after",
        _stored("changes"),
        "values were not normalised",
    ),
    "features": TableSpec(
        "one row per feature, or level of one: its `weight` in log-odds of the rate, per standard "
        "deviation of a number, with a 90 % interval, and the same in words",
        _stored("features"),
        "no features were given",
    ),
    "history": TableSpec(
        "one row per batch of claims and source: its accuracy there, with a 90 % interval, its "
        "number of claims, and whether it `fell` or `rose`; each update adds a batch",
        _stored("history"),
        "claims are numbers, or nothing was learned",
    ),
    "records": TableSpec(
        "one row per entity, one column per attribute: the chosen values",
        records_of,
        in_database=False,
        make_for_user=records_of,
    ),
}
"""Tables of a result: properties of `Result`, exports and tables of a database."""

NOTES, RECORDS = "notes", "records"
"""Tables of a database: the run with its notes, and the records if they are asked for."""

DATABASE_TABLES = {
    **{spec.database_name or name: name for name, spec in TABLES.items() if spec.in_database},
    NOTES: NOTES,
}
"""Tables that every database gets if the result has them: name there, and own name."""
