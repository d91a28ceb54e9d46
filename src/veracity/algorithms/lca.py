"""Latent Credibility Analysis: four models of a source that is not honest.

Pasternack, Roth: Latent Credibility Analysis (WWW 2013). In SimpleLCA it names any other value; in
GuessLCA it guesses; in MistakeLCA it may also not know; in LieLCA it lies, if it knows.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity import kernels
from veracity.algorithms.base import Algorithm, Memory, Phase, Step, Tally, Turn, clamp_known
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import (
    Weights,
    logit,
    popularity,
    sigmoid,
    softmax_of_claims,
    surprise,
)
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.survey import Survey
from veracity.trees import BySource

LOOKS = 10
"""Number of alternating updates of the truth of an item and of how well it is known."""


class Honesty(NamedTuple):
    """Honesty H of each source, the probability that it names the true value; and the prior."""

    honesty: BySource
    prior: PriorRates


@dataclass(frozen=True, kw_only=True)
class SimpleLCA(Algorithm[Honesty]):
    """Honesties under which claims are most probable, by expectation maximisation.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    strength
        Weight of the prior in claims: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "simple-lca"
    kinds = ("categorical",)
    takes_rules = True
    takes_shares = True

    prior: Prior = NO_PRIOR
    strength: float = bounded(5.0, above=0)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Honesty:
        """Start from the mode of the prior."""
        return self.learn(Honesty(prior.tpr, prior), (np.zeros((survey.n_sources, 4)),))

    def tally(self, block: Block, state: Honesty, turn: Turn) -> Any:
        """Judge the facts, and count the claims of each source by truth (E-step)."""
        plausibility = clamp_known(self.judge(block, state), block)
        return (kernels.count_votes(block, plausibility, len(state.honesty)),)

    def learn(self, state: Honesty, total: Tally) -> Honesty:
        """H_s = (true claims + strength·tpr) / (claims + strength): the most probable (M-step)."""
        prior, (true, claims) = state.prior, total[0].T[:2]
        honesty = (true + self.strength * prior.tpr) / (claims + self.strength)
        return state._replace(honesty=np.where(prior.is_fixed, prior.tpr, honesty))

    def calibrate(self, state: Honesty, prior: PriorRates) -> Honesty:
        """Correct the honesties by the known truths."""
        return state._replace(honesty=prior.weigh_known_accuracy(state.honesty))

    def weigh(self, block: Block, state: Honesty, memory: Memory = None) -> Weights:
        """Bayes' rule; before any claim all values of an item are equally likely.

        log P(c | claims) = Σ ln(H_s / ((1 - H_s) / (|Ω| - 1))) over the sources that name c, up to
        a constant of the item: the contribution of each source that names another value.
        """
        log_odds = logit(state.honesty)
        of_claim = log_odds[block.source_of_support] + np.log(_others(block))
        return Weights("softmax", log_odds, of_claim=of_claim)

    def trust(self, state: Honesty) -> FloatArray:
        """Return the honesty."""
        return state.honesty


@dataclass(frozen=True, kw_only=True)
class GuessLCA(SimpleLCA):
    """Honest sources claim the true value; others guess, and may guess right.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    strength
        Weight of the prior in claims: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    follows_crowd
        True if guesses follow the popularity of values; else all values are equally likely.
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "guess-lca"

    follows_crowd: bool = False

    def tally(self, block: Block, state: Honesty, turn: Turn) -> Tally:
        """Judge the facts; count the honest claims of each source, and all its claims."""
        true = clamp_known(self.judge(block, state), block)[block.fact_of_support]
        honest = true * sigmoid(self._log_odds_of_honesty(block, state))
        return (_by_source(block, (honest, np.ones_like(honest)), len(state.honesty)),)

    def weigh(self, block: Block, state: Honesty, memory: Memory = None) -> Weights:
        """Bayes' rule, with P(c | c is true) = H + (1 - H) g(c), and else (1 - H) g(c).

        g is how likely a value is guessed. A claim adds the logarithm of the ratio of the two, ln(1
        + H / ((1 - H) g)).
        """
        of_claim = np.logaddexp(0.0, self._log_odds_of_honesty(block, state))
        return Weights("softmax", logit(state.honesty), of_claim=of_claim)

    def _log_odds_of_honesty(self, block: Block, state: Honesty) -> FloatArray:
        """Return ln(H / ((1 - H) g)) of each claim that is true: honest, against guessed."""
        log_guess = np.log(_guess(block, self.follows_crowd))[block.fact_of_support]
        return np.asarray(logit(state.honesty)[block.source_of_support] - log_guess)


class ClaimPrior(NamedTuple):
    """Probabilities of each claim that do not depend on the truth of its value."""

    honesty: FloatArray
    """Honesty of its source."""
    guess: FloatArray
    """Probability that its value is guessed, g."""
    surprise: FloatArray
    """Gain of a value because, if it were true, all other sources would have to make errors."""
    n_others: FloatArray
    """Number of other values of the item; 1 if there are no others."""


class Responsibility(NamedTuple):
    """Honest share of each claim (of the total `out_of`), and the share that its source knew."""

    honest: FloatArray
    out_of: FloatArray
    knew: FloatArray


@dataclass(frozen=True, kw_only=True)
class _Knowing(SimpleLCA):
    """The two in which a source may also not know the truth: D, how well each item is known."""

    knowledge: float = bounded(0.9, above=0, below=1)
    follows_crowd: bool = False

    def phases(self, state: Honesty) -> tuple[Phase[Honesty], ...]:
        """Return rounds; D of each item is stored with its block from one to the next."""
        return (Phase("rounds", (Step(self.tally, self.learn, remembers=True),), self.change),)

    def tally(self, block: Block, state: Honesty, turn: Turn) -> tuple[Tally, FloatArray]:
        """Judge the facts; count how far the claims of each source are honest, out of how much."""
        prior = _claim_prior(block, state, self.follows_crowd)
        knows = self._at_first(block) if turn.memory is None else np.asarray(turn.memory)
        true = clamp_known(self._judged(block, prior, knows), block)
        found = self._responsibility(prior, _of_claim(block, knows), true[block.fact_of_support])
        counts = _by_source(block, (found.honest, found.out_of), len(state.honesty))
        return (counts,), self._learned(block, found)

    def weigh(self, block: Block, state: Honesty, memory: Memory = None) -> Weights:
        """Bayes' rule: ln P(the claims | it is true) - ln P(the claims | it is false)."""
        prior = _claim_prior(block, state, self.follows_crowd)
        of_claim = self._log_odds(prior, _of_claim(block, self._knows(block, prior)))
        return Weights("softmax", logit(state.honesty), of_claim=of_claim)

    def difficulty(self, block: Block, state: Honesty) -> FloatArray:
        """Return 1 - D: the probability that a source does not know the truth of an item."""
        return 1.0 - self._knows(block, _claim_prior(block, state, self.follows_crowd))

    def _knows(self, block: Block, prior: ClaimPrior) -> FloatArray:
        """Return D of each item, the probability that a source knows its truth.

        It is found from the claims of the item and the honesties alone, so that an item is judged
        the same way whether or not it was learned from.
        """
        knows = self._at_first(block)
        for _ in range(LOOKS):
            true = self._judged(block, prior, knows)[block.fact_of_support]
            knows = self._learned(block, self._responsibility(prior, _of_claim(block, knows), true))
        return knows

    def _at_first(self, block: Block) -> FloatArray:
        return np.full(block.n_items, self.knowledge)

    def _judged(self, block: Block, prior: ClaimPrior, knows: FloatArray) -> FloatArray:
        return softmax_of_claims(block, self._log_odds(prior, _of_claim(block, knows)))

    def _learned(self, block: Block, found: Responsibility) -> FloatArray:
        """D = (claims made knowingly + strength·knowledge) / (claims + strength)."""
        item = _of_claim(block, np.arange(block.n_items))
        knew, n_claims = (
            np.bincount(item, block.weighted(of_claim), block.n_items)
            for of_claim in (found.knew, np.ones(len(item)))
        )
        return np.asarray((knew + self.strength * self.knowledge) / (n_claims + self.strength))

    @abstractmethod
    def _log_odds(self, prior: ClaimPrior, knows: FloatArray) -> FloatArray:
        """Return the contribution of each claim to the score of its fact."""

    @abstractmethod
    def _responsibility(
        self, prior: ClaimPrior, knows: FloatArray, true: FloatArray
    ) -> Responsibility:
        """Divide each claim, as plausible as `true`, among its possible causes."""


@dataclass(frozen=True, kw_only=True)
class MistakeLCA(_Knowing):
    """Sources that are honest and know claim the true value; all others claim a false one.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    strength
        Weight of the prior in claims: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    knowledge
        Probability that a source knows the truth of an item. It is learned for each item, and
        drawn to this as the honesties are to the prior.
    follows_crowd
        True if errors follow the popularity of values; else all values are equally likely.
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "mistake-lca"

    def _log_odds(self, prior: ClaimPrior, knows: FloatArray) -> FloatArray:
        """P(c | c is true) = H D; else (1 - H D) e(c) with e over all false values."""
        return logit(prior.honesty * knows) + prior.surprise

    def _responsibility(
        self, prior: ClaimPrior, knows: FloatArray, true: FloatArray
    ) -> Responsibility:
        """Blame a false claim on a want of honesty, of knowledge, or of both."""
        false = (1.0 - true) / np.maximum(1.0 - prior.honesty * knows, np.finfo(np.float64).tiny)
        honest = true + false * prior.honesty * (1.0 - knows)
        knew = true + false * knows * (1.0 - prior.honesty)
        return Responsibility(honest, np.ones_like(honest), knew)


@dataclass(frozen=True, kw_only=True)
class LieLCA(_Knowing):
    """Sources that know claim the true value or lie; others guess, and may guess right.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    strength
        Weight of the prior in claims: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    knowledge
        Probability that a source knows the truth of an item. It is learned for each item, and
        drawn to this as the honesties are to the prior.
    follows_crowd
        True if guesses follow the popularity of values; else all values are equally likely.
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "lie-lca"

    def _log_odds(self, prior: ClaimPrior, knows: FloatArray) -> FloatArray:
        """P(c | c is true) = H D + (1 - D) g(c); else (1 - H) D / others + (1 - D) g(c)."""
        truth, lie, guess = self._causes(prior, knows)
        return np.asarray(np.log(truth + guess) - np.log(lie + guess))

    def _responsibility(
        self, prior: ClaimPrior, knows: FloatArray, true: FloatArray
    ) -> Responsibility:
        """Count truths and lies: only a source that knows can be honest; guesses do not count."""
        truth, lie, guess = self._causes(prior, knows)
        honest = true * truth / (truth + guess)
        knew = honest + (1.0 - true) * lie / (lie + guess)
        return Responsibility(honest, knew, knew)

    def _causes(
        self, prior: ClaimPrior, knows: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the probabilities of a truth, a lie and a guess for each claim; all positive."""
        truth = prior.honesty * knows
        lie = (1.0 - prior.honesty) * knows / prior.n_others
        guess = np.maximum((1.0 - knows) * prior.guess, np.finfo(np.float64).tiny)
        return truth, lie, guess


def _of_claim(block: Block, of_item: NDArray[Any]) -> NDArray[Any]:
    """Return the number of the item of each claim."""
    return np.repeat(of_item, block.n_supports_of_item)


def _others(block: Block) -> FloatArray:
    """Return the number of other values that the item of each claim has, at least one."""
    return _of_claim(block, np.maximum(block.n_facts_of_item - 1.0, 1.0))


def _guess(block: Block, follows_crowd: bool) -> FloatArray:
    """Return g of each fact, the probability that a source that does not know guesses it."""
    if follows_crowd:
        return popularity(block)
    return 1.0 / np.repeat(block.n_facts_of_item, block.n_facts_of_item)


def _claim_prior(block: Block, state: Honesty, follows_crowd: bool) -> ClaimPrior:
    fact, n_others = block.fact_of_support, _others(block)
    honesty = state.honesty[block.source_of_support]
    mistaken = surprise(block)[fact] if follows_crowd else np.log(n_others)
    return ClaimPrior(honesty, _guess(block, follows_crowd)[fact], mistaken, n_others)


def _by_source(block: Block, of_claim: tuple[FloatArray, ...], n_sources: int) -> FloatArray:
    """Return sums over the claims of each source, a column each."""
    sums = [
        np.bincount(block.source_of_support, block.weighted(own), n_sources) for own in of_claim
    ]
    return np.stack(sums, axis=1).astype(np.float64)
