"""Which items to look up next, and why they have their values."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from veracity.explain import Why
from veracity.inspect.questions import questions_of
from veracity.progress import Progress
from veracity.reading.schema import keys_of
from veracity.result import Result

MOST_ASKED = 20
"""So many items are listed, and explained."""


class Asked(NamedTuple):
    """The questions, with what each item is settled on; explanations of all of them."""

    questions: pl.DataFrame
    explained: tuple[Why, ...]


def asked_of(result: Result, tell: Progress) -> Asked:
    """What `Result.questions` asks for, with reasons for the answers."""
    questions = questions_of(result, MOST_ASKED)
    keys = keys_of(questions)
    shown = questions.join(
        _settled(result, keys), on=keys, how="left", maintain_order="left", nulls_equal=True
    )
    explained = []
    for number, row in enumerate(questions.iter_rows(named=True)):
        tell("explaining", number, MOST_ASKED)
        explained.append(result.why(*(row[key] for key in keys)))
    return Asked(shown, tuple(explained))


def _settled(result: Result, keys: list[str]) -> pl.DataFrame:
    """What each item is settled on: its value, or its values where several may be true."""
    truths = result.tables.truths
    if result.kind != "multiple":
        return truths.select(*keys, settled_on="value")
    values = pl.col("value").cast(pl.String).sort().str.join(", ")
    return truths.group_by(keys, maintain_order=True).agg(settled_on=values)
