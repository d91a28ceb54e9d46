"""Checks of spelling: values that normalising would merge or remove, and things with two names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from veracity.checks.evidence import Evidence
from veracity.checks.registry import Seen, register
from veracity.encoding.partitions import Partition
from veracity.naming import as_text
from veracity.printing import in_short, share_of, some
from veracity.reading.normalise import normalise
from veracity.reading.normalise.quantities import UNIT_OF_WORD
from veracity.reading.normalise.spelling import fold, plain, says_nothing, tidy
from veracity.reading.roles import Kind, keys_of, simple_name
from veracity.values import NUMBER, as_numbers

ODDLY_NAMED = 0.01
"""Smallest share of entities with two names that gives a warning."""

RARELY_SPELT, ODDLY_SPELT, OFTEN_SPELT = 0.01, 0.05, 0.2
"""Smallest share of values with another spelling that gives a warning, for numbers and for text;
and the share that is serious."""

FEWEST_LETTERS = 4
"""Longest name that is another word without one of its letters, such as late and lat."""

MOST_SPELLINGS = 100
"""Number of different values above which an attribute does not have labels."""

MOSTLY = 0.95
"""Share of numbers among the values of an attribute from which it counts as numeric."""

SELDOM = 0.25
"""Share of pairs of claims on an item with the same number below which agreement is rare."""

NEAR = 0.5
"""Largest distance of close numbers from the median of their item, relative to the distance between
items."""

FEWEST_ITEMS = 10
"""Smallest number of items with several claims that is evidence of close numbers."""

NORMALISE = "Use normalise=True, or --normalise on the command line."

# --- names ----------------------------------------------------------------------------------------


@register(
    "entity-spellings",
    cost="whole",
    meaning="Claims about one thing under two names are never compared, and it has two answers.",
    remedy="Write names in one way in all sources before they are read: in small letters, say, and "
    "with the leading zeros that a spreadsheet takes off numbers.",
)
def entity_spellings(evidence: Evidence) -> Seen | None:
    """Find entities that sources write differently: as numbers, or in capitals."""
    parts = evidence.encoded.parts
    plain = pl.col("name").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    plain = plain.str.replace(r"^0*(\d+)(\.0+)?$", "$1")  # a number lost zeros, or got a point
    entity = evidence.encoded.example.items.columns[0]
    names = pl.concat([_names(part, entity).unique() for part in parts]).unique()
    named = names.to_frame("name").with_columns(plain=plain)
    n_entities = named["plain"].n_unique()
    named = named.filter(pl.len().over("plain") > 1)
    if named.is_empty():
        return None  # mostly so: who speaks of what need not be looked at
    spoken = pl.concat([_spoken(part, entity) for part in parts]).unique()
    found = (
        spoken.join(named, on="name")
        .group_by("plain")
        .agg(names=pl.col("name").unique().sort(), of_one=pl.len() == pl.col("source").n_unique())
    )
    two = found.filter("of_one").sort("plain")
    if two.is_empty() or len(two) < ODDLY_NAMED * n_entities:
        return None
    such = " and ".join(f"'{in_short(name)}'" for name in two["names"][0].head(2))
    have = share_of(len(two), n_entities, "entities", "has", "have")
    examples = two.head(10).select(pl.col("names").list.join(" | "))
    is_serious = len(two) >= 5 * ODDLY_NAMED * n_entities
    return Seen(f"{have} two names or more, such as {such}", is_serious, examples)


@register(
    "attribute-spellings",
    meaning="Claims about one attribute under two names are never compared, and it has two "
    "answers.",
    remedy="Give the attribute one name before the claims are read. If these are two attributes, "
    "there is nothing to do.",
)
def attribute_spellings(evidence: Evidence) -> Seen | None:
    """Find attributes with similar names of which no source uses both."""
    encoded, most = evidence.encoded, evidence.budget.claims
    pairs = names_alike(as_text(encoded.names.attributes).to_list())
    if not pairs:
        return None  # mostly so: who speaks of what need not be looked at
    some_of_them = encoded if encoded.n_claims <= most else encoded.sampled(most)
    spoken = pl.concat([_spoken(part, "attribute") for part in some_of_them.parts]).unique()
    sources_of = dict(spoken.group_by("name").agg("source").iter_rows())
    found = [
        pair
        for pair in pairs
        if set(sources_of.get(pair[0], [])).isdisjoint(sources_of.get(pair[1], []))
    ]
    if not found:
        return None
    named = [f"'{in_short(one)}' and '{in_short(other)}'" for one, other in found]
    text = f"attributes have names that are alike, and no source uses both: {some(named)}"
    examples = pl.DataFrame(found[:10], schema=["attribute", "other"], orient="row")
    return Seen(text, examples=examples)


def names_alike(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only in case, signs, a unit at the end, or a lost letter.

    >>> names_alike(["Colour", "color", "weight", "Weight (kg)", "weight_max", "gate 1", "gate 12"])
    [('Colour', 'color'), ('weight', 'Weight (kg)')]
    """
    names_of: dict[str, list[str]] = {}
    for name in names:
        bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]\s*$", "", name)
        words = simple_name(bare).split("_")
        if len(words) > 1 and words[-1] in UNIT_OF_WORD:
            words.pop()
        names_of.setdefault("".join(words), []).append(name)
    pairs = [(own[0], other) for own in names_of.values() for other in own[1:]]
    for key, own in names_of.items():
        if len(key) > FEWEST_LETTERS and key.isalpha():
            shorter = {key[:n] + key[n + 1 :] for n in range(len(key))} & names_of.keys()
            pairs += [(own[0], names_of[one][0]) for one in sorted(shorter)]
    return sorted(pairs, key=lambda pair: names.index(pair[0]))


def _names(part: Partition, of: str) -> pl.Series:
    """Return the entity of each item, or its attribute, as text."""
    return as_text(part.items[of]).alias("name")


def _spoken(part: Partition, of: str) -> pl.DataFrame:
    """Return the pairs of a source and an entity (or attribute) in the claims."""
    block = part.block
    return pl.DataFrame(
        {"name": _names(part, of).gather(block.item_of_voice), "source": block.source_of_voice}
    )


# --- values ---------------------------------------------------------------------------------------


@register(
    "close-numbers",
    cost="sample",
    meaning="Values are compared as names: 19.9 is no closer to 20 than 5 is. So one source is "
    "believed, and those that are nearly right count as wrong.",
    remedy="Use kind='numeric', or --kind numeric, which estimates a number from all claims. For a "
    "wide table that has words, too, name these columns: --columns value=NAME+OTHER.",
)
def close_numbers(evidence: Evidence) -> Seen | None:
    """Find attributes whose numbers are close, but hardly ever equal."""
    facts = evidence.spelt
    if evidence.encoded.kind != "categorical" or facts.is_empty():
        return None
    keys = [name for name in facts.columns if name in ("entity", "attribute")]
    number = pl.Series(as_numbers(facts["value"])).fill_nan(None)
    facts = facts.with_columns(about=_attributes(facts).fill_null(""), number=number)
    facts = facts.filter(pl.col("claims").sum().over(keys) > 1)
    own = ["about", *(name for name in keys if name != "attribute")]
    n_items = facts.select(own).n_unique()
    is_number = pl.col("number").is_not_null().mean().over("about") >= MOSTLY
    facts = facts.filter(is_number).drop_nulls("number")
    facts = facts.group_by(*own, "number").agg(pl.col("claims").sum())  # however it is written
    middle = pl.col("number").median()
    items = facts.group_by(own).agg(
        middle=middle,
        off=(pl.col("number") - middle).abs().median(),
        same=(pl.col("claims") * (pl.col("claims") - 1)).sum(),
        pairs=pl.col("claims").sum() * (pl.col("claims").sum() - 1),
    )
    found = items.group_by("about").agg(
        items=pl.len(),
        agreement=(pl.col("same") / pl.col("pairs")).mean(),
        off=pl.col("off").median(),
        apart=(pl.col("middle") - pl.col("middle").median()).abs().median(),
    )
    is_near = pl.col("off") < NEAR * pl.col("apart")
    few = (pl.col("agreement") < SELDOM) & (pl.col("items") >= FEWEST_ITEMS)
    found = found.filter(is_near & few).sort("about")
    if found.is_empty():
        return None
    names = [f"'{in_short(name)}'" for name in found["about"] if name]
    of_what = f"of {some(names)}, " if names else ""
    mean = (pl.col("agreement") * pl.col("items")).sum() / pl.col("items").sum()
    text = f"{of_what}sources name numbers that are close to each other, but two of them name the "
    text += f"same one for {found.select(mean).item():.0%} of the items only"
    return Seen(text, 2 * int(found["items"].sum()) > n_items, found)


@register(
    "number-spellings",
    cost="sample",
    meaning="Where all values are numbers, 1 and 1.00 are the same. Here others are words, so all "
    "of them are compared as they are written, and votes for one number are split.",
    remedy=NORMALISE,
)
def number_spellings(evidence: Evidence) -> Seen | None:
    """Find numbers that are written in several ways."""
    merged, share = _merged(evidence, of_numbers=True)
    if share < RARELY_SPELT:
        return None
    text = f"{share:.0%} of the values of items are another spelling of a number, such as "
    text += some(merged["before"][0].sort().to_list())
    return Seen(text, share >= OFTEN_SPELT, _examples(merged))


@register(
    "spellings",
    cost="sample",
    meaning="Sources that mean the same seem to contradict each other, and their votes are split.",
    remedy=NORMALISE,
)
def spellings(evidence: Evidence) -> Seen | None:
    """Find values that normalising would merge."""
    merged, share = _merged(evidence, of_numbers=False)
    if share < ODDLY_SPELT:
        return None
    text = f"normalising would merge {share:.0%} of the values of items with others; of one item "
    text += f"they are {some(merged['before'][0].sort().to_list())}"
    return Seen(text, share >= OFTEN_SPELT, _examples(merged))


def _merged(evidence: Evidence, *, of_numbers: bool) -> tuple[pl.DataFrame, float]:
    """Return the facts that became equal (numbers or others), and their share.

    `before` is their spelling. If there are many, numbers count among the others, so that there is
    one finding only.
    """
    if evidence.normalised is None:
        return pl.DataFrame(), 0.0
    keys = [*evidence.encoded.example.items.columns, "value"]
    merged = evidence.normalised.rows.group_by(keys).agg(
        "before", spellings=pl.len(), claims=pl.col("claims").sum()
    )
    merged = merged.filter(pl.col("spellings") > 1).sort(
        "spellings", "claims", *keys, descending=[True, True, *(False for _ in keys)]
    )
    n_facts = max(len(evidence.normalised.rows), 1)

    def share_merged(merged: pl.DataFrame) -> float:
        return int((merged["spellings"] - 1).sum()) / n_facts

    are_numbers = pl.col("before").list.eval(pl.element().str.contains(NUMBER)).list.all()
    numbers, others = merged.filter(are_numbers), merged.filter(~are_numbers)
    if share_merged(merged) >= OFTEN_SPELT and share_merged(others) >= ODDLY_SPELT:
        numbers, others = merged.clear(), merged
    found = numbers if of_numbers else others
    return found, share_merged(found)


def _examples(merged: pl.DataFrame) -> pl.DataFrame:
    return merged.head(10).with_columns(pl.col("before").list.sort().list.join(" | "))


@register(
    "placeholders",
    cost="sample",
    meaning="Placeholders such as 'n/a' count as values and may win.",
    remedy="Use normalise=True, or --normalise, to leave them out; no_value=[...], or --no-value, "
    "names those that are to be left out.",
)
def placeholders(evidence: Evidence) -> Seen | None:
    """Find placeholders such as "n/a": if they are 1 % of the claims, or win an item."""
    if evidence.are_normalised:
        return None
    text, serious, examples = "", False, pl.DataFrame()
    if evidence.normalised is not None:
        is_empty = pl.col("change") == "no value"
        named = evidence.spelt.with_columns(attribute=_attributes(evidence.spelt))
        changes = evidence.normalised.changes.filter(is_empty)
        empty = named.join(changes, on=["attribute", "before"], how="semi")
        n_claims, n_empty = int(named["claims"].sum()), int(empty["claims"].sum())
        if n_empty >= 0.01 * n_claims:
            values = empty.group_by("value").agg(pl.col("claims").sum())
            examples = values.sort("claims", "value", descending=[True, False])
            text = f"{n_empty / n_claims:.0%} of the claims name no value: "
            text += some(examples["value"].to_list())
            examples, serious = examples.head(10), n_empty >= 0.1 * n_claims
    facts = evidence.facts
    if "value" not in facts.columns:  # binary claims
        return None
    keys, n_items = keys_of(facts), facts.select(keys_of(facts)).n_unique()
    known = examples["value"].to_list() if text else []
    won = _placeholders_that_win(facts, keys, evidence.encoded.kind, known)
    items = share_of(len(won), n_items, "items")
    if text:
        return Seen(f"{text}; they win {items if len(won) else 'no item'}", serious, examples)
    if won.is_empty():
        return None
    values = won["value"].value_counts(name="items")
    values = values.sort("items", "value", descending=[True, False])
    text = f"placeholders win {items}: {some(values['value'].to_list())}"
    return Seen(text, examples=values.head(10))


def _placeholders_that_win(
    facts: pl.DataFrame, keys: list[str], kind: Kind, known: Sequence[str]
) -> pl.DataFrame:
    """Return the placeholders that are taken for true.

    Those with digits, such as "Dec 02 Not Available", are found if they are `known`.
    """
    if facts.schema.get("value") != pl.String:  # of binary facts there is none
        return facts.clear()
    values = facts["value"]
    has_digit = values.str.contains(r"^[^#]*[0-9]")
    texts = values.filter(~has_digit).unique()
    texts = texts.filter(says_nothing(fold(plain(tidy(texts)))))
    dated = values.filter(has_digit & values.is_in(known)).unique()
    values = pl.concat([texts, dated])
    if values.is_empty():
        return facts.clear()
    named = facts.with_columns(attribute=_attributes(facts), claims="supporters")
    named = named.with_columns(is_found=pl.col("value").is_in(values.implode()))
    is_small = pl.col("value").n_unique().over("attribute") <= MOST_SPELLINGS
    is_small &= ~pl.col("value").is_in(dated.implode())
    small = named.filter(is_small & pl.col("is_found").any().over("attribute"))
    changes = normalise(small.select("attribute", "value", "claims"))[1].changes  # knows labels
    none = changes.filter(change="no value").select("attribute", value="before")
    large = named.filter(~is_small & pl.col("is_found")).select(none.columns)
    none = pl.concat([none, large]).unique().with_columns(is_none=True)
    named = named.join(none, on=none.columns[:2], how="left").filter(
        pl.col("is_none").any().over(keys)
    )
    if kind == "multiple":
        return named.filter(pl.col("is_none") & (pl.col("plausibility") >= 0.5))
    best = named.sort(
        pl.col("plausibility").round(9), "claims", "value", descending=[True, True, False]
    ).unique(keys, keep="first", maintain_order=True)
    return best.filter("is_none")


def _attributes(facts: pl.DataFrame) -> pl.Series:
    """Return the attribute of each fact as text; empty without attributes."""
    if "attribute" in facts.columns:
        return as_text(facts["attribute"])
    return pl.repeat("", len(facts), eager=True)
