"""Recognise the columns of a table: long or wide, and the column of each role.

A table is long if a row is a claim. It is wide *by attributes* if a row has all claims of a source
on an entity, *by sources* if a row has all claims on an item, and *by entities* if a row has all
claims of a source. The names of columns show the first; columns that agree far more than by chance
show the second. In unclear cases the user is asked. Only the user can name a table that is wide by
entities, or *by samples*, if a row has the answers of a source that was asked several times;
numbered columns are noted.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import polars as pl

from veracity.errors import BadValue, MissingColumn, ParameterError
from veracity.io.frames import OF_OTHERS
from veracity.io.reader import Reader, quoted_list
from veracity.naming import rendered, types_read_again
from veracity.printing import in_short
from veracity.reading.options import ReadOptions, Wide
from veracity.reading.plan import (
    ASKED,
    ReadPlan,
    as_role,
    asked_columns,
    inner_names,
    is_list,
    open_nested,
)
from veracity.reading.roles import (
    BETWEEN,
    JOINED,
    KEYS,
    NAMES_OF_LISTS,
    USUAL_NAMES,
    Kind,
    column_like,
    is_stamp,
    joined_names,
    lacking_parts,
    like_note,
    missing_column,
    parts_of_name,
    recognised,
    simple_name,
    with_article,
)

SAMPLE = 2_000
"""Number of rows sampled to recognise columns."""

FEWEST_ROWS = 4
"""Minimum number of rows from which agreement is evidence."""

AGREEING = 0.4
"""Smallest agreement beyond chance (Cohen's kappa) of columns that are sources."""

MOST_COMPARED = 40
"""Number of columns that are compared with each other, to see whether they are sources."""

MOST_REPEATED = 0.5
"""Largest share of rows that repeat a source and entity, if columns are attributes."""

STATUS, REJECTED = "AssignmentStatus", "rejected"
"""Column and value with which Mechanical Turk marks rejected answers."""

CANCELLED, GROUND_TRUTH = "was_cancelled", "ground_truth"
"""Columns with which Label Studio marks cancelled annotations and known truths."""

REMARKS = frozenset({
    "comment", "comments", "feedback", "remark", "remarks", "suggestion", "suggestions",
})  # fmt: skip
"""Names of answers that are no labels."""

SETTINGS = frozenset({
    "prompt", "prompt_id", "prompt_name", "prompt_version", "prompt_template", "system_prompt",
    "template", "temperature", "config", "configuration", "setting", "settings", "variant",
    "version", "model_version",
})  # fmt: skip
"""Names of columns that belong to a source, such as a model, not to the item."""

ANSWER = "Answer."
"""Prefix of the columns in which Mechanical Turk has the answers of workers."""

WORDS_OF_A_SENTENCE, MOSTLY_DIFFERENT = 4, 0.8
"""Number of words, and share of different texts, from which answers are remarks."""

TRUTH_NAMES = frozenset({"truth", "true_value", "gold", "gold_label", "ground_truth", "correct"})


SAMPLE_NAMES = frozenset({
    "sample", "sample_id", "run", "run_id", "trial", "attempt", "repetition", "repeat", "draw",
    "seed", "try",
})  # fmt: skip
"""Names of columns that number the answers of a source that was asked several times."""

NUMBERED = re.compile(r"^(.*?)[\s_.\-#]*(?<!\d)\d{1,2}$")
"""Name with a number at its end that is not a year."""


class Layout(NamedTuple):
    """Meaning of the columns of a table."""

    keys: dict[str, str]
    """The columns that play a role in each row; several as one name."""
    value_columns: tuple[str, ...] = ()
    """The columns that hold values, if the table is wide."""
    names_are: str = ""
    """Role of the names of these columns: attribute, source, entity, fact or sample."""
    cells_are: str = "value"
    """Role of the cells of these columns: value or claim."""
    is_found: bool = False
    """True if the format was recognised, not named by the user; then a note says so."""

    @property
    def wide(self) -> Wide | None:
        """Return the format of the wide table, in the user's terms."""
        if not self.value_columns:
            return None
        by = {"source": "sources", "attribute": "attributes", "sample": "samples"}
        return by.get(self.names_are, "entities")  # type: ignore[return-value]


@dataclass
class Candidate:
    """Table whose layout is not known yet.

    Attributes
    ----------
    found
        The names of its columns, with those that were said to be inside others or to belong
        together, and without objects.
    schema
        The types of all columns; empty where names are enough, and types would cost a query.
    inside
        The names of values inside its cells, where these hold lists and objects.
    pieces
        The columns that make up others together.
    values
        The columns that hold the values, where several were named; they play no other role.
    asked
        The columns of known truths that say how questions were drawn; they play no other role.
    only, without
        Columns with a text that rows must have, or must not have.
    """

    reader: Reader
    wanted: Sequence[str]
    found: Sequence[str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    schema: Mapping[str, pl.DataType] = field(default_factory=dict)
    inside: Sequence[str] = ()
    nested: tuple[str, ...] = ()
    pieces: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Sequence[str] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    only: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()

    @property
    def origin(self) -> str:
        """Return the name of the table for messages."""
        return self.reader.origin

    def parts(self, parts: Sequence[str], options: ReadOptions) -> dict[str, str]:
        """Return the columns for these roles, if their names show the roles."""
        given = {part: name for part, name in options.columns.items() if part in parts}
        found = [name for name in self.found if name not in self.values]
        return recognised(found, parts, given=given, likely=options.likely, origin=self.origin)

    def others(self, keys: Mapping[str, str]) -> list[str]:
        """Return the named columns that are not in these columns and not named as values."""
        used = {*keys.values(), *self.values}
        return [name for name in self.found if name.strip() and name not in used]

    @cached_property
    def sample(self) -> pl.DataFrame:
        """Return the first rows, with lists as text, without columns that are nested deeper."""
        rows = self.reader.head(SAMPLE).rename(dict(self.aliases), strict=False)
        rows = open_nested(rows, self.nested)
        schema = rows.schema  # each look at it takes as long as there are columns
        return rows.select(self._shown(name, schema).alias(name) for name in self.found)

    def _shown(self, name: str, schema: pl.Schema) -> pl.Expr:
        if name in self.pieces:
            return as_role(schema, self.pieces[name])
        if is_list(schema[name]):
            return pl.col(name).cast(pl.List(pl.String)).list.join(BETWEEN)
        return pl.lit(None) if schema[name].is_nested() else pl.col(name)


def sniff(
    reader: Reader,
    wanted: Sequence[str],
    options: ReadOptions,
    notes: list[str],
    aliases: Mapping[str, str],
    wide: Wide | None = None,
) -> ReadPlan:
    """Return the plan of a table; `wide` is that of an earlier table, if this one is not plain."""
    table, options = _candidate(reader, wanted, options, notes, aliases)
    try:
        layout = layout_of(table, options, notes)
    except MissingColumn:
        if wide is None:
            raise
        layout = layout_of(table, replace(options, wide=wide), notes)
    columns = {role: tuple(table.pieces.get(name, (name,))) for role, name in layout.keys.items()}
    asked = {} if layout.value_columns else table.asked
    used = dict.fromkeys(
        [
            *itertools.chain(*columns.values()),
            *layout.value_columns,
            *asked.values(),
            *(name for name, _ in (*table.only, *table.without)),
        ]
    )
    own = {aliases.get(name, name): name for name in reader.names}
    needed = tuple(
        dict.fromkeys(
            own[name]
            if name in own and name not in table.nested
            else next(own[whole] for whole in own if name.startswith(f"{whole}."))
            for name in used
        )
    )
    types = table.schema or _renamed(reader.types(needed), aliases)
    cells = [(layout.cells_are, name) for name in layout.value_columns]
    for role, name in [*((role, n) for role, names in columns.items() for n in names), *cells]:
        if role != "value" or not is_list(types[name]):
            require_plain(table.origin, role, name, types[name])
    for role, name in layout.keys.items():
        if name not in (role, options.columns.get(role), options.likely.get(role)):
            notes.append(f"column '{name}' is taken as the {role}")
    value = layout.keys.get("value")
    if layout.wide is None and value is not None and is_list(types.get(value, pl.Null())):
        notes.append(f"column '{in_short(value)}' holds lists: each value in one is a claim")
    joined = [piece for names in table.pieces.values() for piece in names]
    by_attribute = layout.value_columns if layout.names_are == "attribute" else ()
    names_are = None if layout.names_are in ("", "sample") else layout.names_are
    in_order = [role for role in wanted if role in (*columns, names_are, layout.cells_are)]
    return ReadPlan(
        columns=columns,
        needed=needed,
        wide=layout.wide,
        value_columns=layout.value_columns,
        cells=layout.cells_are,
        names_are=names_are,
        nested=table.nested,
        aliases={name: own for name, own in aliases.items() if name in needed},
        asked=asked,
        only=table.only,
        without=table.without,
        is_found=layout.is_found,
        types_before=types_read_again({name: types[name] for name in (*joined, *by_attribute)}),
        order=(*in_order, *([ASKED] if asked else [])),
    )


def _candidate(
    reader: Reader,
    wanted: Sequence[str],
    options: ReadOptions,
    notes: list[str],
    aliases: Mapping[str, str],
) -> tuple[Candidate, ReadOptions]:
    """Return the columns that may play a role, and the options that follow from them."""
    found = [aliases.get(name, name) for name in reader.names]
    schema: Mapping[str, pl.DataType] = {}
    inside: Sequence[str] = ()
    nested: tuple[str, ...] = ()
    only: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    is_long = options.wide is None and not any(
        parts_of_name(n, found) for n in options.said.values()
    )
    if (
        reader.place != "table"  # whose types cost a query
        or not is_long
        or lacking_parts(options.match(found, wanted, reader.origin), wanted)
    ):
        schema = _renamed(reader.types(reader.names), aliases)
        named = [name for role, name in options.said.items() if role in wanted]
        said = [piece for name in named for piece in (name, *name.split(JOINED))]
        inside = inner_names(schema)
        nested = tuple(name for name in said if name not in schema and name in inside)
        only, without = _marked(inside, nested, wanted, notes)
        nested += tuple(name for name, _ in (*only, *without))
        try:
            opened = open_nested(pl.Schema(schema).to_frame(), nested).schema
        except ParameterError as error:
            raise ParameterError(f"{reader.origin}: {error}") from None
        objects = [
            name for name, dtype in opened.items() if dtype.is_nested() and not is_list(dtype)
        ]
        likely = recognised(objects, wanted, likely=options.likely)
        found = [n for n in opened if n not in objects or n in (*said, *likely.values())]
        schema = opened
    options = _with_likely(reader, found, schema, wanted, options, notes)
    pieces = dict[str, Sequence[str]]()
    for name in dict.fromkeys(name for role, name in options.said.items() if role != "value"):
        if own := parts_of_name(name, found):
            pieces[name] = own
            found = [name, *(other for other in found if other not in own)]
    asked = asked_columns(found) if "source" not in wanted else {}
    if "source" in wanted and STATUS in found and any(name.startswith(ANSWER) for name in found):
        without = ((STATUS, REJECTED),)
        notes.append(
            f"rows whose {STATUS} is Rejected are left out; to read them, remove this column"
        )
    used = (*asked.values(), *(name for name, _ in (*only, *without)))
    found = [name for name in found if name not in used]
    table = Candidate(
        reader, wanted, found, aliases, schema, inside, nested, pieces,
        asked=asked, only=only, without=without,
    )  # fmt: skip
    return table, options


def _marked(
    inside: Sequence[str], nested: Sequence[str], wanted: Sequence[str], notes: list[str]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the marks of annotations in Label Studio: those to read alone, and to leave out."""
    named = {
        mark: f"{name.rpartition('.')[0]}.{mark}"
        for mark in (CANCELLED, GROUND_TRUTH)
        for name in inside
        if name.endswith(f".{mark}") and any(n.startswith(name.removesuffix(mark)) for n in nested)
    }
    if CANCELLED not in named:
        return (), ()
    without = ((named[CANCELLED], "true"),)
    truth = named.get(GROUND_TRUTH)
    if "source" not in wanted:
        return (((truth, "true"),) if truth else ()), without
    notes.append(f"annotations with {CANCELLED} are left out")
    if truth is None:
        return (), without
    notes.append(
        f"annotations with {GROUND_TRUTH} are no claims and are left out; to use them as known "
        "truths, give the file as known= or --known, too"
    )
    return (), (*without, (truth, "true"))


def _renamed(schema: pl.Schema, aliases: Mapping[str, str]) -> dict[str, pl.DataType]:
    return {aliases.get(name, name): dtype for name, dtype in schema.items()}


def _with_likely(
    reader: Reader,
    found: Sequence[str],
    schema: Mapping[str, pl.DataType],
    wanted: Sequence[str],
    options: ReadOptions,
    notes: list[str],
) -> ReadOptions:
    """Add likely columns: the levels of an index, lists as values, and facts of two columns."""
    likely = dict(options.likely)
    given = {role: n for role, n in options.columns.items() if n in found and role in wanted}
    chosen = {**options.columns, **recognised(found, wanted, given=given, likely=likely)}
    left = [name for name in found if name not in chosen.values()]
    levels = [name for name in reader.levels if name in left]
    if levels and "entity" in wanted and "entity" not in chosen:
        notes.append(f"the index names the entity: {quoted_list(levels)}")
        likely["entity"] = joined_names(levels)
    lists = [
        name
        for name in left
        if is_list(schema.get(name, pl.Null())) and simple_name(name) in NAMES_OF_LISTS
    ]
    if "value" in wanted and "value" not in chosen and options.wide is None and len(lists) == 1:
        likely["value"] = lists[0]
    fact, attribute = chosen.get("fact", ""), recognised(left, ["attribute"]).get("attribute")
    is_entity = simple_name(fact) in ("entity", *USUAL_NAMES["entity"])
    if is_entity and attribute is not None and "fact" not in options.said and options.wide is None:
        # Else facts of an entity with different attributes would count as one fact.
        notes.append(f"'{in_short(fact)}' and '{in_short(attribute)}' together name the fact")
        likely["fact"] = joined_names([fact, attribute])
    return replace(options, likely=likely)


def require_plain(origin: str, role: str, name: str, dtype: pl.DataType) -> None:
    """Refuse columns that hold no plain values."""
    if dtype.is_nested() or dtype == pl.Object or isinstance(dtype, OF_OTHERS):
        mend = "turn it into text or numbers first"
        inner = inner_names({name: dtype})
        if inner:
            mend = f"name what is in it: {quoted_list(inner)}"
        elif isinstance(dtype, pl.List | pl.Array):
            mend = f"give each value a row of its own first, e.g. frame.explode('{in_short(name)}')"
        raise BadValue(
            f"{origin}: column '{in_short(name)}' ({role}) holds {dtype}, not plain values; {mend}"
        )


class Spelling:
    """Spelling of columns in the first of several tables that has them; it applies to all tables.

    Offices write ``SKU`` in one list and ``sku`` in the next: without this, no two sources would
    speak of the same.
    """

    def __init__(self, options: ReadOptions) -> None:
        said = options.said.values()
        self._said = {piece for name in said for piece in (name, *name.split(JOINED))}
        self._names: dict[str, str] = {}
        self._called: dict[str, str] = {}

    @property
    def notes(self) -> list[str]:
        """A note on the columns that were called otherwise."""
        if not self._called:
            return []
        pairs = [f"'{in_short(name)}' as '{in_short(own)}'" for name, own in self._called.items()]
        more = f" and {len(pairs) - 6} more" if len(pairs) > 6 else ""
        return [f"columns that files spell differently are one: {', '.join(pairs[:6])}{more}"]

    def aliases(self, found: Sequence[str]) -> dict[str, str]:
        """Return the columns that differ only in spelling from earlier ones, with that spelling."""
        simple = [simple_name(name).replace("_", "") for name in found]  # e-mail is email
        here, times, called = set(found), Counter(simple), {}
        for name, as_ in zip(found, simple, strict=True):
            own = self._names.setdefault(as_, name)
            if own != name and own not in here and name not in self._said and times[as_] == 1:
                called[name] = own
        self._called |= called
        return called


# --- long or wide ---------------------------------------------------------------------------------


def layout_of(table: Candidate, options: ReadOptions, notes: list[str]) -> Layout:
    """Find the roles of the columns of a table; add notes for the user."""
    several = _said_columns(table, options)
    if several:
        others = {part: name for part, name in options.columns.items() if part != "value"}
        options, table = replace(options, columns=others), replace(table, values=several)
        layout = _said(options.wide or "attributes", table, options)._replace(value_columns=several)
        note_unread(table, layout, notes)
        notes += notes_of_numbered(layout, options.kind) if options.wide is None else ()
        return layout
    long = options.match(table.found, table.wanted, table.origin)
    lacking = lacking_parts(long, table.wanted)
    if options.wide is not None:
        layout = _said(options.wide, table, options)
        note_unread(table, layout, notes)
        note_like(layout, notes)
        return layout
    if not lacking:
        note_left(table, options, long, notes)
        return Layout(long)
    spare = table.others(long)
    is_truth = "source" not in table.wanted
    if is_truth and lacking == ["entity"] and len(spare) == 1:
        return Layout({"entity": spare[0], **long})
    found = _recognised(table, options)
    if found is None:
        raise unclear(table, options, long, lacking)
    note_unread(table, found, notes)
    note_like(found, notes)
    return found._replace(is_found=True)


def _said_columns(table: Candidate, options: ReadOptions) -> tuple[str, ...]:
    """Return the columns that were named together as the value."""
    named = options.said.get("value", "")
    pieces = parts_of_name(named, table.found) if "value" in table.wanted else []
    several = tuple(dict.fromkeys(pieces))
    if several and options.wide in (None, "attributes") and "attribute" in options.columns:
        raise ParameterError(
            f"columns: the value is in several columns, {quoted_list(several)}, so each is an "
            "attribute; leave out the attribute, or use --wide sources if each is a source"
        )
    for part, name in options.columns.items():
        if part != "value" and name in several:
            raise ParameterError(f"columns: {name!r} cannot be both the {part} and the value")
    return several


def _recognised(table: Candidate, options: ReadOptions) -> Layout | None:
    """Return the layout of a wide table, if it is clear."""
    if options.columns.keys() & {"value", "claim"}:
        return None
    if "source" not in table.wanted and options.likely.get("attribute") in table.found:
        return None  # the attributes of known truths are in rows, as those of the claims
    if "source" not in table.wanted or "source" in table.parts(("source",), options):
        layout = _layout("attributes", table, options) if "value" in table.wanted else None
        return layout if layout and _are_attributes(table, layout, options) else None
    layout = _layout("sources", table, options)
    return layout if layout and _are_sources(table.sample, layout) else None


def _said(wide: Wide, table: Candidate, options: ReadOptions) -> Layout:
    """Return the layout of a table whose format the user has named."""
    layout = _layout(wide, table, options)
    if layout is not None:
        return layout
    keys = _keys(wide, table, options)
    required = ("source", "entity", "fact") if wide != "sources" else table.wanted[1:2]
    parts = [part for part in required if part in _parts(wide, table)]
    lacking = [part for part in parts if part not in keys]
    if not lacking:
        raise MissingColumn(
            f"{table.origin}: no column is left that could hold values; check --columns"
        )
    raise MissingColumn(
        missing_column(table.found, keys, lacking, table.origin, options.columns_option)
    )


def _parts(wide: Wide, table: Candidate) -> list[str]:
    """Return the roles that columns of a wide table play in each row."""
    by_names = {"attributes": ("attribute",), "sources": ("source",), "entities": KEYS}
    others = ("value", "claim", *by_names.get(wide, ()))
    return [part for part in table.wanted if part not in others]


def _keys(wide: Wide, table: Candidate, options: ReadOptions) -> dict[str, str]:
    """Return the columns of these roles; the first that is left may be the entity."""
    parts = _parts(wide, table)
    keys = table.parts(parts, options)
    entity = next((part for part in parts if part in ("entity", "fact")), None)
    if entity is not None and entity not in keys:
        found = _entity_among(table.sample, table.others(keys), keys)
        keys |= {} if found is None else {entity: found}
    return {part: keys[part] for part in parts if part in keys}


def _layout(wide: Wide, table: Candidate, options: ReadOptions) -> Layout | None:
    """Return the layout of a wide table; None where its keys or values are not known."""
    cells = "claim" if "claim" in table.wanted else "value"
    if wide == "attributes" and cells == "claim":
        raise ParameterError("wide='attributes' is not for binary claims, which have none")
    keys = _keys(wide, table, options)
    needs_source = wide in ("sources", "entities") and "source" not in table.wanted
    if needs_source or lacking_parts(keys, _parts(wide, table)):
        return None
    columns = _spread(table, keys)
    if wide == "samples":
        columns = table.values or _numbered(table, keys) or columns
    if wide == "sources":
        columns = [name for name in columns if simple_name(name) not in TRUTH_NAMES]
        descriptions = _descriptions(table.sample, columns)
        columns = [name for name in columns if name not in descriptions]
    entity = "fact" if "fact" in table.wanted else "entity"
    names_are = {"attributes": "attribute", "sources": "source", "samples": "sample"}
    return Layout(keys, tuple(columns), names_are.get(wide, entity), cells) if columns else None


def _spread(table: Candidate, keys: Mapping[str, str]) -> Sequence[str]:
    """Return the columns that hold values: all others, but for times at which rows were written.

    Mechanical Turk marks the columns that are answers: then only these.
    """
    others = table.others(keys)
    answers = [name for name in others if name.startswith(ANSWER)]
    answers = [name for name in answers if not _is_remark(table, name)] or answers
    return table.values or answers or [name for name in others if not is_stamp(name)]


def _is_remark(table: Candidate, name: str) -> bool:
    """Return True for an answer in free text: by its name, or if most texts are sentences."""
    if simple_name(name.removeprefix(ANSWER)) in REMARKS:
        return True
    texts = table.sample[name]
    if texts.dtype != pl.String:
        return False
    texts = texts.filter(texts.str.strip_chars() != "")
    n_sentences = int((texts.str.count_matches(r"\S+") >= WORDS_OF_A_SENTENCE).sum())
    are_sentences = len(texts) >= FEWEST_ROWS and n_sentences >= len(texts) / 2
    return are_sentences and texts.n_unique() >= MOSTLY_DIFFERENT * len(texts)


def _entity_among(rows: pl.DataFrame, names: Sequence[str], keys: Mapping[str, str]) -> str | None:
    """Return the first column as the entity if no source has the same value in it twice.

    That is evidence only if there are several rows, and sources have several of them.
    """
    others = [name for part, name in keys.items() if part in ("source", "attribute")]
    if not names or len(rows) < 2 or (others and is_unique(rows, others)):
        return None
    first = names[0]
    is_key = is_unique(rows, [*others, first])
    has_all = rows[first].null_count() == 0
    return first if is_key and has_all else None


def _are_attributes(table: Candidate, layout: Layout, options: ReadOptions) -> bool:
    """Return True if columns are plainly attributes: several, of entities that sources share."""
    bare = {re.sub(r" \(\d+\)$", "", name).strip().lower() for name in table.found}
    if bare & {"attribute", "value", *USUAL_NAMES["value"]}:  # of two columns, one has the values
        return False
    plain_ones = [name for name in layout.value_columns if column_like(name) is None]
    has_source = "source" in layout.keys
    if layout.value_columns[0].startswith(ANSWER):
        return has_source
    if len(plain_ones) < (2 if options.source_from is None else 1):
        return False
    rows = table.sample
    if not has_source or rows[layout.keys["source"]].n_unique() < 2 or len(rows) < FEWEST_ROWS:
        return True
    if _are_repeated(rows, table, layout, options):
        return False
    return rows[layout.keys["entity"]].n_unique() < len(rows)


def _are_repeated(
    rows: pl.DataFrame, table: Candidate, layout: Layout, options: ReadOptions
) -> bool:
    """Return True if sources mostly have several rows on an entity, and nothing shows why.

    Then a column may number the rows, or belong to a claim, as a run or a confidence does.
    """
    if options.samples or options.carrying or any(map(is_stamp, table.found)):
        return False
    keys = pl.struct(layout.keys["source"], layout.keys["entity"])
    return bool(rows.select(keys.is_duplicated().mean() > MOST_REPEATED).item())


def _numbered(table: Candidate, keys: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that are numbered, if there are any: the others are no samples."""
    groups = numbered_alike(table.others(keys))
    if len(groups) > 1:
        raise MissingColumn(
            f"{table.origin}: not only {quoted_list(groups[0])} are numbered, but also "
            f"{quoted_list(groups[1])}; name those that hold the samples: --columns "
            f"value={JOINED.join(groups[0])}"
        )
    return groups[0] if groups else ()


def _descriptions(rows: pl.DataFrame, names: Sequence[str]) -> set[str]:
    """Return columns of text that are not sources, since they share no values with other columns.

    They are the wording of a question, which differs in each row, a category or a remark, or the
    same in all rows. Capitals make no difference. There are none where hardly any columns agree.
    """
    if len(rows) < FEWEST_ROWS or len(names) < 3:
        return set()
    schema = rows.schema
    texts = {
        name: rows.select(rendered(pl.col(name), schema[name]).str.to_lowercase()).to_series()
        for name in names
    }
    words = {name: set(own.drop_nulls()) - {""} for name, own in texts.items()}
    n_columns_of = Counter(itertools.chain(*words.values()))
    found = {
        name
        for name, own in texts.items()
        if schema[name] == pl.String
        and all(n_columns_of[word] == 1 for word in words[name])
        and (len(words[name]) in (1, len(rows)) or not own.str.contains(r"\d").any())
    }
    return found if len(found) <= len(names) / 2 else set()


def _are_sources(rows: pl.DataFrame, layout: Layout) -> bool:
    """Return True if most columns agree with two others each far more often than by chance.

    It has to be two others: attributes come in pairs that agree, such as planned and actual times.
    """
    schema = rows.schema
    texts = rows.select(
        rendered(pl.col(name), schema[name]) for name in layout.value_columns[:MOST_COMPARED]
    )
    agreements: dict[str, list[float]] = {name: [] for name in texts.columns}
    for one, other in itertools.combinations(texts.columns, 2):
        agreement = _kappa(texts[one], texts[other])
        agreements[one].append(agreement)
        agreements[other].append(agreement)
    second = [sorted(found)[-2] if len(found) > 1 else 0.0 for found in agreements.values()]
    return sum(agreement >= AGREEING for agreement in second) > len(second) / 2


def _kappa(one: pl.Series, other: pl.Series) -> float:
    """Return how far two columns agree beyond chance: 1 is always, 0 chance (Cohen's kappa)."""
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


def is_unique(rows: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return True if the columns identify each row."""
    return bool(rows.select(pl.struct(*names).is_unique().all()).item())


def describe_plans(plans: Iterable[ReadPlan], kind: Kind) -> list[str]:
    """Return notes on how wide tables were read; similar tables get a single note."""
    alike = dict[object, ReadPlan]()
    for plan in plans:
        if plan.is_found:
            own = (plan.names_are, tuple(plan.columns.items()))
            columns = dict.fromkeys((*alike.get(own, plan).value_columns, *plan.value_columns))
            alike[own] = replace(plan, value_columns=tuple(columns))
    notes = list[str]()
    for plan in alike.values():
        notes += [plan.describe(), *notes_of_numbered(plan, kind)]
    return notes


def numbered_alike(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return groups of columns whose names differ in the number at their end only.

    >>> numbered_alike(["answer_1", "answer_2", "in_2019", "in_2020", "run 1", "run 2", "size1"])
    [('answer_1', 'answer_2'), ('run 1', 'run 2')]
    """
    groups = dict[str, list[str]]()
    for name in names:
        if match := NUMBERED.match(name.strip()):
            groups.setdefault(match[1].lower(), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def notes_of_numbered(layout: Layout | ReadPlan, kind: Kind) -> Iterator[str]:
    """Note attributes whose names are numbered: they may be samples, or values, of one item."""
    is_multiple = kind == "multiple"
    if_so = "all are values of one item" if is_multiple else "they are samples of one answer"
    for group in numbered_alike(layout.value_columns) if layout.names_are == "attribute" else ():
        others = len(group) < len(layout.value_columns)
        named = f", with --columns {shlex.quote(f'value={JOINED.join(group)}')}" if others else ""
        yield (
            f"{quoted_list(group)} are read as attributes, each with its own truth; "
            f"if {if_so}, use wide='samples' or --wide samples{named}"
        )


def note_unread(table: Candidate, layout: Layout, notes: list[str]) -> None:
    """Note which columns of a wide table are not read."""
    left = list[str]()
    for name in table.others(layout.keys):
        if name in layout.value_columns:
            continue
        if is_stamp(name) and not _is_of_item(table, name, layout.keys):
            notes.append(like_note(name, "time"))
        else:
            left.append(name)
    if left and layout.names_are == "source":
        notes.append(
            f"not read, as they do not look like sources: {quoted_list(left)}; if they are "
            "sources, name them all: --columns value=NAME+OTHER"
        )
    elif left:
        remarks = [name for name in left if name.startswith(ANSWER)]
        left = [name for name in left if name not in remarks]
        notes += [f"not read: {quoted_list(left)}"] if left else []
        if remarks and not table.values:
            option = shlex.quote(f"value={JOINED.join((*layout.value_columns, *remarks))}")
            notes.append(
                f"not read, as they are free text: {quoted_list(remarks)}; to judge them as "
                f"labels, use --columns {option}"
            )
        elif remarks:
            notes.append(f"not read: {quoted_list(remarks)}")


def note_left(
    table: Candidate, options: ReadOptions, keys: Mapping[str, str], notes: list[str]
) -> None:
    """Note columns that are not read although the user may want them."""
    left = table.others(keys)
    for name in left:
        part = column_like(name)
        if part is not None and not (part == "time" and _is_of_item(table, name, keys)):
            notes.append(like_note(name, part))
    others = [name for name in left if column_like(name) is None]
    is_plain = not options.samples and not options.carrying
    if others and is_plain and table.schema and {"source", "entity"} <= keys.keys():
        notes += _notes_of_keys(table.sample, keys, others)
    if "value" in options.columns and "attribute" not in keys and others:
        notes.append(
            f"not read: {quoted_list(others)}; if each is an attribute, leave out the value and "
            "use wide='attributes' or --wide attributes"
        )


def _is_of_item(table: Candidate, name: str, keys: Mapping[str, str]) -> bool:
    """Return True if a time belongs to the item: all claims on an item have the same time."""
    own = [keys[part] for part in ("entity", "fact", "attribute") if part in keys]
    rows = table.sample
    if not own or name not in rows.columns:
        return False
    items = rows.group_by(own).agg(rows=pl.len(), times=pl.col(name).n_unique())
    shared = items.filter(pl.col("rows") > 1)
    is_same = bool(len(shared) and (items["times"] == 1).all())
    return is_same and rows[name].n_unique() > 1


def _notes_of_keys(
    rows: pl.DataFrame, keys: Mapping[str, str], others: Sequence[str]
) -> Iterator[str]:
    """Note a column that distinguishes several claims of one source on one item.

    It has to do so in all rows, and have few values: a remark would be different in each row.
    """
    own = [keys[part] for part in ("source", "entity", "attribute") if part in keys]
    if len(rows) < FEWEST_ROWS or is_unique(rows, own):
        return
    for name in others:
        is_few = 1 < rows[name].n_unique() <= len(rows) / 4
        if is_few and is_unique(rows, [*own, name]):
            option = shlex.quote(f"entity={keys['entity']}{JOINED}{name}")
            means = f"if it is a part of the entity, use --columns {option}"
            if simple_name(name) in SETTINGS:
                option = shlex.quote(f"source={keys['source']}{JOINED}{name}")
                means = f"if it is a part of the source, use --columns {option}"
            if simple_name(name) in SAMPLE_NAMES:
                means = "if it numbers samples, use samples=True or --samples"
            yield (
                f"column '{in_short(name)}' is not read, but distinguishes several claims of a "
                f"source on one item; {means}"
            )


def note_like(layout: Layout, notes: list[str]) -> None:
    """Note columns of a wide table that may be a time or a weight."""
    for name in layout.value_columns:
        part = column_like(name)
        if part is not None:
            notes.append(like_note(name, part, f"is taken as {with_article(layout.names_are)}"))


def unclear(
    table: Candidate, options: ReadOptions, long: Mapping[str, str], lacking: Sequence[str]
) -> MissingColumn:
    """Return an error with the missing roles, the first row, and the options that help."""
    spare, parameter, place = table.others(long), options.columns_option, table.reader.place
    names_source = "source" in table.wanted
    by_place = []
    if place is not None and names_source and "source" not in long:
        what = "file" if place == "filename" else place
        by_place = [f"if each {what} is a source, --source-from {place}"]
    if len(spare) < 2 and not table.inside:
        missing = missing_column(table.found, long, lacking, table.origin, parameter)
        return MissingColumn("; ".join([missing, *by_place]))
    rows = table.sample.head(1)
    cells = rows.row(0, named=True) if len(rows) else dict.fromkeys(table.found, "")
    shown = [f"{in_short(name, 30)}={in_short(cells[name], 20)}" for name in table.found[:12]]
    told = (
        f"{table.origin}: no column {quoted_list(lacking)} among {quoted_list(table.found)} "
        f"(the first row: {', '.join(shown)})"
    )
    named = ",".join(f"{part}=NAME" for part in lacking)
    if not names_source:  # known truths
        option = parameter.replace("_", "-")
        return MissingColumn(
            told, [f"use --{option} {named}", f"in Python: {parameter}={{'{lacking[0]}': 'NAME'}}"]
        )
    entity = next((part for part in table.wanted if part in ("entity", "fact")), "entity")
    source, about = (
        shlex.quote(f"{part}={long[part]}") if part in long else f"{part}=NAME"
        for part in ("source", entity)
    )
    choices = [f"if a row is one claim, use --columns {named}"]
    if {"fact", "claim"} <= set(map(simple_name, table.found)):
        choices.insert(0, "if rows call facts true or false, use kind='binary' or --kind binary")
    if "value" in table.wanted:
        keys = f"--columns {source},{about}"
        choices.append(f"if each further column is an attribute, --wide attributes {keys}")
        if numbered_alike(spare):
            choices.append(f"if each is a sample of one answer, --wide samples {keys}")
    if "source" not in long:  # else the source's column would be taken for one
        choices.append(f"if each is a source, --wide sources --columns {about}")
    if entity not in long:
        choices.append(f"if each is {with_article(entity)}, --wide entities --columns {source}")
    choices += by_place
    if entity in lacking:
        choices.append(f"if two columns name {with_article(entity)}, {entity}=ONE+OTHER")
    wide = "attributes" if "value" in table.wanted else "sources"
    choices.append(f"in Python: columns={{'{lacking[0]}': 'NAME'}}, wide='{wide}', and so on")
    if table.inside:
        within = (
            f"cells hold lists and objects, whose entries can be named: {quoted_list(table.inside)}"
        )
        whole = {name.rpartition(".")[2]: name for name in reversed(table.inside)}
        found = recognised(list(whole), lacking)
        if not lacking_parts(found, lacking):
            option = ",".join(f"{part}={whole[name]}" for part, name in found.items())
            within += f", as in --columns {shlex.quote(option)}"
        choices.append(within)
    return MissingColumn(told, choices)
