"""Description of a run: its input, its algorithm, and how it went."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.algorithms.base import Algorithm
from veracity.logic.factors import RULES_SCHEMA
from veracity.reading.roles import Kind


@dataclass(frozen=True, kw_only=True)
class Input:
    """Claims of a run: where they came from, and the numbers of sources, items and so on."""

    origin: str
    columns: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    plans: list[dict[str, Any]] = field(default_factory=list)
    """Role of each column, for each table of claims."""
    no_value: list[str] = field(default_factory=list)
    rows: int = 0
    claims: int = 0
    sources: int = 0
    items: int = 0
    facts: int = 0
    known: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """Description of a run, which `run.json` holds."""

    algorithm: str
    parameters: Mapping[str, Any]
    kind: Kind
    input: Input
    min_plausibility: float | None = None
    normalisation: Mapping[str, Any] | None = None
    alikeness: Mapping[str, Any] | None = None
    prevalence: float | None = None
    rounds: int = 0
    converged: bool = True
    tolerance: float = 0.0
    """Change below which a round counts as converged."""
    trace: list[dict[str, float | None]] = field(default_factory=list)
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    """Reasons to doubt the answer: see `Result.findings`."""
    judged: bool = False
    """True if nothing was learned because an earlier fit judged the claims."""
    alternatives: list[dict[str, Any]] = field(default_factory=list)
    """Other answers that the claims allow: see `Result.alternatives`."""
    rules: list[dict[str, Any]] = field(default_factory=list)
    """Rules between facts, as they were given and as they were learned: see `Result.rules`."""
    seed: int = 0
    """Seed with which questions are drawn."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Questions whose answers were among the known truths: the names of the item as text, the
    earlier answer, its plausibility, and how the question was drawn."""
    veracity: str | None = None
    """Version of veracity that saved the run; None if it was not saved."""
    saved: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Run:
        """Make a run from the output of `to_json`; raise KeyError if a field is missing."""
        own = {name: value for name, value in described.items() if name in _names(cls)}
        given = {name: own["input"][name] for name in _names(Input) & set(own["input"])}
        required = {name: own[name] for name in ("algorithm", "parameters", "kind")}
        return cls(**{**own, **required, "input": Input(**given)})


def _names(kind: type) -> set[str]:
    return {own.name for own in fields(kind)}


def describe_parameters(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """Return the parameters of an algorithm as values that JSON can hold."""
    described: dict[str, Any] = json.loads(json.dumps(_plain(algorithm), default=str))
    return described


def _plain(value: Any) -> Any:
    """Return dataclasses and mappings as dictionaries with text keys; values are not copied."""
    if hasattr(value, "described"):  # it holds tables, which are kept otherwise
        return value.described()
    if is_dataclass(value) and not isinstance(value, type):
        return {own.name: _plain(getattr(value, own.name)) for own in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value


def findings_table(rows: Sequence[Mapping[str, str]]) -> pl.DataFrame:
    """Return one row per finding: its name, its severity, what was seen, its meaning, a remedy."""
    names = ("name", "severity", "seen", "meaning", "remedy")
    found = [{name: row.get(name, "") for name in names} for row in rows]
    return pl.DataFrame(found, dict.fromkeys(names, pl.String))


def rules_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame | None:
    """Return one row per rule: its strength with its interval, and its cases."""
    if not rows:
        return None
    return pl.DataFrame([{name: row[name] for name in RULES_SCHEMA} for row in rows], RULES_SCHEMA)


def notes_table(run: Run, number: str) -> pl.DataFrame:
    """Return the description of a run and its notes as rows of topic and text."""
    told = {
        "run": number,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "veracity": __version__,
        "algorithm": run.algorithm,
        "parameters": json.dumps(run.parameters),
        "kind": run.kind,
        "input": run.input.origin,
        "claims": str(run.input.claims),
        "rounds": str(run.rounds),
        "converged": str(run.converged).lower(),
    }
    found = (f"{one['severity']}: {one['name']}: {one['seen']}" for one in run.findings)
    rows = [
        *told.items(),
        *(("finding", text) for text in found),
        *(("note", note) for note in run.notes),
    ]
    return pl.DataFrame(rows, schema={"about": pl.String, "note": pl.String}, orient="row")
