"""The claims table: its columns, the names they usually go by, and the kinds of claims."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import polars as pl

from veracity.errors import MissingColumn, ParameterError
from veracity.io.frames import FIRST_ROWS, ROWS_PER_BATCH, FrameKind
from veracity.naming import as_text, rendered, text_like
from veracity.printing import did_you_mean, in_short

Kind = Literal["categorical", "multiple", "binary", "numeric"]
"""One value of an item is true, several may be, rows call facts true or false, or are numbers."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CLAIM_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "categorical": ("source", "entity", "attribute", "value"),
    "multiple": ("source", "entity", "attribute", "value"),
    "binary": ("source", "fact", "claim"),
    "numeric": ("source", "entity", "attribute", "value"),
}
"""The columns of a claims table, by kind."""

CARRYING = ("time", "weight")
"""The columns that say which of a source's words counts, or how much, where they are named."""

KEYS = ("entity", "attribute", "fact")
"""The columns that name an item, in any table that has them."""

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
"""Names under which a column is recognised when its own name is missing, most telling first.

None of them may be the name of a usual attribute, such as ``category`` or ``image``: it would be
taken for a part, and the other attributes would be lost.
"""

NAMES_OF_LISTS = ("answers", "responses", "labels", "annotations", "predictions")
"""Further names of the value, where cells are lists: a number of answers is an attribute."""

NAMES_OF_TRUTHS = ("gold", "gold_label", "true_label", "true_value", "ground_truth")
"""Further names of the value, in tables of known truths."""


@dataclass(frozen=True)
class ClaimsTable:
    """Claims as rows, under the names of ``CLAIM_COLUMNS``, with what was noticed on the way."""

    rows: pl.DataFrame
    kind: Kind
    origin: str
    frame_kind: FrameKind = "polars"
    rows_read: int = 0
    notes: tuple[str, ...] = field(default=())
    columns: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    """What is to be said of the shape of the table, beside its columns, to read it again."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The columns whose values may have become text beside others, in their order, with types."""
    encoding: str = "utf-8"
    seconds: float = 0.0
    """How long reading took."""
    normalisation: Mapping[str, Any] | None = None
    """How values were normalised, as `Normalisation.to_json` tells it; None if they were not."""
    changes: pl.DataFrame | None = None
    """Which values normalising changed."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def rows_kept(self) -> int:
        """How many rows have all that a claim needs."""
        return len(self.rows)

    @cached_property
    def text(self) -> Text:
        """How much text rows have."""
        return Text.of(self.rows.head(FIRST_ROWS))

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows, some at a time."""
        return self.rows.iter_slices(ROWS_PER_BATCH)


class Text(NamedTuple):
    """How many bytes of text a row has, and how many of them no row before it had, on average."""

    all: float = 0.0
    new: float = 0.0

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Text:
        """As some rows tell.

        >>> Text.of(pl.DataFrame({"source": ["a", "a"], "value": ["long", "longer"]}))
        Text(all=6.0, new=5.5)
        """
        texts = rows.select(pl.col(pl.String)).get_columns()
        new, n_rows = [text.unique() for text in texts], max(len(rows), 1)
        return cls(_n_bytes(texts) / n_rows, _n_bytes(new) / n_rows)


def _n_bytes(texts: list[pl.Series]) -> int:
    return sum(int(text.str.len_bytes().sum()) for text in texts)


def recognised(
    found: Sequence[str],
    wanted: Sequence[str],
    *,
    given: Mapping[str, str],
    likely: Mapping[str, str] | None = None,
    origin: str,
) -> dict[str, str]:
    """Which of the columns `found` plays which wanted part, as far as that can be told.

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
    """The name of a column as others would spell it.

    >>> [simple_name(name) for name in ("Worker ID", "workerId", "HITId", " n-votes ")]
    ['worker_id', 'worker_id', 'hit_id', 'n_votes']
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[\s\-._]+", "_", words).lower()


JOINED = "+"
"""What stands between the names of columns that make up a part together."""

BETWEEN = " | "
"""What stands between their texts, in which a bar of their own is written twice."""


def joined_names(names: object) -> str:
    """Several columns that make up a part together, as one name.

    >>> joined_names(["country", "year"]), joined_names("country")
    ('country+year', 'country')
    """
    return JOINED.join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def parts_of_name(name: str, found: Sequence[str]) -> list[str]:
    """The columns whose names are joined in a name; none if it is itself that of a column.

    >>> parts_of_name("country+year", ["country", "year", "value"])
    ['country', 'year']
    """
    pieces = name.split(JOINED)
    is_joined = name not in found and len(pieces) > 1 and set(pieces) <= set(found)
    return pieces if is_joined else []


def text_together(dtypes: Mapping[str, pl.DataType]) -> pl.Expr:
    """Columns of these types as one text; without any of them there is none.

    A bar of their own is written twice, so that different cells never look the same together.
    """
    texts = [
        rendered(pl.col(name), dtype).str.replace_all("|", "||", literal=True)
        for name, dtype in dtypes.items()
    ]
    return pl.concat_str(texts, separator=BETWEEN)


def lacking_parts(parts: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """The parts that no column plays, and one has to."""
    optional = {*OPTIONAL_COLUMNS, *CARRYING}
    return [part for part in wanted if part not in parts and part not in optional]


def missing_column(
    found: Sequence[str], parts: Mapping[str, str], lacking: Sequence[str], origin: str
) -> str:
    """What is missing, and how to say which column it is; one is named only if it must be it."""
    if not found:
        return f"{origin}: it has no columns; give a table with columns for {listed(lacking)}"
    spare = [name for name in found if name not in parts.values()]
    other_part = next((part for part, name in parts.items() if name == lacking[0]), None)
    is_sure = len(spare) == len(lacking) == 1 and spare[0] and spare[0] == in_short(spare[0])
    name = spare[0] if is_sure and other_part is None else "NAME"
    option = shlex.quote(f"{lacking[0]}={name}")
    what = f"no column {listed(lacking)} among {listed(found)}"
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
    """The columns the user named, if they are there and every part has its own."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"columns must be a mapping from part to column, got {given!r}")
    part_of_column: dict[str, str] = {}
    parts = {part: str(name) for part, name in given.items()}  # pandas has columns named 0, 1, 2
    for part, name in parts.items():
        if part not in wanted:
            more = CARRYING if "source" in wanted else ()
            known = list(dict.fromkeys([*wanted, *more]))
            swapped = f"; the part comes first: {{{name!r}: {part!r}}}" if name in known else ""
            raise ParameterError(f"columns: {part!r} is not one of {listed(known)}{swapped}")
        if name not in found:
            raise MissingColumn(
                f"{origin}: no column {name!r}, named as the {part}, among {listed(found)}; "
                + (did_you_mean(name, found) or "correct the name")
            )
        if name in part_of_column:
            raise ParameterError(
                f"columns: {name!r} cannot be both the {part_of_column[name]} and the {part}"
            )
        part_of_column[name] = part
    return parts


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first dozen of them."""
    shown = ", ".join(f"'{in_short(name)}'" for name in names[:12])
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
    plain = values.str.contains(r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$")
    exact = values.str.len_bytes() <= 15  # so many digits, and a float still tells two apart
    return values.cast(pl.Float64) if (plain & exact).all() else None


def comparable(
    claimed: pl.Series, true: pl.Series, *, are_numbers: bool | None = None
) -> tuple[pl.Series, pl.Series]:
    """Two columns of values, brought to the type of the claims, so that equal means the same.

    Whether all that is claimed are numbers is found out, unless it is known of more claims.

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
    """True and false as the claims spell them, such as True or FALSE, if they do so in one way."""
    text = as_text(true)
    spelt: dict[str, str] = {}
    for truth in ("true", "false"):
        ways = claimed.filter(claimed.str.to_lowercase() == truth).unique()
        if len(ways) == 1:
            spelt[truth] = ways[0]
    return text.replace(spelt)


def _as_numbers(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Values as numbers, by how they are written if they are none; null where that is no number."""
    are_numbers = values.dtype.is_numeric() or values.dtype == pl.Boolean
    return (values if are_numbers else as_text(values)).cast(dtype, strict=False)


def in_type_of(names: pl.Series, others: pl.Series) -> pl.Series:
    """Others as those of the names that they are, in their type; null where they are none of them.

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
    """Whether claims have times or weights, or are samples."""
    return not table.columns.keys().isdisjoint(CARRYING) or "samples" in table.shape


def keys_of(table: pl.DataFrame) -> list[str]:
    """The columns of a table that name its items.

    >>> keys_of(pl.DataFrame({"entity": ["x"], "value": ["1"]}))
    ['entity']
    """
    return [name for name in KEYS if name in table.columns]
