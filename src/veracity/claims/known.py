"""Known truths, matched with the facts that were claimed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from veracity.claims.block import UNKNOWN, Block
from veracity.claims.encode import Encoded, Part
from veracity.claims.schema import Kind, comparable, in_type_of, keys_of

__all__ = ["Matched", "match_truths", "note_count", "with_known"]


class Matched(NamedTuple):
    """Known truths brought together with facts.

    `facts` are the facts with their values made comparable, `known` the truths of items that are
    spoken of, one row per truth, in the same columns `keys` and `value`.
    """

    facts: pl.DataFrame
    known: pl.DataFrame
    keys: list[str]
    notes: list[str]


def match_truths(facts: pl.DataFrame, truths: pl.DataFrame, kind: Kind) -> Matched:
    """Bring truths to the types of the facts; leave out what contradicts or concerns nobody.

    Where the claims have no attribute, the truths' is not looked at; where only the truths lack
    one, it is taken as empty.
    """
    keys = keys_of(facts)
    if "attribute" in keys and "attribute" not in truths.columns:
        truths = truths.with_columns(attribute=pl.lit(""))
    if kind == "binary":
        truths = truths.rename({"claim": "value"})
    else:
        claimed, true = comparable(facts["value"], truths["value"])
        facts, truths = facts.with_columns(value=claimed), truths.with_columns(value=true)
    truths = truths.select(*keys, "value").unique()
    typed = truths.with_columns(in_type_of(facts[key], truths[key]).alias(key) for key in keys)
    is_named = pl.all_horizontal(pl.col(key).is_not_null() for key in keys)
    n_strange, truths = (
        len(typed) - int(typed.select(is_named.sum()).item()),
        typed.filter(is_named),
    )
    notes: list[str] = []
    if kind != "multiple":
        n_items = truths.select(keys).n_unique()
        truths = truths.filter(pl.len().over(keys) == 1)
        note_count(notes, n_items - len(truths), "contradicting truths are left out")
    spoken = truths.join(facts.select(keys).unique(), on=keys, how="semi")
    thing = "facts" if kind == "binary" else "items"
    n_others = n_strange + len(truths) - len(spoken)
    note_count(notes, n_others, f"truths are about {thing} nobody speaks of")
    return Matched(facts, spoken, keys, notes)


def with_known(encoded: Encoded, truths: pl.DataFrame) -> tuple[Encoded, list[str]]:
    """The claims with what is known of their facts, or of their numbers, beforehand.

    A fact is known to be true (1) or false (0), or `UNKNOWN` where its item is not known.
    """
    matched = match_truths(encoded.facts, truths, encoded.kind)
    if encoded.kind == "numeric":
        blocks = [_with_known_numbers(part, matched) for part in encoded.parts]
        return encoded.with_known(blocks), matched.notes
    numbered = matched.facts.with_row_index("number")
    if encoded.kind == "binary":
        of_known = numbered.join(matched.known, on=matched.keys)
        is_true = of_known["value"]
    else:
        of_known = numbered.join(matched.known.select(matched.keys).unique(), on=matched.keys)
        truth = matched.known.with_columns(is_true=pl.lit(value=True))
        joined = of_known.join(
            truth, on=[*matched.keys, "value"], how="left", maintain_order="left"
        )
        is_true = joined["is_true"].fill_null(value=False)
        unclaimed = len(matched.known) - int(is_true.sum())
        note_count(
            matched.notes, unclaimed, "truths are claimed by nobody: their items keep no value"
        )
    known = np.full(len(numbered), UNKNOWN, dtype=np.int8)
    known[of_known["number"].to_numpy()] = is_true.to_numpy()
    return encoded.with_known_facts(known), matched.notes


def _with_known_numbers(part: Part, matched: Matched) -> Block:
    truths = matched.known.select(*matched.keys, truth=pl.col("value").cast(pl.Float64))
    joined = part.items.join(truths, on=matched.keys, how="left", maintain_order="left")
    known = joined["truth"].fill_null(np.nan).to_numpy(writable=True)
    return part.block._replace(known_number_of_item=known)


def note_count(notes: list[str], count: int, what: str) -> None:
    """Note how many there are of something, if any."""
    if count:
        notes.append(f"{count:,} {what}")
