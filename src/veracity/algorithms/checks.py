"""Checks of parameters at birth: whose parameter, what it must be, what it got.

Whichever of them is asked, all parameters of the owner must first be of the type they are declared
with: a number of rounds is whole, a rate is a number that others can be multiplied by, a switch is
true or false.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from reprlib import repr as short

from veracity.arguments import plain_number, require_declared, require_fields
from veracity.errors import ParameterError

LEAST_POSITIVE = 1e-100
"""Numbers below this mean nothing, and what is divided by them may be no number any more."""


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
        require_fields(owner)
    for name, value in parameters.items():
        require_declared(_name(owner), name, value, float)
    return [(name, plain_number(value)) for name, value in parameters.items()]  # type: ignore[misc]


def _name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__
