"""How values and entities are written: what normalising would merge or leave out, and two names."""

from __future__ import annotations

import numpy as np
import polars as pl

from veracity.doubts.numbers import number_warnings
from veracity.encoding.partitions import Encoded, Partition
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.reading.normalise import normalise
from veracity.result.warnings import DataWarning, count, data_warning, some
from veracity.similarity import NUMBER

ODDLY_NAMED = 0.01
"""The share of entities that seem to have two names, from which it is worth a warning."""

RARELY_SPELT, ODDLY_SPELT, OFTEN_SPELT = 0.01, 0.05, 0.2
"""The share of values that are other spellings, from which it is worth a warning: of numbers, of
text; and from which it is serious."""


def value_warnings(encoded: Encoded, most_facts: int, *, are_normalised: bool) -> list[DataWarning]:
    """What is to be said of values by how they are written, in about so many facts."""
    step = -(-encoded.n_facts // most_facts)
    tables = [_spelt(part, step) for part in encoded.parts]
    facts = pl.concat([table for table in tables if table is not None] or [pl.DataFrame()])
    if facts.is_empty():
        return []
    found = number_warnings(facts) if encoded.kind == "categorical" else []
    if are_normalised or facts["value"].dtype != pl.String:
        return found
    return found + _spelling_warnings(facts, encoded)


def _spelling_warnings(facts: pl.DataFrame, encoded: Encoded) -> list[DataWarning]:
    """Values that normalising would merge or leave out."""
    _, normalised = normalise(facts, claims_kind=encoded.kind)
    is_empty = pl.col("change") == "no value"
    empty = facts.join(normalised.changes.filter(is_empty), on="before", how="semi")
    keys = [*encoded.parts[0].items.columns, "value"]
    merged = _merged(normalised.rows, keys)
    return merged + _placeholders(empty, int(facts["claims"].sum()))


def _spelt(part: Partition, step: int) -> pl.DataFrame | None:
    """The facts of every so many items, with how they are written, and by how many."""
    if part.values is None:
        return None
    item = part.block.item_of_fact
    tried = np.flatnonzero(item % step == 0)
    return part.items[item[tried]].with_columns(
        value=part.values.gather(tried),
        before=part.values.gather(tried),
        claims=part.block.n_supports_of_fact[tried],
    )


def name_warnings(encoded: Encoded) -> list[DataWarning]:
    """Entities that some sources name otherwise than others do: as numbers, or in capitals."""
    plain = pl.col("name").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    plain = plain.str.replace(r"^0*(\d+)(\.0+)?$", "$1")  # a number lost zeros, or got a point
    named = pl.concat([_names(part).unique() for part in encoded.parts]).unique().to_frame("name")
    named = named.with_columns(plain=plain)
    n_entities = named["plain"].n_unique()
    named = named.filter(pl.len().over("plain") > 1)
    if named.is_empty():
        return []  # mostly so: who speaks of what need not be looked at
    spoken = pl.concat([_spoken(part) for part in encoded.parts]).unique()
    found = (
        spoken.join(named, on="name")
        .group_by("plain")
        .agg(names=pl.col("name").unique().sort(), of_one=pl.len() == pl.col("source").n_unique())
    )
    two = found.filter("of_one").sort("plain")
    if two.is_empty() or len(two) < ODDLY_NAMED * n_entities:
        return []
    such = " and ".join(f"'{in_short(name)}'" for name in two["names"][0].head(2))
    have = count(len(two), n_entities, "entities", "has", "have")
    seen = f"{have} two names or more, such as {such}"
    evidence = two.head(10).select(pl.col("names").list.join(" | "))
    serious = len(two) >= 5 * ODDLY_NAMED * n_entities
    return [data_warning("entity-spellings", seen, evidence, serious=serious)]


def _names(part: Partition) -> pl.Series:
    """The entity of each item, as text."""
    return as_text(part.items.to_series(0)).alias("name")


def _spoken(part: Partition) -> pl.DataFrame:
    """Who speaks of which entity."""
    block = part.block
    return pl.DataFrame(
        {"name": _names(part).gather(block.item_of_voice), "source": block.source_of_voice}
    )


def _merged(facts: pl.DataFrame, keys: list[str]) -> list[DataWarning]:
    """Facts that became the same; `before` is how they were written."""
    merged = facts.group_by(keys).agg("before", spellings=pl.len(), claims=pl.col("claims").sum())
    merged = merged.filter(pl.col("spellings") > 1).sort(
        "spellings", "claims", *keys, descending=[True, True, *(False for _ in keys)]
    )
    are_numbers = pl.col("before").list.eval(pl.element().str.contains(NUMBER)).list.all()
    numbers, others = merged.filter(are_numbers), merged.filter(~are_numbers)
    is_serious = _share_merged(merged, len(facts)) >= OFTEN_SPELT
    if is_serious and _share_merged(others, len(facts)) >= ODDLY_SPELT:
        return _merged_texts(merged, len(facts))  # which says all there is to say
    return _merged_numbers(numbers, len(facts)) + _merged_texts(others, len(facts))


def _merged_numbers(merged: pl.DataFrame, n_facts: int) -> list[DataWarning]:
    share = _share_merged(merged, n_facts)
    if share < RARELY_SPELT:
        return []
    seen = f"{share:.0%} of the values of items are another spelling of a number, such as "
    seen += some(merged["before"][0].sort().to_list())
    return [data_warning("number-spellings", seen, _evidence(merged), serious=share >= OFTEN_SPELT)]


def _merged_texts(merged: pl.DataFrame, n_facts: int) -> list[DataWarning]:
    share = _share_merged(merged, n_facts)
    if share < ODDLY_SPELT:
        return []
    seen = f"normalising would merge {share:.0%} of the values of items with others; of one item "
    seen += f"they are {some(merged['before'][0].sort().to_list())}"
    return [data_warning("spellings", seen, _evidence(merged), serious=share >= OFTEN_SPELT)]


def _share_merged(merged: pl.DataFrame, n_facts: int) -> float:
    """The share of the facts that would be gone."""
    return int((merged["spellings"] - 1).sum()) / max(n_facts, 1)


def _evidence(merged: pl.DataFrame) -> pl.DataFrame:
    return merged.head(10).with_columns(pl.col("before").list.sort().list.join(" | "))


def _placeholders(facts: pl.DataFrame, n_claims: int) -> list[DataWarning]:
    n_empty = int(facts["claims"].sum())
    if n_empty < 0.01 * n_claims:
        return []
    said = facts.group_by("value").agg(pl.col("claims").sum())
    said = said.sort("claims", "value", descending=[True, False])
    seen = f"{n_empty / n_claims:.0%} of the claims name no value: {some(said['value'].to_list())}"
    return [data_warning("placeholders", seen, said.head(10), serious=n_empty >= 0.1 * n_claims)]
