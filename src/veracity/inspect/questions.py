"""Draw the items to look up next.

Items are drawn with known probabilities, not ranked. A user who looks up close calls only never
finds a confident error, and cannot estimate the accuracy of the table. Two sorts of items are drawn
more often: items whose answer is in doubt, and items that show how accurate the opposing sources
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.parameters import require_at_least
from veracity.algorithms.rules import is_best_of_item
from veracity.checks.ranking import turned_over
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Encoded, Partition
from veracity.fit.alternatives import Alternative, differing, find_alternatives
from veracity.io.table_file import LIST_SEPARATOR, unguarded
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.result import Result

EVENLY = 0.2
"""Share of a batch that is drawn with equal probabilities. All of the first batch is drawn like
this, since nothing shows yet whether the plausibilities are right."""

RARELY = 0.1
"""Smallest assumed probability that a source is right when it opposes the answer."""

FEWEST_DRAWN = 20
"""Number of answers to drawn questions needed for an estimate of the other items."""

MOST_VALUES = 10
"""Largest number of values of an item that are offered as choices."""

ENOUGH_KNOWN = 8
"""Number of known truths needed about an attribute on which sources rank differently. Until then,
its items are drawn more often."""

COLUMNS: dict[str, Any] = {
    "values": pl.List(pl.String), "answer": pl.String, "plausibility": pl.Float64,
    "claims": pl.Int64, "why": pl.String, "inclusion": pl.Float64, "drawn": pl.Boolean,
    "asked_of": pl.Int64,
}  # fmt: skip


class Items(NamedTuple):
    """All items of a result, with the claims that oppose its answers.

    `sureness` is the plausibility of the answer; for a number it falls with the distance of claims
    from the estimate. `cell` is the number of a pair of source and attribute. `opposing` is the
    plausibility of the opposing claim.
    """

    can_be_asked: BoolArray
    is_disputed: BoolArray
    sureness: FloatArray
    doubt: FloatArray
    attribute: IntArray
    mark: IntArray
    opposed_item: IntArray
    cell: IntArray
    opposing: FloatArray


class Answered(NamedTuple):
    """Answered question: its item, and whether the answer at the time was right."""

    part: int
    item: int
    is_right: bool
    told: dict[str, Any]


def questions_of(result: Result, budget: int) -> pl.DataFrame:
    """Draw the items to look up next; return those with the least sure answers first."""
    require_at_least("questions", 1, budget=budget)
    result = result.fetch()
    encoded = result.encoded
    answers = [] if result.kind == "numeric" else result.plausibility_by_block
    items = items_of(result, answers)
    history, opposed = answered_of(encoded, result.run.asked)
    differs, another = _differing(result, answers)
    share = _shares(items, opposed, differs, is_first=not encoded.n_known)
    topics = _turned_over(encoded, answers)
    is_topic = items.can_be_asked & items.is_disputed & np.isin(items.attribute, list(topics))
    if is_topic.any():
        share = 0.5 * share + 0.5 * is_topic / is_topic.sum()

    n_asked_of = int(items.can_be_asked.sum())
    n = min(int(budget), n_asked_of)
    n_close = n // 2 if is_trusted(history) else 0
    by_sureness = (items.mark, np.round(items.sureness, SAME))
    inclusion = inclusions(share, n - n_close)
    rng = np.random.default_rng([result.run.seed, encoded.n_known])
    drawn = systematic(inclusion, np.lexsort((*by_sureness, items.attribute)), rng)
    ranked = np.lexsort((*by_sureness, ~items.is_disputed))
    is_drawn = np.isin(np.arange(len(ranked)), drawn)
    is_close = items.can_be_asked & items.is_disputed & ~is_drawn
    is_chosen = is_drawn.copy()
    is_chosen[ranked[is_close[ranked]][:n_close]] = True

    first = np.cumsum([0, *(block.n_items for block in encoded.blocks)])
    rows, names = list[dict[str, Any]](), [encoded.example.items.head(0)]
    for one in ranked[is_chosen[ranked]].tolist():
        number = int(np.searchsorted(first, one, side="right")) - 1
        reasons = [f"the two possible answers differ here ({another})"] if differs[one] else []
        if is_topic[one]:
            topic = in_short(topics[int(items.attribute[one])])
            reasons.append(f"sources rank differently on {topic} than elsewhere")
        is_meant = np.arange(first[number], first[number + 1]) == one
        if len(answers):
            some, p = encoded.parts[number].select_with(answers[number], is_meant)
            told = _of_value(result, some, p)
        else:
            some = encoded.parts[number].select(is_meant)
            told = _of_number(result, some, float(items.doubt[one]))
        told["why"] = "; ".join([*reasons, told["why"]])
        drawing = {"inclusion": float(inclusion[one]), "drawn": bool(is_drawn[one])}
        names.append(some.items)
        rows.append({**told, **drawing, "asked_of": n_asked_of})
    return pl.concat(names).hstack(pl.DataFrame(rows, schema=COLUMNS))


# --- the draw -------------------------------------------------------------------------------------


def inclusions(share: FloatArray, n: int) -> FloatArray:
    """Return the probability of each item to be among n items drawn in proportion to their shares.

    Items whose probability would exceed 1 are always drawn.

    >>> inclusions(np.array([0.7, 0.1, 0.1, 0.1]), 2).round(9).tolist()
    [1.0, 0.333333333, 0.333333333, 0.333333333]
    """
    certain = np.zeros(len(share), dtype=np.bool_)
    while True:
        left = np.where(certain, 0.0, share)
        wanted = n - int(certain.sum())
        found = np.where(certain, 1.0, wanted * left / max(left.sum(), 1e-300))
        if not (found > 1.0 + 1e-12).any():
            return np.minimum(found, 1.0)
        certain |= found >= 1.0


def systematic(inclusion: FloatArray, order: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw each item with its probability by systematic sampling in this order."""
    ends = np.cumsum(inclusion[order])
    n = round(float(ends[-1])) if len(ends) else 0
    hits = np.searchsorted(ends, rng.random() + np.arange(n), side="right")
    return order[np.minimum(hits, len(order) - 1)]


def _shares(
    items: Items, opposed: tuple[IntArray, FloatArray], differs: BoolArray, *, is_first: bool
) -> FloatArray:
    """Return the share of each item in a draw: partly equal, partly larger for useful questions."""
    can, n_cells = items.can_be_asked, int(max(map(_most, (items.cell, opposed[0])))) + 1
    is_open = can[items.opposed_item]
    cell, right = items.cell[is_open], items.opposing[is_open]
    chance = np.bincount(cell, right, n_cells) + 0.2
    chance = np.maximum(RARELY, chance / (np.bincount(cell, minlength=n_cells) + 1.0))
    a = 2.0 * chance + np.bincount(opposed[0], opposed[1], n_cells)
    b = 2.0 * (1.0 - chance) + np.bincount(opposed[0], 1.0 - opposed[1], n_cells)
    unknown = np.sqrt(a * b / (a + b + 1.0)) / (a + b)  # the standard deviation of a beta
    tells = np.bincount(items.opposed_item, unknown[items.cell], len(can))
    parts = [part * can for part in (tells, items.doubt, differs.astype(np.float64))]
    parts = [part / part.sum() for part in parts if part.sum() > 0.0]
    evenly = can / max(can.sum(), 1)
    if not parts or (is_first and not differs.any()):
        return np.asarray(evenly)
    return np.asarray(EVENLY * evenly + (1.0 - EVENLY) * np.mean(parts, axis=0))


def _most(numbers: IntArray) -> int:
    return int(numbers.max(initial=-1))


def items_of(result: Result, answers: Sequence[FloatArray]) -> Items:
    """Return all items, in the order of the blocks; numbers have no answers."""
    encoded, n_attributes = result.encoded, max(len(result.encoded.names.attributes), 1)
    found, n_before = list[Items](), 0
    spread = _spread(result) if not len(answers) else np.zeros(0)
    for number, block in enumerate(encoded.blocks):
        said, could_be = block.n_supports_of_item, block.n_facts_of_item * block.n_voices_of_item
        is_disputed = (said > 0) & (said < could_be)
        against: tuple[Any, ...] = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        if len(answers):
            p = answers[number]
            taken = taken_facts(block, p, result.kind, result.run.min_plausibility)
            sureness = sureness_of(block, p, taken, result.kind)
            doubt = np.sqrt(np.maximum(sureness * (1.0 - sureness), 0.0)) * is_disputed
            against = opposing(block, p, taken, result.kind)
        else:
            doubt = spread[n_before : n_before + block.n_items]
            sureness, is_disputed = 1.0 / (1.0 + doubt), doubt > 0.0
        item, source, chance = against
        cell = source * n_attributes + block.attribute_of_item[item]
        found.append(Items(
            ~block.is_known & (block.n_voices_of_item > 0), is_disputed, sureness, doubt,
            block.attribute_of_item.astype(np.int64), block.mark_of_item, item + n_before, cell,
            chance,
        ))  # fmt: skip
        n_before += block.n_items
    return Items(*map(np.concatenate, zip(*found, strict=True)))


def taken_facts(
    block: Block, plausibility: FloatArray, kind: str, least: float | None = None
) -> BoolArray:
    """Return the facts that an answer takes for true."""
    if kind == "categorical":  # of facts that tie, the first
        best = np.flatnonzero(is_best_of_item(plausibility, block))
        _, first = np.unique(block.item_of_fact[best], return_index=True)
        taken = np.zeros(block.n_facts, dtype=np.bool_)
        taken[best[first]] = True
        return taken
    threshold = 0.5 if kind == "binary" or least is None else least
    is_taken = plausibility > threshold if kind == "binary" else plausibility >= threshold
    return np.asarray(is_taken)


def sureness_of(block: Block, plausibility: FloatArray, taken: BoolArray, kind: str) -> FloatArray:
    """Return the plausibility of the answer to each item; of several facts, the smallest."""
    own = plausibility if kind == "categorical" else np.where(taken, plausibility, 1 - plausibility)
    least = np.maximum if kind == "categorical" else np.minimum
    return np.asarray(least.reduceat(own, block.first_fact_of_item[:-1]))


def opposing(
    block: Block, plausibility: FloatArray, taken: BoolArray, kind: str
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the item, the source and the plausibility of each claim against the answer."""
    if kind == "binary":
        item, affirms = block.item_of_voice, block.affirms
        chance = np.where(affirms, plausibility[item], 1.0 - plausibility[item])
        against = affirms != taken[item]
        return item[against], block.source_of_voice[against].astype(np.int64), chance[against]
    against = np.repeat(~taken, block.n_supports_of_fact)
    fact = block.fact_of_support[against]
    source = block.source_of_support[against].astype(np.int64)
    return block.item_of_fact[fact], source, plausibility[fact]


def _differing(result: Result, answers: Sequence[FloatArray]) -> tuple[BoolArray, str]:
    """Return the items on which the alternative answer differs, and the name of the alternative."""
    encoded, fitted = result.encoded, result.fitted
    found = [np.zeros(block.n_items, dtype=np.bool_) for block in encoded.blocks]
    others = list[Alternative]()
    if result.run.alternatives and fitted is not None:
        others = find_alternatives(fitted.algorithm, fitted.state, encoded, answers)
    for other in others[:1]:
        sample = other.sample
        for is_other, small, chosen, own, its in zip(
            found, sample.blocks, sample.chosen, sample.answer, other.answer, strict=True
        ):
            is_other[np.flatnonzero(chosen)[differing(small, own, its)]] = True
    return np.concatenate(found), others[0].assumption if others else ""


def _turned_over(encoded: Encoded, answers: Sequence[FloatArray]) -> dict[int, str]:
    """Return the attributes on which sources rank differently and that have few known truths."""
    names = as_text(encoded.names.attributes).to_list()
    if len(names) < 2 or not len(answers):
        return {}
    named = set(turned_over(encoded, answers)["attribute"])
    n_known = np.zeros(len(names))
    for block in encoded.blocks:
        n_known += np.bincount(block.attribute_of_item, block.is_known, len(names))
    return {n: name for n, name in enumerate(names) if name in named and n_known[n] < ENOUGH_KNOWN}


def _spread(result: Result) -> FloatArray:
    """Return the distance of claims from each estimate, relative to the usual for its attribute."""
    facts = result.tables.facts
    keys = result.encoded.example.items.columns
    n = pl.col("supporters")
    spread = facts.group_by(keys, maintain_order=True).agg(
        spread=((pl.col("distance") ** 2 * n).sum() / n.sum()).sqrt()
    )
    usual = (pl.col("spread") ** 2).mean().sqrt()
    times = pl.col("spread") / (usual.over("attribute") if "attribute" in keys else usual)
    return spread.select(times.fill_nan(0.0)).to_series().to_numpy()


# --- what was answered before ---------------------------------------------------------------------


def answered_of(
    encoded: Encoded, asked: Sequence[dict[str, Any]]
) -> tuple[list[Answered], tuple[IntArray, FloatArray]]:
    """Return the questions that were answered, earlier batches first.

    Also return each claim that opposed an answer: its cell, and 1 if it was right, else 0.
    """
    found, cells, right = list[Answered](), [np.zeros(0, np.int64)], [np.zeros(0)]
    n_attributes = max(len(encoded.names.attributes), 1)
    keys = encoded.example.items.columns
    named = [dict(zip(keys, row["item"], strict=False)) for row in asked]
    numbered = pl.DataFrame(named, dict.fromkeys(keys, pl.String)).with_row_index("row")
    numbered = pl.concat([numbered, unguarded(numbered)]).unique(keys, keep="first")
    for number, part in enumerate(encoded.parts if asked else ()):
        items = part.items.select(as_text(part.items[key]).alias(key) for key in keys)
        items = items.with_columns(known=pl.Series(part.block.is_known)).with_row_index("place")
        met = items.filter("known").join(numbered, on=keys).sort("place")
        if met.is_empty() or part.block.is_numeric:
            continue
        is_meant = np.zeros(part.block.n_items, dtype=np.bool_)
        is_meant[met["place"].to_numpy()] = True
        some = part.select(is_meant)
        block, true = some.block, some.block.known_of_fact == 1
        values = ["true"] * block.n_facts if some.values is None else as_text(some.values).to_list()
        then = [_texts(asked[row]["answer"]) for row in met["row"]]
        taken = np.array([v in then[i] for v, i in zip(values, block.item_of_fact, strict=True)])
        is_right = np.logical_and.reduceat(taken == true, block.first_fact_of_item[:-1])
        item, source, claim = opposing(block, true.astype(np.float64), taken, encoded.kind)
        cells.append(source * n_attributes + block.attribute_of_item[item])
        right.append(claim)
        for (place, row), own in zip(met.select("place", "row").rows(), is_right, strict=True):
            found.append(Answered(number, place, bool(own), asked[row]))
    found.sort(key=lambda one: -one.told["asked_of"])
    return found, (np.concatenate(cells), np.concatenate(right))


def _texts(answer: str) -> set[str]:
    """Return the texts of each value, with and without the apostrophe that disarms formulas."""
    texts = pl.DataFrame({"text": [answer, *answer.split(LIST_SEPARATOR)]})
    return {*texts["text"], *unguarded(texts)["text"]}


def is_trusted(history: Sequence[Answered]) -> bool:
    """Return True if the last drawn answers were wrong no more often than plausibilities imply."""
    last = [one for one in history if one.told["drawn"]][-FEWEST_DRAWN:]
    if len(last) < FEWEST_DRAWN:
        return False
    p = np.array([one.told["plausibility"] for one in last])
    n_wrong = sum(not one.is_right for one in last)
    return bool(n_wrong <= (1.0 - p).sum() + np.sqrt((p * (1.0 - p)).sum()))


# --- a question in words --------------------------------------------------------------------------


def _of_value(result: Result, some: Partition, p: FloatArray) -> dict[str, Any]:
    """Return the possible values of an item, the answer, and the sources that oppose it."""
    kind, block = result.kind, some.block
    taken = taken_facts(block, p, kind, result.run.min_plausibility)
    sure = float(sureness_of(block, p, taken, kind)[0])
    if some.values is None:
        values = ["true", "false"] if taken[0] else ["false", "true"]
        answer = values[0]
    else:
        texts = as_text(some.values).to_list()
        ranked = sorted(range(len(texts)), key=lambda n: (-round(float(p[n]), SAME), not taken[n]))
        values = [texts[n] for n in ranked[:MOST_VALUES]]
        answer = LIST_SEPARATOR.join(text for text, own in zip(texts, taken, strict=True) if own)
    against = np.unique(opposing(block, p, taken, kind)[1])
    n_voices = int(block.n_voices_of_item[0])
    if len(against):
        names = _listed(result, against)
        claim = "claims" if len(against) == 1 else "claim"
        why = f"{names} {claim} otherwise; the answer is {_percent(sure)} plausible"
    elif n_voices == 1:
        why = f"a check of an answer that only {_listed(result, block.source_of_voice)} gives"
    else:
        why = f"a check of an answer nobody disputes: all {n_voices} sources agree"
    told = {"values": values, "answer": answer, "plausibility": sure}
    return {**told, "claims": n_voices, "why": why}


def _of_number(result: Result, some: Partition, spread: float) -> dict[str, Any]:
    """Return the same for a number, which has no plausibility."""
    why = f"claims lie {spread:.1f} times as far from the estimate as usual"
    truths, keys = result.tables.truths, some.items.columns
    truth = truths.join(some.items, on=keys, how="semi", nulls_equal=True)
    order = np.argsort(-some.block.n_supports_of_fact, kind="stable")[:MOST_VALUES]
    assert some.values is not None
    return {
        "values": some.values.gather(order).cast(pl.String).to_list(),
        "answer": as_text(truth["value"])[0],
        "claims": int(some.block.n_voices_of_item[0]),
        "why": why if spread > 0.0 else "a check of a number on which all claims agree",
    }


def _percent(share: float) -> str:
    """Return a share as a percentage that is never rounded to 100%."""
    return "over 99%" if share > 0.99 else f"{share:.0%}"


def _listed(result: Result, sources: IntArray) -> str:
    """Return the names of sources as part of a sentence; the first two if there are many."""
    shown = sources if len(sources) == 1 else sources[:2]
    names = [in_short(name) for name in as_text(result.encoded.names.sources.gather(shown))]
    if len(sources) > len(names):
        return f"{', '.join(names)} and {len(sources) - len(names)} more"
    return " and ".join(names)
