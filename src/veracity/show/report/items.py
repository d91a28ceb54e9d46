"""Items to look up next, with the reasons for their values."""

from __future__ import annotations

from typing import Any

import polars as pl

from veracity.explain import THE_VOTE, Why, without_keys
from veracity.printing import counted
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Look, details, measure, name, paragraph, table
from veracity.show.report.summary import thing

MOST_VALUES = 2
"""Claims are listed for so many values of an item, the most plausible ones."""

MOST_ROWS = 15
"""So many claims are listed for a value; the others are summed up."""

SHOWN = ("entity", "attribute", "fact", "settled_on", "plausibility", "values", "claims", "why")


def items_to_check(found: Findings) -> str:
    """The items to look up, and why the first of them have their values."""
    items, explained = found.asked
    things = thing(found.result, 2)
    if items.is_empty():
        return paragraph(f"All {things} are known: there is nothing to look up.")
    shown = items
    if found.result.kind == "numeric":
        short = [[f"{float(number):.6g}" for number in values] for values in items["values"]]
        shown = items.drop("plausibility").with_columns(
            values=pl.Series(short, dtype=pl.List(pl.String))
        )
    shown = shown.with_columns(pl.col("values").list.join(" | "))
    shown = shown.select(column for column in SHOWN if column in shown.columns)
    look = Look(
        caption=f"{things.capitalize()} to look up next",
        of=len(shown),
        sortable=True,
        searchable=True,
        headings=found.called | {"values": "values to choose from"},
        cells={shown.columns[0]: _Linked(items, shown.columns[0], len(explained))},
    )
    reasons = "".join(
        details(_title(row), _why(why), f"item-{number}")
        for number, (row, why) in enumerate(
            zip(items.iter_rows(named=True), explained, strict=False)
        )
    )
    if reasons:
        reasons = f"<h3>Why they have their values</h3>{reasons}"
    told = (
        "Items are drawn: more often where the answer is in doubt, but some that nobody disputes, "
        "which show how right the others are. Give their true values as known truths."
    )
    return f"{paragraph(told)}{table(shown, look)}{reasons}"


class _Linked:
    """The first cell of an item's row, linked to its explanation if there is one."""

    def __init__(self, items: pl.DataFrame, column: str, n_explained: int) -> None:
        keys = [key for key in ("entity", "attribute", "fact") if key in items.columns]
        self.keys, self.column = keys, column
        rows = items.head(n_explained).select(keys).iter_rows()
        self.number = {row: number for number, row in enumerate(rows)}

    def __call__(self, row: dict[str, Any]) -> str:
        number = self.number.get(tuple(row[key] for key in self.keys))
        shown = name(row[self.column])
        return shown if number is None else f'<a href="#item-{number}">{shown}</a>'


def _title(item: dict[str, Any]) -> str:
    """The item and its value, in one line."""
    names = (
        item[key] for key in ("entity", "attribute", "fact") if item.get(key) not in (None, "")
    )
    value = item["settled_on"]
    told = str(value).lower() if isinstance(value, bool) else value
    return f"<b>{' · '.join(map(name, names))}</b>{'' if value is None else f': {name(told)}'}"


def _why(why: Why) -> str:
    """The words, the values, and what claims weigh for the best of them."""
    words = "".join(paragraph(line) for line in why.words.splitlines())
    values, rows = why.tables
    if why.scale == "numbers":  # there is one value, and the words have told it
        return f"{words}{_rows(why, values, rows)}"
    shown = without_keys(values).head(10)
    headings = {"prior": "score before any claim", "supporters": "sources for it"}
    cells = {"value": _value} if "value" in shown.columns else {}
    look = Look(caption="The values", of=len(values), headings=headings, cells=cells)
    return f"{words}{table(shown, look)}{_rows(why, values, rows)}"


def _value(row: dict[str, Any]) -> str:
    return "<i>one that nobody claims</i>" if row["value"] is None else name(row["value"])


def _rows(why: Why, values: pl.DataFrame, rows: pl.DataFrame) -> str:
    """What the claims weigh, a table for each of the most plausible values."""
    if "value" not in rows.columns:
        return _weights(why, rows, _caption(why, values.row(0, named=True)))
    parts = []
    for row in values.head(MOST_VALUES).iter_rows(named=True):
        own = rows.filter(pl.col("value").eq_missing(pl.lit(row["value"])))
        if len(own):
            parts.append(_weights(why, own, _caption(why, row)))
    return "".join(parts)


def _weights(why: Why, rows: pl.DataFrame, caption: str) -> str:
    shown, rest = rows.head(MOST_ROWS), rows.slice(MOST_ROWS)
    if len(rest):
        sums = rest.select(pl.col("^(weight|share)$").sum(), pl.col("claims").sum())
        shown = pl.concat([shown, sums], how="diagonal")
    shown = without_keys(shown).drop("value", "claims", strict=False)
    first = [
        column for column in ("source", "claimed", "weight", "share") if column in shown.columns
    ]
    shown = shown.select(*first, pl.exclude(first))
    others = int(rows["claims"].sum()) - int(rows.head(MOST_ROWS)["claims"].sum())
    heaviest = max((abs(w) for w in rows["weight"].drop_nulls()), default=0.0)

    def source(row: dict[str, Any]) -> str:
        if row["claimed"] == THE_VOTE and row["source"] is None:
            return "the vote"
        if row["source"] is None:
            return f"{counted(others, 'other')} together"
        return name(row["source"])

    def weight(row: dict[str, Any]) -> str:
        return f"{_bar(row['weight'], heaviest)}{measure(row['weight'])}"

    cells = {"source": source}
    if why.scale is None:
        shown = shown.drop("weight")
    else:
        cells["weight"] = weight
    return table(shown, Look(caption=caption, cells=cells))


def _bar(weight: float | None, heaviest: float) -> str:
    """A bar as long as the weight, to the left if it speaks against."""
    if weight is None or heaviest == 0.0:
        return ""
    side = "against" if weight < 0.0 else "for"
    length = min(abs(weight) / heaviest, 1.0)
    return f'<span class="bar {side}" style="--w:{length:.2f}" aria-hidden="true"></span>'


def _caption(why: Why, value: dict[str, Any]) -> str:
    """What the weights of these claims add up to."""
    what = "the fact" if "fact" in value else _shown(value["value"])
    if why.scale is None:
        return f"Who speaks for {what}"
    about = "about " if why.account == "average" else ""
    start, end = (f"{value[part]:.3f}" for part in ("prior", "score"))
    if why.scale == "numbers":
        return f"What the claims add to the estimate: from {start} to {end}"
    return f"What speaks for {what}: from {start} before any claim to {about}{end} {why.scale}"


def _shown(value: object) -> str:
    """A value in a caption, cut if it is long."""
    told = f"{value:.9g}" if isinstance(value, float) else str(value)
    return told if len(told) <= 60 else f"{told[:59]}…"
