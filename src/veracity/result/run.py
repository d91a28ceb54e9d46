"""What a run was: on what, by what, how it went."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, get_args

import polars as pl

from veracity._version import __version__
from veracity.algorithms.base import Algorithm
from veracity.reading.normalise import Normalisation
from veracity.reading.schema import Kind


class _Keyed:
    """What has fields, also by name in brackets."""

    def __getitem__(self, name: str) -> Any:
        if name not in (own.name for own in fields(self)):  # type: ignore[arg-type]
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True, kw_only=True)
class Input(_Keyed):
    """The claims: where they came from, and how many there are of what."""

    origin: str
    columns: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    claims: int = 0
    sources: int = 0
    items: int = 0
    facts: int = 0
    known: int = 0


@dataclass(frozen=True, kw_only=True)
class Run(_Keyed):
    """A run. Its fields can also be read as ``run["rounds"]``, as in ``run.json``."""

    algorithm: str
    parameters: Mapping[str, Any]
    kind: Kind
    input: Input
    min_plausibility: float | None = None
    normalisation: Mapping[str, Any] | None = None
    prevalence: float | None = None
    rounds: int = 0
    converged: bool = True
    trace: list[dict[str, float | None]] = field(default_factory=list)
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    judged: bool = False
    """Whether nothing was learned: the claims were judged by an earlier fit."""
    readings: list[dict[str, Any]] = field(default_factory=list)
    """Other ways to read the claims: see `Result.readings`."""
    seed: int = 0
    """The seed by which questions are drawn."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The questions whose answers were among the known truths: the names of the item as text, the
    answer at the time and its plausibility, and how the question was drawn."""
    veracity: str | None = None
    """The version that saved it; None if it was not saved."""
    saved: str | None = None
    files: list[str] = field(default_factory=list)
    """The files it was saved as, beside ``run.json``."""
    csv: list[str] = field(default_factory=list)
    """Tables that stand beside them for people, and that are never read."""

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Any) -> Run:
        """The run that JSON tells of; a `ValueError` if it tells of none."""
        wanted = {"kind", "algorithm", "parameters", "input", "trace", "converged", "rounds",
                  "notes", "files"}  # fmt: skip
        missing = wanted - set(told) if isinstance(told, dict) else wanted
        if missing:
            raise ValueError(f"run.json does not tell {', '.join(sorted(missing))}")
        if told["kind"] not in get_args(Kind) or not isinstance(told["input"], dict):
            raise ValueError("run.json tells of no claims")
        own = {name: value for name, value in told.items() if name in _names(cls)}
        given = {name: value for name, value in told["input"].items() if name in _names(Input)}
        for name, value in (*own.items(), *given.items()):
            if name in CHECKS and not CHECKS[name](value):
                raise ValueError(f"run.json: what it tells of '{name}' cannot be")
        return cls(**{**own, "input": Input(**given)})


# --- whether JSON holds what a run tells ----------------------------------------------------------


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < 2**1023  # type: ignore[arg-type]


def _is_share(value: object) -> bool:
    return _is_number(value) and 0.0 <= value <= 1.0  # type: ignore[operator]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _list_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _map_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _is_round(value: object) -> bool:
    """Changes may be infinite, or not be told."""
    return isinstance(value, dict) and all(
        _is_count(number) if name == "round" else number is None or type(number) in (int, float)
        for name, number in value.items()
    )


def _is_reading(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    lists = ("believes_more", "believes_less", "examples")
    is_told = _is_text(value.get("reading")) and _is_share(value.get("differs"))
    return is_told and all(_list_of(_is_text)(value.get(name)) for name in lists)


def _is_asked(value: object) -> bool:
    """Return True if this is a question that was answered."""
    if not isinstance(value, dict):
        return False
    plausibility, inclusion = value.get("plausibility"), value.get("inclusion")
    return (
        _list_of(_is_text)(value.get("item"))
        and _is_text(value.get("answer"))
        and (plausibility is None or _is_share(plausibility))
        and _is_share(inclusion)
        and inclusion > 0.0  # type: ignore[operator]
        and isinstance(value.get("drawn"), bool)
        and _is_count(value.get("asked_of"))
    )


def _is_normalisation(value: object) -> bool:
    """Whether it tells how values were normalised, as far as it is made again."""
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    try:
        Normalisation.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    return True


CHECKS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(
        ("rows", "claims", "sources", "items", "facts", "known", "rounds", "seed"), _is_count
    ),
    **dict.fromkeys(("algorithm", "origin"), _is_text),
    **dict.fromkeys(("veracity", "saved"), _or_none(_is_text)),
    **dict.fromkeys(("converged", "judged"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("min_plausibility", "prevalence"), _or_none(_is_share)),
    **dict.fromkeys(("notes", "files", "csv"), _list_of(_is_text)),
    "parameters": lambda value: isinstance(value, dict),
    **dict.fromkeys(("columns", "shape", "types"), _map_of(_is_text)),
    "seconds": _map_of(_is_number),
    "trace": _list_of(_is_round),
    "readings": _list_of(_is_reading),
    "asked": _list_of(_is_asked),
    "normalisation": _is_normalisation,
}
"""What can be told of a run, and of its input."""


def _names(kind: type) -> set[str]:
    return {own.name for own in fields(kind)}


def describe_parameters(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """The parameters of an algorithm, as JSON can hold them."""
    described: dict[str, Any] = json.loads(json.dumps(_plain(algorithm), default=str))
    return described


def _plain(value: Any) -> Any:
    """Dataclasses and mappings as dictionaries with text for keys; nothing is copied."""
    if hasattr(value, "described"):  # it holds tables, which are kept otherwise
        return value.described()
    if is_dataclass(value) and not isinstance(value, type):
        return {own.name: _plain(getattr(value, own.name)) for own in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value


def notes_table(run: Run, number: str) -> pl.DataFrame:
    """What a run was and what a user should know of it, as rows: about what, and what is said."""
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
    rows = [*told.items(), *(("note", note) for note in run.notes)]
    return pl.DataFrame(rows, schema={"about": pl.String, "note": pl.String}, orient="row")
