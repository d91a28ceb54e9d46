"""Check parameters at birth: say whose parameter it is, what it must be, and what it is.

Whichever of them is called, all numbers of the owner are checked first.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from reprlib import repr as short

from veracity.errors import ParameterError

LARGEST = 1e100
"""Numbers beyond this mean nothing, and what is multiplied by them may be no number any more."""

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


def require_number(owner: object, name: str, value: object, *, is_whole: bool = False) -> None:
    """Refuse what is no number, or one that is too large to calculate with."""
    is_number = isinstance(value, Integral if is_whole else Real) and not isinstance(value, bool)
    if not is_number or not abs(value) <= LARGEST:  # type: ignore[arg-type]
        what = "a whole number" if is_whole else "a number, at most 1e100"
        raise ParameterError(f"{_name(owner)}: {name} must be {what}, got {short(value)}")


def _numbers(owner: object, parameters: dict[str, float]) -> list[tuple[str, float]]:
    """Return the parameters, each of them a number."""
    for field in fields(owner) if is_dataclass(owner) else ():
        if field.type in ("int", "float"):
            is_whole = field.type == "int"
            require_number(owner, field.name, getattr(owner, field.name), is_whole=is_whole)
    for name, value in parameters.items():
        require_number(owner, name, value)
    return list(parameters.items())


def _name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__
