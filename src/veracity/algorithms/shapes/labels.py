"""Labels that items share: which one a source mistakes for which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Tally, Weights, kernels
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.algorithms.shapes.pooling import (
    SUREST,
    USUAL_CORRELATION,
    correlation_of,
    design_effect,
    likeliest_strength,
    log_known,
    of_voices,
    says_most,
    shrunk,
)
from veracity.encode import UNKNOWN, Block, FloatArray, IntArray

__all__ = ["Labels", "plain_confusion"]

STRENGTHS = (1.0, 1024.0)
"""How little and how much a source's accuracy may weigh against its own confusions, in claims."""


class Labels(NamedTuple):
    """A confusion matrix a source: ``confusion[s, k, l]`` is P(source s says l, given k is true).

    It starts at what the source's accuracy alone would say. How much that weighs against the
    source's own confusions is learned: the strength under which the confusions of those that say
    most are most likely.
    """

    accuracy: FloatArray
    confusion: FloatArray
    share: FloatArray
    weight_of_support: FloatArray
    n_named: IntArray | None
    """For each support, how many labels of the item its source names; None if all name one."""
    known_counts: FloatArray
    prior: PriorRates
    strength: float
    correlation: float = USUAL_CORRELATION
    plain_strength: float = 1.0

    def study(self, block: Block, label_of_fact: IntArray) -> Tally:
        """What the sources said of which label, and how likely the known ones are."""
        label = self._judge(block, label_of_fact, 0.0)
        counts = kernels.count_confusions(block, label_of_fact, label, len(self.accuracy))
        place = (block.item_of_fact, label_of_fact)
        known = log_known(  # not settled: confusions would fit what is known too well
            block,
            lambda correlation: _normal(self._log_joint(block, label_of_fact, correlation))[place],
        )
        return counts, known, label.sum(axis=0)

    def learn(self, tally: Tally) -> Labels:
        """Confusions, with those that the accuracy alone would say as more claims."""
        counts, share = tally[0], tally[-1] + 1.0
        right = np.einsum("skk->s", counts)
        accuracy = shrunk(right, counts.sum(axis=(1, 2)), self.prior, self.strength)
        plain = plain_confusion(accuracy, len(share))
        least, most = STRENGTHS
        nearby = self.plain_strength * np.array([1.0, 0.5, 2.0])
        nearby = nearby[(nearby >= least) & (nearby <= most)]
        tells = (self.prior.is_fixed == 0) & says_most(counts.sum(axis=(1, 2)), counts[0].size)
        said, usual_said = (rows[tells].reshape(-1, len(share)) for rows in (counts, plain))
        plain_strength = likeliest_strength(said, usual_said, nearby)
        free = counts + plain_strength * plain
        is_open = len(share) == 2 and not (self.prior.is_fixed == 1).any()
        doubt, usual = _doubt(accuracy) if is_open else (0.0, 0.5)
        alike = plain_confusion(np.full(len(accuracy), usual), len(share))
        learned = (1.0 - doubt) * free / free.sum(axis=2, keepdims=True) + doubt * alike
        is_fixed = (self.prior.is_fixed == 1)[:, None, None]
        return self._replace(
            accuracy=accuracy,
            confusion=np.where(is_fixed, plain, learned),
            share=share / share.sum(),
            correlation=correlation_of(tally[1]),
            plain_strength=plain_strength,
        )

    def settle(self, prior: PriorRates) -> Labels:
        """Correct the confusions by the known truths."""
        weighed = self.known_counts + UNLEARNED * self.confusion
        is_fixed = (prior.is_fixed == 1)[:, None, None]
        confusion = np.where(is_fixed, self.confusion, weighed / weighed.sum(axis=2, keepdims=True))
        accuracy = prior.weigh_known_accuracy(self.accuracy)
        return self._replace(confusion=confusion, accuracy=accuracy)

    def change(self, after: Labels) -> float:
        """By how much the accuracies or the shares moved, on average."""
        moves = (after.accuracy - self.accuracy, after.share - self.share)
        return float(max(np.abs(move).mean() for move in moves))

    def judge(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> FloatArray:
        """Plausibilities; what is missing to one belongs to labels that nobody claims."""
        label = self._judge(block, label_of_fact, self.correlation if temper else 0.0)
        return np.asarray(label[block.item_of_fact, label_of_fact])

    def weights(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> Weights:
        """Log P(what a source says, given what is true), copies and doubt counted in."""
        correlation = self.correlation if temper else 0.0
        log_joint = self._log_joint(block, label_of_fact, correlation)
        log_joint[block.item_of_fact, label_of_fact] = -np.inf
        nothing = np.zeros(len(self.accuracy))  # it is all in the confusions
        weight = of_voices(self.weight_of_support, self.n_named)
        effect = design_effect(block, weight, correlation)
        n_supports = np.add.reduceat(
            np.diff(block.first_support_of_fact), block.first_fact_of_item[:-1]
        )
        return Weights(
            nothing,
            nothing,
            "softmax",
            prior=np.log(self.share)[label_of_fact] / effect[block.item_of_fact],
            of_claim=self.weight_of_support / np.repeat(effect, n_supports),
            confusion=np.log(self.confusion),
            unclaimed=np.logaddexp.reduce(log_joint, axis=1),
        )

    def _log_joint(self, block: Block, label_of_fact: IntArray, correlation: float) -> FloatArray:
        weight = self.weight_of_support
        said = kernels.sum_confusions(block, label_of_fact, np.log(self.confusion), weight)
        effect = design_effect(block, of_voices(weight, self.n_named), correlation)
        return np.asarray((np.log(self.share) + said) / effect[:, None])

    def _judge(self, block: Block, label_of_fact: IntArray, correlation: float) -> FloatArray:
        label = _normal(self._log_joint(block, label_of_fact, correlation))
        is_known = block.known_of_fact != UNKNOWN
        if is_known.any():
            label[block.item_of_fact[block.known_of_fact == 1]] = 0.0
            place = (block.item_of_fact[is_known], label_of_fact[is_known])
            label[place] = block.known_of_fact[is_known]
            label /= np.maximum(label.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return label


def plain_confusion(accuracy: FloatArray, n_labels: int) -> FloatArray:
    """The confusions of sources that err towards all labels alike."""
    right = accuracy[:, None, None] * np.eye(n_labels)
    wrong = (1.0 - accuracy)[:, None, None] * (1.0 - np.eye(n_labels)) / (n_labels - 1)
    return np.asarray(right + wrong)


def _normal(log_joint: FloatArray) -> FloatArray:
    return np.asarray(np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)))


def _doubt(accuracy: FloatArray) -> tuple[float, float]:
    """How likely, at most, the average source is wrong more often than right; and how good it is.

    Cantelli's inequality: 1 / (1 + z²), for a mean that is z standard errors above one half.
    """
    mean, error = float(accuracy.mean()), float(accuracy.std()) / np.sqrt(len(accuracy))
    above = max(mean - 0.5, 0.0)
    return error**2 / max(error**2 + above**2, SUREST**2), max(mean, 0.5 + SUREST)
