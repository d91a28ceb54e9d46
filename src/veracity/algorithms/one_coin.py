"""One-coin Dawid-Skene: each source has a single accuracy, and errs towards all values alike.

Zhang, Chen, Zhou, Jordan: Spectral Methods Meet EM (JMLR 2016) has the model under this name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import (
    SUREST,
    Algorithm,
    BySource,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.labels import grown_share
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.regression import Beforehand, Counts, Fit, Regression
from veracity.algorithms.rules import (
    Weights,
    item_sums,
    plausibilities,
    ratio,
    scores,
    share_of_item,
)
from veracity.algorithms.source_features import SourceFeatures
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels

PSEUDO_CLAIMS = 4.0
"""Of how many claims what features say of a source is worth."""


class Coins(NamedTuple):
    """Accuracy of each source, ``share[k]``: P(label k is true), and how likely that is."""

    accuracy: BySource
    share: FloatArray
    log_likelihood: float
    features: Regression | None = None
    """What features of sources say of the accuracy, if there are any."""


@dataclass(frozen=True, kw_only=True)
class OneCoin(Algorithm[Coins]):
    """Accuracies under which the claims are most likely, by expectation maximisation.

    Any number of distinct values will do: those that nobody claims of an item are counted together.

    Parameters
    ----------
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. Accuracies are then
        drawn to those of sources with such features.
    max_rounds, tolerance
        It stops when a round moves no accuracy and no share of a value by `tolerance`.
    """

    name = "one-coin"
    kinds = ("categorical",)
    state_type = Coins
    takes_shares = True

    source_features: SourceFeatures | None = None
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Coins:
        """Nothing is told of anybody yet."""
        survey.require_labels(self.name)
        n_labels = survey.n_labels
        share = np.full(n_labels, 1.0 / n_labels)
        features = None
        if self.source_features is not None:
            rows = self.source_features.rows(survey.names.sources)
            features = Regression.at_start(rows, 1)
        return Coins(np.full(survey.n_sources, 0.5), share, -np.inf, features)

    def phases(self, state: Coins) -> tuple[Phase[Coins], ...]:
        """Measure the sources against the vote; then rounds."""
        rounds = Phase("rounds", (Step(self.tally, self.learn),), self.change)
        return Phase("vote", (Step(self.tally_vote, self.learn),)), rounds

    def tally_vote(self, block: Block, state: Coins, turn: Turn) -> Tally:
        """How the sources' words met the vote."""
        votes = share_of_item(block.votes_of_fact, block)
        vote = clamp_known(votes, block)
        counts = kernels.count_votes(block, vote, len(state.accuracy))
        return counts, np.bincount(block.label_of_fact, vote, len(state.share)), -np.inf

    def tally(self, block: Block, state: Coins, turn: Turn) -> Tally:
        """Judge the facts, and count how the sources' words met them (E-step)."""
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
        """The accuracies that are most likely given the counts (M-step)."""
        counts, labels, log_likelihood = total
        met = Counts(counts[:, 0], counts[:, 1])
        accuracy, features = ratio(met.right, met.total), state.features
        if features is not None:
            accuracy, features = features.shrunk(0, met, _known(met))
        labels = np.maximum(labels, SUREST)
        return state._replace(
            features=features,
            accuracy=np.clip(accuracy, SUREST, 1.0 - SUREST),
            share=labels / labels.sum(),
            log_likelihood=float(log_likelihood),
        )

    def change(self, before: Coins, after: Coins) -> float:
        """The largest move of any accuracy or share."""
        move = np.abs(after.accuracy - before.accuracy).max()
        return float(max(move, np.abs(after.share - before.share).max()))

    def calibrate(self, state: Coins, prior: PriorRates) -> Coins:
        """Correct the accuracies by the known truths."""
        return state._replace(accuracy=prior.weigh_known_accuracy(state.accuracy))

    def weigh(self, block: Block, state: Coins, memory: Memory = None) -> Weights:
        """A source's odds; before any claim, the share of the label among all.

        A label's odds against one that nobody claims: its share times, for every source that names
        it, accuracy (K - 1) / (1 - accuracy).
        """
        n_others = max(len(state.share) - 1, 1)
        odds = np.log(state.accuracy) - np.log1p(-state.accuracy) + np.log(n_others)
        share = state.share[block.label_of_fact]
        rest = np.maximum(1.0 - item_sums(share, block), np.finfo(np.float64).tiny)
        return Weights("softmax", odds, prior=np.log(share), unclaimed=np.log(rest))

    def worth(self, state: Coins) -> dict[str, Fit]:
        """What features are worth for the accuracy."""
        return {} if state.features is None else {"accuracy": state.features.worth(0)}

    def trust(self, state: Coins) -> FloatArray:
        """The accuracy."""
        return state.accuracy

    def grow(self, state: Coins, names: Names) -> Coins:
        """New sources are like the others; new labels are as rare as the rarest."""
        n_met = len(state.accuracy)
        share = grown_share(state.share, max(len(names.labels), len(state.share)))
        grown = super().grow(state, names)._replace(share=share)
        if grown.features is None or self.source_features is None:
            return grown
        rows = self.source_features.rows(names.sources)
        accuracy, features = grown.features.with_strangers(0, grown.accuracy, n_met, rows)
        return grown._replace(accuracy=accuracy, features=features)


def _known(counts: Counts) -> Beforehand:
    """The mean of all; nothing is known beforehand of any source."""
    mean = (counts.right.sum() + 1.0) / (counts.total.sum() + 2.0)
    nothing = np.zeros(len(counts.total))
    return Beforehand(float(mean), nothing, nothing == 0.0, PSEUDO_CLAIMS)


def _log_evidence(block: Block, weights: Weights) -> FloatArray:
    """Each item's log-evidence relative to all claims being wrong."""
    score = scores(block, weights)
    claimed = np.logaddexp.reduceat(score, block.first_fact_of_item[:-1])
    return np.asarray(np.logaddexp(claimed, np.asarray(weights.unclaimed)))
