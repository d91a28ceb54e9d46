"""What a user should know before believing an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms import Algorithm, Rates
from veracity.encode import Claims, Encoded, FloatArray
from veracity.tables import Fit

__all__ = ["not_converged", "notes_on"]


def notes_on(encoded: Encoded, algorithm: Algorithm[Any], found: Fit) -> list[str]:
    """What a user should know before believing the answer."""
    notes = []
    unknown = algorithm.prior.unknown(encoded.sources.to_list())
    if unknown:
        notes.append(f"the prior names sources that make no claim: {_some(unknown)}")
    notes += _notes_on_overlap(encoded)
    if found.rates is not None and found.counts is not None:
        notes += _notes_on_rates(found.rates, found.counts)
    if not found.converged:
        notes.append(not_converged(algorithm, found.trace))
    return notes


def _notes_on_overlap(encoded: Encoded) -> list[str]:
    n_sources = encoded.claims.n_sources
    if n_sources == 1:
        return ["there is a single source: its word cannot be checked against another's"]
    lone = encoded.sources.filter(~_overlaps(encoded.claims))
    if lone.is_empty():
        return []
    return [
        f"{len(lone):,} of {n_sources:,} sources share no item with another, "
        f"so nothing can be learned of them: {_some(lone.to_list())}"
    ]


def _notes_on_rates(rates: Rates, counts: FloatArray) -> list[str]:
    notes = []
    if len(counts) > 1 and bool((counts[:, 3] == counts[:, 1]).all()):
        notes.append("no source contradicts another: there is nothing to decide")
    if np.nansum((rates.tpr - rates.fpr) * counts[:, 3]) < 0:
        notes.append(
            "on the whole the sources support false facts more than true ones: the answer may be "
            "flipped; known good sources in the prior would tell"
        )
    return notes


def not_converged(algorithm: Algorithm[Any], trace: list[dict[str, float | None]]) -> str:
    """That the round limit came first, and how far off the last round was."""
    change = trace[-1]["change"]
    last = "not finite" if change is None else f"{change:.2g}"
    return (
        f"{algorithm.name} did not converge in {len(trace)} rounds: the last change was "
        f"{last}, the tolerance is {algorithm.tolerance:.2g}"
    )


def _overlaps(claims: Claims) -> NDArray[np.bool_]:
    """Which sources speak on an item that another source speaks on, too."""
    n_voices_of_item = np.diff(claims.all.first_voice_of_item)
    is_shared = np.repeat(n_voices_of_item > 1, n_voices_of_item)
    overlaps = np.zeros(claims.n_sources, dtype=np.bool_)
    overlaps[claims.all.source_of_voice[is_shared]] = True
    return overlaps


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(str(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"
