"""Keep a fit up to date: take out what it learned of items that come again, and let it fade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from reprlib import repr as short
from typing import NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.base import Walk
from veracity.encoding.block import Block
from veracity.encoding.kept import KeptParts, merged_claims
from veracity.encoding.names import marks_of
from veracity.encoding.partitions import (
    CLAIMS_PER_BLOCK,
    Encoded,
    MarkedItems,
    Partition,
    PartitionsInMemory,
)
from veracity.engines import Engine
from veracity.errors import InputError, NoClaims, ParameterError
from veracity.fit.fitted import Fitted
from veracity.fit.loop import survey_of, without
from veracity.printing import counted
from veracity.reading.clean import NO_TIME
from veracity.trees import scaled, subtracted

HalfLife = float | timedelta | str | None
"""Number of new claims, or time, after which what was learned before counts half."""


class Revised(NamedTuple):
    """Earlier fit without the items that come again, and these items with all their claims."""

    before: Fitted
    encoded: Encoded
    notes: tuple[str, ...]


def revised(before: Fitted, new: Encoded, withdrawn: Encoded | None, engine: Engine) -> Revised:
    """Bring new claims together with the old claims on their items, where these are at hand."""
    kept, given = before.claims, [new, *([] if withdrawn is None else [withdrawn])]
    if kept is None or kept.is_remote or new.is_remote:
        alike = []
    else:
        alike = [own for own in (_named_as(kept, one) for one in given) if own is not None]
    if kept is None or len(alike) < len(given):
        if withdrawn is not None:
            raise InputError(
                "no claim can be withdrawn: the earlier claims are not at hand; run discover on "
                "all claims that are left"
            )
        note = (
            "the earlier claims are not at hand, so only their sums count: if a source repeats or "
            "corrects a claim, both count"
        )
        return Revised(replace(before, claims=None), new, (note,))
    new, *others = alike
    items = MarkedItems.of(pl.concat([one.items for one in alike]), kept.example.items)
    left, taken = KeptParts.of(kept.parts).without(items)
    gone = [part for one in others for part in one.parts]
    n_missed = sum(len(part.block.source_of_voice) for part in gone)
    encoded, notes = new, list[str]()
    if taken:
        before = _without(before, replace(kept, names=new.names), taken, engine)
        encoded, notes, n_found = _merged(new, taken, gone)
        n_missed -= n_found
    if n_missed:
        missed = counted(n_missed, "withdrawn claim was", "withdrawn claims were")
        notes.append(f"{missed} not among the earlier ones; check the names of source and item")
    kept = replace(kept, names=encoded.names, parts=left.with_parts(encoded.parts, before.clock))
    return Revised(replace(before, claims=kept), encoded, tuple(notes))


def _named_as(kept: Encoded, new: Encoded) -> Encoded | None:
    """Return new claims with items and values of the types of the kept ones; None if impossible."""
    example, own = kept.example, new.example
    items, values = pl.Schema(example.items.schema), example.values
    if items.names() != own.items.columns:
        return None
    is_alike = values is None or own.values is None or values.dtype == own.values.dtype
    if items == own.items.schema and is_alike:
        return new
    try:
        parts = [
            Partition(
                part.block._replace(mark_of_item=marks_of(part.items.cast(items))),
                part.items.cast(items),
                None if part.values is None or values is None else part.values.cast(values.dtype),
            )
            for part in new.parts
        ]
    except pl.exceptions.PolarsError:
        return None
    return replace(new, parts=PartitionsInMemory(parts))


def _without(
    before: Fitted, kept: Encoded, taken: Sequence[tuple[Partition, float]], engine: Engine
) -> Fitted:
    """Return the fit without what it learned of some items: their part of all counts and sums."""
    before = before.grown(kept.names)
    for clock in {clock for _, clock in taken}:
        share = 2.0 ** (clock - before.clock)
        block = Block.joined([part.block for part, own in taken if own == clock])
        with engine.hold([block]) as held:
            own = survey_of(held, kept).counted
            totals = without(before, held, share)
        left = subtracted(before.counted, scaled(own, share))
        before = replace(before, totals=totals, counted=left)
    return before


def _merged(
    new: Encoded, taken: Sequence[tuple[Partition, float]], withdrawn: Sequence[Partition]
) -> tuple[Encoded, list[str], int]:
    """Return new claims with the old ones on the same items; few are one partition, sorted.

    Also return notes, and the number of withdrawn claims that were found.
    """
    old = Partition.joined([part for part, _ in taken])
    gone = Partition.joined(list(withdrawn)) if len(withdrawn) else None
    is_small = new.n_claims + len(old.block.source_of_voice) <= CLAIMS_PER_BLOCK
    items = MarkedItems.of(old.items, old.items)
    apart, again = [], []
    for part in new.parts:
        is_again = np.ones(part.block.n_items, np.bool_) if is_small else part.marks(items)
        again += [part.select(is_again)] if is_again.any() else []
        apart += [part.select(~is_again)] if not is_again.all() else []
    n_sources = new.names.n_sources
    found = merged_claims(old, Partition.joined(again) if again else None, gone, n_sources)
    parts = [*apart, *([] if found.part is None else [found.part])]
    if not parts:
        raise NoClaims("all claims on these items were withdrawn: no claim is left")
    n_old = len(old.block.source_of_voice) - found.n_replaced - found.n_withdrawn
    counts = (
        (n_old, "earlier claim on the same items counts", "earlier claims on the same items count"),
        (found.n_replaced, "earlier claim is replaced", "earlier claims are replaced"),
        (found.n_withdrawn, "earlier claim is withdrawn", "earlier claims are withdrawn"),
    )
    notes = [counted(*count) for count in counts if count[0]]
    numbered = (replace(part, block=part.block._replace(number=n)) for n, part in enumerate(parts))
    together = replace(new, parts=PartitionsInMemory(numbered))
    if new.alikeness is not None:  # old and new spellings meet
        together, _ = together.with_alike(new.alikeness)
    return together, notes, found.n_found


def faded(before: Fitted, half_life: HalfLife, n_new: int, until: float) -> Fitted:
    """Return the fit with its sums multiplied by 2 ** -elapsed, in half-lives."""
    if half_life is None:
        return before
    walks = [
        phase for phase in before.algorithm.phases(before.state)
        if any(isinstance(step, Walk) for step in phase.steps)
    ]  # fmt: skip
    keeps_sums = before.totals and not walks
    if not keeps_sums and before.algorithm.forget(before.state, 1.0) is None:
        raise ParameterError(
            f"{before.algorithm.name} keeps no sums that could fade, so it has no half_life; take "
            "another algorithm, or learning='flow' for ltd-rbm"
        )
    try:  # a number of claims, also as text
        passed, period = float(n_new), float(half_life)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        passed, period = max(until - before.until, 0.0), _seconds(half_life)  # type: ignore[arg-type]
        if NO_TIME in (before.until, until):
            raise ParameterError(
                "half_life is a time, and the claims have no times; name their column, e.g. "
                "columns={'time': 'seen'}, in discover and in update, or give a number of claims"
            ) from None
    if isinstance(half_life, bool) or not period > 0.0:
        raise ParameterError(f"half_life must be above 0, got {short(half_life)}")
    share = 2.0 ** -(passed / period)
    return replace(
        before,
        state=before.state if keeps_sums else before.algorithm.forget(before.state, share),
        totals={phase: scaled(total, share) for phase, total in before.totals.items()},
        counted=scaled(before.counted, share),
        clock=before.clock + passed / period,
    )


def _seconds(half_life: timedelta | str) -> float:
    """Return the seconds of a time such as "1d", "12h", "30m" or "90s".

    >>> _seconds("1d"), _seconds("1.5h")
    (86400.0, 5400.0)
    """
    if isinstance(half_life, timedelta):
        return half_life.total_seconds()
    number, unit = str(half_life).strip()[:-1], str(half_life).strip()[-1:]
    try:
        return float(number) * {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}[unit]
    except (KeyError, ValueError):
        raise ParameterError(
            f"half_life must be a number of claims, or a time such as '1d', '12h', '30m' or a "
            f"timedelta, got {short(half_life)}"
        ) from None
