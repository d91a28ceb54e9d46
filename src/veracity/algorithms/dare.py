"""DARE: sources differ in ability, items in difficulty; sources that know are right, others guess.

Bachrach, Graepel, Minka, Guiver: How To Grade a Test Without Knowing the Answers (ICML 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, Memory, Phase, Step, Tally, Turn, clamp_known
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Weights, logit, sigmoid, softmax_of_claims
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.survey import Survey
from veracity.trees import BySource

LOOKS = 10
"""Number of times that the truth of an item and its difficulty are found from each other."""

FARTHEST = 1.0
"""A step moves no ability and no difficulty by more: beyond, the curve it follows is another."""

STEEPEST = 100.0
"""Maximum discrimination: with it, exactly the sources whose ability exceeds the difficulty
know."""


class Abilities(NamedTuple):
    """Ability of each source, and the prior."""

    ability: BySource
    prior: PriorRates


class Known(NamedTuple):
    """Probabilities that the source of each claim knows the truth, before and after the claim."""

    before: FloatArray
    """Probability of the fact before any claim of it is read."""
    after: FloatArray
    steepness: FloatArray
    """Derivative of `after` by the log-odds to know, as more ability makes the claim, too, more
    likely to be true."""

    def summed(self, block: Block, group: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
        """Sum up, by group, how many more claims were known than expected, and their variance."""
        surplus, spread = (
            np.bincount(group, block.weighted(of_claim), n_groups).astype(np.float64)
            for of_claim in (self.after - self.before, self.before * (1.0 - self.before))
        )
        return surplus, spread


@dataclass(frozen=True, kw_only=True)
class DARE(Algorithm[Abilities]):
    """Abilities and difficulties under which claims are most probable, found jointly.

    Parameters
    ----------
    prior
        Its tpr is how likely a source knows the truth of an item of usual difficulty, before its
        claims are seen. Fixed sources stay as they are.
    ability_spread, difficulty_spread
        Standard deviations of the abilities around the prior's, and of the difficulties around
        zero.
    discrimination
        How much ability less difficulty counts: a source knows with probability
        1 / (1 + exp(-discrimination · (ability - difficulty))).
    max_rounds, tolerance
        It stops when a round moves no source's probability to know an item of usual difficulty by
        `tolerance`.
    """

    name = "dare"
    kinds = ("categorical",)
    takes_rules = True
    takes_shares = True

    prior: Prior = NO_PRIOR
    ability_spread: float = bounded(1.0, above=0)
    difficulty_spread: float = bounded(1.0, above=0)
    discrimination: float = bounded(1.0, above=0, at_most=STEEPEST)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-3, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Abilities:
        """Start from the prior."""
        return Abilities(self._usual(prior), prior)

    def phases(self, state: Abilities) -> tuple[Phase[Abilities], ...]:
        """Return rounds; the difficulties are stored with their block from one to the next."""
        return (Phase("rounds", (Step(self.tally, self.learn, remembers=True),), self.change),)

    def tally(self, block: Block, state: Abilities, turn: Turn) -> tuple[Tally, FloatArray]:
        """Count how often each source knew more than expected, and how far that varies.

        The surplus falls as the ability rises. The tally has the line on which it lies: its height
        at ability zero, and its fall. So the tally of earlier claims, whose surplus was counted at
        other abilities, adds up with that of new ones.
        """
        ability = state.ability[block.source_of_support]
        difficulty = np.zeros(block.n_items) if turn.memory is None else np.asarray(turn.memory)
        advantage = ability - difficulty[_item_of_claim(block)]
        known = self._known(block, advantage, clamp_known(self._judge(block, advantage), block))
        source, n_sources = block.source_of_support, len(state.ability)
        surplus, spread = known.summed(block, source, n_sources)
        gained = np.bincount(source, block.weighted(known.steepness), n_sources)
        fall = self.discrimination * (spread - gained)
        tally = surplus + fall * state.ability, fall, spread
        return tally, self._harder(block, difficulty, known)

    def learn(self, state: Abilities, total: Tally) -> Abilities:
        """Take one step of Newton's method towards the most probable abilities."""
        at_zero, fall, spread = total
        surplus = at_zero - fall * state.ability
        away = state.ability - self._usual(state.prior)
        moved = state.ability + self._step(surplus, spread, -away, self.ability_spread)
        return state._replace(ability=np.where(state.prior.is_fixed, state.ability, moved))

    def calibrate(self, state: Abilities, prior: PriorRates) -> Abilities:
        """Correct the abilities by the known truths."""
        knows = prior.weigh_known_accuracy(self.trust(state))
        ability = np.where(prior.is_fixed, state.ability, logit(knows) / self.discrimination)
        return state._replace(ability=ability)

    def weigh(self, block: Block, state: Abilities, memory: Memory = None) -> Weights:
        """Return weights by Bayes' rule: sources that know are right, others guess one of R values.

        With k the probability to know, P(c | c is true) = k + (1 - k) / R, and else (1 - k) / R. A
        claim adds the logarithm of the ratio of the two, ln(1 + R k / (1 - k)).
        """
        ability = state.ability[block.source_of_support]
        advantage = ability - self._difficulty(block, ability)[_item_of_claim(block)]
        of_claim = self._log_ratio(block, advantage)
        return Weights("softmax", self.discrimination * state.ability, of_claim=of_claim)

    def trust(self, state: Abilities) -> FloatArray:
        """Return the probability that a source knows an item of usual difficulty."""
        return sigmoid(self.discrimination * state.ability)

    def difficulty(self, block: Block, state: Abilities) -> FloatArray:
        """Return the difficulty of each item: 0 is average, 1 is one standard deviation harder."""
        return self._difficulty(block, state.ability[block.source_of_support])

    def _usual(self, prior: PriorRates) -> FloatArray:
        """Return the abilities that the prior expects."""
        return np.asarray(logit(prior.tpr) / self.discrimination)

    def _difficulty(self, block: Block, ability: FloatArray) -> FloatArray:
        """Return the difficulty of each item, from its claims and the abilities of their sources.

        So an item is judged the same way whether or not it was learned from.
        """
        difficulty = np.zeros(block.n_items)
        for _ in range(LOOKS):
            advantage = ability - difficulty[_item_of_claim(block)]
            known = self._known(block, advantage, self._judge(block, advantage))
            difficulty = self._harder(block, difficulty, known)
        return difficulty

    def _harder(self, block: Block, difficulty: FloatArray, known: Known) -> FloatArray:
        """Return difficulties that are a step nearer to the most probable ones."""
        surplus, spread = known.summed(block, _item_of_claim(block), block.n_items)
        return difficulty + self._step(-surplus, spread, -difficulty, self.difficulty_spread)

    def _step(
        self, surplus: FloatArray, spread: FloatArray, back: FloatArray, usual_spread: float
    ) -> FloatArray:
        """Newton's step: the slope of the log-posterior over its curvature, but never too far."""
        held = 1.0 / usual_spread**2
        slope = self.discrimination * surplus + held * back
        step = slope / (self.discrimination**2 * spread + held)
        return np.asarray(np.clip(step, -FARTHEST, FARTHEST))

    def _known(self, block: Block, advantage: FloatArray, true: FloatArray) -> Known:
        """Return the expected and the estimated probability that the source of each claim knew."""
        log_odds = self.discrimination * advantage
        knew = sigmoid(log_odds + _log_values(block))
        true = true[block.fact_of_support]
        steepness = true * knew * (1.0 - knew) + true * (1.0 - true) * knew**2
        return Known(sigmoid(log_odds), true * knew, steepness)

    def _judge(self, block: Block, advantage: FloatArray) -> FloatArray:
        return softmax_of_claims(block, self._log_ratio(block, advantage))

    def _log_ratio(self, block: Block, advantage: FloatArray) -> FloatArray:
        """Return the contribution of each claim to the score of its fact."""
        log_odds = self.discrimination * advantage
        return np.asarray(np.logaddexp(0.0, log_odds + _log_values(block)))


def _item_of_claim(block: Block) -> IntArray:
    return np.repeat(np.arange(block.n_items), block.n_supports_of_item)


def _log_values(block: Block) -> FloatArray:
    """Return the logarithm of the number of values of each claim's item, two at least."""
    return np.repeat(np.log(np.maximum(block.n_facts_of_item, 2)), block.n_supports_of_item)
