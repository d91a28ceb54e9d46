"""One paper, one file; `base` holds what they have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veracity.algorithms.accu import Accu
from veracity.algorithms.accu_copy import AccuCopy
from veracity.algorithms.accu_sim import AccuSim
from veracity.algorithms.average_log import AverageLog
from veracity.algorithms.base import Algorithm, Rates
from veracity.algorithms.catd import CATD
from veracity.algorithms.crh import CRH
from veracity.algorithms.dawid_skene import DawidSkene
from veracity.algorithms.gtm import GTM
from veracity.algorithms.investment import Investment
from veracity.algorithms.ltd_rbm import LTDRBM
from veracity.algorithms.ltm import LTM
from veracity.algorithms.majority_vote import MajorityVote
from veracity.algorithms.mle import MLE
from veracity.algorithms.one_coin import OneCoin
from veracity.algorithms.pooled_investment import PooledInvestment
from veracity.algorithms.prior import Prior, PriorRates, Rate
from veracity.algorithms.simple_lca import SimpleLCA
from veracity.algorithms.sums import Sums
from veracity.algorithms.three_estimates import ThreeEstimates
from veracity.algorithms.truth_finder import TruthFinder
from veracity.algorithms.two_estimates import TwoEstimates
from veracity.algorithms.veracity import Veracity
from veracity.errors import ParameterError

__all__ = [
    "ALGORITHMS",
    "CATD",
    "CRH",
    "GTM",
    "LTDRBM",
    "LTM",
    "MLE",
    "Accu",
    "AccuCopy",
    "AccuSim",
    "Algorithm",
    "AverageLog",
    "DawidSkene",
    "Investment",
    "MajorityVote",
    "OneCoin",
    "PooledInvestment",
    "Prior",
    "PriorRates",
    "Rate",
    "Rates",
    "SimpleLCA",
    "Sums",
    "ThreeEstimates",
    "TruthFinder",
    "TwoEstimates",
    "Veracity",
    "algorithm_named",
]

ALGORITHMS: dict[str, Callable[[], Algorithm[Any]]] = {
    "veracity": Veracity,
    "ltd-rbm": LTDRBM,
    "ltd-rbm-c": lambda: LTDRBM(single_truth=True),
    "majority-vote": MajorityVote,
    "mle": MLE,
    "ltm": LTM,
    "two-estimates": TwoEstimates,
    "three-estimates": ThreeEstimates,
    "truth-finder": TruthFinder,
    "accu": Accu,
    "accu-sim": AccuSim,
    "accu-copy": AccuCopy,
    "simple-lca": SimpleLCA,
    "sums": Sums,
    "average-log": AverageLog,
    "investment": Investment,
    "pooled-investment": PooledInvestment,
    "dawid-skene": DawidSkene,
    "one-coin": OneCoin,
    "crh": CRH,
    "catd": CATD,
    "gtm": GTM,
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
