"""Bound the parameters of algorithms on their own lines, check them, and read them from text."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, field, fields, replace
from numbers import Integral, Real
from reprlib import repr as short
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from veracity.errors import ParameterError
from veracity.printing import in_short

if TYPE_CHECKING:
    from veracity.algorithms.base import Algorithm

LARGEST = 1e100
"""Maximum of numbers: products of larger ones may overflow."""

LEAST_POSITIVE = 1e-100
"""Minimum of positive numbers: quotients by smaller ones may overflow."""

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class Bounds(NamedTuple):
    """Limits of a parameter: numbers in between, or words to choose from."""

    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()

    def broken_by(self, value: Any) -> str | None:
        """Return what the value must be instead, or None if it keeps the bounds."""
        if self.one_of:
            is_choice = isinstance(value, str) and value in self.one_of
            return None if is_choice else f"one of {', '.join(self.one_of)}"
        is_between = (self.above, self.below) == (0, 1) or (self.at_least, self.at_most) == (0, 1)
        checks = (
            (self.above, self.above is None or value >= self.above + LEAST_POSITIVE, "above"),
            (self.below, self.below is None or value < self.below, "below"),
            (self.at_least, self.at_least is None or value >= self.at_least, "at least"),
            (self.at_most, self.at_most is None or value <= self.at_most, "at most"),
        )
        for limit, is_kept, words in checks:
            if not is_kept:
                return "between 0 and 1" if is_between else f"{words} {limit}"
        return None


def bounded(
    default: Any = MISSING,
    *,
    above: float | None = None,
    below: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: tuple[str, ...] = (),
) -> Any:
    """Return a field of an algorithm whose value must keep these bounds; None may be allowed."""
    return field(
        default=default, metadata={"bounds": Bounds(above, below, at_least, at_most, one_of)}
    )


def check_parameters(owner: Any) -> None:
    """Raise ParameterError unless the numbers of a dataclass are numbers, and within bounds."""
    for one in fields(owner):
        if one.type in ("int", "float", int, float):
            is_whole = one.type in ("int", int)
            require_number(owner, one.name, getattr(owner, one.name), is_whole=is_whole)
    for one in fields(owner):
        value = getattr(owner, one.name)
        is_left_out = value is None and "None" in str(one.type)
        if "bounds" in one.metadata and not is_left_out:
            require(owner, one.metadata["bounds"], **{one.name: value})


def require(owner: object, bounds: Bounds, **parameters: Any) -> None:
    """Raise ParameterError unless each parameter keeps these bounds.

    >>> require("tune", Bounds(at_least=2), folds=1)
    Traceback (most recent call last):
    veracity.errors.ParameterError: tune: folds must be at least 2, got 1
    """
    for name, value in parameters.items():
        if not bounds.one_of:
            require_number(owner, name, value)
        must_be = bounds.broken_by(value)
        if must_be is not None:
            got = short(value) if bounds.one_of else value
            raise ParameterError(f"{_name(owner)}: {name} must be {must_be}, got {got}")


def require_share(owner: object, **parameters: float) -> None:
    """Raise ParameterError unless each parameter is from 0 to 1."""
    require(owner, Bounds(at_least=0, at_most=1), **parameters)


def require_at_least(owner: object, least: float, why: str = "", **parameters: float) -> None:
    """Raise ParameterError unless each parameter is at least `least`; `why` names the reason."""
    for name, value in parameters.items():
        require_number(owner, name, value)
        if not value >= least:
            bound = f"{least} ({why})" if why else f"{least}"
            raise ParameterError(f"{_name(owner)}: {name} must be at least {bound}, got {value}")


def require_number(owner: object, name: str, value: object, *, is_whole: bool = False) -> None:
    """Raise ParameterError unless the parameter is a number that can be calculated with."""
    is_number = isinstance(value, Integral if is_whole else Real) and not isinstance(value, bool)
    if not is_number or not abs(value) <= LARGEST:  # type: ignore[arg-type]
        what = "a whole number" if is_whole else "a number, at most 1e100"
        raise ParameterError(f"{_name(owner)}: {name} must be {what}, got {short(value)}")


def _name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__


def settable(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """Return the parameters that words or numbers can set, with their types.

    >>> from veracity.algorithms import OneCoin
    >>> list(settable(OneCoin()))
    ['max_rounds', 'tolerance']
    """
    hints = get_type_hints(type(algorithm))
    own = {one.name: hints[one.name] for one in fields(algorithm)}  # type: ignore[arg-type]
    return {name: kind for name, kind in own.items() if _is_plain(kind)}


def _is_plain(kind: Any) -> bool:
    if get_origin(kind) in (Union, types.UnionType):
        return any(_is_plain(one) for one in get_args(kind) if one is not type(None))
    return get_origin(kind) is Literal or kind in (bool, int, float, str)


def parsed(algorithm: Algorithm[Any], name: str, text: str) -> Any:
    """Return a parameter of an algorithm from text."""
    known = settable(algorithm)
    if name not in known:
        has = f"it has {', '.join(known)}" if known else "it has none that can be set"
        raise ParameterError(f"{algorithm.name} has no parameter '{in_short(name)}'; {has}")
    try:
        return _value(known[name], text.strip())
    except ValueError as error:
        raise ParameterError(
            f"{algorithm.name}: {name} must be {_described(known[name])}, got '{in_short(text)}'"
        ) from error


def _value(kind: Any, text: str) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        if text.lower() == "none" and type(None) in get_args(kind):
            return None
        return _value(next(one for one in get_args(kind) if _is_plain(one)), text)
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise ValueError(text)
        return text
    if kind is bool:
        if text.lower() not in (*TRUE, *FALSE):
            raise ValueError(text)
        return text.lower() in TRUE
    return kind(text)


def _described(kind: Any) -> str:
    if get_origin(kind) in (Union, types.UnionType):
        own = [one for one in get_args(kind) if one is not type(None) and _is_plain(one)]
        return f"{_described(own[0])} or none"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "text")


def with_parameters(algorithm: Algorithm[Any], given: Mapping[str, str]) -> Algorithm[Any]:
    """Return the algorithm with some of its parameters set from texts.

    >>> from veracity.algorithms import Veracity
    >>> with_parameters(Veracity(), {"strength": "2", "temper": "no"}).strength
    2.0
    """
    values = {name: parsed(algorithm, name, text) for name, text in given.items()}
    return replace(algorithm, **values) if values else algorithm  # type: ignore[type-var]
