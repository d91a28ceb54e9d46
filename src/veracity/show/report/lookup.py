"""Any item can be looked up: all of them are in the page, compressed, in chunks.

A chunk is JSON, compressed and written as text in a script that no browser runs. The page's own
script opens chunks when something is looked for, one after the other, so that a large page opens as
quickly as a small one.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from functools import partial
from html import unescape
from typing import Any

import polars as pl

from veracity.encoding.block import SAME
from veracity.naming import name_text
from veracity.printing import counted, in_short
from veracity.reading.schema import keys_of
from veracity.result import Result
from veracity.result.layout import claims_of_block
from veracity.show.report.gather import Findings
from veracity.show.report.markup import measure, paragraph, text
from veracity.show.report.summary import thing

MOST_ITEMS = 100_000
"""So many items can be looked up in the page, the closest calls first: some megabytes of it."""

ITEMS_IN_CHUNK = 2_000

MOST_VALUES = 20
MOST_SOURCES = 12
"""Values of an item, and sources of a value, that are named; the others are counted."""

LONGEST = 80
"""Characters of a name or value."""


def lookup(found: Findings) -> str:
    """A box to look items up with, and the items."""
    result = found.result
    n_items, things = result.run.input.items, thing(result, 2)
    words = "Type a part of a name to see what was settled on, and who says what."
    if n_items > MOST_ITEMS:
        words += (
            f" {MOST_ITEMS:,} of {n_items:,} {things} are in this page, the closest calls first; "
            "'veracity explain' tells of any other."
        )
    sources, *chunks = chunks_of(result)
    data = "".join(
        f'<script type="application/gzip" class="{kind}">{_packed(chunk)}</script>'
        for kind, chunk in (("lookup-sources", sources), *(("lookup-items", c) for c in chunks))
    )
    none = paragraph("Looking up needs JavaScript; 'veracity explain' does the same.")
    return (
        f'{paragraph(words)}<div id="looked-up" data-things="{text(things)}"'
        f' data-measure="{"distance" if result.kind == "numeric" else "plausibility"}"></div>'
        f"<noscript>{none}</noscript>{data}"
    )


def chunks_of(result: Result) -> list[list[Any]]:
    """The names of the sources, and then the items in chunks, in the order of their names.

    An item is its names, what it is settled on, how plausible that is (numbers: its standard
    error), and its values: each with its plausibility (numbers: its distance from the estimate),
    how many sources name it, and the numbers of some of them.
    """
    facts = _with_sources(_facts(result), result)
    keys = keys_of(facts)
    told = "distance" if result.kind == "numeric" else "plausibility"
    sign = 1 if result.kind == "numeric" else -1  # the nearest number, the most plausible value
    facts = facts.sort(*keys, sign * pl.col(told).abs().round(SAME), maintain_order=True)
    items = facts.group_by(keys, maintain_order=True).agg(
        values=pl.struct(
            value=pl.col("value") if "value" in facts.columns else pl.lit("true"),
            measure=told,
            supporters="supporters",
            sources="sources",
        ).head(MOST_VALUES),
        n_values=pl.len(),
    )
    settled = _settled(result, keys)
    items = items.join(settled, on=keys, how="left", maintain_order="left", nulls_equal=True)
    is_numeric = result.kind == "numeric"
    rows = [_item(row, keys, is_numeric=is_numeric) for row in items.iter_rows(named=True)]
    names = [in_short(name_text(name), LONGEST) for name in result.tables.sources["source"]]
    starts = range(0, len(rows), ITEMS_IN_CHUNK)
    return [names, *(rows[start : start + ITEMS_IN_CHUNK] for start in starts)]


def _facts(result: Result) -> pl.DataFrame:
    """The facts of the items that can be looked up, with their rows."""
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


def _with_sources(facts: pl.DataFrame, result: Result) -> pl.DataFrame:
    """The facts with the numbers of some sources that name each."""
    named = pl.concat(_named(result))
    return facts.join(named, left_on="row", right_on="fact", how="left", maintain_order="left")


def _named(result: Result) -> Iterator[pl.DataFrame]:
    first = 0
    for block in result.encoded.blocks:
        claims = claims_of_block(block, first, result.encoded.kind)
        if "claim" in claims.columns:
            claims = claims.filter("claim")
        yield claims.group_by("fact").agg(sources=pl.col("source").head(MOST_SOURCES))
        first += block.n_facts


def _settled(result: Result, keys: list[str]) -> pl.DataFrame:
    """What each item is settled on, and how sure that is."""
    truths = result.tables.truths
    sure = pl.col("uncertainty" if result.kind == "numeric" else "plausibility")
    if result.kind == "binary":  # how plausible the answer is, be it true or false
        sure = pl.when(sure >= 0.5).then(sure).otherwise(1.0 - sure)
    if result.kind != "multiple":
        return truths.select(*keys, settled="value", sure=sure)
    values = pl.col("value").cast(pl.String).sort().str.join(", ")
    return truths.group_by(keys).agg(settled=values, sure=pl.lit(None))


def _item(row: dict[str, Any], keys: list[str], *, is_numeric: bool) -> list[Any]:
    digits = partial(_digits, is_distance=is_numeric)
    values = [
        [_name(of["value"]), digits(of["measure"]), of["supporters"], of["sources"] or []]
        for of in row["values"]
    ]
    more = row["n_values"] - len(values)
    names = [_name(row[key]) for key in keys if row[key] not in (None, "")]
    told = f"{counted(more, 'more value is', 'more values are')} claimed" if more else ""
    return [names, _name(row["settled"]), digits(row["sure"]), values, told]


def _name(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, float):
        return f"{value:.6g}"
    return in_short(str(value).lower() if isinstance(value, bool) else name_text(value), LONGEST)


def _digits(number: float | None, *, is_distance: bool) -> str:
    """A plausibility, which is never rounded to certainty; or a distance in few digits."""
    if number is None:
        return ""
    return f"{number:.3g}" if is_distance else unescape(measure(number, certain=False))


def _packed(chunk: list[Any]) -> str:
    """JSON, compressed, as text; the same for the same content."""
    told = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = gzip.compress(told.encode("utf-8", "backslashreplace"), 6, mtime=0)
    return base64.b64encode(packed).decode("ascii")
