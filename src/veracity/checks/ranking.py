"""Find attributes on which sources rank in another order than elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity import kernels
from veracity.checks.evidence import Evidence
from veracity.checks.registry import Seen, register
from veracity.checks.voting import vote
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.partitions import Encoded
from veracity.naming import as_text
from veracity.printing import in_short, some

FEWEST_CLAIMS = 20
"""Smallest number of disputed claims, on an attribute and elsewhere, to compare a source there."""

FEWEST_SOURCES = 4
"""Smallest number of sources to compare on an attribute: two must fall and two rise."""

MOST_SOURCES = 100
"""Largest number of sources compared on an attribute, since all pairs are compared."""

MOST_FOUND = 10
"""Largest number of attributes that are named."""

CLEAR, LARGE = 3.0, 1.0
"""Standard errors and log-odds by which two sources must have moved apart. With three standard
errors, simulations of sources with a single skill (five designs) gave no false alarm."""

SHARE_OF_PAIRS = 0.25
"""Smallest share of the pairs that moved apart; below it, only one or two sources are unusual."""

COLUMNS: dict[str, Any] = {
    "attribute": pl.String, "source": pl.String, "change": pl.String, "here": pl.Float64,
    "elsewhere": pl.Float64, "claims_here": pl.Int64, "claims_elsewhere": pl.Int64,
}  # fmt: skip


def turned_over(encoded: Encoded, plausibility: Sequence[FloatArray]) -> pl.DataFrame:
    """Return the attributes on which sources rank differently, and the sources compared there.

    `here` and `elsewhere` are the shares of right claims among the disputed ones, by the
    plausibilities of each block. `change` is "rises" or "falls" for sources that moved apart from
    others. The attribute that differs most comes first. It is left out when the next attribute is
    compared with the rest, because an attribute with many errors makes others look unusual. At most
    half of the attributes are named, since they are compared with the other half.
    """
    shape = (encoded.names.n_sources, len(encoded.names.attributes))
    found = [pl.DataFrame(schema=COLUMNS)]
    if shape[1] < 2 or encoded.kind not in ("categorical", "multiple"):
        return found[0]
    sums = np.zeros((2, *shape))
    for block, own in zip(encoded.blocks, plausibility, strict=True):
        sums += _right_and_claims(block, own, shape)
    left, total = np.arange(shape[1]), sums.sum(axis=2)
    names, attributes = as_text(encoded.names.sources), as_text(encoded.names.attributes)
    while 2 * len(left) > shape[1] and len(found) <= MOST_FOUND:
        moves = [_moves(sums[:, :, a], total - sums[:, :, a]) for a in left]
        most = int(np.argmax([move.size for move in moves]))
        a, (size, sources, change) = int(left[most]), moves[most]
        if size == 0.0:
            break
        here, elsewhere = sums[:, sources, a], (total - sums[:, :, a])[:, sources]
        columns = {
            "attribute": [attributes[a]] * len(sources),
            "source": names.gather(sources),
            "change": [("falls", "", "rises")[one + 1] for one in change],
            "here": here[0] / here[1],
            "elsewhere": elsewhere[0] / elsewhere[1],
            "claims_here": np.round(here[1]),
            "claims_elsewhere": np.round(elsewhere[1]),
        }
        found.append(pl.DataFrame(columns, schema_overrides=COLUMNS, strict=False))
        left, total = np.delete(left, most), total - sums[:, :, a]
    return pl.concat(found)


def _right_and_claims(block: Block, plausibility: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Count the disputed claims of each source on each attribute, and how many are right."""
    share = vote(block)
    is_disputed = ((share > 0.0) & (share < 1.0)).astype(np.float64)
    return np.stack(
        [
            kernels.sum_by_source(block, number, block.attribute_of_item, *shape)
            for number in (plausibility * is_disputed, is_disputed)
        ]
    )


class _Moves(NamedTuple):
    """Changes of the sources' order on one attribute, compared with all others."""

    size: float
    """Sum of the log-odds by which pairs moved apart; 0 if too few did."""
    sources: IntArray
    """Sources that can be compared, those that rose most first."""
    change: IntArray
    """1 for a source that rose above others, -1 for one that fell below others, else 0."""


def _moves(here: FloatArray, elsewhere: FloatArray) -> _Moves:
    """Return the sources that moved apart on an attribute.

    If items are harder or easier, all sources move, and differences between them shrink or grow.
    So log-odds are compared with a rising line fitted to those of all sources; the rest shows a
    different order.
    """
    nothing = np.zeros(0, dtype=np.int64)
    sources = np.flatnonzero(np.minimum(here[1], elsewhere[1]) >= FEWEST_CLAIMS)
    if len(sources) < FEWEST_SOURCES:
        return _Moves(0.0, nothing, nothing)
    sources = sources[np.argsort(-here[1, sources], kind="stable")[:MOST_SOURCES]]
    y, variance_of_y = _log_odds(here[:, sources])
    x, variance_of_x = _log_odds(elsewhere[:, sources])
    weight = 1.0 / (variance_of_x + variance_of_y)
    x_mean, y_mean = np.average(x, weights=weight), np.average(y, weights=weight)
    spread = float(weight @ (x - x_mean) ** 2)
    slope = max(float(weight @ ((x - x_mean) * (y - y_mean))), 0.0) / max(spread, 1e-9)
    rest, variance = y - slope * x, variance_of_y + slope**2 * variance_of_x
    order = np.argsort(-rest, kind="stable")
    sources, rest, variance = sources[order], rest[order], variance[order]
    ahead = rest[:, None] - rest
    is_apart = ahead > np.maximum(CLEAR * np.sqrt(variance[:, None] + variance), LARGE)
    change = np.sign(is_apart.sum(axis=1) - is_apart.sum(axis=0))
    is_enough = is_apart.sum() >= SHARE_OF_PAIRS * len(sources) * (len(sources) - 1) / 2
    if not is_enough or min((change > 0).sum(), (change < 0).sum()) < 2:
        return _Moves(0.0, nothing, nothing)
    move = (y - x)[order]
    return _Moves(float((move[:, None] - move)[is_apart].sum()), sources, change)


def _log_odds(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log-odds of being right, and their variances."""
    right, wrong = sums[0] + 1.0, np.maximum(sums[1] - sums[0], 0.0) + 1.0
    return np.log(right / wrong), 1.0 / right + 1.0 / wrong


@register(
    "turned-over",
    cost="sample",
    meaning="Either these sources know other things, or several of them share an error there and "
    "the answer follows it. The claims do not show which.",
    remedy="Look up a few items of this attribute (result.questions(), veracity ask).",
)
def rank_differently(evidence: Evidence) -> Seen | None:
    """Find attributes on which sources rank differently."""
    table = turned_over(evidence.sample, evidence.sample_plausibility)
    if table.is_empty():
        return None
    attributes = table["attribute"].unique(maintain_order=True).to_list()
    first = table.filter(attribute=attributes[0])
    rise, fall = (
        some(first.filter(change=change)["source"].to_list()) for change in ("rises", "falls")
    )
    text = f"sources rank differently on {some(attributes)}: on {in_short(attributes[0])} the "
    text += f"answer finds {rise} better than elsewhere, compared with other sources, and {fall} "
    return Seen(f"{text}worse", examples=table)
