"""Reasons to doubt an answer. `discover`, `check` and reports all call `run_checks`."""

from __future__ import annotations

from veracity.checks import answers, changes, coverage, disputes, ranking, spelling  # noqa: F401 - register
from veracity.checks.evidence import QUICK, THOROUGH, Budget, Evidence
from veracity.checks.registry import CHECKS, Check, Finding, Seen, register, run_checks
from veracity.checks.voting import AgainstVote

__all__ = [
    "CHECKS",
    "QUICK",
    "THOROUGH",
    "AgainstVote",
    "Budget",
    "Check",
    "Evidence",
    "Finding",
    "Seen",
    "register",
    "run_checks",
]
