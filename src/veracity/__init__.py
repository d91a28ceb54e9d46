"""Latent truth discovery: which value is true, how sure that is, which sources to trust.

>>> import polars as pl
>>> import veracity
>>> claims = pl.DataFrame({
...     "source": ["tower", "orbitz", "flightaware"], "entity": ["AA-1007"] * 3,
...     "attribute": ["gate"] * 3, "value": ["D30", "C5", "D30"]})
>>> veracity.discover(claims).truths["value"].to_list()
['D30']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veracity._version import __version__

if TYPE_CHECKING:
    from veracity import algorithms, errors, synthetic
    from veracity.algorithms.prior import Prior
    from veracity.api import discover
    from veracity.engines import Local
    from veracity.engines.spark import Spark
    from veracity.inspect.checking import check
    from veracity.inspect.comparison import compare
    from veracity.inspect.difference import diff
    from veracity.inspect.evaluation import evaluate
    from veracity.inspect.profiling import profile
    from veracity.inspect.tuning import tune
    from veracity.reading.claims import read_claims, read_database
    from veracity.result import Result, load
    from veracity.stream import Stream

__all__ = [
    "Local",
    "Prior",
    "Result",
    "Spark",
    "Stream",
    "__version__",
    "algorithms",
    "check",
    "compare",
    "diff",
    "discover",
    "errors",
    "evaluate",
    "load",
    "profile",
    "read_claims",
    "read_database",
    "synthetic",
    "tune",
]

_HOME = {
    "Local": "veracity.engines",
    "Prior": "veracity.algorithms.prior",
    "Result": "veracity.result",
    "Spark": "veracity.engines.spark",
    "Stream": "veracity.stream",
    "check": "veracity.inspect.checking",
    "compare": "veracity.inspect.comparison",
    "diff": "veracity.inspect.difference",
    "discover": "veracity.api",
    "evaluate": "veracity.inspect.evaluation",
    "load": "veracity.result",
    "profile": "veracity.inspect.profiling",
    "read_claims": "veracity.reading.claims",
    "read_database": "veracity.reading.claims",
    "tune": "veracity.inspect.tuning",
}
"""Module of each public name, which is loaded on first use."""

_MODULES = ("algorithms", "errors", "synthetic")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"veracity.{name}")
    else:
        raise AttributeError(_no_attribute(name))
    globals()[name] = found  # the next access does not come here
    return found


def _no_attribute(name: str) -> str:
    """Return the message for an unknown name; it says where an algorithm is."""
    from veracity.algorithms import __all__ as algorithms_and_more

    where = f"; it is veracity.algorithms.{name}" if name in algorithms_and_more else ""
    return f"module 'veracity' has no attribute '{name}'{where}"


def __dir__() -> list[str]:
    return __all__
