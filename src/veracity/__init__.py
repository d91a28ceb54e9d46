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
    from veracity import errors, study, synthetic
    from veracity.algorithms import (
        CATD,
        CRH,
        GTM,
        LTDRBM,
        LTM,
        MLE,
        Accu,
        AccuCopy,
        AccuSim,
        AverageLog,
        DawidSkene,
        Investment,
        MajorityVote,
        OneCoin,
        PooledInvestment,
        Prior,
        Rate,
        SimpleLCA,
        Sums,
        ThreeEstimates,
        TruthFinder,
        TwoEstimates,
        Veracity,
    )
    from veracity.inspect.profiling import Profile, profile
    from veracity.inspect.comparison import Comparison, compare
    from veracity.discovery import discover
    from veracity.engines import Local
    from veracity.inspect.evaluation import Evaluation, evaluate
    from veracity.inspect.checking import Health, check
    from veracity.claims.read import read_claims
    from veracity.show.report import write_report
    from veracity.result import Result, load

__all__ = [
    "CATD",
    "CRH",
    "GTM",
    "LTDRBM",
    "LTM",
    "MLE",
    "Accu",
    "AccuCopy",
    "AccuSim",
    "AverageLog",
    "Comparison",
    "DawidSkene",
    "Evaluation",
    "Health",
    "Investment",
    "Local",
    "MajorityVote",
    "OneCoin",
    "PooledInvestment",
    "Prior",
    "Profile",
    "Rate",
    "Result",
    "SimpleLCA",
    "Sums",
    "ThreeEstimates",
    "TruthFinder",
    "TwoEstimates",
    "Veracity",
    "__version__",
    "check",
    "compare",
    "discover",
    "errors",
    "evaluate",
    "load",
    "profile",
    "read_claims",
    "study",
    "synthetic",
    "write_report",
]

_HOME = {
    "Accu": "veracity.algorithms",
    "AccuCopy": "veracity.algorithms",
    "AccuSim": "veracity.algorithms",
    "AverageLog": "veracity.algorithms",
    "CATD": "veracity.algorithms",
    "CRH": "veracity.algorithms",
    "Comparison": "veracity.inspect.comparison",
    "DawidSkene": "veracity.algorithms",
    "Evaluation": "veracity.inspect.evaluation",
    "GTM": "veracity.algorithms",
    "Health": "veracity.inspect.checking",
    "Investment": "veracity.algorithms",
    "LTDRBM": "veracity.algorithms",
    "LTM": "veracity.algorithms",
    "Local": "veracity.engines",
    "MLE": "veracity.algorithms",
    "MajorityVote": "veracity.algorithms",
    "OneCoin": "veracity.algorithms",
    "PooledInvestment": "veracity.algorithms",
    "Prior": "veracity.algorithms",
    "Profile": "veracity.inspect.profiling",
    "Rate": "veracity.algorithms",
    "Result": "veracity.result",
    "SimpleLCA": "veracity.algorithms",
    "Sums": "veracity.algorithms",
    "ThreeEstimates": "veracity.algorithms",
    "TruthFinder": "veracity.algorithms",
    "TwoEstimates": "veracity.algorithms",
    "Veracity": "veracity.algorithms",
    "check": "veracity.inspect.checking",
    "compare": "veracity.inspect.comparison",
    "discover": "veracity.discovery",
    "evaluate": "veracity.inspect.evaluation",
    "load": "veracity.result",
    "profile": "veracity.inspect.profiling",
    "read_claims": "veracity.claims.read",
    "write_report": "veracity.show.report",
}
"""Where each public name lives; it is loaded when first asked for."""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
    elif name in ("errors", "study", "synthetic"):
        found = importlib.import_module(f"veracity.{name}")
    else:
        raise AttributeError(f"module 'veracity' has no attribute '{name}'")
    globals()[name] = found  # the next access does not come here
    return found


def __dir__() -> list[str]:
    return __all__
