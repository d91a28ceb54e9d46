"""Fitted algorithms, to be used again: an algorithm, its state, and the names that it knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl
from numpy.typing import NDArray

from veracity import trees
from veracity.algorithms.base import Algorithm, Description
from veracity.alike import Alikeness
from veracity.encoding.names import Names
from veracity.encoding.partitions import Encoded
from veracity.encoding.survey import Counted, Survey
from veracity.fit.loop import Totals, prior_rates
from veracity.fit.watch import Watch
from veracity.logic.rules import Rules
from veracity.printing import counted
from veracity.progress import Progress
from veracity.reading.clean import NO_TIME
from veracity.reading.options import ReadArguments, Wide
from veracity.reading.roles import Kind

if TYPE_CHECKING:
    from veracity.result import Result

MOST_VALUES = 1_000_000
"""Number of values of attributes that are checked for how text is spelt."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Fit that judges new claims, and continues to learn from them.

    Attributes
    ----------
    algorithm, state
        The algorithm, and its state.
    names
        The sources, values and attributes in its claims.
    kind
        The kind of claims.
    normalisation
        The normalisation of values, if any, which is applied to new ones.
    columns
        The columns of the claims, which new ones are likely to have, too.
    plans
        The plans by which the tables of the claims were read.
    no_value
        Texts that mean "no value".
    history
        The accuracy of each source in every batch of claims: see `Result.history`.
    alikeness
        The kinds of alikeness by which values were merged, if they were.
    claims
        The claims it was learned from, if they are at hand. Take them away with
        ``dataclasses.replace(fitted, claims=None)`` to keep a few numbers per source only.
    until
        The newest time of these claims.
    clock
        The number of half-lives that have passed in updates.
    """

    algorithm: Algorithm[Any]
    state: Any
    names: Names
    kind: Kind
    counted: Counted
    totals: Totals = field(default_factory=dict)
    rounds: int = 0
    rules: Rules | None = None
    """Rules between facts, with their strengths."""
    normalisation: Mapping[str, Any] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    no_value: Sequence[str] = ()
    plans: Sequence[Mapping[str, Any]] = ()
    watch: Watch | None = None
    """Counts by which a change of a source is noticed; None if claims are numbers."""
    history: pl.DataFrame | None = None
    alikeness: Alikeness | None = None
    claims: Encoded | None = field(default=None, compare=False)
    until: float = NO_TIME
    clock: float = 0.0

    @property
    def likely_wide(self) -> Wide | None:
        """Return the format of wide tables that was used before, to recognise new ones."""
        return next((plan.get("wide") for plan in self.plans), None)

    def judge(
        self,
        claims: object,
        *,
        min_plausibility: float | None = None,
        source_features: object | None = None,
        item_features: object | None = None,
        engine: Any = None,
        progress: Progress | None = None,
        **options: Unpack[ReadArguments],
    ) -> Result:
        """Judge claims with the reliabilities learned from earlier claims; nothing is learned.

        New sources count as average sources, or as their features predict.

        Parameters
        ----------
        claims, min_plausibility, engine, progress, **options
            As for `discover`; the kind is that of the earlier claims, and values are normalised as
            theirs.
        source_features, item_features
            Features of further sources and items, in the columns of the earlier ones.
        """
        from veracity.api import judge  # noqa: PLC0415 - the pipeline imports this module

        return judge(
            self, claims, min_plausibility=min_plausibility, source_features=source_features,
            item_features=item_features, engine=engine, progress=progress, **options,
        )  # fmt: skip

    def update(
        self,
        claims: object,
        *,
        withdrawn: object | None = None,
        half_life: float | timedelta | str | None = None,
        settle: bool = False,
        min_plausibility: float | None = None,
        source_features: object | None = None,
        item_features: object | None = None,
        engine: Any = None,
        progress: Progress | None = None,
        **options: Unpack[ReadArguments],
    ) -> Result:
        """Continue to learn from new claims.

        The items of new claims are judged again, with the earlier claims on them; of all other
        items, only sums are used. A new claim of a source on an item replaces its earlier ones. The
        result lists these items; its `fitted` has learned from all claims.

        Parameters
        ----------
        withdrawn
            Claims to take back, in any form that claims can have: all that the source of a row
            claims of its item.
        half_life
            What was learned before counts half after as many new claims, or after this time, e.g.
            ``"1d"``, ``"12h"`` or a timedelta, if claims have times. By default all claims count
            alike.
        settle
            Then learn again from all claims at hand, see `settle`; the result lists all of them.
        claims, min_plausibility, source_features, item_features, engine, progress, **options
            As for `judge`.
        """
        from veracity.api import update  # noqa: PLC0415 - the pipeline imports this module

        updated = update(
            self, claims, withdrawn=withdrawn, half_life=half_life,
            min_plausibility=min_plausibility, source_features=source_features,
            item_features=item_features, engine=engine, progress=progress, **options,
        )  # fmt: skip
        if not settle or updated.fitted is None:
            return updated
        least = min_plausibility
        return updated.fitted.settle(min_plausibility=least, engine=engine, progress=progress)

    def settle(
        self,
        *,
        min_plausibility: float | None = None,
        engine: Any = None,
        progress: Progress | None = None,
    ) -> Result:
        """Learn again from all claims at hand, as `discover` would, without reading them.

        Earlier claims are then judged by what later ones have shown. Half-lives do not count.

        Parameters
        ----------
        min_plausibility, engine, progress
            As for `discover`.
        """
        from veracity.api import settle  # noqa: PLC0415 - the pipeline imports this module

        return settle(self, min_plausibility=min_plausibility, engine=engine, progress=progress)

    @cached_property
    def description(self) -> Description:
        """Description of what was learned, without counts of judged claims."""
        return self.algorithm.describe(self.state)

    def grown(self, names: Names) -> Fitted:
        """Return the fit with room for the sources, items and values that these names add."""
        state = self.algorithm.grow(self.state, names)
        counted = trees.grown(self.counted, names.n_sources)
        watch = trees.grown(self.watch, names.n_sources)
        return replace(self, state=state, names=names, counted=counted, watch=watch)

    @property
    def values(self) -> pl.DataFrame | None:
        """Return the values of each attribute in the claims; None if there are too many to list."""
        values, attributes = self.names.labels.to_frame("value"), self.names.attributes
        if not len(attributes):
            return values
        if len(values) * len(attributes) > MOST_VALUES:
            return None
        return attributes.to_frame("attribute").join(values, how="cross")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"{self.algorithm.name} fitted on claims of "
            f"{counted(len(self.names.sources), 'source')} about "
            f"{counted(int(self.counted[0]), 'item')}"
        )

    # --- as files ---------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays by name."""
        totals = {f"totals/{phase}": trees.plain(own) for phase, own in self.totals.items()}
        parts = {
            "state": self.state, "counted": self.counted, **totals, "rounds": self.rounds,
            "until": self.until, "clock": self.clock, "watch": self.watch,
        }  # fmt: skip
        if self.rules is not None:
            parts["rules"] = self.rules.learned
        return {
            name: array
            for part, tree in parts.items()
            for name, array in trees.to_arrays(tree, part).items()
        }

    @classmethod
    def from_arrays(
        cls,
        algorithm: Algorithm[Any],
        names: Names,
        kind: Kind,
        arrays: Mapping[str, NDArray[Any]],
        normalisation: Mapping[str, Any] | None,
        rules: Sequence[Mapping[str, Any]] = (),
    ) -> Fitted:
        """Make the fit again; raise ValueError if its arrays do not fit the algorithm."""
        sizes = {"source": names.n_sources}
        counted = trees.from_arrays(Counted, arrays, "counted")
        trees.check(counted, counted, sizes)
        state = trees.from_arrays(algorithm.state_type, arrays, "state", labels=names.labels)
        survey = Survey(kind, names, counted)
        trees.check(state, algorithm.start(survey, prior_rates(algorithm, survey)), sizes)
        read = None
        if rules:
            read = Rules.read(rules).bound(names.attributes)
            read = read.with_learned(trees.from_arrays(tuple, arrays, "rules"), names.labels)
        watch = trees.from_arrays(Watch | None, arrays, "watch")
        if watch is not None:
            trees.check(watch, Watch.unseen(names.n_sources), sizes)
        phases = {name[:-1] for name in arrays if re.fullmatch(r"totals/[^.]*\.", name)}
        return cls(
            algorithm=algorithm,
            state=state,
            names=names,
            kind=kind,
            counted=counted,
            totals={
                phase.removeprefix("totals/"): trees.from_arrays(tuple, arrays, phase)
                for phase in sorted(phases)
            },
            rounds=trees.from_arrays(int, arrays, "rounds"),
            rules=read,
            until=trees.from_arrays(float, arrays, "until"),
            clock=trees.from_arrays(float, arrays, "clock"),
            normalisation=normalisation,
            watch=watch,
        )
