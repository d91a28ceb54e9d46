"""Whether some items are hard, or sources confuse labels: by how the claims of items fall on two.

Where sources confuse two labels, the items of a label are all alike: how many of an item's voices
name the label has a binomial distribution, with a probability of the label's own. Where some items
are harder than others instead, these numbers scatter further (beta-binomial), and sources are as
good on one label as on the other. Confusion matrices cannot tell hard items from items of the other
label: if one label is rare, or there is only one, they make the hard items its own.

Each way has three parameters: how frequent a label is, and how often it is named where it is true,
and where it is not; or how frequent it is, how often sources are right, and how alike they are
right on an item. So it is the claims that decide, as far as one way makes them clearly likelier.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veracity.algorithms.veracity.shrinkage import surely
from veracity.claims.block import Block, FloatArray, IntArray

MOST_VOICES = 100
"""Items of which more speak are not looked at."""

CORRELATIONS = 2.0 ** np.arange(-8.0, -0.5, 0.5)
"""How alike voices may be right on an item, for reasons of its own."""

MUCH_LIKELIER = 3.0
"""By how much likelier, in logs, hard items must make the claims: twenty times."""

MOST_ROUNDS, SMALL_GAIN = 100, 0.01
"""When a fit ends: gains in log-likelihood below this one decide nothing."""

Learn = Callable[[FloatArray], FloatArray]
"""From how often each label is named where each is true, [true, named], to probabilities."""


def said_of_items(block: Block) -> FloatArray:
    """Of how many items so many voices name the first label, and so many the second; adds up."""
    n_items, most = block.n_items, MOST_VOICES + 1
    said = np.bincount(
        block.item_of_fact * 2 + block.label_of_fact, block.n_supports_of_fact, 2 * n_items
    ).reshape(n_items, 2)
    said = said[(said.sum(axis=1) < most) & ~block.is_known].astype(np.int64)
    counts = np.bincount(said[:, 0] * most + said[:, 1], minlength=most**2)
    return counts.astype(np.float64).reshape(most, most)


def items_are_hard(n_items: FloatArray) -> bool:
    """Whether hard items make it clearly likelier than confusions that claims fall as they do.

    Of twenty voices on an item ever fewer name the first label; or two do, or eighteen.

    >>> n_items = np.zeros((101, 101))
    >>> few = np.arange(14)
    >>> n_items[few, 20 - few] = 400, 150, 90, 70, 55, 50, 40, 35, 30, 28, 25, 20, 18, 15
    >>> items_are_hard(n_items)
    True
    >>> n_items = np.zeros((101, 101))
    >>> n_items[[2, 18], [18, 2]] = 500, 50
    >>> items_are_hard(n_items)
    False
    """
    said = np.argwhere(n_items)
    if len(said) == 0:
        return False
    n_items = n_items[said[:, 0], said[:, 1]]
    shares = said / said.sum(axis=1, keepdims=True)
    most = (1.0 + np.sign(said - said[:, ::-1])) / 2.0
    confused = max(
        _log_likelihood((said, n_items), start, 0.0, _of_each_label) for start in (shares, most)
    )
    hard = max(_log_likelihood((said, n_items), most, own, _of_both_labels) for own in CORRELATIONS)
    return hard > confused + MUCH_LIKELIER


def _of_each_label(named: FloatArray) -> FloatArray:
    return surely(named / np.maximum(named.sum(axis=1, keepdims=True), 1.0))


def _of_both_labels(named: FloatArray) -> FloatArray:
    right = surely(np.trace(named) / named.sum())
    return np.where(np.eye(2) == 1.0, right, 1.0 - right)


def _log_likelihood(
    counted: tuple[IntArray, FloatArray], label: FloatArray, correlation: float, learn: Learn
) -> float:
    """How likely the claims become, in logs, by expectation and maximisation from some start."""
    said, n_items = counted
    weight = n_items / (1.0 + (said.sum(axis=1) - 1.0) * correlation)  # Kish's design effect
    before = -np.inf
    for _ in range(MOST_ROUNDS):
        named = (label * weight[:, None]).T @ said
        share = surely(n_items @ label / n_items.sum())
        log_joint = np.log(share) + _log_draws(said, learn(named), correlation)
        log_item = np.logaddexp(*log_joint.T)
        label = np.exp(log_joint - log_item[:, None])
        total = float(n_items @ log_item)
        if total < before + SMALL_GAIN:
            break
        before = total
    return total


def _log_draws(said: IntArray, rate: FloatArray, correlation: float) -> FloatArray:
    """How likely voices name labels as they do, in logs, for each label that may be true.

    An urn in which balls have the rates as shares, and each that is drawn is put back with others
    like it (Pólya), as many as the correlation says: none where there is no correlation.
    """
    drawn = np.arange(said.sum(axis=1).max()) * correlation
    of_label = np.log(rate[..., None] * (1.0 - correlation) + drawn)
    of_all = np.log(1.0 - correlation + drawn)
    of_label, of_all = (
        np.insert(np.cumsum(logs, axis=-1), 0, 0.0, axis=-1) for logs in (of_label, of_all)
    )
    one, other = said.T
    return np.asarray((of_label[:, 0, one] + of_label[:, 1, other] - of_all[one + other]).T)
