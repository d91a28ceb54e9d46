"""How the answer was made: settings, versions, and what to type to make it again."""

from __future__ import annotations

import json
import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.algorithms import algorithm_named, algorithms
from veracity.algorithms.parameters import settable
from veracity.discovery import USUAL_ALGORITHM
from veracity.printing import counted
from veracity.reading.roles import CARRYING
from veracity.result import Result
from veracity.result.run import Run, describe_parameters
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Look, details, paragraph, table, text

NO_FILE = "CLAIMS"
"""What stands for claims that were no file."""

FEATURES = {"source_features", "item_features"}
"""Parameters that are handed over as tables, beside the algorithm."""

PACKAGES = ("numpy", "numba", "scipy", "polars", "altair", "vl-convert-python")


def making(found: Findings) -> str:
    """Settings, versions and the command."""
    result = found.result
    parts = [
        _ran(result),
        f"<pre><code>{text(command(result))}</code></pre>",
        paragraph("or, in Python,"),
        f"<pre><code>{text(python_call(result))}</code></pre>",
        table(_settings(result), Look(caption="Settings")),
        table(_versions(result), Look(caption="Versions")),
    ]
    trace = found.drawn.show("trace")
    return "".join([*parts, details("How it settled, round by round", trace) if trace else ""])


def _ran(result: Result) -> str:
    run = result.run
    rounds = counted(run.rounds, "round")
    how = "converged" if result.converged else "did not converge"
    seconds = sum(run.seconds.values())
    took = f", in {seconds:,.1f} seconds" if seconds else ""
    saved = f" The run was saved at {run.saved}." if run.saved else ""
    return paragraph(f"{run.algorithm} {how} after {rounds}{took}.{saved} To make it again:")


def command(result: Result) -> str:
    """What to type; in capitals what only the user can know."""
    run = result.run
    words = ["veracity", "discover", _origin(run), "--algorithm", run.algorithm]
    if run.kind != "categorical":
        words += ["--kind", run.kind]
    columns = _columns(run)
    if columns:
        words += ["--columns", ",".join(f"{part}={name}" for part, name in columns.items())]
    for name, value in run.input.shape.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value == "yes" else [option, value]
    if run.normalisation:
        words.append("--normalise")
    if run.min_plausibility is not None:
        words += ["--min-plausibility", str(run.min_plausibility)]
    if run.input.known:
        words += ["--known", "TRUTHS"]
    said, unsaid = _said_of_parameters(result)
    line = shlex.join([*words, *said, "--out", "run/"])
    return f"{line}  # but with {', '.join(unsaid)} as below" if unsaid else line


def _said_of_parameters(result: Result) -> tuple[list[str], list[str]]:
    """The options that say how the algorithm differs from the usual one; what none can say."""
    changed, words = _changed(result), list[str]()
    if "prior" in changed:
        words += ["--prior", "TABLE"]
    for name in sorted(FEATURES & changed.keys(), reverse=True):
        words += [f"--{name.replace('_', '-')}", "TABLE"]
    if "seed" in changed:
        words += ["--seed", str(changed["seed"])]
    others = sorted(set(changed) - {"prior", "seed", *FEATURES})
    known = settable(algorithm_named(result.run.algorithm)) if others else {}
    for name in others:
        if name in known:
            words += ["--set", f"{name}={_in_words(changed[name])}"]
    return words, [name for name in others if name not in known]


def _in_words(value: object) -> str:
    """A parameter as ``--set`` takes it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def python_call(result: Result) -> str:
    """What to write in Python, with all that differs from the defaults."""
    run = result.run
    is_usual = run.algorithm == USUAL_ALGORITHM[result.kind] and not _own_parameters(result)
    origin = _origin(run)
    given = [origin if origin == NO_FILE else json.dumps(origin, ensure_ascii=False)]
    if not is_usual:
        given.append(_algorithm(result))
    columns = _columns(run)
    if columns:
        given.append(f"columns={columns!r}")
    for name, value in run.input.shape.items():
        given.append(f"{name}={True if value == 'yes' else value!r}")
    if run.kind != "categorical":
        given.append(f"kind={run.kind!r}")
    if run.normalisation:
        given.append("normalise=True")
    if run.min_plausibility is not None:
        given.append(f"min_plausibility={run.min_plausibility!r}")
    if run.input.known:
        given.append("known=TRUTHS")
    described = sorted(FEATURES & _changed(result).keys(), reverse=True)
    given += [f"{name}=TABLE" for name in described]
    return f"veracity.discover({', '.join(given)})"


def _algorithm(result: Result) -> str:
    """The algorithm, with the parameters that are not the usual ones."""
    run, changed = result.run, _own_parameters(result)
    if run.algorithm not in algorithms() or not changed:
        return repr(run.algorithm)
    given = ", ".join(
        f"{name}={'PRIOR' if name == 'prior' else repr(value)}"
        for name, value in {**algorithms()[run.algorithm].preset, **changed}.items()
    )
    return f"veracity.{type(algorithm_named(run.algorithm)).__name__}({given})"


def _own_parameters(result: Result) -> dict[str, Any]:
    """The same without the features, which are handed over beside the algorithm."""
    changed = _changed(result)
    return {name: value for name, value in changed.items() if name not in FEATURES}


def _changed(result: Result) -> dict[str, Any]:
    """The parameters that are not the usual ones."""
    run = result.run
    if run.algorithm not in algorithms():
        return {}
    usual = describe_parameters(algorithm_named(run.algorithm))
    return {k: v for k, v in run.parameters.items() if k in usual and v != usual[k]}


def _origin(run: Run) -> str:
    """The file that was read, or a name for what was no file."""
    origin = str(run.input.origin)
    return NO_FILE if origin.startswith("the ") else origin


def _columns(run: Run) -> dict[str, str]:
    """The columns that have to be named: by another name, or to be read at all."""
    columns = run.input.columns.items()
    return {part: name for part, name in columns if part != name or part in CARRYING}


def _settings(result: Result) -> pl.DataFrame:
    run = result.run
    settings = {
        "claims": run.input.origin,
        "kind of claims": run.kind,
        "algorithm": run.algorithm,
        **run.parameters,
        "known truths": run.input.known,
        "min_plausibility": run.min_plausibility,
        "normalised": "yes" if run.normalisation else "no",
    }
    rows = [(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in settings.items()]  # fmt: skip
    return pl.DataFrame(rows, schema=["setting", "value"], orient="row")


def _versions(result: Result) -> pl.DataFrame:
    """What discovered, and what wrote this page."""
    rows = [
        ("veracity, which discovered", str(result.run.veracity or __version__)),
        ("veracity, which wrote this page", __version__),
        ("python", platform.python_version()),
    ]
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return pl.DataFrame(rows, schema=["package", "version"], orient="row")
