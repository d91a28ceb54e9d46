"""Grow, check and store states: named tuples of numbers and arrays.

A state is a named tuple of numbers, arrays and such tuples. Its annotations say which arrays have
one row per source, and what a source that was never met gets: the mean of all others, or a number.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

State = TypeVar("State")

LARGEST = 1e200
"""Nothing that is learned is larger: claims of numbers are refused far below."""


def grown(state: State, n_sources: int) -> State:
    """Return the state with rows for as many sources."""
    if not _is_named_tuple(type(state)):
        return state
    fields: dict[str, Any] = {}
    for name, hint in _hints(type(state)).items():  # type: ignore[arg-type]
        value = getattr(state, name)
        marks = getattr(hint, "__metadata__", ())
        if marks and marks[0] == "source":
            fill = marks[-1] if isinstance(marks[-1], float) else None
            value = _with_rows(value, n_sources, fill)
        elif _is_named_tuple(type(value)):
            value = grown(value, n_sources)
        fields[name] = value
    return type(state)(**fields)


def check_state(state: object, at_start: object, n_sources: int) -> None:
    """Raise ValueError unless `state` has the fields, types and shapes of `at_start`."""
    if not _is_named_tuple(type(state)):
        return
    knows_sizes = hasattr(state, "check")  # an update may have left them as they were before it
    for name, hint in _hints(type(state)).items():  # type: ignore[arg-type]
        value, marks = getattr(state, name), getattr(hint, "__metadata__", ())
        like = getattr(at_start, name) if type(at_start) is type(state) else None
        if isinstance(value, np.ndarray):
            _check_array(name, value, like, of_any_size=knows_sizes)
        elif isinstance(value, float) and not abs(value) < LARGEST:
            raise ValueError(f"'{name}' of what was learned is no number")
        if marks and marks[0] == "source" and len(value) != n_sources:
            raise ValueError(f"what was learned is of {len(value):,} sources, not {n_sources:,}")
        check_state(value, like, n_sources)
    if knows_sizes:
        state.check(n_sources)  # type: ignore[attr-defined]


def _check_array(name: str, array: NDArray[Any], like: object, *, of_any_size: bool) -> None:
    """Raise ValueError if an array has another type or shape, or holds what is no number."""
    if array.dtype.kind not in "fiub" or not (np.abs(array) < LARGEST).all():
        raise ValueError(f"'{name}' of what was learned has what is no number, or too large")
    if not isinstance(like, np.ndarray) or not like.size:  # what was empty may have been filled
        return
    one, other = ((of.dtype, of.ndim if of_any_size else of.shape) for of in (array, like))
    if one != other:
        raise ValueError(f"'{name}' of what was learned has another shape")


def _with_rows(array: NDArray[Any], n_rows: int, fill: float | None) -> NDArray[Any]:
    n_new = n_rows - len(array)
    if n_new <= 0:
        return array
    row = array.mean(axis=0) if fill is None else np.full(array.shape[1:], fill)
    return np.concatenate([array, np.repeat(np.asarray(row, array.dtype)[None], n_new, axis=0)])


def to_arrays(state: object) -> dict[str, NDArray[Any]]:
    """Return the state as arrays by name; names of values are not among them."""
    arrays: dict[str, NDArray[Any]] = {}
    _flatten(state, "", arrays)
    return arrays


def _flatten(value: Any, path: str, arrays: dict[str, NDArray[Any]]) -> None:
    if value is None:
        return
    if isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        if hasattr(value, "_fields"):
            arrays[f"{path}."] = np.array(type(value).__name__)
        for name, part in zip(names, value, strict=True):
            _flatten(part, f"{path}.{name}" if path else str(name), arrays)
    elif isinstance(value, np.ndarray | np.generic | float | int):
        arrays[path] = np.asarray(value)


def from_arrays(kind: Any, arrays: Mapping[str, NDArray[Any]], **given: object) -> Any:
    """Return the state of this type, from its arrays; what is missing is given, or None.

    What does not fit the type is refused with a `ValueError`.
    """
    return _built(kind, "", arrays, given)


def _built(
    hint: Any,
    path: str,
    arrays: Mapping[str, NDArray[Any]],
    given: Mapping[str, object],
) -> Any:
    marks = getattr(hint, "__metadata__", ())
    if marks and marks[0] in given:
        return given[marks[0]]
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return _one_of(typing.get_args(hint), path, arrays, given)
    if _is_named_tuple(hint):
        parts = _hints(hint).items()
        prefix = f"{path}." if path else ""
        return hint(**{name: _built(own, prefix + name, arrays, given) for name, own in parts})
    if typing.get_origin(hint) is tuple:
        own_hints = enumerate(typing.get_args(hint))
        return tuple(_built(own, f"{path}.{n}", arrays, given) for n, own in own_hints)
    if path not in arrays:
        raise ValueError(f"what was learned lacks '{path}'")
    array = arrays[path]
    if hint in (float, int, bool):
        if array.ndim != 0:
            raise ValueError(f"'{path}' of what was learned is no number")
        return hint(array)
    return array


def _one_of(
    hints: tuple[Any, ...],
    path: str,
    arrays: Mapping[str, NDArray[Any]],
    given: Mapping[str, object],
) -> Any:
    """Return the state of the type that was stored, of several; None if nothing was."""
    mark = f"{path}."
    for hint in hints:
        if hint is type(None):
            continue
        is_kept = str(arrays[mark]) == hint.__name__ if mark in arrays else path in arrays
        if is_kept:
            return _built(hint, path, arrays, given)
    if type(None) not in hints:
        raise ValueError(f"what was learned lacks '{path}'")
    return None


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)
