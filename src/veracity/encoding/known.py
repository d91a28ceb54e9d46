"""Known truths, matched with the facts that were claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import UNKNOWN, Block
from veracity.encoding.partitions import Encoded, Partition
from veracity.io.table_file import unguarded
from veracity.naming import as_text
from veracity.printing import counted, in_short
from veracity.reading.roles import Kind, comparable, in_type_of, keys_of, simple_name

if TYPE_CHECKING:
    from veracity.alike import Alikeness

MOST_COMPARED = 10_000
"""Names of more attributes than this are not compared by their spelling."""


class Matched(NamedTuple):
    """Known truths and facts, with comparable values in the same columns `keys` and `value`.

    `known` has one row per truth about an item that is claimed.
    """

    facts: pl.DataFrame
    known: pl.DataFrame
    keys: list[str]
    notes: list[str]


def match_truths(
    facts: pl.DataFrame, truths: pl.DataFrame, kind: Kind, alikeness: Alikeness | None = None
) -> Matched:
    """Bring truths to the types of the facts; drop those that contradict, or match no item.

    Attributes of truths are ignored if the claims have none; missing ones are taken as empty. A
    truth that is alike to a claimed value is taken for it.
    """
    of_attributes = _notes_of_attributes(facts, truths)
    facts, truths, n_contradicting = _alike(facts, truths, kind)
    matched = _as_alike(_about_items_of(facts, truths), facts, alikeness)
    notes = [*of_attributes, *_notes(kind, n_contradicting, truths, len(matched))]
    return Matched(facts, matched, keys_of(facts), notes)


def _alike(
    facts: pl.DataFrame, truths: pl.DataFrame, kind: Kind, *, are_numbers: bool | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Bring facts and truths to the same types; drop and count truths that contradict each other.

    Whether all values are numbers is found out from these facts if `are_numbers` is None.
    """
    keys = keys_of(facts)
    if "attribute" in keys and "attribute" not in truths.columns:
        truths = truths.with_columns(attribute=pl.lit(""))
    truths = _as_claimed(truths, facts)
    if kind == "binary":
        truths = truths.rename({"claim": "value"})
    else:
        claimed, true = comparable(facts["value"], truths["value"], are_numbers=are_numbers)
        facts, truths = facts.with_columns(value=claimed), truths.with_columns(value=true)
    truths = truths.select(*keys, "value").unique()
    typed = truths.with_columns(in_type_of(facts[key], truths[key]).alias(key) for key in keys)
    is_named = pl.all_horizontal(pl.col(key).is_not_null() for key in keys)
    strange, truths = typed.filter(~is_named), typed.filter(is_named).unique()
    n_contradicting = 0
    if kind != "multiple":
        n_items = truths.select(keys).n_unique()
        truths = truths.filter(pl.len().over(keys) == 1)
        n_contradicting = n_items - len(truths)
    return facts, pl.concat([truths, strange]), n_contradicting  # nobody speaks of strange ones


def _as_claimed(truths: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Remove the apostrophes that our CSV files add to texts such as formulas."""
    plain = unguarded(truths)
    for name in set(truths.columns) & set(facts.columns):
        own, other = truths[name], plain[name]
        if facts.schema[name] != pl.String or own.equals(other):
            continue
        claimed = facts[name].unique().implode()
        is_meant = (own != other) & ~own.is_in(claimed) & other.is_in(claimed)
        truths = truths.with_columns(other.zip_with(is_meant.fill_null(value=False), own))
    return truths


def _about_items_of(facts: pl.DataFrame, truths: pl.DataFrame) -> pl.DataFrame:
    keys = keys_of(facts)
    return truths.join(facts.select(keys), on=keys, how="semi")


def _as_alike(
    truths: pl.DataFrame, facts: pl.DataFrame, alikeness: Alikeness | None
) -> pl.DataFrame:
    """Replace truths by the claimed values of their items that mean the same."""
    if alikeness is None or truths.schema["value"] != pl.String or not len(truths):
        return truths
    keys = keys_of(facts)
    claimed = facts.group_by(keys, maintain_order=True).agg(claimed="value")
    joined = truths.join(claimed, on=keys, how="left", maintain_order="left")
    attribute = as_text(truths["attribute"]).fill_null("") if "attribute" in keys else [""]
    names = list(attribute) * (1 if "attribute" in keys else len(truths))
    rows = zip(names, truths["value"], joined["claimed"].to_list(), strict=True)
    return truths.with_columns(value=pl.Series([alikeness.same(*row) for row in rows]))


def _notes_of_attributes(facts: pl.DataFrame, truths: pl.DataFrame) -> list[str]:
    """Note if only the claims have attributes, or only the truths: these can hardly match."""
    if "entity" not in facts.columns or not len(truths):
        return []
    if "attribute" not in facts.columns and "attribute" in truths.columns:
        return ["the claims have no attributes, so those of the truths are ignored"]
    if "attribute" not in facts.columns or "attribute" in truths.columns:
        return []
    are_named = bool((as_text(facts["attribute"]) != "").all())
    return ["the truths have no attributes, and the claims do: add a column"] if are_named else []


def _notes(kind: Kind, n_contradicting: int, truths: pl.DataFrame, n_matched: int) -> list[str]:
    notes: list[str] = []
    note_count(
        notes, n_contradicting, "contradicting truth is", "contradicting truths are", "left out"
    )
    thing = "facts" if kind == "binary" else "items"
    note_count(
        notes, len(truths) - n_matched, "truth is", "truths are", f"about {thing} without any claim"
    )
    return notes


def in_names_of_claims(
    truths: pl.DataFrame, attributes: pl.Series
) -> tuple[pl.DataFrame, list[str]]:
    """Rename attributes of truths as the claims call them, where only the spelling differs.

    >>> truths = pl.DataFrame({"entity": ["x", "x"], "attribute": ["Unit Price", "hue"]})
    >>> found, notes = in_names_of_claims(truths, pl.Series(["unit_price", "hue"]))
    >>> found["attribute"].to_list(), notes
    (['unit_price', 'hue'], ["'Unit Price' is taken as 'unit_price'"])
    """
    if "attribute" not in truths.columns or truths.schema["attribute"] != pl.String:
        return truths, []
    if attributes.dtype != pl.String or len(attributes) > MOST_COMPARED:
        return truths, []
    own = {simple_name(name): name for name in attributes}
    if len(own) < len(attributes):
        return truths, []  # two that differ in spelling only
    strange = sorted(set(truths["attribute"].drop_nulls()) - set(attributes))
    called = {name: own[simple_name(name)] for name in strange if simple_name(name) in own}
    notes = [f"'{in_short(name)}' is taken as '{in_short(as_)}'" for name, as_ in called.items()]
    return truths.with_columns(pl.col("attribute").replace(called)), notes


def with_known(encoded: Encoded, truths: pl.DataFrame) -> tuple[Encoded, list[str]]:
    """Mark the known truths of facts, or of numbers, partition by partition.

    A fact is known to be true (1) or false (0), or `UNKNOWN` where its item is not known.
    """
    truths, renamed = in_names_of_claims(truths, encoded.names.attributes)
    look = KnownInPartition(truths, encoded.kind, encoded.are_numbers, encoded.alikeness)
    known, counts = encoded.with_known_truths(look)
    _, alike, n_contradicting = _alike(
        encoded.example.facts, truths, encoded.kind, are_numbers=encoded.are_numbers
    )
    notes = _notes(encoded.kind, n_contradicting, alike, sum(count.matched for count in counts))
    n_unclaimed = sum(count.unclaimed for count in counts)
    note_count(
        notes,
        n_unclaimed,
        "truth is",
        "truths are",
        "claimed by no source: the values of these items stay empty",
    )
    return known, [*renamed, *_notes_of_attributes(encoded.example.facts, truths), *notes]


class KnownCount(NamedTuple):
    """Counts of known truths about items of a partition, of unclaimed ones, and of known items.

    Known numbers need not be claimed.
    """

    matched: int
    unclaimed: int
    items: int


@dataclass(frozen=True)
class KnownInPartition:
    """Function that marks the known truths of a partition, on any machine."""

    truths: pl.DataFrame
    kind: Kind
    are_numbers: bool
    alikeness: Alikeness | None = None

    def __call__(self, part: Partition) -> tuple[Block, KnownCount]:
        """Mark the known truths of a block; also count them."""
        facts, alike, _ = _alike(part.facts, self.truths, self.kind, are_numbers=self.are_numbers)
        matched = _as_alike(_about_items_of(facts, alike), facts, self.alikeness)
        block, n_claimed = _with_known(part.block, facts, matched, self.kind)
        n_items = int(np.count_nonzero(block.is_known))
        return block, KnownCount(len(matched), len(matched) - n_claimed, n_items)


def _with_known(
    block: Block, facts: pl.DataFrame, known: pl.DataFrame, kind: Kind
) -> tuple[Block, int]:
    """Mark the known truths of a block; also count those that are claimed there.

    Known numbers need not be.
    """
    keys = keys_of(facts)
    if kind == "numeric":
        items = facts.select(keys)[block.first_fact_of_item[:-1]]
        truth = known.select(*keys, truth=pl.col("value").cast(pl.Float64))
        joined = items.join(truth, on=keys, how="left", maintain_order="left")
        numbers = joined["truth"].fill_null(np.nan).to_numpy(writable=True)
        return block._replace(known_number_of_item=numbers), len(known)
    numbered = facts.with_row_index("number")
    if kind == "binary":
        of_known = numbered.join(known, on=keys)
        is_true, n_claimed = of_known["value"], len(known)
    else:
        of_known = numbered.join(known.select(keys).unique(), on=keys)
        truth = known.with_columns(is_true=pl.lit(value=True))
        joined = of_known.join(truth, on=[*keys, "value"], how="left", maintain_order="left")
        is_true = joined["is_true"].fill_null(value=False)
        n_claimed = int(is_true.sum())
    known_of_fact = np.full(len(numbered), UNKNOWN, dtype=np.int8)
    known_of_fact[of_known["number"].to_numpy()] = is_true.to_numpy()
    return block._replace(known_of_fact=known_of_fact), n_claimed


def note_count(notes: list[str], count: int, one: str, many: str, rest: str) -> None:
    """Add a note with a count, if it is not zero."""
    if count:
        notes.append(f"{counted(count, one, many)} {rest}")
