"""Which wide table it is: one with a column per attribute, per source, per entity or per sample.

A table is long if a row is a claim. It is wide *by attributes* if a row is all that a source says
of an entity, *by sources* if a row is all that is said of an item, and *by entities* if a row is
all that a source says. What the columns are called tells the first; that columns, or rows, agree
far more than by chance tells the others. Where nothing is plain, the user is asked. It is wide
*by samples* if a row has the answers of a source that was asked several times; only the user can
tell them from attributes, so columns that are numbered are noted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from veracity.claims.how import HowToRead, Wide
from veracity.claims.schema import (
    CARRYING,
    JOINED,
    USUAL_NAMES,
    lacking_parts,
    listed,
    parts_of_name,
    recognised,
    simple_name,
)
from veracity.claims.shapes import (
    FEWEST_ROWS,
    Seen,
    Shape,
    asked_for_keys,
    column_like,
    is_stamp,
    is_unique,
    note_left,
    note_like,
    note_unread,
    notes_of_numbered,
    numbered_alike,
    unclear,
)
from veracity.errors import MissingColumn, ParameterError
from veracity.naming import rendered

AGREEING = 0.4
"""So much more often than by chance do columns of sources agree, at least (Cohen's kappa)."""

MOST_COMPARED = 40
"""So many columns are compared with each other, to see whether they are sources."""

MOST_REPEATED = 0.5
"""The share of rows that may be a source's second on an entity, where columns are attributes."""

ANSWER = "Answer."
"""How the names of columns begin in which Mechanical Turk has what workers said."""

TRUTH_NAMES = frozenset({"truth", "true_value", "gold", "gold_label", "ground_truth", "correct"})


def shape_of(table: Seen, how: HowToRead, notes: list[str]) -> Shape:
    """Find out what the columns of a table are; what else is to be known of them is noted."""
    several = _said_columns(table, how)
    if several:
        others = {part: name for part, name in how.columns.items() if part != "value"}
        how, table = replace(how, columns=others), table._replace(values=several)
        shape = _by(how.wide or "attributes", table, how)._replace(spread=several)
        note_unread(table, shape, notes)
        notes += notes_of_numbered(shape, how.kind) if how.wide is None else ()
        return shape
    long = recognised(
        table.found, table.wanted, given=how.columns, likely=how.likely, origin=table.origin
    )
    lacking = lacking_parts(long, table.wanted)
    if how.wide is not None:
        shape = _by(how.wide, table, how)
        note_unread(table, shape, notes)
        note_like(shape, notes)
        return shape
    if not lacking:
        note_left(table, how, long, notes)
        return Shape(long)
    found = _recognised_shape(table, how)
    if found is None:
        raise unclear(table, long, lacking)
    note_unread(table, found, notes)
    note_like(found, notes)
    return found._replace(is_found_out=True)


def _by(wide: Wide, table: Seen, how: HowToRead) -> Shape:
    """The shape of a table that is said to be wide by this."""
    by = {"attributes": _by_attributes, "sources": _by_sources, "entities": _by_entities,
          "samples": _by_samples}  # fmt: skip
    how = replace(how, wide=wide)
    shape = by[wide](table, how)
    if shape is None:
        raise MissingColumn(asked_for_keys(table, how))
    return shape


def _said_columns(table: Seen, how: HowToRead) -> tuple[str, ...]:
    """The columns that were named together as the value: each is an attribute, or as is said."""
    named = how.said.get("value", "")
    pieces = parts_of_name(named, table.found) if "value" in table.wanted else []
    several = tuple(dict.fromkeys(pieces))
    if several and how.wide in (None, "attributes") and "attribute" in how.columns:
        raise ParameterError(
            f"columns: the value is in several columns, {listed(several)}, so each is an "
            "attribute; leave out the attribute, or say --wide sources if each is a source"
        )
    for part, name in how.columns.items():
        if part != "value" and name in several:
            raise ParameterError(f"columns: {name!r} cannot be both the {part} and the value")
    return several


def _recognised_shape(table: Seen, how: HowToRead) -> Shape | None:
    """The shape of a wide table, where it is plain."""
    if how.columns.keys() & {"value", "claim"}:
        return None
    if "source" not in table.wanted or "source" in table.parts(("source",), how):
        if _may_be_by_entities(table, how):
            shape = _by_entities(table, how)
            return shape if shape and _are_entities(table.sample(), shape) else None
        shape = _by_attributes(table, how) if "value" in table.wanted else None
        return shape if shape and _are_attributes(table, shape, how) else None
    shape = _by_sources(table, how)
    return shape if shape and _are_sources(table.sample(), shape) else None


def _spread(table: Seen, keys: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that hold values: all others, except those that tell when a row was written.

    Of a table that says which columns are answers, as that of Mechanical Turk does, only these.
    """
    if table.values:
        return tuple(table.values)
    others = table.others(keys)
    answers = [name for name in others if name.startswith(ANSWER)]
    return tuple(answers or [name for name in others if not is_stamp(name)])


# --- by attributes --------------------------------------------------------------------------------


def _by_attributes(table: Seen, how: HowToRead) -> Shape | None:
    """A row is all that a source says of an entity; None where these are not known."""
    if "value" not in table.wanted:
        raise ParameterError("wide='attributes' is not for binary claims, which have none")
    parts = [part for part in table.wanted if part not in ("attribute", "value")]
    keys = table.parts(parts, how)
    if "entity" not in keys:
        entity = _entity_among(table.sample(), table.others(keys), keys)
        keys = {**keys, "entity": entity} if entity is not None else keys
    if lacking_parts(keys, parts):
        return None
    spread = _spread(table, keys)
    return Shape(keys, spread, "attribute", "value") if spread else None


def _entity_among(rows: pl.DataFrame, names: Sequence[str], keys: Mapping[str, str]) -> str | None:
    """The column that names entities: the first, if with the source it is never the same twice.

    That tells something only if there are several rows, and sources have several of them.
    """
    others = [name for part, name in keys.items() if part in ("source", "attribute")]
    if not names or len(rows) < 2 or (others and is_unique(rows, others)):
        return None
    first = names[0]
    is_key = is_unique(rows, [*others, first])
    has_all = rows[first].null_count() == 0
    return first if is_key and has_all else None


def _are_attributes(table: Seen, shape: Shape, how: HowToRead) -> bool:
    """Whether it is plain that columns are attributes: several, of entities that sources share."""
    bare = {re.sub(r" \(\d+\)$", "", name).strip().lower() for name in table.found}
    if bare & {"attribute", "value", *USUAL_NAMES["value"]}:  # of two columns, one has the values
        return False
    plain_ones = [name for name in shape.spread if column_like(name) is None]
    has_source = "source" in shape.keys
    if shape.spread[0].startswith(ANSWER):
        return has_source
    if len(plain_ones) < (2 if how.source_from is None else 1):
        return False
    rows = table.sample()
    if not has_source or rows[shape.keys["source"]].n_unique() < 2 or len(rows) < FEWEST_ROWS:
        return True
    if _are_repeated(rows, table, shape, how):
        return False
    return rows[shape.keys["entity"]].n_unique() < len(rows)


def _are_repeated(rows: pl.DataFrame, table: Seen, shape: Shape, how: HowToRead) -> bool:
    """Whether sources mostly have several rows on an entity, and nothing tells why.

    Then a column may number the rows, or tell of a claim, as a run or a confidence does.
    """
    if how.samples or how.carrying or any(map(is_stamp, table.found)):
        return False
    keys = pl.struct(shape.keys["source"], shape.keys["entity"])
    return bool(rows.select(keys.is_duplicated().mean() > MOST_REPEATED).item())


# --- by samples -----------------------------------------------------------------------------------


def _by_samples(table: Seen, how: HowToRead) -> Shape | None:
    """A row is all that a source says of an item; None where these are not known."""
    parts = [part for part in table.wanted if part not in ("value", "claim")]
    keys = table.parts(parts, how)
    entity = "fact" if "fact" in table.wanted else "entity"
    if entity not in keys:
        found = _entity_among(table.sample(), table.others(keys), keys)
        keys = {**keys, entity: found} if found is not None else keys
    if lacking_parts(keys, parts):
        return None
    cells = "claim" if "claim" in table.wanted else "value"
    spread = table.values or _numbered(table, keys) or _spread(table, keys)
    return Shape(keys, tuple(spread), "sample", cells) if spread else None


def _numbered(table: Seen, keys: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that are numbered, if there are such: the others are no samples."""
    groups = numbered_alike(table.others(keys))
    if len(groups) > 1:
        raise MissingColumn(
            f"{table.origin}: not only {listed(groups[0])} are numbered, but also "
            f"{listed(groups[1])}; name those that hold the samples: --columns "
            f"value={JOINED.join(groups[0])}"
        )
    return groups[0] if groups else ()


# --- by sources -----------------------------------------------------------------------------------


def _by_sources(table: Seen, how: HowToRead) -> Shape | None:
    """A row is all that is said of an item; None where the entity is not known."""
    entity = "fact" if "fact" in table.wanted else "entity"
    if "source" not in table.wanted:
        return None
    parts = [part for part in table.wanted if part not in ("source", "value", "claim")]
    keys = table.parts(parts, how)
    if entity not in keys:
        found = _entity_among(table.sample(), table.others(keys), keys)
        if found is None:
            return None
        keys = {entity: found, **keys}
    spread = [name for name in _spread(table, keys) if simple_name(name) not in TRUTH_NAMES]
    descriptions = _descriptions(table.sample(), spread)
    spread = [name for name in spread if name not in descriptions]
    cells = "claim" if "claim" in table.wanted else "value"
    return Shape(keys, tuple(spread), "source", cells) if spread else None


def _descriptions(rows: pl.DataFrame, names: Sequence[str]) -> set[str]:
    """Columns of text that are no sources, since they have nothing in common with any other.

    Such as the wording of a question, which is another one in each row, a category or a remark
    (words that no other column ever has), or what is the same in all rows. Capitals make no
    difference. There are none where hardly any columns agree.
    """
    if len(rows) < FEWEST_ROWS or len(names) < 3:
        return set()
    texts = {
        name: rows.select(rendered(pl.col(name), rows.schema[name]).str.to_lowercase()).to_series()
        for name in names
    }
    words = {name: set(own.drop_nulls()) - {""} for name, own in texts.items()}

    def is_description(name: str) -> bool:
        own, others = texts[name], [other for other in names if other != name]
        if rows.schema[name] != pl.String or any((own == texts[other]).any() for other in others):
            return False
        is_wording = own.drop_nulls().n_unique() == len(rows)
        is_one = own.null_count() == 0 and own.n_unique() == 1
        are_words = not own.str.contains(r"\d").any()
        return (
            is_wording
            or is_one
            or (are_words and words[name].isdisjoint(set().union(*(words[n] for n in others))))
        )

    found = {name for name in names if is_description(name)}
    return found if len(found) <= len(names) / 2 else set()


def _are_sources(rows: pl.DataFrame, shape: Shape) -> bool:
    """Whether most columns agree with two others each far more often than by chance.

    Two others: attributes come in pairs that agree, such as planned and actual times.
    """
    names = shape.spread[:MOST_COMPARED]
    return _agree(rows.select(rendered(pl.col(name), rows.schema[name]) for name in names))


def _agree(texts: pl.DataFrame) -> bool:
    """Whether most columns agree with two others each far more often than by chance."""
    agreements: dict[str, list[float]] = {name: [] for name in texts.columns}
    for one, other in itertools.combinations(texts.columns, 2):
        agreement = _kappa(texts[one], texts[other])
        agreements[one].append(agreement)
        agreements[other].append(agreement)
    second = [sorted(found)[-2] if len(found) > 1 else 0.0 for found in agreements.values()]
    return sum(agreement >= AGREEING for agreement in second) > len(second) / 2


def _kappa(one: pl.Series, other: pl.Series) -> float:
    """How far two columns agree beyond chance: 1 is always, 0 is chance (Cohen's kappa)."""
    both = pl.DataFrame({"one": one, "other": other}).filter(
        pl.all_horizontal(pl.all().is_not_null() & (pl.all() != ""))
    )
    if len(both) < FEWEST_ROWS:
        return 0.0
    observed = float((both["one"] == both["other"]).mean())  # type: ignore[arg-type]
    shares = [
        both[name].value_counts(name="n").rename({name: "value"}) for name in ("one", "other")
    ]
    pairs = shares[0].join(shares[1], on="value")
    expected = float((pairs["n"] * pairs["n_right"]).sum()) / len(both) ** 2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)


# --- by entities ----------------------------------------------------------------------------------


def _by_entities(table: Seen, how: HowToRead) -> Shape | None:
    """A row is all that a source says; None where the source is not known."""
    if "source" not in table.wanted:
        return None
    keys = table.parts([part for part in table.wanted if part in ("source", *CARRYING)], how)
    spread = _spread(table, keys) if "source" in keys else ()
    if "claim" in table.wanted:
        return Shape(keys, spread, "fact", "claim") if spread else None
    return Shape(keys, spread, "entity", "value") if spread else None


def _may_be_by_entities(table: Seen, how: HowToRead) -> bool:
    """Whether each source has one row, and no column is called as entities or facts are."""
    keys = table.parts(("source", "entity", "fact"), how) if "source" in table.wanted else {}
    if keys.keys() != {"source"} or table.wanted[0] != "source":
        return False
    rows = table.sample()
    return len(rows) > 1 and is_unique(rows, [keys["source"]])


def _are_entities(rows: pl.DataFrame, shape: Shape) -> bool:
    """Whether most rows agree with two others each far more often than by chance."""
    texts = rows.select(rendered(pl.col(name), rows.schema[name]) for name in shape.spread)
    return _agree(texts.head(MOST_COMPARED).transpose())
