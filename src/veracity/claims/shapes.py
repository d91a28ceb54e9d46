"""What a table of claims may look like, and what users are told of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from veracity.claims.how import HowToRead, Wide
from veracity.claims.schema import (
    CARRYING,
    JOINED,
    USUAL_NAMES,
    Kind,
    joined_names,
    lacking_parts,
    listed,
    missing_column,
    recognised,
    simple_name,
)
from veracity.errors import MissingColumn
from veracity.printing import in_short

SAMPLE = 2_000
"""So many rows are looked at to see what columns are."""

FEWEST_ROWS = 4
"""With fewer rows than this, agreement is no evidence."""

LIKE_PARTS: Mapping[str, frozenset[str]] = {
    "time": frozenset({
        "time", "timestamp", "ts", "date", "datetime", "date_time", "as_of", "created",
        "created_at", "updated", "updated_at", "last_updated", "update_time", "modified",
        "modified_at", "last_modified", "submitted_at", "submit_time", "submission_time",
        "observed_at", "retrieved_at", "fetched_at", "scraped_at", "crawled_at", "seen_at",
        "last_seen", "loaded_at", "ingested_at", "inserted_at", "extracted_at", "received_at",
        "recorded_at", "event_time", "annotated_at", "labeled_at", "answered_at", "completed_at",
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

NUMBERED = re.compile(r"^(.*?)[\s_.\-#]*(?<!\d)\d{1,2}$")
"""A name with a number at its end; a year is none."""

NOT_STAMPS = frozenset({"time", "date", "datetime", "date_time", "event_time"})
"""Names of times that an attribute may have; the others tell when a row was written."""


class Shape(NamedTuple):
    """Which columns of a table are what."""

    keys: dict[str, str]
    """The columns that play a part in each row."""
    spread: tuple[str, ...] = ()
    """The columns that hold values, if the table is wide."""
    of_names: str = ""
    """The part that their names play: an attribute, a source, an entity or fact, or a sample."""
    of_cells: str = ""
    """The part that their cells play, a value or a claim."""
    is_found_out: bool = False
    """Whether nobody said that it is wide: then that is told."""

    @property
    def is_wide(self) -> bool:
        """Whether there are several claims in a row."""
        return bool(self.spread)

    @property
    def wide(self) -> Wide | None:
        """By what it is wide, as a user would say it."""
        if not self.is_wide:
            return None
        by = {"source": "sources", "attribute": "attributes", "sample": "samples"}
        return by.get(self.of_names, "entities")  # type: ignore[return-value]


Sample = Callable[[], pl.DataFrame]


class Seen(NamedTuple):
    """A table as it is found: what it is called, its columns, and a way to look at some rows."""

    origin: str
    found: Sequence[str]
    wanted: Sequence[str]
    sample: Sample
    inside: Sequence[str] = ()
    """What is within its cells, where these hold lists and objects."""
    place: str | None = None
    """What of it may name the source: the "filename" or the "table"; a frame has none."""
    values: Sequence[str] = ()
    """The columns that hold the values, where several were named; they play no other part."""

    def parts(self, parts: Sequence[str], how: HowToRead) -> dict[str, str]:
        """Which columns play these parts, as far as names tell."""
        given = {part: name for part, name in how.columns.items() if part in parts}
        found = [name for name in self.found if name not in self.values]
        return recognised(found, parts, given=given, likely=how.likely, origin=self.origin)

    def others(self, keys: Mapping[str, str]) -> list[str]:
        """The columns that are none of these, nor named as values, and have a name."""
        used = {*keys.values(), *self.values}
        return [name for name in self.found if name.strip() and name not in used]


def is_stamp(name: str) -> bool:
    """Whether a column tells when its row was written."""
    return column_like(name) == "time" and simple_name(name) not in NOT_STAMPS


def is_unique(rows: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether no two rows have the same in these columns."""
    return bool(rows.select(pl.struct(*names).is_unique().all()).item())


def column_like(name: str) -> str | None:
    """The part that a column may play by its name, a time or a weight, though nobody said so.

    >>> [column_like(name) for name in ("Timestamp", "lastUpdated", "n-votes", "gate")]
    ['time', 'time', 'weight', None]
    """
    simple = simple_name(name)
    return next((part for part, names in LIKE_PARTS.items() if simple in names), None)


def told_shapes(shapes: Iterable[Shape], kind: Kind) -> list[str]:
    """What wide tables were taken for, and how to say otherwise; the same of many is told once."""
    alike = dict[object, Shape]()
    for shape in shapes:
        if shape.is_found_out:
            own = (shape.of_names, tuple(shape.keys.items()))
            columns = dict.fromkeys((*alike.get(own, shape).spread, *shape.spread))
            alike[own] = shape._replace(spread=tuple(columns))
    found = alike.values()
    return [note for one in found for note in (_told(one), *notes_of_numbered(one, kind))]


def _told(shape: Shape) -> str:
    keys = " and ".join(
        f"'{in_short(name)}'" for part, name in shape.keys.items() if part not in CARRYING
    )
    otherwise = {
        "attributes": "if only some of them have values, name these: --columns value=NAME+OTHER",
        "sources": "if they are attributes, say wide='attributes' or --wide attributes",
        "entities": "if they are attributes, say wide='attributes' or --wide attributes, and "
        "--columns entity=NAME",
    }[shape.wide or "attributes"]
    return (
        f"a wide table, with one row per {keys} and one column per {shape.of_names}: "
        f"{listed(shape.spread)}; {otherwise}"
    )


def numbered_alike(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of columns whose names differ in the number at their end only.

    >>> numbered_alike(["answer_1", "answer_2", "in_2019", "in_2020", "run 1", "run 2", "size1"])
    [('answer_1', 'answer_2'), ('run 1', 'run 2')]
    """
    groups = dict[str, list[str]]()
    for name in names:
        if match := NUMBERED.match(name.strip()):
            groups.setdefault(match[1].lower(), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def notes_of_numbered(shape: Shape, kind: Kind) -> Iterator[str]:
    """Tell of attributes whose names are numbered: they may be samples, or values, of one item."""
    is_multiple = kind == "multiple"
    if_so = "all are values of one item" if is_multiple else "they are samples of one answer"
    for group in numbered_alike(shape.spread) if shape.of_names == "attribute" else ():
        others = len(group) < len(shape.spread)
        named = f", with --columns {shlex.quote(f'value={JOINED.join(group)}')}" if others else ""
        yield (
            f"{listed(group)} are taken as attributes, of which each has a truth of its own; if "
            f"{if_so}, say wide='samples' or --wide samples{named}"
        )


def note_unread(table: Seen, shape: Shape, notes: list[str]) -> None:
    """Tell which columns of a wide table hold no values."""
    left = list[str]()
    for name in table.others(shape.keys):
        if name in shape.spread:
            continue
        if is_stamp(name):
            notes.append(like_note(name, "time"))
        else:
            left.append(name)
    if left and shape.of_names == "source":
        notes.append(
            f"not read, since not taken as sources: {listed(left)}; if they are, name all that "
            "are: --columns value=NAME+OTHER"
        )
    elif left:
        notes.append(f"not read: {listed(left)}")


def note_left(table: Seen, how: HowToRead, keys: Mapping[str, str], notes: list[str]) -> None:
    """Tell of columns that were left although the user may want them."""
    left = table.others(keys)
    for name in left:
        part = column_like(name)
        if part is not None:
            notes.append(like_note(name, part))
    others = [name for name in left if column_like(name) is None]
    is_plain = not how.samples and not how.carrying
    if others and is_plain and {"source", "entity"} <= keys.keys():
        notes += _notes_of_keys(table.sample(), keys, others)
    if "value" in how.columns and "attribute" not in keys and others:
        notes.append(
            f"not read: {listed(others)}; if each is an attribute, leave out the value and say "
            "wide='attributes' or --wide attributes"
        )


def _notes_of_keys(
    rows: pl.DataFrame, keys: Mapping[str, str], others: Sequence[str]
) -> Iterator[str]:
    """Tell of a column that tells apart what a source says several times of one item.

    It has to do so in all rows, and have few values: a remark would be different in each row.
    """
    own = [keys[part] for part in ("source", "entity", "attribute") if part in keys]
    if len(rows) < FEWEST_ROWS or is_unique(rows, own):
        return
    for name in others:
        is_few = 1 < rows[name].n_unique() <= len(rows) / 4
        if is_few and is_unique(rows, [*own, name]):
            option = shlex.quote(f"entity={keys['entity']}{JOINED}{name}")
            means = f"if it is a part of the entity, say --columns {option}"
            if simple_name(name) in SAMPLE_NAMES:
                means = "if it numbers samples, say samples=True or --samples"
            yield (
                f"column '{in_short(name)}' is not read, and tells apart what a source says of one "
                f"item; {means}"
            )


def note_like(shape: Shape, notes: list[str]) -> None:
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


def asked_for_keys(table: Seen, how: HowToRead) -> str:
    """That a table can be unpivoted once it is known what a row is about."""
    both = ("source", "fact" if "fact" in table.wanted else "entity")
    of_shape = {"attributes": both, "samples": both, "entities": ("source",)}
    parts = of_shape.get(how.wide or "", table.wanted[1:2])
    parts = tuple(part for part in parts if part in table.wanted)
    keys = table.parts(parts, how)
    lacking = [part for part in parts if part not in keys]
    if not lacking:
        return f"{table.origin}: no column is left that could hold values; check --columns"
    return missing_column(table.found, keys, lacking, table.origin)


def with_whole_fact(
    found: Sequence[str], wanted: Sequence[str], how: HowToRead, origin: str, notes: list[str]
) -> HowToRead:
    """With a fact that entity and attribute name together, as they name an item elsewhere.

    Else facts of an entity that differ in their attribute would be taken for one.
    """
    if "fact" not in wanted or "fact" in how.said or how.wide is not None:
        return how
    told = recognised(found, wanted, given=how.columns, likely=how.likely, origin=origin)
    fact = told.get("fact", "")
    left = [name for name in found if name not in told.values()]
    attribute = recognised(left, ["attribute"], given={}, origin=origin).get("attribute")
    if attribute is None or simple_name(fact) not in ("entity", *USUAL_NAMES["entity"]):
        return how
    notes.append(f"'{in_short(fact)}' and '{in_short(attribute)}' together name the fact")
    return replace(how, likely={**how.likely, "fact": joined_names([fact, attribute])})


def unclear(table: Seen, long: Mapping[str, str], lacking: Sequence[str]) -> MissingColumn:
    """What is missing, what the columns look like, and what can be said of them."""
    spare = table.others(long)
    if len(spare) < 2 and not table.inside:
        missing = missing_column(table.found, long, lacking, table.origin)
        return MissingColumn("; ".join([missing, *_by_place(table, long)]))
    rows = table.sample().head(1)
    cells = rows.row(0, named=True) if len(rows) else dict.fromkeys(table.found, "")
    shown = [f"{in_short(name, 30)}={in_short(cells[name], 20)}" for name in table.found[:12]]
    entity = next((part for part in table.wanted if part in ("entity", "fact")), "entity")
    source, about = _option("source", long), _option(entity, long)
    names_source = "source" in table.wanted
    choices = [f"if a row is one claim, say --columns {','.join(f'{p}=NAME' for p in lacking)}"]
    if {"fact", "claim"} <= set(map(simple_name, table.found)):
        choices.insert(0, "if rows call facts true or false, say kind='binary' or --kind binary")
    if "value" in table.wanted:
        keys = f"{source},{about}" if names_source else about
        choices.append(
            f"if each further column is an attribute, --wide attributes --columns {keys}"
        )
        if numbered_alike(spare):
            choices.append(f"if each is a sample of one answer, --wide samples --columns {keys}")
    if names_source and "source" not in long:  # else the source's column would be taken for one
        choices.append(f"if each is a source, --wide sources --columns {about}")
    if names_source and entity not in long:
        choices.append(f"if each is {_a(entity)}, --wide entities --columns {source}")
    choices += _by_place(table, long)
    if entity in lacking:
        choices.append(f"if two columns name {_a(entity)}, {entity}=ONE+OTHER")
    wide = "attributes" if "value" in table.wanted else "sources"
    choices.append(f"in Python: columns={{'{lacking[0]}': 'NAME'}}, wide='{wide}', and so on")
    if table.inside:
        within = "cells hold lists and objects, and what is in them can be named"
        choices.append(f"{within}: {listed(table.inside)}{_inner_option(table, lacking)}")
    return MissingColumn(
        f"{table.origin}: no column {listed(lacking)} among {listed(table.found)} (the first row: "
        f"{', '.join(shown)})",
        choices,
    )


def _inner_option(table: Seen, lacking: Sequence[str]) -> str:
    """How to name what is within cells, where all that lacks has a usual name there."""
    whole = {name.rpartition(".")[2]: name for name in reversed(table.inside)}
    found = recognised(list(whole), lacking, given={}, origin=table.origin)
    if lacking_parts(found, lacking):
        return ""
    option = ",".join(f"{part}={whole[name]}" for part, name in found.items())
    return f", as in --columns {shlex.quote(option)}"


def _by_place(table: Seen, named: Mapping[str, str]) -> list[str]:
    """How to say that each file or table is a source, where that may be."""
    if table.place is None or "source" not in table.wanted or "source" in named:
        return []
    what = {"filename": "file"}.get(table.place, table.place)
    return [f"if each {what} is a source, --source-from {table.place}"]


def _option(part: str, named: Mapping[str, str]) -> str:
    return shlex.quote(f"{part}={named[part]}") if part in named else f"{part}=NAME"
