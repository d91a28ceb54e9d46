"""Algorithms, one paper or family of papers in each file.

`base` holds what they have in common, `catalogue` lists their names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veracity.algorithms.catalogue import CATALOGUE, algorithm_named, algorithms, public_names

if TYPE_CHECKING:
    from veracity.algorithms.accu import Accu, AccuFormat, AccuSim, PopAccu
    from veracity.algorithms.accu_copy import AccuCopy, AccuSimCopy
    from veracity.algorithms.base import Algorithm, Rates
    from veracity.algorithms.dare import DARE
    from veracity.algorithms.default import Veracity
    from veracity.algorithms.estimates import Cosine, ThreeEstimates, TwoEstimates
    from veracity.algorithms.item_features import ItemFeatures
    from veracity.algorithms.labels import DawidSkene, OneCoin
    from veracity.algorithms.lca import GuessLCA, LieLCA, MistakeLCA, SimpleLCA
    from veracity.algorithms.ltd_rbm import LTDRBM
    from veracity.algorithms.ltd_rbm_n import NumericLTDRBM
    from veracity.algorithms.ltm import LTM
    from veracity.algorithms.majority_vote import MajorityVote
    from veracity.algorithms.mle import MLE, RecursiveEM
    from veracity.algorithms.numbers import CATD, CRH, GTM
    from veracity.algorithms.prior import ErrorSpread, Prior, PriorRates, Rate
    from veracity.algorithms.source_features import SourceFeatures
    from veracity.algorithms.sstf import SSTF
    from veracity.algorithms.sums import AverageLog, Investment, PooledInvestment, Sums
    from veracity.algorithms.truth_finder import TruthFinder

__all__ = [
    "CATALOGUE",
    "CATD",
    "CRH",
    "DARE",
    "GTM",
    "LTDRBM",
    "LTM",
    "MLE",
    "SSTF",
    "Accu",
    "AccuCopy",
    "AccuFormat",
    "AccuSim",
    "AccuSimCopy",
    "Algorithm",
    "AverageLog",
    "Cosine",
    "DawidSkene",
    "ErrorSpread",
    "GuessLCA",
    "Investment",
    "ItemFeatures",
    "LieLCA",
    "MajorityVote",
    "MistakeLCA",
    "NumericLTDRBM",
    "OneCoin",
    "PooledInvestment",
    "PopAccu",
    "Prior",
    "PriorRates",
    "Rate",
    "Rates",
    "RecursiveEM",
    "SimpleLCA",
    "SourceFeatures",
    "Sums",
    "ThreeEstimates",
    "TruthFinder",
    "TwoEstimates",
    "Veracity",
    "algorithm_named",
    "algorithms",
]

_HOME = {
    **public_names(),
    **dict.fromkeys(("Algorithm", "Rates"), "veracity.algorithms.base"),
    **dict.fromkeys(("ErrorSpread", "Prior", "PriorRates", "Rate"), "veracity.algorithms.prior"),
    "ItemFeatures": "veracity.algorithms.item_features",
    "SourceFeatures": "veracity.algorithms.source_features",
}
"""The module of each class; it is loaded on first use."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'veracity.algorithms' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
