"""What algorithms for labels share: labels as a matrix, and room for labels never met."""

from __future__ import annotations

import numpy as np

from veracity.encoding.block import Block, FloatArray


def spread_labels(number_of_fact: FloatArray, block: Block, n_labels: int) -> FloatArray:
    """Numbers of facts as a matrix of items and labels."""
    spread = np.zeros((block.n_items, n_labels))
    spread[block.item_of_fact, block.label_of_fact] = number_of_fact
    return spread


def grown_share(share: FloatArray, n_labels: int) -> FloatArray:
    """Shares of labels, with a label that was never met as rare as the rarest that was.

    >>> grown_share(np.array([0.75, 0.25]), 3).round(2).tolist()
    [0.6, 0.2, 0.2]
    """
    if n_labels == len(share):
        return share
    grown = np.append(share, np.full(n_labels - len(share), share.min()))
    return np.asarray(grown / grown.sum())


def grown_confusion(confusion: FloatArray, n_labels: int) -> FloatArray:
    """Confusions, with labels never met: named as rarely as the rarest, and right as often as all.

    Of a new label a source is right with its mean accuracy, and errs towards all others alike.
    """
    n_old = confusion.shape[1]
    if n_labels == n_old:
        return confusion
    grown = np.empty((len(confusion), n_labels, n_labels))
    grown[:, :n_old, :n_old] = confusion
    grown[:, :n_old, n_old:] = confusion.min(axis=2, keepdims=True)
    right = np.diagonal(confusion, axis1=1, axis2=2).mean(axis=1)
    grown[:, n_old:, :] = ((1.0 - right) / (n_labels - 1))[:, None, None]
    new = np.arange(n_old, n_labels)
    grown[:, new, new] = right[:, None]
    return np.asarray(grown / grown.sum(axis=2, keepdims=True))
