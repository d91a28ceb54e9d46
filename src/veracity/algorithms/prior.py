"""What is known of sources before any claim is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from veracity.algorithms.checks import require_probability
from veracity.encode import FloatArray, IntArray
from veracity.errors import ParameterError

__all__ = ["Prior", "PriorRates", "Rate"]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What is known of a source, or of a kind of source; `fixed` means learning leaves it alone."""

    tpr: float = 0.8
    fpr: float = 0.2
    fixed: bool = False

    def __post_init__(self) -> None:
        require_probability(self, tpr=self.tpr, fpr=self.fpr)


class PriorRates(NamedTuple):
    """A prior spelt out for every source, as arrays."""

    tpr: FloatArray
    fpr: FloatArray
    is_fixed: IntArray
    prevalence: float | None


@dataclass(frozen=True, kw_only=True)
class Prior:
    """Prior knowledge: for all sources, for kinds of sources, for single sources.

    A source's own rate comes first, then its kind's, then the rate of all.

    >>> prior = Prior(tpr=0.7, of_kind={"airline": Rate(tpr=0.95, fpr=0.02)},
    ...               kind_of_source={"aa": "airline"}, of_source={"orbitz": Rate(tpr=0.6, fixed=True)})
    >>> prior.rates(["aa", "orbitz", "other"]).tpr.tolist()
    [0.95, 0.6, 0.7]
    """

    tpr: float = 0.8
    fpr: float = 0.2
    prevalence: float | None = None
    of_kind: Mapping[str, Rate] = field(default_factory=dict)
    kind_of_source: Mapping[object, str] = field(default_factory=dict)
    of_source: Mapping[object, Rate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_probability(self, tpr=self.tpr, fpr=self.fpr)
        if self.prevalence is not None:
            require_probability(self, prevalence=self.prevalence)
        unknown = set(self.kind_of_source.values()) - set(self.of_kind)
        if unknown:
            raise ParameterError(
                f"Prior: kind_of_source names the kind '{min(unknown)}', which of_kind does not describe"
            )

    def rates(self, sources: Sequence[object]) -> PriorRates:
        """Spell the prior out for these sources."""
        tpr, fpr = np.full(len(sources), self.tpr), np.full(len(sources), self.fpr)
        is_fixed = np.zeros(len(sources), dtype=np.int64)
        if self.kind_of_source or self.of_source:
            for i, source in enumerate(sources):
                rate = self._rate(source)
                if rate is not None:
                    tpr[i], fpr[i], is_fixed[i] = rate.tpr, rate.fpr, rate.fixed
        return PriorRates(tpr, fpr, is_fixed, self.prevalence)

    def unknown(self, sources: Sequence[object]) -> list[object]:
        """The sources this prior speaks of that make no claim."""
        present = set(sources)
        return [name for name in {**self.kind_of_source, **self.of_source} if name not in present]

    def _rate(self, source: object) -> Rate | None:
        kind = self.kind_of_source.get(source)
        return self.of_source.get(source) or (self.of_kind[kind] if kind is not None else None)
