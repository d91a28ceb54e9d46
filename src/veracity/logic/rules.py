"""Read rules between facts of one entity, and check them.

A rule is a table with one of four forms, in Python or in a TOML file::

    [[rule]]
    compare = "departure < arrival"          # order, equality, sums, with `tolerance`

    [[rule]]
    when = {status = "cancelled"}            # implication between values
    then = {gate = ["none", "-"]}

    [[rule]]
    when = "city"                            # implication by a table, here or in a file
    then = "country"
    table = {Milan = "Italy", Paris = "France"}

    [[rule]]
    at_most = 1                              # at most one of these holds; 0 would forbid all
    of = {raining = "yes", sunny = "yes"}
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.encoding.block import BoolArray, FloatArray, IntArray
from veracity.errors import ParameterError, UnreadableFile, first_line
from veracity.naming import as_text, name_text
from veracity.printing import did_you_mean, in_short
from veracity.reading.claims import read_table
from veracity.values import amounts

HARD = 25.0
"""Strength of a fixed rule, in log-odds: a case that breaks it is e^25 times less likely."""

FORMS = {
    "compare": {"compare", "tolerance"},
    "when": {"when", "then", "table"},
    "at_most": {"at_most", "of"},
}
"""Keys of each form of rule, by the key that it begins with."""

COMMON = {"name", "strength"}

OPERATORS = ("<=", ">=", "<", ">", "=")

TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+(?:\.\d+)?)\s*(?:\*\s*|$|(?=\s*[+-])))?"
                  r"(?:\"([^\"]+)\"|([^\W\d]\w*))?\s*")  # fmt: skip
"""A term of a sum: a sign, a number, and an attribute, in double quotes unless it is one word."""

Codes = NDArray[np.uint64]
"""Values as hashes of their text."""


def codes_of(values: pl.Series) -> Codes:
    """Return a hash of the text of each value."""
    return as_text(values).hash(seed=7).to_numpy()


@dataclass(frozen=True)
class Values:
    """Values of cells: one hash and one amount for each; both are unknown if it has no fact."""

    code: Codes
    amount: FloatArray
    is_known: BoolArray


@dataclass(frozen=True)
class Rule:
    """Rule between the values of some attributes of an entity.

    `given` is the rule as it was written. A strength is a number, or None if it is learned.
    """

    name: str
    attributes: tuple[str, ...]
    strength: float | None
    given: Mapping[str, Any]
    where: str = ""
    """The file and the number of the rule, for messages."""
    factors: tuple[float, ...] = ()
    """Of a comparison: the coefficient of each attribute in left side less right side."""
    constant: float = 0.0
    operator: str = ""
    tolerance: float = 0.0
    is_relative: bool = False
    sets: tuple[Codes, ...] = ()
    """Values that are meant, for each attribute."""
    n_given: int = 0
    """Number of attributes that are the condition of an implication."""
    most: int = 0
    table: tuple[Codes, Codes] | None = None
    """Pairs of values that go together, sorted."""

    def is_broken(self, values: Sequence[Values]) -> BoolArray:
        """Return True for each case that breaks the rule; the values are those of its attributes.

        A value that nobody claims may be any, so it breaks no rule.
        """
        are_known = np.logical_and.reduce([own.is_known for own in values])
        if self.operator:
            return np.asarray(are_known & self._compares_badly(values))
        if self.table is not None:
            keys, pairs = self.table
            pair = _joined_code(values[0].code, values[1].code)
            return np.asarray(are_known & np.isin(values[0].code, keys) & ~np.isin(pair, pairs))
        holds = [
            own.is_known & np.isin(own.code, meant)
            for own, meant in zip(values, self.sets, strict=True)
        ]
        if not self.n_given:
            return np.asarray(np.sum(holds, axis=0) > self.most)
        unmet = [
            own.is_known & ~met
            for own, met in zip(values[self.n_given :], holds[self.n_given :], strict=True)
        ]
        given = np.logical_and.reduce(holds[: self.n_given])
        return np.asarray(given & np.logical_or.reduce(unmet))

    def _compares_badly(self, values: Sequence[Values]) -> BoolArray:
        terms = [f * own.amount for f, own in zip(self.factors, values, strict=True)]
        left = np.sum([np.where(f > 0, t, 0.0) for f, t in zip(self.factors, terms, strict=True)],
                      axis=0)  # fmt: skip
        apart = np.sum(terms, axis=0) + self.constant
        slack: Any = self.tolerance
        if self.is_relative:
            slack = self.tolerance * np.maximum(np.abs(left), np.abs(left - apart))
        slack = slack + 1e-9 * np.abs(left)  # binary fractions are rounded
        unknown = np.isnan(apart)
        if self.operator == "=":
            differs = np.abs(apart) > slack
            if self.factors == (1.0, -1.0) and not self.constant:
                return np.asarray(np.where(unknown, values[0].code != values[1].code, differs))
            return np.asarray(differs & ~unknown)
        if self.operator == "<" and not self.tolerance:
            return np.asarray((apart >= 0.0) & ~unknown)
        return np.asarray((apart > slack) & ~unknown)


def _joined_code(one: Codes, other: Codes) -> Codes:
    return one * np.uint64(0x9E3779B97F4A7C15) + other


@dataclass(frozen=True)
class Rules:
    """Rules with their strengths: those given, and those learned so far."""

    rules: tuple[Rule, ...]
    strength: FloatArray
    chance: FloatArray
    """Share of cases that values which nobody claims would break: that of the claimed values."""
    offset: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Of each label, what rules add to its score on average before any claim. It is subtracted: the
    share of a label among truths, which an algorithm learns, shows what the rules do to it."""
    numbers: tuple[IntArray, ...] = ()
    """Numbers of the attributes of each rule."""
    is_used: BoolArray = field(default_factory=lambda: np.zeros((0, 0), np.bool_))
    """[attribute, label]: values that occur, where the claims have few; else empty."""
    code_of_label: Codes = field(default_factory=lambda: np.zeros(0, np.uint64))
    amount_of_label: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def read(cls, given: object) -> Rules:
        """Read a TOML file, or tables of the same form; raise an error that names the rule.

        >>> rules = Rules.read([{"compare": "net + tax = gross", "tolerance": 0.01}])
        >>> rules.rules[0].attributes, rules.rules[0].factors
        (('net', 'tax', 'gross'), (1.0, 1.0, -1.0))
        """
        if isinstance(given, cls):
            return given
        where, folder = "rules", Path()
        if isinstance(given, str | os.PathLike):
            where, folder = os.fspath(given), Path(given).parent
            try:
                with Path(given).open("rb") as file:
                    tables = tomllib.load(file)
            except (OSError, ValueError) as error:
                raise UnreadableFile(
                    f"{where}: cannot be read as a TOML file: {first_line(error)}; the page Rules "
                    "shows one"
                ) from error
            if set(tables) != {"rule"}:
                raise UnreadableFile(
                    f"{where}: the file must consist of tables [[rule]], got "
                    f"{', '.join(tables) or 'nothing'}"
                )
            given = tables["rule"]
            if isinstance(given, Mapping):
                raise UnreadableFile(f"{where}: write [[rule]] with two brackets, not [rule]")
        if not isinstance(given, Sequence) or not all(isinstance(own, Mapping) for own in given):
            raise ParameterError(
                f"{where}: must be the path of a TOML file, or a list of tables such as "
                '{"compare": "departure < arrival"}'
            )
        rules = tuple(
            _read_rule(own, f"{where}, rule {number}", folder)
            for number, own in enumerate(given, 1)
        )
        names = [rule.name for rule in rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ParameterError(
                f"{where}: two rules are called '{twice[0]}'; give each a name of its own"
            )
        strength = np.array([own.strength or 0.0 for own in rules])
        return cls(rules, strength, np.full(len(rules), 0.5))

    def bound(self, attributes: pl.Series) -> Rules:
        """Return the rules with the numbers of these attributes; refuse any that is not there."""
        place = {name: number for number, name in enumerate(as_text(attributes).to_list())}
        for rule in self.rules:
            for name in rule.attributes:
                if name not in place:
                    near = did_you_mean(name, list(place)) or "name attributes as the claims do"
                    raise ParameterError(
                        f"{rule.where}: the claims have no attribute '{in_short(name)}'; {near}"
                    )
        numbers = (np.array([place[name] for name in rule.attributes]) for rule in self.rules)
        return replace(self, numbers=tuple(numbers))

    def with_labels(self, is_used: BoolArray, labels: pl.Series) -> Rules:
        """Return the rules with the values that items of an attribute may have, if they are few."""
        offset = np.zeros(len(labels))
        offset[: len(self.offset)] = self.offset[: len(labels)]
        return replace(
            self, offset=offset, is_used=is_used, code_of_label=codes_of(labels),
            amount_of_label=amounts(labels),
        )  # fmt: skip

    @property
    def learned(self) -> tuple[NDArray[Any], ...]:
        """Return all that was learned, or found in the claims, to be stored."""
        return self.strength, self.chance, self.offset, self.is_used

    def with_learned(self, learned: Sequence[NDArray[Any]], labels: pl.Series) -> Rules:
        """Return the rules with what was stored; raise ValueError if it is of other rules."""
        strength, chance, offset, is_used = (np.asarray(own) for own in learned)
        if not len(strength) == len(chance) == len(self.rules):
            raise ValueError("the strengths are those of other rules")
        known = replace(self, strength=strength, chance=chance)
        found = known.with_labels(is_used, as_text(labels[: is_used.shape[1]]))
        return replace(found, offset=offset)

    @property
    def is_learned(self) -> BoolArray:
        """Mark the rules whose strength is learned."""
        return np.array([rule.strength is None for rule in self.rules], dtype=np.bool_)


# --- one rule -------------------------------------------------------------------------------------


def _read_rule(given: Mapping[str, Any], where: str, folder: Path) -> Rule:
    """Return a rule; raise ParameterError that says what is wrong with it."""
    if given.get("name"):
        where += f" ('{in_short(str(given['name']))}')"
    forms = [form for form in FORMS if form in given]
    if len(forms) != 1:
        raise ParameterError(
            f"{where}: needs one of compare, when or at_most, got {', '.join(given) or 'nothing'}"
        )
    known = FORMS[forms[0]] | COMMON
    for key in map(str, given):
        if key not in known:
            near = did_you_mean(key, known) or f"there are {', '.join(sorted(known))}"
            raise ParameterError(f"{where}: a rule with {forms[0]} has no key '{key}'; {near}")
    read = {"compare": _comparison, "when": _implication, "at_most": _at_most}[forms[0]]
    name, parts = read(given, where, folder)
    attributes = parts["attributes"]
    if len(set(attributes)) < max(len(attributes), 2):
        raise ParameterError(
            f"{where}: needs two different attributes at least, and each once, got "
            f"{', '.join(attributes)}"
        )
    return Rule(
        str(given.get("name") or name), strength=_strength(given, where), where=where,
        given={**given, **parts.pop("given", {})}, **parts,
    )  # fmt: skip


def _strength(given: Mapping[str, Any], where: str) -> float | None:
    strength = given.get("strength", "learned")
    if strength in ("learned", "hard"):
        return None if strength == "learned" else HARD
    if not _is_number(strength) or not 0.0 < strength <= HARD:
        raise ParameterError(
            f"{where}: strength must be 'learned', 'hard', or a number above 0 and up to "
            f"{HARD:.0f}, the log-odds by which a case that breaks the rule is less likely; got "
            f"{strength!r}"
        )
    return float(strength)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparison(
    given: Mapping[str, Any], where: str, folder: Path
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Read a comparison of sums, such as ``gross = net + tax``."""
    text, tolerance = str(given["compare"]), given.get("tolerance", 0.0)
    sides = re.split("(<=|>=|<|>|=)", text)
    if len(sides) != 3:
        raise ParameterError(
            f"{where}: compare needs one of {' '.join(OPERATORS)} between two sides, as in "
            f"'departure < arrival'; got '{text}'"
        )
    is_relative = isinstance(tolerance, str) and tolerance.endswith("%")
    if is_relative:
        try:
            tolerance = float(tolerance[:-1]) / 100.0
        except ValueError:
            tolerance = str(tolerance)
    if not _is_number(tolerance) or not 0.0 <= tolerance < np.inf:
        raise ParameterError(
            f"{where}: tolerance must be a number, at least 0, or a percentage such as '1%'; got "
            f"{given['tolerance']!r}"
        )
    coefficients: dict[str, float] = {}
    constant, operator = 0.0, sides[1]
    for side, sign in ((sides[0], 1.0), (sides[2], -1.0)):
        at = 0
        while at < len(side) or not at:
            term = TERM.match(side, at)
            if (
                term is None
                or term.end() == at
                or not any(term.groups()[1:])
                or (at and not term[1])
            ):
                raise ParameterError(
                    f"{where}: cannot read '{side.strip()}': write numbers, and attributes in "
                    "double quotes unless they are one word, with + and -, as in '3.28 * length'"
                )
            number = (-sign if term[1] == "-" else sign) * float(term[2] or 1.0)
            name = term[3] or term[4]
            if name:
                coefficients[name] = coefficients.get(name, 0.0) + number
            else:
                constant += number
            at = term.end()
    if operator in (">", ">="):
        coefficients = {name: -own for name, own in coefficients.items()}
        constant, operator = -constant, operator.replace(">", "<")
    return text, {
        "attributes": tuple(coefficients), "factors": tuple(coefficients.values()),
        "constant": constant, "operator": operator, "tolerance": float(tolerance),
        "is_relative": is_relative,
    }  # fmt: skip


def _implication(
    given: Mapping[str, Any], where: str, folder: Path
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Read an implication between values, or by a table."""
    when: Any = given["when"]
    then: Any = given.get("then")
    table = given.get("table")
    if isinstance(when, str) and isinstance(then, str) and table is not None:
        if isinstance(table, str):
            frame = read_table(str(folder / table))
            if not {when, then} <= set(frame.columns):
                raise ParameterError(
                    f"{where}: {table} needs the columns '{when}' and '{then}', and has "
                    f"{', '.join(frame.columns)}"
                )
            frame = frame.select(when, then).drop_nulls()
            rows = list(
                zip(*(as_text(frame[name]).to_list() for name in (when, then)), strict=True)
            )
        elif isinstance(table, Mapping):
            rows = [(key, own) for key, value in table.items() for own in _values(value, where)]
        else:
            raise ParameterError(f"{where}: table must be a table or the name of a file")
        if not rows:
            raise ParameterError(f"{where}: the table has no rows")
        pairs = tuple(codes_of(pl.Series(own, dtype=pl.String)) for own in zip(*rows, strict=True))
        listed: dict[str, list[str]] = {}
        for key, value in rows:
            listed.setdefault(str(key), []).append(value)
        codes = np.unique(pairs[0]), np.unique(_joined_code(*pairs))
        return f"{when} -> {then}", {
            "attributes": (when, then), "table": codes, "given": {"table": listed},
        }  # fmt: skip
    are_values = isinstance(when, Mapping) and isinstance(then, Mapping) and table is None
    if not are_values or not when or not then:
        raise ParameterError(
            f"{where}: when and then must be values by attribute, as in when = {{city = "
            '"Milan"}, then = {country = "Italy"}; or two attributes, with a table'
        )
    conditions = {**when, **then}
    if len(conditions) < len(when) + len(then):
        raise ParameterError(f"{where}: an attribute is in when and in then; leave out one")
    told = (" and ".join(f"{name} is {_said(own)}" for name, own in part.items())
            for part in (when, then))  # fmt: skip
    return " -> ".join(told), {**_sets(conditions, where), "n_given": len(when)}


def _at_most(
    given: Mapping[str, Any], where: str, folder: Path
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Read an exclusion: at most so many of these values hold."""
    most, of = given["at_most"], given.get("of")
    if not isinstance(of, Mapping) or not of:
        raise ParameterError(
            f'{where}: of must be values by attribute, as in of = {{raining = "yes", '
            'sunny = "yes"}'
        )
    if not isinstance(most, int) or isinstance(most, bool) or not 0 <= most < len(of):
        raise ParameterError(
            f"{where}: at_most must be a whole number below the {len(of)} values of it, got "
            f"{most!r}"
        )
    told = ", ".join(f"{name} is {_said(own)}" for name, own in of.items())
    return f"at most {most} of: {told}", {**_sets(of, where), "most": most}


def _sets(conditions: Mapping[str, Any], where: str) -> dict[str, Any]:
    sets = (pl.Series(_values(own, where), dtype=pl.String) for own in conditions.values())
    return {"attributes": tuple(conditions), "sets": tuple(map(codes_of, sets))}


def _values(given: object, where: str) -> list[str]:
    """Return one value, or several, as text."""
    values = given if isinstance(given, list | tuple) else [given]
    if not values or any(own is None or isinstance(own, Mapping | list | tuple) for own in values):
        raise ParameterError(f"{where}: values must be texts or numbers, got {given!r}")
    return [name_text(own) for own in values]


def _said(given: object) -> str:
    return " or ".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
