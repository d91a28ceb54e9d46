"""Hyperparameters that studies change, and the values that they try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from veracity.algorithms import Algorithm, algorithm_named
from veracity.errors import ParameterError

MACHINES_AND_RIVALS = ("ltd-rbm-cd", "ltd-rbm", "ltd-rbm-c-cd", "ltd-rbm-c", "mle", "ltm")
"""Algorithms that the paper compares on real claims. LTD-RBM is trained both as in the paper (cd)
and by the exact gradient."""

Setting = Mapping[str, float]

GRID: dict[str, tuple[float, ...]] = {
    "fpr": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    "tpr": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    "prevalence": (0.1, 0.2, 0.3, 0.5, 0.7),
    "learning_rate": (0.001, 0.003, 0.01, 0.03, 0.1),
    "decay": (0.1, 0.25, 0.5, 1.0),
    "batch_size": (1, 10, 100, 1000, 10_000),
    "steps": (2, 5, 10, 20, 50),
}
"""The values each hyperparameter may take."""

OF_PRIOR = ("fpr", "tpr", "prevalence")
WHOLE = ("batch_size", "steps")
"""Hyperparameters that are whole numbers."""


def parameters_of(name: str) -> list[str]:
    """Return the names of the hyperparameters of an algorithm.

    >>> parameters_of("mle")
    ['fpr', 'tpr', 'prevalence']
    """
    own = {field.name for field in fields(algorithm_named(name))}  # type: ignore[arg-type]
    return [p for p in GRID if p in own or ("prior" in own and p in OF_PRIOR)]


def with_settings(name: str, setting: Setting, seed: int = 0) -> Algorithm[Any]:
    """Return an algorithm with some of its hyperparameters set.

    >>> with_settings("ltd-rbm", {"fpr": 0.1, "decay": 0.25}).prior.fpr
    0.1
    """
    unknown = setting.keys() - set(parameters_of(name))
    if unknown:
        raise ParameterError(
            f"study: {name} has no parameter {min(unknown)!r} to set; it has {parameters_of(name)}"
        )
    algorithm = algorithm_named(name)
    own = {field.name for field in fields(algorithm)}  # type: ignore[arg-type]
    whole = {p: int(setting[p]) for p in WHOLE if p in setting}
    of_prior: dict[str, Any] = {p: setting[p] for p in OF_PRIOR if p in setting}
    changes: dict[str, Any] = {p: v for p, v in setting.items() if p not in of_prior} | whole
    if of_prior:
        changes["prior"] = replace(algorithm.prior, **of_prior)
    if "seed" in own:
        changes["seed"] = seed
    return replace(algorithm, **changes)  # type: ignore[type-var]
