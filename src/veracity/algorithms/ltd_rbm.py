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
    Rule,
    Tally,
    Turn,
    Weights,
    kernels,
    logit,
    normalise_odds,
    sigmoid,
)
from veracity.algorithms.checks import (
    require_at_least,
    require_one_of,
    require_positive,
)
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray
from veracity.errors import ParameterError
from veracity.kernels import Machine, Pace
from veracity.schema import Kind

__all__ = ["LTDRBM", "rates_of", "source_bias", "weights_of"]

LIMIT = float(logit(np.array(1.0 - 1e-6)))
"""How sure of a source one may become, in log-odds."""

PLENTY, PLENTY_OF_SOURCE = 1_000_000, 1_500
"""Claims, in all and of a source, that one round was made for. Where there are more, it is worth
more than one."""

MOST_HASTE = 6.0
"""How many rounds one round may be worth: then four are enough."""

NegativePhase = Literal["exact", "sampled"]

MOST_DRAWS = 200_000_000
"""Source-value pairs of one item beyond which the sampled negative phase is refused."""


def weights_of(tpr: FloatArray, fpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Visible bias a = logit(fpr) and weight w = logit(tpr) - logit(fpr)."""
    return logit(fpr), logit(tpr) - logit(fpr)


def rates_of(visible_bias: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tpr = sigmoid(a + w) and fpr = sigmoid(a): the inverse of `weights_of`."""
    return sigmoid(visible_bias + weight), sigmoid(visible_bias)


def source_bias(visible_bias: FloatArray, weight: FloatArray) -> FloatArray:
    """A source's part of the hidden bias, b_s = log(1 - tpr) - log(1 - fpr)."""
    return np.logaddexp(0.0, visible_bias) - np.logaddexp(0.0, visible_bias + weight)


class Training(NamedTuple):
    """The machine, and by how much its steps shrink from round to round."""

    machine: Machine
    decay: float


@dataclass(frozen=True, kw_only=True)
class LTDRBM(Algorithm[Training]):
    """Latent truth discovery with a restricted Boltzmann machine.

    Parameters
    ----------
    prior
        What is known of the sources; training starts from it. Fixed sources stay as they are, and
        where all are fixed nothing is trained. Where no prevalence is given, it starts at one over
        the mean number of values an item has, or at one half if items may have several truths.
    learning_rate, decay
        A step in round n, from 0, is ``learning_rate * exp(-decay * n)`` times the gradient, which
        is summed, not averaged, over the batch. From a million claims on, more is learned in a
        round, so steps shrink faster: by ``decay`` for every million, or for every 1,500 claims of
        the median source if that is less, up to six times as fast.
    batch_size
        Facts in a mini-batch, at least: all facts of an item stay together.
    negative_phase
        "exact": the model's expectations in closed form. "sampled": contrastive divergence, as in
        the paper, with `gibbs_steps` steps from the data; its cost grows with sources times values
        of an item.
    gibbs_steps
        The k of CD-k, for the sampled negative phase.
    single_truth
        The paper's LTD-RBM-C: train under the constraint that one value of each item is true.
    seed
        Where the randomness of batches and samples starts.
    max_rounds, min_rounds, tolerance
        Training stops when a round moves no tpr, fpr nor the prevalence by `tolerance`.
    """

    learns_from = "block"

    prior: Prior = NO_PRIOR
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
        require_at_least(self, 0, decay=self.decay, seed=self.seed, min_rounds=self.min_rounds)
        require_at_least(self, 1, batch_size=self.batch_size, gibbs_steps=self.gibbs_steps)
        require_at_least(self, max(1, self.min_rounds), max_rounds=self.max_rounds)
        require_one_of(self, get_args(NegativePhase), negative_phase=self.negative_phase)

    @property
    def name(self) -> str:  # type: ignore[override]
        """LTD-RBM-C has a name of its own."""
        return "ltd-rbm-c" if self.single_truth else "ltd-rbm"

    @property
    def kinds(self) -> tuple[Kind, ...]:  # type: ignore[override]
        """A single truth is for values."""
        return ("categorical",) if self.single_truth else ("categorical", "multiple", "binary")

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Training]:
        """Set the machine to the prior."""
        self._check(claims)
        prevalence = prior.prevalence or claims.usual_prevalence
        visible_bias, weight = weights_of(*prior.weigh_known(prior.tpr, prior.fpr))
        hidden_bias = float(np.clip(logit(np.array(prevalence)), -LIMIT, LIMIT))
        machine = Machine(visible_bias, weight, hidden_bias, prior.is_fixed)
        return (), Training(machine, self.decay * _haste(claims))

    def is_settled(self, reliability: Training) -> bool:
        """Where all sources are fixed there is nothing to train."""
        return bool(reliability.machine.is_fixed.all())

    def study(
        self, block: Block, memory: Memory, reliability: Training, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Climb through the block in mini-batches; the tally is how far the weights moved."""
        machine, decay = reliability
        rate = self.learning_rate * float(np.exp(-decay * (turn.round_number - 1)))
        order = turn.rng.permutation(len(block.first_fact_of_item) - 1)
        gibbs_steps = self.gibbs_steps if self.negative_phase == "sampled" else 0
        pace = Pace(rate, self.batch_size, LIMIT, self.single_truth, gibbs_steps)
        a, w, b = kernels.climb(block, order, machine, pace, turn.rng)
        old_a, old_w, old_b, _ = machine
        return memory, (a - old_a, w - old_w, b - old_b)

    def learn(self, reliability: Training, tally: Tally) -> Training:
        """Move the weights."""
        a, w, b, is_fixed = reliability.machine
        move_a, move_w, move_b = tally
        moved = Machine(a + move_a, w + move_w, float(b + move_b), is_fixed)
        return reliability._replace(machine=moved)

    def change(self, before: Training, after: Training) -> float:
        """The largest move of any tpr, fpr or the prevalence."""
        old, new = _rates(before.machine), _rates(after.machine)
        moves = (new.tpr - old.tpr, new.fpr - old.fpr, new.prevalence - old.prevalence)
        return float(max(np.abs(move).max() for move in moves))

    def settle(self, reliability: Training, prior: PriorRates) -> Training:
        """Correct the rates by the known truths."""
        machine = reliability.machine
        rates = rates_of(machine.visible_bias, machine.weight)
        visible_bias, weight = weights_of(*prior.weigh_known(*rates))
        return reliability._replace(
            machine=machine._replace(visible_bias=visible_bias, weight=weight)
        )

    def judge(
        self, block: Block, memory: Memory, reliability: Training, single_truth: bool
    ) -> FloatArray:
        """P(h = 1 | v) of the helper machine that has only the sources of the item."""
        visible_bias, weight, hidden_bias, _ = reliability.machine
        base = source_bias(visible_bias, weight)
        log_odds = hidden_bias + kernels.sum_votes(block, base, weight)
        return normalise_odds(log_odds, block) if single_truth else sigmoid(log_odds)

    def weights(self, claims: Claims, memory: Memory, reliability: Training) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: the hidden bias."""
        visible_bias, weight, hidden_bias, _ = reliability.machine
        base = source_bias(visible_bias, weight)
        rule: Rule = "softmax" if claims.kind == "categorical" else "sigmoid"
        return Weights(base + weight, base, rule, hidden_bias)

    def rates(self, reliability: Training, counts: FloatArray) -> Rates:
        """The machine's own rates; under a single truth the prevalence is one value an item."""
        rates = _rates(reliability.machine)
        if not self.single_truth:
            return rates
        return rates._replace(prevalence=float(counts[:, 2].sum() / counts[:, 3].sum()))

    def _check(self, claims: Claims) -> None:
        block = claims.all
        n_draws = np.diff(block.first_fact_of_item) * np.diff(block.first_voice_of_item)
        if self.negative_phase == "sampled" and n_draws.max() > MOST_DRAWS:
            raise ParameterError(
                f"LTDRBM: an item has {n_draws.max():,} pairs of source and value, too many to "
                "sample; use negative_phase='exact'"
            )


def _haste(claims: Claims) -> float:
    """How many rounds a round is worth."""
    of_source = np.bincount(claims.all.source_of_voice, minlength=claims.n_sources)
    worth = min(of_source.sum() / PLENTY, np.median(of_source) / PLENTY_OF_SOURCE)
    return float(np.clip(worth, 1.0, MOST_HASTE))


def _rates(machine: Machine) -> Rates:
    tpr, fpr = rates_of(machine.visible_bias, machine.weight)
    return Rates(tpr, fpr, float(sigmoid(np.array(machine.hidden_bias))))
