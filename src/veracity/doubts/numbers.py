"""Numbers that are taken for names: sources that are close to each other seem to disagree."""

from __future__ import annotations

import polars as pl

from veracity.naming import as_text
from veracity.printing import in_short
from veracity.result.warnings import DataWarning, data_warning, some
from veracity.similarity import as_numbers

MOSTLY = 0.95
"""The share of the values of an attribute that are numbers, from which all are taken for such."""

SELDOM = 0.25
"""The share of pairs of claims on an item that name the same number, below which few agree."""

NEAR = 0.5
"""How far numbers are from the middle of their item, against how far items are from each other:
below this, what sources say of an item is close together."""

FEWEST_ITEMS = 10
"""With fewer items of which several speak, how close they are is no evidence."""


def number_warnings(facts: pl.DataFrame) -> list[DataWarning]:
    """Attributes of which sources name numbers that are close, but hardly ever the same.

    `facts` has the columns that name items, the value as text, and how many claims name it.
    """
    keys = [name for name in facts.columns if name in ("entity", "attribute")]
    about = as_text(facts["attribute"]).fill_null("") if "attribute" in keys else pl.lit("")
    number = pl.Series(as_numbers(facts["value"])).fill_nan(None)
    facts = facts.with_columns(about=about, number=number)
    facts = facts.filter(pl.col("claims").sum().over(keys) > 1)
    own = ["about", *(name for name in keys if name != "attribute")]
    n_items = facts.select(own).n_unique()
    is_number = pl.col("number").is_not_null().mean().over("about") >= MOSTLY
    facts = facts.filter(is_number).drop_nulls("number")
    facts = facts.group_by(*own, "number").agg(pl.col("claims").sum())  # however it is written
    middle = pl.col("number").median()
    items = facts.group_by(own).agg(
        middle=middle,
        off=(pl.col("number") - middle).abs().median(),
        same=(pl.col("claims") * (pl.col("claims") - 1)).sum(),
        pairs=pl.col("claims").sum() * (pl.col("claims").sum() - 1),
    )
    found = items.group_by("about").agg(
        items=pl.len(),
        agreement=(pl.col("same") / pl.col("pairs")).mean(),
        off=pl.col("off").median(),
        apart=(pl.col("middle") - pl.col("middle").median()).abs().median(),
    )
    is_near = pl.col("off") < NEAR * pl.col("apart")
    few = (pl.col("agreement") < SELDOM) & (pl.col("items") >= FEWEST_ITEMS)
    return _told(found.filter(is_near & few).sort("about"), n_items)


def _told(found: pl.DataFrame, n_items: int) -> list[DataWarning]:
    if found.is_empty():
        return []
    names = [f"'{in_short(name)}'" for name in found["about"] if name]
    of_what = f"of {some(names)}, " if names else ""
    mean = (pl.col("agreement") * pl.col("items")).sum() / pl.col("items").sum()
    agreement = found.select(mean).item()
    seen = f"{of_what}sources name numbers that are close to each other, but two of them name the "
    seen += f"same one for {agreement:.0%} of the items only"
    are_most = 2 * int(found["items"].sum()) > n_items
    return [data_warning("close-numbers", seen, found, serious=are_most)]
