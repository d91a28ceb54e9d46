"""Walk tuples of arrays: states, tallies, and the memory of blocks.

A tree is a number, an array, None, or a tuple of trees. A tuple with its own ``+`` merges as a
whole. Annotations of a named tuple name the axes of an array that have the same length, and the
start of new sources: see `BySource` and `Index`.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

BySource = Annotated[NDArray[np.float64], "source"]
"""Array of a state with one row per source. A new source gets the mean of all others."""

CountBySource = Annotated[NDArray[np.float64], "source", 0.0]
"""Array of a state with one row per source. A new source gets zero."""

Tree = TypeVar("Tree")

LARGEST = 1e200
"""Maximum of learned numbers; numeric claims are refused far below."""


class Index(NamedTuple):
    """Mark of an array of whole numbers that point to rows of others, from `least`."""

    of: str
    least: int = 0


# --- merging --------------------------------------------------------------------------------------


def merged(one: Any, other: Any, *, in_place: bool = False) -> Any:
    """Merge two tallies. Numbers and arrays add up; `in_place`, into the arrays of the first.

    The smaller of two arrays may lack the last rows, which belong to new names.

    >>> merged((1, np.array([1, 2])), (2, np.array([1, 1, 1])))
    (3, array([2, 3, 1]))
    """
    if one is None:
        return copied(other) if in_place else other
    if other is None:
        return one
    if _adds_up_by_part(one):
        parts = zip(one, other, strict=True)
        return _like(one, [merged(*pair, in_place=in_place) for pair in parts])
    if isinstance(one, np.ndarray) and one.shape != np.shape(other):
        shape = tuple(map(max, one.shape, other.shape))
        return padded(one, shape) + padded(other, shape)
    if in_place and isinstance(one, np.ndarray) and one.dtype == other.dtype:
        one += other
        return one
    return one + other


def merged_all(tallies: Iterable[Any]) -> Any:
    """Merge tallies in their order; None if there are none.

    All are added to a copy of the first, in place: with many sources, arrays are large.

    >>> merged_all([(1, np.array([1, 2])), (2, np.array([1, 1])), (3, np.array([4, 5]))])
    (6, array([6, 8]))
    """
    rest = iter(tallies)
    total, second = next(rest, None), next(rest, None)
    if second is None:
        return total
    total = merged(copied(total), second, in_place=True)
    for tally in rest:
        total = merged(total, tally, in_place=True)
    return total


def copied(tree: Tree) -> Tree:
    """Return a copy with arrays that are not shared; a tree may have the same array twice."""
    if _adds_up_by_part(tree):
        return _like(tree, map(copied, tree))  # type: ignore[no-any-return, call-overload]
    return tree.copy() if isinstance(tree, np.ndarray) else tree


def subtracted(total: Any, part: Any) -> Any:
    """Take a tally out of a sum; parts that do not add up, such as the largest, stay.

    The tally may have been made with other rates than the sum: counts do not fall below zero.

    >>> subtracted((3, np.array([2, 3, 1])), (1, np.array([1, 2])))
    (2, array([1, 1, 1]))
    """
    if total is None or part is None or hasattr(part, "stays"):
        return total
    if _adds_up_by_part(part):
        return _like(part, [subtracted(*pair) for pair in zip(total, part, strict=True)])
    if isinstance(part, float) and not math.isfinite(part):
        return total
    left = merged(-part, total)  # in this order: the sum may have been kept as plain tuples
    is_count = isinstance(part, np.ndarray) and part.dtype.kind == "f"
    if is_count and not (part < 0.0).any() and not (total < 0.0).any():
        return np.maximum(left, 0.0)
    return left


def scaled(total: Any, share: float) -> Any:
    """Multiply the numbers and arrays of a sum; whole numbers are rounded.

    Arrays of whole numbers stay: they may be keys.

    >>> scaled((3, np.array([2.0])), 0.5)
    (2, array([1.]))
    """
    if isinstance(total, tuple):
        return _like(total, [scaled(part, share) for part in total])
    is_whole = isinstance(total, np.ndarray) and total.dtype.kind in "iu"
    if total is None or is_whole or hasattr(total, "stays") or share == 1.0:
        return total
    return round(total * share) if isinstance(total, int) else total * share


def padded(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array, padded with zeros at the end."""
    return np.pad(array, [(0, n - own) for n, own in zip(shape, array.shape, strict=True)])


def _adds_up_by_part(tree: Any) -> bool:
    return isinstance(tree, tuple) and type(tree).__add__ is tuple.__add__


def _like(tree: Any, parts: Iterable[Any]) -> Any:
    return tree._make(parts) if hasattr(tree, "_make") else tuple(parts)


def plain(tree: Any) -> Any:
    """Return a tree whose tuples have no names."""
    return tuple(map(plain, tree)) if isinstance(tree, tuple) else tree


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the numbers and arrays of a tree."""
    if isinstance(tree, tuple | list):
        for part in tree:
            yield from leaves(part)
    elif tree is not None:
        yield tree


# --- new sources ----------------------------------------------------------------------------------


def grown(state: Tree, n_sources: int) -> Tree:
    """Return a named tuple with rows for as many sources."""
    if not _is_named_tuple(type(state)):
        return state
    parts: list[Any] = []
    for _, value, marks in _parts(state):
        if "source" in marks[:1]:
            fill = next((mark for mark in marks if isinstance(mark, float)), None)
            parts.append(_with_rows(value, n_sources, fill))
        else:
            parts.append(grown(value, n_sources))
    return _like(state, parts)  # type: ignore[no-any-return]


def _with_rows(array: NDArray[Any], n_rows: int, fill: float | None) -> NDArray[Any]:
    n_new = n_rows - len(array)
    if n_new <= 0:
        return array
    row = array.mean(axis=0) if fill is None else np.full(array.shape[1:], fill)
    return np.concatenate([array, np.repeat(np.asarray(row, array.dtype)[None], n_new, axis=0)])


# --- as named arrays ------------------------------------------------------------------------------


def to_arrays(tree: Any, path: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a tree by path, without non-numeric ones such as labels.

    An array ``path.`` names the type of a tuple and its fields.
    """
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", tuple(map(str, range(len(tree)))))
        arrays = {f"{path}.": np.array(" ".join([type(tree).__name__, *names]))}
        for name, part in zip(names, tree, strict=True):
            arrays |= to_arrays(part, f"{path}.{name}" if path else name)
        return arrays
    is_number = isinstance(tree, np.ndarray | np.generic | float | int)
    return {path: np.asarray(tree)} if is_number else {}


def from_arrays(
    kind: Any, arrays: Mapping[str, NDArray[Any]], path: str = "", **given: object
) -> Any:
    """Return a tree of this type, or plain tuples for `tuple`; raise ValueError if types differ.

    What is marked with a name that is `given` is taken from there.
    """
    marks = getattr(kind, "__metadata__", ())
    if marks and marks[0] in given:
        return given[marks[0]]
    name, *fields = str(arrays.get(f"{path}.", "")).split() or [""]
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        options = [one for one in typing.get_args(kind) if one is not type(None)]
        named = [one for one in options if getattr(one, "__name__", "") == name]
        if not named and path not in arrays:
            if len(options) < len(typing.get_args(kind)):
                return None
            raise ValueError(f"the model lacks '{path}'")
        kind = [*named, *options][0]
    prefix = f"{path}." if path else ""
    hints = dict.fromkeys(fields, tuple) if kind is tuple else {}
    if _is_named_tuple(kind):
        hints = _hints(kind)
    elif typing.get_origin(kind) is tuple:
        hints = {str(n): hint for n, hint in enumerate(typing.get_args(kind))}
    if not hints and not (name and kind is tuple) and not _is_named_tuple(kind):
        return _leaf(kind, arrays.get(path), path)
    parts = [from_arrays(hint, arrays, prefix + own, **given) for own, hint in hints.items()]
    return kind(*parts) if _is_named_tuple(kind) else tuple(parts)


def _leaf(kind: Any, array: NDArray[Any] | None, path: str) -> Any:
    """Return a number or an array; None for a missing part of a plain tuple."""
    if array is None:
        if kind is tuple:
            return None
        raise ValueError(f"the model lacks '{path}'")
    if array.dtype.kind not in "fiub" or (array != array).any():  # noqa: PLR0124 - NaN
        raise ValueError(f"'{path}' of the model has entries that are no numbers")
    if isinstance(kind, type) and issubclass(kind, float | int):
        if array.ndim != 0 or (issubclass(kind, int) and array.dtype.kind == "f"):
            raise ValueError(f"'{path}' of the model is no number")
        return kind(array)
    return array.item() if kind is tuple and array.ndim == 0 else array


def check(state: Any, template: Any, sizes: Mapping[str, int]) -> None:
    """Raise ValueError unless a state has types and shapes that can follow from those at the start.

    Axes that annotations name have the length in `sizes`, or that of all others of this name in the
    tuple; the others have that of the template, where it is not empty. Indices must point to
    existing rows, since kernels check no bounds.
    """
    own, is_same = dict(sizes), type(template) is type(state)
    for name, value, marks in _parts(state):
        like = getattr(template, name) if is_same else None
        if isinstance(value, float) and not abs(value) < LARGEST:
            raise ValueError(f"'{name}' of the model is no number")
        if isinstance(value, np.ndarray):
            axes = [mark for mark in marks if isinstance(mark, str)]
            axes += [""] * (value.ndim - len(axes))
            _check_array(name, value, like, axes)
            for axis, n in zip(axes, value.shape, strict=False):
                if axis and own.setdefault(axis, n) != n:
                    raise ValueError(f"'{name}' of the model has another shape")
    for name, value, marks in _parts(state):
        for mark in marks:
            if isinstance(mark, Index):
                _check_index(name, value, mark.least, own[mark.of])
        if _is_named_tuple(type(value)):
            like = getattr(template, name) if is_same else None
            is_own = like is None and type(value) is type(state)  # as a second answer
            check(value, template if is_own else like, own)


def _check_array(name: str, array: NDArray[Any], like: Any, axes: list[str]) -> None:
    if array.dtype.kind not in "fiub" or not (np.abs(array) < LARGEST).all():
        raise ValueError(f"'{name}' of the model has entries that are no numbers, or too large")
    if not isinstance(like, np.ndarray):
        return
    is_like = array.ndim == like.ndim and (not array.size or array.dtype.kind == like.dtype.kind)
    if like.size and is_like:  # what was empty may have been filled
        is_like = all(
            bool(axis) or n == m for axis, n, m in zip(axes, array.shape, like.shape, strict=True)
        )
    if not is_like:
        raise ValueError(f"'{name}' of the model has another shape")


def _check_index(name: str, index: NDArray[Any], least: int, end: int) -> None:
    if not ((index >= least) & (index < end)).all():
        raise ValueError(f"'{name}' of the model has indices out of range")


# --- annotations ----------------------------------------------------------------------------------


def _parts(state: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the name and value of each field, and the marks of its annotation."""
    kind: Any = type(state)
    for name, hint in _hints(kind).items():
        yield name, getattr(state, name), getattr(hint, "__metadata__", ())


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)
