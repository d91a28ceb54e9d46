"""Options for reading claims, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any, Literal, TypedDict, get_args

from veracity.errors import ParameterError
from veracity.reading.normalise import Kinds, Normalise
from veracity.reading.normalise.alike import ALIKE_KINDS, AlikeKind
from veracity.reading.roles import CARRYING, CLAIM_COLUMNS, KINDS, Kind, joined_names, recognised

Columns = Mapping[str, Any]
"""Columns by role: a name, or the names of several columns that are joined."""

Wide = Literal["attributes", "sources", "entities", "samples"]
"""Meaning of the columns of a wide table."""

SourceFrom = Literal["filename", "sheet", "table"]
"""Places that may name a source."""


AlikeChoice = (
    bool
    | AlikeKind
    | Mapping[str, AlikeKind]
    | Callable[[Sequence[str], Sequence[str]], Any]
    | None
)
"""Choice to merge values that are alike; None merges those that are normalised."""


class ReadArguments(TypedDict, total=False):
    """Arguments of `discover` and `read_claims` that say how claims are read.

    All other functions that read claims take them as ``**options``.
    """

    columns: Columns | None
    kind: Kind | None
    normalise: Normalise
    no_value: Sequence[str]
    wide: Wide | None
    source_from: SourceFrom | None
    samples: bool
    encoding: str | None
    alike: AlikeChoice
    hierarchy: object | None


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading claims.

    Attributes
    ----------
    columns
        Columns by role, as the user names them; they must exist. Several columns of one role are a
        list, or joined by ``+``.
    likely
        Likely columns by role, which may be missing.
    columns_option
        The parameter that messages suggest to name columns; ``truth_columns`` for known truths.
    likely_wide
        Likely format of a wide table, where its names and cells do not show it.
    kind
        The kind of claims.
    encoding
        The encoding of text files.
    normalise
        Choice to write values of the same meaning in one spelling.
    wide
        Format of a wide table: each further column is an attribute, a source, an entity, or a
        sample, which counts as `samples` do; where several values may be true, one more of them.
        None where it is long, or where the format is to be found out.
    source_from
        Place that names the source, where no column does: the file, the sheet, or the table of a
        database.
    samples
        True if several rows of a source on one item are samples: each value counts by its share.
    no_value
        Texts that stand for a missing value: their rows are left out.
    alike
        Choice to merge values that are alike, the kinds of some attributes, or a function.
    hierarchy
        Table, or paths, of which values say less than others.
    """

    columns: Columns = field(default_factory=dict)
    likely: Mapping[str, str] = field(default_factory=dict)
    columns_option: str = "columns"
    likely_wide: Wide | None = None
    kind: Kind = "categorical"
    encoding: str = "utf-8"
    normalise: Normalise = False
    wide: Wide | None = None
    source_from: SourceFrom | None = None
    samples: bool = False
    no_value: Sequence[str] = ()
    alike: AlikeChoice = None
    hierarchy: object | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {short(self.kind)}")
        if not isinstance(self.columns, Mapping):
            raise ParameterError(
                f"columns must be a mapping from role to column, got {short(self.columns)}"
            )
        joined = {part: joined_names(names) for part, names in self.columns.items()}
        object.__setattr__(self, "columns", joined)
        if not isinstance(self.normalise, bool | Mapping):
            raise ParameterError(
                "normalise must be True, False, or a mapping from attributes to kinds of values, "
                f"e.g. {{'departure': 'time'}}; got {short(self.normalise)}"
            )
        kinds = self.alike.values() if isinstance(self.alike, Mapping) else [self.alike]
        is_other = self.alike is None or isinstance(self.alike, bool) or callable(self.alike)
        if not is_other and not all(one in ALIKE_KINDS for one in kinds):
            *most, last = map(repr, ALIKE_KINDS)
            raise ParameterError(
                f"alike must be True, False, {', '.join(most)} or {last}, a mapping from "
                "attributes to one of these, or a function of two lists of values; got "
                f"{short(self.alike)}"
            )
        if self.kind != "categorical" and (self.alike or self.hierarchy is not None):
            raise ParameterError(
                "alike and hierarchy are for categorical claims, where one value of an item is "
                f"true, not for {self.kind} ones; leave them out"
            )
        texts = [self.no_value] if isinstance(self.no_value, str) else self.no_value
        if not isinstance(texts, list | tuple) or not all(isinstance(one, str) for one in texts):
            raise ParameterError(
                "no_value must be a list of texts that stand for a missing value, e.g. "
                f"['k.A.', '9999']; got {short(self.no_value)}"
            )
        object.__setattr__(self, "no_value", tuple(dict.fromkeys(map(str.strip, texts))))
        for name, allowed in (("wide", Wide), ("source_from", SourceFrom)):
            value = getattr(self, name)
            is_allowed = isinstance(value, str) and value in get_args(allowed)
            if value is not None and not is_allowed:
                *most, last = map(repr, get_args(allowed))
                words = f"{', '.join(most)} or {last}"
                raise ParameterError(f"{name} must be {words}, got {short(value)}")
        if self.wide == "samples" and self.kind != "multiple":  # whose values all count
            object.__setattr__(self, "samples", True)
        if self.kind == "multiple" and (self.samples or "weight" in self.columns):
            raise ParameterError(
                "samples and weights are not for multiple claims: several values of a source count"
            )
        named = "a column" if "source" in self.columns else "the columns"
        if self.source_from is not None and ("source" in self.columns or self.wide == "sources"):
            raise ParameterError(
                f"the source is named by {named} and by source_from; leave one out"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns of a table of such claims."""
        return CLAIM_COLUMNS[self.kind]

    @property
    def carrying(self) -> tuple[str, ...]:
        """Return the roles of columns, named or likely, for the time and the weight of claims."""
        return tuple(part for part in CARRYING if part in self.said)

    @property
    def said(self) -> dict[str, str]:
        """Return the columns by role: named, or likely."""
        return {**self.likely, **self.columns}

    def match(self, found: Sequence[str], wanted: Sequence[str], origin: str) -> dict[str, str]:
        """Return the role of each column whose name shows its role."""
        return recognised(found, wanted, given=self.columns, likely=self.likely, origin=origin)

    def told(self, wide: Wide | None) -> dict[str, str]:
        """Return the options that are needed to read tables of this format again."""
        samples = "yes" if self.samples else None
        encoding = None if self.encoding == "utf-8" else self.encoding
        said = (("wide", wide), ("source_from", self.source_from), ("samples", samples),
                ("encoding", encoding))  # fmt: skip
        return {name: value for name, value in said if value is not None}

    @property
    def kinds_of_values(self) -> Kinds:
        """Return the kinds of some attributes, or the formats of their sources."""
        return {} if isinstance(self.normalise, bool) else self.normalise
