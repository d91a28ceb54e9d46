"""Kinds of claims, the roles of their columns, and the names that these usually have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args

import polars as pl

from veracity.errors import MissingColumn, ParameterError
from veracity.io.reader import quoted_list
from veracity.naming import as_text, text_like
from veracity.printing import did_you_mean, in_short

Kind = Literal["categorical", "multiple", "binary", "numeric"]
"""Kind of claims: items have one true value; items may have several; rows call facts true or false;
or values are numbers."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CLAIM_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "categorical": ("source", "entity", "attribute", "value"),
    "multiple": ("source", "entity", "attribute", "value"),
    "binary": ("source", "fact", "claim"),
    "numeric": ("source", "entity", "attribute", "value"),
}
"""The columns of a claims table, by kind."""

KEYS = ("entity", "attribute", "fact")
"""The columns that name an item, in any table that has them."""


def numbers_in(values: pl.Series) -> pl.Series | None:
    """Return texts as numbers, or None where one of them is no plain number.

    Codes such as ``007`` and numbers too long for a float are no plain numbers.

    >>> numbers_in(pl.Series(["1", "1.0", "-2.50"])).to_list()
    [1.0, 1.0, -2.5]
    >>> numbers_in(pl.Series(["007", "7"])) is None
    True
    """
    if values.dtype != pl.String or values.is_empty():
        return None
    plain = values.str.contains(r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$")
    exact = values.str.len_bytes() <= 15  # so many digits, and a float still tells two apart
    return values.cast(pl.Float64) if (plain & exact).all() else None


def comparable(
    claimed: pl.Series, true: pl.Series, *, are_numbers: bool | None = None
) -> tuple[pl.Series, pl.Series]:
    """Cast claimed and true values to one type, so that they can be compared.

    The claimed values are checked for being numbers, unless a check of more claims is given.

    >>> claimed, true = comparable(pl.Series(["1.0", "2"]), pl.Series([1, 3]))
    >>> claimed.to_list(), true.to_list()
    ([1.0, 2.0], [1.0, 3.0])
    """
    numbers = None if are_numbers is False else numbers_in(claimed)
    if numbers is not None:
        return numbers, _as_numbers(true, pl.Float64())
    if claimed.dtype == true.dtype:
        return claimed, true
    if claimed.dtype.is_float():
        return claimed, _as_numbers(true, claimed.dtype)
    if claimed.dtype == pl.String and true.dtype == pl.Boolean:
        return claimed, _as_spelt(true, claimed)
    return as_text(claimed), text_like(true, claimed.dtype)


def _as_spelt(true: pl.Series, claimed: pl.Series) -> pl.Series:
    """Write true and false in the claims' spelling, such as True or FALSE, if it is uniform."""
    text = as_text(true)
    spelt: dict[str, str] = {}
    for truth in ("true", "false"):
        ways = claimed.filter(claimed.str.to_lowercase() == truth).unique()
        if len(ways) == 1:
            spelt[truth] = ways[0]
    return text.replace(spelt)


def _as_numbers(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return values as numbers; null for values that are not numbers."""
    are_numbers = values.dtype.is_numeric() or values.dtype == pl.Boolean
    return (values if are_numbers else as_text(values)).cast(dtype, strict=False)


def in_type_of(names: pl.Series, others: pl.Series) -> pl.Series:
    """Return the name that matches each of the others in spelling, in their type; else null.

    >>> in_type_of(pl.Series([7, 8]), pl.Series(["8", "x"])).to_list()
    [8, None]
    """
    if names.dtype == others.dtype:
        return others
    known = names.unique().drop_nulls().to_frame("name")
    known = known.with_columns(text=as_text(known["name"])).unique("text")
    text = text_like(others, names.dtype).to_frame("text")
    return text.join(known, on="text", how="left", maintain_order="left")["name"]


def carries_more(table: Any) -> bool:
    """Return True if claims have times or weights, or are samples."""
    return not table.columns.keys().isdisjoint(CARRYING) or "samples" in table.shape


def keys_of(table: pl.DataFrame) -> list[str]:
    """Return the columns of a table that name its items.

    >>> keys_of(pl.DataFrame({"entity": ["x"], "value": ["1"]}))
    ['entity']
    """
    return [name for name in KEYS if name in table.columns]


CARRYING = ("time", "weight")
"""Roles of columns that decide which claim of a source counts, or how much."""

OPTIONAL_COLUMNS = frozenset({"attribute"})

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "source": ("source_id", "source_name", "source_system", "website", "site", "worker",
               "worker_id", "annotator", "annotator_id", "rater", "rater_id", "labeler",
               "labeler_id", "labeller", "labeller_id", "user", "user_id", "provider",
               "provider_id", "provider_name", "sensor", "sensor_id", "sensor_name", "system",
               "model", "model_id", "model_name", "llm", "supplier", "supplier_id",
               "supplier_name", "vendor", "vendor_id", "vendor_name", "respondent",
               "respondent_id", "participant", "participant_id", "email_address", "shop", "shop_id",
               "shop_name", "store", "store_id", "store_name", "retailer", "retailer_id",
               "merchant", "merchant_id"),
    "entity": ("entity_id", "object", "object_id", "task", "task_id", "question", "question_id",
               "item", "item_id", "hit_id", "document_id", "doc_id", "image_id", "example_id",
               "prompt_id", "prompt", "product_id", "sku", "article_id", "customer_id",
               "patient_id", "company_id", "record_id", "key", "id"),
    "attribute": ("property", "field", "predicate"),
    "value": ("label", "answer", "response", "annotation", "judgment", "judgement", "prediction",
              "truth", "val"),
    "fact": ("fact_id", "statement", "statement_id", "entity", "task", "question", "item"),
    "claim": ("claimed", "vote", "label", "answer", "response", "truth", "value"),
}  # fmt: skip
"""Names by which a column is recognised when its role names none, most telling first.

None of them may be the name of a usual attribute, such as ``category`` or ``image``: it would be
taken for a part, and the other attributes would be lost.
"""

NAMES_OF_LISTS = ("answers", "responses", "labels", "annotations", "predictions")
"""Further names of the value, where cells are lists: a number of answers is an attribute."""

NAMES_OF_TRUTHS = ("gold", "gold_label", "true_label", "true_value", "ground_truth")
"""Further names of the value, in tables of known truths."""


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
"""Names of columns that may be a time or a weight, even if the user does not name them."""

NOT_STAMPS = frozenset({"time", "date", "datetime", "date_time", "event_time"})
"""Names of times that an attribute may have; the others are times at which a row was written."""


def recognised(
    found: Sequence[str],
    wanted: Sequence[str],
    *,
    given: Mapping[str, str] = MappingProxyType({}),
    likely: Mapping[str, str] = MappingProxyType({}),
    origin: str = "",
) -> dict[str, str]:
    """Return the column for each wanted role, if its name shows the role.

    Columns the user named come first, then likely ones, columns of the very name, usual names.

    >>> wanted = ["source", "entity", "value"]
    >>> recognised(["Website", "id", "value"], wanted)
    {'source': 'Website', 'entity': 'id', 'value': 'value'}
    """
    parts = _checked(given, found, wanted, origin)
    by_simple_name = {simple_name(name): name for name in reversed(found)}
    by_simple_name |= {name: name for name in found}  # the very name comes before other spellings
    first = {part: (name,) for part, name in likely.items() if name in found}
    of_truths = {"value": NAMES_OF_TRUTHS} if "source" not in wanted else {}
    for names_of_part in (first, {part: (part,) for part in wanted}, of_truths, USUAL_NAMES):
        for part in wanted:
            free = [by_simple_name[n] for n in names_of_part.get(part, ()) if n in by_simple_name]
            choice = next((name for name in free if name not in parts.values()), None)
            if part not in parts and choice is not None:
                parts[part] = choice
    return {part: parts[part] for part in wanted if part in parts}


def simple_name(name: str) -> str:
    """Return the name of a column as others would spell it.

    >>> [simple_name(name) for name in ("Worker ID", "workerId", "HITId", " n-votes ")]
    ['worker_id', 'worker_id', 'hit_id', 'n_votes']
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[\s\-._]+", "_", words).lower()


JOINED = "+"
"""Separator of the names of columns that make up a role together."""

BETWEEN = " | "
"""Separator of their texts, in which a bar of their own is written twice."""


def joined_names(names: object) -> str:
    """Return several columns that make up a role together, as one name.

    >>> joined_names(["country", "year"]), joined_names("country")
    ('country+year', 'country')
    """
    return JOINED.join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def parts_of_name(name: str, found: Sequence[str]) -> list[str]:
    """Return the columns whose names are joined in a name; no columns if the name is a column.

    >>> parts_of_name("country+year", ["country", "year", "value"])
    ['country', 'year']
    """
    pieces = name.split(JOINED)
    is_joined = name not in found and len(pieces) > 1 and set(pieces) <= set(found)
    return pieces if is_joined else []


def lacking_parts(parts: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """Return the roles that no column plays, and one has to."""
    optional = {*OPTIONAL_COLUMNS, *CARRYING}
    return [part for part in wanted if part not in parts and part not in optional]


def missing_column(
    found: Sequence[str],
    parts: Mapping[str, str],
    lacking: Sequence[str],
    origin: str,
    parameter: str = "columns",
) -> str:
    """Return a message on missing columns; a column is named only if it must be the one."""
    if not found:
        return f"{origin}: it has no columns; give a table with columns for {quoted_list(lacking)}"
    spare = [name for name in found if name not in parts.values()]
    other_part = next((part for part, name in parts.items() if name == lacking[0]), None)
    is_sure = len(spare) == len(lacking) == 1 and spare[0] and spare[0] == in_short(spare[0])
    name = spare[0] if is_sure and other_part is None else "NAME"
    option = shlex.quote(f"{lacking[0]}={name}")
    what = f"no column {quoted_list(lacking)} among {quoted_list(found)}"
    if other_part is not None:
        what = (
            f"column '{lacking[0]}' is already used as the {other_part}, and no other looks like "
            f"the {lacking[0]}"
        )
    return (
        f"{origin}: {what}; name one, e.g. {parameter}={{'{lacking[0]}': {name!r}}} or "
        f"--{parameter.replace('_', '-')} {option}"
    )


def _checked(
    given: Mapping[str, str], found: Sequence[str], wanted: Sequence[str], origin: str
) -> dict[str, str]:
    """Return the columns the user named, if they are there and every role has its own."""
    part_of_column: dict[str, str] = {}
    parts = {part: str(name) for part, name in given.items()}  # pandas has columns named 0, 1, 2
    for part, name in parts.items():
        if part not in wanted:
            more = CARRYING if "source" in wanted else ()
            known = list(dict.fromkeys([*wanted, *more]))
            swapped = f"; the role comes first: {{{name!r}: {part!r}}}" if name in known else ""
            raise ParameterError(f"columns: {part!r} is not one of {quoted_list(known)}{swapped}")
        if name not in found:
            raise MissingColumn(
                f"{origin}: no column {name!r}, named as the {part}, among {quoted_list(found)}; "
                + (did_you_mean(name, found) or "correct the name")
            )
        if name in part_of_column:
            raise ParameterError(
                f"columns: {name!r} cannot be both the {part_of_column[name]} and the {part}"
            )
        part_of_column[name] = part
    return parts


def is_stamp(name: str) -> bool:
    """Return True for a column with the time at which its row was written."""
    return column_like(name) == "time" and simple_name(name) not in NOT_STAMPS


def column_like(name: str) -> str | None:
    """Return the role that a column may play by its name: a time or a weight.

    >>> [column_like(name) for name in ("Timestamp", "lastUpdated", "n-votes", "gate")]
    ['time', 'time', 'weight', None]
    """
    simple = simple_name(name)
    return next((part for part, names in LIKE_PARTS.items() if simple in names), None)


def with_article(word: str) -> str:
    """Return a word with its article."""
    return f"an {word}" if word[0] in "ae" else f"a {word}"


def like_note(name: str, part: str, taken: str = "is not read") -> str:
    """Return a note that a column looks like a time or a weight, and how to use it."""
    option = shlex.quote(f"{part}={name}")
    means = {
        "time": "only the newest claim of a source about an item counts",
        "weight": "each claim counts by its weight",
    }[part]
    return f"column '{in_short(name)}' {taken}; with --columns {option}, {means}"
