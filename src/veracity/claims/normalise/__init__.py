"""One spelling for one meaning: what sources write differently but mean alike becomes one value.

First it is *detected*, for each attribute, what its values are: times, dates, numbers, text. That
is a `Normalisation`: small, and kept with the run. Then it is *applied* to claims, and later to
truths. Both work on different values, not on claims.

Times, dates and numbers are written one way (``2011-12-28 14:30``, ``1234.5``), which follows from
the value and the `Normalisation` alone. Text is compared in a folded form nobody wants to read, so
of the spellings that fold alike the most usual is shown. No table of these is kept: a truth gets
the spelling of the fact it folds like, if there is one (`Normalisation.apply` with `like`).

A value that names nothing ("N/A") is left out, and so is one that says too little to be compared,
such as a date among dates with times. One that cannot be read stays, as text. `Normalised.changes`
has a row for every value that was changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any, NamedTuple

import polars as pl

from veracity.claims.normalise.formats import (
    COUNT_SCHEMA,
    Forms,
    add_counts,
    count_formats,
    find_forms,
    form_of_words,
    form_table,
)
from veracity.claims.normalise.rewriting import spell, write
from veracity.claims.normalise.spelling import fold, says_nothing, says_where_to_look
from veracity.claims.normalise.value_types import (
    READING_SCHEMA,
    VALUE_KINDS,
    Reading,
    ValueKind,
    detect_readings,
    in_unit_of_bare,
    read_values,
)
from veracity.claims.schema import Kind
from veracity.errors import ParameterError
from veracity.io.memory import require_memory
from veracity.naming import as_text
from veracity.printing import counted, in_short

__all__ = [
    "ADVICE",
    "BYTES_PER_VALUE",
    "VALUE_KINDS",
    "Kinds",
    "Normalisation",
    "Normalise",
    "Normalised",
    "Reading",
    "Rewriting",
    "Seen",
    "ValueKind",
    "count_claims_formats",
    "detect",
    "look",
    "normalise",
]

IN_WORDS: dict[ValueKind, str] = {
    "time": "times of day",
    "date": "dates",
    "datetime": "dates with times",
    "number": "numbers",
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
    "no value": "left out, naming no value",
    "incomplete": "left out, saying too little",
    "no number": "left out, being no number",
    "other unit": "left out, in a unit that cannot be converted",
    "unread": "kept as text",
    "bare": "kept apart, naming no unit",
    "bare number": "taken to be in it, naming no unit",
}
"""What was done with values that are not of their attribute's kind."""

MOST_NOTES = 12

MOST_WAITING = 1 << 20
"""So many counts of values wait to be added to the others, or as many as there are others."""

BYTES_PER_VALUE = 400
"""What reading a value, in all ways there are, takes."""

ADVICE = "normalise them in portions, or say which attributes stay as they are"

VALUE_KEYS = ("attribute", "value", "form")

Kinds = Mapping[str, ValueKind | Mapping[str, str]]
"""The kinds of values of attributes, or the formats of their sources, as a user gives them."""

Normalise = bool | Kinds
"""Whether to normalise; or yes, with kinds of attributes, or formats of their sources."""


@dataclass(frozen=True)
class Normalised:
    """Rows with normalised values, what was changed, and sentences that tell it.

    `changes` has a row for each value of an attribute that was changed: ``before``, ``after`` (null
    if left out), which ``change`` it is ("rewritten", "no value", "incomplete", "no number",
    "other unit") and how many ``claims`` it concerns.
    """

    rows: pl.DataFrame
    changes: pl.DataFrame
    notes: tuple[str, ...] = field(default=())

    @property
    def n_left_out(self) -> int:
        """How many rows were left out."""
        return int(self.changes.filter(pl.col("after").is_null())["claims"].sum())


@dataclass(frozen=True)
class Normalisation:
    """How the values of each attribute are read; the same for claims and for truths.

    >>> rows = pl.DataFrame({"entity": ["a", "b"], "value": ["1,234.50 USD", "n/a"]})
    >>> normalisation = detect(rows)
    >>> normalisation.kinds
    {'': 'number'}
    >>> normalisation.apply(rows).rows.rows()
    [('a', '1234.5')]
    """

    readings: Mapping[str, Reading]
    numeric: bool = False
    """Whether the claims are numeric: what is no number is left out."""
    forms: Forms = field(default_factory=dict)
    """The form of each source that writes an attribute otherwise, by attribute."""

    @property
    def kinds(self) -> dict[str, ValueKind]:
        """What the values of each attribute are."""
        return {name: reading.kind for name, reading in self.readings.items()}

    def to_json(self) -> dict[str, Any]:
        """Return all of it, as JSON can hold it; what is as usual is not mentioned."""
        told = {name: _as_json(reading) for name, reading in self.readings.items()}
        forms = {name: dict(of) for name, of in self.forms.items()}
        return {
            "attributes": told,
            "numeric": self.numeric,
            **({"sources": forms} if forms else {}),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Normalisation:
        """Return what `to_json` told."""
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
            return self._apply(rows, None, like)
        named = self._seen(rows)
        found, notes = self.with_sources(count_formats(named))
        return found._apply(rows, _Read.of(found._with_forms(named)), like, notes)

    def with_sources(self, formats: pl.DataFrame) -> tuple[Normalisation, tuple[str, ...]]:
        """Add the forms of sources that are not known, from their counts; return notes on them."""
        if set(self.readings) == {""}:
            formats = add_counts(formats.with_columns(attribute=pl.lit("")))
        forms, notes = find_forms(self.readings, formats, self.forms)
        return replace(self, forms=forms), notes

    def _apply(
        self,
        rows: pl.DataFrame,
        read: _Read | None,
        like: pl.DataFrame | None,
        notes: tuple[str, ...] = (),
        *,
        keep_before: bool = False,
    ) -> Normalised:
        if read is None:
            return Normalised(rows, pl.DataFrame(schema=CHANGE_SCHEMA))
        values = read.values.join(self._table(), on="attribute", how="left")
        values = values.join(form_table(values["form"].unique().sort()), on="form", how="left")
        unheard_of = "number" if self.numeric else "unchanged"
        values = values.with_columns(
            pl.col("kind").fill_null(unheard_of),
            sign_here=pl.coalesce("sign_here", "decimal_sign"),
            day_first_here=pl.coalesce("day_first_here", "day_first"),
        )
        values = write(values, numeric=self.numeric)
        values = spell(values, None if like is None else self._seen(like), numeric=self.numeric)
        after = read.spread(values)
        value = after.cast(pl.Float64) if self.numeric else after
        name = "after" if keep_before else "value"
        new = rows.with_columns(value.alias(name)).filter(after.is_not_null())
        told = [name for name in CHANGE_SCHEMA if name != "claims"]
        changed = values.filter(pl.col("change").is_not_null()).group_by(told)
        changes = changed.agg(pl.col("claims").sum()).select(list(CHANGE_SCHEMA))
        changes = changes.sort(
            "attribute", "claims", "before", "after", descending=[False, True, False, False]
        )
        return Normalised(new, changes, (*_notes(values, numeric=self.numeric), *notes))

    def _seen(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Source, attribute and value; attributes mean nothing if the claims had none."""
        return _named(rows.drop("attribute", strict=False) if set(self.readings) == {""} else rows)

    def with_forms(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the column `form` to rows of claims."""
        return rows.with_columns(self._with_forms(self._seen(rows))["form"])

    def _with_forms(self, named: pl.DataFrame) -> pl.DataFrame:
        """Add the form of each row's source."""
        forms = [(attribute, *pair) for attribute, of in self.forms.items() for pair in of.items()]
        if not forms or "form" in named.columns:
            return named if "form" in named.columns else named.with_columns(form=pl.lit(""))
        keys = ["attribute", "source"]
        table = pl.DataFrame(forms, schema=dict.fromkeys([*keys, "form"], pl.String), orient="row")
        found = named.join(table, on=keys, how="left", maintain_order="left")
        return found.with_columns(pl.col("form").fill_null(""))

    def _table(self) -> pl.DataFrame:
        """The readings, one row per attribute."""
        rows = [{"attribute": name, **vars(reading)} for name, reading in self.readings.items()]
        return pl.DataFrame(rows, schema={"attribute": pl.String, **READING_SCHEMA})


def detect(
    rows: pl.DataFrame,
    kinds: Kinds | None = None,
    *,
    claims_kind: Kind = "categorical",
) -> Normalisation:
    """Find out how to read the values of claims.

    Values that are no text, and binary claims, need no normalising. Numeric claims are numbers.

    Parameters
    ----------
    rows
        Claims: rows with a value, and an attribute if there are several.
    kinds
        The kind of an attribute's values, or the formats of some of its sources, where that is
        known better. Where there are no attributes, the name of the only one is ``""``.
    claims_kind
        The kind of the claims.
    """
    return _detect(rows, kinds or {}, claims_kind)[0]


def normalise(
    rows: pl.DataFrame,
    kinds: Kinds | None = None,
    *,
    claims_kind: Kind = "categorical",
) -> tuple[Normalisation, Normalised]:
    """Detect how to read the values of claims, and apply it: quicker than one after the other."""
    found, notes, read, named = _detect(rows, kinds or {}, claims_kind)
    if read is not None and found.forms:
        read = read.split(found._with_forms(named))
    return found, found._apply(rows, read, None, notes)


def look(
    seen: pl.DataFrame,
    formats: pl.DataFrame,
    kinds: Kinds | None = None,
    *,
    claims_kind: Kind = "categorical",
) -> tuple[Normalisation, tuple[str, ...]]:
    """Detect how to read values from what `Seen` counted; also return notes on sources."""
    return _detect(seen, kinds or {}, claims_kind, formats)[:2]


def count_claims_formats(rows: pl.DataFrame) -> pl.DataFrame:
    """Count what claims show of the formats of their sources."""
    if rows["value"].dtype != pl.String:
        return pl.DataFrame(schema=COUNT_SCHEMA)
    return count_formats(_named(rows))


class Seen:
    """The different values of each attribute with their counts, and the formats of sources.

    It is added up batch by batch, so claims need not be in memory at once; their values have to.
    Where the forms of sources are known, from `found`, values are counted by form.
    """

    def __init__(self, found: Normalisation | None = None) -> None:
        self.found = found
        self._waiting: list[pl.DataFrame] = []
        self._table: pl.DataFrame | None = None
        self.formats = pl.DataFrame(schema=COUNT_SCHEMA)

    def add(self, rows: pl.DataFrame) -> None:
        """Count the values of a batch."""
        if self.found is not None:
            rows = self.found.with_forms(rows)
        else:
            self.formats = add_counts(self.formats, count_claims_formats(rows))
        keys = [name for name in VALUE_KEYS if name in rows.columns]
        self._waiting.append(rows.group_by(keys).agg(claims=pl.len().cast(pl.UInt64)))
        n_known = 0 if self._table is None else len(self._table)
        if sum(map(len, self._waiting)) > n_known + MOST_WAITING:
            self._bring_together()

    @property
    def table(self) -> pl.DataFrame:
        """One row per value of an attribute, with how many claims name it."""
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
    """What normalising makes of each value that was seen, for rows that come batch by batch."""

    def __init__(
        self,
        found: Normalisation,
        seen: pl.DataFrame,
        like: pl.DataFrame | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        read = _Read.of(found._with_forms(found._seen(seen))) if found.readings else None
        told = found._apply(seen, read, like, notes, keep_before=True)
        self._found, self.changes, self.notes = found, told.changes, told.notes
        self._keys = [name for name in VALUE_KEYS if name in seen.columns]
        self._table = told.rows.select(*self._keys, "after") if read is not None else None

    @property
    def like(self) -> pl.DataFrame | None:
        """The values as they are written now: truths are to be spelt like them."""
        if self._table is None:
            return None
        return self._table.select(
            pl.exclude("value", "after", "form"), value=pl.col("after").cast(pl.String)
        )

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with their values rewritten; those that name none are left out."""
        if self._table is None:
            return rows
        if "form" in self._keys:
            rows = self._found.with_forms(rows)
        found = rows.join(self._table, on=self._keys, how="inner", maintain_order="left")
        return found.with_columns(value=pl.col("after")).drop("after", "form", strict=False)


def _detect(
    rows: pl.DataFrame,
    kinds: Kinds,
    claims_kind: Kind,
    formats: pl.DataFrame | None = None,
) -> tuple[Normalisation, tuple[str, ...], _Read | None, pl.DataFrame]:
    """Detect how to read values: also return notes on sources, and the values as they are read."""
    if claims_kind == "binary" or rows["value"].dtype != pl.String:
        _check_kinds(kinds, [])
        return Normalisation({}), (), None, rows
    named = _named(rows)
    read = _Read.of(named.with_columns(form=pl.lit("")))
    formats = count_formats(named) if formats is None else formats
    attributes = read.values["attribute"].unique().sort().to_list()
    _check_kinds(kinds, attributes)
    said = {name: kind for name, kind in kinds.items() if not isinstance(kind, Mapping)}
    is_numeric = claims_kind == "numeric"
    if is_numeric and any(kind != "number" for kind in said.values()):
        raise ParameterError("normalise: numeric claims are numbers; set no other kind of value")
    said = dict.fromkeys(attributes, "number") if is_numeric else said
    readings = _detected(read.values, formats, attributes, said)
    if is_numeric:
        readings = in_unit_of_bare(readings, read.values)
    found = Normalisation(readings, numeric=is_numeric, forms=_forms_said(kinds, formats))
    return *found.with_sources(formats), read, named


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


def _detected(
    values: pl.DataFrame,
    formats: pl.DataFrame,
    attributes: list[str],
    kinds: Mapping[str, ValueKind],
) -> dict[str, Reading]:
    """How to read each attribute; one that never names a value is text."""
    is_read = pl.any_horizontal(pl.col("point", "clock").is_not_null())
    named = pl.concat([values.filter(is_read), _naming(values.filter(~is_read))])
    found = detect_readings(named, formats, kinds)
    empty = {name: Reading(kind=kinds.get(name, "text")) for name in attributes}
    return {name: found.get(name, empty[name]) for name in attributes}


def _naming(values: pl.DataFrame) -> pl.DataFrame:
    """The values that name one; a day with "not available" beside it does not."""
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
        if not isinstance(value, bool if READING_SCHEMA[name] == pl.Boolean else str | None):
            raise ValueError(f"'{name}' of how values are read is {value!r}")
    if told["kind"] not in VALUE_KINDS or told.get("decimal_sign", ".") not in (".", ","):
        raise ValueError(f"there are no values of the kind {told['kind']!r}")
    return Reading(**{**told, "near": None if near is None else date.fromisoformat(near)})


def _form_from_json(form: object) -> str:
    if not isinstance(form, str):
        raise ValueError(f"the format of a source is {form!r}")
    return form_of_words(form, "", "")


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """Source, attribute and value of each row, as text; what there is not has an empty name."""
    names = {
        name: as_text(rows[name]).fill_null("") if name in rows.columns else pl.lit("")
        for name in ("source", "attribute")
    }
    more = [name for name in ("claims", "form") if name in rows.columns]
    return rows.select(*more, **names, value=as_text(rows["value"]))


class _Read(NamedTuple):
    """The different values of each attribute and form, as they are read, and that of each row.

    Values are numbered, so that millions of rows are matched by numbers and not by text.
    """

    values: pl.DataFrame
    value_of_row: pl.DataFrame
    texts: pl.DataFrame

    @classmethod
    def of(cls, named: pl.DataFrame) -> _Read:
        """Read the values of rows of attribute, form and value."""
        texts = named["value"].unique().sort()
        read = read_values(texts).with_columns(value=texts).with_row_index("text")
        return cls(pl.DataFrame(), pl.DataFrame(), read).split(named)

    def split(self, named: pl.DataFrame) -> _Read:
        """Number the same values by the attributes and forms of these rows."""
        ways = named.select("attribute", "form").unique().sort("attribute", "form")
        ways = ways.with_row_index("of")
        numbers = self.texts.select("value", "text")
        numbered = named.join(numbers, on="value", how="left", maintain_order="left")
        numbered = numbered.join(ways, on=["attribute", "form"], how="left", maintain_order="left")
        n_claims = pl.col("claims").sum() if "claims" in named.columns else pl.len()
        values = numbered.group_by("of", "text").agg(claims=n_claims.cast(pl.UInt32))
        values = values.join(ways, on="of").join(self.texts.drop("value"), on="text")
        return _Read(values, numbered.select("of", "text"), self.texts)

    def spread(self, values: pl.DataFrame) -> pl.Series:
        """`after` of the values, for every row."""
        after = values.select("of", "text", "after")
        keys = ["of", "text"]
        return self.value_of_row.join(after, on=keys, how="left", maintain_order="left")["after"]


def _notes(values: pl.DataFrame, *, numeric: bool) -> tuple[str, ...]:
    """A sentence for each attribute, those with most changes first."""
    is_read_otherwise = pl.col("is_text") & (pl.col("kind") != "text")
    is_bare = pl.col("mixes_units") & pl.col("own_unit").is_null() & ~pl.col("is_text")
    filled = pl.col("month").is_not_null() & pl.col("year").is_null() & pl.col("has_year")
    is_so_of = {
        "no value": pl.col("change") == "no value",
        "incomplete": pl.col("change") == "incomplete",
        "no number": pl.col("change") == "no number",
        "other unit": pl.col("change") == "other unit",
        "unread": is_read_otherwise & pl.col("after").is_not_null(),
        "bare": is_bare & (not numeric),
        "bare number": is_bare & numeric,
        "filled": filled & pl.col("after").is_not_null() & ~pl.col("is_text"),
    }
    usual_first = values.sort("claims", "text", descending=[True, False])
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
        notes.append(f"{more} read, each in its own way")
    return tuple(notes)


def _sentence(alike: list[dict[str, Any]]) -> str:
    """How the values of attributes that are alike are read."""
    names = [f'"{in_short(of["attribute"])}"' if of["attribute"] else "values" for of in alike]
    is_one = len(names) == 1 and alike[0]["attribute"]
    return f"{', '.join(names)} {'is' if is_one else 'are'} {_how(alike[0])}"


def _how(of: dict[str, Any]) -> str:
    """How the values of an attribute are read, and what becomes of them."""
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
    """How dates without a year got one; times need none."""
    if not of["filled"] or of["near"] is None or of["kind"] == "time":
        return ""
    return f", those without a year in the year that brings them closest to {of['near']}"


def _manner(of: dict[str, Any]) -> str:
    """What a reader would not expect of how values are read."""
    return "".join(
        [
            f" in {of['unit']}" if of["unit"] else "",
            ", the comma being the decimal sign" if of["decimal_sign"] == "," else "",
            ", days before months" if of["day_first"] else "",
            ", brought to universal time" if of["universal"] else "",
            _filled_in(of),
        ]
    )
