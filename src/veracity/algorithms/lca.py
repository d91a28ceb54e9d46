"""GuessLCA, MistakeLCA, LieLCA: why a source names a false value, in three ways.

Pasternack, Roth: Latent Credibility Analysis (WWW 2013), which has SimpleLCA, too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms.base import Memory, Phase, Step, Tally, Turn, clamp_known
from veracity.algorithms.checks import require_probability
from veracity.algorithms.popularity import popularity, surprise
from veracity.algorithms.rules import Weights, logit, sigmoid, softmax_of_claims
from veracity.algorithms.simple_lca import Honesty, SimpleLCA
from veracity.encoding.block import Block, FloatArray

LOOKS = 10
"""How often the truth of an item and how well it is known are found from each other, to judge."""


@dataclass(frozen=True, kw_only=True)
class GuessLCA(SimpleLCA):
    """Who is honest names the true value; who is not guesses, and may guess right.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. It moves what the
        honesties are drawn to.
    strength
        How many claims the prior is worth: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    follows_crowd
        Whether who guesses names popular values more often, not all alike.
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "guess-lca"

    follows_crowd: bool = False

    def tally(self, block: Block, state: Honesty, turn: Turn) -> Tally:
        """Judge the facts; of each source, how many claims are honest, and how many there are."""
        true = clamp_known(self.judge(block, state), block)[block.fact_of_support]
        honest = true * sigmoid(self._log_odds_of_honesty(block, state))
        return (_by_source(block, (honest, np.ones_like(honest)), len(state.honesty)),)

    def weigh(self, block: Block, state: Honesty, memory: Memory = None) -> Weights:
        """Bayes' rule, with P(c | c is true) = H + (1 - H) g(c), and else (1 - H) g(c).

        g is how likely a value is guessed. What a claim adds is the logarithm of the ratio of the
        two, ln(1 + H / ((1 - H) g)).
        """
        of_claim = np.logaddexp(0.0, self._log_odds_of_honesty(block, state))
        return Weights("softmax", logit(state.honesty), of_claim=of_claim)

    def _log_odds_of_honesty(self, block: Block, state: Honesty) -> FloatArray:
        """Of each claim that is true: honest, against guessed. ln(H / ((1 - H) g))."""
        log_guess = np.log(_guess(block, self.follows_crowd))[block.fact_of_support]
        return np.asarray(logit(state.honesty)[block.source_of_support] - log_guess)


class Told(NamedTuple):
    """What is known of each claim before anybody asks whether it is true."""

    honesty: FloatArray
    """Of its source."""
    guess: FloatArray
    """How likely its value is guessed."""
    surprise: FloatArray
    """What it adds that others would have to err as they do, if its value is true."""
    n_others: FloatArray
    """How many other values the item has; one if there is none."""


class Meant(NamedTuple):
    """Of each claim, how far it is honest, out of how much, and how far its source knew."""

    honest: FloatArray
    out_of: FloatArray
    knew: FloatArray


@dataclass(frozen=True, kw_only=True)
class _Knowing(SimpleLCA):
    """What those two share in which a source may also not know: how well each item is known."""

    knowledge: float = 0.9
    follows_crowd: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(self, knowledge=self.knowledge)

    def phases(self, state: Honesty) -> tuple[Phase[Honesty], ...]:
        """Rounds; how well each item is known is kept beside its block from one to the next."""
        return (Phase("rounds", (Step(self.tally, self.learn, remembers=True),), self.change),)

    def tally(self, block: Block, state: Honesty, turn: Turn) -> tuple[Tally, FloatArray]:
        """Judge the facts; of each source, how far its claims are honest, and out of how much."""
        told = _told(block, state, self.follows_crowd)
        knows = self._at_first(block) if turn.memory is None else np.asarray(turn.memory)
        true = clamp_known(self._judged(block, told, knows), block)
        meant = self._meant(told, _of_claim(block, knows), true[block.fact_of_support])
        counts = _by_source(block, (meant.honest, meant.out_of), len(state.honesty))
        return (counts,), self._learned(block, meant)

    def weigh(self, block: Block, state: Honesty, memory: Memory = None) -> Weights:
        """Bayes' rule: ln P(what is said | it is true) - ln P(what is said | it is false)."""
        told = _told(block, state, self.follows_crowd)
        of_claim = self._log_odds(told, _of_claim(block, self._knows(block, told)))
        return Weights("softmax", logit(state.honesty), of_claim=of_claim)

    def difficulty(self, block: Block, state: Honesty) -> FloatArray:
        """Of each item, how likely it is that a source does not know the truth."""
        return 1.0 - self._knows(block, _told(block, state, self.follows_crowd))

    def _knows(self, block: Block, told: Told) -> FloatArray:
        """Of each item, how likely it is that a source knows the truth (D).

        It is found from the claims of the item and the honesties alone, so that an item is judged
        the same way whether or not it was learned from.
        """
        knows = self._at_first(block)
        for _ in range(LOOKS):
            true = self._judged(block, told, knows)[block.fact_of_support]
            knows = self._learned(block, self._meant(told, _of_claim(block, knows), true))
        return knows

    def _at_first(self, block: Block) -> FloatArray:
        return np.full(block.n_items, self.knowledge)

    def _judged(self, block: Block, told: Told, knows: FloatArray) -> FloatArray:
        return softmax_of_claims(block, self._log_odds(told, _of_claim(block, knows)))

    def _learned(self, block: Block, meant: Meant) -> FloatArray:
        """How well each item is known, from how far its claims were made knowingly."""
        item = _of_claim(block, np.arange(block.n_items))
        knew, n_claims = (
            np.bincount(item, block.weighted(of_claim), block.n_items)
            for of_claim in (meant.knew, np.ones(len(item)))
        )
        return np.asarray((knew + self.strength * self.knowledge) / (n_claims + self.strength))

    @abstractmethod
    def _log_odds(self, told: Told, knows: FloatArray) -> FloatArray:
        """What each claim adds to the score of its fact."""

    @abstractmethod
    def _meant(self, told: Told, knows: FloatArray, true: FloatArray) -> Meant:
        """What each claim tells of honesty and knowledge, if it is true as far as that."""


@dataclass(frozen=True, kw_only=True)
class MistakeLCA(_Knowing):
    """Who is honest and knows names the true value; all others name a false one.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. It moves what the
        honesties are drawn to.
    strength
        How many claims the prior is worth: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    knowledge
        How likely it is that a source knows the truth of an item. It is learned for each item, and
        drawn to this as the honesties are to the prior.
    follows_crowd
        Whether who errs names popular values more often, not all alike.
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "mistake-lca"

    def _log_odds(self, told: Told, knows: FloatArray) -> FloatArray:
        """P(c | c is true) = H D; else (1 - H D) e(c) with e over all false values."""
        return logit(told.honesty * knows) + told.surprise

    def _meant(self, told: Told, knows: FloatArray, true: FloatArray) -> Meant:
        """What is false was said for want of honesty, of knowledge, or of both."""
        false = (1.0 - true) / np.maximum(1.0 - told.honesty * knows, np.finfo(np.float64).tiny)
        honest = true + false * told.honesty * (1.0 - knows)
        knew = true + false * knows * (1.0 - told.honesty)
        return Meant(honest, np.ones_like(honest), knew)


@dataclass(frozen=True, kw_only=True)
class LieLCA(_Knowing):
    """Who knows tells the truth, or lies; who does not know guesses, and may guess right.

    Parameters
    ----------
    prior
        Where the honesties start, and where they are drawn to: its tpr. Fixed sources stay.
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. It moves what the
        honesties are drawn to.
    strength
        How many claims the prior is worth: H_s ~ Beta(1 + strength·tpr, 1 + strength·(1 - tpr)).
    knowledge
        How likely it is that a source knows the truth of an item. It is learned for each item, and
        drawn to this as the honesties are to the prior.
    follows_crowd
        Whether who guesses names popular values more often, not all alike.
    max_rounds, tolerance
        It stops when a round moves no honesty by `tolerance`.
    """

    name = "lie-lca"

    def _log_odds(self, told: Told, knows: FloatArray) -> FloatArray:
        """P(c | c is true) = H D + (1 - D) g(c); else (1 - H) D / others + (1 - D) g(c)."""
        truth, lie, guess = self._causes(told, knows)
        return np.asarray(np.log(truth + guess) - np.log(lie + guess))

    def _meant(self, told: Told, knows: FloatArray, true: FloatArray) -> Meant:
        """Only who knows can be honest or lie: a guess tells nothing of honesty."""
        truth, lie, guess = self._causes(told, knows)
        honest = true * truth / (truth + guess)
        knew = honest + (1.0 - true) * lie / (lie + guess)
        return Meant(honest, knew, knew)

    def _causes(self, told: Told, knows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How likely each claim comes by telling a truth, by a lie, by a guess; none is nothing."""
        least = np.finfo(np.float64).tiny
        truth = told.honesty * knows
        lie = (1.0 - told.honesty) * knows / told.n_others
        guess = np.maximum((1.0 - knows) * told.guess, least)
        return truth, lie, guess


def _of_claim(block: Block, of_item: NDArray[Any]) -> NDArray[Any]:
    """What items have, for each of their claims."""
    return np.repeat(of_item, block.n_supports_of_item)


def _guess(block: Block, follows_crowd: bool) -> FloatArray:
    """Of each fact, how likely it is guessed by who does not know."""
    if follows_crowd:
        return popularity(block)
    return 1.0 / np.repeat(block.n_facts_of_item, block.n_facts_of_item)


def _told(block: Block, state: Honesty, follows_crowd: bool) -> Told:
    fact = block.fact_of_support
    n_others = np.repeat(np.maximum(block.n_facts_of_item - 1.0, 1.0), block.n_supports_of_item)
    honesty = state.honesty[block.source_of_support]
    mistaken = surprise(block)[fact] if follows_crowd else np.log(n_others)
    return Told(honesty, _guess(block, follows_crowd)[fact], mistaken, n_others)


def _by_source(block: Block, of_claim: tuple[FloatArray, ...], n_sources: int) -> FloatArray:
    """Sums over the claims of each source, a column each."""
    sums = [
        np.bincount(block.source_of_support, block.weighted(own), n_sources) for own in of_claim
    ]
    return np.stack(sums, axis=1).astype(np.float64)
