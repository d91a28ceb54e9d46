"""The confusion-matrix error model: which of the labels that items share a source mistakes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import BySource, CountBySource, Tally
from veracity.algorithms.labels import grown_confusion, grown_share, spread_labels
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.algorithms.regression import Counts, Regression
from veracity.algorithms.rules import (
    Weights,
    clamp_labels,
    label_probabilities,
    label_scores,
    logit,
    sigmoid,
)
from veracity.algorithms.veracity.dispersion import Pairs, Scatter
from veracity.algorithms.veracity.shrinkage import (
    SUREST,
    Derived,
    design_effect,
    likeliest_strength,
    says_most,
    shrunk_accuracy,
    surely,
    weigh_known,
)
from veracity.claims.block import Block, FloatArray
from veracity.kernels.loading import kernels

STRENGTHS = (1.0, 1024.0)
"""How few and how many pseudo-claims a source's accuracy may be worth against its confusions."""


LABEL_STRENGTH, ERROR_STRENGTH = 8.0, 2.0
"""Pseudo-claims with which what the crowd does on one label is shrunk: how often it is right, and
towards which other labels it errs."""

SHARED = 0.5
"""How much of what makes a label easy for the crowd, in log-odds, makes it easy for each source."""


MOST_ALIKE, LESS_ALIKE = 0.6, 8.0
"""How alike voices err where all sources are equally good, and how fast that falls."""


class Confusions(NamedTuple):
    """A confusion matrix per source: ``confusion[s, k, l]`` is P(s says l, given k is true).

    It starts at what the source's accuracy alone would say. How many pseudo-claims that is worth
    is learned: as many as make the confusions of those that say most most likely.
    """

    accuracy: BySource
    confusion: BySource
    known_counts: CountBySource
    expected: CountBySource
    """[source, 1]: how often it would be right on known items, by what was learned."""
    prior: PriorRates
    share: FloatArray
    strength: float
    correlation: float = 0.0
    """How alike the voices on an item err."""
    plain_strength: float = 1.0
    alike: float = 1.0
    """How far the claims show that voices on an item err alike, as they do as a rule."""
    features: Regression | None = None
    """What features of sources say of the accuracy."""
    are_learned: bool = True
    """Whether sources may confuse some labels more than others; else all follows from accuracies
    and from how frequent the labels are."""

    @classmethod
    def at_start(
        cls, prior: PriorRates, n_labels: int, strength: float, rows: FloatArray | None = None,
        *, are_learned: bool = True,
    ) -> Confusions:  # fmt: skip
        """Before anything was counted; there are `rows` of features, or not."""
        plain = plain_confusion(prior.tpr, n_labels)
        share = np.full(n_labels, 1.0 / n_labels)
        features = None if rows is None else Regression.at_start(rows, 1)
        return cls(
            accuracy=prior.tpr,
            confusion=plain,
            known_counts=np.zeros_like(plain),
            expected=np.zeros((len(plain), 1)),
            prior=prior,
            share=share,
            strength=strength,
            features=features,
            are_learned=are_learned,
        )

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.share)

    def tally_survey(self, block: Block) -> Tally:
        """What the sources said of labels that are known."""
        known = (block.known_of_fact == 1).astype(np.float64)
        return (self._said(block, spread_labels(known, block, len(self.share))),)

    def learn_survey(self, total: Tally) -> Confusions:
        """What known truths tell."""
        return self._replace(known_counts=total[0])

    def tally_vote(self, block: Block, vote: FloatArray) -> Tally:
        """What the sources said of which label, by a vote."""
        label = spread_labels(vote, block, len(self.share))
        return self._said(block, label), label.sum(axis=0)

    def tally(self, block: Block, found: Derived) -> Tally:
        """What the sources said of which label (E-step)."""
        label = label_probabilities(label_scores(block, self.weights(block, found)))
        label = clamp_labels(label, block)
        return self._said(block, label), label.sum(axis=0)

    def _said(self, block: Block, label: FloatArray) -> FloatArray:
        return np.asarray(kernels.count_confusions(block, label, len(self.accuracy)))

    def learn_vote(self, total: Tally) -> Confusions:
        """As from any other answer."""
        return self.learn(total)

    def learn(self, total: Tally) -> Confusions:
        """Confusions, with those that the accuracy alone would say as pseudo-claims (M-step)."""
        counts, labels = total
        share = labels + 1.0
        met = Counts(np.einsum("skk->s", counts), counts.sum(axis=(1, 2)))
        accuracy, features = shrunk_accuracy(met, self.prior, self.strength, self.features)
        learned = self._replace(accuracy=accuracy, share=share / share.sum(), features=features)
        if not self.are_learned:
            return learned._replace(confusion=plain_confusion(accuracy, len(share)))
        plain = crowd_confusion(accuracy, counts[self.prior.is_fixed == 0].sum(axis=0))
        plain_strength = self._likeliest(counts, plain)
        free = counts + plain_strength * plain
        own = self._anchored(free / free.sum(axis=2, keepdims=True), accuracy)
        is_fixed = (self.prior.is_fixed == 1)[:, None, None]
        confusion = np.where(is_fixed, plain, own)
        return learned._replace(confusion=confusion, plain_strength=plain_strength)

    def _likeliest(self, counts: FloatArray, plain: FloatArray) -> float:
        """How many pseudo-claims a source's accuracy is worth: what it was, half or twice that."""
        least, most = STRENGTHS
        nearby = self.plain_strength * np.array([1.0, 0.5, 2.0])
        nearby = nearby[(nearby >= least) & (nearby <= most)]
        tells = (self.prior.is_fixed == 0) & says_most(counts.sum(axis=(1, 2)), counts[0].size)
        said, usual = (rows[tells].reshape(-1, len(counts[0])) for rows in (counts, plain))
        return likeliest_strength(said, usual, nearby)

    def _anchored(self, learned: FloatArray, accuracy: FloatArray) -> FloatArray:
        """Two labels can be swapped: as far as that is likely, all sources count as alike."""
        if len(self.share) != 2 or (self.prior.is_fixed == 1).any():
            return learned
        doubt, usual = _doubt(accuracy)
        alike = plain_confusion(np.full(len(accuracy), usual), 2)
        return np.asarray((1.0 - doubt) * learned + doubt * alike)

    def usual_correlation(self, claims: FloatArray) -> float:
        """How alike the voices on an item err: the less, the more the sources differ.

        `MOST_ALIKE` / (1 + `LESS_ALIKE` R²), R² being the share of the variance of right and wrong
        that lies between sources. Where sources do not differ, what makes them err is the item's.
        """
        mean = float(np.average(self.accuracy, weights=claims))
        between = float(np.average((self.accuracy - mean) ** 2, weights=claims))
        least = 1.0 + LESS_ALIKE * between / max(mean * (1.0 - mean), SUREST)
        return MOST_ALIKE / least

    def scatter(self, block: Block, found: Derived, pairs: Pairs) -> Scatter:
        """By how much more, or less, voices are right on an item than is expected of them."""
        label = label_probabilities(label_scores(block, self.weights(block, found)))
        n_items, n_labels = label.shape
        item = block.item_of_fact[block.fact_of_support]
        voice = block.counted(np.ones(len(item)))[:, None]
        right = np.diagonal(self.confusion, axis1=1, axis2=2)[block.source_of_support]
        deviation = np.sqrt(right * (1.0 - right)) * voice
        says = block.label_of_fact[block.fact_of_support][:, None] == np.arange(n_labels)
        beyond = (says - right) * voice
        first = np.flatnonzero(np.diff(item, prepend=-1))
        sums = [np.add.reduceat(own, first) for own in (beyond, deviation**2, deviation)]
        one, other = pairs
        for own in (beyond, deviation):
            of_pairs = np.zeros_like(label)
            np.add.at(of_pairs, item[one], own[one] * own[other])
            sums.append(of_pairs)
        of_item = np.repeat(np.arange(n_items), n_labels)
        return Scatter(of_item, label.ravel(), *(own.ravel() for own in sums))

    def tally_expected(self, block: Block, found: Derived, correlation: float) -> FloatArray:
        """How often the sources would be right on known items, were these not known: [source, 1].

        Known items may be harder than others, or easier.
        """
        label = label_probabilities(label_scores(block, self.weights(block, found, correlation)))
        of_fact = label[block.item_of_fact, block.label_of_fact]
        everywhere = np.zeros(block.n_items, dtype=np.int32)
        return np.asarray(kernels.sum_by_source(block, of_fact, everywhere, len(self.accuracy), 1))

    def calibrated(self) -> Confusions:
        """The confusions as the known truths correct them.

        Accuracies alone move as far as a source is right more often there than was expected.
        """
        if not self.are_learned:
            right = np.einsum("skk->s", self.known_counts)
            known = np.stack([right, self.known_counts.sum(axis=(1, 2)) - right], axis=1)
            accuracy = weigh_known(self.accuracy, known, self.expected[:, 0], self.prior)
            plain = plain_confusion(accuracy, len(self.share))
            return self._replace(confusion=plain, accuracy=accuracy)
        weighed = self.known_counts + UNLEARNED * self.confusion
        is_fixed = (self.prior.is_fixed == 1)[:, None, None]
        confusion = np.where(is_fixed, self.confusion, weighed / weighed.sum(axis=2, keepdims=True))
        accuracy = self.prior.weigh_known_accuracy(self.accuracy)
        return self._replace(confusion=confusion, accuracy=accuracy)

    def change(self, after: Confusions) -> float:
        """By how much the accuracies or the shares moved, on average."""
        moves = (after.accuracy - self.accuracy, after.share - self.share)
        return float(max(np.abs(move).mean() for move in moves))

    def weights(self, block: Block, found: Derived, correlation: float = 0.0) -> Weights:
        """Log P(what a source says, given what is true), copies and tempering counted in.

        What is missing to one belongs to labels that nobody claims.
        """
        weight, _ = found
        shrink = design_effect(block, found, correlation) if correlation > 0.0 else None
        return Weights(
            "softmax",
            np.zeros(len(self.accuracy)),  # it is all in the confusions
            prior=np.log(self.share),
            of_claim=weight if len(weight) else None,
            confusion=np.log(self.confusion),
            shrink_of_item=shrink,
        )

    def grown(self, n_labels: int) -> Confusions:
        """With room for labels never met."""
        n_new = n_labels - len(self.share)
        if n_new <= 0:
            return self
        return self._replace(
            confusion=grown_confusion(self.confusion, n_labels),
            known_counts=np.pad(self.known_counts, [(0, 0), (0, n_new), (0, n_new)]),
            share=grown_share(self.share, n_labels),
        )

    def borrowing(self, rows: FloatArray, n_met: int) -> Confusions:
        """Sources never met are as their features say; `rows` has those of all."""
        assert self.features is not None
        features = self.features._replace(rows=rows)
        accuracy = np.append(self.accuracy[:n_met], surely(features.expected(0)[n_met:]))
        move = (logit(accuracy) - logit(self.accuracy))[n_met:]
        new = _moved(self.confusion[n_met:], move)
        confusion = np.concatenate([self.confusion[:n_met], new])
        return self._replace(accuracy=accuracy, confusion=confusion, features=features)


def _moved(confusion: FloatArray, move: FloatArray) -> FloatArray:
    """Confusions of sources that are right more often by so much, in log-odds, on every label."""
    diagonal = np.eye(confusion.shape[1])
    right = np.diagonal(confusion, axis1=1, axis2=2)
    then = sigmoid(logit(right) + move[:, None])
    wrong = confusion * ((1.0 - then) / np.maximum(1.0 - right, SUREST**2))[:, :, None]
    return np.where(diagonal == 1.0, then[:, :, None], wrong)


def plain_confusion(accuracy: FloatArray, n_labels: int) -> FloatArray:
    """The confusions of sources that err towards all labels alike."""
    right = accuracy[:, None, None] * np.eye(n_labels)
    wrong = (1.0 - accuracy)[:, None, None] * (1.0 - np.eye(n_labels)) / (n_labels - 1)
    return np.asarray(right + wrong)


def crowd_confusion(accuracy: FloatArray, crowd: FloatArray) -> FloatArray:
    """The confusions of sources that err as all sources together do, given their accuracies.

    `crowd` are the confusions of all, added up. A label on which the crowd is right more often than
    on others is easier for each source, though less so than for the crowd as a whole (`SHARED`);
    and a source that errs, errs towards the labels that the crowd errs towards. Of two labels one
    that the crowd favours cannot be told from one that is true more often: there all are alike.
    """
    n_labels, right = len(crowd), np.diagonal(crowd)
    if n_labels == 2:
        return plain_confusion(accuracy, 2)
    mean = (right.sum() + LABEL_STRENGTH / 2) / (crowd.sum() + LABEL_STRENGTH)
    on_label = (right + LABEL_STRENGTH * mean) / (crowd.sum(axis=1) + LABEL_STRENGTH)
    easier = SHARED * (logit(on_label) - logit(np.array(mean)))
    own = sigmoid(logit(accuracy)[:, None] + easier)
    wrong = crowd - np.diag(right)
    towards = (wrong + ERROR_STRENGTH / (n_labels - 1)) * (1.0 - np.eye(n_labels))
    towards /= towards.sum(axis=1, keepdims=True)
    return np.asarray(own[:, :, None] * np.eye(n_labels) + (1.0 - own)[:, :, None] * towards)


def _doubt(accuracy: FloatArray) -> tuple[float, float]:
    """How likely, at most, the average source is wrong more often than right; and how good it is.

    Cantelli's inequality: 1 / (1 + z²), for a mean that is z standard errors above one half.
    """
    mean, error = float(accuracy.mean()), float(accuracy.std()) / np.sqrt(len(accuracy))
    above = max(mean - 0.5, 0.0)
    return error**2 / max(error**2 + above**2, SUREST**2), max(mean, 0.5 + SUREST)
