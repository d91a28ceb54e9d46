"""What was learned, to be used again: an algorithm, its state, and the names it speaks of."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.algorithms.base import Algorithm
from veracity.algorithms.state import from_arrays, to_arrays
from veracity.encoding.names import Names
from veracity.encoding.survey import Counted, Largest, Survey
from veracity.engines.merging import padded
from veracity.fit.loop import Kept, Totals, prior_rates
from veracity.printing import counted
from veracity.progress import Progress
from veracity.reading.options import ReadOptions, Wide
from veracity.reading.schema import Kind

if TYPE_CHECKING:
    from veracity.result import Result

MOST_VALUES = 1_000_000
"""So many values of attributes are looked at for how text is spelt."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fit that is kept: it judges claims never seen, and goes on learning from new ones.

    Attributes
    ----------
    algorithm, state
        The algorithm, and what it learned.
    names
        The sources, values and attributes it has met.
    kind
        The kind of claims.
    normalisation
        How values were normalised, if they were: new ones are in the same way.
    """

    algorithm: Algorithm[Any]
    state: Any
    names: Names
    kind: Kind
    counted: Counted | tuple[Any, ...]
    totals: Totals = field(default_factory=dict)
    rounds: int = 0
    normalisation: Mapping[str, Any] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def judge(
        self,
        claims: object,
        *,
        columns: Mapping[str, str | list[str]] | None = None,
        wide: Wide | None = None,
        min_plausibility: float | None = None,
        source_features: object | None = None,
        item_features: object | None = None,
        engine: Any = None,
        progress: Progress | None = None,
    ) -> Result:
        """Judge claims with what was learned from others; nothing is learned.

        Sources never met count as the mean of those that were, or as their features say.

        Parameters
        ----------
        claims, columns, wide, min_plausibility, engine, progress
            As for `discover`; the kind is that of the claims that were learned from, and values
            are normalised as those were.
        source_features, item_features
            Features of further sources and items, in the columns of those that were learned from.
        """
        how = ReadOptions(columns=columns or {}, wide=wide)
        discovery = importlib.import_module("veracity.discovery")
        fitted = discovery.knowing_more(
            self, source_features=source_features, item_features=item_features
        )
        result: Result = discovery.judge(
            fitted, claims, how, min_plausibility, engine=engine, progress=progress
        )
        return result

    def update(
        self,
        claims: object,
        *,
        columns: Mapping[str, str | list[str]] | None = None,
        wide: Wide | None = None,
        min_plausibility: float | None = None,
        source_features: object | None = None,
        item_features: object | None = None,
        engine: Any = None,
        progress: Progress | None = None,
    ) -> Result:
        """Go on learning from new claims; of the old ones what they added up to is kept.

        The result tells of the new claims; its `fitted` has learned from all.

        Parameters
        ----------
        claims, columns, wide, min_plausibility, source_features, item_features, engine, progress
            As for `judge`.
        """
        how = ReadOptions(columns=columns or {}, wide=wide)
        discovery = importlib.import_module("veracity.discovery")
        fitted = discovery.knowing_more(
            self, source_features=source_features, item_features=item_features
        )
        result: Result = discovery.update(
            fitted, claims, how, min_plausibility, engine=engine, progress=progress
        )
        return result

    def grown(self, names: Names) -> Fitted:
        """The same, with room for all that these names add to those it has met."""
        counts: list[Any] = [
            padded(part, (names.n_sources, *part.shape[1:]))
            if isinstance(part, np.ndarray)
            else part
            for part in self.counted
        ]
        state = self.algorithm.grow(self.state, names)
        return replace(self, state=state, names=names, counted=Counted(*counts))

    @property
    def values(self) -> pl.DataFrame | None:
        """The values that were met, of each attribute, if that is no more than can be looked at."""
        values, attributes = self.names.labels.to_frame("value"), self.names.attributes
        if not len(attributes):
            return values
        if len(values) * len(attributes) > MOST_VALUES:
            return None
        return attributes.to_frame("attribute").join(values, how="cross")

    @property
    def kept(self) -> Kept:
        """What learning goes on from."""
        return Kept(self.state, tuple(self.counted), self.totals, self.rounds)

    def __repr__(self) -> str:
        """In one line."""
        return (
            f"{self.algorithm.name} fitted on claims of "
            f"{counted(len(self.names.sources), 'source')} about "
            f"{counted(int(self.counted[0]), 'item')}"
        )

    # --- as files ---------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What was learned, as arrays."""
        arrays = {f"state/{name}": array for name, array in to_arrays(self.state).items()}
        _flatten(tuple(self.counted), "counted", arrays)
        for phase, totals in self.totals.items():
            _flatten(totals, f"totals/{phase}", arrays)
        arrays["rounds"] = np.array(self.rounds)
        return arrays

    @classmethod
    def from_arrays(
        cls,
        algorithm: Algorithm[Any],
        names: Names,
        kind: Kind,
        arrays: Mapping[str, NDArray[Any]],
        normalisation: Mapping[str, Any] | None,
    ) -> Fitted:
        """The fit that the arrays tell of; a `ValueError` if they do not fit the algorithm."""
        of_state = {
            name.removeprefix("state/"): array
            for name, array in arrays.items()
            if name.startswith("state/")
        }
        state = from_arrays(algorithm.state_type, of_state, labels=names.labels)
        counted = _counted(_restored("counted", arrays), names.n_sources)
        survey = Survey(kind, names, counted)
        algorithm.check(state, survey, prior_rates(algorithm, survey))
        phases = {name.split("/")[1] for name in arrays if name.startswith("totals/")}
        return cls(
            algorithm=algorithm,
            state=state,
            names=names,
            kind=kind,
            counted=counted,
            totals={phase: _restored(f"totals/{phase}", arrays) for phase in sorted(phases)},
            rounds=_count(arrays["rounds"]),
            normalisation=normalisation,
        )


def _flatten(value: Any, path: str, arrays: dict[str, NDArray[Any]]) -> None:
    """A tally as arrays: of a tuple also how long it is."""
    if isinstance(value, tuple):
        arrays[f"{path}/n"] = np.array(len(value))
        for number, part in enumerate(value):
            _flatten(part, f"{path}/{number}", arrays)
    elif value is not None:
        arrays[path] = np.asarray(value)


def _count(value: Any) -> int:
    if not np.issubdtype(np.asarray(value).dtype, np.integer) or np.ndim(value) or value < 0:
        raise ValueError("what was learned counts what cannot be counted")
    return int(value)


def _counted(told: Any, n_sources: int) -> Counted:
    """What was counted; a `ValueError` if it cannot be of so many sources."""
    if not isinstance(told, tuple) or len(told) != len(Counted._fields):
        raise ValueError("what was learned lacks what was counted")
    own: dict[str, Any] = dict(zip(Counted._fields, told, strict=True))
    for name, value in own.items():
        if name == "largest_item":
            own[name] = Largest(value)
        elif name.endswith("_of_source"):
            _check_counts(value, (n_sources, 4) if name.startswith("known") else (n_sources,))
        else:
            own[name] = _count(value)
    return Counted(**own)


def _check_counts(value: Any, shape: tuple[int, ...]) -> None:
    is_sound = isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind == "f"
    if not is_sound or not np.isfinite(value).all():
        raise ValueError("what was counted is not of the sources")


def _restored(path: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if f"{path}/n" in arrays:
        n = _count(arrays[f"{path}/n"])
        if n > len(arrays):
            raise ValueError(f"what was learned lacks parts of '{path}'")
        return tuple(_restored(f"{path}/{number}", arrays) for number in range(n))
    array = arrays.get(path)
    if array is not None and (array.dtype.kind not in "fiub" or np.isnan(array).any()):
        raise ValueError(f"'{path}' of what was learned has what is no number")
    return array.item() if array is not None and array.ndim == 0 else array
