"""What all ways to talk to a database have in common: what is in it, and what a query gives."""

from __future__ import annotations

import contextlib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import polars as pl

from veracity.errors import BadValue, UnreadableDatabase, VeracityError
from veracity.extras import how_to_get
from veracity.io.databases.address import Address
from veracity.io.databases.sentences import advice_on, reason_of
from veracity.io.frames import MOST_DIGITS
from veracity.printing import in_short

ROWS_PER_FETCH = 1 << 16
"""How many rows are asked for at a time, where they come as Python's own values."""


ALSO_RAISED: tuple[type[Exception], ...] = (OSError, ValueError, pl.exceptions.PolarsError)
"""What goes wrong beside the driver: Arrow's batches, and types of columns."""


class TableName(NamedTuple):
    """A table or view: its schema, if there are schemas, and whether its name alone will do."""

    schema: str | None
    name: str
    is_visible: bool = True

    @property
    def shown(self) -> str:
        """As one would ask for it."""
        return self.name if self.is_visible or self.schema is None else f"{self.schema}.{self.name}"


def quoted(*names: str | None) -> str:
    """An identifier as SQL has it, whatever is in it.

    >>> print(quoted("my schema", 'odd "name" of it'))
    "my schema"."odd ""name"" of it"
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name is not None)


def _wrapping(query: str) -> str:
    """A query as a table of another; it may end in a semicolon or a comment."""
    return f"({query.rstrip().rstrip(';')}\n) claims"


def driver(module: str, system: str, extra: str) -> Any:
    """The driver of a database, or how to get it."""
    try:
        importlib.import_module("pyarrow")
        return importlib.import_module(module)
    except ImportError as error:
        raise UnreadableDatabase(
            f"{system} needs a driver that is not installed: {how_to_get(extra)}"
        ) from error


class Database(ABC):
    """A database that is open for reading; `name` is what messages call it."""

    errors: tuple[type[Exception], ...] = ()
    """What the driver raises."""

    def __init__(self, connection: Any, name: str, secrets: set[str] | None = None) -> None:
        self.connection, self.name, self.secrets = connection, name, secrets or set()

    @abstractmethod
    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small answer."""

    @abstractmethod
    def schema(self, query: str, names: Sequence[str] | None = None) -> pl.Schema:
        """The columns that a query gives, or some of them, with their types."""

    @abstractmethod
    def batches(self, query: str, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Some columns of what a query gives, as rows of the database come."""

    def names(self, query: str) -> list[str]:
        """The names of the columns that a query gives."""
        return self.schema(query).names()

    def tables(self) -> list[TableName] | None:
        """All tables and views that can be read; None where that cannot be asked."""
        return None

    def quoted(self, *names: str | None) -> str:
        """An identifier as this database has it."""
        return quoted(*names)

    def count(self, query: str) -> int:
        """How many rows a query gives."""
        return int(self.ask(f"select count(*) from {_wrapping(query)}")[0][0])

    def selecting(self, columns: Sequence[str], query: str) -> str:
        """Some columns, or expressions, of what a query gives."""
        return f"select {', '.join(columns)} from {_wrapping(query)}"

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """What goes wrong while it is read is told in one sentence."""
        try:
            yield
        except VeracityError:
            raise
        except self.errors + ALSO_RAISED as error:
            raise self.unreadable(error) from error

    def refuse_digits(self, column: str) -> NoReturn:
        """Say which column has numbers that none of ours can hold."""
        raise BadValue(
            f"{self.name}: column '{in_short(column)}' holds numbers of more than {MOST_DIGITS} "
            "digits; cast it to double precision or text in a query"
        )

    def unreadable(self, error: BaseException) -> UnreadableDatabase:
        """The sentence."""
        return UnreadableDatabase(
            f"{self.name}: {reason_of(error, self.secrets)}; "
            f"{advice_on(error, 'check the address and the query')}"
        )


def require_file(address: Address) -> None:
    """Refuse an address whose file is not there: drivers would make one, or say less."""
    if not Path(address.location).is_file():
        raise UnreadableDatabase(f"{address.shown}: there is no such file; check the path")
