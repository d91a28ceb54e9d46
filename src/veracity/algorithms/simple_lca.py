"""SimpleLCA: each source is honest with a probability, and else names any other value.

Pasternack, Roth: Latent Credibility Analysis (WWW 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, BySource, Memory, Tally, Turn, clamp_known
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.regression import Beforehand, Counts, Fit, Regression
from veracity.algorithms.rules import Weights, logit
from veracity.algorithms.source_features import SourceFeatures
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels


class Honesty(NamedTuple):
    """How often each source names the true value, and what was known of it beforehand."""

    honesty: BySource
    prior: PriorRates
    features: Regression | None = None
    """What features of sources say of the honesty, if there are any."""


@dataclass(frozen=True, kw_only=True)
class SimpleLCA(Algorithm[Honesty]):
    """Honesties under which claims are most probable, by expectation maximisation.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. It moves what the
        honesties are drawn to.
    strength
        How many claims the prior is worth: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "simple-lca"
    kinds = ("categorical",)
    state_type = Honesty
    takes_shares = True

    prior: Prior = NO_PRIOR
    source_features: SourceFeatures | None = None
    strength: float = 5.0
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, strength=self.strength, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Honesty:
        """Start from the mode of the prior."""
        nothing_told, features = np.zeros((survey.n_sources, 4)), None
        if self.source_features is not None:
            features = Regression.at_start(self.source_features.rows(survey.names.sources), 1)
        return self.learn(Honesty(prior.tpr, prior, features), (nothing_told,))

    def is_settled(self, state: Honesty) -> bool:
        """Where all sources are fixed there is nothing to learn."""
        return bool(state.prior.is_fixed.all())

    def tally(self, block: Block, state: Honesty, turn: Turn) -> Tally:
        """Judge the facts and count how the sources' words met them (E-step)."""
        plausibility = clamp_known(self.judge(block, state), block)
        return (kernels.count_votes(block, plausibility, len(state.honesty)),)

    def learn(self, state: Honesty, total: Tally) -> Honesty:
        """H_s = (true claims + strength·tpr) / (claims + strength): the most probable (M-step).

        With features, the tpr is moved as these say, for some sources up and for others down.
        """
        prior, expected, features = state.prior, state.prior.tpr, state.features
        told = Counts(*total[0].T[:2])
        if features is not None:
            features, expected = self._by_features(features, told, prior)
        honesty = (told.right + self.strength * expected) / (told.total + self.strength)
        honesty = np.where(prior.is_fixed, prior.tpr, honesty)
        return state._replace(honesty=honesty, features=features)

    def _by_features(
        self, features: Regression, told: Counts, prior: PriorRates
    ) -> tuple[Regression, FloatArray]:
        """What is learned of features, and what they lead to expect of each source."""
        usual = float(np.median(prior.tpr))
        mean = (told.right.sum() + self.strength * usual) / (told.total.sum() + self.strength)
        known = Beforehand.of(float(mean), prior.tpr, prior, self.strength)
        learned = features.learned(0, told, known).centred(0, usual)
        return learned, learned.expected(0, known.offset)

    def change(self, before: Honesty, after: Honesty) -> float:
        """The largest move of any honesty."""
        return float(np.abs(after.honesty - before.honesty).max())

    def calibrate(self, state: Honesty, prior: PriorRates) -> Honesty:
        """Correct the honesties by the known truths."""
        return state._replace(honesty=prior.weigh_known_accuracy(state.honesty))

    def weigh(self, block: Block, state: Honesty, memory: Memory = None) -> Weights:
        """Bayes' rule; before any claim all values of an item are equally likely.

        log P(c | claims) = Σ ln(H_s / ((1 - H_s) / (|Ω| - 1))) over the sources that name c, up to
        a constant of the item: what each would add by naming another value.
        """
        log_odds = logit(state.honesty)
        log_others = np.log(np.maximum(block.n_facts_of_item - 1.0, 1.0))
        of_claim = log_odds[block.source_of_support] + np.repeat(
            log_others, block.n_supports_of_item
        )
        return Weights("softmax", log_odds, of_claim=of_claim)

    def worth(self, state: Honesty) -> dict[str, Fit]:
        """What features are worth for the honesty."""
        return {} if state.features is None else {"honesty": state.features.worth(0)}

    def trust(self, state: Honesty) -> FloatArray:
        """The honesty."""
        return state.honesty

    def grow(self, state: Honesty, names: Names) -> Honesty:
        """New sources are like the others, or as their features say."""
        n_met, grown = len(state.honesty), super().grow(state, names)
        if grown.features is None or self.source_features is None:
            return grown
        rows = self.source_features.rows(names.sources)
        honesty, features = grown.features.with_strangers(0, grown.honesty, n_met, rows)
        return grown._replace(honesty=honesty, features=features)
