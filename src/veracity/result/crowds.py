"""Describe labels of a crowd: who confuses what, how likely labels are, which items are hard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from veracity import kernels
from veracity.algorithms.labels import spread_labels
from veracity.algorithms.rules import clamp_labels, label_probabilities, label_scores
from veracity.encoding.block import SAME, Block, FloatArray, IntArray
from veracity.errors import ParameterError, TooLarge
from veracity.naming import as_text
from veracity.reading.roles import Kind, keys_of
from veracity.result.records import free_names, in_own_names, own_names

if TYPE_CHECKING:
    from veracity.result import Result

MOST_LABELS = 100
"""Largest number of distinct values for which confusions are computed."""

MOST_COLUMNS = 1_000
"""Largest number of labels that get a column each."""

MOST_CELLS = 20_000_000
"""Largest number of rows of a table of confusions."""


# --- who confuses what ----------------------------------------------------------------------------


def confusions_of(result: Result) -> pl.DataFrame:
    """Return one row per source, true label and claimed label: see `Result.confusions`."""
    encoded = result.encoded
    labels = pl.Series([True, False]) if result.kind == "binary" else encoded.names.labels
    _check_labels(result, len(labels))
    shape = (encoded.names.n_sources, len(labels))
    look = ConfusionsOfBlock(result.kind, shape)
    is_remote = encoded.is_remote
    answers = vars(result.tables)["facts"].answers if is_remote else result.plausibility_by_block
    counts: FloatArray = encoded.summed(look, answers)
    total = counts.sum(axis=2, keepdims=True)
    learned = _learned(result, counts.shape)
    nothing = np.full(counts.shape, np.nan)
    share = np.divide(counts, total, out=nothing, where=total > 0) if learned is None else learned
    speaks = np.flatnonzero(counts.sum(axis=(1, 2)) > 0)
    source, true, said = (grid.ravel() for grid in np.meshgrid(
        speaks, np.arange(shape[1]), np.arange(shape[1]), indexing="ij"))  # fmt: skip
    return pl.DataFrame(
        {
            "source": encoded.names.sources.gather(source),
            "true": labels.gather(true),
            "said": labels.gather(said),
            "probability": share[source, true, said],
            "claims": counts[source, true, said],
        }
    ).with_columns(pl.col("probability").fill_nan(None))


@dataclass(frozen=True)
class ConfusionsOfBlock:
    """Counts [source, true label, claimed label] of a block, weighted by plausibilities."""

    kind: Kind
    shape: tuple[int, int]

    def __call__(self, block: Block, plausibility: FloatArray) -> FloatArray:
        """Return the counts; those of several blocks can be added."""
        n_sources, n_labels = self.shape
        if self.kind == "categorical":
            label = spread_labels(plausibility, block, n_labels)
            return np.asarray(kernels.count_confusions(block, label, n_sources))
        right, supports, true, facts = kernels.count_votes(block, plausibility, n_sources).T
        wrong = supports - right
        said = [[right, true - right], [wrong, facts - true - wrong]]
        return np.asarray(np.maximum(np.moveaxis(np.array(said), 2, 0), 0.0))


def _learned(result: Result, shape: tuple[int, ...]) -> FloatArray | None:
    """Return the confusions that the algorithm learned; None if it learns none for these labels."""
    fitted = result.fitted
    learned = None if fitted is None else fitted.description.confusion
    return learned if learned is not None and learned.shape == shape else None


def _check_labels(result: Result, n_labels: int) -> None:
    if result.kind not in ("categorical", "binary"):
        raise ParameterError(f"confusions are of labels, not for {result.kind} claims")
    names = result.encoded.names
    if names.n_unnumbered or n_labels > MOST_LABELS or names.n_sources * n_labels**2 > MOST_CELLS:
        raise ParameterError(
            f"confusions: {n_labels:,} different values and {names.n_sources:,} sources are too "
            f"many; they are for items that share a few labels, at most {MOST_LABELS}"
        )


# --- how likely each label is ---------------------------------------------------------------------


def probabilities_of(
    result: Result, columns: Mapping[str, str] = MappingProxyType({})
) -> pl.DataFrame:
    """Return one row per item and one column per label: see `Result.probabilities`.

    `columns` has the user's names for the columns that name the items; labels do not change them.
    """
    if result.kind == "numeric":
        raise ParameterError("probabilities are of labels, not for numeric claims")
    facts = result.tables.facts
    if result.kind == "binary":
        table = facts.select("fact", true="plausibility", false=1.0 - pl.col("plausibility"))
        return in_own_names(table, columns, result.kind)
    labels = facts["value"].unique().sort()
    if len(labels) > MOST_COLUMNS:
        raise TooLarge(
            f"probabilities: {len(labels):,} different values are more columns than a table should "
            f"have ({MOST_COLUMNS:,}); take result.facts, which has one row for each"
        )
    keys = keys_of(facts)
    called = own_names(keys, columns, result.kind)
    names = free_names(as_text(labels), taken=called.values())
    numbered = labels.to_frame("value").with_columns(number=pl.Series(range(len(labels))))
    told = facts.select(*keys, "value", "plausibility").join(
        numbered.with_columns(pl.col("number").cast(pl.String)), on="value", maintain_order="left"
    )
    wide = told.pivot("number", index=keys, values="plausibility", maintain_order=True)
    learned = _of_every_label(result, labels)
    if learned is not None:
        wide = wide.select(keys).hstack([pl.Series(str(i), own) for i, own in enumerate(learned.T)])
    shares = [pl.col(str(i)).fill_null(0.0).alias(name) for i, name in enumerate(names)]
    return wide.select(*(pl.col(key).alias(called[key]) for key in keys), *shares)


def _of_every_label(result: Result, labels: pl.Series) -> FloatArray | None:
    """Return [item, label] if the algorithm also judges labels that nobody claims of an item."""
    fitted = result.fitted
    if fitted is None or fitted.description.confusion is None:
        return None
    here, found = result.fetch(), []
    for block in here.encoded.blocks:
        weights = fitted.algorithm.weigh(block, fitted.state)
        if weights is None or weights.confusion is None:
            return None
        found.append(clamp_labels(label_probabilities(label_scores(block, weights)), block))
    number = {label: i for i, label in enumerate(here.encoded.names.labels.to_list())}
    return np.concatenate(found)[:, [number[label] for label in labels.to_list()]]


# --- which items are hard -------------------------------------------------------------------------


def difficulty_of(result: Result) -> pl.DataFrame:
    """Return one row per item, the hardest first: see `Result.difficulty`."""
    if result.kind == "numeric":
        raise ParameterError("difficulty is of labels, not for numeric claims")
    here = result.fetch()
    encoded = here.encoded
    found = [
        part.items.with_columns(
            entropy=_entropy(part.block, p, here.kind),
            agreement=_agreement(part.block, here.kind),
            claims=part.block.n_voices_of_item,
            **_learned_difficulty(here, part.block),
        ).with_columns(pl.col("agreement").fill_nan(None))
        for part, p in zip(encoded.parts, here.plausibility_by_block, strict=True)
    ]
    keys = keys_of(found[0])
    return pl.concat(found).sort(
        pl.col("entropy").round(SAME), "agreement", *keys,
        descending=[True, False, *(False for _ in keys)], nulls_last=True,
    )  # fmt: skip


def _learned_difficulty(result: Result, block: Block) -> dict[str, FloatArray]:
    """Return the column of difficulties that the algorithm learned, if it learns any."""
    fitted = result.fitted
    learned = None if fitted is None else fitted.algorithm.difficulty(block, fitted.state)
    return {} if learned is None else {"difficulty": learned}


def _entropy(block: Block, plausibility: FloatArray, kind: Kind) -> FloatArray:
    """Return the entropy of each item in bits; "no claimed value is true" counts as one more value.

    If several values may be true, it is the mean over the values of the entropy of true or false.
    """
    first = block.first_fact_of_item[:-1]
    if kind == "multiple":
        of_fact = -x_log_x(plausibility) - x_log_x(1.0 - plausibility)
        return np.asarray(np.add.reduceat(of_fact, first) / block.n_facts_of_item)
    total = np.add.reduceat(plausibility, first)
    whole = np.maximum(total, 1.0)  # scores of some algorithms are no probabilities
    share = plausibility / np.repeat(whole, block.n_facts_of_item)
    rest = np.maximum(1.0 - total, 0.0)
    return np.maximum(-np.add.reduceat(x_log_x(share), first) - x_log_x(rest), 0.0)


def x_log_x(x: FloatArray) -> FloatArray:
    """Return x log x, with logarithms to base 2; 0 where x is 0."""
    return np.asarray(x * np.log2(x, out=np.zeros(len(x)), where=x > 0))


def _agreement(block: Block, kind: Kind) -> FloatArray:
    """Return the share of the pairs of claims on an item that agree; NaN if there is no pair."""
    claims, item, _ = claims_of_value(block, kind)
    n_claims = np.bincount(item, claims, block.n_items)
    agreeing = np.bincount(item, claims * (claims - 1.0), block.n_items)
    of = n_claims * (n_claims - 1.0)
    return np.asarray(np.divide(agreeing, of, out=np.full(len(of), np.nan), where=of > 0))


def claims_of_value(block: Block, kind: Kind) -> tuple[FloatArray, IntArray, IntArray]:
    """Count how often each value of each item is claimed; return the numbers, items and labels.

    The values of a binary fact are true and false.
    """
    if kind != "binary":
        block = block.strongest_claims()[0] if kind == "categorical" else block
        return block.n_supports_of_fact.astype(np.float64), block.item_of_fact, block.label_of_fact
    supports = block.n_affirming_of_item.astype(np.float64)
    item = np.tile(np.arange(block.n_items), 2)
    label = np.repeat([1, 0], block.n_items)
    return np.append(supports, block.n_voices_of_item - supports), item, label
