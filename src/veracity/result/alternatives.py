"""Describe other answers that the claims allow, as a result reports them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.rules import is_best_of_item
from veracity.fit.alternatives import Alternative, differing
from veracity.naming import as_text
from veracity.printing import in_short

MOST_NAMED = 3
"""Number of sources that are named as better in another answer, and as worse."""

MOST_EXAMPLES = 5
"""Number of items that are named as examples."""


def described(alternative: Alternative) -> dict[str, Any]:
    """Return the row of the table `alternatives`."""
    sources = as_text(alternative.sample.encoded.names.sources)
    order = np.argsort(np.round(-alternative.moved, 6), kind="stable")
    more = [i for i in order[:MOST_NAMED] if alternative.moved[i] > 0.0]
    less = [i for i in order[::-1][:MOST_NAMED] if alternative.moved[i] < 0.0]
    return {
        "assumption": alternative.assumption,
        "differs": round(alternative.differs, 4),
        "believes_more": sources.gather(more).to_list(),
        "believes_less": sources.gather(less).to_list(),
        "examples": _examples(alternative),
    }


def alternatives_table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return one row per answer besides the algorithm's own."""
    names = pl.List(pl.String)
    schema: dict[str, Any] = {
        "assumption": pl.String, "differs": pl.Float64, "believes_more": names,
        "believes_less": names, "examples": names,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def _examples(alternative: Alternative) -> list[str]:
    """Return items with their value in the answer and in the other answer."""
    sample, examples = alternative.sample, list[str]()
    parts = zip(sample.encoded.parts, sample.blocks, sample.chosen, strict=True)
    for (part, block, chosen), own, its in zip(
        parts, sample.answer, alternative.answer, strict=True
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
