"""How claims are to be read: what a user can say, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any, Literal, get_args

from veracity.errors import ParameterError
from veracity.reading.normalise import Kinds, Normalise
from veracity.reading.roles import CARRYING, joined_names
from veracity.reading.schema import CLAIM_COLUMNS, KINDS, Kind

Columns = Mapping[str, Any]
"""Which column plays which part: its name, or those of several that make it up together."""

Wide = Literal["attributes", "sources", "entities", "samples"]
"""What the columns of a wide table are."""

SourceFrom = Literal["filename", "sheet", "table"]
"""What can name a source."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How claims are to be read.

    Attributes
    ----------
    columns
        Which column plays which part, as a user says it: these have to be there. Several columns
        that make up a part together are a list, or joined by ``+``.
    likely
        Which column may play which part, where it is there.
    kind
        The kind of claims.
    encoding
        The encoding of text files.
    normalise
        Whether, and how, values that mean the same are brought to one spelling.
    wide
        By what a table is wide: each further column is an attribute, a source, an entity, or a
        sample, which counts as `samples` do; where several values may be true, one more of them.
        None where it is long, or where that can be found out.
    source_from
        What names the source, where no column does: the file, the sheet, or the table of a
        database.
    samples
        Whether what a source says of an item in several rows are samples: each value counts by
        its share.
    """

    columns: Columns = field(default_factory=dict)
    likely: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "categorical"
    encoding: str = "utf-8"
    normalise: Normalise = False
    wide: Wide | None = None
    source_from: SourceFrom | None = None
    samples: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {short(self.kind)}")
        if not isinstance(self.columns, Mapping):
            raise ParameterError(
                f"columns must be a mapping from part to column, got {short(self.columns)}"
            )
        joined = {part: joined_names(names) for part, names in self.columns.items()}
        object.__setattr__(self, "columns", joined)
        if not isinstance(self.normalise, bool | Mapping):
            raise ParameterError(
                "normalise must be True, False, or say what the values of attributes are, e.g. "
                f"{{'departure': 'time'}}; got {short(self.normalise)}"
            )

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
        if self.source_from is not None and "source" in self.columns:
            raise ParameterError("the source is named by a column and by source_from; say one")
        if self.source_from is not None and self.wide == "sources":
            raise ParameterError("the source is named by the columns and by source_from; say one")

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns of a table of such claims."""
        return CLAIM_COLUMNS[self.kind]

    @property
    def carrying(self) -> tuple[str, ...]:
        """The columns that say which of a source's claims counts, or how much: named, or likely."""
        return tuple(part for part in CARRYING if part in self.said)

    @property
    def said(self) -> dict[str, str]:
        """Which column plays which part: named, or likely."""
        return {**self.likely, **self.columns}

    def told(self, wide: Wide | None) -> dict[str, str]:
        """Return what has to be said to read the same again, of a table that is wide by this."""
        samples = "yes" if self.samples else None
        encoding = None if self.encoding == "utf-8" else self.encoding
        said = (("wide", wide), ("source_from", self.source_from), ("samples", samples),
                ("encoding", encoding))  # fmt: skip
        return {name: value for name, value in said if value is not None}

    @property
    def kinds_of_values(self) -> Kinds:
        """Return the kinds of some attributes, or the formats of their sources."""
        return {} if isinstance(self.normalise, bool) else self.normalise
