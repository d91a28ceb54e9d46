"""Other readings of the claims, as a result tells of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.rules import is_best_of_item
from veracity.fit.readings import Reading, differing
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.result import Result

MOST_NAMED = 3
"""So many sources are named that a reading believes more, and less."""

MOST_EXAMPLES = 5
"""So many items are told on which readings differ."""


def with_readings(result: Result, readings: list[Reading]) -> Result:
    """The result, with what is to be said of other readings."""
    if not readings:
        return result
    told = [_described(result, reading) for reading in readings]
    first = told[0]
    note = (
        f"two readings: {first['reading']}, {first['differs']:.0%} of the items have another "
        f"value; then {_moved(first['believes_more'], first['believes_less'])}; a few known truths "
        "decide, see the questions"
    )
    notes = [*result.run.notes, note]
    result.run = replace(result.run, readings=told, notes=notes)
    return result


def readings_table(told: list[dict[str, Any]]) -> pl.DataFrame:
    """One row per reading beside the answer's own."""
    names = pl.List(pl.String)
    schema: dict[str, Any] = {
        "reading": pl.String, "differs": pl.Float64, "believes_more": names,
        "believes_less": names, "examples": names,
    }  # fmt: skip
    return pl.DataFrame(told, schema=schema)


def _moved(more: list[str], less: list[str]) -> str:
    """Which sources would be right more often in a reading, and which less.

    >>> _moved(["a", "b"], ["c"]), _moved([], ["c"])
    ('a, b would be right more often, c less', 'c would be right less often')
    """
    up, down = (", ".join(map(in_short, names)) for names in (more, less))
    if more and less:
        return f"{up} would be right more often, {down} less"
    if not (more or less):
        return "each source would be right as often"
    return f"{up or down} would be right {'more' if more else 'less'} often"


def _described(result: Result, reading: Reading) -> dict[str, Any]:
    sources = as_text(result.tables.sources["source"])
    order = np.argsort(np.round(-reading.moved, 6), kind="stable")
    more = [i for i in order[:MOST_NAMED] if reading.moved[i] > 0.0]
    less = [i for i in order[::-1][:MOST_NAMED] if reading.moved[i] < 0.0]
    return {
        "reading": reading.name,
        "differs": round(reading.differs, 4),
        "believes_more": sources.gather(more).to_list(),
        "believes_less": sources.gather(less).to_list(),
        "examples": _examples(result, reading),
    }


def _examples(result: Result, reading: Reading) -> list[str]:
    """Items with the value the answer takes, and the one it has in the other reading."""
    encoded, examples = result.encoded, []
    parts = zip(encoded.parts, reading.sample.blocks, reading.sample.chosen, strict=True)
    for (part, block, chosen), own, its in zip(
        parts, reading.sample.answer, reading.other, strict=True
    ):
        items = np.flatnonzero(differing(block, own, its))[:MOST_EXAMPLES]
        place = np.flatnonzero(chosen)
        for item in items.tolist():
            first = int(block.first_fact_of_item[item])
            values = part.block.first_fact_of_item[place[item]]
            number = [
                int(np.argmax(is_best_of_item(answer, block)[first:])) for answer in (own, its)
            ]
            rows = [int(values) + n for n in number]
            names = as_text(part.values.gather(rows)).to_list()  # type: ignore[union-attr]
            keys = (as_text(column)[0] for column in part.items.slice(int(place[item]), 1))
            key = " ".join(map(in_short, keys)).strip()
            examples.append(f"{key}: {in_short(names[0])}, not {in_short(names[1])}")
    return examples[:MOST_EXAMPLES]
