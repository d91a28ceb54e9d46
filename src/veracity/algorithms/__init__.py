"""One paper, one file; `base` holds what they have in common, `catalogue` their names."""

from __future__ import annotations

import importlib
from typing import Any

from veracity.algorithms.base import Algorithm, Rates
from veracity.algorithms.catalogue import CATALOGUE, algorithm_named, algorithms, public_names
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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any algorithm, when it is first asked for
    places = public_names()
    if name not in places:
        raise AttributeError(f"module 'veracity.algorithms' has no attribute '{name}'")
    return getattr(importlib.import_module(places[name]), name)
