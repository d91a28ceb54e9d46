"""Parameters of algorithms from text, such as ``strength=2``, in their own types."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from veracity.algorithms.base import Algorithm
from veracity.errors import ParameterError
from veracity.printing import in_short

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def settable(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """The parameters that can be said in words or numbers, with their types.

    >>> from veracity import OneCoin
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
    """A parameter of an algorithm, as text says it."""
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
    """The algorithm with some of its parameters as texts say them.

    >>> from veracity import Veracity
    >>> with_parameters(Veracity(), {"strength": "2", "temper": "no"}).strength
    2.0
    """
    values = {name: parsed(algorithm, name, text) for name, text in given.items()}
    return replace(algorithm, **values) if values else algorithm  # type: ignore[type-var]
