"""Put all items into the page of a report, in compressed chunks, to search them there.

A chunk is compressed JSON as text, in a script element that browsers do not run. The page's own
script opens the chunks one after the other during a search, so that a large page opens as quickly
as a small one.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from veracity.encoding.block import SAME
from veracity.naming import as_text, name_text
from veracity.printing import counted, in_short
from veracity.reading.roles import keys_of
from veracity.result import Result
from veracity.show.cells import number_text

MOST_ITEMS = 100_000
"""Largest number of items in a page, some megabytes; the closest calls are taken first."""

ITEMS_IN_CHUNK = 2_000

MOST_VALUES = 20
MOST_SOURCES = 12
"""Largest number of values per item and of sources per value; the others are counted."""

LONGEST = 80
"""Largest number of characters of a name or value."""


class Lookup(NamedTuple):
    """Data to look items up in a page: names of sources and items, compressed as text."""

    things: str
    measure: str
    n_items: int
    sources: str
    chunks: list[str]


def lookup_of(result: Result, things: str) -> Lookup:
    """Return all items of a result, or the closest calls, in the form for a page."""
    sources, *chunks = map(_packed, chunks_of(result))
    n_items = min(result.run.input.items, MOST_ITEMS)
    return Lookup(things, _measure(result), n_items, sources, chunks)


def _measure(result: Result) -> str:
    return "distance" if result.kind == "numeric" else "plausibility"


def chunks_of(result: Result) -> list[list[Any]]:
    """Return the names of the sources, and the items in chunks, sorted by name.

    An item has its names, its answer, the plausibility of the answer (for numbers: its standard
    error), and its values. Each value has its plausibility (for numbers: its distance from the
    estimate), its number of sources, and the numbers of some of these sources.
    """
    facts, measure = _facts(result), _measure(result)
    sources = pl.concat(_sources_of_facts(result))
    facts = facts.join(sources, left_on="row", right_on="fact", how="left", maintain_order="left")
    keys = keys_of(facts)
    sign = 1 if result.kind == "numeric" else -1  # the nearest number, the most plausible value
    facts = facts.sort(*keys, sign * pl.col(measure).abs().round(SAME), maintain_order=True)
    if result.kind in ("categorical", "multiple"):
        facts = facts.with_columns(as_text(facts["value"]))
    items = facts.group_by(keys, maintain_order=True).agg(
        values=pl.struct(
            value=pl.col("value") if "value" in facts.columns else pl.lit("true"),
            measure=measure,
            supporters="supporters",
            sources="sources",
        ).head(MOST_VALUES),
        n_values=pl.len(),
    )
    settled = _settled(result, keys)
    items = items.join(settled, on=keys, how="left", maintain_order="left", nulls_equal=True)
    items = items.with_columns(as_text(items[key]) for key in keys)
    rows = [_item(row, keys, result.kind == "numeric") for row in items.iter_rows(named=True)]
    names = [in_short(name, LONGEST) for name in as_text(result.tables.sources["source"])]
    starts = range(0, len(rows), ITEMS_IN_CHUNK)
    return [names, *(rows[start : start + ITEMS_IN_CHUNK] for start in starts)]


def _facts(result: Result) -> pl.DataFrame:
    """Return the facts of the items that can be looked up, with their rows."""
    facts = result.tables.facts.with_row_index("row")
    if result.run.input.items <= MOST_ITEMS:
        return facts
    keys, truths = keys_of(facts), result.tables.truths
    closeness = [~pl.col("contested")]
    if "margin" in truths.columns:
        closeness.append(pl.col("margin").round(SAME))
    closest = truths.sort(closeness, maintain_order=True).select(keys)
    chosen = closest.unique(maintain_order=True).head(MOST_ITEMS)
    return facts.join(chosen, on=keys, how="semi", nulls_equal=True, maintain_order="left")


def _sources_of_facts(result: Result) -> Iterator[pl.DataFrame]:
    """Yield, for each block, the numbers of some sources that claim each fact."""
    first = 0
    for block in result.encoded.blocks:
        fact = pl.Series(block.fact_of_support).cast(pl.UInt32) + first
        claims = pl.DataFrame({"fact": fact, "source": block.source_of_support})
        yield claims.group_by("fact").agg(sources=pl.col("source").head(MOST_SOURCES))
        first += block.n_facts


def _settled(result: Result, keys: list[str]) -> pl.DataFrame:
    """Return the answer to each item, and its plausibility or standard error."""
    truths = result.tables.truths
    sure = pl.col("uncertainty" if result.kind == "numeric" else "plausibility")
    if result.kind == "binary":  # how plausible the answer is, be it true or false
        sure = pl.when(sure >= 0.5).then(sure).otherwise(1.0 - sure)
    if result.kind in ("categorical", "multiple"):
        truths = truths.with_columns(as_text(truths["value"]))
    if result.kind != "multiple":
        return truths.select(*keys, settled="value", sure=sure)
    values = pl.col("value").sort().str.join(", ")
    return truths.group_by(keys).agg(settled=values, sure=pl.lit(None))


def _item(row: dict[str, Any], keys: list[str], is_numeric: bool) -> list[Any]:
    def digits(number: float | None) -> str:
        if number is None:
            return ""
        return f"{number:.3g}" if is_numeric else number_text(number, "plausibility")

    values = [
        [_name(of["value"]), digits(of["measure"]), of["supporters"], of["sources"] or []]
        for of in row["values"]
    ]
    more = row["n_values"] - len(values)
    names = [_name(row[key]) for key in keys if row[key] not in (None, "")]
    rest = f"{counted(more, 'more value is', 'more values are')} claimed" if more else ""
    return [names, _name(row["settled"]), digits(row["sure"]), values, rest]


def _name(value: object) -> str | None:
    if value is None:
        return None
    return f"{value:.6g}" if isinstance(value, float) else in_short(name_text(value), LONGEST)


def _packed(chunk: list[Any]) -> str:
    """Return compressed JSON as text, which is always the same for the same content."""
    text = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)
    return base64.b64encode(packed).decode("ascii")
