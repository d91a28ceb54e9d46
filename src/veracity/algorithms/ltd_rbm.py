"""LTD-RBM: a restricted Boltzmann machine with one hidden unit, the truth of a fact.

Broelemann, Gottron, Kasneci: Restricted Boltzmann Machines for Robust and Fast Latent Truth
Discovery. Each source is a visible unit; a fact's claims are shown to the units of the sources
that make them, and the hidden unit answers how plausible the fact is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Memory,
    Rates,
    Tally,
    Turn,
    logit,
    normalise_odds,
    sigmoid,
)
from veracity.algorithms.checks import (
    require_at_least,
    require_one_of,
    require_positive,
)
from veracity.algorithms.prior import Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray, IntArray
from veracity.errors import ParameterError

__all__ = ["LTDRBM", "Weights", "rates_of", "source_bias", "weights_of"]

LIMIT = float(logit(np.array(1.0 - 1e-6)))
"""How sure of a source one may become, in log-odds."""

NegativePhase = Literal["exact", "sampled"]

MOST_DRAWS = 200_000_000
"""Source-value pairs of one item beyond which the sampled negative phase is refused."""


class Weights(NamedTuple):
    """The machine: visible biases a, weights w, global hidden bias b_G; which sources are fixed."""

    visible_bias: FloatArray
    weight: FloatArray
    hidden_bias: float
    is_fixed: IntArray


def weights_of(tpr: FloatArray, fpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Visible bias a = logit(fpr) and weight w = logit(tpr) - logit(fpr)."""
    return logit(fpr), logit(tpr) - logit(fpr)


def rates_of(visible_bias: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tpr = σ(a + w) and fpr = σ(a): the inverse of `weights_of`."""
    return sigmoid(visible_bias + weight), sigmoid(visible_bias)


def source_bias(visible_bias: FloatArray, weight: FloatArray) -> FloatArray:
    """A source's part of the hidden bias, b_s = log(1 - tpr) - log(1 - fpr)."""
    return np.logaddexp(0.0, visible_bias) - np.logaddexp(0.0, visible_bias + weight)


@dataclass(frozen=True, kw_only=True)
class LTDRBM(Algorithm[Weights]):
    """Latent truth discovery with a restricted Boltzmann machine.

    """

    name = "ltd-rbm"
    learns_from = "block"

    prior: Prior = Prior()
    learning_rate: float = 0.01
    decay: float = 0.5
    batch_size: int = 100
    negative_phase: NegativePhase = "exact"
    gibbs_steps: int = 1
    single_truth: bool = False
    seed: int = 0
    max_rounds: int = 50
    min_rounds: int = 2
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(self, learning_rate=self.learning_rate, tolerance=self.tolerance)
        require_at_least(self, 0, decay=self.decay, seed=self.seed)
        require_at_least(
            self, 1, batch_size=self.batch_size, gibbs_steps=self.gibbs_steps, max_rounds=self.max_rounds
        )  # fmt: skip
        require_one_of(self, get_args(NegativePhase), negative_phase=self.negative_phase)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Weights]:
        """Set the machine to the prior."""
        prevalence = prior.prevalence
        if prevalence is None:
            prevalence = claims.n_items / claims.n_facts if claims.kind == "categorical" else 0.5
        a, w = weights_of(prior.tpr, prior.fpr)
        b = float(np.clip(logit(np.array(prevalence)), -LIMIT, LIMIT))
        return (), Weights(a, w, b, prior.is_fixed)

    def study(
        self, block: Block, memory: Memory, reliability: Weights, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Climb through the block in mini-batches; the tally is how far the weights moved."""
        from veracity.kernels import compiled

        rate = self.learning_rate * np.exp(-self.decay * (turn.round_number - 1))
        order = turn.rng.permutation(len(block.first_fact_of_item) - 1)
        old_a, old_w, old_b, is_fixed = reliability
        how = (block, order, old_a, old_w, old_b, is_fixed, rate, self.batch_size, LIMIT, self.single_truth)
        if self.negative_phase == "exact":
            a, w, b = compiled.climb(*how)
        else:
            a, w, b = compiled.climb_sampled(*how, self.gibbs_steps, turn.rng)
        return memory, (a - old_a, w - old_w, b - old_b)

    def learn(self, reliability: Weights, tally: Tally) -> Weights:
        a, w, b = tally
        return reliability._replace(visible_bias=reliability.visible_bias+a, weight=reliability.weight+w, hidden_bias=reliability.hidden_bias+b)

    def change(self, before: Weights, after: Weights) -> float:
        """The largest move of any tpr, fpr or the prevalence."""
        moves = [np.abs(new - old).max() for old, new in zip(_rates(before), _rates(after), strict=True)]
        return float(max(moves))

    def judge(
        self, block: Block, memory: Memory, reliability: Weights, single_truth: bool
    ) -> FloatArray:
        """P(h = 1 | v) of the helper machine of each fact's sources."""
        from veracity.kernels import compiled
        a, w, b, *_ = reliability
        if single_truth:
            base = np.zeros_like(w)
        else:
            base = source_bias(a, w)
        log_odds = b + compiled.sum_votes(block, base, w)
        return normalise_odds(log_odds, block) if single_truth else sigmoid(log_odds)

    def rates(self, reliability: Weights, counts: FloatArray) -> Rates:
        """The machine's own rates."""
        return _rates(reliability)


def _rates(weights: Weights) -> Rates:
    tpr, fpr = rates_of(weights.visible_bias, weights.weight)
    return Rates(tpr, fpr, float(sigmoid(np.array(weights.hidden_bias))))
