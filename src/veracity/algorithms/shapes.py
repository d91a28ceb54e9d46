"""What is learned of sources by `Veracity`, in three shapes: by value, by label, by fact.

Each shape judges facts, counts how the sources' words met them, and learns from the counts. What
is learned of a source starts at what holds for all, which weighs as much as a few claims of its
own: sources that say little are neither believed nor damned too soon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms.base import Tally, Weights, hold_known, kernels, logit, sigmoid
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.encode import UNKNOWN, Block, FloatArray, IntArray

__all__ = ["Facts", "Labels", "Shape", "Values", "count_named", "count_voices", "plain_confusion"]

SUREST = 1e-3
"""No rate comes closer to zero or one than this: typing errors happen to the best."""

STRENGTHS = (1.0, 1024.0)
"""How little and how much a source's accuracy may weigh against its own confusions, in claims."""

CORRELATIONS = (0.0375, 0.075, 0.15, 0.3, 0.6)
PRIOR_OF_CORRELATIONS = (0.1, 0.2, 0.4, 0.2, 0.1)
"""How alike sources err on an item for reasons of its own, and how likely that is beforehand."""

USUAL_CORRELATION = 0.15

NOTHING_KNOWN = np.zeros(len(CORRELATIONS))

CELLS = 10_000
"""Cells of confusion matrices from which the strength is learned: of the sources that say most."""


class Values(NamedTuple):
    """One accuracy a source; an error is any other value of the item, claimed or one more, alike.

    So of an item with K claimed values, K are false, and a source that names one outweighs one that
    does not by ``log(K accuracy / (1 - accuracy))``. One that names m of them is right if the truth
    is among them: each has ``log((K - m + 1) / m accuracy / (1 - accuracy))``. Where there is a
    choice sources err more often than elsewhere, so there are two accuracies: where values differ,
    and on all that several speak of. The second one is for items of which a single value is
    claimed.
    """

    disputed: FloatArray
    accuracy: FloatArray
    weight_of_support: FloatArray
    n_named: IntArray
    """How many values of the item the supporter names, this one included; one a support."""
    prior: PriorRates
    strength: float
    correlation: float = USUAL_CORRELATION

    def study(self, block: Block, label_of_fact: IntArray) -> Tally:
        """How often the sources are right where there is a choice, and how likely the known is."""
        plausibility = hold_known(self._judge(block, 0.0, none=False), block)
        counts = count_voices(block, plausibility, len(self.accuracy))
        is_unknown = block.known_of_fact[block.first_fact_of_item[:-1]] == UNKNOWN
        is_lone = is_unknown & (np.diff(block.first_fact_of_item) == 1)
        is_said_once = is_lone & (np.diff(block.first_voice_of_item) == 1)
        lone, said_once = (
            _supports(block, items, len(counts)) for items in (is_lone, is_said_once)
        )
        settled = self.settle(self.prior)
        known = _log_known(block, lambda correlation: settled._judge(block, correlation, none=True))
        return counts - lone[:, None], known, counts - said_once[:, None]

    def learn(self, tally: Tally) -> Values:
        """Shares of right claims, with the mean of all as a few claims more."""
        disputed, everywhere = (
            _shrunk(counts[:, 0], counts[:, 1], self.prior, self.strength)
            for counts in (tally[0], tally[-1])
        )
        correlation = _correlation(tally[1])
        return self._replace(disputed=disputed, accuracy=everywhere, correlation=correlation)

    def settle(self, prior: PriorRates) -> Values:
        """Correct the accuracies by the known truths."""
        return self._replace(
            disputed=prior.weigh_known_accuracy(self.disputed),
            accuracy=prior.weigh_known_accuracy(self.accuracy),
        )

    def change(self, after: Values) -> float:
        """By how much the accuracies moved, on average."""
        return float(np.abs(after.disputed - self.disputed).mean())

    def judge(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> FloatArray:
        """Plausibilities; what is missing to one is that no claimed value is true."""
        return self._judge(block, self.correlation if temper else 0.0, none=True)

    def weights(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> Weights:
        """What each claim is worth, copies and doubt counted in; that none is true has 0."""
        return Weights(
            logit(self.disputed),
            np.zeros(len(self.disputed)),
            "softmax",
            of_claim=self._words(block, self.correlation if temper else 0.0, none=True),
            unclaimed=np.zeros(len(block.first_fact_of_item) - 1),
        )

    def _words(self, block: Block, correlation: float, *, none: bool) -> FloatArray:
        """What each claim adds to the score of its fact."""
        n_facts = np.diff(block.first_fact_of_item)
        n_supports = np.diff(block.first_support_of_fact)
        words = logit(self.disputed)[block.source_of_support]
        if none:
            is_lone = np.repeat(np.repeat(n_facts == 1, n_facts), n_supports)
            words[is_lone] = logit(self.accuracy)[block.source_of_support[is_lone]]
        n_values = np.repeat(np.repeat(n_facts, n_facts), n_supports)
        words += np.log((n_values - self.n_named + 1) / self.n_named)
        effect = design_effect(block, self.weight_of_support, correlation)
        return np.asarray(
            words * self.weight_of_support / np.repeat(np.repeat(effect, n_facts), n_supports)
        )

    def _judge(self, block: Block, correlation: float, *, none: bool) -> FloatArray:
        n_facts = np.diff(block.first_fact_of_item)
        words = self._words(block, correlation, none=none)
        score = np.add.reduceat(words, block.first_support_of_fact[:-1])
        if not none:
            return np.asarray(kernels.normalise_log(score, block.first_fact_of_item))
        log_claimed = np.logaddexp.reduceat(score, block.first_fact_of_item[:-1])
        return np.asarray(np.exp(score - np.repeat(np.logaddexp(log_claimed, 0.0), n_facts)))


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
        known = _log_known(  # not settled: confusions would fit what is known too well
            block,
            lambda correlation: _normal(self._log_joint(block, label_of_fact, correlation))[place],
        )
        return counts, known, label.sum(axis=0)

    def learn(self, tally: Tally) -> Labels:
        """Confusions, with those that the accuracy alone would say as more claims."""
        counts, share = tally[0], tally[-1] + 1.0
        right = np.einsum("skk->s", counts)
        accuracy = _shrunk(right, counts.sum(axis=(1, 2)), self.prior, self.strength)
        plain = plain_confusion(accuracy, len(share))
        plain_strength = _better_strength(counts, plain, self.plain_strength)
        free = counts + plain_strength * plain
        doubt, usual = _doubt(accuracy) if len(share) == 2 else (0.0, 0.5)
        alike = plain_confusion(np.full(len(accuracy), usual), len(share))
        learned = (1.0 - doubt) * free / free.sum(axis=2, keepdims=True) + doubt * alike
        is_fixed = (self.prior.is_fixed == 1)[:, None, None]
        return self._replace(
            accuracy=accuracy,
            confusion=np.where(is_fixed, plain, learned),
            share=share / share.sum(),
            correlation=_correlation(tally[1]),
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
        effect = design_effect(block, self.weight_of_support, correlation)
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
        effect = design_effect(block, weight, correlation)
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


class Facts(NamedTuple):
    """A tpr and an fpr a source, and the prevalence: for facts that are true or false each.

    Both rates have the mean of all sources as a few facts more.
    """

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float
    prior: PriorRates
    strength: float

    @property
    def accuracy(self) -> FloatArray:
        """How often the source's word on a fact is right."""
        share = self.prevalence
        return np.asarray(share * self.tpr + (1.0 - share) * (1.0 - self.fpr))

    def study(self, block: Block, label_of_fact: IntArray) -> Tally:
        """How the sources' words met the facts."""
        plausibility = hold_known(self.judge(block, label_of_fact, temper=False), block)
        counts = kernels.count_votes(block, plausibility, len(self.tpr))
        return counts, plausibility.sum(), len(plausibility)

    def learn(self, tally: Tally) -> Facts:
        """Shares of supports, with the mean of all as a few facts more."""
        supports_of_true, supports, true, facts = tally[0].T
        is_fixed = self.prior.is_fixed == 1
        tpr = self._rate(supports_of_true, true, self.prior.tpr)
        fpr = self._rate(supports - supports_of_true, facts - true, self.prior.fpr)
        prevalence = (float(tally[1]) + 1.0) / (tally[2] + 2.0)
        if self.prior.prevalence is not None:
            prevalence = self.prior.prevalence
        return self._replace(
            tpr=np.where(is_fixed, self.prior.tpr, tpr),
            fpr=np.where(is_fixed, self.prior.fpr, fpr),
            prevalence=prevalence,
        )

    def _rate(self, part: FloatArray, whole: FloatArray, prior: FloatArray) -> FloatArray:
        mean = float((part.sum() + np.median(prior)) / (whole.sum() + 1.0))
        return _pooled(part, whole, _expected(mean, prior), self.strength)

    def settle(self, prior: PriorRates) -> Facts:
        """Correct the rates by the known truths."""
        tpr, fpr = prior.weigh_known(self.tpr, self.fpr)
        return self._replace(tpr=tpr, fpr=fpr)

    def change(self, after: Facts) -> float:
        """By how much the rates, on average, or the prevalence moved."""
        moves = (after.tpr - self.tpr, after.fpr - self.fpr)
        largest = max(float(np.abs(move).mean()) for move in moves)
        return max(largest, abs(after.prevalence - self.prevalence))

    def judge(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> FloatArray:
        """Bayes' rule, fact by fact."""
        support, oppose, _, prior, *_ = self.weights(block, label_of_fact, temper=temper)
        return sigmoid(kernels.sum_votes(block, oppose, support - oppose) + prior)

    def weights(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: the prevalence."""
        return Weights(
            np.log(self.tpr) - np.log(self.fpr),
            np.log1p(-self.tpr) - np.log1p(-self.fpr),
            "sigmoid",
            float(logit(np.array(self.prevalence))),
        )


Shape = Values | Labels | Facts


def _supports(block: Block, is_meant: NDArray[np.bool_], n_sources: int) -> FloatArray:
    """How often each source supports a fact of the items that are meant."""
    is_fact = np.repeat(is_meant, np.diff(block.first_fact_of_item))
    is_support = np.repeat(is_fact, np.diff(block.first_support_of_fact))
    counts = np.bincount(block.source_of_support[is_support], minlength=n_sources)
    return counts.astype(np.float64)


def plain_confusion(accuracy: FloatArray, n_labels: int) -> FloatArray:
    """The confusions of sources that err towards all labels alike."""
    right = accuracy[:, None, None] * np.eye(n_labels)
    wrong = (1.0 - accuracy)[:, None, None] * (1.0 - np.eye(n_labels)) / (n_labels - 1)
    return np.asarray(right + wrong)


def _shrunk(right: FloatArray, total: FloatArray, prior: PriorRates, strength: float) -> FloatArray:
    """Accuracies, with what is expected of a source as `strength` claims more; fixed ones stay."""
    usual = float(np.median(prior.tpr))
    mean = (right.sum() + strength * usual) / (total.sum() + strength)
    return np.where(
        prior.is_fixed, prior.tpr, _pooled(right, total, _expected(mean, prior.tpr), strength)
    )


def _expected(mean: float, prior: FloatArray) -> FloatArray:
    """The mean of all sources, moved for each as its prior differs from the usual one."""
    usual, mean_of_all = np.median(prior), np.clip(mean, SUREST, 1.0 - SUREST)
    return sigmoid(logit(prior) - logit(np.array(usual)) + logit(np.array(mean_of_all)))


def _pooled(
    part: FloatArray, whole: FloatArray, expected: FloatArray, strength: float
) -> FloatArray:
    """Shares, with what is expected as `strength` more; clear of zero and one."""
    share = (part + strength * expected) / (whole + strength)
    return np.asarray(np.clip(share, SUREST, 1.0 - SUREST))


def _better_strength(counts: FloatArray, plain: FloatArray, strength: float) -> float:
    """The strength, or its half or double, under which the confusions are most likely.

    They are taken for Dirichlet-multinomial draws, and those of the sources that say most will do.
    """
    from scipy.special import gammaln  # noqa: PLC0415 - takes its time to load

    n_claims = np.round(counts.sum(axis=(1, 2)), 6)
    n_sources = max(CELLS // counts[0].size, 1)
    if len(counts) > n_sources:
        least = np.partition(n_claims, -n_sources)[-n_sources]
        counts, plain = counts[n_claims >= least], plain[n_claims >= least]
    of_row = counts.sum(axis=2)

    def log_likelihood(strength: float) -> float:
        start = strength * plain
        of_cells = (gammaln(counts + start) - gammaln(start)).sum()
        return float(of_cells - (gammaln(of_row + strength) - gammaln(strength)).sum())

    least, most = STRENGTHS
    nearby = [x for x in (strength, strength / 2.0, strength * 2.0) if least <= x <= most]
    return max(nearby, key=log_likelihood)


def design_effect(block: Block, weight: FloatArray, correlation: float) -> FloatArray:
    """By how much the scores of an item shrink because its voices err alike: 1 + (n - 1) r.

    n voices then tell no more than n / (1 + (n - 1) r) would that err each by itself (Kish): a
    rest of doubt stays, however many speak.
    """
    first_support = block.first_support_of_fact[block.first_fact_of_item[:-1]]
    n_voices = np.add.reduceat(weight, first_support)
    return np.asarray(1.0 + np.maximum(n_voices - 1.0, 0.0) * correlation)


def count_voices(block: Block, plausibility: FloatArray, n_sources: int) -> FloatArray:
    """How often each source names the truth, and on how many items it speaks."""
    right = kernels.count_votes(block, plausibility, n_sources)[:, 0]
    return np.stack([right, np.bincount(block.source_of_voice, minlength=n_sources)], axis=1)


def count_named(block: Block, n_sources: int) -> IntArray:
    """For each support, how many values of the item its source names."""
    if len(block.source_of_support) == len(block.source_of_voice):
        return np.ones(len(block.source_of_support), dtype=np.int64)
    item = np.repeat(block.item_of_fact, np.diff(block.first_support_of_fact)).astype(np.int64)
    _, voice, n_named = np.unique(
        item * n_sources + block.source_of_support, return_inverse=True, return_counts=True
    )
    return np.asarray(n_named[voice], dtype=np.int64)


def _normal(log_joint: FloatArray) -> FloatArray:
    return np.asarray(np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)))


def _doubt(accuracy: FloatArray) -> tuple[float, float]:
    """How likely, at most, the average source is wrong more often than right; and how good it is.

    Cantelli's inequality: 1 / (1 + z²), for a mean that is z standard errors above one half.
    """
    mean, error = float(accuracy.mean()), float(accuracy.std()) / np.sqrt(len(accuracy))
    above = max(mean - 0.5, 0.0)
    return error**2 / max(error**2 + above**2, SUREST**2), max(mean, 0.5 + SUREST)


def _log_known(block: Block, judge: Callable[[float], FloatArray]) -> FloatArray:
    """How likely the known truths are, in logs, if sources err as much alike as they may."""
    is_true = block.known_of_fact == 1
    if not is_true.any():
        return NOTHING_KNOWN
    return np.array([np.log(np.maximum(judge(x)[is_true], SUREST)).sum() for x in CORRELATIONS])


def _correlation(log_known: FloatArray) -> float:
    """The correlation to expect, as a geometric mean: the usual one if no truth is known."""
    log_joint = log_known + np.log(PRIOR_OF_CORRELATIONS)
    probability = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    return float(np.exp(probability @ np.log(CORRELATIONS)))
