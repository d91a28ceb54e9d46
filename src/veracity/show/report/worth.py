"""Which items are most worth checking, and why they have their values."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from veracity.explain import Why
from veracity.progress import Progress
from veracity.result import Result

__all__ = ["Worth", "worth_checking", "worth_of_items"]

MOST_ITEMS = 200
"""So many items are listed."""

MOST_EXPLAINED = 20
"""So many of them are explained."""

FLOOR = 0.05
"""How doubtful an item counts at least: where all is certain, conflict decides."""


class Worth(NamedTuple):
    """Items worth checking, the most first; explanations of the first of them."""

    items: pl.DataFrame
    contested: int
    explained: tuple[Why, ...]


def worth_checking(result: Result, tell: Progress) -> Worth:
    """The items that it is most worth to look up, with reasons for the first of them."""
    items = worth_of_items(result)
    top = items.head(MOST_ITEMS)
    explained: list[Why] = []
    if result.encoded is not None:
        for number, row in enumerate(top.head(MOST_EXPLAINED).iter_rows(named=True)):
            tell("explaining", number, MOST_EXPLAINED)
            explained.append(result.why(*(row[key] for key in _keys(top))))
    return Worth(top, len(items), tuple(explained))


def worth_of_items(result: Result) -> pl.DataFrame:
    """One row per contested item, those most worth checking first.

    Worth is doubt times conflict times the logarithm of the claims. Doubt is one less the margin;
    conflict is the share of the claims that say otherwise. For numbers, both are in how far the
    claims lie from the estimate.
    """
    if result.kind == "numeric":
        items = _numbers(result)
    elif result.kind == "multiple":
        items = _multiple(result)
    else:
        items = _single(result)
    weight = (1.0 + pl.col("claims")).log(2.0)
    items = items.filter(pl.col("conflict") > 0.0).with_columns(worth=pl.col("worth") * weight)
    keys = _keys(items)
    order = [pl.col("worth").round(9), *keys]
    return items.sort(order, descending=[True, *(False for _ in keys)])


def _single(result: Result) -> pl.DataFrame:
    """Items with one truth, and binary facts; conflict is with the most plausible value."""
    truths, facts = result.tables.truths, result.tables.facts
    keys = _keys(truths)
    doubt = 1.0 - pl.col("margin") + FLOOR
    if result.kind == "binary":
        supporters = pl.when(pl.col("plausibility") > 0.5).then("supporters").otherwise("opposers")
        backing = facts.select("fact", backing=supporters)
    else:
        best = facts.group_by(keys, maintain_order=True).agg(
            pl.col("supporters").sort_by("plausibility", "supporters", descending=True).first()
        )
        backing = best.rename({"supporters": "backing"})
    items = truths.join(backing, on=keys, nulls_equal=True, maintain_order="left")
    conflict = (1.0 - pl.col("backing") / pl.col("claims")).clip(0.0, 1.0)
    return items.with_columns(conflict=conflict).with_columns(worth=doubt * pl.col("conflict"))


def _multiple(result: Result) -> pl.DataFrame:
    """Items with several truths: the least certain of their values counts."""
    facts, keys = result.tables.facts, _keys(result.tables.facts)
    p, voices = pl.col("plausibility"), pl.col("supporters") + pl.col("opposers")
    least = result.run.min_plausibility
    is_true = p >= (0.5 if least is None else least)
    split = 1.0 - (2.0 * pl.col("supporters") / voices - 1.0).abs()
    items = facts.group_by(keys, maintain_order=True).agg(
        settled_on=pl.col("value").cast(pl.String).filter(is_true).sort().str.join(", "),
        values=pl.len().cast(pl.Int64),
        claims=pl.col("supporters").sum().cast(pl.Int64),
        margin=(2.0 * p - 1.0).abs().min(),
        conflict=split.max(),
    )
    doubt = 1.0 - pl.col("margin") + FLOOR
    return items.with_columns(worth=doubt * pl.col("conflict"))


def _numbers(result: Result) -> pl.DataFrame:
    """Estimates: how far claims lie from them, in terms of what is usual for the attribute."""
    truths, facts, keys = result.tables.truths, result.tables.facts, _keys(result.tables.truths)
    square = (pl.col("distance") ** 2 * pl.col("supporters")).sum() / pl.col("supporters").sum()
    spread = facts.group_by(keys, maintain_order=True).agg(spread=square.sqrt())
    items = truths.join(spread, on=keys, nulls_equal=True, maintain_order="left")
    usual = (pl.col("spread") ** 2).mean().sqrt()
    usual = usual.over("attribute") if "attribute" in keys else usual
    conflict = pl.when(pl.col("spread") > 0.0).then(pl.col("spread") / usual).otherwise(0.0)
    return items.with_columns(conflict=conflict, worth=conflict)


def _keys(frame: pl.DataFrame) -> list[str]:
    return [key for key in ("entity", "attribute", "fact") if key in frame.columns]
