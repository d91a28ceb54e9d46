"""How kernels are compiled, and what several of them share."""

from __future__ import annotations

from math import exp

from numba import njit

__all__ = ["kernel", "sigmoid"]

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""How kernels are compiled: kept for the next time, beside other threads, x / 0 as in NumPy."""


@kernel
def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    share = exp(x)
    return share / (1.0 + share)
