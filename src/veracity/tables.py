"""Tables of any shape as claims: one row per source, entity and attribute.

`veracity.discover` takes wide tables by itself, and in batches where they are large. These
functions give the claims themselves, to look at, to add to, or to keep.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from veracity.io.frames import hand_back
from veracity.reading.claims import Claims
from veracity.reading.options import ReadOptions

__all__ = ["by_attribute", "by_entity", "by_file", "by_source"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def by_attribute(table: object, *, source: str | None = None, entity: str | None = None) -> Any:
    """The claims of a table in which a row is all that a source says of an entity.

    Parameters
    ----------
    table
        Whatever `veracity.discover` takes.
    source, entity
        The names of these columns, where they do not tell; each other column is an attribute.

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({
    ...     "site": ["orbitz", "tower"], "flight": ["AA-1", "AA-1"],
    ...     "gate": ["C5", "D30"], "departs": ["7:05", None]})
    >>> by_attribute(wide, source="site", entity="flight").rows()
    [('orbitz', 'AA-1', 'gate', 'C5'), ('tower', 'AA-1', 'gate', 'D30'), ('orbitz', 'AA-1', 'departs', '7:05')]
    """  # noqa: E501 - what is shown
    return _claims(
        table, ReadOptions(columns=_named(source=source, entity=entity), wide="attributes")
    )


def by_source(table: object, *, entity: str | None = None, attribute: str | None = None) -> Any:
    """The claims of a table in which a row is all that is said of an item.

    Parameters
    ----------
    table
        Whatever `veracity.discover` takes.
    entity, attribute
        The names of these columns, where they do not tell; there need not be an attribute. Each
        other column is a source.

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({"flight": ["AA-1", "AA-2"], "orbitz": ["C5", "A1"], "tower": ["D30", "A1"]})
    >>> by_source(wide, entity="flight").sort("entity", "source").rows()[:2]
    [('orbitz', 'AA-1', 'C5'), ('tower', 'AA-1', 'D30')]
    """  # noqa: E501 - what is shown
    return _claims(
        table, ReadOptions(columns=_named(entity=entity, attribute=attribute), wide="sources")
    )


def by_entity(table: object, *, source: str | None = None) -> Any:
    """The claims of a table in which a row is all that a source says, as surveys are exported.

    Parameters
    ----------
    table
        Whatever `veracity.discover` takes.
    source
        The name of this column, where it does not tell; each other column is an entity.

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({"worker": ["ann", "bob"], "task 1": ["cat", "cat"], "task 2": ["dog", None]})
    >>> by_entity(wide).rows()
    [('ann', 'task 1', 'cat'), ('bob', 'task 1', 'cat'), ('ann', 'task 2', 'dog')]
    """  # noqa: E501 - what is shown
    return _claims(table, ReadOptions(columns=_named(source=source), wide="entities"))


def by_file(paths: Paths, *, columns: Mapping[str, str | list[str]] | None = None) -> Any:
    """The claims of files each of which is a source, by the name of the file.

    Parameters
    ----------
    paths
        A folder, a glob, or a list of files. Each has rows of entity, attribute and value, or is
        wide: an entity, and a column for each attribute.
    columns
        Which column plays which part, where names do not tell.
    """
    return _claims(paths, ReadOptions(columns=columns or {}, source_from="filename"))


def _named(**columns: str | None) -> dict[str, str]:
    return {part: name for part, name in columns.items() if name is not None}


def _claims(table: object, options: ReadOptions) -> Any:
    claims = Claims(table, options)
    return hand_back(claims.collect(), claims.frame_kind)
