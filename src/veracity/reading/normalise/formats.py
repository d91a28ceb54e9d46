"""Formats of sources: the decimal sign, the order of dates and the unit that each source uses.

An attribute has one reading. A source that writes differently has a *form* in addition, in words
such as ``comma`` or ``day first, kg``. It follows from counts by source and attribute, which add up
over batches: first from the source's values of the attribute, then from its other attributes. A
source without evidence follows the reading of the attribute, which the other sources decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from veracity.errors import ParameterError
from veracity.printing import counted, in_short
from veracity.reading.normalise.dates import order_in
from veracity.reading.normalise.quantities import UNIT_OF_WORD, quantities_in
from veracity.reading.normalise.spelling import plain, tidy
from veracity.reading.normalise.value_types import Reading

Forms = Mapping[str, Mapping[str, str]]
"""The form of each source that does not write as its attribute is read, by attribute."""

FORM_WORDS: dict[str, tuple[str, Any]] = {
    "comma": ("sign_here", ","),
    "point": ("sign_here", "."),
    "day first": ("day_first_here", True),
    "month first": ("day_first_here", False),
}

COUNTS = ("comma", "point", "open_number", "bare", "day", "month", "open_date")
COUNT_KEYS = ("attribute", "source", "unit")
COUNT_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(COUNT_KEYS, pl.String),
    **dict.fromkeys(COUNTS, pl.Int64),
}

FORM_SCHEMA: dict[str, Any] = {
    "form": pl.String,
    "sign_here": pl.String,
    "day_first_here": pl.Boolean,
    "bare_unit": pl.String,
}

IN_NOTES = {
    "comma": "the comma is the decimal sign of",
    "point": "the point is the decimal sign of",
    "day first": "days come before months for",
    "month first": "months come before days for",
}

MOST_NAMED = 3


class Side(NamedTuple):
    """Two ways to write values of some kinds, and a name of the difference."""

    kinds: tuple[str, ...]
    one: str
    other: str
    is_open: str
    words: tuple[str, str]
    what: str


SIDES = (
    Side(("number",), "comma", "point", "open_number", ("comma", "point"), "decimal sign"),
    Side(("date", "datetime"), "day", "month", "open_date", ("day first", "month first"),
         "order of days and months"),
)  # fmt: skip


def count_formats(named: pl.DataFrame) -> pl.DataFrame:
    """Count the signs of each source's format in its values, by attribute and unit.

    >>> values = ["0,4 kg", "2,652 kg", "25/12/2020"]
    >>> named = pl.DataFrame({"source": "a", "attribute": "x", "value": values})
    >>> count_formats(named).sort("unit").select("comma", "open_number", "day", "unit").rows()
    [(0, 0, 1, None), (1, 1, 0, 'kg')]
    """
    texts = named["value"].unique().drop_nulls()
    texts = texts.filter(texts.str.contains(r"\d"))
    plain_texts = plain(tidy(texts))
    shown = quantities_in(plain_texts).with_columns(value=texts)
    order = plain_texts.to_frame("text").select(order_in(pl.col("text"))).to_series()
    shown = shown.with_columns(
        day=order == "day", month=order == "month", open_date=order == "either"
    )
    shown = shown.filter(pl.any_horizontal(pl.col(COUNTS)) | pl.col("unit").is_not_null())
    rows = named.join(shown, on="value", how="inner")
    claims = pl.col("claims").cast(pl.Int64) if "claims" in named.columns else pl.lit(1, pl.Int64)
    n_of = (pl.when(pl.col(name)).then(claims).otherwise(0).sum().alias(name) for name in COUNTS)
    return rows.group_by(COUNT_KEYS).agg(n_of).select(list(COUNT_SCHEMA))


def add_counts(*tables: pl.DataFrame) -> pl.DataFrame:
    """Return the sums of tables of counts."""
    return pl.concat(tables).group_by(COUNT_KEYS).agg(pl.col(COUNTS).sum()).sort(COUNT_KEYS)


def find_forms(
    readings: Mapping[str, Reading], counts: pl.DataFrame, known: Forms
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the forms of sources, the known ones first, and notes on the others."""
    forms = {attribute: dict(of) for attribute, of in known.items()}
    notes: list[str] = []
    shown = counts.group_by("attribute", "source").agg(
        pl.col(COUNTS).sum(),
        units=pl.col("unit").drop_nulls().unique(),
    )
    words_of: dict[tuple[str, str], list[str]] = {}
    for side in SIDES:
        majority = {
            name: _majority(reading, side)
            for name, reading in readings.items()
            if reading.kind in side.kinds
        }
        for attribute, source, word in _deviating(shown, side, majority, notes, forms):
            words_of.setdefault((attribute, source), []).append(word)
    for attribute, source, units, n_bare in (
        shown.filter(pl.col("units").list.len() == 1)
        .sort("attribute", "source")
        .select("attribute", "source", "units", "bare")
        .iter_rows()
    ):
        reading = readings.get(attribute)
        if n_bare and reading is not None and reading.kind == "number" and reading.mixes_units:
            words_of.setdefault((attribute, source), []).append(units[0])
    for (attribute, source), words in sorted(words_of.items()):
        forms.setdefault(attribute, {}).setdefault(source, ", ".join(words))
    return forms, tuple(notes)


def _majority(reading: Reading, side: Side) -> int:
    is_one = reading.decimal_sign == "," if side.one == "comma" else reading.day_first
    return 1 if is_one else -1


def _deviating(
    shown: pl.DataFrame, side: Side, majority: Mapping[str, int], notes: list[str], known: Forms
) -> list[tuple[str, str, str]]:
    """Return the sources that write otherwise, and add notes on those for which it matters."""
    if shown.is_empty() or not majority:
        return []
    of_kind = pl.DataFrame(
        {"attribute": list(majority), "usual": list(majority.values())},
        schema={"attribute": pl.String, "usual": pl.Int64},
    )
    rows = shown.join(of_kind, on="attribute")
    lead = pl.col(side.one) - pl.col(side.other)
    rows = rows.with_columns(own=lead.sign(), elsewhere=lead.sum().over("source").sign())
    rows = rows.with_columns(
        side=pl.when(pl.col("own") != 0).then("own").otherwise("elsewhere"),
        is_contested=((pl.col("own").max() > 0) & (pl.col("own").min() < 0)).over("attribute"),
    ).sort("attribute", "source")
    found = []
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows.iter_rows(named=True):
        attribute, source = row["attribute"], row["source"]
        if source in known.get(attribute, {}):
            continue
        differs = row["side"] not in (0, row["usual"])
        word = side.words[0 if row["side"] > 0 else 1]
        if differs:
            found.append((attribute, source, word))
        if not source or not row[side.is_open]:
            continue  # nothing that it writes can be read in two ways
        if differs and row["own"]:
            key = f"{IN_NOTES[word]} %s, as the values show"
        elif differs or (row["side"] and row["is_contested"] and not row["own"]):
            key = f"{IN_NOTES[word]} %s, as its other attributes show"
        elif not row["side"] and row["is_contested"]:
            key = f"the {side.what} follows the other sources: %s"
        else:
            continue
        groups.setdefault((attribute, key), []).append(source)
    for (attribute, key), sources in groups.items():
        what = f'"{in_short(attribute)}": ' if attribute else ""
        notes.append(what + key.replace("%s", _named(sources)))
    return found


def _named(sources: list[str]) -> str:
    names = ", ".join(f'"{in_short(source)}"' for source in sources[:MOST_NAMED])
    more = len(sources) - MOST_NAMED
    return names if more <= 0 else f"{names} and {counted(more, 'more source', 'more sources')}"


def form_of_words(form: object, attribute: str, source: str) -> str:
    """Return a form that a user gave, or raise an error that lists the words there are."""
    words = [word.strip() for word in form.split(",")] if isinstance(form, str) else [""]
    if not all(word in FORM_WORDS or word in UNIT_OF_WORD for word in words):
        raise ParameterError(
            f"normalise: the format of source {source!r} in {attribute!r} must be one of "
            f"{', '.join(FORM_WORDS)}, or a unit such as kg; got {form!r}"
        )
    return ", ".join(UNIT_OF_WORD[word].name if word in UNIT_OF_WORD else word for word in words)


def form_table(forms: pl.Series) -> pl.DataFrame:
    """Return the meaning of the words of each form, as columns.

    >>> form_table(pl.Series(["", "comma, kg"])).rows()
    [('', None, None, None), ('comma, kg', ',', None, 'kg')]
    """
    rows = []
    for form in forms:
        row: dict[str, Any] = {"form": form}
        for word in form.split(", ") if form else []:
            name, value = FORM_WORDS.get(word, ("bare_unit", word))
            row[name] = value
        rows.append(row)
    return pl.DataFrame(rows, schema=FORM_SCHEMA)
