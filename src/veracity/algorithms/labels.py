"""Dawid-Skene and OneCoin: each source has a confusion matrix, or a single accuracy.

Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm (1979),
is for items that share a small set of values, such as the labels of a crowd. Zhang, Chen, Zhou,
Jordan: Spectral Methods Meet EM (JMLR 2016), has the one-coin model under this name: a source errs
towards all other values alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import (
    SUREST,
    Algorithm,
    Description,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.algorithms.rules import (
    Weights,
    clamp_labels,
    item_sums,
    label_probabilities,
    label_scores,
    plausibilities,
    ratio,
    scores,
    share_of_item,
)
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError
from veracity.trees import BySource, CountBySource

MOST_LABELS = 100
"""Number of distinct values beyond which a confusion matrix per source makes no sense."""

MOST_CELLS = 50_000_000
"""Number of cells of all confusion matrices beyond which they take several gigabytes."""


class Confusion(NamedTuple):
    """``confusion[s, k, l]``, the paper's π: P(s claims l | k is true); ``share[k]``: P(k)."""

    confusion: BySource
    known_counts: CountBySource
    share: FloatArray
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
    takes_rules = learns_shares = True
    takes_shares = True

    smoothing: float = bounded(0.01, above=0)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Confusion:
        """Start from empty confusion matrices."""
        n_sources, n_labels = survey.n_sources, survey.n_labels
        _check_size(n_sources, n_labels)
        nothing = np.zeros((n_sources, n_labels, n_labels))
        return Confusion(nothing, nothing, np.zeros(n_labels), -np.inf)

    def phases(self, state: Confusion) -> tuple[Phase[Confusion], ...]:
        """Count the confusions with the vote and the known truths once; then rounds."""
        rounds = Phase("rounds", (Step(self.tally, self.learn),), self.change)
        return Phase("vote", (Step(self.tally_vote, self.learn_vote),)), rounds

    def tally_vote(self, block: Block, state: Confusion, turn: Turn) -> Tally:
        """Count the confusions of the sources with the vote, and with the known truths."""
        n_sources, n_labels = state.confusion.shape[:2]
        votes = share_of_item(block.votes_of_fact, block)
        vote = spread_labels(votes, block, n_labels)
        known = spread_labels((block.known_of_fact == 1).astype(np.float64), block, n_labels)
        known_counts = kernels.count_confusions(block, known, n_sources)
        counts = kernels.count_confusions(block, vote, n_sources)
        return (counts, vote.sum(axis=0), -np.inf), known_counts

    def learn_vote(self, state: Confusion, total: Tally) -> Confusion:
        """Learn the confusions with the vote; store those with the known truths."""
        counts, known_counts = total
        return self.learn(state._replace(known_counts=known_counts), counts)

    def tally(self, block: Block, state: Confusion, turn: Turn) -> Tally:
        """Judge the labels of every item, and count the sources' claims by true label (E-step)."""
        log_joint = label_scores(block, self.weigh(block, state))
        label = clamp_labels(label_probabilities(log_joint), block)
        counts = kernels.count_confusions(block, label, len(state.confusion))
        log_likelihood = np.logaddexp.reduce(log_joint, axis=1).sum()
        return counts, label.sum(axis=0), log_likelihood

    def learn(self, state: Confusion, total: Tally) -> Confusion:
        """Learn the confusions that are most likely given the counts (M-step)."""
        counts, labels, log_likelihood = total
        return state._replace(
            confusion=_rows_to_one(counts + self.smoothing),
            share=(labels + self.smoothing) / (labels + self.smoothing).sum(),
            log_likelihood=float(log_likelihood),
        )

    def change(self, before: Confusion, after: Confusion) -> float:
        """Return the largest move of any cell or share."""
        move = np.abs(after.confusion - before.confusion).max()
        return float(max(move, np.abs(after.share - before.share).max()))

    def calibrate(self, state: Confusion, prior: PriorRates) -> Confusion:
        """Correct the confusions by the known truths."""
        weighed = state.known_counts + UNLEARNED * state.confusion
        return state._replace(confusion=_rows_to_one(weighed))

    def weigh(self, block: Block, state: Confusion, memory: Memory = None) -> Weights:
        """Weigh log P(claim | truth); before any claim, log P(truth), the label's share."""
        nothing = np.zeros(len(state.confusion))  # the confusions hold all
        confusion = np.log(state.confusion)
        return Weights("softmax", nothing, prior=np.log(state.share), confusion=confusion)

    def describe(self, state: Confusion, counts: FloatArray | None = None) -> Description:
        """Return the rates as counted, and the confusion matrices."""
        return replace(super().describe(state, counts), confusion=state.confusion)

    def trust(self, state: Confusion) -> FloatArray:
        """Return the probability that a source names the true label."""
        right = np.diagonal(state.confusion, axis1=1, axis2=2)
        return np.asarray(right @ state.share)

    def grow(self, state: Confusion, names: Names) -> Confusion:
        """Add new sources like the others; new labels are rare, and mistaken as others are."""
        n_labels = max(len(names.labels), len(state.share))
        labelled = state._replace(
            confusion=grown_confusion(state.confusion, n_labels),
            known_counts=np.pad(
                state.known_counts, [(0, 0), *[(0, n_labels - len(state.share))] * 2]
            ),
            share=grown_share(state.share, n_labels),
        )
        return super().grow(labelled, names)


def _check_size(n_sources: int, n_labels: int) -> None:
    if n_labels > MOST_LABELS or n_sources * n_labels**2 > MOST_CELLS:
        raise ParameterError(
            f"DawidSkene: {n_sources:,} sources and {n_labels:,} distinct values are too many for "
            "a confusion matrix each; it is for items that share a few values, such as labels: "
            "use OneCoin"
        )


def _rows_to_one(counts: FloatArray) -> FloatArray:
    rows: FloatArray = counts / counts.sum(axis=2, keepdims=True)
    return rows


class Coins(NamedTuple):
    """Accuracy of each source, P(label k is true) in ``share[k]``, and their log-likelihood."""

    accuracy: BySource
    share: FloatArray
    log_likelihood: float


@dataclass(frozen=True, kw_only=True)
class OneCoin(Algorithm[Coins]):
    """Accuracies under which the claims are most likely, by expectation maximisation.

    There may be any number of distinct values: the unclaimed ones of an item are counted together.

    Parameters
    ----------
    max_rounds, tolerance
        It stops when a round moves no accuracy and no share of a value by `tolerance`.
    """

    name = "one-coin"
    kinds = ("categorical",)
    takes_rules = learns_shares = True
    takes_shares = True

    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Coins:
        """Let all sources and labels be alike."""
        survey.require_labels(self.name)
        n_labels = survey.n_labels
        share = np.full(n_labels, 1.0 / n_labels)
        return Coins(np.full(survey.n_sources, 0.5), share, -np.inf)

    def phases(self, state: Coins) -> tuple[Phase[Coins], ...]:
        """Measure the sources against the vote; then rounds."""
        rounds = Phase("rounds", (Step(self.tally, self.learn),), self.change)
        return Phase("vote", (Step(self.tally_vote, self.learn),)), rounds

    def tally_vote(self, block: Block, state: Coins, turn: Turn) -> Tally:
        """Count how the claims of each source meet the vote."""
        votes = share_of_item(block.votes_of_fact, block)
        vote = clamp_known(votes, block)
        counts = kernels.count_votes(block, vote, len(state.accuracy))
        return counts, np.bincount(block.label_of_fact, vote, len(state.share)), -np.inf

    def tally(self, block: Block, state: Coins, turn: Turn) -> Tally:
        """Judge the facts, and count the claims of each source by truth (E-step)."""
        weights, share = self.weigh(block, state), state.share
        plausibility = clamp_known(plausibilities(block, weights), block)
        counts = kernels.count_votes(block, plausibility, len(state.accuracy))
        log_evidence = _log_evidence(block, weights)
        # A label nobody claims of item i keeps its share / evidence of i; as if for all items,
        # less those where it is claimed.
        unclaimed = np.exp(-log_evidence)
        claimed = plausibility - share[block.label_of_fact] * unclaimed[block.item_of_fact]
        total = np.bincount(block.label_of_fact, claimed, len(share)) + share * unclaimed.sum()
        if_all_wrong = np.log1p(-state.accuracy) - np.log(max(len(share) - 1, 1))
        return counts, total, log_evidence.sum() + counts[:, 1] @ if_all_wrong

    def learn(self, state: Coins, total: Tally) -> Coins:
        """Learn the accuracies that are most likely given the counts (M-step)."""
        counts, labels, log_likelihood = total
        accuracy = ratio(counts[:, 0], counts[:, 1])
        labels = np.maximum(labels, SUREST)
        return state._replace(
            accuracy=np.clip(accuracy, SUREST, 1.0 - SUREST),
            share=labels / labels.sum(),
            log_likelihood=float(log_likelihood),
        )

    def change(self, before: Coins, after: Coins) -> float:
        """Return the largest move of any accuracy or share."""
        move = np.abs(after.accuracy - before.accuracy).max()
        return float(max(move, np.abs(after.share - before.share).max()))

    def calibrate(self, state: Coins, prior: PriorRates) -> Coins:
        """Correct the accuracies by the known truths."""
        return state._replace(accuracy=prior.weigh_known_accuracy(state.accuracy))

    def weigh(self, block: Block, state: Coins, memory: Memory = None) -> Weights:
        """Weigh the odds of a source; before any claim, the share of the label among all.

        A label's odds against an unclaimed one: its share times, for every source that names it,
        accuracy (K - 1) / (1 - accuracy).
        """
        n_others = max(len(state.share) - 1, 1)
        odds = np.log(state.accuracy) - np.log1p(-state.accuracy) + np.log(n_others)
        share = state.share[block.label_of_fact]
        rest = np.maximum(1.0 - item_sums(share, block), np.finfo(np.float64).tiny)
        return Weights("softmax", odds, prior=np.log(share), unclaimed=np.log(rest))

    def trust(self, state: Coins) -> FloatArray:
        """Return the accuracy."""
        return state.accuracy

    def grow(self, state: Coins, names: Names) -> Coins:
        """Add new sources like the others; new labels are as rare as the rarest."""
        share = grown_share(state.share, max(len(names.labels), len(state.share)))
        return super().grow(state, names)._replace(share=share)


def _log_evidence(block: Block, weights: Weights) -> FloatArray:
    """Return the log-evidence of each item, relative to all claims being wrong."""
    score = scores(block, weights)
    claimed = np.logaddexp.reduceat(score, block.first_fact_of_item[:-1])
    return np.asarray(np.logaddexp(claimed, np.asarray(weights.unclaimed)))


def spread_labels(number_of_fact: FloatArray, block: Block, n_labels: int) -> FloatArray:
    """Return numbers of facts as a matrix of items and labels."""
    spread = np.zeros((block.n_items, n_labels))
    spread[block.item_of_fact, block.label_of_fact] = number_of_fact
    return spread


def grown_share(share: FloatArray, n_labels: int) -> FloatArray:
    """Return shares of labels; a new label gets the share of the rarest old one.

    >>> grown_share(np.array([0.75, 0.25]), 3).round(2).tolist()
    [0.6, 0.2, 0.2]
    """
    if n_labels == len(share):
        return share
    grown = np.append(share, np.full(n_labels - len(share), share.min()))
    return np.asarray(grown / grown.sum())


def grown_confusion(confusion: FloatArray, n_labels: int) -> FloatArray:
    """Return confusions with new labels: claimed as rarely as the rarest, right as often as all.

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
