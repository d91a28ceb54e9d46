"""LTD-RBM: a restricted Boltzmann machine with one hidden unit, the truth of a fact.

Broelemann, Gottron, Kasneci: Restricted Boltzmann Machines for Robust and Fast Latent Truth
Discovery. Each source is a visible unit; a fact's claims are shown to the units of the sources
that make them, and the hidden unit answers how plausible the fact is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    BySource,
    CountBySource,
    Memory,
    Phase,
    Rates,
    Step,
    Tally,
    Turn,
    Walk,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_one_of, require_positive
from veracity.algorithms.flow import LIMIT, Flow, Sums, sums
from veracity.algorithms.flow import learn as learn_flow
from veracity.algorithms.flow import start as start_flow
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Rule, Weights, logit, scores, sigmoid
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError
from veracity.kernels import STEADY, InOrder, Machine, Pace
from veracity.kernels.loading import kernels
from veracity.reading.schema import Kind

PLENTY, PLENTY_OF_SOURCE = 500_000, 500
"""Claims, in all and of the median source, of which a round can learn enough."""

BLUR = 0.5 / math.sqrt(PLENTY_OF_SOURCE)
"""The standard error of a rate near one half that is counted from so many claims. Where there are
many, a round sees no more of the median source, and cannot tell less from chance."""

NegativePhase = Literal["exact", "sampled"]

Learning = Literal["batches", "flow"]

Ready = tuple[InOrder, np.random.Generator]
"""The items that a round met in a block, in order, and the randomness that is left."""

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
    """The machine, and how many of the items a round looks at.

    A restricted Boltzmann machine with visible biases a, weights w, and the global part b_G of the
    hidden bias; sources that are fixed are not trained.
    """

    visible_bias: BySource
    weight: BySource
    is_fixed: CountBySource
    hidden_bias: float
    share: float
    """Of the items, in each round."""
    single_truth: bool
    blur: float = 0.0
    """The change that may be chance: a round that moves no rate by more is the last."""
    flow: Flow | None = None
    """How far the flow was followed; None if there is none to follow, any more or at all."""

    def at(self, machine: Machine) -> Training:
        """With the machine elsewhere."""
        a, w, b, _ = machine
        return self._replace(visible_bias=a, weight=w, hidden_bias=float(b))

    @property
    def machine(self) -> Machine:
        """As the kernels want it."""
        return Machine(self.visible_bias, self.weight, self.hidden_bias, self.is_fixed)

    @property
    def rates(self) -> Rates:
        """What the machine thinks of the sources."""
        tpr, fpr = rates_of(self.visible_bias, self.weight)
        return Rates(tpr, fpr, float(sigmoid(np.array(self.hidden_bias))))


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
        is summed, not averaged, over the batch.
    shorten
        Where there are many claims, each round looks at some of the items, drawn anew: enough for
        500,000 claims, and for 500 of the median source; for more where steps are cut short (see
        `facts_per_step`). Rates and prevalence are counted over all judged facts at the end then,
        and a note says so. False looks at all items in every round, as in the paper.
    learning
        "batches": mini-batches one after the other, as in the paper. "flow": what they follow, the
        gradient of the likelihood for a time of all steps' lengths, is integrated by whole sweeps:
        free of order, batches and seed, on any number of cores, and stable at any rate. `change` is
        the share of the time still to go then. For the exact negative phase only.
    batch_size
        Facts in a mini-batch, at least: all facts of an item stay together.
    facts_per_step
        Facts whose gradients are summed at most: with more, the step shrinks in proportion. None
        lifts the limit.
    negative_phase
        "exact": the model's expectations in closed form, and steps that take into account how the
        gradient falls off on their way, so that they do not overshoot. "sampled": contrastive
        divergence, as in the paper, with `gibbs_steps` steps from the data; its cost grows with
        sources times values of an item. Its name is ``ltd-rbm-cd``.
    gibbs_steps
        The k of CD-k, for the sampled negative phase.
    single_truth
        The paper's LTD-RBM-C: train under the constraint that one value of each item is true.
    seed
        Where the randomness of batches and samples starts.
    max_rounds, min_rounds, tolerance
        Training stops when a round moves no tpr, fpr nor the prevalence by `tolerance`; by 0.022
        from 500,000 claims on (see `shorten`), where a smaller move may be chance.
    """

    state_type = Training

    prior: Prior = NO_PRIOR
    learning_rate: float = 0.01
    decay: float = 0.5
    shorten: bool = True
    learning: Learning = "batches"
    batch_size: int = 100
    facts_per_step: int | None = STEADY
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
        if self.facts_per_step is not None:
            require_at_least(self, 1, facts_per_step=self.facts_per_step)
        require_at_least(self, max(1, self.min_rounds), "min_rounds", max_rounds=self.max_rounds)
        require_one_of(self, get_args(NegativePhase), negative_phase=self.negative_phase)
        require_one_of(self, get_args(Learning), learning=self.learning)
        if self.learning == "flow" and self.negative_phase != "exact":
            raise ParameterError("LTDRBM: learning='flow' needs negative_phase='exact'")

    @property
    def name(self) -> str:  # type: ignore[override]
        """LTD-RBM-C has a name of its own, and so has the paper's way to train either."""
        constraint = "-c" if self.single_truth else ""
        return f"ltd-rbm{constraint}{'-cd' if self.negative_phase == 'sampled' else ''}"

    @property
    def kinds(self) -> tuple[Kind, ...]:  # type: ignore[override]
        """A single truth is for values."""
        return ("categorical",) if self.single_truth else ("categorical", "multiple", "binary")

    def by_sweeps(self) -> LTDRBM:
        """Follow the flow, if the negative phase is exact."""
        return replace(self, learning="flow") if self.negative_phase == "exact" else self

    def start(self, survey: Survey, prior: PriorRates) -> Training:
        """Set the machine to the prior."""
        self._check(survey)
        prevalence = prior.prevalence or survey.usual_prevalence
        visible_bias, weight = weights_of(*prior.weigh_known(prior.tpr, prior.fpr))
        hidden_bias = float(np.clip(logit(np.array(prevalence)), -LIMIT, LIMIT))
        share, blur = 1.0, 0.0
        if self.shorten and survey.counted.items_of_source.sum() >= PLENTY:
            share, blur = min(_enough(survey) * self._facts_in_one, 1.0), BLUR
        return Training(
            visible_bias, weight, prior.is_fixed, hidden_bias, share, survey.single_truth, blur
        )

    @property
    def _facts_in_one(self) -> float:
        """How many facts of a batch teach as much as one: steps of large batches are cut short."""
        return max(self.batch_size / (self.facts_per_step or self.batch_size), 1.0)

    @property
    def takes_shares(self) -> bool:  # type: ignore[override]
        """Sweeps count by them; mini-batches count every claim in full."""
        return self.learning == "flow"

    @property
    def depends_on_blocks(self) -> bool:
        """Mini-batches are cut from blocks, and follow each other."""
        return self.learning == "batches"

    def phases(self, state: Training) -> tuple[Phase[Training], ...]:
        """Rounds of mini-batches, which follow each other through the blocks; or sweeps."""
        if self.learning == "flow":
            return (Phase("flow", (Step(self.tally, self.learn),), self.left),)
        prepare = partial(self.prepare, share=state.share)
        walk = Walk(lambda state: (state,), self.climb, lambda state, lanes: lanes[0], prepare)
        rounds = Phase("rounds", (walk,), self.change, state.blur)
        if not self._is_shortened(state):
            return (rounds,)
        return rounds, Phase("closing count", (Step(self.count, self.close),))

    def _is_shortened(self, state: Training) -> bool:
        """Whether rounds look at some of the items only."""
        return self.learning == "batches" and state.share < 1.0

    def notes(self, state: Training) -> list[str]:
        """That there were many claims, and what was done about it."""
        if not self._is_shortened(state):
            return []
        return [
            f"there are many claims, so each round looked at {state.share:.2g} of the items, drawn "
            "anew, and rates were counted over all of them at the end; shorten=False looks at all "
            "items in every round"
        ]

    def is_settled(self, state: Training) -> bool:
        """Where all sources are fixed there is nothing to train."""
        return bool(state.is_fixed.all())

    def prepare(self, block: Block, turn: Turn, share: float) -> Ready:
        """Draw the items of a round: that asks for nothing that is learned."""
        rng = turn.rng(block)
        return kernels.reorder(block, _drawn(block.n_items, share, rng)), rng

    def climb(self, block: Block, lane: Training, turn: Turn) -> tuple[Training, None]:
        """Climb through the items that are drawn from the block, in mini-batches."""
        rate = self.learning_rate * float(np.exp(-float(self.decay) * (turn.round_number - 1)))
        items, rng = turn.ready or self.prepare(block, turn, lane.share)
        samples = self.negative_phase == "sampled"
        gibbs_steps = self.gibbs_steps if samples else 0
        most = float("inf") if self.facts_per_step is None else float(self.facts_per_step)
        pace = Pace(rate, self.batch_size, LIMIT, self.single_truth, gibbs_steps, most)
        a, w, b = kernels.climb(items, lane.machine, pace, rng if samples else None)
        return lane.at(Machine(a, w, b, lane.is_fixed)), None

    def count(self, block: Block, state: Training, turn: Turn) -> Tally:
        """How often the sources' words met the judged facts of a block; how many facts are true."""
        plausible = clamp_known(self.judge(block, state), block)
        counts: FloatArray = kernels.count_votes(block, plausible, len(state.weight))
        return counts, np.array([plausible.sum(), len(plausible)])

    def close(self, state: Training, total: Tally) -> Training:
        """Take the rates that were counted; what the machine thought of a source is one fact more.

        Rounds on some of the items sort the sources, and with them the facts, but do not bring the
        machine to where its rates are those of the facts it believes in.
        """
        of_source, (n_true, n_facts) = total
        supports_of_true, supports, true, facts = np.asarray(of_source).T
        tpr, fpr, _ = state.rates
        tpr = (supports_of_true + tpr) / (true + 1.0)
        fpr = (supports - supports_of_true + fpr) / (facts - true + 1.0)
        counted = [np.clip(one, -LIMIT, LIMIT) for one in (logit(fpr), logit(tpr))]
        free = state.is_fixed == 0
        visible_bias = np.where(free, counted[0], state.visible_bias)
        weight = np.where(free, counted[1] - counted[0], state.weight)
        closed = state._replace(visible_bias=visible_bias, weight=weight)
        if self.single_truth:
            return closed
        prevalence = np.array((n_true + state.rates.prevalence) / (n_facts + 1.0))
        return closed._replace(hidden_bias=float(np.clip(logit(prevalence), -LIMIT, LIMIT)))

    def tally(self, block: Block, state: Training, turn: Turn) -> Sums:
        """What the flow is followed by: each fact by itself, unless trained for a single truth."""
        score = scores(block, self.weigh(block, state))
        if self.single_truth:
            nobody = np.full(block.n_items, -np.inf)
            plausible = kernels.normalise_log(score, block.first_fact_of_item, nobody)
        else:
            plausible = sigmoid(score)
        plausible = clamp_known(plausible, block)
        return sums(block, plausible, len(state.weight), single_truth=self.single_truth)

    def learn(self, state: Training, total: Sums) -> Training:
        """Follow the flow up to where the next sweep looks."""
        flow = state.flow
        if flow is None:
            flow = start_flow(state.machine, self.learning_rate, self.decay, self.max_rounds)
        moved = learn_flow(flow, Sums(*total))
        return state.at(moved.machine)._replace(flow=moved)

    def left(self, before: Training, after: Training) -> float:
        """The share of the flow's time that is still to go."""
        return 1.0 if after.flow is None else after.flow.left

    def change(self, before: Training, after: Training) -> float:
        """The largest move of any tpr, fpr or the prevalence."""
        old, new = before.rates, after.rates
        moves = (new.tpr - old.tpr, new.fpr - old.fpr, new.prevalence - old.prevalence)
        return float(max(np.abs(move).max() for move in moves))

    def calibrate(self, state: Training, prior: PriorRates) -> Training:
        """Correct the rates by the known truths; what is left of a flow is not followed."""
        if state.flow is not None:
            state = state.at(state.flow.reached)._replace(flow=None)
        tpr, fpr, _ = state.rates
        visible_bias, weight = weights_of(*prior.weigh_known(tpr, fpr))
        return state._replace(visible_bias=visible_bias, weight=weight)

    def weigh(self, block: Block, state: Training, memory: Memory = None) -> Weights:
        """For: log(tpr / fpr); against: log((1 - tpr) / (1 - fpr)); before: the hidden bias.

        The plausibility is P(h = 1 | v) of the helper machine that has only the item's sources.
        """
        base = source_bias(state.visible_bias, state.weight)
        rule: Rule = "softmax" if state.single_truth else "sigmoid"
        return Weights(rule, base + state.weight, base, state.hidden_bias)

    def rates(self, state: Training, counts: FloatArray) -> Rates:
        """The machine's own rates; under a single truth the prevalence is one value per item."""
        if not self.single_truth:
            return state.rates
        prevalence = float(counts[:, 2].sum() / counts[:, 3].sum())
        return state.rates._replace(prevalence=prevalence)

    def _check(self, survey: Survey) -> None:
        n_draws = survey.counted.largest_item
        if self.negative_phase == "sampled" and n_draws > MOST_DRAWS:
            raise ParameterError(
                f"LTDRBM: an item has {n_draws:,.0f} pairs of source and value, too many to "
                "sample; use negative_phase='exact'"
            )


def _enough(survey: Survey) -> float:
    """The share of the items of which a round can learn enough; above one if all are too few."""
    of_source = survey.counted.items_of_source
    usual = max(float(np.median(of_source)), 1.0)  # sources that are only judged have told nothing
    return max(PLENTY / max(float(of_source.sum()), 1.0), PLENTY_OF_SOURCE / usual)


def _drawn(n_items: int, share: float, rng: np.random.Generator) -> IntArray:
    """A share of the items, in random order."""
    if share == 1.0:
        return rng.permutation(n_items)
    return rng.choice(n_items, math.ceil(share * n_items), replace=False)
