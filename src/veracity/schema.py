"""The claims table: its columns, the names they usually go by, and the kinds of claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import polars as pl

from veracity.errors import MissingColumn, ParameterError

__all__ = [
    "CLAIM_COLUMNS",
    "KINDS",
    "ClaimsTable",
    "FrameKind",
    "Kind",
    "comparable",
    "find_columns",
    "numbers_in",
]

Kind = Literal["categorical", "multiple", "binary"]
"""One value of an item is true, several may be, or rows call facts true or false."""

KINDS: tuple[Kind, ...] = get_args(Kind)

FrameKind = Literal["polars", "pandas", "pyarrow"]
"""The kind of frame a user gave and gets back."""

CLAIM_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "categorical": ("source", "entity", "attribute", "value"),
    "multiple": ("source", "entity", "attribute", "value"),
    "binary": ("source", "fact", "claim"),
}
"""The columns of a claims table, by kind."""

OPTIONAL_COLUMNS = frozenset({"attribute"})

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "source": ("source_id", "website", "site", "worker", "worker_id", "annotator", "annotator_id",
               "user", "provider", "sensor", "model"),
    "entity": ("entity_id", "object", "object_id", "task", "task_id", "question", "question_id",
               "item", "item_id", "key", "id"),
    "attribute": ("property", "field", "predicate"),
    "value": ("label", "answer", "response", "truth"),
    "fact": ("fact_id", "statement", "statement_id", "entity", "task", "question", "item"),
    "claim": ("claimed", "vote", "label", "answer", "response", "truth", "value"),
}  # fmt: skip
"""Names under which a column is recognised when its own name is missing, most telling first."""


@dataclass(frozen=True)
class ClaimsTable:
    """Claims as rows, under the names of ``CLAIM_COLUMNS``, with what was noticed on the way."""

    rows: pl.DataFrame
    kind: Kind
    origin: str
    frame_kind: FrameKind = "polars"
    rows_read: int = 0
    notes: tuple[str, ...] = field(default=())


def find_columns(
    found: Sequence[str], wanted: Sequence[str], *, given: Mapping[str, str], origin: str
) -> dict[str, str]:
    """Which of the columns `found` plays which wanted part.

    Columns the user named come first, then columns of the very name, then usual names.

    >>> wanted = ["source", "entity", "value"]
    >>> find_columns(["Website", "id", "value"], wanted, given={}, origin="claims.csv")
    {'source': 'Website', 'entity': 'id', 'value': 'value'}
    """
    _check_given(found, wanted, given, origin)
    by_lower_name = {name.strip().lower(): name for name in reversed(found)}
    parts = dict(given)
    for part in wanted:
        if part not in parts and part in by_lower_name:
            parts[part] = by_lower_name[part]
    for part in wanted:
        free = (by_lower_name[n] for n in USUAL_NAMES[part] if n in by_lower_name)
        choice = next((name for name in free if name not in parts.values()), None)
        if part not in parts and choice is not None:
            parts[part] = choice
    missing = [part for part in wanted if part not in parts and part not in OPTIONAL_COLUMNS]
    if missing:
        raise MissingColumn(
            f"{origin}: no column {_listed(missing)} among {_listed(found)}; say which one "
            f"it is, e.g. columns={{'{missing[0]}': '{found[0] if found else 'name'}'}} "
            f"or --columns {missing[0]}={found[0] if found else 'name'}"
        )
    return {part: parts[part] for part in wanted if part in parts}


def _check_given(
    found: Sequence[str], wanted: Sequence[str], given: Mapping[str, str], origin: str
) -> None:
    for part, name in given.items():
        if part not in wanted:
            raise ParameterError(f"columns: '{part}' is not one of {_listed(wanted)}")
        if name not in found:
            raise MissingColumn(
                f"{origin}: no column '{name}' (named as the {part}) among {_listed(found)}"
            )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") if names else "none"


def numbers_in(values: pl.Series) -> pl.Series | None:
    """Texts as the numbers they are, or None where one of them is no plain number.

    Codes such as ``007`` and numbers too long for a float are no plain numbers.

    >>> numbers_in(pl.Series(["1", "1.0", "-2.50"])).to_list()
    [1.0, 1.0, -2.5]
    >>> numbers_in(pl.Series(["007", "7"])) is None
    True
    """
    if values.dtype != pl.String or values.is_empty():
        return None
    plain = values.str.contains(r"^-?(0|[1-9]\d*)(\.\d+)?$") & (values.str.len_bytes() <= 16)
    return values.cast(pl.Float64) if plain.all() else None


def comparable(claimed: pl.Series, true: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Two columns of values, brought to one type, numbers as numbers where the claims are numbers.

    >>> claimed, true = comparable(pl.Series(["1.0", "2"]), pl.Series([1, 3]))
    >>> claimed.to_list(), true.to_list()
    ([1.0, 2.0], [1.0, 3.0])
    """
    numbers = numbers_in(claimed)
    if numbers is None and claimed.dtype.is_numeric():
        numbers = claimed.cast(pl.Float64)
    if numbers is not None:
        return numbers, true.cast(pl.Float64, strict=False)
    if claimed.dtype == true.dtype:
        return claimed, true
    return claimed.cast(pl.String), true.cast(pl.String)
