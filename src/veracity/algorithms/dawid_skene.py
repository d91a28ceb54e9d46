"""Dawid-Skene: each source has a confusion matrix.

Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm (1979).
For claims whose items share a small set of values, such as the labels of a crowd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Memory,
    Tally,
    Turn,
    Weights,
    kernels,
    share_of_item,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.encode import UNKNOWN, Block, Claims, FloatArray, IntArray
from veracity.errors import ParameterError

__all__ = ["Confusion", "DawidSkene", "label_of_facts"]

MOST_LABELS = 100
"""Distinct values beyond which a confusion matrix per source makes no sense."""

MOST_CELLS = 50_000_000
"""Cells of all confusion matrices beyond which they take more than a few gigabytes."""


class Confusion(NamedTuple):
    """``confusion[s, k, l]``: P(source s says l, given k is true); ``share[k]``: P(k is true)."""

    confusion: FloatArray
    share: FloatArray
    known_counts: FloatArray
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class DawidSkene(Algorithm[Confusion]):
    """Confusion matrices under which the claims are most likely, by expectation maximisation.

    Parameters
    ----------
    smoothing
        Claims added to every cell of a confusion matrix.
    max_rounds, tolerance
        It stops when a round moves no cell by `tolerance`.
    """

    name = "dawid-skene"
    kinds = ("categorical",)

    smoothing: float = 0.01
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, smoothing=self.smoothing, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Confusion]:
        """Count the confusions of the sources with the vote."""
        label_of_fact, n_labels = label_of_facts(claims)
        _check_size(claims.n_sources, n_labels)
        block = claims.all
        shape = (claims.n_items, n_labels)
        supports = np.diff(block.first_support_of_fact).astype(np.float64)
        vote = _spread(share_of_item(supports, block), block, label_of_fact, shape)
        known = _known_labels(block, label_of_fact, shape)
        counts = kernels.count_confusions(block, label_of_fact, known, claims.n_sources)
        nothing = np.zeros((claims.n_sources, n_labels, n_labels))
        empty = Confusion(nothing, np.zeros(n_labels), counts, -np.inf)
        counts = kernels.count_confusions(block, label_of_fact, vote, claims.n_sources)
        return (label_of_fact,), self.learn(empty, (counts, vote.sum(axis=0), -np.inf))

    def study(
        self, block: Block, memory: Memory, reliability: Confusion, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the labels of every item, and count what the sources said of them (E step)."""
        label, log_likelihood = _judge_labels(block, memory[0], reliability)
        n_sources = len(reliability.confusion)
        counts = kernels.count_confusions(block, memory[0], label, n_sources)
        return memory, (counts, label.sum(axis=0), log_likelihood)

    def learn(self, reliability: Confusion, tally: Tally) -> Confusion:
        """The confusions that are most likely given the counts (M step)."""
        counts, total, log_likelihood = tally
        confusion = _rows_to_one(counts + self.smoothing)
        return reliability._replace(
            confusion=confusion,
            share=(total + self.smoothing) / (total + self.smoothing).sum(),
            log_likelihood=float(log_likelihood),
        )

    def change(self, before: Confusion, after: Confusion) -> float:
        """The largest move of any cell or share."""
        move = np.abs(after.confusion - before.confusion).max()
        return float(max(move, np.abs(after.share - before.share).max()))

    def settle(self, reliability: Confusion, prior: PriorRates) -> Confusion:
        """Correct the confusions by the known truths."""
        weighed = reliability.known_counts + UNLEARNED * reliability.confusion
        return reliability._replace(confusion=_rows_to_one(weighed))

    def judge(
        self, block: Block, memory: Memory, reliability: Confusion, single_truth: bool
    ) -> FloatArray:
        """The probability of the label; what it gives to labels nobody names is left out."""
        label, _ = _judge_labels(block, memory[0], reliability)
        plausibility: FloatArray = label[block.item_of_fact, memory[0]]
        return plausibility

    def weights(self, claims: Claims, memory: Memory, reliability: Confusion) -> Weights:
        """Log P(what a source says, given what is true); before any claim, the label's share."""
        block, label_of_fact = claims.all, memory[0]
        log_joint = _log_joint(block, label_of_fact, reliability)
        log_joint[block.item_of_fact, label_of_fact] = -np.inf
        nothing = np.zeros(claims.n_sources)  # it is all in the confusions
        return Weights(
            nothing,
            nothing,
            "softmax",
            prior=np.log(reliability.share)[label_of_fact],
            confusion=np.log(reliability.confusion),
            unclaimed=np.logaddexp.reduce(log_joint, axis=1),
        )

    def trust(self, reliability: Confusion) -> FloatArray:
        """How often the source would name the true label."""
        right = np.diagonal(reliability.confusion, axis1=1, axis2=2)
        return np.asarray(right @ reliability.share)


def label_of_facts(claims: Claims) -> tuple[IntArray, int]:
    """The label each fact names, and how many labels there are: two at least."""
    if claims.label_of_fact is None:
        raise ParameterError("labels need claims that name values")
    return claims.label_of_fact, max(int(claims.label_of_fact.max()) + 1, 2)


def _check_size(n_sources: int, n_labels: int) -> None:
    if n_labels > MOST_LABELS or n_sources * n_labels**2 > MOST_CELLS:
        raise ParameterError(
            f"DawidSkene: {n_sources:,} sources and {n_labels:,} distinct values are too many for "
            "a confusion matrix each; it is for items that share a few values, such as labels: "
            "use OneCoin"
        )


def _spread(
    number: FloatArray, block: Block, label_of_fact: IntArray, shape: tuple[int, int]
) -> FloatArray:
    """Numbers of facts as a matrix of items and labels."""
    spread = np.zeros(shape)
    spread[block.item_of_fact, label_of_fact] = number
    return spread


def _known_labels(block: Block, label_of_fact: IntArray, shape: tuple[int, int]) -> FloatArray:
    return _spread((block.known_of_fact == 1).astype(np.float64), block, label_of_fact, shape)


def _judge_labels(
    block: Block, label_of_fact: IntArray, confusion: Confusion
) -> tuple[FloatArray, float]:
    """P(label) of every item, by Bayes' rule, and the log-likelihood of all claims."""
    log_joint = _log_joint(block, label_of_fact, confusion)
    log_evidence = np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
    label = np.exp(log_joint - log_evidence)
    if (block.known_of_fact != UNKNOWN).any():
        label = _hold_known(label, block, label_of_fact)
    return label, float(log_evidence.sum())


def _log_joint(block: Block, label_of_fact: IntArray, confusion: Confusion) -> FloatArray:
    """Log P(label, claims) of every item."""
    log_confusion = np.log(confusion.confusion)
    one_each = np.ones(len(block.source_of_support))
    score = kernels.sum_confusions(block, label_of_fact, log_confusion, one_each)
    return np.asarray(np.log(confusion.share) + score)


def _hold_known(label: FloatArray, block: Block, label_of_fact: IntArray) -> FloatArray:
    """Labels, with what is known in their place; where it is not claimed, some other is true."""
    known = _known_labels(block, label_of_fact, label.shape)
    is_false = (block.known_of_fact == 0).astype(np.float64)
    refuted = _spread(is_false, block, label_of_fact, label.shape)
    open_labels = np.where(refuted > 0.0, 0.0, label)
    total = open_labels.sum(axis=1, keepdims=True)
    rest = np.where(total > 0.0, open_labels / np.where(total > 0.0, total, 1.0), open_labels)
    return np.where(known.any(axis=1, keepdims=True), known, rest)


def _rows_to_one(counts: FloatArray) -> FloatArray:
    rows: FloatArray = counts / counts.sum(axis=2, keepdims=True)
    return rows
