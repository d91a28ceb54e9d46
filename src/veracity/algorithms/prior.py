"""Prior knowledge of sources, before any claim is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np

from veracity.algorithms.distributions import log_likely_counts
from veracity.algorithms.parameters import bounded, check_parameters
from veracity.encoding.block import FloatArray
from veracity.errors import BadValue, ParameterError, VeracityError
from veracity.naming import name_text
from veracity.reading.claims import read_table
from veracity.reading.clean import TRUE_WORDS
from veracity.reading.roles import Kind
from veracity.trees import BySource, CountBySource


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Prior rates of a source, or of a kind of source; learning does not change them if `fixed`.

    Rates of exactly 0 or 1, as a result may contain, are moved slightly inwards, as certainty could
    never be revised.
    """

    tpr: float = bounded(0.8, at_least=0, at_most=1)
    fpr: float = bounded(0.2, at_least=0, at_most=1)
    fixed: bool = False

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, kw_only=True)
class ErrorSpread:
    """Prior errors of a source of numbers, or of a kind of source, in the unit of the numbers.

    `error` is the standard deviation of its errors, `bias` their mean. Learning does not change
    them if `fixed`.
    """

    error: float = bounded(above=0)
    bias: float = 0.0
    fixed: bool = False

    def __post_init__(self) -> None:
        check_parameters(self)


CERTAIN = 1e-6
"""Smallest distance of a prior rate from zero and one."""

UNLEARNED = 10.0
"""Number of known facts that weigh as much as everything learned without them."""

STRENGTHS: FloatArray = UNLEARNED * 2.0 ** np.arange(-3.0, 4.0)
"""Numbers of known facts that may be the weight of everything learned of a source."""

ROWS_PER_STRENGTH = 0.5
"""Pseudo-rows of each strength when their frequencies are learned; .3 and 1 are as good."""

STEPS = 50
"""Steps in which the frequencies of the strengths are learned; they rest much earlier."""


def known_weight(known: FloatArray, usual: FloatArray) -> FloatArray:
    """Return the weight of one known fact for each row; learned and known facts weigh one in all.

    The counts [..., outcome] of a row are compared with the shares [..., outcome] that were
    expected. The learned shares weigh as much as u facts if the counts are Dirichlet-multinomial
    around these shares, with strength u. Most sources are as they seem; a few are not. So each row
    has its own strength, and all rows together show how frequent each strength is (expectation
    maximisation). Return the mean of 1 / (n + u), or zero where no truth is known.

    >>> seems = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> known_weight(np.array([[5.0, 5.0], [10.0, 0.0]]), seems).round(3).tolist()
    [0.043, 0.083]
    """
    total = known.sum(axis=-1)
    weight = np.zeros(total.shape)
    is_known = total > 0.0
    if not is_known.any():
        return weight
    log_likely = log_likely_counts(  # mostly few rows, and the work takes room
        known[is_known], np.clip(usual[is_known], CERTAIN, None), STRENGTHS
    )
    likely = np.exp(log_likely - log_likely.max(axis=1, keepdims=True))
    n_rows, n_strengths = likely.shape
    frequency = np.full(n_strengths, 1.0 / n_strengths)
    for _ in range(STEPS):
        share = likely * frequency
        share /= share.sum(axis=1, keepdims=True)
        frequency = share.sum(axis=0) + ROWS_PER_STRENGTH
        frequency /= n_rows + ROWS_PER_STRENGTH * n_strengths
    share = likely * frequency
    share /= share.sum(axis=1, keepdims=True)
    weight[is_known] = (share / (total[is_known, None] + STRENGTHS)).sum(axis=1)
    return weight


class PriorRates(NamedTuple):
    """A prior spelt out for every source, as arrays."""

    tpr: BySource
    fpr: BySource
    is_fixed: CountBySource
    """1 for fixed sources, whose rates are not learned; 0 for the others."""
    known: CountBySource
    """Result of `count_votes` on the known items; all zero without known items."""
    prevalence: float | None

    def weigh_known(self, tpr: FloatArray, fpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates, corrected by the known truths.

        The rates learned without them weigh as much as `UNLEARNED` known facts. So a few known
        truths change little, and a hundred decide.
        """
        supports_of_true, supports, true, facts = self.known.T
        known_tpr = (supports_of_true + UNLEARNED * tpr) / (true + UNLEARNED)
        false_supports, false = supports - supports_of_true, facts - true
        known_fpr = (false_supports + UNLEARNED * fpr) / (false + UNLEARNED)
        is_free = self.is_fixed == 0
        return np.where(is_free, known_tpr, tpr), np.where(is_free, known_fpr, fpr)

    def weigh_known_accuracy(self, accuracy: FloatArray) -> FloatArray:
        """Return accuracies corrected by the known truths, as `weigh_known` does for rates."""
        supports_of_true, supports = self.known.T[:2]
        known = (supports_of_true + UNLEARNED * accuracy) / (supports + UNLEARNED)
        return np.where(self.is_fixed, accuracy, known)


class PriorSpreads(NamedTuple):
    """Prior errors of sources of numbers, as arrays; an error of zero stands for unknown."""

    error: CountBySource
    bias: CountBySource
    is_fixed: CountBySource


@dataclass(frozen=True, kw_only=True)
class Prior:
    """Prior knowledge: for all sources, for kinds of sources, for single sources.

    A source's own rate comes first, then its kind's, then the rate of all. Where claims are
    numbers, kinds and sources have a `ErrorSpread` in the place of a `Rate`.

    >>> prior = Prior(
    ...     tpr=0.7,
    ...     of_kind={"airline": Rate(tpr=0.95, fpr=0.02)},
    ...     kind_of_source={"aa": "airline"},
    ...     of_source={"orbitz": Rate(tpr=0.6, fixed=True)},
    ... )
    >>> prior.rates(["aa", "orbitz", "other"]).tpr.tolist()
    [0.95, 0.6, 0.7]
    """

    tpr: float = bounded(0.8, above=0, below=1)
    fpr: float = bounded(0.2, above=0, below=1)
    prevalence: float | None = bounded(None, at_least=0, at_most=1)
    of_kind: Mapping[str, Rate | ErrorSpread] = field(default_factory=dict)
    kind_of_source: Mapping[object, str] = field(default_factory=dict)
    of_source: Mapping[object, Rate | ErrorSpread] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_parameters(self)
        for kind in self.kind_of_source.values():
            if not isinstance(kind, str) or kind not in self.of_kind:
                raise ParameterError(
                    f"Prior: kind_of_source names the kind {short(kind)}, but of_kind does not"
                )
        for name, rates in (("of_kind", self.of_kind), ("of_source", self.of_source)):
            for rate in rates.values():
                if not isinstance(rate, Rate | ErrorSpread):
                    raise ParameterError(
                        f"Prior: {name} must give each a Rate or an ErrorSpread, got {short(rate)}"
                    )

    @classmethod
    def from_table(cls, data: object) -> Prior:
        """Read a prior from a table with columns source, kind, tpr, fpr and fixed.

        A row with a source and rates is about that source; a row with a kind and rates, about that
        kind. A row with a source and a kind, but no rates, gives the source its kind.
        `Result.sources` is such a table; its sources without rates are left out. Where claims are
        numbers, columns error and bias replace tpr and fpr.
        """
        of_kind: dict[str, Rate | ErrorSpread] = {}
        kind_of_source: dict[object, str] = {}
        of_source: dict[object, Rate | ErrorSpread] = {}
        table = read_table(data)
        is_told = {"tpr", "fpr"} <= set(table.columns) and "kind" not in table.columns
        for number, row in enumerate(table.iter_rows(named=True), start=1):
            source, kind = row.get("source"), row.get("kind")
            try:
                rate = _rate_in(row)
                if source is not None and rate is not None:
                    of_source[source] = rate
                elif source is not None and kind is not None:
                    kind_of_source[source] = kind
                elif kind is not None and rate is not None:
                    of_kind[kind] = rate
                elif source is not None and is_told:
                    continue  # nothing was seen that could tell
                else:
                    raise BadValue("neither the rates of a source or a kind, nor a source's kind")
            except (VeracityError, ValueError) as error:
                raise BadValue(f"prior: row {number}: {error}") from error
        try:
            return cls(of_kind=of_kind, kind_of_source=kind_of_source, of_source=of_source)
        except ParameterError as error:
            raise BadValue(f"prior: {error}") from error

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> Prior:
        """Return the prior that is described in the JSON of a run."""
        of_kind, of_source = (
            {name: _made(rate) for name, rate in described.get(part, {}).items()}
            for part in ("of_kind", "of_source")
        )
        plain = {
            part: described[part] for part in ("tpr", "fpr", "prevalence") if part in described
        }
        return cls(
            **plain,
            of_kind=of_kind,
            of_source=of_source,
            kind_of_source=described.get("kind_of_source", {}),
        )

    def rates(self, sources: Sequence[object], known: FloatArray | None = None) -> PriorRates:
        """Return the prior of these sources, with the counts of their claims on known truths."""
        tpr, fpr = np.full(len(sources), self.tpr), np.full(len(sources), self.fpr)
        is_fixed = np.zeros(len(sources))
        rate_of_name = self._rate_of_name()
        if rate_of_name:
            for i, source in enumerate(sources):
                rate = rate_of_name.get(name_text(source))
                if isinstance(rate, Rate):
                    tpr[i], fpr[i], is_fixed[i] = rate.tpr, rate.fpr, rate.fixed
        known = np.zeros((len(sources), 4)) if known is None else known
        tpr, fpr = (np.clip(rate, CERTAIN, 1.0 - CERTAIN) for rate in (tpr, fpr))
        prevalence = self.prevalence
        if prevalence is not None:
            prevalence = min(max(prevalence, CERTAIN), 1.0 - CERTAIN)
        return PriorRates(tpr, fpr, is_fixed, known, prevalence)

    def check(self, kind: Kind) -> None:
        """Raise an error for rates of sources of numbers, and for spreads of other sources."""
        is_right, other = (ErrorSpread, Rate) if kind == "numeric" else (Rate, ErrorSpread)
        if any(
            isinstance(one, other) for one in (*self.of_kind.values(), *self.of_source.values())
        ):
            raise ParameterError(
                f"Prior: where claims are {kind}, what is known of sources is given as "
                f"{is_right.__name__}, not as {other.__name__}"
            )

    def spreads(self, sources: Sequence[object]) -> PriorSpreads:
        """Return the prior errors of these sources of numbers, as arrays."""
        told = np.zeros((3, len(sources)))
        rate_of_name = self._rate_of_name()
        for i, source in enumerate(sources) if rate_of_name else ():
            spread = rate_of_name.get(name_text(source))
            if isinstance(spread, ErrorSpread):
                told[:, i] = spread.error, spread.bias, spread.fixed
        return PriorSpreads(*told)

    def unknown(self, sources: Sequence[object]) -> list[str]:
        """Return the names in this prior that belong to no source of the claims."""
        rate_of_name = self._rate_of_name()
        return sorted(rate_of_name.keys() - set(map(name_text, sources))) if rate_of_name else []

    def _rate_of_name(self) -> dict[str, Rate | ErrorSpread]:
        """Return the rate of each named source; names are compared as text."""
        of_kind = {
            name_text(name): self.of_kind[kind] for name, kind in self.kind_of_source.items()
        }
        return of_kind | {name_text(name): rate for name, rate in self.of_source.items()}


NO_PRIOR = Prior()
"""Prior of the default: most sources are right more often than wrong."""


def _made(described: Mapping[str, Any]) -> Rate | ErrorSpread:
    return ErrorSpread(**described) if "error" in described else Rate(**described)


def _rate_in(row: Mapping[str, Any]) -> Rate | ErrorSpread | None:
    """Return the rates in one row of a prior table, or its errors of numbers, if it has any."""
    fixed = str(row.get("fixed") or "").strip().lower() in TRUE_WORDS
    if row.get("error") is not None:
        return ErrorSpread(
            error=float(row["error"]), bias=float(row.get("bias") or 0.0), fixed=fixed
        )
    given = {name: float(row[name]) for name in ("tpr", "fpr") if row.get(name) is not None}
    return Rate(**given, fixed=fixed) if given else None
