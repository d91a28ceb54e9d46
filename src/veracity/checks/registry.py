"""List of checks: `register` adds a check, `run_checks` runs all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from veracity.checks.evidence import Evidence

Severity = Literal["serious", "caution"]

Cost = Literal["counts", "sample", "whole"]
"""Data that a check needs: sums over all claims, a sample of shared items, or all claims at once.
The last may be too many."""


class Seen(NamedTuple):
    """Observation of a check in these claims."""

    text: str
    serious: bool | np.bool_ = False
    examples: pl.DataFrame | None = None


@dataclass(frozen=True)
class Finding:
    """Reason to doubt: what was `seen`, its `meaning`, the `remedy`, and `examples`, if any."""

    name: str
    severity: Severity
    seen: str
    meaning: str
    remedy: str
    examples: Any = field(default=None, compare=False, repr=False)

    def row(self) -> dict[str, Any]:
        """Return all fields but the examples, as a row of the table of findings."""
        return {name: value for name, value in vars(self).items() if name != "examples"}


@dataclass(frozen=True)
class Check:
    """Check with its name, its cost, what a finding means, and what helps."""

    name: str
    cost: Cost
    meaning: str
    remedy: str
    look: Callable[[Evidence], Seen | None]


CHECKS: dict[str, Check] = {}
"""All checks by name, in the order in which they are run."""

Look = Callable[[Evidence], Seen | None]


def register(
    name: str, *, meaning: str, remedy: str, cost: Cost = "counts"
) -> Callable[[Look], Look]:
    """Add a check: a function that examines the evidence and returns what it saw, or None."""

    def add(look: Look) -> Look:
        CHECKS[name] = Check(name, cost, meaning, remedy, look)
        return look

    return add


def run_checks(evidence: Evidence) -> list[Finding]:
    """Run all checks that the claims and the budget allow; serious findings come first."""
    allowed = {
        "counts": True,
        "sample": evidence.is_compared,
        "whole": evidence.encoded.n_claims <= evidence.budget.claims,
    }
    found = []
    for check in CHECKS.values():
        seen = check.look(evidence) if allowed[check.cost] else None
        if seen is None:
            continue
        severity: Severity = "serious" if seen.serious else "caution"
        finding = Finding(
            check.name, severity, seen.text, check.meaning, check.remedy, seen.examples
        )
        if check.cost == "sample" and evidence.sample.n_items < evidence.encoded.n_items:
            of = f"{evidence.sample.n_items:,} of {evidence.encoded.n_items:,}"
            finding = replace(finding, seen=f"{finding.seen} (as {of} items show)")
        found.append(finding)
    return sorted(found, key=lambda finding: finding.severity != "serious")
