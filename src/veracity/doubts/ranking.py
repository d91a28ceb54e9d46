"""Attributes on which sources rank in another order than elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.doubts.conflicts import vote
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.partitions import Encoded
from veracity.kernels.loading import kernels
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.result.warnings import DataWarning, data_warning, some

FEWEST_CLAIMS = 20
"""Disputed claims of a source, on an attribute and elsewhere, from which it is compared there."""

FEWEST_SOURCES = 4
"""Sources that can be compared on an attribute: two must fall and two rise."""

MOST_SOURCES = 100
"""Sources that are compared on one attribute, those with most claims there: every pair is."""

MOST_FOUND = 10
"""Attributes that are named at most."""

CLEAR, LARGE = 3.0, 1.0
"""Standard errors, and log-odds, by which two sources must have moved apart. With three standard
errors, no draw of five designs in which sources differ by one skill alone gave an alarm."""

SHARE_OF_PAIRS = 0.25
"""Share of the pairs that must have moved apart: else it is a matter of one or two sources."""

COLUMNS: dict[str, Any] = {
    "attribute": pl.String, "source": pl.String, "change": pl.String, "here": pl.Float64,
    "elsewhere": pl.Float64, "claims_here": pl.Int64, "claims_elsewhere": pl.Int64,
}  # fmt: skip


def turned_over(encoded: Encoded, plausibility: Sequence[FloatArray]) -> pl.DataFrame:
    """Return the attributes on which sources rank differently, and the sources compared there.

    `here` and `elsewhere` are the shares of right claims among the disputed ones, by the
    plausibilities of each block. `change` is "rises" or "falls" for sources that moved apart from
    others. The attribute that differs most comes first, and is not part of what the next is
    compared with: one attribute on which most sources err makes others look odd. At most half of
    the attributes are named, since the others are what they are compared with.
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
    """How sources stand to each other on one attribute, against how they do elsewhere."""

    size: float
    """Sum of the log-odds by which pairs moved apart; 0 if too few did."""
    sources: IntArray
    """Sources that can be compared, those that rose most first."""
    change: IntArray
    """1 for a source that rose above others, -1 for one that fell, else 0."""


def _moves(here: FloatArray, elsewhere: FloatArray) -> _Moves:
    """Return which sources moved apart on an attribute.

    Where items are harder, or easier, all sources move, and differences between them shrink or
    grow. So log-odds are compared with the line through those of all sources, which never falls:
    what is left tells of another order.
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


def turned_over_warnings(encoded: Encoded, plausibility: Sequence[FloatArray]) -> list[DataWarning]:
    """Warn of attributes on which sources rank differently."""
    table = turned_over(encoded, plausibility)
    if table.is_empty():
        return []
    attributes = table["attribute"].unique(maintain_order=True).to_list()
    first = table.filter(attribute=attributes[0])
    rise, fall = (
        some(first.filter(change=change)["source"].to_list()) for change in ("rises", "falls")
    )
    seen = (
        f"sources rank differently on {some(attributes)}: on {in_short(attributes[0])} the answer "
    )
    seen += f"finds {rise} better than elsewhere, compared with other sources, and {fall} worse"
    return [data_warning("turned-over", seen, table)]
