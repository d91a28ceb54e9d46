"""Normalise values: values that are written differently and mean the same become one value.

First the type of the values of each attribute is *detected*: times, dates, numbers, text. The
result is a `Normalisation`: small, and saved with the run. Then it is *applied* to claims, and
later to truths. Both work on different values, not on claims.

Times, dates and numbers are written one way (``2011-12-28 14:30``, ``1234.5``), which follows from
the value and the `Normalisation` alone. Text is compared in a folded form that is hard to read, so
the most frequent of the spellings with the same folded form is shown. No table of these is saved: a
truth gets the spelling of the fact with the same folded form, if there is one
(`Normalisation.apply` with `like`).

A placeholder ("N/A") is left out, and so is a value that is too imprecise to be compared, as a date
among dates with times. A value that cannot be read stays, as text. `Normalised.changes` has a row
for every value that was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import partial
from typing import Any

import polars as pl

from veracity.errors import ParameterError
from veracity.io.memory import require_memory
from veracity.naming import as_text
from veracity.printing import counted, in_short
from veracity.reading.normalise.formats import (
    COUNT_SCHEMA,
    Forms,
    add_counts,
    count_formats,
    find_forms,
    form_of_words,
    form_table,
)
from veracity.reading.normalise.rewriting import spell, write
from veracity.reading.normalise.spelling import fold, says_nothing, says_where_to_look
from veracity.reading.normalise.value_types import (
    READING_SCHEMA,
    VALUE_KINDS,
    Reading,
    ValueKind,
    detect_readings,
    in_unit_of_bare,
    read_values,
)
from veracity.reading.roles import Kind

__all__ = [
    "ADVICE",
    "BYTES_PER_VALUE",
    "VALUE_KINDS",
    "Find",
    "Kinds",
    "Normalisation",
    "Normalise",
    "Normalised",
    "Reading",
    "Rewriting",
    "Seen",
    "ValueKind",
    "count_formats_of",
    "detect",
    "look",
    "normalise",
    "rewriting_of",
]

IN_WORDS: dict[ValueKind, str] = {
    "time": "times of day",
    "date": "dates",
    "datetime": "dates with times",
    "number": "numbers",
    "identifier": "identifiers",
    "text": "text",
}

CHANGE_SCHEMA: dict[str, Any] = {
    "attribute": pl.String,
    "kind": pl.String,
    "before": pl.String,
    "after": pl.String,
    "change": pl.String,
    "claims": pl.UInt32,
}

DONE = {
    "no value": "left out as placeholders",
    "incomplete": "left out as too imprecise",
    "no number": "left out as no numbers",
    "other unit": "left out, in a unit that cannot be converted",
    "unread": "kept as text",
    "padded": "padded with zeros",
    "bare": "not converted, as no unit is given",
    "bare number": "read in this unit, as none is given",
}
"""Treatment of values that are not of their attribute's type."""

MOST_NOTES = 12

MOST_WAITING = 1 << 20
"""Number of counts of values that wait to be merged with the others, at least."""

BYTES_PER_VALUE = 400
"""Bytes for reading a value in all possible ways."""

ADVICE = "normalise them in portions, or say which attributes stay as they are"

VALUE_KEYS = ("attribute", "value", "form")

Kinds = Mapping[str, ValueKind | Mapping[str, str]]
"""The kinds of values of attributes, or the formats of their sources, as a user gives them."""

Normalise = bool | Kinds
"""Choice to normalise: True or False, or the types of attributes, or formats of their sources."""


@dataclass(frozen=True)
class Normalised:
    """Rows with normalised values, the changes, and sentences about them.

    `changes` has a row for each value of an attribute that was changed: ``before``, ``after`` (null
    if left out), which ``change`` it is ("rewritten", "no value", "incomplete", "no number",
    "other unit") and how many ``claims`` it concerns.
    """

    rows: pl.DataFrame
    changes: pl.DataFrame
    notes: tuple[str, ...] = field(default=())

    @property
    def n_left_out(self) -> int:
        """Return the number of rows that were left out."""
        return int(self.changes.filter(pl.col("after").is_null())["claims"].sum())


@dataclass(frozen=True)
class Normalisation:
    """Formats of the values of each attribute; the same for claims and for truths.

    >>> rows = pl.DataFrame({"entity": ["a", "b"], "value": ["1,234.50 USD", "n/a"]})
    >>> normalisation = detect(rows)
    >>> normalisation.kinds
    {'': 'number'}
    >>> normalisation.apply(rows).rows.rows()
    [('a', '1234.5')]
    """

    readings: Mapping[str, Reading]
    numeric: bool = False
    """True if the claims are numeric: values that are no numbers are left out."""

    forms: Forms = field(default_factory=dict)
    """The form of each source that writes an attribute otherwise, by attribute."""

    @property
    def kinds(self) -> dict[str, ValueKind]:
        """Return the type of the values of each attribute."""
        return {name: reading.kind for name, reading in self.readings.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the normalisation for JSON, without defaults."""
        told = {name: _as_json(reading) for name, reading in self.readings.items()}
        forms = {name: dict(of) for name, of in self.forms.items()}
        more = {"sources": forms} if forms else {}
        return {"attributes": told, "numeric": self.numeric, **more}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Normalisation:
        """Make the formats from the output of `to_json`."""
        readings = {name: _from_json(of) for name, of in told["attributes"].items()}
        forms = {
            attribute: {source: _form_from_json(form) for source, form in of.items()}
            for attribute, of in told.get("sources", {}).items()
        }
        return cls(readings, numeric=bool(told["numeric"]), forms=forms)

    def apply(self, rows: pl.DataFrame, *, like: pl.DataFrame | None = None) -> Normalised:
        """Normalise the values of claims or truths.

        Truths, and sources that were not seen before, are read as their own values show, or else
        as their attribute is.

        Parameters
        ----------
        rows
            Rows with a value, and an attribute if there are several.
        like
            Such rows, normalised before: text that means the same is spelt as it is there. Truths
            are to be spelt like the facts they are compared with.
        """
        if not self.readings:
            return Normalised(rows, pl.DataFrame(schema=CHANGE_SCHEMA))
        mapping = rewriting_of(lambda: [rows], self.with_sources, like)
        return Normalised(mapping.of(rows), mapping.changes, mapping.notes)

    def with_sources(
        self, seen: pl.DataFrame, formats: pl.DataFrame
    ) -> tuple[Normalisation, tuple[str, ...]]:
        """Add the forms of sources that are not known, from their counts; return notes on them."""
        del seen  # the readings are known
        if set(self.readings) == {""}:
            formats = add_counts(formats.with_columns(attribute=pl.lit("")))
        forms, notes = find_forms(self.readings, formats, self.forms)
        return replace(self, forms=forms), notes

    def with_forms(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the column `form` to rows of claims."""
        forms = [(attribute, *pair) for attribute, of in self.forms.items() for pair in of.items()]
        keys = ["attribute", "source"]
        table = pl.DataFrame(forms, schema=dict.fromkeys([*keys, "form"], pl.String), orient="row")
        names = self._seen(rows).select(keys)
        found = names.join(table, on=keys, how="left", maintain_order="left")
        return rows.with_columns(found["form"].fill_null(""))

    def _seen(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return attribute and value of each row; without attribute if the claims had none."""
        return _named(rows.drop("attribute", strict=False) if set(self.readings) == {""} else rows)

    def _table(self) -> pl.DataFrame:
        """Return the readings, one row per attribute."""
        rows = [{"attribute": name, **vars(reading)} for name, reading in self.readings.items()]
        return pl.DataFrame(rows, schema={"attribute": pl.String, **READING_SCHEMA})


def detect(
    rows: pl.DataFrame, kinds: Kinds | None = None, *, claims_kind: Kind = "categorical"
) -> Normalisation:
    """Detect how to read the values of claims.

    Values that are no text, and binary claims, need no normalising. Numeric claims are numbers.

    Parameters
    ----------
    rows
        Claims: rows with a value, and an attribute if there are several.
    kinds
        The kinds of values of some attributes, or the formats of some of their sources, where that
        is known better. Where there are no attributes, the name of the only one is ``""``.
    claims_kind
        The kind of the claims.
    """
    return look(rows, count_formats_of(rows), kinds, claims_kind=claims_kind)[0]


def look(
    seen: pl.DataFrame,
    formats: pl.DataFrame,
    kinds: Kinds | None = None,
    *,
    claims_kind: Kind = "categorical",
) -> tuple[Normalisation, tuple[str, ...]]:
    """Detect the formats of values from the counts in `Seen`; return notes on sources, too."""
    kinds = kinds or {}
    if claims_kind == "binary" or seen["value"].dtype != pl.String:
        _check_kinds(kinds, [])
        return Normalisation({}), ()
    values = _read(_named(seen))
    attributes = values["attribute"].unique().sort().to_list()
    _check_kinds(kinds, attributes)
    said = {name: kind for name, kind in kinds.items() if not isinstance(kind, Mapping)}
    is_numeric = claims_kind == "numeric"
    if is_numeric and any(kind != "number" for kind in said.values()):
        raise ParameterError("normalise: numeric claims are numbers; set no other kind of value")
    said = dict.fromkeys(attributes, "number") if is_numeric else said
    readings = _detected(values, formats, attributes, said)
    if is_numeric:
        readings = in_unit_of_bare(readings, values)
    found = Normalisation(readings, numeric=is_numeric, forms=_forms_said(kinds, formats))
    return found.with_sources(seen, formats)


def _forms_said(kinds: Kinds, formats: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Return the forms of sources that a user gave."""
    forms: dict[str, dict[str, str]] = {}
    for attribute, of in kinds.items():
        if not isinstance(of, Mapping):
            continue
        sources = formats.filter(pl.col("attribute") == attribute)["source"].unique().sort()
        for source, form in of.items():
            if source not in sources:
                known = ", ".join(f"'{in_short(one)}'" for one in sources[:12]) or "none"
                raise ParameterError(
                    f"normalise: no source {source!r} gives numbers or dates for {attribute!r}; "
                    f"those that do are {known}"
                )
            forms.setdefault(attribute, {})[source] = form_of_words(form, attribute, source)
    return forms


def normalise(
    rows: pl.DataFrame, kinds: Kinds | None = None, *, claims_kind: Kind = "categorical"
) -> tuple[Normalisation, Normalised]:
    """Detect how to read the values of claims, and apply it."""
    if claims_kind == "binary":
        _check_kinds(kinds or {}, [])
        return Normalisation({}), Normalised(rows, pl.DataFrame(schema=CHANGE_SCHEMA))
    find = partial(look, kinds=kinds, claims_kind=claims_kind)
    mapping = rewriting_of(lambda: [rows], find, None)
    return mapping.found, Normalised(mapping.of(rows), mapping.changes, mapping.notes)


def rewriting_of(
    batches: Callable[[], Iterable[pl.DataFrame]], find: Find, like: pl.DataFrame | None
) -> Rewriting:
    """Return the normalised form of the values in batches of rows.

    If some sources write otherwise than others, the batches are read once more, to count the values
    by form.
    """
    seen = Seen()
    for rows in batches():
        seen.add(rows)
    found, notes = find(seen.table, seen.formats)
    if found.forms:
        seen = Seen(found)
        for rows in batches():
            seen.add(rows)
    return Rewriting(found, seen.table, like, notes)


def count_formats_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the signs of each source's formats in its claims."""
    if "value" not in rows.columns or rows["value"].dtype != pl.String:
        return pl.DataFrame(schema=COUNT_SCHEMA)
    return count_formats(_named(rows))


Find = Callable[[pl.DataFrame, pl.DataFrame], tuple[Normalisation, tuple[str, ...]]]
"""Makes of values that were seen, and of the counts of formats, how they are read, and notes."""


class Seen:
    """Different values of each attribute with their numbers of claims, the input of normalising.

    It is added up batch by batch, so claims need not be in memory at once; their values have to.
    The formats of sources are counted, too. Where these are known, values are counted by form.
    """

    def __init__(self, found: Normalisation | None = None) -> None:
        self.formats = pl.DataFrame(schema=COUNT_SCHEMA)
        self._found = found
        self._waiting: list[pl.DataFrame] = []
        self._table: pl.DataFrame | None = None

    def add(self, rows: pl.DataFrame) -> None:
        """Count the values of a batch."""
        if self._found is not None:
            rows = self._found.with_forms(rows)
        else:
            self.formats = add_counts(self.formats, count_formats_of(rows))
        keys = [name for name in VALUE_KEYS if name in rows.columns]
        n_claims = pl.col("claims").sum() if "claims" in rows.columns else pl.len()
        self._waiting.append(rows.group_by(keys).agg(claims=n_claims.cast(pl.UInt64)))
        n_known = 0 if self._table is None else len(self._table)
        if sum(map(len, self._waiting)) > n_known + MOST_WAITING:
            self._bring_together()

    @property
    def table(self) -> pl.DataFrame:
        """Return one row per value of an attribute, with the number of its claims."""
        self._bring_together()
        assert self._table is not None  # there is a batch at least
        return self._table

    def _bring_together(self) -> None:
        known = [] if self._table is None else [self._table]
        together = pl.concat([*known, *self._waiting])
        self._waiting.clear()
        keys = [name for name in together.columns if name != "claims"]
        self._table = together.group_by(keys).agg(pl.col("claims").sum()).sort(keys)
        n_bytes = BYTES_PER_VALUE * len(self._table)
        require_memory(n_bytes, f"to normalise, {len(self._table):,} different values", ADVICE)


class Rewriting:
    """Mapping of each value to its normalised spelling, for rows that come batch by batch."""

    def __init__(
        self,
        found: Normalisation,
        seen: pl.DataFrame,
        like: pl.DataFrame | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.found = found
        self._keys = [name for name in VALUE_KEYS if name in seen.columns]
        self._table: pl.DataFrame | None = None
        self.changes, self.notes = pl.DataFrame(schema=CHANGE_SCHEMA), tuple[str, ...]()
        if not found.readings:
            return
        named = found._seen(seen)
        values = _read(named).join(found._table(), on="attribute", how="left")
        values = values.join(form_table(values["form"].unique().sort()), on="form", how="left")
        unheard_of = "number" if found.numeric else "unchanged"
        values = values.with_columns(
            pl.col("kind").fill_null(unheard_of),
            sign_here=pl.coalesce("sign_here", "decimal_sign"),
            day_first_here=pl.coalesce("day_first_here", "day_first"),
        )
        values = write(values, numeric=found.numeric)
        known = None if like is None else found._seen(like)
        values = spell(values, known, numeric=found.numeric)
        keys = ["attribute", "value", "form"]
        after = named.select(keys).join(
            values.select("attribute", "form", "after", value="before"),
            on=keys, how="left", maintain_order="left",
        )["after"]  # fmt: skip
        after = after.cast(pl.Float64) if found.numeric else after
        table = seen.select(self._keys).with_columns(after=after)
        self._table = table.filter(pl.col("after").is_not_null())
        alike = [name for name in CHANGE_SCHEMA if name != "claims"]  # but for the form
        changed = values.filter(pl.col("change").is_not_null()).group_by(alike)
        changes = changed.agg(pl.col("claims").sum()).select(list(CHANGE_SCHEMA))
        self.changes = changes.sort(
            "attribute", "claims", "before", "after", descending=[False, True, False, False]
        )
        self.notes = (*_notes(values, numeric=found.numeric), *notes)

    @property
    def like(self) -> pl.DataFrame | None:
        """The values as they are written now: truths are to be spelt like them."""
        if self._table is None:
            return None
        return self._table.select(
            pl.exclude("value", "after", "form"), value=pl.col("after").cast(pl.String)
        )

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rewrite the values of rows; leave out rows that name none."""
        if self._table is None:
            return rows
        if "form" in self._keys:
            rows = self.found.with_forms(rows)
        found = rows.join(self._table, on=self._keys, how="inner", maintain_order="left")
        return found.with_columns(value=pl.col("after")).drop("after", "form", strict=False)


def _detected(
    values: pl.DataFrame,
    formats: pl.DataFrame,
    attributes: list[str],
    kinds: Mapping[str, ValueKind],
) -> dict[str, Reading]:
    """Detect how to read each attribute; one that never names a value is text."""
    is_read = pl.any_horizontal(pl.col("point", "clock").is_not_null())
    named = pl.concat([values.filter(is_read), _naming(values.filter(~is_read))])
    found = detect_readings(named, formats, kinds)
    empty = {name: Reading(kind=kinds.get(name, "text")) for name in attributes}
    return {name: found.get(name, empty[name]) for name in attributes}


def _naming(values: pl.DataFrame) -> pl.DataFrame:
    """Return the values that are not placeholders; "Dec 02 Not Available" is a placeholder."""
    is_beside_day = pl.col("day").is_not_null() & pl.col("words").str.contains(r"\p{L}")
    said = values.select(pl.when(is_beside_day).then("words").otherwise("plain")).to_series()
    folded = fold(said.str.strip_chars(" -()"))
    return values.filter(~says_nothing(folded) & ~says_where_to_look(folded))


def _check_kinds(kinds: Kinds, attributes: list[str]) -> None:
    for name, kind in kinds.items():
        if not isinstance(kind, Mapping) and kind not in VALUE_KINDS:
            raise ParameterError(
                f"normalise: the kind of {name!r} must be one of {', '.join(VALUE_KINDS)}, "
                f"got {kind!r}"
            )
        if name not in attributes:
            known = ", ".join(f"'{in_short(one)}'" for one in attributes[:12])
            known = known or "none with text for values"
            raise ParameterError(
                f"normalise: no attribute {name!r} among the claims; there is {known}"
                + (f" and {len(attributes) - 12} more" if len(attributes) > 12 else "")
            )


def _as_json(reading: Reading) -> dict[str, Any]:
    told = {f.name: getattr(reading, f.name) for f in fields(reading)}
    told = {f.name: told[f.name] for f in fields(reading) if told[f.name] != f.default}
    return {name: str(of) if isinstance(of, date) else of for name, of in told.items()}


def _from_json(told: Mapping[str, Any]) -> Reading:
    near = told.get("near")
    for name, value in told.items():
        type_of_value = {pl.Boolean: bool, pl.Int64: int}.get(READING_SCHEMA[name], str | None)
        if not isinstance(value, type_of_value):
            raise ValueError(f"'{name}' of how values are read is {value!r}")
    if told["kind"] not in VALUE_KINDS or told.get("decimal_sign", ".") not in (".", ","):
        raise ValueError(f"there are no values of the kind {told['kind']!r}")
    return Reading(**{**told, "near": None if near is None else date.fromisoformat(near)})


def _form_from_json(form: object) -> str:
    if not isinstance(form, str):
        raise ValueError(f"the format of a source is {form!r}")
    return form_of_words(form, "", "")


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """Return source, attribute, form and value of each row, as text; missing ones are empty."""
    names = {
        name: as_text(rows[name]).fill_null("") if name in rows.columns else pl.lit("")
        for name in ("source", "attribute", "form")
    }
    counts = [name for name in ("claims",) if name in rows.columns]
    return rows.select(*counts, **names, value=as_text(rows["value"]))


def _read(named: pl.DataFrame) -> pl.DataFrame:
    """Return the values of each attribute and form, as they are read, and how many claims."""
    n_claims = pl.col("claims").sum() if "claims" in named.columns else pl.len()
    values = named.group_by("attribute", "form", "value").agg(claims=n_claims.cast(pl.UInt32))
    texts = values["value"].unique().sort()
    read = read_values(texts).with_columns(value=texts)
    return values.join(read, on="value").drop("value")


def _notes(values: pl.DataFrame, *, numeric: bool) -> tuple[str, ...]:
    """Return a sentence for each attribute, those with most changes first."""
    is_read_otherwise = pl.col("is_text") & ~pl.col("kind").is_in(["text", "identifier"])
    is_padded = ~pl.col("is_text") & (pl.col("kind") == "identifier")
    is_bare = pl.col("mixes_units") & pl.col("own_unit").is_null() & ~pl.col("is_text")
    filled = pl.col("month").is_not_null() & pl.col("year").is_null() & pl.col("has_year")
    is_so_of = {
        "no value": pl.col("change") == "no value",
        "incomplete": pl.col("change") == "incomplete",
        "no number": pl.col("change") == "no number",
        "other unit": pl.col("change") == "other unit",
        "padded": is_padded,
        "unread": is_read_otherwise & pl.col("after").is_not_null(),
        "bare": is_bare & (not numeric),
        "bare number": is_bare & numeric,
        "filled": filled & pl.col("after").is_not_null() & ~pl.col("is_text"),
    }
    usual_first = values.sort("claims", "before", descending=[True, False])
    told = usual_first.group_by("attribute", *READING_SCHEMA).agg(
        changed=pl.col("claims").filter(pl.col("change").is_not_null()).sum(),
        before=pl.col("before").n_unique(),
        after=pl.col("after").drop_nulls().n_unique(),
        **{name: pl.col("claims").filter(is_so).sum() for name, is_so in is_so_of.items()},
        **{
            f"{name} as": pl.col("before").filter(is_so).first() for name, is_so in is_so_of.items()
        },
    )
    told = told.sort("changed", "attribute", descending=[True, False])
    alike: dict[object, list[dict[str, Any]]] = {}
    for of in told.head(MOST_NOTES).iter_rows(named=True):
        own = of["attribute"] if of["changed"] else None  # those that stay as they are: one note
        alike.setdefault((own, _how(of)), []).append(of)
    notes = [_sentence(group) for group in alike.values()]
    if len(told) > MOST_NOTES:
        more = counted(len(told) - MOST_NOTES, "more attribute is", "more attributes are")
        notes.append(f"{more} normalised, too")
    return tuple(notes)


def _sentence(alike: list[dict[str, Any]]) -> str:
    """Return a sentence on attributes whose values are read alike."""
    names = [f'"{in_short(of["attribute"])}"' if of["attribute"] else "values" for of in alike]
    is_one = len(names) == 1 and alike[0]["attribute"]
    return f"{', '.join(names)} {'is' if is_one else 'are'} {_how(alike[0])}"


def _how(of: dict[str, Any]) -> str:
    """Describe how the values of an attribute are read and rewritten."""
    if of["kind"] == "unchanged":
        return "left unchanged"
    became = f"{counted(of['before'], 'spelling becomes', 'spellings become')} {of['after']:,}"
    if not of["changed"]:
        became = "none changes"
    parts = [f"read as {IN_WORDS[of['kind']]}{_manner(of)}: {became}"]
    for what, done in DONE.items():
        if of[what]:
            example = in_short(" ".join(of[f"{what} as"].split()))
            claims = counted(of[what], "claim,", "claims, such as")
            parts.append(f'{done}: {claims} "{example}"')
    return "; ".join(parts)


def _filled_in(of: dict[str, Any]) -> str:
    """Return words on how dates without a year got one; times need none."""
    if not of["filled"] or of["near"] is None or of["kind"] == "time":
        return ""
    return f", those without a year in the year that brings them closest to {of['near']}"


def _manner(of: dict[str, Any]) -> str:
    """Return words on how values are read where a user would not expect it."""
    return "".join(
        [
            f" in {of['unit']}" if of["unit"] else "",
            f" of {of['width']} digits" if of["width"] else "",
            ", the comma being the decimal sign" if of["decimal_sign"] == "," else "",
            ", days before months" if of["day_first"] else "",
            ", brought to universal time" if of["universal"] else "",
            _filled_in(of),
        ]
    )
