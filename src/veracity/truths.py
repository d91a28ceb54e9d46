"""Known truths, matched with the facts that were claimed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from veracity.encode import UNKNOWN, Encoded, IntArray
from veracity.schema import Kind, comparable

__all__ = ["Matched", "known_of_fact", "match_truths", "note_count"]


class Matched(NamedTuple):
    """Known truths brought together with facts.

    `facts` are the facts with their values made comparable, `known` the truths of items that are
    spoken of, one row a truth, in the same columns `keys` and `value`.
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
    keys: list[str] = [name for name in ("entity", "attribute", "fact") if name in facts.columns]
    if "attribute" in keys and "attribute" not in truths.columns:
        truths = truths.with_columns(attribute=pl.lit("", dtype=facts["attribute"].dtype))
    truths = truths.with_columns(truths[key].cast(facts[key].dtype, strict=False) for key in keys)
    if kind == "binary":
        truths = truths.rename({"claim": "value"})
    else:
        claimed, true = comparable(facts["value"], truths["value"])
        facts, truths = facts.with_columns(value=claimed), truths.with_columns(value=true)
    truths = truths.select(*keys, "value").unique()
    notes: list[str] = []
    if kind != "multiple":
        n_items = truths.select(keys).n_unique()
        truths = truths.filter(pl.len().over(keys) == 1)
        note_count(notes, n_items - len(truths), "contradicting truths are left out")
    spoken = truths.join(facts.select(keys).unique(), on=keys, how="semi")
    thing = "facts" if kind == "binary" else "items"
    note_count(notes, len(truths) - len(spoken), f"truths are about {thing} nobody speaks of")
    return Matched(facts, spoken, keys, notes)


def known_of_fact(encoded: Encoded, truths: pl.DataFrame) -> tuple[IntArray, list[str]]:
    """What is known of each fact: 1 true, 0 false, `UNKNOWN` where its item is not known."""
    claims = encoded.claims
    matched = match_truths(encoded.facts, truths, claims.kind)
    numbered = matched.facts.with_row_index("number")
    if claims.kind == "binary":
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
    known = np.full(claims.n_facts, UNKNOWN, dtype=np.int8)
    known[of_known["number"].to_numpy()] = is_true.to_numpy()
    return known, matched.notes


def note_count(notes: list[str], count: int, what: str) -> None:
    """Note how many there are of something, if any."""
    if count:
        notes.append(f"{count:,} {what}")
