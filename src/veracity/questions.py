"""What to ask next: the items whose true value would help most.

A known truth helps in three ways. It settles the item itself. It teaches of the sources that speak
of it: the more, the more of what they say elsewhere is in doubt, the less sure their word is here,
and the less of it is known already. Both are counted in the items that are right thereafter and
would not have been. And it decides between two readings of the claims, where there are two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import clamp_known
from veracity.algorithms.checks import require_at_least
from veracity.algorithms.default import ITEMS_PER_LABEL, MOST_LABELS
from veracity.algorithms.prior import UNLEARNED
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Encoded
from veracity.fit.judging import Judged
from veracity.fit.readings import Reading, differing, find_readings
from veracity.kernels.loading import kernels
from veracity.naming import as_text
from veracity.result import Result

DECIDES = 10.0
"""How many times as much it helps to know an item on which readings differ."""

ALIKE = 0.2
"""How alike voices on one item err: what a claim weighs falls with the number of voices."""

LEAST_VARIANCE = 0.05
"""No source is thought to be right, or wrong, more surely than nineteen times in twenty."""

MOST_VALUES = 10
"""So many values of an item are named to choose from."""

COLUMNS: dict[str, Any] = {
    "values": pl.List(pl.String), "plausibility": pl.Float64, "claims": pl.Int64,
    "gain": pl.Float64, "why": pl.String,
}  # fmt: skip

LOOKED_AT = 50
"""Items from which each question is chosen, for each that is asked: those that help most alone."""


def questions_of(result: Result, budget: int) -> pl.DataFrame:
    """The items to ask for, those that help most first.

    Items of one batch are to tell of different sources: what an answer would teach of a source
    counts less once another item of the batch does.
    """
    require_at_least("questions", 1, budget=budget)
    budget = int(budget)
    result = result.fetch()
    if result.kind == "numeric":
        return _of_numbers(result, budget)
    encoded = result.encoded
    readings = _readings(result)
    plausibility = _in_own_reading(result) if readings else result.plausibility_by_block
    of_block = _deciding(encoded, readings)
    cells = _cells(encoded, plausibility)
    helps, decides = _alone(encoded, plausibility, cells, of_block), np.concatenate(of_block)
    chosen = _diverse(encoded, plausibility, helps, decides, cells, budget)
    first = np.cumsum([0, *(block.n_items for block in encoded.blocks)])
    rows = [_row(result, item, first, readings, bool(decides[item]), helps) for item in chosen]
    names = [_names(encoded, item, first) for item in chosen]
    items = pl.concat([encoded.parts[0].items.head(0), *names])
    return items.hstack(pl.DataFrame(rows, schema=COLUMNS))


def _names(encoded: Encoded, item: int, first: IntArray) -> pl.DataFrame:
    """What the item is called, as a table of one row."""
    part = int(np.searchsorted(first, item, side="right")) - 1
    return encoded.parts[part].items.slice(item - int(first[part]), 1)


def _readings(result: Result) -> list[Reading]:
    """The other readings, with what they answer; nobody looks again where none was found."""
    encoded, fitted = result.encoded, result.fitted
    if not result.run.readings or fitted is None:
        return []
    judged = Judged(plausibility=result.plausibility_by_block)
    return find_readings(encoded, fitted.algorithm, fitted.state, judged)


def _in_own_reading(result: Result) -> list[FloatArray]:
    """Plausibilities in the reading that is the answer, whatever the other one says.

    Doubt about which reading is right counts by itself, where an item decides between them.
    """
    encoded, fitted = result.encoded, result.fitted
    assert fitted is not None
    algorithm, state = fitted.algorithm, fitted.algorithm.in_own_reading(fitted.state)
    return [clamp_known(algorithm.judge(block, state), block) for block in encoded.blocks]


class _Cells(NamedTuple):
    """[source · attribute]: what is to be learned of each source, by attribute.

    `at_stake` is how many items would change for one unit of what a claim of the source weighs (in
    log-odds), `variance` that of being right, and `known` on how many known items it speaks.
    """

    at_stake: FloatArray
    variance: FloatArray
    known: FloatArray

    def worth(self) -> FloatArray:
        """How many further items are right, on average, per p (1 - p) of a word that is settled.

        It moves the accuracy by 1 / (known + `UNLEARNED`), and what claims weigh by that over
        the variance. An item changes where its margin is smaller than such a move, and is then
        right more often by a quarter of what the move exceeds it by, on average.
        """
        moves = 1.0 / ((self.known + UNLEARNED) * self.variance)
        return np.asarray(0.25 * self.at_stake * moves**2)


def _cells(encoded: Encoded, plausibility: Sequence[FloatArray]) -> _Cells:
    """What is at stake: Σ p (1 - p) over claims, since that is a density over log-odds.

    Claims weigh less where many voices speak, as in judging. Where items share labels, a truth
    tells only of the items with the same label.
    """
    shape = (encoded.names.n_sources, max(len(encoded.names.attributes), 1))
    claims, right, at_stake, known = (np.zeros(shape) for _ in range(4))
    for block, p in zip(encoded.blocks, plausibility, strict=True):
        design_effect = 1.0 + (block.n_voices_of_fact - 1.0) * ALIKE
        is_known = np.repeat(block.is_known, block.n_facts_of_item).astype(np.float64)
        doubt = p * (1.0 - p) / design_effect**2
        for of_cell, of_fact in (
            (claims, np.ones(block.n_facts)), (right, p), (at_stake, doubt), (known, is_known)
        ):  # fmt: skip
            of_cell[:] += kernels.sum_by_source(block, of_fact, block.attribute_of_item, *shape)
    accuracy = (right + 1.0) / (claims + 2.0)
    variance = np.maximum(accuracy * (1.0 - accuracy), LEAST_VARIANCE)
    n_labels = len(encoded.names.labels)
    is_shared = 1 < n_labels <= MOST_LABELS and encoded.n_items >= ITEMS_PER_LABEL * n_labels
    return _Cells(
        at_stake.ravel() / (n_labels if is_shared else 1), variance.ravel(), known.ravel()
    )


def _deciding(encoded: Encoded, readings: list[Reading]) -> list[BoolArray]:
    """Which items the first of the other readings answers otherwise."""
    if not readings:
        return [np.zeros(block.n_items, dtype=np.bool_) for block in encoded.blocks]
    reading, found = readings[0], []
    for block, small, chosen, own, its in zip(
        encoded.blocks, reading.sample.blocks, reading.sample.chosen, reading.sample.answer,
        reading.other, strict=True,
    ):  # fmt: skip
        is_deciding = np.zeros(block.n_items, dtype=np.bool_)
        is_deciding[np.flatnonzero(chosen)[differing(small, own, its)]] = True
        found.append(is_deciding)
    return found


def _alone(
    encoded: Encoded,
    plausibility: Sequence[FloatArray],
    cells: _Cells,
    decides: list[BoolArray],
) -> FloatArray:
    """How much it would help to know each item, were it the only one."""
    worth = cells.worth().reshape(encoded.names.n_sources, -1)
    triples = zip(encoded.blocks, plausibility, decides, strict=True)
    return np.concatenate([_helps(block, p, worth, own) for block, p, own in triples])


def _helps(
    block: Block, plausibility: FloatArray, worth: FloatArray, decides: BoolArray
) -> FloatArray:
    """How much it would help to know each item; nothing where it is known, or nobody differs."""
    unsure = np.repeat(plausibility * (1.0 - plausibility), block.n_supports_of_fact)
    first = block.first_support_of_fact[block.first_fact_of_item]
    attribute = np.repeat(block.attribute_of_item, block.n_supports_of_item)
    sums = np.append(0.0, np.cumsum(unsure * worth[block.source_of_support, attribute]))
    teaches = sums[first[1:]] - sums[first[:-1]]
    helps = (teaches + _own_doubt(block, plausibility)) * np.where(decides, DECIDES, 1.0)
    said, could_be = block.n_supports_of_item, block.n_facts_of_item * block.n_voices_of_item
    is_disputed = (said > 0) & (said < could_be)  # nobody may say that a binary fact is true
    return np.asarray(np.where(~block.is_known & is_disputed, helps, 0.0))


def _own_doubt(block: Block, plausibility: FloatArray) -> FloatArray:
    """How likely each item is wrong: that is what is gained if it is known."""
    return np.asarray(1.0 - np.maximum.reduceat(plausibility, block.first_fact_of_item[:-1]))


def _diverse(
    encoded: Encoded,
    plausibility: Sequence[FloatArray],
    helps: FloatArray,
    decides: BoolArray,
    cells: _Cells,
    budget: int,
) -> list[int]:
    """One item after the other, each time that which helps most beside those chosen before."""
    ranked = np.argsort(-np.round(helps / max(helps.max(), 1e-300), SAME), kind="stable")
    left = ranked[: LOOKED_AT * budget]
    left = left[helps[left] > 0.0]
    if not len(left):
        return []
    taught, chosen = _taught(encoded, plausibility, left), list[int]()
    pairs = zip(encoded.blocks, plausibility, strict=True)
    doubt = np.concatenate([_own_doubt(*pair) for pair in pairs])[left]
    times, is_left = np.where(decides[left], DECIDES, 1.0), np.ones(len(left), dtype=np.bool_)
    while is_left.any() and len(chosen) < budget:
        worth = cells.worth()[taught.cell] * taught.unsure
        gains = (np.add.reduceat(worth, taught.first[:-1]) + doubt) * times
        best = int(np.argmax(np.where(is_left, np.round(gains, SAME), -1.0)))
        is_left[best] = False
        chosen.append(int(left[best]))
        cells.known[taught.cell[taught.first[best] : taught.first[best + 1]]] += 1.0
    return chosen


class _Taught(NamedTuple):
    """Of which cells each item would teach, and how unsure each word is."""

    first: IntArray
    cell: IntArray
    unsure: FloatArray


def _taught(encoded: Encoded, plausibility: Sequence[FloatArray], items: IntArray) -> _Taught:
    n_attributes = max(len(encoded.names.attributes), 1)
    bounds = np.cumsum([0, *(block.n_items for block in encoded.blocks)])
    cells, unsure = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for item in items:
        part = int(np.searchsorted(bounds, item, side="right")) - 1
        block, own = encoded.blocks[part], int(item - bounds[part])
        facts = slice(int(block.first_fact_of_item[own]), int(block.first_fact_of_item[own + 1]))
        a, b = block.first_support_of_fact[[facts.start, facts.stop]]
        p = plausibility[part][facts]
        source = block.source_of_support[a:b].astype(np.int64)
        cells.append(source * n_attributes + int(block.attribute_of_item[own]))
        unsure.append(np.repeat(p * (1.0 - p), block.n_supports_of_fact[facts]))
    first = np.cumsum([len(part) for part in cells])
    return _Taught(first, np.concatenate(cells), np.concatenate(unsure))


def _row(
    result: Result,
    item: int,
    first: IntArray,
    readings: list[Reading],
    decides: bool,
    helps: FloatArray,
) -> dict[str, Any]:
    encoded = result.encoded
    part = int(np.searchsorted(first, item, side="right")) - 1
    of_part = encoded.parts[part]
    own, block = item - int(first[part]), of_part.block
    start, n_facts = int(block.first_fact_of_item[own]), int(block.n_facts_of_item[own])
    plausibility = result.plausibility_by_block[part][start : start + n_facts]
    facts = of_part.facts.slice(start, n_facts).with_columns(plausibility=plausibility)
    facts = facts.sort(pl.col("plausibility").round(SAME), descending=True, maintain_order=True)
    values = ["true", "false"]
    if "value" in facts.columns:
        values = as_text(facts["value"].head(MOST_VALUES)).to_list()
    n_voices = int(block.n_voices_of_item[own])
    reason = (
        f"{n_voices} sources disagree about it"
        if n_voices > 1
        else "one source makes a claim about it"
    )
    if decides:
        reason = f"it shows which of two readings is right ({readings[0].name}); {reason}"
    return {
        "values": values,
        "plausibility": float(facts["plausibility"][0]),
        "claims": n_voices,
        "gain": float(helps[item]),
        "why": reason,
    }


def _of_numbers(result: Result, budget: int) -> pl.DataFrame:
    """The numbers to ask for: where claims lie far from the estimate, and there are many.

    An error that is usual for one attribute is large for another, so errors are compared within
    their attribute.
    """
    encoded, facts = result.encoded, result.tables.facts
    keys = encoded.parts[0].items.columns
    n = pl.col("supporters")
    by_support = pl.col("value").cast(pl.String).sort_by(n, descending=True, maintain_order=True)
    spread = ((pl.col("distance") ** 2 * n).sum() / n.sum()).sqrt()
    items = facts.group_by(keys, maintain_order=True).agg(
        values=by_support.head(MOST_VALUES), claims=n.sum().cast(pl.Int64), spread=spread
    )
    is_known = np.concatenate([block.is_known for block in encoded.blocks])
    usual = (pl.col("spread") ** 2).mean().sqrt()
    times = pl.col("spread") / (usual.over("attribute") if "attribute" in keys else usual)
    items = items.with_columns(times=times).filter(~pl.Series(is_known), pl.col("spread") > 0.0)
    gain = pl.col("times") * (1.0 + pl.col("claims")).log(2.0)
    why = pl.format(
        "{} claims, {} times as far from the estimate as is usual",
        "claims",
        pl.col("times").round(1),
    )
    asked = items.with_columns(gain=gain, why=why, plausibility=pl.lit(None, pl.Float64))
    order = asked.sort(pl.col("gain").round(SAME), *keys, descending=[True, *(False for _ in keys)])
    return order.select(*keys, *COLUMNS).head(budget)
