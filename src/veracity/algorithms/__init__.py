"""One paper, one file; `base` holds what they have in common, `catalogue` their names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veracity.algorithms.catalogue import CATALOGUE, algorithm_named, algorithms, public_names

if TYPE_CHECKING:
    from veracity.algorithms.base import Algorithm, Rates
    from veracity.algorithms.prior import Prior, PriorRates, Rate

__all__ = [
    "CATALOGUE",
    "Algorithm",
    "Prior",
    "PriorRates",
    "Rate",
    "Rates",
    "algorithm_named",
    "algorithms",
]

_HOME = {
    **public_names(),
    **dict.fromkeys(("Algorithm", "Rates"), "veracity.algorithms.base"),
    **dict.fromkeys(("Prior", "PriorRates", "Rate"), "veracity.algorithms.prior"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'veracity.algorithms' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)
