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
from veracity.algorithms.catalogue import public_names

if TYPE_CHECKING:
    from veracity import errors, study, synthetic, tables, testing
    from veracity.algorithms.accu import Accu, AccuFormat, AccuSim, PopAccu
    from veracity.algorithms.accu_copy import AccuCopy, AccuSimCopy
    from veracity.algorithms.base import Algorithm
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
    from veracity.algorithms.mle import MLE
    from veracity.algorithms.numbers import CATD, CRH, GTM
    from veracity.algorithms.prior import ErrorSpread, Prior, Rate
    from veracity.algorithms.source_features import SourceFeatures
    from veracity.algorithms.sstf import SSTF
    from veracity.algorithms.sums import AverageLog, Investment, PooledInvestment, Sums
    from veracity.algorithms.truth_finder import TruthFinder
    from veracity.discovery import discover
    from veracity.engines import Local
    from veracity.engines.spark import Spark
    from veracity.fit.fitted import Fitted
    from veracity.inspect.agreement import Agreement, agreement
    from veracity.inspect.checking import Health, check
    from veracity.inspect.comparison import Comparison, compare
    from veracity.inspect.difference import Difference, diff
    from veracity.inspect.estimating import Estimate
    from veracity.inspect.evaluation import Evaluation, evaluate
    from veracity.inspect.profiling import Profile, profile
    from veracity.inspect.tuning import Tuning, tune
    from veracity.reading.claims import read_claims, read_database
    from veracity.result import Result, load
    from veracity.show.report import write_report

__all__ = [
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
    "Agreement",
    "Algorithm",
    "AverageLog",
    "Comparison",
    "Cosine",
    "DawidSkene",
    "Difference",
    "ErrorSpread",
    "Estimate",
    "Evaluation",
    "Fitted",
    "GuessLCA",
    "Health",
    "Investment",
    "ItemFeatures",
    "LieLCA",
    "Local",
    "MajorityVote",
    "MistakeLCA",
    "NumericLTDRBM",
    "OneCoin",
    "PooledInvestment",
    "PopAccu",
    "Prior",
    "Profile",
    "Rate",
    "Result",
    "SimpleLCA",
    "SourceFeatures",
    "Spark",
    "Sums",
    "ThreeEstimates",
    "TruthFinder",
    "Tuning",
    "TwoEstimates",
    "Veracity",
    "__version__",
    "agreement",
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
    "study",
    "synthetic",
    "tables",
    "testing",
    "tune",
    "write_report",
]

_HOME = {
    **public_names(),
    "Agreement": "veracity.inspect.agreement",
    "Difference": "veracity.inspect.difference",
    "Tuning": "veracity.inspect.tuning",
    "agreement": "veracity.inspect.agreement",
    "diff": "veracity.inspect.difference",
    "Algorithm": "veracity.algorithms.base",
    "Comparison": "veracity.inspect.comparison",
    "ErrorSpread": "veracity.algorithms.prior",
    "Estimate": "veracity.inspect.estimating",
    "Evaluation": "veracity.inspect.evaluation",
    "Fitted": "veracity.fit.fitted",
    "Health": "veracity.inspect.checking",
    "ItemFeatures": "veracity.algorithms.item_features",
    "Local": "veracity.engines",
    "Prior": "veracity.algorithms.prior",
    "Profile": "veracity.inspect.profiling",
    "Rate": "veracity.algorithms.prior",
    "Result": "veracity.result",
    "SourceFeatures": "veracity.algorithms.source_features",
    "Spark": "veracity.engines.spark",
    "check": "veracity.inspect.checking",
    "compare": "veracity.inspect.comparison",
    "discover": "veracity.discovery",
    "evaluate": "veracity.inspect.evaluation",
    "load": "veracity.result",
    "profile": "veracity.inspect.profiling",
    "read_claims": "veracity.reading.claims",
    "read_database": "veracity.reading.claims",
    "tune": "veracity.inspect.tuning",
    "write_report": "veracity.show.report",
}
"""Where each public name lives; it is loaded when first asked for."""

_MODULES = ("errors", "study", "synthetic", "tables", "testing")

__all__ += sorted(_HOME.keys() - set(__all__))  # noqa: PLE0605 - algorithms not spelt out above


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"veracity.{name}")
    else:
        raise AttributeError(f"module 'veracity' has no attribute '{name}'")
    globals()[name] = found  # the next access does not come here
    return found


def __dir__() -> list[str]:
    return __all__
