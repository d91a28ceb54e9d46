"""How tallies become one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def merged(one: Any, other: Any) -> Any:
    """Two tallies as one. Numbers and arrays add up; what merges otherwise says so by its ``+``.

    Of two arrays the smaller may lack the last rows: names only ever grow, so these are of names
    that it has never met.

    >>> merged((1, np.array([1, 2])), (2, np.array([1, 1, 1])))
    (3, array([2, 3, 1]))
    """
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, tuple) and type(one).__add__ is tuple.__add__:
        parts = [merged(a, b) for a, b in zip(one, other, strict=True)]
        return one._make(parts) if hasattr(one, "_make") else tuple(parts)
    if isinstance(one, np.ndarray) and one.shape != other.shape:
        shape = tuple(map(max, one.shape, other.shape))
        return padded(one, shape) + padded(other, shape)
    return one + other


def merged_all(tallies: Iterable[Any]) -> Any:
    """Tallies as one, in their order; None if there is none.

    All are added to a copy of the first, in place: with many sources, arrays are large.

    >>> merged_all([(1, np.array([1, 2])), (2, np.array([1, 1])), (3, np.array([4, 5]))])
    (6, array([6, 8]))
    """
    total, is_own = None, False
    for tally in tallies:
        if total is not None and not is_own:
            total, is_own = _copied(total), True
        total = tally if total is None else _added(total, tally)
    return total


def _copied(tally: Any) -> Any:
    """The same, with arrays that nothing else refers to: two of its own may be one."""
    if isinstance(tally, tuple):
        parts = map(_copied, tally)
        return tally._make(parts) if hasattr(tally, "_make") else tuple(parts)
    return tally.copy() if isinstance(tally, np.ndarray) else tally


def _added(total: Any, tally: Any) -> Any:
    """The same as `merged`, where the arrays of the total may be written to."""
    if total is None:
        return _copied(tally)
    if isinstance(total, tuple) and type(total).__add__ is tuple.__add__ and tally is not None:
        parts = [_added(own, other) for own, other in zip(total, tally, strict=True)]
        return total._make(parts) if hasattr(total, "_make") else tuple(parts)
    are_arrays = isinstance(total, np.ndarray) and isinstance(tally, np.ndarray)
    if are_arrays and (total.shape, total.dtype) == (tally.shape, tally.dtype):
        total += tally
        return total
    return merged(total, tally)


def can_merge(kept: Any, total: Any) -> bool:
    """Whether a tally that was kept can be one of what this one is of, or of a part of it."""
    if kept is None or total is None:
        return True
    if isinstance(total, tuple):
        if not isinstance(kept, tuple) or len(kept) != len(total):
            return False
        if type(total).__add__ is not tuple.__add__:
            return _are_columns(kept, total)
        return all(map(can_merge, kept, total))
    if isinstance(total, np.ndarray):
        is_array = isinstance(kept, np.ndarray) and kept.ndim == total.ndim
        return is_array and all(map(int.__le__, kept.shape, total.shape))
    return isinstance(kept, int | float | np.number)


def _are_columns(kept: tuple[Any, ...], total: tuple[Any, ...]) -> bool:
    """Whether both are lists side by side, merged by what is in them."""
    are_alike = all(
        isinstance(own, np.ndarray) and own.ndim == 1 and own.dtype.kind == like.dtype.kind
        for own, like in zip(kept, total, strict=True)
    )
    return are_alike and len({len(own) for own in kept}) == 1


def padded(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The array, with zeros behind what it has."""
    return np.pad(array, [(0, n - own) for n, own in zip(shape, array.shape, strict=True)])
