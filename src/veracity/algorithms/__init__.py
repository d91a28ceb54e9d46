"""One paper, one file; `base` holds what they have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veracity.algorithms.base import Algorithm, Rates
from veracity.algorithms.ltd_rbm import LTDRBM
from veracity.algorithms.ltm import LTM
from veracity.algorithms.majority_vote import MajorityVote
from veracity.algorithms.prior import Prior, PriorRates, Rate
from veracity.errors import ParameterError

__all__ = [
    "ALGORITHMS",
    "LTDRBM",
    "LTM",
    "Algorithm",
    "MajorityVote",
    "Prior",
    "PriorRates",
    "Rate",
    "Rates",
    "algorithm_named",
]

ALGORITHMS: dict[str, Callable[[], Algorithm[Any]]] = {
    "ltd-rbm": LTDRBM,
    "ltd-rbm-c": lambda: LTDRBM(single_truth=True),
    "majority-vote": MajorityVote,
    "ltm": LTM,
}
"""The algorithms by the name they have on the command line, each with its default parameters."""


def algorithm_named(name: str) -> Algorithm[Any]:
    """The algorithm of this name, with its default parameters.

    >>> algorithm_named("majority-vote")
    MajorityVote()
    """
    if name not in ALGORITHMS:
        raise ParameterError(f"no algorithm '{name}'; there are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]()
