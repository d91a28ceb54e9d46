"""Merge values that mean the same, and find those that say less than another of their item.

`Alikeness` is learned from a sample of the claims, and applied to each partition by itself: so
the answers are the same in memory, on disk and on Spark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray, voices_of
from veracity.encoding.partitions import Encoded, Partition
from veracity.errors import ParameterError
from veracity.kernels.reference import begins_of
from veracity.naming import as_text
from veracity.printing import counted
from veracity.reading.normalise.alike import (
    ALIKE_KINDS,
    LEADING,
    NEGATIONS,
    PART,
    AlikeKind,
    Groups,
    compare_people,
    compare_words,
    groups_of,
    is_divisible,
    words_of,
)
from veracity.values import Grains, covers, grains, pairs_within

Alike = Callable[[Sequence[str], Sequence[str]], Any]
"""Return a matrix [value, other]: the share of what a value says that the other says, too."""

MOST_VALUES = 60
"""Values of an item with more than these are not compared: pairs grow with their square."""

ENOUGH_CLAIMS = 10_000
"""Number of claims in the sample of items from which alikeness is learned."""

MOST_LABELS = 20
"""Different values of an attribute up to which they are labels, which are all different."""

SAYS_ALL = 0.95
"""Share of what a value says, by a function of the user, that is all of it but for rounding."""

CLEARLY = 10.0
"""Smallest ratio of alike pairs within items to those between items: if values of different items
are alike as often, they share words, and no meaning."""

TURNED = 0.05
"""Share of disputed items with names in both orders, as Ann Lee and Lee, Ann, that tells people."""

MOSTLY = 0.8
"""Share of the values that must be numbers, or dates and times, to be compared as such."""

CARRIED, CARRIED_SHARE, CARRIED_RATIO = 5, 0.02, 3.0
"""A leading word is a carrier if a source writes it so often, on such a share of its items, and
some source by such a factor more often than a quarter of the sources of the same items."""


class Merged(NamedTuple):
    """Changes in a partition: rows of `Normalised.changes`; and items with too many values."""

    changes: pl.DataFrame
    n_large: int
    n_parts: int
    """Pairs of values of an item of which one says less."""
    claims: pl.DataFrame | None = None
    """The claims that changed: number of the source, item, value, and the value before."""


@dataclass(frozen=True, kw_only=True)
class Alikeness:
    """Kinds of alikeness of each attribute, and the table of places, or function, of the user."""

    kinds: Mapping[str, AlikeKind] = field(default_factory=dict)
    carriers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Words by which sources begin answers, and which say nothing, by attribute."""
    ancestors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values that say less than a value, by the hierarchy of the user."""
    function: Alike | None = None
    lists_claims: bool = False
    """True to list the claims that change, if they fit in memory."""

    def __bool__(self) -> bool:
        return bool(self.kinds or self.ancestors or self.function)

    def to_json(self) -> dict[str, Any]:
        """Return all but a function of the user, for JSON."""
        carriers = {name: sorted(words) for name, words in self.carriers.items() if words}
        ancestors = {value: list(of) for value, of in self.ancestors.items()}
        return {"kinds": dict(self.kinds), "carriers": carriers, "ancestors": ancestors}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Alikeness:
        """Make it from the output of `to_json`; raise ValueError if that was edited."""
        if not set(told["kinds"].values()) <= set(ALIKE_KINDS):
            raise ValueError(f"values cannot be alike as {told['kinds']!r}")
        carriers = {name: frozenset(words) for name, words in told["carriers"].items()}
        ancestors = {value: tuple(of) for value, of in told["ancestors"].items()}
        return cls(kinds=told["kinds"], carriers=carriers, ancestors=ancestors)

    # --- the values of an item --------------------------------------------------------------------

    def compared(
        self,
        attribute: str,
        texts: list[str],
        n_claims: Sequence[float],
        intervals: Grains | None = None,
    ) -> tuple[Groups, list[bool]]:
        """Return the groups of values, and True for those that can be told in part.

        `intervals` are the `grains` of the values, if they are at hand.
        """
        rank = list(range(len(texts)))
        group, parts = rank, list[tuple[int, int]]()
        divisible = [False] * len(texts)
        kind = self.kinds.get(attribute)
        if self.function is not None:
            group, parts = _by_function(self.function, texts)
            wholes = {whole for _, whole in parts}
            divisible = [place in wholes for place in range(len(texts))]
        elif kind == "numbers":
            values = grains(pl.Series(texts)) if intervals is None else intervals
            one, other = np.nonzero(~np.eye(len(texts), dtype=np.bool_))
            is_part = covers(values, one, other)
            parts = list(zip(one[is_part].tolist(), other[is_part].tolist(), strict=True))
            divisible = (values.kind >= 0).tolist()
        elif kind is not None:
            carriers = self.carriers.get(attribute, frozenset())
            group, parts, rank = groups_of(kind, texts, n_claims, carriers)
            if kind == "spellings":
                parts = []
            else:
                divisible = [is_divisible(kind, text, carriers) for text in texts]
        if self.ancestors:
            place = {text: group[k] for k, text in enumerate(texts)}
            for k, text in enumerate(texts):
                above = self.ancestors.get(text, ())
                divisible[k] |= bool(above)
                parts += [(place[one], group[k]) for one in above if one in place]
        return Groups(group, sorted({(a, b) for a, b in parts if a != b}), rank), divisible

    def same(self, attribute: str, value: str, claimed: list[str]) -> str:
        """Return the claimed value that means the same as a value; itself if there is none."""
        if value in claimed or not claimed or len(claimed) >= MOST_VALUES:
            return value
        texts = [*claimed, value]
        group = self.compared(attribute, texts, [1.0] * len(texts))[0].group
        alike = [text for text, own in zip(claimed, group, strict=False) if own == group[-1]]
        return alike[0] if len(alike) == 1 else value

    # --- the values of a partition ----------------------------------------------------------------

    def __call__(self, part: Partition) -> tuple[Block, Merged]:
        """Merge the values of each item that mean the same, and add those that say less."""
        block = part.block
        assert part.values is not None
        texts, votes = as_text(part.values), block.votes_of_fact
        told = np.arange(block.n_facts)
        is_divisible_of_fact = np.zeros(block.n_facts, dtype=np.bool_)
        less: list[int] = []
        whole: list[int] = []
        n_large, spellings = 0, texts.to_list()
        attributes = attributes_of(part)
        first = block.first_fact_of_item
        is_meant = np.isin(attributes, list(self.kinds))
        intervals = grains(texts) if "numbers" in self.kinds.values() else None
        if self.ancestors or self.function is not None:
            is_meant[:] = True
        for item in np.flatnonzero(is_meant & (block.n_facts_of_item > 1)).tolist():
            begin, end = int(first[item]), int(first[item + 1])
            if end - begin > MOST_VALUES:
                n_large += 1
                continue
            (group, parts, rank), divisible = self.compared(
                attributes[item],
                spellings[begin:end],
                votes[begin:end].tolist(),
                None if intervals is None else intervals.part(begin, end),
            )
            is_divisible_of_fact[begin:end] = divisible
            if not parts and len(set(group)) == len(group):
                continue
            best = _most_claimed(group, votes[begin:end], rank)
            told[begin:end] = [begin + best[own] for own in group]
            less += [begin + best[a] for a, _ in parts]
            whole += [begin + best[b] for _, b in parts]
        merged, place = _merged(block, told)
        merged = _with_partials(merged, place[np.array(less, int)], place[np.array(whole, int)])
        merged = merged._replace(is_divisible_of_fact=is_divisible_of_fact[merged.told_of_fact])
        is_other = np.flatnonzero(told != np.arange(len(told)))
        changes = pl.DataFrame(
            {
                "attribute": attributes[block.item_of_fact[is_other]],
                "before": texts.gather(is_other),
                "after": texts.gather(told[is_other]),
                "claims": block.n_supports_of_fact[is_other],
            },
            schema_overrides={"attribute": pl.String, "claims": pl.UInt32},
        )
        if not self.lists_claims:
            return merged, Merged(changes, n_large, len(less))
        fact = block.fact_of_support
        support = np.flatnonzero(told[fact] != fact)
        claims = part.items[block.item_of_fact[fact[support]]].with_columns(
            source=block.source_of_support[support],
            value=texts.gather(told[fact[support]]),
            before=texts.gather(fact[support]),
        )
        return merged, Merged(changes, n_large, len(less), claims)


def attributes_of(part: Partition) -> np.ndarray[Any, Any]:
    """Return the name of each item's attribute; empty where there are no attributes."""
    if "attribute" not in part.items.columns:
        return np.full(part.block.n_items, "", dtype=object)
    return as_text(part.items["attribute"]).fill_null("").to_numpy()


def _by_function(alike: Alike, texts: list[str]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return groups and parts by a function of the user."""
    returned = alike(texts, texts)
    try:
        said = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        said = np.zeros(0)
    if said.shape != (len(texts), len(texts)) or not ((said >= 0.0) & (said <= 1.0)).all():
        raise ParameterError(
            "alike: the function must return a matrix of shares from 0 to 1, with a row and a "
            f"column for each value; for {len(texts)} values it returned {short(returned)}"
        )
    says_all = said >= SAYS_ALL
    is_same = says_all & says_all.T
    group: list[int] = []
    for k in range(len(texts)):
        own = [
            g
            for g in dict.fromkeys(group)
            if all(is_same[k, [j for j, h in enumerate(group) if h == g]])
        ]
        group.append(own[0] if own else k)
    less, whole = np.nonzero(says_all & ~says_all.T)
    return group, [(group[a], group[b]) for a, b in zip(less, whole, strict=True)]


def _most_claimed(group: list[int], votes: FloatArray, rank: list[int]) -> dict[int, int]:
    """Return the most claimed spelling of each group; of equal ones the fullest and plainest."""
    best: dict[int, tuple[float, int, int]] = {}
    for place, own in enumerate(group):
        key = -float(votes[place]), rank[place], place
        best[own] = min(best.get(own, key), key)
    return {own: place for own, (_, _, place) in best.items()}


def _merged(block: Block, told: IntArray) -> tuple[Block, IntArray]:
    """Give the claims of each fact to the told one; also return the new places of facts."""
    kept = np.unique(told)
    place = np.zeros(block.n_facts, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    if len(kept) == block.n_facts:
        return block._replace(told_of_fact=kept), place
    fact, source = place[told[block.fact_of_support]], block.source_of_support
    order = np.lexsort((source, fact))
    fact, source = fact[order], source[order]
    is_first = np.append(True, (np.diff(fact) != 0) | (np.diff(source) != 0))
    share = block.share_of_support
    if block.has_shares:
        share = np.add.reduceat(share[order], np.flatnonzero(is_first))
    fact, source = fact[is_first], source[is_first]
    first_support = begins_of(np.bincount(fact, minlength=len(kept)))
    n_facts = np.bincount(block.item_of_fact[kept], minlength=block.n_items)
    voices: tuple[IntArray, IntArray] = block.first_voice_of_item, block.source_of_voice
    if not block.has_shares:
        voices = voices_of(begins_of(n_facts), first_support, source, int(source.max()) + 1)
    numbers = block.number_of_fact
    return block._replace(
        first_fact_of_item=begins_of(n_facts),
        first_support_of_fact=first_support,
        source_of_support=source,
        first_voice_of_item=voices[0],
        source_of_voice=voices[1],
        known_of_fact=block.known_of_fact[kept],
        label_of_fact=block.label_of_fact[kept],
        number_of_fact=numbers[kept] if len(numbers) else numbers,
        share_of_support=share,
        told_of_fact=kept,
    ), place


def _with_partials(block: Block, less: IntArray, whole: IntArray) -> Block:
    """Add pairs of facts of which one says less."""
    order = np.lexsort((less, whole))
    less, whole = less[order], whole[order]
    first = block.first_fact_of_item[block.item_of_fact[less]]
    return block._replace(
        first_partial_of_fact=begins_of(np.bincount(whole, minlength=block.n_facts)),
        rank_of_partial=(less - first).astype(np.int32),
    )


# --- learning from a sample -----------------------------------------------------------------------


def learned_alikeness(
    encoded: Encoded,
    kinds: Mapping[str, str],
    said: Mapping[str, AlikeKind],
    *,
    usual: str = "unchanged",
) -> Alikeness:
    """Find out which attributes have values that are alike, by a sample of the items.

    `kinds` are those of `Normalisation`, `usual` that of all others; what the user said of an
    attribute is not tested.
    """
    sample, _, _ = encoded.sampled(ENOUGH_CLAIMS).local_sample()
    texts_of: dict[str, list[list[str]]] = defaultdict(list)
    claims_of: dict[str, list[list[tuple[int, str]]]] = defaultdict(list)
    for part in sample.parts:
        block, attributes = part.block, attributes_of(part)
        if part.values is None or (part.values.dtype != pl.String and not said):
            return Alikeness()
        spellings = as_text(part.values).to_list()
        sources, facts = block.source_of_support.tolist(), block.fact_of_support.tolist()
        first_fact = block.first_fact_of_item.tolist()
        first_support = block.first_support_of_fact[block.first_fact_of_item].tolist()
        for item, attribute in enumerate(attributes.tolist()):
            kind = kinds.get(attribute, usual)
            if attribute not in said and kind in ("unchanged", "identifier", "time"):
                continue
            texts_of[attribute].append(spellings[first_fact[item] : first_fact[item + 1]])
            own = range(first_support[item], first_support[item + 1])
            claims_of[attribute].append([(sources[k], spellings[facts[k]]) for k in own])
    found: dict[str, AlikeKind] = {}
    carriers: dict[str, frozenset[str]] = {}
    for attribute, texts in texts_of.items():
        disputed = [own for own in texts if 1 < len(own) <= MOST_VALUES]
        if attribute in said:
            found[attribute] = said[attribute]
        elif len({text for own in texts for text in own}) > MOST_LABELS:
            found[attribute] = _kind_of(disputed, is_text=kinds.get(attribute, usual) == "text")
        else:
            continue
        if found[attribute] in ("words", "spellings"):
            carriers[attribute] = carriers_of(claims_of[attribute])
        own_carriers = carriers.get(attribute, frozenset())
        if attribute not in said and not _is_clear(found[attribute], disputed, own_carriers):
            del found[attribute]
        elif attribute not in said and found[attribute] == "words":
            found[attribute] = "spellings"
    return Alikeness(kinds=found, carriers=carriers)


def kinds_of(normalisation: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the kind of value of each attribute that was normalised."""
    return {name: of["kind"] for name, of in (normalisation or {}).get("attributes", {}).items()}


def _kind_of(disputed: list[list[str]], *, is_text: bool) -> AlikeKind:
    if not is_text:
        return "numbers"
    n_turned = sum(map(_has_turned, disputed))
    return "people" if n_turned >= max(TURNED * len(disputed), 2) else "words"


def _has_turned(texts: list[str]) -> bool:
    """Return True if two values of an item have the same words, turned around by a comma."""
    words = [words_of(text) for text in texts]
    plain = {one.words for one in words if not one.is_turned and len(one.words) > 1}
    return any(one.words[k:] + one.words[:k] in plain
               for one in words if one.is_turned for k in range(1, len(one.words)))  # fmt: skip


def carriers_of(
    claims: list[list[tuple[int, str]]], known: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return words that begin many answers by habit of a source, and say nothing.

    In most items in which a carrier begins an answer, somebody gives the same answer without it.
    And it depends on the source, not on the item: on the items where anybody writes it, some
    sources do far more often than others. `claims` has the source and text of each claim, by item.
    Once a word is known, those before it can be seen, as in: the answer is called X.

    >>> claims = [[(0, f"Answer: X{k}"), (1, f"X{k}"), (2, f"X{k}")] for k in range(9)]
    >>> carriers_of(claims)
    frozenset({'answer'})
    """
    n_items = Counter(source for own in claims for source, _ in own)
    leads, n_led, n_bare = Counter[tuple[int, str]](), Counter[str](), Counter[str]()
    written: defaultdict[str, Counter[int]] = defaultdict(Counter)
    covered: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for own in claims:
        answers = [(source, words_of(text, known).words) for source, text in own]
        given = {words for _, words in answers}
        leading: dict[str, bool] = {}
        for source, words in answers:
            for place, word in enumerate(words[:-1]):
                rest = words_of(" ".join(words[place + 1 :]), known).words
                leading[word] = leading.get(word, False) or rest in given
                leads[source, word] += 1
        for word, is_bare in leading.items():
            n_led[word] += 1
            n_bare[word] += is_bare
            covered[word].update(source for source, _ in answers)
            written[word].update(source for source, words in answers if word in words)
    found = set()
    for (source, word), n in leads.items():
        is_often = n >= max(CARRIED, CARRIED_SHARE * n_items[source])
        if not is_often or 2 * n_bare[word] < n_led[word] or not word.isalpha():
            continue
        rates = [written[word][one] / of for one, of in covered[word].items() if of >= CARRIED]
        usual = np.quantile(rates, 0.25)
        if word not in NEGATIONS and max(rates) >= CARRIED_RATIO * usual:
            found.add(word)
    new = found - LEADING - known
    return carriers_of(claims, known | new) if new else known


def _is_clear(kind: AlikeKind, disputed: list[list[str]], carriers: frozenset[str]) -> bool:
    """Return True if values of one item are alike far more often than those of different items."""
    n_within = sum(len(own) * (len(own) - 1) // 2 for own in disputed)
    if not n_within:
        return False
    values = [text for own in disputed for text in own]
    step = max(len(max(disputed, key=len)), len(values) // 2)
    first = begins_of(np.array([len(own) for own in disputed]))
    within = pairs_within(first, MOST_VALUES)
    one = np.arange(len(values))
    between = one, (one + step) % len(values)
    rates = []
    for (a, b), extra in ((within, 0), (between, 1)):
        alike = _are_alike(kind, values, a, b, carriers)
        rates.append((np.count_nonzero(alike) + extra) / len(alike))
    return bool(rates[0] >= CLEARLY * rates[1])


def _are_alike(
    kind: AlikeKind, values: list[str], one: IntArray, other: IntArray, carriers: frozenset[str]
) -> BoolArray:
    if kind == "numbers":
        intervals = grains(pl.Series(values))
        return covers(intervals, one, other) | covers(intervals, other, one)
    _, relate = (compare_people if kind == "people" else compare_words)(values, carriers)
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    return np.array([min(relate(a, b), relate(b, a)) <= PART for a, b in pairs])


def ancestors_of(hierarchy: object) -> dict[str, tuple[str, ...]]:
    """Return the values that say less than a value, from pairs (value, parent), or from paths.

    >>> ancestors_of(["Europe/Italy/Milan"])
    {'Italy': ('Europe',), 'Milan': ('Italy', 'Europe')}
    >>> ancestors_of({"Milan": "Italy", "Italy": "Europe"})
    {'Milan': ('Italy', 'Europe'), 'Italy': ('Europe',)}
    """
    parent: dict[str, str] = {}
    if isinstance(hierarchy, Mapping):
        pairs = list(hierarchy.items())
    elif isinstance(hierarchy, list | tuple) and all(isinstance(one, str) for one in hierarchy):
        paths = [[name.strip() for name in path.split("/") if name.strip()] for path in hierarchy]
        pairs = [pair for path in paths for pair in zip(path[1:], path[:-1], strict=True)]
    else:
        from veracity.reading.claims import read_table  # noqa: PLC0415 - few need it

        table = read_table(hierarchy)
        if len(table.columns) == 1:
            return ancestors_of(as_text(table.to_series()).drop_nulls().to_list())
        if not {"value", "parent"} <= set(table.columns):
            raise ParameterError(
                "hierarchy: it needs the columns value and parent, or one column of paths such as "
                f"Europe/Italy/Milan; there are {', '.join(table.columns)}"
            )
        pairs = table.select(as_text(table["value"]), as_text(table["parent"])).drop_nulls().rows()
    for value, parent_of_value in pairs:
        above = str(parent_of_value)
        if parent.setdefault(str(value), above) != above:
            raise ParameterError(
                f"hierarchy: '{value}' is below '{parent[str(value)]}' and below '{above}', and a "
                "value has one parent; leave one of them out"
            )
    found: dict[str, tuple[str, ...]] = {}
    for value in parent:
        line, name = list[str](), value
        while (name := parent.get(name, "")) != "":
            if name in line or name == value:
                raise ParameterError(f"hierarchy: '{value}' is below itself")
            line.append(name)
        found[value] = tuple(line)
    return found


def with_merged_originals(
    originals: pl.DataFrame | None, merged: Sequence[Merged], sources: pl.Series
) -> pl.DataFrame | None:
    """Return the claims whose values are not as the source wrote them, with both spellings."""
    listed = [one.claims for one in merged if one.claims is not None]
    if not listed:
        return originals
    claims = pl.concat(listed)
    claims = claims.with_columns(source=sources.gather(claims["source"]))
    keys = [name for name in claims.columns if name not in ("value", "before")]
    if originals is None:
        return claims.select(*keys, "value", original="before")
    before = [*keys, "before"]
    named = originals.rename({"value": "before"}).with_columns(pl.col("before").cast(pl.String))
    own = claims.join(named, on=before, how="left", nulls_equal=True)
    own = own.select(*keys, "value", original=pl.coalesce("original", "before"))
    others = named.join(claims, on=before, how="anti", nulls_equal=True)
    return pl.concat([others.rename({"before": "value"}).select(own.columns), own])


def merged_notes(merged: Sequence[Merged]) -> tuple[pl.DataFrame, list[str]]:
    """Return the changes of all partitions, summed up, and notes on them."""
    keys = ["attribute", "before", "after"]
    changes = pl.concat([one.changes for one in merged]).group_by(keys).agg(pl.col("claims").sum())
    notes, n_large = [], sum(one.n_large for one in merged)
    if len(changes):
        spellings = counted(len(changes), "spelling is", "spellings are")
        notes.append(f"{spellings} merged with a value of the item that means the same")
    if n_large:
        items = counted(n_large, "item has", "items have")
        notes.append(f"{items} more than {MOST_VALUES} values, which are not compared")
    return changes.sort(keys), notes
