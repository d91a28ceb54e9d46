"""Wide tables: a column per attribute, per source or per entity; recognised, unpivoted in batches.

A table is long if a row is a claim. It is wide *by attributes* if a row is all that a source says
of an entity, *by sources* if a row is all that is said of an item, and *by entities* if a row is
all that a source says. What the columns are called tells the first; that columns, or rows, agree
far more than by chance tells the others. Where nothing is plain, the user is asked.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from veracity.claims.checking import plain
from veracity.claims.how import HowToRead, Wide
from veracity.claims.schema import (
    CARRYING,
    JOINED,
    USUAL_NAMES,
    lacking_parts,
    listed,
    missing_column,
    recognised,
    simple_name,
)
from veracity.errors import MissingColumn, ParameterError
from veracity.io.batched import BatchedRows
from veracity.io.files import Part, batches_of, n_rows_of
from veracity.io.frames import ROWS_PER_BATCH
from veracity.naming import rendered
from veracity.printing import in_short

__all__ = ["SAMPLE", "Seen", "Shape", "Unpivoted", "column_like", "shape_of"]

SAMPLE = 2_000
"""So many rows are looked at to see what columns are."""

FEWEST_ROWS = 4
"""With fewer rows than this, agreement is no evidence."""

AGREEING = 0.4
"""So much more often than by chance do columns of sources agree, at least (Cohen's kappa)."""

MOST_COMPARED = 40
"""So many columns are compared with each other, to see whether they are sources."""

TRUTH_NAMES = frozenset({"truth", "true_value", "gold", "gold_label", "ground_truth", "correct"})

LIKE_PARTS: Mapping[str, frozenset[str]] = {
    "time": frozenset({
        "time", "timestamp", "ts", "date", "datetime", "date_time", "as_of", "created",
        "created_at", "updated", "updated_at", "last_updated", "update_time", "modified",
        "modified_at", "last_modified", "submitted_at", "submit_time", "submission_time",
        "observed_at", "retrieved_at", "fetched_at", "scraped_at", "crawled_at", "seen_at",
        "last_seen", "event_time", "annotated_at", "labeled_at", "answered_at", "completed_at",
    }),
    "weight": frozenset({
        "weight", "weights", "confidence", "conf", "probability", "prob", "score", "certainty",
        "count", "counts", "n", "votes", "n_votes", "num_votes", "frequency",
    }),
}  # fmt: skip
"""Names of columns that may carry weight, though nobody said so."""

SAMPLE_NAMES = frozenset({
    "sample", "sample_id", "run", "run_id", "trial", "attempt", "repetition", "repeat", "draw",
    "seed", "try",
})  # fmt: skip
"""Names of columns that number what a source was asked several times."""

NOT_STAMPS = frozenset({"time", "date", "datetime", "date_time", "event_time"})
"""Names of times that an attribute may have; the others tell when a row was written."""


class Shape(NamedTuple):
    """Which columns of a table are what."""

    keys: dict[str, str]
    """The columns that play a part in each row."""
    spread: tuple[str, ...] = ()
    """The columns that hold values, if the table is wide."""
    of_names: str = ""
    """The part that their names play, an attribute or a source."""
    of_cells: str = ""
    """The part that their cells play, a value or a claim."""

    @property
    def is_wide(self) -> bool:
        """Whether there are several claims in a row."""
        return bool(self.spread)

    @property
    def wide(self) -> Wide | None:
        """By what it is wide, as a user would say it."""
        if not self.is_wide:
            return None
        by = {"source": "sources", "attribute": "attributes"}
        return by.get(self.of_names, "entities")  # type: ignore[return-value]


Sample = Callable[[], pl.DataFrame]


class Seen(NamedTuple):
    """A table as it is found: what it is called, its columns, and a way to look at some rows."""

    origin: str
    found: Sequence[str]
    wanted: Sequence[str]
    sample: Sample

    def parts(self, parts: Sequence[str], how: HowToRead) -> dict[str, str]:
        """Which columns play these parts, as far as names tell."""
        given = {part: name for part, name in how.columns.items() if part in parts}
        return recognised(self.found, parts, given=given, likely=how.likely, origin=self.origin)

    def others(self, keys: Mapping[str, str]) -> list[str]:
        """The columns that are none of these, and have a name."""
        return [name for name in self.found if name.strip() and name not in keys.values()]


def shape_of(table: Seen, how: HowToRead, notes: list[str]) -> Shape:
    """Find out what the columns of a table are; what was found out is noted."""
    long = recognised(
        table.found, table.wanted, given=how.columns, likely=how.likely, origin=table.origin
    )
    lacking = lacking_parts(long, table.wanted)
    if how.wide is not None:
        by = {"attributes": _by_attributes, "sources": _by_sources, "entities": _by_entities}
        shape = by[how.wide](table, how)
        if shape is None:
            raise MissingColumn(_asked_for_keys(table, how))
        _note_unread(table, shape, notes)
        _note_like(shape, notes)
        return shape
    if not lacking:
        _note_left(table, how, long, notes)
        return Shape(long)
    shape = _recognised_shape(table, how)
    if shape is None:
        raise MissingColumn(_unclear(table, long, lacking))
    notes.append(_told(shape))
    _note_unread(table, shape, notes)
    _note_like(shape, notes)
    return shape


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
    """The columns that hold values: all others, except those that tell when a row was written."""
    return tuple(name for name in table.others(keys) if not _is_stamp(name))


def _is_stamp(name: str) -> bool:
    return column_like(name) == "time" and simple_name(name) not in NOT_STAMPS


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
    if not names or len(rows) < 2 or (others and _is_unique(rows, others)):
        return None
    first = names[0]
    is_unique = _is_unique(rows, [*others, first])
    has_all = rows[first].null_count() == 0
    return first if is_unique and has_all else None


def _is_unique(rows: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether no two rows have the same in these columns."""
    return bool(rows.select(pl.struct(*names).is_unique().all()).item())


def _are_attributes(table: Seen, shape: Shape, how: HowToRead) -> bool:
    """Whether it is plain that columns are attributes: several, of entities that sources share."""
    bare = {re.sub(r" \(\d+\)$", "", name).strip().lower() for name in table.found}
    if bare & {"attribute", "value", *USUAL_NAMES["value"]}:  # of two columns, one has the values
        return False
    plain_ones = [name for name in shape.spread if column_like(name) is None]
    has_source = "source" in shape.keys
    if len(plain_ones) < (2 if how.source_from is None else 1):
        return False
    rows = table.sample()
    if not has_source or rows[shape.keys["source"]].n_unique() < 2 or len(rows) < FEWEST_ROWS:
        return True
    return rows[shape.keys["entity"]].n_unique() < len(rows)


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
    """Columns of text that are no sources: a different one in each row, and in no other column.

    Such as the wording of a question. There are none where hardly any columns agree.
    """
    texts = {name: rows[name] for name in names if rows.schema[name] == pl.String}
    if len(rows) < FEWEST_ROWS or len(names) < 3:
        return set()

    def is_description(name: str) -> bool:
        own = texts[name]
        is_told = own.drop_nulls().n_unique() == len(rows)
        return is_told and not any((own == texts[other]).any() for other in texts if other != name)

    found = {name for name in texts if is_description(name)}
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
    return len(rows) > 1 and _is_unique(rows, [keys["source"]])


def _are_entities(rows: pl.DataFrame, shape: Shape) -> bool:
    """Whether most rows agree with two others each far more often than by chance."""
    texts = rows.select(rendered(pl.col(name), rows.schema[name]) for name in shape.spread)
    return _agree(texts.head(MOST_COMPARED).transpose())


# --- what is said ---------------------------------------------------------------------------------


def column_like(name: str) -> str | None:
    """The part that a column may play by its name, a time or a weight, though nobody said so.

    >>> [column_like(name) for name in ("Timestamp", "lastUpdated", "n-votes", "gate")]
    ['time', 'time', 'weight', None]
    """
    simple = simple_name(name)
    return next((part for part, names in LIKE_PARTS.items() if simple in names), None)


def _told(shape: Shape) -> str:
    """What a wide table was taken for, and how to say otherwise."""
    keys = " and ".join(
        f"'{in_short(name)}'" for part, name in shape.keys.items() if part not in CARRYING
    )
    otherwise = {
        "attributes": "if only one of them has the values, name it: --columns value=NAME",
        "sources": "if they are attributes, say --wide attributes",
        "entities": "if they are attributes, say --wide attributes --columns entity=NAME",
    }[shape.wide or "attributes"]
    return (
        f"a wide table, with one row per {keys} and one column per {shape.of_names}: "
        f"{listed(shape.spread)}; {otherwise}"
    )


def _note_unread(table: Seen, shape: Shape, notes: list[str]) -> None:
    """Tell which columns of a wide table hold no values."""
    for name in table.others(shape.keys):
        if name in shape.spread:
            continue
        if _is_stamp(name):
            notes.append(like_note(name, "time"))
        else:
            notes.append(f"column '{in_short(name)}' is not read: it is not taken as a source")


def _note_left(table: Seen, how: HowToRead, keys: Mapping[str, str], notes: list[str]) -> None:
    """Tell of columns that were left although the user may want them."""
    left = table.others(keys)
    for name in left:
        part = column_like(name)
        if part is not None:
            notes.append(like_note(name, part))
    others = [name for name in left if column_like(name) is None]
    if "entity" in keys and "source" in keys and not how.samples and not how.carrying:
        notes += _notes_of_keys(table.sample(), keys, others)
    if "value" in how.columns and "attribute" not in keys and others:
        notes.append(
            f"not read: {listed(others)}; if each is an attribute, leave out the value and say "
            "--wide attributes"
        )


def _notes_of_keys(
    rows: pl.DataFrame, keys: Mapping[str, str], others: Sequence[str]
) -> Iterator[str]:
    """Tell of a column that tells apart what a source says several times of one item.

    It has to do so in all rows, and have few values: a remark would be different in each row.
    """
    own = [keys[part] for part in ("source", "entity", "attribute") if part in keys]
    if len(rows) < FEWEST_ROWS or _is_unique(rows, own):
        return
    for name in others:
        is_few = 1 < rows[name].n_unique() <= len(rows) / 4
        if is_few and _is_unique(rows, [*own, name]):
            option = shlex.quote(f"entity={keys['entity']}{JOINED}{name}")
            means = f"if it is a part of the entity, say --columns {option}"
            if simple_name(name) in SAMPLE_NAMES:
                means = "if it numbers samples, say --samples"
            yield (
                f"column '{in_short(name)}' is not read, and tells apart what a source says of one "
                f"item; {means}"
            )


def _note_like(shape: Shape, notes: list[str]) -> None:
    """Tell of columns of a wide table that may be something else."""
    for name in shape.spread:
        part = column_like(name)
        if part is not None:
            notes.append(like_note(name, part, f"is taken as {_a(shape.of_names)}"))


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "ae" else f"a {word}"


def like_note(name: str, part: str, taken: str = "is not read") -> str:
    """That a column looks as if it carried weight, and how to say that it does."""
    option = shlex.quote(f"{part}={name}")
    means = {
        "time": "only the newest claim of a source about an item counts",
        "weight": "each claim counts by its weight",
    }[part]
    return f"column '{in_short(name)}' {taken}; with --columns {option}, {means}"


def _asked_for_keys(table: Seen, how: HowToRead) -> str:
    """That a table can be unpivoted once it is known what a row is about."""
    of_shape = {"attributes": ("source", "entity"), "entities": ("source",)}
    parts = of_shape.get(how.wide or "", table.wanted[1:2])
    parts = tuple(part for part in parts if part in table.wanted)
    keys = table.parts(parts, how)
    lacking = [part for part in parts if part not in keys]
    if not lacking:
        return f"{table.origin}: no column is left that could hold values; check --columns"
    return missing_column(table.found, keys, lacking, table.origin)


def _unclear(table: Seen, long: Mapping[str, str], lacking: Sequence[str]) -> str:
    """What is missing, what the columns look like, and what can be said of them."""
    spare = table.others(long)
    if len(spare) < 2:
        return missing_column(table.found, long, lacking, table.origin)
    rows = table.sample().head(1)
    cells = rows.row(0, named=True) if len(rows) else dict.fromkeys(table.found, "")
    shown = [f"{in_short(name, 30)}={in_short(cells[name], 20)}" for name in table.found[:12]]
    entity = next((part for part in table.wanted if part in ("entity", "fact")), "entity")
    source, about = _option("source", long), _option(entity, long)
    names_source = "source" in table.wanted
    choices = [f"if a row is one claim, say --columns {','.join(f'{p}=NAME' for p in lacking)}"]
    if "value" in table.wanted:
        keys = f"{source},{about}" if names_source else about
        choices.append(
            f"if each further column is an attribute, --wide attributes --columns {keys}"
        )
    if names_source and "source" not in long:  # else the source's column would be taken for one
        choices.append(f"if each is a source, --wide sources --columns {about}")
    if names_source and entity not in long:
        choices.append(f"if each is {_a(entity)}, --wide entities --columns {source}")
    if names_source and "source" not in long:
        choices.append("if each file is a source, --source-from filename")
    if entity in lacking:
        choices.append(f"if two columns name {_a(entity)}, {entity}=ONE+OTHER")
    return (
        f"{table.origin}: no column {listed(lacking)} among {listed(table.found)} (the first row: "
        f"{', '.join(shown)}); {'; '.join(choices)} (in Python: columns={{'{lacking[0]}': 'NAME'}},"
        " wide='attributes', and so on)"
    )


def _option(part: str, named: Mapping[str, str]) -> str:
    return shlex.quote(f"{part}={named[part]}") if part in named else f"{part}=NAME"


# --- unpivoting -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unpivoted(BatchedRows):
    """The claims of a wide table, made of a batch of its rows at a time; empty cells are none."""

    part: Part
    shape: Shape
    dtypes: pl.Schema
    """Those of the wide table."""

    def count(self) -> int:
        """How many cells there are: no fewer than claims."""
        return n_rows_of(self.part) * len(self.shape.spread)

    def nothing(self) -> pl.DataFrame:
        """No claim."""
        return self._long(self.dtypes.to_frame())

    def as_they_come(self) -> Iterator[pl.DataFrame]:
        """The claims, at least one batch of them."""
        most_rows = max(1, ROWS_PER_BATCH // len(self.shape.spread))
        for batch in batches_of(self.part):
            yield from map(self._long, batch.iter_slices(most_rows) if len(batch) else [batch])

    def _long(self, batch: pl.DataFrame) -> pl.DataFrame:
        shape = self.shape
        keys = [plain(name, self.dtypes[name]).alias(part) for part, name in shape.keys.items()]
        found = [
            batch.select(
                *keys,
                pl.lit(name).alias(shape.of_names),
                self._cell(name).alias(shape.of_cells),
            )
            for name in shape.spread
        ]
        claims = pl.concat(found, how="vertical_relaxed")
        cells = claims[shape.of_cells]
        is_empty = cells.is_null()
        if cells.dtype == pl.String:
            is_empty |= (cells == "").fill_null(value=True)
        return claims.filter(~is_empty)

    def _cell(self, name: str) -> pl.Expr:
        """A column of values, of the type that all of them have, or as text."""
        kinds = {self.dtypes[own] for own in self.shape.spread} - {pl.Null()}
        own = self.dtypes[name]
        is_common = len(kinds) <= 1 or all(kind.is_numeric() for kind in kinds)
        return plain(name, own) if is_common else rendered(pl.col(name), own)
