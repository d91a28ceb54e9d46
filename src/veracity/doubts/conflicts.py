"""What sources say: votes against answers, agreement beyond chance, groups that decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Turn
from veracity.algorithms.rules import is_best_of_item, item_sums
from veracity.dependence import Copies
from veracity.dependence.pairs import joined
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.encoding.names import Names
from veracity.encoding.partitions import Encoded
from veracity.engines import Held
from veracity.naming import as_text
from veracity.reading.schema import Kind
from veracity.result.warnings import DataWarning, count, data_warning, shared_mistakes, some

CHANCE = 0.02
"""Agreement beyond chance below which sources agree no better than if they guessed."""

ANCHORS = 20
"""So many known truths say which way round it is."""

MOST_CELLS = 1 << 24
"""Pairs of an attribute and a value that are counted; where there are more, hardly two sources
agree by chance."""


def vote(block: Block) -> FloatArray:
    """The share of an item's sources that support each fact, each as far as it counts."""
    return block.votes_of_fact / np.repeat(block.votes_of_item, block.n_facts_of_item)


def taken(block: Block, share: FloatArray, kind: Kind) -> FloatArray:
    """Which facts are taken for true (1), which are not (-1), and which are tied (0)."""
    if kind != "categorical":
        return np.sign(np.round(share, SAME) - 0.5)
    is_first = is_best_of_item(share, block)
    n_first = np.repeat(item_sums(is_first.astype(np.float64), block), block.n_facts_of_item)
    return np.where(is_first, (n_first == 1).astype(np.float64), -1.0)


def differs(block: Block, one: FloatArray, other: FloatArray) -> BoolArray:
    """Of which items the two take different facts; a tie differs from nothing it contains."""
    return np.logical_or.reduceat(one * other < 0.0, block.first_fact_of_item[:-1])


class Taken(NamedTuple):
    """What vote and answer take, in all blocks, and on which items they differ."""

    by_vote: FloatArray
    by_answer: FloatArray
    is_contested: BoolArray
    is_changed: BoolArray


def by_vote(encoded: Encoded, plausibility: FloatArray) -> Taken:
    """The answer against the vote."""
    found = []
    for block, own in zip(encoded.blocks, encoded.by_block(plausibility), strict=True):
        share = vote(block)
        voted, answered = (taken(block, x, encoded.kind) for x in (share, own))
        is_open = (share > 0.0) & (share < 1.0)
        is_contested = np.logical_or.reduceat(is_open, block.first_fact_of_item[:-1])
        is_changed = differs(block, voted, answered) & is_contested
        found.append((voted, answered, is_contested, is_changed))
    return Taken(*(np.concatenate(part) for part in zip(*found, strict=True)))


# --- chance ---------------------------------------------------------------------------------------


def flip_risk(held: Held, encoded: Encoded, sources: pl.DataFrame) -> list[DataWarning]:
    """Whether sources agree beyond chance, and are better than wrong by what was found of them."""
    names = encoded.names
    is_too_much = len(names.labels) * len(names.attributes) > MOST_CELLS
    if encoded.n_known >= ANCHORS or names.n_unnumbered or is_too_much:
        return []
    agreement, chance = _agreement(held, names, is_binary=encoded.kind == "binary")
    better = sources.select((pl.col("tpr") - pl.col("fpr")) * pl.col("items")).to_series()
    is_upside_down = float(better.fill_nan(0.0).sum()) < 0.0
    if agreement - chance >= CHANCE * (1.0 - chance) and not is_upside_down:
        return []
    seen = f"two sources that share items agree on {agreement:.0%} of them; guessing would "
    seen += f"make them agree on {chance:.0%}"
    if is_upside_down:
        seen += "; according to the answer, sources support false facts more often than true ones"
    return [data_warning("flip-risk", seen, serious=True)]


def _agreement(held: Held, names: Names, *, is_binary: bool) -> tuple[float, float]:
    """How often another source says the same of an item, and how often it would by chance.

    By chance: how often what is said of an item is said of other items of the same attribute.
    """
    shape = (max(len(names.attributes), 1), 2 if is_binary else max(len(names.labels), 1))
    said, heard = held.sweep(_count_said, (shape, is_binary), Turn())
    sums = held.sweep(_count_agreeing, (said, heard, is_binary), Turn())
    same, by_chance, weight = (float(part) for part in sums)
    return same / max(weight, 1.0), by_chance / max(weight, 1.0)


class _Said(NamedTuple):
    """What is said of items: the attribute, the label, by how many, of how many that speak."""

    attribute: IntArray
    label: IntArray
    named: IntArray
    voices: IntArray


def _said(block: Block, *, is_binary: bool) -> _Said:
    block = block if is_binary else block.strongest_claims()[0]
    attribute = block.attribute_of_item[block.item_of_fact]
    voices = block.n_voices_of_fact
    if not is_binary:
        return _Said(attribute, block.label_of_fact, block.n_supports_of_fact, voices)
    named = block.n_affirming_of_item
    label = np.repeat([1, 0], len(named))  # binary facts are called true or false
    return _Said(np.tile(attribute, 2), label, np.append(named, voices - named), np.tile(voices, 2))


def _count_said(block: Block, state: tuple[tuple[int, int], bool], turn: Turn) -> tuple[Any, Any]:
    (n_attributes, n_labels), is_binary = state
    said = _said(block, is_binary=is_binary)
    place = said.attribute.astype(np.int64) * n_labels + said.label
    named = np.bincount(place, said.named, n_attributes * n_labels)
    heard = np.bincount(block.attribute_of_item, block.n_voices_of_item, n_attributes)
    return (named.reshape(n_attributes, n_labels), heard), turn.memory


def _count_agreeing(
    block: Block, state: tuple[FloatArray, FloatArray, bool], turn: Turn
) -> tuple[Any, Any]:
    all_said, all_heard, is_binary = state
    said = _said(block, is_binary=is_binary)
    elsewhere = all_said[said.attribute, said.label] - said.named
    heard = all_heard[said.attribute] - said.voices
    by_chance = np.divide(elsewhere, heard, out=np.zeros(len(said.named)), where=heard > 0)
    same = (said.named - 1) / np.maximum(said.voices - 1, 1)
    weight = said.named * (said.voices > 1)
    return (float(same @ weight), float(by_chance @ weight), float(weight.sum())), turn.memory


# --- near-copies ----------------------------------------------------------------------------------


def near_copies(held: Held, encoded: Encoded, pairs: Copies, n_contested: int) -> list[DataWarning]:
    """Warn of groups that may have copied and decide votes that they would lose if counted once."""
    if not len(pairs.source):
        return []
    sources = encoded.names.sources
    group_of_source = joined(pairs.source, pairs.original, len(sources))
    n_items, n_decided = held.sweep(_count_decided, (group_of_source, encoded.kind), Turn())
    if n_items < 0.02 * n_contested:
        return []
    members = pl.DataFrame({"group": group_of_source, "source": as_text(sources)})
    groups = members.group_by("group").agg(sources=pl.len(), names=pl.col("source").sort())
    groups = groups.with_columns(decides=pl.Series(n_decided).gather(groups["group"]))
    groups = groups.filter(pl.col("sources") > 1).drop("group")
    groups = groups.sort("decides", "sources", descending=True)
    others = f", and {len(groups) - 1:,} more groups, too" if len(groups) > 1 else ""
    seen = f"{some(groups['names'][0].to_list())} may have copied{others}; "
    seen += f"{shared_mistakes(encoded.names, pairs)}; they decide the vote on "
    seen += f"{count(n_items, n_contested, 'contested items')}, and would lose it if counted once"
    evidence = groups.with_columns(pl.col("names").list.join(", ")).head(10)
    return [data_warning("near-copies", seen, evidence, serious=n_items >= 0.1 * n_contested)]


def _count_decided(block: Block, state: tuple[IntArray, Kind], turn: Turn) -> tuple[Any, Any]:
    """How many items have another vote if each group has one; how often each group wins these."""
    group_of_source, kind = state
    block = block.strongest_claims()[0] if kind == "categorical" else block
    n_groups = int(group_of_source.max()) + 1
    item_of_voice = block.item_of_voice
    key_of_voice = item_of_voice * n_groups + group_of_source[block.source_of_voice]
    spoken, n_members = np.unique(key_of_voice, return_counts=True)
    fact = block.fact_of_support
    item_of_support = block.item_of_fact[fact]
    key_of_support = item_of_support * n_groups + group_of_source[block.source_of_support]
    weight = 1.0 / n_members[np.searchsorted(spoken, key_of_support)]
    groups_of_item = np.bincount(spoken // n_groups, minlength=block.n_items)
    share = np.bincount(fact, weight, block.n_facts) / groups_of_item[block.item_of_fact]
    before = taken(block, vote(block), kind)
    is_decided = differs(block, before, taken(block, share, kind))
    wins = is_decided[item_of_support] & (before[fact] > 0.0) & (weight < 1.0)
    winners = np.unique(key_of_support[wins]) % n_groups
    return (int(is_decided.sum()), np.bincount(winners, minlength=n_groups)), turn.memory
