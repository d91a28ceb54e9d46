"""Write the command that repeats a run."""

from __future__ import annotations

import shlex
from typing import Any

from veracity.algorithms import algorithm_named, algorithms
from veracity.algorithms.parameters import settable
from veracity.reading.roles import CARRYING
from veracity.result import Result
from veracity.result.run import describe_parameters

NO_FILE = "CLAIMS"
"""Placeholder for claims that did not come from a file."""

TABLES = ("prior", "source_features", "item_features")
"""Parameters that are passed as tables."""


def command(result: Result) -> str:
    """Return the command that repeats a run; the user has to fill in the words in capitals."""
    run, origin = result.run, str(result.run.input.origin)
    words = ["veracity", "discover", NO_FILE if origin.startswith("the ") else origin]
    words += ["--algorithm", run.algorithm]
    if run.kind != "categorical":
        words += ["--kind", run.kind]
    columns = [
        f"{part}={name}"
        for part, name in run.input.columns.items()
        if part != name or part in CARRYING
    ]
    if columns:
        words += ["--columns", ",".join(columns)]
    for name, value in run.input.shape.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value == "yes" else [option, value]
    for placeholder in run.input.no_value:
        words += ["--no-value", placeholder]
    if run.normalisation:
        words.append("--normalise")
    if run.alikeness is not None and run.alikeness["ancestors"]:
        words += ["--hierarchy", "TABLE"]
    if run.min_plausibility is not None:
        words += ["--min-plausibility", str(run.min_plausibility)]
    if run.rules:
        words += ["--rules", "RULES"]
    if run.input.known:
        words += ["--known", "TRUTHS"]
    changed = _changed(result)
    for name in TABLES:
        if name in changed:
            words += [f"--{name.replace('_', '-')}", "TABLE"]
    if "seed" in changed:
        words += ["--set", f"seed={changed['seed']}"]
    others = sorted(set(changed) - {"seed", *TABLES})
    known = settable(algorithm_named(run.algorithm)) if others else {}
    for name in others:
        if name in known:
            words += ["--set", f"{name}={_as_typed(changed[name])}"]
    unsaid = [name for name in others if name not in known]
    line = shlex.join([*words, "--out", "run/"])
    return f"{line}  # but with {', '.join(unsaid)} as below" if unsaid else line


def _as_typed(value: object) -> str:
    """Return a parameter in the form of ``--set``."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _changed(result: Result) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    run = result.run
    if run.algorithm not in algorithms():
        return {}
    usual = describe_parameters(algorithm_named(run.algorithm))
    return {k: v for k, v in run.parameters.items() if k in usual and v != usual[k]}
