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
    BySource,
    CountBySource,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.labels import grown_confusion, grown_share, spread_labels
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.algorithms.rules import (
    Weights,
    clamp_labels,
    label_probabilities,
    label_scores,
    share_of_item,
)
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError
from veracity.kernels.loading import kernels

MOST_LABELS = 100
"""Distinct values beyond which a confusion matrix per source makes no sense."""

MOST_CELLS = 50_000_000
"""Cells of all confusion matrices beyond which they take more than a few gigabytes."""


class Confusion(NamedTuple):
    """``confusion[s, k, l]``: P(source s says l, given k is true); ``share[k]``: P(k is true)."""

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
    state_type = Confusion
    takes_shares = True

    smoothing: float = 0.01
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, smoothing=self.smoothing, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Confusion:
        """Nothing is confused yet."""
        n_sources, n_labels = survey.n_sources, survey.n_labels
        _check_size(n_sources, n_labels)
        nothing = np.zeros((n_sources, n_labels, n_labels))
        return Confusion(nothing, nothing, np.zeros(n_labels), -np.inf)

    def phases(self, state: Confusion) -> tuple[Phase[Confusion], ...]:
        """Confusions with the vote, and with what is known; then rounds."""
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
        """What the counts say."""
        counts, known_counts = total
        return self.learn(state._replace(known_counts=known_counts), counts)

    def tally(self, block: Block, state: Confusion, turn: Turn) -> Tally:
        """Judge the labels of every item, and count what the sources said of them (E-step)."""
        log_joint = label_scores(block, self.weigh(block, state))
        label = clamp_labels(label_probabilities(log_joint), block)
        counts = kernels.count_confusions(block, label, len(state.confusion))
        log_likelihood = np.logaddexp.reduce(log_joint, axis=1).sum()
        return counts, label.sum(axis=0), log_likelihood

    def learn(self, state: Confusion, total: Tally) -> Confusion:
        """The confusions that are most likely given the counts (M-step)."""
        counts, labels, log_likelihood = total
        return state._replace(
            confusion=_rows_to_one(counts + self.smoothing),
            share=(labels + self.smoothing) / (labels + self.smoothing).sum(),
            log_likelihood=float(log_likelihood),
        )

    def change(self, before: Confusion, after: Confusion) -> float:
        """The largest move of any cell or share."""
        move = np.abs(after.confusion - before.confusion).max()
        return float(max(move, np.abs(after.share - before.share).max()))

    def calibrate(self, state: Confusion, prior: PriorRates) -> Confusion:
        """Correct the confusions by the known truths."""
        weighed = state.known_counts + UNLEARNED * state.confusion
        return state._replace(confusion=_rows_to_one(weighed))

    def weigh(self, block: Block, state: Confusion, memory: Memory = None) -> Weights:
        """Log P(what a source says, given what is true); before any claim, the label's share."""
        nothing = np.zeros(len(state.confusion))  # it is all in the confusions
        confusion = np.log(state.confusion)
        return Weights("softmax", nothing, prior=np.log(state.share), confusion=confusion)

    def confusion(self, state: Confusion) -> FloatArray:
        """The confusion matrices themselves."""
        return state.confusion

    def trust(self, state: Confusion) -> FloatArray:
        """How often the source would name the true label."""
        right = np.diagonal(state.confusion, axis1=1, axis2=2)
        return np.asarray(right @ state.share)

    def grow(self, state: Confusion, names: Names) -> Confusion:
        """New sources are like the others; new labels are rare, and mistaken as others are."""
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
