"""Checks of parameters at birth: whose parameter, what it must be, what it got."""

from __future__ import annotations

from veracity.errors import ParameterError

__all__ = ["require_at_least", "require_one_of", "require_positive", "require_probability"]


def require_probability(owner: object, **parameters: float) -> None:
    """Refuse what is not strictly between 0 and 1: certainty cannot be learned from."""
    for name, value in parameters.items():
        if not 0.0 < value < 1.0:
            raise ParameterError(f"{_name(owner)}: {name} must be between 0 and 1, got {value}")


def require_positive(owner: object, **parameters: float) -> None:
    """Refuse what is not a finite number above zero."""
    for name, value in parameters.items():
        if not 0.0 < value < float("inf"):
            raise ParameterError(f"{_name(owner)}: {name} must be above 0, got {value}")


def require_at_least(owner: object, least: float, **parameters: float) -> None:
    """Refuse what is below `least`."""
    for name, value in parameters.items():
        if not value >= least:
            raise ParameterError(f"{_name(owner)}: {name} must be at least {least}, got {value}")


def require_one_of(owner: object, choices: tuple[str, ...], **parameters: str) -> None:
    """Refuse what is not one of `choices`."""
    for name, value in parameters.items():
        if value not in choices:
            raise ParameterError(
                f"{_name(owner)}: {name} must be one of {', '.join(choices)}, got {value!r}"
            )


def _name(owner: object) -> str:
    return type(owner).__name__
