"""Checks of parameters at birth: whose parameter, what it must be, what it got.

Whichever of them is asked, all parameters of the owner must first be of the type they are declared
with: a number of rounds is whole, a rate is a number that others can be multiplied by, a switch is
true or false.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from veracity.errors import ParameterError

__all__ = [
    "require_at_least",
    "require_at_most",
    "require_one_of",
    "require_positive",
    "require_probability",
    "require_share",
]

LARGEST_WHOLE = 2**63 - 1
"""The largest whole number that arrays and kernels can hold."""

LARGEST, LEAST_POSITIVE = 1e100, 1e-100
"""Numbers beyond these mean nothing, and what is multiplied by them may be no number any more."""


def require_probability(owner: object, **parameters: float) -> None:
    """Refuse what is not strictly between 0 and 1: certainty cannot be learned from."""
    for name, value in _numbers(owner, parameters):
        if not 0.0 < value < 1.0:
            raise ParameterError(f"{_name(owner)}: {name} must be between 0 and 1, got {value}")


def require_positive(owner: object, **parameters: float) -> None:
    """Refuse what is not a number above zero; one next to nothing is none."""
    for name, value in _numbers(owner, parameters):
        if not value >= LEAST_POSITIVE:
            raise ParameterError(f"{_name(owner)}: {name} must be above 0, got {value}")


def require_share(owner: object, **parameters: float) -> None:
    """Refuse what is not from 0 to 1."""
    for name, value in _numbers(owner, parameters):
        if not 0.0 <= value <= 1.0:
            raise ParameterError(f"{_name(owner)}: {name} must be between 0 and 1, got {value}")


def require_at_least(owner: object, least: float, why: str = "", **parameters: float) -> None:
    """Refuse what is not a number, or is below `least`; `why` names what that hangs on."""
    for name, value in _numbers(owner, parameters):
        if not value >= least:
            bound = f"{least} ({why})" if why else f"{least}"
            raise ParameterError(f"{_name(owner)}: {name} must be at least {bound}, got {value}")


def require_at_most(owner: object, most: float, why: str = "", **parameters: float) -> None:
    """Refuse what is not a number, or is above `most`; `why` names what that hangs on."""
    for name, value in _numbers(owner, parameters):
        if not value <= most:
            bound = f"{most} ({why})" if why else f"{most}"
            raise ParameterError(f"{_name(owner)}: {name} must be at most {bound}, got {value}")


def require_one_of(owner: object, choices: tuple[str, ...], **parameters: str) -> None:
    """Refuse what is not one of `choices`."""
    for name, value in parameters.items():
        if not isinstance(value, str) or value not in choices:
            raise ParameterError(
                f"{_name(owner)}: {name} must be one of {', '.join(choices)}, got {short(value)}"
            )


def _numbers(owner: object, parameters: dict[str, float]) -> list[tuple[str, float]]:
    """The parameters, each of them a number."""
    if is_dataclass(owner):
        for field in fields(owner):
            declared = getattr(field.type, "__name__", field.type)
            if declared in TYPES:
                _require(owner, field.name, getattr(owner, field.name), TYPES[declared])
    for name, value in parameters.items():
        _require(owner, name, value, TYPES["float"])
    return [(name, _plain(value)) for name, value in parameters.items()]  # type: ignore[misc]


def _require(owner: object, name: str, value: object, kind: tuple[Any, str]) -> None:
    is_it, what = kind
    if not is_it(value):
        raise ParameterError(f"{_name(owner)}: {name} must be {what}, got {short(value)}")


def _is_number(value: object) -> bool:
    plain: Any = _plain(value)
    return isinstance(plain, int | float) and not _is_switch(value) and abs(plain) <= LARGEST


def _is_whole(value: object) -> bool:
    plain: Any = _plain(value)
    return isinstance(plain, int) and not _is_switch(value) and abs(plain) <= LARGEST_WHOLE


def _plain(value: object) -> object:
    """A number of the array library as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _is_switch(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_prior(value: object) -> bool:
    return callable(getattr(value, "rates", None))


def _are_features(value: object) -> bool:
    return value is None or callable(getattr(value, "rows", None))


def _are_kinds(value: object) -> bool:
    return value is None or hasattr(value, "n_kinds")


TYPES: dict[Any, tuple[Callable[[object], bool], str]] = {
    "float": (_is_number, "a number, at most 1e100"),
    "int": (_is_whole, "a whole number, below 2^63"),
    "bool": (_is_switch, "True or False"),
    "Prior": (_is_prior, "a Prior"),
    "SourceFeatures | None": (_are_features, "SourceFeatures, or None"),
    "ItemFeatures | None": (_are_kinds, "ItemFeatures, or None"),
    "Similarity": (callable, "a function of two values"),
    "Similarity | None": (lambda x: x is None or callable(x), "a function of two values, or None"),
    "float | None": (lambda x: x is None or _is_number(x), "a number, at most 1e100, or None"),
}
"""What a parameter must be by the type it is declared with, and how that is said."""


def _name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__
