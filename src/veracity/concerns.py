"""What misleads truth discovery, and how to see it in the claims.

Each function looks for a few such things and comes back with a `Concern` for each that it finds.
All need time and memory proportional to the claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encode import UNKNOWN, Claims, Encoded, FloatArray, IntArray
from veracity.tables import SAME

__all__ = [
    "ADVICE",
    "Concern",
    "Severity",
    "any_of_item",
    "count",
    "dicts",
    "differs",
    "find_flip_risk",
    "find_near_copies",
    "find_overlap_concerns",
    "some",
    "taken",
    "voices_of_item",
    "vote",
    "worry",
]

Severity = Literal["serious", "caution"]

ADVICE: dict[str, tuple[str, str]] = {
    "lone-sources": (
        "nobody can say whether they are right: what is told of them is the prior, not the data",
        "claims of other sources about the same items, or known truths of some of them",
    ),
    "separate-parts": (
        "each part is judged by itself: reliabilities cannot be compared across parts, and one "
        "part may be right where another is flipped",
        "sources that speak of items of several parts, or known truths in every part; see also "
        "whether names of entities are spelt differently in the parts",
    ),
    "fewer-than-three": (
        "where two sources differ, nothing tells which one is right: it takes a third to fix "
        "their reliabilities",
        "a third source, known truths, or a prior that says which source is better",
    ),
    "single-source-items": (
        "their only value is taken as it is; how plausible it is follows from what the source says "
        "elsewhere",
        "more sources for these items; do not read their plausibility as agreement",
    ),
    "few-claims": (
        "a source that is met so rarely cannot be told from a better or a worse one: its "
        "reliability stays near the prior",
        "more claims of each source, merging names of the same source, or an algorithm that "
        "expects little of each (majority-vote, one-coin)",
    ),
    "dominant-source": (
        "it can only be checked where others speak, and what it says sets the scale for them",
        "more claims of others, known truths of items it speaks of, or leaving it out to see what "
        "changes",
    ),
    "little-conflict": (
        "there is next to nothing to decide, and nothing to learn of who errs: all sources look "
        "equally good",
        "the agreed values may be used as they are; to rank sources it takes items they differ on",
    ),
    "flip-risk": (
        "the claims fit about as well if the worst sources are taken for the best: true and false "
        "may be swapped",
        "some known truths, known good sources in the prior, or normalised values if sources "
        "mean the same and write it differently",
    ),
    "near-copies": (
        "one opinion is counted several times: what the group says wins, right or wrong",
        "merging the mirrors into one source, or accu-copy, which looks for copying; if the group "
        "is known to be good, known truths or a prior that say so",
    ),
    "far-from-vote": (
        "the answer rests on reliabilities more than on numbers of sources: it is much better than "
        "a vote, or much worse",
        "looking up the examples; a few known truths tell which of the two it is",
    ),
    "spellings": (
        "sources that mean the same seem to contradict each other, and none of them wins the "
        "support it has",
        "normalise=True, or --normalise on the command line",
    ),
    "placeholders": (
        "what says that there is no value is counted as a value, and may win",
        "normalise=True, or --normalise, leaves them out; or remove them beforehand",
    ),
}
"""What each warning means, and what would help."""

FEW = 5
"""A source that shares fewer items with others can hardly be judged."""

CHANCE = 0.02
"""Agreement beyond chance below which sources agree no better than if they guessed."""

ANCHORS = 20
"""So many known truths say which way round it is."""

ALIKE = 0.88
"""The share of what is unusual or different that near-copies have in common, at least."""

DOUBT = 3.0
"""So many differences every pair is taken to have beside those seen."""


@dataclass(frozen=True)
class Concern:
    """One warning: what was `seen`, what it `means`, what would `help`, and evidence, if any."""

    name: str
    severity: Severity
    seen: str
    means: str
    help: str
    evidence: Any = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return {**vars(self), "evidence": dicts(self.evidence)}


# --- who speaks of what --------------------------------------------------------------------------


def find_overlap_concerns(encoded: Encoded) -> list[Concern]:
    """What the overlap of the sources tells, whatever they say."""
    voices, source = voices_of_item(encoded.claims), encoded.claims.all.source_of_voice
    is_shared = np.repeat(voices > 1, voices)
    n_shared = np.bincount(source[is_shared], minlength=encoded.claims.n_sources)
    is_lone = n_shared == 0
    found = []
    if is_lone.mean() >= 0.01:
        names = encoded.sources.filter(is_lone).to_list()
        seen = f"{count(len(names), len(is_lone), 'sources')} share no item with another: "
        found.append(worry("lone-sources", seen + some(names), serious=is_lone.mean() >= 0.5))
    if is_lone.all():
        return found  # there is nothing else to say
    parts = _parts(encoded, is_lone)
    found += _part_concerns(parts) + _too_few_sources(parts, voices)
    n_single = int((voices == 1).sum())
    if n_single >= len(voices) / 2:
        seen = f"of {count(n_single, len(voices), 'items')} a single source speaks"
        serious = n_single >= len(voices) * 0.8
        found.append(worry("single-source-items", seen, serious=serious))
    return found + _few_claims(n_shared[~is_lone]) + _dominance(encoded)


def _few_claims(n_shared: IntArray) -> list[Concern]:
    """Given of how many items each source speaks that another speaks of, too."""
    if np.median(n_shared) >= FEW:
        return []
    is_rare = n_shared < FEW
    share = n_shared[is_rare].sum() / n_shared.sum()
    seen = f"{count(int(is_rare.sum()), len(n_shared), 'sources')} share fewer than {FEW} items "
    seen += f"with others; they make {share:.0%} of the claims that can be compared"
    return [worry("few-claims", seen, serious=share >= 0.5)]


def _dominance(encoded: Encoded) -> list[Concern]:
    n_items = np.bincount(encoded.claims.all.source_of_voice)
    share = n_items.max() / n_items.sum()
    if share <= 0.5 or len(n_items) < 3:
        return []
    seen = f"{encoded.sources[int(n_items.argmax())]} alone makes {share:.0%} of all claims"
    return [worry("dominant-source", seen, serious=share >= 0.8)]


def _parts(encoded: Encoded, is_lone: NDArray[np.bool_]) -> pl.DataFrame:
    """The parts that sources and items fall into, one row each, the largest first."""
    claims, voices = encoded.claims, voices_of_item(encoded.claims)
    item_of_voice = np.repeat(np.arange(claims.n_items), voices)
    joins = (claims.all.source_of_voice, claims.n_sources + item_of_voice)
    part = _joined(*joins, claims.n_sources + claims.n_items)
    known = claims.all.known_of_fact[claims.all.first_fact_of_item[:-1]] != UNKNOWN
    sources = pl.DataFrame({"part": part[: claims.n_sources], "source": encoded.sources})
    items = pl.DataFrame({"part": part[claims.n_sources :], "voices": voices, "known": known})
    such_as = pl.col("source").cast(pl.String).sort().head(3).str.join(", ")
    sources = sources.filter(~is_lone).group_by("part").agg(sources=pl.len(), such_as=such_as)
    items = items.group_by("part").agg(
        items=pl.len(), claims=pl.col("voices").sum(), known=pl.col("known").sum()
    )
    parts = sources.join(items, on="part").drop("part")
    return parts.sort("claims", "such_as", descending=[True, False])


def _part_concerns(parts: pl.DataFrame) -> list[Concern]:
    """Parts that are not joined, unless known truths hold each of them."""
    if len(parts) < 2 or (parts["known"] > 0).all():
        return []
    rest = 1.0 - parts["claims"][0] / parts["claims"].sum()
    seen = f"sources and items fall into {len(parts):,} parts that share nothing; the largest has "
    seen += f"{parts['sources'][0]:,} sources, such as {parts['such_as'][0]}, the rest makes "
    seen += f"{rest:.0%} of the claims"
    return [worry("separate-parts", seen, parts.head(10), serious=rest >= 1 / 3)]


def _too_few_sources(parts: pl.DataFrame, voices: IntArray) -> list[Concern]:
    if not (parts["sources"] > 2).any():
        seen = f"nowhere do more than two sources meet, such as {parts['such_as'][0]}"
        return [worry("fewer-than-three", seen, serious=True)]
    n_shared, n_two = int((voices > 1).sum()), int((voices == 2).sum())
    if n_two <= n_shared * 2 / 3:
        return []
    seen = f"of {count(n_two, n_shared, 'shared items')} only two sources speak"
    return [worry("fewer-than-three", seen)]


# --- what they say -------------------------------------------------------------------------------


def find_flip_risk(encoded: Encoded, sources: pl.DataFrame) -> list[Concern]:
    """Whether sources agree beyond chance, and are better than wrong by what was found of them."""
    if encoded.claims.n_known >= ANCHORS:
        return []
    agreement, chance = _agreement(encoded)
    better = sources.select((pl.col("tpr") - pl.col("fpr")) * pl.col("items")).to_series()
    is_upside_down = float(better.fill_nan(0.0).sum()) < 0.0
    if agreement - chance >= CHANCE * (1.0 - chance) and not is_upside_down:
        return []
    seen = f"two sources that speak of the same agree on {agreement:.0%} of it; guessing would "
    seen += f"make them agree on {chance:.0%}"
    if is_upside_down:
        seen += "; by the answer, sources support false facts more than true ones"
    return [worry("flip-risk", seen, serious=True)]


def _agreement(encoded: Encoded) -> tuple[float, float]:
    """How often another source says the same of an item, and how often it would by chance.

    By chance: how often what is said of an item is said of other items of the same attribute.
    """
    claims = encoded.claims
    item, voices = claims.all.item_of_fact, claims.all.n_voices_of_fact
    named, label = np.diff(claims.all.first_support_of_fact), claims.label_of_fact
    if label is None:  # binary facts are called true or false
        label = np.repeat([1, 0], len(named))
        named = np.append(named, voices - named)
        item, voices = np.tile(item, 2), np.tile(voices, 2)
    attribute_of_item = np.zeros(claims.n_items, dtype=np.int64)
    if "attribute" in encoded.items.columns:
        attribute_of_item = encoded.items["attribute"].rank("dense").to_numpy().astype(np.int64)
    attribute = attribute_of_item[item]
    _, said = np.unique(attribute * (int(label.max()) + 1) + label, return_inverse=True)
    elsewhere = np.bincount(said, named)[said] - named
    heard = np.bincount(attribute_of_item, voices_of_item(claims))[attribute] - voices
    by_chance = np.divide(elsewhere, heard, out=np.zeros(len(named)), where=heard > 0)
    same = (named - 1) / np.maximum(voices - 1, 1)
    weight = named * (voices > 1)
    return float(np.average(same, weights=weight)), float(np.average(by_chance, weights=weight))


def find_near_copies(encoded: Encoded, pairs: pl.DataFrame, n_contested: int) -> list[Concern]:
    """Whether groups of near-copies decide votes that they would lose if they counted once.

    `pairs` are those of `profile`.
    """
    # not the pairs' suspicion: in a large group, what all of them share is hardly unusual
    unusual, different = pl.col("unusual"), pl.col("different")
    pairs = pairs.filter(unusual / (unusual + different + DOUBT) >= ALIKE)
    if pairs.is_empty():
        return []
    one, other = (encoded.sources.search_sorted(pairs[name]) for name in ("source", "other"))
    group_of_source = _joined(one.to_numpy(), other.to_numpy(), encoded.claims.n_sources)
    is_decided, n_decided = _decided(encoded.claims, group_of_source)
    n_items = int(is_decided.sum())
    if n_items < 0.02 * n_contested:
        return []
    sources = pl.DataFrame({"group": group_of_source, "source": encoded.sources.cast(pl.String)})
    groups = sources.group_by("group").agg(sources=pl.len(), names=pl.col("source").sort())
    groups = groups.with_columns(decides=pl.Series(n_decided).gather(groups["group"]))
    groups = groups.filter(pl.col("sources") > 1).drop("group")
    groups = groups.sort("decides", "sources", descending=True)
    others = f", and so do {len(groups) - 1:,} more groups" if len(groups) > 1 else ""
    seen = f"{some(groups['names'][0].to_list())} say nearly the same{others}; they decide the "
    seen += f"vote on {count(n_items, n_contested, 'contested items')}, and would lose it if "
    seen += "counted once"
    evidence = groups.with_columns(pl.col("names").list.join(", ")).head(10)
    return [worry("near-copies", seen, evidence, serious=n_items >= 0.1 * n_contested)]


def _decided(claims: Claims, group_of_source: IntArray) -> tuple[NDArray[np.bool_], IntArray]:
    """Which items have another vote if each group has one; how often each group wins these."""
    block, n_groups = claims.all, int(group_of_source.max()) + 1
    item_of_voice = np.repeat(np.arange(claims.n_items), voices_of_item(claims))
    key_of_voice = item_of_voice * n_groups + group_of_source[block.source_of_voice]
    spoken, n_members = np.unique(key_of_voice, return_counts=True)
    fact = np.repeat(np.arange(claims.n_facts), np.diff(block.first_support_of_fact))
    item_of_support = block.item_of_fact[fact]
    key_of_support = item_of_support * n_groups + group_of_source[block.source_of_support]
    weight = 1.0 / n_members[np.searchsorted(spoken, key_of_support)]
    groups_of_item = np.bincount(spoken // n_groups, minlength=claims.n_items)
    share = np.bincount(fact, weight, claims.n_facts) / groups_of_item[block.item_of_fact]
    before = taken(claims, vote(claims))
    is_decided = differs(claims, before, taken(claims, share))
    wins = is_decided[item_of_support] & (before[fact] > 0.0) & (weight < 1.0)
    winners = np.unique(key_of_support[wins]) % n_groups
    return is_decided, np.bincount(winners, minlength=n_groups)


# --- on arrays -----------------------------------------------------------------------------------


def voices_of_item(claims: Claims) -> IntArray:
    """How many sources speak of each item."""
    return np.diff(claims.all.first_voice_of_item)


def vote(claims: Claims) -> FloatArray:
    """The share of an item's sources that support each fact."""
    share: FloatArray = np.diff(claims.all.first_support_of_fact) / claims.all.n_voices_of_fact
    return share


def taken(claims: Claims, share: FloatArray) -> FloatArray:
    """Which facts are taken for true (1), which are not (-1), and which are tied (0)."""
    share = np.round(share, SAME)
    if claims.kind != "categorical":
        return np.sign(share - 0.5)
    first, n_facts = claims.all.first_fact_of_item[:-1], np.diff(claims.all.first_fact_of_item)
    is_first = share == np.repeat(np.maximum.reduceat(share, first), n_facts)
    n_first = np.repeat(np.add.reduceat(is_first.astype(np.int64), first), n_facts)
    return np.where(is_first, (n_first == 1).astype(np.float64), -1.0)


def any_of_item(claims: Claims, is_so: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which items have a fact that is so."""
    return np.logical_or.reduceat(is_so, claims.all.first_fact_of_item[:-1])


def differs(claims: Claims, one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    """Of which items the two take different facts; a tie differs from nothing it contains."""
    return any_of_item(claims, one * other < 0.0)


def _joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Number the groups that pairs join n things into."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - takes its time to load
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    graph = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


# --- in words ------------------------------------------------------------------------------------


def worry(
    name: str, seen: str, evidence: pl.DataFrame | None = None, *, serious: bool | np.bool_ = False
) -> Concern:
    """A concern with the advice that goes with its name."""
    return Concern(name, "serious" if serious else "caution", seen, *ADVICE[name], evidence)


def count(part: int, whole: int, what: str) -> str:
    """How many of how many.

    >>> count(3, 4, "items")
    '3 of 4 items (75%)'
    """
    return f"{part:,} of {whole:,} {what} ({part / max(whole, 1):.0%})"


def some(names: Sequence[object]) -> str:
    """The first names, and how many more there are.

    >>> some(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(str(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"


def dicts(table: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any kind of frame, or None
    """The rows of a table, as JSON can hold them; none if there is no table."""
    return [] if table is None else pl.DataFrame(table).to_dicts()
