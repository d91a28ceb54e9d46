"""Measure how far sources agree beyond chance: Krippendorff's alpha and Fleiss' kappa.

Values are nominal: equal or different. Only values of the same attribute are compared, and
agreement by chance is computed within each attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.encoding.partitions import Encoded
from veracity.result.crowds import claims_of_value

MOST_CELLS = 100_000_000
"""Largest product of the numbers of values and attributes for which values are counted."""


class BeyondChance(NamedTuple):
    """Agreement beyond chance: 1 if all agree, 0 if they agree as often as by chance."""

    alpha: float | None
    """Krippendorff's alpha; None if nobody could disagree, or values cannot be compared."""
    kappa: float | None
    """Fleiss' kappa; all items have the same weight, whatever their number of claims."""


def beyond_chance(encoded: Encoded) -> BeyondChance:
    """Return alpha and kappa of all items with two claims or more."""
    names, n_attributes = encoded.names, max(len(encoded.names.attributes), 1)
    n_labels = 2 if encoded.kind == "binary" else len(names.labels)
    is_nominal = encoded.kind in ("categorical", "binary")
    if not is_nominal or names.n_unnumbered or n_labels * n_attributes > MOST_CELLS:
        return BeyondChance(None, None)
    # By attribute: items, claims, and what alpha and kappa observe, which are the sums over items
    # with n claims, n_v of them of the value v, of Σ n_v (n_v - 1) / (n - 1), and of that over n.
    sums = np.zeros((4, n_attributes))
    claims_of_label = np.zeros(n_attributes * n_labels)
    for block in encoded.blocks:
        n_of_fact, item, label = claims_of_value(block, encoded.kind)
        n = np.bincount(item, n_of_fact, block.n_items)
        is_met = n > 1
        pairs = np.bincount(item, n_of_fact * (n_of_fact - 1.0), block.n_items)[is_met]
        attribute, n = block.attribute_of_item, n[is_met]
        for row, number in enumerate(
            (np.ones(len(n)), n, pairs / (n - 1.0), pairs / (n * (n - 1)))
        ):
            sums[row] += np.bincount(attribute[is_met], number, n_attributes)
        is_counted = is_met[item]
        cell = attribute[item[is_counted]].astype(np.int64) * n_labels + label[is_counted]
        claims_of_label += np.bincount(cell, n_of_fact[is_counted], len(claims_of_label))
    items, claims, alike, alike_share = sums[:, sums[1] > 0]
    of_label = claims_of_label.reshape(n_attributes, n_labels)[sums[1] > 0]
    if not claims.size:
        return BeyondChance(None, None)
    expected = (of_label * (of_label - 1.0)).sum(axis=1) / (claims - 1.0)
    squares = (of_label**2).sum(axis=1)
    return BeyondChance(
        _scaled(alike.sum() / claims.sum(), expected.sum() / claims.sum()),
        _scaled(alike_share.sum() / items.sum(), (items * squares / claims**2).sum() / items.sum()),
    )


def alpha_of(encoded: Encoded) -> float | None:
    """Return Krippendorff's alpha; None if values cannot be compared."""
    return beyond_chance(encoded).alpha


def _scaled(observed: float, expected: float) -> float | None:
    """Return agreement beyond chance; None if agreement by chance is complete."""
    return None if expected >= 1.0 else float((observed - expected) / (1.0 - expected))
