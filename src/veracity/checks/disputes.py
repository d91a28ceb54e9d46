"""Checks of conflicts: too few, no better than guessing, groups that copy, far from a vote."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Turn
from veracity.checks.evidence import Evidence
from veracity.checks.registry import Seen, register
from veracity.checks.voting import differs, taken, vote
from veracity.dependence.pairs import joined
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.names import Names
from veracity.engines import Blocks, Local
from veracity.naming import as_text
from veracity.printing import counted, in_short, share_of, some
from veracity.reading.roles import Kind

CHANCE = 0.02
"""Agreement beyond chance below which sources count as guessing."""

ANCHORS = 20
"""Number of known truths that show if the answer is right or upside down."""

MOST_CELLS = 1 << 24
"""Largest number of pairs of attribute and value that are counted. With more, agreement by chance
is close to zero."""


@register(
    "little-conflict",
    cost="sample",
    meaning="There is next to nothing to decide, and nothing to learn of who errs. All sources "
    "look equally good.",
    remedy="Use the agreed values as they are. To rank sources, add items on which they differ.",
)
def little_conflict(evidence: Evidence) -> Seen | None:
    """Check if sources hardly differ."""
    if evidence.is_disputed:
        return None
    return Seen(
        f"sources differ on {share_of(evidence.contested, evidence.shared, 'shared items')}"
    )


# --- chance ---------------------------------------------------------------------------------------


@register(
    "flip-risk",
    cost="sample",
    meaning="The claims fit about as well if the worst sources are taken for the best. True and "
    "false may be swapped.",
    remedy="Add some known truths, or name good sources in the prior. Normalise the values if "
    "sources mean the same and write it differently.",
)
def flip_risk(evidence: Evidence) -> Seen | None:
    """Check if sources agree no better than by chance, or if the answer finds most wrong."""
    some_of_them = evidence.sample
    names = some_of_them.names
    is_too_much = len(names.labels) * len(names.attributes) > MOST_CELLS
    is_anchored = some_of_them.n_known >= ANCHORS or names.n_unnumbered > 0 or is_too_much
    if is_anchored or not evidence.is_disputed:
        return None
    with Local(threads=evidence.budget.threads).hold(some_of_them.blocks) as held:
        agreement, chance = _agreement(held, names, is_binary=some_of_them.kind == "binary")
    sources = evidence.result.tables.sources
    better = sources.select((pl.col("tpr") - pl.col("fpr")) * pl.col("items")).to_series()
    is_upside_down = float(better.fill_nan(0.0).sum()) < 0.0
    if agreement - chance >= CHANCE * (1.0 - chance) and not is_upside_down:
        return None
    text = f"two sources that share items agree on {agreement:.0%} of them; guessing would make "
    text += f"them agree on {chance:.0%}"
    if is_upside_down:
        text += "; according to the answer, sources support false facts more often than true ones"
    return Seen(text, True)


def _agreement(held: Blocks, names: Names, *, is_binary: bool) -> tuple[float, float]:
    """Return how often two sources agree on an item, and how often they would by chance.

    Chance agreement is that of claims on different items of the same attribute.
    """
    shape = (max(len(names.attributes), 1), 2 if is_binary else max(len(names.labels), 1))
    said, heard = held.sweep(_count_said, (shape, is_binary), Turn())
    sums = held.sweep(_count_agreeing, (said, heard, is_binary), Turn())
    same, by_chance, weight = (float(part) for part in sums)
    return same / max(weight, 1.0), by_chance / max(weight, 1.0)


class _Said(NamedTuple):
    """Claims on items: the attribute, the label, the sources that claim it, and all sources."""

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


# --- copies ---------------------------------------------------------------------------------------


@register(
    "near-copies",
    cost="sample",
    meaning="These sources share more mistakes than independent sources would. Where copies are "
    "not counted once, one opinion is counted several times, and the group wins, right or wrong.",
    remedy="Merge the copies into one source, or use an algorithm that discounts copies (veracity, "
    "accu-copy). If the group is known to be good, give known truths or a prior that say so.",
)
def near_copies(evidence: Evidence) -> Seen | None:
    """Find groups that may have copied, and win votes that they would lose if counted once.

    If the algorithm discounts copies, all pairs it found are returned.
    """
    if not evidence.is_disputed:
        return None
    own, encoded = evidence.learned.copies, evidence.sample
    pairs = evidence.named_pairs if own is None else own
    if not len(pairs.source):
        return None
    group_of_source = joined(pairs.source, pairs.original, len(encoded.names.sources))
    with Local(threads=evidence.budget.threads).hold(encoded.blocks) as held:
        n_items, n_decided = held.sweep(_count_decided, (group_of_source, encoded.kind), Turn())
    if own is None and n_items < 0.02 * evidence.contested:
        return None
    names = as_text(encoded.names.sources)
    members = pl.DataFrame({"group": group_of_source, "source": names})
    groups = members.group_by("group").agg(sources=pl.len(), names=pl.col("source").sort())
    groups = groups.with_columns(decides=pl.Series(n_decided).gather(groups["group"]))
    groups = groups.filter(pl.col("sources") > 1).drop("group")
    groups = groups.sort("decides", "sources", descending=True)
    others = f", and {counted(len(groups) - 1, 'more group')}, too" if len(groups) > 1 else ""
    one, other = names.gather([pairs.source[0], pairs.original[0]]).sort()
    text = f"{some(groups['names'][0].to_list())} may have copied{others}; "
    text += f"{in_short(one)} and {in_short(other)} share {pairs.mistakes[0]:,.0f} mistakes, where "
    text += f"independent sources would share {pairs.expected_mistakes[0]:,.0f}; they decide the "
    text += f"vote on {share_of(n_items, evidence.contested, 'contested items')}, and would lose "
    text += "it if counted once" if own is None else "it if counted once, as this answer does"
    examples = groups.with_columns(pl.col("names").list.join(", ")).head(10)
    return Seen(text, n_items >= 0.1 * evidence.contested, examples)


def _count_decided(block: Block, state: tuple[IntArray, Kind], turn: Turn) -> tuple[Any, Any]:
    """Count items whose vote changes if each group counts once, and how many each group wins."""
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


@register(
    "far-from-vote",
    cost="sample",
    meaning="The answer rests on reliabilities more than on numbers of sources. It is much better "
    "than a vote, or much worse.",
    remedy="Look up the examples. A few known truths show which of the two it is.",
)
def far_from_vote(evidence: Evidence) -> Seen | None:
    """Check if the answer and the vote differ on more than a third of the contested items."""
    against = evidence.against_vote
    if against is None or not evidence.is_disputed or against.share <= 1 / 3:
        return None
    return Seen(str(against), against.share > 1 / 2, against.examples)
