"""How kernels are compiled, and what several of them share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from math import exp
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def _spare_linear_algebra() -> None:
    """Let Numba load the linear algebra of SciPy when somebody's kernel asks for it, not before.

    No kernel here does, and it is a third of what there is to load. Numba looks once whether it is
    there, by loading it; it is, since this package needs it for other things.
    """
    linalg: Any = importlib.import_module("numba.np.linalg")
    load = getattr(linalg, "ensure_blas", None)
    if load is None:  # a Numba that does it otherwise
        return
    linalg.ensure_blas = lambda: None
    try:
        arraymath: Any = importlib.import_module("numba.np.arraymath")
        arraymath.ensure_blas = load
    finally:
        linalg.ensure_blas = load


_spare_linear_algebra()

HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""How kernels are compiled: to run beside other threads, with x / 0 as in NumPy."""

BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Nothing but the function itself, for others that are compiled: Python must never call it."""


def kernel(function: Function) -> Function:
    """A kernel that is compiled when it is first called, and kept for the next time."""
    compiled: Function = njit(cache=True, **HOW)(function)
    return compiled


@kernel
def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    share = exp(x)
    return share / (1.0 + share)
