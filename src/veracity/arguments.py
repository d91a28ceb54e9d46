"""What arguments must be, by the types that they are declared with; told before any work.

Python does not look at declared types. Whoever gives a text for a number would hear of it from a
library deep inside, if at all.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from reprlib import repr as short
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from veracity.errors import EngineError, ParameterError

LARGEST_WHOLE = 2**63 - 1
"""The largest whole number that arrays and kernels can hold."""

LARGEST = 1e100
"""Numbers beyond this mean nothing, and what is multiplied by them may be no number any more."""

Given = ParamSpec("Given")
Made = TypeVar("Made")


class Must(NamedTuple):
    """Whether something is of a type, and what that is called."""

    is_it: Callable[[Any], bool]
    what: str

    def or_none(self) -> Must:
        """The same, or nothing."""
        return Must(lambda value: value is None or self.is_it(value), f"{self.what}, or None")


def plain_number(value: object) -> object:
    """A number of the array library as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _is_switch(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_number(value: object) -> bool:
    plain: Any = plain_number(value)
    return isinstance(plain, int | float) and not _is_switch(value) and abs(plain) <= LARGEST


def _is_whole(value: object) -> bool:
    plain: Any = plain_number(value)
    return isinstance(plain, int) and not _is_switch(value) and abs(plain) <= LARGEST_WHOLE


def _is_path(value: object) -> bool:
    """Whether the system can be asked for it."""
    try:
        path = os.fspath(value)  # type: ignore[call-overload]
        return isinstance(path, str) and b"\0" not in os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        return False


def _is_text(value: object) -> bool:
    """Whether it is text that can be written down, which half of a pair of surrogates cannot."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_seed(value: object) -> bool:
    return _is_whole(value) and value >= 0  # type: ignore[operator]


def _are(kind: Callable[[object], bool], n: int | None = None) -> Callable[[object], bool]:
    """Whether something is a tuple or list of as many things of a kind."""
    return lambda value: (
        isinstance(value, tuple | list) and n in (None, len(value)) and all(map(kind, value))
    )


def _has(*names: str) -> Callable[[object], bool]:
    """Whether something is a thing, and no class, that has these: its own class is not loaded."""
    return lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in names)


SWITCH = Must(_is_switch, "True or False")
NUMBER = Must(_is_number, "a number, at most 1e100")
WHOLE = Must(_is_whole, "a whole number, below 2^63")
TEXT = Must(_is_text, "text")
PATH = Must(_is_path, "a path")
MAPPING = Must(lambda value: isinstance(value, Mapping), "a mapping, such as a dictionary")
LISTENER = Must(callable, "a function of a phase, how much of it is done, and of how much")
COLUMNS = Must(MAPPING.is_it, "a mapping from part to column, such as {'source': 'website'}")
RESULT = Must(_has("tables", "run", "fitted"), "a result, as discover and load return it")
FRAME = Must(_has("get_column", "with_columns"), "a polars frame")
SIMILARITY = Must(callable, "a function of two values")

TYPES: dict[str, Must] = {
    "bool": SWITCH,
    "int": WHOLE,
    "int | None": WHOLE.or_none(),
    "float": NUMBER,
    "float | None": NUMBER.or_none(),
    "str": TEXT,
    "str | None": TEXT.or_none(),
    "str | int | None": Must(
        lambda value: _is_text(value) or _is_number(value), "an amount such as '8GB'"
    ).or_none(),
    "str | os.PathLike[str]": PATH,
    "str | os.PathLike[str] | None": PATH.or_none(),
    "Progress | None": LISTENER.or_none(),
    "Callable[[str, int, int], None] | None": LISTENER.or_none(),
    "Columns | None": COLUMNS.or_none(),
    "Mapping[str, str] | None": Must(
        lambda value: COLUMNS.is_it(value) and all(map(_is_text, value.values())), COLUMNS.what
    ).or_none(),
    "Mapping[str, str | list[str]] | None": COLUMNS.or_none(),
    "Mapping[str, Sequence[Any]]": MAPPING,
    "Mapping[str, Rate | ErrorSpread]": MAPPING,
    "Mapping[object, Rate | ErrorSpread]": MAPPING,
    "Mapping[object, str]": MAPPING,
    "dict[str, Any]": MAPPING,
    "dict[str, int]": MAPPING,
    "dict[str, dict[str, float]]": MAPPING,
    "int | Sequence[int]": Must(
        lambda value: _is_seed(value) or _are(_is_seed)(value), "a whole number that is not below 0"
    ),
    "tuple[str, ...]": Must(_are(_is_text), "a tuple of texts"),
    "tuple[int, ...]": Must(_are(_is_whole), "a tuple of whole numbers"),
    "tuple[int, int]": Must(_are(_is_whole, 2), "two whole numbers"),
    "tuple[float, float]": Must(_are(_is_number, 2), "two numbers"),
    "Result": RESULT,
    "Result | None": RESULT.or_none(),
    "Comparison": Must(_has("results", "rows"), "a comparison, as compare returns it"),
    "Study": Must(_has("tasks", "do", "settings"), "a study, such as LeagueStudy(datasets=...)"),
    "Ranges": Must(_has("draw", "sources", "items"), "Ranges"),
    "SourceModels | None": Must(_has("frequency", "copy_frequency"), "SourceModels").or_none(),
    "pl.DataFrame": FRAME,
    "pl.DataFrame | None": FRAME.or_none(),
    "Prior": Must(_has("rates"), "a Prior"),
    "SourceFeatures | None": Must(_has("rows"), "SourceFeatures").or_none(),
    "ItemFeatures | None": Must(_has("n_kinds"), "ItemFeatures").or_none(),
    "Similarity": SIMILARITY,
    "Similarity | None": SIMILARITY.or_none(),
}
"""What an argument must be by the type it is declared with; others are looked at where they are
used."""


def require_declared(owner: str, name: str, value: object, declared: object) -> None:
    """Refuse a value that is not of the type it is declared with."""
    must = TYPES.get(getattr(declared, "__name__", str(declared)))
    if must is not None and not must.is_it(value):
        raise ParameterError(f"{owner}: {name} must be {must.what}, got {short(value)}")


def require_fields(owner: Any) -> None:
    """Refuse parameters that are not of the types they are declared with."""
    for field in fields(owner):
        value = getattr(owner, field.name)
        require_declared(type(owner).__name__, field.name, value, field.type)


READING = ("columns", "encoding", "kind", "normalise", "samples", "source_from", "wide")
"""What `read_claims` takes, and not every function of claims."""

_worked_in: list[int] = []
"""The process in which such a function was called first."""


def _require_own_threads() -> None:
    """Refuse a process that was forked from one at work: it has none of its threads.

    Polars would wait for them for ever.
    """
    if not _worked_in:
        _worked_in.append(os.getpid())
    elif _worked_in[0] != os.getpid():
        raise EngineError(
            "this process was forked from one in which veracity had worked already, so that Polars "
            "would wait for ever; start processes with multiprocessing.get_context('spawn')"
        )


def checked(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let a function refuse arguments that are not of the types they are declared with."""
    signature = inspect.signature(function)
    owner = function.__qualname__.removesuffix(".__init__")
    declared = {name: of.annotation for name, of in signature.parameters.items()}

    @wraps(function)
    def asked(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        _require_own_threads()
        for name in kwargs:
            if name in READING and name not in declared and "claims" in declared:
                raise TypeError(
                    f"{owner} takes no '{name}'; read the claims first, and give it what "
                    f"read_claims(claims, {name}=...) returns"
                )
        for name, value in (*zip(declared, args, strict=False), *kwargs.items()):
            require_declared(owner, name, value, declared.get(name))
        return function(*args, **kwargs)

    return asked
