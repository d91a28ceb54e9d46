"""How kernels are compiled, and what several of them share."""

from __future__ import annotations

import importlib
from math import exp
from typing import Any

from numba import njit

__all__ = ["kernel", "sigmoid"]


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

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""How kernels are compiled: kept for the next time, beside other threads, x / 0 as in NumPy."""


@kernel
def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    share = exp(x)
    return share / (1.0 + share)
