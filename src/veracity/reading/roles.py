"""Which column plays which role: usual names, and messages about names that are missing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from veracity.errors import MissingColumn, ParameterError
from veracity.io.notes import quoted_list
from veracity.printing import did_you_mean, in_short

CARRYING = ("time", "weight")
"""Roles of columns that say which claim of a source counts, or how much."""

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
"""Names of columns that may be a time or a weight, though nobody said so."""

NOT_STAMPS = frozenset({"time", "date", "datetime", "date_time", "event_time"})
"""Names of times that an attribute may have; the others say when a row was written."""


def recognised(
    found: Sequence[str],
    wanted: Sequence[str],
    *,
    given: Mapping[str, str],
    likely: Mapping[str, str] | None = None,
    origin: str,
) -> dict[str, str]:
    """Return which of the columns `found` plays which wanted role, as far as names show it.

    Columns the user named come first, then likely ones, columns of the very name, usual names.

    >>> wanted = ["source", "entity", "value"]
    >>> recognised(["Website", "id", "value"], wanted, given={}, origin="claims.csv")
    {'source': 'Website', 'entity': 'id', 'value': 'value'}
    """
    parts = _checked(given, found, wanted, origin)
    by_simple_name = {simple_name(name): name for name in reversed(found)}
    by_simple_name |= {name: name for name in found}  # the very name comes before other spellings
    first = {part: (name,) for part, name in (likely or {}).items() if name in found}
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
    """Return the columns whose names are joined in a name; none if it is itself a column.

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
    found: Sequence[str], parts: Mapping[str, str], lacking: Sequence[str], origin: str
) -> str:
    """Return a message on what is missing; a column is named only if it must be the one."""
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
            f"column '{lacking[0]}' is named as the {other_part}, and no other is plainly the "
            f"{lacking[0]}"
        )
    return (
        f"{origin}: {what}; say which one it is, e.g. columns={{'{lacking[0]}': {name!r}}} or "
        f"--columns {option}"
    )


def _checked(
    given: Mapping[str, str], found: Sequence[str], wanted: Sequence[str], origin: str
) -> dict[str, str]:
    """Return the columns the user named, if they are there and every role has its own."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"columns must be a mapping from part to column, got {given!r}")
    part_of_column: dict[str, str] = {}
    parts = {part: str(name) for part, name in given.items()}  # pandas has columns named 0, 1, 2
    for part, name in parts.items():
        if part not in wanted:
            more = CARRYING if "source" in wanted else ()
            known = list(dict.fromkeys([*wanted, *more]))
            swapped = f"; the part comes first: {{{name!r}: {part!r}}}" if name in known else ""
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
    """Return True for a column that says when its row was written."""
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
