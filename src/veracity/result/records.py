"""Return answers like the user's tables: one row per entity, with the user's column names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from veracity.errors import TooLarge
from veracity.io.lazy import LazyTable
from veracity.io.table_file import without_lists
from veracity.naming import as_text, in_type
from veracity.reading.roles import BETWEEN, JOINED, Kind, numbers_in

if TYPE_CHECKING:
    from veracity.result import Result

MOST_ATTRIBUTES = 10_000
"""Largest number of columns of a table of records."""


def in_own_names(table: pl.DataFrame, columns: Mapping[str, str], kind: Kind) -> pl.DataFrame:
    """Return the table with the user's names for the columns of the claims.

    >>> truths = pl.DataFrame({"entity": ["x"], "value": ["1"], "claims": [3]})
    >>> in_own_names(truths, {"entity": "task", "value": "claims"}, "categorical").columns
    ['task', 'claims', 'claims_2']
    """
    return table.rename(own_names(table.columns, columns, kind))


def own_names(names: Sequence[str], columns: Mapping[str, str], kind: Kind) -> dict[str, str]:
    """Return the user's names for some columns.

    A column of ours with the same name as one of the user's gets a number. If the user named
    several columns as the value, they are attributes, and the column of values keeps its own name.
    """
    own = {part: name for part, name in columns.items() if part != "value" or JOINED not in name}
    if kind == "binary" and "claim" in own:
        own["value"] = own.pop("claim")  # what is claimed of a fact is its value
    called = {name: own[name] for name in names if name in own}
    others = [name for name in names if name not in called]
    return called | dict(zip(others, free_names(others, called.values()), strict=True))


def _free(name: str, taken: Iterable[str]) -> str:
    """Return the name; if it is taken, the name with the first number that makes it unique."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def free_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names, with a number added to those that are taken."""
    found, all_taken = list[str](), set(taken)
    for name in names:
        found.append(_free(name, all_taken))
        all_taken.add(found[-1])
    return found


def records_of(result: Result, *, plausibility: bool = False) -> pl.DataFrame:
    """Return one row per entity and one column per attribute: see `Result.records`."""
    columns = result.run.input.columns
    truths = _needed(result, plausibility=plausibility)
    own_entity, types = columns.get("entity", "entity"), result.run.input.types
    kinds = _kinds_of_values(result)
    if "attribute" not in truths.columns:
        rows = _gathered(truths, result.kind)
        rows = rows.with_columns(_typed(rows["value"], "", kinds.get("")))
        told = in_own_names(rows, columns, result.kind)
        return _parted(told, own_entity, types)
    wide = _wide(_gathered(truths, result.kind), own_entity, types, kinds)
    return _parted(wide.sort(own_entity), own_entity, types)


def records_for_databases(result: Result) -> pl.DataFrame:
    """Return the records for a database: lists as text, and names that differ in more than case."""
    records = records_of(result)
    low = free_names((name.casefold() for name in records.columns), ())
    pairs = zip(records.columns, low, strict=True)
    names = [name + new[len(name.casefold()) :] for name, new in pairs]
    return without_lists(records).rename(dict(zip(records.columns, names, strict=True)))


def _parted(table: pl.DataFrame, own_entity: str, types: Mapping[str, str]) -> pl.DataFrame:
    """Split the entity into its columns, if several columns make up the entity."""
    names = own_entity.split(JOINED)
    if len(names) == 1 or own_entity not in table.columns:
        return table
    texts = as_text(table[own_entity]).to_list()
    rows = [[piece.replace("||", "|") for piece in text.split(BETWEEN)] for text in texts]
    if any(len(row) != len(names) for row in rows):
        return table  # a column whose own name has the sign in it
    others = [name for name in table.columns if name != own_entity]
    free = free_names(names, others)
    parts = [pl.Series(name, [row[place] for row in rows]) for place, name in enumerate(free)]
    read = [in_type(part, types.get(name, "")) for part, name in zip(parts, names, strict=True)]
    return pl.DataFrame([*read, *table.select(others)])


def _needed(result: Result, *, plausibility: bool) -> pl.DataFrame:
    """Return only the columns of the truths that records need, piece by piece to save memory."""
    table = vars(result.tables)["truths"]
    sureness = "uncertainty" if result.kind == "numeric" else "plausibility"
    wanted = ["entity", "attribute", "fact", "value", *([sureness] if plausibility else [])]
    schema = table.schema
    needed = [name for name in wanted if name in schema]
    if isinstance(table, LazyTable):  # those on disk are in the order of hashes
        some = table.changed(lambda piece: piece.select(needed)).collect()
        return some.sort(needed[0], maintain_order=True)
    return table.select(needed)  # type: ignore[no-any-return]


def _gathered(truths: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Return one row per item; several true values are a list."""
    if kind != "multiple":
        return truths
    keys = [name for name in ("entity", "attribute") if name in truths.columns]
    others = [name for name in truths.columns if name not in keys]
    is_told = pl.col("value").is_not_null()
    return truths.group_by(keys, maintain_order=True).agg(pl.col(others).filter(is_told))


def _kinds_of_values(result: Result) -> dict[str, str]:
    """Return the kind as which the values of each attribute were normalised, if they were."""
    read = (result.run.normalisation or {}).get("attributes", {})
    return {name: reading["kind"] for name, reading in read.items()}


def _typed(values: pl.Series, own_type: str, kind: str | None) -> pl.Series:
    """Convert values to the type of their column, or of their normalised kind, if all allow it."""
    found = in_type(values, own_type)
    if found.dtype != pl.String:
        return found
    numbers = numbers_in(found.drop_nulls()) if kind == "number" else None
    if numbers is None:
        return in_type(found, str(pl.Date())) if kind == "date" else found
    is_whole = not found.str.contains(".", literal=True).any()
    return found.cast(pl.Int64 if is_whole else pl.Float64)


def _wide(
    truths: pl.DataFrame, own_entity: str, types: Mapping[str, str], kinds: Mapping[str, str]
) -> pl.DataFrame:
    """Return the attributes side by side, each followed by its plausibility if that is asked for.

    If they were columns of the claims, they have the same order and types as there.
    """
    attributes = truths["attribute"].unique().sort()
    place = {name: number for number, name in enumerate(types)}
    in_order = sorted(range(len(attributes)), key=lambda n: place.get(attributes[n], len(place)))
    attributes = attributes.gather(in_order)
    if len(attributes) > MOST_ATTRIBUTES:
        raise TooLarge(
            f"records: {len(attributes):,} attributes are more columns than a table should have "
            f"({MOST_ATTRIBUTES:,}); take result.truths, which has one row for each"
        )
    told = [name for name in truths.columns if name not in ("entity", "attribute")]
    texts = [text or "value" for text in as_text(attributes)]
    wanted = [text if part == "value" else f"{text}_{part}" for text in texts for part in told]
    free = free_names(wanted, [own_entity, "entity"])  # under which they are joined below
    columns = [free[i : i + len(told)] for i in range(0, len(free), len(told))]
    numbers = attributes.to_frame("attribute").with_row_index("number")
    truths = truths.join(numbers, on="attribute", nulls_equal=True).drop("attribute")
    wide = truths.select("entity").unique()
    for (number,), own in truths.group_by("number"):
        name = texts[number]
        values = [_typed(own["value"], types.get(name, ""), kinds.get(name))]
        named = own.with_columns(values).drop("number")
        named = named.rename(dict(zip(told, columns[number], strict=True)))
        wide = wide.join(named, on="entity", how="left", nulls_equal=True)
    return wide.select(
        pl.col("entity").alias(own_entity), *(name for own in columns for name in own)
    )
